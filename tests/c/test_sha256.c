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
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmno"
     "pqrsmnopqrstnopqrstu", 1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
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

/* ---- one version against the other ---- */

typedef void blocks_fn(uint32_t state[8], const unsigned char *bytes, size_t blocks);

/* The whole of FIPS 180-4 but for what the version does. */
static void sum_by(blocks_fn *take, const unsigned char *bytes, size_t n, uint32_t state[8])
{
    struct hcb_sha256 h;
    unsigned char end[2 * HCB_SHA256_BLOCK] = {0};
    size_t left = n % HCB_SHA256_BLOCK, blocks = left < 56 ? 1 : 2;
    hcb_sha256_init(&h);
    memcpy(state, h.state, sizeof(h.state));
    take(state, bytes, n / HCB_SHA256_BLOCK);
    memcpy(end, bytes + n - left, left);
    end[left] = 0x80;
    for (size_t i = 0; i < 8; i++)
        end[blocks * HCB_SHA256_BLOCK - 1 - i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
    take(state, end, blocks);
}

static void compare(const unsigned char *bytes, size_t n)
{
    uint32_t plain[8];
    unsigned char sum[HCB_SHA256_BYTES];
    sum_by(hcb_sha256_plain, bytes, n, plain);
#ifdef HCB_SHA256_X86
    uint32_t fast[8];
    if (hcb_sha256_x86_runs()) {
        sum_by(hcb_sha256_x86, bytes, n, fast);
        assert_memory_equal(plain, fast, sizeof(plain));
    }
#endif
    hcb_sha256(bytes, n, sum); /* by whichever is used here */
    for (int i = 0; i < HCB_SHA256_BYTES; i++)
        assert_int_equal(sum[i], plain[i / 4] >> (24 - 8 * (i % 4)) & 0xff);
}

/* All short lengths and some others, at any alignment. */
static void test_versions_agree(void **state)
{
    static unsigned char bytes[100003];
    uint64_t random = 88172645463325252u;
    (void)state;
#ifdef HCB_SHA256_X86
    if (!hcb_sha256_x86_runs())
        print_message("this processor has no SHA instructions: only plain C is tested\n");
#endif
    for (size_t i = 0; i < sizeof(bytes); i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        bytes[i] = (unsigned char)(random >> 32);
    }
    for (size_t n = 0; n <= 300; n++)
        compare(bytes + n % 17, n);
    for (int i = 0; i < 50; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t from = (size_t)(random >> 40) % 1000, n = (size_t)(random >> 33) % 99000;
        compare(bytes + from, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_any_split_gives_the_same_sum),
        cmocka_unit_test(test_versions_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
