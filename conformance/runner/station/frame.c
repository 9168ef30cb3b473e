/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame.h"

#include "iwarp/crc32c.h"
#include "iwarp/wire.h"

struct builder {
    const struct iw_frame_bend *bend;
    uint8_t *out;
    uint64_t position;
    size_t written;
    size_t header; /* offset of ULPDU_Length in `out`, once it is there */
    bool started;
    bool markers;
    int32_t count; /* Markers written */
};

size_t iw_frame_room(size_t ulpdu, size_t pad)
{
    size_t content = 2 + ulpdu + (pad > 3 ? pad : 3) + 4;

    return content + 4 * (content / (IW_MPA_MARKER_PERIOD - IW_MPA_MARKER) + 2);
}

bool iw_frame_broken(const struct iw_frame_bend *bend, bool crc)
{
    return bend->length >= 0 || bend->crc == IW_FRAME_CRC_ABSENT ||
           (crc && bend->crc != IW_FRAME_CRC_RIGHT) || bend->markers != IW_FRAME_MARKERS_AGREED ||
           bend->marker_shift || bend->marker_pointer >= 0 || bend->marker_add < 0 ||
           bend->marker_add > 3;
}

bool iw_frame_misleads(const struct iw_frame_bend *bend)
{
    return bend->length >= 0 || bend->markers != IW_FRAME_MARKERS_AGREED || bend->marker_shift != 0;
}

static void marker(struct builder *b)
{
    const struct iw_frame_bend *bend = b->bend;
    struct iw_mpa_marker m = {0};
    size_t distance = b->started ? b->written - b->header : 0;

    m.fpduptr = (uint16_t)distance;
    if (bend->marker_which < 0 || bend->marker_which == b->count) {
        if (bend->marker_pointer >= 0)
            m.fpduptr = (uint16_t)bend->marker_pointer;
        m.fpduptr = (uint16_t)((int32_t)m.fpduptr + bend->marker_add);
        m.reserved = bend->marker_reserved;
    }
    iw_wire_put_marker(b->out + b->written, IW_MPA_MARKER, &m);
    b->written += IW_MPA_MARKER;
    b->count++;
}

static void due(struct builder *b)
{
    if (b->markers && (b->position + b->written) % IW_MPA_MARKER_PERIOD == b->bend->marker_shift)
        marker(b);
}

static void put(struct builder *b, const uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        due(b);
        if (!b->started) {
            b->header = b->written;
            b->started = true;
        }
        b->out[b->written++] = octets[i];
    }
}

size_t iw_frame_build(uint64_t position, bool markers, const void *ulpdu, size_t length,
                      const struct iw_frame_bend *bend, uint8_t *out, size_t room)
{
    static const uint8_t zeros[3];
    struct iw_frame_bend straight = IW_FRAME_STRAIGHT;
    struct builder b = {.bend = bend != NULL ? bend : &straight, .out = out, .position = position};
    const uint8_t *pad = b.bend->pad != NULL ? b.bend->pad : zeros;
    size_t pad_length = b.bend->pad != NULL ? b.bend->pad_length : iw_wire_pad((uint32_t)length);
    size_t field = b.bend->length >= 0 ? (size_t)b.bend->length : length;
    uint8_t head[2] = {(uint8_t)(field >> 8), (uint8_t)field};
    if (room < iw_frame_room(length, pad_length))
        return 0;
    b.markers = b.bend->markers == IW_FRAME_MARKERS_AGREED ? markers
                                                           : b.bend->markers == IW_FRAME_MARKERS_ON;
    put(&b, head, sizeof(head));
    put(&b, ulpdu, length);
    put(&b, pad, pad_length);
    if (b.bend->crc == IW_FRAME_CRC_ABSENT)
        return b.written;
    /* A Marker between pad and CRC is covered by the CRC (RFC 5044 §4.3). */
    due(&b);
    uint32_t value = iw_crc32c_finish(iw_crc32c_portable(IW_CRC32C_INIT, out, b.written));
    if (b.bend->crc == IW_FRAME_CRC_WRONG)
        value = ~value;
    if (b.bend->crc == IW_FRAME_CRC_VALUE)
        value = b.bend->crc_value;
    uint8_t crc[4];
    iw_crc32c_put(crc, value);
    b.out[b.written++] = crc[0];
    put(&b, crc + 1, sizeof(crc) - 1);
    return b.written;
}
