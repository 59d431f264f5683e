/* What a look makes of files that were mended, removed, rewritten or left half done. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "run_rig.h"

#define TARGET "target: { kind: lua_file, path: a.lua }"

static const char two[] =
    "local T = { params = { { 'a', 1, max = 10 }, { 'b', 1, max = 10 } } }\n"
    "function T:handle() print(self.a, self.b) end\nreturn T\n";

static void yaml(const char *entry)
{
    char text[400];
    snprintf(text, sizeof(text), "callbacks:\n  a: { " TARGET ", %s }\n", entry);
    scratch_write(run_path("hotcb.yaml"), text);
}

/* The next apply; the last line that callback a logged in it. */
static void assert_says(struct run *r, const char *line)
{
    static int64_t step;
    hcb_buf_reset(&r->log);
    run_steps(r, step, step);
    step++;
    if (!run_logged(r, line))
        fail_msg("not said: %s, but: %s", line, hcb_buf_text(&r->log));
}

static void start_two(struct run *r)
{
    mkdir(scratch("run"), 0777);
    run_script("a", two);
    run_start(r);
}

/* A key that was refused is not taken for read: what is mended beside it is applied, and
 * so is the key itself once it is good. */
static void test_refused_keys_of_the_config(void **state)
{
    struct run r;
    (void)state;
    start_two(&r);
    yaml("params: { a: 1, b: 2 }");
    assert_says(&r, "a: 1 2\n");
    yaml("params: { a: 5, b: 99 }");
    assert_says(&r, "a: 1 2\n");
    yaml("params: { a: 5, b: 9 }");
    assert_says(&r, "a: 5 9\n");
    run_release(&r);
}

/* The script is mended to take the value; saving the same file again is enough. */
static void test_refused_keys_and_the_script(void **state)
{
    struct run r;
    char wide[sizeof(two) + 8];
    (void)state;
    start_two(&r);
    yaml("params: { a: 50 }");
    run_steps(&r, 0, 0); /* does not load */
    yaml("params: { a: 2 }");
    assert_says(&r, "a: 2 1\n");
    yaml("params: { a: 50 }");
    assert_says(&r, "a: 2 1\n");
    snprintf(wide, sizeof(wide), "%s", two);
    memcpy(strstr(wide, "10"), "99", 2);
    run_script("a", wide);
    assert_says(&r, "a: 2 1\n");
    yaml("params: { a: 50 }     # the same");
    assert_says(&r, "a: 2 1\n"); /* the comment made the file unfit: it ends in a brace */
    scratch_append(run_path("hotcb.yaml"), "}\n");
    assert_says(&r, "a: 50 1\n");
    run_release(&r);
}

/* A parameter that is renamed in script and file alike. */
static void test_renamed_parameter(void **state)
{
    struct run r;
    char renamed[sizeof(two)];
    (void)state;
    start_two(&r);
    yaml("params: { a: 3 }");
    assert_says(&r, "a: 3 1\n");
    snprintf(renamed, sizeof(renamed), "%s", two);
    *strstr(renamed, "'a'") = '"';
    memcpy(strstr(renamed, "\"a'"), "'c'", 3);
    memcpy(strstr(renamed, "self.a"), "self.c", 6);
    run_script("a", renamed);
    yaml("params: { c: 4 }");
    assert_says(&r, "a: 4 1\n");
    run_release(&r);
}

/* Limits may be why a callback did not load. */
static void test_limits_of_what_did_not_load(void **state)
{
    struct run r;
    (void)state;
    mkdir(scratch("run"), 0777);
    run_script("a", "local big = ('x'):rep(4000000) function handle() print('loaded') end");
    run_start(&r);
    yaml("limits: { memory_mb: 2 }");
    run_steps(&r, 0, 0);
    assert_int_equal(run_logged(&r, "a: loaded"), 0);
    yaml("limits: { memory_mb: 20 }");
    assert_says(&r, "a: loaded\n");
    run_release(&r);
}

/* Who removes the lock file, or opens and closes it in this very process, does not open
 * the directory for a second run. */
static void test_lock_is_kept(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_steps(&r, 0, 0);
    close(open(run_path("hotcb.lock"), O_RDONLY | O_CLOEXEC));
    for (int i = 0; i < 2; i++) {
        int status;
        usleep(300000); /* the lock is looked after four times a second */
        run_steps(&r, 1, 1);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            hotcb *other = NULL;
            int code = hotcb_open(&other, &r.opt);
            _exit(code == HOTCB_EBUSY ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(unlink(run_path("hotcb.lock")), 0);
    }
    run_release(&r);
}

/* Trouble with the lock alone is told as that, also once it is over. */
static void test_lock_comes_back(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_steps(&r, 0, 0);
    assert_int_equal(unlink(run_path("hotcb.lock")), 0);
    assert_int_equal(mkdir(run_path("hotcb.lock"), 0777), 0);
    usleep(300000);
    run_steps(&r, 1, 2);
    assert_int_equal(run_logged(&r, "nothing is read or written until it is free"), 1);
    assert_int_equal(rmdir(run_path("hotcb.lock")), 0);
    run_steps(&r, 3, 4);
    assert_int_equal(run_logged(&r, "/run/hotcb.lock is held again: looking and writing go on"), 1);
    assert_int_equal(run_logged(&r, "is there again"), 0);

    assert_int_equal(rename(run_path(""), scratch("away")), 0);
    run_steps(&r, 5, 5);
    assert_int_equal(rename(scratch("away"), r.dir), 0);
    run_steps(&r, 6, 7);
    assert_int_equal(run_logged(&r, "/run is there again: looking and writing go on"), 1);
    run_release(&r);
}

/* A command file that was rewritten repeats what was answered; its ids tell. */
static void test_rewritten_commands(void **state)
{
    static const char line[] =
        "{\"op\":\"set_params\",\"id\":\"a\",\"params\":{\"a\":%d},\"cmd\":\"c%d\"}\n";
    struct run r;
    char text[400];
    (void)state;
    start_two(&r);
    run_load(&r, "a", two);
    snprintf(text, sizeof(text), line, 2, 2);
    scratch_append(run_path("hotcb.commands.jsonl"), text);
    assert_says(&r, "a: 2 1\n");
    snprintf(text, sizeof(text), line, 3, 3);
    scratch_append(run_path("hotcb.commands.jsonl"), text);
    assert_says(&r, "a: 3 1\n");
    snprintf(text, sizeof(text), line, 2, 2);
    scratch_replace(run_path("hotcb.commands.jsonl"), text); /* the last line was deleted */
    assert_says(&r, "a: 3 1\n");
    assert_int_equal(run_logged(&r, "-: 1 commands in it were answered before"), 1);
    snprintf(text, sizeof(text), line, 4, 4);
    scratch_append(run_path("hotcb.commands.jsonl"), text);
    assert_says(&r, "a: 4 1\n");
    run_release(&r);
}

/* One that is written anew in place, and is looked at meanwhile, repeats them in pieces. */
static void test_rewritten_in_pieces(void **state)
{
    struct run r;
    (void)state;
    start_two(&r);
    for (int again = 0; again < 2; again++) {
        scratch_write(run_path("hotcb.commands.jsonl"), "");
        run_steps(&r, 1, 2);
        for (int i = 0; i < 4; i++) {
            char text[100];
            snprintf(text, sizeof(text), "{\"op\":\"enable\",\"id\":\"a\",\"cmd\":\"c%d\"}\n", i);
            scratch_append(run_path("hotcb.commands.jsonl"), text);
            run_steps(&r, 3, 4);
        }
    }
    char *ledger = file_read("run/hotcb.applied.jsonl");
    assert_int_equal(count_of(ledger, "\"cmd\""), 4);
    free(ledger);
    run_release(&r);
}

/* As long as it cannot be saved that the file begins anew, nothing of it is taken in. */
static void test_restart_that_cannot_be_saved(void **state)
{
    struct run r;
    (void)state;
    start_two(&r);
    run_load(&r, "a", two);
    scratch_append(run_path("hotcb.commands.jsonl"), "{\"op\":\"enable\",\"id\":\"a\"}\n");
    assert_says(&r, "a: 1 1\n");
    assert_int_equal(unlink(run_path("hotcb.state.json")), 0);
    assert_int_equal(mkdir(run_path("hotcb.state.json"), 0777), 0);
    scratch_write(run_path("hotcb.commands.jsonl"), "{\"op\":\"disable\",\"id\":\"a\"}\n");
    scratch_write(run_path("hotcb.commands.jsonl"), "");
    run_steps(&r, 100, 100);
    scratch_append(run_path("hotcb.commands.jsonl"), "{\"op\":\"disable\",\"id\":\"a\"}\n");
    run_steps(&r, 101, 103);
    assert_int_equal(run_logged(&r, "a: 1 1\n"), 4 + 1);
    assert_int_equal(rmdir(run_path("hotcb.state.json")), 0);
    hcb_buf_reset(&r.log);
    run_steps(&r, 104, 105);
    assert_int_equal(run_logged(&r, "-: disable a (command): applied"), 1);
    assert_int_equal(run_logged(&r, "a: 1 1\n"), 0);
    run_release(&r);
}

/* A limit on file sizes costs an artifact, not the run. */
static void test_file_size_limit(void **state)
{
    int status;
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct run r;
        const struct rlimit limit = {100000, 100000};
        setrlimit(RLIMIT_FSIZE, &limit);
        run_start(&r);
        run_load(&r, "a", "function handle() hotcb.artifact('b', ('x'):rep(160000)) end");
        run_steps(&r, 0, 2);
        _exit(run_logged(&r, "artifact not written") == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_refused_keys_of_the_config),
        WITH_SCRATCH(test_refused_keys_and_the_script),
        WITH_SCRATCH(test_renamed_parameter),
        WITH_SCRATCH(test_limits_of_what_did_not_load),
        WITH_SCRATCH(test_lock_is_kept),
        WITH_SCRATCH(test_lock_comes_back),
        WITH_SCRATCH(test_rewritten_commands),
        WITH_SCRATCH(test_rewritten_in_pieces),
        WITH_SCRATCH(test_restart_that_cannot_be_saved),
        WITH_SCRATCH(test_file_size_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
