/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <stdio.h>

/* The faults that no other endpoint can be switched to provoke: strict, ignored and botched. */

enum mood { STRICT, IGNORED, SILENT, MOODS };

static void open_mood(struct pair *p, const struct iw_endpoint_config config[2], const char *check,
                      enum mood mood)
{
    struct iw_switches switches[2] = {{0}};
    const char *error;
    char spec[64] = {0};
    snprintf(spec, sizeof(spec), "%s", check);
    if (mood == IGNORED)
        assert_int_equal(iw_switches_set(&switches[1], IW_SWITCH_IGNORE, spec, &error), 1);
    snprintf(spec, sizeof(spec), "%s=silent", check);
    if (mood == SILENT)
        assert_int_equal(iw_switches_set(&switches[1], IW_SWITCH_BOTCH, spec, &error), 1);
    pair_open_bent(p, config, switches);
}

static void input(struct pair *p, const char *octets, size_t length)
{
    uint8_t copy[64];
    assert_true(length <= sizeof(copy));
    memcpy(copy, octets, length);
    struct iw_iov in = {copy, length};
    iw_endpoint_input(p->side[1].ep, &in, 1, p->now);
}

static void expect_fault(struct pair *p, enum iw_check check)
{
    pair_collect(p, 1);
    const struct iw_event *event = pair_event(p, 1, IW_EVENT_FAULT);
    if (check == IW_CHECK_NONE) {
        assert_null(event);
        return;
    }
    assert_non_null(event);
    assert_int_equal(event->fault.check, check);
}

/* RFC 5044 §7.1.2 (10). */
static void test_start_up_that_does_not_end(void **state)
{
    (void)state;
    for (int mood = 0; mood < MOODS; mood++) {
        struct iw_endpoint_config config[2];
        struct pair p;
        pair_defaults(config);
        config[1].startup_timeout = 5000;
        open_mood(&p, config, "mpa-startup-timeout", (enum mood)mood);
        iw_endpoint_tick(p.side[1].ep, 6000);
        expect_fault(&p, mood == IGNORED ? IW_CHECK_NONE : IW_CHECK_MPA_STARTUP_TIMEOUT);
        assert_int_equal(iw_endpoint_want(p.side[1].ep),
                         mood == STRICT ? IW_WANT_FIN : IW_WANT_NOTHING);
        pair_close(&p);
    }
}

/* RFC 5044 §7.1.1: private data that ends early. */
static void test_start_up_cut_short(void **state)
{
    (void)state;
    for (int mood = 0; mood < MOODS; mood++) {
        struct iw_endpoint_config config[2];
        struct pair p;
        pair_defaults(config);
        open_mood(&p, config, "mpa-startup-cut", (enum mood)mood);
        input(&p, "MPA ", 4);
        iw_endpoint_input_end(p.side[1].ep, true, p.now);
        assert_int_equal(iw_endpoint_want(p.side[1].ep),
                         mood == SILENT ? IW_WANT_NOTHING : IW_WANT_FIN);
        expect_fault(&p, mood == IGNORED ? IW_CHECK_NONE : IW_CHECK_MPA_STARTUP_CUT);
        pair_close(&p);
    }
}

static void start(struct pair *p, struct iw_endpoint_config config[2], enum mood mood)
{
    pair_defaults(config);
    config[0].mpa.crc = config[1].mpa.crc = false;
    open_mood(p, config, "rdmap-terminate-valid", mood);
    pair_run(p);
    assert_non_null(pair_event(p, 1, IW_EVENT_ESTABLISHED));
}

/* RFC 5040 §5.4: surfaced, not answered (OP-69); D is set here and no header follows. */
static void test_undecodable_terminate(void **state)
{
    (void)state;
    for (int mood = STRICT; mood <= IGNORED; mood++) {
        struct iw_endpoint_config config[2];
        struct pair p;
        start(&p, config, (enum mood)mood);
        input(&p,
              "\x00\x16\x41\x47\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x01"
              "\x00\x00\x00\x00\x11\x00\xc0\x00\x00\x00\x00\x00",
              28);
        expect_fault(&p, mood == IGNORED ? IW_CHECK_NONE : IW_CHECK_RDMAP_TERMINATE_VALID);
        assert_null(pair_event(&p, 1, IW_EVENT_TERMINATED));
        assert_int_equal(iw_endpoint_want(p.side[1].ep),
                         mood == IGNORED ? IW_WANT_NOTHING : IW_WANT_FIN);
        pair_close(&p);
    }
}

/* RFC 6581 §9.3: no buffer for incoming octets is a local fault, reported once as 2/0/05. */
static void test_an_empty_pool_is_told(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    struct pair p;
    start(&p, config, STRICT);
    void *all[2] = {iw_domain_borrow(p.side[1].domain), iw_domain_borrow(p.side[1].domain)};
    assert_null(iw_domain_borrow(p.side[1].domain));
    input(&p, "\x00", 1);
    iw_domain_return(p.side[1].domain, all[0]);
    iw_domain_return(p.side[1].domain, all[1]);
    expect_fault(&p, IW_CHECK_MPA_LOCAL);

    static const uint8_t terminate[] = {0, 22, 0x41, 0x47, 0, 0, 0,    0, 0, 0, 0, 2, 0, 0,
                                        0, 1,  0,    0,    0, 0, 0x20, 5, 0, 0, 0, 0, 0, 0};
    const struct iw_iov *pieces;
    uint8_t out[64];
    size_t length = 0;
    while (iw_endpoint_output(p.side[1].ep, &pieces, p.now) > 0) {
        assert_true(length + pieces[0].length <= sizeof(out));
        memcpy(out + length, pieces[0].base, pieces[0].length);
        length += pieces[0].length;
        iw_endpoint_sent(p.side[1].ep, pieces[0].length, p.now);
    }
    assert_int_equal(length, sizeof(terminate));
    assert_memory_equal(out, terminate, sizeof(terminate));
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_up_that_does_not_end),
        cmocka_unit_test(test_start_up_cut_short),
        cmocka_unit_test(test_undecodable_terminate),
        cmocka_unit_test(test_an_empty_pool_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
