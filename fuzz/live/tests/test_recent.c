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

/* Sequences 'a' to 'd' with these times; who is left of those before silence. */
static void before_silence(const uint64_t times[4][2], size_t few, const char *expected)
{
    struct iw_hunt_input *list[4];

    for (size_t i = 0; i < 4; i++) {
        uint8_t octet = (uint8_t)('a' + i);

        list[i] = iw_hunt_input_new();
        iw_hunt_insert(list[i], 0, IW_FUZZ_A, &octet, 1);
        list[i]->began = times[i][0];
        list[i]->answered = times[i][1];
    }
    size_t n = iw_hunt_recent_before_silence(list, 4, few);
    assert_int_equal(n, strlen(expected));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(list[i]->steps[0].octets[0], expected[i]);
        iw_hunt_input_free(list[i]);
    }
}

static void what_began_in_silence_is_not_to_blame(void **state)
{
    static const uint64_t some[4][2] = {{10, 50}, {70, 0}, {20, 0}, {60, 0}},
                          none[4][2] = {{4, 0}, {3, 0}, {2, 0}, {1, 0}};

    (void)state;
    before_silence(some, 2, "abcd");
    before_silence(some, 1, "acd");
    before_silence(some, 0, "ac");
    before_silence(none, 1, "d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_to_end_is_the_last),
        cmocka_unit_test(the_first_to_end_is_forgotten),
        cmocka_unit_test(what_began_in_silence_is_not_to_blame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
