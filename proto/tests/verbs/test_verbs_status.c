/* SPDX-License-Identifier: BSD-3-Clause */
/* The status of a request by what ended it, for every check and Terminate (RFC 5040 §4.8). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "verbs/objects.h"

static enum ibv_wc_status status_of(enum iw_status status, enum iw_work_opcode opcode,
                                    enum iw_check check)
{
    const struct iw_completion done = {.status = status, .opcode = opcode, .check = check};
    return iw_verbs_status(&done, NULL, false);
}

static void checks_of_this_end(void **state)
{
    static const struct {
        enum iw_check check;
        enum ibv_wc_status status;
    } rows[] = {
        {IW_CHECK_DDP_MO, IBV_WC_LOC_LEN_ERR},
        {IW_CHECK_DDP_TOO_LONG, IBV_WC_LOC_LEN_ERR},
        {IW_CHECK_RDMAP_IMMEDIATE_LENGTH, IBV_WC_LOC_LEN_ERR},
        {IW_CHECK_RDMAP_INVALIDATE_STAG, IBV_WC_LOC_ACCESS_ERR},
        {IW_CHECK_RDMAP_INVALIDATE_ASSOC, IBV_WC_LOC_ACCESS_ERR},
        {IW_CHECK_RDMAP_INVALIDATE_SHARED, IBV_WC_LOC_ACCESS_ERR},
        {IW_CHECK_RDMAP_IRD, IBV_WC_LOC_QP_OP_ERR},
        {IW_CHECK_DDP_STAG, IBV_WC_LOC_PROT_ERR},
        {IW_CHECK_DDP_STAG_PD, IBV_WC_LOC_PROT_ERR},
        {IW_CHECK_DDP_STAG_STREAM, IBV_WC_LOC_PROT_ERR},
        {IW_CHECK_DDP_STAG_ACCESS, IBV_WC_LOC_PROT_ERR},
        {IW_CHECK_DDP_TO_BASE, IBV_WC_LOC_PROT_ERR},
        {IW_CHECK_DDP_TO_BOUNDS, IBV_WC_LOC_PROT_ERR},
        {IW_CHECK_DDP_TO_WRAP, IBV_WC_LOC_PROT_ERR},
        {IW_CHECK_NONE, IBV_WC_LOC_PROT_ERR},
    };
    (void)state;
    for (unsigned check = 0; check < IW_CHECK_COUNT; check++) {
        enum ibv_wc_status expected = IBV_WC_BAD_RESP_ERR; /* of the answer, whatever it was */
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            if (rows[i].check == check)
                expected = rows[i].status;
        assert_int_equal(status_of(IW_STATUS_LOCAL_FAULT, IW_WORK_READ, (enum iw_check)check),
                         expected);
    }
}

static void what_is_not_a_fault(void **state)
{
    (void)state;
    assert_int_equal(status_of(IW_STATUS_OK, IW_WORK_SEND, IW_CHECK_NONE), IBV_WC_SUCCESS);
    assert_int_equal(status_of(IW_STATUS_FLUSHED, IW_WORK_SEND, IW_CHECK_DDP_MO),
                     IBV_WC_WR_FLUSH_ERR);
    /* A fault of the peer's, whose Terminate is not known. */
    assert_int_equal(status_of(IW_STATUS_REMOTE_FAULT, IW_WORK_READ, IW_CHECK_NONE),
                     IBV_WC_WR_FLUSH_ERR);
}

static void windows_have_a_status_of_their_own(void **state)
{
    struct iw_completion done = {.status = IW_STATUS_LOCAL_FAULT, .opcode = IW_WORK_LOCAL};
    (void)state;
    assert_int_equal(iw_verbs_status(&done, NULL, true), IBV_WC_MW_BIND_ERR);
    assert_int_equal(iw_verbs_status(&done, NULL, false), IBV_WC_LOC_PROT_ERR);
    done.opcode = IW_WORK_READ;
    assert_int_equal(iw_verbs_status(&done, NULL, true), IBV_WC_LOC_PROT_ERR);
    done.opcode = IW_WORK_LOCAL;
    done.status = IW_STATUS_FLUSHED;
    assert_int_equal(iw_verbs_status(&done, NULL, true), IBV_WC_WR_FLUSH_ERR);
}

static void terminates_of_the_peer(void **state)
{
    static const struct {
        struct iw_rdmap_terminate terminate;
        enum ibv_wc_status status;
    } rows[] = {
        {{.layer = 0, .etype = 0, .code = 0}, IBV_WC_REM_OP_ERR}, /* local catastrophic */
        {{.layer = 0, .etype = 1, .code = 0}, IBV_WC_REM_ACCESS_ERR},
        {{.layer = 0, .etype = 1, .code = 2}, IBV_WC_REM_ACCESS_ERR},
        {{.layer = 0, .etype = 1, .code = 255}, IBV_WC_REM_ACCESS_ERR},
        {{.layer = 0, .etype = 2, .code = 5}, IBV_WC_REM_INV_REQ_ERR},
        {{.layer = 0, .etype = 3, .code = 0}, IBV_WC_REM_OP_ERR},
        {{.layer = 1, .etype = 0, .code = 0}, IBV_WC_REM_ABORT_ERR},
        {{.layer = 1, .etype = 1, .code = 0}, IBV_WC_REM_ACCESS_ERR},
        {{.layer = 1, .etype = 1, .code = 1}, IBV_WC_REM_ACCESS_ERR},
        {{.layer = 1, .etype = 2, .code = 1}, IBV_WC_REM_INV_REQ_ERR},
        {{.layer = 1, .etype = 2, .code = 2}, IBV_WC_RNR_RETRY_EXC_ERR},
        {{.layer = 1, .etype = 2, .code = 3}, IBV_WC_REM_INV_REQ_ERR},
        {{.layer = 1, .etype = 3, .code = 2}, IBV_WC_REM_ABORT_ERR},
        {{.layer = 2, .etype = 0, .code = 2}, IBV_WC_REM_ABORT_ERR}, /* MPA: CRC */
        {{.layer = 2, .etype = 1, .code = 0}, IBV_WC_REM_ABORT_ERR},
        {{.layer = 2, .etype = 2, .code = 2}, IBV_WC_REM_ABORT_ERR},
    };
    struct iw_completion done = {.status = IW_STATUS_REMOTE_FAULT, .opcode = IW_WORK_READ};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(iw_verbs_status(&done, &rows[i].terminate, false), rows[i].status);
    done.status = IW_STATUS_FLUSHED; /* what was not at fault is flushed */
    assert_int_equal(iw_verbs_status(&done, &rows[1].terminate, false), IBV_WC_WR_FLUSH_ERR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_of_this_end),
        cmocka_unit_test(what_is_not_a_fault),
        cmocka_unit_test(windows_have_a_status_of_their_own),
        cmocka_unit_test(terminates_of_the_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
