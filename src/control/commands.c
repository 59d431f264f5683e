/* Reads the command file; see commands.h. Knows nothing of what a command means.
 *
 * The buffer begins with the bytes that the fingerprint covers, so that the place can
 * be moved past each line, and be given its fingerprint there, without reading them
 * again. */
#include "control/commands.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_BYTES 1024
#define CHUNK_BYTES 16384
#define FIRST_BYTES 32768 /* as many commands of the usual length as a look takes in */

/* For so long after a change the bytes before the place are compared at each look:
 * stat does not see a file written again with the same length within one tick. */
#define SETTLE_NS (2 * INT64_C(1000000000))

static const char bom[] = "\xef\xbb\xbf";

int hcb_commands_init(struct hcb_commands *c, const char *path)
{
    memset(c, 0, sizeof(*c));
    c->path = hcb_strdup(path);
    return c->path ? 0 : HOTCB_ENOMEM;
}

static void stop_reading(struct hcb_commands *c)
{
    if (c->reading)
        close(c->fd);
    c->reading = false;
}

void hcb_commands_release(struct hcb_commands *c)
{
    stop_reading(c);
    free(c->path);
    hcb_buf_release(&c->bytes);
    memset(c, 0, sizeof(*c));
}

/* ---- the place ---- */

static int64_t tail_of(int64_t offset)
{
    return offset < TAIL_BYTES ? offset : TAIL_BYTES;
}

/* Opens the file for reading and says how large it is. */
static int open_file(const char *path, int64_t *size, struct hcb_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return hcb_fail_errno(err, "open %s", path);
    int rc = 0;
    if (fstat(fd, &st) != 0)
        rc = hcb_fail_errno(err, "look at %s", path);
    else if (!S_ISREG(st.st_mode))
        rc = hcb_fail(err, HOTCB_EIO, "%s is not a regular file: no commands are read from it",
                      path);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    *size = (int64_t)st.st_size;
    return fd;
}

/* The sum of the n bytes before offset. 1: fewer are there. */
static int sum_before(int fd, const char *path, int64_t offset, int64_t n,
                      unsigned char sum[HCB_SHA256_BYTES], struct hcb_err *err)
{
    char tail[TAIL_BYTES];
    int64_t got = hcb_pread(fd, tail, (size_t)n, offset - n);
    if (got < 0)
        return hcb_fail_errno(err, "read %s", path);
    hcb_sha256(tail, (size_t)got, sum);
    return got < n;
}

/* Is the file still the one whose lines up to the place were taken in? 0: yes,
 * 1: no, and *err says why; negative: cannot be found out. */
static int check_place(const struct hcb_commands *c, int fd, int64_t size, struct hcb_err *err)
{
    const struct hcb_commands_place *p = &c->place;
    unsigned char sum[HCB_SHA256_BYTES];
    int rc = 0;
    if (size >= p->offset && p->offset > 0) {
        if (p->tail < 0 || p->tail > tail_of(p->offset)) /* from a damaged state file */
            rc = 1;
        else
            rc = sum_before(fd, c->path, p->offset, p->tail, sum, err);
        if (rc < 0 || (rc == 0 && memcmp(sum, p->fingerprint, sizeof(sum)) == 0))
            return rc;
        hcb_fail(err, HOTCB_OK, "%s was replaced: reading it from the beginning", c->path);
        return 1;
    }
    if (p->offset == 0)
        return 0;
    hcb_fail(err, HOTCB_OK,
             "%s is shorter than before (was truncated): reading it from the beginning", c->path);
    return 1;
}

static void forget_bytes(struct hcb_commands *c)
{
    hcb_buf_reset(&c->bytes);
    c->at = 0;
    c->base = c->place.offset;
}

static int restart(struct hcb_commands *c)
{
    memset(&c->place, 0, sizeof(c->place));
    memset(&c->sig, 0, sizeof(c->sig));
    c->more = c->skipping = c->told = false;
    forget_bytes(c);
    return HCB_COMMANDS_RESTARTED;
}

/* Moves the place past n bytes of the buffer, which are one line. */
static void pass_line(struct hcb_commands *c, size_t n)
{
    c->at += n;
    c->place.offset += (int64_t)n;
    c->place.lines++;
    c->unsealed = true;
}

/* The fingerprint of the place is worked out once for all lines of a look. */
static void seal(struct hcb_commands *c)
{
    size_t tail = c->at < TAIL_BYTES ? c->at : TAIL_BYTES;
    if (!c->unsealed)
        return;
    c->place.tail = (int64_t)tail;
    hcb_sha256(c->bytes.data + c->at - tail, tail, c->place.fingerprint);
    c->unsealed = false;
}

/* Moves the place to an offset anywhere in the file, past so many lines and
 * commands; all or nothing. */
static int move_place(struct hcb_commands *c, int fd, int64_t offset, int64_t lines,
                      int64_t count, struct hcb_err *err)
{
    struct hcb_commands_place next = c->place;
    next.offset = offset;
    next.lines += lines;
    next.count += count;
    next.tail = tail_of(offset);
    int rc = sum_before(fd, c->path, offset, next.tail, next.fingerprint, err);
    if (rc != 0)
        return rc < 0 ? rc
                      : hcb_fail(err, HOTCB_EIO, "%s became shorter while it was read", c->path);
    c->place = next;
    return 0;
}

/* ---- a look ---- */

/* Goes on looking for the end of a line that is too long, and moves the place
 * past it if it is there. What that costs is taken off *budget. */
static int skip_line(struct hcb_commands *c, int fd, int64_t *budget, struct hcb_err *err)
{
    char chunk[CHUNK_BYTES];
    while (*budget > 0) {
        size_t n = *budget < CHUNK_BYTES ? (size_t)*budget : CHUNK_BYTES;
        int64_t got = hcb_pread(fd, chunk, n, c->skipped_to);
        if (got < 0)
            return hcb_fail_errno(err, "read %s", c->path);
        if (got == 0)
            return 0;
        const char *nl = memchr(chunk, '\n', (size_t)got);
        if (nl) {
            int rc = move_place(c, fd, c->skipped_to + (nl - chunk) + 1, 1, 1, err);
            c->skipping = rc < 0;
            return rc;
        }
        c->skipped_to += got;
        *budget -= got;
    }
    return 0;
}

/* How many bytes to read next: each time as many as are there already. */
static size_t next_piece(const struct hcb_commands *c)
{
    int64_t left = c->limit - c->base - (int64_t)c->bytes.len;
    size_t piece = c->bytes.len > c->wanted ? c->bytes.len : c->wanted;
    piece = piece > FIRST_BYTES ? piece : FIRST_BYTES;
    return left < (int64_t)piece ? (size_t)left : piece;
}

/* Adds n bytes that were read behind the end of the buffer, of which the first `known` were
 * in it already. If these are others now, the file is another one than the one we began
 * with: the next look finds out what to do about that. */
static void add_piece(struct hcb_commands *c, size_t n, size_t known)
{
    char *end = c->bytes.data + c->bytes.len;
    size_t fresh = n > known ? n - known : 0;
    if (memcmp(end, end - known, n < known ? n : known) != 0)
        fresh = 0;
    if (known > 0)
        memmove(end, end + known, fresh);
    c->bytes.len += fresh;
    c->bytes.data[c->bytes.len] = '\0';
}

/* Reads on, up to the limit; what is not there is not waited for. */
static int read_piece(struct hcb_commands *c, struct hcb_err *err)
{
    size_t piece = next_piece(c);
    size_t known = c->bytes.len < TAIL_BYTES ? c->bytes.len : TAIL_BYTES;
    int64_t from = c->base + (int64_t)c->bytes.len;
    c->wanted = c->bytes.len + piece;
    if (!hcb_buf_reserve(&c->bytes, known + piece))
        return hcb_fail_nomem(err);
    int64_t got = hcb_pread(c->fd, c->bytes.data + c->bytes.len, known + piece,
                            from - (int64_t)known);
    if (got < 0)
        return hcb_fail_errno(err, "read %s", c->path);
    add_piece(c, (size_t)got, known);
    int64_t end = c->base + (int64_t)c->bytes.len;
    if (end < from + (int64_t)piece)
        c->limit = end;
    c->wanted = 0;
    return 0;
}

/* Reads the bytes that the fingerprint covers and the first that follow them. */
static int fill(struct hcb_commands *c, int64_t size, int64_t budget, struct hcb_err *err)
{
    int64_t fresh = size - c->place.offset;
    forget_bytes(c);
    c->more = fresh > 0;
    if (fresh <= 0 || budget <= 0)
        return HCB_COMMANDS_NOTHING;
    c->base = c->place.offset - c->place.tail;
    c->limit = c->place.offset + (fresh < budget ? fresh : budget);
    c->at = (size_t)c->place.tail;
    int rc = read_piece(c, err);
    if (rc < 0)
        return rc;
    if (c->bytes.len > c->at)
        return HCB_COMMANDS_NEW;
    forget_bytes(c);
    return HCB_COMMANDS_NOTHING;
}

/* Whether another line begins at the place than the long one, though the file is the same. */
static bool is_written_over(const struct hcb_commands *c, int fd)
{
    unsigned char sum[HCB_SHA256_BYTES];
    return sum_before(fd, c->path, c->place.offset + TAIL_BYTES, TAIL_BYTES, sum, NULL) == 0 &&
           memcmp(sum, c->skipped, sizeof sum) != 0;
}

static int look(struct hcb_commands *c, int fd, int64_t size, const struct hcb_sig *sig,
                struct hcb_err *err)
{
    int64_t budget = HOTCB_LOOK_BYTES;
    int rc = check_place(c, fd, size, err);
    if (rc != 0)
        return rc < 0 ? rc : restart(c);
    /* The long line may have been taken away again: then what stands there is new. */
    if (c->skipping && (c->sig.dev != sig->dev || c->sig.ino != sig->ino ||
                        size < c->skipped_to || is_written_over(c, fd)))
        c->skipping = false;
    if (c->skipping && (rc = skip_line(c, fd, &budget, err)) < 0)
        return rc;
    c->sig = *sig;
    c->sig.size = size;
    if (!c->skipping)
        return fill(c, size, budget, err);
    forget_bytes(c);
    c->more = c->skipped_to < size;
    return HCB_COMMANDS_NOTHING;
}

/* The same complaint is made once while it lasts; trying goes on. */
static int complain(struct hcb_commands *c, const struct hcb_err *why, struct hcb_err *err)
{
    forget_bytes(c);
    c->more = true;
    if (c->said.code == why->code && strcmp(c->said.text, why->text) == 0)
        return HCB_COMMANDS_NOTHING;
    c->said = *why;
    return hcb_fail(err, why->code, "%s", why->text);
}

int hcb_commands_begin(struct hcb_commands *c, struct hcb_err *err)
{
    struct hcb_sig sig; /* from before reading, so that what comes later differs from it */
    struct hcb_err why = {0};
    int64_t size, now_ns = hcb_clock_coarse_ns();
    c->handed = 0;
    stop_reading(c);
    seal(c);
    hcb_sig_get(c->path, &sig);
    bool moved = !hcb_sig_same(&sig, &c->sig);
    if (sig.exists && !c->more && !moved && now_ns >= c->settle_until_ns)
        return HCB_COMMANDS_NOTHING;
    if (moved)
        c->settle_until_ns = now_ns + SETTLE_NS;
    int fd = sig.exists ? open_file(c->path, &size, &why) : HOTCB_ENOENT;
    if (fd == HOTCB_ENOENT) {
        memset(&c->sig, 0, sizeof(c->sig));
        forget_bytes(c);
        return HCB_COMMANDS_NOTHING;
    }
    int rc = fd;
    if (fd >= 0) {
        c->fd = fd;
        c->reading = true;
        rc = look(c, fd, size, &sig, &why);
    }
    if (rc != HCB_COMMANDS_NEW)
        stop_reading(c);
    if (rc < 0)
        return complain(c, &why, err);
    c->said.code = 0;
    if (rc == HCB_COMMANDS_RESTARTED)
        hcb_fail(err, HOTCB_OK, "%s", why.text);
    return rc;
}

/* ---- lines ---- */

static void trim(struct hcb_line *line)
{
    if (line->n > 0 && line->text[line->n - 1] == '\r')
        line->n--;
    if (line->offset == 0 && line->n >= 3 && memcmp(line->text, bom, 3) == 0) {
        line->text += 3;
        line->n -= 3;
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_blank(const struct hcb_line *line)
{
    for (size_t i = 0; i < line->n; i++)
        if (!is_space(line->text[i]))
            return false;
    return true;
}

/* Whether this line, which begins at the place, is the long one that an earlier process had. */
static bool is_told(struct hcb_commands *c, size_t n)
{
    bool told = c->told && n > HCB_LINE_BYTES;
    c->told = false;
    return told;
}

static bool hand_out(struct hcb_commands *c, struct hcb_line *line)
{
    line->too_long = line->n > HCB_LINE_BYTES;
    if (line->too_long)
        line->n = HCB_LINE_BYTES;
    c->handed++;
    return true;
}

/* The buffer ends within a line: which is either still being written, or too long
 * to wait for. */
static bool hand_out_unfinished(struct hcb_commands *c, struct hcb_line *line)
{
    size_t left = c->bytes.len - c->at;
    int64_t end = c->base + (int64_t)c->bytes.len;
    if (left <= HCB_LINE_BYTES) {
        c->more = c->more && end < c->sig.size;
        return false;
    }
    *line = (struct hcb_line){.text = c->bytes.data + c->at,
                              .n = left,
                              .offset = c->place.offset,
                              .number = c->place.lines + 1};
    seal(c); /* the place stays before the line */
    hcb_sha256(line->text, TAIL_BYTES, c->skipped);
    c->skipping = true;
    c->skipped_to = end;
    c->at = c->bytes.len;
    if (!is_told(c, left))
        return hand_out(c, line);
    c->more = c->more && end < c->sig.size;
    return false;
}

/* The end of the line that begins at the place, for which is read on; NULL: not there. What
 * cannot be read is tried again, and complained of, by the next look. */
static const char *find_end(struct hcb_commands *c)
{
    for (;;) {
        size_t left = c->bytes.len - c->at;
        const char *nl = left > 0 ? memchr(c->bytes.data + c->at, '\n', left) : NULL;
        if (nl || !c->reading || c->base + (int64_t)c->bytes.len >= c->limit)
            return nl;
        if (read_piece(c, NULL) < 0)
            stop_reading(c);
    }
}

static bool next_line(struct hcb_commands *c, struct hcb_line *line)
{
    while (c->handed < HOTCB_LOOK_OPS) {
        const char *nl = find_end(c);
        if (!nl)
            return hand_out_unfinished(c, line);
        const char *from = c->bytes.data + c->at;
        *line = (struct hcb_line){.text = from,
                                  .n = (size_t)(nl - from),
                                  .offset = c->place.offset,
                                  .number = c->place.lines + 1};
        pass_line(c, line->n + 1);
        trim(line);
        if (is_blank(line))
            continue;
        c->place.count++;
        if (!is_told(c, line->n))
            return hand_out(c, line);
    }
    return false;
}

bool hcb_commands_next(struct hcb_commands *c, struct hcb_line *line)
{
    bool more = next_line(c, line);
    if (!more) {
        stop_reading(c);
        seal(c);
    }
    return more;
}

void hcb_commands_put_back(struct hcb_commands *c, const struct hcb_line *line)
{
    c->more = true;
    stop_reading(c);
    c->at = (size_t)(line->offset - c->base);
    if (c->place.offset == line->offset) { /* its end is not there yet */
        c->skipping = false;
        return;
    }
    c->place.offset = line->offset;
    c->place.lines = line->number - 1;
    c->place.count--;
    c->unsealed = true;
    seal(c);
}

/* ---- after a restart ---- */

/* A walk over the file, byte by byte, that counts lines and commands. */
struct walk {
    int64_t at, line_start;
    int64_t lines, count;
    bool blank; /* so far, of the line we are in */
    int mark;   /* bytes of a BOM that the file begins with; a part of one is no blank */
};

/* True once the line that begins at `wanted` has ended. */
static bool walk_byte(struct walk *w, char c, int64_t wanted)
{
    bool mark = w->at < 3 && w->mark == w->at && c == bom[w->at];
    w->mark += mark;
    w->at++;
    if (c != '\n') {
        w->blank = w->blank && (is_space(c) || mark);
        return false;
    }
    bool there = w->line_start == wanted;
    w->lines++;
    w->count += !w->blank || (w->line_start == 0 && w->mark % 3 != 0);
    w->blank = true;
    w->line_start = w->at;
    return there;
}

/* 1: found its end, 0: it has none, or no line begins there. */
static int walk_to(struct walk *w, int fd, const char *path, int64_t wanted, struct hcb_err *err)
{
    char chunk[CHUNK_BYTES];
    while (w->line_start <= wanted) {
        int64_t got = hcb_pread(fd, chunk, sizeof(chunk), w->at);
        if (got < 0)
            return hcb_fail_errno(err, "read %s", path);
        if (got == 0)
            return 0;
        for (int64_t i = 0; i < got; i++)
            if (walk_byte(w, chunk[i], wanted))
                return 1;
    }
    return 0;
}

static int skip_to(struct hcb_commands *c, int fd, int64_t size, int64_t offset,
                   struct hcb_err *err)
{
    struct walk w = {.at = c->place.offset, .line_start = c->place.offset, .blank = true};
    struct hcb_err why = {0};
    int rc = check_place(c, fd, size, &why);
    if (rc != 0)
        return hcb_fail(err, rc < 0 ? rc : HOTCB_EFORMAT, "%s", why.text);
    rc = walk_to(&w, fd, c->path, offset, err);
    if (rc < 0)
        return rc;
    c->told = rc == 0 && w.line_start == offset && w.at - offset > HCB_LINE_BYTES;
    if (c->told)
        return move_place(c, fd, offset, w.lines, w.count, err);
    if (rc == 0)
        return hcb_fail(err, HOTCB_EFORMAT, "%s has no whole line at byte %" PRId64, c->path,
                        offset);
    return move_place(c, fd, w.at, w.lines, w.count, err);
}

int hcb_commands_skip_to(struct hcb_commands *c, int64_t offset, struct hcb_err *err)
{
    int64_t size;
    if (offset < c->place.offset)
        return 0;
    stop_reading(c);
    int fd = open_file(c->path, &size, err);
    if (fd < 0)
        return fd;
    int rc = skip_to(c, fd, size, offset, err);
    close(fd);
    if (rc == 0) {
        c->skipping = false;
        memset(&c->sig, 0, sizeof(c->sig)); /* the next begin() looks, whatever stat says */
        forget_bytes(c);
    }
    return rc;
}
