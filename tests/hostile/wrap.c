/* Puts a hostile script into each place of a callback; wrap.h says how. */
#include "wrap.h"
#include "base/file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_BYTES (4 << 20)

struct form {
    const char *name;
    const char *before, *after;
};

#define STEP "if step then return step(env) end"
#define HOOK(name)                                                                              \
    {#name, "local C = {handle = function() end, save = function() return {n = 1} end} "       \
            "function C." #name "(self, ...) local event, env = self, ... do ",                 \
     "\nend " STEP " return {n = 1} end return C\n"}

static const struct form forms[PLACE_COUNT] = {
    [IN_CHUNK] = {"chunk", "function handle(event, env) " STEP " end ", "\n"},
    [IN_HANDLE] = {"handle", "function handle(...) local event, env = ... do ",
                   "\nend " STEP " end\n"},
    [IN_ON_ATTACH] = HOOK(on_attach),
    [IN_SET_PARAMS] = HOOK(set_params),
    [IN_SAVE] = HOOK(save),
    [IN_RESTORE] = HOOK(restore),
    [IN_CLOSE] = HOOK(close),
    [AS_FILE] = {"file", "", ""},
    [AS_LIFE] = {"life", "", ""},
};

const char *place_name(enum place place)
{
    return forms[place].name;
}

static bool run_setup(const char *script, const char *target)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("sh", "sh", script, target, (char *)NULL);
        _exit(127);
    }
    errno = ECHILD;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static const char *tail_of(const struct entry *e, enum place place)
{
    bool may_be_ok = (e->allowed & OUTCOME_BIT(HCB_FINE)) != 0;
    return place == AS_FILE && may_be_ok ? "\nfunction handle(event, env) end\n"
                                         : forms[place].after;
}

bool wrap_entry(const struct entry *e, enum place place, const char *target)
{
    struct hcb_buf text = {0};
    if (e->setup)
        return run_setup(e->path, target);
    hcb_buf_str(&text, forms[place].before);
    bool ok = hcb_file_read(e->path, TEXT_BYTES, &text, NULL) == 0;
    hcb_buf_str(&text, tail_of(e, place));
    ok = ok && !text.oom && hcb_file_replace(target, text.data, text.len, NULL) == 0;
    hcb_buf_release(&text);
    return ok;
}
