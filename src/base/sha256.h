/* SHA-256 (FIPS 180-4). */
#ifndef HCB_SHA256_H
#define HCB_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define HCB_SHA256_BYTES 32
#define HCB_SHA256_HEX 65 /* with its NUL */

struct hcb_sha256 {
    uint32_t state[8];
    uint64_t total; /* bytes so far */
    unsigned char block[64];
};

void hcb_sha256_init(struct hcb_sha256 *h);
void hcb_sha256_add(struct hcb_sha256 *h, const void *bytes, size_t n);
void hcb_sha256_end(struct hcb_sha256 *h, unsigned char out[HCB_SHA256_BYTES]);

void hcb_sha256(const void *bytes, size_t n, unsigned char out[HCB_SHA256_BYTES]);
void hcb_sha256_hex(const unsigned char sum[HCB_SHA256_BYTES], char out[HCB_SHA256_HEX]);

#endif
