/* Reads a command line that is still being typed by the command table, and offers
 * what may stand at the cursor. Judges nothing: what it does not understand, it
 * passes over. Reads the status of the run, and writes nothing. */
#include "cli/complete.h"

#include "base/text.h"
#include "cli/offers.h"
#include "cli/shells.h"
#include "cli/table.h"
#include "cli/topics.h"
#include <stdlib.h>
#include <string.h>

/* ---- the words before the cursor ------------------------------------------------ */

static const struct cli_option *option_by_name(const struct cli_command *command,
                                               const char *name, size_t n)
{
    const struct cli_option *o, *begins = NULL;
    for (size_t i = 0; (o = cli_option_at(command, i)); i++) {
        if (strncmp(o->name, name, n) != 0)
            continue;
        if (o->name[n] == '\0')
            return o;
        begins = o; /* getopt_long takes an abbreviation */
    }
    return n > 0 ? begins : NULL;
}

static void take_value(struct cli_line *line, const struct cli_option *o, const char *value)
{
    line->expects = NULL;
    if (o->key == CLI_KEY_DIR)
        line->dir = value;
    if (o->key == CLI_KEY_FILE)
        line->file = value;
}

static void take_long_option(struct cli_line *line, const char *name)
{
    size_t n = strcspn(name, "=");
    const struct cli_option *o = option_by_name(line->command, name, n);
    line->pairs = NULL;
    if (!o)
        return;
    if (o->takes == CLI_TAKES_PAIRS)
        line->pairs = o;
    else if (name[n] == '=')
        take_value(line, o, name + n + 1);
    else if (o->takes == CLI_TAKES_VALUE)
        line->expects = o;
}

/* -f F, -fF, -fn 20 */
static void take_letters(struct cli_line *line, const char *letters)
{
    const struct cli_option *o;
    line->pairs = NULL;
    for (; *letters; letters++) {
        for (size_t i = 0; (o = cli_option_at(line->command, i)); i++) {
            if (o->letter == *letters)
                break;
        }
        if (!o || o->takes != CLI_TAKES_VALUE)
            continue;
        if (letters[1])
            take_value(line, o, letters + 1);
        else
            line->expects = o;
        return;
    }
}

static void take_plain_word(struct cli_line *line, const char *word)
{
    if (line->pairs && strchr(word, '='))
        return;
    line->pairs = NULL;
    if (!line->command) {
        line->command = cli_command_find(word);
        line->lost = !line->command;
        return;
    }
    if (line->words_n == 0)
        line->first = word;
    line->words_n++;
}

static void take_word(struct cli_line *line, const char *word)
{
    if (line->expects)
        take_value(line, line->expects, word);
    else if (line->only_words || word[0] != '-' || !word[1])
        take_plain_word(line, word);
    else if (strcmp(word, "--") == 0)
        line->only_words = true;
    else if (word[1] == '-')
        take_long_option(line, word + 2);
    else
        take_letters(line, word + 1);
}

/* ---- the word at the cursor ----------------------------------------------------- */

static void offer_commands(struct cli_line *line)
{
    for (size_t i = 0; i < cli_commands_n; i++)
        cli_offer(line, "", cli_commands[i].name, "", cli_commands[i].summary);
}

static void offer_topics(struct cli_line *line)
{
    for (size_t i = 0; i < cli_topics_n; i++)
        cli_offer(line, "", cli_topics[i].name, "", cli_topics[i].summary);
}

static void offer_options(struct cli_line *line)
{
    const struct cli_option *o;
    for (size_t i = 0; (o = cli_option_at(line->command, i)); i++) {
        struct hcb_buf whole = {0};
        hcb_buf_printf(&whole, "--%s", o->name);
        if (!cli_line_has(line, hcb_buf_text(&whole)))
            cli_offer(line, "", hcb_buf_text(&whole), "", o->help);
        hcb_buf_release(&whole);
    }
}

static void offer_list(struct cli_line *line, const char *prefix, const char *words,
                       const char *suffix)
{
    while (words && *words) {
        size_t n = strcspn(words, " ");
        struct hcb_buf word = {0};
        hcb_buf_add(&word, words, n);
        hcb_buf_str(&word, suffix);
        if (!*suffix || !cli_line_has(line, hcb_buf_text(&word)))
            cli_offer(line, prefix, hcb_buf_text(&word), "", NULL);
        hcb_buf_release(&word);
        words += n + (words[n] == ' ');
    }
}

static void offer_shells(struct cli_line *line)
{
    for (const struct cli_shell *shell = cli_shells; shell->name; shell++)
        cli_offer(line, "", shell->name, "", NULL);
}

/* `prefix` is what of the word stands before the value: "--id=", or nothing. */
static void offer_value(struct cli_line *line, const char *prefix, enum cli_offers offers)
{
    switch (offers) {
    case CLI_OFFERS_FILE: line->kind = "files"; break;
    case CLI_OFFERS_DIR: line->kind = "dirs"; break;
    case CLI_OFFERS_CALLBACK: cli_offer_callbacks(line, prefix); break;
    case CLI_OFFERS_PARAM: cli_offer_params(line, prefix); break;
    case CLI_OFFERS_MODULE: cli_offer_modules(line, prefix); break;
    case CLI_OFFERS_COMMAND: offer_commands(line); offer_topics(line); break;
    case CLI_OFFERS_SHELL: offer_shells(line); break;
    default: break;
    }
}

static void offer_option_value(struct cli_line *line, const char *prefix,
                               const struct cli_option *o)
{
    offer_list(line, prefix, o->choices, o->offers == CLI_OFFERS_LIMIT ? "=" : "");
    offer_value(line, prefix, o->offers);
}

static void offer_after_equals(struct cli_line *line)
{
    size_t n = strcspn(line->current, "=");
    const struct cli_option *o = option_by_name(line->command, line->current + 2, n - 2);
    struct hcb_buf prefix = {0};
    hcb_buf_add(&prefix, line->current, n + 1);
    if (o && o->takes != CLI_TAKES_NOTHING)
        offer_option_value(line, hcb_buf_text(&prefix), o);
    hcb_buf_release(&prefix);
}

/* The word that the command wants next, or NULL: it has all. */
static const struct cli_word *next_word(const struct cli_line *line)
{
    const struct cli_word *words = line->command->words;
    for (size_t i = 0; i < CLI_WORDS_MAX && words[i].name; i++) {
        if (i == line->words_n || words[i].repeats)
            return &words[i];
    }
    return NULL;
}

static void offer_word(struct cli_line *line)
{
    const struct cli_word *word = line->command ? next_word(line) : NULL;
    if (line->pairs)
        offer_option_value(line, "", line->pairs);
    else if (!line->command)
        offer_commands(line);
    else if (word)
        offer_value(line, "", word->offers);
    /* An option may always come; it is offered where there is nothing better. */
    if (line->out.len == 0 && strcmp(line->kind, "words") == 0 && !line->only_words)
        offer_options(line);
}

static void offer(struct cli_line *line)
{
    bool dashes = strncmp(line->current, "--", 2) == 0 && !line->only_words;
    if (line->lost)
        return;
    if (line->expects)
        offer_option_value(line, "", line->expects);
    else if (dashes && strchr(line->current, '='))
        offer_after_equals(line);
    else if (line->current[0] == '-' && !line->only_words)
        offer_options(line);
    else
        offer_word(line);
}

int cli_complete(struct cli *cli, int argc, char **argv)
{
    const char *from_env = getenv("HOTCB_DIR");
    struct cli_line line = {
        .cli = cli, .given = argv, .given_n = argc > 0 ? argc - 1 : 0, .kind = "words",
        .dir = from_env && *from_env ? from_env : ".",
        .current = argc > 0 ? argv[argc - 1] : "",
    };
    struct hcb_buf out = {0};
    for (int i = 0; i < line.given_n; i++)
        take_word(&line, argv[i]);
    offer(&line);
    hcb_buf_printf(&out, "%s\n%s", line.kind, hcb_buf_text(&line.out));
    cli_drop(&out, &line.out);
    cli_screen_put(&cli->out, &out);
    return CLI_OK;
}
