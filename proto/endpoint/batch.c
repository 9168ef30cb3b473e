/* SPDX-License-Identifier: BSD-3-Clause */
#include "batch.h"

void iw_ep_tx_release(struct iw_endpoint *ep)
{
    ep->tx_first = ep->tx_pieces = 0;
    if (ep->tx_buffer != NULL)
        iw_domain_return(ep->domain, ep->tx_buffer);
    ep->tx_buffer = NULL;
}

static bool ends_fpdu(const struct iw_endpoint *ep, size_t piece)
{
    return (ep->tx_ends[piece / 8] >> piece % 8 & 1) != 0;
}

void iw_ep_tx_cut(struct iw_endpoint *ep)
{
    const struct iw_iov *pieces = ep->tx_buffer;
    size_t end = ep->tx_first;
    if (iw_ep_tx_idle(ep))
        return;
    if (ep->tx_inside)
        while (!ends_fpdu(ep, end++))
            ;
    ep->tx_pieces = end;
    ep->framer.pos = ep->tx_sent;
    for (size_t i = ep->tx_first; i < end; i++)
        ep->framer.pos += pieces[i].length;
}

/* Never with Markers: the length field lies directly before the header. */
static bool plain(const struct iw_endpoint *ep)
{
    return !ep->framer.markers && !iw_switch_any(ep->config.switches);
}

uint32_t iw_ep_batch_header(const struct iw_endpoint *ep, bool tagged)
{
    /* --violate rdmap-opcode-tagged gives tagged segments the longer header. */
    bool shorter = tagged && !iw_switch_violated(ep->config.switches, IW_CHECK_RDMAP_OPCODE_TAGGED);
    return shorter ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER;
}

/* Returns the most payload that a segment may carry now. */
static uint32_t payload_limit(const struct iw_endpoint *ep, bool tagged)
{
    bool longest = iw_switch_violated(ep->config.switches, IW_CHECK_MPA_ULPDU_MAX);
    return (longest ? UINT16_MAX : ep->mulpdu) - iw_ep_batch_header(ep, tagged);
}

/* RFC 5044 §5.1: FPDUs share a TCP segment only if they lie entirely in it. One that would not fit
 * ends the list; the transport begins a new segment after it. */
static bool aligned(const struct batch *b, size_t ulpdu)
{
    const struct iw_endpoint *ep = b->ep;
    return ep->segment == 0 || b->fill == 0 ||
           iw_framer_size(&ep->framer, (uint32_t)ulpdu) <= ep->segment - b->fill;
}

/* RFC 5044 §4.5: FPDUs that are already packed in a segment may make MULPDU smaller, though not
 * below 128. A segment of a message that needs several segments anyway fills the rest of the TCP
 * segment, so that the batch goes on. With large TCP segments (loopback) any message does so if an
 * eighth of one is left, because a TCP segment costs so much more than an FPDU. */
uint32_t iw_ep_batch_limit(const struct batch *b, uint32_t left, bool tagged)
{
    const struct iw_endpoint *ep = b->ep;
    uint32_t most = payload_limit(ep, tagged);
    bool large = ep->segment >= IW_TX_LARGE;
    uint32_t room = ep->segment - (uint32_t)b->fill;
    if (ep->segment == 0 || b->fill == 0 || room < (large ? ep->segment / 8 : IW_SEGMENT_MIN) ||
        (left <= most && !large) || iw_switch_violated(ep->config.switches, IW_CHECK_MPA_ULPDU_MAX))
        return most;
    uint32_t packed = iw_wire_mulpdu(room, ep->framer.markers);
    return packed < ep->mulpdu ? packed - (ep->mulpdu - most) : most;
}

/* Returns whether a ULPDU may be the first of another list. With short TCP segments one list has
 * many. If the other list could not be filled, it is better begun in the next batch. The list
 * before it would wait for its CRCs, so it must not begin with a long ULPDU under a CRC. */
static bool listable(const struct batch *b, size_t ulpdu)
{
    const struct iw_endpoint *ep = b->ep;
    return b->lists > 0 && ep->segment >= ep->lists_min &&
           (size_t)(b->end - b->octets) >= b->lent + ep->segment &&
           (!ep->framer.crc || ulpdu <= IW_TX_SOON);
}

bool iw_ep_batch_room(const struct batch *b, size_t slices, size_t ulpdu, size_t copied)
{
    return b->size < IW_TX_BATCH && IW_TX_PIECES - b->count >= IW_FRAMER_PIECES(slices, ulpdu) &&
           (size_t)(b->end - b->octets) >= IW_TX_HEADER + b->lent + copied + IW_FRAMER_SCRATCH &&
           (aligned(b, ulpdu) || listable(b, ulpdu));
}

/* With Markers FPDUs are copied: one piece instead of two for every 512 octets. */
bool iw_ep_batch_copies(const struct iw_endpoint *ep)
{
    return ep->framer.markers && !iw_switch_any(ep->config.switches);
}

/* Short ones are always copied, as pieces cost more than their octets. */
static bool copies(const struct batch *b, size_t own, size_t ulpdu)
{
    const struct iw_endpoint *ep = b->ep;
    return (iw_ep_batch_copies(ep) ||
            (ulpdu <= IW_TX_SHORT && !iw_switch_any(ep->config.switches))) &&
           (size_t)(b->end - b->octets) >=
               own + b->lent + iw_framer_size(&ep->framer, (uint32_t)ulpdu);
}

/* Makes an FPDU around the `own` octets with which it begins, so that short ones lie one after
 * another and can be sent like one piece; with Markers after them. */
static int copy_fpdu(struct batch *b, const struct iw_iov *slices, size_t count, size_t own)
{
    struct iw_iov *next = &b->pieces[b->count];
    uint8_t *at = b->ep->framer.markers ? b->octets + own : b->octets - IW_MPA_LENGTH_FIELD;
    *next = (struct iw_iov){at, iw_framer_copy(&b->ep->framer, slices, count, at)};
    b->octets = at + next->length + IW_MPA_LENGTH_FIELD;
    return 1;
}

void iw_ep_batch_add(struct batch *b, struct iw_iov *slices, size_t count)
{
    struct iw_endpoint *ep = b->ep;
    size_t length = 0, own = slices[0].length;
    if (iw_switch_violated(ep->config.switches, IW_CHECK_DDP_HEADER_SHORT)) {
        count = 1;
        slices[0].length = IW_DDP_TAGGED_HEADER - 4;
    }
    for (size_t i = 0; i < count; i++)
        length += slices[i].length;
    size_t shown = slices[0].length < IW_TX_HEADER ? slices[0].length : IW_TX_HEADER;
    iw_ep_trace(ep, IW_TRACE_FPDU_OUT, b->octets, shown, (uint32_t)length,
                ep->startup.out_length + ep->framer.pos);
    uint64_t before = ep->framer.pos;
    int made;
    if (!aligned(b, length)) {
        ep->tx_cuts[ep->tx_lists++] = (uint16_t)b->count;
        b->fill = 0;
        b->lists--;
    }
    if (copies(b, own, length)) {
        made = copy_fpdu(b, slices, count, own);
    } else {
        uint8_t *scratch = plain(ep) ? b->octets - IW_MPA_LENGTH_FIELD : b->octets + own;
        made = iw_framer_frame(&ep->framer, slices, count, b->pieces + b->count,
                               IW_TX_PIECES - b->count, scratch);
        b->octets += own + (plain(ep) ? 16 : IW_FRAMER_SCRATCH);
    }
    if (made < 0)
        return; /* cannot happen: iw_ep_batch_room() was asked and no ULPDU exceeds MULPDU */
    b->count += (size_t)made;
    ep->tx_ends[(b->count - 1) / 8] |= (uint8_t)(1u << (b->count - 1) % 8);
    b->size += (size_t)(ep->framer.pos - before);
    if (ep->segment != 0)
        b->fill = (b->fill + (size_t)(ep->framer.pos - before)) % ep->segment;
}

struct batch iw_ep_batch_begin(struct iw_endpoint *ep, size_t lists)
{
    struct batch b = {.ep = ep, .pieces = ep->tx_buffer, .lists = lists - 1};
    b.octets = (uint8_t *)(b.pieces + IW_TX_PIECES) + IW_MPA_LENGTH_FIELD;
    b.end = (uint8_t *)ep->tx_buffer + IW_DOMAIN_BUFFER;
    memset(ep->tx_ends, 0, sizeof(ep->tx_ends));
    ep->tx_lists = 0;
    memset(ep->tx_lent, 0, sizeof(ep->tx_lent));
    return b;
}

void iw_ep_batch_end(const struct batch *b)
{
    struct iw_endpoint *ep = b->ep;
    ep->tx_spare = b->lent > 0 ? b->octets : NULL;
    ep->tx_first = 0;
    ep->tx_pieces = b->count;
    if (b->count == 0)
        iw_ep_tx_release(ep);
}

/* The transport sends the pieces that it did not take later, when their sources may be gone. */
static void keep_sources(struct iw_endpoint *ep)
{
    struct iw_iov *pieces = ep->tx_buffer;
    uint8_t *at = ep->tx_spare;
    for (size_t i = ep->tx_first; i < ep->tx_pieces; i++) {
        if ((ep->tx_lent[i / 8] >> i % 8 & 1) == 0)
            continue;
        memcpy(at, pieces[i].base, pieces[i].length);
        pieces[i].base = at;
        at += pieces[i].length;
    }
    ep->tx_spare = NULL;
}

void iw_endpoint_sent(struct iw_endpoint *ep, size_t octets, uint64_t now)
{
    ep->now = now;
    if (iw_ep_tx_idle(ep)) {
        iw_ep_startup_sent(ep, octets);
        iw_ep_settle(ep);
        return;
    }
    struct iw_iov *pieces = ep->tx_buffer;
    while (octets > 0 && ep->tx_first < ep->tx_pieces) {
        struct iw_iov *piece = &pieces[ep->tx_first];
        size_t step = octets < piece->length ? octets : piece->length;
        piece->base = (uint8_t *)piece->base + step;
        piece->length -= step;
        octets -= step;
        ep->tx_sent += step;
        ep->tx_inside = piece->length > 0 || !ends_fpdu(ep, ep->tx_first);
        if (piece->length == 0)
            ep->tx_first++;
    }
    if (ep->tx_spare != NULL)
        keep_sources(ep);
    while (ep->reads_in_head != ep->reads_in_next &&
           ep->reads_in[ep->reads_in_head % ep->reads_in_room].end <= ep->tx_sent)
        ep->reads_in_head++;
    if (ep->phase != IW_PHASE_DONE)
        iw_ep_complete_sends(ep);
    iw_ep_settle(ep);
}
