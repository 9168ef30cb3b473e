/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs on every pass: NVMe/RDMA and iSER. Wireshark's dissectors of both know only InfiniBand. They
 * find the port in the connection manager's data of a conversation of queue pairs, and the
 * operation in the headers. This file calls them with iWARP translated into these terms: the ports
 * stand for the queue pairs; the octets of the private data and the STags, TOs and lengths are
 * those of the connection. Only the packet sequence number, by which responses find their requests,
 * has no counterpart: each request gets a number of its own.
 */
#include "iwarp_dissector.h"

#include <epan/dissectors/packet-infiniband.h>

enum { NVME_PORT = 4420, ISER_PORT = 3260, ISER_OLD_PORT = 860 };

/* Offset of the ULP's private data in a connection manager's request, after the IP addressing. */
enum { PRIVATE_DATA = 176 };

/* Service of a TCP port (InfiniBand annex A11). */
#define SERVICE_TCP 0x01060000u

enum { NVME_PRIVATE_LENGTH = 32, NVME_REFUSAL = 4, ISER_SHORTEST = 28 + 48, ISER_CONTROL = 0x10 };

static int nvme_proto, iser_proto, infiniband_proto;
static heur_dtbl_entry_t *nvme, *nvme_private, *iser;

/* ---- the conversations that they look for ---- */

static conversation_infiniband_data *data_of(conversation_t *conversation)
{
    conversation_infiniband_data *d = conversation_get_proto_data(conversation, infiniband_proto);

    if (d == NULL) {
        d = wmem_new0(wmem_file_scope(), conversation_infiniband_data);
        conversation_add_proto_data(conversation, infiniband_proto, d);
    }
    return d;
}

/* Returns the conversation of the messages to one end, whoever sends them. */
static conversation_infiniband_data *to_end(const packet_info *pinfo, const address *end,
                                            uint32_t port)
{
    conversation_t *conversation = find_conversation(pinfo->num, end, end, CONVERSATION_IBQP, port,
                                                     port, NO_ADDR_B | NO_PORT_B);

    if (conversation == NULL)
        conversation = conversation_new(pinfo->num, end, end, CONVERSATION_IBQP, port, port,
                                        NO_ADDR2 | NO_PORT2);
    return data_of(conversation);
}

/* Sets, before each call, what distinguishes this connection from others with the same ends. */
static void state(const packet_info *pinfo, uint16_t port)
{
    struct iwd_connection *c = iwd_shown;
    bool from_initiator = iwd_side_of(c, pinfo) == IW_SIDE_INITIATOR;
    const address *initiator = from_initiator ? &pinfo->src : &pinfo->dst;
    const address *responder = from_initiator ? &pinfo->dst : &pinfo->src;
    uint32_t initiator_port = from_initiator ? pinfo->srcport : pinfo->destport;
    uint32_t responder_port = from_initiator ? pinfo->destport : pinfo->srcport;
    if (c->queue_pairs == NULL)
        c->queue_pairs = conversation_new(pinfo->num, initiator, responder, CONVERSATION_IBQP,
                                          initiator_port, responder_port, 0);
    conversation_infiniband_data *all[3];
    all[0] = data_of(c->queue_pairs);
    all[1] = to_end(pinfo, initiator, initiator_port);
    all[2] = to_end(pinfo, responder, responder_port);
    for (int k = 0; k < 3; k++) {
        all[k]->service_id = SERVICE_TCP | port;
        all[k]->client_to_server = k == 2;
        all[k]->src_qp = k == 1 ? responder_port : initiator_port;
        memcpy(all[k]->mad_private_data + PRIVATE_DATA, c->private_data, sizeof(c->private_data));
    }
}

/* ---- operations ---- */

static uint8_t opcode_of(const rdmap_info_t *info)
{
    switch (info->opcode) {
    case RDMA_WRITE:
        return RC_RDMA_WRITE_ONLY;
    case RDMA_READ_REQUEST:
        return RC_RDMA_READ_REQUEST;
    case RDMA_READ_RESPONSE:
        return RC_RDMA_READ_RESPONSE_ONLY;
    case RDMA_SEND_INVALIDATE:
    case RDMA_SEND_SE_INVALIDATE:
        return RC_SEND_ONLY_INVAL;
    default:
        return RC_SEND_ONLY;
    }
}

static struct infinibandinfo info_of(const struct iwd_offer *o, tvbuff_t *tvb, proto_tree *tree)
{
    const rdmap_request_t *r = o->info.read_request;
    struct infinibandinfo info = {
        .payload_tree = tree, .opCode = opcode_of(&o->info), .packet_seq_num = o->id};

    if (r != NULL) {
        info.reth_remote_key = r->source_stag;
        info.reth_remote_address = r->source_toffset;
        info.reth_dma_length = r->message_size;
    } else if (o->info.is_tagged) {
        info.reth_remote_key = o->info.steering_tag;
        info.reth_remote_address = o->info.tagged_offset;
        info.reth_dma_length = tvb_reported_length(tvb);
    }
    return info;
}

static int call(heur_dtbl_entry_t *entry, uint16_t port, struct infinibandinfo *info, tvbuff_t *tvb,
                packet_info *pinfo, proto_tree *tree)
{
    state(pinfo, port);
    call_heur_dissector_direct(entry, tvb, pinfo, tree, info);
    return (int)tvb_reported_length(tvb);
}

static int dissect_nvme(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct iwd_offer *o = data;

    if (nvme == NULL || o == NULL || iwd_shown == NULL || o->info.opcode > RDMA_SEND_SE_INVALIDATE)
        return 0;
    struct infinibandinfo info = info_of(o, tvb, tree);
    if (o->info.read_request != NULL)
        tvb = tvb_new_subset_length(tvb, 0, 0);
    (void)call(nvme, NVME_PORT, &info, tvb, pinfo, tree);
    return 1;
}

static int dissect_nvme_private(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct iwd_private *p = data;
    bool refusal = p != NULL && (p->startup.flags & IW_MPA_FLAG_R);
    struct infinibandinfo info = {.payload_tree = tree};

    if (nvme_private == NULL || p == NULL || iwd_shown == NULL ||
        tvb_captured_length(tvb) < (refusal ? NVME_REFUSAL : NVME_PRIVATE_LENGTH))
        return 0;
    info.cm_attribute_id = p->side == IW_SIDE_INITIATOR ? ATTR_CM_REQ
                           : refusal                    ? ATTR_CM_REJ
                                                        : ATTR_CM_REP;
    return call(nvme_private, NVME_PORT, &info, tvb, pinfo, tree);
}

/* Wireshark's dissector of iSER knows the iSCSI PDUs, not Hello and HelloReply. */
static int dissect_iser(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct iwd_offer *o = data;

    if (iser == NULL || o == NULL || iwd_shown == NULL || o->info.is_tagged ||
        o->info.read_request != NULL || tvb_captured_length(tvb) < ISER_SHORTEST ||
        (iwd_tvb_u8(tvb, 0) & 0xf3) != ISER_CONTROL)
        return 0;
    struct infinibandinfo info = info_of(o, tvb, tree);
    return call(iser, ISER_PORT, &info, tvb, pinfo, tree);
}

bool iwd_is_iser(dissector_handle_t handle)
{
    return dissector_handle_get_protocol_index(handle) == iser_proto;
}

/* ---- registration ---- */

void iwd_register_infiniband(void)
{
    nvme_proto = proto_register_protocol_in_name_only("NVMe/RDMA over iWARP", "NVMe/iWARP",
                                                      "iwarp_nvme", iwd_proto, FT_PROTOCOL);
    iser_proto = proto_register_protocol_in_name_only("iSER over iWARP", "iSER/iWARP", "iwarp_iser",
                                                      iwd_proto, FT_PROTOCOL);
}

void iwd_handoff_infiniband(void)
{
    dissector_handle_t iser_handle = create_dissector_handle(dissect_iser, iser_proto);

    infiniband_proto = proto_get_id_by_filter_name("infiniband");
    nvme = find_heur_dissector_by_unique_short_name("nvme_rdma");
    nvme_private = find_heur_dissector_by_unique_short_name("nvme_rdma_cm_private");
    iser = find_heur_dissector_by_unique_short_name("iser_infiniband");
    dissector_add_uint("iwarp.port", NVME_PORT, create_dissector_handle(dissect_nvme, nvme_proto));
    dissector_add_uint("iwarp.port", ISER_PORT, iser_handle);
    dissector_add_uint("iwarp.port", ISER_OLD_PORT, iser_handle);
    dissector_add_uint("iwarp.private_data.port", NVME_PORT,
                       create_dissector_handle(dissect_nvme_private, nvme_proto));
}
