/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs on every pass: draws DDP and RDMAP. */
#include "iwarp_dissector.h"

#include <inttypes.h>

struct row {
    enum iwd_field field;
    int at, length;
};

static void draw_rows(const struct row *rows, size_t n, tvbuff_t *tvb, int offset, proto_tree *tree)
{
    for (size_t k = 0; k < n; k++)
        proto_tree_add_item(tree, iwd_hf[rows[k].field], tvb, offset + rows[k].at, rows[k].length,
                            ENC_BIG_ENDIAN);
}

#define DRAW_ROWS(rows, tvb, offset, tree) draw_rows(rows, G_N_ELEMENTS(rows), tvb, offset, tree)

static const struct row tagged_rows[] = {{F_STAG, IW_AT_STAG, 4}, {F_TO, IW_AT_TO, 8}};
static const struct row untagged_rows[] = {
    {F_QN, IW_AT_QN, 4}, {F_MSN, IW_AT_MSN, 4}, {F_MO, IW_AT_MO, 4}};
static const struct row ddp_rows[] = {{F_DDP_CONTROL, IW_AT_DDP_CONTROL, 1},
                                      {F_TAGGED, IW_AT_DDP_CONTROL, 1},
                                      {F_LAST, IW_AT_DDP_CONTROL, 1},
                                      {F_DDP_RSVD, IW_AT_DDP_CONTROL, 1},
                                      {F_DV, IW_AT_DDP_CONTROL, 1}};
static const struct row rdmap_rows[] = {{F_RDMAP_CONTROL, IW_AT_RDMAP_CONTROL, 1},
                                        {F_RV, IW_AT_RDMAP_CONTROL, 1},
                                        {F_RDMAP_RSV, IW_AT_RDMAP_CONTROL, 1},
                                        {F_OPCODE, IW_AT_RDMAP_CONTROL, 1}};
static const struct row read_rows[] = {{F_SINK_STAG, IW_AT_READ_SINK_STAG, 4},
                                       {F_SINK_TO, IW_AT_READ_SINK_TO, 8},
                                       {F_READ_SIZE, IW_AT_READ_SIZE, 4},
                                       {F_SOURCE_STAG, IW_AT_READ_SOURCE_STAG, 4},
                                       {F_SOURCE_TO, IW_AT_READ_SOURCE_TO, 8}};
static const struct row atomic_rows[] = {{F_ATOMIC_ID, IW_AT_ATOMIC_ID, 4},
                                         {F_ATOMIC_STAG, IW_AT_ATOMIC_STAG, 4},
                                         {F_ATOMIC_TO, IW_AT_ATOMIC_TO, 8},
                                         {F_ATOMIC_DATA, IW_AT_ATOMIC_DATA, 8},
                                         {F_ATOMIC_MASK, IW_AT_ATOMIC_MASK, 8},
                                         {F_COMPARE_DATA, IW_AT_ATOMIC_COMPARE, 8},
                                         {F_COMPARE_MASK, IW_AT_ATOMIC_COMPARE_MASK, 8}};
static const struct row atomic_response_rows[] = {{F_ATOMIC_ID, IW_AT_RESPONSE_ID, 4},
                                                  {F_ATOMIC_VALUE, IW_AT_RESPONSE_VALUE, 8}};
static const struct row terminate_rows[] = {{F_TERM_LAYER, IW_AT_TERM_LAYER, 1},
                                            {F_TERM_ETYPE, IW_AT_TERM_LAYER, 1},
                                            {F_TERM_CODE, IW_AT_TERM_CODE, 1}};
static const struct row terminate_flag_rows[] = {{F_TERM_M, IW_AT_TERM_FLAGS, 1},
                                                 {F_TERM_D, IW_AT_TERM_FLAGS, 1},
                                                 {F_TERM_R, IW_AT_TERM_FLAGS, 1},
                                                 {F_TERM_RESERVED, IW_AT_TERM_FLAGS, 2}};

/* ---- headers ---- */

/* Draws the DDP header at `offset`. Returns its subtree. */
static proto_tree *draw_ddp(const struct iw_ddp_header *h, tvbuff_t *tvb, int offset,
                            proto_tree *tree)
{
    bool tagged = iw_ddp_tagged(h);
    int length = (int)(tagged ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER);
    proto_tree *sub = iwd_subtree(tree, iwd_hf[F_DDP], tvb, offset, length, T_DDP);

    if (tagged)
        proto_item_append_text(sub, ", tagged, STag 0x%08x, TO 0x%" PRIx64, h->stag, h->to);
    else
        proto_item_append_text(sub, ", untagged, QN %u, MSN %u, MO %u", h->qn, h->msn, h->mo);
    if (iw_ddp_last(h))
        proto_item_append_text(sub, ", last segment");
    DRAW_ROWS(ddp_rows, tvb, offset, sub);
    if (tagged)
        DRAW_ROWS(tagged_rows, tvb, offset, sub);
    else
        DRAW_ROWS(untagged_rows, tvb, offset, sub);
    return sub;
}

static void draw_rdmap(const struct iw_ddp_header *h, tvbuff_t *tvb, int offset, proto_tree *sub)
{
    enum iwd_field field = iw_rdmap_invalidates(iw_rdmap_op(h)) ? F_INVALIDATE : F_RSVDULP;

    DRAW_ROWS(rdmap_rows, tvb, offset, sub);
    if (!iw_ddp_tagged(h))
        proto_tree_add_item(sub, iwd_hf[field], tvb, offset + IW_AT_INVALIDATE_STAG, 4,
                            ENC_BIG_ENDIAN);
}

static proto_tree *header_tree(enum iwd_field field, tvbuff_t *tvb, int offset, unsigned length,
                               proto_tree *tree)
{
    return iwd_subtree(tree, iwd_hf[field], tvb, offset, (int)length, T_HEADER);
}

static void draw_read_request(tvbuff_t *tvb, int offset, proto_tree *tree)
{
    DRAW_ROWS(read_rows, tvb, offset,
              header_tree(F_READ_REQUEST, tvb, offset, IW_RDMAP_READ_REQUEST, tree));
}

static void draw_atomic_request(tvbuff_t *tvb, int offset, proto_tree *tree)
{
    proto_tree *sub = header_tree(F_ATOMIC, tvb, offset, IW_RDMAP_ATOMIC_REQUEST, tree);
    struct iw_rdmap_atomic_request a;
    (void)iw_wire_get_atomic_request(tvb_get_ptr(tvb, offset, (int)IW_RDMAP_ATOMIC_REQUEST),
                                     IW_RDMAP_ATOMIC_REQUEST, &a);
    proto_tree_add_uint(sub, iwd_hf[F_ATOMIC_RESERVED], tvb, offset, 4, a.opcode >> 4);
    proto_tree_add_uint(sub, iwd_hf[F_AOPCODE], tvb, offset, 4, a.opcode & 0xf);
    DRAW_ROWS(atomic_rows, tvb, offset, sub);
}

static void draw_atomic_response(tvbuff_t *tvb, int offset, proto_tree *tree)
{
    DRAW_ROWS(atomic_response_rows, tvb, offset, tree);
}

static void draw_immediate(tvbuff_t *tvb, int offset, proto_tree *tree)
{
    proto_tree_add_item(tree, iwd_hf[F_IMMEDIATE], tvb, offset, (int)IW_RDMAP_IMMEDIATE, ENC_NA);
}

static void draw_terminate(const struct iwd_thing *t, tvbuff_t *tvb, int offset, proto_tree *tree)
{
    int length = tvb_captured_length_remaining(tvb, offset), at = offset + IW_AT_TERM_LENGTH;
    struct iw_rdmap_terminate m;
    int used = iw_wire_get_terminate(tvb_get_ptr(tvb, offset, length), (size_t)length, &m);
    if (used < 0) {
        proto_tree_add_item(tree, iwd_hf[F_HEADER_ODD], tvb, offset, length, ENC_NA);
        return;
    }
    proto_tree *sub = header_tree(F_TERMINATE, tvb, offset, (unsigned)length, tree);
    proto_item_append_text(proto_tree_get_parent(sub), ": %s: %s", iw_wire_term_layer_name(m.layer),
                           iw_wire_term_name(m.layer, m.etype, m.code));
    DRAW_ROWS(terminate_rows, tvb, offset, sub);
    generated(proto_tree_add_string(sub, iwd_hf[F_TERM_TEXT], tvb, offset, 2,
                                    iw_wire_term_name(m.layer, m.etype, m.code)));
    DRAW_ROWS(terminate_flag_rows, tvb, offset, sub);
    iwd_link(sub, F_TERM_CAUSE, tvb, iwd_rare_of(t)->cause);
    if (m.flags & (IW_TERM_D | IW_TERM_R)) {
        proto_tree *headers = header_tree(F_TERM_HEADERS, tvb, at, (unsigned)(used - 4), sub);
        if (m.flags & IW_TERM_D) {
            proto_tree_add_item(headers, iwd_hf[F_TERM_LENGTH], tvb, at, 2, ENC_BIG_ENDIAN);
            draw_rdmap(&m.ddp, tvb, at + 2, draw_ddp(&m.ddp, tvb, at + 2, headers));
            at += 2 + (int)(iw_ddp_tagged(&m.ddp) ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER);
        }
        if (m.flags & IW_TERM_R)
            draw_read_request(tvb, at, headers);
    }
    if (m.trailing)
        proto_tree_add_item(sub, iwd_hf[F_TERM_TRAILING], tvb, offset + used, (int)m.trailing,
                            ENC_NA);
}

/* ---- what was worked out ---- */

/* Returns true for a message of one segment with nothing more to show. */
static bool is_short(const struct iwd_message *m)
{
    return m == NULL || (m->segments == 1 && m->whole && m->octets == IWD_OCTETS_HERE);
}

static void draw_message(const struct iwd_thing *t, tvbuff_t *tvb, proto_tree *tree)
{
    const struct iwd_message *m = t->message;
    bool last = m->last == t->frame && m->whole;
    if (is_short(m))
        return;
    proto_tree *sub = iwd_subtree(tree, iwd_hf[F_MESSAGE], tvb, 0, 0, T_MESSAGE);
    generated(sub);
    iwd_link(sub, F_MESSAGE_FIRST, tvb, m->first);
    if (m->whole && !last)
        iwd_link(sub, F_MESSAGE_IN, tvb, m->last);
    if (m->octets != IWD_OCTETS_HERE)
        generated(proto_tree_add_string(sub, iwd_hf[F_MESSAGE_NO_DATA], tvb, 0, 0,
                                        m->octets == IWD_OCTETS_MISSING
                                            ? "not all its octets came"
                                            : "the preference iwarp.keep is used up"));
    if (!last)
        return;
    nstime_t time;
    nstime_delta(&time, &m->ended, &m->begun);
    generated(proto_tree_add_uint64(sub, iwd_hf[F_MESSAGE_LENGTH], tvb, 0, 0, m->length));
    generated(proto_tree_add_uint(sub, iwd_hf[F_MESSAGE_SEGMENTS], tvb, 0, 0, m->segments));
    generated(proto_tree_add_time(sub, iwd_hf[F_MESSAGE_TIME], tvb, 0, 0, &time));
}

static void draw_request_links(const struct iwd_thing *t, tvbuff_t *tvb, proto_tree *tree)
{
    const struct iwd_message *m = t->message;
    if (m->outstanding) {
        generated(proto_tree_add_uint(tree, iwd_hf[F_OUTSTANDING], tvb, 0, 0, m->outstanding));
        if (m->ird != UINT32_MAX)
            generated(proto_tree_add_uint(tree, iwd_hf[F_OUTSTANDING_LIMIT], tvb, 0, 0, m->ird));
        if (m->ord != UINT32_MAX)
            generated(proto_tree_add_uint(tree, iwd_hf[F_OUTSTANDING_ORD], tvb, 0, 0, m->ord));
    }
    if (m->response != NULL)
        iwd_link(tree, F_RESPONSE_IN, tvb, m->response->last);
    if (m->request == NULL)
        return;
    iwd_link(tree, F_RESPONSE_TO, tvb, m->request->first);
    if (m->whole && m->last == t->frame) {
        nstime_t time;
        nstime_delta(&time, &m->ended, &m->request->begun);
        generated(proto_tree_add_time(tree, iwd_hf[F_RESPONSE_TIME], tvb, 0, 0, &time));
        proto_item_append_text(proto_tree_get_parent(tree), ", answers frame %u after %.3f ms",
                               m->request->first, nstime_to_msec(&time));
    }
}

/* Draws an STag: all of it, or (on the first pass over a capture) only its first use. */
static void draw_stag(const struct iwd_stag *s, bool all, tvbuff_t *tvb, proto_tree *tree)
{
    proto_tree *sub = iwd_subtree(tree, iwd_hf[F_STAG_USE], tvb, 0, 0, T_STAG);

    proto_item_append_text(generated(sub), " 0x%08x", s->stag);
    iwd_link(sub, F_STAG_FIRST, tvb, s->first);
    if (!all)
        return;
    iwd_link(sub, F_STAG_LAST, tvb, s->last);
    iwd_link(sub, F_STAG_INVALIDATED, tvb, s->invalidated);
    generated(proto_tree_add_uint(sub, iwd_hf[F_STAG_USES], tvb, 0, 0, s->uses));
    generated(proto_tree_add_uint64(sub, iwd_hf[F_STAG_LOW], tvb, 0, 0, s->low));
    generated(proto_tree_add_uint64(sub, iwd_hf[F_STAG_HIGH], tvb, 0, 0, s->high));
}

static void draw_ddp_worked_out(const struct iwd_thing *t, const struct iw_ddp_header *h,
                                bool again, tvbuff_t *tvb, proto_tree *sub)
{
    const struct iwd_rare *rare = iwd_rare_of(t);

    if (t->message != NULL && iw_ddp_tagged(h))
        generated(proto_tree_add_uint64(sub, iwd_hf[F_TO_RELATIVE], tvb, 6, 8, t->message_pos));
    if (t->stag != NULL && iw_ddp_tagged(h))
        draw_stag(t->stag, again, tvb, sub);
    if (rare->wrong_msn)
        generated(proto_tree_add_uint(sub, iwd_hf[F_MSN_EXPECTED], tvb, 10, 4, rare->msn));
    if (rare->wrong_mo)
        generated(proto_tree_add_uint(sub, iwd_hf[F_MO_EXPECTED], tvb, 14, 4, rare->mo));
}

/* ---- a segment ---- */

/* Draws the octets after an untagged header, if they are not the ULP's. */
static void draw_header(const struct iwd_thing *t, const struct iw_ddp_header *h, tvbuff_t *tvb,
                        int offset, proto_tree *tree)
{
    static const struct {
        unsigned length;
        void (*draw)(tvbuff_t *tvb, int offset, proto_tree *tree);
    } headers[16] = {
        [IW_OP_READ_REQUEST] = {IW_RDMAP_READ_REQUEST, draw_read_request},
        [IW_OP_ATOMIC_REQUEST] = {IW_RDMAP_ATOMIC_REQUEST, draw_atomic_request},
        [IW_OP_ATOMIC_RESPONSE] = {IW_RDMAP_ATOMIC_RESPONSE, draw_atomic_response},
        [IW_OP_IMMEDIATE] = {IW_RDMAP_IMMEDIATE, draw_immediate},
        [IW_OP_IMMEDIATE_SE] = {IW_RDMAP_IMMEDIATE, draw_immediate},
    };
    unsigned opcode = iw_rdmap_op(h);
    int length = tvb_captured_length_remaining(tvb, offset);

    if (opcode == IW_OP_TERMINATE)
        draw_terminate(t, tvb, offset, tree);
    else if (headers[opcode].draw != NULL && length == (int)headers[opcode].length)
        headers[opcode].draw(tvb, offset, tree);
    else if (headers[opcode].draw != NULL)
        proto_tree_add_item(tree, iwd_hf[F_HEADER_ODD], tvb, offset, length, ENC_NA);
}

/* Draws the headers; again: not on the first pass. */
static void draw_headers(const struct iwd_thing *t, const struct iw_ddp_header *h, bool again,
                         tvbuff_t *tvb, int offset, proto_tree *tree)
{
    proto_tree *sub = draw_ddp(h, tvb, 0, tree);

    draw_ddp_worked_out(t, h, again, tvb, sub);
    sub = proto_item_add_subtree(proto_tree_add_none_format(tree, iwd_hf[F_RDMAP], tvb, 1, -1,
                                                            "RDMAP, %s",
                                                            iw_wire_opcode_name(iw_rdmap_op(h))),
                                 iwd_ett[T_RDMAP]);
    draw_rdmap(h, tvb, 0, sub);
    if (iwd_rare_of(t)->invalidated != NULL)
        draw_stag(iwd_rare_of(t)->invalidated, true, tvb, sub);
    if (!iw_ddp_tagged(h))
        draw_header(t, h, tvb, offset, sub);
    if (t->stag != NULL && !iw_ddp_tagged(h))
        draw_stag(t->stag, again, tvb, sub);
    if (t->message != NULL) {
        draw_request_links(t, tvb, sub);
        draw_message(t, tvb, sub);
    }
    if (iw_ddp_last(h) && is_short(t->message)) /* for filters and graphs: its payload shows it */
        proto_item_set_hidden(generated(proto_tree_add_uint64(sub, iwd_hf[F_MESSAGE_LENGTH], tvb, 0,
                                                              0, t->length - (uint32_t)offset)));
}

/* Adds an expert info for a Terminate. */
static void note_terminate(const struct iwd_thing *t, tvbuff_t *tvb, int offset, packet_info *pinfo,
                           proto_item *item)
{
    int length = tvb_captured_length_remaining(tvb, offset);
    struct iw_rdmap_terminate m;
    if (iw_wire_get_terminate(tvb_get_ptr(tvb, offset, length), (size_t)length, &m) < 0)
        return;
    expert_add_info_format(pinfo, item, &iwd_ei_remark[R_TERMINATE], "the %s terminates: %s: %s",
                           iw_side_name((enum iw_side)t->side), iw_wire_term_layer_name(m.layer),
                           iw_wire_term_name(m.layer, m.etype, m.code));
}

static bool is_payload(const struct iw_ddp_header *h)
{
    unsigned opcode = iw_rdmap_op(h);

    return iw_ddp_tagged(h) || iw_rdmap_is_send(opcode) || !iw_rdmap_assigned(opcode, true) ||
           iw_rdmap_is_tagged(opcode);
}

/* Returns the segment as its sender meant it: a Terminate with its control word turned round. */
static tvbuff_t *look_through(tvbuff_t *tvb, int offset, packet_info *pinfo)
{
    int length = (int)tvb_captured_length(tvb);
    if (length - offset < (int)IW_TERM_WORD)
        return tvb;
    uint8_t *octets = tvb_memdup(pinfo->pool, tvb, 0, (size_t)length);
    iw_quirk_turn_terminate(octets + offset);
    tvbuff_t *meant = tvb_new_child_real_data(tvb, octets, (guint)length, length);
    add_new_data_source(pinfo, meant, "Terminate, control word turned round");
    return meant;
}

void iwd_draw_segment(const struct iwd_thing *t, tvbuff_t *tvb, packet_info *pinfo,
                      proto_tree *tree, proto_tree *root)
{
    int length = (int)tvb_captured_length(tvb);
    struct iw_ddp_header h;
    int used = iw_wire_get_ddp(tvb_get_ptr(tvb, 0, length), (size_t)length, &h);
    if (used < 0) {
        proto_tree_add_item(tree, iwd_hf[F_HEADER_ODD], tvb, 0, length, ENC_NA);
        return;
    }
    if (iw_quirk_in(iwd_rare_of(t)->quirks, IW_QUIRK_TERMINATE_REVERSED))
        tvb = look_through(tvb, used, pinfo);
    if (tree != NULL)
        draw_headers(t, &h, PINFO_FD_VISITED(pinfo), tvb, used, tree);
    if (t->crc == IWD_CRC_BAD)
        return;
    tvbuff_t *payload = tvb_new_subset_remaining(tvb, used);
    if (!iw_ddp_tagged(&h) && iw_rdmap_op(&h) == IW_OP_TERMINATE)
        note_terminate(t, tvb, used, pinfo, proto_tree_get_parent(tree));
    if (!iw_ddp_tagged(&h) && iw_rdmap_op(&h) == IW_OP_READ_REQUEST)
        iwd_announce_read(t, &h, payload, pinfo, root);
    if (is_payload(&h))
        iwd_draw_payload(t, &h, payload, pinfo, tree, root);
}
