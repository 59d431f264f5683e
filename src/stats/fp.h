/* The floating point environment that numbers are worked on in: the default one, whatever
 * the host has set (a program built with -Ofast treats denormals as zeros). */
#ifndef HCB_FP_H
#define HCB_FP_H

/* Calls work(of) in the default environment, and puts back the one that was there, with its
 * flags. By a pointer, so that no arithmetic of `work` is moved out of it by the compiler. */
void hcb_fp_run(void (*work)(void *), void *of);

#endif
