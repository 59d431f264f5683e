/* SHA-256 by the SHA instructions of x86-64 processors (Goldmont, Ice Lake, Zen and later), at
 * ten times the speed; see sha256.h. Knows whole blocks only. */
#include "base/sha256.h"

#ifdef HCB_SHA256_X86

#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

#define SHA __attribute__((target("sha,sse4.1,ssse3")))

static bool ask_processor(void)
{
    unsigned a, b, c, d;
    bool sse = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) && (c & bit_SSE4_1);
    return sse && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29);
}

/* Asked once, since that is slow where the machine is a virtual one; whoever asks at the same
 * time gets the same answer. */
bool hcb_sha256_x86_runs(void)
{
    static _Atomic int known; /* 1: no, 2: yes */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        answer = ask_processor() ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}

/* The 16 words of a block, as numbers: they are stored with the most significant byte first. */
SHA static void load_words(__m128i w[4], const unsigned char *block)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    for (int i = 0; i < 4; i++)
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)block + i), swap);
}

/* The four words that follow those in w take the place of its first four. */
SHA static inline void next_words(__m128i w[4])
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4));
    __m128i next = _mm_sha256msg2_epu32(sum, w[3]);
    w[0] = w[1];
    w[1] = w[2];
    w[2] = w[3];
    w[3] = next;
}

/* *abef and *cdgh hold the working variables with these letters, as the instructions want. */
SHA static void compress(__m128i *abef, __m128i *cdgh, const unsigned char *block)
{
    __m128i w[4], s0 = *abef, s1 = *cdgh;
    load_words(w, block);
    for (int i = 0; i < 64; i += 4) {
        const __m128i *k = (const __m128i *)(const void *)(hcb_sha256_constants + i);
        __m128i sum = _mm_add_epi32(w[0], _mm_loadu_si128(k));
        s1 = _mm_sha256rnds2_epu32(s1, s0, sum);
        s0 = _mm_sha256rnds2_epu32(s0, s1, _mm_shuffle_epi32(sum, 0x0e));
        next_words(w);
    }
    *abef = _mm_add_epi32(*abef, s0);
    *cdgh = _mm_add_epi32(*cdgh, s1);
}

SHA void hcb_sha256_x86(uint32_t state[8], const unsigned char *bytes, size_t blocks)
{
    __m128i *at = (__m128i *)(void *)state;
    __m128i abcd = _mm_loadu_si128(at), efgh = _mm_loadu_si128(at + 1);
    __m128i badc = _mm_shuffle_epi32(abcd, 0xb1), hgfe = _mm_shuffle_epi32(efgh, 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    for (; blocks > 0; blocks--, bytes += HCB_SHA256_BLOCK)
        compress(&abef, &cdgh, bytes);
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(at, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(at + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#endif
