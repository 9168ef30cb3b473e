/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds connections, and passes frames to first_pass.c and draw.c. */
#include "iwarp_dissector.h"

#include "iwarp/capture.h"

int iwd_proto = -1;

static dissector_handle_t handle;
struct iwd_connection *iwd_shown;
unsigned iwd_mss;
iwd_bool iwd_default_config;
iwd_bool iwd_intact;
iwd_bool iwd_quirks = TRUE;

static iwd_bool built_in;
static pref_t *relative_pref, *analyze_pref;

/* Keys for data of a frame beside the octets that TCP hands over. */
enum { EXTRA_LATE, EXTRA_END };

/* ---- positions ---- */

/* Returns the low bits of a position, which with the frame identify a chunk on every pass. Position
 * 0 is the octet after the SYN; without one in the capture, the first that was seen. TCP hands over
 * sequence numbers relative to that, or as they are. */
static uint32_t low_position(struct iwd_side *s, const tcp_flow_t *flow, uint32_t seq,
                             bool relative)
{
    if (!s->based) {
        s->based = true;
        s->base = flow->base_seq + 1;
    }
    return seq + (relative ? flow->base_seq : 0) - s->base;
}

/* Positions from here on are those before a stream's first octet. */
#define BEFORE (UINT64_MAX / 2)

/* First pass: returns all bits of the position. */
static uint64_t position(struct iwd_side *s, uint32_t low)
{
    uint64_t pos = iw_stream_unwrap(s->ahead, low);

    if (pos < BEFORE && pos > s->ahead)
        s->ahead = pos;
    return pos;
}

/* Records what the sender of a frame has received from the other side. */
static void acknowledge(struct iwd_connection *c, enum iw_side side, const tcp_flow_t *flow,
                        uint32_t ack, bool relative)
{
    struct iwd_side *s = &c->side[side];
    uint64_t pos = iw_stream_unwrap(s->ahead, low_position(s, flow, ack, relative));

    if (pos < BEFORE && pos > s->acked)
        s->acked = pos;
    iw_observer_acked(c->observer, side, s->acked);
}

/* Returns true if TCP's numbers are relative. In an IP fragment or an ICMP error TCP does not know
 * the length, and hands over its numbers as they are; the next one is 0 then. A frame that is cut
 * off counts as a fragment, too, but not for TCP. */
static bool is_relative(const packet_info *pinfo, const struct tcpinfo *tcp)
{
    if ((pinfo->fragmented || pinfo->flags.in_error_pkt) && !tcp->nxtseq)
        return false;
    return relative_pref != NULL && analyze_pref != NULL &&
           prefs_get_bool_value(relative_pref, pref_current) &&
           prefs_get_bool_value(analyze_pref, pref_current);
}

/* ---- octets ---- */

static iwd_bool try_connection(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

static int dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    struct tcpinfo *tcp = data;
    conversation_t *conversation = find_conversation_pinfo(pinfo, 0);
    struct iwd_connection *c = iwd_connection_of(pinfo);

    if (tcp == NULL || conversation == NULL)
        return 0;
    if (c == NULL) { /* "Decode As": wherever the capture begins */
        if (PINFO_FD_VISITED(pinfo))
            return 0;
        if (try_connection(tvb, pinfo, tree, data))
            return (int)tvb_reported_length(tvb);
        c = iwd_connect(
            pinfo, pinfo->srcport >= pinfo->destport ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER, true);
    }
    struct tcp_analysis *analysis = get_tcp_conversation_data(conversation, pinfo);
    enum iw_side side = iwd_side_of(c, pinfo);
    bool relative = is_relative(pinfo, tcp);
    if (!PINFO_FD_VISITED(pinfo) && (tcp->flags & TH_ACK))
        acknowledge(c, iw_observed_other(side), analysis->rev, tcp->lastackseq, relative);
    uint32_t low = low_position(&c->side[side], analysis->fwd, tcp->seq, relative);
    struct iwd_chunk *chunk = iwd_find_chunk(c, side, pinfo->num, low);
    if (chunk == NULL && !PINFO_FD_VISITED(pinfo))
        chunk = iwd_follow(c, pinfo, side, position(&c->side[side], low), tvb);
    else if (chunk == NULL) /* since the first pass TCP's base has come to be the next number */
        chunk = iwd_find_chunk(c, side, pinfo->num,
                               low_position(&c->side[side], analysis->fwd, tcp->seq, !relative));
    iwd_shown = c;
    if (chunk != NULL)
        iwd_draw_chunk(chunk, tvb, pinfo, tree);
    return (int)tvb_reported_length(tvb);
}

/* Position 0 is the first octet of the start-up frame. */
static void rebase(struct iwd_connection *c, enum iw_side side, const struct tcp_analysis *analysis,
                   const struct tcpinfo *tcp, bool relative)
{
    struct iwd_side *self = &c->side[side], *other = &c->side[iw_observed_other(side)];

    self->based = other->based = true;
    self->base = tcp->seq + (relative ? analysis->fwd->base_seq : 0);
    other->base = tcp->lastackseq + (relative ? analysis->rev->base_seq : 0);
}

static iwd_bool try_connection(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    struct tcpinfo *tcp = data;
    conversation_t *conversation = find_or_create_conversation(pinfo);
    struct tcp_analysis *analysis = get_tcp_conversation_data(conversation, pinfo);
    uint32_t length = tvb_captured_length(tvb);
    if (tcp == NULL || analysis == NULL || built_in || length == 0)
        return false;
    bool relative = is_relative(pinfo, tcp);
    bool first = tcp->seq - (relative ? 0 : analysis->fwd->base_seq) == 1;
    enum iw_side side;
    if (!iw_observer_opens(tvb_get_ptr(tvb, 0, (int)length), length, first, &side))
        return false;
    if (conversation_get_proto_data(conversation, iwd_proto) == NULL) {
        if (PINFO_FD_VISITED(pinfo))
            return false;
        struct iwd_connection *c = iwd_connect(pinfo, side, false);
        if (side == IW_SIDE_INITIATOR) /* streaming mode may have come before it */
            rebase(c, side, analysis, tcp, relative);
        conversation_set_dissector_from_frame_number(conversation, pinfo->num, handle);
    }
    (void)dissect(tvb, pinfo, tree, data);
    return true;
}

/* ---- what TCP does not hand over ---- */

static enum iw_link link_of(const packet_info *pinfo)
{
    static const struct {
        int encapsulation;
        enum iw_link link;
    } links[] = {
        {WTAP_ENCAP_ETHERNET, IW_LINK_ETHERNET}, {WTAP_ENCAP_SLL, IW_LINK_SLL},
        {WTAP_ENCAP_SLL2, IW_LINK_SLL2},         {WTAP_ENCAP_NULL, IW_LINK_NULL},
        {WTAP_ENCAP_LOOP, IW_LINK_LOOP},         {WTAP_ENCAP_RAW_IP, IW_LINK_RAW},
        {WTAP_ENCAP_RAW_IP4, IW_LINK_RAW},       {WTAP_ENCAP_RAW_IP6, IW_LINK_RAW},
    };

    for (size_t k = 0; k < G_N_ELEMENTS(links); k++)
        if (links[k].encapsulation == pinfo->rec->rec_header.packet_header.pkt_encap)
            return links[k].link;
    return IW_LINK_OTHER;
}

/* The frame's own TCP header. */
static bool get_packet(tvbuff_t *tvb, const packet_info *pinfo, struct iw_packet *packet)
{
    uint32_t length = tvb_captured_length(tvb);
    struct iw_frame frame = {.number = pinfo->num,
                             .link = link_of(pinfo),
                             .data = tvb_get_ptr(tvb, 0, (int)length),
                             .length = length,
                             .original = tvb_reported_length(tvb)};

    return iw_packet_decode(&frame, packet) == IW_DECODE_TCP &&
           packet->source_port == pinfo->srcport && packet->destination_port == pinfo->destport;
}

/* TCP withholds retransmitted octets that fill a gap (its preference "Do not call subdissectors
 * for error packets"), and never passes FIN and RST to a dissector. The observer needs both. */
static void follow_packet(tvbuff_t *tvb, packet_info *pinfo, struct iwd_connection *c,
                          const struct tcp_analysis *analysis, const struct iw_packet *packet)
{
    enum iw_side side = iwd_side_of(c, pinfo);
    uint32_t low = low_position(&c->side[side], analysis->fwd, packet->seq, false);
    uint64_t pos = position(&c->side[side], low);
    uint64_t stop = pos + packet->length + packet->missing;
    if (packet->flags & IW_TCP_ACK)
        acknowledge(c, iw_observed_other(side), analysis->rev, packet->ack, false);
    if (packet->length && pos < BEFORE && iwd_find_chunk(c, side, pinfo->num, low) == NULL) {
        int offset = (int)(packet->payload - tvb_get_ptr(tvb, 0, -1));
        struct iwd_chunk *chunk = iwd_follow(
            c, pinfo, side, pos,
            tvb_new_subset_length_caplen(tvb, offset, (int)packet->length, (int)(stop - pos)));
        chunk->late = true;
        chunk->offset = (uint32_t)offset;
        p_add_proto_data(wmem_file_scope(), pinfo, iwd_proto, EXTRA_LATE, chunk);
    }
    if (packet->flags & (IW_TCP_FIN | IW_TCP_RST)) {
        struct iwd_chunk *chunk =
            iwd_follow_end(c, pinfo, side, stop, (packet->flags & IW_TCP_RST) != 0);
        if (chunk != NULL)
            p_add_proto_data(wmem_file_scope(), pinfo, iwd_proto, EXTRA_END, chunk);
    }
}

static void follow_frame(tvbuff_t *tvb, packet_info *pinfo)
{
    struct iwd_connection *c = pinfo->ptype == PT_TCP ? iwd_connection_of(pinfo) : NULL;
    struct tcp_analysis *analysis =
        c != NULL ? get_tcp_conversation_data(find_conversation_pinfo(pinfo, 0), pinfo) : NULL;
    struct iw_packet packet;
    if (analysis != NULL && get_packet(tvb, pinfo, &packet))
        follow_packet(tvb, pinfo, c, analysis, &packet);
}

static int dissect_extra(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data _U_)
{
    if (!PINFO_FD_VISITED(pinfo)) {
        follow_frame(tvb, pinfo);
        iwd_frame_followed(pinfo);
    }
    struct iwd_chunk *chunk = p_get_proto_data(wmem_file_scope(), pinfo, iwd_proto, EXTRA_LATE);
    struct iwd_chunk *end = p_get_proto_data(wmem_file_scope(), pinfo, iwd_proto, EXTRA_END);
    if (chunk != NULL || end != NULL)
        iwd_shown = iwd_connection_of(pinfo);
    if (chunk != NULL)
        iwd_draw_chunk(chunk, tvb_new_subset_length(tvb, (int)chunk->offset, (int)chunk->length),
                       pinfo, tree);
    if (end != NULL)
        iwd_draw_chunk(end, tvb, pinfo, tree);
    iwd_draw_end(tvb, pinfo, tree);
    return (int)tvb_captured_length(tvb);
}

/* ---- ports that others own ---- */

/* Before the dissectors of these ports see a segment, the plugin looks for a start-up frame in it.
 * The default has the ports of SMB, iSCSI, NVMe, SMB Direct and perftest. */
#define PORTS "445,860,3260,4420,5445,9009"

static range_t *ports;
static GHashTable *owners; /* dissector_handle_t by port */
static dissector_handle_t port_handle;

static int try_port(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (try_connection(tvb, pinfo, tree, data))
        return (int)tvb_reported_length(tvb);
    dissector_handle_t owner = g_hash_table_lookup(owners, GUINT_TO_POINTER(pinfo->match_uint));
    if (owner == NULL)
        return 0;
    /* As if TCP had called it. */
    pinfo->can_desegment = pinfo->saved_can_desegment;
    return call_dissector_only(owner, tvb, pinfo, tree, data);
}

static void take_port(uint32_t port, void *table)
{
    dissector_handle_t owner = dissector_get_uint_handle(table, port);

    if (port == 0 || owner == NULL || owner == port_handle)
        return;
    g_hash_table_insert(owners, GUINT_TO_POINTER(port), owner);
    dissector_add_uint("tcp.port", port, port_handle);
}

static void give_port_back(gpointer port, gpointer owner, gpointer data _U_)
{
    dissector_add_uint("tcp.port", GPOINTER_TO_UINT(port), owner);
}

static void apply_preferences(void)
{
    g_hash_table_foreach(owners, give_port_back, NULL);
    g_hash_table_remove_all(owners);
    range_foreach(ports, take_port, find_dissector_table("tcp.port"));
}

static void free_ports(void)
{
    g_hash_table_destroy(owners);
}

/* ---- registration ---- */

void iwd_register(void)
{
    iwd_proto = proto_register_protocol("iWARP (MPA, DDP, RDMAP)", "iWARP", "iwarp");
    int port_proto = proto_register_protocol_in_name_only("iWARP on others' ports", "iWARP ports",
                                                          "iwarp_ports", iwd_proto, FT_PROTOCOL);
    iwd_register_fields(iwd_proto);
    iwd_register_ulp(iwd_proto);
    iwd_register_stats(iwd_proto);
    iwd_register_stream(iwd_proto);
    iwd_register_export(iwd_proto);
    handle = register_dissector("iwarp", dissect, iwd_proto);
    port_handle = create_dissector_handle(try_port, port_proto);
    owners = g_hash_table_new(NULL, NULL);

    iwd_register_memory();
    iwd_register_end();
    register_shutdown_routine(free_ports);

    module_t *module = prefs_register_protocol(iwd_proto, apply_preferences);
    range_convert_str(wmem_epan_scope(), &ports, PORTS, UINT16_MAX);
    prefs_register_range_preference(module, "ports", "Look first on TCP ports",
                                    "On these ports a connection that begins with an MPA start-up "
                                    "frame is iWARP, whichever other protocol owns the port.",
                                    &ports, 65535);
    prefs_register_bool_preference(module, "built_in", "Leave iWARP to the built-in dissectors",
                                   "New connections are not looked at: Wireshark's own iWARP "
                                   "dissectors take them.",
                                   &built_in);
    prefs_register_uint_preference(module, "keep", "Keep MiB of Writes and Read Responses",
                                   "The octets of messages of several segments are shown together "
                                   "where the last one ends. Limits how many MiB of Writes and "
                                   "Read Responses are kept in memory for this, except on "
                                   "connections with a known upper layer.",
                                   10, &iwd_keep);
    prefs_register_uint_preference(module, "mss", "Effective maximum segment size",
                                   "Octets of payload that one TCP segment of either side takes, "
                                   "options counted off: then the sizes of ULPDUs are judged. 0: "
                                   "not known. As iwarp-lint --mss.",
                                   10, &iwd_mss);
    prefs_register_bool_preference(module, "default_config", "Nobody has configured the sides",
                                   "Then their start-up frames ask for CRCs. As iwarp-lint "
                                   "--assume default-config.",
                                   &iwd_default_config);
    prefs_register_bool_preference(module, "intact", "The octets are as they were sent",
                                   "Nothing on their way changed them, so that a wrong CRC is its "
                                   "sender's: one whose CRCs are all wrong is reported once, and "
                                   "the rest is judged. As iwarp-lint --assume intact.",
                                   &iwd_intact);
    prefs_register_bool_preference(module, "quirks", "Look through quirks",
                                   "A deviation that would hide all others is reported once, and "
                                   "what it bends is read as its sender meant it. Off: as "
                                   "iwarp-lint --no-quirks.",
                                   &iwd_quirks);
}

void iwd_handoff(void)
{
    module_t *tcp = prefs_find_module("tcp");

    relative_pref = tcp != NULL ? prefs_find_preference(tcp, "relative_sequence_numbers") : NULL;
    analyze_pref = tcp != NULL ? prefs_find_preference(tcp, "analyze_sequence_numbers") : NULL;
    heur_dissector_add("tcp", try_connection, "iWARP over TCP", "iwarp_tcp", iwd_proto,
                       HEURISTIC_ENABLE);
    register_postdissector(create_dissector_handle(dissect_extra, iwd_proto));
    dissector_add_for_decode_as("tcp.port", handle);
    iwd_handoff_ulp();
    iwd_handoff_stats();
    apply_preferences();
}
