/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_UCMA_COMMANDS_H
#define IW_TESTS_UCMA_COMMANDS_H

/* The device's commands, as a program gives them that speaks to it itself. Include from one test
 * program. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEVICE "/dev/infiniband/rdma_cm"

/* enum rdma_cm_event_type of <rdma/rdma_cma.h>, which cannot be included here. */
enum {
    ADDR_RESOLVED = 0,
    ROUTE_RESOLVED = 2,
    CONNECT_REQUEST = 4,
    CONNECT_ERROR = 6,
    UNREACHABLE = 7,
    REJECTED = 8,
    ESTABLISHED = 9,
    DISCONNECTED = 10
};

/* One command with its header in front. Returns 0 or the errno. */
static inline int command(int fd, uint32_t number, const void *body, size_t length, size_t room)
{
    uint8_t all[2048];
    struct rdma_ucm_cmd_hdr header = {number, (uint16_t)length, (uint16_t)room};
    memcpy(all, &header, sizeof(header));
    memcpy(all + sizeof(header), body, length);
    ssize_t n = write(fd, all, sizeof(header) + length);
    return n < 0 ? errno : n == (ssize_t)(sizeof(header) + length) ? 0 : -1;
}

static inline int open_it(int flags)
{
    int fd = open(DEVICE, O_RDWR | flags);
    assert_true(fd >= 0);
    return fd;
}

static inline uint32_t create(int fd, uint64_t uid)
{
    struct rdma_ucm_create_id_resp out = {0};
    struct rdma_ucm_create_id in = {
        .uid = uid, .response = (uintptr_t)&out, .ps = RDMA_PS_TCP, .qp_type = IBV_QPT_RC};
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in), sizeof(out)), 0);
    return out.id;
}

static inline uint32_t destroy(int fd, uint32_t id)
{
    struct rdma_ucm_destroy_id_resp out = {99};
    struct rdma_ucm_destroy_id in = {.response = (uintptr_t)&out, .id = id};
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_DESTROY_ID, &in, sizeof(in), sizeof(out)), 0);
    return out.events_reported;
}

/* Returns the next event, which has to be of this kind. */
static inline struct rdma_ucm_event_resp get(int fd, uint32_t kind)
{
    struct rdma_ucm_event_resp out;
    struct rdma_ucm_get_event in = {.response = (uintptr_t)&out};
    memset(&out, 0x77, sizeof(out));
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_GET_EVENT, &in, sizeof(in), sizeof(out)), 0);
    assert_int_equal(out.event, kind);
    return out;
}

/* Of a file that does not block: there is no event. */
static inline void expect_no_event(int fd)
{
    struct rdma_ucm_event_resp out;
    struct rdma_ucm_get_event in = {.response = (uintptr_t)&out};
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_GET_EVENT, &in, sizeof(in), sizeof(out)), EAGAIN);
}

static inline struct sockaddr_in at_loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* `at`: an address of IPv4 or IPv6. */
static inline int bind_to(int fd, uint32_t id, const void *at, size_t length)
{
    struct rdma_ucm_bind_ip in = {.id = id};
    memcpy(&in.addr, at, length);
    return command(fd, RDMA_USER_CM_CMD_BIND_IP, &in, sizeof(in), 0);
}

static inline int listen_for(int fd, uint32_t id, uint32_t backlog)
{
    struct rdma_ucm_listen in = {.id = id, .backlog = backlog};
    return command(fd, RDMA_USER_CM_CMD_LISTEN, &in, sizeof(in), 0);
}

static inline int resolve(int fd, uint32_t id, const void *from, const void *to, size_t length)
{
    struct rdma_ucm_resolve_ip in = {.id = id, .timeout_ms = 2000};
    if (from != NULL)
        memcpy(&in.src_addr, from, length);
    memcpy(&in.dst_addr, to, length);
    return command(fd, RDMA_USER_CM_CMD_RESOLVE_IP, &in, sizeof(in), 0);
}

static inline struct rdma_ucm_query_route_resp route_of(int fd, uint32_t id)
{
    struct rdma_ucm_query_route_resp out;
    struct rdma_ucm_query in = {.response = (uintptr_t)&out, .id = id};
    memset(&out, 0x77, sizeof(out));
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_QUERY_ROUTE, &in, sizeof(in), sizeof(out)), 0);
    return out;
}

/* Returns the address that an identifier of IPv4 has. */
static inline struct sockaddr_in source_of(int fd, uint32_t id)
{
    const struct rdma_ucm_query_route_resp route = route_of(fd, id);
    struct sockaddr_in at;
    memcpy(&at, &route.src_addr, sizeof(at));
    return at;
}

/* Has a new identifier listen at a free port of loopback. Returns where. */
static inline struct sockaddr_in listening(int fd, uint32_t *id, uint32_t backlog)
{
    const struct sockaddr_in any = at_loopback(0);
    *id = create(fd, 1);
    assert_int_equal(bind_to(fd, *id, &any, sizeof(any)), 0);
    assert_int_equal(listen_for(fd, *id, backlog), 0);
    return source_of(fd, *id);
}

static inline int connect_socket(const struct sockaddr_in *to)
{
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (const struct sockaddr *)to, sizeof(*to)), 0);
    return client;
}

/* Returns a connection that has sent a Request of revision 1 without private data. */
static inline int requesting(const struct sockaddr_in *to)
{
    int client = connect_socket(to);
    assert_int_equal(send(client, "MPA ID Req Frame\x40\x01\0\0", 20, 0), 20);
    return client;
}

static inline int reject(int fd, uint32_t id)
{
    struct rdma_ucm_reject in = {.id = id};
    return command(fd, RDMA_USER_CM_CMD_REJECT, &in, sizeof(in), 0);
}

static inline unsigned count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

#endif
