/* The other side of the command file: adds one line to it, from any process. See
 * commands.h. Knows nothing of what the line says. */
#include "control/commands.h"

#include "base/clock.h"
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_NS (5 * INT64_C(1000000000))
#define LOCK_RETRY_NS 2000000
#define MOVES 8

static int open_for_adding(const char *path, struct hcb_err *err)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return hcb_fail_errno(err, "add a command to %s", path);
    int rc = 0;
    if (fstat(fd, &st) != 0)
        rc = hcb_fail_errno(err, "look at %s", path);
    else if (!S_ISREG(st.st_mode))
        rc = hcb_fail(err, HOTCB_EIO, "%s is not a regular file: no command was added", path);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    return fd;
}

/* Not by waiting in the system: a process that was stopped while it holds the
 * lock must not hold up everybody for ever. Where there are no locks, the append
 * itself still keeps lines apart. */
static int lock(int fd, const char *path, struct hcb_err *err)
{
    int64_t until = hcb_clock_ns() + LOCK_WAIT_NS;
    while (hcb_platform_lock(fd) != 0) {
        struct timespec pause = {0, LOCK_RETRY_NS};
        if (errno != EWOULDBLOCK && errno != EINTR)
            return 0;
        if (hcb_clock_ns() > until)
            return hcb_fail(err, HOTCB_EIO,
                            "%s is locked by another process: no command was added", path);
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Unlocked before it is closed: a forked child may still hold the descriptor. */
static void unlock_and_close(int fd)
{
    hcb_platform_unlock(fd);
    close(fd);
}

/* Returns a locked descriptor of the file that stands at path. */
static int open_locked(const char *path, struct hcb_err *err)
{
    for (int i = 0; i < MOVES; i++) {
        int fd = open_for_adding(path, err);
        if (fd < 0)
            return fd;
        int rc = lock(fd, path, err);
        if (rc < 0) {
            close(fd);
            return rc;
        }
        if (hcb_file_is_at(fd, path)) /* still, after waiting for the lock */
            return fd;
        unlock_and_close(fd);
    }
    return hcb_fail(err, HOTCB_EIO, "%s is being replaced all the time: no command was added",
                    path);
}

/* 1 if the file ends within a line. */
static int ends_torn(int fd, const char *path, struct hcb_err *err)
{
    struct stat st;
    char last = '\n';
    if (fstat(fd, &st) != 0 ||
        (st.st_size > 0 && hcb_pread(fd, &last, 1, (int64_t)st.st_size - 1) < 0))
        return hcb_fail_errno(err, "read %s", path);
    return last != '\n';
}

int hcb_commands_append(const char *path, const char *json, size_t n, struct hcb_err *err)
{
    struct hcb_buf line = {0};
    if (n > HCB_LINE_BYTES)
        return hcb_fail(err, HOTCB_EFORMAT, "a command of %zu bytes is too long: at most %d", n,
                        HCB_LINE_BYTES);
    if (memchr(json, '\n', n))
        return hcb_fail(err, HOTCB_EFORMAT, "a command must not hold a line break");
    int fd = open_locked(path, err);
    if (fd < 0)
        return fd;
    int rc = ends_torn(fd, path, err);
    if (rc > 0)
        hcb_buf_char(&line, '\n');
    hcb_buf_add(&line, json, n);
    hcb_buf_char(&line, '\n');
    if (rc >= 0)
        rc = line.oom ? hcb_fail_nomem(err)
                      : hcb_file_write_once(fd, line.data, line.len, path, err);
    unlock_and_close(fd);
    hcb_buf_release(&line);
    return rc;
}
