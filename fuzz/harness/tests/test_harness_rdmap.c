/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the other headers: each decoder is run, and the printer. */
#include "spy.h"

#include <stdio.h>

#include "iwarp/wire.h"

static const char *wrong; /* what is decoded, and encoded as something else */
static size_t needed;

/* A decoder and an encoder of two octets. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type has none */
#define FAKE(name, type)                                                                           \
    int iw_wire_get_##name(const uint8_t *octets, size_t length, type *out)                        \
    {                                                                                              \
        (void)octets;                                                                              \
        memset(out, 0, sizeof(*out));                                                              \
        spy_note(#name " ");                                                                       \
        return length < 2 || strcmp(wrong, #name) != 0 ? IW_WIRE_SHORT : 2;                        \
    }                                                                                              \
    int iw_wire_put_##name(uint8_t *octets, size_t room, const type *in)                           \
    {                                                                                              \
        (void)in;                                                                                  \
        (void)room;                                                                                \
        memset(octets, 9, 2);                                                                      \
        return 2;                                                                                  \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

FAKE(read_request, struct iw_rdmap_read_request)
FAKE(atomic_request, struct iw_rdmap_atomic_request)
FAKE(atomic_response, struct iw_rdmap_atomic_response)
FAKE(startup, struct iw_mpa_startup_header)
FAKE(enhanced, struct iw_mpa_enhanced)
FAKE(marker, struct iw_mpa_marker)

enum iw_mpa_key iw_wire_mpa_key(const uint8_t key[IW_MPA_KEY_LENGTH])
{
    spy_note("key %02x ", key[15]);
    return IW_MPA_KEY_OTHER;
}

size_t iw_wire_print_startup(char *text, size_t room, const uint8_t *frame, size_t length)
{
    (void)frame;
    memset(text, 't', room - 1);
    text[room - 1] = '\0';
    text[length] = '\0';
    if (length == 20)
        memset(text, 't', room - 1);
    spy_note("print %zu", length);
    return needed;
}

#define ALL "read_request atomic_request atomic_response startup enhanced marker "
#define KEY "00000000000000000000000000000000"

static void everything_is_run(void **state)
{
    (void)state;
    wrong = "";
    needed = 16;
    spy_run(&iw_fuzz_harness, KEY, "", ALL "key 00 print 16");
    needed = 15;
    spy_run(&iw_fuzz_harness, "000000000000000000000000000000", "", ALL "print 15");
}

static void wrong_codecs_are_noticed(void **state)
{
    static const char *const names[] = {"read_request", "atomic_request", "atomic_response",
                                        "startup",      "enhanced",       "marker"};
    static const char *const what[] = {"read request",   "atomic request", "atomic response",
                                       "start-up frame", "enhanced block", "marker"};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        char expected[80];
        wrong = names[i];
        snprintf(expected, sizeof(expected), "%s: encoded anew it is something else", what[i]);
        assert_string_equal(spy_runs(&iw_fuzz_harness, "0000"), expected);
    }
}

static void prints_have_their_length(void **state)
{
    static const char otherwise[] = "rdmap: a frame printed otherwise";

    (void)state;
    wrong = "";
    for (needed = 2; needed < 5; needed++)
        assert_string_equal(spy_runs(&iw_fuzz_harness, "000000"), needed == 3 ? "" : otherwise);
    needed = 399;
    assert_string_equal(spy_runs(&iw_fuzz_harness, KEY "00000000"), "");
    needed = 400;
    assert_string_equal(spy_runs(&iw_fuzz_harness, KEY "00000000"), otherwise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_run),
        cmocka_unit_test(wrong_codecs_are_noticed),
        cmocka_unit_test(prints_have_their_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
