/* The command file: what a reader hands out while others write, cut, replace and
 * delete it; and many writers at once. */
#include "control/commands.h"

#include "base/text.h"
#include "scratch.h"

#include <sys/wait.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- small files, step by step ---- */

/* Steps: w write, a append, r replace by rename, d delete, l look, n go on as a new
 * process, s skip to an offset. What a look finds is "number@offset:text;" a line,
 * '-' for nothing, 'R' for a restart, '!' for an error; a skip gives '+' or '!'. */
static const struct row {
    const char *name;
    const char *steps[12];
    const char *want;
} rows[] = {
    {"no file", {"l", "l"}, "-|-|"},
    {"an empty file", {"w", "l", "l"}, "-|-|"},
    {"lines", {"wa\nbb\n", "l", "l"}, "1@0:a;2@2:bb;|-|"},
    {"a line counts once its newline is there",
     {"w{\"op\":", "l", "l", "a1}", "l", "a\nx", "l"}, "-|-|-|1@0:{\"op\":1};|"},
    {"a cut character is waited for",
     {"wh\xc3", "l", "a\xa9\xe7\x95", "l", "a\x8c\n", "l"},
     "-|-|1@0:h\xc3\xa9\xe7\x95\x8c;|"},
    {"blank lines, CR and BOM",
     {"w\xef\xbb\xbf" "a\r\n\r\n \t\r\nb\r\n\n", "l", "a\xef\xbb\xbf" "c\n", "l"},
     "1@0:a;4@12:b;|6@16:\xef\xbb\xbf" "c;|"},
    {"a BOM alone is blank", {"w\xef\xbb\xbf\r\na\n", "l"}, "2@5:a;|"},
    {"only one CR goes", {"wa\r\r\n", "l"}, "1@0:a\r;|"},
    {"cut to nothing", {"wa\nb\n", "l", "w", "l", "ac\n", "l"},
     "1@0:a;2@2:b;|R-|1@0:c;|"},
    {"cut and written again within a look",
     {"waaaa\nb\n", "l", "wc\n", "l"}, "1@0:aaaa;2@5:b;|R1@0:c;|"},
    {"cut below the place, and grown beyond it again",
     {"wa\nb\n", "l", "wx\ny\nz\n", "l"}, "1@0:a;2@2:b;|R1@0:x;2@2:y;3@4:z;|"},
    {"cut before anything was taken in", {"wpart", "l", "wa\n", "l"},
     "-|1@0:a;|"},
    {"replaced by another of the same length",
     {"wa\nb\n", "l", "rx\ny\n", "l"}, "1@0:a;2@2:b;|R1@0:x;2@2:y;|"},
    {"written again in place, same length, maybe within one tick of the clock",
     {"wa\nb\n", "l", "wx\ny\n", "l"}, "1@0:a;2@2:b;|R1@0:x;2@2:y;|"},
    {"saved by an editor with one line more",
     {"wa\nb\n", "l", "ra\nb\nc\n", "l"}, "1@0:a;2@2:b;|3@4:c;|"},
    {"replaced by the same", {"wa\n", "l", "ra\n", "l", "l"},
     "1@0:a;|-|-|"},
    {"deleted, and there again as it was",
     {"wa\n", "l", "d", "l", "wa\nb\n", "l"}, "1@0:a;|-|2@2:b;|"},
    {"deleted, and another in its place",
     {"wa\n", "l", "d", "l", "wx\nb\n", "l"},
     "1@0:a;|-|R1@0:x;2@2:b;|"},
    {"a new process goes on at the place",
     {"wa\nb\n", "l", "n", "l", "ac\n", "l"},
     "1@0:a;2@2:b;|-|3@4:c;|"},
    {"a new process notices another file",
     {"wa\nb\n", "l", "n", "wx\ny\nc\n", "l"},
     "1@0:a;2@2:b;|R1@0:x;2@2:y;3@4:c;|"},
    {"the ledger was further than the place",
     {"wa\n", "l", "n", "a\nb\nc\nd\n", "s5", "l"},
     "1@0:a;|+|5@7:d;|"},
    {"skipping what is behind, and skipping nothing",
     {"wa\nb\n", "l", "s0", "s2", "l"}, "1@0:a;2@2:b;|+|+|-|"},
    {"skipping to what is no line",
     {"waa\nb\nc", "s1", "s5", "s99", "l"},
     "!|!|!|1@0:aa;2@3:b;|"},
    {"skipping in another file",
     {"wa\nb\n", "l", "n", "wx\nb\nc\n", "s4", "l"},
     "1@0:a;2@2:b;|!|R1@0:x;2@2:b;3@4:c;|"},
    {"skipping without a file", {"s0"}, "!|"},
};

static void add_look(struct hcb_buf *out, struct hcb_commands *c)
{
    struct hcb_line line;
    struct hcb_err err = {0};
    int rc;
    while ((rc = hcb_commands_begin(c, &err)) == HCB_COMMANDS_RESTARTED) {
        assert_int_equal(c->place.offset, 0);
        assert_non_null(strstr(err.text, "reading it from the beginning"));
        hcb_buf_char(out, 'R');
    }
    size_t before = out->len;
    while (hcb_commands_next(c, &line))
        hcb_buf_printf(out, "%d@%d:%.*s;", (int)line.number, (int)line.offset, (int)line.n,
                       line.text);
    if (out->len == before)
        hcb_buf_char(out, rc < 0 ? '!' : '-');
}

/* A new process that has only the place and the file. */
static void start_again(struct hcb_commands *c)
{
    struct hcb_commands_place place = c->place;
    char *path = hcb_strdup(c->path);
    hcb_commands_release(c);
    assert_int_equal(hcb_commands_init(c, path), 0);
    c->place = place;
    free(path);
}

static void take_step(const char *step, struct hcb_commands *c, struct hcb_buf *out)
{
    switch (step[0]) {
    case 'w': scratch_write(c->path, step + 1); return;
    case 'a': scratch_append(c->path, step + 1); return;
    case 'r': scratch_replace(c->path, step + 1); return;
    case 'd': assert_int_equal(unlink(c->path), 0); return;
    case 'n': start_again(c); return;
    case 'l': add_look(out, c); break;
    case 's': hcb_buf_char(out, hcb_commands_skip_to(c, atoi(step + 1), NULL) < 0 ? '!' : '+');
    }
    hcb_buf_char(out, '|');
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hcb_commands c;
        struct hcb_buf got = {0};
        assert_int_equal(hcb_commands_init(&c, scratch("commands")), 0);
        unlink(c.path);
        for (const char *const *step = rows[i].steps; *step; step++)
            take_step(*step, &c, &got);
        if (strcmp(hcb_buf_text(&got), rows[i].want) != 0)
            fail_msg("%s: %s, not %s", rows[i].name, hcb_buf_text(&got), rows[i].want);
        hcb_buf_release(&got);
        hcb_commands_release(&c);
    }
}

static void check_counts(const char *text, int lines, int count)
{
    struct hcb_commands c, d;
    struct hcb_line line;
    scratch_write(scratch("n"), text);
    assert_int_equal(hcb_commands_init(&c, scratch("n")), 0);
    assert_int_equal(hcb_commands_init(&d, scratch("n")), 0);
    assert_int_equal(hcb_commands_begin(&c, NULL), HCB_COMMANDS_NEW);
    while (hcb_commands_next(&c, &line))
        ;
    assert_int_equal(c.place.lines, lines);
    assert_int_equal(c.place.count, count);
    assert_int_equal(hcb_commands_skip_to(&d, line.offset, NULL), 0);
    assert_memory_equal(&c.place, &d.place, sizeof(c.place));
    hcb_commands_release(&c);
    hcb_commands_release(&d);
}

static void test_counts(void **state)
{
    (void)state;
    check_counts("\xef\xbb\xbf\n\na\n \r\nb\n", 5, 2);
    check_counts("\xef\xbb\xbf \r\nb\n", 2, 1);
    check_counts("\xef\r\nb\n", 2, 2); /* a part of a mark is none, but a bad line */
    check_counts("\xef\xbb\nb\n", 2, 2);
}

/* ---- what is no file to read ---- */

static void test_said_once(void **state)
{
    struct hcb_commands c;
    struct hcb_err err = {0};
    struct hcb_buf got = {0};
    (void)state;
    assert_int_equal(mkdir(scratch("dir"), 0777), 0);
    assert_int_equal(hcb_commands_init(&c, scratch("dir")), 0);
    assert_true(hcb_commands_begin(&c, &err) < 0);
    assert_non_null(strstr(err.text, "is not a regular file"));
    for (int i = 0; i < 3; i++)
        add_look(&got, &c);
    assert_int_equal(rmdir(c.path), 0);
    scratch_write(c.path, "a\n");
    add_look(&got, &c);
    assert_int_equal(unlink(c.path), 0);
    assert_int_equal(mkfifo(c.path, 0666), 0); /* must not wait for a writer */
    add_look(&got, &c);
    add_look(&got, &c);
    assert_string_equal(hcb_buf_text(&got), "---1@0:a;!-");
    hcb_buf_release(&got);
    hcb_commands_release(&c);
}

/* ---- large files ---- */

static void put_repeated(const char *path, char c, size_t n)
{
    char *bytes = malloc(n);
    assert_non_null(bytes);
    memset(bytes, c, n);
    scratch_put(path, O_APPEND, bytes, n);
    free(bytes);
}

/* All lines come once and in order, however many a look takes in. */
static void test_cap_of_ops(void **state)
{
    struct hcb_commands c;
    struct hcb_line line;
    struct hcb_buf text = {0};
    int looks = 0, n = 0;
    (void)state;
    for (int i = 0; i < 600; i++)
        hcb_buf_printf(&text, "%d\n\n", i);
    scratch_write(scratch("many"), text.data);
    assert_int_equal(hcb_commands_init(&c, scratch("many")), 0);
    while (hcb_commands_begin(&c, NULL) == HCB_COMMANDS_NEW) {
        int before = n;
        while (hcb_commands_next(&c, &line))
            assert_int_equal(strtol(line.text, NULL, 10), n++);
        assert_true(n - before <= HOTCB_LOOK_OPS);
        assert_int_equal(c.more, n < 600);
        looks++;
    }
    assert_int_equal(n, 600);
    assert_int_equal(looks, 3);
    assert_int_equal(c.place.count, 600);
    assert_int_equal(c.place.lines, 1200);
    hcb_buf_release(&text);
    hcb_commands_release(&c);
}

/* What this process has read of files so far. */
static int64_t bytes_read(void)
{
    long long n = -1;
    FILE *f = fopen("/proc/self/io", "r");
    if (f && fscanf(f, "rchar: %lld", &n) != 1)
        n = -1;
    if (f)
        fclose(f);
    return n;
}

/* Reads a whole queue of such lines, and returns what the look that read most has read for
 * each byte that it took in. */
static double worst_look(const char *path, int lines, int bytes)
{
    struct hcb_commands c;
    struct hcb_line line;
    int n = 0;
    double worst = 0;
    assert_int_equal(hcb_commands_init(&c, path), 0);
    while (n < lines) {
        int64_t place = c.place.offset, before = bytes_read();
        assert_int_equal(hcb_commands_begin(&c, NULL), HCB_COMMANDS_NEW);
        for (; hcb_commands_next(&c, &line); n++) {
            assert_int_equal(line.n, bytes);
            assert_int_equal(strtol(line.text, NULL, 10), n);
        }
        int64_t spent = bytes_read() - before, taken = c.place.offset - place;
        assert_true(taken > 0 && spent <= HOTCB_LOOK_BYTES + 32 * 1024);
        if (n < lines && worst < (double)spent / (double)taken)
            worst = (double)spent / (double)taken;
    }
    assert_false(c.more);
    hcb_commands_release(&c);
    return worst;
}

/* A look at a long queue reads what it takes in, and not much more, whatever waits behind. */
static void test_bytes_of_a_long_queue(void **state)
{
    static const struct { int lines, bytes; double at_most; } queues[] = {
        {10000, 95, 1.6}, {10000, 127, 2.2}, {3000, 400, 2.2}, {2000, 2000, 2.2}, {600, 8000, 1.2},
        {300, 20000, 1.2}, {30, 200000, 1.5}, {9, 500000, 2.2},
    };
    (void)state;
    if (bytes_read() < 0)
        skip();
    for (size_t i = 0; i < COUNT(queues); i++) {
        struct hcb_buf text = {0};
        for (int n = 0; n < queues[i].lines; n++)
            hcb_buf_printf(&text, "%-*d\n", queues[i].bytes, n);
        assert_false(text.oom);
        scratch_write(scratch("queue"), text.data);
        double worst = worst_look(scratch("queue"), queues[i].lines, queues[i].bytes);
        if (worst > queues[i].at_most)
            fail_msg("queue %zu: %f bytes read for each that was taken in", i, worst);
        hcb_buf_release(&text);
    }
}

/* Written again, in place, between two reads of one look: no line is made of both. */
static void test_another_file_within_a_look(void **state)
{
    struct hcb_commands c;
    struct hcb_line line;
    struct hcb_buf old = {0}, new = {0};
    int n = 0;
    (void)state;
    for (int i = 0; i < 200; i++) {
        hcb_buf_printf(&old, "%-299d\n", i);
        hcb_buf_printf(&new, "%-299d\n", 1000 + i);
    }
    scratch_write(scratch("both"), old.data);
    assert_int_equal(hcb_commands_init(&c, scratch("both")), 0);
    assert_int_equal(hcb_commands_begin(&c, NULL), HCB_COMMANDS_NEW);
    for (; hcb_commands_next(&c, &line); n++) {
        assert_int_equal(strtol(line.text, NULL, 10), n);
        if (n == 0)
            scratch_write(c.path, new.data);
    }
    assert_true(n > 0 && n < 200 && c.more);
    assert_int_equal(hcb_commands_begin(&c, NULL), HCB_COMMANDS_RESTARTED);
    assert_int_equal(hcb_commands_begin(&c, NULL), HCB_COMMANDS_NEW);
    for (n = 0; hcb_commands_next(&c, &line); n++)
        assert_int_equal(strtol(line.text, NULL, 10), 1000 + n);
    assert_int_equal(n, 200);
    hcb_buf_release(&old);
    hcb_buf_release(&new);
    hcb_commands_release(&c);
}

/* It became shorter between two reads of one look, and is whole again at the next. */
static void test_cut_within_a_look(void **state)
{
    struct hcb_commands c;
    struct hcb_line line;
    struct hcb_buf text = {0};
    int n = 0;
    (void)state;
    for (int i = 0; i < 200; i++)
        hcb_buf_printf(&text, "%-299d\n", i);
    scratch_write(scratch("cut"), text.data);
    assert_int_equal(hcb_commands_init(&c, scratch("cut")), 0);
    for (int look = 0; look < 2; look++) {
        assert_int_equal(hcb_commands_begin(&c, NULL), HCB_COMMANDS_NEW);
        if (look == 0)
            assert_int_equal(truncate(c.path, 40000), 0);
        for (; hcb_commands_next(&c, &line); n++)
            assert_int_equal(strtol(line.text, NULL, 10), n);
        assert_int_equal(n, look == 0 ? 133 : 200);
        assert_int_equal(c.more, look == 0);
        scratch_write(c.path, text.data);
    }
    hcb_buf_release(&text);
    hcb_commands_release(&c);
}

/* The caller may stop in the middle and go on at the next look. */
static void test_stopping_early(void **state)
{
    struct hcb_commands c;
    struct hcb_line line;
    struct hcb_buf got = {0};
    (void)state;
    scratch_write(scratch("early"), "a\nb\n");
    assert_int_equal(hcb_commands_init(&c, scratch("early")), 0);
    assert_int_equal(hcb_commands_begin(&c, NULL), HCB_COMMANDS_NEW);
    assert_true(hcb_commands_next(&c, &line));
    add_look(&got, &c);
    add_look(&got, &c);
    assert_string_equal(hcb_buf_text(&got), "2@2:b;-");
    hcb_buf_release(&got);
    hcb_commands_release(&c);
}

/* A line that was put back comes again, and nothing else does; to a later process, too. */
static void test_put_back(void **state)
{
    struct hcb_commands c;
    struct hcb_line line;
    struct hcb_buf got = {0};
    (void)state;
    scratch_write(scratch("back"), "\xef\xbb\xbf" "a\r\n\n  \nb\r\nc\n");
    assert_int_equal(hcb_commands_init(&c, scratch("back")), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hcb_commands_begin(&c, NULL), HCB_COMMANDS_NEW);
        assert_true(hcb_commands_next(&c, &line));
        hcb_commands_put_back(&c, &line);
        assert_true(c.more && c.place.offset == 0 && c.place.lines == 0 && c.place.count == 0);
    }
    assert_int_equal(hcb_commands_begin(&c, NULL), HCB_COMMANDS_NEW);
    assert_true(hcb_commands_next(&c, &line));
    assert_true(hcb_commands_next(&c, &line));
    hcb_commands_put_back(&c, &line);
    assert_int_equal(c.place.count, 1);
    start_again(&c);
    add_look(&got, &c);
    add_look(&got, &c);
    assert_string_equal(hcb_buf_text(&got), "4@10:b;5@13:c;-");
    assert_int_equal(c.place.count, 3);
    hcb_buf_release(&got);
    hcb_commands_release(&c);
}

/* The same of a line that is too long, with and without its end. */
static void test_put_back_long(void **state)
{
    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        struct hcb_commands c;
        struct hcb_line line;
        struct hcb_buf text = {0};
        hcb_buf_str(&text, "a\n");
        for (int i = 0; i <= HCB_LINE_BYTES; i++)
            hcb_buf_char(&text, 'x');
        if (ended)
            hcb_buf_str(&text, "\nb\n");
        scratch_write(scratch("long back"), text.data);
        assert_int_equal(hcb_commands_init(&c, scratch("long back")), 0);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(hcb_commands_begin(&c, NULL), HCB_COMMANDS_NEW);
            if (i == 0)
                assert_true(hcb_commands_next(&c, &line));
            assert_true(hcb_commands_next(&c, &line));
            assert_true(line.too_long && line.offset == 2 && line.number == 2);
            if (i == 0)
                hcb_commands_put_back(&c, &line);
        }
        assert_int_equal(hcb_commands_next(&c, &line), ended);
        hcb_buf_release(&text);
        hcb_commands_release(&c);
    }
}

/* Lines full of characters of several bytes, so that wherever a read ends it cuts
 * one: each line comes back byte for byte. */
static void test_utf8_at_boundaries(void **state)
{
    enum { LINES = 40 };
    static const char chars[] = "\xe7\x95\x8c\xf0\x9f\x94\xa5\xc3\xa9";
    struct hcb_commands c;
    struct hcb_line line;
    struct hcb_buf text = {0};
    size_t starts[LINES + 1], n = 0;
    (void)state;
    for (int i = 0; i < LINES; i++) {
        starts[i] = text.len;
        hcb_buf_printf(&text, "%0*d", i % 9 + 1, i);
        for (int j = 0; j < 7000; j++)
            hcb_buf_str(&text, chars);
        hcb_buf_char(&text, '\n');
    }
    starts[LINES] = text.len;
    assert_true(text.len > 2 * HOTCB_LOOK_BYTES);
    scratch_write(scratch("utf8"), text.data);
    assert_int_equal(hcb_commands_init(&c, scratch("utf8")), 0);
    while (hcb_commands_begin(&c, NULL) == HCB_COMMANDS_NEW)
        while (hcb_commands_next(&c, &line)) {
            assert_int_equal(line.offset, starts[n]);
            assert_int_equal(line.n, starts[n + 1] - starts[n] - 1);
            assert_memory_equal(line.text, text.data + starts[n], line.n);
            n++;
        }
    assert_int_equal(n, LINES);
    hcb_buf_release(&text);
    hcb_commands_release(&c);
}

/* "first", a line of so many bytes, "next": the long one is told once, and what
 * comes after it is not lost. */
static void check_long_line(size_t bytes, bool too_long)
{
    struct hcb_commands c;
    struct hcb_line line;
    int seen = 0;
    const char *path = scratch("long");
    scratch_write(path, "first\n");
    put_repeated(path, 'x', bytes);
    scratch_append(path, "\nnext\n");
    assert_int_equal(hcb_commands_init(&c, path), 0);
    for (int look = 0; look < 20; look++) {
        hcb_commands_begin(&c, NULL);
        while (hcb_commands_next(&c, &line)) {
            assert_int_equal(line.number, ++seen);
            assert_int_equal(line.too_long, seen == 2 && too_long);
            if (seen == 2)
                assert_int_equal(line.n, too_long ? HCB_LINE_BYTES : bytes);
        }
    }
    assert_int_equal(seen, 3);
    assert_int_equal(line.offset, 6 + (int64_t)bytes + 1);
    assert_int_equal(c.place.count, 3);
    assert_int_equal(c.place.lines, 3);
    assert_int_equal(hcb_commands_begin(&c, NULL), HCB_COMMANDS_NOTHING);
    hcb_commands_release(&c);
}

static void test_long_lines(void **state)
{
    (void)state;
    check_long_line(HCB_LINE_BYTES, false);
    check_long_line(HCB_LINE_BYTES + 1, true);
    check_long_line(HOTCB_LOOK_BYTES - 6 - 1, true);
    check_long_line(HOTCB_LOOK_BYTES, true);
    check_long_line(5 * HOTCB_LOOK_BYTES + 12345, true);
}

/* Counts what is handed out by so many looks, and how much of it is too long. */
static int looks(struct hcb_commands *c, int n, int *too_long)
{
    struct hcb_line line;
    int seen = 0;
    *too_long = 0;
    for (int i = 0; i < n; i++) {
        hcb_commands_begin(c, NULL);
        while (hcb_commands_next(c, &line)) {
            seen++;
            *too_long += line.too_long;
        }
    }
    return seen;
}

/* The place stays at the start of a long line until its end is there, so that no
 * part of it is ever taken for a command. */
static void test_long_line_that_grows(void **state)
{
    struct hcb_commands c;
    int too_long;
    const char *path = scratch("grows");
    (void)state;
    scratch_write(path, "first\n");
    put_repeated(path, 'x', HCB_LINE_BYTES);
    assert_int_equal(hcb_commands_init(&c, path), 0);
    assert_int_equal(looks(&c, 3, &too_long), 1);
    put_repeated(c.path, 'x', HCB_LINE_BYTES);
    assert_int_equal(looks(&c, 3, &too_long), 1);
    assert_int_equal(too_long, 1);
    put_repeated(c.path, 'x', 3 * HOTCB_LOOK_BYTES);
    assert_int_equal(looks(&c, 6, &too_long), 0);
    assert_int_equal(c.place.offset, 6);
    start_again(&c);
    assert_int_equal(looks(&c, 6, &too_long), 1); /* told again */
    assert_int_equal(too_long, 1);
    assert_int_equal(hcb_commands_skip_to(&c, 6, NULL), 0);
    assert_int_equal(looks(&c, 6, &too_long), 0); /* not so if that was answered */
    assert_int_equal(c.place.offset, 6);
    start_again(&c);
    assert_int_equal(hcb_commands_skip_to(&c, 6, NULL), 0);
    scratch_append(c.path, "{}\n{}\n");
    assert_int_equal(looks(&c, 6, &too_long), 1);
    assert_int_equal(too_long, 0);
    assert_int_equal(c.place.lines, 3);
    hcb_commands_release(&c);
}

static void test_long_line_taken_away(void **state)
{
    struct hcb_commands c;
    int too_long;
    const char *path = scratch("away");
    (void)state;
    scratch_write(path, "first\n");
    put_repeated(path, 'x', 2 * HCB_LINE_BYTES);
    assert_int_equal(hcb_commands_init(&c, path), 0);
    assert_int_equal(looks(&c, 3, &too_long), 2);
    assert_int_equal(truncate(c.path, 6), 0);
    scratch_append(c.path, "{}\n");
    assert_int_equal(looks(&c, 2, &too_long), 1);
    assert_int_equal(too_long, 0);
    hcb_commands_release(&c);
}

/* The file is written again in place, and is longer than what was skipped: the lines that stand
 * there now are no part of the long one. */
static void test_long_line_written_over(void **state)
{
    static const char *const heads[] = {"", "first\n"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hcb_commands c;
        int too_long;
        const char *path = scratch("over");
        scratch_write(path, heads[i]);
        put_repeated(path, 'x', HCB_LINE_BYTES + 1);
        assert_int_equal(hcb_commands_init(&c, path), 0);
        assert_int_equal(looks(&c, 3, &too_long), i + 1);
        assert_int_equal(too_long, 1);
        scratch_write(c.path, heads[i]);
        for (int k = 0; k < 3; k++) {
            put_repeated(c.path, (char)('a' + k), HCB_LINE_BYTES);
            scratch_append(c.path, "\n");
        }
        assert_int_equal(looks(&c, 5, &too_long), 3);
        assert_int_equal(too_long, 0);
        hcb_commands_release(&c);
    }
}

static void test_skip_over_a_large_file(void **state)
{
    struct hcb_commands c;
    struct hcb_buf got = {0};
    const char *path = scratch("large");
    (void)state;
    scratch_write(path, "a\n");
    put_repeated(path, 'x', 3 * HOTCB_LOOK_BYTES);
    scratch_append(path, "\nb\n");
    assert_int_equal(hcb_commands_init(&c, path), 0);
    assert_int_equal(hcb_commands_skip_to(&c, 2, NULL), 0);
    assert_int_equal(c.place.count, 2);
    add_look(&got, &c);
    assert_string_equal(hcb_buf_text(&got), "3@3145731:b;");
    hcb_buf_release(&got);
    hcb_commands_release(&c);
}

/* ---- adding ---- */

static void test_append(void **state)
{
    struct hcb_err err = {0};
    struct hcb_buf all = {0};
    char *long_line = calloc(1, HCB_LINE_BYTES + 1);
    const char *path = scratch("add");
    (void)state;
    memset(long_line, 'x', HCB_LINE_BYTES + 1);
    assert_int_equal(hcb_commands_append(path, "{}", 2, &err), HOTCB_ENOENT);
    assert_int_not_equal(access(path, F_OK), 0);
    scratch_write(path, "");
    assert_int_equal(hcb_commands_append(path, "a", 1, NULL), 0);
    scratch_append(path, "torn");
    assert_int_equal(hcb_commands_append(path, "b", 1, NULL), 0);
    assert_int_equal(hcb_commands_append(path, "c\nd", 3, &err), HOTCB_EFORMAT);
    assert_int_equal(hcb_commands_append(path, long_line, HCB_LINE_BYTES + 1, &err), HOTCB_EFORMAT);
    assert_int_equal(hcb_commands_append(scratch_dir, "a", 1, &err), HOTCB_EIO);
    assert_int_equal(hcb_file_read(path, 100, &all, NULL), 0);
    assert_string_equal(all.data, "a\ntorn\nb\n");
    hcb_buf_release(&all);
    free(long_line);
}

#define WRITERS 8
#define LINES_EACH 60

/* Line i of writer w: its numbers, its length, and letters of its own. */
static size_t make_line(char *out, int w, int i)
{
    size_t n = (size_t)((w * 7919 + i * 104729) % 20000) + 40;
    memset(out, 'a' + (w + i) % 26, n);
    int head = snprintf(out, n, "%d %d %zu ", w, i, n);
    out[head] = (char)('a' + (w + i) % 26);
    return n;
}

static void write_lines(const char *path, int w)
{
    static char line[20100];
    for (int i = 0; i < LINES_EACH; i++)
        if (hcb_commands_append(path, line, make_line(line, w, i), NULL) != 0)
            _exit(1);
    _exit(0);
}

static void check_line(const struct hcb_line *line, int next[WRITERS])
{
    static char want[20100];
    int w = (int)strtol(line->text, NULL, 10);
    assert_in_range(w, 0, WRITERS - 1);
    assert_int_equal(line->n, make_line(want, w, next[w]++));
    assert_memory_equal(line->text, want, line->n);
}

static void test_many_writers(void **state)
{
    struct hcb_commands c;
    struct hcb_line line;
    int next[WRITERS] = {0}, running = WRITERS, status, total = 0;
    const char *path = scratch("writers");
    (void)state;
    scratch_write(path, "");
    assert_int_equal(hcb_commands_init(&c, path), 0);
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0)
            write_lines(c.path, w);
    while (running > 0) { /* reading while they write, and once more after */
        while (waitpid(-1, &status, WNOHANG) > 0) {
            assert_int_equal(status, 0);
            running--;
        }
        do {
            assert_true(hcb_commands_begin(&c, NULL) != HCB_COMMANDS_RESTARTED);
            for (; hcb_commands_next(&c, &line); total++)
                check_line(&line, next);
        } while (c.more);
    }
    assert_int_equal(total, WRITERS * LINES_EACH);
    hcb_commands_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_said_once),
        cmocka_unit_test(test_cap_of_ops),
        cmocka_unit_test(test_bytes_of_a_long_queue),
        cmocka_unit_test(test_another_file_within_a_look),
        cmocka_unit_test(test_cut_within_a_look),
        cmocka_unit_test(test_stopping_early),
        cmocka_unit_test(test_put_back),
        cmocka_unit_test(test_put_back_long),
        cmocka_unit_test(test_utf8_at_boundaries),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_long_line_that_grows),
        cmocka_unit_test(test_long_line_taken_away),
        cmocka_unit_test(test_long_line_written_over),
        cmocka_unit_test(test_skip_over_a_large_file),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_many_writers),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
