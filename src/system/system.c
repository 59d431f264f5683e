/* Puts together what the machine has and what the control groups leave of it; see system.h. */
#include "system/system.h"

#include "base/platform.h"
#include "system/cgroup.h"
#include "system/probe.h"
#include "system/process.h"

#include <string.h>

#define NO_MACHINE (INT64_C(1) << 62) /* bytes of memory that no machine has */

static void name_cgroup(char source[16], int version)
{
    memcpy(source, version == 1 ? "cgroup v1" : "cgroup v2", sizeof "cgroup v1");
}

static void read_ram(const char *root, struct hcb_system *out)
{
    char path[HCB_PROBE_PATH];
    out->ram_total = out->ram_used = -1;
    if (!hcb_probe_path(path, root, "/proc/meminfo"))
        return;
    out->ram_total = hcb_probe_kib(path, "MemTotal:");
    int64_t available = hcb_probe_kib(path, "MemAvailable:");
    if (out->ram_total < 0)
        return;
    memcpy(out->ram_source, "host", sizeof "host");
    if (available >= 0)
        out->ram_used = out->ram_total > available ? out->ram_total - available : 0;
}

static void read_cpus(struct hcb_system *out)
{
    int all, usable = hcb_platform_cpus(&all);
    out->cpus = usable > 0 ? usable : -1;
    if (usable > 0)
        strcpy(out->cpus_source, usable < all ? "affinity" : "host");
}

static void apply_cgroup(const struct hcb_cgroup *group, struct hcb_system *out)
{
    if (group->memory_version) {
        out->ram_total = group->memory_max;
        out->ram_used = group->memory_used;
        name_cgroup(out->ram_source, group->memory_version);
    }
    if (group->cpus_version && (out->cpus < 0 || group->cpus <= out->cpus)) {
        out->cpus = group->cpus;
        name_cgroup(out->cpus_source, group->cpus_version);
    }
}

void hcb_system_read(const char *root, struct hcb_system *out)
{
    struct hcb_cgroup group;
    memset(out, 0, sizeof *out);
    out->cpu_seconds = hcb_process_cpu_seconds();
    out->rss = hcb_process_rss(root);
    out->rss_peak = hcb_process_rss_peak(root);
    if (out->rss_peak >= 0 && out->rss_peak < out->rss)
        out->rss_peak = out->rss; /* it has grown between the two */
    read_ram(root, out);
    read_cpus(out);
    hcb_cgroup_read(root, out->ram_total < 0 ? NO_MACHINE : out->ram_total, &group);
    apply_cgroup(&group, out);
}
