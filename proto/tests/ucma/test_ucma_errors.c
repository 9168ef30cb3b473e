/* SPDX-License-Identifier: BSD-3-Clause */
/* What is left of a command of rdma_cm that the system has let fail: nothing. */
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
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the system, whose calls fail when a test has them fail ---- */

static bool bind_fails, listen_fails, epoll_fails;

int bind(int fd, const struct sockaddr *at, socklen_t length)
{
    if (!bind_fails)
        return (int)syscall(SYS_bind, fd, at, length);
    errno = EADDRINUSE;
    return -1;
}

int listen(int fd, int backlog)
{
    if (!listen_fails)
        return (int)syscall(SYS_listen, fd, backlog);
    errno = EADDRINUSE;
    return -1;
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    if (!epoll_fails || operation != EPOLL_CTL_ADD)
        return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
    errno = ENOMEM;
    return -1;
}

enum { DEPTH = 16384 }; /* so that accepting takes memory of the system */

/* ---- commands ---- */

struct device {
    int fd;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
};

/* One command with its header in front. Returns 0 or the errno. */
static int command(const struct device *d, uint32_t number, const void *body, size_t length,
                   size_t room)
{
    uint8_t all[1024];
    struct rdma_ucm_cmd_hdr header = {number, (uint16_t)length, (uint16_t)room};
    memcpy(all, &header, sizeof(header));
    memcpy(all + sizeof(header), body, length);
    return write(d->fd, all, sizeof(header) + length) < 0 ? errno : 0;
}

static uint32_t create(const struct device *d)
{
    struct rdma_ucm_create_id_resp out = {0};
    struct rdma_ucm_create_id in = {
        .uid = 1, .response = (uintptr_t)&out, .ps = RDMA_PS_TCP, .qp_type = IBV_QPT_RC};
    assert_int_equal(command(d, RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in), sizeof(out)), 0);
    return out.id;
}

static void destroy(const struct device *d, uint32_t id)
{
    struct rdma_ucm_destroy_id_resp out;
    struct rdma_ucm_destroy_id in = {.response = (uintptr_t)&out, .id = id};
    assert_int_equal(command(d, RDMA_USER_CM_CMD_DESTROY_ID, &in, sizeof(in), sizeof(out)), 0);
}

static struct rdma_ucm_event_resp get(const struct device *d)
{
    struct rdma_ucm_event_resp out;
    struct rdma_ucm_get_event in = {.response = (uintptr_t)&out};
    assert_int_equal(command(d, RDMA_USER_CM_CMD_GET_EVENT, &in, sizeof(in), sizeof(out)), 0);
    return out;
}

static int bind_to(const struct device *d, uint32_t id, const struct sockaddr_in *at)
{
    struct rdma_ucm_bind_ip in = {.id = id};
    memcpy(&in.addr, at, sizeof(*at));
    return command(d, RDMA_USER_CM_CMD_BIND_IP, &in, sizeof(in), 0);
}

static int listen_for(const struct device *d, uint32_t id)
{
    struct rdma_ucm_listen in = {.id = id, .backlog = 1};
    return command(d, RDMA_USER_CM_CMD_LISTEN, &in, sizeof(in), 0);
}

static int resolve(const struct device *d, uint32_t id, const struct sockaddr_in *to)
{
    struct rdma_ucm_resolve_ip in = {.id = id, .timeout_ms = 2000};
    memcpy(&in.dst_addr, to, sizeof(*to));
    return command(d, RDMA_USER_CM_CMD_RESOLVE_IP, &in, sizeof(in), 0);
}

static int connect_to(const struct device *d, uint32_t id)
{
    struct rdma_ucm_connect in = {.id = id, .conn_param = {.qp_num = d->qp->qp_num, .valid = 1}};
    return command(d, RDMA_USER_CM_CMD_CONNECT, &in, sizeof(in), 0);
}

static struct sockaddr_in source_of(const struct device *d, uint32_t id)
{
    struct sockaddr_in at;
    struct rdma_ucm_query_route_resp out;
    struct rdma_ucm_query in = {.response = (uintptr_t)&out, .id = id};
    assert_int_equal(command(d, RDMA_USER_CM_CMD_QUERY_ROUTE, &in, sizeof(in), sizeof(out)), 0);
    memcpy(&at, &out.src_addr, sizeof(at));
    return at;
}

static struct sockaddr_in loopback = {.sin_family = AF_INET};

static unsigned count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static int set_up(void **state)
{
    static struct device d;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct ibv_device **list = ibv_get_device_list(NULL);
    d.context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    d.pd = ibv_alloc_pd(d.context);
    d.cq = ibv_create_cq(d.context, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {.send_cq = d.cq,
                                    .recv_cq = d.cq,
                                    .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH},
                                    .qp_type = IBV_QPT_RC};
    d.qp = ibv_create_qp(d.pd, &init);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
    assert_int_equal(ibv_modify_qp(d.qp, &attr, IBV_QP_STATE), 0);
    d.fd = open("/dev/infiniband/rdma_cm", O_RDWR);
    assert_true(d.fd >= 0);
    *state = &d;
    return 0;
}

static int tear_down(void **state)
{
    struct device *d = *state;
    bind_fails = listen_fails = epoll_fails = false;
    assert_int_equal(close(d->fd), 0);
    assert_int_equal(ibv_destroy_qp(d->qp), 0);
    assert_int_equal(ibv_destroy_cq(d->cq), 0);
    assert_int_equal(ibv_dealloc_pd(d->pd), 0);
    assert_int_equal(ibv_close_device(d->context), 0);
    return 0;
}

/* ---- tests ---- */

static void binding_without_listening_leaves_no_socket(void **state)
{
    const struct device *d = *state;
    uint32_t id = create(d);
    const unsigned before = count_descriptors();
    listen_fails = true;
    assert_int_equal(bind_to(d, id, &loopback), EADDRINUSE);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(source_of(d, id).sin_family, 0);
    listen_fails = false;
    assert_int_equal(bind_to(d, id, &loopback), 0);
    destroy(d, id);
}

/* One that was bound keeps its port; one that rdma_listen itself has bound gives it up. */
static void a_listener_that_cannot_be_is_as_before(void **state)
{
    const struct device *d = *state;
    uint32_t bound = create(d), idle = create(d);
    assert_int_equal(bind_to(d, bound, &loopback), 0);
    const unsigned before = count_descriptors();
    epoll_fails = true;
    assert_int_not_equal(listen_for(d, bound), 0);
    assert_int_not_equal(listen_for(d, idle), 0);
    epoll_fails = false;
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(source_of(d, bound).sin_family, AF_INET);
    assert_int_equal(source_of(d, idle).sin_family, 0);
    assert_int_equal(listen_for(d, bound), 0);
    assert_int_equal(bind_to(d, idle, &loopback), 0);
    destroy(d, bound);
    destroy(d, idle);
}

/* Resolving takes another socket with the same port, and goes back to one that listens if it fails.
 * If that fails, too, the identifier has no socket until it needs one. */
static void an_address_that_cannot_be_resolved_leaves_the_port(void **state)
{
    const struct device *d = *state;
    uint32_t id = create(d);
    assert_int_equal(bind_to(d, id, &loopback), 0);
    const struct sockaddr_in at = source_of(d, id);
    struct sockaddr_in to = loopback;
    to.sin_port = htons(9);
    bind_fails = true;
    assert_int_equal(resolve(d, id, &to), EADDRINUSE);
    assert_int_equal(bind_to(d, id, &loopback), EINVAL); /* it is bound */
    assert_int_equal(listen_for(d, id), EADDRINUSE);
    bind_fails = false;
    const struct sockaddr_in after = source_of(d, id);
    assert_memory_equal(&after, &at, sizeof(at));
    assert_int_equal(listen_for(d, id), 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (const struct sockaddr *)&at, sizeof(at)), 0);
    close(client);
    destroy(d, id);
}

static void an_address_is_resolved_at_the_second_try(void **state)
{
    const struct device *d = *state;
    uint32_t id = create(d);
    assert_int_equal(bind_to(d, id, &loopback), 0);
    const struct sockaddr_in at = source_of(d, id);
    struct sockaddr_in to = loopback;
    to.sin_port = htons(9);
    bind_fails = true;
    assert_int_equal(resolve(d, id, &to), EADDRINUSE);
    bind_fails = false;
    assert_int_equal(resolve(d, id, &to), 0);
    assert_int_equal(get(d).event, 0); /* RDMA_CM_EVENT_ADDR_RESOLVED */
    assert_int_equal(source_of(d, id).sin_port, at.sin_port);
    destroy(d, id);
}

/* The first attempt has come as far as TCP's SYN when it fails: the second one must not go on with
 * its socket. */
static void connecting_can_be_tried_again(void **state)
{
    const struct device *d = *state;
    struct sockaddr_in at = loopback;
    socklen_t length = sizeof(at);
    char request[16];
    int server = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(server, 4), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&at, &length), 0);
    uint32_t id = create(d);
    assert_int_equal(resolve(d, id, &at), 0);
    assert_int_equal(get(d).event, 0); /* RDMA_CM_EVENT_ADDR_RESOLVED */
    const unsigned before = count_descriptors();
    epoll_fails = true;
    assert_int_equal(connect_to(d, id), ENOMEM);
    epoll_fails = false;
    assert_true(count_descriptors() <= before);
    assert_int_equal(connect_to(d, id), 0);
    int first = accept(server, NULL, NULL);
    assert_true(recv(first, request, 1, 0) <= 0);
    int second = accept(server, NULL, NULL);
    assert_int_equal(recv(second, request, sizeof(request), MSG_WAITALL), sizeof(request));
    assert_memory_equal(request, "MPA ID Req Frame", sizeof(request));
    close(first);
    close(second);
    assert_int_equal(get(d).event, 8); /* RDMA_CM_EVENT_REJECTED */
    destroy(d, id);
    close(server);
}

/* Begins a connection to a listener, with an MPA Request of revision 1. */
static int ask(const struct sockaddr_in *to)
{
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (const struct sockaddr *)to, sizeof(*to)), 0);
    assert_int_equal(send(client, "MPA ID Req Frame\x40\x01\0\0", 20, 0), 20);
    return client;
}

static int answer(const struct device *d, uint32_t id)
{
    struct rdma_ucm_accept in = {
        .uid = 9, .id = id, .conn_param = {.qp_num = d->qp->qp_num, .valid = 1}};
    return command(d, RDMA_USER_CM_CMD_ACCEPT, &in, sizeof(in), 0);
}

/* There if the program has been built with a sanitizer. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

/* Whether memory that cannot be had ends the program, as it does with a sanitizer or valgrind. */
static bool has_another_allocator(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return __asan_init != NULL || __tsan_init != NULL ||
           (preloaded != NULL && strstr(preloaded, "vgpreload") != NULL);
}

/* Lets the process have no more memory than it has, or what it had before. */
static void limit_memory(bool limited)
{
    static struct rlimit before;
    unsigned long pages = 0;
    if (!limited) {
        assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
        return;
    }
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    struct rlimit now = {pages * (unsigned long)getpagesize(), before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
}

/* A request waits on if there is no memory to accept it. */
static void accepting_can_be_tried_again(void **state)
{
    const struct device *d = *state;
    char reply[20];
    if (has_another_allocator())
        skip();
    uint32_t listener = create(d);
    assert_int_equal(bind_to(d, listener, &loopback), 0);
    struct sockaddr_in at = source_of(d, listener);
    assert_int_equal(listen_for(d, listener), 0);
    int first = ask(&at);
    uint32_t asked = get(d).id;
    limit_memory(true);
    int result = answer(d, asked);
    limit_memory(false);
    assert_int_equal(result, ENOMEM);
    assert_int_equal(answer(d, asked), 0);
    assert_int_equal(recv(first, reply, sizeof(reply), MSG_WAITALL), sizeof(reply));
    assert_int_equal(get(d).event, 9); /* RDMA_CM_EVENT_ESTABLISHED */
    close(first);
    destroy(d, asked);
    destroy(d, listener);
}

/* The backlog is of those that the program has not fetched, as in the kernel: one that forgets
 * those it cannot serve, as rping does, goes on listening. */
static void requests_wait_until_they_are_fetched(void **state)
{
    const struct device *d = *state;
    char octet, reply[20];
    uint32_t listener = create(d);
    assert_int_equal(bind_to(d, listener, &loopback), 0);
    struct sockaddr_in at = source_of(d, listener);
    assert_int_equal(listen_for(d, listener), 0); /* there is room for one */
    int first = ask(&at), second = ask(&at);
    assert_true(recv(second, &octet, 1, 0) <= 0);
    close(second);
    uint32_t asked = get(d).id;
    int third = ask(&at);
    uint32_t last = get(d).id;
    assert_int_equal(answer(d, last), 0);
    assert_int_equal(recv(third, reply, sizeof(reply), MSG_WAITALL), sizeof(reply));
    close(first);
    close(third);
    destroy(d, asked);
    destroy(d, last);
    destroy(d, listener);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(binding_without_listening_leaves_no_socket),
        TEST(a_listener_that_cannot_be_is_as_before),
        TEST(an_address_that_cannot_be_resolved_leaves_the_port),
        TEST(an_address_is_resolved_at_the_second_try),
        TEST(connecting_can_be_tried_again),
        TEST(accepting_can_be_tried_again),
        TEST(requests_wait_until_they_are_fetched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
