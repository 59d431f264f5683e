/* hotcb: change how a running training loop observes itself.
 *
 * A training loop opens a run directory, and once per step tells hotcb where it
 * is and what it has: hotcb takes in what people asked for meanwhile (commands,
 * hotcb.yaml, edited scripts) and calls the callbacks, which are Lua scripts.
 *
 *     hotcb *h = NULL;
 *     hotcb_options opt = HOTCB_OPTIONS_INIT;
 *     opt.dir = "runs/exp1";
 *     if (hotcb_open(&h, &opt) < 0)
 *         fprintf(stderr, "%s\n", hotcb_errmsg(h));   // training goes on without it
 *     hotcb_env *env = hotcb_env_new();
 *     for (int64_t step = 0; step < n; step++) {
 *         hotcb_env_step(env, step);
 *         hotcb_env_num(env, "loss", train_step(step));
 *         hotcb_apply(h, env, "train_step_end");
 *         if (hotcb_stop_reason(h)) break;
 *     }
 *     hotcb_env_free(env);
 *     hotcb_close(h);
 *
 * Rules that hold for every function here, unless it says otherwise:
 *
 * Results. 0 (or more) is success, a negative number is one of enum
 *   hotcb_error; a finished sentence about it is kept for hotcb_errmsg().
 * NULL. Every function accepts NULL, and a handle whose open failed: it then
 *   does nothing and returns HOTCB_EINVAL (NULL or 0 where that is the type).
 * Threads. One thread at a time per handle and per env; different handles on
 *   different threads do not disturb one another. hotcb starts no thread. A
 *   callback may need 480 KiB of stack: on a thread that has less left it is not
 *   called, and says so. hotcb itself needs 64 KiB. A thread that is cancelled amid
 *   a call, a hook included, is so at the next point for it after the call.
 * Signals. On Linux the first call into a script takes the highest real-time
 *   signal that nobody handles (never the last) for the life of the process, and
 *   two timers for each thread that calls scripts; they tick on that thread, only
 *   while a script runs, so that nothing of the host's is interrupted. Where
 *   the signal is blocked, a slower and weaker guard stands in: "guard" in
 *   hotcb.status.json is then "count hook" instead of "timer". That it is
 *   blocked is seen at the next tick of the kernel's clock, which has 100 to 1000
 *   a second: a host that blocks it only sometimes should do so before the run is
 *   opened.
 * Fork. A child may call every function on the handle: they do nothing there
 *   (EINVAL). The parent goes on as the owner. A child may open runs of its own.
 * Locale. Callbacks run in the C locale; the host's own code never does.
 * Numbers. Where the host has denormals flushed to zero (-ffast-math), they are
 *   zero for callbacks too, but not for what is said of tensors. Traps that it has set
 *   (feenableexcept) and the way it rounds hold for its own code alone, and are as they
 *   were after each call.
 * Strings. UTF-8, ended by NUL, copied before the call returns. Strings that
 *   are returned belong to the library and stay valid until the next call on
 *   the same handle, unless they are said to be yours to free.
 * Output. hotcb writes to no stream of the process; everything it has to say
 *   goes to the log hook (whose default does print to stderr) and to hotcb.log.
 * Disk. What cannot be written, for the disk is full or the directory gone, is
 *   said once and costs the loop nothing: lines and artifacts are dropped, and
 *   counted in hotcb.status.json, until it can be written again. A run directory
 *   that is gone is not made anew by the run; who makes it (`hotcb init`) has the
 *   run back. Files of lines become NAME.1 when they have half of their cap.
 * Memory. Once the loop is warm, hotcb_apply and hotcb_env_* allocate nothing
 *   outside a callback's own capped memory, unless something changed.
 */
#ifndef HOTCB_H
#define HOTCB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOTCB_VERSION "0.2.0"

/* Raised when a program built against an older header would not work any more. */
#define HOTCB_ABI 1

#if defined(HOTCB_STATIC)
#define HOTCB_API
#elif defined(__GNUC__)
#define HOTCB_API __attribute__((visibility("default")))
#else
#define HOTCB_API
#endif

/* Error numbers, their names and what they mean in general. The sentence about
 * one particular failure is hotcb_errmsg(). */
#define HOTCB_ERRORS(X)                                                 \
    X(HOTCB_EINVAL, -1, "an argument is NULL or out of range")          \
    X(HOTCB_ENOMEM, -2, "out of memory")                                \
    X(HOTCB_EIO, -3, "a file could not be read or written")             \
    X(HOTCB_ENOENT, -4, "no such file, directory or callback")          \
    X(HOTCB_EBUSY, -5, "another run owns the run directory")            \
    X(HOTCB_EFORMAT, -6, "text that is not what it should be")          \
    X(HOTCB_EREFUSED, -7, "understood, and refused")

enum hotcb_error {
#define HOTCB_ERROR_ENUM(name, number, text) name = number,
    HOTCB_ERRORS(HOTCB_ERROR_ENUM)
#undef HOTCB_ERROR_ENUM
    HOTCB_OK = 0
};

/* How much a log line matters. */
enum hotcb_level {
    HOTCB_DEBUG = 10,
    HOTCB_INFO = 20,
    HOTCB_WARN = 30,
    HOTCB_ERROR = 40
};

typedef struct hotcb hotcb;         /* one run: a run directory and its callbacks */
typedef struct hotcb_env hotcb_env; /* what the host says of one step */

/* Receives one line at a time, without a newline, valid UTF-8 without control
 * characters. `callback` is the id of the callback that logged it, or NULL for
 * the controller's own lines. Called on the thread that is inside hotcb, as soon as
 * there is something to say; hotcb.log, which gets the same lines, has those of what a
 * look takes in once the look is over, before status and ledger tell of it, and all
 * others at once. It must not call hotcb on the same handle, and must not unwind. */
typedef void hotcb_log_fn(void *user, enum hotcb_level level, const char *callback,
                          const char *line);

/* ---- a run ---------------------------------------------------------------- */

/* Start from HOTCB_OPTIONS_INIT: it carries the struct's size, so that a newer
 * library knows which fields a program was built with. Zero (NULL) in any other
 * field means its default. */
typedef struct hotcb_options {
    size_t size;
    const char *dir;           /* run directory; default "." */
    const char *config_path;   /* default dir/hotcb.yaml, made if missing; another: optional */
    const char *commands_path; /* default dir/hotcb.commands.jsonl */
    const char *search_path;   /* directories, separated by ':', where scripts may `require`
                                  from; default: the environment's HOTCB_PATH */
    const char *framework;     /* env.framework; default "c" */
    int no_create;             /* not 0: a missing run directory is an error, not created */
    int64_t debounce_steps;    /* look at most every so many applies; default 1 */
    int64_t poll_interval_ms;  /* and so many ms apart; default 50; negative: every apply */
    hotcb_log_fn *log;         /* default: stderr */
    void *log_user;
    enum hotcb_level log_level; /* lines below it are dropped; default HOTCB_INFO */
    int64_t time_ms;           /* default limits of a callback: CPU time a call; default 50 */
    int64_t memory_mb;         /* memory of its Lua state, in MiB; default 16. So much
                                  address space is reserved, only what is used is taken */
    int64_t errors;            /* failures within 100 calls that stop it; default 1,
                                  negative: never */
    int64_t log_bytes;         /* size cap of hotcb.log, 2 files; default 8 MiB */
    int64_t metrics_bytes;     /* size cap of hotcb.metrics.jsonl, 2 files; default 256 MiB */
    int resume;                /* not 0: what the last process in this directory had is there
                                  again at the first apply, see hotcb_open() */
    int64_t artifact_bytes;    /* what the files of one callback may take, all that are in
                                  artifacts/<id>/ together; default 1 GiB */
    int64_t artifact_files;    /* how many files and folders may be there; default 10000 */
    int64_t media_bytes;       /* size cap of hotcb.media.jsonl, 2 files; default 256 MiB */
} hotcb_options;

#ifdef __cplusplus
#define HOTCB_OPTIONS_LEVEL static_cast<hotcb_level>(0)
#else
#define HOTCB_OPTIONS_LEVEL (enum hotcb_level)0
#endif
#define HOTCB_OPTIONS_INIT { sizeof(hotcb_options), NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, \
                             NULL, HOTCB_OPTIONS_LEVEL, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Opens the run directory `opt->dir` (created if missing, with hotcb's files in
 * it) and takes its lock: one run at a time owns a directory. Nothing is read
 * from hotcb.yaml or the commands until the first apply.
 *
 * *out is set on failure too, so that hotcb_errmsg(*out) can say why and so
 * that the loop needs no special case: every function does nothing on it. (It
 * is NULL only when there is no memory at all.) Close it in either case.
 * Errors: EBUSY (the sentence names the owner's pid), ENOENT, EIO, ENOMEM.
 *
 * Commands that an earlier process already answered are not executed again;
 * those that were sent since are, at the first apply.
 *
 * With opt->resume the first apply begins with what the last process had:
 * its callbacks, with their parameters, whether they were enabled, their
 * counters (as of the last change or checkpoint), and what their save() gave at
 * the last "checkpoint" event, which restore() gets. Then the keys of hotcb.yaml
 * that have changed since, then commands that it had answered and not yet saved
 * when it died (the ledger has them once), then new ones. Emit "checkpoint" where
 * the model is saved, and resume where it is read again, and both are of one
 * moment. A callback that had failed is tried again. Where no process was before,
 * resume changes nothing. */
HOTCB_API int hotcb_open(hotcb **out, const hotcb_options *opt);

/* Calls close() of every script, writes the last status, gives up the lock and
 * frees the handle. NULL is fine. */
HOTCB_API void hotcb_close(hotcb *h);

/* Once a step (or wherever it is safe): take in what changed, if a look at the
 * files is due, then give `event` to each callback that is enabled, wants it
 * and is due. What was set in `env` holds for this call only, see below.
 *
 * A callback that fails costs the loop nothing but its time: 0 is returned, the
 * failure stands in log, ledger and status. One that does not return is stopped
 * after its time_ms of CPU time, a quarter of that, and a few ms. Errors: EINVAL.
 *
 * Costs, when no look is due and no callback is: a few nanoseconds and no
 * system call. A look that finds nothing new costs one system call where the
 * kernel tells of changes (a run takes one inotify instance, where it can have
 * one), else a stat for each watched file; "method" in hotcb.status.json says
 * "inotify+stat" or "stat". Told of are files on the usual local file systems
 * that are no links and have one name; all others are looked at by stat at each
 * look, and so is each file once a second in any case (of more than 64 callbacks
 * at least those of 64 a look), for changes that the kernel does not tell of. A
 * file that changed, and is not told of, is compared again for two seconds: all
 * of them together at most 256 KiB a look, in turn.
 *
 * What one look takes in is limited as follows; the rest is taken in by the
 * applies that come next, in the same order, whether or not a look is due. */
HOTCB_API int hotcb_apply(hotcb *h, hotcb_env *env, const char *event);

#define HOTCB_LOOK_OPS 256         /* commands, and as many ops of hotcb.yaml */
#define HOTCB_LOOK_BYTES (1 << 20) /* of the command file, and as many of changed scripts, but
                                      for the load that exceeds them; hotcb.yaml is read whole */
#define HOTCB_LOOK_LOADS 16        /* scripts that are loaded or reloaded, whoever wants it. Not
                                      so in the first look of a run: it loads all that hotcb.yaml
                                      wants, or that is resumed, before the first event */

/* A look writes hotcb.status.json anew if something has changed, else at most four times a
 * second, and never more than so many bytes of it a second: of a thousand callbacks, whose
 * status takes 650 KB, every 0.6 s. */
#define HOTCB_BEAT_BYTES (1 << 20)

/* The same with several events, in order, at one safe point. */
HOTCB_API int hotcb_apply_events(hotcb *h, hotcb_env *env, const char *const *events, size_t n);

/* The two halves of apply, for a host that wants to choose its moments: poll
 * takes in changes if a look is due (env may be NULL: the step is then the last
 * one seen) and returns the number of ops taken in; dispatch calls callbacks
 * and ends what was set in env. */
HOTCB_API int hotcb_poll(hotcb *h, hotcb_env *env);
HOTCB_API int hotcb_dispatch(hotcb *h, hotcb_env *env, const char *const *events, size_t n);

/* Why a callback asked the run to stop, or NULL if none did. The host decides
 * what to do about it. Costs a load. */
HOTCB_API const char *hotcb_stop_reason(const hotcb *h);

/* Executes one command, in the form of a line of the command file, now and in
 * this process; it is recorded in the ledger with origin "host". That is done at
 * once, but where many commands would write more than HOTCB_COMMAND_BYTES of
 * status and state (and HOTCB_BEAT_BYTES each second): what is executed beyond is
 * recorded together, by the next apply, poll that looks, or close.
 * Errors: EFORMAT (not a command), EREFUSED or ENOENT (not applied). */
HOTCB_API int hotcb_command(hotcb *h, const char *json);

#define HOTCB_COMMAND_BYTES (4 << 20)

/* Appends one command to hotcb.commands.jsonl of the run directory `dir`, which
 * must exist. It may belong to another process, or to none yet. On failure a
 * sentence is left in err[err_size]. Errors: EFORMAT, ENOENT, EIO. */
HOTCB_API int hotcb_send(const char *dir, const char *json, char *err, size_t err_size);

/* The callbacks as a JSON array, in the form that hotcb.status.json has them.
 * Yours to free with hotcb_free(); NULL when out of memory. */
HOTCB_API char *hotcb_list(const hotcb *h);

/* The sentence about the last failure on h. Never NULL; "" when there was none.
 * On NULL: that there is no handle. */
HOTCB_API const char *hotcb_errmsg(const hotcb *h);

/* What an error number means in general. Never NULL. */
HOTCB_API const char *hotcb_strerror(int error);

/* The library's version and ABI, as it was built; compare with HOTCB_VERSION
 * and HOTCB_ABI, which a program was built with. */
HOTCB_API const char *hotcb_version(void);
HOTCB_API int hotcb_abi(void);

/* Compiles the script at `path` and sets it up in a sandbox of its own, as a
 * load would, without any run. `symbol` may be NULL. The report, a JSON object
 * {"ok", "path", "name", "reason", "error", "traceback", "schedule", "events",
 * "declared", "hooks", "warnings", "notes"}, is left in *report, yours to free
 * with hotcb_free(). The last three are lists of text: which of the functions
 * that hotcb calls the script has; what looks like a slip (a misspelt hook, an
 * accidental global), with file and line; what may well be meant (an event that
 * is none of hotcb's own). They change nothing about the answer.
 * Returns 0 if the script would load. */
HOTCB_API int hotcb_check(const char *path, const char *symbol, char **report);

/* Frees what a function above said is yours. */
HOTCB_API void hotcb_free(void *p);

/* ---- env: what a callback sees ---------------------------------------------
 *
 * Keys. "loss", "epoch", "phase", "batch_idx" and any name of your own are
 * fields of the table `env` that scripts get. A key that begins with a group's
 * name and a point goes into that group: "metrics.lr" is env.metrics.lr,
 * "grads.layers.0.weight" is env.grads["layers.0.weight"]. The groups metrics,
 * model, grads, batch and outputs always exist; hotcb_env_group() adds others.
 * "loss.ce", where loss is no group, is env["loss.ce"].
 *
 * How long a value holds. Until the end of the next apply (or dispatch) that
 * env is given to; after that scripts see nil until it is set again, so nothing
 * stale is ever shown as fresh. hotcb_env_keep() makes a value stay.
 *
 * The first use of a key allocates a slot, later ones do not (a longer string
 * may). Errors: EINVAL for a NULL or empty key, one longer than 255 bytes, one
 * that is a group's name, or "log", which is a function for scripts. The step is
 * an integer, whichever function sets it. */

HOTCB_API hotcb_env *hotcb_env_new(void); /* NULL when out of memory */
HOTCB_API void hotcb_env_free(hotcb_env *env);

/* The step, any int64: what schedules count by, and the step in the ledger.
 * When it is not set before an apply, scripts see env.step as nil, and the
 * ledger repeats the last step. */
HOTCB_API int hotcb_env_step(hotcb_env *env, int64_t step);

HOTCB_API int hotcb_env_int(hotcb_env *env, const char *key, int64_t value);
HOTCB_API int hotcb_env_num(hotcb_env *env, const char *key, double value);
HOTCB_API int hotcb_env_bool(hotcb_env *env, const char *key, int value);
HOTCB_API int hotcb_env_str(hotcb_env *env, const char *key, const char *value); /* copied */

/* Makes the value last set under `key` a constant: it stays until it is set
 * again (and stays then, too) or taken away. ENOENT if nothing is set. */
HOTCB_API int hotcb_env_keep(hotcb_env *env, const char *key);
HOTCB_API int hotcb_env_unset(hotcb_env *env, const char *key);

/* Declares a group of your own; "log" and "framework" can be none (EINVAL). */
HOTCB_API int hotcb_env_group(hotcb_env *env, const char *name);

/* Tensors. What a script sees is a read-only view of the host's own memory: nothing is copied
 * but the description (shape and strides), no allocation is made where the same key had a
 * tensor before, and the memory must stay as it is until the next apply (or dispatch) has
 * returned; or as long as the value holds, if hotcb_env_keep() makes it stay.
 *
 * 0 to 8 dimensions; any strides, zero and negative ones too; any alignment; empty ones. Where
 * `data` is NULL and there are elements, as of a gradient that is not there yet, scripts see
 * nil. Types: f64 f32 f16 bf16, i8 to i64, u8 to u64, bool. All others, and memory that the
 * processor cannot read, are refused: EREFUSED, a sentence in hotcb_env_errmsg() (and in the
 * log of the run that env is next given to), and scripts see nil. */

/* Laid out as DLPack's DLTensor, from its version 0.2 to 1.x: a pointer to one may be cast to
 * a pointer to this. (https://dmlc.github.io/dlpack/latest/c_api.html) */
typedef struct hotcb_tensor {
    void *data;
    int32_t device_type;     /* kDLCPU 1; read like it: kDLCUDAHost 3, kDLROCMHost 11,
                                kDLCUDAManaged 13 */
    int32_t device_id;
    int32_t ndim;
    uint8_t type_code;       /* kDLInt 0, kDLUInt 1, kDLFloat 2, kDLBfloat 4, kDLBool 6 */
    uint8_t type_bits;
    uint16_t type_lanes;     /* 1 */
    const int64_t *shape;    /* (ndim) */
    const int64_t *strides;  /* (ndim), in elements; NULL: row-major, without gaps */
    uint64_t byte_offset;    /* from data to the first element */
} hotcb_tensor;

HOTCB_API int hotcb_env_tensor(hotcb_env *env, const char *key, const hotcb_tensor *tensor);

/* The same in one line, for row-major data without gaps: shape is (ndim). */
HOTCB_API int hotcb_env_f32(hotcb_env *env, const char *key, const float *data, int ndim,
                            const int64_t *shape);
HOTCB_API int hotcb_env_f64(hotcb_env *env, const char *key, const double *data, int ndim,
                            const int64_t *shape);

/* How memory of a device of this type (kDLCUDA is 2) is read: `copy` brings n bytes from the
 * device's address `from` to `to` and returns 0, or a negative number if it cannot. It is
 * called while a script works on such a tensor, for at most 64 KiB at a time; it must have
 * waited for work of the host's that still writes there, must not call hotcb and must not
 * unwind. Stays until called again; with copy = NULL such tensors are refused from then on. */
typedef int hotcb_copy_fn(void *user, void *to, const void *from, size_t n);
HOTCB_API int hotcb_env_device(hotcb_env *env, int32_t device_type, hotcb_copy_fn *copy,
                               void *user);

/* The sentence about the last tensor that env refused; "" when there was none. Never NULL. */
HOTCB_API const char *hotcb_env_errmsg(const hotcb_env *env);

/* A value that is worked out only when a script reads it: `fn` is called at
 * most once per apply, and sets the value of `key` on env by one of the
 * functions above (and of other keys, if it likes). Returning a negative number
 * means there is no value: scripts see nil. It runs inside a script's call, so
 * it must not call back into a run (EINVAL) and must not throw or long-jump. Stays until
 * called again with fn = NULL. */
typedef int hotcb_lazy_fn(void *user, hotcb_env *env, const char *key);
HOTCB_API int hotcb_env_lazy(hotcb_env *env, const char *key, hotcb_lazy_fn *fn, void *user);

#ifdef __cplusplus
}
#endif
#endif
