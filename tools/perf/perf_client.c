/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/address.h"
#include "perf_control.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

struct client {
    const struct perf_plan *plan;
    struct perf_control control;
    struct addrinfo *addresses;
    struct perf_lane *lanes[PERF_LANES];
    struct series series[PERF_LANES];
    struct perf_results results;
    uint32_t seed;
    char error[PERF_TEXT];
};

static int fail(struct client *c, const char *text)
{
    if (c->error[0] == '\0')
        snprintf(c->error, sizeof c->error, "%s", text);
    return -1;
}

/* Fails with the server's error if it sent one, which says more; it sends it before it closes
 * anything. */
static int fail_at_both(struct client *c, const char *text)
{
    struct pollfd p = {.fd = c->control.fd, .events = POLLIN};
    char copy[PERF_TEXT];
    snprintf(copy, sizeof copy, "%s", text);
    c->error[0] = '\0';
    if (poll(&p, 1, REASON) > 0)
        json_decref(perf_control_receive(&c->control));
    return fail(c, c->control.told ? c->control.error : copy);
}

/* ---- connections ---- */

static int connect_one(struct client *c, const struct perf_setup *setup)
{
    int fd = -1, trouble = ECONNREFUSED;
    bool refused = false;
    for (const struct addrinfo *a = c->addresses; a != NULL && fd < 0 && !refused; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            trouble = errno;
            continue;
        }
        refused = setup != NULL && perf_lane_socket(setup, fd, c->error);
        if (refused || connect(fd, a->ai_addr, a->ai_addrlen)) {
            trouble = errno;
            close(fd);
            fd = -1;
        }
    }
    if (fd < 0 && !refused)
        snprintf(c->error, sizeof c->error, "cannot connect: %s", strerror(trouble));
    return fd;
}

static json_t *ask(struct client *c, json_t *message)
{
    json_t *answer =
        perf_control_send(&c->control, message) ? NULL : perf_control_receive(&c->control);
    if (answer == NULL)
        (void)fail(c, c->control.error);
    return answer;
}

static int expect_answer(struct client *c)
{
    json_t *answer = perf_control_receive(&c->control);
    json_decref(answer);
    return answer != NULL ? 0 : fail(c, c->control.error);
}

static int open_lane(struct client *c, size_t i)
{
    const struct perf_setup *setup = &c->plan->lanes[i];
    json_int_t sink, source, counter;
    struct perf_lane *lane = c->lanes[i] = perf_lane_create(setup, true, c->error);
    if (lane == NULL)
        return -1;
    json_t *command = perf_setup_to_json(setup);
    json_object_set_new(command, "command", json_string("open"));
    json_object_set_new(command, "sink", json_integer(lane->local_sink));
    json_object_set_new(command, "source", json_integer(lane->local_source));
    json_object_set_new(command, "counter", json_integer(lane->local_counter));
    json_t *answer = ask(c, command);
    int known =
        json_unpack(answer, "{sI sI sI}", "sink", &sink, "source", &source, "counter", &counter);
    json_decref(answer);
    if (known != 0)
        return fail(c, "the server does not speak as iwarp-perf does");
    lane->remote_sink = (uint32_t)sink;
    lane->remote_source = (uint32_t)source;
    lane->remote_counter = (uint32_t)counter;
    for (uint32_t k = 0; k < setup->connections; k++) {
        int fd = connect_one(c, setup);
        if (fd < 0)
            return fail_at_both(c, c->error);
        json_int_t port = perf_control_port(fd, false);
        if (lane->ops->attach(lane, k, fd))
            return fail_at_both(c, lane->error);
        if (perf_control_send(&c->control, json_pack("{sI}", "port", port)))
            return fail_at_both(c, c->control.error);
    }
    if (expect_answer(c))
        return -1;
    if (lane->ops->establish(lane))
        return fail_at_both(c, lane->error);
    return expect_answer(c);
}

/* Greets the server, which has one client at a time. */
static json_t *greet(struct client *c, const char *host_port)
{
    struct pollfd p = {.fd = c->control.fd, .events = POLLIN};
    if (perf_control_send(&c->control, json_pack("{si sI}", "iwarp-perf", PERF_PROTOCOL, "port",
                                                 perf_control_port(c->control.fd, false)))) {
        (void)fail(c, c->control.error);
        return NULL;
    }
    if (poll(&p, 1, BUSY) == 0)
        fprintf(stderr, "iwarp-perf: %.200s: no answer yet; it may be busy with another client\n",
                host_port);
    json_t *answer = perf_control_receive(&c->control);
    if (answer == NULL)
        (void)fail(c, c->control.error);
    return answer;
}

static int connect_all(struct client *c, const char *host_port)
{
    struct iw_host_port to;
    char error[PERF_TEXT + 200];
    if (iw_transport_parse(host_port, &to, error, sizeof error)) {
        fprintf(stderr, "iwarp-perf: %s\n", error);
        return PERF_USAGE;
    }
    c->addresses = iw_address_resolve(to.host, to.port, false, c->error, sizeof c->error);
    int fd = c->addresses != NULL ? connect_one(c, NULL) : -1;
    if (fd < 0) {
        fprintf(stderr, "iwarp-perf: %.200s: %s\n", host_port, c->error);
        return PERF_UNAVAILABLE;
    }
    perf_control_init(&c->control, fd);
    json_t *answer = greet(c, host_port);
    json_decref(answer);
    if (answer == NULL)
        return PERF_FAILED;
    for (size_t i = 0; i < c->plan->lane_count; i++)
        if (open_lane(c, i))
            return PERF_FAILED;
    return PERF_OK;
}

/* ---- slices ---- */

struct slice {
    double seconds, cpu[2], calls[2];
    json_int_t resident; /* KiB of the server */
};

static int run_slice(struct client *c, size_t i, const struct perf_run *run,
                     struct perf_samples *samples, struct slice *out)
{
    struct perf_lane *lane = c->lanes[i];
    if (perf_lane_prepare(lane, run))
        return fail(c, lane->error);
    json_t *command = perf_run_to_json(run);
    json_object_set_new(command, "command", json_string("run"));
    json_object_set_new(command, "lane", json_integer((json_int_t)i));
    json_t *answer = ask(c, command);
    json_decref(answer);
    if (answer == NULL)
        return -1;
    uint64_t calls = lane->calls;
    double cpu = perf_cpu_seconds(), began = perf_seconds();
    int result = lane->ops->execute(lane, run, samples);
    out->seconds = perf_seconds() - began;
    out->cpu[0] = perf_cpu_seconds() - cpu;
    out->calls[0] = (double)(lane->calls - calls);
    if (result)
        return fail_at_both(c, lane->error);
    if (perf_lane_verify(lane, run))
        return fail(c, lane->error);
    answer = perf_control_receive(&c->control);
    int known = json_unpack(answer, "{sf sF sI}", "cpu", &out->cpu[1], "calls", &out->calls[1],
                            "resident", &out->resident);
    bool spoke = answer != NULL;
    json_decref(answer);
    if (known == 0)
        return 0;
    return fail(c, spoke ? "the server does not speak as iwarp-perf does" : c->control.error);
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
    uint64_t most = PERF_SAMPLES / plan->rounds / plan->lanes[0].connections;
    return !perf_is_latency(test) ? PERF_COUNT : most > 0 ? most : 1;
}

/* Returns the number of messages that fill a slice of the first lane; also warms up. Returns 0 on
 * failure. */
static uint64_t calibrate(struct client *c, enum perf_test test, uint64_t size)
{
    double wanted = (double)c->plan->slice_ms * 1e-3;
    uint64_t most = most_messages(c->plan, test), first = FIRST_COUNT < most ? FIRST_COUNT : most;
    uint64_t count = c->plan->count > 0 ? c->plan->count : first;
    struct slice s;
    for (bool enough = c->plan->count > 0; !enough;) {
        struct perf_run run = make_run(c, test, size, count);
        if (run_slice(c, 0, &run, NULL, &s))
            return 0;
        double factor = s.seconds > 0 ? wanted / s.seconds : 8;
        enough = factor < 1.5 || count >= most;
        if (!enough)
            count = (uint64_t)((double)count * (factor > 8 ? 8 : factor)) + 1;
        if (count > most)
            count = most;
    }
    for (size_t i = 0; i < c->plan->lane_count; i++) {
        struct perf_run run = make_run(c, test, size, count);
        if (run_slice(c, i, &run, NULL, &s))
            return 0;
    }
    return count;
}

static int run_round(struct client *c, const struct perf_run *run, size_t lane, uint64_t round)
{
    struct series *s = &c->series[lane];
    bool latency = perf_is_latency(run->test);
    uint32_t connections = c->plan->lanes[lane].connections;
    double messages = (double)(perf_messages(run) * connections);
    struct perf_samples samples = {.values = s->samples + s->sample_count,
                                   .room = latency ? (size_t)run->count * connections : 0};
    struct slice slice;
    if (run_slice(c, lane, run, &samples, &slice))
        return -1;
    s->rate[round] = messages / slice.seconds;
    s->value[round] = (double)run->size * s->rate[round] * 1e-9;
    if (latency) {
        s->value[round] = perf_spread(samples.values, samples.count).median * 1e-3;
        s->sample_count += samples.count;
    }
    s->cpu[0][round] = slice.cpu[0] / messages;
    s->cpu[1][round] = slice.cpu[1] / messages;
    s->calls[0][round] = slice.calls[0] / messages;
    s->calls[1][round] = slice.calls[1] / messages;
    return 0;
}

static void compare(struct client *c, size_t lane)
{
    struct series *s = &c->series[lane];
    const struct series *base = &c->series[0];
    for (uint64_t r = 0; r < c->plan->rounds; r++) {
        double cost = base->cpu[0][r] + base->cpu[1][r];
        s->ratio[r] = base->value[r] > 0 ? s->value[r] / base->value[r] : 0;
        s->cpu_ratio[r] = cost > 0 ? (s->cpu[0][r] + s->cpu[1][r]) / cost : 0;
    }
}

static int conclude(struct client *c, const struct perf_run *run, size_t lane)
{
    struct series *s = &c->series[lane];
    struct perf_results *all = &c->results;
    size_t rounds = (size_t)c->plan->rounds;
    if (all->count == all->room) {
        size_t room = all->room > 0 ? 2 * all->room : 64;
        struct perf_result *list = realloc(all->list, room * sizeof *list);
        if (list == NULL)
            return fail(c, "no memory");
        all->list = list;
        all->room = room;
    }
    struct perf_result *r = &all->list[all->count++];
    *r = (struct perf_result){.test = run->test,
                              .size = run->size,
                              .count = perf_messages(run) * c->plan->lanes[lane].connections,
                              .lane = lane,
                              .ratio = perf_spread(s->ratio, c->plan->baseline ? rounds : 0),
                              .cpu_ratio =
                                  perf_spread(s->cpu_ratio, c->plan->baseline ? rounds : 0).median};
    r->value = perf_spread(s->value, rounds);
    r->rate = perf_spread(s->rate, rounds);
    for (int end = 0; end < 2; end++) {
        double each = perf_spread(s->cpu[end], rounds).median;
        r->calls[end] = perf_spread(s->calls[end], rounds).median;
        r->cpu_message[end] = each * 1e6;
        r->cpu_gib[end] = each / (double)run->size * 1073741824.0;
    }
    if (perf_is_latency(run->test)) {
        (void)perf_spread(s->samples, s->sample_count);
        r->p99 = perf_quantile(s->samples, s->sample_count, 0.99) * 1e-3;
        r->p999 = perf_quantile(s->samples, s->sample_count, 0.999) * 1e-3;
    }
    perf_table_row(c->plan, r);
    return 0;
}

static int measure(struct client *c, enum perf_test test, uint64_t size)
{
    const struct perf_plan *plan = c->plan;
    struct perf_run run = make_run(c, test, size, calibrate(c, test, size));
    if (run.count == 0)
        return -1;
    for (size_t i = 0; i < plan->lane_count; i++) {
        size_t room = (size_t)(run.count * plan->rounds * plan->lanes[i].connections);
        struct series *s = &c->series[i];
        free(s->samples);
        s->samples = perf_is_latency(test) ? malloc(room * sizeof *s->samples) : NULL;
        s->sample_count = 0;
        if (perf_is_latency(test) && s->samples == NULL)
            return fail(c, "no memory for the samples");
    }
    for (uint64_t round = 0; round < plan->rounds; round++)
        for (size_t k = 0; k < plan->lane_count; k++) {
            run.seed = ++c->seed;
            if (run_round(c, &run, round % 2 == 0 ? k : plan->lane_count - 1 - k, round))
                return -1;
        }
    for (size_t i = plan->lane_count; i-- > 0;)
        if (plan->baseline)
            compare(c, i);
    for (size_t i = 0; i < plan->lane_count; i++)
        if (conclude(c, &run, i))
            return -1;
    return 0;
}

static int measure_all(struct client *c)
{
    const struct perf_plan *plan = c->plan;
    perf_table_head(plan);
    for (int test = 0; test < PERF_TESTS; test++) {
        bool atomic = perf_is_atomic((enum perf_test)test);
        for (size_t i = 0; plan->tests[test] && i < (atomic ? 1 : plan->size_count); i++)
            if (measure(c, (enum perf_test)test, atomic ? 8 : plan->sizes[i]))
                return -1;
    }
    (void)perf_control_send(&c->control, json_pack("{ss}", "command", "end"));
    return 0;
}

/* ---- soak ---- */

struct soak {
    uint64_t messages, passes;
    uint64_t now[2], first[2]; /* KiB of client and server: now, and when `watched` began */
    bool watched;
    double began, told;
};

/* Runs each test with each size on each lane, verified. */
static int soak_pass(struct client *c, struct soak *s)
{
    const struct perf_plan *plan = c->plan;
    struct slice slice = {0};
    for (int test = 0; test < PERF_TESTS; test++) {
        bool atomic = perf_is_atomic((enum perf_test)test);
        for (size_t i = 0; plan->tests[test] && i < (atomic ? 1 : plan->size_count); i++)
            for (size_t lane = 0; lane < plan->lane_count; lane++) {
                struct perf_run run = make_run(c, (enum perf_test)test, atomic ? 8 : plan->sizes[i],
                                               plan->count > 0 ? plan->count : FIRST_COUNT);
                if (run_slice(c, lane, &run, NULL, &slice))
                    return -1;
                s->messages += perf_messages(&run) * plan->lanes[lane].connections;
            }
    }
    s->now[0] = perf_resident();
    s->now[1] = (uint64_t)slice.resident;
    return 0;
}

static void soak_tell(struct soak *s)
{
    s->told = perf_seconds();
    printf("%9.1f %14llu %11llu %11llu\n", s->told - s->began, (unsigned long long)s->messages,
           (unsigned long long)s->now[0], (unsigned long long)s->now[1]);
    fflush(stdout);
}

/* Checks that memory does not grow, apart from an allocator's fluctuation. */
static int soak_flat(struct client *c, const struct soak *s)
{
    static const char *const ends[] = {"client", "server"};
    for (int end = 0; end < 2; end++) {
        uint64_t most = s->first[end] + s->first[end] / 20 + 4096;
        if (s->now[end] > most) {
            snprintf(c->error, sizeof c->error,
                     "the %s's memory has grown from %llu to %llu KiB, at most %llu were expected",
                     ends[end], (unsigned long long)s->first[end], (unsigned long long)s->now[end],
                     (unsigned long long)most);
            return -1;
        }
    }
    return 0;
}

static int soak(struct client *c)
{
    struct soak s = {.began = perf_seconds()};
    double wanted = (double)c->plan->soak, each = wanted / 20;
    printf("%9s %14s %11s %11s\n", "seconds", "messages", "client KiB", "server KiB");
    while (s.passes < 3 || !s.watched || perf_seconds() - s.began < wanted) {
        if (soak_pass(c, &s))
            return -1;
        if (++s.passes <= 2 || perf_seconds() - s.told >= each)
            soak_tell(&s);
        if (s.watched && soak_flat(c, &s))
            return -1;
        /* The octets that wait in a connection depend on how its ends happen to run: two passes
         * may not have reached the maximum. */
        if (!s.watched && s.passes >= 2 && perf_seconds() - s.began >= wanted / 10) {
            memcpy(s.first, s.now, sizeof s.first);
            s.watched = true;
        }
    }
    soak_tell(&s);
    (void)perf_control_send(&c->control, json_pack("{ss}", "command", "end"));
    return 0;
}

/* Checks --min-ratio and --max-ratio, which hold for every lane except the baseline. */
static int judge(const struct client *c)
{
    const struct perf_plan *plan = c->plan;
    int status = PERF_OK;
    for (size_t i = 0; i < c->results.count; i++) {
        const struct perf_result *r = &c->results.list[i];
        double limit = perf_is_latency(r->test) ? plan->max_ratio : plan->min_ratio;
        bool bad = perf_is_latency(r->test) ? r->ratio.median > limit : r->ratio.median < limit;
        char name[64];
        if (r->lane == 0 || limit <= 0 || !bad)
            continue;
        perf_lane_name(&plan->lanes[r->lane], name, sizeof name);
        fprintf(perf_table(plan), "%s %s of %llu octets: ratio %.3f, the limit is %.3f\n", name,
                perf_test_names[r->test], (unsigned long long)r->size, r->ratio.median, limit);
        status = PERF_FAILED;
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
    if (sched_setaffinity(0, sizeof set, &set))
        fprintf(stderr, "iwarp-perf: cannot run on CPU %d: %s\n", cpu, strerror(errno));
}

int perf_client(const struct perf_plan *plan, const char *host_port)
{
    struct client *c = calloc(1, sizeof *c);
    if (c == NULL) {
        fprintf(stderr, "iwarp-perf: no memory\n");
        return PERF_FAILED;
    }
    c->plan = plan;
    c->control.fd = -1;
    pin(plan->cpu[0]);
    int status = perf_report_possible(plan) ? PERF_USAGE : connect_all(c, host_port);
    if (status == PERF_OK && (plan->soak > 0 ? soak(c) : measure_all(c)))
        status = PERF_FAILED;
    if (status == PERF_FAILED)
        fprintf(stderr, "iwarp-perf: %s\n", c->error);
    if (status == PERF_OK)
        status = judge(c);
    if (c->results.count > 0) {
        bool bad = perf_report_json(plan, &c->results) != 0;
        bad |= perf_report_html(plan, &c->results) != 0;
        status = bad ? PERF_FAILED : status;
    }
    for (size_t i = 0; i < PERF_LANES; i++) {
        perf_lane_destroy(c->lanes[i]);
        free(c->series[i].samples);
    }
    if (c->addresses != NULL)
        freeaddrinfo(c->addresses);
    perf_control_close(&c->control);
    free(c->results.list);
    free(c);
    return status;
}

/* Waits for the server, which ends with its client. One that does not end has printed its error. */
static int reap(pid_t child, bool failed)
{
    int ended = 0;
    for (int i = 0; failed && i < BUSY; i++) {
        if (waitpid(child, &ended, WNOHANG) == child)
            return ended;
        poll(NULL, 0, 1);
    }
    if (failed)
        kill(child, SIGTERM);
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
        ;
    return ended;
}

/* Runs client and server on this machine. */
int perf_local(const struct perf_plan *plan)
{
    struct iw_host_port at = {.host = "127.0.0.1", .port = 0};
    char error[PERF_TEXT], address[IW_TRANSPORT_TEXT];
    int listener = iw_transport_bind(&at, address, error, sizeof error);
    if (listener < 0) {
        fprintf(stderr, "iwarp-perf: %s\n", error);
        return PERF_UNAVAILABLE;
    }
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(PERF_FAILED);
        pin(plan->cpu[1]);
        _exit(perf_serve(listener, true));
    }
    close(listener);
    if (child < 0) {
        fprintf(stderr, "iwarp-perf: cannot start a server: %s\n", strerror(errno));
        return PERF_UNAVAILABLE;
    }
    int status = perf_client(plan, address), ended;
    if (status != PERF_OK && status != PERF_FAILED)
        kill(child, SIGTERM); /* it may have had no client */
    ended = reap(child, status != PERF_OK);
    return status != PERF_OK ? status : !WIFEXITED(ended) || WEXITSTATUS(ended) != 0;
}
