/* A multi-layer perceptron learns Fashion-MNIST, with hotcb in its loop.
 *
 * One thread, and the same bits for the same seed. All that concerns hotcb is in the
 * section "hotcb"; the training only calls tell(), tell_lr() and over(). With
 * --no-hotcb these call nothing, and the weights must come out the same. */
#include "mlp.h"

#include <hotcb/hotcb.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
    const char *dir, *data, *checkpoint, *nan_in;
    bool no_hotcb, quiet, resume;
    int64_t epochs, steps, batch, seed, train, sleep_ms, nan_at, poll_ms, debounce,
        checkpoint_every;
    double lr, momentum;
};

struct trainer {
    struct options opt;
    hotcb *hotcb;
    hotcb_env *env;
    struct images train, test;
    struct mlp mlp;
    uint32_t *order; // (train.n), in which the images are shown
    uint64_t rng;
    double lr;
    int64_t step, epoch; // the current or last ones; -1 before the first
    int64_t batch_idx;   // the next batch of the epoch; 0: an epoch is to begin
    double sum;          // of the losses of this epoch so far
    bool over;           // a callback or a signal asked the run to stop
};

static volatile sig_atomic_t signalled;

/* ---- hotcb ----------------------------------------------------------------- */

/* What the loop knows at one moment; NULL is what it does not know there. With a batch_idx
 * the batch, its outputs and its gradients are there. */
struct moment {
    const char *phase;
    const int64_t *batch_idx;
    const double *loss, *accuracy, *grad_norm;
};

/* Of each layer: its weights, their gradients, and what comes out of it. */
static const struct {
    const char *w, *b, *dw, *db, *y;
} names[LAYERS] = {
    { "model.layers.0.weight", "model.layers.0.bias", "grads.layers.0.weight",
      "grads.layers.0.bias", "outputs.layers.0" },
    { "model.layers.1.weight", "model.layers.1.bias", "grads.layers.1.weight",
      "grads.layers.1.bias", "outputs.layers.1" },
    { "model.layers.2.weight", "model.layers.2.bias", "grads.layers.2.weight",
      "grads.layers.2.bias", "outputs.logits" },
};

/* A tensor of n by m floats; of n, where m is 0. */
static void lend(hotcb_env *env, const char *key, const float *data, size_t n, size_t m)
{
    hotcb_env_f32(env, key, data, m ? 2 : 1, (int64_t[]){ (int64_t)n, (int64_t)m });
}

/* The weights do not move, so they are lent once and for all. */
static void lend_model(const struct trainer *t)
{
    for (int i = 0; i < LAYERS; i++) {
        const struct layer *l = &t->mlp.layers[i];
        lend(t->env, names[i].w, l->w, l->in, l->out);
        lend(t->env, names[i].b, l->b, l->out, 0);
        hotcb_env_keep(t->env, names[i].w);
        hotcb_env_keep(t->env, names[i].b);
    }
}

/* At each step anew: what was not lent again is not there, rather than of an earlier step. */
static void lend_batch(const struct trainer *t)
{
    size_t n = (size_t)t->opt.batch;
    for (int i = 0; i < LAYERS; i++) {
        const struct layer *l = &t->mlp.layers[i];
        lend(t->env, names[i].dw, l->dw, l->in, l->out);
        lend(t->env, names[i].db, l->db, l->out, 0);
        lend(t->env, names[i].y, l->y, n, l->out);
    }
    lend(t->env, "batch.images", t->mlp.x, n, PIXELS);
    hotcb_tensor labels = { .data = t->mlp.labels, .device_type = 1, .ndim = 1, .type_code = 1,
                            .type_bits = 8, .type_lanes = 1, .shape = &t->opt.batch };
    hotcb_env_tensor(t->env, "batch.labels", &labels); // (B) u8, as DLPack says it
}

static void open_hotcb(struct trainer *t)
{
    hotcb_options opt = HOTCB_OPTIONS_INIT;
    opt.dir = t->opt.dir;
    opt.debounce_steps = t->opt.debounce;
    opt.poll_interval_ms = t->opt.poll_ms ? t->opt.poll_ms : -1; // 0 would mean the default
    opt.resume = t->opt.resume;
    if (hotcb_open(&t->hotcb, &opt) < 0)
        fprintf(stderr, "train_mlp: training without hotcb: %s\n", hotcb_errmsg(t->hotcb));
    t->env = hotcb_env_new();
    lend_model(t);
}

static void close_hotcb(struct trainer *t)
{
    hotcb_env_free(t->env);
    hotcb_close(t->hotcb);
}

/* Kept: callbacks see it until the next epoch sets another. */
static void tell_lr(const struct trainer *t)
{
    if (t->opt.no_hotcb)
        return;
    hotcb_env_num(t->env, "metrics.lr", t->lr);
    hotcb_env_keep(t->env, "metrics.lr");
}

static void tell(const struct trainer *t, const char *event, const struct moment *m)
{
    if (t->opt.no_hotcb)
        return;
    hotcb_env_step(t->env, t->step < 0 ? 0 : t->step);
    hotcb_env_int(t->env, "epoch", t->epoch < 0 ? 0 : t->epoch);
    hotcb_env_str(t->env, "phase", m->phase);
    if (m->batch_idx) {
        hotcb_env_int(t->env, "batch_idx", *m->batch_idx);
        lend_batch(t);
    }
    if (m->loss)
        hotcb_env_num(t->env, "loss", *m->loss);
    if (m->accuracy)
        hotcb_env_num(t->env, "metrics.accuracy", *m->accuracy);
    if (m->grad_norm)
        hotcb_env_num(t->env, "metrics.grad_norm", *m->grad_norm);
    hotcb_apply(t->hotcb, t->env, event);
}

/* Whether the run was asked to stop; the first time, it says by whom. */
static bool over(struct trainer *t)
{
    const char *why = signalled ? "interrupted" : NULL;
    if (!why && !t->opt.no_hotcb)
        why = hotcb_stop_reason(t->hotcb);
    if (why && !t->over)
        printf("stopped at step %" PRId64 ": %s\n", t->step < 0 ? 0 : t->step, why);
    return t->over = t->over || why;
}

/* ---- checkpoints ----------------------------------------------------------- */

/* What comes before the weights, their velocity and the order of the images. */
struct header {
    char magic[8];
    uint64_t weights, images, rng;
    int64_t step, epoch, batch_idx;
    double sum;
};
static const char magic[8] = "mlp-ck1";

static bool write_parts(FILE *f, const struct trainer *t)
{
    struct header h = { .weights = t->mlp.n, .images = t->train.n, .rng = t->rng, .step = t->step,
                        .epoch = t->epoch, .batch_idx = t->batch_idx, .sum = t->sum };
    memcpy(h.magic, magic, sizeof magic);
    return fwrite(&h, sizeof h, 1, f) == 1 &&
           fwrite(t->mlp.params, sizeof(float), t->mlp.n, f) == t->mlp.n &&
           fwrite(t->mlp.velocity, sizeof(float), t->mlp.n, f) == t->mlp.n &&
           fwrite(t->order, sizeof *t->order, t->train.n, f) == t->train.n;
}

static bool read_parts(FILE *f, struct trainer *t)
{
    struct header h;
    if (fread(&h, sizeof h, 1, f) != 1 || memcmp(h.magic, magic, sizeof magic) != 0 ||
        h.weights != t->mlp.n || h.images != t->train.n)
        return false;
    t->rng = h.rng;
    t->step = h.step;
    t->epoch = h.epoch;
    t->batch_idx = h.batch_idx;
    t->sum = h.sum;
    return fread(t->mlp.params, sizeof(float), t->mlp.n, f) == t->mlp.n &&
           fread(t->mlp.velocity, sizeof(float), t->mlp.n, f) == t->mlp.n &&
           fread(t->order, sizeof *t->order, t->train.n, f) == t->train.n;
}

/* Aside, then rename: who is killed meanwhile has the last one. hotcb is told when it is
 * there, and keeps what the callbacks save. */
static void save_checkpoint(const struct trainer *t)
{
    char aside[4096];
    snprintf(aside, sizeof aside, "%s.tmp", t->opt.checkpoint);
    FILE *f = fopen(aside, "wb");
    bool written = f && write_parts(f, t);
    if (!f || fclose(f) != 0 || !written || rename(aside, t->opt.checkpoint) != 0) {
        fprintf(stderr, "train_mlp: no checkpoint: %s: %s\n", aside, strerror(errno));
        return;
    }
    tell(t, "checkpoint", &(struct moment){ .phase = "train" });
}

static void load_checkpoint(struct trainer *t)
{
    FILE *f = fopen(t->opt.checkpoint, "rb");
    if (!f)
        die("nothing to resume: %s: %s", t->opt.checkpoint, strerror(errno));
    if (!read_parts(f, t))
        die("%s is no checkpoint of this training", t->opt.checkpoint);
    fclose(f);
    printf("resumed after step %" PRId64 "\n", t->step);
}

/* ---- training -------------------------------------------------------------- */

static void shuffle(uint32_t *order, size_t n, uint64_t *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = random_bits(rng) % i;
        uint32_t held = order[i - 1];
        order[i - 1] = order[j];
        order[j] = held;
    }
}

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void slow_down(int64_t ms)
{
    struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    if (ms > 0)
        nanosleep(&ts, NULL); // a signal ends it early, as it should
}

/* At the step that --nan-at says, a NaN stands where --nan-in says. */
static void inject(const struct trainer *t, const char *where, float *into)
{
    if (t->step == t->opt.nan_at && strcmp(t->opt.nan_in, where) == 0)
        *into = NAN;
}

/* Forward, backward and update with one batch. Returns its mean loss. */
static double train_step(struct trainer *t, int64_t batch_idx)
{
    struct mlp *m = &t->mlp;
    size_t n = (size_t)t->opt.batch, hits;
    t->step++;
    mlp_fill(m, &t->train, t->order, (size_t)batch_idx * n, n);
    inject(t, "weights", m->layers[0].w);
    mlp_forward(m, n);
    inject(t, "logits", m->layers[LAYERS - 1].y); // reaches the loss and, if it may, all weights
    double loss = mlp_loss(m, n, &hits) / (double)n, accuracy = (double)hits / (double)n;
    mlp_backward(m, n);
    inject(t, "gradients", m->layers[1].dw);

    double grad_norm = mlp_grad_norm(m);
    struct moment now = { .phase = "train", .batch_idx = &batch_idx, .loss = &loss,
                          .grad_norm = &grad_norm };
    tell(t, "grads_ready", &now);
    if (over(t))
        return loss; // before the update: what made a guard stop stays out of the weights
    mlp_update(m, (float)t->lr, (float)t->opt.momentum);

    now.accuracy = &accuracy;
    tell(t, "train_step_end", &now);
    slow_down(t->opt.sleep_ms);
    return loss;
}

/* Mean loss and accuracy over the test images. */
static double evaluate(struct trainer *t, double *accuracy)
{
    size_t batch = (size_t)t->opt.batch, n, hits, all_hits = 0;
    double sum = 0;
    for (size_t first = 0; first < t->test.n; first += n) {
        n = t->test.n - first < batch ? t->test.n - first : batch;
        mlp_fill(&t->mlp, &t->test, NULL, first, n);
        mlp_forward(&t->mlp, n);
        sum += mlp_loss(&t->mlp, n, &hits);
        all_hits += hits;
    }
    *accuracy = (double)all_hits / (double)t->test.n;
    return sum / (double)t->test.n;
}

static bool steps_left(const struct trainer *t)
{
    return !t->opt.steps || t->step + 1 < t->opt.steps;
}

static double lr_of_epoch(const struct trainer *t)
{
    return t->opt.lr / (double)(t->epoch + 1);
}

static void begin_epoch(struct trainer *t)
{
    t->epoch++;
    t->sum = 0;
    shuffle(t->order, t->train.n, &t->rng);
}

static void end_epoch(struct trainer *t, double seconds)
{
    double accuracy, loss = t->sum / (double)t->batch_idx, test_loss = evaluate(t, &accuracy);
    t->batch_idx = 0;
    tell(t, "eval_end", &(struct moment){ .phase = "val", .loss = &test_loss,
                                          .accuracy = &accuracy });
    tell(t, "epoch_end", &(struct moment){ .phase = "train", .loss = &loss });
    if (!t->opt.quiet)
        printf("epoch %" PRId64 "  loss %.4f  test loss %.4f  test accuracy %.2f %%  %.1f s\n",
               t->epoch, loss, test_loss, 100 * accuracy, seconds);
}

static void train_epoch(struct trainer *t)
{
    double began = now_s();
    int64_t batches = (int64_t)t->train.n / t->opt.batch, every = t->opt.checkpoint_every;
    if (t->batch_idx == 0)
        begin_epoch(t);
    t->lr = lr_of_epoch(t);
    tell_lr(t);
    while (t->batch_idx < batches && steps_left(t) && !over(t)) {
        t->sum += train_step(t, t->batch_idx);
        t->batch_idx++;
        if (every && !t->over && (t->step + 1) % every == 0)
            save_checkpoint(t);
    }
    if (!over(t))
        end_epoch(t, now_s() - began);
}

static bool epochs_left(const struct trainer *t)
{
    return !t->opt.epochs || t->epoch + (t->batch_idx == 0) < t->opt.epochs;
}

static void train(struct trainer *t)
{
    tell(t, "fit_start", &(struct moment){ .phase = "train" });
    while (epochs_left(t) && steps_left(t) && !over(t))
        train_epoch(t);
    tell(t, "fit_end", &(struct moment){ .phase = "train" });
}

static void trainer_init(struct trainer *t)
{
    const struct options *o = &t->opt;
    const size_t most = 1000000; // images; more would not be Fashion-MNIST
    t->train = images_read(o->data, "train", o->train ? (size_t)o->train : most);
    t->test = images_read(o->data, "t10k", most);
    if (t->train.n < (size_t)o->batch)
        die("%zu training images do not fill a batch of %" PRId64, t->train.n, o->batch);
    t->rng = (uint64_t)o->seed;
    t->lr = o->lr;
    t->step = t->epoch = -1;
    mlp_init(&t->mlp, (size_t)o->batch, &t->rng);
    t->order = need(t->train.n, sizeof *t->order);
    for (size_t i = 0; i < t->train.n; i++)
        t->order[i] = (uint32_t)i;
    if (o->resume)
        load_checkpoint(t);
    if (!o->quiet)
        printf("%zu weights, %zu training images, %zu steps an epoch\n", t->mlp.n, t->train.n,
               t->train.n / (size_t)o->batch);
}

static void trainer_release(struct trainer *t)
{
    mlp_release(&t->mlp);
    images_release(&t->train);
    images_release(&t->test);
    free(t->order);
}

/* ---- the command line ------------------------------------------------------ */

enum kind { SWITCH, TEXT, WHOLE, REAL };

static const struct flag {
    const char *name, *unit;
    enum kind kind;
    size_t at; // where in struct options
    double min, max;
    const char *help;
} flags[] = {
#define AT(field) offsetof(struct options, field)
    { "--dir", "DIR", TEXT, AT(dir), 0, 0, "the run directory (runs/mlp)" },
    { "--data", "DIR", TEXT, AT(data), 0, 0, "where the data set is" },
    { "--no-hotcb", "", SWITCH, AT(no_hotcb), 0, 0, "train without calling the library" },
    { "--quiet", "", SWITCH, AT(quiet), 0, 0, "print only why it stopped and the checksum" },
    { "--epochs", "N", WHOLE, AT(epochs), 0, 1e9, "stop after N epochs (3); 0: never" },
    { "--steps", "N", WHOLE, AT(steps), 0, 1e15, "stop after N steps; 0: never (0)" },
    { "--batch", "N", WHOLE, AT(batch), 1, 4096, "images a step (64)" },
    { "--lr", "X", REAL, AT(lr), 0, 1e9, "learning rate of epoch 0 (0.03); X/2, X/3 ... after it" },
    { "--momentum", "X", REAL, AT(momentum), 0, 1, "of the gradient (0.9)" },
    { "--seed", "N", WHOLE, AT(seed), 0, 1e15, "of the weights and the order of images (1)" },
    { "--train", "N", WHOLE, AT(train), 0, 1e6, "use only the first N training images; 0: all" },
    { "--checkpoint", "FILE", TEXT, AT(checkpoint), 0, 0, "where checkpoints go (mlp.checkpoint)" },
    { "--checkpoint-every", "N", WHOLE, AT(checkpoint_every), 0, 1e15, "steps; 0: never (0)" },
    { "--resume", "", SWITCH, AT(resume), 0, 0, "go on from the checkpoint, with its callbacks" },
    { "--sleep-ms", "N", WHOLE, AT(sleep_ms), 0, 1e6, "sleep after each step (0)" },
    { "--nan-at", "STEP", WHOLE, AT(nan_at), -1, 1e15, "put a NaN into that step (-1: none)" },
    { "--nan-in", "WHAT", TEXT, AT(nan_in), 0, 0, "weights, logits (and so the loss), gradients" },
    { "--poll-ms", "N", WHOLE, AT(poll_ms), 0, 1e9, "hotcb looks every N ms (50); 0: every step" },
    { "--debounce", "N", WHOLE, AT(debounce), 1, 1e9, "and at every N-th apply at most (1)" },
#undef AT
};
static const size_t n_flags = sizeof flags / sizeof *flags;

static _Noreturn void usage(void)
{
    printf("usage: train_mlp [flag ...]\n");
    for (size_t i = 0; i < n_flags; i++)
        printf("  %-18s %-4s  %s\n", flags[i].name, flags[i].unit, flags[i].help);
    exit(0);
}

static void set_flag(struct options *o, const struct flag *f, const char *value)
{
    void *to = (char *)o + f->at;
    char *end = "";
    double number = f->min;
    errno = 0;
    if (f->kind == SWITCH)
        *(bool *)to = true;
    else if (!value || !*value)
        die("%s: a value is missing; see --help", f->name);
    else if (f->kind == TEXT)
        *(const char **)to = value;
    else if (f->kind == REAL)
        number = *(double *)to = strtod(value, &end);
    else
        number = (double)(*(int64_t *)to = strtoll(value, &end, 10));
    if (errno || *end || !(number >= f->min && number <= f->max))
        die("%s %s: not a number from %g to %g", f->name, value, f->min, f->max);
}

static void check_nan_in(const char *where)
{
    static const char *const places[] = { "weights", "logits", "gradients" };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(where, places[i]) == 0)
            return;
    die("--nan-in %s: weights, logits or gradients", where);
}

static void parse_flags(struct options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t f = 0;
        while (f < n_flags && strcmp(argv[i], flags[f].name) != 0)
            f++;
        if (f == n_flags && strcmp(argv[i], "--help") == 0)
            usage();
        if (f == n_flags)
            die("%s: no such flag; see --help", argv[i]);
        i += flags[f].kind != SWITCH;
        set_flag(o, &flags[f], i < argc ? argv[i] : NULL);
    }
    check_nan_in(o->nan_in);
}

static void on_signal(int number)
{
    signalled = number;
}

/* The first SIGINT or SIGTERM ends the training cleanly, a second one at once. */
static void catch_signals(void)
{
    struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_RESETHAND };
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}

int main(int argc, char **argv)
{
    struct trainer t = { .opt = { .dir = "runs/mlp", .data = "/usr/share/datasets/fashion-mnist",
                                  .checkpoint = "mlp.checkpoint",
                                  .epochs = 3, .batch = 64, .lr = 0.03, .momentum = 0.9,
                                  .seed = 1, .nan_at = -1, .nan_in = "logits", .poll_ms = 50,
                                  .debounce = 1 } };
    parse_flags(&t.opt, argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0); // a line is seen when it is printed, through a pipe too
    catch_signals();
    trainer_init(&t);
    if (!t.opt.no_hotcb)
        open_hotcb(&t);
    train(&t);
    if (!t.opt.no_hotcb)
        close_hotcb(&t);
    printf("weights %016" PRIx64 "\n", mlp_checksum(&t.mlp));
    trainer_release(&t);
    return 0;
}
