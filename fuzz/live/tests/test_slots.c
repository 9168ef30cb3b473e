/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of the loop call by call: the network, the clock and the peer are functions of the
 * test, and all that is asked of them is noted in one text. */
#include "support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "iwarp/transport.h"
#include "slot.h"

#define REQUEST "a4d504120494420526571204672616d654001000401020304"
#define REPLY "MPA ID Rep Frame\x40\x01\0\0"
#define SEND "a00124143000000000000000000000001000000000587be8c4"

enum { MS = 1000000, FIRST = 1000, LISTENER = 77, CONTROL = 78 };

static uint64_t now;
static char noted[4096];
static struct iw_target target;
static struct iw_hunt_world world;
static struct iw_hunt_loop *loop;
static int sockets, window; /* window: octets that one send takes at most; -ERRNO */
static int bad_socket, bad_connect, called, ready;
static const char *heard; /* what comes next; NULL: -heard_length is the errno */
static int heard_length, heard_most;
static struct epoll_event events[4];
static int n_events;
static const char *not_called_why;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
{
    size_t n = strlen(noted);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(noted + n, sizeof(noted) - n, format, arguments);
    va_end(arguments);
}

static void does(const char *expected)
{
    assert_string_equal(noted, expected);
    *noted = 0;
}

int __wrap_socket(int family, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t length);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *length, int flags);
ssize_t __wrap_send(int fd, const void *octets, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *octets, size_t room, int flags);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
int __wrap_shutdown(int fd, int how);
int __wrap_close(int fd);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *e);
int __wrap_epoll_wait(int epoll, struct epoll_event *list, int room, int ms);
uint64_t __wrap_iw_transport_now(void);
bool __wrap_iw_hunt_world_ready(struct iw_hunt_world *w);
bool __wrap_iw_hunt_world_call(struct iw_hunt_world *w);
void __wrap_iw_hunt_world_left(struct iw_hunt_world *w);
int __wrap_iw_hunt_world_fd(const struct iw_hunt_world *w);
void __wrap_iw_hunt_world_serve(struct iw_hunt_world *w,
                                void (*requested)(void *context, unsigned slot), void *context);

int __wrap_socket(int family, int type, int protocol)
{
    assert_int_equal(family, AF_INET);
    assert_int_equal(type, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_int_equal(protocol, 0);
    return bad_socket ? -1 : FIRST + sockets++;
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t length)
{
    assert_int_equal(length, sizeof(struct sockaddr_in));
    note(" connect%d:%d", fd, ntohs(((const struct sockaddr_in *)to)->sin_port));
    errno = bad_connect;
    return bad_connect ? -1 : 0;
}

int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *length, int flags)
{
    assert_true(!from && !length);
    assert_int_equal(fd, LISTENER);
    assert_int_equal(flags, SOCK_NONBLOCK | SOCK_CLOEXEC);
    note(" accept");
    return bad_socket ? -1 : FIRST + sockets++;
}

ssize_t __wrap_send(int fd, const void *octets, size_t length, int flags)
{
    const uint8_t *at = octets;

    assert_int_equal(flags, MSG_NOSIGNAL);
    if (window < 0) {
        errno = -window;
        window = errno == EINTR ? 1000 : window;
        note(" send%d:failed", fd);
        return -1;
    }
    if (length > (size_t)window) {
        length = (size_t)window;
        window = -EAGAIN;
    }
    note(" send%d:", fd);
    for (size_t i = 0; i < length; i++)
        if (i < 2 || i + 2 >= length)
            note("%02x", at[i]);
        else if (i == 2)
            note("..%zu..", length);
    return (ssize_t)length;
}

ssize_t __wrap_recv(int fd, void *octets, size_t room, int flags)
{
    assert_int_equal(flags, 0);
    assert_int_equal(room, IW_HUNT_ANSWERS);
    note(" recv%d", fd);
    if (heard_length < 0) {
        errno = -heard_length;
        return -1;
    }
    int length = heard_length < heard_most ? heard_length : heard_most;
    if (heard)
        memcpy(octets, heard, (size_t)length);
    else
        memset(octets, 0, (size_t)length);
    return length;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    if (level == IPPROTO_TCP && name == TCP_NODELAY) {
        assert_int_equal(length, sizeof(int));
        note(" nodelay%d=%d", fd, *(const int *)value);
    } else {
        const struct linger *l = value;

        assert_int_equal(level, SOL_SOCKET);
        assert_int_equal(name, SO_LINGER);
        assert_int_equal(length, sizeof(*l));
        note(" linger%d=%d/%d", fd, l->l_onoff, l->l_linger);
    }
    return 0;
}

int __wrap_shutdown(int fd, int how)
{
    assert_int_equal(how, SHUT_WR);
    note(" shutdown%d", fd);
    return 0;
}

int __wrap_close(int fd)
{
    note(" close%d", fd);
    return 0;
}

int __wrap_epoll_create1(int flags)
{
    assert_int_equal(flags, EPOLL_CLOEXEC);
    return 66;
}

int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *e)
{
    const struct iw_hunt_slot *s = e->data.ptr;

    assert_int_equal(epoll, 66);
    note(operation == EPOLL_CTL_ADD ? " add%d:" : " mod%d:", fd);
    note(e->events == EPOLLIN ? "in" : e->events == (EPOLLIN | EPOLLOUT) ? "inout" : "?");
    if (!s)
        note("/none");
    else if ((const void *)s == loop)
        note("/loop");
    else
        note("/%d", (int)(s - loop->slots));
    return 0;
}

int __wrap_epoll_wait(int epoll, struct epoll_event *list, int room, int ms)
{
    int n = n_events;

    assert_int_equal(epoll, 66);
    assert_int_equal(room, IW_HUNT_SLOTS + 2);
    note(" wait%d", ms);
    memcpy(list, events, sizeof(events));
    n_events = 0;
    return n;
}

uint64_t __wrap_iw_transport_now(void)
{
    return now;
}

bool __wrap_iw_hunt_world_ready(struct iw_hunt_world *w)
{
    assert_ptr_equal(w, &world);
    note(" ready");
    return ready;
}

bool __wrap_iw_hunt_world_call(struct iw_hunt_world *w)
{
    assert_ptr_equal(w, &world);
    note(" call");
    return called;
}

void __wrap_iw_hunt_world_left(struct iw_hunt_world *w)
{
    assert_ptr_equal(w, &world);
    note(" left");
}

int __wrap_iw_hunt_world_fd(const struct iw_hunt_world *w)
{
    return w->side == IW_SIDE_RESPONDER ? -1 : CONTROL;
}

void __wrap_iw_hunt_world_serve(struct iw_hunt_world *w,
                                void (*requested)(void *context, unsigned slot), void *context)
{
    assert_ptr_equal(w, &world);
    note(" serve");
    requested(context, 1);
}

static const char *not_called(struct iw_target *t, bool late)
{
    assert_ptr_equal(t, &target);
    note(late ? " late?" : " called?");
    return not_called_why;
}

/* ---- */

static void done(void *context, struct iw_hunt_done *d)
{
    assert_ptr_equal(context, &world);
    note(" {%d%s%s", (int)d->number, d->connected ? "" : " unconnected",
         d->requested ? " requested" : "");
    for (size_t i = 0; i < d->row.n; i++) {
        char text[64];

        iw_hunt_code_print(d->row.at[i].code, text, sizeof(text));
        note(", %s/%u", text, d->row.at[i].stimulus);
    }
    for (size_t i = 0; i < d->n_findings; i++)
        note(" !%s", iw_check_info(d->findings[i])->name);
    note("}");
    iw_hunt_input_free(d->input);
}

static void begin_as(enum iw_side side)
{
    now = 1000 * (uint64_t)MS;
    *noted = 0;
    target = (struct iw_target){.not_called = not_called, .connect_within = 3};
    world = (struct iw_hunt_world){.scale = 2,
                                   .target = &target,
                                   .listener = LISTENER,
                                   .slots = 2,
                                   .side = side,
                                   .to_length = sizeof(struct sockaddr_in)};
    for (int i = 0; i < 2; i++)
        *(struct sockaddr_in *)&world.to[i] =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)(7000 + i))};
    sockets = bad_socket = n_events = 0;
    bad_connect = EINPROGRESS;
    window = 1000;
    called = ready = true;
    heard = NULL;
    heard_length = -EAGAIN;
    heard_most = IW_HUNT_ANSWERS;
    not_called_why = NULL;
    loop = iw_hunt_loop_new(&world, done, &world);
}

static int begin(void **state)
{
    (void)state;
    begin_as(IW_SIDE_INITIATOR);
    return 0;
}

static int end(void **state)
{
    (void)state;
    iw_hunt_loop_free(loop);
    return 0;
}

static bool starts(const char *steps, uint64_t number)
{
    struct iw_hunt_input *in = support_input(steps);
    bool started = iw_hunt_loop_start(loop, in, number);

    if (!started)
        iw_hunt_input_free(in);
    return started;
}

/* Something happens on connection `slot`; the loop looks. */
static void happens(int slot, uint32_t what)
{
    events[n_events++] = (struct epoll_event){.events = what, .data.ptr = &loop->slots[slot]};
    iw_hunt_loop_step(loop, 1000);
}

static void hears(int slot, const char *octets, int length)
{
    heard = octets;
    heard_length = length;
    happens(slot, EPOLLIN);
}

/* ---- one connection ---- */

static void from_begin_to_end(void **state)
{
    (void)state;
    assert_true(starts(REQUEST " t50 " SEND, 5));
    assert_int_equal(iw_hunt_loop_busy(loop), 1);
    assert_int_equal(iw_hunt_loop_oldest(loop), 5);
    does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:4d50..24..0304");
    now += 3 * MS;
    hears(0, REPLY, 20);
    does(" wait7 recv1000 send1000:0012..24..be8c shutdown1000");
    hears(0, NULL, 0);
    does(" wait250 recv1000 close1000 left {5, reply rev 1 C/17, fin/19}");
    assert_int_equal(iw_hunt_loop_busy(loop), 0);
    assert_int_equal(iw_hunt_loop_oldest(loop), 0);
    assert_int_equal(iw_hunt_loop_answer_time(loop), (15 * MS + 3 * MS) / 16);
}

static void a_peer_that_ends_at_once(void **state)
{
    (void)state;
    starts(REQUEST " t50 " SEND, 5);
    hears(0, NULL, 0);
    does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:4d50..24..0304 wait10"
         " recv1000 close1000 left {5, fin/17}");
    starts(REQUEST " t50 " SEND, 6);
    hears(0, NULL, -ECONNRESET);
    does(" connect1001:7000 nodelay1001=1 add1001:in/0 send1001:4d50..24..0304 wait10"
         " recv1001 close1001 left {6, reset/17}");
    starts(REQUEST " t50 " SEND, 7); /* nothing yet */
    hears(0, NULL, -EAGAIN);
    hears(0, NULL, -EINTR);
    does(" connect1002:7000 nodelay1002=1 add1002:in/0 send1002:4d50..24..0304 wait10"
         " recv1002 wait10 recv1002");
}

/* What does not fit waits until there is room. */
static void octets_that_do_not_fit(void **state)
{
    (void)state;
    window = 4;
    starts(REQUEST " t50", 1);
    does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:4d504120 send1000:failed"
         " mod1000:inout/0");
    window = 6;
    happens(0, EPOLLOUT);
    does(" wait1000 mod1000:in/0 send1000:4944..6..6571 send1000:failed mod1000:inout/0");
    window = 1000;
    hears(0, REPLY, 20); /* meanwhile the peer may speak */
    does(" wait1000 recv1000");
    happens(0, EPOLLOUT);
    does(" wait1000 mod1000:in/0 send1000:2046..14..0304");
    happens(0, EPOLLOUT); /* nobody has asked for that */
    does(" wait3");
    now += 250 * MS;
    iw_hunt_loop_step(loop, 0);
    does(" wait0 shutdown1000");
}

static void a_connection_that_comes_late(void **state)
{
    (void)state;
    window = -EAGAIN;
    starts(REQUEST " t50", 1);
    does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:failed mod1000:inout/0");
    window = -EINTR;
    happens(0, EPOLLOUT);
    does(" wait1000 mod1000:in/0 send1000:failed send1000:4d50..24..0304");
    now += 2000 * MS;
}

static void a_connection_that_is_refused(void **state)
{
    (void)state;
    window = -EAGAIN;
    bad_connect = ECONNREFUSED;
    starts(REQUEST " t50", 1);
    does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:failed mod1000:inout/0");
    window = -ECONNREFUSED;
    happens(0, EPOLLOUT | EPOLLERR | EPOLLHUP);
    does(" wait1000 mod1000:in/0 send1000:failed close1000 left {1 unconnected,"
         " refused/17}");
    window = -EAGAIN;
    starts(REQUEST " t50", 2);
    heard_length = -ECONNREFUSED;
    happens(0, EPOLLERR);
    does(" connect1001:7000 nodelay1001=1 add1001:in/0 send1001:failed mod1001:inout/0"
         " wait1000 recv1001 close1001 left {2 unconnected, refused/17}");
    starts(REQUEST " t50", 3);
    happens(0, EPOLLHUP);
    does(" connect1002:7000 nodelay1002=1 add1002:in/0 send1002:failed mod1002:inout/0"
         " wait1000 recv1002 close1002 left {3 unconnected, refused/17}");
    starts(REQUEST " t50", 4); /* nothing ever happens */
    now += 2000 * (uint64_t)MS - 1;
    iw_hunt_loop_step(loop, 0);
    does(" connect1003:7000 nodelay1003=1 add1003:in/0 send1003:failed mod1003:inout/0"
         " wait0");
    now++;
    iw_hunt_loop_step(loop, 0);
    does(" wait0 linger1003=1/0 close1003 left {4 unconnected, silence/17}");
}

/* What it has said last is still read. */
static void a_peer_that_takes_no_more(void **state)
{
    (void)state;
    starts(REQUEST " t50 " SEND, 1);
    window = -EPIPE;
    hears(0, REPLY, 20);
    does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:4d50..24..0304 wait10"
         " recv1000 send1000:failed");
    hears(0, NULL, 0);
    does(" wait250 recv1000 close1000 left {1, reply rev 1 C/17, fin/18}");
    window = 10;
    starts(REQUEST " t50", 2);
    window = -EPIPE;
    happens(0, EPOLLOUT);
    assert_int_equal(loop->slots[0].deadline - now, 250 * MS);
    does(" connect1001:7000 nodelay1001=1 add1001:in/0 send1001:4d50..10..6571"
         " send1001:failed mod1001:inout/0 wait1000 mod1001:in/0 send1001:failed");
}

static void the_fuzzers_own_end(void **state)
{
    (void)state;
    starts(REQUEST " f01 " SEND " t50", 1);
    does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:4d50..24..0304"
         " shutdown1000");
    hears(0, REPLY, 20);
    does(" wait250 recv1000");
    hears(0, NULL, 0);
    does(" wait250 recv1000 close1000 left {1, reply rev 1 C/19, fin/19}");
    starts(REQUEST " r01 " SEND, 2);
    does(" connect1001:7000 nodelay1001=1 add1001:in/0 send1001:4d50..24..0304"
         " linger1001=1/0 close1001 left {2}");
}

static void octets_one_by_one(void **state)
{
    (void)state;
    starts("b0102 a03", 1);
    does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:01 send1000:0203"
         " shutdown1000");
}

/* No connection takes more than so much. */
static void a_peer_that_talks_on(void **state)
{
    (void)state;
    starts(REQUEST " t65535", 1);
    heard_most = IW_HUNT_ANSWERS;
    for (int i = 0; i < 64; i++)
        hears(0, NULL, IW_HUNT_ANSWERS);
    assert_int_equal(iw_hunt_loop_busy(loop), 1);
    *noted = 0;
    hears(0, NULL, 1);
    does(" wait250 recv1000 linger1000=1/0 close1000 left {1, no FPDU/17 !mpa-rep-key}");
}

/* Units that a plan has no room for are left out. */
static void more_frames_than_a_plan_has(void **state)
{
    uint8_t empty[8];
    struct iw_hunt_input *in = iw_hunt_input_new();
    uint8_t all[300 * 24];

    (void)state;
    (void)empty;
    struct iw_hunt_input *one = support_input(SEND);
    for (int i = 0; i < 300; i++)
        memcpy(all + i * 24, one->steps[0].octets, 24);
    iw_hunt_add(in, IW_FUZZ_A, all, sizeof(all));
    window = 100000;
    assert_true(iw_hunt_loop_start(loop, in, 1));
    does(" connect1000:7000 nodelay1000=1 add1000:in/0 send1000:0012..7200..be8c"
         " shutdown1000");
    iw_hunt_input_free(one);
}

/* ---- several ---- */

static void places(void **state)
{
    (void)state;
    assert_true(starts(REQUEST " t50", 7));
    assert_true(starts(REQUEST " t50", 6));
    *noted = 0;
    assert_false(starts(REQUEST " t50", 9));
    does("");
    assert_int_equal(iw_hunt_loop_busy(loop), 2);
    assert_int_equal(iw_hunt_loop_oldest(loop), 6);
    hears(1, NULL, 0);
    assert_int_equal(iw_hunt_loop_oldest(loop), 7);
    assert_int_equal(iw_hunt_loop_busy(loop), 1);
    *noted = 0;
    bad_socket = true;
    assert_false(starts(REQUEST " t50", 9));
    does("");
    bad_socket = false;
    bad_connect = EADDRNOTAVAIL;
    assert_false(starts(REQUEST " t50", 9));
    does(" connect1002:7001 close1002");
    bad_connect = 0;
    assert_true(starts(REQUEST " t50", 9));
    does(" connect1003:7001 nodelay1003=1 add1003:in/1 send1003:4d50..24..0304");
    iw_hunt_loop_abort(loop);
    does(" linger1000=1/0 close1000 left {7} linger1003=1/0 close1003 left {9}");
    assert_int_equal(iw_hunt_loop_busy(loop), 0);
    happens(0, EPOLLIN | EPOLLOUT); /* of one that is gone */
    does(" wait1000");
}

static void what_an_agent_says(void **state)
{
    (void)state;
    iw_hunt_loop_attach(loop);
    does(" add78:in/none");
    starts(REQUEST " t50", 1);
    starts(REQUEST " t50", 2);
    *noted = 0;
    events[0].data.ptr = NULL;
    n_events = 1;
    iw_hunt_loop_step(loop, 0);
    iw_hunt_loop_abort(loop);
    does(" wait0 serve linger1000=1/0 close1000 left {1} linger1001=1/0 close1001 left {2"
         " requested}");
}

/* ---- a peer that connects ---- */

static void it_calls(void **state)
{
    (void)state;
    iw_hunt_loop_free(loop);
    begin_as(IW_SIDE_RESPONDER);
    iw_hunt_loop_attach(loop);
    does(" add77:in/loop");
    ready = false;
    assert_false(starts("t50 " REQUEST, 1));
    does(" ready");
    ready = true;
    assert_true(starts("t50 " REQUEST, 1));
    does(" ready call");
    iw_hunt_loop_step(loop, 1000);
    does(" wait10 called?");
    bad_socket = true;
    events[n_events++].data.ptr = loop;
    iw_hunt_loop_step(loop, 5);
    does(" wait5 accept called?");
    bad_socket = false;
    now += 7 * MS;
    events[n_events++].data.ptr = loop;
    iw_hunt_loop_step(loop, 5);
    does(" wait5 accept nodelay1000=1 add1000:in/0");
    now += 4 * MS;
    hears(0, "MPA ID Req Frame\x40\x01\0\0", 20);
    does(" wait6 recv1000 send1000:4d50..24..0304 shutdown1000");
    assert_int_equal(iw_hunt_loop_answer_time(loop), (15 * MS + 4 * MS) / 16);
    events[n_events++].data.ptr = loop; /* once more */
    iw_hunt_loop_step(loop, 5);
    does(" wait5 accept close1001");
}

static void it_does_not_call(void **state)
{
    (void)state;
    iw_hunt_loop_free(loop);
    begin_as(IW_SIDE_RESPONDER);
    called = false;
    assert_true(starts("t50", 1));
    does(" ready call left {1 unconnected, refused/16}");
    called = true;
    starts("t50", 2);
    now += 6000 * (uint64_t)MS - 1;
    iw_hunt_loop_step(loop, 0);
    does(" ready call wait0 called?");
    now++;
    not_called_why = "nobody";
    iw_hunt_loop_step(loop, 0);
    does(" wait0 called? left {2 unconnected, refused/16}");
    assert_string_equal(world.why, "nobody");
    starts("t50", 3);
    now += 6000 * (uint64_t)MS;
    not_called_why = NULL;
    iw_hunt_loop_step(loop, 0);
    does(" ready call wait0 called? late?");
    iw_hunt_loop_abort(loop);
    does(" left {3 unconnected}");
}

/* ---- time ---- */

/* How long a step waits: what it says, in ms; whether the peer has replied; the mean time of an
 * answer and the patience, in us. */
static const struct {
    unsigned ms, replied, answer_us, patience_us, expected_us;
} waits[] = {
    {1, 0, 1000, 0, 1000},
    {20, 0, 1000, 0, 10000},
    {49, 0, 10000, 0, 49000},
    {49, 0, 4000, 0, 40000},
    {50, 0, 4000, 0, 40000},
    {50, 0, 20000, 0, 200000},
    {50, 0, 100001, 0, 1000000},
    {50, 0, 10, 0, 1000},
    {60, 0, 10, 70, 1000},
    {60, 0, 10, 7000, 7000},
    {60, 0, 100001, 1000001, 1000001},
    {1, 1, 1000, 0, 1000},
    {20, 1, 1000, 0, 3000},
    {20, 1, 100, 0, 1000},
    {20, 1, 8000, 0, 20000},
    {60, 1, 18000, 0, 50000},
    {60, 1, 10000, 0, 30000},
    {49, 1, 10, 600000, 50000},
    {60, 1, 10, 600000, 60000},
    {60, 1, 10, 55000, 55000},
    {0, 0, 1000, 0, 0},
};

static void how_long_a_step_waits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
        char steps[128];

        loop->answer_time = waits[i].answer_us * 1000u;
        loop->patience = waits[i].patience_us * 1000u;
        snprintf(steps, sizeof(steps), REQUEST " f01 t%u", waits[i].ms);
        if (waits[i].replied) {
            snprintf(steps, sizeof(steps), REQUEST " t50 t%u", waits[i].ms);
            starts(steps, 1);
            hears(0, "x", 1);
        } else {
            snprintf(steps, sizeof(steps), REQUEST " t%u", waits[i].ms);
            starts(steps, 1);
        }
        assert_int_equal(loop->slots[0].phase, WAITING);
        assert_int_equal(loop->slots[0].deadline - now, waits[i].expected_us * 1000u);
        iw_hunt_loop_abort(loop);
    }
}

/* A peer that has answered gets as long for its end as it was said. */
static void how_long_an_end_may_take(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        iw_hunt_loop_patience(loop, 0, i & 1 ? 0.75 : 0);
        assert_int_equal(loop->linger, i & 1 ? 750 * MS : 0);
        starts(REQUEST " t50", 1);
        if (i & 2)
            hears(0, "x", 1);
        else
            now += 10 * MS;
        iw_hunt_loop_step(loop, 0);
        assert_int_equal(loop->slots[0].phase, LINGERING);
        assert_int_equal(loop->slots[0].deadline - now, (i == 3 ? 750 : 250) * MS);
        iw_hunt_loop_abort(loop);
    }
    iw_hunt_loop_patience(loop, 1.5, 0);
    assert_int_equal(loop->patience, 1500 * (uint64_t)MS);
}

/* In whole milliseconds, until the next deadline at the latest. */
static void how_long_the_loop_waits(void **state)
{
    (void)state;
    iw_hunt_loop_step(loop, 0);
    iw_hunt_loop_step(loop, 30);
    starts("a01 t5", 1);
    iw_hunt_loop_step(loop, 30);
    now++;
    iw_hunt_loop_step(loop, 30);
    iw_hunt_loop_step(loop, 4);
    now += 4 * MS - 1;
    iw_hunt_loop_step(loop, 30);
    does(" wait0 wait30 connect1000:7000 nodelay1000=1 add1000:in/0 send1000:01 wait5"
         " wait5 wait4 wait1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(from_begin_to_end, begin, end),
        cmocka_unit_test_setup_teardown(a_peer_that_ends_at_once, begin, end),
        cmocka_unit_test_setup_teardown(octets_that_do_not_fit, begin, end),
        cmocka_unit_test_setup_teardown(a_connection_that_comes_late, begin, end),
        cmocka_unit_test_setup_teardown(a_connection_that_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_peer_that_takes_no_more, begin, end),
        cmocka_unit_test_setup_teardown(the_fuzzers_own_end, begin, end),
        cmocka_unit_test_setup_teardown(octets_one_by_one, begin, end),
        cmocka_unit_test_setup_teardown(a_peer_that_talks_on, begin, end),
        cmocka_unit_test_setup_teardown(more_frames_than_a_plan_has, begin, end),
        cmocka_unit_test_setup_teardown(places, begin, end),
        cmocka_unit_test_setup_teardown(what_an_agent_says, begin, end),
        cmocka_unit_test_setup_teardown(it_calls, begin, end),
        cmocka_unit_test_setup_teardown(it_does_not_call, begin, end),
        cmocka_unit_test_setup_teardown(how_long_a_step_waits, begin, end),
        cmocka_unit_test_setup_teardown(how_long_an_end_may_take, begin, end),
        cmocka_unit_test_setup_teardown(how_long_the_loop_waits, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
