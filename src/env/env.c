/* What the host says of one step; see hotcb.h for the public side and env.h for
 * the one that scripts are served from. Knows nothing of Lua or of any run.
 *
 * A slot is made at the first use of a key and never goes away, so that a warm
 * loop only hashes a name and stores a value. */
#include "env/env.h"

#include "base/array.h"
#include "base/number.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define KEY_MAX 255
#define STEP_SLOT 0 /* "step" is a slot like any other, and always the first */
#define TOP 0

static uint32_t hash_key(int group, const char *key, size_t n)
{
    uint32_t h = 2166136261u ^ (uint32_t)group; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)key[i]) * 16777619u;
    return h;
}

/* Where in the index the key is, or would go. */
static size_t index_place(const struct hotcb_env *env, uint32_t hash, int group, const char *key,
                          size_t n)
{
    size_t at = hash & (env->index_cap - 1);
    while (env->index[at]) {
        const struct hcb_slot *slot = &env->slots[env->index[at] - 1];
        if (slot->hash == hash && slot->group == group && slot->key_len == n &&
            memcmp(slot->key, key, n) == 0)
            break;
        at = (at + 1) & (env->index_cap - 1);
    }
    return at;
}

static void fill_index(struct hotcb_env *env)
{
    memset(env->index, 0, env->index_cap * sizeof(*env->index));
    for (size_t i = 0; i < env->n; i++) {
        const struct hcb_slot *slot = &env->slots[i];
        env->index[index_place(env, slot->hash, slot->group, slot->key, slot->key_len)] =
            (uint32_t)i + 1;
    }
}

/* Room for one more slot: in the slots, the list of those in use, and the index,
 * which is kept at most half full. */
static bool grow(struct hotcb_env *env)
{
    if (env->n < env->cap)
        return true;
    size_t cap = env->cap ? 2 * env->cap : 16;
    struct hcb_slot *slots = realloc(env->slots, cap * sizeof(*slots));
    if (!slots)
        return false;
    env->slots = slots;
    uint32_t *used = realloc(env->used, cap * sizeof(*used));
    if (!used)
        return false;
    env->used = used;
    uint32_t *index = malloc(2 * cap * sizeof(*index));
    if (!index)
        return false;
    free(env->index);
    env->index = index;
    env->index_cap = 2 * cap;
    env->cap = cap;
    fill_index(env);
    return true;
}

static int find_slot(const struct hotcb_env *env, int group, const char *key, size_t n)
{
    uint32_t hash = hash_key(group, key, n);
    return (int)env->index[index_place(env, hash, group, key, n)] - 1;
}

static int add_slot(struct hotcb_env *env, int group, const char *key, size_t n)
{
    char *copy = malloc(n + 1);
    if (!copy || !grow(env)) {
        free(copy);
        return HOTCB_ENOMEM;
    }
    memcpy(copy, key, n);
    copy[n] = '\0';
    struct hcb_slot *slot = &env->slots[env->n++];
    *slot = (struct hcb_slot){.key = copy, .key_len = n, .group = group};
    slot->hash = hash_key(group, key, n);
    env->index[index_place(env, slot->hash, group, key, n)] = (uint32_t)env->n;
    return (int)env->n - 1;
}

/* ---- keys ---- */

int hcb_env_find_group(const struct hotcb_env *env, const char *name, size_t n)
{
    for (size_t i = 1; i < env->group_n; i++)
        if (env->groups[i].len == n && env->groups[i].name[0] == name[0] &&
            memcmp(env->groups[i].name, name, n) == 0)
            return (int)i;
    return -1;
}

/* Splits a host's key into group and key: at the first point, if what stands
 * before it names a group. EINVAL for what can be no key: "loss" can, "metrics"
 * and "metrics." cannot, since env.metrics is the group. */
static int split_key(const struct hotcb_env *env, const char **key, size_t *n, int *group)
{
    if (!env || !*key)
        return HOTCB_EINVAL;
    *n = strnlen(*key, KEY_MAX + 1);
    *group = TOP;
    if (*n == 0 || *n > KEY_MAX)
        return HOTCB_EINVAL;
    const char *point = memchr(*key, '.', *n);
    size_t prefix = point ? (size_t)(point - *key) : *n;
    int found = hcb_env_find_group(env, *key, prefix);
    if (found < 0)
        return 0;
    if (prefix + 1 >= *n)
        return HOTCB_EINVAL;
    *group = found;
    *key += prefix + 1;
    *n -= prefix + 1;
    return 0;
}

/* The number of the slot, HOTCB_ENOENT if the key was never used, or EINVAL. */
static int existing_slot(const struct hotcb_env *env, const char *key)
{
    size_t n;
    int group;
    int rc = split_key(env, &key, &n, &group);
    if (rc < 0)
        return rc;
    int at = find_slot(env, group, key, n);
    return at >= 0 ? at : HOTCB_ENOENT;
}

/* The function env.log: what a host sets there nobody would ever see. */
static bool is_log(const char *key)
{
    return strcmp(key, "log") == 0;
}

/* The same, made if it is not there. */
static int any_slot(struct hotcb_env *env, const char *key)
{
    size_t n;
    int group;
    int rc = split_key(env, &key, &n, &group);
    if (rc < 0)
        return rc;
    int at = find_slot(env, group, key, n);
    if (at < 0 && group == TOP && is_log(key))
        return HOTCB_EINVAL;
    return at >= 0 ? at : add_slot(env, group, key, n);
}

/* ---- making and freeing ---- */

static int add_group(struct hotcb_env *env, const char *name)
{
    struct hcb_group *groups =
        hcb_grow(env->groups, env->group_n, &env->group_cap, sizeof(*groups));
    if (!groups)
        return HOTCB_ENOMEM;
    env->groups = groups;
    char *copy = hcb_strdup(name);
    if (!copy)
        return HOTCB_ENOMEM;
    env->groups[env->group_n++] = (struct hcb_group){copy, strlen(name)};
    return 0;
}

hotcb_env *hotcb_env_new(void)
{
    static const char *const groups[] = {"", "metrics", "model", "grads", "batch", "outputs"};
    static _Atomic uint64_t made;
    hotcb_env *env = calloc(1, sizeof(*env));
    bool ok = env && grow(env);
    if (env)
        env->serial = ++made;
    for (size_t i = 0; ok && i < sizeof(groups) / sizeof(groups[0]); i++)
        ok = add_group(env, groups[i]) == 0;
    if (!ok || add_slot(env, TOP, "step", strlen("step")) != STEP_SLOT) {
        hotcb_env_free(env);
        return NULL;
    }
    return env;
}

void hotcb_env_free(hotcb_env *env)
{
    if (!env)
        return;
    for (size_t i = 0; i < env->n; i++) {
        free(env->slots[i].key);
        free(env->slots[i].text);
        free(env->slots[i].tensor);
        free(env->slots[i].full_key);
    }
    for (size_t i = 0; i < env->group_n; i++)
        free(env->groups[i].name);
    free(env->slots);
    free(env->used);
    free(env->index);
    free(env->groups);
    hcb_buf_release(&env->refusals);
    free(env);
}

/* Slots that were used as "name.key" before `name` was a group belong into it now. */
static void move_into_group(struct hotcb_env *env, int group)
{
    const struct hcb_group *g = &env->groups[group];
    for (size_t i = 0; i < env->n; i++) {
        struct hcb_slot *slot = &env->slots[i];
        if (slot->group != TOP || slot->key_len <= g->len + 1 || slot->key[g->len] != '.' ||
            memcmp(slot->key, g->name, g->len) != 0)
            continue;
        slot->group = group;
        slot->key_len -= g->len + 1;
        memmove(slot->key, slot->key + g->len + 1, slot->key_len + 1);
        slot->hash = hash_key(group, slot->key, slot->key_len);
    }
    fill_index(env);
}

int hotcb_env_group(hotcb_env *env, const char *name)
{
    if (!env || !name)
        return HOTCB_EINVAL;
    size_t n = strnlen(name, KEY_MAX + 1);
    if (n == 0 || n > KEY_MAX - 2 || strchr(name, '.') || is_log(name) ||
        strcmp(name, "framework") == 0)
        return HOTCB_EINVAL;
    if (hcb_env_find_group(env, name, n) >= 0)
        return 0;
    int at = find_slot(env, TOP, name, n);
    if (at == STEP_SLOT || (at > 0 && (env->slots[at].type || env->slots[at].lazy)))
        return HOTCB_EINVAL;
    int rc = add_group(env, name);
    if (rc == 0)
        move_into_group(env, (int)env->group_n - 1);
    return rc;
}

/* ---- setting ---- */

static void note_use(struct hotcb_env *env, int at)
{
    if (env->slots[at].used)
        return;
    env->slots[at].used = true;
    env->used[env->used_n++] = (uint32_t)at;
}

static void set_step(struct hotcb_env *env, int64_t step)
{
    struct hcb_slot *slot = &env->slots[STEP_SLOT];
    slot->type = HCB_SLOT_INT;
    slot->u.i = step;
    env->has_step = true;
    env->step = step;
    note_use(env, STEP_SLOT);
}

int hotcb_env_step(hotcb_env *env, int64_t step)
{
    if (!env)
        return HOTCB_EINVAL;
    set_step(env, step);
    return 0;
}

struct hcb_slot *hcb_env_slot_to_set(struct hotcb_env *env, const char *key,
                                     enum hcb_slot_type type, int *rc)
{
    int at = any_slot(env, key);
    if (at < 0 || at == STEP_SLOT) {
        *rc = at < 0 ? at : HOTCB_EINVAL;
        return NULL;
    }
    note_use(env, at);
    env->slots[at].type = type;
    *rc = 0;
    return &env->slots[at];
}

static bool is_step(const char *key)
{
    return key && strcmp(key, "step") == 0;
}

int hotcb_env_int(hotcb_env *env, const char *key, int64_t value)
{
    int rc;
    if (is_step(key))
        return hotcb_env_step(env, value);
    struct hcb_slot *slot = hcb_env_slot_to_set(env, key, HCB_SLOT_INT, &rc);
    if (slot)
        slot->u.i = value;
    return rc;
}

/* Hosts whose only number is a double set the step by it, too. */
static int step_of_num(struct hotcb_env *env, double value)
{
    const double bound = 9007199254740992.0; /* 2^53: from there on doubles skip integers */
    if (!hcb_is_finite(value) || value < -bound || value > bound ||
        (double)(int64_t)value != value)
        return HOTCB_EINVAL;
    return hotcb_env_step(env, (int64_t)value);
}

int hotcb_env_num(hotcb_env *env, const char *key, double value)
{
    int rc;
    if (is_step(key))
        return step_of_num(env, value);
    struct hcb_slot *slot = hcb_env_slot_to_set(env, key, HCB_SLOT_NUM, &rc);
    if (slot)
        slot->u.d = value;
    return rc;
}

int hotcb_env_bool(hotcb_env *env, const char *key, int value)
{
    int rc;
    struct hcb_slot *slot = hcb_env_slot_to_set(env, key, HCB_SLOT_BOOL, &rc);
    if (slot)
        slot->u.b = value != 0;
    return rc;
}

static bool store_text(struct hcb_slot *slot, const char *value, size_t n)
{
    if (n + 1 > slot->text_cap) {
        size_t cap = n + 1 < 32 ? 32 : n + 1 + n / 2;
        char *text = malloc(cap);
        if (!text)
            return false;
        free(slot->text);
        slot->text = text;
        slot->text_cap = cap;
    }
    memmove(slot->text, value, n);
    slot->text[n] = '\0';
    slot->text_len = n;
    return true;
}

int hotcb_env_str(hotcb_env *env, const char *key, const char *value)
{
    int rc;
    if (!value)
        return HOTCB_EINVAL;
    struct hcb_slot *slot = hcb_env_slot_to_set(env, key, HCB_SLOT_STR, &rc);
    if (slot && !store_text(slot, value, strlen(value))) {
        slot->type = HCB_SLOT_EMPTY; /* rather nothing than the text of before */
        rc = HOTCB_ENOMEM;
    }
    return rc;
}

int hotcb_env_keep(hotcb_env *env, const char *key)
{
    int at = existing_slot(env, key);
    if (at < 0)
        return at;
    if (env->slots[at].type == HCB_SLOT_EMPTY)
        return HOTCB_ENOENT;
    env->slots[at].keep = true;
    return 0;
}

int hotcb_env_unset(hotcb_env *env, const char *key)
{
    int at = existing_slot(env, key);
    if (at < 0)
        return at == HOTCB_ENOENT ? 0 : at;
    env->slots[at].type = HCB_SLOT_EMPTY;
    env->slots[at].keep = false;
    if (at == STEP_SLOT)
        env->has_step = false;
    return 0;
}

int hotcb_env_lazy(hotcb_env *env, const char *key, hotcb_lazy_fn *fn, void *user)
{
    int at = fn ? any_slot(env, key) : existing_slot(env, key);
    if (at < 0)
        return at == HOTCB_ENOENT ? 0 : at;
    if (at == STEP_SLOT)
        return HOTCB_EINVAL;
    struct hcb_slot *slot = &env->slots[at];
    if (fn && !slot->full_key) {
        /* Kept from here on, since fn may call this about its own key. */
        slot->full_key = hcb_strdup(key);
        if (!slot->full_key)
            return HOTCB_ENOMEM;
    }
    slot->lazy = fn;
    slot->lazy_user = user;
    return 0;
}

/* ---- reading ---- */

/* Calls the provider of the slot. That may set other keys, and so move the slots. */
static void work_out(struct hotcb_env *env, int at)
{
    struct hcb_slot *slot = &env->slots[at];
    slot->resolving = true;
    env->lent = env->uncommon = true;
    note_use(env, at);
    int rc = env->call_host ? env->call_host(slot->lazy, slot->lazy_user, env, slot->full_key)
                            : slot->lazy(slot->lazy_user, env, slot->full_key);
    slot = &env->slots[at];
    env->lent = false;
    env->uncommon = env->refusals.len > 0;
    note_use(env, at);
    slot->resolving = false;
    slot->resolved = true;
    if (rc < 0) {
        slot->type = HCB_SLOT_EMPTY;
        slot->keep = false;
    }
}

static const struct hcb_slot *read_slot(struct hotcb_env *env, int at)
{
    const struct hcb_slot *slot = &env->slots[at];
    if (slot->type == HCB_SLOT_EMPTY && slot->lazy && !slot->resolved && !slot->resolving)
        work_out(env, at);
    slot = &env->slots[at];
    return slot->type == HCB_SLOT_EMPTY || slot->resolving ? NULL : slot;
}

const struct hcb_slot *hcb_env_read(struct hotcb_env *env, int group, const char *key, size_t n)
{
    int at = find_slot(env, group, key, n);
    return at < 0 ? NULL : read_slot(env, at);
}

const struct hcb_slot *hcb_env_next(struct hotcb_env *env, int group, size_t *at)
{
    while (*at < env->n) {
        size_t i = (*at)++;
        const struct hcb_slot *slot = env->slots[i].group == group ? read_slot(env, (int)i) : NULL;
        if (slot)
            return slot;
    }
    return NULL;
}

void hcb_env_end(struct hotcb_env *env)
{
    for (size_t i = 0; i < env->used_n; i++) {
        struct hcb_slot *slot = &env->slots[env->used[i]];
        slot->used = false;
        slot->resolving = slot->resolved = false;
        if (!slot->keep)
            slot->type = HCB_SLOT_EMPTY;
    }
    env->used_n = 0;
    env->has_step = env->slots[STEP_SLOT].type != HCB_SLOT_EMPTY;
}
