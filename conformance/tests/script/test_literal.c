/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases in literal octets (conformance/lib/literal.lua) against a peer that speaks literal octets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "peer.h"
#include "play.h"

#define REQUEST "4d504120494420526571204672616d65 40010000"
#define REPLY "4d504120494420526570204672616d65 40010000"
#define SEND "0015 4143 00000000 00000000 00000001 00000000 616263 00"
/* Of SEND; computed by another program. */
#define SEND_CRC "447065aa"

/* A start-up by hand, as a target without an agent needs it. */
#define START                                                                                      \
    "local literal = use 'literal'\n"                                                              \
    "local conn = t:connect { octets = true }\n"                                                   \
    "literal.send(conn, literal.REQUEST .. '40 01 0000')\n"                                        \
    "local reply = literal.expect(conn, literal.REPLY .. '{flags:1} 01 {length:2}')\n"             \
    "assert(reply.flags == hex '40' and reply.length == hex '0000')\n"

#define STEPS(...)                                                                                 \
    (const struct peer_step[])                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define COUNT(...) (sizeof(STEPS(__VA_ARGS__)) / sizeof(struct peer_step))

/* What lets the responder send. */
#define FIRST "literal.send_fpdu(conn, '000e c140 00000000 0000000000000000')\n"
#define FIRST_FPDU "000ec140 00000000 00000000 00000000 a30572ab"

static int remove_file(void **state)
{
    (void)state;
    play_remove();
    return 0;
}

static struct iw_result against(const struct peer_step *steps, size_t n, const char *body)
{
    struct peer peer;
    struct iw_result r;

    peer_start(&peer, steps, n);
    r = play_body(body, &peer.target, &play_options);
    peer_stop(&peer);
    return r;
}

#define AGAINST(body, ...) against(STEPS(__VA_ARGS__), COUNT(__VA_ARGS__), body)

static void expect_pass(struct iw_result r)
{
    assert_string_equal(r.reason ? r.reason : "none", "none");
    assert_int_equal(r.verdict, IW_VERDICT_PASS);
    iw_result_free(&r);
}

static void expect_fail(struct iw_result r, const char *reason, const char *expected,
                        const char *actual)
{
    assert_int_equal(r.verdict, IW_VERDICT_FAIL);
    assert_string_equal(r.reason, reason);
    assert_string_equal(r.expected, expected);
    assert_string_equal(r.actual, actual);
    iw_result_free(&r);
}

static void octets_go_out_as_they_are_given(void **state)
{
    (void)state;
    expect_pass(AGAINST(START "literal.send(conn, '00 01 fF')\n"
                              "literal.send_fpdu(conn, '" SEND "')\n"
                              "literal.expect_end(conn)\n",
                        {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0}, {PEER_READ, "0001ff", 0},
                        {PEER_READ, SEND SEND_CRC, 0}, {PEER_DRAIN, NULL, 0}, {PEER_FIN, NULL, 0}));
}

static void octets_that_come_are_compared(void **state)
{
    (void)state;
    expect_pass(AGAINST(
        START "t:allow('mpa-responder-early', 'ddp-msn')\n"
              "local found, which = literal.expect_fpdu(conn, '0015 4144 {rest:20} 00',\n"
              "  '0015 4143 {stag:4}{queue:4} 00000001 {mo:4} {payload:3} 00')\n"
              "assert(which == 2 and found.payload == 'abc' and found.mo == hex '00000000')\n"
              "assert(literal.next_ulpdu(conn) == hex '4143 00000000 00000000 00000001 00000000' "
              ".. 'abc')\n"
              "literal.expect_end(conn)\n",
        {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0}, {PEER_WRITE, SEND SEND_CRC, 0},
        {PEER_WRITE, SEND SEND_CRC, 0}, {PEER_DRAIN, NULL, 0}, {PEER_FIN, NULL, 0}));
}

static void other_octets_fail(void **state)
{
    (void)state;
    expect_fail(AGAINST(START "literal.expect(conn, '01 02 {x:1} 04')\n", {PEER_READ, REQUEST, 0},
                        {PEER_WRITE, REPLY, 0}, {PEER_WRITE, "01020305", 0}, {PEER_DRAIN, NULL, 0}),
                "the target sent other octets than expected", "01 02 {x:1} 04", "01020305");
    /* Too few of them, and the end: the observer has found that. */
    expect_fail(AGAINST(START "literal.expect(conn, '01 02 03')\n", {PEER_READ, REQUEST, 0},
                        {PEER_WRITE, REPLY, 0}, {PEER_WRITE, "0102", 0}, {PEER_FIN, NULL, 0}),
                "the stream ended inside an FPDU", "0x14", "0x16 at octet 22 of connection 0");
    expect_fail(AGAINST(START "literal.expect(conn, '01')\n", {PEER_READ, REQUEST, 0},
                        {PEER_WRITE, REPLY, 0}, {PEER_FIN, NULL, 0}),
                "the target sent other octets than expected", "01", "the end of the stream");
}

/* The same header with its MSN in the other octet order. */
static void a_field_in_the_wrong_order_fails(void **state)
{
    struct iw_result r =
        AGAINST(START FIRST "literal.expect_fpdu(conn, '" SEND "')\n", {PEER_READ, REQUEST, 0},
                {PEER_WRITE, REPLY, 0}, {PEER_READ, FIRST_FPDU, 0},
                {PEER_WRITE,
                 "0015 4143 00000000 00000000 01000000 00000000 616263 00"
                 " 3c722a6f",
                 0},
                {PEER_DRAIN, NULL, 0});

    (void)state;
    assert_non_null(strstr(r.notes,
                           "follows from ddp-msn (DDP-4.3-08): the target sent other octets "
                           "than expected: 0015414300000000000000000100000000000000"
                           "61626300"));
    expect_fail(r, "the MSN is not the one expected on its queue", "0x1",
                "0x1000000 at octet 32 of connection 0");
}

/* The rule is the field's, whatever the case that sees it is about. */
static void immediate_data_has_a_rule_of_its_own(void **state)
{
    (void)state;
    expect_pass(AGAINST(
        START
        "local rules = use 'field_rule'\n"
        "local header = ' 00000000 00000000 00000001 00000000 '\n"
        "local wanted = hex('4148' .. header .. '0102030405060708')\n"
        "local rule, how = rules.of_octets(hex('4148' .. header .. '0807060504030201'), "
        "wanted)\n"
        "assert(rule == 'EXT-6.3-06' and how == rules.HOW)\n"
        "assert(rules.of_octets(hex('4149' .. header .. '0807060504030201'), wanted) == nil)\n"
        "assert(rules.of_octets(wanted, wanted) == nil)\n"
        "assert(rules.of({ op = 'immediate-se', payload = '' }, 'payload') == rule)\n"
        "literal.expect_end(conn)\n",
        {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0}, {PEER_DRAIN, NULL, 0},
        {PEER_FIN, NULL, 0}));
}

/* ULPDU_Length is 22 in place of 21, and the CRC right. */
static void a_pad_that_is_counted_has_its_rule(void **state)
{
    struct iw_result r =
        AGAINST(START FIRST "literal.expect_fpdu(conn, '" SEND "')\n", {PEER_READ, REQUEST, 0},
                {PEER_WRITE, REPLY, 0}, {PEER_READ, FIRST_FPDU, 0},
                {PEER_WRITE,
                 "0016 4143 00000000 00000000 00000001 00000000 616263 00"
                 " 0c601134",
                 0},
                {PEER_DRAIN, NULL, 0});

    (void)state;
    assert_string_equal(r.rule->id, "MPA-4.1-01");
    expect_fail(r, "the target's ULPDU_Length counts the pad", SEND,
                "0016414300000000000000000000000100000000"
                "61626300");
}

/* In messages of one segment and of two; not where octets are missing, or others than zeros follow.
 */
static void a_pad_is_known_by_where_the_next_segment_begins(void **state)
{
    (void)state;
    expect_pass(AGAINST(
        START
        "local rules = use 'field_rule'\n"
        "local function segment(mo, payload)\n"
        "  return { t = false, mo = mo, payload = payload, ulpdu = bytes(18) .. payload }\n"
        "end\n"
        "local function counted(wanted, ...)\n"
        "  local item = { payload = '', segments = { ... } }\n"
        "  for _, s in ipairs(item.segments) do item.payload = item.payload .. s.payload end\n"
        "  local rule, how = rules.of_payload(item, wanted)\n"
        "  assert(how == (rule and rules.PADDED))\n"
        "  return rule == 'MPA-4.1-01'\n"
        "end\n"
        "assert(counted('abcde', segment(0, 'abcde\\0\\0\\0')))\n"
        "assert(counted('abcde', segment(0, 'abc\\0'), segment(3, 'de\\0\\0')))\n"
        "assert(counted('abcdefg', segment(0, 'abcd'), segment(4, 'efg\\0')))\n"
        "assert(not counted('abcd', segment(0, 'abcd')))\n"
        "assert(not counted('abc', segment(0, 'abc\\1')))\n"
        "assert(not counted('ab', segment(0, 'ab\\0')))\n"
        "assert(not counted('abc', segment(0, 'abc\\0\\0\\0\\0\\0')))\n"
        "assert(not counted('abcdefgh', segment(0, 'abc\\0')))\n"
        "assert(not counted('abcde', segment(0, 'abc\\0'), segment(5, 'de\\0\\0')))\n"
        "literal.expect_end(conn)\n",
        {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0}, {PEER_DRAIN, NULL, 0},
        {PEER_FIN, NULL, 0}));
}

static void a_wrong_crc_fails(void **state)
{
    struct iw_result r =
        AGAINST(START FIRST "literal.expect_fpdu(conn, '" SEND "')\n", {PEER_READ, REQUEST, 0},
                {PEER_WRITE, REPLY, 0}, {PEER_READ, FIRST_FPDU, 0},
                {PEER_WRITE, SEND "00000000", 0}, {PEER_DRAIN, NULL, 0});

    (void)state;
    assert_int_equal(r.verdict, IW_VERDICT_FAIL);
    assert_string_equal(r.reason, "the CRC of an FPDU does not match its octets");
    assert_non_null(strstr(r.notes,
                           "follows from mpa-crc (MPA-4.4-11): the target sent a CRC field "
                           "without the CRC32c of the FPDU"));
    assert_string_equal(r.rule->id, "MPA-4.4-11");
    iw_result_free(&r);
}

static void octets_that_nobody_took_fail(void **state)
{
    (void)state;
    expect_fail(AGAINST(START "conn:shutdown()\n", {PEER_READ, REQUEST, 0}, {PEER_WRITE, REPLY, 0},
                        {PEER_WRITE, "ee", 0}, {PEER_DRAIN, NULL, 0}, {PEER_FIN, NULL, 0}),
                "the stream ended inside an FPDU", "0x14", "0x15 at octet 21 of connection 0");
    expect_fail(AGAINST(START "literal.expect_end(conn)\n", {PEER_READ, REQUEST, 0},
                        {PEER_WRITE, REPLY, 0}, {PEER_WRITE, "eeff", 0}, {PEER_DRAIN, NULL, 0},
                        {PEER_FIN, NULL, 0}),
                "the stream ended inside an FPDU", "0x14", "0x16 at octet 22 of connection 0");
}

static void the_crc_is_the_one_of_iscsi(void **state)
{
    static struct iw_target nobody = {.name = "nobody", .host = "127.0.0.1"};

    (void)state;
    /* RFC 7143 appendix A.4. */
    expect_pass(play_body("local crc = use('literal').crc\n"
                          "assert(crc(bytes(32, 0)) == hex 'aa36918a')\n"
                          "assert(crc(bytes(32, 0xff)) == hex '43aba862')\n"
                          "assert(crc(bytes(32)) == hex '4e79dd46')\n"
                          "assert(crc '' == hex '00000000')\n",
                          &nobody, &play_options));
    expect_pass(play_body("local literal = use 'literal'\n"
                          "assert(literal.x16(0x12) == '0012' and literal.x32(-2) == 'fffffffe')\n"
                          "assert(literal.x64(0x102) == '0000000000000102')\n",
                          &nobody, &play_options));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(octets_go_out_as_they_are_given),
        cmocka_unit_test(octets_that_come_are_compared),
        cmocka_unit_test(other_octets_fail),
        cmocka_unit_test(a_field_in_the_wrong_order_fails),
        cmocka_unit_test(immediate_data_has_a_rule_of_its_own),
        cmocka_unit_test(a_pad_that_is_counted_has_its_rule),
        cmocka_unit_test(a_pad_is_known_by_where_the_next_segment_begins),
        cmocka_unit_test(a_wrong_crc_fails),
        cmocka_unit_test(octets_that_nobody_took_fail),
        cmocka_unit_test(the_crc_is_the_one_of_iscsi),
    };

    return cmocka_run_group_tests(tests, NULL, remove_file);
}
