/* Words of Lua source, and which of them name globals; see globals.h. Must not know what
 * a callback is. It reads what Lua has compiled, so it need not judge. */
#include "script/globals.h"
#include "base/array.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum kind { WORD, NAME, MARK, OTHER }; /* a keyword, a name, punctuation, a literal */

struct token {
    char *s;
    size_t n;
    int line;
    enum kind kind;
    char mark; /* of a MARK: its character; 'o' for one of several that means nothing here */
    bool skip; /* an attribute */
};

struct scan {
    char *s, *end;
    int line;
    struct token *v;
    size_t n, cap;
    const char **locals;
    size_t locals_n, locals_cap;
    struct hcb_global *uses; /* one for each use */
    size_t uses_n, uses_cap;
    bool failed; /* no memory */
};

/* Room for one more in an array; false, and a note, where there is none. */
static bool grow(struct scan *sc, void **v, size_t n, size_t *cap, size_t size)
{
    void *p = hcb_grow(*v, n, cap, size);
    if (p)
        *v = p;
    sc->failed = sc->failed || !p;
    return p != NULL;
}

/* ---- words ----------------------------------------------------------------- */

static void add_token(struct scan *sc, char *s, int line, enum kind kind, char mark)
{
    void *v = sc->v;
    if (!grow(sc, &v, sc->n, &sc->cap, sizeof *sc->v))
        return;
    sc->v = v;
    sc->v[sc->n++] = (struct token){s, (size_t)(sc->s - s), line, kind, mark, false};
}

static bool is_keyword(const char *s, size_t n)
{
    static const char *const words[] = {
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if",
        "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && memcmp(words[i], s, n) == 0)
            return true;
    return false;
}

/* The number of '=' in a long bracket that opens at s, or -1. */
static int long_level(const char *s)
{
    const char *p = s + 1;
    if (*s != '[')
        return -1;
    while (*p == '=')
        p++;
    return *p == '[' ? (int)(p - s) - 1 : -1;
}

/* Stands after the bracket that closes one of that level. */
static void skip_long(struct scan *sc, int level)
{
    for (sc->s += level + 2; sc->s < sc->end; sc->s++) {
        sc->line += *sc->s == '\n';
        if (*sc->s != ']')
            continue;
        size_t equals = strspn(sc->s + 1, "=");
        if ((int)equals == level && sc->s[1 + equals] == ']') {
            sc->s += level + 2;
            return;
        }
    }
}

static void skip_comment(struct scan *sc)
{
    int level = long_level(sc->s + 2);
    sc->s += 2;
    if (level >= 0)
        skip_long(sc, level);
    else
        sc->s += strcspn(sc->s, "\n");
}

static void skip_string(struct scan *sc)
{
    char quote = *sc->s++;
    while (sc->s < sc->end && *sc->s != quote) {
        if (*sc->s == '\\' && sc->s + 1 < sc->end)
            sc->s++;
        sc->line += *sc->s == '\n';
        sc->s++;
    }
    sc->s += sc->s < sc->end;
}

static void skip_number(struct scan *sc)
{
    bool hex = sc->s[0] == '0' && (sc->s[1] == 'x' || sc->s[1] == 'X');
    const char *exponents = hex ? "pP" : "eE";
    while (isalnum((unsigned char)*sc->s) || *sc->s == '.') {
        bool sign = strchr(exponents, *sc->s) && (sc->s[1] == '+' || sc->s[1] == '-');
        sc->s += sign ? 2 : 1;
    }
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void read_word(struct scan *sc)
{
    char *from = sc->s;
    while (is_name_char(*sc->s))
        sc->s++;
    add_token(sc, from, sc->line, is_keyword(from, (size_t)(sc->s - from)) ? WORD : NAME, 0);
}

static void read_mark(struct scan *sc)
{
    static const char *const several[] = {"...", "..", "==", "~=", "<=", ">=", "<<", ">>", "//"};
    char *from = sc->s, mark = *sc->s;
    size_t n = 1;
    if (strncmp(from, "::", 2) == 0) {
        n = 2;
        mark = 'L';
    }
    for (size_t i = 0; i < sizeof several / sizeof *several && n == 1; i++)
        if (strncmp(from, several[i], strlen(several[i])) == 0) {
            n = strlen(several[i]);
            mark = 'o';
        }
    sc->s += n;
    add_token(sc, from, sc->line, MARK, mark);
}

static void read_literal(struct scan *sc, int level)
{
    char *from = sc->s;
    int line = sc->line;
    if (level >= 0)
        skip_long(sc, level);
    else if (*sc->s == '"' || *sc->s == '\'')
        skip_string(sc);
    else
        skip_number(sc);
    add_token(sc, from, line, OTHER, 0);
}

static void read_tokens(struct scan *sc)
{
    while (sc->s < sc->end && !sc->failed) {
        char c = *sc->s;
        bool number = isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)sc->s[1]));
        int level = long_level(sc->s);
        if (isspace((unsigned char)c)) {
            sc->line += c == '\n';
            sc->s++;
        } else if (c == '-' && sc->s[1] == '-') {
            skip_comment(sc);
        } else if (level >= 0 || c == '"' || c == '\'' || number) {
            read_literal(sc, level);
        } else if (is_name_char(c)) {
            read_word(sc);
        } else {
            read_mark(sc);
        }
    }
}

/* Nothing is read any more, so each name can be ended where the next token began. */
static void end_names(struct scan *sc)
{
    for (size_t i = 0; i < sc->n; i++)
        if (sc->v[i].kind == NAME || sc->v[i].kind == WORD)
            sc->v[i].s[sc->v[i].n] = '\0';
}

/* ---- what is local --------------------------------------------------------- */

static const struct token *at(const struct scan *sc, size_t i)
{
    static const struct token none = {.kind = OTHER};
    return i < sc->n ? &sc->v[i] : &none;
}

static bool is_mark(const struct token *t, char mark) { return t->kind == MARK && t->mark == mark; }

static bool is_word(const struct token *t, const char *word)
{
    return t->kind == WORD && strcmp(t->s, word) == 0;
}

static void add_local(struct scan *sc, const char *name)
{
    void *v = sc->locals;
    if (!grow(sc, &v, sc->locals_n, &sc->locals_cap, sizeof *sc->locals))
        return;
    sc->locals = v;
    sc->locals[sc->locals_n++] = name;
}

/* NAME [<attribute>] {, NAME [<attribute>]} */
static void declare_list(struct scan *sc, size_t i)
{
    while (at(sc, i)->kind == NAME) {
        add_local(sc, at(sc, i++)->s);
        if (is_mark(at(sc, i), '<') && is_mark(at(sc, i + 2), '>')) {
            sc->v[i + 1].skip = true;
            i += 3;
        }
        if (!is_mark(at(sc, i), ','))
            return;
        i++;
    }
}

/* What follows `function`: [NAME {. NAME} [: NAME]] ( parameters ) */
static void declare_parameters(struct scan *sc, size_t i)
{
    while (at(sc, i)->kind == NAME || is_mark(at(sc, i), '.') || is_mark(at(sc, i), ':')) {
        if (is_mark(at(sc, i), ':'))
            add_local(sc, "self");
        i++;
    }
    if (is_mark(at(sc, i), '('))
        declare_list(sc, i + 1);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void find_locals(struct scan *sc)
{
    for (size_t i = 0; i < sc->n && !sc->failed; i++) {
        if (is_word(&sc->v[i], "local") && is_word(at(sc, i + 1), "function") && i + 2 < sc->n)
            add_local(sc, sc->v[i + 2].s);
        else if (is_word(&sc->v[i], "local") || is_word(&sc->v[i], "for"))
            declare_list(sc, i + 1);
        if (is_word(&sc->v[i], "function"))
            declare_parameters(sc, i + 1);
    }
    size_t kept = 0;
    if (sc->locals_n > 0)
        qsort(sc->locals, sc->locals_n, sizeof *sc->locals, by_text);
    for (size_t i = 0; i < sc->locals_n; i++)
        if (kept == 0 || strcmp(sc->locals[kept - 1], sc->locals[i]) != 0)
            sc->locals[kept++] = sc->locals[i];
    sc->locals_n = kept;
}

static bool is_local(const struct scan *sc, const char *name)
{
    return sc->locals_n > 0 &&
           bsearch(&name, sc->locals, sc->locals_n, sizeof *sc->locals, by_text) != NULL;
}

/* ---- what is global -------------------------------------------------------- */

#define NESTING_MAX 1024 /* Lua itself compiles no more than 200 levels */

/* What is open where a token stands: brackets as they are, 'f' a function, 'b' another
 * block with an end, 'r' a repeat. */
struct nesting {
    char open[NESTING_MAX];
    size_t n, functions;
};

static void push(struct nesting *in, char what)
{
    if (in->n < NESTING_MAX)
        in->open[in->n++] = what;
    in->functions += what == 'f';
}

static void pop(struct nesting *in)
{
    if (in->n > 0)
        in->functions -= in->open[--in->n] == 'f';
}

static void follow(struct nesting *in, const struct token *t)
{
    if (t->kind == MARK && strchr("({[", t->mark))
        push(in, t->mark);
    else if (t->kind == MARK && strchr(")}]", t->mark))
        pop(in);
    else if (is_word(t, "function"))
        push(in, 'f');
    else if (is_word(t, "if") || is_word(t, "do"))
        push(in, 'b');
    else if (is_word(t, "repeat"))
        push(in, 'r');
    else if (is_word(t, "end") || is_word(t, "until"))
        pop(in);
}

static void add_use(struct scan *sc, const struct token *t, bool set, bool at_top)
{
    void *v = sc->uses;
    if (is_local(sc, t->s) || !grow(sc, &v, sc->uses_n, &sc->uses_cap, sizeof *sc->uses))
        return;
    sc->uses = v;
    sc->uses[sc->uses_n++] = (struct hcb_global){
        t->s, set ? t->line : 0, set ? 0 : t->line, set && at_top
    };
}

/* A field, a method, a label, or a key in a table. */
static bool is_no_variable(const struct scan *sc, size_t i, const struct nesting *in)
{
    const struct token *before = i > 0 ? &sc->v[i - 1] : at(sc, sc->n);
    const struct token *after = at(sc, i + 1);
    bool in_table = in->n > 0 && in->open[in->n - 1] == '{';
    bool begins = is_mark(before, '{') || is_mark(before, ',') || is_mark(before, ';');
    return sc->v[i].skip || is_mark(before, '.') || is_mark(before, ':') ||
           is_mark(before, 'L') || is_word(before, "goto") ||
           (in_table && begins && is_mark(after, '='));
}

/* a, b = ...: those before the last one are set, too. They were taken for read ones. */
static void set_before(struct scan *sc, size_t i, bool at_top)
{
    while (i >= 2 && is_mark(&sc->v[i - 1], ',') && sc->v[i - 2].kind == NAME &&
           !(i >= 3 && (is_mark(&sc->v[i - 3], '.') || is_mark(&sc->v[i - 3], ':')))) {
        i -= 2;
        for (size_t u = sc->uses_n; u > 0 && sc->uses[u - 1].name >= sc->v[i].s; u--)
            if (sc->uses[u - 1].name == sc->v[i].s)
                sc->uses[u - 1] = (struct hcb_global){sc->v[i].s, sc->v[i].line, 0, at_top};
    }
}

static void find_globals(struct scan *sc)
{
    struct nesting in = {.n = 0};
    for (size_t i = 0; i < sc->n && !sc->failed; i++) {
        const struct token *t = &sc->v[i], *after = at(sc, i + 1);
        bool at_top = in.functions == 0;
        follow(&in, t);
        if (t->kind != NAME || is_no_variable(sc, i, &in))
            continue;
        bool defined = i > 0 && is_word(&sc->v[i - 1], "function");
        bool set = defined ? is_mark(after, '(') : is_mark(after, '=');
        if (defined)
            at_top = in.functions == 1; /* the function itself is open already */
        add_use(sc, t, set, at_top);
        if (set && !defined)
            set_before(sc, i, at_top);
    }
}

/* ---- all of it ------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct hcb_global *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->name > y->name) - (x->name < y->name);
}

static int first_line(int a, int b) { return a == 0 ? b : a; }

/* One of each name is left; uses are sorted by name, and then by place. */
static void merge(struct scan *sc)
{
    size_t kept = 0;
    if (sc->uses_n > 0)
        qsort(sc->uses, sc->uses_n, sizeof *sc->uses, by_name);
    for (size_t i = 0; i < sc->uses_n; i++) {
        struct hcb_global *use = &sc->uses[i], *last = kept > 0 ? &sc->uses[kept - 1] : NULL;
        if (!last || strcmp(last->name, use->name) != 0) {
            sc->uses[kept++] = *use;
            continue;
        }
        last->set_line = first_line(last->set_line, use->set_line);
        last->read_line = first_line(last->read_line, use->read_line);
        last->at_top = last->at_top || use->at_top;
    }
    sc->uses_n = kept;
}

static bool speaks_of_env(const struct scan *sc)
{
    for (size_t i = 0; i < sc->n; i++)
        if (sc->v[i].kind == NAME && strcmp(sc->v[i].s, "_ENV") == 0)
            return true;
    return false;
}

bool hcb_globals_scan(const char *text, size_t n, struct hcb_globals *out)
{
    struct scan sc = {.line = 1};
    out->text = malloc(n + 1);
    if (!out->text)
        return false;
    memcpy(out->text, text, n);
    out->text[n] = '\0';
    sc.s = out->text;
    sc.end = out->text + n;
    read_tokens(&sc);
    end_names(&sc);
    find_locals(&sc);
    if (!speaks_of_env(&sc))
        find_globals(&sc);
    merge(&sc);
    free(sc.v);
    out->v = sc.uses;
    out->n = sc.uses_n;
    out->locals = sc.locals;
    out->locals_n = sc.locals_n;
    return !sc.failed;
}

void hcb_globals_release(struct hcb_globals *globals)
{
    free(globals->text);
    free(globals->v);
    free(globals->locals);
    memset(globals, 0, sizeof *globals);
}
