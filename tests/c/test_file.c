/* Reading, writing and replacing files; paths. */
#include "base/file.h"
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void test_read(void **state)
{
    (void)state;
    struct hcb_buf b = {0};
    hcb_buf_str(&b, "before ");
    scratch_write(scratch("f"), "some text");
    assert_int_equal(hcb_file_read(scratch("f"), 9, &b, NULL), 0);
    assert_string_equal(b.data, "before some text");
    assert_int_equal(symlink(scratch("f"), scratch("link")), 0);
    hcb_buf_reset(&b);
    assert_int_equal(hcb_file_read(scratch("link"), 100, &b, NULL), 0);
    assert_string_equal(b.data, "some text");
    scratch_write(scratch("empty"), "");
    hcb_buf_reset(&b);
    assert_int_equal(hcb_file_read(scratch("empty"), 0, &b, NULL), 0);
    assert_int_equal(b.len, 0);
    hcb_buf_release(&b);
}

struct refused_row {
    const char *name, *says;
    int code;
};

static void test_what_is_not_read(void **state)
{
    static const struct refused_row rows[] = {
        {"large", "is too large: 9 bytes, and at most 8 are read", HOTCB_EIO},
        {"dir", "is a directory, not a file", HOTCB_EIO},
        {"fifo", "is not a regular file", HOTCB_EIO},
        {"null", "is not a regular file", HOTCB_EIO},
        {"missing", "No such file", HOTCB_ENOENT},
        {"dangling", "No such file", HOTCB_ENOENT},
        {"large/x", "Not a directory", HOTCB_ENOENT},
    };
    (void)state;
    scratch_write(scratch("large"), "some text");
    assert_int_equal(mkdir(scratch("dir"), 0777), 0);
    assert_int_equal(mkfifo(scratch("fifo"), 0666), 0);
    assert_int_equal(symlink("/dev/null", scratch("null")), 0);
    assert_int_equal(symlink("nowhere", scratch("dangling")), 0);
    struct hcb_buf b = {0};
    hcb_buf_str(&b, "kept");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hcb_err err = {0};
        assert_int_equal(hcb_file_read(scratch(rows[i].name), 8, &b, &err), rows[i].code);
        if (!strstr(err.text, rows[i].says) || !strstr(err.text, rows[i].name))
            fail_msg("\"%s\" does not say \"%s\"", err.text, rows[i].says);
        assert_string_equal(b.data, "kept");
    }
    hcb_buf_release(&b);
}

/* A file whose size stat does not tell. */
static void test_read_of_unknown_size(void **state)
{
    (void)state;
    struct hcb_buf b = {0};
    assert_int_equal(hcb_file_read("/proc/self/maps", 1 << 24, &b, NULL), 0);
    assert_true(b.len > 100);
    assert_int_equal(hcb_file_read("/proc/self/maps", 50, &b, NULL), HOTCB_EIO);
    hcb_buf_release(&b);
}

static void test_append(void **state)
{
    (void)state;
    mode_t mask = umask(027);
    int fd = hcb_file_append(scratch("f"), NULL);
    umask(mask);
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(hcb_file_write_once(fd, "one\n", 4, "f", NULL), 0);
    assert_int_equal(hcb_file_write_once(fd, "two\n", 4, "f", NULL), 0);
    char part[4];
    assert_int_equal(hcb_pread(fd, part, 4, 6), 2);
    close(fd);
    assert_file("f", "one\ntwo\n");
}

static void test_links_are_not_written_through(void **state)
{
    (void)state;
    struct hcb_err err = {0};
    scratch_write(scratch("target"), "untouched");
    assert_int_equal(symlink("target", scratch("link")), 0);
    assert_int_equal(mkfifo(scratch("fifo"), 0666), 0);
    assert_int_equal(hcb_file_append(scratch("link"), &err), HOTCB_EIO);
    assert_non_null(strstr(err.text, "it is a link, and links are not followed"));
    assert_int_equal(hcb_file_append(scratch("fifo"), &err), HOTCB_EIO);
    assert_int_equal(hcb_file_append(scratch_dir, &err), HOTCB_EIO);
    assert_int_equal(hcb_file_touch(scratch("link"), "x", &err), 0);
    assert_file("target", "untouched");
    assert_int_equal(hcb_file_replace(scratch("link"), "new", 3, &err), 0);
    assert_file("target", "untouched");
    assert_file("link", "new");
    assert_int_equal(entry_count("."), 3);
}

typedef int replace_fn(const char *path, const char *bytes, size_t n, struct hcb_err *err);

/* Each of the two ways, in a folder of its own. */
static void check_replace(replace_fn *replace, const char *folder)
{
    struct hcb_err err = {0};
    char path[100];
#define AT(name) (snprintf(path, sizeof(path), "%s/%s", folder, name), scratch(path))
    assert_int_equal(mkdir(scratch(folder), 0777), 0);
    assert_int_equal(replace(AT("f"), "one", 3, NULL), 0);
    assert_int_equal(replace(AT("f"), "", 0, NULL), 0);
    AT("f");
    assert_file(path, "");
    assert_int_equal(replace(AT("f"), "three", 5, NULL), 0);
    AT("f");
    assert_file(path, "three");
    assert_int_equal(entry_count(folder), 1);
    assert_int_equal(symlink("f", AT("link")), 0);
    assert_int_equal(replace(AT("link"), "new", 3, NULL), 0);
    AT("f");
    assert_file(path, "three");
    assert_int_equal(mkdir(AT("dir"), 0777), 0);
    assert_int_equal(replace(AT("dir"), "x", 1, &err), HOTCB_EIO);
    assert_non_null(strstr(err.text, "cannot write"));
    assert_int_equal(rmdir(AT("dir")), 0);
    assert_int_equal(entry_count(folder), 2); /* nothing left aside */
    assert_int_equal(replace(AT("no/f"), "x", 1, &err), HOTCB_ENOENT);
#undef AT
}

static void test_replace(void **state)
{
    (void)state;
    check_replace(hcb_file_replace, "lasting");
    check_replace(hcb_file_refresh, "fleeting");
}

/* The beginning is written over only in a file that is the known one, still. */
static void test_patch(void **state)
{
    struct hcb_sig known, none = {0};
    (void)state;
    scratch_write(scratch("f"), "0123456789");
    hcb_sig_get(scratch("f"), &known);
    assert_true(hcb_file_patch(scratch("f"), &known, "abc", 3));
    assert_file("f", "abc3456789");
    assert_false(hcb_file_patch(scratch("f"), &none, "xyz", 3));
    hcb_sig_get(scratch("f"), &known);
    scratch_write(scratch("f"), "another");
    assert_false(hcb_file_patch(scratch("f"), &known, "xyz", 3));
    hcb_sig_get(scratch("f"), &known);
    scratch_replace(scratch("f"), "another");
    assert_false(hcb_file_patch(scratch("f"), &known, "xyz", 3));
    hcb_sig_get(scratch("f"), &known);
    assert_int_equal(symlink("f", scratch("link")), 0);
    assert_false(hcb_file_patch(scratch("link"), &known, "xyz", 3));
    assert_false(hcb_file_patch(scratch("none"), &known, "xyz", 3));
    assert_false(file_exists("none"));
    assert_file("f", "another");
}

/* What an earlier process of the same pid, or somebody unkind, left aside. */
static void test_replace_over_an_old_aside(void **state)
{
    (void)state;
    char aside[64];
    snprintf(aside, sizeof(aside), ".f.%ld.tmp", (long)getpid());
    scratch_write(scratch("victim"), "untouched");
    assert_int_equal(symlink("victim", scratch(aside)), 0);
    assert_int_equal(hcb_file_replace(scratch("f"), "new", 3, NULL), 0);
    assert_file("f", "new");
    assert_file("victim", "untouched");
    assert_int_equal(entry_count("."), 2);
}

/* Runs as a child whose files may not grow past 10 bytes, as on a full disk. */
static int write_with_little_room(void)
{
    struct rlimit limit = {10, 10};
    struct hcb_err err = {0};
    int fd = hcb_file_append(scratch("f"), NULL);
    signal(SIGXFSZ, SIG_IGN);
    if (fd < 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    if (hcb_file_write_once(fd, "12345\n", 6, "f", &err) != 0)
        return 2;
    if (hcb_file_write_once(fd, "67890\n", 6, "f", &err) != HOTCB_EIO)
        return 3;
    if (!strstr(err.text, "room for only 4 of 6 bytes"))
        return 4;
    if (hcb_file_write_once(fd, "abc\n", 4, "f", &err) != 0)
        return 5;
    if (hcb_file_replace(scratch("g"), "far too long for it", 19, &err) != HOTCB_EIO)
        return 6;
    return 0;
}

static void test_a_torn_write_is_taken_back(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(write_with_little_room());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_file("f", "12345\nabc\n");
    assert_int_equal(entry_count("."), 1);
}

static void test_touch(void **state)
{
    (void)state;
    assert_int_equal(hcb_file_touch(scratch("f"), "first", NULL), 0);
    assert_int_equal(hcb_file_touch(scratch("f"), "second", NULL), 0);
    assert_file("f", "first");
    assert_int_equal(hcb_file_touch(scratch("e"), NULL, NULL), 0);
    assert_file("e", "");
    assert_int_equal(hcb_file_touch(scratch("no/f"), NULL, NULL), HOTCB_ENOENT);
}

static void test_make_dirs(void **state)
{
    (void)state;
    struct hcb_err err = {0};
    assert_int_equal(hcb_make_dirs(scratch("a/b//c/"), NULL), 0);
    assert_int_equal(hcb_make_dirs(scratch("a/b/c"), NULL), 0);
    assert_int_equal(symlink("a", scratch("link")), 0);
    assert_int_equal(hcb_make_dirs(scratch("link/d"), NULL), 0);
    assert_true(file_exists("a/d"));
    scratch_write(scratch("f"), "");
    assert_int_equal(hcb_make_dirs(scratch("f/x"), &err), HOTCB_EIO);
    assert_non_null(strstr(err.text, "/f is not a directory"));
}

static void test_sig(void **state)
{
    (void)state;
    struct hcb_sig a, b;
    hcb_sig_get(scratch("f"), &a);
    assert_false(a.exists);
    scratch_write(scratch("f"), "1");
    hcb_sig_get(scratch("f"), &b);
    assert_true(b.exists && b.size == 1);
    assert_false(hcb_sig_same(&a, &b));
    hcb_sig_get(scratch("f"), &a);
    assert_true(hcb_sig_same(&a, &b));
    hcb_file_replace(scratch("f"), "2", 1, NULL);
    hcb_sig_get(scratch("f"), &b);
    assert_false(hcb_sig_same(&a, &b));
}

static void assert_path(char *got, const char *expected)
{
    assert_string_equal(got, expected);
    free(got);
}

static void test_paths(void **state)
{
    (void)state;
    char here[512], expected[600];
    assert_path(hcb_path_join("a", "b"), "a/b");
    assert_path(hcb_path_join("a/", "b"), "a/b");
    assert_path(hcb_path_join("a", "/b"), "/b");
    assert_path(hcb_path_join("", "b"), "b");
    assert_path(hcb_path_dir("a/b"), "a");
    assert_path(hcb_path_dir("/b"), "/");
    assert_path(hcb_path_dir("b"), ".");
    assert_path(hcb_path_absolute("/a/./b//c/../d"), "/a/b/c/../d");
    assert_path(hcb_path_absolute("/"), "/");
    assert_non_null(getcwd(here, sizeof(here)));
    assert_path(hcb_path_absolute("."), here);
    snprintf(expected, sizeof(expected), "%s/x", here);
    assert_path(hcb_path_absolute("./x"), expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_read),
        WITH_SCRATCH(test_what_is_not_read),
        cmocka_unit_test(test_read_of_unknown_size),
        WITH_SCRATCH(test_append),
        WITH_SCRATCH(test_links_are_not_written_through),
        WITH_SCRATCH(test_replace), WITH_SCRATCH(test_patch),
        WITH_SCRATCH(test_replace_over_an_old_aside),
        WITH_SCRATCH(test_a_torn_write_is_taken_back),
        WITH_SCRATCH(test_touch),
        WITH_SCRATCH(test_make_dirs),
        WITH_SCRATCH(test_sig),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
