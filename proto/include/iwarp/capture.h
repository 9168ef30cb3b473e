/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_CAPTURE_H
#define IWARP_CAPTURE_H

/*
 * capture/: packets in files and on interfaces. Reads pcap and pcapng; decodes link layer, IP and
 * TCP, and writes IP and TCP; sorts segments into connections; writes pcapng with comments, and
 * frames synthesised from the octets of TCP connections. libpcap captures, compiles filters and
 * reads older formats.
 *
 * Functions that can fail on a file or an interface take `error`: room for one clear line of at
 * most IW_CAPTURE_ERROR octets including the terminating zero, set only on failure. Times are ns
 * since 1970-01-01 UTC. Frames are numbered from 1, as in Wireshark.
 */

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { IW_CAPTURE_ERROR = 512 };

/* -------------------------------------------------------------------- reader */

/* Link layers that can be decoded (https://www.tcpdump.org/linktypes.html). */
enum iw_link {
    IW_LINK_ETHERNET, /* also with 802.1Q and 802.1ad tags */
    IW_LINK_SLL,      /* Linux cooked capture, version 1 and 2 */
    IW_LINK_SLL2,
    IW_LINK_NULL, /* BSD loopback: address family in the octet order of the capturing host */
    IW_LINK_LOOP, /* OpenBSD loopback: address family in network order */
    IW_LINK_RAW,  /* IPv4 or IPv6 without a link header */
    IW_LINK_OTHER /* another link layer, of a further interface of the file; not decoded */
};

struct iw_frame {
    uint64_t number;
    uint64_t time;
    enum iw_link link;
    uint32_t linktype;   /* the number of the link layer in files */
    uint32_t interface;  /* the interface that captured it, counted from 0 through all sections of
                            the file */
    const uint8_t *data; /* borrowed from the reader until its next call */
    uint32_t length;     /* octets captured */
    uint32_t original;   /* octets the frame had on the link */
};

struct iw_capture;

/* Opens a pcap or pcapng file; "-" is the standard input. Returns NULL on failure: the file cannot
 * be read, is not a capture, or none of its interfaces (as far as they are described before the
 * first packet) has a link layer that can be decoded. Close with iw_capture_close. */
struct iw_capture *iw_capture_open(const char *path, char error[IW_CAPTURE_ERROR]);

/* Captures from a network interface, with a BPF filter (may be NULL). Returns NULL on failure: no
 * such interface, not permitted, bad filter, a link layer that cannot be decoded. */
struct iw_capture *iw_capture_live(const char *interface, const char *filter,
                                   char error[IW_CAPTURE_ERROR]);

/* Restricts a file to the frames that this BPF filter selects; they keep their numbers. Returns
 * false if the filter is invalid for the link layer of some interface. Call it once, before reading
 * the first frame. */
bool iw_capture_filter(struct iw_capture *c, const char *filter, char error[IW_CAPTURE_ERROR]);

/* Reads the next frame. Returns 1; 0 at the end of the file; -1 if the file is cut short or
 * corrupt: `error` names the file, the frame and, if known, the offset at which its record starts;
 * or IW_CAPTURE_SIGNAL if a signal was caught while waiting for octets: call again to go on.
 * Memory: 256 KiB, or one frame, at most IW_PCAPNG_BLOCK octets. */
enum { IW_CAPTURE_SIGNAL = 2 };
int iw_capture_next(struct iw_capture *c, struct iw_frame *frame, char error[IW_CAPTURE_ERROR]);

/* Reads the next frame, and as many of the frames after it as are in memory already: *count frames,
 * at most `room`. All are valid until the next call. Returns as iw_capture_next. */
enum { IW_CAPTURE_BATCH = 16 /* a sensible room */ };
int iw_capture_batch(struct iw_capture *c, struct iw_frame *frames, size_t room, size_t *count,
                     char error[IW_CAPTURE_ERROR]);

/* Stores how many octets of the file were read, and its size. Returns false if they are not known.
 */
bool iw_capture_progress(const struct iw_capture *c, uint64_t *at, uint64_t *size);

/* Returns the packets of a live capture that the kernel dropped for lack of buffer space. */
uint64_t iw_capture_dropped(const struct iw_capture *c);

/* Ends a capture and frees it; the data of its frames is gone. The standard input stays open. NULL
 * is ignored. */
void iw_capture_close(struct iw_capture *c);

/* ------------------------------------------------------------------- packets */

struct iw_address {
    uint8_t family;     /* 4 or 6 */
    uint8_t octets[16]; /* IPv4: the first four; the others are zero */
};

/* TCP flags (RFC 9293 §3.1). */
enum {
    IW_TCP_FIN = 0x01,
    IW_TCP_SYN = 0x02,
    IW_TCP_RST = 0x04,
    IW_TCP_PSH = 0x08,
    IW_TCP_ACK = 0x10
};

enum iw_decode {
    IW_DECODE_TCP,      /* a whole TCP header: every member of struct iw_packet is valid */
    IW_DECODE_NOT_IP,   /* another protocol on the link (ARP, ...) */
    IW_DECODE_NOT_TCP,  /* another protocol over IP */
    IW_DECODE_FRAGMENT, /* a fragment of an IP datagram: see iw_fragments_add */
    IW_DECODE_CUT,      /* the captured octets end inside the headers */
    IW_DECODE_BAD       /* a header contradicts itself or the frame's length */
};

/* The place of a fragment in its datagram. */
struct iw_fragment {
    uint32_t id;
    uint32_t offset; /* octets before it */
    bool more;       /* it is not the last */
    uint8_t next;    /* protocol, or header, of the datagram's content */
};

struct iw_packet {
    struct iw_address source, destination;
    uint16_t source_port, destination_port;
    uint32_t seq, ack;
    uint8_t flags; /* IW_TCP_* */
    uint8_t scale; /* the window scale option, 0 if there is none */
    uint16_t window;
    uint16_t mss;                /* the MSS option, 0 if there is none */
    uint16_t id;                 /* IPv4: the identification */
    const uint8_t *payload;      /* TCP payload, points into the frame's data */
    uint32_t length;             /* payload octets captured; padding of the link is no payload */
    uint32_t missing;            /* payload octets after these that were not captured */
    struct iw_fragment fragment; /* IW_DECODE_FRAGMENT, whose octets are the payload */
    const char *reason;          /* if not IW_DECODE_TCP: the reason, static text */
    uint32_t offset; /* if not IW_DECODE_TCP: octet of the frame where decoding stopped */
};

/* Decodes the headers of one frame. Never reads past frame->length; looks at no more than
 * IW_DECODE_TAGS VLAN tags and IW_DECODE_EXTENSIONS IPv6 extension headers. Ignores checksums
 * (offloading leaves them open in captures of the sending host). Returns IW_DECODE_TCP, or what
 * packet->reason explains. */
enum { IW_DECODE_TAGS = 4, IW_DECODE_EXTENSIONS = 8 };
enum iw_decode iw_packet_decode(const struct iw_frame *frame, struct iw_packet *packet);

/* Decodes the content of an IP datagram between packet->source and packet->destination, of protocol
 * `next`. Returns what was found, as iw_packet_decode. */
enum iw_decode iw_packet_decode_whole(struct iw_packet *packet, uint8_t next, const uint8_t *data,
                                      uint32_t length);

/* Writes an IP packet of one TCP segment, checksums included (RFC 791 §3.1, RFC 8200 §3, RFC 9293
 * §3.1): IPv4 if packet->source.family is 4, else IPv6, without options or extension headers. Uses
 * every member of *packet before `missing`; the addresses are of one family, as iw_packet_decode
 * leaves them. Returns the packet's octets, 0 if they are more than `room` or than an IP header can
 * say; then nothing is written. */
size_t iw_packet_put(uint8_t *octets, size_t room, const struct iw_packet *packet);
/* Returns the octets that iw_packet_put needs room for, 0 if an IP header cannot say so many. */
size_t iw_packet_size(const struct iw_packet *packet);

/* Creates what reassembles datagrams from fragments in any order. At most IW_FRAGMENTS of them can
 * be unfinished at a time (66 KiB each, allocated when first needed). The oldest is dropped to make
 * room for one more, and each one a minute after its first fragment, by the frames' times. Octets
 * that come twice must be the same, and in IPv6 the fragment must be an exact repeat (RFC 8200
 * §4.5); otherwise the datagram is bad. A fragment that was not captured whole is ignored. Returns
 * NULL without memory. */
enum { IW_FRAGMENTS = 64 };
struct iw_fragments;
struct iw_fragments *iw_fragments_new(void);
/* Frees it with its unfinished datagrams. NULL is ignored. */
void iw_fragments_free(struct iw_fragments *f);
/* Adds a fragment (iw_packet_decode returned IW_DECODE_FRAGMENT). Returns IW_DECODE_FRAGMENT if the
 * datagram is not complete yet, else the result of decoding the datagram; its payload is valid
 * until the next call. */
enum iw_decode iw_fragments_add(struct iw_fragments *f, const struct iw_frame *frame,
                                struct iw_packet *packet);
/* Returns the number of datagrams that were given up or are unfinished. */
uint64_t iw_fragments_incomplete(const struct iw_fragments *f);

/* Prints "192.0.2.1:80" or "[2001:db8::1]:80" into `text` (IW_ENDPOINT_TEXT octets). Returns text.
 */
enum { IW_ENDPOINT_TEXT = 56 };
char *iw_address_print(char *text, const struct iw_address *address, uint16_t port);

/* --------------------------------------------------------------- connections */

/* Side 0 is the one that sent the SYN; without a SYN in the capture, the one that did not send the
 * SYN/ACK, else the first sender. A direction has the number of its sending side. */
struct iw_capture_connection {
    alignas(64) uint64_t number; /* from 0, in order of appearance */
    struct iw_address address[2];
    uint16_t port[2];
    bool syn[2];   /* this side's SYN was seen: position 0 is the octet after it */
    bool begun[2]; /* the octet at position 0 was seen, before this segment */
    bool fin[2];
    bool reset; /* either side sent a RST */
    /* Private to capture/; so are the members marked so below. */
    bool used;
    bool known[2];
    uint32_t base[2];     /* private: sequence number of position 0 */
    uint64_t first_frame; /* frame numbers */
    uint64_t last_frame;
    void *user;        /* the caller's, NULL at first */
    uint64_t ahead[2]; /* private: highest position seen */
    uint64_t end[2];   /* private: of its FIN */
};

enum iw_segment_kind {
    IW_SEGMENT_SYN,
    IW_SEGMENT_DATA,
    IW_SEGMENT_FIN,
    IW_SEGMENT_RST,
    IW_SEGMENT_ACK /* only with iw_capture_connections_tell_acks; comes before DATA */
};

/* The meaning of one frame for one direction; a frame can give several (SYN, DATA, FIN or RST). */
struct iw_segment {
    enum iw_segment_kind kind;
    struct iw_capture_connection *connection;
    unsigned direction;
    /* DATA: of its first octet; FIN, RST: after the last octet sent before; ACK: after the last
     * octet of the other direction that it acknowledges. */
    uint64_t pos;
    const uint8_t *data; /* DATA only; borrowed from the frame */
    size_t length;       /* captured octets, may be 0 if some are missing */
    uint32_t missing;    /* octets of the segment after these that were not captured */
    const struct iw_frame *frame;
    const struct iw_packet *packet;
};

/* Returns 0 to go on, a positive number to stop. */
typedef int iw_segment_fn(void *context, const struct iw_segment *segment);

struct iw_capture_connections;

/* Creates a table of at most `limit` connections (about 150 octets each, allocated as they appear)
 * that calls `seen` for each segment. Segments come as in the capture: repeated, overlapping, out
 * of order; iw_stream puts them together. Octets before position 0 (keep-alives, octets sent before
 * the capture began) are left out. Returns NULL without memory. */
struct iw_capture_connections *iw_capture_connections_new(size_t limit, iw_segment_fn *seen,
                                                          void *context);

/* Makes a full table drop the least recently used connection to make room, from now on. `dropped`
 * is called with `context` before. */
typedef void iw_dropped_fn(void *context, struct iw_capture_connection *c);
void iw_capture_connections_recycle(struct iw_capture_connections *t, iw_dropped_fn *dropped);
/* Returns the least recently used connection that has a `user`, or NULL if there is none. */
struct iw_capture_connection *iw_capture_connections_oldest_used(struct iw_capture_connections *t);
/* Makes the table report acknowledgements to `seen`, too, from now on. */
void iw_capture_connections_tell_acks(struct iw_capture_connections *t);

/* Adds a decoded frame (iw_packet_decode returned IW_DECODE_TCP). A SYN on a connection that is
 * closed or had another initial sequence number starts a new one. Returns 0; -1 if the table is
 * full or out of memory (the frame is then ignored); else the value that `seen` returned. */
int iw_capture_connections_add(struct iw_capture_connections *t, const struct iw_frame *frame,
                               const struct iw_packet *packet);

/* Returns the number of places, empty ones included. */
size_t iw_capture_connections_count(const struct iw_capture_connections *t);
/* Returns connection `number`, below the count; it lives as long as the table. A table that drops
 * connections reuses their places; NULL means an empty place. */
struct iw_capture_connection *iw_capture_connections_get(const struct iw_capture_connections *t,
                                                         size_t number);
/* Frees the table with its connections, not what their `user` points to. NULL is ignored. */
void iw_capture_connections_free(struct iw_capture_connections *t);

/* The number of frames in a capture, by the result of decoding. */
struct iw_capture_counts {
    uint64_t frames;
    uint64_t decoded[IW_DECODE_BAD +
                     1]; /* for the last fragment of a datagram: the result of the datagram */
    uint64_t ignored;    /* TCP frames that the full table ignored */
    uint64_t incomplete; /* datagrams that lack fragments */
};

/* Decodes frames (at most IW_CAPTURE_BATCH), reassembles fragments and adds TCP to the table.
 * Returns 0, or the value that `seen` returned, which ends it. With thousands of connections most
 * time goes into waiting for memory, so it prefetches everything that a batch needs. */
int iw_capture_connections_take(struct iw_capture_connections *t, struct iw_fragments *f,
                                const struct iw_frame *frames, size_t count,
                                struct iw_capture_counts *counts);
/* Calls `soon` shortly before a packet of this direction, with or without octets, is added, so that
 * the user can prefetch its own state of the connection. */
typedef void iw_soon_fn(const struct iw_capture_connection *c, unsigned direction, bool octets);
void iw_capture_connections_foresee(struct iw_capture_connections *t, iw_soon_fn *soon);

/* Reads a whole capture into a table. Returns 0 at the end of the file, -1 with an error line, else
 * the value that `seen` returned. `counts` may be NULL. */
int iw_capture_walk(const char *path, struct iw_capture_connections *t,
                    struct iw_capture_counts *counts, char error[IW_CAPTURE_ERROR]);

/* ------------------------------------------------------------- pcapng writer */

struct iw_pcapng;

/* Creates (or empties) a pcapng file with one interface of this link layer and ns timestamps
 * (IW_LINK_OTHER: without an interface, for iw_pcapng_copy). `application` and the section's
 * `comment` may be NULL. Returns NULL on failure. */
struct iw_pcapng *iw_pcapng_create(const char *path, enum iw_link link, const char *application,
                                   const char *comment, char error[IW_CAPTURE_ERROR]);

/* Writes one frame (its number and link are ignored) with `count` comments (UTF-8; a comment longer
 * than the 65535 octets that the format can hold is cut at a character). Returns false if the block
 * would be larger than the IW_PCAPNG_BLOCK octets that readers accept, or if writing failed, which
 * iw_pcapng_close reports. */
enum { IW_PCAPNG_BLOCK = 16 * 1024 * 1024 };
bool iw_pcapng_frame(struct iw_pcapng *w, const struct iw_frame *frame, const char *const *comments,
                     size_t count);

/* Writes a frame that was read from a capture, preceded by descriptions of interfaces that this
 * file does not have yet. Returns as iw_pcapng_frame, and false without memory. */
bool iw_pcapng_copy(struct iw_pcapng *w, const struct iw_frame *frame, const char *const *comments,
                    size_t count);

/* Writes to the file what is still in memory. */
void iw_pcapng_flush(struct iw_pcapng *w);
/* Closes the file. Returns false, with an error line, if anything failed since it was created. */
bool iw_pcapng_close(struct iw_pcapng *w, char error[IW_CAPTURE_ERROR]);

/* --------------------------------------------------------------- synthesiser */

/* Writes TCP connections as Ethernet frames, made from the octets of both directions. Frames are
 * kept in memory, so that comments can still be added, and written at the end. */
struct iw_synth;

/* One connection. Side 0 opens it. */
struct iw_synth_tcp {
    struct iw_address address[2]; /* of the same family */
    uint16_t port[2];
    uint32_t isn[2]; /* initial sequence numbers */
    uint16_t mss;    /* octets of a segment, 0: 1460 (IPv4) or 1440 (IPv6) */
    /* The MSS in the SYNs, 0: mss; smaller than mss if a sender leaves segmentation to its NIC. */
    uint16_t told;
};

/* The frames that a call made, not counting pure ACKs of the other side; 0 and 0 if none. */
struct iw_synth_span {
    uint64_t first;
    uint64_t last;
};

/* Creates a synthesiser. `limit` bounds the memory for frames in octets; when it is reached,
 * nothing more is recorded and the section's comment says so. Returns NULL without memory. */
struct iw_synth *iw_synth_new(size_t limit);
/* Frees a synthesiser with its frames; ends a file that iw_synth_finish has not ended. NULL is
 * ignored. */
void iw_synth_free(struct iw_synth *s);

/* Creates a synthesiser that writes each frame to a pcapng file (as iw_pcapng_create makes it)
 * instead of keeping it: for captures larger than memory. It has no comments and no iw_synth_write;
 * iw_synth_finish ends the file, after which nothing more is recorded, and returns false, with an
 * error line, if the file is not whole. Returns NULL on failure. */
struct iw_synth *iw_synth_stream(const char *path, const char *application, const char *comment,
                                 char error[IW_CAPTURE_ERROR]);
bool iw_synth_finish(struct iw_synth *s, char error[IW_CAPTURE_ERROR]);
/* Writes to such a file the frames that are still in memory. */
void iw_synth_flush(struct iw_synth *s);

/* Opens a connection: SYN, SYN/ACK (the span) and ACK. Returns its handle for the calls below,
 * or -1 if the families differ, the MSS is beyond 65495 (IPv4) or 65515 (IPv6), or memory or the
 * limit is exhausted. Each frame is stamped at least 1 ns later than the one before, whatever
 * `now` is. */
int iw_synth_connect(struct iw_synth *s, const struct iw_synth_tcp *tcp, uint64_t now,
                     struct iw_synth_span *span);

/* Records that `side` wrote these octets: as one segment, or several if longer than the MSS. The
 * other side acknowledges every second segment, or with its own next segment. Returns the span of
 * the segments. */
struct iw_synth_span iw_synth_data(struct iw_synth *s, int connection, unsigned side, uint64_t now,
                                   const void *data, size_t length);

/* Records one segment of `side` with these octets, at most the MSS, at `position` (0: the first
 * octet after its SYN): after a gap, as a repeat, or over others. Nothing acknowledges it, and the
 * next octets go after the highest octet so far. Returns its span. */
struct iw_synth_span iw_synth_segment(struct iw_synth *s, int connection, unsigned side,
                                      uint64_t now, uint64_t position, const void *data,
                                      size_t length);

/* Records that the octets of `side` before `position` were sent but not captured: the next octets
 * go after them, and the other side acknowledges them. */
void iw_synth_unseen(struct iw_synth *s, int connection, unsigned side, uint64_t position);

/* Record that `side` closes its direction (FIN, acknowledged at once) or resets the connection.
 * Octets after a side's FIN or after a RST are not recorded. Return the span. */
struct iw_synth_span iw_synth_fin(struct iw_synth *s, int connection, unsigned side, uint64_t now);
struct iw_synth_span iw_synth_reset(struct iw_synth *s, int connection, unsigned side,
                                    uint64_t now);

/* Records an IP packet that `side` sent, unchanged, between the same Ethernet addresses. Returns
 * its span. */
struct iw_synth_span iw_synth_packet(struct iw_synth *s, unsigned side, uint64_t now,
                                     const void *packet, size_t length);

/* Adds a comment to a frame (copied). A frame may have any number of them, all frames together
 * IW_SYNTH_COMMENTS octets. Returns false if there is no such frame (0 is none) or no room. */
enum { IW_SYNTH_COMMENTS = 4 * 1024 * 1024 };
bool iw_synth_comment(struct iw_synth *s, uint64_t frame, const char *comment);

/* Returns the number of frames so far. */
uint64_t iw_synth_frames(const struct iw_synth *s);
/* Returns true if the limit was reached and something was left out. */
bool iw_synth_full(const struct iw_synth *s);

/* Writes all frames so far to a pcapng file; parameters as in iw_pcapng_create. Returns false, with
 * an error line, if the file is not whole. */
bool iw_synth_write(const struct iw_synth *s, const char *path, const char *application,
                    const char *comment, char error[IW_CAPTURE_ERROR]);

/* Writes the frames from `first` on, and at most `snap` octets of each, like a capture that began
 * late or with a snap length. Returns as above. */
bool iw_synth_write_part(const struct iw_synth *s, const char *path, const char *application,
                         const char *comment, uint64_t first, size_t snap,
                         char error[IW_CAPTURE_ERROR]);

/* -------------------------------------------------------------- live capture */

struct iw_live;

/* Captures the packets of a network interface that a BPF filter (may be NULL) selects into a
 * pcap file. Returns NULL on failure: no such interface, not permitted, bad filter, file not
 * writable. */
struct iw_live *iw_live_open(const char *interface, const char *filter, const char *path,
                             char error[IW_CAPTURE_ERROR]);

/* Returns a descriptor that becomes readable when packets wait. */
int iw_live_fd(const struct iw_live *l);

/* Writes the waiting packets to the file, without blocking. Returns their number, or -1. */
int iw_live_pump(struct iw_live *l, char error[IW_CAPTURE_ERROR]);

struct iw_live_counts {
    uint64_t written;
    uint64_t dropped; /* dropped by the kernel for lack of buffer space */
};

/* Writes the packets that still wait and closes. Returns false, with an error line, if the file is
 * not whole. `counts` may be NULL. */
bool iw_live_close(struct iw_live *l, struct iw_live_counts *counts, char error[IW_CAPTURE_ERROR]);

#ifdef __cplusplus
}
#endif

#endif
