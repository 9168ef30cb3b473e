/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/*
 * Every check of the endpoint, provoked: by a peer whose sending rule is switched to be broken,
 * or by work that no careful consumer would post. Strict, the fault and the Terminate of the
 * table follow; ignored, nothing is said; botched, the reaction differs.
 */

/* Regions of the responder beside the open one of pair.h. */
struct odd_regions {
    struct iw_region other_pd, other_stream, no_rights, shared;
};

static void register_odd(struct pair *p, struct odd_regions *odd)
{
    struct pair_side *s = &p->side[1];
    struct iw_region base = s->region;
    base.length = 4096;
    base.guard = 0;
    base.base = s->memory + 8192;
    odd->other_pd = base;
    odd->other_pd.pd = iw_domain_pd(s->domain);
    odd->other_stream = base;
    odd->other_stream.stream = iw_domain_stream(s->domain);
    odd->no_rights = base;
    odd->no_rights.access = IW_ACCESS_LOCAL_WRITE;
    odd->shared = base;
    odd->shared.access = IW_ACCESS_REMOTE_WRITE;
    assert_int_equal(iw_domain_register(s->domain, &odd->other_pd), 0);
    assert_int_equal(iw_domain_register(s->domain, &odd->other_stream), 0);
    assert_int_equal(iw_domain_register(s->domain, &odd->no_rights), 0);
    assert_int_equal(iw_domain_register(s->domain, &odd->shared), 0);
}

static void work(struct pair *p, int side, enum iw_work_opcode opcode, uint32_t stag, uint64_t to,
                 uint32_t length)
{
    struct pair_side *s = &p->side[side];
    struct iw_iov sge = {s->memory, opcode == IW_WORK_READ ? 0 : length};
    struct iw_work w = {.id = 100,
                        .opcode = opcode,
                        .sge = &sge,
                        .sge_count = 1,
                        .invalidate_stag = stag,
                        .remote_stag = stag,
                        .remote_to = to,
                        .sink_stag = s->region.stag,
                        .sink_to = s->region.to + 65536,
                        .length = length};
    (void)iw_endpoint_post(s->ep, &w, p->now);
}

static void recvs(struct pair *p, int side, unsigned count, size_t length)
{
    for (unsigned i = 0; i < count; i++) {
        struct iw_iov sge = {p->side[side].memory + 32768, length};
        (void)iw_endpoint_post_recv(p->side[side].ep, 200 + i, &sge, 1);
    }
}

/* Some of everything, legal as far as the consumer is concerned. */
static void battery(struct pair *p)
{
    recvs(p, 0, 4, 8000);
    recvs(p, 1, 8, 8000);
    for (int side = 0; side < 2; side++) {
        const struct iw_region *r = &p->side[1 - side].region;
        work(p, side, IW_WORK_WRITE, r->stag, r->to, 3001);
        work(p, side, IW_WORK_SEND, 0, 0, 3001);
        work(p, side, IW_WORK_READ, r->stag, r->to, 3001);
        work(p, side, IW_WORK_READ, r->stag, r->to + 64, 64);
        work(p, side, IW_WORK_SEND_SE, 0, 0, 0);
        work(p, side, IW_WORK_WRITE, 0, 0, 0);
        work(p, side, IW_WORK_FETCH_ADD, r->stag, r->to + 4096, 0);
        work(p, side, IW_WORK_CMP_SWAP, r->stag, r->to + 4096, 0);
        work(p, side, IW_WORK_IMMEDIATE_SE, 0, 0, 0);
    }
}

/* The side that finds the fault. */
static int judge_of(enum iw_check check)
{
    switch (check) {
    case IW_CHECK_RDMAP_RESPONSE_UNSOLICITED:
    case IW_CHECK_RDMAP_RESPONSE_STAG:
    case IW_CHECK_RDMAP_RESPONSE_TO:
    case IW_CHECK_RDMAP_RESPONSE_SIZE:
    case IW_CHECK_RDMAP_RESPONSE_PAST:
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH:
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED:
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID:
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER:
    case IW_CHECK_MPA_REP_KEY:
    case IW_CHECK_MPA_REP_S:
    case IW_CHECK_MPA_REP_S_UNASKED:
    case IW_CHECK_MPA_RTR_MATCH:
    case IW_CHECK_MPA_IRD_SHORT:
    case IW_CHECK_MPA_RESPONDER_EARLY:
        return 0;
    default:
        return 1;
    }
}

static void provoke(struct pair *p, enum iw_check check)
{
    const struct iw_region *r = &p->side[1].region;
    struct odd_regions odd;
    switch (check) {
    case IW_CHECK_DDP_STAG_PD:
    case IW_CHECK_DDP_STAG_STREAM:
    case IW_CHECK_DDP_STAG_ACCESS:
    case IW_CHECK_RDMAP_READ_ASSOC:
    case IW_CHECK_RDMAP_READ_ACCESS:
    case IW_CHECK_RDMAP_INVALIDATE_ASSOC:
    case IW_CHECK_RDMAP_INVALIDATE_SHARED: {
        register_odd(p, &odd);
        recvs(p, 1, 2, 8000);
        bool read = check == IW_CHECK_RDMAP_READ_ASSOC || check == IW_CHECK_RDMAP_READ_ACCESS;
        bool invalidate =
            check == IW_CHECK_RDMAP_INVALIDATE_ASSOC || check == IW_CHECK_RDMAP_INVALIDATE_SHARED;
        const struct iw_region *to =
            check == IW_CHECK_DDP_STAG_STREAM ? &odd.other_stream
            : check == IW_CHECK_DDP_STAG_ACCESS || check == IW_CHECK_RDMAP_READ_ACCESS
                ? &odd.no_rights
            : check == IW_CHECK_RDMAP_INVALIDATE_SHARED ? &odd.shared
                                                        : &odd.other_pd;
        work(p, 0,
             read         ? IW_WORK_READ
             : invalidate ? IW_WORK_SEND_INVALIDATE
                          : IW_WORK_WRITE,
             to->stag, to->to, 64);
        break;
    }
    case IW_CHECK_DDP_TO_BASE:
        work(p, 0, IW_WORK_WRITE, r->stag, r->to - 16, 16);
        break;
    case IW_CHECK_DDP_TO_BOUNDS:
        work(p, 0, IW_WORK_WRITE, r->stag, r->to + r->length - 15, 16);
        break;
    case IW_CHECK_RDMAP_READ_BASE:
        work(p, 0, IW_WORK_READ, r->stag, r->to + r->length, 16);
        break;
    case IW_CHECK_DDP_NO_BUFFER:
        work(p, 0, IW_WORK_SEND, 0, 0, 16);
        break;
    case IW_CHECK_DDP_TOO_LONG:
        recvs(p, 1, 1, 16);
        work(p, 0, IW_WORK_SEND, 0, 0, 17);
        break;
    case IW_CHECK_DDP_ZERO_TAGGED:
        work(p, 0, IW_WORK_WRITE, 0x01020304, 5, 0);
        break;
    case IW_CHECK_RDMAP_READ_ZERO:
        work(p, 0, IW_WORK_READ, 0x01020304, 5, 0);
        break;
    case IW_CHECK_RDMAP_RESPONSE_UNSOLICITED:
    case IW_CHECK_RDMAP_RESPONSE_STAG:
    case IW_CHECK_RDMAP_RESPONSE_TO:
    case IW_CHECK_RDMAP_RESPONSE_SIZE:
    case IW_CHECK_RDMAP_RESPONSE_PAST:
        work(p, 0, IW_WORK_READ, r->stag, r->to, 64);
        break;
    case IW_CHECK_RDMAP_IMMEDIATE_LENGTH:
        recvs(p, 1, 2, 0);
        work(p, 0, IW_WORK_IMMEDIATE, 0, 0, 0);
        break;
    case IW_CHECK_RDMAP_ATOMIC_LENGTH:
    case IW_CHECK_RDMAP_ATOMIC_OPCODE:
    case IW_CHECK_RDMAP_ATOMIC_RSVD:
    case IW_CHECK_RDMAP_ATOMIC_UNUSED:
    case IW_CHECK_RDMAP_ATOMIC_ALIGN:
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH:
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED:
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID:
        work(p, 0, IW_WORK_FETCH_ADD, r->stag, r->to + 8, 0);
        break;
    case IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER:
        work(p, 0, IW_WORK_CMP_SWAP, r->stag, r->to + 8, 0);
        work(p, 0, IW_WORK_READ, r->stag, r->to, 64);
        break;
    case IW_CHECK_MPA_REP_KEY:
    case IW_CHECK_MPA_REP_S:
    case IW_CHECK_MPA_REP_S_UNASKED:
    case IW_CHECK_MPA_RTR_MATCH:
    case IW_CHECK_MPA_IRD_SHORT:
    case IW_CHECK_MPA_RESPONDER_EARLY:
        recvs(p, 0, 2, 64);
        work(p, 1, IW_WORK_SEND, 0, 0, 16);
        break;
    case IW_CHECK_RDMAP_INVALIDATE_STAG:
        recvs(p, 1, 1, 64);
        work(p, 0, IW_WORK_SEND_INVALIDATE, r->stag, 0, 5);
        break;
    default:
        battery(p);
        break;
    }
}

static void configure(struct iw_endpoint_config config[2], enum iw_check check)
{
    pair_defaults(config);
    config[0].mpa.markers = config[1].mpa.markers = true;
    switch (check) {
    case IW_CHECK_MPA_RTR_FIRST:
        config[0].mpa.peer_to_peer = true;
        break;
    case IW_CHECK_MPA_RTR_MATCH:
        config[0].mpa.peer_to_peer = true;
        config[0].mpa.rtr = IW_MPA_RTR_SEND;
        config[1].mpa.rtr = IW_MPA_RTR_READ;
        break;
    case IW_CHECK_RDMAP_IRD:
        config[1].mpa.ird = 1;
        break;
    case IW_CHECK_MPA_CRC_OFF:
        config[0].mpa.crc = config[1].mpa.crc = false;
        break;
    case IW_CHECK_MPA_REP_S_UNASKED:
        config[0].mpa.enhanced = false;
        break;
    case IW_CHECK_MPA_REV1_S:
        config[0].mpa.revision = 1;
        config[0].mpa.enhanced = false;
        break;
    default:
        break;
    }
}

static void set(struct iw_switches *s, int kind, enum iw_check check, enum iw_botch botch)
{
    s->any = true;
    if (kind == IW_SWITCH_BOTCH)
        s->botch[check] = (uint8_t)botch;
    else
        s->set[check] |= (uint8_t)(1u << kind);
}

/* Provokes a check with a peer that breaks its rule wherever that can be switched; `kind` < 0 is
 * a strict judge. Returns the judging side. */
static int run_case(struct pair *p, enum iw_check check, int kind, enum iw_botch botch)
{
    struct iw_switches switches[2] = {{0}};
    struct iw_endpoint_config config[2];
    int judge = judge_of(check);
    enum iw_check broken = check == IW_CHECK_MPA_IRD_SHORT  ? IW_CHECK_MPA_ORD_REPLY
                           : check == IW_CHECK_DDP_MO_ORDER ? IW_CHECK_DDP_MO_PLACE
                                                            : check;
    if ((iw_check_info(broken)->kinds & IW_KIND_VIOLATE) != 0)
        set(&switches[1 - judge], IW_SWITCH_VIOLATE, broken, IW_BOTCH_NONE);
    if (kind >= 0)
        set(&switches[judge], kind, check, botch);
    configure(config, check);
    pair_open_bent(p, config, switches);
    if (check == IW_CHECK_MPA_ULPDU_MAX) {
        recvs(p, 1, 1, 200000);
        work(p, 0, IW_WORK_SEND, 0, 0, 200000);
    }
    provoke(p, check);
    pair_run(p);
    if (check == IW_CHECK_MPA_FIN_INSIDE) {
        iw_endpoint_shutdown(p->side[0].ep, p->now);
        pair_run(p);
    }
    return judge;
}

/* Provoked elsewhere (test_endpoint.c) or by no peer at all. */
static bool provoked_elsewhere(enum iw_check check)
{
    return check == IW_CHECK_MPA_STARTUP_TIMEOUT || check == IW_CHECK_MPA_STARTUP_CUT ||
           check == IW_CHECK_MPA_LOCAL || check == IW_CHECK_RDMAP_TERMINATE_VALID ||
           check == IW_CHECK_RDMAP_TERMINATE_STOP;
}

static void test_enforced(void **state)
{
    (void)state;
    for (int c = 1; c < IW_CHECK_COUNT; c++) {
        enum iw_check check = (enum iw_check)c;
        const struct iw_check_info *info = iw_check_info(check);
        if ((info->kinds & IW_KIND_ENDPOINT) == 0 || provoked_elsewhere(check))
            continue;
        struct pair p;
        int judge = run_case(&p, check, -1, IW_BOTCH_NONE);
        const struct iw_event *fault = pair_event(&p, judge, IW_EVENT_FAULT);
        if (fault == NULL || fault->fault.check != check)
            fail_msg("%s: %s", info->name,
                     fault == NULL ? "no fault" : iw_check_info(fault->fault.check)->name);
        const struct iw_event *ended = pair_event(&p, 1 - judge, IW_EVENT_TERMINATED);
        if (info->reaction == IW_REACTION_TERMINATE) {
            if (ended == NULL) {
                fail_msg("%s: no Terminate", info->name);
                return;
            }
            assert_int_equal(ended->terminate.layer, info->layer);
            assert_int_equal(ended->terminate.etype, info->etype);
            assert_int_equal(ended->terminate.code, info->code);
            assert_int_equal(ended->terminate.reserved, 0);
        } else {
            assert_null(ended);
        }
        if (pair_event(&p, judge, IW_EVENT_CLOSED) == NULL)
            fail_msg("%s: not closed", info->name);
        pair_close(&p);
    }
}

static void test_ignored(void **state)
{
    (void)state;
    for (int c = 1; c < IW_CHECK_COUNT; c++) {
        enum iw_check check = (enum iw_check)c;
        if ((iw_check_info(check)->kinds & IW_KIND_ENDPOINT) == 0 || provoked_elsewhere(check))
            continue;
        struct pair p;
        int judge = run_case(&p, check, IW_SWITCH_IGNORE, IW_BOTCH_NONE);
        const struct iw_event *fault = pair_event(&p, judge, IW_EVENT_FAULT);
        if (fault != NULL && fault->fault.check == check)
            fail_msg("%s: still enforced", iw_check_info(check)->name);
        pair_close(&p);
    }
}

static void test_botched(void **state)
{
    (void)state;
    for (int c = 1; c < IW_CHECK_COUNT; c++) {
        for (int b = IW_BOTCH_LAYER; b < IW_BOTCH_COUNT; b++) {
            enum iw_check check = (enum iw_check)c;
            enum iw_botch botch = (enum iw_botch)b;
            const struct iw_check_info *info = iw_check_info(check);
            if (!iw_switch_applies(IW_SWITCH_BOTCH, check, botch) || provoked_elsewhere(check))
                continue;
            struct pair p;
            int judge = run_case(&p, check, IW_SWITCH_BOTCH, botch);
            const struct iw_event *fault = pair_event(&p, judge, IW_EVENT_FAULT);
            const struct iw_event *ended = pair_event(&p, 1 - judge, IW_EVENT_TERMINATED);
            if (fault == NULL || fault->fault.check != check)
                fail_msg("%s=%s: no fault", info->name, iw_botch_name(botch));
            /* Answered after all, the peer gets more than it has room for, and says so first. */
            bool flooded = check == IW_CHECK_RDMAP_READ_BOUNDS && botch == IW_BOTCH_PLACE;
            if (botch == IW_BOTCH_CLOSE || botch == IW_BOTCH_SILENT || flooded)
                assert_null(ended);
            else if (info->reaction == IW_REACTION_TERMINATE) {
                if (ended == NULL) {
                    fail_msg("%s=%s: no Terminate", info->name, iw_botch_name(botch));
                    return;
                }
                bool same_layer = ended->terminate.layer == info->layer;
                bool same_type = ended->terminate.etype == info->etype;
                bool same_code = ended->terminate.code == info->code;
                assert_int_equal(same_layer, botch != IW_BOTCH_LAYER);
                assert_int_equal(same_type, botch != IW_BOTCH_TYPE);
                assert_int_equal(same_code, botch != IW_BOTCH_CODE);
            }
            assert_int_equal(pair_event(&p, judge, IW_EVENT_CLOSED) == NULL,
                             botch == IW_BOTCH_SILENT);
            pair_close(&p);
        }
    }
}

/* Nothing that a careful consumer or a switched peer does: literally in test_endpoint_legal.c and
 * test_mpa_switches.c. */
static bool legal_elsewhere(enum iw_check check)
{
    static const enum iw_check elsewhere[] = {
        IW_CHECK_MPA_PD_FULL,          IW_CHECK_MPA_REV_OLDER,
        IW_CHECK_MPA_REV2_PLAIN,       IW_CHECK_MPA_RTR_EXTRA,
        IW_CHECK_MPA_IRD_ABOVE,        IW_CHECK_MPA_IRD_BELOW,
        IW_CHECK_MPA_IRD_UNASKED,      IW_CHECK_MPA_ORD_UNASKED,
        IW_CHECK_MPA_MARKER_LONE,      IW_CHECK_MPA_MULPDU,
        IW_CHECK_MPA_FPDU_SPLIT,       IW_CHECK_MPA_FPDU_PACKED,
        IW_CHECK_DDP_TO_FIT,           IW_CHECK_DDP_FIT,
        IW_CHECK_DDP_HALF_CLOSE,       IW_CHECK_RDMAP_SEND_INVALIDATE,
        IW_CHECK_RDMAP_READ_FIT,       IW_CHECK_RDMAP_READ_EMPTY,
        IW_CHECK_RDMAP_RESPONSE_EMPTY, IW_CHECK_RDMAP_IRD_FULL,
        IW_CHECK_RDMAP_TERMINATE_RSVD};
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
        if (elsewhere[i] == check)
            return true;
    return false;
}

static void test_overstrict(void **state)
{
    (void)state;
    for (int c = 1; c < IW_CHECK_COUNT; c++) {
        enum iw_check check = (enum iw_check)c;
        const struct iw_check_info *info = iw_check_info(check);
        if ((info->kinds & IW_KIND_LEGAL) == 0 || legal_elsewhere(check))
            continue;
        struct pair p;
        int judge = run_case(&p, check, -1, IW_BOTCH_NONE);
        const struct iw_event *fault = pair_event(&p, judge, IW_EVENT_FAULT);
        if (fault != NULL && fault->fault.check == check)
            fail_msg("%s: refused though legal", info->name);
        pair_close(&p);
        judge = run_case(&p, check, IW_SWITCH_OVERSTRICT, IW_BOTCH_NONE);
        fault = pair_event(&p, judge, IW_EVENT_FAULT);
        if (fault == NULL || fault->fault.check != check)
            fail_msg("%s: %s", info->name,
                     fault == NULL ? "not refused" : iw_check_info(fault->fault.check)->name);
        pair_close(&p);
    }
}

/* Any one switch, on either side, with some of everything going on: this program is also run
 * under AddressSanitizer, which must find nothing, and no guard octet beyond the arena changes. */
static void test_any_switch_is_safe(void **state)
{
    (void)state;
    for (int c = 1; c < IW_CHECK_COUNT; c++) {
        for (int kind = 0; kind <= IW_SWITCH_BOTCH; kind++) {
            for (int b = 0; b < IW_BOTCH_COUNT; b++) {
                enum iw_check check = (enum iw_check)c;
                if ((kind == IW_SWITCH_BOTCH) != (b != 0) ||
                    !iw_switch_applies((enum iw_switch)kind, check, (enum iw_botch)b))
                    continue;
                struct pair p;
                (void)run_case(&p, check, kind, (enum iw_botch)b);
                battery(&p);
                pair_run(&p);
                pair_close(&p);
            }
        }
    }
}

static void test_nothing_is_placed_by_a_refused_write(void **state)
{
    (void)state;
    static const struct {
        int64_t offset;
        uint32_t length;
    } cases[] = {{-1, 1}, {-1, 2}, {PAIR_MEMORY, 1}, {PAIR_MEMORY - 1, 2}, {PAIR_MEMORY + 1, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct iw_endpoint_config config[2];
        struct pair p;
        pair_defaults(config);
        pair_open(&p, config);
        memset(p.side[0].memory, 0x11, 64);
        memset(p.side[1].memory, 0x22, PAIR_MEMORY);
        work(&p, 0, IW_WORK_WRITE, p.side[1].region.stag,
             p.side[1].region.to + (uint64_t)cases[i].offset, cases[i].length);
        pair_run(&p);
        assert_non_null(pair_event(&p, 1, IW_EVENT_FAULT));
        for (size_t k = 0; k < PAIR_MEMORY; k++)
            assert_int_equal(p.side[1].memory[k], 0x22);
        for (size_t k = 0; k < PAIR_GUARD; k++) {
            assert_int_equal(p.side[1].arena[k], 0xa5);
            assert_int_equal(p.side[1].memory[PAIR_MEMORY + k], 0xa5);
        }
        pair_close(&p);
    }
}

static void test_an_ignored_bound_shows_in_the_guard(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    struct pair p;
    pair_defaults(config);
    pair_open(&p, config);
    set(&p.side[1].switches, IW_SWITCH_IGNORE, IW_CHECK_DDP_TO_BOUNDS, IW_BOTCH_NONE);
    memset(p.side[0].memory, 0x11, 64);
    work(&p, 0, IW_WORK_WRITE, p.side[1].region.stag, p.side[1].region.to + PAIR_MEMORY - 4, 16);
    pair_run(&p);
    assert_null(pair_event(&p, 1, IW_EVENT_FAULT));
    for (size_t k = 0; k < 12; k++)
        assert_int_equal(p.side[1].memory[PAIR_MEMORY + k], 0x11);
    assert_int_equal(p.side[1].memory[PAIR_MEMORY + 12], 0xa5);
    pair_close(&p);
}

/* Placed before the check, octets with an MO outside of the buffer land inside of it. */
static void test_an_mo_outside_stays_in_the_buffer(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    struct pair p;
    pair_defaults(config);
    pair_open(&p, config);
    set(&p.side[0].switches, IW_SWITCH_VIOLATE, IW_CHECK_DDP_MO, IW_BOTCH_NONE);
    set(&p.side[1].switches, IW_SWITCH_BOTCH, IW_CHECK_DDP_MO, IW_BOTCH_PLACE);
    memset(p.side[0].memory, 0x11, 16);
    recvs(&p, 1, 1, 99); /* 0x10000000 is 56 above a multiple of 100 */
    work(&p, 0, IW_WORK_SEND, 0, 0, 16);
    pair_run(&p);
    assert_int_equal(pair_event(&p, 1, IW_EVENT_FAULT)->fault.check, IW_CHECK_DDP_MO);
    assert_int_equal(pair_completion(&p, 1, 200)->status, IW_STATUS_LOCAL_FAULT);
    for (size_t k = 0; k < 200; k++)
        assert_int_equal(p.side[1].memory[32768 + k], k >= 56 && k < 72 ? 0x11 : 0xa5);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enforced),
        cmocka_unit_test(test_ignored),
        cmocka_unit_test(test_botched),
        cmocka_unit_test(test_overstrict),
        cmocka_unit_test(test_any_switch_is_safe),
        cmocka_unit_test(test_nothing_is_placed_by_a_refused_write),
        cmocka_unit_test(test_an_ignored_bound_shows_in_the_guard),
        cmocka_unit_test(test_an_mo_outside_stays_in_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
