/* SPDX-License-Identifier: BSD-3-Clause */
/* Services: send, receive, reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "messages/message_internal.h"

struct iw_service *iw_service_find(struct iw_messages *m, uint32_t number)
{
    struct iw_service *s = m->services[number % IW_TABLE];
    while (s != NULL && s->number != number)
        s = s->chain;
    return s;
}

/* Makes a service. Returns 0 or an errno; *number is the one that is taken. */
static int add_service(struct iw_messages *m, uint32_t *number, struct iw_service **out)
{
    struct iw_service *s = calloc(1, sizeof(*s));
    int error = s == NULL ? ENOMEM : 0;
    if (error == 0 && m->counts.services >= IW_SERVICES_MOST)
        error = EMFILE;
    else if (error == 0 && *number != 0 && iw_service_find(m, *number) != NULL)
        error = EADDRINUSE;
    for (uint32_t random = *number; error == 0 && *number == 0;) {
        /* Numbers that programs choose are small: the upper half is for those that nobody chose. */
        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            error = errno;
        else if (iw_service_find(m, random | 0x80000000u) == NULL)
            *number = random | 0x80000000u;
    }
    if (error != 0) {
        free(s);
        return error;
    }
    *s = (struct iw_service){.m = m, .id = ++m->service_ids, .number = *number, .descriptor = -1};
    TAILQ_INIT(&s->queue);
    TAILQ_INIT(&s->reports);
    s->chain = m->services[*number % IW_TABLE];
    m->services[*number % IW_TABLE] = s;
    m->counts.services++;
    *out = s;
    return 0;
}

static int open_services(struct iw_messages *m, uint32_t *numbers, size_t count,
                         struct iw_service **out, uint32_t *refused)
{
    int error = 0;
    size_t made = 0;
    pthread_mutex_lock(&m->mutex);
    for (; error == 0 && made < count; made += error == 0) {
        *refused = numbers[made];
        error = add_service(m, &numbers[made], &out[made]);
    }
    pthread_mutex_unlock(&m->mutex);
    /* The address of a listener at every address stands for that which the asker sees. */
    if (error == 0 && m->resolver != NULL &&
        iw_resolver_claim_all(m->resolver, numbers, count, (const struct sockaddr *)&m->address,
                              m->instance, refused) != 0)
        error = errno;
    for (size_t i = 0; i < made; i++)
        if (error == 0)
            out[i]->claimed = m->resolver != NULL;
        else
            iw_messages_shut(out[i]);
    errno = error;
    return error == 0 ? 0 : -1;
}

int iw_messages_service(struct iw_messages *m, uint32_t number, struct iw_service **out)
{
    uint32_t refused;
    return open_services(m, &number, 1, out, &refused);
}

int iw_messages_services(struct iw_messages *m, const uint32_t *numbers, size_t count,
                         struct iw_service **out, uint32_t *refused)
{
    uint32_t unwanted;
    uint32_t *own = count > 0 ? malloc(count * sizeof(*own)) : NULL;
    if (own == NULL) {
        errno = count > 0 ? ENOMEM : EINVAL;
        return -1;
    }
    memcpy(own, numbers, count * sizeof(*own));
    const int status = open_services(m, own, count, out, refused != NULL ? refused : &unwanted);
    const int error = errno;
    free(own);
    errno = error;
    return status;
}

void iw_messages_shut(struct iw_service *s)
{
    if (s == NULL)
        return;
    struct iw_messages *m = s->m;
    if (s->claimed && m->resolver != NULL)
        iw_resolver_disclaim(m->resolver, s->number);
    pthread_mutex_lock(&m->mutex);
    struct iw_service **at = &m->services[s->number % IW_TABLE];
    while (*at != s)
        at = &(*at)->chain;
    *at = s->chain;
    m->counts.services--;
    for (struct iw_incoming *in; (in = TAILQ_FIRST(&s->queue)) != NULL;) {
        TAILQ_REMOVE(&s->queue, in, entry);
        iw_pool_put(&m->pool, in->buffer);
        iw_peer_done(m, in, true);
    }
    for (struct iw_outgoing *o; (o = TAILQ_FIRST(&s->reports)) != NULL;) {
        TAILQ_REMOVE(&s->reports, o, entry);
        o->reported = true;
        iw_outgoing_free(m, o);
    }
    pthread_mutex_unlock(&m->mutex);
    if (s->descriptor >= 0)
        close(s->descriptor);
    free(s);
}

uint32_t iw_messages_number(const struct iw_service *s)
{
    return s->number;
}

/* Makes the descriptor say what is so. */
static void show(struct iw_service *s)
{
    const bool readable = !TAILQ_EMPTY(&s->queue) || !TAILQ_EMPTY(&s->reports);
    if (s->descriptor < 0 || readable == s->readable)
        return;
    uint64_t count = 1;
    const ssize_t done = readable ? write(s->descriptor, &count, sizeof(count))
                                  : read(s->descriptor, &count, sizeof(count));
    if (done == sizeof(count))
        s->readable = readable;
}

int iw_messages_descriptor(struct iw_service *s)
{
    pthread_mutex_lock(&s->m->mutex);
    if (s->descriptor < 0) {
        s->descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        show(s);
    }
    pthread_mutex_unlock(&s->m->mutex);
    return s->descriptor;
}

void iw_service_come(struct iw_service *s, struct iw_incoming *in)
{
    TAILQ_INSERT_TAIL(&s->queue, in, entry);
    s->queued++;
    show(s);
}

void iw_outgoing_free(struct iw_messages *m, struct iw_outgoing *o)
{
    if (o->posted > 0 || !o->finished)
        return;
    iw_pool_put(&m->pool, o->frame);
    o->frame = NULL;
    for (unsigned i = 0; i < o->count; i++)
        iw_pool_put(&m->pool, o->pieces[i]);
    o->count = 0;
    if (o->reported)
        free(o);
}

void iw_service_fate(struct iw_messages *m, struct iw_outgoing *o, int error)
{
    struct iw_service *s = iw_service_find(m, o->from);
    if (error == 0)
        m->counts.delivered++;
    else
        m->counts.undelivered++;
    o->finished = true;
    o->error = error;
    if (s != NULL && s->id == o->service) {
        s->open--;
        if (error != 0 || (o->flags & IW_MESSAGES_NOTIFY) != 0) {
            TAILQ_INSERT_TAIL(&s->reports, o, entry);
            show(s);
        } else {
            s->held--;
            o->reported = true;
        }
    } else {
        o->reported = true;
    }
    iw_outgoing_free(m, o);
}

/* Puts the octets of a message into memory of the pool. Returns 0 or an errno. */
static int gather(struct iw_messages *m, struct iw_outgoing *o, const struct iovec *pieces,
                  size_t count)
{
    o->frame = iw_pool_get(&m->pool, IW_POOL_SMALL);
    if (o->frame == NULL)
        return ENOMEM;
    uint8_t *out = o->frame->data;
    if (o->length > IW_MESSAGES_SHORT) {
        o->pieces[0] = iw_pool_get(&m->pool, o->length);
        if (o->pieces[0] == NULL)
            return ENOMEM;
        o->lengths[0] = o->length;
        o->count = 1;
        out = o->pieces[0]->data;
    }
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].iov_len > 0)
            memcpy(out, pieces[i].iov_base, pieces[i].iov_len);
        out += pieces[i].iov_len;
    }
    return 0;
}

/* Takes a long message's own buffers. Returns 0 or an errno. */
static int adopt(struct iw_messages *m, struct iw_outgoing *o, struct iw_buffer *const *given,
                 const struct iovec *pieces, size_t count)
{
    o->frame = iw_pool_get(&m->pool, IW_POOL_SMALL);
    if (o->frame == NULL)
        return ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (pieces[i].iov_len > 0) {
            o->pieces[o->count] = given[i];
            o->lengths[o->count++] = (uint32_t)pieces[i].iov_len;
        }
    return 0;
}

/* Finds the buffers that are given, each once and long enough. */
static bool find_given(struct iw_messages *m, const struct iovec *pieces, size_t count,
                       struct iw_buffer **given)
{
    for (size_t i = 0; i < count; i++) {
        given[i] = iw_pool_find(&m->pool, pieces[i].iov_base);
        if (given[i] == NULL || pieces[i].iov_len > given[i]->room)
            return false;
        for (size_t j = 0; j < i; j++)
            if (given[i] == given[j])
                return false;
    }
    return true;
}

/* Waits for room in the queue of a service. Returns 0 or an errno. */
static int make_room(struct iw_service *s, unsigned flags)
{
    while (s->held >= IW_MESSAGES_QUEUE) {
        iw_progress_step(s->m);
        if (s->held < IW_MESSAGES_QUEUE)
            break;
        /* Only the program can take reports. */
        if ((flags & IW_MESSAGES_NOWAIT) != 0 || s->open == 0)
            return EAGAIN;
        if (s->m->closing)
            return ESHUTDOWN;
        iw_progress_wait(s->m, UINT64_MAX);
    }
    return 0;
}

static bool small_pieces(struct iw_buffer *const *given, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (given[i]->size == 0)
            return true;
    return false;
}

int iw_messages_send(struct iw_service *from, uint32_t to, const struct iovec *pieces, size_t count,
                     unsigned flags, uint64_t tag)
{
    struct iw_messages *m = from->m;
    struct iw_buffer *given[IW_MESSAGES_PIECES] = {NULL};
    const bool gives = (flags & IW_MESSAGES_GIVE) != 0;
    size_t length = 0;
    if (to == 0 || count > IW_MESSAGES_PIECES ||
        (flags & ~(IW_MESSAGES_NOWAIT | IW_MESSAGES_GIVE | IW_MESSAGES_NOTIFY)) != 0 ||
        (gives && !find_given(m, pieces, count, given))) {
        errno = EINVAL;
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].iov_len > IW_MESSAGES_LONG - length) {
            errno = EMSGSIZE;
            return -1;
        }
        length += pieces[i].iov_len;
    }
    if (length > IW_MESSAGES_SHORT && length > iw_pool_longest(&m->pool)) {
        errno = EMSGSIZE;
        return -1;
    }
    struct iw_outgoing *o = calloc(1, sizeof(*o));
    if (o == NULL)
        return -1;
    o->from = from->number;
    o->service = from->id;
    o->to = to;
    o->length = (uint32_t)length;
    o->flags = flags;
    o->tag = tag;
    /* Small buffers share a region that no peer may reach. */
    const bool adopts = gives && length > IW_MESSAGES_SHORT && !small_pieces(given, count);
    int error = adopts ? adopt(m, o, given, pieces, count) : gather(m, o, pieces, count);
    pthread_mutex_lock(&m->mutex);
    if (error == 0)
        error = make_room(from, flags);
    if (error == 0 && (o->route = iw_route_get(m, to)) == NULL)
        error = ENOMEM;
    if (error != 0) {
        pthread_mutex_unlock(&m->mutex);
        o->finished = o->reported = true;
        if (adopts)
            o->count = 0; /* they stay the caller's */
        iw_outgoing_free(m, o);
        errno = error;
        return -1;
    }
    if (gives)
        for (size_t i = 0; i < count; i++)
            if (!adopts || pieces[i].iov_len == 0)
                iw_pool_put(&m->pool, given[i]);
    from->open++;
    from->held++;
    from->sent++;
    o->order = ++m->order;
    o->deadline = iw_progress_now() + m->timeout;
    iw_route_queue(m, o);
    pthread_mutex_unlock(&m->mutex);
    return 0;
}

/* Takes the oldest report or message, if there is one. */
static bool take(struct iw_service *s, struct iw_message *out)
{
    struct iw_messages *m = s->m;
    struct iw_outgoing *o = TAILQ_FIRST(&s->reports);
    if (o != NULL) {
        TAILQ_REMOVE(&s->reports, o, entry);
        *out = (struct iw_message){.kind = o->error == 0 ? IW_MESSAGES_DELIVERED
                                                         : IW_MESSAGES_UNDELIVERED,
                                   .number = o->to,
                                   .length = o->length,
                                   .tag = o->tag,
                                   .error = o->error};
        s->held--;
        o->reported = true;
        iw_outgoing_free(m, o);
        if (m->waiting > 0)
            pthread_cond_broadcast(&m->changed); /* a send may wait for room */
        show(s);
        return true;
    }
    struct iw_incoming *in = TAILQ_FIRST(&s->queue);
    if (in == NULL)
        return false;
    TAILQ_REMOVE(&s->queue, in, entry);
    *out = (struct iw_message){.kind = IW_MESSAGES_MESSAGE,
                               .number = in->from,
                               .data = in->length > 0 ? in->buffer->data : NULL,
                               .length = in->length};
    in->buffer->origin = in->peer->instance;
    if (in->length == 0)
        iw_pool_put(&m->pool, in->buffer);
    m->counts.received++;
    m->counts.received_octets += in->length;
    in->peer->received++;
    in->peer->received_octets += in->length;
    s->received++;
    s->queued--;
    iw_route_learn(m, in->from, in->peer->instance);
    iw_peer_done(m, in, false);
    show(s);
    return true;
}

int iw_messages_receive(struct iw_service *s, struct iw_message *out, int timeout_ms)
{
    struct iw_messages *m = s->m;
    int error = 0;
    uint64_t deadline = UINT64_MAX;
    pthread_mutex_lock(&m->mutex);
    if (!take(s, out)) {
        iw_progress_step(m);
        if (timeout_ms >= 0)
            deadline = iw_progress_now() + (uint64_t)timeout_ms * 1000000u;
        while (!take(s, out)) {
            if (m->closing)
                error = ESHUTDOWN;
            else if (iw_progress_now() >= deadline)
                error = ETIMEDOUT;
            if (error != 0)
                break;
            iw_progress_wait(m, deadline);
        }
    }
    pthread_mutex_unlock(&m->mutex);
    errno = error;
    return error == 0 ? 0 : -1;
}

int iw_messages_flush(struct iw_service *s, int timeout_ms)
{
    struct iw_messages *m = s->m;
    const uint64_t deadline =
        timeout_ms < 0 ? UINT64_MAX : iw_progress_now() + (uint64_t)timeout_ms * 1000000u;
    pthread_mutex_lock(&m->mutex);
    iw_progress_step(m);
    while (s->open > 0 && !m->closing && iw_progress_now() < deadline)
        iw_progress_wait(m, deadline);
    const bool done = s->open == 0;
    pthread_mutex_unlock(&m->mutex);
    errno = ETIMEDOUT;
    return done ? 0 : -1;
}

void *iw_messages_get(struct iw_messages *m, size_t length)
{
    if (length == 0 || length > IW_MESSAGES_LONG) {
        errno = EINVAL;
        return NULL;
    }
    struct iw_buffer *b = iw_pool_get(&m->pool, length);
    return b != NULL ? b->data : NULL;
}

void iw_messages_free(struct iw_messages *m, void *buffer)
{
    if (buffer != NULL)
        iw_pool_put(&m->pool, iw_pool_find(&m->pool, buffer));
}

void iw_messages_return(struct iw_messages *m, void *buffer)
{
    struct iw_buffer *b = buffer != NULL ? iw_pool_find(&m->pool, buffer) : NULL;
    if (b == NULL || b->size == 0 || b->origin == 0) {
        iw_pool_put(&m->pool, b);
        return;
    }
    pthread_mutex_lock(&m->mutex);
    iw_long_lend(m, b);
    pthread_mutex_unlock(&m->mutex);
}
