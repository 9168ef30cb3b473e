/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPA_SUPPORT_H
#define MPA_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/mpa.h"

/* Converts hexadecimal digits into octets, ignoring blanks. Returns their number. */
size_t mpa_hex(uint8_t *out, const char *hex);
void mpa_assert_hex(const uint8_t *octets, size_t length, const char *hex);

/* Octet i is i mod 256. */
void mpa_pattern(uint8_t *out, size_t length);

/* A small generator of known sequence, for tests with a seed. */
uint32_t mpa_random(uint32_t *state);

/*
 * A second framer that shares nothing with mpa/: it writes octet by octet, looks for a Marker's
 * place before each octet, and computes the CRC bit by bit.
 */
struct mpa_reference {
    uint8_t *octets; /* malloc'ed by mpa_reference_frame, freed with mpa_reference_free */
    size_t length;
    bool markers;
    bool crc;
};
void mpa_reference_frame(struct mpa_reference *r, const uint8_t *ulpdu, size_t length);
void mpa_reference_free(struct mpa_reference *r);

/* The FPDUs that a deframer handed out, in order. */
enum { MPA_SEEN_MAX = 64, MPA_SEEN_OCTETS = 1 << 18 };
struct mpa_seen {
    struct iw_deframer_sink sink;
    struct iw_fpdu fpdu[MPA_SEEN_MAX];
    size_t at[MPA_SEEN_MAX]; /* the ULPDU's place in octets */
    size_t fpdus;
    struct iw_fault fault[MPA_SEEN_MAX];
    size_t faults;
    size_t used;
    size_t stop_after;       /* FPDUs; 0: never */
    enum iw_check tolerated; /* the one check that is tolerated; IW_CHECK_NONE: all are */
    bool strict;             /* stop at every check that is not the tolerated one */
    uint8_t octets[MPA_SEEN_OCTETS];
};
void mpa_seen_init(struct mpa_seen *seen);

/* A deframer with its buffer and its output. */
struct mpa_rig {
    struct iw_deframer deframer;
    struct mpa_seen seen;
    _Alignas(max_align_t) uint8_t buffer[IW_DEFRAMER_BUFFER];
};
struct mpa_rig *mpa_rig_new(bool markers, bool crc);
void mpa_rig_free(struct mpa_rig *rig);
/* Forgets everything; the deframer starts anew. */
void mpa_rig_reset(struct mpa_rig *rig, bool markers, bool crc);
/* One contiguous piece of input, in memory of its own so that a stray read is seen by ASan. */
int mpa_rig_feed(struct mpa_rig *rig, uint64_t pos, const uint8_t *octets, size_t length);
void mpa_assert_ulpdu(const struct mpa_rig *rig, size_t index, const uint8_t *octets,
                      size_t length);
void mpa_assert_fault(const struct mpa_rig *rig, size_t index, enum iw_check check, uint64_t pos,
                      uint64_t got, uint64_t want);

/* Sets one switch by its name and fails the test if it does not exist. */
void mpa_switch(struct iw_switches *switches, enum iw_switch kind, const char *spec);

#endif
