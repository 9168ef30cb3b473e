/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_QUIRK_H
#define IWARP_QUIRK_H

/*
 * quirk/: deviations of a peer that would hide all others. Each can be recognised by octets that
 * prove it, is found once (its check), and is then looked through: what it bends is read as its
 * sender meant it, and judged. Observer, suite, iwarp-lint, plugin and iwarp-peer all ask here.
 * Stateless.
 */

#include "iwarp/rdmap.h"

#ifdef __cplusplus
extern "C" {
#endif

enum iw_quirk {
    /* The control word of a Terminate is laid out from the least significant bit of each octet on,
     * as C lays out bit fields on a little-endian host: EType before Layer, R D M at the lower end
     * (RFC 5040 §4.8). Linux's siw does so. */
    IW_QUIRK_TERMINATE_REVERSED,
    /* The MSNs of a side's queues begin with another number than 1, the same for all of them (RFC
     * 5041 §4.3). */
    IW_QUIRK_MSN_START,
    /* One counter numbers the messages of all queues of a side. */
    IW_QUIRK_MSN_SHARED,
    /* CRC fields are in reversed octet order (RFC 5044 §4.4). */
    IW_QUIRK_CRC_ORDER,
    /* CRC fields hold the CRC-32 of Ethernet in place of the CRC32c, in either order. */
    IW_QUIRK_CRC_POLYNOMIAL,
    /* CRC fields hold something else: no FPDU of a side has a right one, from its first on, and all
     * else in their headers is in order. Only where octets come as they were sent (`intact` in
     * struct iw_observer_config). */
    IW_QUIRK_CRC_OTHER,
    /* A side leaves CRC fields out (RFC 5044 §4.4: without CRCs, too, the field is there). Its
     * first two FPDUs decide: where their CRC fields should be, the next FPDU begins, and none
     * begins after that; or its octets end there, with a FIN or in spite of a wait. */
    IW_QUIRK_CRC_ABSENT,
    /* The ULPDU_Length is in reversed octet order. A side's first FPDU decides: its CRC is right
     * then; or, with CRCs off, FPDUs follow each other so, and do not as agreed. */
    IW_QUIRK_LENGTH_ORDER,
    /* The PD_Length of a side's start-up frame is in reversed octet order (RFC 5044 §7.1.1): it is
     * above 512 as it stands, and turned it is where the octets end. */
    IW_QUIRK_PD_ORDER,
    /* A side sends no Markers, though the other one's start-up frame asks for them (RFC 5044
     * §7.1.1), or sends some that nobody asked for. Its first FPDU decides: a first Marker that is
     * left out is MISSING, too. */
    IW_QUIRK_MARKERS_MISSING,
    IW_QUIRK_MARKERS_UNASKED,
    /* Markers stand every 512 octets, every 508 or every 516, but not where they should (RFC 5044
     * §4.3). Two of them prove it, or a CRC that is right with them only; or one where a period of
     * 508 or 516 octets from the first FPDU on leads to, if no Marker was meant where one belongs;
     * without CRCs also one, if the next FPDU begins where that leads to, and not where the agreed
     * places do. */
    IW_QUIRK_MARKERS_PLACE,
    /* A field of the DDP header is in reversed octet order (RFC 5041 §4), as a little-endian host
     * has it that forgets to turn it. Known where another value than the expected one is that,
     * turned; in a Write, whose STag and TO nobody expects, where a Read Response has shown it. */
    IW_QUIRK_QN_ORDER,
    IW_QUIRK_MSN_ORDER,
    IW_QUIRK_MO_ORDER,
    IW_QUIRK_STAG_ORDER,
    IW_QUIRK_TO_ORDER,
    IW_QUIRK_COUNT /* so many; as a quirk: none */
};

/* A set of quirks: a bit for each. */
typedef uint32_t iw_quirks;

/* Return the set of one quirk, and whether a quirk is in a set. */
static inline iw_quirks iw_quirk_bit(enum iw_quirk quirk)
{
    return (iw_quirks)1 << quirk;
}
static inline bool iw_quirk_in(iw_quirks set, enum iw_quirk quirk)
{
    return (set & iw_quirk_bit(quirk)) != 0;
}

/* Returns the quirk's name in target files and reports: "terminate-reversed". Static data. */
const char *iw_quirk_name(enum iw_quirk quirk);
/* Returns what is the matter, as a sentence without a full stop. Static data. */
const char *iw_quirk_text(enum iw_quirk quirk);
/* Returns the check that a peer with this quirk fails. */
enum iw_check iw_quirk_check(enum iw_quirk quirk);
/* Finds the quirk of this name. Returns false, leaving *out, if there is none. */
bool iw_quirk_find(const char *name, enum iw_quirk *out);
/* Returns the quirk that a fault shows by its two values alone, IW_QUIRK_COUNT if none does. */
enum iw_quirk iw_quirk_in_fault(const struct iw_fault *fault);
/* Returns the quirk of this set that a finding of this check shows, IW_QUIRK_COUNT if none does. */
enum iw_quirk iw_quirk_shown(iw_quirks set, enum iw_check check);

/* What speaks for a quirk. */
enum iw_evidence {
    IW_EVIDENCE_NONE,    /* the octets are to be read as they are */
    IW_EVIDENCE_ASSUMED, /* they make sense either way, and the sender is said to have the quirk */
    IW_EVIDENCE_PROVEN   /* they make no sense as they are, and are in order when mended */
};

/* ---- IW_QUIRK_TERMINATE_REVERSED ---- */

#define IW_TERM_WORD 4u /* octets of the control word */

/* What is known beside the octets of a Terminate. Zeros: nothing. */
struct iw_quirk_context {
    const struct iw_check_info *due; /* the check that calls for it */
    bool unprovoked;                 /* its sender has not received a segment */
    bool assumed;                    /* its sender is said to have the quirk */
};

/* Judges a Terminate: `octets` are those after its DDP header. Proof takes a word that cannot be
 * meant as it stands (a code that is not assigned, reserved bits, headers that figure 10 rules out,
 * an error that only a segment can have where none was sent), and turned round
 * - announces headers, as reserved bits, and they follow; or
 * - gives an assigned code with exactly the headers of figure 10; or
 * - gives what is due.
 * Returns what speaks for a word that is laid out the other way. */
enum iw_evidence iw_quirk_terminate(const uint8_t *octets, size_t length,
                                    const struct iw_quirk_context *context);
/* Turns a control word round, from either order to the other. */
void iw_quirk_turn_terminate(uint8_t word[IW_TERM_WORD]);
/* Decodes a Terminate header, with its control word turned round first. Returns as
 * iw_wire_get_terminate does. */
int iw_quirk_get_terminate(const uint8_t *octets, size_t length, struct iw_rdmap_terminate *out);

/* ---- IW_QUIRK_CRC_ORDER, IW_QUIRK_CRC_POLYNOMIAL ---- */

/* Returns the quirk that explains the CRC field of an FPDU, as a set; 0 if none does. `octets` are
 * those that its CRC covers, `field` is the field and `crc32c` what should be in it, both least
 * significant octet first. 32 bits that match are proof. */
iw_quirks iw_quirk_crc(const uint8_t *octets, size_t length, uint32_t field, uint32_t crc32c);

/* ---- fields in reversed octet order ---- */

/* Return the number with its octets in reversed order. */
static inline uint16_t iw_quirk_turn16(uint32_t value)
{
    return (uint16_t)(value << 8 | (value >> 8 & 0xff));
}
uint32_t iw_quirk_turn32(uint32_t value);
uint64_t iw_quirk_turn64(uint64_t value);
/* Return whether `got` is another number than `want`, and turned it is the same: 32 bits, or 64,
 * that match are proof. */
bool iw_quirk_turned32(uint32_t got, uint32_t want);
bool iw_quirk_turned64(uint64_t got, uint64_t want);

/* ---- IW_QUIRK_PD_ORDER ---- */

/* Judges a PD_Length by itself. Returns PROVEN if it is above 512, and turned it is not (RFC 5044
 * §7.1.1), nor too small for the block of an enhanced frame (RFC 6581 §6); it takes octets that end
 * there, too, since more than 512 of them would be a fault of its own. Returns ASSUMED if it is
 * valid either way, and `assumed` says that the sender has the quirk. */
enum iw_evidence iw_quirk_pd_length(const struct iw_mpa_startup_header *header, bool assumed);
/* Prints a start-up frame as iw_wire_print_startup does, read through these quirks; the name
 * follows: `mpa reply rev 2 S pd 4 ird 16 ord 16 (pd-order)`. Returns the length of the whole
 * text. */
size_t iw_quirk_print_startup(char *text, size_t room, const uint8_t *frame, size_t length,
                              iw_quirks quirks);

/* ---- segments ---- */

/* Returns the quirks that a DDP segment proves by itself. */
iw_quirks iw_quirk_in_segment(const uint8_t *ulpdu, size_t length);
/* Prints a DDP segment as iw_wire_print_segment does, read through these quirks; their names
 * follow: `terminate 1/2/01 "DDP: invalid QN" mdr M D len 26 [...] (terminate-reversed)`. Returns
 * the length of the whole text, less than 440. */
size_t iw_quirk_print_segment(char *text, size_t room, const uint8_t *ulpdu, size_t length,
                              iw_quirks quirks);

#ifdef __cplusplus
}
#endif

#endif
