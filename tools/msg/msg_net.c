/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg_net.h"
#include "msg_command.h"

#include "host/complain.h"
#include "host/files.h"
#include "host/offers.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

static int add_host(void *context, const char *value, char *error, size_t room)
{
    struct msg_net *net = context;
    if (net->config.host_count == IW_RESOLVER_HOSTS_MOST)
        return iw_option_wrong(error, room, "expected at most %d hosts", IW_RESOLVER_HOSTS_MOST);
    net->hosts[net->config.host_count++] = value;
    return IW_OPTION_TAKEN;
}

static void offer_interfaces(const struct iw_offers *to)
{
    struct if_nameindex *list = if_nameindex();
    for (const struct if_nameindex *i = list; i != NULL && i->if_index != 0; i++)
        iw_offer(to, i->if_name, NULL);
    if (list != NULL)
        if_freenameindex(list);
}

const struct iw_option msg_net_options[MSG_NET_OPTIONS] = {
    {"host", 0, "HOST[:PORT]", "ask this host, too, by unicast; may be repeated", MSG_NET,
     IW_OPTION_CALLS(add_host)},
    {"interface", 0, "NAME", "ask on this interface (every one that is up)", MSG_NET,
     IW_OPTION_OFFERED(struct msg_net, config.interface, offer_interfaces)},
    {"no-multicast", 0, NULL, "do not ask by multicast", MSG_NET,
     IW_OPTION_SETS(struct msg_net, no_multicast)},
    {"no-broadcast", 0, NULL, "do not ask by broadcast", MSG_NET,
     IW_OPTION_SETS(struct msg_net, no_broadcast)},
    {"resolver-port", 0, "PORT", "UDP port of the resolvers (7470)", MSG_NET,
     IW_OPTION_COUNTS(struct msg_net, config.port, 1, 65535)},
    {"key-file", 0, "FILE", "the key that hosts share: who lacks it is not believed", MSG_NET,
     IW_OPTION_KEEPS(struct msg_net, key_file)},
    {"expiry", 0, "MS", "believe an answer for so long (30000)", MSG_NET,
     IW_OPTION_COUNTS(struct msg_net, config.expiry_ms, 1, 86400000)},
};

/* Reads the key: what is in the file but for a line feed at its end. */
static int read_key(struct msg_net *net)
{
    const ssize_t got = iw_file_read_at_most(net->key_file, net->key, sizeof(net->key));
    if (got == IW_FILE_UNOPENED)
        return iw_complain_exit(IW_EXIT_USAGE, "--key-file: cannot read \"%s\": %s", net->key_file,
                                strerror(errno));
    if (got < 0)
        return iw_complain_exit(IW_EXIT_USAGE, "--key-file: cannot read \"%s\"", net->key_file);
    size_t length = (size_t)got;
    if (length > 0 && net->key[length - 1] == '\n')
        length--;
    if (length < IW_RESOLVER_KEY_LEAST || length > IW_RESOLVER_KEY_MOST)
        return iw_complain_exit(IW_EXIT_USAGE,
                                "--key-file: \"%s\": expected a key of %d to %d octets",
                                net->key_file, IW_RESOLVER_KEY_LEAST, IW_RESOLVER_KEY_MOST);
    net->config.key = net->key;
    net->config.key_length = length;
    return -1;
}

int msg_net_prepare(struct msg_net *net)
{
    net->config.hosts = net->hosts;
    net->config.multicast = !net->no_multicast;
    net->config.broadcast = !net->no_broadcast;
    return net->key_file != NULL ? read_key(net) : -1;
}

int msg_net_open(struct msg_net *net, struct iw_resolver **resolver)
{
    char error[400];
    const int status = msg_net_prepare(net);
    if (status >= 0)
        return status;
    if (iw_resolver_open(&net->config, resolver, error, sizeof(error)) == 0)
        return -1;
    return iw_complain_exit(
        errno == EINVAL || errno == ENODEV ? IW_EXIT_USAGE : IW_EXIT_UNAVAILABLE, "%s", error);
}
