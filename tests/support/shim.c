/* Preloaded into a host by tests: a wall clock that jumps, and kernel
 * notifications that fail or never come. Each is switched by the environment:
 *
 *   SHIM_CLOCK=FILE    seconds, read from FILE at each call, are added to what
 *                      time(), gettimeofday() and clock_gettime(CLOCK_REALTIME) say
 *   SHIM_INOTIFY=EMFILE|ENOSYS|ENOSPC|silent|deaf   inotify calls fail so (ENOSPC: only to
 *                      watch something), or succeed and never fire: with a descriptor of
 *                      another kind, or with one that watches something else
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long clock_shift_s(void)
{
    char text[32] = "";
    const char *path = getenv("SHIM_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof text - 1) < 0)
        text[0] = '\0';
    close(fd);
    return strtol(text, NULL, 10);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    int result = (int)syscall(SYS_clock_gettime, id, t);
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        t->tv_sec += clock_shift_s();
    return result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

static int inotify_is(const char *wanted)
{
    const char *mode = getenv("SHIM_INOTIFY");
    return mode && strcmp(mode, wanted) == 0;
}

int inotify_init1(int flags)
{
    if (inotify_is("silent"))
        return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); /* readable never */
    if (inotify_is("EMFILE") || inotify_is("ENOSYS")) {
        errno = inotify_is("EMFILE") ? EMFILE : ENOSYS;
        return -1;
    }
    return (int)syscall(SYS_inotify_init1, flags);
}

int inotify_init(void)
{
    return inotify_init1(0);
}

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    if (inotify_is("silent"))
        return 1;
    if (inotify_is("deaf"))
        return (int)syscall(SYS_inotify_add_watch, fd, "/", IN_DELETE_SELF);
    if (inotify_is("EMFILE") || inotify_is("ENOSYS") || inotify_is("ENOSPC")) {
        errno = inotify_is("ENOSPC") ? ENOSPC : inotify_is("EMFILE") ? EMFILE : ENOSYS;
        return -1;
    }
    return (int)syscall(SYS_inotify_add_watch, fd, path, mask);
}
