/* Has the content of a file changed? By stat, and by content where stat cannot
 * tell: for two seconds after a change the content is compared at each look, so
 * that a second save within one tick of the file system's clock is seen. Needs no
 * notification service, so it works on network mounts. */
#ifndef HCB_WATCH_H
#define HCB_WATCH_H

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/sha256.h"

struct hcb_watch {
    char *path;
    size_t max_bytes;
    struct hcb_sig sig;
    int64_t settle_until_ns;
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

/* What the caller has just read becomes the known content. */
void hcb_watch_set(struct hcb_watch *w, const struct hcb_sig *sig_before_reading,
                   const char *bytes, size_t n, int64_t now_ns);

/* What is there counts as new, whatever it is: what came of it last time was not its fault. */
void hcb_watch_again(struct hcb_watch *w);

/* One stat when nothing happened. *content is reset. Negative: the file is there
 * and cannot be read (a directory, too large, ...), once while it lasts. */
int hcb_watch_check(struct hcb_watch *w, int64_t now_ns, struct hcb_buf *content,
                    struct hcb_err *err);

#endif
