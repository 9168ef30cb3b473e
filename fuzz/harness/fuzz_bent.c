/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An endpoint with switches of rules/ set, in any combination, which also change under way.
 * Whatever it does to its peer, it stays within its memory, completes no work twice and all of it
 * in the end, and returns everything that it borrowed.
 *
 *   settings        as for the endpoints; IW_FUZZ_OTHER: the Initiator
 *   IW_FUZZ_A, _B   octets of the peer; _B octet by octet
 *   IW_FUZZ_NONE    switches: check (2 octets, little endian), what (1): enum iw_switch, and from
 *                   IW_SWITCH_BOTCH on with which wrong reaction
 */
#include "oracle/heap.h"
#include "oracle/oracle_station.h"

#include "endpoint/endpoint_internal.h"

#include <string.h>

enum { REGIONS = 4, GUARD = 32, LENGTH = 512, PITCH = 1024, RECEIVES = 16384, AREA = 4096 };
enum { MEMORY = RECEIVES + AREA, PATTERN = 0xa5, MOST = 4 << 20 /* octets sent at a time */ };

static struct iw_fuzz_heap heap;
static uint8_t memory[MEMORY];
static struct iw_domain *domain;
static uint32_t pd;
static struct iw_switches switches;
static bool vast; /* a Read of more than its region may have been let through */
static struct iw_endpoint *ep;
static uint64_t now, posted, received, sent_done, recv_done;

/* Checks octets that nobody may change: between the guard areas of regions, and after the receives.
 */
static void check_memory(void)
{
    for (size_t i = 0; i < RECEIVES; i++) {
        size_t at = i % PITCH;
        bool free_for =
            i < REGIONS * PITCH && at >= PITCH / 4 - GUARD && at < PITCH / 4 + LENGTH + GUARD;
        IW_FUZZ_CHECK(free_for || memory[i] == PATTERN,
                      "bent: octet %zu outside of regions and guards was written", i);
    }
}

static void start(void)
{
    static const uint32_t access[REGIONS] = {IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_READ |
                                                 IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_ATOMIC,
                                             IW_ACCESS_REMOTE_READ, IW_ACCESS_LOCAL_WRITE,
                                             IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE |
                                                 IW_ACCESS_REMOTE_INVALIDATE};

    domain = iw_fuzz_heap_domain(&heap, 16);
    pd = iw_domain_pd(domain);
    for (size_t i = 0; i < REGIONS; i++) {
        struct iw_region r = {.base = memory + i * PITCH + PITCH / 4,
                              .length = LENGTH,
                              .to = 0x1000,
                              .guard = GUARD,
                              .pd = pd,
                              .access = access[i],
                              .stream = i == 3 ? 1 : 0};
        IW_FUZZ_CHECK(iw_domain_register(domain, &r) == 0, "bent: no region %zu", i);
    }
    iw_fuzz_heap_keep(&heap, IW_DOMAIN_BUFFER - 1);
}

static void create(const uint8_t settings[IW_FUZZ_SETTINGS])
{
    struct iw_endpoint_config c;
    iw_endpoint_config_default(&c);
    c.role = (settings[0] & IW_FUZZ_OTHER) != 0 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
    c.mpa = iw_station_mpa(settings, c.role);
    c.mpa.markers = (settings[0] & IW_FUZZ_MARKERS_A) != 0;
    c.pd = pd;
    c.send_depth = c.recv_depth = 16;
    c.max_sge = 4;
    c.extensions = (settings[1] & IW_STATION_NO_EXTENSIONS) == 0;
    c.early_placement = (settings[1] & IW_STATION_EARLY) != 0;
    c.switches = &switches;
    int result = iw_endpoint_create(domain, &c, now, &ep);
    IW_FUZZ_CHECK(result == IW_OK, "bent: no endpoint (%d)", result);
}

/* ---- what the input asks for ---- */

/* Returns true for the checks that bound a Read: without one of them a Read that asks for GiBs gets
 * all of it. */
static bool bounds_reads(enum iw_check check)
{
    return check == IW_CHECK_RDMAP_READ_STAG || check == IW_CHECK_RDMAP_READ_ASSOC ||
           check == IW_CHECK_RDMAP_READ_ACCESS || check == IW_CHECK_RDMAP_READ_WRAP ||
           check == IW_CHECK_RDMAP_READ_BASE || check == IW_CHECK_RDMAP_READ_BOUNDS;
}

static void bend(const struct iw_fuzz_step *step)
{
    for (size_t i = 0; i + 3 <= step->length; i += 3) {
        enum iw_check check = (enum iw_check)(iw_fuzz_pair(step, i) % IW_CHECK_COUNT);
        uint8_t what = iw_fuzz_octet(step, i + 2) % (IW_SWITCH_BOTCH + IW_BOTCH_COUNT);
        enum iw_switch kind = what < IW_SWITCH_BOTCH ? (enum iw_switch)what : IW_SWITCH_BOTCH;
        enum iw_botch botch = (enum iw_botch)(what - kind);
        if (check == IW_CHECK_NONE || !iw_switch_applies(kind, check, botch))
            continue;
        switches.any = true;
        vast |= bounds_reads(check) && (kind == IW_SWITCH_IGNORE || botch == IW_BOTCH_PLACE);
        if (botch != IW_BOTCH_NONE)
            switches.botch[check] = (uint8_t)botch;
        else
            switches.set[check] ^= (uint8_t)(1u << kind);
    }
}

static void post(const struct iw_fuzz_operation *op)
{
    static uint8_t payload[8192];
    struct iw_iov sge = {payload, op->d % sizeof(payload)};
    struct iw_work work = {.id = posted,
                           .opcode = (enum iw_work_opcode)(op->a % IW_WORK_RECV),
                           .flags = op->b & IW_WORK_FENCE,
                           .sge = &sge,
                           .remote_stag = IW_FUZZ_STAG + op->c % 8u,
                           .remote_to = 0x1000u + op->e,
                           .invalidate_stag = IW_FUZZ_STAG + op->c % 8u,
                           .sink_stag = IW_FUZZ_STAG,
                           .sink_to = 0x1000,
                           .length = op->d % (LENGTH + 1u),
                           .add_swap = op->d,
                           .compare = op->e};

    work.sge_count = work.opcode == IW_WORK_READ || work.opcode >= IW_WORK_IMMEDIATE ? 0 : 1;
    posted += iw_endpoint_post(ep, &work, now) == IW_OK;
}

static void operate(const struct iw_fuzz_operation *op)
{
    struct iw_iov sge = {memory + RECEIVES, op->d % (AREA + 1u)};

    switch (op->op) {
    case IW_FUZZ_POST:
        post(op);
        break;
    case IW_FUZZ_RECV:
        received += iw_endpoint_post_recv(ep, received, &sge, 1) == IW_OK;
        break;
    case IW_FUZZ_INVALIDATE:
        (void)iw_domain_invalidate(domain, IW_FUZZ_STAG + op->c % 8u);
        break;
    case IW_FUZZ_SHUTDOWN:
        iw_endpoint_shutdown(ep, now);
        break;
    case IW_FUZZ_ABORT:
        iw_endpoint_abort(ep, (op->a & 1) != 0, op->b, now);
        break;
    case IW_FUZZ_EMSS:
        iw_endpoint_set_emss(ep, op->d);
        break;
    default:
        break;
    }
}

/* ---- what comes of it ---- */

static void output(void)
{
    size_t total = 0, count;
    bool gone = false;
    const struct iw_iov *pieces;
    while ((count = iw_endpoint_output(ep, &pieces, now)) > 0) {
        size_t length = 0;
        IW_FUZZ_CHECK(!gone, "bent: output to nobody");
        for (size_t i = 0; i < count; i++) {
            iw_fuzz_touch(pieces[i].base, pieces[i].length);
            length += pieces[i].length;
        }
        iw_endpoint_sent(ep, length, now);
        total += length;
        IW_FUZZ_CHECK(length > 0 && (total <= MOST || vast), "bent: output without end");
        /* 4 GiB would take an input's whole time: let the peer leave. */
        gone = total > MOST;
        if (gone)
            iw_endpoint_input_end(ep, false, now);
    }
    if (iw_endpoint_want(ep) == IW_WANT_FIN)
        iw_endpoint_fin_sent(ep, now);
    else if (iw_endpoint_want(ep) == IW_WANT_RESET)
        iw_endpoint_input_end(ep, false, now);
}

static void settle(void)
{
    struct iw_event event;
    while (iw_endpoint_event(ep, &event))
        if (event.kind == IW_EVENT_REQUEST)
            (void)iw_endpoint_accept(ep, memory, 8, now);
    output();
    struct iw_completion done;
    while (iw_endpoint_poll(ep, &done, 1) > 0) {
        bool sent = done.opcode < IW_WORK_RECV;
        uint64_t *count = sent ? &sent_done : &recv_done;
        IW_FUZZ_CHECK(done.id == *count && done.id < (sent ? posted : received),
                      "bent: work %llu completes in the place of %llu", (unsigned long long)done.id,
                      (unsigned long long)*count);
        ++*count;
    }
}

static void from_peer(const uint8_t *octets, size_t length)
{
    struct iw_iov in = {(void *)(uintptr_t)iw_fuzz_fenced(octets, length), length};

    iw_endpoint_input(ep, &in, 1, now);
}

static void take(struct iw_fuzz_step *step)
{
    struct iw_fuzz_operation op;
    uint64_t pos;
    switch (step->kind) {
    case IW_FUZZ_A:
        from_peer(step->body, step->length);
        break;
    case IW_FUZZ_B:
        for (size_t i = 0; i < step->length; i++)
            from_peer(step->body + i, 1);
        break;
    case IW_FUZZ_LOCAL:
        for (size_t i = 0; iw_fuzz_operation(step, i, &op); i++)
            operate(&op);
        break;
    case IW_FUZZ_TIME:
        now += iw_fuzz_pair(step, 0) * UINT64_C(1000000);
        iw_endpoint_tick(ep, now);
        break;
    case IW_FUZZ_AT:
        pos = iw_fuzz_at(step, ep->rx_pos);
        (void)iw_endpoint_input_at(
            ep, pos, &(struct iw_iov){(void *)(uintptr_t)step->body, step->length}, 1, now);
        break;
    case IW_FUZZ_FIN:
    case IW_FUZZ_RST:
        iw_endpoint_input_end(ep, step->kind == IW_FUZZ_FIN, now);
        break;
    default:
        bend(step);
        break;
    }
}

static void run(const uint8_t *octets, size_t length)
{
    struct iw_fuzz_input in = iw_fuzz_open(octets, length);
    struct iw_fuzz_step step;
    bool more = iw_fuzz_step(&in, &step);
    iw_fuzz_heap_reset(&heap);
    memset(memory, PATTERN, sizeof(memory));
    memset(&switches, 0, sizeof(switches));
    vast = false;
    now = 1000000;
    posted = received = sent_done = recv_done = 0;
    if (more && step.kind == IW_FUZZ_NONE) { /* those of a Request are asked at its creation */
        bend(&step);
        more = iw_fuzz_step(&in, &step);
    }
    create(in.settings);
    settle();
    for (; more; more = iw_fuzz_step(&in, &step)) {
        take(&step);
        settle();
    }
    iw_endpoint_input_end(ep, false, now);
    settle();
    bool missing = sent_done < posted || recv_done < received;
    IW_FUZZ_CHECK(!missing, "bent: %llu pieces of work and %llu receives never complete",
                  (unsigned long long)(posted - sent_done),
                  (unsigned long long)(received - recv_done));
    iw_endpoint_destroy(ep);
    iw_fuzz_heap_check(&heap, "bent");
    check_memory();
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = "bent", .most = 1 << 16, .steps = true, .single = true, .start = start, .run = run};
