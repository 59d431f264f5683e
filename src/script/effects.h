/* What a script asks of the host: queued while it runs, carried out after it has
 * returned, so that no long jump ever crosses host code. Knows nothing of Lua. */
#ifndef HCB_EFFECTS_H
#define HCB_EFFECTS_H

#include "base/spool.h"
#include <hotcb/hotcb.h>

/* Of one call. What goes beyond is dropped, and counted; but for the first stop and
 * the first disable, which always find room, and repetitions of them, which say
 * nothing new. */
#define HCB_EFFECTS_MAX 1024
#define HCB_EFFECTS_BYTES (8 << 20)
#define HCB_EFFECTS_TEXT (256 << 10) /* bytes of those that are log lines and keys */
#define HCB_EFFECTS_FILES 16 /* artifacts and pictures */

#define HCB_LOG_LINE_BYTES 4096 /* of a log line; the rest is cut at once, and named */

enum hcb_effect_kind {
    HCB_EFFECT_LOG,      /* text: the line */
    HCB_EFFECT_SCALAR,   /* text: the key */
    HCB_EFFECT_ARTIFACT, /* text: the name; bytes */
    HCB_EFFECT_STOP,     /* text: the reason */
    HCB_EFFECT_DISABLE,
    HCB_EFFECT_HISTOGRAM, /* text: the key; bytes: "counts":[...],"edges":[...] */
    HCB_EFFECT_PICTURE,   /* text: the key; bytes: of the file */
    HCB_EFFECT_GPUS       /* it wants to know of the GPUs */
};

struct hcb_effect {
    enum hcb_effect_kind kind;
    enum hotcb_level level;
    bool append;
    bool is_int, has_step;
    int64_t step, i;
    double d;
    unsigned width, height, channels;
    size_t text, text_len;   /* offsets into hcb_effects.bytes */
    size_t whole_len;        /* of the text, before it was cut */
    size_t bytes, bytes_len;
};

struct hcb_effects {
    struct hcb_effect *v;
    size_t n, cap;
    size_t files, said_bytes;
    struct hcb_buf bytes;
    size_t dropped;
    bool stop, disable; /* one is queued */
    const struct hcb_spool *metrics, *media; /* where lines of the two go; NULL: nowhere */
};

static inline bool hcb_effects_any(const struct hcb_effects *e)
{
    return e->n > 0 || e->dropped > 0;
}

void hcb_effects_release(struct hcb_effects *e);
void hcb_effects_reset(struct hcb_effects *e);

/* A new effect with its text; NULL if it was dropped. */
struct hcb_effect *hcb_effects_add(struct hcb_effects *e, enum hcb_effect_kind kind,
                                   const char *text, size_t text_len);
/* The same with bytes beside the text. */
struct hcb_effect *hcb_effects_add_bytes(struct hcb_effects *e, enum hcb_effect_kind kind,
                                         const char *text, size_t text_len, const char *bytes,
                                         size_t bytes_len);

#endif
