/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases over crafted segments against a peer with a TCP of the same making: what it should not have
 * answered yet is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <poll.h>
#include <pthread.h>

#include "hex.h"
#include "iwarp/transport.h"
#include "play.h"
#include "station/craft_internal.h"

#define REPLY "4d504120494420526570204672616d65 00010000"
#define RESPONSE_1 "000ec142 00000007 00000000 00000001 00000000"
#define RESPONSE_2 "000ec142 00000007 00000000 00000002 00000000"

enum { REQUEST_SIZE = 20, READ_REQUESTS = 2 * 52 };

struct peer {
    struct iw_target target;
    struct iw_tun near, far;
    int stop[2];
    pthread_t thread;
    bool early;  /* answers the second Read Request when anything has come after the start-up */
    bool silent; /* answers no segment out of order */
};

static void give(struct iw_craft *c, uint64_t *sent, const char *hex)
{
    uint8_t octets[64];
    size_t length = hex_octets(hex, octets, sizeof(octets));

    iw_craft_segment(c, *sent, octets, length);
    *sent += length;
}

/* What is due after `got` octets in order, of which `sent` octets of answers are gone. */
static void answer(const struct peer *p, struct iw_craft *c, size_t got, uint64_t *sent,
                   uint64_t *heard)
{
    struct iw_craft_state s;

    s = iw_craft_get_state(c);
    if (got >= REQUEST_SIZE && *sent == 0) {
        give(c, sent, REPLY);
        *heard = s.heard + 1; /* the acknowledgement of the Reply is nothing to be answered */
        iw_craft_acknowledge(c, !p->silent);
    }
    if (p->early && *sent == 20 && s.heard > *heard) {
        give(c, sent, RESPONSE_2); /* before the acknowledgement, which ends the wait, too */
        iw_craft_acknowledge(c, true);
    }
    if (got >= REQUEST_SIZE + READ_REQUESTS && *sent == 20) {
        iw_craft_acknowledge(c, true);
        give(c, sent, RESPONSE_1);
        give(c, sent, RESPONSE_2);
    }
    if (s.ended)
        iw_craft_fin(c, *sent, iw_transport_now());
}

static void *serve(void *context)
{
    struct peer *p = context;
    struct iw_craft_host *h = iw_craft_host_new(&p->far, NULL, NULL);
    struct iw_craft_options options = IW_CRAFT_DEFAULTS;
    struct iw_craft_listener *l;
    struct iw_craft *c = NULL;
    struct pollfd fds[] = {{.fd = p->far.fd, .events = POLLIN},
                           {.fd = p->stop[0], .events = POLLIN}};
    uint64_t sent = 0, heard = 0;
    size_t got = 0;

    inet_pton(AF_INET, IW_TUN_TARGET, h->address.octets);
    l = iw_craft_listen(h, &options);
    while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
        uint8_t octets[256];

        iw_craft_pump(h, iw_transport_now());
        if (c == NULL)
            c = iw_craft_accept(l);
        if (c == NULL)
            continue;
        got += iw_craft_receive(c, octets, sizeof(octets));
        answer(p, c, got, &sent, &heard);
    }
    iw_craft_host_free(h);
    return NULL;
}

static bool can(const struct iw_target *target, const char *capability)
{
    (void)target;
    return strcmp(capability, "reconnect") != 0;
}

static void start(struct peer *p)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
    assert_int_equal(pipe(p->stop), 0);
    p->near = (struct iw_tun){.fd = pair[0], .net_ns = -1, .user_ns = -1};
    p->far = (struct iw_tun){.fd = pair[1], .net_ns = -1, .user_ns = -1};
    p->target = (struct iw_target){.name = "test",
                                   .class = IW_TARGET_BARE,
                                   .host = IW_TUN_TARGET,
                                   .port = 20000,
                                   .station_host = IW_TUN_STATION,
                                   .tun = &p->near,
                                   .can = can};
    assert_int_equal(pthread_create(&p->thread, NULL, serve, p), 0);
}

static void stop(struct peer *p)
{
    close(p->stop[1]);
    pthread_join(p->thread, NULL);
    close(p->stop[0]);
    iw_tun_close(&p->near);
    iw_tun_close(&p->far);
}

static struct iw_result play(struct peer *p, const char *ending)
{
    char body[2048];
    struct iw_run_options options = play_options;
    struct iw_result r;

    if (p->early) /* its answer ends the wait, however late a busy machine lets it come */
        options.time_scale = 4;
    snprintf(body, sizeof(body),
             "local conn = t:connect { revision = 1, crc = false, isn = 0xfffffff0 }\n"
             "local parts = conn:split(function()\n"
             "  conn:send(read_request { size = 0, sink_stag = 7, sink_to = 1 })\n"
             "  conn:send(read_request { size = 0, sink_stag = 7, sink_to = 2 })\n"
             "end)\n"
             "t:check(#parts == 2 and #parts[1].octets == 52, 'a segment each')\n"
             "%s",
             ending);
    start(p);
    r = play_body(body, &p->target, &options);
    stop(p);
    return r;
}

#define BEHIND_A_GAP                                                                               \
    "parts:send(2)\n"                                                                              \
    "conn:expect_nothing { rule = 'RDMAP-5.5-08' }\n"                                              \
    "parts:send(1)\n"                                                                              \
    "conn:expect(read_response { stag = 7, to = 1, payload = '' })\n"                              \
    "conn:expect(read_response { stag = 7, to = 2, payload = '' })\n"

static void in_its_turn(void **state)
{
    struct peer p = {0};
    struct iw_result r = play(&p, BEHIND_A_GAP);

    (void)state;
    assert_string_equal(r.reason ? r.reason : "", "");
    assert_int_equal(r.verdict, IW_VERDICT_PASS);
    iw_result_free(&r);
}

static void before_its_turn(void **state)
{
    struct peer p = {.early = true, .silent = true};
    struct iw_result r = play(&p, BEHIND_A_GAP);

    (void)state;
    assert_int_equal(r.verdict, IW_VERDICT_FAIL);
    assert_string_equal(r.reason, "the target answered octets that it cannot have delivered yet");
    assert_string_equal(r.actual, "read-response L stag 00000007 to 2 len 0");
    assert_string_equal(r.rule->id, "RDMAP-5.5-08");
    iw_result_free(&r);
}

/* Segments split once more, the second of them twice, and one sent again. */
static void split_segments(void **state)
{
    struct peer p = {0};
    struct iw_result r = play(
        &p, "parts:split(2, 10):split(1, 50)\n"
            "t:check(#parts == 4 and #parts[2].octets == 2 and #parts[4].octets == 42, 'split')\n"
            "parts:send(4, 4, 2, 1, 3)\n"
            "conn:expect(read_response { stag = 7, to = 1, payload = '' })\n"
            "conn:expect(read_response { stag = 7, to = 2, payload = '' })\n"
            "t:check(conn:state().unacked == 0 or conn:state().unacked == 1, 'a state')\n");

    (void)state;
    assert_string_equal(r.reason ? r.reason : "", "");
    assert_int_equal(r.verdict, IW_VERDICT_PASS);
    iw_result_free(&r);
}

static void what_cannot_be(void **state)
{
    static const struct {
        const char *body, *reason;
    } rows[] = {
        {"parts:send(3)", "there are 2 segments, no 3"},
        {"conn:window(65536)", "to 'window' (expected 0 to 65535)"},
        {"conn:split(function() conn:send(write { payload = bytes(1461) }) end, { sizes = 1461 "
         "}):send()",
         "a segment of 1461 octets: 1460 fit"},
        {"conn:split(function() conn:send(write {}) end, { sizes = 0 })", "a segment of no octets"},
        {"t:connect { window = 0 }", "mss and window are at least 1 at first"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct peer p = {0};
        struct iw_result r;
        char body[256];

        /* Octets left after a gap would keep the connection from its end. */
        snprintf(body, sizeof(body), "parts:send()\n%s", rows[i].body);
        r = play(&p, body);
        assert_int_equal(r.verdict, IW_VERDICT_ERROR);
        assert_non_null(r.reason);
        if (strstr(r.reason, rows[i].reason) == NULL)
            fail_msg("%s: %s", rows[i].body, r.reason);
        iw_result_free(&r);
    }
}

static int remove_file(void **state)
{
    (void)state;
    play_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_its_turn),
        cmocka_unit_test(before_its_turn),
        cmocka_unit_test(split_segments),
        cmocka_unit_test(what_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, remove_file);
}
