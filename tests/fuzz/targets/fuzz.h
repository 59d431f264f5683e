/* What the fuzz targets share: parts of an input, files to read, and what has to hold
 * of every text and value that comes out. Knows no format of hotcb's. */
#ifndef FUZZ_H
#define FUZZ_H

#include "base/err.h"
#include "base/value.h"

#include <stdint.h>

/* Ends the process, which is a finding, with the condition that does not hold. */
#define MUST(condition) \
    ((condition) ? (void)0 : fuzz_abort(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_abort(const char *condition, const char *file, int line);

/* An input falls into parts at each byte 0xff, which no good text has. */
#define FUZZ_MARK '\xff'
struct fuzz_input {
    const char *at;
    size_t left;
    bool started;
};
/* The next part; an empty one, and false, where there is no more. */
bool fuzz_part(struct fuzz_input *in, const char **part, size_t *n);

/* A folder for this process below TMPDIR, which run.sh takes away; and files in it. */
const char *fuzz_folder(void);
const char *fuzz_path(const char *name); /* until the next call */
void fuzz_write(const char *name, const char *bytes, size_t n); /* in place of what it was */
void fuzz_append(const char *name, const char *bytes, size_t n);

/* One printable line of UTF-8. */
void fuzz_must_be_line(const char *text, size_t n);
/* A failure that says why, in one. */
void fuzz_must_explain(int rc, const struct hcb_err *err);
/* Within the bounds of value.h, and its text UTF-8 where that is asked for. */
void fuzz_must_be_sound(const struct hcb_value *v, bool utf8);
/* JSON, by our own strict reader. *out is null before. */
void fuzz_must_be_json(const char *text, size_t n, struct hcb_value *out);

bool fuzz_is_finite(const struct hcb_value *v); /* no infinity, no NaN in it */

#endif
