/* A mistyped run directory: is it one, and which may have been meant? Only looks. */
#include "cli/nearby.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/table.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_AT_MOST 2000 /* directory entries */
#define NAMES_MAX 200

struct names {
    char *v[NAMES_MAX];
    size_t n;
};

bool cli_is_run_dir(const struct hcb_rundir *at)
{
    struct hcb_sig config, commands, status;
    hcb_sig_get(at->config, &config);
    hcb_sig_get(at->commands, &commands);
    hcb_sig_get(at->status, &status);
    return config.exists || commands.exists || status.exists;
}

/* What cannot be looked at for want of memory is not offered. */
static bool is_run_dir(const char *parent, const char *name)
{
    struct hcb_rundir at;
    char *path = hcb_path_join(parent, name);
    bool is = false;
    if (path && hcb_rundir_init(&at, path, NULL, NULL)) {
        is = cli_is_run_dir(&at);
        hcb_rundir_release(&at);
    }
    free(path);
    return is;
}

/* Keeps the run directories among the entries of `dir`. */
static void collect(struct names *names, const char *dir)
{
    DIR *open_dir = opendir(dir);
    struct dirent *entry;
    if (!open_dir)
        return;
    for (int i = 0; i < LOOK_AT_MOST && names->n < NAMES_MAX; i++) {
        if (!(entry = readdir(open_dir)))
            break;
        if (entry->d_name[0] == '.')
            continue;
        if (is_run_dir(dir, entry->d_name) &&
            (names->v[names->n] = hcb_strdup(entry->d_name)))
            names->n++;
    }
    closedir(open_dir);
}

static void names_release(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->v[i]);
}

/* The sibling of a mistyped directory: as a path written the way the user did. */
static char *near_sibling(const char *dir)
{
    struct names names = {.n = 0};
    const char *slash = strrchr(dir, '/');
    char *parent = slash ? hcb_path_dir(dir) : hcb_strdup(".");
    if (parent)
        collect(&names, *parent ? parent : "/");
    const char *near = hcb_near(slash ? slash + 1 : dir, (const char *const *)names.v, names.n);
    char *path = NULL;
    if (near && parent)
        path = slash ? hcb_path_join(parent, near) : hcb_strdup(near);
    names_release(&names);
    free(parent);
    return path;
}

/* A directory that holds run directories: one of them was meant. */
static char *only_child(const char *dir)
{
    struct names names = {.n = 0};
    collect(&names, dir);
    char *path = NULL;
    if (names.n == 1)
        path = strcmp(dir, ".") == 0 ? hcb_strdup(names.v[0]) : hcb_path_join(dir, names.v[0]);
    names_release(&names);
    return path;
}

static void say_next(struct cli *cli, const char *dir)
{
    struct hcb_buf word = {0}, again = {0};
    cli_shell_word(&word, dir);
    cli_again(cli, &again, NULL);
    cli->given[CLI_KEY_DIR] = false; /* the line below brings its own */
    cli_next(cli, "--dir %s %s", hcb_buf_text(&word), hcb_buf_text(&again));
    hcb_buf_release(&word);
    hcb_buf_release(&again);
}

static bool is_something_else(const char *dir)
{
    struct stat st;
    return stat(dir, &st) == 0 && !S_ISDIR(st.st_mode);
}

static const char *why_not(const char *dir)
{
    struct hcb_sig sig;
    hcb_sig_get(dir, &sig);
    if (!sig.exists)
        return "there is no such directory";
    return is_something_else(dir) ? "it is not a directory" : "none of hotcb's files is in it";
}

/* "no run directory at runs/exp1x: ...; `hotcb --dir runs/exp1x init` makes one" */
static void say_missing(struct cli *cli, const char *dir, const char *meant)
{
    struct hcb_buf hint = {0}, init = {0};
    char *absolute = strcmp(dir, ".") == 0 ? hcb_path_absolute(dir) : NULL;
    if (meant)
        hcb_buf_printf(&hint, " (did you mean %s?)", meant);
    if (!is_something_else(dir)) {
        hcb_buf_str(&init, "; `");
        cli_tool(cli, &init);
        hcb_buf_str(&init, "init` makes one");
    }
    cli_fail(cli, CLI_NO_RUN, "no run directory at %s: %s%s%s", absolute ? absolute : dir,
             why_not(dir), hcb_buf_text(&hint), hcb_buf_text(&init));
    free(absolute);
    hcb_buf_release(&hint);
    hcb_buf_release(&init);
}

int cli_no_run_dir(struct cli *cli)
{
    struct hcb_buf dir = {0};
    struct hcb_sig sig;
    size_t n = strlen(cli->dir);
    while (n > 1 && cli->dir[n - 1] == '/')
        n--;
    hcb_buf_add(&dir, cli->dir, n);
    hcb_sig_get(hcb_buf_text(&dir), &sig);
    bool is_dir = sig.exists && !is_something_else(hcb_buf_text(&dir));
    if (is_dir && access(hcb_buf_text(&dir), X_OK) != 0) {
        int code = cli_fail(cli, CLI_REFUSED, "cannot look into %s: %s", hcb_buf_text(&dir),
                            strerror(errno));
        hcb_buf_release(&dir);
        return code;
    }
    char *meant = sig.exists ? only_child(hcb_buf_text(&dir)) : near_sibling(hcb_buf_text(&dir));
    say_missing(cli, hcb_buf_text(&dir), meant);
    if (meant)
        say_next(cli, meant);
    else if (!cli->given[CLI_KEY_DIR])
        cli_note(cli, "--dir DIR or HOTCB_DIR says where the run is");
    free(meant);
    hcb_buf_release(&dir);
    return CLI_NO_RUN;
}
