/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of `iw` that reaches the station. Connections and listeners are owned by the station,
 * which outlives the Lua state. Times are seconds. */
#include <string.h>

#include "iwarp/transport.h"
#include "script_budget.h"
#include "script_host.h"
#include "script_primitives.h"
#include "script_value.h"
#include "station/conn_judge.h"

#define CONN "iw.conn"
#define LISTENER "iw.listener"

enum {
    WRITES = 4096,     /* in one list */
    LOOK_NS = 50000000 /* how soon it is seen that a command has ended */
};

static struct iw_station *station_of(lua_State *L)
{
    struct iw_script *s = iw_script_of(L);

    if (s->station == NULL)
        luaL_error(L, "there is no connection outside of a case's run function");
    return s->station;
}

static struct iw_conn *conn_of(lua_State *L)
{
    return *(struct iw_conn **)luaL_checkudata(L, 1, CONN);
}

static void push(lua_State *L, void *what, const char *type)
{
    *(void **)lua_newuserdata(L, sizeof(what)) = what;
    luaL_setmetatable(L, type);
}

/* iw_script_until, with the patience of an expectation. */
static uint64_t deadline_of(lua_State *L, int argument)
{
    return iw_script_until(L, argument, iw_script_patience(iw_script_of(L)));
}

/* For a function that has waited and returns nothing. */
static int waited(lua_State *L)
{
    iw_script_check_time(L);
    return 0;
}

/* What no socket does. */
static const char *const own_tcp[] = {"isn", "window", "acknowledge"};

struct iw_craft_options iw_script_craft_options(lua_State *L, int index)
{
    struct iw_craft_options options = IW_CRAFT_DEFAULTS;
    bool crafted = iw_script_of(L)->target->tun;

    if (!crafted)
        options.mss = 0;
    if (lua_isnoneornil(L, index))
        return options;
    for (size_t i = 0; !crafted && i < sizeof(own_tcp) / sizeof(*own_tcp); i++) {
        if (lua_getfield(L, index, own_tcp[i]) != LUA_TNIL)
            luaL_error(
                L, "isn, window and acknowledge are for cases with needs = { tcp = \"crafted\" }");
        lua_pop(L, 1);
    }
    options.isn = (uint32_t)iw_script_number(L, index, "isn", options.isn, UINT32_MAX);
    options.mss = (uint16_t)iw_script_number(L, index, "mss", options.mss, UINT16_MAX);
    options.window = (uint16_t)iw_script_number(L, index, "window", options.window, UINT16_MAX);
    lua_getfield(L, index, "acknowledge");
    options.withhold = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (crafted && (!options.mss || !options.window))
        luaL_error(L, "mss and window are at least 1 at first");
    return options;
}

/* iw.connect(host, port [, options]): a connection, or nil and the error. */
static int l_connect(lua_State *L)
{
    const char *host = luaL_checkstring(L, 1);
    uint16_t port = (uint16_t)luaL_checkinteger(L, 2);
    struct iw_craft_options options = iw_script_craft_options(L, 3);
    struct iw_target *target = iw_script_of(L)->target;
    char error[512];
    struct iw_conn *c = NULL;
    if (target->renew == NULL || !target->renew(target, error, sizeof(error)))
        c = iw_station_connect(station_of(L), host, port, &options, deadline_of(L, 4), error,
                               sizeof(error));
    if (c == NULL) {
        iw_script_check_time(L);
        target->refused = true;
        return iw_script_push_failure(L, error);
    }
    push(L, c, CONN);
    return 1;
}

/* iw.listen(host [, options]): a listener and its port, or nil and the error. */
static int l_listen(lua_State *L)
{
    struct iw_craft_options options = iw_script_craft_options(L, 2);
    char error[256];
    struct iw_station_listener *l =
        iw_station_listen(station_of(L), luaL_checkstring(L, 1), &options, error, sizeof(error));

    if (l == NULL)
        return iw_script_push_failure(L, error);
    push(L, l, LISTENER);
    lua_pushinteger(L, iw_station_listener_port(l));
    return 2;
}

/* listener:accept([seconds]): a connection, or nil. */
static int l_accept(lua_State *L)
{
    struct iw_station_listener *l = *(struct iw_station_listener **)luaL_checkudata(L, 1, LISTENER);
    struct iw_conn *c = iw_station_listener_accept(l, deadline_of(L, 2));

    if (c == NULL)
        return waited(L);
    iw_script_answered(iw_script_of(L));
    push(L, c, CONN);
    return 1;
}

/* listener:await(): the connection of a target that was made to connect (iw.initiate), or nil and
 * why none comes. The time for it is the target's and not the case's: a person may be slow. */
static int l_await(lua_State *L)
{
    struct iw_station_listener *l = *(struct iw_station_listener **)luaL_checkudata(L, 1, LISTENER);
    struct iw_script *s = iw_script_of(L);
    struct iw_target *t = s->target;
    uint64_t began = iw_transport_now();
    const char *why = NULL;
    if (t == NULL || t->not_called == NULL)
        return luaL_error(L, "nothing makes this target connect");
    uint64_t until = began + (uint64_t)(t->connect_within * iw_script_scale(s) * 1e9);
    struct iw_conn *c;
    for (;;) {
        uint64_t look = iw_transport_now() + LOOK_NS;

        c = iw_station_listener_accept(l, look > until ? until : look);
        if (c != NULL || iw_transport_now() >= until)
            break;
        why = t->not_called(t, false);
        if (why != NULL) /* what it did before its end has come */
            until = iw_transport_now();
    }
    s->began += iw_transport_now() - began;
    if (s->deadline)
        s->deadline += iw_transport_now() - began;
    if (c != NULL) {
        push(L, c, CONN);
        return 1;
    }
    return iw_script_push_failure(L, why != NULL ? why : t->not_called(t, true));
}

/* The octets of one write. */
static size_t octets_of(lua_State *L, int index)
{
    lua_Integer octets = luaL_checkinteger(L, index);

    if (octets < 1)
        luaL_error(L, "a write of no octets");
    return (size_t)octets;
}

struct iw_writes iw_script_writes(lua_State *L, int index)
{
    struct iw_writes writes = {0};
    lua_settop(L, index + 1);
    if (lua_isnoneornil(L, index))
        return writes;
    if (lua_isinteger(L, index)) {
        writes.each = octets_of(L, index);
        return writes;
    }
    luaL_checktype(L, index, LUA_TTABLE);
    size_t count = (size_t)luaL_len(L, index);
    if (count > WRITES)
        luaL_error(L, "more than %d writes in one list", WRITES);
    size_t *sizes = lua_newuserdata(L, count * sizeof(*sizes));
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, index, (lua_Integer)i + 1);
        sizes[i] = octets_of(L, -1);
        lua_pop(L, 1);
    }
    writes.sizes = sizes;
    writes.count = count;
    return writes;
}

static int write_by(lua_State *L, void (*write)(struct iw_conn *, const void *, size_t,
                                                const struct iw_writes *, uint64_t))
{
    struct iw_conn *c = conn_of(L);
    size_t length;
    const char *octets = luaL_checklstring(L, 2, &length);
    struct iw_writes writes = iw_script_writes(L, 3);
    write(c, octets, length, &writes, deadline_of(L, 4));
    return waited(L);
}

/* conn:write(octets [, writes]) */
static int c_write(lua_State *L)
{
    return write_by(L, iw_conn_write);
}

/* conn:startup(octets [, writes]) */
static int c_startup(lua_State *L)
{
    return write_by(L, iw_conn_send_startup);
}

static enum iw_frame_crc crc_of(lua_State *L, int table, uint32_t *value)
{
    static const char *const names[] = {"right", "bad", "none", NULL};
    static const enum iw_frame_crc values[] = {IW_FRAME_CRC_RIGHT, IW_FRAME_CRC_WRONG,
                                               IW_FRAME_CRC_ABSENT};
    enum iw_frame_crc crc = IW_FRAME_CRC_RIGHT;
    int type = lua_getfield(L, table, "crc");
    if (type == LUA_TSTRING) {
        crc = values[luaL_checkoption(L, -1, NULL, names)];
    } else if (type != LUA_TNIL) {
        *value = (uint32_t)iw_script_number(L, table, "crc", 0, UINT32_MAX);
        crc = IW_FRAME_CRC_VALUE;
    }
    lua_pop(L, 1);
    return crc;
}

/* {length, pad, crc, markers, marker = {shift, which, pointer, add, reserved}} at `index`. */
struct iw_frame_bend iw_script_bend(lua_State *L, int index)
{
    struct iw_frame_bend bend = IW_FRAME_STRAIGHT;

    luaL_checktype(L, index, LUA_TTABLE);
    bend.length = (int32_t)iw_script_number(L, index, "length", UINT32_MAX, 65535);
    bend.crc = crc_of(L, index, &bend.crc_value);
    if (lua_getfield(L, index, "pad") != LUA_TNIL)
        bend.pad = (const uint8_t *)luaL_checklstring(L, -1, &bend.pad_length);
    lua_pop(L, 1); /* still held by the table */
    if (lua_getfield(L, index, "markers") != LUA_TNIL)
        bend.markers = lua_toboolean(L, -1) ? IW_FRAME_MARKERS_ON : IW_FRAME_MARKERS_OFF;
    lua_pop(L, 1);
    if (lua_getfield(L, index, "marker") != LUA_TNIL) {
        int table = lua_gettop(L);

        luaL_checktype(L, table, LUA_TTABLE);
        bend.marker_shift = (uint16_t)iw_script_number(L, table, "shift", 0, 511);
        bend.marker_which = (int32_t)iw_script_number(L, table, "which", UINT32_MAX, 1000);
        bend.marker_pointer = (int32_t)iw_script_number(L, table, "pointer", UINT32_MAX, 65535);
        bend.marker_reserved = (uint16_t)iw_script_number(L, table, "reserved", 0, 65535);
        lua_getfield(L, table, "add");
        bend.marker_add = (int32_t)luaL_optinteger(L, -1, 0);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return bend;
}

/* conn:ulpdu(octets, bend [, writes]) */
static int c_ulpdu(lua_State *L)
{
    struct iw_conn *c = conn_of(L);
    size_t length;
    const char *octets = luaL_checklstring(L, 2, &length);
    struct iw_frame_bend bend = iw_script_bend(L, 3);
    struct iw_writes writes = iw_script_writes(L, 4);
    iw_conn_send_ulpdu(c, octets, length, &bend, &writes, deadline_of(L, 5));
    return waited(L);
}

/* What needs nothing but the connection. */
static const struct {
    const char *name;
    void (*act)(struct iw_conn *c);
} acts[] = {{"cork", iw_conn_cork},
            {"shutdown", iw_conn_shutdown},
            {"reset", iw_conn_reset},
            {"streaming", iw_conn_streaming},
            {"begin", iw_conn_begin}};

static int c_act(lua_State *L)
{
    acts[lua_tointeger(L, lua_upvalueindex(1))].act(conn_of(L));
    return 0;
}

/* conn:uncork([writes]) */
static int c_uncork(lua_State *L)
{
    struct iw_conn *c = conn_of(L);
    struct iw_writes writes = iw_script_writes(L, 2);

    iw_conn_uncork(c, &writes, deadline_of(L, 3));
    return waited(L);
}

/* conn:release(octets): writes the first of what is held. */
static int c_release(lua_State *L)
{
    size_t length = (size_t)luaL_checkinteger(L, 2);

    iw_conn_release(conn_of(L), length, deadline_of(L, 3));
    return waited(L);
}

/* conn:take(): position and octets of what is held, which leave by conn:segment from now on. */
static int c_take(lua_State *L)
{
    uint64_t position;
    size_t length;
    const uint8_t *octets = iw_conn_take(conn_of(L), &position, &length);
    lua_pushinteger(L, (lua_Integer)position);
    lua_pushlstring(L, (const char *)octets, length);
    return 2;
}

static int crafted_only(lua_State *L, bool done)
{
    return done ? 0 : luaL_error(L, "only a crafted connection can do that");
}

/* conn:segment(position, octets): one TCP segment. */
static int c_segment(lua_State *L)
{
    uint64_t position = (uint64_t)luaL_checkinteger(L, 2);
    size_t length;
    const char *octets = luaL_checklstring(L, 3, &length);
    if (length > IW_CRAFT_MSS)
        return luaL_error(L, "a segment of %I octets: %d fit", (lua_Integer)length, IW_CRAFT_MSS);
    return crafted_only(L, iw_conn_segment(conn_of(L), position, octets, length));
}

/* conn:answered([seconds]): whether the peer's TCP has sent a segment since the last one of ours.
 */
static int c_answered(lua_State *L)
{
    lua_pushboolean(L, iw_conn_answered(conn_of(L), deadline_of(L, 2)));
    return 1;
}

/* conn:repeated([seconds]): whether it has sent octets again since conn:acknowledge. */
static int c_repeated(lua_State *L)
{
    lua_pushboolean(L, iw_conn_repeated(conn_of(L), deadline_of(L, 2)));
    return 1;
}

static int c_acknowledge(lua_State *L)
{
    return crafted_only(L, iw_conn_acknowledge(conn_of(L), lua_toboolean(L, 2)));
}

static int c_window(lua_State *L)
{
    lua_Integer window = luaL_checkinteger(L, 2);

    luaL_argcheck(L, window >= 0 && window <= UINT16_MAX, 2, "expected 0 to 65535");
    return crafted_only(L, iw_conn_window(conn_of(L), (uint16_t)window));
}

/* conn:streamed(length [, seconds]): octets that the peer streamed, or nil. */
static int c_streamed(lua_State *L)
{
    struct iw_conn *c = conn_of(L);
    lua_Integer length = luaL_checkinteger(L, 2);
    luaL_argcheck(L, length > 0, 2, "expected a number of octets above 0");
    const uint8_t *octets = iw_conn_streamed(c, (size_t)length, deadline_of(L, 3));
    if (octets == NULL)
        return waited(L);
    iw_script_answered(iw_script_of(L));
    lua_pushlstring(L, (const char *)octets, (size_t)length);
    iw_conn_streamed_drop(c, (size_t)length);
    return 1;
}

/* conn:next([seconds]): the next item, taken from the queue; nil if none came. */
static int c_next(lua_State *L)
{
    struct iw_conn *c = conn_of(L);
    const struct iw_item *item = iw_conn_next(c, deadline_of(L, 2));

    if (item == NULL)
        return waited(L);
    iw_script_answered(iw_script_of(L));
    iw_script_taking(L);
    iw_script_push_item(L, item);
    iw_script_taken(L);
    iw_conn_drop(c);
    return 1;
}

/* conn:partial(): the message of which more has to come, as an item; nil if there is none. */
static int c_partial(lua_State *L)
{
    const struct iw_item *item = iw_conn_partial(conn_of(L));

    if (item == NULL)
        return 0;
    iw_script_push_item(L, item);
    return 1;
}

/* conn:drain([seconds]): reads until the peer has ended its direction; whether it has. */
static int c_drain(lua_State *L)
{
    lua_pushboolean(L, iw_conn_drain(conn_of(L), deadline_of(L, 2)));
    return 1;
}

static int c_comment_sent(lua_State *L)
{
    uint64_t position = iw_conn_comment_sent(conn_of(L), luaL_checkstring(L, 2));
    lua_pushinteger(L, (lua_Integer)position);
    return 1;
}

/* conn:comment_received(position, text) */
static int c_comment_received(lua_State *L)
{
    iw_conn_comment_received(conn_of(L), (uint64_t)luaL_checkinteger(L, 2), luaL_checkstring(L, 3));
    return 0;
}

/* conn:state(): a table; `own` and `peer` are start-up frames. */
static int c_state(lua_State *L)
{
    struct iw_conn_state s;
    iw_conn_get_state(conn_of(L), &s);
    lua_newtable(L);
    iw_script_set_integer(L, "number", (uint64_t)s.number);
    iw_script_set_boolean(L, "initiator", s.initiator);
    iw_script_set_boolean(L, "markers", iw_conn_markers(&s));
    iw_script_set_boolean(L, "peer_markers", iw_conn_peer_markers(&s));
    iw_script_set_boolean(
        L, "crc", s.got_startup && s.sent_startup && (s.own.flags | s.peer.flags) & IW_MPA_FLAG_C);
    iw_script_set_integer(L, "sent", s.sent);
    iw_script_set_integer(L, "received", s.received);
    iw_script_set_integer(L, "mss", s.mss);
    iw_script_set_integer(L, "unacked", s.unacked);
    iw_script_set_integer(L, "acked", s.acked);
    iw_script_set_boolean(L, "ended", s.ended);
    iw_script_set_boolean(L, "reset", s.reset);
    iw_script_set_boolean(L, "shut", s.shut);
    lua_pushnumber(L, (double)s.rtt / 1e9);
    lua_setfield(L, -2, "rtt");
    if (s.sent_startup) {
        iw_script_push_startup(L, &s.own, &s.own_enhanced);
        lua_setfield(L, -2, "own");
    }
    if (s.got_startup) {
        iw_script_push_startup(L, &s.peer, &s.peer_enhanced);
        lua_setfield(L, -2, "peer");
    }
    return 1;
}

static void push_finding(lua_State *L, const struct iw_station_finding *f)
{
    const struct iw_check_info *info = iw_check_info(f->fault.check);
    const struct iw_rule *rule = iw_check_sender_rule(f->fault.check);

    lua_newtable(L);
    iw_script_set_text(L, "check", info->name);
    iw_script_set_text(L, "text", info->text);
    if (rule != NULL) {
        iw_script_set_text(L, "rule", rule->id);
        iw_script_set_text(L, "verdict", iw_verdict_name(iw_rule_verdict(rule)));
    }
    if (f->quirk != IW_QUIRK_COUNT) {
        iw_script_set_text(L, "quirk", iw_quirk_name(f->quirk));
        iw_script_set_text(L, "meant", iw_quirk_text(f->quirk));
    }
    if (f->cause != IW_CHECK_NONE) {
        iw_script_set_text(L, "cause", iw_check_info(f->cause)->name);
        iw_script_set_text(L, "by", iw_observer_consequence(f->fault.check, f->cause));
    }
    iw_script_set_integer(L, "connection", (uint64_t)f->connection);
    iw_script_set_integer(L, "count", f->count);
    iw_script_set_integer(L, "position", f->fault.pos);
    iw_script_set_integer(L, "got", f->fault.got);
    iw_script_set_integer(L, "want", f->fault.want);
}

/* iw.findings(): what the observer has found, a list of {check, text, rule, verdict, connection,
 * count, position, got, want}: each check once for each connection, where it first failed; quirk
 * and meant (its text), if it is one; cause and by (a sentence), if it follows from another one. */
static int l_findings(lua_State *L)
{
    lua_Integer n = 0;

    lua_newtable(L);
    for (const struct iw_station_finding *f = iw_station_findings(station_of(L)); f != NULL;
         f = f->next) {
        push_finding(L, f);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

struct judged {
    size_t n;
    struct iw_station_finding list[IW_CHECK_COUNT];
};

static void found(void *context, const struct iw_fault *fault, enum iw_quirk quirk,
                  enum iw_check cause)
{
    struct judged *j = context;
    size_t i = 0;

    while (i < j->n && j->list[i].fault.check != fault->check)
        i++;
    if (i == j->n)
        j->list[j->n++] =
            (struct iw_station_finding){.fault = *fault, .quirk = quirk, .cause = cause};
    j->list[i].count++;
    if (quirk == IW_QUIRK_COUNT) /* not all of it is looked through */
        j->list[i].quirk = quirk;
    if (cause == IW_CHECK_NONE)
        j->list[i].cause = IW_CHECK_NONE;
}

/* conn:judge(): as iw.findings(), about a connection that the observer has not followed. */
static int c_judge(lua_State *L)
{
    struct iw_conn *c = conn_of(L);
    struct iw_conn_state state;
    struct judged j = {0};

    iw_conn_get_state(c, &state);
    lua_newtable(L);
    iw_conn_judge(c, found, &j);
    for (size_t i = 0; i < j.n; i++) {
        j.list[i].connection = state.number;
        push_finding(L, &j.list[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* iw.rest(seconds): lets time pass in which the station does nothing but read. */
static int l_rest(lua_State *L)
{
    iw_station_wait(station_of(L), -1, iw_script_until(L, 1, 0));
    return waited(L);
}

/* iw.flooded(): whether the peer sent more than the log takes. */
static int l_flooded(lua_State *L)
{
    lua_pushboolean(L, iw_station_flooded(station_of(L)));
    return 1;
}

/* iw.timer(): seconds for which the target may wait by right; 0 if nobody has said. */
static int l_timer(lua_State *L)
{
    lua_pushnumber(L, iw_script_timer(iw_script_asks(L)));
    return 1;
}

/* iw.patience(): seconds that an expectation waits. */
static int l_patience(lua_State *L)
{
    lua_pushnumber(L, iw_script_patience(iw_script_asks(L)));
    return 1;
}

/* Makes a metatable and leaves it on the stack. */
static void push_metatable(lua_State *L, const char *name, const luaL_Reg *methods)
{
    luaL_newmetatable(L, name);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    iw_script_set_boolean(L, "__metatable", false);
}

void iw_script_add_station(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"connect", l_connect},   {"listen", l_listen},
        {"findings", l_findings}, {"flooded", l_flooded},
        {"patience", l_patience}, {"timer", l_timer},
        {"rest", l_rest},         {NULL, NULL},
    };
    static const luaL_Reg conn[] = {
        {"write", c_write},
        {"startup", c_startup},
        {"ulpdu", c_ulpdu},
        {"uncork", c_uncork},
        {"release", c_release},
        {"take", c_take},
        {"segment", c_segment},
        {"answered", c_answered},
        {"repeated", c_repeated},
        {"acknowledge", c_acknowledge},
        {"window", c_window},
        {"streamed", c_streamed},
        {"next", c_next},
        {"partial", c_partial},
        {"drain", c_drain},
        {"comment_sent", c_comment_sent},
        {"comment_received", c_comment_received},
        {"state", c_state},
        {"judge", c_judge},
        {NULL, NULL},
    };
    static const luaL_Reg listener[] = {{"accept", l_accept}, {"await", l_await}, {NULL, NULL}};

    push_metatable(L, CONN, conn);
    for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++) {
        lua_pushinteger(L, (lua_Integer)i);
        lua_pushcclosure(L, c_act, 1);
        lua_setfield(L, -2, acts[i].name);
    }
    push_metatable(L, LISTENER, listener);
    lua_pop(L, 2);
    luaL_setfuncs(L, functions, 0);
}
