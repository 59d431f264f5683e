/* What a run writes: that status and state say what is so though only what has changed is
 * formatted, and how many bytes that takes. */
#include "base/clock.h"
#include "base/file.h"
#include "controller/run.h"
#include "run_rig.h"

#include <sys/wait.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Bytes that this process has written; -1 where the system does not say. */
static int64_t written(void)
{
    long long n = -1;
    FILE *f = fopen("/proc/self/io", "r");
    char line[100];
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "wchar: %lld", &n) == 1)
            break;
    if (f)
        fclose(f);
    return n;
}

/* What is kept of each callback is what would be written if nothing was kept. */
static void check_kept(struct run *r)
{
    const struct hcb_registry *all = &r->h->registry;
    char *kept = hotcb_list(r->h);
    for (size_t i = 0; i < all->n; i++)
        all->v[i]->status.holds = false;
    char *fresh = hotcb_list(r->h);
    assert_string_equal(kept, fresh);
    hotcb_free(kept);
    hotcb_free(fresh);
}

/* ---- the status says what is so ---- */

static const char script[] =
    "local T = { params = { { 'every', 10 }, { 'fail', false } }, events = { 'train_step_end',\n"
    "            'late' } }\n"
    "function T:handle(e, env) if self.fail then error('as asked') end end\n"
    "function T:save() return { big = ('x'):rep(1000) } end\n"
    "return T\n";

static void save_bad(struct run *r)
{
    (void)r;
    run_script("a", "return {");
}

static void save_good(struct run *r)
{
    (void)r;
    run_script("a", script);
}

static void save_other(struct run *r)
{
    char text[sizeof(script) + 20];
    (void)r;
    snprintf(text, sizeof(text), "%s-- other\n", script);
    run_script("a", text);
}

static void emit_late(struct run *r)
{
    run_apply(r, "late");
}

static void fall_behind(struct run *r)
{
    (void)r;
    scratch_write(run_path("hotcb.yaml"),
                  "callbacks: {a: {target: {kind: lua_file, path: none.lua}}}\n");
}

/* What is done, by command or otherwise, and what the status must say then. */
static const struct {
    const char *command;
    void (*act)(struct run *r);
    const char *says;
} changes[] = {
    {"{'op':'disable','id':'a'}", NULL, "\"state\":\"off\",\"enabled\":false"},
    {"{'op':'enable','id':'a'}", NULL, "\"state\":\"on\",\"enabled\":true"},
    {"{'op':'set_params','id':'a','params':{'every':77}}", NULL, "\"params\":{\"every\":77,"},
    {"{'op':'set_params','id':'a','params':{'every':null}}", NULL, "\"params\":{\"every\":10,"},
    {"{'op':'set_limits','id':'a','limits':{'time_ms':4321}}", NULL, "\"time_ms\":4321"},
    {"{'op':'set_limits','id':'a','limits':{'memory_mb':8}}", NULL, "\"memory_mb\":8"},
    {NULL, emit_late, "\"waiting_for\":[]"},
    {NULL, save_bad, "\"pending\":\""},
    {NULL, save_good, "\"pending\":null"},
    {NULL, save_other, "\"version\":3"}, /* the second was that of the memory */
    {"{'op':'set_params','id':'a','params':{'fail':true}}", NULL, "\"fail\":true"},
    {NULL, NULL, "\"state\":\"FAILED\""},
    {NULL, NULL, "as asked"},
    {"{'op':'set_params','id':'a','params':{'fail':false}}", NULL, "\"fail\":false"},
    {"{'op':'enable','id':'a'}", NULL, "\"error\":null"},
    {NULL, NULL, "\"state\":\"on\""},
    {NULL, fall_behind, "none.lua"},
    {"{'op':'load','id':'a','target':{'kind':'module','path':'hotcb.callbacks.heartbeat'}}", NULL,
     "\"kind\":\"module\""},
};

static void test_status_says_what_is_so(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", script);
    run_load(&r, "b", "function handle() end");
    for (size_t i = 0; i < COUNT(changes); i++) {
        int64_t step = (int64_t)i * 2;
        run_steps(&r, step, step);
        if (changes[i].act)
            changes[i].act(&r);
        if (changes[i].command)
            run_must(&r, changes[i].command);
        else
            run_steps(&r, step + 1, step + 1);
        char *list = hotcb_list(r.h);
        if (!strstr(list, changes[i].says))
            fail_msg("row %zu: no %s in\n%s", i, changes[i].says, list);
        hotcb_free(list);
        check_kept(&r);
    }
    run_release(&r);
}

static void list_in_hook(void *user, enum hotcb_level level, const char *callback, const char *line)
{
    struct run *r = user;
    run_log(user, level, callback, line);
    if (r->h)
        hotcb_free(hotcb_list(r->h));
}

/* A host may ask for the list from its log hook, which is also called while a callback
 * becomes another one: here a state made anew after a stop, whose helper has changed. */
static void test_list_in_the_middle(void **state)
{
    struct run r;
    const char *event = "train_step_end";
    (void)state;
    run_init(&r);
    r.opt.log = list_in_hook;
    run_open(&r);
    scratch_write(run_path("declared.lua"), "return { { 'every', 10 }, { 'more', 1 } }");
    run_load(&r, "a", "return { params = require 'declared', handle = function(self)\n"
             "  while self.more do end end }\n");
    run_must(&r, "{'op':'set_limits','id':'a','limits':{'time_ms':5,'errors':0}}");
    run_must(&r, "{'op':'set_params','id':'a','params':{'more':2}}");
    run_steps(&r, 0, 0);
    scratch_replace(run_path("declared.lua"), "return { { 'every', 10 } }");
    assert_int_equal(hotcb_dispatch(r.h, r.env, &event, 1), 0);
    assert_int_equal(run_logged(&r, "were left out: "), 1);
    check_kept(&r);
    run_release(&r);
}

/* Of one that is only called, the counters change and nothing else does. */
static void test_counters(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "local n, t = 0, {}\n"
                      "function handle() n = n + 1 t[n] = ('x'):rep(100) .. n end\n");
    double memory = 0;
    for (int64_t step = 1; step <= 300; step++) {
        run_steps(&r, step, step);
        check_kept(&r);
        assert_int_equal(run_number(&r, "a", "calls"), step);
        assert_int_equal(hcb_map_get(&r.status.u.list.v[0], "us_per_call")->type != HCB_NULL, 1);
        if (step % 100 == 0) {
            double now = hcb_map_real(&r.status.u.list.v[0], "memory_kb", 0);
            assert_true(now > memory + 5);
            memory = now;
        }
    }
    run_release(&r);
}

/* ---- what is written of the state ---- */

static struct hcb_sig state_sig(void)
{
    struct hcb_sig sig;
    hcb_sig_get(run_path("hotcb.state.json"), &sig);
    return sig;
}

static void append_command(const char *json)
{
    char text[300];
    FILE *f = fopen(run_path("hotcb.commands.jsonl"), "a");
    assert_non_null(f);
    snprintf(text, sizeof(text), "%s\n", json);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

enum { NOTHING, PLACE, ALL };

static void reload(void) { save_other(NULL); }
static void refuse(void) { append_command("{'op':'enable','id':'nobody'}"); }
static void set(void) { append_command("{'op':'set_params','id':'a','params':{'every':3}}"); }
static void set_again(void) { append_command("{'op':'set_params','id':'a','params':{'every':3}}"); }
static void load(void)
{
    append_command("{'op':'load','id':'c','target':{'kind':'lua_file','path':'b.lua'}}");
}
static void unload(void) { append_command("{'op':'unload','id':'c'}"); }
static void configure(void) { scratch_replace(run_path("hotcb.yaml"), "callbacks: {}\n# x\n"); }
static void take_away(void)
{
    unlink(run_path("hotcb.state.json"));
    refuse();
}
static void damage(void)
{
    scratch_write(run_path("hotcb.state.json"), "{");
    refuse();
}

static const struct {
    void (*act)(void);
    const char *event;
    int part; /* of the file that is written */
} parts[] = {
    {NULL, "train_step_end", NOTHING}, {NULL, "new_event", NOTHING}, {reload, NULL, NOTHING},
    {refuse, NULL, PLACE}, {set, NULL, ALL}, {set_again, NULL, PLACE}, {load, NULL, ALL},
    {unload, NULL, ALL}, {NULL, "checkpoint", ALL}, {configure, NULL, ALL},
    {take_away, NULL, ALL}, {damage, NULL, ALL}, {refuse, NULL, PLACE}, {NULL, NULL, NOTHING},
};

/* Whatever of it is written, the next process finds all of it. */
static void check_state(struct run *r, int64_t lines)
{
    struct hcb_value v = {0};
    struct hcb_err err;
    char *text = file_read("run/hotcb.state.json");
    char *commands = file_read("run/hotcb.commands.jsonl");
    if (hcb_json_parse(text, strlen(text), &v, &err) < 0)
        fail_msg("%s: %s", err.text, text);
    const struct hcb_value *place = hcb_map_get(&v, "commands");
    assert_true(strstr(text, "\"path\":") - text <= 512); /* what is written over itself */
    assert_int_equal(hcb_map_int(place, "offset", -1), strlen(commands));
    assert_int_equal(hcb_map_int(place, "lines", -1), lines);
    assert_int_equal(hcb_map_get(&v, "registry")->u.list.n, hcb_map_get(run_status(r),
                     "callbacks")->u.list.n);
    hcb_value_release(&v);
    free(text);
    free(commands);
}

static void test_state_is_written_in_parts(void **state)
{
    struct run r;
    int64_t lines = 0;
    (void)state;
    run_start(&r);
    run_load(&r, "a", script);
    run_load(&r, "b", "function handle() end");
    run_steps(&r, 0, 3);
    for (size_t i = 0; i < COUNT(parts); i++) {
        struct hcb_sig before = state_sig();
        if (parts[i].act)
            parts[i].act();
        struct hcb_sig damaged = state_sig();
        run_apply(&r, parts[i].event ? parts[i].event : "val_step_end");
        struct hcb_sig after = state_sig();
        int part = after.ino != before.ino || !damaged.exists ? ALL
                   : hcb_sig_same(&after, &before) ? NOTHING : PLACE;
        if (part != parts[i].part)
            fail_msg("row %zu: %d was written, not %d", i, part, parts[i].part);
        char *commands = file_read("run/hotcb.commands.jsonl");
        lines = count_of(commands, "\n");
        free(commands);
        check_state(&r, lines);
    }
    run_release(&r);
}

/* ---- bytes ---- */

static void load_many(struct run *r, int n)
{
    char json[200];
    run_script("b", script);
    for (int i = 0; i < n; i++) {
        snprintf(json, sizeof(json), "{'op':'load','id':'c%d','target':{'kind':'lua_file','path':"
                 "'b.lua'}}", i);
        run_must(r, json);
    }
}

/* Each would write what is as long as all before it. */
static void test_many_commands_of_the_host(void **state)
{
    enum { N = 400 };
    struct run r;
    (void)state;
    run_init(&r);
    r.opt.log_level = HOTCB_WARN;
    run_open(&r);
    int64_t before = written(), begin_ns = hcb_clock_ns();
    load_many(&r, N);
    run_steps(&r, 0, 0); /* here at the latest all are recorded */
    int64_t bytes = written() - before;
    double seconds = (double)(hcb_clock_ns() - begin_ns) / 1e9;
    char *ledger = file_read("run/hotcb.applied.jsonl");
    assert_int_equal(count_of(ledger, "\n"), N);
    assert_int_equal(hcb_map_get(run_status(&r), "callbacks")->u.list.n, N);
    check_state(&r, 0);
    char *status = file_read("run/hotcb.status.json"), *kept = file_read("run/hotcb.state.json");
    double at_once = HOTCB_COMMAND_BYTES + 3.0 * (double)(strlen(status) + strlen(kept)) +
                     (double)strlen(ledger);
    double most = at_once + seconds * HOTCB_BEAT_BYTES;
    if (before >= 0 && (double)bytes > most)
        fail_msg("%lld bytes were written, not %.0f", (long long)bytes, most);
    assert_true(N * (double)strlen(status) / 2 > 4 * at_once); /* it would have been more */
    free(ledger);
    free(status);
    free(kept);
    run_release(&r);
}

/* A large status is written less often, as long as nothing happens. */
static void test_bytes_of_beats(void **state)
{
    struct run r;
    (void)state;
    run_init(&r);
    r.opt.log_level = HOTCB_WARN;
    run_open(&r);
    load_many(&r, 400);
    run_steps(&r, 0, 0);
    char *status = file_read("run/hotcb.status.json");
    int64_t size = (int64_t)strlen(status), looks = 0;
    free(status);
    assert_true(size > HOTCB_BEAT_BYTES / 4); /* so that the bytes count, not the 250 ms */
    int64_t before = written(), begin_ns = hcb_clock_ns(), now_ns;
    do {
        hotcb_poll(r.h, NULL);
        looks++;
        now_ns = hcb_clock_ns();
    } while (looks < 3 || now_ns - begin_ns < 3 * size * 1000000000 / HOTCB_BEAT_BYTES);
    double bytes = (double)(written() - before), seconds = (double)(now_ns - begin_ns) / 1e9;
    if (before >= 0) {
        assert_true(bytes <= seconds * HOTCB_BEAT_BYTES * 1.01 + (double)size);
        assert_true(bytes >= (double)size); /* yet it is written */
    }
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_status_says_what_is_so), WITH_SCRATCH(test_counters),
        WITH_SCRATCH(test_list_in_the_middle),
        WITH_SCRATCH(test_state_is_written_in_parts), WITH_SCRATCH(test_many_commands_of_the_host),
        WITH_SCRATCH(test_bytes_of_beats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
