/* Tensors of any shape, stride and place: their elements, parts, values in order, norms of
 * order 1 and histograms; and statistics of them, for how they are gone through. */
#include "stats_rig.h"

#include <fenv.h>

#define STORE 40000

static unsigned char store[STORE * 8];

static void fill(enum hcb_dtype dtype)
{
    for (int64_t i = 0; i < STORE; i++)
        if (rig_is_float(dtype))
            rig_put(store, dtype, i, rig_normal());
        else
            rig_put(store, dtype, i, rig_random() & 0x3f);
}

/* ---- shapes ---- */

/* `first` is the element of the store that (0,...,0) is. */
static const struct {
    int ndim;
    int64_t shape[HCB_DIMS], stride[HCB_DIMS], first;
} views[] = {
    {0, {0}, {0}, 5},
    {1, {0}, {1}, 0},
    {1, {3000}, {1}, 1},
    {1, {3000}, {-1}, 2999},
    {1, {3000}, {7}, 0},
    {1, {3000}, {-7}, 20993},
    {1, {3000}, {0}, 3},
    {1, {1}, {123456789}, 3},
    {2, {40, 50}, {50, 1}, 0},
    {2, {40, 50}, {1, 40}, 0},           /* transposed */
    {2, {40, 50}, {-50, 1}, 1950},
    {2, {40, 50}, {50, -1}, 49},
    {2, {40, 50}, {-50, -1}, 1999},
    {2, {40, 50}, {60, 1}, 7},           /* with gaps */
    {2, {900, 3}, {4, 1}, 0},
    {2, {3, 900}, {1, 4}, 0},
    {2, {5, 1000}, {1000, 1}, 0},
    {2, {5, 1000}, {1024, 1}, 3},
    {2, {5, 400}, {0, 1}, 0},            /* repeated */
    {2, {400, 5}, {1, 0}, 0},
    {2, {30, 30}, {1, 1}, 0},            /* windows that overlap */
    {2, {0, 7}, {7, 1}, 0},
    {3, {7, 1, 9}, {9, 77777, 1}, 0},
    {3, {3, 4, 500}, {2000, 500, 1}, 0},
    {3, {500, 4, 3}, {1, 500, 2000}, 0},
    {3, {8, 8, 8}, {-64, 8, -1}, 455},
    {4, {3, 5, 7, 11}, {1, 33, 165, 3}, 0},
    {5, {2, 0, 3, 4, 5}, {1, 1, 1, 1, 1}, 0},
    {8, {2, 3, 2, 3, 2, 3, 2, 3}, {648, 216, 108, 36, 18, 6, 3, 1}, 0},
    {8, {2, 3, 2, 3, 2, 3, 2, 3}, {1, 2, 6, 12, 36, 72, 216, 432}, 0},
    {8, {2, 3, 2, 3, 2, 3, 2, 3}, {-1, 2, -6, 12, 0, 72, -216, 432}, 223},
};
#define VIEWS (sizeof(views) / sizeof(views[0]))

static struct hcb_tensor view(size_t row, enum hcb_dtype dtype)
{
    struct hcb_tensor t = {.dtype = dtype, .ndim = views[row].ndim, .numel = 1};
    t.data = store + views[row].first * (int64_t)hcb_dtype_bytes(dtype);
    for (int i = 0; i < t.ndim; i++) {
        t.shape[i] = views[row].shape[i];
        t.stride[i] = views[row].stride[i];
        t.numel *= t.shape[i];
    }
    return t;
}

/* ---- a device ---- */

/* Its memory lies where a process has none: whoever reads it without asking, crashes. */
#define FAR ((uintptr_t)1 << 44)

struct card {
    int64_t calls, fail_at, bytes;
};

static int copy(void *user, void *to, const void *from, size_t n)
{
    struct card *card = user;
    card->calls++;
    card->bytes += (int64_t)n;
    if (card->calls == card->fail_at || n > HCB_STAGE_BYTES || n == 0)
        return -1;
    const unsigned char *here = (const unsigned char *)((uintptr_t)from - FAR);
    if (here < store || here + n > store + sizeof(store))
        return -2;
    memcpy(to, here, n);
    return 0;
}

static struct hcb_tensor on_device(struct hcb_tensor t, const struct hcb_device *device)
{
    t.data = (const unsigned char *)((uintptr_t)t.data + FAR);
    t.device = device;
    return t;
}

static unsigned char stage[HCB_STAGE_BYTES];

/* ---- values ---- */

static void expect_values(const struct hcb_tensor *t, const struct hcb_tensor *here, int64_t most)
{
    struct hcb_walk w;
    double got[64];
    int64_t at = 0, n;
    hcb_walk_begin(&w, t, true, stage);
    while ((n = hcb_read(&w, got, most)) > 0)
        for (int64_t i = 0; i < n; i++, at++)
            assert_true(got[i] == (double)rig_get(here, at));
    assert_int_equal(n, 0);
    assert_int_equal(at, here->numel);
}

static void test_values_come_in_order(void **state)
{
    (void)state;
    static const int64_t most[] = {1, 5, 64};
    struct card card = {0};
    struct hcb_device device = {2, 0, copy, &card};
    for (int d = 0; d < HCB_DTYPE_COUNT; d++) {
        fill((enum hcb_dtype)d);
        for (size_t row = 0; row < VIEWS; row++) {
            struct hcb_tensor t = view(row, (enum hcb_dtype)d), far = on_device(t, &device);
            for (int m = 0; m < 3; m++) {
                expect_values(&t, &t, most[m]);
                expect_values(&far, &t, most[m]);
            }
        }
    }
}

static void expect_elements(const struct hcb_tensor *t, const struct hcb_tensor *here)
{
    for (int64_t at = 0; at < here->numel; at += 1 + here->numel / 50) {
        int64_t index[HCB_DIMS], rest = at;
        for (int k = t->ndim - 1; k >= 0; k--) {
            index[k] = rest % t->shape[k];
            rest /= t->shape[k];
        }
        struct hcb_element e;
        assert_true(hcb_tensor_get(t, index, &e));
        assert_int_equal(e.is_int, !rig_is_float(t->dtype));
        assert_true((e.is_int ? (long double)e.i : e.d) == rig_get(here, at));
    }
}

static void test_one_element(void **state)
{
    (void)state;
    struct card card = {0};
    struct hcb_device device = {2, 0, copy, &card};
    for (int d = 0; d < HCB_DTYPE_COUNT; d++) {
        fill((enum hcb_dtype)d);
        for (size_t row = 0; row < VIEWS; row++) {
            struct hcb_tensor t = view(row, (enum hcb_dtype)d), far = on_device(t, &device);
            expect_elements(&t, &t);
            expect_elements(&far, &t);
        }
    }
}

/* What an int64 cannot hold is a double; a denormal is one, whatever the host thinks of it. */
static void test_odd_elements(void **state)
{
    (void)state;
    struct hcb_element e;
    int64_t at = 0;
    rig_put(store, HCB_U64, 0, 0x1p63L);
    struct hcb_tensor t = rig_flat(store, HCB_U64, 1);
    assert_true(hcb_tensor_get(&t, &at, &e));
    assert_true(!e.is_int && e.d == 0x1p63);
    rig_put(store, HCB_F32, 0, 0x1p-149L);
    t = rig_flat(store, HCB_F32, 1);
    fenv_t was;
    fegetenv(&was);
    rig_flush_denormals();
    bool is_there = hcb_tensor_get(&t, &at, &e);
    fesetenv(&was);
    assert_true(is_there && !e.is_int && e.d == 0x1p-149);
    store[0] = 200;
    t = rig_flat(store, HCB_BOOL8, 1);
    assert_true(hcb_tensor_get(&t, &at, &e));
    assert_true(e.is_int && e.i == 1);
}

static void test_slices(void **state)
{
    (void)state;
    fill(HCB_F32);
    for (size_t row = 0; row < VIEWS; row++) {
        struct hcb_tensor whole = view(row, HCB_F32);
        for (int dim = 0; dim < whole.ndim; dim++)
            for (int64_t from = 0; from < whole.shape[dim]; from += 1 + whole.shape[dim] / 4) {
                struct hcb_tensor t = whole;
                int64_t n = (whole.shape[dim] - from + 1) / 2, index[HCB_DIMS] = {0};
                struct hcb_element a, b;
                hcb_tensor_slice(&t, dim, from, n);
                assert_int_equal(t.numel, whole.numel / whole.shape[dim] * n);
                if (t.numel == 0)
                    continue;
                index[dim] = n - 1;
                assert_true(hcb_tensor_get(&t, index, &a));
                index[dim] = from + n - 1;
                assert_true(hcb_tensor_get(&whole, index, &b));
                assert_true(a.d == b.d);
                hcb_tensor_slice(&t, dim, 0, 0);
                assert_int_equal(t.numel, 0);
            }
    }
}

/* ---- statistics ---- */

static long double values[STORE];

static struct rig_stats expected_of(const struct hcb_tensor *t)
{
    for (int64_t i = 0; i < t->numel; i++)
        values[i] = rig_get(t, i);
    return rig_stats_of(values, t->numel);
}

static int run_on_device(const struct hcb_tensor *t, int64_t most, struct hcb_stats *out)
{
    struct hcb_stats_work w;
    int more;
    hcb_stats_begin(&w, t, stage);
    do
        more = hcb_stats_step(&w, most);
    while (more > 0);
    hcb_stats_end(&w, out);
    return more;
}

static void test_statistics_of_any_shape(void **state)
{
    (void)state;
    struct card card = {0};
    struct hcb_device device = {2, 0, copy, &card};
    for (int d = 0; d < HCB_DTYPE_COUNT; d++) {
        fill((enum hcb_dtype)d);
        for (size_t row = 0; row < VIEWS; row++) {
            struct hcb_tensor t = view(row, (enum hcb_dtype)d), far = on_device(t, &device);
            struct rig_stats expected = expected_of(&t);
            RIG_EACH_KERNEL(k)
                for (int64_t most = 1; most < 5000; most = most * 30 + 7) {
                    struct hcb_stats got = rig_run(*k, &t, most);
                    rig_check(&got, &expected, t.dtype);
                }
            struct hcb_stats got;
            assert_int_equal(run_on_device(&far, 700, &got), 0);
            rig_check(&got, &expected, t.dtype);
        }
    }
}

static void test_a_device_is_asked_for_much_at_once(void **state)
{
    (void)state;
    struct card card = {0};
    struct hcb_device device = {2, 0, copy, &card};
    struct hcb_stats got;
    fill(HCB_F64);
    struct hcb_tensor t = rig_flat(store, HCB_F64, STORE), far = on_device(t, &device);
    struct rig_stats expected = expected_of(&t);
    assert_int_equal(run_on_device(&far, INT64_MAX, &got), 0);
    rig_check(&got, &expected, t.dtype);
    assert_int_equal(card.calls, (STORE * 8 + HCB_STAGE_BYTES - 1) / HCB_STAGE_BYTES);
    assert_int_equal(card.bytes, STORE * 8);
}

static void test_a_device_that_fails(void **state)
{
    (void)state;
    struct card card = {0};
    struct hcb_device device = {2, 0, copy, &card};
    struct hcb_tensor t = rig_flat(store, HCB_F32, STORE), far = on_device(t, &device);
    struct hcb_tensor gaps = on_device(view(13, HCB_F32), &device);
    int64_t index = 0, counts[3];
    double out[300];
    struct hcb_element e;
    for (int fail_at = 1; fail_at <= 3; fail_at++) {
        struct hcb_stats got;
        struct hcb_norm1_work norm;
        struct hcb_histogram_work histogram;
        struct hcb_walk w;
        card = (struct card){.fail_at = fail_at};
        assert_int_equal(run_on_device(&far, INT64_MAX, &got), -1);
        card = (struct card){.fail_at = fail_at};
        assert_int_equal(run_on_device(&gaps, INT64_MAX, &got), -1);
        card = (struct card){.fail_at = fail_at};
        hcb_norm1_begin(&norm, &far, stage);
        assert_int_equal(hcb_norm1_step(&norm, INT64_MAX), -1);
        card = (struct card){.fail_at = fail_at};
        hcb_histogram_begin(&histogram, &far, stage, -1, 1, 3, counts);
        assert_int_equal(hcb_histogram_step(&histogram, INT64_MAX), -1);
        card = (struct card){.fail_at = fail_at};
        hcb_walk_begin(&w, &gaps, true, stage);
        int64_t n;
        do
            n = hcb_read(&w, out, 300);
        while (n > 0);
        assert_int_equal(n, -1);
    }
    card = (struct card){.fail_at = 1};
    assert_false(hcb_tensor_get(&far, &index, &e));
}

/* ---- the norm of order 1 ---- */

static double norm1(const struct hcb_tensor *t, int64_t most)
{
    struct hcb_norm1_work w;
    hcb_norm1_begin(&w, t, stage);
    while (hcb_norm1_step(&w, most) > 0)
        ;
    return w.sum;
}

static void test_norm1(void **state)
{
    (void)state;
    for (int d = 0; d < HCB_DTYPE_COUNT; d++) {
        fill((enum hcb_dtype)d);
        for (size_t row = 0; row < VIEWS; row++) {
            struct hcb_tensor t = view(row, (enum hcb_dtype)d);
            long double expected = 0;
            for (int64_t i = 0; i < t.numel; i++)
                expected += fabsl(rig_get(&t, i));
            for (int64_t most = 1; most < 5000; most = most * 30 + 7)
                assert_true(fabsl(norm1(&t, most) - expected) <= 1e-12L * expected);
        }
    }
}

static void test_norm1_of_what_is_not_finite(void **state)
{
    (void)state;
    fill(HCB_F32);
    struct hcb_tensor t = rig_flat(store, HCB_F32, 3000);
    rig_put(store, HCB_F32, 1234, -(long double)INFINITY);
    assert_true(isinf(norm1(&t, 999)) && norm1(&t, 999) > 0);
    rig_put(store, HCB_F32, 77, (long double)NAN);
    assert_true(isnan(norm1(&t, 999)));
}

/* ---- histograms ---- */

static const struct {
    double lo, hi;
    int bins;
} ranges[] = {
    {-1, 1, 10}, {0, 1, 10}, {-3, 3, 1}, {-0.7, 2.3, 64}, {0, 3, 30}, {1, 1 + 1e-12, 1000},
    {1e15, 1e15 + 1, 100}, {-DBL_MAX, DBL_MAX, 7}, {-DBL_MAX, DBL_MAX, 512}, {0, DBL_MAX, 5},
    {0, 0x1p-1074, 3}, {-0x1p-1070, 0x1p-1070, 64}, {0, 0x1p-1022, 100}, {-1e-300, 1e-300, 33},
    {1, 1.0000000000000002, 5},
};

static double between(double lo, double hi, double part)
{
    return lo * (1 - part) + hi * part;
}

/* Values all over the range, on the edges and next to them, and outside. */
static int put_around(double lo, double hi, int bins, double *x)
{
    int n = 0;
    for (int i = 0; i <= bins; i++) {
        double edge = hcb_histogram_edge(lo, hi, bins, i);
        x[n++] = edge;
        x[n++] = nextafter(edge, -(double)INFINITY);
        x[n++] = nextafter(edge, (double)INFINITY);
        x[n++] = between(lo, hi, rig_uniform());
    }
    x[n++] = (double)NAN;
    x[n++] = (double)INFINITY;
    x[n++] = -(double)INFINITY;
    return n;
}

static void count_plainly(const double *x, int n, double lo, double hi, int bins, int64_t *counts)
{
    memset(counts, 0, (size_t)bins * sizeof(*counts));
    for (int k = 0; k < n; k++) {
        int i = bins - 1;
        if (!(x[k] >= lo && x[k] <= hi))
            continue;
        while (i > 0 && hcb_histogram_edge(lo, hi, bins, i) > x[k])
            i--;
        counts[i]++;
    }
}

static void test_histograms(void **state)
{
    (void)state;
    static double x[5000];
    for (size_t row = 0; row < sizeof(ranges) / sizeof(ranges[0]); row++) {
        double lo = ranges[row].lo, hi = ranges[row].hi;
        int bins = ranges[row].bins, n = put_around(lo, hi, bins, x);
        int64_t got[1000], expected[1000];
        assert_true(hcb_histogram_edge(lo, hi, bins, 0) == lo);
        assert_true(hcb_histogram_edge(lo, hi, bins, bins) == hi);
        for (int i = 0; i < bins; i++)
            assert_true(hcb_histogram_edge(lo, hi, bins, i)
                        <= hcb_histogram_edge(lo, hi, bins, i + 1));
        count_plainly(x, n, lo, hi, bins, expected);
        struct hcb_tensor t = rig_flat((unsigned char *)x, HCB_F64, n);
        for (int64_t most = 1; most < 8000; most = most * 30 + 7) {
            struct hcb_histogram_work w;
            memset(got, 0x55, sizeof(got));
            hcb_histogram_begin(&w, &t, NULL, lo, hi, bins, got);
            while (hcb_histogram_step(&w, most) > 0)
                ;
            assert_memory_equal(got, expected, (size_t)bins * sizeof(*got));
        }
    }
}

static void test_edges_are_the_nearest_doubles(void **state)
{
    (void)state;
    for (int i = 0; i <= 10; i++)
        assert_true(hcb_histogram_edge(0, 1, 10, i) == i / 10.0);
    for (int i = 0; i <= 30; i++)
        assert_true(hcb_histogram_edge(0, 3, 30, i) == i / 10.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_come_in_order),
        cmocka_unit_test(test_one_element),
        cmocka_unit_test(test_odd_elements),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_statistics_of_any_shape),
        cmocka_unit_test(test_a_device_is_asked_for_much_at_once),
        cmocka_unit_test(test_a_device_that_fails),
        cmocka_unit_test(test_norm1),
        cmocka_unit_test(test_norm1_of_what_is_not_finite),
        cmocka_unit_test(test_histograms),
        cmocka_unit_test(test_edges_are_the_nearest_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
