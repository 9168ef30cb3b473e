/* SPDX-License-Identifier: BSD-3-Clause */
/* Uses libpcap for formats older than pcap 2.4, interfaces and filters. */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SNAP_LENGTH = 262144, FOREVER = -1 };

static uint64_t time_of(const struct pcap_pkthdr *header)
{
    return (uint64_t)header->ts.tv_sec * UINT64_C(1000000000) + (uint64_t)header->ts.tv_usec;
}

static int next_library(struct iw_capture *c, struct iw_frame *frame, char error[IW_CAPTURE_ERROR])
{
    struct pcap_pkthdr *header;
    const u_char *data;
    int got;
    while ((got = pcap_next_ex(c->pcap, &header, &data)) ==
           0) { /* nothing waits on the interface */
        struct pollfd fd = {.fd = c->wait, .events = POLLIN};
        if (poll(&fd, 1, FOREVER) < 0 && errno == EINTR)
            return IW_CAPTURE_SIGNAL;
    }
    if (got == PCAP_ERROR_BREAK)
        return 0;
    if (got != 1 && c->wait >= 0) {
        iw_live_explain(c->pcap, c->name, got, error);
        return -1;
    }
    if (got != 1)
        return iw_capture_corrupt(c, error, "%s", pcap_geterr(c->pcap));
    frame->time = time_of(header);
    frame->link = c->interfaces[0].link;
    frame->linktype = c->interfaces[0].linktype;
    frame->data = data;
    frame->length = header->caplen;
    frame->original = header->len > header->caplen ? header->len : header->caplen;
    return 1;
}

bool iw_library_open(struct iw_capture *c, char error[IW_CAPTURE_ERROR])
{
    char reason[PCAP_ERRBUF_SIZE] = "out of memory";
    cookie_io_functions_t functions = {.read = iw_octets_read};

    c->file = fopencookie(c, "rb", functions);
    if (c->file != NULL)
        c->pcap =
            pcap_fopen_offline_with_tstamp_precision(c->file, PCAP_TSTAMP_PRECISION_NANO, reason);
    if (c->pcap == NULL) {
        snprintf(error, IW_CAPTURE_ERROR,
                 "%s: offset 0: expected the header of a pcap or pcapng capture: %s", c->name,
                 reason);
        if (c->file != NULL)
            fclose(c->file);
        return false;
    }
    c->next = next_library;
    return iw_capture_add_interface(c, (uint32_t)pcap_datalink(c->pcap), error) != NULL;
}

bool iw_library_open_live(struct iw_capture *c, const char *interface, const char *filter,
                          char error[IW_CAPTURE_ERROR])
{
    c->pcap = iw_live_activate(interface, filter, &c->wait, error);
    if (c->pcap == NULL)
        return false;
    c->next = next_library;
    return iw_capture_add_interface(c, (uint32_t)pcap_datalink(c->pcap), error) != NULL;
}

void iw_library_close(struct iw_capture *c)
{
    for (size_t i = 0; i < c->n_interfaces; i++)
        if (c->interfaces[i].compiled)
            pcap_freecode(&c->interfaces[i].program);
    if (c->pcap != NULL)
        pcap_close(c->pcap); /* and its file */
}

/* DLT_RAW has two numbers: that of files, and libpcap's own. */
static int dlt_of(uint32_t linktype)
{
    return linktype == 101 ? DLT_RAW : (int)linktype;
}

bool iw_library_compile(struct iw_capture *c, struct iw_interface *i, char error[IW_CAPTURE_ERROR])
{
    pcap_t *dead = pcap_open_dead(dlt_of(i->linktype), SNAP_LENGTH);

    if (dead == NULL) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: out of memory", c->name);
        return false;
    }
    i->compiled = pcap_compile(dead, &i->program, c->filter, 1, PCAP_NETMASK_UNKNOWN) == 0;
    if (!i->compiled)
        snprintf(error, IW_CAPTURE_ERROR, "%s: filter \"%s\": %s", c->name, c->filter,
                 pcap_geterr(dead));
    pcap_close(dead);
    return i->compiled;
}

uint64_t iw_capture_dropped(const struct iw_capture *c)
{
    struct pcap_stat stat = {0};

    if (c->wait >= 0)
        pcap_stats(c->pcap, &stat);
    return stat.ps_drop;
}
