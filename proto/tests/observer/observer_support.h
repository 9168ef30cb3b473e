/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBSERVER_SUPPORT_H
#define OBSERVER_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/observer.h"

enum { SEEN_MAX = 128, STEP_MAX = 70000 };

/* One observation of an observer, without its pointers. */
struct seen {
    enum iw_observed kind;
    enum iw_side side;
    uint64_t pos, end;
    struct iw_fault fault;
    unsigned opcode;
    bool tagged;
    uint32_t meant_msn;
    size_t payload_length;
    uint64_t message_length;
    uint32_t segments;
    enum iw_resync found_by;
    enum iw_check cause;
    uint32_t detail; /* a digest of the headers that it has */
};

/* How octets are handed to the observer. */
enum feeding { FEED_WHOLE, FEED_OCTETS, FEED_SHUFFLED };

struct rig {
    struct iw_observer *observer;
    bool told[2];
    enum feeding feeding;
    uint32_t random;
    uint64_t next[2];  /* positions */
    uint64_t start[2]; /* where the last step of a side began */
    struct seen seen[SEEN_MAX];
    size_t n;
    size_t lent, limit; /* octets in blocks, and how many there may be */
    uint64_t lent_ever; /* octets of all blocks that were lent */
    void *scratch;
    /* Of the last MESSAGE. */
    struct iw_rdmap_read_request read_request;
    struct iw_rdmap_atomic_request atomic_request;
    struct iw_rdmap_atomic_response atomic_response;
    struct iw_rdmap_terminate terminate;
};

struct rig *rig_new(bool initiator_told, bool responder_told);
/* One that does not know RFC 7306. */
struct rig *rig_new_plain(void);
/* One that looks through no quirk. */
struct rig *rig_new_without_quirks(void);
/* Octets come as they were sent. */
struct rig *rig_new_intact(void);
void rig_free(struct rig *rig);

/* Converts hexadecimal digits into octets, ignoring blanks. Returns their number. */
size_t hex_octets(uint8_t *out, const char *hex);

/* Makes the FPDU of a ULPDU without Markers, its CRC computed bit by bit here. Returns its length.
 */
size_t make_fpdu(uint8_t *out, const uint8_t *ulpdu, size_t length);

/* One step of a conversation: a letter and hexadecimal digits.
 *   i r  octets of the initiator, the responder
 *   I R  a ULPDU, sent as an FPDU (or reported, for a told side)
 *   X Y  the same with a wrong CRC (reported as broken)
 *   M N  the same after a Marker: the first of its direction
 *   F G  FIN of the initiator, the responder;  K L  RST */
void rig_step(struct rig *rig, const char *step);
/* Plays all of these steps. */
void rig_play(struct rig *rig, const char *const *steps, size_t count);
#define PLAY(rig, ...)                                                                             \
    rig_play(rig, (const char *const[]){__VA_ARGS__},                                              \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
void rig_feed(struct rig *rig, enum iw_side side, const uint8_t *octets, size_t length);

/* Return the number of observations of a kind, and the `index`-th of them. */
size_t rig_count(const struct rig *rig, enum iw_observed kind);
const struct seen *rig_get(const struct rig *rig, enum iw_observed kind, size_t index);
void rig_expect_message(const struct rig *rig, size_t index, enum iw_side side, unsigned opcode,
                        uint64_t pos, uint64_t end, uint64_t length, uint32_t segments);

/* ---- literal pieces ---- */

#define REQUEST_KEY "4d504120494420526571204672616d65"
#define REPLY_KEY "4d504120494420526570204672616d65"
/* Revision 2, CRC, IRD = ORD = 2, client-server. */
#define REQUEST "i " REQUEST_KEY "50020004 00020002"
#define REPLY "r " REPLY_KEY "50020004 00020002"
/* Revision 1, no CRC. */
#define REQUEST_PLAIN "i " REQUEST_KEY "00010000"
#define REPLY_PLAIN "r " REPLY_KEY "00010000"
/* Revision 0 (RFC 5044 Appendix C). */
#define CONSORTIUM "i " REQUEST_KEY "c0000000", "r " REPLY_KEY "c0000000"
/* The same as PLAIN, each side wants Markers. */
#define REQUEST_MARKERS "i " REQUEST_KEY "80010000"
#define REPLY_MARKERS "r " REPLY_KEY "80010000"

#define SEND_1 "4143 00000000 00000000 00000001 00000000"
#define SEND_2 "4143 00000000 00000000 00000002 00000000"
#define SEND_3 "4143 00000000 00000000 00000003 00000000"
#define WRITE "c140 11223344 0000000000001000 deadbeef"
#define READ_HEADER(msn) "4141 00000000 00000001 " msn " 00000000 "
/* 64 octets to STag aabbccdd, TO 2000. */
#define READ_1                                                                                     \
    READ_HEADER("00000001") "aabbccdd 0000000000002000 00000040 11223344 0000000000001000"
#define READ_2                                                                                     \
    READ_HEADER("00000002") "aabbccde 0000000000003000 00000004 11223344 0000000000001000"
#define READ_3                                                                                     \
    READ_HEADER("00000003") "aabbccdf 0000000000004000 00000000 11223344 0000000000001000"
#define OCTETS_16 "000102030405060708090a0b0c0d0e0f"
#define OCTETS_64 OCTETS_16 OCTETS_16 OCTETS_16 OCTETS_16
#define RESPONSE_1 "c142 aabbccdd 0000000000002000 " OCTETS_64
#define RESPONSE_2 "c142 aabbccde 0000000000003000 01020304"
#define RESPONSE_3 "c142 aabbccdf 0000000000004000"
#define TERMINATE "4147 00000000 00000002 00000001 00000000 "

#endif
