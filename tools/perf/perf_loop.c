/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_loop.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/complain.h"
#include "host/text.h"
#include "iwarp/endpoint_transport.h"
#include "iwarp/transport.h"
#include "perf.h"
#include "standard.h"

enum { POLL = 64 };

struct loop {
    const struct iw_loop_options *options;
    struct iw_host_env env;
    struct iw_domain *domain[2];
    struct iw_endpoint *ep[2];
    uint8_t *from, *to;
    struct iw_region region;
    uint64_t completed;
    bool failed;
    uint32_t sink; /* keeps the baseline's CRCs from being optimised away */
};

static bool post_receive(struct loop *l)
{
    struct iw_iov sge = {l->to, (size_t)l->options->size};
    return iw_endpoint_post_recv(l->ep[1], 0, &sge, 1) == IW_OK;
}

/* Passes the output of `i` to the other side as one list of pieces. */
static bool carry(struct loop *l, int i)
{
    const struct iw_iov *pieces;
    size_t count = iw_endpoint_output(l->ep[i], &pieces, 0);
    if (count == 0)
        return false;
    size_t octets = 0;
    for (size_t k = 0; k < count; k++)
        octets += pieces[k].length;
    iw_endpoint_input(l->ep[1 - i], pieces, count, 0);
    iw_endpoint_sent(l->ep[i], octets, 0);
    return true;
}

static void settle(struct loop *l)
{
    for (bool busy = true; busy;) {
        busy = false;
        for (int i = 0; i < 2; i++) {
            while (carry(l, i))
                busy = true;
            struct iw_event event;
            while (iw_endpoint_event(l->ep[i], &event)) {
                busy = true;
                if (event.kind == IW_EVENT_REQUEST)
                    (void)iw_endpoint_accept(l->ep[i], NULL, 0, 0);
                else if (event.kind != IW_EVENT_ESTABLISHED)
                    l->failed = true;
            }
        }
    }
    struct iw_completion done[POLL];
    /* The second end has only the completions of receives. */
    for (int i = 0; i < 2; i++)
        for (size_t n; (n = iw_endpoint_poll(l->ep[i], done, POLL)) > 0;)
            for (size_t k = 0; k < n; k++) {
                bool good = done[k].status == IW_STATUS_OK && (i == 0 || post_receive(l));
                l->failed = l->failed || !good;
                l->completed += i == 0;
            }
}

static void move(struct loop *l, uint64_t messages)
{
    struct iw_iov sge = {l->from, (size_t)l->options->size};
    struct iw_work work = {.opcode = l->options->sends ? IW_WORK_SEND : IW_WORK_WRITE,
                           .sge = &sge,
                           .sge_count = 1,
                           .remote_stag = l->region.stag,
                           .remote_to = l->region.to};
    uint64_t goal = l->completed + messages;
    while (l->completed < goal && !l->failed) {
        for (uint64_t left = goal - l->completed, k = 0; k < l->options->window && k < left; k++)
            if (iw_endpoint_post(l->ep[0], &work, 0) != IW_OK)
                l->failed = true;
        settle(l);
    }
}

/* Does what no stack can avoid: a CRC on each side and one copy, in pieces of an FPDU's payload. */
static void baseline(struct loop *l, uint64_t messages)
{
    size_t size = (size_t)l->options->size, piece = (size_t)l->options->mulpdu;
    for (uint64_t m = 0; m < messages; m++) {
        for (size_t done = 0; done < size; done += piece) {
            size_t step = size - done < piece ? size - done : piece;
            if (l->options->crc) {
                l->sink += l->env.env.crc32c(IW_CRC32C_INIT, l->from + done, step);
                l->sink += l->env.env.crc32c(IW_CRC32C_INIT, l->from + done, step);
            }
            memcpy(l->to + done, l->from + done, step);
        }
        __asm__ volatile("" : : "r"(l->to) : "memory");
    }
}

static bool setup(struct loop *l)
{
    const struct iw_loop_options *o = l->options;
    struct iw_domain_limits limits = {4, 4};
    l->from = malloc((size_t)o->size);
    l->to = malloc((size_t)o->size);
    if (l->from == NULL || l->to == NULL)
        return false;
    for (size_t i = 0; i < o->size; i++)
        l->from[i] = (uint8_t)(i * 31 + i / 257);
    memset(l->to, 0, (size_t)o->size);
    for (int i = 0; i < 2; i++) {
        struct iw_endpoint_config config;
        iw_endpoint_config_default(&config);
        l->domain[i] = iw_domain_create(&l->env.env, &limits);
        if (l->domain[i] == NULL)
            return false;
        config.role = i == 0 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
        config.mpa.crc = o->crc;
        config.mpa.markers = o->markers;
        config.mulpdu = (uint32_t)o->mulpdu;
        config.send_depth = config.recv_depth = (uint32_t)o->window;
        config.max_sge = 1;
        config.pd = iw_domain_pd(l->domain[i]);
        l->region.pd = config.pd;
        if (iw_endpoint_create(l->domain[i], &config, 0, &l->ep[i]) != IW_OK)
            return false;
    }
    l->region.base = l->to;
    l->region.length = o->size;
    l->region.access = IW_ACCESS_REMOTE_WRITE;
    if (iw_domain_register(l->domain[1], &l->region) != 0)
        return false;
    for (uint64_t k = 0; o->sends && k < o->window; k++)
        if (!post_receive(l))
            return false;
    settle(l);
    return !l->failed;
}

static void report(const struct loop *l, uint64_t rounds, double ours, double base,
                   const struct perf_spread *ratio, uint64_t per_round)
{
    const struct iw_loop_options *o = l->options;
    double octets = (double)o->size * (double)per_round;
    printf("iwarp-perf loop: %" PRIu64 " x %" PRIu64 " octets, %s, CRC %s (%s), Markers %s, "
           "MULPDU %" PRIu64 "\n",
           per_round * rounds, o->size, o->sends ? "Send" : "RDMA Write", o->crc ? "on" : "off",
           l->env.env.crc32c == iw_crc32c_portable ? "portable" : "best", o->markers ? "on" : "off",
           o->mulpdu);
    printf("  endpoints  %8.2f GB/s  median of %" PRIu64 " round%s; %.0f messages a second\n",
           octets / ours * 1e-9, rounds, iw_text_plural(rounds), (double)per_round / ours);
    printf("  baseline   %8.2f GB/s  one memcpy%s\n", octets / base * 1e-9,
           o->crc ? " and two CRC32c passes" : "");
    printf("  ratio      %8.3f       time over the baseline's, min %.3f max %.3f", ratio->median,
           ratio->min, ratio->max);
    /* The median of the rounds' ratios need not be the ratio of the medians above. */
    if (fabs(ours / base - ratio->median) >= 0.0005)
        printf("; of the rounds: the medians above give %.3f", ours / base);
    putchar('\n');
}

static int measure(struct loop *l)
{
    const struct iw_loop_options *o = l->options;
    uint64_t messages = (o->total + o->size - 1) / o->size;
    uint64_t per_round = (messages + o->rounds - 1) / o->rounds;
    static double ours[IW_LOOP_ROUNDS_MAX], base[IW_LOOP_ROUNDS_MAX], ratio[IW_LOOP_ROUNDS_MAX];
    baseline(l, per_round);
    memset(l->to, 0, (size_t)o->size);
    move(l, per_round);
    if (l->failed || memcmp(l->from, l->to, (size_t)o->size) != 0) {
        iw_complain("the octets did not arrive as they were sent");
        return IW_EXIT_TESTER;
    }
    uint64_t rounds = 0;
    iw_standard_catch_interrupt();
    for (uint64_t i = 0; i < o->rounds && !iw_standard_interrupted(); i++, rounds++) {
        double t0 = perf_cpu_seconds();
        baseline(l, per_round);
        double t1 = perf_cpu_seconds();
        move(l, per_round);
        double t2 = perf_cpu_seconds();
        base[i] = t1 - t0;
        ours[i] = t2 - t1;
        ratio[i] = ours[i] / base[i];
    }
    if (l->failed) {
        iw_complain("a connection broke");
        return IW_EXIT_TESTER;
    }
    double median = perf_spread(ours, rounds).median;
    struct perf_spread over = perf_spread(ratio, rounds);
    if (rounds > 0)
        report(l, rounds, median, perf_spread(base, rounds).median, &over, per_round);
    if (iw_standard_interrupted())
        return IW_EXIT_INTERRUPTED;
    if (o->min_rate > 0 && (double)per_round / median < o->min_rate) {
        printf("  below the limit of %.0f messages a second\n", o->min_rate);
        return 1;
    }
    if (o->max_ratio > 0 && over.median > o->max_ratio) {
        printf("  above the limit of %.3f\n", o->max_ratio);
        return 1;
    }
    return 0;
}

int iw_loop_run(const struct iw_loop_options *options)
{
    struct loop l = {.options = options};
    int status = IW_EXIT_TESTER;
    iw_host_env_init(&l.env, false);
    if (options->portable_crc)
        l.env.env.crc32c = iw_crc32c_portable;
    if (setup(&l))
        status = measure(&l);
    else
        iw_complain("cannot set up two endpoints (out of memory?)");
    for (int i = 0; i < 2; i++) {
        iw_endpoint_destroy(l.ep[i]);
        iw_domain_destroy(l.domain[i]);
    }
    iw_host_env_destroy(&l.env);
    free(l.from);
    free(l.to);
    return status;
}
