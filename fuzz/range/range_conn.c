/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OPCODES = 12, QUEUES = 4, GAPS = 16, IN_ROOM = 2 * RANGE_CHUNK + 16 };

static void *got(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

/* MULPDU, RFC 5044 §4.5: that which fits into a TCP segment with Markers. */
static size_t mulpdu_of(int fd)
{
    enum { LEAST = 128, HEAD = 6, INTERVAL = 512, MARKER = 4, MSS = 1460 };
    int mss = MSS;
    socklen_t size = sizeof(mss);
    if (getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &size) != 0 || mss < LEAST)
        mss = MSS;
    size_t emss = (size_t)mss;
    size_t most = emss - (HEAD + MARKER * ((emss + INTERVAL - 1) / INTERVAL) + emss % MARKER);
    return most > RANGE_ULPDU ? RANGE_ULPDU : most < LEAST ? LEAST : most;
}

struct range_conn *range_conn_new(int fd, bool initiator, uint64_t now)
{
    /* Of the first three, the lengths with which iwarp-fuzz counts. */
    static const size_t lengths[RANGE_REGIONS] = {256, 256, 64, 4096};
    struct range_conn *c = got(calloc(1, sizeof(*c)));
    *c = (struct range_conn){.fd = fd,
                             .initiator = initiator,
                             .first = true,
                             .deadline = now + RANGE_STARTUP_MS,
                             .send_msn = 1,
                             .request_msn = 1,
                             .atomic_msn = 1,
                             .mulpdu = mulpdu_of(fd)};
    c->in = got(malloc(IN_ROOM));
    c->opcode_counts = got(calloc(OPCODES, sizeof(*c->opcode_counts)));
    c->queue_counts = got(calloc(QUEUES, sizeof(*c->queue_counts)));
    c->gaps = got(calloc(GAPS, sizeof(*c->gaps)));
    for (unsigned i = 0; i < RANGE_RECEIVES; i++) {
        c->receives[i] = got(calloc(1, sizeof(*c->receives[i])));
        c->receives[i]->data = got(malloc(RANGE_RECEIVE));
    }
    for (unsigned i = 0; i < RANGE_REGIONS; i++)
        c->regions[i] = (struct range_region){.stag = RANGE_STAG + i,
                                              .valid = true,
                                              .writable = i % 2 == 0,
                                              .length = lengths[i],
                                              .data = got(calloc(1, lengths[i]))};
    if (initiator)
        range_startup_request(c);
    return c;
}

void range_conn_free(struct range_conn *c)
{
    close(c->fd);
    for (unsigned i = 0; i < RANGE_RECEIVES; i++) {
        free(c->receives[i]->data);
        free(c->receives[i]);
    }
    for (unsigned i = 0; i < RANGE_REGIONS; i++)
        if (!c->regions[i].freed)
            free(c->regions[i].data);
    if (!range_bug(RANGE_BUG_MESSAGE_LEAK))
        free(c->message);
    free(c->kept);
    free(c->terminate);
    free(c->private);
    free(c->gaps);
    free(c->queue_counts);
    free(c->opcode_counts);
    free(c->out);
    free(c->in);
    free(c);
}

void range_conn_queue(struct range_conn *c, const uint8_t *octets, size_t length)
{
    if (c->out_length + length > c->out_room) {
        c->out_room = 2 * (c->out_length + length);
        c->out = got(realloc(c->out, c->out_room));
    }
    memcpy(c->out + c->out_length, octets, length);
    c->out_length += length;
}

void range_conn_finish(struct range_conn *c, uint64_t now)
{
    if (c->state >= RANGE_DRAINING)
        return;
    c->state = RANGE_DRAINING;
    c->deadline = now + RANGE_DRAIN_MS;
}

static void drop(struct range_conn *c, size_t length)
{
    memmove(c->in, c->in + length, c->in_length - length);
    c->in_length -= length;
}

static void startup(struct range_conn *c, uint64_t now)
{
    int taken = range_startup_take(c);
    if (taken < 0)
        range_conn_finish(c, now);
    else
        drop(c, (size_t)taken);
}

void range_conn_resume(struct range_conn *c, uint64_t now)
{
    if (c->state == RANGE_FULL)
        drop(c, range_fpdu_take(c, now));
}

bool range_conn_reads(const struct range_conn *c)
{
    return !c->fin && c->out_length <= RANGE_BACKLOG && c->in_length <= IN_ROOM - RANGE_CHUNK;
}

static void ended(struct range_conn *c, uint64_t now)
{
    if (c->state == RANGE_FULL && c->in_length > 0)
        range_fpdu_cut(c, c->in_length);
    c->fin = true;
    range_conn_finish(c, now);
}

void range_conn_take(struct range_conn *c, const uint8_t *octets, size_t length, uint64_t now)
{
    if (length == 0) {
        ended(c, now);
        return;
    }
    if (c->state == RANGE_DRAINING) {
        c->drained += length;
        if (c->drained > RANGE_DRAIN)
            c->state = RANGE_GONE;
        return;
    }
    memcpy(c->in + c->in_length, octets, length);
    c->in_length += length;
    if (c->in_length == length && c->state == RANGE_STARTUP_WAIT)
        range_count_connection();
    if (c->state == RANGE_STARTUP_WAIT)
        startup(c, now);
    range_conn_resume(c, now);
}
