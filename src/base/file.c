/* Files as hotcb treats them; see file.h. Knows nothing of what is in them. */
#include "base/file.h"

#include "base/platform.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000

static struct hcb_sig sig_of(const struct stat *st)
{
    return (struct hcb_sig){
        .exists = true, .dev = (uint64_t)st->st_dev, .ino = (uint64_t)st->st_ino,
        .size = (int64_t)st->st_size,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec,
        .ctime_ns = (int64_t)st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec,
    };
}

void hcb_sig_get(const char *path, struct hcb_sig *sig)
{
    struct stat st;
    if (stat(path, &st) == 0)
        *sig = sig_of(&st);
    else
        *sig = (struct hcb_sig){.missing = errno == ENOENT || errno == ENOTDIR};
}

bool hcb_sig_same(const struct hcb_sig *a, const struct hcb_sig *b)
{
    return a->exists == b->exists && a->dev == b->dev && a->ino == b->ino &&
           a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

int hcb_file_above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), number = errno;
    close(fd);
    errno = number;
    return higher;
}

static int open_anywhere(int dir_fd, const char *path, int flags)
{
    int fd;
    do
        fd = openat(dir_fd, path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static int open_retry(int dir_fd, const char *path, int flags)
{
    return hcb_file_above_standard(open_anywhere(dir_fd, path, flags));
}

/* A limit on file sizes (RLIMIT_FSIZE) kills the process by SIGXFSZ unless that is held
 * back; the write then fails with EFBIG like any other. The signal is sent to the
 * thread that writes, so blocking it here is enough. */
static ssize_t write_some(int fd, const char *bytes, size_t n)
{
    static const struct timespec at_once = {0, 0};
    sigset_t too_large, before;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &too_large, &before);
    ssize_t wrote = write(fd, bytes, n);
    int number = errno;
    if (wrote < 0 && number == EFBIG && !sigismember(&before, SIGXFSZ))
        sigtimedwait(&too_large, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return wrote;
}

/* Closes, and leaves errno as it was. Never tried again: after EINTR the
 * descriptor is gone on Linux, and may already be another thread's. */
static void close_quietly(int fd)
{
    int number = errno;
    close(fd);
    errno = number;
}

static int check_regular(int fd, const char *path, struct stat *st, struct hcb_err *err)
{
    if (fstat(fd, st) != 0)
        return hcb_fail_errno(err, "look at %s", path);
    if (S_ISDIR(st->st_mode))
        return hcb_fail(err, HOTCB_EIO, "%s is a directory, not a file", path);
    if (!S_ISREG(st->st_mode))
        return hcb_fail(err, HOTCB_EIO, "%s is not a regular file", path);
    return 0;
}

int64_t hcb_pread(int fd, void *out, size_t n, int64_t offset)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(fd, (char *)out + done, n - done, (off_t)(offset + (int64_t)done));
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            return -1;
        if (got > 0)
            done += (size_t)got;
    }
    return (int64_t)done;
}

#define READ_CHUNK 4096

/* What stat said of the size is a hint only: the file may grow meanwhile. */
static int read_all(int fd, const char *path, size_t hint, size_t max, struct hcb_buf *out,
                    struct hcb_err *err)
{
    size_t start = out->len, room = hint + 1;
    for (;;) {
        if (!hcb_buf_reserve(out, room))
            return hcb_fail_nomem(err);
        size_t have = out->len - start;
        int64_t got = hcb_pread(fd, out->data + out->len, room, (int64_t)have);
        if (got < 0)
            return hcb_fail_errno(err, "read %s", path);
        out->len += (size_t)got;
        if (out->len - start > max)
            return hcb_fail(err, HOTCB_EIO, "%s is too large: more than %zu bytes", path, max);
        if ((size_t)got < room)
            return 0;
        room = READ_CHUNK;
    }
}

int hcb_file_read(const char *path, size_t max, struct hcb_buf *out, struct hcb_err *err)
{
    struct stat st;
    size_t start = out->len;
    int fd = open_retry(AT_FDCWD, path, O_RDONLY);
    if (fd < 0)
        return hcb_fail_errno(err, "open %s", path);
    int rc = check_regular(fd, path, &st, err);
    if (rc == 0 && (uint64_t)st.st_size > max)
        rc = hcb_fail(err, HOTCB_EIO, "%s is too large: %lld bytes, and at most %zu are read",
                      path, (long long)st.st_size, max);
    if (rc == 0)
        rc = read_all(fd, path, (size_t)st.st_size, max, out, err);
    close_quietly(fd);
    if (rc < 0)
        out->len = start;
    if (out->data)
        out->data[out->len] = '\0';
    return rc;
}

static int fail_open_for_writing(const char *path, struct hcb_err *err)
{
    if (errno == ELOOP)
        return hcb_fail(err, HOTCB_EIO,
                        "cannot write %s: it is a link, and links are not followed", path);
    return hcb_fail_errno(err, "open %s for writing", path);
}

int hcb_file_append_at(int dir_fd, const char *path, const char *shown, struct hcb_err *err)
{
    struct stat st;
    int fd = open_retry(dir_fd, path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW);
    if (fd < 0)
        return fail_open_for_writing(shown, err);
    int rc = check_regular(fd, shown, &st, err);
    if (rc < 0) {
        close_quietly(fd);
        return rc;
    }
    return fd;
}

int hcb_file_append(const char *path, struct hcb_err *err)
{
    return hcb_file_append_at(AT_FDCWD, path, path, err);
}

/* Takes the torn part of a line back, unless somebody has appended since. */
static bool take_back(int fd, size_t written)
{
    struct stat st;
    off_t end = lseek(fd, 0, SEEK_CUR);
    if (end < (off_t)written || fstat(fd, &st) != 0 || st.st_size != end)
        return false;
    return ftruncate(fd, end - (off_t)written) == 0;
}

int hcb_file_write_once(int fd, const char *bytes, size_t n, const char *path,
                        struct hcb_err *err)
{
    ssize_t wrote;
    do
        wrote = write_some(fd, bytes, n);
    while (wrote < 0 && errno == EINTR);
    if (wrote < 0)
        return hcb_fail_errno(err, "write to %s", path);
    if ((size_t)wrote == n)
        return 0;
    bool clean = wrote == 0 || take_back(fd, (size_t)wrote);
    return hcb_fail(err, HOTCB_EIO,
                    "cannot write to %s: there was room for only %zd of %zu bytes%s", path, wrote,
                    n, clean ? "" : ", which were left there");
}

/* Fills all of it in, however many calls that takes; 0, or -1 with errno. */
static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t wrote = write_some(fd, bytes, n);
        if (wrote == 0)
            errno = ENOSPC;
        if (wrote == 0 || (wrote < 0 && errno != EINTR))
            return -1;
        if (wrote > 0) {
            bytes += wrote;
            n -= (size_t)wrote;
        }
    }
    return 0;
}

/* Never written into what is there already, which may be a link to elsewhere. */
static int create_new(int dir_fd, const char *path)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    int fd = open_retry(dir_fd, path, flags);
    if (fd < 0 && errno == EEXIST && unlinkat(dir_fd, path, 0) == 0)
        fd = open_retry(dir_fd, path, flags);
    return fd;
}

/* What brings a whole file to its place: 0, or -1 with errno. */
typedef int put_fn(int dir_fd, const char *aside, const char *path);

static int put_by_rename(int dir_fd, const char *aside, const char *path)
{
    return renameat(dir_fd, aside, dir_fd, path);
}

/* What stood there and cannot be removed (a directory, say) goes back to its place. */
static int put_by_exchange(int dir_fd, const char *aside, const char *path)
{
    if (hcb_platform_exchange(dir_fd, aside, path) != 0)
        return put_by_rename(dir_fd, aside, path);
    if (unlinkat(dir_fd, aside, 0) == 0 || hcb_platform_exchange(dir_fd, aside, path) != 0)
        return 0;
    return put_by_rename(dir_fd, aside, path);
}

/* 0, or -1 with errno and the aside file gone. */
static int write_and_put(int dir_fd, int fd, const char *aside, const char *path,
                         const struct hcb_buf *bytes, put_fn *put)
{
    int rc = write_all(fd, bytes->data, bytes->len);
    int number = errno;
    if (close(fd) != 0 && rc == 0 && errno != EINTR) {
        rc = -1;
        number = errno;
    }
    if (rc == 0) {
        rc = put(dir_fd, aside, path);
        number = errno;
    }
    if (rc != 0)
        unlinkat(dir_fd, aside, 0);
    errno = number;
    return rc;
}

static int replace(int dir_fd, const char *path, const struct hcb_buf *bytes, put_fn *put)
{
    char aside[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    int len = snprintf(aside, sizeof(aside), "%.*s.%s.%ld.tmp", (int)(name - path), path, name,
                       (long)getpid());
    int fd = -1;
    if (len < 0 || (size_t)len >= sizeof(aside))
        errno = ENAMETOOLONG;
    else
        fd = create_new(dir_fd, aside);
    return fd < 0 ? -1 : write_and_put(dir_fd, fd, aside, path, bytes, put);
}

/* Of bytes that are only read. */
static struct hcb_buf borrow(const char *bytes, size_t n)
{
    return (struct hcb_buf){.data = (char *)(uintptr_t)bytes, .len = n};
}

int hcb_file_replace_at(int dir_fd, const char *path, const char *bytes, size_t n,
                        const char *shown, struct hcb_err *err)
{
    struct hcb_buf all = borrow(bytes, n);
    int rc = replace(dir_fd, path, &all, put_by_rename);
    return rc != 0 ? hcb_fail_errno(err, "write %s", shown) : 0;
}

int hcb_file_refresh(const char *path, const char *bytes, size_t n, struct hcb_err *err)
{
    struct hcb_buf all = borrow(bytes, n);
    int rc = replace(AT_FDCWD, path, &all, put_by_exchange);
    return rc != 0 ? hcb_fail_errno(err, "write %s", path) : 0;
}

int hcb_file_replace(const char *path, const char *bytes, size_t n, struct hcb_err *err)
{
    return hcb_file_replace_at(AT_FDCWD, path, bytes, n, path, err);
}

static bool is_as_known(int fd, const struct hcb_sig *known)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    struct hcb_sig now = sig_of(&st);
    return hcb_sig_same(&now, known);
}

/* Where a standard stream's number was free, the host may have printed into it already. */
bool hcb_file_patch(const char *path, const struct hcb_sig *known, const char *bytes, size_t n)
{
    int fd = open_anywhere(AT_FDCWD, path, O_WRONLY | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool done = fd > STDERR_FILENO && is_as_known(fd, known) &&
                write_some(fd, bytes, n) == (ssize_t)n;
    close(fd);
    return done;
}

bool hcb_file_is_at(int fd, const char *path)
{
    struct stat here, there;
    return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

int hcb_file_touch(const char *path, const char *text, struct hcb_err *err)
{
    int fd = open_retry(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (fd < 0)
        return errno == EEXIST ? 0 : hcb_fail_errno(err, "create %s", path);
    int rc = 0;
    if (text && write_all(fd, text, strlen(text)) != 0) {
        rc = hcb_fail_errno(err, "write %s", path);
        unlink(path);
    }
    close(fd);
    return rc;
}

/* 0 if there is a directory now, else errno is set. */
static int make_dir(const char *path)
{
    struct stat st;
    if (mkdir(path, 0777) == 0)
        return 0;
    int number = errno;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return 0;
        number = ENOTDIR;
    }
    errno = number;
    return -1;
}

bool hcb_file_is_aside(const char *name, size_t n)
{
    static const char end[] = ".tmp";
    size_t digits = 0;
    if (n < sizeof end || name[0] != '.' || memcmp(name + n - 4, end, 4) != 0)
        return false;
    n -= 4;
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--, digits++;
    return digits > 0 && n > 2 && name[n - 1] == '.';
}

void hcb_file_clean(const char *dir)
{
    struct dirent *entry;
    DIR *open_dir = opendir(dir);
    if (!open_dir)
        return;
    while ((entry = readdir(open_dir)))
        if (strncmp(entry->d_name, ".hotcb.", 7) == 0 &&
            hcb_file_is_aside(entry->d_name, strlen(entry->d_name)))
            unlinkat(dirfd(open_dir), entry->d_name, 0);
    closedir(open_dir);
}

int hcb_make_dirs(const char *path, struct hcb_err *err)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n >= sizeof(part)) {
        errno = ENAMETOOLONG;
        return hcb_fail_errno(err, "create directory %s", path);
    }
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        part[i] = '\0';
        if (make_dir(part) != 0) {
            /* Something of that name that is no directory is not "missing". */
            if (errno == ENOTDIR)
                return hcb_fail(err, HOTCB_EIO, "cannot create directory %s: %s is not a directory",
                                path, part);
            return hcb_fail_errno(err, "create directory %s", path);
        }
        if (i < n)
            part[i] = '/';
    }
    return 0;
}

char *hcb_path_join(const char *dir, const char *name)
{
    struct hcb_buf b = {0};
    if (name[0] != '/' && dir[0] != '\0') {
        hcb_buf_str(&b, dir);
        if (dir[strlen(dir) - 1] != '/')
            hcb_buf_char(&b, '/');
    }
    hcb_buf_str(&b, name);
    return hcb_buf_take(&b);
}

/* Appends the components of path but for empty ones and "."; ".." is left to the
 * system, since what it means depends on links. */
static void add_components(struct hcb_buf *b, const char *path)
{
    while (*path) {
        size_t n = strcspn(path, "/");
        if (n > 0 && !(n == 1 && path[0] == '.')) {
            hcb_buf_char(b, '/');
            hcb_buf_add(b, path, n);
        }
        path += n + (path[n] == '/');
    }
}

char *hcb_path_absolute(const char *path)
{
    struct hcb_buf b = {0};
    if (path[0] != '/') {
        char here[PATH_MAX];
        if (!getcwd(here, sizeof(here)))
            return hcb_strdup(path);
        add_components(&b, here);
    }
    add_components(&b, path);
    if (b.len == 0)
        hcb_buf_char(&b, '/');
    return hcb_buf_take(&b);
}

char *hcb_path_dir(const char *path)
{
    struct hcb_buf b = {0};
    const char *slash = strrchr(path, '/');
    if (!slash)
        hcb_buf_char(&b, '.');
    else
        hcb_buf_add(&b, path, slash == path ? 1 : (size_t)(slash - path));
    return hcb_buf_take(&b);
}
