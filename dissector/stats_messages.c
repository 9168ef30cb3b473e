/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -z iwarp,messages and -z iwarp,times. */
#include "host/number.h"
#include "stats_tap.h"

/* ---- messages by opcode ---- */

enum { NAME, MESSAGES, SEGMENTS, OCTETS, SHORTEST, LONGEST, AVERAGE };

static stat_tap_table_item_type *row_of(unsigned opcode)
{
    bool fresh;
    stat_tap_table_item_type *row =
        iwd_table_row(&iwd_messages_table, GUINT_TO_POINTER(opcode), &fresh);

    if (fresh) {
        iwd_table_text(&row[NAME], iw_wire_opcode_name(opcode));
        for (guint k = OCTETS; k <= AVERAGE; k++)
            iwd_table_number(&row[k], k == OCTETS ? IWD_WIDE : IWD_NARROW, k == AVERAGE, 0);
    }
    return row;
}

static void count_whole(stat_tap_table_item_type *row, double length)
{
    guint n = ++row[MESSAGES].value.uint_value;
    /* Octets of whole messages. */
    double *sum = &row[NAME].user_data.float_value;

    if (n == 1 || length < row[SHORTEST].user_data.float_value)
        iwd_table_number(&row[SHORTEST], IWD_NARROW, 0, length);
    if (length > row[LONGEST].user_data.float_value)
        iwd_table_number(&row[LONGEST], IWD_NARROW, 0, length);
    *sum += length;
    iwd_table_number(&row[AVERAGE], IWD_NARROW, 1, *sum / n);
}

static tap_packet_status count_message(void *data _U_, packet_info *pinfo _U_,
                                       epan_dissect_t *edt _U_, const void *seen,
                                       tap_flags_t flags _U_)
{
    const struct iwd_seen *s = seen;

    if (s->opcode < 0 || s->thing->crc == IWD_CRC_BAD)
        return TAP_PACKET_DONT_REDRAW;
    stat_tap_table_item_type *row = row_of((unsigned)s->opcode);
    row[SEGMENTS].value.uint_value++;
    iwd_table_number(&row[OCTETS], IWD_WIDE, 0, row[OCTETS].user_data.float_value + s->payload);
    if (s->ends)
        count_whole(row, (double)iwd_seen_length(s));
    return TAP_PACKET_REDRAW;
}

static stat_tap_table_item message_columns[] = {{IWD_TEXT("Opcode                     ", 27)},
                                                {IWD_COUNT(" Messages", 9)},
                                                {IWD_COUNT(" Segments", 9)},
                                                {IWD_NUMBER("        Octets", 14)},
                                                {IWD_NUMBER("    Shortest", 12)},
                                                {IWD_NUMBER("     Longest", 12)},
                                                {IWD_NUMBER("     Average", 12)}};

struct iwd_table iwd_messages_table = {.ui = {.title = "iWARP Messages by Opcode",
                                              .cli_string = "iwarp,messages",
                                              .packet_func = count_message,
                                              .nfields = G_N_ELEMENTS(message_columns),
                                              .fields = message_columns}};

/* ---- percentiles of times ---- */

enum { READS, ATOMICS, STARTUPS, KINDS };
enum { KIND, COUNT, LEAST, MEDIAN, P90, P99, P999, MOST, MEAN };

/* Nanoseconds, sorted. */
static GSequence *times[KINDS];

static void reset_times(void)
{
    for (unsigned k = 0; k < KINDS; k++) {
        if (times[k] != NULL)
            g_sequence_free(times[k]);
        times[k] = g_sequence_new(NULL);
    }
}

static gint compare(gconstpointer a, gconstpointer b, gpointer data _U_)
{
    gsize x = GPOINTER_TO_SIZE(a), y = GPOINTER_TO_SIZE(b);

    return (x > y) - (x < y);
}

/* Returns the least time that `share` thousandths of all do not exceed, in microseconds. */
static double percentile(GSequence *all, guint share)
{
    guint64 place = iw_number_place((guint64)g_sequence_get_length(all), share);
    GSequenceIter *at = g_sequence_get_iter_at_pos(all, (gint)place);

    return (double)GPOINTER_TO_SIZE(g_sequence_get(at)) / 1000;
}

static void take(unsigned kind, const nstime_t *time)
{
    static const char *const names[] = {"RDMA Read", "Atomic", "MPA start-up"};
    static const guint shares[] = {0, 500, 900, 990, 999, 1000}; /* from LEAST to MOST */
    double nanoseconds = (double)time->secs * 1e9 + time->nsecs;
    if (nanoseconds < 0)
        return; /* the capture's clock went back */
    bool fresh;
    stat_tap_table_item_type *row = iwd_table_row(&iwd_times_table, GUINT_TO_POINTER(kind), &fresh);
    if (fresh)
        iwd_table_text(&row[KIND], names[kind]);
    g_sequence_insert_sorted(times[kind],
                             GSIZE_TO_POINTER((gsize)MIN(nanoseconds, (double)(G_MAXSIZE / 2))),
                             compare, NULL);
    double *sum = &row[KIND].user_data.float_value;
    *sum += nanoseconds;
    for (size_t k = 0; k < G_N_ELEMENTS(shares); k++)
        iwd_table_number(&row[LEAST + k], IWD_NARROW, 3, percentile(times[kind], shares[k]));
    guint n = ++row[COUNT].value.uint_value;
    iwd_table_number(&row[MEAN], IWD_NARROW, 3, *sum / n / 1000);
}

static tap_packet_status take_time(void *data _U_, packet_info *pinfo _U_, epan_dissect_t *edt _U_,
                                   const void *seen, tap_flags_t flags _U_)
{
    const struct iwd_seen *s = seen;
    const struct iwd_message *request = iwd_seen_request(s);
    if (request != NULL) {
        nstime_t time;
        nstime_delta(&time, &s->thing->message->ended, &request->begun);
        take(request->opcode == IW_OP_ATOMIC_REQUEST ? ATOMICS : READS, &time);
    } else if (s->thing != NULL && s->thing->kind == IWD_STARTUP && s->side == IW_SIDE_RESPONDER &&
               s->connection->side[s->side].second) {
        take(STARTUPS, &s->connection->side[s->side].since_request);
    } else {
        return TAP_PACKET_DONT_REDRAW;
    }
    return TAP_PACKET_REDRAW;
}

static stat_tap_table_item time_columns[] = {
    {IWD_TEXT("Request     ", 12)},   {IWD_COUNT("    Count", 9)},
    {IWD_NUMBER("Minimum (us)", 12)}, {IWD_NUMBER("      Median", 12)},
    {IWD_NUMBER("        90 %", 12)}, {IWD_NUMBER("        99 %", 12)},
    {IWD_NUMBER("      99.9 %", 12)}, {IWD_NUMBER("     Maximum", 12)},
    {IWD_NUMBER("     Average", 12)},
};

struct iwd_table iwd_times_table = {.ui = {.title = "iWARP Response Times",
                                           .cli_string = "iwarp,times",
                                           .packet_func = take_time,
                                           .nfields = G_N_ELEMENTS(time_columns),
                                           .fields = time_columns},
                                    .reset = reset_times};
