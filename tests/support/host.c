/* A training loop on strings: a host process that does what it is told, one
 * request a line on stdin, one answer a line on stdout, so that tests count
 * applies and never wait for seconds to pass.
 *
 *     host DIR [--poll-ms N] [--debounce N] [--config P] [--commands P] [--log FILE]
 *              [--no-create] [--time-ms N] [--memory-mb N] [--errors N] [--log-bytes N]
 *              [--metrics-bytes N] [--media-bytes N] [--artifact-bytes N]
 *              [--artifact-files N]
 *
 * The first line it prints is the result of hotcb_open(): a number, then the
 * sentence. What goes to the log hook is written to DIR.host.log (or FILE), as
 * LEVEL<tab>callback<tab>line. Knows the public header only. A host that is asked
 * nothing for a quarter of an hour, or hangs for as long, ends by SIGALRM. */
#include <hotcb/hotcb.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <malloc.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 900 /* more than the specs have, see shell.lua */
#define PENDING_MAX 16

/* A value for the next apply alone, as it was asked for. */
struct pending {
    char type; /* i n s b */
    char *key, *value;
};

struct host {
    hotcb_options opt;
    hotcb *h;
    hotcb_env *env;
    FILE *log;
    char *log_path;
    int64_t step; /* of the next apply */
    bool has_step;
    struct pending pending[PENDING_MAX];
    int pendings;
};

static void write_log(void *user, enum hotcb_level level, const char *callback, const char *line)
{
    struct host *host = user;
    const char *name = level >= HOTCB_ERROR  ? "ERROR"
                       : level >= HOTCB_WARN ? "WARN"
                       : level >= HOTCB_INFO ? "INFO"
                                             : "DEBUG";
    fprintf(host->log, "%s\t%s\t%s\n", name, callback ? callback : "", line);
    fflush(host->log);
}

static void answer_result(struct host *host, int result)
{
    printf("%d %s\n", result, result < 0 ? hotcb_errmsg(host->h) : "");
}

/* ---- what one step has ------------------------------------------------------ */

static void set_pending(struct host *host, const struct pending *p)
{
    switch (p->type) {
    case 'i': hotcb_env_int(host->env, p->key, strtoll(p->value, NULL, 10)); break;
    case 'n': hotcb_env_num(host->env, p->key, strtod(p->value, NULL)); break;
    case 'b': hotcb_env_bool(host->env, p->key, strcmp(p->value, "true") == 0); break;
    default: hotcb_env_str(host->env, p->key, p->value); break;
    }
}

static void fill_env(struct host *host)
{
    double near_one = 1.0 / ((double)host->step + 1.0);
    if (host->has_step)
        hotcb_env_step(host->env, host->step);
    hotcb_env_num(host->env, "loss", near_one);
    hotcb_env_num(host->env, "metrics.accuracy", 1.0 - near_one);
    hotcb_env_num(host->env, "metrics.lr", 0.001);
    hotcb_env_num(host->env, "metrics.grad_norm", 2.0 * near_one);
    for (int i = 0; i < host->pendings; i++) {
        set_pending(host, &host->pending[i]);
        free(host->pending[i].key);
        free(host->pending[i].value);
    }
    host->pendings = 0;
}

static void next_step(struct host *host)
{
    if (host->step < INT64_MAX)
        host->step++;
}

static int apply_once(struct host *host, const char *event)
{
    fill_env(host);
    int result = hotcb_apply(host->h, host->env, event);
    next_step(host);
    return result;
}

/* ---- requests --------------------------------------------------------------- */

static void add_pending(struct host *host, char type, char *text)
{
    char *value = strchr(text, ' ');
    if (!value || host->pendings == PENDING_MAX) {
        puts("? KEY VALUE, at most 16");
        return;
    }
    *value++ = '\0';
    host->pending[host->pendings++] = (struct pending){type, strdup(text), strdup(value)};
    puts("ok");
}

static void do_int(struct host *host, char *text)
{
    add_pending(host, 'i', text);
}

static void do_num(struct host *host, char *text)
{
    add_pending(host, 'n', text);
}

static void do_str(struct host *host, char *text)
{
    add_pending(host, 's', text);
}

static void do_bool(struct host *host, char *text)
{
    add_pending(host, 'b', text);
}

/* step N | step none */
static void do_step(struct host *host, char *text)
{
    host->has_step = strcmp(text, "none") != 0;
    host->step = host->has_step ? strtoll(text, NULL, 10) : 0;
    puts("ok");
}

/* apply [COUNT] [EVENT] */
static void do_apply(struct host *host, char *text)
{
    char *event = NULL;
    long count = strtol(text, &event, 10);
    if (event == text)
        count = 1;
    while (*event == ' ')
        event++;
    int result = 0;
    for (long i = 0; i < count; i++)
        result = apply_once(host, *event ? event : "train_step_end");
    answer_result(host, result);
}

static bool is_asked(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&in, 1, 0) != 0;
}

/* run [PAUSE_US]: applies until the next request comes. */
static void do_run(struct host *host, char *text)
{
    useconds_t pause_us = (useconds_t)strtoul(text, NULL, 10);
    puts("ok");
    fflush(stdout);
    while (!is_asked()) {
        apply_once(host, "train_step_end");
        if (pause_us)
            usleep(pause_us);
    }
}

static void do_poll(struct host *host, char *text)
{
    (void)text;
    answer_result(host, hotcb_poll(host->h, NULL));
}

static void do_dispatch(struct host *host, char *text)
{
    const char *events[] = {*text ? text : "train_step_end"};
    fill_env(host);
    answer_result(host, hotcb_dispatch(host->h, host->env, events, 1));
    next_step(host);
}

static void do_open(struct host *host, char *text)
{
    (void)text;
    int result = hotcb_open(&host->h, &host->opt);
    answer_result(host, result);
}

static void do_close(struct host *host, char *text)
{
    (void)text;
    hotcb_close(host->h);
    host->h = NULL;
    puts("ok");
}

static void do_reopen(struct host *host, char *text)
{
    hotcb_close(host->h);
    host->h = NULL;
    do_open(host, text);
}

/* second DIR: another handle in this process, opened and closed. */
static void do_second(struct host *host, char *text)
{
    hotcb_options opt = host->opt;
    hotcb *other = NULL;
    opt.dir = text;
    int result = hotcb_open(&other, &opt);
    printf("%d %s\n", result, result < 0 ? hotcb_errmsg(other) : "");
    hotcb_close(other);
}

static void do_command(struct host *host, char *text)
{
    answer_result(host, hotcb_command(host->h, text));
}

static void do_send(struct host *host, char *text)
{
    char sentence[1024] = "";
    int result = hotcb_send(host->opt.dir, text, sentence, sizeof sentence);
    printf("%d %s\n", result, sentence);
}

/* flood DIR FIRST: sends set_params n=FIRST, FIRST+1, ... to hb until the next
 * request comes, with cmd = n; that request is answered after the last n. */
static void do_flood(struct host *host, char *text)
{
    (void)host;
    char *space = strrchr(text, ' ');
    int64_t n = space ? strtoll(space, NULL, 10) : 1;
    if (space)
        *space = '\0';
    puts("ok");
    fflush(stdout);
    char line[128], sentence[1024] = "";
    for (; !is_asked(); n++) {
        snprintf(line, sizeof line,
                 "{\"op\":\"set_params\",\"id\":\"hb\",\"params\":{\"n\":%" PRId64
                 "},\"cmd\":\"%" PRId64 "\"}", n, n);
        int result = hotcb_send(text, line, sentence, sizeof sentence);
        if (result < 0) {
            printf("%d %s\n", result, sentence);
            return;
        }
        usleep(300);
    }
    printf("sent %" PRId64 "\n", n - 1);
}

static void do_stop(struct host *host, char *text)
{
    (void)text;
    const char *reason = hotcb_stop_reason(host->h);
    puts(reason ? reason : "none");
}

static void do_errmsg(struct host *host, char *text)
{
    (void)text;
    puts(hotcb_errmsg(host->h));
}

static void do_list(struct host *host, char *text)
{
    (void)text;
    char *list = hotcb_list(host->h);
    puts(list ? list : "null");
    hotcb_free(list);
}

static void do_chdir(struct host *host, char *text)
{
    (void)host;
    puts(chdir(text) == 0 ? "ok" : strerror(errno));
}

static void do_pid(struct host *host, char *text)
{
    (void)host;
    (void)text;
    printf("%ld\n", (long)getpid());
}

/* fork: a child that has everything the host has, and sleeps. */
static void do_fork(struct host *host, char *text)
{
    (void)host;
    (void)text;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        alarm(PATIENCE_S);
        for (;;)
            pause();
    }
    printf("%ld\n", (long)child);
}

/* child N: a child that goes on with the loop for N applies; answers how it ended. */
static void do_child(struct host *host, char *text)
{
    long count = strtol(text, NULL, 10);
    int how = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        for (long i = 0; i < count; i++)
            apply_once(host, "train_step_end");
        hotcb_close(host->h);
        _exit(0);
    }
    waitpid(child, &how, 0);
    printf("%d\n", how);
}

/* heap: bytes in use, and the most KiB that were ever resident */
static void do_heap(struct host *host, char *text)
{
    (void)host;
    (void)text;
    struct mallinfo2 m = mallinfo2();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%zu %ld\n", m.uordblks + m.hblkhd, usage.ru_maxrss);
}

/* cpu: microseconds of CPU time that this process has had */
static void do_cpu(struct host *host, char *text)
{
    (void)host;
    (void)text;
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    printf("%lld\n", (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000);
}

/* locale [NAME]: sets all of the process's locale to NAME; answers how the host now writes
 * a half, and in which locale. */
static void do_locale(struct host *host, char *text)
{
    (void)host;
    if (*text && !setlocale(LC_ALL, text))
        printf("? no locale %s, ", text);
    printf("%.1f %s\n", 0.5, setlocale(LC_ALL, NULL));
}

static const struct request {
    const char *name;
    void (*run)(struct host *host, char *text);
} requests[] = {
    {"step", do_step},     {"apply", do_apply},     {"run", do_run},
    {"poll", do_poll},     {"dispatch", do_dispatch}, {"int", do_int},
    {"num", do_num},       {"str", do_str},         {"bool", do_bool},
    {"open", do_open},     {"close", do_close},     {"reopen", do_reopen},
    {"second", do_second}, {"command", do_command}, {"send", do_send},
    {"flood", do_flood},   {"stop?", do_stop},      {"errmsg", do_errmsg},
    {"list", do_list},     {"chdir", do_chdir},     {"pid", do_pid},
    {"fork", do_fork},     {"child", do_child},     {"heap", do_heap},
    {"cpu", do_cpu},       {"locale", do_locale},
};

/* false: the request was to quit. */
static bool serve(struct host *host, char *line)
{
    char *text = line + strcspn(line, " ");
    if (*text)
        *text++ = '\0';
    if (strcmp(line, "quit") == 0)
        return false;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (strcmp(line, requests[i].name) == 0) {
            requests[i].run(host, text);
            return true;
        }
    }
    printf("? %s\n", line);
    return true;
}

static void serve_all(struct host *host)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    alarm(PATIENCE_S);
    while ((n = getline(&line, &cap, stdin)) > 0) {
        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        if (!serve(host, line))
            break;
        fflush(stdout);
        alarm(PATIENCE_S);
    }
    free(line);
}

/* ---- start and end ------------------------------------------------------------ */

/* Options that are numbers of hotcb_options. */
static const struct number {
    const char *name;
    size_t at;
} numbers[] = {
    {"--poll-ms", offsetof(hotcb_options, poll_interval_ms)},
    {"--debounce", offsetof(hotcb_options, debounce_steps)},
    {"--time-ms", offsetof(hotcb_options, time_ms)},
    {"--memory-mb", offsetof(hotcb_options, memory_mb)},
    {"--errors", offsetof(hotcb_options, errors)},
    {"--log-bytes", offsetof(hotcb_options, log_bytes)},
    {"--metrics-bytes", offsetof(hotcb_options, metrics_bytes)},
    {"--media-bytes", offsetof(hotcb_options, media_bytes)},
    {"--artifact-bytes", offsetof(hotcb_options, artifact_bytes)},
    {"--artifact-files", offsetof(hotcb_options, artifact_files)},
};

static bool read_number(struct host *host, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            int64_t n = strtoll(value, NULL, 10);
            memcpy((char *)&host->opt + numbers[i].at, &n, sizeof n);
            return true;
        }
    }
    return false;
}

static bool read_option(struct host *host, const char *name, const char *value)
{
    if (strcmp(name, "--config") == 0)
        host->opt.config_path = value;
    else if (strcmp(name, "--commands") == 0)
        host->opt.commands_path = value;
    else if (strcmp(name, "--log") == 0)
        host->log_path = strdup(value);
    else
        return read_number(host, name, value);
    return true;
}

static bool read_arguments(struct host *host, int argc, char **argv)
{
    if (argc < 2)
        return false;
    host->opt.dir = argv[1];
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--no-create") == 0)
            host->opt.no_create = 1;
        else if (i + 1 == argc || !read_option(host, argv[i], argv[i + 1]))
            return false;
        else
            i++;
    }
    return true;
}

static bool open_log(struct host *host)
{
    if (!host->log_path) {
        size_t n = strlen(host->opt.dir) + sizeof ".host.log";
        host->log_path = malloc(n);
        if (!host->log_path)
            return false;
        snprintf(host->log_path, n, "%s.host.log", host->opt.dir);
    }
    host->log = fopen(host->log_path, "ae");
    return host->log != NULL;
}

int main(int argc, char **argv)
{
    struct host host = {.opt = HOTCB_OPTIONS_INIT, .has_step = true};
    host.opt.poll_interval_ms = -1;
    host.opt.log = write_log;
    host.opt.log_user = &host;
    if (!read_arguments(&host, argc, argv)) {
        fprintf(stderr, "usage: host DIR [--OPTION VALUE]...\n");
        return 2;
    }
    host.env = hotcb_env_new();
    if (!host.env || !open_log(&host)) {
        perror(host.log_path);
        return 1;
    }
    do_open(&host, NULL);
    fflush(stdout);
    serve_all(&host);
    hotcb_close(host.h);
    hotcb_env_free(host.env);
    for (int i = 0; i < host.pendings; i++) {
        free(host.pending[i].key);
        free(host.pending[i].value);
    }
    fclose(host.log);
    free(host.log_path);
    puts("bye");
    return 0;
}
