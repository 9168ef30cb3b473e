/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of two endpoints: what it notices. */
#include "pair_stage.h"

static void send_twice(struct iw_station *s, const char *call)
{
    pair_close_both(s, call);
    if (strcmp(call, "create") == 0)
        for (int i = 0; i < 2; i++) {
            static uint8_t octets[1 << 15];
            s->out(s->context, octets, sizeof(octets));
            assert_int_equal(s->room, (1 << 15) * (1 - i));
        }
    if (strcmp(call, "close") == 0)
        assert_int_equal(s->room, 1 << 16);
}

static void send_too_much(struct iw_station *s, const char *call)
{
    static uint8_t octets[(1 << 16) + 1];

    if (strcmp(call, "create") == 0)
        s->out(s->context, octets, sizeof(octets));
}

static void the_channel_has_a_bound(void **state)
{
    (void)state;
    pair_again();
    fake.hook = send_twice;
    SAYS("00000000", "");
    fake.hook = send_too_much;
    SAYS("00000000", "more is sent than there is room for");
}

static void they_must_come_to_rest(void **state)
{
    (void)state;
    pair_again();
    fake.endless = true;
    fake.output[0] = "61";
    SAYS("20000000", "the two do not come to rest");
}

static size_t rounds;

static void rest_after(struct iw_station *s, const char *call)
{
    pair_close_both(s, call);
    if (s == initiator && strcmp(call, "output") == 0 && rounds > 0 && --rounds == 0)
        fake.endless = false;
}

static void rest_may_take_2000_rounds(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        pair_again();
        fake.hook = rest_after;
        fake.endless = true;
        fake.output[0] = "61";
        rounds = 1999 + more;
        SAYS("20000000", more == 0 ? "" : "the two do not come to rest");
    }
}

static int closed; /* bit per station */

static void close_some(struct iw_station *s, const char *call)
{
    if (strcmp(call, "create") == 0 && (closed & (s == initiator ? 1 : 2)) != 0)
        s->events = 1u << IW_EVENT_CLOSED;
    if (strcmp(call, "create") == 0 && (closed & (s == initiator ? 1 : 2)) == 0)
        s->events = ~(1u << IW_EVENT_CLOSED);
}

/* Unless it was touched. */
static void the_connection_must_end(void **state)
{
    (void)state;
    pair_again();
    fake.hook = close_some;
    for (closed = 0; closed < 4; closed++) {
        SAYS("00000000", closed == 3 ? "" : "the connection is closed and does not end");
        SAYS("00000000 030000", "");
        SAYS("00000000 060000", "");
    }
    closed = 1;
    fake.output[0] = "61";
    SAYS("20000000", "the connection is closed and does not end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_channel_has_a_bound),
        cmocka_unit_test(they_must_come_to_rest),
        cmocka_unit_test(rest_may_take_2000_rounds),
        cmocka_unit_test(the_connection_must_end),
    };
    return cmocka_run_group_tests(tests, pair_start, NULL);
}
