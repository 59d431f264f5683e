/* What one callback may use. */
#ifndef HCB_LIMITS_H
#define HCB_LIMITS_H

#include "base/err.h"
#include "base/value.h"

struct hcb_limits {
    int64_t time_ms;   /* CPU time of one call */
    int64_t memory_mb; /* of its Lua state */
    int64_t errors;    /* failures within 100 calls that stop it; 0: never */
    bool coroutines;
};

#define HCB_LIMITS_DEFAULT { 50, 16, 1, false }

/* Overwrites in *limits what the map `v` names (v may be NULL or null); a null
 * in it puts back the value of *defaults. All or nothing; unknown names and
 * values out of range are refused with a sentence that begins with the name:
 * "limits.time_ms: ...". */
int hcb_limits_read(struct hcb_limits *limits, const struct hcb_limits *defaults,
                    const struct hcb_value *v, struct hcb_err *err);

/* Brings each number into the range that the reader takes. */
void hcb_limits_clamp(struct hcb_limits *limits);

#endif
