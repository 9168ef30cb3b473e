/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages_spy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum messages_lie messages_lie;
struct messages_given messages_given[8];
unsigned messages_given_count;
static unsigned given, flushed /* receives */, ticks[3];
static uint64_t last_tick[3];
static uint8_t given_data[32];

bool __real_iw_link_event(struct iw_messages *m);
bool __wrap_iw_link_event(struct iw_messages *m);
int __real_iw_pool_open(struct iw_pool *p, struct ibv_pd *pd, size_t most, size_t lockable);
int __wrap_iw_pool_open(struct iw_pool *p, struct ibv_pd *pd, size_t most, size_t lockable);
void __real_iw_link_complete(struct iw_messages *m, const struct ibv_wc *wc);
void __wrap_iw_link_complete(struct iw_messages *m, const struct ibv_wc *wc);
void __real_iw_link_tick(struct iw_messages *m, uint64_t now);
void __wrap_iw_link_tick(struct iw_messages *m, uint64_t now);
bool __real_iw_link_reap(struct iw_messages *m, bool all);
bool __wrap_iw_link_reap(struct iw_messages *m, bool all);
void __real_iw_peer_tick(struct iw_messages *m, uint64_t now);
void __wrap_iw_peer_tick(struct iw_messages *m, uint64_t now);
void __real_iw_route_tick(struct iw_messages *m, uint64_t now);
void __wrap_iw_route_tick(struct iw_messages *m, uint64_t now);
int __real_iw_messages_send(struct iw_service *s, uint32_t to, const struct iovec *pieces,
                            unsigned count, unsigned flags, uint64_t tag);
int __wrap_iw_messages_send(struct iw_service *s, uint32_t to, const struct iovec *pieces,
                            unsigned count, unsigned flags, uint64_t tag);
int __real_iw_messages_receive(struct iw_service *s, struct iw_message *out, int timeout_ms);
int __wrap_iw_messages_receive(struct iw_service *s, struct iw_message *out, int timeout_ms);
void __real_iw_messages_free(struct iw_messages *m, void *data);
void __wrap_iw_messages_free(struct iw_messages *m, void *data);
void __real_iw_messages_return(struct iw_messages *m, void *data);
void __wrap_iw_messages_return(struct iw_messages *m, void *data);
void __real_iw_messages_shut(struct iw_service *s);
void __wrap_iw_messages_shut(struct iw_service *s);
void __real_iw_peer_forget_all(struct iw_messages *m);
void __wrap_iw_peer_forget_all(struct iw_messages *m);

int messages_spy_set_up(void **state)
{
    (void)state;
    messages_lie = MESSAGES_NO_LIE;
    messages_given_count = given = flushed = 0;
    memset(ticks, 0, sizeof(ticks));
    memset(last_tick, 0, sizeof(last_tick));
    spy_forget();
    return 0;
}

bool __wrap_iw_link_event(struct iw_messages *m)
{
    const struct rdma_cm_event *e = &world.event;
    const struct connection *c = (const struct connection *)(const void *)e->id;
    if (world.event_there) {
        spy_note("%td: event %d status %d ", c - world.connections, e->event, e->status);
        spy_note_octets(e->param.conn.private_data, e->param.conn.private_data_len);
        spy_note("\n");
    }
    return __real_iw_link_event(m);
}

int __wrap_iw_pool_open(struct iw_pool *p, struct ibv_pd *pd, size_t most, size_t lockable)
{
    assert_int_equal(most, 16 << 20);
    if (lockable != SIZE_MAX)
        spy_note("%zu may be locked\n", lockable);
    return __real_iw_pool_open(p, pd, most, lockable);
}

/* The fields of a header, and what follows it. */
static void note_come(const uint8_t *octets, size_t length)
{
    spy_note(" ");
    if (length < IW_MESSAGE_HEADER) {
        spy_note_octets(octets, length);
        return;
    }
    static const uint8_t sizes[] = {4, 8, 8, 8, 8, 8, 4, 4, 4, 4};
    spy_note_octets(octets, 4);
    const uint8_t *at = octets + 4;
    for (unsigned i = 0; i < sizeof(sizes); i++) {
        uint64_t value = 0;
        for (unsigned k = 0; k < sizes[i]; k++)
            value = value << 8 | *at++;
        spy_note(" %" PRIx64, value);
    }
    spy_note(length > IW_MESSAGE_HEADER ? " " : "");
    spy_note_octets(at, length - IW_MESSAGE_HEADER);
}

void __wrap_iw_link_complete(struct iw_messages *m, const struct ibv_wc *wc)
{
    const struct iw_work_item *item = (const struct iw_work_item *)(uintptr_t)wc->wr_id;
    const struct connection *c = (const struct connection *)(const void *)item->link->id;
    const char *const kinds[] = {"came", "control", "message", "read"};
    if (item->kind == IW_WORK_RECEIVE && wc->status != IBV_WC_SUCCESS && wc->byte_len == 0) {
        flushed++;
        __real_iw_link_complete(m, wc);
        return;
    }
    spy_note("%td: %s %s", c - world.connections, kinds[item->kind],
             wc->status == IBV_WC_SUCCESS        ? "ok"
             : wc->status == IBV_WC_WR_FLUSH_ERR ? "flushed"
                                                 : "?");
    if (item->kind == IW_WORK_RECEIVE && wc->byte_len > 0)
        note_come(item->of.buffer->data - IW_POOL_HEADER, wc->byte_len);
    spy_note("\n");
    __real_iw_link_complete(m, wc);
}

/* Those of the end, 100 ms apart, are only counted. */
static void note_tick(unsigned which, uint64_t now)
{
    static const char *const names[] = {"routes", "peers", "links"};
    const uint64_t ms = now / 1000000 - 1000000;
    if (ms - last_tick[which] == 100)
        ticks[which]++;
    else
        spy_note("%s %" PRIu64 "%s", names[which], ms, which == 2 ? "\n" : " ");
    last_tick[which] = ms;
}

void __wrap_iw_link_tick(struct iw_messages *m, uint64_t now)
{
    note_tick(2, now);
    __real_iw_link_tick(m, now);
    if (messages_lie == MESSAGES_KEEPS_OPEN)
        world.service->open = 7;
}

void __wrap_iw_peer_tick(struct iw_messages *m, uint64_t now)
{
    note_tick(1, now);
    __real_iw_peer_tick(m, now);
}

void __wrap_iw_route_tick(struct iw_messages *m, uint64_t now)
{
    note_tick(0, now);
    __real_iw_route_tick(m, now);
}

bool __wrap_iw_link_reap(struct iw_messages *m, bool all)
{
    return messages_lie == MESSAGES_KEEPS_LINKS ? false : __real_iw_link_reap(m, all);
}

int __wrap_iw_messages_send(struct iw_service *s, uint32_t to, const struct iovec *pieces,
                            unsigned count, unsigned flags, uint64_t tag)
{
    const int result = __real_iw_messages_send(s, to, pieces, count, flags, tag);
    spy_note("send %" PRIu64 " to %u flags %u:", tag, to, flags);
    for (unsigned i = 0; i < count; i++)
        spy_note(" %zu", pieces[i].iov_len);
    spy_note(" ");
    spy_note_octets(pieces[0].iov_base, 8);
    spy_note(" is %d\n", result);
    return result;
}

int __wrap_iw_messages_receive(struct iw_service *s, struct iw_message *out, int timeout_ms)
{
    assert_int_equal(timeout_ms, 0);
    assert_ptr_equal(s, world.service);
    if (given < messages_given_count) {
        const struct messages_given *g = &messages_given[given++];
        const uint64_t stamp[] = {g->stamp, g->number};
        memcpy(given_data, stamp, sizeof(stamp));
        *out = (struct iw_message){.kind = g->kind, .tag = g->tag, .length = g->length};
        out->data = g->kind == IW_MESSAGES_MESSAGE && g->length > 0 ? given_data : NULL;
        return 0;
    }
    const int result = __real_iw_messages_receive(s, out, timeout_ms);
    if (result == 0)
        spy_note("got kind %d tag %" PRIu64 " of %zu error %d\n", out->kind, out->tag, out->length,
                 out->error);
    return result;
}

void __wrap_iw_messages_free(struct iw_messages *m, void *data)
{
    spy_note("freed\n");
    if (data != given_data)
        __real_iw_messages_free(m, data);
}

void __wrap_iw_messages_return(struct iw_messages *m, void *data)
{
    spy_note("returned\n");
    if (data != given_data)
        __real_iw_messages_return(m, data);
}

void __wrap_iw_messages_shut(struct iw_service *s)
{
    spy_note("shut, %u flushed, %u %u %u ticks\n", flushed, ticks[0], ticks[1], ticks[2]);
    __real_iw_messages_shut(s);
    static struct ibv_mr offered;
    const struct iw_pool *pool = &world.m.pool;
    for (size_t i = 0; i < pool->buckets; i++) {
        for (struct iw_buffer *b = pool->table[i]; b != NULL; b = b->chain) {
            if (b->room != 16384) /* that of the one long message */
                continue;
            b->lent_out |= messages_lie == MESSAGES_KEEPS_BUFFER;
            if (messages_lie == MESSAGES_KEEPS_OFFER)
                b->offered = &offered;
        }
    }
}

void __wrap_iw_peer_forget_all(struct iw_messages *m)
{
    __real_iw_peer_forget_all(m);
    world.regions += messages_lie == MESSAGES_KEEPS_REGION;
}

const char *messages_fault(const char *hex)
{
    static char said[400];
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const char *text = spy_runs(&iw_fuzz_harness, hex);
        _exit(write(ends[1], text, strlen(text)) == (ssize_t)strlen(text) ? 0 : 1);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; (n = read(ends[0], said + length, sizeof(said) - 1 - length)) > 0;)
        length += (size_t)n;
    said[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return said;
}
