/* Where the files of a run directory are. */
#include "control/rundir.h"

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void check_path(const char *got, const char *relative)
{
    char *want = hcb_path_absolute(relative);
    assert_string_equal(got, want);
    free(want);
}

static void test_usual(void **state)
{
    struct hcb_rundir r;
    (void)state;
    assert_true(hcb_rundir_init(&r, "runs/exp1", NULL, NULL));
    check_path(r.dir, "runs/exp1");
    check_path(r.config, "runs/exp1/hotcb.yaml");
    check_path(r.commands, "runs/exp1/hotcb.commands.jsonl");
    check_path(r.ledger, "runs/exp1/hotcb.applied.jsonl");
    check_path(r.status, "runs/exp1/hotcb.status.json");
    check_path(r.state, "runs/exp1/hotcb.state.json");
    check_path(r.metrics, "runs/exp1/hotcb.metrics.jsonl");
    check_path(r.media, "runs/exp1/hotcb.media.jsonl");
    check_path(r.log, "runs/exp1/hotcb.log");
    check_path(r.lock, "runs/exp1/hotcb.lock");
    check_path(r.artifacts, "runs/exp1/artifacts");
    hcb_rundir_release(&r);
}

/* Places of their own are relative to the process, not to the run directory. */
static void test_own_places(void **state)
{
    struct hcb_rundir r;
    (void)state;
    assert_true(hcb_rundir_init(&r, "/runs", "conf/a.yaml", "/x/c.jsonl"));
    assert_string_equal(r.dir, "/runs");
    check_path(r.config, "conf/a.yaml");
    assert_string_equal(r.commands, "/x/c.jsonl");
    assert_string_equal(r.log, "/runs/hotcb.log");
    hcb_rundir_release(&r);
    hcb_rundir_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual),
        cmocka_unit_test(test_own_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
