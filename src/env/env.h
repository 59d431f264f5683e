/* The inside of hotcb_env: what the script side reads. Knows nothing of Lua. */
#ifndef HCB_ENV_H
#define HCB_ENV_H

#include "base/err.h"
#include "stats/tensor.h"
#include <hotcb/hotcb.h>
#include <stdbool.h>

enum hcb_slot_type {
    HCB_SLOT_EMPTY, HCB_SLOT_INT, HCB_SLOT_NUM, HCB_SLOT_BOOL, HCB_SLOT_STR, HCB_SLOT_TENSOR
};

#define HCB_DEVICES 8 /* kinds of devices that an env may have copy functions for */

struct hcb_slot {
    char *key;          /* without its group */
    size_t key_len;
    uint32_t hash;
    int group;          /* index into groups; 0 is the top level */
    enum hcb_slot_type type;
    bool keep;
    bool used;          /* it is in env->used: hcb_env_end has to see it */
    bool resolving, resolved; /* of a lazy value, within this apply */
    union { int64_t i; double d; bool b; } u;
    char *text;         /* of a string; kept when the slot is emptied, to be used again */
    size_t text_len, text_cap;
    struct hcb_tensor *tensor; /* of a tensor; kept like it */
    bool refused;       /* a tensor was, and that was said */
    hotcb_lazy_fn *lazy;
    void *lazy_user;
    char *full_key;     /* what the host calls it; of a lazy value */
};

struct hcb_group { char *name; size_t len; };

struct hotcb_env {
    uint64_t serial;    /* no two in one process have the same */
    struct hcb_slot *slots;
    size_t n, cap;
    uint32_t *index;    /* open addressing: slot number + 1, or 0 */
    size_t index_cap;
    uint32_t *used;     /* numbers of the slots set or worked out since the last end */
    size_t used_n;
    struct hcb_group *groups; /* [0] is the top level, "" */
    size_t group_n, group_cap;
    bool has_step;
    bool lent;          /* to a provider: no run may have it meanwhile */
    bool uncommon;      /* lent, or with refusals */
    int64_t step;
    struct hcb_device devices[HCB_DEVICES]; /* type 0: not in use */
    struct hcb_err err;       /* of the last tensor that was refused */
    struct hcb_buf refusals;  /* lines that a run has still to say: the first of each key */
    /* How a provider is called while a script reads; NULL: as it is. And for whom. */
    int (*call_host)(hotcb_lazy_fn *fn, void *user, struct hotcb_env *env, const char *key);
    void *reader;
};

/* The slot a script means by env[key] or env.GROUP[key], worked out if it is
 * lazy; NULL if nothing is set. Valid until the next call about this env. The
 * step is read like any other key. */
const struct hcb_slot *hcb_env_read(struct hotcb_env *env, int group, const char *key, size_t n);

/* For iteration in the order in which the host first used the keys: the next slot of
 * `group` after *at (start at 0) that is set, lazy ones worked out. */
const struct hcb_slot *hcb_env_next(struct hotcb_env *env, int group, size_t *at);

int hcb_env_find_group(const struct hotcb_env *env, const char *name, size_t n); /* -1: none */

/* For the functions that set: the slot of `key`, which is of that type from now on; or NULL,
 * and why in *rc. */
struct hcb_slot *hcb_env_slot_to_set(struct hotcb_env *env, const char *key,
                                     enum hcb_slot_type type, int *rc);

/* Ends an apply: everything but the constants is nil again. */
void hcb_env_end(struct hotcb_env *env);

/* The same, at once where the step is all that was set; it is always the first slot. */
static inline void hcb_env_end_idle(struct hotcb_env *env)
{
    struct hcb_slot *step = env->slots;
    if (env->used_n != 1 || env->used[0] != 0 || step->keep) {
        if (env->used_n > 0)
            hcb_env_end(env);
        return;
    }
    step->used = false;
    step->type = HCB_SLOT_EMPTY;
    env->has_step = false;
    env->used_n = 0;
}

#endif
