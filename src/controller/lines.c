/* One file of lines, and what is said of its troubles; see lines.h. Knows nothing of what
 * the lines say. */
#include "controller/lines.h"

#include "base/file.h"
#include "controller/failures.h"

int hcb_lines_open(struct hcb_lines *l, const char *path, const char *what, int64_t cap,
                   struct hcb_err *err)
{
    l->what = what;
    return hcb_spool_open(&l->spool, path, cap, err);
}

void hcb_lines_release(struct hcb_lines *l)
{
    hcb_spool_close(&l->spool);
    hcb_buf_release(&l->pending);
}

static void lose_call(struct hcb_lines *l, struct hcb_log *log)
{
    if (hcb_worth_saying(++l->lost_calls))
        hcb_log(log, HOTCB_WARN, NULL, "out of memory: the %s of a call are lost (%lld times so "
                "far)", l->what, (long long)l->lost_calls);
}

void hcb_lines_write(struct hcb_lines *l, struct hcb_log *log)
{
    struct hcb_err err;
    struct hcb_spool *spool = &l->spool;
    bool was = spool->trouble;
    if (l->pending.oom)
        lose_call(l, log);
    else if (l->pending.len > 0 && spool->path &&
             hcb_spool_write(spool, l->pending.data, l->pending.len, &err) < 0)
        hcb_log(log, HOTCB_WARN, NULL, "%s; %s are lost until that is mended", err.text, l->what);
    if (was && !spool->trouble)
        hcb_log(log, HOTCB_WARN, NULL, "%s is written again; %lld lines were lost", spool->path,
                (long long)spool->lost);
    if (l->pending.cap > (1 << 20)) /* a call with much in it leaves no memory with the run */
        hcb_buf_release(&l->pending);
    else
        hcb_buf_reset(&l->pending);
}

void hcb_lines_check(struct hcb_lines *l)
{
    if (l->spool.path && !hcb_file_is_at(l->spool.fd, l->spool.path))
        hcb_spool_reopen(&l->spool);
}

void hcb_lines_hold(struct hcb_lines *l)
{
    hcb_spool_hold(&l->spool);
}
