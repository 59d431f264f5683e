/* The commands and their options, as data: what the parser accepts, what help
 * prints, and what anything else that describes the command line is made from. */
#ifndef HCB_CLI_TABLE_H
#define HCB_CLI_TABLE_H

#include "cli/cli.h"

enum cli_takes {
    CLI_TAKES_NOTHING,
    CLI_TAKES_VALUE, /* --file F */
    CLI_TAKES_MAYBE, /* --wait or --wait=S */
    CLI_TAKES_PAIRS  /* --init k=v ...: the words after it that have a '=' */
};

/* What a shell could offer for a word. */
enum cli_offers {
    CLI_OFFERS_NOTHING,
    CLI_OFFERS_FILE,
    CLI_OFFERS_DIR,
    CLI_OFFERS_CALLBACK, /* an id in the run directory */
    CLI_OFFERS_PARAM,    /* a parameter of the callback named before */
    CLI_OFFERS_LIMIT,
    CLI_OFFERS_MODULE,
    CLI_OFFERS_COMMAND, /* or a topic of help */
    CLI_OFFERS_SHELL,
    CLI_OFFERS_CHOICE /* the option's own `choices` */
};

struct cli_option {
    enum cli_key key;
    const char *name; /* without the dashes */
    char letter;      /* or 0 */
    enum cli_takes takes;
    const char *value; /* what help calls its value, or NULL */
    enum cli_offers offers;
    const char *choices; /* separated by spaces, or NULL */
    const char *help;
};

struct cli_word {
    const char *name; /* NULL ends the list */
    bool optional, repeats;
    enum cli_offers offers;
};

#define CLI_WORDS_MAX 3

struct cli_command {
    const char *name;
    const char *args;    /* the synopsis: what follows the name */
    const char *summary; /* one line, no full stop */
    const char *about;   /* paragraphs; a newline ends one */
    const char *example; /* lines as they are typed, with what they print */
    const char *op;      /* what it sends, or NULL; such a command also takes --wait */
    struct cli_word words[CLI_WORDS_MAX];
    const struct cli_option *options; /* its own; `options_n` of them */
    size_t options_n;
    int (*run)(struct cli *cli); /* returns an exit code */
};

extern const struct cli_command cli_commands[];
extern const size_t cli_commands_n;

const struct cli_command *cli_command_find(const char *name);
const char *cli_command_near(const char *name); /* what was meant, or NULL */

/* The options that go with a command (NULL: those before any command), own ones
 * first, by number until NULL. */
const struct cli_option *cli_option_at(const struct cli_command *command, size_t i);

int cli_run_init(struct cli *cli);
int cli_run_load(struct cli *cli);
int cli_run_set(struct cli *cli);
int cli_run_switch(struct cli *cli); /* enable, disable, unload, reload */
int cli_run_status(struct cli *cli);
int cli_run_list(struct cli *cli);
int cli_run_get(struct cli *cli);
int cli_run_logs(struct cli *cli);
int cli_run_check(struct cli *cli);
int cli_run_new(struct cli *cli);
int cli_run_completion(struct cli *cli);
int cli_run_help(struct cli *cli);

#endif
