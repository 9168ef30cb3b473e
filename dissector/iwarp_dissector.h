/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef IWARP_DISSECTOR_H
#define IWARP_DISSECTOR_H

/*
 * The Wireshark plugin. On the first pass over a capture first_pass.c feeds the observer of each
 * connection and keeps what it sees, by frame and position, for as long as the file is open. On
 * every pass, the first included, draw.c, draw_segment.c and ulp.c show what was kept. Drawing
 * computes nothing new, so that each pass shows the same. Only links to later frames have to wait
 * for the second.
 */

#include "compat.h"
#include "display_fields.h"
#include "iwarp/observer.h"
#include "iwarp/stream.h"

enum iwd_crc { IWD_CRC_UNCHECKED, IWD_CRC_GOOD, IWD_CRC_BAD, IWD_CRC_UNKNOWN };

/* Everything below is allocated in wmem_file_scope(), except what is borrowed. */

struct iwd_finding {
    struct iwd_finding *next;
    enum iw_check check;
    enum iw_side side;
    enum iw_quirk quirk; /* that it shows; IW_QUIRK_COUNT: none */
    uint32_t frame;      /* with the octet at fault */
    uint64_t pos, got, want;
};

/* A region of one end's memory, as known from the other end's accesses. */
struct iwd_stag {
    uint32_t stag, first, last, uses;
    uint32_t invalidated; /* frame, 0: never */
    uint64_t low, high;   /* [low, high) */
};

/* Whether a message's payload is available. */
enum iwd_octets {
    IWD_OCTETS_HERE,
    IWD_OCTETS_MISSING, /* not all of them came */
    IWD_OCTETS_UNKEPT   /* more than the preference lets us keep */
};

/* An RDMAP message of several segments, or one that is linked to others, or that lacks octets. */
struct iwd_message {
    uint8_t opcode;
    bool whole;
    bool bulk;            /* its payload counts for iwd_keep */
    uint8_t octets;       /* enum iwd_octets */
    uint32_t first, last; /* frames of its segments so far */
    uint32_t segments;
    uint64_t length; /* payload so far */
    nstime_t begun, ended;
    uint32_t stag, msn;
    uint32_t id;                  /* of its first octet's position on the stream, the low bits */
    uint64_t to;                  /* tagged: of its first segment */
    struct iwd_message *request;  /* which this answers */
    struct iwd_message *response; /* which answers this */
    uint32_t outstanding;         /* requests */
    uint32_t ird, ord;            /* ... at most; UINT32_MAX: none stated */
    uint8_t *data;                /* IWD_OCTETS_HERE, several segments: the payload so far */
    size_t room;
};

enum iwd_kind { IWD_STARTUP, IWD_FPDU };

/* Rare properties of a thing, allocated only for those that have one. */
struct iwd_rare {
    uint8_t *raw;                 /* its octets, if they are not all in the chunk */
    struct iwd_stag *invalidated; /* Send with Invalidate: as it was then */
    struct iwd_finding *findings;
    uint32_t cause;   /* Terminate: frame, 0 unknown */
    uint32_t here;    /* cut: octets that are there */
    iw_quirks quirks; /* through which it is read */
    bool wrong_msn, wrong_mo;
    uint32_t msn, mo;  /* wrong_*: expected */
    uint32_t computed; /* IWD_CRC_BAD: the right one */
};

/* A start-up frame or an FPDU, shown in the frame that completes it. There is one for each FPDU of
 * a capture, so the order of the members avoids padding. */
struct iwd_thing {
    struct iwd_thing *next; /* in the same chunk */
    uint64_t pos;
    struct iwd_message *message; /* NULL: a message of this segment alone */
    uint64_t message_pos;        /* payload octets of the message before this segment */
    struct iwd_stag *stag;       /* tagged, or a request's */
    struct iwd_rare *rare;       /* see iwd_rare_of */
    uint32_t size;               /* octets on the stream */
    uint32_t begun;              /* frame with its first octet */
    uint32_t frame;              /* frame with its last octet */
    uint32_t marker;             /* offset of its first Marker; its size if it has none */
    uint16_t period;             /* from one Marker to the next, if it has any */
    uint16_t length;             /* ULPDU */
    uint8_t kind;                /* enum iwd_kind */
    uint8_t side; /* enum iw_side; seldom not the chunk's: held until start-up was understood */
    uint8_t crc;  /* enum iwd_crc */
    bool cut;     /* the capture lacks its end */
};

/* Octets that the capture does not have, or the place where framing was found again. */
struct iwd_note {
    struct iwd_note *next;
    bool resync;
    uint8_t found_by; /* enum iw_resync */
    enum iw_side side;
    uint64_t from, to;
};

/* Rare properties of a chunk. */
struct iwd_remarks {
    const char *why;              /* this side's framing is lost from here on: why */
    struct iwd_finding *findings; /* of no thing in this chunk */
    struct iwd_note *notes;
};

/* TCP payload as it was handed over: one for each call with new octets. */
struct iwd_chunk {
    uint64_t pos;
    struct iwd_thing *things;
    struct iwd_remarks *remarks; /* NULL: none */
    uint32_t frame;
    uint32_t length;
    uint32_t offset; /* late: of its octets in the frame */
    uint32_t rest;   /* offset of its octets that were part of nothing complete then */
    uint32_t begun;  /* frame where the thing begins that they are part of, 0: not known */
    uint32_t shown;  /* frame in which they were understood, 0: never */
    uint8_t side;    /* enum iw_side */
    bool late;       /* TCP did not hand it over: shown after everything else in the frame */
    bool lost;       /* this side's framing is lost */
    bool gap;        /* octets before the rest are missing */
    bool streaming;  /* the rest is not MPA's */
    bool repeated;   /* all its octets came before; `begun`: where they were understood */
};

/* Octets that belong to nothing complete yet: borrowed. */
struct iwd_kept {
    struct iwd_kept *older;
    uint64_t pos;
    uint32_t length, frame;
    nstime_t time;
    struct iwd_chunk *chunk;
    uint8_t octets[];
};

enum { IWD_RECENT = 256, IWD_QUEUES = 4 };

struct iwd_recent {
    struct iwd_thing *thing;
    uint8_t header[IW_DDP_UNTAGGED_HEADER + 1]; /* of the DDP segment, with its length in front */
};

/* One direction, by its sender. */
struct iwd_side {
    bool based, lost, ended;
    uint32_t base;         /* sequence number of position 0 */
    uint64_t fin;          /* ended: octets from here on are passed over */
    uint64_t ahead;        /* highest position seen */
    uint64_t done;         /* position after the last complete thing */
    uint64_t acked;        /* octets before it have arrived at the other end */
    uint32_t beyond;       /* segments that came since the octet at `edge` was missed */
    uint64_t edge;         /* position after the octets that came without a gap */
    uint64_t marker_phase; /* of the Markers' positions, if known: one of them */
    bool marked;
    wmem_array_t *chunks;  /* struct iwd_chunk *, in the order of frames */
    struct iwd_kept *kept; /* the newest first */
    struct iwd_thing *startup;
    struct iw_mpa_startup_header header;
    struct iw_mpa_enhanced enhanced;
    bool has_enhanced;
    bool second;            /* ... came after the other's */
    nstime_t since_request; /* the start-up frame's */
    struct iwd_message *untagged[IWD_QUEUES];
    struct iwd_message *tagged[2]; /* Write, Read Response: not whole yet */
    uint64_t tagged_to[2];         /* their next TO */
    wmem_list_t *requests;         /* messages of this side that have no response yet */
    uint32_t passed;               /* the oldest of them: a later one has been answered, or octets
                                      of responses are missing */
    wmem_map_t *stags;             /* of this side's memory */
    struct iwd_recent *recent;     /* ring of `room`, which grows up to IWD_RECENT */
    uint32_t n_recent, room;
};

struct iwd_connection {
    struct iw_observer *observer;
    uint16_t initiator_port;
    address initiator;
    bool crc, markers[2];        /* what both start-up frames agreed on; by sending side */
    bool left;                   /* the Reply was a refusal: what follows is not MPA's */
    bool by_port;                /* a dissector was chosen for its messages */
    uint32_t claimed;            /* frame from which on one of the built-in list wants its Sends */
    uint32_t wants;              /* ... one of our list wants its messages; 0: none */
    conversation_t *queue_pairs; /* as if it were InfiniBand's */
    uint8_t private_data[4];     /* the Request's, its beginning */
    nstime_t requested;
    struct iwd_connection *older; /* the list of all */
    uint32_t last;                /* frame with something of it, so far */
    nstime_t ended;               /* ... its time */
    struct iwd_side side[2];
    /* While the observer is fed: */
    packet_info *pinfo;
    struct iwd_chunk *chunk;
    const uint8_t *octets;   /* of the chunk */
    struct iwd_thing *thing; /* the latest */
    nstime_t arrived;        /* ... its last octet, which may have waited for others */
    struct iwd_thing **next; /* where the chunk's next one goes */
};

extern int iwd_proto;
/* The connection of the chunk that is being drawn. */
extern struct iwd_connection *iwd_shown;

/* plugin.c calls these. */
void iwd_register(void);
void iwd_handoff(void);

/* file_memory.c */

void iwd_register_memory(void);
/* Allocates zeroed memory that stays until the file is closed. */
void *iwd_take(size_t size);
/* Allocates memory that can be freed before that. */
void *iwd_borrow(size_t size);
void iwd_return(void *borrowed);
/* Resizes borrowed memory, as realloc does. */
void *iwd_reborrow(void *borrowed, size_t size);
/* Allocates memory for observers, which share one limit. */
void *iwd_lend(void *context, size_t size);
void iwd_give_back(void *context, void *block, size_t size);

/* first_pass.c */

/* Returns the connection of the frame's conversation, or NULL if that is not iWARP. */
struct iwd_connection *iwd_connection_of(packet_info *pinfo);
/* Makes a connection. `side` is the end that sends this frame; joined: its start-up was not
 * captured. */
struct iwd_connection *iwd_connect(packet_info *pinfo, enum iw_side side, bool joined);
enum iw_side iwd_side_of(const struct iwd_connection *c, const packet_info *pinfo);
/* Returns TCP's number of the frame's connection. */
uint32_t iwd_stream_of(packet_info *pinfo);
/* Feeds the observer. */
struct iwd_chunk *iwd_follow(struct iwd_connection *c, packet_info *pinfo, enum iw_side side,
                             uint64_t pos, tvbuff_t *tvb);
/* Returns the chunk that iwd_follow made of this side's octets in this frame, at the position with
 * these low bits; NULL if they never came. */
struct iwd_chunk *iwd_find_chunk(const struct iwd_connection *c, enum iw_side side, uint32_t frame,
                                 uint32_t pos32);
/* Processes a FIN or RST. Returns NULL if that leads to no finding. */
struct iwd_chunk *iwd_follow_end(struct iwd_connection *c, packet_info *pinfo, enum iw_side side,
                                 uint64_t pos, bool reset);
/* Processes the end of the capture. Returns NULL if that leads to no finding. */
struct iwd_chunk *iwd_follow_flush(struct iwd_connection *c);

/* end.c: shows findings that are made once nothing more comes in the connection's last frame. */
void iwd_add_connection(struct iwd_connection *c);
void iwd_register_end(void);
/* First pass: call after the frame has been followed. */
void iwd_frame_followed(const packet_info *pinfo);
/* Every pass: draws the findings made at the end that belong to this frame. */
void iwd_draw_end(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree);

/* Preferences that correspond to options of iwarp-lint. */
extern unsigned iwd_mss;
extern iwd_bool iwd_default_config;
extern iwd_bool iwd_intact;
extern iwd_bool iwd_quirks;

/* Returns the offset in an FPDU of its n-th octet that belongs to no Marker. */
static inline uint32_t iwd_place(const struct iwd_thing *t, uint32_t n)
{
    return t->marker < t->size ? (uint32_t)iw_mpa_position_every(t->period, t->marker, 0, n) : n;
}

/* Returns the rare properties; all zero for a thing without any. */
static inline const struct iwd_rare *iwd_rare_of(const struct iwd_thing *t)
{
    static const struct iwd_rare none;

    return t->rare != NULL ? t->rare : &none;
}

/* Returns how many of the thing's octets are there. */
static inline uint32_t iwd_here(const struct iwd_thing *t)
{
    return t->cut ? iwd_rare_of(t)->here : t->size;
}

/* First pass: returns the rare properties to be filled in. */
struct iwd_rare *iwd_make_rare(struct iwd_thing *t);

/* join_messages.c */

/* Processes a good segment that the observer shows, which became `thing`. */
void iwd_segment(struct iwd_connection *c, struct iwd_thing *thing,
                 const struct iw_observation *seen);
/* Processes the message that ended with the latest segment; matters only if it lacks octets. */
void iwd_whole(struct iwd_connection *c, const struct iw_observation *seen);
/* Records that octets of this side are missing, so that it is unknown which of the other's requests
 * are still outstanding. */
void iwd_missed(struct iwd_connection *c, enum iw_side side);
/* MiB of the octets of Writes and Read Responses that may be kept; a preference. */
extern unsigned iwd_keep;
void iwd_forget_messages(void);

/* draw.c */
void iwd_draw_chunk(const struct iwd_chunk *chunk, tvbuff_t *tvb, packet_info *pinfo,
                    proto_tree *root);
/* Returns the one-line form of a start-up frame or an FPDU; `tvb` is as for iwd_tap_thing. */
const char *iwd_print_thing(const struct iwd_thing *t, tvbuff_t *tvb, packet_info *pinfo);
/* Marks an item as worked out. Returns it. */
static inline proto_item *generated(proto_item *item)
{
    proto_item_set_generated(item);
    return item;
}
/* Adds a field that links to a frame; adds nothing if that is 0. */
void iwd_link(proto_tree *tree, enum iwd_field field, tvbuff_t *tvb, uint32_t frame);
/* Adds the item of a protocol or field of `length` octets (-1: all). Returns its subtree. */
proto_tree *iwd_subtree(proto_tree *tree, int hf, tvbuff_t *tvb, int at, int length,
                        enum iwd_tree kind);

/* draw_segment.c: draws the ULPDU in `tvb`, whose end may be missing. */
void iwd_draw_segment(const struct iwd_thing *thing, tvbuff_t *tvb, packet_info *pinfo,
                      proto_tree *tree, proto_tree *root);

/* stats_tap.c: gives the statistics a start-up frame or an FPDU (`octets`: its ULPDU; NULL: none is
 * here), or findings that belong to none. */
void iwd_tap_thing(const struct iwd_thing *t, tvbuff_t *octets, packet_info *pinfo);
void iwd_tap_findings(const struct iwd_finding *findings, packet_info *pinfo);
void iwd_register_stats(int proto);
void iwd_handoff_stats(void);

/* ulp.c */

/* The data that a ULP's dissector gets with a message, or, if it is in the built-in dissector's
 * list, with a tagged segment. */
struct iwd_offer {
    rdmap_info_t info; /* as the built-in dissector passes it; the first member */
    uint32_t id;       /* of the message, or of the request that it answers */
};
/* ... with private data. */
struct iwd_private {
    struct iw_mpa_startup_header startup;
    enum iw_side side;
};

void iwd_register_ulp(int proto);
void iwd_handoff_ulp(void);
/* Returns true if a dissector was chosen for the messages of this port; tagged: for Writes and Read
 * Responses, too. */
bool iwd_has_ulp(uint32_t port, bool tagged);
/* Draws the private data of a start-up frame. */
void iwd_draw_private(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, proto_tree *root,
                      const struct iw_mpa_startup_header *h);
/* Draws the payload of a segment, and of the message that it completes. */
void iwd_draw_payload(const struct iwd_thing *thing, const struct iw_ddp_header *h, tvbuff_t *tvb,
                      packet_info *pinfo, proto_tree *tree, proto_tree *root);
/* Passes a Read Request on: dissectors of ULPs need to know what is going to be read. */
void iwd_announce_read(const struct iwd_thing *thing, const struct iw_ddp_header *h, tvbuff_t *tvb,
                       packet_info *pinfo, proto_tree *root);

/* infiniband.c: ULPs whose dissectors know InfiniBand. */
void iwd_register_infiniband(void);
void iwd_handoff_infiniband(void);
/* Returns true for iSER's dissector, which takes only Sends. */
bool iwd_is_iser(dissector_handle_t handle);

/* follow_stream.c */
void iwd_register_stream(int proto);
/* Taps octets of the ULP, in the order of the stream. */
void iwd_tap_payload(tvbuff_t *tvb, packet_info *pinfo);

/* export.c */
void iwd_register_export(int proto);
/* Taps the payload of a tagged segment. */
void iwd_tap_placed(const struct iwd_thing *t, const struct iw_ddp_header *h, tvbuff_t *tvb,
                    packet_info *pinfo);

#endif
