/* See trial.h. Knows the public header, and cJSON to read what the library wrote. */
#include "trial.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 600 /* for a child; only one that hangs needs it */
#define CPU_S 60      /* of each process; the longest takes a tenth of it */

static struct {
    char program[40];
    char scratch[100];
    atomic_int failures;
} all;

static const char neighbour_lua[] =
    "local n = 0\n"
    "function handle(event, env)\n"
    "  n = n + 1\n"
    "  hotcb.log('info', '%d %d', n, env.step)\n"
    "end\n";

/* The texts that sort compares are alike up to their end, as are those that pattern walks. */
static const char runaway_lua[] =
    "local ways = {}\n"
    "function ways.loop() while true do end end\n"
    "function ways.swallow() while true do pcall(error, 'x') end end\n"
    "function ways.pattern() return (('a'):rep(2000)):find('.-.-.-b$') end\n"
    "function ways.sort()\n"
    "  local head, t = ('a'):rep(50000), {}\n"
    "  for i = 1, 100 do t[i] = head .. (i * 7919 % 101) end\n"
    "  while true do table.sort(t); table.sort(t, function(a, b) return a > b end) end\n"
    "end\n"
    "function handle(event, env)\n"
    "  local way = ways[env.bad]\n"
    "  if way then way() end\n"
    "end\n";

/* ---- checks and scratch ---------------------------------------------------- */

void trial_check(int ok, const char *file, int line, const char *what, const char *format, ...)
{
    char text[700];
    va_list ap;
    if (ok)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    atomic_fetch_add(&all.failures, 1);
    fprintf(stderr, "%s:%d: not so: %s: %s\n", file, line, what, text);
}

int trial_failures(void)
{
    return atomic_load(&all.failures);
}

void trial_path(char *out, size_t size, const char *name)
{
    snprintf(out, size, "%s/%s", all.scratch, name);
}

int trial_slack(void)
{
    const char *text = getenv("HOTCB_TEST_SLACK");
    int slack = text ? atoi(text) : 1;
    return slack > 1 ? slack : 1;
}

static void limit_cpu(void)
{
    rlim_t seconds = (rlim_t)CPU_S * (rlim_t)trial_slack();
    struct rlimit limit = {seconds, seconds};
    setrlimit(RLIMIT_CPU, &limit);
}

void trial_begin(const char *program)
{
    const char *base = getenv("TMPDIR");
    const char *slash = strrchr(program, '/');
    snprintf(all.program, sizeof all.program, "%s", slash ? slash + 1 : program);
    snprintf(all.scratch, sizeof all.scratch, "%.60s/hotcb.XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(all.scratch)) {
        perror(all.scratch);
        exit(1);
    }
    limit_cpu();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int trial_end(void)
{
    int failures = trial_failures();
    if (failures == 0)
        nftw(all.scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    else
        fprintf(stderr, "%s: %d failed, what was written is in %s\n", all.program, failures,
                all.scratch);
    return failures ? 1 : 0;
}

/* ---- files ----------------------------------------------------------------- */

char *trial_read(const struct trial *t, const char *name)
{
    char path[260];
    snprintf(path, sizeof path, "%s/%s", t->dir, name);
    FILE *f = fopen(path, "re");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = n < 0 ? NULL : malloc((size_t)n + 1);
    if (text)
        text[fread(text, 1, (size_t)n, f)] = '\0';
    fclose(f);
    return text;
}

void trial_write(const struct trial *t, const char *name, const char *text)
{
    char path[260];
    snprintf(path, sizeof path, "%s/%s", t->dir, name);
    FILE *f = fopen(path, "we");
    bool ok = f && fputs(text, f) >= 0;
    ok = f && fclose(f) == 0 && ok;
    CHECK(ok, "write %s: %s", path, strerror(errno));
}

int trial_count_lines(const char *path)
{
    int lines = 0, c;
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    while ((c = getc(f)) != EOF)
        lines += c == '\n';
    fclose(f);
    return lines;
}

int trial_count_entries(const char *path)
{
    int entries = 0;
    DIR *d = opendir(path);
    if (!d)
        return -1;
    while (readdir(d))
        entries++;
    closedir(d);
    return entries;
}

/* ---- a run ----------------------------------------------------------------- */

static void hear(struct trial_heard *heard, const struct trial *t, const char *line)
{
    int64_t n = -1, step = -1;
    if (sscanf(line, "%" SCNd64 " %" SCNd64, &n, &step) != 2)
        return;
    heard->calls++;
    if (n != heard->calls || step != t->step)
        heard->missed++;
}

static void on_log(void *user, enum hotcb_level level, const char *callback, const char *line)
{
    struct trial *t = user;
    if (callback && strcmp(callback, "first") == 0)
        hear(&t->first, t, line);
    else if (callback && strcmp(callback, "last") == 0)
        hear(&t->last, t, line);
    else if (level >= HOTCB_WARN)
        snprintf(t->complaint, sizeof t->complaint, "%s", line);
}

void trial_init(struct trial *t, const char *name)
{
    const hotcb_options opt = HOTCB_OPTIONS_INIT;
    memset(t, 0, sizeof *t);
    trial_path(t->dir, sizeof t->dir, name);
    t->opt = opt;
    t->opt.dir = t->dir;
    t->opt.poll_interval_ms = -1;
    t->opt.time_ms = TRIAL_TIME_MS;
    t->opt.errors = -1;
    t->opt.log = on_log;
    t->opt.log_user = t;
}

int trial_load(struct trial *t, const char *id, const char *text)
{
    char name[60], json[300];
    snprintf(name, sizeof name, "%s.lua", id);
    trial_write(t, name, text);
    snprintf(json, sizeof json, "{\"op\":\"load\",\"id\":\"%s\",\"target\":{\"kind\":\"lua_file\","
             "\"path\":\"%s/%s\"}}", id, t->dir, name);
    return hotcb_command(t->h, json);
}

bool trial_open_on(struct trial *t, bool must)
{
    static const char *const ids[] = {"first", "runaway", "last"};
    t->env = hotcb_env_new();
    int status = hotcb_open(&t->h, &t->opt);
    CHECK(t->env && status == 0, "open %s: %s", t->dir, hotcb_errmsg(t->h));
    for (int i = 0; t->env && status == 0 && i < 3; i++) {
        int loaded = trial_load(t, ids[i], i == 1 ? runaway_lua : neighbour_lua);
        CHECK(loaded == 0 || (!must && *hotcb_errmsg(t->h)), "load %s: %s", ids[i],
              hotcb_errmsg(t->h));
    }
    return t->env && status == 0;
}

bool trial_open(struct trial *t)
{
    return trial_open_on(t, true);
}

void trial_close(struct trial *t)
{
    hotcb_close(t->h);
    hotcb_env_free(t->env);
    t->h = NULL;
    t->env = NULL;
}

static void apply(struct trial *t)
{
    hotcb_env_step(t->env, t->step);
    int status = hotcb_apply(t->h, t->env, "train_step_end");
    CHECK(status == 0, "apply at step %" PRId64 ": %s", t->step, hotcb_errmsg(t->h));
    t->step++;
    t->applies++;
}

void trial_steps(struct trial *t, int n)
{
    for (int i = 0; i < n; i++)
        apply(t);
}

/* ---- what it says of itself ------------------------------------------------ */

static void copy_text(const cJSON *item, char *out, size_t size)
{
    char *printed = NULL;
    if (cJSON_IsString(item))
        snprintf(out, size, "%s", item->valuestring);
    else if (item && !cJSON_IsNull(item) && (printed = cJSON_PrintUnformatted(item)))
        snprintf(out, size, "%s", printed);
    cJSON_free(printed);
}

static const cJSON *field_of(const cJSON *callback, const char *name)
{
    if (strncmp(name, "error.", 6) != 0)
        return cJSON_GetObjectItemCaseSensitive(callback, name);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(callback, "error");
    return cJSON_GetObjectItemCaseSensitive(error, name + 6);
}

void trial_field(const struct trial *t, const char *id, const char *name, char *out, size_t size)
{
    char *text = hotcb_list(t->h);
    cJSON *list = cJSON_Parse(text);
    const cJSON *callback;
    *out = '\0';
    cJSON_ArrayForEach(callback, list) {
        const cJSON *own = cJSON_GetObjectItemCaseSensitive(callback, "id");
        if (cJSON_IsString(own) && strcmp(own->valuestring, id) == 0)
            copy_text(field_of(callback, name), out, size);
    }
    cJSON_Delete(list);
    hotcb_free(text);
}

void trial_guard(const struct trial *t, char *out, size_t size)
{
    char *text = trial_read(t, "hotcb.status.json");
    cJSON *status = cJSON_Parse(text);
    *out = '\0';
    copy_text(cJSON_GetObjectItemCaseSensitive(status, "guard"), out, size);
    cJSON_Delete(status);
    free(text);
}

static int64_t failures_of(const struct trial *t, const char *id)
{
    char text[40];
    trial_field(t, id, "failures", text, sizeof text);
    return strtoll(text, NULL, 10);
}

/* ---- running away ---------------------------------------------------------- */

int64_t trial_thread_cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void trial_runaway(struct trial *t, const char *way)
{
    char reason[40], message[200];
    int64_t before = failures_of(t, "runaway"), begin = trial_thread_cpu_ms();
    hotcb_env_str(t->env, "bad", way);
    apply(t);
    int64_t took = trial_thread_cpu_ms() - begin, bound = TRIAL_BOUND_MS * trial_slack();
    trial_field(t, "runaway", "error.reason", reason, sizeof reason);
    trial_field(t, "runaway", "error.message", message, sizeof message);
    CHECK(failures_of(t, "runaway") == before + 1, "%s: %s was not stopped", t->dir, way);
    CHECK(strcmp(reason, "budget") == 0, "%s: %s was stopped with reason %s: %s", t->dir, way,
          reason, message);
    CHECK(took < bound, "%s: %s took %" PRId64 " ms of CPU time, at most %" PRId64 " are right",
          t->dir, way, took, bound);
    t->stops++;
}

static void check_heard(const struct trial *t, const char *id, const struct trial_heard *heard)
{
    char calls[40];
    trial_field(t, id, "calls", calls, sizeof calls);
    CHECK(heard->calls == t->applies && heard->missed == 0,
          "%s: %s heard %" PRId64 " of %" PRId64 " applies, %" PRId64 " out of order", t->dir, id,
          heard->calls, t->applies, heard->missed);
    CHECK(strtoll(calls, NULL, 10) == t->applies && failures_of(t, id) == 0,
          "%s: %s: %s calls, %" PRId64 " failures", t->dir, id, calls, failures_of(t, id));
}

void trial_check_neighbours(struct trial *t)
{
    check_heard(t, "first", &t->first);
    check_heard(t, "last", &t->last);
}

/* A command makes it write its status now. */
static void check_guard(struct trial *t, const char *guard)
{
    char found[60];
    CHECK(hotcb_command(t->h, "{\"op\":\"enable\",\"id\":\"runaway\"}") == 0, "%s",
          hotcb_errmsg(t->h));
    trial_guard(t, found, sizeof found);
    CHECK(strcmp(found, guard) == 0, "%s: the guard is \"%s\", not \"%s\"", t->dir, found, guard);
}

void trial_prove(struct trial *t, const char *guard)
{
    static const char *const ways[] = {"loop", "pattern", "sort", "swallow", "loop"};
    trial_steps(t, 3);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        trial_runaway(t, ways[i]);
        trial_steps(t, 2);
    }
    trial_check_neighbours(t);
    if (guard)
        check_guard(t, guard);
}

void trial_whole(const char *name, const char *guard)
{
    struct trial t;
    trial_init(&t, name);
    if (trial_open(&t))
        trial_prove(&t, guard);
    trial_close(&t);
}

/* ---- children and threads -------------------------------------------------- */

void trial_pause_ms(int ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
        continue;
}

static bool ends_in_time(pid_t child, int *how)
{
    time_t begin = time(NULL);
    for (;;) {
        pid_t ended = waitpid(child, how, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return true;
        if (time(NULL) - begin > PATIENCE_S)
            return false;
        trial_pause_ms(2);
    }
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

void trial_wait(const char *what, pid_t child)
{
    int how = 0;
    CHECK(child > 0, "%s: fork: %s", what, strerror(errno));
    if (child <= 0)
        return;
    if (!ends_in_time(child, &how)) {
        CHECK(false, "%s: it hangs", what);
        end_child(child);
        return;
    }
    CHECK(!WIFSIGNALED(how), "%s: it died of signal %d", what, WTERMSIG(how));
    CHECK(WIFSIGNALED(how) || WEXITSTATUS(how) == 0, "%s: it exited with %d", what,
          WEXITSTATUS(how));
}

void trial_in_child(const char *what, void (*fn)(void *arg), void *arg)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        atomic_store(&all.failures, 0);
        fn(arg);
        _exit(trial_failures() ? 1 : 0);
    }
    trial_wait(what, child);
}

struct thread_work {
    void (*fn)(void *arg);
    void *arg;
};

static void *do_work(void *arg)
{
    struct thread_work *work = arg;
    work->fn(work->arg);
    return NULL;
}

static bool start(pthread_t *thread, struct thread_work *work, size_t stack)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (stack > 0)
        CHECK(pthread_attr_setstacksize(&attr, stack) == 0, "a stack of %zu bytes", stack);
    int status = pthread_create(thread, &attr, do_work, work);
    CHECK(status == 0, "a thread: %s", strerror(status));
    pthread_attr_destroy(&attr);
    return status == 0;
}

void trial_in_thread(void (*fn)(void *arg), void *arg, size_t stack)
{
    struct thread_work work = {fn, arg};
    pthread_t thread;
    if (start(&thread, &work, stack))
        pthread_join(thread, NULL);
}

void trial_beside(void (*there)(void *arg), void *there_arg, void (*here)(void *arg),
                  void *here_arg)
{
    struct thread_work work = {there, there_arg};
    pthread_t thread;
    bool started = start(&thread, &work, 0);
    here(here_arg);
    if (started)
        pthread_join(thread, NULL);
}
