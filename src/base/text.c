/* Small questions about text; see text.h. Works on bytes by the rules of UTF-8,
 * and must not ask the process's locale anything. */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *hcb_strdup(const char *s)
{
    if (!s)
        return NULL;
    size_t n = strlen(s) + 1;
    char *copy = malloc(n);
    return copy ? memcpy(copy, s, n) : NULL;
}

bool hcb_streq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

#define EACH_BYTE (~(uint64_t)0 / 255) /* times b: eight bytes b */
#define TOP_BITS (EACH_BYTE * 0x80)

/* The first of up to eight bytes is the lowest. */
static uint64_t load_bytes(const char *s, size_t n)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes |= (uint64_t)(unsigned char)s[i] << (8 * i);
    return bytes;
}

/* The same of eight, and of any number up to that, by as few steps as there are. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static uint64_t load_eight(const char *s)
{
    uint64_t bytes;
    memcpy(&bytes, s, sizeof(bytes));
    return bytes;
}

static uint64_t load_few(const char *s, size_t n)
{
    uint32_t first, last;
    if (n < sizeof(first))
        return load_bytes(s, n);
    memcpy(&first, s, sizeof(first));
    memcpy(&last, s + n - sizeof(last), sizeof(last));
    return first | (uint64_t)last << (8 * (n - sizeof(last)));
}
#else
#define load_eight(s) load_bytes(s, 8)
#define load_few(s, n) load_bytes(s, n)
#endif

/* The top bit of each byte below n; of others maybe, but only above one that is. */
static uint64_t bytes_below(uint64_t eight, unsigned n)
{
    return (eight - EACH_BYTE * n) & ~eight & TOP_BITS;
}

/* The top bit of each byte that is not plain, as above. */
static uint64_t not_plain(uint64_t eight)
{
    return (eight & TOP_BITS) | bytes_below(eight, 0x20) |
           bytes_below(eight ^ EACH_BYTE * '"', 1) | bytes_below(eight ^ EACH_BYTE * '\\', 1) |
           bytes_below(eight ^ EACH_BYTE * 0x7f, 1);
}

static size_t lowest_byte(uint64_t bits)
{
#if defined(__GNUC__)
    return (size_t)__builtin_ctzll(bits) / 8;
#else
    size_t i = 0;
    while (!(bits >> (8 * i) & 0xff))
        i++;
    return i;
#endif
}

size_t hcb_plain_run(const char *s, size_t n)
{
    size_t i = 0;
    uint64_t bad = 0;
    while (n - i >= 8 && (bad = not_plain(load_eight(s + i))) == 0)
        i += 8;
    if (bad == 0 && n - i > 0)
        bad = not_plain(load_few(s + i, n - i)); /* what is not there is not plain */
    return bad == 0 ? i : i + lowest_byte(bad);
}

/* How many bytes a character takes that begins with this byte; 0 if none does. */
static size_t length_by_lead(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead < 0xe0)
        return 2;
    if (lead >= 0xe0 && lead < 0xf0)
        return 3;
    return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

size_t hcb_utf8_len(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t len = n > 0 ? length_by_lead(p[0]) : 0;
    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] >= 0xa0;
    bool beyond = p[0] == 0xf4 && p[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : len;
}

bool hcb_utf8_valid(const char *s, size_t n)
{
    while (n > 0) {
        size_t len = hcb_utf8_len(s, n);
        if (len == 0)
            return false;
        s += len;
        n -= len;
    }
    return true;
}

size_t hcb_utf8_cut(const char *s, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)s[n - back];
        if ((c & 0xc0) != 0x80)
            return length_by_lead(c) > back ? n - back : n;
    }
    return n;
}

uint32_t hcb_utf8_code(const char *s, size_t len)
{
    const unsigned char *p = (const unsigned char *)s;
    uint32_t code = len == 1 ? p[0] : p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        code = code << 6 | (p[i] & 0x3f);
    return code;
}

/* Characters that act instead of being seen: controls, line separators, and
 * what turns the direction of writing. */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static bool is_space(uint32_t c)
{
    return c == ' ' || (c >= 9 && c <= 13) || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200b) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000 || c == 0xfeff;
}

void hcb_hex(char out[2], unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    out[0] = digits[byte >> 4];
    out[1] = digits[byte & 15];
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hcb_hex_read(const char *hex, size_t n, void *out)
{
    unsigned char *bytes = out;
    for (size_t i = 0; i < n; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static void add_code(struct hcb_buf *b, uint32_t c)
{
    char text[4] = "\\x";
    if (c >= 0x100) {
        hcb_buf_printf(b, "\\u%04x", c);
        return;
    }
    hcb_hex(text + 2, (unsigned char)c);
    hcb_buf_add(b, text, sizeof text);
}

static void add_escape(struct hcb_buf *b, uint32_t c)
{
    switch (c) {
    case '\n': hcb_buf_str(b, "\\n"); break;
    case '\t': hcb_buf_str(b, "\\t"); break;
    case '\r': hcb_buf_str(b, "\\r"); break;
    default: add_code(b, c);
    }
}

void hcb_text_printable(struct hcb_buf *b, const char *s, size_t n)
{
    size_t plain = 0; /* bytes before s that can go as they are */
    while (n > 0) {
        size_t run = hcb_plain_run(s, n);
        size_t len = run > 0 ? run : hcb_utf8_len(s, n);
        uint32_t c = len > 0 && run == 0 ? hcb_utf8_code(s, len) : (unsigned char)*s;
        if (len > 0 && !is_control(c)) {
            plain += len;
        } else {
            hcb_buf_add(b, s - plain, plain);
            plain = 0;
            len = len > 0 ? len : 1;
            add_escape(b, c);
        }
        s += len;
        n -= len;
    }
    hcb_buf_add(b, s - plain, plain);
}

bool hcb_text_is_printable(const char *s, size_t n)
{
    while (n > 0) {
        size_t run = hcb_plain_run(s, n), len = run > 0 ? run : hcb_utf8_len(s, n);
        if (len == 0 || (run == 0 && is_control(hcb_utf8_code(s, len))))
            return false;
        s += len;
        n -= len;
    }
    return true;
}

#define NEAR_MAX 64 /* longer words are not compared */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int smallest(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* One row of the table of edits between the beginnings of a and b: of their first i letters
 * and of j letters around that, as far as `limit` edits lead. Returns the least of them. */
static int edit_row(int *rows[3], const char *a, size_t i, const char *b, size_t b_n, int limit)
{
    int *before = rows[0], *above = rows[1], *row = rows[2], least = limit + 1;
    size_t reach = (size_t)limit, from = i > reach ? i - reach : 1;
    size_t to = i + reach < b_n ? i + reach : b_n;
    row[from - 1] = from == 1 ? (int)i : limit + 1;
    for (size_t j = from; j <= to; j++) {
        int cost = lower(a[i - 1]) != lower(b[j - 1]);
        int edits = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + cost);
        if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
            lower(a[i - 2]) == lower(b[j - 1]) && before[j - 2] + 1 < edits)
            edits = before[j - 2] + 1;
        row[j] = edits;
        least = edits < least ? edits : least;
    }
    if (to < b_n)
        row[to + 1] = limit + 1;
    return least;
}

/* Edits (insert, delete, replace, swap two neighbours) from a to b, whatever the case; more
 * than limit, if they are. The lengths differ by no more than that. */
static int distance(const char *a, size_t a_n, const char *b, size_t b_n, int limit)
{
    int cells[3][NEAR_MAX + 2];
    int *rows[3] = {cells[0], cells[1], cells[2]};
    int least = 0, least_above = 0;
    for (size_t j = 0; j <= b_n; j++)
        rows[2][j] = (int)j;
    for (size_t i = 1; i <= a_n && (least <= limit || least_above < limit); i++) {
        int *spare = rows[0];
        rows[0] = rows[1];
        rows[1] = rows[2];
        rows[2] = spare;
        least_above = least;
        least = edit_row(rows, a, i, b, b_n, limit);
    }
    return least <= limit ? rows[2][b_n] : limit + 1;
}

/* How often each letter is in the word that others are compared with. */
struct letters {
    signed char n[256];
};

static void count_letters(struct letters *in, const char *word, size_t n, int sign)
{
    for (size_t i = 0; i < n; i++)
        in->n[(unsigned char)lower(word[i])] += (signed char)sign;
}

/* At least so many edits lead from a word of a_n letters to b: one for each letter that
 * one of them has and the other has not. */
static int least_distance(struct letters *in_a, size_t a_n, const char *b, size_t b_n)
{
    int missing = 0;
    for (size_t i = 0; i < b_n; i++)
        missing += in_a->n[(unsigned char)lower(b[i])]-- <= 0;
    count_letters(in_a, b, b_n, 1);
    int extra = (int)a_n - ((int)b_n - missing);
    return missing > extra ? missing : extra;
}

/* A search among very many words ends after so many steps, each one letter or one cell of a
 * table: a hundred words of twenty letters take fewer, whatever they are. */
#define NEAR_STEPS 65536

struct near {
    const char *word;
    size_t n;
    struct letters letters;
    const char *best;
    int best_distance;
    size_t steps; /* that are left */
};

static void take_steps(struct near *near, size_t n)
{
    near->steps -= n < near->steps ? n : near->steps;
}

static void compare(struct near *near, const char *candidate)
{
    size_t len = strlen(candidate), n = near->n;
    int limit = (int)(len > n ? len : n) / 3, apart = (int)(len > n ? len - n : n - len);
    limit = limit < near->best_distance ? limit : near->best_distance - 1;
    take_steps(near, 1);
    if (len == 0 || len > NEAR_MAX || apart > limit)
        return;
    take_steps(near, len);
    if (least_distance(&near->letters, n, candidate, len) > limit)
        return;
    take_steps(near, n * (2 * (size_t)limit + 1));
    int edits = distance(near->word, n, candidate, len, limit);
    if (edits > limit)
        return;
    near->best = candidate;
    near->best_distance = edits;
}

const char *hcb_near(const char *word, const char *const *candidates, size_t n)
{
    struct near near = {.word = word, .n = word ? strlen(word) : 0,
                        .best_distance = NEAR_MAX, .steps = NEAR_STEPS};
    if (near.n == 0 || near.n > NEAR_MAX)
        return NULL;
    count_letters(&near.letters, word, near.n, 1);
    for (size_t i = 0; i < n && near.steps > 0 && near.best_distance > 0; i++)
        if (candidates[i])
            compare(&near, candidates[i]);
    return near.best;
}

#define DOTTED_MAX 64

const char *hcb_near_dotted(const char *word, const char *const *candidates, size_t n)
{
    const char *tails[DOTTED_MAX], *point = word ? strrchr(word, '.') : NULL;
    size_t skip = point ? (size_t)(point + 1 - word) : 0, tails_n = 0;
    for (size_t i = 0; skip > 0 && i < n && tails_n < DOTTED_MAX; i++)
        if (candidates[i] && strncmp(candidates[i], word, skip) == 0)
            tails[tails_n++] = candidates[i] + skip;
    if (tails_n == 0)
        return hcb_near(word, candidates, n);
    const char *near = hcb_near(word + skip, tails, tails_n);
    return near ? near - skip : NULL;
}

static const char *hint(const char *near, char out[HCB_NEAR_CHARS])
{
    out[0] = '\0';
    if (near)
        snprintf(out, HCB_NEAR_CHARS, " - did you mean '%s'?", near);
    return out;
}

const char *hcb_near_hint(const char *word, const char *const *candidates, size_t n,
                          char out[HCB_NEAR_CHARS])
{
    return hint(hcb_near(word, candidates, n), out);
}

const char *hcb_near_dotted_hint(const char *word, const char *const *candidates, size_t n,
                                 char out[HCB_NEAR_CHARS])
{
    return hint(hcb_near_dotted(word, candidates, n), out);
}

#define ID_BYTES 120
#define ID_SHOWN 40

static const char *fault_of_char(uint32_t c)
{
    if (is_space(c))
        return "has a space";
    if (is_control(c))
        return "has a control character";
    if (c == '/')
        return "has a '/'";
    if (c == '\\')
        return "has a '\\'";
    return c == '"' || c == '\'' ? "has a quote" : NULL;
}

static const char *fault_of_id(const char *id, size_t n)
{
    if (n == 0)
        return "is empty";
    if (id[0] == '.' || id[0] == '-')
        return id[0] == '.' ? "begins with '.'" : "begins with '-'";
    for (size_t at = 0; at < n;) {
        size_t len = hcb_utf8_len(id + at, n - at);
        if (len == 0)
            return "is not valid UTF-8";
        const char *fault = fault_of_char(hcb_utf8_code(id + at, len));
        if (fault)
            return fault;
        at += len;
    }
    return n > ID_BYTES ? "is too long" : NULL;
}

int hcb_id_check(const char *id, size_t n, struct hcb_err *err)
{
    const char *fault = fault_of_id(id, n);
    if (!fault)
        return 0;
    struct hcb_buf shown = {0};
    size_t part = n > ID_SHOWN ? hcb_utf8_cut(id, ID_SHOWN) : n;
    hcb_text_printable(&shown, id, part);
    hcb_fail(err, HOTCB_EFORMAT,
             "id \"%s%s\" %s: use 1 to %d bytes of UTF-8 without spaces, control characters, "
             "'/', '\\' or quotes, not beginning with '.' or '-'",
             hcb_buf_text(&shown), part < n ? "..." : "", fault, ID_BYTES);
    hcb_buf_release(&shown);
    return HOTCB_EFORMAT;
}
