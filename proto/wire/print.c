/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "iwarp/wire.h"

#define PRIVATE_SHOWN 32u /* octets of private data in the text */

/* A bounded text that counts characters that do not fit, too. */
struct text {
    char *out;
    size_t room, length;
};

static void put_char(struct text *t, char c)
{
    if (t->length < t->room)
        t->out[t->length] = c;
    t->length++;
}

static void put(struct text *t, const char *s)
{
    while (*s != '\0')
        put_char(t, *s++);
}

static void put_number(struct text *t, uint64_t value, unsigned base, unsigned digits)
{
    char reversed[20];
    unsigned n = 0;
    do {
        reversed[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    while (n < digits)
        reversed[n++] = '0';
    while (n > 0)
        put_char(t, reversed[--n]);
}

static void put_field(struct text *t, const char *name, uint64_t value)
{
    put(t, name);
    put_number(t, value, 10, 1);
}

static void put_hex(struct text *t, const char *name, uint64_t value, unsigned digits)
{
    put(t, name);
    put_number(t, value, 16, digits);
}

static size_t finish(struct text *t)
{
    if (t->room > 0)
        t->out[t->length < t->room ? t->length : t->room - 1] = '\0';
    return t->length;
}

/* The fields that a correct sender gives each message (RFC 5040 figures 4 and 5, RFC 7306 figures 2
 * and 3). The text names only deviations from them. */
struct usual {
    bool tagged;
    bool single; /* one segment: L set, MO 0 */
    uint32_t qn;
};

static const struct usual usuals[] = {
    [IW_OP_WRITE] = {true, false, 0},
    [IW_OP_READ_REQUEST] = {false, true, IW_QN_READ_REQUEST},
    [IW_OP_READ_RESPONSE] = {true, false, 0},
    [IW_OP_SEND] = {false, false, IW_QN_SEND},
    [IW_OP_SEND_INVALIDATE] = {false, false, IW_QN_SEND},
    [IW_OP_SEND_SE] = {false, false, IW_QN_SEND},
    [IW_OP_SEND_SE_INVALIDATE] = {false, false, IW_QN_SEND},
    [IW_OP_TERMINATE] = {false, true, IW_QN_TERMINATE},
    [IW_OP_IMMEDIATE] = {false, true, IW_QN_SEND},
    [IW_OP_IMMEDIATE_SE] = {false, true, IW_QN_SEND},
    [IW_OP_ATOMIC_REQUEST] = {false, true, IW_QN_READ_REQUEST},
    [IW_OP_ATOMIC_RESPONSE] = {false, true, IW_QN_ATOMIC_RESPONSE},
};

/* For an opcode without a name nothing is usual: print all. */
static const struct usual *usual_of(unsigned op)
{
    return op < sizeof(usuals) / sizeof(usuals[0]) ? &usuals[op] : NULL;
}

static void put_untagged(struct text *t, const struct iw_ddp_header *h, const struct usual *usual)
{
    unsigned op = iw_rdmap_op(h);
    if (usual == NULL || usual->tagged || h->qn != usual->qn)
        put_field(t, " qn ", h->qn);
    if (op != IW_OP_TERMINATE || h->msn != 1)
        put_field(t, " msn ", h->msn);
    if (usual == NULL || !usual->single || h->mo != 0)
        put_field(t, " mo ", h->mo);
    if (op == IW_OP_SEND_INVALIDATE || op == IW_OP_SEND_SE_INVALIDATE)
        put_hex(t, " invalidate ", h->invalidate_stag, 8);
    else if (h->invalidate_stag != 0)
        put_hex(t, " rsvdulp ", h->invalidate_stag, 8);
}

static void put_header(struct text *t, const struct iw_ddp_header *h)
{
    unsigned op = iw_rdmap_op(h);
    const struct usual *usual = usual_of(op);
    if (usual != NULL)
        put(t, iw_wire_opcode_token(op));
    else
        put_hex(t, "opcode-", op, 1);
    if (usual != NULL && usual->single)
        put(t, iw_ddp_last(h) ? "" : " not-last");
    else
        put(t, iw_ddp_last(h) ? " L" : "");
    if (usual != NULL && usual->tagged != iw_ddp_tagged(h))
        put(t, iw_ddp_tagged(h) ? " tagged" : " untagged");
    if (iw_ddp_tagged(h)) {
        put_hex(t, " stag ", h->stag, 8);
        put_hex(t, " to ", h->to, 1);
    } else {
        put_untagged(t, h, usual);
    }
    if (iw_ddp_version(h) != 1)
        put_field(t, " dv ", iw_ddp_version(h));
    if (iw_rdmap_version(h) != 1)
        put_field(t, " rv ", iw_rdmap_version(h));
    if ((h->ddp_control & IW_DDP_RSVD) != 0)
        put_hex(t, " rsvd ", (h->ddp_control & IW_DDP_RSVD) >> 2, 1);
    if ((h->rdmap_control & IW_RDMAP_RSV) != 0)
        put_hex(t, " rsv ", (h->rdmap_control & IW_RDMAP_RSV) >> 4, 1);
}

static void put_address(struct text *t, const char *name, uint32_t stag, uint64_t to)
{
    put_hex(t, name, stag, 8);
    put_hex(t, "/", to, 1);
}

static void put_read_request(struct text *t, const struct iw_rdmap_read_request *r)
{
    put_address(t, " sink ", r->sink_stag, r->sink_to);
    put_field(t, " size ", r->size);
    put_address(t, " source ", r->source_stag, r->source_to);
}

static void put_atomic_request(struct text *t, const struct iw_rdmap_atomic_request *r)
{
    unsigned op = r->opcode & 0xfu;
    if (op == IW_ATOMIC_FETCH_ADD)
        put(t, " fetch-add");
    else if (op == IW_ATOMIC_CMP_SWAP)
        put(t, " cmp-swap");
    else
        put_hex(t, " aopcode-", op, 1);
    put_hex(t, " id ", r->request_id, 8);
    put_address(t, " at ", r->remote_stag, r->remote_to);
    put_hex(t, op == IW_ATOMIC_FETCH_ADD ? " add " : " swap ", r->add_swap_data, 1);
    put_hex(t, "/", r->add_swap_mask, 1);
    if (op != IW_ATOMIC_FETCH_ADD || r->compare_data != 0 || r->compare_mask != UINT64_MAX) {
        put_hex(t, " compare ", r->compare_data, 1);
        put_hex(t, "/", r->compare_mask, 1);
    }
    if (r->opcode >> 4 != 0)
        put_hex(t, " reserved ", r->opcode >> 4, 7);
}

static void put_atomic_response(struct text *t, const struct iw_rdmap_atomic_response *r)
{
    put_hex(t, " id ", r->request_id, 8);
    put_hex(t, " value ", r->original_value, 1);
}

static void put_terminate(struct text *t, const struct iw_rdmap_terminate *m)
{
    put_hex(t, " ", m->layer, 1);
    put_hex(t, "/", m->etype, 1);
    put_hex(t, "/", m->code, 2);
    put(t, " \"");
    put(t, iw_wire_term_layer_name(m->layer));
    put(t, ": ");
    put(t, iw_wire_term_name(m->layer, m->etype, m->code));
    put(t, "\"");
    put(t, m->flags != 0 ? " mdr" : "");
    put(t, (m->flags & IW_TERM_M) != 0 ? " M" : "");
    put(t, (m->flags & IW_TERM_D) != 0 ? " D" : "");
    put(t, (m->flags & IW_TERM_R) != 0 ? " R" : "");
    if (m->reserved != 0)
        put_hex(t, " reserved ", m->reserved, 4);
    if ((m->flags & IW_TERM_D) != 0)
        put_field(t, " len ", m->segment_length);
    if ((m->flags & (IW_TERM_D | IW_TERM_R)) != 0) {
        put(t, " [");
        if ((m->flags & IW_TERM_D) != 0)
            put_header(t, &m->ddp);
        else
            put(t, iw_wire_opcode_token(IW_OP_READ_REQUEST));
        if ((m->flags & IW_TERM_R) != 0)
            put_read_request(t, &m->read_request);
        put(t, "]");
    }
    if (m->trailing != 0)
        put_field(t, " trailing ", m->trailing);
}

static void put_octets(struct text *t, const char *name, const uint8_t *octets, size_t length)
{
    put(t, name);
    for (size_t i = 0; i < length; i++)
        put_hex(t, "", octets[i], 2);
}

/* Prints the octets after an untagged header, if they have the size that the opcode asks for.
 * Returns false if only their length can be printed. */
static bool put_message(struct text *t, unsigned op, const uint8_t *octets, size_t length)
{
    struct iw_rdmap_read_request read;
    struct iw_rdmap_terminate terminate;
    struct iw_rdmap_atomic_request request;
    struct iw_rdmap_atomic_response response;
    switch (op) {
    case IW_OP_READ_REQUEST:
        if (iw_wire_get_read_request(octets, length, &read) != (int)length)
            return false;
        put_read_request(t, &read);
        return true;
    case IW_OP_TERMINATE:
        if (iw_wire_get_terminate(octets, length, &terminate) < 0)
            return false;
        put_terminate(t, &terminate);
        return true;
    case IW_OP_IMMEDIATE:
    case IW_OP_IMMEDIATE_SE:
        if (length != IW_RDMAP_IMMEDIATE)
            return false;
        put_octets(t, " data ", octets, length);
        return true;
    case IW_OP_ATOMIC_REQUEST:
        if (iw_wire_get_atomic_request(octets, length, &request) != (int)length)
            return false;
        put_atomic_request(t, &request);
        return true;
    case IW_OP_ATOMIC_RESPONSE:
        if (iw_wire_get_atomic_response(octets, length, &response) != (int)length)
            return false;
        put_atomic_response(t, &response);
        return true;
    default:
        return false;
    }
}

size_t iw_wire_print_segment(char *text, size_t room, const uint8_t *ulpdu, size_t length)
{
    struct text t = {.out = text, .room = room};
    struct iw_ddp_header h;
    int used = iw_wire_get_ddp(ulpdu, length, &h);
    if (used < 0) {
        put_field(&t, "short segment of ", length);
        put(&t, length == 1 ? " octet" : " octets");
        return finish(&t);
    }
    const uint8_t *rest = ulpdu + used;
    size_t left = length - (size_t)used;
    put_header(&t, &h);
    if (iw_ddp_tagged(&h) || !put_message(&t, iw_rdmap_op(&h), rest, left))
        put_field(&t, " len ", left);
    return finish(&t);
}

static void put_enhanced(struct text *t, const struct iw_mpa_enhanced *e)
{
    put(t, e->peer_to_peer ? " A" : "");
    put(t, (e->rtr & IW_MPA_RTR_SEND) != 0 ? " B" : "");
    put(t, (e->rtr & IW_MPA_RTR_WRITE) != 0 ? " C" : "");
    put(t, (e->rtr & IW_MPA_RTR_READ) != 0 ? " D" : "");
    put_field(t, " ird ", e->ird);
    put_field(t, " ord ", e->ord);
}

size_t iw_wire_print_startup(char *text, size_t room, const uint8_t *frame, size_t length)
{
    struct text t = {.out = text, .room = room};
    struct iw_mpa_startup_header h;
    struct iw_mpa_enhanced e;
    if (iw_wire_get_startup(frame, length, &h) < 0) {
        put_field(&t, "short mpa frame of ", length);
        put(&t, length == 1 ? " octet" : " octets");
        return finish(&t);
    }
    enum iw_mpa_key key = iw_wire_mpa_key(h.key);
    put(&t, key == IW_MPA_KEY_REQUEST ? "mpa request"
            : key == IW_MPA_KEY_REPLY ? "mpa reply"
                                      : "mpa wrong-key");
    put_field(&t, " rev ", h.revision);
    put(&t, (h.flags & IW_MPA_FLAG_M) != 0 ? " M" : "");
    put(&t, (h.flags & IW_MPA_FLAG_C) != 0 ? " C" : "");
    put(&t, (h.flags & IW_MPA_FLAG_R) != 0 ? " R" : "");
    put(&t, (h.flags & IW_MPA_FLAG_S) != 0 ? " S" : "");
    if ((h.flags & IW_MPA_FLAG_RES) != 0)
        put_hex(&t, " res ", h.flags & IW_MPA_FLAG_RES, 1);
    put_field(&t, " pd ", h.pd_length);
    const uint8_t *data = frame + IW_MPA_STARTUP_HEADER;
    size_t left = length - IW_MPA_STARTUP_HEADER;
    bool cut = left < h.pd_length;
    if (!cut)
        left = h.pd_length;
    if ((h.flags & IW_MPA_FLAG_S) != 0 && iw_wire_get_enhanced(data, left, &e) > 0) {
        put_enhanced(&t, &e);
        data += IW_MPA_ENHANCED_LENGTH;
        left -= IW_MPA_ENHANCED_LENGTH;
    }
    if (left > 0)
        put_octets(&t, " data ", data, left < PRIVATE_SHOWN ? left : PRIVATE_SHOWN);
    put(&t, left > PRIVATE_SHOWN ? "..." : "");
    put(&t, cut ? " cut" : "");
    return finish(&t);
}
