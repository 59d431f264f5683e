/* What can be offered at the cursor that only the run, a script or a folder knows. */
#ifndef HCB_CLI_OFFERS_H
#define HCB_CLI_OFFERS_H

#include "cli/table.h"

/* A command line that is still being typed. */
struct cli_line {
    struct cli *cli;
    char **given; /* the words before the cursor; given_n of them */
    int given_n;
    const char *current;              /* the word at the cursor, as far as it goes */
    const struct cli_command *command; /* NULL: none yet, or */
    bool lost;                         /* none that is known */
    const struct cli_option *expects; /* the option whose value comes now */
    const struct cli_option *pairs;   /* the option whose k=v words come now */
    bool only_words;                  /* after "--" */
    const char *dir, *file;           /* of --dir or HOTCB_DIR, of --file or NULL */
    const char *first;                /* the command's first word: the id */
    size_t words_n;
    const char *kind;   /* what the answer is */
    struct hcb_buf out; /* its words */
};

/* Offers prefix + word + suffix, if it goes on as the current word begins. `about`:
 * one line on what it is, or NULL. */
void cli_offer(struct cli_line *line, const char *prefix, const char *word, const char *suffix,
               const char *about);

/* Is there a word before the cursor that begins so? */
bool cli_line_has(const struct cli_line *line, const char *beginning);

void cli_offer_callbacks(struct cli_line *line, const char *prefix);
void cli_offer_params(struct cli_line *line, const char *prefix);
void cli_offer_modules(struct cli_line *line, const char *prefix);

#endif
