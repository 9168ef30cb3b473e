/* SPDX-License-Identifier: BSD-3-Clause */
/* Verbs and rdma_cm for the harness of messages: what is posted is kept for its records, and
 * checked: queues, credits, where Writes and Reads go. */
#include "fuzz_messages.h"

#include <stdlib.h>
#include <string.h>

/* ---- verbs ---- */

static struct connection *of_qp(struct ibv_qp *qp)
{
    return qp->qp_context;
}

static void check_remote(const struct iw_message_piece *pieces, unsigned count,
                         const struct ibv_send_wr *wr, const char *what)
{
    const uint64_t at = wr->wr.rdma.remote_addr, length = wr->sg_list[0].length;
    for (unsigned i = 0; i < count; i++)
        if (pieces[i].stag == wr->wr.rdma.rkey && at - pieces[i].address <= pieces[i].length &&
            length <= pieces[i].length - (at - pieces[i].address))
            return;
    iw_fuzz_fail("messages: %s where the peer has nothing for it", what);
}

static void note_frame(struct connection *c, const uint8_t *octets, size_t length)
{
    struct iw_message_header h;
    uint32_t stamp[2];
    IW_FUZZ_CHECK(iw_message_get_header(octets, length, &h) == NULL,
                  "messages: sends what it would not take");
    IW_FUZZ_CHECK(++c->sent <= c->granted || c->granted > UINT32_MAX / 2,
                  "messages: the %uth Send, %u were granted", c->sent, c->granted);
    if (h.type != IW_MESSAGE_SHORT || h.length < sizeof(stamp))
        return;
    memcpy(stamp, octets + IW_MESSAGE_HEADER, sizeof(stamp));
    if (stamp[0] == STAMP && stamp[1] < TAGS)
        world.transmitted[stamp[1]] = true;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct connection *c = of_qp(qp);
    const struct ibv_sge *sge = wr->sg_list;
    (void)bad;
    IW_FUZZ_CHECK(c->send_count < IW_LINK_SENDS, "messages: the send queue is overrun");
    iw_fuzz_touch((const uint8_t *)(uintptr_t)sge->addr, sge->length);
    if (wr->opcode == IBV_WR_SEND)
        note_frame(c, (const uint8_t *)(uintptr_t)sge->addr, sge->length);
    else if (wr->opcode == IBV_WR_RDMA_WRITE)
        check_remote(c->lent, c->lent_count, wr, "writes");
    else
        check_remote(c->announced, c->announced_count, wr, "reads");
    c->sends[c->send_count++] =
        (struct posted){wr->wr_id, wr->opcode, (uint8_t *)(uintptr_t)sge->addr, sge->length};
    return 0;
}

static int post_receive(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct connection *c = of_qp(qp);
    (void)bad;
    IW_FUZZ_CHECK(c->receive_count < IW_LINK_RECEIVES, "messages: the receive queue is overrun");
    c->receives[c->receive_count++] =
        (struct posted){wr->wr_id, 0, (uint8_t *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length};
    return 0;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *memory, size_t length, int rights)
{
    struct ibv_mr *mr = malloc(sizeof(*mr));
    (void)rights;
    if (mr == NULL)
        return NULL;
    *mr = (struct ibv_mr){.pd = pd, .addr = memory, .length = length, .lkey = ++world.next_key};
    mr->rkey = mr->lkey;
    world.regions++;
    return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *memory, size_t length, uint64_t iova,
                                unsigned rights)
{
    (void)iova;
    return ibv_reg_mr(pd, memory, length, (int)rights);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    world.regions--;
    free(mr);
    return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)attr;
    (void)mask;
    of_qp(qp)->ended = true;
    return 0;
}

void messages_device_open(void)
{
    world.context.ops.post_send = post_send;
    world.context.ops.post_recv = post_receive;
    world.pd.context = &world.context;
}

/* ---- rdma_cm ---- */

struct connection *messages_connection(void)
{
    if (world.count == IDS)
        return NULL;
    struct connection *c = &world.connections[world.count++];
    c->used = true;
    c->id.verbs = &world.context;
    c->id.route.addr.src_addr.sa_family = c->id.route.addr.dst_addr.sa_family = AF_INET;
    return c;
}

static struct connection *of_id(struct rdma_cm_id *id)
{
    return (struct connection *)(void *)((char *)id - offsetof(struct connection, id));
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                   enum rdma_port_space ps)
{
    struct connection *c = messages_connection();
    (void)channel;
    (void)ps;
    if (c == NULL)
        return -1;
    c->connects = true;
    c->id.context = context;
    *id = &c->id;
    return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
    IW_FUZZ_CHECK(of_id(id)->used, "messages: destroys an identifier twice");
    IW_FUZZ_CHECK(id->qp == NULL, "messages: destroys an identifier that has a queue pair");
    of_id(id)->used = false;
    return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct connection *c = of_id(id);
    (void)pd;
    (void)attr;
    c->qp = (struct ibv_qp){.context = &world.context, .qp_context = c};
    id->qp = &c->qp;
    return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
    id->qp = NULL;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int ms)
{
    (void)id;
    (void)from;
    (void)to;
    (void)ms;
    return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
    (void)id;
    (void)ms;
    return 0;
}

static void check_greeting(const struct rdma_conn_param *how)
{
    struct iw_message_greeting g;
    IW_FUZZ_CHECK(iw_message_get_greeting(how->private_data, how->private_data_len, &g) &&
                      g.instance == world.m.instance && g.grants == IW_LINK_RECEIVES,
                  "messages: greets wrongly");
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *how)
{
    (void)id;
    check_greeting(how);
    return 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *how)
{
    (void)id;
    check_greeting(how);
    return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *octets, uint8_t length)
{
    (void)id;
    (void)octets;
    (void)length;
    return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
    of_id(id)->ended = true;
    return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
    (void)channel;
    if (!world.event_there)
        return -1;
    world.event_there = false;
    *event = &world.event;
    return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
    (void)event;
    return 0;
}
