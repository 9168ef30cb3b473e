/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent's backend on verbs, without hardware or driver: the last window and the last parked
 * listener, what the device is, and backends that cannot be made. */
#include "host.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../caught.h"

/* ---- windows ---- */

static const char minds[] =
    "unsupported: field mem: windows are bound to it, which the device minds";

static struct host *start_with_windows(int *memory)
{
    doubles_begin();
    enrich();
    struct host *h = host_start();
    open_connection(h, "");
    *memory = (int)ask(h, "mem", "{'do':'register','length':100,'access':['bind']}");
    return h;
}

/* Binds as many windows as there may be; the first has this number. */
static void bind_all(struct host *h, int memory, int first)
{
    for (int i = 0; i < AGENT_WINDOWS; i++)
        assert_int_equal(
            ask(h, "window", "{'do':'bind','mem':%d,'length':1,'conn':%d}", memory, h->conn),
            first + i);
    assert_int_equal(doubles.mws, AGENT_WINDOWS);
}

static void unbind(struct host *h, int from, int to)
{
    for (int i = from; i <= to; i++)
        ask(h, NULL, "{'do':'unbind','window':%d}", i);
}

/* A window counts wherever its place is: first, last, or the one more that a window has while it is
 * bound anew. */
static void windows_in_every_place(void **state)
{
    int m;
    (void)state;
    struct host *h = start_with_windows(&m);
    ask(h, NULL, "{'do':'bind','mem':%d,'length':1}", m);
    refuse(h, minds, "{'do':'invalidate','mem':%d}", m);
    unbind(h, 1, 1);
    bind_all(h, m, 2);
    refuse(h, "at most 1024 windows", "{'do':'bind','mem':%d,'length':1}", m);
    unbind(h, 2, AGENT_WINDOWS);
    assert_int_equal(doubles.mws, 1);
    refuse(h, minds, "{'do':'invalidate','mem':%d}", m);
    unbind(h, AGENT_WINDOWS + 1, AGENT_WINDOWS + 1);
    /* The first one moves to the last place. */
    bind_all(h, m, AGENT_WINDOWS + 2);
    ask(h, NULL, "{'do':'bind','mem':%d,'length':2,'window':%d}", m, AGENT_WINDOWS + 2);
    assert_int_equal(doubles.mws, AGENT_WINDOWS);
    unbind(h, AGENT_WINDOWS + 3, 2 * AGENT_WINDOWS + 1);
    assert_int_equal(doubles.mws, 1);
    refuse(h, minds, "{'do':'invalidate','mem':%d}", m);
    ask(h, NULL, "{'do':'invalidate','window':%d}", AGENT_WINDOWS + 2);
    assert_int_equal(doubles.mws, 0);
    ask(h, NULL, "{'do':'invalidate','mem':%d}", m);
    host_end(h);
}

/* All of a connection's windows die with it, and no other's. */
static void windows_die_with_their_connection(void **state)
{
    int m;
    (void)state;
    struct host *h = start_with_windows(&m);
    bind_all(h, m, 1);
    ask(h, NULL, "{'do':'bind','mem':%d,'length':2,'window':1,'conn':%d}", m, h->conn);
    ask(h, NULL, "{'do':'bind','mem':%d,'length':2,'window':2}",
        m); /* of the domain: the first place */
    ask(h, NULL, "{'do':'close','conn':%d,'how':'reset'}", h->conn);
    assert_int_equal(doubles.mws, 1);
    refuse(h, "the STag is not valid any more", "{'do':'invalidate','window':1}");
    refuse(h, "the STag is not valid any more", "{'do':'invalidate','window':3}");
    refuse(h, minds, "{'do':'invalidate','mem':%d}", m);
    ask(h, NULL, "{'do':'invalidate','window':2}");
    ask(h, NULL, "{'do':'invalidate','mem':%d}", m);
    host_end(h);
}

/* Only a connection that is open binds, of the memory's domain. */
static void connections_that_bind(void **state)
{
    static const char none[] =
        "unsupported: windows before a connection is established, which binds them";
    int m;
    (void)state;
    struct host *h = start_with_windows(&m);
    assert_int_equal(ask(h, "pd", "{'do':'pd'}"), 2);
    int other = (int)ask(h, "mem", "{'do':'register','length':100,'access':['bind'],'pd':2}");
    refuse(h, none, "{'do':'bind','mem':%d,'length':1}", other);
    refuse(h, "field conn: no connection 99", "{'do':'bind','mem':%d,'length':1,'conn':99}", m);
    int conn = (int)ask(h, "conn", "{'do':'connect','host':'192.0.2.1','port':9}");
    refuse(h, none, "{'do':'bind','mem':%d,'length':1,'conn':%d}", m, conn);
    ask(h, NULL, "{'do':'close','conn':%d}", h->conn);
    refuse(h, none, "{'do':'bind','mem':%d,'length':1,'conn':%d}", m, h->conn);
    refuse(h, none, "{'do':'bind','mem':%d,'length':1}", m);
    assert_int_equal(doubles.mws, 0);
    host_end(h);
}

/* A binding that takes its time, and one for which the queue has no place. */
static void windows_that_wait(void **state)
{
    int m;
    (void)state;
    struct host *h = start_with_windows(&m);
    doubles.bind_silent = true;
    doubles.late = 7;
    doubles.latest = (struct ibv_wc){.wr_id = 0, .status = IBV_WC_SUCCESS};
    assert_int_equal(ask(h, "window", "{'do':'bind','mem':%d,'length':1}", m), 1);
    assert_int_equal(doubles.waited, 7);
    doubles.late = 0;
    for (int i = 0; i < RDMA_QUEUE; i++)
        ask(h, NULL, "{'do':'post','conn':%d,'work':1,'op':'send'}", h->conn);
    refuse(h, "the queue is full", "{'do':'bind','mem':%d,'length':1}", m);
    assert_int_equal(doubles.mws, 1);
    host_end(h);
}

/* ---- parked listeners ---- */

static void listeners_beyond_those_that_are_parked(void **state)
{
    char said[100];
    (void)state;
    doubles_begin();
    doubles.port = 4711;
    doubles.tcp =
        "   0: 0100007F:1267 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1\n";
    struct host *h = host_start();
    for (int i = 0; i <= RDMA_PARKED; i++) {
        int l = (int)ask(h, "listen", "{'do':'listen','host':'127.0.%d.%d'}", i / 256, i % 256);
        assert_int_equal(doubles.ids, i + 1);
        catch_from(STDERR_FILENO);
        ask(h, NULL, "{'do':'unlisten','listen':%d}", l);
        snprintf(said, sizeof(said), "%s",
                 i < RDMA_PARKED ? ""
                                 : "iwarp: 1024 listeners are parked: one more is lost sight of\n");
        assert_string_equal(caught(), said);
    }
    (void)rdma_destroy_id(doubles.id);
    /* The first and the last of them are found again. */
    ask(h, "listen", "{'do':'listen','host':'127.0.0.0'}");
    ask(h, "listen", "{'do':'listen','host':'127.0.3.255'}");
    assert_int_equal(doubles.ids, RDMA_PARKED);
    host_end(h);
}

/* Whether a listener of this port is kept if TCP's tables are these. */
static bool kept(const char *tcp, const char *tcp6)
{
    doubles_begin();
    doubles.port = 0x1267;
    doubles.tcp = tcp;
    doubles.tcp6 = tcp6;
    struct host *h = host_start();
    ask(h, NULL, "{'do':'unlisten','listen':%d}",
        (int)ask(h, "listen", "{'do':'listen','host':'127.0.0.1'}"));
    bool is_kept = doubles.ids == 1;
    host_end(h);
    return is_kept;
}

static void listeners_among_those_of_tcp(void **state)
{
    static const char head[] = "  sl  local_address rem_address   st tx_queue rx_queue tr\n";
    static const char yes[] =
        "   0: 0100007F:1267 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1\n";
    static const char yes6[] =
        "  11: 00000000000000000000000001000000:1267 "
        "00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1\n";
    (void)state;
    assert_false(kept(NULL, NULL));
    assert_false(kept(head, head));
    assert_true(kept(yes, NULL));
    assert_true(kept(NULL, yes6));
    assert_true(kept(head, yes6));
    assert_true(kept(
        "  sl  local\n   0: 0100007F:1266 00000000:0000 0A 00000000:00000000 00:00000000 00000000 "
        "0 0 7 1\n"
        "   1: 0100007F:1267 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1\n",
        NULL));
    /* Another port, a connection, a port of the other side. */
    assert_false(kept(
        "   0: 0100007F:1266 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1\n",
        NULL));
    assert_false(kept(
        "   0: 0100007F:1268 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1\n",
        NULL));
    assert_false(kept(
        "   0: 0100007F:1267 0100007F:0016 01 00000000:00000000 00:00000000 00000000 0 0 7 1\n",
        NULL));
    assert_false(kept(
        "   0: 0100007F:1267 0100007F:0016 0B 00000000:00000000 00:00000000 00000000 0 0 7 1\n",
        NULL));
    assert_false(kept(
        "   0: 0100007F:0016 0100007F:1267 0A 00000000:00000000 00:00000000 00000000 0 0 7 1\n",
        NULL));
    assert_false(kept("   0: 0100007F:1267 0100007F:0016\n", NULL));
}

/* ---- what the device is ---- */

static void ports_of_the_device(void **state)
{
    static const struct {
        uint8_t count;
        int up;
        bool active;
    } cases[] = {{1, 1, true}, {1, 2, false}, {2, 2, true},
                 {2, 1, true}, {2, 3, false}, {0, 1, false}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        doubles_begin();
        doubles.attributes.phys_port_cnt = cases[i].count;
        doubles.port_up = cases[i].up;
        catch_from(STDERR_FILENO);
        struct host *h = host_start();
        assert_string_equal(caught(),
                            cases[i].active ? "" : "iwarp: rnic0: no port of it is active\n");
        host_end(h);
    }
}

static void identity_is(struct host *h, const char *expected)
{
    json_t *got = h->client.backend->device(h->client.own);
    json_t *wanted = json_loads(expected, 0, NULL);
    assert_non_null(wanted);
    if (!json_equal(got, wanted))
        fail_msg("%s", json_dumps(got, 0));
    json_decref(got);
    json_decref(wanted);
}

static void identities(void **state)
{
    char folder[] = "rdma-XXXXXX", device[40], driver[60];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(device, sizeof(device), "%s/device", folder);
    snprintf(driver, sizeof(driver), "%s/driver", device);
    assert_int_equal(mkdir(device, 0700), 0);
    doubles_begin();
    snprintf(doubles.device[0].ibdev_path, sizeof(doubles.device[0].ibdev_path), "%s", folder);
    struct host *h = host_start();
    identity_is(h, "{\"name\":\"rnic0\"}"); /* of software: no driver */
    assert_int_equal(symlink("../../bus/pci/drivers/irdma", driver), 0);
    snprintf(h->device.attributes.fw_ver, sizeof(h->device.attributes.fw_ver), "1.68");
    identity_is(h, "{\"name\":\"rnic0\",\"driver\":\"irdma\",\"firmware\":\"1.68\"}");
    assert_int_equal(unlink(driver), 0);
    assert_int_equal(symlink("irdma", driver), 0); /* not as sysfs has it */
    identity_is(h, "{\"name\":\"rnic0\",\"firmware\":\"1.68\"}");
    assert_int_equal(unlink(driver), 0);
    assert_int_equal(rmdir(device), 0);
    assert_int_equal(rmdir(folder), 0);
    host_end(h);
}

/* A queue pair that says nothing, and as many pieces as its device or the agent has. */
static void queue_pairs(void **state)
{
    static const int pieces[][2] = {{1, 1}, {15, 15}, {16, 16}, {17, 16}, {100, 16}};
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    open_connection(h, "");
    doubles_fail(FAULT_QUERY_QP, EINVAL, 1);
    ask(h, NULL, "{'do':'close','conn':%d,'how':'reset'}", h->conn);
    want(h, "{'event':'closed','graceful':false,'cause':'aborted','conn':%d}", h->conn);
    for (size_t i = 0; i < COUNT(pieces); i++) {
        h->device.attributes.max_sge = pieces[i][0];
        ask(h, NULL, "{'do':'connect','host':'192.0.2.1','port':9}");
        assert_int_equal(doubles.qp.cap.max_send_sge, pieces[i][1]);
        assert_int_equal(doubles.qp.cap.max_recv_sge, pieces[i][1]);
    }
    host_end(h);
}

/* As many pieces as a request has: their octets are counted, and nothing after them. */
static void pieces_of_a_request(void **state)
{
    char sge[400] = "[";
    (void)state;
    doubles_begin();
    doubles.attributes.max_sge = 30;
    struct host *h = host_start();
    open_connection(h, "");
    int m = (int)ask(h, "mem", "{'do':'register','length':100}");
    for (int i = 0; i < AGENT_SGE_MAX; i++)
        snprintf(sge + strlen(sge), sizeof(sge) - strlen(sge), "%s[%d,%d,%d]", i > 0 ? "," : "", m,
                 i, i + 1);
    ask(h, NULL, "{'do':'post','conn':%d,'work':1,'op':'send','sge':%s]}", h->conn, sge);
    assert_int_equal(doubles.sent.num_sge, 16);
    assert_int_equal(doubles.pieces[15].addr - doubles.pieces[0].addr, 15);
    assert_int_equal(doubles.pieces[15].length, 16);
    doubles_complete(&(struct ibv_wc){.wr_id = doubles.sent.wr_id, .status = IBV_WC_SUCCESS});
    want(h, "{'event':'completion','work':1,'op':'send','status':'ok','length':136,'conn':%d}",
         h->conn);
    /* A Read has only one, whose STag must be alive even if it has no octets. */
    ask(h, NULL, "{'do':'invalidate','mem':%d}", m);
    refuse(h, "not a legal request: the memory's STag is dead",
           "{'do':'post','conn':%d,'work':1,'op':'read','mem':%d}", h->conn, m);
    /* A Send's octets are the device's through another registration. */
    ask(h, NULL, "{'do':'post','conn':%d,'work':1,'op':'send','mem':%d,'length':1}", h->conn, m);
    host_end(h);
}

/* ---- memory ---- */

/* A device gives a dead STag again, which still names its memory here: another one is asked for. */
static void stags_that_come_again(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    int m = (int)ask(h, "mem", "{'do':'register','length':8}");
    const json_int_t stag = h->client.memories.slots[0].stag;
    ask(h, NULL, "{'do':'invalidate','mem':%d}", m);
    assert_int_equal(doubles.mrs, 1);
    doubles.next_key = (uint32_t)stag;
    assert_int_not_equal(ask(h, "stag", "{'do':'register','length':8}"), stag);
    assert_int_equal(doubles.mrs, 3);
    /* Each of the three registrations may fail. */
    for (int i = 0; i < 3; i++) {
        doubles.next_key = (uint32_t)stag;
        doubles_fail(FAULT_REG_MR, EINVAL, 1);
        doubles.after = i;
        refuse(h, "the device does not register it: Invalid argument",
               "{'do':'register','length':8}");
        assert_int_equal(doubles.mrs, 3);
    }
    doubles.next_key = 0;
    ask(h, NULL, "{'do':'release','mem':%d}", m);
    doubles.next_key = (uint32_t)stag;
    assert_int_equal(ask(h, "stag", "{'do':'register','length':8}"), stag);
    host_end(h);
}

/* Memory that is released leaves its place to another, again and again. */
static void places_of_memory(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    for (int i = 1; i <= AGENT_MEMORIES + 2; i++) {
        assert_int_equal(ask(h, "mem", "{'do':'register','length':8}"), i);
        ask(h, NULL, "{'do':'release','mem':%d}", i);
    }
    assert_int_equal(doubles.mrs, 0);
    host_end(h);
}

/* ---- places ---- */

/* Whichever step of the way fails, nothing is left of it. */
static void steps_of_the_way(void **state)
{
    static const enum double_fault faults[] = {FAULT_CREATE_ID, FAULT_RESOLVE, FAULT_ROUTE,
                                               FAULT_MIGRATE};
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    for (size_t i = 0; i < COUNT(faults); i++) {
        doubles_fail(faults[i], EHOSTUNREACH, 1);
        refuse(h, "cannot connect to 192.0.2.1 port 9: No route to host",
               "{'do':'connect','host':'192.0.2.1','port':9}");
        assert_int_equal(doubles.ids, 0);
    }
    doubles_fail(FAULT_CREATE_ID, EMFILE, 1);
    refuse(h, "cannot listen on 192.0.2.1 port 0: Too many open files",
           "{'do':'listen','host':'192.0.2.1'}");
    doubles_fail(FAULT_LISTEN, EACCES, 1);
    refuse(h, "cannot listen on 192.0.2.1 port 0: Permission denied",
           "{'do':'listen','host':'192.0.2.1'}");
    assert_int_equal(doubles.ids, 0);
    /* The device has no address of this kind, whatever the reason is. */
    doubles_fail(FAULT_BIND_ADDR, EADDRNOTAVAIL, 1);
    refuse(h, "cannot listen on 192.0.2.1 port 0: not by way of rnic0",
           "{'do':'listen','host':'192.0.2.1'}");
    assert_int_equal(h->client.own->live, 0);
    host_end(h);
}

/* ---- the whole ---- */

static void ignore_event(void *context, json_t *event)
{
    (void)context;
    json_decref(event);
}

/* Events reach the first and the last connection, and no listener or nobody. */
static void the_first_and_the_last_connection(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    ask(h, NULL, "{'do':'listen','host':'192.0.2.1'}");
    struct rdma_cm_id *first = NULL, *listener = doubles.id, *nobody = doubles_new_id();
    for (int i = 0; i < AGENT_CONNECTIONS; i++) {
        ask(h, NULL, "{'do':'connect','host':'192.0.2.1','port':9}");
        first = i == 0 ? doubles.id : first;
    }
    doubles_tell(RDMA_CM_EVENT_ESTABLISHED, listener, NULL, 0, "x");
    doubles_tell(RDMA_CM_EVENT_ESTABLISHED, nobody, NULL, 0, "y");
    doubles_tell(RDMA_CM_EVENT_ESTABLISHED, first, NULL, 0, NULL);
    doubles_tell(RDMA_CM_EVENT_ESTABLISHED, doubles.id, NULL, 0, NULL);
    want(h, "{'event':'established','private':'','conn':2}");
    want(h, "{'event':'established','private':'','conn':257}");
    assert_int_equal(json_array_size(h->events), 0);
    doubles_async(IBV_EVENT_QP_FATAL, first->qp, NULL);
    doubles_async(IBV_EVENT_QP_FATAL, doubles.id->qp, NULL);
    want(h, "{'event':'fault','error':'fatal error of a queue pair','conn':2}");
    want(h, "{'event':'fault','error':'fatal error of a queue pair','conn':257}");
    (void)rdma_destroy_id(nobody);
    /* And so does the end of the device. */
    assert_true(signal(SIGTERM, SIG_IGN) != SIG_ERR);
    catch_from(STDERR_FILENO);
    doubles_tell(RDMA_CM_EVENT_DEVICE_REMOVAL, listener, NULL, 0, NULL);
    assert_int_equal(iw_reactor_step(h->reactor, 0), 0);
    assert_string_equal(caught(), "iwarp: rnic0 was removed\n");
    assert_true(signal(SIGTERM, SIG_DFL) != SIG_ERR);
    assert_int_equal(json_array_size(h->events), AGENT_CONNECTIONS);
    assert_int_equal(doubles.qps, 0);
    json_array_clear(h->events);
    host_end(h);
}

/* A reset frees every place. */
static void the_places_after_a_reset(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < AGENT_LISTENERS; i++)
            ask(h, NULL, "{'do':'listen','host':'192.0.2.1'}");
        refuse(h, "at most 64 listeners", "{'do':'listen','host':'192.0.2.1'}");
        for (int i = 0; i < AGENT_CONNECTIONS; i++)
            ask(h, NULL, "{'do':'connect','host':'192.0.2.1','port':9}");
        refuse(h, "at most 256 connections", "{'do':'connect','host':'192.0.2.1','port':9}");
        for (int i = 2; i <= AGENT_DOMAINS; i++)
            assert_int_equal(ask(h, "pd", "{'do':'pd'}"), i);
        refuse(h, "at most 256 protection domains", "{'do':'pd'}");
        ask(h, NULL, "{'do':'reset'}");
        assert_int_equal(doubles.ids, 0);
        assert_int_equal(doubles.pds, AGENT_DOMAINS); /* they are kept */
    }
    host_end(h);
}

/* A backend without its channel, its domain, or one of its watches leaves nothing. */
static void backends_that_cannot_be_made(void **state)
{
    (void)state;
    doubles_begin();
    struct agent_rdma_device device = {0};
    char error[AGENT_ERROR];
    assert_int_equal(agent_rdma_find(NULL, &device, error), 0);
    const struct agent_backend *backend = agent_rdma_backend(&device);
    struct iw_reactor *reactor = iw_reactor_create();
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC); /* which epoll does not take */
    for (int i = 0; i < 8; i++) {
        static const enum double_fault faults[] = {FAULT_COMP_CHANNEL, FAULT_ALLOC_PD};
        int *fd = i < 2 ? NULL : doubles_descriptor((i - 2) % 3), before = fd == NULL ? -1 : *fd;
        if (fd == NULL)
            doubles_fail(faults[i], ENOMEM, 1);
        else
            *fd = i < 5 ? -1 : file;
        assert_null(backend->create(reactor, &device, ignore_event, NULL));
        if (fd != NULL)
            *fd = before;
        assert_int_equal(doubles.times, 0);
        assert_int_equal(doubles.pds, 0);
        assert_int_equal(doubles.channels, 0);
    }
    close(file);
    struct agent_core *core = backend->create(reactor, &device, ignore_event, NULL);
    assert_non_null(core);
    backend->destroy(core);
    iw_reactor_destroy(reactor);
    free(device.parked);
}

/* After the end of a client its backend looks at no event any more. */
static void the_end_of_a_backend(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    h->client.backend->destroy(h->client.own);
    struct rdma_cm_id *id = doubles_new_id();
    doubles_tell(RDMA_CM_EVENT_ESTABLISHED, id, NULL, 0, NULL);
    doubles_complete(&(struct ibv_wc){.wr_id = 0});
    doubles_async(IBV_EVENT_PORT_ERR, NULL, NULL);
    assert_int_equal(iw_reactor_step(h->reactor, 0), 0);
    assert_true(doubles_told());
    assert_true(doubles_noticed());
    assert_true(doubles_was_async());
    (void)rdma_destroy_id(id);
    doubles_begin();
    h->client.own = h->client.backend->create(h->reactor, &h->device, ignore_event, NULL);
    assert_non_null(h->client.own);
    host_end(h);
}

#define TEST(f) cmocka_unit_test_teardown(f, catch_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(windows_in_every_place),
        TEST(windows_die_with_their_connection),
        TEST(connections_that_bind),
        TEST(windows_that_wait),
        TEST(listeners_beyond_those_that_are_parked),
        TEST(listeners_among_those_of_tcp),
        TEST(ports_of_the_device),
        TEST(identities),
        TEST(queue_pairs),
        TEST(pieces_of_a_request),
        TEST(stags_that_come_again),
        TEST(places_of_memory),
        TEST(steps_of_the_way),
        TEST(the_first_and_the_last_connection),
        TEST(the_places_after_a_reset),
        TEST(backends_that_cannot_be_made),
        TEST(the_end_of_a_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
