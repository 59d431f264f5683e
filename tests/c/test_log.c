/* The log: its lines are in order and all there, written at once or together. */
#include "controller/log.h"
#include "run_rig.h"

#include <sys/resource.h>
#include <sys/wait.h>

#define LINE_BYTES 60 /* more than a line of these tests has in the file */

struct said {
    struct hcb_log log;
    struct hcb_buf hook; /* what the hook got */
};

static void hear(void *user, enum hotcb_level level, const char *callback, const char *line)
{
    struct said *s = user;
    (void)level;
    hcb_buf_printf(&s->hook, "%s%s%s\n", callback ? callback : "", callback ? ": " : "", line);
}

static void open_log(struct said *s)
{
    memset(s, 0, sizeof(*s));
    hcb_log_init(&s->log, hear, s, HOTCB_INFO);
    assert_int_equal(hcb_log_open(&s->log, scratch("log"), 8 << 20, NULL), 0);
}

static void close_log(struct said *s)
{
    hcb_log_release(&s->log);
    hcb_buf_release(&s->hook);
}

/* The file without its times: "INFO  [id] text" a line. Yours to free. */
static char *in_file(void)
{
    char *text = file_read("log"), *to = text;
    for (char *line = text; line && *line;) {
        char *end = strchr(line, '\n') + 1, *rest = strchr(strchr(line, ' ') + 1, ' ') + 1;
        assert_true(line[4] == '-' && rest < end);
        memmove(to, rest, (size_t)(end - rest));
        to += end - rest;
        line = end;
    }
    if (to)
        *to = '\0';
    return text;
}

static void assert_in_file(const char *expected)
{
    char *text = in_file();
    assert_string_equal(text ? text : "", expected);
    free(text);
}

static void test_at_once(void **state)
{
    struct said s;
    (void)state;
    open_log(&s);
    hcb_log(&s.log, HOTCB_INFO, NULL, "one");
    assert_in_file("INFO  [hotcb] one\n");
    hcb_log_text(&s.log, HOTCB_WARN, "a", "two\n", 4, 4);
    assert_in_file("INFO  [hotcb] one\nWARN  [a] two\\n\n");
    hcb_log(&s.log, HOTCB_DEBUG, NULL, "not wanted");
    assert_null(hcb_log_begin(&s.log, HOTCB_DEBUG));
    hcb_log(&s.log, HOTCB_ERROR, "a", "three");
    assert_in_file("INFO  [hotcb] one\nWARN  [a] two\\n\nERROR [a] three\n");
    assert_string_equal(s.hook.data, "one\na: two\\n\n[a] three\n");
    close_log(&s);
}

/* What is gathered waits for the flush, or for an error; hooks wait for nothing. */
static void test_gathered(void **state)
{
    struct said s;
    struct hcb_moment now;
    (void)state;
    open_log(&s);
    hcb_log_gather(&s.log);
    hcb_log(&s.log, HOTCB_INFO, NULL, "one");
    hcb_log_text(&s.log, HOTCB_WARN, "a", "two", 3, 3);
    assert_in_file("");
    hcb_log(&s.log, HOTCB_ERROR, NULL, "three");
    assert_in_file("INFO  [hotcb] one\nWARN  [a] two\nERROR [hotcb] three\n");
    hcb_buf_str(hcb_log_begin(&s.log, HOTCB_INFO), "four");
    hcb_clock_now(&now);
    hcb_log_end(&s.log, HOTCB_INFO, &now);
    assert_in_file("INFO  [hotcb] one\nWARN  [a] two\nERROR [hotcb] three\n");
    hcb_log_flush(&s.log);
    hcb_log(&s.log, HOTCB_INFO, NULL, "five");
    assert_in_file("INFO  [hotcb] one\nWARN  [a] two\nERROR [hotcb] three\n"
                   "INFO  [hotcb] four\nINFO  [hotcb] five\n");
    assert_string_equal(s.hook.data, "one\na: two\nthree\nfour\nfive\n");
    close_log(&s);
}

/* However much is said, little of it waits, and all of it comes in order. */
static void test_much_is_gathered(void **state)
{
    struct said s;
    struct hcb_buf expected = {0};
    (void)state;
    open_log(&s);
    hcb_log_gather(&s.log);
    for (int i = 0; i < 3000; i++) {
        hcb_log(&s.log, HOTCB_INFO, NULL, "%0*d", 1 + i % 200, i);
        hcb_buf_printf(&expected, "INFO  [hotcb] %0*d\n", 1 + i % 200, i);
        assert_true(s.log.pending.len <= 40000);
    }
    hcb_log_flush(&s.log);
    assert_int_equal(s.log.pending.len, 0);
    assert_in_file(expected.data);
    hcb_buf_release(&expected);
    close_log(&s);
}

static void say_lines(struct said *s, int from, int to)
{
    hcb_log_gather(&s->log);
    for (int i = from; i < to; i++)
        hcb_log(&s->log, HOTCB_INFO, NULL, "line %d", i);
    hcb_log_flush(&s->log);
}

/* In a child: its files may not grow beyond so many bytes, as on a full disk, and then may. */
static int log_on_a_full_disk(rlim_t room)
{
    const struct rlimit small = {room, 100000}, large = {100000, 100000};
    struct said s;
    open_log(&s);
    setrlimit(RLIMIT_FSIZE, &small);
    say_lines(&s, 0, 100);
    if (count_of(s.hook.data, "log lines are lost until that is mended") != 1)
        return 1;
    setrlimit(RLIMIT_FSIZE, &large);
    int lost = (int)s.log.spool.lost;
    say_lines(&s, 100, 110);
    if (count_of(s.hook.data, "is written again") != 1)
        return 2;
    close_log(&s);
    return lost > 0 ? lost + 2 : 3;
}

static void check_full_disk(rlim_t room)
{
    int status, there = 0, last = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(log_on_a_full_disk(room));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) > 2);
    int lost = WEXITSTATUS(status) - 2;
    char *text = in_file(), *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        int n = -1;
        assert_int_equal(sscanf(line, "INFO  [hotcb] line %d", &n), 1);
        assert_true(n == last + 1 || n == 100);
        last = n;
        there++;
    }
    free(text);
    assert_int_equal(last, 109);
    assert_int_equal(there, 110 - lost);
    assert_true((100 - lost + 1) * LINE_BYTES > (int)room); /* as many as there was room for */
}

static void test_a_full_disk(void **state)
{
    (void)state;
    for (rlim_t room = 0; room < 5000; room += 211) {
        check_full_disk(room);
        unlink(scratch("log"));
    }
}

/* ---- a whole look ---- */

static int64_t writes_so_far(void)
{
    long long n = -1;
    char line[100];
    FILE *f = fopen("/proc/self/io", "r");
    while (f && fgets(line, sizeof(line), f))
        sscanf(line, "syscw: %lld", &n);
    if (f)
        fclose(f);
    return n;
}

/* Every other command is for a callback that is not there. */
static int64_t writes_of_a_look(struct run *r, int commands)
{
    static int sent;
    struct hcb_buf text = {0};
    for (int i = 0; i < commands; i++, sent++)
        hcb_buf_printf(&text, "{\"op\":\"enable\",\"id\":\"%s\",\"cmd\":\"c%d\"}\n",
                       sent % 2 ? "nobody" : "a", sent);
    scratch_append(run_path("hotcb.commands.jsonl"), text.data);
    hcb_buf_release(&text);
    int64_t before = writes_so_far();
    assert_int_equal(hotcb_poll(r->h, NULL), commands);
    return writes_so_far() - before;
}

static void test_writes_of_a_look(void **state)
{
    struct run r;
    (void)state;
    if (writes_so_far() < 0)
        skip();
    run_start(&r);
    run_load(&r, "a", "function handle() end");
    hotcb_poll(r.h, NULL);
    int64_t of_one = writes_of_a_look(&r, 1);
    assert_int_equal(writes_of_a_look(&r, 100), of_one);
    char *log = file_read("run/hotcb.log"), *ledger = file_read("run/hotcb.applied.jsonl");
    assert_int_equal(count_of(log, "(command): "), 101);
    assert_int_equal(count_of(log, "enable a (command): applied"), 51);
    assert_int_equal(count_of(log, "enable nobody (command): rejected"), 50);
    assert_int_equal(count_of(ledger, "\"cmd\":"), 101);
    free(log);
    free(ledger);
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_at_once),
        WITH_SCRATCH(test_gathered),
        WITH_SCRATCH(test_much_is_gathered),
        WITH_SCRATCH(test_a_full_disk),
        WITH_SCRATCH(test_writes_of_a_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
