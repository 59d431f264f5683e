/* Script text before Lua sees it, and the shipped scripts. */
#include "script/script.h"
#include "script/shipped.h"
#include <string.h>

static int refuse(struct hcb_fault *fault, const char *chunkname, const char *what)
{
    return hcb_fault_set(fault, HCB_SYNTAX, "%s: %s", chunkname + (*chunkname == '@'), what);
}

int hcb_source_clean(const char **text, size_t *n, const char *chunkname, struct hcb_fault *fault)
{
    const char *s = *text;
    size_t left = *n;
    if (left > HCB_SCRIPT_BYTES)
        return refuse(fault, chunkname, "larger than 256 KiB, which no script may be");
    if (left >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0)
        s += 3, left -= 3;
    if (left > 0 && *s == '\x1b')
        return refuse(fault, chunkname, "precompiled Lua is not accepted: load the source text");
    if (memchr(s, '\0', left))
        return refuse(fault, chunkname, "holds a NUL byte, so it is no Lua source");
    if (left > 0 && *s == '#') /* up to the newline, which stays: lines keep their numbers */
        while (left > 0 && *s != '\n')
            s++, left--;
    *text = s;
    *n = left;
    return 0;
}

const struct hcb_shipped *hcb_shipped_find(const char *module)
{
    for (const struct hcb_shipped *s = hcb_shipped; s->module; s++)
        if (strcmp(s->module, module) == 0)
            return s;
    return NULL;
}
