/* Has the content of a file changed? Editors that rename, truncate or touch, links
 * that are swapped, and saves that stat does not see. */
#include "control/watch.h"

#include "scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SECOND INT64_C(1000000000)

/* Steps: w write in place, k the same with the old mtime put back, r replace by
 * rename, d delete, m make a directory, D remove it, t touch, L link to, '+' let
 * three seconds pass, c check. A check gives the new content in brackets, or
 * '.' same, 'G' gone, '!' an error. */
static const struct row {
    const char *name;
    const char *steps[12];
    const char *want;
} rows[] = {
    {"never there", {"c", "c"}, ".."},
    {"there", {"wv1", "c", "c", "+", "c"}, "[v1].."},
    {"written in place", {"wv1", "c", "+", "wv2", "c", "c"}, "[v1][v2]."},
    {"saved by rename, three times",
     {"wv1", "c", "rv2", "c", "+", "rv3", "c", "+", "rv4", "c", "c"}, "[v1][v2][v3][v4]."},
    {"saved by rename with the same content", {"wv1", "c", "+", "rv1", "c", "c"}, "[v1].."},
    {"same size and mtime", {"wv1", "c", "+", "kv2", "c", "c"}, "[v1][v2]."},
    {"same size at once", {"wv1", "c", "wv2", "c", "wv3", "c"}, "[v1][v2][v3]"},
    {"touched", {"wv1", "c", "+", "t", "c", "+", "t", "c"}, "[v1].."},
    {"truncated, then written", {"wv1", "c", "+", "w", "c", "c", "wv2", "c"}, "[v1][].[v2]"},
    {"truncated, then as before", {"wv1", "c", "+", "w", "c", "wv1", "c"}, "[v1][][v1]"},
    {"gone, and back as before", {"wv1", "c", "d", "c", "c", "wv1", "c"}, "[v1]G.."},
    {"gone, and back with another", {"wv1", "c", "d", "c", "wv2", "c"}, "[v1]G[v2]"},
    {"gone unseen", {"wv1", "c", "d", "wv2", "c"}, "[v1][v2]"},
    {"a link swapped", {"La", "c", "+", "Lb", "c", "c"}, "[content of a][content of b]."},
    {"a link to nothing", {"La", "c", "Lnowhere", "c", "c", "La", "c"}, "[content of a]G.."},
    {"a directory", {"m", "c", "c", "+", "c", "D", "c", "wv1", "c"}, "!..G[v1]"},
    {"a directory for a while", {"wv1", "c", "d", "m", "c", "c", "D", "wv1", "c"}, "[v1]!.."},
    {"too large", {"wv1", "c", "w0123456789abcdefg", "c", "c", "+", "c", "wv2", "c"},
     "[v1]!..[v2]"},
    {"too large again", {"w0123456789abcdefg", "c", "wv1", "c", "w0123456789abcdefg", "c"},
     "![v1]!"},
    {"as large as can be", {"w0123456789abcdef", "c"}, "[0123456789abcdef]"},
};

static struct hcb_notice *notice; /* or NULL */

static void write_with_old_mtime(const char *path, const char *text)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    scratch_write(path, text);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void link_to(const char *path, const char *name)
{
    const char *aside = scratch("aside.link");
    assert_int_equal(symlink(name, aside), 0);
    assert_int_equal(rename(aside, path), 0);
}

static void add_check(struct hcb_watch *w, int64_t now_ns, struct hcb_buf *out)
{
    struct hcb_buf content = {0};
    struct hcb_err err = {0};
    hcb_buf_str(&content, "left over");
    struct hcb_glance glance = {.notice = notice, .now_ns = now_ns, .bytes = 1, .again = 1};
    hcb_notice_read(notice, now_ns);
    int rc = hcb_watch_check(w, &glance, &content, &err);
    assert_false(glance.later);
    assert_int_equal(rc < 0 ? rc : 0, err.code);
    if (rc != HCB_WATCH_CHANGED)
        assert_int_equal(content.len, 0);
    switch (rc) {
    case HCB_WATCH_SAME: hcb_buf_char(out, '.'); break;
    case HCB_WATCH_GONE: hcb_buf_char(out, 'G'); break;
    case HCB_WATCH_CHANGED: hcb_buf_printf(out, "[%s]", hcb_buf_text(&content)); break;
    default: hcb_buf_char(out, '!');
    }
    hcb_buf_release(&content);
}

static void take_step(const char *step, struct hcb_watch *w, int64_t *now_ns,
                      struct hcb_buf *out)
{
    switch (step[0]) {
    case 'w': scratch_write(w->path, step + 1); return;
    case 'k': write_with_old_mtime(w->path, step + 1); return;
    case 'r': scratch_replace(w->path, step + 1); return;
    case 'd': assert_int_equal(unlink(w->path), 0); return;
    case 'm': assert_int_equal(mkdir(w->path, 0777), 0); return;
    case 'D': assert_int_equal(rmdir(w->path), 0); return;
    case 't': assert_int_equal(utimensat(AT_FDCWD, w->path, NULL, 0), 0); return;
    case 'L': link_to(w->path, step + 1); return;
    case '+': *now_ns += 3 * SECOND; return;
    case 'c': add_check(w, *now_ns, out);
    }
}

static void check_rows(void)
{
    scratch_write(scratch("a"), "content of a");
    scratch_write(scratch("b"), "content of b");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hcb_watch w;
        struct hcb_buf got = {0};
        int64_t now_ns = 1000 * SECOND;
        assert_true(hcb_watch_init(&w, scratch("watched"), 16));
        unlink(w.path);
        for (const char *const *step = rows[i].steps; *step; step++)
            take_step(*step, &w, &now_ns, &got);
        if (strcmp(hcb_buf_text(&got), rows[i].want) != 0)
            fail_msg("%s: %s, not %s", rows[i].name, hcb_buf_text(&got), rows[i].want);
        hcb_buf_release(&got);
        hcb_watch_release(&w);
    }
}

static void test_rows(void **state)
{
    (void)state;
    check_rows();
}

/* Where the kernel tells of changes, the same is seen. */
static void test_rows_noticed(void **state)
{
    (void)state;
    notice = hcb_notice_open();
    check_rows();
    hcb_notice_close(notice);
    notice = NULL;
}

/* A save that leaves everything stat knows as it was is seen for two seconds, and by the first
 * look after them. */
static void test_unseen_by_stat(void **state)
{
    struct hcb_watch w;
    struct hcb_buf got = {0};
    int64_t now_ns = 1000 * SECOND;
    (void)state;
    assert_true(hcb_watch_init(&w, scratch("unseen"), 100));
    scratch_write(w.path, "v1");
    add_check(&w, now_ns, &got);
    scratch_write(w.path, "v2");
    hcb_sig_get(w.path, &w.sig);
    add_check(&w, now_ns + SECOND, &got);
    scratch_write(w.path, "v3"); /* the two seconds count from each change */
    hcb_sig_get(w.path, &w.sig);
    add_check(&w, now_ns + 3 * SECOND - 1, &got);
    scratch_write(w.path, "v4");
    hcb_sig_get(w.path, &w.sig);
    add_check(&w, now_ns + 60 * SECOND, &got);
    add_check(&w, now_ns + 63 * SECOND, &got);
    scratch_write(w.path, "v5");
    hcb_sig_get(w.path, &w.sig);
    add_check(&w, now_ns + 64 * SECOND, &got);
    assert_string_equal(got.data, "[v1][v2][v3][v4]..");
    hcb_buf_release(&got);
    hcb_watch_release(&w);
}

/* What the caller read by itself is known, and settles like any change. */
static void test_set(void **state)
{
    struct hcb_watch w;
    struct hcb_sig sig;
    struct hcb_buf got = {0};
    (void)state;
    assert_true(hcb_watch_init(&w, scratch("set"), 100));
    scratch_write(w.path, "v1");
    hcb_sig_get(w.path, &sig);
    hcb_watch_set(&w, &sig, "v1", 2, 1000 * SECOND);
    add_check(&w, 1000 * SECOND, &got);
    hcb_watch_set(&w, &sig, "v0", 2, 1000 * SECOND); /* it was saved while it was read */
    add_check(&w, 1001 * SECOND, &got);
    add_check(&w, 1001 * SECOND, &got);
    hcb_watch_again(&w);
    add_check(&w, 1010 * SECOND, &got);
    add_check(&w, 1020 * SECOND, &got);
    assert_string_equal(got.data, ".[v1].[v1].");
    hcb_buf_release(&got);
    hcb_watch_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows_noticed),
        cmocka_unit_test(test_unseen_by_stat),
        cmocka_unit_test(test_set),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
