/* What one look does is bounded, however much there is to do: counted in ops, scripts, calls
 * and bytes. The rest follows at the next applies, without anybody's waiting for it. */
#include "base/clock.h"
#include "control/watch.h"

#include "run_rig.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define LARGE_BYTES 250000
#define AN_HOUR_MS 3600000

/* ---- what is counted, and made to fail ------------------------------------- */

static bool deaf; /* there is no inotify */
static int64_t bytes_read, stats;

int inotify_init1(int flags)
{
    errno = ENOSYS;
    return deaf ? -1 : (int)syscall(SYS_inotify_init1, flags);
}

ssize_t pread(int fd, void *out, size_t n, off_t at)
{
    ssize_t got = syscall(SYS_pread64, fd, out, n, at);
    bytes_read += got > 0 ? got : 0;
    return got;
}

int stat(const char *restrict path, struct stat *restrict st)
{
    stats++;
    return fstatat(AT_FDCWD, path, st, 0);
}

/* Where the tests run, the kernel may tell of nothing at all. */
static bool is_told(struct run *r)
{
    return strcmp(hcb_map_text(hcb_map_get(run_status(r), "look"), "method", ""), "stat") != 0;
}

static int lines_of_ledger(void)
{
    int n = 0;
    FILE *f = fopen(run_path("hotcb.applied.jsonl"), "r");
    for (int c = f ? getc(f) : EOF; c != EOF; c = getc(f))
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

/* One apply; how many ops it took in, and *bytes of files it read. */
static int look(struct run *r, int64_t *bytes)
{
    int before = lines_of_ledger();
    bytes_read = 0;
    assert_int_equal(run_apply(r, "train_step_end"), 0);
    if (bytes)
        *bytes = bytes_read;
    return lines_of_ledger() - before;
}

/* ---- scripts --------------------------------------------------------------- */

/* Padded with blanks to so many bytes. */
static void write_script(int i, int version, size_t bytes)
{
    static char text[LARGE_BYTES + 200];
    char name[40];
    int n = snprintf(text, sizeof(text), "function handle() print('c%d v%d') end\n", i, version);
    if ((size_t)n < bytes)
        memset(text + n, ' ', bytes - (size_t)n);
    text[(size_t)n < bytes ? bytes : (size_t)n] = '\0';
    snprintf(name, sizeof(name), "c%d.lua", i);
    scratch_write(run_path(name), text);
}

/* A hotcb.yaml of n callbacks, each with its script. */
static void want_scripts(int n, size_t bytes)
{
    struct hcb_buf yaml = {0};
    hcb_buf_str(&yaml, "callbacks:\n");
    for (int i = 0; i < n; i++) {
        write_script(i, 1, bytes);
        hcb_buf_printf(&yaml, "  c%d: { target: { kind: lua_file, path: c%d.lua } }\n", i, i);
    }
    scratch_write(run_path("hotcb.yaml"), yaml.data);
    hcb_buf_release(&yaml);
}

static void start(struct run *r, bool told)
{
    mkdir(scratch("run"), 0777);
    deaf = !told;
    run_start(r);
}

/* The first look loads all there is. */
static void start_scripts(struct run *r, bool told, int n, size_t bytes)
{
    mkdir(scratch("run"), 0777);
    want_scripts(n, bytes);
    start(r, told);
    assert_int_equal(look(r, NULL), n);
}

static int said(struct run *r, int version)
{
    char part[10];
    snprintf(part, sizeof(part), " v%d\n", version);
    return run_logged(r, part);
}

/* All of 100 scripts change at once: each apply reloads some, in order, none twice. */
static void check_many_scripts(bool told)
{
    struct run r;
    int done = 0, looks = 0;
    start_scripts(&r, told, 100, 0);
    for (int i = 0; i < 100; i++)
        write_script(i, 2, 0);
    for (; done < 100; looks++) {
        hcb_buf_reset(&r.log);
        int n = look(&r, NULL);
        assert_in_range(n, 1, HOTCB_LOOK_LOADS);
        done += n;
        assert_int_equal(said(&r, 2), done);
        assert_int_equal(said(&r, 1), 100 - done);
    }
    assert_in_range(looks, 100 / HOTCB_LOOK_LOADS, 8);
    assert_int_equal(look(&r, NULL), 0);
    run_release(&r);
}

static void test_many_scripts(void **state)
{
    (void)state;
    check_many_scripts(true);
}

static void test_many_scripts_by_stat(void **state)
{
    (void)state;
    check_many_scripts(false);
}

/* A script is read once, to be compared and to be loaded: the look that has read so much begins
 * no other. */
static void test_large_scripts(void **state)
{
    struct run r;
    int done = 0;
    int64_t bytes;
    (void)state;
    start_scripts(&r, true, 30, LARGE_BYTES);
    for (int i = 0; i < 30; i++)
        write_script(i, 2, LARGE_BYTES);
    while (done < 30) {
        int n = look(&r, &bytes);
        assert_in_range(n, 1, HOTCB_LOOK_BYTES / LARGE_BYTES + 1);
        assert_in_range(bytes, 1, HOTCB_LOOK_BYTES + LARGE_BYTES);
        done += n;
    }
    assert_int_equal(said(&r, 2) > 0, 1);
    run_release(&r);
}

/* Touched only: read to be compared, within the same bounds. */
static void test_touched_scripts(void **state)
{
    struct run r;
    int64_t bytes, all = 0;
    (void)state;
    start_scripts(&r, true, 30, LARGE_BYTES);
    for (int i = 0; i < 30; i++)
        write_script(i, 1, LARGE_BYTES);
    for (int looks = 0; all < 30 * LARGE_BYTES; looks++) {
        assert_int_equal(look(&r, &bytes), 0);
        assert_in_range(bytes, 1, HOTCB_LOOK_BYTES + LARGE_BYTES);
        assert_true(looks < 10);
        all += bytes;
    }
    run_release(&r);
}

/* Just loaded: where the kernel tells of changes, none is read again; else a few in turn, and
 * each of them before two seconds are over and stat is believed. */
static void check_fresh(bool told)
{
    struct run r;
    int64_t bytes, most = told ? 0 : HCB_AGAIN_BYTES + LARGE_BYTES, all = 0, looks = 0;
    int64_t settled = hcb_clock_ns() + INT64_C(1900000000);
    start_scripts(&r, told, 100, LARGE_BYTES);
    if (is_told(&r) != told)
        skip();
    look(&r, NULL);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(look(&r, &bytes), 0);
        assert_in_range(bytes, 0, most);
        all += bytes;
        looks += hcb_clock_ns() < settled;
    }
    assert_true(told || all >= (looks - looks / 6) * HCB_AGAIN_BYTES);
    run_release(&r);
}

static void test_fresh_scripts(void **state)
{
    (void)state;
    check_fresh(true);
}

static void test_fresh_scripts_by_stat(void **state)
{
    (void)state;
    check_fresh(false);
}

/* A change that stat does not show at all is found by the turn that each file has. */
static void test_each_has_its_turn(void **state)
{
    enum { N = 20 };
    struct hcb_watch w[N];
    struct hcb_buf content = {0};
    char name[20], text[40000];
    int found = 0, rounds = 0;
    int64_t left = 0;
    (void)state;
    memset(text, ' ', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < N; i++) {
        struct hcb_glance first = {.bytes = 1};
        snprintf(name, sizeof(name), "w%d", i);
        assert_true(hcb_watch_init(&w[i], scratch(name), sizeof(text)));
        scratch_write(w[i].path, text);
        assert_int_equal(hcb_watch_check(&w[i], &first, &content, NULL), HCB_WATCH_CHANGED);
        text[0] = 'x';
        scratch_write(w[i].path, text);
        text[0] = ' ';
        hcb_sig_get(w[i].path, &w[i].sig);
    }
    for (; found < N; rounds++) {
        struct hcb_glance glance = {.now_ns = (rounds + 1) * INT64_C(3000000000), .bytes = 1};
        left = hcb_again_more(left);
        for (int i = 0; i < N; i++) {
            glance.again = left;
            found += hcb_watch_check(&w[i], &glance, &content, NULL) == HCB_WATCH_CHANGED;
            left = glance.again;
        }
        assert_true(rounds < N);
        assert_false(glance.later);
    }
    assert_in_range(rounds, 2, 10);
    for (int i = 0; i < N; i++)
        hcb_watch_release(&w[i]);
    hcb_buf_release(&content);
}

/* A script is written to through memory, of which nothing is told: the stat that each has once
 * a second tells. */
static void test_what_is_not_told(void **state)
{
    struct run r;
    (void)state;
    start_scripts(&r, true, 3, 0);
    int fd = open(run_path("c1.lua"), O_RDWR | O_CLOEXEC);
    char *text = mmap(NULL, 100, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(text, MAP_FAILED);
    *strstr(text, "v1") = 'V';
    assert_int_equal(msync(text, 100, MS_SYNC), 0);
    for (int i = 0; run_logged(&r, "c1 V1") == 0; i++) {
        assert_true(i < 2000);
        look(&r, NULL);
        usleep(2000);
    }
    munmap(text, 100);
    close(fd);
    run_release(&r);
}

/* ---- system calls of idle looks -------------------------------------------- */

/* Where the kernel tells of changes, no file is looked at but in turn; else each is. */
static void check_idle(bool told)
{
    struct run r;
    start_scripts(&r, told, 200, 0);
    if (is_told(&r) != told)
        skip();
    look(&r, NULL);
    stats = 0;
    for (int i = 0; i < 10; i++)
        assert_int_equal(run_apply(&r, "train_step_end"), 0);
    if (told)
        assert_in_range(stats, 0, 10 * (2 * 64 + 8)); /* 64 at most have their turn, of two each */
    else
        assert_in_range(stats, 10 * 203, 10 * 203 + 100);
    run_release(&r);
}

static void test_idle(void **state)
{
    (void)state;
    check_idle(true);
}

static void test_idle_by_stat(void **state)
{
    (void)state;
    check_idle(false);
}

/* ---- hotcb.yaml ------------------------------------------------------------ */

#define MANY 4096 /* as many as there may be */

static const char declared[] =
    "return { params = { { 'mark', 0 } }, handle = function() end, events = { 'never' } }\n";

/* Each of n callbacks with this mark. */
static void want_marks(int n, int mark)
{
    struct hcb_buf yaml = {0};
    hcb_buf_str(&yaml, "callbacks:\n");
    for (int i = 0; i < n; i++)
        hcb_buf_printf(&yaml, "  c%d: { target: { kind: lua_file, path: one.lua }, "
                       "params: { mark: %d } }\n", i, mark);
    scratch_replace(run_path("hotcb.yaml"), yaml.data);
    hcb_buf_release(&yaml);
}

static int with_mark(struct run *r, int mark)
{
    char *text = hotcb_list(r->h), part[40];
    assert_non_null(text);
    snprintf(part, sizeof(part), "\"params\":{\"mark\":%d}", mark);
    int n = count_of(text, part);
    hotcb_free(text);
    return n;
}

static void start_marks(struct run *r, int n)
{
    mkdir(scratch("run"), 0777);
    scratch_write(run_path("one.lua"), declared);
    want_marks(n, 1);
    start(r, true);
    assert_int_equal(look(r, NULL), n);
    assert_int_equal(with_mark(r, 1), n);
}

/* Every key of a file as large as may be changes: so many ops each look; what it says is
 * changed again meanwhile, and only what was done is undone. */
static void test_large_config(void **state)
{
    struct run r;
    int done = 0;
    (void)state;
    start_marks(&r, MANY);
    want_marks(MANY, 2);
    while (done < 1000) {
        int n = look(&r, NULL);
        assert_int_equal(n, HOTCB_LOOK_OPS);
        done += n;
        assert_int_equal(with_mark(&r, 2), done);
    }
    want_marks(MANY, 1);
    while (done > 0) {
        int n = look(&r, NULL);
        assert_in_range(n, 1, HOTCB_LOOK_OPS);
        done -= n;
        assert_int_equal(with_mark(&r, 2), done);
    }
    assert_int_equal(look(&r, NULL), 0);
    run_release(&r);
}

/* New callbacks are loaded a few a look; a file that is no YAML meanwhile stops nothing, one
 * that takes some away takes them away, and commands wait for what they may be about. */
static void test_new_callbacks(void **state)
{
    struct run r;
    int done = 0;
    (void)state;
    start_marks(&r, 1);
    want_marks(61, 1);
    scratch_append(run_path("hotcb.commands.jsonl"), "{\"op\":\"disable\",\"id\":\"c60\"}\n");
    for (int looks = 0; looks < 2; looks++) {
        int n = look(&r, NULL);
        assert_in_range(n, 1, HOTCB_LOOK_LOADS);
        done += n;
    }
    scratch_replace(run_path("hotcb.yaml"), "callbacks: [\n");
    int n = look(&r, NULL);
    assert_in_range(n, 2, HOTCB_LOOK_LOADS + 1);
    done += n - 1;
    want_marks(done + 1 - 10, 1); /* c0 was there before */
    assert_int_equal(look(&r, NULL), 10 + 1);
    assert_int_equal(run_logged(&r, "disable c60 (command): "), 1);
    assert_int_equal(with_mark(&r, 1), done + 1);
    run_expect_state(&r, "c20", "on", true);
    char last[10];
    snprintf(last, sizeof(last), "c%d", done);
    run_expect_state(&r, last, "off", false);
    run_release(&r);
}

/* Commands follow in their order, at the latest when all that the file wanted is there. */
static void test_commands_wait(void **state)
{
    struct run r;
    (void)state;
    start_marks(&r, 1);
    want_marks(60, 1);
    scratch_append(run_path("hotcb.commands.jsonl"), "{\"op\":\"disable\",\"id\":\"c59\"}\n");
    for (int looks = 0; run_logged(&r, "disable c59 (command): applied") == 0; looks++) {
        look(&r, NULL);
        assert_true(looks < 6);
    }
    run_expect_state(&r, "c59", "off", false);
    run_release(&r);
}

/* ---- commands -------------------------------------------------------------- */

static void append_commands(int n, const char *form)
{
    struct hcb_buf all = {0};
    for (int i = 0; i < n; i++) {
        hcb_buf_printf(&all, form, i);
        hcb_buf_char(&all, '\n');
    }
    scratch_append(run_path("hotcb.commands.jsonl"), all.data);
    hcb_buf_release(&all);
}

/* All of a long queue, by applies that would not look for an hour. */
static void test_long_queue(void **state)
{
    struct run r;
    int done = 0;
    int64_t bytes;
    (void)state;
    mkdir(scratch("run"), 0777);
    append_commands(10000, "{\"op\":\"enable\",\"id\":\"c%d\"}");
    run_init(&r);
    r.opt.poll_interval_ms = AN_HOUR_MS;
    deaf = false;
    run_open(&r);
    while (done < 10000) {
        int n = look(&r, &bytes);
        assert_in_range(n, 1, HOTCB_LOOK_OPS);
        assert_in_range(bytes, 1, HOTCB_LOOK_BYTES + (64 << 10));
        done += n;
    }
    scratch_append(run_path("hotcb.commands.jsonl"), "{\"op\":\"enable\",\"id\":\"x\"}\n");
    assert_int_equal(look(&r, NULL), 0); /* that one does wait */
    run_release(&r);
}

/* Loads among them count as such. */
static void test_queued_loads(void **state)
{
    struct run r;
    int done = 0;
    (void)state;
    start(&r, true);
    scratch_write(run_path("one.lua"), declared);
    look(&r, NULL);
    append_commands(100, "{\"op\":\"load\",\"id\":\"c%d\","
                         "\"target\":{\"kind\":\"lua_file\",\"path\":\"one.lua\"}}");
    while (done < 100) {
        int n = look(&r, NULL);
        assert_int_equal(n, done + HOTCB_LOOK_LOADS <= 100 ? HOTCB_LOOK_LOADS : 100 - done);
        done += n;
    }
    assert_int_equal(with_mark(&r, 0), 100);
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_many_scripts),
        WITH_SCRATCH(test_many_scripts_by_stat),
        WITH_SCRATCH(test_large_scripts),
        WITH_SCRATCH(test_touched_scripts),
        WITH_SCRATCH(test_fresh_scripts),
        WITH_SCRATCH(test_fresh_scripts_by_stat),
        WITH_SCRATCH(test_each_has_its_turn),
        WITH_SCRATCH(test_what_is_not_told),
        WITH_SCRATCH(test_idle),
        WITH_SCRATCH(test_idle_by_stat),
        WITH_SCRATCH(test_large_config),
        WITH_SCRATCH(test_new_callbacks),
        WITH_SCRATCH(test_commands_wait),
        WITH_SCRATCH(test_long_queue),
        WITH_SCRATCH(test_queued_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
