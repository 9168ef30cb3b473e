/* SPDX-License-Identifier: BSD-3-Clause */
#include "oracle_station.h"

#include "endpoint/endpoint_internal.h"

#include <string.h>

/* Inputs are short, so short payloads are worth a landing. */
enum { LANDING_MIN = 64 };

/*
 * oracle_station.c  the endpoint and its consumer        operate.c  the consumer's operations
 * model.c    what the peer's segments must do
 */

/* The places of local.h's regions in the memory; octets between and after them are plain. */
static const struct {
    uint16_t at, length;
    uint32_t access;
    uint64_t to;
} layout[IW_FUZZ_REGIONS] = {
    {64, 4096,
     IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE |
         IW_ACCESS_REMOTE_ATOMIC,
     0x1000},
    {4224, 512, IW_ACCESS_REMOTE_READ, 0},
    {4800, 512, IW_ACCESS_REMOTE_WRITE, UINT64_MAX - 512},
    {5376, 1024, IW_ACCESS_LOCAL_WRITE, 0x2000},
    {6464, 1024, IW_ACCESS_LOCAL_WRITE | IW_ACCESS_BIND, 0x2000},
    {7552, 512,
     IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_READ |
         IW_ACCESS_REMOTE_INVALIDATE,
     0},
    {8128, 512, IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE, 0x1000},
    {8704, 512, IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE, 0x1000},
};

void iw_station_start(struct iw_station *s, const char *who, enum iw_mpa_role role)
{
    s->who = who;
    s->role = role;
    iw_fuzz_memory_start(&s->memory);
    s->domain = iw_fuzz_heap_domain(&s->heap, IW_STATION_REGIONS);
    s->pd = iw_domain_pd(s->domain);
    s->other_pd = iw_domain_pd(s->domain);
    for (size_t i = 0; i < IW_FUZZ_REGIONS; i++) {
        struct iw_region *r = &s->start[i].region;
        *r = (struct iw_region){.base = s->memory.octets + layout[i].at,
                                .length = layout[i].length,
                                .to = layout[i].to,
                                .guard = 32,
                                .pd = i == 7 ? s->other_pd : s->pd,
                                .access = layout[i].access,
                                .stream = i == 5   ? 1
                                          : i == 6 ? 2
                                                   : 0};
        IW_FUZZ_CHECK(iw_domain_register(s->domain, r) == 0 && r->stag == IW_FUZZ_STAG + i,
                      "%s: region %zu cannot be registered", who, i);
        s->start[i].known = s->start[i].valid = true;
    }
    iw_fuzz_heap_keep(&s->heap, IW_DOMAIN_BUFFER - 1);
}

/* Returns IRD or ORD from half an octet. */
static uint16_t depth(unsigned half)
{
    return (uint16_t)(half == 15 ? IW_MPA_DEPTH_UNSPECIFIED : half);
}

struct iw_mpa_config iw_station_mpa(const uint8_t settings[IW_FUZZ_SETTINGS], enum iw_mpa_role role)
{
    bool initiator = role == IW_MPA_INITIATOR, enhanced = (settings[0] & IW_FUZZ_ENHANCED) != 0;
    uint8_t rtr = settings[1] & IW_STATION_RTR;
    uint16_t low = depth(settings[2] & 15), high = depth(settings[2] >> 4);

    return (struct iw_mpa_config){.revision = enhanced ? 2 : 1,
                                  .crc = (settings[0] & IW_FUZZ_CRC) != 0,
                                  .permissive = (settings[1] & IW_STATION_OLD) != 0,
                                  .rtr = rtr != 0 ? rtr : IW_STATION_RTR,
                                  .ird = initiator ? low : high,
                                  .ord = initiator ? high : low,
                                  .enhanced = enhanced && initiator,
                                  .peer_to_peer = enhanced && initiator &&
                                                  (settings[0] & IW_FUZZ_PEER_TO_PEER) != 0};
}

void iw_station_peer(struct iw_mpa_startup *peer, const uint8_t settings[IW_FUZZ_SETTINGS],
                     enum iw_mpa_role role)
{
    struct iw_mpa_config config = iw_station_mpa(settings, role);

    config.markers = (settings[0] & IW_FUZZ_MARKERS_B) != 0;
    IW_FUZZ_CHECK(iw_mpa_startup_init(peer, role, &config, NULL, 0, NULL) == 0,
                  "no start-up of the peer");
}

void iw_station_open(struct iw_station *s, const uint8_t settings[IW_FUZZ_SETTINGS])
{
    static const uint32_t emss[8] = {1460, 140, 152, 296, 536, 9000, 65535, 64};
    static const uint32_t mulpdu[4] = {0, 128, 512, 64768};
    static const uint32_t depths[4] = {16, 1, 2, 32};
    struct iw_endpoint_config *c = &s->config;

    iw_fuzz_memory_reset(&s->memory);
    iw_fuzz_heap_reset(&s->heap);
    memcpy(s->settings, settings, sizeof(s->settings));
    memset((uint8_t *)s + offsetof(struct iw_station, now), 0,
           offsetof(struct iw_station, room) - offsetof(struct iw_station, now));
    s->now = 1000000;
    s->room = SIZE_MAX;
    memcpy(s->regions, s->start, sizeof(s->start));
    s->region_count = IW_FUZZ_REGIONS;

    iw_endpoint_config_default(c);
    c->role = s->role;
    c->mpa = iw_station_mpa(settings, s->role);
    c->mpa.markers = (settings[0] & IW_FUZZ_MARKERS_A) != 0;
    c->pd = s->pd;
    c->extensions = (settings[1] & IW_STATION_NO_EXTENSIONS) == 0;
    c->early_placement = c->in_place = c->receive_ahead = (settings[1] & IW_STATION_EARLY) != 0;
    c->aligned_peer = (settings[1] & IW_STATION_ALIGNED) != 0;
    c->emss = emss[settings[3] & 7];
    c->mulpdu = mulpdu[settings[3] >> 3 & 3];
    c->send_depth = c->recv_depth = depths[settings[3] >> 5 & 3];
    c->max_sge = IW_STATION_SGE;
    c->max_reads = 16;
}

/* The endpoint, as s->config says. */
void iw_station_create(struct iw_station *s)
{
    int result = iw_endpoint_create(s->domain, &s->config, s->now, &s->ep);

    IW_FUZZ_CHECK(result == IW_OK, "%s: no endpoint (%d)", s->who, result);
    IW_FUZZ_CHECK(iw_endpoint_stream(s->ep) == 1, "%s: not the first stream", s->who);
    s->ep->landing_min = LANDING_MIN;
    s->ep->lists_min = 0;
}

static void events(struct iw_station *s)
{
    if (s->landing && !s->ep->landing.active) {
        s->landing = false;
        if (s->ep->phase == IW_PHASE_FULL) /* else it may lie there, though it was refused */
            iw_fuzz_memory_expect(&s->memory, s->landing_place, s->landing_length);
    }
    struct iw_event event;
    while (iw_endpoint_event(s->ep, &event)) {
        IW_FUZZ_CHECK(event.kind != IW_EVENT_NONE && (s->events & 1u << event.kind) == 0,
                      "%s: event %d comes twice", s->who, event.kind);
        IW_FUZZ_CHECK((s->events & 1u << IW_EVENT_CLOSED) == 0, "%s: event %d after the last",
                      s->who, event.kind);
        s->events |= 1u << event.kind;
        if (event.kind == IW_EVENT_FAULT)
            s->fault = event;
        if (event.kind == IW_EVENT_REQUEST && (s->settings[1] & IW_STATION_MANUAL) == 0)
            (void)iw_endpoint_accept(s->ep, s->memory.fresh, s->settings[3] & 31, s->now);
    }
}

/* Drops everything that comes from now on. */
static void hear(struct iw_station *s)
{
    if (s->ep->phase == IW_PHASE_DONE || s->ep->fin_in || s->ep->fin_known)
        s->over = s->deaf = true;
}

/* Receives in place, as a transport does; but restores what a wrong guess has overwritten, for the
 * model. Returns how many octets have gone past the input. */
static size_t land(struct iw_station *s, const uint8_t *octets, size_t length)
{
    void *at;
    size_t room = iw_endpoint_landing(s->ep, &at);
    if (room > length)
        room = length;
    if (room > 0) {
        memcpy(at, octets, room);
        iw_endpoint_landed(s->ep, room, s->now);
        return room;
    }
    room = iw_endpoint_guess(s->ep, &at);
    const size_t head = IW_ENDPOINT_GUESS_HEAD;
    if (room == 0 || length <= head)
        return 0;
    if (room > length - head)
        room = length - head;
    static uint8_t before[UINT16_MAX];
    memcpy(before, at, room);
    memcpy(at, octets + head, room);
    size_t taken = iw_endpoint_guessed(s->ep, octets, room, s->now);
    memcpy((uint8_t *)at + taken, before + taken, room - taken);
    return taken > 0 ? head + taken : 0;
}

/* Begins a landing: until all of it is here the model does not know what has landed. */
static void begin_landing(struct iw_station *s)
{
    const struct iw_landing *l = &s->ep->landing;

    if (s->landing || !l->active || l->at == NULL)
        return;
    s->landing = true;
    s->landing_place = (size_t)(l->at - s->memory.octets);
    s->landing_length = l->length - l->header_length;
    iw_fuzz_memory_pardon(&s->memory, s->landing_place, s->landing_length);
}

void iw_station_input(struct iw_station *s, const uint8_t *octets, size_t length)
{
    hear(s);
    size_t past = land(s, octets, length);
    begin_landing(s);
    struct iw_iov in = {(void *)(uintptr_t)iw_fuzz_fenced(octets + past, length - past),
                        length - past};
    iw_endpoint_input(s->ep, &in, 1, s->now);
    events(s);
}

int iw_station_input_at(struct iw_station *s, uint64_t pos, const uint8_t *octets, size_t length)
{
    struct iw_iov in = {(void *)(uintptr_t)iw_fuzz_fenced(octets, length), length};

    hear(s);
    int result = iw_endpoint_input_at(s->ep, pos, &in, 1, s->now);
    events(s);
    return result == IW_OK ? 0 : -1;
}

void iw_station_input_end(struct iw_station *s, bool reset)
{
    hear(s);
    iw_endpoint_input_end(s->ep, !reset, s->now);
    events(s);
}

bool iw_station_boundary(const struct iw_station *s)
{
    return iw_deframer_idle(&s->ep->deframer);
}

uint64_t iw_station_edge(const struct iw_station *s)
{
    return s->ep->rx_pos;
}

static void completed_send(struct iw_station *s, const struct iw_completion *c)
{
    IW_FUZZ_CHECK(s->send_head != s->send_tail, "%s: more completions than work (id %llu)", s->who,
                  (unsigned long long)c->id);
    const struct iw_station_send *send = &s->sends[s->send_head++ % IW_STATION_WORK];
    IW_FUZZ_CHECK(c->id == send->id && c->opcode == send->opcode,
                  "%s: work %llu completes in the place of work %llu", s->who,
                  (unsigned long long)c->id, (unsigned long long)send->id);
    IW_FUZZ_CHECK(c->status != IW_STATUS_OK || c->length == send->length,
                  "%s: work %llu completes with %u octets instead of %u", s->who,
                  (unsigned long long)c->id, c->length, send->length);
}

static void completed_recv(struct iw_station *s, const struct iw_completion *c)
{
    IW_FUZZ_CHECK(s->recv_head != s->recv_tail, "%s: more is received than posted", s->who);
    const struct iw_station_recv *r = &s->recvs[s->recv_head++ % IW_STATION_WORK];
    IW_FUZZ_CHECK(c->id == r->id, "%s: receive %llu completes in the place of %llu", s->who,
                  (unsigned long long)c->id, (unsigned long long)r->id);
    if (s->blind)
        return;
    IW_FUZZ_CHECK(r->whole == (c->status == IW_STATUS_OK),
                  "%s: receive %llu: the message is%s whole, and the status is %d", s->who,
                  (unsigned long long)c->id, r->whole ? "" : " not", c->status);
    if (!r->whole)
        return;
    IW_FUZZ_CHECK(c->length == r->length && c->solicited == r->solicited &&
                      c->invalidated == r->invalidates &&
                      c->invalidate_stag == r->invalidate_stag && c->immediate == r->immediate,
                  "%s: receive %llu completes with %u octets as another message than came (%u)",
                  s->who, (unsigned long long)c->id, c->length, r->length);
    IW_FUZZ_CHECK(!c->immediate || memcmp(c->immediate_data, r->data, sizeof(r->data)) == 0,
                  "%s: receive %llu has other Immediate Data", s->who, (unsigned long long)c->id);
}

static void record(struct iw_station *s, const struct iw_completion *c)
{
    iw_fuzz_mix(&s->history, c->id);
    iw_fuzz_mix(&s->history, (uint64_t)c->opcode << 40 | (uint64_t)c->status << 36 |
                                 (uint64_t)c->solicited << 35 | (uint64_t)c->invalidated << 34 |
                                 (uint64_t)c->immediate << 33 | c->length);
    iw_fuzz_mix(&s->history, (uint64_t)c->check << 32 | c->invalidate_stag);
    iw_fuzz_mix(&s->history, c->original);
    if (c->immediate)
        iw_fuzz_mix_octets(&s->history, c->immediate_data, sizeof(c->immediate_data));
}

static void completions(struct iw_station *s)
{
    struct iw_completion c[8];
    size_t count;
    while ((count = iw_endpoint_poll(s->ep, c, 8)) > 0)
        for (size_t i = 0; i < count; i++) {
            record(s, &c[i]);
            (c[i].opcode == IW_WORK_RECV ? completed_recv : completed_send)(s, &c[i]);
        }
}

void iw_station_output(struct iw_station *s, size_t most)
{
    if (most > s->room)
        most = s->room;
    const struct iw_iov *pieces;
    size_t counts[IW_ENDPOINT_LISTS], lists;
    size_t together = s->config.in_place ? IW_ENDPOINT_LISTS : 1; /* as the transport has it */
    while (most > 0 &&
           (lists = iw_endpoint_output_lists(s->ep, &pieces, counts, together, s->now)) > 0) {
        size_t sent = 0, count = 0;
        for (size_t i = 0; i < lists; i++)
            count += counts[i];
        IW_FUZZ_CHECK(!s->fin_sent, "%s: octets after its FIN", s->who);
        for (size_t i = 0; i < count && most > 0; i++) {
            size_t take = pieces[i].length < most ? pieces[i].length : most;
            IW_FUZZ_CHECK(take > 0, "%s: an empty piece to be sent", s->who);
            s->out(s->context, pieces[i].base, take);
            most -= take;
            sent += take;
        }
        iw_endpoint_sent(s->ep, sent, s->now);
    }
    if (most == 0)
        return;
    enum iw_want want = iw_endpoint_want(s->ep);
    if (want == IW_WANT_FIN && !s->fin_sent) {
        s->fin_sent = true;
        s->out_end(s->context, false);
        iw_endpoint_fin_sent(s->ep, s->now);
    } else if (want == IW_WANT_RESET && !s->reset) {
        s->reset = true;
        s->out_end(s->context, true);
        iw_endpoint_input_end(s->ep, false, s->now);
    }
}

void iw_station_settle(struct iw_station *s)
{
    events(s);
    completions(s);
    if ((s->settings[0] & IW_FUZZ_LAZY) == 0) {
        iw_station_output(s, SIZE_MAX);
        events(s);
        completions(s);
    }
}

void iw_station_time(struct iw_station *s, unsigned milliseconds)
{
    s->now += milliseconds * UINT64_C(1000000);
    iw_endpoint_tick(s->ep, s->now);
    IW_FUZZ_CHECK(iw_endpoint_deadline(s->ep) > s->now, "%s: a deadline that has passed", s->who);
}

void iw_station_close(struct iw_station *s)
{
    iw_station_settle(s);
    if (!s->blind)
        iw_fuzz_memory_check(&s->memory, s->who);
    iw_endpoint_input_end(s->ep, false, s->now);
    events(s);
    completions(s);
    IW_FUZZ_CHECK((s->events & 1u << IW_EVENT_CLOSED) != 0, "%s: the connection does not end",
                  s->who);
    IW_FUZZ_CHECK(s->send_head == s->send_tail && s->recv_head == s->recv_tail,
                  "%s: %llu pieces of work and %llu receives never complete", s->who,
                  (unsigned long long)(s->send_tail - s->send_head),
                  (unsigned long long)(s->recv_tail - s->recv_head));
    IW_FUZZ_CHECK(iw_endpoint_deadline(s->ep) == UINT64_MAX, "%s: a deadline after the end",
                  s->who);
    iw_endpoint_destroy(s->ep);
    iw_fuzz_heap_check(&s->heap, s->who);
    for (unsigned i = 0; i < IW_FUZZ_BUFFERS; i++)
        IW_FUZZ_CHECK(iw_domain_borrow(s->domain) != NULL, "%s: a buffer is not given back",
                      s->who);
}
