/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines that iwarp-lint writes about what it sees, in every format. */
#include "lint_bench.h"

/* A fault of `side` at its octet 40, which frame 12 has; frame 11 has the octets before it. */
static void find_due(struct bench *b, enum iw_side side, enum iw_check check, enum iw_check cause)
{
    const struct iw_observation o = {
        .side = side,
        .kind = IW_OBSERVED_FINDING,
        .cause = cause,
        .pos = 36,
        .fault = {.check = check, .pos = 40, .got = 0xabc, .want = UINT64_C(0xfffffffffffffff0)}};
    struct iw_lint_ranges *r = &b->c.side[side].ranges;
    r->all[0] = (struct iw_lint_range){0, 40, 11};
    r->all[1] = (struct iw_lint_range){40, 60, 12};
    r->count = 2;
    iw_lint_finding(&b->c, &o);
}

static void find(struct bench *b, enum iw_side side, enum iw_check check)
{
    find_due(b, side, check, IW_CHECK_NONE);
}

static void findings_as_text(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    find(b, IW_SIDE_INITIATOR, IW_CHECK_MPA_PAD);
    bench_wrote(b, "a.pcap:12: MPA-4.1-02 (MUST): pad octets are not zero [mpa-pad; initiator "
                   "10.0.0.1:1001, octet 40: 0xabc, expected 0xfffffffffffffff0]\n");
    find(b, IW_SIDE_RESPONDER, IW_CHECK_MPA_REQ_R);
    bench_wrote(b, "a.pcap:12: MPA-7.1.1-11 (MUST, implied): R is set in a Request [mpa-req-r; "
                   "responder 10.0.0.2:2002, octet 40: 0xabc, expected 0xfffffffffffffff0]\n");
    assert_int_equal(b->lint.findings, 2);
    assert_int_equal(b->lint.n_notes, 0);
    assert_int_equal(b->lint.more_notes, 0);
    /* The one whose octets were sent first in the capture is called the initiator. */
    b->c.initiator = 1;
    find(b, IW_SIDE_RESPONDER, IW_CHECK_MPA_ULPDU_MAX);
    bench_wrote(b, "a.pcap:12: MPA-3-05 (MUST NOT): ULPDU_Length is above 64768 [mpa-ulpdu-max; "
                   "responder 10.0.0.1:1001, octet 40: 0xabc, expected 0xfffffffffffffff0]\n");
    bench_close(b);
}

static void findings_as_json(void **state)
{
    struct bench *b = bench_open(IW_LINT_JSON);
    (void)state;
    find(b, IW_SIDE_RESPONDER, IW_CHECK_DDP_MO_ORDER);
    bench_wrote(
        b, "{\"type\":\"finding\",\"frame\":12,\"connection\":7,\"side\":\"responder\","
           "\"from\":\"10.0.0.2:2002\",\"octet\":40,\"check\":\"ddp-mo-order\",\"rule\":"
           "\"DDP-5.3-03\",\"level\":\"SHOULD\",\"implied\":false,\"text\":\"the segments of "
           "an untagged message do not come in rising order of MO\",\"got\":\"0xabc\",\"want\":"
           "\"0xfffffffffffffff0\"}\n");
    find(b, IW_SIDE_INITIATOR, IW_CHECK_MPA_REQ_R);
    bench_wrote(b, "{\"type\":\"finding\",\"frame\":12,\"connection\":7,\"side\":\"initiator\","
                   "\"from\":\"10.0.0.1:1001\",\"octet\":40,\"check\":\"mpa-req-r\",\"rule\":"
                   "\"MPA-7.1.1-11\",\"level\":\"MUST\",\"implied\":true,\"text\":\"R is set in a "
                   "Request\",\"got\":\"0xabc\",\"want\":\"0xfffffffffffffff0\"}\n");
    bench_close(b);
}

/* What follows from another finding is none; only JSON shows it. */
static void consequences_are_no_findings(void **state)
{
    static const enum iw_lint_format quiet[] = {IW_LINT_TEXT, IW_LINT_SARIF};
    struct bench *b = bench_open(IW_LINT_JSON);
    (void)state;
    find_due(b, IW_SIDE_RESPONDER, IW_CHECK_DDP_FIN_OPEN, IW_CHECK_DDP_LAST);
    bench_wrote(b, "{\"type\":\"consequence\",\"frame\":12,\"connection\":7,\"side\":"
                   "\"responder\",\"from\":\"10.0.0.2:2002\",\"octet\":40,\"check\":"
                   "\"ddp-fin-open\",\"cause\":\"ddp-last\",\"by\":\"RFC 5041 §4.1: \\\"If the "
                   "Last flag is set to zero, the DDP Segment is an intermediate DDP "
                   "Segment\\\"\"}\n");
    assert_int_equal(b->lint.findings, 0);
    bench_close(b);
    for (size_t i = 0; i < 2; i++) {
        b = bench_open(quiet[i]);
        bench_keep_notes(b);
        find_due(b, IW_SIDE_RESPONDER, IW_CHECK_DDP_FIN_OPEN, IW_CHECK_DDP_LAST);
        bench_wrote(b, "");
        assert_int_equal(b->lint.findings, 0);
        assert_int_equal(b->lint.n_notes, 0);
        bench_close(b);
    }
}

/* A result of SARIF about `check`, after what stands before it. */
static void sarif_finding(struct bench *b, const char *before, enum iw_check check,
                          const char *expected)
{
    char whole[1000];
    find(b, IW_SIDE_RESPONDER, check);
    snprintf(whole, sizeof(whole), "%s{%s", before, expected);
    bench_wrote(b, whole);
}

#define PLACE                                                                                      \
    "\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"a.pcap\"},"             \
    "\"region\":{\"startLine\":12}},\"logicalLocations\":[{\"name\":\"frame "                      \
    "12\",\"kind\":\"packet\"}]}],"
#define PROPERTIES                                                                                 \
    "\"frame\":12,\"connection\":7,\"side\":\"responder\",\"from\":\"10.0.0.2:2002\","             \
    "\"octet\":40},\"partialFingerprints\":{\"primaryLocationLineHash\":\""
#define MARK "/responder/a.pcap:1\"}}"
#define AT "[responder 10.0.0.2:2002, octet 40: 0xabc, expected 0xfffffffffffffff0]"

/* A MUST is an error unless it is implied, all else a warning. */
static void findings_as_sarif(void **state)
{
    struct bench *b = bench_open(IW_LINT_SARIF);
    (void)state;
    sarif_finding(b, "\n", IW_CHECK_MPA_PAD,
                  "\"ruleId\":\"MPA-4.1-02\",\"ruleIndex\":0,\"kind\":\"fail\",\"level\":\"error\","
                  "\"message\":{"
                  "\"text\":\"pad octets are not zero " AT "\"}," PLACE
                  "\"properties\":{\"check\":\"mpa-pad\"," PROPERTIES "mpa-pad" MARK);
    sarif_finding(b, ",\n", IW_CHECK_MPA_REQ_R,
                  "\"ruleId\":\"MPA-7.1.1-11\",\"ruleIndex\":1,\"kind\":\"fail\",\"level\":"
                  "\"warning\",\"message\":"
                  "{\"text\":\"R is set in a Request " AT "\"}," PLACE
                  "\"properties\":{\"check\":\"mpa-req-r\"," PROPERTIES "mpa-req-r" MARK);
    sarif_finding(b, ",\n", IW_CHECK_RDMAP_RESPONSE_PAST,
                  "\"ruleId\":\"RDMAP-5.2.1-12\",\"ruleIndex\":2,\"kind\":\"fail\",\"level\":"
                  "\"error\",\"message\":"
                  "{\"text\":\"a Read Response carries more octets than its request asked for " AT
                  "\"}," PLACE "\"properties\":{\"check\":\"rdmap-response-past\"," PROPERTIES
                  "rdmap-response-past" MARK);
    sarif_finding(b, ",\n", IW_CHECK_MPA_FPDU_CUT,
                  "\"ruleId\":\"MPA-5.1-03\",\"ruleIndex\":3,\"kind\":\"fail\",\"level\":"
                  "\"warning\",\"message\":"
                  "{\"text\":\"an FPDU that fits into a TCP segment lies in two " AT "\"}," PLACE
                  "\"properties\":{\"check\":\"mpa-fpdu-cut\"," PROPERTIES "mpa-fpdu-cut" MARK);
    sarif_finding(
        b, ",\n", IW_CHECK_MPA_ULPDU_MAX,
        "\"ruleId\":\"MPA-3-05\",\"ruleIndex\":4,\"kind\":\"fail\",\"level\":\"error\",\"message\":"
        "{\"text\":\"ULPDU_Length is above 64768 " AT "\"}," PLACE
        "\"properties\":{\"check\":\"mpa-ulpdu-max\"," PROPERTIES "mpa-ulpdu-max" MARK);
    assert_int_equal(b->lint.findings, 5);
    bench_close(b);
}

/* The level of a rule, by default that of its results: what may be is a note. */
static void rule_is(const json_t *rules, size_t place, const char *id, const char *level)
{
    const json_t *rule = json_array_get(rules, place);
    assert_string_equal(json_string_value(json_object_get(rule, "id")), id);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(rule, "defaultConfiguration"), "level")),
        level);
}

/* Its beginning, and its end with the rules that occurred, in that order. */
static void the_frame_of_sarif(void **state)
{
    static const char *const occurred[] = {"MPA-1.2-01", "MPA-4.1-04", "MPA-3-03", "MPA-3-05",
                                           "MPA-3-06"};
    static const char *const first =
        "{\"id\":\"MPA-1.2-01\",\"shortDescription\":{\"text\":\"A "
        "receiver that passes ULPDUs upward out of order keeps track of the order the sender used "
        "and learns when gaps are filled\"},\"fullDescription\":{\"text\":\"RFC 5044 section 1.2, "
        "MUST\"},\"help\":{\"text\":\"RFC 5044 section 1.2, MUST: A receiver that passes ULPDUs "
        "upward out of order keeps track of the order the sender used and learns when gaps are "
        "filled\",\"markdown\":\"[RFC 5044 section 1.2, "
        "MUST](https://www.rfc-editor.org/rfc/rfc5044#section-1.2): A receiver that passes ULPDUs "
        "upward out of order keeps track of the order the sender used and learns when gaps are "
        "filled\"},\"helpUri\":\"https://www.rfc-editor.org/rfc/rfc5044#section-1.2\","
        "\"defaultConfiguration\":{\"level\":\"error\"},\"properties\":{\"tags\":[\"iwarp\","
        "\"MUST\"]}},{";
    struct bench *b = bench_open(IW_LINT_SARIF);
    struct iw_lint_sarif *s = b->lint.sarif;
    (void)state;
    iw_lint_sarif_begin(s, b->to);
    bench_wrote(b, "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":"
                   "\"2.1.0\",\"runs\":[{\"columnKind\":\"utf16CodeUnits\",\"results\":[");
    iw_lint_sarif_begin(s, b->to); /* of the next capture */
    bench_wrote(b, "");
    for (size_t i = 0; i < 5; i++)
        s->rules[s->n_rules++] = (uint16_t)iw_rule_index(iw_rule_find(occurred[i]));
    s->unjudged = true;
    iw_lint_sarif_end(s, b->to);
    json_t *whole = json_loads(bench_text(b) + strlen("],\"tool\":"), JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(whole);
    json_t *driver = json_object_get(whole, "driver");
    assert_string_equal(json_string_value(json_object_get(driver, "name")), "iwarp-lint");
    assert_string_equal(json_string_value(json_object_get(driver, "version")), IW_VERSION);
    assert_string_equal(json_string_value(json_object_get(driver, "semanticVersion")), IW_VERSION);
    json_t *rules = json_object_get(driver, "rules");
    assert_int_equal(json_array_size(rules), 6);
    const char *from = strstr(b->text, "\"rules\":[") + strlen("\"rules\":[");
    assert_memory_equal(from, first, strlen(first));
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(json_array_get(rules, 1), "fullDescription"), "text")),
                        "RFC 5044 section 4.1, MUST (implied)");
    rule_is(rules, 1, "MPA-4.1-04", "warning");
    rule_is(rules, 2, "MPA-3-03", "warning");
    rule_is(rules, 3, "MPA-3-05", "error");
    rule_is(rules, 4, "MPA-3-06", "note");
    rule_is(rules, 5, "UNJUDGED", "none");
    assert_string_equal(b->text + b->size - 10, "\"}}]}}}]}\n");
    json_decref(whole);
    bench_close(b);
}

static void unknown(struct bench *b, const char *path, const char *uri)
{
    char expected[1000];
    b->options.path = path;
    b->lint.sarif->result = false;
    memset(b->lint.sarif->seen, 0, sizeof(b->lint.sarif->seen));
    iw_lint_sarif_unknown(&b->c, IW_SIDE_INITIATOR, "no reason");
    snprintf(expected, sizeof(expected),
             "\n{\"ruleId\":\"UNJUDGED\",\"kind\":\"open\",\"level\":\"none\",\"message\":{"
             "\"text\":\"unknown from here: "
             "no reason\"},\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":"
             "\"%s\"},\"region\":{\"startLine\":30}},\"logicalLocations\":[{\"name\":\"frame "
             "30\",\"kind\":\"packet\"}]}],"
             "\"properties\":{\"frame\":30,\"connection\":7,\"side\":\"initiator\"},"
             "\"partialFingerprints\":{\"primaryLocationLineHash\":\"UNJUDGED/initiator/%s:1\"}}",
             uri, uri);
    bench_wrote(b, expected);
}

static void paths_are_uris(void **state)
{
    struct bench *b = bench_open(IW_LINT_SARIF);
    (void)state;
    assert_int_equal(chdir("/tmp"), 0);
    unknown(b, "", ".");
    unknown(b, "azAZ09-._~/b", "azAZ09-._~/b");
    unknown(b, "/azAZ09-._~", "../azAZ09-._~");
    unknown(b, "/tmp/a", "a");
    unknown(b, " \x01\x7f\xff:@[`{", "%20%01%7F%FF%3A%40%5B%60%7B");
    bench_close(b);
}

/* ---- what is lost ---- */

static void of_break(struct bench *b, enum iw_observed kind, enum iw_resync by)
{
    const struct iw_observation o = {.kind = kind,
                                     .side = IW_SIDE_RESPONDER,
                                     .pos = 100,
                                     .end = 120,
                                     .found_by = by,
                                     .fault.check = IW_CHECK_MPA_CRC};
    iw_lint_break(&b->c, &o);
}

static void breaks_as_text(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    of_break(b, IW_OBSERVED_LOST, IW_RESYNC_CRC);
    bench_wrote(b, "a.pcap:30: unknown from here: the CRC of an FPDU does not match its octets "
                   "[responder 10.0.0.2:2002]\n");
    of_break(b, IW_OBSERVED_GAP, IW_RESYNC_CRC);
    bench_wrote(b, "a.pcap:30: octets 100 to 119 are not in the capture [responder "
                   "10.0.0.2:2002]\n");
    of_break(b, IW_OBSERVED_RESYNC, IW_RESYNC_MARKER);
    bench_wrote(b, "a.pcap:30: FPDUs found again at octet 120, by a Marker [responder "
                   "10.0.0.2:2002]\n");
    of_break(b, IW_OBSERVED_RESYNC, IW_RESYNC_CRC);
    bench_wrote(b, "a.pcap:30: FPDUs found again at octet 120, by a CRC [responder "
                   "10.0.0.2:2002]\n");
    of_break(b, IW_OBSERVED_RESYNC, IW_RESYNC_CHAIN);
    bench_wrote(b, "a.pcap:30: FPDUs found again at octet 120, by a chain of headers [responder "
                   "10.0.0.2:2002]\n");
    bench_close(b);
}

static void breaks_as_json(void **state)
{
    struct bench *b = bench_open(IW_LINT_JSON);
    (void)state;
    of_break(b, IW_OBSERVED_LOST, IW_RESYNC_CRC);
    bench_wrote(b, "{\"type\":\"unknown\",\"frame\":30,\"connection\":7,\"side\":\"responder\","
                   "\"from\":\"10.0.0.2:2002\",\"text\":\"the CRC of an FPDU does not match its "
                   "octets\"}\n");
    of_break(b, IW_OBSERVED_GAP, IW_RESYNC_CRC);
    bench_wrote(b, "{\"type\":\"gap\",\"frame\":30,\"connection\":7,\"side\":\"responder\","
                   "\"from\":\"10.0.0.2:2002\",\"octet\":100,\"end\":120,\"text\":\"octets 100 to "
                   "119 are not in the capture\"}\n");
    of_break(b, IW_OBSERVED_RESYNC, IW_RESYNC_MARKER);
    bench_wrote(b, "{\"type\":\"resync\",\"frame\":30,\"connection\":7,\"side\":\"responder\","
                   "\"from\":\"10.0.0.2:2002\",\"octet\":100,\"end\":120,\"text\":\"FPDUs found "
                   "again at octet 120, by a Marker\"}\n");
    bench_close(b);
}

/* That FPDUs are found again is no result. */
static void breaks_as_sarif(void **state)
{
    struct bench *b = bench_open(IW_LINT_SARIF);
    (void)state;
    of_break(b, IW_OBSERVED_RESYNC, IW_RESYNC_MARKER);
    bench_wrote(b, "");
    of_break(b, IW_OBSERVED_GAP, IW_RESYNC_CRC);
    assert_non_null(
        strstr(bench_text(b), "unknown from here: octets 100 to 119 are not in the capture"));
    of_break(b, IW_OBSERVED_LOST, IW_RESYNC_CRC);
    assert_non_null(
        strstr(bench_text(b),
               ",\n{\"ruleId\":\"UNJUDGED\",\"kind\":\"open\",\"level\":\"none\",\"message\":{"
               "\"text\":\"unknown from here: the CRC of an FPDU does not"));
    bench_close(b);
}

/* ---- the level ---- */

static void only_what_must_be_counts(void **state)
{
    static const struct {
        enum iw_check check;
        bool counts;
    } checks[] = {{IW_CHECK_MPA_PAD, true},
                  {IW_CHECK_MPA_ULPDU_MAX, true},
                  {IW_CHECK_MPA_REQ_R, false},
                  {IW_CHECK_MPA_FPDU_CUT, false},
                  {IW_CHECK_RDMAP_RESPONSE_PAST, true}};
    (void)state;
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        struct bench *b = bench_open(IW_LINT_TEXT);
        b->options.must = true;
        bench_keep_notes(b);
        find(b, IW_SIDE_INITIATOR, checks[i].check);
        assert_int_equal(b->lint.findings, checks[i].counts);
        assert_int_equal(b->lint.n_notes, checks[i].counts);
        assert_int_equal(*bench_text(b) != '\0', checks[i].counts);
        bench_close(b);
    }
}

/* ---- notes for the copy ---- */

static void notes_say_the_same(void **state)
{
    struct bench *b = bench_open(IW_LINT_SARIF);
    (void)state;
    bench_keep_notes(b);
    find(b, IW_SIDE_INITIATOR, IW_CHECK_MPA_PAD);
    of_break(b, IW_OBSERVED_LOST, IW_RESYNC_CRC);
    of_break(b, IW_OBSERVED_GAP, IW_RESYNC_CRC);
    assert_int_equal(b->lint.n_notes, 3);
    assert_string_equal(b->lint.notes[0].text,
                        "MPA-4.1-02 (MUST): pad octets are not zero [mpa-pad; initiator, octet "
                        "40: 0xabc, expected 0xfffffffffffffff0]");
    assert_int_equal(b->lint.notes[0].frame, 12);
    assert_int_equal(b->lint.notes[0].number, 0);
    assert_string_equal(b->lint.notes[1].text, "unknown from here: the CRC of an FPDU does not "
                                               "match its octets [responder]");
    assert_int_equal(b->lint.notes[1].frame, 30);
    assert_int_equal(b->lint.notes[1].number, 1);
    assert_string_equal(b->lint.notes[2].text,
                        "octets 100 to 119 are not in the capture [responder]");
    assert_int_equal(b->lint.more_notes, 0);
    bench_close(b);
}

static void notes_are_bounded(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    bench_keep_notes(b);
    for (unsigned i = 0; i < 100000; i++)
        iw_lint_note(&b->lint, i, "%u", i);
    assert_int_equal(b->lint.n_notes, 100000);
    assert_int_equal(b->lint.more_notes, 0);
    iw_lint_note(&b->lint, 1, "one more");
    iw_lint_note(&b->lint, 1, "and another");
    assert_int_equal(b->lint.n_notes, 100000);
    assert_int_equal(b->lint.more_notes, 2);
    assert_string_equal(b->lint.notes[99999].text, "99999");
    bench_close(b);
}

/* ---- messages ---- */

static const uint8_t send[18 + 4] = {0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};
static const uint8_t reply[20] = "MPA ID Rep Frame\x40\2";

static void message(struct bench *b, enum iw_observed kind, uint32_t segments)
{
    const struct iw_observation o = {.kind = kind,
                                     .side = IW_SIDE_RESPONDER,
                                     .pos = 45,
                                     .ulpdu = send,
                                     .ulpdu_captured = sizeof(send),
                                     .frame = reply,
                                     .frame_length = sizeof(reply),
                                     .segments = segments,
                                     .message_length = UINT64_C(5000000000)};
    struct iw_lint_ranges *r = &b->c.side[IW_SIDE_RESPONDER].ranges;
    r->all[0] = (struct iw_lint_range){40, 60, 12};
    r->count = 1;
    iw_lint_message(&b->c, &o);
}

static void messages_as_text(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    message(b, IW_OBSERVED_STARTUP, 3);
    bench_wrote(b, "a.pcap:12: responder 10.0.0.2:2002: mpa reply rev 2 C pd 0\n");
    message(b, IW_OBSERVED_MESSAGE, 1);
    bench_wrote(b, "a.pcap:12: responder 10.0.0.2:2002: send L msn 5 mo 0 len 4\n");
    message(b, IW_OBSERVED_MESSAGE, 2);
    bench_wrote(b, "a.pcap:12: responder 10.0.0.2:2002: send L msn 5 mo 0 len 4 (last of 2 "
                   "segments, 5000000000 octets)\n");
    message(b, IW_OBSERVED_FIN, 2);
    bench_wrote(b, "a.pcap:12: responder 10.0.0.2:2002: fin\n");
    message(b, IW_OBSERVED_RESET, 2);
    bench_wrote(b, "a.pcap:12: responder 10.0.0.2:2002: reset\n");
    bench_close(b);
}

#define LINE                                                                                       \
    "{\"type\":\"message\",\"frame\":12,\"connection\":7,\"side\":\"responder\",\"from\":"         \
    "\"10.0.0.2:2002\",\"octet\":45,\"text\":"

static void messages_as_json(void **state)
{
    struct bench *b = bench_open(IW_LINT_JSON);
    (void)state;
    message(b, IW_OBSERVED_STARTUP, 3);
    bench_wrote(b, LINE "\"mpa reply rev 2 C pd 0\"}\n");
    message(b, IW_OBSERVED_MESSAGE, 2);
    bench_wrote(b, LINE "\"send L msn 5 mo 0 len 4\",\"segments\":2,\"octets\":5000000000}\n");
    message(b, IW_OBSERVED_RESET, 2);
    bench_wrote(b, LINE "\"reset\"}\n");
    bench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_as_text),
        cmocka_unit_test(findings_as_json),
        cmocka_unit_test(consequences_are_no_findings),
        cmocka_unit_test(findings_as_sarif),
        cmocka_unit_test(the_frame_of_sarif),
        cmocka_unit_test(paths_are_uris),
        cmocka_unit_test(breaks_as_text),
        cmocka_unit_test(breaks_as_json),
        cmocka_unit_test(breaks_as_sarif),
        cmocka_unit_test(only_what_must_be_counts),
        cmocka_unit_test(notes_say_the_same),
        cmocka_unit_test(notes_are_bounded),
        cmocka_unit_test(messages_as_text),
        cmocka_unit_test(messages_as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
