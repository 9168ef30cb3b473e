/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_FRAME_H
#define IW_RUNNER_FRAME_H

/*
 * The station's own FPDU builder. It is not mpa/'s framer: everything that it writes can be bent,
 * and what is left alone comes out right (RFC 5044 §4).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum iw_frame_crc {
    IW_FRAME_CRC_RIGHT, /* CRC32c, also when CRCs are off */
    IW_FRAME_CRC_WRONG, /* the complement of the right one */
    IW_FRAME_CRC_VALUE,
    IW_FRAME_CRC_ABSENT /* the FPDU ends behind its pad */
};

enum iw_frame_markers { IW_FRAME_MARKERS_AGREED, IW_FRAME_MARKERS_OFF, IW_FRAME_MARKERS_ON };

/* How one FPDU departs from a right one. Start from IW_FRAME_STRAIGHT. */
struct iw_frame_bend {
    int32_t length;     /* ULPDU_Length, 0..65535; -1: the true one */
    const uint8_t *pad; /* pad_length octets; NULL: as many zeros as are needed */
    size_t pad_length;
    enum iw_frame_crc crc;
    uint32_t crc_value;
    enum iw_frame_markers markers;
    uint16_t marker_shift;    /* Markers stand where position mod 512 is this (0 is right) */
    int32_t marker_which;     /* the Marker of this FPDU that is bent, from 0; -1: all of them */
    int32_t marker_pointer;   /* FPDUPTR, 0..65535; -1: the true one */
    int32_t marker_add;       /* added to FPDUPTR */
    uint16_t marker_reserved; /* right is 0 */
};

#define IW_FRAME_STRAIGHT                                                                          \
    (struct iw_frame_bend)                                                                         \
    {                                                                                              \
        .length = -1, .marker_which = -1, .marker_pointer = -1                                     \
    }

/* Returns the octets that are always enough for the FPDU of a ULPDU of this length with `pad` pad
 * octets. */
size_t iw_frame_room(size_t ulpdu, size_t pad);

/* Returns whether no correct receiver takes an FPDU that is bent so: in its length or Markers, or
 * in its CRC if CRCs are in force. The low two bits of FPDUPTR do not count (RFC 5044 §4.2). */
bool iw_frame_broken(const struct iw_frame_bend *bend, bool crc);
/* Returns whether the next FPDU begins elsewhere than a receiver of this one will look for it. */
bool iw_frame_misleads(const struct iw_frame_bend *bend);

/* Writes the FPDU of one ULPDU. `position` is that of its first octet in full operation, counted
 * from behind the start-up frame of this direction (RFC 5044 §4.3); `markers` whether the peer
 * asked for Markers. `bend` may be NULL. Returns the octets written, 0 if `room` is too small. */
size_t iw_frame_build(uint64_t position, bool markers, const void *ulpdu, size_t length,
                      const struct iw_frame_bend *bend, uint8_t *out, size_t room);

#endif
