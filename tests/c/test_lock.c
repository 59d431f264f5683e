/* One owner per lock file: across processes, within one, and after a fork. */
#include "base/lock.h"
#include "files.h"

#include <sys/wait.h>

/* Runs `what` in a child and returns its exit status. */
static int in_child(int (*what)(void))
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(what());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int try_to_take(void)
{
    struct hcb_lock lock;
    struct hcb_err err = {0};
    char pid[64];
    int rc = hcb_lock_take(&lock, scratch("lock"), "child\n", &err);
    if (rc == 0)
        return 0;
    snprintf(pid, sizeof(pid), "process %ld:", (long)getppid());
    return rc == HOTCB_EBUSY && lock.fd == -1 && strstr(err.text, pid) ? 1 : 2;
}

static int owner_is_parent(void)
{
    return hcb_lock_owner(scratch("lock")) == (int64_t)getppid();
}

static int owner_is_nobody(void)
{
    return hcb_lock_owner(scratch("lock")) == 0;
}

static void test_two_processes(void **state)
{
    (void)state;
    struct hcb_lock lock;
    assert_int_equal(hcb_lock_take(&lock, scratch("lock"), "me\n", NULL), 0);
    assert_false(lock.advisory_only);
    assert_file("lock", "me\n"); /* its fclose() costs us the lock, so it is taken again */
    hcb_lock_drop(&lock);
    assert_int_equal(hcb_lock_take(&lock, scratch("lock"), "me again\n", NULL), 0);
    assert_int_equal(in_child(try_to_take), 1);
    assert_int_equal(in_child(owner_is_parent), 1);
    assert_int_equal(in_child(try_to_take), 1); /* asking took nothing away */
    hcb_lock_drop(&lock);
    assert_int_equal(lock.fd, -1);
    hcb_lock_drop(&lock);
    assert_int_equal(in_child(owner_is_nobody), 1);
    assert_int_equal(in_child(try_to_take), 0);
}

static void test_the_same_process_twice(void **state)
{
    (void)state;
    struct hcb_lock first, second;
    struct hcb_err err = {0};
    char pid[64];
    assert_int_equal(hcb_lock_take(&first, scratch("lock"), "first\n", NULL), 0);
    assert_int_equal(symlink("lock", scratch("link")), 0);
    assert_int_equal(hcb_lock_take(&second, scratch("lock"), "second\n", &err), HOTCB_EBUSY);
    snprintf(pid, sizeof(pid), "this process (%ld)", (long)getpid());
    assert_non_null(strstr(err.text, pid));
    assert_int_equal(hcb_lock_take(&second, scratch("link"), "second\n", &err), HOTCB_EBUSY);
    assert_int_equal(hcb_lock_owner(scratch("lock")), getpid());
    /* Neither the refusals nor the question have cost the first its lock. */
    assert_int_equal(in_child(try_to_take), 1);
    hcb_lock_drop(&second);
    assert_int_equal(in_child(try_to_take), 1);
    hcb_lock_drop(&first);
    assert_int_equal(hcb_lock_take(&second, scratch("lock"), "second\n", NULL), 0);
    hcb_lock_drop(&second);
}

static struct hcb_lock inherited;

static int drop_inherited(void)
{
    hcb_lock_drop(&inherited);
    return try_to_take();
}

static int take_another(void)
{
    struct hcb_lock lock;
    int rc = hcb_lock_take(&lock, scratch("other"), "x\n", NULL);
    hcb_lock_drop(&lock);
    return rc;
}

static void test_a_forked_child_is_not_the_owner(void **state)
{
    (void)state;
    assert_int_equal(hcb_lock_take(&inherited, scratch("lock"), "parent\n", NULL), 0);
    assert_int_equal(in_child(drop_inherited), 1);
    assert_int_equal(in_child(take_another), 0);
    assert_int_equal(in_child(try_to_take), 1); /* the parent still has it */
    hcb_lock_drop(&inherited);
}

static int take_and_die(void)
{
    struct hcb_lock lock;
    return hcb_lock_take(&lock, scratch("lock"), "dead\n", NULL);
}

static void test_the_dead_hold_nothing(void **state)
{
    (void)state;
    struct hcb_lock lock;
    assert_int_equal(in_child(take_and_die), 0);
    assert_file("lock", "dead\n");
    assert_int_equal(hcb_lock_owner(scratch("lock")), 0);
    assert_int_equal(hcb_lock_take(&lock, scratch("lock"), "alive\n", NULL), 0);
    hcb_lock_drop(&lock);
}

static void test_two_files(void **state)
{
    (void)state;
    struct hcb_lock a, b;
    assert_int_equal(hcb_lock_take(&a, scratch("a"), "", NULL), 0);
    assert_int_equal(hcb_lock_take(&b, scratch("b"), "", NULL), 0);
    hcb_lock_drop(&a);
    assert_int_equal(hcb_lock_owner(scratch("a")), 0);
    assert_int_equal(hcb_lock_owner(scratch("b")), getpid());
    hcb_lock_drop(&b);
}

/* The directory was deleted and made anew: the new file is another lock. */
static void test_a_replaced_file(void **state)
{
    (void)state;
    struct hcb_lock old, new;
    assert_int_equal(hcb_lock_take(&old, scratch("lock"), "old\n", NULL), 0);
    assert_int_equal(unlink(scratch("lock")), 0);
    assert_int_equal(hcb_lock_owner(scratch("lock")), 0);
    assert_int_equal(hcb_lock_take(&new, scratch("lock"), "new\n", NULL), 0);
    hcb_lock_drop(&old);
    assert_int_equal(in_child(try_to_take), 1);
    hcb_lock_drop(&new);
}

static void test_what_can_not_be_locked(void **state)
{
    (void)state;
    struct hcb_lock lock;
    struct hcb_err err = {0};
    scratch_write(scratch("f"), "untouched");
    assert_int_equal(symlink("f", scratch("link")), 0);
    assert_int_equal(hcb_lock_take(&lock, scratch("link"), "x", &err), HOTCB_EIO);
    assert_int_equal(hcb_lock_take(&lock, scratch("no/lock"), "x", &err), HOTCB_ENOENT);
    assert_int_equal(hcb_lock_take(&lock, scratch_dir, "x", &err), HOTCB_EIO);
    assert_int_equal(lock.fd, -1);
    assert_file("f", "untouched");
    assert_int_equal(hcb_lock_owner(scratch("no/lock")), 0);
    assert_int_equal(hcb_lock_owner(scratch("missing")), 0);
    assert_false(file_exists("missing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_two_processes),
        WITH_SCRATCH(test_the_same_process_twice),
        WITH_SCRATCH(test_a_forked_child_is_not_the_owner),
        WITH_SCRATCH(test_the_dead_hold_nothing),
        WITH_SCRATCH(test_two_files),
        WITH_SCRATCH(test_a_replaced_file),
        WITH_SCRATCH(test_what_can_not_be_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
