/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg_place.h"
#include "msg_command.h"

#include "host/address.h"
#include "host/complain.h"
#include "host/number.h"
#include "host/text.h"
#include "iwarp/transport.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Reads HOST:PORT. Returns false with one line in `error`. */
static bool read_place(const char *text, bool passive, struct sockaddr_storage *at, char *error,
                       size_t room)
{
    struct iw_host_port where;
    if (iw_transport_parse(text, &where, error, room) != 0)
        return false;
    struct addrinfo *list = iw_address_resolve(where.host, where.port, passive, error, room);
    if (list == NULL)
        return false;
    memset(at, 0, sizeof(*at));
    memcpy(at, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    return true;
}

static int add_place(void *context, const char *value, char *error, size_t room)
{
    struct msg_place *p = context;
    const char *equals = strchr(value, '=');
    uint64_t number = 0;
    char *text = equals != NULL ? iw_got(strndup(value, (size_t)(equals - value))) : NULL;
    const bool good = text != NULL && iw_number(text, 1, UINT32_MAX, &number);
    free(text);
    if (!good)
        return iw_option_wrong(error, room, "expected NUMBER=HOST:PORT");
    if (p->place_count == MSG_PLACES_MOST)
        return iw_option_wrong(error, room, "expected at most %d numbers", MSG_PLACES_MOST);
    struct iw_messages_place *place = &p->places[p->place_count];
    place->number = (uint32_t)number;
    if (!read_place(equals + 1, false, &place->at, error, room))
        return IW_OPTION_WRONG;
    p->place_count++;
    return IW_OPTION_TAKEN;
}

const struct iw_option msg_place_options[MSG_PLACE_OPTIONS] = {
    {"at", 0, "NUMBER=HOST:PORT", "this service is there; may be repeated", MSG_ENDS,
     IW_OPTION_CALLS(add_place)},
    {"no-resolver", 0, NULL, "do not ask the net: only --at says where services are", MSG_ENDS,
     IW_OPTION_SETS(struct msg_place, no_resolver)},
    {"listen", 0, "HOST:PORT", "where other processes connect (every address, a free port)",
     MSG_ENDS, IW_OPTION_KEEPS(struct msg_place, listen)},
    {"poll", 0, NULL, "poll for what comes and never sleep", MSG_ENDS,
     IW_OPTION_SETS(struct msg_place, polls)},
    {"timeout", 0, "MS", "give up a service that is not found, or is silent, after this (5000)",
     MSG_ENDS, IW_OPTION_COUNTS(struct msg_place, timeout, 1, 300000)},
    {"connections", 0, "N", "keep at most this many connections (64)", MSG_ENDS,
     IW_OPTION_COUNTS(struct msg_place, connections, 1, 4096)},
};

int msg_place_open(const struct msg_place *place, struct msg_net *net, struct iw_messages **out)
{
    char error[400];
    struct sockaddr_storage at;
    struct iw_messages_config config = {.places = place->places,
                                        .place_count = place->place_count,
                                        .connections = (int)place->connections,
                                        .timeout_ms = (int)place->timeout,
                                        .spin_us = place->polls ? IW_MESSAGES_POLL : 0};
    const int status = msg_net_prepare(net);
    if (status >= 0)
        return status;
    const struct iw_messages_resolver resolver = {.hosts = net->config.hosts,
                                                  .host_count = net->config.host_count,
                                                  .port = net->config.port,
                                                  .multicast = net->config.multicast,
                                                  .broadcast = net->config.broadcast,
                                                  .interface = net->config.interface,
                                                  .key = net->config.key,
                                                  .key_length = net->config.key_length};
    if (!place->no_resolver)
        config.resolver = &resolver;
    if (place->listen != NULL) {
        if (!read_place(place->listen, true, &at, error, sizeof(error)))
            return iw_complain_exit(IW_EXIT_USAGE, "--listen: %s", error);
        config.listen = (const struct sockaddr *)&at;
    }
    if (iw_messages_open(&config, out, error, sizeof(error)) == 0)
        return -1;
    return iw_complain_exit(
        IW_EXIT_UNAVAILABLE, "%s%s", error,
        errno == ENODEV || errno == ENOENT ? " (without one: iwarp-run iwarp-msg ...)" : "");
}

int msg_place_service(struct iw_messages *m, uint32_t number, struct iw_service **out)
{
    if (iw_messages_service(m, number, out) == 0)
        return -1;
    return iw_complain_exit(errno == EADDRINUSE ? IW_EXIT_FAILURE : IW_EXIT_UNAVAILABLE,
                            "%" PRIu32 ": %s", number,
                            errno == EADDRINUSE ? "another process has it" : strerror(errno));
}

int msg_place_undelivered(const struct iw_message *report)
{
    if (report->error == EHOSTUNREACH)
        return iw_complain_exit(IW_EXIT_UNREACHED, "%" PRIu32 ": nobody was found who has it",
                                report->number);
    return iw_complain_exit(IW_EXIT_FAILURE, "%" PRIu32 ": not delivered: %s", report->number,
                            report->error == ECONNRESET ? "its process is gone"
                                                        : strerror(report->error));
}
