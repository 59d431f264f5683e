/* Log lines: made printable, timed, handed to the hook and to hotcb.log. */
#include "controller/log.h"
#include "base/number.h"
#include "base/text.h"
#include "script/script.h"
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 4300 /* of a line of the controller's own; a stop's reason fits */
#define GATHER_BYTES (32 << 10)

static void to_stderr(void *user, enum hotcb_level level, const char *callback, const char *line)
{
    (void)user;
    if (callback)
        fprintf(stderr, "%s\n", line);
    else
        fprintf(stderr, "hotcb: %s%s\n", level >= HOTCB_WARN ? "warning: " : "", line);
}

void hcb_log_init(struct hcb_log *log, hotcb_log_fn *hook, void *user, enum hotcb_level level)
{
    memset(log, 0, sizeof *log);
    log->hook = hook ? hook : to_stderr;
    log->user = user;
    log->level = level ? level : HOTCB_INFO;
    log->start_ns = hcb_clock_ns();
}

void hcb_log_release(struct hcb_log *log)
{
    if (log->to_file)
        hcb_spool_close(&log->spool);
    log->to_file = false;
    hcb_buf_release(&log->text);
    hcb_buf_release(&log->line);
    hcb_buf_release(&log->pending);
}

int hcb_log_open(struct hcb_log *log, const char *path, int64_t cap, struct hcb_err *err)
{
    if (!hcb_buf_reserve(&log->text, TEXT_BYTES) ||
        !hcb_buf_reserve(&log->line, 2 * TEXT_BYTES) ||
        !hcb_buf_reserve(&log->pending, 2 * TEXT_BYTES))
        return hcb_fail_nomem(err); /* what is said when memory is short needs none */
    int status = hcb_spool_open(&log->spool, path, cap, err);
    log->to_file = status == 0;
    return status;
}

static const char *level_name(enum hotcb_level level)
{
    return level >= HOTCB_ERROR ? "ERROR" : level >= HOTCB_WARN ? "WARN "
         : level >= HOTCB_INFO  ? "INFO " : "DEBUG";
}

static void put_since_start(struct hcb_buf *b, int64_t ms)
{
    char digits[HCB_INT_CHARS + 4];
    int n = hcb_format_int(digits, ms / 1000);
    digits[n] = '.';
    hcb_put_digits(digits + n + 1, (uint64_t)(ms % 1000), 3);
    hcb_buf_str(b, " +");
    hcb_buf_add(b, digits, (size_t)n + 4);
}

static void format_line(struct hcb_log *log, enum hotcb_level level, const char *id,
                        const struct hcb_moment *at)
{
    struct hcb_buf *b = &log->pending;
    size_t n = (size_t)hcb_stamp_put(&log->stamp, at->wall_us);
    hcb_buf_add(b, log->stamp.text, n);
    put_since_start(b, (at->mono_ns - log->start_ns) / 1000000);
    hcb_buf_char(b, ' ');
    hcb_buf_str(b, level_name(level));
    hcb_buf_str(b, " [");
    hcb_buf_str(b, id ? id : "hotcb");
    hcb_buf_str(b, "] ");
    hcb_buf_add(b, log->text.data, log->text.len);
    hcb_buf_char(b, '\n');
}

static void call_hook(struct hcb_log *log, enum hotcb_level level, const char *id,
                      const char *line)
{
    hcb_script_call_log(log->hook, log->user, level, id, line);
}

/* Trouble with the file can only be told to the hook. */
static void write_pending(struct hcb_log *log)
{
    struct hcb_err err;
    struct hcb_spool *spool = &log->spool;
    bool was = spool->trouble;
    int status = hcb_spool_write(spool, log->pending.data, log->pending.len, &err);
    hcb_buf_reset(&log->pending);
    hcb_buf_reset(&log->line);
    if (status < 0)
        hcb_buf_printf(&log->line, "%s; log lines are lost until that is mended", err.text);
    else if (was && !spool->trouble)
        hcb_buf_printf(&log->line, "%s is written again; %lld lines were lost", spool->path,
                       (long long)spool->lost);
    if (log->line.len > 0)
        call_hook(log, HOTCB_WARN, NULL, hcb_buf_text(&log->line));
}

/* false: there is no memory for it, and what was pending is as it was. */
static bool add_line(struct hcb_log *log, enum hotcb_level level, const char *id,
                     const struct hcb_moment *at)
{
    size_t before = log->pending.len;
    format_line(log, level, id, at);
    if (!log->pending.oom)
        return true;
    log->pending.oom = false;
    log->pending.len = before;
    return false;
}

static void to_file(struct hcb_log *log, enum hotcb_level level, const char *id,
                    const struct hcb_moment *at)
{
    struct hcb_moment now;
    if (!at) {
        hcb_clock_now(&now);
        at = &now;
    }
    bool added = add_line(log, level, id, at);
    if (!added && log->pending.len > 0) {
        write_pending(log);
        added = add_line(log, level, id, at);
    }
    if (!added)
        log->spool.dropped++;
    else if (!log->gathers || level >= HOTCB_ERROR || log->pending.len > GATHER_BYTES)
        write_pending(log);
}

void hcb_log_gather(struct hcb_log *log)
{
    log->gathers = true;
}

void hcb_log_flush(struct hcb_log *log)
{
    log->gathers = false;
    if (log->pending.len > 0)
        write_pending(log);
}

static void make_printable(struct hcb_log *log, const char *text, size_t n, size_t whole)
{
    hcb_buf_reset(&log->text);
    hcb_text_printable(&log->text, text, n);
    if (n < whole)
        hcb_buf_printf(&log->text, "... (%zu bytes)", whole);
}

void hcb_log_text(struct hcb_log *log, enum hotcb_level level, const char *id, const char *text,
                  size_t n, size_t whole)
{
    if (level < log->level)
        return;
    make_printable(log, text, n, whole);
    call_hook(log, level, id, hcb_buf_text(&log->text));
    if (log->to_file)
        to_file(log, level, id, NULL);
}

static void to_hook(struct hcb_log *log, enum hotcb_level level, const char *id)
{
    hcb_buf_reset(&log->line);
    hcb_buf_printf(&log->line, "[%s] %s", id, hcb_buf_text(&log->text));
    call_hook(log, level, NULL, hcb_buf_text(&log->line));
}

static void say(struct hcb_log *log, enum hotcb_level level, const char *id,
                const struct hcb_moment *at)
{
    if (id)
        to_hook(log, level, id);
    else
        call_hook(log, level, NULL, hcb_buf_text(&log->text));
    if (log->to_file)
        to_file(log, level, id, at);
}

void hcb_log(struct hcb_log *log, enum hotcb_level level, const char *id, const char *fmt, ...)
{
    char text[TEXT_BYTES];
    va_list ap;
    if (level < log->level)
        return;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t whole = n < 0 ? 0 : (size_t)n;
    make_printable(log, text, whole < sizeof text ? whole : hcb_utf8_cut(text, sizeof text - 1),
                   whole);
    say(log, level, id, NULL);
}

struct hcb_buf *hcb_log_begin(struct hcb_log *log, enum hotcb_level level)
{
    hcb_buf_reset(&log->text);
    return level < log->level ? NULL : &log->text;
}

void hcb_log_end(struct hcb_log *log, enum hotcb_level level, const struct hcb_moment *at)
{
    say(log, level, NULL, at);
}
