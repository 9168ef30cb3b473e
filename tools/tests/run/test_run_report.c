/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-run makes of the lines that the processes of a program have written: its counts, what
 * it prints, the report, one capture of all. */
#include "run_findings.h"
#include "run_report.h"

#include "iwarp/capture.h"

#include <errno.h>
#include <sys/utsname.h>

#include "../caught.h"

int __wrap_uname(struct utsname *out);

static bool nameless;

int __wrap_uname(struct utsname *out)
{
    strcpy(out->nodename, "host");
    strcpy(out->sysname, "Linux");
    strcpy(out->release, "6.1");
    return nameless ? -1 : 0;
}

/* ---- a folder of lines ---- */

static char folder[] = "run.XXXXXX";
static struct run_findings f;
static struct run_judge judge;

static void write_file(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int begin(void **state)
{
    (void)state;
    strcpy(folder, "run.XXXXXX");
    assert_non_null(mkdtemp(folder));
    f = (struct run_findings){0};
    judge = (struct run_judge){.wanted = true};
    nameless = false;
    return 0;
}

static int end(void **state)
{
    char command[100];
    run_findings_free(&f);
    assert_int_equal(f.n_processes, 0);
    assert_null(f.processes);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    return catch_no_more(state);
}

/* ---- reading ---- */

#define PROCESS(pid, name) "{\"type\": \"process\", \"pid\": " pid ", \"program\": \"" name "\"}\n"
#define END "{\"type\": \"end\", \"unwritten\": 0, \"capture_whole\": true}\n"

static void counts(void **state)
{
    (void)state;
    write_file("20.jsonl", PROCESS("20", "b") "{\"type\": \"connection\"}\n"
                                              "{\"type\": \"connection\"}\n" END);
    write_file(
        "3.jsonl",
        PROCESS("3", "a") "{\"type\": \"connection\"}\n"
                          "{\"type\": \"finding\", \"by\": \"peer\", \"level\": \"MUST\"}\n"
                          "{\"type\": \"finding\", \"by\": \"peer\", \"level\": \"MUST NOT\"}\n"
                          "{\"type\": \"finding\", \"by\": \"peer\", \"level\": \"MUST\", "
                          "\"implied\": true}\n"
                          "{\"type\": \"finding\", \"by\": \"peer\", \"level\": \"SHOULD\"}\n"
                          "{\"type\": \"finding\", \"by\": \"us\", \"level\": \"MUST\"}\n"
                          "{\"type\": \"finding\"}\n"
                          "{\"type\": \"end\", \"unwritten\": 7}\n");
    write_file("100.jsonl", "");
    write_file("5.txt", PROCESS("5", "none"));
    write_file("jsonl", PROCESS("5", "none"));
    assert_true(run_findings_read(&f, folder));
    assert_int_equal(f.n_processes, 3);
    assert_int_equal(f.processes[0].pid, 3); /* in the order in which they began */
    assert_string_equal(f.processes[0].program, "a");
    assert_int_equal(f.processes[1].pid, 20);
    assert_int_equal(f.processes[2].pid, 0);
    assert_string_equal(f.processes[2].program, "");
    assert_true(f.processes[0].ended);
    assert_true(f.processes[1].ended);
    assert_false(f.processes[2].ended);
    assert_null(f.processes[0].capture);
    assert_int_equal(f.connections, 3);
    assert_int_equal(f.peer, 4);
    assert_int_equal(f.peer_must, 2);
    assert_int_equal(f.ours, 2);
    assert_int_equal(f.unwritten, 7);
    assert_true(f.cut); /* one capture is not said to be whole */
    assert_int_equal(json_array_size(f.processes[0].lines), 9);
}

static void whole(void **state)
{
    (void)state;
    write_file("1.jsonl", PROCESS("1", "a") END);
    write_file("2.jsonl", PROCESS("2", "a") END);
    f = (struct run_findings){.cut = true, .unwritten = 1, .connections = 1, .ours = 1};
    assert_true(run_findings_read(&f, folder));
    assert_int_equal(f.connections + f.ours, 0);
    assert_false(f.cut);
    assert_int_equal(f.unwritten, 0);
}

/* What is no whole line, and no object, is passed over. */
static void broken_lines(void **state)
{
    (void)state;
    write_file("1.jsonl", "[1]\n" PROCESS("1", "a") "not JSON\n{\"type\": \"connection\"}\n5\n"
                                                    "{\"type\": \"connection\"}");
    assert_true(run_findings_read(&f, folder));
    assert_int_equal(f.connections, 1);
    assert_int_equal(json_array_size(f.processes[0].lines), 2);
    assert_false(f.processes[0].ended);
}

static void unreadable(void **state)
{
    (void)state;
    catch_from(STDERR_FILENO);
    assert_false(run_findings_read(&f, "/nowhere/at/all"));
    assert_non_null(strstr(caught(), "cannot read /nowhere/at/all: No such file or directory\n"));
    assert_int_equal(f.n_processes, 0);
    char path[100];
    snprintf(path, sizeof(path), "%s/2.jsonl", folder);
    write_file("1.jsonl", PROCESS("1", "a"));
    assert_int_equal(symlink("/nowhere/at/all", path), 0);
    write_file("3.jsonl", PROCESS("3", "a"));
    catch_from(STDERR_FILENO);
    assert_false(run_findings_read(&f, folder));
    assert_non_null(strstr(caught(), "/2.jsonl: No such file or directory\n"));
    assert_int_equal(f.n_processes, 1);
}

static void empty(void **state)
{
    (void)state;
    assert_true(run_findings_read(&f, folder));
    assert_int_equal(f.n_processes, 0);
}

static void members(void **state)
{
    (void)state;
    json_t *line = json_pack("{s:s, s:i}", "type", "end", "n", 5);
    assert_int_equal(run_line_number(line, "n"), 5);
    assert_int_equal(run_line_number(line, "type"), 0);
    assert_true(run_line_is(line, "end"));
    assert_false(run_line_is(line, "en"));
    assert_false(run_line_is(line, "ende"));
    json_decref(line);
}

/* ---- printing ---- */

static const char *printed(void)
{
    catch_from(STDOUT_FILENO);
    run_report_print(&judge, &f, stdout);
    return caught();
}

static void write_lines(void)
{
    write_file("3.jsonl",
               PROCESS("3", "a") "{\"type\": \"connection\", \"connection\": 1}\n"
                                 "{\"type\": \"finding\", \"by\": \"peer\", \"level\": "
                                 "\"MUST\", \"line\": \"broke it\", \"frame\": 4, "
                                 "\"connection\": 1}\n"
                                 "{\"type\": \"unknown\", \"text\": \"lost\", \"side\": "
                                 "\"peer\", \"from\": \"octet 7\", \"connection\": 2}\n"
                                 "{\"type\": \"finding\", \"by\": \"us\", \"level\": "
                                 "\"MUST\", \"line\": \"own fault\", \"connection\": 3}\n");
    write_file(
        "5.jsonl",
        PROCESS("5", "b") "{\"type\": \"finding\", \"by\": \"peer\", \"level\": "
                          "\"SHOULD\", \"line\": \"hm\", \"frame\": 1, "
                          "\"connection\": 1}\n"
                          "{\"type\": \"end\", \"unwritten\": 2, \"capture_whole\": true}\n");
    assert_true(run_findings_read(&f, folder));
    f.processes[1].first_frame = 10;
}

static void for_people(void **state)
{
    (void)state;
    write_lines();
    assert_string_equal(
        printed(), "a[3] connection 1: broke it\n"
                   "a[3] connection 2: unknown from here: lost [peer octet 7]\n"
                   "a[3] connection 3: own fault\n"
                   "b[5] connection 1: hm\n"
                   "iwarp-run: 1 connection, findings: 2 of the peer (1 MUST), 1 of this side; the "
                   "last 2 are not shown\n"
                   "a[3] has not ended in order: the end of its connections was not judged\n");
    judge.capture = "x.pcapng"; /* places are those of the capture */
    f.unwritten = 0;
    f.connections = 0;
    f.processes[0].ended = true;
    assert_string_equal(printed(),
                        "x.pcapng:4: broke it\n"
                        "a[3] connection 2: unknown from here: lost [peer octet 7]\n"
                        "a[3] connection 3: own fault\n"
                        "x.pcapng:11: hm\n"
                        "iwarp-run: 0 connections, findings: 2 of the peer (1 MUST), 1 of this "
                        "side\n");
}

static void for_programs(void **state)
{
    (void)state;
    judge.json = true;
    write_lines();
    assert_string_equal(
        printed(),
        "{\"type\":\"finding\",\"by\":\"peer\",\"level\":\"MUST\",\"line\":\"broke it\","
        "\"frame\":4,\"connection\":1,\"pid\":3,\"program\":\"a\"}\n"
        "{\"type\":\"unknown\",\"text\":\"lost\",\"side\":\"peer\",\"from\":\"octet 7\","
        "\"connection\":2,\"pid\":3,\"program\":\"a\"}\n"
        "{\"type\":\"finding\",\"by\":\"us\",\"level\":\"MUST\",\"line\":\"own fault\","
        "\"connection\":3,\"pid\":3,\"program\":\"a\"}\n"
        "{\"type\":\"finding\",\"by\":\"peer\",\"level\":\"SHOULD\",\"line\":\"hm\",\"frame\":11,"
        "\"connection\":1,\"pid\":5,\"program\":\"b\"}\n"
        "{\"type\":\"total\",\"connections\":1,\"peer\":2,\"peer_must\":1,\"us\":1,"
        "\"unwritten\":2}\n");
}

/* ---- the report ---- */

/* Writes the report. Returns its text, without the version of the C library. */
static const char *report(int status)
{
    static char path[100];
    char *argv[] = {(char[]){"prog"}, (char[]){"two words"}, NULL};
    const struct run_outcome outcome = {
        .path = "/bin/prog", .argv = argv, .began = 86400 + 3661, .status = status};
    snprintf(path, sizeof(path), "%s/report", folder);
    judge.report = path;
    assert_true(run_report_write(&judge, &f, &outcome));
    char *text = (char *)(uintptr_t)text_of(path), *from = strstr(text, "Versions  iwarp-run ");
    assert_non_null(from);
    assert_non_null(strstr(from, ", C library 2."));
    memmove(from, strchr(from, '\n') + 1, strlen(strchr(from, '\n')));
    return text;
}

static void a_report(void **state)
{
    (void)state;
    write_file(
        "3.jsonl",
        PROCESS("3", "a") "{\"type\": \"connection\", \"connection\": 1, \"local\": \"L1\", "
                          "\"remote\": \"R1\", \"active\": true}\n"
                          "{\"type\": \"connection\", \"connection\": 2, \"local\": \"L2\", "
                          "\"remote\": \"R2\"}\n"
                          "{\"type\": \"agreed\", \"connection\": 1, \"request\": {\"revision\": "
                          "1, \"crc\": true}, \"reply\": {\"revision\": 2, \"markers\": true, "
                          "\"ird\": 4, \"ord\": 5, \"peer_to_peer\": true, \"rejected\": true}}\n"
                          "{\"type\": \"agreed\", \"connection\": 2, \"request\": {\"revision\": "
                          "2, \"ird\": 0, \"ord\": 6}}\n"
                          "{\"type\": \"closed\", \"connection\": 1, \"us\": {\"octets\": 7, "
                          "\"messages\": 8}, \"peer\": {\"octets\": 9, \"messages\": 10}}\n"
                          "{\"type\": \"finding\", \"by\": \"us\", \"line\": \"it\", "
                          "\"connection\": 1}\n" END);
    assert_true(run_findings_read(&f, folder));
    assert_string_equal(
        report(5),
        "Program   /bin/prog\n"
        "Command   prog 'two words'\n"
        "Began     1970-01-02 01:01:01 UTC\n"
        "Ended     with status 5\n"
        "Host      host, Linux 6.1\n"
        "\nFindings: 2 connections, findings: 0 of the peer (0 MUST), 1 of this side\n"
        "\na[3] connection 1: it\n"
        "\na[3] connection 1: L1 to peer R1\n"
        "\na[3] connection 2: L2 from peer R2\n"
        "\na[3] connection 1, agreed:\n"
        "  Request  revision 1, CRC on, Markers off\n"
        "  Reply    revision 2, CRC off, Markers on, IRD 4, ORD 5, peer-to-peer, rejected\n"
        "\na[3] connection 2, agreed:\n"
        "  Request  revision 2, CRC off, Markers off, IRD 0, ORD 6\n"
        "  Reply    revision 0, CRC off, Markers off\n"
        "\na[3] connection 1, sent:\n"
        "  program  7 octets, 8 messages\n"
        "  peer     9 octets, 10 messages\n");
}

static void heads(void **state)
{
    (void)state;
    assert_true(run_findings_read(&f, folder));
    assert_non_null(strstr(report(128), "\nEnded     with status 128\n"));
    assert_null(strstr(report(0), "Capture"));
    assert_non_null(strstr(report(129), "\nEnded     by signal 1\n"));
    judge.capture = "x.pcapng";
    assert_non_null(strstr(report(0), "\nCapture   x.pcapng\n"));
    f.cut = true;
    assert_non_null(strstr(report(0), "\nCapture   x.pcapng (cut short)\n"));
    nameless = true;
    assert_non_null(strstr(report(0), "\nHost      \n"));
    judge.json = true; /* the report is for people all the same */
    assert_null(strstr(report(0), "{"));
    judge.report = "/nowhere/report";
    const struct run_outcome outcome = {.path = "x", .argv = (char *[]){NULL}};
    catch_from(STDERR_FILENO);
    assert_false(run_report_write(&judge, &f, &outcome));
    assert_non_null(strstr(caught(), "/nowhere/report"));
    judge.report = "/dev/full";
    catch_from(STDERR_FILENO);
    assert_false(run_report_write(&judge, &f, &outcome));
    assert_non_null(strstr(caught(), "/dev/full"));
}

/* ---- the capture ---- */

/* A capture of so many frames; the first octet of each is its number, from `first`. */
static void write_capture(const char *name, unsigned frames, uint8_t first)
{
    char path[100], error[IW_CAPTURE_ERROR];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    struct iw_pcapng *out = iw_pcapng_create(path, IW_LINK_ETHERNET, NULL, NULL, error);
    assert_non_null(out);
    for (unsigned i = 0; i < frames; i++) {
        uint8_t octets[60];
        memset(octets, first + (int)i, sizeof(octets));
        const struct iw_frame frame = {.data = octets, .length = 60, .original = 60, .time = i};
        assert_true(iw_pcapng_frame(out, &frame, NULL, 0));
    }
    assert_true(iw_pcapng_close(out, error));
}

/* The first octets of all frames of the whole capture, with the comments that come before each:
 * texts that begin with '!'. */
static const char *captured(void)
{
    static char text[4096];
    char path[100], *to = text;
    snprintf(path, sizeof(path), "%s/all.pcapng", folder);
    assert_true(run_findings_capture(&f, path));
    struct iw_frame frame;
    char error[IW_CAPTURE_ERROR];
    struct iw_capture *in = iw_capture_open(path, error);
    while (in != NULL && iw_capture_next(in, &frame, error) == 1)
        to += sprintf(to, "%c", frame.data[0]);
    iw_capture_close(in);
    *to = '\0';
    return text;
}

/* The octets of a file: where a text is in it, -1 if it is not. */
static long place_of(const char *text)
{
    static char octets[100000];
    char path[100];
    snprintf(path, sizeof(path), "%s/all.pcapng", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t length = fread(octets, 1, sizeof(octets), file);
    fclose(file);
    const char *found = memmem(octets, length, text, strlen(text));
    return found != NULL ? (long)(found - octets) : -1;
}

static void one_of_all(void **state)
{
    (void)state;
    char one[600], two[600];
    write_capture("one.pcapng", 3, 'a');
    write_capture("two.pcapng", 2, 'x');
    snprintf(one, sizeof(one),
             "{\"type\": \"process\", \"pid\": 1, \"capture\": \"%s/one.pcapng\"}\n"
             "{\"type\": \"finding\", \"by\": \"peer\", \"frame\": 3, \"line\": \"!third\"}\n"
             "{\"type\": \"finding\", \"by\": \"peer\", \"frame\": 1, \"line\": \"!first\"}\n"
             "{\"type\": \"finding\", \"by\": \"peer\", \"frame\": 3, \"line\": \"!also third\"}\n"
             "{\"type\": \"finding\", \"by\": \"peer\", \"line\": \"!nowhere\"}\n"
             "{\"type\": \"unknown\", \"frame\": 2, \"line\": \"!no finding\"}\n" END,
             folder);
    snprintf(two, sizeof(two),
             "{\"type\": \"process\", \"pid\": 3, \"capture\": \"%s/two.pcapng\"}\n"
             "{\"type\": \"finding\", \"by\": \"peer\", \"frame\": 2, \"line\": \"!last\"}\n" END,
             folder);
    write_file("1.jsonl", one);
    write_file("2.jsonl", PROCESS("2", "none") END);
    write_file("3.jsonl", two);
    assert_true(run_findings_read(&f, folder));
    assert_string_equal(captured(), "abcxy");
    assert_int_equal(f.processes[0].first_frame, 0);
    assert_int_equal(f.processes[1].first_frame, 3);
    assert_int_equal(f.processes[2].first_frame, 3);
    static const char *const order[] = {"aaaa",        "!first", "bbbb", "cccc", "!third",
                                        "!also third", "xxxx",   "yyyy", "!last"};
    for (unsigned i = 0; i < 9; i++)
        assert_true(place_of(order[i]) > (i > 0 ? place_of(order[i - 1]) : 0));
    assert_int_equal(place_of("!nowhere"), -1);
    assert_int_equal(place_of("!no finding"), -1);
    assert_int_equal(place_of("Not everything is here"), -1);
    assert_true(place_of("iwarp-run") > 0);
}

static void cut_short(void **state)
{
    (void)state;
    write_file("1.jsonl", PROCESS("1", "a") "{\"type\": \"end\"}\n");
    assert_true(run_findings_read(&f, folder));
    (void)captured();
    assert_true(place_of("Not everything is here: the capture has as many octets as it may") > 0);
}

/* 64 comments on one frame, and no more. */
static void many_notes(void **state)
{
    (void)state;
    char path[100];
    write_capture("one.pcapng", 1, 'a');
    snprintf(path, sizeof(path), "%s/1.jsonl", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"type\": \"process\", \"pid\": 1, \"capture\": \"%s/one.pcapng\"}\n", folder);
    for (unsigned i = 1; i <= 66; i++)
        fprintf(file, "{\"type\": \"finding\", \"frame\": 1, \"line\": \"!note %u.\"}\n", i);
    fclose(file);
    assert_true(run_findings_read(&f, folder));
    assert_string_equal(captured(), "a");
    assert_true(place_of("!note 64.") > 0);
    assert_int_equal(place_of("!note 65."), -1);
}

static void no_capture(void **state)
{
    (void)state;
    char path[100];
    write_file("1.jsonl", "{\"type\": \"process\", \"pid\": 1, \"capture\": \"/nowhere\"}\n" END);
    assert_true(run_findings_read(&f, folder));
    assert_string_equal(captured(), ""); /* one that was killed may have written none */
    catch_from(STDERR_FILENO);
    assert_false(run_findings_capture(&f, "/nowhere/all.pcapng"));
    assert_non_null(strstr(caught(), "/nowhere/all.pcapng"));
    catch_from(STDERR_FILENO);
    assert_false(run_findings_capture(&f, "/dev/full"));
    assert_non_null(strstr(caught(), "/dev/full"));
    snprintf(path, sizeof(path), "%s/all.pcapng", folder);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts, begin, end),
        cmocka_unit_test_setup_teardown(whole, begin, end),
        cmocka_unit_test_setup_teardown(broken_lines, begin, end),
        cmocka_unit_test_setup_teardown(unreadable, begin, end),
        cmocka_unit_test_setup_teardown(empty, begin, end),
        cmocka_unit_test_setup_teardown(members, begin, end),
        cmocka_unit_test_setup_teardown(for_people, begin, end),
        cmocka_unit_test_setup_teardown(for_programs, begin, end),
        cmocka_unit_test_setup_teardown(a_report, begin, end),
        cmocka_unit_test_setup_teardown(heads, begin, end),
        cmocka_unit_test_setup_teardown(one_of_all, begin, end),
        cmocka_unit_test_setup_teardown(cut_short, begin, end),
        cmocka_unit_test_setup_teardown(many_notes, begin, end),
        cmocka_unit_test_setup_teardown(no_capture, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
