/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-perf loop: what it does between two looks at its clock, what it prints of that, and all
 * that can go wrong. */
#include "perf_loop.h"

#include "../caught.h"
#include "host/complain.h"
#include "iwarp/crc32c.h"
#include "iwarp/endpoint_transport.h"
#include "perf.h"

/* ---- doubles ---- */

static enum iw_event_kind odd;  /* comes in place of the first ESTABLISHED; 0: nothing does */
static unsigned calls, failing; /* calls that can fail, and the one that does; 0: none */
static unsigned posted, finished, most_posted, receives;
static unsigned failing_completion; /* of the first end; 0: none */
static unsigned failing_receive;    /* completion of the second */
static unsigned received;
static bool spoil; /* the first octet that came */
static struct iw_endpoint_config configs[2];
static struct iw_endpoint *first;
static struct iw_region sink;
static uint64_t octets; /* of a message */

bool __real_iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out);
bool __wrap_iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out);
size_t __real_iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room);
size_t __wrap_iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room);
int __real_iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *work, uint64_t now);
int __wrap_iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *work, uint64_t now);
int __real_iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                                 size_t count);
int __wrap_iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                                 size_t count);
int __real_iw_endpoint_create(struct iw_domain *d, const struct iw_endpoint_config *config,
                              uint64_t now, struct iw_endpoint **out);
int __wrap_iw_endpoint_create(struct iw_domain *d, const struct iw_endpoint_config *config,
                              uint64_t now, struct iw_endpoint **out);
struct iw_domain *__real_iw_domain_create(const struct iw_env *env,
                                          const struct iw_domain_limits *limits);
struct iw_domain *__wrap_iw_domain_create(const struct iw_env *env,
                                          const struct iw_domain_limits *limits);
int __real_iw_domain_register(struct iw_domain *d, struct iw_region *region);
int __wrap_iw_domain_register(struct iw_domain *d, struct iw_region *region);
uint32_t __real_iw_crc32c_portable(uint32_t crc, const void *data, size_t length);
uint32_t __wrap_iw_crc32c_portable(uint32_t crc, const void *data, size_t length);
double __wrap_perf_cpu_seconds(void);

static bool fails(void)
{
    return ++calls == failing;
}

bool __wrap_iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out)
{
    bool some = __real_iw_endpoint_event(ep, out);
    if (some && odd && out->kind == IW_EVENT_ESTABLISHED) {
        out->kind = odd;
        odd = 0;
    }
    return some;
}

size_t __wrap_iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room)
{
    size_t n = __real_iw_endpoint_poll(ep, out, room);
    for (size_t i = 0; i < n; i++) {
        unsigned *count = ep == first ? &finished : &received;
        if (++*count == (ep == first ? failing_completion : failing_receive))
            out[i].status = IW_STATUS_FLUSHED;
    }
    if (spoil && ep == first && n > 0)
        *(uint8_t *)sink.base = 255;
    return n;
}

/* No clock is asked for the endpoints. */
size_t __real_iw_endpoint_output(struct iw_endpoint *ep, const struct iw_iov **pieces,
                                 uint64_t now);
size_t __wrap_iw_endpoint_output(struct iw_endpoint *ep, const struct iw_iov **pieces,
                                 uint64_t now);
void __real_iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *pieces, size_t count,
                              uint64_t now);
void __wrap_iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *pieces, size_t count,
                              uint64_t now);
void __real_iw_endpoint_sent(struct iw_endpoint *ep, size_t length, uint64_t now);
void __wrap_iw_endpoint_sent(struct iw_endpoint *ep, size_t length, uint64_t now);
int __real_iw_endpoint_accept(struct iw_endpoint *ep, const void *data, size_t length,
                              uint64_t now);
int __wrap_iw_endpoint_accept(struct iw_endpoint *ep, const void *data, size_t length,
                              uint64_t now);

size_t __wrap_iw_endpoint_output(struct iw_endpoint *ep, const struct iw_iov **pieces, uint64_t now)
{
    assert_int_equal(now, 0);
    return __real_iw_endpoint_output(ep, pieces, now);
}

void __wrap_iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *pieces, size_t count,
                              uint64_t now)
{
    assert_int_equal(now, 0);
    __real_iw_endpoint_input(ep, pieces, count, now);
}

void __wrap_iw_endpoint_sent(struct iw_endpoint *ep, size_t length, uint64_t now)
{
    assert_int_equal(now, 0);
    __real_iw_endpoint_sent(ep, length, now);
}

int __wrap_iw_endpoint_accept(struct iw_endpoint *ep, const void *data, size_t length, uint64_t now)
{
    assert_true(data == NULL && length == 0 && now == 0);
    return __real_iw_endpoint_accept(ep, data, length, now);
}

int __wrap_iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *work, uint64_t now)
{
    assert_ptr_equal(ep, first);
    assert_int_equal(now, 0);
    assert_int_equal(work->sge_count, 1);
    assert_int_equal(work->sge[0].length, octets);
    if (fails())
        return IW_ERR_FULL;
    if (++posted - finished > most_posted)
        most_posted = posted - finished;
    return __real_iw_endpoint_post(ep, work, now);
}

int __wrap_iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                                 size_t count)
{
    assert_int_equal(id, 0);
    receives++;
    return fails() ? IW_ERR_FULL : __real_iw_endpoint_post_recv(ep, id, sge, count);
}

int __wrap_iw_endpoint_create(struct iw_domain *d, const struct iw_endpoint_config *config,
                              uint64_t now, struct iw_endpoint **out)
{
    if (fails())
        return IW_ERR_MEMORY;
    bool initiator = config->role == IW_MPA_INITIATOR;
    configs[initiator ? 0 : 1] = *config;
    int result = __real_iw_endpoint_create(d, config, now, out);
    if (initiator)
        first = *out;
    return result;
}

struct iw_domain *__wrap_iw_domain_create(const struct iw_env *env,
                                          const struct iw_domain_limits *limits)
{
    return fails() ? NULL : __real_iw_domain_create(env, limits);
}

int __wrap_iw_domain_register(struct iw_domain *d, struct iw_region *region)
{
    int result = fails() ? -1 : __real_iw_domain_register(d, region);
    sink = *region;
    return result;
}

/* The CRCs of whole pieces of a message, which only the baseline makes. */
static unsigned pieces;
static size_t summed;

uint32_t __wrap_iw_crc32c_portable(uint32_t crc, const void *data, size_t length)
{
    if (crc == IW_CRC32C_INIT && length >= 500) {
        pieces++;
        summed += length;
    }
    return __real_iw_crc32c_portable(crc, data, length);
}

/* The clock of rounds: the baseline takes half a second; the endpoints one in the first round, two
 * in the second and so on. Each of them fills the sink anew. */
static unsigned looks;
static double now_is;

static void expect_message(void)
{
    for (size_t i = 0; i < octets; i++)
        assert_int_equal(((uint8_t *)sink.base)[i], (i * 31 + i / 257) & 255);
}

double __wrap_perf_cpu_seconds(void)
{
    unsigned part = looks % 3, round = looks / 3;
    looks++;
    if (part > 0) {
        if (failing_completion == 0 && failing_receive == 0)
            expect_message();
        now_is += part == 1 ? 0.5 : 1 + round;
    }
    memset(sink.base, 0, octets);
    return now_is;
}

/* ---- runs ---- */

static struct iw_loop_options defaults(void)
{
    return (struct iw_loop_options){.size = 2500,
                                    .total = 10001, /* five messages, two of each round */
                                    .rounds = 3,
                                    .window = 2,
                                    .mulpdu = 1000};
}

static int begin(void **state)
{
    (void)state;
    odd = 0;
    spoil = false;
    calls = failing = posted = finished = most_posted = receives = failing_completion =
        failing_receive = received = pieces = looks = 0;
    summed = 0;
    now_is = 100;
    return 0;
}

/* Runs it; what it says on `fd` is `text`. */
static void expect(const struct iw_loop_options *options, int fd, const char *text, int expected)
{
    octets = options->size;
    catch_from(fd);
    int status = iw_loop_run(options);
    assert_string_equal(caught(), text);
    assert_int_equal(status, expected);
}

static const char *best(void)
{
    return iw_crc32c_best() == iw_crc32c_portable ? "portable" : "best";
}

static void test_writes(void **state)
{
    struct iw_loop_options options = defaults();
    char text[1024];
    (void)state;
    options.crc = true;
    snprintf(text, sizeof(text),
             "iwarp-perf loop: 6 x 2500 octets, RDMA Write, CRC on (%s), Markers off, MULPDU 1000\n"
             "  endpoints      0.00 GB/s  median of 3 rounds; 1 messages a second\n"
             "  baseline       0.00 GB/s  one memcpy and two CRC32c passes\n"
             "  ratio         4.000       time over the baseline's, min 2.000 max 6.000\n",
             best());
    expect(&options, 1, text, 0);
    /* One pass more, to see that the octets arrive. */
    assert_int_equal(posted, 8);
    assert_int_equal(finished, 8);
    assert_int_equal(received, 0);
    assert_int_equal(most_posted, 2);
    assert_int_equal(looks, 9);
    assert_int_equal(receives, 0);
    for (int i = 0; i < 2; i++) {
        assert_true(configs[i].mpa.crc && !configs[i].mpa.markers);
        assert_int_equal(configs[i].mulpdu, 1000);
        assert_int_equal(configs[i].send_depth, 2);
        assert_int_equal(configs[i].recv_depth, 2);
        assert_int_equal(configs[i].max_sge, 1);
    }
    assert_int_equal(sink.access, IW_ACCESS_REMOTE_WRITE);
    assert_int_equal(sink.length, 2500);
}

static void test_sends(void **state)
{
    struct iw_loop_options options = defaults();
    (void)state;
    options.sends = options.markers = options.portable_crc = true;
    options.window = 7; /* more than there are of a round */
    options.size = 25000000;
    options.total = 2;
    options.rounds = 1;
    options.mulpdu = 64768;
    expect(&options, 1,
           "iwarp-perf loop: 1 x 25000000 octets, Send, CRC off (portable), Markers on, MULPDU "
           "64768\n"
           "  endpoints      0.03 GB/s  median of 1 round; 1 messages a second\n"
           "  baseline       0.05 GB/s  one memcpy\n"
           "  ratio         2.000       time over the baseline's, min 2.000 max 2.000\n",
           0);
    assert_int_equal(posted, 2);
    assert_int_equal(most_posted, 1);
    assert_int_equal(received, 2);
    assert_int_equal(receives, 7 + 2);
    assert_true(!configs[0].mpa.crc && configs[1].mpa.markers);
    assert_int_equal(pieces, 0);
}

/* The baseline: two CRCs of each message, in pieces. */
static void test_baseline(void **state)
{
    struct iw_loop_options options = defaults();
    (void)state;
    options.crc = options.portable_crc = true;
    options.rounds = 1;
    expect(&options, 1,
           "iwarp-perf loop: 5 x 2500 octets, RDMA Write, CRC on (portable), Markers off, MULPDU "
           "1000\n"
           "  endpoints      0.00 GB/s  median of 1 round; 5 messages a second\n"
           "  baseline       0.00 GB/s  one memcpy and two CRC32c passes\n"
           "  ratio         2.000       time over the baseline's, min 2.000 max 2.000\n",
           0);
    assert_int_equal(pieces, 2 * 3 * 5 * 2);
    assert_int_equal(summed, 2 * 2500 * 5 * 2);
}

/* As many messages as make up the total, and as many a round as make up the rounds. */
static void test_counts(void **state)
{
    static const struct {
        uint64_t total, rounds;
        unsigned posted; /* of all rounds and the one before */
    } cases[] = {{10000, 1, 8}, {10001, 1, 10}, {2500, 1, 2}, {1, 1, 2},
                 {10000, 2, 6}, {10000, 3, 8},  {7500, 3, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct iw_loop_options options = defaults();
        (void)begin(state);
        options.total = cases[i].total;
        options.rounds = cases[i].rounds;
        octets = options.size;
        catch_from(1);
        assert_int_equal(iw_loop_run(&options), 0);
        (void)caught();
        assert_int_equal(posted, cases[i].posted);
    }
}

static void test_limits(void **state)
{
    static const char head[] =
        "iwarp-perf loop: 6 x 2500 octets, RDMA Write, CRC off (portable), Markers off, MULPDU "
        "1000\n"
        "  endpoints      0.00 GB/s  median of 3 rounds; 1 messages a second\n"
        "  baseline       0.00 GB/s  one memcpy\n"
        "  ratio         4.000       time over the baseline's, min 2.000 max 6.000\n";
    static const struct {
        double max_ratio, min_rate;
        const char *text;
    } cases[] = {{4, 1, ""},
                 {3.875, 0, "  above the limit of 3.875\n"},
                 {0.5, 0, "  above the limit of 0.500\n"},
                 {0, 1.25, "  below the limit of 1 messages a second\n"},
                 {1, 3, "  below the limit of 3 messages a second\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct iw_loop_options options = defaults();
        char text[1024];
        (void)begin(state);
        options.portable_crc = true;
        options.max_ratio = cases[i].max_ratio;
        options.min_rate = cases[i].min_rate;
        snprintf(text, sizeof(text), "%s%s", head, cases[i].text);
        expect(&options, 1, text, cases[i].text[0] != '\0');
    }
}

/* ---- what goes wrong ---- */

static const char no_setup[] = "iwarp-perf: cannot set up two endpoints (out of memory?)\n";
static const char no_arrival[] = "iwarp-perf: the octets did not arrive as they were sent\n";
static const char broken[] = "iwarp-perf: a connection broke\n";

static void test_a_connection_that_ends_or_lies(void **state)
{
    struct iw_loop_options options = defaults();
    (void)state;
    odd = IW_EVENT_CLOSED;
    expect(&options, 2, no_setup, 70);
    (void)begin(state);
    spoil = true;
    expect(&options, 2, no_arrival, 70);
}

/* Every call that can fail: two domains and endpoints, the sink, two receives; then the works. */
static void test_failing_calls(void **state)
{
    (void)state;
    for (unsigned sends = 0; sends < 2; sends++)
        for (unsigned i = 1; i <= 5 + 2 * sends + 1; i++) {
            struct iw_loop_options options = defaults();
            (void)begin(state);
            options.sends = sends;
            failing = i;
            expect(&options, 2, i <= 5 + 2 * sends ? no_setup : no_arrival, 70);
        }
}

static void test_work_that_fails(void **state)
{
    (void)state;
    for (unsigned sends = 0; sends < 2; sends++)
        for (unsigned i = 1; i <= 8; i++) {
            struct iw_loop_options options = defaults();
            (void)begin(state);
            options.sends = sends;
            failing_completion = i;
            expect(&options, 2, i <= 2 ? no_arrival : broken, 70);
        }
    for (unsigned i = 1; i <= 8; i++) {
        struct iw_loop_options options = defaults();
        (void)begin(state);
        options.sends = true;
        failing_receive = i;
        expect(&options, 2, i <= 2 ? no_arrival : broken, 70);
    }
}

static void run_again(void)
{
    struct iw_loop_options options = defaults();
    (void)begin(NULL);
    options.sends = true;
    octets = options.size;
    catch_from(1);
    assert_int_equal(iw_loop_run(&options), 0);
    (void)caught();
}

static void test_nothing_is_lost(void **state)
{
    (void)state;
    assert_false(leaks(run_again));
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, catch_no_more)

int main(void)
{
    iw_complain_as("iwarp-perf");
    const struct CMUnitTest tests[] = {
        EACH(test_writes),          EACH(test_sends),
        EACH(test_baseline),        EACH(test_limits),
        EACH(test_counts),          EACH(test_a_connection_that_ends_or_lies),
        EACH(test_failing_calls),   EACH(test_work_that_fails),
        EACH(test_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
