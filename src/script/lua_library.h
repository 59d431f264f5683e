/* Our own versions of what Lua's libraries cannot bound: each opens its part. Included
 * only in src/script. */
#ifndef HCB_LUA_LIBRARY_H
#define HCB_LUA_LIBRARY_H

#include <lua.h>

/* Replace fields of the global tables `string`, `table` and `utf8`, which are open. */
void hcb_lua_open_string(lua_State *L);
void hcb_lua_open_table(lua_State *L);
void hcb_lua_open_utf8(lua_State *L);
/* Makes the global table `coroutine`. */
void hcb_lua_open_coroutine(lua_State *L);

#endif
