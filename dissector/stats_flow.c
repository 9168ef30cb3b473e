/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -z flow,iwarp,standard and Statistics, Flow Graph: one arrow for each message. */
#include "stats_tap.h"

#include <inttypes.h>

/* Returns the number of octets that a Read Request asks for. */
static uint64_t read_size(const struct iwd_seen *s)
{
    int length = tvb_captured_length_remaining(s->octets, (int)IW_DDP_UNTAGGED_HEADER);
    struct iw_rdmap_read_request r;
    if (length < (int)IW_RDMAP_READ_REQUEST ||
        iw_wire_get_read_request(tvb_get_ptr(s->octets, (int)IW_DDP_UNTAGGED_HEADER, length),
                                 (size_t)length, &r) < 0)
        return 0;
    return r.size;
}

/* Returns a label short enough for tshark's column, with the number of octets in brackets. */
static char *label_of(const struct iwd_seen *s)
{
    /* By opcode. */
    static const char *const names[16] = {
        "Write",       "Read Req",  "Read Resp", "Send",         "Send Inv",   "Send SE",
        "Send SE Inv", "Terminate", "Immediate", "Immediate SE", "Atomic Req", "Atomic Resp"};

    if (s->thing->kind == IWD_STARTUP)
        return g_strdup(s->side == IW_SIDE_INITIATOR ? "MPA Request" : "MPA Reply");
    unsigned opcode = (unsigned)s->opcode;
    if (names[opcode] == NULL)
        return g_strdup_printf("opcode %u", opcode);
    if (opcode != IW_OP_READ_REQUEST && !iw_rdmap_is_send(opcode) && !iw_rdmap_is_tagged(opcode))
        return g_strdup(names[opcode]);
    uint64_t length = opcode == IW_OP_READ_REQUEST ? read_size(s) : iwd_seen_length(s);
    return g_strdup_printf("%s (%" PRIu64 ")", names[opcode], length);
}

/* Returns the comment. Wireshark shows only the beginning of a long one: findings and the answered
 * request come first, then the message's last segment in one line. */
static char *comment_of(const struct iwd_seen *s, packet_info *pinfo)
{
    const struct iwd_message *m = s->thing->message, *request = iwd_seen_request(s);
    GString *text = g_string_new(NULL);
    for (const struct iwd_finding *f = s->findings; f != NULL; f = f->next)
        g_string_append_printf(text, "[%s: %s] ", iw_check_sender_rule(f->check)->id,
                               iw_check_info(f->check)->text);
    if (request != NULL) {
        nstime_t time;
        nstime_delta(&time, &m->ended, &request->begun);
        g_string_append_printf(text, "answers frame %u after %.3f ms: ", request->first,
                               nstime_to_msec(&time));
    }
    if (iwd_rare_of(s->thing)->cause)
        g_string_append_printf(text, "provoked by frame %u: ", iwd_rare_of(s->thing)->cause);
    g_string_append(text, iwd_print_thing(s->thing, s->octets, pinfo));
    if (m != NULL && m->segments > 1)
        g_string_append_printf(text, " (last of %u segments)", m->segments);
    return g_string_free(text, FALSE);
}

static tap_packet_status add_arrow(void *graph, packet_info *pinfo, epan_dissect_t *edt _U_,
                                   const void *seen, tap_flags_t flags _U_)
{
    const struct iwd_seen *s = seen;
    seq_analysis_info_t *all = graph;

    if (s->thing == NULL || (s->thing->kind == IWD_FPDU && !s->ends))
        return TAP_PACKET_DONT_REDRAW;
    seq_analysis_item_t *arrow = sequence_analysis_create_sai_with_addresses(pinfo, all);
    if (arrow == NULL)
        return TAP_PACKET_DONT_REDRAW;
    arrow->frame_number = pinfo->num;
    arrow->port_src = (uint16_t)(s->reversed ? pinfo->destport : pinfo->srcport);
    arrow->port_dst = (uint16_t)(s->reversed ? pinfo->srcport : pinfo->destport);
    if (s->reversed) {
        address from = arrow->src_addr;

        arrow->src_addr = arrow->dst_addr;
        arrow->dst_addr = from;
    }
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
