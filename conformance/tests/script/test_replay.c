/* SPDX-License-Identifier: BSD-3-Clause */
/* The replay cases: they pass with right peers of both classes, and say what differs with others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "recording.h"
#include "script/script_case.h"
#include "script/script_run.h"
#include "target/target_can.h"

#define CASES IW_SOURCE_DIR "/conformance/cases/replay/siw-rping.lua"
#define TARGETS IW_SOURCE_DIR "/conformance/targets"
#define CRCOFF "siw/siw-rping-64B-crcoff.pcap"
#define CRCON "siw/siw-rping-64B-crcon.pcap"

/* Each is followed by the same recording with the target as the initiator. */
enum { CASE_CRCOFF = 0, CASE_CRCON = 2, CASE_16K = 4, CASE_P2P = 6, CASE_COUNT = 8, INITIATOR = 1 };

static struct iw_run_options options = {.library = IW_SOURCE_DIR "/conformance/lib"};
static struct iw_case *cases;

static int load(void **state)
{
    const char *path = getenv("PATH");
    char text[4096], error[512];
    size_t count;

    (void)state;
    snprintf(text, sizeof(text), "%s:%s", IW_BINARY_DIR "/bin", path != NULL ? path : "");
    if (setenv("PATH", text, 1) ||
        iw_case_load(CASES, &options, &cases, &count, error, sizeof(error)))
        return -1;
    return count == CASE_COUNT ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    iw_case_free_all(cases, CASE_COUNT);
    return 0;
}

/* Plays a case against a target, which may lack what the case needs (then SKIP). `option` is one
 * more argument of the embedded agent. */
static struct iw_result play(const char *pcaps, const char *text, const char *option, size_t number)
{
    struct iw_target_instance *instance;
    struct iw_result result;
    struct folder folder;
    char log[128], error[512] = "";
    struct iw_target_spec *spec =
        iw_target_parse(text, IW_BINARY_DIR "/bin/iwarp-agent", TARGETS, error, sizeof(error));

    options.pcaps = pcaps;
    assert_string_equal(error, "");
    assert_int_equal(folder_make(&folder), 0);
    snprintf(log, sizeof(log), "%s/log", folder.path);
    iw_target_open(spec, option, log, 1, &instance, error, sizeof(error));
    assert_string_equal(error, "");
    result = (struct iw_result){.verdict = IW_VERDICT_SKIP};
    result.reason = iw_target_lacks(iw_target_of(instance), &cases[number]);
    if (result.reason == NULL)
        assert_int_equal(
            iw_script_run_case(&cases[number], iw_target_of(instance), &options, &result), 0);
    iw_target_close(instance, error, sizeof(error));
    iw_target_free(spec);
    folder_remove(&folder);
    return result;
}

static void assert_part(const char *text, const char *part)
{
    if (text == NULL || strstr(text, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", text ? text : "", part);
}

static void assert_passes(struct iw_result result)
{
    if (result.verdict != IW_VERDICT_PASS)
        fail_msg("%s: %s: %s", iw_verdict_name(result.verdict), result.reason,
                 result.actual ? result.actual : "");
    iw_result_free(&result);
}

static void assert_says(struct iw_result result, enum iw_verdict verdict, const char *rule,
                        const char *reason, const char *expected, const char *actual)
{
    assert_int_equal(result.verdict, verdict);
    assert_part(result.reason, reason);
    assert_string_equal(result.rule ? result.rule->id : "none", rule);
    assert_part(result.expected, expected);
    assert_part(result.actual, actual);
    iw_result_free(&result);
}

static void assert_fails(struct iw_result result, const char *rule, const char *reason,
                         const char *expected, const char *actual)
{
    assert_says(result, IW_VERDICT_FAIL, rule, reason, expected, actual);
}

/* ---- right peers ---- */

static void passes_with_an_agent(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        struct iw_result result = play(PCAPS, "embedded", NULL, i);

        assert_null(result.observed); /* the agent's Reply is the recorded one */
        assert_passes(result);
    }
}

static void passes_with_an_rping_peer(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i += 2)
        assert_passes(play(PCAPS, "rping-peer", NULL, i));
}

/* ---- wrong peers ---- */

static void says_which_field_differs(void **state)
{
    (void)state;
    assert_fails(play(PCAPS, "embedded", "--violate=ddp-msn", CASE_CRCON), "DDP-4.3-08",
                 "MSNs begin with another number than 1", "0x1", "0x2");
    assert_fails(play(PCAPS, "embedded", "--violate=ddp-to-wrap", CASE_P2P), "DDP-5.2-08",
                 "the target's write differs from the recorded one in to",
                 "len 64 (siw/siw-rping-p2p-crcon.pcap, frame 15)", " to ffffffffffffffff ");
    assert_fails(play(PCAPS, "embedded", "--violate=rdmap-read-bounds", CASE_16K), "RDMAP-4.4-01",
                 "the target's read-request differs from the recorded one in size", "size 16384 ",
                 "read-request msn 1 ");
    assert_fails(play(PCAPS, "embedded", "--violate=mpa-rep-a", CASE_P2P), "EMPA-9.2-04",
                 "control flag A is zero in the Reply to a Request that has it set", "0x1", "0x0");
}

static void looks_at_what_was_placed(void **state)
{
    (void)state;
    assert_fails(play(PCAPS, "embedded", "--violate=ddp-place-exact", CASE_CRCOFF), "DDP-5.2-05",
                 "octet 0 of the buffer has another value than expected", "", "5a");
}

static void names_what_the_observer_found(void **state)
{
    (void)state;
    assert_says(play(PCAPS, "embedded", "--violate=mpa-crc", CASE_CRCON), IW_VERDICT_NOTE,
                "MPA-4.4-11", "the CRC of an FPDU does not match", "0x", "0x");
}

static void fails_a_wrong_rping_peer(void **state)
{
    const struct folder *folder = *state;
    char *path =
        folder_file(folder, "wrong.lua",
                    "return { class = 'rping', address = '127.0.0.1', ready = 'listening',\n"
                    "start = 'exec iwarp-peer listen {host}:{port} --personality rping"
                    " --violate ddp-stag', crc = 'on' }\n");

    assert_fails(play(PCAPS, path, NULL, CASE_CRCON), "DDP-4.2-05",
                 "the target's write differs from the recorded one in stag", "write L stag ",
                 "write L stag ");
    free(path);
}

/* There were none in the recording, and the target asks for them. */
static void agrees_about_crcs_anew(void **state)
{
    const struct folder *folder = *state;
    char *path =
        folder_file(folder, "strict.lua",
                    "return { class = 'rping', address = '127.0.0.1', ready = 'listening',\n"
                    "start = 'exec iwarp-peer listen {host}:{port} --personality rping' }\n");
    struct iw_result result = play(PCAPS, path, NULL, CASE_CRCOFF);

    assert_part(result.observed, "reply-crc=true");
    assert_passes(result);
    free(path);
}

/* ---- other recordings ---- */

/* Changes an octet of the payload in frame 10, the first Read Response: octet 20 of the data. */
static void change_the_data(const struct folder *folder, const char *name)
{
    enum { HEADERS = 14 + 20 + 32, DATA = 16 + 20 };
    struct recording r;
    size_t length;

    recording_read(&r, name);
    r.octets[recording_frame(&r, 10, &length) + HEADERS + DATA] ^= 0x20;
    recording_write(&r, folder, name);
}

static void sees_other_data_come_back(void **state)
{
    const struct folder *folder = *state;

    change_the_data(folder, CRCOFF);
    for (int class = 0; class < 2; class ++)
        assert_fails(play(folder->path, class ? "rping-peer" : "embedded", NULL, CASE_CRCOFF),
                     "DDP-5.2-05", "the target's write differs from the recorded one in payload",
                     "len 64: 4849", "6849");
}

/* The recorded target went on after a wrong CRC. One that does not is right. */
static void sends_a_wrong_crc_again(void **state)
{
    const struct folder *folder = *state;

    change_the_data(folder, CRCON);
    assert_says(play(folder->path, "embedded", NULL, CASE_CRCON), IW_VERDICT_INCONCLUSIVE, "none",
                "broke MPA-4.4-11 (", "completion length 64 status ok",
                "op read solicited false status flushed");
}

static void plays_no_missing_recording(void **state)
{
    const struct folder *folder = *state;
    struct iw_result result = play(folder->path, "embedded", NULL, CASE_16K);
    assert_int_equal(result.verdict, IW_VERDICT_ERROR);
    assert_part(result.reason, "siw/siw-rping-16K-crcon.pcap: No such file");
    assert_part(result.where, CASES ":");
    iw_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_with_an_agent),
        cmocka_unit_test(passes_with_an_rping_peer),
        cmocka_unit_test(says_which_field_differs),
        cmocka_unit_test(looks_at_what_was_placed),
        cmocka_unit_test(names_what_the_observer_found),
        cmocka_unit_test_setup_teardown(fails_a_wrong_rping_peer, recording_setup,
                                        recording_teardown),
        cmocka_unit_test_setup_teardown(agrees_about_crcs_anew, recording_setup,
                                        recording_teardown),
        cmocka_unit_test_setup_teardown(sees_other_data_come_back, recording_setup,
                                        recording_teardown),
        cmocka_unit_test_setup_teardown(sends_a_wrong_crc_again, recording_setup,
                                        recording_teardown),
        cmocka_unit_test_setup_teardown(plays_no_missing_recording, recording_setup,
                                        recording_teardown),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
