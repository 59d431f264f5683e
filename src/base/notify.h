/* What the kernel tells of changes in directories: Linux's inotify. Built with HOTCB_PORTABLE
 * nothing is ever told: it cannot be opened. Knows nothing of who wants to know, and trusts
 * nobody: see control/notice.h. */
#ifndef HCB_NOTIFY_H
#define HCB_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hcb_notify {
    int fd; /* -1: closed */
};

bool hcb_notify_open(struct hcb_notify *from); /* false: there is no such service, or no more */
void hcb_notify_close(struct hcb_notify *from);
/* A host may close what it does not know and open a file of its own, which is not ours to
 * read from, or to close, and tells nothing. */
bool hcb_notify_is_ours(const struct hcb_notify *from);

/* What is told of a directory. That it is moved or deleted is told in any case. */
enum hcb_notify_what {
    HCB_NOTIFY_FILES = 1, /* each change of a file in it, with its name */
    HCB_NOTIFY_OPENED = 2, /* with FILES: that it is opened, too */
    HCB_NOTIFY_LINKED = 4  /* path may be a link to it */
};

/* Returns the directory's number, which is one for each directory, whatever its path; -1 if
 * it cannot be watched. Without FILES what was told of it before still is. */
int hcb_notify_add(struct hcb_notify *from, const char *path, int what);
void hcb_notify_remove(struct hcb_notify *from, int dir);

/* How many bytes are there to be read; -1: the descriptor is another's, and is forgotten. Of
 * another's it may also be a number. */
int64_t hcb_notify_waiting(struct hcb_notify *from);
/* Reads so many of them, or fewer; 0: none, -1: never again. */
int64_t hcb_notify_read(struct hcb_notify *from, char *bytes, size_t n);

struct hcb_told {
    int dir;
    const char *name; /* of the file in it; NULL: the directory itself */
    bool missed;      /* some of what happened was not told, of whatever directory */
    bool gone;        /* the directory: it is moved, deleted or not watched any more */
    bool opened;      /* it was only opened */
};

/* The one at *at of what was read; false at the end. Bytes aligned as for an int. */
bool hcb_notify_next(const char *bytes, size_t n, size_t *at, struct hcb_told *told);

/* Whether the directory lies on a file system of which this kernel makes all changes itself,
 * and tells of them: the usual ones on disks and in memory, none on a network. */
bool hcb_notify_is_local(int dir_fd);

/* Whether nothing of path changes but by what is told of its directory: a regular file of
 * one name, no link, nothing mounted there; or nothing at all. */
bool hcb_notify_is_plain(const char *path, uint64_t dir_dev);

#endif
