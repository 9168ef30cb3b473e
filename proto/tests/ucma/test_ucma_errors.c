/* SPDX-License-Identifier: BSD-3-Clause */
/* What is left of a command of rdma_cm that the system has let fail: nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the system, whose calls fail when they are told to ---- */

static bool listen_fails, epoll_fails;

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

static uint16_t family_of(const struct device *d, uint32_t id)
{
    struct rdma_ucm_query_route_resp out;
    struct rdma_ucm_query in = {.response = (uintptr_t)&out, .id = id};
    assert_int_equal(command(d, RDMA_USER_CM_CMD_QUERY_ROUTE, &in, sizeof(in), sizeof(out)), 0);
    return out.src_addr.sin6_family;
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
                                    .cap = {.max_send_wr = 1, .max_recv_wr = 1},
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
    listen_fails = epoll_fails = false;
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
    assert_int_equal(family_of(d, id), 0);
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
    assert_int_equal(family_of(d, bound), AF_INET);
    assert_int_equal(family_of(d, idle), 0);
    assert_int_equal(listen_for(d, bound), 0);
    assert_int_equal(bind_to(d, idle, &loopback), 0);
    destroy(d, bound);
    destroy(d, idle);
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(binding_without_listening_leaves_no_socket),
        TEST(a_listener_that_cannot_be_is_as_before),
        TEST(connecting_can_be_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
