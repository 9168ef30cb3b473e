/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/complain.h"
#include "perf.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static json_t *spread(struct perf_spread s)
{
    return json_pack("{sf sf sf}", "median", s.median, "min", s.min, "max", s.max);
}

static json_t *lane(const struct perf_setup *s)
{
    return json_pack("{ss ss sb sb}", "name", perf_lane_name(s), "transport",
                     s->tcp ? "tcp" : "iwarp", "crc", s->crc, "markers", s->markers);
}

static json_t *result(const struct perf_plan *plan, const struct perf_result *r)
{
    bool latency = perf_is_latency(r->test), compared = plan->baseline && r->lane > 0;
    json_t *cpu = json_pack("{sf sf sf sf}", "client_us_per_message", r->cpu_message[0],
                            "server_us_per_message", r->cpu_message[1], "client_s_per_gib",
                            r->cpu_gib[0], "server_s_per_gib", r->cpu_gib[1]);
    json_t *calls = json_pack("{sf sf}", "client", r->calls[0], "server", r->calls[1]);
    /* o*: leaves the member out if it is NULL */
    return json_pack(
        "{ss sI sI so so so so so so* so* so* so* so*}", "test", perf_test_names[r->test], "size",
        (json_int_t)r->size, "messages", (json_int_t)r->count, "lane", lane(&plan->lanes[r->lane]),
        latency ? "microseconds" : "gigabytes_per_second", spread(r->value), "messages_per_second",
        spread(r->rate), "cpu", cpu, "system_calls_per_message", calls, "p99",
        latency ? json_real(r->p99) : NULL, "p99_9", latency ? json_real(r->p999) : NULL,
        "ratio_to_tcp", compared ? spread(r->ratio) : NULL, "cpu_ratio_to_tcp",
        compared ? json_real(r->cpu_ratio) : NULL, "ratio_of_medians_to_tcp",
        compared && r->ratio_of_medians > 0 ? json_real(r->ratio_of_medians) : NULL);
}

static int unwritable(const char *path)
{
    iw_complain("%s: cannot be written: %s", path, strerror(errno));
    return -1;
}

int perf_report_close(FILE *out, const char *path, bool bad)
{
    if (out == stdout)
        return bad && !ferror(out) ? unwritable(path) : 0; /* main reports what stdout lost */
    bad |= out == NULL || ferror(out);
    if (out != NULL)
        bad |= fclose(out) != 0;
    return bad ? unwritable(path) : 0;
}

/* Checks that the file can be written. Does not open a pipe, whose reader would notice, and leaves
 * no file where there was none. */
static int possible(const char *path)
{
    struct stat there;
    if (stat(path, &there) == 0) {
        errno = EISDIR;
        return !S_ISDIR(there.st_mode) && !access(path, W_OK) ? 0 : unwritable(path);
    }
    if (errno == ENOENT && lstat(path, &there) == 0)
        return 0; /* a link to what is not there yet */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return unwritable(path);
    close(fd);
    unlink(path);
    return 0;
}

int perf_report_possible(const struct perf_plan *plan)
{
    if (plan->json != NULL && strcmp(plan->json, "-") != 0 && possible(plan->json))
        return -1;
    return plan->html != NULL ? possible(plan->html) : 0;
}

int perf_report_json(const struct perf_plan *plan, const struct perf_results *results)
{
    const struct perf_setup *s = &plan->lanes[0];
    if (plan->json == NULL)
        return 0;
    char congestion[PERF_CONGESTION];
    perf_lane_congestion(s, congestion);
    json_t *list = json_array();
    for (size_t i = 0; i < results->count; i++)
        json_array_append_new(list, result(plan, &results->list[i]));
    json_t *all = json_pack(
        "{ss si sI sI sI sI sI sI sI ss sb sb sb sb so}", "tool", "iwarp-perf", "schema", 1,
        "rounds", (json_int_t)plan->rounds, "connections", (json_int_t)s->connections, "window",
        (json_int_t)s->window, "mss", (json_int_t)s->mss, "mulpdu", (json_int_t)s->mulpdu,
        "threads", (json_int_t)s->threads, "socket_buffer", (json_int_t)s->socket_buffer,
        "congestion", congestion, "polling", s->poll, "both_ways", plan->both, "verified",
        plan->verify, "interrupted", results->interrupted, "results", list);
    const struct perf_context *c = results->context;
    if (c != NULL)
        json_object_set_new(all, "context",
                            json_pack("{ss ss sI ss ss ss ss}", "host", c->host, "cpu", c->cpu,
                                      "cpus", (json_int_t)c->cpus, "kernel", c->kernel, "version",
                                      IW_VERSION, "began", c->began, "command", c->command));
    FILE *out = strcmp(plan->json, "-") == 0 ? stdout : fopen(plan->json, "w");
    bool bad = out == NULL || json_dumpf(all, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) ||
               fputc('\n', out) == EOF;
    json_decref(all);
    return perf_report_close(out, plan->json, bad);
}
