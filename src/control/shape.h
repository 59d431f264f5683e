/* What the readers of ops, limits and hotcb.yaml share: how a value of the wrong
 * shape is shown to people, and what the parameters of a callback may hold. */
#ifndef HCB_SHAPE_H
#define HCB_SHAPE_H

#include "base/err.h"
#include "base/value.h"

/* A value as a message shows it: as it was spelt, on one line, cut if it is long;
 * only what it is, where it is a list or a map. Returns out. */
#define HCB_SHOW_CHARS 80
const char *hcb_show(const struct hcb_value *v, char out[HCB_SHOW_CHARS]);
const char *hcb_show_text(const char *s, char out[HCB_SHOW_CHARS]);

/* What to add after an unknown word: " - did you mean 'near'?", or
 * " (known: a, b, c)" if none is near. Returns out. */
#define HCB_HINT_CHARS 240
const char *hcb_hint(const char *word, const char *const *known, size_t n,
                     char out[HCB_HINT_CHARS]);

bool hcb_known(const char *word, const char *const *known, size_t n);

/* Lists within lists of one parameter: less than a reader takes, since parameters
 * are also written inside larger records. And how many names a map of them holds,
 * since each is looked up in others. */
#define HCB_PARAM_DEPTH 32
#define HCB_PARAM_COUNT 4096

/* `v` must be a map (or null: none) of values that are no NaN and not too deep.
 * The sentence names the parameter: "params.lr: ..."; `pair`, which may be NULL,
 * is set to the one at fault. */
int hcb_params_check(const char *what, const struct hcb_value *v, const struct hcb_pair **pair,
                     struct hcb_err *err);

#endif
