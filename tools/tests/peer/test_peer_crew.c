/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of iwarp-peer: how they begin and end, and what they do on a signal. What each of
 * them does is the test's. */
#include "peer_program.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "../caught.h"
#include "host/complain.h"

/* ---- what is called ---- */

static unsigned calls, failing; /* that can fail, and the one that does; 0: none */
static struct rlimit limit, raised;
static int no_limit, raises;
static const char *memory[4]; /* what the system says of it, one after the other */
static unsigned looks;
static unsigned failing_thread; /* from 1; 0: none */
static unsigned failing_step;   /* number of the thread without epoll, from 1; 0: none */

int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);
struct iw_reactor *__real_iw_reactor_create(void);
struct iw_reactor *__wrap_iw_reactor_create(void);
struct iw_domain *__real_iw_domain_create(const struct iw_env *env,
                                          const struct iw_domain_limits *limits);
struct iw_domain *__wrap_iw_domain_create(const struct iw_env *env,
                                          const struct iw_domain_limits *limits);
struct iw_watch *__real_iw_watch_create(struct iw_reactor *r, int fd, uint32_t events,
                                        iw_watch_fn ready, void *context);
struct iw_watch *__wrap_iw_watch_create(struct iw_reactor *r, int fd, uint32_t events,
                                        iw_watch_fn ready, void *context);
int __real_iw_standard_signals(int more);
int __wrap_iw_standard_signals(int more);
int __real_getrlimit(int resource, struct rlimit *out);
int __wrap_getrlimit(int resource, struct rlimit *out);
int __real_setrlimit(int resource, const struct rlimit *wanted);
int __wrap_setrlimit(int resource, const struct rlimit *wanted);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *context);
int __real_iw_reactor_step(struct iw_reactor *r, int timeout_ms);
int __wrap_iw_reactor_step(struct iw_reactor *r, int timeout_ms);

static unsigned taps;
void __wrap_iw_reactor_tap(struct iw_reactor *r, const struct iw_tap *tap);

void __wrap_iw_reactor_tap(struct iw_reactor *r, const struct iw_tap *tap)
{
    assert_non_null(r);
    assert_ptr_equal(tap, &peer_beginnings);
    taps++;
}

static bool fails(void)
{
    if (++calls != failing)
        return false;
    errno = EMFILE;
    return true;
}

int __wrap_eventfd(unsigned value, int flags)
{
    assert_int_equal(value, 0);
    if (flags == (EFD_CLOEXEC | EFD_NONBLOCK) && fails()) /* the peer's; a reactor has others */
        return -1;
    return __real_eventfd(value, flags);
}

struct iw_reactor *__wrap_iw_reactor_create(void)
{
    return fails() ? NULL : __real_iw_reactor_create();
}

static struct iw_domain_limits domain_limits;

struct iw_domain *__wrap_iw_domain_create(const struct iw_env *env,
                                          const struct iw_domain_limits *limits)
{
    domain_limits = *limits;
    return fails() ? NULL : __real_iw_domain_create(env, limits);
}

struct iw_watch *__wrap_iw_watch_create(struct iw_reactor *r, int fd, uint32_t events,
                                        iw_watch_fn ready, void *context)
{
    return fails() ? NULL : __real_iw_watch_create(r, fd, events, ready, context);
}

int __wrap_iw_standard_signals(int more)
{
    assert_int_equal(more, SIGUSR1);
    return fails() ? -1 : __real_iw_standard_signals(more);
}

int __wrap_getrlimit(int resource, struct rlimit *out)
{
    if (resource != RLIMIT_NOFILE) /* a sanitizer asks as well */
        return __real_getrlimit(resource, out);
    *out = limit;
    return no_limit;
}

int __wrap_setrlimit(int resource, const struct rlimit *wanted)
{
    if (resource != RLIMIT_NOFILE) /* a sanitizer asks as well */
        return __real_setrlimit(resource, wanted);
    raised = *wanted;
    raises++;
    return raised.rlim_cur == 666 ? -1 : 0;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    static char text[64];
    assert_string_equal(path, "/proc/self/statm");
    assert_string_equal(mode, "re");
    const char *now = memory[looks < 3 ? looks : 3];
    looks++;
    if (now == NULL)
        return NULL;
    snprintf(text, sizeof(text), "%s", now);
    return fmemopen(text, strlen(text), "r");
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *context)
{
    if (failing_thread > 0 && --failing_thread == 0)
        return EAGAIN;
    return __real_pthread_create(thread, attributes, start, context);
}

/* ---- the peers ---- */

static struct iw_reactor *reactors[8];
static unsigned started;
static uint16_t ports[8];
static int statuses[8];  /* that starting gives */
static bool stops;       /* a peer that has nothing more to do */
static int stopped_with; /* its status */
static int signals[3];   /* that come once all have started */
static unsigned last;    /* the number of the last */
static bool with_connection, is_done;
static unsigned forgotten;
static char said[128];

int __wrap_iw_reactor_step(struct iw_reactor *r, int timeout_ms)
{
    assert_int_equal(timeout_ms, -1);
    if (failing_step > 0 && r == reactors[failing_step - 1])
        return -1;
    return __real_iw_reactor_step(r, timeout_ms);
}

int peer_start(struct peer *p)
{
    unsigned number = p->number;
    assert_true(number < 8);
    assert_int_equal(number, started);
    started++;
    reactors[number] = p->reactor;
    ports[number] = p->address.port;
    p->address.port = 4711;
    assert_int_equal(p->options.endpoint.pd, 1);
    if (with_connection) {
        struct peer_connection *pc = calloc(1, sizeof(*pc));
        assert_non_null(pc);
        pc->peer = p;
        pc->done = is_done;
        LIST_INSERT_HEAD(&p->connections, pc, entry);
        atomic_fetch_add(&p->living, 1);
    }
    p->stopping = stops;
    p->status = stopped_with;
    for (int i = 0; number == last && i < 3; i++)
        if (signals[i] != 0)
            kill(getpid(), signals[i]);
    return statuses[number];
}

void peer_forget(struct peer_connection *pc)
{
    LIST_REMOVE(pc, entry);
    atomic_fetch_sub(&pc->peer->living, 1);
    forgotten++;
    free(pc);
}

void peer_fail(struct peer_connection *pc, const char *format, ...)
{
    va_list arguments;
    assert_non_null(pc);
    va_start(arguments, format);
    vsnprintf(said, sizeof(said), format, arguments);
    va_end(arguments);
}

/* ---- runs ---- */

static struct peer peer;

static int begin(void **state)
{
    (void)state;
    calls = failing = looks = failing_thread = failing_step = started = last = forgotten = 0;
    no_limit = raises = stopped_with = 0;
    taps = 0;
    stops = with_connection = is_done = false;
    memset(statuses, 0, sizeof(statuses));
    memset(signals, 0, sizeof(signals));
    memset(memory, 0, sizeof(memory));
    said[0] = '\0';
    limit = (struct rlimit){1000000, 1000000};
    peer = (struct peer){
        .listens = true, .limit = 100, .threads = 1, .address = {.host = "h", .port = 5}};
    return 0;
}

/* Runs it; what it says on `fd` is `text`. */
static void run(int fd, const char *text, int expected)
{
    unsigned before = descriptors();
    catch_from(fd);
    int status = peer_run(&peer);
    assert_string_equal(caught(), text);
    assert_int_equal(status, expected);
    assert_int_equal(descriptors(), before);
}

static void test_one_thread(void **state)
{
    (void)state;
    static const int ends[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        (void)begin(state);
        signals[0] = ends[i];
        run(2, "", i == 0 ? 0 : 130);
        assert_int_equal(started, 1);
        assert_int_equal(domain_limits.regions, 200);
        assert_int_equal(domain_limits.buffers, 200);
    }
    /* One that ends of itself, well or not. */
    for (int status = 0; status < 2; status++) {
        (void)begin(state);
        stops = status == 0;
        stopped_with = status;
        run(2, "", status);
    }
    /* One that cannot wait. */
    (void)begin(state);
    failing_step = 1;
    run(2, "", 70);
}

static void test_threads(void **state)
{
    (void)state;
    peer.threads = 4;
    last = 3;
    signals[0] = SIGTERM;
    with_connection = true;
    run(2, "", 0);
    assert_int_equal(started, 4);
    assert_int_equal(taps, 4);
    assert_int_equal(ports[0], 5);
    for (int i = 1; i < 4; i++)
        assert_int_equal(ports[i], 4711); /* that of the first */
    assert_int_equal(forgotten, 4);
    /* What begins with a line is not what quirks show in. */
    (void)begin(state);
    peer.threads = 2;
    peer.stream = "hello";
    last = 1;
    signals[0] = SIGTERM;
    run(2, "", 0);
    assert_int_equal(taps, 0);
    /* All end with one that cannot wait. */
    for (unsigned i = 1; i <= 3; i++) {
        (void)begin(state);
        peer.threads = 3;
        failing_step = i;
        run(2, "", 70);
    }
}

static void test_no_thread(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= 3; i++) {
        (void)begin(state);
        peer.threads = 4;
        failing_thread = i;
        run(2, "iwarp-peer: cannot start a thread\n", 70);
        assert_int_equal(started, 4);
    }
}

/* Each part of each thread. */
static void test_failing_parts(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= 8; i++) {
        (void)begin(state);
        peer.threads = 2;
        failing = i;
        run(2, "iwarp-peer: no memory or descriptors to start with\n", 70);
        assert_int_equal(started, i <= 4 ? 0 : 1);
    }
    (void)begin(state);
    peer.threads = 3;
    statuses[1] = 69;
    run(2, "", 69);
    assert_int_equal(started, 2);
}

/* A signal before a connecting peer is through. */
static void test_interruption(void **state)
{
    static const struct {
        bool listens, connection, done;
        int status;
        const char *said;
    } cases[] = {{false, true, false, 1, "interrupted before everything was done"},
                 {false, true, true, 0, ""},
                 {false, false, false, 0, ""},
                 {true, true, false, 0, ""}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        (void)begin(state);
        peer.listens = cases[i].listens;
        with_connection = cases[i].connection;
        is_done = cases[i].done;
        signals[0] = SIGTERM;
        run(2, "", cases[i].status);
        assert_string_equal(said, cases[i].said);
        assert_int_equal(forgotten, with_connection);
    }
    /* What failed before has been said. */
    (void)begin(state);
    peer.listens = false;
    with_connection = true;
    stopped_with = 1;
    run(2, "", 1);
    assert_string_equal(said, "");
}

/* The first look is before the first connection; of each page there are some octets. */
static void test_memory(void **state)
{
    static const struct {
        const char *first, *then;
        bool connection;
        unsigned pages, each; /* of four threads, in pages */
    } cases[] = {{"99 30 10", "99 60 10", true, 50, 10}, {"99 30 10", "99 60 10", false, 50, 0},
                 {"99 60 10", "99 30 10", true, 20, 0},  {"99 60 10", "99 60", true, 0, 0},
                 {NULL, "99 33 0", true, 33, 11},        {"99 33 0", NULL, true, 0, 0}};
    char text[128];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)begin(state);
        peer.threads = 3;
        last = 2;
        signals[0] = SIGTERM;
        signals[1] = SIGUSR1; /* which is looked at first */
        memory[0] = cases[i].first;
        memory[1] = cases[i].then;
        with_connection = cases[i].connection;
        snprintf(text, sizeof(text),
                 "connections %d, octets in memory %zu, of each connection %zu\n",
                 with_connection ? 3 : 0, cases[i].pages * page, cases[i].each * page);
        run(1, text, 0);
        assert_int_equal(looks, 2);
    }
}

static void test_descriptors(void **state)
{
    static const struct {
        bool listens, once;
        unsigned limit, threads;
        unsigned current, most, raised; /* 0: left as it is */
        const char *text;
    } cases[] = {
        {true, false, 100, 1, 116, 9999, 0, ""},
        {true, false, 100, 1, 115, 9999, 116, ""},
        {true, false, 100, 2, 231, 9999, 232, ""},
        {true, false, 100, 1, 50, 116, 116, ""},
        {true, false, 100, 1, 50, 115, 115,
         "iwarp-peer: --limit 100: expected 116 descriptors (ulimit -n), there are 115; more "
         "connections wait\n"},
        {true, false, 1000, 1, 50, 666, 666, ""}, /* it cannot be raised */
        {true, true, 100, 1, 1, 9999, 0, ""},
        {false, false, 100, 1, 1, 9999, 0, ""},
        {false, false, 100, 1, 0, 9999, 1, ""}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)begin(state);
        peer.listens = cases[i].listens;
        peer.once = cases[i].once;
        peer.limit = cases[i].limit;
        peer.threads = cases[i].threads;
        limit = (struct rlimit){cases[i].current, cases[i].most};
        signals[0] = SIGTERM;
        run(2, cases[i].text, 0);
        assert_int_equal(raises, cases[i].raised > 0);
        if (raises > 0) {
            assert_int_equal(raised.rlim_cur, cases[i].raised);
            assert_int_equal(raised.rlim_max, cases[i].most);
        }
    }
    (void)begin(state);
    limit.rlim_cur = 5;
    no_limit = -1;
    signals[0] = SIGTERM;
    run(2, "", 0);
    assert_int_equal(raises, 0);
}

static void run_again(void)
{
    (void)begin(NULL);
    peer.threads = 2;
    last = 1;
    signals[0] = SIGTERM;
    with_connection = true;
    assert_int_equal(peer_run(&peer), 0);
}

static void test_nothing_is_lost(void **state)
{
    (void)state;
    assert_false(leaks(run_again));
    without_input(run_again);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, catch_no_more)

int main(void)
{
    iw_complain_as("iwarp-peer");
    const struct CMUnitTest tests[] = {
        EACH(test_one_thread),    EACH(test_threads),         EACH(test_no_thread),
        EACH(test_failing_parts), EACH(test_interruption),    EACH(test_memory),
        EACH(test_descriptors),   EACH(test_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
