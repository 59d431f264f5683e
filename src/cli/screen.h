/* How text gets onto a terminal or into a pipe: its width, colour, wrapping, and
 * numbers as people read them. Knows nothing of runs or commands. */
#ifndef HCB_CLI_SCREEN_H
#define HCB_CLI_SCREEN_H

#include "base/buf.h"
#include <stdint.h>
#include <stdio.h>

struct cli_screen {
    FILE *to;
    bool tty, color;
    int error; /* errno of the first failure to write, or 0 */
    int width; /* in columns; 80 where it is unknown */
};

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

enum cli_paint {
    CLI_PLAIN,
    CLI_BOLD,
    CLI_DIM,
    CLI_GREEN,
    CLI_YELLOW,
    CLI_RED
};

/* Colour, when not asked for: on a terminal that is not "dumb", without NO_COLOR. */
void cli_screen_init(struct cli_screen *s, FILE *to, enum cli_color wish);

/* Writes what the buffer holds, and releases it. A failure is kept in s->error. */
void cli_screen_put(struct cli_screen *s, struct hcb_buf *b);
void cli_screen_flush(struct cli_screen *s);

/* Releases a buffer whose text went into `b`, which then knows if memory ran out: a
 * text is printed whole, or it is a failure. */
void cli_drop(struct hcb_buf *b, struct hcb_buf *part);

void cli_paint(const struct cli_screen *s, struct hcb_buf *b, enum cli_paint paint,
               const char *text);

/* Columns that printable UTF-8 text takes. */
int cli_columns(const char *s, size_t n);

/* Spaces up to `column`, counted from the beginning of the buffer's last line. For
 * lines without paint. */
void cli_pad_to(struct hcb_buf *b, int column);
void cli_spaces(struct hcb_buf *b, int n);

/* A space at which cli_wrap() may not break. */
#define CLI_GLUE '\x01'
void cli_glue(struct hcb_buf *b, const char *text); /* with all its spaces glued */

/* Appends text that begins at column `at`, broken between words (or inside one
 * that is longer than a line) so that no line is wider than `width`; the lines
 * after the first are indented by `hang`. Adds no newline at its end. */
void cli_wrap(struct hcb_buf *b, const char *text, int at, int hang, int width);

/* Appends text from a file or a run: printable, on one line. NULL gives "". */
void cli_safe(struct hcb_buf *b, const char *text);

void cli_thousands(struct hcb_buf *b, int64_t n); /* 41,210 */
void cli_duration(struct hcb_buf *b, double s);   /* "0.2 s", "12 s", "3m14s", "2h05m", "3d04h" */

/* As one word of a shell's command line. */
void cli_shell_word(struct hcb_buf *b, const char *s);

#endif
