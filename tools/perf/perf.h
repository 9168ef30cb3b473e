/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp-perf over sockets.
 *
 * perf_plan.c     the command line      perf_client.c  rounds of slices, interleaved over the lanes
 * perf_control.c  lines of JSON         perf_server.c  the other side of them
 * lane.c          a lane's connections  perf_stats.c   medians
 * perf_rdma.c     a lane of iWARP       perf_table.c   the printed table
 * perf_tcp.c      the baseline          perf_report.c, perf_page.c, plot.c  JSON, a page
 * perf_context.c  host and command line
 *
 * A lane is a set of connections of one kind (plain TCP; iWARP with or without CRC and Markers).
 * All lanes are opened first. A slice is one test with one size on one lane; a round is one slice
 * of each lane, so that a disturbance of the machine affects all of them.
 */
#ifndef IW_PERF_PERF_H
#define IW_PERF_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    PERF_TEXT = 256,      /* room for any error text */
    PERF_CONGESTION = 16, /* Linux' TCP_CA_NAME_MAX */
    PERF_LANES = 5,
    PERF_SIZES = 32,
    PERF_ROUNDS = 1000,
    PERF_SIZE_MAX = 8 * 1024 * 1024,
    PERF_CONNECTIONS = 10000,
    PERF_WINDOW = 4096,
    PERF_MSS = 32767, /* Linux' TCP_MAXSEG takes no more */
    PERF_READS = 128, /* Reads and atomics on their way: IRD and ORD */
    PERF_THREADS = 64,
    PERF_COUNT = 1000000000,
    PERF_MEMORY = 1 << 30, /* octets of all connections of a lane: sources, or sinks */
    PERF_POSTED = 1 << 21, /* messages on their way of all connections of a lane: some 200 octets */
    PERF_SAMPLES = 20 * 1000 * 1000, /* latencies of one test and size on a lane */
    PERF_STALL = 60                  /* seconds without progress after which a run has failed */
};

enum perf_test {
    PERF_SEND_LAT,
    PERF_WRITE_LAT,
    PERF_READ_LAT,
    PERF_ATOMIC_LAT,
    PERF_SEND_BW,
    PERF_WRITE_BW,
    PERF_READ_BW,
    PERF_ATOMIC_BW,
    PERF_TESTS
};

extern const char *const perf_test_names[PERF_TESTS];

/* Returns whether the test measures latency, not bandwidth. */
static inline bool perf_is_latency(enum perf_test test)
{
    return test < PERF_SEND_BW;
}

/* Returns true if the answer comes from the peer's stack, not from a message of its program. */
static inline bool perf_is_read(enum perf_test test)
{
    return test == PERF_READ_LAT || test == PERF_READ_BW || test == PERF_ATOMIC_LAT ||
           test == PERF_ATOMIC_BW;
}

/* Returns whether the test is one of atomics. */
static inline bool perf_is_atomic(enum perf_test test)
{
    return test == PERF_ATOMIC_LAT || test == PERF_ATOMIC_BW;
}

/* Returns true if the peer's program answers each message with another. */
static inline bool perf_is_ping_pong(enum perf_test test)
{
    return test == PERF_SEND_LAT || test == PERF_WRITE_LAT;
}

/* The properties of a lane that both sides know. */
struct perf_setup {
    bool tcp, crc, markers, poll;
    bool ahead; /* receive_ahead: all receives share the sink, which is then not to be looked at */
    uint32_t connections, mss, mulpdu, window, threads;
    uint64_t socket_buffer;           /* octets, 0: as the system likes */
    char congestion[PERF_CONGESTION]; /* TCP's algorithm; "": as the system likes */
    uint64_t size_max;                /* of any message */
};

/* A slice. */
struct perf_run {
    enum perf_test test;
    uint64_t size;  /* octets of a message */
    uint64_t count; /* messages of each connection, in each direction */
    bool both;      /* bandwidth in both directions */
    bool verify;
    uint32_t seed; /* of the octets to be verified */
};

/* Returns the messages of a connection in a slice, of both directions. */
static inline uint64_t perf_messages(const struct perf_run *run)
{
    return run->count * (run->both || perf_is_ping_pong(run->test) ? 2 : 1);
}

/* Returns the messages of a connection that may be in flight. */
static inline uint32_t perf_window(const struct perf_setup *setup, const struct perf_run *run)
{
    if (perf_is_latency(run->test))
        return 1;
    return perf_is_read(run->test) && setup->window > PERF_READS ? PERF_READS : setup->window;
}

/* ---- perf_plan.c ---- */

struct perf_plan {
    bool tests[PERF_TESTS];
    uint64_t sizes[PERF_SIZES];
    size_t size_count;
    struct perf_setup lanes[PERF_LANES];
    size_t lane_count; /* the baseline, if there is one, is the first */
    bool baseline, both, verify;
    uint64_t rounds, count /* 0: as many as fill a slice */, slice_ms;
    uint64_t soak;               /* seconds; 0: measure */
    double min_ratio, max_ratio; /* limits of bandwidth and latency; 0: none */
    int cpu[2];                  /* of the client and the server; -1: any */
    const char *json, *html, *address;
    bool one_client; /* the server ends after it */
};

/* Returns -1 to go on, else the exit status. */
int perf_plan_client(struct perf_plan *plan, bool local, int argc, char **argv);
int perf_plan_server(struct perf_plan *plan, int argc, char **argv);

/* ---- lane.c ---- */

/* A lane at one end. */
struct perf_lane {
    struct perf_setup setup;
    bool client;
    const struct perf_lane_ops *ops;
    /* Each connection has `stride` octets of both, from its number times stride on. */
    uint8_t *source, *sink;
    size_t stride;
    uint64_t *counter; /* of the atomics: one for each connection */
    uint32_t remote_sink, remote_source, remote_counter; /* STags */
    uint32_t local_sink, local_source, local_counter;
    uint64_t calls;        /* system calls so far, counted between slices */
    char error[PERF_TEXT]; /* what went wrong */
};

/* Latencies in nanoseconds: of the active side, room for all of a slice. */
struct perf_samples {
    double *values;
    size_t count, room;
};

/* All but close return 0, or -1 with text in lane->error. */
struct perf_lane_ops {
    /* Makes source, sink and counter, which are there now, known to the peer by STags. */
    int (*share)(struct perf_lane *lane);
    /* Takes over connected sockets, one by one in order; it closes them in the end. */
    int (*attach)(struct perf_lane *lane, uint32_t index, int fd);
    /* Called when every socket is there: waits until all are ready for use. */
    int (*establish)(struct perf_lane *lane);
    /* Does what must be done before the peer begins. */
    int (*prepare)(struct perf_lane *lane, const struct perf_run *run);
    int (*execute)(struct perf_lane *lane, const struct perf_run *run,
                   struct perf_samples *samples);
    /* Closes and frees what the kind has added to struct perf_lane. */
    void (*close)(struct perf_lane *lane);
};

/* Returns a lane with its memory, without connections; NULL with PERF_TEXT octets of text in
 * `error`. Free it with perf_lane_destroy. */
struct perf_lane *perf_lane_create(const struct perf_setup *setup, bool client, char *error);
/* Fills the source and wipes the sink if the run is to be verified, then ops->prepare. Returns 0,
 * or -1 with text in lane->error, as the next one does. */
int perf_lane_prepare(struct perf_lane *lane, const struct perf_run *run);
/* With run->verify: checks that the received octets are the peer's. */
int perf_lane_verify(struct perf_lane *lane, const struct perf_run *run);
void perf_lane_destroy(struct perf_lane *lane);
/* Puts text into lane->error unless there is some. Returns -1. */
int perf_lane_fail(struct perf_lane *lane, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sets the options of a socket of this lane, before it connects or after accept. Returns -1, with
 * PERF_TEXT octets of text in `error`, if the system does not allow them. */
int perf_lane_socket(const struct perf_setup *setup, int fd, char *error);
/* Returns in `name` the algorithm that TCP uses for such a lane here; "?" if it is unknown. */
void perf_lane_congestion(const struct perf_setup *setup, char name[PERF_CONGESTION]);
/* Returns true if this end sends messages of its own accord. */
static inline bool perf_lane_active(const struct perf_lane *lane, const struct perf_run *run)
{
    return lane->client || (run->both && !perf_is_latency(run->test));
}
/* Adds a sample while there is room. NULL is allowed. */
void perf_sample(struct perf_samples *samples, double nanoseconds);

/* Each returns a lane of its kind with its setup and operations, or NULL. */
struct perf_lane *perf_tcp_new(const struct perf_setup *setup);
struct perf_lane *perf_rdma_new(const struct perf_setup *setup);

/* ---- perf_client.c, perf_server.c ---- */

/* Measures against the server at HOST:PORT and reports. Returns the exit status, after printing
 * what went wrong. */
int perf_client(const struct perf_plan *plan, const char *host_port);
/* Serves clients, one after another, on a listening socket. Returns likewise. */
int perf_serve(int listener, bool one_client);
/* Listens at plan->address, then serves. Returns likewise. */
int perf_server(const struct perf_plan *plan);
/* Starts a server in a process of its own, and measures against it. Returns likewise. */
int perf_local(const struct perf_plan *plan);

/* ---- perf_stats.c ---- */

struct perf_spread {
    double median, min, max;
};

/* Return the seconds of the monotonic clock, and of this process's processor time. */
double perf_seconds(void);
double perf_cpu_seconds(void);
/* Returns the KiB of this process that are in memory, without files. */
uint64_t perf_resident(void);
/* Sorts the values and returns their spread. The median of an even number of them is the mean of
 * the middle two. */
struct perf_spread perf_spread(double *values, size_t count);
/* Returns the value at iw_number_place; 0 if there are none. */
double perf_quantile(const double *sorted, size_t count, unsigned share);

/* One test with one size on one lane. */
struct perf_result {
    enum perf_test test;
    uint64_t size, count; /* count: messages of a slice, all connections and directions */
    size_t lane;
    struct perf_spread value;          /* latency: us; bandwidth: GB/s (10^9 octets) */
    struct perf_spread rate;           /* messages a second */
    double p99, p999;                  /* latency only, us */
    struct perf_spread ratio;          /* over the baseline's value of the same round */
    double cpu_gib[2], cpu_message[2]; /* seconds a GiB, us a message: client and server */
    double calls[2];                   /* system calls a message: client and server */
    double cpu_ratio;                  /* both ends together, over the baseline's */
    double ratio_of_medians;           /* of `value` and the baseline's, 0: not known; `ratio`
                                        * is what counts */
};

/* Returns true if the two ratios lie on different sides of 1, or a twentieth apart: a reader who
 * divides the medians would think that the ratio is wrong. */
static inline bool perf_ratios_differ(const struct perf_result *r)
{
    double a = r->ratio.median, b = r->ratio_of_medians;
    return b > 0 && ((a < 1) != (b < 1) || a > 1.05 * b || b > 1.05 * a);
}

/* Where and when a run was made. */
struct perf_context {
    char host[65], cpu[128], kernel[256], began[32] /* UTC */, command[1024];
    unsigned cpus; /* that the process may use */
};

struct perf_results {
    struct perf_result *list;
    size_t count;
    const struct perf_context *context; /* NULL: not known */
    bool interrupted; /* the last test may have fewer rounds, and others may be missing */
};

/* ---- perf_context.c ---- */

/* Finds out about this host and this process. */
void perf_context_read(struct perf_context *context);

/* ---- perf_table.c, perf_report.c, perf_page.c ---- */

/* Returns 0: plain TCP, 1: iWARP, 2: with CRC, 3: with Markers, 4: with both. */
int perf_lane_kind(const struct perf_setup *setup);
const char *perf_lane_name(const struct perf_setup *setup);
/* Returns the standard output, or stderr if the report uses that. */
FILE *perf_table(const struct perf_plan *plan);
void perf_table_head(const struct perf_plan *plan);
void perf_table_row(const struct perf_plan *plan, const struct perf_result *result);
/* Each returns 0, or -1 after one line on stderr. The first checks whether the other two can work.
 */
int perf_report_possible(const struct perf_plan *plan);
int perf_report_json(const struct perf_plan *plan, const struct perf_results *results);
int perf_report_html(const struct perf_plan *plan, const struct perf_results *results);
/* Closes a report, NULL if it could not be opened; `bad` if something is missing in it. Returns 0,
 * or -1 after printing that it cannot be written. */
int perf_report_close(FILE *out, const char *path, bool bad);

#endif
