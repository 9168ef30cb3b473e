/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_STATION_H
#define IW_FUZZ_STATION_H

/*
 * One endpoint with its consumer, and a model of both. The consumer's operations come from the
 * input (input/local.h). The peer's octets go to the endpoint and to an observer (witness.h); the
 * model follows the segments that the observer sees, and requires of the endpoint:
 *
 *   memory       each octet is as the accepted segments say, and untouched everywhere else
 *   completions  each work request has one, in posting order; a message that is delivered was
 *                whole, has its length, and its octets are in the buffer posted for it
 *   the end      every request has completed, all memory is returned
 */

#include "heap.h"
#include "input/local.h"
#include "oracle_memory.h"

#include "iwarp/endpoint_transport.h"
#include "iwarp/observer.h"

enum { IW_STATION_REGIONS = 24, IW_STATION_WORK = 64, IW_STATION_SGE = 4 };

/* settings[1]; [2]: IRD and ORD (low and high half, 15 for 0x3fff); [3]: sizes, see
 * oracle_station.c */
enum {
    IW_STATION_RTR = 0x07,           /* IW_MPA_RTR_*, 0: all */
    IW_STATION_NO_EXTENSIONS = 0x08, /* without RFC 7306 */
    IW_STATION_MANUAL = 0x10,        /* a Request is answered by IW_FUZZ_ANSWER only */
    IW_STATION_EARLY = 0x20,         /* early placement; without CRC and Markers: in place */
    IW_STATION_OLD = 0x40,           /* takes peers of revision 0 */
    IW_STATION_ALIGNED = 0x80        /* aligned_peer */
};

struct iw_station_region {
    struct iw_region region;
    bool known, valid;
};

struct iw_station_recv {
    uint64_t id;
    struct iw_iov sge[IW_STATION_SGE]; /* in the station's memory */
    size_t count;
    uint32_t capacity;
    /* what the segments seen say of it */
    bool whole, solicited, invalidates, immediate;
    uint32_t length, invalidate_stag;
    uint8_t data[IW_RDMAP_IMMEDIATE];
};

struct iw_station_send {
    uint64_t id;
    enum iw_work_opcode opcode;
    uint32_t length;
};

struct iw_station {
    const char *who;
    enum iw_mpa_role role;
    struct iw_fuzz_heap heap;
    struct iw_fuzz_memory memory;
    struct iw_domain *domain;
    uint32_t pd, other_pd;
    struct iw_station_region start[IW_FUZZ_REGIONS]; /* those of local.h */

    /* of the input under way */
    struct iw_endpoint *ep;
    struct iw_endpoint_config config;
    uint8_t settings[IW_FUZZ_SETTINGS];
    uint64_t now;
    struct iw_station_region regions[IW_STATION_REGIONS];
    size_t region_count;
    struct iw_station_send sends[IW_STATION_WORK];
    uint64_t send_head, send_tail;
    struct iw_station_recv recvs[IW_STATION_WORK];
    uint64_t recv_head, recv_seen, recv_tail; /* completed, whole by the model, posted */
    uint64_t ids;
    uint64_t history; /* of all completions, to compare with another's */
    uint32_t events;  /* bit per enum iw_event_kind: taken */
    struct iw_event fault;
    bool fin_sent, reset;
    bool over;    /* before the octets that came last */
    bool deaf;    /* the model: nothing is taken any more */
    bool blind;   /* what came out of order: the model does not know when it is placed */
    bool spoken;  /* the peer's first FPDU was seen */
    bool landing; /* part of an FPDU's payload is in its place: */
    size_t landing_place, landing_length;
    uint64_t framed_from; /* octets of the peer's start-up frame, once seen */

    /* The endpoint's output, and its FIN or RST; `room`: how many octets may leave. */
    size_t room;
    void *context;
    void (*out)(void *context, const uint8_t *octets, size_t length);
    void (*out_end)(void *context, bool reset);
};

/* Call once. */
void iw_station_start(struct iw_station *s, const char *who, enum iw_mpa_role role);
/* Call before each input. */
void iw_station_open(struct iw_station *s, const uint8_t settings[IW_FUZZ_SETTINGS]);
/* Returns the start-up configuration that the settings ask for, for this end or for its peer. */
struct iw_mpa_config iw_station_mpa(const uint8_t settings[IW_FUZZ_SETTINGS],
                                    enum iw_mpa_role role);

/* Makes the start-up of a peer in this role, as the settings say. */
void iw_station_peer(struct iw_mpa_startup *peer, const uint8_t settings[IW_FUZZ_SETTINGS],
                     enum iw_mpa_role role);

/* Creates the endpoint from s->config, which may be changed before. */
void iw_station_create(struct iw_station *s);

void iw_station_operate(struct iw_station *s, const struct iw_fuzz_operation *op);
/* Feeds octets of the peer: in order, or (_at) `pos` octets after its first one. Returns -1 if
 * not all of them were accepted. Takes events; the observer sees the octets next. */
void iw_station_input(struct iw_station *s, const uint8_t *octets, size_t length);
int iw_station_input_at(struct iw_station *s, uint64_t pos, const uint8_t *octets, size_t length);
/* Feeds the peer's FIN or RST, after the octets that came in order. */
void iw_station_input_end(struct iw_station *s, bool reset);
/* Returns true if no FPDU has come in part. */
bool iw_station_boundary(const struct iw_station *s);
/* Returns how many octets came in order so far. */
uint64_t iw_station_edge(const struct iw_station *s);
/* Checks completions and memory, and, unless the settings are lazy, sends pending output. */
void iw_station_settle(struct iw_station *s);
/* Sends pending output, up to `most` octets. */
void iw_station_output(struct iw_station *s, size_t most);
void iw_station_time(struct iw_station *s, unsigned milliseconds);

/* Call when an observer has seen a segment of the peer. */
void iw_station_saw(struct iw_station *s, const struct iw_observation *o);

/* Loses the connection, and checks that everything is returned. */
void iw_station_close(struct iw_station *s);

#endif
