/* SPDX-License-Identifier: BSD-3-Clause */
/* Places and listeners of the backend on verbs. */
#include "agent_rdma.h"

#include "host/address.h"
#include "host/complain.h"
#include "host/proc_tables.h"

#include <errno.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- places ---- */

static uint64_t at_most(uint64_t value, int most)
{
    return most > 0 && value > (uint64_t)most ? (uint64_t)most : value;
}

bool rdma_private_fits(const struct agent_octets *data, char *error)
{
    return data->length <= RDMA_PRIVATE_MAX ||
           agent_fail(error, AGENT_UNSUPPORTED "field private: more than %d octets",
                      RDMA_PRIVATE_MAX);
}

bool rdma_plan(const struct rdma_agent *a, const struct agent_place *p, struct rdma_plan *out,
               char *error)
{
    const struct ibv_device_attr *most = &a->device->attributes;
    uint64_t most_ird = at_most(255, most->max_qp_rd_atom);
    uint64_t most_ord = at_most(255, most->max_qp_init_rd_atom);
    uint64_t most_work = at_most(4096, most->max_qp_wr);
    *out = (struct rdma_plan){.pd = a->domains[p->domain],
                              .send_depth = RDMA_QUEUE,
                              .recv_depth = RDMA_QUEUE,
                              .ird = (uint8_t)at_most(RDMA_DEPTH, most->max_qp_rd_atom),
                              .ord = (uint8_t)at_most(RDMA_DEPTH, most->max_qp_init_rd_atom)};
    const struct agent_field fields[] = {
        {"ird", AGENT_NUMBER, false, most_ird, AGENT_INTO(out->ird)},
        {"ord", AGENT_NUMBER, false, most_ord, AGENT_INTO(out->ord)},
        {"send_depth", AGENT_NUMBER, false, most_work, AGENT_INTO(out->send_depth)},
        {"recv_depth", AGENT_NUMBER, false, most_work, AGENT_INTO(out->recv_depth)}};
    const char *key, *beyond = p->half_close ? "half_close" : NULL;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)p->config, key, value)
    {
        size_t i = 0;
        while (i < COUNT(fields) && strcmp(fields[i].name, key) != 0)
            i++;
        if (i == COUNT(fields))
            beyond = key;
    }
    if (beyond != NULL)
        return agent_fail(error, AGENT_UNSUPPORTED "field %.40s: the driver decides", beyond);
    if (!rdma_private_fits(&p->private_data, error) ||
        (p->config != NULL && !agent_take(p->config, fields, COUNT(fields), error)))
        return false;
    if (out->send_depth == 0 || out->recv_depth == 0)
        return agent_fail(error, "field %s: expected a number from 1",
                          out->send_depth == 0 ? "send_depth" : "recv_depth");
    return true;
}

/* ---- listeners ---- */

/* Listens. librdmacm has its own ports: one that it finds free may be taken on TCP. */
static struct rdma_cm_id *listen_at(struct rdma_agent *a, const struct iw_host_port *at,
                                    struct sockaddr *address, char *error)
{
    bool again = true;
    for (int i = 0; i < RDMA_TRIES && again; i++) {
        struct rdma_cm_id *cm = NULL;
        if (!rdma_create_id(a->device->events, &cm, NULL, RDMA_PS_TCP) &&
            !rdma_bind_addr(cm, address) && !rdma_check_device(a, cm) &&
            !rdma_listen(cm, AGENT_CONNECTIONS))
            return cm;
        again = errno == EADDRINUSE && at->port == 0;
        rdma_no_way(a, "listen on", at, errno, error);
        if (cm != NULL)
            (void)rdma_destroy_id(cm);
    }
    return NULL;
}

/* Returns true if TCP of this host has a listening socket on the port, as a software device's. */
static bool on_tcp(uint16_t port)
{
    return iw_proc_listens(0, port, NULL);
}

static void park(struct rdma_listener *l)
{
    struct rdma_parked *parked = l->agent->device->parked;
    l->cm->context = NULL;
    for (size_t i = 0; i < RDMA_PARKED; i++)
        if (parked[i].cm == NULL) {
            parked[i].cm = l->cm;
            return;
        }
    iw_complain("%d listeners are parked: one more is lost sight of", RDMA_PARKED);
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    bool v4 = a->sa_family == AF_INET;
    size_t at =
        v4 ? offsetof(struct sockaddr_in, sin_addr) : offsetof(struct sockaddr_in6, sin6_addr);
    size_t length = v4 ? sizeof(struct in_addr) : sizeof(struct in6_addr);
    return a->sa_family == b->sa_family &&
           memcmp((const char *)a + at, (const char *)b + at, length) == 0;
}

/* Returns a parked listener for this address and port (0: any) that still listens; NULL if there is
 * none. */
static struct rdma_cm_id *unpark(struct rdma_agent *a, const struct sockaddr *address,
                                 uint16_t wanted)
{
    for (size_t i = 0; i < RDMA_PARKED; i++) {
        struct rdma_parked *parked = &a->device->parked[i];
        struct rdma_cm_id *cm = parked->cm;
        if (cm == NULL || parked->lost || !same_address(rdma_get_local_addr(cm), address))
            continue;
        uint16_t port = ntohs(rdma_get_src_port(cm));
        if (wanted != 0 && wanted != port)
            continue;
        parked->lost = !on_tcp(port);
        if (parked->lost)
            continue;
        parked->cm = NULL;
        return cm;
    }
    return NULL;
}

void rdma_close_listener(void *listener)
{
    struct rdma_listener *l = listener;
    if (l->on_tcp)
        park(l);
    else
        (void)rdma_destroy_id(l->cm);
    agent_octets_free(&l->base.reply);
    *l = (struct rdma_listener){0};
}

bool rdma_listen_at(void *b, void *listener, const struct agent_place *p, uint16_t *port,
                    char *error)
{
    struct rdma_agent *a = b;
    struct rdma_listener *l = listener, made = {.agent = a};
    if (!rdma_plan(a, p, &made.plan, error))
        return false;
    struct addrinfo *to = iw_address_resolve(p->at.host, p->at.port, false, error, AGENT_ERROR);
    if (to == NULL)
        return false;
    made.cm = unpark(a, to->ai_addr, p->at.port);
    if (made.cm == NULL)
        made.cm = listen_at(a, &p->at, to->ai_addr, error);
    freeaddrinfo(to);
    if (made.cm == NULL)
        return false;
    *port = ntohs(rdma_get_src_port(made.cm));
    made.on_tcp = on_tcp(*port);
    *l = made;
    l->cm->context = l;
    return true;
}
