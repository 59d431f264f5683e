/* Artifacts stay below their directory; metrics lines have their form. */
#include "files.h"
#include "base/platform.h"
#include "sink/artifact.h"
#include "sink/metrics.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

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
    {"a\x7f", 2, "has a control character"},
    {"A/a", 3, NULL},
    {".hidden/.x", 10, NULL},
    {"a.tmp", 5, NULL},
    {".a.tmp", 6, NULL},
    {".a.12x.tmp", 10, NULL},
    {"..1.tmp", 7, NULL},
    {".a.12.tmp", 9, "as half-written files are called"},
    {"d/.a.b.3.tmp", 12, "as half-written files are called"},
    {".a.3.tmp/f", 10, "as half-written files are called"},
    {"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16", 38, NULL},
    {"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", 41, "has more than 16 components"},
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

#define MUCH (INT64_C(1) << 40)

static int put_held(struct hcb_artifacts *held, int64_t now_s, const char *name,
                    const char *text, bool append, struct hcb_err *err)
{
    const struct hcb_artifact a = {.artifacts = scratch("artifacts"), .id = "x", .name = name,
                                   .bytes = text, .n = strlen(text), .append = append};
    return hcb_artifact_write(&a, held, now_s * 1000000000, err);
}

static int put(const char *id, const char *name, const char *text, bool append,
               struct hcb_err *err)
{
    struct hcb_artifacts held = {.max_bytes = MUCH, .max_entries = MUCH};
    const struct hcb_artifact a = {.artifacts = scratch("artifacts"), .id = id, .name = name,
                                   .bytes = text, .n = strlen(text), .append = append};
    return hcb_artifact_write(&a, &held, 0, err);
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

/* What artifacts/ is in was deleted: it must not come back by this. */
static void test_no_run_directory(void **state)
{
    (void)state;
    struct hcb_artifacts held = {.max_bytes = MUCH, .max_entries = MUCH};
    const struct hcb_artifact a = {.artifacts = scratch("gone/artifacts"), .id = "x", .name = "f",
                                   .bytes = ""};
    assert_int_equal(hcb_artifact_write(&a, &held, 0, NULL), HOTCB_ENOENT);
    assert_false(file_exists("gone"));
}

/* ---- what is no regular file --------------------------------------------------- */

static int make_socket(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    int rc = bind(fd, (const struct sockaddr *)&at, sizeof(at));
    close(fd);
    return rc;
}

static int make_fifo(const char *path)
{
    return mkfifo(path, 0666);
}

static int make_dir(const char *path)
{
    return mkdir(path, 0777);
}

static int make_device(const char *path)
{
    return mknod(path, S_IFCHR | 0666, 1 << 8 | 5); /* /dev/zero; who is not root cannot */
}

static void test_special_files(void **state)
{
    int (*const make[])(const char *) = {make_socket, make_fifo, make_dir, make_device};
    (void)state;
    put("x", "other", "", false, NULL);
    for (size_t i = 0; i < sizeof(make) / sizeof(make[0]); i++) {
        struct stat before, after;
        if (make[i](scratch("artifacts/x/f")) != 0)
            continue;
        assert_int_equal(lstat(scratch("artifacts/x/f"), &before), 0);
        assert_int_equal(put("x", "f", "y", false, NULL), HOTCB_EIO);
        assert_int_equal(put("x", "f", "y", true, NULL), HOTCB_EIO);
        assert_int_equal(put("x", "f/g", "y", true, NULL),
                         S_ISDIR(before.st_mode) ? 0 : HOTCB_EIO);
        assert_int_equal(lstat(scratch("artifacts/x/f"), &after), 0);
        assert_true(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
        unlink(scratch("artifacts/x/f/g"));
        remove(scratch("artifacts/x/f"));
    }
    assert_int_equal(entry_count("artifacts/x"), 1);
}

static void test_a_second_name(void **state)
{
    (void)state;
    struct hcb_err err = {0};
    scratch_write(scratch("victim"), "untouched");
    put("x", "other", "", false, NULL);
    assert_int_equal(link(scratch("victim"), scratch("artifacts/x/f")), 0);
    assert_int_equal(put("x", "f", "evil", true, &err), HOTCB_EIO);
    assert_string_equal(err.text,
                        "cannot append to f: the file has another name, a hard link");
    assert_int_equal(put("x", "f", "good", false, NULL), 0); /* takes the name away from it */
    assert_int_equal(put("x", "f", "!", true, NULL), 0);
    assert_file("victim", "untouched");
    assert_file("artifacts/x/f", "good!");
}

/* ---- races --------------------------------------------------------------------- */

/* Until it is killed: artifacts/x/d is a directory, a link outside, a directory, ... */
static void swap_for_ever(void)
{
    const char *place = scratch("artifacts/x/d"), *away = scratch("artifacts/x/away");
    for (;;) {
        rename(place, away);
        if (symlink("../../outside", place) == 0)
            unlink(place);
        rename(away, place);
    }
}

static void test_a_link_between_two_steps(void **state)
{
    (void)state;
    int written = 0;
    mkdir(scratch("outside"), 0777);
    mkdir(scratch("outside/deep"), 0777);
    scratch_write(scratch("outside/victim"), "untouched");
    assert_int_equal(put("x", "d/deep/f", "", false, NULL), 0);
    pid_t swapper = fork();
    if (swapper == 0)
        swap_for_ever();
    for (int i = 0; i < 3000; i++) {
        written += put("x", "d/victim", "evil", i % 2, NULL) == 0;
        written += put("x", "d/deep/victim", "evil", i % 2, NULL) == 0;
    }
    kill(swapper, SIGKILL);
    waitpid(swapper, NULL, 0);
    assert_true(written > 0);
    assert_file("outside/victim", "untouched");
    assert_int_equal(entry_count("outside"), 2);
    assert_int_equal(entry_count("outside/deep"), 0);
}

struct below_row {
    const char *path;
    int number; /* of errno; 0: it opens */
};

static void test_opening_below(void **state)
{
    static const struct below_row rows[] = {
        {"real", 0}, {"real/deep", 0}, {"real/link", ELOOP}, {"link", ELOOP},
        {"link/deep", ELOOP}, {"real/link/deep", ELOOP}, {"..", EXDEV},
        {"real/../../etc", EXDEV}, {"/", EXDEV}, {"none", ENOENT}, {"real/file/x", ENOTDIR},
    };
    (void)state;
    mkdir(scratch("real"), 0777);
    mkdir(scratch("real/deep"), 0777);
    scratch_write(scratch("real/file"), "");
    assert_int_equal(symlink("real", scratch("link")) | symlink("deep", scratch("real/link")), 0);
    int dir = open(scratch("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        errno = 0;
        int fd = hcb_platform_open_below(dir, rows[i].path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            close(fd);
        else if (errno == ENOSYS || errno == EPERM)
            break; /* the walk serves */
        assert_int_equal(fd < 0 ? errno : 0, rows[i].number);
    }
    close(dir);
}

/* ---- room ---------------------------------------------------------------------- */

struct room_row {
    const char *name;
    int size;
    bool append;
    const char *says; /* NULL: it is written */
    int64_t bytes, entries; /* held afterwards */
};

/* Of 100 bytes and 5 entries. */
static const struct room_row room_rows[] = {
    {"a", 60, false, NULL, 60, 1},
    {"a", 50, false, NULL, 50, 1},
    {"a", 10, true, NULL, 60, 1},
    {"b", 41, false, "artifacts/x holds 60 bytes, and may hold 100", 60, 1},
    {"a", 101, false, "holds 60 bytes", 60, 1},
    {"a", 100, false, NULL, 100, 1},
    {"a", 1, true, "holds 100 bytes", 100, 1},
    {"a", 0, true, NULL, 100, 1},
    {"b", 0, false, NULL, 100, 2},
    {"a", 3, false, NULL, 3, 2},
    {"d/e/c", 1, true, NULL, 4, 5},
    {"d/e/c", 7, true, NULL, 11, 5},
    {"new", 0, false, "artifacts/x holds 5 files and folders, and may hold 5", 11, 5},
    {"new", 0, true, "holds 5 files and folders", 11, 5},
    {"n/ew", 0, true, "holds 5 files and folders", 11, 5},
    {"d/e/f", 0, true, "holds 5 files and folders", 11, 5},
    {"../b", 1, false, "has \".\" or \"..\"", 11, 5},
    {"d/e", 1, false, "is a directory", 11, 5},
    {"b", 80, false, NULL, 91, 5},
};

static void write_rows(struct hcb_artifacts *held)
{
    char text[200];
    for (size_t i = 0; i < sizeof(room_rows) / sizeof(room_rows[0]); i++) {
        const struct room_row *row = &room_rows[i];
        struct hcb_err err = {0};
        snprintf(text, sizeof(text), "%*s", row->size, "");
        int rc = put_held(held, 0, row->name, text, row->append, &err);
        if (row->says ? rc >= 0 || !strstr(err.text, row->says) : rc != 0)
            fail_msg("row %zu: %d %s", i, rc, err.text);
        assert_int_equal(held->held.bytes, row->bytes);
        assert_int_equal(held->held.entries, row->entries);
    }
}

static void test_room(void **state)
{
    (void)state;
    struct hcb_artifacts held = {.max_bytes = 100, .max_entries = 5}, again = held;
    write_rows(&held);
    /* Another process finds what is there. */
    assert_int_equal(put_held(&again, 0, "b", "", true, NULL), 0);
    assert_int_equal(again.held.bytes, held.held.bytes);
    assert_int_equal(again.held.entries, held.held.entries);
}

static void test_room_that_somebody_made(void **state)
{
    (void)state;
    struct hcb_artifacts held = {.max_bytes = 10, .max_entries = 9};
    assert_int_equal(put_held(&held, 1, "a", "0123456789", false, NULL), 0);
    unlink(scratch("artifacts/x/a"));
    assert_int_equal(put_held(&held, 2, "b", "new", false, NULL), HOTCB_EREFUSED);
    assert_int_equal(put_held(&held, 10, "b", "new", false, NULL), HOTCB_EREFUSED);
    assert_int_equal(put_held(&held, 11, "b", "new", false, NULL), 0);
    assert_int_equal(held.held.bytes, 3);
}

/* What is there when a process begins: more than there may be, of every kind. */
static void test_what_was_there(void **state)
{
    (void)state;
    struct hcb_artifacts few = {.max_bytes = MUCH, .max_entries = 3}, many = few;
    many.max_entries = MUCH;
    put("x", "d/e/f", "12345", false, NULL);
    put("x", "g", "678", false, NULL);
    assert_int_equal(symlink("/etc", scratch("artifacts/x/link")), 0);
    assert_int_equal(make_fifo(scratch("artifacts/x/fifo")), 0);
    scratch_write(scratch("artifacts/x/.g.4711.tmp"), "half writ"); /* of who was killed */
    scratch_write(scratch("artifacts/x/d/.h.1.tmp"), "half writ");
    mkdir(scratch("artifacts/x/.i.1.tmp"), 0777); /* somebody's; stays */
    assert_int_equal(put_held(&few, 0, "h", "", false, NULL), HOTCB_EREFUSED);
    assert_int_equal(put_held(&few, 0, "g", "67", false, NULL), 0);
    assert_int_equal(put_held(&few, 0, "g", "678", false, NULL), HOTCB_EREFUSED);
    assert_int_equal(put_held(&many, 0, "g", "678", false, NULL), 0);
    assert_int_equal(many.held.bytes, 8);
    assert_int_equal(many.held.entries, 7);
    assert_int_equal(entry_count("artifacts/x"), 5);
    assert_int_equal(entry_count("artifacts/x/d"), 1);
}

struct metrics_row {
    struct hcb_scalar_line line;
    const char *expected;
};

static void test_metrics(void **state)
{
    const struct metrics_row rows[] = {
        {{.head = {"r1", "timing", "step_ms", 7, true, 41180, 1767225600.1231}, .d = 3.1},
         "{\"step\":41180,\"time\":1767225600.123,\"run\":\"r1\",\"id\":\"timing\","
         "\"key\":\"step_ms\",\"value\":3.1}\n"},
        {{.head = {"r1", "a", "n\nx", 1, false, 0, 5}, .is_int = true, .i = INT64_MIN, .d = 1},
         "{\"step\":null,\"time\":5.0,\"run\":\"r1\",\"id\":\"a\",\"key\":\"n\","
         "\"value\":-9223372036854775808}\n"},
        {{.head = {"r1", "a", "n", 1, false, 0, 5}, .d = NAN},
         "{\"step\":null,\"time\":5.0,\"run\":\"r1\",\"id\":\"a\",\"key\":\"n\","
         "\"value\":\"NaN\"}\n"},
        {{.head = {"r1", "a", "n", 1, false, 0, 5}, .d = -INFINITY},
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
        WITH_SCRATCH(test_special_files),
        WITH_SCRATCH(test_a_second_name),
        WITH_SCRATCH(test_a_link_between_two_steps),
        WITH_SCRATCH(test_opening_below),
        WITH_SCRATCH(test_room),
        WITH_SCRATCH(test_room_that_somebody_made),
        WITH_SCRATCH(test_what_was_there),
        cmocka_unit_test(test_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
