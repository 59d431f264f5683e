/* The one table of commands. Text here is plain data; how it is laid out is help.c's
 * business. */
#include "cli/table.h"

#include "base/text.h"
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct cli_option common_options[] = {
    {CLI_KEY_DIR, "dir", 0, CLI_TAKES_VALUE, "DIR", CLI_OFFERS_DIR, NULL,
     "the run directory (default: HOTCB_DIR, else the working directory)"},
    {CLI_KEY_JSON, "json", 0, CLI_TAKES_NOTHING, NULL, CLI_OFFERS_NOTHING, NULL,
     "print JSON on standard output"},
    {CLI_KEY_COLOR, "color", 0, CLI_TAKES_VALUE, "WHEN", CLI_OFFERS_CHOICE, "auto always never",
     "auto (default), always or never; never, too, where NO_COLOR is set"},
    {CLI_KEY_HELP, "help", 'h', CLI_TAKES_NOTHING, NULL, CLI_OFFERS_NOTHING, NULL,
     "print this and exit"},
};

static const struct cli_option first_options[] = {
    {CLI_KEY_VERSION, "version", 'V', CLI_TAKES_NOTHING, NULL, CLI_OFFERS_NOTHING, NULL,
     "print the version and exit"},
};

static const struct cli_option wait_options[] = {
    {CLI_KEY_WAIT, "wait", 0, CLI_TAKES_MAYBE, "S", CLI_OFFERS_NOTHING, NULL,
     "wait at most S seconds for the run's answer, or, without S, as long as the run lives "
     "(default: 5 s, or three looks of the run if that is longer)"},
    {CLI_KEY_NO_WAIT, "no-wait", 0, CLI_TAKES_NOTHING, NULL, CLI_OFFERS_NOTHING, NULL,
     "send, and do not wait for the answer"},
};

static const struct cli_option load_options[] = {
    {CLI_KEY_FILE, "file", 'f', CLI_TAKES_VALUE, "F", CLI_OFFERS_FILE, NULL,
     "the Lua script; a relative path is taken from the working directory"},
    {CLI_KEY_MODULE, "module", 'm', CLI_TAKES_VALUE, "M", CLI_OFFERS_MODULE, NULL,
     "hotcb.callbacks.NAME, which is built in, or a.b for a/b.lua along HOTCB_PATH"},
    {CLI_KEY_SYMBOL, "symbol", 0, CLI_TAKES_VALUE, "S", CLI_OFFERS_NOTHING, NULL,
     "the callback of that name in what the script returns"},
    {CLI_KEY_ENABLED, "enabled", 0, CLI_TAKES_NOTHING, NULL, CLI_OFFERS_NOTHING, NULL,
     "switch it on at once"},
    {CLI_KEY_DISABLED, "disabled", 0, CLI_TAKES_NOTHING, NULL, CLI_OFFERS_NOTHING, NULL,
     "leave it off (default)"},
    {CLI_KEY_INIT, "init", 0, CLI_TAKES_PAIRS, "k=v ...", CLI_OFFERS_PARAM, NULL,
     "initial values of its parameters"},
    {CLI_KEY_LIMIT, "limit", 0, CLI_TAKES_PAIRS, "k=v ...", CLI_OFFERS_LIMIT,
     "time_ms memory_mb errors coroutines",
     "what it may use: time_ms, memory_mb, errors, coroutines"},
};

static const struct cli_option logs_options[] = {
    {CLI_KEY_FOLLOW, "follow", 'f', CLI_TAKES_NOTHING, NULL, CLI_OFFERS_NOTHING, NULL,
     "go on printing what is added, until Ctrl-C"},
    {CLI_KEY_LINES, "lines", 'n', CLI_TAKES_VALUE, "N", CLI_OFFERS_NOTHING, NULL,
     "begin with the last N lines, or \"all\" (default: 20 with -f, else 100)"},
    {CLI_KEY_ID, "id", 0, CLI_TAKES_VALUE, "ID", CLI_OFFERS_CALLBACK, "hotcb",
     "only lines of this callback; \"hotcb\" for the run's own"},
};

static const struct cli_option check_options[] = {
    {CLI_KEY_SYMBOL, "symbol", 0, CLI_TAKES_VALUE, "S", CLI_OFFERS_NOTHING, NULL,
     "the callback of that name in what the script returns"},
};

#define ONE_ID {{"ID", false, false, CLI_OFFERS_CALLBACK}}
#define NO_WORDS {{NULL, false, false, CLI_OFFERS_NOTHING}}

const struct cli_command cli_commands[] = {
    {
        .name = "init",
        .args = "",
        .summary = "make DIR a run directory",
        .about = "Creates the directory, hotcb.yaml and hotcb.commands.jsonl where they are "
                 "missing, and keeps those that are there. No other command creates anything; "
                 "a run that opens a directory makes it a run directory, too.",
        .example = "$ hotcb --dir runs/exp1 init\n"
                   "made  runs/exp1/hotcb.yaml\n"
                   "made  runs/exp1/hotcb.commands.jsonl\n",
        .words = NO_WORDS,
        .run = cli_run_init,
    },
    {
        .name = "load",
        .args = "ID (--file F | --module M) [--symbol S] [--enabled] [--init k=v ...] "
                "[--limit k=v ...]",
        .summary = "load a callback, or replace one by new code",
        .about = "The script is compiled and set up in the run at its next look. If it does not "
                 "load, nothing changes: an older version under this ID goes on. A loaded "
                 "callback is off unless --enabled is given. From then on its file is watched: "
                 "a saved change is live at the next look.\n"
                 "Without a live run the script is checked here, and the command is queued for "
                 "the next start.",
        .example = "$ hotcb load guard --file guard.lua --enabled --init max_loss=20\n"
                   "load guard: applied at step 1500, on\n",
        .op = "load",
        .words = ONE_ID,
        .options = load_options,
        .options_n = COUNT(load_options),
        .run = cli_run_load,
    },
    {
        .name = "enable",
        .args = "ID",
        .summary = "switch a callback on",
        .about = "Also gives a callback that FAILED another try.",
        .example = "$ hotcb enable guard\nenable guard: applied at step 1620\n",
        .op = "enable",
        .words = ONE_ID,
        .run = cli_run_switch,
    },
    {
        .name = "disable",
        .args = "ID",
        .summary = "switch a callback off; it keeps its state",
        .about = "The callback is not called any more. It stays loaded, keeps its parameters, and "
                 "can be enabled again.",
        .example = "$ hotcb disable guard\ndisable guard: applied at step 1700\n",
        .op = "disable",
        .words = ONE_ID,
        .run = cli_run_switch,
    },
    {
        .name = "set",
        .args = "ID k=v ...",
        .summary = "change parameters of a callback",
        .about = "All of them change together, or none does. Values are read as in YAML: numbers "
                 "(25, 1e-4, .5), true, false, null, else text; what begins with [ or { and is "
                 "valid JSON is a list or a map. What a parameter is declared as governs: "
                 "k=1,2,3 is a list for a list parameter, k=on is true for a boolean one. "
                 "k=null goes back to the initial value. `hotcb get ID` shows what there is to "
                 "set.",
        .example = "$ hotcb set guard max_loss=20 raise=false\n"
                   "set guard max_loss=20 raise=false: applied at step 41180\n",
        .op = "set_params",
        .words = {{"ID", false, false, CLI_OFFERS_CALLBACK},
                  {"k=v", false, true, CLI_OFFERS_PARAM}},
        .run = cli_run_set,
    },
    {
        .name = "unload",
        .args = "ID",
        .summary = "remove a callback and its state",
        .about = "Calls its close(), frees its memory and forgets it. The file stays.",
        .example = "$ hotcb unload guard\nunload guard: applied at step 52000\n",
        .op = "unload",
        .words = ONE_ID,
        .run = cli_run_switch,
    },
    {
        .name = "reload",
        .args = "ID",
        .summary = "read a callback's file again, changed or not",
        .about = "As if the file had been saved: the new version takes over what save() returns, "
                 "and the old one stays if the new one does not load. Saved changes need no "
                 "reload, they are seen by themselves.",
        .example = "$ hotcb reload guard\nreload guard: applied at step 52310\n",
        .op = "reload",
        .words = ONE_ID,
        .run = cli_run_switch,
    },
    {
        .name = "status",
        .args = "",
        .summary = "the run and its callbacks, on one screen",
        .about = "Is the run alive, where is it, what does hotcb cost it; each callback with its "
                 "calls and parameters; errors, and what can be done about them. Works for a run "
                 "that ended or died, too.\n"
                 "With --json: hotcb.status.json with \"live\" and \"beat_age_s\" added.",
        .example = "$ hotcb --dir runs/exp1 status\n",
        .words = NO_WORDS,
        .run = cli_run_status,
    },
    {
        .name = "list",
        .args = "",
        .summary = "the callbacks, one line each",
        .about = "Id, state (on, off, FAILED) and source, in the order of loading. With --json: "
                 "the list of callbacks as hotcb.status.json has it.",
        .example = "$ hotcb list\nguard  on   /home/me/guard.lua\n",
        .words = NO_WORDS,
        .run = cli_run_list,
    },
    {
        .name = "get",
        .args = "ID",
        .summary = "one callback in detail",
        .about = "Its source and version, counters, limits, parameters with type, range and "
                 "default, and its last error with the traceback.",
        .example = "$ hotcb get guard\n",
        .words = ONE_ID,
        .run = cli_run_get,
    },
    {
        .name = "logs",
        .args = "[-f] [-n N] [--id ID]",
        .summary = "what the callbacks and the run logged",
        .about = "Prints the end of hotcb.log. With --json each line becomes an object with time, "
                 "mono, level, id and text.",
        .example = "$ hotcb logs -f --id guard\n",
        .words = NO_WORDS,
        .options = logs_options,
        .options_n = COUNT(logs_options),
        .run = cli_run_logs,
    },
    {
        .name = "check",
        .args = "FILE [--symbol S]",
        .summary = "would this script load? Needs no run",
        .about = "Compiles the script and sets it up in a sandbox of its own, as a load would, "
                 "and prints the hooks that it has and the parameters that it declares. What "
                 "looks like a slip is a warning: a misspelt hook, an accidental global, a name "
                 "that nothing sets. Warnings do not change the exit code.",
        .example = "$ hotcb check guard.lua\nguard.lua: ok\n",
        .words = {{"FILE", false, false, CLI_OFFERS_FILE}},
        .options = check_options,
        .options_n = COUNT(check_options),
        .run = cli_run_check,
    },
    {
        .name = "new",
        .args = "NAME",
        .summary = "begin a callback: a script and a spec that tests it",
        .about = "Writes NAME.lua and NAME_spec.lua into the working directory, and says how to "
                 "check the one and run the other. Files that are there are left alone, and "
                 "nothing is written. A spec needs busted and Lua 5.4, and no run.",
        .example = "$ hotcb new guard\nmade  guard.lua\nmade  guard_spec.lua\n",
        .words = {{"NAME", false, false, CLI_OFFERS_NOTHING}},
        .run = cli_run_new,
    },
    {
        .name = "completion",
        .args = "SHELL",
        .summary = "a script by which a shell completes hotcb's words",
        .about = "Prints it for bash, zsh or fish. It completes commands, options, ids of the "
                 "run, names of parameters and what else can be known. In ~/.bashrc, or after "
                 "compinit in ~/.zshrc, goes the line below, with the shell's name; for fish, "
                 "write it to ~/.config/fish/completions/hotcb.fish.",
        .example = "eval \"$(hotcb completion bash)\"\n",
        .words = {{"SHELL", false, false, CLI_OFFERS_SHELL}},
        .run = cli_run_completion,
    },
    {
        .name = "help",
        .args = "[COMMAND | TOPIC]",
        .summary = "this overview, or one command in detail",
        .about = "`hotcb help COMMAND` is the same as `hotcb COMMAND --help`. The topics are "
                 "exit-codes, environment, files and json.",
        .example = "$ hotcb help set\n",
        .words = {{"COMMAND", true, false, CLI_OFFERS_COMMAND}},
        .run = cli_run_help,
    },
};

const size_t cli_commands_n = COUNT(cli_commands);

const struct cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; i < cli_commands_n; i++) {
        if (strcmp(cli_commands[i].name, name) == 0)
            return &cli_commands[i];
    }
    return NULL;
}

const char *cli_command_near(const char *name)
{
    const char *names[COUNT(cli_commands)];
    for (size_t i = 0; i < cli_commands_n; i++)
        names[i] = cli_commands[i].name;
    return hcb_near(name, names, cli_commands_n);
}

const struct cli_option *cli_option_at(const struct cli_command *command, size_t i)
{
    const struct { const struct cli_option *v; size_t n; } groups[] = {
        {command ? command->options : NULL, command ? command->options_n : 0},
        {wait_options, command && command->op ? COUNT(wait_options) : 0},
        {common_options, COUNT(common_options)},
        {first_options, command ? 0 : COUNT(first_options)},
    };
    for (size_t g = 0; g < COUNT(groups); g++) {
        if (i < groups[g].n)
            return &groups[g].v[i];
        i -= groups[g].n;
    }
    return NULL;
}
