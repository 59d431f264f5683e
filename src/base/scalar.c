/* What a plain scalar means; see scalar.h. The rules are the same for YAML and
 * for the command line, and it must not know which of them asks. */
#include "base/scalar.h"

#include "base/json.h"
#include "base/number.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *s, size_t n, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == n && memcmp(*words, s, n) == 0)
            return true;
    return false;
}

/* null, true, false, .inf, .nan in the spellings of the core schema. */
static bool resolve_word(const char *s, size_t n, struct hcb_value *out)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const yes[] = {"true", "True", "TRUE", NULL};
    static const char *const no[] = {"false", "False", "FALSE", NULL};
    static const char *const infinities[] = {".inf", ".Inf", ".INF", NULL};
    static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
    size_t sign = n > 0 && (s[0] == '-' || s[0] == '+');
    if (is_one_of(s, n, nulls))
        return true;
    if (is_one_of(s, n, yes) || is_one_of(s, n, no))
        hcb_value_bool(out, is_one_of(s, n, yes));
    else if (is_one_of(s + sign, n - sign, infinities))
        hcb_value_real(out, sign && s[0] == '-' ? -INFINITY : INFINITY);
    else if (is_one_of(s, n, nans))
        hcb_value_real(out, NAN);
    else
        return false;
    return true;
}

/* 010 and 007 are names more often than numbers, whatever follows. */
static bool has_leading_zero(const char *s, size_t n)
{
    size_t sign = n > 0 && (s[0] == '-' || s[0] == '+');
    return n > sign + 1 && s[sign] == '0' && s[sign + 1] >= '0' && s[sign + 1] <= '9';
}

#define SHOWN 60

/* Returns 1 if it is a number, 0 if not, or EFORMAT. */
static int resolve_number(const char *s, size_t n, struct hcb_value *out, struct hcb_err *err)
{
    int64_t i;
    double d;
    bool overflow;
    int shown = n > SHOWN ? SHOWN : (int)n;
    const char *dots = n > SHOWN ? "..." : "";
    if (has_leading_zero(s, n))
        return 0;
    if (hcb_parse_int(s, n, &i, &overflow)) {
        hcb_value_int(out, i);
        return 1;
    }
    if (overflow)
        return hcb_fail(err, HOTCB_EFORMAT,
                        "the integer %.*s%s is beyond 64 bits: put it in quotes to make it text",
                        shown, s, dots);
    if (!hcb_parse_real(s, n, &d))
        return 0;
    if (!hcb_is_finite(d))
        return hcb_fail(err, HOTCB_EFORMAT,
                        "the number %.*s%s is too large: write .inf for infinity", shown, s, dots);
    hcb_value_real(out, d);
    return 1;
}

static bool set_source(struct hcb_value *v, const char *s, size_t n)
{
    char *source = malloc(n + 1);
    if (!source)
        return false;
    memcpy(source, s, n);
    source[n] = '\0';
    v->source = source;
    return true;
}

/* Most scalars are text, which their first letter shows. */
static bool is_text(const char *s, size_t n)
{
    return n > 0 && !memchr("~nNtTfF.+-0123456789", s[0], 20);
}

int hcb_scalar_resolve(const char *s, size_t n, struct hcb_value *out, struct hcb_err *err)
{
    if (is_text(s, n)) {
        if (!hcb_value_text(out, s, n))
            return hcb_fail_nomem(err);
    } else if (!resolve_word(s, n, out)) {
        int rc = resolve_number(s, n, out, err);
        if (rc < 0)
            return rc;
        if (rc == 0 && !hcb_value_text(out, s, n))
            return hcb_fail_nomem(err);
    }
    if (!set_source(out, s, n)) {
        hcb_value_release(out);
        return hcb_fail_nomem(err);
    }
    return 0;
}

int hcb_scalar_from_arg(const char *s, struct hcb_value *out, struct hcb_err *err)
{
    size_t n = strlen(s);
    if (s[0] == '[' || s[0] == '{') {
        struct hcb_err why = {0};
        int rc = hcb_json_parse(s, n, out, &why);
        if (rc == 0)
            return 0;
        if (rc == HOTCB_ENOMEM)
            return hcb_fail_nomem(err);
    } else if (n > 0) {
        return hcb_scalar_resolve(s, n, out, err);
    }
    if (!hcb_value_text(out, s, n) || !set_source(out, s, n)) {
        hcb_value_release(out);
        return hcb_fail_nomem(err);
    }
    return 0;
}
