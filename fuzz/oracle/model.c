/* SPDX-License-Identifier: BSD-3-Clause */
#include "oracle_station.h"

#include <string.h>

static size_t place_of(const struct iw_station *s, const void *at)
{
    return (size_t)((const uint8_t *)at - s->memory.octets);
}

static struct iw_station_region *find(struct iw_station *s, uint32_t stag)
{
    for (size_t i = 0; i < s->region_count; i++)
        if (s->regions[i].known && s->regions[i].region.stag == stag)
            return &s->regions[i];
    return NULL;
}

/* Returns the region if this end's peer has one of these rights in [to, to+length) of it. */
static struct iw_station_region *allowed(struct iw_station *s, uint32_t stag, uint64_t to,
                                         uint64_t length, uint32_t access)
{
    struct iw_station_region *r = find(s, stag);

    if (r == NULL || !r->valid || (r->region.access & access) == 0 || r->region.pd != s->pd ||
        (r->region.stream != 0 && r->region.stream != 1))
        return NULL;
    return to >= r->region.to && length <= r->region.length &&
                   to - r->region.to <= r->region.length - length
               ? r
               : NULL;
}

static void tagged(struct iw_station *s, const struct iw_observation *o, uint32_t access)
{
    if (o->payload_length == 0)
        return; /* RFC 5041 §5.2: nothing is examined */
    struct iw_station_region *r = allowed(s, o->ddp.stag, o->ddp.to, o->payload_length, access);
    IW_FUZZ_CHECK(r != NULL, "%s: a segment is taken that may not be placed, STag 0x%08x TO 0x%llx",
                  s->who, o->ddp.stag, (unsigned long long)o->ddp.to);
    iw_fuzz_memory_write(&s->memory,
                         place_of(s, r->region.base) + (size_t)(o->ddp.to - r->region.to),
                         o->payload, o->payload_length);
}

/* Returns the oldest receive that has no message yet. */
static struct iw_station_recv *next_recv(struct iw_station *s)
{
    IW_FUZZ_CHECK(s->recv_seen != s->recv_tail, "%s: a message is taken without a buffer", s->who);
    return &s->recvs[s->recv_seen % IW_STATION_WORK];
}

/* RFC 5040 §5.3: it has been placed when the STag that it names turns out to be wrong. */
static bool placed(const struct iw_station *s)
{
    enum iw_check check = s->fault.fault.check;

    return check == IW_CHECK_RDMAP_INVALIDATE_STAG || check == IW_CHECK_RDMAP_INVALIDATE_ASSOC ||
           check == IW_CHECK_RDMAP_INVALIDATE_SHARED;
}

static void send(struct iw_station *s, const struct iw_observation *o)
{
    struct iw_station_recv *r = next_recv(s);
    uint64_t end = (uint64_t)o->ddp.mo + o->payload_length;
    size_t from = 0;
    uint64_t at = o->ddp.mo;

    IW_FUZZ_CHECK(end <= r->capacity, "%s: a message is taken that its buffer cannot hold", s->who);
    for (size_t i = 0; i < r->count && from < o->payload_length; i++) {
        if (at >= r->sge[i].length) {
            at -= r->sge[i].length;
            continue;
        }
        size_t take = r->sge[i].length - (size_t)at;
        if (take > o->payload_length - from)
            take = o->payload_length - from;
        iw_fuzz_memory_write(&s->memory, place_of(s, r->sge[i].base) + (size_t)at,
                             o->payload + from, take);
        from += take;
        at = 0;
    }
    if (!iw_ddp_last(&o->ddp) || s->deaf)
        return;
    unsigned opcode = iw_rdmap_op(&o->ddp);
    r->whole = true;
    r->length = (uint32_t)end;
    r->solicited = iw_rdmap_solicits(opcode);
    if (iw_rdmap_invalidates(opcode)) {
        struct iw_station_region *dead = find(s, o->ddp.invalidate_stag);
        IW_FUZZ_CHECK(
            dead != NULL && dead->valid && dead->region.pd == s->pd && dead->region.stream <= 1 &&
                (dead->region.access & IW_ACCESS_REMOTE_INVALIDATE) != 0,
            "%s: STag 0x%08x was not the peer's to invalidate", s->who, o->ddp.invalidate_stag);
        dead->valid = false;
        r->invalidates = true;
        r->invalidate_stag = o->ddp.invalidate_stag;
    }
    s->recv_seen++;
}

static void immediate(struct iw_station *s, const struct iw_observation *o)
{
    struct iw_station_recv *r = next_recv(s);

    IW_FUZZ_CHECK(o->payload_length == sizeof(r->data),
                  "%s: %zu octets of Immediate Data are taken", s->who, o->payload_length);
    r->whole = r->immediate = true;
    r->solicited = iw_rdmap_solicits(iw_rdmap_op(&o->ddp));
    r->length = IW_RDMAP_IMMEDIATE;
    memcpy(r->data, o->payload, sizeof(r->data));
    s->recv_seen++;
}

/* Models an atomic: it is executed when its response leaves, which may be never. */
static void atomic(struct iw_station *s, const struct iw_observation *o)
{
    const struct iw_rdmap_atomic_request *a = &o->atomic_request;
    struct iw_station_region *r =
        allowed(s, a->remote_stag, a->remote_to, 8, IW_ACCESS_REMOTE_ATOMIC);

    IW_FUZZ_CHECK(r != NULL, "%s: an atomic is taken on what the peer has no right to", s->who);
    size_t at = place_of(s, r->region.base) + (size_t)(a->remote_to - r->region.to);
    for (size_t i = at; i < at + 8; i++)
        s->memory.loose[i] = 1;
}

static void read_request(struct iw_station *s, const struct iw_observation *o)
{
    const struct iw_rdmap_read_request *r = &o->read_request;

    IW_FUZZ_CHECK(r->size == 0 || allowed(s, r->source_stag, r->source_to, r->size,
                                          IW_ACCESS_REMOTE_READ) != NULL,
                  "%s: a Read is taken of what the peer may not read", s->who);
}

/* An RTR in the form of a Send uses no buffer (RFC 6581 §9.2). */
static bool is_rtr(const struct iw_station *s, const struct iw_observation *o)
{
    const struct iw_mpa_agreed *agreed = iw_endpoint_agreed(s->ep);

    return s->role == IW_MPA_RESPONDER && agreed != NULL && agreed->peer_to_peer && !s->spoken &&
           iw_rdmap_op(&o->ddp) == IW_OP_SEND && o->payload_length == 0;
}

void iw_station_saw(struct iw_station *s, const struct iw_observation *o)
{
    bool listening = !s->deaf && !s->blind;

    /* After a fault, or in it, nothing is accepted. */
    if ((s->events & 1u << IW_EVENT_ESTABLISHED) == 0 ||
        ((s->events & 1u << IW_EVENT_FAULT) != 0 && s->fault.fault.pos < o->end))
        s->deaf = true;
    if (listening && s->deaf && placed(s))
        send(s, o);
    if (s->deaf || s->blind)
        return;
    unsigned opcode = iw_rdmap_op(&o->ddp);
    if (iw_ddp_tagged(&o->ddp))
        tagged(s, o,
               opcode == IW_OP_WRITE ? IW_ACCESS_REMOTE_WRITE
                                     : IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE);
    else if (o->ddp.qn == IW_QN_SEND && is_rtr(s, o))
        ;
    else if (o->ddp.qn == IW_QN_SEND && opcode >= IW_OP_IMMEDIATE)
        immediate(s, o);
    else if (o->ddp.qn == IW_QN_SEND)
        send(s, o);
    else if (o->ddp.qn == IW_QN_READ_REQUEST && opcode == IW_OP_ATOMIC_REQUEST)
        atomic(s, o);
    else if (o->ddp.qn == IW_QN_READ_REQUEST)
        read_request(s, o);
    else if (o->ddp.qn == IW_QN_TERMINATE)
        s->deaf = true;
    s->spoken = true;
}
