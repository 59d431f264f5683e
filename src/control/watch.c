/* Has the content of a file changed? See watch.h. Knows nothing of what the file
 * is for; the time is the caller's. */
#include "control/watch.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* As long as one tick of the coarsest time stamps in use (FAT): within it an equal
 * signature proves nothing. */
#define SETTLE_NS (2 * INT64_C(1000000000))

bool hcb_watch_init(struct hcb_watch *w, const char *path, size_t max_bytes)
{
    memset(w, 0, sizeof(*w));
    w->max_bytes = max_bytes;
    w->path = hcb_strdup(path);
    return w->path != NULL;
}

void hcb_watch_release(struct hcb_watch *w)
{
    free(w->path);
    memset(w, 0, sizeof(*w));
}

/* Takes these bytes as the known content; true if they are other than before. */
static bool take(struct hcb_watch *w, const char *bytes, size_t n)
{
    unsigned char sum[HCB_SHA256_BYTES];
    hcb_sha256(bytes, n, sum);
    if (w->known && memcmp(sum, w->sum, sizeof(sum)) == 0)
        return false;
    memcpy(w->sum, sum, sizeof(sum));
    w->known = true;
    return true;
}

void hcb_watch_set(struct hcb_watch *w, const struct hcb_sig *sig_before_reading,
                   const char *bytes, size_t n, int64_t now_ns)
{
    w->sig = *sig_before_reading;
    w->settle_until_ns = now_ns + SETTLE_NS;
    w->complained = false;
    take(w, bytes, n);
}

void hcb_watch_again(struct hcb_watch *w)
{
    memset(&w->sig, 0, sizeof(w->sig));
    w->known = false;
}

static int gone(struct hcb_watch *w, const struct hcb_sig *sig)
{
    bool was = w->sig.exists;
    w->sig = *sig;
    w->complained = false;
    return was ? HCB_WATCH_GONE : HCB_WATCH_SAME;
}

/* It is there and cannot be read: said once, tried again at each look, since what
 * is in the way (too many open files, say) may go without a trace in stat. */
static int unreadable(struct hcb_watch *w, const struct hcb_sig *sig, const struct hcb_err *why,
                      struct hcb_err *err)
{
    if (why->code == HOTCB_ENOENT) /* removed since the stat: for the next look */
        return HCB_WATCH_SAME;
    w->sig = *sig;
    if (w->complained)
        return HCB_WATCH_SAME;
    w->complained = true;
    return hcb_fail(err, why->code, "%s", why->text);
}

int hcb_watch_check(struct hcb_watch *w, int64_t now_ns, struct hcb_buf *content,
                    struct hcb_err *err)
{
    struct hcb_sig sig; /* from before reading, so that a later change differs from it */
    struct hcb_err why = {0};
    hcb_buf_reset(content);
    hcb_sig_get(w->path, &sig);
    if (!sig.exists)
        return gone(w, &sig);
    bool moved = !hcb_sig_same(&sig, &w->sig);
    if (!moved && !w->complained && now_ns >= w->settle_until_ns)
        return HCB_WATCH_SAME;
    if (moved)
        w->settle_until_ns = now_ns + SETTLE_NS;
    if (hcb_file_read(w->path, w->max_bytes, content, &why) < 0) {
        hcb_buf_reset(content);
        return unreadable(w, &sig, &why, err);
    }
    w->sig = sig;
    w->complained = false;
    if (!take(w, hcb_buf_text(content), content->len)) {
        hcb_buf_reset(content);
        return HCB_WATCH_SAME;
    }
    w->settle_until_ns = now_ns + SETTLE_NS;
    return HCB_WATCH_CHANGED;
}
