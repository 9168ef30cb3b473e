/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases against a peer that speaks literal octets: what the station sends, and what it makes of
 * what it gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "peer.h"
#include "play.h"

#define REQUEST_KEY "4d504120494420526571204672616d65"
#define REPLY_KEY "4d504120494420526570204672616d65"
#define REQUEST_1 REQUEST_KEY "40010000"
#define REPLY_1 REPLY_KEY "40010000"
#define REPLY_1_MARKERS REPLY_KEY "c0010000"
#define REQUEST_2 REQUEST_KEY "50020004 00100010"
#define TERMINATE_CRC "00164147 00000000 00000002 00000001 00000000 20020000 7fe42585"
#define FENCE                                                                                      \
    "002e4141 00000000 00000001 00000001 00000000 46454e01 00000000 00000001 00000000 00000000"    \
    " 00000000 00000000"

#define STEPS(...)                                                                                 \
    (const struct peer_step[])                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define COUNT(...) (sizeof(STEPS(__VA_ARGS__)) / sizeof(struct peer_step))

static int remove_file(void **state)
{
    (void)state;
    play_remove();
    return 0;
}

static struct iw_result against(const struct peer_step *steps, size_t n, const char *body,
                                const struct iw_run_options *options)
{
    struct peer peer;
    struct iw_result r;

    peer_start(&peer, steps, n);
    r = play_body(body, &peer.target, options);
    peer_stop(&peer);
    return r;
}

#define AGAINST(body, ...) against(STEPS(__VA_ARGS__), COUNT(__VA_ARGS__), body, &play_options)

static void expect_verdict(struct iw_result r, enum iw_verdict verdict, const char *reason)
{
    assert_string_equal(r.reason ? r.reason : "none", reason ? reason : "none");
    assert_int_equal(r.verdict, verdict);
    iw_result_free(&r);
}

/* What the vocabulary leaves out is computed: each message is compared with literal octets. */
static void sends_the_literal_vectors(void **state)
{
    (void)state;
    expect_verdict(
        AGAINST("local conn = t:connect { revision = 1 }\n"
                "conn:send(send {})\n"
                "conn:send(send_invalidate { invalidate = 0x11223344 })\n"
                "conn:send(write {})\n"
                "conn:send(write { stag = 0x11223344, to = 0x1000, payload = hex 'deadbeef' })\n"
                "conn:send(read_request { sink_stag = 0xaabbccdd, sink_to = 0x2000, size = 64,\n"
                "  source_stag = 0x11223344, source_to = 0x1000 })\n"
                "conn:send(atomic_request { msn = 1, request_id = 0x5a5a0001, add_swap = 1,\n"
                "  remote_stag = 0x11223344, remote_to = 0x1000, compare_mask = -1 })\n"
                "conn:send(atomic_request { atomic = 2, request_id = 0x5a5a0002, add_swap = 2,\n"
                "  add_swap_mask = -1, compare = 1, compare_mask = -1,\n"
                "  remote_stag = 0x11223344, remote_to = 0x1000 })\n"
                "conn:send(read_response {})\n"
                "conn:send(atomic_response { request_id = 0x5a5a0001, value = 1 })\n"
                "conn:send(immediate { msn = 1, payload = hex '0102030405060708' })\n"
                "conn:send(send { msn = 1, payload = 'hello' })\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0},
                {PEER_READ, "00124143 00000000 00000000 00000001 00000000 587be8c4", 0},
                {PEER_READ, "00124144 11223344 00000000 00000002 00000000 42dbd731", 0},
                {PEER_READ, "000ec140 00000000 00000000 00000000 a30572ab", 0},
                {PEER_READ, "0012c140 11223344 00000000 00001000 deadbeef b75a39ef", 0},
                {PEER_READ,
                 "002e4141 00000000 00000001 00000001 00000000 aabbccdd 00000000 00002000 00000040"
                 " 11223344 00000000 00001000 c453059c",
                 0},
                {PEER_READ,
                 "0046414a 00000000 00000001 00000001 00000000 00000000 5a5a0001 11223344 00000000"
                 " 00001000 00000000 00000001 00000000 00000000 00000000 00000000 ffffffff ffffffff"
                 " 4a325eaa",
                 0},
                {PEER_READ,
                 "0046414a 00000000 00000001 00000002 00000000 00000002 5a5a0002 11223344 00000000"
                 " 00001000 00000000 00000002 ffffffff ffffffff 00000000 00000001 ffffffff ffffffff"
                 " fae229a6",
                 0},
                {PEER_READ, "000ec142 00000000 00000000 00000000 6975d6ca", 0},
                {PEER_READ,
                 "001e414b 00000000 00000003 00000001 00000000 5a5a0001 00000000 00000001 37209549",
                 0},
                {PEER_READ,
                 "001a4148 00000000 00000000 00000001 00000000 01020304 05060708 06c22805", 0},
                {PEER_READ,
                 "00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c", 0},
                {PEER_DRAIN, NULL, 0}),
        IW_VERDICT_PASS, NULL);
}

static void sends_the_literal_terminates(void **state)
{
    (void)state;
    expect_verdict(
        AGAINST("local conn = t:connect { revision = 1 }\n"
                "conn:send(terminate '2/0/02')\n"
                "local w = conn:encode(write { stag = 0x11223344, to = 0x1000,\n"
                "  payload = hex 'deadbeef' })[1]\n"
                "conn:send(terminate { msn = 1, ddp = 'tagged', code = 'stag', of = w })\n"
                "local r = conn:encode(read_request { sink_stag = 0xaabbccdd, sink_to = 0x2000,\n"
                "  size = 64, source_stag = 0x11223344, source_to = 0x1000 })[1]\n"
                "conn:send(terminate { msn = 1, rdmap = 'protection', code = 'bounds', of = r,\n"
                "  r = true })\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0}, {PEER_READ, TERMINATE_CRC, 0},
                {PEER_READ,
                 "00264147 00000000 00000002 00000001 00000000 1100c000 0012c140 11223344 00000000"
                 " 00001000 b5f74601",
                 0},
                {PEER_READ,
                 "00464147 00000000 00000002 00000001 00000000 0101e000 002e4141 00000000 00000001"
                 " 00000001 00000000 aabbccdd 00000000 00002000 00000040 11223344 00000000 00001000"
                 " bb78a0bc",
                 0},
                {PEER_DRAIN, NULL, 0}),
        IW_VERDICT_PASS, NULL);
}

static void sends_what_is_bent(void **state)
{
    (void)state;
    expect_verdict(
        AGAINST(
            "local conn = t:connect { revision = 1 }\n"
            "conn:send(send { dv = 2, rsvd = 15, rv = 3, rsv = 2, opcode = 13, qn = 5, msn = 7,\n"
            "  mo = 9, invalidate = 1, l = false }, { crc = 0, length = 0x1234, pad = 'ab' })\n"
            "conn:send(send { t = true, stag = 2, to = 3, l = 0 }, { crc = 'none' })\n"
            "conn:send(raw { ulpdu = hex '0102' }, { crc = 'none', writes = 1 })\n"
            "conn:write(hex 'ffee')\n"
            "conn:together(function()\n"
            "  conn:write(hex '01')\n"
            "  conn:write(hex '02')\n"
            "end)\n",
            {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0},
            {PEER_READ, "1234 3eed 00000001 00000005 00000007 00000009 6162 00000000", 0},
            {PEER_READ, "000e8143 00000002 00000000 00000003", 0}, {PEER_READ, "00020102", 0},
            {PEER_READ, "ffee0102", 0}, {PEER_DRAIN, NULL, 0}),
        IW_VERDICT_PASS, NULL);
}

static void sends_markers_that_were_asked_for(void **state)
{
    (void)state;
    expect_verdict(
        AGAINST("local conn = t:connect { revision = 1 }\n"
                "conn:send(send {})\n"
                "conn:send(send {}, { markers = false })\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1_MARKERS, 0},
                {PEER_READ, "00000000 00124143 00000000 00000000 00000001 00000000 88c1d6fc", 0},
                {PEER_READ, "00124143 00000000 00000000 00000002 00000000", 0},
                {PEER_DRAIN, NULL, 0}),
        IW_VERDICT_PASS, NULL);
}

static void splits_and_continues_messages(void **state)
{
    (void)state;
    expect_verdict(
        AGAINST("local conn = t:connect { revision = 1 }\n"
                "conn:send(send { payload = 'abcdef' }, { segments = { 2 }, crc = 'none' })\n"
                "conn:send(send { payload = 'gh', l = false }, { crc = 'none' })\n"
                "conn:send(send { payload = 'ij' }, { crc = 'none' })\n"
                "conn:send(write { stag = 1, to = 2, payload = 'klmn' },\n"
                "  { segments = 2, crc = 'none' })\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0},
                {PEER_READ, "00140143 00000000 00000000 00000001 00000000 6162 0000", 0},
                {PEER_READ, "00164143 00000000 00000000 00000001 00000002 63646566", 0},
                {PEER_READ, "00140143 00000000 00000000 00000002 00000000 6768 0000", 0},
                {PEER_READ, "00144143 00000000 00000000 00000002 00000002 696a 0000", 0},
                {PEER_READ, "00108140 00000001 00000000 00000002 6b6c 0000", 0},
                {PEER_READ, "0010c140 00000001 00000000 00000004 6d6e 0000", 0},
                {PEER_DRAIN, NULL, 0}),
        IW_VERDICT_PASS, NULL);
}

static void sends_bent_startup_frames(void **state)
{
    (void)state;
    expect_verdict(
        AGAINST(
            "local conn = t:connect { raw = true }\n"
            "conn:send(request {})\n"
            "conn:send(request { revision = 1, crc = false, markers = true, reserved = 5,\n"
            "  rejected = true, private = 'ab', pd_length = 513 })\n"
            "conn:send(request { key = 'MPA ID Rep Frame', flags = 0xff, revision = 9,\n"
            "  enhanced = true, peer_to_peer = true, rtr = { 'write' }, ird = 0x3fff, ord = 1 })\n",
            {PEER_READ, REQUEST_2, 0}, {PEER_READ, REQUEST_KEY "a5010201 6162", 0},
            {PEER_READ, REPLY_KEY "ff090004 bfff8001", 0}, {PEER_DRAIN, NULL, 0}),
        IW_VERDICT_PASS, NULL);
}

/* What is held is written in the parts that the case releases; the peer answers the first one
 * before the second one comes. */
static void holds_octets_back(void **state)
{
    (void)state;
    expect_verdict(
        AGAINST("local conn = t:connect { revision = 1 }\n"
                "conn:hold(function()\n"
                "  conn:send(write {})\n"
                "  conn:send(send { payload = 'hello' })\n"
                "end)\n"
                "conn:release(23)\n"
                "conn:expect_terminate { '2/0/02' }\n"
                "conn:release()\n"
                "conn:expect(closed())\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0},
                {PEER_READ, "000ec140 00000000 00000000 00000000 a30572ab 001741", 0},
                {PEER_WRITE, TERMINATE_CRC, 0},
                {PEER_READ, "43 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c", 0},
                {PEER_FIN, NULL, 0}),
        IW_VERDICT_PASS, NULL);
}

/* A list of write sizes; the octets stay the same. */
static void splits_writes(void **state)
{
    (void)state;
    expect_verdict(AGAINST("local conn = t:connect { raw = true }\n"
                           "conn:send(request { revision = 1 }, { writes = { 1, 15, 3 } })\n"
                           "conn:expect(reply {})\n"
                           "conn:together(function()\n"
                           "  conn:send(write {})\n"
                           "  conn:send(send {})\n"
                           "end, { writes = { 21, 2 } })\n",
                           {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0},
                           {PEER_READ,
                            "000ec140 00000000 00000000 00000000 a30572ab"
                            "00124143 00000000 00000000 00000001 00000000 587be8c4",
                            0},
                           {PEER_DRAIN, NULL, 0}),
                   IW_VERDICT_PASS, NULL);
}

static void judges_the_answer(void **state)
{
    struct iw_result r;

    (void)state;
    r = AGAINST("local conn = t:connect { revision = 1 }\n"
                "conn:send(send {}, { crc = 'bad' })\n"
                "conn:expect_terminate { '1/1/01', { fault.marker, { fault.crc } } }\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0}, {PEER_SKIP, NULL, 24},
                {PEER_WRITE, TERMINATE_CRC, 0}, {PEER_DRAIN, NULL, 0});
    assert_string_equal(r.observed, "terminate=2/0/02");
    expect_verdict(r, IW_VERDICT_PASS, NULL);
    r = AGAINST("local conn = t:connect { revision = 1 }\n"
                "conn:send(send {}, { crc = 'bad' })\n"
                "conn:expect_terminate { fault.past_end_or_wraps }\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0}, {PEER_SKIP, NULL, 24},
                {PEER_WRITE, TERMINATE_CRC, 0}, {PEER_DRAIN, NULL, 0});
    assert_string_equal(r.expected, "terminate 1/1/01 \"DDP: base or bounds violation\" or"
                                    " terminate 1/1/03 \"DDP: TO wrap\"");
    assert_string_equal(r.actual, "terminate 2/0/02 \"LLP: MPA CRC mismatch\"");
    assert_string_equal(r.rule->id, "MPA-8-02");
    assert_non_null(strstr(r.where, ".lua:5"));
    expect_verdict(r, IW_VERDICT_FAIL,
                   "the target sent another Terminate than expected (differs: code, etype, layer)");
    r = AGAINST(
        "local conn = t:connect { revision = 1 }\nconn:fence()\n", {PEER_READ, REQUEST_1, 0},
        {PEER_WRITE, REPLY_1, 0}, {PEER_READ, FENCE, 0}, {PEER_SKIP, NULL, 4},
        {PEER_WRITE, "000ec142 46454e01 00000000 00000002 e8a76865", 0}, {PEER_DRAIN, NULL, 0});
    expect_verdict(r, IW_VERDICT_FAIL,
                   "a Read Response does not continue at the Sink TO of its request");
}

static void a_close_is_no_terminate(void **state)
{
    (void)state;
    expect_verdict(AGAINST("local conn = t:connect { revision = 1 }\n"
                           "conn:send(send {}, { crc = 'bad' })\n"
                           "conn:expect_terminate { '2/0/02' }\n",
                           {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0},
                           {PEER_SKIP, NULL, 24}, {PEER_FIN, NULL, 0}),
                   IW_VERDICT_FAIL, "the target closed the connection instead");
    expect_verdict(AGAINST("local conn = t:connect { revision = 1 }\n"
                           "conn:send(send {}, { crc = 'bad' })\n"
                           "conn:expect_terminate { '2/0/02' }\n",
                           {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0},
                           {PEER_SKIP, NULL, 24}, {PEER_RESET, NULL, 0}),
                   IW_VERDICT_FAIL, "the target reset the connection instead");
}

static void a_reset_behind_a_terminate_is_a_close(void **state)
{
    (void)state;
    expect_verdict(AGAINST("local conn = t:connect { revision = 1 }\n"
                           "conn:send(send {}, { crc = 'bad' })\n"
                           "conn:expect_terminate { '2/0/02' }\n"
                           "conn:expect_close {}\n",
                           {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0},
                           {PEER_SKIP, NULL, 24}, {PEER_WRITE, TERMINATE_CRC, 0},
                           {PEER_RESET, NULL, 0}),
                   IW_VERDICT_PASS, NULL);
}

static void a_terminate_cuts_a_message_short(void **state)
{
    (void)state;
    expect_verdict(
        AGAINST("local conn = t:connect { revision = 1 }\n"
                "conn:send(read_request { size = 8, sink_stag = 1, sink_to = 2 })\n"
                "conn:send(send {}, { crc = 'bad' })\n"
                "local part = conn:expect(read_response {})\n"
                "t:check(not part.l and part.payload == '\\xaa\\xbb\\xcc\\xdd', 'not cut short')\n"
                "conn:expect_terminate { '2/0/02' }\n"
                "conn:expect_close {}\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0}, {PEER_SKIP, NULL, 76},
                {PEER_WRITE, "00128142 00000001 00000000 00000002 aabbccdd 4bca3425", 0},
                {PEER_WRITE, TERMINATE_CRC, 0}, {PEER_FIN, NULL, 0}),
        IW_VERDICT_PASS, NULL);
}

static void an_unasked_terminate_is_a_failure(void **state)
{
    struct iw_result r =
        AGAINST("local conn = t:connect { revision = 1 }\nconn:send(send {})\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0}, {PEER_SKIP, NULL, 24},
                {PEER_WRITE, TERMINATE_CRC, 0}, {PEER_DRAIN, NULL, 0});

    (void)state;
    assert_string_equal(r.actual, "terminate 2/0/02 \"LLP: MPA CRC mismatch\"");
    expect_verdict(r, IW_VERDICT_FAIL, "the target sent a Terminate that the case did not cause");
}

static void an_unasked_finding_is_a_failure(void **state)
{
    struct iw_result r =
        AGAINST("local conn = t:connect { revision = 1 }\n"
                "conn:send(write {})\n"
                "conn:expect(send { payload = '' })\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0}, {PEER_SKIP, NULL, 20},
                {PEER_WRITE, "00124543 00000000 00000000 00000001 00000000 f4734cf9", 0},
                {PEER_DRAIN, NULL, 0});

    (void)state;
    assert_string_equal(r.rule->id, "DDP-4.1-09");
    assert_non_null(strstr(r.observed, "finding=ddp-rsvd"));
    assert_int_equal(r.verdict, IW_VERDICT_FAIL);
    iw_result_free(&r);
}

/* A case may say anything. */
static void a_word_of_a_deviation_is_text(void **state)
{
    struct iw_result r =
        AGAINST("local conn = t:connect { revision = 1 }\n"
                "t:fail('why', { how = 5 })\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0}, {PEER_DRAIN, NULL, 0});

    (void)state;
    assert_int_equal(r.n_deviations, 1);
    assert_string_equal(r.deviations->how, "5");
    assert_string_equal(r.deviations->text, "why");
    iw_result_free(&r);
}

/* DV is a MUST of the sender; that a receiver has to notice a wrong one is only implied. */
static void a_wrong_version_is_a_failure(void **state)
{
    struct iw_result r =
        AGAINST("local conn = t:connect { revision = 1, crc = false }\n"
                "conn:send(send {})\nconn:next()\n",
                {PEER_READ, "4d504120494420526571204672616d65 00010000", 0},
                {PEER_WRITE, "4d504120494420526570204672616d65 00010000", 0}, {PEER_SKIP, NULL, 24},
                {PEER_WRITE, "00124043 00000000 00000000 00000001 00000000 00000000", 0},
                {PEER_DRAIN, NULL, 0});

    (void)state;
    assert_string_equal(r.rule->id, "DDP-4.1-11");
    assert_non_null(strstr(r.observed, "finding=ddp-version-untagged"));
    assert_int_equal(r.verdict, IW_VERDICT_FAIL);
    iw_result_free(&r);
}

/* The end came with the octets, before MPA began: the station judges it, and hands it out, after
 * them. */
static void an_end_while_streaming_is_judged(void **state)
{
    static const char body[] = "local conn = t:connect { octets = true }\n"
                               "conn:send(request { revision = 1 })\n"
                               "conn.raw:streamed(100)\n"
                               "t:check(conn:take(2) == 'go', 'streamed octets')\n"
                               "t:check(conn:state().ended, 'no end')\n"
                               "conn:begin()\n"
                               "local kinds = ''\n"
                               "for _ = 1, 3 do\n"
                               "  local item = conn:next(0)\n"
                               "  kinds = kinds .. (item and item.kind or 'none') .. ' '\n"
                               "end\n"
                               "t:check(kinds == '%s', kinds)\n";
    static const struct {
        const char *octets, *kinds, *finding;
        enum iw_verdict verdict;
    } rows[] = {{"676f 4d50412049", "fin none none ", "finding=mpa-startup-cut", IW_VERDICT_FAIL},
                {"676f " REPLY_1 "00124143", "startup fin none ", "finding=mpa-fin-inside",
                 IW_VERDICT_FAIL},
                {"676f " REPLY_1, "startup fin none ", NULL, IW_VERDICT_PASS},
                {"676f", "fin none none ", NULL, IW_VERDICT_PASS}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[1024];
        struct iw_result r;

        snprintf(text, sizeof(text), body, rows[i].kinds);
        r = against(
            STEPS({PEER_READ, REQUEST_1, 0}, {PEER_WRITE, rows[i].octets, 0}, {PEER_FIN, NULL, 0}),
            3, text, &play_options);
        assert_int_equal(r.verdict, rows[i].verdict);
        if (rows[i].finding != NULL) {
            assert_non_null(r.observed);
            assert_non_null(strstr(r.observed, rows[i].finding));
        }
        iw_result_free(&r);
    }
}

static void a_silent_peer_is_inconclusive_within_patience(void **state)
{
    struct iw_run_options quick = play_options;

    (void)state;
    quick.patience = 0.05;
    expect_verdict(against(STEPS({PEER_DRAIN, NULL, 0}), 1, "t:connect {}", &quick),
                   IW_VERDICT_INCONCLUSIVE, "the MPA start-up did not succeed");
    expect_verdict(against(STEPS({PEER_DRAIN, NULL, 0}), 1,
                           "local conn = t:connect { raw = true }\n"
                           "conn:send(request {})\nconn:expect(reply {})",
                           &quick),
                   IW_VERDICT_FAIL, "the target did not answer");
    quick.patience = 10;
    quick.deadline = 0.05;
    expect_verdict(against(STEPS({PEER_DRAIN, NULL, 0}), 1, "\nt:connect {}", &quick),
                   IW_VERDICT_INCONCLUSIVE,
                   "the case's 0.05 s were over before the target had done its part");
}

static void a_flood_is_bounded(void **state)
{
    struct iw_result r =
        AGAINST("local conn = t:connect { revision = 1 }\n"
                "local item = conn:next()\n"
                "while item do item = conn:next(0.2) end\n"
                "conn:expect(send {})\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0},
                {PEER_REPEAT,
                 "0102 0143 00000000 00000000 00000001 00000000 0000000000000000000000000000000000",
                 1000000000});

    (void)state;
    assert_int_equal(r.verdict, IW_VERDICT_FAIL);
    iw_result_free(&r);
}

static void a_blocked_send_ends_with_the_case(void **state)
{
    struct iw_run_options quick = play_options;

    (void)state;
    quick.patience = 100;
    quick.deadline = 1;
    expect_verdict(against(STEPS({PEER_STARE, NULL, 0}), 1,
                           "local conn = t:connect { raw = true }\n"
                           "for _ = 1, 60 do conn:write(bytes(1 << 18)) end",
                           &quick),
                   IW_VERDICT_INCONCLUSIVE,
                   "the case's 1 s were over before the target had done its part");
}

static void an_endless_answer_is_not_waited_for(void **state)
{
    /* Octets that make up nothing, of which there are more at every look once they come. */
    struct iw_result r = AGAINST("local conn = t:connect { revision = 1 }\n"
                                 "while not conn:next(0.002) do end\n"
                                 "while conn:next(0.002) do end\n"
                                 "conn:expect(fin(), { within = 0.002 })\n",
                                 {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0},
                                 {PEER_REPEAT, "0001020304050607", 1000000000});

    (void)state;
    assert_int_equal(r.verdict, IW_VERDICT_FAIL);
    assert_non_null(strstr(r.notes, "follows from mpa-crc (MPA-4.4-11): the target did not answer: "
                                    "nothing within 0.002 s"));
    iw_result_free(&r);
}

static void a_message_without_end_is_bounded(void **state)
{
    struct iw_run_options slow = play_options;

    (void)state;
    slow.patience = 100; /* the bound is reached, however busy the machine is */
    slow.deadline = 100;
    struct iw_result r = against(
        STEPS({PEER_READ, REQUEST_KEY "00010000", 0}, {PEER_WRITE, REPLY_KEY "00010000", 0},
              {PEER_REPEAT, "0012 0143 00000000 00000000 00000001 00000000 00000000", 1000000000}),
        3, "local conn = t:connect { revision = 1, crc = false }\nconn:expect(send {})\n", &slow);

    assert_int_equal(r.verdict, IW_VERDICT_FAIL);
    /* It may have an end beyond what the station holds: nobody is charged with a missing L. */
    assert_null(strstr(r.notes, "L=1"));
    assert_non_null(strstr(r.notes, "more octets than the station can hold"));
    iw_result_free(&r);
}

static void a_fence_proves_silence(void **state)
{
    struct iw_result r;

    (void)state;
    expect_verdict(AGAINST("local conn = t:connect { revision = 1 }\nconn:fence()\n",
                           {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0},
                           {PEER_READ, FENCE, 0}, {PEER_SKIP, NULL, 4},
                           {PEER_WRITE, "000ec142 46454e01 00000000 00000001 1c543876", 0},
                           {PEER_DRAIN, NULL, 0}),
                   IW_VERDICT_PASS, NULL);
    r = AGAINST("local conn = t:connect { revision = 1 }\nconn:fence()\n",
                {PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0}, {PEER_READ, FENCE, 0},
                {PEER_SKIP, NULL, 4},
                {PEER_WRITE, "00124143 00000000 00000000 00000001 00000000 587be8c4", 0},
                {PEER_DRAIN, NULL, 0});
    assert_string_equal(r.expected, "read-response stag 46454e01 to 1 len 0");
    assert_string_equal(r.actual, "send L msn 1 mo 0 len 0");
    expect_verdict(r, IW_VERDICT_FAIL, "the target gave another answer than expected");
}

static void every_case_leaves_a_capture(void **state)
{
    struct iw_run_options options = play_options;
    char dir[] = P_tmpdir "/iw-pcap-XXXXXX", path[300];
    static uint8_t octets[65536];
    struct iw_result r;
    size_t n;
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(dir));
    options.pcap_dir = dir;
    r = against(STEPS({PEER_READ, REQUEST_1, 0}, {PEER_WRITE, REPLY_1, 0}, {PEER_SKIP, NULL, 24},
                      {PEER_WRITE, TERMINATE_CRC, 0}, {PEER_DRAIN, NULL, 0}),
                5,
                "local conn = t:connect { revision = 1 }\n"
                "conn:send(send {}, { crc = 'bad', comment = 'a bad CRC' })\n"
                "conn:expect_terminate { '2/0/02' }\n",
                &options);
    assert_int_equal(r.verdict, IW_VERDICT_PASS);
    snprintf(path, sizeof(path), "%s/test.pcapng", dir);
    assert_string_equal(r.pcap, path);
    f = fopen(path, "rb");
    assert_non_null(f);
    n = fread(octets, 1, sizeof(octets), f);
    fclose(f);
    unlink(path);
    rmdir(dir);
    assert_non_null(memmem(octets, n, "case test: a test\nPASS", 22));
    assert_non_null(memmem(octets, n, "stimulus: a bad CRC (set on purpose: crc)", 41));
    assert_non_null(memmem(octets, n, "deciding: PASS", 14));
    assert_non_null(memmem(octets, n, "MPA ID Req Frame\x40\x01\0\0", 20));
    assert_non_null(memmem(octets, n, "\x20\x02\0\0\x7f\xe4\x25\x85", 8));
    iw_result_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_the_literal_vectors),
        cmocka_unit_test(sends_the_literal_terminates),
        cmocka_unit_test(sends_what_is_bent),
        cmocka_unit_test(sends_markers_that_were_asked_for),
        cmocka_unit_test(splits_and_continues_messages),
        cmocka_unit_test(sends_bent_startup_frames),
        cmocka_unit_test(holds_octets_back),
        cmocka_unit_test(splits_writes),
        cmocka_unit_test(judges_the_answer),
        cmocka_unit_test(a_close_is_no_terminate),
        cmocka_unit_test(a_reset_behind_a_terminate_is_a_close),
        cmocka_unit_test(a_terminate_cuts_a_message_short),
        cmocka_unit_test(an_unasked_terminate_is_a_failure),
        cmocka_unit_test(an_unasked_finding_is_a_failure),
        cmocka_unit_test(a_word_of_a_deviation_is_text),
        cmocka_unit_test(a_wrong_version_is_a_failure),
        cmocka_unit_test(an_end_while_streaming_is_judged),
        cmocka_unit_test(a_silent_peer_is_inconclusive_within_patience),
        cmocka_unit_test(a_flood_is_bounded),
        cmocka_unit_test(a_blocked_send_ends_with_the_case),
        cmocka_unit_test(an_endless_answer_is_not_waited_for),
        cmocka_unit_test(a_message_without_end_is_bounded),
        cmocka_unit_test(a_fence_proves_silence),
        cmocka_unit_test(every_case_leaves_a_capture),
    };

    return cmocka_run_group_tests(tests, NULL, remove_file);
}
