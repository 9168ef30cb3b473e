/* SPDX-License-Identifier: BSD-3-Clause */
#include "oracle_station.h"

#include <string.h>

/* After the regions: receives are in one half, later registrations in the other. Octets to be sent
 * never change. */
enum { PLAIN = 9280, PLAIN_LENGTH = 3072, LATER = 12416, LATER_LENGTH = 3904 };

/* Fits `length` octets that begin at or after `offset` into [0, room); cuts them if longer. */
static size_t fit(size_t offset, size_t *length, size_t room)
{
    offset %= room;
    if (*length > room - offset)
        *length = room - offset;
    return offset;
}

static const struct iw_station_region *region(const struct iw_station *s, unsigned index)
{
    return &s->regions[index % s->region_count];
}

/* Cuts the octets at `base` into pieces. */
static size_t cut(struct iw_iov *sge, size_t pieces, uint8_t *base, size_t length)
{
    for (size_t i = 0; i < pieces; i++) {
        size_t take = pieces - i > 1 ? length / 3 : length;
        sge[i] = (struct iw_iov){base, take};
        base += take;
        length -= take;
    }
    return pieces;
}

static void post(struct iw_station *s, const struct iw_fuzz_operation *op)
{
    struct iw_work work = {.id = ++s->ids, .opcode = (enum iw_work_opcode)(op->a % IW_WORK_RECV)};
    const struct iw_station_region *sink = region(s, op->b >> 4);
    size_t length = op->d, sink_length = op->d;
    size_t offset = fit(op->e, &length, IW_FUZZ_MEMORY);

    if (s->send_tail - s->send_head == IW_STATION_WORK)
        return;
    struct iw_iov sge[IW_STATION_SGE];
    work.sge = sge;
    work.flags = op->b & IW_WORK_FENCE;
    /* The regions at the peer are like the ones here. */
    work.remote_stag = work.invalidate_stag = IW_FUZZ_STAG + op->c;
    work.remote_to = s->start[op->c % IW_FUZZ_REGIONS].region.to + op->e;
    if (work.opcode != IW_WORK_READ && work.opcode < IW_WORK_IMMEDIATE)
        work.sge_count =
            cut(sge, 1 + (op->b >> 1 & 3), (uint8_t *)(uintptr_t)s->memory.fresh + offset, length);
    if (work.opcode == IW_WORK_READ) {
        if (sink->region.length == 0 || !sink->valid)
            return;
        work.sink_to = sink->region.to + fit(op->e, &sink_length, (size_t)sink->region.length);
        work.sink_stag = sink->region.stag;
        work.length = (uint32_t)sink_length;
    }
    memcpy(work.immediate, s->memory.fresh + op->d % 256, sizeof(work.immediate));
    work.add_swap = op->d * UINT64_C(0x0001000100010001);
    work.add_swap_mask = op->e * UINT64_C(0x8000400020001);
    work.compare = op->e;
    work.compare_mask = op->b;
    if (iw_endpoint_post(s->ep, &work, s->now) != IW_OK)
        return;
    uint32_t done = work.opcode == IW_WORK_READ ? work.length : (uint32_t)length;
    s->sends[s->send_tail++ % IW_STATION_WORK] = (struct iw_station_send){
        .id = work.id,
        .opcode = work.opcode,
        .length = work.opcode >= IW_WORK_IMMEDIATE ? IW_RDMAP_IMMEDIATE : done};
}

static void post_recv(struct iw_station *s, const struct iw_fuzz_operation *op)
{
    const struct iw_region *r = &region(s, op->b & 7)->region;
    bool plain = (op->b & 8) != 0 || r->length == 0;
    size_t length = op->d;
    struct iw_station_recv recv = {.id = ++s->ids};

    if (s->recv_tail - s->recv_head == IW_STATION_WORK)
        return;
    uint8_t *base;
    if (plain)
        base = s->memory.octets + PLAIN + fit(op->e, &length, PLAIN_LENGTH);
    else
        base = r->base + fit(op->e, &length, (size_t)r->length);
    recv.count = op->a % (IW_STATION_SGE + 1u);
    recv.capacity = recv.count == 0 ? 0 : (uint32_t)length;
    cut(recv.sge, recv.count, base, length);
    if (iw_endpoint_post_recv(s->ep, recv.id, recv.sge, recv.count) == IW_OK)
        s->recvs[s->recv_tail++ % IW_STATION_WORK] = recv;
}

static void add_region(struct iw_station *s, const struct iw_region *r)
{
    s->regions[s->region_count++] =
        (struct iw_station_region){.region = *r, .known = true, .valid = true};
}

static uint64_t stream_of(const struct iw_fuzz_operation *op)
{
    return (op->b & 1) != 0 ? 1 : 0;
}

static void register_region(struct iw_station *s, const struct iw_fuzz_operation *op)
{
    size_t length = op->d;
    struct iw_region r = {.to = op->e * UINT64_C(0x100000001),
                          .guard = 0,
                          .pd = (op->b & 2) != 0 ? s->other_pd : s->pd,
                          .access = op->a & 0x3fu,
                          .stream = stream_of(op)};

    if (s->region_count == IW_STATION_REGIONS)
        return;
    r.base = s->memory.octets + LATER + (fit(op->e, &length, LATER_LENGTH) & ~(size_t)7);
    r.length = length;
    IW_FUZZ_CHECK(iw_domain_register(s->domain, &r) == 0, "%s: a region cannot be registered",
                  s->who);
    add_region(s, &r);
}

static void bind(struct iw_station *s, const struct iw_fuzz_operation *op)
{
    const struct iw_station_region *parent = region(s, op->c);
    struct iw_station_region *again = &s->regions[(op->b >> 4) % s->region_count];
    struct iw_region window = {.to = parent->region.to + op->e,
                               .length = op->d,
                               .access = op->a & 0x3fu,
                               .stream = stream_of(op)};

    if (s->region_count == IW_STATION_REGIONS || !parent->known)
        return;
    if ((op->b & 2) != 0 && again->known)
        window.stag = again->region.stag;
    bool anew = window.stag != 0;
    if (iw_domain_bind(s->domain, parent->region.stag, &window) != 0)
        return;
    if (anew)
        again->known = again->valid = false;
    add_region(s, &window);
}

static void invalidate(struct iw_station *s, const struct iw_fuzz_operation *op)
{
    struct iw_station_region *r = &s->regions[op->c % s->region_count];

    if (!r->known)
        return;
    int result = iw_domain_invalidate(s->domain, r->region.stag);
    IW_FUZZ_CHECK(s->blind || (result == 0) == r->valid,
                  "%s: STag 0x%08x is invalidated although it was dead, or lives on", s->who,
                  r->region.stag);
    r->valid = false;
}

static void deregister(struct iw_station *s, const struct iw_fuzz_operation *op)
{
    struct iw_station_region *r = &s->regions[op->c % s->region_count];

    if (r->known && iw_domain_deregister(s->domain, r->region.stag) == 0)
        r->known = r->valid = false;
}

static void answer(struct iw_station *s, const struct iw_fuzz_operation *op)
{
    size_t length = op->d % (IW_MPA_PRIVATE_MAX + 2u);

    (void)((op->a & 1) != 0 ? iw_endpoint_reject : iw_endpoint_accept)(s->ep, s->memory.fresh,
                                                                       length, s->now);
}

void iw_station_operate(struct iw_station *s, const struct iw_fuzz_operation *op)
{
    switch (op->op) {
    case IW_FUZZ_POST:
        post(s, op);
        break;
    case IW_FUZZ_RECV:
        post_recv(s, op);
        break;
    case IW_FUZZ_REGISTER:
        register_region(s, op);
        break;
    case IW_FUZZ_BIND:
        bind(s, op);
        break;
    case IW_FUZZ_INVALIDATE:
        invalidate(s, op);
        break;
    case IW_FUZZ_DEREGISTER:
        deregister(s, op);
        break;
    case IW_FUZZ_SHUTDOWN:
        iw_endpoint_shutdown(s->ep, s->now);
        break;
    case IW_FUZZ_ABORT:
        iw_endpoint_abort(s->ep, (op->a & 1) != 0, op->b, s->now);
        break;
    case IW_FUZZ_ANSWER:
        answer(s, op);
        break;
    case IW_FUZZ_EMSS:
        iw_endpoint_set_emss(s->ep, op->d);
        break;
    case IW_FUZZ_OUTPUT:
        iw_station_output(s, op->d == 0 ? SIZE_MAX : op->d);
        break;
    default:
        iw_endpoint_begin(s->ep, s->now);
        break;
    }
}
