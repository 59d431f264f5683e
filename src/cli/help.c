/* Lays the command table out as help. Knows no command by name. */
#include "cli/help.h"

#include "base/text.h"
#include "cli/table.h"
#include "cli/topics.h"
#include <string.h>

#define WIDTH_MAX 80
#define COLUMN_MAX 24

static int help_width(int width)
{
    return width < WIDTH_MAX ? width : WIDTH_MAX;
}

/* "-f, --file F"; pairs and values keep together when wrapped. */
static void option_text(struct hcb_buf *b, const struct cli_option *o)
{
    if (o->letter)
        hcb_buf_printf(b, "-%c, ", o->letter);
    hcb_buf_printf(b, "--%s", o->name);
    if (o->value)
        hcb_buf_printf(b, o->takes == CLI_TAKES_MAYBE ? "[=%s]" : " %s", o->value);
}

/* Adds the words of a synopsis; what is in brackets stays on one line. */
static void glue_brackets(struct hcb_buf *b, const char *args)
{
    int depth = 0;
    for (; *args; args++) {
        if (strchr("[(", *args))
            depth++;
        if (strchr("])", *args))
            depth--;
        hcb_buf_char(b, *args == ' ' && depth > 0 ? CLI_GLUE : *args);
    }
}

static void usage_line(struct hcb_buf *b, const struct cli_command *command, int width)
{
    struct hcb_buf args = {0};
    size_t start = b->len;
    hcb_buf_printf(b, "usage: hotcb %s", command ? command->name : "[--dir DIR] COMMAND ...");
    int at = (int)(b->len - start);
    if (command && *command->args) {
        hcb_buf_char(b, ' ');
        at++;
        glue_brackets(&args, command->args);
        cli_wrap(b, hcb_buf_text(&args), at, at, help_width(width));
    }
    hcb_buf_char(b, '\n');
    cli_drop(b, &args);
}

void cli_help_usage(struct hcb_buf *b, const struct cli_command *command, int width)
{
    usage_line(b, command, width);
    if (command)
        hcb_buf_printf(b, "  next: hotcb help %s\n", command->name);
    else
        hcb_buf_str(b, "  next: hotcb help\n");
}

/* "  left    right ...", the right part wrapped in its column. */
static void row(struct hcb_buf *b, const char *left, const char *right, int column, int width)
{
    hcb_buf_str(b, "  ");
    hcb_buf_str(b, left);
    if (cli_columns(left, strlen(left)) + 4 > column)
        hcb_buf_char(b, '\n');
    cli_pad_to(b, column);
    cli_wrap(b, right, column, column, width);
    hcb_buf_char(b, '\n');
}

static int widest_option(const struct cli_command *command)
{
    int widest = 0;
    const struct cli_option *o;
    for (size_t i = 0; (o = cli_option_at(command, i)); i++) {
        struct hcb_buf text = {0};
        option_text(&text, o);
        if ((int)text.len > widest && (int)text.len + 4 <= COLUMN_MAX)
            widest = (int)text.len;
        hcb_buf_release(&text);
    }
    return widest;
}

/* The paint ends before its line does: rows are laid out by the columns of their line. */
static void heading(struct hcb_buf *b, const struct cli_screen *s, const char *text)
{
    hcb_buf_char(b, '\n');
    cli_paint(s, b, CLI_BOLD, text);
    hcb_buf_char(b, '\n');
}

static void options(struct hcb_buf *b, const struct cli_screen *s,
                    const struct cli_command *command)
{
    int column = widest_option(command) + 4;
    const struct cli_option *o;
    heading(b, s, "options:");
    for (size_t i = 0; (o = cli_option_at(command, i)); i++) {
        struct hcb_buf text = {0};
        option_text(&text, o);
        row(b, hcb_buf_text(&text), o->help, column, help_width(s->width));
        cli_drop(b, &text);
    }
}

static void paragraphs(struct hcb_buf *b, const char *text, int width)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        struct hcb_buf one = {0};
        hcb_buf_add(&one, text, n);
        cli_wrap(b, hcb_buf_text(&one), 0, 0, width);
        hcb_buf_char(b, '\n');
        cli_drop(b, &one);
        text += n + (text[n] == '\n');
        if (*text)
            hcb_buf_char(b, '\n');
    }
}

static void indented(struct hcb_buf *b, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        hcb_buf_str(b, "  ");
        hcb_buf_add(b, text, n);
        hcb_buf_char(b, '\n');
        text += n + (text[n] == '\n');
    }
}

static void title(struct hcb_buf *b, const char *before, const char *name, const char *summary,
                  int width)
{
    struct hcb_buf text = {0};
    hcb_buf_printf(&text, "%s%s - %s", before, name, summary);
    cli_wrap(b, hcb_buf_text(&text), 0, 2, width);
    hcb_buf_str(b, "\n\n");
    cli_drop(b, &text);
}

static void command_help(struct hcb_buf *b, const struct cli_screen *s,
                         const struct cli_command *command)
{
    int width = help_width(s->width);
    title(b, "hotcb ", command->name, command->summary, width);
    usage_line(b, command, width);
    hcb_buf_char(b, '\n');
    paragraphs(b, command->about, width);
    options(b, s, command);
    heading(b, s, "example:");
    indented(b, command->example);
}

static void facts(struct hcb_buf *b, const struct cli_topic *topic, int column, int width)
{
    for (size_t i = 0; i < topic->facts_n; i++)
        row(b, topic->facts[i].name, topic->facts[i].text, column, width);
}

static void topic_help(struct hcb_buf *b, const struct cli_screen *s,
                       const struct cli_topic *topic)
{
    int widest = 0;
    for (size_t i = 0; i < topic->facts_n; i++) {
        int n = (int)strlen(topic->facts[i].name);
        if (n > widest && n + 4 <= COLUMN_MAX)
            widest = n;
    }
    title(b, "hotcb help ", topic->name, topic->summary, help_width(s->width));
    paragraphs(b, topic->about, help_width(s->width));
    hcb_buf_str(b, *topic->about ? "\n" : "");
    facts(b, topic, widest + 4, help_width(s->width));
}

/* Where the texts beside the names of commands and topics begin. */
static int overview_column(void)
{
    size_t widest = 0;
    for (size_t i = 0; i < cli_commands_n + cli_topics_n; i++) {
        size_t n = strlen(i < cli_commands_n ? cli_commands[i].name
                                             : cli_topics[i - cli_commands_n].name);
        widest = n > widest ? n : widest;
    }
    return (int)widest + 4;
}

static void overview(struct hcb_buf *b, const struct cli_screen *s)
{
    int width = help_width(s->width);
    title(b, "hotcb ", HOTCB_VERSION, "change a running training loop's callbacks", width);
    usage_line(b, NULL, width);
    heading(b, s, "commands:");
    int column = overview_column();
    for (size_t i = 0; i < cli_commands_n; i++)
        row(b, cli_commands[i].name, cli_commands[i].summary, column, width);
    options(b, s, NULL);
    heading(b, s, "exit codes:");
    facts(b, cli_topic_find("exit-codes"), column, width);
    heading(b, s, "topics:");
    for (size_t i = 0; i < cli_topics_n; i++)
        row(b, cli_topics[i].name, cli_topics[i].summary, column, width);
    hcb_buf_str(b, "\nMore on one command or topic: hotcb help NAME\n");
}

void cli_help(struct hcb_buf *b, const struct cli_screen *s, const struct cli_command *command)
{
    if (command)
        command_help(b, s, command);
    else
        overview(b, s);
}

int cli_unknown_command(struct cli *cli, const char *name)
{
    const char *near = cli_command_near(name);
    cli->command = NULL;
    if (near)
        return cli_usage(cli, "there is no command '%s' - did you mean '%s'?", name, near);
    return cli_usage(cli, "there is no command '%s'", name);
}

int cli_run_help(struct cli *cli)
{
    const struct cli_command *command = NULL;
    struct hcb_buf text = {0};
    const struct cli_topic *topic = NULL;
    const char *name = cli->words.n > 0 ? cli->words.v[0] : NULL;
    if (name && !(command = cli_command_find(name)) && !(topic = cli_topic_find(name)))
        return cli_unknown_command(cli, name);
    if (cli->json)
        cli_help_json(&text, command, topic);
    else if (topic)
        topic_help(&text, &cli->out, topic);
    else
        cli_help(&text, &cli->out, command);
    cli_screen_put(&cli->out, &text);
    return CLI_OK;
}
