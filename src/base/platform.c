/* See platform.h. The stand-ins are compiled, and tested, on Linux too: with
 * -DHOTCB_PORTABLE=ON. */
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifndef HOTCB_PORTABLE

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#ifdef SYS_openat2
#include <linux/openat2.h>
#endif

#define CPU_SETS 8 /* of 1024 processors each */

const char *hcb_find_bytes(const char *text, size_t n, const char *word, size_t word_n)
{
    return memmem(text, n, word, word_n);
}

const char *hcb_find_last(const char *text, char c, size_t n)
{
    return memrchr(text, c, n);
}

int hcb_platform_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB);
}

void hcb_platform_unlock(int fd)
{
    flock(fd, LOCK_UN);
}

bool hcb_platform_noise(void *out, size_t n)
{
    return getrandom(out, n, GRND_NONBLOCK) == (ssize_t)n;
}

char *hcb_platform_program(void)
{
    return realpath("/proc/self/exe", NULL);
}

static hcb_clock_fn *mapped_clock(void)
{
    static const char *const names[] = {"__vdso_clock_gettime", "__kernel_clock_gettime"};
    void *found = NULL, *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    for (size_t i = 0; vdso && !found && i < sizeof names / sizeof *names; i++)
        found = dlsym(vdso, names[i]);
    if (vdso)
        dlclose(vdso); /* it stays where it is */
    return (hcb_clock_fn *)(uintptr_t)found;
}

hcb_clock_fn *hcb_platform_coarse_clock(void)
{
    struct timespec t;
    hcb_clock_fn *mapped = mapped_clock();
    return mapped && mapped(HCB_COARSE_CLOCK, &t) == 0 ? mapped : clock_gettime;
}

/* What comes before the first segment that can be written: a program's lie in this order. */
static int find_constants(struct dl_phdr_info *info, size_t size, void *range)
{
    uintptr_t *bounds = range;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_W)
            break;
        if (segment->p_type == PT_LOAD && !bounds[0])
            bounds[0] = begin;
        if (segment->p_type == PT_LOAD)
            bounds[1] = begin + segment->p_memsz;
    }
    return 1; /* the first that is named is the program; others may be unloaded */
}

void hcb_platform_constants(uintptr_t *low, uintptr_t *high)
{
    uintptr_t bounds[2] = {0, 0};
    dl_iterate_phdr(find_constants, bounds);
    *low = bounds[0];
    *high = bounds[1];
}

/* Without huge pages: a few KiB that are touched must not become 2 MiB. */
void *hcb_platform_map(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, n, MADV_NOHUGEPAGE);
    return p;
}

void hcb_platform_unmap(void *p, size_t n)
{
    munmap(p, n);
}

void hcb_platform_discard(void *p, size_t n)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)p + page - 1) / page * page, to = ((uintptr_t)p + n) / page * page;
    if (to > from)
        madvise((void *)from, to - from, MADV_DONTNEED);
}

void *hcb_platform_map_wiped(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (madvise(p, n, MADV_WIPEONFORK) == 0)
        return p;
    munmap(p, n);
    return NULL;
}

/* The page is zeroed in a child, the count beside it is not. Whether there is one is settled
 * once: the numbers of a process that has one are others than those of one that has none. */
static _Atomic(_Atomic uint64_t *) wiped;
static _Atomic uint64_t none_to_be_had;
static _Atomic uint64_t processes;

static _Atomic uint64_t *wiped_page(void)
{
    _Atomic uint64_t *page = atomic_load_explicit(&wiped, memory_order_acquire), *first = NULL;
    if (!page) {
        _Atomic uint64_t *made = hcb_platform_map_wiped(sizeof *made);
        page = made ? made : &none_to_be_had;
        if (!atomic_compare_exchange_strong(&wiped, &first, page)) {
            if (made)
                munmap(made, sizeof *made);
            page = first;
        }
    }
    return page == &none_to_be_had ? NULL : page;
}

uint64_t hcb_platform_process(void)
{
    _Atomic uint64_t *page = wiped_page();
    if (!page)
        return (uint64_t)getpid();
    uint64_t mine = atomic_load_explicit(page, memory_order_relaxed);
    if (mine == 0) {
        uint64_t next = atomic_fetch_add(&processes, 1) + 1;
        mine = atomic_compare_exchange_strong(page, &mine, next) ? next : mine;
    }
    return mine;
}

const _Atomic uint64_t *hcb_platform_process_word(void)
{
    return wiped_page();
}

bool hcb_platform_stack(uintptr_t *low, uintptr_t *high)
{
    pthread_attr_t attr;
    void *start;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return false;
    bool known = pthread_attr_getstack(&attr, &start, &size) == 0;
    pthread_attr_destroy(&attr);
    *low = (uintptr_t)start;
    *high = (uintptr_t)start + size;
    return known;
}

/* Of machines that are larger than the mask, the affinity is not known. */
static int count_affinity(void)
{
    cpu_set_t sets[CPU_SETS];
    return sched_getaffinity(0, sizeof sets, sets) == 0 ? CPU_COUNT_S(sizeof sets, sets) : 0;
}

/* The C library has no function for it yet. */
int hcb_platform_open_below(int dir, const char *path, int flags)
{
#ifdef SYS_openat2
    struct open_how how = {.flags = (unsigned)flags,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
#else
    (void)dir, (void)path, (void)flags;
    errno = ENOSYS;
    return -1;
#endif
}

int hcb_platform_exchange(int dir, const char *a, const char *b)
{
#ifdef SYS_renameat2
    return (int)syscall(SYS_renameat2, dir, a, dir, b, 1u << 1); /* RENAME_EXCHANGE */
#else
    (void)dir, (void)a, (void)b;
    errno = ENOSYS;
    return -1;
#endif
}

#else

const char *hcb_find_bytes(const char *text, size_t n, const char *word, size_t word_n)
{
    for (; n >= word_n; text++, n--)
        if (memcmp(text, word, word_n) == 0)
            return text;
    return NULL;
}

const char *hcb_find_last(const char *text, char c, size_t n)
{
    while (n > 0)
        if (text[--n] == c)
            return text + n;
    return NULL;
}

static int set_lock(int fd, short type)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    int rc = fcntl(fd, F_SETLK, &whole);
    if (rc != 0 && (errno == EACCES || errno == EAGAIN))
        errno = EWOULDBLOCK;
    return rc;
}

int hcb_platform_lock(int fd)
{
    return set_lock(fd, F_WRLCK);
}

void hcb_platform_unlock(int fd)
{
    set_lock(fd, F_UNLCK);
}

bool hcb_platform_noise(void *out, size_t n)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool full = read(fd, out, n) == (ssize_t)n;
    close(fd);
    return full;
}

char *hcb_platform_program(void)
{
    return NULL;
}

hcb_clock_fn *hcb_platform_coarse_clock(void)
{
    return clock_gettime;
}

void hcb_platform_constants(uintptr_t *low, uintptr_t *high)
{
    *low = *high = 0;
}

void *hcb_platform_map(size_t n)
{
    return calloc(1, n);
}

void hcb_platform_unmap(void *p, size_t n)
{
    (void)n;
    free(p);
}

void *hcb_platform_map_wiped(size_t n)
{
    (void)n;
    return NULL;
}

void hcb_platform_discard(void *p, size_t n)
{
    (void)p;
    (void)n;
}

static uint64_t forks = 1;

static void count_fork(void)
{
    forks++;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

uint64_t hcb_platform_process(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return forks;
}

const _Atomic uint64_t *hcb_platform_process_word(void)
{
    return NULL;
}

static int count_affinity(void)
{
    return 0;
}

bool hcb_platform_stack(uintptr_t *low, uintptr_t *high)
{
    (void)low;
    (void)high;
    return false;
}

int hcb_platform_open_below(int dir, const char *path, int flags)
{
    (void)dir, (void)path, (void)flags;
    errno = ENOSYS;
    return -1;
}

int hcb_platform_exchange(int dir, const char *a, const char *b)
{
    (void)dir, (void)a, (void)b;
    errno = ENOSYS;
    return -1;
}

#endif

int hcb_platform_hold_cancel(void)
{
    int was = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
    return was;
}

void hcb_platform_release_cancel(int was)
{
    int held;
    pthread_setcancelstate(was, &held);
}

int hcb_platform_cpus(int *all)
{
    int usable = count_affinity();
#ifdef _SC_NPROCESSORS_ONLN
    *all = (int)sysconf(_SC_NPROCESSORS_ONLN);
#else
    *all = usable;
#endif
    *all = *all > 0 ? *all : 0;
    return usable > 0 ? usable : *all;
}

int hcb_platform_columns(int fd)
{
#ifdef TIOCGWINSZ
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0)
        return size.ws_col;
#else
    (void)fd;
#endif
    return 0;
}
