/* The floating point environment; see fp.h. Knows no numbers. */
#include "stats/fp.h"

/* Of this thread: how often it entered, and the environment it goes back to. */
static _Thread_local struct hcb_fp_outside now;

#if defined(__x86_64__)
#include <xmmintrin.h>

/* Doubles are worked on by SSE alone here, whose environment is one register; <fenv.h>
 * would save that of the x87 too, which takes longer than a small tensor. */
#define DEFAULT_CSR 0x1f80u
#define DENORMALS_CSR 0x8040u /* flushed to zero, and taken for zero */
#define FLAGS_CSR 0x3fu
#define DEFAULT_X87 0x37fu /* by its mode the C library rounds what it reads and prints */

void hcb_fp_run(void (*work)(void *), void *of)
{
    unsigned was = _mm_getcsr();
    _mm_setcsr(DEFAULT_CSR);
    work(of);
    _mm_setcsr(was);
}

static unsigned short set_x87(unsigned short modes)
{
    unsigned short was;
    __asm__ volatile("fnstcw %0" : "=m"(was));
    if (was != modes)
        __asm__ volatile("fldcw %0" : : "m"(modes));
    return was;
}

/* Who sets modes sets them in both, so that one is asked: it is the faster. Asking it takes as
 * long as a tenth of a call, so it is not asked again for flags alone. */
static void take_over(struct hcb_fp_outside *host)
{
    host->csr = _mm_getcsr();
    unsigned ours = (host->csr & DENORMALS_CSR) | DEFAULT_CSR;
    host->other = (host->csr & ~FLAGS_CSR) != ours;
    if (!host->other)
        return;
    _mm_setcsr(ours);
    host->x87 = set_x87(DEFAULT_X87);
}

static void give_back(const struct hcb_fp_outside *host)
{
    if (!host->other)
        return;
    _mm_setcsr(host->csr);
    set_x87(host->x87);
}

#else

void hcb_fp_run(void (*work)(void *), void *of)
{
    fenv_t was;
    fegetenv(&was);
    fesetenv(FE_DFL_ENV);
    work(of);
    fesetenv(&was);
}

static void take_over(struct hcb_fp_outside *host)
{
    feholdexcept(&host->env);
    fesetround(FE_TONEAREST);
}

static void give_back(const struct hcb_fp_outside *host)
{
    fesetenv(&host->env);
}

#endif

void hcb_fp_enter(void)
{
    struct hcb_fp_outside *host = &now;
    if (host->entered++ == 0)
        take_over(host);
}

void hcb_fp_leave(void)
{
    struct hcb_fp_outside *host = &now;
    if (--host->entered == 0)
        give_back(host);
}

void hcb_fp_step_out(struct hcb_fp_outside *out)
{
    *out = now;
    if (out->entered > 0)
        give_back(out);
    now.entered = 0;
}

void hcb_fp_step_in(const struct hcb_fp_outside *out)
{
    now = *out;
    if (out->entered > 0)
        take_over(&now);
}
