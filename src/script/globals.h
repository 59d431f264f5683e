/* Which names a script's text uses as globals: found by reading its words, without
 * Lua. A name that is declared local anywhere in the text is left out, so that what
 * is reported is a global for certain, though not all globals are. */
#ifndef HCB_GLOBALS_H
#define HCB_GLOBALS_H

#include <stdbool.h>
#include <stddef.h>

struct hcb_global {
    const char *name;
    int set_line, read_line; /* of the first such use; 0: none */
    bool at_top;             /* set outside of any function, too */
};

struct hcb_globals {
    char *text;              /* what the names point into */
    struct hcb_global *v;      /* sorted by name */
    size_t n;
    const char **locals;     /* what is declared local, sorted, each once */
    size_t locals_n;
};

/* `text` must be source that compiles; where it speaks of _ENV nothing is found. *out is
 * empty before, and to be released in any case. false: no memory. */
bool hcb_globals_scan(const char *text, size_t n, struct hcb_globals *out);
void hcb_globals_release(struct hcb_globals *globals);

#endif
