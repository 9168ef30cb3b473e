/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that can be recognised only from several segments. */
#include "lint_film.h"

static void say_at(int c, unsigned side, uint64_t pos, const void *octets, size_t length)
{
    now += 1000;
    assert_true(iw_synth_segment(synth, c, side, now, pos, octets, length).first > 0);
}

static void octet_by_octet(void **state)
{
    (void)state;
    int c = open_tcp();
    for (size_t i = 0; i < 20; i++)
        say_at(c, 0, i, request + i, 1);
    say(c, 1, reply, 20);
    say_send(c, 0, 1, 0);
    lints(&plain, 0,
          "a:4: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n"
          "a:24: responder 10.0.0.2:2002: mpa reply rev 1 pd 0\n"
          "a:25: initiator 10.0.0.1:1001: send L msn 1 mo 0 len 0\n");
}

/* The octet with the reserved bit came in the first of four segments. */
static void last_octets_first(void **state)
{
    uint8_t odd[20];
    (void)state;
    memcpy(odd, request, sizeof(odd));
    odd[16] |= 0x01;
    int c = open_tcp();
    for (size_t at = 20; at > 0; at -= 5)
        say_at(c, 0, at - 5, odd + at - 5, 5);
    say(c, 1, reply, 20);
    lints(&plain, 1,
          "a:4: MPA-7.1.1-14 (MUST): reserved bits of a start-up frame are not zero [mpa-res-bits; "
          "initiator 10.0.0.1:1001, octet 16: 0x1, expected 0x0]\n"
          "a:7: initiator 10.0.0.1:1001: mpa request rev 1 res 1 pd 0\n"
          "a:8: responder 10.0.0.2:2002: mpa reply rev 1 pd 0\n");
}

/* What was sent first counts, as for TCP. */
static void sent_again_in_one_piece(void **state)
{
    (void)state;
    int c = open_tcp();
    say_at(c, 0, 2, request + 2, 4);
    say_at(c, 0, 0, request, 3);
    say_at(c, 0, 0, request, 20);
    say(c, 1, reply, 20);
    lints(&plain, 0,
          "a:5: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n"
          "a:7: responder 10.0.0.2:2002: mpa reply rev 1 pd 0\n");
}

/* The Reply is in pieces, too, and comes first. */
static void reply_in_pieces(void **state)
{
    (void)state;
    int c = open_tcp();
    say_at(c, 1, 0, reply, 3);
    say_at(c, 1, 3, reply + 3, 6); /* the octet after these is another one in a Request */
    say_at(c, 1, 9, reply + 9, 11);
    say(c, 0, request, 20);
    lints(&plain, 1,
          "a:4: MPA-7.1.2-03 (MUST): the responder sent octets before the Request was complete "
          "[mpa-reply-early; responder 10.0.0.2:2002, octet 0]\n"
          "a:4: responder 10.0.0.2:2002: mpa reply rev 1 pd 0\n"
          "a:7: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n");
}

/* One direction says nothing of the other. */
static void pieces_of_either_side(void **state)
{
    (void)state;
    int c = open_tcp(), d = open_tcp();
    say_at(c, 1, 0, request, 3);
    say_at(c, 0, 3, request + 3, 17);
    say_at(d, 0, 0, request, 3);
    say_at(d, 1, 3, request + 3, 17);
    finds_nothing(1, &plain, 10);
}

/* Of an octet that comes twice the first copy counts. */
static void the_same_octets_again(void **state)
{
    (void)state;
    int c = open_tcp();
    say_at(c, 0, 0, request, 2);
    say_at(c, 0, 0, request, 3);
    say_at(c, 0, 3, request + 3, 17);
    lints(&plain, 0, "a:4: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n");
}

/* The longest start-up frame ends before octet 532. */
static void octets_far_behind(void **state)
{
    uint8_t longest[532 + 4] = {0};
    (void)state;
    memcpy(longest, request, 18);
    longest[18] = 2; /* PD_Length 512 */
    int c = open_tcp();
    say_at(c, 0, 600, longest, 4);
    say_at(c, 0, 528, longest + 528, 8);
    say_at(c, 0, 0, longest, 9);
    say_at(c, 0, 9, longest + 9, 519);
    lints(&plain, 0,
          "a:6: initiator 10.0.0.1:1001: mpa request rev 1 pd 512 data "
          "0000000000000000000000000000000000000000000000000000000000000000...\n");
}

/* After streaming mode a Request is recognised where a segment begins with it. Here the Reply is
 * the first to be. */
static void a_request_amid_a_segment(void **state)
{
    uint8_t octets[11 + 20] = "streamed...";
    (void)state;
    memcpy(octets + 11, request, 20);
    int c = open_tcp();
    say(c, 0, octets, sizeof(octets));
    say(c, 1, reply, 20);
    for (uint8_t msn = 1; msn < 6; msn++)
        say_send(c, 0, msn, 0);
    lints(&plain, 0,
          "a:5: responder 10.0.0.2:2002: mpa reply rev 1 pd 0\n"
          "a:12: octets 0 to 30 came before MPA was recognised [initiator 10.0.0.1:1001]\n"
          "a:12: FPDUs found again at octet 31, by a chain of headers [initiator 10.0.0.1:1001]\n"
          "a:6: initiator 10.0.0.1:1001: send L msn 1 mo 0 len 0\n"
          "a:7: initiator 10.0.0.1:1001: send L msn 2 mo 0 len 0\n"
          "a:9: initiator 10.0.0.1:1001: send L msn 3 mo 0 len 0\n"
          "a:10: initiator 10.0.0.1:1001: send L msn 4 mo 0 len 0\n"
          "a:12: initiator 10.0.0.1:1001: send L msn 5 mo 0 len 0\n");
}

static void no_key(void **state)
{
    static const uint8_t later[] = " ID Req Frame\0\1\0\0";
    (void)state;
    int c = open_tcp(), d = open_tcp(), e = open_tcp();
    say_at(c, 0, 0, "MP", 2);
    say_at(c, 0, 2, "X", 1);
    say_at(c, 0, 3, later, 17);
    say_at(d, 0, 3, later, 17);
    say_at(d, 0, 0, "MPX", 3);
    say_at(e, 0, 0, "MP", 2);
    finds_nothing(1, &plain, 15);
}

/* Without the SYN nobody knows which octet is the first. */
static void without_syn(void **state)
{
    (void)state;
    int c = open_tcp();
    say_at(c, 0, 0, request, 2);
    say_at(c, 0, 2, request + 2, 18);
    finds_nothing(4, &plain, 2);
}

/* 64 beginnings are kept. */
static void many_at_a_time(void **state)
{
    enum { MANY = 65 };
    int c[MANY];
    (void)state;
    for (int i = 0; i < MANY; i++) {
        c[i] = open_tcp();
        say_at(c[i], 0, 0, request, 3);
    }
    for (int i = 0; i < 2; i++)
        say_at(c[i], 0, 3, request + 3, 17);
    lints(&plain, 0, "a:8: initiator 10.0.0.1:1002: mpa request rev 1 pd 0\n");
}

/* Octets that belong to no start-up frame are not kept. */
static void nothing_else_is_kept(void **state)
{
    (void)state;
    int c = open_tcp();
    say_at(c, 0, 0, request, 3);
    for (int i = 0; i < 64; i++) {
        say_at(open_tcp(), 0, 600, request, 4);
        say_at(open_tcp(), 0, 0, i % 2 == 0 ? "GET" : "SSH", 3);
    }
    say_at(c, 0, 3, request + 3, 17);
    lints(&plain, 0, "a:4: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(octet_by_octet),
        TEST(last_octets_first),
        TEST(sent_again_in_one_piece),
        TEST(reply_in_pieces),
        TEST(pieces_of_either_side),
        TEST(the_same_octets_again),
        TEST(octets_far_behind),
        TEST(nothing_else_is_kept),
        TEST(a_request_amid_a_segment),
        TEST(no_key),
        TEST(without_syn),
        TEST(many_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
