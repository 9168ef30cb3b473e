/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device answers: the fields of its queries in each state of an identifier, the lengths of
 * commands and answers, and what options do to sockets. */
#include "ucma_commands.h"

#include <infiniband/ib.h>
#include <sys/syscall.h>

/* ---- the system, whose options are noted ---- */

enum { OPTIONS = 64 };

static struct option {
    int level, name, value;
} options[OPTIONS];
static unsigned option_count;

/* The library's, too: this program's comes first. */
int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    struct option o = {.level = level, .name = name};
    memcpy(&o.value, value, length < sizeof(o.value) ? length : sizeof(o.value));
    if (option_count < OPTIONS)
        options[option_count++] = o;
    return (int)syscall(SYS_setsockopt, fd, level, name, value, length);
}

/* Returns the value that an option was set to once; -1 if it was not set at all. */
static int set_to(int level, int name)
{
    int value = -1;
    for (unsigned i = 0; i < option_count; i++)
        if (options[i].level == level && options[i].name == name) {
            assert_int_equal(value, -1);
            value = options[i].value;
        }
    return value;
}

/* ---- queries ---- */

static struct sockaddr_in6 at_loopback_6(uint16_t port)
{
    return (struct sockaddr_in6){
        .sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
}

static struct rdma_ucm_query_addr_resp query(int fd, uint32_t id, uint32_t option)
{
    struct rdma_ucm_query_addr_resp out;
    struct rdma_ucm_query in = {.response = (uintptr_t)&out, .id = id, .option = option};
    memset(&out, 0x77, sizeof(out));
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_QUERY, &in, sizeof(in), sizeof(out)), 0);
    return out;
}

static uint64_t guid(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    const uint64_t result = ibv_get_device_guid(list[0]);
    ibv_free_device_list(list);
    return result;
}

static void expect_device(const struct rdma_ucm_query_addr_resp *out, bool there)
{
    assert_int_equal(out->node_guid, there ? guid() : 0);
    assert_int_equal(out->port_num, there ? 1 : 0);
    assert_int_equal(out->ibdev_index, there ? 0 : UINT32_MAX);
    assert_int_equal(out->pkey, 0);
}

static const uint8_t no_gid[16];
static const uint8_t gid_4[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};
static const uint8_t gid_6[16] = {[15] = 1};

static void expect_gids(int fd, uint32_t id, bool there, const uint8_t *source,
                        const uint8_t *destination)
{
    const struct rdma_ucm_query_addr_resp out = query(fd, id, RDMA_USER_CM_QUERY_GID);
    struct sockaddr_ib from, to;
    memcpy(&from, &out.src_addr, sizeof(from));
    memcpy(&to, &out.dst_addr, sizeof(to));
    expect_device(&out, there);
    assert_int_equal(out.src_size, 48);
    assert_int_equal(out.dst_size, 48);
    assert_int_equal(from.sib_family, AF_IB);
    assert_int_equal(to.sib_family, AF_IB);
    assert_memory_equal(from.sib_addr.sib_raw, source, 16);
    assert_memory_equal(to.sib_addr.sib_raw, destination, 16);
    assert_int_equal(from.sib_sid, 0);
    const struct rdma_ucm_query_route_resp route = route_of(fd, id);
    assert_int_equal(route.node_guid, there ? guid() : 0);
    assert_int_equal(route.port_num, there ? 1 : 0);
    assert_int_equal(route.ibdev_index, there ? 0 : UINT32_MAX);
    assert_int_equal(route.num_paths, 0);
    assert_memory_equal(route.ib_route[0].sgid, there ? source : no_gid, 16);
    assert_memory_equal(route.ib_route[0].dgid, there ? destination : no_gid, 16);
}

static void expect_addresses(int fd, uint32_t id, bool there, const void *source,
                             const void *destination, uint16_t size)
{
    static const uint8_t none[sizeof(struct sockaddr_storage)];
    const struct rdma_ucm_query_addr_resp out = query(fd, id, RDMA_USER_CM_QUERY_ADDR);
    const struct rdma_ucm_query_route_resp route = route_of(fd, id);
    const size_t length = size > 0 ? size : sizeof(struct sockaddr_in6);
    /* The rest of a place that is longer than the address is zero. */
    assert_memory_equal((const uint8_t *)&out.src_addr + length, none, sizeof(none) - length);
    assert_memory_equal((const uint8_t *)&out.dst_addr + length, none, sizeof(none) - length);
    expect_device(&out, there);
    assert_int_equal(out.src_size, source != NULL ? size : 0);
    assert_int_equal(out.dst_size, destination != NULL ? size : 0);
    assert_memory_equal(&out.src_addr, source != NULL ? source : none, length);
    assert_memory_equal(&out.dst_addr, destination != NULL ? destination : none, length);
    assert_memory_equal(&route.src_addr, source != NULL ? source : none, length);
    assert_memory_equal(&route.dst_addr, destination != NULL ? destination : none, length);
}

static void addresses_of_ipv4(void **state)
{
    const struct sockaddr_in loopback = at_loopback(0), to = at_loopback(htons(9));
    struct sockaddr_in any = {.sin_family = AF_INET};
    (void)state;
    int fd = open_it(0);
    uint32_t id = create(fd, 1);
    expect_addresses(fd, id, false, NULL, NULL, 0);
    expect_gids(fd, id, false, no_gid, no_gid);
    assert_int_equal(bind_to(fd, id, &loopback, sizeof(loopback)), 0);
    struct sockaddr_in at = source_of(fd, id);
    assert_int_not_equal(at.sin_port, 0);
    expect_addresses(fd, id, true, &at, NULL, 16);
    expect_gids(fd, id, true, gid_4, no_gid);
    /* Resolving keeps the port. */
    assert_int_equal(resolve(fd, id, NULL, &to, sizeof(to)), 0);
    expect_addresses(fd, id, true, &at, &to, 16);
    expect_gids(fd, id, true, gid_4, gid_4);
    assert_int_equal(get(fd, ADDR_RESOLVED).status, 0);
    assert_int_equal(destroy(fd, id), 1);
    /* One of all addresses has no device before it is resolved. */
    id = create(fd, 1);
    assert_int_equal(bind_to(fd, id, &any, sizeof(any)), 0);
    at = source_of(fd, id);
    assert_int_equal(at.sin_addr.s_addr, 0);
    expect_addresses(fd, id, false, &at, NULL, 16);
    expect_gids(fd, id, false, (const uint8_t[16]){[10] = 0xff, [11] = 0xff}, no_gid);
    assert_int_equal(resolve(fd, id, NULL, &to, sizeof(to)), 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    expect_addresses(fd, id, true, &at, &to, 16);
    assert_int_equal(get(fd, ADDR_RESOLVED).status, 0);
    assert_int_equal(destroy(fd, id), 1);
    assert_int_equal(close(fd), 0);
}

static void addresses_of_ipv6(void **state)
{
    const struct sockaddr_in6 loopback = at_loopback_6(0), to = at_loopback_6(htons(9));
    struct sockaddr_in6 any = {.sin6_family = AF_INET6}, at;
    (void)state;
    int fd = open_it(0);
    uint32_t id = create(fd, 1);
    if (bind_to(fd, id, &loopback, sizeof(loopback)) != 0) {
        assert_int_equal(close(fd), 0);
        skip(); /* a host without IPv6 */
    }
    struct rdma_ucm_query_route_resp route = route_of(fd, id);
    memcpy(&at, &route.src_addr, sizeof(at));
    assert_int_not_equal(at.sin6_port, 0);
    expect_addresses(fd, id, true, &at, NULL, 28);
    expect_gids(fd, id, true, gid_6, no_gid);
    assert_int_equal(resolve(fd, id, NULL, &to, sizeof(to)), 0);
    expect_addresses(fd, id, true, &at, &to, 28);
    expect_gids(fd, id, true, gid_6, gid_6);
    assert_int_equal(destroy(fd, id), 0);
    id = create(fd, 1);
    assert_int_equal(bind_to(fd, id, &any, sizeof(any)), 0);
    route = route_of(fd, id);
    memcpy(&at, &route.src_addr, sizeof(at));
    expect_addresses(fd, id, false, &at, NULL, 28);
    assert_int_equal(resolve(fd, id, NULL, &to, sizeof(to)), 0);
    at.sin6_addr = loopback.sin6_addr;
    expect_addresses(fd, id, true, &at, &to, 28);
    assert_int_equal(destroy(fd, id), 0);
    /* One that is not bound, from a source of its own. */
    id = create(fd, 1);
    const struct sockaddr_in6 from = at_loopback_6(at.sin6_port);
    assert_int_equal(resolve(fd, id, &from, &to, sizeof(to)), 0);
    expect_addresses(fd, id, true, &at, &to, 28);
    assert_int_equal(destroy(fd, id), 0);
    assert_int_equal(close(fd), 0);
}

static void there_is_no_path(void **state)
{
    struct rdma_ucm_query_path_resp out;
    (void)state;
    int fd = open_it(0);
    uint32_t id = create(fd, 1);
    struct rdma_ucm_query in = {
        .response = (uintptr_t)&out, .id = id, .option = RDMA_USER_CM_QUERY_PATH};
    memset(&out, 0x77, sizeof(out));
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_QUERY, &in, sizeof(in), sizeof(out)), 0);
    assert_int_equal(out.num_paths, 0);
    memset(&out, 0x77, sizeof(out));
    in.option = RDMA_USER_CM_QUERY_GID + 1;
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_QUERY, &in, sizeof(in), sizeof(out)), ENOSYS);
    assert_int_equal(out.num_paths, 0x77777777);
    assert_int_equal(destroy(fd, id), 0);
    assert_int_equal(close(fd), 0);
}

/* An answer is as long as its place, at most. */
static void answers_are_cut(void **state)
{
    struct rdma_ucm_query_addr_resp out;
    const struct sockaddr_in loopback = at_loopback(0);
    (void)state;
    int fd = open_it(0);
    uint32_t id = create(fd, 1);
    assert_int_equal(bind_to(fd, id, &loopback, sizeof(loopback)), 0);
    struct rdma_ucm_query in = {
        .response = (uintptr_t)&out, .id = id, .option = RDMA_USER_CM_QUERY_ADDR};
    memset(&out, 0x77, sizeof(out));
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_QUERY, &in, sizeof(in), 9), 0);
    assert_int_equal(out.node_guid, guid());
    assert_int_equal(out.port_num, 1);
    assert_int_equal(out.pkey, 0x7777);
    memset(&out, 0x77, sizeof(out));
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_QUERY, &in, sizeof(in), 0), 0);
    assert_int_equal(out.port_num, 0x77);
    /* What comes after a longer place stays. */
    struct {
        struct rdma_ucm_query_addr_resp out;
        uint8_t behind[8];
    } more;
    memset(&more, 0x77, sizeof(more));
    in.response = (uintptr_t)&more;
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_QUERY, &in, sizeof(in), sizeof(more)), 0);
    assert_memory_equal(more.behind, "wwwwwwww", 8);
    assert_int_equal(destroy(fd, id), 0);
    assert_int_equal(close(fd), 0);
}

/* As of iWARP in the kernel. */
static void what_a_queue_pair_is_to_be(void **state)
{
    static const struct {
        uint32_t state;
        int error;
        uint32_t mask, access;
    } rows[] = {
        {IBV_QPS_RESET, EINVAL, 0, 0}, {IBV_QPS_INIT, 0, 9, 14},    {IBV_QPS_RTR, 0, 9, 14},
        {IBV_QPS_RTS, 0, 0, 0},        {IBV_QPS_SQD, EINVAL, 0, 0}, {IBV_QPS_SQE, EINVAL, 0, 0},
        {IBV_QPS_ERR, EINVAL, 0, 0},   {UINT32_MAX, EINVAL, 0, 0},
    };
    (void)state;
    int fd = open_it(0);
    uint32_t id = create(fd, 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ib_uverbs_qp_attr out;
        struct rdma_ucm_init_qp_attr in = {
            .response = (uintptr_t)&out, .id = id, .qp_state = rows[i].state};
        memset(&out, 0x77, sizeof(out));
        assert_int_equal(command(fd, RDMA_USER_CM_CMD_INIT_QP_ATTR, &in, sizeof(in), sizeof(out)),
                         rows[i].error);
        if (rows[i].error != 0)
            continue;
        assert_int_equal(out.qp_state, rows[i].state);
        assert_int_equal(out.qp_attr_mask, rows[i].mask);
        assert_int_equal(out.qp_access_flags, rows[i].access);
        assert_int_equal(out.port_num, 1);
        assert_int_equal(out.max_rd_atomic, 0);
    }
    assert_int_equal(destroy(fd, id), 0);
    assert_int_equal(close(fd), 0);
}

/* ---- lengths ---- */

/* Each command's least length, that of its oldest layout; about an identifier that is not there,
 * but CREATE_ID and GET_EVENT. `place`: it needs one for its answer. */
static const struct {
    uint32_t number;
    uint16_t least;
    int error;
    bool place;
} lengths[] = {
    {RDMA_USER_CM_CMD_CREATE_ID, 24, EOPNOTSUPP, true},
    {RDMA_USER_CM_CMD_DESTROY_ID, 16, ENOENT, true},
    {RDMA_USER_CM_CMD_BIND_IP, 40, ENOENT, false},
    {RDMA_USER_CM_CMD_RESOLVE_IP, 64, ENOENT, false},
    {RDMA_USER_CM_CMD_RESOLVE_ROUTE, 8, ENOENT, false},
    {RDMA_USER_CM_CMD_QUERY_ROUTE, 12, ENOENT, true},
    {RDMA_USER_CM_CMD_CONNECT, 280, ENOENT, false},
    {RDMA_USER_CM_CMD_LISTEN, 8, ENOENT, false},
    {RDMA_USER_CM_CMD_ACCEPT, 288, ENOENT, false},
    {RDMA_USER_CM_CMD_REJECT, 264, ENOENT, false},
    {RDMA_USER_CM_CMD_DISCONNECT, 4, ENOENT, false},
    {RDMA_USER_CM_CMD_INIT_QP_ATTR, 16, ENOENT, true},
    {RDMA_USER_CM_CMD_GET_EVENT, 8, EAGAIN, true},
    {RDMA_USER_CM_CMD_SET_OPTION, 24, ENOENT, false},
    {RDMA_USER_CM_CMD_NOTIFY, 8, ENOENT, false},
    {RDMA_USER_CM_CMD_MIGRATE_ID, 16, ENOENT, true},
    {RDMA_USER_CM_CMD_QUERY, 16, ENOENT, true},
    {RDMA_USER_CM_CMD_BIND, 136, ENOENT, false},
    {RDMA_USER_CM_CMD_RESOLVE_ADDR, 272, ENOENT, false},
};

static void each_command_has_its_length(void **state)
{
    (void)state;
    int fd = open_it(O_NONBLOCK);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        uint8_t in[1100] = {0}, out[512];
        const uint32_t number = lengths[i].number, self = (uint32_t)fd;
        const uint16_t least = lengths[i].least;
        if (number == RDMA_USER_CM_CMD_MIGRATE_ID)
            memcpy(in + offsetof(struct rdma_ucm_migrate_id, fd), &self, sizeof(self));
        const int error = lengths[i].error;
        assert_int_equal(command(fd, number, in, least - 1u, 0), EINVAL);
        assert_int_equal(command(fd, number, in, least, 0), error);
        assert_int_equal(command(fd, number, in, least, 8), lengths[i].place ? EFAULT : error);
        assert_int_equal(command(fd, number, in, 1024, 0), error);
        assert_int_equal(command(fd, number, in, 1025, 0), EINVAL);
        const uint64_t place = (uintptr_t)out;
        memcpy(in + (number == RDMA_USER_CM_CMD_CREATE_ID ? 8 : 0), &place, sizeof(place));
        if (lengths[i].place)
            assert_int_equal(command(fd, number, in, least, 8), error);
    }
    assert_int_equal(close(fd), 0);
}

/* What a header says must be there; more may be. */
static void headers_are_held_to_what_was_written(void **state)
{
    uint8_t all[8 + 32] = {0};
    struct rdma_ucm_cmd_hdr header = {RDMA_USER_CM_CMD_DESTROY_ID, 16, 0};
    static const struct {
        size_t length;
        int error;
    } rows[] = {{0, EINVAL}, {7, EINVAL}, {8, EINVAL}, {23, EINVAL}, {24, ENOENT}, {40, ENOENT}};
    (void)state;
    int fd = open_it(0);
    memcpy(all, &header, sizeof(header));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        errno = 0;
        assert_int_equal(write(fd, all, rows[i].length), -1);
        assert_int_equal(errno, rows[i].error);
    }
    assert_int_equal(close(fd), 0);
}

static void another_port_space(void **state)
{
    static const uint16_t spaces[] = {RDMA_PS_IPOIB, RDMA_PS_UDP, RDMA_PS_IB, 0x105, 0x107};
    struct rdma_ucm_create_id_resp out = {0};
    struct rdma_ucm_create_id in = {.uid = 1, .response = (uintptr_t)&out};
    (void)state;
    int fd = open_it(0);
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        in.ps = spaces[i];
        assert_int_equal(command(fd, RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in), sizeof(out)),
                         EOPNOTSUPP);
        assert_int_equal(out.id, 0);
    }
    assert_int_equal(close(fd), 0);
}

/* ---- options ---- */

static int set_option(int fd, uint32_t id, uint32_t level, uint32_t name, const void *value,
                      uint32_t length)
{
    struct rdma_ucm_set_option in = {
        .optval = (uintptr_t)value, .id = id, .level = level, .optname = name, .optlen = length};
    return command(fd, RDMA_USER_CM_CMD_SET_OPTION, &in, sizeof(in), 0);
}

static void options_reach_the_socket(void **state)
{
    const struct sockaddr_in six_or_four = at_loopback(0);
    const struct sockaddr_in6 six = at_loopback_6(0);
    const int one = 1, none = 0, tos = 0x148; /* of which the last octet is one */
    (void)state;
    int fd = open_it(0);
    uint32_t id = create(fd, 1);
    option_count = 0;
    assert_int_equal(bind_to(fd, id, &six_or_four, sizeof(six_or_four)), 0);
    assert_int_equal(set_to(SOL_SOCKET, SO_REUSEADDR), 1);
    assert_int_equal(set_to(IPPROTO_IP, IP_TOS), -1);
    assert_int_equal(set_to(IPPROTO_IPV6, IPV6_V6ONLY), -1);
    assert_int_equal(set_to(IPPROTO_IPV6, IPV6_TCLASS), -1);
    assert_int_equal(destroy(fd, id), 0);
    id = create(fd, 1);
    assert_int_equal(set_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 4), 0);
    option_count = 0;
    assert_int_equal(bind_to(fd, id, &six_or_four, sizeof(six_or_four)), 0);
    assert_int_equal(set_to(IPPROTO_IP, IP_TOS), 0x48);
    assert_int_equal(set_to(IPPROTO_IPV6, IPV6_TCLASS), -1);
    assert_int_equal(destroy(fd, id), 0);
    static const struct {
        int tos, only;
    } rows[] = {{0, 0}, {0, 1}, {8, 0}, {8, 1}, {1, 5}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        id = create(fd, 1);
        assert_int_equal(set_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, 4), 0);
        assert_int_equal(
            set_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &rows[i].only, 4), 0);
        assert_int_equal(set_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &rows[i].tos, 1),
                         0);
        option_count = 0;
        if (bind_to(fd, id, &six, sizeof(six)) != 0)
            break; /* a host without IPv6 */
        assert_int_equal(set_to(SOL_SOCKET, SO_REUSEADDR), 1);
        assert_int_equal(set_to(IPPROTO_IPV6, IPV6_V6ONLY), rows[i].only != 0);
        assert_int_equal(set_to(IPPROTO_IPV6, IPV6_TCLASS), rows[i].tos != 0 ? rows[i].tos : -1);
        assert_int_equal(set_to(IPPROTO_IP, IP_TOS), -1);
        assert_int_equal(destroy(fd, id), 0);
    }
    id = create(fd, 1);
    assert_int_equal(set_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &none, 4), 0);
    assert_int_equal(set_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &one, 1), 0);
    assert_int_equal(set_option(fd, id, RDMA_OPTION_ID, 9, &one, 4), ENOSYS);
    assert_int_equal(set_option(fd, id, RDMA_OPTION_IB, RDMA_OPTION_ID_TOS, &one, 4), ENOSYS);
    assert_int_equal(set_option(fd, id + 1, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &one, 4), ENOENT);
    assert_int_equal(close(fd), 0);
}

static void notices_mean_nothing(void **state)
{
    (void)state;
    int fd = open_it(0);
    uint32_t id = create(fd, 1);
    struct rdma_ucm_notify in = {.id = id, .event = IBV_EVENT_COMM_EST};
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_NOTIFY, &in, sizeof(in), 0), 0);
    in.id++;
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_NOTIFY, &in, sizeof(in), 0), ENOENT);
    assert_int_equal(close(fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_ipv4),
        cmocka_unit_test(addresses_of_ipv6),
        cmocka_unit_test(there_is_no_path),
        cmocka_unit_test(answers_are_cut),
        cmocka_unit_test(what_a_queue_pair_is_to_be),
        cmocka_unit_test(each_command_has_its_length),
        cmocka_unit_test(headers_are_held_to_what_was_written),
        cmocka_unit_test(another_port_space),
        cmocka_unit_test(options_reach_the_socket),
        cmocka_unit_test(notices_mean_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
