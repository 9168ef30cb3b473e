/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EMSS and TCP segments of real sockets. The program runs in a network of its own where it may, so
 * that it can change the MTU of its loopback interface; elsewhere those tests are skipped.
 */
#include "transport_world.h"

#include "endpoint/endpoint_internal.h"
#include "transport/transport_internal.h"

#include <linux/tcp.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>

enum { AREA = 200000 };

static bool own_network;
static uint8_t source[AREA], sink[AREA];

/* The segments that the client framed, and the results of its work. */
struct sender {
    struct iw_connection *c;
    unsigned fpdus;
    uint32_t longest; /* ULPDU */
    unsigned done, echoes;
    bool ended;
};

static void tell(void *context, const struct iw_trace *t)
{
    struct sender *s = context;
    if (t->kind != IW_TRACE_FPDU_OUT)
        return;
    s->fpdus++;
    if (t->ulpdu_length > s->longest)
        s->longest = t->ulpdu_length;
}

static void sender_ready(void *context, struct iw_connection *c)
{
    struct sender *s = context;
    struct iw_completion done;
    while (iw_endpoint_poll(iw_connection_endpoint(c), &done, 1) == 1)
        if (done.status == IW_STATUS_OK)
            (*(done.opcode == IW_WORK_RECV ? &s->echoes : &s->done))++;
}

static void sender_ended(void *context, struct iw_connection *c)
{
    struct sender *s = context;
    (void)c;
    s->ended = true;
}

static const struct iw_connection_ops sender_ops = {.ready = sender_ready, .ended = sender_ended};

static bool set_loopback(int mtu)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    request.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
    bool good = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    request.ifr_mtu = mtu;
    good = good && ioctl(fd, SIOCSIFMTU, &request) == 0;
    close(fd);
    return good;
}

static void need_own_network(int mtu)
{
    if (!own_network) {
        print_message("no network of its own is permitted here\n");
        skip();
    }
    assert_true(set_loopback(mtu));
}

/* A client whose socket announces and keeps to `maxseg` if that is not 0. */
static void open_sender(struct world *w, struct sender *s, int maxseg, bool markers)
{
    w->config.mpa.markers = markers;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(at.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = 1 << 20;
    /* A full send buffer would cut batches anywhere. */
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
    if (maxseg != 0)
        assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &maxseg, sizeof(maxseg)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    struct iw_endpoint_config config = w->config;
    config.role = IW_MPA_INITIATOR;
    config.send_depth = 256;
    config.trace = tell;
    config.trace_context = s;
    s->c = iw_transport_adopt(w->reactor, w->domain, fd, &config, &sender_ops, s);
    assert_non_null(s->c);
}

static struct iw_region register_sink(struct world *w)
{
    struct iw_region r = {
        .base = sink, .length = AREA, .pd = w->config.pd, .access = IW_ACCESS_REMOTE_WRITE};
    assert_int_equal(iw_domain_register(w->domain, &r), 0);
    return r;
}

static void post_writes(struct sender *s, const struct iw_region *to, unsigned count, size_t length)
{
    struct iw_iov sge = {source, length};
    struct iw_work work = {
        .opcode = IW_WORK_WRITE, .sge = &sge, .sge_count = 1, .remote_stag = to->stag};
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(iw_endpoint_post(iw_connection_endpoint(s->c), &work, 0), IW_OK);
    iw_connection_kick(s->c);
}

static void run_until(struct world *w, const struct sender *s, const unsigned *what, unsigned count)
{
    uint64_t limit = iw_transport_now() + LONG * UINT64_C(1000000);
    while (*what < count) {
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
        assert_false(s->ended);
        assert_true(iw_transport_now() < limit);
    }
}

/* A Send that the server echoes: all before it has left TCP. */
static void exchange(struct world *w, struct sender *s)
{
    struct iw_iov sge = {source, 16};
    struct iw_work work = {.opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
    struct iw_iov in = {sink, 16};
    unsigned before = s->echoes;
    assert_int_equal(iw_endpoint_post_recv(iw_connection_endpoint(s->c), 1, &in, 1), IW_OK);
    assert_int_equal(iw_endpoint_post(iw_connection_endpoint(s->c), &work, 0), IW_OK);
    iw_connection_kick(s->c);
    run_until(w, s, &s->echoes, before + 1);
}

/* Segments with payload, repetitions not counted. */
static unsigned segments_sent(const struct sender *s)
{
    struct tcp_info info = {.tcpi_state = 0};
    socklen_t length = sizeof(info);
    assert_int_equal(getsockopt(s->c->fd, IPPROTO_TCP, TCP_INFO, &info, &length), 0);
    return info.tcpi_data_segs_out - info.tcpi_total_retrans;
}

/* The MSS that was agreed on less the options of every segment, of which timestamps are 12. */
static void mulpdu_comes_from_the_emss(void **state)
{
    struct world *w = *state;
    struct iw_region r = register_sink(w);
    for (unsigned k = 0; k < 2; k++) {
        struct sender s = {.c = NULL};
        open_sender(w, &s, 500, k == 1);
        uint32_t emss = s.c->ep->config.emss;
        assert_true(emss == 500 || emss == 488);
        post_writes(&s, &r, 1, 20000);
        exchange(w, &s);
        /* RFC 5044 §4.5: 4 * ceil(EMSS / 512) more with Markers. */
        assert_int_equal(s.longest, emss - (k == 1 ? 10 : 6));
        assert_memory_equal(source, sink, 20000);
        iw_connection_destroy(s.c);
        iw_listener_destroy(w->listener);
    }
}

/* Two connections of one program, which take turns: the MULPDU of each comes from its own EMSS. */
static void each_connection_has_its_own_emss(void **state)
{
    struct world *w = *state;
    static const int maxseg[2] = {500, 1000};
    struct iw_region r = register_sink(w);
    struct sender s[2] = {{.c = NULL}, {.c = NULL}};
    struct iw_listener *first = NULL;
    for (unsigned k = 0; k < 2; k++) {
        open_sender(w, &s[k], maxseg[k], false);
        if (k == 0)
            first = w->listener;
    }
    for (unsigned round = 0; round < 3; round++)
        for (unsigned k = 0; k < 2; k++) {
            s[k].longest = 0;
            post_writes(&s[k], &r, 1, 20000);
            exchange(w, &s[k]);
            uint32_t options = (uint32_t)maxseg[k] - s[k].c->ep->config.emss;
            assert_true(options == 0 || options == 12);
            assert_int_equal(s[k].longest, (uint32_t)maxseg[k] - options - 6);
        }
    for (unsigned k = 0; k < 2; k++)
        iw_connection_destroy(s[k].c);
    iw_listener_destroy(w->listener);
    iw_listener_destroy(first);
}

/* 100 FPDUs of 1020 octets would fill 71 segments of 1448; aligned, each has its own. */
static void each_segment_begins_with_an_fpdu(void **state)
{
    struct world *w = *state;
    need_own_network(1500);
    struct iw_region r = register_sink(w);
    for (unsigned k = 0; k < 4; k++) {
        struct sender s = {.c = NULL};
        open_sender(w, &s, 0, k % 2 == 1);
        assert_int_equal(s.c->ep->config.emss, 1448);
        if (k > 1)
            s.c->ep->lists_min = 0; /* two with one call */
        exchange(w, &s);
        unsigned segments = segments_sent(&s), fpdus = s.fpdus;
        post_writes(&s, &r, 100, 1000);
        run_until(w, &s, &s.done, 101);
        exchange(w, &s);
        assert_int_equal(s.fpdus - fpdus, 101);
        /* The Send of the exchange is a segment of its own, or shares the last one. */
        segments = segments_sent(&s) - segments;
        assert_true(segments == 100 || segments == 101);
        /* 70 full FPDUs, and one of what is left with room for the Send. */
        segments = segments_sent(&s);
        fpdus = s.fpdus;
        size_t payload = k % 2 == 1 ? 1430 - 14 : 1442 - 14;
        post_writes(&s, &r, 1, 70 * payload + 40);
        exchange(w, &s);
        assert_int_equal(s.fpdus - fpdus, 72);
        segments = segments_sent(&s) - segments;
        assert_true(segments == 71 || segments == 72);
        iw_connection_destroy(s.c);
        iw_listener_destroy(w->listener);
    }
}

/* The path MTU shrinks and grows in the middle of a connection. */
static void mulpdu_follows_the_path(void **state)
{
    struct world *w = *state;
    static const int mtus[] = {1500, 9000, 600};
    static const uint32_t emss[] = {1448, 8948, 548};
    static const uint32_t ulpdu[] = {1442, 8942, 542};
    need_own_network(65536);
    struct iw_region r = register_sink(w);
    struct sender s = {.c = NULL};
    open_sender(w, &s, 0, false);
    post_writes(&s, &r, 1, AREA);
    exchange(w, &s);
    assert_true(s.longest > 20000);
    for (unsigned k = 0; k < 3; k++) {
        uint64_t limit = iw_transport_now() + LONG * UINT64_C(1000000);
        assert_true(set_loopback(mtus[k]));
        while (s.c->ep->config.emss != emss[k]) {
            assert_true(iw_transport_now() < limit);
            exchange(w, &s);
        }
        s.longest = 0;
        post_writes(&s, &r, 1, AREA);
        exchange(w, &s);
        assert_int_equal(s.longest, ulpdu[k]);
    }
    assert_memory_equal(source, sink, AREA);
}

static int enter_own_network(void **state)
{
    (void)state;
    for (size_t i = 0; i < AREA; i++)
        source[i] = (uint8_t)(i * 13 + i / 257);
    own_network = (unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0);
    return own_network && !set_loopback(65536) ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(mulpdu_comes_from_the_emss),
        TEST(each_connection_has_its_own_emss),
        TEST(each_segment_begins_with_an_fpdu),
        TEST(mulpdu_follows_the_path),
    };
    return cmocka_run_group_tests(tests, enter_own_network, NULL);
}
