/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that are started, reached, looked after and ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "host/text.h"
#include "target/target.h"

static struct folder folder;
static char error[1024], *log_path;
static struct iw_target_spec *spec;
static struct iw_target_instance *instance;

/* The lowest descriptor that is free: what is opened is closed again. */
static int free_descriptor(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

/* The clock may run ahead: by so many ns with each look at it. */
static uint64_t hurry, ahead;
uint64_t __real_iw_clock_now(void);
uint64_t __wrap_iw_clock_now(void);
uint64_t __wrap_iw_clock_now(void)
{
    ahead += hurry;
    return __real_iw_clock_now() + ahead;
}
int __real_iw_clock_left(uint64_t deadline);
int __wrap_iw_clock_left(uint64_t deadline);
int __wrap_iw_clock_left(uint64_t deadline) /* the real one does not see that clock */
{
    return __real_iw_clock_left(deadline > ahead ? deadline - ahead : 0);
}

static int before;

static int set_up(void **state)
{
    (void)state;
    before = free_descriptor();
    if (folder_make(&folder))
        return -1;
    log_path = iw_text_format("%s/log", folder.path);
    spec = NULL;
    instance = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(log_path);
    folder_remove(&folder);
    return free_descriptor() == before ? 0 : -1;
}

/* Opens a target file with these fields. */
static enum iw_target_opened open_scaled(const char *fields, double scale)
{
    char *text = iw_text_format("return { %s }", fields);

    snprintf(error, sizeof(error), "none");
    free(folder_file(&folder, "peer.lua", text));
    free(text);
    spec = iw_target_parse("peer", IW_BINARY_DIR "/bin/iwarp-agent", folder.path, error,
                           sizeof(error));
    if (spec == NULL)
        fail_msg("%s", error);
    return iw_target_open(spec, NULL, log_path, scale, &instance, error, sizeof(error));
}

static void opened(const char *fields)
{
    if (open_scaled(fields, 1) != IW_TARGET_OPENED)
        fail_msg("%s: %s", fields, error);
}

/* Closes what was opened. */
static void closed(const char *trouble)
{
    char said[256] = "none";

    iw_target_close(instance, said, sizeof(said));
    assert_string_equal(said, trouble);
    iw_target_free(spec);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left over */
}

static void not_opened(const char *fields, double scale, enum iw_target_opened how,
                       const char *expected)
{
    assert_int_equal(open_scaled(fields, scale), how);
    assert_string_equal(error, expected);
    assert_null(instance);
    iw_target_free(spec);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* A listener on loopback, of which connections are not taken; -1: there is no such loopback. */
static int listens(const char *host, uint16_t *port)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    bool six = inet_pton(AF_INET6, host, &in6.sin6_addr) == 1;
    struct sockaddr *at = six ? (struct sockaddr *)&in6 : (struct sockaddr *)&in;
    socklen_t length = six ? sizeof(in6) : sizeof(in);
    int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    inet_pton(AF_INET, host, &in.sin_addr);
    if (fd < 0 || bind(fd, at, length) || listen(fd, 16) || getsockname(fd, at, &length)) {
        close(fd);
        return -1;
    }
    *port = ntohs(six ? in6.sin6_port : in.sin_port);
    return fd;
}

/* ---- addresses ---- */

static void the_station_is_where_the_route_to_the_peer_begins(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "::1"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uint16_t port = 0;
        int fd = listens(hosts[i], &port);
        if (fd < 0)
            continue;
        char *fields = iw_text_format("address = '%s', port = %u", hosts[i], port);
        opened(fields);
        struct iw_target *target = iw_target_of(instance);
        assert_string_equal(target->station_host, hosts[i]);
        assert_string_equal(target->host, hosts[i]);
        assert_int_equal(target->port, port);
        assert_null(target->initiate);
        assert_null(target->not_called);
        assert_null(target->death);
        assert_null(target->startup);
        assert_null(target->control);
        assert_null(iw_target_version(instance));
        assert_int_equal(iw_target_group(instance), 0);
        assert_string_equal(iw_target_program(instance), "the target");
        assert_false(iw_target_calling(instance));
        assert_null(iw_target_check(instance, error, sizeof(error)));
        assert_string_equal(target->name, "peer");
        assert_true(target->can(target, "crc.on"));
        assert_false(target->can(target, "tcp.crafted"));
        free(fields);
        closed("");
        close(fd);
    }
}

/* A name that nobody knows leaves the loopback; what the user says stands. */
static void the_station_is_on_loopback_or_as_it_is_said(void **state)
{
    (void)state;
    opened("address = 'no..name', port = 7, cannot = { 'reconnect' }");
    assert_string_equal(iw_target_of(instance)->station_host, "127.0.0.1");
    closed("");
    opened("address = 'no..name', port = 7, cannot = { 'reconnect' }, station = '10.0.0.7'");
    assert_string_equal(iw_target_of(instance)->station_host, "10.0.0.7");
    closed("");
    opened("connect = 'exit 0'");
    struct iw_target *target = iw_target_of(instance);
    assert_string_equal(target->station_host, "127.0.0.1");
    assert_string_equal(target->host, "127.0.0.1");
    assert_int_equal(target->port, 0);
    assert_non_null(target->death);
    closed("");
}

/* ---- versions ---- */

static void a_command_prints_the_version(void **state)
{
    (void)state;
    opened("address = '127.0.0.1', port = 7, cannot = { 'reconnect' },"
           "version = 'echo driver 1.2; echo more; sleep 100'");
    assert_string_equal(iw_target_version(instance), "driver 1.2");
    closed("");
    opened("address = '127.0.0.1', port = 7, cannot = { 'reconnect' }, version = 'printf \"3 \"'");
    assert_string_equal(iw_target_version(instance), "3 ");
    closed("");
    instance = NULL;
    not_opened("address = '127.0.0.1', port = 7, cannot = { 'reconnect' }, version = 'exit 1'", 1,
               IW_TARGET_BROKEN, "version: expected 'exit 1' to print a line within 10 s");
    not_opened("address = '127.0.0.1', port = 7, cannot = { 'reconnect' }, version = 'sleep 100'",
               0.01, IW_TARGET_BROKEN,
               "version: expected 'sleep 100' to print a line within 0.1 s");
}

/* ---- reaching ---- */

static void a_peer_that_cannot_be_reached_is_named(void **state)
{
    (void)state;
    not_opened("address = '127.0.0.1', port = 1", 1, IW_TARGET_UNREACHED,
               "no connection with 127.0.0.1 port 1: Connection refused");
    char *expected = iw_text_format("sh ended with status 4 before it accepted a connection; its "
                                    "output: %s",
                                    log_path);
    not_opened("address = '127.0.0.1', start = 'echo words; exit 4'", 1, IW_TARGET_UNREACHED,
               expected);
    unlink(log_path);
    free(expected);
    not_opened("address = '127.0.0.1', start = 'exit 4'", 1, IW_TARGET_UNREACHED,
               "sh ended with status 4 before it accepted a connection");
    not_opened("address = '127.0.0.1', start = 'echo words; exit 4', ready = 'word of it'", 1,
               IW_TARGET_UNREACHED, "sh ended with status 4 before it printed 'word of it'");
    /* A program starts no faster for less patience. */
    hurry = 1000000000;
    not_opened("address = '127.0.0.1', start = 'exec tail -f /dev/null', ready = 'word'", 0.001,
               IW_TARGET_UNREACHED, "the command did not print 'word' within 10 s");
    not_opened("address = '127.0.0.1', start = 'exec tail -f /dev/null', ready = 'word'", 2,
               IW_TARGET_UNREACHED, "the command did not print 'word' within 20 s");
    not_opened("address = '127.0.0.1', port = 1, start = 'exec tail -f /dev/null'", 0.001,
               IW_TARGET_UNREACHED, "no connection with 127.0.0.1 port 1: Connection refused");
    hurry = 0;
    not_opened("address = '192.0.2.1', start = 'exit 0'", 1, IW_TARGET_BROKEN,
               "no free port on 192.0.2.1");
    /* A look would take the only connection that there is. */
    opened("address = '127.0.0.1', port = 1, cannot = { 'reconnect' }");
    closed("");
}

/* Waits until the process runs this program: a shell may have said the word before its exec. */
static void wait_for_program(pid_t pid, const char *line)
{
    char *path = iw_text_format("/proc/%d/comm", (int)pid);
    for (bool runs = false; !runs;) {
        char *said = folder_read(path);
        assert_non_null(said);
        runs = strcmp(said, line) == 0;
        free(said);
    }
    free(path);
}

/* Its end is told while it runs no more. */
static void a_started_peer_gets_a_port_and_is_watched(void **state)
{
    (void)state;
    opened("address = '127.0.0.1', ready = 'port',\n"
           "  start = [[echo port {port} of {host}; exec tail -f /dev/null]]");
    struct iw_target *target = iw_target_of(instance);
    char *expected = iw_text_format("port %u of 127.0.0.1\n", target->port);
    char *said = folder_read(log_path);
    assert_string_equal(said, expected);
    assert_in_range(target->port, 10240, 32767);
    assert_null(target->death(target));
    assert_null(iw_target_check(instance, error, sizeof(error)));
    wait_for_program(iw_target_group(instance), "tail\n");
    kill(-iw_target_group(instance), SIGKILL);
    while (target->death(target) == NULL)
        ;
    assert_string_equal(target->death(target), "tail was killed by signal 9 (Killed)");
    assert_string_equal(iw_target_check(instance, error, sizeof(error)),
                        "tail was killed by signal 9 (Killed)");
    free(said);
    free(expected);
    closed("");
    opened("address = '127.0.0.1', port = 4711, ready = 'up',\n"
           "  start = [[echo up {port}; exec tail -f /dev/null]]");
    assert_int_equal(iw_target_of(instance)->port, 4711);
    closed("");
}

/* Without a word of its being ready it is tried until it accepts. */
static void a_started_peer_is_reached_once_it_listens(void **state)
{
    (void)state;
    opened("address = '127.0.0.1', start = [[" IW_BINARY_DIR "/bin/iwarp-peer listen "
           "{host}:{port}; :]]");
    assert_null(iw_target_check(instance, error, sizeof(error)));
    assert_string_equal(iw_target_program(instance), "iwarp-peer");
    closed("");
}

/* Only a connection shows that a program ends with it, and nobody connects to this one. */
static void a_program_without_a_port_does_not_end_with_a_connection(void **state)
{
    (void)state;
    opened("connect = 'true', start = 'exit 0'");
    assert_int_equal(iw_target_of(instance)->port, 0);
    assert_false(iw_target_probe_end(instance));
    closed("");
}

static void what_a_sanitizer_says_comes_out(void **state)
{
    (void)state;
    opened("address = '127.0.0.1', ready = 'up', start = [[echo up; echo 'ERROR: LeakSanitizer: "
           "a'; exec tail -f /dev/null]]");
    while (*error == 0 || strstr(error, "none") == error)
        iw_target_check(instance, error, sizeof(error));
    assert_string_equal(error, "LeakSanitizer: a");
    closed("");
    opened("address = '127.0.0.1', ready = 'up',\n"
           "  start = [[trap 'echo x.c:1: runtime error: b; exit' TERM; echo up; while :; do :; "
           "done]]");
    closed("UndefinedBehaviorSanitizer: b (x.c:1)");
}

/* ---- peers that are made to connect ---- */

static void why_nothing_connected_is_said(void **state)
{
    char *output = iw_text_format("its command (sh ended with status 3) made no connection; its "
                                  "output: %s",
                                  log_path);
    const char *why = NULL;

    (void)state;
    opened("connect = [[echo {host} {port}; exit 3]]");
    struct iw_target *target = iw_target_of(instance);
    assert_false(iw_target_calling(instance));
    assert_int_equal(target->initiate(target, "10.0.0.1", 9, error, sizeof(error)), 0);
    while (why == NULL)
        why = target->not_called(target, false);
    assert_string_equal(why, output);
    assert_false(iw_target_calling(instance));
    assert_string_equal(target->not_called(target, true),
                        "nothing connected within 10 s; its command ended: sh ended with status "
                        "3");
    char *said = folder_read(log_path);
    assert_string_equal(said, "10.0.0.1 9\n");
    free(said);
    free(output);
    closed("");
    opened("connect = 'exec tail -f /dev/null', connect_within = 0.5");
    target = iw_target_of(instance);
    assert_true(target->connect_within == 0.5);
    assert_int_equal(target->initiate(target, "10.0.0.1", 9, error, sizeof(error)), 0);
    assert_true(iw_target_calling(instance));
    assert_null(target->not_called(target, false));
    assert_string_equal(target->not_called(target, true),
                        "nothing connected within 0.5 s; its command is still running");
    assert_null(target->death(target));
    assert_null(iw_target_check(instance, error, sizeof(error)));
    assert_false(iw_target_calling(instance));
    closed("");
}

/* Seconds are those of the user, and stretched. */
static void a_person_who_does_nothing_is_given_up(void **state)
{
    (void)state;
    assert_int_equal(open_scaled("ask = 'call {host}', connect_within = 3", 2), IW_TARGET_OPENED);
    struct iw_target *target = iw_target_of(instance);
    assert_non_null(target->initiate);
    assert_null(target->death);
    assert_null(target->not_called(target, false));
    assert_string_equal(target->not_called(target, true), "nothing connected within 6 s");
    closed("");
    assert_int_equal(open_scaled("ask = 'call {host}', connect_within = 3", 0), IW_TARGET_OPENED);
    target = iw_target_of(instance);
    assert_string_equal(target->not_called(target, true), "nothing connected within 3 s");
    closed("");
}

static void a_program_that_crashes_has_ended_the_peer(void **state)
{
    (void)state;
    opened("connect = 'ulimit -c 0; kill -SEGV $$'");
    struct iw_target *target = iw_target_of(instance);
    assert_int_equal(target->initiate(target, "10.0.0.1", 9, error, sizeof(error)), 0);
    while (target->death(target) == NULL)
        ;
    assert_string_equal(target->death(target), "sh was killed by signal 11 (Segmentation fault)");
    assert_string_equal(iw_target_check(instance, error, sizeof(error)),
                        "sh was killed by signal 11 (Segmentation fault)");
    assert_null(iw_target_check(instance, error, sizeof(error))); /* it is forgotten */
    closed("");
    opened("connect = [[echo 'ERROR: AddressSanitizer: c'; exit 1]]");
    target = iw_target_of(instance);
    assert_int_equal(target->initiate(target, "10.0.0.1", 9, error, sizeof(error)), 0);
    while (target->not_called(target, false) == NULL)
        ;
    assert_null(iw_target_check(instance, error, sizeof(error)));
    assert_string_equal(error, "AddressSanitizer: c");
    closed("");
}

/* ---- agents ---- */

static void an_agent_is_started_by_a_command(void **state)
{
    uint16_t port = 0;
    int fd = listens("127.0.0.1", &port);

    (void)state;
    close(fd);
    char *fields =
        iw_text_format("class = 'agent', agent = '127.0.0.1:%u', start = [[exec " IW_BINARY_DIR
                       "/bin/iwarp-agent --listen 127.0.0.1:%u]]",
                       port, port);
    opened(fields);
    struct iw_target *target = iw_target_of(instance);
    assert_non_null(target->control);
    assert_string_equal(target->host, "127.0.0.1");
    assert_int_equal(target->port, 0);
    assert_string_equal(iw_target_version(instance), IW_VERSION);
    assert_true(target->can(target, "memory.write"));
    assert_true(target->can(target, "extensions.off"));
    kill(-iw_target_group(instance), SIGKILL);
    while (target->death(target) == NULL)
        ;
    assert_string_equal(iw_target_check(instance, error, sizeof(error)),
                        "iwarp-agent was killed by signal 9 (Killed)");
    free(fields);
    closed("");
}

/* It serves the connection that looked whether it listens, for a moment. */
/* Keeps a port for a program that sets SO_REUSEPORT: nobody else gets it meanwhile. */
static int keeps(uint16_t *port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(in);
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &length), 0);
    *port = ntohs(in.sin_port);
    return fd;
}

static void an_agent_that_is_busy_at_first_is_called_again(void **state)
{
    static const char program[] =
        "import socket, sys\n"
        "s = socket.create_server(('127.0.0.1', int(sys.argv[1])), reuse_port=True)\n"
        "for busy in (None, True, True, False):\n"
        "    c = s.accept()[0]\n"
        "    f = c.makefile('rw')\n"
        "    if busy is None: continue\n"
        "    if busy: f.write('{\"event\":\"refused\",\"error\":\"busy: another client is being "
        "served\"}\\n')\n"
        "    else: f.readline(); "
        "f.write('{\"agent\":\"a\",\"version\":\"9\",\"schema\":1,\"features\":{},\"ok\":true,"
        "\"id\":1}\\n')\n"
        "    f.flush()\n"
        "    if busy: c.shutdown(socket.SHUT_RDWR)\n"
        "s.accept()\n";
    uint16_t port;
    int fd = keeps(&port);
    char *file = folder_file(&folder, "busy.py", program);
    char *fields = iw_text_format("class = 'agent', agent = '127.0.0.1:%u', start = [[exec python3 "
                                  "%s %u]]",
                                  port, file, port);
    (void)state;
    opened(fields);
    closed("");
    close(fd);
    free(fields);
    free(file);
}

static void an_agent_that_is_not_there_is_named(void **state)
{
    (void)state;
    not_opened("class = 'agent', agent = '127.0.0.1:1'", 1, IW_TARGET_UNREACHED,
               "no agent at 127.0.0.1 port 1: cannot reach the agent at 127.0.0.1 port 1: "
               "Connection refused");
    not_opened("class = 'agent', agent = '127.0.0.1:1', start = 'exit 6'", 1, IW_TARGET_UNREACHED,
               "sh ended with status 6 before it accepted a connection");
    not_opened("class = 'agent', agent = '127.0.0.1:1', token_file = '/no/such'", 1,
               IW_TARGET_BROKEN, "token file /no/such: No such file or directory");
}

/* A program in the agent's place. */
static void not_an_agent(const char *script, enum iw_target_opened how, const char *expected)
{
    char *program = folder_file(&folder, "agent", script);

    assert_int_equal(chmod(program, 0700), 0);
    spec = iw_target_parse("embedded,crc=off", program, folder.path, error, sizeof(error));
    assert_int_equal(iw_target_open(spec, "--more", log_path, 1, &instance, error, sizeof(error)),
                     how);
    assert_string_equal(error, expected);
    iw_target_free(spec);
    free(program);
}

/* The agent's control connection would be a pair of descriptors, of which one is left. */
static void an_agent_needs_descriptors(void **state)
{
    struct rlimit limit, low;

    (void)state;
    spec = iw_target_parse("embedded", "/bin/agent", folder.path, error, sizeof(error));
    assert_non_null(spec);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = limit;
    low.rlim_cur = (rlim_t)before + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    enum iw_target_opened opened =
        iw_target_open(spec, NULL, NULL, 1, &instance, error, sizeof(error));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(opened, IW_TARGET_BROKEN);
    assert_string_equal(error, "no socket pair: Too many open files");
    iw_target_free(spec);
}

static void what_is_no_agent_is_told_by_its_end_or_its_answer(void **state)
{
    char *expected = iw_text_format("agent ended with status 5; its output: %s", log_path);

    (void)state;
    not_an_agent("#!/bin/sh\necho $1 $3 $4 $5; exit 5", IW_TARGET_BROKEN, expected);
    char *said = folder_read(log_path);
    assert_string_equal(said, "--control-fd --crc=off --more\n");
    free(said);
    unlink(log_path);
    not_an_agent("#!/bin/sh\nexit 5", IW_TARGET_BROKEN, "agent ended with status 5");
    not_an_agent("#!/bin/bash\nread line <&$2\necho '{\"id\":1,\"error\":\"not you\"}' "
                 ">&$2\nexec tail -f /dev/null",
                 IW_TARGET_BROKEN, "the agent refuses: not you");
    free(expected);
}

/* ---- in a namespace of its own ---- */

static void what_cannot_be_crafted_is_said(void **state)
{
    static const char not_ours[] =
        "this target is not started by the runner in a namespace of its own";
    static const struct {
        const char *fields, *why;
    } rows[] = {
        {"address = 'h', port = 1, can = { 'tcp.crafted' }", not_ours},
        {"address = 'h', start = 'x', can = { 'tcp.crafted' }", not_ours},
        {"address = 'h', start = 'x', ready = 'y', can = { 'tcp.crafted' }", NULL},
        {"connect = 'x', can = { 'read', 'tcp.crafted' }", NULL},
        {"connect = 'x', can = { 'tcp.crafted', 'read' }", NULL},
        {"connect = 'x', can = { 'tcp' }", "its file does not say can = { \"tcp.crafted\" }"},
        {"connect = 'x'", "its file does not say can = { \"tcp.crafted\" }"},
        {"connect = 'x', address = 'h', port = 1, can = { 'tcp.crafted' }", not_ours},
        {"ask = 'x', can = { 'tcp.crafted' }", not_ours},
        {"class = 'agent', agent = 'h:1', start = 'x', ready = 'y', can = { 'tcp.crafted' }",
         not_ours},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text = iw_text_format("return { %s }", rows[i].fields);
        char *path = folder_file(&folder, "peer.lua", text);

        spec = iw_target_read(path, error, sizeof(error));
        if (spec == NULL)
            fail_msg("%s", error);
        const char *why = iw_target_uncraftable(spec);
        if (rows[i].why != NULL)
            assert_string_equal(why, rows[i].why);
        else
            assert_null(why);
        iw_target_free(spec);
        free(path);
        free(text);
    }
    const struct iw_target_spec embedded = {.embedded = true};
    assert_null(iw_target_uncraftable(&embedded));
}

static void a_crafted_peer_has_the_addresses_of_the_device(void **state)
{
    static const struct {
        const char *fields, *said;
    } rows[] = {
        {"address = 'h', ready = 'at', start = [[echo at {host} {port}; exec tail -f /dev/null]]",
         "at " IW_TUN_TARGET " 7471\n"},
        {"address = 'h', port = 9, ready = 'at',\n"
         "  start = [[echo at {host} {port}; exec tail -f /dev/null]]",
         "at " IW_TUN_TARGET " 9\n"},
    };
    struct iw_tun tun;

    (void)state;
    if (iw_tun_open(&tun, error, sizeof(error))) {
        print_message("skipped: %s\n", error);
        skip();
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text = iw_text_format("return { %s, can = { 'tcp.crafted' } }", rows[i].fields);
        char *path = folder_file(&folder, "peer.lua", text);

        spec = iw_target_read(path, error, sizeof(error));
        assert_int_equal(
            iw_target_open_crafted(spec, NULL, log_path, 1, &tun, &instance, error, sizeof(error)),
            IW_TARGET_OPENED);
        struct iw_target *target = iw_target_of(instance);
        assert_ptr_equal(target->tun, &tun);
        assert_string_equal(target->host, IW_TUN_TARGET);
        assert_string_equal(target->station_host, IW_TUN_STATION);
        assert_true(target->can(target, "tcp.crafted"));
        char *said = folder_read(log_path);
        assert_string_equal(said, rows[i].said);
        unlink(log_path);
        free(said);
        free(path);
        free(text);
        closed("");
    }
    iw_tun_close(&tun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_station_is_where_the_route_to_the_peer_begins, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_station_is_on_loopback_or_as_it_is_said, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_command_prints_the_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_peer_that_cannot_be_reached_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_started_peer_gets_a_port_and_is_watched, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_started_peer_is_reached_once_it_listens, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_a_sanitizer_says_comes_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_program_without_a_port_does_not_end_with_a_connection,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(why_nothing_connected_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_person_who_does_nothing_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_program_that_crashes_has_ended_the_peer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_agent_is_started_by_a_command, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_agent_that_is_busy_at_first_is_called_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_agent_that_is_not_there_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_agent_needs_descriptors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_agent_is_told_by_its_end_or_its_answer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_crafted_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_crafted_peer_has_the_addresses_of_the_device, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
