/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone.h"

#include <stdio.h>

/* --ignore and --botch, literally: what a wrong segment leads to when its check is skipped, and
 * when the reaction to it is a wrong one. CRCs are off unless the check is theirs: their field is
 * zeros. */

#define CRC " 00000000 "
#define NONE " 00000000 "
#define ONE " 00000001 "
#define TWO " 00000002 "
#define SEND(control, qn, msn, mo) "0016" control "00000000" qn msn mo "68656c6c" CRC
#define WRITE(control, stag, to) "0012" control stag to "68656c6c" CRC
#define TO_1000 " 00000000 00001000 "
#define READ(msn, size, stag, to)                                                                  \
    "002e 4141 00000000 00000001" msn NONE "aabbccdd 00000000 00002000" size stag to CRC
#define ANSWER(data) "0012 c142 aabbccdd 00000000 00002000" data CRC
#define FIVE "0017 4143 00000000 00000000" ONE NONE "68656c6c 6f 000000"

/* ---- --ignore ---- */

struct ignored {
    enum iw_check check;
    enum iw_mpa_role role;
    const char *in;
    const char *out;
    unsigned at; /* where "hell" stands in the memory then; 4096: nowhere */
    bool delivered;
};

enum { NOWHERE = 4096, BUFFER = 64 };

static const struct ignored ignored[] = {
    {IW_CHECK_MPA_CRC, IW_MPA_RESPONDER, FIVE "b990b10d", "", BUFFER, true},
    {IW_CHECK_DDP_HEADER_SHORT, IW_MPA_RESPONDER, "000a 4143 00000000 00000000" CRC, "", NOWHERE,
     false},
    {IW_CHECK_DDP_VERSION_UNTAGGED, IW_MPA_RESPONDER, SEND("4243", NONE, ONE, NONE), "", BUFFER,
     true},
    {IW_CHECK_DDP_VERSION_TAGGED, IW_MPA_RESPONDER, WRITE("c240", "SSSS", TO_1000), "", 0, false},
    {IW_CHECK_DDP_STAG, IW_MPA_RESPONDER, WRITE("c140", "01020304", TO_1000), "", NOWHERE, false},
    {IW_CHECK_DDP_TO_BASE, IW_MPA_RESPONDER, WRITE("c140", "SSSS", "00000000 00000ff0"), "",
     NOWHERE, false},
    {IW_CHECK_DDP_TO_BOUNDS, IW_MPA_RESPONDER, WRITE("c140", "SSSS", "00000000 00001ffe"), "",
     NOWHERE, false},
    /* Where a TO wraps it lies outside of the buffer, too. */
    {IW_CHECK_DDP_TO_WRAP, IW_MPA_RESPONDER, WRITE("c140", "SSSS", "ffffffff ffffffff"),
     "0026 4147 00000000 00000002" ONE NONE "1101c000 0012 c140 SSSS ffffffff ffffffff" CRC,
     NOWHERE, false},
    /* Its opcode is on another queue than its own, too. */
    {IW_CHECK_DDP_QN, IW_MPA_RESPONDER, SEND("4143", "00000009", ONE, NONE),
     "002a 4147 00000000 00000002" ONE NONE "0206c000 0016 4143 00000000 00000009" ONE NONE CRC,
     NOWHERE, false},
    {IW_CHECK_DDP_MSN, IW_MPA_RESPONDER, SEND("4143", NONE, TWO, NONE), "", BUFFER, true},
    {IW_CHECK_DDP_MO, IW_MPA_RESPONDER, SEND("4143", NONE, ONE, "00000015"), "", BUFFER + 4, true},
    {IW_CHECK_DDP_TOO_LONG, IW_MPA_RESPONDER, SEND("4143", NONE, ONE, "0000000d"), "", NOWHERE,
     true},
    {IW_CHECK_RDMAP_VERSION, IW_MPA_RESPONDER, SEND("4183", NONE, ONE, NONE), "", BUFFER, true},
    {IW_CHECK_RDMAP_OPCODE, IW_MPA_RESPONDER, SEND("414f", NONE, ONE, NONE), "", BUFFER, true},
    {IW_CHECK_RDMAP_OPCODE_TAGGED, IW_MPA_RESPONDER, WRITE("c143", "SSSS", TO_1000), "", 0, false},
    {IW_CHECK_RDMAP_OPCODE_QUEUE, IW_MPA_RESPONDER, SEND("4141", NONE, ONE, NONE), "", BUFFER,
     true},
    {IW_CHECK_RDMAP_INVALIDATE_STAG, IW_MPA_RESPONDER,
     "0016 4144 01020304 00000000" ONE NONE "68656c6c" CRC, "", BUFFER, true},
    {IW_CHECK_RDMAP_READ_LENGTH, IW_MPA_RESPONDER,
     "002a 4141 00000000 00000001" ONE NONE "aabbccdd 00000000 00002000 00000004 SSSS 00000000" CRC,
     "", NOWHERE, false},
    {IW_CHECK_RDMAP_READ_STAG, IW_MPA_RESPONDER, READ(ONE, "00000004", "01020304", TO_1000),
     ANSWER(NONE), NOWHERE, false},
    {IW_CHECK_RDMAP_READ_BASE, IW_MPA_RESPONDER, READ(ONE, "00000004", "SSSS", "00000000 00002000"),
     ANSWER(NONE), NOWHERE, false},
    {IW_CHECK_RDMAP_READ_BOUNDS, IW_MPA_RESPONDER,
     READ(ONE, "00000004", "SSSS", "00000000 00001ffe"), ANSWER("99990000"), NOWHERE, false},
    {IW_CHECK_RDMAP_READ_WRAP, IW_MPA_RESPONDER, READ(ONE, "00000004", "SSSS", "ffffffff ffffffff"),
     "0046 4147 00000000 00000002" ONE NONE "0101e000 002e 4141 00000000 00000001" ONE NONE
     "aabbccdd 00000000 00002000 00000004 SSSS ffffffff ffffffff" CRC,
     NOWHERE, false},
    {IW_CHECK_RDMAP_IRD, IW_MPA_RESPONDER,
     READ(ONE, "00000004", "SSSS", TO_1000) READ(TWO, "00000004", "SSSS", TO_1000),
     ANSWER("99999999") ANSWER("99999999"), NOWHERE, false},
    {IW_CHECK_RDMAP_RESPONSE_UNSOLICITED, IW_MPA_RESPONDER, WRITE("c142", "SSSS", TO_1000), "", 0,
     false},
    {IW_CHECK_RDMAP_RESPONSE_TO, IW_MPA_INITIATOR, WRITE("c142", "SSSS", "00000000 00001008"), "",
     8, false},
    {IW_CHECK_RDMAP_RESPONSE_PAST, IW_MPA_INITIATOR,
     "0016 c142 SSSS" TO_1000 "68656c6c 68656c6c" CRC, "", 4, false},
    {IW_CHECK_RDMAP_RESPONSE_SIZE, IW_MPA_INITIATOR, "0011 c142 SSSS" TO_1000 "68656c 00" CRC, "",
     NOWHERE, false},
    {IW_CHECK_RDMAP_TERMINATE_VALID, IW_MPA_RESPONDER,
     "0016 4147 00000000 00000002" ONE NONE "1100c000" CRC, "", NOWHERE, false},
};

static void set(struct lone *l, enum iw_switch kind, enum iw_check check, const char *reaction)
{
    char spec[64];
    const char *error;
    (void)snprintf(spec, sizeof(spec), "%s%s", iw_check_info(check)->name, reaction);
    assert_int_equal(iw_switches_set(&l->switches, kind, spec, &error), 1);
}

/* Full operation; memory of 0x99 with a receive for 16 octets at BUFFER; an initiator waits for 4
 * octets of a Read at the memory's start. */
static void open_full(struct lone *l, enum iw_mpa_role role, bool crc)
{
    struct iw_endpoint_config config = lone_config(role, crc);
    config.mpa.ird = 1;
    lone_open_as(l, config, 2);
    drain(l);
    if (role == IW_MPA_RESPONDER) {
        feed(l, crc ? REQUEST : REQUEST_NO_CRC);
        assert_int_equal(iw_endpoint_accept(l->ep, NULL, 0, 0), IW_OK);
    } else {
        feed(l, crc ? REPLY : REPLY_NO_CRC);
        struct iw_work read = {
            .id = 1, .opcode = IW_WORK_READ, .length = 4, .sink_stag = l->stag, .sink_to = 0x1000};
        assert_int_equal(iw_endpoint_post(l->ep, &read, 0), IW_OK);
    }
    struct iw_iov sge = {l->memory + BUFFER, 16};
    assert_int_equal(iw_endpoint_post_recv(l->ep, 7, &sge, 1), IW_OK);
    drain(l);
    memset(l->memory, 0x99, sizeof(l->memory));
    l->out_length = 0;
}

static bool faulted(struct lone *l)
{
    struct iw_event event;
    while (iw_endpoint_event(l->ep, &event))
        if (event.kind == IW_EVENT_FAULT)
            return true;
    return false;
}

static void test_ignored(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        const struct ignored *row = &ignored[i];
        struct lone l;
        struct iw_completion c;

        open_full(&l, row->role, row->check == IW_CHECK_MPA_CRC);
        feed(&l, row->in);
        struct iw_event event;
        do
            if (!iw_endpoint_event(l.ep, &event))
                fail_msg("%s: no fault", iw_check_info(row->check)->name);
        while (event.kind != IW_EVENT_FAULT);
        assert_int_equal(event.fault.check, row->check);
        lone_close(&l);

        open_full(&l, row->role, row->check == IW_CHECK_MPA_CRC);
        set(&l, IW_SWITCH_IGNORE, row->check, "");
        feed(&l, row->in);
        expect(&l, row->out);
        bool another = strstr(row->out, "4147") != NULL;
        assert_int_equal(faulted(&l), another);
        assert_int_equal(iw_endpoint_want(l.ep), another ? IW_WANT_FIN : IW_WANT_NOTHING);
        if (row->at != NOWHERE)
            assert_memory_equal(l.memory + row->at, "hell", 4);
        bool delivered =
            iw_endpoint_poll(l.ep, &c, 1) == 1 && c.id == 7 && c.status == IW_STATUS_OK;
        if (delivered != row->delivered)
            fail_msg("%s: delivery", iw_check_info(row->check)->name);
        lone_close(&l);
    }
}

/* ---- --botch ---- */

#define TERM_1 "0026 4147 00000000 00000002" ONE NONE
#define TERM_2 "0026 4147 00000000 00000002" TWO NONE
#define ABOUT "c000 0012 c140 01020304" TO_1000 CRC

static void test_botched(void **state)
{
    (void)state;
    static const struct {
        const char *reaction, *out;
        enum iw_want want;
    } reactions[] = {
        {"", TERM_1 "1100" ABOUT, IW_WANT_FIN},
        {"=layer", TERM_1 "2100" ABOUT, IW_WANT_FIN},
        {"=type", TERM_1 "1000" ABOUT, IW_WANT_FIN},
        {"=code", TERM_1 "1110" ABOUT, IW_WANT_FIN},
        {"=again", TERM_1 "1100" ABOUT TERM_2 "1100" ABOUT, IW_WANT_FIN},
        {"=place", TERM_1 "1100" ABOUT, IW_WANT_FIN},
        {"=close", "", IW_WANT_FIN},
        {"=silent", "", IW_WANT_NOTHING},
    };
    for (size_t i = 0; i < sizeof(reactions) / sizeof(reactions[0]); i++) {
        struct lone l;
        open_full(&l, IW_MPA_RESPONDER, false);
        if (i > 0)
            set(&l, IW_SWITCH_BOTCH, IW_CHECK_DDP_STAG, reactions[i].reaction);
        feed(&l, WRITE("c140", "01020304", TO_1000));
        expect(&l, reactions[i].out);
        assert_int_equal(iw_endpoint_want(l.ep), reactions[i].want);
        feed(&l, WRITE("c140", "SSSS", TO_1000)); /* nothing is placed any more */
        assert_int_equal(l.memory[0], 0x99);
        lone_close(&l);
    }
}

/* Placed, or answered, before the check: then the Terminate all the same. */
static void test_placed_before_the_check(void **state)
{
    (void)state;
    static const struct {
        enum iw_check check;
        const char *in, *out;
        unsigned at;
    } rows[] = {
        {IW_CHECK_DDP_STAG, WRITE("c140", "SSSS", TO_1000),
         TERM_1 "1100 c000 0012 c140 SSSS" TO_1000 CRC, 0},
        {IW_CHECK_DDP_MSN, SEND("4143", NONE, TWO, NONE),
         "002a 4147 00000000 00000002" ONE NONE "1203c000 0016 4143 00000000 00000000" TWO NONE CRC,
         BUFFER},
        {IW_CHECK_RDMAP_READ_BOUNDS, READ(ONE, "00000004", "SSSS", "00000000 00001ffe"),
         ANSWER("99990000") "0046 4147 00000000 00000002" ONE NONE
                            "0101e000 002e 4141 00000000 00000001" ONE NONE
                            "aabbccdd 00000000 00002000 00000004 SSSS 00000000 00001ffe" CRC,
         NOWHERE},
        /* An octet too many: the length that the Terminate returns counts it. */
        {IW_CHECK_RDMAP_READ_LENGTH,
         "002f 4141 00000000 00000001" ONE NONE "aabbccdd 00000000 00002000 00000004 SSSS" TO_1000
         "77 000000" CRC,
         ANSWER("99999999") "002a 4147 00000000 00000002" ONE NONE
                            "02ffc000 002f 4141 00000000 00000001" ONE NONE CRC,
         NOWHERE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lone l;
        struct iw_completion c;
        open_full(&l, IW_MPA_RESPONDER, false);
        set(&l, IW_SWITCH_BOTCH, rows[i].check, "=place");
        if (rows[i].check == IW_CHECK_DDP_STAG)
            assert_int_equal(iw_domain_invalidate(l.domain, l.stag), 0);
        feed(&l, rows[i].in);
        expect(&l, rows[i].out);
        if (rows[i].at != NOWHERE)
            assert_memory_equal(l.memory + rows[i].at, "hell", 4);
        assert_int_equal(iw_endpoint_poll(l.ep, &c, 1), 1);
        assert_int_equal(c.status, IW_STATUS_FLUSHED);
        lone_close(&l);
    }
}

static void test_silent_start_up(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct lone l;
        lone_open(&l, IW_MPA_RESPONDER, false, 2);
        if (i == 1)
            set(&l, IW_SWITCH_BOTCH, IW_CHECK_MPA_REQ_KEY, "=silent");
        feed(&l, "474554202f");
        expect(&l, "");
        assert_true(faulted(&l));
        assert_int_equal(iw_endpoint_want(l.ep), i == 1 ? IW_WANT_NOTHING : IW_WANT_FIN);
        lone_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ignored),
        cmocka_unit_test(test_botched),
        cmocka_unit_test(test_placed_before_the_check),
        cmocka_unit_test(test_silent_start_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
