/* serve SCRATCH: reads names of items, one a line, and answers each with the ns that one of
 * its operations took in a turn of it, of this thread's processor time; a + before the name
 * only makes it ready, an empty line is the end. serve SCRATCH NAME TIMES: does that item so
 * often, for callgrind. */
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TURN_S 4e-4

bool bench_counts;
static const char *scratch;

void bench_fail(const char *what)
{
    fprintf(stderr, "serve: %s\n", what);
    exit(1);
}

double bench_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

const char *bench_folder(const char *name)
{
    static int made;
    char *path = malloc(strlen(scratch) + strlen(name) + 32);
    if (!path)
        bench_fail("no memory");
    sprintf(path, "%s/%d.%s", scratch, made++, name);
    for (char *p = path + strlen(scratch) + 1; *p; p++)
        if (*p == '/' || *p == ' ')
            *p = '.';
    if (mkdir(path, 0700) != 0)
        bench_fail(path);
    return path;
}

static void put(const char *folder, const char *name, const char *mode, const char *text,
                size_t n)
{
    char path[1000];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, mode);
    if (!f || fwrite(text, 1, n, f) != n || fclose(f) != 0)
        bench_fail(path);
}

void bench_write(const char *folder, const char *name, const char *text, size_t n)
{
    put(folder, name, "w", text, n);
}

void bench_append(const char *folder, const char *name, const char *text, size_t n)
{
    put(folder, name, "a", text, n);
}

/* ---- turns ---- */

/* Files that are not there: strace shows where what counts begins and ends. */
double bench_begin(void)
{
    double now_ns = bench_cpu_ns();
    if (bench_counts)
        access("/bench/begin", F_OK);
    return now_ns;
}

double bench_end(double begin)
{
    if (bench_counts)
        access("/bench/end", F_OK);
    return bench_cpu_ns() - begin;
}

static double timed(struct item *item, long times)
{
    double begin = bench_begin();
    item->run(item, times);
    return bench_end(begin) / (double)times;
}

/* How many fill a turn; meanwhile all that is learnt by running is learnt. */
static void size_turn(struct item *item)
{
    double turn_ns = (item->turn_s > 0 ? item->turn_s : TURN_S) * 1e9;
    for (item->times = 1; item->times < 1 << 30; item->times *= 2) {
        double once = timed(item, item->times);
        if (once * (double)item->times > turn_ns / 4) {
            item->times = (long)(turn_ns / once) + 1;
            return;
        }
    }
}

static void make(struct item *item)
{
    if (!item->made && item->make)
        item->make(item);
    item->made = true;
}

static double take_turn(struct item *item)
{
    make(item);
    if (item->turn)
        return item->turn(item);
    if (!item->times)
        size_turn(item);
    item->run(item, item->times / 8 + 1); /* what others left in the caches goes out */
    return timed(item, item->times) / (item->per > 0 ? item->per : 1);
}

static struct item *find(const char *name)
{
    struct item *tables[] = {hot_items, look_items};
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (struct item *i = tables[t]; i->name; i++)
            if (strcmp(i->name, name) == 0)
                return i;
    fprintf(stderr, "%s: ", name);
    bench_fail("no such item");
    return NULL;
}

static void serve(void)
{
    char line[200];
    while (fgets(line, sizeof(line), stdin) && *line != '\n') {
        line[strcspn(line, "\n")] = '\0';
        double ns = 0;
        if (*line == '+')
            make(find(line + 1));
        else
            ns = take_turn(find(line));
        printf("%.6g\n", ns);
        fflush(stdout);
    }
}

static void count(const char *name, long times)
{
    struct item *item = find(name);
    bench_counts = true;
    make(item);
    if (item->turn) {
        item->turn(item);
        return;
    }
    double begin = bench_begin();
    item->run(item, times);
    bench_end(begin);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: serve SCRATCH [NAME TIMES]\n");
        return 2;
    }
    scratch = argv[1];
    if (argc == 2)
        serve();
    else
        count(argv[2], strtol(argv[3], NULL, 10));
    return 0;
}
