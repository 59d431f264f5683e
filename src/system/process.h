/* What the process itself has taken so far. Knows nothing of what it may take. */
#ifndef HCB_SYSTEM_PROCESS_H
#define HCB_SYSTEM_PROCESS_H

#include <stdint.h>

double hcb_process_cpu_seconds(void); /* of all its threads */

/* Bytes; negative where they are not known. */
int64_t hcb_process_rss(const char *root);
int64_t hcb_process_rss_peak(const char *root);

#endif
