/* Many callbacks in one run: what each of them takes, and that none of it grows. Two
 * hundred and 500,000 steps; with HOTCB_SOAK set, a thousand and three million. */
#include <hotcb/hotcb.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EACH_BYTES (24 << 10) /* resident, of a callback that has no data of its own */
#define SLACK_BYTES (256 << 10) /* of the whole process, once it is warm */

#ifdef __SANITIZE_ADDRESS__
static const int measures = 0; /* what is resident is mostly the sanitizer's */
#else
static const int measures = 1;
#endif

/* Garbage is collected first after some hundred calls. */
#define EVERY "200"

static const char empty[] = "function handle() end\n";
static const char busy[] =
    "local C = { params = { { 'every', " EVERY " } }, schedule = 'every',\n"
    "            events = { 'train_step_end' } }\n"
    "local seen, last = 0, {}\n"
    "function C:handle(event, env)\n"
    "  seen = seen + 1\n"
    "  last[seen % 8] = ('step %d'):format(env.step)\n"
    "end\n"
    "return C\n";

static int64_t resident(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "crowd: %s: %s\n", what, why);
    exit(1);
}

static hotcb *open_run(const char *dir)
{
    hotcb *h;
    hotcb_options opt = HOTCB_OPTIONS_INIT;
    opt.dir = dir;
    opt.log_level = HOTCB_WARN;
    opt.time_ms = 2000;
    if (hotcb_open(&h, &opt) < 0)
        die("open", hotcb_errmsg(h));
    return h;
}

static void load(hotcb *h, const char *path, int n)
{
    for (int i = 0; i < n; i++) {
        char command[400];
        snprintf(command, sizeof command, "{\"op\":\"load\",\"id\":\"c%d\",\"target\":{\"kind\":"
                 "\"lua_file\",\"path\":\"%s\"}}", i, path);
        if (hotcb_command(h, command) < 0)
            die(command, hotcb_errmsg(h));
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        die(path, "cannot be written");
}

static void steps(hotcb *h, int64_t from, int64_t to)
{
    hotcb_env *env = hotcb_env_new();
    for (int64_t i = from; i < to; i++) {
        hotcb_env_step(env, i);
        if (hotcb_apply(h, env, "train_step_end") < 0)
            die("apply", hotcb_errmsg(h));
    }
    hotcb_env_free(env);
}

/* The first run in a process pays for what all share. */
static void measure_each(const char *dir, const char *path, int n)
{
    write_file(path, empty);
    hotcb *h = open_run(dir);
    load(h, path, 1);
    steps(h, 0, 10);
    int64_t before = resident();
    load(h, path, n);
    steps(h, 10, 20);
    double each = (double)(resident() - before) / n;
    printf("crowd: %d callbacks, %.1f KiB resident each\n", n, each / 1024);
    hotcb_close(h);
    if (measures && each > EACH_BYTES)
        die("memory", "more than 24 KiB resident a callback");
}

static void measure_growth(const char *dir, const char *path, int n, int64_t last)
{
    write_file(path, busy);
    hotcb *h = open_run(dir);
    load(h, path, n);
    steps(h, 0, last / 2);
    int64_t warm = resident();
    steps(h, last / 2, last);
    int64_t grown = resident() - warm;
    printf("crowd: %lld steps, %.1f MiB resident, %+.1f KiB since the first half\n",
           (long long)last, (double)resident() / (1 << 20), (double)grown / 1024);
    hotcb_close(h);
    if (measures && grown > SLACK_BYTES)
        die("memory", "it grows");
}

int main(void)
{
    char dir[] = "/tmp/hotcb-crowd-XXXXXX", path[64], other[64], clean[64];
    int soak = getenv("HOTCB_SOAK") != NULL, n = soak ? 1000 : 200;
    if (!mkdtemp(dir))
        die("mkdtemp", dir);
    snprintf(path, sizeof path, "%s/c.lua", dir);
    snprintf(other, sizeof other, "%s/second", dir);
    measure_each(dir, path, n);
    measure_growth(other, path, n, soak ? 3000000 : 500000);
    snprintf(clean, sizeof clean, "rm -rf %s", dir);
    return system(clean) == 0 ? 0 : 1;
}
