/* What train_mlp.c trains: a multi-layer perceptron, and the images it learns from.
 * Nothing here knows of hotcb. A failure ends the program with a sentence. */
#ifndef MLP_H
#define MLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LAYERS = 3, PIXELS = 28 * 28, CLASSES = 10 };

struct images {
    size_t n;
    unsigned char *pixels; // (n,784), 0 is black
    unsigned char *labels; // (n)
};

struct layer {
    size_t in, out;
    float *w, *dw; // (in,out)
    float *b, *db; // (out), right after w and dw
    float *y, *dy; // (B,out)
};

struct mlp {
    struct layer layers[LAYERS];
    size_t n;                         // how many weights and biases
    float *params, *grads, *velocity; // (n), the layers' w and b, dw and db are in there
    float *x;                         // (B,784)
    float *wt;                        // (out,in), one layer's weights at a time
    unsigned char *labels;            // (B)
};

/* Prints the sentence to stderr and exits with 1. */
_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory for n things of that size, for free(). */
void *need(size_t n, size_t size);

/* The first `most` images of DIR/WHICH-images-idx3-ubyte.gz and their labels. */
struct images images_read(const char *dir, const char *which, size_t most);
void images_release(struct images *set);

/* splitmix64: the next of its numbers. */
uint64_t random_bits(uint64_t *rng);

/* *m must be zero. Batches have at most `batch` images. */
void mlp_init(struct mlp *m, size_t batch, uint64_t *rng);
void mlp_release(struct mlp *m);

/* n images from `first` on become the batch, in the given order (NULL: as they stand). */
void mlp_fill(struct mlp *m, const struct images *set, const uint32_t *order, size_t first,
              size_t n);

/* One after the other, on a batch of n. mlp_loss gives the sum over the images and
 * how many of them were recognised; the gradients are those of the mean. */
void mlp_forward(struct mlp *m, size_t n);
double mlp_loss(struct mlp *m, size_t n, size_t *hits);
void mlp_backward(struct mlp *m, size_t n);
double mlp_grad_norm(const struct mlp *m); // L2, of all of them
void mlp_update(struct mlp *m, float lr, float momentum);

/* FNV-1a (64 bits) of all weights, as they are in memory. */
uint64_t mlp_checksum(const struct mlp *m);

#endif
