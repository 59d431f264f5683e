/* A host built with -Ofast, whose process flushes denormals to zero and in whose own code
 * isnan() is always false: NaN and the infinities are still written as text that says so, and
 * every other number keeps its digits, but that a denormal may be written as 0: in such a
 * process it is equal to 0. */
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

static const char copy_lua[] =
    "function handle(event, env)\n"
    "  for i = 1, 9 do\n"
    "    local x = env['x' .. i]\n"
    "    if x then hotcb.scalar('x' .. i, x) end\n"
    "  end\n"
    "  hotcb.scalar('nan', 0/0); hotcb.scalar('pinf', 1/0); hotcb.scalar('ninf', -1/0)\n"
    "  hotcb.scalar('huge', math.huge); hotcb.scalar('text', tonumber('2.5e-3'))\n"
    "end\n";

/* Its bits, and how hotcb.metrics.jsonl has to spell it. */
static const struct {
    uint64_t bits;
    const char *spelt;
} numbers[] = {
    {UINT64_C(0x7ff8000000000000), "\"NaN\""},
    {UINT64_C(0xfff8000000000000), "\"NaN\""},
    {UINT64_C(0x7ff0000000000001), "\"NaN\""},
    {UINT64_C(0x7ff0000000000000), "\"Infinity\""},
    {UINT64_C(0xfff0000000000000), "\"-Infinity\""},
    {UINT64_C(0x3fd3333333333334), "0.30000000000000004"},
    {UINT64_C(0x7fefffffffffffff), "1.7976931348623157e308"},
    {UINT64_C(0x0010000000000000), "2.2250738585072014e-308"},
};

#define NUMBERS (sizeof numbers / sizeof *numbers)

static double number(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void check_flushing(void)
{
#if defined(__SSE2__) && !defined(HOTCB_NO_FAST_MATH)
    CHECK((_mm_getcsr() & 0x8040) == 0x8040, "denormals are not flushed: this tests nothing");
#endif
}

static void check_spelt(const char *metrics, const char *key, const char *spelt)
{
    char wanted[100];
    snprintf(wanted, sizeof wanted, "\"key\":\"%s\",\"value\":%s", key, spelt);
    CHECK(strstr(metrics, wanted), "no %s in %s", wanted, metrics);
}

static void check_metrics(const struct trial *t)
{
    char key[20], *metrics = trial_read(t, "hotcb.metrics.jsonl");
    CHECK(metrics, "no hotcb.metrics.jsonl");
    if (!metrics)
        return;
    for (size_t i = 0; i < NUMBERS; i++) {
        snprintf(key, sizeof key, "x%zu", i + 1);
        check_spelt(metrics, key, numbers[i].spelt);
    }
    CHECK(strstr(metrics, "\"value\":5e-324") || strstr(metrics, "\"key\":\"x9\",\"value\":0.0"),
          "the denormal is neither itself nor 0: %s", metrics);
    check_spelt(metrics, "nan", "\"NaN\"");
    check_spelt(metrics, "pinf", "\"Infinity\"");
    check_spelt(metrics, "ninf", "\"-Infinity\"");
    check_spelt(metrics, "huge", "\"Infinity\"");
    check_spelt(metrics, "text", "0.0025");
    free(metrics);
}

static void copy_numbers(struct trial *t)
{
    char key[20];
    CHECK(trial_load(t, "copy", copy_lua) == 0, "%s", hotcb_errmsg(t->h));
    for (size_t i = 0; i < NUMBERS; i++) {
        snprintf(key, sizeof key, "x%zu", i + 1);
        hotcb_env_num(t->env, key, number(numbers[i].bits));
    }
    hotcb_env_num(t->env, "x9", number(1)); /* the smallest denormal */
    trial_steps(t, 1);
}

int main(int argc, char **argv)
{
    struct trial t;
    (void)argc;
    trial_begin(argv[0]);
    check_flushing();
    trial_init(&t, "fast-math");
    if (trial_open(&t)) {
        copy_numbers(&t);
        check_metrics(&t);
        trial_prove(&t, TRIAL_TIMER);
        check_flushing();
    }
    trial_close(&t);
    return trial_end();
}
