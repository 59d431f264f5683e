/* A script judged without a run. */
#include "base/json.h"
#include "controller/entry.h"
#include "controller/modules.h"
#include "script/review.h"
#include <stdlib.h>
#include <string.h>

struct check {
    struct hcb_target target;
    struct hcb_places places;
    struct hcb_loading loading;
    struct hcb_module module;
    struct hcb_effects effects;
    struct hcb_script *script;
    struct hcb_review review;
    struct hcb_fault fault;
};

static int run_check(struct check *c)
{
    struct hcb_err err;
    if (hcb_loading_target(&c->loading, &c->target, &c->module, &err) < 0)
        return hcb_fault_set(&c->fault, HCB_FILE, "%s", err.text);
    struct hcb_script_source source = {
        .id = "check", .chunkname = c->module.chunkname, .text = hcb_buf_text(&c->module.text),
        .n = c->module.text.len, .symbol = c->target.symbol, .limits = HCB_LIMITS_DEFAULT,
        .effects = &c->effects, .find = hcb_loading_find, .find_user = &c->loading,
    };
    int status = hcb_script_open(&c->script, &source, &c->fault);
    if (status == 0) /* what it finds is advice: without it, the answer is the same */
        (void)hcb_script_review(c->script, source.text, source.n, &c->review, NULL);
    return status;
}

static void put_list(struct hcb_buf *b, const char *key, const struct hcb_value *list)
{
    static const struct hcb_value none = {.type = HCB_LIST};
    hcb_json_put_value(b, key, list->type == HCB_LIST ? list : &none);
}

static void report(struct hcb_buf *b, const struct check *c)
{
    const struct hcb_params *declared = c->script ? hcb_script_params(c->script) : NULL;
    const struct hcb_value *events = c->script ? hcb_script_events(c->script) : NULL;
    hcb_json_open(b, '{');
    hcb_json_put_bool(b, "ok", c->script != NULL);
    hcb_json_put_str(b, "path", c->target.path);
    hcb_json_put_str(b, "name", c->script ? hcb_script_name(c->script) : NULL);
    hcb_json_put_str(b, "reason", c->script ? NULL : hcb_reason_name(c->fault.reason));
    hcb_json_put_str(b, "error", c->script ? NULL : c->fault.message);
    hcb_json_put_str(b, "traceback", c->script ? NULL : c->fault.traceback);
    hcb_json_put_str(b, "schedule", c->script ? hcb_script_schedule(c->script) : NULL);
    hcb_json_put_value(b, "events", events);
    hcb_json_key(b, "declared");
    if (declared)
        hcb_params_json(b, declared);
    else
        hcb_json_null(b);
    put_list(b, "hooks", &c->review.hooks);
    put_list(b, "warnings", &c->review.warnings);
    put_list(b, "notes", &c->review.notes);
    hcb_json_close(b, '}');
}

int hotcb_check(const char *path, const char *symbol, char **out)
{
    struct check c = {0};
    struct hcb_buf b = {0};
    if (out)
        *out = NULL;
    if (!path)
        return HOTCB_EINVAL;
    int was = hcb_enter();
    c.target.path = hcb_path_absolute(path);
    c.target.symbol = (char *)(uintptr_t)symbol; /* borrowed */
    c.places.cwd = hcb_path_absolute(".");
    c.places.search_path = getenv("HOTCB_PATH");
    c.loading.places = &c.places;
    int status = !c.target.path || !c.places.cwd ? HOTCB_ENOMEM
               : run_check(&c) < 0              ? HOTCB_EREFUSED : 0;
    if (out && status != HOTCB_ENOMEM) {
        report(&b, &c);
        *out = hcb_buf_take(&b);
    }
    hcb_script_free(c.script);
    hcb_review_release(&c.review);
    hcb_effects_release(&c.effects);
    hcb_module_release(&c.module);
    hcb_loading_release(&c.loading);
    free(c.places.cwd);
    free(c.target.path);
    hcb_leave(was);
    return status;
}
