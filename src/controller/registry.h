/* Which callbacks there are, and what an op does to them. Every change of state goes
 * through hcb_registry_apply(); nothing here knows of files of the run directory. */
#ifndef HCB_REGISTRY_H
#define HCB_REGISTRY_H

#include "controller/callback.h"

struct hcb_registry {
    struct hcb_callback **v; /* in order of loading */
    size_t n, cap;
    bool relisted; /* which there are, or what waits behind one, is not what the state says */
    struct hcb_world world;
};

void hcb_registry_close(struct hcb_registry *r); /* runs close() of every script, once */
void hcb_registry_release(struct hcb_registry *r); /* frees all; runs nothing */
struct hcb_callback *hcb_registry_find(const struct hcb_registry *r, const char *id);

/* What became of an op. */
struct hcb_outcome {
    bool applied;
    bool wanted;                 /* not applied, but kept for when it loads, as YAML wants it */
    struct hcb_err err;          /* why not; or, with applied, a note or "" */
    enum hcb_reason reason;      /* of a script that does not load */
    char sha256[HCB_SHA256_HEX]; /* of the source, for loads and reloads; or "" */
};

void hcb_registry_apply(struct hcb_registry *r, const struct hcb_op *op,
                        struct hcb_outcome *outcome);

/* Room for so many more callbacks. */
bool hcb_registry_reserve(struct hcb_registry *r, size_t more);

/* Loads a callback that was there before; what does not load is listed as failed, or waits
 * behind the one of that id. Takes over cb, which needs no memory where there is room. */
void hcb_registry_adopt(struct hcb_registry *r, struct hcb_callback *cb,
                        struct hcb_outcome *outcome);

/* Looks at the files of the callback at i; a changed one becomes a reload (or a second try
 * at a load), reported by `say`, at most twice. Returns how many there were. Where the look
 * may set up no more scripts, or read no more, world.glance.later says that something is left. */
typedef void hcb_said_fn(void *user, const struct hcb_op *op, const struct hcb_outcome *outcome);
int hcb_registry_check_files(struct hcb_registry *r, size_t i, hcb_said_fn *say, void *user);

#endif
