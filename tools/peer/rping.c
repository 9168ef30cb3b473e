/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rping: both sides of the exchange that librdmacm's rping makes. The client Sends where its
 * source buffer is; the server Reads it and Sends a go-ahead; the client Sends where its sink is;
 * the server Writes the data there and Sends a go-ahead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/octets.h"
#include "peer_program.h"

enum {
    INFO = 16,             /* octets: address 8, STag 4, length 4 */
    LARGEST = 1024 * 1024, /* octets that a server lets a client ask for */
    FIRST_CHAR = 'A',
    CHARS = 'z' - FIRST_CHAR + 1
};

struct rping {
    struct iw_region source, sink; /* client; a server has only the sink of its reads */
    size_t length;                 /* server: octets in force */
    bool answering;                /* server: the info at hand names the client's sink */
    bool busy;                     /* server: a Read or Write is under way */
    uint64_t exchanges;
    uint8_t in[2][INFO], out[INFO];
};

/* The text of an exchange: its number, then a run of characters that starts one later each time. */
static void fill_pattern(uint8_t *data, size_t length, uint64_t exchange)
{
    char head[40];
    size_t head_length =
        (size_t)snprintf(head, sizeof(head), "rdma-ping-%llu: ", (unsigned long long)exchange);
    for (size_t i = 0; i < length; i++) {
        unsigned step = (unsigned)((exchange + i - head_length) % CHARS);
        data[i] = i < head_length ? (uint8_t)head[i] : (uint8_t)(FIRST_CHAR + step);
    }
    data[length - 1] = 0;
}

static int register_buffer(struct peer_connection *pc, struct iw_region *region, size_t length,
                           uint32_t access)
{
    uint8_t *memory = calloc(1, length);
    if (memory == NULL)
        return -1;
    *region = (struct iw_region){.base = memory,
                                 .length = length,
                                 .to = (uint64_t)(uintptr_t)memory,
                                 .pd = pc->peer->options.endpoint.pd,
                                 .access = access,
                                 .stream = iw_endpoint_stream(pc->ep)};
    if (iw_domain_register(pc->peer->domain, region) == 0)
        return 0;
    free(memory);
    region->base = NULL;
    return -1;
}

static void release_buffer(struct peer_connection *pc, struct iw_region *region)
{
    if (region->base != NULL) {
        iw_domain_deregister(pc->peer->domain, region->stag);
        free(region->base);
    }
    region->base = NULL;
}

/* ---- messages ---- */

static void send_message(struct peer_connection *pc)
{
    peer_send(pc, ((struct rping *)pc->state)->out, INFO);
}

static void send_info(struct peer_connection *pc, const struct iw_region *region)
{
    struct rping *r = pc->state;
    iw_put64(r->out, region->to);
    iw_put32(r->out + 8, region->stag);
    iw_put32(r->out + 12, (uint32_t)region->length);
    send_message(pc);
}

/* ---- the client ---- */

static void client_begin(struct peer_connection *pc)
{
    struct rping *r = pc->state;
    if (r->exchanges == pc->peer->count) {
        printf("rping: %llu exchanges of %llu octets%s\n", (unsigned long long)r->exchanges,
               (unsigned long long)r->source.length, pc->peer->verify ? ", verified" : "");
        fflush(stdout);
        peer_done(pc);
        return;
    }
    fill_pattern(r->source.base, r->source.length, r->exchanges);
    r->answering = false;
    send_info(pc, &r->source);
}

static void client_go_ahead(struct peer_connection *pc)
{
    struct rping *r = pc->state;
    if (!r->answering) {
        r->answering = true;
        send_info(pc, &r->sink);
        return;
    }
    if (pc->peer->verify && memcmp(r->source.base, r->sink.base, r->source.length) != 0) {
        peer_abort(pc, "exchange %llu: the data came back changed",
                   (unsigned long long)r->exchanges);
        return;
    }
    memset(r->sink.base, 0, r->sink.length);
    r->exchanges++;
    client_begin(pc);
}

/* ---- the server ---- */

/* Reads what the client's buffer holds, or Writes it back. */
static void server_info(struct peer_connection *pc, const uint8_t *info)
{
    struct rping *r = pc->state;
    uint32_t length = iw_get32(info + 12);
    struct iw_iov sge = {r->sink.base, length};
    if (r->busy) {
        peer_abort(pc, "the client sends out of turn");
        return;
    }
    if (length == 0 || length > LARGEST || (r->answering && length != r->length)) {
        peer_abort(pc, "the client offers a buffer of %u octets, expected %s", length,
                   r->answering ? "as many as before" : "1 to 1048576");
        return;
    }
    r->length = length;
    r->busy = true;
    struct iw_work work = {.remote_to = iw_get64(info), .remote_stag = iw_get32(info + 8)};
    if (r->answering) {
        work.opcode = IW_WORK_WRITE;
        work.sge = &sge;
        work.sge_count = 1;
    } else {
        work.opcode = IW_WORK_READ;
        work.sink_stag = r->sink.stag;
        work.sink_to = r->sink.to;
        work.length = length;
    }
    peer_post(pc, &work);
}

static void server_verify(struct peer_connection *pc)
{
    struct rping *r = pc->state;
    uint8_t *expected = malloc(r->length);
    if (expected != NULL)
        fill_pattern(expected, r->length, r->exchanges);
    bool same = expected != NULL && memcmp(expected, r->sink.base, r->length) == 0;
    free(expected);
    if (!same)
        peer_abort(pc, "exchange %llu: not the data of rping", (unsigned long long)r->exchanges);
}

static void server_completed(struct peer_connection *pc, enum iw_work_opcode opcode)
{
    struct rping *r = pc->state;
    if (opcode == IW_WORK_READ && pc->peer->verify)
        server_verify(pc);
    r->busy = false;
    r->answering = opcode == IW_WORK_READ;
    r->exchanges += opcode == IW_WORK_WRITE;
    memset(r->out, 0, INFO);
    send_message(pc);
}

/* ---- both ---- */

static int rping_open(struct peer_connection *pc)
{
    const struct peer *p = pc->peer;
    struct rping *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return -1;
    pc->state = r;
    if (p->listens ? register_buffer(pc, &r->sink, LARGEST, IW_ACCESS_LOCAL_WRITE)
                   : register_buffer(pc, &r->source, (size_t)p->size, IW_ACCESS_REMOTE_READ) ||
                         register_buffer(pc, &r->sink, (size_t)p->size, IW_ACCESS_REMOTE_WRITE))
        return -1;
    for (unsigned i = 0; i < 2; i++)
        if (!peer_post_recv(pc, i, r->in[i], INFO))
            return -1;
    return 0;
}

static void received(struct peer_connection *pc, const struct iw_completion *done)
{
    struct rping *r = pc->state;
    uint8_t info[INFO];
    if (done->length != INFO) {
        peer_abort(pc, "a message of %u octets came, expected %d", done->length, INFO);
        return;
    }
    memcpy(info, r->in[done->id], INFO);
    if (!peer_post_recv(pc, done->id, r->in[done->id], INFO))
        return;
    if (pc->peer->listens)
        server_info(pc, info);
    else
        client_go_ahead(pc);
}

static void rping_completed(struct peer_connection *pc, const struct iw_completion *done)
{
    if (done->opcode == IW_WORK_RECV)
        received(pc, done);
    else if (done->opcode == IW_WORK_READ || done->opcode == IW_WORK_WRITE)
        server_completed(pc, done->opcode);
}

static void rping_close(struct peer_connection *pc)
{
    struct rping *r = pc->state;
    if (r == NULL)
        return;
    release_buffer(pc, &r->source);
    release_buffer(pc, &r->sink);
    free(r);
}

const struct personality peer_rping = {
    "rping", rping_open, client_begin, {rping_completed, rping_completed}, rping_close};
