/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent's backend on verbs, without hardware or driver: devices, memory, and the places
 * that connections are made from and to. */
#include "host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- devices ---- */

static void find(const char *name, const char *expected)
{
    struct agent_rdma_device device = {0};
    char error[AGENT_ERROR] = "";
    int status = agent_rdma_find(name, &device, error);
    if (expected[0] != ' ') {
        assert_int_equal(status, -1);
        assert_string_equal(error, expected);
    } else {
        assert_int_equal(status, 0);
        assert_string_equal(device.verbs->device->name, expected + 1);
    }
    free(device.parked);
}

static void finds_its_device(void **state)
{
    (void)state;
    doubles_begin();
    find(NULL, " rnic0");
    find("rnic0", " rnic0");
    find("rnic1", "--device rnic1: no such RDMA device; there are: rnic0");
    doubles.devices = 3;
    find("rnic1", " rnic1");
    find(NULL, "--backend verbs: expected --device with one of: rnic0 rnic1 rnic2");
    doubles.device[0].transport_type = IBV_TRANSPORT_IB;
    find(NULL, "--backend verbs: expected --device with one of: rnic1 rnic2");
    find("rnic0", "--device rnic0: it speaks InfiniBand or RoCE; those with iWARP: rnic1 rnic2");
    find("none", "--device none: no such RDMA device; there are: rnic1 rnic2 rnic0");
    doubles.device[1].transport_type = IBV_TRANSPORT_IB;
    find(NULL, " rnic2");
    doubles.device[2].transport_type = IBV_TRANSPORT_IB;
    find(NULL,
         "--backend verbs: no device here speaks iWARP (InfiniBand or RoCE: rnic0 rnic1 rnic2)");
    find("rnic0", "--device rnic0: it speaks InfiniBand or RoCE; those with iWARP: none");
    doubles_fail(FAULT_GET_DEVICES, ENOENT, 1);
    find(NULL, "--backend verbs: librdmacm: No such file or directory (is rdma_ucm loaded?)");
    doubles_begin();
    doubles_fail(FAULT_EVENT_CHANNEL, EMFILE, 1);
    find(NULL, "--backend verbs: cannot use rnic0: Too many open files");
    doubles_fail(FAULT_QUERY_DEVICE, EIO, 1);
    find(NULL, "--backend verbs: cannot use rnic0: Input/output error");
    /* As many names as a line has room for: 99 octets with the spaces before them. */
    doubles_begin();
    doubles.devices = 3;
    memset(doubles.device[0].name, 'a', 63);
    doubles.device[0].name[63] = '\0';
    for (size_t length = 34; length <= 35; length++) {
        char expected[AGENT_ERROR];
        memset(doubles.device[1].name, 'b', length);
        doubles.device[1].name[length] = '\0';
        snprintf(doubles.device[2].name, sizeof(doubles.device[2].name), "c");
        snprintf(expected, sizeof(expected),
                 "--backend verbs: expected --device with one of: %s %s", doubles.device[0].name,
                 length == 34 ? doubles.device[1].name : "c");
        find(NULL, expected);
    }
    doubles.devices = 0;
    find(NULL, "--backend verbs: this host has no RDMA device (rdma link show), or libibverbs no "
               "driver for it (package ibverbs-providers)");
}

static void features_are(const char *expected)
{
    struct host *h = host_start();
    json_t *features = h->client.backend->features(h->client.own);
    json_t *wanted = json_loads(expected, 0, NULL);
    assert_non_null(wanted);
    if (!json_equal(features, wanted))
        fail_msg("%s", json_dumps(features, 0));
    json_decref(features);
    json_decref(wanted);
    host_end(h);
}

static void tells_what_the_device_can(void **state)
{
    (void)state;
    doubles_begin();
    features_are("{\"device\":\"rnic0\",\"max_private\":255,\"windows\":false,\"reports\":[],"
                 "\"access\":[\"local-write\",\"remote-read\",\"remote-write\"],"
                 "\"ops\":[\"send\",\"send-se\",\"write\",\"read\"],"
                 "\"config\":[\"ird\",\"ord\",\"send_depth\",\"recv_depth\"],"
                 "\"limits\":{\"pieces\":4,\"memories\":1000,\"connections\":100,\"queue\":128,"
                 "\"ird\":32,\"ord\":64}}");
    enrich();
    features_are("{\"device\":\"rnic0\",\"max_private\":255,\"windows\":true,\"reports\":[],"
                 "\"access\":[\"local-write\",\"remote-read\",\"remote-write\","
                 "\"remote-invalidate\",\"remote-atomic\",\"bind\"],"
                 "\"ops\":[\"send\",\"send-se\",\"write\",\"read\",\"send-invalidate\","
                 "\"send-se-invalidate\",\"fetch-add\",\"cmp-swap\"],"
                 "\"config\":[\"ird\",\"ord\",\"send_depth\",\"recv_depth\"],"
                 "\"limits\":{\"pieces\":4,\"memories\":1000,\"connections\":100,\"queue\":128,"
                 "\"ird\":32,\"ord\":64}}");
}

/* ---- what it cannot do ---- */

/* The runner takes a text that begins so for a reason to skip the case. */
static void says_what_is_unsupported(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    open_connection(h, "");
    static const char *const requests[][2] = {
        {"verb stream_send", "'do':'stream_send','conn':2,'hex':''"},
        {"verb stream_take", "'do':'stream_take','conn':2"},
        {"verb start", "'do':'start','conn':2"},
        {"verb bind", "'do':'bind','mem':1,'length':1"},
        {"verb unbind", "'do':'unbind','window':1"},
        {"field stream", "'do':'listen','stream':true"},
        {"field half_close: the driver decides", "'do':'listen','half_close':true"},
        {"field crc: the driver decides", "'do':'listen','config':{'crc':true}"},
        {"field how: terminate", "'do':'close','conn':2,'how':'terminate'"},
        {"field to: the device takes addresses only", "'do':'register','length':1,'to':0"},
        {"field conn: regions belong to a protection domain",
         "'do':'register','length':1,'conn':2"},
        {"field access: bind: the device has no windows",
         "'do':'register','length':1,'access':['bind']"},
        {"field access: remote-atomic: the device has no atomics",
         "'do':'register','length':1,'access':['remote-atomic']"},
        {"field access: remote-invalidate: the device cannot",
         "'do':'register','length':1,'access':['remote-invalidate']"},
        {"field length: 0", "'do':'register','length':0"},
        {"op send-invalidate", "'do':'post','conn':2,'work':1,'op':'send-invalidate'"},
        {"op send-se-invalidate", "'do':'post','conn':2,'work':1,'op':'send-se-invalidate'"},
        {"op immediate",
         "'do':'post','conn':2,'work':1,'op':'immediate','immediate':'0001020304050607'"},
        {"op fetch-add", "'do':'post','conn':2,'work':1,'op':'fetch-add'"},
        {"op cmp-swap", "'do':'post','conn':2,'work':1,'op':'cmp-swap'"},
    };
    h->device.attributes.vendor_id = 0x626d74; /* siw */
    for (size_t i = 0; i < COUNT(requests); i++) {
        char error[AGENT_ERROR];
        snprintf(error, sizeof(error), AGENT_UNSUPPORTED "%s", requests[i][0]);
        refuse(h, error, "{%s}", requests[i][1]);
    }
    char hex[2 * 256 + 1];
    memset(hex, '0', sizeof(hex) - 1);
    hex[sizeof(hex) - 1] = '\0';
    refuse(h, "unsupported: field private: more than 255 octets",
           "{'do':'listen','host':'192.0.2.1','private':'%s'}", hex);
    refuse(h, "unsupported: field private: more than 255 octets",
           "{'do':'connect','host':'192.0.2.1','port':1,'private':'%s'}", hex);
    json_int_t m = ask(h, "mem", "{'do':'register','length':9}");
    refuse(h, "unsupported: more than 4 pieces",
           "{'do':'post','conn':2,'work':1,'op':'send','sge':[[%d,0,1],[%d,1,1],[%d,2,1],[%d,3,1],"
           "[%d,4,1]]}",
           (int)m, (int)m, (int)m, (int)m, (int)m);
    assert_int_equal(json_array_size(h->events), 0);
    host_end(h);
}

/* ---- memory ---- */

static void registers_with_each_right(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        unsigned access;
    } rights[] = {{"", 0},
                  {"'local-write'", IBV_ACCESS_LOCAL_WRITE},
                  {"'remote-read'", IBV_ACCESS_REMOTE_READ},
                  {"'remote-write'", IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE},
                  {"'remote-atomic'", IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE},
                  {"'bind'", IBV_ACCESS_MW_BIND},
                  {"'remote-invalidate'", 0},
                  {"'remote-read','remote-write'",
                   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE}};
    doubles_begin();
    enrich();
    struct host *h = host_start();
    for (size_t i = 0; i < COUNT(rights); i++) {
        json_int_t m =
            ask(h, "mem", "{'do':'register','length':100,'access':[%s]}", rights[i].words);
        assert_int_equal(doubles.mrs, 2);
        assert_int_equal(doubles.registered[0].access, rights[i].access);
        assert_int_equal(doubles.registered[0].length, 100);
        assert_int_equal(doubles.registered[0].iova, (uintptr_t)doubles.registered[0].addr);
        assert_int_equal(doubles.registered[1].access, IBV_ACCESS_LOCAL_WRITE);
        ask(h, NULL, "{'do':'invalidate','mem':%d}", (int)m);
        assert_int_equal(doubles.mrs, 1);
        refuse(h, "the STag is not valid any more", "{'do':'invalidate','mem':%d}", (int)m);
        ask(h, NULL, "{'do':'release','mem':%d}", (int)m);
        assert_int_equal(doubles.mrs, 0);
    }
    ask(h, "mem", "{'do':'register','length':16,'guard':3,'to':'0xfffffffffffffff0'}");
    assert_int_equal(doubles.registered[0].iova, UINT64_C(0xfffffffffffffff0));
    assert_int_equal((uintptr_t)doubles.registered[0].addr % 4096, 0xff0);
    refuse(h, "field to: TO plus length wraps",
           "{'do':'register','length':17,'to':'0xfffffffffffffff0'}");
    refuse(h, "field pd: no protection domain 2", "{'do':'register','length':17,'pd':2}");
    assert_int_equal(ask(h, "pd", "{'do':'pd'}"), 2);
    ask(h, "mem", "{'do':'register','length':17,'pd':2}");
    host_end(h);
}

static void says_what_resource_is_missing(void **state)
{
    (void)state;
    struct rlimit before, low;
    doubles_begin();
    struct host *h = host_start();
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    low = before;
    low.rlim_cur = 65536;
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &low), 0);
    doubles_fail(FAULT_REG_MR, ENOMEM, 1);
    refuse(h,
           "the device does not register it: Cannot allocate memory; this process may lock 64 KiB "
           "(RLIMIT_MEMLOCK): try ulimit -l unlimited",
           "{'do':'register','length':1}");
    assert_int_equal(doubles.mrs, 0);
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
    doubles_fail(FAULT_REG_MR, EINVAL, 1);
    refuse(h, "the device does not register it: Invalid argument", "{'do':'register','length':1}");
    doubles_fail(FAULT_ALLOC_PD, EAGAIN, 1);
    refuse(h, "no protection domain: Resource temporarily unavailable", "{'do':'pd'}");
    doubles_fail(FAULT_CREATE_CQ, EINVAL, 1);
    refuse(h, "no queue pair: Invalid argument", "{'do':'connect','host':'192.0.2.2','port':1}");
    doubles_fail(FAULT_CREATE_QP, EINVAL, 1);
    refuse(h, "no queue pair: Invalid argument", "{'do':'connect','host':'192.0.2.2','port':1}");
    host_end(h);
}

/* ---- places ---- */

static void says_why_there_is_no_way(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    doubles.way = &doubles.context[1];
    refuse(h, "cannot listen on 192.0.2.1 port 0: not by way of rnic0",
           "{'do':'listen','host':'192.0.2.1'}");
    refuse(h, "cannot connect to 2001:db8::1 port 9: not by way of rnic0",
           "{'do':'connect','host':'2001:db8::1','port':9}");
    doubles.way = NULL;
    doubles.port_down = true;
    doubles_fail(FAULT_BIND_ADDR, ENODEV, 1);
    refuse(h, "cannot listen on 192.0.2.1 port 0: not by way of rnic0, no port of which is active",
           "{'do':'listen','host':'192.0.2.1'}");
    doubles_fail(FAULT_RESOLVE, ETIMEDOUT, 1);
    refuse(h,
           "cannot connect to 192.0.2.1 port 9: Connection timed out (no port of the device is "
           "active)",
           "{'do':'connect','host':'192.0.2.1','port':9}");
    doubles.port_down = false;
    doubles_fail(FAULT_CONNECT, ECONNREFUSED, 1);
    refuse(h, "cannot connect: Connection refused", "{'do':'connect','host':'192.0.2.1','port':9}");
    doubles_fail(FAULT_LISTEN, EADDRINUSE, 1);
    refuse(h, "cannot listen on 192.0.2.1 port 9: Address already in use",
           "{'do':'listen','host':'192.0.2.1','port':9}");
    /* A port that librdmacm finds free may be taken on TCP: another one is tried. */
    doubles_fail(FAULT_LISTEN, EADDRINUSE, RDMA_TRIES - 1);
    ask(h, "listen", "{'do':'listen','host':'::1'}");
    doubles_fail(FAULT_CONNECT, EADDRINUSE, RDMA_TRIES);
    refuse(h, "cannot connect: Address already in use",
           "{'do':'connect','host':'192.0.2.1','port':9}");
    assert_int_equal(json_array_size(h->events), 0);
    host_end(h);
}

static void passes_parameters_on(void **state)
{
    (void)state;
    doubles_begin();
    struct host *h = host_start();
    json_int_t conn =
        ask(h, "conn",
            "{'do':'connect','host':'192.0.2.1','port':9,'private':'c0ffee','config':{'ird':3,"
            "'ord':5,'send_depth':7,'recv_depth':9}}");
    assert_int_equal(doubles.param.responder_resources, 3);
    assert_int_equal(doubles.param.initiator_depth, 5);
    assert_int_equal(doubles.param.private_data_len, 3);
    assert_memory_equal(doubles.private_data, "\xc0\xff\xee", 3);
    assert_int_equal(doubles.qp.qp_type, IBV_QPT_RC);
    assert_int_equal(doubles.qp.cap.max_send_wr, 7);
    assert_int_equal(doubles.qp.cap.max_recv_wr, 9);
    assert_int_equal(doubles.qp.cap.max_send_sge, 4);
    assert_int_equal(doubles.qp.send_cq->cqe, 16);
    doubles_tell(RDMA_CM_EVENT_REJECTED, doubles.id, NULL, -111, "no");
    want(h, "{'event':'rejected','private':'6e6f','conn':%d}", (int)conn);
    want(h, "{'event':'closed','graceful':true,'cause':'graceful','qp':'rts','conn':%d}",
         (int)conn);
    /* What the device has is the most, and the default. */
    refuse(h, "field ird: expected a number, 0..32",
           "{'do':'listen','host':'192.0.2.1','config':{'ird':33}}");
    refuse(h, "field ord: expected a number, 0..64",
           "{'do':'listen','host':'192.0.2.1','config':{'ord':65}}");
    refuse(h, "field recv_depth: expected a number, 0..128",
           "{'do':'listen','host':'192.0.2.1','config':{'recv_depth':129}}");
    refuse(h, "field send_depth: expected a number from 1",
           "{'do':'listen','host':'192.0.2.1','config':{'send_depth':0}}");
    h->device.attributes.max_qp_rd_atom = 8;
    ask(h, "conn", "{'do':'connect','host':'192.0.2.1','port':9}");
    assert_int_equal(doubles.param.responder_resources, 8);
    assert_int_equal(doubles.param.initiator_depth, 16);
    doubles_tell(RDMA_CM_EVENT_UNREACHABLE, doubles.id, NULL, -ETIMEDOUT, NULL);
    want(h, "{'event':'closed','graceful':false,'cause':'lost','error':'Connection timed out',"
            "'qp':'rts','conn':2}");
    /* A device that says 0 does not say. */
    h->device.attributes.max_qp_rd_atom = 1;
    h->device.attributes.max_qp_init_rd_atom = 0;
    ask(h, "conn", "{'do':'connect','host':'192.0.2.1','port':9}");
    assert_int_equal(doubles.param.responder_resources, 1);
    assert_int_equal(doubles.param.initiator_depth, 16);
    host_end(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_its_device),
        cmocka_unit_test(tells_what_the_device_can),
        cmocka_unit_test(says_what_is_unsupported),
        cmocka_unit_test(registers_with_each_right),
        cmocka_unit_test(says_what_resource_is_missing),
        cmocka_unit_test(says_why_there_is_no_way),
        cmocka_unit_test(passes_parameters_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
