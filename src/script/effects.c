/* The queue of what a script asked for during one call. */
#include "script/effects.h"
#include "base/array.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

void hcb_effects_release(struct hcb_effects *e)
{
    free(e->v);
    hcb_buf_release(&e->bytes);
    memset(e, 0, sizeof *e);
}

/* A call that asked for a lot must not leave its memory with the run for good. */
void hcb_effects_reset(struct hcb_effects *e)
{
    if (e->bytes.cap > (1 << 20))
        hcb_buf_release(&e->bytes);
    else
        hcb_buf_reset(&e->bytes);
    e->n = 0;
    e->files = e->said_bytes = 0;
    e->dropped = 0;
    e->stop = e->disable = false;
}

#define STOP_BYTES 1000 /* of a reason; the rest is cut */
#define NAME_BYTES 256  /* of an artifact's name; one so long is refused */

/* Of what is said at most once in a call: has it been? NULL for other kinds. */
static bool *once(struct hcb_effects *e, enum hcb_effect_kind kind)
{
    if (kind == HCB_EFFECT_STOP)
        return &e->stop;
    return kind == HCB_EFFECT_DISABLE ? &e->disable : NULL;
}

/* How much of a text is kept. */
static size_t kept(enum hcb_effect_kind kind, const char *text, size_t n)
{
    size_t most = kind == HCB_EFFECT_LOG ? HCB_LOG_LINE_BYTES
                : kind == HCB_EFFECT_STOP ? STOP_BYTES
                : kind == HCB_EFFECT_ARTIFACT ? NAME_BYTES : n;
    return n > most ? hcb_utf8_cut(text, most) : n;
}

static bool fits(const struct hcb_effects *e, size_t text_len, size_t bytes_len)
{
    return e->n < HCB_EFFECTS_MAX && text_len <= HCB_EFFECTS_TEXT - e->said_bytes &&
           bytes_len <= HCB_EFFECTS_BYTES &&
           e->bytes.len + text_len + bytes_len <= HCB_EFFECTS_BYTES;
}

static bool room(struct hcb_effects *e)
{
    struct hcb_effect *v = hcb_grow(e->v, e->n, &e->cap, sizeof *v);
    if (v)
        e->v = v;
    return v != NULL;
}

struct hcb_effect *hcb_effects_add_bytes(struct hcb_effects *e, enum hcb_effect_kind kind,
                                         const char *text, size_t text_len, const char *bytes,
                                         size_t bytes_len)
{
    bool *said = once(e, kind);
    size_t whole_len = text_len;
    if (said && *said)
        return NULL;
    text_len = kept(kind, text, text_len);
    bool file = kind == HCB_EFFECT_ARTIFACT || kind == HCB_EFFECT_PICTURE;
    if ((!said && !fits(e, text_len, bytes_len)) || !room(e) ||
        (file && e->files == HCB_EFFECTS_FILES) ||
        !hcb_buf_reserve(&e->bytes, text_len + bytes_len)) {
        e->bytes.oom = false;
        e->dropped++;
        return NULL;
    }
    struct hcb_effect *x = &e->v[e->n++];
    e->files += file;
    e->said_bytes += said ? 0 : text_len;
    memset(x, 0, sizeof *x);
    if (said)
        *said = true;
    x->kind = kind;
    x->level = HOTCB_INFO;
    x->text = e->bytes.len;
    x->text_len = text_len;
    x->whole_len = whole_len;
    hcb_buf_add(&e->bytes, text, text_len);
    x->bytes = e->bytes.len;
    x->bytes_len = bytes_len;
    hcb_buf_add(&e->bytes, bytes, bytes_len);
    return x;
}

struct hcb_effect *hcb_effects_add(struct hcb_effects *e, enum hcb_effect_kind kind,
                                   const char *text, size_t text_len)
{
    return hcb_effects_add_bytes(e, kind, text, text_len, "", 0);
}
