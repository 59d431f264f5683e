/* Threads with small stacks, and scripts that recurse through C as deep as they can: a run
 * on them works, or what it cannot do is refused with a sentence, and nothing crashes. Each
 * stack is painted before its thread begins, so that its deepest use can be told; the
 * table that is printed says what a thread needs. */
#include "trial.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KIB ((size_t)1024)
#define PAINT 0xa5
#define GUARD_BYTES (64 * KIB)
#define WORKS_FROM (1024 * KIB) /* on such a stack and larger ones nothing may be refused */

/* A script, or one piece of it that is written `nest` times around nothing. */
struct attack {
    const char *name;
    const char *text;
    const char *opens, *closes;
    int nest;
};

static const struct attack attacks[] = {
    {"neighbours alone", "function handle() end", NULL, NULL, 0},
    {"gsub", "local function f(s) return (s:gsub('.', f)) end\n"
             "function handle() f('a') end", NULL, NULL, 0},
    {"gsub, in a capture", "local function f(s) return (s:gsub('((((.))))', f)) end\n"
             "function handle() f('a') end", NULL, NULL, 0},
    {"pcall", "local function f() local ok = pcall(f) return ok end\n"
              "function handle() f() end", NULL, NULL, 0},
    {"xpcall handler", "local function h() xpcall(error, h) return 1 end\n"
                       "function handle() xpcall(error, h) end", NULL, NULL, 0},
    {"sort", "local function less(a, b) table.sort({3, 2, 1}, less) return a < b end\n"
             "function handle() table.sort({3, 2, 1}, less) end", NULL, NULL, 0},
    {"__index", "local t = setmetatable({}, {__index = function(t, k) return t[k] end})\n"
                "function handle() return t.x end", NULL, NULL, 0},
    {"__index chain", "local t = {}\n"
                      "for i = 1, 1e4 do t = setmetatable({}, {__index = t}) end\n"
                      "function handle() return t.x end", NULL, NULL, 0},
    {"__tostring", "local t = setmetatable({}, {__tostring = function(t) return tostring(t) end})\n"
                   "function handle() tostring(t) end", NULL, NULL, 0},
    {"format %s", "local t = setmetatable({}, {__tostring = function(t)\n"
                  "  return string.format('%s', t) end})\n"
                  "function handle() tostring(t) end", NULL, NULL, 0},
    {"hotcb.log %s", "local t = setmetatable({}, {__tostring = function(t)\n"
                     "  hotcb.log('info', '%s', t) return 'x' end})\n"
                     "function handle() hotcb.log('info', '%s', t) end", NULL, NULL, 0},
    {"__concat", "local m = {} local t = setmetatable({}, m)\n"
                 "m.__concat = function(a, b) return a .. b end\n"
                 "function handle() return t .. t end", NULL, NULL, 0},
    {"__lt, sorted", "local m = {} local function new() return setmetatable({}, m) end\n"
                     "m.__lt = function() table.sort({new(), new(), new()}) return true end\n"
                     "function handle() table.sort({new(), new()}) end", NULL, NULL, 0},
    {"table.concat", "local m = {__len = function() return 1 end}\n"
                     "local t = setmetatable({}, m)\n"
                     "m.__index = function() return table.concat(t) end\n"
                     "function handle() table.concat(t) end", NULL, NULL, 0},
    {"table.unpack", "local m = {__len = function() return 3 end}\n"
                     "local t = setmetatable({}, m)\n"
                     "m.__index = function() return (table.unpack(t)) end\n"
                     "function handle() table.unpack(t) end", NULL, NULL, 0},
    {"pattern", "function handle()\n"
                "  local s = ('a'):rep(100000)\n"
                "  pcall(string.find, s, ('a?'):rep(30000) .. 'b')\n"
                "  pcall(string.find, s, ('(a'):rep(32)); pcall(string.find, s, '(.-)%1b')\n"
                "end", NULL, NULL, 0},
    {"gmatch", "local function f() for _ in ('a'):gmatch('.') do f() end end\n"
               "function handle() f() end", NULL, NULL, 0},
    {"coroutines", "local function f() return coroutine.wrap(f)() end\n"
                   "function handle() f() end", NULL, NULL, 0},
    {"gsub in coroutines", "local function g(s) return (s:gsub('.', function()\n"
                           "  return coroutine.wrap(g)('a') end)) end\n"
                           "function handle() g('a') end", NULL, NULL, 0},
    {"__close", "local function f() local x <close> = setmetatable({}, {__close = f}) end\n"
                "function handle() f() end", NULL, NULL, 0},
    {"lua recursion", "local function f() return 1 + f() end\n"
                      "function handle() f() end", NULL, NULL, 0},
    {"json.encode", "local t = {}\n"
                    "for i = 1, 20000 do t = {t} end\n"
                    "function handle() hotcb.json.encode(t) end", NULL, NULL, 0},
    {"json.decode", "function handle() hotcb.json.decode(('['):rep(50000)) end", NULL, NULL, 0},
    {"json.decode maps", "function handle() hotcb.json.decode(('{\"a\":'):rep(50000)) end", NULL,
     NULL, 0},
    {"save", "local t = {}\n"
             "for i = 1, 20000 do t = {t} end\n"
             "function save() return t end\n"
             "function handle() end", NULL, NULL, 0},
    {"parser: (", "return ", "(", ")", 50000},
    {"parser: {", "return ", "{", "}", 50000},
    {"parser: function", "return ", "function() return ", " end", 10000},
    {"parser: not", "return ", "not ", "", 60000},
    {"parser: ..", "return ", "x .. ", "", 50000},
    {"parser: ^", "return ", "2 ^ ", "", 60000},
    {"parser: do", "", "do ", "end ", 30000},
    {"parser: if", "", "if x then ", "end ", 15000},
    {"parser: [", "return ", "x[", "]", 60000},
};

#define ATTACKS (sizeof attacks / sizeof *attacks)

static const size_t sizes[] = {
    64 * KIB, 256 * KIB, 512 * KIB, 528 * KIB, 544 * KIB, 1024 * KIB, 8192 * KIB,
};

#define SIZES (sizeof sizes / sizeof *sizes)

/* What a child of ours found out; on a page that it shares with us. */
struct finding {
    size_t deepest; /* bytes of stack that were ever used; 0: it never got so far */
    char outcome[160];
};

struct work {
    const struct attack *attack;
    size_t size;
    struct finding *finding;
    char *text; /* the script */
};

/* ---- on the small stack ---------------------------------------------------- */

/* Either it has heard everything, or it was refused, and then there is a sentence about
 * it: the load's, or that of its failure. */
static void check_neighbour(struct trial *t, const char *id, size_t size)
{
    char failures[30], reason[30], message[160];
    trial_field(t, id, "failures", failures, sizeof failures);
    trial_field(t, id, "error.reason", reason, sizeof reason);
    trial_field(t, id, "error.message", message, sizeof message);
    CHECK(size < WORKS_FROM || strcmp(failures, "0") == 0, "%s was refused on %zu KiB: %s", id,
          size / KIB, message);
    if (strtol(failures, NULL, 10) > 0)
        CHECK(strcmp(reason, "runtime") == 0 && *message, "%s was refused for %s: %s", id, reason,
              message);
}

static void note_outcome(struct trial *t, struct finding *finding, int load)
{
    char reason[30], message[200];
    trial_field(t, "attack", "error.reason", reason, sizeof reason);
    trial_field(t, "attack", "error.message", message, sizeof message);
    if (load < 0)
        snprintf(finding->outcome, sizeof finding->outcome, "not loaded: %.90s",
                 hotcb_errmsg(t->h));
    else
        snprintf(finding->outcome, sizeof finding->outcome, "%s %.90s", *reason ? reason : "fine",
                 message);
}

static int load_attack(struct trial *t, const char *text)
{
    char json[300], path[200];
    trial_write(t, "attack.lua", text);
    snprintf(path, sizeof path, "%s/attack.lua", t->dir);
    snprintf(json, sizeof json, "{\"op\":\"load\",\"id\":\"attack\","
             "\"limits\":{\"coroutines\":true},"
             "\"target\":{\"kind\":\"lua_file\",\"path\":\"%s\"}}", path);
    return hotcb_command(t->h, json);
}

static void *attack_here(void *arg)
{
    struct work *work = arg;
    struct trial *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    trial_init(t, work->attack->name);
    if (trial_open_on(t, work->size >= WORKS_FROM)) {
        int load = load_attack(t, work->text);
        trial_steps(t, 3);
        hotcb_env_step(t->env, t->step);
        hotcb_apply(t->h, t->env, "checkpoint");
        note_outcome(t, work->finding, load);
        check_neighbour(t, "first", work->size);
        check_neighbour(t, "last", work->size);
    }
    trial_close(t);
    free(t);
    return NULL;
}

/* ---- the stack ------------------------------------------------------------- */

static char *make_stack(size_t size)
{
    char *base = mmap(NULL, GUARD_BYTES + size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base, GUARD_BYTES, PROT_NONE) != 0)
        return NULL;
    memset(base + GUARD_BYTES, PAINT, size);
    return base + GUARD_BYTES;
}

static size_t deepest(const char *stack, size_t size)
{
    size_t untouched = 0;
    while (untouched < size && (unsigned char)stack[untouched] == PAINT)
        untouched++;
    return size - untouched;
}

static void attack_on_stack(void *arg)
{
    struct work *work = arg;
    pthread_attr_t attr;
    pthread_t thread;
    char *stack = make_stack(work->size);
    CHECK(stack, "a stack of %zu bytes", work->size);
    if (!stack)
        return;
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, work->size);
    int status = pthread_create(&thread, &attr, attack_here, work);
    CHECK(status == 0, "a thread: %s", strerror(status));
    if (status == 0)
        pthread_join(thread, NULL);
    work->finding->deepest = deepest(stack, work->size);
}

/* ---- the table ------------------------------------------------------------- */

static char *nested(const struct attack *a)
{
    size_t opens = strlen(a->opens), closes = strlen(a->closes), n = (size_t)a->nest;
    char *text = malloc(strlen(a->text) + n * (opens + closes) + 2), *at = text;
    if (!text)
        return NULL;
    at = stpcpy(at, a->text);
    for (size_t i = 0; i < n; i++)
        at = stpcpy(at, a->opens);
    if (*a->text)
        at = stpcpy(at, *a->opens == '{' || strstr(a->opens, "function") ? "" : "1");
    for (size_t i = 0; i < n; i++)
        at = stpcpy(at, a->closes);
    return text;
}

static void run_one(const struct attack *a, size_t size, struct finding *finding)
{
    char what[100];
    struct work work = {a, size, finding, a->nest ? nested(a) : strdup(a->text)};
    memset(finding, 0, sizeof *finding);
    snprintf(what, sizeof what, "%s on %zu KiB", a->name, size / KIB);
    if (work.text)
        trial_in_child(what, attack_on_stack, &work);
    free(work.text);
    printf("%-20s %6zu KiB  %6zu KiB deep  %s\n", a->name, size / KIB, finding->deepest / KIB,
           finding->outcome);
}

int main(int argc, char **argv)
{
    (void)argc;
    trial_begin(argv[0]);
    struct finding *finding = mmap(NULL, sizeof *finding, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(finding != MAP_FAILED, "a shared page");
    for (size_t a = 0; finding != MAP_FAILED && a < ATTACKS; a++)
        for (size_t i = 0; i < SIZES; i++)
            run_one(&attacks[a], sizes[i], finding);
    return trial_end();
}
