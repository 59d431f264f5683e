/* Names of events: the same text is the same event, wherever the host keeps it, and what is
 * written over it is another one. */
#include "env/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* As an apply asks: by what came lately, or else by a search. */
static int id_of(struct hcb_events *e, const char *name)
{
    int recent = hcb_event_recent(e, name), id = hcb_event_id(e, name);
    assert_true(recent == -1 || recent == id);
    assert_int_equal(hcb_event_recent(e, name), id);
    return id;
}

static void test_constants_and_buffers(void **state)
{
    static const char *const names[] = {"train_step_end", "grads_ready", "step_end", "mine",
                                        "epoch_end", "train_step", "train_step_end_2", "m"};
    struct hcb_events e;
    char buffer[64];
    (void)state;
    hcb_events_init(&e);
    for (int turn = 0; turn < 4; turn++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            int id = id_of(&e, names[i]);
            strcpy(buffer, names[(i + (size_t)turn) % 8]);
            id_of(&e, buffer);
            strcpy(buffer, names[i]);
            assert_int_equal(id_of(&e, buffer), id);
        }
    assert_int_equal(id_of(&e, "step_end"), HCB_TRAIN_STEP_END);
}

static void test_rewritten_in_place(void **state)
{
    struct hcb_events e;
    char buffer[64];
    int first[20];
    (void)state;
    hcb_events_init(&e);
    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < 20; i++) {
            snprintf(buffer, sizeof buffer, "event_%d", i);
            int id = id_of(&e, buffer);
            assert_string_equal(e.names[id], buffer);
            assert_true(turn == 0 || id == first[i]);
            first[i] = id;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_and_buffers),
        cmocka_unit_test(test_rewritten_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
