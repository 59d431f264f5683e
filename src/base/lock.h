/* One owner per run directory: an fcntl lock on a file, which the system gives
 * back when the process dies however it dies, and which a forked child does not
 * keep. Since fcntl locks do not exclude within one process (and are lost when
 * the process closes any descriptor of the file), a table of the locks held by
 * this process stands beside it: the one piece of process-wide state. */
#ifndef HCB_LOCK_H
#define HCB_LOCK_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

struct hcb_lock {
    int fd; /* -1: not held */
    bool advisory_only; /* the file system has no locks; go on without, and say so */
    uint64_t dev, ino;
};

/* Takes the lock and writes `text` (who holds it, for people) into the file.
 * Errors: EBUSY (the sentence names the pid), EIO. No locks (ENOLCK): success
 * with advisory_only. */
int hcb_lock_take(struct hcb_lock *lock, const char *path, const char *text,
                  struct hcb_err *err);
void hcb_lock_drop(struct hcb_lock *lock);

/* Makes sure that a lock that was taken is still held: the file may have been removed,
 * or the process may have opened and closed it elsewhere, which drops the lock without
 * a word. Takes it again where nobody else has. Errors: as for take; nothing is
 * held then. */
int hcb_lock_keep(struct hcb_lock *lock, const char *path, const char *text,
                  struct hcb_err *err);

/* The pid that holds the lock at path: 0 if nobody does (or there is no file),
 * negative if that cannot be found out. For other processes than the owner. */
int64_t hcb_lock_owner(const char *path);

#endif
