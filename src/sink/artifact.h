/* Files that callbacks write: below artifacts/<id>/ of the run directory, no link
 * followed at any component below it. */
#ifndef HCB_ARTIFACT_H
#define HCB_ARTIFACT_H

#include "base/err.h"

/* Whether `name` may name an artifact: relative, no component empty, "." or "..",
 * no control characters, at most 200 bytes. */
int hcb_artifact_check(const char *name, size_t n, struct hcb_err *err);

/* Writes (or appends) bytes to <artifacts>/<id>/<name>, making directories as
 * needed below the one that <artifacts> is in. A whole file is replaced by rename. */
int hcb_artifact_write(const char *artifacts, const char *id, const char *name,
                       const char *bytes, size_t n, bool append, struct hcb_err *err);

#endif
