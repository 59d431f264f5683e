/* Writes the ledger; see ledger.h, and ledger_read.c for how it is read. Knows
 * nothing of what an op does. */
#include "control/ledger.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "control/ledger_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int size_of(int fd, const char *path, int64_t *size, struct hcb_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return hcb_fail_errno(err, "look at %s", path);
    *size = (int64_t)st.st_size;
    return 0;
}

/* Cuts off what stands after the last newline: a line that was being written when
 * the process died or the disk was full. *torn says how much that was. */
static int cut_torn(int fd, const char *path, int64_t *size, int64_t *torn, struct hcb_err *err)
{
    int64_t end = hcb_ledger_line_start(fd, *size);
    if (end < 0)
        return hcb_fail_errno(err, "read %s", path);
    *torn = *size - end;
    if (*torn > 0 && ftruncate(fd, (off_t)end) != 0)
        return hcb_fail_errno(err, "cut a torn line off %s", path);
    *size = end;
    return 0;
}

int hcb_ledger_open(struct hcb_ledger *l, const char *path, int64_t from,
                    struct hcb_ledger_end *end, struct hcb_err *err)
{
    *l = (struct hcb_ledger){.fd = -1};
    *end = (struct hcb_ledger_end){.last_offset = -1};
    l->path = hcb_strdup(path);
    int rc = l->path ? hcb_file_append(path, err) : hcb_fail_nomem(err);
    if (rc >= 0) {
        l->fd = rc;
        rc = size_of(l->fd, path, &l->bytes, err);
    }
    if (rc >= 0)
        rc = cut_torn(l->fd, path, &l->bytes, &end->torn, err);
    if (rc >= 0)
        rc = hcb_ledger_last_seq(l->fd, path, l->bytes, &l->seq, err);
    if (rc >= 0)
        rc = hcb_ledger_last_offset(l->fd, path, from > l->bytes || from < 0 ? 0 : from,
                                    &end->last_offset, err);
    if (rc < 0)
        hcb_ledger_close(l);
    return rc < 0 ? rc : 0;
}

void hcb_ledger_close(struct hcb_ledger *l)
{
    hcb_ledger_reopen(l);
    free(l->path);
    hcb_buf_release(&l->pending);
    *l = (struct hcb_ledger){.fd = -1};
}

void hcb_ledger_reopen(struct hcb_ledger *l)
{
    if (l->path && l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    l->bytes = 0;
}

/* ---- one line ---- */

static void add_time(struct hcb_buf *b)
{
    hcb_json_put_real(b, "time", hcb_clock_wall());
    hcb_json_put_real(b, "mono", (double)(hcb_clock_ns() / 1000) / 1e6);
}

static void add_op(struct hcb_buf *b, const struct hcb_op *op)
{
    hcb_json_put_str(b, "op", hcb_op_name(op->kind));
    hcb_json_put_str(b, "id", op->id);
    hcb_json_put_str(b, "origin", hcb_origin_name(op->origin));
    if (op->cmd)
        hcb_json_put_str(b, "cmd", op->cmd);
    if (op->offset >= 0)
        hcb_json_put_int(b, "offset", op->offset);
    if (op->line > 0)
        hcb_json_put_int(b, "line", op->line);
}

static void add_content(struct hcb_buf *b, const struct hcb_op *op)
{
    if (op->kind == HCB_OP_SET)
        hcb_json_put_value(b, "params", &op->params);
    else if (op->kind == HCB_OP_LIMITS)
        hcb_json_put_value(b, "limits", &op->limits);
    else if (op->kind == HCB_OP_LOAD && op->target.path)
        hcb_json_put_str(b, "path", op->target.path);
}

static void add_line(struct hcb_buf *b, int64_t seq, const struct hcb_verdict *v)
{
    hcb_json_open(b, '{');
    hcb_json_put_int(b, "seq", seq);
    hcb_json_put_str(b, "run", v->run);
    add_time(b);
    if (v->has_step)
        hcb_json_put_int(b, "step", v->step);
    else
        hcb_json_put_null(b, "step");
    add_op(b, v->op);
    hcb_json_put_str(b, "decision", v->applied ? "applied" : "rejected");
    hcb_json_put_str(b, "error", v->error);
    if (v->reason)
        hcb_json_put_str(b, "reason", v->reason);
    add_content(b, v->op);
    if (v->sha256)
        hcb_json_put_str(b, "sha256", v->sha256);
    hcb_json_close(b, '}');
    hcb_buf_char(b, '\n');
}

void hcb_ledger_add(struct hcb_ledger *l, const struct hcb_verdict *v)
{
    size_t before = l->pending.len;
    l->seq++; /* of a lost line too, so that the gap shows */
    add_line(&l->pending, l->seq, v);
    if (!l->pending.oom && l->pending.len <= HCB_LEDGER_PENDING) {
        l->pending_lines++;
        return;
    }
    l->pending.oom = false;
    l->pending.len = before;
    if (l->pending.data)
        l->pending.data[before] = '\0';
    l->lost++;
}

/* ---- writing ---- */

/* Opens the file if it is not, and brings it to the end of a whole line if what
 * was written last may have torn one. */
static int make_ready(struct hcb_ledger *l, struct hcb_err *err)
{
    bool doubtful = l->trouble || l->fd < 0;
    int64_t torn;
    if (l->fd < 0) {
        int fd = hcb_file_append(l->path, err);
        if (fd < 0)
            return fd;
        l->fd = fd;
    }
    int rc = size_of(l->fd, l->path, &l->bytes, err);
    if (rc == 0 && doubtful)
        rc = cut_torn(l->fd, l->path, &l->bytes, &torn, err);
    return rc;
}

static int write_pending(struct hcb_ledger *l, struct hcb_err *err)
{
    int rc = make_ready(l, err);
    if (rc == 0)
        rc = hcb_file_write_once(l->fd, l->pending.data, l->pending.len, l->path, err);
    l->trouble = rc < 0;
    if (rc < 0)
        return rc;
    l->bytes += (int64_t)l->pending.len;
    l->pending_lines = 0;
    hcb_buf_reset(&l->pending);
    return 0;
}

int hcb_ledger_flush(struct hcb_ledger *l, struct hcb_err *err)
{
    int rc = l->pending.len > 0 ? write_pending(l, err) : 0;
    if (rc < 0 || l->lost == 0)
        return rc;
    rc = hcb_fail(err, HOTCB_ENOMEM,
                  "%" PRId64 " lines of %s were lost, since they could not be kept until it could "
                  "be written",
                  l->lost, l->path);
    l->lost = 0;
    return rc;
}
