/* What the process may take of the machine (public case 72): fake /proc and /sys in a folder,
 * with control groups of both versions, and whatever else may stand there. */
#include "system/system.h"

#include "base/platform.h"
#include "scratch.h"

#include <dirent.h>
#include <pthread.h>

#define GIB (INT64_C(1) << 30)

/* A file: its path below the root, and what is in it. */
struct file {
    const char *path, *text;
};

struct row {
    const char *name;
    struct file files[16];
    int64_t ram_total, ram_used;
    const char *ram_source;
    double cpus; /* 0: what the process has by its affinity */
    const char *cpus_source;
};

#define MEMINFO "MemTotal:       134217728 kB\nMemFree: 5 kB\nMemAvailable:   100663296 kB\n"
#define HOST {"/proc/meminfo", MEMINFO}

#define V2_MOUNTS \
    "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n" \
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define V2 {"/proc/self/mountinfo", V2_MOUNTS}
#define G "/sys/fs/cgroup"
#define SELF(text) {"/proc/self/cgroup", text}

#define V1_MOUNTS \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:3 - cgroup cgroup rw,cpu,cpuacct\n" \
    "35 31 0:32 / /sys/fs/cgroup/memory rw shared:4 master:1 - cgroup cgroup rw,memory\n"
#define V1 {"/proc/self/mountinfo", V1_MOUNTS}
#define M "/sys/fs/cgroup/memory"
#define C "/sys/fs/cgroup/cpu,cpuacct"
#define V1_NONE "9223372036854771712\n"

#define A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A200 A50 A50 A50 A50
#define A1000 A200 A200 A200 A200 A200
#define DEEP "/" A200 "/" A200 "/" A200

static const struct row rows[] = {
    {"v2: the parent's limit is smaller",
     {HOST, V2, SELF("0::/a/b\n"), {G "/a/b/memory.max", "96636764160\n"},
      {G "/a/b/memory.current", "1073741824\n"}, {G "/a/memory.max", "68719476736\n"},
      {G "/a/memory.current", "8589934592\n"},
      {G "/a/memory.stat", "anon 5\nfile 6\ninactive_anon 7\ninactive_file 3221225472\n"},
      {G "/a/b/cpu.max", "200000 100000\n"}},
     64 * GIB, 5 * GIB, "cgroup v2", 2.0, "cgroup v2"},
    {"v2: the leaf's limit is smaller",
     {HOST, V2, SELF("0::/a/b\n"), {G "/a/b/memory.max", "96636764160\n"},
      {G "/a/b/memory.current", "1073741824\n"}, {G "/a/b/memory.stat", "inactive_file 1024\n"},
      {G "/a/memory.max", "max\n"}, {G "/a/cpu.max", "50000 100000\n"},
      {G "/a/b/cpu.max", "max 100000\n"}},
     90 * GIB, GIB - 1024, "cgroup v2", 0.5, "cgroup v2"},
    {"v2: no limit",
     {HOST, V2, SELF("0::/a\n"), {G "/a/memory.max", "max\n"}, {G "/a/memory.current", "5\n"},
      {G "/a/cpu.max", "max 100000\n"}},
     128 * GIB, 32 * GIB, "host", 0, ""},
    {"v2: a limit above what there is",
     {HOST, V2, SELF("0::/a\n"), {G "/a/memory.max", "137438953473\n"},
      {G "/a/cpu.max", "900000000 100000\n"}},
     128 * GIB, 32 * GIB, "host", 0, ""},
    {"v2: in a name space, where the mount's directory is the group",
     {HOST, V2, SELF("0::/\n"), {G "/memory.max", "1073741824\n"},
      {G "/memory.current", "1000\n"}, {G "/memory.stat", "inactive_file 2000\n"},
      {G "/cpu.max", "10000 100000"}},
     GIB, 0, "cgroup v2", 0.1, "cgroup v2"},
    {"v2: outside of its name space, and gone",
     {HOST, V2, SELF("0::/../b (deleted)\n"), {G "/memory.max", "1073741824\n"},
      {G "/b/memory.max", "4096\n"}},
     GIB, -1, "cgroup v2", 0, ""},
    {"v2: the mount shows a part of the tree, and has a space in its name",
     {HOST, {"/proc/self/mountinfo",
             "9 1 0:5 /other /nowhere rw - cgroup2 cgroup2 rw\n"
             "9 1 0:5 /x\\040y /sys/fs/my\\040groups rw - cgroup2 cgroup2 rw\n"},
      SELF("0::/x y/b\n"), {"/sys/fs/my groups/b/memory.max", "2147483648\n"},
      {"/sys/fs/my groups/memory.max", "3221225472\n"}},
     2 * GIB, -1, "cgroup v2", 0, ""},
    {"v2: nothing says where it is mounted",
     {HOST, SELF("0::/a\n"), {G "/a/memory.max", "1073741824\n"}, {G "/a/memory.current", "7\n"}},
     GIB, 7, "cgroup v2", 0, ""},
    {"v1: the default means no limit",
     {HOST, V1, SELF("4:memory:/a\n2:cpu,cpuacct:/a\n"), {M "/a/memory.limit_in_bytes", V1_NONE},
      {M "/memory.limit_in_bytes", V1_NONE}, {M "/a/memory.usage_in_bytes", "77\n"},
      {C "/a/cpu.cfs_quota_us", "-1\n"}, {C "/a/cpu.cfs_period_us", "100000\n"}},
     128 * GIB, 32 * GIB, "host", 0, ""},
    {"v1: limits",
     {HOST, V1, SELF("4:memory:/a/b\n2:cpu,cpuacct:/a/b\n"),
      {M "/a/b/memory.limit_in_bytes", V1_NONE}, {M "/a/memory.limit_in_bytes", "4294967296\n"},
      {M "/a/memory.usage_in_bytes", "3221225472\n"},
      {M "/a/memory.stat", "inactive_file 5\ntotal_inactive_file 1073741824\n"},
      {C "/a/b/cpu.cfs_quota_us", "25000\n"}, {C "/a/b/cpu.cfs_period_us", "50000\n"}},
     4 * GIB, 2 * GIB, "cgroup v1", 0.5, "cgroup v1"},
    {"v1: in a container, which shows its own group as the tree",
     {HOST, {"/proc/self/mountinfo",
             "9 1 0:5 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
             "9 1 0:6 /docker/1f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"},
      SELF("4:memory:/docker/1f\n2:cpu:/docker/1f\n"),
      {M "/memory.limit_in_bytes", "1073741824\n"}, {M "/memory.usage_in_bytes", "9\n"},
      {G "/cpu/cpu.cfs_quota_us", "30000\n"}, {G "/cpu/cpu.cfs_period_us", "100000\n"}},
     GIB, 9, "cgroup v1", 0.3, "cgroup v1"},
    {"v1: in a container, and nothing says what the mount shows",
     {HOST, SELF("4:memory:/docker/1f\n2:cpu:/docker/1f\n"),
      {M "/memory.limit_in_bytes", "1073741824\n"},
      {C "/cpu.cfs_quota_us", "30000\n"}, {C "/cpu.cfs_period_us", "100000\n"}},
     GIB, -1, "cgroup v1", 0.3, "cgroup v1"},
    {"v1: a number beyond all bounds",
     {HOST, V1, SELF("4:memory:/\n"), {M "/memory.limit_in_bytes", "18446744073709551615\n"}},
     128 * GIB, 32 * GIB, "host", 0, ""},
    {"v1: both on one mount",
     {HOST, {"/proc/self/mountinfo", "9 1 0:5 / /cg rw - cgroup cgroup rw,memory,cpu\n"},
      SELF("4:cpu,memory:/a\n"), {"/cg/a/memory.limit_in_bytes", "1073741824\n"},
      {"/cg/a/cpu.cfs_quota_us", "30000\n"}, {"/cg/a/cpu.cfs_period_us", "100000\n"}},
     GIB, -1, "cgroup v1", 0.3, "cgroup v1"},
    {"hybrid: memory by v1, processors by v2",
     {HOST, {"/proc/self/mountinfo",
             "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
             "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"},
      SELF("9:name=systemd:/a\n4:memory:/a\n0::/b\n"),
      {M "/a/memory.limit_in_bytes", "1073741824\n"}, {M "/a/memory.usage_in_bytes", "9\n"},
      {G "/unified/b/cpu.max", "20000 100000\n"}},
     GIB, 9, "cgroup v1", 0.2, "cgroup v2"},
    {"no control groups", {HOST}, 128 * GIB, 32 * GIB, "host", 0, ""},
    {"an old kernel does not say what can be had",
     {{"/proc/meminfo", "MemTotal: 1024 kB\nMemFree: 5 kB\n"}},
     1 << 20, -1, "host", 0, ""},
    {"nothing at all", {{NULL, NULL}}, -1, -1, "", 0, ""},
    {"a limit, and no word on the machine",
     {V2, SELF("0::/\n"), {G "/memory.max", "1073741824\n"}},
     GIB, -1, "cgroup v2", 0, ""},
    {"garbage",
     {{"/proc/meminfo", "MemTotal: lots\n\nMemAvailable\n"},
      {"/proc/self/mountinfo", "\n - \n1 2 3 - \n- - - - - - - cgroup2\n1 2 3 4 /x - cgroup2\n"},
      SELF("\n0\n0:\n::::\nx:y\n0::\n0::a\n:memory:\n\xff\xfe\n"), {G "/memory.max", "-5\n"},
      {G "/cpu.max", "1 0\n"}, {G "/a/cpu.max", "half of it"}, {G "/a/memory.max", ""},
      {M "/memory.limit_in_bytes", "0\n"}},
     -1, -1, "", 0, ""},
    {"empty files",
     {{"/proc/meminfo", ""}, {"/proc/self/cgroup", ""}, {"/proc/self/mountinfo", ""},
      {"/proc/self/statm", ""}, {"/proc/self/status", ""}},
     -1, -1, "", 0, ""},
    {"long names", /* three levels of 200, below a mount that stands behind a long line */
     {HOST, {"/proc/self/mountinfo", "22 1 8:1 / /" A1000 A1000 A1000 " - overlay o rw\n"
                                     V2_MOUNTS},
      SELF("0::" DEEP "\n"), {G DEEP "/memory.max", "1073741824\n"},
      {G DEEP "/cpu.max", "10000 100000\n"}},
     GIB, -1, "cgroup v2", 0.1, "cgroup v2"},
    {"a path that is too long, for what is read of it",
     {HOST, V2, SELF("0::/a/" A200 "/" A1000 A1000 "/b\n"), {G "/a/memory.max", "1073741824\n"},
      {G "/a/" A200 "/cpu.max", "10000 100000\n"}},
     GIB, -1, "cgroup v2", 0.1, "cgroup v2"},
};

/* Writes root/path, with the directories that it is in. */
static void put(const char *root, const struct file *f)
{
    char path[2048];
    snprintf(path, sizeof path, "%s%s", root, f->path);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    scratch_write(path, f->text);
}

static int open_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void check_row(const struct row *row, const char *root)
{
    struct hcb_system s;
    int all, usable = hcb_platform_cpus(&all), before = open_descriptors();
    bool quota = row->cpus > 0 && row->cpus <= usable;
    const char *source = quota ? row->cpus_source : usable < all ? "affinity" : "host";
    print_message("  %s\n", row->name);
    hcb_system_read(root, &s);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(s.ram_total, row->ram_total);
    assert_int_equal(s.ram_used, row->ram_used);
    assert_string_equal(s.ram_source, row->ram_source);
    assert_true(s.cpus == (quota ? row->cpus : usable));
    assert_string_equal(s.cpus_source, source);
    assert_true(s.rss < 0 && s.rss_peak < 0);
}

static void test_groups(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[16], root[320];
        snprintf(name, sizeof name, "root%zu", i);
        snprintf(root, sizeof root, "%s", scratch(name));
        mkdir(root, 0777);
        for (const struct file *f = rows[i].files; f->path; f++)
            put(root, f);
        check_row(&rows[i], root);
    }
}

/* Bytes of the process, as two files of /proc have them. */
static void test_process(void **state)
{
    static const struct {
        const char *statm, *status;
        int64_t pages, peak;
    } cases[] = {
        {"900 250 30 1 0 60 0\n", "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1000 kB\n", 250, 2 << 20},
        {"900 250 30\n", "VmHWM: 1 kB\n", 250, 0},
        {"900\n", "VmHWM:\nVmRSS: 7 kB\n", -1, -1},
        {"900 -1\n", "VmHWM: -1 kB\n", -1, -1},
        {"x y\n", "VmHWM: 9223372036854775807 kB\n", -1, -1},
        {"1 9223372036854775807\n", "\n", -1, -1},
    };
    int64_t page = sysconf(_SC_PAGESIZE);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hcb_system s;
        put(scratch_dir, &(struct file){"/proc/self/statm", cases[i].statm});
        put(scratch_dir, &(struct file){"/proc/self/status", cases[i].status});
        hcb_system_read(scratch_dir, &s);
        int64_t rss = cases[i].pages < 0 ? -1 : cases[i].pages * page;
        assert_int_equal(s.rss, rss);
        assert_int_equal(s.rss_peak, cases[i].peak == 0 ? rss : cases[i].peak);
    }
}

/* Files that have no end, lines that are none, and a root that is too long. */
static void test_size(void **state)
{
    struct hcb_system s;
    size_t n = 8 << 20;
    char *text = malloc(n);
    (void)state;
    assert_non_null(text);
    put(scratch_dir, &(struct file){"/proc/self/cgroup", ""});
    memset(text, 'x', n);
    scratch_put(scratch("proc/self/cgroup"), O_TRUNC, text, n);
    scratch_put(scratch("proc/self/mountinfo"), O_TRUNC, text, n);
    memset(text, '\n', n);
    scratch_put(scratch("proc/meminfo"), O_TRUNC, text, n);
    memset(text, '\0', n);
    scratch_put(scratch("proc/self/status"), O_TRUNC, text, n);
    hcb_system_read(scratch_dir, &s);
    assert_true(s.ram_total == -1 && s.rss_peak == -1);
    memset(text, '/', 5000);
    text[5000] = '\0';
    hcb_system_read(text, &s);
    assert_true(s.ram_total == -1 && s.rss == -1 && s.rss_peak == -1);
    free(text);
}

/* This machine's own. */
static void test_here(void **state)
{
    struct hcb_system s, later;
    (void)state;
    hcb_system_read("", &s);
    assert_true(s.rss > 0 && s.rss_peak >= s.rss);
    assert_true(s.ram_total > s.rss && s.ram_used > 0 && s.ram_used <= s.ram_total);
    assert_true(s.cpus > 0.01);
    assert_true(*s.cpus_source && *s.ram_source);
    assert_true(s.cpu_seconds >= 0);
    hcb_system_read("", &later);
    assert_true(later.cpu_seconds >= s.cpu_seconds);
}

/* Whether or not there is an NVML here. */
static void *ask_gpus(void *unused)
{
    static struct hcb_gpu none;
    struct hcb_gpu gpus[HCB_GPUS];
    const char *why = "unset";
    int before = hcb_system_gpus(gpus, &why); /* it may not be loaded yet */
    hcb_system_load_gpus();
    int n = hcb_system_gpus(gpus, &why);
    (void)unused;
    if (!hcb_system_knows_gpus() || before > n)
        return NULL;
    bool sane = n == 0 ? why && *why : n <= HCB_GPUS && !why && *gpus[0].name;
    return sane ? &none : NULL;
}

static void test_gpus(void **state)
{
    pthread_t threads[8];
    void *result;
    (void)state;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_gpus, NULL), 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
    struct hcb_gpu gpus[HCB_GPUS];
    assert_in_range(hcb_system_gpus(gpus, NULL), 0, HCB_GPUS);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(test_groups),    WITH_SCRATCH(test_process), WITH_SCRATCH(test_size),
        cmocka_unit_test(test_here), cmocka_unit_test(test_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
