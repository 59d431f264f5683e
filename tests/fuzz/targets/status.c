/* The tool's readers of a run directory: bytes as hotcb.status.json, and after a 0xff as
 * hotcb.log, shown by each command that shows. Whatever they hold, what is printed is
 * whole lines of text without control characters, or JSON where that is asked for. */
#include "fuzz.h"

#include "base/text.h"
#include "cli/complete.h"
#include "cli/parse.h"
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 4

struct screen {
    const char *words[WORDS_MAX]; /* "ID": the first callback's id */
    bool json;
};

static const struct screen screens[] = {
    {{"status"}, false},
    {{"list"}, false},
    {{"get", "ID"}, false},
    {{"logs"}, false},
    {{"status", "--json"}, true},
    {{"list", "--json"}, true},
    {{"get", "ID", "--json"}, true},
};

/* What one invocation prints. */
struct printed {
    char *text;
    size_t n;
    FILE *to;
};

static void open_stream(struct printed *p, struct cli_screen *s)
{
    MUST((p->to = open_memstream(&p->text, &p->n)));
    s->to = p->to;
}

static void check_lines(const struct printed *p)
{
    const char *at = p->text, *end = p->text + p->n;
    while (at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        MUST(nl);
        fuzz_must_be_line(at, (size_t)(nl - at));
        at = nl + 1;
    }
}

static void check_json(const struct printed *p)
{
    struct hcb_value v = {0};
    fuzz_must_be_json(p->text, p->n, &v);
    hcb_value_release(&v);
}

static void close_stream(struct printed *p)
{
    fclose(p->to);
    free(p->text);
}

static void show(const struct screen *screen, const char *id, int width)
{
    struct cli cli = {0};
    struct printed out, err;
    char *argv[WORDS_MAX + 4] = {"hotcb", "--dir", (char *)fuzz_folder()};
    int argc = 3;
    for (int i = 0; i < WORDS_MAX && screen->words[i]; i++)
        argv[argc++] = (char *)(strcmp(screen->words[i], "ID") == 0 ? id : screen->words[i]);
    MUST(cli_parse(&cli, argc, argv) == CLI_GO_ON);
    open_stream(&out, &cli.out);
    open_stream(&err, &cli.err);
    cli.out.width = cli.err.width = width;
    int code = cli.command->run(&cli);
    cli_screen_flush(&cli.out);
    cli_screen_flush(&cli.err);
    MUST(code == CLI_OK || code == CLI_REFUSED);
    MUST(out.n > 0 || err.n > 0 || strcmp(screen->words[0], "logs") == 0);
    check_lines(&err);
    if (screen->json)
        check_json(&out);
    else
        check_lines(&out);
    cli_release(&cli);
    close_stream(&out);
    close_stream(&err);
}

static void complete(const char *id, const char *current)
{
    struct cli cli = {0};
    struct printed out;
    char *argv[] = {"--dir", (char *)fuzz_folder(), "set", (char *)id, (char *)current};
    cli_screen_init(&cli.out, stdout, CLI_COLOR_NEVER);
    cli_screen_init(&cli.err, stderr, CLI_COLOR_NEVER);
    open_stream(&out, &cli.out);
    cli_complete(&cli, current ? 5 : 4, argv);
    cli_screen_flush(&cli.out);
    for (size_t i = 0; i < out.n; i++)
        MUST(out.text[i] == '\n' || out.text[i] == '\t' || (unsigned char)out.text[i] >= ' ');
    close_stream(&out);
}

/* An id to ask for that is there, where one is: what stands after the first "id":. */
static const char *find_id(const char *text, size_t n, char id[64])
{
    static const char key[] = "\"id\":\"";
    const char *at = memmem(text, n, key, sizeof(key) - 1);
    size_t len = 0;
    at = at ? at + sizeof(key) - 1 : text + n;
    while (at + len < text + n && len < 63 && !strchr("\"\\-", at[len]))
        len++;
    memcpy(id, at, len);
    id[len] = '\0';
    return *id ? id : "guard";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {.at = (const char *)data, .left = size};
    const char *status, *log;
    size_t status_n, log_n;
    char id[64];
    fuzz_part(&in, &status, &status_n);
    fuzz_part(&in, &log, &log_n);
    fuzz_write("hotcb.status.json", status, status_n);
    fuzz_write("hotcb.log", log, log_n);
    const char *asked = find_id(status, status_n, id);
    for (size_t i = 0; i < sizeof(screens) / sizeof(screens[0]); i++)
        show(&screens[i], asked, size % 2 ? 80 : 40);
    complete(asked, NULL);
    complete(asked, "");
    complete(asked, "mode=");
    return 0;
}
