/* SHA-256 as FIPS 180-4 describes it, section 6.2; see sha256.h. Here in plain C; the
 * processor's own instructions for it, where there are any, are used in sha256_x86.c. */
#include "base/sha256.h"

#include "base/text.h"

#include <string.h>

const uint32_t hcb_sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void expand(uint32_t w[64], const unsigned char *block)
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

/* Round i, where s[n - i] (of 8, around) is the working variable with the letter n: so none of
 * them has to move. */
static inline void round_once(uint32_t s[8], int i, uint32_t w_plus_k)
{
#define S(n) s[((n) - i) & 7]
    uint32_t big1 = rotr(S(4), 6) ^ rotr(S(4), 11) ^ rotr(S(4), 25);
    uint32_t choose = (S(4) & S(5)) ^ (~S(4) & S(6));
    uint32_t t1 = S(7) + big1 + choose + w_plus_k;
    uint32_t big0 = rotr(S(0), 2) ^ rotr(S(0), 13) ^ rotr(S(0), 22);
    uint32_t majority = (S(0) & S(1)) ^ (S(0) & S(2)) ^ (S(1) & S(2));
    S(3) += t1;
    S(7) = t1 + big0 + majority;
#undef S
}

static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64], s[8];
    expand(w, block);
    memcpy(s, state, sizeof(s));
    for (int i = 0; i < 64; i += 8) {
        const uint32_t *k = hcb_sha256_constants + i;
        round_once(s, 0, w[i] + k[0]);
        round_once(s, 1, w[i + 1] + k[1]);
        round_once(s, 2, w[i + 2] + k[2]);
        round_once(s, 3, w[i + 3] + k[3]);
        round_once(s, 4, w[i + 4] + k[4]);
        round_once(s, 5, w[i + 5] + k[5]);
        round_once(s, 6, w[i + 6] + k[6]);
        round_once(s, 7, w[i + 7] + k[7]);
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void hcb_sha256_plain(uint32_t state[8], const unsigned char *bytes, size_t blocks)
{
    for (; blocks > 0; blocks--, bytes += HCB_SHA256_BLOCK)
        compress(state, bytes);
}

static void take_blocks(uint32_t state[8], const unsigned char *bytes, size_t blocks)
{
#ifdef HCB_SHA256_X86
    if (hcb_sha256_x86_runs()) {
        hcb_sha256_x86(state, bytes, blocks);
        return;
    }
#endif
    hcb_sha256_plain(state, bytes, blocks);
}

void hcb_sha256_init(struct hcb_sha256 *h)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    *h = (struct hcb_sha256){.total = 0};
    memcpy(h->state, first, sizeof(first));
}

void hcb_sha256_add(struct hcb_sha256 *h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    size_t have = (size_t)(h->total % HCB_SHA256_BLOCK);
    h->total += n;
    if (have > 0) {
        size_t part = HCB_SHA256_BLOCK - have < n ? HCB_SHA256_BLOCK - have : n;
        memcpy(h->block + have, p, part);
        p += part;
        n -= part;
        if (have + part < HCB_SHA256_BLOCK)
            return;
        take_blocks(h->state, h->block, 1);
    }
    if (n >= HCB_SHA256_BLOCK)
        take_blocks(h->state, p, n / HCB_SHA256_BLOCK);
    if (n % HCB_SHA256_BLOCK > 0)
        memcpy(h->block, p + n - n % HCB_SHA256_BLOCK, n % HCB_SHA256_BLOCK);
}

void hcb_sha256_end(struct hcb_sha256 *h, unsigned char out[HCB_SHA256_BYTES])
{
    static const unsigned char padding[64] = {0x80};
    uint64_t bits = h->total * 8;
    size_t have = (size_t)(h->total % 64);
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    hcb_sha256_add(h, padding, have < 56 ? 56 - have : 120 - have);
    hcb_sha256_add(h, length, sizeof(length));
    for (int i = 0; i < HCB_SHA256_BYTES; i++)
        out[i] = (unsigned char)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

void hcb_sha256(const void *bytes, size_t n, unsigned char out[HCB_SHA256_BYTES])
{
    struct hcb_sha256 h;
    hcb_sha256_init(&h);
    hcb_sha256_add(&h, bytes, n);
    hcb_sha256_end(&h, out);
}

void hcb_sha256_hex(const unsigned char sum[HCB_SHA256_BYTES], char out[HCB_SHA256_HEX])
{
    for (int i = 0; i < HCB_SHA256_BYTES; i++)
        hcb_hex(out + 2 * i, sum[i]);
    out[HCB_SHA256_HEX - 1] = '\0';
}
