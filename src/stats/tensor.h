/* A tensor as it lies in memory: element type, shape, strides. Knows nothing of who owns
 * the memory, or for how long. */
#ifndef HCB_TENSOR_H
#define HCB_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HCB_DIMS 8

/* Element types: name, what scripts call it, bytes. f16 is IEEE 754 binary16, bf16 the upper
 * half of an f32; a bool is a byte, true if it is not 0. */
#define HCB_DTYPES(X)                                                          \
    X(HCB_F64, "f64", 8) X(HCB_F32, "f32", 4) X(HCB_F16, "f16", 2)             \
    X(HCB_BF16, "bf16", 2) X(HCB_I8, "i8", 1) X(HCB_I16, "i16", 2)             \
    X(HCB_I32, "i32", 4) X(HCB_I64, "i64", 8) X(HCB_U8, "u8", 1)               \
    X(HCB_U16, "u16", 2) X(HCB_U32, "u32", 4) X(HCB_U64, "u64", 8)             \
    X(HCB_BOOL8, "bool", 1)

enum hcb_dtype {
#define HCB_DTYPE_ENUM(name, text, bytes) name,
    HCB_DTYPES(HCB_DTYPE_ENUM)
#undef HCB_DTYPE_ENUM
    HCB_DTYPE_COUNT
};

/* Memory that the processor cannot read: how n bytes of it, at `from`, are brought to `to`.
 * 0, or negative if they cannot be. */
struct hcb_device {
    int type, id; /* of DLPack */
    int (*copy)(void *user, void *to, const void *from, size_t n);
    void *user;
};

struct hcb_tensor {
    const unsigned char *data; /* of element (0,...,0), at any alignment; not read if numel is 0 */
    enum hcb_dtype dtype;
    int ndim;                  /* 0 to HCB_DIMS; 0 dimensions are one element */
    int64_t numel;             /* the product of the shape */
    int64_t shape[HCB_DIMS];
    int64_t stride[HCB_DIMS];  /* in elements; of any sign, or 0 */
    const struct hcb_device *device; /* NULL: plain memory */
};

const char *hcb_dtype_name(enum hcb_dtype dtype); /* "f32" */
size_t hcb_dtype_bytes(enum hcb_dtype dtype);
bool hcb_dtype_is_integer(enum hcb_dtype dtype); /* i8 to u64; not bool */

/* One element: an integer for i8 to i64, and for u8 to u64 where an int64 can hold it; else
 * a double. A bool is the integer 0 or 1. */
struct hcb_element {
    bool is_int;
    int64_t i;
    double d;
};

/* The element at index[0..ndim-1], each from 0 and in range. false: its device did not give
 * it. */
bool hcb_tensor_get(const struct hcb_tensor *t, const int64_t *index, struct hcb_element *out);

/* t becomes the part of itself that has indices from..from+n-1 (from 0, in range) in
 * dimension dim. */
void hcb_tensor_slice(struct hcb_tensor *t, int dim, int64_t from, int64_t n);

#endif
