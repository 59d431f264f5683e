/* Lua 5.4's patterns over byte strings, by a matcher that tells how much it works: a
 * pattern can ask for more steps than anybody has time for. It knows nothing of Lua's
 * states; who binds it does. It holds no memory, so `spent` may leave it by a long jump. */
#ifndef HCB_PATTERN_H
#define HCB_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#define HCB_PATTERN_CAPTURES 32
#define HCB_PATTERN_DEPTH 200 /* items waiting for the rest of the pattern, as in Lua */

/* In place of a length. */
#define HCB_CAPTURE_OPEN (-1)     /* its ')' has not been reached */
#define HCB_CAPTURE_POSITION (-2) /* of "()": only `start` counts */

struct hcb_capture {
    const char *start;
    ptrdiff_t len;
};

struct hcb_match {
    const char *text, *text_end;
    const char *pattern_end;
    const char *error; /* the pattern is malformed: why, as Lua puts it */
    int error_index;   /* number at the end of that text; negative: none */
    int depth;
    int n; /* captures */
    ptrdiff_t left; /* units of work until `spent` is called again */
    void (*spent)(void *user, unsigned units); /* a unit is a few ns */
    void *user;
    struct hcb_capture captures[HCB_PATTERN_CAPTURES];
};

/* The pattern is given with each call: [pattern, m->pattern_end). */
void hcb_match_init(struct hcb_match *m, const char *text, size_t n, const char *pattern_end,
                    void (*spent)(void *, unsigned), void *user);

/* Matches at `at`. Returns the end of the match, or NULL; then m->error says whether the
 * pattern is why. A '^' is not special here. */
const char *hcb_match_at(struct hcb_match *m, const char *at, const char *pattern);

/* Work that was done for this match elsewhere; and reporting what was not reported yet, if
 * it is worth it. */
void hcb_match_spend(struct hcb_match *m, size_t units);
void hcb_match_settle(struct hcb_match *m);

#endif
