/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef IWD_STATS_TAP_H
#define IWD_STATS_TAP_H

/*
 * Statistics. All listen to the tap "iwarp", which reports each start-up frame and FPDU as it is
 * drawn, and findings that belong to neither.
 */

#include "iwarp_dissector.h"

#include <epan/stat_tap_ui.h>
#include <epan/tap.h>

/* Lives until the frame has been dissected. */
struct iwd_seen {
    const struct iwd_connection *connection;
    const struct iwd_thing *thing; /* NULL: none */
    const struct iwd_finding *findings;
    tvbuff_t *octets;  /* start-up frame, or ULPDU as far as it is here; NULL: none */
    int opcode;        /* -1: no DDP segment with a header */
    uint32_t payload;  /* octets after the DDP header */
    uint32_t stream;   /* TCP's number of the connection */
    enum iw_side side; /* the thing's sender */
    bool reversed;     /* the frame is the other side's: only now it was understood */
    bool ends;         /* the last segment of its message */
    bool first;        /* of those reported for this frame */
};

/* Returns the octets of the message that this segment ends. */
static inline uint64_t iwd_seen_length(const struct iwd_seen *s)
{
    return s->thing->message != NULL ? s->thing->message->length : s->payload;
}

/* Returns the request answered by the message that this segment ends, or NULL. */
static inline const struct iwd_message *iwd_seen_request(const struct iwd_seen *s)
{
    const struct iwd_message *m = s->ends ? s->thing->message : NULL;

    return m != NULL && m->whole ? m->request : NULL;
}

/* ---- stats_table.c: tables whose rows come one by one ---- */

/* A table of Wireshark's kind, for the menu Statistics and tshark's -z. There is one of each; it
 * owns copies of its strings. */
struct iwd_table {
    stat_tap_table_ui ui; /* all but what iwd_register_table sets */
    void (*reset)(void);  /* forgets what was counted beside the rows; NULL: nothing was */
    GHashTable *rows;     /* stat_tap_table_item_type * by the key of the row */
    guint room;           /* rows that were made; the table shows as many as num_elements says */
};

/* Columns: {IWD_TEXT("Rule", 12)}. IWD_NUMBER are numbers as text, because Wireshark shows them
 * badly otherwise. All texts are equally long, so that they sort well. */
#define IWD_TEXT(name, width) TABLE_ITEM_STRING, TAP_ALIGN_LEFT, name, "%-" #width "s"
#define IWD_COUNT(name, width) TABLE_ITEM_UINT, TAP_ALIGN_RIGHT, name, "%" #width "u"
#define IWD_NUMBER(name, width) TABLE_ITEM_STRING, TAP_ALIGN_RIGHT, name, "%" #width "s"

enum { IWD_NARROW = 12, IWD_WIDE = 14 };

void iwd_register_table(struct iwd_table *t);
/* Returns the cells of the row with this key. *fresh: it was added, with zeros and empty strings.
 */
stat_tap_table_item_type *iwd_table_row(struct iwd_table *t, gconstpointer key, bool *fresh);
void iwd_table_text(stat_tap_table_item_type *cell, const char *text);
/* Sets a cell of an IWD_NUMBER of that width, and its user_data.float_value. */
void iwd_table_number(stat_tap_table_item_type *cell, int width, int decimals, double number);

/* ---- registration ---- */

void iwd_register_conversations(int proto);
void iwd_register_flow(int proto);
extern struct iwd_table iwd_messages_table;
extern struct iwd_table iwd_times_table;
extern struct iwd_table iwd_connections_table;
extern struct iwd_table iwd_findings_table;

#endif
