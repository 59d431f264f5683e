/* Plain data between Lua and hcb_value. */
#ifndef HCB_LUA_VALUE_H
#define HCB_LUA_VALUE_H

#include "base/err.h"
#include "base/value.h"
#include <lua.h>

/* Of one value: what the host does with it takes time that no script is stopped in. */
#define HCB_LUA_TEXT_BYTES (1 << 20) /* all keys and texts */
#define HCB_LUA_NODES 50000

/* Reads the value at idx into *out (null before). Raises no Lua error, calls no
 * metamethod. A table with keys 1..n is a list, one with text keys a map, an
 * empty one a map; integer keys beside text keys, other types, loops and depth
 * beyond HCB_VALUE_DEPTH, more than HCB_LUA_NODES entries (a table that stands
 * in two places counts twice) or HCB_LUA_TEXT_BYTES are refused with a sentence.
 * Errors: EFORMAT, ENOMEM. */
int hcb_value_from_lua(lua_State *L, int idx, struct hcb_value *out, struct hcb_err *err);
/* The same with a bound that several readings share: *room is what is left of it. */
struct hcb_lua_room {
    size_t nodes, bytes;
};
int hcb_value_from_lua_within(lua_State *L, int idx, struct hcb_lua_room *room,
                              struct hcb_value *out, struct hcb_err *err);

/* For code that runs in a sandbox: holds it meanwhile; raises where the budget ran out
 * (*out may hold something then). */
int hcb_value_from_lua_held(lua_State *L, int idx, struct hcb_value *out, struct hcb_err *err);
/* Room on the stack for a reading, so that it needs no memory of Lua's; may raise. */
void hcb_value_make_room(lua_State *L);

/* Pushes it; may raise a memory error. */
void hcb_value_to_lua(lua_State *L, const struct hcb_value *v);

#endif
