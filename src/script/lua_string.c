/* The string functions that can be kept busy, made to count their work. The patterns are
 * pattern.c's; here is what Lua makes of them. Beyond what Lua refuses: formats of more than
 * FORMAT_BYTES or FORMAT_WEIGHT, pack formats of more than PACK_BYTES.
 *
 * Whatever counts may leave by an error: all memory here is Lua's. */
#include "base/platform.h"
#include "script/lua_library.h"
#include "script/pattern.h"
#include "script/sandbox.h"

#include <ctype.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdint.h>
#include <string.h>

#define FORMAT_BYTES (1 << 20)
#define FORMAT_WEIGHT 4096 /* a conversion weighs 1, one of a float 4 */
#define FORMAT_LONG 1024   /* bytes of an argument that is worth a look */
#define PACK_BYTES (16 << 10)
#define BLOCK (64 << 10) /* bytes handled between two ticks */

static void spent(void *L, unsigned units)
{
    hcb_sandbox_tick(L, units);
}

/* A position counted from the end as one from the start; at least 1. */
static size_t start_position(lua_Integer i, size_t n)
{
    if (i > 0)
        return (size_t)i;
    if (i == 0 || i < -(lua_Integer)n)
        return 1;
    return n + (size_t)i + 1;
}

/* ---- matches and captures --------------------------------------------------- */

static const char *match_at(lua_State *L, struct hcb_match *m, const char *at, const char *pattern)
{
    const char *end = hcb_match_at(m, at, pattern);
    if (!end && m->error && m->error_index >= 0)
        luaL_error(L, "%s%d", m->error, m->error_index);
    else if (!end && m->error)
        luaL_error(L, "%s", m->error);
    return end;
}

/* Capture i of the match [s, end); without any, the match itself is the first. */
static void push_capture(lua_State *L, const struct hcb_match *m, int i, const char *s,
                         const char *end)
{
    const struct hcb_capture *c = &m->captures[i];
    if (i >= m->n && i > 0)
        luaL_error(L, "invalid capture index %%%d", i + 1);
    else if (i >= m->n)
        lua_pushlstring(L, s, (size_t)(end - s));
    else if (c->len == HCB_CAPTURE_OPEN)
        luaL_error(L, "unfinished capture");
    else if (c->len == HCB_CAPTURE_POSITION)
        lua_pushinteger(L, c->start - m->text + 1);
    else
        lua_pushlstring(L, c->start, (size_t)c->len);
}

static int push_captures(lua_State *L, const struct hcb_match *m, int n, const char *s,
                         const char *end)
{
    luaL_checkstack(L, n, "too many captures");
    for (int i = 0; i < n; i++)
        push_capture(L, m, i, s, end);
    return n;
}

static int push_match(lua_State *L, const struct hcb_match *m, const char *s, const char *end)
{
    return push_captures(L, m, m->n ? m->n : 1, s, end);
}

/* ---- find and match --------------------------------------------------------- */

static bool is_plain(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (p[i]) {
        case '^': case '$': case '*': case '+': case '?': case '.': case '(': case '[':
        case '%': case '-':
            return false;
        }
    }
    return true;
}

#define PLAIN_BLOCK 1024 /* places tried between two ticks; a long word counts besides */

static const char *find_plain(lua_State *L, const char *s, size_t n, const char *word,
                              size_t word_n)
{
    if (word_n == 0 || n < word_n)
        return word_n == 0 ? s : NULL;
    const char *first = memchr(s, *word, n - word_n + 1);
    if (!first || memcmp(first, word, word_n) == 0) /* mostly it ends here */
        return first;
    n -= (size_t)(first - s);
    s = first;
    while (n >= word_n) {
        size_t window = n - word_n < PLAIN_BLOCK ? n : word_n + PLAIN_BLOCK - 1;
        const char *at = hcb_find_bytes(s, window, word, word_n);
        if (at)
            return at;
        hcb_sandbox_tick(L, (unsigned)(window / 16 + 1));
        s += window - word_n + 1;
        n -= window - word_n + 1;
    }
    return NULL;
}

static int push_plain(lua_State *L, const char *text, const char *at, size_t n)
{
    if (!at) {
        luaL_pushfail(L);
        return 1;
    }
    lua_pushinteger(L, at - text + 1);
    lua_pushinteger(L, at - text + (lua_Integer)n);
    return 2;
}

/* The first match at or after s, which is moved to it. */
static const char *search(lua_State *L, struct hcb_match *m, const char **s, const char *pattern)
{
    bool anchored = pattern < m->pattern_end && *pattern == '^';
    for (;; ++*s) {
        const char *end = match_at(L, m, *s, pattern + anchored);
        if (end || anchored || *s == m->text_end)
            return end;
    }
}

static int find_pattern(lua_State *L, const char *text, size_t n, const char *s,
                        const char *pattern, size_t pattern_n, bool find)
{
    struct hcb_match m;
    hcb_match_init(&m, text, n, pattern + pattern_n, spent, L);
    const char *end = search(L, &m, &s, pattern);
    hcb_match_settle(&m);
    if (!end) {
        luaL_pushfail(L);
        return 1;
    }
    if (!find)
        return push_match(L, &m, s, end);
    lua_pushinteger(L, s - text + 1);
    lua_pushinteger(L, end - text);
    return 2 + push_captures(L, &m, m.n, s, end);
}

static int find_or_match(lua_State *L, bool find)
{
    size_t n, pattern_n;
    const char *text = luaL_checklstring(L, 1, &n), *p = luaL_checklstring(L, 2, &pattern_n);
    size_t skip = start_position(luaL_optinteger(L, 3, 1), n) - 1;
    if (skip > n) {
        luaL_pushfail(L);
        return 1;
    }
    if (find && (lua_toboolean(L, 4) || is_plain(p, pattern_n)))
        return push_plain(L, text, find_plain(L, text + skip, n - skip, p, pattern_n), pattern_n);
    return find_pattern(L, text, n, text + skip, p, pattern_n, find);
}

static int l_find(lua_State *L)
{
    return find_or_match(L, true);
}

static int l_match(lua_State *L)
{
    return find_or_match(L, false);
}

/* ---- gmatch ----------------------------------------------------------------- */

struct gmatch {
    struct hcb_match m;
    const char *at;   /* where to look next; NULL: nowhere */
    const char *last; /* end of the last match, at which no other may end */
    const char *pattern;
};

/* It may be called from another coroutine each time. */
static int l_gmatch_next(lua_State *L)
{
    struct gmatch *g = lua_touserdata(L, lua_upvalueindex(1));
    g->m.user = L;
    for (const char *s = g->at; s && s <= g->m.text_end; s++) {
        const char *end = match_at(L, &g->m, s, g->pattern);
        if (end && end != g->last) {
            g->at = g->last = end;
            return push_match(L, &g->m, s, end);
        }
    }
    return 0;
}

static int l_gmatch(lua_State *L)
{
    size_t n, pattern_n;
    const char *text = luaL_checklstring(L, 1, &n), *p = luaL_checklstring(L, 2, &pattern_n);
    size_t skip = start_position(luaL_optinteger(L, 3, 1), n) - 1;
    lua_settop(L, 2);
    struct gmatch *g = lua_newuserdatauv(L, sizeof *g, 0);
    hcb_match_init(&g->m, text, n, p + pattern_n, spent, L);
    g->at = skip > n ? NULL : text + skip;
    g->last = NULL;
    g->pattern = p;
    lua_insert(L, 1); // g text pattern
    lua_pushcclosure(L, l_gmatch_next, 3);
    return 1;
}

/* ---- gsub ------------------------------------------------------------------- */

struct gsub {
    lua_State *L;
    int type; /* of the replacement, argument 3 */
    const char *pattern;
    struct hcb_match m;
    luaL_Buffer out;
};

/* What '%' and the character c stand for in a replacement. */
static void add_escape(struct gsub *g, char c, const char *s, const char *end)
{
    if (c == '%') {
        luaL_addchar(&g->out, c);
    } else if (c == '0') {
        luaL_addlstring(&g->out, s, (size_t)(end - s));
    } else if (isdigit((unsigned char)c)) {
        push_capture(g->L, &g->m, c - '1', s, end);
        luaL_addvalue(&g->out);
    } else {
        luaL_error(g->L, "invalid use of '%%' in replacement string");
    }
}

/* Mostly a character or two. */
static void add_kept(struct gsub *g, const char *s, const char *end)
{
    if (end - s > 4)
        luaL_addlstring(&g->out, s, (size_t)(end - s));
    else
        while (s < end)
            luaL_addchar(&g->out, *s++);
}

static bool add_text(struct gsub *g, const char *s, const char *end)
{
    size_t n;
    const char *text = lua_tolstring(g->L, 3, &n), *stop = text + n, *p;
    hcb_match_spend(&g->m, n / 16);
    while ((p = memchr(text, '%', (size_t)(stop - text)))) {
        luaL_addlstring(&g->out, text, (size_t)(p - text));
        hcb_match_spend(&g->m, 8);
        add_escape(g, p[1], s, end); /* of the last byte, the '\0' behind it */
        text = p + 2;
    }
    luaL_addlstring(&g->out, text, (size_t)(stop - text));
    return true;
}

/* What a function or a table says; false keeps what was matched. */
static bool add_answer(struct gsub *g, const char *s, const char *end)
{
    lua_State *L = g->L;
    hcb_match_spend(&g->m, 16);
    if (g->type == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_match(L, &g->m, s, end), 1);
    } else {
        push_capture(L, &g->m, 0, s, end);
        lua_gettable(L, 3);
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(&g->out, s, (size_t)(end - s));
        return false;
    }
    if (!lua_isstring(L, -1))
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    luaL_addvalue(&g->out);
    return true;
}

static bool add_replacement(struct gsub *g, const char *s, const char *end)
{
    if (g->type == LUA_TFUNCTION || g->type == LUA_TTABLE)
        return add_answer(g, s, end);
    return add_text(g, s, end);
}

/* Replaces at most `most` matches and pushes the result. Returns their number. */
static lua_Integer replace(struct gsub *g, lua_Integer most)
{
    const char *s = g->m.text, *kept = s, *last = NULL;
    bool anchored = g->pattern < g->m.pattern_end && *g->pattern == '^', changed = false;
    lua_Integer n = 0;
    luaL_buffinit(g->L, &g->out);
    while (n < most) {
        const char *end = match_at(g->L, &g->m, s, g->pattern + anchored);
        if (end && end != last) {
            add_kept(g, kept, s);
            changed = add_replacement(g, s, end) || changed;
            s = kept = last = end;
            n++;
        } else if (s < g->m.text_end) {
            s++;
        } else {
            break;
        }
        if (anchored)
            break;
    }
    if (!changed) {
        lua_pushvalue(g->L, 1);
        return n;
    }
    luaL_addlstring(&g->out, kept, (size_t)(g->m.text_end - kept));
    luaL_pushresult(&g->out);
    return n;
}

static int l_gsub(lua_State *L)
{
    struct gsub g;
    size_t n, pattern_n;
    const char *text = luaL_checklstring(L, 1, &n);
    g.L = L;
    g.pattern = luaL_checklstring(L, 2, &pattern_n);
    g.type = lua_type(L, 3);
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)n + 1);
    luaL_argexpected(L, g.type == LUA_TNUMBER || g.type == LUA_TSTRING ||
                     g.type == LUA_TFUNCTION || g.type == LUA_TTABLE, 3,
                     "string/function/table");
    hcb_match_init(&g.m, text, n, g.pattern + pattern_n, spent, L);
    lua_pushinteger(L, replace(&g, most));
    hcb_match_settle(&g.m);
    return 2;
}

/* ---- rep, and one byte for one ---------------------------------------------- */

/* The rest of `total` bytes, from the first `period` of them. */
static void fill(lua_State *L, char *out, size_t period, size_t total)
{
    size_t have = period < total ? period : total;
    while (have < total) {
        size_t from = have % period, n = have - from;
        n = n < BLOCK ? n : BLOCK;
        n = n < total - have ? n : total - have;
        memcpy(out + have, out + from, n);
        have += n;
        if (n == BLOCK)
            hcb_sandbox_tick(L, BLOCK / 16);
    }
}

static void push_repeated(lua_State *L, const char *s, size_t s_n, const char *sep,
                          size_t sep_n, size_t total)
{
    luaL_Buffer b;
    char *out = luaL_buffinitsize(L, &b, total);
    memcpy(out, s, s_n);
    if (total > s_n)
        memcpy(out + s_n, sep, sep_n);
    fill(L, out, s_n + sep_n, total);
    luaL_pushresultsize(&b, total);
}

/* What is more than the state may have is refused where it is asked for. */
static int l_rep(lua_State *L)
{
    size_t s_n, sep_n;
    const char *s = luaL_checklstring(L, 1, &s_n);
    lua_Integer n = luaL_checkinteger(L, 2);
    const char *sep = luaL_optlstring(L, 3, "", &sep_n);
    if (n <= 0 || s_n + sep_n == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if (s_n + sep_n > INT32_MAX / (lua_Unsigned)n)
        return luaL_error(L, "resulting string too large");
    push_repeated(L, s, s_n, sep, sep_n, (size_t)n * s_n + (size_t)(n - 1) * sep_n);
    return 1;
}

static void to_upper(char *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (char)toupper((unsigned char)s[i]);
}

static void to_lower(char *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (char)tolower((unsigned char)s[i]);
}

static int push_mapped(lua_State *L, void (*map)(char *, const char *, size_t))
{
    luaL_Buffer b;
    size_t n, done = 0;
    const char *s = luaL_checklstring(L, 1, &n);
    char *out = luaL_buffinitsize(L, &b, n);
    for (; n - done > BLOCK; done += BLOCK) {
        map(out + done, s + done, BLOCK);
        hcb_sandbox_tick(L, BLOCK / 4);
    }
    map(out + done, s + done, n - done);
    luaL_pushresultsize(&b, n);
    return 1;
}

static int l_upper(lua_State *L)
{
    return push_mapped(L, to_upper);
}

static int l_lower(lua_State *L)
{
    return push_mapped(L, to_lower);
}

/* ---- format ----------------------------------------------------------------- */

/* A control character as an escape, which a digit must not seem to be part of. */
static void add_control(luaL_Buffer *b, unsigned char c, char next)
{
    bool padded = isdigit((unsigned char)next);
    luaL_addchar(b, '\\');
    if (padded || c >= 100)
        luaL_addchar(b, (char)('0' + c / 100));
    if (padded || c >= 10)
        luaL_addchar(b, (char)('0' + c / 10 % 10));
    luaL_addchar(b, (char)('0' + c % 10));
}

/* Pushes the string at index `arg` as a literal, as %q does. */
static void push_quoted(lua_State *L, int arg)
{
    luaL_Buffer b;
    size_t n;
    const char *s = lua_tolstring(L, arg, &n);
    luaL_buffinit(L, &b);
    luaL_addchar(&b, '"');
    for (size_t i = 0; i < n; i++) {
        if (i % 1024 == 1023)
            hcb_sandbox_tick(L, 2048);
        if (s[i] == '"' || s[i] == '\\' || s[i] == '\n')
            luaL_addchar(&b, '\\');
        if (iscntrl((unsigned char)s[i]) && s[i] != '\n')
            add_control(&b, (unsigned char)s[i], s[i + 1]);
        else
            luaL_addchar(&b, s[i]);
    }
    luaL_addchar(&b, '"');
    luaL_pushresult(&b);
}

/* Makes a string of the format's %q at `at`, so that Lua's has only to copy it. */
static void quote_argument(lua_State *L, int arg, size_t at)
{
    size_t n;
    push_quoted(L, arg);
    lua_replace(L, arg);
    const char *format = lua_tolstring(L, 1, &n);
    lua_pushlstring(L, format, at + 1);
    lua_pushliteral(L, "s");
    lua_pushlstring(L, format + at + 2, n - at - 2);
    lua_concat(L, 3);
    lua_replace(L, 1);
    hcb_sandbox_tick(L, (unsigned)(n / 32));
}

/* Of %.20s Lua reads all of the argument each time. No precision is over 99. */
static void cut_argument(lua_State *L, int arg)
{
    size_t n;
    const char *s = lua_tolstring(L, arg, &n);
    hcb_sandbox_tick(L, (unsigned)(n / 32));
    if (memchr(s, '\0', n))
        return; /* which Lua refuses */
    lua_pushlstring(L, s, 100);
    lua_replace(L, arg);
}

static bool is_long(lua_State *L, int arg)
{
    return lua_type(L, arg) == LUA_TSTRING && lua_rawlen(L, arg) >= FORMAT_LONG;
}

/* Prepares the argument of the conversion at `at` ('%') of the format, argument 1. Returns
 * what the conversion weighs. */
static int prepare_argument(lua_State *L, int arg, size_t at)
{
    const char *spec = lua_tostring(L, 1) + at + 1;
    size_t n = strspn(spec, "-+ #0123456789.");
    char conversion = spec[n];
    if (n == 0 && conversion == 'q' && is_long(L, arg))
        quote_argument(L, arg, at);
    else if (conversion == 's' && memchr(spec, '.', n) && is_long(L, arg))
        cut_argument(L, arg);
    return conversion && strchr("aAeEfFgG", conversion) ? 4 : 1;
}

static void prepare_arguments(lua_State *L)
{
    size_t n;
    const char *format = lua_tolstring(L, 1, &n), *p = format;
    int arg = 1, sum = 0, top = lua_gettop(L);
    while (arg < top && (p = memchr(p, '%', n - (size_t)(p - format)))) {
        size_t at = (size_t)(p - format);
        if (p[1] != '%') {
            sum += prepare_argument(L, ++arg, at);
            format = lua_tostring(L, 1);
        }
        p = format + at + (p[1] == '%' ? 2 : 1);
        if (sum > FORMAT_WEIGHT)
            luaL_error(L, "too many values to format");
    }
    hcb_sandbox_tick(L, (unsigned)sum * 64);
}

/* Lua's own, once its arguments are of a kind that it is quick with. It is called in this
 * function's place, so that its errors are about the right function and argument. */
static int l_format(lua_State *L)
{
    size_t n;
    int top = lua_gettop(L);
    bool simple = top <= 32;
    luaL_checklstring(L, 1, &n);
    luaL_argcheck(L, n <= FORMAT_BYTES, 1, "format too long");
    for (int i = 2; i <= top && simple; i++)
        simple = !is_long(L, i);
    if (!simple)
        prepare_arguments(L);
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* ---- pack ------------------------------------------------------------------- */

/* Lua's own, for formats that somebody could have written. */
static int l_checked_pack(lua_State *L)
{
    size_t n;
    luaL_checklstring(L, 1, &n);
    luaL_argcheck(L, n <= PACK_BYTES, 1, "format too long");
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* ---- the table -------------------------------------------------------------- */

static const luaL_Reg replacements[] = {
    {"find", l_find}, {"match", l_match}, {"gmatch", l_gmatch}, {"gsub", l_gsub},
    {"rep", l_rep}, {"upper", l_upper}, {"lower", l_lower}, {NULL, NULL}
};

/* These call what they replace, their upvalue. */
static const luaL_Reg wrappers[] = {
    {"format", l_format}, {"pack", l_checked_pack}, {"unpack", l_checked_pack},
    {"packsize", l_checked_pack},
};

void hcb_lua_open_string(lua_State *L)
{
    lua_getglobal(L, LUA_STRLIBNAME); // string
    luaL_setfuncs(L, replacements, 0);
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        lua_getfield(L, -1, wrappers[i].name); // string stock
        lua_pushcclosure(L, wrappers[i].func, 1);
        lua_setfield(L, -2, wrappers[i].name);
    }
    lua_pop(L, 1);
}
