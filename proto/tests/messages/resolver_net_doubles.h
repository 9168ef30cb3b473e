/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_RESOLVER_NET_DOUBLES_H
#define IW_TESTS_RESOLVER_NET_DOUBLES_H

/* The calls of the resolver's sockets that send, receive, join groups and list interfaces. Include
 * from one program. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "resolver_world.h"

#include "messages/resolver_filter.h"
#include "messages/resolver_net.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum { ASK4 = 40, ASK6 = 41, MS = 1000000, NOTED = 32 };

/* ---- what stands in ---- */

static struct {
    int fd;
    char to[64];   /* address, and port */
    unsigned from; /* the interface, 0: none was named */
    uint32_t scope;
    size_t length;
} sent[NOTED];
static unsigned sends;

static void print_address(const struct sockaddr_storage *at, char out[64])
{
    char host[INET6_ADDRSTRLEN];
    const struct sockaddr_in *v4 = (const void *)at;
    const struct sockaddr_in6 *v6 = (const void *)at;
    if (at->ss_family == AF_INET)
        snprintf(out, 64, "%s:%u", inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host)),
                 ntohs(v4->sin_port));
    else
        snprintf(out, 64, "[%s]:%u", inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host)),
                 ntohs(v6->sin6_port));
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    struct sockaddr_storage at = {0};
    assert_int_equal(flags, MSG_NOSIGNAL);
    assert_true(sends < NOTED);
    assert_int_equal(m->msg_iovlen, 1);
    memcpy(&at, m->msg_name, m->msg_namelen);
    assert_int_equal(m->msg_namelen, at.ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                                             : sizeof(struct sockaddr_in6));
    sent[sends].fd = fd;
    print_address(&at, sent[sends].to);
    sent[sends].scope = at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_scope_id : 0;
    sent[sends].from = 0;
    sent[sends].length = m->msg_iov->iov_len;
    const struct cmsghdr *c = m->msg_controllen > 0 ? CMSG_FIRSTHDR(m) : NULL;
    if (c != NULL && at.ss_family == AF_INET) {
        struct in_pktinfo info;
        assert_int_equal(c->cmsg_level, IPPROTO_IP);
        assert_int_equal(c->cmsg_type, IP_PKTINFO);
        assert_int_equal(c->cmsg_len, CMSG_LEN(sizeof(info)));
        assert_int_equal(m->msg_controllen, CMSG_SPACE(sizeof(info)));
        memcpy(&info, CMSG_DATA(c), sizeof(info));
        assert_int_equal(info.ipi_spec_dst.s_addr, 0);
        sent[sends].from = (unsigned)info.ipi_ifindex;
    } else if (c != NULL) {
        struct in6_pktinfo info;
        assert_int_equal(c->cmsg_level, IPPROTO_IPV6);
        assert_int_equal(c->cmsg_type, IPV6_PKTINFO);
        assert_int_equal(c->cmsg_len, CMSG_LEN(sizeof(info)));
        assert_int_equal(m->msg_controllen, CMSG_SPACE(sizeof(info)));
        memcpy(&info, CMSG_DATA(c), sizeof(info));
        assert_true(IN6_IS_ADDR_UNSPECIFIED(&info.ipi6_addr));
        sent[sends].from = info.ipi6_ifindex;
    }
    sends++;
    return (ssize_t)m->msg_iov->iov_len;
}

static struct {
    ssize_t result;
    struct sockaddr_in6 from; /* or one of IPv4 */
    bool v4;
    bool control;
    int level, type; /* of its data */
    struct in_pktinfo info4;
    struct in6_pktinfo info6;
} incoming;

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    assert_int_equal(fd, 77);
    assert_int_equal(flags, MSG_TRUNC);
    assert_int_equal(m->msg_iov->iov_len, 9);
    memcpy(m->msg_name, &incoming.from, sizeof(incoming.from));
    const size_t size = incoming.v4 ? sizeof(incoming.info4) : sizeof(incoming.info6);
    if (!incoming.control) {
        m->msg_controllen = 0;
        return incoming.result;
    }
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    c->cmsg_level = incoming.level;
    c->cmsg_type = incoming.type;
    c->cmsg_len = CMSG_LEN(size);
    if (incoming.v4)
        memcpy(CMSG_DATA(c), &incoming.info4, size);
    else
        memcpy(CMSG_DATA(c), &incoming.info6, size);
    m->msg_controllen = CMSG_SPACE(size);
    return incoming.result;
}

static struct ifaddrs *listed; /* NULL: it fails */
static unsigned lists, frees;

int getifaddrs(struct ifaddrs **list)
{
    lists++;
    *list = listed;
    return listed != NULL ? 0 : -1;
}

void freeifaddrs(struct ifaddrs *list)
{
    assert_ptr_equal(list, listed);
    frees++;
}

/* "lo" is 1, "e2" is 2, "e30" is 30; another one has gone. */
unsigned if_nametoindex(const char *name)
{
    return strcmp(name, "lo") == 0 ? 1 : name[0] == 'e' ? (unsigned)strtoul(name + 1, NULL, 10) : 0;
}

static struct {
    int fd, level;
    unsigned index;
    char group[64];
} joins[NOTED];
static unsigned join_count;
static int join_error;

static int wished;          /* octets of the last buffer */
static int option_fails[2]; /* level and name */

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    if (level == SOL_SOCKET && name == SO_RCVBUF)
        memcpy(&wished, value, sizeof(wished));
    if (name != 0 && level == option_fails[0] && name == option_fails[1]) {
        errno = ENOPROTOOPT;
        return -1;
    }
    if (name != MCAST_JOIN_GROUP)
        return (int)syscall(SYS_setsockopt, fd, level, name, value, length);
    struct group_req request;
    assert_int_equal(length, sizeof(request));
    memcpy(&request, value, sizeof(request));
    assert_true(join_count < NOTED);
    joins[join_count].fd = fd;
    joins[join_count].level = level;
    joins[join_count].index = request.gr_interface;
    print_address(&request.gr_group, joins[join_count++].group);
    errno = join_error;
    return join_error != 0 ? -1 : 0;
}

static int socket_fails = -1, bind_fails = -1; /* a family; -1: none does */

int socket(int family, int type, int protocol)
{
    if (family != socket_fails)
        return (int)syscall(SYS_socket, family, type, protocol);
    errno = ENFILE;
    return -1;
}

int bind(int fd, const struct sockaddr *at, socklen_t length)
{
    if (at->sa_family != bind_fails)
        return (int)syscall(SYS_bind, fd, at, length);
    errno = EACCES;
    return -1;
}

static unsigned filters;
static int filtered4, filtered6;
static size_t filtered;
static struct iw_resolver_place filter[IW_RESOLVER_INTERFACES + 2];

void iw_resolver_filter_set(int fd, const struct iw_resolver_place *addresses, size_t count,
                            const struct iw_resolver_claims *claims)
{
    assert_int_equal(claims->count, 5);
    filters++;
    filtered4 = fd;
    filtered = count;
    memcpy(filter, addresses, count * sizeof(filter[0]));
}

void iw_resolver_filter_set6(int fd, const struct iw_resolver_claims *claims)
{
    assert_int_equal(claims->count, 5);
    filters++;
    filtered6 = fd;
}

/* ---- what is tested ---- */

static struct iw_resolver_net net;

static struct iw_resolver_place v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint16_t port)
{
    return (struct iw_resolver_place){
        .family = IW_RESOLVER_IPV4, .port = port, .address = {a, b, c, d}};
}

static int begin(void **unused)
{
    (void)unused;
    net = (struct iw_resolver_net){.ask4 = ASK4,
                                   .ask6 = ASK6,
                                   .serve4 = -1,
                                   .serve6 = -1,
                                   .probe4 = -1,
                                   .probe6 = -1,
                                   .watch = -1,
                                   .port = 7470,
                                   .loopback = 1};
    memset(&incoming, 0, sizeof(incoming));
    sends = lists = frees = join_count = 0;
    join_error = wished = option_fails[0] = option_fails[1] = 0;
    socket_fails = bind_fails = -1;
    filters = 0;
    filtered4 = filtered6 = -1;
    filtered = 0;
    return 0;
}

#define NET_TEST(name) cmocka_unit_test_setup(name, begin)

#endif
