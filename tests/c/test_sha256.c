/* SHA-256 against published vectors, and against itself in pieces. */
#include "base/sha256.h"
#include "scratch.h"

struct row {
    const char *unit;
    int times;
    const char *hex;
};

/* FIPS 180-4 examples, and lengths around the edges of a block. */
static const struct row rows[] = {
    {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
    {"a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
    {"a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
    {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

static void test_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hcb_sha256 h;
        unsigned char sum[HCB_SHA256_BYTES];
        char hex[HCB_SHA256_HEX];
        hcb_sha256_init(&h);
        for (int k = 0; k < rows[i].times; k++)
            hcb_sha256_add(&h, rows[i].unit, strlen(rows[i].unit));
        hcb_sha256_end(&h, sum);
        hcb_sha256_hex(sum, hex);
        assert_string_equal(hex, rows[i].hex);
    }
}

static void test_any_split_gives_the_same_sum(void **state)
{
    (void)state;
    unsigned char text[200], whole[HCB_SHA256_BYTES], parts[HCB_SHA256_BYTES];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (unsigned char)(i * 7);
    hcb_sha256(text, sizeof(text), whole);
    for (size_t cut = 0; cut <= sizeof(text); cut++) {
        struct hcb_sha256 h;
        hcb_sha256_init(&h);
        hcb_sha256_add(&h, text, cut);
        hcb_sha256_add(&h, text + cut, sizeof(text) - cut);
        hcb_sha256_end(&h, parts);
        assert_memory_equal(whole, parts, sizeof(whole));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_any_split_gives_the_same_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
