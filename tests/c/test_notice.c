/* What need not be looked at: a file that the kernel would have told of. Whatever can happen
 * to it unseen makes it one that has to be looked at. */
#include "base/notify.h"
#include "control/notice.h"

#include "files.h"
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SECOND INT64_C(1000000000)

/* The file is at/dir/file below the scratch folder unless the row names another one. Before
 * it is looked at, `first` is done in the scratch folder, by a shell, then `then`. */
static const struct row {
    const char *name;
    const char *path;
    const char *first;
    bool quiet; /* after the look */
    const char *then;
    bool still; /* afterwards */
} rows[] = {
    {"nothing", 0, ":", true, ":", true},
    {"written", 0, ":", true, "echo x > at/dir/file", false},
    {"appended to", 0, ":", true, "echo x >> at/dir/file", false},
    {"touched", 0, ":", true, "touch -d 2001-01-01 at/dir/file", false},
    {"its mode", 0, ":", true, "chmod 600 at/dir/file", false},
    {"read", 0, ":", true, "cat at/dir/file", true},
    {"another file", 0, ":", true, "echo x > at/dir/file2; mv at/dir/file2 at/dir/file3", true},
    {"renamed over", 0, ":", true, "echo x > at/dir/f; mv at/dir/f at/dir/file", false},
    {"renamed away", 0, ":", true, "mv at/dir/file at/dir/f", false},
    {"deleted", 0, ":", true, "rm at/dir/file", false},
    {"not there", 0, "rm at/dir/file", true, ":", true},
    {"made", 0, "rm at/dir/file", true, "echo > at/dir/file", false},
    {"moved there", 0, "mv at/dir/file file", true, "mv file at/dir/file", false},
    {"its directory's mode", 0, ":", true, "chmod 711 at/dir", false},
    {"its directory moved", 0, ":", true, "mv at/dir at/other", false},
    {"its directory replaced", 0, ":", true, "mv at/dir x; mkdir at/dir; mv x/file at/dir", false},
    {"its directory deleted", 0, ":", true, "rm -r at/dir", false},
    {"empty, its directory deleted", 0, "rm at/dir/file", true, "rmdir at/dir", false},
    {"what it is in moved", 0, ":", true, "mv at other", false},
    {"what it is in replaced", 0, ":", true, "mv at old; mkdir at; cp -a old/dir at", false},
    {"beside it a directory moved", 0, "mkdir at/x", true, "mv at/x at/y", true},
    {"no directory", "at/none/file", ":", false, "mkdir at/none", false},
    {"a directory", "at/dir", ":", false, ":", false},
    {"a FIFO", "at/dir/fifo", "mkfifo at/dir/fifo", false, ":", false},
    {"a link", "at/dir/link", "ln -s file at/dir/link", false, ":", false},
    {"a link to nothing", "at/dir/link", "ln -s none at/dir/link", false, ":", false},
    {"made a link", 0, ":", true, "ln -sf none at/dir/file", false},
    {"of two names", 0, "ln at/dir/file at/name", false, ":", false},
    {"by a linked directory", "to/file", "ln -s at/dir to", true, ":", true},
    {"so, written", "to/file", "ln -s at/dir to", true, "echo x > at/dir/file", false},
    {"so, the link swapped", "to/file", "ln -s at/dir to", true,
     "cp -a at/dir at/new; ln -sfT at/new to", false},
    {"so, what it leads to moved", "to/file", "ln -s at/dir to", true, "mv at/dir at/x", false},
    {"by ..", "at/dir/../dir/file", ":", true, "echo x > at/dir/file", false},
    {"by .., moved", "at/dir/../dir/file", ":", true, "mv at old", false},
    {"by .. at the end", "at/dir/../file", "echo > at/file", true, "echo x > at/file", false},
    {"of the kernel's own", "/proc/self/status", ":", false, ":", false},
    {"relative", "relative.none", ":", false, ":", false},
};

static void run_in_scratch(const char *command)
{
    char line[500];
    snprintf(line, sizeof(line), "cd '%s' && { %s; } > /dev/null", scratch(""), command);
    assert_int_equal(system(line), 0);
}

/* There may be no such service where the tests are built to do without, or run. */
static struct hcb_notice *must_open(void)
{
    struct hcb_notice *n = hcb_notice_open();
    int fd = open(scratch(""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool local = hcb_notify_is_local(fd);
    close(fd);
    if (!n || !local)
        skip();
    return n;
}

static const char *path_of(const struct row *row)
{
    const char *path = row->path ? row->path : "at/dir/file";
    return path[0] == '/' || strncmp(path, "relative", 8) == 0 ? path : scratch(path);
}

static void check_row(const struct row *row, struct hcb_notice *n)
{
    struct hcb_noticed f = {0};
    run_in_scratch("mkdir -p at/dir; echo > at/dir/file");
    run_in_scratch(row->first);
    const char *path = path_of(row);
    assert_false(hcb_noticed_quiet(&f));
    hcb_notice_read(n, 1000 * SECOND);
    hcb_noticed_look(&f, n, path);
    if (hcb_noticed_quiet(&f) != row->quiet)
        fail_msg("%s: %s at first", row->name, row->quiet ? "not quiet" : "quiet");
    hcb_notice_read(n, 1000 * SECOND);
    assert_int_equal(hcb_noticed_quiet(&f), row->quiet);
    run_in_scratch(row->then);
    hcb_notice_read(n, 1000 * SECOND);
    if (hcb_noticed_quiet(&f) != row->still)
        fail_msg("%s: %s at last", row->name, row->still ? "not quiet" : "quiet");
    if (row->quiet)
        assert_int_equal(hcb_noticed_news(&f), !row->still);
    hcb_noticed_release(&f);
    run_in_scratch("rm -rf at other old to name file x");
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hcb_notice *n = must_open();
        check_row(&rows[i], n);
        hcb_notice_close(n);
    }
}

/* A directory that comes back is watched anew, a second later at the latest; what happened
 * meanwhile is news to whoever knew the file before. */
static void test_a_directory_comes_back(void **state)
{
    struct hcb_noticed f = {0};
    (void)state;
    struct hcb_notice *n = must_open();
    run_in_scratch("mkdir -p at/dir; echo > at/dir/file");
    hcb_notice_read(n, 1000 * SECOND);
    hcb_noticed_look(&f, n, scratch("at/dir/file"));
    assert_true(hcb_noticed_quiet(&f));
    run_in_scratch("mv at old; cp -a old at");
    hcb_notice_read(n, 1000 * SECOND + 1);
    hcb_noticed_look(&f, n, scratch("at/dir/file"));
    assert_false(hcb_noticed_quiet(&f));
    hcb_notice_read(n, 1001 * SECOND);
    hcb_noticed_look(&f, n, scratch("at/dir/file"));
    assert_true(hcb_noticed_quiet(&f));
    run_in_scratch("echo x > old/dir/file");
    hcb_notice_read(n, 1001 * SECOND);
    assert_true(hcb_noticed_quiet(&f));
    run_in_scratch("echo x > at/dir/file");
    hcb_notice_read(n, 1001 * SECOND);
    assert_true(hcb_noticed_news(&f));
    hcb_noticed_release(&f);
    hcb_notice_close(n);
}

/* A directory that somebody has open is deleted, and made anew: its watch stays, and tells only
 * that the file in it was deleted. Whoever looks then is not told that the new one is quiet. */
static void test_a_directory_that_is_held(void **state)
{
    (void)state;
    for (int there = 0; there < 2; there++) {
        struct hcb_noticed f = {0};
        struct hcb_notice *n = must_open();
        run_in_scratch(there ? "mkdir -p at/dir; echo > at/dir/file" : "mkdir -p at/dir");
        hcb_notice_read(n, 1000 * SECOND);
        hcb_noticed_look(&f, n, scratch("at/dir/file"));
        assert_true(hcb_noticed_quiet(&f));
        int held = open(scratch("at/dir"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        run_in_scratch("rm -r at/dir; mkdir at/dir; echo x > at/dir/file");
        hcb_notice_read(n, 1000 * SECOND);
        hcb_noticed_look(&f, n, scratch("at/dir/file"));
        assert_false(hcb_noticed_quiet(&f));
        hcb_notice_read(n, 1001 * SECOND);
        hcb_noticed_look(&f, n, scratch("at/dir/file"));
        assert_true(hcb_noticed_quiet(&f));
        run_in_scratch("echo y > at/dir/file");
        hcb_notice_read(n, 1001 * SECOND);
        assert_true(hcb_noticed_news(&f));
        close(held);
        hcb_noticed_release(&f);
        hcb_notice_close(n);
        run_in_scratch("rm -r at");
    }
}

/* Many know the same file, and many files; each is told of what happens to its own. */
static void test_many(void **state)
{
    struct hcb_noticed f[300] = {{0}};
    char name[40];
    (void)state;
    struct hcb_notice *n = must_open();
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "f%d", i / 3);
        hcb_noticed_look(&f[i], n, scratch(name));
    }
    uint64_t count = hcb_notice_count(n);
    run_in_scratch("echo > f50; echo > f100");
    hcb_notice_read(n, 0);
    for (int i = 0; i < 300; i++)
        assert_int_equal(hcb_noticed_quiet(&f[i]), i / 3 != 50);
    assert_true(hcb_notice_count(n) > count);
    count = hcb_notice_count(n);
    run_in_scratch("echo > f100; echo > f-1");
    hcb_notice_read(n, 0);
    assert_int_equal(hcb_notice_count(n), count);
    for (int i = 0; i < 299; i++)
        hcb_noticed_release(&f[i]);
    run_in_scratch("echo > f99");
    hcb_notice_read(n, 0);
    assert_true(hcb_noticed_news(&f[299]));
    hcb_noticed_forget(&f[299]);
    assert_true(hcb_noticed_news(&f[299]));
    hcb_noticed_release(&f[299]);
    hcb_notice_close(n);
}

/* More happened than the kernel keeps: everything has to be looked at. */
static void test_overflow(void **state)
{
    struct hcb_noticed f = {0};
    (void)state;
    struct hcb_notice *n = must_open();
    hcb_noticed_look(&f, n, scratch("file"));
    assert_true(hcb_noticed_quiet(&f));
    for (int i = 0; i < 70000 && hcb_noticed_quiet(&f); i++) {
        scratch_write(scratch(i % 2 ? "one" : "two"), "x");
        if (i % 20000 == 19999)
            hcb_notice_read(n, 0);
    }
    assert_false(hcb_noticed_quiet(&f));
    for (int i = 0; i < 3; i++) {
        hcb_notice_read(n, 0);
        hcb_noticed_look(&f, n, scratch("file"));
    }
    assert_true(hcb_noticed_quiet(&f));
    hcb_noticed_release(&f);
    hcb_notice_close(n);
}

/* There are not more directories than it may watch. */
static void test_many_directories(void **state)
{
    struct hcb_noticed f[400] = {{0}};
    char name[40];
    int quiet = 0;
    (void)state;
    struct hcb_notice *n = must_open();
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof(name), "d%d", i);
        mkdir(scratch(name), 0777);
        snprintf(name, sizeof(name), "d%d/file", i);
        hcb_noticed_look(&f[i], n, scratch(name));
        quiet += hcb_noticed_quiet(&f[i]);
    }
    assert_in_range(quiet, 200, 256);
    for (int i = 0; i < 400; i++)
        hcb_noticed_release(&f[i]);
    hcb_notice_close(n);
}

/* ---- the descriptor -------------------------------------------------------- */

/* That of the only notice there is; -1 if there is none. */
static int descriptor(void)
{
    for (int fd = 3; fd < 100; fd++) {
        char link[40], to[40] = "";
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        if (readlink(link, to, sizeof(to) - 1) > 0 && strcmp(to, "anon_inode:inotify") == 0)
            return fd;
    }
    return -1;
}

static void test_a_child_deafens_nobody(void **state)
{
    struct hcb_noticed f = {0};
    int status;
    (void)state;
    struct hcb_notice *n = must_open();
    hcb_noticed_look(&f, n, scratch("file"));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        hcb_noticed_release(&f);
        hcb_notice_close(n);
        _exit(descriptor() < 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(fcntl(descriptor(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    hcb_notice_read(n, 0);
    assert_true(hcb_noticed_quiet(&f));
    scratch_write(scratch("file"), "x");
    hcb_notice_read(n, 0);
    assert_true(hcb_noticed_news(&f));
    hcb_noticed_release(&f);
    hcb_notice_close(n);
}

/* What a host may have opened where ours was. */
static int nothing(void)
{
    return -1;
}

static int pipe_with(const char *text)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    close(ends[1]);
    return ends[0];
}

static int pipe_full(void)
{
    return pipe_with("host");
}

static int pipe_empty(void)
{
    return pipe_with("");
}

static int counter(void)
{
    return eventfd(7, EFD_CLOEXEC | EFD_NONBLOCK);
}

static int notify_full(void)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    unlink(scratch("host"));
    assert_true(inotify_add_watch(fd, scratch(""), IN_CREATE) > 0);
    scratch_write(scratch("host"), "x");
    return fd;
}

static int notify_empty(void)
{
    return inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

static const struct reuse {
    const char *name;
    int (*open)(void);
    ssize_t got; /* by the host, from it */
} reuses[] = {
    {"nothing", nothing, -1},
    {"a pipe with something in it", pipe_full, 4},
    {"an empty pipe", pipe_empty, 0},
    {"a counter", counter, 8},
    {"a notice of its own, with news", notify_full, 32},
    {"a notice of its own", notify_empty, -1},
};

/* Puts it in the place of our descriptor; returns that, or -1 for nothing. */
static int reuse(const struct reuse *row)
{
    int ours = descriptor(), theirs = row->open();
    assert_true(ours >= 0);
    close(ours);
    if (theirs < 0)
        return -1;
    assert_int_equal(dup2(theirs, ours), ours);
    close(theirs);
    return ours;
}

static void host_reads(const struct reuse *row, int fd)
{
    char bytes[100];
    ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    if (got != row->got)
        fail_msg("%s: the host reads %zd", row->name, got);
    if (fd >= 0)
        assert_int_equal(close(fd), 0);
}

/* A host closed it, and perhaps has a file of its own there, which is left alone: a second
 * later at the latest nothing is trusted any more, and everything looked at. */
static void test_a_host_that_closes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(reuses); i++) {
        struct hcb_noticed f = {0};
        struct hcb_notice *n = must_open();
        hcb_notice_read(n, SECOND);
        hcb_noticed_look(&f, n, scratch("file"));
        assert_true(hcb_noticed_quiet(&f));
        int fd = reuse(&reuses[i]);
        hcb_notice_read(n, 2 * SECOND);
        if (hcb_noticed_quiet(&f) || hcb_notice_count(n) != 0 || hcb_notice_works(n))
            fail_msg("%s: trusted", reuses[i].name);
        assert_true(hcb_noticed_news(&f));
        hcb_noticed_look(&f, n, scratch("file"));
        assert_false(hcb_noticed_quiet(&f));
        assert_false(hcb_noticed_news(&f)); /* or each look would read it */
        hcb_noticed_release(&f);
        hcb_notice_close(n);
        host_reads(&reuses[i], fd);
    }
}

/* The same within that second, or at once to the end: a child that closes what it has, say. */
static void test_a_host_that_closes_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(reuses); i++) {
        struct hcb_noticed f = {0}, other = {0};
        struct hcb_notice *n = must_open();
        hcb_notice_read(n, SECOND);
        hcb_noticed_look(&f, n, scratch("file"));
        int fd = reuse(&reuses[i / 2]);
        if (i % 2)
            hcb_notice_read(n, SECOND);
        mkdir(scratch("other"), 0777);
        hcb_noticed_look(&other, n, scratch("other/file"));
        scratch_write(scratch("other/file"), "x");
        hcb_noticed_release(&other);
        hcb_noticed_release(&f);
        hcb_notice_close(n);
        host_reads(&reuses[i / 2], fd);
    }
}

/* Without one, nobody is told that anything is quiet. */
static void test_none(void **state)
{
    struct hcb_noticed f = {0};
    (void)state;
    hcb_notice_read(NULL, 0);
    hcb_noticed_look(&f, NULL, scratch("file"));
    assert_false(hcb_noticed_quiet(&f));
    assert_false(hcb_noticed_news(&f));
    assert_int_equal(hcb_notice_count(NULL), 0);
    hcb_noticed_forget(&f);
    hcb_noticed_release(&f);
    hcb_notice_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_rows),
        WITH_SCRATCH(test_a_directory_comes_back),
        WITH_SCRATCH(test_a_directory_that_is_held),
        WITH_SCRATCH(test_many),
        WITH_SCRATCH(test_overflow),
        WITH_SCRATCH(test_many_directories),
        WITH_SCRATCH(test_a_child_deafens_nobody),
        WITH_SCRATCH(test_a_host_that_closes),
        WITH_SCRATCH(test_a_host_that_closes_at_once),
        WITH_SCRATCH(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
