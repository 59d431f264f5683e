/* For tests that look at what is in their folder afterwards; names are relative
 * to the folder of scratch.h. Must not know any part of hotcb. */
#ifndef FILES_H
#define FILES_H

#include "scratch.h"

/* The whole file as text, yours to free; NULL if there is none. */
static inline char *file_read(const char *name)
{
    FILE *f = fopen(scratch(name), "r");
    if (!f)
        return NULL;
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    text[fread(text, 1, (1 << 20) - 1, f)] = '\0';
    fclose(f);
    return text;
}

static inline void assert_file(const char *name, const char *expected)
{
    char *text = file_read(name);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static inline int file_exists(const char *name)
{
    struct stat st;
    return lstat(scratch(name), &st) == 0;
}

/* How many entries a directory has; with it a test sees that nothing was left behind. */
static inline int entry_count(const char *name)
{
    char command[300];
    int n = -1;
    snprintf(command, sizeof(command), "ls -A '%s' | wc -l", scratch(name));
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_int_equal(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_drop)

#endif
