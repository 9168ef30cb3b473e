/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/address.h"
#include "host/complain.h"
#include "host/text.h"
#include "perf_control.h"
#include "standard.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "iwarp/transport.h"

enum { FIRST_COUNT = 8, BUSY = 2000 /* ms */, REASON = 200 /* ms */ };

/* The results of the rounds of one lane. */
struct series {
    double value[PERF_ROUNDS], rate[PERF_ROUNDS], ratio[PERF_ROUNDS], cpu_ratio[PERF_ROUNDS];
    double cpu[2][PERF_ROUNDS], calls[2][PERF_ROUNDS];
    double *samples; /* of all rounds */
    size_t sample_count;
};

struct soak {
    uint64_t messages;
    uint64_t now[2], first[2]; /* KiB of client and server: now, and when `watched` began */
    bool watched;
    double began, printed;
};

struct client {
    const struct perf_plan *plan;
    struct perf_control control;
    struct addrinfo *addresses;
    struct perf_lane *lanes[PERF_LANES];
    struct series series[PERF_LANES];
    struct perf_result list[PERF_TESTS * PERF_SIZES * PERF_LANES];
    struct perf_results results; /* of the list */
    struct perf_context context;
    struct soak soak;
    uint32_t seed;
};

/* The functions that return a bool return true if all is well, else false with c->control.error. */

static bool fail(struct client *c, const char *text)
{
    (void)perf_control_fail(&c->control, text);
    return false;
}

/* Replaces the error by the server's if it sent one, which says more; it sends it before it closes
 * anything. */
static void prefer_theirs(struct client *c)
{
    struct pollfd p = {.fd = c->control.fd, .events = POLLIN};
    char ours[PERF_TEXT];
    snprintf(ours, sizeof(ours), "%s", c->control.error);
    if (!c->control.theirs && poll(&p, 1, REASON) > 0)
        json_decref(perf_control_receive(&c->control));
    if (!c->control.theirs)
        (void)fail(c, ours);
}

/* ---- connections ---- */

struct preparation {
    const struct perf_setup *setup; /* NULL: of the control connection */
    char *error;                    /* "" until a socket could not be prepared */
};

static bool prepare(void *context, int fd)
{
    struct preparation *p = context;
    errno = EINVAL;
    return p->setup == NULL || perf_lane_socket(p->setup, fd, p->error) == 0;
}

static int connect_one(struct client *c, const struct perf_setup *setup)
{
    struct preparation p = {setup, c->control.error};
    c->control.error[0] = '\0';
    int fd = iw_address_connect(c->addresses, 0, prepare, &p);
    if (fd < 0 && c->control.error[0] == '\0')
        snprintf(c->control.error, sizeof(c->control.error), "cannot connect: %s", strerror(errno));
    return fd;
}

static bool open_lane(struct client *c, size_t i)
{
    const struct perf_setup *setup = &c->plan->lanes[i];
    struct perf_lane *lane = c->lanes[i] = perf_lane_create(setup, true, c->control.error);
    if (lane == NULL)
        return false;
    json_t *command = perf_setup_to_json(setup);
    json_object_update_new(command, json_pack("{ss sI sI sI}", "command", "open", "sink",
                                              (json_int_t)lane->local_sink, "source",
                                              (json_int_t)lane->local_source, "counter",
                                              (json_int_t)lane->local_counter));
    json_int_t sink, source, counter;
    if (perf_control_send(&c->control, command) ||
        perf_control_expect(&c->control, "{sI sI sI}", "sink", &sink, "source", &source, "counter",
                            &counter))
        return false;
    lane->remote_sink = (uint32_t)sink;
    lane->remote_source = (uint32_t)source;
    lane->remote_counter = (uint32_t)counter;
    for (uint32_t k = 0; k < setup->connections; k++) {
        int fd = connect_one(c, setup);
        if (fd < 0)
            return false;
        json_int_t port = perf_control_port(fd, false);
        if (lane->ops->attach(lane, k, fd))
            return fail(c, lane->error);
        if (perf_control_send(&c->control, json_pack("{sI}", "port", port)))
            return false;
    }
    if (perf_control_expect(&c->control, "{}"))
        return false;
    if (lane->ops->establish(lane))
        return fail(c, lane->error);
    return !perf_control_expect(&c->control, "{}");
}

/* Greets the server, which has one client at a time. */
static bool greet(struct client *c, const char *host_port)
{
    struct pollfd p = {.fd = c->control.fd, .events = POLLIN};
    if (perf_control_send(&c->control, json_pack("{si sI}", "iwarp-perf", PERF_PROTOCOL, "port",
                                                 perf_control_port(c->control.fd, false))))
        return false;
    if (poll(&p, 1, BUSY) == 0)
        iw_complain("%.200s: no answer yet; it may be busy with another client", host_port);
    return !perf_control_expect(&c->control, "{}");
}

/* Returns an exit status; of IW_EXIT_FAILURE, c->control.error is the reason. */
static int connect_all(struct client *c, const char *host_port)
{
    struct iw_host_port to;
    char error[PERF_TEXT + 200];
    if (iw_transport_parse(host_port, &to, error, sizeof(error))) {
        iw_complain("%s", error);
        return IW_EXIT_USAGE;
    }
    c->addresses =
        iw_address_resolve(to.host, to.port, false, c->control.error, sizeof(c->control.error));
    int fd = c->addresses != NULL ? connect_one(c, NULL) : -1;
    if (fd < 0) {
        iw_complain("%.200s: %s", host_port, c->control.error);
        return IW_EXIT_UNREACHED;
    }
    perf_control_init(&c->control, fd);
    if (!greet(c, host_port))
        return IW_EXIT_FAILURE;
    for (size_t i = 0; i < c->plan->lane_count; i++)
        if (!open_lane(c, i))
            return IW_EXIT_FAILURE;
    return IW_EXIT_GOOD;
}

/* ---- slices ---- */

struct slice {
    double seconds, cpu[2], calls[2];
    json_int_t resident; /* KiB of the server */
};

static bool run_slice(struct client *c, size_t i, const struct perf_run *run,
                      struct perf_samples *samples, struct slice *out)
{
    struct perf_lane *lane = c->lanes[i];
    if (iw_standard_interrupted())
        return fail(c, "interrupted");
    if (perf_lane_prepare(lane, run))
        return fail(c, lane->error);
    json_t *command = perf_run_to_json(run);
    json_object_update_new(command, json_pack("{ss sI}", "command", "run", "lane", (json_int_t)i));
    if (perf_control_send(&c->control, command) || perf_control_expect(&c->control, "{}"))
        return false;
    uint64_t calls = lane->calls;
    double cpu = perf_cpu_seconds(), began = perf_seconds();
    int result = lane->ops->execute(lane, run, samples);
    out->seconds = perf_seconds() - began;
    out->cpu[0] = perf_cpu_seconds() - cpu;
    out->calls[0] = (double)(lane->calls - calls);
    if (result)
        return fail(c, lane->error);
    if (perf_lane_verify(lane, run))
        return fail(c, lane->error);
    return !perf_control_expect(&c->control, "{sf sF sI}", "cpu", &out->cpu[1], "calls",
                                &out->calls[1], "resident", &out->resident);
}

static struct perf_run make_run(struct client *c, enum perf_test test, uint64_t size,
                                uint64_t count)
{
    return (struct perf_run){.test = test,
                             .size = size,
                             .count = count,
                             .both = c->plan->both && !perf_is_latency(test),
                             .verify = c->plan->verify,
                             .seed = ++c->seed};
}

/* Returns the maximum number of messages: latencies are kept, so their number is bounded. */
static uint64_t most_messages(const struct perf_plan *plan, enum perf_test test)
{
    if (!perf_is_latency(test))
        return PERF_COUNT;
    return PERF_SAMPLES / plan->rounds / plan->lanes[0].connections; /* 2 at least */
}

static uint64_t at_most(uint64_t count, uint64_t most)
{
    return count < most ? count : most;
}

/* Returns the number of messages that fill a slice of the first lane; also warms up. Returns 0 on
 * failure. */
static uint64_t calibrate(struct client *c, enum perf_test test, uint64_t size)
{
    uint64_t most = most_messages(c->plan, test), count = at_most(FIRST_COUNT, most);
    bool enough = c->plan->count > 0;
    if (enough)
        count = c->plan->count;
    struct slice s;
    while (!enough) {
        struct perf_run run = make_run(c, test, size, count);
        if (!run_slice(c, 0, &run, NULL, &s))
            return 0;
        double factor = (double)c->plan->slice_ms * 1e-3 / s.seconds;
        enough = factor < 1.5 || count >= most;
        if (!enough)
            count = at_most((uint64_t)((double)count * (factor > 8 ? 8 : factor)) + 1, most);
    }
    for (size_t i = 0; i < c->plan->lane_count; i++) {
        struct perf_run run = make_run(c, test, size, count);
        if (!run_slice(c, i, &run, NULL, &s))
            return 0;
    }
    return count;
}

static bool run_round(struct client *c, const struct perf_run *run, size_t lane, uint64_t round)
{
    struct series *s = &c->series[lane];
    bool latency = perf_is_latency(run->test);
    uint32_t connections = c->plan->lanes[lane].connections;
    double messages = (double)(perf_messages(run) * connections);
    struct perf_samples samples = {0};
    if (latency)
        samples = (struct perf_samples){.values = s->samples + s->sample_count,
                                        .room = (size_t)run->count * connections};
    struct slice slice;
    if (!run_slice(c, lane, run, &samples, &slice))
        return false;
    s->rate[round] = messages / slice.seconds;
    s->value[round] = (double)run->size * s->rate[round] * 1e-9;
    if (latency) {
        s->value[round] = perf_spread(samples.values, samples.count).median * 1e-3;
        s->sample_count += samples.count;
    }
    for (int end = 0; end < 2; end++) {
        s->cpu[end][round] = slice.cpu[end] / messages;
        s->calls[end][round] = slice.calls[end] / messages;
    }
    return true;
}

static void compare(struct series *s, const struct series *base, uint64_t round)
{
    double cost = base->cpu[0][round] + base->cpu[1][round];
    s->ratio[round] = base->value[round] > 0 ? s->value[round] / base->value[round] : 0;
    s->cpu_ratio[round] = cost > 0 ? (s->cpu[0][round] + s->cpu[1][round]) / cost : 0;
}

static void conclude(struct client *c, const struct perf_run *run, size_t lane, size_t rounds)
{
    struct series *s = &c->series[lane];
    size_t compared = c->plan->baseline ? rounds : 0;
    struct perf_result *r = &c->results.list[c->results.count++];
    *r = (struct perf_result){.test = run->test,
                              .size = run->size,
                              .count = perf_messages(run) * c->plan->lanes[lane].connections,
                              .lane = lane,
                              .value = perf_spread(s->value, rounds),
                              .rate = perf_spread(s->rate, rounds),
                              .ratio = perf_spread(s->ratio, compared),
                              .cpu_ratio = perf_spread(s->cpu_ratio, compared).median};
    const struct perf_result *base = r - lane; /* the lanes of a test follow each other */
    if (compared > 0 && base->value.median > 0)
        r->ratio_of_medians = r->value.median / base->value.median;
    for (int end = 0; end < 2; end++) {
        double each = perf_spread(s->cpu[end], rounds).median;
        r->calls[end] = perf_spread(s->calls[end], rounds).median;
        r->cpu_message[end] = each * 1e6;
        r->cpu_gib[end] = each / (double)run->size * 1073741824.0;
    }
    if (perf_is_latency(run->test)) {
        (void)perf_spread(s->samples, s->sample_count);
        r->p99 = perf_quantile(s->samples, s->sample_count, 990) * 1e-3;
        r->p999 = perf_quantile(s->samples, s->sample_count, 999) * 1e-3;
    }
    perf_table_row(c->plan, r);
}

static bool measure(struct client *c, enum perf_test test, uint64_t size)
{
    const struct perf_plan *plan = c->plan;
    struct perf_run run = make_run(c, test, size, calibrate(c, test, size));
    if (run.count == 0)
        return false;
    for (size_t i = 0; i < plan->lane_count; i++) {
        size_t room = (size_t)(run.count * plan->rounds * plan->lanes[i].connections);
        struct series *s = &c->series[i];
        free(s->samples);
        s->samples = perf_is_latency(test) ? malloc(room * sizeof(*s->samples)) : NULL;
        s->sample_count = 0;
        if (perf_is_latency(test) && s->samples == NULL)
            return fail(c, "no memory for the samples");
    }
    uint64_t round = 0;
    bool good = true;
    while (good && round < plan->rounds) {
        for (size_t k = 0; k < plan->lane_count && good; k++) {
            run.seed = ++c->seed;
            good = run_round(c, &run, round % 2 == 0 ? k : plan->lane_count - 1 - k, round);
        }
        for (size_t i = 0; plan->baseline && good && i < plan->lane_count; i++)
            compare(&c->series[i], &c->series[0], round);
        round += good;
    }
    bool interrupted = !good && iw_standard_interrupted();
    for (size_t i = 0; (good || interrupted) && round > 0 && i < plan->lane_count; i++)
        conclude(c, &run, i, (size_t)round); /* of whole rounds */
    return good;
}

/* Calls `visit` for each test with each size, as long as that is well; atomics have one size. */
static bool visit_tests(struct client *c,
                        bool (*visit)(struct client *c, enum perf_test test, uint64_t size))
{
    const struct perf_plan *plan = c->plan;
    for (enum perf_test test = 0; test < PERF_TESTS; test++) {
        bool atomic = perf_is_atomic(test);
        for (size_t i = 0; plan->tests[test] && i < (atomic ? 1 : plan->size_count); i++)
            if (!visit(c, test, atomic ? 8 : plan->sizes[i]))
                return false;
    }
    return true;
}

static bool measure_all(struct client *c)
{
    perf_table_head(c->plan);
    return visit_tests(c, measure);
}

/* ---- soak ---- */

/* Runs a test with a size on each lane, verified. */
static bool soak_test(struct client *c, enum perf_test test, uint64_t size)
{
    const struct perf_plan *plan = c->plan;
    struct slice slice = {0};
    for (size_t lane = 0; lane < plan->lane_count; lane++) {
        struct perf_run run = make_run(c, test, size, plan->count > 0 ? plan->count : FIRST_COUNT);
        if (!run_slice(c, lane, &run, NULL, &slice))
            return false;
        c->soak.messages += perf_messages(&run) * plan->lanes[lane].connections;
    }
    c->soak.now[0] = perf_resident();
    c->soak.now[1] = (uint64_t)slice.resident;
    return true;
}

static void soak_print(struct soak *s)
{
    s->printed = perf_seconds();
    printf("%9.1f %14llu %11llu %11llu\n", s->printed - s->began, (unsigned long long)s->messages,
           (unsigned long long)s->now[0], (unsigned long long)s->now[1]);
    fflush(stdout);
}

/* Checks that memory does not grow, apart from an allocator's fluctuation. */
static bool soak_flat(struct client *c)
{
    static const char *const ends[] = {"client", "server"};
    const struct soak *s = &c->soak;
    for (int end = 0; end < 2; end++) {
        uint64_t most = s->first[end] + s->first[end] / 20 + 4096;
        if (s->now[end] > most) {
            snprintf(c->control.error, sizeof(c->control.error),
                     "the %s's memory has grown from %llu to %llu KiB, at most %llu were expected",
                     ends[end], (unsigned long long)s->first[end], (unsigned long long)s->now[end],
                     (unsigned long long)most);
            return false;
        }
    }
    return true;
}

static bool soak(struct client *c)
{
    struct soak *s = &c->soak;
    double wanted = (double)c->plan->soak, each = wanted / 20;
    s->began = perf_seconds();
    printf("%9s %14s %11s %11s\n", "seconds", "messages", "client KiB", "server KiB");
    for (uint64_t passes = 0; passes < 3 || perf_seconds() - s->began < wanted;) {
        if (!visit_tests(c, soak_test))
            return false;
        if (++passes <= 2 || perf_seconds() - s->printed >= each)
            soak_print(s);
        if (s->watched && !soak_flat(c))
            return false;
        /* The octets that wait in a connection depend on how its ends happen to run: two passes
         * may not have reached the maximum. */
        if (!s->watched && passes >= 2 && perf_seconds() - s->began >= wanted / 10) {
            memcpy(s->first, s->now, sizeof(s->first));
            s->watched = true;
        }
    }
    soak_print(s);
    return true;
}

/* Checks --min-ratio and --max-ratio, which hold for every lane except the baseline. */
static int judge(const struct client *c)
{
    const struct perf_plan *plan = c->plan;
    int status = IW_EXIT_GOOD;
    for (size_t i = 0; i < c->results.count; i++) {
        const struct perf_result *r = &c->results.list[i];
        double limit = perf_is_latency(r->test) ? plan->max_ratio : plan->min_ratio;
        bool bad = perf_is_latency(r->test) ? r->ratio.median > limit : r->ratio.median < limit;
        if (r->lane == 0 || limit <= 0 || !bad)
            continue;
        fprintf(perf_table(plan), "%s %s of %llu octets: ratio %.3f, the limit is %.3f\n",
                perf_lane_name(&plan->lanes[r->lane]), perf_test_names[r->test],
                (unsigned long long)r->size, r->ratio.median, limit);
        status = IW_EXIT_FAILURE;
    }
    return status;
}

/* Pins the process to a CPU; the plan has checked that this is possible. */
static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < 0)
        return;
    CPU_SET((unsigned)cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        iw_complain("cannot run on CPU %d: %s", cpu, strerror(errno));
}

int perf_client(const struct perf_plan *plan, const char *host_port)
{
    struct client *c = iw_got(calloc(1, sizeof(*c)));
    c->plan = plan;
    c->control.fd = -1;
    c->results.list = c->list;
    c->results.context = &c->context;
    perf_context_read(&c->context);
    pin(plan->cpu[0]);
    iw_standard_catch_interrupt();
    int status = perf_report_possible(plan) ? IW_EXIT_OUTPUT : connect_all(c, host_port);
    if (!status && !(plan->soak > 0 ? soak(c) : measure_all(c)))
        status = IW_EXIT_FAILURE;
    c->results.interrupted = iw_standard_interrupted();
    if (c->results.interrupted) {
        if (c->control.fd >= 0)
            (void)perf_control_send(&c->control, json_pack("{ss}", "command", "end"));
        status = iw_complain_exit(IW_EXIT_INTERRUPTED, "interrupted%s",
                                  c->results.count > 0 ? ": what was measured is kept" : "");
    } else if (status == IW_EXIT_FAILURE) {
        prefer_theirs(c);
        iw_complain("%s", c->control.error);
    } else if (!status) {
        (void)perf_control_send(&c->control, json_pack("{ss}", "command", "end"));
        status = judge(c);
    }
    if (c->results.count > 0) {
        bool bad = perf_report_json(plan, &c->results) != 0;
        bad |= perf_report_html(plan, &c->results) != 0;
        status = bad ? IW_EXIT_OUTPUT : status;
    }
    for (size_t i = 0; i < PERF_LANES; i++) {
        perf_lane_destroy(c->lanes[i]);
        free(c->series[i].samples);
    }
    if (c->addresses != NULL)
        freeaddrinfo(c->addresses);
    perf_control_close(&c->control);
    free(c);
    return status;
}

/* Waits for the server, which ends with its client. One that does not end has printed its error. */
static int reap(pid_t child, int failed)
{
    struct pollfd p = {.fd = failed ? pidfd_open(child, 0) : -1, .events = POLLIN};
    int ended = 0;
    if (failed && poll(&p, 1, BUSY) <= 0)
        kill(child, SIGTERM);
    (void)waitpid(child, &ended, 0);
    if (p.fd >= 0)
        close(p.fd);
    return ended;
}

/* Runs client and server on this machine. */
int perf_local(const struct perf_plan *plan)
{
    struct iw_host_port at = {.host = "127.0.0.1", .port = 0};
    char error[PERF_TEXT], address[IW_TRANSPORT_TEXT];
    int listener = iw_transport_bind(&at, address, error, sizeof(error));
    if (listener < 0) {
        iw_complain("%s", error);
        return IW_EXIT_UNAVAILABLE;
    }
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(IW_EXIT_FAILURE);
        signal(SIGINT, SIG_IGN); /* the terminal's is for the client, with which it ends */
        pin(plan->cpu[1]);
        _exit(perf_serve(listener, true));
    }
    close(listener);
    if (child < 0) {
        iw_complain("cannot start a server: %s", strerror(errno));
        return IW_EXIT_UNAVAILABLE;
    }
    int status = perf_client(plan, address);
    if (status > IW_EXIT_FAILURE)
        kill(child, SIGTERM); /* it may have had no client */
    int ended = reap(child, status);
    return status ? status : !WIFEXITED(ended) || WEXITSTATUS(ended) != 0;
}
