/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent's backend on verbs, without hardware or driver: connections, work, windows. */
#include "host.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- work ---- */

static void posts_each_operation(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        enum ibv_wr_opcode opcode;
        unsigned flags;
    } ops[] = {{"send", IBV_WR_SEND, 0},
               {"send-se", IBV_WR_SEND, IBV_SEND_SOLICITED},
               {"send-invalidate", IBV_WR_SEND_WITH_INV, 0},
               {"send-se-invalidate", IBV_WR_SEND_WITH_INV, IBV_SEND_SOLICITED},
               {"write", IBV_WR_RDMA_WRITE, 0},
               {"read", IBV_WR_RDMA_READ, 0}};
    doubles_begin();
    enrich();
    struct host *h = host_start();
    open_connection(h, "");
    int m = (int)ask(h, "mem", "{'do':'register','length':100,'guard':8}");
    const uint8_t *base = doubles.registered[0].addr;
    uint32_t remote = h->client.memories.slots[0].stag;
    for (size_t i = 0; i < COUNT(ops); i++) {
        bool read = ops[i].opcode == IBV_WR_RDMA_READ;
        ask(h, NULL,
            "{'do':'post','conn':%d,'work':%d,'op':'%s','mem':%d,'offset':3,'length':7,"
            "'remote_stag':287454020,'remote_to':'0xfedcba9876543210',"
            "'invalidate_stag':1432778632,'fence':%s}",
            h->conn, (int)i, ops[i].op, m, i % 2 ? "true" : "false");
        const struct ibv_send_wr *wr = &doubles.sent;
        assert_int_equal(wr->opcode, ops[i].opcode);
        assert_int_equal(wr->send_flags,
                         ops[i].flags | IBV_SEND_SIGNALED | (i % 2 ? (unsigned)IBV_SEND_FENCE : 0));
        assert_int_equal(wr->num_sge, 1);
        assert_int_equal(doubles.pieces[0].addr, (uintptr_t)(base + 3));
        assert_int_equal(doubles.pieces[0].length, 7);
        /* A Read's sink uses the STag that the peer gets. */
        assert_int_equal(doubles.pieces[0].lkey == remote, read);
        if (ops[i].opcode == IBV_WR_SEND_WITH_INV) {
            assert_int_equal(wr->invalidate_rkey, 0x55667788);
            assert_int_equal(wr->wr.rdma.rkey, 0x55667788); /* where siw's provider looks */
        } else if (ops[i].opcode != IBV_WR_SEND) {
            assert_int_equal(wr->wr.rdma.remote_addr, UINT64_C(0xfedcba9876543210));
            assert_int_equal(wr->wr.rdma.rkey, 0x11223344);
        }
        doubles_complete(&(struct ibv_wc){.wr_id = wr->wr_id, .status = IBV_WC_SUCCESS});
        want(h, "{'event':'completion','work':%d,'op':'%s','status':'ok','length':7,'conn':%d}",
             (int)i, ops[i].op, h->conn);
    }
    ask(h, NULL, "{'do':'post','conn':%d,'work':1,'op':'send','sge':[[%d,0,1],[%d,5,0],[%d,9,2]]}",
        h->conn, m, m, m);
    assert_int_equal(doubles.sent.num_sge, 2); /* the one of no octets is left out */
    assert_int_equal(doubles.pieces[1].addr, (uintptr_t)(base + 9));
    ask(h, NULL, "{'do':'post','conn':%d,'work':4,'op':'send','mem':%d}", h->conn, m);
    assert_int_equal(doubles.sent.num_sge, 0);
    ask(h, NULL, "{'do':'recv','conn':%d,'work':5,'mem':%d}", h->conn, m);
    assert_int_equal(doubles.received.num_sge, 1); /* nor a receive's only one */
    ask(h, NULL, "{'do':'recv','conn':%d,'work':6,'sge':[[%d,0,0],[%d,1,0]]}", h->conn, m, m);
    assert_int_equal(doubles.received.num_sge, 0);
    const int elsewhere = (int)ask(h, "mem", "{'do':'register','length':100,'to':'0x1008'}");
    ask(h, NULL, "{'do':'post','conn':%d,'work':2,'op':'read','mem':%d,'offset':3,'length':7}",
        h->conn, elsewhere);
    assert_int_equal(doubles.pieces[0].addr, 0x100b); /* as the STag has it */
    ask(h, NULL, "{'do':'release','mem':%d}", elsewhere);
    ask(h, NULL, "{'do':'post','conn':%d,'work':2,'op':'read','mem':%d}", h->conn, m);
    assert_int_equal(doubles.sent.num_sge, 1); /* but not a Read's */
    assert_int_equal(doubles.pieces[0].length, 0);
    ask(h, NULL, "{'do':'recv','conn':%d,'work':3,'mem':%d,'offset':1,'length':50}", h->conn, m);
    assert_int_equal(doubles.received.num_sge, 1);
    assert_int_equal(doubles.pieces[0].addr, (uintptr_t)(base + 1));
    assert_int_equal(doubles.pieces[0].length, 50);
    assert_int_not_equal(doubles.pieces[0].lkey, remote);
    doubles_complete(&(struct ibv_wc){
        .wr_id = doubles.received.wr_id, .status = IBV_WC_SUCCESS, .byte_len = 42});
    want(h, "{'event':'completion','work':3,'op':'recv','status':'ok','length':42,'conn':%d}",
         h->conn);
    host_end(h);
}

static void takes_atomics_where_there_are_any(void **state)
{
    (void)state;
    doubles_begin();
    enrich();
    struct host *h = host_start();
    open_connection(h, "");
    ask(h, NULL,
        "{'do':'post','conn':%d,'work':1,'op':'fetch-add','remote_stag':7,'remote_to':8,"
        "'add_swap':9}",
        h->conn);
    assert_int_equal(doubles.sent.opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
    assert_int_equal(doubles.sent.wr.atomic.rkey, 7);
    assert_int_equal(doubles.sent.wr.atomic.remote_addr, 8);
    assert_int_equal(doubles.sent.wr.atomic.compare_add, 9);
    assert_int_equal(doubles.sent.num_sge, 1);
    assert_int_equal(doubles.pieces[0].length, 8);
    *(uint64_t *)(uintptr_t)doubles.pieces[0].addr = UINT64_C(0x0102030405060708);
    doubles_complete(
        &(struct ibv_wc){.wr_id = doubles.sent.wr_id, .status = IBV_WC_SUCCESS, .byte_len = 8});
    want(h,
         "{'event':'completion','work':1,'op':'fetch-add','status':'ok','length':8,"
         "'original':'0x102030405060708','conn':%d}",
         h->conn);
    ask(h, NULL,
        "{'do':'post','conn':%d,'work':2,'op':'cmp-swap','remote_stag':7,'remote_to':16,"
        "'add_swap':5,'compare':6}",
        h->conn);
    assert_int_equal(doubles.sent.opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
    assert_int_equal(doubles.sent.wr.atomic.compare_add, 6);
    assert_int_equal(doubles.sent.wr.atomic.swap, 5);
    refuse(h, "unsupported: masks of op fetch-add",
           "{'do':'post','conn':%d,'work':3,'op':'fetch-add','add_swap_mask':1}", h->conn);
    refuse(h, "unsupported: masks of op cmp-swap",
           "{'do':'post','conn':%d,'work':3,'op':'cmp-swap','compare_mask':1}", h->conn);
    refuse(h, "unsupported: masks of op cmp-swap",
           "{'do':'post','conn':%d,'work':3,'op':'cmp-swap','add_swap_mask':0}", h->conn);
    host_end(h);
}

static void tells_how_work_completed(void **state)
{
    (void)state;
    static const struct {
        enum ibv_wc_status status;
        const char *name;
    } statuses[] = {
        {IBV_WC_LOC_LEN_ERR, "local-fault"},         {IBV_WC_LOC_QP_OP_ERR, "local-fault"},
        {IBV_WC_LOC_PROT_ERR, "local-fault"},        {IBV_WC_MW_BIND_ERR, "local-fault"},
        {IBV_WC_BAD_RESP_ERR, "local-fault"},        {IBV_WC_LOC_ACCESS_ERR, "local-fault"},
        {IBV_WC_REM_INV_REQ_ERR, "remote-fault"},    {IBV_WC_REM_ACCESS_ERR, "remote-fault"},
        {IBV_WC_REM_OP_ERR, "remote-fault"},         {IBV_WC_RETRY_EXC_ERR, "local-fault"},
        {IBV_WC_REM_INV_RD_REQ_ERR, "remote-fault"}, {IBV_WC_REM_ABORT_ERR, "remote-fault"},
        {IBV_WC_FATAL_ERR, "local-fault"},           {IBV_WC_GENERAL_ERR, "local-fault"}};
    doubles_begin();
    enrich();
    struct host *h = host_start();
    open_connection(h, "");
    for (size_t i = 0; i < COUNT(statuses); i++) {
        ask(h, NULL, "{'do':'post','conn':%d,'work':%d,'op':'send'}", h->conn, (int)i);
        doubles_complete(
            &(struct ibv_wc){.wr_id = doubles.sent.wr_id, .status = statuses[i].status});
        want(h,
             "{'event':'completion','work':%d,'op':'send','status':'%s','length':0,"
             "'error':'status %d','conn':%d}",
             (int)i, statuses[i].name, (int)statuses[i].status, h->conn);
    }
    ask(h, NULL, "{'do':'post','conn':%d,'work':50,'op':'send'}", h->conn);
    doubles_complete(&(struct ibv_wc){.wr_id = doubles.sent.wr_id, .status = IBV_WC_WR_FLUSH_ERR});
    want(h, "{'event':'completion','work':50,'op':'send','status':'flushed','length':0,'conn':%d}",
         h->conn);
    /* What the peer has invalidated is dead here, too. */
    int m = (int)ask(h, "mem", "{'do':'register','length':1,'access':['remote-invalidate']}");
    uint32_t stag = h->client.memories.slots[0].stag;
    ask(h, NULL, "{'do':'recv','conn':%d,'work':51}", h->conn);
    doubles_complete(&(struct ibv_wc){.wr_id = doubles.received.wr_id,
                                      .status = IBV_WC_SUCCESS,
                                      .wc_flags = IBV_WC_WITH_INV,
                                      .invalidated_rkey = stag});
    want(h,
         "{'event':'completion','work':51,'op':'recv','status':'ok','length':0,"
         "'invalidated':%lld,'conn':%d}",
         (long long)stag, h->conn);
    refuse(h, "the STag is not valid any more", "{'do':'invalidate','mem':%d}", m);
    host_end(h);
}

static void refuses_what_cannot_be_posted(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    open_connection(h, ",'config':{'send_depth':2,'recv_depth':1}");
    int m = (int)ask(h, "mem", "{'do':'register','length':1}");
    doubles_fail(FAULT_POST, ENOMEM, 1);
    refuse(h, "the queue is full", "{'do':'post','conn':%d,'work':1,'op':'send'}", h->conn);
    doubles_fail(FAULT_POST, -EINVAL, 1); /* as siw's provider has it */
    refuse(h, "not a legal request: Invalid argument",
           "{'do':'post','conn':%d,'work':1,'op':'send'}", h->conn);
    doubles_fail(FAULT_POST, EINVAL, 1);
    refuse(h, "not a legal request: Invalid argument", "{'do':'recv','conn':%d,'work':1}", h->conn);
    ask(h, NULL, "{'do':'post','conn':%d,'work':1,'op':'send'}", h->conn);
    ask(h, NULL, "{'do':'post','conn':%d,'work':2,'op':'send'}", h->conn);
    refuse(h, "the queue is full", "{'do':'post','conn':%d,'work':3,'op':'send'}", h->conn);
    ask(h, NULL, "{'do':'recv','conn':%d,'work':1}", h->conn);
    refuse(h, "the queue is full", "{'do':'recv','conn':%d,'work':2}", h->conn);
    doubles_complete(&(struct ibv_wc){.wr_id = 0, .status = IBV_WC_SUCCESS});
    doubles_complete(&(struct ibv_wc){.wr_id = 0, .status = IBV_WC_SUCCESS});  /* twice */
    doubles_complete(&(struct ibv_wc){.wr_id = 99, .status = IBV_WC_SUCCESS}); /* nobody's */
    want(h, "{'event':'completion','work':1,'op':'send','status':'ok','length':0,'conn':%d}",
         h->conn);
    assert_int_equal(json_array_size(h->events), 0);
    ask(h, NULL, "{'do':'invalidate','mem':%d}", m);
    refuse(h, "not a legal request: the memory's STag is dead",
           "{'do':'post','conn':%d,'work':3,'op':'read','mem':%d,'length':1}", h->conn, m);
    refuse(h, "field conn: no connection 77", "{'do':'post','conn':77,'work':3,'op':'send'}");
    refuse(h, "field conn: no connection 77", "{'do':'recv','conn':77,'work':3}");
    ask(h, NULL, "{'do':'close','conn':%d}", h->conn);
    refuse(h, "the connection is over", "{'do':'post','conn':%d,'work':3,'op':'send'}", h->conn);
    host_end(h);
}

/* ---- windows ---- */

static void binds_windows_of_both_types(void **state)
{
    (void)state;
    doubles_begin();
    enrich();
    struct host *h = host_start();
    int m = (int)ask(h, "mem", "{'do':'register','length':100,'access':['bind','local-write']}");
    const uint8_t *base = doubles.registered[0].addr;
    refuse(h, "unsupported: windows before a connection is established, which binds them",
           "{'do':'bind','mem':%d,'length':1}", m);
    open_connection(h, "");
    refuse(h, "unsupported: field length: 0", "{'do':'bind','mem':%d,'length':0}", m);
    int w = (int)ask(h, "window",
                     "{'do':'bind','mem':%d,'offset':4,'length':9,'access':['remote-write']}", m);
    assert_int_equal(doubles.mws, 1);
    assert_int_equal(doubles.bound.bind_info.addr, (uintptr_t)(base + 4));
    assert_int_equal(doubles.bound.bind_info.length, 9);
    assert_int_equal(doubles.bound.bind_info.mw_access_flags, IBV_ACCESS_REMOTE_WRITE);
    uint32_t first = h->client.windows[0].stag;
    /* Bound anew: another STag, and the old one is gone. */
    ask(h, NULL, "{'do':'bind','mem':%d,'length':2,'access':['remote-read'],'window':%d}", m, w);
    assert_int_equal(doubles.mws, 1);
    assert_int_not_equal(h->client.windows[0].stag, first);
    /* For one connection's stream only: type 2, by a work request. */
    int own = (int)ask(h, "window",
                       "{'do':'bind','mem':%d,'length':2,'access':['remote-read'],'conn':%d}", m,
                       h->conn);
    assert_int_equal(doubles.mws, 2);
    assert_int_equal(doubles.sent.opcode, IBV_WR_BIND_MW);
    assert_int_equal(doubles.sent.bind_mw.rkey, h->client.windows[1].stag);
    assert_int_equal(doubles.sent.bind_mw.bind_info.mw_access_flags, IBV_ACCESS_REMOTE_READ);
    refuse(h, "unsupported: field mem: windows are bound to it, which the device minds",
           "{'do':'invalidate','mem':%d}", m);
    doubles.bind_fails = true;
    refuse(h, "the device binds no window: status 6", "{'do':'bind','mem':%d,'length':2}", m);
    doubles.bind_fails = false;
    doubles_fail(FAULT_POST, EINVAL, 1);
    refuse(h, "the device binds no window: Invalid argument", "{'do':'bind','mem':%d,'length':2}",
           m);
    doubles_fail(FAULT_ALLOC_MW, EPERM, 1);
    refuse(h, "no window: Operation not permitted", "{'do':'bind','mem':%d,'length':2}", m);
    assert_int_equal(doubles.mws, 2);
    ask(h, NULL, "{'do':'invalidate','window':%d}", w);
    assert_int_equal(doubles.mws, 1);
    refuse(h, "the STag is not valid any more", "{'do':'invalidate','window':%d}", w);
    /* The connection's own dies with it. */
    ask(h, NULL, "{'do':'close','conn':%d,'how':'reset'}", h->conn);
    assert_int_equal(doubles.mws, 0);
    refuse(h, "the STag is not valid any more", "{'do':'invalidate','window':%d}", own);
    ask(h, NULL, "{'do':'unbind','window':%d}", w);
    ask(h, NULL, "{'do':'unbind','window':%d}", own);
    ask(h, NULL, "{'do':'invalidate','mem':%d}", m);
    refuse(h, "the memory's STag is dead, or its rights do not permit such a window",
           "{'do':'bind','mem':%d,'length':1}", m);
    host_end(h);
}

/* Memory with windows is not given up, whichever they are and whatever became of them: the device
 * would keep it, and a peer could go on writing to what the program has freed. */
static void gives_up_no_memory_with_windows(void **state)
{
    static const char no[] = "field mem: windows are bound to it";
    (void)state;
    doubles_begin();
    enrich();
    struct host *h = host_start();
    open_connection(h, "");
    const int before = doubles.mrs;
    int m = (int)ask(h, "mem", "{'do':'register','length':100,'access':['bind']}");
    int other = (int)ask(h, "mem", "{'do':'register','length':100,'access':['bind']}");
    assert_int_equal(doubles.mrs, before + 4); /* two for each memory */
    int w = (int)ask(h, "window", "{'do':'bind','mem':%d,'length':9}", m);
    int own = (int)ask(h, "window", "{'do':'bind','mem':%d,'length':2,'conn':%d}", m, h->conn);
    refuse(h, no, "{'do':'release','mem':%d}", m);
    assert_int_equal(doubles.mrs, before + 4);
    assert_int_equal(doubles.mws, 2);
    /* One goes to the other memory; that of the connection still holds this one. */
    ask(h, NULL, "{'do':'bind','mem':%d,'length':9,'window':%d}", other, w);
    refuse(h, no, "{'do':'release','mem':%d}", m);
    refuse(h, no, "{'do':'release','mem':%d}", other);
    /* Nor when its peer invalidates it. */
    ask(h, NULL, "{'do':'recv','conn':%d,'work':1}", h->conn);
    doubles_complete(&(struct ibv_wc){.wr_id = doubles.received.wr_id,
                                      .status = IBV_WC_SUCCESS,
                                      .wc_flags = IBV_WC_WITH_INV,
                                      .invalidated_rkey = h->client.memories.slots[0].stag});
    want(h,
         "{'event':'completion','work':1,'op':'recv','status':'ok','length':0,"
         "'invalidated':%lld,'conn':%d}",
         (long long)h->client.memories.slots[0].stag, h->conn);
    assert_int_equal(doubles.mrs, before + 4);
    ask(h, NULL, "{'do':'unbind','window':%d}", own);
    ask(h, NULL, "{'do':'release','mem':%d}", m);
    assert_int_equal(doubles.mrs, before + 2);
    refuse(h, "field mem: no memory 1", "{'do':'release','mem':%d}", m);
    ask(h, NULL, "{'do':'unbind','window':%d}", w);
    ask(h, NULL, "{'do':'release','mem':%d}", other);
    assert_int_equal(doubles.mrs, before);
    assert_int_equal(doubles.mws, 0);
    host_end(h);
}

/* A reset ends windows before what they are bound to. */
static void resets_with_windows(void **state)
{
    (void)state;
    doubles_begin();
    enrich();
    struct host *h = host_start();
    open_connection(h, "");
    int m = (int)ask(h, "mem", "{'do':'register','length':100,'access':['bind']}");
    ask(h, "window", "{'do':'bind','mem':%d,'length':9}", m);
    ask(h, "window", "{'do':'bind','mem':%d,'length':2,'conn':%d}", m, h->conn);
    agent_client_reset(&h->client);
    assert_int_equal(doubles.mrs, 0);
    assert_int_equal(doubles.mws, 0);
    host_end(h);
}

static void waits_only_so_long_for_a_window(void **state)
{
    (void)state;
    doubles_begin();
    enrich();
    doubles.attributes.device_cap_flags = IBV_DEVICE_MEM_WINDOW_TYPE_2A;
    doubles.bind_silent = true;
    struct host *h = host_start();
    open_connection(h, "");
    int m = (int)ask(h, "mem", "{'do':'register','length':100,'access':['bind']}");
    refuse(h, "unsupported: field conn: the device's windows belong to a connection",
           "{'do':'bind','mem':%d,'length':1}", m);
    refuse(h, "the device binds no window: no completion",
           "{'do':'bind','mem':%d,'length':1,'conn':%d}", m, h->conn);
    assert_int_equal(doubles.waited, 1000);
    /* It comes late: it is not reported. */
    doubles_complete(&(struct ibv_wc){.wr_id = doubles.sent.wr_id, .status = IBV_WC_SUCCESS});
    assert_int_equal(iw_reactor_step(h->reactor, 0), 0);
    assert_int_equal(json_array_size(h->events), 0);
    host_end(h);
}

/* ---- connections ---- */

static void answers_requests(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    int listen = (int)ask(h, "listen", "{'do':'listen','host':'192.0.2.1','private':'0102'}");
    struct rdma_cm_id *listener = doubles.id, *id = doubles_new_id();
    doubles_tell(RDMA_CM_EVENT_CONNECT_REQUEST, id, listener, 0, NULL);
    assert_int_equal(iw_reactor_step(h->reactor, 0), 0);
    assert_int_equal(doubles.accepted, 1);
    assert_memory_equal(doubles.private_data, "\1\2", 2);
    doubles_tell(RDMA_CM_EVENT_ESTABLISHED, id, NULL, 0, NULL);
    want(h, "{'event':'established','private':'','listen':%d,'conn':2}", listen);
    refuse(h, "no Request waits for an answer", "{'do':'accept','conn':2}");
    doubles.qp_state = IBV_QPS_ERR;
    doubles_tell(RDMA_CM_EVENT_DISCONNECTED, id, NULL, 0, NULL);
    want(h, "{'event':'peer-closed','conn':2}");
    want(h, "{'event':'closed','qp':'error','conn':2}");
    id = doubles_new_id();
    doubles_fail(FAULT_ACCEPT, ECONNRESET, 1);
    doubles_tell(RDMA_CM_EVENT_CONNECT_REQUEST, id, listener, 0, NULL);
    want(h, "{'event':'closed','graceful':false,'cause':'lost','error':'Connection reset by peer',"
            "'qp':'error','conn':3}");
    ask(h, "listen", "{'do':'listen','host':'192.0.2.1','accept':'ask'}");
    listener = doubles.id;
    id = doubles_new_id();
    doubles_tell(RDMA_CM_EVENT_CONNECT_REQUEST, id, listener, 0, NULL);
    want(h, "{'event':'request','listen':4,'private':'','conn':5}");
    ask(h, NULL, "{'do':'reject','conn':5,'private':'6e6f'}");
    assert_int_equal(doubles.rejected, 1);
    assert_memory_equal(doubles.private_data, "no", 2);
    want(h, "{'event':'closed','graceful':true,'cause':'graceful','qp':'error','conn':5}");
    ask(h, NULL, "{'do':'unlisten','listen':4}");
    refuse(h, "field listen: no listener 4", "{'do':'unlisten','listen':4}");
    host_end(h);
}

static void closes_in_each_way(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    open_connection(h, "");
    ask(h, NULL, "{'do':'post','conn':%d,'work':1,'op':'send'}", h->conn);
    ask(h, NULL, "{'do':'recv','conn':%d,'work':2}", h->conn);
    ask(h, NULL, "{'do':'close','conn':%d}", h->conn);
    assert_int_equal(doubles.disconnected, 0); /* a Send is under way */
    doubles_complete(&(struct ibv_wc){.wr_id = doubles.sent.wr_id, .status = IBV_WC_SUCCESS});
    want(h, "{'event':'completion','work':1,'op':'send','status':'ok','length':0,'conn':%d}",
         h->conn);
    assert_int_equal(doubles.disconnected, 1);
    doubles_tell(RDMA_CM_EVENT_DISCONNECTED, h->id, NULL, 0, NULL);
    want(h, "{'event':'completion','work':2,'op':'recv','status':'flushed','length':0,'conn':%d}",
         h->conn);
    want(h, "{'event':'closed','graceful':true,'cause':'graceful','qp':'rts','conn':%d}", h->conn);
    assert_int_equal(doubles.qps, 0);
    agent_client_reset(&h->client);
    open_connection(h, "");
    ask(h, NULL, "{'do':'close','conn':%d,'how':'reset'}", h->conn);
    assert_int_equal(doubles.modified_to_error, 1);
    want(h, "{'event':'closed','graceful':false,'cause':'aborted','qp':'rts','conn':%d}", h->conn);
    agent_client_reset(&h->client);
    open_connection(h, "");
    doubles_tell(RDMA_CM_EVENT_DISCONNECTED, h->id, NULL, -ECONNRESET, NULL);
    want(h, "{'event':'peer-closed','conn':%d}", h->conn);
    want(h,
         "{'event':'closed','graceful':false,'cause':'lost','error':'Connection reset by peer',"
         "'qp':'rts','conn':%d}",
         h->conn);
    host_end(h);
}

static void tells_of_the_device_s_faults(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    open_connection(h, "");
    struct ibv_qp other = {0};
    doubles_async(IBV_EVENT_QP_FATAL, &other, NULL);
    doubles_async(IBV_EVENT_COMM_EST, h->id->qp, NULL);
    assert_int_equal(iw_reactor_step(h->reactor, 0), 0);
    assert_int_equal(json_array_size(h->events), 0);
    doubles_async(IBV_EVENT_QP_FATAL, h->id->qp, NULL);
    want(h, "{'event':'fault','error':'fatal error of a queue pair','conn':%d}", h->conn);
    doubles_async(IBV_EVENT_CQ_ERR, NULL, doubles.qp.send_cq);
    want(h, "{'event':'fault','error':'something','conn':%d}", h->conn);
    doubles_tell(RDMA_CM_EVENT_DISCONNECTED, h->id, NULL, 0, NULL);
    want(h, "{'event':'closed','graceful':false,'cause':'fault','qp':'rts','conn':%d}", h->conn);
    host_end(h);
}

static volatile sig_atomic_t terminated;

static void on_term(int number)
{
    (void)number;
    terminated++;
}

/* Also one that a listener reports. */
static void ends_when_the_device_is_removed(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    terminated = 0;
    assert_true(signal(SIGTERM, on_term) != SIG_ERR);
    open_connection(h, "");
    doubles_tell(RDMA_CM_EVENT_DEVICE_REMOVAL, h->listener, NULL, 0, NULL);
    want(h,
         "{'event':'closed','graceful':false,'cause':'lost','error':'the device was removed',"
         "'qp':'rts','conn':%d}",
         h->conn);
    assert_int_equal(terminated, 1);
    assert_true(signal(SIGTERM, SIG_DFL) != SIG_ERR);
    host_end(h);
}

/* A listener that has a socket among TCP's is kept, and used again. */
static void parks_listeners_of_software_devices(void **state)
{
    (void)state;
    doubles_begin();
    doubles.port = 4711;
    doubles.tcp =
        "   0: 0100007F:1267 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1\n";
    struct host *h = host_start();
    int first = (int)ask(h, "listen", "{'do':'listen','host':'127.0.0.1'}");
    struct rdma_cm_id *id = doubles.id, *peer = doubles_new_id();
    ask(h, NULL, "{'do':'unlisten','listen':%d}", first);
    assert_int_equal(doubles.ids, 2);
    /* Nobody asks for connections meanwhile. */
    doubles_tell(RDMA_CM_EVENT_CONNECT_REQUEST, peer, id, 0, NULL);
    assert_int_equal(iw_reactor_step(h->reactor, 0), 0);
    assert_int_equal(doubles.rejected, 1);
    assert_int_equal(doubles.ids, 1);
    ask(h, "listen", "{'do':'listen','host':'127.0.0.2'}"); /* another place */
    assert_int_equal(doubles.ids, 2);
    ask(h, "listen", "{'do':'listen','host':'127.0.0.1'}");
    assert_int_equal(doubles.ids, 2);
    agent_client_reset(&h->client);
    doubles.tcp = NULL;
    ask(h, "listen", "{'do':'listen','host':'127.0.0.1'}"); /* both have lost their sockets */
    assert_int_equal(doubles.ids, 3);
    host_end(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posts_each_operation),
        cmocka_unit_test(takes_atomics_where_there_are_any),
        cmocka_unit_test(tells_how_work_completed),
        cmocka_unit_test(refuses_what_cannot_be_posted),
        cmocka_unit_test(binds_windows_of_both_types),
        cmocka_unit_test(gives_up_no_memory_with_windows),
        cmocka_unit_test(resets_with_windows),
        cmocka_unit_test(waits_only_so_long_for_a_window),
        cmocka_unit_test(answers_requests),
        cmocka_unit_test(closes_in_each_way),
        cmocka_unit_test(tells_of_the_device_s_faults),
        cmocka_unit_test(ends_when_the_device_is_removed),
        cmocka_unit_test(parks_listeners_of_software_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
