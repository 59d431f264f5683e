/* The utf8 functions that go over all of a long string, made to count their work. The
 * others (codes, codepoint, charpattern) do little at a time, or no more than the stack of
 * a state holds; they stay Lua's. */
#include "script/lua_library.h"
#include "script/sandbox.h"

#include <lauxlib.h>
#include <lualib.h>

#define CODE_MOST 0x7FFFFFFFu
#define BATCH 1024 /* characters between two ticks */

static bool continues(const char *s)
{
    return (*s & 0xC0) == 0x80;
}

/* A position counted from the end as one from the start; 0 before that. */
static lua_Integer from_start(lua_Integer i, size_t n)
{
    if (i >= 0)
        return i;
    return (size_t)0 - (size_t)i > n ? 0 : (lua_Integer)n + i + 1;
}

/* ---- len ---------------------------------------------------------------------- */

static bool is_code(uint32_t code, size_t len, bool lax)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000, 0x200000, 0x4000000};
    if (code < least[len])
        return false;
    return lax || (code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF));
}

/* Bytes of the character at s, 0 if there is none. The text ends in a '\0'. */
static size_t char_length(const char *s, bool lax)
{
    unsigned char first = (unsigned char)*s;
    size_t len = 1;
    uint32_t code = 0;
    if (first < 0x80)
        return 1;
    for (; first & (0x80 >> len); len++) {
        if (len == 6 || !continues(s + len))
            return 0;
        code = code << 6 | (s[len] & 0x3F);
    }
    code |= (uint32_t)(first & (0x7F >> len)) << (6 * (len - 1));
    return len > 1 && is_code(code, len, lax) ? len : 0;
}

static int l_len(lua_State *L)
{
    size_t n, len;
    lua_Integer count = 0;
    const char *s = luaL_checklstring(L, 1, &n);
    lua_Integer at = from_start(luaL_optinteger(L, 2, 1), n);
    lua_Integer last = from_start(luaL_optinteger(L, 3, -1), n);
    bool lax = lua_toboolean(L, 4);
    luaL_argcheck(L, at >= 1 && --at <= (lua_Integer)n, 2, "initial position out of bounds");
    luaL_argcheck(L, --last < (lua_Integer)n, 3, "final position out of bounds");
    for (; at <= last; at += (lua_Integer)len, count++) {
        if (count % BATCH == BATCH - 1)
            hcb_sandbox_tick(L, BATCH);
        len = char_length(s + at, lax);
        if (len == 0) {
            luaL_pushfail(L);
            lua_pushinteger(L, at + 1);
            return 2;
        }
    }
    lua_pushinteger(L, count);
    return 1;
}

/* ---- offset ------------------------------------------------------------------- */

/* n characters back from p; NULL if there are fewer. */
static const char *chars_back(lua_State *L, const char *s, const char *p, lua_Integer n)
{
    for (; n > 0 && p > s; n--) {
        do {
            p--;
        } while (p > s && continues(p));
        if (n % BATCH == 0)
            hcb_sandbox_tick(L, BATCH);
    }
    return n == 0 ? p : NULL;
}

static const char *chars_on(lua_State *L, const char *p, const char *end, lua_Integer n)
{
    for (; n > 0 && p < end; n--) {
        do {
            p++;
        } while (continues(p));
        if (n % BATCH == 0)
            hcb_sandbox_tick(L, BATCH);
    }
    return n == 0 ? p : NULL;
}

static const char *char_start(const char *s, const char *p)
{
    while (p > s && continues(p))
        p--;
    return p;
}

static int l_offset(lua_State *L)
{
    size_t len;
    const char *s = luaL_checklstring(L, 1, &len);
    lua_Integer n = luaL_checkinteger(L, 2);
    lua_Integer at = luaL_optinteger(L, 3, n >= 0 ? 1 : (lua_Integer)len + 1);
    at = from_start(at, len) - 1;
    luaL_argcheck(L, at >= 0 && at <= (lua_Integer)len, 3, "position out of bounds");
    const char *p = s + at;
    if (n != 0 && continues(p))
        return luaL_error(L, "initial position is a continuation byte");
    p = n == 0  ? char_start(s, p)
        : n < 0 ? chars_back(L, s, p, n == LUA_MININTEGER ? LUA_MAXINTEGER : -n)
                : chars_on(L, p, s + len, n - 1);
    if (p)
        lua_pushinteger(L, p - s + 1);
    else
        luaL_pushfail(L);
    return 1;
}

/* ---- char --------------------------------------------------------------------- */

static int l_char(lua_State *L)
{
    luaL_Buffer b;
    int n = lua_gettop(L);
    luaL_buffinit(L, &b);
    for (int i = 1; i <= n; i++) {
        lua_Unsigned code = (lua_Unsigned)luaL_checkinteger(L, i);
        luaL_argcheck(L, code <= CODE_MOST, i, "value out of range");
        if (i % 128 == 0)
            hcb_sandbox_tick(L, 128 * 16);
        lua_pushfstring(L, "%U", (unsigned long)code);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    return 1;
}

/* ---- the table ---------------------------------------------------------------- */

static const luaL_Reg replacements[] = {
    {"len", l_len}, {"offset", l_offset}, {"char", l_char}, {NULL, NULL}
};

void hcb_lua_open_utf8(lua_State *L)
{
    lua_getglobal(L, LUA_UTF8LIBNAME);
    luaL_setfuncs(L, replacements, 0);
    lua_pop(L, 1);
}
