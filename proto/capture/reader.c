/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INTERFACES = 65536 };

enum iw_link iw_link_of(uint32_t linktype)
{
    switch (linktype) {
    case 1:
        return IW_LINK_ETHERNET;
    case 113:
        return IW_LINK_SLL;
    case 276:
        return IW_LINK_SLL2;
    case 0:
        return IW_LINK_NULL;
    case 108:
        return IW_LINK_LOOP;
    case 12: /* raw IP in libpcap and, from some systems, in files */
    case 14:
    case 101:
    case 228:
    case 229:
        return IW_LINK_RAW;
    default:
        return IW_LINK_OTHER;
    }
}

int iw_capture_corrupt(const struct iw_capture *c, char error[IW_CAPTURE_ERROR], const char *format,
                       ...)
{
    char what[IW_CAPTURE_ERROR / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    char where[40] = "";
    if (c->pcap == NULL)
        snprintf(where, sizeof(where), " at offset %" PRIu64, c->offset);
    snprintf(error, IW_CAPTURE_ERROR, "%s: frame %" PRIu64 "%s: expected a whole record: %s",
             c->name, c->frames + 1, where, what);
    return -1;
}

struct iw_interface *iw_capture_add_interface(struct iw_capture *c, uint32_t linktype,
                                              char error[IW_CAPTURE_ERROR])
{
    if (c->n_interfaces == INTERFACES) {
        (void)iw_capture_corrupt(c, error, "more than %d interfaces", INTERFACES);
        return NULL;
    }
    if (c->n_interfaces == c->room_interfaces) {
        size_t room = c->room_interfaces != 0 ? 2 * c->room_interfaces : 1;
        struct iw_interface *larger = realloc(c->interfaces, room * sizeof(*larger));
        if (larger == NULL) {
            c->failed = ENOMEM;
            snprintf(error, IW_CAPTURE_ERROR, "%s: out of memory", c->name);
            return NULL;
        }
        c->interfaces = larger;
        c->room_interfaces = room;
    }
    struct iw_interface *i = &c->interfaces[c->n_interfaces];
    *i = (struct iw_interface){.link = iw_link_of(linktype), .linktype = linktype};
    if (c->filter != NULL && i->link != IW_LINK_OTHER && !iw_library_compile(c, i, error))
        return NULL;
    c->n_interfaces++;
    return i;
}

bool iw_capture_links_fit(const struct iw_capture *c, char error[IW_CAPTURE_ERROR])
{
    for (size_t i = 0; i < c->n_interfaces; i++)
        if (c->interfaces[i].link != IW_LINK_OTHER)
            return true;
    if (c->n_interfaces == 0)
        return true;
    const char *name = pcap_datalink_val_to_name((int)c->interfaces[0].linktype);
    snprintf(error, IW_CAPTURE_ERROR,
             "%s: link type %" PRIu32 " (%s) is not supported: expected Ethernet, Linux cooked, "
             "loopback or raw IP",
             c->name, c->interfaces[0].linktype, name != NULL ? name : "unknown");
    return false;
}

static struct iw_capture *new_capture(const char *name, char error[IW_CAPTURE_ERROR])
{
    struct iw_capture *c = calloc(1, sizeof(*c));
    char *copy = strdup(name);

    if (c == NULL || copy == NULL) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: out of memory", name);
        free(c);
        free(copy);
        return NULL;
    }
    c->name = copy;
    c->fd = c->wait = -1;
    return c;
}

struct iw_capture *iw_capture_open(const char *path, char error[IW_CAPTURE_ERROR])
{
    struct iw_capture *c = new_capture(strcmp(path, "-") == 0 ? "standard input" : path, error);

    if (c == NULL)
        return NULL;
    error[0] = '\0';
    bool good = iw_octets_open(c, path, error);
    if (good) {
        c->next = iw_formats_begin(c, error);
        good = c->next != NULL || (error[0] == '\0' && iw_library_open(c, error));
    }
    if (good && iw_capture_links_fit(c, error))
        return c;
    iw_capture_close(c);
    return NULL;
}

struct iw_capture *iw_capture_live(const char *interface, const char *filter,
                                   char error[IW_CAPTURE_ERROR])
{
    struct iw_capture *c = new_capture(interface, error);

    if (c == NULL)
        return NULL;
    if (iw_library_open_live(c, interface, filter, error) && iw_capture_links_fit(c, error))
        return c;
    iw_capture_close(c);
    return NULL;
}

bool iw_capture_filter(struct iw_capture *c, const char *filter, char error[IW_CAPTURE_ERROR])
{
    c->filter = strdup(filter);
    if (c->filter == NULL) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: out of memory", c->name);
        return false;
    }
    for (size_t i = 0; i < c->n_interfaces; i++)
        if (c->interfaces[i].link != IW_LINK_OTHER &&
            !iw_library_compile(c, &c->interfaces[i], error))
            return false;
    return true;
}

static bool selected(const struct iw_capture *c, const struct iw_frame *frame)
{
    const struct iw_interface *i = &c->interfaces[frame->interface];
    const struct pcap_pkthdr header = {.caplen = frame->length, .len = frame->original};

    return c->filter == NULL ||
           (i->compiled && pcap_offline_filter(&i->program, &header, frame->data) != 0);
}

int iw_capture_next(struct iw_capture *c, struct iw_frame *frame, char error[IW_CAPTURE_ERROR])
{
    int result;
    do {
        *frame = (struct iw_frame){0};
        result = c->next(c, frame, error);
        if (result == 1)
            frame->number = ++c->frames;
    } while (result == 1 && !selected(c, frame));
    return result;
}

int iw_capture_batch(struct iw_capture *c, struct iw_frame *frames, size_t room, size_t *count,
                     char error[IW_CAPTURE_ERROR])
{
    int result = iw_capture_next(c, &frames[0], error);
    *count = result == 1;
    c->ahead = true;
    char later[IW_CAPTURE_ERROR]; /* reported when the reader gets there */
    while (result == 1 && c->pcap == NULL && *count < room &&
           iw_capture_next(c, &frames[*count], later) == 1)
        ++*count;
    c->ahead = false;
    return result;
}

bool iw_capture_progress(const struct iw_capture *c, uint64_t *at, uint64_t *size)
{
    *at = c->offset;
    *size = c->size;
    return c->size != 0 && c->pcap == NULL;
}

void iw_capture_close(struct iw_capture *c)
{
    if (c == NULL)
        return;
    iw_library_close(c);
    if (c->fd > STDIN_FILENO)
        close(c->fd);
    free(c->buffer);
    free(c->interfaces);
    free(c->filter);
    free(c->name);
    free(c);
}

int iw_capture_walk(const char *path, struct iw_capture_connections *t,
                    struct iw_capture_counts *counts, char error[IW_CAPTURE_ERROR])
{
    struct iw_capture_counts unused;
    if (counts == NULL)
        counts = &unused;
    memset(counts, 0, sizeof(*counts));
    struct iw_capture *c = iw_capture_open(path, error);
    if (c == NULL)
        return -1;
    struct iw_fragments *f = iw_fragments_new();
    if (f == NULL) {
        snprintf(error, IW_CAPTURE_ERROR, "%s: out of memory", c->name);
        iw_capture_close(c);
        return -1;
    }
    struct iw_frame frames[IW_CAPTURE_BATCH];
    size_t count;
    int result;
    while ((result = iw_capture_batch(c, frames, IW_CAPTURE_BATCH, &count, error)) > 0) {
        int stop = iw_capture_connections_take(t, f, frames, count, counts);
        if (stop != 0) {
            result = stop;
            break;
        }
    }
    iw_fragments_free(f);
    iw_capture_close(c);
    return result;
}
