/* What the bench's programs measure: items, each with a name that bench.lua asks for. An item
 * knows nothing of the others, of rounds or of goals. */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include <hotcb/hotcb.h>
#include <lua.h>
#include <stdbool.h>

#define BENCH_HUGE_MS 3600000 /* of a look or a budget: not in this run */
#define BENCH_EVENT "train_step_end"
#define BENCH_NEVER "1099511627776" /* a step that is a multiple of it does not come */

struct item {
    const char *name;
    void (*make)(struct item *item);             /* once, before its first turn */
    void (*run)(struct item *item, long times);  /* one turn, or else ... */
    double (*turn)(struct item *item);           /* ... a turn that takes its own time: ns */
    double per;            /* what one of `times` stands for; 0: itself */
    double turn_s;         /* how long a turn takes; 0: TURN_S */
    /* what make() and run() are told */
    const char *script;    /* text */
    const char *more;      /* of what hotcb.yaml says of a callback; %lld is its `changed` */
    int callbacks;
    int poll_ms;           /* as in hotcb_options; 0: BENCH_HUGE_MS */
    bool defaults;         /* hotcb_options as they are */
    bool quiet;            /* warnings are expected */
    bool made;
    /* what make() leaves for run() */
    hotcb *h;
    hotcb_env *env;
    lua_State *L;
    int64_t step;
    long times;
    void *own;
    const char *dir;
    long long changed;
};

extern struct item hot_items[], look_items[]; /* ended by one without a name */

/* True where instructions are counted: no budget and no clock may come in between. */
extern bool bench_counts;

/* Of this thread, in ns. */
double bench_cpu_ns(void);

/* make() of a run: its callbacks are named in hotcb.yaml, each of a file of its own, and are
 * loaded. In parts: what is in the folder, the handle, and applies that take it in. */
void bench_run(struct item *item);
void bench_run_folder(struct item *item);
void bench_run_open(struct item *item);
void bench_run_applies(struct item *item);

/* A callback's file once more. */
void bench_run_script(struct item *item, int i);

/* hotcb.yaml once more, where `more` holds item->changed of callback c0, and 0 of others. */
void bench_run_config(struct item *item);

/* Around what counts of a turn: ns. In a trace it lies between two marks. */
double bench_begin(void);
double bench_end(double begin);

/* A folder of its own below the scratch directory; never NULL. */
const char *bench_folder(const char *name);
void bench_write(const char *folder, const char *name, const char *text, size_t n);
void bench_append(const char *folder, const char *name, const char *text, size_t n);
void bench_fail(const char *what);

#endif
