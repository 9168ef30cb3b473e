/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_OBSERVER_H
#define IWARP_OBSERVER_H

/*
 * observer/: somebody else's connection. Given the octets of both directions it rebuilds
 * start-up, FPDUs, messages, Terminate and close, and runs every check that a bystander can
 * see. Findings never stop it; it goes on as long as framing holds.
 *
 * A side can instead be *told* (iw_observer_told_*): the station knows what it sent, and a
 * broken stimulus must not cost the observer its place.
 */

#include "iwarp/mpa.h"
#include "iwarp/rdmap.h"

/* The sender of a direction. */
enum iw_side { IW_SIDE_INITIATOR = 0, IW_SIDE_RESPONDER = 1 };

enum iw_observed {
    IW_OBSERVED_STARTUP,  /* a whole start-up frame */
    IW_OBSERVED_SEGMENT,  /* one FPDU with its DDP segment */
    IW_OBSERVED_MESSAGE,  /* the L=1 segment of a message came: the message is whole */
    IW_OBSERVED_FIN,
    IW_OBSERVED_RESET,
    IW_OBSERVED_FINDING,  /* a check failed */
    IW_OBSERVED_LOST      /* framing of this side is lost for good; fault says why */
};

/* One thing seen. Pointers are valid during the call-back. Positions are stream octets of
 * that side, 0 = its first octet after the SYN (start-up frame included). */
struct iw_observation {
    enum iw_observed kind;
    enum iw_side side;
    uint64_t pos;                    /* first octet of the thing */
    uint64_t end;                    /* behind its last octet */
    /* STARTUP */
    const uint8_t *frame;            /* the whole frame */
    size_t frame_length;
    struct iw_mpa_startup_header startup;
    struct iw_mpa_enhanced enhanced; /* if startup.flags has S and the data has 4 octets */
    /* SEGMENT, MESSAGE */
    const struct iw_fpdu *fpdu;      /* NULL if told */
    struct iw_ddp_header ddp;
    const uint8_t *ulpdu;            /* contiguous ULPDU */
    size_t ulpdu_length;
    const uint8_t *payload;          /* behind the DDP header */
    size_t payload_length;
    struct iw_rdmap_read_request read_request; /* opcode Read Request with 28 octets */
    struct iw_rdmap_terminate terminate;       /* opcode Terminate that decodes */
    bool terminate_valid;
    uint64_t message_length;         /* MESSAGE: octets of ULP payload (MO or TO span) */
    uint32_t segments;               /* MESSAGE: segments it took */
    /* FINDING, LOST */
    struct iw_fault fault;           /* pos as above */
};

struct iw_observer_config {
    iw_crc32c_fn crc32c;
    void *context;
    void (*seen)(void *context, const struct iw_observation *observation);
    bool told[2];     /* this side is told, its octets are not fed */
    bool extensions;  /* RFC 7306 opcodes are known (default for bystanders) */
};

/* Memory of one observed connection, all of it handed in by the caller: */
#define IW_OBSERVER_BUFFER IW_DEFRAMER_BUFFER /* per side that is fed */
#define IW_OBSERVER_READS 1024                /* outstanding reads that are remembered */

struct iw_observer;
/* Octets to hand to iw_observer_init. */
size_t iw_observer_size(void);
/* Builds an observer in `memory` (aligned for any type, iw_observer_size() octets). NULL if
 * size is too small. Nothing to free. */
struct iw_observer *iw_observer_init(void *memory, size_t size,
                                     const struct iw_observer_config *config);

/* Octets of one side at stream position `pos`, in any order. 0, or -2 if octets too far
 * ahead were refused (as iw_deframer_input), or -1 if this side's framing was lost before. */
int iw_observer_input(struct iw_observer *o, enum iw_side side, uint64_t pos, const void *data,
                      size_t length);
/* FIN behind position `pos`, or RST. */
void iw_observer_end(struct iw_observer *o, enum iw_side side, uint64_t pos, bool reset);

/* The told side sent this start-up frame / this DDP segment, well-formed or not. `broken`:
 * no correct receiver takes it (bad CRC, bad length ...), it changes no state. */
void iw_observer_told_startup(struct iw_observer *o, enum iw_side side, const void *frame,
                              size_t length);
void iw_observer_told_segment(struct iw_observer *o, enum iw_side side, const void *ulpdu,
                              size_t length, bool broken);
void iw_observer_told_end(struct iw_observer *o, enum iw_side side, bool reset);

/* True if framing of this side is known (start-up seen and nothing lost). */
bool iw_observer_follows(const struct iw_observer *o, enum iw_side side);
/* True if the side's octets so far end at an FPDU (or start-up frame) boundary. */
bool iw_observer_boundary(const struct iw_observer *o, enum iw_side side);

#endif
