/* The arithmetic: plain loops in one thread, so that the same numbers give the same
 * bits. Arrays are row by row; their shapes stand beside them, B is the batch. */
#include "mlp.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t widths[LAYERS + 1] = { PIXELS, 128, 64, CLASSES };

void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("train_mlp: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

/* Zeroed, and aligned to a cache line: that alone makes the products a tenth faster. */
void *need(size_t n, size_t size)
{
    size_t bytes = (n * size + 63) / 64 * 64;
    void *p = aligned_alloc(64, bytes);
    if (!p)
        die("out of memory");
    return memset(p, 0, bytes);
}

uint64_t random_bits(uint64_t *rng)
{
    uint64_t z = *rng += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* On x86-64 the loader picks the version for the processor. Both give the same bits,
 * since nothing is contracted to a fused multiply-add in ISO C. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_CPU __attribute__((target_clones("avx2", "default")))
#else
#define FOR_EACH_CPU
#endif

/* out (O) += x (K) times rows (K,O), where x[k] stands at x[k * right].
 *
 * Each out[o] is a sum of its own in a fixed order, so the compiler may work on many o
 * at once without changing a bit: no -ffast-math. Four rows a turn save loads and
 * stores of out; four that would be multiplied by 0 (black pixels, units at rest) are
 * left out. */
FOR_EACH_CPU
static void add_rows(float *restrict out, const float *restrict x, size_t right,
                     const float *restrict rows, size_t K, size_t O)
{
    size_t k = 0;
    for (; k + 4 <= K; k += 4, x += 4 * right, rows += 4 * O) {
        float a = x[0], b = x[right], c = x[2 * right], d = x[3 * right];
        if (a == 0 && b == 0 && c == 0 && d == 0)
            continue;
        for (size_t o = 0; o < O; o++)
            out[o] += (a * rows[o] + b * rows[O + o]) + (c * rows[2 * O + o] + d * rows[3 * O + o]);
    }
    for (; k < K; k++, x += right, rows += O)
        for (size_t o = 0; o < O; o++)
            out[o] += x[0] * rows[o];
}

/* out (M,O) += x (M,K) times rows (K,O), where x[m][k] stands at x[m * down + k * right].
 * A block of rows is used for all of out before the next, so that it stays in L1. */
static void add_product(float *out, const float *x, size_t down, size_t right,
                        const float *rows, size_t M, size_t K, size_t O)
{
    for (size_t k = 0, n; k < K; k += n) {
        n = K - k < 32 ? K - k : 32;
        for (size_t m = 0; m < M; m++)
            add_rows(out + m * O, x + m * down + k * right, right, rows + k * O, n, O);
    }
}

static void layer_init(struct layer *l, float *params, float *grads, size_t batch, uint64_t *rng)
{
    l->w = params;
    l->dw = grads;
    l->b = params + l->in * l->out;
    l->db = grads + l->in * l->out;
    l->y = need(batch * l->out, sizeof(float));
    l->dy = need(batch * l->out, sizeof(float));
    double reach = sqrt(6.0 / (double)l->in); // He, uniform; the biases begin at 0
    for (size_t j = 0; j < l->in * l->out; j++)
        l->w[j] = (float)(reach * (0x1p-52 * (double)(random_bits(rng) >> 11) - 1));
}

void mlp_init(struct mlp *m, size_t batch, uint64_t *rng)
{
    for (int i = 0; i < LAYERS; i++)
        m->n += (widths[i] + 1) * widths[i + 1];
    m->params = need(m->n, sizeof(float));
    m->grads = need(m->n, sizeof(float));
    m->velocity = need(m->n, sizeof(float));
    m->x = need(batch * PIXELS, sizeof(float));
    m->wt = need(widths[1] * widths[2], sizeof(float)); // the largest but the first
    m->labels = need(batch, 1);
    for (size_t i = 0, at = 0; i < LAYERS; at += (widths[i] + 1) * widths[i + 1], i++) {
        m->layers[i] = (struct layer){ .in = widths[i], .out = widths[i + 1] };
        layer_init(&m->layers[i], m->params + at, m->grads + at, batch, rng);
    }
}

void mlp_release(struct mlp *m)
{
    for (int i = 0; i < LAYERS; i++) {
        free(m->layers[i].y);
        free(m->layers[i].dy);
    }
    free(m->params);
    free(m->grads);
    free(m->velocity);
    free(m->x);
    free(m->wt);
    free(m->labels);
}

void mlp_fill(struct mlp *m, const struct images *set, const uint32_t *order, size_t first,
              size_t n)
{
    for (size_t r = 0; r < n; r++) {
        size_t image = order ? order[first + r] : first + r;
        const unsigned char *pixels = set->pixels + image * PIXELS;
        m->labels[r] = set->labels[image];
        for (size_t i = 0; i < PIXELS; i++)
            m->x[r * PIXELS + i] = (float)pixels[i] * (1.0f / 255);
    }
}

void mlp_forward(struct mlp *m, size_t n)
{
    const float *x = m->x; // (n,in), y is (n,out)
    for (int i = 0; i < LAYERS; x = m->layers[i++].y) {
        struct layer *l = &m->layers[i];
        for (size_t r = 0; r < n; r++)
            memcpy(l->y + r * l->out, l->b, l->out * sizeof(float));
        add_product(l->y, x, l->in, 1, l->w, n, l->in, l->out);
        for (size_t j = 0; i < LAYERS - 1 && j < n * l->out; j++)
            l->y[j] = l->y[j] < 0 ? 0 : l->y[j]; // ReLU; a NaN stays one
    }
}

/* Softmax and cross-entropy of one image. y and dy are (10). */
static double image_loss(const float *y, int label, float *dy)
{
    float top = y[0], sum = 0;
    for (int c = 1; c < CLASSES; c++)
        top = y[c] > top ? y[c] : top;
    for (int c = 0; c < CLASSES; c++)
        sum += dy[c] = expf(y[c] - top);
    for (int c = 0; c < CLASSES; c++)
        dy[c] = dy[c] / sum - (float)(c == label);
    return log(sum) - (double)(y[label] - top);
}

static bool is_hit(const float *y, int label)
{
    for (int c = 0; c < CLASSES; c++)
        if (c != label && !(y[c] < y[label]))
            return false;
    return true;
}

double mlp_loss(struct mlp *m, size_t n, size_t *hits)
{
    struct layer *last = &m->layers[LAYERS - 1];
    double sum = 0;
    *hits = 0;
    for (size_t r = 0; r < n; r++) {
        float *y = last->y + r * CLASSES, *dy = last->dy + r * CLASSES;
        sum += image_loss(y, m->labels[r], dy);
        *hits += is_hit(y, m->labels[r]);
        for (int c = 0; c < CLASSES; c++)
            dy[c] /= (float)n;
    }
    return sum;
}

/* dw (in,out) and db (out), from x (n,in) and dy (n,out). */
static void layer_grads(struct layer *l, const float *x, size_t n)
{
    memset(l->dw, 0, (l->in + 1) * l->out * sizeof(float)); // and db
    add_product(l->dw, x, 1, l->in, l->dy, l->in, n, l->out);
    for (size_t r = 0; r < n; r++)
        for (size_t o = 0; o < l->out; o++)
            l->db[o] += l->dy[r * l->out + o];
}

/* dx (n,in) from dy (n,out), through the ReLU that x (n,in) came out of. */
static void layer_backward(const struct layer *l, const float *x, float *dx, size_t n, float *wt)
{
    for (size_t i = 0; i < l->in; i++)
        for (size_t o = 0; o < l->out; o++)
            wt[o * l->in + i] = l->w[i * l->out + o];
    memset(dx, 0, n * l->in * sizeof(float));
    add_product(dx, l->dy, l->out, 1, wt, n, l->out, l->in);
    for (size_t j = 0; j < n * l->in; j++)
        dx[j] = x[j] == 0 ? 0 : dx[j];
}

void mlp_backward(struct mlp *m, size_t n)
{
    for (int i = LAYERS - 1; i > 0; i--) {
        struct layer *l = &m->layers[i], *below = &m->layers[i - 1];
        layer_grads(l, below->y, n);
        layer_backward(l, below->y, below->dy, n, m->wt);
    }
    layer_grads(&m->layers[0], m->x, n);
}

/* Eight sums, so that this too may run on several numbers at once. */
double mlp_grad_norm(const struct mlp *m)
{
    const float *g = m->grads; // (n)
    double sums[8] = { 0 }, all = 0;
    size_t i = 0;
    for (; i + 8 <= m->n; i += 8)
        for (size_t j = 0; j < 8; j++)
            sums[j] += (double)g[i + j] * (double)g[i + j];
    for (; i < m->n; i++)
        sums[0] += (double)g[i] * (double)g[i];
    for (size_t j = 0; j < 8; j++)
        all += sums[j];
    return sqrt(all);
}

void mlp_update(struct mlp *m, float lr, float momentum)
{
    float *restrict p = m->params, *restrict v = m->velocity;
    const float *restrict g = m->grads;
    for (size_t i = 0; i < m->n; i++) {
        v[i] = momentum * v[i] + g[i];
        p[i] -= lr * v[i];
    }
}

uint64_t mlp_checksum(const struct mlp *m)
{
    const unsigned char *bytes = (const unsigned char *)m->params;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < m->n * sizeof(float); i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}
