/* The matcher of pattern.h: backtracking, by recursion that is at most HCB_PATTERN_DEPTH
 * deep. Written from the manual (6.4.1) and from what Lua 5.4 does with each item; it
 * must not know of Lua's states, and must not keep anything that needs freeing. */
#include "script/pattern.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#define BATCH 1024 /* units between two reports */
#define SETTLED 64 /* so little is not worth a report */
#define ESCAPE '%'

static unsigned char byte_at(const char *s, const char *end)
{
    return s < end ? (unsigned char)*s : 0;
}

/* ---- counting -------------------------------------------------------------- */

/* Never inlined, so that the paths that only count stay short. */
static __attribute__((noinline)) void report(struct hcb_match *m)
{
    ptrdiff_t units = BATCH - m->left;
    m->left = BATCH;
    m->spent(m->user, units < INT_MAX ? (unsigned)units : INT_MAX);
}

static inline void spend(struct hcb_match *m, size_t units)
{
    m->left -= (ptrdiff_t)units;
    if (m->left < 0)
        report(m);
}

void hcb_match_spend(struct hcb_match *m, size_t units)
{
    spend(m, units);
}

void hcb_match_settle(struct hcb_match *m)
{
    if (m->left < BATCH - SETTLED)
        report(m);
}

static const char *fail(struct hcb_match *m, const char *error)
{
    m->error = error;
    return NULL;
}

/* ---- single characters ------------------------------------------------------ */

/* One past the item of a single character that begins at p; NULL if it has no end. */
static const char *set_end(struct hcb_match *m, const char *p)
{
    const char *end = m->pattern_end;
    if (byte_at(++p, end) == '^')
        p++;
    do { /* the first one is not the end, whatever it is */
        if (p >= end)
            return fail(m, "malformed pattern (missing ']')");
        p += *p == ESCAPE && p + 1 < end ? 2 : 1;
    } while (byte_at(p, end) != ']');
    return p + 1;
}

static inline const char *item_end(struct hcb_match *m, const char *p)
{
    if (*p == '[')
        return set_end(m, p);
    if (*p != ESCAPE)
        return p + 1;
    if (p + 1 == m->pattern_end)
        return fail(m, "malformed pattern (ends with '%')");
    return p + 2;
}

/* Whether c is of the class %letter; other characters stand for themselves. */
static bool in_class(int c, int letter)
{
    bool in;
    switch (tolower(letter)) {
    case 'a': in = isalpha(c); break;
    case 'c': in = iscntrl(c); break;
    case 'd': in = isdigit(c); break;
    case 'g': in = isgraph(c); break;
    case 'l': in = islower(c); break;
    case 'p': in = ispunct(c); break;
    case 's': in = isspace(c); break;
    case 'u': in = isupper(c); break;
    case 'w': in = isalnum(c); break;
    case 'x': in = isxdigit(c); break;
    case 'z': in = c == 0; break; /* of old */
    default: return letter == c;
    }
    return in != (bool)isupper(letter);
}

/* Whether c is in the set from p ('[') to last (']'). */
static bool in_set(int c, const char *p, const char *last)
{
    bool wanted = true;
    if (p[1] == '^') {
        wanted = false;
        p++;
    }
    while (++p < last) {
        int from = (unsigned char)*p;
        if (from == ESCAPE) {
            if (in_class(c, (unsigned char)*++p))
                return wanted;
        } else if (p[1] == '-' && p + 2 < last) {
            p += 2;
            if (from <= c && c <= (unsigned char)*p)
                return wanted;
        } else if (from == c) {
            return wanted;
        }
    }
    return !wanted;
}

static inline bool fits(const struct hcb_match *m, const char *s, const char *p,
                        const char *after)
{
    if (s >= m->text_end)
        return false;
    int c = (unsigned char)*s;
    switch (*p) {
    case '.': return true;
    case ESCAPE: return in_class(c, (unsigned char)p[1]);
    case '[': return in_set(c, p, after - 1);
    default: return (unsigned char)*p == c;
    }
}

/* ---- repetitions ------------------------------------------------------------ */

static const char *match_rest(struct hcb_match *m, const char *s, const char *p);

/* The end of the longest run of characters from s that fit. */
static const char *run_end(struct hcb_match *m, const char *s, const char *p, const char *after)
{
    ptrdiff_t width = after - p, block = BATCH / width + 1;
    if (*p == '.')
        return m->text_end;
    for (;;) {
        const char *from = s, *stop = m->text_end - s > block ? s + block : m->text_end;
        while (s < stop && fits(m, s, p, after))
            s++;
        spend(m, (size_t)((s - from) * width));
        if (s < stop || s == m->text_end)
            return s;
    }
}

/* As many as there are; fewer where the rest of the pattern wants it. */
static const char *match_most(struct hcb_match *m, const char *s, const char *p,
                              const char *after)
{
    for (const char *last = run_end(m, s, p, after);; last--) {
        const char *end = match_rest(m, last, after + 1);
        if (end || m->error || last == s)
            return end;
    }
}

/* As few as there may be. */
static const char *match_least(struct hcb_match *m, const char *s, const char *p,
                               const char *after)
{
    for (;;) {
        const char *end = match_rest(m, s, after + 1);
        if (end || m->error)
            return end;
        spend(m, (size_t)(after - p));
        if (!fits(m, s, p, after))
            return NULL;
        s++;
    }
}

/* ---- captures --------------------------------------------------------------- */

static const char *open_capture(struct hcb_match *m, const char *s, const char *p)
{
    bool position = byte_at(p + 1, m->pattern_end) == ')';
    if (m->n == HCB_PATTERN_CAPTURES)
        return fail(m, "too many captures");
    m->captures[m->n].start = s;
    m->captures[m->n].len = position ? HCB_CAPTURE_POSITION : HCB_CAPTURE_OPEN;
    m->n++;
    const char *end = match_rest(m, s, p + (position ? 2 : 1));
    if (!end)
        m->n--;
    return end;
}

static const char *close_capture(struct hcb_match *m, const char *s, const char *p)
{
    int i = m->n - 1;
    while (i >= 0 && m->captures[i].len != HCB_CAPTURE_OPEN)
        i--;
    if (i < 0)
        return fail(m, "invalid pattern capture");
    m->captures[i].len = s - m->captures[i].start;
    const char *end = match_rest(m, s, p + 1);
    if (!end)
        m->captures[i].len = HCB_CAPTURE_OPEN;
    return end;
}

/* %1: what the capture took, once more. */
static const char *match_back(struct hcb_match *m, const char *s, char digit)
{
    int i = digit - '1';
    if (i < 0 || i >= m->n || m->captures[i].len == HCB_CAPTURE_OPEN) {
        m->error_index = i + 1;
        return fail(m, "invalid capture index %");
    }
    ptrdiff_t len = m->captures[i].len;
    if (len == HCB_CAPTURE_POSITION || m->text_end - s < len)
        return NULL;
    spend(m, (size_t)len / 16);
    return memcmp(s, m->captures[i].start, (size_t)len) == 0 ? s + len : NULL;
}

/* ---- the other items -------------------------------------------------------- */

/* %bxy: from an x to the y that closes it. */
static const char *match_balance(struct hcb_match *m, const char *s, const char *p)
{
    size_t nesting = 1;
    if (m->pattern_end - p < 4)
        return fail(m, "malformed pattern (missing arguments to '%b')");
    if (s == m->text_end || *s++ != p[2])
        return NULL;
    const char *counted = s;
    for (; s < m->text_end; s++) {
        if (s - counted == BATCH) {
            spend(m, BATCH);
            counted = s;
        }
        if (*s == p[3]) {
            if (--nesting == 0)
                break;
        } else if (*s == p[2]) {
            nesting++;
        }
    }
    spend(m, (size_t)(s - counted));
    return s < m->text_end ? s + 1 : NULL;
}

/* %f[set]: between a character that is not in the set and one that is; both ends of the
 * text count as '\0'. Returns the end of the item, NULL where it does not match. */
static const char *match_frontier(struct hcb_match *m, const char *s, const char *p)
{
    p += 2;
    if (byte_at(p, m->pattern_end) != '[')
        return fail(m, "missing '[' after '%f' in pattern");
    const char *after = set_end(m, p);
    if (!after)
        return NULL;
    spend(m, (size_t)(after - p));
    int before = s == m->text ? 0 : (unsigned char)s[-1];
    if (in_set(before, p, after - 1) || !in_set(byte_at(s, m->text_end), p, after - 1))
        return NULL;
    return after;
}

/* Each of the steps below takes the item at *p on, so that *s and *p are where to go on
 * from (*s is NULL where that is nowhere), or tries all that follows as well: then it
 * returns true, and *s is the result. */

static inline bool step_optional(struct hcb_match *m, const char **s, const char **p,
                                 const char *after)
{
    const char *end = match_rest(m, *s + 1, after + 1);
    if (!end && !m->error) {
        *p = after + 1;
        return false;
    }
    *s = end;
    return true;
}

static inline bool step_single(struct hcb_match *m, const char **s, const char **p)
{
    const char *after = item_end(m, *p);
    if (!after) {
        *s = NULL;
        return true;
    }
    if (**p == '[')
        spend(m, (size_t)(after - *p));
    bool fit = fits(m, *s, *p, after);
    char suffix = after < m->pattern_end ? *after : '\0';
    if (!fit && (suffix == '*' || suffix == '?' || suffix == '-')) {
        *p = after + 1;
        return false;
    }
    if (suffix == '?' && fit)
        return step_optional(m, s, p, after);
    if (suffix == '-' && fit) {
        *s = match_least(m, *s, *p, after);
        return true;
    }
    if ((suffix == '*' || suffix == '+') && fit) {
        *s = match_most(m, *s + (suffix == '+'), *p, after);
        return true;
    }
    *s = fit ? *s + 1 : NULL;
    *p = after;
    return false;
}

static inline bool step_escape(struct hcb_match *m, const char **s, const char **p)
{
    unsigned char c = byte_at(*p + 1, m->pattern_end);
    if (c == 'b') {
        *s = match_balance(m, *s, *p);
        *p += 4;
    } else if (c == 'f') {
        *p = match_frontier(m, *s, *p);
        if (!*p)
            *s = NULL;
    } else if (isdigit(c)) {
        *s = match_back(m, *s, (char)c);
        *p += 2;
    } else {
        return step_single(m, s, p);
    }
    return false;
}

static inline bool step(struct hcb_match *m, const char **s, const char **p)
{
    switch (**p) {
    case '(':
        *s = open_capture(m, *s, *p);
        return true;
    case ')':
        *s = close_capture(m, *s, *p);
        return true;
    case ESCAPE:
        return step_escape(m, s, p);
    case '$':
        if (*p + 1 < m->pattern_end)
            return step_single(m, s, p);
        *s = *s == m->text_end ? *s : NULL;
        return true;
    default:
        return step_single(m, s, p);
    }
}

/* Matches the pattern from p on at s. */
static const char *match_rest(struct hcb_match *m, const char *s, const char *p)
{
    if (m->depth == HCB_PATTERN_DEPTH)
        return fail(m, "pattern too complex");
    m->depth++;
    bool done = false;
    while (!done && s && p < m->pattern_end) {
        spend(m, 1);
        done = step(m, &s, &p);
    }
    m->depth--;
    return s;
}

void hcb_match_init(struct hcb_match *m, const char *text, size_t n, const char *pattern_end,
                    void (*spent)(void *, unsigned), void *user)
{
    m->text = text;
    m->text_end = text + n;
    m->pattern_end = pattern_end;
    m->error = NULL;
    m->error_index = -1;
    m->depth = 0;
    m->n = 0;
    m->left = BATCH;
    m->spent = spent;
    m->user = user;
}

const char *hcb_match_at(struct hcb_match *m, const char *at, const char *pattern)
{
    m->depth = 0;
    m->n = 0;
    spend(m, 1);
    return match_rest(m, at, pattern);
}
