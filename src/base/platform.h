/* What hotcb uses that POSIX.1-2008 does not have, in this one place, each with what
 * stands in for it. Built with HOTCB_PORTABLE (the default elsewhere than on Linux) the
 * stand-ins serve. Nothing else of ours asks which system it is on, but notify.c, which has
 * inotify, and the guard of scripts. */
#ifndef HCB_PLATFORM_H
#define HCB_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* A monotonic clock that may lag by some milliseconds if that makes it cheaper. */
#if defined(CLOCK_MONOTONIC_COARSE) && !defined(HOTCB_PORTABLE)
#define HCB_COARSE_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define HCB_COARSE_CLOCK CLOCK_MONOTONIC
#endif

/* Reads a clock, as clock_gettime does: 0, or another number. */
typedef int hcb_clock_fn(clockid_t clock, struct timespec *t);

/* The shortest way to the coarse clock: where the system maps it into each program, the C
 * library's function only adds to its cost. */
hcb_clock_fn *hcb_platform_coarse_clock(void);

/* Makes getopt_long(), which has no stand-in, begin afresh on a new command line. */
#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
#define HCB_RESTART_GETOPT() (optreset = 1, optind = 1)
#else
#define HCB_RESTART_GETOPT() (optind = 0)
#endif

/* The first place in text that has these bytes, the last that has this one; or NULL. */
const char *hcb_find_bytes(const char *text, size_t n, const char *word, size_t word_n);
const char *hcb_find_last(const char *text, char c, size_t n);

/* A thread that is cancelled leaves locks, handles and timers behind as they are: it is not
 * cancelled between these two, but where it comes next to a point where it may be. They nest:
 * release gets what hold returned. */
int hcb_platform_hold_cancel(void);
void hcb_platform_release_cancel(int was);

/* Locks the file among all who lock it this way, without waiting: 0, or -1 with errno,
 * which is EWOULDBLOCK if another process has it. The stand-in goes by process: it is lost
 * when any descriptor of the file is closed. */
int hcb_platform_lock(int fd);
void hcb_platform_unlock(int fd);

/* Fills n bytes with what nobody can foresee; false if there is no such source. */
bool hcb_platform_noise(void *out, size_t n);

/* The path of the program that runs, yours to free; NULL if that is not known. */
char *hcb_platform_program(void);

/* n bytes of zeros that take memory only where they are touched, not counted as a promise
 * where the system can do without; NULL with errno. n is the same for unmap. */
void *hcb_platform_map(size_t n);
void hcb_platform_unmap(void *p, size_t n);

/* n bytes of zeros that are zeros again in a forked child; NULL where there is no such
 * memory. Unmapped like the others. */
void *hcb_platform_map_wiped(size_t n);

/* Says that the whole pages among these are not needed as they are: they may read as
 * zeros from now on. */
void hcb_platform_discard(void *p, size_t n);

/* Where the program's own constants are (its texts among them), which nothing can change or
 * take away as long as it runs: from low, below high. Both 0 where that is not known. */
void hcb_platform_constants(uintptr_t *low, uintptr_t *high);

/* A number that stands for this process: another one in a forked child. Above 0. */
uint64_t hcb_platform_process(void);

/* Where that number is kept, to be looked at without a call: another number, or 0, in a
 * forked child. NULL where it is not kept. */
const _Atomic uint64_t *hcb_platform_process_word(void);

/* The lowest address of the calling thread's stack and the one behind its highest; false
 * if that is not known. Slow. */
bool hcb_platform_stack(uintptr_t *low, uintptr_t *high);

/* Opens `path` below the directory dir if no component of it is a link and none leads out
 * of dir; -1 with errno, which is ENOSYS where the system cannot make sure of that at once. */
int hcb_platform_open_below(int dir, const char *path, int flags);

/* Makes two entries of the directory dir change places: 0, or -1 with errno, which is ENOSYS
 * or EINVAL where the system or the file system cannot. */
int hcb_platform_exchange(int dir, const char *a, const char *b);

/* How many processors the calling thread may run on, and *all that are in use; 0 where that
 * is not known. */
int hcb_platform_cpus(int *all);

/* The columns of the terminal at fd; 0 if that is not known. */
int hcb_platform_columns(int fd);

#endif
