/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent's command line, and its life from the start to a signal; its parts only note what
 * they are asked for. */
#include "agent_endpoint.h"

#include "../../caught.h"
#include "host/complain.h"
#include "standard.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#ifdef IW_AGENT_VERBS
#include "agent_rdma.h"
#endif

int iw_agent_main(int argc, char **argv);

/* ---- doubles ---- */

/* What happened, in order. */
static char calls[500];
static struct iw_host_port bound;
static const char *address; /* where it listens; NULL: it cannot */
static struct iw_control_token token;
static const struct agent_backend *backend;
static struct iw_endpoint_config endpoint;
static const void *settings;
static bool no_port, no_session, no_signals, no_reactor, no_watch;
static int opened; /* the descriptor that the port or session was given */
static int number; /* of the signal that comes with the last step; 0: the session ends */
static int steps, step_fails;
static iw_watch_fn on_signal;
static void *program;
static bool over;

static void note(const char *name)
{
    snprintf(calls + strlen(calls), sizeof(calls) - strlen(calls), " %s", name);
}

const struct agent_backend agent_endpoint_backend = {.name = "endpoint"};

static void keep(int fd, const struct agent_backend *b, const void *s)
{
    opened = fd;
    backend = b;
    settings = s;
    if (b == &agent_endpoint_backend)
        endpoint = *(const struct iw_endpoint_config *)s;
}

struct agent_control_port *agent_control_port_open(struct iw_reactor *reactor, int fd,
                                                   const struct iw_control_token *t,
                                                   const struct agent_backend *b, const void *s)
{
    note("port");
    assert_non_null(reactor);
    keep(fd, b, s);
    token = *t;
    close(fd);
    return no_port ? NULL : (struct agent_control_port *)(void *)&opened;
}

int agent_control_port_tidy(struct agent_control_port *port)
{
    note("tidy");
    assert_ptr_equal(port, &opened);
    return 1234;
}

void agent_control_port_close(struct agent_control_port *port)
{
    note(port == NULL ? "no-port" : "close-port");
}

struct agent_session *agent_session_create(struct iw_reactor *reactor, int fd,
                                           const struct agent_backend *b, const void *s)
{
    note("session");
    assert_non_null(reactor);
    keep(fd, b, s);
    errno = ENOTSOCK;
    return no_session ? NULL : (struct agent_session *)(void *)&opened;
}

bool agent_session_over(const struct agent_session *session)
{
    assert_ptr_equal(session, &opened);
    return over;
}

void agent_session_destroy(struct agent_session *session)
{
    note(session == NULL ? "no-session" : "end-session");
}

#ifdef IW_AGENT_VERBS
static const char *device_name;
static bool no_device;
static const struct agent_backend verbs = {.name = "verbs"};

int agent_rdma_find(const char *name, struct agent_rdma_device *device, char *error)
{
    device_name = name;
    device->atomics = true;
    return no_device ? (agent_fail(error, "no device"), -1) : 0;
}

const struct agent_backend *agent_rdma_backend(const struct agent_rdma_device *device)
{
    assert_true(device->atomics);
    return &verbs;
}
#endif

bool agent_fail(char *error, const char *format, ...)
{
    snprintf(error, AGENT_ERROR, "%s", format);
    return false;
}

void __wrap_iw_standard_open(void);
void __wrap_iw_standard_open(void)
{
    note("open");
}

int __wrap_iw_standard_close(const char *name, int status);
int __wrap_iw_standard_close(const char *name, int status)
{
    assert_string_equal(name, "iwarp-agent");
    return status + 100;
}

int __real_iw_standard_signals(int more);
int __wrap_iw_standard_signals(int more);
int __wrap_iw_standard_signals(int more)
{
    assert_int_equal(more, SIGTERM);
    if (!no_signals)
        return __real_iw_standard_signals(more);
    errno = EMFILE;
    return -1;
}

struct iw_reactor *__real_iw_reactor_create(void);
struct iw_reactor *__wrap_iw_reactor_create(void);
struct iw_reactor *__wrap_iw_reactor_create(void)
{
    if (!no_reactor)
        return __real_iw_reactor_create();
    errno = ENOMEM;
    return NULL;
}

struct iw_watch *__real_iw_watch_create(struct iw_reactor *r, int fd, uint32_t events,
                                        iw_watch_fn ready, void *context);
struct iw_watch *__wrap_iw_watch_create(struct iw_reactor *r, int fd, uint32_t events,
                                        iw_watch_fn ready, void *context);
struct iw_watch *__wrap_iw_watch_create(struct iw_reactor *r, int fd, uint32_t events,
                                        iw_watch_fn ready, void *context)
{
    assert_int_equal(events, EPOLLIN);
    on_signal = ready;
    program = context;
    if (!no_watch)
        return __real_iw_watch_create(r, fd, events, ready, context);
    errno = ENOSPC;
    return NULL;
}

/* Three steps; with the last one comes the signal, or the session's end. */
int __wrap_iw_reactor_step(struct iw_reactor *r, int timeout_ms);
int __wrap_iw_reactor_step(struct iw_reactor *r, int timeout_ms)
{
    char text[32];
    assert_non_null(r);
    snprintf(text, sizeof(text), "step(%d)", timeout_ms);
    note(text);
    if (++steps == step_fails)
        return -1;
    if (steps == 3 && number != 0) {
        raise(number);
        on_signal(program, EPOLLIN);
    }
    over = steps == 3;
    return 0;
}

int __wrap_iw_transport_bind(const struct iw_host_port *at, char *out, char *error, size_t room);
int __wrap_iw_transport_bind(const struct iw_host_port *at, char *out, char *error, size_t room)
{
    bound = *at;
    if (address == NULL) {
        snprintf(error, room, "cannot listen");
        return -1;
    }
    snprintf(out, IW_TRANSPORT_TEXT, "%s", address);
    return open("/dev/null", O_RDONLY);
}

/* ---- runs ---- */

static int set_up(void **state)
{
    (void)state;
    address = "127.0.0.1:4711";
    no_port = no_session = no_signals = no_reactor = no_watch = false;
    number = SIGTERM;
    step_fails = 0;
    return unsetenv(IW_CONTROL_TOKEN_ENV);
}

/* Runs words parted by spaces; what the program returns. */
static int run(const char *line)
{
    static char copy[1024], name[] = "agent";
    char *argv[16] = {name}, *rest = copy;
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (word[0] != '\0')
            argv[argc++] = word;
    calls[0] = '\0';
    steps = 0;
    over = false;
    opened = -1;
    const unsigned before = descriptors();
    const int status = iw_agent_main(argc, argv) - 100;
    assert_int_equal(descriptors(), before);
    return status;
}

/* What it prints, and what it does. */
static void runs(const char *line, int expected, const char *text, const char *done)
{
    catch_from(STDOUT_FILENO);
    int status = run(line);
    assert_string_equal(caught(), text);
    assert_string_equal(calls, done);
    assert_int_equal(status, expected);
}

static void refuses(const char *line, int expected, const char *text)
{
    char whole[600];
    snprintf(whole, sizeof(whole), "iwarp-agent: %s\n", text);
    catch_from(STDERR_FILENO);
    int status = run(line);
    assert_string_equal(caught(), whole);
    assert_null(strstr(calls, "step"));
    assert_int_equal(status, expected);
}

#define SERVED " open port step(-1) tidy step(1234) tidy step(1234) tidy close-port no-session"
#define SAYS "control on 127.0.0.1:4711\n"

/* ---- the control port ---- */

static void it_serves_until_a_signal(void **state)
{
    (void)state;
    runs("", 0, SAYS, SERVED);
    assert_string_equal(bound.host, "127.0.0.1");
    assert_int_equal(bound.port, 0);
    assert_ptr_equal(backend, &agent_endpoint_backend);
    assert_int_equal(token.length, 0);
    assert_true(endpoint.mpa.crc);
    assert_int_equal(endpoint.mpa.revision, 2);
    number = SIGINT;
    runs("--listen here:99 --crc off --revision 1", 130, SAYS, SERVED);
    assert_string_equal(bound.host, "here");
    assert_int_equal(bound.port, 99);
    assert_false(endpoint.mpa.crc);
    assert_int_equal(endpoint.mpa.revision, 1);
    assert_non_null(endpoint.switches);
}

static void other_hosts_need_a_token(void **state)
{
    static const char *const near[] = {"127.0.0.1:1", "127.255.0.9:1", "[::1]:1",
                                       "[::ffff:127.0.0.1]:1"};
    static const char *const far[] = {"12.7.0.1:1",          "128.0.0.1:1", "0.0.0.0:1", "[::]:1",
                                      "[::ffff:12.0.0.1]:1", "[::12]:1",    "[::1:1]:1"};
    static const char why[] =
        "--listen a:1: other hosts can reach it: expected --token-file, a token in the environment "
        "variable IWARP_AGENT_TOKEN, or --no-token";
    char text[100];
    (void)state;
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
        address = near[i];
        snprintf(text, sizeof(text), "control on %s\n", address);
        runs("--listen a:1", 0, text, SERVED);
    }
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
        address = far[i];
        refuses("--listen a:1", 64, why);
        assert_string_equal(calls, " open no-port no-session");
        snprintf(text, sizeof(text), "control on %s\n", address);
        runs("--listen a:1 --no-token", 0, text, SERVED);
        assert_int_equal(token.length, 0);
    }
    address = "0.0.0.0:1";
    assert_int_equal(setenv(IW_CONTROL_TOKEN_ENV, "0123456789abcdef", 1), 0);
    runs("", 0, "control on 0.0.0.0:1\n", SERVED);
    assert_int_equal(token.length, 16);
    assert_memory_equal(token.text, "0123456789abcdef", 16);
    /* Who wants none is not given that of the environment. */
    runs("--no-token", 0, "control on 0.0.0.0:1\n", SERVED);
    assert_int_equal(token.length, 0);
}

static void tokens_come_from_files(void **state)
{
    char path[] = "agent-XXXXXX", line[64];
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "fedcba9876543210\n", 17), 17);
    close(fd);
    address = "0.0.0.0:1";
    snprintf(line, sizeof(line), "--token-file %s", path);
    runs(line, 0, "control on 0.0.0.0:1\n", SERVED);
    assert_int_equal(token.length, 16);
    assert_memory_equal(token.text, "fedcba9876543210", 16);
    snprintf(line, sizeof(line), "--no-token --token-file %s", path);
    refuses(line, 64, "--no-token contradicts --token-file");
    assert_int_equal(unlink(path), 0);
    catch_from(STDERR_FILENO);
    assert_int_equal(run("--token-file no/file"), 64);
    assert_non_null(strstr(caught(), "no/file"));
    assert_string_equal(calls, " open no-port no-session");
}

static void ports_that_do_not_open(void **state)
{
    (void)state;
    no_port = true;
    refuses("", 70, "cannot start: no memory");
    assert_string_equal(calls, " open port no-port no-session");
    address = NULL;
    refuses("", 69, "cannot listen");
    assert_string_equal(calls, " open no-port no-session");
}

/* ---- one session ---- */

static void one_session_on_a_descriptor(void **state)
{
    (void)state;
    number = 0;
    runs("--control-fd 0", 0, "", " open session step(-1) step(-1) step(-1) no-port end-session");
    assert_int_equal(opened, 0);
    assert_ptr_equal(backend, &agent_endpoint_backend);
    /* A signal ends it, too. */
    number = SIGINT;
    runs("--control-fd 7", 130, "", " open session step(-1) step(-1) step(-1) no-port end-session");
    assert_int_equal(opened, 7);
    no_session = true;
    refuses("--control-fd 1048576", 64,
            "--control-fd 1048576: not a usable socket: Socket "
            "operation on non-socket");
    refuses("--control-fd 1048577", 64,
            "--control-fd 1048577: expected a number from 0 to 1048576");
}

/* ---- beginnings and ends that fail ---- */

static void what_it_cannot_start_with(void **state)
{
    (void)state;
    no_signals = true;
    refuses("", 70, "cannot start: Too many open files");
    no_signals = false;
    no_reactor = true;
    refuses("", 70, "cannot start: Cannot allocate memory");
    no_reactor = false;
    no_watch = true;
    refuses("", 70, "cannot start: No space left on device");
    assert_string_equal(calls, " open no-port no-session");
}

static void a_reactor_that_fails(void **state)
{
    (void)state;
    step_fails = 2;
    runs("", 70, SAYS, " open port step(-1) tidy step(1234) close-port no-session");
    step_fails = 1;
    runs("--control-fd 0", 70, "", " open session step(-1) no-port end-session");
}

/* ---- backends ---- */

static void backends(void **state)
{
    (void)state;
    runs("--backend endpoint", 0, SAYS, SERVED);
    assert_ptr_equal(backend, &agent_endpoint_backend);
    refuses("--backend other", 64, "--backend other: expected endpoint or verbs");
    refuses("--device rnic0", 64, "--device: needs --backend verbs");
    refuses("word", 64, "word: unexpected argument; see --help");
#ifdef IW_AGENT_VERBS
    device_name = "unasked";
    runs("--backend verbs", 0, SAYS, SERVED);
    assert_ptr_equal(backend, &verbs);
    assert_null(device_name);
    assert_true(((const struct agent_rdma_device *)settings)->atomics);
    runs("--backend verbs --device rnic0", 0, SAYS, SERVED);
    assert_string_equal(device_name, "rnic0");
    /* The last one counts. */
    runs("--backend verbs --backend endpoint", 0, SAYS, SERVED);
    assert_ptr_equal(backend, &agent_endpoint_backend);
    no_device = true;
    refuses("--backend verbs", 69, "no device");
    no_device = false;
#else
    refuses("--backend verbs", 69,
            "--backend verbs: not built in: librdmacm-dev or libibverbs-dev was missing");
#endif
}

static void help_and_version(void **state)
{
    static const char head[] =
        "usage: iwarp-agent [options]\n"
        "Carries out verbs for a tester on this host (control protocol, JSON lines).\n\n";
    (void)state;
    catch_from(STDOUT_FILENO);
    int status = run("--help");
    assert_memory_equal(caught(), head, sizeof(head) - 1);
    assert_int_equal(status, 0);
    assert_string_equal(calls, " open");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, catch_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_serves_until_a_signal),
        TEST(other_hosts_need_a_token),
        TEST(tokens_come_from_files),
        TEST(ports_that_do_not_open),
        TEST(one_session_on_a_descriptor),
        TEST(what_it_cannot_start_with),
        TEST(a_reactor_that_fails),
        TEST(backends),
        TEST(help_and_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
