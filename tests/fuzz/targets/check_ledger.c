/* A ledger: its readers on any bytes, and what a run added to them. */
#include "checks.h"

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "control/ledger.h"

#include <string.h>

#define FILE_MAX (1 << 26)

static void check_found(const char *path, const char *cmd)
{
    struct hcb_value line = {0};
    int64_t from = 0;
    MUST(hcb_ledger_find(path, &from, cmd, &line, NULL) == 1);
    MUST(hcb_streq(hcb_map_text(&line, "cmd", NULL), cmd));
    MUST(from > 0 && from <= hcb_ledger_size(path));
    hcb_value_release(&line);
}

void fuzz_check_ledger(const char *path)
{
    struct hcb_names names = {0};
    struct hcb_value line = {0};
    int64_t from = 0;
    MUST(hcb_ledger_commands(path, 1 << 20, &names, NULL) == 0);
    for (size_t i = 0; i < names.n; i++) {
        MUST(i == 0 || strcmp(names.v[i - 1], names.v[i]) <= 0);
        MUST(hcb_names_have(&names, names.v[i]));
        check_found(path, names.v[i]);
    }
    MUST(hcb_ledger_find(path, &from, "no such command", &line, NULL) == 0 ||
         hcb_names_have(&names, "no such command"));
    hcb_value_release(&line);
    hcb_names_release(&names);
}

void fuzz_check_added(const char *path, size_t before)
{
    struct hcb_buf text = {0};
    MUST(hcb_file_read(path, FILE_MAX, &text, NULL) == 0);
    const char *at = text.data + before, *end = text.data + text.len;
    MUST(text.len == 0 || end[-1] == '\n');
    for (int64_t last = 0; at < end;) {
        struct hcb_value line = {0};
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        fuzz_must_be_json(at, (size_t)(nl - at), &line);
        MUST(last == 0 || hcb_map_int(&line, "seq", 0) == last + 1);
        last = hcb_map_int(&line, "seq", 0);
        hcb_value_release(&line);
        at = nl + 1;
    }
    hcb_buf_release(&text);
}
