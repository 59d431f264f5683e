/* One callback of the status file: the lines about it that status and get share. */
#ifndef HCB_CLI_CALLBACK_VIEW_H
#define HCB_CLI_CALLBACK_VIEW_H

#include "base/value.h"
#include "cli/screen.h"

/* "on", "off", "FAILED", in their colour. */
void cli_state_text(struct hcb_buf *b, const struct cli_screen *s,
                    const struct hcb_value *callback);
const char *cli_state(const struct hcb_value *callback);

/* Appends `text` as lines of their own, all indented. */
void cli_indented(struct hcb_buf *b, const struct cli_screen *s, int indent, const char *text);

/* What is the matter with it, a line or more each: its error and what can be done, a
 * newer version that does not load, events it waits for. */
void cli_callback_troubles(struct hcb_buf *b, const struct cli_screen *s,
                           const struct hcb_value *callback, int indent);

/* A traceback of Lua's, line by line; NULL is none. */
void cli_traceback(struct hcb_buf *b, const struct cli_screen *s, int indent, const char *text);

void cli_us_text(struct hcb_buf *b, const struct hcb_value *callback); /* "3.1" or "-" */

#endif
