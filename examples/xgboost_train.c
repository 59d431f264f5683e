/* XGBoost learns which mushrooms are poisonous, with hotcb in its loop of rounds:
 * `hotcb --dir runs/xgboost load ...` steers it. All lines that are there for hotcb name
 * it.
 *
 * The data are made here, in the shape of the agaricus data that XGBoost's own examples
 * use: 22 properties in 126 columns of 0 and 1. A round, one more tree, is a step. XGBoost
 * gives its metrics as text, so that is what they are read from. The same text comes out
 * with hotcb and without it. */
#include <hotcb/hotcb.h>
#include <xgboost/c_api.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROPERTIES = 22, COLUMNS = 126, TRAIN_ROWS = 6513, EVAL_ROWS = 1611 };

struct loop {
    struct { hotcb *hotcb; hotcb_env *env; };
    DMatrixHandle data[2]; // to learn from, and to evaluate
    BoosterHandle booster;
    long sleep_ms;
};

/* ---- data ------------------------------------------------------------------ */

/* How many values each property has, in the order of the original. */
static const unsigned char values[PROPERTIES] = { 6, 4, 10, 2, 9, 4, 3, 2, 12, 2, 7,
                                                  4, 4, 9, 9, 2, 4, 3, 8, 9, 6, 7 };
enum { CAP_COLOUR = 2, ODOUR = 4, GILL_SIZE = 7, SPORES = 19, HABITAT = 21 };

static unsigned int random_below(unsigned int n)
{
    static uint64_t state;
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (unsigned int)((z ^ z >> 31) % n);
}

/* One row of columns, and its label: a rule that takes some trees to find, and one
 * label in twenty wrong. */
static float make_mushroom(float *row)
{
    unsigned int is[PROPERTIES], at = 0;
    for (int p = 0; p < PROPERTIES; at += values[p++])
        row[at + (is[p] = random_below(values[p]))] = 1;
    int poisonous = is[ODOUR] > 4 || is[SPORES] == 5 || (is[GILL_SIZE] && is[HABITAT] < 3) ||
                    (is[CAP_COLOUR] + is[HABITAT]) % 4 == 0;
    return poisonous != (random_below(20) == 0);
}

static void must(int status)
{
    if (status == 0)
        return;
    fprintf(stderr, "xgboost_train: %s\n", XGBGetLastError());
    exit(1);
}

static DMatrixHandle make_data(size_t rows)
{
    float *table = calloc(rows * COLUMNS, sizeof *table); // (rows,126)
    float *labels = calloc(rows, sizeof *labels);         // (rows)
    DMatrixHandle data;
    if (!table || !labels)
        exit(1);
    for (size_t r = 0; r < rows; r++)
        labels[r] = make_mushroom(table + r * COLUMNS);
    must(XGDMatrixCreateFromMat(table, rows, COLUMNS, 0, &data)); // 0: nothing is there
    must(XGDMatrixSetFloatInfo(data, "label", labels, rows));
    free(table);
    free(labels);
    return data;
}

/* ---- training -------------------------------------------------------------- */

static BoosterHandle make_booster(const DMatrixHandle *data)
{
    static const char *const params[][2] = {
        { "objective", "binary:logistic" }, { "tree_method", "hist" }, { "max_depth", "4" },
        { "eta", "0.1" }, { "eval_metric", "logloss" }, { "eval_metric", "error" },
        { "seed", "1" }, { "nthread", "1" }, // more threads may add in another order
    };
    BoosterHandle booster;
    must(XGBoosterCreate(data, 2, &booster));
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        must(XGBoosterSetParam(booster, params[i][0], params[i][1]));
    return booster;
}

/* What XGBoost measures, in its order. */
enum { TRAIN_LOGLOSS, TRAIN_ERROR, EVAL_LOGLOSS, EVAL_ERROR, METRICS };
struct metric {
    char key[40]; // "metrics.train-logloss"
    double value;
};

/* From "[7]\ttrain-logloss:0.31\ttrain-error:0.05\teval-logloss:0.33\teval-error:0.06". */
static void read_metrics(const char *line, struct metric *metrics)
{
    for (int i = 0; i < METRICS; i++) {
        const char *name = strchr(line, '\t'), *colon = name ? strchr(name, ':') : NULL;
        if (!colon) {
            fprintf(stderr, "xgboost_train: cannot read the metrics in \"%s\"\n", line);
            exit(1);
        }
        snprintf(metrics[i].key, sizeof metrics[i].key, "metrics.%.*s", (int)(colon - name - 1),
                 name + 1);
        metrics[i].value = strtod(colon + 1, NULL);
        line = colon;
    }
}

/* One more tree. Returns XGBoost's line about it, which is good until the next one. */
static const char *train_round(struct loop *l, int round)
{
    const char *names[] = { "train", "eval" }, *line;
    must(XGBoosterUpdateOneIter(l->booster, round, l->data[0]));
    must(XGBoosterEvalOneIter(l->booster, round, l->data, names, 2, &line));
    nanosleep(&(struct timespec){ .tv_sec = l->sleep_ms / 1000,
                                  .tv_nsec = l->sleep_ms % 1000 * 1000000 }, NULL);
    return line;
}

static void train(struct loop *l, int rounds)
{
    struct metric metrics[METRICS];
    double best = HUGE_VAL;
    int best_round = -1;
    const char *line = "no rounds";
    hotcb_apply(l->hotcb, l->env, "fit_start");
    for (int round = 0; round < rounds && !hotcb_stop_reason(l->hotcb); round++) {
        line = train_round(l, round);
        read_metrics(line, metrics);
        if (metrics[EVAL_LOGLOSS].value < best) {
            best = metrics[EVAL_LOGLOSS].value;
            best_round = round;
        }
        hotcb_env_step(l->env, round), hotcb_env_str(l->env, "phase", "train");
        hotcb_env_num(l->env, "loss", metrics[TRAIN_LOGLOSS].value);
        for (int i = 0; i < METRICS; i++)
            hotcb_env_num(l->env, metrics[i].key, metrics[i].value);
        hotcb_apply(l->hotcb, l->env, "train_step_end");
    }
    printf("best eval-logloss in round %d: %.6f\n%s\n", best_round, best, line);
}

int main(int argc, char **argv)
{
    struct loop l = { .sleep_ms = argc > 3 ? atol(argv[3]) : 10 };
    if (argc > 4) {
        fprintf(stderr, "usage: xgboost_train [DIR [ROUNDS [SLEEP_MS]]]\n");
        return 2;
    }
    l.data[0] = make_data(TRAIN_ROWS);
    l.data[1] = make_data(EVAL_ROWS);
    l.booster = make_booster(l.data);
    hotcb_options opt = HOTCB_OPTIONS_INIT;
    opt.dir = argc > 1 ? argv[1] : "runs/xgboost", l.env = hotcb_env_new();
    if (hotcb_open(&l.hotcb, &opt) < 0)
        fprintf(stderr, "xgboost_train: training without hotcb: %s\n", hotcb_errmsg(l.hotcb));
    train(&l, argc > 2 ? atoi(argv[2]) : 2000);
    hotcb_apply(l.hotcb, l.env, "fit_end"), hotcb_env_free(l.env), hotcb_close(l.hotcb);
    must(XGBoosterFree(l.booster));
    must(XGDMatrixFree(l.data[0]));
    must(XGDMatrixFree(l.data[1]));
    return 0;
}
