/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg_tcp.h"

#include "host/address.h"
#include "host/complain.h"
#include "iwarp/octets.h"
#include "iwarp/transport.h"
#include "standard.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEAST = 2 << 20, BACKLOG = 16 };

static struct addrinfo *resolve(const char *where, bool passive, char *error, size_t room)
{
    struct iw_host_port at;
    if (iw_transport_parse(where, &at, error, room) != 0)
        return NULL;
    return iw_address_resolve(at.host, at.port, passive, error, room);
}

int msg_tcp_connect(const char *where, struct msg_tcp *out)
{
    char error[400];
    *out = (struct msg_tcp){.fd = -1};
    struct addrinfo *list = resolve(where, false, error, sizeof(error));
    if (list == NULL)
        return iw_complain_exit(IW_EXIT_USAGE, "--tcp: %s", error);
    out->fd = iw_address_connect(list, 0, NULL, NULL);
    const int why = errno;
    freeaddrinfo(list);
    if (out->fd < 0)
        return iw_complain_exit(IW_EXIT_UNREACHED, "--tcp: %s: %s", where, strerror(why));
    /* A host that is gone is noticed after ten seconds. */
    const int on = 1, idle = 5, between = 1, times = 5;
    setsockopt(out->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(out->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(out->fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof(between));
    setsockopt(out->fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
    setsockopt(out->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    return -1;
}

int msg_tcp_listen(const char *where, int *listener, struct sockaddr_storage *at)
{
    char error[400];
    socklen_t length = sizeof(*at);
    struct addrinfo *list = resolve(where, true, error, sizeof(error));
    if (list == NULL)
        return iw_complain_exit(IW_EXIT_USAGE, "--tcp: %s", error);
    const int fd = iw_address_listen(list, BACKLOG, 0, NULL, NULL);
    const bool good = fd >= 0 && getsockname(fd, (struct sockaddr *)at, &length) == 0;
    const int why = errno;
    freeaddrinfo(list);
    if (good) {
        *listener = fd;
        return -1;
    }
    if (fd >= 0)
        close(fd);
    return iw_complain_exit(IW_EXIT_UNAVAILABLE, "--tcp: %s: %s", where, strerror(why));
}

void msg_tcp_close(struct msg_tcp *t)
{
    if (t->fd >= 0)
        close(t->fd);
    if (t->buffer != NULL)
        munmap(t->buffer, t->room);
    *t = (struct msg_tcp){.fd = -1};
}

/* As the buffers of the messages' pool: pages of their own, large ones if the system has them. */
uint8_t *msg_tcp_room(struct msg_tcp *t, size_t length)
{
    const size_t need = (MSG_TCP_HEAD + length + LEAST - 1) / LEAST * LEAST;
    if (t->room < need) {
        uint8_t *b = mmap(NULL, need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (b == MAP_FAILED)
            return NULL;
        (void)madvise(b, need, MADV_HUGEPAGE);
        if (t->buffer != NULL) {
            memcpy(b, t->buffer, t->length < t->room ? t->length : t->room);
            munmap(t->buffer, t->room);
        }
        t->buffer = b;
        t->room = need;
    }
    return t->buffer + MSG_TCP_HEAD;
}

bool msg_tcp_send_raw(struct msg_tcp *t, const uint8_t *octets, size_t length)
{
    while (length > 0) {
        const ssize_t went = send(t->fd, octets, length, MSG_NOSIGNAL);
        if (went < 0 && errno != EINTR)
            return false;
        octets += went > 0 ? went : 0;
        length -= went > 0 ? (size_t)went : 0;
    }
    return true;
}

bool msg_tcp_send(struct msg_tcp *t, size_t length)
{
    iw_put64(t->buffer, length);
    return msg_tcp_send_raw(t, t->buffer, MSG_TCP_HEAD + length);
}

ssize_t msg_tcp_receive_raw(struct msg_tcp *t, uint8_t *octets, size_t room)
{
    ssize_t came;
    do
        came = recv(t->fd, octets, room, 0);
    while (came < 0 && errno == EINTR && !iw_standard_interrupted());
    return came;
}

uint8_t *msg_tcp_receive(struct msg_tcp *t, size_t most)
{
    uint64_t whole = MSG_TCP_HEAD;
    size_t have = 0;
    t->length = 0;
    if (msg_tcp_room(t, 0) == NULL)
        return NULL;
    while (have < whole) {
        const ssize_t came = msg_tcp_receive_raw(t, t->buffer + have, t->room - have);
        if (came <= 0) {
            errno = came == 0 ? 0 : errno;
            return NULL;
        }
        if (have == 0 && t->busy != NULL)
            atomic_store_explicit(t->busy, UINT64_MAX, memory_order_relaxed);
        const bool had_head = have >= MSG_TCP_HEAD;
        have += (size_t)came;
        if (had_head || have < MSG_TCP_HEAD)
            continue;
        const uint64_t length = iw_get64(t->buffer);
        if (length > most) {
            errno = EPROTO;
            return NULL;
        }
        whole += length;
        t->length = have; /* what a larger buffer has to keep */
        if (msg_tcp_room(t, (size_t)length) == NULL)
            return NULL;
    }
    t->length = (size_t)whole - MSG_TCP_HEAD;
    t->more = have - (size_t)whole;
    return t->buffer + MSG_TCP_HEAD;
}
