/* What must hold after trouble; see checks.h. Reads the files alone, as anybody may. */
#include "checks.h"

#include "base/json.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SAID_AT_MOST 2 /* once, and once more after it went for a while */

/* ---- lines ---- */

typedef void line_fn(struct stage *s, const struct hcb_value *line, void *user);

/* Calls fn for each line of a file of JSON lines; fn may be NULL. */
static void each_line(struct stage *s, const char *name, line_fn *fn, void *user)
{
    char *text = stage_read(stage_path(s, name)), *save = NULL;
    size_t n = strlen(text);
    if (n > 0 && text[n - 1] != '\n')
        stage_fail(s, "%s ends within a line: ...%s", name, text + (n > 60 ? n - 60 : 0));
    for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
        struct hcb_value line = {0};
        if (hcb_json_parse(at, strlen(at), &line, NULL) < 0 || line.type != HCB_MAP)
            stage_fail(s, "%s has a torn line: %.200s", name, at);
        else if (fn)
            fn(s, &line, user);
        hcb_value_release(&line);
    }
    free(text);
}

static bool is_stamped(const char *line)
{
    return strlen(line) > 30 && line[4] == '-' && line[10] == 'T' && line[23] == 'Z' &&
           strstr(line, "] ");
}

static void check_log(struct stage *s, const char *name)
{
    char *text = stage_read(stage_path(s, name)), *save = NULL;
    size_t n = strlen(text);
    if (n > 0 && text[n - 1] != '\n')
        stage_fail(s, "%s ends within a line", name);
    for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save))
        if (!is_stamped(at))
            stage_fail(s, "%s has a torn line: %.200s", name, at);
    free(text);
}

void check_lines(struct stage *s, const char *name)
{
    if (strncmp(name, "hotcb.log", 9) == 0)
        check_log(s, name);
    else
        each_line(s, name, NULL, NULL);
}

static void check_trace(struct stage *s)
{
    char *text = stage_read(stage_path(s, "artifacts/worker/trace.txt")), *save = NULL;
    for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save))
        if (strncmp(at, "step ", 5) != 0 || !strstr(at, " of ") || strstr(at + 1, "step"))
            stage_fail(s, "an artifact has a torn line: %.200s", at);
    free(text);
}

/* ---- the ledger ---- */

struct answers {
    int of[STAGE_SENT];
    int64_t seq;
    int lines;
};

static void count_answer(struct stage *s, const struct hcb_value *line, void *user)
{
    struct answers *a = user;
    const char *cmd = hcb_map_text(line, "cmd", NULL);
    int64_t seq = hcb_map_int(line, "seq", -1);
    bool applied = strcmp(hcb_map_text(line, "decision", ""), "applied") == 0;
    int n = cmd ? atoi(cmd + 1) : 0;
    if (seq <= a->seq)
        stage_fail(s, "the ledger's line %lld follows %lld", (long long)seq, (long long)a->seq);
    a->seq = seq;
    a->lines++;
    if (!applied && !*hcb_map_text(line, "error", ""))
        stage_fail(s, "the ledger refuses %s without a reason", cmd ? cmd : "something");
    if (n > 0 && n < STAGE_SENT)
        a->of[n]++;
}

int check_ledger_count(struct stage *s)
{
    char *text = stage_read(stage_path(s, "hotcb.applied.jsonl"));
    int n = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        n++;
    free(text);
    return n;
}

void check_answers(struct stage *s)
{
    struct answers a = {0};
    each_line(s, "hotcb.applied.jsonl", count_answer, &a);
    for (int i = 1; i <= s->sent; i++)
        if (a.of[i] != 1)
            stage_fail(s, "command c%d has %d lines in the ledger", i, a.of[i]);
    if (a.seq != a.lines && strstr(s->plan, "files"))
        stage_fail(s, "the ledger counts to %lld, and has %d lines", (long long)a.seq, a.lines);
}

struct last_set {
    const char *id;
    int line, from;
    int64_t mark;
};

static void find_last_set(struct stage *s, const struct hcb_value *line, void *user)
{
    struct last_set *last = user;
    const struct hcb_value *mark = hcb_map_get(hcb_map_get(line, "params"), "mark");
    (void)s;
    if (last->line++ >= last->from && mark &&
        strcmp(hcb_map_text(line, "id", ""), last->id) == 0 &&
        strcmp(hcb_map_text(line, "decision", ""), "applied") == 0)
        last->mark = mark->type == HCB_REAL ? (int64_t)mark->u.d : mark->u.i;
}

void check_mark(struct stage *s, const char *id, int from, int otherwise)
{
    struct last_set last = {.id = id, .from = from, .mark = otherwise};
    struct hcb_value list = {0};
    each_line(s, "hotcb.applied.jsonl", find_last_set, &last);
    if (stage_list(s, &list) && last.mark >= 0) {
        const struct hcb_value *cb = stage_find(&list, id);
        int64_t mark = hcb_map_int(hcb_map_get(cb, "params"), "mark", -1);
        if (cb && mark >= 0 && mark != last.mark)
            stage_fail(s, "%s has mark=%lld, and by the ledger it is %lld", id, (long long)mark,
                       (long long)last.mark);
    }
    hcb_value_release(&list);
}

struct refusal {
    const char *id;
    bool refused;
};

static void find_refusal(struct stage *s, const struct hcb_value *line, void *user)
{
    struct refusal *last = user;
    (void)s;
    if (strcmp(hcb_map_text(line, "op", ""), "set_params") == 0 &&
        strcmp(hcb_map_text(line, "id", ""), last->id) == 0)
        last->refused = strcmp(hcb_map_text(line, "decision", ""), "rejected") == 0 &&
                        strstr(hcb_map_text(line, "error", ""), "memory");
}

bool check_refused(struct stage *s, const char *id)
{
    struct refusal last = {.id = id};
    each_line(s, "hotcb.applied.jsonl", find_refusal, &last);
    return last.refused;
}

/* ---- the rest ---- */

void check_said(struct stage *s)
{
    for (int i = 0; i < s->said_n; i++)
        if (s->said[i].times > SAID_AT_MOST)
            stage_fail(s, "said %d times: %s", s->said[i].times, s->said[i].text);
}

static void check_leftovers(struct stage *s)
{
    struct dirent *entry;
    DIR *dir = opendir(s->dir);
    while (dir && (entry = readdir(dir)))
        if (strstr(entry->d_name, ".tmp"))
            stage_fail(s, "%s was left behind", entry->d_name);
    if (dir)
        closedir(dir);
}

/* A line about a picture names a file that is there. */
static void check_picture(struct stage *s, const struct hcb_value *line, void *user)
{
    const char *path = hcb_map_text(line, "path", NULL);
    (void)user;
    if (path && access(stage_path(s, path), F_OK) != 0)
        stage_fail(s, "%s is not there", path);
}

void check_files(struct stage *s)
{
    static const char *const always[] = {"hotcb.applied.jsonl", "hotcb.status.json",
                                         "hotcb.state.json"};
    static const char *const others[] = {"hotcb.metrics.jsonl", "hotcb.metrics.jsonl.1",
                                         "hotcb.media.jsonl", "hotcb.media.jsonl.1",
                                         "hotcb.log", "hotcb.log.1"};
    for (size_t i = 0; i < COUNT(always); i++)
        check_lines(s, always[i]);
    for (size_t i = 0; i < COUNT(others) && !s->tearing; i++)
        check_lines(s, others[i]);
    if (!s->tearing) {
        check_trace(s);
        each_line(s, "hotcb.media.jsonl", check_picture, NULL);
    }
    check_leftovers(s);
}

int check_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}
