/* SPDX-License-Identifier: BSD-3-Clause */
/* Two endpoints of libiwarp joined in-process, for scripts: iw.pair{...}. Nothing in them depends
 * on the hour, on chance or on addresses. */
#include "golden.h"

#include <stdlib.h>
#include <string.h>

#include "iwarp/endpoint_transport.h"

enum { SIDES = 2, REGIONS = 4, MEMORY = 1 << 17, RECEIVE = 4096, EVENTS = 64 };

static const char class[] = "iw.pair";

struct end {
    struct iw_domain *domain;
    struct iw_endpoint *ep;
    struct iw_switches switches;
    uint32_t pd;
    uint32_t emss;
    uint8_t *memory;
    size_t regions;
    bool rejects;
    bool ended; /* its FIN or RST has gone out */
    uint8_t private_data[IW_MPA_PRIVATE_MAX];
    size_t private_length;
};

struct pair {
    struct end end[SIDES];
    uint32_t seed;
    uint64_t now;
};

static void *get(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void give(void *context, void *memory, size_t size)
{
    (void)context;
    (void)size;
    free(memory);
}

/* Draws the STags, which must be the same every time. */
static void draw(void *context, void *out, size_t length)
{
    struct pair *p = context;

    for (size_t i = 0; i < length; i++) {
        p->seed = p->seed * 1664525u + 1013904223u;
        ((uint8_t *)out)[i] = (uint8_t)(p->seed >> 24);
    }
}

static struct pair *pair_of(lua_State *L)
{
    return luaL_checkudata(L, 1, class);
}

static struct end *end_of(lua_State *L, struct pair *p, int index)
{
    lua_Integer side = luaL_checkinteger(L, index);

    luaL_argcheck(L, side == 0 || side == 1, index, "a side is 0 or 1");
    return &p->end[side];
}

/* ---- opening ---- */

static unsigned forms(lua_State *L, int table, const char *field, unsigned standard)
{
    static const char *const names[] = {"send", "write", "read"};
    static const unsigned bits[] = {IW_MPA_RTR_SEND, IW_MPA_RTR_WRITE, IW_MPA_RTR_READ};
    unsigned set = 0;

    if (lua_getfield(L, table, field) == LUA_TNIL)
        set = standard;
    else
        for (size_t i = 0; i < 3; i++)
            if (strstr(luaL_checkstring(L, -1), names[i]))
                set |= bits[i];
    lua_pop(L, 1);
    return set;
}

static void read_mpa(lua_State *L, int table, struct iw_mpa_config *m)
{
    m->revision = (uint8_t)iw_script_number(L, table, "revision", 2, 2);
    m->permissive = m->revision == 0;
    m->crc = iw_script_boolean(L, table, "crc", true);
    m->markers = iw_script_boolean(L, table, "markers", false);
    m->enhanced = iw_script_boolean(L, table, "enhanced", m->revision == 2);
    m->peer_to_peer = iw_script_boolean(L, table, "peer_to_peer", false);
    m->rtr = (uint8_t)forms(L, table, "rtr", m->rtr);
    m->rtr_first = (uint8_t)forms(L, table, "rtr_first", 0);
    m->ird = (uint16_t)iw_script_number(L, table, "ird", 4, 0x3fff);
    m->ord = (uint16_t)iw_script_number(L, table, "ord", 4, 0x3fff);
}

static void read_switches(lua_State *L, int table, struct iw_switches *switches)
{
    const char *error;
    if (lua_getfield(L, table, "violate") != LUA_TNIL &&
        iw_switches_set(switches, IW_SWITCH_VIOLATE, luaL_checkstring(L, -1), &error) < 0)
        luaL_error(L, "violate: %s", error);
    lua_pop(L, 1);
}

static void open_end(lua_State *L, struct pair *p, int side, int table)
{
    struct end *e = &p->end[side];
    struct iw_env env = {p, get, give, draw, NULL, NULL, iw_crc32c_portable};
    struct iw_endpoint_config c;
    iw_endpoint_config_default(&c);
    read_mpa(L, table, &c.mpa);
    read_switches(L, table, &e->switches);
    e->rejects = iw_script_boolean(L, table, "reject", false);
    c.emss = e->emss = (uint32_t)iw_script_number(L, table, "mss", 1460, 65535);
    lua_getfield(L, table, "private");
    size_t length = 0;
    const char *data = luaL_optlstring(L, -1, "", &length);
    if (length > sizeof(e->private_data))
        luaL_error(L, "private data of %I octets", (lua_Integer)length);
    memcpy(e->private_data, data, length);
    e->private_length = length;
    lua_pop(L, 1);
    e->domain = iw_domain_create(&env, &(struct iw_domain_limits){REGIONS, 2});
    e->memory = calloc(REGIONS, MEMORY);
    if (!e->domain || !e->memory)
        luaL_error(L, "no memory");
    for (size_t i = 0; i < (size_t)REGIONS * MEMORY; i++)
        e->memory[i] = (uint8_t)i; /* NOLINT(clang-analyzer-core.NullDereference): luaL_error */
    c.role = side == 0 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
    c.pd = e->pd = iw_domain_pd(e->domain);
    c.switches = &e->switches;
    if (side == 0) {
        c.private_data = e->private_data;
        c.private_length = e->private_length;
    }
    if (iw_endpoint_create(e->domain, &c, p->now, &e->ep) != IW_OK)
        luaL_error(L, "side %d: its configuration contradicts itself", side);
}

/* iw.pair{initiator = {revision, crc, markers, enhanced, peer_to_peer, rtr, rtr_first, ird, ord,
 * private, mss, violate, reject}, responder = {...}} */
static int l_pair(lua_State *L)
{
    static const char *const names[] = {"initiator", "responder"};
    struct pair *p = lua_newuserdatauv(L, sizeof(*p), 0);

    memset(p, 0, sizeof(*p));
    p->seed = 6581;
    luaL_setmetatable(L, class);
    for (int side = 0; side < SIDES; side++) {
        lua_getfield(L, 1, names[side]);
        luaL_checktype(L, -1, LUA_TTABLE);
        open_end(L, p, side, lua_gettop(L));
        lua_pop(L, 1);
    }
    return 1;
}

static int p_free(lua_State *L)
{
    struct pair *p = pair_of(L);

    for (int side = 0; side < SIDES; side++) {
        struct end *e = &p->end[side];

        if (e->ep)
            iw_endpoint_destroy(e->ep);
        iw_domain_destroy(e->domain);
        free(e->memory);
        memset(e, 0, sizeof(*e));
    }
    return 0;
}

/* ---- carrying ---- */

static void take_events(lua_State *L, struct pair *p, struct end *e)
{
    struct iw_event event;
    int result = IW_OK;
    while (iw_endpoint_event(e->ep, &event)) {
        if (event.kind == IW_EVENT_REQUEST)
            result = (e->rejects ? iw_endpoint_reject : iw_endpoint_accept)(
                e->ep, e->private_data, e->private_length, p->now);
        if (event.kind == IW_EVENT_PEER_CLOSED)
            iw_endpoint_shutdown(e->ep, p->now);
        if (result != IW_OK)
            luaL_error(L, "the Request cannot be answered");
    }
    struct iw_completion done[EVENTS];
    while (iw_endpoint_poll(e->ep, done, EVENTS) == EVENTS)
        ;
}

static void hand_over(lua_State *L, int side, const char *kind, const void *octets, size_t length)
{
    lua_pushvalue(L, 2);
    lua_pushinteger(L, side);
    lua_pushstring(L, kind);
    lua_pushlstring(L, octets, length);
    lua_call(L, 3, 0);
}

/* Carries one segment of at most EMSS octets. */
static bool carry(lua_State *L, struct pair *p, int side)
{
    static uint8_t segment[65536];
    struct end *e = &p->end[side], *peer = &p->end[1 - side];
    const struct iw_iov *pieces;
    size_t count = iw_endpoint_output(e->ep, &pieces, p->now), n = 0;
    for (size_t i = 0; i < count && n < e->emss; i++) {
        size_t take = pieces[i].length < e->emss - n ? pieces[i].length : e->emss - n;

        memcpy(segment + n, pieces[i].base, take);
        n += take;
    }
    if (!n)
        return false;
    struct iw_iov in = {segment, n};
    hand_over(L, side, "data", segment, n);
    iw_endpoint_sent(e->ep, n, p->now);
    if (!peer->ended)
        iw_endpoint_input(peer->ep, &in, 1, p->now);
    return true;
}

static bool carry_end(lua_State *L, struct pair *p, int side)
{
    struct end *e = &p->end[side], *peer = &p->end[1 - side];
    enum iw_want want = iw_endpoint_want(e->ep);

    if (e->ended || (want != IW_WANT_FIN && want != IW_WANT_RESET))
        return false;
    hand_over(L, side, want == IW_WANT_FIN ? "fin" : "reset", "", 0);
    if (want == IW_WANT_FIN)
        iw_endpoint_fin_sent(e->ep, p->now);
    e->ended = true;
    iw_endpoint_input_end(peer->ep, want == IW_WANT_FIN, p->now);
    return true;
}

/* pair:run(function(side, kind, octets)): until nothing moves any more; kind is "data", "fin" or
 * "reset". */
static int p_run(lua_State *L)
{
    struct pair *p = pair_of(L);

    luaL_checktype(L, 2, LUA_TFUNCTION);
    for (bool busy = true; busy;) {
        busy = false;
        for (int side = 0; side < SIDES; side++) {
            take_events(L, p, &p->end[side]);
            while (carry(L, p, side)) {
                busy = true;
                take_events(L, p, &p->end[1 - side]);
            }
            busy = carry_end(L, p, side) || busy;
        }
        p->now += 1000;
    }
    return 0;
}

/* ---- work ---- */

/* pair:region(side[, "invalidate"]): STag and TO of a region with all rights. */
static int p_region(lua_State *L)
{
    struct pair *p = pair_of(L);
    struct end *e = end_of(L, p, 2);
    bool invalidate = !lua_isnoneornil(L, 3);
    struct iw_region region = {.length = MEMORY, .to = 0x10000, .pd = e->pd};

    if (e->regions == REGIONS)
        return luaL_error(L, "no region is left");
    region.base = e->memory + MEMORY * e->regions++;
    region.access = IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE |
                    IW_ACCESS_REMOTE_ATOMIC;
    if (invalidate) {
        region.access |= IW_ACCESS_REMOTE_INVALIDATE;
        region.stream = iw_endpoint_stream(e->ep);
    }
    if (iw_domain_register(e->domain, &region))
        return luaL_error(L, "the region cannot be registered");
    lua_pushinteger(L, region.stag);
    lua_pushinteger(L, (lua_Integer)region.to);
    return 2;
}

/* pair:receive(side, count) posts receives. */
static int p_receive(lua_State *L)
{
    struct pair *p = pair_of(L);
    struct end *e = end_of(L, p, 2);
    struct iw_iov sge = {e->memory + MEMORY * (REGIONS - 1), RECEIVE};

    for (lua_Integer i = luaL_checkinteger(L, 3); i > 0; i--)
        if (iw_endpoint_post_recv(e->ep, (uint64_t)i, &sge, 1) != IW_OK)
            return luaL_error(L, "the receive cannot be posted");
    return 0;
}

static enum iw_work_opcode opcode_of(lua_State *L)
{
    static const char *const names[] = {
        "send",      "send-se",      "send-invalidate", "send-se-invalidate", "write", "read",
        "immediate", "immediate-se", "fetch-add",       "cmp-swap",           NULL};
    lua_getfield(L, 3, "op");
    int opcode = luaL_checkoption(L, -1, NULL, names);
    lua_pop(L, 1);
    return (enum iw_work_opcode)opcode;
}

/* pair:post(side, {op, length, invalidate, stag, to, sink_stag, sink_to, immediate, add_swap,
 * add_swap_mask, compare, compare_mask}): `length` octets, from memory that counts 00 01 02... */
static int p_post(lua_State *L)
{
    struct pair *p = pair_of(L);
    struct end *e = end_of(L, p, 2);
    struct iw_iov sge = {e->memory, 0};
    struct iw_work w = {.id = 1, .opcode = opcode_of(L), .sge = &sge, .sge_count = 1};

    sge.length = (size_t)iw_script_number(L, 3, "length", 0, MEMORY);
    w.invalidate_stag = (uint32_t)iw_script_number(L, 3, "invalidate", 0, UINT32_MAX);
    w.remote_stag = (uint32_t)iw_script_number(L, 3, "stag", 0, UINT32_MAX);
    w.remote_to = iw_script_number(L, 3, "to", 0, UINT64_MAX);
    w.sink_stag = (uint32_t)iw_script_number(L, 3, "sink_stag", 0, UINT32_MAX);
    w.sink_to = iw_script_number(L, 3, "sink_to", 0, UINT64_MAX);
    w.length = (uint32_t)sge.length;
    memset(w.immediate, (int)iw_script_number(L, 3, "immediate", 0, 255), sizeof(w.immediate));
    w.add_swap = iw_script_number(L, 3, "add_swap", 0, UINT64_MAX);
    w.add_swap_mask = iw_script_number(L, 3, "add_swap_mask", 0, UINT64_MAX);
    w.compare = iw_script_number(L, 3, "compare", 0, UINT64_MAX);
    w.compare_mask = iw_script_number(L, 3, "compare_mask", 0, UINT64_MAX);
    if (iw_endpoint_post(e->ep, &w, p->now) != IW_OK)
        return luaL_error(L, "the work request cannot be posted");
    return 0;
}

/* pair:shutdown(side), pair:abort(side, code) with a Terminate. */
static int p_shutdown(lua_State *L)
{
    struct pair *p = pair_of(L);

    iw_endpoint_shutdown(end_of(L, p, 2)->ep, p->now);
    return 0;
}

static int p_abort(lua_State *L)
{
    struct pair *p = pair_of(L);

    iw_endpoint_abort(end_of(L, p, 2)->ep, true, (uint8_t)luaL_checkinteger(L, 3), p->now);
    return 0;
}

void golden_add_pair(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"run", p_run},           {"region", p_region}, {"receive", p_receive}, {"post", p_post},
        {"shutdown", p_shutdown}, {"abort", p_abort},   {NULL, NULL},
    };

    luaL_newmetatable(L, class);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, p_free);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    lua_pushcfunction(L, l_pair);
    lua_setfield(L, -2, "pair");
}
