/* The pattern matcher by itself: what matches where, what is malformed, how its work is
 * counted, and that it can be left in the middle. That each item does what it does in Lua
 * is shown in test_lua_string.c. */
#include "script/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Counts units; jumps away once there are more than `most`. */
struct meter {
    unsigned long units, most;
    jmp_buf *out;
};

static void on_spent(void *user, unsigned units)
{
    struct meter *meter = user;
    meter->units += units;
    if (meter->units > meter->most)
        longjmp(*meter->out, 1);
}

static const char *match(struct hcb_match *m, struct meter *meter, const char *text,
                         const char *pattern)
{
    memset(meter, 0, sizeof *meter);
    meter->most = (unsigned long)-1;
    hcb_match_init(m, text, strlen(text), pattern + strlen(pattern), on_spent, meter);
    return hcb_match_at(m, text, pattern);
}

/* "end a b": the end of the match and the captures (@n: a position); "no"; or the error. */
static const char *show_match(const char *text, const char *pattern)
{
    static char shown[300];
    struct hcb_match m;
    struct meter meter;
    const char *end = match(&m, &meter, text, pattern);
    size_t n;
    if (m.error && m.error_index >= 0)
        snprintf(shown, sizeof shown, "%s%d", m.error, m.error_index);
    else if (!end)
        snprintf(shown, sizeof shown, "%s", m.error ? m.error : "no");
    if (!end)
        return shown;
    n = (size_t)snprintf(shown, sizeof shown, "%d", (int)(end - text));
    for (int i = 0; i < m.n; i++) {
        const struct hcb_capture *c = &m.captures[i];
        if (c->len == HCB_CAPTURE_POSITION)
            n += (size_t)snprintf(shown + n, sizeof shown - n, " @%d", (int)(c->start - text));
        else
            n += (size_t)snprintf(shown + n, sizeof shown - n, " %.*s",
                                  c->len < 0 ? 4 : (int)c->len, c->len < 0 ? "open" : c->start);
    }
    return shown;
}

static const struct match_row {
    const char *text, *pattern, *want;
} match_rows[] = {
    {"abc", "", "0"},
    {"abc", "abc", "3"},
    {"abc", "ab", "2"},
    {"abc", "b", "no"},
    {"abc", "^a", "no"}, /* who calls deals with the anchor */
    {"abc", "abc$", "3"},
    {"abc", "ab$", "no"},
    {"a$c", "a$c", "3"},
    {"abc", "...", "3"},
    {"abc", "....", "no"},
    {"aaa", "a*", "3"},
    {"aaa", "a-", "0"},
    {"aaa", "a-$", "3"},
    {"aaa", "a+a", "3"},
    {"aaa", "a?a?a?a?", "3"},
    {"aaa", "b*a", "1"},
    {"", "a+", "no"},
    {"key = value", "(%w+)%s*=%s*(%w+)", "11 key value"},
    {"abc", "()b?()a()", "1 @0 @0 @1"},
    {"abab", "(ab)%1", "4 ab"},
    {"abac", "(ab)%1", "no"},
    {"abc", "()%1", "no"},
    {"(a(b)c)d", "%b()", "7"},
    {"((a)", "%b()", "no"},
    {"xaxb", "%bxx", "3"},
    {"THE (quick) fox", "%f[%a]%a+", "3"},
    {"THE", "%f[^%a]", "no"},
    {"a", "a%f[%z]", "1"},
    {"a]b", "[]a]+", "2"},
    {"a-b", "[a%-]+", "2"},
    {"a-b", "[%a-]+", "3"},
    {"a^b", "[a^]+", "2"},
    {"5x", "[^%d]", "no"},
    {"x5", "[^%d]", "1"},
    {"b", "[a-c]", "1"},
    {"-", "[a-]", "1"},
    {"a", "(", "0 open"},
    {"a", ")", "invalid pattern capture"},
    {"a", "%", "malformed pattern (ends with '%')"},
    {"a", "b%", "no"}, /* found out only where it matters */
    {"a", "[a", "malformed pattern (missing ']')"},
    {"a", "[a%", "malformed pattern (missing ']')"},
    {"a", "[", "malformed pattern (missing ']')"},
    {"a", "[]", "malformed pattern (missing ']')"},
    {"a", "[^]", "malformed pattern (missing ']')"},
    {"a", "%b", "malformed pattern (missing arguments to '%b')"},
    {"a", "%bx", "malformed pattern (missing arguments to '%b')"},
    {"a", "%f", "missing '[' after '%f' in pattern"},
    {"a", "%fa", "missing '[' after '%f' in pattern"},
    {"a", "%1", "invalid capture index %1"},
    {"a", "%0", "invalid capture index %0"},
    {"a", "(a%1)", "invalid capture index %1"},
    {"aa", "(a)a*%2", "invalid capture index %2"},
    {"aa", "a-%2", "invalid capture index %2"},
    {"aa", "a?[", "malformed pattern (missing ']')"},
};

static void test_matches(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(match_rows); i++) {
        const struct match_row *row = &match_rows[i];
        const char *got = show_match(row->text, row->pattern);
        if (strcmp(got, row->want) != 0)
            fail_msg("'%s' '%s': %s, not %s", row->text, row->pattern, got, row->want);
    }
}

static void repeat(char *out, const char *part, int n)
{
    *out = '\0';
    for (int i = 0; i < n; i++)
        out += sprintf(out, "%s", part);
}

static const struct limit_row {
    const char *item;
    int n;
    const char *want;
} limit_rows[] = {
    {"()", 32, NULL},
    {"()", 33, "too many captures"},
    {"a?", 199, NULL},
    {"a?", 200, "pattern too complex"},
    {"a-", 199, NULL},
    {"a*", 400, NULL},
    {"b?", 400, NULL}, /* what does not match waits for nothing */
};

static void test_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(limit_rows); i++) {
        const struct limit_row *row = &limit_rows[i];
        char text[500], pattern[1000];
        struct hcb_match m;
        struct meter meter;
        repeat(text, "a", 450);
        repeat(pattern, row->item, row->n);
        const char *end = match(&m, &meter, text, pattern);
        if (row->want)
            assert_string_equal(m.error, row->want);
        else
            assert_non_null(end);
    }
}

/* What is not NUL-terminated is not read beyond its end. */
static void test_bounds(void **state)
{
    static const char *const patterns[] = {
        "a", "%", "%a", "[a", "[a]", "%b", "%bx", "%f", "%f[", "%f[a]", "(", "()", "a*", "[a%",
        "%1", "a-", "[^", "[a-", "a$", "[%a-",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(patterns); i++) {
        size_t n = strlen(patterns[i]);
        char *pattern = malloc(n), *text = malloc(2);
        struct hcb_match m;
        struct meter meter = {0, (unsigned long)-1, NULL};
        assert_true(pattern && text);
        memcpy(pattern, patterns[i], n);
        memcpy(text, "aa", 2);
        for (size_t len = 0; len <= 2; len++) {
            hcb_match_init(&m, text, len, pattern + n, on_spent, &meter);
            for (size_t at = 0; at <= len; at++)
                hcb_match_at(&m, text + at, pattern);
        }
        free(pattern);
        free(text);
    }
}

/* Each of these would take longer than anybody lives, or nearly; it is left instead. */
static const struct burn_row {
    const char *item;
    int n;
    const char *tail;
} burn_rows[] = {
    {"a*", 20, "b"},
    {"a-", 20, "b"},
    {"a?", 60, "b"},
    {"(a*)", 20, "b"},
    {"[a]*", 20, "b"},
    {"()a-", 20, "b"},
};

static void test_burners_are_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(burn_rows); i++) {
        char text[101], pattern[400];
        struct hcb_match m;
        jmp_buf out;
        struct meter meter = {0, 1000000, &out};
        repeat(text, "a", 100);
        repeat(pattern, burn_rows[i].item, burn_rows[i].n);
        strcat(pattern, burn_rows[i].tail);
        hcb_match_init(&m, text, 100, pattern + strlen(pattern), on_spent, &meter);
        if (setjmp(out) == 0) {
            hcb_match_at(&m, text, pattern);
            fail_msg("%s came to an end", pattern);
        }
        assert_true(meter.units < 1100000);
    }
}

/* Work in a long text is counted at its length, in small portions. */
static const struct work_row {
    const char *pattern;
    unsigned long least;
} work_rows[] = {
    {"a*b", 2000000},
    {"a-b", 2000000},
    {"[a]*b", 4000000},
    {"%w+b", 2000000},
    {"%bac", 990000},
};

static void test_work_is_counted(void **state)
{
    size_t n = 1000000;
    char *text = malloc(n + 1);
    (void)state;
    assert_non_null(text);
    memset(text, 'a', n);
    text[n] = '\0';
    for (size_t i = 0; i < COUNT(work_rows); i++) {
        struct hcb_match m;
        struct meter meter;
        assert_null(match(&m, &meter, text, work_rows[i].pattern));
        hcb_match_settle(&m);
        if (meter.units < work_rows[i].least / 2 || meter.units > 8 * work_rows[i].least)
            fail_msg("%s: %lu units", work_rows[i].pattern, meter.units);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_burners_are_left),
        cmocka_unit_test(test_work_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
