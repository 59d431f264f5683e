/* Files that callbacks write: below artifacts/<id>/ of the run directory, no link
 * followed at any component below it, and so much of them and no more. */
#ifndef HCB_ARTIFACT_H
#define HCB_ARTIFACT_H

#include "base/err.h"
#include "sink/folder.h"

/* Whether `name` may name an artifact: relative, no component empty, "." or "..", no
 * control characters, valid UTF-8, at most 200 bytes and 16 components. */
int hcb_artifact_check(const char *name, size_t n, struct hcb_err *err);

/* What the folder of one callback holds, and may hold. It is counted at the first write,
 * with what earlier processes left there, and from then on kept by what is written: a
 * file that is replaced counts once. When it is full it is counted anew, every ten
 * seconds at most, so that who removes files makes room. */
struct hcb_artifacts {
    int64_t max_bytes, max_entries; /* files and folders are entries */
    struct hcb_folder held;
    bool counted;
    int64_t counted_ns;
};

struct hcb_artifact {
    const char *artifacts; /* the folder that all have theirs in */
    const char *id, *name;
    const char *bytes;
    size_t n;
    bool append;
};

/* Writes (or appends) the bytes to <artifacts>/<id>/<name>, making directories as needed
 * below the one that <artifacts> is in. A whole file is replaced by rename. What is there
 * under that name must be a regular file; a link is replaced, or refused to append to, as
 * is a file that has a second name. EREFUSED: there is no room. */
int hcb_artifact_write(const struct hcb_artifact *a, struct hcb_artifacts *held, int64_t now_ns,
                       struct hcb_err *err);

#endif
