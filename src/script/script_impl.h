/* What the files behind script.h share. Included only in src/script. */
#ifndef HCB_SCRIPT_IMPL_H
#define HCB_SCRIPT_IMPL_H

#include "script/sandbox.h"
#include "script/script.h"

/* Fields of env that a script has read are set in its table before each call, as they would
 * be in a plain one; what it does not read costs nothing. All are learnt anew now and then. */
#define HCB_HOT 8
struct hcb_hot {
    unsigned n;
    unsigned placed;        /* names that are at the bottom of the stack */
    uint64_t env;           /* serial of the env that the numbers are of */
    unsigned calls;
    uint32_t slot[HCB_HOT]; /* their numbers in it */
};

struct hcb_script {
    /* what each call looks at */
    struct hotcb_env *env; /* during a call that has one */
    const char *event;     /* of the last call of handle */
    uint64_t call;         /* number of that call: what belongs to another one is gone */
    bool is_table;         /* the form that returns a table; else global functions */
    bool env_written;      /* the script wrote into env: to be cleared */
    struct hcb_hot hot;
    struct hcb_sandbox box;

    char *id, *framework, *symbol, *chunkname;
    struct hcb_effects *effects;
    hcb_find_module_fn *find;
    void *find_user;

    char *name, *schedule; /* or NULL */
    bool declares;
    struct hcb_params params;
    struct hcb_value loose_init, loose; /* of a script that declares none: maps */
    struct hcb_value events; /* list, or null */
    int schedule_param;    /* index into params, or -1 */
    struct hcb_buf dropped;

    struct hcb_buf scratch;          /* for C functions that Lua may unwind */
    unsigned char *stage;            /* of tensors on a device; made when one is first read */
    struct hcb_value scratch_value;
    struct hcb_module module;
};

/* What lies at the bottom of the stack, once handle has been called: self (or the globals),
 * env, the name "handle", that of the last event, and those of hot fields. */
enum { HCB_AT_HOLDER = 2, HCB_AT_ENV, HCB_AT_HANDLE, HCB_AT_EVENT, HCB_AT_HOT,
       HCB_AT_TOP = HCB_AT_HOT + HCB_HOT - 1 };

/* Keys of the Lua registry. Of numbers: the names of hot fields, from here on. */
#define HCB_KEY_HOT 100
#define HCB_KEY_SELF "hcb.self"       /* the script's table */
#define HCB_KEY_ENV "hcb.env"         /* the table that handle gets */
#define HCB_KEY_GROUPS "hcb.groups"   /* group name -> table */
#define HCB_KEY_WALKS "hcb.walks"     /* such a table, or env -> the keys next goes by */
#define HCB_KEY_LOADED "hcb.loaded"   /* module name -> value */
#define HCB_KEY_TENSOR "hcb.tensor"   /* metatable of views */
#define HCB_KEY_NEXT "hcb.next"       /* next, whatever the script does to its own */

struct hcb_script *hcb_script_of(lua_State *L);

/* Runs fn inside, see hcb_sandbox_run. */
int hcb_script_enter(struct hcb_script *s, lua_CFunction fn, void *arg, struct hcb_fault *fault);
/* What a state that was stopped had in the making is of no use to the next one. */
void hcb_script_tidy(struct hcb_script *s);
void hcb_script_spare_scratch(struct hcb_script *s); /* gives much of it back, for a held script */

/* Each opens its part of what scripts see. They run protected. */
void hcb_lua_open_env(lua_State *L);
void hcb_lua_open_host(lua_State *L);
void hcb_lua_open_require(lua_State *L);

/* Text -> chunk; raises, with a reason of its own, where that cannot be. */
void hcb_lua_load_text(lua_State *L, const char *text, size_t n, const char *chunkname);

void hcb_lua_push_tensor(lua_State *L, const struct hcb_tensor *t); /* -> view of this call */
void hcb_lua_push_env(lua_State *L, struct hcb_script *s); /* -> env, cleared of writes */
void hcb_lua_forget_env(lua_State *L, struct hcb_script *s); /* no call with an env goes on */
/* Sets the hot fields of env at the bottom of the stack; false: it has to be pushed anew. Raises
 * nothing. */
bool hcb_lua_refresh_hot(lua_State *L, struct hcb_script *s);
/* From here on in this call, they are looked up like others. Raises nothing. */
void hcb_lua_cool_env(lua_State *L, struct hcb_script *s);
/* Which group of the call's env the table shows; 0: env itself, -1: one that it has not. */
#define HCB_NO_VIEW (-2)
int hcb_lua_group_shown(lua_State *L, int table);
static inline bool hcb_lua_refresh_env(lua_State *L, struct hcb_script *s)
{
    return s->hot.n == 0 ? !s->env_written : hcb_lua_refresh_hot(L, s);
}
int hcb_lua_log(lua_State *L, enum hotcb_level level, int first); /* queues args from `first` */
int hcb_lua_scalar(lua_State *L);                                 /* hotcb.scalar and others */
int hcb_lua_histogram(lua_State *L);
int hcb_lua_image(lua_State *L);
int hcb_lua_system(lua_State *L);                                 /* hotcb.system */

#endif
