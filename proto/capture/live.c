/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SNAP_LENGTH = 262144, BUFFER = 16 * 1024 * 1024 };
/* The most packets that one pump writes, so that a flood cannot hold the caller. */
enum { PUMP = 4096, LAST_PUMPS = 64 };

struct iw_live {
    pcap_t *pcap;
    pcap_dumper_t *dumper;
    char *interface;
    char *path;
    int fd;
    uint64_t written;
};

void iw_live_explain(pcap_t *pcap, const char *interface, int status, char error[IW_CAPTURE_ERROR])
{
    const char *reason = pcap_statustostr(status);
    const char *detail = pcap_geterr(pcap); /* may be empty, or the reason once more */
    bool more = detail[0] != '\0' && strcmp(detail, reason) != 0;
    if (status == PCAP_ERROR_PERM_DENIED)
        snprintf(error, IW_CAPTURE_ERROR,
                 "interface %s: capturing is not permitted: expected root or the capability "
                 "CAP_NET_RAW",
                 interface);
    else
        snprintf(error, IW_CAPTURE_ERROR, "interface %s: cannot capture: %s%s%s", interface, reason,
                 more ? ": " : "", more ? detail : "");
}

static void destroy(struct iw_live *l)
{
    if (l == NULL)
        return;
    if (l->dumper != NULL)
        pcap_dump_close(l->dumper);
    if (l->pcap != NULL)
        pcap_close(l->pcap);
    free(l->interface);
    free(l->path);
    free(l);
}

static bool activate(pcap_t *pcap, const char *interface, int *fd, char error[IW_CAPTURE_ERROR])
{
    char reason[PCAP_ERRBUF_SIZE] = "";
    pcap_set_snaplen(pcap, SNAP_LENGTH);
    pcap_set_buffer_size(pcap, BUFFER);
    pcap_set_immediate_mode(pcap, 1);
    pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO);
    int status = pcap_activate(pcap);
    if (status < 0) {
        iw_live_explain(pcap, interface, status, error);
        return false;
    }
    if (pcap_setnonblock(pcap, 1, reason) != 0) {
        snprintf(error, IW_CAPTURE_ERROR, "interface %s: cannot capture: %s", interface, reason);
        return false;
    }
    *fd = pcap_get_selectable_fd(pcap);
    if (*fd < 0)
        snprintf(error, IW_CAPTURE_ERROR,
                 "interface %s: cannot be captured from: its packets cannot be waited for",
                 interface);
    return *fd >= 0;
}

static bool set_filter(pcap_t *pcap, const char *interface, const char *filter,
                       char error[IW_CAPTURE_ERROR])
{
    struct bpf_program program;
    bool good = pcap_compile(pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN) == 0;
    if (good) {
        good = pcap_setfilter(pcap, &program) == 0;
        pcap_freecode(&program);
    }
    if (!good)
        snprintf(error, IW_CAPTURE_ERROR, "interface %s: filter \"%s\": %s", interface, filter,
                 pcap_geterr(pcap));
    return good;
}

pcap_t *iw_live_activate(const char *interface, const char *filter, int *fd,
                         char error[IW_CAPTURE_ERROR])
{
    char reason[PCAP_ERRBUF_SIZE] = "";
    pcap_t *pcap = pcap_create(interface, reason);
    if (pcap == NULL) {
        snprintf(error, IW_CAPTURE_ERROR, "interface %s: cannot capture: %s", interface, reason);
        return NULL;
    }
    if (activate(pcap, interface, fd, error) &&
        (filter == NULL || set_filter(pcap, interface, filter, error)))
        return pcap;
    pcap_close(pcap);
    return NULL;
}

int iw_live_fd(const struct iw_live *l)
{
    return l->fd;
}

static void dump(u_char *context, const struct pcap_pkthdr *header, const u_char *data)
{
    struct iw_live *l = (struct iw_live *)(void *)context;
    pcap_dump((u_char *)l->dumper, header, data);
    l->written++;
}

int iw_live_pump(struct iw_live *l, char error[IW_CAPTURE_ERROR])
{
    int count = pcap_dispatch(l->pcap, PUMP, dump, (u_char *)l);
    if (count < 0) {
        iw_live_explain(l->pcap, l->interface, count, error);
        return -1;
    }
    if (ferror(pcap_dump_file(l->dumper))) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: cannot be written", l->path);
        return -1;
    }
    return count;
}

static bool begin(struct iw_live *l, const char *filter, char error[IW_CAPTURE_ERROR])
{
    l->pcap = iw_live_activate(l->interface, filter, &l->fd, error);
    if (l->pcap == NULL)
        return false;
    l->dumper = pcap_dump_open(l->pcap, l->path);
    if (l->dumper == NULL) {
        snprintf(error, IW_CAPTURE_ERROR, "%s", pcap_geterr(l->pcap));
        return false;
    }
    /* Packets that came before the filter was set fill the ring, and are only now left out. */
    return filter == NULL || iw_live_pump(l, error) >= 0;
}

struct iw_live *iw_live_open(const char *interface, const char *filter, const char *path,
                             char error[IW_CAPTURE_ERROR])
{
    struct iw_live *l = calloc(1, sizeof(*l));
    if (l == NULL || (l->interface = strdup(interface)) == NULL || (l->path = strdup(path)) == NULL)
        snprintf(error, IW_CAPTURE_ERROR, "interface %s: out of memory", interface);
    else if (begin(l, filter, error))
        return l;
    destroy(l);
    return NULL;
}

bool iw_live_close(struct iw_live *l, struct iw_live_counts *counts, char error[IW_CAPTURE_ERROR])
{
    int count = 1;
    for (unsigned i = 0; i < LAST_PUMPS && count > 0; i++)
        count = iw_live_pump(l, error);
    bool good = count >= 0;
    struct pcap_stat stat = {0};
    if (counts != NULL) {
        pcap_stats(l->pcap, &stat);
        counts->written = l->written;
        counts->dropped = stat.ps_drop;
    }
    if (pcap_dump_flush(l->dumper) != 0 && good) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: cannot be written", l->path);
        good = false;
    }
    destroy(l);
    return good;
}
