/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "iwarp/octets.h"
#include "iwarp/quirk.h"

/* No Terminate that a quirk bends is longer, but for octets that nothing announces. */
enum { MENDED = 256 };

/* Adds `more` to a text of `length` characters, as far as there is room. */
static size_t add(char *text, size_t room, size_t length, const char *more)
{
    for (; *more != '\0'; more++, length++) {
        if (length + 1 < room) {
            text[length] = *more;
            text[length + 1] = '\0';
        }
    }
    return length;
}

/* Returns the octets before the control word, 0 if there is none. */
static size_t before_word(const uint8_t *ulpdu, size_t length)
{
    struct iw_ddp_header h;
    int used = iw_wire_get_ddp(ulpdu, length, &h);

    if (used < 0 || iw_ddp_tagged(&h) || iw_rdmap_op(&h) != IW_OP_TERMINATE ||
        length - (size_t)used < IW_TERM_WORD)
        return 0;
    return (size_t)used;
}

size_t iw_quirk_print_startup(char *text, size_t room, const uint8_t *frame, size_t length,
                              iw_quirks quirks)
{
    uint8_t mended[IW_MPA_STARTUP_MAX];

    if (!iw_quirk_in(quirks, IW_QUIRK_PD_ORDER) || length < IW_MPA_STARTUP_HEADER ||
        length > sizeof(mended))
        return iw_wire_print_startup(text, room, frame, length);
    memcpy(mended, frame, length);
    (void)iw_put16(mended + IW_AT_MPA_PD_LENGTH,
                   iw_quirk_turn16(iw_get16(frame + IW_AT_MPA_PD_LENGTH)));
    size_t n = iw_wire_print_startup(text, room, mended, length);
    n = add(text, room, n, " (");
    n = add(text, room, n, iw_quirk_name(IW_QUIRK_PD_ORDER));
    return add(text, room, n, ")");
}

iw_quirks iw_quirk_in_segment(const uint8_t *ulpdu, size_t length)
{
    const struct iw_quirk_context unknown = {0};
    size_t used = before_word(ulpdu, length);

    if (used == 0 ||
        iw_quirk_terminate(ulpdu + used, length - used, &unknown) != IW_EVIDENCE_PROVEN)
        return 0;
    return iw_quirk_bit(IW_QUIRK_TERMINATE_REVERSED);
}

/* Copies a segment, mended, if it is one that these quirks bend. */
static bool mend(uint8_t out[MENDED], const uint8_t *ulpdu, size_t length, iw_quirks quirks)
{
    size_t used = before_word(ulpdu, length);

    if (!iw_quirk_in(quirks, IW_QUIRK_TERMINATE_REVERSED) || used == 0 || length > MENDED)
        return false;
    memcpy(out, ulpdu, length);
    iw_quirk_turn_terminate(out + used);
    return true;
}

size_t iw_quirk_print_segment(char *text, size_t room, const uint8_t *ulpdu, size_t length,
                              iw_quirks quirks)
{
    uint8_t mended[MENDED];

    if (!mend(mended, ulpdu, length, quirks))
        return iw_wire_print_segment(text, room, ulpdu, length);
    size_t n = iw_wire_print_segment(text, room, mended, length);
    n = add(text, room, n, " (");
    n = add(text, room, n, iw_quirk_name(IW_QUIRK_TERMINATE_REVERSED));
    return add(text, room, n, ")");
}
