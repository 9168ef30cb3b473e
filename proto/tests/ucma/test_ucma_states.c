/* SPDX-License-Identifier: BSD-3-Clause */
/* What an identifier may be asked for in which state, how connecting fails, and how many requests
 * wait. */
#include "ucma_commands.h"

#include <sys/syscall.h>

/* ---- the system, whose calls fail when a test has them fail ---- */

static int connect_error, later_error, source_error, socket_error; /* an errno; 0: as it is */

int connect(int fd, const struct sockaddr *to, socklen_t length)
{
    int type = 0;
    socklen_t room = sizeof(type);
    (void)getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &room);
    const int error = type == SOCK_DGRAM ? source_error : connect_error;
    if (error == 0)
        return (int)syscall(SYS_connect, fd, to, length);
    errno = error;
    return -1;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
    const int result = (int)syscall(SYS_getsockopt, fd, level, name, value, length);
    if (later_error != 0 && level == SOL_SOCKET && name == SO_ERROR)
        memcpy(value, &later_error, sizeof(later_error));
    return result;
}

int getsockname(int fd, struct sockaddr *at, socklen_t *length)
{
    if (socket_error == 0)
        return (int)syscall(SYS_getsockname, fd, at, length);
    errno = socket_error;
    return -1;
}

/* ---- a queue pair ---- */

struct desk {
    int fd; /* does not block */
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
};

static void move_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

static int set_up(void **state)
{
    static struct desk d;
    struct ibv_device **list = ibv_get_device_list(NULL);
    d.context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    d.pd = ibv_alloc_pd(d.context);
    d.cq = ibv_create_cq(d.context, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {
        .send_cq = d.cq, .recv_cq = d.cq, .cap = {.max_send_wr = 1}, .qp_type = IBV_QPT_RC};
    d.qp = ibv_create_qp(d.pd, &init);
    assert_non_null(d.qp);
    move_to(d.qp, IBV_QPS_INIT);
    d.fd = open_it(O_NONBLOCK);
    *state = &d;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *d = *state;
    connect_error = later_error = source_error = socket_error = 0;
    assert_int_equal(close(d->fd), 0);
    assert_int_equal(ibv_destroy_qp(d->qp), 0);
    assert_int_equal(ibv_destroy_cq(d->cq), 0);
    assert_int_equal(ibv_dealloc_pd(d->pd), 0);
    assert_int_equal(ibv_close_device(d->context), 0);
    return 0;
}

static int connect_with(const struct desk *d, uint32_t id, uint32_t qp_num)
{
    struct rdma_ucm_connect in = {.id = id, .conn_param = {.qp_num = qp_num, .valid = 1}};
    return command(d->fd, RDMA_USER_CM_CMD_CONNECT, &in, sizeof(in), 0);
}

static int accept_with(const struct desk *d, uint32_t id, uint32_t qp_num)
{
    struct rdma_ucm_accept in = {.uid = 9, .id = id, .conn_param = {.qp_num = qp_num, .valid = 1}};
    return command(d->fd, RDMA_USER_CM_CMD_ACCEPT, &in, sizeof(in), 0);
}

static int of_id(const struct desk *d, uint32_t number, uint32_t id)
{
    const uint32_t in[2] = {id, 0};
    return command(d->fd, number, in, sizeof(in), 0);
}

static int resolve_route(const struct desk *d, uint32_t id)
{
    return of_id(d, RDMA_USER_CM_CMD_RESOLVE_ROUTE, id);
}

static int disconnect(const struct desk *d, uint32_t id)
{
    return of_id(d, RDMA_USER_CM_CMD_DISCONNECT, id);
}

/* Waits for an event of a file that does not block. */
static struct rdma_ucm_event_resp await(const struct desk *d, uint32_t kind)
{
    struct rdma_ucm_event_resp out;
    struct rdma_ucm_get_event in = {.response = (uintptr_t)&out};
    int error;
    while ((error = command(d->fd, RDMA_USER_CM_CMD_GET_EVENT, &in, sizeof(in), sizeof(out))) ==
           EAGAIN)
        usleep(500);
    assert_int_equal(error, 0);
    assert_int_equal(out.event, kind);
    return out;
}

static const struct sockaddr_in *loopback(void)
{
    static struct sockaddr_in at;
    at = at_loopback(0);
    return &at;
}

enum { BIND = 1, RESOLVE = 2, ROUTE = 4, LISTEN = 8, CONNECT = 16 };

/* Expects which of these an identifier takes; what it takes is in `good`. Of those it has to
 * refuse all but one, which then brings it to another state. */
static void expect_refused(const struct desk *d, uint32_t id, unsigned good)
{
    const struct sockaddr_in to = at_loopback(htons(9));
    if ((good & BIND) == 0)
        assert_int_equal(bind_to(d->fd, id, loopback(), sizeof(to)), EINVAL);
    if ((good & RESOLVE) == 0)
        assert_int_equal(resolve(d->fd, id, NULL, &to, sizeof(to)), EINVAL);
    if ((good & ROUTE) == 0)
        assert_int_equal(resolve_route(d, id), EINVAL);
    if ((good & LISTEN) == 0)
        assert_int_equal(listen_for(d->fd, id, 1), EINVAL);
    if ((good & CONNECT) == 0)
        assert_int_equal(connect_with(d, id, d->qp->qp_num), EINVAL);
    assert_int_equal(accept_with(d, id, d->qp->qp_num), EINVAL);
    assert_int_equal(reject(d->fd, id), EINVAL);
    assert_int_equal(disconnect(d, id), 0);
    expect_no_event(d->fd);
}

static void states_follow_each_other(void **state)
{
    const struct desk *d = *state;
    const struct sockaddr_in to = at_loopback(htons(9));
    uint32_t id = create(d->fd, 5);
    expect_refused(d, id, BIND | RESOLVE | LISTEN);
    assert_int_equal(bind_to(d->fd, id, loopback(), sizeof(to)), 0);
    expect_refused(d, id, RESOLVE | LISTEN);
    assert_int_equal(resolve(d->fd, id, NULL, &to, sizeof(to)), 0);
    struct rdma_ucm_event_resp event = get(d->fd, ADDR_RESOLVED);
    assert_int_equal(event.id, id);
    assert_int_equal(event.uid, 5);
    assert_int_equal(event.status, 0);
    expect_refused(d, id, ROUTE | CONNECT);
    assert_int_equal(resolve_route(d, id), 0);
    event = get(d->fd, ROUTE_RESOLVED);
    assert_int_equal(event.id, id);
    assert_int_equal(event.uid, 5);
    assert_int_equal(event.status, 0);
    expect_refused(d, id, ROUTE | CONNECT);
    assert_int_equal(destroy(d->fd, id), 2);
    /* One that is not bound listens at a port of every address. */
    id = create(d->fd, 6);
    assert_int_equal(listen_for(d->fd, id, 1), 0);
    const struct sockaddr_in at = source_of(d->fd, id);
    assert_int_equal(at.sin_family, AF_INET);
    assert_int_equal(at.sin_addr.s_addr, 0);
    assert_int_not_equal(at.sin_port, 0);
    expect_refused(d, id, 0);
    assert_int_equal(destroy(d->fd, id), 0);
}

/* A number of no queue pair, or of one that does not wait for a connection. */
static void which_queue_pairs_connect(void **state)
{
    const struct desk *d = *state;
    static const int64_t others[] = {1, -1, 1024, 2048, -1024, 1 << 24};
    struct sockaddr_in at;
    uint32_t listener;
    int server = open_it(O_NONBLOCK);
    at = listening(server, &listener, 4);
    uint32_t id = create(d->fd, 5);
    assert_int_equal(resolve(d->fd, id, NULL, &at, sizeof(at)), 0);
    (void)get(d->fd, ADDR_RESOLVED);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(connect_with(d, id, (uint32_t)(d->qp->qp_num + others[i])), EINVAL);
    move_to(d->qp, IBV_QPS_ERR);
    assert_int_equal(connect_with(d, id, d->qp->qp_num), EINVAL);
    move_to(d->qp, IBV_QPS_RESET);
    assert_int_equal(connect_with(d, id, d->qp->qp_num), EINVAL);
    move_to(d->qp, IBV_QPS_INIT);
    move_to(d->qp, IBV_QPS_RTR);
    assert_int_equal(connect_with(d, id, d->qp->qp_num), 0);
    expect_refused(d, id, 0);
    /* It is taken. */
    uint32_t second = create(d->fd, 6);
    assert_int_equal(resolve(d->fd, second, NULL, &at, sizeof(at)), 0);
    (void)get(d->fd, ADDR_RESOLVED);
    assert_int_equal(connect_with(d, second, d->qp->qp_num), EINVAL);
    assert_int_equal(destroy(d->fd, second), 1);
    assert_int_equal(destroy(d->fd, id), 1);
    assert_int_equal(close(server), 0);
}

/* The errors of connect(), at once or later, as events. */
static void how_connecting_fails(void **state)
{
    const struct desk *d = *state;
    static const struct {
        int error;
        uint32_t event;
    } rows[] = {
        {ECONNREFUSED, REJECTED},    {ECONNRESET, REJECTED},     {ETIMEDOUT, UNREACHABLE},
        {EHOSTUNREACH, UNREACHABLE}, {ENETUNREACH, UNREACHABLE}, {EADDRNOTAVAIL, CONNECT_ERROR},
        {EACCES, CONNECT_ERROR},     {EPERM, CONNECT_ERROR},
    };
    struct sockaddr_in at = *loopback();
    socklen_t length = sizeof(at);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(server, 100), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&at, &length), 0);
    for (unsigned later = 0; later < 2; later++)
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            uint32_t id = create(d->fd, 70 + i);
            assert_int_equal(resolve(d->fd, id, NULL, &at, sizeof(at)), 0);
            (void)get(d->fd, ADDR_RESOLVED);
            move_to(d->qp, IBV_QPS_RESET);
            move_to(d->qp, IBV_QPS_INIT);
            const unsigned before = count_descriptors();
            *(later != 0 ? &later_error : &connect_error) = rows[i].error;
            assert_int_equal(connect_with(d, id, d->qp->qp_num), 0);
            const struct rdma_ucm_event_resp event = await(d, rows[i].event);
            connect_error = later_error = 0;
            assert_int_equal(event.id, id);
            assert_int_equal(event.uid, 70 + i);
            assert_int_equal((int32_t)event.status, -rows[i].error);
            assert_int_equal(event.param.conn.private_data_len, 0);
            assert_true(count_descriptors() < before); /* the socket has gone */
            expect_refused(d, id, 0);
            assert_int_equal(destroy(d->fd, id), 2);
        }
    close(server);
}

/* A peer that says no, one that says nothing that is known, and one that goes: one event each. */
static void how_a_peer_refuses(void **state)
{
    const struct desk *d = *state;
    static const struct {
        const char *reply;
        size_t length;
    } rows[] = {
        {"MPA ID Rep Frame\x70\x02\0\x06\0\0\0\0no", 26}, {"HTTP/1.1 400 Bad Req", 20}, {"", 0}};
    struct sockaddr_in at = *loopback();
    socklen_t length = sizeof(at);
    char asked[20];
    int server = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(server, 4), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&at, &length), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t id = create(d->fd, 7);
        assert_int_equal(resolve(d->fd, id, NULL, &at, sizeof(at)), 0);
        (void)get(d->fd, ADDR_RESOLVED);
        move_to(d->qp, IBV_QPS_RESET);
        move_to(d->qp, IBV_QPS_INIT);
        const unsigned before = count_descriptors();
        assert_int_equal(connect_with(d, id, d->qp->qp_num), 0);
        int peer = accept(server, NULL, NULL);
        assert_int_equal(recv(peer, asked, sizeof(asked), MSG_WAITALL), sizeof(asked));
        assert_int_equal(send(peer, rows[i].reply, rows[i].length, 0), rows[i].length);
        assert_int_equal(shutdown(peer, SHUT_WR), 0);
        const struct rdma_ucm_event_resp event = await(d, REJECTED);
        assert_int_equal(event.uid, 7);
        assert_int_equal((int32_t)event.status, i == 0 ? -ECONNREFUSED : -ECONNRESET);
        assert_int_equal(event.param.conn.private_data_len, i == 0 ? 2 : 0);
        if (i == 0)
            assert_memory_equal(event.param.conn.private_data, "no", 2);
        close(peer);
        while (count_descriptors() >= before) /* until the connection has gone, too */
            usleep(500);
        expect_refused(d, id, 0);
        assert_int_equal(d->qp->state, IBV_QPS_ERR);
        assert_int_equal(destroy(d->fd, id), 2);
    }
    close(server);
}

/* What is the program's own fault, or the system's for now, is no event. */
static void connecting_can_be_tried_again(void **state)
{
    const struct desk *d = *state;
    static const int errors[] = {ENOMEM, EINVAL};
    uint32_t listener;
    int server = open_it(O_NONBLOCK);
    const struct sockaddr_in at = listening(server, &listener, 4);
    uint32_t id = create(d->fd, 5);
    assert_int_equal(resolve(d->fd, id, NULL, &at, sizeof(at)), 0);
    (void)get(d->fd, ADDR_RESOLVED);
    const struct sockaddr_in from = source_of(d->fd, id);
    for (unsigned i = 0; i < 2; i++) {
        connect_error = errors[i];
        assert_int_equal(connect_with(d, id, d->qp->qp_num), errors[i]);
        connect_error = 0;
        expect_no_event(d->fd);
        assert_int_equal(d->qp->state, IBV_QPS_INIT);
    }
    assert_int_equal(connect_with(d, id, d->qp->qp_num), 0);
    assert_int_equal(source_of(d->fd, id).sin_port, from.sin_port);
    assert_int_equal(destroy(d->fd, id), 1);
    assert_int_equal(close(server), 0);
}

/* An address that cannot be found, or not be read, leaves the identifier idle. */
static void how_resolving_fails(void **state)
{
    const struct desk *d = *state;
    const struct sockaddr_in to = at_loopback(htons(9));
    struct sockaddr_in any = {.sin_family = AF_INET};
    struct sockaddr_in unix_at = {.sin_family = AF_UNIX};
    uint32_t id = create(d->fd, 4);
    assert_int_equal(bind_to(d->fd, id, loopback(), sizeof(to)), 0); /* no port is kept now */
    assert_int_equal(destroy(d->fd, id), 0);
    id = create(d->fd, 5);
    const unsigned before = count_descriptors();
    source_error = ENETUNREACH;
    assert_int_equal(resolve(d->fd, id, NULL, &to, sizeof(to)), ENETUNREACH);
    assert_int_equal(resolve(d->fd, id, &any, &to, sizeof(to)), ENETUNREACH);
    assert_int_equal(count_descriptors(), before);
    source_error = 0;
    socket_error = ENOBUFS;
    assert_int_equal(resolve(d->fd, id, NULL, &to, sizeof(to)), ENOBUFS);
    assert_int_equal(resolve(d->fd, id, loopback(), &to, sizeof(to)), ENOBUFS);
    assert_int_equal(bind_to(d->fd, id, loopback(), sizeof(to)), ENOBUFS);
    assert_int_equal(listen_for(d->fd, id, 1), ENOBUFS);
    socket_error = 0;
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(resolve(d->fd, id, loopback(), &unix_at, sizeof(to)), EINVAL);
    assert_int_equal(source_of(d->fd, id).sin_family, 0);
    expect_refused(d, id, BIND | RESOLVE | LISTEN);
    /* A source of no family is none: the system finds one. */
    source_error = ENETUNREACH;
    assert_int_equal(resolve(d->fd, id, &unix_at, &to, sizeof(to)), ENETUNREACH);
    assert_int_equal(resolve(d->fd, id, loopback(), &to, sizeof(to)), 0); /* and here it need not */
    source_error = 0;
    (void)get(d->fd, ADDR_RESOLVED);
    const struct sockaddr_in from = source_of(d->fd, id);
    assert_int_equal(from.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    assert_int_not_equal(from.sin_port, 0);
    assert_int_equal(destroy(d->fd, id), 1);
    /* Of all addresses, with a port of its own: that stays. */
    id = create(d->fd, 5);
    any.sin_port = from.sin_port;
    assert_int_equal(resolve(d->fd, id, &any, &to, sizeof(to)), 0);
    (void)get(d->fd, ADDR_RESOLVED);
    assert_int_equal(source_of(d->fd, id).sin_port, from.sin_port);
    assert_int_equal(source_of(d->fd, id).sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    assert_int_equal(destroy(d->fd, id), 1);
}

/* ---- answers to requests ---- */

static void what_is_accepted(void **state)
{
    const struct desk *d = *state;
    char reply[20];
    uint32_t listener;
    const struct sockaddr_in at = listening(d->fd, &listener, 4);
    int client = requesting(&at);
    const struct rdma_ucm_event_resp asked = await(d, CONNECT_REQUEST);
    assert_int_equal(asked.uid, 1); /* the listener's */
    assert_int_equal(asked.status, 0);
    assert_int_not_equal(asked.id, listener);
    /* Revision 1 says no depths: all that the device has. */
    assert_int_equal(asked.param.conn.responder_resources, 128);
    assert_int_equal(asked.param.conn.initiator_depth, 128);
    assert_int_equal(asked.param.conn.private_data_len, 0);
    assert_int_equal(source_of(d->fd, asked.id).sin_port, at.sin_port);
    const struct rdma_ucm_query_route_resp route = route_of(d->fd, asked.id);
    struct sockaddr_in from, name;
    socklen_t length = sizeof(name);
    memcpy(&from, &route.dst_addr, sizeof(from));
    assert_int_equal(getsockname(client, (struct sockaddr *)&name, &length), 0);
    assert_int_equal(from.sin_port, name.sin_port);
    assert_int_equal(route.port_num, 1);
    assert_int_equal(accept_with(d, asked.id, d->qp->qp_num + 1024), EINVAL);
    move_to(d->qp, IBV_QPS_RESET);
    assert_int_equal(accept_with(d, asked.id, d->qp->qp_num), EINVAL);
    move_to(d->qp, IBV_QPS_INIT);
    assert_int_equal(bind_to(d->fd, asked.id, loopback(), sizeof(at)), EINVAL);
    assert_int_equal(connect_with(d, asked.id, d->qp->qp_num), EINVAL);
    assert_int_equal(disconnect(d, asked.id), 0);
    assert_int_equal(accept_with(d, asked.id, d->qp->qp_num), 0);
    assert_int_equal(accept_with(d, asked.id, d->qp->qp_num), EINVAL);
    assert_int_equal(recv(client, reply, sizeof(reply), MSG_WAITALL), sizeof(reply));
    assert_memory_equal(reply, "MPA ID Rep Frame\x40\x01\0\0", 20);
    const struct rdma_ucm_event_resp made = await(d, ESTABLISHED);
    assert_int_equal(made.uid, 9); /* of the answer */
    assert_int_equal(made.id, asked.id);
    assert_int_equal(reject(d->fd, asked.id), EINVAL);
    /* The one's end is the other's. */
    assert_int_equal(disconnect(d, asked.id), 0);
    assert_int_equal(recv(client, reply, 1, 0), 0);
    close(client);
    const struct rdma_ucm_event_resp over = await(d, DISCONNECTED);
    assert_int_equal(over.uid, 9);
    assert_int_equal(over.status, 0);
    assert_int_equal(disconnect(d, asked.id), 0);
    assert_int_equal(destroy(d->fd, asked.id), 2);
    assert_int_equal(destroy(d->fd, listener), 1);
}

/* Who asked has gone when the answer comes. */
static void who_asked_is_gone(void **state)
{
    const struct desk *d = *state;
    uint32_t listener;
    const struct sockaddr_in at = listening(d->fd, &listener, 4);
    for (unsigned accepts = 0; accepts < 2; accepts++) {
        const struct linger at_once = {.l_onoff = 1};
        int client = requesting(&at);
        const uint32_t asked = await(d, CONNECT_REQUEST).id;
        const unsigned before = count_descriptors();
        assert_int_equal(setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
        close(client);
        while (count_descriptors() > before - 2)
            expect_no_event(d->fd); /* until the library has seen its end */
        if (accepts != 0)
            assert_int_equal(accept_with(d, asked, d->qp->qp_num), ECONNRESET);
        else
            assert_int_equal(reject(d->fd, asked), 0);
        assert_int_equal(reject(d->fd, asked), accepts != 0 ? 0 : EINVAL);
        expect_no_event(d->fd);
        assert_int_equal(destroy(d->fd, asked), 0);
    }
    assert_int_equal(d->qp->state, IBV_QPS_INIT);
    assert_int_equal(destroy(d->fd, listener), 2);
}

/* An identifier that goes takes its connection with it. */
static void what_goes_with_an_identifier(void **state)
{
    const struct desk *d = *state;
    char octet;
    uint32_t listener;
    const struct sockaddr_in at = listening(d->fd, &listener, 4);
    int client = requesting(&at), other = requesting(&at);
    const uint32_t asked = await(d, CONNECT_REQUEST).id;
    assert_int_equal(destroy(d->fd, asked), 0);
    assert_true(recv(client, &octet, 1, 0) <= 0);
    close(client);
    /* A listener takes the requests that nobody has fetched. */
    assert_int_equal(destroy(d->fd, listener), 1);
    assert_true(recv(other, &octet, 1, 0) <= 0);
    close(other);
    expect_no_event(d->fd);
}

/* ---- the backlog ---- */

/* Returns how many events wait in a file: the system knows the count of its descriptor. */
static unsigned waiting_in(int fd)
{
    char path[64], line[128];
    unsigned count = 0;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL)
        (void)sscanf(line, "eventfd-count: %x", &count);
    fclose(f);
    return count;
}

static void await_waiting(int fd, unsigned count)
{
    while (waiting_in(fd) < count)
        usleep(500);
}

static void expect_room_for(const struct desk *d, uint32_t backlog, unsigned room)
{
    static int clients[1100];
    char octet;
    uint32_t listener;
    const struct sockaddr_in at = listening(d->fd, &listener, backlog);
    for (unsigned i = 0; i < room; i++) {
        clients[i] = requesting(&at);
        if (i % 64 == 63) /* the system has a backlog, too */
            await_waiting(d->fd, i + 1);
    }
    await_waiting(d->fd, room);
    for (unsigned i = 0; i < 2; i++) {
        int more = requesting(&at);
        assert_true(recv(more, &octet, 1, 0) <= 0); /* refused */
        close(more);
    }
    assert_int_equal(waiting_in(d->fd), room);
    const uint32_t asked = get(d->fd, CONNECT_REQUEST).id;
    clients[room] = requesting(&at); /* for which there is room again */
    await_waiting(d->fd, room);
    assert_int_equal(destroy(d->fd, asked), 0);
    assert_int_equal(destroy(d->fd, listener), 1);
    for (unsigned i = 0; i <= room; i++)
        close(clients[i]);
    assert_int_equal(waiting_in(d->fd), 0);
}

static void a_backlog_has_its_size(void **state)
{
    expect_room_for(*state, 1, 1);
    expect_room_for(*state, 3, 3);
    expect_room_for(*state, 0, 1024);
    expect_room_for(*state, 1025, 1024);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(states_follow_each_other),
        TEST(which_queue_pairs_connect),
        TEST(how_connecting_fails),
        TEST(how_a_peer_refuses),
        TEST(connecting_can_be_tried_again),
        TEST(how_resolving_fails),
        TEST(what_is_accepted),
        TEST(who_asked_is_gone),
        TEST(what_goes_with_an_identifier),
        TEST(a_backlog_has_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
