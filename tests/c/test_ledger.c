/* The ledger: its lines, what a new run learns from its end, torn lines, and
 * waiting for an answer. */
#include "control/ledger.h"

#include "base/file.h"
#include "base/json.h"
#include "scratch.h"

#include <signal.h>
#include <sys/resource.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- one line ---- */

/* A command, and what its ledger line holds beside seq, run, time and mono. */
static const struct row {
    const char *json;
    bool applied;
    const char *error, *reason, *sha256;
    const char *want;
} rows[] = {
    {"{'op':'enable','id':'hb','cmd':'c1'}", true, NULL, NULL, NULL,
     "'step':7,'op':'enable','id':'hb','origin':'command','cmd':'c1','offset':0,'line':1,"
     "'decision':'applied','error':null}"},
    {"{'op':'set_params','id':'hb','params':{'every':5,'x':null}}", true, NULL, NULL, NULL,
     "'decision':'applied','error':null,'params':{'every':5,'x':null}}"},
    {"{'op':'set_limits','id':'hb','limits':{'errors':5}}", true, NULL, NULL, NULL,
     "'decision':'applied','error':null,'limits':{'errors':5}}"},
    {"{'op':'load','id':'hb','target':{'kind':'lua_file','path':'/x.lua'},'params':{'a':1}}",
     false, "x.lua:3: 'end' expected", "syntax", "abc",
     "'decision':'rejected','error':'x.lua:3: 'end' expected','reason':'syntax',"
     "'path':'/x.lua','sha256':'abc'}"},
    {"{'op':'set_params','id':'hb','params':{'n':9007199254740993,'d':0.1,'s':'\\n\\u0001'}}",
     true, NULL, NULL, NULL, "'params':{'n':9007199254740993,'d':0.1,'s':'\\n\\u0001'}}"},
    {"{'op':'enab", false, "not JSON", NULL, NULL,
     "'op':'?','id':null,'origin':'command','offset':0,'line':1,'decision':'rejected'"},
};

static void single_quotes(char *s)
{
    for (; *s; s++)
        *s = *s == '"' ? '\'' : *s;
}

static void double_quotes(char *s)
{
    for (; *s; s++)
        *s = *s == '\'' ? '"' : *s;
}

/* Adds what became of this command, which stands at this offset. */
static void add_at(struct hcb_ledger *l, const struct row *row, int64_t offset,
                   const struct hcb_moment *now)
{
    struct hcb_op op;
    char *json = strdup(row->json);
    double_quotes(json);
    hcb_op_parse(json, strlen(json), &op, NULL);
    free(json);
    op.origin = offset >= 0 ? HCB_FROM_COMMAND : HCB_FROM_YAML;
    op.offset = offset;
    op.line = 1;
    const struct hcb_verdict v = {.op = &op,
                                  .at = now,
                                  .run = "r1",
                                  .step = 7,
                                  .has_step = row->applied,
                                  .applied = row->applied,
                                  .error = row->error,
                                  .reason = row->reason,
                                  .sha256 = row->sha256};
    hcb_ledger_add(l, &v);
    hcb_op_release(&op);
}

static void add(struct hcb_ledger *l, const struct row *row, int64_t offset)
{
    struct hcb_moment now;
    hcb_clock_now(&now);
    add_at(l, row, offset, &now);
}

static void open_ledger(struct hcb_ledger *l, const char *path, int64_t from,
                        struct hcb_ledger_end *end)
{
    struct hcb_err err = {0};
    if (hcb_ledger_open(l, path, from, end, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_lines(void **state)
{
    struct hcb_ledger l;
    struct hcb_ledger_end end;
    struct hcb_buf all = {0};
    (void)state;
    open_ledger(&l, scratch("lines"), 0, &end);
    assert_int_equal(hcb_ledger_flush(&l, NULL), 0); /* nothing */
    for (size_t i = 0; i < COUNT(rows); i++)
        add(&l, &rows[i], 0);
    assert_int_equal(hcb_ledger_size(l.path), 0);
    assert_int_equal(l.pending_lines, COUNT(rows));
    assert_int_equal(hcb_ledger_flush(&l, NULL), 0);
    assert_int_equal(hcb_ledger_size(l.path), l.bytes);
    assert_int_equal(hcb_file_read(l.path, 1 << 20, &all, NULL), 0);
    char *line = all.data;
    for (size_t i = 0; i < COUNT(rows); i++, line += strlen(line) + 1) {
        struct hcb_value v = {0};
        char *nl = strchr(line, '\n');
        assert_non_null(nl);
        *nl = '\0';
        assert_int_equal(hcb_json_parse(line, strlen(line), &v, NULL), 0);
        assert_int_equal(hcb_map_int(&v, "seq", 0), i + 1);
        assert_string_equal(hcb_map_text(&v, "run", ""), "r1");
        assert_true(hcb_map_real(&v, "time", 0) > 1e9);
        assert_true(hcb_map_real(&v, "mono", -1) >= 0);
        assert_int_equal(hcb_map_get(&v, "step")->type, rows[i].applied ? HCB_INT : HCB_NULL);
        hcb_value_release(&v);
        single_quotes(line);
        if (!strstr(line, rows[i].want))
            fail_msg("%s\n  not %s", line, rows[i].want);
    }
    assert_ptr_equal(line, all.data + all.len);
    hcb_buf_release(&all);
    hcb_ledger_close(&l);
}

/* ---- the end of the file ---- */

#define C(seq, offset) "{\"seq\":" seq ",\"origin\":\"command\",\"offset\":" offset "}\n"
#define Y(seq) "{\"seq\":" seq ",\"origin\":\"yaml\",\"id\":\"\\\"command\\\"\"}\n"

static const struct end_row {
    const char *text;
    int from;
    int seq, offset, torn;
} end_rows[] = {
    {"", 0, 0, -1, 0},
    {"", 99, 0, -1, 0},
    {C("1", "0"), 0, 1, 0, 0},
    {C("1", "0") C("2", "40") Y("3"), 0, 3, 40, 0},
    {C("1", "0") C("2", "40") Y("3"), sizeof(C("1", "0") C("2", "40")) - 1, 3, -1, 0},
    {C("1", "0") C("2", "40") Y("3"), sizeof(C("1", "0")) - 1, 3, 40, 0},
    {C("1", "0") C("2", "40") Y("3"), 5, 3, 40, 0},    /* within a line */
    {C("1", "0") C("2", "40") Y("3"), 1000, 3, 40, 0}, /* beyond the end: all of it */
    {C("1", "0") C("2", "40") Y("3"), -5, 3, 40, 0},
    {C("1", "40") C("2", "0"), 0, 2, 0, 0}, /* the last one, not the largest */
    {C("1", "0") "{\"seq\":2,\"origin\":\"comm", 0, 1, 0, 23},
    {"{\"seq\"", 0, 0, -1, 6},
    {C("7", "0") "rubbish\n\n", 0, 7, 0, 0},
    {"rubbish\n", 0, 0, -1, 0},
    {C("7", "0") "{\"seq\":\"x\"}\n{}\n[]\n", 0, 7, 0, 0},
    {"{\"seq\":5,\"origin\":\"command\"}\n", 0, 5, -1, 0},
};

static void test_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(end_rows); i++) {
        const struct end_row *row = &end_rows[i];
        struct hcb_ledger l;
        struct hcb_ledger_end end;
        scratch_write(scratch("end"), row->text);
        open_ledger(&l, scratch("end"), row->from, &end);
        if (l.seq != row->seq || end.last_offset != row->offset || end.torn != row->torn)
            fail_msg("row %zu: seq %d offset %d torn %d", i, (int)l.seq, (int)end.last_offset,
                     (int)end.torn);
        assert_int_equal(l.bytes, strlen(row->text) - (size_t)row->torn);
        assert_int_equal(hcb_ledger_size(l.path), l.bytes);
        hcb_ledger_close(&l);
    }
}

/* Lines of all lengths, so that the ends of chunks fall everywhere. */
static void test_large(void **state)
{
    struct hcb_buf text = {0};
    struct hcb_ledger l;
    struct hcb_ledger_end end;
    (void)state;
    for (int i = 1; i <= 3000; i++) {
        hcb_buf_printf(&text, "{\"seq\":%d,\"origin\":\"command\",\"offset\":%d,\"x\":\"", i,
                       i * 10);
        for (int j = 0; j < i % 977; j++)
            hcb_buf_char(&text, 'x');
        hcb_buf_str(&text, "\"}\n");
    }
    size_t whole = text.len;
    for (int j = 0; j < 200000; j++) /* a torn line longer than a chunk */
        hcb_buf_char(&text, 'x');
    scratch_write(scratch("large"), text.data);
    open_ledger(&l, scratch("large"), 0, &end);
    assert_int_equal(l.seq, 3000);
    assert_int_equal(end.last_offset, 30000);
    assert_int_equal(end.torn, 200000);
    assert_int_equal(l.bytes, whole);
    hcb_ledger_close(&l);
    hcb_buf_release(&text);
}

static void test_goes_on_counting(void **state)
{
    struct hcb_ledger l;
    struct hcb_ledger_end end;
    (void)state;
    for (int run = 0; run < 3; run++) {
        open_ledger(&l, scratch("on"), 0, &end);
        assert_int_equal(l.seq, run * 2);
        assert_int_equal(end.last_offset, run == 0 ? -1 : (run - 1) * 100);
        add(&l, &rows[0], run * 100);
        add(&l, &rows[1], -1);
        assert_int_equal(hcb_ledger_flush(&l, NULL), 0);
        hcb_ledger_close(&l);
        hcb_ledger_close(&l); /* does no harm */
    }
}

static void test_links_are_not_followed(void **state)
{
    struct hcb_ledger l;
    struct hcb_ledger_end end;
    struct hcb_err err = {0};
    (void)state;
    scratch_write(scratch("elsewhere"), "torn");
    assert_int_equal(symlink("elsewhere", scratch("link")), 0);
    assert_int_equal(hcb_ledger_open(&l, scratch("link"), 0, &end, &err), HOTCB_EIO);
    assert_int_equal(l.fd, -1);
    assert_int_equal(hcb_ledger_size(scratch("elsewhere")), 4);
}

/* ---- trouble ---- */

/* No file may grow beyond so many bytes: a full disk, as far as write can tell. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Each of them later than the one before. *gaps: numbers that no line has, between them. */
static int count_lines_and_gaps(const char *path, int *gaps)
{
    struct hcb_buf all = {0};
    int n = 0, seq = 0;
    assert_int_equal(hcb_file_read(path, 1 << 24, &all, NULL), 0);
    for (char *p = all.data; p && p < all.data + all.len; n++) {
        char *nl = strchr(p, '\n');
        struct hcb_value v = {0};
        assert_non_null(nl);
        assert_int_equal(hcb_json_parse(p, (size_t)(nl - p), &v, NULL), 0);
        assert_true(hcb_map_int(&v, "seq", 0) > seq);
        seq = (int)hcb_map_int(&v, "seq", 0);
        hcb_value_release(&v);
        p = nl + 1;
    }
    hcb_buf_release(&all);
    *gaps = seq - n;
    return n;
}

static int count_whole_lines(const char *path)
{
    int gaps, n = count_lines_and_gaps(path, &gaps);
    assert_int_equal(gaps, 0);
    return n;
}

static void test_full_disk(void **state)
{
    struct hcb_ledger l;
    struct hcb_ledger_end end;
    struct hcb_err err = {0};
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    open_ledger(&l, scratch("full"), 0, &end);
    add(&l, &rows[0], 0);
    assert_int_equal(hcb_ledger_flush(&l, NULL), 0);
    int64_t before = l.bytes;
    limit_files((rlim_t)before + 100);
    for (int i = 0; i < 3; i++) {
        add(&l, &rows[1], 100);
        assert_true(hcb_ledger_flush(&l, &err) < 0);
        assert_true(l.trouble);
        assert_int_equal(hcb_ledger_size(l.path), before); /* no part of a line is left */
        assert_int_equal(l.pending_lines, i + 1);
    }
    limit_files(RLIM_INFINITY);
    scratch_append(l.path, "{\"seq\":2,"); /* as if taking back had failed */
    assert_int_equal(hcb_ledger_flush(&l, &err), 0);
    assert_false(l.trouble);
    assert_int_equal(l.pending.len, 0);
    assert_int_equal(l.bytes, hcb_ledger_size(l.path));
    assert_int_equal(count_whole_lines(l.path), 4);
    hcb_ledger_close(&l);
}

#define MANY 600

/* What cannot be written is kept up to a bound, in brief where it is long, and then
 * counted. A short line may still be kept behind a longer one that was lost: the end of a
 * clock's zeros is not written. */
static void test_bound_of_pending(void **state)
{
    static char json[100100];
    const struct row big = {json, true, NULL, NULL, NULL, NULL};
    const struct hcb_moment fraction = {1790000000123456, 1000000123456000};
    const struct hcb_moment whole = {1, 1000};
    struct hcb_ledger l;
    struct hcb_ledger_end end;
    struct hcb_err err = {0};
    int gaps;
    (void)state;
    memset(json, 'x', 100000);
    memcpy(json, "{'op':'set_params','id':'a','params':{'s':'", 43);
    strcpy(json + 100000, "'}}");
    open_ledger(&l, scratch("pending"), 0, &end);
    for (int i = 0; i < MANY; i++)
        add_at(&l, i < 50 ? &big : &rows[1], 0, i < MANY - 2 ? &fraction : &whole);
    assert_true(l.pending.len <= HCB_LEDGER_PENDING);
    assert_int_equal(l.pending_lines + l.lost, MANY);
    int kept = (int)l.pending_lines;
    assert_true(kept > 30 && l.lost > 0);
    assert_int_equal(hcb_ledger_flush(&l, &err), HOTCB_ENOMEM);
    assert_non_null(strstr(err.text, "were lost"));
    assert_int_equal(count_lines_and_gaps(l.path, &gaps), kept);
    assert_true(gaps > 0);
    assert_int_equal(hcb_ledger_flush(&l, &err), 0);
    assert_int_equal(l.seq, MANY);
    hcb_ledger_close(&l);
}

/* Of what is pending this much was written before, and could not be taken back. */
static void test_cut_short(void **state)
{
    (void)state;
    for (size_t part = 1;; part += 7) {
        char name[32];
        struct hcb_ledger l;
        struct hcb_ledger_end end;
        snprintf(name, sizeof name, "cut%zu", part);
        open_ledger(&l, scratch(name), 0, &end);
        add(&l, &rows[0], 0);
        assert_int_equal(hcb_ledger_flush(&l, NULL), 0);
        add(&l, &rows[1], 100);
        add(&l, &rows[0], 200);
        size_t n = part < l.pending.len ? part : l.pending.len;
        bool all = n == l.pending.len;
        scratch_put(l.path, O_APPEND, l.pending.data, n);
        l.trouble = true;
        if (part % 2)
            hcb_ledger_reopen(&l);
        assert_int_equal(hcb_ledger_flush(&l, NULL), 0);
        assert_int_equal(count_whole_lines(l.path), 3);
        assert_int_equal(l.bytes, hcb_ledger_size(l.path));
        hcb_ledger_close(&l);
        if (all)
            break;
    }
}

/* Where there is room for an answer in brief only, what makes it long is left out. */
static void test_brief(void **state)
{
    static char json[3000100];
    const struct row big = {json, true, NULL, NULL, NULL, NULL};
    struct hcb_ledger l;
    struct hcb_ledger_end end;
    (void)state;
    memset(json, 'x', 3000000);
    memcpy(json, "{'op':'set_params','id':'a','cmd':'c','params':{'s':'", 53);
    strcpy(json + 3000000, "'}}");
    open_ledger(&l, scratch("brief"), 0, &end);
    add(&l, &big, 0);
    assert_true(hcb_ledger_room(&l, 1));
    add(&l, &big, 0);
    assert_int_equal(l.lost, 0);
    assert_int_equal(hcb_ledger_flush(&l, NULL), 0);
    assert_int_equal(count_whole_lines(l.path), 2);
    assert_true(l.bytes < 3001000);
    hcb_ledger_close(&l);
}

static void test_reopen(void **state)
{
    struct hcb_ledger l;
    struct hcb_ledger_end end;
    (void)state;
    open_ledger(&l, scratch("reopen"), 0, &end);
    add(&l, &rows[0], 0);
    assert_int_equal(unlink(l.path), 0);
    hcb_ledger_reopen(&l);
    assert_int_equal(hcb_ledger_flush(&l, NULL), 0);
    assert_int_equal(count_whole_lines(l.path), 1);
    add(&l, &rows[0], 0);
    hcb_ledger_reopen(&l);
    assert_int_equal(hcb_ledger_flush(&l, NULL), 0);
    assert_int_equal(count_whole_lines(l.path), 2);
    assert_int_equal(l.bytes, hcb_ledger_size(l.path));
    hcb_ledger_close(&l);
}

/* ---- waiting for an answer ---- */

static void test_find(void **state)
{
    struct hcb_value v = {0};
    const char *path = scratch("find");
    int64_t from = 0;
    (void)state;
    assert_int_equal(hcb_ledger_find(path, &from, "c1", &v, NULL), 0); /* no file */
    assert_int_equal(hcb_ledger_size(path), 0);
    scratch_write(path, "{\"seq\":1,\"cmd\":\"c0\"}\nrubbish\n");
    assert_int_equal(hcb_ledger_find(path, &from, "c1", &v, NULL), 0);
    assert_int_equal(from, hcb_ledger_size(path));
    scratch_append(path, "{\"seq\":2,\"cmd\":\"c1\"}");
    assert_int_equal(hcb_ledger_find(path, &from, "c1", &v, NULL), 0); /* not whole */
    scratch_append(path, "\n{\"seq\":3,\"cmd\":\"c1\"}\n");
    assert_int_equal(hcb_ledger_find(path, &from, "c1", &v, NULL), 1);
    assert_int_equal(hcb_map_int(&v, "seq", 0), 2);
    hcb_value_release(&v);
    assert_int_equal(hcb_ledger_find(path, &from, "c1", &v, NULL), 1);
    assert_int_equal(hcb_map_int(&v, "seq", 0), 3);
    hcb_value_release(&v);
    assert_int_equal(hcb_ledger_find(path, &from, "c1", &v, NULL), 0);
    scratch_write(path, "{\"seq\":1,\"cmd\":\"c2\"}\n"); /* cut, and begun again */
    assert_int_equal(hcb_ledger_find(path, &from, "c2", &v, NULL), 1);
    hcb_value_release(&v);
}

/* A ledger line of this process is found by its command's own id. */
static void test_find_what_was_written(void **state)
{
    static const struct row row = {"{'op':'enable','id':'hb','cmd':'a \\u00e9 \\\\'}", true, NULL,
                                   NULL, NULL, NULL};
    struct hcb_ledger l;
    struct hcb_ledger_end end;
    struct hcb_value v = {0};
    int64_t from = 0;
    (void)state;
    open_ledger(&l, scratch("own"), 0, &end);
    add(&l, &row, 5);
    assert_int_equal(hcb_ledger_flush(&l, NULL), 0);
    assert_int_equal(hcb_ledger_find(l.path, &from, "a \xc3\xa9 \\", &v, NULL), 1);
    assert_string_equal(hcb_map_text(&v, "decision", ""), "applied");
    hcb_value_release(&v);
    hcb_ledger_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_goes_on_counting),
        cmocka_unit_test(test_links_are_not_followed),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_bound_of_pending),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_brief),
        cmocka_unit_test(test_reopen),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_find_what_was_written),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
