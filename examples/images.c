/* Reads Fashion-MNIST, or whatever else comes in gzipped IDX files of that shape. */
#include "mlp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static _Noreturn void bad_data(const char *path, const char *why)
{
    die("%s: %s\nFashion-MNIST is in the Debian package dataset-fashion-mnist; "
        "--data DIR says where else to look.", path, why);
}

/* The first `most` elements, of `size` bytes, of an IDX file (labels of 1 byte, or
 * images of 28 by 28), or all of them if there are fewer. *n is how many. */
static unsigned char *read_idx(const char *path, size_t most, size_t size, size_t *n)
{
    gzFile f = gzopen(path, "rb");
    if (!f)
        bad_data(path, strerror(errno));
    unsigned char h[16]; // 0, 0, type, rank; then each dimension in 4 bytes, high byte first
    unsigned rank = size == 1 ? 1 : 3, head = 4 + 4 * rank;
    if (gzread(f, h, head) != (int)head || memcmp(h, "\0\0\010", 3) != 0 || h[3] != rank)
        bad_data(path, "not an IDX file of the kind it should be");
    if (rank == 3 && memcmp(h + 8, "\0\0\0\034\0\0\0\034", 8) != 0)
        bad_data(path, "the images are not 28 by 28");
    *n = (size_t)h[4] << 24 | (size_t)h[5] << 16 | (size_t)h[6] << 8 | h[7];
    *n = *n < most ? *n : most;
    unsigned char *bytes = need(*n, size);
    if (gzread(f, bytes, (unsigned)(*n * size)) != (int)(*n * size))
        bad_data(path, "damaged, or shorter than it says");
    gzclose(f);
    return bytes;
}

struct images images_read(const char *dir, const char *which, size_t most)
{
    struct images set;
    char path[4096];
    size_t labels;
    snprintf(path, sizeof path, "%s/%s-images-idx3-ubyte.gz", dir, which);
    set.pixels = read_idx(path, most, PIXELS, &set.n);
    snprintf(path, sizeof path, "%s/%s-labels-idx1-ubyte.gz", dir, which);
    set.labels = read_idx(path, most, 1, &labels);
    if (labels != set.n || labels == 0)
        bad_data(path, "not as many labels as there are images");
    for (size_t i = 0; i < set.n; i++)
        if (set.labels[i] >= CLASSES)
            bad_data(path, "a label is not in 0 to 9");
    return set;
}

void images_release(struct images *set)
{
    free(set->pixels);
    free(set->labels);
}
