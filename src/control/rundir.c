/* Where the files of a run directory are; see rundir.h. Touches none of them. */
#include "control/rundir.h"

#include "base/file.h"
#include "base/text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool hcb_rundir_init(struct hcb_rundir *r, const char *dir, const char *config,
                     const char *commands)
{
    memset(r, 0, sizeof(*r));
    r->dir = hcb_path_absolute(dir);
    if (!r->dir)
        return false;
    const struct {
        char **path;
        const char *name;
    } files[] = {
        {&r->ledger, "hotcb.applied.jsonl"}, {&r->status, "hotcb.status.json"},
        {&r->state, "hotcb.state.json"},     {&r->metrics, "hotcb.metrics.jsonl"},
        {&r->media, "hotcb.media.jsonl"},    {&r->log, "hotcb.log"},
        {&r->lock, "hotcb.lock"},            {&r->artifacts, "artifacts"},
    };
    r->config = config ? hcb_path_absolute(config) : hcb_path_join(r->dir, "hotcb.yaml");
    r->commands =
        commands ? hcb_path_absolute(commands) : hcb_path_join(r->dir, "hotcb.commands.jsonl");
    bool ok = r->config && r->commands;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        *files[i].path = hcb_path_join(r->dir, files[i].name);
        ok = ok && *files[i].path;
    }
    if (!ok)
        hcb_rundir_release(r);
    return ok;
}

void hcb_rundir_release(struct hcb_rundir *r)
{
    free(r->dir);
    free(r->config);
    free(r->commands);
    free(r->ledger);
    free(r->status);
    free(r->state);
    free(r->metrics);
    free(r->media);
    free(r->log);
    free(r->lock);
    free(r->artifacts);
    memset(r, 0, sizeof(*r));
}
