/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of Terminates: which wrong ones it notices. */
#include "spy.h"

#include <stdio.h>

#include "iwarp/rdmap.h"

static struct {
    int got, put, read;          /* results: of the input, of encoding, of reading that */
    struct iw_rdmap_terminate t; /* in the input */
    uint32_t trailing;           /* of what is read */
    uint8_t flags;               /* of it, changed by this */
    const char *name, *layer;
    /* How the Terminate for a check is changed: */
    uint8_t by_layer, by_etype, by_code, made_flags;
    bool otherwise; /* encoding the input's anew gives another */
} fake;

int iw_wire_get_terminate(const uint8_t *octets, size_t length, struct iw_rdmap_terminate *out)
{
    if (octets[0] == 0xee) { /* one that was made */
        assert_int_equal(length, fake.put);
        *out = (struct iw_rdmap_terminate){.trailing = fake.trailing,
                                           .flags = fake.made_flags ^ fake.flags};
        return fake.read;
    }
    *out = fake.t;
    return length < 5 ? IW_WIRE_SHORT : fake.got;
}

int iw_wire_put_terminate(uint8_t *octets, size_t room, const struct iw_rdmap_terminate *in)
{
    if (room < 5)
        return IW_WIRE_SHORT;
    if (room == 128) { /* the same again */
        memset(octets, 0, 5);
        return fake.otherwise ? fake.got + 1 : fake.got;
    }
    assert_int_equal(room, IW_TERM_MAX);
    assert_int_equal(in->flags, fake.made_flags);
    octets[0] = 0xee;
    return fake.put;
}

const char *iw_wire_term_name(unsigned layer, unsigned etype, unsigned code)
{
    assert_int_equal(layer, fake.t.layer);
    assert_int_equal(etype, fake.t.etype);
    assert_int_equal(code, fake.t.code);
    return fake.name;
}

const char *iw_wire_term_layer_name(unsigned layer)
{
    assert_int_equal(layer, fake.t.layer);
    return fake.layer;
}

void iw_rdmap_terminate_for(enum iw_check check, const struct iw_ddp_header *header,
                            const struct iw_rdmap_read_request *read_request, uint32_t length,
                            struct iw_rdmap_terminate *out)
{
    const struct iw_check_info *info = iw_check_info(check);

    spy_note("%s %d%d %u\n", info->name, header != NULL, read_request != NULL, length);
    *out = (struct iw_rdmap_terminate){.layer = (uint8_t)(info->layer + fake.by_layer),
                                       .etype = (uint8_t)(info->etype + fake.by_etype),
                                       .code = (uint8_t)(info->code + fake.by_code),
                                       .flags = fake.made_flags};
}

/* Two checks that bring a Terminate. */
static void again(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.got = fake.put = fake.read = 5;
    fake.t = (struct iw_rdmap_terminate){.layer = 1,
                                         .etype = 2,
                                         .code = IW_CHECK_MPA_CRC,
                                         .reserved = IW_CHECK_DDP_QN,
                                         .flags = IW_TERM_D | IW_TERM_R,
                                         .segment_length = 9};
    fake.name = fake.layer = "name";
}

#define SAYS(expected) assert_string_equal(spy_runs(&iw_fuzz_harness, "0000000000"), expected)
#define NOTES(expected)                                                                            \
    do {                                                                                           \
        SAYS("");                                                                                  \
        spy_noted(expected);                                                                       \
    } while (0)

static void both_checks_are_answered(void **state)
{
    (void)state;
    again();
    NOTES("ddp-qn 11 9\nmpa-crc 11 9\n");
    fake.t.flags = IW_TERM_D;
    NOTES("ddp-qn 10 9\nmpa-crc 10 9\n");
    fake.t.flags = (uint8_t) ~(IW_TERM_D | IW_TERM_R);
    fake.t.reserved = IW_CHECK_COUNT;
    fake.t.code = IW_CHECK_COUNT + IW_CHECK_MPA_CRC > 255 ? IW_CHECK_MPA_CRC
                                                          : IW_CHECK_COUNT + IW_CHECK_MPA_CRC;
    NOTES("none 00 9\nmpa-crc 00 9\n");
    fake.got = IW_WIRE_SHORT;
    NOTES("");
}

static void octets_are_accounted_for(void **state)
{
    (void)state;
    for (uint32_t trailing = 0; trailing < 3; trailing++) {
        again();
        fake.t.trailing = trailing;
        assert_string_equal(spy_runs(&iw_fuzz_harness, "000000000000"),
                            trailing == 1 ? "" : "terminate: octets are lost");
    }
    again();
    fake.put = 5;
    SAYS("");
}

static void wrong_codecs_are_noticed(void **state)
{
    (void)state;
    again();
    fake.otherwise = true;
    SAYS("terminate: encoded anew it is something else");
}

static void everything_has_a_name(void **state)
{
    (void)state;
    again();
    fake.name = "";
    SAYS("terminate: without a name");
    again();
    fake.layer = "";
    SAYS("terminate: without a name");
}

static void errors_are_the_checks_own(void **state)
{
    static const char other[] = "terminate: ddp-qn brings another error than its own";

    (void)state;
    for (unsigned by = 1; by < 256; by += 254) {
        again();
        fake.by_layer = (uint8_t)by;
        SAYS(other);
        again();
        fake.by_etype = (uint8_t)by;
        SAYS(other);
        again();
        fake.by_code = (uint8_t)by;
        SAYS(other);
    }
    fake.t.reserved = fake.t.code = IW_CHECK_MPA_REQ_KEY; /* it brings none */
    SAYS("");
}

static void only_given_headers_are_returned(void **state)
{
    static const char nobody[] = "terminate: ddp-qn returns a header that nobody gave";

    (void)state;
    for (unsigned given = 0; given < 4; given++)
        for (unsigned made = 0; made < 4; made++) {
            again();
            fake.t.flags = (uint8_t)((given & 1 ? IW_TERM_D : 0u) | (given & 2 ? IW_TERM_R : 0u));
            fake.made_flags = (uint8_t)((made & 1 ? IW_TERM_D : 0u) | (made & 2 ? IW_TERM_R : 0u));
            SAYS((made & ~given) == 0 ? "" : nobody);
        }
}

static void what_is_made_can_be_read(void **state)
{
    static const char unread[] = "terminate: what ddp-qn brings cannot be read";

    (void)state;
    again();
    fake.put = IW_WIRE_SHORT;
    SAYS(unread);
    again();
    fake.put = fake.read = 0;
    SAYS(unread);
    for (int read = 4; read < 7; read += 2) {
        again();
        fake.read = read;
        SAYS(unread);
    }
    again();
    fake.trailing = 1;
    SAYS(unread);
    again();
    fake.made_flags = 2;
    fake.flags = 3;
    SAYS(unread);
    fake.made_flags = 1;
    SAYS(unread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_checks_are_answered),
        cmocka_unit_test(octets_are_accounted_for),
        cmocka_unit_test(wrong_codecs_are_noticed),
        cmocka_unit_test(everything_has_a_name),
        cmocka_unit_test(errors_are_the_checks_own),
        cmocka_unit_test(only_given_headers_are_returned),
        cmocka_unit_test(what_is_made_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
