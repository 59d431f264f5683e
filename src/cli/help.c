/* Lays the command table out as help. Knows no command by name. */
#include "cli/help.h"

#include "base/text.h"
#include "cli/table.h"
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

static void options(struct hcb_buf *b, const struct cli_screen *s,
                    const struct cli_command *command)
{
    int column = widest_option(command) + 4;
    const struct cli_option *o;
    cli_paint(s, b, CLI_BOLD, "\noptions:\n");
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

static void command_help(struct hcb_buf *b, const struct cli_screen *s,
                         const struct cli_command *command)
{
    int width = help_width(s->width);
    hcb_buf_printf(b, "hotcb %s - %s\n\n", command->name, command->summary);
    usage_line(b, command, width);
    hcb_buf_char(b, '\n');
    paragraphs(b, command->about, width);
    options(b, s, command);
    cli_paint(s, b, CLI_BOLD, "\nexample:\n");
    indented(b, command->example);
}

static void overview(struct hcb_buf *b, const struct cli_screen *s)
{
    int width = help_width(s->width);
    hcb_buf_printf(b, "hotcb %s - change a running training loop's callbacks\n\n", HOTCB_VERSION);
    usage_line(b, NULL, width);
    cli_paint(s, b, CLI_BOLD, "\ncommands:\n");
    for (size_t i = 0; i < cli_commands_n; i++)
        row(b, cli_commands[i].name, cli_commands[i].summary, 11, width);
    options(b, s, NULL);
    cli_paint(s, b, CLI_BOLD, "\nexit codes:\n");
    row(b, "0", "done; or queued, where no run is live", 11, width);
    row(b, "1", "refused, or failed: standard error says why", 11, width);
    row(b, "2", "the command line makes no sense", 11, width);
    row(b, "3", "sent, but no answer in time: the command stays queued", 11, width);
    row(b, "4", "no such run directory", 11, width);
    row(b, "130", "interrupted", 11, width);
    hcb_buf_str(b, "\nMore on one command: hotcb help COMMAND\n");
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
    if (cli->words.n > 0 && !(command = cli_command_find(cli->words.v[0])))
        return cli_unknown_command(cli, cli->words.v[0]);
    cli_help(&text, &cli->out, command);
    cli_screen_put(&cli->out, &text);
    return CLI_OK;
}
