/* A file of lines that never grows past its cap; see spool.h. Knows nothing of
 * what the lines say. */
#include "base/spool.h"

#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t count_lines(const char *bytes, size_t n)
{
    int64_t lines = 0;
    const char *end = bytes + n;
    while (bytes < end && (bytes = memchr(bytes, '\n', (size_t)(end - bytes)))) {
        lines++;
        bytes++;
    }
    return lines;
}

static void close_file(struct hcb_spool *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->size = 0;
}

/* A process that died inside a line left it without an end: it gets one, so that
 * the next line stands by itself. */
static int end_torn_line(struct hcb_spool *s, struct hcb_err *err)
{
    int rc = s->torn ? hcb_file_write_once(s->fd, "\n", 1, s->path, err) : 0;
    if (rc == 0 && s->torn)
        s->size++;
    s->torn = s->torn && rc < 0;
    return rc;
}

static int see_end(struct hcb_spool *s, struct hcb_err *err)
{
    struct stat st;
    char last = '\n';
    if (fstat(s->fd, &st) != 0)
        return hcb_fail_errno(err, "look at %s", s->path);
    s->size = (int64_t)st.st_size;
    if (s->size > 0 && hcb_pread(s->fd, &last, 1, s->size - 1) < 0)
        return hcb_fail_errno(err, "read %s", s->path);
    s->torn = last != '\n';
    return 0;
}

static int open_file(struct hcb_spool *s, struct hcb_err *err)
{
    int fd = hcb_file_append(s->path, err);
    if (fd < 0)
        return fd;
    s->fd = fd;
    int rc = see_end(s, err);
    if (rc < 0)
        close_file(s);
    return rc;
}

int hcb_spool_open(struct hcb_spool *s, const char *path, int64_t cap, struct hcb_err *err)
{
    *s = (struct hcb_spool){.fd = -1, .cap = cap};
    s->path = hcb_strdup(path);
    if (!s->path)
        return hcb_fail_nomem(err);
    int rc = open_file(s, err);
    if (rc < 0)
        hcb_spool_close(s);
    return rc;
}

void hcb_spool_close(struct hcb_spool *s)
{
    if (!s->path)
        return;
    close_file(s);
    free(s->path);
    s->path = NULL;
}

bool hcb_spool_is_open(const struct hcb_spool *s)
{
    return s && s->path && s->fd >= 0;
}

void hcb_spool_hold(struct hcb_spool *s)
{
    if (!s->path)
        return;
    close_file(s);
    s->held = true;
}

void hcb_spool_reopen(struct hcb_spool *s)
{
    if (!s->path)
        return;
    close_file(s);
    s->held = false;
    s->lines = s->old_lines = 0;
    open_file(s, NULL); /* if it fails, the next write tries again and reports it */
}

/* Of a file that somebody has removed nothing is left to become the old part. */
static int rotate(struct hcb_spool *s, struct hcb_err *err)
{
    char old[PATH_MAX];
    bool moved = false;
    int n = snprintf(old, sizeof(old), "%s.1", s->path);
    if (n < 0 || (size_t)n >= sizeof(old))
        errno = ENAMETOOLONG;
    else
        moved = rename(s->path, old) == 0;
    if (!moved && errno != ENOENT)
        return hcb_fail_errno(err, "rename %s to %s.1", s->path, s->path);
    if (moved) {
        s->dropped += s->old_lines;
        s->old_lines = s->lines;
    }
    s->lines = 0;
    close_file(s);
    return open_file(s, err);
}

/* How many of the n bytes, in whole lines, are at most `room`. */
static size_t whole_lines(const char *bytes, size_t n, int64_t room)
{
    if (room >= (int64_t)n)
        return n;
    size_t part = room > 0 ? (size_t)room : 0;
    while (part > 0 && bytes[part - 1] != '\n')
        part--;
    return part;
}

/* A line that no part can hold is the caller's trouble, not the file's. */
static int drop_line(struct hcb_spool *s, const char *lines, size_t n, size_t *done)
{
    const char *end = memchr(lines, '\n', n);
    *done = end ? (size_t)(end - lines) + 1 : n;
    s->dropped++;
    return 0;
}

/* Makes the file ready for a write; a part that is full is followed by a new one.
 * Returns how many of the bytes go into it, 0 if the first line is too long. */
static int64_t make_room(struct hcb_spool *s, const char *lines, size_t n, struct hcb_err *err)
{
    int64_t half = s->cap / 2;
    int rc = s->fd < 0 ? open_file(s, err) : 0;
    if (rc == 0)
        rc = end_torn_line(s, err);
    if (rc < 0)
        return rc;
    size_t part = whole_lines(lines, n, half - s->size);
    if (part > 0)
        return (int64_t)part;
    part = whole_lines(lines, n, half);
    if (part > 0 && s->size > 0)
        rc = rotate(s, err);
    return rc < 0 ? rc : (int64_t)part;
}

/* Where several lines do not go in one write, one may: so that what is written together
 * loses no more to a full disk than what is written line by line. Lines of a write that
 * was cut short, and could not be taken back, are there. */
static int write_lines(struct hcb_spool *s, const char *lines, size_t n, size_t *done,
                       struct hcb_err *err)
{
    int64_t before = s->size;
    const char *end = memchr(lines, '\n', n);
    size_t first = end ? (size_t)(end - lines) + 1 : n;
    int rc = hcb_file_write_once(s->fd, lines, n, s->path, err);
    s->size += rc == 0 ? (int64_t)n : 0;
    *done = rc == 0 ? n : 0;
    if (rc == 0 || first == n || see_end(s, NULL) < 0)
        return rc;
    *done = whole_lines(lines, n, s->size - before);
    if (*done > 0)
        return 0;
    rc = s->torn ? rc : hcb_file_write_once(s->fd, lines, first, s->path, err);
    s->size += rc == 0 ? (int64_t)first : 0;
    *done = rc == 0 ? first : 0;
    return rc;
}

/* Writes as many whole lines as fit into the current part, or into a new one. */
static int write_some(struct hcb_spool *s, const char *lines, size_t n, size_t *done,
                      struct hcb_err *err)
{
    *done = 0;
    int64_t part = make_room(s, lines, n, err);
    if (part == 0)
        return drop_line(s, lines, n, done);
    int rc = part < 0 ? (int)part : write_lines(s, lines, (size_t)part, done, err);
    s->lines += count_lines(lines, rc < 0 ? 0 : *done);
    return rc;
}

static void lose(struct hcb_spool *s, const char *lines, size_t n)
{
    int64_t lost = count_lines(lines, n);
    s->lost += lost;
    s->dropped += lost;
}

/* The file is opened anew by the next write, which sees what is there then. */
static int begin_trouble(struct hcb_spool *s, const struct hcb_err *why, struct hcb_err *err)
{
    close_file(s);
    if (s->trouble)
        return 0;
    s->trouble = true;
    s->why = *why;
    return hcb_fail(err, why->code, "%s; lines are dropped until it can be written again",
                    why->text);
}

int hcb_spool_write(struct hcb_spool *s, const char *lines, size_t n, struct hcb_err *err)
{
    if (!s->path)
        return hcb_fail(err, HOTCB_EINVAL, "the file of lines is not open");
    struct hcb_err why = {0};
    int rc = 0;
    while (n > 0 && rc == 0 && !s->held) {
        size_t done;
        rc = write_some(s, lines, n, &done, &why);
        lines += done;
        n -= done;
    }
    if (!s->trouble)
        s->lost = 0;
    lose(s, lines, n);
    if (rc < 0)
        return begin_trouble(s, &why, err);
    s->trouble = s->trouble && s->held;
    return 0;
}
