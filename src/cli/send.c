/* Sends a command and waits for its line in the ledger. The ledger is the only
 * truth about it; the status file serves for hints. */
#include "cli/send.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "base/platform.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/wait.h"
#include "control/commands.h"
#include "control/ledger.h"
#include <string.h>
#include <unistd.h>

#define WAIT_S 5.0
#define LOOKS_TO_WAIT 3
#define TELL_AFTER_S 1.0
#define LIVE_CHECK_S 0.2
#define NAP_FIRST_MS 10
#define NAP_MAX_MS 50
#define FOREVER_S 1e9

enum outcome { ANSWERED, LATE, GONE, INTERRUPTED };

/* One command that was sent. */
struct sent {
    struct cli *cli;
    struct cli_run *run;
    const struct cli_request *request;
    char cmd[32];
    int64_t from;            /* where the ledger ended before it was sent */
    struct hcb_value answer; /* the ledger's line */
    struct hcb_err trouble;  /* the last failure to read the ledger */
};

void cli_put_decision(struct cli *cli, const struct cli_decision *d)
{
    struct hcb_buf b = {0};
    hcb_json_open(&b, '{');
    hcb_json_put_str(&b, "decision", d->decision);
    hcb_json_put_value(&b, "step", d->step);
    hcb_json_put_str(&b, "op", cli->command->op);
    hcb_json_put_str(&b, "id", cli->words.n > 0 ? cli->words.v[0] : NULL);
    hcb_json_put_str(&b, "cmd", d->cmd);
    hcb_json_put_str(&b, "error", d->error);
    hcb_json_close(&b, '}');
    hcb_buf_char(&b, '\n');
    cli_screen_put(&cli->out, &b);
}

/* ---- sending ----------------------------------------------------------------- */

static void make_cmd(char cmd[32])
{
    uint64_t noise = 0;
    if (!hcb_platform_noise(&noise, sizeof noise))
        noise = (uint64_t)hcb_clock_ns() ^ (uint64_t)getpid() << 40;
    snprintf(cmd, 32, "cli-%016llx", (unsigned long long)noise);
}

static int append(struct sent *sent)
{
    struct cli *cli = sent->cli;
    struct hcb_buf line = {0};
    struct hcb_err err = {0};
    hcb_buf_str(&line, hcb_buf_text(&sent->request->json));
    hcb_json_put_str(&line, "cmd", sent->cmd);
    hcb_json_put_real(&line, "ts", hcb_clock_wall());
    hcb_json_close(&line, '}');
    int code = CLI_OK;
    if (line.oom || sent->request->json.oom)
        code = cli_fail(cli, CLI_REFUSED, "out of memory");
    else if (line.len > HCB_LINE_BYTES)
        code = cli_fail(cli, CLI_REFUSED, "%s: the command is %zu bytes long; a run takes at "
                        "most %d", sent->request->label, line.len, HCB_LINE_BYTES);
    else if (hcb_commands_append(sent->run->commands, line.data, line.len, &err) < 0)
        code = cli_fail(cli, err.code == HOTCB_ENOENT ? CLI_NO_RUN : CLI_REFUSED, "%s",
                        err.text);
    if (code == CLI_NO_RUN)
        cli_next(cli, "init");
    hcb_buf_release(&line);
    return code;
}

/* ---- waiting ----------------------------------------------------------------- */

/* How long to wait. Returns 0, or an exit code. */
static int read_wait(struct cli *cli, const struct cli_run *run, double *wait_s)
{
    const char *given = cli->value[CLI_KEY_WAIT];
    if (cli->given[CLI_KEY_WAIT] && cli->given[CLI_KEY_NO_WAIT])
        return cli_usage(cli, "--wait and --no-wait exclude each other");
    double looks_s = LOOKS_TO_WAIT * cli_run_look_s(run);
    *wait_s = looks_s > WAIT_S ? looks_s : WAIT_S;
    if (!cli->given[CLI_KEY_WAIT])
        return CLI_OK;
    if (!given)
        *wait_s = FOREVER_S;
    else if (!hcb_parse_real(given, strlen(given), wait_s) || !(*wait_s >= 0))
        return cli_usage(cli, "--wait=%s: it is a number of seconds", given);
    return CLI_OK;
}

static bool find_answer(struct sent *sent)
{
    return hcb_ledger_find(sent->run->at.ledger, &sent->from, sent->cmd, &sent->answer,
                           &sent->trouble) > 0;
}

/* A word to who sits there and wonders. */
static void tell(struct sent *sent, double waited_s)
{
    struct cli *cli = sent->cli;
    struct hcb_buf every = {0}, due = {0};
    double look_s = cli_run_look_s(sent->run);
    double age_s = sent->run->beat_age_s + waited_s;
    cli_duration(&every, look_s);
    cli_duration(&due, look_s > age_s ? look_s - age_s : age_s);
    if (look_s > age_s)
        cli_note(cli, "waiting: the run looks about every %s, next in about %s "
                 "(Ctrl-C leaves the command queued)", hcb_buf_text(&every), hcb_buf_text(&due));
    else if (sent->run->beat_age_s >= 0)
        cli_note(cli, "waiting: the next look is due, the run's last beat was %s ago "
                 "(Ctrl-C leaves the command queued)", hcb_buf_text(&due));
    else
        cli_note(cli, "waiting for the run's first look (Ctrl-C leaves the command queued)");
    hcb_buf_release(&every);
    hcb_buf_release(&due);
}

static enum outcome wait_for_answer(struct sent *sent, double wait_s)
{
    int64_t start_ns = hcb_clock_ns();
    double check_s = LIVE_CHECK_S, tell_s = sent->cli->err.tty ? TELL_AFTER_S : FOREVER_S;
    int nap_ms = NAP_FIRST_MS;
    cli_interrupt_catch();
    while (!find_answer(sent)) {
        double waited_s = (double)(hcb_clock_ns() - start_ns) / 1e9;
        if (cli_interrupted())
            return INTERRUPTED;
        if (waited_s >= check_s) {
            if (!cli_run_lives(sent->run)) /* it may have answered just before it ended */
                return find_answer(sent) ? ANSWERED : GONE;
            check_s = waited_s + LIVE_CHECK_S;
        }
        if (waited_s >= wait_s)
            return LATE;
        if (waited_s >= tell_s) {
            tell(sent, waited_s);
            tell_s = FOREVER_S;
        }
        cli_nap_ms(nap_ms);
        nap_ms = nap_ms + 2 < NAP_MAX_MS ? nap_ms + 2 : NAP_MAX_MS;
    }
    return ANSWERED;
}

/* ---- what became of it -------------------------------------------------------- */

static void put_answer(struct sent *sent, const char *text)
{
    struct cli *cli = sent->cli;
    struct hcb_buf whole = {0}, line = {0};
    cli_safe(&whole, sent->request->label);
    hcb_buf_printf(&whole, ": %s", text);
    if (cli->out.tty)
        cli_wrap(&line, hcb_buf_text(&whole), 0, 2, cli->out.width);
    else
        hcb_buf_str(&line, hcb_buf_text(&whole));
    hcb_buf_char(&line, '\n');
    cli_drop(&line, &whole);
    cli_screen_put(&cli->out, &line);
}

static int say_applied(struct sent *sent)
{
    struct cli *cli = sent->cli;
    const struct hcb_value *step = hcb_map_get(&sent->answer, "step");
    const char *note = hcb_map_text(&sent->answer, "error", NULL);
    struct hcb_buf text = {0};
    if (cli->json) {
        cli_put_decision(cli, &(struct cli_decision){"applied", step, sent->cmd, note});
        return CLI_OK;
    }
    if (step && step->type == HCB_INT)
        hcb_buf_printf(&text, "applied at step %lld", (long long)step->u.i);
    else
        hcb_buf_str(&text, "applied before any step was set");
    hcb_buf_str(&text, sent->request->applied ? sent->request->applied : "");
    put_answer(sent, hcb_buf_text(&text));
    hcb_buf_release(&text);
    if (note)
        cli_note(cli, "%s", note);
    return CLI_OK;
}

/* The same command again, with the id that was meant. */
static void say_meant(struct cli *cli, const char *near)
{
    struct hcb_buf text = {0};
    cli_again(cli, &text, near);
    cli_next(cli, "%s", hcb_buf_text(&text));
    hcb_buf_release(&text);
}

static void say_hint(struct sent *sent)
{
    struct cli *cli = sent->cli;
    const char *id = cli->words.v[0];
    bool needs_id = strcmp(cli->command->op, "load") != 0 && cli_run_callbacks(sent->run);
    bool known = !needs_id || cli_run_callback(sent->run, id);
    const char *near = known ? NULL : cli_run_near_id(sent->run, id);
    if (near)
        say_meant(cli, near);
    else if (!known)
        cli_next(cli, "list");
    else if (sent->request->hint)
        cli_next(cli, "%s", sent->request->hint);
}

static int say_rejected(struct sent *sent)
{
    struct cli *cli = sent->cli;
    const char *error = hcb_map_text(&sent->answer, "error", "the run did not say why");
    const struct hcb_value *step = hcb_map_get(&sent->answer, "step");
    if (cli->json)
        cli_put_decision(cli, &(struct cli_decision){"rejected", step, sent->cmd, error});
    cli_note(cli, "%s: refused: %s", sent->request->label, error);
    say_hint(sent);
    return CLI_REFUSED;
}

static int say_answered(struct sent *sent)
{
    if (strcmp(hcb_map_text(&sent->answer, "decision", ""), "applied") == 0)
        return say_applied(sent);
    return say_rejected(sent);
}

static int say_unanswered(struct sent *sent, enum outcome outcome, double wait_s)
{
    struct cli *cli = sent->cli;
    struct hcb_buf why = {0};
    if (outcome == GONE) {
        hcb_buf_str(&why, "the run ended before it answered; the command is queued, and takes "
                          "effect when a run starts here");
    } else if (outcome == INTERRUPTED) {
        hcb_buf_str(&why, "interrupted; the command stays queued");
    } else {
        hcb_buf_str(&why, "no answer within ");
        cli_duration(&why, wait_s);
        hcb_buf_str(&why, "; the command stays queued, and takes effect at the run's next look");
        if (sent->trouble.code)
            hcb_buf_printf(&why, " (%s)", sent->trouble.text);
    }
    if (cli->json)
        cli_put_decision(cli, &(struct cli_decision){"unanswered", NULL, sent->cmd,
                                                     hcb_buf_text(&why)});
    cli_note(cli, "%s: %s", sent->request->label, hcb_buf_text(&why));
    cli_next(cli, "status");
    hcb_buf_release(&why);
    return outcome == INTERRUPTED ? CLI_INTERRUPTED : CLI_UNANSWERED;
}

static int say_queued(struct sent *sent)
{
    struct cli *cli = sent->cli;
    struct hcb_buf text = {0};
    if (!sent->run->live)
        cli_run_say_died(cli, sent->run);
    if (cli->json) {
        cli_put_decision(cli, &(struct cli_decision){"queued", NULL, sent->cmd, NULL});
        return CLI_OK;
    }
    if (sent->run->live) {
        hcb_buf_str(&text, "queued: it takes effect at the run's next look");
    } else {
        hcb_buf_str(&text, "queued (no live run): it takes effect when a run starts in ");
        cli_safe(&text, strcmp(cli->dir, ".") == 0 ? sent->run->at.dir : cli->dir);
    }
    put_answer(sent, hcb_buf_text(&text));
    hcb_buf_release(&text);
    return CLI_OK;
}

int cli_send(struct cli *cli, struct cli_run *run, struct cli_request *request)
{
    struct sent sent = {.cli = cli, .run = run, .request = request};
    double wait_s = 0;
    int code = read_wait(cli, run, &wait_s);
    if (code != CLI_OK)
        return code;
    make_cmd(sent.cmd);
    sent.from = hcb_ledger_size(run->at.ledger);
    code = append(&sent);
    if (code != CLI_OK)
        return code;
    if (!run->live || cli->given[CLI_KEY_NO_WAIT])
        return say_queued(&sent);
    enum outcome outcome = wait_for_answer(&sent, wait_s);
    code = outcome == ANSWERED ? say_answered(&sent) : say_unanswered(&sent, outcome, wait_s);
    hcb_value_release(&sent.answer);
    return code;
}
