/* SPDX-License-Identifier: BSD-3-Clause */
/* What is not supported says so, and is reported once by its name if the launcher was asked for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>
#include <unistd.h>

struct objects {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    int device;
};

static int set_up(void **state)
{
    static struct objects o;
    struct ibv_device **list = ibv_get_device_list(NULL);
    o.context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    o.pd = ibv_alloc_pd(o.context);
    o.cq = ibv_create_cq(o.context, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr_ex attr = {.send_cq = o.cq,
                                       .recv_cq = o.cq,
                                       .cap = {.max_send_wr = 1},
                                       .qp_type = IBV_QPT_RC,
                                       .comp_mask =
                                           IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                       .pd = o.pd,
                                       .send_ops_flags = IBV_QP_EX_WITH_SEND};
    o.qp = ibv_create_qp_ex(o.context, &attr);
    assert_non_null(o.qp);
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    assert_int_equal(ibv_modify_qp(o.qp, &error, IBV_QP_STATE), 0);
    o.device = open("/dev/infiniband/rdma_cm", O_RDWR);
    assert_true(o.device >= 0);
    *state = &o;
    return 0;
}

static int tear_down(void **state)
{
    struct objects *o = *state;
    assert_int_equal(close(o->device), 0);
    assert_int_equal(ibv_destroy_qp(o->qp), 0);
    assert_int_equal(ibv_destroy_cq(o->cq), 0);
    assert_int_equal(ibv_dealloc_pd(o->pd), 0);
    assert_int_equal(ibv_close_device(o->context), 0);
    return 0;
}

static void expect_refused(const void *made)
{
    assert_null(made);
    assert_int_equal(errno, EOPNOTSUPP);
    errno = 0;
}

/* The kernel's answers to what it does not have. */
static void expect_no_command(int fd, uint32_t number, const void *body, uint16_t length, int error)
{
    uint8_t all[256] = {0};
    struct rdma_ucm_cmd_hdr header = {number, length, 0};
    memcpy(all, &header, sizeof(header));
    memcpy(all + sizeof(header), body, length);
    assert_int_equal(write(fd, all, sizeof(header) + length), -1);
    assert_int_equal(errno, error);
}

static void ask_for_objects(struct objects *o)
{
    uint32_t number;
    struct ibv_qp_rate_limit_attr limit = {0};
    struct ibv_modify_cq_attr cq_attr = {0};
    expect_refused(ibv_create_ah(o->pd, NULL));
    expect_refused(ibv_alloc_null_mr(o->pd));
    expect_refused(ibv_alloc_dm(o->context, &(struct ibv_alloc_dm_attr){.length = 64}));
    expect_refused(ibv_create_flow(o->qp, &(struct ibv_flow_attr){.port = 1}));
    expect_refused(ibv_create_wq(o->context, &(struct ibv_wq_init_attr){.max_wr = 1}));
    expect_refused(ibv_create_counters(o->context, &(struct ibv_counters_init_attr){0}));
    expect_refused(ibv_create_rwq_ind_table(o->context, &(struct ibv_rwq_ind_table_init_attr){0}));
    expect_refused(ibv_create_flow_action_esp(o->context, &(struct ibv_flow_action_esp_attr){0}));
    expect_refused(ibv_open_xrcd(o->context, &(struct ibv_xrcd_init_attr){.fd = -1}));
    expect_refused(ibv_open_qp(o->context, &(struct ibv_qp_open_attr){.qp_num = 2}));
    expect_refused(ibv_create_srq_ex(
        o->context, &(struct ibv_srq_init_attr_ex){.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
                                                   .srq_type = IBV_SRQT_XRC}));
    expect_refused(ibv_create_cq_ex(
        o->context, &(struct ibv_cq_init_attr_ex){.cqe = 1, .wc_flags = 1ull << 40}));
    expect_refused(ibv_reg_mr(o->pd, o, 1, IBV_ACCESS_ON_DEMAND));
    struct ibv_qp_init_attr datagrams = {.send_cq = o->cq, .recv_cq = o->cq, .qp_type = IBV_QPT_UD};
    expect_refused(ibv_create_qp(o->pd, &datagrams));
    assert_int_equal(ibv_get_srq_num(&(struct ibv_srq){.context = o->context}, &number),
                     EOPNOTSUPP);
    assert_int_equal(ibv_modify_qp_rate_limit(o->qp, &limit), EOPNOTSUPP);
    assert_int_equal(ibv_modify_cq(o->cq, &cq_attr), EOPNOTSUPP);
    assert_int_equal(ibv_attach_mcast(o->qp, NULL, 0), EOPNOTSUPP);
}

static void ask_for_work(struct objects *o)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM}, *bad;
    struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(o->qp);
    assert_int_equal(ibv_post_send(o->qp, &wr, &bad), EOPNOTSUPP);
    wr.opcode = IBV_WR_TSO;
    assert_int_equal(ibv_post_send(o->qp, &wr, &bad), EOPNOTSUPP);
    wr.opcode = IBV_WR_DRIVER1;
    assert_int_equal(ibv_post_send(o->qp, &wr, &bad), EOPNOTSUPP);
    ibv_wr_start(ex);
    ibv_wr_send_imm(ex, 0);
    assert_int_equal(ibv_wr_complete(ex), EOPNOTSUPP);
    ibv_wr_start(ex);
    ibv_wr_atomic_write(ex, 0, 0, NULL);
    assert_int_equal(ibv_wr_complete(ex), EOPNOTSUPP);
    ibv_wr_start(ex);
    ibv_wr_send_tso(ex, NULL, 0, 0);
    assert_int_equal(ibv_wr_complete(ex), EOPNOTSUPP);
    ibv_wr_start(ex);
    ibv_wr_set_ud_addr(ex, NULL, 0, 0);
    assert_int_equal(ibv_wr_complete(ex), EOPNOTSUPP);
    ibv_wr_start(ex);
    ibv_wr_set_xrc_srqn(ex, 0);
    assert_int_equal(ibv_wr_complete(ex), EOPNOTSUPP);
}

/* Brings the queue pair as far as a program does that has the peer's number from elsewhere. */
static void ask_for_a_connection(struct objects *o)
{
    static const enum ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR};
    struct ibv_qp_attr attr = {0};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        attr.qp_state = states[i];
        assert_int_equal(ibv_modify_qp(o->qp, &attr, IBV_QP_STATE), 0);
    }
    attr.qp_state = IBV_QPS_RTS;
    assert_int_equal(ibv_modify_qp(o->qp, &attr, IBV_QP_STATE), EOPNOTSUPP);
    attr.qp_state = IBV_QPS_ERR;
    assert_int_equal(ibv_modify_qp(o->qp, &attr, IBV_QP_STATE), 0);
}

static void ask_for_commands(struct objects *o)
{
    struct rdma_ucm_create_id udp = {.ps = RDMA_PS_UDP};
    struct rdma_ucm_create_id tcp = {.ps = RDMA_PS_TCP};
    struct rdma_ucm_create_id_resp made = {0};
    struct rdma_ucm_set_option option = {.level = RDMA_OPTION_IB, .optlen = 1};
    struct rdma_ucm_cmd_hdr header = {RDMA_USER_CM_CMD_CREATE_ID, sizeof(tcp), sizeof(made)};
    uint8_t zeros[64] = {0}, create[sizeof(header) + sizeof(tcp)];
    tcp.response = (uintptr_t)&made;
    memcpy(create, &header, sizeof(header));
    memcpy(create + sizeof(header), &tcp, sizeof(tcp));
    assert_int_equal(write(o->device, create, sizeof(create)), sizeof(create));
    option.id = made.id;
    option.optval = (uintptr_t)zeros;
    expect_no_command(o->device, RDMA_USER_CM_CMD_CREATE_ID, &udp, sizeof(udp), EOPNOTSUPP);
    expect_no_command(o->device, RDMA_USER_CM_CMD_JOIN_MCAST, zeros, 64, ENOSYS);
    expect_no_command(o->device, RDMA_USER_CM_CMD_GET_OPTION, zeros, 64, ENOSYS);
    expect_no_command(o->device, RDMA_USER_CM_CMD_SET_OPTION, &option, sizeof(option), ENOSYS);
    expect_no_command(o->device, 60, zeros, 64, EINVAL);
}

/* Found by name: the public header has no declaration. */
static int call_by_name(const char *name, void *first)
{
    int (*function)(void *, void *, void *, void *);
    void *symbol = dlsym(RTLD_DEFAULT, name);
    assert_non_null(symbol);
    memcpy(&function, &symbol, sizeof(function));
    return function(first, NULL, NULL, NULL);
}

static void ask_for_what_others_made(struct objects *o)
{
    struct ibv_ece ece = {.vendor_id = 1};
    struct ibv_ops_wr op = {.wr_id = 1}, *bad = NULL;
    struct ibv_srq srq = {.context = o->context};
    expect_refused(ibv_import_device(0));
    expect_refused(ibv_import_pd(o->context, 1));
    expect_refused(ibv_import_mr(o->pd, 1));
    expect_refused(ibv_import_dm(o->context, 1));
    expect_refused(ibv_reg_dmabuf_mr(o->pd, 0, 1, 0, 0, 0));
    expect_refused(ibv_create_ah_from_wc(o->pd, NULL, NULL, 1));
    assert_int_equal(ibv_init_ah_from_wc(o->context, 1, NULL, NULL, NULL), EOPNOTSUPP);
    assert_int_equal(ibv_destroy_ah(NULL), EOPNOTSUPP);
    assert_int_equal(ibv_detach_mcast(o->qp, NULL, 0), EOPNOTSUPP);
    assert_int_equal(call_by_name("ibv_resolve_eth_l2_from_gid", o->context), EOPNOTSUPP);
    assert_int_equal(ibv_set_ece(o->qp, &ece), EOPNOTSUPP);
    assert_int_equal(ibv_post_srq_ops(&srq, &op, &bad), EOPNOTSUPP);
    assert_ptr_equal(bad, &op);
}

static void ask_for_all(struct objects *o)
{
    ask_for_objects(o);
    ask_for_work(o);
    ask_for_a_connection(o);
    ask_for_commands(o);
    ask_for_what_others_made(o);
}

/* Calls it twice with standard error in a file. Returns what was printed there. */
static char *printed(struct objects *o)
{
    static char text[4096];
    FILE *file = tmpfile();
    assert_non_null(file);
    int before = dup(STDERR_FILENO);
    assert_true(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    ask_for_all(o);
    ask_for_all(o);
    fflush(stderr);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void each_is_reported_once_and_only_if_asked(void **state)
{
    unsetenv("IWARP_VERBS");
    assert_string_equal(printed(*state), "");
    setenv("IWARP_VERBS", "crc=on,verbose=on", 1);
    assert_string_equal(
        printed(*state),
        "iwarp-run: ibv_create_ah is not supported\n"
        "iwarp-run: ibv_alloc_null_mr is not supported\n"
        "iwarp-run: ibv_alloc_dm is not supported\n"
        "iwarp-run: ibv_create_flow is not supported\n"
        "iwarp-run: ibv_create_wq is not supported\n"
        "iwarp-run: ibv_create_counters is not supported\n"
        "iwarp-run: ibv_create_rwq_ind_table is not supported\n"
        "iwarp-run: ibv_create_flow_action_esp is not supported\n"
        "iwarp-run: ibv_open_xrcd is not supported\n"
        "iwarp-run: ibv_open_qp is not supported\n"
        "iwarp-run: ibv_create_srq_ex of another type than basic is not supported\n"
        "iwarp-run: a flag or attribute of ibv_create_cq_ex is not supported\n"
        "iwarp-run: IBV_ACCESS_ON_DEMAND is not supported\n"
        "iwarp-run: a queue pair of another type than IBV_QPT_RC is not supported\n"
        "iwarp-run: ibv_get_srq_num is not supported\n"
        "iwarp-run: ibv_modify_qp_rate_limit is not supported\n"
        "iwarp-run: ibv_modify_cq is not supported\n"
        "iwarp-run: ibv_attach_mcast is not supported\n"
        "iwarp-run: IBV_WR_SEND_WITH_IMM is not supported\n"
        "iwarp-run: IBV_WR_TSO is not supported\n"
        "iwarp-run: an opcode of ibv_post_send is not supported\n"
        "iwarp-run: ibv_wr_send_imm is not supported\n"
        "iwarp-run: ibv_wr_atomic_write is not supported\n"
        "iwarp-run: ibv_wr_send_tso is not supported\n"
        "iwarp-run: ibv_wr_set_ud_addr is not supported\n"
        "iwarp-run: ibv_wr_set_xrc_srqn is not supported\n"
        "iwarp-run: a queue pair that is brought to IBV_QPS_RTS without rdma_cm is not supported\n"
        "iwarp-run: rdma_create_id for another port space than RDMA_PS_TCP is not supported\n"
        "iwarp-run: JOIN_MCAST is not supported\n"
        "iwarp-run: GET_OPTION is not supported\n"
        "iwarp-run: an option of rdma_set_option is not supported\n"
        "iwarp-run: a command of a newer librdmacm is not supported\n"
        "iwarp-run: ibv_import_device is not supported\n"
        "iwarp-run: ibv_import_pd is not supported\n"
        "iwarp-run: ibv_import_mr is not supported\n"
        "iwarp-run: ibv_import_dm is not supported\n"
        "iwarp-run: ibv_reg_dmabuf_mr is not supported\n"
        "iwarp-run: ibv_create_ah_from_wc is not supported\n"
        "iwarp-run: ibv_init_ah_from_wc is not supported\n"
        "iwarp-run: ibv_destroy_ah is not supported\n"
        "iwarp-run: ibv_detach_mcast is not supported\n"
        "iwarp-run: ibv_resolve_eth_l2_from_gid is not supported\n"
        "iwarp-run: ibv_set_ece is not supported\n"
        "iwarp-run: ibv_post_srq_ops is not supported\n");
}

/* What would only spare or guard what is not there succeeds. */
static void what_has_nothing_to_do_succeeds(void **state)
{
    struct objects *o = *state;
    struct ibv_ece ece = {.vendor_id = 0};
    assert_int_equal(ibv_set_ece(o->qp, &ece), 0);
    memset(&ece, 0x77, sizeof(ece));
    assert_int_equal(ibv_query_ece(o->qp, &ece), 0);
    assert_int_equal(ece.vendor_id, 0);
    assert_int_equal(ece.options, 0);
    assert_int_equal(ibv_fork_init(), 0);
    assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
    assert_int_equal(call_by_name("ibv_dontfork_range", o), 0);
    assert_int_equal(call_by_name("ibv_dofork_range", o), 0);
    ibv_unimport_pd(NULL);
    ibv_unimport_mr(NULL);
    ibv_unimport_dm(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_is_reported_once_and_only_if_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_has_nothing_to_do_succeeds, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
