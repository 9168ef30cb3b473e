/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAC "02 00 00 00 00 02 02 00 00 00 00 01 "
#define IP4(total) "45 00 " total " 00 01 40 00 40 06 00 00 0a 09 00 02 0a 09 00 01 "
#define ADDRESSES6                                                                                 \
    "20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 01 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 "   \
    "00 02 "
#define IP6(length, next) "60 00 00 00 " length " " next " 40 " ADDRESSES6
#define TCP_HEADER "c8 38 23 8d 01 02 03 04 f0 00 00 01 50 18 12 34 00 00 00 00 "
#define PAYLOAD "4d 50 41 20 "

/* A frame whose octets end where malloc's block does, so that a read past its end is caught. */
struct sample {
    struct iw_frame frame;
    struct iw_packet packet;
    uint8_t *octets;
};

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static enum iw_decode decode(struct sample *s, enum iw_link link, const char *hex, uint32_t beyond)
{
    uint8_t *octets = malloc(strlen(hex) / 3 + 1);
    uint32_t length = 0;
    for (; hex[0] != '\0'; hex += 3)
        octets[length++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
    s->octets = realloc(octets, length != 0 ? length : 1);
    assert_non_null(s->octets);
    s->frame = (struct iw_frame){.number = 1,
                                 .link = link,
                                 .data = s->octets,
                                 .length = length,
                                 .original = length + beyond};
    memset(&s->packet, 0xee, sizeof(s->packet));
    return iw_packet_decode(&s->frame, &s->packet);
}

static void expect_packet(enum iw_link link, const char *hex, bool v6)
{
    struct sample s;
    char text[IW_ENDPOINT_TEXT];
    assert_int_equal(decode(&s, link, hex, 0), IW_DECODE_TCP);
    assert_string_equal(iw_address_print(text, &s.packet.source, s.packet.source_port),
                        v6 ? "[2001:db8::1]:51256" : "10.9.0.2:51256");
    assert_string_equal(iw_address_print(text, &s.packet.destination, s.packet.destination_port),
                        v6 ? "[2001:db8::2]:9101" : "10.9.0.1:9101");
    assert_int_equal(s.packet.seq, 0x01020304);
    assert_int_equal(s.packet.ack, 0xf0000001);
    assert_int_equal(s.packet.flags, IW_TCP_ACK | IW_TCP_PSH);
    assert_int_equal(s.packet.window, 0x1234);
    assert_int_equal(s.packet.mss, 0);
    assert_int_equal(s.packet.scale, 0);
    assert_int_equal(s.packet.id, v6 ? 0 : 1);
    assert_int_equal(s.packet.length, 4);
    assert_int_equal(s.packet.missing, 0);
    assert_memory_equal(s.packet.payload, "MPA ", 4);
    free(s.octets);
}

static void expect_stop(enum iw_link link, const char *hex, uint32_t beyond, enum iw_decode what,
                        const char *reason, uint32_t offset)
{
    struct sample s;
    assert_int_equal(decode(&s, link, hex, beyond), what);
    assert_string_equal(s.packet.reason, reason);
    assert_int_equal(s.packet.offset, offset);
    free(s.octets);
}

#define PACKET4 IP4("00 2c") TCP_HEADER PAYLOAD
#define PACKET6 IP6("00 18", "06") TCP_HEADER PAYLOAD

static void link_layers(void **state)
{
    (void)state;
    expect_packet(IW_LINK_ETHERNET, MAC "08 00 " PACKET4, false);
    expect_packet(IW_LINK_ETHERNET, MAC "86 dd " PACKET6, true);
    expect_packet(IW_LINK_ETHERNET, MAC "81 00 00 05 08 00 " PACKET4, false);
    expect_packet(IW_LINK_ETHERNET, MAC "88 a8 00 07 81 00 00 05 86 dd " PACKET6, true);
    expect_packet(IW_LINK_SLL, "00 00 00 01 00 06 02 00 00 00 00 01 00 00 08 00 " PACKET4, false);
    expect_packet(IW_LINK_SLL2,
                  "86 dd 00 00 00 00 00 01 03 04 00 06 00 00 00 00 00 00 00 00 " PACKET6, true);
    expect_packet(IW_LINK_NULL, "02 00 00 00 " PACKET4, false);
    expect_packet(IW_LINK_NULL, "00 00 00 1e " PACKET6, true);
    expect_packet(IW_LINK_NULL, "0a 00 00 00 " PACKET6, true);
    expect_packet(IW_LINK_LOOP, "00 00 00 02 " PACKET4, false);
    expect_packet(IW_LINK_LOOP, "00 00 00 18 " PACKET6, true);
    expect_packet(IW_LINK_RAW, PACKET4, false);
    expect_packet(IW_LINK_RAW, PACKET6, true);
}

static void other_protocols(void **state)
{
    (void)state;
    expect_stop(IW_LINK_ETHERNET, MAC "08 06 00 01 ", 0, IW_DECODE_NOT_IP,
                "the protocol on the link is not IP", 14);
    expect_stop(IW_LINK_NULL, "07 00 00 00 " PACKET4, 0, IW_DECODE_NOT_IP,
                "the protocol on the link is not IP", 4);
    expect_stop(IW_LINK_LOOP, "02 00 00 00 " PACKET4, 0, IW_DECODE_NOT_IP,
                "the protocol on the link is not IP", 4);
    expect_stop(IW_LINK_RAW,
                "45 00 00 1c 00 01 40 00 40 11 00 00 0a 09 00 02 0a 09 00 01 "
                "00 35 00 35 00 08 00 00 ",
                0, IW_DECODE_NOT_TCP, "the IPv4 protocol is not TCP", 0);
    expect_stop(IW_LINK_RAW, IP6("00 08", "11") "00 35 00 35 00 08 00 00 ", 0, IW_DECODE_NOT_TCP,
                "the IPv6 next header is not TCP", 40);
}

static void ip_options_and_extensions(void **state)
{
    (void)state;
    expect_packet(IW_LINK_RAW,
                  "47 00 00 34 00 01 40 00 40 06 00 00 0a 09 00 02 0a 09 00 01 "
                  "94 04 00 00 01 01 01 00 " TCP_HEADER PAYLOAD,
                  false);
    /* Hop-by-hop, routing of 16 octets, an atomic fragment, authentication, options. */
    expect_packet(IW_LINK_RAW,
                  IP6("00 58", "00") "2b 00 01 04 00 00 00 00 "
                                     "2c 01 04 00 00 00 00 00 00 00 00 00 00 00 00 00 "
                                     "33 00 00 00 00 00 00 09 "
                                     "3c 04 00 00 00 00 00 01 00 00 00 01 00 00 00 00 "
                                     "00 00 00 00 00 00 00 00 "
                                     "06 00 01 04 00 00 00 00 " TCP_HEADER PAYLOAD,
                  true);
#define HOP "00 00 01 04 00 00 00 00 "
    expect_packet(IW_LINK_RAW,
                  IP6("00 58", "00") HOP HOP HOP HOP HOP HOP HOP
                  "06 00 01 04 00 00 00 00 " TCP_HEADER PAYLOAD,
                  true);
    expect_stop(IW_LINK_RAW,
                IP6("00 60", "00") HOP HOP HOP HOP HOP HOP HOP HOP
                "06 00 01 04 00 00 00 00 " TCP_HEADER PAYLOAD,
                0, IW_DECODE_BAD, "too many IPv6 extension headers", 40 + 64);
    expect_stop(IW_LINK_RAW, IP6("00 04", "00") "06 00 01 04 ", 0, IW_DECODE_BAD,
                "the IPv6 payload ends inside an extension header", 40);
    expect_stop(IW_LINK_RAW, IP6("00 08", "00") "06 01 01 04 00 00 00 00 ", 0, IW_DECODE_BAD,
                "the IPv6 payload ends inside an extension header", 40);
    expect_stop(IW_LINK_ETHERNET,
                MAC "81 00 00 05 81 00 00 05 81 00 00 05 81 00 00 05 81 00 00 05 08 00 " PACKET4, 0,
                IW_DECODE_BAD, "too many VLAN tags", 30);
}

static void fragments(void **state)
{
    (void)state;
    expect_stop(IW_LINK_RAW,
                "45 00 00 2c 00 01 20 00 40 06 00 00 0a 09 00 02 0a 09 00 01 " TCP_HEADER PAYLOAD,
                0, IW_DECODE_FRAGMENT, "a fragment of an IPv4 datagram", 0);
    expect_stop(IW_LINK_RAW,
                "45 00 00 2c 00 01 00 03 40 06 00 00 0a 09 00 02 0a 09 00 01 " TCP_HEADER PAYLOAD,
                0, IW_DECODE_FRAGMENT, "a fragment of an IPv4 datagram", 0);
    expect_stop(IW_LINK_RAW, IP6("00 20", "2c") "06 00 00 01 00 00 00 09 " TCP_HEADER PAYLOAD, 0,
                IW_DECODE_FRAGMENT, "a fragment of an IPv6 datagram", 40);
    expect_stop(IW_LINK_RAW, IP6("00 20", "2c") "06 00 00 08 00 00 00 09 " TCP_HEADER PAYLOAD, 0,
                IW_DECODE_FRAGMENT, "a fragment of an IPv6 datagram", 40);
}

static void padding_is_no_payload(void **state)
{
    (void)state;
    struct sample s;
    /* A pure ACK of 54 octets in an Ethernet frame of 60. */
    assert_int_equal(
        decode(&s, IW_LINK_ETHERNET, MAC "08 00 " IP4("00 28") TCP_HEADER "00 00 00 00 00 00 ", 0),
        IW_DECODE_TCP);
    assert_int_equal(s.packet.length, 0);
    assert_int_equal(s.packet.missing, 0);
    free(s.octets);
    assert_int_equal(decode(&s, IW_LINK_ETHERNET,
                            MAC "86 dd " IP6("00 18", "06") TCP_HEADER PAYLOAD "ff ff ", 0),
                     IW_DECODE_TCP);
    assert_int_equal(s.packet.length, 4);
    free(s.octets);
}

/* Length 0: segmentation was left to the interface; the frame's own length counts. */
static void offloaded_length(void **state)
{
    (void)state;
    expect_packet(IW_LINK_ETHERNET, MAC "08 00 " IP4("00 00") TCP_HEADER PAYLOAD, false);
    expect_packet(IW_LINK_ETHERNET, MAC "86 dd " IP6("00 00", "06") TCP_HEADER PAYLOAD, true);
}

static void tcp_options(void **state)
{
    (void)state;
    static const struct {
        const char *options; /* 12 octets */
        uint16_t mss;
        uint8_t scale;
    } samples[] = {
        {"02 04 05 b4 04 02 08 0a 00 00 00 00 ", 1460, 0},
        {"01 01 03 03 07 02 04 23 00 01 01 00 ", 8960, 7},
        {"02 04 05 b4 03 03 0e 01 02 04 23 00 ", 1460, 14},
        {"03 04 07 01 01 01 01 01 01 01 03 03 ", 0, 0},
        {"04 02 02 04 05 b4 04 02 03 03 07 00 ", 1460, 7}, /* SACK permitted: no value */
        {"00 02 04 05 b4 00 00 00 00 00 00 00 ", 0, 0},
        {"02 03 05 02 04 05 b4 01 01 01 01 01 ", 1460, 0},
        {"01 01 01 01 01 01 01 01 01 02 04 05 ", 0, 0},
        {"08 00 02 04 05 b4 00 00 00 00 00 00 ", 0, 0},
        {"08 0d 02 04 05 b4 00 00 00 00 00 00 ", 0, 0},
        {"01 01 01 01 01 01 01 01 01 01 01 02 ", 0, 0},
    };
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct sample s;
        char hex[400];
        snprintf(hex, sizeof(hex), "%s%s",
                 IP4("00 34") "c8 38 23 8d 01 02 03 04 00 00 00 00 80 02 ff ff 00 00 00 00 ",
                 samples[i].options);
        assert_int_equal(decode(&s, IW_LINK_RAW, hex, 0), IW_DECODE_TCP);
        assert_int_equal(s.packet.flags, IW_TCP_SYN);
        assert_int_equal(s.packet.mss, samples[i].mss);
        assert_int_equal(s.packet.scale, samples[i].scale);
        assert_int_equal(s.packet.length, 0);
        free(s.octets);
    }
}

static void contradictions(void **state)
{
    (void)state;
    expect_stop(IW_LINK_RAW, IP4("00 2d") TCP_HEADER PAYLOAD, 0, IW_DECODE_BAD,
                "the IPv4 total length runs past the frame", 0);
    expect_stop(IW_LINK_RAW, IP6("00 19", "06") TCP_HEADER PAYLOAD, 0, IW_DECODE_BAD,
                "the IPv6 payload length runs past the frame", 0);
    expect_stop(IW_LINK_RAW, IP4("00 13") TCP_HEADER PAYLOAD, 0, IW_DECODE_BAD,
                "the IPv4 header length is out of range", 0);
    expect_stop(IW_LINK_RAW,
                "44 00 00 2c 00 01 40 00 40 06 00 00 0a 09 00 02 0a 09 00 01 " TCP_HEADER PAYLOAD,
                0, IW_DECODE_BAD, "the IPv4 header length is out of range", 0);
    expect_stop(IW_LINK_RAW, IP4("00 27") TCP_HEADER PAYLOAD, 0, IW_DECODE_BAD,
                "the IP length leaves no room for a TCP header", 20);
    expect_stop(IW_LINK_RAW,
                IP4("00 2c") "c8 38 23 8d 01 02 03 04 f0 00 00 01 70 18 12 34 00 00 00 00 " PAYLOAD,
                0, IW_DECODE_BAD, "the TCP data offset is out of range", 20);
    expect_stop(IW_LINK_RAW,
                IP4("00 2c") "c8 38 23 8d 01 02 03 04 f0 00 00 01 40 18 12 34 00 00 00 00 " PAYLOAD,
                0, IW_DECODE_BAD, "the TCP data offset is out of range", 20);
    expect_stop(IW_LINK_RAW, "55 00 ", 60, IW_DECODE_BAD, "the IP version is neither 4 nor 6", 0);
    expect_stop(IW_LINK_ETHERNET, MAC "08 00 " PACKET6, 0, IW_DECODE_BAD, "the IP version is not 4",
                14);
    expect_stop(IW_LINK_ETHERNET, MAC "86 dd " IP4("00 40") TCP_HEADER PAYLOAD PAYLOAD, 0,
                IW_DECODE_BAD, "the IP version is not 6", 14);
}

/* What ends where, and what is said of octets that end before. */
struct part {
    uint32_t end, offset;
    const char *reason;
};

#define LINK(end)                                                                                  \
    {                                                                                              \
        end, 0, "the captured octets end inside the link header"                                   \
    }
#define TAG(end, at)                                                                               \
    {                                                                                              \
        end, at, "the captured octets end inside a VLAN tag"                                       \
    }
#define V4(end, at)                                                                                \
    {                                                                                              \
        end, at, "the captured octets end inside the IPv4 header"                                  \
    }
#define V4_OPTIONS(end, at)                                                                        \
    {                                                                                              \
        end, at, "the captured octets end inside the IPv4 options"                                 \
    }
#define V6(end, at)                                                                                \
    {                                                                                              \
        end, at, "the captured octets end inside the IPv6 header"                                  \
    }
#define EXTENSION(end, at)                                                                         \
    {                                                                                              \
        end, at, "the captured octets end inside an IPv6 extension header"                         \
    }
#define TCP(end, at)                                                                               \
    {                                                                                              \
        end, at, "the captured octets end inside the TCP header"                                   \
    }
#define TCP_OPTIONS(end, at)                                                                       \
    {                                                                                              \
        end, at, "the captured octets end inside the TCP options"                                  \
    }

/* Whatever the snap length, headers are whole or CUT, and every octet is captured or missing. */
static void every_snap_length(void **state)
{
    (void)state;
    static const struct {
        enum iw_link link;
        const char *hex;
        struct part parts[6];
    } samples[] = {
        {IW_LINK_ETHERNET,
         MAC "81 00 00 05 08 00 " PACKET4,
         {LINK(14), TAG(18, 14), V4(38, 18), TCP(58, 38)}},
        {IW_LINK_ETHERNET,
         MAC "86 dd " IP6("00 20", "3c") "06 00 01 04 00 00 00 00 " TCP_HEADER PAYLOAD,
         {LINK(14), V6(54, 14), EXTENSION(62, 54), TCP(82, 62)}},
        {IW_LINK_RAW,
         IP6("00 28", "3c") "06 01 01 0c 00 00 00 00 00 00 00 00 00 00 00 00 " TCP_HEADER PAYLOAD,
         {{1, 0, "the captured octets end before the IP header"},
          V6(40, 0),
          EXTENSION(56, 40),
          TCP(76, 56)}},
        {IW_LINK_NULL,
         "02 00 00 00 46 00 00 34 00 01 40 00 40 06 00 00 0a 09 00 02 0a 09 00 01 94 04 00 00 "
         "c8 38 23 8d 01 02 03 04 f0 00 00 01 60 18 12 34 00 00 00 00 01 01 01 00 " PAYLOAD,
         {LINK(4), V4(24, 4), V4_OPTIONS(28, 4), TCP(48, 28), TCP_OPTIONS(52, 28)}},
        {IW_LINK_SLL,
         "00 00 00 01 00 06 02 00 00 00 00 01 00 00 08 00 " PACKET4,
         {LINK(16), V4(36, 16), TCP(56, 36)}},
        {IW_LINK_SLL2,
         "86 dd 00 00 00 00 00 01 03 04 00 06 00 00 00 00 00 00 00 00 " PACKET6,
         {LINK(20), V6(60, 20), TCP(80, 60)}},
    };
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        uint32_t whole = (uint32_t)strlen(samples[i].hex) / 3;
        const struct part *part = samples[i].parts;
        uint32_t headers = whole - 4;
        for (uint32_t snap = 0; snap < whole; snap++) {
            struct sample s;
            char hex[400];
            memcpy(hex, samples[i].hex, 3 * snap);
            hex[3 * snap] = '\0';
            enum iw_decode result = decode(&s, samples[i].link, hex, whole - snap);
            part += snap == part->end;
            assert_int_equal(result, snap < headers ? IW_DECODE_CUT : IW_DECODE_TCP);
            if (result == IW_DECODE_TCP) {
                assert_null(part->reason);
                assert_int_equal(s.packet.length, snap - headers);
                assert_int_equal(s.packet.missing, whole - snap);
            } else {
                assert_string_equal(s.packet.reason, part->reason);
                assert_int_equal(s.packet.offset, part->offset);
            }
            free(s.octets);
        }
    }
}

/* What a fragment says of itself; the end of its octets may be padding, or not captured. */
static void fragments_say_where_they_belong(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        uint32_t beyond, id, offset, length, missing;
        bool more;
        uint8_t next;
    } rows[] = {
        {"45 00 00 1c 12 34 20 00 40 06 00 00 0a 09 00 02 0a 09 00 01 61 62 63 64 65 66 67 68 ", 0,
         0x1234, 0, 8, 0, true, 6},
        {"45 00 00 1c 12 34 1f ff 40 11 00 00 0a 09 00 02 0a 09 00 01 61 62 63 64 65 66 67 68 ", 0,
         0x1234, 65528, 8, 0, false, 17},
        {"45 00 00 1c 12 34 20 01 40 06 00 00 0a 09 00 02 0a 09 00 01 61 62 63 ", 9, 0x1234, 8, 3,
         5, true, 6},
        {"46 00 00 19 00 00 00 01 40 06 00 00 0a 09 00 02 0a 09 00 01 01 01 01 00 61 62 63 ", 0, 0,
         8, 1, 0, false, 6},
        {IP6("00 10", "2c") "06 00 00 01 12 34 56 78 61 62 63 64 65 66 67 68 ", 0, 0x12345678, 0, 8,
         0, true, 6},
        {IP6("00 10", "2c") "11 00 ff f8 12 34 56 78 61 62 63 64 65 66 67 68 ", 0, 0x12345678,
         65528, 8, 0, false, 17},
        {IP6("00 10", "2c") "06 00 00 09 00 00 00 01 61 62 63 ", 9, 1, 8, 3, 5, true, 6},
        {IP6("00 18", "00") "2c 00 01 04 00 00 00 00 06 00 00 10 00 00 00 01 61 62 63 64 65 66 67 "
                            "68 ff ",
         0, 1, 16, 8, 0, false, 6},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sample s;
        assert_int_equal(decode(&s, IW_LINK_RAW, rows[i].hex, rows[i].beyond), IW_DECODE_FRAGMENT);
        assert_int_equal(s.packet.fragment.id, rows[i].id);
        assert_int_equal(s.packet.fragment.offset, rows[i].offset);
        assert_int_equal(s.packet.fragment.more, rows[i].more);
        assert_int_equal(s.packet.fragment.next, rows[i].next);
        assert_int_equal(s.packet.length, rows[i].length);
        assert_int_equal(s.packet.missing, rows[i].missing);
        assert_memory_equal(s.packet.payload, "abcdefgh", rows[i].length);
        free(s.octets);
    }
}

/* Of the loopback headers the least octet of a family comes first or last; IPv6 has several. */
static void every_address_family(void **state)
{
    (void)state;
    for (unsigned family = 0; family < 64; family++) {
        bool v4 = family == 2, v6 = family == 10 || family == 24 || family == 28 || family == 30;
        for (unsigned order = 0; order < 2; order++) {
            char hex[400];
            snprintf(hex, sizeof(hex), order == 0 ? "%02x 00 00 00 %s" : "00 00 00 %02x %s", family,
                     v6 ? PACKET6 : PACKET4);
            if (v4 || v6)
                expect_packet(IW_LINK_NULL, hex, v6);
            else
                expect_stop(IW_LINK_NULL, hex, 0, IW_DECODE_NOT_IP,
                            "the protocol on the link is not IP", 4);
            if ((v4 || v6) && order == 1)
                expect_packet(IW_LINK_LOOP, hex, v6);
            else
                expect_stop(IW_LINK_LOOP, hex, 0, IW_DECODE_NOT_IP,
                            "the protocol on the link is not IP", 4);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_layers),
        cmocka_unit_test(other_protocols),
        cmocka_unit_test(ip_options_and_extensions),
        cmocka_unit_test(fragments),
        cmocka_unit_test(padding_is_no_payload),
        cmocka_unit_test(offloaded_length),
        cmocka_unit_test(tcp_options),
        cmocka_unit_test(contradictions),
        cmocka_unit_test(every_snap_length),
        cmocka_unit_test(fragments_say_where_they_belong),
        cmocka_unit_test(every_address_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
