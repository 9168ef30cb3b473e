/* SPDX-License-Identifier: BSD-3-Clause */
/* An exchange as reports show it: literal octets in, literal JSON out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "iwarp/transport.h"
#include "script/sequence.h"

/* The caller frees it. */
static char *printed(const struct iw_exchange *x)
{
    json_t *list = iw_sequence_json(x);
    char *text = json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(9));

    json_decref(list);
    return text;
}

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
    text = printed(x);
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
    text = printed(x);
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
    text = printed(x);
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
    for (const struct iw_exchange_line *l = iw_exchange_lines(x); l != NULL; l = l->next)
        n++;
    assert_int_equal(n, IW_EXCHANGE_LINES);
    iw_exchange_destroy(x);
}

/* ---- fields ---- */

/* The fields of one line with these octets, which begin at `position`. */
static void fields(struct iw_exchange_line line, const char *hex, const char *expected)
{
    static const uint8_t before[2048];
    uint8_t octets[IW_SEQUENCE_OCTETS + 64];
    size_t length = hex_octets(hex, octets, sizeof(octets));
    uint64_t now;
    struct iw_exchange *x = an_exchange(&now);
    json_t *list;
    char *text;

    if (line.position)
        assert_true(iw_exchange_data(x, 0, false, before, line.position, now));
    assert_true(iw_exchange_data(x, 0, false, octets, length, now));
    line.end = line.position + length;
    iw_exchange_tell(x, &line, "line", now);
    text = printed(x);
    list = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "length")),
                     length);
    if (expected != NULL)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "fields")),
                            expected);
    else
        assert_null(json_object_get(json_array_get(list, 0), "fields"));
    json_decref(list);
    free(text);
    iw_exchange_destroy(x);
}

#define KEY "4d504120494420526571204672616d65"
#define START "0+16 Key|16+1 Flags: M C R S|17+1 Rev|18+2 PD_Length"

static void test_startup_fields(void **state)
{
    const struct iw_exchange_line line = {.kind = IW_LINE_STARTUP};

    (void)state;
    fields(line, KEY "40010000", START);
    fields(line, KEY "4001000161", START "|20+1 Private data");
    /* The first four octets are IRD and ORD if the frame says so, and is long enough. */
    fields(line, KEY "5002000401020304", START "|20+2 A B IRD|22+2 C D ORD");
    fields(line, KEY "5003000501020304ff", START "|20+2 A B IRD|22+2 C D ORD|24+1 Private data");
    fields(line, KEY "5001000401020304", START "|20+4 Private data");
    fields(line, KEY "4002000401020304", START "|20+4 Private data");
    fields(line, KEY "50020003010203", START "|20+3 Private data");
    fields(line, "4d5041", "0+3 Key");
    fields(line, KEY, "0+16 Key");
    fields(line, KEY "40", "0+16 Key|16+1 Flags: M C R S");
    fields(line, KEY "400100", "0+16 Key|16+1 Flags: M C R S|17+1 Rev|18+1 PD_Length");
}

#define CONTROL "0+2 ULPDU_Length|2+1 DDP control: T L DV|3+1 RDMAP control: RV opcode"
#define UNTAGGED CONTROL "|4+4 Invalidate STag|8+4 QN|12+4 MSN|16+4 MO"
#define ZEROS "00000000000000000000000000000000"

static void test_fpdu_fields(void **state)
{
    const struct iw_exchange_line line = {.kind = IW_LINE_FPDU};

    (void)state;
    /* Send with one octet of data: a length of 19, and 3 octets of pad. */
    fields(line,
           "00134143" ZEROS "61000000"
           "01020304",
           UNTAGGED "|20+1 Payload|21+3 Pad|24+4 CRC");
    fields(line, "00124143" ZEROS "01020304", UNTAGGED "|20+4 CRC");
    fields(line,
           "002e4141" ZEROS ZEROS "000000000000000000000000"
           "01020304",
           UNTAGGED "|20+4 Sink STag|24+8 Sink TO|32+4 Size|36+4 Source STag|40+8 Source TO|"
                    "48+4 CRC");
    fields(line,
           "00184147" ZEROS "0000c0000000"
           "0000"
           "01020304",
           UNTAGGED "|20+1 Layer, error type|21+1 Error code|22+2 HdrCt|24+2 Segment length|"
                    "26+2 Pad|28+4 CRC");
    fields(line,
           "00194147" ZEROS "0000c000000061"
           "00"
           "01020304",
           UNTAGGED "|20+1 Layer, error type|21+1 Error code|22+2 HdrCt|24+2 Segment length|"
                    "26+1 Terminated headers|27+1 Pad|28+4 CRC");
    fields(line,
           "0046414a" ZEROS ZEROS ZEROS ZEROS "00000000"
           "01020304",
           UNTAGGED "|20+4 AOpCode|24+4 Request identifier|28+4 Remote STag|32+8 Remote TO|"
                    "40+8 Add or swap data|48+8 Add or swap mask|56+8 Compare data|"
                    "64+8 Compare mask|72+4 CRC");
    fields(line,
           "001e414b" ZEROS "000000000000000000000000"
           "01020304",
           UNTAGGED "|20+4 Original request identifier|24+8 Original remote data|32+4 CRC");
    /* A header that is cut short: what is left of it is data. */
    fields(line,
           "001c414b" ZEROS "00000000000000000000"
           "0000"
           "01020304",
           UNTAGGED "|20+4 Original request identifier|24+6 Payload|30+2 Pad|32+4 CRC");
    fields(line,
           "000f4143"
           "00000000000000000000000000"
           "000000"
           "01020304",
           CONTROL "|4+4 Invalidate STag|8+4 QN|12+4 MSN|16+1 Payload|17+3 Pad|20+4 CRC");
    /* Tagged: the opcode of a Terminate changes nothing. */
    fields(line,
           "000fc147"
           "000000000000000000000000"
           "61000000"
           "01020304",
           CONTROL "|4+4 STag|8+8 TO|16+1 Payload|17+3 Pad|20+4 CRC");
    fields(line,
           "000ec140"
           "000000000000000000000000"
           "01020304",
           CONTROL "|4+4 STag|8+8 TO|16+4 CRC");
    /* Two of them, and one that breaks off. */
    fields(line,
           "00124143" ZEROS "01020304"
           "00124143" ZEROS "01020304"
           "0012",
           UNTAGGED "|20+4 CRC|24+2 ULPDU_Length|26+1 DDP control: T L DV|"
                    "27+1 RDMAP control: RV opcode|28+4 Invalidate STag|32+4 QN|36+4 MSN|40+4 MO|"
                    "44+4 CRC");
    /* No room for a header at all. */
    fields(line,
           "00000000"
           "01020304",
           "0+2 ULPDU_Length|2+2 Pad|4+4 CRC");
    fields(line,
           "00014100"
           "01020304",
           "0+2 ULPDU_Length|2+1 DDP control: T L DV|3+1 Pad|4+4 CRC");
    fields(line, "001241", NULL);
    fields(line, "00124143", CONTROL);
    fields(line, "0012414300", CONTROL "|4+1 Invalidate STag");
    fields(line, "00", NULL);
}

/* Octets of other kinds of lines have none. */
static void test_octets_without_fields(void **state)
{
    (void)state;
    fields((struct iw_exchange_line){.kind = IW_LINE_OCTETS}, "00124143" ZEROS "01020304", NULL);
}

static void test_marker_fields(void **state)
{
    struct iw_exchange_line line = {.kind = IW_LINE_FPDU, .markers = true, .start = 20};

    (void)state;
    /* Before everything. */
    line.position = 20 + 512;
    fields(line,
           "00000000"
           "00124143" ZEROS "01020304",
           "0+2 Marker: reserved|2+2 Marker: FPDUPTR|4+2 ULPDU_Length|6+1 DDP control: T L DV|"
           "7+1 RDMAP control: RV opcode|8+4 Invalidate STag|12+4 QN|16+4 MSN|20+4 MO|24+4 CRC");
    /* Inside of a field, which it splits. */
    line.position = 20 + 512 - 12;
    fields(line,
           "0012c143"
           "0000000000000000"
           "00000008"
           "0000000000000000"
           "01020304",
           "12+2 Marker: reserved|14+2 Marker: FPDUPTR|" CONTROL
           "|4+4 STag|8+4 TO|16+4 TO|20+4 Payload|24+4 CRC");
    /* Before the CRC. */
    line.position = 20 + 512 - 20;
    fields(line,
           "00124143" ZEROS "00000014"
           "01020304",
           "20+2 Marker: reserved|22+2 Marker: FPDUPTR|" UNTAGGED "|24+4 CRC");
    /* One that breaks off. */
    line.position = 20 + 512 - 20;
    fields(line, "00124143" ZEROS "0000", "20+2 Marker: reserved|" UNTAGGED);
    /* None is where none is in force. */
    line.markers = false;
    line.position = 20 + 512;
    fields(line, "00124143" ZEROS "01020304", UNTAGGED "|20+4 CRC");
}

/* Seconds with six digits, rounded. */
static void test_times(void **state)
{
    static const struct {
        uint64_t ns;
        const char *at;
    } times[] = {{0, "\"at\":0.0,"},
                 {1234567499, "\"at\":1.234567,"},
                 {1234567500, "\"at\":1.234568,"},
                 {999, "\"at\":1e-6,"},
                 {60000000000, "\"at\":60.0,"}};
    struct iw_exchange_line line = {.kind = IW_LINE_END, .connection = 3, .from_peer = true};
    uint64_t now;
    struct iw_exchange *x = an_exchange(&now);

    (void)state;
    iw_exchange_tell(x, &line, "fin", now);
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        char *text;

        ((struct iw_exchange_line *)(uintptr_t)iw_exchange_lines(x))->time = times[i].ns;
        text = printed(x);
        assert_part(text, "\"at\"", times[i].at);
        assert_part(text, "\"conn\"", "\"conn\":3,\"from\":\"target\",");
        free(text);
    }
    iw_exchange_destroy(x);
}

static void test_nothing(void **state)
{
    uint64_t now;
    struct iw_exchange *x = an_exchange(&now);
    char *text = printed(x);

    (void)state;
    assert_string_equal(text, "[]");
    free(text);
    iw_exchange_destroy(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_startup),
        cmocka_unit_test(test_markers),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_startup_fields),
        cmocka_unit_test(test_fpdu_fields),
        cmocka_unit_test(test_octets_without_fields),
        cmocka_unit_test(test_marker_fields),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
