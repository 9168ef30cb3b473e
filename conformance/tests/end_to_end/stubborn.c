/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agent that cannot do what every case takes for granted, for tests of the suite only: linked
 * around iwarp-agent with --wrap. IW_STUBBORN says what: "empty" does not answer Reads of no
 * octets, "deaf" takes no FPDU in full operation, "ends" ends the connection at each.
 */
#include <stdlib.h>
#include <string.h>

#include "endpoint/endpoint_internal.h"

/* The linker's names. NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_iw_ep_rx_fpdu(void *context, const struct iw_fpdu *fpdu);
int __wrap_iw_ep_rx_fpdu(void *context, const struct iw_fpdu *fpdu);
int __real_iw_ep_rx_check(void *context, const struct iw_fault *fault);
int __wrap_iw_ep_rx_check(void *context, const struct iw_fault *fault);
/* NOLINTEND(bugprone-reserved-identifier) */

static bool is(const char *how)
{
    const char *said = getenv("IW_STUBBORN");
    return said != NULL && strcmp(said, how) == 0;
}

static bool asks_for_nothing(const struct iw_fpdu *fpdu)
{
    uint8_t octets[IW_DDP_UNTAGGED_HEADER + IW_RDMAP_READ_REQUEST];
    struct iw_ddp_header h;
    struct iw_rdmap_read_request request;
    size_t n = fpdu->length < sizeof(octets) ? fpdu->length : sizeof(octets);
    n = iw_ddp_gather(octets, fpdu->ulpdu, fpdu->pieces, 0, n);
    return n == sizeof(octets) && iw_wire_get_ddp(octets, n, &h) > 0 && !iw_ddp_tagged(&h) &&
           h.qn == IW_QN_READ_REQUEST &&
           iw_wire_get_read_request(octets + IW_DDP_UNTAGGED_HEADER, IW_RDMAP_READ_REQUEST,
                                    &request) > 0 &&
           request.size == 0;
}

int __wrap_iw_ep_rx_fpdu(void *context, const struct iw_fpdu *fpdu)
{
    struct iw_endpoint *ep = context;
    const struct iw_switches *before = ep->config.switches;
    struct iw_switches silent = {0};
    if (is("deaf"))
        return 0;
    if (is("ends")) {
        struct iw_fault fault = {.check = IW_CHECK_MPA_CRC};
        iw_ep_fault(ep, fault, NULL, NULL, 0);
        return 1;
    }
    if (is("empty") && asks_for_nothing(fpdu)) {
        const char *error;
        if (iw_switches_set(&silent, IW_SWITCH_VIOLATE, "rdmap-response-missing", &error) < 0)
            abort();
        ep->config.switches = &silent;
    }
    int status = __real_iw_ep_rx_fpdu(context, fpdu);
    ep->config.switches = before;
    return status;
}

int __wrap_iw_ep_rx_check(void *context, const struct iw_fault *fault)
{
    return is("deaf") ? 0 : __real_iw_ep_rx_check(context, fault);
}
