/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -z flow,iwarp,standard and Statistics, Flow Graph: one arrow for each message. */
#include "stats.h"

enum { LINE = 500 };

static char *label_of(const struct iwd_seen *s)
{
    uint64_t length;

    if (s->thing->kind == IWD_STARTUP)
        return g_strdup(s->side == IW_SIDE_INITIATOR ? "MPA Request" : "MPA Reply");
    length = iwd_seen_length(s);
    if (!length ||
        !(iw_rdmap_is_send((unsigned)s->opcode) || iw_rdmap_is_tagged((unsigned)s->opcode)))
        return g_strdup(iw_wire_opcode_name((unsigned)s->opcode));
    return g_strdup_printf("%s (%" G_GUINT64_FORMAT ")", iw_wire_opcode_name((unsigned)s->opcode),
                           length);
}

/* The message in one line, which request it answers, and what is wrong with it. */
static char *comment_of(const struct iwd_seen *s, packet_info *pinfo)
{
    const struct iwd_message *m = s->thing->message, *request = iwd_seen_request(s);
    GString *text = g_string_new(NULL);
    char line[LINE];
    nstime_t time;

    iwd_print_thing(s->thing, s->octets, pinfo, line, sizeof line);
    g_string_append(text, line);
    if (m && m->segments > 1)
        g_string_append_printf(text, ", the last of %u segments", m->segments);
    if (request) {
        nstime_delta(&time, &m->ended, &request->begun);
        g_string_append_printf(text, ", answers frame %u after %.3f ms", request->first,
                               nstime_to_msec(&time));
    }
    if (iwd_rare_of(s->thing)->cause)
        g_string_append_printf(text, ", provoked by frame %u", iwd_rare_of(s->thing)->cause);
    for (const struct iwd_finding *f = s->findings; f; f = f->next)
        g_string_append_printf(text, " [%s: %s]", iw_check_rule(f->check)->id,
                               iw_check_info(f->check)->text);
    return g_string_free(text, FALSE);
}

static tap_packet_status add_arrow(void *graph, packet_info *pinfo, epan_dissect_t *edt _U_,
                                   const void *seen, tap_flags_t flags _U_)
{
    const struct iwd_seen *s = seen;
    seq_analysis_info_t *all = graph;
    seq_analysis_item_t *arrow;

    if (!s->thing || (s->thing->kind == IWD_FPDU && !s->ends))
        return TAP_PACKET_DONT_REDRAW;
    arrow = sequence_analysis_create_sai_with_addresses(pinfo, all);
    if (!arrow)
        return TAP_PACKET_DONT_REDRAW;
    arrow->frame_number = pinfo->num;
    arrow->port_src = (uint16_t)pinfo->srcport;
    arrow->port_dst = (uint16_t)pinfo->destport;
    arrow->frame_label = label_of(s);
    arrow->comment = comment_of(s, pinfo);
    arrow->conv_num = (uint16_t)s->stream;
    arrow->line_style = 1;
    arrow->display = TRUE;
    sequence_analysis_use_color_filter(pinfo, arrow);
    g_queue_push_tail(all->items, arrow);
    return TAP_PACKET_REDRAW;
}

void iwd_register_flow(int proto)
{
    register_seq_analysis("iwarp", "iWARP Messages", proto, "iwarp", 0, add_arrow);
}
