/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "iwarp/quirk.h"

enum { FLAGS = IW_TERM_M | IW_TERM_D | IW_TERM_R, MOST = IW_TERM_MAX };

static uint8_t reversed(uint8_t octet)
{
    uint8_t out = 0;

    for (unsigned i = 0; i < 8; i++)
        out |= (uint8_t)((octet >> i & 1u) << (7 - i));
    return out;
}

/* The two halves of the first octet are fields of four bits; the code is one of eight, and so the
 * same in either order. */
void iw_quirk_turn_terminate(uint8_t word[IW_TERM_WORD])
{
    word[IW_AT_TERM_LAYER] = (uint8_t)(word[IW_AT_TERM_LAYER] << 4 | word[IW_AT_TERM_LAYER] >> 4);
    word[IW_AT_TERM_FLAGS] = reversed(word[IW_AT_TERM_FLAGS]);
    word[IW_AT_TERM_RESERVED] = reversed(word[IW_AT_TERM_RESERVED]);
}

int iw_quirk_get_terminate(const uint8_t *octets, size_t length, struct iw_rdmap_terminate *out)
{
    uint8_t turned[MOST];
    size_t kept = length < MOST ? length : MOST;

    if (length < IW_TERM_WORD)
        return IW_WIRE_SHORT;
    memcpy(turned, octets, kept);
    iw_quirk_turn_terminate(turned);
    int used = iw_wire_get_terminate(turned, kept, out);
    if (used > 0)
        out->trailing = (uint32_t)(length - (size_t)used);
    return used;
}

static bool assigned(const struct iw_rdmap_terminate *t)
{
    return iw_wire_term_assigned(t->layer, t->etype, t->code);
}

/* Returns whether only a segment that was received can have this error. */
static bool of_segment(const struct iw_rdmap_terminate *t)
{
    enum { CATASTROPHIC = 0, OPERATION = 2, VERSION = 5, OPCODE = 6 };

    if (t->layer == IW_LAYER_RDMAP && t->etype == OPERATION)
        return t->code == VERSION || t->code == OPCODE;
    return t->layer <= IW_LAYER_DDP && t->etype != CATASTROPHIC;
}

/* Returns whether the Terminate can be meant so. */
static bool makes_sense(const struct iw_rdmap_terminate *t, bool unprovoked)
{
    return assigned(t) && t->reserved == 0 && iw_rdmap_terminate_fits(t) &&
           !(unprovoked && of_segment(t));
}

/* Returns whether nothing at all is wrong with it: the headers are those of figure 10. */
static bool exact(const struct iw_rdmap_terminate *t, bool unprovoked)
{
    unsigned opcode = t->flags & IW_TERM_D ? iw_rdmap_op(&t->ddp) : 0;

    return makes_sense(t, unprovoked) && t->trailing == 0 &&
           t->flags == iw_rdmap_terminate_flags(t->layer, t->etype, opcode);
}

static bool is_due(const struct iw_rdmap_terminate *t, const struct iw_check_info *due)
{
    return due != NULL && due->reaction == IW_REACTION_TERMINATE && t->layer == due->layer &&
           t->etype == due->etype && t->code == due->code && t->reserved == 0;
}

/* Decodes a Terminate turned round; where the headers that it announces are not there, its word
 * alone. Returns whether it is whole. */
static bool decode(const uint8_t *octets, size_t length, struct iw_rdmap_terminate *out)
{
    uint8_t word[IW_TERM_WORD];

    if (iw_quirk_get_terminate(octets, length, out) > 0)
        return true;
    memcpy(word, octets, sizeof(word));
    word[IW_AT_TERM_FLAGS] &= (uint8_t)~reversed(FLAGS);
    (void)iw_quirk_get_terminate(word, sizeof(word), out);
    return false;
}

static bool is_palindrome(const uint8_t *octets)
{
    uint8_t word[IW_TERM_WORD];

    memcpy(word, octets, sizeof(word));
    iw_quirk_turn_terminate(word);
    return memcmp(word, octets, sizeof(word)) == 0;
}

enum iw_evidence iw_quirk_terminate(const uint8_t *octets, size_t length,
                                    const struct iw_quirk_context *context)
{
    struct iw_rdmap_terminate plain, turned;

    if (length < IW_TERM_WORD || (octets[IW_AT_TERM_FLAGS] & FLAGS) != 0 || is_palindrome(octets))
        return IW_EVIDENCE_NONE;
    (void)iw_wire_get_terminate(octets, length, &plain); /* without flags, four octets suffice */
    bool whole = decode(octets, length, &turned);
    bool announces = whole && (turned.flags & IW_TERM_D) != 0 && turned.trailing == 0;
    if (turned.reserved != 0 || (!assigned(&turned) && !announces))
        return IW_EVIDENCE_NONE;
    bool fits = announces || (whole && exact(&turned, context->unprovoked)) ||
                is_due(&turned, context->due);
    if (fits && !makes_sense(&plain, context->unprovoked))
        return IW_EVIDENCE_PROVEN;
    return context->assumed ? IW_EVIDENCE_ASSUMED : IW_EVIDENCE_NONE;
}
