/* The floating point environment that numbers are worked on in: the default one, whatever
 * the host has set (a program built with -Ofast treats denormals as zeros; one that looks for
 * its NaNs may have traps set, so that 1/0 in a script would be the end of it). */
#ifndef HCB_FP_H
#define HCB_FP_H

#include <stdbool.h>
#if !defined(__x86_64__)
#include <fenv.h>
#endif

/* Calls work(of) in the default environment, and puts back the one that was there, with its
 * flags. By a pointer, so that no arithmetic of `work` is moved out of it by the compiler. */
void hcb_fp_run(void (*work)(void *), void *of);

/* From here to hcb_fp_leave this thread rounds to nearest and has no traps; whether denormals
 * are zeros stays as the host has it. Then all is as it was, but that flags may be left which
 * were raised meanwhile, unless the host's environment was another one. They nest. */
void hcb_fp_enter(void);
void hcb_fp_leave(void);

/* Around code of the host's in between, which has its own environment, and may change it. */
struct hcb_fp_outside {
    unsigned entered;
#if defined(__x86_64__)
    unsigned csr;
    unsigned short x87;
    bool other; /* than ours: both were set */
#else
    fenv_t env;
#endif
};
void hcb_fp_step_out(struct hcb_fp_outside *out);
void hcb_fp_step_in(const struct hcb_fp_outside *out);

#endif
