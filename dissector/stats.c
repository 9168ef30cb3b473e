/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -z iwarp,tree and -z iwarp,srt, and the same in Wireshark's menus. */
#include "iwarp_dissector.h"

#include <epan/srt_table.h>
#include <epan/stats_tree.h>
#include <epan/tap.h>

static int tap;

/* Lives until the frame has been dissected. */
struct seen {
    const struct iwd_thing *thing;
    const struct iwd_finding *findings;
    int opcode;       /* -1: no segment */
    uint32_t payload; /* octets */
};

void iwd_tap_segment(const struct iwd_thing *t, int opcode, uint32_t payload, packet_info *pinfo)
{
    struct seen *s;

    if (!have_tap_listener(tap))
        return;
    s = wmem_new(pinfo->pool, struct seen);
    *s = (struct seen){t, iwd_rare_of(t)->findings, opcode, payload};
    tap_queue_packet(tap, pinfo, s);
}

void iwd_tap_findings(const struct iwd_finding *findings, packet_info *pinfo)
{
    struct seen *s;

    if (!findings || !have_tap_listener(tap))
        return;
    s = wmem_new(pinfo->pool, struct seen);
    *s = (struct seen){NULL, findings, -1, 0};
    tap_queue_packet(tap, pinfo, s);
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

static void count_segment(stats_tree *st, const struct seen *s)
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
    const struct seen *s = data;

    if (s->opcode >= 0)
        count_segment(st, s);
    for (const struct iwd_finding *f = s->findings; f; f = f->next) {
        char name[512];

        g_snprintf(name, sizeof name, "%s: %s", iw_check_rule(f->check)->id,
                   iw_check_info(f->check)->text);
        tick_stat_node(st, findings_name, 0, TRUE);
        tick_stat_node(st, name, findings_node, FALSE);
    }
    return TAP_PACKET_REDRAW;
}

/* ---- response times ---- */

enum { READS, ATOMICS, KINDS };

static void init_times(struct register_srt *srt _U_, GArray *tables)
{
    srt_stat_table *table = init_srt_table("iWARP responses", "iWARP", tables, KINDS, "Request",
                                           "iwarp.response_to", NULL);

    init_srt_table_row(table, READS, "RDMA Read");
    init_srt_table_row(table, ATOMICS, "Atomic");
}

static tap_packet_status take_time(void *tables, packet_info *pinfo, epan_dissect_t *edt _U_,
                                   const void *data, tap_flags_t flags _U_)
{
    const struct seen *s = data;
    const struct iwd_message *m = s->thing ? s->thing->message : NULL;
    srt_data_t *all = tables;

    if (!m || !m->request || !m->whole || m->last != s->thing->frame)
        return TAP_PACKET_DONT_REDRAW;
    if (s->thing->message_pos + s->payload != m->length)
        return TAP_PACKET_DONT_REDRAW; /* another segment in the frame is the last
                                        */
    add_srt_table_data(g_array_index(all->srt_array, srt_stat_table *, 0),
                       m->opcode == IW_OP_ATOMIC_RESPONSE ? ATOMICS : READS, &m->request->begun,
                       pinfo);
    return TAP_PACKET_REDRAW;
}

void iwd_register_stats(int proto)
{
    tap = register_tap("iwarp");
    register_srt_table(proto, NULL, 1, take_time, init_times, NULL);
}

void iwd_handoff_stats(void)
{
    stats_tree_register_plugin("iwarp", "iwarp", "iWARP", 0, count, init_tree, NULL);
}
