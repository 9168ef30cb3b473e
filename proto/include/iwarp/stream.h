/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_STREAM_H
#define IWARP_STREAM_H

/*
 * stream/: sequence space. Takes octets of one direction of a TCP stream at 64-bit stream positions
 * in any order, with gaps, repeats and overlaps; gives them back in order, or island by island.
 * Does no I/O and allocates nothing: the buffer is the caller's.
 *
 * Positions are counted modulo 2^64: "before" and "after" mean less than 2^63 away.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most islands after a gap that can be held. Octets at `next` always have a place in addition.
 */
enum { IW_STREAM_RANGES = 64 };

struct iw_stream_range {
    uint64_t pos;
    size_t length;
};

/* Allocated by the caller, filled by iw_stream_init. Only `conflicts` and `conflict_pos` are
 * meant to be read directly. */
struct iw_stream {
    uint8_t *buffer;
    size_t capacity;
    size_t head;   /* buffer[head] holds the octet at `next` */
    uint64_t next; /* first position not yet consumed */
    size_t count;  /* ranges in use: ascending, never touching each other */
    struct iw_stream_range range[IW_STREAM_RANGES + 1];
    uint64_t conflicts;    /* overlaps that carried different octets from the copy held */
    uint64_t conflict_pos; /* where the first of them differed; valid if conflicts != 0 */
};

/* Prepares an empty stream whose next octet is at position `start`. `buffer` (`capacity` octets) is
 * borrowed for the life of the stream and can hold the octets of the window [next, next +
 * capacity). */
void iw_stream_init(struct iw_stream *s, void *buffer, size_t capacity, uint64_t start);

/* Copies in `length` octets at position `pos`. Octets before `next` are dropped as repeats. Where
 * octets are already held the first copy stays; a differing one counts in s->conflicts.
 * Returns how many octets at the tail were refused, 0 if all were taken. Refused are octets after
 * the window, or all of them if they would make one island more than IW_STREAM_RANGES; put them
 * again later. In-order octets cost constant time per octet while less than half the capacity is
 * held; beyond that a put may move everything that is held. */
size_t iw_stream_put(struct iw_stream *s, uint64_t pos, const void *data, size_t length);

/* Sets *data to the octets held contiguously from `next` on (borrowed until the next put, consume
 * or skip). Returns their number, 0 if the octet at `next` is missing. */
size_t iw_stream_peek(const struct iw_stream *s, const uint8_t **data);

/* Drops `n` octets from the front, at most as many as iw_stream_peek returned. */
void iw_stream_consume(struct iw_stream *s, size_t n);

/* Returns the position of the first octet not yet consumed. */
uint64_t iw_stream_next(const struct iw_stream *s);

/* Returns true if octets are held after a gap. */
bool iw_stream_gap(const struct iw_stream *s);

/* Returns the number of islands held, in ascending order; the octets at `next`, if any, are island
 * 0. */
size_t iw_stream_islands(const struct iw_stream *s);

/* Stores the first position and the octets of island `k`, counted from 0 (borrowed as with
 * iw_stream_peek). Returns its length, 0 if there is no such island. */
size_t iw_stream_island(const struct iw_stream *s, size_t k, uint64_t *pos, const uint8_t **data);

/* Gives up everything before position `to`: held octets before it are dropped and `next` becomes
 * `to`. A position that is not after `next` changes nothing. */
void iw_stream_skip(struct iw_stream *s, uint64_t to);

/* Returns the position nearest to `reference` whose low 32 bits are `seq` (serial arithmetic as for
 * TCP sequence numbers, RFC 9293 §3.4); the earlier one if two are 2^31 away. */
uint64_t iw_stream_unwrap(uint64_t reference, uint32_t seq);

#ifdef __cplusplus
}
#endif

#endif
