/* Reads a folder of hostile scripts by its MANIFEST.tsv. */
#include "entries.h"
#include "base/array.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *outcome_name(enum hcb_reason reason)
{
    return reason == HCB_FINE ? "ok" : hcb_reason_name(reason);
}

/* The outcomes that stand as words in text, up to a remark in brackets. */
static unsigned read_outcomes(char *text)
{
    unsigned allowed = 0;
    char *save = NULL;
    text[strcspn(text, "(")] = '\0';
    for (char *w = strtok_r(text, " ,=|", &save); w; w = strtok_r(NULL, " ,=|", &save))
        for (int r = HCB_FINE; r <= HCB_FILE; r++)
            if (strcmp(w, outcome_name((enum hcb_reason)r)) == 0)
                allowed |= OUTCOME_BIT(r);
    return allowed;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static enum entry_kind kind_of(const struct entry *e, const char *place)
{
    if (strcmp(place, "life") == 0)
        return ENTRY_LIFE;
    if (strcmp(place, "handle") == 0)
        return ENTRY_HANDLE;
    return e->setup || strncmp(e->name, "src_", 4) == 0 ? ENTRY_FILE : ENTRY_BODY;
}

static bool take_path(struct entry *e, const char *folder, const char *name)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    e->path = malloc(n);
    if (!e->path)
        return false;
    snprintf(e->path, n, "%s/%s", folder, name);
    e->name = e->path + strlen(folder) + 1;
    e->setup = ends_with(name, ".setup.sh");
    return true;
}

static bool add_line(struct entries *all, const char *folder, char *line)
{
    char *field[4] = {"", "", "", ""};
    struct entry *v = hcb_grow(all->v, all->n, &all->cap, sizeof *v);
    line[strcspn(line, "\r\n")] = '\0';
    if (!v)
        return false;
    all->v = v;
    for (size_t i = 0; i < 4 && line; i++)
        field[i] = strsep(&line, "\t");
    struct entry e = {.coroutines = strcmp(field[2], "coroutines") == 0};
    e.allowed = read_outcomes(field[1]);
    if (!take_path(&e, folder, field[0]))
        return false;
    e.kind = kind_of(&e, field[3]);
    all->v[all->n++] = e;
    if (e.allowed == 0)
        fprintf(stderr, "%s/MANIFEST.tsv: %s: no outcome is named\n", folder, e.name);
    return e.allowed != 0;
}

bool entries_read(struct entries *all, const char *folder)
{
    char path[1000], line[1000];
    snprintf(path, sizeof path, "%s/MANIFEST.tsv", folder);
    FILE *f = fopen(path, "re");
    bool ok = f != NULL;
    if (!f)
        perror(path);
    while (ok && fgets(line, sizeof line, f))
        if (*line != '\n' && *line != '#')
            ok = add_line(all, folder, line);
    if (f)
        fclose(f);
    return ok;
}

void entries_release(struct entries *all)
{
    for (size_t i = 0; i < all->n; i++)
        free(all->v[i].path);
    free(all->v);
    memset(all, 0, sizeof *all);
}
