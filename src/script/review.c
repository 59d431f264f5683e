/* Looks over a script that was set up: its hooks, the globals that its text uses, the
 * events it names; see review.h. */
#include "script/review.h"
#include "base/text.h"
#include "env/event.h"
#include "script/globals.h"
#include "script/script_impl.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const hooks[] = {"handle", "set_params", "on_attach", "save", "restore",
                                    "close"};
#define HOOKS (sizeof hooks / sizeof *hooks)
#define HOOKS_OF_GLOBALS 2 /* the first ones: all that a script without a table has */

#define GLOBALS_MAX 256 /* candidates for what was meant */

struct reviewing {
    struct hcb_script *s;
    struct hcb_review *out;
    struct hcb_globals names;
    bool has[HOOKS];
    bool *there;                     /* of names.v: such a global is there */
    struct hcb_value globals;        /* their names, a list */
    bool failed;                     /* no memory */
};

static void add_text(struct reviewing *r, struct hcb_value *list, const char *s, size_t n)
{
    if (list->u.list.n >= HCB_REVIEW_MAX && list != &r->globals)
        return;
    struct hcb_value *item = hcb_list_add(list);
    if (!item || !hcb_value_text(item, s, n))
        r->failed = true;
}

static void HCB_PRINTF(3, 4) say(struct reviewing *r, struct hcb_value *list, const char *fmt, ...)
{
    struct hcb_buf text = {0};
    va_list ap;
    va_start(ap, fmt);
    hcb_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    if (text.oom)
        r->failed = true;
    else
        add_text(r, list, text.data, text.len);
    hcb_buf_release(&text);
}

static const char *file_of(const struct reviewing *r)
{
    return r->s->chunkname + (*r->s->chunkname == '@');
}

/* ---- hooks ----------------------------------------------------------------- */

static bool is_hook(const char *name)
{
    for (size_t i = 0; i < HOOKS; i++)
        if (strcmp(hooks[i], name) == 0)
            return true;
    return false;
}

/* The hook that `name` may be meant for: one that the script does not have. */
static const char *meant(const struct reviewing *r, const char *name)
{
    const char *missing[HOOKS];
    size_t n = 0;
    for (size_t i = 0; i < (r->s->is_table ? HOOKS : HOOKS_OF_GLOBALS); i++)
        if (!r->has[i])
            missing[n++] = hooks[i];
    return hcb_near(name, missing, n);
}

/* name function -> the same, with a word on a function that no one will call */
static void judge_function(lua_State *L, struct reviewing *r)
{
    lua_Debug ar;
    const char *name = lua_tostring(L, -2);
    const char *near = is_hook(name) ? NULL : meant(r, name);
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &ar);
    if (ar.linedefined <= 0)
        return;
    if (near)
        say(r, &r->out->warnings, "%s:%d: '%s' is no hook - did you mean '%s'?", ar.short_src,
            ar.linedefined, name, near);
    else if (!r->s->is_table && is_hook(name) && strcmp(name, "handle") != 0 &&
             strcmp(name, "set_params") != 0)
        say(r, &r->out->warnings, "%s:%d: '%s' is not called: only a script that returns a table "
            "has that hook", ar.short_src, ar.linedefined, name);
}

/* table -> the same */
static void find_hooks(lua_State *L, struct reviewing *r)
{
    for (size_t i = 0; i < (r->s->is_table ? HOOKS : HOOKS_OF_GLOBALS); i++) {
        int type = lua_getfield(L, -1, hooks[i]);
        lua_pop(L, 1);
        r->has[i] = type == LUA_TFUNCTION;
        if (r->has[i])
            add_text(r, &r->out->hooks, hooks[i], strlen(hooks[i]));
        else if (type != LUA_TNIL)
            say(r, &r->out->warnings, "%s: '%s' is no function, so calling it will fail",
                file_of(r), hooks[i]);
    }
}

static int l_review(lua_State *L)
{
    struct reviewing *r = lua_touserdata(L, 1);
    lua_pushglobaltable(L);                               // _G
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        size_t n;
        lua_pop(L, 1);
        if (lua_type(L, -1) == LUA_TSTRING && r->globals.u.list.n < GLOBALS_MAX) {
            const char *name = lua_tolstring(L, -1, &n);
            add_text(r, &r->globals, name, n);
        }
    }
    for (size_t i = 0; i < r->names.n; i++) {
        lua_pushstring(L, r->names.v[i].name);
        r->there[i] = lua_rawget(L, -2) != LUA_TNIL;
        lua_pop(L, 1);
    }
    if (r->s->is_table)
        lua_getfield(L, LUA_REGISTRYINDEX, HCB_KEY_SELF); // _G table
    find_hooks(L, r);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (lua_type(L, -2) == LUA_TSTRING && lua_isfunction(L, -1))
            judge_function(L, r);
        lua_pop(L, 1);
    }
    return 0;
}

/* ---- globals --------------------------------------------------------------- */

static const char *near_name(struct reviewing *r, const char *name)
{
    size_t n = 0, most = r->globals.u.list.n + r->names.locals_n;
    const char **all = calloc(most ? most : 1, sizeof *all);
    if (!all) {
        r->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < r->names.locals_n; i++)
        all[n++] = r->names.locals[i];
    for (size_t i = 0; i < r->globals.u.list.n; i++)
        all[n++] = r->globals.u.list.v[i].u.text.s;
    const char *near = hcb_near(name, all, n);
    free(all);
    return near;
}

static void judge_set(struct reviewing *r, const struct hcb_global *g)
{
    if (r->s->is_table && (strcmp(g->name, "handle") == 0 || strcmp(g->name, "set_params") == 0))
        say(r, &r->out->warnings, "%s:%d: sets the global '%s', which is not called: the table "
            "that is returned counts", file_of(r), g->set_line, g->name);
    else
        say(r, &r->out->warnings, "%s:%d: sets the global '%s': write local, if it is meant to be "
            "this script's own", file_of(r), g->set_line, g->name);
}

static void judge_read(struct reviewing *r, const struct hcb_global *g)
{
    if (strcmp(g->name, "coroutine") == 0) {
        say(r, &r->out->warnings, "%s:%d: reads the global 'coroutine', which is there only where "
            "limits.coroutines allows it", file_of(r), g->read_line);
        return;
    }
    const char *near = near_name(r, g->name);
    say(r, &r->out->warnings, "%s:%d: reads the global '%s', which nothing sets%s%s%s", file_of(r),
        g->read_line, g->name, near ? " - did you mean '" : "", near ? near : "",
        near ? "'?" : "");
}

/* In a script that defines global functions, what is set outside of them is meant to be
 * global. */
static void judge_globals(struct reviewing *r)
{
    for (size_t i = 0; i < r->names.n; i++) {
        const struct hcb_global *g = &r->names.v[i];
        if (g->set_line > 0 && (r->s->is_table || !g->at_top))
            judge_set(r, g);
        else if (g->set_line == 0 && !r->there[i])
            judge_read(r, g);
    }
}

/* ---- events ---------------------------------------------------------------- */

static void judge_events(struct reviewing *r)
{
    for (size_t i = 0; r->s->events.type == HCB_LIST && i < r->s->events.u.list.n; i++) {
        const char *name = r->s->events.u.list.v[i].u.text.s;
        if (hcb_event_known(name))
            continue;
        const char *near = hcb_event_near(name);
        struct hcb_buf shown = {0};
        hcb_text_printable(&shown, name, strlen(name));
        say(r, &r->out->notes, "event '%.80s' is none of hotcb's own%s%s%s", hcb_buf_text(&shown),
            near ? " - did you mean '" : ": it comes where the host emits it", near ? near : "",
            near ? "'?" : "");
        hcb_buf_release(&shown);
    }
}

/* ---- all of it ------------------------------------------------------------- */

static int review(struct reviewing *r, const char *text, size_t n, struct hcb_err *err)
{
    struct hcb_fault fault;
    if (hcb_source_clean(&text, &n, r->s->chunkname, &fault) < 0)
        return hcb_fail(err, HOTCB_EFORMAT, "%s", fault.message);
    if (!hcb_globals_scan(text, n, &r->names))
        return hcb_fail_nomem(err);
    r->there = calloc(r->names.n ? r->names.n : 1, sizeof *r->there);
    if (!r->there)
        return hcb_fail_nomem(err);
    if (hcb_sandbox_run(&r->s->box, l_review, r, &fault) < 0)
        return hcb_fail(err, HOTCB_EREFUSED, "%s", fault.message);
    judge_globals(r);
    judge_events(r);
    return r->failed ? hcb_fail_nomem(err) : 0;
}

int hcb_script_review(struct hcb_script *s, const char *text, size_t n, struct hcb_review *out,
                      struct hcb_err *err)
{
    struct reviewing r = {.s = s, .out = out};
    hcb_value_list(&out->hooks);
    hcb_value_list(&out->warnings);
    hcb_value_list(&out->notes);
    hcb_value_list(&r.globals);
    int status = review(&r, text, n, err);
    hcb_globals_release(&r.names);
    hcb_value_release(&r.globals);
    free(r.there);
    return status;
}

void hcb_review_release(struct hcb_review *review_)
{
    hcb_value_release(&review_->hooks);
    hcb_value_release(&review_->warnings);
    hcb_value_release(&review_->notes);
}
