/* SPDX-License-Identifier: BSD-3-Clause */
/* The station's receiving half: sockets into the observer, the observer's findings into items. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host/clock.h"
#include "host/text.h"
#include "iwarp/octets.h"
#include "iwarp/transport.h"
#include "station_internal.h"

enum { STREAMED_MAX = 1 << 20 }; /* octets that a case leaves lying */

/* Nanoseconds in which the rest of an FPDU follows the octets before it, and round trips: those of
 * conn:expect_silence. */
#define SETTLED (UINT64_C(500) * 1000 * 1000)
#define SETTLED_TRIPS 20
/* The same for a start-up frame, which is seldom cut: a peer whose PD_Length is never right is not
 * waited for that long in each case. */
#define SETTLED_FRAME (UINT64_C(20) * 1000 * 1000)

enum { LATE_READS = 16, POLLED = 64 /* descriptors that are waited for at once */ };

void iw_item_free(struct iw_item *item)
{
    if (item == NULL)
        return;
    free(item->octets);
    free(item->segments);
    free(item);
}

static void enqueue(struct iw_conn *c, struct iw_item *item)
{
    char text[512];
    struct iw_exchange_line line = {
        .kind = item->kind == IW_ITEM_STARTUP   ? IW_LINE_STARTUP
                : item->kind == IW_ITEM_MESSAGE ? IW_LINE_FPDU
                : item->kind == IW_ITEM_LOST    ? IW_LINE_OCTETS
                                                : IW_LINE_END,
        .connection = c->state.number,
        .from_peer = true,
        .markers = iw_conn_peer_markers(&c->state),
        .start = c->peer_start,
        .position = item->position,
        .end = item->end,
    };
    iw_item_print(item, text, sizeof(text));
    iw_exchange_tell(c->station->exchange, &line, text, item->time);
    if (c->station->trace != NULL)
        fprintf(c->station->trace, "%d < %s\n", c->state.number, text);
    if (c->n_items >= IW_STATION_ITEMS) {
        c->station->flooded = true;
        iw_item_free(item);
        return;
    }
    *c->last_item = item;
    c->last_item = &item->next;
    c->n_items++;
}

struct iw_item *iw_item_new(enum iw_item_kind kind, uint64_t position, uint64_t end)
{
    struct iw_item *item = iw_got(malloc(sizeof(*item)));
    *item = (struct iw_item){
        .kind = kind, .position = position, .end = end, .time = iw_transport_now()};
    return item;
}

struct iw_item *iw_item_startup(const struct iw_observation *o)
{
    struct iw_item *item = iw_item_new(IW_ITEM_STARTUP, o->pos, o->end);
    item->octets = iw_got(malloc(o->frame_length));
    memcpy(item->octets, o->frame, o->frame_length);
    item->length = o->frame_length;
    item->quirks = o->quirks;
    if (iw_quirk_in(o->quirks, IW_QUIRK_PD_ORDER)) {
        (void)iw_put16(item->octets + IW_AT_MPA_PD_LENGTH, o->startup.pd_length);
        item->mended = true;
    }
    return item;
}

/* A message of which nothing more comes. */
static void enqueue_partial(struct iw_conn *c)
{
    if (c->partial != NULL)
        enqueue(c, c->partial);
    c->partial = NULL;
}

static void enqueue_end(struct iw_conn *c, enum iw_item_kind kind, uint64_t position)
{
    enqueue_partial(c);
    enqueue(c, iw_item_new(kind, position, position));
}

static void seen_startup(struct iw_conn *c, const struct iw_observation *o)
{
    iw_exchange_cut(c->station->exchange, c->state.number, true, o->end);
    c->state.got_startup = true;
    c->peer_start = o->end;
    c->state.peer = o->startup;
    c->state.peer_enhanced = o->enhanced;
    if (c->state.sent_startup && c->asked)
        c->state.rtt = iw_transport_now() - c->asked;
    enqueue(c, iw_item_startup(o));
}

/* Puts the header that is meant into the ULPDU at the item's end. */
static void mend_header(struct iw_item *item, const struct iw_observation *o)
{
    uint8_t octets[IW_DDP_UNTAGGED_HEADER], *at = item->octets + item->length;
    struct iw_ddp_header meant = o->ddp;

    if (!iw_ddp_tagged(&meant))
        meant.msn = o->meant_msn;
    int length = iw_wire_put_ddp(octets, sizeof(octets), &meant);
    if (length < 0 || memcmp(octets, at, (size_t)length) == 0)
        return;
    memcpy(at, octets, (size_t)length);
    item->mended = true;
}

void iw_item_append(struct iw_item *item, const struct iw_observation *o)
{
    item->segments =
        iw_got(realloc(item->segments, (item->n_segments + 1) * sizeof(*item->segments)));
    item->octets = iw_got(realloc(item->octets, item->length + o->ulpdu_captured + 1));
    memcpy(item->octets + item->length, o->ulpdu, o->ulpdu_captured);
    if (o->payload != NULL)
        mend_header(item, o);
    item->segments[item->n_segments++] = (struct iw_item_segment){
        .offset = item->length,
        .length = o->ulpdu_captured,
        .position = o->pos,
        .crc_good = o->fpdu != NULL && o->fpdu->crc_good,
    };
    item->length += o->ulpdu_captured;
    item->end = o->end;
    item->quirks |= o->quirks;
}

/* A Terminate, above all, may come after any segment of a message, which is cut off by it
 * (RFC 5040 §5.4). */
static bool of_another(const struct iw_item *item, const struct iw_ddp_header *h)
{
    struct iw_ddp_header first;
    if (iw_wire_get_ddp(item->octets, item->segments[0].length, &first) < 0)
        return true;
    if (iw_ddp_tagged(&first) != iw_ddp_tagged(h))
        return true;
    return iw_ddp_tagged(h) ? iw_rdmap_op(&first) != iw_rdmap_op(h) : first.qn != h->qn;
}

/* The peer has sent more than a case can take: nothing more of it is read. */
static void flood(struct iw_conn *c)
{
    c->station->flooded = true;
    c->state.ended = true;
}

/* A comment in the capture: something there is not read as it is. */
static void tell_quirk(struct iw_conn *c, uint64_t position, enum iw_quirk quirk)
{
    char text[160];
    snprintf(text, sizeof(text), "looked through: %s (%s)", iw_quirk_text(quirk),
             iw_quirk_name(quirk));
    iw_conn_comment_received(c, position, text);
}

static void seen_segment(struct iw_conn *c, const struct iw_observation *o)
{
    if (iw_quirk_in(o->quirks, IW_QUIRK_TERMINATE_REVERSED))
        tell_quirk(c, o->pos, IW_QUIRK_TERMINATE_REVERSED);
    iw_exchange_cut(c->station->exchange, c->state.number, true, o->end);
    if (c->partial != NULL && of_another(c->partial, &o->ddp))
        enqueue_partial(c);
    if (c->partial == NULL)
        c->partial = iw_item_new(IW_ITEM_MESSAGE, o->pos, o->end);
    iw_item_append(c->partial, o);
    if (c->partial->length > IW_STATION_MESSAGE || c->partial->n_segments > IW_STATION_SEGMENTS) {
        iw_item_free(c->partial);
        c->partial = NULL;
        flood(c);
    } else if (iw_ddp_last(&o->ddp)) {
        enqueue_partial(c);
    }
}

static void seen_finding(struct iw_conn *c, const struct iw_observation *o)
{
    struct iw_station *s = c->station;
    struct iw_station_finding *f = c->found[o->fault.check];
    enum iw_quirk quirk = iw_quirk_shown(o->quirks, o->fault.check);
    if (f != NULL) {
        f->count++;
        if (quirk == IW_QUIRK_COUNT) /* not all of it is looked through */
            f->quirk = quirk;
        if (o->cause == IW_CHECK_NONE)
            f->cause = IW_CHECK_NONE;
        return;
    }
    f = c->found[o->fault.check] = iw_got(malloc(sizeof(*f)));
    *f = (struct iw_station_finding){.fault = o->fault,
                                     .count = 1,
                                     .quirk = quirk,
                                     .cause = o->cause,
                                     .connection = c->state.number};
    if (f->quirk != IW_QUIRK_COUNT && f->quirk != IW_QUIRK_TERMINATE_REVERSED)
        tell_quirk(c, o->pos, f->quirk); /* of a Terminate its segment has told */
    if (s->trace != NULL)
        fprintf(s->trace, "%d < finding: %s: %s\n", c->state.number,
                iw_check_info(o->fault.check)->name, iw_check_info(o->fault.check)->text);
    *s->last_finding = f;
    s->last_finding = &f->next;
}

/* The observer counts from where MPA begins. */
void iw_conn_seen(void *context, const struct iw_observation *seen)
{
    struct iw_conn *c = context;
    struct iw_observation shifted = *seen;
    const struct iw_observation *o = &shifted;
    if (o->side != iw_conn_peer_side(c))
        return;
    shifted.pos += c->peer_base;
    shifted.end += c->peer_base;
    shifted.fault.pos += c->peer_base;
    /* The ends are read from the socket, which delivers without gaps. */
    if (o->kind == IW_OBSERVED_STARTUP)
        seen_startup(c, o);
    else if (o->kind == IW_OBSERVED_SEGMENT)
        seen_segment(c, o);
    else if (o->kind == IW_OBSERVED_FINDING)
        seen_finding(c, o);
    else if (o->kind == IW_OBSERVED_LOST)
        enqueue_end(c, IW_ITEM_LOST, o->pos);
}

static void seen_end(struct iw_conn *c, bool reset)
{
    c->state.ended = true;
    c->state.reset = reset;
    iw_exchange_end(c->station->exchange, c->state.number, true, reset, iw_transport_now());
    c->ended_early = c->streaming; /* MPA has not begun: there is nothing to judge so far */
    if (!c->streaming)
        iw_observer_end(c->observer, iw_conn_peer_side(c), c->state.received - c->peer_base, reset);
    enqueue_end(c, reset ? IW_ITEM_RESET : IW_ITEM_FIN, c->state.received);
}

static void stream(struct iw_conn *c, const uint8_t *octets, size_t length)
{
    c->peer_base += length;
    if (length > STREAMED_MAX - c->n_streamed) {
        flood(c);
        return;
    }
    c->streamed = iw_got(realloc(c->streamed, c->n_streamed + length));
    memcpy(c->streamed + c->n_streamed, octets, length);
    c->n_streamed += length;
}

void iw_conn_read(struct iw_conn *c)
{
    uint8_t octets[65536];
    ssize_t n = iw_tcp_receive(&c->tcp, octets, sizeof(octets));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        seen_end(c, n < 0 || c->write_reset);
        return;
    }
    if (!iw_exchange_data(c->station->exchange, c->state.number, true, octets, (size_t)n,
                          iw_transport_now())) {
        flood(c);
        return;
    }
    c->state.received += (uint64_t)n;
    c->came = iw_transport_now();
    if (c->streaming)
        stream(c, octets, (size_t)n);
    else
        iw_observer_input(c->observer, iw_conn_peer_side(c),
                          c->state.received - (uint64_t)n - c->peer_base, octets, (size_t)n);
}

/* Waits for octets, or the end, and reads once. False if there are none until the deadline. */
static bool read_more(struct iw_conn *c, uint64_t deadline)
{
    bool more = !c->state.ended && iw_tcp_open(&c->tcp) && iw_tcp_wait(&c->tcp, POLLIN, deadline);
    if (more)
        iw_conn_read(c);
    return more;
}

/* ---- streaming mode ---- */

void iw_conn_streaming(struct iw_conn *c)
{
    c->streaming = true;
}

const uint8_t *iw_conn_streamed(struct iw_conn *c, size_t length, uint64_t deadline)
{
    while (c->streaming && c->n_streamed < length && read_more(c, deadline))
        ;
    return c->n_streamed < length ? NULL : c->streamed;
}

void iw_conn_streamed_drop(struct iw_conn *c, size_t length)
{
    c->n_streamed -= length;
    memmove(c->streamed, c->streamed + length, c->n_streamed);
}

void iw_conn_begin(struct iw_conn *c)
{
    struct iw_item *end = c->items; /* nothing else comes while the peer streams */
    if (!c->streaming)
        return;
    c->streaming = false;
    c->items = NULL;
    c->last_item = &c->items;
    c->peer_base -= c->n_streamed;
    if (c->n_streamed)
        iw_observer_input(c->observer, iw_conn_peer_side(c), 0, c->streamed, c->n_streamed);
    if (c->ended_early)
        iw_observer_end(c->observer, iw_conn_peer_side(c), c->n_streamed, c->state.reset);
    c->n_streamed = 0;
    if (end == NULL)
        return;
    enqueue_partial(c);
    *c->last_item = end;
    c->last_item = &end->next;
}

/* As read_more. Where octets end just where an FPDU would that is framed in another way, it is,
 * once nothing has followed for SETTLED and SETTLED_TRIPS. Returns whether something has changed.
 */
static bool read_or_settle(struct iw_conn *c, uint64_t deadline)
{
    enum iw_side peer = iw_conn_peer_side(c);
    uint64_t trips = SETTLED_TRIPS * c->state.rtt;
    uint64_t least = iw_observer_follows(c->observer, peer) ? SETTLED : SETTLED_FRAME;
    uint64_t settled = c->came + (trips > least ? trips : least);

    if (c->streaming || !iw_observer_unsettled(c->observer, peer))
        return read_more(c, deadline);
    if (read_more(c, deadline < settled ? deadline : settled))
        return true;
    if (iw_transport_now() < settled)
        return false;
    iw_observer_settle(c->observer, peer);
    return !iw_observer_unsettled(c->observer, peer);
}

const struct iw_item *iw_conn_next(struct iw_conn *c, uint64_t deadline)
{
    /* After the deadline what has come already is taken; a peer that goes on and on is not waited
     * for. */
    for (unsigned late = 0; c->items == NULL && late < LATE_READS && read_or_settle(c, deadline);)
        late += iw_transport_now() >= deadline;
    return c->items;
}

const struct iw_item *iw_conn_partial(const struct iw_conn *c)
{
    return c->partial;
}

void iw_conn_drop(struct iw_conn *c)
{
    struct iw_item *item = c->items;
    if (item == NULL)
        return;
    c->items = item->next;
    if (c->items == NULL)
        c->last_item = &c->items;
    c->n_items--;
    iw_item_free(item);
}

bool iw_conn_drain(struct iw_conn *c, uint64_t deadline)
{
    while (iw_transport_now() < deadline && read_more(c, deadline))
        ;
    return c->state.ended;
}

void iw_station_take(struct iw_station *s)
{
    if (s->host != NULL)
        iw_craft_pump(s->host, iw_transport_now());
    for (struct iw_conn *c = s->conns; c != NULL; c = c->next)
        while (!c->state.ended && iw_tcp_waiting(&c->tcp))
            iw_conn_read(c);
}

bool iw_station_wait(struct iw_station *s, int fd, uint64_t deadline)
{
    for (;;) {
        struct pollfd p[POLLED] = {{.fd = fd, .events = POLLIN}};
        struct iw_conn *conns[POLLED];
        uint64_t due = s->host != NULL ? iw_craft_due(s->host) : UINT64_MAX;
        nfds_t n = 1;
        iw_station_take(s);
        for (struct iw_conn *c = s->conns; c != NULL && n < POLLED; c = c->next) {
            if (!iw_tcp_open(&c->tcp) || c->state.ended)
                continue;
            conns[n] = c;
            p[n++] = (struct pollfd){.fd = iw_tcp_fd(&c->tcp), .events = POLLIN};
        }
        int ready = poll(p, n, iw_clock_left(due < deadline ? due : deadline));
        for (nfds_t i = 1; ready > 0 && i < n; i++)
            if (p[i].revents)
                iw_conn_read(conns[i]);
        if (ready > 0 && p[0].revents)
            return true;
        if (iw_transport_now() >= deadline)
            return false;
    }
}

void iw_conn_comment_received(struct iw_conn *c, uint64_t position, const char *text)
{
    iw_exchange_comment(c->station->exchange, c->state.number, true, position, text);
}

/* Returns the length of a text of `n` characters with that at its end. */
static size_t add_meant(char *text, size_t room, size_t n)
{
    return n + (size_t)snprintf(n < room ? text + n : NULL, n < room ? room - n : 0, " (as meant)");
}

size_t iw_item_print(const struct iw_item *item, char *text, size_t room)
{
    static const char *const ends[] = {[IW_ITEM_FIN] = "fin",
                                       [IW_ITEM_RESET] = "reset",
                                       [IW_ITEM_LOST] = "octets that are no FPDU"};
    if (item->kind == IW_ITEM_STARTUP) {
        size_t length = iw_wire_print_startup(text, room, item->octets, item->length);
        return item->mended ? add_meant(text, room, length) : length;
    }
    if (item->kind != IW_ITEM_MESSAGE)
        return (size_t)snprintf(text, room, "%s", ends[item->kind]);
    size_t n =
        iw_quirk_print_segment(text, room, item->octets, item->segments[0].length, item->quirks);
    if (item->mended)
        n = add_meant(text, room, n);
    if (item->n_segments > 1)
        n += (size_t)snprintf(n < room ? text + n : NULL, n < room ? room - n : 0,
                              " and %zu more segments, %zu octets of ULPDU in all",
                              item->n_segments - 1, item->length);
    return n;
}
