/* Reads a script's `params` table. */
#ifndef HCB_PARAMS_LUA_H
#define HCB_PARAMS_LUA_H

#include "script/params.h"
#include <lua.h>

/* The table at idx: rows { name, default, type=, min=, max=, step=, log=, choices=,
 * unit=, help= }. *ps is empty before; on failure release it. Calls no metamethod
 * and raises no Lua error. Errors: EFORMAT ("params[1] 'x': unknown field 'mni' -
 * did you mean 'min'?"), ENOMEM. */
int hcb_params_from_lua(lua_State *L, int idx, struct hcb_params *ps, struct hcb_err *err);

#endif
