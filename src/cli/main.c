/* hotcb, the tool: runs one command and sees to it that its output arrived. */
#include "cli/complete.h"
#include "cli/man.h"
#include "cli/parse.h"
#include "cli/table.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* A closed standard stream must not become the number of a file that is opened
 * later. In its place stands one that refuses what is done with it. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

/* What did not arrive on stdout is a failure. Nobody wants to hear of a closed
 * pipe, though: who closed it has read enough. */
static int finish(struct cli *cli, int code)
{
    cli_screen_flush(&cli->out);
    if (cli->out.error == 0)
        return code;
    if (cli->out.error != EPIPE)
        cli_note(cli, "cannot write to standard output: %s", strerror(cli->out.error));
    return code == CLI_OK ? CLI_REFUSED : code;
}

/* What no person types: the completion scripts and the build do. */
static int run_hidden(struct cli *cli, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    cli_screen_init(&cli->out, stdout, CLI_COLOR_NEVER);
    cli_screen_init(&cli->err, stderr, CLI_COLOR_NEVER);
    if (strcmp(name, "__complete") == 0)
        return cli_complete(cli, argc - 2, argv + 2);
    if (strcmp(name, "__man") == 0)
        return cli_man(cli);
    return CLI_GO_ON;
}

int main(int argc, char **argv)
{
    struct cli cli = {0};
    fill_standard_streams();
    signal(SIGPIPE, SIG_IGN);
    int code = run_hidden(&cli, argc, argv);
    if (code == CLI_GO_ON)
        code = cli_parse(&cli, argc, argv);
    if (code == CLI_GO_ON)
        code = cli.command->run(&cli);
    code = finish(&cli, code);
    cli_release(&cli);
    return code;
}
