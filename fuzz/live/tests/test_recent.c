/* SPDX-License-Identifier: BSD-3-Clause */
#include "recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/text.h"

/* Ends a sequence that is identified by its one octet. */
static void ends(struct iw_hunt_recent *r, uint64_t number, uint8_t octet)
{
    struct iw_hunt_input *in = iw_hunt_input_new();

    iw_hunt_insert(in, 0, IW_FUZZ_A, &octet, 1);
    iw_hunt_recent_add(r, in, number);
}

static void is(struct iw_hunt_recent *r, uint64_t from, const char *octets)
{
    static struct iw_hunt_input *list[IW_HUNT_RECENT];
    size_t n = iw_hunt_recent_copy(r, from, list);

    assert_int_equal(n, strlen(octets));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(list[i]->steps[0].octets[0], octets[i]);
        iw_hunt_input_free(list[i]);
    }
}

static void the_last_to_end_is_the_last(void **state)
{
    struct iw_hunt_recent *r = iw_got(calloc(1, sizeof(*r)));

    (void)state;
    is(r, 0, "");
    ends(r, 2, 'b');
    ends(r, 3, 'c');
    ends(r, 4, 'd');
    ends(r, 1, 'a'); /* the first to begin has pauses in it */
    is(r, 0, "bcda");
    is(r, 2, "cd");
    is(r, 4, "");
    iw_hunt_recent_clear(r);
    is(r, 0, "");
    ends(r, 5, 'e');
    is(r, 0, "e");
    iw_hunt_recent_clear(r);
    free(r);
}

static void the_first_to_end_is_forgotten(void **state)
{
    struct iw_hunt_recent *r = iw_got(calloc(1, sizeof(*r)));

    (void)state;
    ends(r, 9000, 'x');
    ends(r, 9001, 'y');
    for (uint64_t i = 1; i < IW_HUNT_RECENT; i++)
        ends(r, i, '-');
    is(r, 8999, "y");
    ends(r, IW_HUNT_RECENT, '-');
    ends(r, 9002, 'z');
    is(r, 8999, "z");
    is(r, IW_HUNT_RECENT - 2, "--z");
    iw_hunt_recent_clear(r);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_to_end_is_the_last),
        cmocka_unit_test(the_first_to_end_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
