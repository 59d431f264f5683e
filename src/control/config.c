/* YAML text -> values; see config.h. The only door to libyaml. Knows nothing of
 * what the values mean; config_check.c does.
 *
 * The text is read as events. An alias becomes a placeholder first, and what all
 * aliases together would expand to is counted as they go by; only a text that
 * stays within the bounds is expanded, at the end. So a text of a few hundred
 * bytes that stands for gigabytes costs a few hundred bytes. */
#include "control/config.h"

#include "base/platform.h"
#include "base/scalar.h"
#include "base/text.h"
#include "control/shape.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define TAG_LINES 100

/* A list or map that is not closed yet. */
struct frame {
    struct hcb_value *v; /* stays where it is: its parent does not grow meanwhile */
    int height;          /* levels below it so far */
    int anchor;          /* or -1 */
    bool want_value;     /* of a map: its last key has none yet */
};

/* A node that aliases may name: it is found again by its place in the tree,
 * because values move as their parents grow. */
struct anchor {
    char *name;
    bool done;
    int height;
    size_t nodes, bytes;          /* before it; once it is done, its own */
    int depth;
    size_t path[HCB_VALUE_DEPTH]; /* index in each list or map on the way */
};

struct reader {
    yaml_parser_t parser;
    const char *text; /* all of it */
    size_t n;
    const char *name; /* of the file */
    struct hcb_value *root;
    struct frame frames[HCB_VALUE_DEPTH];
    int depth;
    struct anchor *anchors;
    int anchor_n;
    size_t nodes, bytes; /* so far, aliases expanded */
    int documents;
    struct hcb_err *err;
};

/* ---- failures ---- */

static int fail_at(struct reader *r, size_t line, const char *fmt, ...) HCB_PRINTF(3, 4);

static int fail_at(struct reader *r, size_t line, const char *fmt, ...)
{
    struct hcb_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    hcb_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    int rc = hcb_fail(r->err, HOTCB_EFORMAT, "%s:%zu: %s", r->name, line + 1, hcb_buf_text(&b));
    hcb_buf_release(&b);
    return rc;
}

/* libyaml's words, where others help more. */
static const char *plain_words(const char *problem)
{
    static const char *const words[][2] = {
        {"found character that cannot start any token",
         "a character that cannot stand here (a tab, '@', '`' or '%'): indent with spaces, and "
         "put quotes around text"},
        {"mapping values are not allowed in this context",
         "a ':' where no key can be: check how this line is indented, or put quotes around text"},
        {"could not find expected ':'", "a key without its ':'"},
        {"did not find expected key", "this line is not indented like the keys around it"},
        {"did not find expected '-' indicator",
         "this line is not indented like the list around it"},
        {"did not find expected ',' or ']'", "a ',' is missing in a list, or the ']' at its end"},
        {"did not find expected ',' or '}'", "a ',' is missing in a map, or the '}' at its end"},
        {"found unexpected ':'", "a ':' that no space follows: put quotes around text"},
        {"found unexpected end of stream", "a quote is opened here or above, and never closed"},
        {"did not find expected <document start>", "text after the end of the document"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(problem, words[i][0]) == 0)
            return words[i][1];
    return problem;
}

static size_t line_of(const struct reader *r, size_t offset)
{
    size_t line = 0;
    for (size_t i = 0; i < offset && i < r->n; i++)
        line += r->text[i] == '\n';
    return line;
}

static int fail_parse(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "not YAML";
    char where[80] = "";
    if (p->error == YAML_MEMORY_ERROR)
        return hcb_fail_nomem(r->err);
    if (p->error == YAML_READER_ERROR)
        return fail_at(r, line_of(r, p->problem_offset), "not UTF-8 text: %s", problem);
    if (p->context && p->context_mark.line != p->problem_mark.line)
        snprintf(where, sizeof(where), " (it began on line %zu)", p->context_mark.line + 1);
    return fail_at(r, p->problem_mark.line, "not valid YAML: %s%s", plain_words(problem), where);
}

/* ---- the tree ---- */

static int count(struct reader *r, size_t line, size_t nodes, size_t bytes)
{
    r->nodes += nodes;
    r->bytes += bytes;
    if (r->nodes > HCB_VALUE_NODES)
        return fail_at(r, line, "more than %d values, aliases expanded", HCB_VALUE_NODES);
    if (r->bytes > HCB_YAML_TEXT_BYTES)
        return fail_at(r, line, "more than %d bytes of text, aliases expanded",
                       HCB_YAML_TEXT_BYTES);
    return 0;
}

static struct frame *top(struct reader *r)
{
    return r->depth > 0 ? &r->frames[r->depth - 1] : NULL;
}

/* Something of this height was put into the innermost list or map. */
static void raise_height(struct reader *r, int height)
{
    struct frame *f = top(r);
    if (f && f->height < height)
        f->height = height;
}

/* The place for the next value; NULL when out of memory. In a map its key is there. */
static struct hcb_value *next_place(struct reader *r)
{
    struct frame *f = top(r);
    if (!f)
        return r->root;
    if (f->v->type == HCB_LIST)
        return hcb_list_add(f->v);
    f->want_value = false;
    return &f->v->u.map.p[f->v->u.map.n - 1].value;
}

static bool wants_key(struct reader *r)
{
    struct frame *f = top(r);
    return f && f->v->type == HCB_MAP && !f->want_value;
}

static int fail_key(struct reader *r, size_t line)
{
    return fail_at(r, line, "a key must be a plain word, not a list, a map or an alias");
}

/* ---- anchors ---- */

static void set_path(struct reader *r, struct anchor *a)
{
    a->depth = r->depth;
    for (int i = 0; i < r->depth; i++) {
        const struct hcb_value *v = r->frames[i].v;
        a->path[i] = (v->type == HCB_LIST ? v->u.list.n : v->u.map.n) - 1;
    }
}

/* After the value has its place. Leaves the anchor's number, or -1 for none, in *out. */
static int add_anchor(struct reader *r, const yaml_char_t *name, size_t line, int *out)
{
    *out = -1;
    if (!name)
        return 0;
    if (r->anchor_n == HCB_YAML_ANCHORS)
        return fail_at(r, line, "more than %d anchors", HCB_YAML_ANCHORS);
    if (!r->anchors)
        r->anchors = calloc(HCB_YAML_ANCHORS, sizeof(*r->anchors));
    if (!r->anchors)
        return hcb_fail_nomem(r->err);
    struct anchor *a = &r->anchors[r->anchor_n];
    a->name = hcb_strdup((const char *)name);
    if (!a->name)
        return hcb_fail_nomem(r->err);
    a->nodes = r->nodes;
    a->bytes = r->bytes;
    set_path(r, a);
    *out = r->anchor_n++;
    return 0;
}

static void end_anchor(struct reader *r, int number, int height)
{
    if (number < 0)
        return;
    struct anchor *a = &r->anchors[number];
    a->nodes = r->nodes - a->nodes + 1; /* with the value itself, counted before */
    a->bytes = r->bytes - a->bytes;
    a->height = height;
    a->done = true;
}

static struct hcb_value *anchored(const struct reader *r, const struct anchor *a)
{
    struct hcb_value *v = r->root;
    for (int i = 0; i < a->depth; i++)
        v = v->type == HCB_LIST ? &v->u.list.v[a->path[i]] : &v->u.map.p[a->path[i]].value;
    return v;
}

/* A placeholder is a null with the anchor's number and one; a real null has 0. */
static int on_alias(struct reader *r, const yaml_event_t *e)
{
    size_t line = e->start_mark.line;
    const char *name = (const char *)e->data.alias.anchor;
    char shown[HCB_SHOW_CHARS];
    int i = r->anchor_n - 1;
    if (wants_key(r))
        return fail_key(r, line);
    while (i >= 0 && strcmp(r->anchors[i].name, name) != 0)
        i--;
    if (i < 0)
        return fail_at(r, line, "the alias *%s names no anchor above it",
                       hcb_show_text(name, shown));
    const struct anchor *a = &r->anchors[i];
    if (!a->done)
        return fail_at(r, line, "the alias *%s stands inside of what it names",
                       hcb_show_text(name, shown));
    if (r->depth + a->height > HCB_VALUE_DEPTH)
        return fail_at(r, line, "more than %d lists or maps within one another, aliases expanded",
                       HCB_VALUE_DEPTH);
    int rc = count(r, line, a->nodes, a->bytes);
    if (rc < 0)
        return rc;
    struct hcb_value *place = next_place(r);
    if (!place)
        return hcb_fail_nomem(r->err);
    place->u.i = i + 1;
    raise_height(r, a->height);
    return 0;
}

/* Puts copies in for the placeholders, in the order of the text: what an anchor
 * names is then complete before its alias comes. */
static bool expand(const struct reader *r, struct hcb_value *v)
{
    bool ok = true;
    if (v->type == HCB_NULL && v->u.i != 0) {
        const struct hcb_value *from = anchored(r, &r->anchors[v->u.i - 1]);
        v->u.i = 0;
        return hcb_value_copy(v, from);
    }
    if (v->type == HCB_LIST)
        for (size_t i = 0; i < v->u.list.n && ok; i++)
            ok = expand(r, &v->u.list.v[i]);
    if (v->type == HCB_MAP)
        for (size_t i = 0; i < v->u.map.n && ok; i++)
            ok = expand(r, &v->u.map.p[i].value);
    return ok;
}

/* ---- scalars ---- */

static const char core[] = "tag:yaml.org,2002:";

/* The name of a tag of YAML itself ("str"), or NULL. */
static const char *core_tag(const yaml_char_t *tag)
{
    const char *s = (const char *)tag;
    return strncmp(s, core, sizeof(core) - 1) == 0 ? s + sizeof(core) - 1 : NULL;
}

static int fail_tag(struct reader *r, size_t line, const yaml_char_t *tag)
{
    const char *name = core_tag(tag);
    char shown[HCB_SHOW_CHARS];
    return fail_at(r, line, "the tag %s%s is not understood: leave it out", name ? "!!" : "",
                   hcb_show_text(name ? name : (const char *)tag, shown));
}

/* Does a value that was read fit the tag it was given? An integer fits !!float. */
static bool fits_tag(struct hcb_value *v, const char *tag)
{
    if (v->type == HCB_INT && strcmp(tag, "float") == 0)
        hcb_value_real(v, (double)v->u.i);
    return (v->type == HCB_NULL && strcmp(tag, "null") == 0) ||
           (v->type == HCB_BOOL && strcmp(tag, "bool") == 0) ||
           (v->type == HCB_INT && strcmp(tag, "int") == 0) ||
           (v->type == HCB_REAL && strcmp(tag, "float") == 0);
}

static int read_text(struct reader *r, const yaml_event_t *e, struct hcb_value *v)
{
    if (!hcb_value_text(v, (const char *)e->data.scalar.value, e->data.scalar.length))
        return hcb_fail_nomem(r->err);
    return 0;
}

static int resolve(struct reader *r, const yaml_event_t *e, struct hcb_value *v)
{
    struct hcb_err why = {0};
    int rc = hcb_scalar_resolve((const char *)e->data.scalar.value, e->data.scalar.length, v, &why);
    if (rc == HOTCB_ENOMEM)
        return hcb_fail_nomem(r->err);
    return rc < 0 ? fail_at(r, e->start_mark.line, "%s", why.text) : 0;
}

static int read_tagged(struct reader *r, const yaml_event_t *e, struct hcb_value *v)
{
    static const char *const known[] = {"null", "bool", "int", "float"};
    const yaml_char_t *tag = e->data.scalar.tag;
    const char *name = core_tag(tag);
    char shown[HCB_SHOW_CHARS];
    if (strcmp((const char *)tag, "!") == 0 || (name && strcmp(name, "str") == 0))
        return read_text(r, e, v);
    if (!name || !hcb_known(name, known, sizeof(known) / sizeof(known[0])))
        return fail_tag(r, e->start_mark.line, tag);
    int rc = resolve(r, e, v);
    if (rc < 0 || fits_tag(v, name))
        return rc;
    return fail_at(r, e->start_mark.line, "%s does not fit its tag !!%s", hcb_show(v, shown), name);
}

static int read_scalar(struct reader *r, const yaml_event_t *e, struct hcb_value *v)
{
    if (e->data.scalar.tag)
        return read_tagged(r, e, v);
    if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return resolve(r, e, v);
    return read_text(r, e, v);
}

static int on_key(struct reader *r, const yaml_event_t *e)
{
    size_t line = e->start_mark.line;
    const char *key = (const char *)e->data.scalar.value;
    struct hcb_value *map = top(r)->v;
    if (e->data.scalar.anchor || e->data.scalar.tag)
        return fail_at(r, line, "a key takes no anchor and no tag");
    if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(key, "<<") == 0)
        return fail_at(r, line, "merging with << is not supported: write the keys out");
    int rc = count(r, line, 0, e->data.scalar.length);
    if (rc < 0)
        return rc;
    if (!hcb_map_append(map, key))
        return hcb_fail_nomem(r->err);
    map->u.map.p[map->u.map.n - 1].line = (int)line + 1;
    top(r)->want_value = true;
    return 0;
}

static int on_scalar(struct reader *r, const yaml_event_t *e)
{
    size_t line = e->start_mark.line;
    size_t n = e->data.scalar.length;
    int anchor;
    if (memchr(e->data.scalar.value, '\0', n))
        return fail_at(r, line, "a NUL character (\\0) in a text");
    if (wants_key(r))
        return on_key(r, e);
    int rc = count(r, line, 1, 0);
    if (rc < 0)
        return rc;
    struct hcb_value *place = next_place(r);
    if (!place)
        return hcb_fail_nomem(r->err);
    rc = add_anchor(r, e->data.scalar.anchor, line, &anchor);
    if (rc == 0)
        rc = count(r, line, 0, n);
    if (rc == 0)
        rc = read_scalar(r, e, place);
    end_anchor(r, anchor, 0);
    return rc;
}

/* ---- lists and maps ---- */

static int on_open(struct reader *r, const yaml_event_t *e, enum hcb_type type,
                   const yaml_char_t *name, const yaml_char_t *tag)
{
    size_t line = e->start_mark.line;
    int anchor;
    if (wants_key(r))
        return fail_key(r, line);
    if (r->depth == HCB_VALUE_DEPTH)
        return fail_at(r, line, "more than %d lists or maps within one another", HCB_VALUE_DEPTH);
    const char *core_name = tag ? core_tag(tag) : NULL;
    if (tag && !(core_name && strcmp(core_name, type == HCB_LIST ? "seq" : "map") == 0))
        return fail_tag(r, line, tag);
    int rc = count(r, line, 1, 0);
    if (rc < 0)
        return rc;
    struct hcb_value *place = next_place(r);
    if (!place)
        return hcb_fail_nomem(r->err);
    rc = add_anchor(r, name, line, &anchor);
    if (rc < 0)
        return rc;
    if (type == HCB_LIST)
        hcb_value_list(place);
    else
        hcb_value_map(place);
    r->frames[r->depth++] = (struct frame){.v = place, .height = 1, .anchor = anchor};
    return 0;
}

static int check_twice(struct reader *r, const struct hcb_value *map)
{
    const struct hcb_pair *twice, *first = map->u.map.p;
    char shown[HCB_SHOW_CHARS];
    if (!hcb_map_twice(map, &twice))
        return hcb_fail_nomem(r->err);
    if (!twice)
        return 0;
    while (strcmp(first->key, twice->key) != 0)
        first++;
    return fail_at(r, (size_t)twice->line - 1, "the key '%s' stands here and on line %d: once only",
                   hcb_show_text(twice->key, shown), first->line);
}

static int on_close(struct reader *r)
{
    struct frame f = r->frames[--r->depth];
    end_anchor(r, f.anchor, f.height);
    raise_height(r, f.height + 1);
    return f.v->type == HCB_MAP ? check_twice(r, f.v) : 0;
}

/* ---- the whole ---- */

static int on_event(struct reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++r->documents > 1)
            return fail_at(r, e->start_mark.line, "a second document ('---'): one is allowed");
        return 0;
    case YAML_ALIAS_EVENT:
        return on_alias(r, e);
    case YAML_SCALAR_EVENT:
        return on_scalar(r, e);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(r, e, HCB_LIST, e->data.sequence_start.anchor, e->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return on_open(r, e, HCB_MAP, e->data.mapping_start.anchor, e->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_close(r);
    default:
        return 0;
    }
}

static int read_events(struct reader *r)
{
    for (;;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r->parser, &e))
            return fail_parse(r);
        bool end = e.type == YAML_STREAM_END_EVENT;
        int rc = on_event(r, &e);
        yaml_event_delete(&e);
        if (rc < 0 || end)
            return rc;
    }
}

/* libyaml compares each %TAG line with all before it, before it says anything. */
static bool has_many_tag_lines(const char *text, size_t n)
{
    const char *at = text;
    for (int i = 0; i < TAG_LINES && at; i++) {
        at = hcb_find_bytes(at, n - (size_t)(at - text), "%TAG", 4);
        if (at)
            at += 4;
    }
    return at != NULL;
}

int hcb_yaml_parse(const char *text, size_t n, const char *name, struct hcb_value *out,
                   struct hcb_err *err)
{
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        n -= 3;
    }
    if (n == 0)
        return 0;
    struct reader r = {.text = text, .n = n, .name = name, .root = out, .err = err};
    if (has_many_tag_lines(text, n))
        return hcb_fail(err, HOTCB_EFORMAT, "%s: more than %d %%TAG lines", name, TAG_LINES - 1);
    if (!yaml_parser_initialize(&r.parser))
        return hcb_fail_nomem(err);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    int rc = read_events(&r);
    if (rc == 0 && r.anchor_n > 0 && !expand(&r, out))
        rc = hcb_fail_nomem(err);
    yaml_parser_delete(&r.parser);
    for (int i = 0; i < r.anchor_n; i++)
        free(r.anchors[i].name);
    free(r.anchors);
    if (rc < 0)
        hcb_value_release(out);
    return rc;
}
