/* Which kernels this processor can run; see kernels.h. */
#include "stats/kernels.h"

/* Best first. A processor that runs one of them runs all that follow. */
static const struct hcb_kernels *const kernels[] = {
#ifdef HCB_HAS_AVX512
    &hcb_kernels_avx512,
#endif
#ifdef HCB_HAS_AVX2
    &hcb_kernels_avx2,
#endif
    &hcb_kernels_scalar,
    NULL,
};

const struct hcb_kernels *const *hcb_kernels_all(void)
{
    const struct hcb_kernels *const *all = kernels;
    while (!(*all)->runs())
        all++;
    return all;
}

const struct hcb_kernels *hcb_kernels_best(void)
{
    return *hcb_kernels_all();
}
