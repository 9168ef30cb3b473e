/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <pcap/pcap.h>

struct iw_capture {
    pcap_t *pcap;
    char *path;
    enum iw_link link;
    uint64_t frames;
};

static bool find_link(int dlt, enum iw_link *link)
{
    static const struct {
        int dlt;
        enum iw_link link;
    } links[] = {
        {DLT_EN10MB, IW_LINK_ETHERNET}, {DLT_LINUX_SLL, IW_LINK_SLL},
        {DLT_LINUX_SLL2, IW_LINK_SLL2}, {DLT_NULL, IW_LINK_NULL},
        {DLT_LOOP, IW_LINK_LOOP},       {DLT_RAW, IW_LINK_RAW},
        {DLT_IPV4, IW_LINK_RAW},        {DLT_IPV6, IW_LINK_RAW},
    };
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        if (links[i].dlt == dlt) {
            *link = links[i].link;
            return true;
        }
    }
    return false;
}

static const char *path_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

struct iw_capture *iw_capture_open(const char *path, char error[IW_CAPTURE_ERROR])
{
    const char *name = path_name(path);
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    struct stat status;
    if (file != NULL && fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) {
        fclose(file);
        file = NULL;
        errno = EISDIR;
    }
    if (file == NULL) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: cannot be opened: %s", name, strerror(errno));
        return NULL;
    }
    char reason[PCAP_ERRBUF_SIZE];
    pcap_t *pcap =
        pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, reason);
    if (pcap == NULL) {
        snprintf(error, IW_CAPTURE_ERROR,
                 "%s: offset 0: expected the header of a pcap or pcapng capture: %s", name, reason);
        if (!is_stdin)
            fclose(file);
        return NULL;
    }
    enum iw_link link;
    int dlt = pcap_datalink(pcap);
    if (!find_link(dlt, &link)) {
        const char *dlt_name = pcap_datalink_val_to_name(dlt);
        snprintf(error, IW_CAPTURE_ERROR,
                 "%s: link type %d (%s) is not supported: expected Ethernet, Linux cooked, "
                 "loopback or raw IP",
                 name, dlt, dlt_name != NULL ? dlt_name : "unknown");
        pcap_close(pcap);
        return NULL;
    }
    struct iw_capture *c = calloc(1, sizeof *c);
    char *copy = strdup(name);
    if (c == NULL || copy == NULL) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: out of memory", name);
        free(c);
        free(copy);
        pcap_close(pcap);
        return NULL;
    }
    c->pcap = pcap;
    c->path = copy;
    c->link = link;
    return c;
}

int iw_capture_next(struct iw_capture *c, struct iw_frame *frame, char error[IW_CAPTURE_ERROR])
{
    struct pcap_pkthdr *header;
    const u_char *data;
    off_t offset = ftello(pcap_file(c->pcap));
    int got = pcap_next_ex(c->pcap, &header, &data);
    if (got == PCAP_ERROR_BREAK)
        return 0;
    if (got != 1) {
        char where[40] = "";
        if (offset >= 0)
            snprintf(where, sizeof where, " at offset %jd", (intmax_t)offset);
        snprintf(error, IW_CAPTURE_ERROR, "%s: frame %" PRIu64 "%s: expected a whole record: %s",
                 c->path, c->frames + 1, where, pcap_geterr(c->pcap));
        return -1;
    }
    frame->number = ++c->frames;
    frame->time = (uint64_t)header->ts.tv_sec * UINT64_C(1000000000) + (uint64_t)header->ts.tv_usec;
    frame->link = c->link;
    frame->data = data;
    frame->length = header->caplen;
    frame->original = header->len > header->caplen ? header->len : header->caplen;
    return 1;
}

void iw_capture_close(struct iw_capture *c)
{
    if (c == NULL)
        return;
    pcap_close(c->pcap);
    free(c->path);
    free(c);
}

int iw_capture_walk(const char *path, struct iw_connections *t, struct iw_capture_counts *counts,
                    char error[IW_CAPTURE_ERROR])
{
    struct iw_capture_counts unused;
    struct iw_frame frame;
    struct iw_packet packet;
    int result;

    if (counts == NULL)
        counts = &unused;
    memset(counts, 0, sizeof *counts);
    struct iw_capture *c = iw_capture_open(path, error);
    if (c == NULL)
        return -1;
    while ((result = iw_capture_next(c, &frame, error)) > 0) {
        counts->frames++;
        enum iw_decode decode = iw_packet_decode(&frame, &packet);
        counts->decoded[decode]++;
        if (decode != IW_DECODE_TCP)
            continue;
        result = iw_connections_add(t, &frame, &packet);
        if (result == -1)
            counts->ignored++;
        else if (result != 0)
            break;
    }
    iw_capture_close(c);
    return result;
}
