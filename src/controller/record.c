/* What was done, said: to the ledger, the log and the status. And what scripts asked
 * for, carried out. */
#include "base/clock.h"
#include "base/number.h"
#include "base/text.h"
#include "controller/run.h"
#include "sink/artifact.h"
#include "sink/media.h"
#include "sink/metrics.h"
#include "system/system.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep_text(char *to, size_t size, const char *from)
{
    size_t n = from ? strnlen(from, size - 1) : 0;
    memcpy(to, from ? from : "", n);
    to[n] = '\0';
}

/* But for params. */
static void remember_last(struct hotcb *h, const struct hcb_op *op,
                          const struct hcb_outcome *out)
{
    h->has_last = true;
    h->last_applied = out->applied;
    h->last_has_step = h->has_step;
    h->last_step = h->step;
    keep_text(h->last_op, sizeof h->last_op, hcb_op_name(op->kind));
    keep_text(h->last_id, sizeof h->last_id, op->id);
    keep_text(h->last_cmd, sizeof h->last_cmd, op->cmd);
    size_t n = out->applied ? 0 : hcb_utf8_cut(out->err.text, strnlen(out->err.text, 255));
    memcpy(h->last_error, out->err.text, n);
    h->last_error[n] = '\0';
    hcb_value_release(&h->last_params);
}

/* "set_params x (command): applied at step 12" */
static void log_op(struct hotcb *h, const struct hcb_op *op, const struct hcb_outcome *out,
                   const struct hcb_moment *at)
{
    enum hotcb_level level = out->applied ? HOTCB_INFO : HOTCB_WARN;
    struct hcb_buf *b = hcb_log_begin(&h->log, level);
    char digits[HCB_INT_CHARS];
    if (!b)
        return;
    hcb_buf_str(b, hcb_op_name(op->kind));
    if (op->id) {
        hcb_buf_char(b, ' ');
        hcb_text_printable(b, op->id, strlen(op->id));
    }
    hcb_buf_str(b, " (");
    hcb_buf_str(b, hcb_origin_name(op->origin));
    hcb_buf_str(b, out->applied ? "): applied" : "): rejected");
    if (h->has_step) {
        hcb_buf_str(b, " at step ");
        hcb_buf_add(b, digits, (size_t)hcb_format_int(digits, h->step));
    }
    if (!out->applied) {
        hcb_buf_str(b, ": ");
        hcb_text_printable(b, out->err.text, strlen(out->err.text));
    }
    hcb_log_end(&h->log, level, at);
}

static void record(struct hotcb *h, const struct hcb_op *op, const struct hcb_outcome *out)
{
    struct hcb_moment now;
    struct hcb_verdict verdict = {
        .op = op, .at = &now, .run = h->run, .step = h->step, .has_step = h->has_step,
        .applied = out->applied, .error = *out->err.text ? out->err.text : NULL,
        .reason = out->reason == HCB_FINE ? NULL : hcb_reason_name(out->reason),
        .sha256 = *out->sha256 ? out->sha256 : NULL,
    };
    hcb_clock_now(&now);
    hcb_ledger_add(&h->ledger, &verdict);
    log_op(h, op, out, &now);
    remember_last(h, op, out);
    h->changed = true;
}

void hcb_record(struct hotcb *h, const struct hcb_op *op, const struct hcb_outcome *out)
{
    record(h, op, out);
    if (op->kind == HCB_OP_SET)
        hcb_value_copy(&h->last_params, &op->params); /* null where there is no memory */
}

void hcb_record_last(struct hotcb *h, struct hcb_op *op, const struct hcb_outcome *out)
{
    record(h, op, out);
    if (op->kind == HCB_OP_SET) {
        h->last_params = op->params;
        memset(&op->params, 0, sizeof op->params);
    }
}

void hcb_record_own(struct hotcb *h, enum hcb_op_kind kind, enum hcb_origin origin, char *id,
                    enum hcb_reason reason, const char *why)
{
    struct hcb_op op;
    struct hcb_outcome out = {.applied = true, .reason = reason};
    hcb_op_init(&op);
    op.kind = kind;
    op.origin = origin;
    op.id = id; /* borrowed */
    snprintf(out.err.text, sizeof out.err.text, "%s", why ? why : "");
    hcb_record(h, &op, &out);
}

/* ---- what scripts asked for ------------------------------------------------ */

static void do_stop(struct hotcb *h, struct hcb_callback *cb, const char *why, size_t n)
{
    struct hcb_buf reason = {0};
    if (h->stop_reason)
        return;
    hcb_text_printable(&reason, why, n < 1000 ? n : hcb_utf8_cut(why, 1000));
    snprintf(h->stop_text, sizeof h->stop_text, "%s",
             reason.oom ? "a callback asked for it" : hcb_buf_text(&reason));
    hcb_buf_release(&reason);
    h->stop_reason = h->stop_text;
    hcb_log(&h->log, HOTCB_WARN, NULL, "%s asks the run to stop: %s", cb->id, h->stop_reason);
    hcb_record_own(h, HCB_OP_STOP, HCB_FROM_SCRIPT, cb->id, HCB_FINE, h->stop_reason);
}

static void do_disable(struct hotcb *h, struct hcb_callback *cb)
{
    if (!cb->enabled || cb->closing)
        return;
    hcb_callback_enable(cb, &h->registry.world, false);
    hcb_record_own(h, HCB_OP_DISABLE, HCB_FROM_SCRIPT, cb->id, HCB_FINE, NULL);
}

static struct hcb_line_head head_of(const struct hotcb *h, const struct hcb_callback *cb,
                                    const struct hcb_effect *e, const char *key)
{
    return (struct hcb_line_head){
        .run = h->run, .id = cb->id, .key = key, .key_len = e->text_len, .has_step = e->has_step,
        .step = e->step, .wall = hcb_clock_wall(),
    };
}

static void do_scalar(struct hotcb *h, struct hcb_callback *cb, const struct hcb_effect *e,
                      const char *key)
{
    struct hcb_scalar_line line = {
        .head = head_of(h, cb, e, key), .is_int = e->is_int, .i = e->i, .d = e->d,
    };
    hcb_metrics_format(&h->metrics.pending, &line);
}

static void do_histogram(struct hotcb *h, struct hcb_callback *cb, const struct hcb_effect *e,
                         const char *key, const char *numbers)
{
    struct hcb_line_head head = head_of(h, cb, e, key);
    hcb_media_histogram(&h->media.pending, &head, numbers, e->bytes_len);
}

/* The part of *a that is not the script's is filled in here. */
static int write_file(struct hotcb *h, struct hcb_callback *cb, struct hcb_artifact *a,
                      struct hcb_err *err)
{
    if (h->lost)
        return hcb_fail(err, HOTCB_EIO, "the run directory is gone");
    a->artifacts = h->dir.artifacts;
    a->id = cb->id;
    cb->artifacts.max_bytes = h->artifact_bytes;
    cb->artifacts.max_entries = h->artifact_files;
    return hcb_artifact_write(a, &cb->artifacts, hcb_clock_ns(), err);
}

static void lose_file(struct hotcb *h, struct hcb_callback *cb, const struct hcb_err *err)
{
    h->lost_artifacts++;
    cb->lost_artifacts++;
    if (!h->lost && hcb_worth_saying(cb->lost_artifacts))
        hcb_log(&h->log, HOTCB_WARN, cb->id, "artifact not written (%lld so far): %s",
                (long long)cb->lost_artifacts, err->text);
}

static void do_artifact(struct hotcb *h, struct hcb_callback *cb, const struct hcb_effect *e,
                        const char *name, const char *bytes)
{
    struct hcb_err err;
    struct hcb_artifact a = {.bytes = bytes, .n = e->bytes_len, .append = e->append};
    int status = hcb_artifact_check(name, e->text_len, &err);
    char *text = status == 0 ? strndup(name, e->text_len) : NULL;
    a.name = text;
    if (status == 0)
        status = text ? write_file(h, cb, &a, &err) : hcb_fail_nomem(&err);
    free(text);
    if (status < 0)
        lose_file(h, cb, &err);
}

/* A picture's line names a file that is there. */
static void do_picture(struct hotcb *h, struct hcb_callback *cb, const struct hcb_effect *e,
                       const char *key, const char *bytes)
{
    struct hcb_err err;
    char name[HCB_PICTURE_NAME];
    struct hcb_artifact a = {.name = name, .bytes = bytes, .n = e->bytes_len};
    struct hcb_picture_line line = {
        .head = head_of(h, cb, e, key), .name = name, .width = e->width, .height = e->height,
        .channels = e->channels,
    };
    int status = hcb_picture_name(&line.head, e->channels, name, &err);
    if (status == 0)
        status = write_file(h, cb, &a, &err);
    if (status == 0)
        hcb_media_picture(&h->media.pending, &line);
    else
        lose_file(h, cb, &err);
}

/* What only a call that succeeded has done. */
static void do_output(struct hotcb *h, struct hcb_callback *cb, const struct hcb_effect *e)
{
    const char *all = hcb_buf_text(&h->registry.world.effects.bytes);
    const char *text = all + e->text, *bytes = all + e->bytes;
    if (e->kind == HCB_EFFECT_SCALAR)
        do_scalar(h, cb, e, text);
    else if (e->kind == HCB_EFFECT_HISTOGRAM)
        do_histogram(h, cb, e, text, bytes);
    else if (e->kind == HCB_EFFECT_ARTIFACT)
        do_artifact(h, cb, e, text, bytes);
    else
        do_picture(h, cb, e, text, bytes);
}

static void do_effect(struct hotcb *h, struct hcb_callback *cb, const struct hcb_effect *e,
                      enum hcb_counts_of counts)
{
    const char *text = hcb_buf_text(&h->registry.world.effects.bytes) + e->text;
    switch (e->kind) {
    case HCB_EFFECT_LOG:
        hcb_log_text(&h->log, e->level, cb->id, text, e->text_len, e->whole_len);
        break;
    case HCB_EFFECT_STOP:
        if (counts != HCB_COUNTS_LINES)
            do_stop(h, cb, text, e->text_len);
        break;
    case HCB_EFFECT_DISABLE:
        if (counts != HCB_COUNTS_LINES)
            do_disable(h, cb);
        break;
    case HCB_EFFECT_GPUS: hcb_system_load_gpus(); break;
    case HCB_EFFECT_SCALAR:
    case HCB_EFFECT_HISTOGRAM:
    case HCB_EFFECT_ARTIFACT:
    case HCB_EFFECT_PICTURE:
        if (counts == HCB_COUNTS_ALL)
            do_output(h, cb, e);
        break;
    }
}

void hcb_carry_out(void *run, struct hcb_callback *cb, enum hcb_counts_of counts)
{
    struct hotcb *h = run;
    struct hcb_effects *effects = &h->registry.world.effects;
    if (!hcb_effects_any(effects))
        return;
    for (size_t i = 0; i < effects->n; i++)
        do_effect(h, cb, &effects->v[i], counts);
    hcb_lines_write(&h->metrics, &h->log);
    hcb_lines_write(&h->media, &h->log);
    if (effects->dropped > 0) {
        h->dropped_effects += (int64_t)effects->dropped;
        if (hcb_worth_saying(++cb->too_much))
            hcb_log(&h->log, HOTCB_WARN, cb->id, "asked for more than one call may (%lld times so "
                    "far): %zu log lines, scalars, artifacts and the like were dropped",
                    (long long)cb->too_much, effects->dropped);
    }
    hcb_effects_reset(effects);
}
