/* See notify.h. */
#include "base/notify.h"

#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#ifndef HOTCB_PORTABLE

#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define SELF (IN_DELETE_SELF | IN_MOVE_SELF)
#define FILES (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVE)

/* What we opened is marked by the signal that would tell of input, were it asked for: to stat,
 * all descriptors of this kind are one file. */
#define MARK SIGURG

bool hcb_notify_open(struct hcb_notify *from)
{
    from->fd = hcb_file_above_standard(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (from->fd >= 0 && fcntl(from->fd, F_SETSIG, MARK) == 0)
        return true;
    if (from->fd >= 0)
        close(from->fd);
    from->fd = -1;
    return false;
}

bool hcb_notify_is_ours(const struct hcb_notify *from)
{
    int mark = fcntl(from->fd, F_GETSIG);
    return mark == MARK || (mark < 0 && errno != EBADF);
}

/* No watch is removed: a forked child that closes its copy must not deafen its parent. */
void hcb_notify_close(struct hcb_notify *from)
{
    if (from->fd >= 0 && hcb_notify_is_ours(from))
        close(from->fd);
    from->fd = -1;
}

int hcb_notify_add(struct hcb_notify *from, const char *path, int what)
{
    uint32_t mask = SELF | IN_ONLYDIR;
    mask |= what & HCB_NOTIFY_FILES ? FILES : IN_MASK_ADD;
    mask |= what & HCB_NOTIFY_OPENED ? IN_OPEN : 0;
    mask |= what & HCB_NOTIFY_LINKED ? 0 : IN_DONT_FOLLOW;
    return hcb_notify_is_ours(from) ? inotify_add_watch(from->fd, path, mask) : -1;
}

void hcb_notify_remove(struct hcb_notify *from, int dir)
{
    if (hcb_notify_is_ours(from))
        inotify_rm_watch(from->fd, dir);
}

int64_t hcb_notify_waiting(struct hcb_notify *from)
{
    int n;
    if (ioctl(from->fd, FIONREAD, &n) == 0)
        return n;
    from->fd = -1;
    return -1;
}

int64_t hcb_notify_read(struct hcb_notify *from, char *bytes, size_t n)
{
    if (!hcb_notify_is_ours(from))
        return -1;
    ssize_t got = read(from->fd, bytes, n);
    return got >= 0 ? got : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

bool hcb_notify_next(const char *bytes, size_t n, size_t *at, struct hcb_told *told)
{
    struct inotify_event event;
    if (n - *at < sizeof event)
        return false;
    memcpy(&event, bytes + *at, sizeof event);
    told->dir = event.wd;
    told->name = event.len > 0 ? bytes + *at + sizeof event : NULL;
    told->missed = event.mask & IN_Q_OVERFLOW;
    told->gone = event.mask & (SELF | IN_IGNORED | IN_UNMOUNT);
    told->opened = (event.mask & IN_ALL_EVENTS) == IN_OPEN;
    *at += sizeof event + event.len;
    return true;
}

/* Of overlayfs the layer that is written to is local; that a lower one is not changed below it
 * is its own condition. */
bool hcb_notify_is_local(int dir_fd)
{
    static const uint32_t local[] = {
        0xef53 /* ext2 to ext4 */, 0x58465342 /* xfs */, 0x9123683e /* btrfs */,
        0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */, 0x2fc12fc1 /* zfs */,
        0xf2f52010 /* f2fs */, 0xca451a4e /* bcachefs */, 0x794c7630 /* overlayfs */,
    };
    struct statfs fs;
    if (fstatfs(dir_fd, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if ((uint32_t)fs.f_type == local[i])
            return true;
    return false;
}

/* Kernels before 5.8 do not tell of a mount; what is mounted from another file system shows. */
static bool is_mounted(const char *path, uint64_t dev, uint64_t dir_dev)
{
#ifdef STATX_ATTR_MOUNT_ROOT
    struct statx st;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
        st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
        return st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
#else
    (void)path;
#endif
    return dev != dir_dev;
}

bool hcb_notify_is_plain(const char *path, uint64_t dir_dev)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT;
    return S_ISREG(st.st_mode) && st.st_nlink == 1 &&
           !is_mounted(path, (uint64_t)st.st_dev, dir_dev);
}

#else

bool hcb_notify_open(struct hcb_notify *from)
{
    from->fd = -1;
    return false;
}

bool hcb_notify_is_ours(const struct hcb_notify *from)
{
    (void)from;
    return false;
}

void hcb_notify_close(struct hcb_notify *from)
{
    (void)from;
}

int hcb_notify_add(struct hcb_notify *from, const char *path, int what)
{
    (void)from, (void)path, (void)what;
    return -1;
}

void hcb_notify_remove(struct hcb_notify *from, int dir)
{
    (void)from, (void)dir;
}

int64_t hcb_notify_waiting(struct hcb_notify *from)
{
    (void)from;
    return -1;
}

int64_t hcb_notify_read(struct hcb_notify *from, char *bytes, size_t n)
{
    (void)from, (void)bytes, (void)n;
    return -1;
}

bool hcb_notify_next(const char *bytes, size_t n, size_t *at, struct hcb_told *told)
{
    (void)bytes, (void)n, (void)at, (void)told;
    return false;
}

bool hcb_notify_is_local(int dir_fd)
{
    (void)dir_fd;
    return false;
}

bool hcb_notify_is_plain(const char *path, uint64_t dir_dev)
{
    (void)path, (void)dir_dev;
    return false;
}

#endif
