/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connected socket that is switched to iWARP (proto/sockets/switched.h), and a peer that sends
 * what the input says, over TCP on loopback. Only the memory that was advertised changes; what a
 * peer sends after a refusal is still there for the program, octet by octet; no descriptor is left.
 *
 *   settings[0]: IW_FUZZ_CRC, IW_FUZZ_ENHANCED; [1]: ROLE and the bits below; [2]: octets of the
 *   peer's that the program has read before the switch
 *   IW_FUZZ_LOCAL: operations as in input/local.h, meant for a socket
 */
#include "engine/fuzz.h"
#include "input/local.h"

#include "ddp/domain.h"
#include "sockets/switched.h"
#include "verbs/engine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

enum { RESPONDER = 1, ASK = 2, PLAIN = 4, MARKERS = 8, REFUSE = 16 };
enum {
    STREAM = 8192,
    MEMORY = 4096,
    REGION = 256,
    REGIONS = 4,
    ROUNDS = 20000,
    GAP = 1000,
    NUMBERS = 128
};

static struct {
    int listener, peer, fd;
    struct sockaddr_in at;
    struct iw_switched *s;
    uint8_t sent[STREAM]; /* by the peer */
    size_t sent_length, ahead;
    uint8_t memory[MEMORY];
    uint32_t stags[REGIONS];
    unsigned advertised;
    bool shut;
} w;

/* The STags are those that inputs name: the domain adds its step. */
ssize_t getrandom(void *out, size_t length, unsigned flags)
{
    const uint32_t value = IW_FUZZ_STAG;
    (void)flags;
    for (size_t i = 0; i < length; i++)
        ((uint8_t *)out)[i] = (uint8_t)(value >> i % 4 * 8);
    return (ssize_t)length;
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < NUMBERS; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void start(void)
{
    socklen_t length = sizeof(w.at);
    w.at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    w.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    IW_FUZZ_CHECK(bind(w.listener, (struct sockaddr *)&w.at, sizeof(w.at)) == 0 &&
                      listen(w.listener, 16) == 0 &&
                      getsockname(w.listener, (struct sockaddr *)&w.at, &length) == 0,
                  "switch: no listener");
    IW_FUZZ_CHECK(iw_verbs_enter(), "switch: no engine"); /* which has descriptors of its own */
    iw_verbs_unlock();
}

static void end_by_reset(int fd)
{
    const struct linger reset = {.l_onoff = 1};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
}

static bool connected(void)
{
    iw_verbs_lock();
    const bool is = w.s->connection != NULL;
    iw_verbs_unlock();
    return is;
}

/* Nothing more is taken from TCP now. */
static bool at_rest(void)
{
    iw_verbs_lock();
    const bool is = w.s->connection == NULL || w.s->rx.used > IW_SOCKETS_UNREAD ||
                    w.s->immediate > IW_SWITCHED_IMMEDIATE || w.s->state >= IW_SWITCHED_PLAIN;
    iw_verbs_unlock();
    return is;
}

static void drive(void)
{
    struct iw_sockets_completion done[4];
    while (iw_switched_poll(w.s, done, 4, 0) > 0)
        ;
}

/* Until the engine has taken what TCP has, or holds it back. */
static void settle(void)
{
    for (int i = 0, unread = 1; i < ROUNDS && unread > 0; i++) {
        drive();
        if (ioctl(w.fd, FIONREAD, &unread) != 0 || at_rest())
            break;
    }
    drive();
}

static void give(const uint8_t *octets, size_t length)
{
    length = length < STREAM - w.sent_length ? length : STREAM - w.sent_length;
    if (w.peer < 0 || length == 0)
        return;
    const ssize_t n = send(w.peer, octets, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
        memcpy(w.sent + w.sent_length, octets, (size_t)n);
        w.sent_length += (size_t)n;
    }
}

/* ---- the program ---- */

static void write_octets(size_t length)
{
    static uint8_t octets[1 << 16];
    struct iovec pieces[2] = {{octets, length / 2}, {octets, length - length / 2}};
    const struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    const ssize_t n = iw_switched_send(w.s, &message, MSG_NOSIGNAL, false);
    IW_FUZZ_CHECK(n <= (ssize_t)length, "switch: more is written than there is");
}

static void read_octets(size_t length, int flags)
{
    uint8_t octets[STREAM + 1];
    length = length < STREAM ? length : STREAM;
    octets[length] = 0xa5;
    if (w.s->state == IW_SWITCHED_PLAIN)
        return; /* read_plain compares them */
    struct iovec piece = {octets, length};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    const ssize_t n = iw_switched_receive(w.s, &message, flags, false);
    IW_FUZZ_CHECK(n <= (ssize_t)length && octets[length] == 0xa5, "switch: too much is read");
    /* More than were sent may come: a Send may begin with any MO (RFC 5041 §5.2). Then they are
     * zero, or octets of Sends before. */
    for (ssize_t i = 0; i < n; i++)
        IW_FUZZ_CHECK(octets[i] == 0 || memchr(w.sent, octets[i], w.sent_length) != NULL,
                      "switch: an octet is read that nobody has sent");
}

static void advertise(unsigned rights)
{
    struct iw_sockets_memory m;
    uint8_t *at = w.memory + (w.advertised % REGIONS) * GAP;
    if (w.advertised >= REGIONS || iw_switched_advertise(w.s, at, REGION, rights & 7, &m) != 0)
        return;
    w.stags[w.advertised++] = m.stag;
}

static void post(const struct iw_fuzz_operation *op)
{
    static uint8_t octets[1 << 16];
    struct iovec pieces[4];
    struct iw_sockets_request r = {.id = op->e,
                                   .operation = (enum iw_sockets_operation)(op->a % 8),
                                   .flags = op->b & 1u,
                                   .pieces = pieces,
                                   .piece_count = 1 + (op->b >> 1 & 3u),
                                   .stag = IW_FUZZ_STAG + op->c,
                                   .to = op->e};
    for (unsigned i = 0; i < 4; i++)
        pieces[i] = (struct iovec){octets + i, op->d / 4};
    if (r.operation == IW_SOCKETS_OP_READ)
        r.piece_count = 1;
    else if (r.operation > IW_SOCKETS_OP_READ)
        r.piece_count = 0;
    (void)iw_switched_post(w.s, &r);
}

static void operate(const struct iw_fuzz_operation *op)
{
    struct iw_sockets_terminate t;
    uint8_t octets[64];
    switch (op->op) {
    case IW_FUZZ_POST:
        post(op);
        break;
    case IW_FUZZ_RECV:
        read_octets(op->d, (op->a & 1) != 0 ? MSG_PEEK : 0);
        break;
    case IW_FUZZ_REGISTER:
        advertise(op->a);
        break;
    case IW_FUZZ_INVALIDATE:
    case IW_FUZZ_DEREGISTER:
        (void)iw_switched_withdraw(w.s, w.stags[op->c % REGIONS]);
        break;
    case IW_FUZZ_SHUTDOWN:
        w.shut = true; /* of TCP, after a refusal */
        (void)iw_switched_shutdown(w.s, op->a % 4);
        break;
    case IW_FUZZ_ANSWER:
        if (w.s->state == IW_SWITCHED_ASKED)
            (void)iw_switched_accept(w.s, (op->a & 1) != 0, octets, op->d % sizeof(octets));
        break;
    case IW_FUZZ_OUTPUT:
        write_octets(op->d);
        break;
    default:
        (void)iw_switched_terminate(w.s, &t);
        (void)iw_switched_private(w.s, octets, sizeof(octets));
        (void)iw_switched_work_event(w.s);
        (void)iw_switched_both(w.s);
        break;
    }
}

/* ---- what must come of it ---- */

/* After a refusal the octets after the peer's frame are the program's, as they were sent. */
static void read_plain(void)
{
    const size_t frame = 20 + ((size_t)w.sent[18] << 8 | w.sent[19]);
    uint8_t got[STREAM];
    size_t n = 0;
    IW_FUZZ_CHECK(frame <= w.sent_length, "switch: refused by half a frame");
    while (n < w.sent_length - frame) {
        struct pollfd p = {.fd = w.fd, .events = POLLIN};
        const ssize_t more = poll(&p, 1, 2000) == 1 ? recv(w.fd, got + n, sizeof(got) - n, 0) : -1;
        IW_FUZZ_CHECK(more > 0, "switch: after a refusal %zu octets are left of %zu", n,
                      w.sent_length - frame);
        n += (size_t)more;
    }
    IW_FUZZ_CHECK(n == w.sent_length - frame && memcmp(got, w.sent + frame, n) == 0,
                  "switch: after a refusal there are other octets");
}

static void check_memory(void)
{
    for (size_t i = 0; i < MEMORY; i++)
        if (i % GAP >= REGION || i / GAP >= w.advertised)
            IW_FUZZ_CHECK(w.memory[i] == 0x5a, "switch: octet %zu of other memory is written", i);
}

/* The peer goes; then nothing of the program's waits for anybody. */
static void finish(void)
{
    if (w.peer >= 0)
        end_by_reset(w.peer);
    w.peer = -1;
    for (int i = 0; i < ROUNDS && connected(); i++) {
        read_octets(STREAM, 0);
        drive();
        if (i > ROUNDS / 2)
            usleep(100);
    }
    IW_FUZZ_CHECK(!connected(), "switch: the connection outlives its peer");
}

static void connect_both(void)
{
    w.peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    IW_FUZZ_CHECK(connect(w.peer, (struct sockaddr *)&w.at, sizeof(w.at)) == 0,
                  "switch: no connection");
    w.fd = accept4(w.listener, NULL, NULL, SOCK_CLOEXEC);
    IW_FUZZ_CHECK(w.fd >= 0, "switch: no connection");
}

/* The first octets of the peer may be there before the switch, and some of them read. */
static bool begin(const uint8_t *settings, const struct iw_fuzz_step *first)
{
    struct iw_sockets_mode mode = {
        .role = (settings[1] & RESPONDER) != 0 ? IWARP_RESPONDER : IWARP_INITIATOR,
        .flags = ((settings[0] & IW_FUZZ_CRC) == 0 ? IW_SOCKETS_NO_CRC : 0) |
                 ((settings[1] & ASK) != 0 ? IW_SOCKETS_ASK : 0) |
                 ((settings[0] & IW_FUZZ_ENHANCED) == 0 ? IW_SOCKETS_PLAIN : 0) |
                 ((settings[1] & MARKERS) != 0 ? IW_SOCKETS_MARKERS : 0)};
    uint8_t ahead[256];
    if (first != NULL)
        give(first->body, first->length);
    if (settings[2] > 0 && w.sent_length > 0) {
        const ssize_t n = recv(w.fd, ahead, settings[2], 0);
        mode.ahead = ahead;
        mode.ahead_length = n > 0 ? (size_t)n : 0;
    }
    w.ahead = mode.ahead_length;
    w.s = iw_switched_begin(w.fd, &mode);
    IW_FUZZ_CHECK(w.s != NULL || errno == EBUSY || errno == ECONNRESET || errno == ENOTCONN,
                  "switch: it cannot begin (errno %d)", errno);
    return w.s != NULL;
}

static void play(struct iw_fuzz_input *in)
{
    struct iw_fuzz_step step;
    while (iw_fuzz_step(in, &step)) {
        struct iw_fuzz_operation op;
        switch (step.kind) {
        case IW_FUZZ_A:
        case IW_FUZZ_B:
            give(step.body, step.length);
            break;
        case IW_FUZZ_LOCAL:
            for (size_t i = 0; iw_fuzz_operation(&step, i, &op); i++)
                operate(&op);
            break;
        case IW_FUZZ_FIN:
            if (w.peer >= 0)
                shutdown(w.peer, SHUT_WR);
            break;
        case IW_FUZZ_RST:
            if (w.peer >= 0)
                end_by_reset(w.peer);
            w.peer = -1;
            break;
        default:
            break;
        }
        settle();
    }
}

static void run(const uint8_t *octets, size_t length)
{
    struct iw_fuzz_input in = iw_fuzz_open(octets, length);
    struct iw_fuzz_step first;
    const unsigned descriptors = open_descriptors();
    w.sent_length = w.advertised = 0;
    w.shut = false;
    memset(w.stags, 0, sizeof(w.stags));
    memset(w.memory, 0x5a, sizeof(w.memory));
    iw_verbs_lock();
    iw_verbs_domain()->stag_step = 0; /* whatever the inputs before this one had registered */
    iw_verbs_unlock();
    connect_both();
    const bool early = (in.settings[1] & REFUSE) != 0 && iw_fuzz_step(&in, &first);
    if (begin(in.settings, early ? &first : NULL)) {
        play(&in);
        if (w.s->state == IW_SWITCHED_PLAIN && w.ahead == 0 && w.peer >= 0 && !w.shut)
            read_plain();
        finish();
        iw_switched_close(w.s);
    } else {
        end_by_reset(w.peer);
    }
    close(w.fd);
    check_memory();
    IW_FUZZ_CHECK(open_descriptors() == descriptors, "switch: a descriptor stays open");
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = "switch", .most = 4096, .steps = true, .single = true, .start = start, .run = run};
