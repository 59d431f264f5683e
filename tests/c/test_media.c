/* Histograms and pictures: what of them is refused, the bytes of a picture's file (decoded
 * again by libpng, where that is built in), the lines that name it. */
#include "base/file.h"
#include "run_rig.h"
#include "script_rig.h"
#include "sink/media.h"
#include "sink/picture.h"

#include <sys/stat.h>
#include <unistd.h>

#ifdef HOTCB_PNG
#include <png.h>
#define GREY ".png"
#define RGB ".png"
#else
#define GREY ".pgm"
#define RGB ".ppm"
#endif

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- a picture's bytes ----------------------------------------------------- */

static void check_head(const struct hcb_picture *p, const char *bytes, size_t n, size_t pixels)
{
    char head[60];
    int head_len = snprintf(head, sizeof(head), "P%d\n%u %u\n255\n", p->channels == 1 ? 5 : 6,
                            p->width, p->height);
    assert_int_equal(n, (size_t)head_len + pixels);
    assert_memory_equal(bytes, head, (size_t)head_len);
    assert_memory_equal(bytes + head_len, p->pixels, pixels);
}

/* The file is that picture. */
static void check_bytes(const struct hcb_picture *p, const char *bytes, size_t n)
{
    size_t pixels = (size_t)p->width * p->height * p->channels;
#ifdef HOTCB_PNG
    (void)check_head;
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&image, bytes, n));
    assert_int_equal(image.width, p->width);
    assert_int_equal(image.height, p->height);
    assert_int_equal(image.format, p->channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB);
    unsigned char *read = malloc(pixels);
    assert_non_null(read);
    assert_true(png_image_finish_read(&image, NULL, read, 0, NULL));
    assert_memory_equal(read, p->pixels, pixels);
    free(read);
#else
    check_head(p, bytes, n, pixels);
#endif
}

static bool go_on(void *user)
{
    ++*(int *)user;
    return false;
}

static const struct size_row {
    unsigned width, height, channels;
    bool noise;
} size_rows[] = {
    {1, 1, 1, true}, {1, 1, 3, true}, {3, 2, 1, true}, {3, 2, 3, true}, {28, 28, 1, false},
    {65535, 1, 1, true}, {1, 65535, 3, true}, {65535, 5, 3, false}, {1024, 1024, 1, true},
    {1024, 1024, 1, false}, {591, 591, 3, true},
};

static void test_bytes(void **state)
{
    static char pixels[HCB_PICTURE_BYTES];
    (void)state;
    for (size_t i = 0; i < COUNT(size_rows); i++) {
        const struct size_row *row = &size_rows[i];
        struct hcb_picture p = {pixels, row->width, row->height, row->channels};
        size_t n = (size_t)p.width * p.height * p.channels;
        struct hcb_buf out = {0};
        struct hcb_err err = {0};
        int asked = 0;
        unsigned seed = 1;
        assert_true(n <= sizeof(pixels));
        for (size_t k = 0; k < n; k++)
            pixels[k] = row->noise ? (char)((seed = seed * 1103515245 + 12345) >> 16) : 'x';
        assert_int_equal(hcb_picture_encode(&p, go_on, &asked, &out, &err), 0);
        check_bytes(&p, out.data, out.len);
        assert_true(out.len < n + n / 50 + p.height + 300);
#ifdef HOTCB_PNG
        assert_true(asked >= (int)(n / (200 << 10))); /* a row may be as long as that */
        assert_true(row->noise || out.len < n / 20 + 200);
#endif
        hcb_buf_release(&out);
    }
}

#ifdef HOTCB_PNG
static bool stop(void *user)
{
    return --*(int *)user < 0;
}

/* Whenever it is ended, nothing stays behind: the sanitizers look for that. */
static void test_stop(void **state)
{
    static const char pixels[HCB_PICTURE_BYTES];
    (void)state;
    for (int after = 0; after < 16; after++) {
        struct hcb_picture p = {pixels, 1024, 1024, 1};
        struct hcb_buf out = {0};
        struct hcb_err err = {0};
        int left = after;
        assert_int_equal(hcb_picture_encode(&p, stop, &left, &out, &err), HOTCB_EREFUSED);
        assert_int_equal(left, -1);
        hcb_buf_release(&out);
    }
}

/* What libpng itself refuses comes out of its jump as a sentence. */
static void test_refused_by_libpng(void **state)
{
    struct hcb_picture p = {"", 0, 1, 1};
    struct hcb_buf out = {0};
    struct hcb_err err = {0};
    int asked = 0;
    (void)state;
    assert_int_equal(hcb_picture_encode(&p, go_on, &asked, &out, &err), HOTCB_EFORMAT);
    assert_non_null(strstr(err.text, "libpng: "));
    hcb_buf_release(&out);
}
#endif

/* ---- names and lines ------------------------------------------------------- */

static const struct name_row {
    const char *key;
    bool has_step;
    int64_t step;
    const char *name; /* without its extension; or what is said */
    bool bad;
} name_rows[] = {
    {"w1", true, 7, "w1-000007", false},
    {"w1", false, 7, "w1", false},
    {"w1", true, 0, "w1-000000", false},
    {"w1", true, 12345678, "w1-12345678", false},
    {"w1", true, -3, "w1--000003", false},
    {"w1", true, INT64_MAX, "w1-9223372036854775807", false},
    {"w1", true, INT64_MIN, "w1--9223372036854775808", false},
    {"layers/0/weight", true, 1, "layers/0/weight-000001", false},
    {"A-z_0.9", true, 1, "A-z_0.9-000001", false},
    {"a b:c\xc3\xa9\n\\*", true, 1, "a_b_c_____-000001", false},
    {"\xff", false, 0, "_", false},
    {"...", false, 0, "...", false},
    {".", true, 1, "has \".\" or \"..\" as a component", true},
    {"..", true, 1, "has \".\" or \"..\" as a component", true},
    {"../x", true, 1, "has \".\" or \"..\" as a component", true},
    {"a/../b", true, 1, "has \".\" or \"..\" as a component", true},
    {"/a", true, 1, "begins with '/'", true},
    {"a//b", true, 1, "has an empty component", true},
    {"a/", true, 1, "has an empty component", true},
    {"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", true, 1, "has more than 16 components", true},
};

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(name_rows); i++) {
        const struct name_row *row = &name_rows[i];
        struct hcb_line_head head = {"r", "x", row->key, strlen(row->key), row->has_step,
                                     row->step, 0};
        char name[HCB_PICTURE_NAME], wanted[HCB_PICTURE_NAME];
        struct hcb_err err = {0};
        int status = hcb_picture_name(&head, 3, name, &err);
        assert_int_equal(status, row->bad ? HOTCB_EREFUSED : 0);
        snprintf(wanted, sizeof(wanted), "%s%s", row->name, row->bad ? "" : RGB);
        if (row->bad ? !strstr(err.text, wanted) : strcmp(name, wanted) != 0)
            fail_msg("\"%s\": %s", row->key, row->bad ? err.text : name);
    }
    char key[HCB_PICTURE_KEY_BYTES], name[HCB_PICTURE_NAME];
    memset(key, 'k', sizeof(key));
    struct hcb_line_head head = {"r", "x", key, sizeof(key), true, INT64_MIN, 0};
    assert_int_equal(hcb_picture_name(&head, 1, name, NULL), 0);
    assert_int_equal(strlen(name), sizeof(key) + 2 + 19 + 4);
}

static void test_lines(void **state)
{
    struct hcb_line_head head = {"r1", "x", "a\"b", 3, true, 7, 5};
    struct hcb_picture_line line = {head, "d/a_b-000007.png", 28, 30, 1};
    const char *numbers = "\"counts\":[1,2.5],\"edges\":[0,1,2]";
    struct hcb_buf b = {0};
    (void)state;
    hcb_media_histogram(&b, &head, numbers, strlen(numbers));
    hcb_media_picture(&b, &line);
    assert_string_equal(hcb_buf_text(&b),
        "{\"step\":7,\"time\":5.0,\"run\":\"r1\",\"id\":\"x\",\"key\":\"a\\\"b\","
        "\"kind\":\"histogram\",\"counts\":[1,2.5],\"edges\":[0,1,2]}\n"
        "{\"step\":7,\"time\":5.0,\"run\":\"r1\",\"id\":\"x\",\"key\":\"a\\\"b\","
        "\"kind\":\"image\",\"path\":\"artifacts/x/d/a_b-000007.png\",\"width\":28,"
        "\"height\":30,\"channels\":1}\n");
    hcb_buf_release(&b);
}

/* ---- what scripts may ask for ---------------------------------------------- */

/* What is refused, and how; the rest asks for one thing. */
static const struct call_row {
    const char *call, *says;
} call_rows[] = {
    {"hotcb.histogram('h', { 1 }, { 0, 1 })", NULL},
    {"hotcb.histogram('h', { 1, 0.5, 0 }, { -1, 0, 0, 1e300 }, 3.0)", NULL},
    {"local c, e = {}, { 0 } for i = 1, 4096 do c[i] = i e[i + 1] = i / 3 end "
     "hotcb.histogram('h', c, e)", NULL},
    {"hotcb.histogram('h', { math.maxinteger }, { math.mininteger, math.maxinteger })", NULL},
    {"hotcb.histogram('h', setmetatable({}, { __index = error, __len = error }), { 0 })",
     "#2 to 'histogram' (1 to 4096 counts expected, got 0)"},
    {"local c = {} for i = 1, 4097 do c[i] = i end hotcb.histogram('h', c, c)",
     "#2 to 'histogram' (1 to 4096 counts expected, got 4097)"},
    {"hotcb.histogram('h', { 1 }, { 0 })",
     "#3 to 'histogram' (2 edges expected, one more than counts, got 1)"},
    {"hotcb.histogram('h', { 1 }, { 0, 1, 2 })",
     "#3 to 'histogram' (2 edges expected, one more than counts, got 3)"},
    {"hotcb.histogram('h', { 1, 0/0 }, { 0, 1, 2 })",
     "#2 to 'histogram' (counts[2]: a finite number, 0 or more expected)"},
    {"hotcb.histogram('h', { -1 }, { 0, 1 })",
     "#2 to 'histogram' (counts[1]: a finite number, 0 or more expected)"},
    {"hotcb.histogram('h', { 1 / 0 }, { 0, 1 })",
     "#2 to 'histogram' (counts[1]: a finite number, 0 or more expected)"},
    {"hotcb.histogram('h', { '1' }, { 0, 1 })",
     "#2 to 'histogram' (counts[1]: a finite number, 0 or more expected)"},
    {"hotcb.histogram('h', { 1 }, { 0, 0/0 })",
     "#3 to 'histogram' (edges[2]: a finite number expected)"},
    {"hotcb.histogram('h', { 1 }, { -1 / 0, 0 })",
     "#3 to 'histogram' (edges[1]: a finite number expected)"},
    {"hotcb.histogram('h', { 1, 1 }, { 0, 2, 1 })",
     "#3 to 'histogram' (edges[3]: no less than the edge before it expected)"},
    {"hotcb.histogram('', { 1 }, { 0, 1 })",
     "#1 to 'histogram' (a key of 1 to 250 bytes expected)"},
    {"hotcb.histogram(('k'):rep(251), { 1 }, { 0, 1 })",
     "#1 to 'histogram' (a key of 1 to 250 bytes expected)"},
    {"hotcb.histogram(nil, { 1 }, { 0, 1 })",
     "#1 to 'histogram' (string expected, got nil)"},
    {"hotcb.histogram('h', 1, { 0, 1 })", "#2 to 'histogram' (table expected, got number)"},
    {"hotcb.histogram('h', { 1 })", "#3 to 'histogram' (table expected, got no value)"},
    {"hotcb.histogram('h', { 1 }, { 0, 1 }, 1.5)",
     "#4 to 'histogram' (number has no integer representation)"},

    {"hotcb.image('i', '123456', 3, 2)", NULL},
    {"hotcb.image('i', '123456', 2.0, 1, 5)", NULL},
    {"hotcb.image(('k'):rep(150), '1', 1, 1)", NULL},
    {"hotcb.image('i', ('x'):rep(1 << 20), 1024, 1024)", NULL},
    {"hotcb.image('i', ('x'):rep(65535), 1, 65535)", NULL},
    {"hotcb.image('i', '12345', 3, 2)", "#2 to 'image' (6 bytes of pixels (grey) or 18 (rgb) "
     "expected for 3 by 2, got 5)"},
    {"hotcb.image('i', '', 65535, 65535)", "#2 to 'image' (4294836225 bytes of pixels (grey) or "
     "12884508675 (rgb) expected for 65535 by 65535, got 0)"},
    {"hotcb.image('i', ('x'):rep((1 << 20) + 1), 1, 1)",
     "#2 to 'image' (at most 1048576 bytes of pixels expected, got 1048577)"},
    {"hotcb.image('i', '', 0, 1)", "#3 to 'image' (1 to 65535 expected)"},
    {"hotcb.image('i', '', 1, -1)", "#4 to 'image' (1 to 65535 expected)"},
    {"hotcb.image('i', '', 65536, 1)", "#3 to 'image' (1 to 65535 expected)"},
    {"hotcb.image('i', '', math.mininteger, 1)", "#3 to 'image' (1 to 65535 expected)"},
    {"hotcb.image('i', 'x', 1.5, 1)", "#3 to 'image' (number has no integer representation)"},
    {"hotcb.image('i', 5, 1, 1)", "#2 to 'image' (string expected, got number)"},
    {"hotcb.image('', 'x', 1, 1)", "#1 to 'image' (a key of 1 to 150 bytes expected)"},
    {"hotcb.image(('k'):rep(151), 'x', 1, 1)",
     "#1 to 'image' (a key of 1 to 150 bytes expected)"},
    {"hotcb.image('..', 'x', 1, 1)", "#1 to 'image' (artifact \"..\" has \".\" or \"..\""},
    {"hotcb.image('/etc/x', 'x', 1, 1)", "#1 to 'image' (artifact \"/etc/x\" begins with '/'"},
    {"hotcb.image('a//b', 'x', 1, 1)",
     "#1 to 'image' (artifact \"a//b\" has an empty component"},
    {"hotcb.image('i', 'x', 1, 1, 'x')", "#5 to 'image' (number expected, got string)"},
};

static void test_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(call_rows); i++) {
        char text[300];
        struct rig r;
        rig_init(&r);
        r.source.limits.errors = 0;
        snprintf(text, sizeof(text), "function handle() %s end", call_rows[i].call);
        rig_must_open(&r, text);
        int status = rig_handle(&r, "train_step_end");
        if ((status < 0) != (call_rows[i].says != NULL))
            fail_msg("%s: %s", call_rows[i].call, status < 0 ? r.fault.message : "taken");
        if (status < 0)
            rig_expect_fault(&r, HCB_RUNTIME, call_rows[i].says);
        assert_int_equal(r.effects.n, call_rows[i].says ? 0 : 1);
        assert_int_equal(r.effects.dropped, 0);
        rig_release(&r);
    }
}

static void test_what_is_kept(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function handle()\n"
        "hotcb.histogram('a/b', { 1, 2.0, 0.1, -0.0 }, { -1, 0, 0.25, 1e300, 1e300 })\n"
        "hotcb.histogram('c', { math.maxinteger }, { 5e-324, 1 }, -4)\n"
        "hotcb.image('i', '\\0\\255\\1\\2\\3\\4', 2, 1) end");
    hotcb_env_step(r.env, 12);
    assert_int_equal(rig_handle(&r, "fit_end"), 0);
    const struct hcb_effect *e = r.effects.v;
    const char *bytes = r.effects.bytes.data;
    const char *first = "\"counts\":[1,2.0,0.1,-0.0],\"edges\":[-1,0,0.25,1e300,1e300]";
    const char *second = "\"counts\":[9223372036854775807],\"edges\":[5e-324,1]";
    assert_int_equal(r.effects.n, 3);
    assert_true(e[0].bytes_len == strlen(first) && e[0].has_step && e[0].step == 12);
    assert_memory_equal(bytes + e[0].bytes, first, e[0].bytes_len);
    assert_true(e[1].bytes_len == strlen(second) && e[1].step == -4);
    assert_memory_equal(bytes + e[1].bytes, second, e[1].bytes_len);
    assert_true(e[2].width == 2 && e[2].height == 1 && e[2].channels == 3 && e[2].step == 12);
    check_bytes(&(struct hcb_picture){"\0\377\1\2\3\4", 2, 1, 3}, bytes + e[2].bytes,
                e[2].bytes_len);
    rig_release(&r);
}

/* true: it was queued, and its file is open. */
static void test_results(void **state)
{
    static const char *const results[2][2] = {{"false false false", "true false false"},
                                              {"false true true", "true true true"}};
    struct hcb_spool open = {.path = (char *)(uintptr_t)"x", .fd = 0};
    struct hcb_spool gone = {.path = (char *)(uintptr_t)"x", .fd = -1};
    struct rig r;
    (void)state;
    rig_init(&r);
    rig_must_open(&r, "function handle() print(hotcb.scalar('s', 1), "
                      "hotcb.histogram('h', { 1 }, { 0, 1 }), hotcb.image('i', 'x', 1, 1)) end");
    for (int media = 0; media < 2; media++)
        for (int metrics = 0; metrics < 2; metrics++) {
            char wanted[80];
            r.effects.metrics = metrics ? &open : &gone;
            r.effects.media = media ? &open : NULL;
            snprintf(wanted, sizeof(wanted), "scalar s|histogram h|image i|%s",
                     results[media][metrics]);
            rig_expect(&r, wanted);
        }
    rig_release(&r);
}

/* What has no room is not there, and its result says so; the files of a call are 16. */
static const struct cap_row {
    const char *body;
    size_t n, dropped;
    const char *results; /* printed by the script */
} cap_rows[] = {
    {"for i = 1, 17 do last = hotcb.image('i' .. i, 'x', 1, 1) end print(last)", 17, 1, "false"},
    {"for i = 1, 15 do hotcb.artifact('a' .. i, '') end a = hotcb.image('a', 'x', 1, 1) "
     "b = hotcb.image('b', 'x', 1, 1) hotcb.artifact('c', '') print(a, b)", 17, 2, "true false"},
    {"for i = 1, 1030 do last = hotcb.histogram('h', { 1 }, { 0, 1 }) end", 1024, 6, NULL},
    {"for i = 1, 2000 do last = hotcb.scalar(('k'):rep(250), 1) end", 1024, 976, NULL},
    {"local c, e = {}, {} for i = 1, 4096 do c[i] = 1 e[i] = i / 3 end e[4097] = 2000 "
     "for i = 1, 120 do hotcb.histogram('h', c, e) end", 0, 0, NULL},
};

static void test_caps(void **state)
{
    struct hcb_spool open = {.path = (char *)(uintptr_t)"x", .fd = 0};
    (void)state;
    for (size_t i = 0; i < COUNT(cap_rows); i++) {
        char text[400];
        struct rig r;
        rig_init(&r);
        r.source.limits.time_ms *= 20;
        r.effects.media = r.effects.metrics = &open;
        snprintf(text, sizeof(text), "function handle() %s end", cap_rows[i].body);
        rig_must_open(&r, text);
        assert_int_equal(rig_handle(&r, "fit_end"), 0);
        assert_true(r.effects.bytes.len <= HCB_EFFECTS_BYTES);
        if (cap_rows[i].n == 0)
            assert_true(r.effects.n > 50 && r.effects.n + r.effects.dropped == 120);
        else if (r.effects.n != cap_rows[i].n || r.effects.dropped != cap_rows[i].dropped)
            fail_msg("%s: %zu, and %zu dropped", cap_rows[i].body, r.effects.n, r.effects.dropped);
        const char *asked = rig_asked(&r);
        if (cap_rows[i].results)
            assert_string_equal(strrchr(asked, '|') + 1, cap_rows[i].results);
        rig_release(&r);
    }
}

/* ---- in a run -------------------------------------------------------------- */

#define DRAW "hotcb.histogram('h', { 1, 2 }, { 0, 0.5, 1 }) " \
             "hotcb.image('d/w 1', ('abc'):rep(6), 3, 2) hotcb.image('g', 'abcdef', 3, 2, 9) "

/* The lines that a run has written, without what differs from run to run. */
static const char *media_lines(void)
{
    static char out[4000];
    char *text = file_read("run/hotcb.media.jsonl"), *save = NULL;
    out[0] = '\0';
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct hcb_value v = {0};
        const char *step = strstr(line, "\"step\":"), *id = strstr(line, "\"id\":");
        assert_int_equal(hcb_json_parse(line, strlen(line), &v, NULL), 0);
        assert_true(hcb_map_get(&v, "time") && *hcb_map_text(&v, "run", ""));
        hcb_value_release(&v);
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%.*s%s\n",
                 (int)(strchr(step, ',') - step), step, id + strcspn(id, ","));
    }
    free(text);
    return out;
}

#define HISTOGRAM_LINE(step) "\"step\":" step ",\"key\":\"h\",\"kind\":\"histogram\"," \
                             "\"counts\":[1,2],\"edges\":[0,0.5,1]}\n"
#define RGB_LINE(step) "\"step\":" step ",\"key\":\"d/w 1\",\"kind\":\"image\",\"path\":" \
                       "\"artifacts/a/d/w_1-00000" step RGB "\",\"width\":3,\"height\":2," \
                       "\"channels\":3}\n"
#define GREY_LINE "\"step\":9,\"key\":\"g\",\"kind\":\"image\",\"path\":\"artifacts/a/g-000009" \
                  GREY "\",\"width\":3,\"height\":2,\"channels\":1}\n"

static void check_file(const char *name, const struct hcb_picture *p)
{
    struct hcb_buf bytes = {0};
    assert_int_equal(hcb_file_read(run_path(name), 4000, &bytes, NULL), 0);
    check_bytes(p, bytes.data, bytes.len);
    hcb_buf_release(&bytes);
}

static void test_run(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle() " DRAW "end");
    run_steps(&r, 3, 4);
    assert_string_equal(media_lines(), HISTOGRAM_LINE("3") RGB_LINE("3") GREY_LINE
                                       HISTOGRAM_LINE("4") RGB_LINE("4") GREY_LINE);
    check_file("artifacts/a/d/w_1-000003" RGB,
               &(struct hcb_picture){"abcabcabcabcabcabc", 3, 2, 3});
    check_file("artifacts/a/d/w_1-000004" RGB,
               &(struct hcb_picture){"abcabcabcabcabcabc", 3, 2, 3});
    check_file("artifacts/a/g-000009" GREY, &(struct hcb_picture){"abcdef", 3, 2, 1});
    assert_int_equal(run_logged(&r, "lost"), 0);
    run_release(&r);
}

/* A call that fails has drawn nothing. */
static void test_failing_call(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle() " DRAW "error('no') end");
    run_steps(&r, 1, 1);
    assert_string_equal(media_lines(), "");
    assert_false(file_exists("run/artifacts"));
    run_release(&r);
}

/* A line names a file that is there. */
static void test_picture_not_written(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle() " DRAW "end");
    scratch_replace(run_path("artifacts"), "in the way");
    run_steps(&r, 1, 2);
    assert_string_equal(media_lines(), HISTOGRAM_LINE("1") HISTOGRAM_LINE("2"));
    assert_int_equal(run_logged(&r, "[a] artifact not written (1 so far): "), 1);
    run_close(&r);
    const struct hcb_value *dropped = hcb_map_get(run_status(&r), "dropped");
    assert_int_equal(hcb_map_int(dropped, "artifacts", -1), 4);
    assert_int_equal(hcb_map_int(dropped, "media", -1), 0);
    run_release(&r);
}

static void test_sixteen_pictures(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a", "function handle() for i = 1, 17 do print(i, hotcb.image('i', 'x', 1, 1, i)) "
                      "end end");
    run_steps(&r, 1, 1);
    assert_int_equal(count_of(media_lines(), "\"path\":\"artifacts/a/i-0000"), 16);
    assert_int_equal(run_logged(&r, " true\n"), 16);
    assert_int_equal(run_logged(&r, "a: 17 false\n"), 1);
    assert_true(file_exists("run/artifacts/a/i-000016" GREY));
    assert_false(file_exists("run/artifacts/a/i-000017" GREY));
    run_close(&r);
    assert_int_equal(hcb_map_int(hcb_map_get(run_status(&r), "dropped"), "effects", -1), 1);
    run_release(&r);
}

/* The folder's cap counts pictures as it does other artifacts; the lines have one of theirs. */
static void test_folder_and_file_are_capped(void **state)
{
    struct run r;
    (void)state;
    run_init(&r);
    r.opt.artifact_files = 3;
    r.opt.media_bytes = 1500;
    run_open(&r);
    run_load(&r, "a", "function handle(e, env) hotcb.histogram('h', { 1 }, { 0, 1 }) "
                      "hotcb.image('i', 'x', 1, 1) end");
    run_steps(&r, 1, 20);
    run_close(&r);
    const struct hcb_value *dropped = hcb_map_get(run_status(&r), "dropped");
    int64_t lines = hcb_map_int(dropped, "media", -1);
    assert_int_equal(hcb_map_int(dropped, "artifacts", -1), 17);
    char *now = file_read("run/hotcb.media.jsonl"), *before = file_read("run/hotcb.media.jsonl.1");
    assert_true(strlen(now) <= 750 && strlen(before) <= 750);
    assert_int_equal(lines + count_of(now, "\n") + count_of(before, "\n"), 20 + 3);
    free(now);
    free(before);
    run_release(&r);
}

/* One picture over the budget is stopped as anything else is. */
static void test_time(void **state)
{
    struct run r;
    (void)state;
    run_start(&r);
    run_load(&r, "a",
             "local t = {} for i = 1, 1 << 15 do t[i] = string.char(i * i * 7919 % 251) end\n"
             "local noise = table.concat(t):rep(32)\n"
             "function handle() while true do hotcb.image('i', noise, 1024, 1024) end end");
    run_steps(&r, 1, 1);
    run_expect_state(&r, "a", "FAILED", true);
    assert_int_equal(run_logged(&r, "used up its CPU time"), 1);
    assert_string_equal(media_lines(), "");
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
#ifdef HOTCB_PNG
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_refused_by_libpng),
#endif
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_caps),
        WITH_SCRATCH(test_run),
        WITH_SCRATCH(test_failing_call),
        WITH_SCRATCH(test_picture_not_written),
        WITH_SCRATCH(test_sixteen_pictures),
        WITH_SCRATCH(test_folder_and_file_are_capped),
        WITH_SCRATCH(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
