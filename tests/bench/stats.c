/* stats: how fast and how exact the statistics of tensors are. What reads memory fastest,
 * the kernels of src/stats and the plain ones of them take turns in one run; a number is
 * the median of its turns, and what counts is the ratio of two. See stats.sh. */
#include "stats/kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HCB_HAS_AVX2
#include <immintrin.h>
#endif

#define ROUNDS_MAX 101
#define SHORTEST_S 2e-4 /* a turn repeats what is shorter */

/* Of this thread's own time: who else runs takes cache and memory from it, but no turns. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- what only reads; n bytes are a multiple of 256 but for a rest that is left out ---- */

static volatile uint64_t sink;

typedef void (*reader)(const unsigned char *data, int64_t n);

static void read_plain(const unsigned char *data, int64_t n)
{
    uint64_t s[8] = {0};
    for (int64_t i = 0; i + 64 <= n; i += 64) {
        uint64_t x[8];
        memcpy(x, data + i, sizeof(x));
        for (int k = 0; k < 8; k++)
            s[k] ^= x[k];
    }
    sink = s[0] ^ s[1] ^ s[2] ^ s[3] ^ s[4] ^ s[5] ^ s[6] ^ s[7];
}

#ifdef HCB_HAS_AVX2
#define PREFETCH(data, ahead)                                              \
    if (ahead)                                                             \
        for (int k_ = 0; k_ < 256; k_ += 64)                               \
            _mm_prefetch((const char *)(data) + (ahead) + k_, _MM_HINT_T0)

/* Sums of floats in 8 accumulators; what lies in 256 bytes at a time. */
#define READ_SUM(name, ahead)                                              \
    __attribute__((target("avx2"))) static void name(const unsigned char *data, int64_t n) \
    {                                                                      \
        __m256 s[8];                                                       \
        for (int k = 0; k < 8; k++)                                        \
            s[k] = _mm256_setzero_ps();                                    \
        for (int64_t i = 0; i + 256 <= n; i += 256) {                      \
            PREFETCH(data + i, ahead);                                     \
            for (int k = 0; k < 8; k++)                                    \
                s[k] = _mm256_add_ps(s[k], _mm256_loadu_ps(                \
                    (const float *)(const void *)(data + i + 32 * k)));    \
        }                                                                  \
        float out[8];                                                      \
        for (int k = 1; k < 8; k++)                                        \
            s[0] = _mm256_add_ps(s[0], s[k]);                              \
        _mm256_storeu_ps(out, s[0]);                                       \
        sink = out[0] + out[7] > 0;                                        \
    }

#define READ_XOR(name, ahead)                                              \
    __attribute__((target("avx2"))) static void name(const unsigned char *data, int64_t n) \
    {                                                                      \
        __m256i s[4];                                                      \
        for (int k = 0; k < 4; k++)                                        \
            s[k] = _mm256_setzero_si256();                                 \
        for (int64_t i = 0; i + 256 <= n; i += 256) {                      \
            PREFETCH(data + i, ahead);                                     \
            for (int k = 0; k < 8; k++)                                    \
                s[k & 3] = _mm256_xor_si256(s[k & 3], _mm256_loadu_si256(  \
                    (const __m256i *)(const void *)(data + i + 32 * k)));  \
        }                                                                  \
        s[0] = _mm256_xor_si256(_mm256_xor_si256(s[0], s[1]), _mm256_xor_si256(s[2], s[3])); \
        sink = (uint64_t)_mm256_extract_epi64(s[0], 0);                    \
    }

#define READ_512(name, ahead)                                              \
    __attribute__((target("avx512f"))) static void name(const unsigned char *data, int64_t n) \
    {                                                                      \
        __m512i s[4];                                                      \
        for (int k = 0; k < 4; k++)                                        \
            s[k] = _mm512_setzero_si512();                                 \
        for (int64_t i = 0; i + 256 <= n; i += 256) {                      \
            PREFETCH(data + i, ahead);                                     \
            for (int k = 0; k < 4; k++)                                    \
                s[k] = _mm512_xor_si512(s[k], _mm512_loadu_si512(data + i + 64 * k)); \
        }                                                                  \
        s[0] = _mm512_xor_si512(_mm512_xor_si512(s[0], s[1]), _mm512_xor_si512(s[2], s[3])); \
        sink = (uint64_t)_mm512_reduce_add_epi64(s[0]);                    \
    }

READ_SUM(read_sum, 0)
READ_SUM(read_sum_ahead, 8192)
READ_XOR(read_xor, 0)
READ_XOR(read_xor_ahead, 4096)
READ_XOR(read_xor_far_ahead, 16384)
READ_512(read_512, 0)
READ_512(read_512_ahead, 8192)
#endif

/* All of them that run here. */
static int readers(reader *out)
{
    int n = 0;
    out[n++] = read_plain;
#ifdef HCB_HAS_AVX2
    if (hcb_kernels_avx2.runs()) {
        static const reader avx2[] = {read_sum, read_sum_ahead, read_xor, read_xor_ahead,
                                      read_xor_far_ahead};
        memcpy(out + n, avx2, sizeof(avx2));
        n += 5;
    }
    if (__builtin_cpu_supports("avx512f")) {
        out[n++] = read_512;
        out[n++] = read_512_ahead;
    }
#endif
    return n;
}

/* ---- turns ---- */

struct item {
    reader read;                       /* or */
    const struct hcb_kernels *kernels;
    struct hcb_tensor t;
    double turn_s[ROUNDS_MAX], median_s;
};

static void do_once(const struct item *item)
{
    if (item->read) {
        item->read(item->t.data, item->t.numel * (int64_t)hcb_dtype_bytes(item->t.dtype));
        return;
    }
    struct hcb_stats_work w;
    struct hcb_stats out;
    hcb_stats_begin(&w, &item->t, NULL);
    while (hcb_stats_step_by(item->kernels, &w, 1 << 20) > 0)
        ;
    hcb_stats_end(&w, &out);
    sink = (uint64_t)out.zeros;
}

static double turn(const struct item *item, int64_t times)
{
    double start = now_s();
    for (int64_t i = 0; i < times; i++)
        do_once(item);
    return (now_s() - start) / (double)times;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void take_turns(struct item *items, int n, int rounds)
{
    for (int round = 0; round < rounds; round++)
        for (int k = 0; k < n; k++) { /* each after each other: caches remember who was before */
            int i = (k * (1 + round % 2 * (n - 2)) + round) % n;
            double once = turn(&items[i], 1);
            int64_t times = once < SHORTEST_S ? 1 + (int64_t)(SHORTEST_S / (once + 1e-8)) : 0;
            items[i].turn_s[round] = times ? turn(&items[i], times) : once;
        }
    for (int i = 0; i < n; i++) {
        qsort(items[i].turn_s, (size_t)rounds, sizeof(double), by_size);
        items[i].median_s = items[i].turn_s[rounds / 2];
    }
}

/* ---- the tables ---- */

static void row(const char *what, int64_t n, double bytes, double ours_s, double other_s,
                double goal)
{
    double ratio = other_s / ours_s;
    printf("%-22s %9lld %8.2f %8.2f %7.2f", what, (long long)n, bytes / ours_s * 1e-9,
           bytes / other_s * 1e-9, ratio);
    if (goal > 0)
        printf(" %6.2f  %s", goal, ratio >= goal ? "met" : "missed");
    printf("\n");
}

/* What the goals of a row are, where there are some: against the best reader, against plain C. */
struct goals {
    double read, plain;
};

/* The best kernels against the best reader, and against the other sets in turn; plain C is left
 * out where it would take too long. */
static void compare(const unsigned char *data, enum hcb_dtype dtype, int64_t n, int rounds,
                    struct goals goals)
{
    static struct item items[16];
    reader read[8];
    char what[40];
    struct hcb_tensor t = {.data = data, .dtype = dtype, .ndim = 1, .numel = n, .shape = {n},
                           .stride = {1}};
    double bytes = (double)n * (double)hcb_dtype_bytes(dtype), best = (double)INFINITY;
    int count = readers(read), ours = count, all;
    for (int i = 0; i < count; i++)
        items[i] = (struct item){.read = read[i], .t = t};
    for (all = ours; hcb_kernels_all()[all - ours]; all++)
        items[all] = (struct item){.kernels = hcb_kernels_all()[all - ours], .t = t};
    if (n >= 100000000 && all > ours + 1)
        all--;
    take_turns(items, all, rounds);
    for (int i = 0; i < count; i++)
        best = items[i].median_s < best ? items[i].median_s : best;
    snprintf(what, sizeof(what), "%s : best read", hcb_dtype_name(dtype));
    row(what, n, bytes, items[ours].median_s, best, goals.read);
    for (int i = ours + 1; i < all; i++) {
        const struct hcb_kernels *other = items[i].kernels;
        snprintf(what, sizeof(what), "%s : %s", hcb_dtype_name(dtype), other->name);
        row(what, n, bytes, items[ours].median_s, items[i].median_s,
            other == &hcb_kernels_scalar ? goals.plain : 0);
    }
}

static uint64_t seed = 1;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) * 0x1p-53;
}

/* Of mean 0 and std 1, near enough to normal. */
static double normal(void)
{
    double s = 0;
    for (int i = 0; i < 12; i++)
        s += uniform();
    return s - 6;
}

static void put(unsigned char *data, enum hcb_dtype dtype, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double x = uniform() * 2 - 1;
        float f = (float)x;
        uint32_t bits;
        memcpy(&bits, &f, sizeof(bits));
        uint16_t half = dtype == HCB_BF16 ? (uint16_t)(bits >> 16)
            : (uint16_t)(0x3800 | (bits >> 16 & 0x8000) | (bits >> 13 & 0x3ff));
        if (dtype == HCB_F64)
            memcpy(data + i * 8, &x, 8);
        else if (dtype == HCB_F32)
            memcpy(data + i * 4, &f, 4);
        else
            memcpy(data + i * 2, &half, 2);
    }
}

static void speeds(unsigned char *data)
{
    static const enum hcb_dtype halves[] = {HCB_BF16, HCB_F16};
    static const struct goals none = {0, 0}, large = {0.85, 0}, small = {0, 10};
    printf("\n%-22s %9s %8s %8s %7s %6s\n", "item", "n", "ours", "other", "ratio", "goal");
    printf("%-22s %9s %8s %8s\n", "", "", "GB/s", "GB/s");
    put(data, HCB_F32, 100000000);
    compare(data, HCB_F32, 100000000, 21, large);
    compare(data, HCB_F32, 10000000, 61, (struct goals){0.85, 10});
    for (int64_t n = 1000000; n >= 100; n /= 10)
        compare(data, HCB_F32, n, ROUNDS_MAX, n >= 1000 ? small : none);
    put(data, HCB_F64, 50000000);
    compare(data, HCB_F64, 50000000, 9, none);
    for (int64_t n = 10000000; n >= 1000; n /= 100)
        compare(data, HCB_F64, n, 31, none);
    for (int d = 0; d < 2; d++) {
        put(data, halves[d], 100000000);
        compare(data, halves[d], 100000000, 21, large);
        for (int64_t n = 10000000; n >= 1000; n /= 100)
            compare(data, halves[d], n, 31, none);
    }
}

/* ---- errors ---- */

struct errors {
    double mean, std, l2;
};

static struct errors errors_of(const float *x, int64_t n)
{
    struct item item = {.kernels = hcb_kernels_best()};
    item.t = (struct hcb_tensor){.data = (const unsigned char *)x, .dtype = HCB_F32, .ndim = 1,
                                 .numel = n, .shape = {n}, .stride = {1}};
    struct hcb_stats_work w;
    struct hcb_stats got;
    hcb_stats_begin(&w, &item.t, NULL);
    while (hcb_stats_step_by(item.kernels, &w, 1 << 20) > 0)
        ;
    hcb_stats_end(&w, &got);
    long double mean = 0, squares = 0, m2 = 0;
    for (int64_t i = 0; i < n; i++)
        mean += x[i], squares += (long double)x[i] * x[i];
    mean /= n;
    for (int64_t i = 0; i < n; i++)
        m2 += (x[i] - mean) * (x[i] - mean);
    long double std = sqrtl(m2 / n), l2 = sqrtl(squares);
    long double size = fabsl(mean) > std ? fabsl(mean) : std;
    return (struct errors){
        (double)(fabsl(got.mean - mean) / size),
        n > 1 ? (double)(fabsl(got.std - std) / std) : got.std,
        (double)(fabsl(got.l2 - l2) / l2),
    };
}

static void exactness(float *x)
{
    static const double means[] = {0, 0.1, 1, 10, 1e2, 1e3, 1e4, 1e5, 1e6};
    printf("\nerrors of f32, std 1, the largest over n = 1 to 1e7; goal 1e-7\n");
    printf("%8s %9s %9s %9s\n", "mean of", "mean", "std", "l2");
    for (size_t m = 0; m < sizeof(means) / sizeof(means[0]); m++) {
        struct errors most = {0};
        for (int64_t i = 0; i < 10000000; i++)
            x[i] = (float)(means[m] + normal());
        for (int64_t n = 1; n <= 10000000; n = n < 10 ? n + 1 : n * 10) {
            struct errors e = errors_of(x, n);
            most.mean = fmax(most.mean, e.mean);
            most.std = fmax(most.std, e.std);
            most.l2 = fmax(most.l2, e.l2);
        }
        bool is_met = most.mean <= 1e-7 && most.std <= 1e-7 && most.l2 <= 1e-7;
        printf("%8g %9.1e %9.1e %9.1e  %s\n", means[m], most.mean, most.std, most.l2,
               is_met ? "met" : "missed");
    }
}

/* ---- which processor ---- */

static void print_processor(void)
{
    char line[300] = "";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof(line), f) && strncmp(line, "model name", 10) != 0)
        line[0] = '\0';
    if (f)
        fclose(f);
    const char *name = strchr(line, ':');
    printf("processor: %s", name ? name + 2 : "unknown\n");
#ifdef HCB_HAS_AVX2
    printf("has: avx2 %s, fma %s, avx512f %s\n", __builtin_cpu_supports("avx2") ? "yes" : "no",
           __builtin_cpu_supports("fma") ? "yes" : "no",
           __builtin_cpu_supports("avx512f") ? "yes" : "no");
#endif
    printf("kernels: %s\n", hcb_kernels_best()->name);
}

int main(void)
{
    unsigned char *data = aligned_alloc(64, 400000000 + 64);
    if (!data)
        return 1;
    print_processor();
    speeds(data);
    exactness((float *)(void *)data);
    free(data);
    return 0;
}
