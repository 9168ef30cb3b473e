/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs on every pass: draws MPA and the findings. */
#include "iwarp_dissector.h"

#include <inttypes.h>

enum { LINE = 500 };

/* Adds a thing to the information column. TCP may have written something before the first. */
static void add_info(packet_info *pinfo, bool first, const char *text)
{
    if (first)
        col_append_str(pinfo->cinfo, COL_INFO, text);
    else
        col_append_sep_str(pinfo->cinfo, COL_INFO, "; ", text);
}

void iwd_link(proto_tree *tree, enum iwd_field field, tvbuff_t *tvb, uint32_t frame)
{
    if (frame != 0)
        generated(proto_tree_add_uint(tree, iwd_hf[field], tvb, 0, 0, frame));
}

proto_tree *iwd_subtree(proto_tree *tree, int hf, tvbuff_t *tvb, int at, int length,
                        enum iwd_tree kind)
{
    return proto_item_add_subtree(proto_tree_add_item(tree, hf, tvb, at, length, ENC_NA),
                                  iwd_ett[kind]);
}

/* ---- findings ---- */

/* Returns what a finding says: the check, and what seems to be the matter with all of its kind. */
static const char *finding_text(const struct iwd_finding *f, packet_info *pinfo)
{
    const char *text = iw_check_info(f->check)->text;

    if (f->quirk == IW_QUIRK_COUNT || f->quirk == IW_QUIRK_TERMINATE_REVERSED)
        return text;
    return wmem_strdup_printf(pinfo->pool, "%s: %s", text, iw_quirk_text(f->quirk));
}

static void draw_finding(const struct iwd_finding *f, const struct iwd_thing *t, tvbuff_t *tvb,
                         packet_info *pinfo, proto_tree *tree)
{
    const struct iw_check_info *info = iw_check_info(f->check);
    const struct iw_rule *rule = iw_check_sender_rule(f->check);
    const char *level = iw_level_name(rule->level), *implied = rule->implied ? ", implied" : "";
    bool valued = f->got != f->want; /* iw_fault_has_values() */
    bool here = t != NULL && f->pos >= t->pos && f->pos - t->pos < tvb_captured_length(tvb);
    proto_tree *sub = iwd_subtree(tree, iwd_hf[F_FINDING], tvb, here ? (int)(f->pos - t->pos) : 0,
                                  here, T_FINDING);
    proto_item *item = generated(proto_tree_get_parent(sub));

    const char *text = finding_text(f, pinfo);

    proto_item_set_text(item, "%s: %s", rule->id, text);
    if (valued)
        proto_item_append_text(item, ": 0x%" PRIx64 ", expected 0x%" PRIx64, f->got, f->want);
    expert_add_info_format(pinfo, item, &iwd_ei[f->check], "%s (%s%s, RFC %u section %s): %s",
                           rule->id, level, implied, rule->rfc, rule->section, text);
    generated(proto_tree_add_string(sub, iwd_hf[F_RULE], tvb, 0, 0, rule->id));
    generated(proto_tree_add_string(sub, iwd_hf[F_LEVEL], tvb, 0, 0, level));
    generated(proto_tree_add_uint(sub, iwd_hf[F_RULE_RFC], tvb, 0, 0, rule->rfc));
    generated(proto_tree_add_string(sub, iwd_hf[F_RULE_SECTION], tvb, 0, 0, rule->section));
    generated(proto_tree_add_string(sub, iwd_hf[F_RULE_TEXT], tvb, 0, 0, rule->text));
    generated(proto_tree_add_string(sub, iwd_hf[F_CHECK], tvb, 0, 0, info->name));
    generated(proto_tree_add_uint(sub, iwd_hf[F_FINDING_SIDE], tvb, 0, 0, f->side));
    generated(proto_tree_add_uint64(sub, iwd_hf[F_FINDING_OCTET], tvb, 0, 0, f->pos));
    generated(proto_tree_add_uint(sub, iwd_hf[F_FINDING_FRAME], tvb, 0, 0, f->frame));
    if (!valued)
        return;
    generated(proto_tree_add_uint64(sub, iwd_hf[F_FINDING_GOT], tvb, 0, 0, f->got));
    generated(proto_tree_add_uint64(sub, iwd_hf[F_FINDING_WANT], tvb, 0, 0, f->want));
}

/* Draws findings. `t` is the thing they are about, whose octets `tvb` has, so that the octet at
 * fault can be shown; NULL: none. */
static void draw_findings(const struct iwd_finding *findings, const struct iwd_thing *t,
                          tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    for (const struct iwd_finding *f = findings; f != NULL; f = f->next) {
        draw_finding(f, t, tvb, pinfo, tree);
        col_append_fstr(pinfo->cinfo, COL_INFO, " [%s: %s]", iw_check_sender_rule(f->check)->id,
                        finding_text(f, pinfo));
    }
}

/* ---- start-up frames ---- */

static void draw_flags(tvbuff_t *tvb, proto_tree *tree)
{
    proto_tree *sub = proto_item_add_subtree(
        proto_tree_add_item(tree, iwd_hf[F_STARTUP_FLAGS], tvb, IW_AT_MPA_FLAGS, 1, ENC_BIG_ENDIAN),
        iwd_ett[T_FLAGS]);
    static const enum iwd_field flags[] = {F_FLAG_M, F_FLAG_C, F_FLAG_R, F_FLAG_S, F_FLAG_RES};

    for (size_t k = 0; k < G_N_ELEMENTS(flags); k++)
        proto_tree_add_item(sub, iwd_hf[flags[k]], tvb, IW_AT_MPA_FLAGS, 1, ENC_BIG_ENDIAN);
}

static void draw_enhanced(tvbuff_t *tvb, proto_tree *tree)
{
    static const struct {
        enum iwd_field field;
        int at;
    } rows[] = {{F_PEER_TO_PEER, IW_AT_MPA_IRD}, {F_RTR_SEND, IW_AT_MPA_IRD},
                {F_IRD, IW_AT_MPA_IRD},          {F_RTR_WRITE, IW_AT_MPA_ORD},
                {F_RTR_READ, IW_AT_MPA_ORD},     {F_ORD, IW_AT_MPA_ORD}};
    proto_tree *sub = proto_item_add_subtree(proto_tree_add_item(tree, iwd_hf[F_ENHANCED], tvb,
                                                                 IW_MPA_STARTUP_HEADER,
                                                                 IW_MPA_ENHANCED_LENGTH, ENC_NA),
                                             iwd_ett[T_HEADER]);

    for (size_t k = 0; k < G_N_ELEMENTS(rows); k++)
        proto_tree_add_item(sub, iwd_hf[rows[k].field], tvb, rows[k].at, 2, ENC_BIG_ENDIAN);
}

/* What both start-up frames agreed on is known once the Reply is here, and shown with it. */
static void draw_startup_links(const struct iwd_connection *c, const struct iwd_thing *t,
                               tvbuff_t *tvb, proto_tree *tree)
{
    const struct iwd_side *other = &c->side[iw_observed_other((enum iw_side)t->side)];
    const struct iwd_side *self = &c->side[t->side];
    bool reply = t->side == IW_SIDE_RESPONDER;

    if (!reply && other->startup != NULL)
        iwd_link(tree, F_REPLY_IN, tvb, other->startup->frame);
    if (!reply || !self->second)
        return;
    iwd_link(tree, F_REQUEST_IN, tvb, other->startup->frame);
    generated(proto_tree_add_time(tree, iwd_hf[F_SETUP_TIME], tvb, 0, 0, &self->since_request));
    if (c->left)
        return;
    generated(proto_tree_add_boolean(tree, iwd_hf[F_AGREED_CRC], tvb, 0, 0, c->crc));
    generated(proto_tree_add_boolean(tree, iwd_hf[F_AGREED_MARKERS_I], tvb, 0, 0, c->markers[0]));
    generated(proto_tree_add_boolean(tree, iwd_hf[F_AGREED_MARKERS_R], tvb, 0, 0, c->markers[1]));
}

/* [MS-SMBD] section 6.1: before RFC 6581 the depths were private data, two numbers of 32 bits, and
 * nothing else. */
static void draw_depths(tvbuff_t *tvb, int at, proto_tree *tree)
{
    if (tvb_captured_length_remaining(tvb, at) != 8)
        return;
    bool swapped = tvb_get_ntohl(tvb, at) >= IW_MPA_DEPTH_UNSPECIFIED;
    uint32_t ird = swapped ? tvb_get_letohl(tvb, at) : tvb_get_ntohl(tvb, at);
    uint32_t ord = swapped ? tvb_get_letohl(tvb, at + 4) : tvb_get_ntohl(tvb, at + 4);
    if (!ird || !ord || ird >= IW_MPA_DEPTH_UNSPECIFIED || ord >= IW_MPA_DEPTH_UNSPECIFIED)
        return;
    proto_tree *sub = proto_item_add_subtree(
        proto_tree_add_item(tree, iwd_hf[F_DEPTHS], tvb, at, 8, ENC_NA), iwd_ett[T_HEADER]);
    proto_tree_add_uint(sub, iwd_hf[F_DEPTHS_IRD], tvb, at, 4, ird);
    proto_tree_add_uint(sub, iwd_hf[F_DEPTHS_ORD], tvb, at + 4, 4, ord);
    if (swapped)
        generated(proto_tree_add_boolean(sub, iwd_hf[F_DEPTHS_SWAPPED], tvb, at, 8, 1));
}

static void draw_startup(const struct iwd_thing *t, tvbuff_t *tvb, packet_info *pinfo,
                         proto_tree *tree, proto_tree *root)
{
    int length = (int)tvb_captured_length(tvb), data = (int)IW_MPA_STARTUP_HEADER;
    bool request = t->side == IW_SIDE_INITIATOR;
    const struct iwd_side *s = &iwd_shown->side[t->side];

    proto_tree_add_item(tree, iwd_hf[F_KEY], tvb, 0, IW_MPA_KEY_LENGTH, ENC_ASCII);
    generated(proto_tree_add_boolean(tree, iwd_hf[request ? F_REQUEST : F_REPLY], tvb, 0, 0, 1));
    draw_flags(tvb, tree);
    proto_tree_add_item(tree, iwd_hf[F_REVISION], tvb, IW_AT_MPA_REVISION, 1, ENC_BIG_ENDIAN);
    proto_tree_add_item(tree, iwd_hf[F_PD_LENGTH], tvb, IW_AT_MPA_PD_LENGTH, 2, ENC_BIG_ENDIAN);
    if (s->has_enhanced) {
        draw_enhanced(tvb, tree);
        data += (int)IW_MPA_ENHANCED_LENGTH;
    }
    draw_startup_links(iwd_shown, t, tvb, tree);
    if (!request && (s->header.flags & IW_MPA_FLAG_R))
        expert_add_info(pinfo, proto_tree_get_parent(tree), &iwd_ei_remark[R_REJECTED]);
    draw_findings(iwd_rare_of(t)->findings, t, tvb, pinfo, tree);
    if (data < length)
        draw_depths(tvb, data, tree);
    if (data < length)
        iwd_draw_private(tvb_new_subset_remaining(tvb, data), pinfo, tree, root, &s->header);
}

/* ---- FPDUs ---- */

/* Returns the ULPDU as far as it is here, in one piece and so without its Markers. */
static tvbuff_t *ulpdu_of(const struct iwd_thing *t, tvbuff_t *tvb, packet_info *pinfo)
{
    uint32_t begin = iwd_place(t, IW_MPA_LENGTH_FIELD), here = tvb_captured_length(tvb), n = 0;

    if (!t->length || begin >= here)
        return NULL;
    if (iwd_place(t, IW_MPA_LENGTH_FIELD + t->length - 1u) - begin == t->length - 1u)
        return tvb_new_subset_length(tvb, (int)begin, t->length);
    uint8_t *octets = wmem_alloc(pinfo->pool, t->length);
    for (uint32_t at = begin; n < t->length && at < here; n++) {
        octets[n] = iwd_tvb_u8(tvb, (int)at);
        at = iwd_place(t, IW_MPA_LENGTH_FIELD + n + 1);
    }
    tvbuff_t *joined = tvb_new_child_real_data(tvb, octets, n, t->length);
    add_new_data_source(pinfo, joined, "DDP segment without Markers");
    return joined;
}

static void draw_marker(tvbuff_t *tvb, uint32_t at, proto_tree *tree)
{
    if (at + IW_MPA_MARKER > tvb_captured_length(tvb))
        return;
    struct iw_mpa_marker m;
    (void)iw_wire_get_marker(tvb_get_ptr(tvb, (int)at, 4), 4, &m);
    proto_item *item = proto_tree_add_none_format(tree, iwd_hf[F_MARKER], tvb, (int)at, 4,
                                                  "Marker: FPDUPTR %u", m.fpduptr);
    proto_tree *sub = proto_item_add_subtree(item, iwd_ett[T_MARKER]);
    proto_tree_add_uint(sub, iwd_hf[F_MARKER_RESERVED], tvb, (int)at + IW_AT_MARKER_RESERVED, 2,
                        m.reserved);
    proto_tree_add_uint(sub, iwd_hf[F_FPDUPTR], tvb, (int)at + IW_AT_MARKER_FPDUPTR, 2, m.fpduptr);
}

static const char *const crc_words[] = {"unchecked", "good", "bad", "unknown"};

static void draw_crc(const struct iwd_thing *t, tvbuff_t *tvb, proto_tree *tree)
{
    uint32_t pad = iw_wire_pad(t->length), at = iwd_place(t, IW_MPA_LENGTH_FIELD + t->length);
    uint32_t crc_at = iwd_place(t, IW_MPA_LENGTH_FIELD + t->length + pad);
    enum iwd_crc state = (enum iwd_crc)t->crc;
    bool absent = iw_quirk_in(iwd_rare_of(t)->quirks, IW_QUIRK_CRC_ABSENT);
    if (crc_at + (absent ? 0 : IW_MPA_CRC_FIELD) > tvb_captured_length(tvb)) {
        generated(proto_tree_add_uint(tree, iwd_hf[F_CRC_STATUS], tvb, 0, 0, IWD_CRC_UNKNOWN));
        return;
    }
    if (pad)
        proto_tree_add_item(tree, iwd_hf[F_PAD], tvb, (int)at, (int)pad, ENC_NA);
    if (absent)
        return;
    uint32_t crc = iw_crc32c_get(tvb_get_ptr(tvb, (int)crc_at, 4));
    enum iw_quirk quirk = iw_quirk_shown(iwd_rare_of(t)->quirks, IW_CHECK_MPA_CRC);
    proto_tree_add_uint_format_value(
        tree, iwd_hf[F_CRC], tvb, (int)crc_at, 4, crc, "0x%08x [%s%s%s]", crc, crc_words[state],
        quirk != IW_QUIRK_COUNT ? ": " : "", quirk != IW_QUIRK_COUNT ? iw_quirk_text(quirk) : "");
    generated(proto_tree_add_uint(tree, iwd_hf[F_CRC_STATUS], tvb, (int)crc_at, 4, state));
    if (state == IWD_CRC_BAD)
        generated(proto_tree_add_uint(tree, iwd_hf[F_CRC_COMPUTED], tvb, (int)crc_at, 4,
                                      iwd_rare_of(t)->computed));
}

static void draw_mpa(const struct iwd_thing *t, tvbuff_t *tvb, proto_tree *tree)
{
    proto_item *item =
        proto_tree_add_none_format(tree, iwd_hf[F_MPA], tvb, 0, -1,
                                   "MPA, FPDU of %u octets, CRC %s", t->size, crc_words[t->crc]);
    proto_tree *sub = proto_item_add_subtree(item, iwd_ett[T_MPA]);

    iwd_link(sub, F_BEGUN, tvb, t->begun != t->frame ? t->begun : 0);
    generated(proto_tree_add_uint64(sub, iwd_hf[F_OCTET], tvb, 0, 0, t->pos));
    generated(proto_tree_add_uint(sub, iwd_hf[F_FPDU_SIZE], tvb, 0, 0, t->size));
    proto_tree_add_uint(sub, iwd_hf[F_ULPDU_LENGTH], tvb, (int)iwd_place(t, 0), 2, t->length);
    for (uint32_t at = t->marker; at < t->size; at += t->period)
        draw_marker(tvb, at, sub);
    draw_crc(t, tvb, sub);
}

/* Octets of payload that are missing still count. */
const char *iwd_print_thing(const struct iwd_thing *t, tvbuff_t *tvb, packet_info *pinfo)
{
    size_t length = tvb != NULL ? tvb_captured_length(tvb) : 0;
    const uint8_t *octets = tvb != NULL ? tvb_get_ptr(tvb, 0, (int)length) : NULL;
    if (octets == NULL)
        return "empty FPDU";
    char *line = wmem_alloc(pinfo->pool, LINE);
    if (t->kind == IWD_STARTUP) {
        iw_quirk_print_startup(line, LINE, octets, length, iwd_rare_of(t)->quirks);
        return line;
    }
    struct iw_ddp_header h;
    if (t->cut && iw_wire_get_ddp(octets, length, &h) > 0 &&
        (iw_ddp_tagged(&h) || iw_rdmap_is_send(iw_rdmap_op(&h)))) {
        uint8_t *whole = wmem_alloc0(pinfo->pool, t->length);

        memcpy(whole, octets, MIN(length, t->length));
        octets = whole;
        length = t->length;
    }
    iw_quirk_print_segment(line, LINE, octets, length, iwd_rare_of(t)->quirks);
    return line;
}

/* Adds what was worked out to the line: for the last segment of a message its length and the
 * request that it answers. For a Terminate its cause, after the error in words, as its line is
 * long. */
static const char *add_relations(const char *line, const struct iwd_thing *t, tvbuff_t *ulpdu,
                                 packet_info *pinfo)
{
    const struct iwd_message *m = t->message;
    bool ends = m != NULL && m->whole && m->last == t->frame && ulpdu != NULL &&
                (iwd_tvb_u8(ulpdu, 0) & IW_DDP_L);
    const char *quoted = iwd_rare_of(t)->cause ? strchr(line, '"') : NULL;
    const char *end = quoted != NULL ? strchr(quoted + 1, '"') : NULL;
    wmem_strbuf_t *text = wmem_strbuf_new(pinfo->pool, "");

    if (end != NULL) {
        wmem_strbuf_append_len(text, line, (gsize)(end + 1 - line));
        wmem_strbuf_append_printf(text, " (provoked by frame %u)", iwd_rare_of(t)->cause);
        line = end + 1;
    }
    wmem_strbuf_append(text, line);
    if (ends && m->segments > 1)
        wmem_strbuf_append_printf(text, " (last of %u segments, %" PRIu64 " octets%s", m->segments,
                                  m->length, m->request != NULL ? "; " : ")");
    if (ends && m->request != NULL) {
        nstime_t time;
        nstime_delta(&time, &m->ended, &m->request->begun);
        wmem_strbuf_append_printf(text, "%sanswers frame %u after %.3f ms)",
                                  m->segments > 1 ? "" : " (", m->request->first,
                                  nstime_to_msec(&time));
    }
    return wmem_strbuf_get_str(text);
}

static void draw_fpdu(const struct iwd_thing *t, tvbuff_t *tvb, tvbuff_t *ulpdu, packet_info *pinfo,
                      proto_tree *tree, proto_tree *root)
{
    if (tree != NULL) {
        generated(proto_tree_add_uint(tree, iwd_hf[F_SIDE], tvb, 0, 0, t->side));
        draw_mpa(t, tvb, tree);
    }
    draw_findings(iwd_rare_of(t)->findings, t, tvb, pinfo, tree);
    if (ulpdu != NULL)
        iwd_draw_segment(t, ulpdu, pinfo, tree, root);
}

/* ---- a chunk ---- */

static void draw_thing(const struct iwd_chunk *chunk, const struct iwd_thing *t, tvbuff_t *tvb,
                       packet_info *pinfo, proto_tree *root)
{
    const uint8_t *raw = iwd_rare_of(t)->raw;
    const char *line = "";
    tvbuff_t *octets;
    if (raw != NULL) {
        octets = tvb_new_child_real_data(tvb, raw, iwd_here(t), (int)t->size);
        add_new_data_source(pinfo, octets, "Reassembled FPDU");
    } else {
        octets = tvb_new_subset_length_caplen(tvb, (int)(t->pos - chunk->pos), (int)iwd_here(t),
                                              (int)t->size);
    }
    proto_tree *tree = iwd_subtree(root, iwd_proto, octets, 0, -1, T_IWARP);
    tvbuff_t *ulpdu = t->kind == IWD_FPDU ? ulpdu_of(t, octets, pinfo) : NULL;
    tvbuff_t *printed = t->kind == IWD_FPDU ? ulpdu : octets;
    iwd_tap_thing(t, printed, pinfo);
    if (tree != NULL || col_get_writable(pinfo->cinfo, COL_INFO))
        line = add_relations(iwd_print_thing(t, printed, pinfo), t, ulpdu, pinfo);
    add_info(pinfo, t == chunk->things && !chunk->late, line);
    proto_item_append_text(tree, ", %s%s", line, t->cut ? ", cut short" : "");
    if (t->cut)
        col_append_str(pinfo->cinfo, COL_INFO, " (cut short)");
    if (t->kind == IWD_FPDU)
        draw_fpdu(t, octets, ulpdu, pinfo, tree, root);
    else
        draw_startup(t, octets, pinfo, tree, root);
}

/* Draws octets that are part of something incomplete, or of nothing known. */
static void draw_rest(const struct iwd_chunk *chunk, tvbuff_t *tvb, packet_info *pinfo,
                      proto_tree *root)
{
    int at = (int)chunk->rest, length = (int)(chunk->length - chunk->rest);
    const char *what = chunk->streaming ? "streaming mode"
                       : chunk->lost    ? "not followed"
                       : chunk->gap     ? "after a gap"
                                        : "part of an FPDU";
    enum iwd_field field = chunk->streaming ? F_STREAMING : chunk->lost ? F_UNFOLLOWED : F_PART;
    const char *text =
        wmem_strdup_printf(pinfo->pool, "%s, %d octet%s", what, length, length == 1 ? "" : "s");
    proto_tree *tree = iwd_subtree(root, iwd_proto, tvb, at, length, T_IWARP);

    proto_item_append_text(tree, ", %s", text);
    if (chunk->things != NULL)
        col_append_str(pinfo->cinfo, COL_INFO, "; ...");
    else
        add_info(pinfo, !chunk->late, text);
    generated(proto_tree_add_uint(tree, iwd_hf[F_SIDE], tvb, 0, 0, chunk->side));
    generated(proto_tree_add_uint64(tree, iwd_hf[F_OCTET], tvb, 0, 0, chunk->pos + chunk->rest));
    if (chunk->begun != pinfo->num)
        iwd_link(tree, F_BEGUN, tvb, chunk->begun);
    iwd_link(tree, F_CONTINUES, tvb, chunk->shown);
    proto_tree_add_item(tree, iwd_hf[field], tvb, at, length, ENC_NA);
}

/* Draws a retransmission that brings nothing new; the columns stay TCP's. */
static void draw_repeated(const struct iwd_chunk *chunk, tvbuff_t *tvb, packet_info *pinfo,
                          proto_tree *root)
{
    proto_tree *tree = iwd_subtree(root, iwd_proto, tvb, 0, -1, T_IWARP);

    proto_item_append_text(tree, ", %u octet%s that came before", chunk->length,
                           chunk->length == 1 ? "" : "s");
    generated(proto_tree_add_uint(tree, iwd_hf[F_SIDE], tvb, 0, 0, chunk->side));
    generated(proto_tree_add_uint64(tree, iwd_hf[F_OCTET], tvb, 0, 0, chunk->pos));
    generated(proto_tree_add_uint(tree, iwd_hf[F_REPEATED], tvb, 0, 0, chunk->length));
    iwd_link(tree, F_REPEATED_OF, tvb, chunk->begun == pinfo->num ? 0 : chunk->begun);
}

static void draw_notes(const struct iwd_remarks *remarks, tvbuff_t *tvb, packet_info *pinfo,
                       proto_tree *tree)
{
    static const char *const means[] = {"by a Marker", "by a CRC", "by a chain of headers"};
    for (const struct iwd_note *n = remarks->notes; n != NULL; n = n->next) {
        proto_item *item =
            generated(proto_tree_add_uint64(tree, iwd_hf[n->resync ? F_RESYNC : F_GAP], tvb, 0, 0,
                                            n->resync ? n->to : n->to - n->from));
        if (n->resync)
            expert_add_info_format(pinfo, item, &iwd_ei_remark[R_RESYNC],
                                   "framing of the %s found again %s at octet %" PRIu64,
                                   iw_side_name(n->side), means[n->found_by], n->to);
        else
            expert_add_info_format(pinfo, item, &iwd_ei_remark[R_GAP],
                                   "the capture lacks octets %" PRIu64 " to %" PRIu64 " of the %s",
                                   n->from, n->to - 1, iw_side_name(n->side));
    }
    if (remarks->why != NULL) {
        proto_item *item =
            generated(proto_tree_add_string(tree, iwd_hf[F_LOST], tvb, 0, 0, remarks->why));
        expert_add_info_format(pinfo, item, &iwd_ei_remark[R_LOST], "unknown from here: %s",
                               remarks->why);
    }
}

void iwd_draw_chunk(const struct iwd_chunk *chunk, tvbuff_t *tvb, packet_info *pinfo,
                    proto_tree *root)
{
    const struct iwd_remarks *remarks = chunk->remarks;

    if (chunk->repeated)
        draw_repeated(chunk, tvb, pinfo, root);
    if (chunk->things == NULL && remarks == NULL &&
        (chunk->repeated || chunk->rest == chunk->length))
        return;
    col_set_str(pinfo->cinfo, COL_PROTOCOL, "iWARP");
    if (!chunk->late)
        col_clear(pinfo->cinfo, COL_INFO);
    for (const struct iwd_thing *t = chunk->things; t != NULL; t = t->next)
        draw_thing(chunk, t, tvb, pinfo, root);
    if (!chunk->repeated && chunk->rest < chunk->length)
        draw_rest(chunk, tvb, pinfo, root);
    if (remarks != NULL) {
        proto_tree *tree = iwd_subtree(root, iwd_proto, tvb, 0, 0, T_IWARP);

        proto_item_append_text(tree, ", about the connection");
        draw_notes(remarks, tvb, pinfo, tree);
        draw_findings(remarks->findings, NULL, tvb, pinfo, tree);
        iwd_tap_findings(remarks->findings, pinfo);
    }
}
