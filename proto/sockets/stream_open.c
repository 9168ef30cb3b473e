/* SPDX-License-Identifier: BSD-3-Clause */
/* Byte streams that connect, listen, and are accepted. */
#include "byte_stream.h"

#include "epoll_set.h"
#include "fork_claim.h"
#include "libc_next.h"
#include "mixed_listener.h"
#include "options_inherited.h"
#include "rsocket_made.h"
#include "rsocket_wait.h"
#include "rsockets.h"
#include "rules_given.h"
#include "stream_state.h"
#include "verbs_extra.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FALL_BACK = 3000 }; /* ms */

int iw_stream_wait_for(const struct stream *st, short events, uint64_t until)
{
    for (;;) {
        struct pollfd one = {.fd = st->waiting, .events = events};
        const int ready = iw_wait(&one, 1, until, NULL, true);
        if (ready > 0)
            return 0;
        if (ready == 0)
            return fail(EAGAIN);
        /* A time-out would begin anew: with one, poll and its like are never restarted. */
        if (errno != EINTR || until != IW_WAIT_FOREVER || !iw_wait_restarts())
            return -1;
    }
}

/* ---- connecting ---- */

bool iw_stream_finish_connect(struct stream *st, short revents)
{
    int error = 0, state = CONNECTING;
    socklen_t length = sizeof(error);
    if (iw_rsockets()->rgetsockopt(st->rs, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (error == 0 && (revents & POLLERR) != 0)
        error = ECONNREFUSED;
    if (error == ENOTSUP) /* the peer speaks MPA, but is no rsocket */
        error = EPROTO;
    if (!atomic_compare_exchange_strong(&st->state, &state, error == 0 ? CONNECTED : FAILED))
        return state == CONNECTED;
    atomic_store(&st->error, error);
    return error == 0;
}

/* Goes on with a connect. Returns 0 when it is done; else -1 with errno EINPROGRESS or its error.
 */
int iw_stream_go_on(struct iw_socket *s, uint64_t until)
{
    struct stream *st = stream_of(s);
    struct pollfd one = {.fd = st->rs, .events = POLLOUT};
    if (atomic_load(&st->state) == CONNECTING) {
        const int ready = iw_wait(&one, 1, until, NULL, true);
        if (ready == 0)
            return fail(EINPROGRESS);
        if (ready < 0)
            return -1;
        (void)iw_stream_finish_connect(st, one.revents);
    }
    if (atomic_load(&st->state) != FAILED)
        return 0;
    const int error = atomic_exchange(&st->error, 0);
    return fail(error != 0 ? error : ECONNABORTED);
}

static int open_rsocket(int family)
{
    const struct iw_rsockets *r = iw_rsockets();
    iw_made_again();
    const int rs = r != NULL ? r->rsocket(family, SOCK_STREAM, 0) : -1;
    if (rs >= 0)
        (void)r->rfcntl(rs, F_SETFL, O_NONBLOCK);
    return rs;
}

/* The size of a buffer that the program has not asked for: 0 leaves it to rsockets, which takes 128
 * KiB. A fast connection empties that sooner than its credits come back. On a device these octets
 * are locked. */
static int usual_buffer(void)
{
    return iw_verbs_series() != NULL ? 512 * 1024 : 0;
}

static void copy_options(int fd, int rs)
{
    static const struct {
        int bit, name;
    } buffers[] = {{1, SO_SNDBUF}, {2, SO_RCVBUF}};
    const struct iw_libc *c = iw_libc();
    int set = 0, value;
    socklen_t length = sizeof(set);
#ifdef SO_BUF_LOCK
    if (c->getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &set, &length) != 0)
        set = 0;
#endif
    for (unsigned i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
        length = sizeof(value);
        const bool asked = (set & buffers[i].bit) != 0 &&
                           c->getsockopt(fd, SOL_SOCKET, buffers[i].name, &value, &length) == 0;
        value = asked ? value / 2 : usual_buffer(); /* both double what is asked for */
        if (value > 0)
            (void)iw_rsockets()->rsetsockopt(rs, SOL_SOCKET, buffers[i].name, &value,
                                             sizeof(value));
    }
    length = sizeof(value);
    if (c->getsockopt(fd, IPPROTO_IP, IP_TOS, &value, &length) == 0 && value != 0)
        (void)iw_rsockets()->rsetsockopt(rs, IPPROTO_IP, IP_TOS, &value, sizeof(value));
}

void iw_stream_copy_timeouts(int fd, struct stream *st)
{
    struct timeval t;
    socklen_t length = sizeof(t);
    if (iw_libc()->getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, &length) == 0)
        atomic_store(&st->receive_time, (int64_t)t.tv_sec * 1000000000 + t.tv_usec * 1000);
    length = sizeof(t);
    if (iw_libc()->getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, &length) == 0)
        atomic_store(&st->send_time, (int64_t)t.tv_sec * 1000000000 + t.tv_usec * 1000);
}

static bool has_port(const struct sockaddr_storage *a)
{
    return (a->ss_family == AF_INET && ((const struct sockaddr_in *)a)->sin_port != 0) ||
           (a->ss_family == AF_INET6 && ((const struct sockaddr_in6 *)a)->sin6_port != 0);
}

/* Has the rsocket at the address that the program's socket is bound to. That one stays bound, so
 * that the port is not free before the program closes it; SO_REUSEADDR lets both have it. */
static int copy_address(int fd, int rs)
{
    struct sockaddr_storage at = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof(at);
    const struct iw_libc *c = iw_libc();
    int only = 0;
    socklen_t size = sizeof(only);
    if (c->getsockname(fd, (struct sockaddr *)&at, &length) != 0)
        return -1;
    if (!has_port(&at))
        return 0;
    if (at.ss_family == AF_INET6 && c->getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &size) == 0)
        (void)iw_rsockets()->rsetsockopt(rs, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
    (void)c->setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    return iw_rsockets()->rbind(rs, (struct sockaddr *)&at, length);
}

static int family_of(int fd)
{
    int family = AF_INET;
    socklen_t length = sizeof(family);
    (void)iw_libc()->getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length);
    return family;
}

/* Makes `fd` a stream over `rs`. Returns it with one use, or NULL with errno set and `rs` closed.
 */
static struct iw_socket *make_stream(int fd, int rs, enum stream_state state)
{
    struct stream *st = calloc(1, sizeof(*st));
    struct iw_socket *s = st != NULL ? iw_socket_create(&iw_stream_ops, st, family_of(fd)) : NULL;
    if (s == NULL) {
        free(st);
        iw_rsockets()->rclose(rs);
        errno = ENOMEM;
        return NULL;
    }
    st->rs = st->waiting = rs;
    st->queue[0] = st->queue[1] = st->plain = st->both = st->over = -1;
    atomic_store(&st->state, state);
    iw_stream_copy_timeouts(fd, st);
    const int flags = iw_libc()->fcntl(fd, F_GETFL);
    atomic_store(&s->nonblocking, flags >= 0 && (flags & O_NONBLOCK) != 0);
    if (iw_socket_attach(fd, s) == 0)
        return s;
    iw_socket_put(s);
    return NULL;
}

void iw_stream_close_rsocket(int rs)
{
    const int saved = errno;
    iw_rsockets()->rclose(rs);
    errno = saved;
}

/* The attempt by iWARP is over, and the socket still what it was. Of the many reasons why a peer
 * may take no iWARP connection TCP shows those that concern it, too. */
static int connect_plainly(int fd, const struct sockaddr *to, socklen_t length)
{
    iw_socket_make_plain(fd);
    return iw_libc()->connect(fd, to, length);
}

int iw_byte_stream_connect(int fd, const struct sockaddr *to, socklen_t length, bool fallback)
{
    iw_claim_listeners();
    const int rs = open_rsocket(to->sa_family);
    if (rs < 0)
        return fallback ? connect_plainly(fd, to, length) : -1;
    copy_options(fd, rs);
    /* Never a blocking one: rsockets 44 would not notice the death of its peer. */
    int pair[2];
    iw_made_begin_connect();
    const bool begun = copy_address(fd, rs) == 0 &&
                       (iw_rsockets()->rconnect(rs, to, length) == 0 || errno == EINPROGRESS);
    iw_made_end(pair);
    if (!begun) {
        iw_stream_close_rsocket(rs);
        return fallback ? connect_plainly(fd, to, length) : -1;
    }
    struct iw_socket *s = make_stream(fd, rs, CONNECTING);
    if (s == NULL)
        return -1;
    iw_epoll_take(fd);
    if (fallback) {
        const bool connected = iw_stream_go_on(s, iw_wait_until_ms(FALL_BACK)) == 0;
        iw_socket_put(s);
        return connected ? 0 : connect_plainly(fd, to, length);
    }
    const bool wait = !atomic_load(&s->nonblocking);
    int result = iw_stream_go_on(s, wait ? limit(&stream_of(s)->send_time) : 0);
    while (wait && result != 0 && errno == EINTR && iw_wait_restarts())
        result = iw_stream_go_on(s, limit(&stream_of(s)->send_time));
    if (result != 0 && errno != EINPROGRESS && errno != EINTR)
        iw_socket_make_plain(fd); /* which may try anew */
    iw_socket_put(s);
    return result;
}

int iw_stream_connect(struct iw_socket *s, int fd, const struct sockaddr *to, socklen_t length)
{
    struct stream *st = stream_of(s);
    const int state = atomic_load(&st->state);
    if (to == NULL)
        return fail(EFAULT);
    if (length < sizeof(to->sa_family))
        return fail(EINVAL);
    if (to->sa_family == AF_UNSPEC) { /* it is to be unconnected */
        iw_socket_make_plain(fd);
        return iw_libc()->connect(fd, to, length);
    }
    if (state == CONNECTED || state == LISTENING)
        return fail(EISCONN);
    if (state == FAILED && atomic_load(&st->error) == 0) { /* which is known: another attempt */
        const struct iw_socket_rule *rule = iw_rule_of_connect(fd, to, length, NULL);
        iw_socket_make_plain(fd);
        return rule != NULL ? iw_byte_stream_connect(fd, to, length, rule->fallback)
                            : iw_libc()->connect(fd, to, length);
    }
    if (iw_stream_go_on(s, atomic_load(&s->nonblocking) ? 0 : limit(&st->send_time)) == 0)
        return 0;
    return fail(errno == EINPROGRESS ? EALREADY : errno);
}

/* ---- listening ---- */

/* What is waited for; `mixed`: plain TCP, too. Returns 0, or -1 with errno set. */
static int make_wait(struct stream *st, bool mixed, int plain)
{
    if (mixed && (plain < 0 || st->queue[0] < 0))
        return -1;
    st->plain = plain;
    st->waiting = st->queue[0] >= 0 ? st->queue[0] : st->rs;
    st->both = st->queue[0] >= 0 ? iw_mixed_wait(st->queue[0], plain, -1) : -1;
    if (st->both >= 0)
        st->waiting = st->both;
    return st->both >= 0 || !mixed ? 0 : -1;
}

/* The port stays taken until the listener is closed: rsockets has nothing to end it before. */
void iw_stream_shut_listener(struct stream *st)
{
    if (atomic_exchange(&st->read_shut, true) || st->both < 0)
        return;
    struct epoll_event readable = {.events = EPOLLIN};
    st->over = iw_libc()->eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (st->over >= 0)
        (void)iw_libc()->epoll_ctl(st->both, EPOLL_CTL_ADD, st->over, &readable);
}

int iw_byte_stream_listen(int fd, int backlog, unsigned mixed)
{
    struct sockaddr_storage at = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof(at);
    const struct iw_libc *c = iw_libc();
    if (c->getsockname(fd, (struct sockaddr *)&at, &length) != 0)
        return -1;
    const int rs = open_rsocket(at.ss_family);
    if (rs < 0)
        return -1;
    copy_options(fd, rs);
    if (mixed != 0 && iw_mixed_begin(mixed) != 0) {
        iw_stream_close_rsocket(rs);
        return -1;
    }
    int queue[2];
    iw_made_begin();
    const bool listens =
        copy_address(fd, rs) == 0 && iw_rsockets()->rlisten(rs, backlog > 0 ? backlog : 1) == 0;
    iw_made_end(queue);
    const int error = errno, plain = mixed != 0 ? iw_mixed_end() : -1;
    struct iw_socket *s = NULL;
    if (listens)
        s = make_stream(fd, rs, LISTENING);
    else
        iw_stream_close_rsocket(rs);
    if (s == NULL) {
        if (plain >= 0)
            iw_libc()->close(plain);
        return listens ? -1 : fail(error);
    }
    memcpy(stream_of(s)->queue, queue, sizeof(queue));
    const int result = make_wait(stream_of(s), mixed != 0, plain);
    if (result == 0)
        iw_epoll_take(fd);
    else
        iw_socket_make_plain(fd);
    iw_socket_put(s);
    return result;
}

int iw_stream_listen(struct iw_socket *s, int fd, int backlog)
{
    (void)fd;
    (void)backlog;
    return atomic_load(&stream_of(s)->state) == LISTENING ? 0 : fail(EINVAL);
}

/* The number of the program's that stands for a connection that has come. */
static int accept_as(const struct iw_socket *listener, int of, int rs, int flags)
{
    (void)iw_rsockets()->rfcntl(rs, F_SETFL, O_NONBLOCK);
    const int fd = socket(listener->family, SOCK_STREAM | flags, 0);
    if (fd < 0) {
        iw_stream_close_rsocket(rs);
        return -1;
    }
    iw_options_inherit(of, fd);
    struct iw_socket *s = make_stream(fd, rs, CONNECTED);
    if (s == NULL) {
        iw_libc()->close(fd);
        return -1;
    }
    s->user_timeout = listener->user_timeout;
    iw_socket_put(s);
    return fd;
}

int iw_stream_accept(struct iw_socket *s, int fd, struct sockaddr *from, socklen_t *length,
                     int flags)
{
    struct stream *st = stream_of(s);
    if (atomic_load(&st->state) != LISTENING)
        return fail(EINVAL);
    const uint64_t until = waits(s, 0) ? limit(&st->receive_time) : 0;
    for (;;) {
        if (atomic_load(&st->read_shut))
            return fail(EINVAL);
        const int plain = st->plain >= 0 ? iw_mixed_accept(st->plain, from, length, flags) : -1;
        if (plain >= 0) {
            iw_options_inherit(fd, plain);
            return plain;
        }
        int pair[2];
        iw_made_begin();
        const int rs = iw_rsockets()->raccept(st->rs, NULL, NULL);
        iw_made_end(pair);
        if (rs >= 0) {
            const int made = accept_as(s, fd, rs, flags);
            if (made >= 0 && from != NULL && length != NULL)
                (void)iw_rsockets()->rgetpeername(rs, from, length);
            return made;
        }
        if (errno != EAGAIN || until == 0)
            return -1;
        if (iw_stream_wait_for(st, POLLIN, until) != 0)
            return -1;
    }
}
