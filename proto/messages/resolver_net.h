/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_RESOLVER_NET_H
#define IW_MESSAGES_RESOLVER_NET_H

/*
 * The resolver's sockets. It asks from ports of its own, so that answers come to nobody else.
 * Every process that has claimed a number shares the well-known port, to which multicasts and
 * broadcasts come once for each of them, and a unicast for one: that one relays it to the group on
 * the loopback interface.
 */

#include "messages/resolver.h"
#include "messages/resolver_core.h"

#include <poll.h>

enum {
    IW_RESOLVER_INTERFACES = 32,
    IW_RESOLVER_SOCKETS = 4,
    IW_RESOLVER_REFRESH_MS = 5000 /* interfaces are looked at again */
};

struct iw_resolver_interface {
    unsigned index;
    bool loopback, ipv4;
    bool joined, joined6;
    struct iw_resolver_place broadcast; /* family 0: none */
};

struct iw_resolver_net {
    int ask4, ask6, serve4, serve6, probe4, probe6; /* -1: not there */
    uint16_t port;
    bool multicast, broadcast;
    char only[16]; /* the name of the interface; "": all */
    struct iw_resolver_interface interfaces[IW_RESOLVER_INTERFACES];
    size_t interface_count;
    unsigned loopback; /* its index; 0: none */
    struct iw_resolver_place *hosts;
    size_t host_count;
    uint64_t refreshed;
};

/* Opens what asks. Returns 0, or -1 with errno and one line in `error`. */
int iw_resolver_net_open(struct iw_resolver_net *net, const struct iw_resolver_config *config,
                         char *error, size_t room);
void iw_resolver_net_close(struct iw_resolver_net *net);
/* Binds the port, for answers, if that was not done. Returns 0, or -1 with errno. */
int iw_resolver_net_serve(struct iw_resolver_net *net);
/* Has the kernel drop questions to the group about numbers that are not claimed; to be called when
 * the claims have changed. */
void iw_resolver_net_filter(const struct iw_resolver_net *net,
                            const struct iw_resolver_claims *claims);
/* Looks at the interfaces again if that is due. Returns when it is, UINT64_MAX if nothing has to
 * be noticed in time. */
uint64_t iw_resolver_net_refresh(struct iw_resolver_net *net, uint64_t now);
/* Fills in the sockets to be polled. Returns their number. */
size_t iw_resolver_net_poll(const struct iw_resolver_net *net, struct pollfd *fds);
/* Receives a datagram, at most `room` octets of it, its whole length returned; -1 for none. */
ssize_t iw_resolver_net_receive(const struct iw_resolver_net *net, int fd, uint8_t *octets,
                                size_t room, struct iw_resolver_origin *origin);

/* As struct iw_resolver_means has them. */
void iw_resolver_net_ask(struct iw_resolver_net *net, const uint8_t *octets, size_t length,
                         unsigned tries);
void iw_resolver_net_send(struct iw_resolver_net *net, const struct iw_resolver_place *to,
                          const uint8_t *octets, size_t length);
void iw_resolver_net_relay(struct iw_resolver_net *net, const uint8_t *octets, size_t length);
bool iw_resolver_net_local(struct iw_resolver_net *net, const struct iw_resolver_place *to,
                           struct iw_resolver_place *own);

#endif
