/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "mpa_support.h"

static unsigned digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    assert_in_range(c, 'a', 'f');
    return (unsigned)(c - 'a') + 10u;
}

size_t mpa_hex(uint8_t *out, const char *hex)
{
    size_t n = 0;

    while (*hex) {
        if (*hex == ' ') {
            hex++;
            continue;
        }
        out[n++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
        hex += 2;
    }
    return n;
}

void mpa_assert_hex(const uint8_t *octets, size_t length, const char *hex)
{
    uint8_t *want = malloc(strlen(hex));

    assert_non_null(want);
    size_t n = mpa_hex(want, hex);
    assert_int_equal(length, n);
    assert_memory_equal(octets, want, n);
    free(want);
}

void mpa_pattern(uint8_t *out, size_t length)
{
    for (size_t i = 0; i < length; i++)
        out[i] = (uint8_t)i;
}

uint32_t mpa_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void plain(struct mpa_reference *r, uint8_t octet)
{
    r->octets[r->length++] = octet;
}

static void counted(struct mpa_reference *r, size_t header, uint8_t octet)
{
    if (r->markers && r->length % 512 == 0) {
        size_t back = header == SIZE_MAX ? 0 : r->length - header;
        plain(r, 0);
        plain(r, 0);
        plain(r, (uint8_t)(back >> 8 & 0xff));
        plain(r, (uint8_t)(back & 0xff));
    }
    plain(r, octet);
}

static uint32_t bitwise_crc(const uint8_t *octets, size_t length)
{
    uint32_t crc = 0xffffffffu;

    for (size_t i = 0; i < length; i++) {
        crc ^= octets[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1u ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    return ~crc;
}

void mpa_reference_frame(struct mpa_reference *r, const uint8_t *ulpdu, size_t length)
{
    size_t begin = r->length;
    size_t header;
    uint32_t crc = 0;

    r->octets = realloc(r->octets, r->length + length + 1024);
    assert_non_null(r->octets);
    counted(r, SIZE_MAX, (uint8_t)(length >> 8));
    header = r->length - 1;
    counted(r, header, (uint8_t)(length & 0xff));
    for (size_t i = 0; i < length; i++)
        counted(r, header, ulpdu[i]);
    for (size_t i = 2 + length; i % 4; i++)
        counted(r, header, 0);
    counted(r, header, 0); /* a Marker here goes before the CRC field */
    r->length--;
    if (r->crc)
        crc = bitwise_crc(r->octets + begin, r->length - begin);
    for (unsigned shift = 0; shift < 32; shift += 8)
        plain(r, (uint8_t)(crc >> shift & 0xff));
}

void mpa_reference_free(struct mpa_reference *r)
{
    free(r->octets);
    r->octets = NULL;
    r->length = 0;
}

static int on_fpdu(void *context, const struct iw_fpdu *fpdu)
{
    struct mpa_seen *seen = context;
    size_t sum = 0;

    assert_true(seen->fpdus < MPA_SEEN_MAX);
    seen->fpdu[seen->fpdus] = *fpdu;
    seen->at[seen->fpdus++] = seen->used;
    for (size_t i = 0; i < fpdu->pieces; i++) {
        assert_true(fpdu->ulpdu[i].length > 0);
        assert_true(fpdu->ulpdu[i].length <= MPA_SEEN_OCTETS - seen->used);
        memcpy(seen->octets + seen->used, fpdu->ulpdu[i].base, fpdu->ulpdu[i].length);
        seen->used += fpdu->ulpdu[i].length;
        sum += fpdu->ulpdu[i].length;
    }
    assert_int_equal(sum, fpdu->length);
    return seen->stop_after && seen->fpdus == seen->stop_after;
}

static int on_check(void *context, const struct iw_fault *fault)
{
    struct mpa_seen *seen = context;

    assert_true(seen->faults < MPA_SEEN_MAX);
    seen->fault[seen->faults++] = *fault;
    return seen->strict && fault->check != seen->tolerated;
}

void mpa_seen_init(struct mpa_seen *seen)
{
    seen->sink = (struct iw_deframer_sink){.context = seen, .fpdu = on_fpdu, .check = on_check};
    seen->fpdus = 0;
    seen->faults = 0;
    seen->used = 0;
    seen->stop_after = 0;
    seen->tolerated = IW_CHECK_NONE;
    seen->strict = false;
}

void mpa_rig_reset(struct mpa_rig *rig, bool markers, bool crc)
{
    mpa_seen_init(&rig->seen);
    iw_deframer_init(&rig->deframer, &rig->seen.sink, markers, crc, iw_crc32c_portable, 0,
                     rig->buffer, sizeof(rig->buffer));
}

struct mpa_rig *mpa_rig_new(bool markers, bool crc)
{
    struct mpa_rig *rig = malloc(sizeof(*rig));

    assert_non_null(rig);
    mpa_rig_reset(rig, markers, crc);
    return rig;
}

void mpa_rig_free(struct mpa_rig *rig)
{
    free(rig);
}

int mpa_rig_feed(struct mpa_rig *rig, uint64_t pos, const uint8_t *octets, size_t length)
{
    uint8_t *copy = malloc(length + 1);
    struct iw_iov piece = {.base = copy, .length = length};
    int result;

    assert_non_null(copy);
    memcpy(copy, octets, length);
    result = iw_deframer_input(&rig->deframer, pos, &piece, 1);
    free(copy);
    return result;
}

void mpa_assert_ulpdu(const struct mpa_rig *rig, size_t index, const uint8_t *octets, size_t length)
{
    assert_true(index < rig->seen.fpdus);
    assert_int_equal(rig->seen.fpdu[index].length, length);
    assert_memory_equal(rig->seen.octets + rig->seen.at[index], octets, length);
}

void mpa_assert_fault(const struct mpa_rig *rig, size_t index, enum iw_check check, uint64_t pos,
                      uint64_t got, uint64_t want)
{
    assert_true(index < rig->seen.faults);
    assert_int_equal(rig->seen.fault[index].check, check);
    assert_int_equal(rig->seen.fault[index].pos, pos);
    assert_int_equal(rig->seen.fault[index].got, got);
    assert_int_equal(rig->seen.fault[index].want, want);
}

void mpa_switch(struct iw_switches *switches, enum iw_switch kind, const char *spec)
{
    const char *error = NULL;

    if (iw_switches_set(switches, kind, spec, &error) < 0)
        fail_msg("%s: %s", spec, error);
}
