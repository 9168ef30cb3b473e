/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs on every pass: offers the ULP's octets to the dissectors that understand them. */
#include "iwarp_dissector.h"

/* Those who may understand octets. */
struct callees {
    dissector_table_t ports; /* by port of either end, the responder's first: the defaults, and
                                "Decode As" */
    heur_dissector_list_t list;
};

static struct callees message_ports, message_list, private_ports, private_list;
/* The built-in dissector's list: RPC-over-RDMA and SMB Direct are on it. */
static struct callees built_in;

enum { SHORTEST = 16 /* the one for RPC-over-RDMA throws on less */ };

/* ---- tables ---- */

static gpointer source_value(packet_info *pinfo)
{
    return GUINT_TO_POINTER(pinfo->srcport);
}

static gpointer destination_value(packet_info *pinfo)
{
    return GUINT_TO_POINTER(pinfo->destport);
}

static void source_label(packet_info *pinfo, char *label)
{
    g_snprintf(label, MAX_DECODE_AS_PROMPT_LEN, "port %u as", pinfo->srcport);
}

static void destination_label(packet_info *pinfo, char *label)
{
    g_snprintf(label, MAX_DECODE_AS_PROMPT_LEN, "port %u as", pinfo->destport);
}

/* libwireshark keeps what it is given here. */
static build_valid_func source[] = {source_value}, destination[] = {destination_value};
static decode_as_value_t values[] = {{source_label, 1, source},
                                     {destination_label, 1, destination}};

/* The members that all tables by port have in common. */
#define BY_PORT                                                                                    \
    .name = "iwarp", .num_items = G_N_ELEMENTS(values), .default_index_value = 1,                  \
    .values = values, .populate_list = decode_as_default_populate_list,                            \
    .reset_value = decode_as_default_reset, .change_value = decode_as_default_change

static decode_as_t decode_messages = {.table_name = "iwarp.port", BY_PORT};
static decode_as_t decode_private = {.table_name = "iwarp.private_data.port", BY_PORT};

static dissector_table_t add_table(int proto, decode_as_t *decode_as, const char *title)
{
    dissector_table_t table =
        register_dissector_table(decode_as->table_name, title, proto, FT_UINT16, BASE_DEC);

    register_decode_as(decode_as); /* which looks for the table */
    return table;
}

void iwd_register_ulp(int proto)
{
    message_ports.ports = add_table(proto, &decode_messages, "iWARP messages, TCP port");
    private_ports.ports = add_table(proto, &decode_private, "iWARP private data, TCP port");
    message_list.list = register_heur_dissector_list("iwarp.message", proto);
    private_list.list = register_heur_dissector_list("iwarp.private_data", proto);
    iwd_register_infiniband();
}

void iwd_handoff_ulp(void)
{
    built_in.list = find_heur_dissector_list("iwarp_ddp_rdmap");
    iwd_handoff_infiniband();
}

bool iwd_has_ulp(uint32_t port, bool tagged)
{
    dissector_handle_t handle = dissector_get_uint_handle(message_ports.ports, port);

    return handle != NULL && (!tagged || !iwd_is_iser(handle));
}

/* ---- calls ---- */

static uint32_t near_port(const packet_info *pinfo, bool responder)
{
    bool from_responder = iwd_side_of(iwd_shown, pinfo) == IW_SIDE_RESPONDER;

    return from_responder == responder ? pinfo->srcport : pinfo->destport;
}

static bool try_ports(dissector_table_t table, tvbuff_t *tvb, packet_info *pinfo, proto_tree *root,
                      void *data)
{
    return iwd_try_uint(table, near_port(pinfo, true), tvb, pinfo, root, data) > 0 ||
           iwd_try_uint(table, near_port(pinfo, false), tvb, pinfo, root, data) > 0;
}

static bool try_list(heur_dissector_list_t list, tvbuff_t *tvb, packet_info *pinfo,
                     proto_tree *root, void *data)
{
    heur_dtbl_entry_t *entry;
    return dissector_try_heuristic(list, tvb, pinfo, root, &entry, data);
}

/* Offers the octets to the built-in list. */
static bool try_built_in(tvbuff_t *tvb, packet_info *pinfo, proto_tree *root, void *data)
{
    port_type type = pinfo->ptype;

    if (built_in.list == NULL || tvb_captured_length(tvb) < MAX(SHORTEST, tvb_reported_length(tvb)))
        return false;
    pinfo->ptype = PT_IWARP_MPA;
    bool taken = try_list(built_in.list, tvb, pinfo, root, data);
    pinfo->ptype = type;
    return taken;
}

static bool call(const struct callees *who, tvbuff_t *tvb, packet_info *pinfo, proto_tree *root,
                 void *data)
{
    if (who->ports != NULL)
        return try_ports(who->ports, tvb, pinfo, root, data);
    return who == &built_in ? try_built_in(tvb, pinfo, root, data)
                            : try_list(who->list, tvb, pinfo, root, data);
}

/* Calls a ULP's dissector; an exception in it must not hide anything of iWARP. Returns true if the
 * octets were the ULP's. */
static bool try_ulp(const struct callees *who, tvbuff_t *tvb, packet_info *pinfo, proto_tree *root,
                    void *data)
{
    struct iwd_connection *shown = iwd_shown;
    const char *volatile proto = pinfo->current_proto;
    volatile port_type type = pinfo->ptype;
    volatile bool taken = true;

    TRY
    {
        taken = call(who, tvb, pinfo, root, data);
    }
    CATCH_NONFATAL_ERRORS
    {
        show_exception(tvb, pinfo, root, EXCEPT_CODE, GET_MESSAGE);
        pinfo->current_proto = proto;
        pinfo->ptype = type;
    }
    ENDTRY;
    iwd_shown = shown;
    return taken;
}

/* ---- private data ---- */

void iwd_draw_private(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, proto_tree *root,
                      const struct iw_mpa_startup_header *h)
{
    struct iwd_private private = {*h, iwd_side_of(iwd_shown, pinfo)};

    proto_tree_add_item(tree, iwd_hf[F_PRIVATE_DATA], tvb, 0, -1, ENC_NA);
    if (!try_ulp(&private_ports, tvb, pinfo, root, &private))
        (void)try_ulp(&private_list, tvb, pinfo, root, &private);
}

/* ---- messages ---- */

static bool claimed(const packet_info *pinfo)
{
    return iwd_shown->claimed && pinfo->num >= iwd_shown->claimed;
}

/* Records that from here on the ULP's dissector wants the messages. */
static bool claim(uint32_t *from, const packet_info *pinfo, bool taken)
{
    if (taken && !*from && !PINFO_FD_VISITED(pinfo))
        *from = pinfo->num;
    return taken;
}

void iwd_announce_read(const struct iwd_thing *t, const struct iw_ddp_header *h, tvbuff_t *tvb,
                       packet_info *pinfo, proto_tree *root)
{
    uint32_t length = tvb_captured_length(tvb);
    struct iw_rdmap_read_request r;
    if (length != IW_RDMAP_READ_REQUEST ||
        iw_wire_get_read_request(tvb_get_ptr(tvb, 0, (int)length), length, &r) < 0)
        return;
    rdmap_request_t request = {r.sink_stag, r.sink_to, r.source_stag, r.source_to, r.size};
    struct iwd_offer offer = {.info = {.opcode = RDMA_READ_REQUEST,
                                       .last_flag = TRUE,
                                       .queue_number = h->qn,
                                       .message_seq_num = h->msn,
                                       .read_request = &request},
                              .id = (uint32_t)t->pos};

    if (iwd_shown->by_port)
        (void)try_ulp(&message_ports, tvb, pinfo, root, &offer);
    else if (claimed(pinfo))
        (void)try_ulp(&built_in, tvb, pinfo, root, &offer);
}

/* Returns the whole payload if this segment completes the message; NULL if it does not, or if
 * octets are missing. */
static tvbuff_t *message_of(const struct iwd_thing *t, const struct iw_ddp_header *h, tvbuff_t *tvb,
                            packet_info *pinfo, proto_tree *tree)
{
    const struct iwd_message *m = t->message;

    if (!iw_ddp_last(h) || (m != NULL && m->octets != IWD_OCTETS_HERE))
        return NULL;
    if (m == NULL || m->segments == 1)
        return tvb_captured_length(tvb) < tvb_reported_length(tvb) ? NULL : tvb;
    if (!m->whole || m->last != t->frame || !m->length)
        return NULL;
    tvbuff_t *whole = tvb_new_child_real_data(tvb, m->data, (guint)m->length, (gint)m->length);
    add_new_data_source(pinfo, whole, "iWARP message");
    proto_tree_add_bytes_format(tree, iwd_hf[F_MESSAGE_DATA], whole, 0, -1, NULL,
                                "Payload of the message (%u octets)", (unsigned)m->length);
    return whole;
}

static void offer_tagged(struct iwd_offer *offer, tvbuff_t *tvb, tvbuff_t *whole,
                         const struct iwd_thing *t, packet_info *pinfo, proto_tree *root)
{
    struct iwd_connection *c = iwd_shown;

    if (!c->by_port && claimed(pinfo))
        (void)try_ulp(&built_in, tvb, pinfo, root, offer);
    if (whole == NULL)
        return;
    if (t->message != NULL)
        offer->info.tagged_offset = t->message->to;
    if (!c->by_port || !try_ulp(&message_ports, whole, pinfo, root, offer))
        (void)claim(&c->wants, pinfo, try_ulp(&message_list, whole, pinfo, root, offer));
}

static void offer_untagged(struct iwd_offer *offer, tvbuff_t *whole, packet_info *pinfo,
                           proto_tree *root)
{
    struct iwd_connection *c = iwd_shown;

    if ((!c->by_port || !try_ulp(&message_ports, whole, pinfo, root, offer)) &&
        !claim(&c->claimed, pinfo, try_ulp(&built_in, whole, pinfo, root, offer)))
        (void)claim(&c->wants, pinfo, try_ulp(&message_list, whole, pinfo, root, offer));
}

void iwd_draw_payload(const struct iwd_thing *t, const struct iw_ddp_header *h, tvbuff_t *tvb,
                      packet_info *pinfo, proto_tree *tree, proto_tree *root)
{
    const struct iwd_message *m = t->message;
    struct iwd_offer offer = {
        .info = {.opcode = (uint8_t)iw_rdmap_op(h), .last_flag = iw_ddp_last(h)},
        .id = m != NULL && m->request != NULL ? m->request->id
              : m != NULL                     ? m->id
                                              : (uint32_t)t->pos};
    uint32_t length = tvb_captured_length(tvb);

    if (length) {
        proto_tree_add_bytes_format(tree, iwd_hf[F_PAYLOAD], tvb, 0, -1, NULL,
                                    "Payload (%u octets)", length);
        iwd_tap_payload(tvb, pinfo);
        if (iw_ddp_tagged(h))
            iwd_tap_placed(t, h, tvb, pinfo);
    }
    tvbuff_t *whole = message_of(t, h, tvb, pinfo, tree);
    /* A dissector would take the STag of a tagged Send or an untagged Write for an MSN or the like.
     */
    if (!tvb_reported_length(whole != NULL ? whole : tvb) ||
        iw_ddp_tagged(h) != iw_rdmap_is_tagged(iw_rdmap_op(h)))
        return;
    if (iw_ddp_tagged(h)) {
        offer.info.is_tagged = TRUE;
        offer.info.steering_tag = h->stag;
        offer.info.tagged_offset = h->to;
        offer_tagged(&offer, tvb, whole, t, pinfo, root);
    } else if (whole != NULL) {
        offer.info.queue_number = h->qn;
        offer.info.message_seq_num = h->msn;
        offer_untagged(&offer, whole, pinfo, root);
    }
}
