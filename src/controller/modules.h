/* Which text a target or a required name stands for, and which files that makes
 * worth watching. */
#ifndef HCB_MODULES_H
#define HCB_MODULES_H

#include "control/op.h"
#include "control/watch.h"
#include "script/script.h"

/* Watched files of one callback: first its script (if it is a file), then what it
 * required, and where a missing module was looked for. */
struct hcb_watches {
    struct hcb_watch *v;
    size_t n, cap;
};

/* So many at most: each costs a stat a look, and a script may require what is not there
 * by any number of names. */
#define HCB_WATCHES_MAX 256

/* The one for path, made if there is none; NULL when there are enough, or no memory. */
struct hcb_watch *hcb_watches_get(struct hcb_watches *w, const char *path);

/* Where names are looked up, and what tells of changes there. */
struct hcb_places {
    char *cwd;         /* when the run was opened: paths below it are shown short */
    char *search_path; /* directories separated by ':', or NULL */
    struct hcb_notice *notice; /* what need not be looked at, or NULL */
};

/* One loading of one callback; lives as long as its script, which may require more. */
struct hcb_loading {
    const struct hcb_places *places;
    char *dir; /* beside the script; NULL for a shipped one */
    struct hcb_watches watches;
    int64_t bytes; /* of all text that was found */
    struct hcb_buf *found; /* what was read just now of the file that *found_as watches, or NULL */
    const struct hcb_watch *found_as;
};
void hcb_loading_release(struct hcb_loading *l);

/* The text of a target and the name it has in messages ("@callbacks/x.lua").
 * Errors: ENOENT, EIO (no such file, a directory, larger than 256 KiB, empty). */
int hcb_loading_target(struct hcb_loading *l, const struct hcb_target *target,
                       struct hcb_module *m, struct hcb_err *err);

/* A hcb_find_module_fn whose user is a struct hcb_loading: helpers shipped in lua/
 * ("hotcb.NAME"), then files beside the script, then the search path. */
int hcb_loading_find(void *user, const char *name, struct hcb_module *m, struct hcb_err *err);

void hcb_module_release(struct hcb_module *m);

#endif
