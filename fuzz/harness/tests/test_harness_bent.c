/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of bent endpoints: what it asks an endpoint for, and what it notices. */
#include "fake_endpoint.h"
#include "spy.h"

#include <stdio.h>

#include "input/local.h"

static const uint8_t *area; /* the harness's memory */
static struct iw_region regions[4];

static int start(void **state)
{
    (void)state;
    fake_reset();
    iw_fuzz_harness.start();
    spy_run(&iw_fuzz_harness, "", "", "create\nlost\ndestroy\n");
    for (uint32_t i = 0; i < 4; i++)
        assert_true(iw_domain_lookup(fake.domain, IW_FUZZ_STAG + i, &regions[i]));
    area = regions[0].base - 256;
    return 0;
}

static void again(void)
{
    fake_reset();
    fake.memory = area;
    fake.memory_size = 16384 + 4096;
    fake.completes = true;
}

/* Runs the input on a fake that is as it was set. */
#define RUNS(hex, said, notes) spy_run(&iw_fuzz_harness, hex, said, notes)

static void it_has_four_regions(void **state)
{
    static const struct {
        uint32_t access;
        uint64_t stream;
    } want[] = {{0x17, 0}, {2, 0}, {1, 0}, {0xd, 1}};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(regions[i].base - area, 256 + 1024 * i);
        assert_int_equal(regions[i].length, 512);
        assert_int_equal(regions[i].to, 0x1000);
        assert_int_equal(regions[i].guard, 32);
        assert_int_equal(regions[i].pd, fake.config.pd);
        assert_int_equal(regions[i].access, want[i].access);
        assert_int_equal(regions[i].stream, want[i].stream);
        assert_true(regions[i].valid);
    }
}

static void settings_make_the_endpoint(void **state)
{
    const struct iw_endpoint_config *c = &fake.config;

    (void)state;
    again();
    RUNS("8b212100", "", "create\nlost\ndestroy\n");
    assert_int_equal(c->role, IW_MPA_INITIATOR);
    assert_true(c->mpa.markers && c->mpa.crc && c->extensions && c->early_placement);
    assert_int_equal(c->mpa.revision, 2);
    assert_int_equal(c->mpa.ird, 1);
    assert_int_equal(c->mpa.ord, 2);
    assert_int_equal(c->send_depth, 16);
    assert_int_equal(c->recv_depth, 16);
    assert_int_equal(c->max_sge, 4);
    assert_int_equal(c->startup_timeout, 60);
    RUNS("04082100", "", "create\nlost\ndestroy\n");
    assert_int_equal(c->role, IW_MPA_RESPONDER);
    assert_int_equal(c->mpa.ird, 2);
    assert_false(c->mpa.markers || c->mpa.crc || c->extensions || c->early_placement);
    fake.created = IW_ERR_MEMORY;
    RUNS("", "bent: no endpoint (-1)", "create\n");
}

static void work_is_posted(void **state)
{
    (void)state;
    again();
    RUNS("00000000 020800 0003010a03200500 021000 0005000000020000 0005000000010102"
         " 020800 0006000700000000 020800 0013f20109020300 020800 0005000001020000",
         "",
         "create\n"
         "post 0 op 3 flags 1 to 11223346+1005 000000\n"
         "post 1 op 5 flags 0 to 11223344+1000 sink 11223344+1000 512\n"
         "post 2 op 5 flags 0 to 11223344+1201 sink 11223344+1000 256\n"
         "post 3 op 6 flags 0 to 1122334b+1000 immediate 0000000000000000\n"
         "post 4 op 9 flags 0 to 11223345+1003 209/0 3/0\n"
         "post 5 op 5 flags 0 to 11223344+1000 sink 11223344+1000 0\n"
         "lost\n"
         "destroy\n");
    again();
    fake.posted = IW_ERR_FULL;
    RUNS("00000000 020800 0000000001000000 020800 0000000001000000 020800 0100000001000000", "",
         "create\n"
         "post 0 op 0 flags 0 to 11223344+1000 00\n"
         "post 0 op 0 flags 0 to 11223344+1000 00\n"
         "receive 0 m16384+1\n"
         "lost\n"
         "destroy\n");
}

static void receives_are_posted(void **state)
{
    (void)state;
    again();
    RUNS("00000000 020800 0100000001100000 020800 0100000000100000 020800 01ffffff0500ffff", "",
         "create\n"
         "receive 0 m16384+0\n"
         "receive 1 m16384+4096\n"
         "receive 2 m16384+5\n"
         "lost\n"
         "destroy\n");
}

static void the_rest_goes_to_the_endpoint(void **state)
{
    struct iw_region found;

    (void)state;
    again();
    fake.ep.rx_pos = 1000;
    RUNS("00000000 020800 0600000000000000 021000 0703080000000000 0702090000000000"
         " 020800 0900000034120000 020800 0400001200000000 000300 616263 010200 6465"
         " 030200 0300 040300 040066 050000 060000 020000 020800 0b00000000000000",
         "",
         "create\n"
         "shutdown\n"
         "abort 1 8\n"
         "abort 0 9\n"
         "emss 4660\n"
         "input 616263\n"
         "input 64\n"
         "input 65\n"
         "tick at 4000000\n"
         "output of 1 at 4000000\n"
         "input at 1004 66 at 4000000\n"
         "output of 1 at 4000000\n"
         "fin at 4000000\n"
         "output of 1 at 4000000\n"
         "lost at 4000000\n"
         "output of 1 at 4000000\n"
         "post 0 op 0 flags 0 to 11223344+1000  at 4000000\n"
         "output of 1 at 4000000\n"
         "output of 1 at 4000000\n"
         "lost at 4000000\n"
         "output of 1 at 4000000\n"
         "destroy\n");
    assert_true(iw_domain_lookup(fake.domain, IW_FUZZ_STAG + 2, &found));
    assert_false(found.valid);
    assert_true(iw_domain_lookup(fake.domain, IW_FUZZ_STAG + 0, &found));
    assert_true(found.valid);
    again();
    RUNS("", "", "create\nlost\ndestroy\n");
    assert_true(iw_domain_lookup(fake.domain, IW_FUZZ_STAG + 2, &found));
    assert_true(found.valid); /* as it was at first */
}

static void requests_are_accepted(void **state)
{
    (void)state;
    again();
    fake.events[0].kind = IW_EVENT_ESTABLISHED;
    fake.events[1].kind = IW_EVENT_REQUEST;
    fake.events[2].kind = IW_EVENT_CLOSED;
    RUNS("", "", "create\naccept m0+8\nlost\ndestroy\n");
}

/* ---- switches ---- */

/* Runs an input with one switch, in a step before the endpoint is made or after it. */
static void bend(unsigned check, unsigned what, bool first, const char *said)
{
    char hex[80];

    again();
    snprintf(hex, sizeof(hex), "00000000 %s 070300 %02x%02x%02x", first ? "" : "030000",
             check & 255, check >> 8, what);
    spy_run(&iw_fuzz_harness, hex, said,
            first ? "create\nlost\ndestroy\n" : "create\ntick\nlost\ndestroy\n");
}

static void assert_switches(enum iw_check check, unsigned set, enum iw_botch botch)
{
    const struct iw_switches *s = fake.config.switches;

    assert_int_equal(s->any, set != 0 || botch != IW_BOTCH_NONE);
    for (enum iw_check other = IW_CHECK_NONE; other < IW_CHECK_COUNT; other++) {
        assert_int_equal(s->set[other], other == check ? set : 0);
        assert_int_equal(s->botch[other], other == check ? (unsigned)botch : 0);
    }
}

/* Also those of the first step, which the endpoint has from its creation on. */
static void switches_are_set(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        bend(IW_CHECK_MPA_CRC, IW_SWITCH_IGNORE, first, "");
        assert_switches(IW_CHECK_MPA_CRC, 1, IW_BOTCH_NONE);
        bend(IW_CHECK_MPA_CRC + IW_CHECK_COUNT, IW_SWITCH_VIOLATE, first, "");
        assert_switches(IW_CHECK_MPA_CRC, 4, IW_BOTCH_NONE);
        bend(IW_CHECK_MPA_CRC, IW_SWITCH_OVERSTRICT, first, ""); /* there is no such */
        assert_switches(IW_CHECK_NONE, 0, IW_BOTCH_NONE);
        bend(IW_CHECK_NONE, IW_SWITCH_IGNORE, first, "");
        assert_switches(IW_CHECK_NONE, 0, IW_BOTCH_NONE);
        bend(IW_CHECK_MPA_CRC, IW_SWITCH_BOTCH, first, "");
        assert_switches(IW_CHECK_NONE, 0, IW_BOTCH_NONE);
        bend(IW_CHECK_MPA_CRC, IW_SWITCH_BOTCH + IW_BOTCH_AGAIN, first, "");
        assert_switches(IW_CHECK_MPA_CRC, 0, IW_BOTCH_AGAIN);
        bend(IW_CHECK_MPA_CRC, IW_SWITCH_BOTCH + IW_BOTCH_COUNT + IW_SWITCH_VIOLATE, first, "");
        assert_switches(IW_CHECK_MPA_CRC, 4, IW_BOTCH_NONE);
    }
}

static void switches_add_up(void **state)
{
    char hex[200];
    const unsigned crc = IW_CHECK_MPA_CRC;

    (void)state;
    again();
    snprintf(hex, sizeof(hex), "00000000 030000 070b00 %02x0000 %02x0002 %02x0004 %02x00", crc, crc,
             crc, crc); /* the last one is not whole */
    spy_run(&iw_fuzz_harness, hex, "", "create\ntick\nlost\ndestroy\n");
    assert_switches(IW_CHECK_MPA_CRC, 5, IW_BOTCH_LAYER);
    snprintf(hex, sizeof(hex), "00000000 030000 070600 %02x0000 %02x0000", crc, crc);
    spy_run(&iw_fuzz_harness, hex, "", "create\ntick\nlost\ndestroy\n");
    assert_int_equal(fake.config.switches->set[crc], 0);
    spy_run(&iw_fuzz_harness, "", "", "create\nlost\ndestroy\n");
    assert_switches(IW_CHECK_NONE, 0, IW_BOTCH_NONE);
    snprintf(hex, sizeof(hex), "00000000 050300 %02x0000", crc); /* an end sets none */
    spy_run(&iw_fuzz_harness, hex, "", "create\nfin\nlost\ndestroy\n");
    assert_switches(IW_CHECK_NONE, 0, IW_BOTCH_NONE);
}

/* ---- output ---- */

static uint8_t mebioctet[1 << 20];

static void output_is_read_and_sent(void **state)
{
    (void)state;
    again();
    fake.output[0] = (struct iw_iov){(void *)(uintptr_t) "abc", 3};
    fake.output[1] = (struct iw_iov){(void *)(uintptr_t) "de", 2};
    fake.output[2] = (struct iw_iov){(void *)(uintptr_t) "f", 1};
    fake.output[3] = (struct iw_iov){(void *)(uintptr_t) "g", 1};
    fake.outputs = 4;
    fake.paired = true;
    RUNS("", "",
         "create\n"
         "touched 3: 616263\n"
         "touched 2: 6465\n"
         "sent 5\n"
         "touched 1: 66\n"
         "touched 1: 67\n"
         "sent 2\n"
         "lost\n"
         "destroy\n");
    fake.output_at = 0;
    fake.outputs = 2;
    fake.output[0].length = fake.output[1].length = 0;
    RUNS("", "bent: output without end", "create\ntouched 0: \ntouched 0: \nsent 0\n");
}

/* Gives a bent endpoint 4 MiB to send, and `more` octets. Returns what the oracle says. */
static const char *send_more(unsigned check, unsigned what, size_t more)
{
    char hex[40];

    again();
    snprintf(hex, sizeof(hex), "00000000 070300 %02x00%02x", check, what);
    for (size_t i = 0; i < 5; i++)
        fake.output[i] = (struct iw_iov){mebioctet, i < 4 ? sizeof(mebioctet) : more};
    fake.outputs = more > 0 ? 5 : 4;
    return spy_runs(&iw_fuzz_harness, hex);
}

static void output_has_an_end(void **state)
{
    (void)state;
    assert_string_equal(send_more(IW_CHECK_MPA_CRC, IW_SWITCH_IGNORE, 0), "");
    assert_string_equal(send_more(IW_CHECK_MPA_CRC, IW_SWITCH_IGNORE, 1),
                        "bent: output without end");
}

/* A Read of GiBs may be let through: then the peer leaves. */
static void unless_reads_have_no_bounds(void **state)
{
    (void)state;
    for (unsigned check = IW_CHECK_NONE + 1; check < IW_CHECK_COUNT; check++) {
        bool bounds = check == IW_CHECK_RDMAP_READ_STAG || check == IW_CHECK_RDMAP_READ_ASSOC ||
                      check == IW_CHECK_RDMAP_READ_ACCESS || check == IW_CHECK_RDMAP_READ_BASE ||
                      check == IW_CHECK_RDMAP_READ_BOUNDS || check == IW_CHECK_RDMAP_READ_WRAP;
        assert_string_equal(send_more(check, IW_SWITCH_IGNORE, 1),
                            bounds ? "" : "bent: output without end");
        assert_string_equal(send_more(check, IW_SWITCH_BOTCH + IW_BOTCH_CODE, 1),
                            "bent: output without end");
    }
    assert_string_equal(send_more(IW_CHECK_RDMAP_READ_STAG, IW_SWITCH_BOTCH + IW_BOTCH_PLACE, 1),
                        "");
    assert_string_equal(send_more(IW_CHECK_RDMAP_READ_STAG, IW_SWITCH_BOTCH + IW_BOTCH_AGAIN, 1),
                        "bent: output without end");
    assert_string_equal(send_more(IW_CHECK_RDMAP_READ_STAG, IW_SWITCH_OVERSTRICT, 1),
                        "bent: output without end");
    assert_string_equal(send_more(IW_CHECK_RDMAP_READ_STAG, IW_SWITCH_IGNORE, 1), "");
    spy_noted("create\n"
              "touched 1048576: 00000000000000000000000000000000\n"
              "sent 1048576\n"
              "touched 1048576: 00000000000000000000000000000000\n"
              "sent 1048576\n"
              "touched 1048576: 00000000000000000000000000000000\n"
              "sent 1048576\n"
              "touched 1048576: 00000000000000000000000000000000\n"
              "sent 1048576\n"
              "touched 1: 00\n"
              "sent 1\n"
              "lost\n"
              "lost\n"
              "destroy\n");
    assert_string_equal(send_more(IW_CHECK_RDMAP_READ_STAG, IW_SWITCH_IGNORE, 0), "");
    spy_noted("create\n"
              "touched 1048576: 00000000000000000000000000000000\n"
              "sent 1048576\n"
              "touched 1048576: 00000000000000000000000000000000\n"
              "sent 1048576\n"
              "touched 1048576: 00000000000000000000000000000000\n"
              "sent 1048576\n"
              "touched 1048576: 00000000000000000000000000000000\n"
              "sent 1048576\n"
              "lost\n"
              "destroy\n");
    fake.outputs = 6; /* it goes on, though the peer has left */
    fake.output_at = 0;
    fake.output[5] = fake.output[4] = fake.output[0];
    char hex[40];
    snprintf(hex, sizeof(hex), "00000000 070300 %02x0000", IW_CHECK_RDMAP_READ_STAG);
    RUNS(hex, "bent: output to nobody",
         "create\n"
         "touched 1048576: 00000000000000000000000000000000\n"
         "sent 1048576\n"
         "touched 1048576: 00000000000000000000000000000000\n"
         "sent 1048576\n"
         "touched 1048576: 00000000000000000000000000000000\n"
         "sent 1048576\n"
         "touched 1048576: 00000000000000000000000000000000\n"
         "sent 1048576\n"
         "touched 1048576: 00000000000000000000000000000000\n"
         "sent 1048576\n"
         "lost\n");
}

static void ends_are_passed_on(void **state)
{
    (void)state;
    again();
    fake.want = IW_WANT_FIN;
    RUNS("", "",
         "create\n"
         "fin sent\n"
         "lost\n"
         "fin sent\n"
         "destroy\n");
    fake.want = IW_WANT_RESET;
    RUNS("", "",
         "create\n"
         "lost\n"
         "lost\n"
         "lost\n"
         "destroy\n");
}

/* ---- what it notices ---- */

static void completions_must_be_in_order(void **state)
{
    (void)state;
    again();
    fake.completes = false;
    fake.done[0] = (struct iw_completion){.id = 0, .opcode = IW_WORK_SEND};
    fake.done_count = 1;
    RUNS("", "bent: work 0 completes in the place of 0", "create\n");
    fake.done_count = 1;
    fake.done[0].opcode = IW_WORK_RECV;
    RUNS("", "bent: work 0 completes in the place of 0", "create\n");
}

static uint64_t id;

static void complete_another(void)
{
    fake.done[0] = (struct iw_completion){.id = id, .opcode = IW_WORK_SEND};
    fake.done_count = 1;
}

static void only_what_was_posted_completes(void **state)
{
    (void)state;
    for (id = 0; id < 2; id++) {
        again();
        fake.completes = false;
        fake.input = complete_another;
        assert_string_equal(
            spy_runs(&iw_fuzz_harness,
                     "00000000 021000 0004000000000000 0004000000000000 000100 00 000100 00"),
            id == 0 ? "bent: work 0 completes in the place of 1"
                    : "bent: work 1 completes in the place of 0");
        again();
        fake.completes = false;
        fake.input = complete_another;
        assert_string_equal(spy_runs(&iw_fuzz_harness,
                                     "00000000 021000 0100000000000000 0100000000000000 000100 00"),
                            id == 0 ? "bent: work 0 completes in the place of 0"
                                    : "bent: work 1 completes in the place of 0");
    }
}

static void work_must_complete(void **state)
{
    (void)state;
    again();
    fake.completes = false;
    assert_string_equal(
        spy_runs(&iw_fuzz_harness, "00000000 021000 0004000000000000 0004000000000000"),
        "bent: 2 pieces of work and 0 receives never complete");
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00000000 020800 0100000000000000"),
                        "bent: 0 pieces of work and 1 receives never complete");
}

static size_t written;

static void write_octet(void)
{
    uint8_t *octet = (uint8_t *)(uintptr_t)area + written;

    *octet ^= 1;
}

static void memory_between_is_watched(void **state)
{
    (void)state;
    for (written = 0; written < 16384 + 100; written++) {
        size_t in = written % 1024;
        bool free_for = (written < 4096 && in >= 224 && in < 800) || written >= 16384;
        char expected[80] = "";
        if (!free_for)
            snprintf(expected, sizeof(expected),
                     "bent: octet %zu outside of regions and guards was written", written);
        again();
        fake.input = write_octet;
        assert_string_equal(spy_runs(&iw_fuzz_harness, "00000000 000100 00"), expected);
        assert_int_equal(area[written], 0xa4);
        if (written > 5000 && written < 16000)
            written += 200;
    }
}

static void leak(void)
{
    const struct iw_env *env = iw_domain_env(fake.domain);

    (void)env->alloc(env->context, 8);
}

static void memory_is_given_back(void **state)
{
    (void)state;
    again();
    fake.input = leak;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00000000 000100 00"),
                        "bent: 1 blocks of memory are not given back");
    assert_string_equal(spy_runs(&iw_fuzz_harness, ""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_four_regions),
        cmocka_unit_test(settings_make_the_endpoint),
        cmocka_unit_test(work_is_posted),
        cmocka_unit_test(receives_are_posted),
        cmocka_unit_test(the_rest_goes_to_the_endpoint),
        cmocka_unit_test(requests_are_accepted),
        cmocka_unit_test(switches_are_set),
        cmocka_unit_test(switches_add_up),
        cmocka_unit_test(output_is_read_and_sent),
        cmocka_unit_test(output_has_an_end),
        cmocka_unit_test(unless_reads_have_no_bounds),
        cmocka_unit_test(ends_are_passed_on),
        cmocka_unit_test(completions_must_be_in_order),
        cmocka_unit_test(only_what_was_posted_completes),
        cmocka_unit_test(work_must_complete),
        cmocka_unit_test(memory_between_is_watched),
        cmocka_unit_test(memory_is_given_back),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
