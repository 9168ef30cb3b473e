/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of `iw` that turns tables into octets and octets into tables, through wire/. */
#include <string.h>

#include "host/text.h"
#include "iwarp/crc32c.h"
#include "script_host.h"
#include "script_primitives.h"
#include "script_value.h"

/* ---- to octets ---- */

static int push_octets(lua_State *L, const uint8_t *octets, size_t length)
{
    lua_pushlstring(L, (const char *)octets, length);
    return 1;
}

/* iw.ddp{t, l, rsvd, dv, rv, rsv, opcode, stag, to | invalidate, qn, msn, mo}: a DDP header. */
static int l_ddp(lua_State *L)
{
    struct iw_ddp_header h = {0};
    luaL_checktype(L, 1, LUA_TTABLE);
    h.ddp_control =
        (uint8_t)((iw_script_boolean(L, 1, "t", false) ? IW_DDP_T : 0) |
                  (iw_script_boolean(L, 1, "l", true) ? IW_DDP_L : 0) |
                  iw_script_number(L, 1, "rsvd", 0, 15) << 2 | iw_script_number(L, 1, "dv", 1, 3));
    h.rdmap_control = (uint8_t)(iw_script_number(L, 1, "rv", 1, 3) << 6 |
                                iw_script_number(L, 1, "rsv", 0, 3) << 4 |
                                iw_script_number(L, 1, "opcode", 0, 15));
    h.stag = (uint32_t)iw_script_number(L, 1, "stag", 0, UINT32_MAX);
    h.to = iw_script_number(L, 1, "to", 0, UINT64_MAX);
    h.invalidate_stag = (uint32_t)iw_script_number(L, 1, "invalidate", 0, UINT32_MAX);
    h.qn = (uint32_t)iw_script_number(L, 1, "qn", 0, UINT32_MAX);
    h.msn = (uint32_t)iw_script_number(L, 1, "msn", 0, UINT32_MAX);
    h.mo = (uint32_t)iw_script_number(L, 1, "mo", 0, UINT32_MAX);
    uint8_t out[IW_DDP_UNTAGGED_HEADER];
    return push_octets(L, out, (size_t)iw_wire_put_ddp(out, sizeof(out), &h));
}

static int l_read_request(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    struct iw_rdmap_read_request r;
    r.sink_stag = (uint32_t)iw_script_number(L, 1, "sink_stag", 0, UINT32_MAX);
    r.sink_to = iw_script_number(L, 1, "sink_to", 0, UINT64_MAX);
    r.size = (uint32_t)iw_script_number(L, 1, "size", 0, UINT32_MAX);
    r.source_stag = (uint32_t)iw_script_number(L, 1, "source_stag", 0, UINT32_MAX);
    r.source_to = iw_script_number(L, 1, "source_to", 0, UINT64_MAX);
    uint8_t out[IW_RDMAP_READ_REQUEST];
    iw_wire_put_read_request(out, sizeof(out), &r);
    return push_octets(L, out, sizeof(out));
}

static int l_atomic_request(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    struct iw_rdmap_atomic_request r;
    r.opcode = (uint32_t)iw_script_number(L, 1, "atomic", 0, UINT32_MAX);
    r.request_id = (uint32_t)iw_script_number(L, 1, "request_id", 0, UINT32_MAX);
    r.remote_stag = (uint32_t)iw_script_number(L, 1, "remote_stag", 0, UINT32_MAX);
    r.remote_to = iw_script_number(L, 1, "remote_to", 0, UINT64_MAX);
    r.add_swap_data = iw_script_number(L, 1, "add_swap", 0, UINT64_MAX);
    r.add_swap_mask = iw_script_number(L, 1, "add_swap_mask", 0, UINT64_MAX);
    r.compare_data = iw_script_number(L, 1, "compare", 0, UINT64_MAX);
    r.compare_mask = iw_script_number(L, 1, "compare_mask", UINT64_MAX, UINT64_MAX);
    uint8_t out[IW_RDMAP_ATOMIC_REQUEST];
    iw_wire_put_atomic_request(out, sizeof(out), &r);
    return push_octets(L, out, sizeof(out));
}

static int l_atomic_response(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    struct iw_rdmap_atomic_response r;
    r.request_id = (uint32_t)iw_script_number(L, 1, "request_id", 0, UINT32_MAX);
    r.original_value = iw_script_number(L, 1, "value", 0, UINT64_MAX);
    uint8_t out[IW_RDMAP_ATOMIC_RESPONSE];
    iw_wire_put_atomic_response(out, sizeof(out), &r);
    return push_octets(L, out, sizeof(out));
}

/* iw.terminate{layer, etype, code, m, d, r, reserved, segment_length}: the first 4 octets, and the
 * segment length if d is set. The headers are appended by the caller. */
static int l_terminate(lua_State *L)
{
    struct iw_rdmap_terminate t = {0};
    luaL_checktype(L, 1, LUA_TTABLE);
    t.reserved = (uint16_t)iw_script_number(L, 1, "reserved", 0, 0x1fff);
    t.flags = (uint8_t)((iw_script_boolean(L, 1, "m", false) ? IW_TERM_M : 0) |
                        (iw_script_boolean(L, 1, "d", false) ? IW_TERM_D : 0) |
                        (iw_script_boolean(L, 1, "r", false) ? IW_TERM_R : 0));
    t.layer = (uint8_t)iw_script_number(L, 1, "layer", 0, 15);
    t.etype = (uint8_t)iw_script_number(L, 1, "etype", 0, 15);
    t.code = (uint8_t)iw_script_number(L, 1, "code", 0, 255);
    t.segment_length = (uint16_t)iw_script_number(L, 1, "segment_length", 0, 65535);
    uint8_t out[IW_TERM_MAX];
    iw_wire_put_terminate(out, sizeof(out), &t);
    return push_octets(L, out, t.flags & IW_TERM_D ? IW_AT_TERM_DDP : IW_AT_TERM_LENGTH);
}

/* iw.startup{key, flags, revision, pd_length}: the 20 octets. */
static int l_startup(lua_State *L)
{
    struct iw_mpa_startup_header h = {0};
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "key");
    size_t length;
    const char *key = luaL_checklstring(L, -1, &length);
    if (length != IW_MPA_KEY_LENGTH)
        return luaL_error(L, "the key must have 16 octets, not %I", (lua_Integer)length);
    memcpy(h.key, key, length);
    h.flags = (uint8_t)iw_script_number(L, 1, "flags", 0, 255);
    h.revision = (uint8_t)iw_script_number(L, 1, "revision", 1, 255);
    h.pd_length = (uint16_t)iw_script_number(L, 1, "pd_length", 0, 65535);
    uint8_t out[IW_MPA_STARTUP_HEADER];
    iw_wire_put_startup(out, sizeof(out), &h);
    return push_octets(L, out, sizeof(out));
}

/* iw.enhanced{a, b, c, d, ird, ord}: the RFC 6581 block. */
static int l_enhanced(lua_State *L)
{
    struct iw_mpa_enhanced e = {0};
    luaL_checktype(L, 1, LUA_TTABLE);
    e.peer_to_peer = iw_script_boolean(L, 1, "a", false);
    e.rtr = (uint8_t)((iw_script_boolean(L, 1, "b", false) ? IW_MPA_RTR_SEND : 0) |
                      (iw_script_boolean(L, 1, "c", false) ? IW_MPA_RTR_WRITE : 0) |
                      (iw_script_boolean(L, 1, "d", false) ? IW_MPA_RTR_READ : 0));
    e.ird = (uint16_t)iw_script_number(L, 1, "ird", 0, 0x3fff);
    e.ord = (uint16_t)iw_script_number(L, 1, "ord", 0, 0x3fff);
    uint8_t out[IW_MPA_ENHANCED_LENGTH];
    iw_wire_put_enhanced(out, sizeof(out), &e);
    return push_octets(L, out, sizeof(out));
}

/* iw.print_segment(ulpdu), iw.print_startup(frame): the one-line syntax. */
static int print(lua_State *L, size_t (*write)(char *, size_t, const uint8_t *, size_t))
{
    char text[512];
    size_t length;
    const char *octets = luaL_checklstring(L, 1, &length);
    write(text, sizeof(text), (const uint8_t *)octets, length);
    lua_pushstring(L, text);
    return 1;
}

static int l_print_segment(lua_State *L)
{
    return print(L, iw_wire_print_segment);
}

static int l_print_startup(lua_State *L)
{
    return print(L, iw_wire_print_startup);
}

static int l_mulpdu(lua_State *L)
{
    uint32_t emss = (uint32_t)luaL_checkinteger(L, 1);

    lua_pushinteger(L, iw_wire_mulpdu(emss, lua_toboolean(L, 2)));
    return 1;
}

/* iw.crc(octets): the CRC32c as a number. */
static int l_crc(lua_State *L)
{
    size_t length;
    const char *octets = luaL_checklstring(L, 1, &length);
    lua_pushinteger(L, iw_crc32c_finish(iw_crc32c_portable(IW_CRC32C_INIT, octets, length)));
    return 1;
}

/* iw.term_name(layer, etype, code) */
static int l_term_name(lua_State *L)
{
    lua_pushstring(L, iw_wire_term_name((unsigned)luaL_checkinteger(L, 1),
                                        (unsigned)luaL_checkinteger(L, 2),
                                        (unsigned)luaL_checkinteger(L, 3)));
    return 1;
}

/* ---- to tables ---- */

void iw_script_push_startup(lua_State *L, const struct iw_mpa_startup_header *h,
                            const struct iw_mpa_enhanced *e)
{
    static const char *const names[] = {"other", "request", "reply"};

    lua_newtable(L);
    iw_script_set_text(L, "which", names[iw_wire_mpa_key(h->key)]);
    iw_script_set_octets(L, "key", h->key, sizeof(h->key));
    iw_script_set_integer(L, "flags", h->flags);
    iw_script_set_boolean(L, "markers", h->flags & IW_MPA_FLAG_M);
    iw_script_set_boolean(L, "crc", h->flags & IW_MPA_FLAG_C);
    iw_script_set_boolean(L, "rejected", h->flags & IW_MPA_FLAG_R);
    iw_script_set_boolean(L, "enhanced", h->flags & IW_MPA_FLAG_S);
    iw_script_set_integer(L, "reserved", h->flags & IW_MPA_FLAG_RES);
    iw_script_set_integer(L, "revision", h->revision);
    iw_script_set_integer(L, "pd_length", h->pd_length);
    if (!(h->flags & IW_MPA_FLAG_S) || h->pd_length < IW_MPA_ENHANCED_LENGTH)
        return;
    iw_script_set_boolean(L, "a", e->peer_to_peer);
    iw_script_set_boolean(L, "b", e->rtr & IW_MPA_RTR_SEND);
    iw_script_set_boolean(L, "c", e->rtr & IW_MPA_RTR_WRITE);
    iw_script_set_boolean(L, "d", e->rtr & IW_MPA_RTR_READ);
    iw_script_set_integer(L, "ird", e->ird);
    iw_script_set_integer(L, "ord", e->ord);
}

static void push_startup_item(lua_State *L, const struct iw_item *item)
{
    struct iw_mpa_startup_header h;
    struct iw_mpa_enhanced e = {0};
    int header = iw_wire_get_startup(item->octets, item->length, &h);
    size_t skip = (size_t)header;
    if (h.flags & IW_MPA_FLAG_S &&
        iw_wire_get_enhanced(item->octets + header, item->length - (size_t)header, &e) > 0)
        skip += IW_MPA_ENHANCED_LENGTH;
    iw_script_push_startup(L, &h, &e);
    iw_script_set_octets(L, "private", item->octets + skip, item->length - skip);
}

static void set_ddp(lua_State *L, const struct iw_ddp_header *h)
{
    iw_script_set_boolean(L, "t", iw_ddp_tagged(h));
    iw_script_set_boolean(L, "l", iw_ddp_last(h));
    iw_script_set_integer(L, "rsvd", (h->ddp_control & IW_DDP_RSVD) >> 2);
    iw_script_set_integer(L, "dv", iw_ddp_version(h));
    iw_script_set_integer(L, "rv", iw_rdmap_version(h));
    iw_script_set_integer(L, "rsv", (unsigned)(h->rdmap_control & IW_RDMAP_RSV) >> 4);
    iw_script_set_integer(L, "opcode", iw_rdmap_op(h));
    iw_script_set_text(L, "op", iw_wire_opcode_token(iw_rdmap_op(h)));
    if (iw_ddp_tagged(h)) {
        iw_script_set_integer(L, "stag", h->stag);
        iw_script_set_integer(L, "to", h->to);
        return;
    }
    iw_script_set_integer(L, "invalidate", h->invalidate_stag);
    iw_script_set_integer(L, "qn", h->qn);
    iw_script_set_integer(L, "msn", h->msn);
    iw_script_set_integer(L, "mo", h->mo);
}

static void set_read_request(lua_State *L, const struct iw_rdmap_read_request *r)
{
    iw_script_set_integer(L, "sink_stag", r->sink_stag);
    iw_script_set_integer(L, "sink_to", r->sink_to);
    iw_script_set_integer(L, "size", r->size);
    iw_script_set_integer(L, "source_stag", r->source_stag);
    iw_script_set_integer(L, "source_to", r->source_to);
}

static void set_terminate(lua_State *L, const uint8_t *payload, size_t length, iw_quirks quirks)
{
    struct iw_rdmap_terminate t;
    int used = iw_quirk_in(quirks, IW_QUIRK_TERMINATE_REVERSED)
                   ? iw_quirk_get_terminate(payload, length, &t)
                   : iw_wire_get_terminate(payload, length, &t);
    if (used < 0)
        return;
    iw_script_set_integer(L, "layer", t.layer);
    iw_script_set_integer(L, "etype", t.etype);
    iw_script_set_integer(L, "code", t.code);
    iw_script_set_boolean(L, "m", t.flags & IW_TERM_M);
    iw_script_set_boolean(L, "d", t.flags & IW_TERM_D);
    iw_script_set_boolean(L, "r", t.flags & IW_TERM_R);
    iw_script_set_integer(L, "reserved", t.reserved);
    iw_script_set_integer(L, "trailing", t.trailing);
    if (t.flags & IW_TERM_D) {
        iw_script_set_integer(L, "segment_length", t.segment_length);
        lua_newtable(L);
        set_ddp(L, &t.ddp);
        lua_setfield(L, -2, "segment");
    }
    if (t.flags & IW_TERM_R) {
        lua_newtable(L);
        set_read_request(L, &t.read_request);
        lua_setfield(L, -2, "request");
    }
}

static void set_atomics(lua_State *L, unsigned opcode, const uint8_t *payload, size_t length)
{
    struct iw_rdmap_atomic_request request;
    if (opcode == IW_OP_ATOMIC_REQUEST &&
        iw_wire_get_atomic_request(payload, length, &request) > 0) {
        iw_script_set_integer(L, "atomic", request.opcode);
        iw_script_set_integer(L, "request_id", request.request_id);
        iw_script_set_integer(L, "remote_stag", request.remote_stag);
        iw_script_set_integer(L, "remote_to", request.remote_to);
        iw_script_set_integer(L, "add_swap", request.add_swap_data);
        iw_script_set_integer(L, "add_swap_mask", request.add_swap_mask);
        iw_script_set_integer(L, "compare", request.compare_data);
        iw_script_set_integer(L, "compare_mask", request.compare_mask);
    }
    struct iw_rdmap_atomic_response response;
    if (opcode == IW_OP_ATOMIC_RESPONSE &&
        iw_wire_get_atomic_response(payload, length, &response) > 0) {
        iw_script_set_integer(L, "request_id", response.request_id);
        iw_script_set_integer(L, "value", response.original_value);
    }
}

/* The payload behind all DDP headers, as one string. */
static void set_payload(lua_State *L, const struct iw_item *item)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < item->n_segments; i++) {
        const uint8_t *ulpdu = item->octets + item->segments[i].offset;
        struct iw_ddp_header h;
        int header = iw_wire_get_ddp(ulpdu, item->segments[i].length, &h);

        if (header > 0)
            luaL_addlstring(&b, (const char *)ulpdu + header,
                            item->segments[i].length - (size_t)header);
    }
    luaL_pushresult(&b);
    lua_setfield(L, -2, "payload");
}

static void push_segment(lua_State *L, const uint8_t *ulpdu, const struct iw_item_segment *s)
{
    struct iw_ddp_header h;
    int header = iw_wire_get_ddp(ulpdu, s->length, &h);
    lua_newtable(L);
    iw_script_set_octets(L, "ulpdu", ulpdu, s->length);
    iw_script_set_integer(L, "position", s->position);
    iw_script_set_boolean(L, "crc_good", s->crc_good);
    if (header < 0)
        return;
    set_ddp(L, &h);
    iw_script_set_octets(L, "payload", ulpdu + header, s->length - (size_t)header);
}

static void push_message(lua_State *L, const struct iw_item *item)
{
    const uint8_t *first = item->octets;
    const uint8_t *last = first + item->segments[item->n_segments - 1].offset;
    size_t length = item->segments[0].length;
    struct iw_ddp_header h;
    int header = iw_wire_get_ddp(first, length, &h);
    lua_newtable(L);
    lua_newtable(L);
    for (size_t i = 0; i < item->n_segments; i++) {
        push_segment(L, first + item->segments[i].offset, &item->segments[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "segments");
    iw_script_set_octets(L, "ulpdu", first, length);
    if (header < 0)
        return;
    set_ddp(L, &h);
    iw_script_set_boolean(L, "l", *last & IW_DDP_L);
    set_payload(L, item);
    first += header;
    length -= (size_t)header;
    struct iw_rdmap_read_request request;
    if (iw_rdmap_op(&h) == IW_OP_READ_REQUEST &&
        iw_wire_get_read_request(first, length, &request) > 0)
        set_read_request(L, &request);
    if (iw_rdmap_op(&h) == IW_OP_TERMINATE)
        set_terminate(L, first, length, item->quirks);
    set_atomics(L, iw_rdmap_op(&h), first, length);
}

void iw_script_push_item(lua_State *L, const struct iw_item *item)
{
    static const char *const kinds[] = {"startup", "message", "fin", "reset", "lost"};
    if (item->kind == IW_ITEM_STARTUP)
        push_startup_item(L, item);
    else if (item->kind == IW_ITEM_MESSAGE)
        push_message(L, item);
    else
        lua_newtable(L);
    char text[512];
    iw_item_print(item, text, sizeof(text));
    iw_script_set_text(L, "text", text);
    iw_script_set_text(L, "kind", kinds[item->kind]);
    iw_script_set_integer(L, "position", item->position);
    iw_script_set_integer(L, "finish", item->end);
}

/* iw.turned(octets): of a Terminate of the target's, those after its DDP header; if they prove its
 * control word to be in reversed bit order, the same with the word turned round, else nil. */
static int l_turned(lua_State *L)
{
    const struct iw_script *s = iw_script_of(L);
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    const uint8_t *octets = (const uint8_t *)text;
    const struct iw_quirk_context context = {
        .assumed =
            s->target != NULL && iw_quirk_in(s->target->quirks, IW_QUIRK_TERMINATE_REVERSED)};
    if (s->options->no_quirks || iw_quirk_terminate(octets, length, &context) == IW_EVIDENCE_NONE)
        return 0;
    uint8_t word[IW_TERM_WORD];
    memcpy(word, octets, sizeof(word));
    iw_quirk_turn_terminate(word);
    lua_pushlstring(L, (const char *)word, sizeof(word));
    lua_pushlstring(L, text + sizeof(word), length - sizeof(word));
    lua_concat(L, 2);
    return 1;
}

/* iw.digits(octets): two lower-case hexadecimal digits for each. */
static int l_digits(lua_State *L)
{
    size_t length;
    const uint8_t *octets = (const uint8_t *)luaL_checklstring(L, 1, &length);
    luaL_Buffer digits;
    char *text = luaL_buffinitsize(L, &digits, 2 * length + 1);
    iw_text_hex(text, octets, length);
    luaL_pushresultsize(&digits, 2 * length);
    return 1;
}

/* The value of a hexadecimal digit; -1 if it is none. */
static int value_of(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    char letter = (char)(digit | 0x20);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* iw.octets(text): the octets of pairs of hexadecimal digits, with blanks anywhere; nil if it is
 * anything else. */
static int l_octets(lua_State *L)
{
    size_t length, n = 0;
    const char *text = luaL_checklstring(L, 1, &length);
    luaL_Buffer made;
    char *octets = luaL_buffinitsize(L, &made, length / 2 + 1);
    int high = -1;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r'))
            continue;
        int value = value_of(text[i]);
        if (value < 0)
            return 0;
        if (high >= 0)
            octets[n++] = (char)(high << 4 | value);
        high = high < 0 ? value : -1;
    }
    if (high >= 0)
        return 0;
    luaL_pushresultsize(&made, n);
    return 1;
}

void iw_script_add_wire(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"ddp", l_ddp},
        {"read_request", l_read_request},
        {"atomic_request", l_atomic_request},
        {"atomic_response", l_atomic_response},
        {"terminate", l_terminate},
        {"turned", l_turned},
        {"startup", l_startup},
        {"enhanced", l_enhanced},
        {"print_segment", l_print_segment},
        {"print_startup", l_print_startup},
        {"mulpdu", l_mulpdu},
        {"crc", l_crc},
        {"digits", l_digits},
        {"octets", l_octets},
        {"term_name", l_term_name},
        {NULL, NULL},
    };

    luaL_setfuncs(L, functions, 0);
}
