/* logs: the end of hotcb.log, and what is added to it, across rotation (the file
 * becomes hotcb.log.1 and a new one appears). Takes whole lines only. */
#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "base/text.h"
#include "cli/run_view.h"
#include "cli/table.h"
#include "cli/wait.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES_DEFAULT 100
#define LINES_FOLLOWING 20
#define CHUNK 65536
#define LOOK_MS 100

/* A log line: `2026-11-30T02:29:20.123Z +12.345 INFO  [id] text`. What does not look
 * like one (somebody else's) has only text. */
struct parts {
    const char *time, *mono, *level, *id, *text;
    size_t time_n, mono_n, level_n, id_n, text_n;
};

struct reader {
    struct cli *cli;
    const char *path;
    const char *only; /* this id, or NULL */
    int fd;
    int64_t offset;       /* of the next byte to read */
    struct hcb_buf line;  /* a line whose end is not there yet */
};

static const char *take_word(const char **at, const char *end, size_t *n)
{
    const char *word = *at;
    const char *space = memchr(word, ' ', (size_t)(end - word));
    *n = (size_t)((space ? space : end) - word);
    *at = word + *n;
    while (*at < end && **at == ' ')
        (*at)++;
    return word;
}

static void split(const char *line, size_t n, struct parts *p)
{
    const char *at = line, *end = line + n;
    *p = (struct parts){.text = line, .text_n = n};
    const char *time = take_word(&at, end, &p->time_n);
    const char *mono = take_word(&at, end, &p->mono_n);
    const char *level = take_word(&at, end, &p->level_n);
    const char *close = at < end && *at == '[' ? memchr(at, ']', (size_t)(end - at)) : NULL;
    if (!close || p->mono_n < 2 || *mono != '+')
        return;
    p->time = time;
    p->mono = mono;
    p->level = level;
    p->id = at + 1;
    p->id_n = (size_t)(close - p->id);
    p->text = close + 1 + (close + 1 < end && close[1] == ' ');
    p->text_n = (size_t)(end - p->text);
}

static bool is_wanted(const struct reader *r, const struct parts *p)
{
    return !r->only ||
           (p->id && p->id_n == strlen(r->only) && memcmp(p->id, r->only, p->id_n) == 0);
}

static void text_or_null(struct hcb_buf *b, const char *key, const char *s, size_t n)
{
    hcb_json_key(b, key);
    if (s)
        hcb_json_text(b, s, n);
    else
        hcb_json_null(b);
}

static void write_json(struct hcb_buf *b, const struct parts *p)
{
    double mono = 0;
    bool has_mono = p->mono && hcb_parse_real(p->mono + 1, p->mono_n - 1, &mono);
    hcb_json_open(b, '{');
    text_or_null(b, "time", p->time, p->time_n);
    hcb_json_key(b, "mono");
    if (has_mono)
        hcb_json_real(b, mono);
    else
        hcb_json_null(b);
    text_or_null(b, "level", p->level, p->level_n);
    text_or_null(b, "id", p->id, p->id_n);
    text_or_null(b, "text", p->text, p->text_n);
    hcb_json_close(b, '}');
}

static bool is_level(const struct parts *p, const char *level)
{
    return p->level && p->level_n == strlen(level) && memcmp(p->level, level, p->level_n) == 0;
}

static enum cli_paint level_paint(const struct parts *p)
{
    return is_level(p, "ERROR") ? CLI_RED : is_level(p, "WARN") ? CLI_YELLOW : CLI_PLAIN;
}

static void put_line(struct reader *r, const char *line, size_t n, bool oom)
{
    struct parts parts;
    struct hcb_buf b = {.oom = oom}, safe = {0};
    split(line, n, &parts);
    if (!is_wanted(r, &parts))
        return;
    if (r->cli->json) {
        write_json(&b, &parts);
    } else {
        hcb_text_printable(&safe, line, n);
        cli_paint(&r->cli->out, &b, level_paint(&parts), hcb_buf_text(&safe));
    }
    hcb_buf_char(&b, '\n');
    cli_drop(&b, &safe);
    cli_screen_put(&r->cli->out, &b);
}

/* ---- reading forward ----------------------------------------------------------------- */

static void take_bytes(struct reader *r, const char *bytes, size_t n)
{
    const char *newline;
    while ((newline = memchr(bytes, '\n', n))) {
        size_t len = (size_t)(newline - bytes);
        hcb_buf_add(&r->line, bytes, len);
        put_line(r, hcb_buf_text(&r->line), r->line.len, r->line.oom);
        hcb_buf_release(&r->line);
        bytes += len + 1;
        n -= len + 1;
    }
    hcb_buf_add(&r->line, bytes, n);
}

/* Prints what has come since. Returns whether anything had. */
static bool drain(struct reader *r)
{
    char bytes[CHUNK];
    bool any = false;
    int64_t n;
    while (r->fd >= 0 && (n = hcb_pread(r->fd, bytes, sizeof bytes, r->offset)) > 0) {
        take_bytes(r, bytes, (size_t)n);
        r->offset += n;
        any = true;
    }
    return any;
}

static void reopen(struct reader *r, int64_t offset)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    r->offset = offset;
    hcb_buf_release(&r->line);
}

/* Has another file taken the place of the one that is open? Then the rest of the old
 * one comes first. A file that shrank is read from its beginning. */
static void follow_step(struct reader *r)
{
    struct stat open_file, named;
    bool have_open = r->fd >= 0 && fstat(r->fd, &open_file) == 0;
    if (have_open && open_file.st_size < r->offset)
        r->offset = 0;
    drain(r);
    if (stat(r->path, &named) != 0)
        return;
    if (have_open && named.st_ino == open_file.st_ino && named.st_dev == open_file.st_dev)
        return;
    drain(r); /* what was written between the two */
    reopen(r, 0);
    drain(r);
}

/* Who read the pipe has gone: seen without writing, for there may be nothing to write. */
static bool nobody_reads(const struct cli_screen *s)
{
    struct pollfd p = {.fd = fileno(s->to)};
    return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

static int follow(struct reader *r)
{
    cli_interrupt_catch();
    while (!cli_interrupted()) {
        follow_step(r);
        cli_screen_flush(&r->cli->out);
        if (r->cli->out.error || nobody_reads(&r->cli->out))
            return CLI_REFUSED;
        cli_nap_ms(LOOK_MS);
    }
    return CLI_INTERRUPTED;
}

/* ---- the end of the log ---------------------------------------------------------------- */

static bool is_line_wanted(struct reader *r, const char *line, size_t n)
{
    struct parts parts;
    split(line, n, &parts);
    return is_wanted(r, &parts);
}

/* Where the last *want wanted lines begin; *want becomes how many of them are missing. */
static size_t tail_start(struct reader *r, const struct hcb_buf *text, int64_t *want)
{
    size_t end = text->len, start = text->len;
    while (end > 0 && text->data[end - 1] != '\n')
        end--; /* a last line that is not whole yet */
    while (end > 0 && *want > 0) {
        size_t begin = end - 1;
        while (begin > 0 && text->data[begin - 1] != '\n')
            begin--;
        if (is_line_wanted(r, text->data + begin, end - 1 - begin)) {
            start = begin;
            (*want)--;
        }
        end = begin;
    }
    return start;
}

static bool read_all(int fd, struct hcb_buf *text)
{
    char bytes[CHUNK];
    int64_t n;
    while ((n = hcb_pread(fd, bytes, sizeof bytes, (int64_t)text->len)) > 0)
        hcb_buf_add(text, bytes, (size_t)n);
    return n == 0 && !text->oom;
}

static void put_text(struct reader *r, const struct hcb_buf *text, size_t from)
{
    if (from < text->len)
        take_bytes(r, text->data + from, text->len - from);
}

/* The older part, hotcb.log.1, serves where the newer one has too few lines. */
static int put_older(struct reader *r, int64_t want)
{
    struct hcb_buf path = {0}, text = {0};
    hcb_buf_printf(&path, "%s.1", r->path);
    int fd = path.oom ? -1 : open(path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int code = CLI_OK;
    if (fd >= 0 && read_all(fd, &text)) {
        put_text(r, &text, tail_start(r, &text, &want));
        hcb_buf_release(&r->line);
    }
    if (path.oom || text.oom)
        code = cli_fail(r->cli, CLI_REFUSED, "out of memory");
    if (fd >= 0)
        close(fd);
    hcb_buf_release(&path);
    hcb_buf_release(&text);
    return code;
}

static int put_tail(struct reader *r, int64_t want)
{
    struct hcb_buf text = {0};
    reopen(r, 0);
    if (r->fd < 0 && errno == ENOENT)
        return CLI_OK;
    if (r->fd < 0 || !read_all(r->fd, &text)) {
        hcb_buf_release(&text);
        return cli_fail(r->cli, CLI_REFUSED, "cannot read %s: %s", r->path, strerror(errno));
    }
    r->offset = (int64_t)text.len;
    size_t start = tail_start(r, &text, &want);
    int code = want > 0 ? put_older(r, want) : CLI_OK;
    if (code == CLI_OK)
        put_text(r, &text, start);
    hcb_buf_release(&text);
    return code;
}

static int read_lines(struct cli *cli, int64_t *want)
{
    const char *lines = cli->value[CLI_KEY_LINES];
    *want = cli->given[CLI_KEY_FOLLOW] ? LINES_FOLLOWING : LINES_DEFAULT;
    if (!lines)
        return CLI_OK;
    if (strcmp(lines, "all") == 0)
        *want = INT64_MAX;
    else if (!hcb_parse_int(lines, strlen(lines), want, NULL) || *want < 0)
        return cli_usage(cli, "--lines=%s: it is a number of lines, or all", lines);
    return CLI_OK;
}

static int put_logs(struct cli *cli, const struct cli_run *run)
{
    struct reader r = {.cli = cli, .path = run->at.log, .only = cli->value[CLI_KEY_ID], .fd = -1};
    int64_t want;
    int code = read_lines(cli, &want);
    if (code == CLI_OK)
        code = put_tail(&r, want);
    if (code == CLI_OK && r.fd < 0)
        cli_note(cli, "%s is not there: no run has logged anything yet", run->at.log);
    if (code == CLI_OK && cli->given[CLI_KEY_FOLLOW])
        code = follow(&r);
    if (r.fd >= 0)
        close(r.fd);
    hcb_buf_release(&r.line);
    return code;
}

int cli_run_logs(struct cli *cli)
{
    struct cli_run run;
    int code = cli_run_open(cli, &run);
    if (code == CLI_OK)
        code = put_logs(cli, &run);
    cli_run_close(&run);
    return code;
}
