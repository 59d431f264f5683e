/* A folder of its own for a test, with files that are written, added to, and
 * replaced as other programs would. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char scratch_dir[64];

static inline int scratch_make(void **state)
{
    (void)state;
    snprintf(scratch_dir, sizeof(scratch_dir), "/tmp/hotcb-test-XXXXXX");
    return mkdtemp(scratch_dir) ? 0 : -1;
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int flag,
                                     struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static inline int scratch_drop(void **state)
{
    (void)state;
    return nftw(scratch_dir, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Good for the next three calls. */
static inline const char *scratch(const char *name)
{
    static char paths[4][320];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", scratch_dir, name);
    return path;
}

static inline void scratch_put(const char *path, int flags, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), (ssize_t)n);
    close(fd);
}

static inline void scratch_write(const char *path, const char *text)
{
    scratch_put(path, O_TRUNC, text, strlen(text));
}

static inline void scratch_append(const char *path, const char *text)
{
    scratch_put(path, O_APPEND, text, strlen(text));
}

/* As an editor saves: aside, then rename. */
static inline void scratch_replace(const char *path, const char *text)
{
    const char *aside = scratch("aside.tmp");
    scratch_write(aside, text);
    assert_int_equal(rename(aside, path), 0);
}

#endif
