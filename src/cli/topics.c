/* Exit codes, environment, files and JSON, in the words of help and the man page. */
#include "cli/topics.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct cli_fact exits[] = {
    {"0", "done; or queued, where no run is live"},
    {"1", "refused, or failed: standard error says why"},
    {"2", "the command line makes no sense"},
    {"3", "sent, but no answer in time: the command stays queued"},
    {"4", "no such run directory"},
    {"130", "interrupted"},
};

static const struct cli_fact environment[] = {
    {"HOTCB_DIR", "the run directory, where --dir does not name one"},
    {"HOTCB_PATH", "directories, separated by colons: where load --module a.b looks for a/b.lua"},
    {"NO_COLOR", "if it is set and not empty, nothing is coloured, not even with --color=always"},
    {"TERM", "on a terminal called \"dumb\" nothing is coloured, unless with --color=always"},
    {"COLUMNS", "the width of a terminal that does not tell it"},
};

static const struct cli_fact files[] = {
    {"hotcb.yaml", "what people want: callbacks and their parameters; read again when it changes"},
    {"hotcb.commands.jsonl", "what was asked for, by this tool or anybody else, a line each"},
    {"hotcb.applied.jsonl", "what became of it, a line each: the truth about a command"},
    {"hotcb.status.json", "how the run is; status, list and get read it"},
    {"hotcb.state.json", "what a restart needs"},
    {"hotcb.metrics.jsonl", "scalars that callbacks logged"},
    {"hotcb.media.jsonl", "histograms that callbacks logged, and which pictures they wrote"},
    {"hotcb.log", "what callbacks and the run logged; logs reads it"},
    {"hotcb.lock", "held by the live run"},
    {"artifacts/ID/", "files that callback ID wrote"},
};

static const struct cli_fact outputs[] = {
    {"load, enable, disable, set, unload, reload",
     "{\"decision\": \"applied\" | \"rejected\" | \"queued\" | \"unanswered\", \"step\", \"op\", "
     "\"id\", \"cmd\", \"error\"}; step, cmd and error may be null. \"cmd\" is the command's own "
     "id, by which its line in hotcb.applied.jsonl is found"},
    {"status", "hotcb.status.json, with \"live\" and \"beat_age_s\" added; before a run has "
               "written one, \"dir\", \"state\" and an empty \"callbacks\" instead"},
    {"list", "the \"callbacks\" of hotcb.status.json"},
    {"get", "one of them"},
    {"logs", "a line each: {\"time\", \"mono\", \"level\", \"id\", \"text\"}; a line that is not "
             "of the log's form has only its text, and null for the rest"},
    {"init", "{\"dir\", \"made\": [...], \"kept\": [...]}"},
    {"check", "{\"ok\": true, \"name\", \"declared\", \"schedule\", \"events\", \"hooks\", "
              "\"warnings\": [...], \"notes\": [...]}, or {\"ok\": false, \"reason\", \"error\", "
              "\"traceback\"}"},
    {"new", "{\"made\": [...], \"test\": \"a command that runs the spec\"}"},
    {"completion", "{\"shell\", \"script\"}"},
    {"help", "the commands and options as data"},
    {"--version", "{\"version\", \"abi\"}"},
};

const struct cli_topic cli_topics[] = {
    {"environment", "ENVIRONMENT", "the variables that are read", "", environment,
     COUNT(environment)},
    {"files", "FILES", "what lies in a run directory", "", files, COUNT(files)},
    {"exit-codes", "EXIT STATUS", "what the exit codes mean", "", exits, COUNT(exits)},
    {"json", "JSON OUTPUT", "what --json prints",
     "With --json, standard output has one JSON value (logs: one a line), whether or not the "
     "command succeeds; people's messages go to standard error all the same.\n"
     "A failure is {\"error\": \"a sentence\"}, but for the commands that change something, "
     "which always answer with a decision. A command line that makes no sense (exit code 2) "
     "prints no JSON.\n"
     "Integers are exact, up to 64 bits. Numbers that JSON does not know are the texts \"NaN\", "
     "\"Infinity\" and \"-Infinity\". A key that is there stays there in later versions; new "
     "ones may come.",
     outputs, COUNT(outputs)},
};

const size_t cli_topics_n = COUNT(cli_topics);

const struct cli_topic *cli_topic_find(const char *name)
{
    for (size_t i = 0; i < cli_topics_n; i++) {
        if (strcmp(cli_topics[i].name, name) == 0)
            return &cli_topics[i];
    }
    return NULL;
}
