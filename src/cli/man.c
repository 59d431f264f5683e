/* Lays the command table and the topics out as a man page in mdoc. Knows no command by
 * name. What the page says beyond them is in its description only. */
#include "cli/man.h"

#include "cli/table.h"
#include "cli/topics.h"
#include <ctype.h>
#include <string.h>

#define DATE "November 30, 2026" /* of the last change to what the page says */

/* ---- text and words ----------------------------------------------------------------- */

static void escaped(struct hcb_buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\')
            hcb_buf_str(b, "\\e");
        else if (s[i] == '-')
            hcb_buf_str(b, "\\-");
        else if (s[i] == '"')
            hcb_buf_str(b, "\\(dq");
        else
            hcb_buf_char(b, s[i]);
    }
}

/* Keeps what begins a line from being taken for a macro. */
static void guard(struct hcb_buf *b, char first)
{
    if (first == '.' || first == '\'')
        hcb_buf_str(b, "\\&");
}

#define LINE_BYTES 80

static bool ends_sentence(const char *word, size_t n)
{
    return n > 1 && strchr(".?!", word[n - 1]) && word[n - 2] != '.';
}

/* A paragraph as text lines; each ends with a newline. A sentence ends its line, as
 * roff wants it. */
static void flowing(struct hcb_buf *b, const char *s, size_t n)
{
    size_t line = b->len; /* where the line begins */
    bool ended = false;
    for (size_t i = 0; i < n;) {
        struct hcb_buf word = {0};
        size_t bytes = strcspn(s + i, " \n");
        bytes = bytes < n - i ? bytes : n - i;
        escaped(&word, s + i, bytes);
        bool fits = !ended && b->len - line + 1 + word.len <= LINE_BYTES;
        if (b->len > line)
            hcb_buf_char(b, fits ? ' ' : '\n');
        if (!fits)
            line = b->len;
        if (b->len == line)
            guard(b, s[i]);
        hcb_buf_str(b, hcb_buf_text(&word));
        cli_drop(b, &word);
        ended = ends_sentence(s + i, bytes);
        i += bytes + 1;
    }
    hcb_buf_char(b, '\n');
}

static void paragraphs(struct hcb_buf *b, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        flowing(b, text, n);
        text += n + (text[n] == '\n');
        if (*text)
            hcb_buf_str(b, ".Pp\n");
    }
}

/* An argument of a macro: quoted, so that no word of it is taken for a macro. */
static void argument(struct hcb_buf *b, const char *s, size_t n)
{
    hcb_buf_str(b, "\"\\&");
    escaped(b, s, n);
    hcb_buf_char(b, '"');
}

static void macro(struct hcb_buf *b, const char *name, const char *s)
{
    hcb_buf_printf(b, "%s ", name);
    argument(b, s, strlen(s));
}

static void literal(struct hcb_buf *b, const char *text)
{
    hcb_buf_str(b, ".Bd -literal -offset indent\n");
    while (*text) {
        size_t n = strcspn(text, "\n");
        guard(b, *text);
        escaped(b, text, n);
        hcb_buf_char(b, '\n');
        text += n + (text[n] == '\n');
    }
    hcb_buf_str(b, ".Ed\n");
}

/* ---- a synopsis ------------------------------------------------------------------------ */

/* "--file", "F", "|", "k=v", "...": a word of a command's `args`, without brackets. */
static void synopsis_word(struct hcb_buf *b, const char *s, size_t n)
{
    if (n > 1 && s[0] == '-') {
        hcb_buf_str(b, " Fl ");
        argument(b, s + 1, n - 1);
    } else if (n == 1 && *s == '|') {
        hcb_buf_str(b, " |");
    } else if (n == 3 && memcmp(s, "...", 3) == 0) {
        hcb_buf_str(b, " ...");
    } else {
        hcb_buf_str(b, " Ar ");
        argument(b, s, n);
    }
}

static const char *bracket(char c)
{
    switch (c) {
    case '[': return " Oo";
    case ']': return " Oc";
    case '(': return " Po";
    case ')': return " Pc";
    default: return NULL;
    }
}

static void synopsis(struct hcb_buf *b, const struct cli_command *command)
{
    hcb_buf_str(b, ".Nm\n");
    macro(b, ".Cm", command->name);
    for (const char *s = command->args; *s;) {
        size_t n = strcspn(s, " [](|)");
        if (bracket(*s))
            hcb_buf_str(b, bracket(*s));
        else if (*s == '|')
            hcb_buf_str(b, " |");
        else if (n > 0)
            synopsis_word(b, s, n);
        s += n > 0 ? n : 1;
    }
    hcb_buf_char(b, '\n');
}

/* ---- sections --------------------------------------------------------------------------- */

static void option(struct hcb_buf *b, const struct cli_option *o)
{
    hcb_buf_str(b, ".It");
    if (o->letter)
        hcb_buf_printf(b, " Fl %c ,", o->letter);
    hcb_buf_str(b, " Fl \\-");
    escaped(b, o->name, strlen(o->name));
    if (o->value && o->takes == CLI_TAKES_MAYBE) {
        hcb_buf_printf(b, " Ns Op = Ns Ar %s", o->value);
    } else if (o->value) {
        hcb_buf_str(b, " Ar ");
        argument(b, o->value, strlen(o->value));
    }
    hcb_buf_char(b, '\n');
    flowing(b, o->help, strlen(o->help));
}

/* Those of `command` (NULL: before any) that others do not have. */
static void options(struct hcb_buf *b, const struct cli_command *command)
{
    const struct cli_option *o;
    bool any = false;
    for (size_t i = 0; (o = cli_option_at(command, i)); i++) {
        if (command && (o->key <= CLI_KEY_HELP || o->key == CLI_KEY_WAIT ||
                        o->key == CLI_KEY_NO_WAIT))
            continue;
        if (!any)
            hcb_buf_str(b, ".Bl -tag -width indent\n");
        any = true;
        option(b, o);
    }
    if (any)
        hcb_buf_str(b, ".El\n");
}

static void wait_options(struct hcb_buf *b)
{
    const struct cli_command *changes = cli_commands;
    const struct cli_option *o;
    while (!changes->op)
        changes++;
    hcb_buf_str(b, "Commands that change something send it to the run, and also take:\n"
                   ".Bl -tag -width indent\n");
    for (size_t i = 0; (o = cli_option_at(changes, i)); i++) {
        if (o->key == CLI_KEY_WAIT || o->key == CLI_KEY_NO_WAIT)
            option(b, o);
    }
    hcb_buf_str(b, ".El\n");
}

static void head(struct hcb_buf *b)
{
    hcb_buf_str(b, ".\\\" Made from the tool's command table.\n"
                   ".Dd " DATE "\n.Dt HOTCB 1\n.Os\n"
                   ".Sh NAME\n.Nm hotcb\n.Nd change a running training loop's callbacks\n"
                   ".Sh SYNOPSIS\n");
    for (size_t i = 0; i < cli_commands_n; i++)
        synopsis(b, &cli_commands[i]);
}

static void description(struct hcb_buf *b)
{
    hcb_buf_str(b, ".Sh DESCRIPTION\n.Nm\n");
    paragraphs(b,
        "steers a training loop that runs: it loads, enables, disables, tunes and inspects the "
        "Lua callbacks by which the loop observes itself. It speaks to the run through the files "
        "of its run directory only, so that it works from any terminal that sees them.\n"
        "A command that changes something waits for the run's answer and tells it: applied at "
        "which step, or refused and why. Where no run is live, the command is queued for the "
        "next one.\n"
        "Options may stand before or after the command, in any order. Data go to standard "
        "output, messages to standard error.");
    options(b, NULL);
    hcb_buf_str(b, ".Pp\n");
    wait_options(b);
}

/* "Would this script load? Needs no run." */
static void summary(struct hcb_buf *b, const struct cli_command *command)
{
    struct hcb_buf text = {0};
    hcb_buf_char(&text, (char)toupper((unsigned char)command->summary[0]));
    hcb_buf_printf(&text, "%s.", command->summary + 1);
    flowing(b, hcb_buf_text(&text), text.len);
    cli_drop(b, &text);
}

static void commands(struct hcb_buf *b)
{
    hcb_buf_str(b, ".Sh COMMANDS\n");
    for (size_t i = 0; i < cli_commands_n; i++) {
        const struct cli_command *command = &cli_commands[i];
        hcb_buf_printf(b, ".Ss %s\n", command->name);
        summary(b, command);
        hcb_buf_str(b, ".Pp\n");
        paragraphs(b, command->about);
        options(b, command);
    }
}

static void topic(struct hcb_buf *b, const struct cli_topic *t)
{
    hcb_buf_printf(b, ".Sh %s\n", t->title);
    paragraphs(b, t->about);
    hcb_buf_str(b, ".Bl -tag -width indent\n");
    for (size_t i = 0; i < t->facts_n; i++) {
        macro(b, ".It", t->facts[i].name);
        hcb_buf_char(b, '\n');
        flowing(b, t->facts[i].text, strlen(t->facts[i].text));
    }
    hcb_buf_str(b, ".El\n");
}

static void examples(struct hcb_buf *b)
{
    hcb_buf_str(b, ".Sh EXAMPLES\n");
    for (size_t i = 0; i < cli_commands_n; i++) {
        hcb_buf_printf(b, "%s%s:\n", i > 0 ? ".Pp\n" : "", cli_commands[i].name);
        literal(b, cli_commands[i].example);
    }
}

int cli_man(struct cli *cli)
{
    struct hcb_buf b = {0};
    head(&b);
    description(&b);
    commands(&b);
    for (size_t i = 0; i < cli_topics_n; i++)
        topic(&b, &cli_topics[i]);
    examples(&b);
    cli_screen_put(&cli->out, &b);
    return CLI_OK;
}
