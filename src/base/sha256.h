/* SHA-256 (FIPS 180-4). */
#ifndef HCB_SHA256_H
#define HCB_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HCB_SHA256_BYTES 32
#define HCB_SHA256_BLOCK 64
#define HCB_SHA256_HEX 65 /* with its NUL */

struct hcb_sha256 {
    uint32_t state[8];
    uint64_t total; /* bytes so far */
    unsigned char block[HCB_SHA256_BLOCK];
};

void hcb_sha256_init(struct hcb_sha256 *h);
void hcb_sha256_add(struct hcb_sha256 *h, const void *bytes, size_t n);
void hcb_sha256_end(struct hcb_sha256 *h, unsigned char out[HCB_SHA256_BYTES]);

void hcb_sha256(const void *bytes, size_t n, unsigned char out[HCB_SHA256_BYTES]);
void hcb_sha256_hex(const unsigned char sum[HCB_SHA256_BYTES], char out[HCB_SHA256_HEX]);

/* How whole blocks change the state, in one version for each kind of processor; tests hold
 * them against each other. */
extern const uint32_t hcb_sha256_constants[64]; /* of the rounds */
void hcb_sha256_plain(uint32_t state[8], const unsigned char *bytes, size_t blocks);
#if defined(__x86_64__) && defined(__GNUC__) /* Clang defines it as well */
#define HCB_SHA256_X86
bool hcb_sha256_x86_runs(void); /* whether this processor can */
void hcb_sha256_x86(uint32_t state[8], const unsigned char *bytes, size_t blocks);
#endif

#endif
