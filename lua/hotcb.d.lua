---@meta
-- What a callback sees, for the Lua language server: env, the global `hotcb`, the fields that
-- hotcb knows in a callback's table, and the globals of its sandbox. No run reads this file.

-- ---- env -----------------------------------------------------------------------------------

---What the host says of one step. It holds during `handle` and `on_attach` only; what the host
---has not set is nil. Keys of the host's own are fields too: env["loss.ce"].
---@class hotcb.Env
---@field step? integer
---@field epoch? number
---@field phase? "train"|"val"|"test"|string
---@field loss? number
---@field batch_idx? integer
---@field framework string what runs the loop: "c" where the host does not say
---@field metrics hotcb.Group
---@field model hotcb.Group parameters by name
---@field grads hotcb.Group gradients by name: env.grads["layers.0.weight"]
---@field batch hotcb.Group
---@field outputs hotcb.Group
---@field [string] hotcb.Scalar|hotcb.Group|hotcb.Tensor|nil
local Env = {}

---Logs a line; one argument is the line itself, more are for string.format.
---@param fmt any
---@param ... any
function Env.log(fmt, ...) end

---@alias hotcb.Scalar number|string|boolean

---@class hotcb.Group
---@field [string] any

---A read-only view of memory of the host's. It holds during the call only: to use one that was
---kept is an error. `#t` is the size of its first dimension (1 where it has none), tostring(t) is
---as in "f32[784,128]". Work on it counts against the callback's CPU time.
---@class hotcb.Tensor
local Tensor = {}

---@class hotcb.Stats
---@field n integer elements in all
---@field mean number of the finite elements, as are the next four
---@field std number divided by how many they are, not by one less
---@field min number an integer where the elements are
---@field max number
---@field l2 number
---@field nan integer how many
---@field inf integer how many, of either sign
---@field zeros integer how many, of either sign

---All of it in one pass; NaN and infinities are counted, not averaged. Where no element is
---finite, mean, std, min and max are NaN, and l2 is 0.
---@return hotcb.Stats
function Tensor:stats() end

---@return integer[]
function Tensor:shape() end

---@return "f64"|"f32"|"f16"|"bf16"|"i8"|"i16"|"i32"|"i64"|"u8"|"u16"|"u32"|"u64"|"bool"
function Tensor:dtype() end

---@return integer n how many elements
function Tensor:numel() end

---Of all elements: NaN where one is NaN, else infinite where one is.
---@param p? number 1, 2 (the default) or math.huge
---@return number
function Tensor:norm(p) end

---How many elements are in each of `bins` equal intervals from lo to hi, which belongs to the last
---one; others are not counted, nor is NaN. Without lo and hi: from the smallest to the largest
---finite element (0.5 to either side where they are the same; 0 to 1 where there is none).
---@param bins? integer 1 to 4096, default 30
---@param lo? number
---@param hi? number
---@return integer[] counts
---@return number[] edges one more than there are bins
function Tensor:histogram(bins, lo, hi) end

---One element; an index for each dimension, from 1, or from the end, which is -1. An integer for
---types of integers, true or false for bool.
---@param ... integer
---@return number|boolean
function Tensor:get(...) end

---The part with indices from..to (default -1, the end) of dimension dim: a view as well. Indices
---are as in string.sub, so what lies outside is left out.
---@param dim integer from 1
---@param from integer
---@param to? integer
---@return hotcb.Tensor
function Tensor:slice(dim, from, to) end

---A byte for each element, row by row, as for a picture: 0 at lo and below (and for NaN), 255 at
---hi and above. At most 1 MiB of them.
---@param lo number
---@param hi number
---@return string
function Tensor:pixels(lo, hi) end

-- ---- a callback ------------------------------------------------------------------------------

---@alias hotcb.Event
---| "fit_start"
---| "grads_ready" # gradients alive, before the optimiser
---| "train_step_end"
---| "val_step_end"
---| "epoch_end"
---| "eval_end"
---| "checkpoint"
---| "exception"
---| "fit_end"
---| string

---A row of `params`: name, default, and what is allowed. The type comes from the default.
---@class hotcb.Param
---@field [1] string its name; the value is self.NAME
---@field [2]? any its default
---@field type? "integer"|"number"|"boolean"|"string"|"list"|"any" where the default does not say
---@field min? number
---@field max? number math.huge admits infinity
---@field step? number
---@field log? boolean vary it by factors
---@field choices? any[]
---@field unit? string
---@field help? string

---What a script returns.
---@class hotcb.Callback
---@field id? string its id in the run; set by the host
---@field name? string
---@field params? hotcb.Param[]
---@field schedule? string an integer parameter: handle once per crossed multiple of it
---@field events? hotcb.Event[] only these
---@field handle fun(self: table, event: hotcb.Event, env: hotcb.Env)
---@field set_params? fun(self: table, changed: table<string, any>) after values have changed
---@field on_attach? fun(self: table, env: hotcb.Env) at the first apply after a load
---@field save? fun(self: table): table|nil plain data, for restore
---@field restore? fun(self: table, saved: table) after an edit, and when a run is resumed
---@field close? fun(self: table)
---@field [string] any

-- ---- the host ----------------------------------------------------------------------------------

---What a script may ask of the host. It is carried out after the call has returned: log lines,
---stop and disable always, all else only if the call succeeded; of a version that does not load
---and so never runs, nothing but log lines. Of one call at most 1024
---such things, with 256 KiB of log lines and keys; what is more is dropped, and counted.
---@class hotcblib
hotcb = {}

---Logs a line at a level; with one argument, that line at level info.
---@param level "debug"|"info"|"warn"|"error"
---@param fmt any
---@param ... any
---@overload fun(line: any)
function hotcb.log(level, fmt, ...) end

---A line in hotcb.metrics.jsonl.
---@param key string 1 to 250 bytes
---@param value number
---@param step? integer default: the step of this call
---@return boolean queued false where there is no room for it in this call, or no such file
function hotcb.scalar(key, value, step) end

---A histogram in hotcb.media.jsonl: counts of the intervals between the edges.
---@param key string 1 to 250 bytes
---@param counts number[] at most 4096
---@param edges number[] one more, going up
---@param step? integer default: the step of this call
---@return boolean queued
function hotcb.histogram(key, counts, edges, step) end

---A picture: a file artifacts/<id>/<key>-<step>.png (.pgm or .ppm where hotcb was built without
---libpng) and a line in hotcb.media.jsonl that names it.
---@param key string 1 to 150 bytes; '/' makes folders; others than letters, digits, "._-" become "_"
---@param pixels string row by row from the top, a byte each (grey) or three (red, green, blue)
---@param width integer
---@param height integer at most 1 MiB of pixels
---@param step? integer default: the step of this call
---@return boolean queued
function hotcb.image(key, pixels, width, height, step) end

---A file below artifacts/<id>/, which has a cap on bytes and files; at most 16 in one call.
---@param name string "plots/loss.txt", at most 200 bytes and 16 components
---@param bytes string
---@param mode? "replace"|"append"
function hotcb.artifact(name, bytes, mode) end

---Asks the run to stop; the host decides.
---@param reason? string
function hotcb.stop(reason) end

---Switches this callback off.
function hotcb.disable() end

---@return number seconds on a clock that only goes forward
function hotcb.clock() end

---@class hotcb.Gpu
---@field name string
---@field utilisation? number percent
---@field memory_used? integer bytes
---@field memory_total? integer bytes
---@field process_memory? integer bytes that this process has there
---@field temperature? number degrees Celsius

---@class hotcb.System
---@field cpu_seconds number CPU time of the process since it began
---@field cpus number how many processors it may use, by its affinity and its cgroup's quota
---@field cpus_source string "host", "affinity", "cgroup v1" or "cgroup v2"
---@field rss? integer bytes of memory that the process has now
---@field rss_peak? integer bytes it had at most
---@field ram_total? integer bytes that it may use: its cgroup's limit, or the machine's
---@field ram_used? integer bytes of that in use, by all that the limit holds for
---@field ram_source? string "host", "cgroup v1" or "cgroup v2"
---@field gpus? hotcb.Gpu[] where asked for
---@field gpu_problem? string why there are none

---What the process takes of the machine.
---@param gpus? boolean also the GPUs, through NVML; the first who asks in a process has it loaded,
---  which may take long, and gets an answer at a later call
---@return hotcb.System
function hotcb.system(gpus) end

---@class hotcb.json
hotcb.json = {}

---@param value any plain data, of at most 50,000 values and 1 MiB of text; groups of env are, too
---@return string
function hotcb.json.encode(value) end

---@param text string at most 1 MiB
---@return any value nil where the text is not JSON
---@return string? problem
function hotcb.json.decode(text) end

-- ---- the sandbox ---------------------------------------------------------------------------------

-- Of the basic functions a script has these; string, table, math and utf8 are whole but for
-- string.dump. There is no os, io, debug, package, load, dofile, collectgarbage; coroutine only
-- where limits.coroutines allows it. table.unpack gives at most 4096 values, and setmetatable
-- takes no __gc.

---@type string
_VERSION = "Lua 5.4"
---@type table<string, any>
_G = {}

---Text only: shipped helpers ("hotcb.NAME"), files beside the script, HOTCB_PATH.
---@param name string
---@return any
function require(name) end

---Logs its arguments, a space between them.
---@param ... any
function print(...) end

---@generic T
---@param v T
---@param message? any
---@param ... any
---@return T
---@return any ...
function assert(v, message, ...) return v, message, ... end

---@param message any
---@param level? integer
function error(message, level) end

---@param object any
---@return table|false|nil
function getmetatable(object) end

---@generic T: table
---@param object T
---@param meta? table has no __gc: use close()
---@return T
function setmetatable(object, meta) end

---@generic V
---@param t V[]
---@return fun(t: V[], i?: integer): integer, V
---@return V[] t
---@return integer i
function ipairs(t) end

---@generic K, V
---@param t table<K, V>
---@return fun(t: table<K, V>, key?: K): K, V
---@return table<K, V> t
function pairs(t) end

---@generic K, V
---@param t table<K, V>
---@param key? K
---@return K?
---@return V?
function next(t, key) end

---A stop for its budget or memory goes through it.
---@param f function
---@param ... any
---@return boolean ok
---@return any ...
function pcall(f, ...) end

---@param f function
---@param handler function
---@param ... any
---@return boolean ok
---@return any ...
function xpcall(f, handler, ...) end

---@param a any
---@param b any
---@return boolean
function rawequal(a, b) end

---@param t table
---@param key any
---@return any
function rawget(t, key) end

---@param v table|string
---@return integer
function rawlen(v) end

---@param t table
---@param key any
---@param value any
---@return table
function rawset(t, key, value) end

---@param n integer|"#"
---@param ... any
---@return any ...
function select(n, ...) end

---@param v any
---@param base? integer
---@return number?
function tonumber(v, base) end

---@param v any
---@return string
function tostring(v) end

---@param v any
---@return "nil"|"number"|"string"|"boolean"|"table"|"function"|"thread"|"userdata"
function type(v) end
