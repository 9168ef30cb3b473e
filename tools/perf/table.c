/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf.h"

#include <inttypes.h>

void perf_lane_name(const struct perf_setup *setup, char *name, size_t room)
{
    if (setup->tcp)
        snprintf(name, room, "tcp");
    else
        snprintf(name, room, "iwarp%s%s", setup->crc ? " crc" : "",
                 setup->markers ? " markers" : "");
}

void perf_table_head(const struct perf_plan *plan)
{
    const struct perf_setup *s = &plan->lanes[0];
    char congestion[PERF_CONGESTION];
    perf_lane_congestion(s, congestion);
    printf("iwarp-perf: %" PRIu64 " rounds, medians (least .. most of the rounds); %s, %u "
           "connection%s, window %u%s",
           plan->rounds, s->poll ? "polling" : "blocking", (unsigned)s->connections,
           s->connections == 1 ? "" : "s", (unsigned)s->window,
           plan->both ? ", both directions" : "");
    if (s->mss > 0)
        printf(", segments of %u", (unsigned)s->mss);
    printf(", TCP with %s", congestion);
    printf("%s\n", plan->verify ? ", verified" : "");
    printf("%-10s %8s %-17s %-28s %20s %15s %9s", "test", "octets", "lane", "us or GB/s",
           "p99, p99.9 or msg/s", "CPU us/msg", "s/GiB");
    printf(" %13s", "calls/msg");
    printf(plan->baseline ? " %-26s %s\n" : "\n", "ratio to TCP", "CPU");
}

void perf_table_row(const struct perf_plan *plan, const struct perf_result *r)
{
    char name[64], spread[64];
    bool latency = perf_is_latency(r->test);
    perf_lane_name(&plan->lanes[r->lane], name, sizeof name);
    snprintf(spread, sizeof spread, "%.3f (%.3f .. %.3f)", r->value.median, r->value.min,
             r->value.max);
    printf("%-10s %8" PRIu64 " %-17s %-28s ", perf_test_names[r->test], r->size, name, spread);
    if (latency)
        printf("%9.2f, %9.2f", r->p99, r->p999);
    else
        printf("%20.0f", r->rate.median);
    snprintf(spread, sizeof spread, "%.2f + %.2f", r->cpu_message[0], r->cpu_message[1]);
    printf(" %15s %9.3f", spread, r->cpu_gib[0] + r->cpu_gib[1]);
    snprintf(spread, sizeof spread, "%.3g + %.3g", r->calls[0], r->calls[1]);
    printf(" %13s", spread);
    if (plan->baseline && r->lane > 0) {
        snprintf(spread, sizeof spread, "%.3f (%.3f .. %.3f)", r->ratio.median, r->ratio.min,
                 r->ratio.max);
        printf(" %-26s %.2f", spread, r->cpu_ratio);
    }
    printf("\n");
    fflush(stdout);
}
