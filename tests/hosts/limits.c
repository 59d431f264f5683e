/* Hosts in tight quarters: another working directory, closed standard streams, and limits of
 * the system on memory, descriptors, signals and files. What cannot be had is refused with
 * a sentence, the rest works, and what was refused works once there is room again. */
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#define MIB ((rlim_t)1 << 20)

static const char idle_lua[] = "function handle() end\n";
static const char unload_later[] = "{\"op\":\"unload\",\"id\":\"later\"}";

/* Sets the soft limit, returns what it was. */
static rlim_t limit(int which, rlim_t soft)
{
    struct rlimit now;
    CHECK(getrlimit(which, &now) == 0, "getrlimit %d", which);
    rlim_t before = now.rlim_cur;
    now.rlim_cur = soft > now.rlim_max ? now.rlim_max : soft;
    CHECK(setrlimit(which, &now) == 0, "setrlimit %d: %s", which, strerror(errno));
    return before;
}

/* ---- the working directory ------------------------------------------------- */

static void check_lands_in(const struct trial *t, const char *path)
{
    char file[300];
    struct stat st;
    snprintf(file, sizeof file, "%s/hotcb.status.json", path);
    CHECK(stat(file, &st) == 0, "%s is not there", file);
    CHECK(stat("hotcb.status.json", &st) != 0 && stat("run", &st) != 0,
          "%s wrote to the new working directory", t->dir);
}

/* A relative run directory is where it was when the run was opened. */
static void chdir_after_open(void *arg)
{
    struct trial t;
    char home[200], elsewhere[200];
    (void)arg;
    trial_path(home, sizeof home, "home");
    trial_path(elsewhere, sizeof elsewhere, "elsewhere");
    CHECK(mkdir(home, 0755) == 0 && mkdir(elsewhere, 0755) == 0 && chdir(home) == 0, "chdir");
    trial_init(&t, "home/run");
    t.opt.dir = "run";
    if (trial_open(&t)) {
        trial_prove(&t, NULL);
        CHECK(chdir(elsewhere) == 0, "chdir");
        trial_prove(&t, TRIAL_TIMER);
        CHECK(trial_load(&t, "later", idle_lua) == 0, "%s", hotcb_errmsg(t.h));
        trial_prove(&t, TRIAL_TIMER);
        check_lands_in(&t, t.dir);
    }
    trial_close(&t);
}

/* getcwd() fails there. */
static void in_a_removed_directory(void *arg)
{
    char gone[200];
    (void)arg;
    trial_path(gone, sizeof gone, "gone");
    CHECK(mkdir(gone, 0755) == 0 && chdir(gone) == 0 && rmdir(gone) == 0, "chdir");
    trial_whole("from-nowhere", TRIAL_TIMER);
}

/* ---- standard streams ------------------------------------------------------ */

static int spare; /* where failed checks go meanwhile */

static void close_streams(void)
{
    spare = fcntl(2, F_DUPFD_CLOEXEC, 10);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
}

static void open_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        dup2(spare, fd);
    close(spare);
}

static int streams_open(void)
{
    int n = 0;
    for (int fd = 0; fd < 3; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* default_log: it prints to a stream that is not there. */
static void open_without_streams(const char *name, bool default_log)
{
    struct trial t;
    int open[3];
    trial_init(&t, name);
    t.opt.log = default_log ? NULL : t.opt.log;
    t.env = hotcb_env_new();
    close_streams();
    int status = hotcb_open(&t.h, &t.opt);
    open[0] = streams_open();
    for (int i = 0; i < 5; i++) {
        hotcb_command(t.h, "{\"op\":\"enable\",\"id\":\"nobody\"}");
        hotcb_apply(t.h, t.env, "train_step_end");
    }
    open[1] = streams_open();
    trial_close(&t);
    open[2] = streams_open();
    open_streams();
    CHECK(status == 0, "it did not open");
    CHECK(open[0] + open[1] + open[2] == 0, "standard streams that were opened: %d, %d, %d",
          open[0], open[1], open[2]);
}

static void closed_streams(void *arg)
{
    (void)arg;
    open_without_streams("closed", false);
}

static void closed_streams_default_log(void *arg)
{
    (void)arg;
    open_without_streams("closed-default", true);
}

static atomic_bool enough;

/* A host that prints all the same. */
static void print_anyway(void *arg)
{
    (void)arg;
    while (!atomic_load(&enough))
        for (int fd = 0; fd < 3; fd++)
            if (write(fd, "STRAY\n", 6) > 0)
                continue; /* a file that is just being opened had that number, for a moment */
}

/* In files that stay open, and in what is written over again and again. */
static void check_no_stray(const struct trial *t)
{
    static const char *const names[] = {"hotcb.log", "hotcb.applied.jsonl", "hotcb.status.json",
                                        "hotcb.metrics.jsonl", "hotcb.media.jsonl",
                                        "hotcb.lock", "hotcb.yaml", "hotcb.commands.jsonl",
                                        "hotcb.state.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = trial_read(t, names[i]);
        CHECK(!text || !strstr(text, "STRAY"), "what the host printed is in %s", names[i]);
        free(text);
    }
}

/* Opens no file but through the library. */
static void use_files(void *arg)
{
    struct trial *t = arg;
    char load[300];
    snprintf(load, sizeof load, "{\"op\":\"load\",\"id\":\"later\",\"target\":{\"kind\":"
             "\"lua_file\",\"path\":\"%s/later.lua\"}}", t->dir);
    for (int i = 0; i < 20; i++) {
        CHECK(hotcb_command(t->h, load) == 0, "%s", hotcb_errmsg(t->h));
        trial_steps(t, 3);
        CHECK(hotcb_command(t->h, unload_later) == 0, "%s", hotcb_errmsg(t->h));
    }
    trial_runaway(t, "loop");
    atomic_store(&enough, true);
}

static void printing_to_closed_streams(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "printing");
    if (trial_open(&t)) {
        trial_write(&t, "later.lua", idle_lua);
        close_streams();
        trial_beside(print_anyway, NULL, use_files, &t);
        open_streams();
        trial_prove(&t, TRIAL_TIMER);
        check_no_stray(&t);
    }
    trial_close(&t);
}

/* ---- memory ---------------------------------------------------------------- */

static rlim_t address_space(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    CHECK(f && fscanf(f, "%lu", &pages) == 1, "/proc/self/statm");
    if (f)
        fclose(f);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void check_refused(struct trial *t, const char *id)
{
    CHECK(trial_load(t, id, idle_lua) < 0, "%s was loaded, without room for it", id);
    CHECK(*hotcb_errmsg(t->h), "it was refused without a word");
}

/* Room for what the process does otherwise, but not for one more callback's memory. */
static void little_address_space(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "address-space");
    if (trial_open(&t)) {
        trial_prove(&t, TRIAL_TIMER);
        rlim_t before = limit(RLIMIT_AS, address_space() + 8 * MIB);
        check_refused(&t, "later");
        trial_steps(&t, 5);
        trial_check_neighbours(&t);
        trial_steps(&t, 5);
        limit(RLIMIT_AS, before);
        CHECK(trial_load(&t, "again", idle_lua) == 0, "%s", hotcb_errmsg(t.h));
        trial_prove(&t, TRIAL_TIMER);
    }
    trial_close(&t);
}

/* A runaway's memory is given back before the next is taken, so it may go on or not; who is
 * not concerned goes on. */
static void runaway_in_little_memory(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "no-rebuild");
    if (trial_open(&t)) {
        trial_runaway(&t, "loop");
        rlim_t before = limit(RLIMIT_AS, address_space() + MIB);
        for (int i = 0; i < 5; i++)
            trial_steps(&t, 2);
        trial_check_neighbours(&t);
        limit(RLIMIT_AS, before);
        trial_prove(&t, TRIAL_TIMER);
    }
    trial_close(&t);
}

/* ---- descriptors ----------------------------------------------------------- */

/* As many as are open now: there is not one more. */
static rlim_t no_more_files(void)
{
    int next = dup(2);
    close(next);
    return limit(RLIMIT_NOFILE, (rlim_t)next);
}

static void no_descriptor_to_open(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "no-descriptor");
    rlim_t before = no_more_files();
    CHECK(hotcb_open(&t.h, &t.opt) < 0, "it opened");
    CHECK(*hotcb_errmsg(t.h), "it did not open, and said nothing");
    CHECK(hotcb_apply(t.h, NULL, "train_step_end") < 0, "an apply did something");
    hotcb_close(t.h);
    limit(RLIMIT_NOFILE, before);
    trial_whole("no-descriptor", TRIAL_TIMER);
}

static void no_descriptor_during_a_run(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "no-more");
    if (trial_open(&t)) {
        int fds = trial_count_entries("/proc/self/fd");
        for (int round = 0; round < 3; round++) {
            rlim_t before = no_more_files();
            for (int i = 0; i < 3; i++) {
                trial_steps(&t, 5);
                trial_runaway(&t, "loop");
            }
            trial_check_neighbours(&t);
            limit(RLIMIT_NOFILE, before);
            CHECK(trial_load(&t, "later", idle_lua) == 0, "%s", hotcb_errmsg(t.h));
            CHECK(hotcb_command(t.h, unload_later) == 0, "%s", hotcb_errmsg(t.h));
        }
        trial_prove(&t, TRIAL_TIMER);
        CHECK(trial_count_entries("/proc/self/fd") == fds, "descriptors were left open");
    }
    trial_close(&t);
}

/* ---- signals, stack, files ------------------------------------------------- */

static void no_timer(void *arg)
{
    (void)arg;
    limit(RLIMIT_SIGPENDING, 0);
    trial_whole("no-timer", TRIAL_HOOK);
}

/* The timer that is there stays; a thread to come has none. */
static void no_timer_later(void *arg)
{
    struct trial t;
    (void)arg;
    trial_init(&t, "no-timer-later");
    if (trial_open(&t)) {
        trial_prove(&t, TRIAL_TIMER);
        limit(RLIMIT_SIGPENDING, 0);
        trial_prove(&t, TRIAL_TIMER);
        trial_in_thread(no_timer, NULL, 0);
        trial_prove(&t, TRIAL_TIMER);
    }
    trial_close(&t);
}

/* A filter of system calls that knows how to make timers, and not how to set them. */
#ifdef SYS_timer_settime
static bool forbid(unsigned number)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void no_setting(void *arg)
{
    (void)arg;
    if (forbid(SYS_timer_settime)) /* else the system has no such filters */
        trial_whole("no-setting", TRIAL_HOOK);
}
#endif

static void in_a_thread(void *arg)
{
    (void)arg;
    trial_whole("endless-stack-thread", TRIAL_TIMER);
}

static void endless_stack(void *arg)
{
    (void)arg;
    limit(RLIMIT_STACK, RLIM_INFINITY);
    trial_whole("endless-stack", TRIAL_TIMER);
    trial_in_thread(in_a_thread, NULL, 0);
}

/* Files may not grow, and the host has said that this is no reason to die. */
static void no_file_may_grow(void *arg)
{
    struct trial t;
    (void)arg;
    signal(SIGXFSZ, SIG_IGN);
    trial_init(&t, "no-growth");
    if (trial_open(&t)) {
        trial_prove(&t, TRIAL_TIMER);
        rlim_t before = limit(RLIMIT_FSIZE, 1);
        for (int i = 0; i < 5; i++) {
            trial_steps(&t, 5);
            trial_runaway(&t, "loop");
        }
        trial_check_neighbours(&t);
        limit(RLIMIT_FSIZE, before);
        trial_prove(&t, TRIAL_TIMER);
    }
    trial_close(&t);
}

/* ---- all of them ----------------------------------------------------------- */

static const struct {
    const char *name;
    void (*host)(void *arg);
    bool not_under_asan; /* it takes more memory than these leave, and keeps its own files */
} hosts[] = {
    {"chdir after open", chdir_after_open, false},
    {"in a removed directory", in_a_removed_directory, false},
    {"closed streams", closed_streams, false},
    {"closed streams, default log", closed_streams_default_log, false},
    {"printing to closed streams", printing_to_closed_streams, false},
    {"little address space", little_address_space, true},
    {"a runaway in little memory", runaway_in_little_memory, true},
    {"no descriptor to open with", no_descriptor_to_open, false},
    {"no descriptor during a run", no_descriptor_during_a_run, false},
    {"no timer to be had", no_timer, false},
    {"no timer later on", no_timer_later, false},
#ifdef SYS_timer_settime
    {"no setting of timers", no_setting, false},
#endif
    {"an endless stack", endless_stack, false},
    {"no file may grow", no_file_may_grow, false},
};

int main(int argc, char **argv)
{
    trial_begin(argv[0]);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (!(TRIAL_ASAN && hosts[i].not_under_asan) &&
            (argc < 2 || strcmp(argv[1], hosts[i].name) == 0))
            trial_in_child(hosts[i].name, hosts[i].host, NULL);
    return trial_end();
}
