/* What the process takes of the machine, and what it may take: CPU time, memory, processors,
 * GPUs. Reads /proc and /sys, and NVML where it is; keeps nothing between two calls but the
 * door to NVML. */
#ifndef HCB_SYSTEM_H
#define HCB_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HCB_GPUS 16

struct hcb_gpu {
    char name[96];
    double utilisation;     /* percent; negative: not known */
    int64_t memory_used, memory_total; /* bytes; negative: not known */
    int64_t process_memory; /* bytes that this process has there; negative: not known */
    double temperature;     /* degrees Celsius; negative: not known */
};

struct hcb_system {
    double cpu_seconds;   /* of all threads of the process, since it began; negative: not known */
    int64_t rss, rss_peak; /* bytes; negative, like the ram below: not known */
    double cpus;          /* that the process may use: affinity and quota; negative: not known */
    char cpus_source[16]; /* "affinity", "cgroup v1", "cgroup v2", "host"; "" with that */
    int64_t ram_total;    /* bytes it may use: the smallest limit on its path, or the machine's */
    int64_t ram_used;     /* of that, by all that it holds for; without what can be dropped */
    char ram_source[16];  /* "host", "cgroup v1", "cgroup v2"; "" with a ram_total not known */
};

/* `root` is put before /proc and /sys: "" but in tests. */
void hcb_system_read(const char *root, struct hcb_system *out);

/* Loads NVML, once in a process; that may take long, and it is no script that waits. */
void hcb_system_load_gpus(void);
bool hcb_system_knows_gpus(void); /* it has been loaded, or cannot be */

/* Up to HCB_GPUS devices by NVML. How many; 0 where there is none, or no NVML, or it has not
 * been loaded yet: then *why, if not NULL, is a sentence that stays. */
int hcb_system_gpus(struct hcb_gpu gpus[HCB_GPUS], const char **why);

#endif
