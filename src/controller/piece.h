/* What a file of the run says of one callback: kept as text as long as nothing in it has
 * changed, so that the file is put together from such pieces. Knows nothing of what it says. */
#ifndef HCB_PIECE_H
#define HCB_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What changes with each call. */
struct hcb_counts {
    int64_t calls, failures, cost_ns;
    size_t memory;
};

struct hcb_piece {
    char *text;  /* not NUL-ended; NULL: none, or there was no memory to keep it */
    size_t n;
    bool holds;  /* but for the counts, which stand at [from, to) */
    size_t from, to;
    struct hcb_counts counts;
    int seen;    /* kinds of event that had come */
};

/* Keeps a copy; true if it says something else than what was kept. */
bool hcb_piece_keep(struct hcb_piece *p, const char *text, size_t n);
void hcb_piece_release(struct hcb_piece *p);

#endif
