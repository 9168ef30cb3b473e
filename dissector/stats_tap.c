/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tap; -z iwarp,tree and -z iwarp,srt, and the same in Wireshark's menus. */
#include "stats_tap.h"

#include <epan/srt_table.h>
#include <epan/stats_tree.h>

static int tap;

/* Key for frames that the tap has already reported. */
enum { REPORTED = 0x7461 };

static struct iwd_seen *queue_report(packet_info *pinfo)
{
    struct iwd_seen *s = wmem_new0(pinfo->pool, struct iwd_seen);

    s->connection = iwd_shown;
    s->side = iwd_side_of(s->connection, pinfo);
    s->stream = iwd_stream_of(pinfo);
    s->opcode = -1;
    s->first = p_get_proto_data(pinfo->pool, pinfo, iwd_proto, REPORTED) == NULL;
    if (s->first)
        p_add_proto_data(pinfo->pool, pinfo, iwd_proto, REPORTED, s);
    tap_queue_packet(tap, pinfo, s);
    return s;
}

void iwd_tap_thing(const struct iwd_thing *t, tvbuff_t *octets, packet_info *pinfo)
{
    if (!have_tap_listener(tap))
        return;
    struct iwd_seen *s = queue_report(pinfo);
    s->thing = t;
    s->reversed = s->side != (enum iw_side)t->side;
    s->side = (enum iw_side)t->side;
    s->findings = iwd_rare_of(t)->findings;
    s->octets = octets;
    if (t->kind != IWD_FPDU || octets == NULL)
        return;
    uint32_t length = tvb_captured_length(octets);
    struct iw_ddp_header h;
    int used = iw_wire_get_ddp(tvb_get_ptr(octets, 0, (int)length), length, &h);
    if (used < 0)
        return;
    s->opcode = (int)iw_rdmap_op(&h);
    s->payload = t->length - (uint32_t)used;
    s->ends = iw_ddp_last(&h);
}

void iwd_tap_findings(const struct iwd_finding *findings, packet_info *pinfo)
{
    if (findings != NULL && have_tap_listener(tap))
        queue_report(pinfo)->findings = findings;
}

/* ---- segments by opcode, findings by rule ---- */

static int segments_node, crc_node, findings_node;
static const char segments_name[] = "DDP segments: octets of payload";
static const char crc_name[] = "CRCs";
static const char findings_name[] = "Findings by rule";

static void init_tree(stats_tree *st)
{
    segments_node = stats_tree_create_node(st, segments_name, 0, STAT_DT_INT, TRUE);
    crc_node = stats_tree_create_node(st, crc_name, 0, STAT_DT_INT, TRUE);
    findings_node = stats_tree_create_node(st, findings_name, 0, STAT_DT_INT, TRUE);
}

static void count_segment(stats_tree *st, const struct iwd_seen *s)
{
    static const char *const crcs[] = {"unchecked", "good", "bad", "unknown"};
    int octets = (int)s->payload;

    avg_stat_node_add_value_int(st, segments_name, 0, TRUE, octets);
    avg_stat_node_add_value_int(st, iw_wire_opcode_name((unsigned)s->opcode), segments_node, FALSE,
                                octets);
    tick_stat_node(st, crc_name, 0, TRUE);
    tick_stat_node(st, crcs[s->thing->crc], crc_node, FALSE);
}

static tap_packet_status count(stats_tree *st, packet_info *pinfo _U_, epan_dissect_t *edt _U_,
                               const void *data, tap_flags_t flags _U_)
{
    const struct iwd_seen *s = data;

    if (s->opcode >= 0)
        count_segment(st, s);
    for (const struct iwd_finding *f = s->findings; f != NULL; f = f->next) {
        char name[512];
        g_snprintf(name, sizeof(name), "%s: %s", iw_check_sender_rule(f->check)->id,
                   iw_check_info(f->check)->text);
        tick_stat_node(st, findings_name, 0, TRUE);
        tick_stat_node(st, name, findings_node, FALSE);
    }
    return TAP_PACKET_REDRAW;
}

/* ---- response times ---- */

enum { READS, ATOMICS, KINDS };

static void init_times(struct register_srt *srt _U_, GArray *srts)
{
    srt_stat_table *table = init_srt_table("iWARP responses", "iWARP", srts, KINDS, "Request",
                                           "iwarp.response_to", NULL);

    init_srt_table_row(table, READS, "RDMA Read");
    init_srt_table_row(table, ATOMICS, "Atomic");
}

static tap_packet_status take_time(void *tables, packet_info *pinfo, epan_dissect_t *edt _U_,
                                   const void *data, tap_flags_t flags _U_)
{
    const struct iwd_seen *s = data;
    const struct iwd_message *request = iwd_seen_request(s);
    srt_data_t *all = tables;

    if (request == NULL)
        return TAP_PACKET_DONT_REDRAW;
    add_srt_table_data(g_array_index(all->srt_array, srt_stat_table *, 0),
                       request->opcode == IW_OP_ATOMIC_REQUEST ? ATOMICS : READS, &request->begun,
                       pinfo);
    return TAP_PACKET_REDRAW;
}

void iwd_register_stats(int proto)
{
    tap = register_tap("iwarp");
    register_srt_table(proto, NULL, 1, take_time, init_times, NULL);
    iwd_register_conversations(proto);
    iwd_register_flow(proto);
    iwd_register_table(&iwd_messages_table);
    iwd_register_table(&iwd_times_table);
    iwd_register_table(&iwd_connections_table);
    iwd_register_table(&iwd_findings_table);
}

void iwd_handoff_stats(void)
{
    stats_tree_register_plugin("iwarp", "iwarp", "iWARP Segments, CRCs, Findings", 0, count,
                               init_tree, NULL);
}
