/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/resolver_net.h"
#include "messages/resolver_filter.h"
#include "messages/resolver_hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

enum { BUFFER = 1 << 20, CONTROL = 128 };

/* RFC 2365 §6.1: the local scope; RFC 4291 §2.7: transient, of this link. */
static const struct iw_resolver_place group4 = {.family = IW_RESOLVER_IPV4,
                                                .address = {239, 255, 74, 70}};
static const struct iw_resolver_place group6 = {
    .family = IW_RESOLVER_IPV6,
    .address = {0xff, 0x12, [12] = 0x69, [13] = 0x77, [14] = 0x72, [15] = 0x73}};

/* The loopback interface has one, but does not say so. */
static const struct iw_resolver_place loopback_broadcast = {.family = IW_RESOLVER_IPV4,
                                                            .address = {127, 255, 255, 255}};

/* ---- sockets ---- */

static int set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Returns a socket, or -1 with errno. */
static int make(int family)
{
    const int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int bad;
    /* The size of the buffer is a wish. */
    (void)set_option(fd, SOL_SOCKET, SO_RCVBUF, BUFFER);
    if (family == AF_INET)
        bad = set_option(fd, IPPROTO_IP, IP_PKTINFO, 1) |
              set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, 1) |
              set_option(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0) |
              set_option(fd, SOL_SOCKET, SO_BROADCAST, 1);
    else
        bad = set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) |
              set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) |
              set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 1);
    if (bad == 0)
        return fd;
    const int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int bind_port(int fd, int family, uint16_t port)
{
    struct sockaddr_storage at;
    const struct iw_resolver_place any = {
        .family = family == AF_INET ? IW_RESOLVER_IPV4 : IW_RESOLVER_IPV6, .port = port};
    const socklen_t length = iw_resolver_place_to(&any, &at);
    return bind(fd, (const struct sockaddr *)&at, length);
}

/* Opens and binds a socket. Without IPv6 there is none for it, which is no error. */
static int open_bound(int family, uint16_t port, int *fd)
{
    *fd = make(family);
    if (*fd < 0)
        return family == AF_INET6 ? 0 : -1;
    if ((port == 0 || set_option(*fd, SOL_SOCKET, SO_REUSEADDR, 1) == 0) &&
        bind_port(*fd, family, port) == 0)
        return 0;
    const int saved = errno;
    close(*fd);
    *fd = -1;
    errno = saved;
    return family == AF_INET6 ? 0 : -1;
}

int iw_resolver_net_open(struct iw_resolver_net *net, const struct iw_resolver_config *config,
                         char *error, size_t room)
{
    *net = (struct iw_resolver_net){.ask4 = -1,
                                    .ask6 = -1,
                                    .serve4 = -1,
                                    .serve6 = -1,
                                    .probe4 = -1,
                                    .probe6 = -1,
                                    .port = config->port != 0 ? config->port : IW_RESOLVER_PORT,
                                    .multicast = config->multicast,
                                    .broadcast = config->broadcast};
    if (config->interface != NULL) {
        if (strlen(config->interface) >= sizeof(net->only) ||
            if_nametoindex(config->interface) == 0) {
            snprintf(error, room, "there is no interface \"%.64s\"", config->interface);
            errno = ENODEV;
            return -1;
        }
        memcpy(net->only, config->interface, strlen(config->interface));
    }
    if (iw_resolver_hosts_read(config, net->port, &net->hosts, &net->host_count, error, room) != 0)
        return -1;
    if (open_bound(AF_INET, 0, &net->ask4) != 0 || open_bound(AF_INET6, 0, &net->ask6) != 0) {
        const int saved = errno;
        snprintf(error, room, "cannot make a UDP socket: %s", strerror(saved));
        iw_resolver_net_close(net);
        errno = saved;
        return -1;
    }
    net->probe4 = make(AF_INET);
    net->probe6 = make(AF_INET6);
    (void)iw_resolver_net_refresh(net, 0);
    return 0;
}

void iw_resolver_net_close(struct iw_resolver_net *net)
{
    int *const all[] = {&net->ask4,   &net->ask6,   &net->serve4,
                        &net->serve6, &net->probe4, &net->probe6};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (*all[i] >= 0)
            close(*all[i]);
        *all[i] = -1;
    }
    free(net->hosts);
    net->hosts = NULL;
    net->host_count = 0;
}

/* ---- interfaces ---- */

static struct iw_resolver_interface *interface_of(struct iw_resolver_net *net, unsigned index)
{
    for (size_t i = 0; i < net->interface_count; i++)
        if (net->interfaces[i].index == index)
            return &net->interfaces[i];
    if (net->interface_count == IW_RESOLVER_INTERFACES)
        return NULL;
    struct iw_resolver_interface *new = &net->interfaces[net->interface_count++];
    *new = (struct iw_resolver_interface){.index = index};
    return new;
}

static void take_address(struct iw_resolver_net *net, const struct ifaddrs *a)
{
    const unsigned index = if_nametoindex(a->ifa_name);
    const bool loopback = (a->ifa_flags & IFF_LOOPBACK) != 0;
    if ((a->ifa_flags & IFF_UP) == 0 || index == 0 || a->ifa_addr == NULL)
        return;
    const int family = a->ifa_addr->sa_family;
    if (loopback && net->loopback == 0)
        net->loopback = index;
    if ((family != AF_INET && family != AF_INET6) ||
        (net->only[0] != '\0' && strcmp(net->only, a->ifa_name) != 0))
        return;
    struct iw_resolver_interface *i = interface_of(net, index);
    if (i == NULL)
        return;
    i->loopback = loopback;
    i->ipv4 |= family == AF_INET;
    if (family == AF_INET && loopback)
        i->broadcast = loopback_broadcast;
    else if (family == AF_INET && (a->ifa_flags & IFF_BROADCAST) != 0 && a->ifa_broadaddr != NULL)
        (void)iw_resolver_place_from(&i->broadcast, a->ifa_broadaddr);
}

/* What was joined stays joined; an interface that has gone took its memberships with it. */
static void keep_joined(struct iw_resolver_net *net, const struct iw_resolver_interface *before,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < net->interface_count; j++)
            if (net->interfaces[j].index == before[i].index) {
                net->interfaces[j].joined = before[i].joined;
                net->interfaces[j].joined6 = before[i].joined6;
            }
}

static bool join(int fd, const struct iw_resolver_place *group, unsigned index)
{
    struct group_req request = {.gr_interface = index};
    (void)iw_resolver_place_to(group, &request.gr_group);
    return fd >= 0 && (setsockopt(fd, group->family == IW_RESOLVER_IPV4 ? IPPROTO_IP : IPPROTO_IPV6,
                                  MCAST_JOIN_GROUP, &request, sizeof(request)) == 0 ||
                       errno == EADDRINUSE);
}

static void join_all(struct iw_resolver_net *net)
{
    for (size_t i = 0; i < net->interface_count; i++) {
        struct iw_resolver_interface *n = &net->interfaces[i];
        if (!n->joined && n->ipv4)
            n->joined = join(net->serve4, &group4, n->index);
        if (!n->joined6 && !n->ipv4)
            n->joined6 = join(net->serve6, &group6, n->index);
    }
}

uint64_t iw_resolver_net_refresh(struct iw_resolver_net *net, uint64_t now)
{
    const bool serves = net->serve4 >= 0;
    if (net->refreshed != 0 && now < net->refreshed + IW_RESOLVER_REFRESH_MS * MS)
        return serves ? net->refreshed + IW_RESOLVER_REFRESH_MS * MS : UINT64_MAX;
    struct iw_resolver_interface before[IW_RESOLVER_INTERFACES];
    const size_t count = net->interface_count;
    struct ifaddrs *list = NULL;
    net->refreshed = now != 0 ? now : 1;
    if (getifaddrs(&list) == 0) {
        memcpy(before, net->interfaces, sizeof(before));
        net->interface_count = 0;
        for (const struct ifaddrs *a = list; a != NULL; a = a->ifa_next)
            take_address(net, a);
        freeifaddrs(list);
        keep_joined(net, before, count);
    }
    if (serves)
        join_all(net);
    return serves ? net->refreshed + IW_RESOLVER_REFRESH_MS * MS : UINT64_MAX;
}

int iw_resolver_net_serve(struct iw_resolver_net *net)
{
    if (net->serve4 >= 0)
        return 0;
    if (open_bound(AF_INET, net->port, &net->serve4) != 0 ||
        open_bound(AF_INET6, net->port, &net->serve6) != 0)
        return -1;
    /* What is relayed comes over the loopback, whatever else is listened to. */
    if (net->loopback != 0)
        (void)join(net->serve4, &group4, net->loopback);
    join_all(net);
    return 0;
}

void iw_resolver_net_filter(const struct iw_resolver_net *net,
                            const struct iw_resolver_claims *claims)
{
    if (net->serve4 >= 0)
        iw_resolver_filter_set(net->serve4, &group4, claims);
    if (net->serve6 >= 0)
        iw_resolver_filter_set(net->serve6, &group6, claims);
}

size_t iw_resolver_net_poll(const struct iw_resolver_net *net, struct pollfd *fds)
{
    const int all[IW_RESOLVER_SOCKETS] = {net->ask4, net->ask6, net->serve4, net->serve6};
    size_t count = 0;
    for (size_t i = 0; i < IW_RESOLVER_SOCKETS; i++)
        if (all[i] >= 0)
            fds[count++] = (struct pollfd){.fd = all[i], .events = POLLIN};
    return count;
}

/* ---- datagrams ---- */

/* Space for the control data of one message, aligned. */
union control {
    struct cmsghdr header;
    char octets[CONTROL];
};

static void take_control(struct msghdr *m, struct iw_resolver_origin *origin)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(c), sizeof(info));
            origin->interface = (uint32_t)info.ipi_ifindex;
            /* Of a multicast or broadcast the local address is another one. */
            origin->unicast = info.ipi_addr.s_addr == info.ipi_spec_dst.s_addr;
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo info;
            memcpy(&info, CMSG_DATA(c), sizeof(info));
            origin->interface = info.ipi6_ifindex;
            origin->unicast = !IN6_IS_ADDR_MULTICAST(&info.ipi6_addr);
        }
    }
}

ssize_t iw_resolver_net_receive(const struct iw_resolver_net *net, int fd, uint8_t *octets,
                                size_t room, struct iw_resolver_origin *origin)
{
    struct sockaddr_storage from;
    union control control;
    struct iovec piece = {.iov_base = octets, .iov_len = room};
    struct msghdr m = {.msg_name = &from,
                       .msg_namelen = sizeof(from),
                       .msg_iov = &piece,
                       .msg_iovlen = 1,
                       .msg_control = control.octets,
                       .msg_controllen = sizeof(control.octets)};
    const ssize_t n = recvmsg(fd, &m, MSG_TRUNC);
    *origin = (struct iw_resolver_origin){.interface = 0};
    if (n < 0 || !iw_resolver_place_from(&origin->from, (const struct sockaddr *)&from))
        return -1;
    take_control(&m, origin);
    origin->loopback = origin->interface != 0 && origin->interface == net->loopback;
    return n;
}

/* Sends from one interface, 0 for the one that the route says. What is lost is sent again. */
static void send_from(const struct iw_resolver_net *net, const struct iw_resolver_place *to,
                      unsigned interface, const uint8_t *octets, size_t length)
{
    struct sockaddr_storage at;
    union control control;
    struct iovec piece = {.iov_base = (void *)(uintptr_t)octets, .iov_len = length};
    const bool v4 = to->family == IW_RESOLVER_IPV4;
    struct msghdr m = {.msg_name = &at,
                       .msg_namelen = iw_resolver_place_to(to, &at),
                       .msg_iov = &piece,
                       .msg_iovlen = 1};
    memset(&control, 0, sizeof(control));
    if (interface != 0) {
        const struct in_pktinfo info4 = {.ipi_ifindex = (int)interface};
        const struct in6_pktinfo info6 = {.ipi6_ifindex = interface};
        m.msg_control = control.octets;
        m.msg_controllen = v4 ? CMSG_SPACE(sizeof(info4)) : CMSG_SPACE(sizeof(info6));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
        c->cmsg_type = v4 ? IP_PKTINFO : IPV6_PKTINFO;
        c->cmsg_len = v4 ? CMSG_LEN(sizeof(info4)) : CMSG_LEN(sizeof(info6));
        memcpy(CMSG_DATA(c), v4 ? (const void *)&info4 : (const void *)&info6,
               v4 ? sizeof(info4) : sizeof(info6));
    }
    const int fd = v4 ? net->ask4 : net->ask6;
    if (fd >= 0)
        (void)!sendmsg(fd, &m, MSG_NOSIGNAL);
}

static void send_group(const struct iw_resolver_net *net, bool v4, unsigned interface,
                       const uint8_t *octets, size_t length)
{
    struct iw_resolver_place group = v4 ? group4 : group6;
    group.port = net->port;
    group.scope = v4 ? 0 : interface;
    send_from(net, &group, interface, octets, length);
}

/* The loopback is asked where there is no other interface, or where it was named: an address of it
 * is of no use to a device that is not the host's. */
static bool asks_there(const struct iw_resolver_net *net, const struct iw_resolver_interface *n)
{
    return !n->loopback || net->interface_count == 1 || net->only[0] != '\0';
}

void iw_resolver_net_ask(struct iw_resolver_net *net, const uint8_t *octets, size_t length,
                         unsigned tries)
{
    for (size_t i = 0; i < net->host_count; i++)
        send_from(net, &net->hosts[i], 0, octets, length);
    for (size_t i = 0; i < net->interface_count; i++) {
        const struct iw_resolver_interface *n = &net->interfaces[i];
        if (!asks_there(net, n))
            continue;
        if (net->multicast)
            send_group(net, n->ipv4, n->index, octets, length);
        if (net->broadcast && (tries > 0 || !net->multicast) && n->broadcast.family != 0) {
            struct iw_resolver_place all = n->broadcast;
            all.port = net->port;
            send_from(net, &all, n->index, octets, length);
        }
    }
    if (!net->multicast)
        iw_resolver_net_relay(net, octets, length); /* this host's processes */
}

void iw_resolver_net_send(struct iw_resolver_net *net, const struct iw_resolver_place *to,
                          const uint8_t *octets, size_t length)
{
    send_from(net, to, 0, octets, length);
}

void iw_resolver_net_relay(struct iw_resolver_net *net, const uint8_t *octets, size_t length)
{
    if (net->loopback != 0)
        send_group(net, true, net->loopback, octets, length);
}

bool iw_resolver_net_local(struct iw_resolver_net *net, const struct iw_resolver_place *to,
                           struct iw_resolver_place *own)
{
    struct sockaddr_storage at;
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    const int fd = to->family == IW_RESOLVER_IPV4 ? net->probe4 : net->probe6;
    socklen_t length = iw_resolver_place_to(to, &at);
    /* A UDP socket that is connected has the source that the route says, and keeps it until it is
     * disconnected; nothing is sent. */
    if (fd < 0 || connect(fd, &nowhere, sizeof(nowhere)) != 0 ||
        connect(fd, (const struct sockaddr *)&at, length) != 0)
        return false;
    length = sizeof(at);
    return getsockname(fd, (struct sockaddr *)&at, &length) == 0 &&
           iw_resolver_place_from(own, (const struct sockaddr *)&at);
}
