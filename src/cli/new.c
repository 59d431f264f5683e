/* new: a callback to begin with, and a spec that tests it. Writes into the working
 * directory, and never over anything. */
#include "base/file.h"
#include "base/json.h"
#include "base/platform.h"
#include "cli/table.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* @NAME@ stands for the name, @TEST@ for the command that runs the spec. */
static const char callback_text[] =
    "-- @NAME@.lua: warns of a high loss. Into a run, while it goes on:\n"
    "--   hotcb load @NAME@ --file @NAME@.lua --enabled\n"
    "-- Saved edits are live at the run's next look; `hotcb check @NAME@.lua` needs no run.\n"
    "local Callback = {\n"
    "  params = { -- name, default, what is allowed: `hotcb set @NAME@ max_loss=5`\n"
    "    { \"every\", 50, min = 0, unit = \"steps\", help = \"0 = never\" },\n"
    "    { \"max_loss\", 10.0, min = 0, help = \"warn above this\" },\n"
    "  },\n"
    "  schedule = \"every\", -- handle once per crossed multiple of this parameter\n"
    "  events = { \"train_step_end\" }, -- only these\n"
    "}\n"
    "\n"
    "local warned = 0\n"
    "\n"
    "-- self has the parameters and `id`; env has what the host said of this step, nil else.\n"
    "function Callback:handle(event, env)\n"
    "  if not env.loss then return end\n"
    "  hotcb.scalar(\"loss\", env.loss) -- a line in hotcb.metrics.jsonl\n"
    "  if env.loss > self.max_loss then\n"
    "    warned = warned + 1\n"
    "    env.log(\"[%s] step %d: loss %g is above %g\", self.id, env.step or 0, env.loss,\n"
    "      self.max_loss)\n"
    "  end\n"
    "end\n"
    "\n"
    "function Callback:save() return { warned = warned } end -- kept over an edit\n"
    "function Callback:restore(saved) warned = saved.warned end\n"
    "\n"
    "return Callback\n";

static const char spec_text[] =
    "-- @NAME@_spec.lua: tests @NAME@.lua without a run:\n"
    "--   @TEST@\n"
    "local testing = require \"hotcb.testing\" -- the sandbox, env and parameters of a run\n"
    "\n"
    "describe(\"@NAME@\", function()\n"
    "  it(\"is called once per multiple of every\", function()\n"
    "    local cb = testing.load(\"@NAME@.lua\")\n"
    "    assert.same({ 0, 50, 100 }, cb:steps(0, 120))\n"
    "  end)\n"
    "\n"
    "  it(\"warns of a high loss\", function()\n"
    "    local cb = testing.load(\"@NAME@.lua\", { init = { every = 1 } })\n"
    "    cb:step(1, { loss = 0.5 })\n"
    "    assert.same({}, cb.lines)\n"
    "    cb:step(2, { loss = 12.5 })\n"
    "    assert.same({ \"[@NAME@] step 2: loss 12.5 is above 10\" }, cb.lines)\n"
    "    assert.equal(12.5, cb:scalar(\"loss\"))\n"
    "  end)\n"
    "\n"
    "  it(\"refuses what makes no sense\", function()\n"
    "    local ok, why = testing.load(\"@NAME@.lua\"):set { max_loss = -1 }\n"
    "    assert.is_nil(ok)\n"
    "    assert.equal(\"max_loss=-1: expected a number >= 0 - warn above this\", why)\n"
    "  end)\n"
    "end)\n";

#define FILES 2
#define NAME_BYTES 64

struct made {
    const char *name;
    char *path[FILES];
    struct hcb_buf test; /* the command */
};

/* ---- how the spec is run ----------------------------------------------------- */

/* The first of dir/a, dir/b, ... that is there; NULL if none is. */
static char *first_there(const char *dir, const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *path = hcb_path_join(dir, paths[i]);
        char *there = path && access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
        free(path);
        if (there)
            return there;
    }
    return NULL;
}

/* hotcb.testing, from where the tool was installed or built; yours to free, or NULL. */
static char *find_testing(void)
{
    static const char *const beside[] = {"../share/hotcb/lua/testing.lua",
                                         "share/hotcb/lua/testing.lua"};
    static const char *const usual[] = {"/usr/local/share/hotcb/lua/testing.lua",
                                        "/usr/share/hotcb/lua/testing.lua"};
    char *program = hcb_platform_program();
    char *dir = program ? hcb_path_dir(program) : NULL;
    char *found = dir ? first_there(dir, beside, 2) : NULL;
    free(program);
    free(dir);
    return found ? found : first_there("/", usual, 2);
}

/* busted along PATH; yours to free, or NULL. */
static char *find_busted(void)
{
    const char *const name[] = {"busted"};
    char *found = NULL;
    for (const char *s = getenv("PATH"); s && *s && !found;) {
        size_t n = strcspn(s, ":");
        char *dir = n > 0 ? strndup(s, n) : NULL;
        found = dir ? first_there(dir, name, 1) : NULL;
        free(dir);
        s += n + (s[n] == ':');
    }
    return found;
}

static void make_test(struct cli *cli, struct made *m)
{
    char *testing = find_testing(), *busted = find_busted();
    if (!testing)
        cli_warn(cli, "testing.lua, which the spec needs, is not found beside this tool: give its "
                      "path as --helper; it is in the folder lua/ of hotcb's sources");
    if (!busted)
        cli_warn(cli, "busted, which runs specs, is not installed: in Debian, lua-busted and "
                 "lua5.4");
    hcb_buf_str(&m->test, "lua5.4 ");
    cli_shell_word(&m->test, busted ? busted : "/usr/bin/busted");
    hcb_buf_str(&m->test, " --helper=");
    cli_shell_word(&m->test, testing ? testing : "testing.lua");
    hcb_buf_char(&m->test, ' ');
    cli_shell_word(&m->test, m->path[1]);
    free(testing);
    free(busted);
}

/* ---- the files --------------------------------------------------------------- */

static void fill_in(struct hcb_buf *b, const char *text, const struct made *m)
{
    for (const char *at; (at = strchr(text, '@')); text = at + 6) { /* both have six bytes */
        hcb_buf_add(b, text, (size_t)(at - text));
        hcb_buf_str(b, at[1] == 'N' ? m->name : hcb_buf_text(&m->test));
    }
    hcb_buf_str(b, text);
}

static int write_new(struct cli *cli, const char *path, const struct hcb_buf *text)
{
    struct hcb_err err = {0};
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return cli_fail(cli, CLI_REFUSED, "cannot make %s: %s", path, strerror(errno));
    int rc = hcb_file_write_once(fd, text->data, text->len, path, &err);
    if (close(fd) < 0 && rc == 0)
        rc = hcb_fail(&err, HOTCB_EIO, "cannot write %s: %s", path, strerror(errno));
    if (rc == 0)
        return CLI_OK;
    unlink(path);
    return cli_fail(cli, CLI_REFUSED, "%s", err.text);
}

static int make_file(struct cli *cli, const struct made *m, int i)
{
    static const char *const texts[FILES] = {callback_text, spec_text};
    struct hcb_buf text = {0};
    fill_in(&text, texts[i], m);
    int code = text.oom ? cli_fail(cli, CLI_REFUSED, "out of memory")
                        : write_new(cli, m->path[i], &text);
    hcb_buf_release(&text);
    return code;
}

static int make_files(struct cli *cli, const struct made *m)
{
    for (int i = 0; i < FILES; i++) {
        struct hcb_sig there;
        hcb_sig_get(m->path[i], &there);
        if (there.exists)
            return cli_fail(cli, CLI_REFUSED, "%s is there already: nothing is written",
                            m->path[i]);
    }
    int code = make_file(cli, m, 0);
    if (code == CLI_OK && (code = make_file(cli, m, 1)) != CLI_OK)
        unlink(m->path[0]);
    return code;
}

/* ---- what is said of it -------------------------------------------------------- */

static void put_json(struct cli *cli, const struct made *m)
{
    struct hcb_buf b = {0};
    hcb_json_open(&b, '{');
    hcb_json_key(&b, "made");
    hcb_json_open(&b, '[');
    for (int i = 0; i < FILES; i++)
        hcb_json_str(&b, m->path[i]);
    hcb_json_close(&b, ']');
    hcb_json_put_str(&b, "test", hcb_buf_text(&m->test));
    hcb_json_close(&b, '}');
    hcb_buf_char(&b, '\n');
    cli_screen_put(&cli->out, &b);
}

static void put_text(struct cli *cli, const struct made *m)
{
    struct hcb_buf b = {0}, then = {0};
    for (int i = 0; i < FILES; i++)
        hcb_buf_printf(&b, "made  %s\n", m->path[i]);
    cli_screen_put(&cli->out, &b);
    cli_next(cli, "check %s", m->path[0]);
    cli_paint(&cli->err, &then, CLI_DIM, "  then: ");
    hcb_buf_printf(&then, "%s\n", hcb_buf_text(&m->test)); /* whole: it is to be copied */
    cli_screen_put(&cli->err, &then);
}

static int run_new(struct cli *cli, struct made *m)
{
    static const char *const endings[FILES] = {".lua", "_spec.lua"};
    for (int i = 0; i < FILES; i++) {
        struct hcb_buf path = {0};
        hcb_buf_printf(&path, "%s%s", m->name, endings[i]);
        m->path[i] = hcb_buf_take(&path);
        if (!m->path[i])
            return cli_fail(cli, CLI_REFUSED, "out of memory");
    }
    make_test(cli, m);
    int code = m->test.oom ? cli_fail(cli, CLI_REFUSED, "out of memory") : make_files(cli, m);
    if (code == CLI_OK && cli->json)
        put_json(cli, m);
    else if (code == CLI_OK)
        put_text(cli, m);
    return code;
}

static bool is_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && n <= NAME_BYTES && s[n] == '\0';
}

int cli_run_new(struct cli *cli)
{
    struct made m = {.name = cli->words.v[0]};
    if (!is_name(m.name))
        return cli_usage(cli, "'%.80s' is no name: use letters, digits and '_', at most %d of them",
                         m.name, NAME_BYTES);
    int code = run_new(cli, &m);
    for (int i = 0; i < FILES; i++)
        free(m.path[i]);
    hcb_buf_release(&m.test);
    return code;
}
