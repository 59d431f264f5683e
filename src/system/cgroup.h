/* What the process's control groups allow it, by version 1 and 2 and both at once. Knows
 * nothing of the machine but the memory it is told of. */
#ifndef HCB_SYSTEM_CGROUP_H
#define HCB_SYSTEM_CGROUP_H

#include <stdint.h>

struct hcb_cgroup {
    int memory_version;  /* of the smallest limit: 1, 2, or 0 where there is none */
    int64_t memory_max;  /* bytes */
    int64_t memory_used; /* by all in the group that has this limit, without files that can be
                            dropped; negative: not known */
    int cpus_version;    /* of the smallest quota, as above */
    double cpus;
};

/* A limit of ram bytes or more is none, as by default in version 1. */
void hcb_cgroup_read(const char *root, int64_t ram, struct hcb_cgroup *out);

#endif
