/* Widths, colours, wrapping and numbers for people. Writes to the stream it is
 * given; knows nothing of runs or commands. */
#include "cli/screen.h"

#include "base/platform.h"
#include "base/text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WIDTH_UNKNOWN 80
#define WIDTH_MIN 40

static int terminal_width(int fd)
{
    int n = hcb_platform_columns(fd);
    if (n > 0)
        return n;
    const char *columns = getenv("COLUMNS");
    n = columns ? atoi(columns) : 0;
    return n > 0 && n < 10000 ? n : WIDTH_UNKNOWN;
}

static bool wants_color(bool tty, enum cli_color wish)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (wish == CLI_COLOR_NEVER || (no_color && *no_color))
        return false;
    return wish == CLI_COLOR_ALWAYS || (tty && term && strcmp(term, "dumb") != 0);
}

void cli_screen_init(struct cli_screen *s, FILE *to, enum cli_color wish)
{
    s->to = to;
    s->tty = isatty(fileno(to)) == 1;
    s->color = wants_color(s->tty, wish);
    s->error = 0;
    s->width = s->tty ? terminal_width(fileno(to)) : WIDTH_UNKNOWN;
    if (s->width < WIDTH_MIN)
        s->width = WIDTH_MIN;
}

static void keep_error(struct cli_screen *s, int error)
{
    if (s->error == 0)
        s->error = error ? error : EIO;
}

void cli_screen_put(struct cli_screen *s, struct hcb_buf *b)
{
    if (b->oom)
        keep_error(s, ENOMEM);
    else if (b->len > 0 && fwrite(b->data, 1, b->len, s->to) != b->len)
        keep_error(s, errno);
    hcb_buf_release(b);
}

void cli_screen_flush(struct cli_screen *s)
{
    if (fflush(s->to) != 0)
        keep_error(s, errno);
}

void cli_drop(struct hcb_buf *b, struct hcb_buf *part)
{
    b->oom = b->oom || part->oom;
    hcb_buf_release(part);
}

void cli_paint(const struct cli_screen *s, struct hcb_buf *b, enum cli_paint paint,
               const char *text)
{
    static const char *const codes[] = {"", "1", "2", "32", "33", "31"};
    if (!s->color || paint == CLI_PLAIN) {
        hcb_buf_str(b, text);
        return;
    }
    hcb_buf_printf(b, "\x1b[%sm%s\x1b[0m", codes[paint], text);
}

/* ---- columns ---------------------------------------------------------------- */

/* The characters that do not take one column. Coarse: the locale's wcwidth() is
 * no help where the locale is "C" and the terminal is not. */
static int char_columns(uint32_t c)
{
    static const struct { uint32_t from, to; int columns; } rows[] = {
        {0x0300, 0x036f, 0},   {0x1100, 0x115f, 2},   {0x200b, 0x200f, 0},
        {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
        {0xfe00, 0xfe0f, 0},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},
        {0xffe0, 0xffe6, 2},   {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (c >= rows[i].from && c <= rows[i].to)
            return rows[i].columns;
    }
    return 1;
}

static size_t char_bytes(const char *s, size_t n)
{
    size_t bytes = hcb_utf8_len(s, n);
    return bytes > 0 ? bytes : 1;
}

int cli_columns(const char *s, size_t n)
{
    int columns = 0;
    for (size_t i = 0; i < n;) {
        size_t bytes = char_bytes(s + i, n - i);
        columns += char_columns(hcb_utf8_code(s + i, bytes));
        i += bytes;
    }
    return columns;
}

void cli_spaces(struct hcb_buf *b, int n)
{
    for (int i = 0; i < n; i++)
        hcb_buf_char(b, ' ');
}

void cli_pad_to(struct hcb_buf *b, int column)
{
    size_t start = b->len;
    while (start > 0 && b->data[start - 1] != '\n')
        start--;
    cli_spaces(b, column - (b->len > start ? cli_columns(b->data + start, b->len - start) : 0));
}

/* ---- wrapping --------------------------------------------------------------- */

void cli_glue(struct hcb_buf *b, const char *text)
{
    for (; *text; text++)
        hcb_buf_char(b, *text == ' ' ? CLI_GLUE : *text);
}

static void add_unglued(struct hcb_buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hcb_buf_char(b, s[i] == CLI_GLUE ? ' ' : s[i]);
}

/* How many bytes of s fit into `room` columns; at least one character. */
static size_t fitting(const char *s, size_t n, int room)
{
    size_t used = char_bytes(s, n);
    while (used < n) {
        size_t bytes = char_bytes(s + used, n - used);
        if (cli_columns(s, used + bytes) > room)
            break;
        used += bytes;
    }
    return used;
}

static void break_line(struct hcb_buf *b, int hang)
{
    hcb_buf_char(b, '\n');
    cli_spaces(b, hang);
}

/* A word that no line can hold is cut where the line ends. Returns the column after it. */
static int add_word(struct hcb_buf *b, const char *s, size_t n, int at, int hang, int width)
{
    while (cli_columns(s, n) > width - at) {
        size_t cut = fitting(s, n, width - at);
        add_unglued(b, s, cut);
        s += cut;
        n -= cut;
        if (n > 0)
            break_line(b, hang);
        at = hang;
    }
    add_unglued(b, s, n);
    return at + cli_columns(s, n);
}

void cli_wrap(struct hcb_buf *b, const char *text, int at, int hang, int width)
{
    bool fresh = true; /* nothing stands on this line yet */
    while (*text) {
        size_t gap = strspn(text, " ");
        size_t word = strcspn(text + gap, " ");
        int columns = cli_columns(text + gap, word);
        if (word == 0)
            return;
        if (!fresh && at + (int)gap + columns > width) {
            break_line(b, hang);
            at = hang;
        } else {
            cli_spaces(b, (int)gap);
            at += (int)gap;
        }
        at = add_word(b, text + gap, word, at, hang, width);
        text += gap + word;
        fresh = false;
    }
}

/* ---- words and numbers for people ------------------------------------------- */

void cli_safe(struct hcb_buf *b, const char *text)
{
    if (text)
        hcb_text_printable(b, text, strlen(text));
}

void cli_thousands(struct hcb_buf *b, int64_t n)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n);
    for (int i = 0; i < len; i++) {
        bool first = i == (digits[0] == '-' ? 1 : 0);
        if (i > 0 && !first && (len - i) % 3 == 0)
            hcb_buf_char(b, ',');
        hcb_buf_char(b, digits[i]);
    }
}

void cli_duration(struct hcb_buf *b, double s)
{
    int64_t whole = s < 0 ? 0 : s > 1e15 ? (int64_t)1e15 : (int64_t)s;
    long long minutes = whole / 60, hours = whole / 3600, days = whole / 86400;
    if (s < 9.95)
        hcb_buf_printf(b, "%.1f s", s < 0 ? 0.0 : s);
    else if (whole < 60)
        hcb_buf_printf(b, "%lld s", (long long)whole);
    else if (hours < 1)
        hcb_buf_printf(b, "%lldm%02llds", minutes, (long long)whole % 60);
    else if (days < 1)
        hcb_buf_printf(b, "%lldh%02lldm", hours, minutes % 60);
    else
        hcb_buf_printf(b, "%lldd%02lldh", days, hours % 24);
}

void cli_shell_word(struct hcb_buf *b, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./:=@%+,-";
    size_t n = strlen(s);
    if (n > 0 && strspn(s, plain) == n) {
        hcb_buf_str(b, s);
        return;
    }
    hcb_buf_char(b, '\'');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\'')
            hcb_buf_str(b, "'\\''");
        else
            hcb_buf_char(b, s[i]);
    }
    hcb_buf_char(b, '\'');
}
