/* A host in a locale whose numbers have a comma, set for the process or for the thread, and
 * changed while the run goes on: scripts and files know the point alone, and the locale is
 * the host's own after each call, also after a runaway was stopped inside a function that
 * minds the locale. LOCPATH must have de_DE.UTF-8 and de_DE (ISO-8859-1). */
#include "trial.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says what does not read, write or compare as in the C locale. */
static const char reader_lua[] =
    "local function check(what, ok) if not ok then error(what .. ' is wrong') end end\n"
    "local given = {}\n"
    "function set_params(p) for k, v in pairs(p) do given[k] = v end end\n"
    "function handle(event, env)\n"
    "  check('tonumber', tonumber('3.2') == 3.2 and tonumber('3,2') == nil)\n"
    "  check('arithmetic on text', '1.5' + 1 == 2.5)\n"
    "  check('a comma in text', not pcall(function() return '1,5' + 1 end))\n"
    "  check('tostring', tostring(1.5) == '1.5' and 0.25 .. '' == '0.25')\n"
    "  check('format', string.format('%.2f %g %5.1f', 0.25, 1e-3, 2.5) == '0.25 0.001   2.5')\n"
    "  check('format %q', string.format('%q', 0.5) == '0x1p-1')\n"
    "  check('order', ('a' < 'B') == false and 'Z' < 'a')\n"
    "  check('upper', ('\\xe4'):upper() == '\\xe4' and not ('\\xe4'):find('%a'))\n"
    "  check('encode', hotcb.json.encode({0.5}) == '[0.5]')\n"
    "  check('decode', hotcb.json.decode('[1.25]')[1] == 1.25)\n"
    "  check('env', env.loss == 0.125 and env.lazy == 0.75)\n"
    "  check('a parameter', given.lr == nil or given.lr == 0.5)\n"
    "  check('a key of hotcb.yaml', given.x == nil or given.x == 1.5)\n"
    "  hotcb.scalar('quarter', 0.25)\n"
    "  hotcb.log('info', 'half %s %g', 0.5, 0.5)\n"
    "end\n";

/* Runs away inside what asks the locale. */
static const char formatter_lua[] =
    "local ways = {}\n"
    "function ways.format() while true do string.format('%99.99f', 1/3) end end\n"
    "function ways.tonumber() while true do tonumber('1234567.125e-3') end end\n"
    "function ways.compare()\n"
    "  local a = ('a'):rep(1e5)\n"
    "  while true do local x = a .. 1 < a .. 2 end\n"
    "end\n"
    "function ways.upper() local a = ('a'):rep(1e6); while true do a:upper() end end\n"
    "function handle(event, env) local way = ways[env.formats]; if way then way() end end\n";

static const char yaml[] =
    "callbacks:\n"
    "  reader:\n"
    "    target: {kind: lua_file, path: reader.lua}\n"
    "    params: {x: 1.5}\n";

/* ---- the locale of the host ------------------------------------------------ */

static locale_t thread_locale;
static char process_locale[100];

static bool is_comma(void)
{
    char text[20];
    snprintf(text, sizeof text, "%.1f", 0.5);
    return strcmp(text, "0,5") == 0;
}

static void check_host(const char *when)
{
    CHECK(is_comma(), "%s: the host's numbers have no comma any more", when);
    CHECK(uselocale((locale_t)0) == thread_locale, "%s: the thread has another locale", when);
    CHECK(strcmp(setlocale(LC_ALL, NULL), process_locale) == 0, "%s: the process is in %s", when,
          setlocale(LC_ALL, NULL));
}

static void set_process(const char *name)
{
    CHECK(setlocale(LC_ALL, name), "no locale %s: is LOCPATH set?", name);
    snprintf(process_locale, sizeof process_locale, "%s", setlocale(LC_ALL, NULL));
    thread_locale = uselocale((locale_t)0);
}

static void set_thread(const char *name)
{
    thread_locale = newlocale(LC_ALL_MASK, name, (locale_t)0);
    CHECK(thread_locale, "no locale %s: is LOCPATH set?", name);
    uselocale(thread_locale);
    snprintf(process_locale, sizeof process_locale, "%s", setlocale(LC_ALL, NULL));
}

/* ---- what is written ------------------------------------------------------- */

static void check_has(const struct trial *t, const char *name, const char *wanted)
{
    char *text = trial_read(t, name);
    CHECK(text && strstr(text, wanted), "no %s in %s/%s", wanted, t->dir, name);
    free(text);
}

static void check_files(const struct trial *t)
{
    check_has(t, "hotcb.metrics.jsonl", "\"quarter\",\"value\":0.25}");
    check_has(t, "hotcb.status.json", "\"lr\":0.5");
    check_has(t, "hotcb.status.json", "\"x\":1.5");
    check_has(t, "hotcb.applied.jsonl", "\"params\":{\"lr\":0.5}");
    check_has(t, "hotcb.log", "half 0.5 0.5");
}

/* The script fails at the first thing that is not as in the C locale. */
static void check_reader(const struct trial *t)
{
    char failures[20], message[200];
    trial_field(t, "reader", "failures", failures, sizeof failures);
    trial_field(t, "reader", "error.message", message, sizeof message);
    CHECK(strcmp(failures, "0") == 0, "%s failures: %s", failures, message);
}

/* ---- the loop -------------------------------------------------------------- */

static int lazy_value(void *user, hotcb_env *env, const char *key)
{
    (void)user;
    check_host("in a lazy value");
    return hotcb_env_num(env, key, 0.75);
}

static void step(struct trial *t, const char *way)
{
    hotcb_env_num(t->env, "loss", 0.125);
    hotcb_env_str(t->env, "formats", way ? way : "");
    trial_steps(t, 1);
    check_host(way ? way : "a step");
}

static void run_away(struct trial *t)
{
    static const char *const ways[] = {"format", "tonumber", "compare", "upper"};
    char reason[20], failures[20];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        step(t, ways[i]);
        step(t, NULL);
    }
    trial_field(t, "formatter", "error.reason", reason, sizeof reason);
    trial_field(t, "formatter", "failures", failures, sizeof failures);
    CHECK(strcmp(reason, "budget") == 0 && strcmp(failures, "4") == 0,
          "%s failures, the last one for %s", failures, reason);
}

static const char set_lr[] =
    "{\"op\":\"set_params\",\"id\":\"reader\",\"params\":{\"lr\":0.5}}";

static void use(struct trial *t)
{
    hotcb_env_num(t->env, "loss", 0.125);
    hotcb_env_keep(t->env, "loss");
    hotcb_env_lazy(t->env, "lazy", lazy_value, NULL);
    trial_write(t, "reader.lua", reader_lua);
    trial_write(t, "hotcb.yaml", yaml);
    CHECK(trial_load(t, "formatter", formatter_lua) == 0, "%s", hotcb_errmsg(t->h));
    for (int i = 0; i < 3; i++)
        step(t, NULL);
    CHECK(hotcb_command(t->h, set_lr) == 0, "%s", hotcb_errmsg(t->h));
    check_host("a command");
    step(t, NULL);
    run_away(t);
    trial_prove(t, TRIAL_TIMER);
    check_host("the trial");
    check_reader(t);
    check_files(t);
}

/* set: one of the two above; before: the locale is there before the run is. */
static void in_locale(const char *run, void (*set)(const char *name), const char *name,
                      bool before)
{
    struct trial t;
    trial_init(&t, run);
    if (before)
        set(name);
    if (trial_open(&t)) {
        if (!before)
            set(name);
        use(&t);
    }
    trial_close(&t);
    check_host("close");
}

static const struct {
    const char *name;
    void (*set)(const char *name);
    const char *locale;
    bool before;
} hosts[] = {
    {"process-after-open", set_process, "de_DE.UTF-8", false},
    {"process-before-open", set_process, "de_DE.UTF-8", true},
    {"process-iso", set_process, "de_DE", false},
    {"thread-after-open", set_thread, "de_DE.UTF-8", false},
    {"thread-before-open", set_thread, "de_DE.UTF-8", true},
    {"thread-iso", set_thread, "de_DE", false},
};

static void one_host(void *arg)
{
    size_t i = *(size_t *)arg;
    in_locale(hosts[i].name, hosts[i].set, hosts[i].locale, hosts[i].before);
}

int main(int argc, char **argv)
{
    (void)argc;
    trial_begin(argv[0]);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        trial_in_child(hosts[i].name, one_host, &i);
    return trial_end();
}
