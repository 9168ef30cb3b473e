/* SPDX-License-Identifier: BSD-3-Clause */
#include "conform_station.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/text.h"
#include "iwarp/transport.h"
#include "station_internal.h"

/* Octets of a TCP segment that fit into any IP packet. */
enum { MOST_MSS = 65475 };

static void conn_free(struct iw_conn *c)
{
    while (c->items != NULL)
        iw_conn_drop(c);
    iw_item_free(c->partial);
    iw_tcp_close(&c->tcp);
    iw_observer_free(c->observer);
    free(c->held);
    free(c->streamed);
    free(c);
}

struct iw_station *iw_station_create(struct iw_exchange *exchange, struct iw_tun *tun, FILE *trace)
{
    struct iw_station *s = iw_got(malloc(sizeof(*s)));
    *s = (struct iw_station){
        .exchange = exchange, .tun = tun, .trace = trace, .last_finding = &s->findings};
    return s;
}

void iw_station_quirks(struct iw_station *s, bool none, iw_quirks assumed)
{
    s->no_quirks = none;
    s->quirks = assumed;
}

void iw_station_destroy(struct iw_station *s)
{
    if (s == NULL)
        return;
    while (s->conns != NULL) {
        struct iw_conn *c = s->conns;
        s->conns = c->next;
        conn_free(c);
    }
    while (s->listeners != NULL) {
        struct iw_station_listener *l = s->listeners;
        s->listeners = l->next;
        if (l->fd >= 0)
            close(l->fd);
        free(l);
    }
    iw_craft_host_free(s->host);
    while (s->findings != NULL) {
        struct iw_station_finding *f = s->findings;
        s->findings = f->next;
        free(f);
    }
    free(s);
}

const struct iw_station_finding *iw_station_findings(const struct iw_station *s)
{
    return s->findings;
}

bool iw_station_flooded(const struct iw_station *s)
{
    return s->flooded;
}

enum iw_side iw_conn_peer_side(const struct iw_conn *c)
{
    return c->state.initiator ? IW_SIDE_RESPONDER : IW_SIDE_INITIATOR;
}

static enum iw_side own_side(const struct iw_conn *c)
{
    return c->state.initiator ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER;
}

/* Opens a connection in the log. Returns its number there. */
static int log_open(struct iw_station *s, const struct iw_tcp *tcp, bool station_connects, int mss)
{
    struct iw_synth_tcp logged = {.mss = (uint16_t)mss};
    iw_tcp_addresses(tcp, station_connects ? 0 : 1, &logged);
    return iw_exchange_open(s->exchange, station_connects, &logged, iw_transport_now());
}

/* Takes over a connection. */
static struct iw_conn *adopt(struct iw_station *s, struct iw_tcp tcp, bool initiator)
{
    struct iw_conn *c = iw_got(malloc(sizeof(*c)));
    *c = (struct iw_conn){.next = s->conns,
                          .station = s,
                          .tcp = tcp,
                          .last_item = &c->items,
                          .state.initiator = initiator};
    struct iw_observer_config config = {.crc32c = iw_crc32c_best(),
                                        .seen = iw_conn_seen,
                                        .context = c,
                                        .extensions = true,
                                        .intact = true,
                                        .no_quirks = s->no_quirks};
    config.told[own_side(c)] = true;
    config.quirks[iw_conn_peer_side(c)] = s->quirks;
    c->observer = iw_got(iw_observer_new(&config));
    if (tcp.craft != NULL) {
        c->state.number = *iw_craft_label(tcp.craft);
    } else {
        const int on = true;
        int mss = MOST_MSS;
        socklen_t length = sizeof(mss);
        setsockopt(tcp.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        getsockopt(tcp.fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &length);
        c->state.number = log_open(s, &tcp, initiator, mss < MOST_MSS ? mss : MOST_MSS);
    }
    s->conns = c;
    return c;
}

/* A packet of a crafted connection, which is opened in the log with the first of them. */
static void seen_packet(void *context, struct iw_craft *craft, const struct iw_craft_packet *p)
{
    struct iw_station *s = context;
    struct iw_tcp tcp = IW_TCP_CLOSED;
    tcp.craft = craft;
    int *number = iw_craft_label(craft);
    if (*number < 0)
        *number = log_open(s, &tcp, !p->from_peer, IW_CRAFT_MSS);
    if (!iw_exchange_packet(s->exchange, *number, p, iw_transport_now()))
        s->flooded = true;
}

/* The station's own TCP, made when it is first needed. */
static struct iw_craft_host *craft_host(struct iw_station *s)
{
    if (s->host == NULL)
        s->host = iw_got(iw_craft_host_new(s->tun, seen_packet, s));
    return s->host;
}

struct iw_conn *iw_station_connect(struct iw_station *s, const char *host, uint16_t port,
                                   const struct iw_craft_options *options, uint64_t deadline,
                                   char *error, size_t room)
{
    struct iw_tcp tcp;
    bool connected = s->tun != NULL
                         ? iw_tcp_connect_crafted(&tcp, craft_host(s), host, port, options,
                                                  deadline, error, room)
                         : iw_tcp_connect(&tcp, host, port, options->mss, deadline, error, room);
    return connected ? adopt(s, tcp, true) : NULL;
}

struct iw_station_listener *iw_station_listen(struct iw_station *s, const char *host,
                                              const struct iw_craft_options *options, char *error,
                                              size_t room)
{
    struct iw_station_listener *l = iw_got(malloc(sizeof(*l)));
    *l = (struct iw_station_listener){.next = s->listeners, .station = s, .fd = -1};
    if (s->tun == NULL)
        l->fd = iw_tcp_listen(host, &l->port, options->mss, error, room);
    else if (((l->crafted = iw_craft_listen(craft_host(s), options)) != NULL))
        l->port = iw_craft_listener_port(l->crafted);
    else
        snprintf(error, room, "listen on %s: too many connections", host);
    if (l->fd < 0 && l->crafted == NULL) {
        free(l);
        return NULL;
    }
    s->listeners = l;
    return l;
}

uint16_t iw_station_listener_port(const struct iw_station_listener *l)
{
    return l->port;
}

static struct iw_conn *accept_crafted(struct iw_station_listener *l, uint64_t deadline)
{
    struct iw_tcp tcp = IW_TCP_CLOSED;
    for (;;) {
        /* What comes for other connections is taken meanwhile. */
        iw_station_take(l->station);
        tcp.craft = iw_craft_accept(l->crafted);
        if (tcp.craft != NULL)
            return adopt(l->station, tcp, false);
        if (!iw_tcp_wait_host(l->station->host, deadline))
            return NULL;
    }
}

struct iw_conn *iw_station_listener_accept(struct iw_station_listener *l, uint64_t deadline)
{
    struct iw_tcp tcp = IW_TCP_CLOSED;
    if (l->crafted != NULL)
        return accept_crafted(l, deadline);
    for (;;) {
        tcp.fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (tcp.fd >= 0)
            return adopt(l->station, tcp, false);
        if (!iw_station_wait(l->station, l->fd, deadline))
            return NULL;
    }
}

/* ---- sending ---- */

/* Tells what the next `length` octets of this direction are. */
static void tell_sent(const struct iw_conn *c, enum iw_line_kind kind, size_t length, bool markers,
                      const char *text)
{
    struct iw_exchange_line line = {
        .kind = kind,
        .connection = c->state.number,
        .markers = markers,
        .start = c->start,
        .position = c->state.sent,
        .end = c->state.sent + length,
    };
    iw_exchange_tell(c->station->exchange, &line, text, iw_transport_now());
    if (c->station->trace != NULL)
        fprintf(c->station->trace, "%d > %s\n", c->state.number, text);
}

/* One write of the script; the socket may take it in several. */
static void write_out(struct iw_conn *c, const uint8_t *octets, size_t length, uint64_t deadline)
{
    size_t done = 0;
    while (done < length && !c->write_failed && iw_tcp_open(&c->tcp)) {
        ssize_t n = iw_tcp_send(&c->tcp, c->written + done, octets + done, length - done);
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            int ready = iw_tcp_wait(&c->tcp, c->state.ended ? POLLOUT : POLLOUT | POLLIN, deadline);

            if (ready & POLLIN)
                iw_conn_read(c);
            c->write_failed = !ready || iw_transport_now() >= deadline;
            continue;
        }
        c->write_failed = true;
        c->write_reset = errno == ECONNRESET;
    }
    c->written += length;
    if (done)
        iw_exchange_data(c->station->exchange, c->state.number, false, octets, done,
                         iw_transport_now());
}

static void write_pieces(struct iw_conn *c, const uint8_t *octets, size_t length,
                         const struct iw_writes *writes, uint64_t deadline)
{
    size_t at = 0, piece = 0;
    while (at < length) {
        size_t size = length - at;
        if (writes != NULL && writes->each && writes->each < size)
            size = writes->each;
        if (writes != NULL && piece < writes->count && writes->sizes[piece] < size)
            size = writes->sizes[piece];
        piece++;
        write_out(c, octets + at, size, deadline);
        at += size;
    }
}

static void hold(struct iw_conn *c, const uint8_t *octets, size_t length)
{
    if (c->room_held - c->n_held < length) {
        c->room_held = (c->n_held + length) * 2;
        c->held = iw_got(realloc(c->held, c->room_held));
    }
    memcpy(c->held + c->n_held, octets, length);
    c->n_held += length;
}

static void output(struct iw_conn *c, const uint8_t *octets, size_t length,
                   const struct iw_writes *writes, uint64_t deadline)
{
    c->last_sent = c->state.sent;
    c->state.sent += length;
    if (c->corked)
        hold(c, octets, length);
    else
        write_pieces(c, octets, length, writes, deadline);
}

void iw_conn_write(struct iw_conn *c, const void *octets, size_t length,
                   const struct iw_writes *writes, uint64_t deadline)
{
    char text[64];
    snprintf(text, sizeof(text), "%zu octets as they are", length);
    tell_sent(c, IW_LINE_OCTETS, length, false, text);
    iw_observer_told_octets(c->observer, own_side(c));
    output(c, octets, length, writes, deadline);
}

static void learn_own_startup(struct iw_conn *c, const uint8_t *frame, size_t length)
{
    struct iw_conn_state *s = &c->state;
    int header = iw_wire_get_startup(frame, length, &s->own);
    if (header < 0)
        return;
    s->sent_startup = true;
    if (s->own.flags & IW_MPA_FLAG_S)
        iw_wire_get_enhanced(frame + header, length - (size_t)header, &s->own_enhanced);
}

void iw_conn_send_startup(struct iw_conn *c, const void *frame, size_t length,
                          const struct iw_writes *writes, uint64_t deadline)
{
    char text[512];
    iw_wire_print_startup(text, sizeof(text), frame, length);
    tell_sent(c, IW_LINE_STARTUP, length, false, text);
    learn_own_startup(c, frame, length);
    iw_observer_told_startup(c->observer, own_side(c), frame, length);
    c->asked = iw_transport_now();
    output(c, frame, length, writes, deadline);
    c->start = c->state.sent;
}

/* True after a Reply of revision 0, with which Markers and CRCs go both ways whatever the Request
 * says (RFC 5044 Appendix C). */
static bool consortium(const struct iw_conn_state *s)
{
    bool got = s->got_startup && s->initiator && s->peer.revision == 0;
    return got || (s->sent_startup && !s->initiator && s->own.revision == 0);
}

bool iw_conn_markers(const struct iw_conn_state *s)
{
    return consortium(s) || (s->got_startup && (s->peer.flags & IW_MPA_FLAG_M));
}

bool iw_conn_peer_markers(const struct iw_conn_state *s)
{
    return consortium(s) || (s->sent_startup && (s->own.flags & IW_MPA_FLAG_M));
}

/* Returns whether a receiver checks CRCs, as it does unless both sides are known to do without. */
static bool checks_crc(const struct iw_conn_state *s)
{
    return consortium(s) || !s->sent_startup || !s->got_startup ||
           ((s->own.flags | s->peer.flags) & IW_MPA_FLAG_C);
}

void iw_conn_send_ulpdu(struct iw_conn *c, const void *ulpdu, size_t length,
                        const struct iw_frame_bend *bend, const struct iw_writes *writes,
                        uint64_t deadline)
{
    size_t room = iw_frame_room(length, bend != NULL ? bend->pad_length : 0);
    uint8_t *fpdu = iw_got(malloc(room));
    bool markers = iw_conn_markers(&c->state);
    char text[512];
    bool broken = c->misframed || (bend != NULL && iw_frame_broken(bend, checks_crc(&c->state)));
    size_t size =
        iw_frame_build(c->state.sent - c->start, markers, ulpdu, length, bend, fpdu, room);
    iw_wire_print_segment(text, sizeof(text), ulpdu, length);
    tell_sent(c, IW_LINE_FPDU, size, markers, text);
    iw_observer_told_segment(c->observer, own_side(c), ulpdu, length, broken);
    c->misframed = c->misframed || (bend != NULL && iw_frame_misleads(bend));
    output(c, fpdu, size, writes, deadline);
    free(fpdu);
}

void iw_conn_cork(struct iw_conn *c)
{
    c->corked = true;
}

void iw_conn_uncork(struct iw_conn *c, const struct iw_writes *writes, uint64_t deadline)
{
    size_t length = c->n_held;
    c->corked = false;
    c->n_held = 0;
    write_pieces(c, c->held, length, writes, deadline);
}

void iw_conn_release(struct iw_conn *c, size_t length, uint64_t deadline)
{
    if (length > c->n_held)
        length = c->n_held;
    write_out(c, c->held, length, deadline);
    c->n_held -= length;
    if (c->n_held)
        memmove(c->held, c->held + length, c->n_held);
}

uint64_t iw_conn_comment_sent(struct iw_conn *c, const char *text)
{
    iw_exchange_comment(c->station->exchange, c->state.number, false, c->last_sent, text);
    return c->last_sent;
}

void iw_conn_shutdown(struct iw_conn *c)
{
    if (!iw_tcp_open(&c->tcp) || c->state.shut)
        return;
    tell_sent(c, IW_LINE_END, 0, false, "fin");
    c->state.shut = true;
    iw_observer_told_end(c->observer, own_side(c), false);
    if (iw_tcp_shut(&c->tcp, c->written) && !c->write_failed)
        iw_exchange_end(c->station->exchange, c->state.number, false, false, iw_transport_now());
}

void iw_conn_reset(struct iw_conn *c)
{
    if (!iw_tcp_open(&c->tcp))
        return;
    tell_sent(c, IW_LINE_END, 0, false, "reset");
    iw_observer_told_end(c->observer, own_side(c), true);
    iw_tcp_reset(&c->tcp);
    c->state.shut = c->state.ended = true;
    iw_exchange_end(c->station->exchange, c->state.number, false, true, iw_transport_now());
}

void iw_conn_get_state(struct iw_conn *c, struct iw_conn_state *out)
{
    struct iw_tcp_info info;
    if (iw_tcp_get_info(&c->tcp, &info)) {
        c->state.mss = info.mss;
        c->state.unacked = info.unacked;
        c->state.acked = info.acked;
        if (!c->state.rtt)
            c->state.rtt = info.rtt;
    }
    *out = c->state;
}
