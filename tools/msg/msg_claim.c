/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg claim: answers for services that do not do it themselves. */
#include "msg_command.h"
#include "msg_numbers.h"

#include "host/address.h"
#include "host/complain.h"
#include "host/text.h"
#include "iwarp/transport.h"
#include "standard.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void report_intruder(void *context, uint32_t number, enum iw_resolver_notice what)
{
    (void)context;
    if (what == IW_RESOLVER_INTRUDER)
        iw_complain("%" PRIu32 ": another process answers for it, too", number);
}

/* Waits for a signal. Returns the exit status. */
static int wait_end(int signals)
{
    struct signalfd_siginfo info;
    struct pollfd waits = {.fd = signals, .events = POLLIN};
    while (read(signals, &info, sizeof(info)) != sizeof(info))
        (void)poll(&waits, 1, -1);
    return info.ssi_signo == SIGINT ? IW_EXIT_INTERRUPTED : IW_EXIT_GOOD;
}

static int claim(struct iw_resolver *r, const uint32_t *numbers, size_t count,
                 const struct sockaddr *at, int signals)
{
    char text[IW_TRANSPORT_TEXT];
    uint64_t instance = 0;
    uint32_t refused = 0;
    while (instance == 0)
        if (getrandom(&instance, sizeof(instance), 0) != sizeof(instance))
            return iw_complain_exit(IW_EXIT_TESTER, "no randomness: %s", strerror(errno));
    if (iw_resolver_claim_all(r, numbers, count, at, instance, &refused) != 0) {
        if (errno == EADDRINUSE)
            return iw_complain_exit(IW_EXIT_FAILURE, "%" PRIu32 ": another process has it",
                                    refused);
        return iw_complain_exit(IW_EXIT_UNAVAILABLE, "%" PRIu32 ": cannot claim it: %s", refused,
                                strerror(errno));
    }
    iw_address_numeric(at, sizeof(struct sockaddr_storage), text, sizeof(text));
    printf("claimed %zu number%s at %s\n", count, iw_text_plural(count), text);
    fflush(stdout);
    return wait_end(signals);
}

static int claim_at(struct msg_settings *settings, const uint32_t *numbers, size_t count,
                    const struct iw_host_port *where)
{
    struct iw_resolver *r;
    struct sockaddr_storage at = {.ss_family = AF_UNSPEC};
    char error[400];
    struct addrinfo *list =
        iw_address_resolve(where->host, where->port, true, error, sizeof(error));
    if (list == NULL)
        return iw_complain_exit(IW_EXIT_USAGE, "%s", error);
    memcpy(&at, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    settings->net.config.notice = report_intruder;
    settings->net.config.claim_ms = (int)settings->resolve.wait;
    const int signals = iw_standard_signals(SIGTERM); /* before there is a thread */
    if (signals < 0)
        return iw_complain_exit(IW_EXIT_TESTER, "no signals: %s", strerror(errno));
    int status = msg_net_open(&settings->net, &r);
    if (status < 0) {
        status = claim(r, numbers, count, (const struct sockaddr *)&at, signals);
        iw_resolver_close(r);
    }
    close(signals);
    return status;
}

int msg_claim_run(struct msg_settings *settings, char *const *operands, size_t operand_count)
{
    struct iw_host_port where;
    uint32_t *numbers;
    size_t count;
    char error[400];
    if (iw_transport_parse(operands[0], &where, error, sizeof(error)) != 0)
        return iw_complain_exit(IW_EXIT_USAGE, "%s", error);
    if (where.port == 0)
        return iw_complain_exit(IW_EXIT_USAGE, "%s: expected the port of the service, 1 to 65535",
                                operands[0]);
    int status = msg_numbers_read(operands + 1, operand_count - 1, &numbers, &count);
    if (status >= 0)
        return status;
    status = claim_at(settings, numbers, count, &where);
    free(numbers);
    return status;
}
