/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -z iwarp,connections: what each connection agreed on, and what it carried. */
#include "stats_tap.h"

enum {
    STREAM,
    INITIATOR,
    RESPONDER,
    REVISION,
    CRC,
    MARKERS,
    DEPTHS_I,
    DEPTHS_R,
    RTR,
    ULPDU_I,
    ULPDU_R,
    MESSAGES_I,
    MESSAGES_R,
    OCTETS_I,
    OCTETS_R,
    OUTSTANDING,
    FINDINGS,
    END
};

enum { OCTETS_WIDTH = 12 };

/* Rows by struct iwd_connection, one added. */
static GHashTable *rows;

/* Observed properties of a connection whose start-up was not captured. */
enum { CRC_SEEN = 1, NO_CRC_SEEN = 2, MARKERS_SEEN = 4 /* of the initiator, 8: the responder's */ };

static void reset(void)
{
    if (rows)
        g_hash_table_remove_all(rows);
    else
        rows = g_hash_table_new(g_direct_hash, g_direct_equal);
}

static void set_text(guint row, guint column, const char *text)
{
    iwd_table_text(&iwd_connections_table, row, column, text);
}

static void set_end(guint row, guint column, const packet_info *pinfo, bool source)
{
    const address *end = source ? &pinfo->src : &pinfo->dst;
    bool v6 = end->type == AT_IPv6;

    set_text(row, column,
             wmem_strdup_printf(pinfo->pool, "%s%s%s:%u", v6 ? "[" : "",
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

static void set_depths(guint row, guint column, const struct iwd_side *s)
{
    char text[32] = "-";

    if (s->startup && s->has_enhanced)
        g_snprintf(text, sizeof text, "%s/%s", depth(s->enhanced.ird, (char[8]){""}),
                   depth(s->enhanced.ord, (char[8]){""}));
    set_text(row, column, s->startup ? text : "?");
}

/* RFC 6581 section 9.2: what the Reply allows the initiator to begin with. */
static void set_rtr(guint row, const struct iwd_side *i, const struct iwd_side *r)
{
    static const char *const forms[] = {"-",    "send",      "write",      "send/write",
                                        "read", "send/read", "write/read", "any"};
    bool wanted = i->has_enhanced && i->enhanced.peer_to_peer && r->has_enhanced;

    set_text(row, RTR, wanted ? forms[r->enhanced.rtr & 7] : "-");
}

static void set_markers(guint row, bool initiator, bool responder)
{
    set_text(row, MARKERS,
             initiator && responder ? "both"
             : initiator            ? "initiator"
             : responder            ? "responder"
                                    : "none");
}

static void set_agreed(guint row, const struct iwd_connection *c)
{
    const struct iwd_side *i = &c->side[IW_SIDE_INITIATOR], *r = &c->side[IW_SIDE_RESPONDER];
    bool old = r->header.revision == 0;
    char text[8];

    set_depths(row, DEPTHS_I, i);
    set_depths(row, DEPTHS_R, r);
    if (!i->startup || !r->startup)
        return;
    g_snprintf(text, sizeof text, "%u", r->header.revision);
    set_text(row, REVISION, text);
    set_text(row, CRC, old || ((i->header.flags | r->header.flags) & IW_MPA_FLAG_C) ? "on" : "off");
    set_markers(row, old || (r->header.flags & IW_MPA_FLAG_M),
                old || (i->header.flags & IW_MPA_FLAG_M));
    set_rtr(row, i, r);
    if (r->header.flags & IW_MPA_FLAG_R)
        set_text(row, END, "rejected");
}

/* Sets what the octets show if the start-up frames are missing. */
static void set_observed(guint row, const struct iwd_seen *s)
{
    guint *known = &iwd_table_at(&iwd_connections_table, row, MARKERS)->user_data.uint_value;
    guint before = *known;

    if (s->connection->side[0].startup && s->connection->side[1].startup)
        return;
    if (s->thing->crc == IWD_CRC_GOOD || s->thing->crc == IWD_CRC_BAD)
        *known |= CRC_SEEN;
    if (s->thing->crc == IWD_CRC_UNCHECKED)
        *known |= NO_CRC_SEEN;
    if (s->thing->marker < s->thing->size)
        *known |= (guint)MARKERS_SEEN << s->side;
    if (*known == before)
        return;
    set_text(row, CRC, *known & CRC_SEEN ? "on" : "off");
    set_markers(row, *known & MARKERS_SEEN, *known & MARKERS_SEEN << 1);
}

/* ---- what it carried ---- */

static guint row_of(const struct iwd_seen *s, const packet_info *pinfo)
{
    guint row = GPOINTER_TO_UINT(g_hash_table_lookup(rows, s->connection));
    bool source = iwd_side_of(s->connection, pinfo) == IW_SIDE_INITIATOR;

    if (row)
        return row - 1;
    row = iwd_table_add(&iwd_connections_table);
    g_hash_table_insert(rows, (gpointer)(uintptr_t)s->connection, GUINT_TO_POINTER(row + 1));
    iwd_table_at(&iwd_connections_table, row, STREAM)->value.uint_value = s->stream;
    set_end(row, INITIATOR, pinfo, source);
    set_end(row, RESPONDER, pinfo, !source);
    for (guint k = REVISION; k <= RTR; k++)
        set_text(row, k, "?");
    iwd_table_number(&iwd_connections_table, row, OCTETS_I, OCTETS_WIDTH, 0, 0);
    iwd_table_number(&iwd_connections_table, row, OCTETS_R, OCTETS_WIDTH, 0, 0);
    set_agreed(row, s->connection);
    return row;
}

static void count_fpdu(guint row, const struct iwd_seen *s, packet_info *pinfo)
{
    stat_tap_table_item_type *at = iwd_table_at(&iwd_connections_table, row, 0);
    bool responder = s->side == IW_SIDE_RESPONDER;
    guint *largest = &at[responder ? ULPDU_R : ULPDU_I].value.uint_value;
    guint *outstanding = &at[OUTSTANDING].value.uint_value, octets;

    set_observed(row, s);
    if (s->thing->crc == IWD_CRC_BAD)
        return;
    *largest = MAX(*largest, s->thing->length);
    if (s->opcode < 0)
        return;
    octets = responder ? OCTETS_R : OCTETS_I;
    iwd_table_number(&iwd_connections_table, row, octets, OCTETS_WIDTH, 0,
                     at[octets].user_data.float_value + s->payload);
    at[responder ? MESSAGES_R : MESSAGES_I].value.uint_value += s->ends;
    if (s->thing->message)
        *outstanding = MAX(*outstanding, s->thing->message->outstanding);
    if (s->opcode == IW_OP_TERMINATE)
        set_text(row, END,
                 wmem_strdup_printf(pinfo->pool, "Terminate of the %s in frame %u",
                                    responder ? "responder" : "initiator", pinfo->num));
}

static tap_packet_status count(void *data _U_, packet_info *pinfo, epan_dissect_t *edt _U_,
                               const void *seen, tap_flags_t flags _U_)
{
    const struct iwd_seen *s = seen;
    guint row = row_of(s, pinfo);

    if (s->thing && s->thing->kind == IWD_FPDU)
        count_fpdu(row, s, pinfo);
    else if (s->thing)
        set_agreed(row, s->connection);
    for (const struct iwd_finding *f = s->findings; f; f = f->next)
        iwd_table_at(&iwd_connections_table, row, FINDINGS)->value.uint_value++;
    return TAP_PACKET_REDRAW;
}

static stat_tap_table_item columns[] = {
    IWD_COLUMN_COUNT("Stream", 6),
    IWD_COLUMN_TEXT("Initiator            ", 21),
    IWD_COLUMN_TEXT("Responder            ", 21),
    IWD_COLUMN_TEXT("Rev", 3),
    IWD_COLUMN_TEXT("CRC", 3),
    IWD_COLUMN_TEXT("Markers  ", 9),
    IWD_COLUMN_TEXT("I: IRD/ORD", 10),
    IWD_COLUMN_TEXT("R: IRD/ORD", 10),
    IWD_COLUMN_TEXT("RTR       ", 10),
    IWD_COLUMN_COUNT("I: max ULPDU", 12),
    IWD_COLUMN_COUNT("R: max ULPDU", 12),
    IWD_COLUMN_COUNT("I: messages", 11),
    IWD_COLUMN_COUNT("R: messages", 11),
    IWD_COLUMN_NUMBER("   I: octets", 12),
    IWD_COLUMN_NUMBER("   R: octets", 12),
    IWD_COLUMN_COUNT("Outstanding", 11),
    IWD_COLUMN_COUNT("Findings", 8),
    IWD_COLUMN_TEXT("End", 1),
};

struct iwd_table iwd_connections_table = {.ui = {.group = REGISTER_PACKET_STAT_GROUP_UNSORTED,
                                                 .title = "iWARP Connections",
                                                 .cli_string = "iwarp,connections",
                                                 .packet_func = count,
                                                 .nfields = G_N_ELEMENTS(columns),
                                                 .fields = columns},
                                          .reset = reset};
