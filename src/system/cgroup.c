/* Looks at each control group from the mount's own directory down to that of the process,
 * since the tightest limit on this path counts. What of the path is not below the mount (a
 * container has it by its name outside) is left out: the mount's directory is the
 * container's then. */
#include "system/cgroup.h"

#include "system/probe.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Of control files in one directory. */
struct names {
    const char *limit, *usage, *inactive; /* the last one is a line of memory.stat */
};

static void look_memory(int dir, const struct names *names, int version, int64_t ram,
                        struct hcb_cgroup *out)
{
    int64_t limit, used = -1, inactive;
    if (!hcb_probe_find(dir, names->limit, "", &limit) || limit <= 0 || limit >= ram ||
        (out->memory_version && limit >= out->memory_max))
        return;
    if (hcb_probe_find(dir, names->usage, "", &used) &&
        hcb_probe_find(dir, "memory.stat", names->inactive, &inactive))
        used = used > inactive ? used - inactive : 0;
    out->memory_version = version;
    out->memory_max = limit;
    out->memory_used = used;
}

static void note_quota(int64_t quota, int64_t period, int version, struct hcb_cgroup *out)
{
    if (quota <= 0 || period <= 0)
        return;
    double cpus = (double)quota / (double)period;
    if (out->cpus_version && cpus >= out->cpus)
        return;
    out->cpus_version = version;
    out->cpus = cpus;
}

static void look_memory_1(int dir, int64_t ram, struct hcb_cgroup *out)
{
    static const struct names names = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                       "total_inactive_file "};
    look_memory(dir, &names, 1, ram, out);
}

static void look_cpu_1(int dir, int64_t ram, struct hcb_cgroup *out)
{
    int64_t quota, period;
    (void)ram;
    if (hcb_probe_find(dir, "cpu.cfs_quota_us", "", &quota) &&
        hcb_probe_find(dir, "cpu.cfs_period_us", "", &period))
        note_quota(quota, period, 1, out);
}

/* "200000 100000", or "max 100000" where there is no quota. */
static void look_cpu_2(int dir, struct hcb_cgroup *out)
{
    struct hcb_probe probe;
    int64_t quota, period;
    if (!hcb_probe_open(&probe, dir, "cpu.max"))
        return;
    const char *line = hcb_probe_next(&probe);
    if (line && hcb_probe_number(&line, &quota) && hcb_probe_number(&line, &period))
        note_quota(quota, period, 2, out);
    hcb_probe_close(&probe);
}

static void look_2(int dir, int64_t ram, struct hcb_cgroup *out)
{
    static const struct names names = {"memory.max", "memory.current", "inactive_file "};
    look_memory(dir, &names, 2, ram, out);
    look_cpu_2(dir, out);
}

/* Trees of groups that matter here. */
struct tree {
    const char *controller; /* NULL: that of version 2, which has all that no other one has */
    void (*look)(int dir, int64_t ram, struct hcb_cgroup *out);
    const char *usual[2]; /* where it is mounted if nothing says so */
};

static const struct tree trees[] = {
    {"memory", look_memory_1, {"/sys/fs/cgroup/memory", NULL}},
    {"cpu", look_cpu_1, {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}},
    {NULL, look_2, {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"}},
};
#define TREES (sizeof trees / sizeof *trees)

/* A list as in "rw,cpu,cpuacct". */
static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (; list; list = strchr(list, ','), list = list ? list + 1 : NULL)
        if (strncmp(list, word, n) == 0 && (list[n] == ',' || list[n] == '\0'))
            return true;
    return false;
}

/* ---- where it is mounted ------------------------------------------------------ */

struct mount {
    char *top;   /* the group that is its directory, a path as in /proc/self/cgroup */
    char *point; /* its directory */
    const char *type, *options;
};

/* "\040" stands for a space in these. */
static void unescape(char *s)
{
    char *to = s;
    for (; *s; s++) {
        bool octal = s[0] == '\\' && strspn(s + 1, "01234567") >= 3;
        *to++ = octal ? (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0')) : *s;
        s += octal ? 3 : 0;
    }
    *to = '\0';
}

/* A line of mountinfo, see proc(5): "id parent device TOP POINT ... - TYPE source OPTIONS". */
static bool parse_mount(char *line, struct mount *m)
{
    char *words[5], *rest = NULL, *type = strstr(line, " - ");
    if (!type)
        return false;
    *type = '\0';
    type += 3;
    char *options = strrchr(type, ' ');
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!(words[i] = strtok_r(i == 0 ? line : NULL, " ", &rest)))
            return false;
    type[strcspn(type, " ")] = '\0';
    *m = (struct mount){words[3], words[4], type, options ? options + 1 : ""};
    unescape(m->top);
    unescape(m->point);
    return true;
}

static bool is_of(const struct mount *m, const struct tree *tree)
{
    if (!tree->controller)
        return strcmp(m->type, "cgroup2") == 0;
    return strcmp(m->type, "cgroup") == 0 && has_word(m->options, tree->controller);
}

/* The part of the path that is below the group `top`; NULL where it is not. */
static const char *below(const char *path, const char *top)
{
    size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);
    return strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0') ? path + n : NULL;
}

static int open_directory(const char *root, const char *path)
{
    char whole[HCB_PROBE_PATH];
    return hcb_probe_path(whole, root, path) ? open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                             : -1;
}

/* A mount that shows the group of the process, else the first one. Of *path stays what is
 * below it. */
static int find_mount(const char *root, const struct tree *tree, const char **path)
{
    char whole[HCB_PROBE_PATH], *line;
    const char *rest = NULL;
    struct hcb_probe probe;
    struct mount m;
    int dir = -1;
    if (!hcb_probe_path(whole, root, "/proc/self/mountinfo") ||
        !hcb_probe_open(&probe, AT_FDCWD, whole))
        return -1;
    while (!rest && (line = hcb_probe_next(&probe))) {
        if (!parse_mount(line, &m) || !is_of(&m, tree))
            continue;
        const char *inside = below(*path, m.top);
        int found = dir < 0 || inside ? open_directory(root, m.point) : -1;
        if (found < 0)
            continue;
        if (dir >= 0)
            close(dir);
        dir = found;
        rest = inside;
    }
    hcb_probe_close(&probe);
    if (dir >= 0)
        *path = rest ? rest : "";
    return dir;
}

static int open_mount(const char *root, const struct tree *tree, const char **path)
{
    int dir = find_mount(root, tree, path);
    for (size_t i = 0; i < 2 && dir < 0 && tree->usual[i]; i++)
        dir = open_directory(root, tree->usual[i]);
    return dir;
}

/* ---- the path from there ------------------------------------------------------ */

/* "/.." begins the path of a process that is outside of its own name space. */
static bool next_name(const char **path, char name[NAME_MAX + 1])
{
    const char *from = *path + strspn(*path, "/");
    size_t n = strcspn(from, "/");
    if (n == 0 || n > NAME_MAX)
        return false;
    memcpy(name, from, n);
    name[n] = '\0';
    *path = from + n;
    return strcmp(name, "..") != 0;
}

static void walk(int dir, const char *path, const struct tree *tree, int64_t ram,
                 struct hcb_cgroup *out)
{
    char name[NAME_MAX + 1];
    while (dir >= 0) {
        tree->look(dir, ram, out);
        int next = next_name(&path, name) ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                          : -1;
        close(dir);
        dir = next;
    }
}

/* A line of /proc/self/cgroup: "4:memory:/path", "0::/path". */
static void read_line(const char *root, char *line, int64_t ram, struct hcb_cgroup *out)
{
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(++controllers, ':') : NULL;
    if (!path)
        return;
    *path++ = '\0';
    for (size_t i = 0; i < TREES; i++) {
        const char *wanted = trees[i].controller, *rest = path;
        if (wanted ? has_word(controllers, wanted) : !*controllers) {
            int dir = open_mount(root, &trees[i], &rest);
            walk(dir, rest, &trees[i], ram, out);
        }
    }
}

/* Of a path that was cut the last name is not known. */
static void drop_last_name(char *line)
{
    char *slash = strrchr(line, '/');
    if (slash)
        *slash = '\0';
}

void hcb_cgroup_read(const char *root, int64_t ram, struct hcb_cgroup *out)
{
    char path[HCB_PROBE_PATH], *line;
    struct hcb_probe probe;
    *out = (struct hcb_cgroup){.memory_used = -1};
    if (!hcb_probe_path(path, root, "/proc/self/cgroup") ||
        !hcb_probe_open(&probe, AT_FDCWD, path))
        return;
    while ((line = hcb_probe_next(&probe))) {
        if (probe.cut)
            drop_last_name(line);
        read_line(root, line, ram, out);
    }
    hcb_probe_close(&probe);
}
