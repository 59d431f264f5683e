/* What need not be looked at, since the kernel would have told of a change: an accelerator, and
 * nothing more. It watches the directories of files, by base/notify.h.
 *
 * Whoever looks at a file begins by hcb_noticed_look(). From then on hcb_noticed_quiet() says
 * whether nothing has happened to it that a look would see, and it never says so of what it is
 * not sure of:
 * - a directory counts once an event of it has arrived, namely that we opened it; on a file
 *   system that tells of all changes;
 * - a file that is a link, has a second name or is mounted there may change by other ways;
 * - a directory that is moved, deleted or replaced, it or what leads to it, counts no more until
 *   it is watched anew. Where links lead to it, one stat a look tells that;
 * - after more events than there is room for, everything has to be looked at.
 *
 * What the kernel does not tell of (a change by memory that is mapped, or by a second name that
 * a file was given since, or something mounted over a directory) is seen only by who looks all
 * the same, now and then. One thread at a time. */
#ifndef HCB_NOTICE_H
#define HCB_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

struct hcb_notice;

/* NULL: nothing is told here, or there is no memory. All functions accept that. */
struct hcb_notice *hcb_notice_open(void);
void hcb_notice_close(struct hcb_notice *n); /* after all that it noticed was released */

/* Takes in what was told since the last time; before a look at anything. One system call where
 * there is nothing, and at most 16384 events at a time. */
void hcb_notice_read(struct hcb_notice *n, int64_t now_ns);

/* Whether it tells of any file at all. */
bool hcb_notice_works(const struct hcb_notice *n);

/* A number that is another one when something was told of a file, or somebody asked for
 * another look at the next occasion; 0: there is nothing to go by. */
uint64_t hcb_notice_count(const struct hcb_notice *n);
void hcb_notice_again(struct hcb_notice *n);

/* A file, there or not, as somebody knows it. All zeros: nothing is known, and so it stays
 * without a notice. */
struct hcb_noticed {
    struct hcb_notice *notice;
    struct hcb_noticed_file *file;
    uint64_t seen; /* what had been told when it was looked at */
    bool plain;    /* there is no other way to it, as far as was known then */
};

/* The file at path, always the same one, is looked at now: what happens from here on is news. */
void hcb_noticed_look(struct hcb_noticed *f, struct hcb_notice *n, const char *path);
/* What was seen then was not made use of: it is news again. */
void hcb_noticed_forget(struct hcb_noticed *f);
/* What `as` knows of the same file holds for this one. */
void hcb_noticed_same(struct hcb_noticed *f, const struct hcb_noticed *as);
void hcb_noticed_release(struct hcb_noticed *f);

/* Nothing has happened to it since, or it would have been told. */
bool hcb_noticed_quiet(const struct hcb_noticed *f);
/* Something has been told of it, whatever stat says. */
bool hcb_noticed_news(const struct hcb_noticed *f);

#endif
