/* A run that things may go wrong in: its folder, the handle, what was sent to it and what
 * it said. All that a test itself does here works, whatever fails for hotcb. A failed
 * check is printed with the fault that led to it, and counted. */
#ifndef STAGE_H
#define STAGE_H

#include "inject.h"

#include "base/value.h"
#include <hotcb/hotcb.h>

#define STAGE_SENT 48
#define STAGE_SAID 64

/* A warning of hotcb's own, its digits as '#', and how often it was said. */
struct said {
    char text[200];
    int times;
};

struct stage {
    char root[96], dir[112]; /* scratch folder, run directory in it */
    hotcb_options opt;
    hotcb *h;
    hotcb_env *env;
    bool open;
    int64_t step;
    int sent;               /* commands so far: their ids are c1, c2, ... */
    struct said said[STAGE_SAID];
    int said_n;
    const char *act;        /* what goes on, for messages */
    char plan[64];          /* the fault, for messages */
    bool tearing;           /* writes are cut short, and nothing can be taken back */
    int failures;
    bool verbose;
};

void stage_init(struct stage *s, const char *root);
void stage_release(struct stage *s); /* removes the folder, too */

/* Notes a failed check. */
void stage_fail(struct stage *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- what a host does ---- */

void stage_open(struct stage *s, bool resume); /* where it is not open */
void stage_close(struct stage *s);
void stage_step(struct stage *s);
void stage_steps(struct stage *s, int n);
void stage_event(struct stage *s, const char *event);

/* ---- what people do ---- */

/* Sends {"op":OP,"id":ID REST,"cmd":"c<n>"}, with ' for ". What cannot be sent because of a
 * fault is added to the file as an editor would. Returns n. */
int stage_send(struct stage *s, const char *op, const char *id, const char *rest);
int stage_send_set(struct stage *s, const char *id, int mark);
void stage_write(struct stage *s, const char *path, const char *text); /* aside, renamed */
void stage_append(struct stage *s, const char *path, const char *text);

/* ---- what there is ---- */

const char *stage_path(struct stage *s, const char *name); /* in the run directory */
char *stage_read(const char *path);                        /* yours to free; "" if there is none */

/* hotcb_list(), *out null before. false, and null, where there is no run. */
bool stage_list(struct stage *s, struct hcb_value *out);
const struct hcb_value *stage_find(const struct hcb_value *list, const char *id);

#endif
