/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of client, local and server. */
#include "perf.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const char *const perf_test_names[PERF_TESTS] = {"send-lat", "write-lat", "read-lat", "atomic-lat",
                                                 "send-bw",  "write-bw",  "read-bw",  "atomic-bw"};

const char perf_usage[] =
    "usage: iwarp-perf local [option...]            client and server on this machine\n"
    "       iwarp-perf client HOST:PORT [option...]\n"
    "       iwarp-perf server HOST:PORT [--once]    port 0 lets the system choose\n"
    "       iwarp-perf loop [option...]             no sockets; see iwarp-perf loop --help\n"
    "\n"
    "Measures latency and bandwidth of RDMA over TCP, and of plain TCP beside it.\n"
    "\n"
    "  --test LIST          of send-lat write-lat read-lat atomic-lat send-bw write-bw read-bw\n"
    "                       atomic-bw, or lat, bw, all (write-bw)\n"
    "  --size LIST          octets of a message, 1..8388608 (65536)\n"
    "  -a, --all-sizes      1, 2, 4 ... 8388608\n"
    "  --baseline tcp       the same over plain TCP, in turn; prints the ratios\n"
    "  --crc on|off|both    (on)\n"
    "  --markers on|off|both (off)\n"
    "  --connections N      (1), 1..10000\n"
    "  --window N           messages on their way, bandwidth (128), 1..4096\n"
    "  --both-ways          bandwidth in both directions at once\n"
    "  --poll               ask the sockets again and again instead of waiting for them\n"
    "  --mss N              octets of a TCP segment (TCP_MAXSEG), 140..32767\n"
    "  --mulpdu N           octets of a segment of DDP, 128..64768 (as TCP's segments ask)\n"
    "  --socket-buffer N    octets, 4096..1073741824 (as the system likes)\n"
    "  --congestion NAME    of TCP's congestion controls, in every lane (as the system likes)\n"
    "  --rounds N           (9), 1..1000\n"
    "  --count N            messages of a connection in a slice (as many as fill --slice)\n"
    "  --slice MS           milliseconds that a slice lasts (50), 1..60000\n"
    "  --verify             fill, and compare what came\n"
    "  --cpu N[,M]          run on this CPU; with local, M is the server's\n"
    "  --json FILE          all figures; - is the standard output (the table goes to stderr then)\n"
    "  --html FILE          a page with plots over the sizes\n"
    "  --min-ratio X        exit with 1 if a bandwidth is below X of plain TCP's\n"
    "  --max-ratio X        exit with 1 if a latency is above X of plain TCP's\n"
    "  --threads N          of iWARP, at each end; they share the connections out (1), 1..64\n"
    "  --soak SECONDS       no figures: all that the options name, again and again, verified, for\n"
    "                       so long; exit with 1 if memory grows\n"
    "  --help\n";

int perf_usage_error(const char *option, const char *value, const char *expected)
{
    fprintf(stderr, "iwarp-perf: --%s %s: expected %s\n", option, value, expected);
    return PERF_USAGE;
}

bool perf_number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *out = value;
    return errno == 0 && end != text && *end == '\0' && text[0] >= '0' && text[0] <= '9' &&
           value >= least && value <= most;
}

static bool parse_ratio(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out > 0;
}

/* The next word of a list; false at its end. */
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

static bool parse_tests(const char *list, struct perf_plan *plan)
{
    char word[32];
    memset(plan->tests, 0, sizeof plan->tests);
    if (*list == '\0')
        return false;
    while (next_word(&list, word, sizeof word)) {
        bool known = false;
        for (int i = 0; i < PERF_TESTS; i++) {
            bool group = strcmp(word, perf_is_latency((enum perf_test)i) ? "lat" : "bw") == 0;
            if (!group && strcmp(word, "all") != 0 && strcmp(word, perf_test_names[i]) != 0)
                continue;
            known = plan->tests[i] = true;
        }
        if (!known)
            return false;
    }
    return true;
}

static bool parse_sizes(const char *list, struct perf_plan *plan)
{
    char word[32];
    plan->size_count = 0;
    while (next_word(&list, word, sizeof word))
        if (plan->size_count == PERF_SIZES ||
            !perf_number(word, 1, PERF_SIZE_MAX, &plan->sizes[plan->size_count++]))
            return false;
    return plan->size_count > 0;
}

static void all_sizes(struct perf_plan *plan)
{
    plan->size_count = 0;
    for (uint64_t size = 1; size <= PERF_SIZE_MAX; size *= 2)
        plan->sizes[plan->size_count++] = size;
}

/* Bit 0: off, bit 1: on. */
static bool parse_both(const char *text, unsigned *out)
{
    *out = strcmp(text, "on") == 0 ? 2 : strcmp(text, "off") == 0 ? 1 : 3;
    return *out != 3 || strcmp(text, "both") == 0;
}

static bool has_cpu(int cpu)
{
    cpu_set_t now, wanted;
    CPU_ZERO(&wanted);
    CPU_SET((unsigned)cpu, &wanted);
    bool can = sched_getaffinity(0, sizeof now, &now) == 0 &&
               sched_setaffinity(0, sizeof wanted, &wanted) == 0;
    return can && sched_setaffinity(0, sizeof now, &now) == 0;
}

static bool parse_cpus(const char *list, struct perf_plan *plan)
{
    char word[32];
    uint64_t value;
    for (int i = 0; next_word(&list, word, sizeof word); i++) {
        if (i == 2 || !perf_number(word, 0, CPU_SETSIZE - 1, &value) || !has_cpu((int)value))
            return false;
        plan->cpu[i] = (int)value;
    }
    return plan->cpu[0] >= 0;
}

enum {
    TEST,
    SIZE,
    ALL,
    BASELINE,
    CRC,
    MARKERS,
    CONNECTIONS,
    WINDOW,
    BOTH,
    POLLING,
    MSS,
    MULPDU,
    BUFFER,
    CONGESTION,
    ROUNDS,
    COUNT,
    SLICE,
    VERIFY,
    CPU,
    JSON,
    HTML,
    MIN_RATIO,
    MAX_RATIO,
    SOAK,
    THREADS,
    HELP
};

static const struct option options[] = {{"test", required_argument, NULL, TEST},
                                        {"size", required_argument, NULL, SIZE},
                                        {"all-sizes", no_argument, NULL, ALL},
                                        {"baseline", required_argument, NULL, BASELINE},
                                        {"crc", required_argument, NULL, CRC},
                                        {"markers", required_argument, NULL, MARKERS},
                                        {"connections", required_argument, NULL, CONNECTIONS},
                                        {"window", required_argument, NULL, WINDOW},
                                        {"both-ways", no_argument, NULL, BOTH},
                                        {"poll", no_argument, NULL, POLLING},
                                        {"mss", required_argument, NULL, MSS},
                                        {"mulpdu", required_argument, NULL, MULPDU},
                                        {"socket-buffer", required_argument, NULL, BUFFER},
                                        {"congestion", required_argument, NULL, CONGESTION},
                                        {"rounds", required_argument, NULL, ROUNDS},
                                        {"count", required_argument, NULL, COUNT},
                                        {"slice", required_argument, NULL, SLICE},
                                        {"verify", no_argument, NULL, VERIFY},
                                        {"cpu", required_argument, NULL, CPU},
                                        {"json", required_argument, NULL, JSON},
                                        {"html", required_argument, NULL, HTML},
                                        {"min-ratio", required_argument, NULL, MIN_RATIO},
                                        {"max-ratio", required_argument, NULL, MAX_RATIO},
                                        {"soak", required_argument, NULL, SOAK},
                                        {"threads", required_argument, NULL, THREADS},
                                        {"help", no_argument, NULL, HELP},
                                        {NULL, 0, NULL, 0}};

/* Options that are a number. */
static const struct range {
    int option;
    uint64_t least, most;
    const char *text;
} ranges[] = {{CONNECTIONS, 1, PERF_CONNECTIONS, "1..10000"},
              {WINDOW, 1, PERF_WINDOW, "1..4096"},
              {MSS, 140, PERF_MSS, "140..32767"},
              {MULPDU, 128, 64768, "128..64768"},
              {BUFFER, 4096, 1073741824, "4096..1073741824"},
              {ROUNDS, 1, PERF_ROUNDS, "1..1000"},
              {COUNT, 1, PERF_COUNT, "1..1000000000"},
              {SLICE, 1, 60000, "1..60000"},
              {SOAK, 1, 1000000, "1..1000000"},
              {THREADS, 1, PERF_THREADS, "1..64"}};

struct draft {
    uint64_t numbers[sizeof ranges / sizeof ranges[0]];
    unsigned crc, markers;
    bool poll, timed; /* timed: --rounds or --slice */
    char congestion[PERF_CONGESTION];
};

static int take_number(struct draft *d, int option, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (ranges[i].option == option)
            return perf_number(value, ranges[i].least, ranges[i].most, &d->numbers[i])
                       ? 0
                       : perf_usage_error(name, value, ranges[i].text);
    return 0;
}

static uint64_t number(const struct draft *d, int option)
{
    size_t i = 0;
    while (ranges[i].option != option)
        i++;
    return d->numbers[i];
}

/* TCP has it: a socket takes it. */
static int take_congestion(struct draft *d, const char *name, const char *value)
{
    struct perf_setup setup = {.mss = 0};
    char error[PERF_TEXT];
    const char *path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    char expected[256] = "one that TCP has here";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(setup.congestion, sizeof setup.congestion, "%s", value);
    errno = 0;
    bool known = value[0] != '\0' && strlen(value) < sizeof setup.congestion && fd >= 0 &&
                 perf_lane_socket(&setup, fd, error) == 0;
    if (!known && errno == EPERM)
        path = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
    if (fd >= 0)
        close(fd);
    memcpy(d->congestion, setup.congestion, sizeof d->congestion);
    if (known)
        return 0;
    FILE *list = fopen(path, "r");
    char names[128] = "";
    if (list != NULL && fgets(names, sizeof names, list) != NULL)
        snprintf(expected, sizeof expected, "what TCP has here: %.*s", (int)strcspn(names, "\n"),
                 names);
    if (list != NULL)
        fclose(list);
    return perf_usage_error(name, value, expected);
}

static int take(struct perf_plan *plan, struct draft *d, int option, const char *value)
{
    const char *name = options[option].name;
    switch (option) {
    case TEST:
        return parse_tests(value, plan) ? 0 : perf_usage_error(name, value, "a list of tests");
    case SIZE:
        return parse_sizes(value, plan) ? 0
                                        : perf_usage_error(name, value, "1..8388608, or a list");
    case ALL:
        all_sizes(plan);
        return 0;
    case BASELINE:
        plan->baseline = strcmp(value, "tcp") == 0;
        return plan->baseline ? 0 : perf_usage_error(name, value, "tcp");
    case CRC:
        return parse_both(value, &d->crc) ? 0 : perf_usage_error(name, value, "on, off or both");
    case MARKERS:
        return parse_both(value, &d->markers) ? 0
                                              : perf_usage_error(name, value, "on, off or both");
    case BOTH:
        plan->both = true;
        return 0;
    case POLLING:
        d->poll = true;
        return 0;
    case CONGESTION:
        return take_congestion(d, name, value);
    case VERIFY:
        plan->verify = true;
        return 0;
    case CPU:
        return parse_cpus(value, plan)
                   ? 0
                   : perf_usage_error(name, value, "the number of a CPU here, or two");
    case JSON:
        plan->json = value;
        return 0;
    case HTML:
        plan->html = value;
        return 0;
    case MIN_RATIO:
        return parse_ratio(value, &plan->min_ratio)
                   ? 0
                   : perf_usage_error(name, value, "a number above 0");
    case MAX_RATIO:
        return parse_ratio(value, &plan->max_ratio)
                   ? 0
                   : perf_usage_error(name, value, "a number above 0");
    default:
        return take_number(d, option, name, value);
    }
}

/* The lanes: the baseline, then every combination of CRC and Markers. */
static int make_lanes(struct perf_plan *plan, const struct draft *d)
{
    struct perf_setup setup = {.poll = d->poll,
                               .ahead = !plan->verify,
                               .connections = (uint32_t)number(d, CONNECTIONS),
                               .window = (uint32_t)number(d, WINDOW),
                               .threads = (uint32_t)number(d, THREADS),
                               .mss = (uint32_t)number(d, MSS),
                               .mulpdu = (uint32_t)number(d, MULPDU),
                               .socket_buffer = number(d, BUFFER),
                               .size_max = 8};
    memcpy(setup.congestion, d->congestion, sizeof setup.congestion);
    for (size_t i = 0; i < plan->size_count; i++)
        if (plan->sizes[i] > setup.size_max)
            setup.size_max = plan->sizes[i];
    if (setup.threads > setup.connections) {
        fprintf(stderr, "iwarp-perf: --threads %u: expected at most one for each connection\n",
                (unsigned)setup.threads);
        return PERF_USAGE;
    }
    if (setup.connections * setup.size_max > PERF_MEMORY) {
        fprintf(stderr,
                "iwarp-perf: %u connections of %llu octets: expected at most 1 GiB in all\n",
                (unsigned)setup.connections, (unsigned long long)setup.size_max);
        return PERF_USAGE;
    }
    if (setup.connections * (uint64_t)setup.window > PERF_POSTED) {
        fprintf(stderr,
                "iwarp-perf: %u connections with a window of %u: expected at most %d in all\n",
                (unsigned)setup.connections, (unsigned)setup.window, PERF_POSTED);
        return PERF_USAGE;
    }
    char error[PERF_TEXT];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool settable = fd < 0 || perf_lane_socket(&setup, fd, error) == 0;
    if (fd >= 0)
        close(fd);
    if (!settable) {
        fprintf(stderr, "iwarp-perf: %s\n", error);
        return PERF_USAGE;
    }
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
    return -1;
}

/* What would be without effect. Returns -1 to go on, else the exit status. */
static int check_sense(const struct perf_plan *plan, const struct draft *d, bool local)
{
    bool tests[2] = {false, false};
    uint64_t most = PERF_SAMPLES / plan->rounds / number(d, CONNECTIONS);
    const char *text = NULL;
    for (int i = 0; i < PERF_TESTS; i++)
        tests[perf_is_latency((enum perf_test)i)] |= plan->tests[i];
    if (plan->soak > 0 && (plan->min_ratio > 0 || plan->max_ratio > 0 || plan->json != NULL ||
                           plan->html != NULL || d->timed))
        text = "--soak: did not expect --json, --html, --rounds, --slice or a ratio with it";
    else if ((plan->min_ratio > 0 || plan->max_ratio > 0) && !plan->baseline)
        text = "--min-ratio and --max-ratio: expected --baseline tcp, too";
    else if (plan->min_ratio > 0 && !tests[false])
        text = "--min-ratio: expected a test of bandwidth, too";
    else if (plan->max_ratio > 0 && !tests[true])
        text = "--max-ratio: expected a test of latency, too";
    else if (!local && plan->cpu[1] >= 0)
        text = "--cpu: expected one number, as the server is not started here";
    else if (plan->json != NULL && plan->html != NULL && strcmp(plan->json, plan->html) == 0)
        text = "--html: expected another file than that of --json";
    if (text != NULL) {
        fprintf(stderr, "iwarp-perf: %s\n", text);
        return PERF_USAGE;
    }
    if (plan->soak == 0 && tests[true] && plan->count > most) {
        fprintf(stderr,
                "iwarp-perf: --count %llu: expected at most %llu latencies of a connection in each "
                "of %llu rounds\n",
                (unsigned long long)plan->count, (unsigned long long)most,
                (unsigned long long)plan->rounds);
        return PERF_USAGE;
    }
    return -1;
}

/* The word behind the options, or in front of them. */
static int take_address(struct perf_plan *plan, int argc, char **argv, bool wanted)
{
    if (optind < argc && wanted)
        plan->address = argv[optind++];
    if (optind < argc) {
        fprintf(stderr, "iwarp-perf: %s: unexpected argument\n", argv[optind]);
        return PERF_USAGE;
    }
    if (wanted && plan->address == NULL) {
        fprintf(stderr, "iwarp-perf: expected HOST:PORT\n");
        return PERF_USAGE;
    }
    return -1;
}

int perf_plan_client(struct perf_plan *plan, bool local, int argc, char **argv)
{
    struct draft d = {.numbers = {1, 128, 0, 0, 0, 9, 0, 50, 0, 1}, .crc = 2, .markers = 1};
    *plan = (struct perf_plan){.sizes = {65536}, .size_count = 1, .cpu = {-1, -1}};
    plan->tests[PERF_WRITE_BW] = true;
    for (int c, which = 0; (c = getopt_long(argc, argv, "a", options, &which)) != -1;) {
        int option = c == 'a' ? ALL : c;
        if (option == '?')
            return PERF_USAGE;
        if (option == HELP) {
            fputs(perf_usage, stdout);
            return PERF_OK;
        }
        d.timed |= option == ROUNDS || option == SLICE;
        int result = take(plan, &d, option, optarg);
        if (result != 0)
            return result;
    }
    plan->rounds = number(&d, ROUNDS);
    plan->count = number(&d, COUNT);
    plan->slice_ms = number(&d, SLICE);
    plan->soak = number(&d, SOAK);
    plan->verify = plan->verify || plan->soak > 0;
    int result = take_address(plan, argc, argv, !local);
    if (result >= 0)
        return result;
    result = check_sense(plan, &d, local);
    return result >= 0 ? result : make_lanes(plan, &d);
}

int perf_plan_server(struct perf_plan *plan, int argc, char **argv)
{
    static const struct option own[] = {
        {"once", no_argument, NULL, 'o'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    *plan = (struct perf_plan){.cpu = {-1, -1}};
    for (int c; (c = getopt_long(argc, argv, "", own, NULL)) != -1;) {
        if (c == '?')
            return PERF_USAGE;
        if (c == 'h') {
            fputs(perf_usage, stdout);
            return PERF_OK;
        }
        plan->once = true;
    }
    return take_address(plan, argc, argv, true);
}
