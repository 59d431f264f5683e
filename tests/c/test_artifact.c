/* Artifacts stay below their directory; metrics lines have their form. */
#include "files.h"
#include "sink/artifact.h"
#include "sink/metrics.h"

#include <math.h>

struct name_row {
    const char *name;
    size_t n;
    const char *says; /* NULL: it is fine */
};

static const struct name_row name_rows[] = {
    {"a", 1, NULL},
    {"plots/loss.png", 14, NULL},
    {"...", 3, NULL},
    {"a b/\xc3\xa9", 6, NULL},
    {"", 0, "is empty"},
    {"/etc/passwd", 11, "begins with '/'"},
    {"..", 2, "has \".\" or \"..\""},
    {"../x", 4, "has \".\" or \"..\""},
    {"a/../../x", 9, "has \".\" or \"..\""},
    {"a/..", 4, "has \".\" or \"..\""},
    {"./a", 3, "has \".\" or \"..\""},
    {"a//b", 4, "has an empty component"},
    {"a/", 2, "has an empty component"},
    {"a\0b", 3, "has a control character"},
    {"a\nb", 3, "artifact \"a\\nb\" has a control character: name a file below artifacts/"},
    {"a\xff", 2, "is not valid UTF-8"},
};

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(name_rows) / sizeof(name_rows[0]); i++) {
        struct hcb_err err = {0};
        int rc = hcb_artifact_check(name_rows[i].name, name_rows[i].n, &err);
        assert_int_equal(rc, name_rows[i].says ? HOTCB_EREFUSED : 0);
        if (name_rows[i].says && !strstr(err.text, name_rows[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.text, name_rows[i].says);
    }
    char large[300];
    memset(large, 'a', sizeof(large));
    assert_int_equal(hcb_artifact_check(large, 200, NULL), 0);
    assert_int_equal(hcb_artifact_check(large, 201, NULL), HOTCB_EREFUSED);
}

static int put(const char *id, const char *name, const char *text, bool append,
               struct hcb_err *err)
{
    return hcb_artifact_write(scratch("artifacts"), id, name, text, strlen(text), append, err);
}

static void test_write(void **state)
{
    (void)state;
    assert_int_equal(put("x", "a.txt", "one", false, NULL), 0);
    assert_int_equal(put("x", "a.txt", "two", false, NULL), 0);
    assert_file("artifacts/x/a.txt", "two");
    assert_int_equal(put("x", "deep/er/b", "1\n", true, NULL), 0);
    assert_int_equal(put("x", "deep/er/b", "2\n", true, NULL), 0);
    assert_file("artifacts/x/deep/er/b", "1\n2\n");
    assert_int_equal(put("x", "empty", "", false, NULL), 0);
    assert_file("artifacts/x/empty", "");
    assert_int_equal(entry_count("artifacts/x"), 3);
}

static void test_bad_names_write_nothing(void **state)
{
    (void)state;
    assert_int_equal(put("x", "../../out", "x", false, NULL), HOTCB_EREFUSED);
    assert_int_equal(put("..", "out", "x", false, NULL), HOTCB_EFORMAT);
    assert_int_equal(put("a/b", "out", "x", true, NULL), HOTCB_EFORMAT);
    assert_int_equal(entry_count("."), 0);
}

struct link_row {
    const char *link, *to; /* the link that somebody put there */
    const char *name;      /* what a callback then writes */
};

static void test_links_lead_nowhere(void **state)
{
    static const struct link_row rows[] = {
        {"artifacts/x/dir", "../../outside", "dir/victim"},
        {"artifacts/x/dir", "../../outside", "dir/deep/new"},
        {"artifacts/x/dir", "real", "dir/f"}, /* though it would stay inside */
        {"artifacts/x", "../outside", "victim"},
        {"artifacts", "outside", "victim"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int append = 0; append < 2; append++) {
            struct hcb_err err = {0};
            assert_int_equal(scratch_make(NULL), 0);
            mkdir(scratch("outside"), 0777);
            scratch_write(scratch("outside/victim"), "untouched");
            if (strchr(rows[i].link, '/'))
                mkdir(scratch("artifacts"), 0777);
            if (strstr(rows[i].link, "x/"))
                mkdir(scratch("artifacts/x"), 0777);
            assert_int_equal(symlink(rows[i].to, scratch(rows[i].link)), 0);
            assert_int_equal(put("x", rows[i].name, "evil", append, &err), HOTCB_EIO);
            assert_non_null(strstr(err.text, "links are not followed"));
            assert_file("outside/victim", "untouched");
            assert_int_equal(entry_count("outside"), 1);
            assert_int_equal(scratch_drop(NULL), 0);
        }
    }
}

static void test_a_link_at_the_end(void **state)
{
    (void)state;
    struct hcb_err err = {0};
    scratch_write(scratch("victim"), "untouched");
    assert_int_equal(put("x", "other", "", false, NULL), 0);
    assert_int_equal(symlink("../../victim", scratch("artifacts/x/f")), 0);
    assert_int_equal(put("x", "f", "evil", true, &err), HOTCB_EIO);
    assert_non_null(strstr(err.text, "links are not followed"));
    assert_int_equal(put("x", "f", "good", false, NULL), 0); /* replaces the link */
    assert_file("artifacts/x/f", "good");
    assert_file("victim", "untouched");
}

static void test_what_is_in_the_way(void **state)
{
    (void)state;
    struct hcb_err err = {0};
    assert_int_equal(put("x", "a", "file", false, NULL), 0);
    assert_int_equal(put("x", "a/b", "x", false, &err), HOTCB_EIO);
    assert_non_null(strstr(err.text, "cannot write a/b: a is a link or no directory"));
    assert_int_equal(put("x", "d/f", "file", false, NULL), 0);
    assert_int_equal(put("x", "d", "x", false, NULL), HOTCB_EIO);
    assert_int_equal(put("x", "d", "x", true, NULL), HOTCB_EIO);
    assert_int_equal(mkfifo(scratch("artifacts/x/fifo"), 0666), 0);
    assert_int_equal(put("x", "fifo", "x", true, NULL), HOTCB_EIO);
    assert_int_equal(entry_count("artifacts/x"), 3);
}

struct metrics_row {
    struct hcb_scalar_line line;
    const char *expected;
};

/* What artifacts/ is in was deleted: it must not come back by this. */
static void test_no_run_directory(void **state)
{
    (void)state;
    assert_int_equal(hcb_artifact_write(scratch("gone/artifacts"), "x", "f", "", 0, false, NULL),
                     HOTCB_ENOENT);
    assert_false(file_exists("gone"));
}

static void test_metrics(void **state)
{
    const struct metrics_row rows[] = {
        {{.run = "r1", .id = "timing", .key = "step_ms", .key_len = 7, .has_step = true,
          .step = 41180, .d = 3.1, .wall = 1767225600.1231},
         "{\"step\":41180,\"time\":1767225600.123,\"run\":\"r1\",\"id\":\"timing\","
         "\"key\":\"step_ms\",\"value\":3.1}\n"},
        {{.run = "r1", .id = "a", .key = "n\nx", .key_len = 1, .is_int = true, .i = INT64_MIN,
          .d = 1, .wall = 5},
         "{\"step\":null,\"time\":5.0,\"run\":\"r1\",\"id\":\"a\",\"key\":\"n\","
         "\"value\":-9223372036854775808}\n"},
        {{.run = "r1", .id = "a", .key = "n", .key_len = 1, .d = NAN, .wall = 5},
         "{\"step\":null,\"time\":5.0,\"run\":\"r1\",\"id\":\"a\",\"key\":\"n\","
         "\"value\":\"NaN\"}\n"},
        {{.run = "r1", .id = "a", .key = "n", .key_len = 1, .d = -INFINITY, .wall = 5},
         "{\"step\":null,\"time\":5.0,\"run\":\"r1\",\"id\":\"a\",\"key\":\"n\","
         "\"value\":\"-Infinity\"}\n"},
    };
    (void)state;
    struct hcb_buf all = {0}, expected = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hcb_metrics_format(&all, &rows[i].line);
        hcb_buf_str(&expected, rows[i].expected);
        assert_string_equal(hcb_buf_text(&all), hcb_buf_text(&expected));
    }
    hcb_buf_release(&all);
    hcb_buf_release(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        WITH_SCRATCH(test_write),
        WITH_SCRATCH(test_bad_names_write_nothing),
        cmocka_unit_test(test_links_lead_nowhere),
        WITH_SCRATCH(test_a_link_at_the_end),
        WITH_SCRATCH(test_what_is_in_the_way),
        WITH_SCRATCH(test_no_run_directory),
        cmocka_unit_test(test_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
