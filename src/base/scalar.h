/* The one resolver of a plain scalar: what `1e-4`, `true`, `007` mean, in YAML
 * and on the command line alike.
 *
 * YAML 1.2 core schema (yaml.org/spec/1.2.2, 10.3.2) without octal and
 * hexadecimal: null true false (also Null NULL ~, True TRUE, ...), decimal
 * integers, reals (1e-4, .5, 2E5, 3., .inf, -.inf, .nan). A leading zero, as in
 * 010 or 007, makes it text, as do 22:22, 1.10.2, yes, NO. */
#ifndef HCB_SCALAR_H
#define HCB_SCALAR_H

#include "base/err.h"
#include "base/value.h"

/* *out must be null; its `source` is s. An empty text is null.
 * Errors: EFORMAT (an integer beyond int64), ENOMEM. */
int hcb_scalar_resolve(const char *s, size_t n, struct hcb_value *out, struct hcb_err *err);

/* A value of a `key=value` on the command line: JSON where it starts with '[' or
 * '{' and is valid, text where it is empty, else as above. */
int hcb_scalar_from_arg(const char *s, struct hcb_value *out, struct hcb_err *err);

#endif
