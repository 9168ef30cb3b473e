/* SPDX-License-Identifier: BSD-3-Clause */
/* How the settings of the launcher (IWARP_VERBS) are read. */
#include "verbs/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct iw_verbs_settings read_words(const char *text)
{
    struct iw_verbs_settings s;
    iw_verbs_read_settings(text, &s);
    return s;
}

static void without_words(void **state)
{
    static const char *const texts[] = {NULL, "", ",,", "crc", "nonsense=on,=,x="};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct iw_verbs_settings s = read_words(texts[i]);
        assert_true(s.crc && s.rtr && s.responder_first && !s.markers && !s.verbose);
        assert_false(s.switches.any || s.judge);
        assert_int_equal(s.revision, 2);
        assert_int_equal(s.mulpdu, 0);
        assert_int_equal(s.spin, 20);
    }
}

static void each_word(void **state)
{
    const struct iw_verbs_settings s =
        read_words("crc=off,markers=on,rtr=off,responder_first=off,verbose=on,revision=1,mulpdu="
                   "64768,judge=on,capture=77,spin=0");
    (void)state;
    assert_true(!s.crc && s.markers && !s.rtr && !s.responder_first && s.verbose && s.judge);
    assert_int_equal(s.capture, 77);
    assert_int_equal(s.spin, 0);
    assert_int_equal(s.revision, 1);
    assert_int_equal(s.mulpdu, 64768);
    assert_true(read_words("crc=on,crc=off,crc=on").crc);
    assert_int_equal(read_words("revision=2").revision, 2);
}

static void switches(void **state)
{
    const struct iw_verbs_settings s =
        read_words("ignore=mpa-crc,violate=rdmap-response-past,overstrict=mpa-pd-none,"
                   "botch=ddp-stag=silent,violate=no-such-check,crc=off");
    (void)state;
    assert_true(iw_switch_ignored(&s.switches, iw_check_find("mpa-crc")));
    assert_false(iw_switch_violated(&s.switches, iw_check_find("mpa-crc")));
    assert_true(iw_switch_violated(&s.switches, iw_check_find("rdmap-response-past")));
    assert_true(iw_switch_overstrict(&s.switches, iw_check_find("mpa-pd-none")));
    assert_int_equal(iw_switch_botched(&s.switches, iw_check_find("ddp-stag")), IW_BOTCH_SILENT);
    assert_false(s.crc);
}

static void a_word_that_is_too_long_is_passed_over(void **state)
{
    char text[300] = "markers=on,ignore=";
    (void)state;
    memset(text + strlen(text), 'x', 200);
    strcat(text, ",rtr=off");
    const struct iw_verbs_settings s = read_words(text);
    assert_true(s.markers && !s.rtr && !s.switches.any);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_words),
        cmocka_unit_test(each_word),
        cmocka_unit_test(switches),
        cmocka_unit_test(a_word_that_is_too_long_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
