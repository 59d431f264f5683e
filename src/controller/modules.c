/* Finding the text of scripts and modules. */
#include "controller/modules.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "script/shipped.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void watches_release(struct hcb_watches *w)
{
    for (size_t i = 0; i < w->n; i++)
        hcb_watch_release(&w->v[i]);
    free(w->v);
    memset(w, 0, sizeof *w);
}

/* Most callbacks have one file, and there may be thousands of them. */
static bool make_room(struct hcb_watches *w)
{
    struct hcb_watch *v = w->cap == 0 ? malloc(sizeof *v)
                                      : hcb_grow(w->v, w->n, &w->cap, sizeof *v);
    if (!v)
        return false;
    if (w->cap == 0)
        w->cap = 1;
    w->v = v;
    return true;
}

struct hcb_watch *hcb_watches_get(struct hcb_watches *w, const char *path)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->v[i].path, path) == 0)
            return &w->v[i];
    if (w->n == HCB_WATCHES_MAX)
        return NULL;
    if (!make_room(w) || !hcb_watch_init(&w->v[w->n], path, HCB_SCRIPT_BYTES))
        return NULL;
    return &w->v[w->n++];
}

void hcb_loading_release(struct hcb_loading *l)
{
    free(l->dir);
    watches_release(&l->watches);
}

void hcb_module_release(struct hcb_module *m)
{
    hcb_buf_release(&m->text);
    free(m->chunkname);
    m->chunkname = NULL;
}

/* Lua itself cuts long names in messages, so a path below the working directory is
 * shown relative to it. */
static char *chunkname_of(const struct hcb_places *places, const char *path)
{
    struct hcb_buf b = {0};
    size_t n = places->cwd ? strlen(places->cwd) : 0;
    bool below = n > 1 && strncmp(path, places->cwd, n) == 0 && path[n] == '/';
    hcb_buf_char(&b, '@');
    hcb_buf_str(&b, below ? path + n + 1 : path);
    return hcb_buf_take(&b);
}

/* The file that the look has just read is not read again. */
static bool take_found(struct hcb_loading *l, struct hcb_watch *watch, struct hcb_module *m)
{
    const struct hcb_watch *as = l->found_as;
    if (!l->found || strcmp(as->path, watch->path) != 0)
        return false;
    struct hcb_buf swap = m->text;
    m->text = *l->found;
    *l->found = swap;
    l->found = NULL;
    hcb_watch_same(watch, as);
    return true;
}

static int read_now(struct hcb_loading *l, struct hcb_watch *watch, struct hcb_module *m,
                    struct hcb_err *err)
{
    struct hcb_sig before;
    hcb_noticed_look(&watch->noticed, l->places->notice, watch->path);
    hcb_sig_get(watch->path, &before);
    hcb_buf_reset(&m->text);
    int status = hcb_file_read(watch->path, HCB_SCRIPT_BYTES, &m->text, err);
    if (!hcb_noticed_quiet(&watch->noticed))
        hcb_notice_again(l->places->notice);
    if (status < 0) { /* perhaps it can be read a moment later */
        hcb_watch_miss(watch, &before);
        return status;
    }
    l->bytes += (int64_t)m->text.len;
    hcb_watch_set(watch, &before, hcb_buf_text(&m->text), m->text.len, hcb_clock_ns());
    return 0;
}

/* Reads a file and has it watched, found or not. */
static int read_watched(struct hcb_loading *l, const char *path, struct hcb_module *m,
                        struct hcb_err *err)
{
    struct hcb_watch *watch = hcb_watches_get(&l->watches, path);
    if (!watch && l->watches.n == HCB_WATCHES_MAX)
        return hcb_fail(err, HOTCB_EREFUSED, "too many names: at most %d files are looked for, "
                        "found or not", HCB_WATCHES_MAX);
    if (!watch)
        return hcb_fail_nomem(err);
    int status = take_found(l, watch, m) ? 0 : read_now(l, watch, m, err);
    if (status < 0)
        return status;
    free(m->chunkname);
    m->chunkname = chunkname_of(l->places, path);
    return m->chunkname ? 0 : hcb_fail_nomem(err);
}

static bool is_blank(const struct hcb_buf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (!isspace((unsigned char)b->data[i]))
            return false;
    return true;
}

static int take_shipped(const char *name, struct hcb_module *m, struct hcb_err *err)
{
    const struct hcb_shipped *shipped = hcb_shipped_find(name);
    struct hcb_buf chunkname = {0};
    if (!shipped)
        return 0;
    hcb_buf_reset(&m->text);
    hcb_buf_add(&m->text, shipped->text, shipped->n);
    hcb_buf_printf(&chunkname, "@%s", name);
    free(m->chunkname);
    m->chunkname = hcb_buf_take(&chunkname);
    return m->chunkname && !m->text.oom ? 1 : hcb_fail_nomem(err);
}

static int target_module(const struct hcb_target *target, struct hcb_module *m,
                         struct hcb_err *err)
{
    const char *names[64];
    size_t n = 0;
    int found = take_shipped(target->path, m, err);
    if (found != 0)
        return found < 0 ? found : 0;
    for (const struct hcb_shipped *s = hcb_shipped; s->module && n < 64; s++)
        names[n++] = s->module;
    char hint[HCB_NEAR_CHARS];
    return hcb_fail(err, HOTCB_ENOENT, "no shipped module '%s'%s; for a script of your own use a "
                    "file", target->path, hcb_near_dotted_hint(target->path, names, n, hint));
}

int hcb_loading_target(struct hcb_loading *l, const struct hcb_target *target,
                       struct hcb_module *m, struct hcb_err *err)
{
    if (target->kind == HCB_TARGET_MODULE)
        return target_module(target, m, err);
    free(l->dir);
    l->dir = hcb_path_dir(target->path);
    if (!l->dir)
        return hcb_fail_nomem(err);
    int status = read_watched(l, target->path, m, err);
    if (status == 0 && is_blank(&m->text))
        status = hcb_fail(err, HOTCB_EFORMAT, "%s: is empty", m->chunkname + 1);
    return status;
}

/* a.b_c: words of letters, digits, '_' and '-' with single points between them. */
static bool is_module_name(const char *name)
{
    bool word = false;
    for (const char *s = name; *s; s++) {
        bool part = isalnum((unsigned char)*s) || *s == '_' || *s == '-';
        if (!part && !(*s == '.' && word))
            return false;
        word = part;
    }
    return word && strlen(name) < 200;
}

static int find_in(struct hcb_loading *l, const char *dir, size_t dir_len, const char *name,
                   struct hcb_module *m, struct hcb_err *err)
{
    struct hcb_buf path = {0};
    hcb_buf_add(&path, dir, dir_len);
    hcb_buf_char(&path, '/');
    for (const char *s = name; *s; s++)
        hcb_buf_char(&path, *s == '.' ? '/' : *s);
    hcb_buf_str(&path, ".lua");
    int status = path.oom ? hcb_fail_nomem(err) : read_watched(l, path.data, m, err);
    hcb_buf_release(&path);
    return status == HOTCB_ENOENT ? 0 : status < 0 ? status : 1;
}

int hcb_loading_find(void *user, const char *name, struct hcb_module *m, struct hcb_err *err)
{
    struct hcb_loading *l = user;
    if (!is_module_name(name))
        return hcb_fail(err, HOTCB_EINVAL, "a name is words with points between them");
    int found = take_shipped(name, m, err);
    if (found == 0 && l->dir)
        found = find_in(l, l->dir, strlen(l->dir), name, m, err);
    for (const char *s = l->places->search_path; found == 0 && s && *s;) {
        size_t n = strcspn(s, ":");
        if (n > 0)
            found = find_in(l, s, n, name, m, err);
        s += n + (s[n] == ':');
    }
    return found;
}
