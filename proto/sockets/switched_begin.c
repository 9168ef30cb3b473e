/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch itself: from a connected TCP socket to an MPA connection, or back (RFC 5044 §7.1). */
#include "switched.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "iwarp/endpoint_transport.h"
#include "verbs/engine.h"

#define SPEAK_FIRST UINT64_C(10000000) /* ns after which a responder does */
#define MS UINT64_C(1000000)

/* ---- beginning ---- */

/* A region of one connection is reached by no other: each has a protection domain of its own. */
static void configure(struct iw_switched *s, const struct iw_sockets_mode *mode,
                      struct iw_endpoint_config *config)
{
    static unsigned connections;
    const struct iw_verbs_settings *settings = iw_verbs_settings();
    iw_endpoint_config_default(config);
    config->role = s->role;
    config->mpa.crc = settings->crc && (mode->flags & IW_SOCKETS_NO_CRC) == 0;
    config->mpa.markers = settings->markers || (mode->flags & IW_SOCKETS_MARKERS) != 0;
    if ((mode->flags & IW_SOCKETS_PLAIN) != 0 && s->role == IW_MPA_INITIATOR)
        config->mpa.revision = 1;
    else
        config->mpa.revision = settings->revision;
    config->mpa.enhanced = config->mpa.revision >= 2;
    config->mpa.peer_to_peer = settings->rtr && config->mpa.enhanced;
    config->mpa.ird = config->mpa.ord = IW_SOCKETS_READS;
    config->mulpdu = settings->mulpdu;
    config->switches = &settings->switches;
    config->responder_first = settings->responder_first ? SPEAK_FIRST : 0;
    config->linger_timeout = IW_SWITCHED_LINGER;
    config->max_reads = IW_SOCKETS_READS;
    config->max_sge = IW_SOCKETS_PIECES;
    config->send_depth = IW_SOCKETS_POSTS + IW_SWITCHED_SENDS;
    config->private_data = mode->private_data;
    config->private_length = mode->private_length;
    if (mode->timeout_ms > 0)
        config->startup_timeout = mode->timeout_ms * MS;
    config->pd = s->pd = iw_domain_pd(iw_verbs_domain());
    config->want_recv = iw_switched_want_recv;
    config->context = s;
    s->tracer = (struct iw_tracer){iw_verbs_trace(), connections++, getpid()};
    if (s->tracer.out != NULL) {
        config->trace = iw_trace_json;
        config->trace_context = &s->tracer;
    }
}

/* Octets that are unread must be the beginning of the peer's start-up frame: a responder's Reply
 * cannot be here yet. */
static int check_unread(int fd, const struct iw_sockets_mode *mode)
{
    uint8_t octets[IW_MPA_KEY_LENGTH];
    const size_t ahead = mode->ahead_length < sizeof(octets) ? mode->ahead_length : sizeof(octets);
    if (ahead > 0)
        memcpy(octets, mode->ahead, ahead);
    const ssize_t n = recv(fd, octets + ahead, sizeof(octets) - ahead, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN)
        return errno == ENOTSOCK || errno == ENOTCONN ? errno : ECONNRESET;
    const size_t length = ahead + (n > 0 ? (size_t)n : 0);
    if (length == 0)
        return 0;
    if (mode->role == IWARP_INITIATOR || memcmp(octets, iw_mpa_request_key, length) != 0)
        return EBUSY;
    return 0;
}

static bool remember_tcp(struct iw_switched *s)
{
    socklen_t length = sizeof(int), wide = sizeof(s->before.receive);
    s->before.flags = fcntl(s->tcp, F_GETFL);
    if (s->before.flags < 0 ||
        getsockopt(s->tcp, IPPROTO_TCP, TCP_NODELAY, &s->before.no_delay, &length) != 0 ||
        getsockopt(s->tcp, SOL_SOCKET, SO_RCVTIMEO, &s->before.receive, &wide) != 0)
        return false;
    s->receive_timeout = s->before.receive;
    wide = sizeof(s->send_timeout);
    return getsockopt(s->tcp, SOL_SOCKET, SO_SNDTIMEO, &s->send_timeout, &wide) == 0;
}

/* With the lock. */
static bool adopt(struct iw_switched *s, const struct iw_sockets_mode *mode)
{
    struct iw_endpoint_config config;
    const int fd = iw_switched_duplicate(s->tcp);
    if (fd < 0)
        return false;
    configure(s, mode, &config);
    s->connection = iw_transport_adopt(iw_verbs_reactor(), iw_verbs_domain(), fd, &config,
                                       &iw_switched_connection_ops, s);
    if (s->connection == NULL) {
        const int saved = errno;
        close(fd);
        iw_switched_restore(s);
        errno = saved;
        return false;
    }
    iw_connection_keep(s->connection);
    if (mode->ahead_length > 0) {
        const struct iw_iov ahead = {(void *)(uintptr_t)mode->ahead, mode->ahead_length};
        iw_endpoint_input(iw_connection_endpoint(s->connection), &ahead, 1, iw_transport_now());
    }
    iw_switched_list(s);
    return true;
}

static int check_socket(int fd)
{
    struct sockaddr_storage peer = {0};
    socklen_t length = sizeof(int);
    int type = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0)
        return errno;
    if (type != SOCK_STREAM)
        return EOPNOTSUPP;
    length = sizeof(peer);
    if (getpeername(fd, (struct sockaddr *)&peer, &length) != 0)
        return errno;
    return peer.ss_family == AF_INET || peer.ss_family == AF_INET6 ? 0 : EOPNOTSUPP;
}

struct iw_switched *iw_switched_begin(int fd, const struct iw_sockets_mode *mode)
{
    const bool role = mode->role == IWARP_INITIATOR || mode->role == IWARP_RESPONDER;
    int error = role && mode->private_length <= IW_SOCKETS_PRIVATE ? check_socket(fd) : EINVAL;
    if (error == 0)
        error = check_unread(fd, mode);
    if (error != 0) {
        errno = error;
        return NULL;
    }
    struct iw_switched *s = iw_switched_create(fd);
    if (s == NULL)
        return NULL;
    s->role = mode->role == IWARP_INITIATOR ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
    s->ask = s->role == IW_MPA_RESPONDER && (mode->flags & IW_SOCKETS_ASK) != 0;
    bool begun = remember_tcp(s) && iw_verbs_enter();
    if (begun) {
        begun = adopt(s, mode);
        error = errno;
        if (begun)
            iw_connection_flush(s->connection);
        iw_verbs_unlock();
        errno = error;
    }
    if (begun)
        return s;
    error = errno;
    iw_switched_destroy(s);
    errno = error;
    return NULL;
}

/* ---- the start-up ---- */

static bool started(const void *context)
{
    const struct iw_switched *s = context;
    return s->state != IW_SWITCHED_STARTING;
}

static int result(const struct iw_switched *s)
{
    return s->state == IW_SWITCHED_STARTING ? EINPROGRESS : s->start_error;
}

int iw_switched_wait(struct iw_switched *s)
{
    iw_verbs_lock();
    int error = iw_verbs_wait(s->out.fd, &s->out.waiters, started, s) == 0 ? result(s) : errno;
    iw_verbs_unlock();
    errno = error;
    return error == 0 ? 0 : -1;
}

int iw_switched_result(struct iw_switched *s)
{
    iw_verbs_lock();
    const int error = result(s);
    iw_verbs_unlock();
    return error;
}

/* With the lock. A Reply that refuses has left when the connection is over. */
static int answer(struct iw_switched *s, bool reject, const void *data, size_t length)
{
    if (s->state != IW_SWITCHED_ASKED || s->connection == NULL)
        return s->error != 0 ? s->error : EINVAL;
    struct iw_endpoint *ep = iw_connection_endpoint(s->connection);
    const uint64_t now = iw_transport_now();
    const int outcome = reject ? iw_endpoint_reject(ep, data, length, now)
                               : iw_endpoint_accept(ep, data, length, now);
    if (outcome != IW_OK)
        return outcome == IW_ERR_ARGUMENT ? EINVAL : ECONNRESET;
    s->state = IW_SWITCHED_STARTING;
    iw_connection_flush(s->connection);
    while (iw_verbs_wait(s->out.fd, &s->out.waiters, started, s) != 0)
        ; /* a signal: the Reply is on its way */
    if (reject)
        return s->state == IW_SWITCHED_PLAIN ? 0 : s->error;
    return s->state == IW_SWITCHED_OPEN ? 0 : s->error;
}

int iw_switched_accept(struct iw_switched *s, bool reject, const void *data, size_t length)
{
    iw_verbs_lock();
    const int error = answer(s, reject, data, length);
    iw_verbs_unlock();
    errno = error;
    return error == 0 ? 0 : -1;
}

ssize_t iw_switched_private(struct iw_switched *s, void *out, size_t room)
{
    iw_verbs_lock();
    const size_t length = s->private_length;
    if (length > 0 && room > 0)
        memcpy(out, s->private_data, room < length ? room : length);
    iw_verbs_unlock();
    return (ssize_t)length;
}

int iw_switched_terminate(struct iw_switched *s, struct iw_sockets_terminate *out)
{
    iw_verbs_lock();
    const bool there = s->terminated;
    if (there)
        *out = s->terminate;
    iw_verbs_unlock();
    errno = ENODATA;
    return there ? 0 : -1;
}
