/* Parameters and values, as people read them. */
#ifndef HCB_CLI_PARAMS_H
#define HCB_CLI_PARAMS_H

#include "base/value.h"
#include "cli/screen.h"

/* A value on one line: text as it is where that is one plain word, else JSON. */
void cli_value_text(struct hcb_buf *b, const struct hcb_value *v);

/* "[0..100]", "[>=1]", "[l2|max]" of one declaration, or nothing. */
void cli_range_text(struct hcb_buf *b, const struct hcb_value *declaration);

/* "every=50  max_loss=20 [0..100]", each glued together (see CLI_GLUE), of a callback
 * of the status file. */
void cli_params_line(struct hcb_buf *b, const struct hcb_value *callback);

/* A table of declarations, with the current values where `params` is not NULL. */
void cli_params_table(struct hcb_buf *b, const struct cli_screen *s,
                      const struct hcb_value *declared, const struct hcb_value *params);

/* "a, b, c" of a list of texts. */
void cli_text_list(struct hcb_buf *b, const struct hcb_value *list);

#endif
