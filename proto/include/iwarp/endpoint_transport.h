/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_ENDPOINT_TRANSPORT_H
#define IWARP_ENDPOINT_TRANSPORT_H

/*
 * endpoint/, for transports: octets from the peer go in, octets for the peer come out. The caller
 * owns the TCP connection and the clock. The rules of iwarp/endpoint.h about threads and `now` hold
 * here, too.
 */

#include "iwarp/endpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins the start-up: its time-out runs from this call instead of from creation. For a transport
 * whose application has used TCP itself until now (streaming mode, RFC 5044 §7.1.2). The octets
 * given to the endpoint start after the last streamed one. Does nothing once octets of MPA have
 * passed. */
void iw_endpoint_begin(struct iw_endpoint *ep, uint64_t now);

/* Returns how many octets the peer's start-up frame still lacks, as far as is known: those of its
 * first 20 octets, then those of its private data. Returns 0 if no such frame is awaited. A
 * transport that receives no more than this has not touched what follows the frame. */
size_t iw_endpoint_startup_left(const struct iw_endpoint *ep);
/* Returns true once a Reply with R=1 was prepared or has come: MPA is left, and the TCP connection
 * is the ULP's (RFC 5044 §7.1.2). A transport that leaves it open sends no FIN for it. */
bool iw_endpoint_rejected(const struct iw_endpoint *ep);

/* Takes octets from the peer in order of arrival and consumes all of them. After a fault or the end
 * of the connection they are dropped; after a FIN they abort the connection (RFC 5041 §6.2.1).
 * Pieces are borrowed for the call. */
void iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces,
                       uint64_t now);
/* Reports the peer's FIN (graceful) or the loss of the connection (RST, time-out). */
void iw_endpoint_input_end(struct iw_endpoint *ep, bool graceful, uint64_t now);

/* Finds the place for the payload that comes next from the peer (with in_place). Returns how many
 * octets at most may be received directly at *at, or 0 if the next octets must go through
 * iw_endpoint_input. *at is valid until any other call on the endpoint or its domain. */
size_t iw_endpoint_landing(struct iw_endpoint *ep, void **at);
/* Reports that `octets` (1 to the number that iw_endpoint_landing returned) have been received at
 * the landing. The octets after them are input again, or have another landing. */
void iw_endpoint_landed(struct iw_endpoint *ep, size_t octets, uint64_t now);

/* Octets of the MPA and DDP headers before the payload of a Send. */
enum { IW_ENDPOINT_GUESS_HEAD = 20 };
/* Guesses where the payload of the peer's next FPDU belongs, assuming that it is a Send like those
 * before it (with receive_ahead). Returns how many octets of payload to expect, or 0 for no guess.
 * The caller may then receive the next IW_ENDPOINT_GUESS_HEAD octets elsewhere and the octets after
 * them at *at, which is valid as in iw_endpoint_landing. */
size_t iw_endpoint_guess(struct iw_endpoint *ep, void **at);
/* Commits a guess: `head` holds the first IW_ENDPOINT_GUESS_HEAD octets, and `octets` (at least
 * one) have been received at the place that iw_endpoint_guess returned, with no other call in
 * between. Returns how many of them the endpoint kept, together with `head`; the caller passes the
 * rest to iw_endpoint_input. Returns 0 if the guess was wrong: `head` and all octets are then
 * input, and there is no new guess before the next Send has come. Move the octets away before
 * passing them on, because input may have to write to the place where they lie. */
size_t iw_endpoint_guessed(struct iw_endpoint *ep, const void *head, size_t octets, uint64_t now);

/* Takes TCP payload in any order, repeated or overlapping, from a caller that implements TCP
 * itself. `pos` is the position of its first octet, counted from the first octet that the peer
 * sends to this endpoint (its start-up frame included). If an octet comes twice, the first copy
 * counts. iw_endpoint_input may be mixed with it: its octets follow the last ones without a gap.
 * Octets after a gap are held in the endpoint's receive buffer; no message is delivered and no
 * fault is found before the gap is closed. With early_placement, the payload of whole FPDUs after
 * the gap is placed at once: tagged Writes, Read Responses within the sink of an outstanding read,
 * Sends for which a receive is posted. Nothing is placed early that any check would refuse, nor
 * before the first FPDU (and RTR) has come in order, nor while any switch is set. Every order of
 * arrival leaves the same memory and the same completions as arrival in order (RFC 5041 §5.3,
 * §5.4), as long as nobody else writes to that memory.
 * Returns IW_OK; IW_ERR_ARGUMENT if pos and length wrap; or IW_ERR_FULL if octets after a gap
 * cannot be held now, possibly not even part of them: they are more than about 80 KiB ahead, make
 * more than IW_STREAM_RANGES islands, come before the start-up is over, or the pool has no buffer
 * left. Offer the same octets again later, as TCP retransmits octets that are not acknowledged.
 * Octets without a gap before them are always taken. */
int iw_endpoint_input_at(struct iw_endpoint *ep, uint64_t pos, const struct iw_iov *data,
                         size_t pieces, uint64_t now);
/* Reports that the peer's FIN stands at `pos`, counted in the same way. It takes effect like
 * iw_endpoint_input_end once all octets before it have come (at once if the connection is over and
 * drops them). Octets at or after it abort the connection. A repeat does nothing. */
void iw_endpoint_input_end_at(struct iw_endpoint *ep, uint64_t pos, uint64_t now);

/* Lists the octets to send now: *out is a list of pieces, valid until the next call on this
 * endpoint. Returns the number of pieces. Report progress, in octets, with iw_endpoint_sent; ask
 * again until it returns 0.
 * FPDU alignment (RFC 5044 §5.1): if one list is cut every EMSS octets from its beginning, an FPDU
 * begins at each cut, as long as MULPDU comes from the EMSS and the EMSS is 140 octets or more. A
 * transport that begins a TCP segment with each list keeps this alignment on the wire. */
size_t iw_endpoint_output(struct iw_endpoint *ep, const struct iw_iov **out, uint64_t now);

enum { IW_ENDPOINT_LISTS = 2 };
/* Does the same for a transport that sends several lists with one call: at most `room` of them, the
 * first at *out and each other one directly after the one before it; pieces[i] is the number of
 * pieces of list i. Each list should begin a TCP segment. Returns the number of lists, at most
 * IW_ENDPOINT_LISTS. iw_endpoint_sent counts the octets of all lists; the first list that was not
 * sent completely is the last one sent. */
size_t iw_endpoint_output_lists(struct iw_endpoint *ep, const struct iw_iov **out, size_t *pieces,
                                size_t room, uint64_t now);
/* Reports that the first `octets` of what was listed were sent. Completes work that they end. */
void iw_endpoint_sent(struct iw_endpoint *ep, size_t octets, uint64_t now);
/* Returns true if no FPDU is waiting to be sent, so the caller may skip refreshing the EMSS
 * (below). */
bool iw_endpoint_idle(struct iw_endpoint *ep);

/* Returns true if iw_endpoint_output would list nothing and change nothing now, so that the caller
 * may leave it out, and with it the look at its clock. */
bool iw_endpoint_quiet(struct iw_endpoint *ep);

enum iw_want {
    IW_WANT_NOTHING,
    IW_WANT_FIN,   /* once output is empty: close the sending half */
    IW_WANT_RESET, /* drop the connection now (RST where possible) */
    IW_WANT_CLOSE  /* both halves are done: release the socket */
};
/* Returns what the transport must do with the TCP connection once iw_endpoint_output returns 0.
 * After sending a FIN, report it with iw_endpoint_fin_sent. */
enum iw_want iw_endpoint_want(const struct iw_endpoint *ep);
/* Reports that the sending half was closed as IW_WANT_FIN asks. The peer then has linger_timeout to
 * close its own (RFC 5041 §6.2.1), else the connection is reset. */
void iw_endpoint_fin_sent(struct iw_endpoint *ep, uint64_t now);

/* Returns the next time at which iw_endpoint_tick must be called, in ns; UINT64_MAX if none. */
uint64_t iw_endpoint_deadline(const struct iw_endpoint *ep);
/* Does what is due at `now`: ends a start-up that takes too long (RFC 5044 §7.1.2) and resets a
 * connection that the peer does not close; sending that had to wait goes on with the next
 * iw_endpoint_output. Does nothing before the deadline. */
void iw_endpoint_tick(struct iw_endpoint *ep, uint64_t now);

/* Sets the effective maximum segment size: the most TCP payload that one segment takes with its TCP
 * options (OP-18). FPDUs not yet framed obey it (RFC 5044 §4.5); MULPDU stays within 128 and 64768.
 */
void iw_endpoint_set_emss(struct iw_endpoint *ep, uint32_t emss);

#ifdef __cplusplus
}
#endif

#endif
