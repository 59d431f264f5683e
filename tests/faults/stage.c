/* A run that things may go wrong in; see stage.h. Must not know what is to happen in it. */
#include "stage.h"

#include "base/json.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_MS 60

void stage_fail(struct stage *s, const char *fmt, ...)
{
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s%s%s: in %s: %s\n", s->plan, fault_struck() ? " struck " : "",
            fault_name(), s->act, text);
    s->failures++;
}

/* ---- what it says ---- */

static void normalise(char *out, size_t size, const char *line)
{
    size_t n = 0;
    for (const char *c = line; *c && n + 1 < size; c++) {
        bool digit = *c >= '0' && *c <= '9';
        if (!digit || n == 0 || out[n - 1] != '#')
            out[n++] = digit ? '#' : *c;
    }
    out[n] = '\0';
}

/* What is said of one command is no repetition of what is said of another. */
static bool is_answer(const char *line)
{
    return strstr(line, "(command): ") || strstr(line, "(host): ");
}

static void note(struct stage *s, const char *line)
{
    char text[sizeof s->said[0].text];
    int i = 0;
    normalise(text, sizeof text, line);
    while (i < s->said_n && strcmp(s->said[i].text, text) != 0)
        i++;
    if (i == STAGE_SAID)
        return;
    if (i == s->said_n) {
        s->said_n++;
        snprintf(s->said[i].text, sizeof s->said[i].text, "%s", text);
        s->said[i].times = 0;
    }
    s->said[i].times++;
}

static void listen(void *user, enum hotcb_level level, const char *callback, const char *line)
{
    struct stage *s = user;
    fault_leave();
    if (s->verbose)
        fprintf(stderr, "    %s: %d %s\n", s->act, level, line);
    if (!callback && level >= HOTCB_WARN && fault_struck() && !is_answer(line))
        note(s, line);
    fault_enter();
}

/* ---- life ---- */

void stage_init(struct stage *s, const char *root)
{
    const hotcb_options opt = HOTCB_OPTIONS_INIT;
    memset(s, 0, sizeof *s);
    snprintf(s->root, sizeof s->root, "%s", root);
    snprintf(s->dir, sizeof s->dir, "%s/run", root);
    s->act = "set-up";
    s->opt = opt;
    s->opt.dir = s->dir;
    s->opt.poll_interval_ms = -1;
    s->opt.log = listen;
    s->opt.log_user = s;
    s->opt.log_bytes = 6000;
    s->opt.metrics_bytes = 6000;
    s->opt.media_bytes = 6000;
    if (mkdir(root, 0777) != 0)
        stage_fail(s, "cannot create %s", root);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

void stage_release(struct stage *s)
{
    hotcb_env_free(s->env);
    s->env = NULL;
    nftw(s->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- what a host does ---- */

void stage_open(struct stage *s, bool resume)
{
    if (s->open)
        return;
    s->opt.resume = resume;
    fault_enter();
    hotcb_close(s->h);
    int status = hotcb_open(&s->h, &s->opt);
    fault_leave();
    s->open = status == 0;
    if (status < 0 && s->h && !*hotcb_errmsg(s->h))
        stage_fail(s, "open failed by %d and says nothing", status);
    if (status < 0 && s->verbose)
        fprintf(stderr, "    %s: open: %s\n", s->act, hotcb_errmsg(s->h));
    if (status < 0 && !fault_struck())
        stage_fail(s, "open: %s", hotcb_errmsg(s->h));
}

void stage_close(struct stage *s)
{
    fault_enter();
    hotcb_close(s->h);
    fault_leave();
    s->h = NULL;
    s->open = false;
}

static void set_env(struct stage *s)
{
    if (!s->env)
        s->env = hotcb_env_new();
    hotcb_env_step(s->env, s->step);
    hotcb_env_num(s->env, "loss", 0.25);
    hotcb_env_num(s->env, "metrics.lr", 0.001);
    hotcb_env_num(s->env, "grads.layers.0.weight", 1.5);
    static const float weights[] = {1, 2, 3, 4, 5, 6};
    hotcb_env_f32(s->env, "model.w", weights, 2, (int64_t[]){2, 3});
    hotcb_env_str(s->env, "phase", s->step % 2 ? "train" : "a phase of some longer name");
}

/* The loop goes on, whatever happens: apply says 0, or that there is no run or no env. */
void stage_event(struct stage *s, const char *event)
{
    fault_pass_ms(STEP_MS);
    fault_enter();
    set_env(s);
    int status = hotcb_apply(s->h, s->env, event);
    fault_leave();
    if (status < 0 && s->open && s->env)
        stage_fail(s, "apply failed by %d: %s", status, hotcb_errmsg(s->h));
}

void stage_step(struct stage *s)
{
    stage_event(s, "train_step_end");
    s->step++;
}

void stage_steps(struct stage *s, int n)
{
    for (int i = 0; i < n; i++)
        stage_step(s);
}

/* ---- what people do ---- */

static void write_all(struct stage *s, const char *path, int flags, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    size_t n = strlen(text);
    if (fd < 0 || write(fd, text, n) != (ssize_t)n)
        stage_fail(s, "the test cannot write %s", path);
    if (fd >= 0)
        close(fd);
}

void stage_write(struct stage *s, const char *path, const char *text)
{
    char aside[200];
    snprintf(aside, sizeof aside, "%s.new", path);
    write_all(s, aside, O_TRUNC, text);
    if (rename(aside, path) != 0)
        stage_fail(s, "the test cannot rename %s", aside);
}

void stage_append(struct stage *s, const char *path, const char *text)
{
    mkdir(s->dir, 0777);
    write_all(s, path, O_APPEND, text);
}

/* As somebody would who sees that the last line is torn. */
static void append_by_hand(struct stage *s, const char *json)
{
    char line[500];
    const char *path = stage_path(s, "hotcb.commands.jsonl");
    char *before = stage_read(path);
    size_t n = strlen(before);
    if (strstr(before, json) && strchr(strstr(before, json), '\n'))
        stage_fail(s, "send failed, and yet it was sent: %s", json);
    snprintf(line, sizeof line, "%s%s\n", n > 0 && before[n - 1] != '\n' ? "\n" : "", json);
    stage_append(s, path, line);
    free(before);
}

int stage_send(struct stage *s, const char *op, const char *id, const char *rest)
{
    char json[400], why[300] = "";
    snprintf(json, sizeof json, "{'op':'%s','id':'%s'%s,'cmd':'c%d'}", op, id, rest, ++s->sent);
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    fault_enter();
    int status = hotcb_send(s->dir, json, why, sizeof why);
    fault_leave();
    if (status < 0 && (!fault_struck() || !*why))
        stage_fail(s, "send failed by %d: %s", status, why);
    if (status < 0)
        append_by_hand(s, json);
    return s->sent;
}

int stage_send_set(struct stage *s, const char *id, int mark)
{
    char rest[60];
    snprintf(rest, sizeof rest, ",'params':{'mark':%d}", mark);
    return stage_send(s, "set_params", id, rest);
}

/* ---- what there is ---- */

const char *stage_path(struct stage *s, const char *name)
{
    static char paths[4][200];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", s->dir, name);
    return path;
}

char *stage_read(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t size = fd >= 0 && fstat(fd, &st) == 0 ? (size_t)st.st_size : 0;
    char *text = calloc(1, size + 1);
    if (!text)
        abort();
    if (size > 0 && read(fd, text, size) != (ssize_t)size)
        *text = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

bool stage_list(struct stage *s, struct hcb_value *out)
{
    char *text = hotcb_list(s->h);
    bool ok = text && hcb_json_parse(text, strlen(text), out, NULL) == 0;
    hotcb_free(text);
    return ok;
}

const struct hcb_value *stage_find(const struct hcb_value *list, const char *id)
{
    for (size_t i = 0; list->type == HCB_LIST && i < list->u.list.n; i++)
        if (strcmp(hcb_map_text(&list->u.list.v[i], "id", ""), id) == 0)
            return &list->u.list.v[i];
    return NULL;
}
