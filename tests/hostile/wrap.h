/* From an entry to the callback that carries it: where the attack is put. Knows nothing
 * of what becomes of it.
 *
 * A hostile script is statements; alone it is no callback, for it returns nothing and
 * defines no `handle`. So that "it ran to its end" can be told from "it is no callback",
 * something has to be added, and each place adds as little as it can, on the script's
 * first line and after its last, so that line numbers stay:
 *
 *   chunk   an empty global `handle` is defined in front of it. (In front, because a
 *           script may end in `return`.) The attack is then the chunk itself, at the top
 *           level, with its locals and its globals.
 *   handle  it is a block in a global `handle(...)`, with `event` and `env` as locals.
 *   hooks   the same in a method of a table that is returned: on_attach, set_params, save,
 *           restore (there is a save that gives it something), close.
 *   file    byte for byte, for scripts whose point is the file (src_*, *.setup.sh). Where
 *           `ok` is a possible outcome, a handle is added at the end of those that are
 *           scripts: an encoding mark has to stay at the beginning.
 *   life    byte for byte: it is a whole callback.
 *
 * A script that only defines a global `step` means it to be called: it is, from handle. */
#ifndef HOSTILE_WRAP_H
#define HOSTILE_WRAP_H

#include "base/buf.h"
#include "entries.h"

enum place {
    IN_CHUNK, IN_HANDLE, IN_ON_ATTACH, IN_SET_PARAMS, IN_SAVE, IN_RESTORE, IN_CLOSE, /* bodies */
    AS_FILE, AS_LIFE,
    PLACE_COUNT
};

#define FIRST_HOOK IN_ON_ATTACH
#define HOOK_COUNT 5

const char *place_name(enum place place);

/* Makes `target` from the entry. For a setup script that means to run it: it may make
 * anything there, and other files beside it. Returns false with errno where it cannot. */
bool wrap_entry(const struct entry *e, enum place place, const char *target);

#endif
