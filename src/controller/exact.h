/* Values as JSON that gives back the same, for the state file. JSON has neither
 * infinities nor NaN, nor bytes that are not UTF-8, nor the spelling of a number, which
 * a parameter that is text would want. An object whose only key is "$" stands for what
 * it cannot say:
 *   {"$":"NaN"}, {"$":"Infinity"}, {"$":"-Infinity"}   that real
 *   {"$":["00ff"]}                                     text of these bytes, in hex
 *   {"$":[1.1,"1.10"]}                                 that value, and how it was spelt
 *   {"$":{...}}                                        that map, as older versions wrote it
 * A key that begins with "$" is written with one more: {"$$":1} is the map {"$":1}. One that
 * is not UTF-8 is written as "$" and its bytes in hex: {"$ff":1}. */
#ifndef HCB_EXACT_H
#define HCB_EXACT_H

#include "base/buf.h"
#include "base/value.h"

void hcb_exact_write(struct hcb_buf *b, const struct hcb_value *v);

/* *out is null before, and after a failure. Errors: EFORMAT (no such JSON), ENOMEM. */
int hcb_exact_read(const struct hcb_value *json, struct hcb_value *out);

#endif
