/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided work on a switched socket: memory, requests, completions. */
#include "switched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/engine.h"

/* ---- memory ---- */

static uint32_t access_of(unsigned rights)
{
    uint32_t access = 0;
    if ((rights & IW_SOCKETS_READABLE) != 0)
        access |= IW_ACCESS_REMOTE_READ;
    if ((rights & IW_SOCKETS_WRITABLE) != 0)
        access |= IW_ACCESS_REMOTE_WRITE;
    if ((rights & IW_SOCKETS_ATOMIC) != 0)
        access |= IW_ACCESS_REMOTE_ATOMIC;
    return access;
}

/* With the lock. Returns 0 or an errno. */
static int register_memory(struct iw_switched *s, void *memory, size_t length, uint32_t access,
                           struct iw_region *region)
{
    *region =
        (struct iw_region){.base = memory,
                           .length = length,
                           .to = (uint64_t)(uintptr_t)memory,
                           .pd = s->pd,
                           .access = access,
                           .stream = iw_endpoint_stream(iw_connection_endpoint(s->connection))};
    switch (iw_domain_register(iw_verbs_domain(), region)) {
    case 0:
        return 0;
    case -1:
        return ENOMEM;
    default:
        return EINVAL;
    }
}

static int advertise(struct iw_switched *s, void *memory, size_t length, unsigned rights,
                     struct iw_sockets_memory *out)
{
    const unsigned known = IW_SOCKETS_READABLE | IW_SOCKETS_WRITABLE | IW_SOCKETS_ATOMIC;
    struct iw_region region;
    int error = iw_switched_error(s);
    if (error == 0 && s->connection == NULL)
        error = ENOTCONN;
    if (error == 0 && (memory == NULL || length == 0 || rights == 0 || (rights & ~known) != 0))
        error = EINVAL;
    struct iw_switched_region *kept = error == 0 ? malloc(sizeof(*kept)) : NULL;
    if (error != 0 || kept == NULL)
        return error != 0 ? error : ENOMEM;
    error = register_memory(s, memory, length, access_of(rights), &region);
    if (error != 0) {
        free(kept);
        return error;
    }
    kept->stag = region.stag;
    LIST_INSERT_HEAD(&s->regions, kept, entry);
    *out = (struct iw_sockets_memory){region.stag, region.to, region.length};
    return 0;
}

int iw_switched_advertise(struct iw_switched *s, void *memory, size_t length, unsigned rights,
                          struct iw_sockets_memory *out)
{
    iw_verbs_lock();
    const int error = advertise(s, memory, length, rights, out);
    iw_verbs_unlock();
    errno = error;
    return error == 0 ? 0 : -1;
}

static void forget(struct iw_switched_region *region)
{
    (void)iw_domain_deregister(iw_verbs_domain(), region->stag);
    LIST_REMOVE(region, entry);
    free(region);
}

int iw_switched_withdraw(struct iw_switched *s, uint32_t stag)
{
    struct iw_switched_region *region;
    iw_verbs_lock();
    LIST_FOREACH(region, &s->regions, entry)
    if (region->stag == stag)
        break;
    if (region != NULL)
        forget(region);
    iw_verbs_unlock();
    errno = EINVAL;
    return region != NULL ? 0 : -1;
}

void iw_switched_forget_memory(struct iw_switched *s)
{
    while (!LIST_EMPTY(&s->regions))
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes the region out of the list */
        forget(LIST_FIRST(&s->regions));
    for (unsigned i = 0; i < IW_SOCKETS_POSTS; i++) {
        if (s->posts[i].sink != 0)
            (void)iw_domain_deregister(iw_verbs_domain(), s->posts[i].sink);
        s->posts[i].sink = 0;
    }
}

/* ---- completions ---- */

/* Returns the place of a new completion; NULL without memory. */
static struct iw_sockets_completion *push(struct iw_switched *s)
{
    if (s->done_count == s->done_room) {
        const size_t room = s->done_room == 0 ? IW_SOCKETS_POSTS : 2 * s->done_room;
        struct iw_sockets_completion *grown = malloc(room * sizeof(*grown));
        if (grown == NULL)
            return NULL;
        for (size_t i = 0; i < s->done_count; i++)
            grown[i] = s->done[(s->done_start + i) % s->done_room];
        free(s->done);
        s->done = grown;
        s->done_room = room;
        s->done_start = 0;
    }
    struct iw_sockets_completion *c = &s->done[(s->done_start + s->done_count++) % s->done_room];
    memset(c, 0, sizeof(*c));
    return c;
}

static int error_of(enum iw_status status)
{
    static const int errors[] = {[IW_STATUS_OK] = 0,
                                 [IW_STATUS_FLUSHED] = ECANCELED,
                                 [IW_STATUS_LOCAL_FAULT] = EPROTO,
                                 [IW_STATUS_REMOTE_FAULT] = EREMOTEIO};
    return errors[status];
}

static void take_immediate(struct iw_switched *s, const struct iw_completion *c)
{
    struct iw_sockets_completion *done = s->orphan ? NULL : push(s);
    if (done == NULL)
        return;
    done->operation = IW_SOCKETS_OP_IMMEDIATE_CAME;
    done->length = sizeof(done->immediate);
    memcpy(done->immediate, c->immediate_data, sizeof(done->immediate));
    s->immediate++;
}

static void take_request(struct iw_switched *s, const struct iw_completion *c)
{
    struct iw_switched_post *post = &s->posts[c->id];
    struct iw_sockets_completion *done = s->orphan ? NULL : push(s);
    if (post->sink != 0)
        (void)iw_domain_deregister(iw_verbs_domain(), post->sink);
    post->sink = 0;
    post->taken = false;
    if (done == NULL)
        return;
    done->id = post->request.id;
    done->operation = post->request.operation;
    done->error = error_of(c->status);
    done->length = c->length;
    done->original = c->original;
}

void iw_switched_take_completions(struct iw_switched *s)
{
    struct iw_completion list[16];
    struct iw_endpoint *ep = iw_connection_endpoint(s->connection);
    size_t count;
    while ((count = iw_endpoint_poll(ep, list, sizeof(list) / sizeof(list[0]))) > 0)
        for (size_t i = 0; i < count; i++) {
            const struct iw_completion *c = &list[i];
            if (c->opcode != IW_WORK_RECV && (c->id & IW_SWITCHED_ID_SEND) != 0)
                iw_switched_sent(s, (size_t)(c->id & ~IW_SWITCHED_ID_SEND));
            else if (c->opcode != IW_WORK_RECV)
                take_request(s, c);
            else
                iw_switched_received(s, c->status == IW_STATUS_OK && !c->immediate ? c->length : 0);
            if (c->opcode == IW_WORK_RECV && c->immediate && c->status == IW_STATUS_OK)
                take_immediate(s, c);
        }
}

/* ---- requests ---- */

static bool is_atomic(enum iw_sockets_operation operation)
{
    return operation == IW_SOCKETS_OP_FETCH_ADD || operation == IW_SOCKETS_OP_CMP_SWAP;
}

static enum iw_work_opcode opcode_of(enum iw_sockets_operation operation)
{
    static const enum iw_work_opcode opcodes[] = {
        [IW_SOCKETS_OP_SEND] = IW_WORK_SEND,         [IW_SOCKETS_OP_WRITE] = IW_WORK_WRITE,
        [IW_SOCKETS_OP_READ] = IW_WORK_READ,         [IW_SOCKETS_OP_FETCH_ADD] = IW_WORK_FETCH_ADD,
        [IW_SOCKETS_OP_CMP_SWAP] = IW_WORK_CMP_SWAP, [IW_SOCKETS_OP_IMMEDIATE] = IW_WORK_IMMEDIATE};
    return opcodes[operation];
}

/* Returns 0 if the request is well-formed, else an errno. */
static int check_request(const struct iw_sockets_request *r)
{
    const bool list = r->operation == IW_SOCKETS_OP_SEND || r->operation == IW_SOCKETS_OP_WRITE;
    uint64_t total = 0;
    if ((unsigned)r->operation > IW_SOCKETS_OP_IMMEDIATE || (r->flags & ~IW_SOCKETS_FENCE) != 0 ||
        r->piece_count > IW_SOCKETS_PIECES || (r->piece_count > 0 && r->pieces == NULL))
        return EINVAL;
    if (!list && r->piece_count != (r->operation == IW_SOCKETS_OP_READ ? 1 : 0))
        return EINVAL;
    for (size_t i = 0; i < r->piece_count; i++) {
        if (r->pieces[i].iov_len > UINT32_MAX - total)
            return EINVAL;
        total += r->pieces[i].iov_len;
    }
    return is_atomic(r->operation) && r->to % 8 != 0 ? EINVAL : 0;
}

static int state_error(const struct iw_switched *s)
{
    const int error = iw_switched_error(s);
    if (error != 0)
        return error == EINPROGRESS ? ENOTCONN : error;
    if (s->connection == NULL)
        return ENOTCONN;
    return s->write_shut ? EPIPE : 0;
}

static struct iw_switched_post *free_post(struct iw_switched *s)
{
    if (s->posted >= IW_SOCKETS_POSTS)
        return NULL;
    for (unsigned i = 0; i < IW_SOCKETS_POSTS; i++)
        if (!s->posts[i].taken)
            return &s->posts[i];
    return NULL;
}

/* A Read's octets go into a region of its own, which lives as long as the request. */
static int make_sink(struct iw_switched *s, const struct iovec *piece,
                     struct iw_switched_post *post, struct iw_work *work)
{
    struct iw_region region;
    work->length = (uint32_t)piece->iov_len;
    if (piece->iov_len == 0)
        return 0;
    const int error =
        register_memory(s, piece->iov_base, piece->iov_len, IW_ACCESS_LOCAL_WRITE, &region);
    if (error != 0)
        return error;
    post->sink = region.stag;
    work->sink_stag = region.stag;
    work->sink_to = region.to;
    return 0;
}

static int post_error(const struct iw_switched *s, const struct iw_work *work, int result)
{
    const struct iw_mpa_agreed *agreed = iw_endpoint_agreed(iw_connection_endpoint(s->connection));
    const bool reads = work->opcode == IW_WORK_READ || work->opcode == IW_WORK_FETCH_ADD ||
                       work->opcode == IW_WORK_CMP_SWAP;
    switch (result) {
    case IW_OK:
        return 0;
    case IW_ERR_FULL:
        return EAGAIN;
    case IW_ERR_STATE:
        return s->error != 0 ? s->error : ECONNRESET;
    default:
        return reads && agreed != NULL && agreed->ord == 0 ? EOPNOTSUPP : EINVAL;
    }
}

static int post(struct iw_switched *s, const struct iw_sockets_request *r)
{
    int error = check_request(r);
    if (error == 0)
        error = state_error(s);
    struct iw_switched_post *at = error == 0 ? free_post(s) : NULL;
    if (at == NULL)
        return error != 0 ? error : EAGAIN;
    struct iw_iov pieces[IW_SOCKETS_PIECES];
    const bool list = r->operation == IW_SOCKETS_OP_SEND || r->operation == IW_SOCKETS_OP_WRITE;
    struct iw_work work = {.id = (uint64_t)(at - s->posts),
                           .opcode = opcode_of(r->operation),
                           .flags = (r->flags & IW_SOCKETS_FENCE) != 0 ? IW_WORK_FENCE : 0,
                           .sge = pieces,
                           .sge_count = list ? r->piece_count : 0,
                           .remote_stag = r->stag,
                           .remote_to = r->to,
                           .add_swap = r->operation == IW_SOCKETS_OP_CMP_SWAP ? r->swap : r->add,
                           .add_swap_mask = r->operation == IW_SOCKETS_OP_CMP_SWAP ? UINT64_MAX : 0,
                           .compare = r->compare,
                           .compare_mask = UINT64_MAX};
    memcpy(work.immediate, r->immediate, sizeof(work.immediate));
    for (size_t i = 0; i < work.sge_count; i++)
        pieces[i] = (struct iw_iov){r->pieces[i].iov_base, r->pieces[i].iov_len};
    at->sink = 0;
    if (r->operation == IW_SOCKETS_OP_READ)
        error = make_sink(s, r->pieces, at, &work);
    if (error == 0)
        error = post_error(
            s, &work,
            iw_endpoint_post(iw_connection_endpoint(s->connection), &work, iw_transport_now()));
    if (error != 0) {
        if (at->sink != 0)
            (void)iw_domain_deregister(iw_verbs_domain(), at->sink);
        at->sink = 0;
        return error;
    }
    at->request = *r;
    at->taken = true;
    s->posted++;
    iw_connection_flush(s->connection);
    return 0;
}

int iw_switched_post(struct iw_switched *s, const struct iw_sockets_request *request)
{
    iw_verbs_lock();
    const int error = post(s, request);
    iw_verbs_unlock();
    errno = error;
    return error == 0 ? 0 : -1;
}

/* ---- polling ---- */

static bool has_work(const void *context)
{
    const struct iw_switched *s = context;
    return s->done_count > 0 || s->state >= IW_SWITCHED_PLAIN;
}

static int take_done(struct iw_switched *s, struct iw_sockets_completion *out, int room)
{
    int count = 0;
    while (count < room && s->done_count > 0) {
        out[count] = s->done[s->done_start];
        s->done_start = (s->done_start + 1) % s->done_room;
        s->done_count--;
        if (out[count].operation == IW_SOCKETS_OP_IMMEDIATE_CAME)
            s->immediate--;
        else
            s->posted--;
        count++;
    }
    if (count > 0)
        iw_switched_update(s);
    return count;
}

/* Takes what is done, if need be after a look at what has come. Returns how much that is, or -1
 * with errno set if nothing can come any more. */
static int poll_now(struct iw_switched *s, struct iw_sockets_completion *out, int room)
{
    if (s->done_count == 0)
        iw_verbs_poll();
    const int count = take_done(s, out, room);
    if (count > 0 || s->state < IW_SWITCHED_PLAIN)
        return count;
    const int error = iw_switched_error(s);
    errno = error != 0 ? error : ENOTCONN;
    return -1;
}

int iw_switched_poll(struct iw_switched *s, struct iw_sockets_completion *out, int room,
                     int timeout_ms)
{
    if (room < 0 || (room > 0 && out == NULL)) {
        errno = EINVAL;
        return -1;
    }
    iw_verbs_lock();
    int count = poll_now(s, out, room);
    if (count == 0 && timeout_ms != 0 && room > 0) {
        const uint64_t end = timeout_ms < 0
                                 ? UINT64_MAX
                                 : iw_transport_now() + (uint64_t)timeout_ms * UINT64_C(1000000);
        count = iw_verbs_wait_until(s->work.fd, &s->work.waiters, has_work, s, end);
        if (count == 0)
            count = poll_now(s, out, room);
        else if (errno == ETIMEDOUT)
            count = 0;
    }
    const int error = errno;
    iw_verbs_unlock();
    errno = error;
    return count;
}

int iw_switched_work_event(struct iw_switched *s)
{
    iw_verbs_lock();
    s->work.watched = true;
    iw_switched_update(s);
    iw_verbs_cover();
    iw_verbs_unlock();
    return s->work.fd;
}
