/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf.h"

#include <inttypes.h>
#include <string.h>

enum { SPREAD = 64 };

int perf_lane_kind(const struct perf_setup *setup)
{
    return setup->tcp ? 0 : 1 + (setup->crc ? 1 : 0) + (setup->markers ? 2 : 0);
}

const char *perf_lane_name(const struct perf_setup *setup)
{
    static const char *const names[] = {"tcp", "iwarp", "iwarp crc", "iwarp markers",
                                        "iwarp crc markers"};
    return names[perf_lane_kind(setup)];
}

FILE *perf_table(const struct perf_plan *plan)
{
    return plan->json != NULL && strcmp(plan->json, "-") == 0 ? stderr : stdout;
}

void perf_table_head(const struct perf_plan *plan)
{
    const struct perf_setup *s = &plan->lanes[0];
    FILE *out = perf_table(plan);
    char congestion[PERF_CONGESTION];
    perf_lane_congestion(s, congestion);
    fprintf(out,
            "iwarp-perf: %" PRIu64 " rounds, medians (least .. most of the rounds); %s, %u "
            "connection%s, window %u%s",
            plan->rounds, s->poll ? "polling" : "blocking", (unsigned)s->connections,
            s->connections == 1 ? "" : "s", (unsigned)s->window,
            plan->both ? ", both directions" : "");
    if (s->mss > 0)
        fprintf(out, ", segments of %u", (unsigned)s->mss);
    fprintf(out, ", TCP with %s%s\n", congestion, plan->verify ? ", verified" : "");
    fprintf(out, "%-10s %8s %-17s %-28s %20s %15s %9s %13s", "test", "octets", "lane", "us or GB/s",
            "p99, p99.9 or msg/s", "CPU us/msg", "s/GiB", "calls/msg");
    fprintf(out, plan->baseline ? " %-26s %s\n" : "\n", "ratio to TCP", "CPU");
}

/* Prints a median and its spread, SPREAD octets. Returns the text. */
static const char *print_spread(char *text, const struct perf_spread *s)
{
    snprintf(text, SPREAD, "%.3f (%.3f .. %.3f)", s->median, s->min, s->max);
    return text;
}

void perf_table_row(const struct perf_plan *plan, const struct perf_result *r)
{
    FILE *out = perf_table(plan);
    char spread[SPREAD], cpu[SPREAD], calls[SPREAD];
    fprintf(out, "%-10s %8" PRIu64 " %-17s %-28s ", perf_test_names[r->test], r->size,
            perf_lane_name(&plan->lanes[r->lane]), print_spread(spread, &r->value));
    if (perf_is_latency(r->test))
        fprintf(out, "%9.2f, %9.2f", r->p99, r->p999);
    else
        fprintf(out, "%20.0f", r->rate.median);
    snprintf(cpu, sizeof(cpu), "%.2f + %.2f", r->cpu_message[0], r->cpu_message[1]);
    snprintf(calls, sizeof(calls), "%.3g + %.3g", r->calls[0], r->calls[1]);
    fprintf(out, " %15s %9.3f %13s", cpu, r->cpu_gib[0] + r->cpu_gib[1], calls);
    if (plan->baseline && r->lane > 0)
        fprintf(out, " %-26s %.2f", print_spread(spread, &r->ratio), r->cpu_ratio);
    /* Who divides the medians gets another ratio than that of the rounds, which counts. */
    if (plan->baseline && r->lane > 0 && perf_ratios_differ(r))
        fprintf(out, "  (of the medians: %.3f)", r->ratio_of_medians);
    fprintf(out, "\n");
    fflush(out);
}
