/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_WITNESS_H
#define IW_FUZZ_WITNESS_H

/*
 * An observer of the octets that one or two endpoints receive and send. It must never find a fault
 * in what a station sends. In what a station receives, it must find exactly the violations that the
 * endpoint finds (except for those that witness.c lists).
 */

#include "oracle_station.h"

struct iw_witness {
    struct iw_observer *observer;
    struct iw_station *station[2]; /* by side; NULL: that side is the input's */
    uint64_t pos[2];               /* octets of each side so far */
    uint64_t whole[2];             /* of these, those of whole start-up frames and FPDUs */
    bool diverged;                 /* an endpoint refused what the observer may have taken */
    bool irregular;                /* something was found, about whom it may be */
    bool guessed;       /* a request or response came, and part of an FPDU of the other side */
    bool forged[2];     /* what a station sent was changed on its way */
    bool framed[2];     /* its start-up frame was seen */
    bool ird_stated[2]; /* in that frame: not 0x3FFF, which leaves it to the ULP (RFC 6581 §9.1) */
    bool ended[2];
    bool found[2]; /* the first thing about a side that an endpoint ought to have found, too */
    struct iw_fault fault[2];
    uint64_t found_from[2], found_end[2]; /* the FPDU or frame that it is about */
    bool noticed[2]; /* something, legal to receive perhaps, in what the endpoint finds at fault */
    bool unfinished[2]; /* the segment that the endpoint finds at fault is not its message's last */
};

/* Call before each input, with the stations of this input. */
void iw_witness_open(struct iw_witness *w, struct iw_station *initiator,
                     struct iw_station *responder);
void iw_witness_close(struct iw_witness *w);

/* Feeds octets of a side, in order. */
void iw_witness_input(struct iw_witness *w, enum iw_side side, const uint8_t *octets,
                      size_t length);
void iw_witness_input_at(struct iw_witness *w, enum iw_side side, uint64_t pos,
                         const uint8_t *octets, size_t length);
void iw_witness_end(struct iw_witness *w, enum iw_side side, bool reset);

/* Fails if the endpoint that receives from `side` and the observer disagree. */
void iw_witness_agree(struct iw_witness *w, enum iw_side side);

#endif
