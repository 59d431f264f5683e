/* hotcb.state.json: what a restart needs to know. The place in the command file and in the
 * ledger stands at the beginning, in fields of a width of their own: where nothing else has
 * changed, only they are written, over themselves. All of it is written, aside, when a
 * callback, what is wanted of one, or hotcb.yaml has changed, at a checkpoint and at the end. */
#include "base/json.h"
#include "base/text.h"
#include "controller/exact.h"
#include "controller/run.h"
#include <string.h>

#define STATE_BYTES (64 << 20)
#define LEDGER_BYTES (64 << 10) /* so much more of it may have to be read by the next process */

/* Commands that stand in the ledger are not executed again, since the file is another one. */
static bool reads_again(const struct hotcb *h)
{
    return h->restarting || h->answered.n > 0;
}

/* So much of the ledger is in what is said here: of commands that are to be done again, and of
 * one that the place is still before, the next process must learn, too. */
static int64_t known_bytes(const struct hotcb *h)
{
    if (h->redo.pending)
        return h->redo.from;
    return h->commands.skipping || h->commands.told ? h->long_from : h->ledger.bytes;
}

/* Is within one sector of a disk, so that it is never half there. */
static void put_place(struct hcb_buf *b, const struct hotcb *h)
{
    const struct hcb_commands_place *place = &h->commands.place;
    char fingerprint[HCB_SHA256_HEX];
    hcb_sha256_hex(place->fingerprint, fingerprint);
    hcb_buf_printf(b, "{\"format\":1,\"ledger_bytes\":%-20lld,\"seq\":%-20lld,\"commands\":{"
                   "\"offset\":%-20lld,\"lines\":%-20lld,\"count\":%-20lld,\"tail\":%-20lld,"
                   "\"again\":%-5s,\"fingerprint\":\"%s\"",
                   (long long)known_bytes(h), (long long)h->ledger.seq,
                   (long long)place->offset, (long long)place->lines, (long long)place->count,
                   (long long)place->tail, reads_again(h) ? "true" : "false", fingerprint);
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

/* But for its counters, which follow. */
static void put_entry(struct hcb_buf *b, const struct hcb_callback *cb)
{
    hcb_json_open(b, '{');
    hcb_json_put_str(b, "id", cb->id);
    hcb_json_put_str(b, "origin", hcb_origin_name(cb->origin));
    hcb_json_put_bool(b, "enabled", cb->enabled);
    put_target(b, &cb->target);
    put_exact(b, "init", &cb->init);
    put_exact(b, "params", &cb->set);
    if (cb->since.type == HCB_MAP)
        put_exact(b, "since", &cb->since);
    hcb_json_put_value(b, "limits", &cb->limits_given);
    hcb_json_put_bool(b, "loaded", cb->script || cb->resumed);
    put_exact(b, "saved", &cb->saved);
}

/* Makes its piece what is so now, in text that is used for nothing else; true if it is
 * another one than before. */
static bool renew(struct hcb_buf *text, struct hcb_callback *cb)
{
    if (cb->state.holds)
        return false;
    hcb_buf_reset(text);
    put_entry(text, cb);
    return text->oom || hcb_piece_keep(&cb->state, text->data, text->len);
}

/* A piece that does not hold is not what the file says from now on: the next one is news,
 * also if it is the same. */
static void put_callback(struct hcb_buf *b, struct hcb_callback *cb)
{
    if (cb->state.holds) {
        hcb_json_raw(b, cb->state.text, cb->state.n);
    } else {
        put_entry(b, cb);
        hcb_piece_release(&cb->state);
    }
    hcb_json_put_int(b, "calls", cb->calls);
    hcb_json_put_int(b, "failures", cb->failed_calls);
    hcb_json_close(b, '}');
}

/* hotcb.yaml as last read; and what of it counts as read, where that is something else: some of
 * it was refused, or a later one is not taken in to its end, and so is looked at again. */
static void put_config(struct hcb_buf *b, const struct hotcb *h)
{
    struct hcb_value read = {0};
    bool partly = h->config_partly || h->taking.done > 0;
    hcb_json_key(b, "config");
    hcb_json_text(b, hcb_buf_text(&h->config_text), h->config_text.len);
    if (!h->config_differs && !partly)
        return;
    b->oom |= !hcb_config_carried(h, &read);
    put_exact(b, "config_read", &read);
    hcb_json_put_bool(b, "config_again", h->config_again || partly);
    hcb_value_release(&read);
}

/* What waits behind a callback follows it, with the same id. */
static void put_all(struct hcb_buf *b, const struct hotcb *h)
{
    put_place(b, h);
    hcb_json_put_str(b, "path", h->commands.path);
    hcb_json_close(b, '}');
    hcb_json_put_str(b, "run", h->run);
    if (h->has_step)
        hcb_json_put_int(b, "step", h->step);
    else
        hcb_json_put_null(b, "step");
    put_config(b, h);
    hcb_json_key(b, "registry");
    hcb_json_open(b, '[');
    for (size_t i = 0; i < h->registry.n; i++)
        for (struct hcb_callback *cb = h->registry.v[i]; cb; cb = cb->heir)
            put_callback(b, cb);
    hcb_json_close(b, ']');
    hcb_json_key(b, "timers");
    hcb_json_open(b, '[');
    hcb_json_close(b, ']');
    hcb_json_close(b, '}');
    hcb_buf_char(b, '\n');
}

static void note_written(struct hotcb *h)
{
    h->state.place = h->commands.place;
    h->state.again = reads_again(h);
    h->state.ledger_bytes = known_bytes(h);
    hcb_sig_get(h->dir.state, &h->state.sig);
}

/* No larger file than can be read again takes the place of one that can. */
static int replace(const char *path, const struct hcb_buf *b, struct hcb_err *err)
{
    if (b->oom)
        return hcb_fail_nomem(err);
    if (b->len > STATE_BYTES)
        return hcb_fail(err, HOTCB_EIO, "%s would be larger than %d MiB (what the callbacks' "
                        "save() give, mostly), and stays as it is", path, STATE_BYTES >> 20);
    return hcb_file_replace(path, b->data, b->len, err);
}

/* What is to be resumed is in the file alone until it was. */
bool hcb_state_write(struct hotcb *h)
{
    struct hcb_buf *b = &h->text;
    struct hcb_err err;
    if (h->resume)
        return false;
    hcb_buf_reset(b);
    put_all(b, h);
    int status = replace(h->dir.state, b, &err);
    if (status < 0 && !h->state.trouble)
        hcb_log(&h->log, HOTCB_WARN, NULL, "%s; the ledger still knows what was answered",
                err.text);
    h->state.trouble = h->state.due = status < 0;
    h->written += (int64_t)b->len;
    h->registry.relisted = h->registry.world.saved = false;
    if (status < 0)
        return false;
    note_written(h);
    h->state.due = h->state.sig.size != (int64_t)b->len; /* somebody else has written there */
    return true;
}

/* Whether the file says something of the callbacks that is not so any more. */
static bool has_changed(struct hotcb *h)
{
    bool changed = h->state.due || h->registry.relisted || h->registry.world.saved;
    for (size_t i = 0; i < h->registry.n; i++)
        for (struct hcb_callback *cb = h->registry.v[i]; cb; cb = cb->heir)
            changed |= renew(&h->text, cb);
    return changed;
}

/* The lines of the ledger since then answer no command, or the place would be another; but
 * the next process has to read them. */
static bool is_recent(const struct hotcb *h)
{
    int64_t since = h->ledger.bytes - h->state.ledger_bytes;
    return memcmp(&h->state.place, &h->commands.place, sizeof h->state.place) == 0 &&
           h->state.again == reads_again(h) && since >= 0 && since <= LEDGER_BYTES;
}

static bool write_place(struct hotcb *h)
{
    hcb_buf_reset(&h->text);
    put_place(&h->text, h);
    if (h->text.oom || !hcb_file_patch(h->dir.state, &h->state.sig, h->text.data, h->text.len))
        return false;
    note_written(h);
    return true;
}

void hcb_state_save(struct hotcb *h)
{
    struct hcb_sig now;
    if (h->resume)
        return;
    bool whole = has_changed(h);
    h->state.due = whole; /* it stays so until it is written */
    if (!whole && is_recent(h)) {
        hcb_sig_get(h->dir.state, &now); /* it may have been removed, or replaced */
        if (hcb_sig_same(&now, &h->state.sig))
            return;
    }
    if (whole || !write_place(h))
        hcb_state_write(h);
}

static bool read_fingerprint(const char *hex, unsigned char out[HCB_SHA256_BYTES])
{
    return hex && strlen(hex) == 2 * HCB_SHA256_BYTES && hcb_hex_read(hex, HCB_SHA256_BYTES, out);
}

/* false: it is damaged. */
static bool read_place(struct hotcb *h, const struct hcb_value *state)
{
    const struct hcb_value *c = hcb_map_get(state, "commands");
    struct hcb_commands_place place = {
        .offset = hcb_map_int(c, "offset", 0), .lines = hcb_map_int(c, "lines", 0),
        .count = hcb_map_int(c, "count", 0), .tail = hcb_map_int(c, "tail", 0),
    };
    bool sane = place.offset >= 0 && place.tail >= 0 && place.tail <= place.offset &&
                read_fingerprint(hcb_map_text(c, "fingerprint", NULL), place.fingerprint);
    if (!sane)
        return false;
    h->commands.place = place;
    h->restarting = hcb_map_bool(c, "again", false);
    return true;
}

int hcb_state_read(struct hotcb *h, int64_t *ledger_bytes, struct hcb_err *err)
{
    struct hcb_value state = {0};
    *ledger_bytes = -1;
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
    if (read_place(h, &state))
        *ledger_bytes = hcb_map_int(&state, "ledger_bytes", -1);
    h->before = state;
    return 0;
}
