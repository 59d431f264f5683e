/* Reads a file line by line into the buffer of its reader; see probe.h. */
#include "system/probe.h"

#include "base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool hcb_probe_open(struct hcb_probe *probe, int dir, const char *path)
{
    probe->fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    probe->cut = probe->skipping = false;
    probe->from = probe->to = 0;
    probe->left = HCB_PROBE_BYTES;
    return probe->fd >= 0;
}

void hcb_probe_close(struct hcb_probe *probe)
{
    close(probe->fd);
}

/* Reads on behind what is left; a byte stays free for a NUL. */
static bool refill(struct hcb_probe *probe)
{
    size_t kept = probe->to - probe->from, room = sizeof probe->buf - 1 - kept;
    ssize_t n;
    memmove(probe->buf, probe->buf + probe->from, kept);
    probe->from = 0;
    probe->to = kept;
    do
        n = read(probe->fd, probe->buf + kept, room < probe->left ? room : probe->left);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    probe->to += (size_t)n;
    probe->left -= (size_t)n;
    return true;
}

/* What is in the buffer up to `end`, where its line, if it has an end, goes on behind
 * `next`; NULL for the rest of one that was cut. */
static char *take(struct hcb_probe *probe, char *end, size_t next, bool whole)
{
    char *line = probe->buf + probe->from;
    bool wanted = !probe->skipping;
    *end = '\0';
    probe->from = next;
    probe->skipping = !whole;
    probe->cut = !whole;
    return wanted ? line : NULL;
}

char *hcb_probe_next(struct hcb_probe *probe)
{
    char *line = NULL;
    while (!line) {
        char *text = probe->buf + probe->from, *all = probe->buf + probe->to;
        char *end = memchr(text, '\n', (size_t)(all - text));
        if (end)
            line = take(probe, end, (size_t)(end + 1 - probe->buf), true);
        else if ((size_t)(all - text) == sizeof probe->buf - 1)
            line = take(probe, all, probe->to, false);
        else if (!refill(probe))
            return probe->from < probe->to ? take(probe, probe->buf + probe->to, probe->to, true)
                                           : NULL;
    }
    return line;
}

bool hcb_probe_path(char out[HCB_PROBE_PATH], const char *root, const char *path)
{
    size_t root_n = strlen(root), path_n = strlen(path);
    if (root_n + path_n >= HCB_PROBE_PATH)
        return false;
    memcpy(out, root, root_n);
    memcpy(out + root_n, path, path_n + 1);
    return true;
}

bool hcb_probe_number(const char **text, int64_t *out)
{
    const char *s = *text + strspn(*text, " \t");
    size_t n = *s == '-' ? 1 : 0;
    bool overflow = false;
    n += strspn(s + n, "0123456789");
    *text = s + n;
    if (hcb_parse_int(s, n, out, &overflow))
        return true;
    *out = INT64_MAX;
    return overflow && *s != '-';
}

bool hcb_probe_find(int dir, const char *path, const char *key, int64_t *out)
{
    struct hcb_probe probe;
    size_t key_n = strlen(key);
    bool found = false;
    if (!hcb_probe_open(&probe, dir, path))
        return false;
    for (const char *line; !found && (line = hcb_probe_next(&probe));) {
        if (strncmp(line, key, key_n) != 0)
            continue;
        line += key_n;
        found = hcb_probe_number(&line, out);
    }
    hcb_probe_close(&probe);
    return found;
}

int64_t hcb_probe_kib(const char *path, const char *key)
{
    int64_t n;
    if (!hcb_probe_find(AT_FDCWD, path, key, &n) || n < 0 || n > INT64_MAX >> 10)
        return -1;
    return n << 10;
}
