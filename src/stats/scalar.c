/* The kernels in plain C: what the others are held against, and what runs where there is no
 * other; see kernels.h. */
#include "stats/convert.h"
#include "stats/kernels.h"
#include "stats/moments.h"

static void take(struct hcb_stats_work *w, const unsigned char *data, int64_t n,
                 enum hcb_dtype dtype)
{
    double x[HCB_BLOCK];
    int64_t bytes = (int64_t)hcb_dtype_bytes(dtype);
    for (; n > 0; n -= HCB_BLOCK, data += HCB_BLOCK * bytes) {
        int count = n < HCB_BLOCK ? (int)n : HCB_BLOCK;
        hcb_to_doubles(dtype, data, count, x);
        hcb_take_doubles(w, x, count, dtype == HCB_F64);
    }
}

static void take_f32(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    take(w, data, n, HCB_F32);
}

static void take_f64(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    take(w, data, n, HCB_F64);
}

static void take_f16(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    take(w, data, n, HCB_F16);
}

static void take_bf16(struct hcb_stats_work *w, const unsigned char *data, int64_t n)
{
    take(w, data, n, HCB_BF16);
}

static bool runs(void)
{
    return true;
}

const struct hcb_kernels hcb_kernels_scalar = {
    .name = "scalar", .runs = runs,
    .f32 = take_f32, .f64 = take_f64, .f16 = take_f16, .bf16 = take_bf16,
};
