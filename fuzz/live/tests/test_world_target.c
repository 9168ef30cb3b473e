/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks how a peer without an agent is reached, made to connect, and watched. Neither the peer nor
 * the network is there: the test has functions for both. */
#include "live_support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "host/address.h"
#include "iwarp/control.h"
#include "iwarp/transport.h"

enum { MS = 1000000 };

static struct iw_target target;
static struct iw_hunt_world world;
static char instance, agent;
static enum iw_target_opened opened;
static int closes, closed, group, aborts, looks;
static uint64_t now;
static const char *death, *checked, *trouble, *close_trouble, *statm;
static bool calling, lost;
static int broken, order; /* which of the four calls for a listener fails */

enum iw_target_opened __wrap_iw_target_open(const struct iw_target_spec *spec, const char *option,
                                            const char *log, double time_scale,
                                            struct iw_target_instance **out, char *error,
                                            size_t room);
struct iw_target *__wrap_iw_target_of(struct iw_target_instance *t);
void __wrap_iw_target_close(struct iw_target_instance *t, char *text, size_t room);
const char *__wrap_iw_target_check(struct iw_target_instance *t, char *text, size_t room);
bool __wrap_iw_target_calling(struct iw_target_instance *t);
pid_t __wrap_iw_target_group(const struct iw_target_instance *t);
bool __wrap_iw_control_lost(const struct iw_control *c);
uint64_t __wrap_iw_transport_now(void);
int __wrap_poll(struct pollfd *list, nfds_t n, int ms);
bool __wrap_iw_target_abort(struct iw_target_instance *t, struct iw_crash *place);
FILE *__wrap_fopen(const char *path, const char *mode);
long __wrap_sysconf(int name);
long __real_sysconf(int name);
int __wrap_socket(int family, int type, int protocol);
int __wrap_bind(int fd, const struct sockaddr *at, socklen_t length);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
int __wrap_listen(int fd, int backlog);
int __wrap_getsockname(int fd, struct sockaddr *at, socklen_t *length);
int __wrap_close(int fd);
int __real_close(int fd);

struct addrinfo *__wrap_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room);
struct addrinfo *__real_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room);

/* A name is one that nobody knows; no name server is asked. */
struct addrinfo *__wrap_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room)
{
    assert_false(passive);
    if (strcmp(host, "nowhere") != 0)
        return __real_iw_address_resolve(host, port, passive, error, room);
    snprintf(error, room, "no such host");
    return NULL;
}

/* An instance is there even if it could not be opened: nobody may take it for one. */
enum iw_target_opened __wrap_iw_target_open(const struct iw_target_spec *spec, const char *option,
                                            const char *log, double time_scale,
                                            struct iw_target_instance **out, char *error,
                                            size_t room)
{
    (void)spec;
    (void)option;
    (void)log;
    (void)time_scale;
    snprintf(error, room, "so it is");
    *out = (struct iw_target_instance *)&instance;
    return opened;
}

struct iw_target *__wrap_iw_target_of(struct iw_target_instance *t)
{
    assert_true((char *)t == &instance);
    return &target;
}

void __wrap_iw_target_close(struct iw_target_instance *t, char *text, size_t room)
{
    assert_true((char *)t == &instance);
    snprintf(text, room, "%s", close_trouble);
    closes++;
}

const char *__wrap_iw_target_check(struct iw_target_instance *t, char *text, size_t room)
{
    assert_true((char *)t == &instance);
    snprintf(text, room, "%s", trouble);
    looks++;
    return checked;
}

bool __wrap_iw_target_calling(struct iw_target_instance *t)
{
    assert_true((char *)t == &instance);
    return calling;
}

pid_t __wrap_iw_target_group(const struct iw_target_instance *t)
{
    assert_true((const char *)t == &instance);
    return group;
}

bool __wrap_iw_control_lost(const struct iw_control *c)
{
    assert_true((const char *)c == &agent);
    return lost;
}

uint64_t __wrap_iw_transport_now(void)
{
    return now;
}

int __wrap_poll(struct pollfd *list, nfds_t n, int ms)
{
    assert_true(!list && !n && ms > 0);
    now += (uint64_t)ms * MS;
    return 0;
}

bool __wrap_iw_target_abort(struct iw_target_instance *t, struct iw_crash *place)
{
    assert_ptr_equal(t, world.instance);
    place->by[0] = 'A';
    aborts++;
    return true;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    assert_string_equal(path, "/proc/77/statm");
    assert_int_equal(*mode, 'r');
    return statm != NULL ? fmemopen((void *)(uintptr_t)statm, strlen(statm), mode) : NULL;
}

/* Sanitizers ask for more than that, and before main(). */
long __wrap_sysconf(int name)
{
    return name == _SC_PAGESIZE && statm != NULL ? 8192 : __real_sysconf(name);
}

/* ---- a listener ---- */

static int call(int number)
{
    assert_int_equal(order, number - 1); /* each after the one before */
    order = number;
    errno = EADDRINUSE;
    return broken == number ? -1 : 0;
}

int __wrap_socket(int family, int type, int protocol)
{
    assert_int_equal(family, target.station_host[0] == ':' ? AF_INET6 : AF_INET);
    assert_int_equal(type, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_int_equal(protocol, 0);
    return call(1) ? -1 : 0; /* the least of all descriptors */
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    assert_int_equal(fd, 0);
    assert_true(level == SOL_SOCKET && name == SO_REUSEADDR);
    assert_true(value != NULL && length == sizeof(int));
    return 0;
}

static int bound; /* to an address of this family */

int __wrap_bind(int fd, const struct sockaddr *at, socklen_t length)
{
    assert_int_equal(fd, 0);
    assert_int_equal(length, at->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                       : sizeof(struct sockaddr_in));
    assert_int_equal(((const struct sockaddr_in *)at)->sin_port, 0);
    bound = at->sa_family;
    return call(2);
}

int __wrap_listen(int fd, int backlog)
{
    assert_int_equal(fd, 0);
    assert_int_equal(backlog, 4);
    return call(3);
}

int __wrap_getsockname(int fd, struct sockaddr *at, socklen_t *length)
{
    assert_int_equal(fd, world.listener);
    assert_true(*length >= sizeof(struct sockaddr_in6));
    at->sa_family = (sa_family_t)bound;
    if (bound == AF_INET6)
        ((struct sockaddr_in6 *)at)->sin6_port = htons(1234);
    else
        ((struct sockaddr_in *)at)->sin_port = htons(4321);
    return call(4);
}

/* Others are not the listener's. */
int __wrap_close(int fd)
{
    closed += fd <= 0;
    return fd <= 0 ? 0 : __real_close(fd);
}

/* ---- */

static const char *dies(struct iw_target *t)
{
    assert_true(t == &target);
    return death;
}

static int begin(void **state)
{
    (void)state;
    target = (struct iw_target){
        .host = "127.0.0.3", .port = 4711, .station_host = "127.0.0.4", .death = dies};
    world = (struct iw_hunt_world){
        .scale = 2, .slots = 3, .listener = -1, .trouble = "old", .dead = "old"};
    opened = IW_TARGET_OPENED;
    closes = closed = group = aborts = looks = broken = order = 0;
    now = 1000 * MS;
    death = checked = statm = NULL;
    trouble = close_trouble = "";
    calling = lost = false;
    return 0;
}

static int end(void **state)
{
    (void)state;
    iw_hunt_world_close(&world);
    return 0;
}

static void opens_well(void)
{
    assert_int_equal(iw_hunt_world_open(&world), IW_TARGET_OPENED);
    assert_ptr_equal(world.target, &target);
    assert_ptr_equal(world.instance, &instance);
    assert_string_equal(world.dead, "");
    assert_string_equal(world.trouble, "");
}

static void one_address_for_all(void **state)
{
    (void)state;
    world.n_memories = 3;
    opens_well();
    assert_int_equal(world.n_memories, 0);
    assert_int_equal(world.starts, 1);
    assert_int_equal(world.to_length, sizeof(struct sockaddr_in));
    for (unsigned i = 0; i < 4; i++) {
        const struct sockaddr_in *to = (const struct sockaddr_in *)&world.to[i];

        assert_int_equal(ntohs(to->sin_port), i < 3 ? 4711 : 0);
        assert_int_equal(ntohl(to->sin_addr.s_addr), i < 3 ? 0x7f000003 : 0);
    }
    assert_int_equal(order, 0);
}

static void a_target_that_is_not_there(void **state)
{
    (void)state;
    opened = IW_TARGET_BROKEN;
    assert_int_equal(iw_hunt_world_open(&world), IW_TARGET_BROKEN);
    assert_null(world.instance);
    assert_string_equal(world.error, "so it is");
    assert_int_equal(world.starts, 0);
    opened = IW_TARGET_OPENED;
    target.host = "nowhere";
    assert_int_equal(iw_hunt_world_open(&world), IW_TARGET_UNREACHED);
    assert_null(world.instance);
    assert_int_equal(closes, 1);
    assert_string_equal(world.error, "no such host");
}

/* ---- a peer that connects ---- */

static void a_listener_for_it(void **state)
{
    (void)state;
    world.side = IW_SIDE_RESPONDER;
    opens_well();
    assert_int_equal(order, 4);
    assert_int_equal(world.port, 4321);
    iw_hunt_world_close(&world);
    assert_int_equal(world.listener, -1);
    assert_int_equal(closed, 1);
    iw_hunt_world_close(&world);
    assert_int_equal(closed, 1);
    order = 0;
    target.station_host = "::1";
    opens_well();
    assert_int_equal(world.port, 1234);
}

static void no_listener_for_it(void **state)
{
    (void)state;
    world.side = IW_SIDE_RESPONDER;
    for (broken = 1; broken <= 4; broken++) {
        order = closes = 0;
        assert_int_equal(iw_hunt_world_open(&world), IW_TARGET_BROKEN);
        assert_string_equal(world.error, "cannot listen on 127.0.0.4: Address already in use");
        assert_int_equal(order, broken);
        assert_int_equal(closes, 1);
        assert_int_equal(world.listener, -1);
    }
    order = 0;
    target.station_host = "nowhere";
    assert_int_equal(iw_hunt_world_open(&world), IW_TARGET_BROKEN);
    assert_int_equal(order, 0);
}

static int initiated;

static int initiate(struct iw_target *t, const char *host, uint16_t port, char *error, size_t room)
{
    assert_true(t == &target);
    assert_string_equal(host, "127.0.0.4");
    assert_int_equal(port, 4321);
    snprintf(error, room, "no");
    return initiated;
}

static void a_call(void **state)
{
    (void)state;
    world.side = IW_SIDE_RESPONDER;
    target.initiate = initiate;
    opens_well();
    initiated = 0;
    assert_true(iw_hunt_world_call(&world));
    initiated = -1;
    assert_false(iw_hunt_world_call(&world));
}

/* The next call waits for the program of the last one, but not for ever. */
static void a_moment_for_its_end(void **state)
{
    (void)state;
    opens_well();
    calling = true;
    world.grace = now + 1;
    assert_true(iw_hunt_world_prepare_call(&world)); /* it does not connect */
    assert_int_equal(looks, 0);
    iw_hunt_world_close(&world);
    world.side = IW_SIDE_RESPONDER;
    opens_well();
    iw_hunt_world_left(&world);
    assert_int_equal(world.grace, now + (uint64_t)200 * MS);
    assert_false(iw_hunt_world_prepare_call(&world));
    now += 200 * MS - 1;
    assert_false(iw_hunt_world_prepare_call(&world));
    assert_int_equal(looks, 0);
    now++;
    assert_true(iw_hunt_world_prepare_call(&world));
    assert_int_equal(looks, 1);
    iw_hunt_world_left(&world);
    uint64_t before = now;
    iw_hunt_world_settle(&world);
    assert_int_equal(now - before, (uint64_t)200 * MS);
    iw_hunt_world_left(&world);
    calling = false;
    assert_true(iw_hunt_world_prepare_call(&world));
    assert_string_equal(world.dead, "");
}

static void how_it_has_ended(void **state)
{
    (void)state;
    world.side = IW_SIDE_RESPONDER;
    opens_well();
    trouble = "a report";
    assert_true(iw_hunt_world_prepare_call(&world));
    assert_string_equal(world.dead, "a sanitizer stopped it");
    assert_string_equal(world.trouble, "a report");
    assert_string_equal(iw_hunt_world_death(&world), "a sanitizer stopped it");
    checked = "signal 11";
    trouble = "";
    assert_true(iw_hunt_world_prepare_call(&world));
    assert_string_equal(world.dead, "a sanitizer stopped it"); /* that was first */
    *world.dead = 0;
    assert_true(iw_hunt_world_prepare_call(&world));
    assert_string_equal(world.dead, "signal 11");
    *world.dead = 0;
    calling = true; /* a death is no reason to wait */
    iw_hunt_world_left(&world);
    death = "gone";
    assert_true(iw_hunt_world_prepare_call(&world));
    assert_string_equal(world.dead, "signal 11");
}

/* ---- its end ---- */

static void a_death(void **state)
{
    (void)state;
    opens_well();
    assert_null(iw_hunt_world_death(&world));
    assert_int_equal(looks, 0);
    death = "gone";
    checked = "signal 6";
    trouble = "a report";
    assert_string_equal(iw_hunt_world_death(&world), "signal 6");
    assert_string_equal(world.trouble, "a report");
    assert_string_equal(world.dead, "");
    trouble = "";
    assert_string_equal(iw_hunt_world_death(&world), "signal 6");
    assert_string_equal(world.trouble, "a report"); /* it is not said twice */
    target.death = NULL;
    assert_null(iw_hunt_world_death(&world));
    target.control = (struct iw_control *)&agent;
    assert_null(iw_hunt_world_death(&world));
    lost = true;
    assert_string_equal(iw_hunt_world_death(&world), "signal 6");
    checked = NULL;
    assert_null(iw_hunt_world_death(&world)); /* it is there again */
    target.control = NULL;
}

/* Of one that connects, each end is remembered: there will be another process. */
static void a_death_that_is_remembered(void **state)
{
    (void)state;
    world.side = IW_SIDE_RESPONDER;
    opens_well();
    death = "gone";
    assert_null(iw_hunt_world_death(&world));
    assert_string_equal(world.dead, "");
    checked = "signal 6";
    assert_ptr_equal(iw_hunt_world_death(&world), world.dead);
    assert_string_equal(world.dead, "signal 6");
    checked = "signal 7";
    assert_string_equal(iw_hunt_world_death(&world), "signal 6");
}

static void trouble_at_the_end(void **state)
{
    (void)state;
    opens_well();
    iw_hunt_world_close(&world);
    assert_string_equal(world.trouble, "");
    opens_well();
    close_trouble = "a late report";
    iw_hunt_world_close(&world);
    assert_string_equal(world.trouble, "a late report");
    opens_well();
    snprintf(world.trouble, sizeof(world.trouble), "a first one");
    iw_hunt_world_close(&world);
    assert_string_equal(world.trouble, "a first one");
    assert_int_equal(closes, 3);
}

static void what_is_aborted(void **state)
{
    struct iw_crash place = {.by = ""};
    (void)state;
    assert_false(iw_hunt_world_abort(&world, &place)); /* nothing is open */
    assert_int_equal(aborts, 0);
    opens_well();
    assert_true(iw_hunt_world_abort(&world, &place));
    assert_int_equal(aborts, 1);
    assert_string_equal(place.by, "A");
}

static void what_it_takes(void **state)
{
    (void)state;
    assert_int_equal(iw_hunt_world_resident(&world), 0);
    opens_well();
    assert_int_equal(iw_hunt_world_resident(&world), 0);
    group = 77;
    assert_int_equal(iw_hunt_world_resident(&world), 0);
    statm = "1000 25 3";
    assert_int_equal(iw_hunt_world_resident(&world), 200);
    statm = "1000";
    assert_int_equal(iw_hunt_world_resident(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_address_for_all, begin, end),
        cmocka_unit_test_setup_teardown(a_target_that_is_not_there, begin, end),
        cmocka_unit_test_setup_teardown(a_listener_for_it, begin, end),
        cmocka_unit_test_setup_teardown(no_listener_for_it, begin, end),
        cmocka_unit_test_setup_teardown(a_call, begin, end),
        cmocka_unit_test_setup_teardown(a_moment_for_its_end, begin, end),
        cmocka_unit_test_setup_teardown(how_it_has_ended, begin, end),
        cmocka_unit_test_setup_teardown(a_death, begin, end),
        cmocka_unit_test_setup_teardown(a_death_that_is_remembered, begin, end),
        cmocka_unit_test_setup_teardown(trouble_at_the_end, begin, end),
        cmocka_unit_test_setup_teardown(what_is_aborted, begin, end),
        cmocka_unit_test_setup_teardown(what_it_takes, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
