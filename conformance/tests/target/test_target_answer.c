/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a target answers: what it is asked, for how long, and what counts as an answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "iwarp/control.h"
#include "station/station_tcp.h"
#include "target/target_ends.h"
#include "target/target_instance.h"

enum { SECOND = 1000000000, MS = 1000000 };

/* ---- doubles: the clock, a connection, a control connection, the process ---- */

static struct {
    uint64_t now;
    /* A connection. */
    int connect_errno; /* 0: it is accepted; ... */
    unsigned refusals; /* ... after so many that were refused */
    unsigned connects;
    uint64_t connect_until, wait_until, ended_until;
    int ready; /* of the wait */
    ssize_t received;
    uint8_t sent[64];
    size_t sent_length;
    uint64_t shut_at;
    unsigned closes, shuts, ends;
    bool forsaken, aborts;
    bool process_ended;
    unsigned frees, starts;
    enum iw_target_opened started;
    /* An agent. */
    const char *reply;
    uint64_t call_until;
    bool lost;
    const char *death;
    unsigned dies_after; /* so many connects; 0: never */
} world;

uint64_t __wrap_iw_transport_now(void);
int __wrap_poll(struct pollfd *list, nfds_t count, int ms);
bool __wrap_iw_tcp_connect(struct iw_tcp *t, const char *host, uint16_t port, uint16_t mss,
                           uint64_t deadline, char *error, size_t room);
ssize_t __wrap_iw_tcp_send(struct iw_tcp *t, uint64_t position, const void *octets, size_t length);
ssize_t __wrap_iw_tcp_receive(struct iw_tcp *t, void *octets, size_t room);
int __wrap_iw_tcp_wait(struct iw_tcp *t, short events, uint64_t deadline);
bool __wrap_iw_tcp_shut(struct iw_tcp *t, uint64_t position);
void __wrap_iw_tcp_close(struct iw_tcp *t);
bool __wrap_iw_process_await_end(struct iw_process *p, uint64_t deadline);
bool __wrap_iw_process_forsaken(const struct iw_process *p);
void __wrap_iw_process_abort(struct iw_process *p);
bool __wrap_iw_process_report(struct iw_process *p, struct iw_crash *place);
json_t *__wrap_iw_control_call(struct iw_control *c, json_t *request, uint64_t deadline,
                               char *error, size_t room);
bool __wrap_iw_control_lost(const struct iw_control *c);

uint64_t __wrap_iw_transport_now(void)
{
    return world.now;
}

int __wrap_poll(struct pollfd *list, nfds_t count, int ms)
{
    assert_null(list);
    assert_int_equal(count, 0);
    assert_int_equal(ms, 20);
    world.now += (uint64_t)ms * MS;
    return 0;
}

bool __wrap_iw_tcp_connect(struct iw_tcp *t, const char *host, uint16_t port, uint16_t mss,
                           uint64_t deadline, char *error, size_t room)
{
    assert_string_equal(host, "192.0.2.1");
    assert_int_equal(port, 4000);
    assert_int_equal(mss, 0);
    assert_true(room > 0);
    *t = IW_TCP_CLOSED;
    *error = '\0';
    world.connects++;
    world.connect_until = deadline;
    errno = ECONNREFUSED;
    if (world.refusals > 0 && world.refusals-- > 0)
        return false;
    errno = world.connect_errno;
    return world.connect_errno == 0;
}

ssize_t __wrap_iw_tcp_send(struct iw_tcp *t, uint64_t position, const void *octets, size_t length)
{
    (void)t;
    assert_int_equal(position, 0);
    assert_true(length <= sizeof(world.sent));
    memcpy(world.sent, octets, length);
    world.sent_length = length;
    return (ssize_t)length;
}

ssize_t __wrap_iw_tcp_receive(struct iw_tcp *t, void *octets, size_t room)
{
    (void)t;
    (void)octets;
    assert_int_equal(room, 1);
    return world.received;
}

int __wrap_iw_tcp_wait(struct iw_tcp *t, short events, uint64_t deadline)
{
    (void)t;
    assert_int_equal(events, POLLIN);
    world.wait_until = deadline;
    return world.ready;
}

bool __wrap_iw_tcp_shut(struct iw_tcp *t, uint64_t position)
{
    (void)t;
    world.shuts++;
    world.shut_at = position;
    return true;
}

void __wrap_iw_tcp_close(struct iw_tcp *t)
{
    (void)t;
    world.closes++;
}

bool __wrap_iw_process_await_end(struct iw_process *p, uint64_t deadline)
{
    (void)p;
    world.ends++;
    world.ended_until = deadline;
    return world.process_ended;
}

bool __wrap_iw_process_forsaken(const struct iw_process *p)
{
    (void)p;
    return world.forsaken;
}

void __wrap_iw_process_abort(struct iw_process *p)
{
    (void)p;
    world.aborts = true;
}

bool __wrap_iw_process_report(struct iw_process *p, struct iw_crash *place)
{
    (void)p;
    assert_true(world.aborts);
    return place != NULL;
}

json_t *__wrap_iw_control_call(struct iw_control *c, json_t *request, uint64_t deadline,
                               char *error, size_t room)
{
    (void)c;
    (void)error;
    (void)room;
    assert_string_equal(json_string_value(json_object_get(request, "do")), "hello");
    json_decref(request);
    world.call_until = deadline;
    return world.reply != NULL ? json_loads(world.reply, 0, NULL) : NULL;
}

bool __wrap_iw_control_lost(const struct iw_control *c)
{
    (void)c;
    return world.lost;
}

void __wrap_iw_process_free(struct iw_process *p);
enum iw_target_opened __wrap_iw_target_start_peer(struct iw_target_instance *t, char *error,
                                                  size_t room);

void __wrap_iw_process_free(struct iw_process *p)
{
    (void)p;
    assert_int_equal(world.starts, world.frees);
    world.frees++;
}

enum iw_target_opened __wrap_iw_target_start_peer(struct iw_target_instance *t, char *error,
                                                  size_t room)
{
    (void)t;
    (void)error;
    (void)room;
    world.starts++;
    return world.started;
}

/* ---- a target ---- */

static struct iw_target_spec spec;
static struct iw_target_instance instance;
static bool reconnects;

static bool can(const struct iw_target *target, const char *what)
{
    assert_ptr_equal(target, &instance.target);
    assert_string_equal(what, "reconnect");
    return reconnects;
}

static const char *death(struct iw_target *target)
{
    assert_ptr_equal(target, &instance.target);
    return world.dies_after > 0 && world.connects >= world.dies_after ? "dead" : world.death;
}

static int begin(void **state)
{
    static char start[] = "start it";
    (void)state;
    memset(&world, 0, sizeof(world));
    world.now = 1000 * (uint64_t)SECOND;
    world.ready = POLLIN;
    world.received = 1;
    spec = (struct iw_target_spec){.class = IW_TARGET_BARE, .start = start};
    instance = (struct iw_target_instance){
        .spec = &spec,
        .scale = 1,
        .target = {.host = "192.0.2.1", .port = 4000, .can = can, .death = death}};
    reconnects = true;
    return 0;
}

/* ---- how long ---- */

static void silence(void **state)
{
    (void)state;
    assert_true(iw_target_silence(&spec, 1) == 5);
    assert_true(iw_target_silence(&spec, 0.25) == 5); /* never shorter */
    assert_true(iw_target_silence(&spec, 3) == 15);
    spec.longest_timer = 0.5;
    assert_true(iw_target_silence(&spec, 1) == 0.5);
    assert_true(iw_target_silence(&spec, 4) == 2);
}

static void askable(void **state)
{
    (void)state;
    assert_true(iw_target_askable(&instance));
    reconnects = false;
    assert_false(iw_target_askable(&instance));
    reconnects = true;
    instance.target.port = 0;
    assert_false(iw_target_askable(&instance));
    instance.target.port = 1;
    instance.target.tun = (struct iw_tun *)&world;
    assert_false(iw_target_askable(&instance));
    spec.class = IW_TARGET_AGENT;
    assert_false(iw_target_askable(&instance));
    instance.target.control = (struct iw_control *)&world;
    assert_true(iw_target_askable(&instance));
}

/* ---- the Request ---- */

static void asks_with(const struct iw_target_startup *say, const char *octets, size_t length)
{
    instance.target.startup = say;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ANSWERS);
    assert_int_equal(world.sent_length, length);
    assert_int_equal(world.shut_at, length);
    assert_memory_equal(world.sent, octets, length);
}

static void requests(void **state)
{
    (void)state;
    asks_with(NULL, "MPA ID Req Frame\x50\x02\0\4\0\x10\0\x10", 24);
    asks_with(&(struct iw_target_startup){.revision = 1}, "MPA ID Req Frame\0\1\0\0", 20);
    asks_with(&(struct iw_target_startup){.markers = true, .revision = 2},
              "MPA ID Req Frame\x80\2\0\0", 20);
    asks_with(&(struct iw_target_startup){.crc = true, .revision = 1, .enhanced = true},
              "MPA ID Req Frame\x40\1\0\0", 20);
    asks_with(&(struct iw_target_startup){.revision = 2, .enhanced = true},
              "MPA ID Req Frame\x10\2\0\4\0\x10\0\x10", 24);
}

/* ---- answers ---- */

static void answers(void **state)
{
    (void)state;
    const uint64_t until = world.now + 5 * (uint64_t)SECOND;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ANSWERS);
    assert_int_equal(world.connects, 1);
    assert_int_equal(world.connect_until, until);
    assert_int_equal(world.wait_until, until);
    assert_int_equal(world.ends, 0); /* an octet: it lives */
    assert_int_equal(world.closes, 1);
    assert_int_equal(world.shuts, 1);
    world.received = 0; /* the end of the connection may be that of its program */
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ANSWERS);
    assert_int_equal(world.ends, 1);
    assert_int_equal(world.ended_until, world.now + 100 * MS);
    world.received = -1;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ANSWERS);
    assert_int_equal(world.ends, 2);
    instance.scale = 2;
    spec.longest_timer = 7;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ANSWERS);
    assert_int_equal(world.wait_until, world.now + 14 * (uint64_t)SECOND);
}

static void silent(void **state)
{
    (void)state;
    world.ready = 0;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_SILENT);
    assert_int_equal(world.ends, 0);
    assert_int_equal(world.closes, 1);
    world.dies_after = world.connects + 1;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ENDED);
    world.death = "dead before it is asked";
    world.connects = 0;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ENDED);
    assert_int_equal(world.connects, 0);
}

/* A listener may be gone for a second, or for longer on a slow machine. */
static void refuses(void **state)
{
    (void)state;
    world.refusals = 3;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ANSWERS);
    assert_int_equal(world.connects, 4);
    world.connect_errno = ECONNREFUSED;
    world.connects = 0;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_REFUSES);
    assert_int_equal(world.connects, 1 + 1000 / 20);
    world.forsaken = true;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ENDED);
    instance.scale = 2;
    world.connects = 0;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ENDED);
    assert_int_equal(world.connects, 1 + 2000 / 20);
    instance.scale = 0.1;
    world.connects = 0;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ENDED);
    assert_int_equal(world.connects, 1 + 1000 / 20);
    world.connects = 0;
    world.dies_after = 3;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ENDED);
    assert_int_equal(world.connects, 3);
}

/* No answer from the network is silence if the target was started here, else it may be the
 * network's. */
static void no_connection(void **state)
{
    (void)state;
    static const int silences[] = {ETIMEDOUT, EAGAIN, EINPROGRESS};
    static const int others[] = {EHOSTUNREACH, ENETUNREACH, 0x7fff};
    char *start = spec.start;
    for (unsigned i = 0; i < 3; i++) {
        spec.start = start;
        world.connect_errno = silences[i];
        assert_int_equal(iw_target_ask(&instance), IW_ALIVE_SILENT);
        spec.start = NULL;
        assert_int_equal(iw_target_ask(&instance), IW_ALIVE_REFUSES);
        spec.start = start;
        world.connect_errno = others[i];
        assert_int_equal(iw_target_ask(&instance), IW_ALIVE_REFUSES);
    }
    assert_int_equal(world.connects, 9);
    instance.target.death = NULL; /* of a process that is not ours nothing is known */
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_REFUSES);
}

/* ---- an agent ---- */

static void agents(void **state)
{
    (void)state;
    spec.class = IW_TARGET_AGENT;
    world.reply = "{\"ok\": false}";
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ANSWERS);
    assert_int_equal(world.call_until, world.now + 5 * (uint64_t)SECOND);
    assert_int_equal(world.connects, 0);
    world.reply = NULL;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_SILENT);
    world.lost = true;
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ENDED);
    world.lost = false;
    world.death = "dead";
    assert_int_equal(iw_target_ask(&instance), IW_ALIVE_ENDED);
}

static void aborted(void **state)
{
    (void)state;
    assert_true(iw_target_abort(&instance, (struct iw_crash *)&world));
    world.aborts = false;
    assert_false(iw_target_abort(&instance, NULL));
    assert_true(world.aborts);
}

/* ---- programs that end after a connection ---- */

static void that_end(void **state)
{
    (void)state;
    char *start = spec.start;
    world.process_ended = true;
    assert_true(iw_target_probe_end(&instance));
    assert_int_equal(world.ended_until, world.now + 2 * (uint64_t)SECOND);
    instance.scale = 3;
    assert_true(iw_target_probe_end(&instance));
    assert_int_equal(world.ended_until, world.now + 6 * (uint64_t)SECOND);
    instance.scale = 0.5;
    assert_true(iw_target_probe_end(&instance));
    assert_int_equal(world.ended_until, world.now + 2 * (uint64_t)SECOND);
    instance.process.crashed = true;
    assert_false(iw_target_probe_end(&instance));
    instance.process.crashed = false;
    world.process_ended = false;
    assert_false(iw_target_probe_end(&instance));
    world.process_ended = true;
    world.ready = 0; /* silent */
    assert_false(iw_target_probe_end(&instance));
    world.ready = POLLIN;
    spec.start = NULL;
    assert_false(iw_target_probe_end(&instance));
    spec.start = start;
    instance.target.port = 0;
    assert_false(iw_target_probe_end(&instance));
    instance.target.port = 4000;
    spec.class = IW_TARGET_AGENT;
    world.reply = "{}";
    assert_false(iw_target_probe_end(&instance));
}

/* The first connection is with the program that is there, each further one with another. */
static void renewed(void **state)
{
    (void)state;
    char error[10];
    assert_int_equal(iw_target_renew(&instance.target, error, sizeof(error)), 0);
    assert_true(instance.used);
    assert_int_equal(world.ends, 0);
    assert_int_equal(world.starts, 0);
    assert_int_equal(iw_target_renew(&instance.target, error, sizeof(error)), 0);
    assert_int_equal(world.ends, 1); /* it may end by itself first */
    assert_int_equal(world.frees, 1);
    assert_int_equal(world.starts, 1);
    world.started = IW_TARGET_UNREACHED;
    assert_int_equal(iw_target_renew(&instance.target, error, sizeof(error)), -1);
    world.started = IW_TARGET_OPENED;
    instance.process.crashed = true; /* it has not ended yet */
    assert_int_equal(iw_target_renew(&instance.target, error, sizeof(error)), 0);
    assert_int_equal(world.starts, 3);
    world.process_ended = true;
    assert_int_equal(iw_target_renew(&instance.target, error, sizeof(error)), 0);
    assert_int_equal(world.starts, 3); /* nothing comes after a crash */
    assert_int_equal(world.frees, 3);
}

static void awaited(void **state)
{
    (void)state;
    static const bool ends[] = {false, false, true, true}, used[] = {false, true, false, true};
    for (unsigned i = 0; i < 4; i++) {
        world.ends = 0;
        spec.ends_connection = ends[i];
        instance.used = used[i];
        iw_target_await_end(&instance);
        assert_int_equal(world.ends, i == 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(silence, begin),       cmocka_unit_test_setup(askable, begin),
        cmocka_unit_test_setup(requests, begin),      cmocka_unit_test_setup(answers, begin),
        cmocka_unit_test_setup(silent, begin),        cmocka_unit_test_setup(refuses, begin),
        cmocka_unit_test_setup(no_connection, begin), cmocka_unit_test_setup(agents, begin),
        cmocka_unit_test_setup(aborted, begin),       cmocka_unit_test_setup(that_end, begin),
        cmocka_unit_test_setup(renewed, begin),       cmocka_unit_test_setup(awaited, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
