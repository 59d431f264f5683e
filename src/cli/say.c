/* What the tool says on stderr: notes, warnings, failures and what to type next.
 * All of it is one line of printable text, wrapped on a terminal only, so that a
 * script can look for a sentence. */
#include "cli/cli.h"

#include "base/json.h"
#include "cli/help.h"
#include "cli/send.h"
#include "cli/table.h"
#include <stdarg.h>
#include <string.h>

#define HANG 2

#define UNBROKEN (1 << 24)

static void say(struct cli *cli, enum cli_paint paint, const char *label, const char *text,
                int width)
{
    struct hcb_buf safe = {0}, line = {0};
    cli_safe(&safe, text);
    cli_paint(&cli->err, &line, paint, label);
    int at = (int)strlen(label);
    cli_wrap(&line, hcb_buf_text(&safe), at, HANG, width);
    hcb_buf_char(&line, '\n');
    fflush(cli->out.to); /* what was said before stands before, where both go to one place */
    cli_screen_put(&cli->err, &line);
    hcb_buf_release(&safe);
}

static int width_of(const struct cli_screen *s)
{
    return s->tty ? s->width : UNBROKEN;
}

static void say_formatted(struct cli *cli, enum cli_paint paint, const char *label,
                          const char *fmt, va_list ap)
{
    struct hcb_buf text = {0};
    hcb_buf_vprintf(&text, fmt, ap);
    say(cli, paint, label, text.oom ? "out of memory" : hcb_buf_text(&text), width_of(&cli->err));
    hcb_buf_release(&text);
}

void cli_note(struct cli *cli, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say_formatted(cli, CLI_PLAIN, "hotcb: ", fmt, ap);
    va_end(ap);
}

void cli_warn(struct cli *cli, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say_formatted(cli, CLI_YELLOW, "hotcb: warning: ", fmt, ap);
    va_end(ap);
}

/* A command that changes something always answers with a decision. */
static void put_error_json(struct cli *cli, const char *sentence)
{
    struct hcb_buf json = {0};
    if (cli->command && cli->command->op) {
        cli_put_decision(cli, &(struct cli_decision){.decision = "rejected", .error = sentence});
        return;
    }
    hcb_json_open(&json, '{');
    hcb_json_put_str(&json, "error", sentence);
    hcb_json_close(&json, '}');
    hcb_buf_char(&json, '\n');
    cli_screen_put(&cli->out, &json);
}

int cli_fail(struct cli *cli, int code, const char *fmt, ...)
{
    struct hcb_buf text = {0};
    va_list ap;
    va_start(ap, fmt);
    hcb_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    const char *sentence = text.oom ? "out of memory" : hcb_buf_text(&text);
    if (cli->json)
        put_error_json(cli, sentence);
    say(cli, CLI_RED, "hotcb: ", sentence, width_of(&cli->err));
    hcb_buf_release(&text);
    return code;
}

int cli_usage(struct cli *cli, const char *fmt, ...)
{
    struct hcb_buf usage = {0}, label = {0};
    va_list ap;
    va_start(ap, fmt);
    hcb_buf_str(&label, cli->command ? "hotcb " : "hotcb");
    hcb_buf_str(&label, cli->command ? cli->command->name : "");
    hcb_buf_str(&label, ": ");
    say_formatted(cli, CLI_RED, hcb_buf_text(&label), fmt, ap);
    va_end(ap);
    cli_help_usage(&usage, cli->command, cli->err.width);
    cli_screen_put(&cli->err, &usage);
    hcb_buf_release(&label);
    return CLI_USAGE;
}

void cli_tool(const struct cli *cli, struct hcb_buf *b)
{
    hcb_buf_str(b, "hotcb ");
    if (cli->given[CLI_KEY_DIR]) {
        hcb_buf_str(b, "--dir ");
        cli_shell_word(b, cli->dir);
        hcb_buf_char(b, ' ');
    }
}

#define AGAIN_BYTES 400

void cli_again(const struct cli *cli, struct hcb_buf *b, const char *id)
{
    hcb_buf_str(b, cli->command->name);
    for (size_t i = 0; i < cli->words.n && b->len < AGAIN_BYTES; i++) {
        const char *word = i == 0 && id ? id : cli->words.v[i];
        hcb_buf_char(b, ' ');
        if (strlen(word) < AGAIN_BYTES)
            cli_shell_word(b, word);
        else
            hcb_buf_str(b, "...");
    }
}

void cli_next(struct cli *cli, const char *fmt, ...)
{
    struct hcb_buf text = {0};
    va_list ap;
    if (cli->json)
        return;
    va_start(ap, fmt);
    cli_tool(cli, &text);
    hcb_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    if (!text.oom) /* unbroken, to be copied from the screen in one piece */
        say(cli, CLI_DIM, "  next: ", hcb_buf_text(&text), UNBROKEN);
    hcb_buf_release(&text);
}
