/* What the hosts in this folder share: a run in a scratch folder with callbacks that run
 * away when they are told to, between two neighbours that count what reaches them. A trial
 * goes through the public API alone; its checks count failures and never end the process.
 * One thread at a time per trial; several threads may have one each. */
#ifndef TRIAL_H
#define TRIAL_H

#include <hotcb/hotcb.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__SANITIZE_ADDRESS__)
#define TRIAL_ASAN 1
#else
#define TRIAL_ASAN 0
#endif

/* What status.json calls the guard of a thread whose timer works, and of another. */
#ifdef HOTCB_PORTABLE
#define TRIAL_TIMER "count hook"
#else
#define TRIAL_TIMER "timer"
#endif
#define TRIAL_HOOK "count hook"

/* CPU time that a call may use, as opened; what is checked is TRIAL_BOUND_MS, which leaves
 * room for a busy machine, times HOTCB_TEST_SLACK. */
#define TRIAL_TIME_MS 20
#define TRIAL_BOUND_MS 250

/* A neighbour: every event reaches it once, in order, with the step the host set. */
struct trial_heard {
    int64_t calls;  /* lines it logged */
    int64_t missed; /* lines that were not the one that had to come next */
};

struct trial {
    hotcb_options opt;
    hotcb *h;
    hotcb_env *env;
    char dir[160];
    int64_t step;    /* of the next apply */
    int64_t applies; /* since the neighbours were loaded */
    int64_t stops;   /* calls that ran away and were stopped */
    struct trial_heard first, last;
    char complaint[300]; /* the last warning or error that was logged */
};

/* A failed check is printed with its place, and counted. */
#define CHECK(ok, ...) trial_check((ok) ? 1 : 0, __FILE__, __LINE__, #ok, __VA_ARGS__)
void trial_check(int ok, const char *file, int line, const char *what, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Begins a program: makes the scratch folder, and lets the system end a process that uses
 * far more CPU time than all of it needs, which no blocked signal hinders. */
void trial_begin(const char *program);

/* Ends it: removes the scratch folder if nothing failed. Returns the exit code. */
int trial_end(void);

/* The failed checks so far; what a child of fork exits with (see trial_child_end). */
int trial_failures(void);

/* A path in the scratch folder, in `out`. */
void trial_path(char *out, size_t size, const char *name);

/* HOTCB_TEST_SLACK, at least 1. */
int trial_slack(void);

/* A trial with its options ready, in the scratch folder's `name`, and not open. */
void trial_init(struct trial *t, const char *name);

/* Opens the run and loads the neighbours `first` and `last` and, between them, `runaway`.
 * false, and a failed check, if it does not open. */
bool trial_open(struct trial *t);

/* The same; not `must`: a callback may be refused, with a sentence. */
bool trial_open_on(struct trial *t, bool must);

/* Closes the run and frees the env. What it wrote stays. */
void trial_close(struct trial *t);

/* Writes dir/<id>.lua and loads it. Returns what hotcb_command() did. */
int trial_load(struct trial *t, const char *id, const char *text);

/* n applies in which nobody runs away. */
void trial_steps(struct trial *t, int n);

/* One apply in which `runaway` does what `way` says, which is how it was stopped. The
 * ways are loop (endless, in Lua), pattern and sort (long in C), swallow (an endless loop
 * that catches its errors). */
void trial_runaway(struct trial *t, const char *way);

/* The whole: steps, each way of running away with steps between, and that the neighbours
 * missed nothing; guard: what status.json calls it then, NULL if it is all one. */
void trial_prove(struct trial *t, const char *guard);

/* The same, from opening the run in scratch folder `name` to closing it. */
void trial_whole(const char *name, const char *guard);

/* That the neighbours heard every apply of theirs. */
void trial_check_neighbours(struct trial *t);

/* What status.json says the guard is. */
void trial_guard(const struct trial *t, char *out, size_t size);

/* The field `name` of callback `id`, as text; "error.reason" goes one deeper. "" if it is
 * null or missing. */
void trial_field(const struct trial *t, const char *id, const char *name, char *out, size_t size);

/* Writes a file of the run directory. */
void trial_write(const struct trial *t, const char *name, const char *text);

/* A file of the run directory, with a NUL behind it; free() it. NULL if there is none. */
char *trial_read(const struct trial *t, const char *name);

/* Runs fn(arg) in a child of fork, and checks that it ended by itself, with no failed check.
 * A child that is still there after a long while is ended and is a failed check. */
void trial_in_child(const char *what, void (*fn)(void *arg), void *arg);

/* The same of a child that was forked otherwise. */
void trial_wait(const char *what, pid_t child);

/* Runs fn(arg) on a new thread and waits for its end. stack: bytes, 0 for the default. */
void trial_in_thread(void (*fn)(void *arg), void *arg, size_t stack);

/* Runs there(arg) on a new thread while here(arg) runs on this one; waits for both. */
void trial_beside(void (*there)(void *arg), void *there_arg, void (*here)(void *arg),
                  void *here_arg);

void trial_pause_ms(int ms);

/* CPU time of this thread. */
int64_t trial_thread_cpu_ms(void);

/* The lines of a file, as /proc/self/maps; the entries of a folder, as /proc/self/fd. -1 if
 * it cannot be read. */
int trial_count_lines(const char *path);
int trial_count_entries(const char *path);

#ifdef __cplusplus
}
#endif

#endif
