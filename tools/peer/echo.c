/* SPDX-License-Identifier: BSD-3-Clause */
/* echo: the listening side sends each Send back; the connecting side sends and compares. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "peer_program.h"

enum { LARGE = 16384 };

struct echo {
    size_t size;   /* octets of one buffer */
    uint64_t sent; /* connecting: messages so far */
    uint8_t *out;  /* connecting: the message under way */
    uint8_t *memory;
    size_t octets; /* of it */
};

static uint8_t *buffer(const struct peer_connection *pc, uint64_t i)
{
    struct echo *e = pc->state;
    return e->memory + i * e->size;
}

/* Allocates a buffer without clearing it: only received octets are sent back. A large one costs
 * nothing before a message comes, as none of its pages is touched. */
static uint8_t *take(size_t octets)
{
    if (octets < LARGE)
        return malloc(octets);
    void *pages = mmap(NULL, octets, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static int echo_open(struct peer_connection *pc)
{
    const struct peer *p = pc->peer;
    size_t size = (size_t)p->size;
    uint64_t buffers = p->listens ? p->buffers : 1;
    struct echo *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return -1;
    pc->state = e;
    e->size = size;
    e->octets = (size_t)(p->listens ? buffers : buffers + 1) * size;
    e->memory = take(e->octets);
    if (e->memory == NULL)
        return -1;
    e->out = e->memory + size;
    for (uint64_t i = 0; i < buffers; i++)
        if (!peer_post_recv(pc, i, buffer(pc, i), size))
            return -1;
    return 0;
}

static void send_next(struct peer_connection *pc)
{
    struct echo *e = pc->state;
    if (e->sent == pc->peer->count) {
        peer_done(pc);
        return;
    }
    for (size_t i = 0; i < e->size; i++)
        e->out[i] = (uint8_t)(i + e->sent);
    e->sent++;
    peer_send(pc, e->out, e->size);
}

static void server_completed(struct peer_connection *pc, const struct iw_completion *done)
{
    struct echo *e = pc->state;
    if (done->opcode == IW_WORK_RECV) {
        struct iw_iov sge = {buffer(pc, done->id), done->length};
        struct iw_work work = {.id = done->id, .opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
        if (done->immediate) { /* nothing is in the buffer */
            work.opcode = IW_WORK_IMMEDIATE;
            work.sge_count = 0;
            memcpy(work.immediate, done->immediate_data, sizeof(work.immediate));
        }
        peer_post(pc, &work);
    } else {
        peer_post_recv(pc, done->id, buffer(pc, done->id), e->size);
    }
}

static void client_completed(struct peer_connection *pc, const struct iw_completion *done)
{
    struct echo *e = pc->state;
    if (done->opcode != IW_WORK_RECV)
        return;
    if (done->immediate || done->length != e->size || memcmp(buffer(pc, 0), e->out, e->size) != 0) {
        peer_abort(pc, "message %llu came back changed", (unsigned long long)e->sent);
        return;
    }
    if (e->sent < pc->peer->count && !peer_post_recv(pc, 0, buffer(pc, 0), e->size))
        return;
    send_next(pc);
}

static void echo_close(struct peer_connection *pc)
{
    struct echo *e = pc->state;
    if (e == NULL)
        return;
    if (e->octets < LARGE)
        free(e->memory);
    else if (e->memory != NULL)
        munmap(e->memory, e->octets);
    free(e);
}

const struct personality peer_echo = {
    "echo", echo_open, send_next, {client_completed, server_completed}, echo_close};
