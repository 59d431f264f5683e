/* Command lines: bytes as a command file, read through the real reader piece by piece,
 * each line parsed as an op and answered in a ledger.
 *
 * The input is what is appended, with a look of the reader at each 0xff. A part that
 * begins with 0xfe replaces the file instead. In it 0xfd stands for a long text, and 0xfc
 * for a run that starts anew from the place it saved. */
#include "checks.h"

#include "control/commands.h"

#include <string.h>

#define NAME "hotcb.commands.jsonl"
#define REPLACE '\xfe'
#define LONG_TEXT '\xfd'
#define RESTART '\xfc'
#define LONG_BYTES 60000
#define PARTS_MAX 12
#define LOOKS_MAX 40 /* of one part; many more than its bytes and lines need */
#define PARSED_MAX 16
#define LONG_MAX 12 /* of them in one input */

struct fuzz {
    struct hcb_commands reader;
    struct hcb_buf file; /* what is in the file now */
    bool lost;           /* a line was too long, or the file was replaced */
    int64_t line, count; /* handed out */
    int longs, parsed;
};

/* The line stands in the file as it was handed out, whole, and nothing was passed over
 * that is not blank. */
static void check_line(struct fuzz *f, const struct hcb_line *line)
{
    const char *start = f->file.data + line->offset;
    MUST(line->number > f->line || f->lost);
    f->line = line->number;
    f->count++;
    f->lost |= line->too_long;
    MUST(line->n <= HCB_LINE_BYTES && line->offset + (int64_t)line->n <= (int64_t)f->file.len);
    if (line->too_long)
        return;
    bool mark = line->text[0] != start[0] || (line->n > 0 && memcmp(start, line->text, line->n));
    MUST(!mark || (line->offset == 0 && memcmp(start + 3, line->text, line->n) == 0));
    const char *end = start + (mark ? 3 : 0) + line->n;
    MUST(*end == '\n' || (*end == '\r' && end[1] == '\n'));
    MUST(line->offset == 0 || start[-1] == '\n');
    if (line->n < LONG_BYTES && f->parsed++ < PARSED_MAX) /* the others only cost time */
        fuzz_check_command(line->text, line->n);
}

static int64_t lines_before(const struct fuzz *f, int64_t offset)
{
    const char *at = hcb_buf_text(&f->file), *end = at + offset;
    int64_t lines = 0;
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        lines++;
        at++;
    }
    return lines;
}

/* The place is where a count of the file's lines would have it. */
static void check_place(const struct fuzz *f)
{
    const struct hcb_commands_place *p = &f->reader.place;
    MUST(p->offset >= 0 && p->offset <= (int64_t)f->file.len);
    MUST(p->tail <= p->offset);
    if (f->lost)
        return;
    MUST(p->lines == lines_before(f, p->offset) && p->count == f->count);
    MUST(p->offset == 0 || f->file.data[p->offset - 1] == '\n');
    MUST(f->reader.more || !memchr(hcb_buf_text(&f->file) + p->offset, '\n',
                                   f->file.len - (size_t)p->offset));
}

static void restart(struct fuzz *f)
{
    struct hcb_commands_place place = f->reader.place;
    hcb_commands_release(&f->reader);
    MUST(hcb_commands_init(&f->reader, fuzz_path(NAME)) == 0);
    f->reader.place = place;
}

static void look(struct fuzz *f)
{
    struct hcb_err err = {0};
    struct hcb_line line;
    for (int i = 0; i < LOOKS_MAX; i++) {
        int event = hcb_commands_begin(&f->reader, &err);
        MUST(event >= 0 && (event != HCB_COMMANDS_RESTARTED || f->lost));
        int handed = 0;
        while (event == HCB_COMMANDS_NEW && hcb_commands_next(&f->reader, &line)) {
            check_line(f, &line);
            handed++;
        }
        MUST(handed <= HOTCB_LOOK_OPS);
        if (event == HCB_COMMANDS_RESTARTED)
            f->line = f->count = 0;
        else
            check_place(f);
        if (event != HCB_COMMANDS_RESTARTED && handed == 0 && !f->reader.more)
            return;
    }
    MUST(!"reading comes to an end");
}

/* The ledger alone leads to the same place, whoever lost the state file. */
static void find_again(struct fuzz *f, const struct hcb_commands_place *last, int64_t offset)
{
    struct hcb_commands other;
    struct hcb_err err = {0};
    MUST(hcb_commands_init(&other, fuzz_path(NAME)) == 0);
    MUST(hcb_commands_skip_to(&other, offset, &err) == 0);
    MUST(other.place.lines == f->line && other.place.count == last->count);
    hcb_commands_release(&other);
}

static void add_long(struct fuzz *f)
{
    if (hcb_buf_reserve(&f->file, LONG_BYTES))
        memset(f->file.data + f->file.len, 'x', LONG_BYTES);
    f->file.len += LONG_BYTES;
    f->file.data[f->file.len] = '\0';
}

static void add_part(struct fuzz *f, const char *part, size_t n)
{
    if (n > 0 && *part == REPLACE) {
        f->lost = true;
        hcb_buf_reset(&f->file);
        fuzz_write(NAME, "", 0);
    }
    size_t before = f->file.len;
    for (size_t i = 0; i < n; i++) {
        if (part[i] == LONG_TEXT && f->longs++ < LONG_MAX)
            add_long(f);
        else if (part[i] == RESTART)
            restart(f);
        else if (part[i] != REPLACE)
            hcb_buf_char(&f->file, part[i]);
    }
    fuzz_append(NAME, hcb_buf_text(&f->file) + before, f->file.len - before);
}

/* Where the last line begins that was handed out: the one before the place. */
static int64_t last_line(const struct fuzz *f)
{
    const char *data = f->file.data;
    int64_t at = 0, start = -1;
    for (int64_t line = 1; line <= f->line && at < (int64_t)f->file.len; line++) {
        start = at;
        at = (const char *)memchr(data + at, '\n', f->file.len - (size_t)at) - data + 1;
    }
    return start;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {.at = (const char *)data, .left = size};
    struct fuzz f = {0};
    const char *part;
    size_t n;
    fuzz_write(NAME, "", 0);
    MUST(hcb_commands_init(&f.reader, fuzz_path(NAME)) == 0);
    for (int i = 0; i < PARTS_MAX && fuzz_part(&in, &part, &n); i++) {
        add_part(&f, part, n);
        look(&f);
    }
    struct hcb_commands_place place = f.reader.place;
    if (!f.lost && f.count > 0)
        find_again(&f, &place, last_line(&f));
    hcb_commands_release(&f.reader);
    hcb_buf_release(&f.file);
    return 0;
}
