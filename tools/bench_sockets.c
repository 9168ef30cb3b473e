/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ping-pong of sockets, which bench_sockets.py builds and runs with and without the library.
 *
 * usage: bench_sockets serve|ask PORT blocking|polling|put OCTETS COUNT
 *
 * blocking and polling exchange OCTETS over a plain socket, COUNT times; what polls calls recv with
 * MSG_DONTWAIT until the octets are there. put switches the connection to iWARP and has each side
 * write OCTETS to memory of the other, which looks at the last octet until it has changed.
 * `ask` prints the microseconds of one round trip, on average after a tenth that is not counted,
 * and ends with 1 if an octet is wrong.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define IWARP_SOCKETS_OPTIONAL
#include <iwarp/sockets.h>

enum { MOST = 65536 };

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void take(int fd, unsigned char *octets, size_t count, int flags)
{
    while (count > 0) {
        const ssize_t came = recv(fd, octets, count, flags);
        if (came > 0) {
            octets += came;
            count -= (size_t)came;
        } else if (came == 0 || errno != EAGAIN) {
            fail("recv");
        }
    }
}

static void give(int fd, const unsigned char *octets, size_t count)
{
    while (count > 0) {
        const ssize_t went = send(fd, octets, count, 0);
        if (went < 0)
            fail("send");
        octets += went;
        count -= (size_t)went;
    }
}

static int connection(int serves, unsigned short port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        fail("socket");
    if (serves) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 1) != 0)
            fail("listen");
        const int listener = fd;
        if ((fd = accept(listener, NULL, NULL)) < 0)
            fail("accept");
        close(listener);
    } else if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        fail("connect");
    }
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0)
        fail("TCP_NODELAY");
    return fd;
}

/* One-sided: where each side's octets come to. */
static unsigned char landing[MOST], source[MOST];
static struct iw_sockets_memory peer;

static void switch_over(int fd, int serves)
{
    struct iw_sockets_memory own;
    uint8_t name[IW_SOCKETS_MEMORY];
    const int mode = serves ? IWARP_RESPONDER : IWARP_INITIATOR;
    if (setsockopt(fd, SOL_TCP, IWARP_MODE, &mode, sizeof(mode)) != 0)
        fail("IWARP_MODE");
    if (iw_sockets_advertise(fd, landing, sizeof(landing), IW_SOCKETS_WRITABLE, &own) != 0)
        fail("iw_sockets_advertise");
    iw_sockets_memory_put(&own, name);
    give(fd, name, sizeof(name));
    take(fd, name, sizeof(name), 0);
    iw_sockets_memory_get(name, &peer);
}

static void put(int fd, size_t octets)
{
    struct iw_sockets_completion done;
    const struct iovec piece = {.iov_base = source, .iov_len = octets};
    const struct iw_sockets_request request = {.operation = IW_SOCKETS_OP_WRITE,
                                               .pieces = &piece,
                                               .piece_count = 1,
                                               .stag = peer.stag,
                                               .to = peer.to};
    if (iw_sockets_post(fd, &request) != 0)
        fail("iw_sockets_post");
    if (iw_sockets_poll(fd, &done, 1, -1) != 1 || done.error != 0)
        fail("iw_sockets_poll");
}

/* Until the last octet has this value. The library has to be called, for it moves the octets. */
static void await(int fd, size_t octets, unsigned char value)
{
    struct iw_sockets_completion none;
    const volatile unsigned char *last = &landing[octets - 1];
    while (*last != value)
        if (iw_sockets_poll(fd, &none, 1, 0) < 0)
            fail("iw_sockets_poll");
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 64;
    const int serves = strcmp(argv[1], "serve") == 0, one_sided = strcmp(argv[3], "put") == 0;
    const int flags = strcmp(argv[3], "polling") == 0 ? MSG_DONTWAIT : 0;
    const size_t octets = strtoul(argv[4], NULL, 10);
    const unsigned long rounds = strtoul(argv[5], NULL, 10), unmeasured = rounds / 10;
    if (octets == 0 || octets > MOST || rounds < 10)
        return 64;
    const int fd = connection(serves, (unsigned short)strtoul(argv[2], NULL, 10));
    if (one_sided)
        switch_over(fd, serves);
    double began = 0;
    for (unsigned long i = 0; i < rounds; i++) {
        const unsigned char value = (unsigned char)(i % 255 + 1);
        if (i == unmeasured)
            began = now();
        if (!serves) {
            memset(source, value, octets);
            if (one_sided)
                put(fd, octets);
            else
                give(fd, source, octets);
        }
        if (one_sided)
            await(fd, octets, value);
        else
            take(fd, landing, octets, flags);
        if (landing[0] != value || landing[octets - 1] != value) {
            fprintf(stderr, "bench_sockets: a wrong octet in round %lu\n", i);
            return 1;
        }
        if (serves) {
            memcpy(source, landing, octets);
            if (one_sided)
                put(fd, octets);
            else
                give(fd, source, octets);
        }
    }
    if (!serves)
        printf("%.3f\n", (now() - began) / (double)(rounds - unmeasured));
    if (one_sided) { /* nobody closes before the other has what it waits for */
        give(fd, source, 1);
        take(fd, landing, 1, 0);
    }
    close(fd);
    return 0;
}
