/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A TCP segment with 25 octets of payload: fragments of 16, 16 and 13 octets. */
static const char tcp[] = "\xc8\x38\x23\x8d\x01\x02\x03\x04\xf0\x00\x00\x01\x50\x18\x12\x34"
                          "\x00\x00\x00\x00MPA ID Req Frame and more";
enum { WHOLE = 45, PART = 16, SECONDS = 1000000000 };

/* IPv4, identification 7, 10.9.0.2 to 10.9.0.1, TCP; IPv6 with a fragment header, TCP. */
static const uint8_t ip4[] = {0x45, 0, 0, 0, 0, 7, 0, 0, 64, 6, 0, 0, 10, 9, 0, 2, 10, 9, 0, 1};
static const uint8_t ip6[] = {0x60, 0, 0, 0, 0, 0, 44, 64, 0xfd, 0, 0, 0, 0, 0, 0, 0,
                              0,    0, 0, 0, 0, 0, 0,  2,  0xfd, 0, 0, 0, 0, 0, 0, 0,
                              0,    0, 0, 0, 0, 0, 0,  1,  6,    0, 0, 0, 0, 0, 0, 7};

struct sample {
    struct iw_frame frame;
    struct iw_packet packet;
    uint8_t octets[sizeof(ip6) + WHOLE];
};

/* The fragment of `length` octets at `from`, of the datagram with this identification. */
static void make(struct sample *s, int family, uint8_t id, uint32_t from, uint32_t length)
{
    bool more = from + length < WHOLE;
    size_t header = family == 4 ? sizeof(ip4) : sizeof(ip6);
    memcpy(s->octets, family == 4 ? ip4 : ip6, header);
    if (family == 4) {
        s->octets[3] = (uint8_t)(header + length);
        s->octets[5] = id;
        s->octets[6] = more ? 0x20 : 0;
        s->octets[7] = (uint8_t)(from / 8);
    } else {
        s->octets[5] = (uint8_t)(8 + length);
        s->octets[43] = (uint8_t)(from | more);
        s->octets[47] = id;
    }
    memcpy(s->octets + header, tcp + from, length);
    s->frame = (struct iw_frame){.time = SECONDS,
                                 .link = IW_LINK_RAW,
                                 .data = s->octets,
                                 .length = (uint32_t)header + length,
                                 .original = (uint32_t)header + length};
}

static enum iw_decode give(struct iw_fragments *f, struct sample *s)
{
    assert_int_equal(iw_packet_decode(&s->frame, &s->packet), IW_DECODE_FRAGMENT);
    return iw_fragments_add(f, &s->frame, &s->packet);
}

static enum iw_decode add(struct iw_fragments *f, int family, uint32_t from, uint32_t length)
{
    struct sample s;
    make(&s, family, 7, from, length);
    enum iw_decode result = give(f, &s);
    if (result == IW_DECODE_TCP) {
        assert_int_equal(s.packet.source.family, family);
        assert_int_equal(s.packet.source_port, 51256);
        assert_int_equal(s.packet.seq, 0x01020304);
        assert_int_equal(s.packet.length, 25);
        assert_int_equal(s.packet.missing, 0);
        assert_memory_equal(s.packet.payload, tcp + 20, 25);
    }
    return result;
}

static struct iw_fragments *start(void)
{
    struct iw_fragments *f = iw_fragments_new();
    assert_non_null(f);
    return f;
}

static void every_order(void **state)
{
    (void)state;
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int family = 4; family <= 6; family += 2) {
        struct iw_fragments *f = start();
        for (size_t i = 0; i < 6; i++)
            for (size_t k = 0; k < 3; k++) {
                uint32_t from = orders[i][k] * (uint32_t)PART;
                uint32_t length = from + PART < WHOLE ? PART : WHOLE - from;
                assert_int_equal(add(f, family, from, length),
                                 k == 2 ? IW_DECODE_TCP : IW_DECODE_FRAGMENT);
                /* An exact repeat, where it does not begin anew what is complete. */
                if (k < 2)
                    assert_int_equal(add(f, family, from, length), IW_DECODE_FRAGMENT);
            }
        assert_int_equal(iw_fragments_incomplete(f), 0);
        iw_fragments_free(f);
    }
    iw_fragments_free(NULL);
}

/* The last fragment may have any length. */
static void every_last_length(void **state)
{
    (void)state;
    struct iw_fragments *f = start();
    for (uint32_t last = 1; last <= 13; last++) {
        struct sample s;
        make(&s, 4, 7, 32, last);
        s.octets[6] = 0;
        assert_int_equal(give(f, &s), IW_DECODE_FRAGMENT);
        make(&s, 4, 7, 0, 32);
        assert_int_equal(give(f, &s), IW_DECODE_TCP);
        assert_int_equal(s.packet.length, 12 + last);
        assert_memory_equal(s.packet.payload, tcp + 20, 12 + last);
    }
    assert_int_equal(iw_fragments_incomplete(f), 0);
    iw_fragments_free(f);
}

/* The same octets twice are good in IPv4, in other fragments than before not in IPv6. */
static void overlaps(void **state)
{
    (void)state;
    struct iw_fragments *f = start();
    struct sample s;
    assert_int_equal(add(f, 4, 8, 24), IW_DECODE_FRAGMENT);
    assert_int_equal(add(f, 4, 0, 16), IW_DECODE_FRAGMENT);
    assert_int_equal(add(f, 4, 24, WHOLE - 24), IW_DECODE_TCP);
    assert_int_equal(add(f, 6, 8, 24), IW_DECODE_FRAGMENT);
    assert_int_equal(add(f, 6, 0, 16), IW_DECODE_BAD);
    assert_int_equal(add(f, 6, 24, WHOLE - 24), IW_DECODE_BAD);
    assert_int_equal(iw_fragments_incomplete(f), 1);

    /* Octets that differ. */
    assert_int_equal(add(f, 4, 0, 32), IW_DECODE_FRAGMENT);
    make(&s, 4, 7, 16, 16);
    s.octets[sizeof(ip4) + 15] ^= 1;
    assert_int_equal(give(f, &s), IW_DECODE_BAD);
    assert_string_equal(s.packet.reason, "fragments that contradict each other");
    assert_int_equal(add(f, 4, 32, WHOLE - 32), IW_DECODE_BAD);
    iw_fragments_free(f);
}

static void ends(void **state)
{
    (void)state;
    struct sample s;
    for (int i = 0; i < 3; i++) {
        struct iw_fragments *f = start();
        /* Octets after the last one; a last one before octets that are here; two ends. */
        make(&s, 4, 7, i == 0 ? 32 : 16, i == 2 ? 8 : 13);
        s.octets[6] = 0;
        if (i == 1)
            assert_int_equal(add(f, 4, 32, 13), IW_DECODE_FRAGMENT);
        assert_int_equal(give(f, &s), i == 1 ? IW_DECODE_BAD : IW_DECODE_FRAGMENT);
        if (i == 0)
            make(&s, 4, 7, 40, 5);
        if (i == 0)
            s.octets[6] = 0x20, s.octets[3] = (uint8_t)(sizeof(ip4) + 8), s.frame.length += 3;
        if (i == 2)
            make(&s, 4, 7, 16, 13);
        if (i == 2)
            s.octets[6] = 0;
        if (i != 1)
            assert_int_equal(give(f, &s), IW_DECODE_BAD);
        iw_fragments_free(f);
    }
}

static void lengths(void **state)
{
    (void)state;
    struct iw_fragments *f = start();
    struct sample s;
    make(&s, 4, 7, 0, 16); /* not a multiple of 8, and not the last */
    s.octets[3]--;
    assert_int_equal(give(f, &s), IW_DECODE_BAD);
    assert_string_equal(s.packet.reason, "a fragment whose length cannot be");
    make(&s, 4, 7, 0, 0);
    assert_int_equal(give(f, &s), IW_DECODE_BAD);
    make(&s, 4, 7, 0, 16); /* up to octet 65536 */
    s.octets[6] = 0x3f;
    s.octets[7] = 0xfe;
    assert_int_equal(give(f, &s), IW_DECODE_BAD);
    /* Not captured whole: as if it were not there. */
    make(&s, 4, 7, 0, 16);
    s.frame.length -= 1;
    assert_int_equal(give(f, &s), IW_DECODE_FRAGMENT);
    assert_int_equal(add(f, 4, 16, 16), IW_DECODE_FRAGMENT);
    assert_int_equal(add(f, 4, 32, 13), IW_DECODE_FRAGMENT);
    assert_int_equal(add(f, 4, 0, 16), IW_DECODE_TCP);
    iw_fragments_free(f);
}

/* The content of the datagram may not be TCP, or may begin with headers of its own. */
static void contents(void **state)
{
    (void)state;
    struct iw_fragments *f = start();
    struct sample s;
    for (int i = 0; i < 2; i++) {
        make(&s, 4, 7, i == 0 ? 0 : 32, i == 0 ? 32 : 13);
        s.octets[9] = 17;
        assert_int_equal(give(f, &s), i == 0 ? IW_DECODE_FRAGMENT : IW_DECODE_NOT_TCP);
    }
    /* Destination options before TCP: the whole chain is in the first fragment. */
    static const uint8_t options[] = {6, 0, 1, 4, 0, 0, 0, 0};
    make(&s, 6, 7, 0, 32);
    s.octets[40] = 60;
    memcpy(s.octets + sizeof(ip6), options, sizeof(options));
    memcpy(s.octets + sizeof(ip6) + 8, tcp, 24);
    assert_int_equal(give(f, &s), IW_DECODE_FRAGMENT);
    make(&s, 6, 7, 32, 13);
    s.octets[40] = 0; /* of the others it does not matter */
    assert_int_equal(give(f, &s), IW_DECODE_TCP);
    assert_int_equal(s.packet.destination_port, 9101);
    assert_int_equal(s.packet.length, 17);
    /* Shorter than a TCP header. */
    make(&s, 4, 7, 0, 16);
    assert_int_equal(give(f, &s), IW_DECODE_FRAGMENT);
    make(&s, 4, 7, 16, 3);
    s.octets[6] = 0;
    assert_int_equal(give(f, &s), IW_DECODE_BAD);
    iw_fragments_free(f);
}

static void bounded(void **state)
{
    (void)state;
    struct iw_fragments *f = start();
    struct sample s;
    for (unsigned id = 0; id <= IW_FRAGMENTS; id++) {
        make(&s, 4, (uint8_t)id, 0, 16);
        assert_int_equal(give(f, &s), IW_DECODE_FRAGMENT);
    }
    assert_int_equal(iw_fragments_incomplete(f), IW_FRAGMENTS + 1);
    /* The oldest, 0, had to go; the next is here. */
    make(&s, 4, 1, 16, WHOLE - 16);
    assert_int_equal(give(f, &s), IW_DECODE_TCP);
    make(&s, 4, 0, 16, WHOLE - 16);
    assert_int_equal(give(f, &s), IW_DECODE_FRAGMENT);
    /* A minute and a bit later the first half of 2 is none any more. */
    make(&s, 4, 2, 16, WHOLE - 16);
    s.frame.time = UINT64_C(61) * SECONDS + 1;
    assert_int_equal(give(f, &s), IW_DECODE_FRAGMENT);
    iw_fragments_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order), cmocka_unit_test(every_last_length),
        cmocka_unit_test(overlaps),    cmocka_unit_test(ends),
        cmocka_unit_test(lengths),     cmocka_unit_test(contents),
        cmocka_unit_test(bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
