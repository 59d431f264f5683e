/* A NaN or an infinity, wherever it first shows, stops the run at that step, with its name
 * in the reason, when anomaly_guard watches it; a loop that is told so stops. Built a second
 * time with -Ofast, where the host itself could not see any of it: its isnan() is always
 * false, and its process flushes denormals to zero. */
#include "trial.h"

#include <stdio.h>
#include <string.h>

#define BAD_STEP 3
#define STEPS 8

/* What a host may lend: the bits of a bad value and of a good one, as DLPack names types. */
static const struct type {
    const char *name;
    int code, bits;
    uint64_t good, bad[3]; /* NaN, inf, -inf */
} types[] = {
    {"f64", 2, 64, 0x3ff0000000000000,
     {0x7ff8000000000000, 0x7ff0000000000000, 0xfff0000000000000}},
    {"f32", 2, 32, 0x3f800000, {0x7fc00001, 0x7f800000, 0xff800000}},
    {"f16", 2, 16, 0x3c00, {0x7e00, 0x7c00, 0xfc00}},
    {"bf16", 4, 16, 0x3f80, {0x7fc0, 0x7f80, 0xff80}},
};

/* Where it is, what is watched, and what has to be in the reason. */
static const struct place {
    const char *key, *paths, *named; /* paths NULL: own_guard, which watches the loss */
    bool number; /* a plain double, not a tensor */
} places[] = {
    {"loss", NULL, "loss is not finite at step 3", true},
    {"loss", "loss", "loss", true},
    {"metrics.val_loss", "loss,metrics.val_loss", "metrics.val_loss", true},
    {"model.layers.0.weight", "model", "model.layers.0.weight", false},
    {"grads.layers.0.weight", "loss,grads", "grads.layers.0.weight", false},
    {"outputs.logits", "outputs.logits", "outputs.logits", false},
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static unsigned char bytes[8 * 1000];

static void fill(const struct type *type, int64_t at, uint64_t bad)
{
    size_t size = (size_t)type->bits / 8;
    for (size_t i = 0; i < 1000; i++)
        memcpy(bytes + i * size, &type->good, size); /* little endian */
    if (at >= 0)
        memcpy(bytes + (size_t)at * size, &bad, size);
}

static void lend(hotcb_env *env, const struct place *place, const struct type *type, bool good,
                 uint64_t bad)
{
    const int64_t shape[] = {10, 100};
    hotcb_tensor t = {.data = bytes, .device_type = 1, .ndim = 2, .type_code = (uint8_t)type->code,
                      .type_bits = (uint8_t)type->bits, .type_lanes = 1, .shape = shape};
    double number;
    memcpy(&number, good ? &type->good : &bad, sizeof number);
    fill(type, good ? -1 : 777, bad);
    if (place->number)
        hotcb_env_num(env, place->key, number);
    else
        CHECK(hotcb_env_tensor(env, place->key, &t) == 0, "%s", hotcb_env_errmsg(env));
}

/* A guard as people write their own, in plain Lua. */
static const char own_guard[] =
    "function handle(event, env)\n"
    "  local l = env.loss\n"
    "  if l and (l ~= l or l == math.huge or l == -math.huge) then\n"
    "    hotcb.stop('loss is not finite at step ' .. env.step)\n"
    "  end\n"
    "end\n";

static void load_guard(struct trial *t, const char *paths)
{
    char command[400];
    if (!paths) {
        CHECK(trial_load(t, "guard", own_guard) == 0, "%s", hotcb_errmsg(t->h));
        return;
    }
    snprintf(command, sizeof command, "{\"op\":\"load\",\"id\":\"guard\",\"target\":{\"kind\":"
             "\"module\",\"path\":\"hotcb.callbacks.anomaly_guard\",\"symbol\":"
             "\"AnomalyGuardCallback\"},\"init\":{\"every\":1,\"paths\":\"%s\","
             "\"raise_on_trigger\":true}}", paths);
    CHECK(hotcb_command(t->h, command) == 0, "%s", hotcb_errmsg(t->h));
}

/* A loop as its author would write it. Returns the step at which it ended. */
static int64_t train(struct trial *t, const struct place *place, const struct type *type,
                     uint64_t bad)
{
    for (int64_t step = 0; step < STEPS; step++) {
        hotcb_env_step(t->env, step);
        if (step != 1) /* what is missing is no anomaly */
            lend(t->env, place, type, step != BAD_STEP, bad);
        hotcb_apply(t->h, t->env, "train_step_end");
        if (hotcb_stop_reason(t->h))
            return step;
    }
    return STEPS;
}

static void try_one(const struct place *place, const struct type *type, uint64_t bad)
{
    static int n;
    char name[40];
    struct trial t;
    snprintf(name, sizeof name, "run%d", n++);
    trial_init(&t, name);
    if (trial_open(&t)) {
        load_guard(&t, place->paths);
        trial_load(&t, "ends", "function handle(event) if event == 'fit_end' then "
                               "hotcb.log('warn', 'heard the end') end end");
        int64_t step = train(&t, place, type, bad);
        const char *why = hotcb_stop_reason(t.h);
        CHECK(step == BAD_STEP, "%s %s %llx: ended at step %lld", place->key, type->name,
              (unsigned long long)bad, (long long)step);
        CHECK(why && strstr(why, place->named), "%s %s: the reason is %s", place->key, type->name,
              why ? why : "NULL");
        hotcb_apply(t.h, t.env, "fit_end");
        CHECK(strstr(t.complaint, "heard the end"), "another callback got no end event: %s",
              t.complaint);
    }
    trial_close(&t);
}

int main(int argc, char **argv)
{
    (void)argc;
    trial_begin(argv[0]);
    for (size_t i = 0; i < COUNT(places); i++)
        for (size_t j = 0; j < COUNT(types) && !(places[i].number && j > 0); j++)
            for (size_t k = 0; k < COUNT(types[j].bad); k++)
                try_one(&places[i], &types[j], types[j].bad[k]);
    return trial_end();
}
