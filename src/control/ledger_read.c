/* Reads the ledger: its end, when a run opens it, and what was added to it, for a
 * process that waits for an answer. See ledger.h. Takes in whole lines only. */
#include "control/ledger_read.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/platform.h"
#include "base/text.h"
#include "control/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES 65536
#define LINE_BYTES (4 << 20) /* longer ones are passed over */
#define LINES_BACK 1000      /* unreadable lines at the end that are passed over */

/* ---- lines, forward ---- */

struct lines {
    int fd;
    int64_t base; /* the offset of buf.data[0] */
    size_t at;    /* where the next line begins */
    size_t seen;  /* no newline between at and here */
    bool dropping;
    struct hcb_buf buf;
};

static int64_t lines_offset(const struct lines *r)
{
    return r->base + (int64_t)r->at;
}

/* Reads another chunk behind what is left. 0: there is none. */
static int lines_fill(struct lines *r, const char *path, struct hcb_err *err)
{
    size_t left = r->buf.len - r->at;
    if (left > 0)
        memmove(r->buf.data, r->buf.data + r->at, left);
    r->base += (int64_t)r->at;
    r->buf.len = r->seen = left;
    r->at = 0;
    if (left > LINE_BYTES) {
        r->base += (int64_t)left;
        r->buf.len = r->seen = 0;
        r->dropping = true;
    }
    if (!hcb_buf_reserve(&r->buf, CHUNK_BYTES))
        return hcb_fail_nomem(err);
    int64_t end = r->base + (int64_t)r->buf.len;
    int64_t got = hcb_pread(r->fd, r->buf.data + r->buf.len, CHUNK_BYTES, end);
    if (got < 0)
        return hcb_fail_errno(err, "read %s", path);
    r->buf.len += (size_t)got;
    return got > 0;
}

/* 1 and a whole line without its newline, valid until the next call; 0: no more. */
static int lines_next(struct lines *r, const char *path, const char **text, size_t *n,
                      struct hcb_err *err)
{
    for (;;) {
        const char *nl = r->buf.len > r->seen
                             ? memchr(r->buf.data + r->seen, '\n', r->buf.len - r->seen)
                             : NULL;
        if (!nl) {
            r->seen = r->buf.len;
            int rc = lines_fill(r, path, err);
            if (rc <= 0)
                return rc;
            continue;
        }
        bool whole = !r->dropping;
        *text = r->buf.data + r->at;
        *n = (size_t)(nl - *text);
        r->at = r->seen = r->at + *n + 1;
        r->dropping = false;
        if (whole)
            return 1;
    }
}

/* ---- the end of the file ---- */

int64_t hcb_ledger_line_start(int fd, int64_t end)
{
    char chunk[4096];
    while (end > 0) {
        size_t n = end < (int64_t)sizeof(chunk) ? (size_t)end : sizeof(chunk);
        int64_t from = end - (int64_t)n;
        int64_t got = hcb_pread(fd, chunk, n, from);
        if (got < 0)
            return -1;
        const char *nl = hcb_find_last(chunk, '\n', (size_t)got);
        if (nl)
            return from + (nl - chunk) + 1;
        end = from;
    }
    return 0;
}

/* The number of the line [start, end). 1: it has one. */
static int read_seq(int fd, const char *path, int64_t start, int64_t end, int64_t *seq,
                    struct hcb_err *err)
{
    struct hcb_buf line = {0};
    struct hcb_value v = {0};
    struct hcb_err why = {0};
    size_t n = (size_t)(end - start);
    if (!hcb_buf_reserve(&line, n))
        return hcb_fail_nomem(err);
    int64_t got = hcb_pread(fd, line.data, n, start);
    int rc = got < 0 ? hcb_fail_errno(err, "read %s", path)
                     : hcb_json_parse(line.data, (size_t)got, &v, &why);
    hcb_buf_release(&line);
    if (got < 0 || rc == HOTCB_ENOMEM)
        return got < 0 ? rc : hcb_fail_nomem(err);
    *seq = hcb_map_int(&v, "seq", 0);
    hcb_value_release(&v);
    return *seq > 0;
}

int hcb_ledger_last_seq(int fd, const char *path, int64_t size, int64_t *seq,
                        struct hcb_err *err)
{
    int rc = 0;
    *seq = 0;
    for (int i = 0; i < LINES_BACK && size > 0 && rc == 0; i++) {
        int64_t start = hcb_ledger_line_start(fd, size - 1);
        if (start < 0)
            return hcb_fail_errno(err, "read %s", path);
        if (size - start <= LINE_BYTES)
            rc = read_seq(fd, path, start, size, seq, err);
        size = start;
    }
    return rc < 0 ? rc : 0;
}

/* Leaves *offset and *applied as they are where the line answers no command. Most lines of a
 * long ledger are told apart without parsing them. */
static int answered_offset(const char *text, size_t n, int64_t *offset, bool *applied,
                           struct hcb_err *err)
{
    static const char mark[] = "\"command\"";
    struct hcb_value v = {0};
    struct hcb_err why = {0};
    if (!hcb_find_bytes(text, n, mark, sizeof(mark) - 1))
        return 0;
    if (hcb_json_parse(text, n, &v, &why) == HOTCB_ENOMEM)
        return hcb_fail_nomem(err);
    if (strcmp(hcb_map_text(&v, "origin", ""), "command") == 0) {
        *offset = hcb_map_int(&v, "offset", *offset);
        *applied = strcmp(hcb_map_text(&v, "decision", ""), "applied") == 0;
    }
    hcb_value_release(&v);
    return 0;
}

int hcb_ledger_last_offset(int fd, const char *path, int64_t from, int64_t *offset,
                           struct hcb_err *err)
{
    struct lines r = {.fd = fd, .base = from};
    const char *text;
    size_t n;
    bool applied;
    int rc;
    *offset = -1;
    while ((rc = lines_next(&r, path, &text, &n, err)) > 0) {
        rc = answered_offset(text, n, offset, &applied, err);
        if (rc < 0)
            break;
    }
    hcb_buf_release(&r.buf);
    return rc;
}

void hcb_offsets_release(struct hcb_offsets *offsets)
{
    free(offsets->v);
    *offsets = (struct hcb_offsets){0};
}

static int add_applied(struct hcb_offsets *offsets, const char *text, size_t n,
                       struct hcb_err *err)
{
    int64_t offset = -1;
    bool applied = false;
    int rc = answered_offset(text, n, &offset, &applied, err);
    if (rc < 0 || !applied || offset < 0)
        return rc;
    int64_t *v = hcb_grow(offsets->v, offsets->n, &offsets->cap, sizeof(*v));
    if (!v)
        return hcb_fail_nomem(err);
    offsets->v = v;
    v[offsets->n++] = offset;
    return 0;
}

int hcb_ledger_applied(const struct hcb_ledger *l, int64_t from, struct hcb_offsets *offsets,
                       struct hcb_err *err)
{
    struct lines r = {.fd = l->fd, .base = from};
    const char *text;
    size_t n;
    int rc;
    while ((rc = lines_next(&r, l->path, &text, &n, err)) > 0 &&
           (rc = add_applied(offsets, text, n, err)) == 0)
        ;
    hcb_buf_release(&r.buf);
    return rc;
}

/* ---- which commands are answered ---- */

void hcb_names_release(struct hcb_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->v[i]);
    free(names->v);
    *names = (struct hcb_names){0};
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool hcb_names_have(const struct hcb_names *names, const char *name)
{
    return name && names->n > 0 &&
           bsearch(&name, names->v, names->n, sizeof(*names->v), compare_names) != NULL;
}

static bool add_name(struct hcb_names *names, const char *name)
{
    char **v = hcb_grow(names->v, names->n, &names->cap, sizeof(*v));
    if (!v)
        return false;
    names->v = v;
    names->v[names->n] = hcb_strdup(name);
    if (!names->v[names->n])
        return false;
    names->n++;
    return true;
}

static int add_command(struct hcb_names *names, const char *text, size_t n, struct hcb_err *err)
{
    struct hcb_value v = {0};
    struct hcb_err why = {0};
    int rc = hcb_json_parse(text, n, &v, &why);
    const char *cmd = rc == 0 ? hcb_map_text(&v, "cmd", NULL) : NULL;
    rc = rc == HOTCB_ENOMEM || (cmd && !add_name(names, cmd)) ? hcb_fail_nomem(err) : 0;
    hcb_value_release(&v);
    return rc;
}

int hcb_ledger_commands(const char *path, int64_t max_bytes, struct hcb_names *names,
                        struct hcb_err *err)
{
    int64_t size = hcb_ledger_size(path);
    const char *text;
    size_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT ? 0 : hcb_fail_errno(err, "open %s", path);
    struct lines r = {.fd = fd, .base = size > max_bytes ? size - max_bytes : 0};
    int rc;
    while ((rc = lines_next(&r, path, &text, &n, err)) > 0 &&
           (rc = add_command(names, text, n, err)) == 0)
        ;
    hcb_buf_release(&r.buf);
    close(fd);
    if (names->n > 0)
        qsort(names->v, names->n, sizeof(*names->v), compare_names);
    return rc;
}

/* ---- waiting for an answer ---- */

int64_t hcb_ledger_size(const char *path)
{
    struct hcb_sig sig;
    hcb_sig_get(path, &sig);
    return sig.exists ? sig.size : 0;
}

/* 1: this line answers cmd, and is in *out. */
static int answers(const char *text, size_t n, const char *cmd, struct hcb_value *out,
                   struct hcb_err *err)
{
    struct hcb_err why = {0};
    if (hcb_json_parse(text, n, out, &why) == HOTCB_ENOMEM)
        return hcb_fail_nomem(err);
    if (hcb_streq(hcb_map_text(out, "cmd", NULL), cmd))
        return 1;
    hcb_value_release(out);
    return 0;
}

int hcb_ledger_find(const char *path, int64_t *from, const char *cmd, struct hcb_value *out,
                    struct hcb_err *err)
{
    int64_t size = hcb_ledger_size(path);
    const char *text;
    size_t n;
    if (size < *from) /* another file, or cut: what is there now is all new */
        *from = 0;
    if (size == *from)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT ? 0 : hcb_fail_errno(err, "open %s", path);
    struct lines r = {.fd = fd, .base = *from};
    int rc, found = 0;
    while (!found && (rc = lines_next(&r, path, &text, &n, err)) != 0) {
        found = rc < 0 ? rc : answers(text, n, cmd, out, err);
        if (found >= 0)
            *from = lines_offset(&r);
    }
    hcb_buf_release(&r.buf);
    close(fd);
    return found;
}
