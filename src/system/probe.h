/* Small text files as /proc and /sys have them, read without stdio and without the heap:
 * whoever asks may be inside a script, with locks of the host's held elsewhere. Knows nothing
 * of what stands in them. */
#ifndef HCB_SYSTEM_PROBE_H
#define HCB_SYSTEM_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HCB_PROBE_LINE 2048       /* what of a line is longer is left out */
#define HCB_PROBE_BYTES (1 << 20) /* what of a file is longer is not read */
#define HCB_PROBE_PATH 512

struct hcb_probe {
    int fd;
    bool cut;        /* the line that was given last was longer */
    bool skipping;   /* up to the next end of a line */
    size_t from, to; /* what is read and not given yet */
    size_t left;
    char buf[HCB_PROBE_LINE];
};

/* A path is relative to the directory dir, or absolute. False: there is no such file. */
bool hcb_probe_open(struct hcb_probe *probe, int dir, const char *path);
/* The next line, ended by a NUL and yours to write to until the next call; NULL at the end. */
char *hcb_probe_next(struct hcb_probe *probe);
void hcb_probe_close(struct hcb_probe *probe);

/* root and path as one; false if that is too long. */
bool hcb_probe_path(char out[HCB_PROBE_PATH], const char *root, const char *path);

/* The whole number that *text begins with, after spaces and tabs; *text is behind it then.
 * One that is too large is INT64_MAX. */
bool hcb_probe_number(const char **text, int64_t *out);

/* The number behind `key` on the first line that begins with it. */
bool hcb_probe_find(int dir, const char *path, const char *key, int64_t *out);

/* That number as KiB, in bytes; negative where it is not known. */
int64_t hcb_probe_kib(const char *path, const char *key);

#endif
