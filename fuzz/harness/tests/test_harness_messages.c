/* SPDX-License-Identifier: BSD-3-Clause */
/* The device of the harness of messages: what it keeps of what is posted, and which wrong posts it
 * notices. Then the harness itself, with the library that it is made for. */
#include "spy.h"

#include "harness/fuzz_messages.h"

#include <netinet/in.h>

extern const struct iw_fuzz_harness iw_fuzz_harness;

static uint8_t octets[IW_MESSAGE_HEADER + 4096];
static struct connection *c;

static int begin(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    memset(octets, 0, sizeof(octets));
    messages_device_open();
    c = messages_connection();
    assert_int_equal(rdma_create_qp(&c->id, &world.pd, NULL), 0);
    spy_forget();
    return 0;
}

/* ---- posts ---- */

static struct ibv_sge sge;
static struct ibv_send_wr wr;

static void send_it(void *argument)
{
    (void)argument;
    struct ibv_send_wr *bad;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    assert_int_equal(ibv_post_send(c->id.qp, &wr, &bad), 0);
}

static const char *posted(enum ibv_wr_opcode opcode, uint32_t length)
{
    wr.opcode = opcode;
    wr.wr_id++;
    sge = (struct ibv_sge){.addr = (uintptr_t)octets, .length = length};
    return spy_fault(send_it, NULL);
}

/* Puts a message of `length` octets after its header, for one Send. */
static uint32_t short_message(uint32_t length)
{
    const struct iw_message_header h = {
        .type = IW_MESSAGE_SHORT, .sequence = 1, .from = 1, .to = 9, .length = length};
    iw_message_put_header(&h, octets);
    return IW_MESSAGE_HEADER + length;
}

static void sends(void **state)
{
    (void)state;
    wr.wr_id = 40;
    c->granted = 2;
    assert_string_equal(posted(IBV_WR_SEND, short_message(4)), "");
    assert_int_equal(c->send_count, 1);
    assert_int_equal(c->sends[0].id, 41);
    assert_int_equal(c->sends[0].opcode, IBV_WR_SEND);
    assert_ptr_equal(c->sends[0].memory, octets);
    assert_int_equal(c->sends[0].length, IW_MESSAGE_HEADER + 4);
    assert_int_equal(c->sent, 1);
    assert_string_equal(posted(IBV_WR_SEND, short_message(4)), "");
    assert_string_equal(posted(IBV_WR_SEND, short_message(4)),
                        "messages: the 3th Send, 2 were granted");
    c->granted = UINT32_MAX; /* a grant that has gone round counts as none */
    assert_string_equal(posted(IBV_WR_SEND, short_message(4)), "");
    octets[0] ^= 0xff;
    assert_string_equal(posted(IBV_WR_SEND, IW_MESSAGE_HEADER + 4),
                        "messages: sends what it would not take");
    assert_string_equal(posted(IBV_WR_SEND, IW_MESSAGE_HEADER - 1),
                        "messages: sends what it would not take");
}

/* A message of ours has a stamp and a tag. */
static void stamps(void **state)
{
    (void)state;
    uint32_t stamp[2] = {STAMP, 5};
    c->granted = 100;
    short_message(8);
    memcpy(octets + IW_MESSAGE_HEADER, stamp, 8);
    assert_string_equal(posted(IBV_WR_SEND, IW_MESSAGE_HEADER + 8), "");
    assert_true(world.transmitted[5]);
    assert_false(world.transmitted[4]);
    stamp[0]++; /* another stamp, a tag that is none, a message that is too short for both */
    stamp[1] = 6;
    memcpy(octets + IW_MESSAGE_HEADER, stamp, 8);
    assert_string_equal(posted(IBV_WR_SEND, IW_MESSAGE_HEADER + 8), "");
    stamp[0]--;
    stamp[1] = TAGS;
    memcpy(octets + IW_MESSAGE_HEADER, stamp, 8);
    assert_string_equal(posted(IBV_WR_SEND, IW_MESSAGE_HEADER + 8), "");
    stamp[1] = TAGS - 1;
    memcpy(octets + IW_MESSAGE_HEADER, stamp, 8);
    assert_string_equal(posted(IBV_WR_SEND, IW_MESSAGE_HEADER + 8), "");
    stamp[1] = 7;
    memcpy(octets + IW_MESSAGE_HEADER, stamp, 8);
    assert_string_equal(posted(IBV_WR_SEND, short_message(7)), "");
    assert_true(world.transmitted[TAGS - 1]);
    assert_false(world.transmitted[6]);
    assert_false(world.transmitted[7]);
}

/* Writes go where the peer has lent, Reads to what it has announced: whole, and nowhere else. */
static void places(void **state)
{
    (void)state;
    static const struct {
        uint64_t address;
        uint32_t stag, length;
        bool right;
    } list[] = {{1000, 7, 100, true},  {1000, 7, 101, false}, {1001, 7, 99, true},
                {1001, 7, 100, false}, {999, 7, 1, false},    {1100, 7, 0, true},
                {1100, 7, 1, false},   {1000, 8, 100, false}, {5000, 9, 1, true}};
    const struct iw_message_piece pieces[] = {{1000, 7, 100}, {5000, 9, 1}};
    for (unsigned kind = 0; kind < 2; kind++) {
        memcpy(kind == 0 ? c->lent : c->announced, pieces, sizeof(pieces));
        *(kind == 0 ? &c->lent_count : &c->announced_count) = 2;
        *(kind == 0 ? &c->announced_count : &c->lent_count) = 0;
        for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
            c->send_count = 0;
            wr.wr.rdma.remote_addr = list[i].address;
            wr.wr.rdma.rkey = list[i].stag;
            assert_string_equal(
                posted(kind == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, list[i].length),
                list[i].right ? ""
                : kind == 0   ? "messages: writes where the peer has nothing for it"
                              : "messages: reads where the peer has nothing for it");
            assert_int_equal(c->send_count, list[i].right);
        }
    }
    assert_int_equal(c->sent, 0); /* they need no receive of the peer */
    c->lent_count = 1;            /* what was not lent yet */
    assert_string_equal(posted(IBV_WR_RDMA_WRITE, 1),
                        "messages: writes where the peer has nothing for it");
}

static void receive_it(void *argument)
{
    struct ibv_recv_wr r = {.wr_id = *(unsigned *)argument, .sg_list = &sge, .num_sge = 1}, *bad;
    assert_int_equal(ibv_post_recv(c->id.qp, &r, &bad), 0);
}

static void queues(void **state)
{
    (void)state;
    c->granted = 10000;
    const uint32_t length = short_message(4);
    for (unsigned i = 0; i < IW_LINK_SENDS; i++)
        assert_string_equal(posted(IBV_WR_SEND, length), "");
    assert_string_equal(posted(IBV_WR_SEND, length), "messages: the send queue is overrun");
    sge = (struct ibv_sge){.addr = (uintptr_t)octets, .length = 77};
    for (unsigned i = 0; i < IW_LINK_RECEIVES; i++)
        assert_string_equal(spy_fault(receive_it, &i), "");
    assert_int_equal(c->receive_count, IW_LINK_RECEIVES);
    assert_int_equal(c->receives[3].id, 3);
    assert_ptr_equal(c->receives[3].memory, octets);
    assert_int_equal(c->receives[3].length, 77);
    unsigned more = 0;
    assert_string_equal(spy_fault(receive_it, &more), "messages: the receive queue is overrun");
}

/* ---- memory and identifiers ---- */

static void regions(void **state)
{
    (void)state;
    struct ibv_mr *a = ibv_reg_mr_iova2(&world.pd, octets, 10, 0, 0);
    struct ibv_mr *b = ibv_reg_mr_iova2(&world.pd, octets + 10, 20, 5, 0);
    assert_int_equal(world.regions, 2);
    assert_ptr_equal(b->pd, &world.pd);
    assert_ptr_equal(b->addr, octets + 10);
    assert_int_equal(b->length, 20);
    assert_int_equal(a->lkey, 1);
    assert_int_equal(b->lkey, 2);
    assert_int_equal(b->rkey, 2);
    assert_int_equal(ibv_dereg_mr(a), 0);
    assert_int_equal(world.regions, 1);
    assert_int_equal(ibv_dereg_mr(b), 0);
    assert_int_equal(world.regions, 0);
}

static void destroy_it(void *argument)
{
    assert_int_equal(rdma_destroy_id(argument), 0);
}

static void identifiers(void **state)
{
    (void)state;
    struct rdma_cm_id *id = NULL;
    int context;
    assert_true(c->used);
    assert_false(c->connects); /* a peer's */
    assert_int_equal(rdma_create_id(NULL, &id, &context, RDMA_PS_TCP), 0);
    assert_ptr_equal(id, &world.connections[1].id);
    assert_ptr_equal(id->context, &context);
    assert_ptr_equal(id->verbs, &world.context);
    assert_int_equal(id->route.addr.src_addr.sa_family, AF_INET);
    assert_int_equal(id->route.addr.dst_addr.sa_family, AF_INET);
    assert_true(world.connections[1].connects);
    assert_int_equal(rdma_create_qp(id, &world.pd, NULL), 0);
    assert_ptr_equal(id->qp, &world.connections[1].qp);
    assert_ptr_equal(id->qp->qp_context, &world.connections[1]);
    assert_string_equal(spy_fault(destroy_it, id),
                        "messages: destroys an identifier that has a queue pair");
    rdma_destroy_qp(id);
    assert_null(id->qp);
    assert_string_equal(spy_fault(destroy_it, id), "");
    assert_false(world.connections[1].used);
    assert_string_equal(spy_fault(destroy_it, id), "messages: destroys an identifier twice");
    for (unsigned i = 2; i < IDS; i++)
        assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), -1);
    assert_null(messages_connection());
}

static void ends(void **state)
{
    (void)state;
    assert_int_equal(rdma_disconnect(&c->id), 0);
    assert_true(c->ended);
    c->ended = false;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    assert_int_equal(ibv_modify_qp(c->id.qp, &attr, IBV_QP_STATE), 0);
    assert_true(c->ended);
    struct rdma_cm_event *event = NULL;
    assert_int_equal(rdma_get_cm_event(NULL, &event), -1);
    world.event_there = true;
    assert_int_equal(rdma_get_cm_event(NULL, &event), 0);
    assert_ptr_equal(event, &world.event);
    assert_int_equal(rdma_get_cm_event(NULL, &event), -1); /* once */
}

static struct rdma_conn_param how;

static void connect_it(void *argument)
{
    (void)argument;
    assert_int_equal(rdma_connect(&c->id, &how), 0);
}

static void accept_it(void *argument)
{
    (void)argument;
    assert_int_equal(rdma_accept(&c->id, &how), 0);
}

static void greetings(void **state)
{
    (void)state;
    uint8_t data[IW_MESSAGE_GREETING];
    static const struct {
        uint64_t instance;
        uint32_t grants;
        uint8_t length;
        bool right;
    } list[] = {{0xabcd, IW_LINK_RECEIVES, IW_MESSAGE_GREETING, true},
                {0xabce, IW_LINK_RECEIVES, IW_MESSAGE_GREETING, false},
                {0xabcd, IW_LINK_RECEIVES - 1, IW_MESSAGE_GREETING, false},
                {0xabcd, IW_LINK_RECEIVES, IW_MESSAGE_GREETING - 1, false}};
    world.m.instance = 0xabcd;
    for (unsigned i = 0; i < 4; i++) {
        iw_message_put_greeting(&(struct iw_message_greeting){.instance = list[i].instance,
                                                              .grants = list[i].grants,
                                                              .longest = 1 << 20,
                                                              .port = 7},
                                data);
        how = (struct rdma_conn_param){.private_data = data, .private_data_len = list[i].length};
        const char *said = list[i].right ? "" : "messages: greets wrongly";
        assert_string_equal(spy_fault(connect_it, NULL), said);
        assert_string_equal(spy_fault(accept_it, NULL), said);
    }
}

/* ---- the harness ---- */

static const char *runs(const char *hex)
{
    return spy_runs(&iw_fuzz_harness, hex);
}

static void nothing(void **state)
{
    (void)state;
    assert_string_equal(iw_fuzz_harness.name, "messages");
    assert_int_equal(iw_fuzz_harness.most, 2048);
    assert_string_equal(runs(""), "");
    assert_string_equal(runs("00"), "");
    assert_int_equal(world.m.connections, 2);
    assert_int_equal(world.count, 0);
    assert_string_equal(runs("03 0000000000 00000000"), ""); /* a record, and one that is cut */
    assert_int_equal(world.m.connections, 5);
    assert_int_equal(world.count, 1);
    assert_int_equal(world.regions, 0);
}

/* A peer asks for a connection, is established, and sends a message with its stamp: the program
 * gets it, once. */
static void a_message(void **state)
{
    (void)state;
    assert_string_equal(runs("00 00 00 00 40 00" /* REQUEST of instance 1, 4 grants */
                             "01 20 00 00 00"    /* ESTABLISHED */
                             "03 00 02 00 00"    /* MADE: a short one */
                             "06 00 00 00 00" /* RECEIVE */),
                        "");
    assert_int_equal(world.count, 1);
    assert_int_equal(world.came[1], 0); /* forgotten at the end */
    assert_int_equal(world.tags, 0);
}

/* The program sends two messages to a number that is where the place says; nobody answers: each
 * has one fate. */
static void messages_of_ours(void **state)
{
    (void)state;
    assert_string_equal(runs("00 05 00 00 00 00 05 02 00 00 00 05 01 00 00 00"), "");
    assert_int_equal(world.tags, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(world.fates[i], 1);
        assert_false(world.transmitted[i]);
    }
    assert_int_equal(world.fates[3], 0);
    assert_true(world.connections[0].connects);
}

/* A service that is renewed: what it had sent has no report. */
static void renewed(void **state)
{
    (void)state;
    assert_string_equal(runs("00 05 00 00 00 00 08 00 00 00 00 05 00 00 00 00"), "");
    assert_int_equal(world.tags, 2);
    assert_int_equal(world.fates[0], 1);
    assert_int_equal(world.fates[1], 1);
}

static void time_goes_on(void **state)
{
    (void)state;
    assert_string_equal(runs("00"), "");
    const uint64_t end = world.now;
    assert_string_equal(runs("00 07 00 03 02 00"), ""); /* 3 << 2 ms */
    assert_int_equal(world.now - end, 12000000);
    assert_string_equal(runs("00 07 00 01 10 00"), ""); /* 1 << 0 */
    assert_int_equal(world.now - end, 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sends, begin),
        cmocka_unit_test_setup(stamps, begin),
        cmocka_unit_test_setup(places, begin),
        cmocka_unit_test_setup(queues, begin),
        cmocka_unit_test_setup(regions, begin),
        cmocka_unit_test_setup(identifiers, begin),
        cmocka_unit_test_setup(ends, begin),
        cmocka_unit_test_setup(greetings, begin),
        cmocka_unit_test_setup(nothing, begin),
        cmocka_unit_test_setup(a_message, begin),
        cmocka_unit_test_setup(messages_of_ours, begin),
        cmocka_unit_test_setup(renewed, begin),
        cmocka_unit_test_setup(time_goes_on, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
