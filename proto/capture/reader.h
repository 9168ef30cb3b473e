/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_CAPTURE_READER_H
#define IW_CAPTURE_READER_H

/*
 * Reading captures. reader.c is common to all, octets.c reads a file's octets, formats.c pcap and
 * pcapng; library.c leaves the rest to libpcap: older formats, interfaces, filters.
 */

#include "iwarp/capture.h"

#include <pcap/pcap.h>

/* An interface of the file. A pcap file has one. */
struct iw_interface {
    enum iw_link link;
    uint32_t linktype; /* https://www.tcpdump.org/linktypes.html */
    uint32_t snap;     /* octets, 0: all */
    uint8_t resolution;
    uint64_t offset; /* ns, added to its times */
    bool compiled;
    struct bpf_program program;
};

typedef int iw_next_fn(struct iw_capture *c, struct iw_frame *frame, char error[IW_CAPTURE_ERROR]);

struct iw_capture {
    char *name;
    iw_next_fn *next;
    uint64_t frames;
    char *filter;
    struct iw_interface *interfaces; /* of all sections */
    size_t n_interfaces, room_interfaces;
    size_t section; /* the first interface of the section being read */
    bool swapped;   /* the file has the other octet order */
    uint8_t resolution;
    uint64_t time; /* of the latest frame */
    /* octets.c */
    int fd;
    uint8_t *buffer;
    size_t room, from, to;
    uint64_t offset; /* of buffer[from] in the file */
    bool end, interrupted;
    bool ahead;    /* only octets that are here already are wanted */
    int failed;    /* errno */
    uint64_t size; /* of a regular file, else 0 */
    /* library.c */
    pcap_t *pcap;
    FILE *file;
    int wait; /* becomes readable when packets wait; -1: a file */
};

/* ---- octets.c ---- */

bool iw_octets_open(struct iw_capture *c, const char *path, char error[IW_CAPTURE_ERROR]);
/* Returns the next n octets without taking them; NULL if there are fewer, or a signal came. */
const uint8_t *iw_octets_need(struct iw_capture *c, size_t n);
void iw_octets_take(struct iw_capture *c, size_t n);
/* Takes up to n octets into `to`, for fopencookie(). Returns their number, or -1 with errno. */
ssize_t iw_octets_read(void *capture, char *to, size_t n);

/* ---- formats.c ---- */

/* Returns the reader of the format that the file begins with; NULL if it is neither or its header
 * is not whole, or, with an error line, if the system fails. */
iw_next_fn *iw_formats_begin(struct iw_capture *c, char error[IW_CAPTURE_ERROR]);

/* ---- library.c ---- */

bool iw_library_open(struct iw_capture *c, char error[IW_CAPTURE_ERROR]);
bool iw_library_open_live(struct iw_capture *c, const char *interface, const char *filter,
                          char error[IW_CAPTURE_ERROR]);
void iw_library_close(struct iw_capture *c);
bool iw_library_compile(struct iw_capture *c, struct iw_interface *i, char error[IW_CAPTURE_ERROR]);

/* ---- live.c ---- */

/* Opens an interface to be read without waiting, with a filter (may be NULL); *fd can be waited
 * for. Returns NULL on failure. */
pcap_t *iw_live_activate(const char *interface, const char *filter, int *fd,
                         char error[IW_CAPTURE_ERROR]);
/* Makes an error line from a status of libpcap. */
void iw_live_explain(pcap_t *pcap, const char *interface, int status, char error[IW_CAPTURE_ERROR]);

/* ---- reader.c ---- */

enum iw_link iw_link_of(uint32_t linktype);
/* Adds one interface. Returns NULL with an error line: no memory, or too many of them. */
struct iw_interface *iw_capture_add_interface(struct iw_capture *c, uint32_t linktype,
                                              char error[IW_CAPTURE_ERROR]);
/* Returns false, with an error line that names the link types, if all those known are of other
 * kinds. */
bool iw_capture_links_fit(const struct iw_capture *c, char error[IW_CAPTURE_ERROR]);
/* Makes an error line about the record at the current place. Returns -1. */
int iw_capture_corrupt(const struct iw_capture *c, char error[IW_CAPTURE_ERROR], const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

#endif
