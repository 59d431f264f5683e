/* CPU time by POSIX's clock, memory by /proc alone: the peak that getrusage says may be that
 * of the program which became this one. */
#include "system/process.h"

#include "system/probe.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

double hcb_process_cpu_seconds(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        return -1;
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* "SIZE RESIDENT ...", in pages. */
static bool parse_resident(const char *line, int64_t *pages)
{
    return line && hcb_probe_number(&line, pages) && hcb_probe_number(&line, pages);
}

int64_t hcb_process_rss(const char *root)
{
    char path[HCB_PROBE_PATH];
    struct hcb_probe probe;
    int64_t pages, page = sysconf(_SC_PAGESIZE);
    if (!hcb_probe_path(path, root, "/proc/self/statm") ||
        !hcb_probe_open(&probe, AT_FDCWD, path))
        return -1;
    bool known = parse_resident(hcb_probe_next(&probe), &pages);
    hcb_probe_close(&probe);
    return known && pages >= 0 && pages <= INT64_MAX / page ? pages * page : -1;
}

int64_t hcb_process_rss_peak(const char *root)
{
    char path[HCB_PROBE_PATH];
    return hcb_probe_path(path, root, "/proc/self/status") ? hcb_probe_kib(path, "VmHWM:") : -1;
}
