/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs on the first pass: feeds octets to the observer and keeps what it sees. */
#include "iwarp_dissector.h"

#include "iwarp/crc32c.h"

/* ---- octets that wait ---- */

static void keep(struct iwd_connection *c, struct iwd_side *s, uint64_t pos, const uint8_t *octets,
                 uint32_t length)
{
    struct iwd_kept *k = iwd_borrow(sizeof(*k) + length);

    *k = (struct iwd_kept){s->kept, pos, length, c->pinfo->num, c->pinfo->abs_ts, c->chunk};
    memcpy(k->octets, octets, length);
    s->kept = k;
}

/* Frees kept octets that end before `pos`; they were understood in `frame`, or never (0). */
static void forget(struct iwd_side *s, uint64_t pos, uint32_t frame)
{
    for (struct iwd_kept **at = &s->kept; *at != NULL;) {
        struct iwd_kept *k = *at;

        if (k->pos + k->length > pos) {
            at = &k->older;
            continue;
        }
        *at = k->older;
        k->chunk->shown = frame;
        iwd_return(k);
    }
}

/* Copies the part of [from, from + length) that lies in [pos, pos + size). */
static void overlay(uint8_t *out, uint64_t pos, uint32_t size, uint64_t from, const uint8_t *octets,
                    uint32_t length)
{
    uint64_t begin = MAX(pos, from), end = MIN(pos + size, from + length);

    if (begin < end)
        memcpy(out + (begin - pos), octets + (begin - from), (size_t)(end - begin));
}

/* The first copy of an octet counts, hence the newest comes first here. */
static uint8_t *assemble(const struct iwd_connection *c, const struct iwd_side *s, uint64_t pos,
                         uint32_t size)
{
    uint8_t *out = wmem_alloc0(wmem_file_scope(), size);

    if (&c->side[c->chunk->side] == s && c->octets != NULL)
        overlay(out, pos, size, c->chunk->pos, c->octets, c->chunk->length);
    for (const struct iwd_kept *k = s->kept; k != NULL; k = k->older)
        overlay(out, pos, size, k->pos, k->octets, k->length);
    return out;
}

/* Returns the frame that brought an octet first. */
static uint32_t frame_of(const struct iwd_connection *c, enum iw_side side, uint64_t pos)
{
    const struct iwd_side *s = &c->side[side];
    uint32_t frame = c->pinfo->num;
    uint32_t recent = s->n_recent < s->room ? s->n_recent : s->room;

    for (const struct iwd_kept *k = s->kept; k != NULL; k = k->older)
        if (pos >= k->pos && pos - k->pos < k->length)
            frame = k->frame;
    if (frame != c->pinfo->num || pos >= s->done)
        return frame;
    if (s->startup != NULL && pos < s->startup->size)
        return s->startup->frame;
    for (uint32_t i = 0; i < recent; i++) {
        const struct iwd_thing *t = s->recent[i].thing;

        if (pos >= t->pos && pos - t->pos < t->size)
            return t->frame;
    }
    return frame;
}

/* Returns the time at which the last of these octets came. */
static nstime_t arrival(const struct iwd_connection *c, enum iw_side side, uint64_t pos,
                        uint64_t end)
{
    const struct iwd_chunk *now = c->chunk;
    const struct iwd_kept *last = NULL;

    if ((enum iw_side)now->side == side && pos < now->pos + now->length && now->pos < end)
        return c->pinfo->abs_ts;
    for (const struct iwd_kept *k = c->side[side].kept; k != NULL; k = k->older)
        if (pos < k->pos + k->length && k->pos < end && (last == NULL || k->frame > last->frame))
            last = k;
    return last != NULL ? last->time : c->pinfo->abs_ts;
}

/* ---- what the observer sees ---- */

struct iwd_rare *iwd_make_rare(struct iwd_thing *t)
{
    if (t->rare == NULL)
        t->rare = wmem_new0(wmem_file_scope(), struct iwd_rare);
    return t->rare;
}

static struct iwd_remarks *remark(struct iwd_connection *c)
{
    if (c->chunk->remarks == NULL)
        c->chunk->remarks = wmem_new0(wmem_file_scope(), struct iwd_remarks);
    return c->chunk->remarks;
}

static struct iwd_thing *add_thing(struct iwd_connection *c, enum iwd_kind kind,
                                   const struct iw_observation *seen)
{
    struct iwd_thing *t = iwd_take(sizeof(*t));

    t->pos = seen->pos;
    t->size = t->marker = (uint32_t)(seen->end - seen->pos);
    t->kind = (uint8_t)kind;
    t->side = (uint8_t)seen->side;
    t->begun = frame_of(c, seen->side, seen->pos);
    t->frame = c->pinfo->num;
    c->arrived = arrival(c, seen->side, seen->pos, seen->end);
    *c->next = t;
    c->next = &t->next;
    c->thing = t;
    return t;
}

/* Keeps the octets of the thing if this chunk alone does not hold all that are there. */
static void keep_thing(struct iwd_connection *c, struct iwd_thing *t)
{
    const struct iwd_chunk *chunk = c->chunk;
    struct iwd_side *s = &c->side[t->side];

    if ((enum iw_side)t->side != chunk->side || t->pos < chunk->pos ||
        t->pos + iwd_here(t) > chunk->pos + chunk->length || t->begun != t->frame)
        iwd_make_rare(t)->raw = assemble(c, s, t->pos, iwd_here(t));
    s->done = MAX(s->done, t->pos + t->size);
}

/* RFC 5044 section 7.1.1; revision 0: appendix C. */
static void agree(struct iwd_connection *c, const struct iw_mpa_startup_header *request,
                  const struct iw_mpa_startup_header *reply)
{
    bool old = reply->revision == 0;

    c->crc = old || ((request->flags | reply->flags) & IW_MPA_FLAG_C);
    c->markers[IW_SIDE_INITIATOR] = old || (reply->flags & IW_MPA_FLAG_M);
    c->markers[IW_SIDE_RESPONDER] = old || (request->flags & IW_MPA_FLAG_M);
}

static void see_startup(struct iwd_connection *c, const struct iw_observation *seen)
{
    struct iwd_side *s = &c->side[seen->side];

    s->startup = add_thing(c, IWD_STARTUP, seen);
    if (seen->quirks)
        iwd_make_rare(s->startup)->quirks = seen->quirks;
    keep_thing(c, s->startup);
    s->header = seen->startup;
    s->enhanced = seen->enhanced;
    s->has_enhanced = (seen->startup.flags & IW_MPA_FLAG_S) && seen->startup.revision >= 2 &&
                      seen->startup.pd_length >= IW_MPA_ENHANCED_LENGTH;
    if (seen->side == IW_SIDE_INITIATOR) {
        size_t data = IW_MPA_STARTUP_HEADER + (s->has_enhanced ? IW_MPA_ENHANCED_LENGTH : 0);

        memcpy(c->private_data, seen->frame + data,
               MIN(sizeof(c->private_data), seen->frame_length - data));
        c->requested = c->arrived;
    } else {
        c->left = (seen->startup.flags & IW_MPA_FLAG_R) != 0;
    }
    s->second = c->side[iw_observed_other(seen->side)].startup != NULL;
    nstime_delta(&s->since_request, &c->arrived, &c->requested);
    agree(c, &c->side[IW_SIDE_INITIATOR].header, &c->side[IW_SIDE_RESPONDER].header);
}

/* Derives the place of the FPDU's first Marker from where its ULPDU is interrupted. */
static void find_markers(struct iwd_side *s, struct iwd_thing *t, const struct iw_fpdu *fpdu)
{
    uint64_t data = fpdu->header_pos + IW_MPA_LENGTH_FIELD;

    if (fpdu->markers && fpdu->header_pos > fpdu->pos)
        data = fpdu->pos;
    else if (fpdu->markers && fpdu->pieces > 1)
        data += fpdu->ulpdu[0].length;
    else if (fpdu->markers)
        data += fpdu->length + iw_wire_pad(fpdu->length);
    if (fpdu->markers && fpdu->pieces) {
        s->marked = true;
        s->marker_phase = data;
    }
    if (fpdu->markers && s->marked) {
        t->period = fpdu->period;
        t->marker = iw_marker_after(t->period, s->marker_phase, t->pos);
    }
}

static void see_segment(struct iwd_connection *c, const struct iw_observation *seen)
{
    const struct iw_fpdu *fpdu = seen->fpdu;
    struct iwd_thing *t = add_thing(c, IWD_FPDU, seen);

    t->length = fpdu->length;
    find_markers(&c->side[seen->side], t, fpdu);
    t->crc = fpdu->crc_checked ? (fpdu->crc_good ? IWD_CRC_GOOD : IWD_CRC_BAD) : IWD_CRC_UNCHECKED;
    if (fpdu->pieces == 0 && fpdu->length) {
        t->cut = true;
        t->crc = IWD_CRC_UNKNOWN;
        iwd_make_rare(t)->here = iwd_place(t, IW_MPA_LENGTH_FIELD + (uint32_t)seen->ulpdu_captured);
    }
    if (seen->quirks)
        iwd_make_rare(t)->quirks = seen->quirks;
    keep_thing(c, t);
    if (t->crc != IWD_CRC_BAD && seen->payload != NULL)
        iwd_segment(c, t, seen);
}

static void see_finding(struct iwd_connection *c, const struct iw_observation *seen)
{
    const struct iw_fault *fault = &seen->fault;
    struct iwd_thing *t = c->thing;

    if (seen->cause != IW_CHECK_NONE)
        return;
    struct iwd_finding *f = wmem_new(wmem_file_scope(), struct iwd_finding);
    *f = (struct iwd_finding){.check = fault->check,
                              .side = seen->side,
                              .quirk = iw_quirk_shown(seen->quirks, fault->check),
                              .frame = frame_of(c, seen->side, fault->pos),
                              .pos = fault->pos,
                              .got = fault->got,
                              .want = fault->want};
    struct iwd_finding **at;
    if (t != NULL && t->side == seen->side && t->pos == seen->pos && seen->end > seen->pos) {
        struct iwd_rare *rare = iwd_make_rare(t);
        at = &rare->findings;
        if (f->check == IW_CHECK_MPA_CRC)
            rare->computed = (uint32_t)f->want;
        if (f->check == IW_CHECK_DDP_MSN) {
            rare->wrong_msn = true;
            rare->msn = (uint32_t)f->want;
        }
        if ((f->check == IW_CHECK_DDP_MO_PLACE || f->check == IW_CHECK_DDP_MO_ORDER ||
             f->check == IW_CHECK_DDP_MO_ZERO) &&
            f->pos >= seen->pos) { /* not of a segment before it */
            rare->wrong_mo = true;
            rare->mo = (uint32_t)f->want;
        }
    } else {
        at = &remark(c)->findings;
    }
    while (*at != NULL)
        at = &(*at)->next;
    *at = f;
}

static void lose(struct iwd_connection *c, const struct iw_observation *seen)
{
    struct iwd_side *s = &c->side[seen->side];

    if (s->lost)
        return;
    s->lost = true;
    remark(c)->why = iw_check_info(seen->fault.check)->text;
    forget(s, UINT64_MAX, 0);
}

static void see_note(struct iwd_connection *c, const struct iw_observation *seen)
{
    struct iwd_note *n = wmem_new(wmem_file_scope(), struct iwd_note);
    struct iwd_note **at = &remark(c)->notes;

    *n = (struct iwd_note){.resync = seen->kind == IW_OBSERVED_RESYNC,
                           .found_by = (uint8_t)seen->found_by,
                           .side = seen->side,
                           .from = seen->pos,
                           .to = seen->end};
    while (*at != NULL)
        at = &(*at)->next;
    *at = n;
    c->side[seen->side].done = MAX(c->side[seen->side].done, seen->end);
    iwd_missed(c, seen->side);
}

static void seen(void *context, const struct iw_observation *o)
{
    struct iwd_connection *c = context;

    switch (o->kind) {
    case IW_OBSERVED_STARTUP:
        see_startup(c, o);
        break;
    case IW_OBSERVED_SEGMENT:
        see_segment(c, o);
        break;
    case IW_OBSERVED_FINDING:
        see_finding(c, o);
        break;
    case IW_OBSERVED_GAP:
    case IW_OBSERVED_RESYNC:
        see_note(c, o);
        break;
    case IW_OBSERVED_LOST:
        lose(c, o);
        break;
    case IW_OBSERVED_MESSAGE:
        iwd_whole(c, o);
        break;
    case IW_OBSERVED_FIN:
    case IW_OBSERVED_RESET:
        break;
    }
}

/* ---- connections ---- */

struct iwd_connection *iwd_connection_of(packet_info *pinfo)
{
    conversation_t *conversation = find_conversation_pinfo(pinfo, 0);

    return conversation != NULL ? conversation_get_proto_data(conversation, iwd_proto) : NULL;
}

enum iw_side iwd_side_of(const struct iwd_connection *c, const packet_info *pinfo)
{
    return pinfo->srcport == c->initiator_port && addresses_equal(&pinfo->src, &c->initiator)
               ? IW_SIDE_INITIATOR
               : IW_SIDE_RESPONDER;
}

uint32_t iwd_stream_of(packet_info *pinfo)
{
    conversation_t *conversation = find_conversation_pinfo(pinfo, 0);
    const struct tcp_analysis *tcp =
        conversation != NULL ? get_tcp_conversation_data(conversation, pinfo) : NULL;

    return tcp != NULL ? tcp->stream : 0;
}

struct iwd_connection *iwd_connect(packet_info *pinfo, enum iw_side side, bool joined)
{
    static void *scratch;
    struct iw_observer_config config = {.crc32c = iw_crc32c_best(),
                                        .seen = seen,
                                        .lend = iwd_lend,
                                        .give_back = iwd_give_back,
                                        .emss = iwd_mss,
                                        .default_config = iwd_default_config,
                                        .extensions = true,
                                        .intact = iwd_intact,
                                        .no_quirks = !iwd_quirks};
    struct iwd_connection *c = wmem_new0(wmem_file_scope(), struct iwd_connection);
    bool from = side == IW_SIDE_INITIATOR;

    if (scratch == NULL)
        scratch = wmem_alloc(wmem_epan_scope(), iw_observer_scratch_size());
    config.scratch = scratch;
    config.context = c;
    c->initiator_port = (uint16_t)(from ? pinfo->srcport : pinfo->destport);
    copy_address_wmem(wmem_file_scope(), &c->initiator, from ? &pinfo->src : &pinfo->dst);
    c->observer = iw_observer_init(wmem_alloc(wmem_file_scope(), iw_observer_size()),
                                   iw_observer_size(), &config);
    c->by_port = iwd_has_ulp(pinfo->srcport, false) || iwd_has_ulp(pinfo->destport, false);
    if (iwd_has_ulp(pinfo->srcport, true) || iwd_has_ulp(pinfo->destport, true))
        c->wants = pinfo->num;
    if (joined)
        iw_observer_assume(c->observer, NULL);
    for (int k = 0; k < 2; k++) {
        c->side[k].requests = wmem_list_new(wmem_file_scope());
        c->side[k].stags = wmem_map_new(wmem_file_scope(), g_direct_hash, g_direct_equal);
        c->side[k].chunks = wmem_array_new(wmem_file_scope(), sizeof(struct iwd_chunk *));
    }
    conversation_add_proto_data(find_or_create_conversation(pinfo), iwd_proto, c);
    iwd_add_connection(c);
    return c;
}

/* ---- one call ---- */

static struct iwd_chunk *begin(struct iwd_connection *c, packet_info *pinfo, enum iw_side side,
                               uint64_t pos, uint32_t length)
{
    struct iwd_chunk *chunk = iwd_take(sizeof(*chunk));

    chunk->side = (uint8_t)side;
    chunk->frame = pinfo->num;
    chunk->pos = pos;
    chunk->length = length;
    c->last = pinfo->num;
    c->ended = pinfo->abs_ts;
    c->pinfo = pinfo;
    c->chunk = chunk;
    c->thing = NULL;
    c->next = &chunk->things;
    return chunk;
}

struct iwd_chunk *iwd_find_chunk(const struct iwd_connection *c, enum iw_side side, uint32_t frame,
                                 uint32_t pos32)
{
    wmem_array_t *array = c->side[side].chunks;
    struct iwd_chunk *const *chunks = wmem_array_get_raw(array);
    uint32_t count = wmem_array_get_count(array), low = 0, high = count;

    if (count && chunks[count - 1]->frame < frame) /* the first pass, for the most part */
        return NULL;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (chunks[middle]->frame < frame)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && chunks[low]->frame == frame; low++)
        if ((uint32_t)chunks[low]->pos == pos32)
            return chunks[low];
    return NULL;
}

/* Returns the chunk if there is anything to show for it. */
static struct iwd_chunk *end(struct iwd_connection *c)
{
    struct iwd_chunk *chunk = c->chunk;

    c->pinfo = NULL;
    c->chunk = NULL;
    c->octets = NULL;
    c->thing = NULL;
    return chunk->remarks != NULL || chunk->things != NULL ? chunk : NULL;
}

/* If this many segments have come after a missing octet, and the other end has acknowledged more,
 * the octet counts as one that the capture does not have. */
enum { PATIENCE = 8 };

/* Moves the edge over the kept octets; sets *next to the position where octets go on after it. */
static void find_edge(struct iwd_side *s, uint64_t *next)
{
    bool more = true;

    while (more) {
        more = false;
        *next = UINT64_MAX;
        for (const struct iwd_kept *k = s->kept; k != NULL; k = k->older) {
            if (k->pos > s->edge) {
                *next = MIN(*next, k->pos);
            } else if (k->pos + k->length > s->edge) {
                s->edge = k->pos + k->length;
                more = true;
            }
        }
    }
}

static void give_up(struct iwd_connection *c, enum iw_side side)
{
    struct iwd_side *s = &c->side[side];
    uint64_t before = s->edge;
    s->edge = MAX(s->edge, s->done);
    uint64_t next;
    find_edge(s, &next);
    if (next == UINT64_MAX || s->edge > before) {
        s->beyond = next != UINT64_MAX;
        return;
    }
    if (++s->beyond < PATIENCE || s->acked <= next)
        return;
    s->beyond = 0;
    iw_observer_gap(c->observer, side, s->edge, next);
    s->edge = MAX(next, s->done);
    find_edge(s, &next);
}

/* Determines which octets of the chunk are not understood yet. */
static void settle(struct iwd_connection *c, struct iwd_side *s)
{
    struct iwd_chunk *chunk = c->chunk;
    uint64_t stop = chunk->pos + chunk->length;
    uint64_t rest = MAX(chunk->pos, MIN(s->done, stop));
    uint64_t held = s->edge > IW_OBSERVER_WINDOW ? s->edge - IW_OBSERVER_WINDOW : 0;
    struct iwd_side *other = &c->side[!chunk->side];

    forget(other, other->done, c->pinfo->num); /* a Reply lets the initiator's be understood */
    if (chunk->pos <= s->edge)
        s->edge = MAX(s->edge, stop);
    s->edge = MAX(s->edge, s->done);
    forget(s, s->done, c->pinfo->num);
    forget(s, held, 0);
    chunk->rest = (uint32_t)(rest - chunk->pos);
    chunk->streaming = c->left || (s->ended && chunk->pos >= s->fin);
    chunk->lost = s->lost;
    if (rest == stop || s->lost || chunk->streaming)
        return;
    chunk->gap = rest >= s->edge;
    if (!chunk->gap)
        chunk->begun = frame_of(c, (enum iw_side)chunk->side, s->done);
    keep(c, s, rest, c->octets + chunk->rest, (uint32_t)(stop - rest));
}

struct iwd_chunk *iwd_follow(struct iwd_connection *c, packet_info *pinfo, enum iw_side side,
                             uint64_t pos, tvbuff_t *tvb)
{
    struct iwd_side *s = &c->side[side];
    struct iwd_chunk *chunk = begin(c, pinfo, side, pos, tvb_captured_length(tvb));
    uint64_t stop = pos + tvb_reported_length(tvb);

    chunk->repeated = !s->lost && stop > pos && stop <= s->done;
    if (chunk->repeated)
        chunk->begun = frame_of(c, side, pos);
    if (!s->lost && chunk->length) {
        c->octets = tvb_get_ptr(tvb, 0, (int)chunk->length);
        (void)iw_observer_input(c->observer, side, pos, c->octets, chunk->length);
    }
    if (!s->lost && stop > pos + chunk->length)
        iw_observer_gap(c->observer, side, pos + chunk->length, stop);
    if (!s->lost)
        give_up(c, side);
    settle(c, s);
    wmem_array_append_one(s->chunks, chunk);
    (void)end(c);
    return chunk;
}

struct iwd_chunk *iwd_follow_end(struct iwd_connection *c, packet_info *pinfo, enum iw_side side,
                                 uint64_t pos, bool reset)
{
    (void)begin(c, pinfo, side, pos, 0);
    iw_observer_end(c->observer, side, pos, reset);
    if (reset || !c->side[side].ended)
        c->side[side].fin = reset ? 0 : pos;
    c->side[side].ended = true;
    return end(c);
}

struct iwd_chunk *iwd_follow_flush(struct iwd_connection *c)
{
    packet_info last = {.num = c->last, .abs_ts = c->ended};

    begin(c, &last, IW_SIDE_INITIATOR, 0, 0)->late = true;
    iw_observer_flush(c->observer);
    for (int k = 0; k < 2; k++)
        forget(&c->side[k], c->side[k].done, c->last);
    return end(c);
}
