/* The floating point environment; see fp.h. Knows no numbers. */
#include "stats/fp.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

/* Doubles are worked on by SSE alone here, whose environment is one register; <fenv.h>
 * would save that of the x87 too, which takes longer than a small tensor. */
#define DEFAULT_CSR 0x1f80u

void hcb_fp_run(void (*work)(void *), void *of)
{
    unsigned was = _mm_getcsr();
    _mm_setcsr(DEFAULT_CSR);
    work(of);
    _mm_setcsr(was);
}

#else
#include <fenv.h>

void hcb_fp_run(void (*work)(void *), void *of)
{
    fenv_t was;
    fegetenv(&was);
    fesetenv(FE_DFL_ENV);
    work(of);
    fesetenv(&was);
}

#endif
