/* hotcb.state.json: what a restart needs to know. */
#include "base/json.h"
#include "controller/exact.h"
#include "controller/run.h"
#include <string.h>

#define STATE_BYTES (64 << 20)

static void put_place(struct hcb_buf *b, const struct hcb_commands *c)
{
    char fingerprint[HCB_SHA256_HEX];
    hcb_sha256_hex(c->place.fingerprint, fingerprint);
    hcb_json_key(b, "commands");
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "path", c->path);
    hcb_json_put_int(b, "offset", c->place.offset);
    hcb_json_put_int(b, "lines", c->place.lines);
    hcb_json_put_int(b, "count", c->place.count);
    hcb_json_put_int(b, "tail", c->place.tail);
    hcb_json_put_str(b, "fingerprint", fingerprint);
    hcb_json_close(b, '}');
}

static void put_target(struct hcb_buf *b, const struct hcb_target *target)
{
    hcb_json_key(b, "target");
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "kind", hcb_target_kind_name(target->kind));
    hcb_json_put_str(b, "path", target->path);
    hcb_json_put_str(b, "symbol", target->symbol);
    hcb_json_close(b, '}');
}

/* As text within the JSON: however deep one callback's values are, they cannot make the
 * file unreadable for the others. */
static void put_exact(struct hcb_buf *b, const char *key, const struct hcb_value *v)
{
    struct hcb_buf text = {0};
    hcb_json_key(b, key);
    if (v->type == HCB_NULL) {
        hcb_json_null(b);
        return;
    }
    hcb_exact_write(&text, v);
    b->oom |= text.oom;
    hcb_json_text(b, hcb_buf_text(&text), text.len);
    hcb_buf_release(&text);
}

/* What YAML wants in the place of a callback outlives it. */
static const struct hcb_callback *wanted(const struct hcb_callback *cb)
{
    return cb->heir ? cb->heir : cb;
}

static void put_entry(struct hcb_buf *b, const struct hcb_callback *cb)
{
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "id", cb->id);
    hcb_json_put_str(b, "origin", hcb_origin_name(cb->origin));
    hcb_json_put_bool(b, "enabled", cb->enabled);
    put_target(b, &cb->target);
    put_exact(b, "init", &cb->init);
    put_exact(b, "params", &cb->set);
    hcb_json_put_value(b, "limits", &cb->limits_given);
    hcb_json_put_int(b, "calls", cb->calls);
    hcb_json_put_int(b, "failures", cb->failed_calls);
    put_exact(b, "saved", &cb->saved);
    hcb_json_close(b, '}');
}

/* What is to be resumed is in the file alone until it was. */
bool hcb_state_write(struct hotcb *h)
{
    struct hcb_buf *b = &h->text;
    struct hcb_err err;
    if (h->resume)
        return false;
    hcb_buf_reset(b);
    hcb_json_open(b, '{');
    hcb_json_put_int(b, "format", 1);
    hcb_json_put_str(b, "run", h->run);
    if (h->has_step)
        hcb_json_put_int(b, "step", h->step);
    else
        hcb_json_put_null(b, "step");
    put_place(b, &h->commands);
    hcb_json_put_int(b, "ledger_bytes", h->ledger.bytes);
    hcb_json_put_int(b, "seq", h->ledger.seq);
    hcb_json_key(b, "config"); /* hotcb.yaml as last read */
    hcb_json_text(b, hcb_buf_text(&h->config_text), h->config_text.len);
    hcb_json_key(b, "registry");
    hcb_json_open(b, '[');
    for (size_t i = 0; i < h->registry.n; i++)
        put_entry(b, wanted(h->registry.v[i]));
    hcb_json_close(b, ']');
    hcb_json_key(b, "timers");
    hcb_json_open(b, '[');
    hcb_json_close(b, ']');
    hcb_json_close(b, '}');
    hcb_buf_char(b, '\n');
    int status = b->oom ? hcb_fail_nomem(&err)
                        : hcb_file_replace(h->dir.state, b->data, b->len, &err);
    if (status < 0 && !h->state_trouble)
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s; the ledger still knows what was answered",
                err.text);
    h->state_trouble = status < 0;
    return status == 0;
}

static bool read_hex(const char *hex, unsigned char *out, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    if (!hex || strlen(hex) != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *high = strchr(digits, hex[2 * i]), *low = strchr(digits, hex[2 * i + 1]);
        if (!high || !low)
            return false;
        out[i] = (unsigned char)((high - digits) << 4 | (low - digits));
    }
    return true;
}

static void read_place(struct hotcb *h, const struct hcb_value *state)
{
    const struct hcb_value *c = hcb_map_get(state, "commands");
    struct hcb_commands_place place = {
        .offset = hcb_map_int(c, "offset", 0), .lines = hcb_map_int(c, "lines", 0),
        .count = hcb_map_int(c, "count", 0), .tail = hcb_map_int(c, "tail", 0),
    };
    bool sane = place.offset >= 0 && place.tail >= 0 && place.tail <= place.offset &&
                read_hex(hcb_map_text(c, "fingerprint", NULL), place.fingerprint,
                         sizeof place.fingerprint);
    if (sane)
        h->commands.place = place;
}

int hcb_state_read(struct hotcb *h, int64_t *ledger_bytes, struct hcb_err *err)
{
    struct hcb_value state = {0};
    *ledger_bytes = 0;
    hcb_buf_reset(&h->text);
    int status = hcb_file_read(h->dir.state, STATE_BYTES, &h->text, err);
    if (status == HOTCB_ENOENT)
        return 0;
    if (status == 0)
        status = hcb_json_parse(hcb_buf_text(&h->text), h->text.len, &state, err);
    if (status < 0 && status != HOTCB_EFORMAT && h->resume)
        return hcb_fail(err, status, "%s: %s; nothing can be resumed without it", h->dir.state,
                        err->text);
    if (status < 0) {
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s: %s; the ledger tells what was answered",
                h->dir.state, err->text);
        return 0;
    }
    read_place(h, &state);
    *ledger_bytes = hcb_map_int(&state, "ledger_bytes", 0);
    h->before = state;
    return 0;
}
