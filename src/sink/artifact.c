/* Files that callbacks write; see artifact.h. A name is walked component by
 * component from an open directory, so that no link on the way, however it came
 * there, leads out of the run directory. Knows nothing of callbacks. */
#include "sink/artifact.h"

#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 200
#define SHOWN 60
#define RECOUNT_NS INT64_C(10000000000)
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static const char *fault_of_component(const char *s, size_t n)
{
    if (n == 0)
        return "has an empty component";
    if ((n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
        return "has \".\" or \"..\" as a component";
    if (hcb_file_is_aside(s, n))
        return "has a component like \".a.1.tmp\", as half-written files are called";
    return NULL;
}

static const char *fault_of_components(const char *name, size_t n)
{
    int count = 0;
    for (size_t start = 0, i = 0; i <= n; i++) {
        if (i < n && name[i] != '/')
            continue;
        const char *fault = fault_of_component(name + start, i - start);
        if (fault)
            return fault;
        start = i + 1;
        count++;
    }
    return count > HCB_FOLDER_DEPTH ? "has more than 16 components" : NULL;
}

static const char *fault_of_name(const char *name, size_t n)
{
    if (n == 0)
        return "is empty";
    if (n > NAME_BYTES)
        return "is longer than 200 bytes";
    if (name[0] == '/')
        return "begins with '/'";
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return "has a control character";
    if (!hcb_utf8_valid(name, n))
        return "is not valid UTF-8";
    return fault_of_components(name, n);
}

int hcb_artifact_check(const char *name, size_t n, struct hcb_err *err)
{
    const char *fault = fault_of_name(name, n);
    if (!fault)
        return 0;
    struct hcb_buf shown = {0};
    size_t part = n > SHOWN ? hcb_utf8_cut(name, SHOWN) : n;
    hcb_text_printable(&shown, name, part);
    hcb_fail(err, HOTCB_EREFUSED,
             "artifact \"%s%s\" %s: name a file below artifacts/, as in \"plots/loss.png\"",
             hcb_buf_text(&shown), part < n ? "..." : "", fault);
    hcb_buf_release(&shown);
    return HOTCB_EREFUSED;
}

/* ---- room -------------------------------------------------------------------- */

/* One artifact on its way. */
struct writing {
    const struct hcb_artifact *a;
    struct hcb_artifacts *held;
    int folder; /* of the callback */
    int64_t now_ns;
    struct hcb_err *err;
};

static int count(struct writing *w)
{
    struct hcb_artifacts *held = w->held;
    int rc = hcb_folder_count(w->folder, held->max_entries, &held->held, w->err);
    held->counted = rc == 0;
    held->counted_ns = w->now_ns;
    return rc;
}

/* A folder that is over its cap was not counted to its end: it may not grow at all. */
static bool has_entries(const struct hcb_artifacts *held, int64_t more)
{
    return held->held.entries <= held->max_entries - more;
}

static bool fits(const struct hcb_artifacts *held, int64_t bytes, int64_t entries)
{
    if (bytes <= 0 && entries <= 0)
        return true;
    return has_entries(held, entries) &&
           (bytes <= 0 || held->held.bytes <= held->max_bytes - bytes);
}

static int say_full(const struct writing *w, int64_t entries)
{
    const struct hcb_artifacts *held = w->held;
    if (!has_entries(held, entries))
        return hcb_fail(w->err, HOTCB_EREFUSED,
                        "no room for %s: artifacts/%s holds %lld files and folders, and may hold "
                        "%lld (the option artifact_files)", w->a->name, w->a->id,
                        (long long)held->held.entries, (long long)held->max_entries);
    return hcb_fail(w->err, HOTCB_EREFUSED,
                    "no room for %s: artifacts/%s holds %lld bytes, and may hold %lld (the option "
                    "artifact_bytes)", w->a->name, w->a->id, (long long)held->held.bytes,
                    (long long)held->max_bytes);
}

/* Whether so much more may come to be there. */
static int need_room(struct writing *w, int64_t bytes, int64_t entries)
{
    struct hcb_artifacts *held = w->held;
    int rc = held->counted ? 0 : count(w);
    if (rc == 0 && !fits(held, bytes, entries) && w->now_ns - held->counted_ns >= RECOUNT_NS)
        rc = count(w);
    if (rc == 0 && !fits(held, bytes, entries))
        rc = say_full(w, entries);
    return rc;
}

static void add_held(struct writing *w, int64_t bytes, int64_t entries)
{
    w->held->held.bytes += bytes;
    w->held->held.entries += entries;
}

/* ---- directories ------------------------------------------------------------- */

static int open_dir(int parent, const char *name)
{
    int fd;
    do
        fd = openat(parent, name, DIR_FLAGS);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Made if it is missing, but not what it is in: a run directory that was deleted must
 * not come back by this. */
static int open_root(const char *artifacts, struct hcb_err *err)
{
    int fd = open_dir(AT_FDCWD, artifacts);
    if (fd < 0 && errno == ENOENT && (mkdir(artifacts, 0777) == 0 || errno == EEXIST))
        fd = open_dir(AT_FDCWD, artifacts);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return hcb_fail(err, HOTCB_EIO,
                        "cannot write below %s: it is a link or no directory, and links are not "
                        "followed", artifacts);
    return fd < 0 ? hcb_fail_errno(err, "open directory %s", artifacts) : fd;
}

static int fail_step(struct writing *w, const char *name)
{
    if (errno == ELOOP || errno == ENOTDIR)
        return hcb_fail(w->err, HOTCB_EIO,
                        "cannot write %s: %s is a link or no directory, and links are not followed",
                        w->a->name, name);
    return hcb_fail_errno(w->err, "open directory %s of %s", name, w->a->name);
}

/* Opens the directory `name` in `parent`, made if it is missing. */
static int step_into(struct writing *w, int parent, const char *name)
{
    int fd = open_dir(parent, name);
    if (fd >= 0 || errno != ENOENT)
        return fd >= 0 ? fd : fail_step(w, name);
    int rc = need_room(w, 0, 1);
    if (rc < 0)
        return rc;
    if (mkdirat(parent, name, 0777) == 0)
        add_held(w, 0, 1);
    else if (errno != EEXIST)
        return fail_step(w, name);
    fd = open_dir(parent, name);
    return fd >= 0 ? fd : fail_step(w, name);
}

static int open_folder(struct writing *w)
{
    int root = open_root(w->a->artifacts, w->err);
    if (root < 0)
        return root;
    int fd = open_dir(root, w->a->id);
    if (fd < 0 && errno == ENOENT && (mkdirat(root, w->a->id, 0777) == 0 || errno == EEXIST))
        fd = open_dir(root, w->a->id);
    if (fd < 0)
        fd = fail_step(w, w->a->id);
    close(root);
    return fd;
}

/* Component by component from the folder: makes what is missing, and says what is in
 * the way. */
static int walk(struct writing *w, const char *path)
{
    char part[NAME_BYTES + 1];
    int fd = open_dir(w->folder, ".");
    if (fd < 0)
        return hcb_fail_errno(w->err, "open directory %s of %s", path, w->a->name);
    while (fd >= 0 && *path) {
        size_t n = strcspn(path, "/");
        memcpy(part, path, n);
        part[n] = '\0';
        int next = step_into(w, fd, part);
        close(fd);
        fd = next;
        path += n + (path[n] == '/');
    }
    return fd;
}

/* The directory that the file goes into; *file is the last component of the name. What
 * is there already is opened in one step, if the system can tell that no link is on the
 * way. */
static int open_parent(struct writing *w, const char **file)
{
    char path[NAME_BYTES + 1];
    const char *slash = strrchr(w->a->name, '/');
    size_t n = slash ? (size_t)(slash - w->a->name) : 0;
    memcpy(path, w->a->name, n);
    path[n] = '\0';
    *file = slash ? slash + 1 : w->a->name;
    int fd = n > 0 ? hcb_platform_open_below(w->folder, path, DIR_FLAGS) : -1;
    return fd >= 0 ? fd : walk(w, path);
}

/* ---- files ------------------------------------------------------------------- */

/* What is there under the name: false if nothing is. */
struct there {
    bool is;
    int64_t bytes;
};

static int look(struct writing *w, int dir, const char *file, struct there *there)
{
    struct stat st;
    *there = (struct there){0};
    if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : hcb_fail_errno(w->err, "look at %s", w->a->name);
    there->is = true;
    if (S_ISREG(st.st_mode))
        there->bytes = (int64_t)st.st_size;
    else if (!S_ISLNK(st.st_mode))
        return hcb_fail(w->err, HOTCB_EIO, "%s is %s", w->a->name,
                        S_ISDIR(st.st_mode) ? "a directory, not a file" : "not a regular file");
    return 0;
}

static int replace(struct writing *w, int dir, const char *file, const struct there *there)
{
    const struct hcb_artifact *a = w->a;
    int rc = hcb_file_replace_at(dir, file, a->bytes, a->n, a->name, w->err);
    if (rc == 0)
        add_held(w, (int64_t)a->n - there->bytes, !there->is);
    return rc;
}

/* A file with a second name may be one elsewhere, of somebody else. */
static int append_open(struct writing *w, int fd)
{
    struct stat before, after;
    const struct hcb_artifact *a = w->a;
    if (fstat(fd, &before) != 0)
        return hcb_fail_errno(w->err, "look at %s", a->name);
    if (before.st_nlink > 1)
        return hcb_fail(w->err, HOTCB_EIO, "cannot append to %s: the file has another name, a hard "
                        "link", a->name);
    int rc = hcb_file_write_once(fd, a->bytes, a->n, a->name, w->err);
    if (fstat(fd, &after) == 0)
        add_held(w, (int64_t)after.st_size - (int64_t)before.st_size, 0);
    return rc;
}

static int append(struct writing *w, int dir, const char *file, const struct there *there)
{
    int fd = hcb_file_append_at(dir, file, w->a->name, w->err);
    if (fd < 0)
        return fd;
    add_held(w, 0, !there->is);
    int rc = append_open(w, fd);
    if (close(fd) != 0 && rc == 0 && errno != EINTR)
        rc = hcb_fail_errno(w->err, "write %s", w->a->name);
    return rc;
}

static int write_in(struct writing *w, int dir, const char *file)
{
    const struct hcb_artifact *a = w->a;
    struct there there;
    int rc = look(w, dir, file, &there);
    if (rc == 0)
        rc = need_room(w, (int64_t)a->n - (a->append ? 0 : there.bytes), !there.is);
    if (rc == 0)
        rc = a->append ? append(w, dir, file, &there) : replace(w, dir, file, &there);
    return rc;
}

int hcb_artifact_write(const struct hcb_artifact *a, struct hcb_artifacts *held, int64_t now_ns,
                       struct hcb_err *err)
{
    struct writing w = {.a = a, .held = held, .now_ns = now_ns, .err = err};
    const char *file;
    int rc = hcb_id_check(a->id, strlen(a->id), err);
    if (rc == 0)
        rc = hcb_artifact_check(a->name, strlen(a->name), err);
    if (rc < 0)
        return rc;
    w.folder = open_folder(&w);
    if (w.folder < 0)
        return w.folder;
    int dir = open_parent(&w, &file);
    rc = dir < 0 ? dir : write_in(&w, dir, file);
    if (dir >= 0)
        close(dir);
    close(w.folder);
    return rc;
}
