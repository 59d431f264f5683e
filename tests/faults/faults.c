/* faults [-p LIFE] [-n N] [-l] [-o] [-v] memory|files: plays each life once for each call
 * that can fail, each time in a process of its own, so that a crash is seen and counted.
 * With -n one of them, for a closer look: -l for lasting trouble, -o for the other way to
 * fail, -v to say all. HOTCB_FAULTS=all plays all that there are, where otherwise a sample
 * is taken; a number N every N-th point. */
#include "scenario.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE_MAX 16
#define FAILED_MAX 200  /* then it is clear enough */
#define SECONDS_EACH 600 /* by then it hangs */

#if defined(__SANITIZE_ADDRESS__)
#define USUAL_STRIDE 7
#else
#define USUAL_STRIDE 1
#endif

struct job {
    pid_t pid;
    struct scenario_result *result; /* shared with its process */
    struct fault_plan plan;
};

static struct {
    char root[64];
    bool verbose, every_one;
    struct job jobs[AT_ONCE_MAX];
    int at_once, running;
    long played, failed;
    long kept;               /* blocks of memory that a process keeps where nothing fails */
} all;

static void play(const struct job *job)
{
    char root[96];
    cJSON_Hooks hooks = {fault_malloc, fault_free};
    cJSON_InitHooks(&hooks);
    alarm(SECONDS_EACH);
    snprintf(root, sizeof root, "%s/%ld", all.root, (long)getpid());
    scenario_play(&job->plan, root, all.verbose, job->result);
    _exit(0);
}

static struct job *job_of(pid_t pid)
{
    struct job *job = all.jobs;
    while (job->pid != pid)
        job++;
    return job;
}

/* Whether the process of this job did well; says what did not. */
static bool judge(const struct job *job, int status)
{
    char plan[64];
    const struct scenario_result *result = job->result;
    fault_describe(&job->plan, plan, sizeof plan);
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s: ended by signal %d (%s)\n", plan, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        fprintf(stderr, "%s: exit code %d\n", plan, WEXITSTATUS(status));
    else if (job->plan.from > 0 && result->kept > all.kept)
        fprintf(stderr, "%s: %ld blocks of memory are not given back\n", plan,
                result->kept - all.kept);
    else
        return result->failures == 0;
    return false;
}

static void wait_for_one(void)
{
    int status;
    pid_t pid = wait(&status);
    if (pid < 0)
        return;
    struct job *job = job_of(pid);
    all.running--;
    all.played++;
    all.failed += !judge(job, status);
    job->pid = 0;
}

static void start(const struct fault_plan *plan)
{
    while (all.running == all.at_once)
        wait_for_one();
    struct job *job = job_of(0);
    job->plan = *plan;
    *job->result = (struct scenario_result){0};
    pid_t pid = fork();
    if (pid == 0)
        play(job);
    if (pid < 0) {
        perror("faults: fork");
        exit(2);
    }
    job->pid = pid;
    all.running++;
}

static void wait_for_all(void)
{
    while (all.running > 0)
        wait_for_one();
}

/* How many calls there are when none fails. */
static long count_points(enum fault_kind kind, int life)
{
    const struct fault_plan none = {.kind = kind, .life = life};
    start(&none);
    wait_for_all();
    all.kept = all.jobs[0].result->kept;
    return all.jobs[0].result->points;
}

/* HOTCB_FAULTS. Returns every how many-th point is played. */
static long read_stride(void)
{
    const char *wanted = getenv("HOTCB_FAULTS");
    if (!wanted || !*wanted)
        return USUAL_STRIDE;
    all.every_one = strcmp(wanted, "all") == 0;
    return all.every_one || atol(wanted) < 1 ? 1 : atol(wanted);
}

/* All of the n-th call: that it fails, and that all do from it on, in each way. Allocations
 * are many, and much alike when none succeeds: there every second start is enough. */
static void start_all(enum fault_kind kind, int life, long n, long stride)
{
    int ways = kind == FAULT_FILES ? FAULT_WAYS : 1;
    bool twice = kind == FAULT_FILES || n / stride % 2 == 0 || all.every_one;
    for (int lasting = 0; lasting < 1 + twice; lasting++)
        for (int way = 0; way < ways; way++) {
            struct fault_plan plan = {kind, life, n, lasting != 0, (enum fault_way)way};
            start(&plan);
        }
}

/* Returns the number of points. */
static long sweep(enum fault_kind kind)
{
    long points = 0, stride = read_stride();
    for (int life = 0; life < scenario_lives(); life++) {
        long n = count_points(kind, life);
        for (long i = 1; i <= n && all.failed < FAILED_MAX; i += stride)
            start_all(kind, life, i, stride);
        wait_for_all();
        points += n;
    }
    return points;
}

static long play_one(const struct fault_plan *plan)
{
    long points = count_points(plan->kind, plan->life);
    start(plan);
    wait_for_all();
    return points;
}

/* In memory, where there is such a place: nothing here is to last. */
static bool make_root(void)
{
    const char *dir = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(all.root, sizeof all.root, "%s/hotcb-faults-XXXXXX", dir);
    return mkdtemp(all.root) != NULL;
}

static bool make_jobs(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct scenario_result *results = mmap(NULL, AT_ONCE_MAX * sizeof *results,
                                           PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                           -1, 0);
    all.at_once = cpus < 1 ? 1 : cpus > AT_ONCE_MAX ? AT_ONCE_MAX : (int)cpus;
    for (int i = 0; results != MAP_FAILED && i < AT_ONCE_MAX; i++)
        all.jobs[i].result = &results[i];
    return results != MAP_FAILED;
}

static bool read_arguments(int argc, char **argv, struct fault_plan *plan)
{
    int option;
    while ((option = getopt(argc, argv, "n:p:lov")) != -1)
        switch (option) {
        case 'p': plan->life = atoi(optarg); break;
        case 'n': plan->from = atol(optarg); break;
        case 'l': plan->lasting = true; break;
        case 'o': plan->way = FAULT_OTHER; break;
        case 'v': all.verbose = true; break;
        default: return false;
        }
    if (optind + 1 != argc)
        return false;
    plan->kind = strcmp(argv[optind], "memory") == 0 ? FAULT_MEMORY
                 : strcmp(argv[optind], "files") == 0 ? FAULT_FILES : FAULT_NONE;
    return plan->kind != FAULT_NONE && plan->life >= 0 && plan->life < scenario_lives();
}

int main(int argc, char **argv)
{
    struct fault_plan plan = {0};
    if (!read_arguments(argc, argv, &plan)) {
        fprintf(stderr, "usage: faults [-p LIFE] [-n N] [-l] [-o] [-v] memory|files\n");
        return 2;
    }
    if (!make_root() || !make_jobs()) {
        perror("faults");
        return 2;
    }
    long points = plan.from > 0 ? play_one(&plan) : sweep(plan.kind);
    rmdir(all.root);
    printf("%ld points of %s: %ld runs, %ld failed\n", points,
           plan.kind == FAULT_FILES ? "files" : "memory", all.played, all.failed);
    return all.failed > 0;
}
