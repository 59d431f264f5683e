/* completion: the script that makes a shell ask this tool what may stand at the cursor.
 * The scripts know no command and no option: complete.c reads those from the table. */
#include "base/json.h"
#include "cli/shells.h"
#include "cli/table.h"
#include <string.h>

static const struct cli_shell *find_shell(const char *name)
{
    for (const struct cli_shell *shell = cli_shells; shell->name; shell++) {
        if (strcmp(shell->name, name) == 0)
            return shell;
    }
    return NULL;
}

static int unknown_shell(struct cli *cli)
{
    struct hcb_buf names = {0};
    for (const struct cli_shell *shell = cli_shells; shell->name; shell++)
        hcb_buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", shell->name);
    int code = cli_usage(cli, "no completion for '%s'; the shells are %s", cli->words.v[0],
                         hcb_buf_text(&names));
    hcb_buf_release(&names);
    return code;
}

int cli_run_completion(struct cli *cli)
{
    const struct cli_shell *shell = find_shell(cli->words.v[0]);
    struct hcb_buf b = {0};
    if (!shell)
        return unknown_shell(cli);
    if (cli->json) {
        hcb_json_open(&b, '{');
        hcb_json_put_str(&b, "shell", shell->name);
        hcb_json_put_str(&b, "script", shell->script);
        hcb_json_close(&b, '}');
        hcb_buf_char(&b, '\n');
    } else {
        hcb_buf_str(&b, shell->script);
    }
    cli_screen_put(&cli->out, &b);
    return CLI_OK;
}
