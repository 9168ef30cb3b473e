/* SPDX-License-Identifier: BSD-3-Clause */
/* The resolver's datagrams: literal octets, and everything that is none. */
#include "messages/resolver_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t question[IW_RESOLVER_PLAIN] = {
    0x69, 0x57, 0x72, 0x73, 1,    1,    0,    0,    0x00, 0x01, 0xe2, 0x40, 0,    0,
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0x10, 0x11, 0x12, 0x13,
    0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f};

static const uint8_t answer[IW_RESOLVER_PLAIN] = {
    0x69, 0x57, 0x72, 0x73, 1,    2,    0,    4,    0x00, 0x01, 0xe2, 0x40, 0x1f, 0x90, 0,
    0,    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15,
    0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 192,  0,    2,    7};

static const uint8_t relayed[IW_RESOLVER_PLAIN] = {
    0x69, 0x57, 0x72, 0x73, 1,    3,    2,    6,    0x00, 0x01, 0xe2, 0x40, 0xd9, 0x03,
    0,    0,    0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88, 0x10, 0x11, 0x12, 0x13,
    0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 0x01,
    0x0d, 0xb8, 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    1};

/* HMAC-SHA-256 of the question, computed by Python's hmac. */
static const char secret[] = "sixteen octets!!";
static const uint8_t question_mac[IW_RESOLVER_MAC] = {
    0x38, 0x33, 0xae, 0x91, 0xc4, 0xa0, 0x73, 0x05, 0xd0, 0xb9, 0xac, 0x72, 0x40, 0x42, 0xca, 0x9c,
    0x0a, 0x36, 0xe8, 0xef, 0x25, 0x49, 0x94, 0x25, 0x06, 0xa8, 0xaa, 0x87, 0x9d, 0x7a, 0x6c, 0x90};

static const uint8_t nonce[IW_RESOLVER_NONCE] = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
                                                 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f};
static const struct iw_resolver_key none;

static enum iw_resolver_verdict read_plain(const uint8_t *octets, size_t length)
{
    struct iw_resolver_datagram d;
    return iw_resolver_decode(octets, length, &d, &none);
}

/* Reads `base` with one octet replaced. */
static enum iw_resolver_verdict read_bent(const uint8_t *base, size_t at, uint8_t value)
{
    uint8_t octets[IW_RESOLVER_PLAIN];
    memcpy(octets, base, sizeof(octets));
    octets[at] = value;
    return read_plain(octets, sizeof(octets));
}

static void datagrams_are_read(void **state)
{
    struct iw_resolver_datagram d;
    (void)state;
    assert_int_equal(iw_resolver_decode(question, sizeof(question), &d, &none), IW_RESOLVER_GOOD);
    assert_int_equal(d.kind, IW_RESOLVER_QUESTION);
    assert_int_equal(d.number, 123456);
    assert_int_equal(d.instance, 0);
    assert_false(d.relayed);
    assert_memory_equal(d.nonce, nonce, sizeof(nonce));
    assert_int_equal(d.place.family, 0);

    assert_int_equal(iw_resolver_decode(answer, sizeof(answer), &d, &none), IW_RESOLVER_GOOD);
    assert_int_equal(d.kind, IW_RESOLVER_ANSWER);
    assert_int_equal(d.instance, 0x0102030405060708);
    assert_int_equal(d.place.family, IW_RESOLVER_IPV4);
    assert_int_equal(d.place.port, 8080);
    assert_memory_equal(d.place.address, "\xc0\x00\x02\x07", 4);

    assert_int_equal(iw_resolver_decode(relayed, sizeof(relayed), &d, &none), IW_RESOLVER_GOOD);
    assert_int_equal(d.kind, IW_RESOLVER_CLAIM);
    assert_true(d.relayed);
    assert_true(d.instance == 0xffeeddccbbaa9988);
    assert_int_equal(d.place.family, IW_RESOLVER_IPV6);
    assert_int_equal(d.place.port, 0xd903);
}

static void datagrams_are_written(void **state)
{
    uint8_t out[IW_RESOLVER_DATAGRAM];
    struct iw_resolver_datagram d = {.kind = IW_RESOLVER_QUESTION, .number = 123456};
    (void)state;
    memcpy(d.nonce, nonce, sizeof(nonce));
    assert_int_equal(iw_resolver_encode(out, &d, &none), IW_RESOLVER_PLAIN);
    assert_memory_equal(out, question, sizeof(question));
    d.kind = IW_RESOLVER_ANSWER;
    d.instance = 0x0102030405060708;
    d.place = (struct iw_resolver_place){
        .family = IW_RESOLVER_IPV4, .port = 8080, .address = {192, 0, 2, 7}};
    assert_int_equal(iw_resolver_encode(out, &d, &none), IW_RESOLVER_PLAIN);
    assert_memory_equal(out, answer, sizeof(answer));
    d.kind = IW_RESOLVER_CLAIM;
    d.relayed = true;
    d.instance = 0xffeeddccbbaa9988;
    d.place = (struct iw_resolver_place){
        .family = IW_RESOLVER_IPV6, .port = 0xd903, .address = {0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
    assert_int_equal(iw_resolver_encode(out, &d, &none), IW_RESOLVER_PLAIN);
    assert_memory_equal(out, relayed, sizeof(relayed));
}

static void other_lengths_are_malformed(void **state)
{
    uint8_t octets[IW_RESOLVER_DATAGRAM + 8] = {0};
    (void)state;
    memcpy(octets, question, sizeof(question));
    for (size_t length = 0; length <= sizeof(octets); length++)
        assert_int_equal(read_plain(octets, length),
                         length == IW_RESOLVER_PLAIN ? IW_RESOLVER_GOOD : IW_RESOLVER_MALFORMED);
}

static void other_heads_are_malformed(void **state)
{
    (void)state;
    for (size_t at = 0; at < 4; at++)
        assert_int_equal(read_bent(question, at, 0), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 4, 0), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 4, 2), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 5, 0), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 5, 2), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 5, 4), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 6, 1), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 6, 2), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 6, 4), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 14, 1), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 15, 1), IW_RESOLVER_MALFORMED);
}

static void fields_belong_to_their_kind(void **state)
{
    uint8_t octets[IW_RESOLVER_PLAIN];
    (void)state;
    /* A question is from nobody and says nothing of a place; a claim is from somebody. */
    assert_int_equal(read_bent(question, 23, 1), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 7, 4), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 13, 1), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 55, 1), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(question, 5, 3), IW_RESOLVER_MALFORMED);
    /* An answer has a place of a known family and says nothing after an IPv4 address. */
    assert_int_equal(read_bent(answer, 7, 0), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(answer, 7, 5), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(answer, 44, 1), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(answer, 55, 1), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(answer, 40, 224), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(answer, 40, 255), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(answer, 6, 2), IW_RESOLVER_MALFORMED);
    assert_int_equal(read_bent(relayed, 40, 0xff), IW_RESOLVER_MALFORMED);
    memcpy(octets, answer, sizeof(octets));
    memset(octets + 12, 0, 2);
    assert_int_equal(read_plain(octets, sizeof(octets)), IW_RESOLVER_MALFORMED);
    memcpy(octets, answer, sizeof(octets));
    memset(octets + 40, 0, 4);
    assert_int_equal(read_plain(octets, sizeof(octets)), IW_RESOLVER_MALFORMED);
    memcpy(octets, answer, sizeof(octets));
    memset(octets + 16, 0, 8);
    assert_int_equal(read_plain(octets, sizeof(octets)), IW_RESOLVER_MALFORMED);
}

static void a_key_seals(void **state)
{
    struct iw_resolver_key key;
    struct iw_resolver_datagram d = {.kind = IW_RESOLVER_QUESTION, .number = 123456}, again;
    uint8_t out[IW_RESOLVER_DATAGRAM], sealed[IW_RESOLVER_PLAIN];
    (void)state;
    iw_resolver_key_set(&key, secret, strlen(secret));
    memcpy(d.nonce, nonce, sizeof(nonce));
    assert_int_equal(iw_resolver_encode(out, &d, &key), IW_RESOLVER_DATAGRAM);
    memcpy(sealed, question, sizeof(sealed));
    sealed[6] = 1;
    assert_memory_equal(out, sealed, sizeof(sealed));
    assert_memory_equal(out + sizeof(sealed), question_mac, sizeof(question_mac));
    assert_int_equal(iw_resolver_decode(out, sizeof(out), &again, &key), IW_RESOLVER_GOOD);
    assert_int_equal(again.number, 123456);
}

static void strangers_are_refused(void **state)
{
    struct iw_resolver_key key, other;
    struct iw_resolver_datagram d = {.kind = IW_RESOLVER_QUESTION, .number = 7}, again;
    uint8_t out[IW_RESOLVER_DATAGRAM];
    (void)state;
    iw_resolver_key_set(&key, secret, strlen(secret));
    iw_resolver_key_set(&other, secret, strlen(secret) - 1);
    size_t length = iw_resolver_encode(out, &d, &key);
    assert_int_equal(iw_resolver_decode(out, length, &again, &other), IW_RESOLVER_REFUSED);
    assert_int_equal(iw_resolver_decode(out, length, &again, &none), IW_RESOLVER_REFUSED);
    assert_int_equal(iw_resolver_decode(question, sizeof(question), &again, &key),
                     IW_RESOLVER_REFUSED);
    for (size_t bit = 0; bit < 8 * length; bit++) {
        out[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(iw_resolver_decode(out, length, &again, &key), IW_RESOLVER_GOOD);
        out[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(iw_resolver_decode(out, length, &again, &key), IW_RESOLVER_GOOD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(datagrams_are_read),          cmocka_unit_test(datagrams_are_written),
        cmocka_unit_test(other_lengths_are_malformed), cmocka_unit_test(other_heads_are_malformed),
        cmocka_unit_test(fields_belong_to_their_kind), cmocka_unit_test(a_key_seals),
        cmocka_unit_test(strangers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
