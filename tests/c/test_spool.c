/* Files of lines with a cap: never past it, whole lines only, trouble said once. */
#include "base/spool.h"
#include "files.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* The lines of both parts: each "line N" of N following N, none torn. Returns
 * how many there are. */
static int assert_sane(const struct hcb_spool *s, const char *name)
{
    char old[64];
    snprintf(old, sizeof(old), "%s.1", name);
    char *parts[] = {file_read(old), file_read(name)};
    size_t bytes = 0;
    int count = 0, last = -1;
    for (int i = 0; i < 2; i++) {
        if (!parts[i])
            continue;
        bytes += strlen(parts[i]);
        for (char *line = parts[i], *end; *line; line = end + 1) {
            int n;
            end = strchr(line, '\n');
            assert_non_null(end);
            assert_int_equal(sscanf(line, "line %d", &n), 1);
            assert_true(last < 0 || n == last + 1);
            last = n;
            count++;
        }
        free(parts[i]);
    }
    assert_true((int64_t)bytes <= s->cap);
    return count;
}

static void test_the_cap(void **state)
{
    (void)state;
    struct hcb_spool s;
    assert_int_equal(hcb_spool_open(&s, scratch("log"), 400, NULL), 0);
    for (int i = 0; i < 200; i++) {
        char line[128];
        int n = snprintf(line, sizeof(line), "line %d %*s\n", i, i % 60, "");
        assert_int_equal(hcb_spool_write(&s, line, (size_t)n, NULL), 0);
        assert_int_equal(assert_sane(&s, "log") + s.dropped, i + 1);
    }
    assert_true(s.dropped > 0);
    hcb_spool_close(&s);
    assert_int_equal(entry_count("."), 2);
}

static void test_batches_part_between_lines(void **state)
{
    (void)state;
    struct hcb_spool s;
    struct hcb_buf b = {0};
    int next = 0;
    assert_int_equal(hcb_spool_open(&s, scratch("log"), 300, NULL), 0);
    for (int size = 1; size < 60; size++) {
        hcb_buf_reset(&b);
        for (int i = 0; i < size; i++)
            hcb_buf_printf(&b, "line %d\n", next++);
        assert_int_equal(hcb_spool_write(&s, b.data, b.len, NULL), 0);
        assert_int_equal(assert_sane(&s, "log") + s.dropped, next);
    }
    hcb_buf_release(&b);
    hcb_spool_close(&s);
}

static void test_a_line_longer_than_a_part(void **state)
{
    (void)state;
    struct hcb_spool s;
    char text[200];
    memset(text, 'x', sizeof(text));
    memcpy(text, "line 1\n", 7);
    memcpy(text + 192, "\nline 2\n", 8);
    assert_int_equal(hcb_spool_open(&s, scratch("log"), 100, NULL), 0);
    assert_int_equal(hcb_spool_write(&s, text, sizeof(text), NULL), 0);
    assert_int_equal(s.dropped, 1);
    assert_file("log", "line 1\nline 2\n");
    hcb_spool_close(&s);
}

static void test_what_is_there_is_kept(void **state)
{
    (void)state;
    struct hcb_spool s;
    scratch_write(scratch("log"), "line 1\nline 2 to");
    assert_int_equal(hcb_spool_open(&s, scratch("log"), 1000, NULL), 0);
    hcb_spool_write(&s, "line 3\n", 7, NULL);
    assert_file("log", "line 1\nline 2 to\nline 3\n");
    assert_int_equal(s.size, 24);
    hcb_spool_close(&s);
}

/* An older run with a larger cap left a file that is over ours. */
static void test_what_is_there_is_too_large(void **state)
{
    (void)state;
    struct hcb_spool s;
    char text[400];
    memset(text, 'x', sizeof(text));
    text[399] = '\0';
    scratch_write(scratch("log"), text);
    assert_int_equal(hcb_spool_open(&s, scratch("log"), 100, NULL), 0);
    hcb_spool_write(&s, "line 1\n", 7, NULL);
    assert_file("log", "line 1\n");
    assert_true(file_exists("log.1"));
    hcb_spool_close(&s);
}

static void test_a_directory_that_goes_and_comes(void **state)
{
    (void)state;
    struct hcb_spool s;
    struct hcb_err err = {0};
    assert_int_equal(mkdir(scratch("run"), 0777), 0);
    assert_int_equal(hcb_spool_open(&s, scratch("run/log"), 1000, NULL), 0);
    hcb_spool_write(&s, "line 1\n", 7, NULL);
    unlink(scratch("run/log"));
    rmdir(scratch("run"));
    hcb_spool_reopen(&s);
    assert_int_equal(hcb_spool_write(&s, "line 2\n", 7, &err), HOTCB_ENOENT);
    assert_non_null(strstr(err.text, "lines are dropped until it can be written again"));
    assert_true(s.trouble);
    assert_int_equal(hcb_spool_write(&s, "line 3\nline 4\n", 14, &err), 0);
    assert_int_equal(s.dropped, 3);
    assert_int_equal(mkdir(scratch("run"), 0777), 0);
    assert_int_equal(hcb_spool_write(&s, "line 5\n", 7, &err), 0);
    assert_false(s.trouble);
    assert_file("run/log", "line 5\n");
    hcb_spool_close(&s);
}

/* Here when a part is full, before a look could have told of it. */
static void test_a_file_that_goes(void **state)
{
    (void)state;
    struct hcb_spool s;
    assert_int_equal(hcb_spool_open(&s, scratch("log"), 28, NULL), 0);
    for (int i = 1; i <= 4; i++)
        hcb_spool_write(&s, "line 1\n", 7, NULL);
    unlink(scratch("log"));
    assert_int_equal(hcb_spool_write(&s, "line 5\n", 7, NULL), 0);
    assert_false(s.trouble);
    assert_int_equal(s.dropped, 0);
    assert_file("log", "line 5\n");
    assert_file("log.1", "line 1\nline 1\n");
    hcb_spool_write(&s, "line 6\nline 7\n", 14, NULL);
    assert_int_equal(s.dropped, 2);
    assert_file("log.1", "line 5\nline 6\n");
    hcb_spool_close(&s);
}

static void test_links_are_refused(void **state)
{
    (void)state;
    struct hcb_spool s;
    struct hcb_err err = {0};
    scratch_write(scratch("target"), "untouched");
    assert_int_equal(symlink("target", scratch("log")), 0);
    assert_int_equal(hcb_spool_open(&s, scratch("log"), 1000, &err), HOTCB_EIO);
    assert_int_equal(hcb_spool_write(&s, "x\n", 2, NULL), HOTCB_EINVAL);
    hcb_spool_close(&s);
    assert_file("target", "untouched");
}

/* In a child whose files may not grow past 20 bytes, as on a full disk. */
static int fill_the_disk(void)
{
    struct rlimit small = {20, 1000}, large = {1000, 1000};
    struct hcb_spool s;
    signal(SIGXFSZ, SIG_IGN);
    if (hcb_spool_open(&s, scratch("log"), 1000, NULL) != 0 || setrlimit(RLIMIT_FSIZE, &small))
        return 1;
    if (hcb_spool_write(&s, "line 1\n", 7, NULL) || hcb_spool_write(&s, "line 2\n", 7, NULL))
        return 2;
    if (hcb_spool_write(&s, "line 3\n", 7, NULL) != HOTCB_EIO || !s.trouble)
        return 3;
    if (hcb_spool_write(&s, "line 3\n", 7, NULL) != 0 || s.dropped != 2)
        return 4;
    setrlimit(RLIMIT_FSIZE, &large);
    if (hcb_spool_write(&s, "line 3\n", 7, NULL) != 0 || s.trouble)
        return 5;
    hcb_spool_close(&s);
    return 0;
}

static void test_a_full_disk(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(fill_the_disk());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_file("log", "line 1\nline 2\nline 3\n");
}

/* The disk has room for some lines of a batch: those are there, in order, and the others are
 * counted. */
static int fill_the_disk_by_batches(rlim_t room)
{
    const struct rlimit small = {room, 1000}, large = {1000, 1000};
    static const char batch[] = "line 1\nline 2\nline 3\nline 4\nline 5\n";
    struct hcb_spool s;
    struct hcb_err err = {0};
    int64_t fit = (int64_t)(room / 7) - 1;
    if (hcb_spool_open(&s, scratch("log"), 1000, NULL) != 0 || setrlimit(RLIMIT_FSIZE, &small))
        return 1;
    if (hcb_spool_write(&s, "line 0\n", 7, NULL) != 0)
        return 2;
    if (hcb_spool_write(&s, batch, sizeof(batch) - 1, &err) != (fit < 5 ? HOTCB_EIO : 0))
        return 3;
    if (s.lost != 5 - fit || s.dropped != 5 - fit || s.lines != 1 + fit)
        return 4;
    setrlimit(RLIMIT_FSIZE, &large);
    if (hcb_spool_write(&s, "line 6\nline 7\n", 14, NULL) != 0 || s.trouble)
        return 5;
    hcb_spool_close(&s);
    return 0;
}

static void test_a_batch_on_a_full_disk(void **state)
{
    static const char all[] = "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\n";
    (void)state;
    for (rlim_t room = 7; room <= 42; room++) {
        int status;
        char expected[100];
        snprintf(expected, sizeof(expected), "%.*sline 6\nline 7\n", (int)(room / 7 * 7), all);
        unlink(scratch("log"));
        pid_t child = fork();
        if (child == 0)
            _exit(fill_the_disk_by_batches(room));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_file("log", expected);
    }
}

/* The disk is full when a process begins, and the last one left half a line. */
static int begin_on_a_full_disk(void)
{
    const struct rlimit small = {10, 1000}, large = {1000, 1000};
    struct hcb_spool s;
    struct hcb_err err = {0};
    scratch_write(scratch("log"), "line 1\nlin");
    setrlimit(RLIMIT_FSIZE, &small);
    if (hcb_spool_open(&s, scratch("log"), 1000, &err) != 0)
        return 1;
    if (hcb_spool_write(&s, "line 2\n", 7, &err) != HOTCB_EIO || s.dropped != 1)
        return 2;
    if (hcb_spool_write(&s, "line 3\n", 7, &err) != 0 || s.lost != 2)
        return 3;
    setrlimit(RLIMIT_FSIZE, &large);
    if (hcb_spool_write(&s, "line 4\n", 7, &err) != 0 || s.trouble || s.lost != 2)
        return 4;
    hcb_spool_close(&s);
    return 0;
}

static void test_a_full_disk_at_first(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(begin_on_a_full_disk());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_file("log", "line 1\nlin\nline 4\n");
}

/* How many lines trouble cost is said of that trouble alone. */
static void test_what_one_trouble_costs(void **state)
{
    (void)state;
    struct hcb_spool s;
    struct hcb_err err = {0};
    mkdir(scratch("run"), 0777);
    assert_int_equal(hcb_spool_open(&s, scratch("run/log"), 60, NULL), 0);
    for (int i = 0; i < 40; i++)
        assert_int_equal(hcb_spool_write(&s, "line\n", 5, NULL), 0);
    int64_t rotated = s.dropped;
    assert_true(rotated > 20);
    mkdir(scratch("run/log.1.aside"), 0777);
    rename(scratch("run/log.1"), scratch("run/log.1.old"));
    rename(scratch("run/log.1.aside"), scratch("run/log.1")); /* in the way of the rotation */
    int failed = 0;
    for (int i = 0; i < 20; i++)
        failed += hcb_spool_write(&s, "line\n", 5, &err) < 0;
    assert_int_equal(failed, 1);
    assert_true(s.lost > 10 && s.lost < 20);
    assert_int_equal(s.dropped, rotated + s.lost);
    rmdir(scratch("run/log.1"));
    assert_int_equal(hcb_spool_write(&s, "line\n", 5, &err), 0);
    assert_false(s.trouble);
    hcb_spool_close(&s);
}

/* While the directory is somebody else's, or gone, nothing is written, or said. */
static void test_hold(void **state)
{
    (void)state;
    struct hcb_spool s;
    assert_int_equal(hcb_spool_open(&s, scratch("log"), 30, NULL), 0);
    hcb_spool_write(&s, "line 1\n", 7, NULL);
    hcb_spool_hold(&s);
    for (int i = 0; i < 10; i++)
        assert_int_equal(hcb_spool_write(&s, "line 2\nline 3\n", 14, NULL), 0);
    assert_int_equal(s.dropped, 20);
    assert_file("log", "line 1\n");
    assert_false(file_exists("log.1"));
    hcb_spool_reopen(&s);
    assert_int_equal(hcb_spool_write(&s, "line 4\n", 7, NULL), 0);
    assert_file("log", "line 1\nline 4\n");
    assert_int_equal(s.dropped, 20);
    hcb_spool_close(&s);
}

/* A process for each line: the cap is one of the file, not of the process. */
static void test_restarts(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct hcb_spool s;
        char line[64];
        int n = snprintf(line, sizeof(line), "line %d %*s\n", i, i % 30, "");
        assert_int_equal(hcb_spool_open(&s, scratch("log"), 200, NULL), 0);
        assert_int_equal(hcb_spool_write(&s, line, (size_t)n, NULL), 0);
        assert_true(assert_sane(&s, "log") > (i < 2 ? i : 2));
        hcb_spool_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_the_cap),
        WITH_SCRATCH(test_batches_part_between_lines),
        WITH_SCRATCH(test_a_line_longer_than_a_part),
        WITH_SCRATCH(test_what_is_there_is_kept),
        WITH_SCRATCH(test_what_is_there_is_too_large),
        WITH_SCRATCH(test_a_directory_that_goes_and_comes),
        WITH_SCRATCH(test_a_file_that_goes),
        WITH_SCRATCH(test_links_are_refused),
        WITH_SCRATCH(test_a_full_disk),
        WITH_SCRATCH(test_a_batch_on_a_full_disk),
        WITH_SCRATCH(test_a_full_disk_at_first),
        WITH_SCRATCH(test_what_one_trouble_costs),
        WITH_SCRATCH(test_hold),
        WITH_SCRATCH(test_restarts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
