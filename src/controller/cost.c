/* A histogram of costs, precise to a quarter of a doubling. */
#include "controller/cost.h"

static int octave_of(int64_t ns)
{
#if defined(__GNUC__)
    return 63 - __builtin_clzll((unsigned long long)ns);
#else
    int octave = 0;
    while (ns >> (octave + 1))
        octave++;
    return octave;
#endif
}

static int bucket_of(int64_t ns)
{
    if (ns < 4)
        return ns < 0 ? 0 : (int)ns;
    int octave = octave_of(ns);
    return octave * 4 + (int)((ns >> (octave - 2)) & 3);
}

static double upper_ns(int bucket)
{
    if (bucket < 8)
        return bucket;
    double ns = (double)(4 + bucket % 4 + 1);
    for (int octave = bucket / 4; octave > 2; octave--)
        ns *= 2;
    return ns;
}

void hcb_cost_add(struct hcb_cost *c, int64_t ns)
{
    c->busy++;
    c->total_ns += ns;
    c->buckets[bucket_of(ns)]++;
}

double hcb_cost_p99_ms(const struct hcb_cost *c)
{
    int64_t above = c->applies / 100, n = 0;
    for (int i = 255; i >= 0; i--) {
        n += c->buckets[i];
        if (n > above)
            return upper_ns(i) / 1e6;
    }
    return 0;
}
