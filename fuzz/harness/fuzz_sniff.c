/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A listener that takes plain TCP, too (proto/transport/sniff.c): the first octets of a client, as
 * the input cuts them. What begins with the key of a Request goes to MPA, all else to the program,
 * untouched; nothing is left over.
 *
 *   octet 0: bits 0-1: how often the program has no room; bit 2: the client ends, else it falls
 *            silent
 *   then pieces: one octet (the top bit: of the true Request from where the stream is, else of the
 *   input), of which the low six bits count octets
 */
#include "engine/fuzz.h"

#include "transport/transport_internal.h"

#include "iwarp/mpa.h"

#include <errno.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { STREAM = 512, STEPS = 4 };
static const char request[] = "MPA ID Req Frame\x40\x01\x00\x00";

static struct {
    struct iw_host_env env;
    struct iw_domain *domain;
    struct iw_reactor *reactor;
    struct sockaddr_un at;
    socklen_t at_length;
    unsigned no_room, mpa, plain;
    bool refuses; /* an offer, once at least */
    int fd;       /* what is plain */
} w;

static void ready(void *context, struct iw_connection *c)
{
    struct iw_event event;
    (void)context;
    while (iw_endpoint_event(iw_connection_endpoint(c), &event))
        ;
}

static void ended(void *context, struct iw_connection *c)
{
    (void)context, (void)c;
}

static bool accepted(void *context, struct iw_connection *c)
{
    (void)context, (void)c;
    w.mpa++;
    return true;
}

static bool plain(void *context, int fd)
{
    (void)context;
    if (w.no_room > 0) {
        w.no_room--;
        return false;
    }
    w.plain++;
    w.fd = fd;
    return true;
}

static void start(void)
{
    const struct iw_domain_limits limits = {1, 4};
    iw_host_env_init(&w.env, false);
    w.domain = iw_domain_create(&w.env.env, &limits);
    IW_FUZZ_CHECK(w.domain != NULL, "sniff: no domain");
}

static struct iw_listener *listen_here(struct iw_reactor *r)
{
    struct iw_listener_config config = {.domain = w.domain,
                                        .ops = {.ready = ready, .ended = ended},
                                        .accepted = accepted,
                                        .sniff = 3600000,
                                        .plain = plain};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    iw_endpoint_config_default(&config.endpoint);
    config.endpoint.role = IW_MPA_RESPONDER;
    w.at = (struct sockaddr_un){.sun_family = AF_UNIX};
    w.at_length = sizeof(w.at);
    /* Bound to no name, it gets one of its own. */
    IW_FUZZ_CHECK(bind(fd, (struct sockaddr *)&w.at, sizeof(sa_family_t)) == 0 &&
                      listen(fd, 4) == 0 &&
                      getsockname(fd, (struct sockaddr *)&w.at, &w.at_length) == 0,
                  "sniff: no socket");
    struct iw_listener *l = iw_transport_listen_socket(r, fd, &config);
    IW_FUZZ_CHECK(l != NULL, "sniff: no listener");
    return l;
}

static void step(struct iw_reactor *r)
{
    for (int i = 0; i < STEPS; i++)
        IW_FUZZ_CHECK(iw_reactor_step(r, 0) == 0, "sniff: a step fails");
}

/* Compares what has come of it with what the octets so far ask for. */
static void check(const uint8_t *stream, size_t length, bool over)
{
    const size_t key = sizeof(iw_mpa_request_key);
    const size_t known = length < key ? length : key;
    const bool other = memcmp(stream, request, known) != 0;
    const bool mpa = !other && known == key;
    IW_FUZZ_CHECK(w.mpa == (mpa ? 1u : 0u), "sniff: %u connections of MPA by %zu octets", w.mpa,
                  length);
    if (over || !w.refuses)
        IW_FUZZ_CHECK(w.plain == (mpa             ? 0u
                                  : other || over ? 1u
                                                  : 0u),
                      "sniff: %u plain connections by %zu octets", w.plain, length);
}

/* Everything that was sent is there for the program. */
static void read_plain(const uint8_t *stream, size_t length, bool ends)
{
    uint8_t got[STREAM + 1];
    size_t n = 0;
    ssize_t more;
    while ((more = recv(w.fd, got + n, sizeof(got) - n, MSG_DONTWAIT)) > 0)
        n += (size_t)more;
    IW_FUZZ_CHECK(n == length && memcmp(got, stream, n) == 0, "sniff: %zu octets of %zu are left",
                  n, length);
    IW_FUZZ_CHECK(ends ? more == 0 : more < 0 && errno == EAGAIN, "sniff: another end");
}

static void play(struct iw_reactor *r, int client, const uint8_t *octets, size_t length)
{
    uint8_t stream[STREAM];
    const bool ends = length > 0 && (octets[0] & 4) != 0;
    size_t total = 0, at = length > 0 ? 1 : 0;
    w.no_room = length > 0 ? octets[0] & 3 : 0;
    w.refuses = w.no_room > 0;
    step(r);
    while (at < length && total < STREAM) {
        const bool true_octets = (octets[at] & 0x80) != 0;
        size_t piece = octets[at++] & 0x3f;
        piece = piece < STREAM - total ? piece : STREAM - total;
        if (!true_octets)
            piece = piece < length - at ? piece : length - at;
        for (size_t i = 0; i < piece; i++)
            stream[total + i] = true_octets ? (uint8_t)request[(total + i) % (sizeof(request) - 1)]
                                            : octets[at + i];
        at += true_octets ? 0 : piece;
        if (piece > 0 && send(client, stream + total, piece, MSG_NOSIGNAL) != (ssize_t)piece)
            break; /* MPA has found a fault and closed */
        total += piece;
        step(r);
        check(stream, total, false);
    }
    if (ends)
        shutdown(client, SHUT_WR);
    step(r);
    for (int i = 0; i < 5; i++) { /* long after all deadlines */
        iw_sniff_tick(r, UINT64_MAX - 1);
        step(r);
    }
    check(stream, total, true);
    IW_FUZZ_CHECK(r->sniffed == 0, "sniff: %u connections stay undecided", r->sniffed);
    if (w.plain > 0)
        read_plain(stream, total, ends);
}

static void run(const uint8_t *octets, size_t length)
{
    iw_reactor_destroy(w.reactor); /* of an input that failed, in a test */
    struct iw_reactor *r = w.reactor = iw_reactor_create();
    IW_FUZZ_CHECK(r != NULL, "sniff: no reactor");
    w.mpa = w.plain = 0;
    w.fd = -1;
    listen_here(r);
    const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    IW_FUZZ_CHECK(connect(client, (struct sockaddr *)&w.at, w.at_length) == 0, "sniff: no client");
    play(r, client, octets, length);
    if (w.fd >= 0)
        close(w.fd);
    close(client);
    iw_reactor_destroy(r);
    w.reactor = NULL;
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = "sniff", .most = 512, .start = start, .run = run};
