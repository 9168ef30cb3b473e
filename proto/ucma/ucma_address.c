/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: a bound identifier has a real TCP port from the first moment on. */
#include "ucma/ucma.h"

#include <errno.h>
#include <infiniband/ib.h>
#include <string.h>
#include <sys/socket.h>

socklen_t iw_ucma_length(const union iw_ucma_address *a)
{
    return a->any.sa_family == AF_INET6 ? sizeof(a->v6) : sizeof(a->v4);
}

/* Reads an address of a command. Returns false for a family that is not of IP. */
static bool take(union iw_ucma_address *to, const void *from)
{
    memset(to, 0, sizeof(*to));
    memcpy(&to->any.sa_family, from, sizeof(to->any.sa_family));
    if (to->any.sa_family != AF_INET && to->any.sa_family != AF_INET6)
        return false;
    memcpy(to, from, iw_ucma_length(to));
    return true;
}

static bool is_any(const union iw_ucma_address *a)
{
    return a->any.sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr)
                                        : a->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

static in_port_t *port_of(union iw_ucma_address *a)
{
    return a->any.sa_family == AF_INET6 ? &a->v6.sin6_port : &a->v4.sin_port;
}

/* Binds a new socket to the source address. Returns 0 or an errno. */
static int open_socket(struct iw_ucma_id *id)
{
    socklen_t length = iw_ucma_length(&id->source);
    int v6_only = id->v6_only, tos = id->tos;
    id->fd = socket(id->source.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (id->fd < 0)
        return errno;
    setsockopt(id->fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (id->source.any.sa_family == AF_INET6)
        setsockopt(id->fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof(v6_only));
    if (tos != 0 && id->source.any.sa_family == AF_INET6)
        setsockopt(id->fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
    else if (tos != 0)
        setsockopt(id->fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
    id->listens = false;
    if (bind(id->fd, &id->source.any, length) == 0 &&
        getsockname(id->fd, &id->source.any, &length) == 0)
        return 0;
    int saved = errno;
    iw_ucma_real_close(id->fd);
    id->fd = -1;
    return saved;
}

void iw_ucma_close_socket(struct iw_ucma_id *id)
{
    if (id->fd >= 0)
        iw_ucma_real_close(id->fd);
    id->fd = -1;
}

void iw_ucma_unbind(struct iw_ucma_id *id)
{
    iw_ucma_close_socket(id);
    memset(&id->source, 0, sizeof(id->source));
    id->any = false;
    id->state = IW_UCMA_IDLE;
}

int iw_ucma_hold_port(struct iw_ucma_id *id)
{
    int result = 0;
    if (id->fd >= 0)
        return 0;
    id->fd = iw_ucma_kept_take(&id->source);
    if (id->fd < 0)
        result = open_socket(id);
    if (result == 0 && listen(id->fd, IW_UCMA_BACKLOG) != 0)
        result = errno;
    if (result != 0)
        iw_ucma_close_socket(id);
    id->listens = result == 0;
    return result;
}

/* Clients may connect between rdma_bind_addr and rdma_listen, so listen at once. */
int iw_ucma_bind(struct iw_ucma_id *id, const void *address)
{
    union iw_ucma_address at;
    if (id->state != IW_UCMA_IDLE || !take(&at, address))
        return id->state != IW_UCMA_IDLE ? EINVAL : EADDRNOTAVAIL;
    id->source = at;
    int result = iw_ucma_hold_port(id);
    if (result != 0) {
        iw_ucma_unbind(id);
        return result;
    }
    id->any = is_any(&id->source);
    id->state = IW_UCMA_BOUND;
    return 0;
}

int iw_ucma_ready_to_connect(struct iw_ucma_id *id)
{
    if (id->fd >= 0 && !id->listens)
        return 0;
    iw_ucma_close_socket(id);
    return open_socket(id);
}

/* Finds the address that the system would send from, and keeps the port of *source. Returns 0 or an
 * errno. */
static int find_source(union iw_ucma_address *source, const union iw_ucma_address *destination)
{
    union iw_ucma_address found = {.any = {0}};
    in_port_t port = source->any.sa_family != 0 ? *port_of(source) : 0;
    socklen_t length = sizeof(found);
    int fd = socket(destination->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), result = 0;
    if (fd < 0)
        return errno;
    if (connect(fd, &destination->any, iw_ucma_length(destination)) != 0 ||
        getsockname(fd, &found.any, &length) != 0)
        result = errno;
    iw_ucma_real_close(fd);
    if (result != 0)
        return result;
    *port_of(&found) = port;
    *source = found;
    return 0;
}

int iw_ucma_resolve(struct iw_ucma_id *id, const void *source, const void *destination)
{
    const union iw_ucma_address before = id->source;
    union iw_ucma_address from = before, to;
    if ((id->state != IW_UCMA_IDLE && id->state != IW_UCMA_BOUND) || !take(&to, destination))
        return EINVAL;
    if (id->state == IW_UCMA_IDLE && !take(&from, source))
        memset(&from, 0, sizeof(from));
    if (from.any.sa_family != 0 && from.any.sa_family != to.any.sa_family)
        return EINVAL;
    int result = 0;
    if (from.any.sa_family == 0 || is_any(&from))
        result = find_source(&from, &to);
    if (result != 0)
        return result;
    /* One that is bound gives its port up to have it again with a socket that does not listen. */
    iw_ucma_close_socket(id);
    iw_ucma_kept_drop();
    id->source = from;
    result = open_socket(id);
    if (result != 0) {
        id->source = before;
        /* If that fails, too, then rdma_listen or the next rdma_resolve_addr tries again. */
        if (id->state == IW_UCMA_BOUND)
            (void)iw_ucma_hold_port(id);
        return result;
    }
    id->destination = to;
    id->any = false;
    id->state = IW_UCMA_RESOLVED;
    return 0;
}

/* ---- queries ---- */

static void gid_of(const union iw_ucma_address *a, uint8_t gid[16])
{
    memset(gid, 0, 16);
    if (a->any.sa_family == AF_INET6) {
        memcpy(gid, &a->v6.sin6_addr, 16);
    } else if (a->any.sa_family == AF_INET) {
        gid[10] = gid[11] = 0xff;
        memcpy(gid + 12, &a->v4.sin_addr, 4);
    }
}

static bool has_device(const struct iw_ucma_id *id)
{
    return id->state != IW_UCMA_IDLE && !id->any;
}

static uint64_t guid(void)
{
    return (uint64_t)iw_verbs_guid();
}

void iw_ucma_query_route(const struct iw_ucma_id *id, struct rdma_ucm_query_route_resp *out)
{
    memset(out, 0, sizeof(*out));
    memcpy(&out->src_addr, &id->source, sizeof(out->src_addr));
    memcpy(&out->dst_addr, &id->destination, sizeof(out->dst_addr));
    out->ibdev_index = UINT32_MAX;
    if (!has_device(id))
        return;
    out->node_guid = guid();
    out->port_num = 1;
    out->ibdev_index = 0;
    gid_of(&id->source, out->ib_route[0].sgid);
    gid_of(&id->destination, out->ib_route[0].dgid);
}

static void device_of(const struct iw_ucma_id *id, struct rdma_ucm_query_addr_resp *out)
{
    memset(out, 0, sizeof(*out));
    out->ibdev_index = UINT32_MAX;
    if (!has_device(id))
        return;
    out->node_guid = guid();
    out->port_num = 1;
    out->ibdev_index = 0;
}

void iw_ucma_query_addr(const struct iw_ucma_id *id, struct rdma_ucm_query_addr_resp *out)
{
    device_of(id, out);
    memcpy(&out->src_addr, &id->source, sizeof(id->source));
    memcpy(&out->dst_addr, &id->destination, sizeof(id->destination));
    out->src_size = id->source.any.sa_family != 0 ? (uint16_t)iw_ucma_length(&id->source) : 0;
    out->dst_size =
        id->destination.any.sa_family != 0 ? (uint16_t)iw_ucma_length(&id->destination) : 0;
}

static void ib_of(const union iw_ucma_address *a, void *out, uint16_t *size)
{
    struct sockaddr_ib sib = {.sib_family = AF_IB};
    gid_of(a, sib.sib_addr.sib_raw);
    memcpy(out, &sib, sizeof(sib));
    *size = sizeof(sib);
}

void iw_ucma_query_gid(const struct iw_ucma_id *id, struct rdma_ucm_query_addr_resp *out)
{
    device_of(id, out);
    ib_of(&id->source, &out->src_addr, &out->src_size);
    ib_of(&id->destination, &out->dst_addr, &out->dst_size);
}
