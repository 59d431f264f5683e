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
    hcb_noticed_release(&w->noticed);
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
    w->settled = hcb_noticed_quiet(&w->noticed);
    w->complained = false;
    take(w, bytes, n);
}

void hcb_watch_miss(struct hcb_watch *w, const struct hcb_sig *sig_before_reading)
{
    if (sig_before_reading->missing)
        w->sig = *sig_before_reading;
    else
        hcb_noticed_forget(&w->noticed);
}

void hcb_watch_same(struct hcb_watch *w, const struct hcb_watch *as)
{
    struct hcb_watch before = *w;
    *w = *as;
    w->path = before.path;
    w->max_bytes = before.max_bytes;
    w->noticed = before.noticed;
    hcb_noticed_same(&w->noticed, &as->noticed);
}

void hcb_watch_again(struct hcb_watch *w)
{
    memset(&w->sig, 0, sizeof(w->sig));
    w->known = w->settled = false;
    hcb_noticed_forget(&w->noticed);
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

/* Says what is there, from before reading it, so that a later change differs from it. A file
 * that changed counts as looked at from before that. */
static bool look(struct hcb_watch *w, struct hcb_glance *glance, bool news, struct hcb_sig *sig)
{
    if (news || glance->by_stat)
        hcb_noticed_look(&w->noticed, glance->notice, w->path);
    hcb_sig_get(w->path, sig);
    bool moved = !hcb_sig_same(sig, &w->sig);
    if (moved && !news && !glance->by_stat && glance->notice) {
        hcb_noticed_look(&w->noticed, glance->notice, w->path);
        hcb_sig_get(w->path, sig);
    }
    return moved;
}

/* The content is to be compared; `again`: nothing says that it has changed. */
static bool may_read(struct hcb_watch *w, struct hcb_glance *glance, bool again)
{
    if (again ? glance->again > 0 : glance->bytes > 0)
        return true;
    if (!again)
        hcb_noticed_forget(&w->noticed);
    glance->later |= !again;
    return false;
}

static int compare(struct hcb_watch *w, struct hcb_glance *glance, const struct hcb_sig *sig,
                   bool again, struct hcb_buf *content, struct hcb_err *err)
{
    struct hcb_err why = {0};
    if (!again)
        w->settle_until_ns = glance->now_ns + SETTLE_NS;
    if (hcb_file_read(w->path, w->max_bytes, content, &why) < 0) {
        hcb_buf_reset(content);
        return unreadable(w, sig, &why, err);
    }
    *(again ? &glance->again : &glance->bytes) -= (int64_t)content->len;
    w->sig = *sig;
    w->complained = false;
    bool changed = take(w, hcb_buf_text(content), content->len);
    if (changed)
        w->settle_until_ns = glance->now_ns + SETTLE_NS;
    w->settled = hcb_noticed_quiet(&w->noticed) || glance->now_ns >= w->settle_until_ns;
    if (!changed)
        hcb_buf_reset(content);
    return changed ? HCB_WATCH_CHANGED : HCB_WATCH_SAME;
}

static int check(struct hcb_watch *w, struct hcb_glance *glance, struct hcb_buf *content,
                 struct hcb_err *err)
{
    struct hcb_sig sig;
    bool news = hcb_noticed_news(&w->noticed);
    bool again = !look(w, glance, news, &sig) && !news;
    if (!sig.exists)
        return gone(w, &sig);
    if ((again && w->settled && !w->complained) || !may_read(w, glance, again))
        return HCB_WATCH_SAME;
    return compare(w, glance, &sig, again, content, err);
}

/* What is known is so, until something is told of it. */
static bool is_sure(const struct hcb_watch *w)
{
    bool settled = w->sig.exists ? w->settled : w->sig.missing;
    return settled && !w->complained && hcb_noticed_quiet(&w->noticed);
}

int hcb_watch_check(struct hcb_watch *w, struct hcb_glance *glance, struct hcb_buf *content,
                    struct hcb_err *err)
{
    hcb_buf_reset(content);
    if (!glance->by_stat && is_sure(w))
        return HCB_WATCH_SAME;
    int event = check(w, glance, content, err);
    if (!is_sure(w))
        hcb_notice_again(glance->notice);
    return event;
}
