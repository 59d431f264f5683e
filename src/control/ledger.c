/* Writes the ledger; see ledger.h, and ledger_read.c for how it is read. Knows
 * nothing of what an op does. */
#include "control/ledger.h"

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "control/ledger_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BRIEF_BYTES 3072 /* what memory must be there for: a line in brief is shorter */
#define BRIEF_ERROR 200  /* of why, in such a line */

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
}

/* ---- one line ---- */

/* Keys go out as they are spelt: hundreds of lines are made within one look. */
static void add_time(struct hcb_buf *b, const struct hcb_moment *at)
{
    hcb_buf_str(b, ",\"time\":");
    hcb_json_millionths(b, at->wall_us);
    hcb_buf_str(b, ",\"mono\":");
    hcb_json_millionths(b, at->mono_ns / 1000);
}

static void add_op(struct hcb_buf *b, const struct hcb_op *op)
{
    hcb_buf_str(b, ",\"op\":");
    hcb_json_str(b, hcb_op_name(op->kind));
    hcb_buf_str(b, ",\"id\":");
    hcb_json_str(b, op->id);
    hcb_buf_str(b, ",\"origin\":");
    hcb_json_str(b, hcb_origin_name(op->origin));
    if (op->cmd) {
        hcb_buf_str(b, ",\"cmd\":");
        hcb_json_str(b, op->cmd);
    }
    if (op->offset >= 0) {
        hcb_buf_str(b, ",\"offset\":");
        hcb_json_int(b, op->offset);
    }
    if (op->line > 0) {
        hcb_buf_str(b, ",\"line\":");
        hcb_json_int(b, op->line);
    }
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

static void add_error(struct hcb_buf *b, const char *error, bool brief)
{
    size_t n = error ? strlen(error) : 0;
    if (brief && n > BRIEF_ERROR)
        n = hcb_utf8_cut(error, BRIEF_ERROR);
    hcb_buf_str(b, ",\"error\":");
    if (error)
        hcb_json_text(b, error, n);
    else
        hcb_json_null(b);
}

static void add_step(struct hcb_buf *b, const struct hcb_verdict *v)
{
    hcb_buf_str(b, ",\"step\":");
    if (v->has_step)
        hcb_json_int(b, v->step);
    else
        hcb_json_null(b);
}

/* `brief`: without what may be long. */
static void add_line(struct hcb_buf *b, int64_t seq, const struct hcb_verdict *v, bool brief)
{
    hcb_buf_str(b, "{\"seq\":");
    hcb_json_int(b, seq);
    hcb_buf_str(b, ",\"run\":");
    hcb_json_str(b, v->run);
    add_time(b, v->at);
    add_step(b, v);
    add_op(b, v->op);
    hcb_buf_str(b, v->applied ? ",\"decision\":\"applied\"" : ",\"decision\":\"rejected\"");
    add_error(b, v->error, brief);
    if (v->reason)
        hcb_json_put_str(b, "reason", v->reason);
    if (!brief)
        add_content(b, v->op);
    if (v->sha256)
        hcb_json_put_str(b, "sha256", v->sha256);
    hcb_buf_str(b, "}\n");
}

/* true: it is pending now, else nothing has changed. */
static bool try_line(struct hcb_ledger *l, const struct hcb_verdict *v, bool brief)
{
    size_t before = l->pending.len;
    add_line(&l->pending, l->seq, v, brief);
    if (!l->pending.oom && l->pending.len <= HCB_LEDGER_PENDING) {
        l->pending_lines++;
        return true;
    }
    l->pending.oom = false;
    l->pending.len = before;
    if (l->pending.data)
        l->pending.data[before] = '\0';
    return false;
}

void hcb_ledger_add(struct hcb_ledger *l, const struct hcb_verdict *v)
{
    l->seq++; /* of a lost line too, so that the gap shows */
    if (!try_line(l, v, false) && !try_line(l, v, true))
        l->lost++;
}

bool hcb_ledger_room(struct hcb_ledger *l, size_t lines)
{
    bool room = hcb_buf_reserve(&l->pending, lines * BRIEF_BYTES);
    l->pending.oom = false;
    return room;
}

/* ---- writing ---- */

/* A write that was cut short may have left the beginning of what is pending at the end of
 * the file, and the system may refuse to take it back: what is there is not written again.
 * *n is 0 if something else, or nothing, stands behind the last line that is whole. */
static int find_written(const struct hcb_ledger *l, int64_t size, size_t *n, struct hcb_err *err)
{
    char chunk[4096];
    size_t done = 0, behind = size > l->bytes ? (size_t)(size - l->bytes) : 0;
    *n = 0;
    if (behind > l->pending.len)
        return 0;
    while (done < behind) {
        size_t part = behind - done < sizeof(chunk) ? behind - done : sizeof(chunk);
        int64_t got = hcb_pread(l->fd, chunk, part, l->bytes + (int64_t)done);
        if (got < 0)
            return hcb_fail_errno(err, "read %s", l->path);
        if (got != (int64_t)part || memcmp(chunk, l->pending.data + done, part) != 0)
            return 0;
        done += part;
    }
    *n = behind;
    return 0;
}

/* Opens the file if it is not. If what was written last may have torn a line, it is brought
 * to the end of a whole one, or *written says how much of what is pending stands there. */
static int make_ready(struct hcb_ledger *l, size_t *written, struct hcb_err *err)
{
    bool doubtful = l->trouble || l->fd < 0;
    int64_t size, torn;
    *written = 0;
    if (l->fd < 0) {
        int fd = hcb_file_append(l->path, err);
        if (fd < 0)
            return fd;
        l->fd = fd;
    }
    int rc = size_of(l->fd, l->path, &size, err);
    if (rc == 0 && doubtful)
        rc = find_written(l, size, written, err);
    if (rc == 0 && doubtful && *written == 0)
        rc = cut_torn(l->fd, l->path, &size, &torn, err);
    if (rc == 0 && *written == 0)
        l->bytes = size;
    return rc;
}

static int write_pending(struct hcb_ledger *l, struct hcb_err *err)
{
    size_t written;
    int rc = make_ready(l, &written, err);
    if (rc == 0 && written < l->pending.len)
        rc = hcb_file_write_once(l->fd, l->pending.data + written, l->pending.len - written,
                                 l->path, err);
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
