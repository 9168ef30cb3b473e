/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the device: what each record becomes, which names and places are put in, and what
 * it keeps of the answers. Verbs and the device are fakes that note what they are asked for. */
#include "spy.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { FIRST = 1000 }; /* of the device's descriptors */

static struct {
    uint32_t handles, reported, event, event_id;
    uint64_t event_uid;
    uint16_t port;    /* that a route has */
    int error, fails; /* errno of the commands of this number */
    bool no_open, no_close, no_route;
    int opened;
} device;

/* ---- verbs ---- */

static struct ibv_context context;
static struct ibv_device a_device, *devices[2] = {&a_device, NULL};
static struct ibv_pd pd;
static struct ibv_cq cq;
static struct ibv_qp qps[2];
static unsigned qps_made, done; /* completions that are there */
static bool no_context, no_pd, no_cq, no_qp, qp_stays;
static int no_state = -1; /* that a queue pair does not get into */

struct ibv_device **ibv_get_device_list(int *count)
{
    assert_null(count);
    return devices;
}

void ibv_free_device_list(struct ibv_device **list)
{
    assert_ptr_equal(list, devices);
    spy_note("list freed\n");
}

struct ibv_context *ibv_open_device(struct ibv_device *one)
{
    assert_ptr_equal(one, &a_device);
    return no_context ? NULL : &context;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *of)
{
    assert_ptr_equal(of, &context);
    return no_pd ? NULL : &pd;
}

static int poll_cq(struct ibv_cq *of, int most, struct ibv_wc *wc)
{
    (void)wc;
    assert_ptr_equal(of, &cq);
    assert_int_equal(most, 1);
    spy_note("poll\n");
    return done > 0 ? (int)done-- : 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *of, int size, void *own,
                             struct ibv_comp_channel *channel, int vector)
{
    (void)own;
    assert_ptr_equal(of, &context);
    assert_null(channel);
    assert_int_equal(vector, 0);
    assert_true(size > 0);
    context.ops.poll_cq = poll_cq;
    cq.context = &context;
    return no_cq ? NULL : &cq;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *of, struct ibv_qp_init_attr *attr)
{
    assert_ptr_equal(of, &pd);
    assert_ptr_equal(attr->send_cq, &cq);
    assert_ptr_equal(attr->recv_cq, &cq);
    struct ibv_qp *qp = &qps[qps_made++ % 2];
    qp->qp_num = (uint32_t)(0x51 + (qp - qps));
    return no_qp ? NULL : qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    assert_int_equal(mask, IBV_QP_STATE);
    spy_note("qp %x: state %d\n", qp->qp_num, attr->qp_state);
    return (int)attr->qp_state == no_state ? EINVAL : 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    spy_note("qp %x ends\n", qp->qp_num);
    return qp_stays ? EBUSY : 0;
}

/* ---- the device ---- */

int open(const char *path, int flags, ...);
int open(const char *path, int flags, ...)
{
    assert_string_equal(path, "/dev/infiniband/rdma_cm");
    assert_int_equal(flags, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    return device.no_open ? -1 : FIRST + device.opened++;
}

int close(int fd);
int close(int fd)
{
    spy_note("close %d\n", fd - FIRST);
    return device.no_close ? -1 : 0;
}

static void answer(uint64_t to, const void *octets, size_t length, size_t room)
{
    if (to != 0)
        memcpy((void *)(uintptr_t)to, octets, length < room ? length : room);
}

/* Where a command has pointers: they are noted as whether they are there. */
static int place_of(unsigned number)
{
    return number == RDMA_USER_CM_CMD_CREATE_ID ? 8
           : number == RDMA_USER_CM_CMD_BIND_IP ? -1
           : number == RDMA_USER_CM_CMD_DESTROY_ID || number == RDMA_USER_CM_CMD_QUERY_ROUTE ||
                   number == RDMA_USER_CM_CMD_INIT_QP_ATTR ||
                   number == RDMA_USER_CM_CMD_GET_EVENT || number == RDMA_USER_CM_CMD_SET_OPTION ||
                   number == RDMA_USER_CM_CMD_MIGRATE_ID || number == RDMA_USER_CM_CMD_QUERY
               ? 0
               : -1;
}

/* The octets of a command without the zeros at its end; of many others their number. */
static uint64_t note_body(unsigned number, const uint8_t *octets, size_t length)
{
    uint8_t body[1200];
    uint64_t place = 0;
    const int at = place_of(number);
    memcpy(body, octets, length);
    if (at >= 0 && length >= (size_t)at + 8) {
        memcpy(&place, body + at, 8);
        memset(body + at, place != 0 ? 0xff : 0, 8);
    }
    if (number == RDMA_USER_CM_CMD_SET_OPTION && place != 0)
        spy_note(" sets %02x", *(const uint8_t *)(uintptr_t)place);
    while (length > 0 && body[length - 1] == 0)
        length--;
    spy_note(" ");
    for (size_t i = 0; i < length; i++) {
        size_t zeros = 0;
        while (body[i + zeros] == 0)
            zeros++;
        if (zeros >= 16)
            spy_note("(%zu)", zeros);
        i += zeros >= 16 ? zeros : 0;
        spy_note_octets(body + i, 1);
    }
    return place;
}

ssize_t write(int fd, const void *octets, size_t length);
ssize_t write(int fd, const void *octets, size_t length)
{
    struct rdma_ucm_cmd_hdr header;
    const uint8_t *body = (const uint8_t *)octets + sizeof(header);
    memcpy(&header, octets, sizeof(header));
    spy_note("%d: %u %u/%zu %u", fd - FIRST, header.cmd, header.in, length - sizeof(header),
             header.out);
    const uint64_t place = note_body(header.cmd, body, length - sizeof(header));
    spy_note("\n");
    errno = device.error;
    if (device.error != 0 && (int)header.cmd == device.fails)
        return -1;
    if (header.cmd == RDMA_USER_CM_CMD_CREATE_ID) {
        const uint32_t handle = 7 + device.handles++;
        answer(place, &handle, sizeof(handle), header.out);
    } else if (header.cmd == RDMA_USER_CM_CMD_DESTROY_ID ||
               header.cmd == RDMA_USER_CM_CMD_MIGRATE_ID) {
        answer(place, &device.reported, sizeof(device.reported), header.out);
    } else if (header.cmd == RDMA_USER_CM_CMD_GET_EVENT) {
        const struct rdma_ucm_event_resp e = {
            .uid = device.event_uid, .id = device.event_id, .event = device.event};
        answer(place, &e, sizeof(e), header.out);
    } else if (header.cmd == RDMA_USER_CM_CMD_QUERY_ROUTE) {
        const struct rdma_ucm_query_route_resp r = {.src_addr.sin6_port = htons(device.port)};
        answer(place, &r, sizeof(r), header.out);
        return (ssize_t)length - device.no_route;
    }
    return (ssize_t)length;
}

static int set_up(void **state)
{
    (void)state;
    memset(&device, 0, sizeof(device));
    device.port = 4242;
    device.fails = -1;
    qps_made = done = 0;
    no_qp = qp_stays = false;
    no_state = -1;
    spy_forget();
    return 0;
}

static void expect(const char *hex, const char *said)
{
    assert_string_equal(spy_runs(&iw_fuzz_harness, hex), said);
}

/* Asserts what is noted between the begin and the end of each input. */
static void play(const char *hex, const char *notes)
{
    static const char begin[] = "qp 51: state 0\nqp 51: state 1\nqp 52: state 0\nqp 52: state 1\n";
    static const char end[] = "qp 51 ends\nqp 52 ends\npoll\npoll\npoll\npoll\n";
    char all[8192];
    expect(hex, "");
    snprintf(all, sizeof(all), "%s%s%s", begin, notes, end);
    assert_string_equal(spy_notes(), all);
    set_up(NULL);
}

#define CREATE "00 00 00 00 00 "
#define CREATE_2 "00 01 00 00 00 "
#define CREATED "0: 0 24/24 1024 0100000000000000ffffffffffffffff\n"
#define CLOSED "close 0\nclose 1\n"
#define DESTROY "01 00 00 00 00 "
#define EVENT "0c 00 00 00 00 "
#define PORT(n) "02 00 00 00 0c 0000000000000000 0a00 000" n

static void lengths_and_places(void **state)
{
    (void)state;
    play("", CLOSED);
    play("00 00 00 00", CLOSED); /* no whole record */
    play(CREATE, CREATED CLOSED);
    play("00 04 00 00 00", "0: 0 24/24 1024 01\n" CLOSED);
    play("00 10 03 00 00", "0: 0 24/24 3 0100000000000000ffffffffffffffff\n" CLOSED);
    play("17 00 00 05 00", "0: 28 32/32 1024 \n" CLOSED); /* unknown: 23 and on */
    play("0d 00 04 00 01 ff", "0: 13 16/16 1024 ff\n" CLOSED);
    play("0d 08 04 00 01 ff", "0: 13 4/4 1024 ff\n" CLOSED);
    play("0d 08 4d 04 01 ff", "0: 13 1/1 1024 ff\n" CLOSED); /* 1101 modulo 1100 */
    play("0d 28 04 00 04 010203ff", "0: 13 4/3 1024 010203\n" CLOSED);
    play("0d 28 00 00 04 010203ff", "0: 13 0/0 1024 \n" CLOSED);
    play("28 00 00 00 01 ff", "0: 13 16/16 1024 ff\n" CLOSED); /* 27 kinds of records */
    play("0d 00 00 00 ff 0102", "0: 13 16/16 1024 0102\n" CLOSED);
    /* An option lies beside the command. */
    play("0e 00 00 00 09 0000000000000000 2a",
         "0: 14 24/24 1024 sets 2a ffffffffffffffff2a\n" CLOSED);
    play("0e 04 00 00 09 0000000000000000 2a", "0: 14 24/24 1024 00000000000000002a\n" CLOSED);
}

static void names(void **state)
{
    (void)state;
    /* Of identifiers: by the octet of the command and one of the record. */
    play(CREATE CREATE_2 DESTROY, CREATED "1: 0 24/24 1024 0200000000000000ffffffffffffffff\n"
                                          "0: 1 16/16 1024 ffffffffffffffff07\n" CLOSED);
    play(CREATE CREATE_2 "01 00 00 01 00 " DESTROY,
         CREATED "1: 0 24/24 1024 0200000000000000ffffffffffffffff\n"
                 "0: 1 16/16 1024 ffffffffffffffff08\n"
                 "0: 1 16/16 1024 ffffffffffffffff07\n" CLOSED);
    play(CREATE CREATE_2 "01 00 00 02 09 0000000000000000 05",
         CREATED "1: 0 24/24 1024 0200000000000000ffffffffffffffff\n"
                 "0: 1 16/16 1024 ffffffffffffffff08\n" CLOSED);
    play(CREATE "01 02 00 00 09 0000000000000000 05",
         CREATED "0: 1 16/16 1024 ffffffffffffffff05\n" CLOSED);
    play("01 00 00 00 09 0000000000000000 05", "0: 1 16/16 1024 ffffffffffffffff05\n" CLOSED);
    /* Of queue pairs. */
    play("06 00 00 00 01 02", "0: 6 288/288 1024 51\n" CLOSED);
    play(CREATE "06 00 00 00 01 03", CREATED "0: 6 288/288 1024 52(271)07\n" CLOSED);
    play("06 02 00 00 01 03", "0: 6 288/288 1024 03\n" CLOSED);
    play(CREATE "08 00 00 00 09 0000000000000000 01",
         CREATED "0: 8 296/296 1024 020000000000000052(271)07\n" CLOSED);
    /* Of descriptors. */
    play(CREATE "12 01 00 00 0d 0000000000000000 00000000 03",
         CREATED "1: 18 16/16 1024 ffffffffffffffff07000000e903\n" CLOSED);
    play(CREATE "12 03 00 00 0d 0000000000000000 07000000 03",
         CREATED "1: 18 16/16 1024 ffffffffffffffff0700000003\n" CLOSED);
}

static void sixteen_identifiers_at_once(void **state)
{
    (void)state;
    char hex[20 * 20] = "";
    for (unsigned i = 0; i < 17; i++)
        strcat(hex, CREATE);
    expect(hex, "");
    assert_int_equal(device.handles, 16);
    set_up(NULL);
    strcat(hex, DESTROY CREATE CREATE);
    expect(hex, "");
    assert_int_equal(device.handles, 17);
    set_up(NULL);
    /* What comes by events counts, too, and beyond the sixteenth it is not kept. */
    device.event = 4;
    device.event_id = 99;
    device.event_uid = 1;
    hex[17 * 15] = '\0';
    hex[15 * 15] = '\0';
    strcat(hex, EVENT CREATE CREATE);
    expect(hex, "");
    assert_int_equal(device.handles, 15);
}

static void addresses(void **state)
{
    (void)state;
    static const char route[] = "0: 5 16/16 208 ffffffffffffffff\n";
    char notes[1000];
    snprintf(notes, sizeof(notes), "%s%s%s%s%s%s%s%s%s%s" CLOSED,
             "0: 2 40/40 1024 00000000000000000a(22)01\n", route,
             "0: 2 40/40 1024 00000000000000000a001092(19)01\n", route,
             "0: 2 40/40 1024 00000000000000000a001092(19)01\n", route,
             "0: 2 40/40 1024 00000000000000000a(22)01\n", route,
             "0: 2 40/40 1024 00000000000000000a000009(19)01\n", route);
    play(PORT("1") PORT("4") PORT("1") PORT("2") PORT("3"), notes);
    /* An address has loopback, whatever it says, no flow and no scope. */
    play("02 00 00 00 24 0000000000000000 0a000003 ffffffff aabbccddaabbccddaabbccddaabbccdd "
         "ffffffff",
         "0: 2 40/40 1024 00000000000000000a000009(19)01\n"
         "0: 5 16/16 208 ffffffffffffffff\n" CLOSED);
    play("14 00 00 00 10 00000000 1c000000 02000003 08080808",
         "0: 20 136/136 1024 000000001c000000020000097f000001000000000000000000000000000000"
         "01\n0: 5 16/16 208 ffffffffffffffff\n" CLOSED);
    play("03 00 00 00 24 02000003 08080808 000000000000000000000000 0000000000000000 02000002 "
         "08080808",
         "0: 3 64/64 1024 020000097f00000100000000000000000000000000000001000000000200"
         "00007f00000100000000000000000000000000000001\n" CLOSED);
}

static void other_records(void **state)
{
    (void)state;
    done = 2;
    play("18 00 03 00 00", "poll\npoll\npoll\npoll\npoll\n" CLOSED);
    play("18 00 00 00 00", CLOSED);
    play("1a 00 02 00 00 1a 00 03 00 00",
         "qp 51: state 0\nqp 51: state 1\nqp 52: state 0\nqp 52: state 1\n" CLOSED);
    play("19 01 00 00 00", "close 1\nclose 0\nclose 2\n");
    play("19 00 00 00 00", "close 0\nclose 2\nclose 1\n");
    /* What belongs to a file goes with it. */
    play(CREATE CREATE_2 "19 00 00 00 00 01 01 00 00 00",
         CREATED "1: 0 24/24 1024 0200000000000000ffffffffffffffff\nclose 0\n"
                 "1: 1 16/16 1024 ffffffffffffffff08\nclose 2\nclose 1\n");
    /* Unless it has moved. */
    play(CREATE "12 01 00 00 00 19 00 00 00 00 01 01 00 00 00",
         CREATED "1: 18 16/16 1024 ffffffffffffffff07000000e803\nclose 0\n"
                 "1: 1 16/16 1024 ffffffffffffffff07\nclose 2\nclose 1\n");
}

/* ---- what is kept of answers ---- */

/* The device answers each GET_EVENT with one of this kind; ends report so many. */
static void events(unsigned kind, uint64_t uid, uint32_t id, uint32_t reported)
{
    set_up(NULL);
    device.event = kind;
    device.event_uid = uid;
    device.event_id = id;
    device.reported = reported;
}

static void events_are_counted(void **state)
{
    (void)state;
    events(9, 1, 7, 1);
    expect(CREATE EVENT DESTROY, "");
    events(9, 1, 7, 2);
    expect(CREATE EVENT EVENT DESTROY, "");
    events(9, 1, 7, 0);
    expect(CREATE EVENT DESTROY, "ucma: 0 events reported, not 1");
    events(9, 2, 7, 0);
    expect(CREATE EVENT DESTROY, ""); /* of another */
    events(9, 0, 7, 0);
    expect(CREATE EVENT, "ucma: an event of nobody");
    /* Moved, it is counted as well. */
    events(9, 1, 7, 0);
    expect(CREATE EVENT "12 01 00 00 00", "ucma: 0 events reported, not 1");
    events(9, 1, 7, 1);
    expect(CREATE EVENT "12 01 00 00 00", "");
    /* Without a place for the number nothing is compared. */
    events(9, 1, 7, 0);
    expect(CREATE EVENT "01 10 03 00 00", "");
    events(9, 1, 7, 0);
    expect(CREATE EVENT "01 10 04 00 00", "ucma: 0 events reported, not 1");
    events(9, 1, 7, 0);
    expect(CREATE EVENT "01 04 00 00 00", "");
    /* An event that cannot be read may be of each identifier of its file. */
    events(9, 1, 7, 5);
    expect(CREATE "0c 04 00 00 00 " DESTROY, "");
    events(9, 1, 7, 5);
    expect(CREATE "0c 10 80 00 00 " DESTROY, "");
    events(9, 1, 7, 5);
    expect(CREATE_2 "0c 04 00 00 00 " DESTROY, "ucma: 5 events reported, not 0");
    events(9, 1, 7, 5);
    expect(CREATE_2 "0c 05 00 00 00 " DESTROY, "");
}

static void identifiers_are_learnt(void **state)
{
    (void)state;
    events(4, 1, 30, 0);
    expect(CREATE EVENT EVENT, "ucma: two identifiers with handle 30");
    events(5, 1, 30, 0);
    expect(CREATE EVENT EVENT, "");
    events(4, 1, 7, 0);
    expect(CREATE EVENT, "ucma: two identifiers with handle 7");
    /* By an event it has no name of ours before it is accepted: its events are counted from 0. */
    events(4, 9, 30, 0);
    expect(EVENT "08 00 00 00 00 " DESTROY, "");
    assert_non_null(strstr(spy_notes(), "0: 8 296/296 1024 010000000000000051(271)1e\n"
                                        "0: 1 16/16 1024 ffffffffffffffff1e\n"));
    /* Of an answer that has no room nothing is learnt. */
    events(9, 9, 0, 0);
    expect("00 10 03 00 00 " DESTROY, "");
    assert_non_null(strstr(spy_notes(), "0: 1 16/16 1024 ffffffffffffffff\n"));
    events(9, 9, 0, 0);
    expect("00 10 04 00 00 " DESTROY, "");
    assert_non_null(strstr(spy_notes(), "0: 1 16/16 1024 ffffffffffffffff07\n"));
    events(9, 9, 0, 0);
    expect("00 04 00 00 00 " DESTROY, "");
    assert_non_null(strstr(spy_notes(), "0: 1 16/16 1024 ffffffffffffffff\n"));
}

static void accepted_ones_get_another_name(void **state)
{
    (void)state;
    events(9, 2, 7, 1);
    expect(CREATE "08 00 00 00 00 " EVENT DESTROY, "");
    events(9, 1, 7, 0);
    expect(CREATE "08 00 00 00 00 " EVENT DESTROY, "");
    events(9, 1, 7, 5);
    expect(CREATE "08 00 00 00 00 " DESTROY, "ucma: 5 events reported, not 0");
    /* One that fails may have had events. */
    events(9, 1, 7, 5);
    device.error = ECONNRESET;
    device.fails = RDMA_USER_CM_CMD_ACCEPT;
    expect(CREATE "08 00 00 00 00 " DESTROY, "");
    events(9, 1, 7, 5);
    device.error = ECONNRESET;
    device.fails = RDMA_USER_CM_CMD_CONNECT;
    expect(CREATE "06 00 00 00 00 " DESTROY, "ucma: 5 events reported, not 0");
}

static void failures_change_nothing(void **state)
{
    (void)state;
    events(9, 1, 7, 5);
    device.error = EINVAL;
    device.fails = RDMA_USER_CM_CMD_DESTROY_ID;
    expect(CREATE DESTROY DESTROY, "");
    assert_non_null(strstr(spy_notes(), "0: 1 16/16 1024 ffffffffffffffff07\n"
                                        "0: 1 16/16 1024 ffffffffffffffff07\n"));
    set_up(NULL);
    device.error = EINVAL;
    device.fails = RDMA_USER_CM_CMD_CREATE_ID;
    expect(CREATE DESTROY, "");
    assert_non_null(strstr(spy_notes(), "0: 1 16/16 1024 ffffffffffffffff\n"));
}

static void errors(void **state)
{
    (void)state;
    static const int known[] = {EINVAL,        ENOENT,     ENOSYS,      EOPNOTSUPP,  EAGAIN,
                                EADDRNOTAVAIL, EADDRINUSE, ENOMEM,      EBADF,       EFAULT,
                                ECONNRESET,    EACCES,     ENETUNREACH, EAFNOSUPPORT};
    for (int error = 1; error < 134; error++) {
        bool is = false;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            is |= known[i] == error;
        char said[60];
        snprintf(said, sizeof(said), "ucma: command 13 ends with errno %d", error);
        set_up(NULL);
        device.error = error;
        device.fails = 13;
        expect("0d 00 00 00 00", is ? "" : said);
    }
}

static void ports(void **state)
{
    (void)state;
    device.no_route = true;
    expect(PORT("2"), "ucma: a bound identifier has no route");
    set_up(NULL);
    device.port = 0;
    expect(PORT("2"), "ucma: a bound identifier has no port");
    set_up(NULL);
    device.port = 0;
    device.error = EADDRINUSE;
    device.fails = RDMA_USER_CM_CMD_BIND_IP;
    expect(PORT("2"), "");
}

/* ---- its own objects ---- */

static void begin(void *argument)
{
    (void)argument;
    iw_fuzz_harness.start();
}

static void what_is_not_there(void **state)
{
    (void)state;
    bool *const list[] = {&no_context, &no_pd, &no_cq};
    static const char *const said[] = {"ucma: no device", "ucma: no objects", "ucma: no objects"};
    for (unsigned i = 0; i < 3; i++) {
        *list[i] = true;
        assert_string_equal(spy_fault(begin, NULL), said[i]);
        *list[i] = false;
    }
    assert_string_equal(spy_fault(begin, NULL), "");
    no_qp = true;
    expect("", "ucma: no queue pair");
    set_up(NULL);
    no_state = IBV_QPS_RESET;
    expect("", "ucma: no reset");
    set_up(NULL);
    no_state = IBV_QPS_INIT;
    expect("", "ucma: no queue pair after it");
    set_up(NULL);
    device.no_open = true;
    expect("", "ucma: the device cannot be opened");
    set_up(NULL);
    device.no_close = true;
    expect("", "ucma: the device cannot be closed");
    set_up(NULL);
    qp_stays = true;
    expect("", "ucma: a queue pair stays");
    assert_string_equal(iw_fuzz_harness.name, "ucma");
    assert_int_equal(iw_fuzz_harness.most, 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_not_there, set_up),
        cmocka_unit_test_setup(lengths_and_places, set_up),
        cmocka_unit_test_setup(names, set_up),
        cmocka_unit_test_setup(sixteen_identifiers_at_once, set_up),
        cmocka_unit_test_setup(addresses, set_up),
        cmocka_unit_test_setup(other_records, set_up),
        cmocka_unit_test_setup(events_are_counted, set_up),
        cmocka_unit_test_setup(identifiers_are_learnt, set_up),
        cmocka_unit_test_setup(accepted_ones_get_another_name, set_up),
        cmocka_unit_test_setup(failures_change_nothing, set_up),
        cmocka_unit_test_setup(errors, set_up),
        cmocka_unit_test_setup(ports, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
