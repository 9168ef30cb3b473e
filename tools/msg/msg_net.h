/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_NET_H
#define MSG_NET_H

/* How a command finds services: the options that all of them share. */

#include "host/options.h"
#include "messages/resolver.h"

struct msg_net {
    struct iw_resolver_config config;
    bool no_multicast, no_broadcast;
    const char *hosts[IW_RESOLVER_HOSTS_MOST];
    const char *key_file;
    uint8_t key[IW_RESOLVER_KEY_MOST + 2];
};

enum { MSG_NET_OPTIONS = 7 };

extern const struct iw_option msg_net_options[MSG_NET_OPTIONS];

/* Completes net->config with what the options say: reads the key. Returns -1 to go on, else the
 * exit status after one line. */
int msg_net_prepare(struct msg_net *net);
/* The same, and opens a resolver. */
int msg_net_open(struct msg_net *net, struct iw_resolver **resolver);

#endif
