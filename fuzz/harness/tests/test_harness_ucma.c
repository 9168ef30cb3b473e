/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the device: what it asks for, and which wrong answers it notices. */
#include "spy.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <stdbool.h>
#include <unistd.h>

enum { FIRST = 1000 }; /* of the device's descriptors */

/* A device that gives out handles 7, 8 ..., and lies where it is told to. */
static struct {
    uint32_t handles;
    int error;         /* of each command; 0: none */
    bool too_long;     /* an answer is one octet longer than its place */
    bool same_handle;  /* each identifier gets the same */
    uint32_t reported; /* events of an identifier that ends */
    ssize_t short_by;  /* octets that are not written */
    int opened;
} device;

int open(const char *path, int flags, ...);
int open(const char *path, int flags, ...)
{
    assert_string_equal(path, "/dev/infiniband/rdma_cm");
    assert_int_equal(flags, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    return FIRST + device.opened++;
}

int close(int fd);
int close(int fd)
{
    spy_note("close %d\n", fd - FIRST);
    return 0;
}

static void answer(uint64_t to, const void *octets, size_t length, size_t room)
{
    if (to != 0 && length > room)
        length = room;
    if (to != 0)
        memcpy((void *)(uintptr_t)to, octets, length);
    if (to != 0 && device.too_long)
        ((uint8_t *)(uintptr_t)to)[room] = 1;
}

static void create(const void *body, size_t room)
{
    struct rdma_ucm_create_id in;
    memcpy(&in, body, sizeof(in));
    const uint32_t handle = device.same_handle ? 7 : 7 + device.handles++;
    spy_note(" uid %u ps %#x", (unsigned)in.uid, in.ps);
    answer(in.response, &handle, sizeof(handle), room);
}

static void resolve(const void *body)
{
    struct rdma_ucm_resolve_ip in;
    struct sockaddr_in to;
    memcpy(&in, body, sizeof(in));
    memcpy(&to, &in.dst_addr, sizeof(to));
    spy_note(" id %u to %#x:%u", in.id, ntohl(to.sin_addr.s_addr), ntohs(to.sin_port));
}

ssize_t write(int fd, const void *octets, size_t length);
ssize_t write(int fd, const void *octets, size_t length)
{
    struct rdma_ucm_cmd_hdr header;
    const uint8_t *body = (const uint8_t *)octets + sizeof(header);
    memcpy(&header, octets, sizeof(header));
    spy_note("%d: %u %u %u", fd - FIRST, header.cmd, header.in, header.out);
    if (header.cmd == RDMA_USER_CM_CMD_CREATE_ID && length == sizeof(header) + header.in)
        create(body, header.out);
    if (header.cmd == RDMA_USER_CM_CMD_RESOLVE_IP)
        resolve(body);
    struct rdma_ucm_destroy_id in;
    if (header.cmd == RDMA_USER_CM_CMD_DESTROY_ID && length == sizeof(header) + sizeof(in)) {
        memcpy(&in, body, sizeof(in));
        spy_note(" id %u", in.id);
        answer(in.response, &device.reported, sizeof(device.reported), header.out);
    }
    spy_note("\n");
    errno = device.error;
    return device.error != 0 ? -1 : (ssize_t)length - device.short_by;
}

static void expect(const char *hex, const char *fault)
{
    assert_string_equal(spy_runs(&iw_fuzz_harness, hex), fault);
    spy_forget();
}

static int set_up(void **state)
{
    (void)state;
    memset(&device, 0, sizeof(device));
    spy_forget();
    return 0;
}

#define CREATE "00 00 00 00 00 "
#define DESTROY "01 00 00 00 00 "

static void commands_get_names_that_exist(void **state)
{
    (void)state;
    spy_run(&iw_fuzz_harness, CREATE CREATE "01 01 00 01 00", "",
            "0: 0 24 1024 uid 1 ps 0\n0: 0 24 1024 uid 2 ps 0\n1: 1 16 1024 id 8\n"
            "close 0\nclose 1\n");
    set_up(NULL);
    /* Of a length of its own, with a place of three octets, and cut short. */
    spy_run(&iw_fuzz_harness, "01 3a 03 00 0c 0000000000000000 05000000", "",
            "0: 1 3 3\nclose 0\nclose 1\n");
    set_up(NULL);
    spy_run(&iw_fuzz_harness, "17 00 00 02 00 19 01 00 00 00", "",
            "0: 25 32 1024\nclose 1\nclose 0\nclose 2\n");
}

static void nothing_but_loopback_is_connected_to(void **state)
{
    (void)state;
    /* To 8.8.8.8, port 3. */
    spy_run(&iw_fuzz_harness,
            "03 02 00 00 24 "
            "00000000 00000000 00000000 00000000 00000000 00000000 00000000 0200 0003 08080808",
            "", "0: 3 64 1024 id 0 to 0x7f000001:9\nclose 0\nclose 1\n");
}

static void wrong_answers_are_noticed(void **state)
{
    (void)state;
    device.error = EPERM;
    expect(CREATE, "ucma: command 0 ends with errno 1");
    set_up(NULL);
    device.short_by = 1;
    expect(CREATE, "ucma: 31 octets of 32 written");
    set_up(NULL);
    device.too_long = true;
    expect(CREATE, "ucma: an answer to command 0 is longer than its place");
    set_up(NULL);
    device.same_handle = true;
    expect(CREATE CREATE, "ucma: two identifiers with handle 7");
}

static void events_are_counted(void **state)
{
    (void)state;
    expect(CREATE DESTROY, "");
    set_up(NULL);
    device.reported = 2;
    expect(CREATE DESTROY, "ucma: 2 events reported, not 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(commands_get_names_that_exist, set_up),
        cmocka_unit_test_setup(nothing_but_loopback_is_connected_to, set_up),
        cmocka_unit_test_setup(wrong_answers_are_noticed, set_up),
        cmocka_unit_test_setup(events_are_counted, set_up),
    };
    iw_fuzz_harness.start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
