/* What the parts of the tool share: one invocation, as the command line gave it.
 *
 * The tool speaks to a run through its files only. It sees the public header,
 * base and control; never Lua, never the registry. Its own names begin with
 * cli_, so that they cannot meet those of the library it is linked with. */
#ifndef HCB_CLI_H
#define HCB_CLI_H

#include "base/err.h"
#include "cli/screen.h"

enum cli_exit {
    CLI_OK = 0,         /* done, or queued */
    CLI_REFUSED = 1,    /* refused, or failed */
    CLI_USAGE = 2,      /* the command line makes no sense */
    CLI_UNANSWERED = 3, /* sent, and no answer in time */
    CLI_NO_RUN = 4,     /* no such run directory */
    CLI_INTERRUPTED = 130
};

/* Every option of every command, by what it means. */
enum cli_key {
    CLI_KEY_DIR,
    CLI_KEY_JSON,
    CLI_KEY_COLOR,
    CLI_KEY_HELP,
    CLI_KEY_VERSION,
    CLI_KEY_WAIT,
    CLI_KEY_NO_WAIT,
    CLI_KEY_FILE,
    CLI_KEY_MODULE,
    CLI_KEY_SYMBOL,
    CLI_KEY_ENABLED,
    CLI_KEY_DISABLED,
    CLI_KEY_INIT,
    CLI_KEY_LIMIT,
    CLI_KEY_FOLLOW,
    CLI_KEY_LINES,
    CLI_KEY_ID,
    CLI_KEYS
};

struct cli_words {
    const char **v;
    size_t n;
};

struct cli_command;

struct cli {
    const struct cli_command *command; /* NULL until it is known */
    const char *dir;                   /* the run directory, as the user wrote it */
    bool json;
    struct cli_screen out, err;
    bool given[CLI_KEYS];
    const char *value[CLI_KEYS]; /* NULL where an option came without one */
    struct cli_words words;      /* what is no option, in order */
    struct cli_words init;       /* the k=v of --init */
    struct cli_words limits;     /* the k=v of --limit */
};

/* A sentence on stderr, as one line of printable text: "hotcb: ...". */
void cli_note(struct cli *cli, const char *fmt, ...) HCB_PRINTF(2, 3);
void cli_warn(struct cli *cli, const char *fmt, ...) HCB_PRINTF(2, 3);

/* The same for a failure, which --json repeats on stdout as {"error": ...}.
 * Returns `code`, for `return cli_fail(...)`. */
int cli_fail(struct cli *cli, int code, const char *fmt, ...) HCB_PRINTF(3, 4);

/* A failure in the command line itself: the usage follows it. Returns CLI_USAGE. */
int cli_usage(struct cli *cli, const char *fmt, ...) HCB_PRINTF(2, 3);

/* What to type next, on stderr: "next: hotcb --dir runs/exp1 <rest>". Nothing under
 * --json, where no person reads. */
void cli_next(struct cli *cli, const char *fmt, ...) HCB_PRINTF(2, 3);

/* The command's name and words from the second on, after another id: what to type
 * where only the id (or the directory) was wrong. */
void cli_again(const struct cli *cli, struct hcb_buf *b, const char *id);

/* "hotcb ", with the --dir that the next command needs, too. */
void cli_tool(const struct cli *cli, struct hcb_buf *b);

#endif
