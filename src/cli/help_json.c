/* Help as data: the command table and the topics as JSON. Knows no command by name. */
#include "base/json.h"
#include "cli/help.h"
#include "cli/table.h"
#include "cli/topics.h"
#include <string.h>

/* "auto always never" -> a list; null for NULL. */
static void word_list(struct hcb_buf *b, const char *key, const char *words)
{
    hcb_json_key(b, key);
    if (!words) {
        hcb_json_null(b);
        return;
    }
    hcb_json_open(b, '[');
    while (*words) {
        size_t n = strcspn(words, " ");
        hcb_json_text(b, words, n);
        words += n + (words[n] == ' ');
    }
    hcb_json_close(b, ']');
}

static void option(struct hcb_buf *b, const struct cli_option *o)
{
    static const char *const takes[] = {"nothing", "value", "maybe", "pairs"};
    const char letter[] = {o->letter, '\0'};
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "name", o->name);
    hcb_json_put_str(b, "letter", o->letter ? letter : NULL);
    hcb_json_put_str(b, "takes", takes[o->takes]);
    hcb_json_put_str(b, "value", o->value);
    word_list(b, "choices", o->choices);
    hcb_json_put_str(b, "help", o->help);
    hcb_json_close(b, '}');
}

static void options(struct hcb_buf *b, const struct cli_command *command)
{
    const struct cli_option *o;
    hcb_json_key(b, "options");
    hcb_json_open(b, '[');
    for (size_t i = 0; (o = cli_option_at(command, i)); i++)
        option(b, o);
    hcb_json_close(b, ']');
}

static void one_command(struct hcb_buf *b, const struct cli_command *command)
{
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "name", command->name);
    hcb_json_put_str(b, "args", command->args);
    hcb_json_put_str(b, "summary", command->summary);
    hcb_json_put_str(b, "about", command->about);
    hcb_json_put_str(b, "example", command->example);
    hcb_json_put_str(b, "op", command->op);
    options(b, command);
    hcb_json_close(b, '}');
}

static void one_topic(struct hcb_buf *b, const struct cli_topic *topic)
{
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "name", topic->name);
    hcb_json_put_str(b, "summary", topic->summary);
    hcb_json_put_str(b, "about", topic->about);
    hcb_json_key(b, "facts");
    hcb_json_open(b, '[');
    for (size_t i = 0; i < topic->facts_n; i++) {
        hcb_json_open(b, '{');
        hcb_json_put_str(b, "name", topic->facts[i].name);
        hcb_json_put_str(b, "text", topic->facts[i].text);
        hcb_json_close(b, '}');
    }
    hcb_json_close(b, ']');
    hcb_json_close(b, '}');
}

static void everything(struct hcb_buf *b)
{
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "version", HOTCB_VERSION);
    hcb_json_key(b, "commands");
    hcb_json_open(b, '[');
    for (size_t i = 0; i < cli_commands_n; i++)
        one_command(b, &cli_commands[i]);
    hcb_json_close(b, ']');
    options(b, NULL);
    hcb_json_key(b, "topics");
    hcb_json_open(b, '[');
    for (size_t i = 0; i < cli_topics_n; i++)
        one_topic(b, &cli_topics[i]);
    hcb_json_close(b, ']');
    hcb_json_close(b, '}');
}

void cli_help_json(struct hcb_buf *b, const struct cli_command *command,
                   const struct cli_topic *topic)
{
    if (command)
        one_command(b, command);
    else if (topic)
        one_topic(b, topic);
    else
        everything(b);
    hcb_buf_char(b, '\n');
}
