/* Counts runs; percentiles of what was taken above the budget. */
#include "tally.h"
#include "rig.h"
#include "base/array.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_stall(struct tally *t, const struct report *r, const char *name)
{
    int64_t *v = hcb_grow(t->over_ns, t->over_n, &t->over_cap, sizeof *v);
    if (!v)
        return;
    t->over_ns = v;
    t->over_ns[t->over_n++] = r->over_ns;
    if (r->over_ns > t->worst_ns) {
        t->worst_ns = r->over_ns;
        snprintf(t->worst_of, sizeof t->worst_of, "%s", name);
    }
}

void tally_add(struct tally *t, const struct report *r, const char *name)
{
    t->outcomes[r->outcome]++;
    if (r->outcome != HCB_FINE) {
        t->failed++;
        t->placed += r->placed;
    }
    if (r->by_budget)
        add_stall(t, r, name);
    if (r->peak_kb > t->peak_kb) {
        t->peak_kb = r->peak_kb;
        snprintf(t->peak_of, sizeof t->peak_of, "%s", name);
    }
    snprintf(t->guard, sizeof t->guard, "%s", r->guard);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* In milliseconds; 0 where nothing was measured. */
static double percentile(const struct tally *t, int percent)
{
    size_t at = (t->over_n * (size_t)percent + 99) / 100;
    return t->over_n ? (double)t->over_ns[at ? at - 1 : 0] / 1e6 : 0;
}

void tally_tell(struct tally *t, int64_t time_ms, int64_t slack)
{
    if (t->over_n)
        qsort(t->over_ns, t->over_n, sizeof *t->over_ns, by_size);
    printf("hostile: %d runs, %d failures;", t->runs, t->failures);
    for (int r = HCB_FINE; r <= HCB_FILE; r++)
        printf(" %s %d%s", outcome_name((enum hcb_reason)r), t->outcomes[r],
               r < HCB_FILE ? "," : ";");
    printf(" file:line in %d of %d; stall above a budget of %lld ms (%lldx the default), CPU ms: "
           "p50 %.1f, p99 %.1f, max %.1f (%s), n %zu; peak memory %.1f MiB%s (%s); guard: %s\n",
           t->placed, t->failed, (long long)time_ms, (long long)slack, percentile(t, 50),
           percentile(t, 99), percentile(t, 100), t->worst_of, t->over_n,
           (double)t->peak_kb / 1024, OWN_MEMORY ? "" : " with the sanitizer's", t->peak_of,
           t->guard);
}

void tally_release(struct tally *t)
{
    free(t->over_ns);
    memset(t, 0, sizeof *t);
}
