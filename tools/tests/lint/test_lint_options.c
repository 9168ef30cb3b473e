/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-lint's command line: what it makes of each option, and what it does not take. */
#include "lint.h"

#include "../caught.h"

int iw_lint_main(int argc, char **argv);

/* What it would run. */
static struct iw_lint_options kept;
static FILE *kept_out;
static unsigned runs;

int iw_lint_captures(struct iw_lint_options *options, char *const *paths, size_t count, FILE *out)
{
    kept = *options;
    kept.path = options->live != NULL ? options->live : paths[count - 1];
    kept.several = count > 1;
    kept_out = out;
    runs++;
    return 17;
}

/* Its exit status for a line of words, separated by spaces. */
static int run(const char *line)
{
    static char words[1000];
    char *argv[100] = {(char[]){"iwarp-lint"}};
    int argc = 1;
    assert_true(strlen(line) < sizeof(words));
    memcpy(words, line, strlen(line) + 1);
    for (char *rest = NULL, *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    runs = 0;
    return iw_lint_main(argc, argv);
}

static void takes(const char *line)
{
    assert_int_equal(run(line), 17);
    assert_int_equal(runs, 1);
}

static void refuses(const char *line, const char *why)
{
    char expected[300];
    catch_from(STDERR_FILENO);
    int status = run(line);
    snprintf(expected, sizeof(expected), "iwarp-lint: %s\n", why);
    assert_string_equal(caught(), expected);
    assert_int_equal(status, 64);
    assert_int_equal(runs, 0);
}

static void its_defaults(void **state)
{
    (void)state;
    takes("a.pcap");
    assert_string_equal(kept.path, "a.pcap");
    assert_ptr_equal(kept_out, stdout);
    assert_null(kept.filter);
    assert_null(kept.annotate);
    assert_null(kept.into);
    assert_null(kept.live);
    assert_int_equal(kept.stag, -1);
    assert_int_equal(kept.connection, -1);
    assert_int_equal(kept.owner, -1);
    assert_int_equal(kept.format, IW_LINT_TEXT);
    assert_false(kept.messages || kept.summary || kept.must || kept.default_config);
    assert_int_equal(kept.connections, 10000);
    assert_int_equal(kept.mss, 0);
    assert_int_equal(kept.n_ports, 0);
}

static void what_options_set(void **state)
{
    (void)state;
    takes("--summary --json - --filter tcp --mss 128 --connections 1 --level must");
    assert_string_equal(kept.path, "-");
    assert_true(kept.summary && kept.must);
    assert_false(kept.messages);
    assert_int_equal(kept.format, IW_LINT_JSON);
    assert_string_equal(kept.filter, "tcp");
    assert_int_equal(kept.mss, 128);
    assert_int_equal(kept.connections, 1);
    takes("--messages --mss 65535 --connections 1000000 --level must --level all a");
    assert_true(kept.messages);
    assert_false(kept.must || kept.summary);
    assert_int_equal(kept.mss, 65535);
    assert_int_equal(kept.connections, 1000000);
    takes("--sarif --assume default-config --annotate copy a");
    assert_int_equal(kept.format, IW_LINT_SARIF);
    assert_true(kept.default_config);
    assert_false(kept.intact);
    takes("--assume intact --assume default-config a");
    assert_true(kept.default_config && kept.intact);
    takes("--assume intact a");
    assert_true(!kept.default_config && kept.intact);
    takes("--sarif --assume default-config --annotate copy a");
    assert_string_equal(kept.annotate, "copy");
    takes("--require --json-lines c a b");
    assert_true(kept.require && kept.several);
    assert_string_equal(kept.json_lines, "c");
    assert_int_equal(kept.format, IW_LINT_TEXT);
    takes("--json-lines - a");
    assert_null(kept.json_lines);
    assert_int_equal(kept.format, IW_LINT_JSON);
    takes("--live eth0 --messages");
    assert_string_equal(kept.live, "eth0");
    assert_string_equal(kept.path, "eth0");
}

static void what_to_extract(void **state)
{
    (void)state;
    takes("--extract 0xffffffff --into b --connection 9223372036854775807 --owner responder a");
    assert_int_equal(kept.stag, UINT32_MAX);
    assert_string_equal(kept.into, "b");
    assert_true(kept.connection == INT64_MAX);
    assert_int_equal(kept.owner, IW_SIDE_RESPONDER);
    takes("--extract 0 --into b --connection 0 --owner initiator a");
    assert_int_equal(kept.stag, 0);
    assert_int_equal(kept.connection, 0);
    assert_int_equal(kept.owner, IW_SIDE_INITIATOR);
    takes("--extract 5 --into . --live eth0");
    assert_int_equal(kept.stag, 5);
}

static void ports_to_decode(void **state)
{
    char line[1000] = "a";
    (void)state;
    for (int i = 0; i < 64; i++)
        snprintf(line + strlen(line), sizeof(line) - strlen(line), " --decode-as=%d",
                 i == 0 ? 65535 : i);
    takes(line);
    assert_int_equal(kept.n_ports, 64);
    assert_int_equal(kept.ports[0], 65535);
    for (int i = 1; i < 64; i++)
        assert_int_equal(kept.ports[i], i);
    snprintf(line + strlen(line), sizeof(line) - strlen(line), " --decode-as=9");
    refuses(line, "--decode-as 9: expected a port, at most 64 of them");
}

static void what_it_does_not_take(void **state)
{
    static const char *const refused[][2] = {
        {"--level may a", "--level may: expected must or all"},
        {"--extract x --into b a", "--extract x: expected an STag, decimal or 0x..."},
        {"--extract 4294967296 --into b a",
         "--extract 4294967296: expected an STag, decimal or 0x..."},
        {"--connection x a", "--connection x: expected the number of a connection"},
        {"--connection 9223372036854775808 a",
         "--connection 9223372036854775808: expected the number of a connection"},
        {"--owner me a", "--owner me: expected initiator or responder"},
        {"--decode-as 0 a", "--decode-as 0: expected a port, at most 64 of them"},
        {"--decode-as 65536 a", "--decode-as 65536: expected a port, at most 64 of them"},
        {"--assume nothing a", "--assume nothing: expected default-config or intact"},
        {"--mss 127 a", "--mss 127: expected a number from 128 to 65535"},
        {"--mss 65536 a", "--mss 65536: expected a number from 128 to 65535"},
        {"--connections 0 a", "--connections 0: expected a number from 1 to 1000000"},
        {"--connections 1000001 a", "--connections 1000001: expected a number from 1 to 1000000"},
        {"", "expected a capture; see --help"},
        {"--live eth0 a", "expected one capture, a file or --live; see --help"},
        {"--sarif --summary a", "--sarif prints findings only: did not expect --summary or "
                                "--messages"},
        {"--sarif --messages a", "--sarif prints findings only: did not expect --summary or "
                                 "--messages"},
        {"--extract 1 a", "--extract STAG and --into FILE: expected both or none"},
        {"--into b a", "--extract STAG and --into FILE: expected both or none"},
        {"--extract 1 --into / /", "--into: expected another file than the capture"},
        {"--annotate / /", "--annotate: expected another file than the capture"},
        {"--annotate b -", "--annotate reads the capture twice: expected a file"},
        {"--annotate b --live eth0", "--annotate reads the capture twice: expected a file"},
        /* An interface is no file, whatever its name is. */
        {"--annotate . --live .", "--annotate reads the capture twice: expected a file"},
        {"--annotate c a b", "--annotate: expected one capture"},
        {"--extract 1 --into c a b", "--extract: expected one capture"},
        {"--json-lines / /", "--json-lines: expected another file than the capture"},
        {"a /tmp --json-lines /tmp", "--json-lines: expected another file than the capture"},
        {"--annotate c --json-lines ./c a", "--json-lines ./c: is the file of --annotate"},
        {"--annotate c --extract 1 --into c a", "--into c: is the file of --annotate"},
        {"--sarif --json-lines - a", "--json-lines -: --sarif writes to standard output"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        refuses(refused[i][0], refused[i][1]);
    takes("--extract 1 --into . --live .");
    /* The roots of two file systems may have the same number. */
    takes("--annotate /sys /proc");
    takes("--annotate /proc /sys");
    takes("--json --summary --messages a");
}

/* Names of one file are found to be that; a folder of the same file system is another one. */
static void other_files_are_told_from_the_capture(void **state)
{
    char one[] = "/tmp/iw-lint-XXXXXX", line[200];
    int fd = mkstemp(one);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    snprintf(line, sizeof(line), "--annotate %s /tmp/../%s", one, one);
    refuses(line, "--annotate: expected another file than the capture");
    snprintf(line, sizeof(line), "--annotate /tmp %s", one);
    takes(line);
    snprintf(line, sizeof(line), "--extract 1 --into %s /none", one);
    takes(line);
    assert_int_equal(unlink(one), 0);
    takes(line);
}

static void its_help(void **state)
{
    (void)state;
    catch_from(STDOUT_FILENO);
    int status = run("--help");
    const char *text = caught();
    assert_int_equal(status, 0);
    assert_int_equal(runs, 0);
    assert_memory_equal(text, "usage: iwarp-lint [options] FILE...\n", 36);
    assert_non_null(strstr(text, "\n       iwarp-lint [options] --live INTERFACE\n\nJudges "));
    for (const char *const *option =
             (const char *const[]){"--summary", "--messages", "--json", "--sarif",
                                   "--annotate FILE", "--json-lines FILE", "--require",
                                   "--level must|all", "--live INTERFACE", "--filter EXPRESSION",
                                   "--decode-as PORT", "--mss N", "--assume default-config|intact",
                                   "--extract STAG", "--into FILE", "--connection N",
                                   "--owner initiator|responder", "--connections N", NULL};
         *option != NULL; option++)
        assert_non_null(strstr(text, *option));
    assert_string_equal(strstr(text, "\nexit status: "),
                        "\nexit status: 0 clean, 1 findings, 2 unreadable or cut short, 3 nothing "
                        "to judge (--require),\n64 usage, 70 error of the tool, 73 an output "
                        "cannot be written, 130 interrupted\n");
    catch_from(STDOUT_FILENO);
    status = run("--version");
    assert_memory_equal(caught(), "iwarp-lint ", 11);
    assert_int_equal(status, 0);
}

#define TEST(f) cmocka_unit_test_teardown(f, catch_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(its_defaults),
        TEST(what_options_set),
        TEST(what_to_extract),
        TEST(ports_to_decode),
        TEST(what_it_does_not_take),
        TEST(other_files_are_told_from_the_capture),
        TEST(its_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
