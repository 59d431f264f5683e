/* Elements as numbers; see convert.h. Knows no shapes. */
#include "stats/convert.h"

/* `value` is an expression of x, the element as it is stored. */
#define EACH(type, value)                                         \
    for (int64_t i = 0; i < n; i++) {                             \
        type x;                                                   \
        memcpy(&x, data + (size_t)i * sizeof(x), sizeof(x));      \
        out[i] = (value);                                         \
    }                                                             \
    break

static float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static float float_of_bf16(uint16_t x)
{
    return float_of_bits((uint32_t)x << 16);
}

static float float_of_f16(uint16_t x)
{
    uint32_t sign = (uint32_t)(x & 0x8000) << 16, rest = x & 0x7fff;
    if (rest >= 0x7c00) /* an infinity, a NaN */
        return float_of_bits(sign | 0x7f800000 | rest << 13);
    if (rest >= 0x0400) /* the bias is 127 in place of 15 */
        return float_of_bits(sign | ((rest << 13) + (112u << 23)));
    float tiny = (float)rest * 0x1p-24f;
    return sign ? -tiny : tiny;
}

void hcb_to_doubles(enum hcb_dtype dtype, const unsigned char *data, int64_t n, double *out)
{
    switch (dtype) {
    case HCB_F64: EACH(double, x);
    case HCB_F32: EACH(float, (double)x);
    case HCB_F16: EACH(uint16_t, (double)float_of_f16(x));
    case HCB_BF16: EACH(uint16_t, (double)float_of_bf16(x));
    case HCB_I8: EACH(int8_t, (double)x);
    case HCB_I16: EACH(int16_t, (double)x);
    case HCB_I32: EACH(int32_t, (double)x);
    case HCB_I64: EACH(int64_t, (double)x);
    case HCB_U8: EACH(uint8_t, (double)x);
    case HCB_U16: EACH(uint16_t, (double)x);
    case HCB_U32: EACH(uint32_t, (double)x);
    case HCB_U64: EACH(uint64_t, (double)x);
    case HCB_BOOL8: EACH(uint8_t, x ? 1.0 : 0.0);
    case HCB_DTYPE_COUNT: break;
    }
}

static int64_t less_2_63(uint64_t x)
{
    int64_t out;
    x ^= (uint64_t)1 << 63;
    memcpy(&out, &x, sizeof(out));
    return out;
}

void hcb_to_ints(enum hcb_dtype dtype, const unsigned char *data, int64_t n, int64_t *out)
{
    switch (dtype) {
    case HCB_I8: EACH(int8_t, x);
    case HCB_I16: EACH(int16_t, x);
    case HCB_I32: EACH(int32_t, x);
    case HCB_I64: EACH(int64_t, x);
    case HCB_U8: EACH(uint8_t, x);
    case HCB_U16: EACH(uint16_t, x);
    case HCB_U32: EACH(uint32_t, x);
    case HCB_U64: EACH(uint64_t, less_2_63(x));
    case HCB_BOOL8: EACH(uint8_t, x != 0);
    default: break;
    }
}

struct hcb_element hcb_element_of_int(enum hcb_dtype dtype, int64_t x)
{
    if (dtype != HCB_U64)
        return (struct hcb_element){.is_int = true, .i = x, .d = (double)x};
    uint64_t u = (uint64_t)x ^ (uint64_t)1 << 63;
    bool fits = u <= INT64_MAX;
    return (struct hcb_element){.is_int = fits, .i = fits ? (int64_t)u : 0, .d = (double)u};
}
