/* SPDX-License-Identifier: BSD-3-Clause */
/* What the launcher's settings (IWARP_VERBS) do, seen by a peer made of a socket. Each child has an
 * engine of its own, which reads them once. */
#include "verbs_world.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAME = 20, LONG = 3000, FIRST = 0x40 /* of the Write's payload */ };

static void fail_child(const char *what)
{
    fprintf(stderr, "child: %s\n", what);
    _exit(1);
}

/* Connects, writes, and waits until it is ended. */
static void connect_and_write(struct sockaddr_in to)
{
    static uint8_t memory[LONG];
    struct world w = {0};
    if ((w.channel = rdma_create_event_channel()) == NULL ||
        rdma_create_id(w.channel, &w.a.id, NULL, RDMA_PS_TCP) != 0 ||
        rdma_resolve_addr(w.a.id, NULL, (struct sockaddr *)&to, 2000) != 0)
        fail_child("address");
    expect_event(&w, RDMA_CM_EVENT_ADDR_RESOLVED);
    if (rdma_resolve_route(w.a.id, 2000) != 0)
        fail_child("route");
    expect_event(&w, RDMA_CM_EVENT_ROUTE_RESOLVED);
    make_side(&w, &w.a);
    struct ibv_mr *mr = ibv_reg_mr(w.a.pd, memory, sizeof(memory), LOCAL);
    struct rdma_conn_param p = {.private_data = "hello",
                                .private_data_len = 5,
                                .responder_resources = 4,
                                .initiator_depth = 3};
    if (mr == NULL || rdma_connect(w.a.id, &p) != 0)
        fail_child("connect");
    expect_event(&w, RDMA_CM_EVENT_ESTABLISHED);
    memset(memory, FIRST, sizeof(memory));
    struct ibv_sge sge = {(uintptr_t)memory, sizeof(memory), mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
    if (post(&w.a, &wr) != 0)
        fail_child("post");
    for (;;)
        pause();
}

/* Begins a child with these settings. Returns its connection. */
static int begin(const char *settings, pid_t *child)
{
    struct sockaddr_in at = loopback(0);
    socklen_t length = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    fflush(NULL);
    *child = fork();
    assert_true(*child >= 0);
    if (*child == 0) {
        if (settings != NULL)
            setenv("IWARP_VERBS", settings, 1);
        else
            unsetenv("IWARP_VERBS");
        connect_and_write(at);
    }
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    close(listener);
    return fd;
}

static void end(int fd, pid_t child)
{
    int status;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(fd);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void take(int fd, uint8_t *octets, size_t length)
{
    assert_int_equal(recv(fd, octets, length, MSG_WAITALL), length);
}

static unsigned get16(const uint8_t *octets)
{
    return (unsigned)octets[0] << 8 | octets[1];
}

/* RFC 5044 §7.1, RFC 6581 §6.2: M 80, C 40, S 10; A and the depths. */
static void the_request_says_what_is_set(void **state)
{
    static const struct {
        const char *settings;
        uint8_t flags, revision;
        bool rtr;
    } rows[] = {
        {NULL, 0x50, 2, true},
        {"", 0x50, 2, true},
        {"crc=on,markers=off,rtr=on,verbose=off,revision=2,mulpdu=0", 0x50, 2, true},
        {"crc=off", 0x10, 2, true},
        {"markers=on", 0xd0, 2, true},
        {"rtr=off", 0x50, 2, false},
        {"revision=1", 0x40, 1, false},
        {"crc=off,markers=on,revision=1,rtr=on", 0x80, 1, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t frame[FRAME], data[16];
        pid_t child;
        int fd = begin(rows[i].settings, &child);
        const unsigned extra = rows[i].revision == 2 ? 4 : 0;
        take(fd, frame, sizeof(frame));
        assert_memory_equal(frame, "MPA ID Req Frame", 16);
        assert_int_equal(frame[16], rows[i].flags);
        assert_int_equal(frame[17], rows[i].revision);
        assert_int_equal(get16(frame + 18), 5 + extra);
        take(fd, data, 5 + extra);
        if (extra > 0) {
            assert_int_equal(get16(data) & 0x8000, rows[i].rtr ? 0x8000 : 0);
            assert_int_equal(get16(data) & 0x3fff, 4);
            assert_int_equal(get16(data + 2) & 0x3fff, 3);
        }
        assert_memory_equal(data + extra, "hello", 5);
        end(fd, child);
    }
}

/* The first FPDU of a Write that is longer: its length field, and no CRC if neither wants one. */
static void fpdus_are_as_long_as_is_set(void **state)
{
    static const struct {
        const char *settings;
        uint8_t flags; /* of the Reply */
        unsigned length;
        bool crc;
    } rows[] = {
        {"revision=1,mulpdu=128", 0x40, 128, true},
        {"revision=1,mulpdu=1000,crc=off", 0, 1000, false},
        {"revision=1,crc=off", 0, LONG + 14, false}, /* one segment of loopback's */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t frame[FRAME + 5], reply[FRAME + 1] = "MPA ID Rep Frame", fpdu[LONG + 100];
        pid_t child;
        int fd = begin(rows[i].settings, &child);
        take(fd, frame, sizeof(frame));
        reply[16] = rows[i].flags;
        reply[17] = 1;
        reply[18] = reply[19] = 0;
        assert_int_equal(send(fd, reply, FRAME, 0), FRAME);
        const size_t padded = (2 + rows[i].length + 3) / 4 * 4;
        take(fd, fpdu, padded + 4);
        assert_int_equal(get16(fpdu), rows[i].length);
        assert_int_equal(fpdu[2] & 0x80, 0x80); /* tagged */
        assert_int_equal(fpdu[3] & 0x0f, 0);    /* a Write */
        assert_int_equal(fpdu[2 + 14], FIRST);  /* RFC 5041 §4.2: 14 octets of header */
        assert_int_equal(fpdu[rows[i].length + 1], FIRST);
        assert_int_equal(memcmp(fpdu + padded, "\0\0\0\0", 4) != 0, rows[i].crc);
        end(fd, child);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_request_says_what_is_set),
        cmocka_unit_test(fpdus_are_as_long_as_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
