/* Lines about one callback. Lays out what the status file says; judges nothing. */
#include "cli/callback_view.h"

#include "base/text.h"
#include "cli/params.h"
#include <string.h>

#define STATE_BYTES 12 /* no run writes a longer one */

const char *cli_state(const struct hcb_value *callback)
{
    const char *state = hcb_map_text(callback, "state", "?");
    return strlen(state) <= STATE_BYTES ? state : "?";
}

void cli_state_text(struct hcb_buf *b, const struct cli_screen *s,
                    const struct hcb_value *callback)
{
    const char *state = cli_state(callback);
    struct hcb_buf safe = {0};
    enum cli_paint paint = strcmp(state, "on") == 0    ? CLI_GREEN
                           : strcmp(state, "off") == 0 ? CLI_DIM
                                                       : CLI_RED;
    cli_safe(&safe, state);
    cli_paint(s, b, paint, hcb_buf_text(&safe));
    cli_drop(b, &safe);
}

void cli_us_text(struct hcb_buf *b, const struct hcb_value *callback)
{
    const struct hcb_value *us = hcb_map_get(callback, "us_per_call");
    double value = hcb_map_real(callback, "us_per_call", 0);
    if (!us || us->type == HCB_NULL)
        hcb_buf_char(b, '-');
    else
        hcb_buf_printf(b, value < 1000 ? "%.1f" : "%.0f", value);
}

void cli_indented(struct hcb_buf *b, const struct cli_screen *s, int indent, const char *text)
{
    cli_spaces(b, indent);
    cli_wrap(b, text, indent, indent + 2, s->width);
    hcb_buf_char(b, '\n');
}

/* "at step 12 in train_step_end (budget)": the reason only where the message leaves
 * it open. */
static void where_text(struct hcb_buf *b, const struct hcb_value *error)
{
    const struct hcb_value *step = hcb_map_get(error, "step");
    const char *event = hcb_map_text(error, "event", NULL);
    const char *reason = hcb_map_text(error, "reason", "runtime");
    int64_t count = hcb_map_int(error, "count", 1);
    if (step && step->type == HCB_INT) {
        hcb_buf_str(b, "at step ");
        cli_thousands(b, step->u.i);
    }
    if (event) {
        hcb_buf_str(b, b->len > 0 ? " in " : "in ");
        cli_safe(b, event);
    }
    if (count > 1) {
        hcb_buf_str(b, ", ");
        cli_thousands(b, count);
        hcb_buf_str(b, " times");
    }
    if (strcmp(reason, "runtime") != 0) {
        hcb_buf_str(b, " (");
        cli_safe(b, reason);
        hcb_buf_char(b, ')');
    }
}

static const char *remedy(const struct hcb_value *callback)
{
    if (strcmp(cli_state(callback), "FAILED") != 0)
        return "it goes on";
    if (strcmp(hcb_map_text(callback, "kind", ""), "lua_file") == 0)
        return "fix the file: it reloads by itself";
    return "`hotcb enable` gives it another try";
}

static void error_lines(struct hcb_buf *b, const struct cli_screen *s,
                        const struct hcb_value *callback, int indent)
{
    const struct hcb_value *error = hcb_map_get(callback, "error");
    struct hcb_buf message = {0}, where = {0};
    if (!error || error->type != HCB_MAP)
        return;
    cli_safe(&message, hcb_map_text(error, "message", "no message"));
    cli_indented(b, s, indent, hcb_buf_text(&message));
    where_text(&where, error);
    hcb_buf_str(&where, where.len > 0 ? "    " : "");
    cli_glue(&where, remedy(callback));
    cli_spaces(b, indent + 2);
    cli_wrap(b, hcb_buf_text(&where), indent + 2, indent + 2, s->width);
    hcb_buf_char(b, '\n');
    cli_drop(b, &message);
    cli_drop(b, &where);
}

static void labelled(struct hcb_buf *b, const struct cli_screen *s, int indent, const char *label,
                     const char *text)
{
    struct hcb_buf line = {0};
    hcb_buf_str(&line, label);
    cli_safe(&line, text);
    cli_indented(b, s, indent, hcb_buf_text(&line));
    cli_drop(b, &line);
}

void cli_callback_troubles(struct hcb_buf *b, const struct cli_screen *s,
                           const struct hcb_value *callback, int indent)
{
    const char *pending = hcb_map_text(callback, "pending", NULL);
    const struct hcb_value *waits = hcb_map_get(callback, "waiting_for");
    struct hcb_buf events = {0};
    error_lines(b, s, callback, indent);
    if (pending)
        labelled(b, s, indent, "the newer file does not load, the old version goes on: ",
                 pending);
    cli_text_list(&events, waits);
    if (events.len > 0) {
        hcb_buf_str(&events, ", not seen yet");
        labelled(b, s, indent, "waits for ", hcb_buf_text(&events));
    }
    cli_drop(b, &events);
}

void cli_traceback(struct hcb_buf *b, const struct cli_screen *s, int indent, const char *text)
{
    while (text && *text) {
        size_t n = strcspn(text, "\n"), inner = strspn(text, " \t");
        struct hcb_buf line = {0};
        inner = inner < n ? inner : n;
        hcb_text_printable(&line, text + inner, n - inner);
        cli_indented(b, s, indent + (inner > 0 ? 2 : 0), hcb_buf_text(&line));
        cli_drop(b, &line);
        text += n + (text[n] == '\n');
    }
}
