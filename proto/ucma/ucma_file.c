/* SPDX-License-Identifier: BSD-3-Clause */
/* One open of the device: its commands. What is refused gets the kernel's answers: ENOSYS for a
 * command or option that is not there. */
#include "ucma/ucma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct iw_ucma_file *iw_ucma_file_create(int fd)
{
    struct iw_ucma_file *file = calloc(1, sizeof(*file));
    if (file == NULL)
        return NULL;
    file->fd = fd;
    TAILQ_INIT(&file->events);
    return file;
}

void iw_ucma_file_release(struct iw_ucma_file *file)
{
    if (--file->users > 0 || !file->closed)
        return;
    while (!LIST_EMPTY(&file->ids))
        iw_ucma_id_destroy(LIST_FIRST(&file->ids));
    iw_ucma_real_close(file->fd);
    free(file);
}

void iw_ucma_file_close(struct iw_ucma_file *file)
{
    file->users++;
    file->closed = true;
    iw_ucma_file_release(file);
}

/* One command: `in` has what follows the header, at least as much as the table says. */
struct command {
    struct iw_ucma_file *file;
    const void *in;
    size_t room; /* at the response that it names */
};

static void answer(const struct command *c, uint64_t to, const void *response, size_t length)
{
    if (c->room > 0) /* then there is a place: iw_ucma_command has looked */
        memcpy((void *)(uintptr_t)to, response, length < c->room ? length : c->room);
}

static struct iw_ucma_id *id_of(const struct command *c, uint32_t handle)
{
    return iw_ucma_id_find(c->file, handle);
}

static int create_id(const struct command *c)
{
    const struct rdma_ucm_create_id *in = c->in;
    if (in->ps != RDMA_PS_TCP) { /* datagrams, IPoIB and IB have no form here */
        iw_verbs_refused("rdma_create_id for another port space than RDMA_PS_TCP");
        return EOPNOTSUPP;
    }
    struct iw_ucma_id *id = iw_ucma_id_create(c->file, in->uid);
    if (id == NULL)
        return ENOMEM;
    struct rdma_ucm_create_id_resp out = {.id = id->handle};
    answer(c, in->response, &out, sizeof(out));
    return 0;
}

static int destroy_id(const struct command *c)
{
    const struct rdma_ucm_destroy_id *in = c->in;
    struct iw_ucma_id *id = id_of(c, in->id);
    if (id == NULL)
        return ENOENT;
    struct rdma_ucm_destroy_id_resp out = {.events_reported = id->events_reported};
    iw_ucma_id_destroy(id);
    answer(c, in->response, &out, sizeof(out));
    return 0;
}

static int bind_ip(const struct command *c)
{
    const struct rdma_ucm_bind_ip *in = c->in;
    struct iw_ucma_id *id = id_of(c, in->id);
    return id != NULL ? iw_ucma_bind(id, &in->addr) : ENOENT;
}

static int bind_any(const struct command *c)
{
    const struct rdma_ucm_bind *in = c->in;
    struct iw_ucma_id *id = id_of(c, in->id);
    return id != NULL ? iw_ucma_bind(id, &in->addr) : ENOENT;
}

static int resolve(struct iw_ucma_id *id, const void *from, const void *to)
{
    if (id == NULL)
        return ENOENT;
    int result = iw_ucma_resolve(id, from, to);
    if (result == 0)
        iw_ucma_event_push(id, IW_UCMA_ADDR_RESOLVED, 0, NULL);
    return result;
}

static int resolve_ip(const struct command *c)
{
    const struct rdma_ucm_resolve_ip *in = c->in;
    return resolve(id_of(c, in->id), &in->src_addr, &in->dst_addr);
}

static int resolve_addr(const struct command *c)
{
    const struct rdma_ucm_resolve_addr *in = c->in;
    return resolve(id_of(c, in->id), &in->src_addr, &in->dst_addr);
}

static int resolve_route(const struct command *c)
{
    const struct rdma_ucm_resolve_route *in = c->in;
    struct iw_ucma_id *id = id_of(c, in->id);
    if (id == NULL || id->state != IW_UCMA_RESOLVED)
        return id == NULL ? ENOENT : EINVAL;
    iw_ucma_event_push(id, IW_UCMA_ROUTE_RESOLVED, 0, NULL);
    return 0;
}

static int query_route(const struct command *c)
{
    const struct rdma_ucm_query *in = c->in;
    const struct iw_ucma_id *id = id_of(c, in->id);
    struct rdma_ucm_query_route_resp out;
    if (id == NULL)
        return ENOENT;
    iw_ucma_query_route(id, &out);
    answer(c, in->response, &out, sizeof(out));
    return 0;
}

static int query(const struct command *c)
{
    const struct rdma_ucm_query *in = c->in;
    const struct iw_ucma_id *id = id_of(c, in->id);
    struct rdma_ucm_query_addr_resp out;
    struct rdma_ucm_query_path_resp none = {.num_paths = 0};
    if (id == NULL)
        return ENOENT;
    switch (in->option) {
    case RDMA_USER_CM_QUERY_ADDR:
        iw_ucma_query_addr(id, &out);
        break;
    case RDMA_USER_CM_QUERY_GID:
        iw_ucma_query_gid(id, &out);
        break;
    case RDMA_USER_CM_QUERY_PATH:
        answer(c, in->response, &none, sizeof(none));
        return 0;
    default:
        iw_verbs_refused("an option of QUERY");
        return ENOSYS;
    }
    answer(c, in->response, &out, sizeof(out));
    return 0;
}

static int listen_for(const struct command *c)
{
    const struct rdma_ucm_listen *in = c->in;
    struct iw_ucma_id *id = id_of(c, in->id);
    return id != NULL ? iw_ucma_listen(id, in->backlog) : ENOENT;
}

static int connect_to(const struct command *c)
{
    const struct rdma_ucm_connect *in = c->in;
    struct iw_ucma_id *id = id_of(c, in->id);
    return id != NULL ? iw_ucma_connect(id, &in->conn_param) : ENOENT;
}

static int accept_it(const struct command *c)
{
    const struct rdma_ucm_accept *in = c->in;
    struct iw_ucma_id *id = id_of(c, in->id);
    return id != NULL ? iw_ucma_accept(id, in->uid, &in->conn_param) : ENOENT;
}

static int reject_it(const struct command *c)
{
    const struct rdma_ucm_reject *in = c->in;
    struct iw_ucma_id *id = id_of(c, in->id);
    return id != NULL ? iw_ucma_reject(id, in->private_data, in->private_data_len) : ENOENT;
}

static int disconnect(const struct command *c)
{
    const struct rdma_ucm_disconnect *in = c->in;
    struct iw_ucma_id *id = id_of(c, in->id);
    return id != NULL ? iw_ucma_disconnect(id) : ENOENT;
}

/* As the kernel does for iWARP: the states after INIT are the connection's, not the program's. It
 * does not name atomics, which its iWARP devices do not have. */
static int init_qp_attr(const struct command *c)
{
    const struct rdma_ucm_init_qp_attr *in = c->in;
    struct ib_uverbs_qp_attr out = {.qp_state = in->qp_state, .port_num = 1};
    if (id_of(c, in->id) == NULL)
        return ENOENT;
    if (in->qp_state == IBV_QPS_INIT || in->qp_state == IBV_QPS_RTR) {
        out.qp_attr_mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
        out.qp_access_flags =
            IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    } else if (in->qp_state != IBV_QPS_RTS) {
        return EINVAL;
    }
    answer(c, in->response, &out, sizeof(out));
    return 0;
}

static int get_event(const struct command *c)
{
    const struct rdma_ucm_get_event *in = c->in;
    struct rdma_ucm_event_resp out;
    int result = iw_ucma_event_get(c->file, &out);
    if (result == 0)
        answer(c, in->response, &out, sizeof(out));
    return result;
}

static int refuse_option(void)
{
    iw_verbs_refused("an option of rdma_set_option");
    return ENOSYS;
}

static int set_option(const struct command *c)
{
    const struct rdma_ucm_set_option *in = c->in;
    struct iw_ucma_id *id = id_of(c, in->id);
    const void *value = (const void *)(uintptr_t)in->optval;
    int number = 0;
    if (id == NULL)
        return ENOENT;
    if (in->level != RDMA_OPTION_ID)
        return refuse_option();
    if (in->optlen > sizeof(number) || in->optlen == 0 || value == NULL)
        return value == NULL ? EFAULT : EINVAL;
    memcpy(&number, value, in->optlen);
    switch (in->optname) {
    case RDMA_OPTION_ID_TOS:
        id->tos = (uint8_t)number;
        return 0;
    case RDMA_OPTION_ID_AFONLY:
        id->v6_only = number != 0;
        return 0;
    case RDMA_OPTION_ID_REUSEADDR:   /* each socket has it */
    case RDMA_OPTION_ID_ACK_TIMEOUT: /* of InfiniBand's packets; TCP has its own */
        return 0;
    default:
        return refuse_option();
    }
}

static int notify(const struct command *c)
{
    const struct rdma_ucm_notify *in = c->in;
    return id_of(c, in->id) != NULL ? 0 : ENOENT;
}

static int migrate_id(const struct command *c)
{
    const struct rdma_ucm_migrate_id *in = c->in;
    struct iw_ucma_file *from = iw_ucma_file_of((int)in->fd);
    struct iw_ucma_id *id = from != NULL ? iw_ucma_id_find(from, in->id) : NULL;
    if (id == NULL)
        return from == NULL ? EBADF : ENOENT;
    struct rdma_ucm_migrate_resp out = {.events_reported = id->events_reported};
    if (from != c->file) {
        iw_ucma_events_move(id, c->file);
        LIST_REMOVE(id, entry);
        LIST_INSERT_HEAD(&c->file->ids, id, entry);
        id->file = c->file;
    }
    answer(c, in->response, &out, sizeof(out));
    return 0;
}

/* The least length is that of the oldest layout: fields have been added at the ends. */
static const struct {
    const char *name;
    int (*run)(const struct command *c);
    size_t least;
} commands[] = {
    [RDMA_USER_CM_CMD_CREATE_ID] = {"CREATE_ID", create_id, sizeof(struct rdma_ucm_create_id)},
    [RDMA_USER_CM_CMD_DESTROY_ID] = {"DESTROY_ID", destroy_id, sizeof(struct rdma_ucm_destroy_id)},
    [RDMA_USER_CM_CMD_BIND_IP] = {"BIND_IP", bind_ip, offsetof(struct rdma_ucm_bind_ip, id) + 4},
    [RDMA_USER_CM_CMD_RESOLVE_IP] = {"RESOLVE_IP", resolve_ip, sizeof(struct rdma_ucm_resolve_ip)},
    [RDMA_USER_CM_CMD_RESOLVE_ROUTE] = {"RESOLVE_ROUTE", resolve_route,
                                        sizeof(struct rdma_ucm_resolve_route)},
    [RDMA_USER_CM_CMD_QUERY_ROUTE] = {"QUERY_ROUTE", query_route,
                                      offsetof(struct rdma_ucm_query, option)},
    [RDMA_USER_CM_CMD_CONNECT] = {"CONNECT", connect_to, offsetof(struct rdma_ucm_connect, ece)},
    [RDMA_USER_CM_CMD_LISTEN] = {"LISTEN", listen_for, sizeof(struct rdma_ucm_listen)},
    [RDMA_USER_CM_CMD_ACCEPT] = {"ACCEPT", accept_it, offsetof(struct rdma_ucm_accept, ece)},
    [RDMA_USER_CM_CMD_REJECT] = {"REJECT", reject_it, sizeof(struct rdma_ucm_reject)},
    [RDMA_USER_CM_CMD_DISCONNECT] = {"DISCONNECT", disconnect, sizeof(struct rdma_ucm_disconnect)},
    [RDMA_USER_CM_CMD_INIT_QP_ATTR] = {"INIT_QP_ATTR", init_qp_attr,
                                       sizeof(struct rdma_ucm_init_qp_attr)},
    [RDMA_USER_CM_CMD_GET_EVENT] = {"GET_EVENT", get_event, sizeof(struct rdma_ucm_get_event)},
    [RDMA_USER_CM_CMD_GET_OPTION] = {"GET_OPTION", NULL, 0},
    [RDMA_USER_CM_CMD_SET_OPTION] = {"SET_OPTION", set_option, sizeof(struct rdma_ucm_set_option)},
    [RDMA_USER_CM_CMD_NOTIFY] = {"NOTIFY", notify, sizeof(struct rdma_ucm_notify)},
    [RDMA_USER_CM_CMD_JOIN_IP_MCAST] = {"JOIN_IP_MCAST", NULL, 0},
    [RDMA_USER_CM_CMD_LEAVE_MCAST] = {"LEAVE_MCAST", NULL, 0},
    [RDMA_USER_CM_CMD_MIGRATE_ID] = {"MIGRATE_ID", migrate_id, sizeof(struct rdma_ucm_migrate_id)},
    [RDMA_USER_CM_CMD_QUERY] = {"QUERY", query, sizeof(struct rdma_ucm_query)},
    [RDMA_USER_CM_CMD_BIND] = {"BIND", bind_any, sizeof(struct rdma_ucm_bind)},
    [RDMA_USER_CM_CMD_RESOLVE_ADDR] = {"RESOLVE_ADDR", resolve_addr,
                                       sizeof(struct rdma_ucm_resolve_addr)},
    [RDMA_USER_CM_CMD_JOIN_MCAST] = {"JOIN_MCAST", NULL, 0},
};

/* Whether a command lacks the place for its answer, the pointer with which all but one begin. */
static bool lacks_place(uint32_t command, const uint8_t *in)
{
    uint64_t place;
    size_t at = 0;
    switch (command) {
    case RDMA_USER_CM_CMD_CREATE_ID:
        at = offsetof(struct rdma_ucm_create_id, response);
        break;
    case RDMA_USER_CM_CMD_DESTROY_ID:
    case RDMA_USER_CM_CMD_QUERY_ROUTE:
    case RDMA_USER_CM_CMD_INIT_QP_ATTR:
    case RDMA_USER_CM_CMD_GET_EVENT:
    case RDMA_USER_CM_CMD_MIGRATE_ID:
    case RDMA_USER_CM_CMD_QUERY:
        break;
    default:
        return false;
    }
    memcpy(&place, in + at, sizeof(place));
    return place == 0;
}

int iw_ucma_command(int fd, const void *command, size_t length)
{
    struct rdma_ucm_cmd_hdr header;
    _Alignas(8) uint8_t in[1024];
    if (length < sizeof(header))
        return EINVAL;
    memcpy(&header, command, sizeof(header));
    const bool known = header.cmd < sizeof(commands) / sizeof(commands[0]);
    if (!known)
        iw_verbs_refused("a command of a newer librdmacm");
    if (!known || header.in > length - sizeof(header) || header.in > sizeof(in))
        return EINVAL;
    if (commands[header.cmd].run == NULL) {
        iw_verbs_refused(commands[header.cmd].name);
        return ENOSYS;
    }
    if (header.in < commands[header.cmd].least)
        return EINVAL;
    memset(in, 0, sizeof(in));
    memcpy(in, (const uint8_t *)command + sizeof(header), header.in);
    if (header.out > 0 && lacks_place(header.cmd, in))
        return EFAULT;
    iw_verbs_lock();
    const struct command c = {iw_ucma_file_of(fd), in, header.out};
    int result = c.file != NULL ? commands[header.cmd].run(&c) : EBADF;
    if (header.cmd != RDMA_USER_CM_CMD_GET_EVENT)
        iw_verbs_cover();
    iw_verbs_unlock();
    if (result == EAGAIN)
        iw_verbs_found_nothing();
    return result;
}
