/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -z conv,iwarp and -z endpoints,iwarp. They count packets that complete an FPDU or a start-up
 * frame, and the bytes that DDP carried. */
#include "stats_tap.h"

#include <epan/conversation_table.h>

/* Returns the name of the field for a filter on an end. */
static const char *filter_name(const address *a, conv_filter_type_e what)
{
    static const char *const names[][CONV_FT_ANY_PORT + 1] = {
        {"ip.src", "ip.dst", "ip.addr", "tcp.srcport", "tcp.dstport", "tcp.port"},
        {"ipv6.src", "ipv6.dst", "ipv6.addr", "tcp.srcport", "tcp.dstport", "tcp.port"}};

    if ((a->type != AT_IPv4 && a->type != AT_IPv6) || (unsigned)what > CONV_FT_ANY_PORT)
        return CONV_FILTER_INVALID;
    return names[a->type == AT_IPv6][what];
}

static const char *conversation_filter(conv_item_t *item, conv_filter_type_e what)
{
    return filter_name(&item->src_address, what);
}

static const char *endpoint_filter(endpoint_item_t *item, conv_filter_type_e what)
{
    return filter_name(&item->myaddress, what);
}

struct ends {
    const address *from, *to;
    uint32_t from_port, to_port;
};

static struct ends ends_of(const struct iwd_seen *s, const packet_info *pinfo)
{
    struct ends as_frame = {&pinfo->src, &pinfo->dst, pinfo->srcport, pinfo->destport};
    struct ends reversed = {&pinfo->dst, &pinfo->src, pinfo->destport, pinfo->srcport};

    return s->reversed ? reversed : as_frame;
}

static tap_packet_status add_conversation(void *table, packet_info *pinfo, epan_dissect_t *edt _U_,
                                          const void *seen, tap_flags_t flags)
{
    static ct_dissector_info_t info = {conversation_filter};
    const struct iwd_seen *s = seen;
    struct ends e = ends_of(s, pinfo);
    conv_hash_t *hash = table;

    hash->flags = flags;
    add_conversation_table_data_with_conv_id(hash, e.from, e.to, e.from_port, e.to_port, s->stream,
                                             s->first, (int)s->payload, &pinfo->rel_ts,
                                             &pinfo->abs_ts, &info, CONVERSATION_TCP);
    return TAP_PACKET_REDRAW;
}

static tap_packet_status add_endpoints(void *table, packet_info *pinfo, epan_dissect_t *edt _U_,
                                       const void *seen, tap_flags_t flags)
{
    static et_dissector_info_t info = {endpoint_filter};
    const struct iwd_seen *s = seen;
    struct ends e = ends_of(s, pinfo);
    conv_hash_t *hash = table;

    hash->flags = flags;
    add_endpoint_table_data(hash, e.from, e.from_port, TRUE, s->first, (int)s->payload, &info,
                            ENDPOINT_TCP);
    add_endpoint_table_data(hash, e.to, e.to_port, FALSE, s->first, (int)s->payload, &info,
                            ENDPOINT_TCP);
    return TAP_PACKET_REDRAW;
}

void iwd_register_conversations(int proto)
{
    register_conversation_table(proto, FALSE, add_conversation, add_endpoints);
}
