/* SPDX-License-Identifier: BSD-3-Clause */
/* Target specs and files, capabilities, and peers that are started, reached and ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/conform_case.h"
#include "folder.h"
#include "host/text.h"
#include "target/target.h"
#include "target/target_can.h"

static struct folder folder;
static char error[1024];

static int set_up(void **state)
{
    (void)state;
    return folder_make(&folder);
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

static struct iw_target_spec *parse(const char *text)
{
    *error = 0;
    return iw_target_parse(text, IW_BINARY_DIR "/bin/iwarp-agent", folder.path, error,
                           sizeof(error));
}

/* ---- specs ---- */

static void test_tcp(void **state)
{
    struct iw_target_spec *spec = parse("tcp:192.0.2.1:7471");

    (void)state;
    assert_non_null(spec);
    assert_int_equal(spec->class, IW_TARGET_BARE);
    assert_string_equal(spec->host, "192.0.2.1");
    assert_int_equal(spec->port, 7471);
    assert_false(spec->embedded);
    assert_string_equal(spec->text, "tcp:192.0.2.1:7471");
    iw_target_free(spec);

    spec = parse("tcp:[::1]:1,class=rping,crc=off,markers=on,rev=1");
    assert_non_null(spec);
    assert_int_equal(spec->class, IW_TARGET_RPING);
    assert_string_equal(spec->host, "::1");
    assert_int_equal(spec->port, 1);
    iw_target_free(spec);

    spec = parse("tcp:peer.example:9,class=agent");
    assert_non_null(spec);
    assert_int_equal(spec->class, IW_TARGET_AGENT);
    assert_string_equal(spec->agent_host, "peer.example");
    assert_int_equal(spec->agent_port, 9);
    assert_null(spec->token_file);
    iw_target_free(spec);

    spec = parse("tcp:peer.example:9,token_file=/run/token,class=agent");
    assert_non_null(spec);
    assert_string_equal(spec->token_file, "/run/token");
    iw_target_free(spec);
}

static void test_bad_specs(void **state)
{
    const char *const bad[][2] = {
        {"tcp:", "--target tcp:: "},
        {"tcp:nowhere", "--target tcp:nowhere: "},
        {"tcp:h:0", "a port from 1 to 65535"},
        {"tcp:h:70000", "--target tcp:h:70000: "},
        {"tcp:h:7,", "''"},
        {"tcp:h:7,crc", "'crc': expected key=value"},
        {"tcp:h:7,crc=maybe", "'crc=maybe': expected on or off"},
        {"tcp:h:7,class=router", "'class=router': expected bare, rping or agent"},
        {"tcp:h:7,rev=3", "'rev=3': expected 1 or 2"},
        {"tcp:h:7,colour=red", "'colour=red': expected one of"},
        {"tcp:h:7,token_file=x", "token_file: only a target of class agent has one"},
        {"tcp:h:7,class=agent,token_file=", "'token_file=': expected the path of one file"},
        {"nobody", "there is no target file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_null(parse(bad[i][0]));
        if (strstr(error, bad[i][1]) == NULL)
            fail_msg("%s gives: %s", bad[i][0], error);
        assert_null(strchr(error, '\n'));
    }
}

/* ---- capabilities ---- */

/* A listener on loopback: something that can be reached. */
static int listen_somewhere(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static struct iw_target_instance *open_spec(const struct iw_target_spec *spec)
{
    struct iw_target_instance *instance = NULL;
    enum iw_target_opened opened =
        iw_target_open(spec, NULL, NULL, 1, &instance, error, sizeof(error));

    if (opened != IW_TARGET_OPENED)
        fail_msg("not opened (%d): %s", opened, error);
    return instance;
}

/* Checks the answers of a target of this spec (after "tcp:HOST:PORT"): the first list holds its
 * capabilities, the second those that it lacks; blanks between the words. */
static void assert_can(const char *more, const char *yes, const char *no)
{
    uint16_t port;
    int fd = listen_somewhere(&port);
    char *text = iw_text_format("tcp:127.0.0.1:%u%s", port, more);
    struct iw_target_spec *spec = parse(text);
    struct iw_target_instance *instance = open_spec(spec);
    struct iw_target *target = iw_target_of(instance);
    const char *const lists[] = {no, yes};

    for (int expected = 0; expected < 2; expected++) {
        char *copy = iw_text_copy(lists[expected]), *rest = copy, *word;

        while (((word = strsep(&rest, " ")) != NULL))
            if (*word && target->can(target, word) != expected)
                fail_msg("%s: %s is not %d", text, word, expected);
        free(copy);
    }
    iw_target_close(instance, error, sizeof(error));
    iw_target_free(spec);
    free(text);
    close(fd);
}

static void test_capabilities(void **state)
{
    (void)state;
    assert_can("",
               "class.bare crc.on revision.1 revision.2 enhanced rtr.send reconnect "
               "markers.off private.512",
               "crc.off markers.on agent memory.read read send reject extensions class.rping");
    assert_can(",crc=off", "crc.on crc.off", "");
    assert_can(",crc=on", "crc.on", "crc.off");
    assert_can(",markers=on", "markers.on", "markers.off");
    assert_can(",rev=1", "revision.1", "revision.2 enhanced peer_to_peer rtr.read ird.1");
    assert_can(",class=rping", "class.rping read send rping.1 rping.64",
               "class.bare agent memory.write rping.65");
    assert_can(",class=rping,can=rping.4096", "rping.64 rping.4096", "rping.4097");
    assert_can(",can=extensions", "extensions", "extensions.off");
    assert_can(",cannot=extensions,can=extensions.off", "extensions.off", "extensions");
    assert_can(",can=read,can=ird.8,cannot=rtr.send,cannot=reconnect", "read ird.1 ird.8 rtr.read",
               "ird.9 rtr.send reconnect send");
}

/* ---- needs ---- */

static void assert_lacks(const char *more, const char *name, const char *value,
                         enum iw_mpa_role role, const char *expected)
{
    uint16_t port;
    int fd = listen_somewhere(&port);
    char *text = iw_text_format("tcp:127.0.0.1:%u%s", port, more);
    struct iw_target_spec *spec = parse(text);
    struct iw_target_instance *instance = open_spec(spec);
    struct iw_need need = {.name = iw_text_copy(name), .value = iw_text_copy(value)};
    struct iw_case c = {.role = role, .needs = &need, .n_needs = name != NULL ? 1 : 0};
    char *lacks = iw_target_lacks(iw_target_of(instance), &c);

    if (expected != NULL)
        assert_string_equal(lacks, expected);
    else
        assert_null(lacks);
    free(lacks);
    free(need.name);
    free(need.value);
    iw_target_close(instance, error, sizeof(error));
    iw_target_free(spec);
    free(text);
    close(fd);
}

static void test_needs(void **state)
{
    (void)state;
    assert_lacks("", NULL, NULL, IW_MPA_RESPONDER, NULL);
    assert_lacks(
        "", NULL, NULL, IW_MPA_INITIATOR,
        "needs a target that connects, and nothing here makes this one (class bare) do so");
    assert_lacks("", "memory", "read write", IW_MPA_RESPONDER,
                 "needs memory.read, which this target (class bare) does not offer");
    assert_lacks("", "agent", "true", IW_MPA_RESPONDER,
                 "needs agent, which this target (class bare) does not offer");
    assert_lacks("", "revision", "2", IW_MPA_RESPONDER, NULL);
    assert_lacks("", "class", "rping agent", IW_MPA_RESPONDER,
                 "needs a target of class rping agent, this one is bare");
    assert_lacks(",class=rping", "class", "rping agent", IW_MPA_RESPONDER, NULL);
}

/* ---- peers ---- */

static enum iw_target_opened try_file(const char *content, struct iw_target_spec **spec,
                                      struct iw_target_instance **instance)
{
    char *log = iw_text_format("%s/log", folder.path);
    enum iw_target_opened opened;

    free(folder_file(&folder, "peer.lua", content));
    *spec = parse("peer");
    if (*spec == NULL)
        fail_msg("%s", error);
    opened = iw_target_open(*spec, NULL, log, 1, instance, error, sizeof(error));
    free(log);
    return opened;
}

/* Whether a process that was killed just now, and is nobody's child here, does not come to its end.
 */
static bool still_runs(pid_t pid)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    bool ended = end.fd < 0 || poll(&end, 1, 10000) > 0;

    if (end.fd >= 0)
        close(end.fd);
    return !ended;
}

static void test_unreachable(void **state)
{
    uint16_t port;
    int fd = listen_somewhere(&port);
    char *text = iw_text_format("tcp:127.0.0.1:%u", port);
    struct iw_target_spec *spec = parse(text);
    struct iw_target_instance *instance = NULL;

    (void)state;
    close(fd);
    assert_int_equal(iw_target_open(spec, NULL, NULL, 1, &instance, error, sizeof(error)),
                     IW_TARGET_UNREACHED);
    assert_non_null(strstr(error, "127.0.0.1"));
    assert_non_null(strstr(error, "refused"));
    iw_target_free(spec);
    free(text);
    spec = parse("tcp:no..name:7471");
    assert_int_equal(iw_target_open(spec, NULL, NULL, 1, &instance, error, sizeof(error)),
                     IW_TARGET_UNREACHED);
    assert_non_null(strstr(error, "no..name"));
    iw_target_free(spec);
}

static void test_command_that_ends(void **state)
{
    struct iw_target_spec *spec;
    struct iw_target_instance *instance;

    (void)state;
    assert_int_equal(
        try_file("return { address = '127.0.0.1', start = 'exit 7' }", &spec, &instance),
        IW_TARGET_UNREACHED);
    assert_non_null(strstr(error, "sh ended with status 7 before it accepted"));
    iw_target_free(spec);
    assert_int_equal(try_file("return { address = '127.0.0.1', start = 'echo no', ready = 'yes' }",
                              &spec, &instance),
                     IW_TARGET_UNREACHED);
    assert_non_null(strstr(error, "before it printed 'yes'"));
    iw_target_free(spec);
}

/* What is said about connecting, and what is taken if nothing is. */
static void test_connecting(void **state)
{
    static const struct {
        const char *content;
        double within;
    } files[] = {{"return { connect = 'true' }", 10},
                 {"return { connect = 'true', connect_within = 0.5 }", 0.5},
                 {"return { ask = 'do it' }", 120},
                 {"return { ask = 'do it', connect_within = 3600 }", 3600}};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        free(folder_file(&folder, "peer.lua", files[i].content));
        struct iw_target_spec *spec = parse("peer");
        assert_non_null(spec);
        assert_true(iw_target_connect_within(spec) == files[i].within);
        iw_target_free(spec);
    }
}

/* The command's end is reported once it has failed; the rest of its group is ended with it. */
static void test_caller(void **state)
{
    struct iw_target_spec *spec;
    struct iw_target_instance *instance;
    const char *why = NULL;
    char *path = iw_text_format("%s/pid", folder.path);
    char *content = iw_text_format(
        "return { connect = 'tail -f /dev/null & echo $! {host} {port} > %s; exit 3' }", path);
    char *said, *end;
    pid_t left;

    (void)state;
    assert_int_equal(try_file(content, &spec, &instance), IW_TARGET_OPENED);
    struct iw_target *target = iw_target_of(instance);
    assert_int_equal(target->initiate(target, "192.0.2.9", 4711, error, sizeof(error)), 0);
    while (why == NULL)
        why = target->not_called(target, false);
    assert_non_null(strstr(why, "its command (sh ended with status 3) made no connection"));
    said = folder_read(path);
    left = (pid_t)strtol(said, &end, 10);
    assert_string_equal(end, " 192.0.2.9 4711\n");
    assert_int_equal(kill(left, 0), 0);
    assert_null(iw_target_check(instance, error, sizeof(error)));
    assert_false(still_runs(left));
    assert_int_equal(target->initiate(target, "192.0.2.9", 4711, error, sizeof(error)), 0);
    iw_target_close(instance, error, sizeof(error));
    iw_target_free(spec);
    free(said);
    free(content);
    free(path);
}

/* It is ready once it says so, and ended by us. */
static void test_command_that_stays(void **state)
{
    struct iw_target_spec *spec;
    struct iw_target_instance *instance;
    pid_t group;

    (void)state;
    assert_int_equal(try_file("return { address = '127.0.0.1', ready = 'ready to go',\n"
                              "  start = 'echo ready to go at {port}; tail -f /dev/null; :' }",
                              &spec, &instance),
                     IW_TARGET_OPENED);
    assert_true(iw_target_of(instance)->port > 0);
    group = iw_target_group(instance);
    assert_true(group > 0);
    assert_null(iw_target_of(instance)->death(iw_target_of(instance)));
    assert_null(iw_target_check(instance, error, sizeof(error)));
    assert_string_equal(error, "");
    assert_int_equal(kill(-group, 0), 0);
    iw_target_close(instance, error, sizeof(error));
    assert_int_equal(kill(group, 0), -1);
    iw_target_free(spec);
}

static void test_embedded(void **state)
{
    struct iw_target_spec *spec = parse("embedded");
    struct iw_target_instance *instance = open_spec(spec);
    struct iw_target *target = iw_target_of(instance);

    (void)state;
    assert_int_equal(target->class, IW_TARGET_AGENT);
    assert_non_null(target->control);
    assert_non_null(iw_target_version(instance));
    assert_true(target->can(target, "memory.write"));
    assert_true(target->can(target, "crc.off"));
    assert_true(target->can(target, "markers.on"));
    assert_true(target->can(target, "rtr.read"));
    assert_true(target->can(target, "revision.2"));
    assert_true(target->can(target, "private.512"));
    assert_false(target->can(target, "private.513"));
    assert_false(target->can(target, "revision.3"));
    assert_true(target->can(target, "extensions"));
    assert_true(target->can(target, "extensions.off"));
    kill(iw_target_group(instance), SIGKILL);
    /* The end of the control connection shows it. */
    for (const char *how = NULL; how == NULL;)
        how = iw_target_check(instance, error, sizeof(error));
    assert_string_equal(iw_target_check(instance, error, sizeof(error)),
                        "iwarp-agent was killed by signal 9 (Killed)");
    iw_target_close(instance, error, sizeof(error));
    iw_target_free(spec);
}

/* How both ends start up. */
static void test_embedded_settings(void **state)
{
    static const struct {
        const char *text, *expected;
    } bad[] = {
        {"embedded,crc=yes", "'crc=yes': expected on or off"},
        {"embedded,markers=on", "'markers=on': expected both, target, station or none"},
        {"embedded,revision=3", "'revision=3': expected 0, 1, 2 or 2-plain"},
        {"embedded,crc=on,crc=on", "'crc=on': expected each key once"},
        {"embedded,class=bare", "'class=bare': expected one of crc, markers, revision"},
        {"embedded,", "'': expected key=value"},
    };
    struct iw_target_spec *spec = parse("embedded,markers=station,crc=off,revision=2-plain");

    (void)state;
    assert_string_equal(spec->arguments[0], "--markers=off");
    assert_string_equal(spec->arguments[1], "--crc=off");
    assert_string_equal(spec->arguments[2], "--revision=2");
    assert_string_equal(spec->arguments[3], "--enhanced=off");
    assert_null(spec->arguments[4]);
    assert_true(spec->startup.markers && !spec->startup.crc && !spec->startup.enhanced);
    assert_int_equal(spec->startup.revision, 2);
    iw_target_free(spec);

    spec = parse("embedded,revision=0,crc=off,markers=none");
    assert_string_equal(spec->arguments[0], "--revision=1");
    assert_string_equal(spec->arguments[1], "--permissive=on");
    assert_string_equal(spec->arguments[2], "--extensions=off");
    assert_true(spec->startup.crc && spec->startup.markers);
    assert_int_equal(spec->startup.revision, 0);
    struct iw_target_instance *instance = open_spec(spec);
    struct iw_target *target = iw_target_of(instance);
    assert_ptr_equal(target->startup, &spec->startup);
    assert_false(target->can(target, "revision.2"));
    assert_false(target->can(target, "crc.off"));
    assert_false(target->can(target, "extensions"));
    assert_true(target->can(target, "revision.0"));
    iw_target_close(instance, error, sizeof(error));
    iw_target_free(spec);

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_null(parse(bad[i].text));
        assert_non_null(strstr(error, bad[i].expected));
    }
}

/* Starts an agent on TCP. Returns a target spec for it, "tcp:127.0.0.1:PORT,class=agent". */
static char *start_agent(struct iw_process *agent, char *const *argv)
{
    char *log = folder_file(&folder, "agent.log", "");
    char *said, *address, *text;

    assert_int_equal(iw_process_start(agent, NULL, argv, -1, false, log, error, sizeof(error)), 0);
    while (!iw_process_said(agent, "control on "))
        assert_false(iw_process_await_end(agent, 0));
    said = folder_read(log);
    address = strstr(said, "127.0.0.1");
    assert_non_null(address);
    text = iw_text_format("tcp:%.*s,class=agent", (int)strcspn(address, "\n"), address);
    free(said);
    free(log);
    return text;
}

/* An agent on TCP serves one client at a time. */
static void test_busy_agent(void **state)
{
    struct iw_process agent = {0};
    char *const argv[] = {(char[]){IW_BINARY_DIR "/bin/iwarp-agent"}, NULL};
    char trouble[128], *text;
    struct iw_target_spec *spec;
    struct iw_target_instance *first, *second = NULL;

    (void)state;
    text = start_agent(&agent, argv);
    spec = parse(text);
    assert_non_null(spec);
    first = open_spec(spec);
    assert_int_equal(iw_target_open(spec, NULL, NULL, 1, &second, error, sizeof(error)),
                     IW_TARGET_UNREACHED);
    if (strstr(error, "another client is being served") == NULL)
        fail_msg("%s", error);
    iw_target_close(first, trouble, sizeof(trouble));
    iw_target_free(spec);
    iw_process_stop(&agent, 0);
    iw_process_free(&agent);
    free(text);
}

/* An agent that asks for a token is reached with it and not without. */
static void test_token_agent(void **state)
{
    struct iw_process agent = {0};
    char *right = folder_file(&folder, "right", "a-token-that-opens\n");
    char *wrong = folder_file(&folder, "wrong", "a-token-that-does-not\n");
    char *const argv[] = {(char[]){IW_BINARY_DIR "/bin/iwarp-agent"}, (char[]){"--token-file"},
                          right, NULL};
    char trouble[128], *text = start_agent(&agent, argv);
    const struct {
        const char *file, *error;
    } cases[] = {{wrong, "no reply to \"hello\": wrong token"},
                 {"/no/such/file", "token file /no/such/file: No such file or directory"},
                 {right, NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *with = iw_text_format("%s,token_file=%s", text, cases[i].file);
        struct iw_target_spec *spec = parse(with);
        struct iw_target_instance *t = NULL;

        assert_non_null(spec);
        if (cases[i].error != NULL) {
            assert_int_not_equal(iw_target_open(spec, NULL, NULL, 1, &t, error, sizeof(error)),
                                 IW_TARGET_OPENED);
            assert_string_equal(error, cases[i].error);
        } else {
            t = open_spec(spec);
            assert_non_null(iw_target_version(t));
            iw_target_close(t, trouble, sizeof(trouble));
        }
        iw_target_free(spec);
        free(with);
    }
    iw_process_stop(&agent, 0);
    iw_process_free(&agent);
    free(text);
    free(right);
    free(wrong);
}

static void test_missing_agent(void **state)
{
    struct iw_target_spec *spec =
        iw_target_parse("embedded", "/nonexistent/agent", folder.path, error, sizeof(error));
    struct iw_target_instance *instance = NULL;

    (void)state;
    assert_int_equal(iw_target_open(spec, NULL, NULL, 1, &instance, error, sizeof(error)),
                     IW_TARGET_BROKEN);
    assert_string_equal(error, "cannot start /nonexistent/agent: No such file or directory");
    iw_target_free(spec);
}

/* A sanitizer's report in what a program prints is found once, and only what is new counts. */
static void test_trouble(void **state)
{
    struct iw_process p = {0};
    char *log = folder_file(&folder, "log", "==1==ERROR: AddressSanitizer: an old one\n");
    char *const argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"},
                          (char[]){"echo fine; echo '==2==ERROR: AddressSanitizer: heap' >&2"},
                          NULL};
    char line[256];

    (void)state;
    assert_int_equal(iw_process_start(&p, NULL, argv, -1, false, log, error, sizeof(error)), 0);
    assert_true(iw_process_await_end(&p, UINT64_MAX));
    assert_string_equal(p.ended, "sh ended with status 0");
    assert_true(iw_process_trouble(&p, line, sizeof(line)));
    assert_string_equal(line, "AddressSanitizer: heap");
    assert_false(iw_process_trouble(&p, line, sizeof(line)));
    iw_process_free(&p);
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tcp, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_specs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_capabilities, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_needs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unreachable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_command_that_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_command_that_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_connecting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_caller, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_embedded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_embedded_settings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_busy_agent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_token_agent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_agent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_trouble, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
