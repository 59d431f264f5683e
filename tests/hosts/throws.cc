// A C++ host whose own code throws and catches between applies, across frames, after
// runaways were stopped, and in threads: exceptions and the library do not meet.
#include "trial.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int alive; // objects with a destructor that has to run

struct Counted {
    Counted() { alive++; }
    Counted(const Counted &) = delete;
    Counted &operator=(const Counted &) = delete;
    ~Counted() { alive--; }
};

struct Diverged : std::runtime_error {
    explicit Diverged(int from) : std::runtime_error("diverged"), depth(from) {}
    int depth;
};

// Throws from `depth` frames below, each of which has something to destroy.
void fail_below(int depth, int now)
{
    Counted counted;
    std::vector<std::string> text(3, std::string(100, 'x'));
    if (now == depth)
        throw Diverged(depth);
    fail_below(depth, now + 1);
}

void throw_and_catch(int depth)
{
    bool caught = false;
    try {
        fail_below(depth, 0);
    } catch (const Diverged &error) {
        caught = error.depth == depth;
    }
    CHECK(caught && alive == 0, "%d objects were not destroyed", alive);
}

// An exception that leaves frames in which applies were made.
void train(trial *t, int depth, const char *way)
{
    Counted counted;
    trial_steps(t, 1);
    if (depth > 0)
        train(t, depth - 1, way);
    trial_runaway(t, way);
    throw Diverged(depth);
}

void throw_across_applies(trial *t, const char *way)
{
    bool caught = false;
    try {
        train(t, 5, way);
    } catch (const std::exception &error) {
        caught = true;
    }
    CHECK(caught && alive == 0, "%d objects were not destroyed", alive);
}

// An apply while an exception is being handled, and in a destructor while one flies.
struct LastWord {
    explicit LastWord(trial *run) : t(run) {}
    LastWord(const LastWord &) = delete;
    LastWord &operator=(const LastWord &) = delete;
    ~LastWord() { trial_runaway(t, "loop"); }
    trial *t;
};

void apply_while_unwinding(trial *t)
{
    bool caught = false;
    try {
        LastWord word(t);
        fail_below(3, 0);
    } catch (const Diverged &) {
        trial_runaway(t, "swallow");
        trial_steps(t, 2);
        caught = true;
    }
    CHECK(caught && alive == 0, "%d objects were not destroyed", alive);
}

// A lazy value that throws inside, and lets nothing out.
int lazy_value(void *user, hotcb_env *env, const char *key)
{
    int *calls = static_cast<int *>(user);
    try {
        fail_below(++*calls, 0);
    } catch (const Diverged &error) {
        return hotcb_env_int(env, key, error.depth);
    }
    return -1;
}

const char reader_lua[] = "local n = 0\n"
                          "function handle(event, env)\n"
                          "  n = n + 1\n"
                          "  if env.lazy ~= n then error('lazy ' .. tostring(env.lazy)) end\n"
                          "end\n";

void lazy(trial *t)
{
    int calls = 0;
    char failures[20];
    CHECK(trial_load(t, "reader", reader_lua) == 0, "%s", hotcb_errmsg(t->h));
    hotcb_env_lazy(t->env, "lazy", lazy_value, &calls);
    for (int i = 0; i < 5; i++) {
        trial_steps(t, 3);
        trial_runaway(t, "loop");
    }
    hotcb_env_lazy(t->env, "lazy", nullptr, nullptr);
    trial_field(t, "reader", "failures", failures, sizeof failures);
    CHECK(std::string(failures) == "0" && calls == 20, "%s failures, %d calls", failures, calls);
    hotcb_command(t->h, "{\"op\":\"unload\",\"id\":\"reader\"}");
}

void whole(void *arg)
{
    auto t = std::make_unique<trial>();
    trial_init(t.get(), static_cast<const char *>(arg));
    if (trial_open(t.get())) {
        for (int i = 0; i < 300; i++) { // more than the 200 calls into C that Lua allows
            trial_steps(t.get(), 1);
            throw_and_catch(i % 20);
        }
        throw_across_applies(t.get(), "loop");
        throw_across_applies(t.get(), "swallow");
        apply_while_unwinding(t.get());
        lazy(t.get());
        trial_prove(t.get(), TRIAL_TIMER);
        throw_and_catch(10);
    }
    trial_close(t.get());
}

} // namespace

int main(int, char **argv)
{
    trial_begin(argv[0]);
    char here[] = "here", there[] = "there";
    whole(here);
    trial_in_thread(whole, there, 0);
    return trial_end();
}
