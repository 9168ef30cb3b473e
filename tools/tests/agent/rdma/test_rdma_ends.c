/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent's backend on verbs, without hardware or driver: how connections begin and end when
 * something is odd, and what the device reports. */
#include "host.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../caught.h"

/* ---- beginnings ---- */

/* An answer that the device refuses ends the connection. */
static void answers_that_fail(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    ask(h, "listen", "{'do':'listen','host':'192.0.2.1','accept':'ask'}");
    struct rdma_cm_id *listener = doubles.id;
    doubles_tell(RDMA_CM_EVENT_CONNECT_REQUEST, doubles_new_id(), listener, 0, "x");
    want(h, "{'event':'request','listen':1,'private':'78','conn':2}");
    char hex[2 * 256 + 1];
    memset(hex, '0', sizeof(hex) - 1);
    hex[sizeof(hex) - 1] = '\0';
    refuse(h, "unsupported: field private: more than 255 octets",
           "{'do':'reject','conn':2,'private':'%s'}", hex);
    refuse(h, "unsupported: field private: more than 255 octets",
           "{'do':'accept','conn':2,'private':'%s'}", hex);
    assert_int_equal(doubles.accepted + doubles.rejected, 0);
    doubles_fail(FAULT_ACCEPT, ECONNRESET, 1);
    refuse(h, "the connection is over: Connection reset by peer",
           "{'do':'accept','conn':2,'private':'%s'}", hex + 2);
    assert_int_equal(doubles.param.private_data_len, 255);
    want(h, "{'event':'closed','graceful':false,'cause':'lost','qp':'rts','conn':2}");
    /* A Request that is accepted waits for nothing more. */
    doubles_tell(RDMA_CM_EVENT_CONNECT_REQUEST, doubles_new_id(), listener, 0, NULL);
    want(h, "{'event':'request','listen':1,'private':'','conn':3}");
    ask(h, NULL, "{'do':'accept','conn':3}");
    refuse(h, "no Request waits for an answer", "{'do':'accept','conn':3}");
    refuse(h, "no Request waits for an answer", "{'do':'reject','conn':3}");
    refuse(h, AGENT_UNSUPPORTED "work before the connection is established",
           "{'do':'post','conn':3,'work':1,'op':'send'}");
    host_end(h);
}

/* What a connection was told at its Request is kept; what it asked for comes with the answer. */
static void private_data_of_both_sides(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    int conn = (int)ask(h, "conn", "{'do':'connect','host':'192.0.2.1','port':9}");
    refuse(h, "no Request waits for an answer", "{'do':'accept','conn':%d}", conn);
    doubles_tell(RDMA_CM_EVENT_ESTABLISHED, doubles.id, NULL, 0, "yes");
    want(h, "{'event':'established','private':'796573','conn':%d}", conn);
    doubles_tell(RDMA_CM_EVENT_ADDR_CHANGE, doubles.id, NULL, 0, "z");
    assert_int_equal(iw_reactor_step(h->reactor, 0), 0);
    assert_int_equal(json_array_size(h->events), 0);
    open_connection(h, "");
    host_end(h);
}

/* A connection that cannot be made is told, with the reason if there is one. */
static void connections_that_fail(void **state)
{
    static const enum rdma_cm_event_type kinds[] = {RDMA_CM_EVENT_CONNECT_ERROR,
                                                    RDMA_CM_EVENT_UNREACHABLE};
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    for (int i = 0; i < 2; i++) {
        int conn = (int)ask(h, "conn", "{'do':'connect','host':'192.0.2.1','port':9}");
        doubles_tell(kinds[i], doubles.id, NULL, 0, NULL);
        want(h, "{'event':'closed','graceful':false,'cause':'lost','qp':'rts','conn':%d}", conn);
        conn = (int)ask(h, "conn", "{'do':'connect','host':'192.0.2.1','port':9}");
        doubles_tell(kinds[i], doubles.id, NULL, ECONNREFUSED, NULL);
        want(h,
             "{'event':'closed','graceful':false,'cause':'lost','error':'Connection refused',"
             "'qp':'rts','conn':%d}",
             conn);
    }
    host_end(h);
}

/* A Request for which there is no queue pair, or no place, gets no event. */
static void requests_without_resources(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    ask(h, "listen", "{'do':'listen','host':'192.0.2.1','accept':'ask'}");
    struct rdma_cm_id *listener = doubles.id;
    doubles_fail(FAULT_CREATE_QP, ENOMEM, 1);
    doubles_tell(RDMA_CM_EVENT_CONNECT_REQUEST, doubles_new_id(), listener, 0, "x");
    assert_int_equal(iw_reactor_step(h->reactor, 0), 0);
    assert_int_equal(json_array_size(h->events), 0);
    assert_int_equal(doubles.ids, 1);
    assert_int_equal(h->client.own->live, 0);
    for (int i = 0; i < AGENT_CONNECTIONS; i++)
        ask(h, "conn", "{'do':'connect','host':'192.0.2.1','port':9}");
    assert_int_equal(h->client.own->live, AGENT_CONNECTIONS);
    refuse(h, "at most 256 connections", "{'do':'connect','host':'192.0.2.1','port':9}");
    assert_int_equal(doubles.ids, AGENT_CONNECTIONS + 1);
    host_end(h);
}

/* Queues have the depths of their plan, and no entry more. */
static void queues_of_their_depth(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    open_connection(h, ",'config':{'send_depth':2,'recv_depth':3}");
    assert_int_equal(doubles.qp.send_cq->cqe, 5);
    for (int i = 0; i < 2; i++) {
        ask(h, NULL, "{'do':'post','conn':%d,'work':%d,'op':'send'}", h->conn, 10 + i);
        assert_int_equal(doubles.sent.wr_id, i);
    }
    refuse(h, "the queue is full", "{'do':'post','conn':%d,'work':1,'op':'send'}", h->conn);
    for (int i = 0; i < 3; i++) {
        ask(h, NULL, "{'do':'recv','conn':%d,'work':%d}", h->conn, 20 + i);
        assert_int_equal(doubles.received.wr_id, 2 + i);
    }
    refuse(h, "the queue is full", "{'do':'recv','conn':%d,'work':1}", h->conn);
    /* Completions of work that nobody has posted are passed over. */
    doubles_complete(&(struct ibv_wc){.wr_id = 5, .status = IBV_WC_SUCCESS});
    doubles_complete(&(struct ibv_wc){.wr_id = 4, .status = IBV_WC_SUCCESS, .byte_len = 3});
    want(h, "{'event':'completion','work':22,'op':'recv','status':'ok','length':3,'conn':%d}",
         h->conn);
    doubles_complete(&(struct ibv_wc){.wr_id = 4, .status = IBV_WC_SUCCESS});
    doubles_complete(&(struct ibv_wc){.wr_id = 1, .status = IBV_WC_SUCCESS});
    want(h, "{'event':'completion','work':11,'op':'send','status':'ok','length':0,'conn':%d}",
         h->conn);
    assert_int_equal(json_array_size(h->events), 0);
    ask(h, NULL, "{'do':'recv','conn':%d,'work':30}", h->conn);
    assert_int_equal(doubles.received.wr_id, 4);
    ask(h, NULL, "{'do':'post','conn':%d,'work':31,'op':'send'}", h->conn);
    assert_int_equal(doubles.sent.wr_id, 1);
    host_end(h);
}

/* ---- ends ---- */

/* Each state of a queue pair has a name; one that is none is left out. */
static void states_of_queue_pairs(void **state)
{
    static const struct {
        enum ibv_qp_state state;
        const char *text;
    } states[] = {{IBV_QPS_RESET, ",'qp':'reset'"}, {IBV_QPS_INIT, ",'qp':'init'"},
                  {IBV_QPS_RTR, ",'qp':'rtr'"},     {IBV_QPS_RTS, ",'qp':'rts'"},
                  {IBV_QPS_SQD, ",'qp':'sqd'"},     {IBV_QPS_SQE, ",'qp':'sqe'"},
                  {IBV_QPS_ERR, ",'qp':'error'"},   {IBV_QPS_UNKNOWN, ""}};
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    for (size_t i = 0; i < COUNT(states); i++) {
        open_connection(h, "");
        doubles.qp_state = states[i].state;
        ask(h, NULL, "{'do':'close','conn':%d,'how':'reset'}", h->conn);
        want(h, "{'event':'closed','graceful':false,'cause':'aborted'%s,'conn':%d}", states[i].text,
             h->conn);
    }
    host_end(h);
}

/* What is posted when the peer goes is flushed, in the order of the queues; what the device has
 * completed before is told as it was. */
static void work_that_is_left(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    open_connection(h, ",'config':{'send_depth':2,'recv_depth':2}");
    ask(h, NULL, "{'do':'recv','conn':%d,'work':1}", h->conn);
    ask(h, NULL, "{'do':'post','conn':%d,'work':2,'op':'send'}", h->conn);
    ask(h, NULL, "{'do':'post','conn':%d,'work':3,'op':'send'}", h->conn);
    doubles_complete(&(struct ibv_wc){.wr_id = 0, .status = IBV_WC_SUCCESS});
    doubles_tell(RDMA_CM_EVENT_DISCONNECTED, h->id, NULL, 0, NULL);
    want(h, "{'event':'completion','work':2,'op':'send','status':'ok','length':0,'conn':%d}",
         h->conn);
    want(h, "{'event':'peer-closed','conn':%d}", h->conn);
    want(h, "{'event':'completion','work':3,'op':'send','status':'flushed','length':0,'conn':%d}",
         h->conn);
    want(h, "{'event':'completion','work':1,'op':'recv','status':'flushed','length':0,'conn':%d}",
         h->conn);
    want(h, "{'event':'closed','qp':'rts','conn':%d}", h->conn);
    assert_int_equal(doubles.disconnected, 1);
    assert_int_equal(doubles.waited, 50);
    assert_int_equal(h->client.own->live, 0);
    /* Those whose flush comes in time are not waited for any longer. */
    open_connection(h, "");
    ask(h, NULL, "{'do':'recv','conn':%d,'work':1}", h->conn);
    doubles.waited = 0;
    doubles.late = 3;
    doubles.latest =
        (struct ibv_wc){.wr_id = doubles.received.wr_id, .status = IBV_WC_WR_FLUSH_ERR};
    doubles_tell(RDMA_CM_EVENT_DISCONNECTED, h->id, NULL, 0, NULL);
    want(h, "{'event':'peer-closed','conn':%d}", h->conn);
    want(h, "{'event':'completion','work':1,'op':'recv','status':'flushed','length':0,'conn':%d}",
         h->conn);
    want(h, "{'event':'closed','qp':'rts','conn':%d}", h->conn);
    assert_int_equal(doubles.waited, 3);
    host_end(h);
}

/* A close before the connection is established waits for that, and is done once. */
static void closes_before_it_is_open(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    int conn = (int)ask(h, "conn", "{'do':'connect','host':'192.0.2.1','port':9}");
    ask(h, NULL, "{'do':'close','conn':%d}", conn);
    assert_int_equal(doubles.disconnected, 0);
    doubles_tell(RDMA_CM_EVENT_ESTABLISHED, doubles.id, NULL, 0, NULL);
    want(h, "{'event':'established','private':'','conn':%d}", conn);
    assert_int_equal(doubles.disconnected, 1);
    ask(h, NULL, "{'do':'close','conn':%d}", conn);
    assert_int_equal(doubles.disconnected, 1);
    doubles_tell(RDMA_CM_EVENT_DISCONNECTED, doubles.id, NULL, ECONNRESET, NULL);
    want(h,
         "{'event':'closed','graceful':false,'cause':'lost','error':'Connection reset by peer',"
         "'qp':'rts','conn':%d}",
         conn);
    assert_int_equal(doubles.disconnected, 1);
    host_end(h);
}

/* ---- what the device reports ---- */

static void asynchronous_events(void **state)
{
    static const enum ibv_event_type faults[] = {IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR,
                                                 IBV_EVENT_QP_ACCESS_ERR};
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    open_connection(h, "");
    int first = h->conn;
    struct rdma_cm_id *first_id = h->id;
    struct ibv_cq *first_cq = doubles.qp.send_cq;
    open_connection(h, "");
    /* Each event is that of its own connection. */
    for (size_t i = 0; i < COUNT(faults); i++) {
        doubles_async(faults[i], h->id->qp, NULL);
        want(h, "{'event':'fault','error':'%s','conn':%d}",
             i == 0 ? "fatal error of a queue pair" : "something", h->conn);
        doubles_async(faults[i], first_id->qp, NULL);
        want(h, "{'event':'fault','error':'%s','conn':%d}",
             i == 0 ? "fatal error of a queue pair" : "something", first);
        assert_int_equal(json_array_size(h->events), 0);
    }
    doubles_async(IBV_EVENT_CQ_ERR, NULL, first_cq);
    want(h, "{'event':'fault','error':'something','conn':%d}", first);
    doubles_async(IBV_EVENT_CQ_ERR, NULL, doubles.qp.send_cq);
    want(h, "{'event':'fault','error':'something','conn':%d}", h->conn);
    catch_from(STDERR_FILENO);
    doubles_async(IBV_EVENT_PORT_ERR, NULL, NULL);
    doubles_async(IBV_EVENT_PORT_ACTIVE, NULL, NULL);
    doubles_async(IBV_EVENT_LID_CHANGE, NULL, NULL);
    int stepped = iw_reactor_step(h->reactor, 0);
    assert_string_equal(caught(), "iwarp: rnic0: something\niwarp: rnic0: something\n");
    assert_int_equal(stepped, 0);
    assert_int_equal(json_array_size(h->events), 0);
    host_end(h);
}

static volatile sig_atomic_t terminated;

static void on_term(int number)
{
    (void)number;
    terminated++;
}

/* A device that is broken takes its connections with it, and the program, once. */
static void devices_that_fail(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    open_connection(h, "");
    int first = h->conn;
    open_connection(h, "");
    terminated = 0;
    assert_true(signal(SIGTERM, on_term) != SIG_ERR);
    catch_from(STDERR_FILENO);
    doubles_async(IBV_EVENT_DEVICE_FATAL, NULL, NULL);
    doubles_async(IBV_EVENT_DEVICE_FATAL, NULL, NULL);
    int stepped = iw_reactor_step(h->reactor, 0);
    assert_string_equal(caught(), "iwarp: rnic0: something\niwarp: rnic0 was removed\n"
                                  "iwarp: rnic0: something\n");
    assert_int_equal(stepped, 0);
    assert_int_equal(terminated, 1);
    assert_true(signal(SIGTERM, SIG_DFL) != SIG_ERR);
    want(h, "{'event':'fault','error':'something','conn':%d}", first);
    want(h, "{'event':'fault','error':'something','conn':%d}", h->conn);
    for (int i = 0; i < 2; i++)
        want(h,
             "{'event':'closed','graceful':false,'cause':'lost','error':'the device was removed',"
             "'qp':'rts','conn':%d}",
             i == 0 ? first : h->conn);
    host_end(h);
}

/* ---- memory of the device ---- */

/* Without a limit of this process it is the device that has no more. */
static void devices_without_memory(void **state)
{
    struct rlimit before, none;
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    none = before;
    none.rlim_cur = before.rlim_max;
    if (before.rlim_max == RLIM_INFINITY) {
        assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
        doubles_fail(FAULT_REG_MR, ENOMEM, 1);
        refuse(h,
               "the device does not register it: Cannot allocate memory, or rnic0 has no more of "
               "them",
               "{'do':'register','length':1}");
        assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
    }
    doubles_fail(FAULT_ALLOC_PD, EPERM, 1);
    refuse(h, "no protection domain: Operation not permitted", "{'do':'pd'}");
    assert_int_equal(ask(h, "pd", "{'do':'pd'}"), 2);
    assert_int_equal(doubles.pds, 2);
    /* The domain of before a reset is used again. */
    ask(h, NULL, "{'do':'reset'}");
    assert_int_equal(ask(h, "pd", "{'do':'pd'}"), 2);
    assert_int_equal(doubles.pds, 2);
    host_end(h);
}

/* ---- parked listeners ---- */

/* Listens once, and says whether an id was made for it. */
static bool makes_one(struct host *h, const char *host, unsigned port)
{
    const struct rdma_cm_id *before = doubles.id;
    int l = (int)ask(h, "listen", "{'do':'listen','host':'%s','port':%u}", host, port);
    bool made = doubles.id != before;
    ask(h, NULL, "{'do':'unlisten','listen':%d}", l);
    return made;
}

static void parks_by_family_address_and_port(void **state)
{
    (void)state;
    doubles_begin();
    doubles.port = 4711;
    doubles.tcp = "  sl  local_address rem_address   st tx_queue rx_queue\n";
    doubles.tcp6 =
        "   0: 00000000000000000000000001000000:1267 "
        "00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1\n";
    struct host *h = host_start();
    assert_true(makes_one(h, "0.0.0.0", 0));
    assert_true(makes_one(h, "::", 0));
    assert_true(makes_one(h, "::1", 0));
    assert_int_equal(doubles.ids, 3);
    assert_false(makes_one(h, "0.0.0.0", 0));
    assert_false(makes_one(h, "::", 0));
    assert_false(makes_one(h, "::1", 0));
    assert_false(makes_one(h, "::1", doubles.port));
    assert_true(makes_one(h, "::1", 1u));
    assert_true(makes_one(h, "::2", 0));
    assert_int_equal(doubles.ids, 5);
    host_end(h);
}

#define TEST(f) cmocka_unit_test_teardown(f, catch_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_that_fail),      TEST(private_data_of_both_sides),
        TEST(connections_that_fail),  TEST(requests_without_resources),
        TEST(queues_of_their_depth),  TEST(states_of_queue_pairs),
        TEST(work_that_is_left),      TEST(closes_before_it_is_open),
        TEST(asynchronous_events),    TEST(devices_that_fail),
        TEST(devices_without_memory), TEST(parks_by_family_address_and_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
