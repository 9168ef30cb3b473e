/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "iwarp/wire.h"

#include <string.h>

/* A bounded text: counts what does not fit. */
struct text {
    char *out;
    size_t room, length;
};

static void put_char(struct text *t, char c)
{
    if (t->length + 1 < t->room)
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

static void put_read_request(struct text *t, const struct iw_rdmap_read_request *r)
{
    put_hex(t, " sink ", r->sink_stag, 8);
    put_hex(t, "/", r->sink_to, 1);
    put_field(t, " size ", r->size);
    put_hex(t, " source ", r->source_stag, 8);
    put_hex(t, "/", r->source_to, 1);
}

static void put_header(struct text *t, const struct iw_ddp_header *h)
{
    unsigned op = iw_rdmap_op(h);
    if (op <= IW_OP_ATOMIC_RESPONSE)
        put(t, iw_wire_opcode_token(op));
    else
        put_hex(t, "opcode-", op, 1);
    if (iw_ddp_last(h))
        put(t, " L");
    if (iw_ddp_tagged(h)) {
        if (op != IW_OP_WRITE && op != IW_OP_READ_RESPONSE)
            put(t, " T");
        put_hex(t, " stag ", h->stag, 8);
        put_hex(t, " to ", h->to, 1);
    } else {
        if (op == IW_OP_WRITE || op == IW_OP_READ_RESPONSE)
            put(t, " untagged");
        put_field(t, " qn ", h->qn);
        put_field(t, " msn ", h->msn);
        put_field(t, " mo ", h->mo);
        if (h->invalidate_stag != 0 || op == IW_OP_SEND_INVALIDATE || op == IW_OP_SEND_SE_INVALIDATE)
            put_hex(t, " invalidate ", h->invalidate_stag, 8);
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
    if ((m->flags & IW_TERM_M) != 0)
        put(t, " M");
    if ((m->flags & IW_TERM_D) != 0)
        put(t, " D");
    if ((m->flags & IW_TERM_R) != 0)
        put(t, " R");
    if (m->reserved != 0)
        put_hex(t, " reserved ", m->reserved, 4);
    if ((m->flags & IW_TERM_D) != 0) {
        put_field(t, " segment ", m->segment_length);
        put(t, " [");
        put_header(t, &m->ddp);
        if ((m->flags & IW_TERM_R) != 0)
            put_read_request(t, &m->read_request);
        put(t, "]");
    }
}

size_t iw_wire_print_segment(char *text, size_t room, const uint8_t *ulpdu, size_t length)
{
    struct text t = {text, room, 0};
    struct iw_ddp_header h;
    struct iw_rdmap_read_request request;
    struct iw_rdmap_terminate terminate;
    int used = iw_wire_get_ddp(ulpdu, length, &h);
    if (used < 0) {
        put_field(&t, "short segment of ", length);
        put(&t, " octets");
        return finish(&t);
    }
    const uint8_t *rest = ulpdu + used;
    size_t left = length - (size_t)used;
    put_header(&t, &h);
    bool untagged = !iw_ddp_tagged(&h);
    if (untagged && iw_rdmap_op(&h) == IW_OP_READ_REQUEST && left == IW_RDMAP_READ_REQUEST &&
        iw_wire_get_read_request(rest, left, &request) > 0)
        put_read_request(&t, &request);
    else if (untagged && iw_rdmap_op(&h) == IW_OP_TERMINATE &&
             iw_wire_get_terminate(rest, left, &terminate) > 0)
        put_terminate(&t, &terminate);
    else
        put_field(&t, " len ", left);
    return finish(&t);
}

size_t iw_wire_print_startup(char *text, size_t room, const uint8_t *frame, size_t length)
{
    struct text t = {text, room, 0};
    struct iw_mpa_startup_header h;
    struct iw_mpa_enhanced e;
    if (iw_wire_get_startup(frame, length, &h) < 0) {
        put_field(&t, "mpa frame cut at ", length);
        put(&t, " octets");
        return finish(&t);
    }
    enum iw_mpa_key key = iw_wire_mpa_key(h.key);
    put(&t, key == IW_MPA_KEY_REQUEST ? "mpa request"
            : key == IW_MPA_KEY_REPLY ? "mpa reply"
                                      : "mpa wrong-key");
    put_field(&t, " rev ", h.revision);
    if ((h.flags & IW_MPA_FLAG_M) != 0)
        put(&t, " M");
    if ((h.flags & IW_MPA_FLAG_C) != 0)
        put(&t, " C");
    if ((h.flags & IW_MPA_FLAG_R) != 0)
        put(&t, " R");
    if ((h.flags & IW_MPA_FLAG_S) != 0)
        put(&t, " S");
    if ((h.flags & IW_MPA_FLAG_RES) != 0)
        put_hex(&t, " res ", h.flags & IW_MPA_FLAG_RES, 1);
    put_field(&t, " pd ", h.pd_length);
    const uint8_t *data = frame + IW_MPA_STARTUP_HEADER;
    size_t left = length - IW_MPA_STARTUP_HEADER;
    if (left > h.pd_length)
        left = h.pd_length;
    if ((h.flags & IW_MPA_FLAG_S) != 0 && iw_wire_get_enhanced(data, left, &e) > 0) {
        put(&t, e.peer_to_peer ? " A" : "");
        put(&t, (e.rtr & IW_MPA_RTR_SEND) != 0 ? " B" : "");
        put(&t, (e.rtr & IW_MPA_RTR_WRITE) != 0 ? " C" : "");
        put(&t, (e.rtr & IW_MPA_RTR_READ) != 0 ? " D" : "");
        put_field(&t, " ird ", e.ird);
        put_field(&t, " ord ", e.ord);
        data += IW_MPA_ENHANCED_LENGTH;
        left -= IW_MPA_ENHANCED_LENGTH;
    }
    for (size_t i = 0; i < left && i < 32; i++)
        put_hex(&t, i == 0 ? " data " : "", data[i], 2);
    if (left > 32)
        put(&t, "...");
    return finish(&t);
}
