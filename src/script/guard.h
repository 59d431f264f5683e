/* What keeps a script within its budget, by name, for status. */
#ifndef HCB_GUARD_H
#define HCB_GUARD_H

#define HCB_GUARD_NAME "count hook"

#endif
