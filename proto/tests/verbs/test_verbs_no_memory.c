/* SPDX-License-Identifier: BSD-3-Clause */
/* Without memory each call says so, leaves nothing, and succeeds when there is memory again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
#include <unistd.h>

/* Allocators of sanitizers are not to be replaced. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { REPLACED = 0 };
static long left = -1, blocks;
#else
enum { REPLACED = 1 };
static _Thread_local long left = -1; /* allocations until one fails; -1: none does */
static _Thread_local long blocks;    /* allocated and not freed by this thread */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void __libc_free(void *block);

static bool fails(void)
{
    if (left < 0 || left-- > 0) {
        blocks++;
        return false;
    }
    left = 0;       /* and all after it */
    errno = EAGAIN; /* what a call says is its own */
    return true;
}

/* The library's, too: this program's come first. */
void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void free(void *block)
{
    blocks -= block != NULL;
    __libc_free(block);
}
#endif

/* valgrind puts an allocator of its own in the place of any. */
static bool can_fail(void)
{
    left = 0;
    void *volatile block = malloc(1);
    left = -1;
    const bool failed = block == NULL;
    free(block);
    return REPLACED != 0 && failed;
}

/* ---- what is made ---- */

static struct {
    struct ibv_device *device;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    int fd;
    uint32_t id;
    uint8_t memory[64];
} o;

static void *make_list(void)
{
    return ibv_get_device_list(NULL);
}

static int drop_list(void *made)
{
    ibv_free_device_list(made);
    return 0;
}

static void *make_context(void)
{
    return ibv_open_device(o.device);
}

static int drop_context(void *made)
{
    return ibv_close_device(made);
}

static void *make_pd(void)
{
    return ibv_alloc_pd(o.context);
}

static int drop_pd(void *made)
{
    return ibv_dealloc_pd(made);
}

static void *make_parent(void)
{
    struct ibv_parent_domain_init_attr attr = {.pd = o.pd};
    return ibv_alloc_parent_domain(o.context, &attr);
}

static void *make_td(void)
{
    struct ibv_td_init_attr attr = {.comp_mask = 0};
    return ibv_alloc_td(o.context, &attr);
}

static int drop_td(void *made)
{
    return ibv_dealloc_td(made);
}

static void *make_channel(void)
{
    return ibv_create_comp_channel(o.context);
}

static int drop_channel(void *made)
{
    return ibv_destroy_comp_channel(made);
}

static void *make_cq(void)
{
    return ibv_create_cq(o.context, 4, NULL, NULL, 0);
}

static int drop_cq(void *made)
{
    return ibv_destroy_cq(made);
}

static void *make_cq_ex(void)
{
    struct ibv_cq_init_attr_ex attr = {.cqe = 4};
    return ibv_create_cq_ex(o.context, &attr);
}

static void *make_srq(void)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = 4}};
    return ibv_create_srq(o.pd, &attr);
}

static int drop_srq(void *made)
{
    return ibv_destroy_srq(made);
}

static void *make_mr(void)
{
    return ibv_reg_mr(o.pd, o.memory, sizeof(o.memory), 0);
}

static int drop_mr(void *made)
{
    return ibv_dereg_mr(made);
}

static void *make_mw(void)
{
    return ibv_alloc_mw(o.pd, IBV_MW_TYPE_2);
}

static int drop_mw(void *made)
{
    return ibv_dealloc_mw(made);
}

static void *make_qp(void)
{
    struct ibv_qp_init_attr init = {.send_cq = o.cq,
                                    .recv_cq = o.cq,
                                    .cap = {.max_send_wr = 2, .max_recv_wr = 3},
                                    .qp_type = IBV_QPT_RC};
    return ibv_create_qp(o.pd, &init);
}

static void *make_qp_ex(void)
{
    struct ibv_qp_init_attr_ex attr = {.send_cq = o.cq,
                                       .recv_cq = o.cq,
                                       .srq = o.srq,
                                       .cap = {.max_send_wr = 2},
                                       .qp_type = IBV_QPT_RC,
                                       .comp_mask =
                                           IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                       .pd = o.pd,
                                       .send_ops_flags = IBV_QP_EX_WITH_SEND};
    return ibv_create_qp_ex(o.context, &attr);
}

static int drop_qp(void *made)
{
    return ibv_destroy_qp(made);
}

/* What only returns an error returns the object itself where it succeeds. */
static void *only_if(int result, void *made)
{
    errno = result;
    return result == 0 ? made : NULL;
}

static void *resize_cq(void)
{
    return only_if(ibv_resize_cq(o.cq, 8), o.cq);
}

static void *resize_srq(void)
{
    struct ibv_srq_attr attr = {.max_wr = 8};
    return only_if(ibv_modify_srq(o.srq, &attr, IBV_SRQ_MAX_WR), o.srq);
}

static int nothing(void *made)
{
    (void)made;
    return 0;
}

static int command(uint32_t number, const void *body, size_t length, size_t room)
{
    uint8_t all[512];
    struct rdma_ucm_cmd_hdr header = {number, (uint16_t)length, (uint16_t)room};
    memcpy(all, &header, sizeof(header));
    memcpy(all + sizeof(header), body, length);
    return write(o.fd, all, sizeof(header) + length) < 0 ? errno : 0;
}

static void *make_file(void)
{
    int fd = open("/dev/infiniband/rdma_cm", O_RDWR);
    return fd >= 0 ? (void *)(uintptr_t)fd : NULL;
}

static int drop_file(void *made)
{
    return close((int)(uintptr_t)made);
}

static void *make_id(void)
{
    struct rdma_ucm_create_id_resp out = {0};
    struct rdma_ucm_create_id in = {.uid = 1, .response = (uintptr_t)&out, .ps = RDMA_PS_TCP};
    const int result = command(RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in), sizeof(out));
    return only_if(result, (void *)(uintptr_t)(out.id + 1));
}

static int drop_id(void *made)
{
    struct rdma_ucm_destroy_id_resp out;
    struct rdma_ucm_destroy_id in = {.response = (uintptr_t)&out,
                                     .id = (uint32_t)(uintptr_t)made - 1};
    return command(RDMA_USER_CM_CMD_DESTROY_ID, &in, sizeof(in), sizeof(out));
}

/* An identifier that is bound listens, or goes on as it was. */
static void *listen_for(void)
{
    struct rdma_ucm_listen in = {.id = o.id, .backlog = 1};
    return only_if(command(RDMA_USER_CM_CMD_LISTEN, &in, sizeof(in), 0),
                   (void *)(uintptr_t)(o.id + 1));
}

static const struct {
    void *(*make)(void);
    int (*drop)(void *made);
    unsigned allocations;
} rows[] = {
    {make_list, drop_list, 1}, {make_context, drop_context, 1}, {make_pd, drop_pd, 1},
    {make_parent, drop_pd, 1}, {make_td, drop_td, 1},           {make_channel, drop_channel, 1},
    {make_cq, drop_cq, 2},     {make_cq_ex, drop_cq, 2},        {make_srq, drop_srq, 2},
    {make_mr, drop_mr, 1},     {make_mw, drop_mw, 1},           {make_qp, drop_qp, 4},
    {make_qp_ex, drop_qp, 5},  {resize_cq, nothing, 1},         {resize_srq, nothing, 1},
    {make_file, drop_file, 1}, {make_id, drop_id, 1},
};

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 200; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Lets each allocation of a call fail, one after the other, until it succeeds. Returns how many
 * there were. */
static unsigned fail_each(void *(*make)(void), int (*drop)(void *made))
{
    for (unsigned n = 0;; n++) {
        const unsigned before = count_descriptors();
        const long had = blocks;
        left = (long)n;
        errno = 0;
        void *made = make();
        const int error = errno;
        left = -1;
        if (made != NULL) {
            assert_int_equal(drop(made), 0);
            return n;
        }
        assert_true(n < 20);
        if (make != make_list)
            assert_int_equal(error, ENOMEM);
        assert_int_equal(blocks, had);
        assert_int_equal(count_descriptors(), before);
    }
}

static void each_call_says_so(void **state)
{
    (void)state;
    if (!can_fail())
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(fail_each(rows[i].make, rows[i].drop), rows[i].allocations);
    int count = 7;
    left = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    left = -1;
    assert_null(list);
    assert_int_equal(count, 0);
}

static void a_listener_can_be_tried_again(void **state)
{
    struct rdma_ucm_bind_ip in = {.id = 0};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)state;
    if (!can_fail())
        skip();
    o.id = (uint32_t)(uintptr_t)make_id() - 1;
    in.id = o.id;
    memcpy(&in.addr, &at, sizeof(at));
    assert_int_equal(command(RDMA_USER_CM_CMD_BIND_IP, &in, sizeof(in), 0), 0);
    assert_true(fail_each(listen_for, drop_id) > 0);
}

static int set_up(void **state)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    (void)state;
    o.device = list[0];
    ibv_free_device_list(list);
    o.context = ibv_open_device(o.device);
    o.pd = ibv_alloc_pd(o.context);
    o.cq = make_cq();
    o.srq = make_srq();
    o.fd = open("/dev/infiniband/rdma_cm", O_RDWR);
    return o.srq != NULL && o.fd >= 0 ? 0 : -1;
}

/* No object was counted that was not made, or this fails. */
static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(close(o.fd), 0);
    assert_int_equal(ibv_destroy_srq(o.srq), 0);
    assert_int_equal(ibv_destroy_cq(o.cq), 0);
    assert_int_equal(ibv_dealloc_pd(o.pd), 0);
    assert_int_equal(ibv_close_device(o.context), 0);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_call_says_so),
        TEST(a_listener_can_be_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
