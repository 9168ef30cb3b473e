/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets as they are written, octet for octet. The checksums were reckoned by another program. */
#include <stdlib.h>
#include <string.h>

#include "iwarp/capture.h"
#include "wire_support.h"

#define IP4(total, id, sum) "4500" total id "4000 4006" sum "0a090002 0a090001 "
#define IP6(length)                                                                                \
    "60000000" length "0640 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 "       \
    "00000002 "
#define TCP(rest) "c838 238d 01020304 f0000001 " rest

static const struct sample {
    const char *hex;
    unsigned family;
    const char *payload;
    uint8_t flags;
    uint8_t scale;
    uint16_t window, mss;
} samples[] = {
    /* No payload, one octet, an even number. */
    {IP4("0028", "0001", "26bb") TCP("5018 1234 a9b6 0000"), 4, "", 0x18, 0, 0x1234, 0},
    {IP4("0029", "0001", "26ba") TCP("5018 1234 5cb5 0000 4d"), 4, "M", 0x18, 0, 0x1234, 0},
    {IP4("002c", "0001", "26b7") TCP("5018 1234 1b42 0000 4d504120"), 4, "MPA ", 0x18, 0, 0x1234,
     0},
    {IP6("0014") TCP("5018 1234 6256 0000"), 6, "", 0x18, 0, 0x1234, 0},
    {IP6("0015") TCP("5018 1234 1555 0000 4d"), 6, "M", 0x18, 0, 0x1234, 0},
    {IP6("0018") TCP("5018 1234 d3e1 0000 4d504120"), 6, "MPA ", 0x18, 0, 0x1234, 0},
    /* A sum of which nothing is left. */
    {IP4("002a", "0001", "26b9") TCP("5018 1234 0000 0000 a9b4"), 4, "\xa9\xb4", 0x18, 0, 0x1234,
     0},
    /* Options: the MSS, both, the window scale. */
    {IP4("002c", "0001", "26b7") TCP("6002 ffff a444 0000 020405b4"), 4, "", 2, 0, 65535, 1460},
    {IP4("0030", "0001", "26b3") TCP("7002 ffff 9036 0000 020405b4 01030307"), 4, "", 2, 7, 65535,
     1460},
    {IP4("0030", "0001", "26b3") TCP("7002 ffff 902f 0000 020405b4 0103030e"), 4, "", 2, 14, 65535,
     1460},
    {IP4("002f", "0001", "26b4") TCP("6012 ffff a8de 0000 01030307 ffffff"), 4, "\xff\xff\xff",
     0x12, 7, 65535, 0},
    {IP6("0018") TCP("6002 ffff 5ce4 0000 020405b4"), 6, "", 2, 0, 65535, 1460},
    {IP6("001c") TCP("7002 ffff 48d6 0000 020405b4 01030307"), 6, "", 2, 7, 65535, 1460},
    {IP6("001b") TCP("6012 ffff 617e 0000 01030307 ffffff"), 6, "\xff\xff\xff", 0x12, 7, 65535, 0},
};
enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

static struct iw_packet packet_of(const struct sample *s)
{
    struct iw_packet p = {
        .source = {4, {10, 9, 0, 2}},
        .destination = {4, {10, 9, 0, 1}},
        .source_port = 51256,
        .destination_port = 9101,
        .seq = 0x01020304,
        .ack = 0xf0000001,
        .flags = s->flags,
        .scale = s->scale,
        .window = s->window,
        .mss = s->mss,
        .id = 1,
        .payload = (const uint8_t *)s->payload,
        .length = (uint32_t)strlen(s->payload),
    };
    static const uint8_t network[] = {0x20, 0x01, 0x0d, 0xb8};

    if (s->family == 6) {
        p.source = (struct iw_address){.family = 6, .octets[15] = 1};
        p.destination = (struct iw_address){.family = 6, .octets[15] = 2};
        memcpy(p.source.octets, network, sizeof(network));
        memcpy(p.destination.octets, network, sizeof(network));
        p.id = 0;
    }
    return p;
}

static void literal_octets(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct iw_packet p = packet_of(&samples[i]);
        size_t length;
        uint8_t *want = wire_hex(samples[i].hex, &length), *got = malloc(length);

        assert_int_equal(iw_packet_size(&p), length);
        assert_int_equal(iw_packet_put(got, length, &p), length);
        assert_memory_equal(got, want, length);
        free(got);
        wire_free(want);
    }
}

/* What is written is read again as it was given. */
static void there_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct iw_packet p = packet_of(&samples[i]), back;
        uint8_t octets[128];
        uint32_t length = (uint32_t)iw_packet_put(octets, sizeof(octets), &p);
        struct iw_frame frame = {
            .link = IW_LINK_RAW, .data = octets, .length = length, .original = length};

        memset(&back, 0xee, sizeof(back));
        assert_int_equal(iw_packet_decode(&frame, &back), IW_DECODE_TCP);
        assert_memory_equal(&back.source, &p.source, sizeof(p.source));
        assert_memory_equal(&back.destination, &p.destination, sizeof(p.destination));
        assert_int_equal(back.source_port, 51256);
        assert_int_equal(back.destination_port, 9101);
        assert_int_equal(back.seq, 0x01020304);
        assert_int_equal(back.ack, 0xf0000001);
        assert_int_equal(back.flags, p.flags);
        assert_int_equal(back.scale, p.scale);
        assert_int_equal(back.window, p.window);
        assert_int_equal(back.mss, p.mss);
        assert_int_equal(back.id, p.id);
        assert_int_equal(back.length, p.length);
        assert_int_equal(back.missing, 0);
        assert_memory_equal(back.payload, p.payload, p.length);
    }
}

static void too_little_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct iw_packet p = packet_of(&samples[i]);
        size_t length = iw_packet_size(&p);

        for (size_t room = 0; room < length; room++) {
            uint8_t *octets = malloc(room + 1);
            memset(octets, 0xaa, room + 1);
            assert_int_equal(iw_packet_put(octets, room, &p), 0);
            for (size_t k = 0; k <= room; k++)
                assert_int_equal(octets[k], 0xaa);
            free(octets);
        }
    }
}

/* The total length of IPv4 counts its header, the payload length of IPv6 does not. */
static void the_longest(void **state)
{
    (void)state;
    static const struct {
        uint8_t family;
        uint16_t mss;
        uint32_t most;
    } rows[] = {{4, 0, 65495}, {4, 1460, 65491}, {6, 0, 65515}, {6, 1440, 65511}};
    enum { ROOM = 70000 };
    uint8_t *payload = calloc(1, ROOM), *octets = calloc(1, ROOM);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t header = rows[i].family == 4 ? 20 : 40;
        struct iw_packet p = {.source.family = rows[i].family,
                              .destination.family = rows[i].family,
                              .mss = rows[i].mss,
                              .payload = payload,
                              .length = rows[i].most};

        assert_int_equal(iw_packet_put(octets, ROOM, &p), rows[i].family == 4 ? 65535 : 65575);
        assert_int_equal(iw_packet_size(&p), rows[i].family == 4 ? 65535 : 65575);
        assert_int_equal(octets[header == 20 ? 2 : 4] << 8 | octets[header == 20 ? 3 : 5], 65535);
        p.length++;
        assert_int_equal(iw_packet_size(&p), 0);
        assert_int_equal(iw_packet_put(octets, ROOM, &p), 0);
        p.length = UINT32_MAX;
        assert_int_equal(iw_packet_put(octets, ROOM, &p), 0);
    }
    free(octets);
    free(payload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literal_octets),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(too_little_room),
        cmocka_unit_test(the_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
