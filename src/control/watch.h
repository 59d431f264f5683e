/* Has the content of a file changed? By stat, and by content where stat cannot tell: for two
 * seconds after a change, and once more when they are over, the content is compared, so that
 * a second save within one tick of the file system's clock is seen. That works on network
 * mounts, too. Where the kernel tells of changes (notice.h), a file is looked at when it is
 * told of, and by the way. */
#ifndef HCB_WATCH_H
#define HCB_WATCH_H

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/sha256.h"
#include "control/notice.h"

/* One look at many files: how, and how many bytes it may still read. What bytes are missing
 * for is done at a later look. */
struct hcb_glance {
    struct hcb_notice *notice; /* NULL: by stat alone */
    int64_t now_ns;
    bool by_stat;  /* files that would have been told of are looked at all the same */
    int64_t bytes; /* of files that changed; above 0: one more is read */
    int64_t again; /* the same of files that stat says nothing new of */
    bool later;    /* a file that changed was left for later */
};

/* What is compared again, of all files together: as an allowance that grows by so much each
 * look, and never above that, so that a large file is paid off by several looks. */
#define HCB_AGAIN_BYTES (256 << 10)
static inline int64_t hcb_again_more(int64_t left)
{
    return left < 0 ? left + HCB_AGAIN_BYTES : HCB_AGAIN_BYTES;
}

struct hcb_watch {
    char *path;
    size_t max_bytes;
    struct hcb_sig sig;
    struct hcb_noticed noticed;
    int64_t settle_until_ns;
    bool settled;   /* an equal signature proves an equal content */
    bool known;     /* sum is that of a content */
    unsigned char sum[HCB_SHA256_BYTES];
    bool complained; /* about what cannot be read, once while it lasts */
};

enum hcb_watch_event {
    HCB_WATCH_SAME,
    HCB_WATCH_CHANGED, /* other content than at the last change; it is in *content */
    HCB_WATCH_GONE     /* no such file, since this look */
};

bool hcb_watch_init(struct hcb_watch *w, const char *path, size_t max_bytes); /* false: no memory */
void hcb_watch_release(struct hcb_watch *w);

/* What the caller has just read becomes the known content. hcb_noticed_look() goes before the
 * signature, and that before the reading. */
void hcb_watch_set(struct hcb_watch *w, const struct hcb_sig *sig_before_reading,
                   const char *bytes, size_t n, int64_t now_ns);

/* What `as`, another watch of the same file, has just found out holds for this one. */
void hcb_watch_same(struct hcb_watch *w, const struct hcb_watch *as);

/* What the caller has just looked for was not there, or could not be read. */
void hcb_watch_miss(struct hcb_watch *w, const struct hcb_sig *sig_before_reading);

/* What is there counts as new, whatever it is: what came of it last time was not its fault. */
void hcb_watch_again(struct hcb_watch *w);

/* One stat when nothing happened, or none. *content is reset. Negative: the file is there
 * and cannot be read (a directory, too large, ...), once while it lasts. */
int hcb_watch_check(struct hcb_watch *w, struct hcb_glance *glance, struct hcb_buf *content,
                    struct hcb_err *err);

#endif
