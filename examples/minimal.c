/* The smallest training loop with hotcb in it: gradient descent on a bowl, steered
 * from another terminal, as in `hotcb --dir runs/minimal load ...`. */
#include <hotcb/hotcb.h>

#include <math.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv)
{
    hotcb *h = NULL;
    hotcb_options opt = HOTCB_OPTIONS_INIT;
    opt.dir = argc > 1 ? argv[1] : "runs/minimal";
    if (hotcb_open(&h, &opt) < 0)
        fprintf(stderr, "training without hotcb: %s\n", hotcb_errmsg(h));
    hotcb_env *env = hotcb_env_new();

    double x = 4, y = -3, lr = 0.01;
    for (int64_t step = 0; step < 1000; step++) {
        double loss = x * x + 3 * y * y, dx = 2 * x, dy = 6 * y;
        x -= lr * dx;
        y -= lr * dy;
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL); // stands in for work

        hotcb_env_step(env, step);
        hotcb_env_num(env, "loss", loss);
        hotcb_env_num(env, "metrics.grad_norm", hypot(dx, dy));
        hotcb_apply(h, env, "train_step_end");
        if (hotcb_stop_reason(h)) {
            printf("stopped at step %lld: %s\n", (long long)step, hotcb_stop_reason(h));
            break;
        }
    }
    printf("x = %g, y = %g\n", x, y);
    hotcb_env_free(env);
    hotcb_close(h);
    return 0;
}
