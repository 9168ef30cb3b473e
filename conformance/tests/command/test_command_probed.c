/* SPDX-License-Identifier: BSD-3-Clause */
/* The target file that probe writes: what the user has said stands, what was found comes to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/probe_file.h"
#include "command/rule_sheet.h"
#include "host/rule_link.h"

static struct iw_probed probed;
static struct iw_target_spec spec;
static char *text; /* what was written */
static size_t length;
static FILE *out;

static int begin(void **state)
{
    (void)state;
    probed = (struct iw_probed){0};
    spec = (struct iw_target_spec){.class = IW_TARGET_BARE};
    text = NULL;
    out = open_memstream(&text, &length);
    return out != NULL ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    if (out != NULL)
        fclose(out);
    free(text);
    iw_probed_free(&probed);
    return 0;
}

#define FIRST                                                                                      \
    "-- What iwarp-conform probe found out about this peer (1970-01-02 01:01 UTC). Above each "    \
    "value: what was seen.\n\nreturn {\n"

/* What is in the file after its first lines. */
static void writes(const char *expected)
{
    iw_probed_write(out, &spec, &probed, 86400 + 3661);
    fclose(out);
    out = NULL;
    assert_memory_equal(text, FIRST, sizeof(FIRST) - 1);
    assert_string_equal(text + sizeof(FIRST) - 1, expected);
}

/* ---- taking notes ---- */

static void notes(void **state)
{
    (void)state;
    iw_probed_take(&probed, "file: -- a remark\nsomething else\nfile: crc = \"off\"\ncan: crc.off\n"
                            "cannot: markers.on\n file: not this\nfile:nor this\ncan: read\n"
                            "file: last");
    iw_probed_take(&probed, "file: -- in the other role\nfile: revision = 2\ncan: other\n"
                            "cannot: other"); /* only remarks of the second part */
    writes("  -- a remark\n  crc = \"off\"\n  last\n  -- in the other role\n"
           "  can = { \"crc.off\", \"read\" },\n  cannot = { \"markers.on\" },\n}\n");
}

static void no_notes(void **state)
{
    (void)state;
    iw_probed_take(&probed, "");
    iw_probed_take(&probed, "nothing\nto keep\n");
    writes("}\n");
}

/* ---- what the user has said ---- */

static void said(void **state)
{
    (void)state;
    static char host[] = "192.0.2.1", start[] = "run \"it\" \\ {port}", ready[] = "a\tb\x7f",
                connect[] = "c", ask[] = "d", station[] = "192.0.2.2";
    spec = (struct iw_target_spec){.class = IW_TARGET_RPING,
                                   .host = host,
                                   .port = 4000,
                                   .start = start,
                                   .ready = ready,
                                   .ends_connection = true,
                                   .longest_timer = 2.5,
                                   .connect = connect,
                                   .ask = ask,
                                   .connect_within = 30,
                                   .station_host = station};
    probed.ends = true;
    writes("  address = \"192.0.2.1\",\n  port = 4000,\n"
           "  start = \"run \\\"it\\\" \\\\ {port}\",\n  ready = \"a\\009b\\127\",\n"
           "  -- its program ended after a connection, twice, and was started again\n"
           "  ends = \"connection\",\n  longest_timer = 2.5,\n  connect = \"c\",\n  ask = \"d\",\n"
           "  connect_within = 30,\n  station = \"192.0.2.2\",\n  class = \"rping\",\n}\n");
}

static void agents_have_no_class(void **state)
{
    (void)state;
    spec.class = IW_TARGET_AGENT;
    spec.longest_timer = spec.connect_within = 0.5;
    iw_probed_take(&probed, "file: class = \"rping\"");
    writes("  longest_timer = 0.5,\n  connect_within = 0.5,\n  class = \"rping\"\n}\n");
}

static void what_stands(void **state)
{
    (void)state;
    static char crc[] = "crc.on", no_markers[] = "!markers.on";
    char *can[] = {crc, no_markers, NULL};
    spec.can = can;
    spec.class = IW_TARGET_RPING;
    iw_probed_take(&probed, "file: class = \"bare\"\nfile: crc = \"off\"\nfile: markers = \"on\"\n"
                            "file: revision = 1\nfile: crcs = 1\nfile: crc= 1\nfile: classes = 1\n"
                            "can: crc.off\ncan: markers\ncan: read\ncan: revision.2\ncannot: crc\n"
                            "cannot: peer_to_peer");
    writes("  class = \"rping\",\n  -- seen: class = \"bare\"\n  -- seen: crc = \"off\"\n"
           "  -- seen: markers = \"on\"\n  revision = 1\n  crcs = 1\n  crc= 1\n  classes = 1\n"
           "  can = { \"crc.on\", \"crc.off\", \"read\", \"revision.2\" },\n"
           "  cannot = { \"markers.on\", \"peer_to_peer\" },\n}\n");
}

/* ---- rules ---- */

static void rules_by_name(void **state)
{
    (void)state;
    const struct iw_rule *first = iw_rule_at(0), *second = iw_rule_at(1),
                         *last = iw_rule_at(IW_RULE_COUNT - 1);
    char lower[64];
    assert_ptr_equal(iw_rule_named(first->id), first);
    assert_ptr_equal(iw_rule_named(last->id), last);
    snprintf(lower, sizeof(lower), "%s", last->id);
    for (char *c = lower; *c != '\0'; c++)
        *c |= *c >= 'A' && *c <= 'Z' ? 0x20 : 0;
    assert_ptr_equal(iw_rule_named(lower), last);
    assert_ptr_equal(iw_rule_fit(lower, 0), last);
    assert_null(iw_rule_named("*"));
    assert_null(iw_rule_named(""));
    assert_ptr_equal(iw_rule_fit("*", 0), first);
    assert_ptr_equal(iw_rule_fit("*", 1), second);
    assert_ptr_equal(iw_rule_fit("*", IW_RULE_COUNT - 1), last);
    assert_null(iw_rule_fit("*", IW_RULE_COUNT));
    assert_null(iw_rule_fit("no such rule", 0));
}

static void a_head(void **state)
{
    (void)state;
    iw_rule_print_head(out, iw_rule_named("MPA-8-02"));
    fclose(out);
    out = NULL;
    assert_memory_equal(text, "MPA-8-02  RFC 5044 section 8, MUST\n  ", 37);
    assert_string_equal(strchr(text + 37, '\n'), "\n  CRC mismatch is detected (code 2)\n");
    char *link = iw_rule_link(iw_rule_named("MPA-8-02"));
    assert_memory_equal(text + 37, link, strlen(link));
    free(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(notes, begin, end),
        cmocka_unit_test_setup_teardown(no_notes, begin, end),
        cmocka_unit_test_setup_teardown(said, begin, end),
        cmocka_unit_test_setup_teardown(agents_have_no_class, begin, end),
        cmocka_unit_test_setup_teardown(what_stands, begin, end),
        cmocka_unit_test_setup_teardown(rules_by_name, begin, end),
        cmocka_unit_test_setup_teardown(a_head, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
