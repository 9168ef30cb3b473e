/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that keep to no rule: they lose their connection, and nobody else notices. */
#include "messages_pair.h"

#include <rdma/rdma_cma.h>
#include <unistd.h>

#include "messages/message_internal.h"

enum { STRANGERS = 24 };

/* A connection by rdma_cm, with these octets as its greeting. NULL: it was refused. */
static struct rdma_cm_id *connect_as(const struct sockaddr_storage *to, const uint8_t *greeting,
                                     uint8_t length)
{
    struct rdma_cm_id *id;
    struct ibv_qp_init_attr attr = {
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1};
    struct rdma_conn_param how = {.private_data = greeting, .private_data_len = length};
    struct sockaddr_storage copy = *to;
    assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&copy, GUARD_MS), 0);
    assert_int_equal(rdma_resolve_route(id, GUARD_MS), 0);
    assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
    if (rdma_connect(id, &how) == 0)
        return id;
    rdma_destroy_ep(id);
    return NULL;
}

static struct rdma_cm_id *greet_as(const struct sockaddr_storage *to, uint64_t instance)
{
    uint8_t greeting[IW_MESSAGE_GREETING];
    iw_message_put_greeting(
        &(struct iw_message_greeting){.instance = instance, .grants = 4, .longest = 4096},
        greeting);
    return connect_as(to, greeting, sizeof(greeting));
}

/* Sends octets, and waits until that or the connection has ended. */
static void send_raw(struct rdma_cm_id *id, uint8_t *octets, size_t length)
{
    struct ibv_wc wc;
    struct ibv_mr *mr = ibv_reg_mr(id->pd, octets, length, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_sge sge = {(uintptr_t)octets, (uint32_t)length, mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
    assert_int_equal(ibv_post_send(id->qp, &wr, &bad), 0);
    while (ibv_poll_cq(id->send_cq, 1, &wc) == 0)
        usleep(100);
    ibv_dereg_mr(mr);
}

static void await_count(struct iw_messages *m, const unsigned *count, unsigned wanted)
{
    for (int i = 0;; i++) {
        pthread_mutex_lock(&m->mutex);
        const bool is = *count == wanted;
        pthread_mutex_unlock(&m->mutex);
        if (is)
            return;
        assert_true(i < GUARD_MS);
        usleep(1000);
    }
}

static void greetings(void **unused)
{
    (void)unused;
    struct world_end a, b;
    open_pair(&a, &b);
    static const uint8_t wrong[][IW_MESSAGE_GREETING] = {
        {0},
        {'i', 'w', 'm', 's', 2, [15] = 1}, /* a later version */
        {'i', 'w', 'm', 's', 1},           /* no instance */
    };
    for (size_t i = 0; i < 3; i++)
        assert_null(connect_as(&b.at, wrong[i], IW_MESSAGE_GREETING));
    assert_null(connect_as(&b.at, (const uint8_t *)"iwms\1", 5));
    assert_null(connect_as(&b.at, NULL, 0));
    await_count(b.m, &b.m->links_all, 0);
    assert_int_equal(b.m->peers_known, 0);
    close_pair(&a, &b);
}

/* Fills a header that is right as the first one of a connection. */
static void begin(uint8_t *octets, enum iw_message_type type)
{
    iw_message_put_header(&(struct iw_message_header){.type = type, .grants = 4}, octets);
}

static void headers(void **unused)
{
    (void)unused;
    struct world_end a, b;
    struct rdma_cm_id *ids[STRANGERS];
    uint8_t octets[IW_MESSAGE_HEADER + 16];
    open_pair(&a, &b);
    for (unsigned i = 0; i < STRANGERS; i++) {
        memset(octets, 0, sizeof(octets));
        begin(octets, i % 6 == 0 ? IW_MESSAGE_SHORT : IW_MESSAGE_SYNC);
        if (i % 6 == 1)
            octets[0] = 9;
        else if (i % 6 == 2)
            octets[8] = 1; /* done with messages that were never sent */
        else if (i % 6 == 3)
            octets[23] = 1; /* the same, out of order */
        else if (i % 6 == 4)
            octets[4] = 1; /* grants of 16,777,220 receives */
        ids[i] = greet_as(&b.at, 1000 + i);
        assert_non_null(ids[i]);
        send_raw(ids[i], octets, i % 6 == 5 ? 3 : IW_MESSAGE_HEADER);
        /* Meanwhile others are served. */
        struct iw_message got;
        assert_int_equal(send_octets(a.s, 2, &i, sizeof(i), 0, 0), 0);
        got = receive(b.s);
        assert_memory_equal(got.data, &i, sizeof(i));
        iw_messages_free(b.m, got.data);
    }
    /* Each has lost its connection and is forgotten. */
    await_count(b.m, &b.m->links_up, 1);
    await_count(b.m, &b.m->peers_known, 1);
    for (unsigned i = 0; i < STRANGERS; i++)
        rdma_destroy_ep(ids[i]);
    close_pair(&a, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(greetings), cmocka_unit_test(headers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
