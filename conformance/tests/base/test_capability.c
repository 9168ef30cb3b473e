/* SPDX-License-Identifier: BSD-3-Clause */
/* The words for what a peer may be able to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/capability.h"

static void the_names_come_in_their_order(void **state)
{
    static const char *const names[] = {
        "agent",        "memory",  "crc",       "markers",    "revision", "enhanced",
        "peer_to_peer", "rtr",     "read",      "empty_read", "echo",     "terminate",
        "send",         "reject",  "private",   "reconnect",  "rping",    "extensions",
        "ird",          "windows", "streaming", "tcp",        "class"};

    (void)state;
    for (size_t i = 0; i < 23; i++)
        assert_string_equal(iw_capability_at(i), names[i]);
    assert_null(iw_capability_at(23));
    assert_null(iw_capability_at(24));
}

static void a_name_or_one_of_its_words_is_known(void **state)
{
    static const char *const known[] = {
        "agent",      "memory",      "memory.read", "memory.write", "memory.atomic",
        "crc.on",     "crc.off",     "markers.on",  "markers.off",  "revision.1",
        "revision.2", "rtr.send",    "rtr.write",   "rtr.read",     "private",
        "private.0",  "private.512", "rping.64",    "ird.4",        "extensions.off",
        "tcp",        "tcp.crafted", "class.bare",  "class.rping",  "class.agent"};
    char error[256] = "untouched";

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!iw_capability_known(known[i], error, sizeof(error)))
            fail_msg("%s: %s", known[i], error);
    assert_string_equal(error, "untouched");
}

#define NAMES                                                                                      \
    "agent, memory, crc, markers, revision, enhanced, peer_to_peer, rtr, read, empty_read, echo, " \
    "terminate, send, reject, private, reconnect, rping, extensions, ird, windows, streaming, "    \
    "tcp, class"

static void others_are_not_and_the_nearest_is_named(void **state)
{
    static const struct {
        const char *word, *error;
    } rows[] = {
        {"", "a capability; '' is none; there are " NAMES},
        {".", "a capability; '.' is none; there are " NAMES},
        {"nothing-like-it", "a capability; 'nothing-like-it' is none; there are " NAMES},
        {"agents", "a capability; 'agents' is none (did you mean 'agent'?)"},
        {"agen", "a capability; 'agen' is none (did you mean 'agent'?)"},
        {"clas", "a capability; 'clas' is none (did you mean 'class'?)"},
        {"read.", "a capability; 'read.' is none (did you mean 'read'?)"},
        {"memory.reed", "a capability; 'memory.reed' is none (did you mean 'memory.read'?)"},
        {"memory.atomics",
         "a capability; 'memory.atomics' is none (did you mean 'memory.atomic'?)"},
        {"memory.rea", "a capability; 'memory.rea' is none (did you mean 'memory.read'?)"},
        {"class.agnt", "a capability; 'class.agnt' is none (did you mean 'class.agent'?)"},
        {"revision.3", "a capability; 'revision.3' is none (did you mean 'revision.1'?)"},
        {"memory.4", "a capability; 'memory.4' is none (did you mean 'memory'?)"},
        {"ird.", "a capability; 'ird.' is none (did you mean 'ird'?)"},
        {"ird.4x", "a capability; 'ird.4x' is none; there are " NAMES},
        {"ird.x4", "a capability; 'ird.x4' is none; there are " NAMES},
        /* No more than 64 octets of it are shown. */
        {"0123456789012345678901234567890123456789012345678901234567890123456789",
         "a capability; '0123456789012345678901234567890123456789012345678901234567890123' is "
         "none; there are " NAMES},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char error[IW_CAPABILITY_ERROR] = "";

        assert_false(iw_capability_known(rows[i].word, error, sizeof(error)));
        assert_string_equal(error, rows[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_names_come_in_their_order),
        cmocka_unit_test(a_name_or_one_of_its_words_is_known),
        cmocka_unit_test(others_are_not_and_the_nearest_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
