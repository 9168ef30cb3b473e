/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "host/text.h"
#include "iwarp/capture.h"
#include "iwarp/transport.h"

enum event_kind { EVENT_OPEN, EVENT_DATA, EVENT_FIN, EVENT_RESET, EVENT_PACKET };

struct event {
    struct event *next;
    enum event_kind kind;
    int connection;
    bool from_peer;
    uint64_t time;
    uint64_t position;
    size_t length;
    uint64_t end; /* PACKET: after its payload and FIN or RST */
    uint8_t octets[];
};

/* Positions in ascending order. */
struct cuts {
    uint64_t *at;
    size_t count, room;
};

/* Arrays of two are indexed by from_peer. */
struct connection {
    struct iw_synth_tcp tcp; /* side 0 is the one that connects */
    bool station_connects;
    bool crafted; /* its packets are known */
    uint64_t position[2];
    struct cuts cuts[2];
};

/* One connection while the log is turned into packets. */
struct replayed {
    int handle;
    size_t cut[2]; /* the next one */
};

struct iw_exchange {
    struct event *events, **last_event;
    struct iw_exchange_remark *remarks, **last_remark;
    struct iw_exchange_line *lines, **last_line;
    size_t n_lines;
    struct connection *connections;
    int n_connections;
    size_t octets;
    uint64_t created;
    uint64_t epoch;  /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
    uint64_t frames; /* of the capture that was saved last */
};

struct iw_exchange *iw_exchange_create(void)
{
    struct iw_exchange *x = iw_got(calloc(1, sizeof(*x)));
    x->last_event = &x->events;
    x->last_remark = &x->remarks;
    x->last_line = &x->lines;
    x->created = iw_transport_now();
    x->epoch = iw_clock_wall() - x->created;
    return x;
}

void iw_exchange_destroy(struct iw_exchange *x)
{
    if (x == NULL)
        return;
    while (x->events != NULL) {
        struct event *e = x->events;
        x->events = e->next;
        free(e);
    }
    while (x->remarks != NULL) {
        struct iw_exchange_remark *r = x->remarks;
        x->remarks = r->next;
        free(r->text);
        free(r);
    }
    while (x->lines != NULL) {
        struct iw_exchange_line *line = x->lines;
        x->lines = line->next;
        free(line);
    }
    for (int i = 0; i < x->n_connections; i++) {
        free(x->connections[i].cuts[0].at);
        free(x->connections[i].cuts[1].at);
    }
    free(x->connections);
    free(x);
}

static struct event *add(struct iw_exchange *x, enum event_kind kind, int connection,
                         bool from_peer, uint64_t now, const void *octets, size_t length)
{
    struct event *e = iw_got(malloc(sizeof(*e) + length));
    *e = (struct event){.kind = kind,
                        .connection = connection,
                        .from_peer = from_peer,
                        .time = now,
                        .position = x->connections[connection].position[from_peer],
                        .length = length};
    if (length)
        memcpy(e->octets, octets, length);
    *x->last_event = e;
    x->last_event = &e->next;
    return e;
}

int iw_exchange_open(struct iw_exchange *x, bool station_connects, const struct iw_synth_tcp *tcp,
                     uint64_t now)
{
    int number = x->n_connections++;
    x->connections =
        iw_got(realloc(x->connections, (size_t)x->n_connections * sizeof(*x->connections)));
    x->connections[number] = (struct connection){.tcp = *tcp, .station_connects = station_connects};
    add(x, EVENT_OPEN, number, false, now, NULL, 0);
    return number;
}

bool iw_exchange_data(struct iw_exchange *x, int connection, bool from_peer, const void *octets,
                      size_t length, uint64_t now)
{
    if (x->octets + length + IW_EXCHANGE_COST > IW_EXCHANGE_MAX)
        return false;
    add(x, EVENT_DATA, connection, from_peer, now, octets, length);
    x->octets += length + IW_EXCHANGE_COST;
    x->connections[connection].position[from_peer] += length;
    return true;
}

bool iw_exchange_packet(struct iw_exchange *x, int connection, const struct iw_craft_packet *p,
                        uint64_t now)
{
    if (x->octets + p->length > IW_EXCHANGE_MAX)
        return false;
    struct event *e = add(x, EVENT_PACKET, connection, p->from_peer, now, p->data, p->length);
    e->position = p->position;
    e->end = p->position + p->octets + !!(p->flags & (IW_TCP_FIN | IW_TCP_RST));
    x->octets += p->length;
    x->connections[connection].crafted = true;
    return true;
}

void iw_exchange_end(struct iw_exchange *x, int connection, bool from_peer, bool reset,
                     uint64_t now)
{
    add(x, reset ? EVENT_RESET : EVENT_FIN, connection, from_peer, now, NULL, 0);
}

void iw_exchange_cut(struct iw_exchange *x, int connection, bool from_peer, uint64_t position)
{
    struct cuts *cuts = &x->connections[connection].cuts[from_peer];
    if (cuts->count == cuts->room) {
        cuts->room = cuts->room * 2 + 16;
        cuts->at = iw_got(realloc(cuts->at, cuts->room * sizeof(*cuts->at)));
    }
    cuts->at[cuts->count++] = position;
    x->octets += IW_EXCHANGE_COST;
}

void iw_exchange_comment(struct iw_exchange *x, int connection, bool from_peer, uint64_t position,
                         const char *text)
{
    struct iw_exchange_remark *r = iw_got(malloc(sizeof(*r)));
    *r = (struct iw_exchange_remark){.connection = connection,
                                     .from_peer = from_peer,
                                     .position = position,
                                     .text = iw_text_copy(text)};
    *x->last_remark = r;
    x->last_remark = &r->next;
}

void iw_exchange_tell(struct iw_exchange *x, const struct iw_exchange_line *line, const char *text,
                      uint64_t now)
{
    size_t length = strlen(text) + 1;
    if (x->n_lines == IW_EXCHANGE_LINES)
        return;
    struct iw_exchange_line *l = iw_got(malloc(sizeof(*l) + length));
    *l = *line;
    l->next = NULL;
    l->time = now - x->created;
    memcpy(l->text, text, length);
    *x->last_line = l;
    x->last_line = &l->next;
    x->n_lines++;
}

bool iw_exchange_heard(const struct iw_exchange *x)
{
    for (const struct event *e = x->events; e != NULL; e = e->next)
        if (e->from_peer && e->kind != EVENT_PACKET)
            return true;
    return false;
}

const struct iw_exchange_line *iw_exchange_lines(const struct iw_exchange *x)
{
    return x->lines;
}

void iw_exchange_relate(const struct iw_exchange *x, int connection,
                        void (*take)(void *context, bool from_peer, uint64_t position,
                                     const uint8_t *octets, size_t length, bool reset),
                        void *context)
{
    for (const struct event *e = x->events; e != NULL; e = e->next) {
        bool end = e->kind == EVENT_FIN || e->kind == EVENT_RESET;
        if (e->connection == connection && (end || (e->kind == EVENT_DATA && e->length > 0)))
            take(context, e->from_peer, e->position, e->octets, e->length, e->kind == EVENT_RESET);
    }
}

size_t iw_exchange_read(const struct iw_exchange *x, int connection, bool from_peer,
                        uint64_t position, uint8_t *out, size_t room)
{
    size_t got = 0;
    for (const struct event *e = x->events; e != NULL && got < room; e = e->next) {
        uint64_t at = position + got;

        if (e->kind != EVENT_DATA || e->connection != connection || e->from_peer != from_peer ||
            at < e->position || at >= e->position + e->length)
            continue;
        size_t step = e->length - (size_t)(at - e->position);
        if (step > room - got)
            step = room - got;
        memcpy(out + got, e->octets + (at - e->position), step);
        got += step;
    }
    return got;
}

struct iw_exchange_remark *iw_exchange_remark(const struct iw_exchange *x,
                                              const struct iw_exchange_line *line,
                                              const struct iw_exchange_remark *after)
{
    struct iw_exchange_remark *r = after != NULL ? after->next : x->remarks;
    while (r != NULL && (r->connection != line->connection || r->from_peer != line->from_peer ||
                         r->position < line->position ||
                         (r->position >= line->end && r->position != line->position)))
        r = r->next;
    return r;
}

/* Puts the remarks on [at, end), or on the end of the direction if that is empty. */
static void comment(const struct iw_exchange *x, struct iw_synth *s, const struct event *e,
                    uint64_t at, uint64_t end, struct iw_synth_span span)
{
    const struct iw_exchange_line line = {
        .connection = e->connection, .from_peer = e->from_peer, .position = at, .end = end};
    struct iw_exchange_remark *r = NULL;
    while ((r = iw_exchange_remark(x, &line, r)) != NULL) {
        r->frame = r->position - at < (end - at) / 2 ? span.first : span.last;
        iw_synth_comment(s, r->frame, r->text);
    }
}

static void replay_data(const struct iw_exchange *x, struct iw_synth *s, const struct event *e,
                        unsigned side, struct replayed *to)
{
    const struct cuts *cuts = &x->connections[e->connection].cuts[e->from_peer];
    size_t *next = &to->cut[e->from_peer];
    uint64_t at = e->position, end = e->position + e->length;
    while (at < end) {
        uint64_t until = end;
        while (*next < cuts->count && cuts->at[*next] <= at)
            (*next)++;
        if (*next < cuts->count && cuts->at[*next] < end)
            until = cuts->at[*next];
        struct iw_synth_span span =
            iw_synth_data(s, to->handle, side, e->time + x->epoch, e->octets + (at - e->position),
                          (size_t)(until - at));
        comment(x, s, e, at, until, span);
        at = until;
    }
}

static void replay(const struct iw_exchange *x, struct iw_synth *s, struct replayed *to)
{
    for (const struct event *e = x->events; e != NULL; e = e->next) {
        const struct connection *c = &x->connections[e->connection];
        unsigned side = e->from_peer == c->station_connects;
        uint64_t time = e->time + x->epoch;
        int *handle = &to[e->connection].handle;
        struct iw_synth_span span;
        if (c->crafted && e->kind != EVENT_PACKET)
            continue;
        switch (e->kind) {
        case EVENT_PACKET:
            span = iw_synth_packet(s, side, time, e->octets, e->length);
            if (e->end > e->position) /* one without octets says nothing to be remarked upon */
                comment(x, s, e, e->position, e->end, span);
            break;
        case EVENT_OPEN:
            *handle = iw_synth_connect(s, &c->tcp, time, &span);
            break;
        case EVENT_DATA:
            replay_data(x, s, e, side, &to[e->connection]);
            break;
        case EVENT_FIN:
        case EVENT_RESET:
            span = e->kind == EVENT_FIN ? iw_synth_fin(s, *handle, side, time)
                                        : iw_synth_reset(s, *handle, side, time);
            comment(x, s, e, e->position, e->position, span);
            break;
        }
    }
}

uint64_t iw_exchange_frames(const struct iw_exchange *x)
{
    return x->frames;
}

uint64_t iw_exchange_frame(const struct iw_exchange *x, int connection, bool from_peer,
                           uint64_t position)
{
    for (const struct iw_exchange_remark *r = x->remarks; r != NULL; r = r->next)
        if (r->connection == connection && r->from_peer == from_peer && r->position == position)
            return r->frame;
    return 0;
}

int iw_exchange_save(struct iw_exchange *x, const char *path, const char *title, char *error,
                     size_t room)
{
    char what[IW_CAPTURE_ERROR] = "out of memory";
    struct iw_synth *s = iw_synth_new(2 * (size_t)IW_EXCHANGE_MAX);
    struct replayed *to = iw_got(calloc((size_t)x->n_connections + 1, sizeof(*to)));
    bool done = false;
    if (s != NULL) {
        replay(x, s, to);
        done = iw_synth_write(s, path, "iwarp-conform", title, what);
        x->frames = iw_synth_frames(s);
    }
    if (!done)
        snprintf(error, room, "%s", what);
    free(to);
    iw_synth_free(s);
    return done ? 0 : -1;
}
