/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg resolve: where are these services? */
#include "msg_command.h"
#include "msg_numbers.h"

#include "host/address.h"
#include "host/complain.h"
#include "host/json_values.h"
#include "iwarp/transport.h"
#include "standard.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 256 }; /* numbers that are asked for before the first answer is waited for */

#define MS UINT64_C(1000000)

const struct iw_option msg_resolve_options[MSG_RESOLVE_OPTIONS] = {
    {"wait", 0, "MS",
     "resolve: for an answer, 1 to 3600000 (1000);\n"
     "claim: for an objection (60)",
     MSG_RESOLVE | MSG_CLAIM, IW_OPTION_COUNTS(struct msg_resolve, wait, 1, 3600000)},
    {"all", 0, NULL, "wait as long for every process that answers, and print each", MSG_RESOLVE,
     IW_OPTION_SETS(struct msg_resolve, all)},
    {"json", 0, NULL, "one JSON object per line", MSG_RESOLVE,
     IW_OPTION_SETS(struct msg_resolve, json)},
};

struct tally {
    size_t found, contested;
};

static void print_claimant(const struct msg_resolve *o, uint32_t number,
                           const struct iw_resolver_claimant *c)
{
    char at[IW_TRANSPORT_TEXT];
    iw_address_numeric((const struct sockaddr *)&c->at, sizeof(c->at), at, sizeof(at));
    if (o->json)
        (void)iw_json_line(json_pack("{ss sI ss so}", "type", "service", "number",
                                     (json_int_t)number, "at", at, "instance",
                                     json_sprintf("%016" PRIx64, c->instance)),
                           stdout);
    else
        printf("%" PRIu32 " at %s, instance %016" PRIx64 "\n", number, at, c->instance);
}

static void report_absent(uint32_t number, const struct msg_resolve *o)
{
    if (errno == ETIMEDOUT)
        iw_complain("%" PRIu32 ": nobody answers in %u ms", number, o->wait);
    else
        iw_complain("%" PRIu32 ": cannot ask: %s", number, strerror(errno));
}

static void find_one(struct iw_resolver *r, uint32_t number, const struct msg_resolve *o,
                     uint64_t until, struct tally *tally)
{
    struct iw_resolver_claimant c;
    const uint64_t now = iw_transport_now();
    const int left = until > now ? (int)((until - now + MS - 1) / MS) : 0;
    if (iw_resolver_find(r, number, left, &c.at, &c.instance) != 0) {
        report_absent(number, o);
        return;
    }
    tally->found++;
    print_claimant(o, number, &c);
}

static void list_one(struct iw_resolver *r, uint32_t number, const struct msg_resolve *o,
                     struct tally *tally)
{
    struct iw_resolver_claimant list[IW_RESOLVER_CLAIMANTS];
    const int count = iw_resolver_list(r, number, (int)o->wait, list, IW_RESOLVER_CLAIMANTS);
    for (int i = 0; i < count; i++)
        print_claimant(o, number, &list[i]);
    if (count == 0)
        errno = ETIMEDOUT;
    if (count <= 0)
        report_absent(number, o);
    if (count > 1)
        iw_complain("%" PRIu32 ": %d processes answer, expected one", number, count);
    tally->found += count > 0;
    tally->contested += count > 1;
}

/* Answers come while others are asked for. */
static void resolve_all(struct iw_resolver *r, const uint32_t *numbers, size_t count,
                        const struct msg_resolve *o, struct tally *tally)
{
    for (size_t i = 0; i < count && !iw_standard_interrupted(); i++) {
        if (o->all) {
            list_one(r, numbers[i], o, tally);
            continue;
        }
        const size_t end = count - i < WINDOW ? count : i + WINDOW;
        const uint64_t until = iw_transport_now() + o->wait * MS;
        for (size_t j = i; j < end; j++)
            (void)iw_resolver_find(r, numbers[j], 0, NULL, NULL);
        for (; i < end && !iw_standard_interrupted(); i++)
            find_one(r, numbers[i], o, until, tally);
        i--;
    }
}

static void print_total(const struct msg_resolve *o, size_t count, const struct tally *t,
                        uint64_t spent)
{
    const double seconds = (double)spent / 1e9;
    if (o->json)
        (void)iw_json_line(json_pack("{ss sI sI sI sf}", "type", "total", "numbers",
                                     (json_int_t)count, "found", (json_int_t)t->found, "contested",
                                     (json_int_t)t->contested, "seconds", seconds),
                           stdout);
    else if (count > 1)
        printf("%zu of %zu numbers found in %.3f s\n", t->found, count, seconds);
}

int msg_resolve_run(struct msg_settings *settings, char *const *operands, size_t operand_count)
{
    struct iw_resolver *r;
    uint32_t *numbers;
    size_t count;
    struct tally tally = {0};
    int status = msg_numbers_read(operands, operand_count, &numbers, &count);
    if (status >= 0)
        return status;
    if (settings->resolve.wait == 0)
        settings->resolve.wait = MSG_RESOLVE_WAIT;
    status = msg_net_open(&settings->net, &r);
    if (status < 0) {
        const uint64_t began = iw_transport_now();
        iw_standard_catch_interrupt();
        resolve_all(r, numbers, count, &settings->resolve, &tally);
        print_total(&settings->resolve, count, &tally, iw_transport_now() - began);
        iw_resolver_close(r);
        if (iw_standard_interrupted())
            status = IW_EXIT_INTERRUPTED;
        else if (tally.contested > 0)
            status = IW_EXIT_FAILURE;
        else
            status = tally.found < count ? IW_EXIT_UNREACHED : IW_EXIT_GOOD;
    }
    free(numbers);
    return status;
}
