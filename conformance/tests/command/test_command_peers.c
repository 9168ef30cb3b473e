/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform probe`, and runs inside of something that may end under them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conform_call.h"
#include "host/text.h"
#include "script/script_run.h"

#define LISTENS "address = '127.0.0.1', start = 'exec iwarp-peer listen {host}:{port}'"

/* ---- probe ---- */

static void what_cannot_be_probed_is_said(void **state)
{
    (void)state;
    conform_says("probe tcp:127.0.0.1:1,class=agent", 64, "",
                 "iwarp-conform: tcp:127.0.0.1:1,class=agent: an agent says itself what it can "
                 "do\n");
    free(folder_file(&conform_folder, "ask.lua", "return { ask = 'do something' }"));
    conform_says("probe ./ask.lua", 64, "",
                 "iwarp-conform: ./ask.lua: its file asks a person to make it connect ('ask'), "
                 "and standard input is no terminal\n");
    free(folder_file(&conform_folder, "there.lua", "mine"));
    conform_says("probe tcp:127.0.0.1:1 -o there.lua", 64, "",
                 "iwarp-conform: there.lua is there already; --force writes over it\n");
    conform_says("probe tcp:127.0.0.1:1 -o there.lua --force --pcap-dir /proc/x", 73, "",
                 "iwarp-conform: cannot make the folder /proc/x\n");
    conform_says("probe tcp:127.0.0.1:1 -o there.lua --force", 3, "",
                 "iwarp-conform: tcp:127.0.0.1:1: no connection with 127.0.0.1 port 1: Connection "
                 "refused\n");
    assert_string_equal(conform_file("there.lua"), "mine");
}

/* The case that asks may fail itself. */
int __real_iw_script_run_case(const struct iw_case *c, struct iw_target *target,
                              const struct iw_run_options *options, struct iw_result *out);
int __wrap_iw_script_run_case(const struct iw_case *c, struct iw_target *target,
                              const struct iw_run_options *options, struct iw_result *out);
int __wrap_iw_script_run_case(const struct iw_case *c, struct iw_target *target,
                              const struct iw_run_options *options, struct iw_result *out)
{
    const char *fails = getenv("FAILS");
    if (fails != NULL && strcmp(fails, "all") == 0)
        return -1;
    int result = __real_iw_script_run_case(c, target, options, out);
    if (fails != NULL) {
        out->verdict = IW_VERDICT_ERROR;
        free(out->reason);
        out->reason = iw_text_copy("the case is wrong");
    }
    return result;
}

static void a_question_that_fails_is_the_testers(void **state)
{
    (void)state;
    free(folder_file(&conform_folder, "one.lua", "return { " LISTENS ", ready = 'listening' }"));
    setenv("FAILS", "all", 1);
    conform_says("probe ./one.lua", 70, "", NULL);
    setenv("FAILS", "one", 1);
    conform_says("probe ./one.lua", 70, "", NULL);
    assert_non_null(strstr(conform_file("said.err"), "iwarp-conform: the case is wrong\n"));
    unsetenv("FAILS");
}

/* It is gone before the command that was to have it connect ends. What its commands printed is
 * shown. */
static void a_peer_that_ends_is_no_peer(void **state)
{
    struct said s;

    (void)state;
    free(
        folder_file(&conform_folder, "ends.lua",
                    "return { ready = 'up',\n"
                    "  start = 'echo $$ >pid; echo words >&2; echo up; exec tail -f /dev/null',\n"
                    "  connect = [[p=$(cat pid); kill -KILL $p; until grep -q ' Z ' /proc/$p/stat; "
                    "do :; done; exit 3]] }"));
    conform_call(&s, "probe ./ends.lua -o out.lua");
    assert_int_equal(s.status, 3);
    assert_string_equal(s.out, "");
    const char *ended = "iwarp-conform: the peer ended: tail was killed by signal 9 (Killed)\n";
    if (strstr(s.err, ended) == NULL)
        fail_msg("%s", s.err);
    assert_non_null(strstr(s.err, ":\nwords\nup\n"));
    assert_string_equal(conform_file("out.lua"), "no such file");
}

/* Nothing of MPA was seen. */
static void a_peer_that_says_nothing_is_none(void **state)
{
    (void)state;
    free(folder_file(&conform_folder, "none.lua",
                     "return { address = '127.0.0.1', port = 1, cannot = { 'reconnect' } }"));
    conform_says("probe ./none.lua", 3, "",
                 "iwarp-conform: the peer at 127.0.0.1 port 1 accepts TCP connections, but no MPA: "
                 "to a Request of revision 2 it gave no connection: connect to 127.0.0.1 port 1: "
                 "Connection refused, to one of revision 1 it gave no connection: connect to "
                 "127.0.0.1 port 1: Connection refused\n");
}

/* A peer that listens and connects is asked about both. */
static void both_roles_are_probed_and_written(void **state)
{
    (void)state;
    free(folder_file(&conform_folder, "both.lua",
                     "return { " LISTENS ", ready = 'listening', can = { 'read' },\n"
                     "  connect = 'exec iwarp-peer connect {host}:{port}' }"));
    free(folder_file(&conform_folder, "out.lua", "what was there"));
    conform_says("probe ./both.lua -o out.lua --force --pcap-dir caps --trace --time-scale 10", 0,
                 "", NULL);
    assert_non_null(strstr(conform_file("said.err"), " > mpa request "));
    const char *written = conform_file("out.lua");
    assert_non_null(strstr(written, "\n  start = \"exec iwarp-peer listen {host}:{port}\",\n"
                                    "  ready = \"listening\",\n"
                                    "  connect = \"exec iwarp-peer connect {host}:{port}\",\n"));
    assert_non_null(strstr(written, "\n  revision = 2,\n"));
    assert_non_null(strstr(written, "\n  -- its Request: mpa request rev 2 "));
    assert_non_null(strstr(written, "\n  can = { \"read\", \"ird.16\", \"send\", \"echo\", "
                                    "\"extensions\" },\n}\n"));
    assert_null(strstr(written, "what was there"));
    assert_memory_equal(conform_file("caps/probe-responder.pcapng"), "\x0a\x0d\x0d\x0a", 4);
    conform_says("probe ./both.lua -o no/out.lua", 73, "",
                 "iwarp-conform: cannot write no/out.lua: No such file or directory\n");
}

/* ---- inside ---- */

/* Asks what the way inside was; one that has no case ends at once. */
static void the_way_inside_is_the_targets_command(void **state)
{
    (void)state;
    conform_case("good", "", "t:connect {}");
    free(
        folder_file(&conform_folder, "in.lua",
                    "return { " LISTENS
                    ",\n  can = { \"read\" }, inside = \"echo {writable} >in; exec {command}\" }"));
    conform_says("run --target ./in.lua --cases cases --results r --pcap-dir p --junit x/u "
                 "--json x/j good",
                 73, "", "iwarp-conform: cannot write x/u: No such file or directory\n");
    free(folder_file(&conform_folder, "x/there", ""));
    conform_says("run --target ./in.lua --cases cases --results r --pcap-dir p --junit x/u good", 0,
                 "1 PASS, 0 NOTE, 0 FAIL, 0 INCONCLUSIVE, 0 SKIP, 0 ERROR, target ./in.lua\n"
                 "results: r\n",
                 "");
    char *folders = iw_text_format("%s/r:%s/p:%s/x\n", conform_folder.path, conform_folder.path,
                                   conform_folder.path);
    assert_string_equal(conform_file("in"), folders);
    free(folders);
    conform_says("run --target ./in.lua --cases cases good", 0, NULL, "");
    folders = iw_text_format("%s/iwarp-conform-results\n", conform_folder.path);
    assert_string_equal(conform_file("in"), folders);
    free(folders);
}

/* Ends the worker that has started the peer, and the runner above it. */
#define KILL "kill -KILL $(cut -d\\\" \\\" -f4 /proc/$PPID/stat) $PPID"

/* Its first start is the end of the kernel: what runs inside is killed. */
#define ENDS_ONCE                                                                                  \
    "return { address = '127.0.0.1', restart = 'echo again >>restarts',\n"                         \
    "  console = 'echo [1.0] BUG: in f',\n"                                                        \
    "  start = 'test -e ended || { touch ended; " KILL "; }; exec iwarp-peer listen "              \
    "{host}:{port} 2>/dev/null',\n"                                                                \
    "  inside = \"echo {command} >>in; exec {command}\" }"

static void a_run_outlives_the_kernel_that_it_is_in(void **state)
{
    (void)state;
    conform_case("a", "", "t:connect {}");
    conform_case("b", "", "t:connect {}");
    free(folder_file(&conform_folder, "ends.lua", ENDS_ONCE));
    conform_says("run --target ./ends.lua --cases cases --results r", 1,
                 "FAIL a\n"
                 "  case      cases/a.lua:1\n"
                 "  reason    the target's kernel ended: BUG: in f\n"
                 "  again     iwarp-conform run --cases cases --target ./ends.lua --select a\n"
                 "finding 1: FAIL crash\n"
                 "  by        the target as responder\n"
                 "  what      the target's kernel ended: BUG: in f\n"
                 "  cases     1: a\n"
                 "  again     iwarp-conform run --cases cases --target ./ends.lua --select a\n"
                 "1 PASS, 0 NOTE, 1 FAIL, 0 INCONCLUSIVE, 0 SKIP, 0 ERROR, target ./ends.lua\n"
                 "results: r\n",
                 "iwarp-conform: a: the target's kernel ended: BUG: in f; it is started again\n");
    assert_string_equal(conform_file("restarts"), "again\n");
    assert_string_equal(conform_file("in"),
                        "iwarp-conform run --target ./ends.lua --cases cases --results r\n"
                        "iwarp-conform run --resume r --target ./ends.lua --cases cases "
                        "--results r\n");
}

/* Without --results the folder is made before, and named inside. */
static void a_run_inside_has_its_folder_from_the_beginning(void **state)
{
    (void)state;
    conform_case("a", "", "t:connect {}");
    free(folder_file(&conform_folder, "ended", ""));
    free(folder_file(&conform_folder, "ends.lua", ENDS_ONCE));
    conform_says("run --target ./ends.lua --cases cases", 0, NULL, "");
    const char *command = conform_file("in"),
               *begin = "iwarp-conform run --results iwarp-conform-results/";
    assert_memory_equal(command, begin, strlen(begin));
    assert_non_null(strstr(command, "-ends --target ./ends.lua --cases cases\n"));
    assert_memory_equal(conform_file("iwarp-conform-results/latest/run.json"), "{", 1);
    assert_string_equal(conform_file("restarts"), "no such file");
    /* One that was resumed from the beginning has no more words than it was given. */
    conform_says("run --target ./ends.lua --cases cases --results r", 0, NULL, "");
    conform_says("run --resume r", 0, NULL, "");
    assert_non_null(strstr(conform_file("in"), "\niwarp-conform run --resume r\n"));
}

static void a_kernel_that_does_not_come_back_is_an_error(void **state)
{
    (void)state;
    conform_case("a", "", "t:connect {}");
    free(folder_file(&conform_folder, "ends.lua",
                     "return { address = '127.0.0.1', restart = 'exit 9',\n"
                     "  start = '" KILL "', inside = \"exec {command}\" }"));
    conform_says("run --target ./ends.lua --cases cases --results r", 70, "",
                 "iwarp-conform: a: the target's kernel ended; it is started again\n"
                 "iwarp-conform: restart: 'exit 9' ended with status 9\n");
    conform_case("b", "", "t:connect {}");
    free(folder_file(&conform_folder, "ends.lua",
                     "return { address = '127.0.0.1', restart = 'true',\n"
                     "  inside = \"exit 3 # {command}\", start = 'true' }"));
    conform_says("run --target ./ends.lua --cases cases --results s", 3, "", "");
}

int main(int argc, char **argv)
{
    if (argc > 1) /* conform_call() begins this program again */
        return iw_conform(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_cannot_be_probed_is_said, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(a_question_that_fails_is_the_testers, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(a_peer_that_ends_is_no_peer, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(a_peer_that_says_nothing_is_none, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(both_roles_are_probed_and_written, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(the_way_inside_is_the_targets_command, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(a_run_outlives_the_kernel_that_it_is_in, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(a_run_inside_has_its_folder_from_the_beginning,
                                        conform_setup, conform_teardown),
        cmocka_unit_test_setup_teardown(a_kernel_that_does_not_come_back_is_an_error, conform_setup,
                                        conform_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
