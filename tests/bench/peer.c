/* What peer.py calls through ctypes: our statistics of f32, often enough in one call that the
 * call itself does not count. In the pieces in which a script's tensor:stats() takes them. */
#include "stats/kernels.h"

#define PIECE 65536

const char *peer_kernel(void);
void peer_stats(const float *data, int64_t n, int64_t times, double out[5], int64_t counts[2]);

const char *peer_kernel(void)
{
    return hcb_kernels_best()->name;
}

static void stats(const struct hcb_tensor *t, struct hcb_stats *s)
{
    struct hcb_stats_work work;
    hcb_stats_begin(&work, t, NULL);
    while (hcb_stats_step(&work, PIECE) > 0)
        ;
    hcb_stats_end(&work, s);
}

/* out: min, max, mean, std, l2; counts: nan, inf. */
void peer_stats(const float *data, int64_t n, int64_t times, double out[5], int64_t counts[2])
{
    struct hcb_tensor t = {.data = (const unsigned char *)data, .dtype = HCB_F32, .ndim = 1,
                           .numel = n, .shape = {n}, .stride = {1}};
    struct hcb_stats s = {0};
    for (int64_t i = 0; i < times; i++)
        stats(&t, &s);
    double floats[5] = {s.min, s.max, s.mean, s.std, s.l2};
    for (int i = 0; i < 5; i++)
        out[i] = floats[i];
    counts[0] = s.nan;
    counts[1] = s.inf;
}
