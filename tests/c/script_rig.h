/* One script without a run: opened from text, told its parameters, called with an
 * env, and asked what it wanted of the host. */
#ifndef SCRIPT_RIG_H
#define SCRIPT_RIG_H

#include "base/json.h"
#include "base/scalar.h"
#include "script/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct rig {
    struct hcb_script_source source; /* changed by a test before rig_open */
    struct hcb_script *script;
    struct hcb_effects effects;
    struct hcb_fault fault;
    struct hcb_err err;
    hotcb_env *env;
    struct hcb_value init, set;
    struct hcb_buf text; /* of the last answer */
};

/* How much slower than usual everything may be, as under valgrind. */
static inline int64_t rig_slack(void)
{
    const char *slack = getenv("HOTCB_TEST_SLACK");
    return slack ? strtol(slack, NULL, 10) : 1;
}

static inline void rig_init(struct rig *r)
{
    const struct hcb_limits limits = {500 * rig_slack(), 16, 1, false};
    memset(r, 0, sizeof(*r));
    r->env = hotcb_env_new();
    assert_non_null(r->env);
    r->source = (struct hcb_script_source){
        .id = "it", .chunkname = "@it.lua", .limits = limits, .framework = "c",
        .init = &r->init, .set = &r->set,
    };
}

static inline int rig_open_bytes(struct rig *r, const char *text, size_t n)
{
    r->source.text = text;
    r->source.n = n;
    r->source.effects = &r->effects;
    hcb_script_free(r->script);
    return hcb_script_open(&r->script, &r->source, &r->fault);
}

static inline int rig_open(struct rig *r, const char *text)
{
    return rig_open_bytes(r, text, strlen(text));
}

static inline void rig_must_open(struct rig *r, const char *text)
{
    if (rig_open(r, text) < 0)
        fail_msg("does not load: %s\n%s", r->fault.message, text);
}

static inline void rig_release(struct rig *r)
{
    hcb_script_free(r->script);
    hcb_effects_release(&r->effects);
    hotcb_env_free(r->env);
    hcb_value_release(&r->init);
    hcb_value_release(&r->set);
    hcb_buf_release(&r->text);
}

static inline void rig_parse(const char *json, struct hcb_value *out)
{
    struct hcb_err err = {0};
    hcb_value_release(out);
    if (hcb_json_parse(json, strlen(json), out, &err) < 0)
        fail_msg("%s: %s", json, err.text);
}

/* Sets parameters by a map in JSON; the refusal is in r->err. */
static inline int rig_set(struct rig *r, const char *json)
{
    struct hcb_value v = {0};
    rig_parse(json, &v);
    int rc = hcb_script_set(r->script, &v, &r->err);
    hcb_value_release(&v);
    return rc;
}

struct rig_call {
    struct rig *r;
    hotcb_env *env;
    const char *event;
    bool begun;
    int rc;
};

static inline void rig_round(struct hcb_round *round, void *user)
{
    struct rig_call *c = user;
    if (c->begun) /* it was broken off */
        return;
    c->begun = true;
    c->rc = hcb_script_handle(round, c->r->script, c->event, c->env, &c->r->fault);
}

static inline int rig_handle_env(struct rig *r, const char *event, hotcb_env *env)
{
    struct rig_call c = {r, env, event, false, -1};
    hcb_script_round(rig_round, &c);
    return c.rc;
}

/* Ends the apply, too, as the controller does. */
static inline int rig_handle(struct rig *r, const char *event)
{
    int rc = rig_handle_env(r, event, r->env);
    hcb_env_end(r->env);
    return rc;
}

/* What was asked for since the last time, in order, parted by '|'. */
static inline const char *rig_asked(struct rig *r)
{
    static const char *const kinds[] = {"", "scalar ", "artifact ", "stop ", "disable",
                                        "histogram ", "image "};
    hcb_buf_reset(&r->text);
    for (size_t i = 0; i < r->effects.n; i++) {
        const struct hcb_effect *e = &r->effects.v[i];
        const char *bytes = hcb_buf_text(&r->effects.bytes);
        hcb_buf_printf(&r->text, "%s%s", i ? "|" : "", kinds[e->kind]);
        hcb_buf_add(&r->text, bytes + e->text, e->text_len);
    }
    hcb_effects_reset(&r->effects);
    return hcb_buf_text(&r->text);
}

static inline const char *rig_values(struct rig *r)
{
    hcb_buf_reset(&r->text);
    hcb_script_values_json(&r->text, r->script);
    return hcb_buf_text(&r->text);
}

/* Handles one event and compares what was asked for. */
static inline void rig_expect(struct rig *r, const char *want)
{
    if (rig_handle(r, "train_step_end") < 0)
        fail_msg("failed: %s", r->fault.message);
    assert_string_equal(rig_asked(r), want);
}

/* A fault whose message has this part. */
static inline void rig_expect_fault(struct rig *r, enum hcb_reason reason, const char *part)
{
    if (r->fault.reason != reason || !strstr(r->fault.message, part))
        fail_msg("fault %s \"%s\", not %s \"%s\"", hcb_reason_name(r->fault.reason),
                 r->fault.message, hcb_reason_name(reason), part);
}

#endif
