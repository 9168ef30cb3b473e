/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fault at each point of a conversation: every n-th call of the system or of the allocator fails,
 * comes short or is interrupted, the clock jumps, the stream ends or breaks at every octet. Nothing
 * is placed or completed wrongly, every request completes or is flushed, memory and descriptors
 * return; what is only a delay delays only.
 *
 * IW_STRIDE=1 tries each of the points, IW_STRIDE=3 each call and each third octet, beginning with
 * the one that IW_PHASE says (three nights of tools/dev nightly); otherwise each 30th of the calls
 * and each 293rd octet.
 */
#include "faults_conversation.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

enum call { RECV, LANDING, SENDING, EPOLL_WAIT, EPOLL_CTL, GETSOCKOPT, MEMORY, CLOCK, CALLS };
enum how { FAIL, NOTHING, ONE, HALF, SHORT, JUMP };

static const struct fault {
    const char *name;
    enum call call;
    enum how how;
    int error;
    bool delays; /* only: the conversation goes on */
} faults[] = {
    {"recv EINTR", RECV, FAIL, EINTR, true},
    {"recv EAGAIN", RECV, FAIL, EAGAIN, true},
    {"recv ECONNRESET", RECV, FAIL, ECONNRESET, false},
    {"recv ENOMEM", RECV, FAIL, ENOMEM, false},
    {"recv of nothing", RECV, NOTHING, 0, false},
    {"recv of one octet", RECV, ONE, 0, true},
    {"recv of half", RECV, HALF, 0, true},
    {"recv in place: EINTR", LANDING, FAIL, EINTR, true},
    {"recv in place: EAGAIN", LANDING, FAIL, EAGAIN, true},
    {"recv in place: ECONNRESET", LANDING, FAIL, ECONNRESET, false},
    {"recv in place: ENOMEM", LANDING, FAIL, ENOMEM, false},
    {"recv in place of nothing", LANDING, NOTHING, 0, false},
    {"recv in place of one octet", LANDING, ONE, 0, true},
    {"recv in place of half", LANDING, HALF, 0, true},
    {"sending: EINTR", SENDING, FAIL, EINTR, true},
    {"sending: EAGAIN", SENDING, FAIL, EAGAIN, true},
    {"sending: ENOBUFS", SENDING, FAIL, ENOBUFS, false},
    {"sending: ENOMEM", SENDING, FAIL, ENOMEM, false},
    {"sending: EPIPE", SENDING, FAIL, EPIPE, false},
    {"sending: ECONNRESET", SENDING, FAIL, ECONNRESET, false},
    {"sending of one octet", SENDING, ONE, 0, true},
    {"sending of half", SENDING, HALF, 0, true},
    {"epoll_wait EINTR", EPOLL_WAIT, FAIL, EINTR, true},
    {"epoll_wait of nothing", EPOLL_WAIT, NOTHING, 0, true},
    {"epoll_ctl ENOMEM", EPOLL_CTL, FAIL, ENOMEM, false},
    {"getsockopt ENOBUFS", GETSOCKOPT, FAIL, ENOBUFS, false}, /* of a connect it is its end */
    {"allocation ENOMEM", MEMORY, FAIL, ENOMEM, false},
    {"clock an hour ahead", CLOCK, JUMP, 0, false},
};
static const struct fault short_landing = {"recv in place, short", LANDING, SHORT, 0, true};

/* The faults and events of the current run. */
static struct {
    const struct fault *fault;
    unsigned long at, calls[CALLS]; /* the fault comes at this call */
    size_t most[2];                 /* octets of each receiving and sending call, 0: any */
    size_t piece;                   /* octets of each recv that is not in place, 0: any */
    size_t count;                   /* SHORT: octets of the call */
    size_t room;                    /* of the call at `at`, if it is one in place */
    int emss;                       /* that the socket reports, 0: its own */
    bool spoilt;                    /* a list was sent after one that was cut */
    size_t together;                /* lists that were sent with one before them */
    size_t cut[2], passed[2];       /* octets to the client and to the server; 0: no cut */
    bool breaks;                    /* the cut is a reset, no end */
    int client;                     /* descriptor */
    time_t ahead;
    bool armed;
    long blocks;
} now = {.client = -1};

static bool struck(enum call call)
{
    return now.armed && ++now.calls[call] == now.at && now.fault != NULL && now.fault->call == call;
}

#define WRAPPED(type, name, parameters)                                                            \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters

WRAPPED(int, connect, (int fd, const struct sockaddr *to, socklen_t length))
{
    now.client = fd;
    return __real_connect(fd, to, length);
}

/* Returns the octets that may be read now: up to the cut, after which there are none. */
static size_t before_cut(size_t side, size_t length)
{
    size_t left = now.cut[side] - now.passed[side];
    return now.cut[side] == 0 || length < left ? length : left;
}

static size_t total_of(const struct msghdr *m)
{
    size_t total = 0;
    for (size_t i = 0; i < m->msg_iovlen; i++)
        total += m->msg_iov[i].iov_len;
    return total;
}

/* As much of the list as that. */
static void shorten(struct msghdr *m, size_t length)
{
    for (size_t i = 0; i < m->msg_iovlen; i++) {
        struct iovec *piece = &m->msg_iov[i];
        piece->iov_len = piece->iov_len < length ? piece->iov_len : length;
        length -= piece->iov_len;
    }
}

static size_t least(size_t length, size_t limit)
{
    return limit != 0 && limit < length ? limit : length;
}

ssize_t __real_recvmsg(int fd, struct msghdr *m, int flags);

static ssize_t receive(enum call call, int fd, struct msghdr *m, int flags)
{
    size_t side = fd == now.client ? 0 : 1, length = total_of(m);
    bool hit = struck(call);
    if (call == LANDING && now.calls[call] == now.at)
        now.room = length;
    if (hit) {
        errno = now.fault->error;
        if (now.fault->how == FAIL || now.fault->how == NOTHING)
            return now.fault->how == FAIL ? -1 : 0;
        length = now.fault->how == ONE     ? 1
                 : now.fault->how == SHORT ? now.count
                 : call == RECV            ? 200
                                           : (length + 1) / 2;
    }
    length = least(least(length, now.most[0]), call == RECV ? now.piece : 0);
    if (now.armed && now.cut[side] != 0 && before_cut(side, length) == 0) {
        errno = ECONNRESET;
        return now.breaks ? -1 : 0;
    }
    shorten(m, before_cut(side, length));
    ssize_t n = __real_recvmsg(fd, m, flags);
    if (n > 0)
        now.passed[side] += (size_t)n;
    return n;
}

WRAPPED(ssize_t, recv, (int fd, void *to, size_t length, int flags))
{
    struct iovec piece = {to, length};
    struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1};
    return receive(RECV, fd, &m, flags);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
    return receive(LANDING, fd, m, flags);
}

WRAPPED(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags))
{
    size_t most = now.most[1];
    if (struck(SENDING)) {
        errno = now.fault->error;
        /* Then the connection is over. */
        if (errno == EPIPE || errno == ECONNRESET)
            assert_int_equal(shutdown(fd, SHUT_RDWR), 0);
        errno = now.fault->error;
        if (now.fault->how == FAIL)
            return -1;
        most = now.fault->how == ONE ? 1 : (total_of(m) + 1) / 2;
    }
    if (most == 0)
        return __real_sendmsg(fd, m, flags);
    struct msghdr part = *m;
    struct iovec first = m->msg_iov[0];
    size_t k = 0;
    while (k + 1 < m->msg_iovlen && first.iov_len == 0)
        first = m->msg_iov[++k];
    first.iov_len = first.iov_len < most ? first.iov_len : most;
    part.msg_iov = &first;
    part.msg_iovlen = 1;
    return __real_sendmsg(fd, &part, flags);
}

WRAPPED(ssize_t, send, (int fd, const void *from, size_t length, int flags))
{
    struct iovec piece = {(void *)(uintptr_t)from, length};
    const struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1};
    return __wrap_sendmsg(fd, &m, flags);
}

/* As Linux does, but each of them may have a fault. */
WRAPPED(int, sendmmsg, (int fd, struct mmsghdr *m, unsigned count, int flags))
{
    unsigned sent = 0;
    for (; sent < count; sent++) {
        ssize_t n = __wrap_sendmsg(fd, &m[sent].msg_hdr, flags);
        if (n < 0)
            return sent > 0 ? (int)sent : -1;
        m[sent].msg_len = (unsigned)n;
        if ((size_t)n == total_of(&m[sent].msg_hdr))
            continue;
        if (!unjudged)
            return (int)sent + 1;
        now.spoilt |= sent + 1 < count;
    }
    now.together += count - 1;
    return (int)count;
}

WRAPPED(int, epoll_wait, (int epoll, struct epoll_event *e, int count, int timeout))
{
    if (struck(EPOLL_WAIT)) {
        errno = now.fault->error;
        return now.fault->how == FAIL ? -1 : 0;
    }
    return __real_epoll_wait(epoll, e, count, timeout);
}

WRAPPED(int, epoll_ctl, (int epoll, int operation, int fd, struct epoll_event *e))
{
    if (struck(EPOLL_CTL)) {
        errno = now.fault->error;
        return -1;
    }
    return __real_epoll_ctl(epoll, operation, fd, e);
}

WRAPPED(int, getsockopt, (int fd, int level, int option, void *value, socklen_t *length))
{
    if (struck(GETSOCKOPT)) {
        errno = now.fault->error;
        return -1;
    }
    int result = __real_getsockopt(fd, level, option, value, length);
    if (result == 0 && now.emss != 0 && level == IPPROTO_TCP && option == TCP_MAXSEG)
        memcpy(value, &now.emss, sizeof(now.emss));
    return result;
}

WRAPPED(int, clock_gettime, (clockid_t clock, struct timespec *t))
{
    int result = __real_clock_gettime(clock, t);
    if (struck(CLOCK))
        now.ahead = 3600;
    t->tv_sec += now.ahead;
    return result;
}

static void *counted(void *block)
{
    now.blocks += block != NULL;
    return block;
}

static bool no_memory(void)
{
    bool none = struck(MEMORY);
    if (none)
        errno = ENOMEM;
    return none;
}

WRAPPED(void *, aligned_alloc, (size_t alignment, size_t size))
{
    return no_memory() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

WRAPPED(void *, malloc, (size_t size))
{
    return no_memory() ? NULL : counted(__real_malloc(size));
}

WRAPPED(void *, calloc, (size_t count, size_t size))
{
    return no_memory() ? NULL : counted(__real_calloc(count, size));
}

WRAPPED(void *, realloc, (void *old, size_t size))
{
    if (no_memory())
        return NULL;
    return old == NULL ? counted(__real_realloc(old, size)) : __real_realloc(old, size);
}

WRAPPED(void, free, (void *block))
{
    now.blocks -= block != NULL;
    __real_free(block);
}

static size_t descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t n = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n;
}

enum {
    PIECE = 300 /* of a long FPDU a recv takes the beginning only: what follows is in place */,
    SMALL_EMSS = 700 /* for several lists at once */
};

/* One conversation with what is set in `now`. True if it came to its end. */
static bool converse(enum style style)
{
    struct iw_host_port at;
    size_t before = descriptors();
    long blocks = now.blocks;
    memset(now.calls, 0, sizeof(now.calls));
    memset(now.passed, 0, sizeof(now.passed));
    now.ahead = 0;
    now.client = -1;
    now.piece = style == IN_PLACE || style == AHEAD ? PIECE : 0;
    now.emss = style == PLAIN ? SMALL_EMSS : 0;
    now.together = 0;
    struct talk *t = begin_talk(style, &at);
    now.armed = true;
    hold_talk(t, &at);
    now.armed = false;
    bool whole = judge_conversation(t);
    end_talk(t);
    assert_int_equal(descriptors(), before);
    assert_int_equal(now.blocks, blocks);
    return whole;
}

static size_t stride(void)
{
    const char *text = getenv("IW_STRIDE");
    size_t n = text != NULL ? strtoul(text, NULL, 10) : 293;
    return n ? n : 1;
}

/* Returns how far the next point is: each of the first `few` is tried, then those of the phase. */
static size_t step(size_t at, size_t few)
{
    const char *phase = getenv("IW_PHASE");
    if (at == few && phase != NULL)
        return 1 + strtoul(phase, NULL, 10) % stride();
    return at < few ? 1 : stride();
}

static void nothing_happens(void **state)
{
    (void)state;
    assert_true(converse(PLAIN));
    assert_true(now.together > 20);
    assert_true(converse(MARKERS));
    assert_true(converse(IN_PLACE));
    assert_true(now.calls[LANDING] >= LONGS + LONGS / 2);
    unsigned long in_place = now.calls[LANDING];
    assert_true(converse(AHEAD));
    print_message("%lu receives in place, %lu with guesses\n", in_place, now.calls[LANDING]);
    assert_true(now.calls[LANDING] != in_place);
}

static void a_call_has_a_fault(void **state)
{
    size_t points = 0;
    (void)state;
    now.fault = NULL;
    for (enum style style = PLAIN; style < STYLES; style++) {
        assert_true(converse(style));
        unsigned long calls[CALLS];
        memcpy(calls, now.calls, sizeof(calls));
        for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
            const struct fault *f = &faults[i];
            /* The first calls are those of the start-up: each of them. */
            for (unsigned long at = 1; at <= calls[f->call];
                 at += at < 12 ? 1 : stride() / 10 + 1) {
                now.fault = f;
                now.at = at;
                bool whole = converse(style);
                if (f->delays && !whole)
                    print_error("%s at call %lu\n", f->name, at);
                assert_true(whole || !f->delays);
                points++;
            }
        }
        now.fault = NULL;
    }
    print_message("%zu points of calls\n", points);
}

static void each_call_is_short(void **state)
{
    size_t runs = 0;
    (void)state;
    for (size_t most = 1; most <= 1500; most += step(most, 5)) {
        for (int call = 0; call < 2; call++) {
            now.most[call] = most;
            for (enum style style = PLAIN; style < STYLES; style++) {
                assert_true(converse(style));
                runs++;
            }
            now.most[call] = 0;
        }
    }
    print_message("%zu runs with short reads or writes\n", runs);
}

/* A sendmmsg that goes on after a list that is cut: the connection ends. */
static void a_list_behind_one_that_is_cut(void **state)
{
    static const struct fault half = {"sending of half", SENDING, HALF, 0, true};
    size_t spoilt = 0;
    (void)state;
    now.fault = &half;
    unjudged = true;
    for (unsigned long at = 1; at <= 60; at++) {
        struct iw_host_port to;
        struct talk *t = begin_talk(PLAIN, &to);
        memset(now.calls, 0, sizeof(now.calls));
        now.at = at;
        now.spoilt = false;
        now.emss = SMALL_EMSS;
        now.armed = true;
        hold_talk(t, &to);
        now.armed = false;
        assert_int_equal(t->client.error == EIO || t->server.error == EIO, now.spoilt);
        spoilt += now.spoilt;
        end_talk(t);
    }
    unjudged = false;
    now.fault = NULL;
    now.emss = 0;
    print_message("%zu streams spoilt\n", spoilt);
    assert_true(spoilt > 0);
}

/* Each receive in place comes short by each number of octets. */
static void a_receive_in_place_is_short(void **state)
{
    size_t points = 0;
    (void)state;
    for (enum style style = IN_PLACE; style <= AHEAD; style++) {
        now.fault = NULL;
        assert_true(converse(style));
        unsigned long receives = now.calls[LANDING];
        now.fault = &short_landing;
        for (now.at = 1; now.at <= receives; now.at++) {
            now.count = 1;
            do {
                now.room = 0;
                assert_true(converse(style));
                points++;
                now.count += step(now.count, 5);
            } while (now.count < now.room);
        }
    }
    now.fault = NULL;
    print_message("%zu lengths of receives in place\n", points);
}

static void the_stream_ends_at_an_octet(void **state)
{
    static const enum style styles[] = {MARKERS, IN_PLACE, AHEAD};
    size_t points = 0, octets = 0, length[2];
    (void)state;
    for (size_t i = 0; i < sizeof(styles) / sizeof(*styles); i++) {
        assert_true(converse(styles[i]));
        memcpy(length, now.passed, sizeof(length));
        octets += length[0] + length[1];
        for (size_t side = 0; side < 2; side++) {
            for (size_t at = 1; at < length[side]; at += step(at, 24)) {
                for (int breaks = 0; breaks < 2; breaks++) {
                    now.cut[side] = at;
                    now.breaks = breaks;
                    converse(styles[i]);
                    now.cut[side] = 0;
                    points++;
                }
            }
        }
    }
    print_message("%zu points of %zu octets, ended and broken\n", points, octets);
}

/* The leftovers of a failed test do not affect the next. */
static int set_calm(void **state)
{
    (void)state;
    memset(&now, 0, sizeof(now));
    now.client = -1;
    return 0;
}

#define TEST(f) cmocka_unit_test_setup(f, set_calm)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_happens),
        TEST(a_call_has_a_fault),
        TEST(each_call_is_short),
        TEST(a_list_behind_one_that_is_cut),
        TEST(a_receive_in_place_is_short),
        TEST(the_stream_ends_at_an_octet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
