/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -z iwarp,connections: what each connection agreed on, and what it carried. */
#include "stats_tap.h"

#define COLUMNS                                                                                    \
    X(STREAM, COUNT, "Stream", 6)                                                                  \
    X(INITIATOR, TEXT, "Initiator            ", 21)                                                \
    X(RESPONDER, TEXT, "Responder            ", 21)                                                \
    X(REVISION, TEXT, "Rev", 3)                                                                    \
    X(CRC, TEXT, "CRC", 3)                                                                         \
    X(MARKERS, TEXT, "Markers  ", 9)                                                               \
    X(DEPTHS_I, TEXT, "I: IRD/ORD", 10)                                                            \
    X(DEPTHS_R, TEXT, "R: IRD/ORD", 10)                                                            \
    X(RTR, TEXT, "RTR       ", 10)                                                                 \
    X(ULPDU_I, COUNT, "I: max ULPDU", 12)                                                          \
    X(ULPDU_R, COUNT, "R: max ULPDU", 12)                                                          \
    X(MESSAGES_I, COUNT, "I: messages", 11)                                                        \
    X(MESSAGES_R, COUNT, "R: messages", 11)                                                        \
    X(OCTETS_I, NUMBER, "   I: octets", 12)                                                        \
    X(OCTETS_R, NUMBER, "   R: octets", 12)                                                        \
    X(OUTSTANDING, COUNT, "Outstanding", 11)                                                       \
    X(FINDINGS, COUNT, "Findings", 8)                                                              \
    X(END, TEXT, "End", 1)

enum {
#define X(name, kind, title, width) name,
    COLUMNS
#undef X
};

static stat_tap_table_item columns[] = {
#define X(name, kind, title, width) {IWD_##kind(title, width)},
    COLUMNS
#undef X
};

/* Observed properties of a connection whose start-up was not captured. */
enum { CRC_SEEN = 1, NO_CRC_SEEN = 2, MARKERS_SEEN = 4 /* of the initiator, 8: the responder's */ };

static void set_end(stat_tap_table_item_type *cell, const packet_info *pinfo, bool source)
{
    const address *end = source ? &pinfo->src : &pinfo->dst;
    bool v6 = end->type == AT_IPv6;

    iwd_table_text(cell, wmem_strdup_printf(pinfo->pool, "%s%s%s:%u", v6 ? "[" : "",
                                            address_to_str(pinfo->pool, end), v6 ? "]" : "",
                                            source ? pinfo->srcport : pinfo->destport));
}

/* ---- what was agreed on ---- */

static const char *depth(unsigned n, char text[8])
{
    if (n == IW_MPA_DEPTH_UNSPECIFIED)
        return "ULP"; /* left to it */
    g_snprintf(text, 8, "%u", n);
    return text;
}

static void set_depths(stat_tap_table_item_type *cell, const struct iwd_side *s)
{
    char text[32] = "-";

    if (s->startup != NULL && s->has_enhanced)
        g_snprintf(text, sizeof(text), "%s/%s", depth(s->enhanced.ird, (char[8]){""}),
                   depth(s->enhanced.ord, (char[8]){""}));
    iwd_table_text(cell, s->startup != NULL ? text : "?");
}

/* RFC 6581 section 9.2: what the Reply allows the initiator to begin with. */
static void set_rtr(stat_tap_table_item_type *row, const struct iwd_side *i,
                    const struct iwd_side *r)
{
    static const char *const forms[] = {"-",    "send",      "write",      "send/write",
                                        "read", "send/read", "write/read", "any"};
    bool wanted = i->has_enhanced && i->enhanced.peer_to_peer && r->has_enhanced;

    iwd_table_text(&row[RTR], wanted ? forms[r->enhanced.rtr & 7] : "-");
}

static void set_markers(stat_tap_table_item_type *row, bool initiator, bool responder)
{
    iwd_table_text(&row[MARKERS], initiator && responder ? "both"
                                  : initiator            ? "initiator"
                                  : responder            ? "responder"
                                                         : "none");
}

static void set_agreed(stat_tap_table_item_type *row, const struct iwd_connection *c)
{
    const struct iwd_side *i = &c->side[IW_SIDE_INITIATOR], *r = &c->side[IW_SIDE_RESPONDER];
    set_depths(&row[DEPTHS_I], i);
    set_depths(&row[DEPTHS_R], r);
    if (i->startup == NULL || r->startup == NULL)
        return;
    char text[8];
    g_snprintf(text, sizeof(text), "%u", r->header.revision);
    iwd_table_text(&row[REVISION], text);
    iwd_table_text(&row[CRC], c->crc ? "on" : "off");
    set_markers(row, c->markers[IW_SIDE_INITIATOR], c->markers[IW_SIDE_RESPONDER]);
    set_rtr(row, i, r);
    if (c->left)
        iwd_table_text(&row[END], "rejected");
}

/* Sets what the octets show if the start-up frames are missing. */
static void set_observed(stat_tap_table_item_type *row, const struct iwd_seen *s)
{
    guint *known = &row[MARKERS].user_data.uint_value;
    guint before = *known;

    if (s->connection->side[0].startup != NULL && s->connection->side[1].startup != NULL)
        return;
    if (s->thing->crc == IWD_CRC_GOOD || s->thing->crc == IWD_CRC_BAD)
        *known |= CRC_SEEN;
    if (s->thing->crc == IWD_CRC_UNCHECKED)
        *known |= NO_CRC_SEEN;
    if (s->thing->marker < s->thing->size)
        *known |= (guint)MARKERS_SEEN << s->side;
    if (*known == before)
        return;
    iwd_table_text(&row[CRC], *known & CRC_SEEN ? "on" : "off");
    set_markers(row, *known & MARKERS_SEEN, *known & MARKERS_SEEN << 1);
}

/* ---- what it carried ---- */

static stat_tap_table_item_type *row_of(const struct iwd_seen *s, const packet_info *pinfo)
{
    bool source = iwd_side_of(s->connection, pinfo) == IW_SIDE_INITIATOR, fresh;
    stat_tap_table_item_type *row = iwd_table_row(&iwd_connections_table, s->connection, &fresh);

    if (!fresh)
        return row;
    row[STREAM].value.uint_value = s->stream;
    set_end(&row[INITIATOR], pinfo, source);
    set_end(&row[RESPONDER], pinfo, !source);
    for (guint k = REVISION; k <= RTR; k++)
        iwd_table_text(&row[k], "?");
    iwd_table_number(&row[OCTETS_I], IWD_NARROW, 0, 0);
    iwd_table_number(&row[OCTETS_R], IWD_NARROW, 0, 0);
    set_agreed(row, s->connection);
    return row;
}

static void count_fpdu(stat_tap_table_item_type *row, const struct iwd_seen *s, packet_info *pinfo)
{
    bool responder = s->side == IW_SIDE_RESPONDER;
    guint *largest = &row[responder ? ULPDU_R : ULPDU_I].value.uint_value;
    guint *outstanding = &row[OUTSTANDING].value.uint_value;

    set_observed(row, s);
    if (s->thing->crc == IWD_CRC_BAD)
        return;
    *largest = MAX(*largest, s->thing->length);
    if (s->opcode < 0)
        return;
    stat_tap_table_item_type *octets = &row[responder ? OCTETS_R : OCTETS_I];
    iwd_table_number(octets, IWD_NARROW, 0, octets->user_data.float_value + s->payload);
    row[responder ? MESSAGES_R : MESSAGES_I].value.uint_value += s->ends;
    if (s->thing->message != NULL)
        *outstanding = MAX(*outstanding, s->thing->message->outstanding);
    if (s->opcode == IW_OP_TERMINATE)
        iwd_table_text(&row[END], wmem_strdup_printf(pinfo->pool, "Terminate of the %s in frame %u",
                                                     iw_side_name(s->side), pinfo->num));
}

static tap_packet_status count(void *data _U_, packet_info *pinfo, epan_dissect_t *edt _U_,
                               const void *seen, tap_flags_t flags _U_)
{
    const struct iwd_seen *s = seen;
    stat_tap_table_item_type *row = row_of(s, pinfo);

    if (s->thing != NULL && s->thing->kind == IWD_FPDU)
        count_fpdu(row, s, pinfo);
    else if (s->thing != NULL)
        set_agreed(row, s->connection);
    for (const struct iwd_finding *f = s->findings; f != NULL; f = f->next)
        row[FINDINGS].value.uint_value++;
    return TAP_PACKET_REDRAW;
}

struct iwd_table iwd_connections_table = {.ui = {.title = "iWARP Connections",
                                                 .cli_string = "iwarp,connections",
                                                 .packet_func = count,
                                                 .nfields = G_N_ELEMENTS(columns),
                                                 .fields = columns}};
