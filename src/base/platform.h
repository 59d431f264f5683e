/* What hotcb uses that POSIX.1-2008 does not have, in this one place, each with what
 * stands in for it. Built with HOTCB_PORTABLE (the default elsewhere than on Linux) the
 * stand-ins serve. Nothing else of ours asks which system it is on. */
#ifndef HCB_PLATFORM_H
#define HCB_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* A monotonic clock that may lag by some milliseconds if that makes it cheaper. */
#if defined(CLOCK_MONOTONIC_COARSE) && !defined(HOTCB_PORTABLE)
#define HCB_COARSE_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define HCB_COARSE_CLOCK CLOCK_MONOTONIC
#endif

/* Makes getopt_long(), which has no stand-in, begin afresh on a new command line. */
#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
#define HCB_RESTART_GETOPT() (optreset = 1, optind = 1)
#else
#define HCB_RESTART_GETOPT() (optind = 0)
#endif

/* The first place in text that has these bytes, the last that has this one; or NULL. */
const char *hcb_find_bytes(const char *text, size_t n, const char *word, size_t word_n);
const char *hcb_find_last(const char *text, char c, size_t n);

/* Locks the file among all who lock it this way, without waiting: 0, or -1 with errno,
 * which is EWOULDBLOCK if another process has it. The stand-in goes by process: it is lost
 * when any descriptor of the file is closed. */
int hcb_platform_lock(int fd);
void hcb_platform_unlock(int fd);

/* Fills n bytes with what nobody can foresee; false if there is no such source. */
bool hcb_platform_noise(void *out, size_t n);

/* The path of the program that runs, yours to free; NULL if that is not known. */
char *hcb_platform_program(void);

/* The columns of the terminal at fd; 0 if that is not known. */
int hcb_platform_columns(int fd);

#endif
