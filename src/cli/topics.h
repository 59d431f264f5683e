/* What help and the man page say beyond the commands, as data. */
#ifndef HCB_CLI_TOPICS_H
#define HCB_CLI_TOPICS_H

#include <stddef.h>

struct cli_fact {
    const char *name, *text;
};

struct cli_topic {
    const char *name;    /* as in `hotcb help NAME` */
    const char *title;   /* of the man page's section */
    const char *summary; /* one line, no full stop */
    const char *about;   /* paragraphs; a newline ends one; or "" */
    const struct cli_fact *facts;
    size_t facts_n;
};

extern const struct cli_topic cli_topics[];
extern const size_t cli_topics_n;

const struct cli_topic *cli_topic_find(const char *name);

#endif
