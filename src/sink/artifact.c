/* Files that callbacks write; see artifact.h. A name is walked component by
 * component from an open directory, so that no link on the way, however it came
 * there, leads out of the run directory. Knows nothing of callbacks. */
#include "sink/artifact.h"

#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 200
#define SHOWN 60

static const char *fault_of_component(const char *s, size_t n)
{
    if (n == 0)
        return "has an empty component";
    if ((n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
        return "has \".\" or \"..\" as a component";
    return NULL;
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
    for (size_t start = 0, i = 0; i <= n; i++) {
        if (i < n && name[i] != '/')
            continue;
        const char *fault = fault_of_component(name + start, i - start);
        if (fault)
            return fault;
        start = i + 1;
    }
    return NULL;
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

static int open_dir(int parent, const char *name)
{
    int fd;
    do
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Opens the directory `name` in `parent`, made if it is missing. Closes parent. */
static int step_into(int parent, const char *name, const char *shown, struct hcb_err *err)
{
    int fd = open_dir(parent, name);
    if (fd < 0 && errno == ENOENT && (mkdirat(parent, name, 0777) == 0 || errno == EEXIST))
        fd = open_dir(parent, name);
    int rc = fd;
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        rc = hcb_fail(err, HOTCB_EIO,
                      "cannot write %s: %s is a link or no directory, and links are not followed",
                      shown, name);
    else if (fd < 0)
        rc = hcb_fail_errno(err, "open directory %s of %s", name, shown);
    close(parent);
    return rc;
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

/* The directory that the file goes into; *file is the last component of name. */
static int open_parent(const char *artifacts, const char *id, const char *name,
                       const char **file, struct hcb_err *err)
{
    char part[NAME_BYTES + 1];
    int fd = open_root(artifacts, err);
    if (fd >= 0)
        fd = step_into(fd, id, name, err);
    *file = name;
    for (const char *slash; fd >= 0 && (slash = strchr(*file, '/')); *file = slash + 1) {
        size_t n = (size_t)(slash - *file);
        memcpy(part, *file, n);
        part[n] = '\0';
        fd = step_into(fd, part, name, err);
    }
    return fd;
}

static int append_to(int dir, const char *file, const char *bytes, size_t n, const char *shown,
                     struct hcb_err *err)
{
    int fd = hcb_file_append_at(dir, file, shown, err);
    if (fd < 0)
        return fd;
    int rc = hcb_file_write_once(fd, bytes, n, shown, err);
    if (close(fd) != 0 && rc == 0 && errno != EINTR)
        rc = hcb_fail_errno(err, "write %s", shown);
    return rc;
}

int hcb_artifact_write(const char *artifacts, const char *id, const char *name,
                       const char *bytes, size_t n, bool append, struct hcb_err *err)
{
    const char *file;
    int rc = hcb_id_check(id, strlen(id), err);
    if (rc == 0)
        rc = hcb_artifact_check(name, strlen(name), err);
    if (rc < 0)
        return rc;
    int dir = open_parent(artifacts, id, name, &file, err);
    if (dir < 0)
        return dir;
    if (append)
        rc = append_to(dir, file, bytes, n, name, err);
    else
        rc = hcb_file_replace_at(dir, file, bytes, n, name, err);
    close(dir);
    return rc;
}
