/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every pass: what is the ULP's, for those who understand it. */
#include "iwarp_dissector.h"

static heur_dissector_list_t private_list;
/* The built-in dissector's: RPC-over-RDMA and SMB Direct are on it. */
static heur_dissector_list_t message_list;

enum { SHORTEST = 16 /* the one for RPC-over-RDMA throws on less */ };

void iwd_register_ulp(int proto)
{
    private_list = register_heur_dissector_list("iwarp.private_data", proto);
}

void iwd_handoff_ulp(void)
{
    message_list = find_heur_dissector_list("iwarp_ddp_rdmap");
}

void iwd_draw_private(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, proto_tree *root)
{
    heur_dtbl_entry_t *entry;

    proto_tree_add_item(tree, iwd_hf[F_PRIVATE_DATA], tvb, 0, -1, ENC_NA);
    (void)dissector_try_heuristic(private_list, tvb, pinfo, root, &entry, NULL);
}

/* They look at what the built-in dissector would tell them. */
static void offer(rdmap_info_t *info, tvbuff_t *tvb, packet_info *pinfo, proto_tree *root)
{
    port_type type = pinfo->ptype;
    heur_dtbl_entry_t *entry;

    if (!message_list || tvb_captured_length(tvb) < MAX(SHORTEST, tvb_reported_length(tvb)))
        return;
    pinfo->ptype = PT_IWARP_MPA;
    (void)dissector_try_heuristic(message_list, tvb, pinfo, root, &entry, info);
    pinfo->ptype = type;
}

void iwd_tell_read(const struct iw_ddp_header *h, const struct iw_rdmap_read_request *r,
                   tvbuff_t *tvb, packet_info *pinfo, proto_tree *root)
{
    rdmap_request_t request = {r->sink_stag, r->sink_to, r->source_stag, r->source_to, r->size};
    rdmap_info_t info = {.opcode = RDMA_READ_REQUEST, .last_flag = TRUE};

    info.queue_number = h->qn;
    info.message_seq_num = h->msn;
    info.read_request = &request;
    offer(&info, tvb, pinfo, root);
}

void iwd_draw_payload(const struct iwd_thing *t, const struct iw_ddp_header *h, tvbuff_t *tvb,
                      packet_info *pinfo, proto_tree *tree, proto_tree *root)
{
    const struct iwd_message *m = t->message;
    rdmap_info_t info = {.opcode = (uint8_t)iw_rdmap_op(h), .last_flag = iw_ddp_last(h)};
    uint32_t length = tvb_captured_length(tvb);

    if (!length)
        return;
    proto_tree_add_bytes_format(tree, iwd_hf[F_PAYLOAD], tvb, 0, -1, NULL, "Payload (%u octets)",
                                length);
    if (iw_ddp_tagged(h)) {
        info.is_tagged = TRUE;
        info.steering_tag = h->stag;
        info.tagged_offset = h->to;
    } else {
        info.queue_number = h->qn;
        info.message_seq_num = h->msn;
        if (!iw_ddp_last(h) || (m && m->segments > 1 && m->room < m->length))
            return;
        if (m && m->segments > 1) {
            tvb = tvb_new_child_real_data(tvb, m->data, (guint)m->length, (int)m->length);
            add_new_data_source(pinfo, tvb, "Reassembled Send");
        } else if (h->mo) {
            return;
        }
    }
    offer(&info, tvb, pinfo, root);
}
