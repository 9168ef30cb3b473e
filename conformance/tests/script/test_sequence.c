/* SPDX-License-Identifier: BSD-3-Clause */
/* An exchange as reports show it: literal octets in, literal JSON out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/transport.h"
#include "script/sequence.h"

static struct iw_exchange *an_exchange(uint64_t *now)
{
    struct iw_exchange *x = iw_exchange_create();
    struct iw_synth_tcp tcp = {.address = {{.family = 4}, {.family = 4}}, .port = {1, 1}};

    assert_non_null(x);
    *now = iw_transport_now();
    assert_int_equal(iw_exchange_open(x, true, &tcp, *now), 0);
    return x;
}

/* The part of the JSON text from `from` on, up to `to`. */
static void assert_part(const char *text, const char *from, const char *expected)
{
    const char *at = strstr(text, from);

    assert_non_null(at);
    assert_int_equal(strncmp(at, expected, strlen(expected)), 0);
}

static void test_startup(void **state)
{
    static const uint8_t request[] = "MPA ID Req Frame\x50\x02\x00\x06\xc0\x10\xc0\x10<\xff";
    struct iw_exchange_line line = {.kind = IW_LINE_STARTUP, .end = 26};
    uint64_t now;
    struct iw_exchange *x = an_exchange(&now);
    char *text;

    (void)state;
    assert_true(iw_exchange_data(x, 0, false, request, 26, now));
    iw_exchange_tell(x, &line, "mpa request", now);
    iw_exchange_comment(x, 0, false, 17, "stimulus: \"rev\"");
    text = iw_sequence_json(x);
    assert_part(text, "\"conn\"", "\"conn\":0,\"from\":\"station\",\"at\":");
    assert_part(text, "\"text\"",
                "\"text\":\"mpa request\","
                "\"octets\":\"4d504120494420526571204672616d6550020006c010c0103cff\",\"length\":26,"
                "\"fields\":\"0+16 Key|16+1 Flags: M C R S|17+1 Rev|18+2 PD_Length|20+2 A B IRD|"
                "22+2 C D ORD|24+2 Private data\","
                "\"remarks\":[[17,\"stimulus: \\\"rev\\\"\"]]}]");
    free(text);
    iw_exchange_destroy(x);
}

/* RFC 5044 figure: the Marker at position 512 lies inside the second FPDU, which begins at 0x1ec.
 */
static void test_markers(void **state)
{
    static const uint8_t fpdu[] = {0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0,    0,    0,    0,
                                   0,    0,    2,    0,    0, 0, 0, 0, 0, 0,    0x14, 0,    0,
                                   0,    0,    0,    0,    0, 0, 0, 0, 0, 0,    0,    0,    0,
                                   0,    0,    0,    0,    0, 0, 0, 0, 0, 0x84, 0x92, 0x58, 0x98};
    struct iw_exchange_line line = {.kind = IW_LINE_FPDU,
                                    .from_peer = true,
                                    .markers = true,
                                    .start = 20,
                                    .position = 20 + 0x1ec,
                                    .end = 20 + 0x1ec + sizeof(fpdu)};
    uint8_t before[20 + 0x1ec] = {0};
    uint64_t now;
    struct iw_exchange *x = an_exchange(&now);
    char *text;

    (void)state;
    assert_true(iw_exchange_data(x, 0, true, before, sizeof(before), now));
    assert_true(iw_exchange_data(x, 0, true, fpdu, 10, now)); /* as two reads found it */
    assert_true(iw_exchange_data(x, 0, true, fpdu + 10, sizeof(fpdu) - 10, now));
    iw_exchange_tell(x, &line, "send", now);
    text = iw_sequence_json(x);
    assert_part(text, "\"octets\"",
                "\"octets\":\"002a4143000000000000000000000002000000000000001400000000000000000000"
                "000000000000000000000000000084925898\",\"length\":52,"
                "\"fields\":\"20+2 Marker: reserved|22+2 Marker: FPDUPTR|0+2 ULPDU_Length|"
                "2+1 DDP control: T L DV|3+1 RDMAP control: RV opcode|4+4 Invalidate STag|8+4 QN|"
                "12+4 MSN|16+4 MO|24+24 Payload|48+4 CRC\"}]");
    free(text);
    iw_exchange_destroy(x);
}

/* Octets that break off, lengths that lie, messages longer than what is shown. */
static void test_cut(void **state)
{
    static const uint8_t octets[600] = {0xff, 0xff, 0xc1, 0x40, 1, 2, 3, 4};
    struct iw_exchange_line line = {.kind = IW_LINE_FPDU, .end = 600};
    uint64_t now;
    struct iw_exchange *x = an_exchange(&now);
    char *text;

    (void)state;
    assert_true(iw_exchange_data(x, 0, false, octets, sizeof(octets), now));
    iw_exchange_tell(x, &line, "write", now);
    line.position = 598; /* only the length field was sent */
    line.end = 620;
    iw_exchange_tell(x, &line, "cut", now);
    line.position = line.end = 600;
    line.kind = IW_LINE_END;
    iw_exchange_tell(x, &line, "fin", now);
    text = iw_sequence_json(x);
    assert_part(text, "\"length\"",
                "\"length\":600,\"fields\":\"0+2 ULPDU_Length|2+1 DDP control: T L DV|"
                "3+1 RDMAP control: RV opcode|4+4 STag|8+8 TO|16+240 Payload\"}");
    assert_part(text, "\"text\":\"cut\"", "\"text\":\"cut\",\"octets\":\"0000\",\"length\":22}");
    assert_part(text, "\"text\":\"fin\"", "\"text\":\"fin\"}]");
    free(text);
    iw_exchange_destroy(x);
}

/* A flood does not fill the report. */
static void test_bound(void **state)
{
    struct iw_exchange_line line = {.kind = IW_LINE_END};
    uint64_t now;
    struct iw_exchange *x = an_exchange(&now);
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < IW_EXCHANGE_LINES + 10; i++)
        iw_exchange_tell(x, &line, "fin", now);
    for (const struct iw_exchange_line *l = iw_exchange_lines(x); l; l = l->next)
        n++;
    assert_int_equal(n, IW_EXCHANGE_LINES);
    iw_exchange_destroy(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_startup),
        cmocka_unit_test(test_markers),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
