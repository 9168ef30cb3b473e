/* SPDX-License-Identifier: BSD-3-Clause */
/* Structs of the kernel's interface that librdmacm has copied: every field, both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

/* <infiniband/marshall.h>, which no package installs. */
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, struct ib_user_path_rec *from);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, struct ibv_sa_path_rec *from);

static const uint8_t gids[2][16] = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
                                    {17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}};

static struct ibv_sa_path_rec a_path(void)
{
    struct ibv_sa_path_rec path = {.dlid = 33,
                                   .slid = 34,
                                   .raw_traffic = 1,
                                   .flow_label = 35,
                                   .hop_limit = 36,
                                   .traffic_class = 37,
                                   .reversible = 2,
                                   .numb_path = 38,
                                   .pkey = 39,
                                   .sl = 40,
                                   .mtu_selector = 41,
                                   .mtu = IBV_MTU_2048,
                                   .rate_selector = 42,
                                   .rate = 43,
                                   .packet_life_time_selector = 44,
                                   .packet_life_time = 45,
                                   .preference = 46};
    memcpy(path.dgid.raw, gids[0], 16);
    memcpy(path.sgid.raw, gids[1], 16);
    return path;
}

#define ASSERT_PATH(p)                                                                             \
    do {                                                                                           \
        assert_int_equal((p).dlid, 33);                                                            \
        assert_int_equal((p).slid, 34);                                                            \
        assert_int_equal((p).raw_traffic, 1);                                                      \
        assert_int_equal((p).flow_label, 35);                                                      \
        assert_int_equal((p).hop_limit, 36);                                                       \
        assert_int_equal((p).traffic_class, 37);                                                   \
        assert_int_equal((p).reversible, 2);                                                       \
        assert_int_equal((p).numb_path, 38);                                                       \
        assert_int_equal((p).pkey, 39);                                                            \
        assert_int_equal((p).sl, 40);                                                              \
        assert_int_equal((p).mtu_selector, 41);                                                    \
        assert_int_equal((p).mtu, IBV_MTU_2048);                                                   \
        assert_int_equal((p).rate_selector, 42);                                                   \
        assert_int_equal((p).rate, 43);                                                            \
        assert_int_equal((p).packet_life_time_selector, 44);                                       \
        assert_int_equal((p).packet_life_time, 45);                                                \
        assert_int_equal((p).preference, 46);                                                      \
    } while (0)

static void path_records_are_copied_both_ways(void **state)
{
    struct ibv_sa_path_rec path = a_path(), back;
    struct ib_user_path_rec kern;
    (void)state;
    memset(&kern, 0, sizeof(kern));
    memset(&back, 0, sizeof(back));
    ibv_copy_path_rec_to_kern(&kern, &path);
    ASSERT_PATH(kern);
    assert_memory_equal(kern.dgid, gids[0], 16);
    assert_memory_equal(kern.sgid, gids[1], 16);
    ibv_copy_path_rec_from_kern(&back, &kern);
    ASSERT_PATH(back);
    assert_memory_equal(back.dgid.raw, gids[0], 16);
    assert_memory_equal(back.sgid.raw, gids[1], 16);
}

static struct ib_uverbs_ah_attr an_address(uint8_t first)
{
    struct ib_uverbs_ah_attr a = {.grh = {.flow_label = first,
                                          .sgid_index = (uint8_t)(first + 1),
                                          .hop_limit = (uint8_t)(first + 2),
                                          .traffic_class = (uint8_t)(first + 3)},
                                  .dlid = (uint16_t)(first + 4),
                                  .sl = (uint8_t)(first + 5),
                                  .src_path_bits = (uint8_t)(first + 6),
                                  .static_rate = (uint8_t)(first + 7),
                                  .is_global = 1,
                                  .port_num = (uint8_t)(first + 8)};
    memcpy(a.grh.dgid, gids[0], 16);
    return a;
}

static void assert_address(const struct ibv_ah_attr *a, unsigned first)
{
    assert_memory_equal(a->grh.dgid.raw, gids[0], 16);
    assert_int_equal(a->grh.flow_label, first);
    assert_int_equal(a->grh.sgid_index, first + 1);
    assert_int_equal(a->grh.hop_limit, first + 2);
    assert_int_equal(a->grh.traffic_class, first + 3);
    assert_int_equal(a->dlid, first + 4);
    assert_int_equal(a->sl, first + 5);
    assert_int_equal(a->src_path_bits, first + 6);
    assert_int_equal(a->static_rate, first + 7);
    assert_int_equal(a->is_global, 1);
    assert_int_equal(a->port_num, first + 8);
}

static void attributes_of_a_queue_pair_are_copied(void **state)
{
    struct ib_uverbs_qp_attr kern = {.qp_state = IBV_QPS_RTR,
                                     .cur_qp_state = IBV_QPS_INIT,
                                     .path_mtu = IBV_MTU_1024,
                                     .path_mig_state = IBV_MIG_ARMED,
                                     .qkey = 1001,
                                     .rq_psn = 1002,
                                     .sq_psn = 1003,
                                     .dest_qp_num = 1004,
                                     .qp_access_flags = 1005,
                                     .ah_attr = an_address(50),
                                     .alt_ah_attr = an_address(70),
                                     .max_send_wr = 1006,
                                     .max_recv_wr = 1007,
                                     .max_send_sge = 1008,
                                     .max_recv_sge = 1009,
                                     .max_inline_data = 1010,
                                     .pkey_index = 1011,
                                     .alt_pkey_index = 1012,
                                     .en_sqd_async_notify = 101,
                                     .sq_draining = 102,
                                     .max_rd_atomic = 103,
                                     .max_dest_rd_atomic = 104,
                                     .min_rnr_timer = 105,
                                     .port_num = 106,
                                     .timeout = 107,
                                     .retry_cnt = 108,
                                     .rnr_retry = 109,
                                     .alt_port_num = 110,
                                     .alt_timeout = 111};
    struct ibv_qp_attr to;
    (void)state;
    memset(&to, 0, sizeof(to));
    ibv_copy_qp_attr_from_kern(&to, &kern);
    assert_int_equal(to.qp_state, IBV_QPS_RTR);
    assert_int_equal(to.cur_qp_state, IBV_QPS_INIT);
    assert_int_equal(to.path_mtu, IBV_MTU_1024);
    assert_int_equal(to.path_mig_state, IBV_MIG_ARMED);
    assert_int_equal(to.qkey, 1001);
    assert_int_equal(to.rq_psn, 1002);
    assert_int_equal(to.sq_psn, 1003);
    assert_int_equal(to.dest_qp_num, 1004);
    assert_int_equal(to.qp_access_flags, 1005);
    assert_address(&to.ah_attr, 50);
    assert_address(&to.alt_ah_attr, 70);
    assert_int_equal(to.cap.max_send_wr, 1006);
    assert_int_equal(to.cap.max_recv_wr, 1007);
    assert_int_equal(to.cap.max_send_sge, 1008);
    assert_int_equal(to.cap.max_recv_sge, 1009);
    assert_int_equal(to.cap.max_inline_data, 1010);
    assert_int_equal(to.pkey_index, 1011);
    assert_int_equal(to.alt_pkey_index, 1012);
    assert_int_equal(to.en_sqd_async_notify, 101);
    assert_int_equal(to.sq_draining, 102);
    assert_int_equal(to.max_rd_atomic, 103);
    assert_int_equal(to.max_dest_rd_atomic, 104);
    assert_int_equal(to.min_rnr_timer, 105);
    assert_int_equal(to.port_num, 106);
    assert_int_equal(to.timeout, 107);
    assert_int_equal(to.retry_cnt, 108);
    assert_int_equal(to.rnr_retry, 109);
    assert_int_equal(to.alt_port_num, 110);
    assert_int_equal(to.alt_timeout, 111);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_records_are_copied_both_ways),
        cmocka_unit_test(attributes_of_a_queue_pair_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
