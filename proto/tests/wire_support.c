/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "wire_support.h"

uint8_t *wire_copy(const uint8_t *octets, size_t length)
{
    uint8_t *block = malloc(length + 1);
    assert_non_null(block);
    memcpy(block + 1, octets, length);
    return block + 1;
}

void wire_free(uint8_t *octets)
{
    free(octets - 1);
}

uint8_t *wire_hex(const char *hex, size_t *length)
{
    static const char alphabet[] = "0123456789abcdef";
    uint8_t octets[1024];
    size_t digits = 0;
    for (; *hex != '\0'; hex++) {
        if (*hex == ' ')
            continue;
        const char *found = strchr(alphabet, *hex);
        assert_non_null(found);
        assert_true(digits / 2 < sizeof(octets));
        unsigned value = (unsigned)(found - alphabet);
        unsigned before = digits % 2 == 0 ? 0 : octets[digits / 2];
        octets[digits / 2] = (uint8_t)(before << 4 | value);
        digits++;
    }
    assert_int_equal(digits % 2, 0);
    *length = digits / 2;
    return wire_copy(octets, *length);
}

void wire_assert_hex(const uint8_t *octets, size_t length, const char *hex)
{
    size_t want_length;
    uint8_t *want = wire_hex(hex, &want_length);
    assert_int_equal(length, want_length);
    assert_memory_equal(octets, want, length);
    wire_free(want);
}

void wire_assert_ddp(const struct iw_ddp_header *got, const struct iw_ddp_header *want)
{
    assert_int_equal(got->ddp_control, want->ddp_control);
    assert_int_equal(got->rdmap_control, want->rdmap_control);
    assert_int_equal(got->stag, want->stag);
    assert_int_equal(got->to, want->to);
    assert_int_equal(got->invalidate_stag, want->invalidate_stag);
    assert_int_equal(got->qn, want->qn);
    assert_int_equal(got->msn, want->msn);
    assert_int_equal(got->mo, want->mo);
}

void wire_assert_read_request(const struct iw_rdmap_read_request *got,
                              const struct iw_rdmap_read_request *want)
{
    assert_int_equal(got->sink_stag, want->sink_stag);
    assert_int_equal(got->sink_to, want->sink_to);
    assert_int_equal(got->size, want->size);
    assert_int_equal(got->source_stag, want->source_stag);
    assert_int_equal(got->source_to, want->source_to);
}
