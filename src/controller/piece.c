/* The text of one callback; see piece.h. */
#include "controller/piece.h"
#include <stdlib.h>
#include <string.h>

bool hcb_piece_keep(struct hcb_piece *p, const char *text, size_t n)
{
    if (p->text && p->n == n && memcmp(p->text, text, n) == 0) {
        p->holds = true;
        return false;
    }
    char *copy = p->n == n ? p->text : realloc(p->text, n);
    p->holds = copy != NULL;
    if (copy) {
        memcpy(copy, text, n);
        p->text = copy;
        p->n = n;
    } else {
        hcb_piece_release(p);
    }
    return true;
}

void hcb_piece_release(struct hcb_piece *p)
{
    free(p->text);
    *p = (struct hcb_piece){0};
}
