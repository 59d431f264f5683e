/* Looks at a run from outside, by its lock and its status file. Writes nothing. */
#include "cli/run_view.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/text.h"
#include "cli/nearby.h"
#include "control/commands.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_BYTES ((size_t)64 << 20)
#define FRESH_S 10.0      /* a beat that young is a sign of life where locks cannot be asked */
#define LOOK_MAX_S 86400.0

static void read_status(struct cli_run *run)
{
    struct hcb_buf text = {0};
    int rc = hcb_file_read(run->at.status, STATUS_BYTES, &text, &run->unreadable);
    if (rc == 0)
        rc = hcb_json_parse(hcb_buf_text(&text), text.len, &run->status, &run->unreadable);
    if (rc == HOTCB_ENOENT)
        run->unreadable.code = 0;
    if (rc == 0 && run->status.type != HCB_MAP) {
        hcb_value_release(&run->status);
        hcb_fail(&run->unreadable, HOTCB_EFORMAT, "it is not a JSON object");
    }
    hcb_buf_release(&text);
}

/* Was the status written before the lock was taken? Then it is that of an earlier
 * run. Both times are those of the same file system. */
static bool status_is_older(const struct cli_run *run)
{
    struct hcb_sig lock, status;
    hcb_sig_get(run->at.lock, &lock);
    hcb_sig_get(run->at.status, &status);
    return lock.exists && status.exists && status.mtime_ns < lock.mtime_ns;
}

static bool says_running(const struct cli_run *run)
{
    return strcmp(hcb_map_text(&run->status, "state", ""), "running") == 0;
}

static void judge(struct cli_run *run)
{
    double beat = hcb_map_real(&run->status, "beat", -1);
    run->beat_age_s = beat < 0 ? -1 : hcb_clock_wall() - beat;
    if (beat >= 0 && !(run->beat_age_s > 0)) /* the wall clock may have been set back */
        run->beat_age_s = 0;
    run->owner = hcb_lock_owner(run->at.lock);
    bool seems_alive = says_running(run) && run->beat_age_s < FRESH_S;
    run->live = run->owner > 0 || (run->owner < 0 && seems_alive);
    run->died = !run->live && says_running(run);
    run->starting = run->owner > 0 && (run->status.type == HCB_NULL || status_is_older(run));
    if (run->starting) {
        hcb_value_release(&run->status);
        run->beat_age_s = -1;
    }
}

/* Whether the path is the usual one, of the directory as the run knew it: that may have
 * been moved or copied since. */
static bool is_usual(const struct cli_run *run, const char *path)
{
    struct hcb_rundir at;
    if (!hcb_rundir_init(&at, hcb_map_text(&run->status, "dir", "."), NULL, NULL))
        return true;
    bool same = strcmp(at.commands, path) == 0;
    hcb_rundir_release(&at);
    return same;
}

/* A host may have its command file elsewhere; then that is where it looks, and where the
 * next one will. */
static bool find_commands(struct cli_run *run)
{
    const struct hcb_value *commands = hcb_map_get(&run->status, "commands");
    const char *path = hcb_map_text(commands, "path", NULL);
    bool use = path && path[0] == '/' && !is_usual(run, path) &&
               (run->live || access(path, F_OK) == 0);
    run->commands = hcb_strdup(use ? path : run->at.commands);
    return run->commands != NULL;
}

int cli_run_open(struct cli *cli, struct cli_run *run)
{
    memset(run, 0, sizeof *run);
    run->beat_age_s = -1;
    if (!hcb_rundir_init(&run->at, cli->dir, NULL, NULL))
        return cli_fail(cli, CLI_REFUSED, "out of memory");
    if (!cli_is_run_dir(&run->at))
        return cli_no_run_dir(cli);
    read_status(run);
    judge(run);
    if (!find_commands(run))
        return cli_fail(cli, CLI_REFUSED, "out of memory");
    return CLI_OK;
}

void cli_run_close(struct cli_run *run)
{
    hcb_value_release(&run->status);
    free(run->commands);
    if (run->at.dir)
        hcb_rundir_release(&run->at);
}

bool cli_run_lives(const struct cli_run *run)
{
    /* Where locks cannot be asked, the end of a run cannot be seen either. */
    return hcb_lock_owner(run->at.lock) != 0;
}

int64_t cli_run_pid(const struct cli_run *run)
{
    int64_t pid = hcb_map_int(&run->status, "pid", 0);
    return pid > 0 ? pid : run->owner > 0 ? run->owner : 0;
}

const struct hcb_value *cli_run_callbacks(const struct cli_run *run)
{
    const struct hcb_value *list = hcb_map_get(&run->status, "callbacks");
    return list && list->type == HCB_LIST ? list : NULL;
}

const struct hcb_value *cli_run_callback(const struct cli_run *run, const char *id)
{
    const struct hcb_value *list = cli_run_callbacks(run);
    for (size_t i = 0; list && i < list->u.list.n; i++) {
        if (hcb_streq(hcb_map_text(&list->u.list.v[i], "id", NULL), id))
            return &list->u.list.v[i];
    }
    return NULL;
}

const char *cli_run_near_id(const struct cli_run *run, const char *id)
{
    const struct hcb_value *list = cli_run_callbacks(run);
    size_t n = list ? list->u.list.n : 0;
    const char **ids = n > 0 ? malloc(n * sizeof *ids) : NULL;
    if (!ids)
        return NULL;
    for (size_t i = 0; i < n; i++)
        ids[i] = hcb_map_text(&list->u.list.v[i], "id", "");
    const char *near = hcb_near(id, ids, n);
    free(ids);
    return near;
}

double cli_run_look_s(const struct cli_run *run)
{
    const struct hcb_value *look = hcb_map_get(&run->status, "look");
    double poll_s = hcb_map_real(look, "poll_interval_ms", 0) / 1e3;
    double applies = hcb_map_real(&run->status, "applies", 0);
    double uptime_s = hcb_map_real(&run->status, "uptime_s", 0);
    double debounce = hcb_map_real(look, "debounce_steps", 1);
    double steps_s = applies > 0 && uptime_s > 0 ? debounce * uptime_s / applies : 0;
    double look_s = steps_s > poll_s ? steps_s : poll_s;
    return look_s > LOOK_MAX_S ? LOOK_MAX_S : look_s > 0 ? look_s : 0;
}

/* Whole lines with something in them, from `offset` to the end of an open file. */
static int64_t count_lines(int fd, int64_t offset)
{
    char bytes[16384];
    int64_t lines = 0, n;
    bool blank = true;
    while ((n = hcb_pread(fd, bytes, sizeof bytes, offset)) > 0) {
        for (int64_t i = 0; i < n; i++) {
            lines += bytes[i] == '\n' && !blank;
            blank = bytes[i] == '\n' || (blank && strchr(" \t\r", bytes[i]));
        }
        offset += n;
    }
    return n < 0 ? -1 : lines;
}

int64_t cli_run_queued(const struct cli_run *run)
{
    const struct hcb_value *commands = hcb_map_get(&run->status, "commands");
    int64_t offset = hcb_map_int(commands, "offset", 0);
    struct hcb_sig sig;
    hcb_sig_get(run->commands, &sig);
    if (!sig.exists || offset < 0 || offset > sig.size)
        return -1;
    int fd = open(run->commands, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    int64_t lines = count_lines(fd, offset);
    close(fd);
    return lines;
}

void cli_run_say_died(struct cli *cli, const struct cli_run *run)
{
    struct hcb_buf age = {0};
    cli_duration(&age, run->beat_age_s);
    if (run->died)
        cli_warn(cli, "the last run here (pid %lld) died; its last beat was %s ago",
                 (long long)cli_run_pid(run), hcb_buf_text(&age));
    hcb_buf_release(&age);
}
