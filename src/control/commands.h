/* The command file: an append-only file of JSON lines that anybody may add to.
 *
 * The reader hands out whole new lines and nothing else: a line counts once its
 * newline is there. It remembers its place as an offset plus a fingerprint of
 * the bytes before it, so that a file that was truncated or replaced is noticed
 * by content, across restarts too, and read from its beginning. */
#ifndef HCB_COMMANDS_H
#define HCB_COMMANDS_H

#include "base/err.h"
#include "base/file.h"
#include "base/sha256.h"

struct hcb_commands_place {
    int64_t offset; /* of the first byte not yet taken in */
    int64_t lines;  /* newlines before it */
    int64_t count;  /* commands (lines that are not blank) before it */
    int64_t tail;   /* how many bytes before it the fingerprint covers */
    unsigned char fingerprint[HCB_SHA256_BYTES];
};

struct hcb_commands {
    char *path;
    struct hcb_commands_place place;
    struct hcb_sig sig;  /* of the file when it was last read */
    int64_t settle_until_ns;
    bool more;           /* the last look stopped at a cap, or next() is not through */
    int handed;          /* lines handed out since begin() */
    bool unsealed;       /* the fingerprint is that of an earlier place */
    bool skipping;       /* inside a line that is too long to take in; the place is its start */
    int64_t skipped_to;  /* how far its end has been looked for */
    unsigned char skipped[HCB_SHA256_BYTES]; /* the sum of its first bytes */
    bool told;           /* the line at the place is such a one, and need not be handed out */
    struct hcb_buf bytes;
    size_t at;           /* how far next() has come in bytes */
    int64_t base;        /* the offset of bytes[0] */
    int fd;              /* to read on from, */
    bool reading;        /* if this holds */
    int64_t limit;       /* this look reads no further than to here */
    size_t wanted;       /* bytes that could not be read last; 0: none */
    struct hcb_err said; /* the last complaint, so that it is made once */
};

struct hcb_line {
    const char *text; /* without newline, CR and BOM; not NUL-ended; until the next call */
    size_t n;
    int64_t offset; /* of its first byte in the file */
    int64_t number; /* from 1 */
    bool too_long;  /* text is only its beginning */
};

/* One line at most; what is longer is skipped to its end and reported. */
#define HCB_LINE_BYTES (1 << 19)

int hcb_commands_init(struct hcb_commands *c, const char *path);
void hcb_commands_release(struct hcb_commands *c);

/* What begin() found. Negative: an error, said once while it lasts. */
enum hcb_commands_event {
    HCB_COMMANDS_NOTHING,  /* no new bytes */
    HCB_COMMANDS_NEW,      /* go on with next() */
    HCB_COMMANDS_RESTARTED /* shorter or other than it was: the place is now 0; the caller
                              records that before it takes in more (call begin() again) */
};

/* Looks at the file, by one stat when nothing happened for two seconds. It and next() read
 * at most HOTCB_LOOK_BYTES, piece by piece as lines are asked for, so that a look at a long
 * queue costs what it takes in. No file is nothing new. Of RESTARTED, too, *err says why, for
 * the log. */
int hcb_commands_begin(struct hcb_commands *c, struct hcb_err *err);

/* The next whole line that is not blank, moving the place past it. false: no
 * more for now (or HOTCB_LOOK_OPS lines were handed out since begin()). A line
 * that is too long is handed out before its end is there; the place stays at its
 * start until then. The place is whole, and may be saved, once it has returned false. */
bool hcb_commands_next(struct hcb_commands *c, struct hcb_line *line);

/* The line that next() has just handed out counts as not taken in: the place is before it,
 * and the next look begins with it. */
void hcb_commands_put_back(struct hcb_commands *c, const struct hcb_line *line);

/* Moves the place past the line that begins at `offset` (for a restart: the
 * ledger says that it was answered); nothing to do if it is past it already. Of one that is
 * too long the end need not be there: the place is its start, and it is not handed out again.
 * Errors: EIO, ENOENT, EFORMAT (no whole line there, or not the same file any more). */
int hcb_commands_skip_to(struct hcb_commands *c, int64_t offset, struct hcb_err *err);

/* Appends one line in one write, under a lock that other hotcb processes honour;
 * `json` has no newline. A torn line of somebody else is closed first.
 * Errors: ENOENT (no such file: not a run directory), EIO, EFORMAT (a line that
 * the reader would not take), ENOMEM. */
int hcb_commands_append(const char *path, const char *json, size_t n, struct hcb_err *err);

#endif
