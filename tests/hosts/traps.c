/* A host whose floating point is not as C begins it: traps for what makes a NaN or an
 * infinity, as who looks for the first of them sets, or another way to round. Callbacks,
 * commands and YAML compute as ever; the host, its hooks among it, finds its own environment. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* feenableexcept */
#endif
#include "trial.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int traps; /* that are set, 0 where there are none to be had */
static int rounding = FE_TONEAREST;
static int calls;

static const char numbers_lua[] =
    "local T = { params = { { 'p', 0.1 } } }\n"
    "local zero, huge = 0.0, 1e308\n"
    "function T:handle(event, env)\n"
    "  local nan = zero / zero\n"
    "  local ok = 1 / zero == math.huge and huge * 10 == 1e999 and not (nan > 1) and\n"
    "    math.exp(1e4) == math.huge and math.log(zero) == -math.huge and\n"
    "    math.sqrt(-1) ~= math.sqrt(-1) and math.fmod(1, zero) ~= 1 and\n"
    "    2.0 ^ 4000 == 1 // zero and\n"
    "    math.tointeger(2.0 ^ 80) == nil and math.floor(1e300) == 1e300 and\n"
    "    tonumber('1e999') == math.huge and self.p == 0.1 and env.lazy == 2 and\n"
    "    0.1 + 0.2 == 0.30000000000000004 and 1 / 3 == 0.33333333333333331\n"
    "  hotcb.scalar('nan', nan)\n"
    "  hotcb.scalar('inf', 1 / zero)\n"
    "  env.log('%.3f %.14g %s', 1 / zero, nan, self.p)\n"
    "  if not ok then error('other numbers') end\n"
    "end\n"
    "return T\n";

static const char too_large[] =
    "{\"op\":\"set_params\",\"id\":\"numbers\",\"params\":{\"p\":1e999}}";

static void set_environment(void)
{
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(rounding);
#ifdef FE_NOMASK_ENV
    feenableexcept(traps);
#endif
}

static void check_environment(const char *where)
{
    int now = 0;
#ifdef FE_NOMASK_ENV
    now = fegetexcept();
#endif
    CHECK(now == traps, "%s: the traps are %#x", where, (unsigned)now);
    CHECK(fegetround() == rounding, "%s: rounds otherwise", where);
    CHECK(!fetestexcept(traps), "%s: flags are left", where);
}

static void on_log(void *user, enum hotcb_level level, const char *callback, const char *line)
{
    struct trial *t = user;
    check_environment("in the log hook");
    calls++;
    (void)callback;
    if (level >= HOTCB_WARN)
        snprintf(t->complaint, sizeof t->complaint, "%s", line);
}

static int on_lazy(void *user, hotcb_env *env, const char *key)
{
    (void)user;
    check_environment("in a lazy value");
    calls++;
    return hotcb_env_num(env, key, 2);
}

static void apply(struct trial *t, int n)
{
    for (int i = 0; i < n; i++) {
        hotcb_env_step(t->env, t->step++);
        hotcb_apply(t->h, t->env, "train_step_end");
        check_environment("after an apply");
    }
}

static void check_numbers(struct trial *t)
{
    char error[300], params[300];
    trial_field(t, "numbers", "error.message", error, sizeof error);
    CHECK(!*error, "%s", error);
    char *list = hotcb_list(t->h);
    const char *at = list ? strstr(list, "\"params\":") : NULL;
    snprintf(params, sizeof params, "%.20s", at ? at : "");
    CHECK(strcmp(params, "\"params\":{\"p\":0.1},\"") == 0, "%s", params);
    hotcb_free(list);
}

static void go_through_all(void *arg)
{
    struct trial t;
    char *report = NULL, path[200];
    (void)arg;
    trial_init(&t, "numbers");
    set_environment();
    t.opt.log = on_log;
    t.opt.log_user = &t;
    t.opt.poll_interval_ms = -1;
    CHECK(hotcb_open(&t.h, &t.opt) == 0, "%s", hotcb_errmsg(t.h));
    t.env = hotcb_env_new();
    hotcb_env_lazy(t.env, "lazy", on_lazy, NULL);
    CHECK(trial_load(&t, "numbers", numbers_lua) == 0, "%s", hotcb_errmsg(t.h));
    check_environment("after a load");
    apply(&t, 20);
    check_numbers(&t);
    CHECK(hotcb_command(t.h, too_large) == HOTCB_EFORMAT, "%s", hotcb_errmsg(t.h));
    CHECK(hotcb_send(t.dir, too_large, NULL, 0) == HOTCB_EFORMAT, "it was sent");
    trial_write(&t, "hotcb.yaml", "version: 1\ncallbacks:\n  numbers: { params: { p: 1e999 } }\n");
    apply(&t, 20);
    trial_write(&t, "hotcb.yaml", "version: 1\ncallbacks:\n  numbers: { params: { p: 0.1 } }\n");
    apply(&t, 20);
    check_numbers(&t);
    snprintf(path, sizeof path, "%s/numbers.lua", t.dir);
    CHECK(hotcb_check(path, NULL, &report) == 0, "%s", report ? report : "");
    hotcb_free(report);
    trial_close(&t);
    check_environment("after close");
    CHECK(calls > 40, "the hooks were called %d times", calls);
}

int main(int argc, char **argv)
{
    (void)argc;
    trial_begin(argv[0]);
    trial_in_child("usual", go_through_all, NULL);
    rounding = FE_UPWARD;
    trial_in_child("rounds up", go_through_all, NULL);
    rounding = FE_TOWARDZERO;
    trial_in_child("rounds to zero", go_through_all, NULL);
#ifdef FE_NOMASK_ENV
    rounding = FE_TONEAREST;
    traps = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW;
    trial_in_child("traps", go_through_all, NULL);
    traps = FE_ALL_EXCEPT & ~FE_INEXACT;
    trial_in_child("more traps", go_through_all, NULL);
#endif
    return trial_end();
}
