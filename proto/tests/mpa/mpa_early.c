/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpa_early.h"

struct mpa_early early;

static bool on_early(void *context, const struct iw_fpdu *fpdu)
{
    (void)context;
    assert_true(early.count < 256);
    assert_false(fpdu->placed_early);
    assert_true(fpdu->crc_good && fpdu->crc_checked);
    early.fpdu[early.count] = *fpdu;
    early.at[early.count] = early.used;
    for (size_t i = 0; i < fpdu->pieces; i++) {
        memcpy(early.octets + early.used, fpdu->ulpdu[i].base, fpdu->ulpdu[i].length);
        early.used += fpdu->ulpdu[i].length;
    }
    assert_int_equal(early.used - early.at[early.count], fpdu->length);
    return early.answers >> (early.count++ % 32) & 1;
}

static uint32_t counting_crc(uint32_t state, const void *data, size_t length)
{
    early.crc_octets += length;
    return iw_crc32c_portable(state, data, length);
}

void early_begin(struct mpa_rig *rig, bool markers, bool crc)
{
    mpa_rig_reset(rig, markers, crc);
    rig->seen.sink.early = on_early;
    rig->deframer.crc32c = counting_crc;
    memset(&early, 0, sizeof(early));
    early.answers = ~0u;
}

int early_feed(struct mpa_rig *rig, const struct mpa_reference *r, size_t from, size_t to)
{
    return mpa_rig_feed(rig, from, r->octets + from, to - from);
}

void early_assert(const struct mpa_rig *rig, size_t which, size_t index, uint64_t pos)
{
    assert_true(which < early.count);
    assert_int_equal(early.fpdu[which].pos, pos);
    mpa_assert_ulpdu(rig, index, early.octets + early.at[which], early.fpdu[which].length);
    assert_int_equal(rig->seen.fpdu[index].pos, pos);
    assert_int_equal(rig->seen.fpdu[index].size, early.fpdu[which].size);
    assert_int_equal(rig->seen.fpdu[index].header_pos, early.fpdu[which].header_pos);
    assert_int_equal(rig->seen.fpdu[index].markers, early.fpdu[which].markers);
    assert_int_equal(rig->seen.fpdu[index].crc, early.fpdu[which].crc);
}

void early_add(struct mpa_reference *r, size_t length)
{
    static uint8_t pattern[65536];

    for (size_t i = 0; i < sizeof(pattern); i++)
        pattern[i] = (uint8_t)(i * 7 + length);
    mpa_reference_frame(r, pattern, length);
}
