/* Numbers <-> text; see number.h. strtod and printf write and expect the decimal
 * point of the process's locale, so they are only ever given numbers without
 * one: 3.25 goes through them as 325e-2. Most numbers need neither: what an
 * integer and a power of ten say exactly is one operation away from its double. */
#include "base/number.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether a product or quotient of two doubles is the double nearest to it. */
#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#define ROUNDS_ONCE false
#else
#define ROUNDS_ONCE true
#endif

bool hcb_parse_int(const char *s, size_t n, int64_t *out, bool *overflow)
{
    if (overflow)
        *overflow = false;
    size_t at = n > 0 && (s[0] == '-' || s[0] == '+');
    bool negative = at && s[0] == '-';
    if (at == n)
        return false;
    uint64_t limit = (uint64_t)INT64_MAX + negative, total = 0;
    bool over = false;
    for (; at < n; at++) {
        if (!is_digit(s[at]))
            return false;
        unsigned digit = (unsigned)(s[at] - '0');
        over = over || total > (limit - digit) / 10;
        total = over ? 0 : total * 10 + digit;
    }
    if (overflow)
        *overflow = over;
    if (over)
        return false;
    *out = negative ? (int64_t)(0 - total) : (int64_t)total;
    return true;
}

/* A double is decided by its first 767 significant digits and by whether
 * anything but zeros follows them. */
#define DIGITS_MAX 780
#define EXPONENT_MAX 100000

struct decimal {
    bool negative;
    bool more;     /* digits other than 0 were left out */
    size_t n;
    int64_t exponent; /* the value is 0.DIGITS times ten to this power */
    char digits[DIGITS_MAX];
};

/* One digit of the mantissa, before or after the point. */
static void add_digit(struct decimal *d, char c, bool fraction)
{
    if (d->n == 0 && c == '0') {
        d->exponent -= fraction;
        return;
    }
    d->exponent += !fraction;
    if (d->n < DIGITS_MAX)
        d->digits[d->n++] = c;
    else
        d->more = d->more || c != '0';
}

static bool scan_mantissa(struct decimal *d, const char *s, size_t n, size_t *at)
{
    size_t digits = 0;
    bool fraction = false;
    for (; *at < n && (is_digit(s[*at]) || (s[*at] == '.' && !fraction)); (*at)++) {
        if (s[*at] == '.') {
            fraction = true;
        } else {
            digits++;
            add_digit(d, s[*at], fraction);
        }
    }
    return digits > 0;
}

static bool scan_exponent(struct decimal *d, const char *s, size_t n, size_t *at)
{
    if (*at == n || (s[*at] != 'e' && s[*at] != 'E'))
        return true;
    (*at)++;
    bool negative = *at < n && s[*at] == '-';
    *at += *at < n && (s[*at] == '-' || s[*at] == '+');
    int64_t e = 0;
    size_t first = *at;
    for (; *at < n && is_digit(s[*at]); (*at)++)
        if (e < INT64_MAX / 100)
            e = e * 10 + (s[*at] - '0');
    d->exponent += negative ? -e : e;
    return *at > first;
}

static double convert(const struct decimal *d)
{
    char text[DIGITS_MAX + 40];
    int64_t exponent = d->exponent - (int64_t)d->n;
    if (exponent > EXPONENT_MAX)
        exponent = EXPONENT_MAX;
    if (exponent < -EXPONENT_MAX)
        exponent = -EXPONENT_MAX;
    size_t len = 0;
    if (d->negative)
        text[len++] = '-';
    memcpy(text + len, d->digits, d->n);
    len += d->n;
    if (d->more) {
        text[len++] = '1';
        exponent--;
    }
    if (d->n == 0)
        text[len++] = '0';
    snprintf(text + len, sizeof(text) - len, "e%d", d->n == 0 ? 0 : (int)exponent);
    return strtod(text, NULL);
}

#define SHORT_CHARS 19 /* so many digits are an uint64 */
#define EXACT_MAX ((uint64_t)1 << 53)
/* Each is exact, as all powers of ten up to 1e22 are. */
static const double powers[SHORT_CHARS] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                           1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                           1e14, 1e15, 1e16, 1e17, 1e18};

/* The usual number: an optional sign, digits with a point or not, and no exponent.
 * false: not one of these. */
static bool parse_short(const char *s, size_t n, double *out)
{
    size_t at = n > 0 && (s[0] == '-' || s[0] == '+');
    uint64_t whole = 0;
    int digits = 0, behind = -1; /* of the digits, behind the point; -1: none came */
    if (!ROUNDS_ONCE || n - at > SHORT_CHARS)
        return false;
    for (; at < n; at++) {
        if (is_digit(s[at])) {
            whole = whole * 10 + (uint64_t)(s[at] - '0');
            digits++;
            behind += behind >= 0;
        } else if (s[at] == '.' && behind < 0) {
            behind = 0;
        } else {
            return false;
        }
    }
    if (digits == 0 || whole > EXACT_MAX)
        return false;
    double d = behind > 0 ? (double)whole / powers[behind] : (double)whole;
    *out = s[0] == '-' ? -d : d;
    return true;
}

bool hcb_parse_real(const char *s, size_t n, double *out)
{
    struct decimal d;
    if (parse_short(s, n, out))
        return true;
    d.negative = n > 0 && s[0] == '-';
    d.more = false;
    d.n = 0;
    d.exponent = 0;
    size_t at = n > 0 && (s[0] == '-' || s[0] == '+');
    if (!scan_mantissa(&d, s, n, &at) || !scan_exponent(&d, s, n, &at) || at != n)
        return false;
    *out = convert(&d);
    return true;
}

void hcb_put_digits(char *out, uint64_t v, int width)
{
    while (width > 0) {
        out[--width] = (char)('0' + v % 10);
        v /= 10;
    }
}

static int put_whole(char *out, uint64_t v)
{
    char digits[20], *first = digits + sizeof(digits);
    do {
        *--first = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    int n = (int)(digits + sizeof(digits) - first);
    memcpy(out, first, (size_t)n);
    return n;
}

int hcb_format_int(char out[HCB_INT_CHARS], int64_t i)
{
    bool negative = i < 0;
    uint64_t size = negative ? 0 - (uint64_t)i : (uint64_t)i;
    out[0] = '-';
    int len = negative + put_whole(out + negative, size);
    out[len] = '\0';
    return len;
}

/* A real in the making: its digits, without zeros at the end, as d.ddd times ten
 * to the exponent. */
struct shortest {
    char digits[20];
    int n, exponent;
};

/* With `precision` digits; false if that does not read back as d. d > 0. */
static bool try_precision(struct shortest *r, double d, int precision)
{
    char text[48]; /* d<point>ddde+xxx, where the point may be several bytes */
    snprintf(text, sizeof(text), "%.*e", precision - 1, d);
    char *e = strchr(text, 'e');
    r->n = 0;
    for (char *p = text; p < e; p++)
        if (is_digit(*p))
            r->digits[r->n++] = *p;
    while (r->n > 1 && r->digits[r->n - 1] == '0')
        r->n--;
    r->exponent = atoi(e + 1);
    snprintf(text, sizeof(text), "%.*se%d", r->n, r->digits, r->exponent - (r->n - 1));
    return strtod(text, NULL) == d;
}

static void find_shortest(struct shortest *r, double d)
{
    /* Every decimal of up to 15 digits survives a double; only denormals have
     * fewer digits than that. */
    int precision = (hcb_double_bits(d) & HCB_EXPONENT_BITS) == 0 ? 1 : 15;
    while (!try_precision(r, d, precision) && precision < 17)
        precision++;
}

static int lay_out(char *out, const struct shortest *r)
{
    int e = r->exponent, len = 0;
    if (e < -5 || e >= 16) {
        len = snprintf(out, 8, r->n > 1 ? "%c." : "%c", r->digits[0]);
        memcpy(out + len, r->digits + 1, (size_t)r->n - 1);
        len += r->n - 1;
        return len + snprintf(out + len, 8, "e%d", e);
    }
    if (e < 0) {
        out[len++] = '0';
        out[len++] = '.';
        for (int i = -1; i > e; i--)
            out[len++] = '0';
    }
    for (int i = 0; i < r->n || i <= e; i++) {
        if (i == e + 1 && e >= 0)
            out[len++] = '.';
        out[len++] = i < r->n ? r->digits[i] : '0';
    }
    if (r->n <= e + 1 && e >= 0) {
        out[len++] = '.';
        out[len++] = '0';
    }
    out[len] = '\0';
    return len;
}

#define MICRO 1000000
#define MICRO_DIGITS 6
/* Up to this, doubles lie closer together than a millionth: at most one decimal of six
 * digits reads back as a given double. */
#define MICRO_MAX ((double)((uint64_t)1 << 52) / MICRO)

static int put_millionths(char *out, uint64_t millionths)
{
    int len = put_whole(out, millionths / MICRO);
    out[len] = '.';
    hcb_put_digits(out + len + 1, millionths % MICRO, MICRO_DIGITS);
    int end = len + 1 + MICRO_DIGITS;
    while (out[end - 1] == '0' && end > len + 2)
        end--;
    out[end] = '\0';
    return end;
}

int hcb_format_millionths(char out[HCB_REAL_CHARS], int64_t millionths)
{
    bool negative = millionths < 0;
    uint64_t size = negative ? 0 - (uint64_t)millionths : (uint64_t)millionths;
    out[0] = '-';
    return negative + put_millionths(out + negative, size);
}

/* What needs no more than six digits behind the point, as times do. 0: d is not of that
 * kind. d > 0. */
static int format_micro(char *out, double d)
{
    if (!ROUNDS_ONCE || d < 1e-5 || d >= MICRO_MAX)
        return 0;
    uint64_t millionths = (uint64_t)(d * MICRO + 0.5);
    return (double)millionths / MICRO == d ? put_millionths(out, millionths) : 0;
}

int hcb_format_real(char out[HCB_REAL_CHARS], double d)
{
    if (hcb_is_nan(d))
        return snprintf(out, HCB_REAL_CHARS, "nan");
    int len = 0;
    if (hcb_double_bits(d) >> 63) {
        out[len++] = '-';
        d = -d;
    }
    if (!hcb_is_finite(d))
        return len + snprintf(out + len, HCB_REAL_CHARS - 1, "inf");
    if (d < 1e15 && (double)(int64_t)d == d) {
        len += put_whole(out + len, (uint64_t)d);
        memcpy(out + len, ".0", 3);
        return len + 2;
    }
    int micro = format_micro(out + len, d);
    if (micro > 0)
        return len + micro;
    struct shortest r;
    find_shortest(&r, d);
    return len + lay_out(out + len, &r);
}
