/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device that librdmacm opens (proto/ucma): the octets are commands for two opens of it. Names
 * of identifiers, queue pairs and addresses are put in for those of the input, so that commands are
 * about what exists, and nothing but loopback is connected to.
 */
#include "engine/fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include <unistd.h>

#define DEVICE "/dev/infiniband/rdma_cm"

/* Kinds of a record beyond the commands, and the bits of its second octet. */
enum { UNKNOWN = RDMA_USER_CM_CMD_JOIN_MCAST + 1, DRIVE, REOPEN, REVIVE, KINDS };
enum {
    SECOND_FILE = 1,
    OWN_NAMES = 2, /* the input's own identifier, queue pair and descriptor */
    NO_PLACE = 4,  /* for an answer */
    OWN_LENGTH = 8,
    SMALL_ROOM = 16,
    CUT = 32 /* the last octet of the command is not written */
};

enum { HEAD = 5, IN = 1100, ROOM = 1024, GUARD = 16, FILES = 2, IDS = 16, QPS = 2, PORTS = 2 };

struct known {
    uint32_t handle;
    int file;        /* that it belongs to */
    bool counted;    /* `events` is known */
    unsigned events; /* reported for it */
    uint64_t uid;
};

static struct {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qps[QPS];
    int files[FILES];
    struct known ids[IDS];
    unsigned id_count;
    uint64_t last_uid;
    uint16_t ports[PORTS]; /* bound last, in network order */
    unsigned bound;
} w;

/* Where a command has what is replaced; -1: nowhere. */
#define AT(type, member) (int)offsetof(struct rdma_ucm_##type, member)
static const struct shape {
    size_t length;
    int id, response, from, to; /* addresses */
} shapes[] = {
    [RDMA_USER_CM_CMD_CREATE_ID] = {sizeof(struct rdma_ucm_create_id), -1, AT(create_id, response),
                                    -1, -1},
    [RDMA_USER_CM_CMD_DESTROY_ID] = {sizeof(struct rdma_ucm_destroy_id), AT(destroy_id, id),
                                     AT(destroy_id, response), -1, -1},
    [RDMA_USER_CM_CMD_BIND_IP] = {sizeof(struct rdma_ucm_bind_ip), AT(bind_ip, id), -1,
                                  AT(bind_ip, addr), -1},
    [RDMA_USER_CM_CMD_RESOLVE_IP] = {sizeof(struct rdma_ucm_resolve_ip), AT(resolve_ip, id), -1,
                                     AT(resolve_ip, src_addr), AT(resolve_ip, dst_addr)},
    [RDMA_USER_CM_CMD_RESOLVE_ROUTE] = {sizeof(struct rdma_ucm_resolve_route),
                                        AT(resolve_route, id), -1, -1, -1},
    [RDMA_USER_CM_CMD_QUERY_ROUTE] = {sizeof(struct rdma_ucm_query), AT(query, id),
                                      AT(query, response), -1, -1},
    [RDMA_USER_CM_CMD_CONNECT] = {sizeof(struct rdma_ucm_connect), AT(connect, id), -1, -1, -1},
    [RDMA_USER_CM_CMD_LISTEN] = {sizeof(struct rdma_ucm_listen), AT(listen, id), -1, -1, -1},
    [RDMA_USER_CM_CMD_ACCEPT] = {sizeof(struct rdma_ucm_accept), AT(accept, id), -1, -1, -1},
    [RDMA_USER_CM_CMD_REJECT] = {sizeof(struct rdma_ucm_reject), AT(reject, id), -1, -1, -1},
    [RDMA_USER_CM_CMD_DISCONNECT] = {sizeof(struct rdma_ucm_disconnect), AT(disconnect, id), -1, -1,
                                     -1},
    [RDMA_USER_CM_CMD_INIT_QP_ATTR] = {sizeof(struct rdma_ucm_init_qp_attr), AT(init_qp_attr, id),
                                       AT(init_qp_attr, response), -1, -1},
    [RDMA_USER_CM_CMD_GET_EVENT] = {sizeof(struct rdma_ucm_get_event), -1, AT(get_event, response),
                                    -1, -1},
    [RDMA_USER_CM_CMD_GET_OPTION] = {16, -1, -1, -1, -1},
    [RDMA_USER_CM_CMD_SET_OPTION] = {sizeof(struct rdma_ucm_set_option), AT(set_option, id), -1, -1,
                                     -1},
    [RDMA_USER_CM_CMD_NOTIFY] = {sizeof(struct rdma_ucm_notify), AT(notify, id), -1, -1, -1},
    [RDMA_USER_CM_CMD_JOIN_IP_MCAST] = {sizeof(struct rdma_ucm_join_ip_mcast), -1, -1, -1, -1},
    [RDMA_USER_CM_CMD_LEAVE_MCAST] = {16, -1, -1, -1, -1},
    [RDMA_USER_CM_CMD_MIGRATE_ID] = {sizeof(struct rdma_ucm_migrate_id), AT(migrate_id, id),
                                     AT(migrate_id, response), -1, -1},
    [RDMA_USER_CM_CMD_QUERY] = {sizeof(struct rdma_ucm_query), AT(query, id), AT(query, response),
                                -1, -1},
    [RDMA_USER_CM_CMD_BIND] = {sizeof(struct rdma_ucm_bind), AT(bind, id), -1, AT(bind, addr), -1},
    [RDMA_USER_CM_CMD_RESOLVE_ADDR] = {sizeof(struct rdma_ucm_resolve_addr), AT(resolve_addr, id),
                                       -1, AT(resolve_addr, src_addr), AT(resolve_addr, dst_addr)},
    [RDMA_USER_CM_CMD_JOIN_MCAST] = {sizeof(struct rdma_ucm_join_mcast), -1, -1, -1, -1},
    [UNKNOWN] = {32, -1, -1, -1, -1},
};

/* One command on its way. */
struct sent {
    uint32_t number;
    unsigned flags;
    unsigned pick; /* of the identifiers; a record's octets may end before the command's own */
    int file;
    uint32_t id;
    size_t room;
    uint8_t *answer; /* NULL: no place */
    int error;
    _Alignas(8) uint8_t body[IN];
};

static struct known *find(uint32_t handle)
{
    for (unsigned i = 0; i < w.id_count; i++)
        if (w.ids[i].handle == handle)
            return &w.ids[i];
    return NULL;
}

static void learn(uint32_t handle, int file, uint64_t uid)
{
    IW_FUZZ_CHECK(find(handle) == NULL, "ucma: two identifiers with handle %u", handle);
    if (w.id_count < IDS)
        w.ids[w.id_count++] =
            (struct known){.handle = handle, .file = file, .counted = true, .uid = uid};
}

static void forget(struct known *k)
{
    *k = w.ids[--w.id_count];
}

/* ---- what is put in ---- */

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static void put64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
}

/* Of IP: loopback, and no port but none, one of ours, and one where nobody listens. */
static void tame(uint8_t *at)
{
    struct sockaddr_in6 a;
    memcpy(&a, at, sizeof(a));
    const unsigned port = ntohs(a.sin6_port) % (PORTS + 2u);
    a.sin6_port = port < PORTS ? w.ports[port] : htons(port == PORTS ? 0 : 9);
    a.sin6_flowinfo = a.sin6_scope_id = 0;
    a.sin6_addr = in6addr_loopback;
    if (a.sin6_family == AF_INET)
        ((struct sockaddr_in *)(void *)&a)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memcpy(at, &a, sizeof(a));
}

static void put_names(struct sent *s, const struct shape *shape)
{
    const bool own = (s->flags & OWN_NAMES) != 0;
    if (shape->id >= 0 && !own && w.id_count > 0) {
        const uint32_t handle = w.ids[(s->body[shape->id] + s->pick) % w.id_count].handle;
        memcpy(s->body + shape->id, &handle, sizeof(handle));
    }
    if (shape->id >= 0)
        s->id = get32(s->body + shape->id);
    if (shape->from >= 0)
        tame(s->body + shape->from);
    if (shape->to >= 0)
        tame(s->body + shape->to);
    if (own)
        return;
    const int qp = s->number == RDMA_USER_CM_CMD_CONNECT  ? AT(connect, conn_param.qp_num)
                   : s->number == RDMA_USER_CM_CMD_ACCEPT ? AT(accept, conn_param.qp_num)
                                                          : -1;
    if (qp >= 0)
        memcpy(s->body + qp, &w.qps[s->body[qp] % QPS]->qp_num, sizeof(uint32_t));
    if (s->number == RDMA_USER_CM_CMD_MIGRATE_ID) {
        uint8_t *fd = s->body + AT(migrate_id, fd);
        memcpy(fd, &w.files[*fd % FILES], sizeof(uint32_t));
    }
}

/* The pointers of a command; `option` has what SET_OPTION sets. */
static void put_places(struct sent *s, const struct shape *shape, uint8_t *option)
{
    if (shape->response >= 0)
        put64(s->body + shape->response, (uintptr_t)s->answer);
    if (s->number == RDMA_USER_CM_CMD_SET_OPTION)
        put64(s->body, (s->flags & NO_PLACE) != 0 ? 0 : (uintptr_t)option);
    if (s->number == RDMA_USER_CM_CMD_CREATE_ID)
        put64(s->body + AT(create_id, uid), ++w.last_uid);
    if (s->number == RDMA_USER_CM_CMD_ACCEPT)
        put64(s->body + AT(accept, uid), ++w.last_uid);
}

/* ---- what must come of it ---- */

static bool known_error(int error)
{
    static const int errors[] = {EINVAL,        ENOENT,     ENOSYS,      EOPNOTSUPP,  EAGAIN,
                                 EADDRNOTAVAIL, EADDRINUSE, ENOMEM,      EBADF,       EFAULT,
                                 ECONNRESET,    EACCES,     ENETUNREACH, EAFNOSUPPORT};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i] == error)
            return true;
    return false;
}

static void check_count(const struct known *k, const struct sent *s)
{
    if (k->counted && s->answer != NULL && s->room >= sizeof(uint32_t))
        IW_FUZZ_CHECK(get32(s->answer) == k->events, "ucma: %u events reported, not %u",
                      get32(s->answer), k->events);
}

static void note_event(const struct sent *s)
{
    struct rdma_ucm_event_resp e;
    bool whole = s->answer != NULL && s->room >= sizeof(e);
    if (whole)
        memcpy(&e, s->answer, sizeof(e));
    for (unsigned i = 0; i < w.id_count; i++) {
        if (whole && w.ids[i].uid == e.uid)
            w.ids[i].events++;
        else if (!whole && w.ids[i].file == s->file)
            w.ids[i].counted = false; /* whose it was is not known */
    }
    IW_FUZZ_CHECK(!whole || e.uid != 0, "ucma: an event of nobody");
    if (whole && e.event == 4) /* RDMA_CM_EVENT_CONNECT_REQUEST */
        learn(e.id, s->file, 0);
}

static void note_port(const struct sent *s)
{
    struct rdma_ucm_query_route_resp route = {.num_paths = 0};
    struct {
        struct rdma_ucm_cmd_hdr header;
        struct rdma_ucm_query query;
    } c = {{RDMA_USER_CM_CMD_QUERY_ROUTE, sizeof(c.query), sizeof(route)},
           {.response = (uintptr_t)&route, .id = s->id}};
    IW_FUZZ_CHECK(write(w.files[s->file], &c, sizeof(c)) == sizeof(c),
                  "ucma: a bound identifier has no route");
    IW_FUZZ_CHECK(route.src_addr.sin6_port != 0, "ucma: a bound identifier has no port");
    w.ports[w.bound++ % PORTS] = route.src_addr.sin6_port;
}

static void note_success(const struct sent *s)
{
    struct known *k = find(s->id);
    switch (s->number) {
    case RDMA_USER_CM_CMD_CREATE_ID:
        if (s->answer != NULL && s->room >= sizeof(uint32_t))
            learn(get32(s->answer), s->file, w.last_uid);
        break;
    case RDMA_USER_CM_CMD_DESTROY_ID:
        if (k == NULL)
            break;
        check_count(k, s);
        forget(k);
        break;
    case RDMA_USER_CM_CMD_MIGRATE_ID:
        if (k == NULL)
            break;
        check_count(k, s);
        k->file = s->file;
        break;
    case RDMA_USER_CM_CMD_ACCEPT:
        if (k != NULL)
            k->uid = w.last_uid;
        break;
    case RDMA_USER_CM_CMD_GET_EVENT:
        note_event(s);
        break;
    case RDMA_USER_CM_CMD_BIND_IP:
    case RDMA_USER_CM_CMD_BIND:
        note_port(s);
        break;
    default:
        break;
    }
}

/* ---- records ---- */

/* Writes the command from where a read past its end is noticed. */
static void write_command(struct sent *s, size_t length)
{
    static uint8_t command[sizeof(struct rdma_ucm_cmd_hdr) + IN];
    struct rdma_ucm_cmd_hdr header = {s->number, (uint16_t)length, (uint16_t)s->room};
    const size_t all = sizeof(header) + length - ((s->flags & CUT) != 0 && length > 0);
    memcpy(command, &header, sizeof(header));
    memcpy(command + sizeof(header), s->body, length);
    ssize_t n = write(w.files[s->file], iw_fuzz_fenced(command, all), all);
    s->error = n < 0 ? errno : 0;
    IW_FUZZ_CHECK(n == (ssize_t)all || n == -1, "ucma: %zd octets of %zu written", n, all);
    IW_FUZZ_CHECK(n >= 0 || known_error(s->error), "ucma: command %u ends with errno %d", s->number,
                  s->error);
}

static void send_command(struct sent *s, const struct shape *shape, size_t length)
{
    static const uint8_t guard[GUARD] = "nobody writes  ";
    static uint8_t answer[ROOM + GUARD], option[sizeof(int)];
    memset(answer, 0, s->room);
    memcpy(answer + s->room, guard, GUARD);
    s->answer = (s->flags & NO_PLACE) != 0 ? NULL : answer;
    memcpy(option, s->body + sizeof(uint64_t), sizeof(option));
    put_names(s, shape);
    put_places(s, shape, option);
    write_command(s, length);
    IW_FUZZ_CHECK(memcmp(answer + s->room, guard, GUARD) == 0,
                  "ucma: an answer to command %u is longer than its place", s->number);
    if (s->error == 0)
        note_success(s);
    else if (s->number == RDMA_USER_CM_CMD_ACCEPT && find(s->id) != NULL)
        find(s->id)->counted = false; /* its events may be those of a connection that has failed */
}

static void open_file(int file)
{
    w.files[file] = open(DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    IW_FUZZ_CHECK(w.files[file] >= 0, "ucma: the device cannot be opened");
}

static void close_file(int file)
{
    IW_FUZZ_CHECK(close(w.files[file]) == 0, "ucma: the device cannot be closed");
    for (unsigned i = w.id_count; i > 0; i--)
        if (w.ids[i - 1].file == file)
            forget(&w.ids[i - 1]);
}

static void drive(unsigned times)
{
    struct ibv_wc wc;
    for (unsigned i = 0; i < times; i++)
        while (ibv_poll_cq(w.cq, 1, &wc) > 0)
            ;
}

/* Makes a queue pair that has had a connection fit for another. */
static void revive(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
    IW_FUZZ_CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0, "ucma: no reset");
    attr.qp_state = IBV_QPS_INIT;
    IW_FUZZ_CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0, "ucma: no queue pair after it");
}

/* Carries out one record. Returns its length. */
static size_t carry_out(const uint8_t *octets, size_t length)
{
    struct sent s = {.number = octets[0] % KINDS,
                     .flags = octets[1],
                     .pick = octets[3],
                     .file = (octets[1] & SECOND_FILE) != 0,
                     .room = (octets[1] & SMALL_ROOM) != 0 ? octets[2] : ROOM};
    const size_t given = octets[4] < length - HEAD ? octets[4] : length - HEAD;
    memcpy(s.body, octets + HEAD, given);
    switch (s.number) {
    case DRIVE:
        drive(octets[2]);
        break;
    case REOPEN:
        close_file(s.file);
        open_file(s.file);
        break;
    case REVIVE:
        revive(w.qps[octets[2] % QPS]);
        break;
    default: {
        const struct shape *shape = &shapes[s.number];
        const size_t own = (size_t)octets[2] | (size_t)octets[3] << 8;
        if (s.number == RDMA_USER_CM_CMD_CREATE_ID && w.id_count == IDS)
            break;
        if (s.number == UNKNOWN)
            s.number += octets[3];
        send_command(&s, shape, (s.flags & OWN_LENGTH) != 0 ? own % IN : shape->length);
        break;
    }
    }
    return HEAD + given;
}

static void start(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    w.context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    IW_FUZZ_CHECK(w.context != NULL, "ucma: no device");
    w.pd = ibv_alloc_pd(w.context);
    w.cq = ibv_create_cq(w.context, 16, NULL, NULL, 0);
    IW_FUZZ_CHECK(w.pd != NULL && w.cq != NULL, "ucma: no objects");
}

static void run(const uint8_t *octets, size_t length)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = w.cq, .recv_cq = w.cq, .cap = {.max_send_wr = 1}, .qp_type = IBV_QPT_RC};
    w.id_count = w.bound = 0;
    w.last_uid = 0;
    memset(w.ports, 0, sizeof(w.ports));
    for (unsigned i = 0; i < QPS; i++) {
        w.qps[i] = ibv_create_qp(w.pd, &attr);
        IW_FUZZ_CHECK(w.qps[i] != NULL, "ucma: no queue pair");
        revive(w.qps[i]);
    }
    open_file(0);
    open_file(1);
    while (length >= HEAD) {
        size_t used = carry_out(octets, length);
        octets += used;
        length -= used;
    }
    close_file(0);
    close_file(1);
    IW_FUZZ_CHECK(w.id_count == 0, "ucma: %u identifiers are left", w.id_count);
    for (unsigned i = 0; i < QPS; i++)
        IW_FUZZ_CHECK(ibv_destroy_qp(w.qps[i]) == 0, "ucma: a queue pair stays");
    drive(4);
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = "ucma", .most = 1024, .start = start, .run = run};
