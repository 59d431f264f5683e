/* The functions that the linker puts in the place of libc's; see inject.h. */
#include "inject.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000L

static struct {
    struct fault_plan plan;
    long points, live, passed_ms;
    bool inside;
    const char *name;
} now = {.name = ""};

void fault_arm(const struct fault_plan *plan)
{
    now.plan = *plan;
    now.points = 0;
    now.name = "";
}

void fault_describe(const struct fault_plan *plan, char *out, unsigned long size)
{
    snprintf(out, size, "faults -p %d -n %ld%s%s %s", plan->life, plan->from,
             plan->lasting ? " -l" : "", plan->way == FAULT_OTHER ? " -o" : "",
             plan->kind == FAULT_FILES ? "files" : "memory");
}

void fault_clear(void)
{
    now.plan = (struct fault_plan){0};
}

void fault_enter(void) { now.inside = true; }
void fault_leave(void) { now.inside = false; }
long fault_points(void) { return now.points; }
bool fault_struck(void) { return *now.name != '\0'; }
const char *fault_name(void) { return now.name; }
long fault_live(void) { return now.live; }
void fault_pass_ms(long ms) { now.passed_ms += ms; }

/* Where a debugger stops at the call that fails. */
__attribute__((noinline)) static void strike(const char *name)
{
    if (!fault_struck())
        now.name = name;
    __asm__ volatile("");
}

static bool fails(enum fault_kind kind, const char *name)
{
    if (!now.inside || now.plan.kind != kind)
        return false;
    now.points++;
    if (now.plan.from == 0 || now.points < now.plan.from ||
        (now.points > now.plan.from && !now.plan.lasting))
        return false;
    strike(name);
    return true;
}

/* ---- memory ---------------------------------------------------------------- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
char *__real_strndup(const char *s, size_t n);
void *__real_mmap(void *at, size_t n, int access, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t n);
void *__real_hcb_arena_alloc(void *arena, void *p, size_t old, size_t size);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void *__wrap_mmap(void *at, size_t n, int access, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t n);
void *__wrap_hcb_arena_alloc(void *arena, void *p, size_t old, size_t size);

static bool no_memory(const char *name)
{
    if (!fails(FAULT_MEMORY, name))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t n)
{
    void *p = no_memory("malloc") ? NULL : __real_malloc(n);
    now.live += p != NULL;
    return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *p = no_memory("calloc") ? NULL : __real_calloc(n, size);
    now.live += p != NULL;
    return p;
}

void *__wrap_realloc(void *p, size_t n)
{
    void *q = no_memory("realloc") ? NULL : __real_realloc(p, n);
    now.live += !p && q;
    return q;
}

void __wrap_free(void *p)
{
    now.live -= p != NULL;
    __real_free(p);
}

char *__wrap_strndup(const char *s, size_t n)
{
    char *p = no_memory("strndup") ? NULL : __real_strndup(s, n);
    now.live += p != NULL;
    return p;
}

char *__wrap_strdup(const char *s)
{
    return __wrap_strndup(s, strlen(s));
}

void *__wrap_mmap(void *at, size_t n, int access, int flags, int fd, off_t offset)
{
    void *p = no_memory("mmap") ? MAP_FAILED : __real_mmap(at, n, access, flags, fd, offset);
    now.live += p != MAP_FAILED;
    return p;
}

int __wrap_munmap(void *at, size_t n)
{
    now.live--;
    return __real_munmap(at, n);
}

/* Making a block smaller never fails, by the contract. */
void *__wrap_hcb_arena_alloc(void *arena, void *p, size_t old, size_t size)
{
    size_t had = p ? old : 0;
    if (size > had && no_memory("hcb_arena_alloc"))
        return NULL;
    return __real_hcb_arena_alloc(arena, p, old, size);
}

void *fault_malloc(unsigned long n) { return __wrap_malloc(n); }
void fault_free(void *p) { __wrap_free(p); }

/* ---- files ----------------------------------------------------------------- */

/* Whether the call fails; errno is then that of the way it does. */
static bool broken(const char *name, int usual, int other)
{
    if (!fails(FAULT_FILES, name))
        return false;
    errno = now.plan.way == FAULT_USUAL ? usual : other;
    return true;
}

/* A function that only fails: with its own name, type and arguments. */
#define FAILING(type, name, declared, passed, failure, usual, other)      \
    type __real_##name declared;                                          \
    type __wrap_##name declared;                                          \
    type __wrap_##name declared                                           \
    {                                                                     \
        return broken(#name, usual, other) ? failure : __real_##name passed; \
    }

FAILING(int, rename, (const char *a, const char *b), (a, b), -1, EIO, ENOSPC)
FAILING(int, renameat, (int d, const char *a, int e, const char *b), (d, a, e, b), -1, EIO, ENOSPC)
FAILING(int, hcb_platform_exchange, (int d, const char *a, const char *b), (d, a, b), -1, EINVAL,
        EIO)
FAILING(int, unlink, (const char *a), (a), -1, EIO, EPERM)
FAILING(int, unlinkat, (int d, const char *a, int flags), (d, a, flags), -1, EIO, EPERM)
FAILING(int, mkdir, (const char *a, mode_t mode), (a, mode), -1, ENOSPC, EIO)
FAILING(int, mkdirat, (int d, const char *a, mode_t mode), (d, a, mode), -1, ENOSPC, EIO)
FAILING(int, stat, (const char *a, struct stat *st), (a, st), -1, EIO, EACCES)
FAILING(int, fstat, (int fd, struct stat *st), (fd, st), -1, EIO, ESTALE)
FAILING(off_t, lseek, (int fd, off_t at, int from), (fd, at, from), -1, EIO, EIO)
FAILING(int, ftruncate, (int fd, off_t n), (fd, n), -1, EIO, EPERM)
FAILING(int, flock, (int fd, int how), (fd, how), -1, ENOLCK, EIO)
FAILING(int, fsync, (int fd), (fd), -1, EIO, ENOSPC)
FAILING(DIR *, opendir, (const char *a), (a), NULL, EMFILE, EIO)
FAILING(struct dirent *, readdir, (DIR *d), (d), NULL, EIO, EIO)
FAILING(char *, getcwd, (char *out, size_t n), (out, n), NULL, ENOENT, EIO)
FAILING(ssize_t, getrandom, (void *out, size_t n, unsigned flags), (out, n, flags), -1, EAGAIN,
        ENOSYS)
FAILING(int, timer_create, (clockid_t clock, struct sigevent *e, timer_t *t), (clock, e, t), -1,
        EAGAIN, EAGAIN)

int __real_open(const char *path, int flags, ...);
int __real_openat(int dir, const char *path, int flags, ...);
int __real_fcntl(int fd, int command, ...);
int __real_close(int fd);
ssize_t __real_read(int fd, void *out, size_t n);
ssize_t __real_pread(int fd, void *out, size_t n, off_t at);
ssize_t __real_write(int fd, const void *bytes, size_t n);

int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_close(int fd);
ssize_t __wrap_read(int fd, void *out, size_t n);
ssize_t __wrap_pread(int fd, void *out, size_t n, off_t at);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);

static mode_t mode_of(int flags, va_list ap)
{
    return flags & O_CREAT ? va_arg(ap, mode_t) : 0;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return broken("open", EMFILE, EIO) ? -1 : __real_open(path, flags, mode);
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return broken("openat", EMFILE, flags & O_CREAT ? ENOSPC : EIO)
               ? -1 : __real_openat(dir, path, flags, mode);
}

/* Every command that hotcb uses takes one argument as wide as a pointer, or narrower. */
int __wrap_fcntl(int fd, int command, ...)
{
    va_list ap;
    va_start(ap, command);
    void *argument = va_arg(ap, void *);
    va_end(ap);
    return broken("fcntl", EIO, command == F_SETLK ? ENOLCK : EMFILE)
               ? -1 : __real_fcntl(fd, command, argument);
}

/* The descriptor is gone even so. */
int __wrap_close(int fd)
{
    int rc = __real_close(fd);
    return broken("close", EIO, EINTR) ? -1 : rc;
}

/* Of n bytes only some, at least one. */
static size_t part_of(size_t n)
{
    return n > 1 ? n / 2 : n;
}

ssize_t __wrap_read(int fd, void *out, size_t n)
{
    if (!broken("read", EIO, 0))
        return __real_read(fd, out, n);
    return now.plan.way == FAULT_USUAL ? -1 : __real_read(fd, out, part_of(n));
}

ssize_t __wrap_pread(int fd, void *out, size_t n, off_t at)
{
    if (!broken("pread", EIO, 0))
        return __real_pread(fd, out, n, at);
    return now.plan.way == FAULT_USUAL ? -1 : __real_pread(fd, out, part_of(n), at);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    if (!broken("write", ENOSPC, 0))
        return __real_write(fd, bytes, n);
    return now.plan.way == FAULT_USUAL ? -1 : __real_write(fd, bytes, part_of(n));
}

/* ---- time ------------------------------------------------------------------ */

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

static bool is_monotonic(clockid_t clock)
{
#ifdef CLOCK_MONOTONIC_COARSE
    if (clock == CLOCK_MONOTONIC_COARSE)
        return true;
#endif
    return clock == CLOCK_MONOTONIC;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int rc = __real_clock_gettime(clock, t);
    if (rc != 0 || !is_monotonic(clock))
        return rc;
    long ns = t->tv_nsec + now.passed_ms % 1000 * 1000000;
    t->tv_sec += now.passed_ms / 1000 + ns / NS_PER_S;
    t->tv_nsec = ns % NS_PER_S;
    return 0;
}
