/* Reads the command line by the command table, in two passes of getopt_long: up to
 * the command, and from there on with words and options in any order. */
#include "cli/parse.h"

#include "base/platform.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/table.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 24
#define FIRST_VALUE 256 /* what getopt_long returns for the option number 0 */

struct scan {
    struct cli *cli;
    const struct cli_command *command; /* NULL in the first pass */
    int argc;
    char **argv;
    struct option long_options[OPTIONS_MAX + 1];
    char letters[2 * OPTIONS_MAX + 4];
    struct cli_words *pairs; /* where k=v words go now, or NULL */
};

/* How getopt_long is told of the options. --init takes "k=v" words one by one, so
 * for getopt_long it has no value of its own, but --init=k=v is understood. */
static int has_arg(enum cli_takes takes)
{
    static const int has[] = {no_argument, required_argument, optional_argument,
                              optional_argument};
    return has[takes];
}

static void describe_options(struct scan *scan, const char *mode)
{
    const struct cli_option *o;
    char *letter = scan->letters + strlen(strcpy(scan->letters, mode));
    for (size_t i = 0; i < OPTIONS_MAX && (o = cli_option_at(scan->command, i)); i++) {
        scan->long_options[i] =
            (struct option){o->name, has_arg(o->takes), NULL, FIRST_VALUE + (int)i};
        if (!o->letter)
            continue;
        *letter++ = o->letter;
        if (o->takes == CLI_TAKES_VALUE)
            *letter++ = ':';
    }
    *letter = '\0';
}

static const struct cli_option *option_for(const struct scan *scan, int value)
{
    const struct cli_option *o;
    if (value >= FIRST_VALUE)
        return cli_option_at(scan->command, (size_t)(value - FIRST_VALUE));
    for (size_t i = 0; (o = cli_option_at(scan->command, i)); i++) {
        if (o->letter && o->letter == value)
            return o;
    }
    return NULL;
}

static const char *near_option(const struct scan *scan, const char *name)
{
    const char *names[OPTIONS_MAX];
    const struct cli_option *o;
    size_t n = 0;
    while (n < OPTIONS_MAX && (o = cli_option_at(scan->command, n)))
        names[n++] = o->name;
    return hcb_near(name, names, n);
}

static int unknown_option(struct scan *scan, const char *arg)
{
    struct hcb_buf name = {0};
    const char *near = NULL;
    hcb_buf_add(&name, arg, strcspn(arg, "="));
    if (strncmp(arg, "--", 2) == 0 && !name.oom)
        near = near_option(scan, hcb_buf_text(&name) + 2);
    int code = near ? cli_usage(scan->cli, "unknown option %s - did you mean --%s?",
                                hcb_buf_text(&name), near)
                    : cli_usage(scan->cli, "unknown option %s", hcb_buf_text(&name));
    hcb_buf_release(&name);
    return code;
}

static int bad_option(struct scan *scan, int got)
{
    const struct cli_option *o = optopt ? option_for(scan, optopt) : NULL;
    char letter[] = {'-', (char)optopt, '\0'};
    if (o && got == ':')
        return cli_usage(scan->cli, "--%s needs a value: --%s %s", o->name, o->name, o->value);
    if (o)
        return cli_usage(scan->cli, "--%s takes no value", o->name);
    return unknown_option(scan, optopt ? letter : scan->argv[optind - 1]);
}

static int add_word(struct scan *scan, const char *word)
{
    bool is_pair = scan->pairs && strchr(word, '=');
    struct cli_words *to = is_pair ? scan->pairs : &scan->cli->words;
    if (!is_pair)
        scan->pairs = NULL;
    to->v[to->n++] = word;
    return CLI_GO_ON;
}

static int add_option(struct scan *scan, const struct cli_option *o)
{
    struct cli *cli = scan->cli;
    cli->given[o->key] = true;
    cli->value[o->key] = optarg;
    scan->pairs = NULL;
    if (o->takes != CLI_TAKES_PAIRS)
        return CLI_GO_ON;
    scan->pairs = o->key == CLI_KEY_INIT ? &cli->init : &cli->limits;
    if (optarg)
        scan->pairs->v[scan->pairs->n++] = optarg;
    return CLI_GO_ON;
}

static int scan_options(struct scan *scan, const char *mode)
{
    int got, code = CLI_GO_ON;
    describe_options(scan, mode);
    opterr = 0;
    HCB_RESTART_GETOPT(); /* the mode included */
    while (code == CLI_GO_ON && (got = getopt_long(scan->argc, scan->argv, scan->letters,
                                                   scan->long_options, NULL)) != -1) {
        if (got == '?' || got == ':')
            code = bad_option(scan, got);
        else if (got == 1)
            code = add_word(scan, optarg);
        else
            code = add_option(scan, option_for(scan, got));
    }
    return code;
}

/* ---- what the options mean, where it is the same for all commands ------------ */

static int read_color(struct cli *cli)
{
    static const char *const names[] = {"auto", "always", "never"};
    const char *wish = cli->value[CLI_KEY_COLOR];
    if (!wish)
        return CLI_GO_ON;
    for (int i = 0; i < 3; i++) {
        if (strcmp(wish, names[i]) == 0) {
            cli_screen_init(&cli->out, stdout, (enum cli_color)i);
            cli_screen_init(&cli->err, stderr, (enum cli_color)i);
            return CLI_GO_ON;
        }
    }
    return cli_usage(cli, "--color=%s: it is one of auto, always, never", wish);
}

static int read_common(struct cli *cli)
{
    const char *from_env = getenv("HOTCB_DIR");
    cli->json = cli->given[CLI_KEY_JSON];
    cli->dir = from_env && *from_env ? from_env : ".";
    if (cli->given[CLI_KEY_DIR])
        cli->dir = cli->value[CLI_KEY_DIR];
    if (!*cli->dir)
        return cli_usage(cli, "--dir is empty: it names the run directory");
    return read_color(cli);
}

static int print_help(struct cli *cli)
{
    struct hcb_buf text = {0};
    if (cli->json)
        cli_help_json(&text, cli->command, NULL);
    else
        cli_help(&text, &cli->out, cli->command);
    cli_screen_put(&cli->out, &text);
    return CLI_OK;
}

static int print_version(struct cli *cli)
{
    struct hcb_buf text = {0};
    if (cli->json)
        hcb_buf_printf(&text, "{\"version\":\"%s\",\"abi\":%d}\n", hotcb_version(), hotcb_abi());
    else
        hcb_buf_printf(&text, "hotcb %s\n", hotcb_version());
    cli_screen_put(&cli->out, &text);
    return CLI_OK;
}

/* `hotcb set every=5` lacks its id, not its key=value. */
static int missing_word(struct cli *cli, const struct cli_word *wants, size_t i)
{
    if (i > 0 && wants[i].repeats && strchr(cli->words.v[i - 1], '='))
        return cli_usage(cli, "%s is missing before %s", wants[i - 1].name, cli->words.v[i - 1]);
    return cli_usage(cli, "%s is missing", wants[i].name);
}

/* Are there as many words as the command wants? */
static int check_words(struct cli *cli)
{
    const struct cli_word *wants = cli->command->words;
    size_t i = 0;
    for (; i < CLI_WORDS_MAX && wants[i].name; i++) {
        if (i >= cli->words.n && !wants[i].optional)
            return missing_word(cli, wants, i);
        if (wants[i].repeats)
            return CLI_GO_ON;
    }
    if (cli->words.n > i)
        return cli_usage(cli, "'%s' is one word too many", cli->words.v[i]);
    return CLI_GO_ON;
}

static int parse_command(struct cli *cli, int argc, char **argv)
{
    struct scan scan = {.cli = cli, .command = cli->command, .argc = argc, .argv = argv};
    int code = scan_options(&scan, "-:");
    for (int i = optind; code == CLI_GO_ON && i < argc; i++)
        code = add_word(&scan, argv[i]);
    if (code == CLI_GO_ON)
        code = read_common(cli);
    if (code == CLI_GO_ON && cli->given[CLI_KEY_HELP])
        return print_help(cli);
    return code == CLI_GO_ON ? check_words(cli) : code;
}

static bool make_room(struct cli *cli, int argc)
{
    size_t bytes = ((size_t)argc + 1) * sizeof(char *);
    cli->words.v = malloc(bytes);
    cli->init.v = malloc(bytes);
    cli->limits.v = malloc(bytes);
    return cli->words.v && cli->init.v && cli->limits.v;
}

void cli_release(struct cli *cli)
{
    free(cli->words.v);
    free(cli->init.v);
    free(cli->limits.v);
}

int cli_parse(struct cli *cli, int argc, char **argv)
{
    struct scan scan = {.cli = cli, .argc = argc, .argv = argv};
    cli_screen_init(&cli->out, stdout, CLI_COLOR_AUTO);
    cli_screen_init(&cli->err, stderr, CLI_COLOR_AUTO);
    if (!make_room(cli, argc))
        return cli_fail(cli, CLI_REFUSED, "out of memory");
    int code = scan_options(&scan, "+:");
    if (code == CLI_GO_ON)
        code = read_common(cli);
    if (code != CLI_GO_ON)
        return code;
    if (cli->given[CLI_KEY_HELP])
        return print_help(cli);
    if (cli->given[CLI_KEY_VERSION])
        return print_version(cli);
    if (optind >= argc)
        return cli_usage(cli, "which command?");
    cli->command = cli_command_find(argv[optind]);
    if (!cli->command)
        return cli_unknown_command(cli, argv[optind]);
    return parse_command(cli, argc - optind, argv + optind);
}
