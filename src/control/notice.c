/* What the kernel tells of files, see notice.h. A directory is a record that stays; a file is
 * one as long as somebody knows it, found by its directory and name. Each has the count at
 * which something was last told of it. Knows nothing of what a file is for. */
#include "control/notice.h"

#include "base/array.h"
#include "base/file.h"
#include "base/notify.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRS_MAX 256                         /* a run watches no more, with what leads to them */
#define RETRY_NS INT64_C(1000000000)         /* so long between two tries to watch one, or looks
                                                at whose the descriptor is */
#define BUCKETS 1024
#define CHUNK_BYTES 8192
#define CHUNKS_MAX 64 /* 16384 events of 32 bytes: as many as the kernel keeps */

struct dir {
    char *path;
    int number;     /* of the kernel's; -1: it is not watched */
    bool files;     /* what happens in it is told, not only that it moves */
    bool anchored;  /* no link leads to it, and all that leads to it is watched, too */
    bool foreign;   /* on a file system that does not tell of all changes */
    bool heard;     /* that we opened it was told */
    uint64_t dev, ino;
    uint64_t told;  /* the count at which something happened that concerns all of it */
    int64_t tried_ns;
};

struct hcb_noticed_file {
    struct hcb_noticed_file *next;
    struct dir *dir;
    size_t users;
    uint64_t told;
    char name[];
};

struct hcb_notice {
    struct hcb_notify from;
    uint64_t count;
    uint64_t all_told; /* the count at which something may have happened to any file */
    int64_t now_ns, checked_ns;
    bool linked;       /* a watched directory is not anchored */
    struct dir **dirs;
    size_t n, cap;
    struct hcb_noticed_file *files[BUCKETS];
    _Alignas(8) char chunk[CHUNK_BYTES];
};

struct hcb_notice *hcb_notice_open(void)
{
    struct hcb_notice *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->count = 1; /* above what nobody has looked at */
    n->now_ns = INT64_MIN / 2 + RETRY_NS;
    n->checked_ns = INT64_MIN / 2;
    if (hcb_notify_open(&n->from))
        return n;
    free(n);
    return NULL;
}

void hcb_notice_close(struct hcb_notice *n)
{
    if (!n)
        return;
    hcb_notify_close(&n->from);
    for (size_t i = 0; i < n->n; i++) {
        free(n->dirs[i]->path);
        free(n->dirs[i]);
    }
    free(n->dirs);
    free(n);
}

bool hcb_notice_works(const struct hcb_notice *n)
{
    for (size_t i = 0; n && i < n->n; i++)
        if (n->dirs[i]->files && n->dirs[i]->number >= 0)
            return true;
    return false;
}

uint64_t hcb_notice_count(const struct hcb_notice *n)
{
    return n && n->from.fd >= 0 ? n->count : 0;
}

void hcb_notice_again(struct hcb_notice *n)
{
    if (n)
        n->count++;
}

/* ---- directories ----------------------------------------------------------- */

/* The directory that stands there by these n bytes; NULL when there are too many. */
static struct dir *dir_of(struct hcb_notice *n, const char *path, size_t len)
{
    for (size_t i = 0; i < n->n; i++)
        if (strncmp(n->dirs[i]->path, path, len) == 0 && n->dirs[i]->path[len] == '\0')
            return n->dirs[i];
    struct dir **dirs = n->n < DIRS_MAX ? hcb_grow(n->dirs, n->n, &n->cap, sizeof *dirs) : NULL;
    struct dir *d = dirs ? calloc(1, sizeof *d) : NULL;
    n->dirs = dirs ? dirs : n->dirs;
    if (!d || !(d->path = strndup(path, len))) {
        free(d);
        return NULL;
    }
    d->number = -1;
    d->tried_ns = INT64_MIN / 2;
    return n->dirs[n->n++] = d;
}

static bool is_below(const char *path, const struct dir *d)
{
    size_t len = strlen(d->path);
    return strncmp(path, d->path, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static void stop_watching(struct hcb_notice *n, struct dir *d)
{
    if (d->number >= 0)
        hcb_notify_remove(&n->from, d->number);
    d->number = -1;
    d->files = false;
    d->told = ++n->count;
}

/* What its path leads to now may be another one, and so may all below it. */
static void lose(struct hcb_notice *n, const struct dir *d)
{
    for (size_t i = 0; i < n->n; i++)
        if (is_below(n->dirs[i]->path, d))
            stop_watching(n, n->dirs[i]);
}

/* The service does not do what it promised: nothing is trusted to it any more. */
static void give_up(struct hcb_notice *n)
{
    for (size_t i = 0; i < n->n; i++)
        n->dirs[i]->number = -1;
    n->all_told = ++n->count;
    hcb_notify_close(&n->from);
}

/* ---- what is told ---------------------------------------------------------- */

static struct hcb_noticed_file **bucket_of(struct hcb_notice *n, const struct dir *d,
                                           const char *name)
{
    uint64_t hash = (uintptr_t)d / sizeof *d;
    while (*name)
        hash = (hash ^ (unsigned char)*name++) * UINT64_C(0x100000001b3);
    return &n->files[hash / 64 % BUCKETS];
}

static struct hcb_noticed_file *find(struct hcb_notice *n, const struct dir *d, const char *name)
{
    struct hcb_noticed_file *file = *bucket_of(n, d, name);
    while (file && (file->dir != d || strcmp(file->name, name) != 0))
        file = file->next;
    return file;
}

static void take_in(struct hcb_notice *n, struct dir *d, const struct hcb_told *told)
{
    struct hcb_noticed_file *file = NULL;
    d->heard |= told->opened;
    if (told->gone)
        lose(n, d);
    else if (told->name && !told->opened)
        file = find(n, d, told->name);
    else if (!told->opened)
        d->told = ++n->count;
    if (file)
        file->told = ++n->count;
}

/* Two paths may lead to one directory. */
static void take_in_all(struct hcb_notice *n, const struct hcb_told *told)
{
    if (told->missed)
        n->all_told = ++n->count;
    for (size_t i = 0; i < n->n; i++)
        if (n->dirs[i]->number == told->dir && !told->missed)
            take_in(n, n->dirs[i], told);
}

/* false: more is told than can be taken in, and so everything counts as told of. */
static bool read_all(struct hcb_notice *n)
{
    struct hcb_told told;
    int64_t waiting = hcb_notify_waiting(&n->from), got = 1;
    for (int chunks = 0; waiting > 0 && got > 0; chunks++, waiting -= got) {
        if (chunks == CHUNKS_MAX) {
            n->all_told = ++n->count;
            return false;
        }
        got = hcb_notify_read(&n->from, n->chunk, sizeof n->chunk);
        for (size_t at = 0; got > 0 && hcb_notify_next(n->chunk, (size_t)got, &at, &told);)
            take_in_all(n, &told);
    }
    if (waiting < 0 || got < 0)
        give_up(n);
    return true;
}

/* Links may lead elsewhere since. */
static void check_linked(struct hcb_notice *n)
{
    n->linked = false;
    for (size_t i = 0; i < n->n; i++) {
        struct dir *d = n->dirs[i];
        struct hcb_sig now;
        if (!d->files || d->anchored || d->number < 0)
            continue;
        hcb_sig_get(d->path, &now);
        if (now.dev != d->dev || now.ino != d->ino)
            lose(n, d);
        n->linked = true;
    }
}

/* Looked at now and then: a descriptor of the host's in its place tells nothing for ever. */
static bool is_ours(struct hcb_notice *n)
{
    if (n->now_ns - n->checked_ns < RETRY_NS)
        return true;
    n->checked_ns = n->now_ns;
    return hcb_notify_is_ours(&n->from);
}

void hcb_notice_read(struct hcb_notice *n, int64_t now_ns)
{
    if (!n || n->from.fd < 0)
        return;
    n->now_ns = now_ns;
    if (is_ours(n))
        read_all(n);
    else
        give_up(n);
    if (n->linked)
        check_linked(n);
}

/* ---- watching -------------------------------------------------------------- */

/* What `..` leads to depends on links. */
static bool goes_up(const char *path)
{
    size_t len = strlen(path);
    return strstr(path, "/../") || (len >= 3 && strcmp(path + len - 3, "/..") == 0);
}

/* Watches all that leads to it, so that it cannot be moved unseen. false: a link does, or what
 * must not be read. */
static bool anchor(struct hcb_notice *n, const char *path)
{
    if (path[0] != '/' || goes_up(path))
        return false;
    for (size_t len = 1; path[len]; len++) {
        struct dir *above = path[len] == '/' ? dir_of(n, path, len) : NULL;
        if (path[len] != '/')
            continue;
        if (above && above->number < 0)
            above->number = hcb_notify_add(&n->from, above->path, 0);
        if (!above || above->number < 0)
            return false;
    }
    return true;
}

/* Another number is another directory, of which all below it is part. */
static bool add(struct hcb_notice *n, struct dir *d, int what)
{
    int links = d->anchored ? 0 : HCB_NOTIFY_LINKED;
    int number = hcb_notify_add(&n->from, d->path, HCB_NOTIFY_FILES | links | what);
    if (number < 0)
        return false;
    if (d->number >= 0 && d->number != number)
        lose(n, d);
    d->number = number;
    d->files = true;
    return true;
}

/* That we open it is told if anything is, and if it is what stands there now. */
static bool is_heard(struct hcb_notice *n, struct dir *d)
{
    struct stat st;
    d->heard = false;
    int fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool known = fstat(fd, &st) == 0;
    d->foreign = !hcb_notify_is_local(fd);
    close(fd);
    if (!known || d->foreign)
        return false;
    d->dev = (uint64_t)st.st_dev;
    d->ino = (uint64_t)st.st_ino;
    if (read_all(n) && !d->heard && d->number >= 0)
        give_up(n);
    return d->heard;
}

static void watch(struct hcb_notice *n, struct dir *d)
{
    d->tried_ns = n->now_ns;
    d->anchored = anchor(n, d->path);
    d->anchored = d->anchored && add(n, d, HCB_NOTIFY_OPENED);
    if (!d->anchored && !add(n, d, HCB_NOTIFY_OPENED)) /* or it is a link itself */
        return;
    int number = d->number;
    d->told = ++n->count;
    n->linked |= !d->anchored;
    if (!is_heard(n, d) || !add(n, d, 0) || d->number != number)
        stop_watching(n, d);
}

static bool is_watched(struct hcb_notice *n, struct dir *d)
{
    bool is = d->number >= 0 && d->files;
    if (!is && !d->foreign && n->from.fd >= 0 && n->now_ns - d->tried_ns >= RETRY_NS)
        watch(n, d);
    return d->number >= 0 && d->files;
}

/* A directory that is deleted stays, to its watch, as long as anybody has it open. */
static bool is_there(struct hcb_notice *n, struct dir *d)
{
    struct hcb_sig now;
    hcb_sig_get(d->path, &now);
    bool same = now.exists && now.dev == d->dev && now.ino == d->ino;
    if (!same)
        lose(n, d);
    return same;
}

/* ---- files ----------------------------------------------------------------- */

static struct hcb_noticed_file *file_of(struct hcb_notice *n, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct dir *d = slash && slash > path ? dir_of(n, path, (size_t)(slash - path)) : NULL;
    struct hcb_noticed_file *file = d ? find(n, d, slash + 1) : NULL;
    if (d && !file) {
        file = calloc(1, sizeof *file + strlen(slash + 1) + 1);
        struct hcb_noticed_file **bucket = bucket_of(n, d, slash + 1);
        if (!file)
            return NULL;
        strcpy(file->name, slash + 1);
        file->dir = d;
        file->next = *bucket;
        *bucket = file;
    }
    if (file)
        file->users++;
    return file;
}

void hcb_noticed_look(struct hcb_noticed *f, struct hcb_notice *n, const char *path)
{
    if (!n)
        return;
    if (n->from.fd < 0) { /* nothing is told any more, but that is no news */
        f->seen = n->count;
        return;
    }
    if (!f->file)
        f->file = file_of(n, path);
    if (!f->file)
        return;
    f->notice = n;
    struct dir *d = f->file->dir;
    f->plain = is_watched(n, d);
    f->seen = n->count;
    if (!f->plain)
        return;
    f->plain = hcb_notify_is_plain(path, d->dev) && is_there(n, d);
}

void hcb_noticed_forget(struct hcb_noticed *f)
{
    f->seen = 0;
    hcb_notice_again(f->notice);
}

void hcb_noticed_same(struct hcb_noticed *f, const struct hcb_noticed *as)
{
    if (as->file)
        as->file->users++;
    hcb_noticed_release(f);
    *f = *as;
}

void hcb_noticed_release(struct hcb_noticed *f)
{
    struct hcb_noticed_file *file = f->file;
    if (file && --file->users == 0) {
        struct hcb_noticed_file **place = bucket_of(f->notice, file->dir, file->name);
        while (*place != file)
            place = &(*place)->next;
        *place = file->next;
        free(file);
    }
    memset(f, 0, sizeof *f);
}

static bool is_told(const struct hcb_noticed *f)
{
    const struct hcb_noticed_file *file = f->file;
    return f->seen < file->told || f->seen < file->dir->told || f->seen < f->notice->all_told;
}

bool hcb_noticed_quiet(const struct hcb_noticed *f)
{
    return f->file && f->plain && f->seen > 0 && f->file->dir->number >= 0 && !is_told(f);
}

bool hcb_noticed_news(const struct hcb_noticed *f)
{
    return f->file && f->seen > 0 ? is_told(f) : f->file != NULL;
}
