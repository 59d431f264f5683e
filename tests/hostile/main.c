/* Runs hostile scripts against the library, each in a host process of its own, and says
 * what became of them: that each ended as its manifest allows, that the callback beside it
 * missed nothing, that the host neither crashed nor hung, and what it cost.
 *
 *     hotcb_hostile FOLDER...
 *
 * HOTCB_HOSTILE names a folder that takes the place of the first one. HOTCB_HOSTILE_RUNS: how
 * often (default 1). HOTCB_HOSTILE_ONLY: entries whose name has this in it. HOTCB_HOSTILE_JOBS:
 * host processes at a time. HOTCB_HOSTILE_TIME_MS: the budget; a small one makes more jumps,
 * and its own failures of scripts that should end well. HOTCB_HOSTILE_VERBOSE: each run. */
#include "host.h"
#include "rig.h"
#include "tally.h"
#include "base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIME_MS 50 /* the library's default budget */
#define JOBS_MAX 8

/* What nobody could mistake for slowness: CPU time of a host with one attack, and time of
 * one that waits for something which does not come. */
#define CPU_S 15
#define BLOCKED_S 120

/* Little more than the library asks for; less is refused. */
#define NARROW_BYTES (576 << 10)

#ifndef HOSTILE_SLACK
#define HOSTILE_SLACK 1
#endif

struct child {
    pid_t pid; /* 0: free */
    struct job job;
    int run;
    int64_t began_ns, may_take_ns;
    struct report *report;
    char dir[200];
};

struct suite {
    struct entries entries;
    struct tally tally;
    struct child children[JOBS_MAX];
    struct report *reports;
    int jobs, runs;
    int64_t time_ms, slack; /* which is so many times the default */
    const char *only;
    char top[100]; /* directory of all run directories */
    int made;
};

/* ---- a child --------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static void remove_all(const char *dir)
{
    nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void job_name(const struct child *c, char out[300])
{
    const struct job *j = &c->job;
    if (j->entry)
        snprintf(out, 300, "%s in %s%s%s, by %s", j->entry->name, place_name(j->place),
                 j->coroutines ? " with coroutines" : "", j->narrow ? " on a small stack" : "",
                 route_name(j->route));
    else
        snprintf(out, 300, "all in one host, at %s", c->report->doing);
}

static void limit(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit r = {soft, hard};
    setrlimit(resource, &r);
}

static void redirect_output(const char *dir)
{
    char path[300];
    snprintf(path, sizeof path, "%s/output.txt", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd < 0)
        return;
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    close(fd);
}

static rlim_t cpu_seconds(const struct suite *s, const struct job *job)
{
    size_t attacks = job->entry ? 1 : s->entries.n / 10 + 1;
    return (rlim_t)(CPU_S * s->slack) * attacks;
}

struct host {
    const struct suite *s;
    const struct child *c;
    int code;
};

static void *run_host(void *arg)
{
    struct host *host = arg;
    const struct child *c = host->c;
    int64_t time_ms = host->s->time_ms;
    host->code = c->job.entry ? host_run(&c->job, c->dir, time_ms, c->report)
                              : host_run_all(&host->s->entries, c->dir, time_ms, c->report);
    return NULL;
}

static bool run_narrow(struct host *host)
{
    pthread_t thread;
    pthread_attr_t attr;
    return pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, NARROW_BYTES) == 0 &&
           pthread_create(&thread, &attr, run_host, host) == 0 && pthread_join(thread, NULL) == 0;
}

static void be_host(const struct suite *s, const struct child *c)
{
    struct host host = {s, c, 2};
    redirect_output(c->dir);
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_CPU, cpu_seconds(s, &c->job), cpu_seconds(s, &c->job) + 5);
    if (!c->job.narrow)
        run_host(&host);
    else if (!run_narrow(&host))
        perror("thread");
    exit(host.code);
}

static void start(struct suite *s, struct child *c, const struct job *job, int run)
{
    c->job = *job;
    c->run = run;
    c->began_ns = hcb_clock_ns();
    c->may_take_ns = (BLOCKED_S + (int64_t)cpu_seconds(s, job) * 4) * 1000000000;
    memset(c->report, 0, sizeof *c->report);
    snprintf(c->dir, sizeof c->dir, "%s/%d", s->top, s->made++);
    fflush(NULL);
    c->pid = mkdir(c->dir, 0777) == 0 ? fork() : -1;
    if (c->pid == 0)
        be_host(s, c);
    if (c->pid < 0) {
        perror(c->dir);
        exit(2);
    }
}

/* ---- its end --------------------------------------------------------------- */

static void show_output(const char *dir)
{
    char path[300], line[400];
    snprintf(path, sizeof path, "%s/output.txt", dir);
    FILE *f = fopen(path, "re");
    for (int i = 0; f && i < 40 && fgets(line, sizeof line, f); i++)
        printf("    %s", line);
    if (f)
        fclose(f);
}

/* "" if all is well. */
static void complaint_of(const struct child *c, int status, char out[700])
{
    const struct report *r = c->report;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
        snprintf(out, 700, "the host hung (%s)", WTERMSIG(status) == SIGXCPU ? "busy" : "blocked");
    else if (WIFSIGNALED(status))
        snprintf(out, 700, "the host was killed by signal %d", WTERMSIG(status));
    else if (*r->complaint)
        snprintf(out, 700, "%s", r->complaint);
    else if (WEXITSTATUS(status) != 0 || !r->complete)
        snprintf(out, 700, "the host left with exit code %d", WEXITSTATUS(status));
    else
        out[0] = '\0';
}

static void ended(struct suite *s, struct child *c, int status)
{
    char name[300], complaint[700];
    job_name(c, name);
    complaint_of(c, status, complaint);
    s->tally.runs++;
    if (c->report->complete && c->job.entry)
        tally_add(&s->tally, c->report, name);
    if (getenv("HOTCB_HOSTILE_VERBOSE"))
        printf("%s: %s, %.1f ms, %ld KiB %s\n", name, outcome_name(c->report->outcome),
               (double)c->report->over_ns / 1e6, c->report->peak_kb, c->report->message);
    if (*complaint) {
        s->tally.failures++;
        printf("FAILED (run %d) %s: %s; its directory: %s\n", c->run, name, complaint, c->dir);
        show_output(c->dir);
    } else {
        remove_all(c->dir);
    }
    c->pid = 0;
}

static void end_if_blocked(struct child *c)
{
    if (hcb_clock_ns() - c->began_ns > c->may_take_ns)
        kill(c->pid, SIGKILL);
}

/* Waits a moment; takes in those that have ended. */
static void reap(struct suite *s)
{
    const struct timespec moment = {0, 2000000};
    bool any = false;
    for (int i = 0; i < s->jobs; i++) {
        struct child *c = &s->children[i];
        int status;
        if (c->pid == 0)
            continue;
        if (waitpid(c->pid, &status, WNOHANG) == c->pid) {
            ended(s, c, status);
            any = true;
        } else {
            end_if_blocked(c);
        }
    }
    if (!any)
        nanosleep(&moment, NULL);
}

static struct child *free_child(struct suite *s)
{
    for (;;) {
        for (int i = 0; i < s->jobs; i++)
            if (s->children[i].pid == 0)
                return &s->children[i];
        reap(s);
    }
}

static void wait_for_all(struct suite *s)
{
    for (int i = 0; i < s->jobs; i++)
        while (s->children[i].pid)
            reap(s);
}

/* ---- which there are ------------------------------------------------------- */

static void start_job(struct suite *s, const struct entry *e, enum place place, bool coroutines,
                      unsigned turn, int run)
{
    struct job job = {e, place, (enum route)(turn % ROUTE_COUNT), coroutines, turn / 3 % 2, false};
    start(s, free_child(s), &job, run);
}

/* What reaches deep into the C stack must not find its end. A sanitizer's frames are
 * larger than any stack of this kind. */
static void start_narrow(struct suite *s, const struct entry *e, unsigned turn, int run)
{
    struct job job = {e, IN_HANDLE, (enum route)(turn % ROUTE_COUNT), e->coroutines, false, true};
    if (OWN_MEMORY && turn % 4 == 0)
        start(s, free_child(s), &job, run);
}

/* With coroutines off, and once more with them where the entry is about them. */
static void start_both(struct suite *s, const struct entry *e, enum place place, unsigned turn,
                       int run)
{
    start_job(s, e, place, false, turn, run);
    if (e->coroutines)
        start_job(s, e, place, true, turn + 1, run);
}

/* Of the hooks each run takes one, and the runs take them all by turns; every fourth entry
 * is met on a small stack, too. */
static void start_entry(struct suite *s, const struct entry *e, unsigned turn, int run)
{
    if (e->kind == ENTRY_FILE || e->kind == ENTRY_LIFE) {
        start_both(s, e, e->kind == ENTRY_FILE ? AS_FILE : AS_LIFE, turn, run);
        return;
    }
    if (e->kind == ENTRY_BODY)
        start_both(s, e, IN_CHUNK, turn, run);
    start_both(s, e, IN_HANDLE, turn + 1, run);
    start_narrow(s, e, turn, run);
    if (e->kind == ENTRY_BODY)
        start_job(s, e, (enum place)(FIRST_HOOK + turn % HOOK_COUNT), e->coroutines, turn + 2, run);
}

static void run_once(struct suite *s, int run)
{
    const struct job all = {.entry = NULL};
    for (size_t i = 0; i < s->entries.n; i++)
        if (!s->only || strstr(s->entries.v[i].name, s->only))
            start_entry(s, &s->entries.v[i], (unsigned)(i + (size_t)run), run);
    if (!s->only)
        start(s, free_child(s), &all, run);
    wait_for_all(s);
}

/* ---- the suite ------------------------------------------------------------- */

static int number(const char *variable, int fallback)
{
    const char *text = getenv(variable);
    int n = text ? atoi(text) : 0;
    return n > 0 ? n : fallback;
}

static bool set_up(struct suite *s)
{
    const char *tmp = getenv("TMPDIR");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s->time_ms = number("HOTCB_HOSTILE_TIME_MS", TIME_MS * HOSTILE_SLACK);
    s->slack = s->time_ms > TIME_MS ? s->time_ms / TIME_MS : 1;
    s->runs = number("HOTCB_HOSTILE_RUNS", 1);
    s->jobs = number("HOTCB_HOSTILE_JOBS", cores > 2 ? 4 : 2);
    s->jobs = s->jobs < JOBS_MAX ? s->jobs : JOBS_MAX;
    s->only = getenv("HOTCB_HOSTILE_ONLY");
    snprintf(s->top, sizeof s->top, "%.60s/hotcb-hostile-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    s->reports = mmap(NULL, JOBS_MAX * sizeof *s->reports, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->reports == MAP_FAILED || !mkdtemp(s->top)) {
        perror("hostile");
        return false;
    }
    for (int i = 0; i < JOBS_MAX; i++)
        s->children[i].report = &s->reports[i];
    return true;
}

static bool read_folders(struct suite *s, int n, char **folders)
{
    const char *other = getenv("HOTCB_HOSTILE");
    if (n == 0) {
        fprintf(stderr, "usage: hotcb_hostile FOLDER...\n");
        return false;
    }
    for (int i = 0; i < n; i++)
        if (!entries_read(&s->entries, i == 0 && other && *other ? other : folders[i]))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    static struct suite s;
    if (!read_folders(&s, argc - 1, argv + 1) || !set_up(&s))
        return 2;
    for (int run = 1; run <= s.runs; run++)
        run_once(&s, run);
    tally_tell(&s.tally, s.time_ms, s.slack);
    bool failed = s.tally.failures > 0 || s.tally.runs == 0;
    if (!failed)
        remove_all(s.top);
    tally_release(&s.tally);
    entries_release(&s.entries);
    return failed;
}
