/* FANN learns the parity of six bits, with hotcb in the callback that FANN has for its
 * reports: `hotcb --dir runs/fann load ...` steers it. All lines that are there for hotcb
 * name it.
 *
 * An epoch is a step here: FANN_TRAIN_BATCH changes the weights once, after all of the
 * data, and reports then. The same weights come out with hotcb and without it. */
#include <fann.h>
#include <hotcb/hotcb.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BITS = 6, HIDDEN = 12 };

struct loop {
    struct { hotcb *hotcb; hotcb_env *env; };
    unsigned int epochs, sleep_ms;
};

/* Row n of the data: the bits of n, and whether the number of ones is odd. */
static void FANN_API set_row(unsigned int n, unsigned int inputs, unsigned int outputs,
                             fann_type *in, fann_type *out)
{
    (void)outputs;
    *out = -1;
    for (unsigned int i = 0; i < inputs; i++) {
        in[i] = n >> i & 1 ? 1 : -1;
        *out *= -in[i];
    }
}

/* FANN calls this after each epoch, the first of which is 1; -1 ends the training. */
static int FANN_API report(struct fann *ann, struct fann_train_data *data, unsigned int most,
                           unsigned int interval, float wanted, unsigned int epoch)
{
    struct loop *l = fann_get_user_data(ann);
    (void)data, (void)most, (void)interval, (void)wanted;
    l->epochs = epoch;
    nanosleep(&(struct timespec){ .tv_sec = l->sleep_ms / 1000,
                                  .tv_nsec = l->sleep_ms % 1000 * 1000000 }, NULL);

    hotcb_env_step(l->env, epoch), hotcb_env_int(l->env, "epoch", epoch);
    hotcb_env_str(l->env, "phase", "train"), hotcb_env_num(l->env, "loss", fann_get_MSE(ann));
    hotcb_env_int(l->env, "metrics.bit_fail", fann_get_bit_fail(ann));
    hotcb_env_num(l->env, "metrics.learning_rate", fann_get_learning_rate(ann));
    hotcb_apply(l->hotcb, l->env, "train_step_end");
    return hotcb_stop_reason(l->hotcb) ? -1 : 0;
}

/* fann_create_standard() takes weights from /dev/urandom; these are the same each time. */
static struct fann *make_net(struct loop *l)
{
    struct fann *ann = fann_create_standard(3, BITS, HIDDEN, 1);
    if (!ann)
        return NULL;
    srand(1);
    fann_randomize_weights(ann, -0.5f, 0.5f);
    fann_set_activation_function_hidden(ann, FANN_SIGMOID_SYMMETRIC);
    fann_set_activation_function_output(ann, FANN_SIGMOID_SYMMETRIC);
    fann_set_training_algorithm(ann, FANN_TRAIN_BATCH);
    fann_set_learning_rate(ann, 0.7f);
    fann_set_user_data(ann, l);
    fann_set_callback(ann, report);
    return ann;
}

int main(int argc, char **argv)
{
    struct loop l = { .sleep_ms = argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10) : 1 };
    unsigned int epochs = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 20000;
    if (argc > 4) {
        fprintf(stderr, "usage: fann_train [DIR [EPOCHS [SLEEP_MS]]]\n");
        return 2;
    }
    struct fann *ann = make_net(&l);
    struct fann_train_data *data = fann_create_train_from_callback(1u << BITS, BITS, 1, set_row);
    if (!ann || !data)
        return 1; // FANN has said why
    hotcb_options opt = HOTCB_OPTIONS_INIT;
    opt.dir = argc > 1 ? argv[1] : "runs/fann", l.env = hotcb_env_new();
    if (hotcb_open(&l.hotcb, &opt) < 0)
        fprintf(stderr, "fann_train: training without hotcb: %s\n", hotcb_errmsg(l.hotcb));

    hotcb_apply(l.hotcb, l.env, "fit_start");
    fann_train_on_data(ann, data, epochs, 1, 0);
    printf("%u epochs, MSE %.9g\n", l.epochs, fann_get_MSE(ann));
    hotcb_apply(l.hotcb, l.env, "fit_end"), hotcb_env_free(l.env), hotcb_close(l.hotcb);
    fann_destroy_train(data);
    fann_destroy(ann);
    return 0;
}
