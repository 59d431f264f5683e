/* A program of somebody else's, as small as can be, that is compiled and linked by each
 * way there is to get at hotcb: as C99, C11 and C++17. Loops until a callback asks it to
 * stop, and succeeds only then. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <hotcb/hotcb.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STEPS 30000

int main(int argc, char **argv)
{
    hotcb *h = NULL;
    hotcb_env *env = hotcb_env_new();
    hotcb_options opt = HOTCB_OPTIONS_INIT;
    const struct timespec pause = { 0, 2000000 };
    int64_t step;
    double loss = 1;
    int stopped;

    opt.dir = argc > 1 ? argv[1] : ".";
    if (strcmp(hotcb_version(), HOTCB_VERSION) != 0 || hotcb_abi() != HOTCB_ABI) {
        fprintf(stderr, "built with %s, running with %s\n", HOTCB_VERSION, hotcb_version());
        return 1;
    }
    if (hotcb_open(&h, &opt) < 0) {
        fprintf(stderr, "%s\n", hotcb_errmsg(h));
        return 1;
    }
    printf("open\n");
    fflush(stdout);
    for (step = 0; step < STEPS && !hotcb_stop_reason(h); step++) {
        hotcb_env_step(env, step);
        loss *= 0.999;
        hotcb_env_num(env, "loss", loss);
        hotcb_apply(h, env, "train_step_end");
        nanosleep(&pause, NULL);
    }
    stopped = hotcb_stop_reason(h) != NULL;
    printf("%s\n", stopped ? hotcb_stop_reason(h) : "nobody asked");
    hotcb_env_free(env);
    hotcb_close(h);
    return stopped ? 0 : 1;
}
