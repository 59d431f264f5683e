/* Walks a folder by open directories, so that what somebody changes there meanwhile leads
 * nowhere else; see folder.h. Knows nothing of what the files are for. */
#include "sink/folder.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
    struct hcb_folder *found;
    int64_t max;
};

static bool is_itself(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int walk_into(struct walk *w, int parent, const char *name, int depth);

/* A folder that somebody removed, replaced or closed to us is one entry, no more. */
static int walk_below(struct walk *w, int parent, const char *name, int depth)
{
    if (depth > HCB_FOLDER_DEPTH || walk_into(w, parent, name, depth) == 0)
        return 0;
    return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES ? 0 : -1;
}

/* What is gone again by now does not count. 0, or -1 with errno. */
static int count_entry(struct walk *w, int dir, const char *name, int depth)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -1;
    if (S_ISREG(st.st_mode) && hcb_file_is_aside(name, strlen(name)) &&
        unlinkat(dir, name, 0) == 0)
        return 0;
    w->found->entries++;
    if (S_ISREG(st.st_mode))
        w->found->bytes += (int64_t)st.st_size;
    return S_ISDIR(st.st_mode) ? walk_below(w, dir, name, depth + 1) : 0;
}

static int walk_entries(struct walk *w, DIR *dir, int depth)
{
    while (w->found->entries <= w->max) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            return errno == 0 ? 0 : -1;
        if (!is_itself(entry->d_name) && count_entry(w, dirfd(dir), entry->d_name, depth) != 0)
            return -1;
    }
    return 0;
}

static int walk_into(struct walk *w, int parent, const char *name, int depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    int rc = dir ? walk_entries(w, dir, depth) : -1;
    int number = errno;
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    errno = number;
    return rc;
}

int hcb_folder_count(int fd, int64_t max, struct hcb_folder *out, struct hcb_err *err)
{
    struct walk w = {.found = out, .max = max};
    *out = (struct hcb_folder){0};
    return walk_into(&w, fd, ".", 0) == 0 ? 0 : hcb_fail_errno(err, "count what is there already");
}
