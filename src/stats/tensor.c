/* Elements and parts of a tensor; see tensor.h. What is done to all of one is in stats.h. */
#include "stats/tensor.h"

#include "stats/convert.h"
#include "stats/fp.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
#define DTYPE_ROW(name, text, bytes) {text, bytes},
    HCB_DTYPES(DTYPE_ROW)
#undef DTYPE_ROW
};

const char *hcb_dtype_name(enum hcb_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t hcb_dtype_bytes(enum hcb_dtype dtype)
{
    return dtypes[dtype].bytes;
}

bool hcb_dtype_is_integer(enum hcb_dtype dtype)
{
    return dtype >= HCB_I8 && dtype <= HCB_U64;
}

struct get {
    enum hcb_dtype dtype;
    const unsigned char *data;
    struct hcb_element *out;
};

static void get_element(void *of)
{
    struct get *get = of;
    if (hcb_dtype_is_integer(get->dtype) || get->dtype == HCB_BOOL8) {
        int64_t x = 0;
        hcb_to_ints(get->dtype, get->data, 1, &x);
        *get->out = hcb_element_of_int(get->dtype, x);
    } else {
        *get->out = (struct hcb_element){.is_int = false};
        hcb_to_doubles(get->dtype, get->data, 1, &get->out->d);
    }
}

bool hcb_tensor_get(const struct hcb_tensor *t, const int64_t *index, struct hcb_element *out)
{
    size_t bytes = hcb_dtype_bytes(t->dtype);
    int64_t offset = 0;
    for (int i = 0; i < t->ndim; i++)
        offset += index[i] * t->stride[i];
    struct get get = {t->dtype, t->data + offset * (int64_t)bytes, out};
    unsigned char fetched[8];
    if (t->device) {
        if (t->device->copy(t->device->user, fetched, get.data, bytes) < 0)
            return false;
        get.data = fetched;
    }
    hcb_fp_run(get_element, &get);
    return true;
}

void hcb_tensor_slice(struct hcb_tensor *t, int dim, int64_t from, int64_t n)
{
    int64_t rest = t->shape[dim] ? t->numel / t->shape[dim] : 0;
    if (n > 0)
        t->data += from * t->stride[dim] * (int64_t)hcb_dtype_bytes(t->dtype);
    t->shape[dim] = n;
    t->numel = rest * n;
}
