/* See fuzz.h. */
#include "fuzz.h"

#include "base/json.h"
#include "base/number.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fuzz_abort(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    abort();
}

bool fuzz_part(struct fuzz_input *in, const char **part, size_t *n)
{
    bool any = !in->started || in->left > 0;
    if (in->started && in->left > 0) { /* past the mark before it */
        in->at++;
        in->left--;
    }
    in->started = true;
    const char *mark = in->left > 0 ? memchr(in->at, FUZZ_MARK, in->left) : NULL;
    *part = in->at;
    *n = mark ? (size_t)(mark - in->at) : in->left;
    in->at += *n;
    in->left -= *n;
    return any;
}

/* ---- files ---- */

static void write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t wrote = write(fd, bytes, n);
        MUST(wrote > 0);
        bytes += wrote;
        n -= (size_t)wrote;
    }
}

const char *fuzz_folder(void)
{
    static char folder[256];
    if (!*folder) {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof(folder), "%s/fuzz-XXXXXX", base ? base : "/tmp");
        MUST(mkdtemp(folder));
    }
    return folder;
}

const char *fuzz_path(const char *name)
{
    static char path[400];
    snprintf(path, sizeof(path), "%s/%s", fuzz_folder(), name);
    return path;
}

static void put(const char *name, int flags, const char *bytes, size_t n)
{
    int fd = open(fuzz_path(name), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    MUST(fd >= 0);
    write_all(fd, bytes, n);
    close(fd);
}

void fuzz_write(const char *name, const char *bytes, size_t n)
{
    put(name, O_TRUNC, bytes, n);
}

void fuzz_append(const char *name, const char *bytes, size_t n)
{
    put(name, O_APPEND, bytes, n);
}

/* ---- what has to hold ---- */

void fuzz_must_be_line(const char *text, size_t n)
{
    struct hcb_buf printable = {0};
    hcb_text_printable(&printable, text, n);
    if (printable.len != n || memcmp(hcb_buf_text(&printable), text, n) != 0)
        fprintf(stderr, "not printable: %s\n", hcb_buf_text(&printable));
    MUST(printable.len == n);
    hcb_buf_release(&printable);
}

void fuzz_must_explain(int rc, const struct hcb_err *err)
{
    MUST(rc < 0 && rc == err->code && *err->text);
    fuzz_must_be_line(err->text, strlen(err->text));
}

static void check_text(const char *s, size_t n, bool utf8)
{
    MUST(s[n] == '\0');
    if (utf8)
        MUST(strlen(s) == n && hcb_utf8_valid(s, n));
}

static size_t check_value(const struct hcb_value *v, int depth, bool utf8)
{
    size_t nodes = 1;
    bool nested = v->type == HCB_LIST || v->type == HCB_MAP;
    MUST(depth + nested <= HCB_VALUE_DEPTH);
    if (v->type == HCB_TEXT)
        check_text(v->u.text.s, v->u.text.n, utf8);
    for (size_t i = 0; v->type == HCB_LIST && i < v->u.list.n; i++)
        nodes += check_value(&v->u.list.v[i], depth + 1, utf8);
    for (size_t i = 0; v->type == HCB_MAP && i < v->u.map.n; i++) {
        const char *key = v->u.map.p[i].key;
        check_text(key, strlen(key), utf8);
        MUST(hcb_map_pair(v, key) == &v->u.map.p[i]);
        nodes += check_value(&v->u.map.p[i].value, depth + 1, utf8);
    }
    return nodes;
}

void fuzz_must_be_sound(const struct hcb_value *v, bool utf8)
{
    MUST(check_value(v, 0, utf8) <= HCB_VALUE_NODES);
}

void fuzz_must_be_json(const char *text, size_t n, struct hcb_value *out)
{
    struct hcb_err err = {0};
    if (hcb_json_parse(text, n, out, &err) < 0) {
        fprintf(stderr, "%s\n%.*s\n", err.text, (int)n, text);
        MUST(!"a strict reader refuses this");
    }
}

bool fuzz_is_finite(const struct hcb_value *v)
{
    bool finite = v->type != HCB_REAL || hcb_is_finite(v->u.d);
    for (size_t i = 0; v->type == HCB_LIST && finite && i < v->u.list.n; i++)
        finite = fuzz_is_finite(&v->u.list.v[i]);
    for (size_t i = 0; v->type == HCB_MAP && finite && i < v->u.map.n; i++)
        finite = fuzz_is_finite(&v->u.map.p[i].value);
    return finite;
}
