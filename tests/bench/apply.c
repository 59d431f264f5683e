/* apply KIND CALLBACKS STEPS: applies of that many equal callbacks, for callgrind. The kinds
 * are empty, step (reads env.step) and loop (1000 turns of a loop). Budgets are so large
 * that no tick comes. */
#include <hotcb/hotcb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *kind, *body;
} kinds[] = {
    {"empty", ""},
    {"step", "local step = env.step"},
    {"loop", "local x = 0 for i = 1, 1000 do x = x + i end"},
};

static const char *body_of(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].body;
    return NULL;
}

static void load(hotcb *h, const char *dir, const char *body, int n)
{
    char path[300], command[700];
    snprintf(path, sizeof path, "%s/script.lua", dir);
    FILE *f = fopen(path, "w");
    if (!f)
        exit(1);
    fprintf(f, "return { handle = function(self, event, env) %s end }\n", body);
    fclose(f);
    for (int i = 0; i < n; i++) {
        snprintf(command, sizeof command, "{\"op\":\"load\",\"id\":\"c%d\",\"target\":{\"kind\":"
                 "\"lua_file\",\"path\":\"script.lua\"}}", i);
        if (hotcb_command(h, command) < 0)
            fprintf(stderr, "%s\n", hotcb_errmsg(h));
    }
}

int main(int argc, char **argv)
{
    hotcb *h;
    hotcb_options opt = HOTCB_OPTIONS_INIT;
    const char *body = argc == 5 ? body_of(argv[1]) : NULL;
    if (!body) {
        fprintf(stderr, "usage: apply empty|step|loop CALLBACKS STEPS DIR\n");
        return 2;
    }
    opt.dir = argv[4];
    opt.time_ms = opt.poll_interval_ms = 3600000;
    if (hotcb_open(&h, &opt) < 0)
        return 1;
    load(h, argv[4], body, (int)strtol(argv[2], NULL, 10));
    hotcb_env *env = hotcb_env_new();
    long steps = strtol(argv[3], NULL, 10);
    for (long step = 0; step < steps; step++) {
        hotcb_env_step(env, step);
        hotcb_apply(h, env, "train_step_end");
    }
    hotcb_env_free(env);
    hotcb_close(h);
    return 0;
}
