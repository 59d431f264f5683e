/* The inner loops of stats.h, in one version for each kind of processor. Private to src/stats,
 * its tests and its bench. Each works on n elements that lie one after the other, at any
 * alignment, in the default floating point environment. */
#ifndef HCB_KERNELS_H
#define HCB_KERNELS_H

#include "stats/stats.h"

struct hcb_kernels {
    const char *name;   /* "scalar", "avx2", "avx512" */
    bool (*runs)(void); /* whether this processor can run them */

    /* Takes n elements of the type that stands in its name into w: counts, min, max, moments. */
    void (*f32)(struct hcb_stats_work *w, const unsigned char *data, int64_t n);
    void (*f64)(struct hcb_stats_work *w, const unsigned char *data, int64_t n);
    void (*f16)(struct hcb_stats_work *w, const unsigned char *data, int64_t n);
    void (*bf16)(struct hcb_stats_work *w, const unsigned char *data, int64_t n);
};

/* The best one that this processor can run; and all that it can, best first, ended by NULL. */
const struct hcb_kernels *hcb_kernels_best(void);
const struct hcb_kernels *const *hcb_kernels_all(void);

/* hcb_stats_step() by these ones. */
int hcb_stats_step_by(const struct hcb_kernels *kernels, struct hcb_stats_work *w, int64_t most);

/* There is a file for each. The scalar ones run everywhere. */
extern const struct hcb_kernels hcb_kernels_scalar;

#if defined(__x86_64__) && defined(__GNUC__) /* Clang defines it as well */
#define HCB_HAS_AVX2
#define HCB_HAS_AVX512
extern const struct hcb_kernels hcb_kernels_avx2, hcb_kernels_avx512;
#endif

#endif
