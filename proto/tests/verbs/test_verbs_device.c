/* SPDX-License-Identifier: BSD-3-Clause */
/* The device by its host: its name as a GUID, its addresses as GIDs; and contexts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <unistd.h>

/* ---- the host; the library's, too: this program's comes first ---- */

static const char *host;
static struct ifaddrs *addresses;
static bool no_addresses;
static unsigned asked, freed;

int gethostname(char *name, size_t room)
{
    assert_true(room >= 255); /* of any host */
    if (host == NULL)
        return -1;
    snprintf(name, room, "%s", host);
    return 0;
}

int getifaddrs(struct ifaddrs **all)
{
    asked++;
    *all = no_addresses ? NULL : addresses;
    return no_addresses ? -1 : 0;
}

void freeifaddrs(struct ifaddrs *all)
{
    assert_ptr_equal(all, addresses);
    freed++;
}

static struct ibv_context *open_it(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    assert_non_null(context);
    return context;
}

/* ---- tests ---- */

static void the_list(void **state)
{
    int count = 7;
    (void)state;
    struct ibv_device **list = ibv_get_device_list(&count);
    assert_int_equal(count, 1);
    assert_null(list[1]);
    assert_string_equal(ibv_get_device_name(list[0]), "iwarp0");
    assert_int_equal(ibv_get_device_index(list[0]), 0);
    assert_int_equal(list[0]->node_type, IBV_NODE_RNIC);
    assert_int_equal(list[0]->transport_type, IBV_TRANSPORT_IWARP);
    ibv_free_device_list(list);
}

/* 02-69-57-ff, and FNV-1a of the host's name, its low octet first. */
static void the_guid(void **state)
{
    static const struct {
        const char *host;
        uint8_t guid[8];
    } rows[] = {
        {"", {0x02, 0x69, 0x57, 0xff, 0xc5, 0x9d, 0x1c, 0x81}},
        {"a", {0x02, 0x69, 0x57, 0xff, 0x2c, 0x29, 0x0c, 0xe4}},
        {"foobar", {0x02, 0x69, 0x57, 0xff, 0x68, 0xf9, 0x9c, 0xbf}},
        {NULL, {0x02, 0x69, 0x57, 0xff, 0xc5, 0x9d, 0x1c, 0x81}},
    };
    (void)state;
    struct ibv_device **list = ibv_get_device_list(NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        host = rows[i].host;
        const __be64 guid = ibv_get_device_guid(list[0]);
        assert_memory_equal(&guid, rows[i].guid, 8);
    }
    ibv_free_device_list(list);
}

static void the_gids(void **state)
{
    static struct sockaddr_in four = {.sin_family = AF_INET};
    static struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    static struct sockaddr link = {.sa_family = AF_UNIX};
    struct ifaddrs list[] = {
        {.ifa_next = &list[1], .ifa_addr = NULL},
        {.ifa_next = &list[2], .ifa_addr = (struct sockaddr *)&four},
        {.ifa_next = &list[3], .ifa_addr = &link},
        {.ifa_next = NULL, .ifa_addr = (struct sockaddr *)&six},
    };
    static const uint8_t expected[2][16] = {
        {[10] = 0xff, [11] = 0xff, 192, 0, 2, 77},
        {0x20, 0x01, 0x0d, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
    };
    struct ibv_context *context = open_it();
    struct ibv_port_attr port;
    struct ibv_gid_entry entries[4];
    union ibv_gid gid;
    (void)state;
    four.sin_addr.s_addr = htonl(0xc000024d);
    memcpy(&six.sin6_addr, expected[1], 16);
    addresses = list;
    asked = freed = 0;
    for (int i = 0; i < 2; i++) {
        memset(&gid, 0x77, sizeof(gid));
        assert_int_equal(ibv_query_gid(context, 1, i, &gid), 0);
        assert_memory_equal(gid.raw, expected[i], 16);
    }
    errno = 0;
    assert_int_equal(ibv_query_gid(context, 1, 2, &gid), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(ibv_query_port(context, 1, &port), 0);
    assert_int_equal(port.gid_tbl_len, 2);
    memset(entries, 0x77, sizeof(entries));
    assert_int_equal(ibv_query_gid_table(context, entries, 2, 0), 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_memory_equal(entries[i].gid.raw, expected[i], 16);
        assert_int_equal(entries[i].gid_index, i);
        assert_int_equal(entries[i].port_num, 1);
    }
    assert_int_equal(entries[2].gid_index, 0x77777777);
    assert_int_equal(ibv_query_gid_table(context, entries, 1, 0), -EINVAL);
    assert_int_equal(ibv_query_gid_table(context, entries, 0, 0), -EINVAL);
    assert_int_equal(asked, freed);
    /* Of an older program, whose entries are shorter. */
    memset(entries, 0x77, sizeof(entries));
    assert_int_equal(_ibv_query_gid_table(context, entries, 2, 0, 24), 2);
    assert_memory_equal(entries[0].gid.raw, expected[0], 16);
    assert_memory_equal((uint8_t *)entries + 24, expected[1], 16);
    assert_int_equal(((uint8_t *)entries)[48], 0x77);
    memset(entries, 0x77, sizeof(entries));
    assert_int_equal(_ibv_query_gid_ex(context, 1, 1, entries, 0, 18), 0);
    assert_memory_equal(entries[0].gid.raw, expected[1], 16);
    assert_int_equal(((uint8_t *)entries)[18], 0x77);
    no_addresses = true;
    assert_int_equal(ibv_query_port(context, 1, &port), 0);
    assert_int_equal(port.gid_tbl_len, 0);
    assert_int_equal(ibv_query_gid(context, 1, 0, &gid), -1);
    assert_int_equal(ibv_query_gid_ex(context, 1, 0, entries, 0), ENODATA);
    assert_int_equal(ibv_query_gid_table(context, entries, 4, 0), 0);
    no_addresses = false;
    assert_int_equal(ibv_close_device(context), 0);
}

/* Each object of a context keeps it open. */
static void a_context_in_use_stays(void **state)
{
    struct ibv_context *context = open_it();
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct ibv_pd *pd = i == 0 || i == 3 ? ibv_alloc_pd(context) : NULL;
        struct ibv_cq *cq = i == 1 ? ibv_create_cq(context, 1, NULL, NULL, 0) : NULL;
        struct ibv_comp_channel *channel = i == 2 ? ibv_create_comp_channel(context) : NULL;
        struct ibv_parent_domain_init_attr of = {.pd = pd};
        struct ibv_pd *parent = i == 3 ? ibv_alloc_parent_domain(context, &of) : NULL;
        errno = 0;
        assert_int_equal(ibv_close_device(context), -1);
        assert_int_equal(errno, EBUSY);
        if (parent != NULL) {
            assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
            assert_int_equal(ibv_dealloc_pd(parent), 0);
            assert_int_equal(ibv_close_device(context), -1);
        }
        if (pd != NULL)
            assert_int_equal(ibv_dealloc_pd(pd), 0);
        if (cq != NULL)
            assert_int_equal(ibv_destroy_cq(cq), 0);
        if (channel != NULL)
            assert_int_equal(ibv_destroy_comp_channel(channel), 0);
    }
    assert_int_equal(ibv_close_device(context), 0);
}

/* What librdmacm and perftest look at of the objects themselves. */
static void objects_name_what_they_are_of(void **state)
{
    struct ibv_context *context = open_it();
    struct ibv_pd *pd = ibv_alloc_pd(context), *second = ibv_alloc_pd(context);
    (void)state;
    assert_ptr_equal(pd->context, context);
    assert_int_not_equal(pd->handle, second->handle);
    struct ibv_parent_domain_init_attr of = {.pd = pd};
    struct ibv_pd *parent = ibv_alloc_parent_domain(context, &of);
    assert_int_equal(parent->handle, pd->handle);
    assert_ptr_equal(parent->context, context);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    assert_ptr_equal(channel->context, context);
    assert_int_equal(channel->refcnt, 0);
    struct ibv_cq *cq = ibv_create_cq(context, 5, &of, channel, 0);
    assert_ptr_equal(cq->context, context);
    assert_ptr_equal(cq->channel, channel);
    assert_ptr_equal(cq->cq_context, &of);
    assert_int_equal(cq->cqe, 5);
    assert_int_equal(channel->refcnt, 1);
    struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 4}, .srq_context = &srq_attr};
    struct ibv_srq *srq = ibv_create_srq(pd, &srq_attr);
    assert_ptr_equal(srq->context, context);
    assert_ptr_equal(srq->pd, pd);
    assert_ptr_equal(srq->srq_context, &srq_attr);
    struct ibv_srq_attr attr;
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    assert_int_equal(attr.max_wr, 4);
    assert_int_equal(attr.max_sge, 1);
    assert_int_equal(attr.srq_limit, 0);
    struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
    assert_ptr_equal(mw->context, context);
    assert_ptr_equal(mw->pd, pd);
    assert_int_equal(mw->type, IBV_MW_TYPE_1);
    assert_int_not_equal(mw->rkey, 0);
    assert_int_equal(mw->handle, mw->rkey);
    struct ibv_qp_init_attr init = {.qp_context = &init,
                                    .send_cq = cq,
                                    .recv_cq = cq,
                                    .srq = srq,
                                    .cap = {.max_send_wr = 2, .max_inline_data = 65},
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1};
    struct ibv_qp *qp = ibv_create_qp(pd, &init);
    assert_ptr_equal(qp->context, context);
    assert_ptr_equal(qp->qp_context, &init);
    assert_ptr_equal(qp->pd, pd);
    assert_ptr_equal(qp->send_cq, cq);
    assert_ptr_equal(qp->recv_cq, cq);
    assert_ptr_equal(qp->srq, srq);
    assert_int_equal(qp->state, IBV_QPS_RESET);
    assert_int_equal(qp->qp_type, IBV_QPT_RC);
    assert_int_equal(qp->handle, qp->qp_num);
    assert_true(qp->qp_num >= 2 && qp->qp_num <= 0xffffff); /* 0 and 1 are InfiniBand's own */
    assert_int_equal(init.cap.max_inline_data, 65);
    assert_null(ibv_qp_to_qp_ex(qp)); /* it was not asked for */
    struct ibv_qp_attr now;
    struct ibv_qp_init_attr then;
    memset(&now, 0x77, sizeof(now));
    assert_int_equal(ibv_query_qp(qp, &now, 0, &then), 0);
    assert_int_equal(now.qp_state, IBV_QPS_INIT); /* as iWARP's call it before RTR */
    assert_int_equal(now.cur_qp_state, IBV_QPS_INIT);
    assert_int_equal(now.qp_access_flags, 14);
    assert_int_equal(now.port_num, 1);
    assert_int_equal(now.path_mtu, IBV_MTU_1024);
    assert_int_equal(now.max_rd_atomic, 0);
    assert_ptr_equal(then.qp_context, &init);
    assert_ptr_equal(then.send_cq, cq);
    assert_ptr_equal(then.recv_cq, cq);
    assert_ptr_equal(then.srq, srq);
    assert_memory_equal(&then.cap, &init.cap, sizeof(then.cap));
    assert_int_equal(then.qp_type, IBV_QPT_RC);
    assert_int_equal(then.sq_sig_all, 1);
    struct ibv_recv_wr wr = {.wr_id = 1}, *bad = NULL;
    struct ibv_qp_attr ready = {.qp_state = IBV_QPS_INIT};
    assert_int_equal(ibv_modify_qp(qp, &ready, IBV_QP_STATE), 0);
    assert_int_equal(ibv_post_recv(qp, &wr, &bad), EINVAL); /* its receives are the shared ones */
    assert_ptr_equal(bad, &wr);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    assert_int_equal(ibv_destroy_srq(srq), 0);
    assert_int_equal(ibv_destroy_cq(cq), 0);
    assert_int_equal(channel->refcnt, 0);
    assert_int_equal(ibv_destroy_comp_channel(channel), 0);
    assert_int_equal(ibv_dealloc_pd(parent), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    assert_int_equal(ibv_dealloc_pd(second), 0);
    assert_int_equal(ibv_close_device(context), 0);
    assert_int_equal(ibv_destroy_qp(NULL), EINVAL); /* of librdmacm, for an identifier without */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list),
        cmocka_unit_test(the_guid),
        cmocka_unit_test(the_gids),
        cmocka_unit_test(a_context_in_use_stays),
        cmocka_unit_test(objects_name_what_they_are_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
