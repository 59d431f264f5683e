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

static void set_x87(unsigned short modes)
{
    __asm__ volatile("fldcw %0" : : "m"(modes));
}

static void take_over(void)
{
    __asm__ volatile("fnstcw %0" : "=m"(now.x87));
    if (now.x87 != DEFAULT_X87)
        set_x87(DEFAULT_X87);
    unsigned host = _mm_getcsr(), ours = (host & DENORMALS_CSR) | DEFAULT_CSR;
    now.of_host = host;
    if ((host & ~FLAGS_CSR) != ours)
        _mm_setcsr(ours);
}

static void give_back(void)
{
    if (_mm_getcsr() != now.of_host)
        _mm_setcsr(now.of_host);
    if (now.x87 != DEFAULT_X87)
        set_x87(now.x87);
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

static void take_over(void)
{
    feholdexcept(&now.of_host);
    fesetround(FE_TONEAREST);
}

static void give_back(void)
{
    fesetenv(&now.of_host);
}

#endif

void hcb_fp_enter(void)
{
    if (now.entered++ == 0)
        take_over();
}

void hcb_fp_leave(void)
{
    if (--now.entered == 0)
        give_back();
}

void hcb_fp_step_out(struct hcb_fp_outside *out)
{
    *out = now;
    if (now.entered > 0)
        give_back();
    now.entered = 0;
}

void hcb_fp_step_in(const struct hcb_fp_outside *out)
{
    now = *out;
    if (now.entered > 0)
        take_over();
}
