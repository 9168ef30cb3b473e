/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of client, local and server. */
#include "perf.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/number.h"
#include "host/options.h"
#include "host/outputs.h"

const char *const perf_test_names[PERF_TESTS] = {"send-lat", "write-lat", "read-lat", "atomic-lat",
                                                 "send-bw",  "write-bw",  "read-bw",  "atomic-bw"};

/* What --test takes. */
static const char *const test_words[] = {"send-lat", "write-lat", "read-lat", "atomic-lat",
                                         "send-bw",  "write-bw",  "read-bw",  "atomic-bw",
                                         "lat",      "bw",        "all",      NULL};

/* Reads the next word of a list. Returns false at its end. */
static bool next_word(const char **list, char *word, size_t room)
{
    size_t length = strcspn(*list, ",");
    if (**list == '\0')
        return false;
    snprintf(word, room, "%.*s", length < room ? (int)length : 0, *list); /* none is so long */
    *list += length;
    if (**list == ',')
        ++*list;
    return true;
}

/* What the options say. */
struct draft {
    struct perf_plan plan;
    struct perf_setup setup; /* of all lanes */
    unsigned crc, markers;   /* bit 0: off, bit 1: on */
};

/* Returns what a setter returns, with what was expected in `error` if the value is not good. */
static int taken(bool good, const char *expected, char *error, size_t room)
{
    if (good)
        return IW_OPTION_TAKEN;
    snprintf(error, room, "expected %s", expected);
    return IW_OPTION_WRONG;
}

static int set_tests(void *context, const char *value, char *error, size_t room)
{
    struct draft *d = context;
    char word[32];
    (void)error, (void)room;
    memset(d->plan.tests, 0, sizeof(d->plan.tests));
    while (next_word(&value, word, sizeof(word)))
        for (int i = 0; i < PERF_TESTS; i++)
            if (strcmp(word, "all") == 0 || strcmp(word, perf_test_names[i]) == 0 ||
                strcmp(word, perf_is_latency((enum perf_test)i) ? "lat" : "bw") == 0)
                d->plan.tests[i] = true;
    return IW_OPTION_TAKEN;
}

static bool parse_sizes(const char *list, struct perf_plan *plan)
{
    char word[32];
    plan->size_count = 0;
    while (next_word(&list, word, sizeof(word)))
        if (plan->size_count == PERF_SIZES ||
            !iw_number(word, 1, PERF_SIZE_MAX, &plan->sizes[plan->size_count++]))
            return false;
    return plan->size_count > 0;
}

static int set_sizes(void *context, const char *value, char *error, size_t room)
{
    struct draft *d = context;
    return taken(parse_sizes(value, &d->plan), "1..8388608, or a list", error, room);
}

static int set_all_sizes(void *context, const char *value, char *error, size_t room)
{
    struct draft *d = context;
    (void)value, (void)error, (void)room;
    d->plan.size_count = 0;
    for (uint64_t size = 1; size <= PERF_SIZE_MAX; size *= 2)
        d->plan.sizes[d->plan.size_count++] = size;
    return IW_OPTION_TAKEN;
}

static int set_baseline(void *context, const char *value, char *error, size_t room)
{
    struct draft *d = context;
    d->plan.baseline = strcmp(value, "tcp") == 0;
    return taken(d->plan.baseline, "tcp", error, room);
}

static int set_both(unsigned *out, const char *value, char *error, size_t room)
{
    *out = strcmp(value, "on") == 0 ? 2 : strcmp(value, "off") == 0 ? 1 : 3;
    return taken(*out != 3 || strcmp(value, "both") == 0, "on, off or both", error, room);
}

static int set_crc(void *context, const char *value, char *error, size_t room)
{
    struct draft *d = context;
    return set_both(&d->crc, value, error, room);
}

static int set_markers(void *context, const char *value, char *error, size_t room)
{
    struct draft *d = context;
    return set_both(&d->markers, value, error, room);
}

static bool has_cpu(int cpu)
{
    cpu_set_t now, wanted;
    CPU_ZERO(&wanted);
    CPU_SET((unsigned)cpu, &wanted);
    bool can = sched_getaffinity(0, sizeof(now), &now) == 0 &&
               sched_setaffinity(0, sizeof(wanted), &wanted) == 0;
    return can && sched_setaffinity(0, sizeof(now), &now) == 0;
}

static bool parse_cpus(const char *list, struct perf_plan *plan)
{
    char word[32];
    for (int i = 0; next_word(&list, word, sizeof(word)); i++) {
        uint64_t value;
        if (i == 2 || !iw_number(word, 0, CPU_SETSIZE - 1, &value) || !has_cpu((int)value))
            return false;
        plan->cpu[i] = (int)value;
    }
    return plan->cpu[0] >= 0;
}

static int set_cpus(void *context, const char *value, char *error, size_t room)
{
    struct draft *d = context;
    return taken(parse_cpus(value, &d->plan), "the number of a CPU here, or two", error, room);
}

/* Returns true if a socket takes these options, or if there is no socket to ask; else false, with
 * errno and text in `error`. */
static bool has_options(const struct perf_setup *setup, char *error)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool taken_all = fd < 0 || perf_lane_socket(setup, fd, error) == 0;
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return taken_all;
}

/* Takes the congestion control if a socket accepts it. */
static int set_congestion(void *context, const char *value, char *text, size_t room)
{
    struct draft *d = context;
    struct perf_setup alone = {.mss = 0};
    const char *path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    char error[PERF_TEXT], names[128] = "", expected[256] = "one that TCP has here";
    snprintf(alone.congestion, sizeof(alone.congestion), "%s", value);
    errno = 0;
    if (value[0] != '\0' && strlen(value) < sizeof(alone.congestion) &&
        has_options(&alone, error)) {
        memcpy(d->setup.congestion, alone.congestion, sizeof(alone.congestion));
        return IW_OPTION_TAKEN;
    }
    if (errno == EPERM)
        path = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
    FILE *list = fopen(path, "r");
    if (list != NULL && fgets(names, sizeof(names), list) != NULL)
        snprintf(expected, sizeof(expected), "what TCP has here: %.*s", (int)strcspn(names, "\n"),
                 names);
    if (list != NULL)
        fclose(list);
    return taken(false, expected, text, room);
}

#define COUNT(member, least, most) IW_OPTION_COUNTS(struct draft, member, least, most)

static const struct iw_option client_options[] = {
    {"test", 0, "LIST",
     "of send-lat write-lat read-lat atomic-lat send-bw write-bw read-bw\n"
     "atomic-bw, or lat, bw, all (write-bw)",
     0, IW_OPTION_LISTS(set_tests, test_words)},
    {"size", 0, "LIST", "octets of a message, 1..8388608 (65536)", 0, IW_OPTION_CALLS(set_sizes)},
    {"all-sizes", 'a', NULL, "1, 2, 4 ... 8388608", 0, IW_OPTION_CALLS(set_all_sizes)},
    {"baseline", 0, "tcp", "the same over plain TCP, in turn; prints the ratios", 0,
     IW_OPTION_CALLS(set_baseline)},
    {"crc", 0, "on|off|both", "(on)", 0, IW_OPTION_CALLS(set_crc)},
    {"markers", 0, "on|off|both", "(off)", 0, IW_OPTION_CALLS(set_markers)},
    {"connections", 0, "N", "(1), 1..10000", 0, COUNT(setup.connections, 1, PERF_CONNECTIONS)},
    {"window", 0, "N", "messages on their way, bandwidth (128), 1..4096", 0,
     COUNT(setup.window, 1, PERF_WINDOW)},
    {"both-ways", 0, NULL, "bandwidth in both directions at once", 0,
     IW_OPTION_SETS(struct draft, plan.both)},
    {"poll", 0, NULL, "ask the sockets again and again instead of waiting for them", 0,
     IW_OPTION_SETS(struct draft, setup.poll)},
    {"mss", 0, "N", "octets of a TCP segment (TCP_MAXSEG), 140..32767", 0,
     COUNT(setup.mss, 140, PERF_MSS)},
    {"mulpdu", 0, "N", "octets of a DDP segment, 128..64768 (from TCP's segment size)", 0,
     COUNT(setup.mulpdu, 128, 64768)},
    {"socket-buffer", 0, "N", "octets, 4096..1073741824 (the system's choice)", 0,
     COUNT(setup.socket_buffer, 4096, 1073741824)},
    {"congestion", 0, "NAME", "TCP's congestion control in every lane (the system's choice)", 0,
     IW_OPTION_CALLS(set_congestion)},
    {"rounds", 0, "N", "(9), 1..1000", 0, COUNT(plan.rounds, 1, PERF_ROUNDS)},
    {"count", 0, "N", "messages of a connection in a slice (as many as fill --slice)", 0,
     COUNT(plan.count, 1, PERF_COUNT)},
    {"slice", 0, "MS", "milliseconds that a slice lasts (50), 1..60000", 0,
     COUNT(plan.slice_ms, 1, 60000)},
    {"verify", 0, NULL, "fill, and compare what came", 0,
     IW_OPTION_SETS(struct draft, plan.verify)},
    {"cpu", 0, "N[,M]", "run on this CPU; with local, M is the server's", 0,
     IW_OPTION_CALLS(set_cpus)},
    {"json", 0, "FILE", "all figures; - is standard output (the table goes to stderr then)", 0,
     IW_OPTION_KEEPS(struct draft, plan.json)},
    {"html", 0, "FILE", "a page with plots over the sizes", 0,
     IW_OPTION_KEEPS(struct draft, plan.html)},
    {"min-ratio", 0, "X", "exit with 1 if a bandwidth is below X of plain TCP's", 0,
     IW_OPTION_MEASURES(struct draft, plan.min_ratio, 0, 1e9)},
    {"max-ratio", 0, "X", "exit with 1 if a latency is above X of plain TCP's", 0,
     IW_OPTION_MEASURES(struct draft, plan.max_ratio, 0, 1e9)},
    {"threads", 0, "N", "of iWARP, at each end; they share the connections out (1), 1..64", 0,
     COUNT(setup.threads, 1, PERF_THREADS)},
    {"soak", 0, "SECONDS",
     "no figures: all that the options name, repeated for this long and verified;\n"
     "exit with 1 if memory grows",
     0, COUNT(plan.soak, 1, 1000000)},
};

static const struct iw_option server_options[] = {
    {"once", 0, NULL, "end after the first client", 0,
     IW_OPTION_SETS(struct perf_plan, one_client)},
};

static const char usage[] =
    "usage: iwarp-perf local [option...]            client and server on this machine\n"
    "       iwarp-perf client HOST:PORT [option...]\n"
    "       iwarp-perf server HOST:PORT [--once]    port 0 lets the system choose\n"
    "       iwarp-perf loop [option...]             no sockets; see iwarp-perf loop --help\n"
    "\n"
    "Measures latency and bandwidth of RDMA over TCP, and of plain TCP beside it.\n"
    "\n";

/* Refuses options that would have no effect, or too much of it, with text in `error`. */
static void check_plan(const struct perf_plan *plan, const struct perf_setup *setup, bool local,
                       bool timed, char *error)
{
    bool tests[2] = {false, false}, limited = plan->min_ratio > 0 || plan->max_ratio > 0;
    uint64_t most = PERF_SAMPLES / plan->rounds / setup->connections;
    const char *text = "";
    for (enum perf_test test = 0; test < PERF_TESTS; test++)
        tests[perf_is_latency(test)] |= plan->tests[test];
    if (plan->soak > 0 && (limited || plan->json != NULL || plan->html != NULL || timed))
        text = "--soak: did not expect --json, --html, --rounds, --slice or a ratio with it";
    else if (limited && !plan->baseline)
        text = "--min-ratio and --max-ratio: expected --baseline tcp, too";
    else if (plan->min_ratio > 0 && !tests[false])
        text = "--min-ratio: expected a test of bandwidth, too";
    else if (plan->max_ratio > 0 && !tests[true])
        text = "--max-ratio: expected a test of latency, too";
    else if (!local && plan->cpu[1] >= 0)
        text = "--cpu: expected one number, as the server is not started here";
    snprintf(error, PERF_TEXT, "%s", text);
    if (text[0] != '\0')
        return;
    if (plan->soak == 0 && tests[true] && plan->count > most)
        snprintf(error, PERF_TEXT,
                 "--count %" PRIu64 ": expected at most %" PRIu64
                 " latencies of a connection in each of %" PRIu64 " rounds",
                 plan->count, most, plan->rounds);
    else if (setup->threads > setup->connections)
        snprintf(error, PERF_TEXT,
                 "--threads %" PRIu32 ": expected at most one for each connection", setup->threads);
    else if (setup->connections * setup->size_max > PERF_MEMORY)
        snprintf(error, PERF_TEXT,
                 "%" PRIu32 " connections of %" PRIu64 " octets: expected at most 1 GiB in all",
                 setup->connections, setup->size_max);
    else if (setup->connections * (uint64_t)setup->window > PERF_POSTED)
        snprintf(error, PERF_TEXT,
                 "%" PRIu32 " connections with a window of %" PRIu32 ": expected at most %d in all",
                 setup->connections, setup->window, PERF_POSTED);
    else
        (void)has_options(setup, error);
}

/* Makes the lanes: the baseline, then every combination of CRC and Markers. */
static void make_lanes(struct perf_plan *plan, const struct draft *d)
{
    struct perf_setup setup = d->setup;
    if (plan->baseline) {
        plan->lanes[plan->lane_count] = setup;
        plan->lanes[plan->lane_count++].tcp = true;
    }
    for (unsigned i = 0; i < 4; i++) {
        setup.crc = (i & 1) != 0;
        setup.markers = (i & 2) != 0;
        if ((d->crc >> (i & 1) & 1) != 0 && (d->markers >> (i >> 1) & 1) != 0)
            plan->lanes[plan->lane_count++] = setup;
    }
}

/* Reads a command line into `context`, and a word HOST:PORT if `address` is not NULL. Returns -1 to
 * go on, else the exit status. */
static int read_line(const struct iw_option *options, size_t count, void *context,
                     const char **address, int argc, char **argv)
{
    const struct iw_option_table table = {.options = options, .count = count, .context = context};
    const struct iw_command_line line = {.program = "iwarp-perf",
                                         .usage = usage,
                                         .tables = &table,
                                         .n_tables = 1,
                                         .most_operands = address != NULL};
    int first, result = iw_options_read(&line, argc, argv, &first);
    if (result >= 0 || address == NULL)
        return result;
    if (first == argc) {
        iw_complain("expected HOST:PORT");
        return IW_EXIT_USAGE;
    }
    *address = argv[first];
    return -1;
}

int perf_plan_client(struct perf_plan *plan, bool local, int argc, char **argv)
{
    struct draft d = {.plan = {.sizes = {65536}, .size_count = 1, .cpu = {-1, -1}},
                      .setup = {.connections = 1, .window = 128, .threads = 1, .size_max = 8},
                      .crc = 2,
                      .markers = 1};
    char error[PERF_TEXT];
    d.plan.tests[PERF_WRITE_BW] = true;
    int result = read_line(client_options, sizeof(client_options) / sizeof(*client_options), &d,
                           local ? NULL : &d.plan.address, argc, argv);
    if (result >= 0)
        return result;
    *plan = d.plan;
    bool timed = plan->rounds > 0 || plan->slice_ms > 0;
    plan->rounds = plan->rounds > 0 ? plan->rounds : 9;
    plan->slice_ms = plan->slice_ms > 0 ? plan->slice_ms : 50;
    plan->verify = plan->verify || plan->soak > 0;
    d.setup.ahead = !plan->verify;
    for (size_t i = 0; i < plan->size_count; i++)
        if (plan->sizes[i] > d.setup.size_max)
            d.setup.size_max = plan->sizes[i];
    check_plan(plan, &d.setup, local, timed, error);
    if (error[0] != '\0') {
        iw_complain("%s", error);
        return IW_EXIT_USAGE;
    }
    bool json_file = plan->json != NULL && strcmp(plan->json, "-") != 0;
    const struct iw_host_output outputs[] = {{"json", json_file ? plan->json : NULL},
                                             {"html", plan->html}};
    if ((result = iw_host_check_outputs(outputs, 2)) >= 0)
        return result;
    make_lanes(plan, &d);
    return -1;
}

int perf_plan_server(struct perf_plan *plan, int argc, char **argv)
{
    *plan = (struct perf_plan){.cpu = {-1, -1}};
    return read_line(server_options, sizeof(server_options) / sizeof(*server_options), plan,
                     &plan->address, argc, argv);
}
