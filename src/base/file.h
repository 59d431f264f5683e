/* Files as hotcb treats them: what is read must be a regular file and has a size
 * cap; what is written is opened without following a link; a whole file is
 * replaced by writing aside and renaming. */
#ifndef HCB_FILE_H
#define HCB_FILE_H

#include "base/buf.h"
#include "base/err.h"
#include <stdint.h>

/* What stat says of a file; a changed signature calls for a look at the content,
 * an equal one is not proof (two saves within one clock tick). */
struct hcb_sig {
    bool exists;
    bool missing; /* there is none; where neither holds, that could not be found out */
    uint64_t dev, ino;
    int64_t size, mtime_ns, ctime_ns;
};

void hcb_sig_get(const char *path, struct hcb_sig *sig); /* follows links */
bool hcb_sig_same(const struct hcb_sig *a, const struct hcb_sig *b);

/* The whole of a regular file, at most max bytes, appended to out; never blocks
 * on a FIFO or device. Errors: ENOENT, EIO (not a regular file, too large, ...). */
int hcb_file_read(const char *path, size_t max, struct hcb_buf *out, struct hcb_err *err);

/* A host may have closed its standard streams; what it prints must not land in a file of ours
 * that was given one of their numbers. The descriptor to use in fd's place; -1 with errno. */
int hcb_file_above_standard(int fd);

/* Bytes [offset, offset + n) of an open file, short only at its end. Returns the
 * number of bytes read or -1 with errno. */
int64_t hcb_pread(int fd, void *out, size_t n, int64_t offset);

/* Opens for appending (and reading), created by umask, no link followed. Returns
 * the descriptor or a negative error. */
int hcb_file_append(const char *path, struct hcb_err *err);
int hcb_file_append_at(int dir_fd, const char *path, const char *shown, struct hcb_err *err);

/* Writes all of it in one write(2), never a second try: a line is whole or not
 * there. A short write is taken back where the file system lets us. */
int hcb_file_write_once(int fd, const char *bytes, size_t n, const char *path,
                        struct hcb_err *err);

/* Replaces `path` by these bytes: aside, then rename. A link at path is replaced,
 * not followed. The second form takes a path relative to an open directory, and
 * says `shown` in its messages. */
int hcb_file_replace(const char *path, const char *bytes, size_t n, struct hcb_err *err);
int hcb_file_replace_at(int dir_fd, const char *path, const char *bytes, size_t n,
                        const char *shown, struct hcb_err *err);

/* The same for what is written often and is of use only as long as its writer lives: after a
 * power cut it may be empty. Where it can, it saves the wait for the disk that file systems
 * put into a rename, and the old content need never have been there. */
int hcb_file_refresh(const char *path, const char *bytes, size_t n, struct hcb_err *err);

/* Writes over the first n bytes of what is there, if it is a file that has stayed as it was
 * `known`. false: not so, and what is there may be damaged. */
bool hcb_file_patch(const char *path, const struct hcb_sig *known, const char *bytes, size_t n);

/* Whether path still leads to the file that fd has open. */
bool hcb_file_is_at(int fd, const char *path);

/* Creates an empty file (or one with this text) unless something is there. */
int hcb_file_touch(const char *path, const char *text, struct hcb_err *err);

/* Whether it is a name that hcb_file_replace() gives to a file until it is whole:
 * ".NAME.PID.tmp". */
bool hcb_file_is_aside(const char *name, size_t n);

/* Removes what processes that were killed left behind of hcb_file_replace() in dir: for
 * its one owner. */
void hcb_file_clean(const char *dir);

int hcb_make_dirs(const char *path, struct hcb_err *err); /* like mkdir -p */

/* All of these return memory that is yours, NULL when there is none. */
char *hcb_path_join(const char *dir, const char *name); /* name, if that is absolute */
char *hcb_path_absolute(const char *path);              /* by the working directory, links kept;
                                                           "." and "//" are taken out */
char *hcb_path_dir(const char *path);                   /* what stands before the last '/' */

#endif
