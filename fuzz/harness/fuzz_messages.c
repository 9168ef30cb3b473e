/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An end of messages (proto/messages) without a device: verbs, rdma_cm and the clock are here, and
 * the octets are what peers do: connect and accept with greetings, send headers (raw, or made well
 * and bent in one place), lend, end; completions, time and the program's own calls go between. No
 * credit may be overdrawn, no queue overrun; Writes go only where the peer has lent, Reads only to
 * what it has announced; a message comes once and in order, and one that was sent has one fate; at
 * the end no buffer and no registration is left.
 */
#include "fuzz_messages.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REQUEST, EVENT, RAW, MADE, COMPLETE, SEND, RECEIVE, PASS, RENEW, KINDS };

/* A record: kind, flags, a, b, length of its octets, octets. */
enum { HEAD = 5, MOST = 2048 };
enum { BENT = 1, OTHERWISE = 2, BARE = 4, REFUSED = 8 }; /* flags */

#define MS UINT64_C(1000000)
#define TIMEOUT (100 * MS)

struct messages_world world;

/* ---- the clock, and who drives ---- */

uint64_t iw_progress_now(void)
{
    return world.now;
}

bool iw_progress_step(struct iw_messages *m)
{
    if (m->ending)
        iw_link_reap(m, false);
    return false;
}

bool iw_progress_poll(struct iw_messages *m)
{
    (void)m;
    return false;
}

void iw_progress_wait(struct iw_messages *m, uint64_t deadline)
{
    (void)m;
    world.now = deadline;
}

void iw_progress_kick(struct iw_messages *m)
{
    (void)m;
}

void iw_progress_due(struct iw_messages *m)
{
    (void)m;
}

static void happen(struct connection *c, enum rdma_cm_event_type kind, int status, size_t length)
{
    world.event = (struct rdma_cm_event){.id = &c->id, .event = kind, .status = status};
    world.event.param.conn.private_data = length > 0 ? world.private_data : NULL;
    world.event.param.conn.private_data_len = (uint8_t)length;
    world.event_there = true;
    iw_link_event(&world.m);
    iw_progress_step(&world.m);
}

/* ---- what peers do ---- */

/* Puts a peer's greeting into the private data. Returns its length. */
static size_t greet(struct connection *c, const uint8_t *record, size_t given)
{
    const struct iw_message_greeting g = {.instance = 1 + record[3] % INSTANCES,
                                          .grants = record[3] >> 4,
                                          .longest = (record[1] & REFUSED) != 0 ? 5000 : 1 << 20,
                                          .port = 7};
    if ((record[1] & BARE) != 0)
        return 0;
    memset(world.private_data, 0, sizeof(world.private_data));
    iw_message_put_greeting(&g, world.private_data);
    if ((record[1] & BENT) != 0 && given >= 2)
        world.private_data[record[HEAD] % IW_MESSAGE_GREETING] ^= record[HEAD + 1];
    struct iw_message_greeting sent;
    /* What came early may have granted more. */
    if (iw_message_get_greeting(world.private_data, IW_MESSAGE_GREETING, &sent) &&
        (int32_t)(sent.grants - c->granted) > 0)
        c->granted = sent.grants;
    c->instance = (unsigned)g.instance;
    return IW_MESSAGE_GREETING;
}

static void request(const uint8_t *record, size_t given)
{
    struct connection *c = messages_connection();
    if (c != NULL)
        happen(c, RDMA_CM_EVENT_CONNECT_REQUEST, 0, greet(c, record, given));
}

static const enum rdma_cm_event_type kinds[] = {
    RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ESTABLISHED,
    RDMA_CM_EVENT_DISCONNECTED,  RDMA_CM_EVENT_REJECTED,       RDMA_CM_EVENT_UNREACHABLE,
    RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_ADDR_ERROR};

/* One that librdmacm would report of such an identifier: in this order, a connection once. */
static void report(struct connection *c, const uint8_t *record, size_t given)
{
    const enum rdma_cm_event_type kind = kinds[record[1] >> 4 & 7];
    const struct iw_link *link = c->id.context;
    if (link == NULL ||
        (!c->connects && kind != RDMA_CM_EVENT_ESTABLISHED && kind != RDMA_CM_EVENT_DISCONNECTED))
        return;
    const bool asked = c->id.qp != NULL; /* it has been asked to connect */
    if (asked ? kind < RDMA_CM_EVENT_CONNECT_REQUEST : kind > RDMA_CM_EVENT_ROUTE_ERROR)
        return;
    const bool greets =
        c->connects && link->state == IW_LINK_BEGUN && (kind == RDMA_CM_EVENT_ESTABLISHED);
    if (greets && link->ending)
        return;
    const size_t length = greets ? greet(c, record, given)
                          : kind == RDMA_CM_EVENT_REJECTED && (record[1] & BARE) == 0 ? 1
                                                                                      : 0;
    happen(c, kind, (record[1] & OTHERWISE) != 0 ? -ECONNREFUSED : -1, length);
}

static void keep(struct iw_message_piece *list, unsigned *count, const uint8_t *octets)
{
    if (*count < PLACES)
        iw_message_get_piece(octets, &list[(*count)++]);
}

/* Completes the oldest receive with a Send of the peer. */
static void come(struct connection *c, const uint8_t *octets, size_t length)
{
    struct iw_message_header h;
    if (c->receive_count == 0 || length > c->receives[0].length)
        return;
    const struct posted first = c->receives[0];
    const struct iw_link *link = c->id.context;
    memmove(c->receives, c->receives + 1, --c->receive_count * sizeof(c->receives[0]));
    memcpy(first.memory, octets, length);
    if (iw_message_get_header(octets, length, &h) == NULL) {
        /* What it grants counts once it can have been read. */
        if ((int32_t)(h.grants - c->granted) > 0)
            c->granted = h.grants;
        if (h.type == IW_MESSAGE_LOAN)
            keep(c->lent, &c->lent_count, octets + IW_MESSAGE_HEADER);
        for (unsigned i = 0; h.type == IW_MESSAGE_ANNOUNCE && i < h.count; i++)
            keep(c->announced, &c->announced_count,
                 octets + IW_MESSAGE_HEADER + i * IW_MESSAGE_PIECE);
    }
    const bool over = c->ended || link->ending;
    iw_link_complete(&world.m,
                     &(struct ibv_wc){.wr_id = first.id,
                                      .status = over ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS,
                                      .byte_len = (uint32_t)length});
    iw_progress_step(&world.m);
}

static void raw(struct connection *c, const uint8_t *octets, size_t length)
{
    uint8_t copy[256 + IW_MESSAGE_HEADER] = {0};
    memcpy(copy, octets, length);
    if (length > IW_MESSAGE_HEADER)
        copy[IW_MESSAGE_HEADER] = 0; /* no stamp */
    come(c, copy, length);
}

static void made(struct connection *c, const uint8_t *record, size_t given)
{
    uint8_t octets[IW_MESSAGE_HEADER + IW_MESSAGE_PIECES_MOST * IW_MESSAGE_PIECE] = {0};
    const struct iw_link *link = c->id.context;
    const struct iw_peer *p = link->peer;
    const uint64_t base = p != NULL ? p->heard.base : 0;
    const uint64_t next = p != NULL ? p->taken.came + 1 : 1;
    const uint8_t a = record[2], b = record[3], flags = record[1];
    struct iw_message_header h = {.type = (enum iw_message_type)(1 + a % 6),
                                  .flags = a >> 7,
                                  .grants = c->granted + (b & 7),
                                  .state = {.base = base + (b >> 6)},
                                  .from = 9,
                                  .to = 1 + (flags >> 7)};
    size_t more = 0;
    if ((flags & OTHERWISE) != 0)
        h.state.ahead = (uint64_t)b << 1;
    if ((flags & REFUSED) != 0)
        h.state.refused_after = h.state.ahead, h.state.refused_before = b;
    if (h.type >= IW_MESSAGE_SHORT && h.type <= IW_MESSAGE_WRITTEN)
        /* Again, or later. */
        h.sequence = (flags >> 4 & 3) == 3 ? next - 1 : next + (flags >> 4 & 3);
    else if (h.type == IW_MESSAGE_SYNC)
        h.sequence = p != NULL ? p->next - 1 - (flags >> 4 & 3) : 0;
    if (h.type == IW_MESSAGE_SHORT) {
        const uint64_t stamp[2] = {STAMP + c->instance, h.sequence};
        more = sizeof(stamp);
        h.length = sizeof(stamp);
        memcpy(octets + IW_MESSAGE_HEADER, stamp, sizeof(stamp));
    } else if (h.type == IW_MESSAGE_ANNOUNCE) {
        h.count = (uint8_t)(1 + b % IW_MESSAGE_PIECES_MOST);
        for (unsigned i = 0; i < h.count; i++, more += IW_MESSAGE_PIECE, h.length += 5000)
            iw_message_put_piece(&(struct iw_message_piece){i << 16, 77 + i, 5000},
                                 octets + IW_MESSAGE_HEADER + more);
    } else if (h.type == IW_MESSAGE_LOAN) {
        h.loan = b;
        more = IW_MESSAGE_PIECE;
        iw_message_put_piece(&(struct iw_message_piece){(uint64_t)b << 32, b, 1u << (b % 24)},
                             octets + IW_MESSAGE_HEADER);
    } else if (h.type == IW_MESSAGE_WRITTEN) {
        h.loan = 1 + b % 8;
        h.length = 5000;
    }
    iw_message_put_header(&h, octets);
    if ((flags & BENT) != 0 && given >= 2)
        octets[record[HEAD] % (IW_MESSAGE_HEADER + (h.type == IW_MESSAGE_SHORT ? 0 : more))] ^=
            record[HEAD + 1];
    come(c, octets, IW_MESSAGE_HEADER + more);
}

static void complete_send(struct connection *c, bool ok)
{
    const struct posted first = c->sends[0];
    const struct iw_link *link = c->id.context;
    memmove(c->sends, c->sends + 1, --c->send_count * sizeof(c->sends[0]));
    ok &= !c->ended && !link->ending;
    if (first.opcode == IBV_WR_RDMA_READ && ok)
        memset(first.memory, 0x11, first.length);
    else
        iw_fuzz_touch(first.memory, first.length); /* still there */
    iw_link_complete(
        &world.m,
        &(struct ibv_wc){.wr_id = first.id, .status = ok ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR});
}

/* Completes what was posted; if the connection has ended, all of it. */
static void complete(struct connection *c, const uint8_t *record)
{
    for (unsigned i = 0; c->send_count > 0 && (i <= record[2] || c->ended); i++)
        complete_send(c, (record[1] & BENT) == 0);
    while (c->ended && c->receive_count > 0) {
        const uint64_t id = c->receives[--c->receive_count].id;
        iw_link_complete(&world.m, &(struct ibv_wc){.wr_id = id, .status = IBV_WC_WR_FLUSH_ERR});
    }
    iw_progress_step(&world.m);
}

/* ---- what the program does ---- */

static void give(const uint8_t *record)
{
    static uint8_t octets[1 << 16];
    const uint32_t stamp[2] = {STAMP, world.tags};
    const size_t length = record[2] < 200 ? sizeof(stamp) : (size_t)record[2] * record[3];
    if (world.tags == TAGS)
        return;
    memcpy(octets, stamp, sizeof(stamp));
    const struct iovec pieces[2] = {{octets, length < 5000 ? length : 5000},
                                    {octets + 5000, length < 5000 ? 0 : length - 5000}};
    const unsigned flags =
        IW_MESSAGES_NOWAIT | ((record[1] & OTHERWISE) != 0 ? IW_MESSAGES_NOTIFY : 0u);
    if (iw_messages_send(world.service, 8 + (record[1] & 1), pieces, 2, flags, world.tags) == 0)
        world.tags++;
}

static void got_message(const struct iw_message *got)
{
    uint64_t stamp[2];
    if (got->length != sizeof(stamp))
        return;
    IW_FUZZ_CHECK(got->data != NULL, "messages: %zu octets without a buffer", (size_t)got->length);
    memcpy(stamp, got->data, sizeof(stamp));
    if (stamp[0] <= STAMP || stamp[0] > STAMP + INSTANCES)
        return;
    uint64_t *came = &world.came[stamp[0] - STAMP];
    IW_FUZZ_CHECK(stamp[1] > *came, "messages: number %u comes after %u", (unsigned)stamp[1],
                  (unsigned)*came);
    *came = stamp[1];
}

static void take(unsigned count, bool lends)
{
    struct iw_message got;
    while (count-- > 0 && iw_messages_receive(world.service, &got, 0) == 0) {
        if (got.kind == IW_MESSAGES_MESSAGE) {
            if (got.data != NULL)
                iw_fuzz_touch(got.data, got.length);
            got_message(&got);
            (lends ? iw_messages_return : iw_messages_free)(&world.m, got.data);
            continue;
        }
        IW_FUZZ_CHECK(got.tag < world.tags && world.fates[got.tag]++ == 0,
                      "messages: two fates of one");
        IW_FUZZ_CHECK(got.kind != IW_MESSAGES_DELIVERED || got.length != 2 * sizeof(uint32_t) ||
                          world.transmitted[got.tag],
                      "messages: delivered and never sent");
    }
}

/* A process that is forgotten may begin anew. */
static void note_forgotten(void)
{
    for (unsigned i = 1; i <= INSTANCES; i++)
        if (iw_peer_find(&world.m, i) == NULL)
            world.came[i] = 0;
}

static void pass(uint64_t ms)
{
    world.now += ms * MS;
    iw_route_tick(&world.m, world.now);
    iw_peer_tick(&world.m, world.now);
    iw_link_tick(&world.m, world.now);
    iw_link_reap(&world.m, false);
    note_forgotten();
}

static void open_service(void)
{
    IW_FUZZ_CHECK(iw_messages_service(&world.m, 1, &world.service) == 0, "no memory");
}

static void renew(void)
{
    take(UINT32_MAX, false);
    iw_messages_shut(world.service);
    open_service();
    /* Of what the old one has sent nobody gets a report. */
    memset(world.fates, 1, world.tags);
}

static size_t carry_out(const uint8_t *record, size_t length)
{
    const size_t given = record[4] < length - HEAD ? record[4] : length - HEAD;
    struct connection *c = world.count > 0 ? &world.connections[record[2] % world.count] : NULL;
    const unsigned kind = record[0] % KINDS;
    if (kind == RAW || kind == MADE)
        c = world.count > 0 ? &world.connections[(record[0] / KINDS) % world.count] : NULL;
    if (c != NULL && (!c->used || c->id.context == NULL))
        c = NULL;
    if (kind == REQUEST)
        request(record, given);
    else if (kind == SEND)
        give(record);
    else if (kind == RECEIVE)
        take(1 + record[2], (record[1] & BENT) != 0);
    else if (kind == PASS)
        pass((uint64_t)record[2] << (record[3] % 16));
    else if (kind == RENEW)
        renew();
    else if (c != NULL && kind == EVENT)
        report(c, record, given);
    else if (c != NULL && kind == RAW)
        raw(c, record + HEAD, given);
    else if (c != NULL && kind == MADE)
        made(c, record, given);
    else if (c != NULL)
        complete(c, record);
    return HEAD + given;
}

/* ---- the end ---- */

static void end_connections(void)
{
    struct iw_link *link;
    TAILQ_FOREACH(link, &world.m.links, entry)
    iw_link_end(link);
    for (unsigned i = 0; i < world.count; i++) {
        world.connections[i].ended = true;
        if (world.connections[i].used)
            complete(&world.connections[i], (const uint8_t[HEAD]){0});
    }
    iw_link_reap(&world.m, false);
}

static void settle(void)
{
    /* Nobody answers any more. */
    for (unsigned i = 0; i < 8; i++) {
        end_connections();
        take(UINT32_MAX, false);
        pass(TIMEOUT / MS);
    }
    end_connections();
    take(UINT32_MAX, false);
    IW_FUZZ_CHECK(world.service->open == 0, "messages: %u have no fate", world.service->open);
    IW_FUZZ_CHECK(TAILQ_EMPTY(&world.m.links), "messages: a connection stays");
    iw_messages_shut(world.service);
    const struct iw_pool *pool = &world.m.pool;
    for (size_t i = 0; i < pool->buckets; i++)
        for (const struct iw_buffer *b = pool->table[i]; b != NULL; b = b->chain)
            IW_FUZZ_CHECK(!b->lent_out && b->offered == NULL, "messages: a buffer of %zu is lost",
                          b->room);
}

static void close_end(void)
{
    iw_peer_forget_all(&world.m);
    for (unsigned i = 0; i < IW_TABLE; i++)
        for (struct iw_route *r; (r = world.m.routes[i]) != NULL;) {
            world.m.routes[i] = r->chain;
            free(r);
        }
    for (struct iw_work_chunk *c; (c = world.m.work) != NULL;) {
        world.m.work = c->next;
        free(c);
    }
    iw_pool_close(&world.m.pool);
    IW_FUZZ_CHECK(world.regions == 0, "messages: %u regions stay registered", world.regions);
    pthread_mutex_destroy(&world.m.mutex);
}

static void open_end(uint8_t options)
{
    memset(&world, 0, sizeof(world));
    world.now = 1000000 * MS;
    messages_device_open();
    world.m.pd = &world.pd;
    world.m.cq = &world.cq;
    world.m.kick = -1;
    world.m.instance = 0xabcd;
    world.m.timeout = TIMEOUT;
    world.m.connections = 2 + options % 4;
    world.m.reads = 16;
    world.m.trusts_senders = true;
    world.m.address.ss_family = AF_INET;
    pthread_mutex_init(&world.m.mutex, NULL);
    TAILQ_INIT(&world.m.links);
    TAILQ_INIT(&world.m.unrouted);
    const size_t lockable = (options & 8) != 0 ? (size_t)8 << 20 : SIZE_MAX;
    IW_FUZZ_CHECK(iw_pool_open(&world.m.pool, &world.pd, (size_t)16 << 20, lockable) == 0,
                  "no memory");
    open_service();
    const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7)};
    IW_FUZZ_CHECK(iw_messages_place(&world.m, 8, (const struct sockaddr *)&at) == 0, "no memory");
}

static void run(const uint8_t *octets, size_t length)
{
    if (length == 0)
        return;
    open_end(octets[0]);
    octets++;
    length--;
    while (length >= HEAD) {
        const size_t used = carry_out(octets, length);
        octets += used;
        length -= used;
    }
    settle();
    close_end();
}

const struct iw_fuzz_harness iw_fuzz_harness = {.name = "messages", .most = MOST, .run = run};
