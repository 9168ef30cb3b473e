/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device, its port and /sys say, and that limits are what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct device {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
};

static int set_up(void **state)
{
    static struct device d;
    struct ibv_device **list = ibv_get_device_list(NULL);
    d.context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    d.pd = ibv_alloc_pd(d.context);
    d.cq = ibv_create_cq(d.context, 1, NULL, NULL, 0);
    assert_non_null(d.cq);
    *state = &d;
    return 0;
}

static int tear_down(void **state)
{
    struct device *d = *state;
    assert_int_equal(ibv_destroy_cq(d->cq), 0);
    assert_int_equal(ibv_dealloc_pd(d->pd), 0);
    assert_int_equal(ibv_close_device(d->context), 0);
    return 0;
}

static void the_device(void **state)
{
    const struct device *d = *state;
    struct ibv_device_attr a;
    const uint8_t *guid = (const uint8_t *)&a.node_guid;
    assert_int_equal(ibv_query_device(d->context, &a), 0);
    assert_memory_equal(guid, "\x02\x69\x57\xff", 4); /* locally administered */
    assert_int_equal(a.sys_image_guid, a.node_guid);
    assert_string_equal(a.fw_ver, IW_VERSION);
    assert_int_equal(a.vendor_id, 0x026957);
    assert_int_equal(a.vendor_part_id, 1);
    assert_int_equal(a.max_mr_size, UINT64_MAX);
    assert_int_equal(a.page_size_cap, 0xfffff000);
    assert_int_equal(a.max_qp, 16384);
    assert_int_equal(a.max_qp_wr, 16384);
    assert_int_equal(a.device_cap_flags, IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SRQ_RESIZE |
                                             IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B);
    assert_int_equal(a.max_sge, 16);
    assert_int_equal(a.max_sge_rd, 1);
    assert_int_equal(a.max_cq, 32768);
    assert_int_equal(a.max_cqe, 1048576);
    assert_int_equal(a.max_mr, 65536);
    assert_int_equal(a.max_mw, 65536);
    assert_int_equal(a.max_pd, 65536);
    assert_int_equal(a.max_qp_rd_atom, 128);
    assert_int_equal(a.max_res_rd_atom, 128 * 16384);
    assert_int_equal(a.max_qp_init_rd_atom, 128);
    assert_int_equal(a.atomic_cap, IBV_ATOMIC_HCA);
    assert_int_equal(a.max_srq, 16384);
    assert_int_equal(a.max_srq_wr, 16384);
    assert_int_equal(a.max_srq_sge, 16);
    assert_int_equal(a.max_pkeys, 1);
    assert_int_equal(a.phys_port_cnt, 1);
    assert_int_equal(a.max_ah, 0);
}

/* Programs of an older rdma-core have a shorter struct. */
static void the_device_extended(void **state)
{
    const struct device *d = *state;
    struct ibv_device_attr_ex ex;
    struct verbs_context *v = verbs_get_ctx(d->context);
    assert_int_equal(ibv_query_device_ex(d->context, NULL, &ex), 0);
    assert_int_equal(ex.completion_timestamp_mask, UINT64_MAX);
    assert_int_equal(ex.hca_core_clock, 1000000);
    assert_int_equal(ex.phys_port_cnt_ex, 1);
    assert_int_equal(ex.orig_attr.max_qp, 16384);
    memset(&ex, 0x77, sizeof(ex));
    assert_int_equal(v->query_device_ex(d->context, NULL, &ex, sizeof(ex.orig_attr)), 0);
    assert_int_equal(ex.orig_attr.max_qp, 16384);
    assert_int_equal(ex.comp_mask, 0x77777777);
    /* Of a newer one a longer one, of which the rest is zero. */
    struct {
        struct ibv_device_attr_ex known;
        uint8_t rest[8];
    } longer;
    memset(&longer, 0x77, sizeof(longer));
    assert_int_equal(v->query_device_ex(d->context, NULL, &longer.known, sizeof(longer)), 0);
    assert_int_equal(longer.known.orig_attr.max_qp, 16384);
    assert_memory_equal(longer.rest, "\0\0\0\0\0\0\0\0", 8);
    struct ibv_values_ex values = {.comp_mask = 0xff};
    assert_int_equal(ibv_query_rt_values_ex(d->context, &values), 0);
    assert_int_equal(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
    assert_true(values.raw_clock.tv_sec > 0 || values.raw_clock.tv_nsec > 0);
    values = (struct ibv_values_ex){.comp_mask = 0};
    assert_int_equal(ibv_query_rt_values_ex(d->context, &values), 0);
    assert_int_equal(values.comp_mask, 0);
    assert_int_equal(values.raw_clock.tv_sec, 0);
}

static void the_port(void **state)
{
    const struct device *d = *state;
    struct ibv_port_attr port;
    assert_int_equal(ibv_query_port(d->context, 1, &port), 0);
    assert_int_equal(port.state, IBV_PORT_ACTIVE);
    assert_int_equal(port.max_mtu, IBV_MTU_4096);
    assert_int_equal(port.active_mtu, IBV_MTU_1024);
    assert_int_equal(port.port_cap_flags, IBV_PORT_CM_SUP);
    assert_int_equal(port.max_msg_sz, 0x7fffffff);
    assert_int_equal(port.pkey_tbl_len, 1);
    assert_int_equal(port.active_width, 2);
    assert_int_equal(port.active_speed, 4);
    assert_int_equal(port.phys_state, 5);
    assert_int_equal(port.link_layer, IBV_LINK_LAYER_ETHERNET);
    assert_int_equal(port.lid, 0);
    memset(&port, 0x77, sizeof(port));
    assert_int_equal(verbs_get_ctx(d->context)->query_port(d->context, 1, &port, 4), 0);
    assert_int_equal(port.state, IBV_PORT_ACTIVE);
    assert_int_equal(port.max_mtu, 0x77777777);
    struct {
        struct ibv_port_attr known;
        uint8_t rest[8];
    } longer;
    memset(&longer, 0x77, sizeof(longer));
    assert_int_equal(
        verbs_get_ctx(d->context)->query_port(d->context, 1, &longer.known, sizeof(longer)), 0);
    assert_int_equal(longer.known.phys_state, 5);
    assert_memory_equal(longer.rest, "\0\0\0\0\0\0\0\0", 8);
    assert_int_equal(ibv_query_port(d->context, 0, &port), EINVAL);
}

static ssize_t count_addresses(void)
{
    struct ifaddrs *all;
    ssize_t count = 0;
    assert_int_equal(getifaddrs(&all), 0);
    for (const struct ifaddrs *a = all; a != NULL; a = a->ifa_next)
        count += a->ifa_addr != NULL &&
                 (a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6);
    freeifaddrs(all);
    return count;
}

/* Every address of the host, the loopback address among them, as IPv4-mapped octets. */
static void the_gids(void **state)
{
    const struct device *d = *state;
    const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};
    struct ibv_gid_entry entries[256];
    union ibv_gid gid;
    unsigned found = 0;
    int type = 7;
    memset(entries, 0x77, sizeof(entries));
    ssize_t count = ibv_query_gid_table(d->context, entries, 256, 0);
    assert_int_equal(count, count_addresses());
    for (ssize_t i = 0; i < count; i++) {
        struct ibv_gid_entry one;
        found += memcmp(entries[i].gid.raw, mapped, 16) == 0;
        assert_int_equal(entries[i].gid_index, i);
        assert_int_equal(entries[i].port_num, 1);
        assert_int_equal(entries[i].gid_type, IBV_GID_TYPE_IB);
        assert_int_equal(entries[i].ndev_ifindex, 0);
        assert_int_equal(ibv_query_gid(d->context, 1, (int)i, &gid), 0);
        assert_memory_equal(&gid, &entries[i].gid, sizeof(gid));
        assert_int_equal(ibv_query_gid_ex(d->context, 1, (uint32_t)i, &one, 0), 0);
        assert_memory_equal(&one, &entries[i], sizeof(one));
    }
    assert_int_equal(found, 1);
    assert_int_equal(entries[count].gid_index, 0x77777777);
    assert_int_equal(ibv_query_gid_table(d->context, entries, 256, 1), -EOPNOTSUPP);
    assert_int_equal(ibv_query_gid_ex(d->context, 1, 0, entries, 1), EOPNOTSUPP);
    assert_int_equal(ibv_query_gid_ex(d->context, 2, 0, entries, 0), ENODATA);
    assert_int_equal(ibv_query_gid_ex(d->context, 1, (uint32_t)count, entries, 0), ENODATA);
    assert_int_equal(ibv_query_gid_ex(d->context, 1, UINT32_MAX, entries, 0), ENODATA);
    errno = 0;
    assert_int_equal(ibv_query_gid(d->context, 2, 0, &gid), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(ibv_query_gid(d->context, 1, -1, &gid), -1);
    /* Exported for perftest, without a header. */
    void *symbol = dlsym(RTLD_DEFAULT, "ibv_query_gid_type");
    int (*query_type)(struct ibv_context *, uint8_t, unsigned, int *);
    assert_non_null(symbol);
    memcpy(&query_type, &symbol, sizeof(query_type));
    assert_int_equal(query_type(d->context, 1, 0, &type), 0);
    assert_int_equal(type, 0);
    assert_int_equal(query_type(d->context, 1, (unsigned)count, &type), -1);
}

static void the_one_partition_key(void **state)
{
    const struct device *d = *state;
    __be16 pkey = 0;
    assert_int_equal(ibv_query_pkey(d->context, 1, 0, &pkey), 0);
    assert_int_equal(pkey, 0xffff);
    assert_int_equal(ibv_query_pkey(d->context, 2, 0, &pkey), -1);
    assert_int_equal(ibv_query_pkey(d->context, 1, -1, &pkey), -1);
    assert_int_equal(ibv_get_pkey_index(d->context, 1, 0xffff), 0);
    errno = 0;
    assert_int_equal(ibv_get_pkey_index(d->context, 1, 0x7fff), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(ibv_get_pkey_index(d->context, 2, 0xffff), -1);
}

static int read_sys(const char *file, char *text, size_t room)
{
    int (*read_file)(const char *, const char *, char *, size_t);
    void *symbol = dlsym(RTLD_DEFAULT, "ibv_read_sysfs_file");
    assert_non_null(symbol);
    memcpy(&read_file, &symbol, sizeof(read_file));
    return read_file("/sys", file, text, room);
}

static void what_is_read_of_sys(void **state)
{
    static const char *const files[][2] = {
        {"class/misc/rdma_cm/abi_version", "4"},
        {"class/infiniband_verbs/abi_version", "6"},
        {"fw_ver", IW_VERSION},
        {"hw_rev", "1"},
        {"board_id", "iwarp"},
        {"hca_type", "iwarp"},
        {"device/node_type", "4: RNIC"},
    };
    char text[20];
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        assert_int_equal(read_sys(files[i][0], text, sizeof(text)), strlen(files[i][1]));
        assert_string_equal(text, files[i][1]);
    }
    memset(text, 'x', sizeof(text));
    assert_int_equal(read_sys("board_id", text, 4), 3);
    assert_string_equal(text, "iwa");
    assert_int_equal(text[4], 'x');
    assert_int_equal(read_sys("board_id", text, 6), 5);
    assert_int_equal(read_sys("ports/1/state", text, sizeof(text)), -1);
    assert_int_equal(read_sys("d", text, sizeof(text)), -1);
}

static struct ibv_qp *qp_of(const struct device *d, struct ibv_qp_cap cap)
{
    struct ibv_qp_init_attr init = {
        .send_cq = d->cq, .recv_cq = d->cq, .cap = cap, .qp_type = IBV_QPT_RC};
    return ibv_create_qp(d->pd, &init);
}

/* Each limit can be had, and one more cannot. */
static void limits_of_queue_pairs(void **state)
{
    const struct device *d = *state;
    static const struct {
        struct ibv_qp_cap most, more;
    } rows[] = {
        {{.max_send_wr = 16384}, {.max_send_wr = 16385}},
        {{.max_recv_wr = 16384}, {.max_recv_wr = 16385}},
        {{.max_send_sge = 16}, {.max_send_sge = 17}},
        {{.max_recv_sge = 16}, {.max_recv_sge = 17}},
        {{.max_inline_data = 1024}, {.max_inline_data = 1025}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ibv_qp *qp = qp_of(d, rows[i].most);
        assert_non_null(qp);
        assert_int_equal(ibv_destroy_qp(qp), 0);
        errno = 0;
        assert_null(qp_of(d, rows[i].more));
        assert_int_equal(errno, EINVAL);
    }
}

static void limits_of_queues(void **state)
{
    const struct device *d = *state;
    const struct ibv_srq_attr good[] = {{.max_wr = 1}, {.max_wr = 16384, .max_sge = 16}};
    const struct ibv_srq_attr bad[] = {
        {.max_sge = 1}, {.max_wr = 16385}, {.max_wr = 1, .max_sge = 17}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct ibv_srq_init_attr init = {.attr = good[i]};
        struct ibv_srq *srq = ibv_create_srq(d->pd, &init);
        assert_non_null(srq);
        assert_int_equal(ibv_destroy_srq(srq), 0);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ibv_srq_init_attr init = {.attr = bad[i]};
        errno = 0;
        assert_null(ibv_create_srq(d->pd, &init));
        assert_int_equal(errno, EINVAL);
    }
    struct ibv_cq *cq = ibv_create_cq(d->context, 1048576, NULL, NULL, 0);
    assert_non_null(cq);
    assert_int_equal(ibv_resize_cq(cq, 1048577), EINVAL);
    assert_int_equal(ibv_resize_cq(cq, 0), EINVAL);
    assert_int_equal(ibv_resize_cq(cq, 1), 0);
    assert_int_equal(ibv_destroy_cq(cq), 0);
    errno = 0;
    assert_null(ibv_create_cq(d->context, 1048577, NULL, NULL, 0));
    assert_int_equal(errno, EINVAL);
    assert_null(ibv_create_cq(d->context, 0, NULL, NULL, 0));
    assert_null(ibv_create_cq(d->context, 1, NULL, NULL, 1)); /* it has one vector */
    assert_int_equal(d->context->num_comp_vectors, 1);
}

static struct ibv_qp *extended_qp_of(const struct device *d, uint32_t mask, uint32_t flags,
                                     uint64_t operations)
{
    struct ibv_qp_init_attr_ex attr = {.send_cq = d->cq,
                                       .recv_cq = d->cq,
                                       .qp_type = IBV_QPT_RC,
                                       .comp_mask = mask,
                                       .pd = d->pd,
                                       .create_flags = flags,
                                       .send_ops_flags = operations};
    return ibv_create_qp_ex(d->context, &attr);
}

/* What an attribute's bit does not name is not looked at. */
static void attributes_of_queue_pairs(void **state)
{
    const struct device *d = *state;
    static const struct {
        uint32_t mask, flags;
        uint64_t operations;
        int error;
    } rows[] = {
        {IBV_QP_INIT_ATTR_PD, 0, 0, 0},
        {IBV_QP_INIT_ATTR_PD, 1, IBV_QP_EX_WITH_SEND_WITH_IMM, 0},
        {IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS, 0, 0, 0},
        {IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS, 1, 0, EOPNOTSUPP},
        {IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 1, IBV_QP_EX_WITH_SEND, 0},
        {IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 0, IBV_QP_EX_WITH_SEND_WITH_IMM,
         EOPNOTSUPP},
        {IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER, 0, 0, EOPNOTSUPP},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        errno = 0;
        struct ibv_qp *qp = extended_qp_of(d, rows[i].mask, rows[i].flags, rows[i].operations);
        assert_int_equal(errno, rows[i].error);
        assert_int_equal(qp != NULL, rows[i].error == 0);
        if (qp != NULL)
            assert_int_equal(ibv_destroy_qp(qp), 0);
    }
}

static void no_device_without_descriptors(void **state)
{
    const struct device *d = *state;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(STDIN_FILENO); /* the lowest that is free */
    assert_true(next >= 0);
    close(next);
    for (int i = 0; i < 50; i++) {
        const int more = i % 2;
        none = (struct rlimit){(rlim_t)(next + more), before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        errno = 0;
        struct ibv_context *context = ibv_open_device(d->context->device);
        const int error = errno;
        struct ibv_comp_channel *channel = more == 0 ? ibv_create_comp_channel(d->context) : NULL;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_null(context);
        assert_int_equal(error, EMFILE);
        assert_null(channel);
    }
    struct ibv_context *context = ibv_open_device(d->context->device);
    assert_non_null(context);
    assert_true(context->async_fd < next + 20); /* nothing is left over of 50 attempts */
    assert_int_equal(ibv_close_device(context), 0);
}

static void a_device_that_is_not_ours(void **state)
{
    struct ibv_device other = {.name = "mlx5_0"};
    (void)state;
    errno = 0;
    assert_null(ibv_open_device(&other));
    assert_int_equal(errno, ENODEV);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_device),
        TEST(the_device_extended),
        TEST(the_port),
        TEST(the_gids),
        TEST(the_one_partition_key),
        TEST(what_is_read_of_sys),
        TEST(limits_of_queue_pairs),
        TEST(limits_of_queues),
        TEST(attributes_of_queue_pairs),
        TEST(no_device_without_descriptors),
        cmocka_unit_test(a_device_that_is_not_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
