/* Going through a tensor; see walk.h and stats.h. */
#include "stats/walk.h"

#include <string.h>

/* Shorter rows than this are collected into the block, so that the work is done on many
 * elements at a time. */
#define ROW_MIN 64

static int64_t bytes_of(const struct hcb_walk *w)
{
    return (int64_t)hcb_dtype_bytes(w->t.dtype);
}

static void drop_single(struct hcb_tensor *t)
{
    int kept = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] == 1)
            continue;
        t->shape[kept] = t->shape[i];
        t->stride[kept++] = t->stride[i];
    }
    t->ndim = kept;
}

static void flip_negative(struct hcb_tensor *t)
{
    for (int i = 0; i < t->ndim; i++) {
        if (t->stride[i] >= 0)
            continue;
        t->data += (t->shape[i] - 1) * t->stride[i] * (int64_t)hcb_dtype_bytes(t->dtype);
        t->stride[i] = -t->stride[i];
    }
}

/* Whether dimension a goes outside of b: its step is the longer one. One of stride 0
 * repeats all that is inside of it. */
static bool goes_outside(const struct hcb_tensor *t, int a, int b)
{
    if (t->stride[a] == 0 || t->stride[b] == 0)
        return t->stride[a] == 0 && t->stride[b] != 0;
    return t->stride[a] > t->stride[b];
}

static void swap_dimensions(struct hcb_tensor *t, int a, int b)
{
    int64_t shape = t->shape[a], stride = t->stride[a];
    t->shape[a] = t->shape[b];
    t->stride[a] = t->stride[b];
    t->shape[b] = shape;
    t->stride[b] = stride;
}

static void sort_dimensions(struct hcb_tensor *t)
{
    for (int i = 1; i < t->ndim; i++)
        for (int k = i; k > 0 && goes_outside(t, k, k - 1); k--)
            swap_dimensions(t, k, k - 1);
}

/* Two neighbours are one dimension if a step of the outer one is all steps of the inner. */
static void join_dimensions(struct hcb_tensor *t)
{
    int last = 0;
    for (int i = 1; i < t->ndim; i++) {
        if (t->stride[last] == t->stride[i] * t->shape[i]) {
            t->shape[last] *= t->shape[i];
            t->stride[last] = t->stride[i];
        } else {
            t->shape[++last] = t->shape[i];
            t->stride[last] = t->stride[i];
        }
    }
    t->ndim = last + 1;
}

void hcb_walk_begin(struct hcb_walk *w, const struct hcb_tensor *t, bool in_order,
                    unsigned char *stage)
{
    w->t = *t;
    w->left = t->numel;
    w->stage = stage;
    for (int i = 0; i < HCB_DIMS; i++)
        w->at[i] = 0;
    if (t->numel == 0)
        return;
    drop_single(&w->t);
    if (w->t.ndim == 0) {
        w->t.shape[0] = w->t.stride[0] = 1;
        w->t.ndim = 1;
    }
    if (!in_order) {
        flip_negative(&w->t);
        sort_dimensions(&w->t);
    }
    join_dimensions(&w->t);
}

static const unsigned char *address(const struct hcb_walk *w)
{
    int64_t offset = 0;
    for (int i = 0; i < w->t.ndim; i++)
        offset += w->at[i] * w->t.stride[i];
    return w->t.data + offset * bytes_of(w);
}

/* n elements of the innermost dimension are done. */
static void advance(struct hcb_walk *w, int64_t n)
{
    int i = w->t.ndim - 1;
    w->left -= n;
    w->at[i] += n;
    for (; i > 0 && w->at[i] == w->t.shape[i]; i--) {
        w->at[i] = 0;
        w->at[i - 1]++;
    }
}

/* Elements up to the end of the row that the walk is in, at most n. */
static int64_t rest_of_row(const struct hcb_walk *w, int64_t n)
{
    int inner = w->t.ndim - 1;
    int64_t rest = w->t.shape[inner] - w->at[inner];
    return rest < n ? rest : n;
}

#define COPY(size)                                                        \
    for (int64_t i = 0; i < n; i++, to += size, from += step)             \
        memcpy(to, from, size);                                           \
    break

/* n elements of `bytes` each, `step` bytes apart. */
static void collect(unsigned char *to, const unsigned char *from, int64_t step, int64_t n,
                    int64_t bytes)
{
    if (step == bytes) {
        memcpy(to, from, (size_t)(n * bytes));
        return;
    }
    switch (bytes) {
    case 1: COPY(1);
    case 2: COPY(2);
    case 4: COPY(4);
    default: COPY(8);
    }
}

/* The next n elements of a row from the device, fewer if they span too much: from their
 * lowest address to their highest they are brought to the stage at once. *n becomes how
 * many there are. NULL: the device failed. */
static const unsigned char *fetch(struct hcb_walk *w, const unsigned char *from, int64_t *n)
{
    int64_t bytes = bytes_of(w), step = w->t.stride[w->t.ndim - 1] * bytes;
    int64_t apart = step < 0 ? -step : step;
    if (apart > 0 && *n > (HCB_STAGE_BYTES - bytes) / apart + 1)
        *n = (HCB_STAGE_BYTES - bytes) / apart + 1;
    int64_t span = (*n - 1) * apart, below = step < 0 ? span : 0;
    const struct hcb_device *device = w->t.device;
    if (device->copy(device->user, w->stage, from - below, (size_t)(span + bytes)) < 0)
        return NULL;
    return w->stage + below;
}

static int64_t next_collected(struct hcb_walk *w, int64_t most, unsigned char *block)
{
    int64_t bytes = bytes_of(w), step = w->t.stride[w->t.ndim - 1] * bytes, done = 0;
    while (done < most) {
        int64_t n = rest_of_row(w, most - done);
        const unsigned char *from = address(w);
        if (w->t.device && !(from = fetch(w, from, &n)))
            return -1;
        collect(block + done * bytes, from, step, n, bytes);
        advance(w, n);
        done += n;
    }
    return done;
}

int64_t hcb_walk_next(struct hcb_walk *w, int64_t most, unsigned char block[HCB_BLOCK_BYTES],
                      const unsigned char **data)
{
    int64_t fit = HCB_BLOCK_BYTES / bytes_of(w);
    if (most > w->left)
        most = w->left;
    if (most <= 0)
        return 0;
    int64_t n = rest_of_row(w, most);
    if (w->t.stride[w->t.ndim - 1] != 1 || (n < ROW_MIN && n < most)) {
        *data = block;
        return next_collected(w, most < fit ? most : fit, block);
    }
    *data = address(w);
    if (w->t.device && !(*data = fetch(w, *data, &n)))
        return -1;
    advance(w, n);
    return n;
}
