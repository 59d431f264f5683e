/* One owner per run directory; see lock.h. Holds the one piece of process-wide
 * state there is, the table of locks that this process has, under a mutex. */
#include "base/lock.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A lock that the process `pid` holds. A forked child inherits the table but not
 * the locks: it sees its parent's pid here, and so that the entry is not its own. */
struct held {
    uint64_t dev, ino;
    pid_t pid;
    struct held *next;
};

static struct held *table;
static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void lock_table(void)
{
    pthread_mutex_lock(&table_mutex);
}

static void unlock_table(void)
{
    pthread_mutex_unlock(&table_mutex);
}

/* Else a child forked while another thread is in here could never enter. */
static void guard_fork(void)
{
    pthread_atfork(lock_table, unlock_table, unlock_table);
}

static void enter(void)
{
    pthread_once(&fork_once, guard_fork);
    lock_table();
}

/* The place of the entry for this file; *place is NULL if this process has none.
 * Drops what was inherited from a parent on the way. */
static struct held **find(uint64_t dev, uint64_t ino)
{
    pid_t self = getpid();
    struct held **place = &table;
    while (*place) {
        struct held *entry = *place;
        if (entry->pid != self) {
            *place = entry->next;
            free(entry);
        } else if (entry->dev == dev && entry->ino == ino) {
            break;
        } else {
            place = &entry->next;
        }
    }
    return place;
}

static bool holds(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && *find((uint64_t)st.st_dev, (uint64_t)st.st_ino);
}

static int set_lock(int fd, int command, struct flock *whole)
{
    *whole = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int rc;
    do
        rc = fcntl(fd, command, whole);
    while (rc != 0 && errno == EINTR);
    return rc;
}

static int fail_busy(int fd, const char *path, struct hcb_err *err)
{
    struct flock owner;
    if (set_lock(fd, F_GETLK, &owner) == 0 && owner.l_type != F_UNLCK && owner.l_pid > 0)
        return hcb_fail(err, HOTCB_EBUSY,
                        "%s is held by process %ld: another run owns this directory", path,
                        (long)owner.l_pid);
    return hcb_fail(err, HOTCB_EBUSY,
                    "%s is held by another process: another run owns this directory", path);
}

static bool means_no_locks(int number)
{
    return number == ENOLCK || number == EOPNOTSUPP || number == ENOSYS || number == EINVAL;
}

/* Opens and locks the file; the descriptor or an error. The directory may be deleted and
 * made anew in between. */
static int open_locked(const char *path, bool *advisory_only, struct stat *st,
                       struct hcb_err *err)
{
    for (int tries = 0; tries < 3; tries++) {
        struct flock whole;
        int fd = hcb_file_append(path, err);
        if (fd < 0)
            return fd;
        *advisory_only = false;
        if (set_lock(fd, F_SETLK, &whole) != 0) {
            int rc = 0;
            if (errno == EAGAIN || errno == EACCES)
                rc = fail_busy(fd, path, err);
            else if (!means_no_locks(errno))
                rc = hcb_fail_errno(err, "lock %s", path);
            if (rc < 0) {
                close(fd);
                return rc;
            }
            *advisory_only = true;
        }
        if (fstat(fd, st) == 0 && hcb_file_is_at(fd, path))
            return fd;
        close(fd);
    }
    return hcb_fail(err, HOTCB_EIO, "cannot lock %s: the file is replaced again and again", path);
}

/* For people to read, so that a full disk is no reason to do without the lock. */
static void write_owner(int fd, const char *path, const char *text)
{
    if (ftruncate(fd, 0) == 0)
        hcb_file_write_once(fd, text, strlen(text), path, NULL);
}

static int take(struct hcb_lock *lock, struct held *entry, const char *path, const char *text,
                struct hcb_err *err)
{
    struct stat st;
    if (holds(path))
        return hcb_fail(err, HOTCB_EBUSY, "%s is held by this process (%ld): it has a run open in "
                        "this directory already", path, (long)getpid());
    int fd = open_locked(path, &lock->advisory_only, &st, err);
    if (fd < 0)
        return fd;
    write_owner(fd, path, text);
    lock->fd = fd;
    lock->dev = (uint64_t)st.st_dev;
    lock->ino = (uint64_t)st.st_ino;
    *entry = (struct held){lock->dev, lock->ino, getpid(), table};
    table = entry;
    return 0;
}

int hcb_lock_take(struct hcb_lock *lock, const char *path, const char *text,
                  struct hcb_err *err)
{
    *lock = (struct hcb_lock){.fd = -1};
    struct held *entry = malloc(sizeof(*entry));
    if (!entry)
        return hcb_fail_nomem(err);
    enter();
    int rc = take(lock, entry, path, text, err);
    unlock_table();
    if (rc < 0)
        free(entry);
    return rc;
}

void hcb_lock_drop(struct hcb_lock *lock)
{
    if (lock->fd < 0)
        return;
    enter();
    struct held **place = find(lock->dev, lock->ino);
    struct held *entry = *place;
    if (entry) {
        *place = entry->next;
        free(entry);
    }
    close(lock->fd);
    lock->fd = -1;
    unlock_table();
}

int hcb_lock_keep(struct hcb_lock *lock, const char *path, const char *text,
                  struct hcb_err *err)
{
    struct flock whole;
    if (lock->fd >= 0 && hcb_file_is_at(lock->fd, path) &&
        (lock->advisory_only || set_lock(lock->fd, F_SETLK, &whole) == 0))
        return 0;
    hcb_lock_drop(lock);
    return hcb_lock_take(lock, path, text, err);
}

/* Reading what another process holds. Closing the descriptor afterwards is why
 * this must not be done by the owner. */
static int64_t ask_owner(const char *path)
{
    struct flock owner;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    int64_t pid = -1;
    if (set_lock(fd, F_GETLK, &owner) == 0) {
        if (owner.l_type == F_UNLCK)
            pid = 0;
        else if (owner.l_pid > 0)
            pid = owner.l_pid;
    }
    close(fd);
    return pid;
}

int64_t hcb_lock_owner(const char *path)
{
    enter();
    int64_t pid = holds(path) ? (int64_t)getpid() : ask_owner(path);
    unlock_table();
    return pid;
}
