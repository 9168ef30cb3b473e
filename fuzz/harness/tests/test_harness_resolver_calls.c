/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the resolver: the datagrams that it makes, octet by octet, and what else its
 * records become. */
#include "fake_resolver.h"

#define OPENED "open: expiry 3000000000 step 20000000 sets 1 waits relays\n"

/* Asserts what is noted between open and close. */
static void play(const char *hex, const char *notes)
{
    char all[4000];
    set_up(NULL);
    assert_string_equal(spy_runs(&iw_fuzz_harness, hex), "");
    snprintf(all, sizeof(all), OPENED "%sclose\n", notes);
    assert_string_equal(spy_notes(), all);
}

/* ---- its records ---- */

static void settings(void **state)
{
    (void)state;
    static const struct {
        const char *hex, *notes;
    } list[] = {{"00", OPENED "close\n"},
                {"01", "open: expiry 3000000000 step 20000000 sets 1 waits key relays\nclose\n"},
                {"02", "open: expiry 3000000000 step 20000000 sets 1 relays\nclose\n"},
                {"04", "open: expiry 3000000000 step 20000000 sets 1 waits\nclose\n"},
                {"f8", OPENED "close\n"},
                {"", ""}};
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        spy_run(&iw_fuzz_harness, list[i].hex, "", list[i].notes);
    for (int result = -1; result < 2; result += 2) {
        set_up(NULL);
        fake.opens = result;
        assert_string_equal(spy_runs(&iw_fuzz_harness, "00"), "no memory");
    }
    assert_string_equal(iw_fuzz_harness.name, "resolver");
    assert_int_equal(iw_fuzz_harness.most, 2048);
}

#define V4 "at 1000 of 4 c0000001000000000000000000000000 5555 0 by 2"

static void origins(void **state)
{
    (void)state;
    play("00 00 00 00 00 00 03 616263", V4 ": 616263\n");
    play("00 00 01 00 00 00 01 61", V4 " unicast: 61\n");
    play("00 00 02 00 00 00 01 61",
         "at 1000 of 4 7f000001000000000000000000000000 5555 0 by 1 loopback: 61\n");
    play("00 00 04 00 00 00 01 61",
         "at 1000 of 6 fe800000000000000000000000000001 5555 2 by 2: 61\n");
    play("00 00 07 00 00 00 01 61",
         "at 1000 of 6 fe800000000000000000000000000001 5555 1 by 1 unicast loopback: 61\n");
    /* A record that the input cuts; kinds go round; fewer than six octets are none. */
    play("00 08 00 00 00 00 ff 6162", V4 ": 6162\n");
    play("00 08 00 00 00 00", "");
}

#define MAGIC "6957727301"

/* As play(), without the spaces of what is expected of the datagram itself. */
static void made(const char *hex, const char *datagram)
{
    char notes[400];
    size_t n = (size_t)snprintf(notes, sizeof(notes), V4 ": ");
    for (; *datagram != '\0'; datagram++)
        if (*datagram != ' ')
            notes[n++] = *datagram;
    snprintf(notes + n, sizeof(notes) - n, "\n");
    play(hex, notes);
}

static void kinds_of_datagrams(void **state)
{
    (void)state;
#define NO_NONCE "00000000000000000000000000000000"
#define NOWHERE "00000000000000000000000000000000"
    made("00 01 00 00 17 05 00",
         MAGIC "010000 00000007 0000 0000 0000000000000000" NO_NONCE NOWHERE);
    made("00 01 00 01 0f 05 00", MAGIC "020004 0000000f 1267 0000 0000000000000006" NO_NONCE
                                       "c0000205000000000000000000000000");
    made("00 01 00 02 00 ff 00",
         MAGIC "030000 00000000 0000 0000 0000000000000100" NO_NONCE NOWHERE);
    made("00 01 00 03 00 00 00",
         MAGIC "010000 00000000 0000 0000 0000000000000000" NO_NONCE NOWHERE);
    /* Relayed, with the place of who asks. 0x80 is 2 modulo 3. */
    made("00 01 00 80 01 09 00", MAGIC "030204 00000001 1267 0000 000000000000000a" NO_NONCE
                                       "c0000209000000000000000000000000");
    /* One octet is bent; for that two must be given. */
    made("00 01 10 00 07 00 02 04 02",
         "6957727303 010000 00000007 0000 0000 0000000000000000" NO_NONCE NOWHERE);
    made("00 01 10 00 07 00 02 3c 02",
         "6957727303 010000 00000007 0000 0000 0000000000000000" NO_NONCE NOWHERE); /* 60 mod 56 */
    made("00 01 10 00 07 00 01 04",
         MAGIC "010000 00000007 0000 0000 0000000000000000" NO_NONCE NOWHERE);
    made("00 01 00 00 07 00 02 04 02",
         MAGIC "010000 00000007 0000 0000 0000000000000000" NO_NONCE NOWHERE);
    made("00 01 30 00 07 00 02 04 02", /* no key, no MAC */
         "6957727303 010000 00000007 0000 0000 0000000000000000" NO_NONCE NOWHERE);
}

/* Notes what the resolver would say of the datagram. */
static struct iw_resolver_key the_key;
static uint8_t asked_octets[IW_RESOLVER_DATAGRAM];

static const char *verdict_of(const char *hex)
{
    static const char *const verdicts[] = {"good", "malformed", "refused"};
    struct iw_resolver_datagram d;
    set_up(NULL);
    assert_string_equal(spy_runs(&iw_fuzz_harness, hex), "");
    const char *at = strstr(spy_notes(), ": 69");
    assert_non_null(at);
    assert_true(strlen(at) > 2 * sizeof(asked_octets));
    for (size_t i = 0; i < sizeof(asked_octets); i++) {
        const char digits[] = {at[2 + 2 * i], at[3 + 2 * i], '\0'};
        asked_octets[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    iw_resolver_key_set(&the_key, "sixteen octets!!", 16);
    return verdicts[iw_resolver_decode(asked_octets, sizeof(asked_octets), &d, &the_key)];
}

static void macs(void **state)
{
    (void)state;
    assert_string_equal(verdict_of("01 01 00 00 07 00 00"), "good");
    assert_string_equal(verdict_of("01 01 10 00 07 00 02 0a 01"), "refused");
    assert_string_equal(verdict_of("01 01 10 00 07 00 02 40 01"), "refused"); /* of the MAC */
    assert_string_equal(verdict_of("01 01 30 00 07 00 02 0a 01"), "good");
    assert_int_equal(asked_octets[10], 1);
    assert_string_equal(verdict_of("01 01 30 00 07 00 02 40 01"), "good"); /* made anew */
}

/* ---- time, and what the process does ---- */

static void other_records(void **state)
{
    (void)state;
    play("00 02 00 00 17 00 00 00", "look 7 at 1000 for 500\n");
    play("00 03 00 00 1f c8 00", "gather 15 at 1000 for 200\n");
    play("00 04 00 00 01 00 00", "forget 1 1 at 1000\n");
    play("00 05 00 00 07 09 00",
         "claim 7 at 1000 as 10 4 7f000000000000000000000000000000 4711 0\n");
    play("00 05 00 00 07 08 00",
         "claim 7 at 1000 as 9 4 0a000000000000000000000000000000 4711 0\n");
    play("00 05 01 00 07 09 00",
         "claim 7 at 1000 as 10 4 00000000000000000000000000000000 4711 0\n");
    /* A number is claimed once, until it is given up. */
    play("00 05 00 00 07 08 00 05 00 00 07 08 00 06 00 00 08 00 00 06 00 00 07 00 00 05 00 00 07 "
         "08 00",
         "claim 7 at 1000 as 9 4 0a000000000000000000000000000000 4711 0\n"
         "claim 7 at 1000 as 9 4 0a000000000000000000000000000000 4711 0\n");
    play("00 07 64 00 00 00 00 02 00 00 07 00 00", "tick 1000\nlook 7 at 1100 for 500\n");
    play("00 07 03 0a 00 00 00 02 00 00 07 00 00", "tick 1000\nlook 7 at 1012 for 500\n");
    play("00 07 00 00 00 00 00 04 00 00 07 00 00", "tick 1000\nforget 7 1 at 1000\n");
}

static void time_that_passes(void **state)
{
    (void)state;
    set_up(NULL);
    fake.due = 40000000;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 07 64 00 00 00 00 02 00 00 07 00 00"), "");
    assert_string_equal(spy_notes(), OPENED "tick 1000\ntick 1040\ntick 1080\n"
                                            "look 7 at 1100 for 500\nclose\n");
    set_up(NULL);
    fake.due = 50000000; /* what is due at the end is done later */
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 07 64 00 00 00 00"), "");
    assert_string_equal(spy_notes(), OPENED "tick 1000\ntick 1050\nclose\n");
    set_up(NULL);
    fake.due = 1;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 07 64 00 00 00 00"),
                        "resolver: is due again and again");
    assert_int_equal(fake.ticks, 20001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(settings, set_up),
        cmocka_unit_test_setup(origins, set_up),
        cmocka_unit_test_setup(kinds_of_datagrams, set_up),
        cmocka_unit_test_setup(macs, set_up),
        cmocka_unit_test_setup(other_records, set_up),
        cmocka_unit_test_setup(time_that_passes, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
