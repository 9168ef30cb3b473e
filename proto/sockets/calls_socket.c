/* SPDX-License-Identifier: BSD-3-Clause */
/* Interposed: what is done to a socket as such. */
#include "byte_stream.h"
#include "descriptors.h"
#include "epoll_set.h"
#include "fork_claim.h"
#include "libc_next.h"
#include "mode_option.h"
#include "rules_given.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

IW_INTERPOSED int connect(int fd, const struct sockaddr *to, socklen_t length)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL) {
        const struct iw_socket_rule *rule =
            iw_rule_of_connect(fd, to, length, __builtin_return_address(0));
        return rule != NULL ? iw_byte_stream_connect(fd, to, length, rule->fallback)
                            : iw_libc()->connect(fd, to, length);
    }
    const int result = iw_claim(s) ? s->ops->connect(s, fd, to, length) : -1;
    iw_socket_put(s);
    return result;
}

/* Without a wait, as short a one as there is. */
static unsigned mixed_wait(const struct iw_socket_rule *rule)
{
    if (!rule->mixed)
        return 0;
    return rule->wait > 0 ? rule->wait : 1;
}

IW_INTERPOSED int listen(int fd, int backlog)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL) {
        const struct iw_socket_rule *rule = iw_rule_of_listen(fd, __builtin_return_address(0));
        return rule != NULL ? iw_byte_stream_listen(fd, backlog, mixed_wait(rule))
                            : iw_libc()->listen(fd, backlog);
    }
    const int result = iw_claim(s) ? s->ops->listen(s, fd, backlog) : -1;
    iw_socket_put(s);
    return result;
}

static int accept_from(struct iw_socket *s, int fd, struct sockaddr *from, socklen_t *length,
                       int flags)
{
    const int result = iw_claim(s) ? s->ops->accept(s, fd, from, length, flags) : -1;
    atomic_fetch_add(&s->received, 1);
    if (atomic_load_explicit(&s->edges, memory_order_relaxed))
        iw_epoll_stir(s);
    return result;
}

IW_INTERPOSED int accept4(int fd, struct sockaddr *from, socklen_t *length, int flags)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL)
        return iw_libc()->accept4(fd, from, length, flags);
    int result = -1;
    if ((flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) != 0)
        errno = EINVAL;
    else
        result = accept_from(s, fd, from, length, flags);
    iw_socket_put(s);
    return result;
}

IW_INTERPOSED int accept(int fd, struct sockaddr *from, socklen_t *length)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL)
        return iw_libc()->accept(fd, from, length);
    const int result = accept_from(s, fd, from, length, 0);
    iw_socket_put(s);
    return result;
}

IW_INTERPOSED int shutdown(int fd, int how)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL)
        return iw_libc()->shutdown(fd, how);
    const int result = iw_claim(s) ? s->ops->shutdown(s, how) : -1;
    iw_socket_put(s);
    return result;
}

/* The option marks the TCP socket: what the program makes of it is kept here. */
static bool is_timeout(int level, int name)
{
    return level == IPPROTO_TCP && name == TCP_USER_TIMEOUT;
}

static int get_timeout(const struct iw_socket *s, void *value, socklen_t *length)
{
    if (*length > sizeof(s->user_timeout))
        *length = sizeof(s->user_timeout);
    memcpy(value, &s->user_timeout, *length);
    return 0;
}

static int set_timeout(struct iw_socket *s, const void *value, socklen_t length)
{
    if (length < sizeof(s->user_timeout)) {
        errno = EINVAL;
        return -1;
    }
    memcpy(&s->user_timeout, value, sizeof(s->user_timeout));
    return 0;
}

IW_INTERPOSED int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL && level == SOL_TCP && name == IWARP_MODE)
        return iw_mode_get_plain(fd, value, length);
    if (s == NULL)
        return iw_libc()->getsockopt(fd, level, name, value, length);
    const int result = is_timeout(level, name)
                           ? get_timeout(s, value, length)
                           : s->ops->get_option(s, fd, level, name, value, length);
    iw_socket_put(s);
    return result;
}

IW_INTERPOSED int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL && level == SOL_TCP && name == IWARP_MODE)
        return iw_mode_set(fd, value, length);
    if (s == NULL)
        return iw_libc()->setsockopt(fd, level, name, value, length);
    const int result = is_timeout(level, name)
                           ? set_timeout(s, value, length)
                           : s->ops->set_option(s, fd, level, name, value, length);
    iw_socket_put(s);
    return result;
}

IW_INTERPOSED int getsockname(int fd, struct sockaddr *address, socklen_t *length)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL)
        return iw_libc()->getsockname(fd, address, length);
    const int result = s->ops->get_name(s, fd, false, address, length);
    iw_socket_put(s);
    return result;
}

IW_INTERPOSED int getpeername(int fd, struct sockaddr *address, socklen_t *length)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL)
        return iw_libc()->getpeername(fd, address, length);
    const int result = s->ops->get_name(s, fd, true, address, length);
    iw_socket_put(s);
    return result;
}
