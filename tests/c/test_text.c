/* Text, buffers and error sentences. */
#include "base/err.h"
#include "base/text.h"
#include "scratch.h"

#include <errno.h>

struct utf8_row {
    const char *s;
    size_t n, len; /* the length of the first character, 0 if it is none */
};

static const struct utf8_row utf8_rows[] = {
    {"", 0, 0}, {"a", 1, 1}, {"\0", 1, 1}, {"\xc3\xa9", 2, 2}, {"\xc3", 1, 0},
    {"\xc3\xa9", 1, 0}, {"\xe2\x82\xac", 3, 3}, {"\xe2\x82", 2, 0}, {"\xf0\x9f\x98\x80", 4, 4},
    {"\xf4\x8f\xbf\xbf", 4, 4}, {"\xf4\x90\x80\x80", 4, 0}, {"\xf5\x80\x80\x80", 4, 0},
    {"\xc0\x80", 2, 0}, {"\xc1\xbf", 2, 0}, {"\xe0\x9f\xbf", 3, 0}, {"\xe0\xa0\x80", 3, 3},
    {"\xed\x9f\xbf", 3, 3}, {"\xed\xa0\x80", 3, 0}, {"\xee\x80\x80", 3, 3},
    {"\xf0\x8f\xbf\xbf", 4, 0}, {"\x80", 1, 0}, {"\xff", 1, 0}, {"\xc3\x28", 2, 0},
};

static void test_utf8(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(utf8_rows) / sizeof(utf8_rows[0]); i++) {
        const struct utf8_row *row = &utf8_rows[i];
        assert_int_equal(hcb_utf8_len(row->s, row->n), row->len);
        assert_int_equal(hcb_utf8_valid(row->s, row->n), row->len == row->n);
    }
}

static void test_cut(void **state)
{
    (void)state;
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    for (size_t n = 0; n < sizeof(text); n++) {
        assert_int_equal(hcb_utf8_cut(text, n), expected[n]);
        assert_true(hcb_utf8_valid(text, hcb_utf8_cut(text, n)));
    }
    assert_int_equal(hcb_utf8_cut("\x80\x80\x80\x80", 4), 4); /* nothing that could be cut off */
}

/* Each byte at each place, also between two that end a run, and cut off at each length. */
static void test_plain_run(void **state)
{
    char text[24];
    (void)state;
    for (int byte = 0; byte < 256; byte++)
        for (size_t at = 0; at < sizeof(text); at++)
            for (size_t n = 0; n <= sizeof(text); n++) {
                bool plain = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
                memset(text, byte % 2 ? '~' : ' ', sizeof(text));
                text[at] = (char)byte;
                if (at + 3 < sizeof(text))
                    text[at + 3] = '"';
                size_t expected = plain ? at + 3 < sizeof(text) ? at + 3 : n : at;
                assert_int_equal(hcb_plain_run(text, n), expected < n ? expected : n);
            }
}

struct printable_row {
    const char *s;
    size_t n;
    const char *expected;
};

static const struct printable_row printable_rows[] = {
    {"", 0, ""},
    {"plain \xc3\xa9 \"q\" \\", 12, "plain \xc3\xa9 \"q\""},
    {"a\nb\tc\rd", 7, "a\\nb\\tc\\rd"},
    {"\x1b[31m\0\x7f", 7, "\\x1b[31m\\x00\\x7f"},
    {"\xff\xc3", 2, "\\xff\\xc3"},
    {"\xc2\x9b" "2J", 4, "\\x9b2J"},
    {"\xe2\x80\xae" "abc\xe2\x80\xa8", 9, "\\u202eabc\\u2028"},
};

static void test_printable(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(printable_rows) / sizeof(printable_rows[0]); i++) {
        struct hcb_buf b = {0};
        hcb_text_printable(&b, printable_rows[i].s, printable_rows[i].n);
        assert_string_equal(hcb_buf_text(&b), printable_rows[i].expected);
        hcb_buf_release(&b);
    }
}

static const char *const words[] = {"enabled", "target", "init", "params", "limits", "set"};

struct near_row {
    const char *word, *expected;
};

static const struct near_row near_rows[] = {
    {"enabeld", "enabled"}, {"enable", "enabled"}, {"Enabled", "enabled"}, {"targte", "target"},
    {"param", "params"}, {"parmas", "params"}, {"PARAMS", "params"}, {"limit", "limits"},
    {"inti", "init"}, {"get", "set"}, {"params", "params"},
    {"threshold", NULL}, {"xyz", NULL}, {"", NULL}, {"e", NULL}, {"in", NULL},
};

/* The same without any short cut. */
static int all_edits(const char *a, const char *b)
{
    int cell[40][40] = {{0}};
    int a_n = (int)strlen(a), b_n = (int)strlen(b);
    for (int i = 0; i <= a_n; i++)
        for (int j = 0; j <= b_n; j++) {
            int least = i == 0 ? j : j == 0 ? i : cell[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (i > 0 && cell[i - 1][j] + 1 < least)
                least = cell[i - 1][j] + 1;
            if (j > 0 && cell[i][j - 1] + 1 < least)
                least = cell[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                cell[i - 2][j - 2] + 1 < least)
                least = cell[i - 2][j - 2] + 1;
            cell[i][j] = least;
        }
    return cell[a_n][b_n];
}

static const char *near_by_all_edits(const char *word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    int best_edits = 1000;
    for (size_t i = 0; i < n; i++) {
        size_t a = strlen(word), b = strlen(candidates[i]);
        int edits = all_edits(word, candidates[i]);
        if (a == 0 || b == 0 || edits > (int)(a > b ? a : b) / 3 || edits >= best_edits)
            continue;
        best = candidates[i];
        best_edits = edits;
    }
    return best;
}

static unsigned next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (unsigned)(*x >> 20);
}

static void slip(char *word, size_t max, uint64_t *x)
{
    size_t n = strlen(word), at = n > 0 ? next_random(x) % n : 0;
    unsigned kind = next_random(x) % 4;
    char c = word[at];
    if (kind == 0 && n < max) {
        memmove(word + at + 1, word + at, n - at + 1);
        word[at] = 'b';
    } else if (kind == 1 && n > 0) {
        memmove(word + at, word + at + 1, n - at);
    } else if (kind == 2 && n > 0) {
        word[at] = 'c';
    } else if (n > 0 && at + 1 < n) {
        word[at] = word[at + 1];
        word[at + 1] = c;
    }
}

/* Words of few letters, so that many are near; and slips of one of them. */
static void test_near_is_nearest(void **state)
{
    enum { WORDS = 12, LETTERS = 30 };
    char text[WORDS][40], word[40];
    const char *many[WORDS];
    uint64_t x = 88172645463325252u;
    int found = 0;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        for (int i = 0; i < WORDS; i++) {
            size_t n = next_random(&x) % LETTERS;
            for (size_t j = 0; j < n; j++)
                text[i][j] = (char)('a' + next_random(&x) % (2 + (unsigned)round % 9));
            text[i][n] = '\0';
            many[i] = text[i];
        }
        strcpy(word, text[round % WORDS]);
        for (unsigned slips = next_random(&x) % 9; slips > 0; slips--)
            slip(word, LETTERS, &x);
        const char *expected = near_by_all_edits(word, many, WORDS);
        if (hcb_near(word, many, WORDS) != expected)
            fail_msg("%s: not %s", word, expected ? expected : "nothing");
        found += expected != NULL;
    }
    assert_true(found > 5000 && found < 19000);
}

/* Words of the same letters are the dearest. Of a hundred each is looked at, of very many
 * as many as the work may cost. */
static void test_near_is_bounded(void **state)
{
    enum { MANY = 4096 };
    static char text[MANY][32];
    static const char *words_of_it[MANY];
    uint64_t x = 362436069;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        strcpy(text[i], "abcdefghijklmnopqrst");
        for (size_t j = 19; j > 0; j--) {
            size_t k = next_random(&x) % (j + 1);
            char c = text[i][j];
            text[i][j] = text[i][k];
            text[i][k] = c;
        }
        words_of_it[i] = text[i];
    }
    words_of_it[100] = "ABCDEFGHIJKLMNOPQRTS";
    assert_string_equal(hcb_near("abcdefghijklmnopqrst", words_of_it, 101), words_of_it[100]);
    words_of_it[100] = text[100];
    words_of_it[MANY - 1] = "abcdefghijklmnopqrts";
    assert_null(hcb_near("abcdefghijklmnopqrst", words_of_it, MANY));
    words_of_it[MANY - 1] = "yours"; /* and of those that cannot be near, all */
    assert_string_equal(hcb_near("yuors", words_of_it, MANY), "yours");
}

static void test_near(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(near_rows) / sizeof(near_rows[0]); i++) {
        const char *got = hcb_near(near_rows[i].word, words, sizeof(words) / sizeof(words[0]));
        if (!hcb_streq(got, near_rows[i].expected))
            fail_msg("%s: got %s, not %s", near_rows[i].word, got ? got : "NULL",
                     near_rows[i].expected ? near_rows[i].expected : "NULL");
    }
    char large[500] = {0};
    memset(large, 'a', sizeof(large) - 1);
    const char *const list[] = {large};
    assert_null(hcb_near(large, list, 1));
    assert_null(hcb_near("a", list, 1));
    assert_null(hcb_near(NULL, list, 1));
}

/* A beginning that all of them share makes nothing more alike. */
static void test_near_dotted(void **state)
{
    static const char *const modules[] = {"lib.callbacks.timing", "lib.callbacks.heartbeat"};
    static const struct near_row rows[] = {
        {"lib.callbacks.timin", "lib.callbacks.timing"}, {"lib.callbacks.nosuch", NULL},
        {"lib.callback.timing", "lib.callbacks.timing"}, {"lib.callbacks.", NULL},
        {"timing", NULL}, {"", NULL}, {NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!hcb_streq(hcb_near_dotted(rows[i].word, modules, 2), rows[i].expected))
            fail_msg("row %zu: %s", i, rows[i].word);
}

struct id_row {
    const char *id;
    size_t n;
    const char *says; /* NULL: it is fine */
};

#define A40 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct id_row id_rows[] = {
    {"timing", 6, NULL},
    {"a", 1, NULL},
    {"grad_norm.v2-x:1", 16, NULL},
    {"\xc3\xa9\xe6\xbc\xa2", 5, NULL},
    {A40 A40 A40, 120, NULL},
    {"", 0, "id \"\" is empty: use 1 to 120 bytes"},
    {A40 A40 A40 "a", 121, "id \"" A40 "...\" is too long"},
    {"a b", 3, "id \"a b\" has a space: use 1 to 120 bytes of UTF-8 without spaces, control "
               "characters, '/', '\\' or quotes, not beginning with '.' or '-'"},
    {"a\tb", 3, "id \"a\\tb\" has a space"},
    {"a\xc2\xa0z", 4, "has a space"},
    {"a\0b", 3, "id \"a\\x00b\" has a control character"},
    {"a\x1b[2J", 5, "id \"a\\x1b[2J\" has a control character"},
    {"a\xe2\x80\xae", 4, "has a control character"},
    {"a/b", 3, "has a '/'"},
    {"..", 2, "begins with '.'"},
    {"-x", 2, "begins with '-'"},
    {"a\\b", 3, "has a '\\'"},
    {"a\"b", 3, "has a quote"},
    {"it's", 4, "has a quote"},
    {"a\xff", 2, "id \"a\\xff\" is not valid UTF-8"},
};

static void test_ids(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(id_rows) / sizeof(id_rows[0]); i++) {
        struct hcb_err err = {0};
        int rc = hcb_id_check(id_rows[i].id, id_rows[i].n, &err);
        assert_int_equal(rc, id_rows[i].says ? HOTCB_EFORMAT : 0);
        if (id_rows[i].says && !strstr(err.text, id_rows[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.text, id_rows[i].says);
    }
}

static void test_err(void **state)
{
    (void)state;
    struct hcb_err err = {0};
    assert_int_equal(hcb_fail(&err, HOTCB_EINVAL, "%s:%d: no", "a.lua", 3), HOTCB_EINVAL);
    assert_string_equal(err.text, "a.lua:3: no");
    hcb_fail(&err, HOTCB_EIO, "again: %s", err.text); /* made of its own text */
    assert_string_equal(err.text, "again: a.lua:3: no");
    assert_int_equal(hcb_fail(NULL, HOTCB_EIO, "nobody listens"), HOTCB_EIO);
    errno = ENOENT;
    assert_int_equal(hcb_fail_errno(&err, "open %s", "x.lua"), HOTCB_ENOENT);
    assert_string_equal(err.text, "cannot open x.lua: No such file or directory");
    errno = EACCES;
    assert_int_equal(hcb_fail_errno(NULL, "open %s", "x.lua"), HOTCB_EIO);
}

static void test_a_long_err_is_cut_at_a_character(void **state)
{
    (void)state;
    char text[3000];
    for (size_t shift = 0; shift < 3; shift++) {
        struct hcb_err err = {0};
        memset(text, 'x', shift);
        for (size_t i = shift; i + 3 < sizeof(text); i += 3)
            memcpy(text + i, "\xe2\x82\xac", 4);
        hcb_fail(&err, HOTCB_EIO, "%s", text);
        size_t n = strlen(err.text);
        assert_true(n < sizeof(err.text) && n > sizeof(err.text) - 8);
        assert_string_equal(err.text + n - 3, "...");
        assert_true(hcb_utf8_valid(err.text, n));
    }
}

static void test_buf(void **state)
{
    (void)state;
    struct hcb_buf b = {0};
    assert_string_equal(hcb_buf_text(&b), "");
    for (int i = 0; i < 1000; i++) {
        hcb_buf_printf(&b, "%d,", i);
        assert_int_equal(b.data[b.len], '\0');
        assert_true(b.len < b.cap);
    }
    assert_int_equal(b.len, 3890);
    hcb_buf_reset(&b);
    hcb_buf_add(&b, "a\0b", 3);
    assert_int_equal(b.len, 3);
    char *taken = hcb_buf_take(&b);
    assert_memory_equal(taken, "a\0b", 4);
    assert_null(b.data);
    free(taken);
    taken = hcb_buf_take(&b);
    assert_string_equal(taken, "");
    free(taken);
    assert_false(hcb_buf_reserve(&b, SIZE_MAX - 10));
    hcb_buf_str(&b, "ignored");
    assert_true(b.oom && b.len == 0);
    assert_null(hcb_buf_take(&b));
    assert_false(b.oom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_plain_run),
        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_near), cmocka_unit_test(test_near_dotted),
        cmocka_unit_test(test_near_is_nearest),
        cmocka_unit_test(test_near_is_bounded),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_err),
        cmocka_unit_test(test_a_long_err_is_cut_at_a_character),
        cmocka_unit_test(test_buf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
