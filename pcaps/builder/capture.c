/* SPDX-License-Identifier: BSD-3-Clause */
/* The synthesiser for scripts: iw.synth(), iw.fpdu(). */
#include "golden.h"

#include <errno.h>
#include <string.h>

#include "host/files.h"
#include "iwarp/capture.h"
#include "station/frame.h"

enum { LIMIT = 64 * 1024 * 1024, FPDU_ROOM = 1 << 17 };

/* 2026-01-01T00:00:00Z, and from frame to frame. */
static const uint64_t first_ns = UINT64_C(1767225600000000000), step_ns = 10000;

static const char class[] = "iw.synth";

struct synth {
    struct iw_synth *synth;
};

/* iw.fpdu(position, markers, ulpdu, bend): the octets of one FPDU, as the station builds it. */
static int l_fpdu(lua_State *L)
{
    static uint8_t out[FPDU_ROOM];
    uint64_t position = (uint64_t)luaL_checkinteger(L, 1);
    size_t length;
    const char *ulpdu = luaL_checklstring(L, 3, &length);
    struct iw_frame_bend bend = iw_script_bend(L, 4);
    size_t n =
        iw_frame_build(position, lua_toboolean(L, 2), ulpdu, length, &bend, out, sizeof(out));
    if (!n)
        return luaL_error(L, "a ULPDU of %I octets is too long", (lua_Integer)length);
    lua_pushlstring(L, (const char *)out, n);
    return 1;
}

static int l_synth(lua_State *L)
{
    struct synth *s = lua_newuserdatauv(L, sizeof(*s), 0);

    s->synth = iw_synth_new(LIMIT);
    if (!s->synth)
        return luaL_error(L, "no memory");
    luaL_setmetatable(L, class);
    return 1;
}

static struct iw_synth *synth_of(lua_State *L)
{
    return ((struct synth *)luaL_checkudata(L, 1, class))->synth;
}

static int s_free(lua_State *L)
{
    struct synth *s = luaL_checkudata(L, 1, class);

    iw_synth_free(s->synth);
    s->synth = NULL;
    return 0;
}

static uint64_t now(const struct iw_synth *s)
{
    return first_ns + iw_synth_frames(s) * step_ns;
}

static struct iw_address address(lua_State *L, int table, const char *field)
{
    struct iw_address a = {0};
    lua_getfield(L, table, field);
    size_t length;
    const char *octets = luaL_checklstring(L, -1, &length);
    if (length != 4 && length != 16)
        luaL_error(L, "%s has %I octets", field, (lua_Integer)length);
    a.family = length == 4 ? 4 : 6;
    memcpy(a.octets, octets, length);
    lua_pop(L, 1);
    return a;
}

/* synth:connect{from, to, from_port, to_port, from_isn, to_isn, mss, told}: its number. */
static int s_connect(lua_State *L)
{
    struct iw_synth *s = synth_of(L);
    struct iw_synth_tcp tcp = {.address = {address(L, 2, "from"), address(L, 2, "to")}};
    tcp.port[0] = (uint16_t)iw_script_number(L, 2, "from_port", 0, 65535);
    tcp.port[1] = (uint16_t)iw_script_number(L, 2, "to_port", 0, 65535);
    tcp.isn[0] = (uint32_t)iw_script_number(L, 2, "from_isn", 0, UINT32_MAX);
    tcp.isn[1] = (uint32_t)iw_script_number(L, 2, "to_isn", 0, UINT32_MAX);
    tcp.mss = (uint16_t)iw_script_number(L, 2, "mss", 0, 65535);
    tcp.told = (uint16_t)iw_script_number(L, 2, "told", 0, 65535);
    struct iw_synth_span span;
    int number = iw_synth_connect(s, &tcp, now(s), &span);
    if (number < 0)
        return luaL_error(L, "no such connection can be written");
    lua_pushinteger(L, number);
    return 1;
}

/* Returns to the script the frames that were written; raises an error if none was. */
static int push_span(lua_State *L, struct iw_synth_span span)
{
    if (!span.first)
        return luaL_error(L, "nothing can be written here");
    lua_pushinteger(L, (lua_Integer)span.first);
    lua_pushinteger(L, (lua_Integer)span.last);
    return 2;
}

/* synth:data(connection, side, octets): the first and last frame they make. */
static int s_data(lua_State *L)
{
    struct iw_synth *s = synth_of(L);
    size_t length;
    const char *octets = luaL_checklstring(L, 4, &length);
    return push_span(L, iw_synth_data(s, (int)luaL_checkinteger(L, 2),
                                      (unsigned)luaL_checkinteger(L, 3), now(s), octets, length));
}

/* synth:segment(connection, side, position, octets) */
static int s_segment(lua_State *L)
{
    struct iw_synth *s = synth_of(L);
    size_t length;
    const char *octets = luaL_checklstring(L, 5, &length);
    return push_span(L, iw_synth_segment(s, (int)luaL_checkinteger(L, 2),
                                         (unsigned)luaL_checkinteger(L, 3), now(s),
                                         (uint64_t)luaL_checkinteger(L, 4), octets, length));
}

/* synth:unseen(connection, side, position) */
static int s_unseen(lua_State *L)
{
    iw_synth_unseen(synth_of(L), (int)luaL_checkinteger(L, 2), (unsigned)luaL_checkinteger(L, 3),
                    (uint64_t)luaL_checkinteger(L, 4));
    return 0;
}

static int s_fin(lua_State *L)
{
    struct iw_synth *s = synth_of(L);

    return push_span(L, iw_synth_fin(s, (int)luaL_checkinteger(L, 2),
                                     (unsigned)luaL_checkinteger(L, 3), now(s)));
}

static int s_reset(lua_State *L)
{
    struct iw_synth *s = synth_of(L);

    return push_span(L, iw_synth_reset(s, (int)luaL_checkinteger(L, 2),
                                       (unsigned)luaL_checkinteger(L, 3), now(s)));
}

static int s_frames(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)iw_synth_frames(synth_of(L)));
    return 1;
}

/* synth:write(name, comment[, first[, snap]]): a file below the folder. */
static int s_write(lua_State *L)
{
    lua_settop(L, 5);
    const char *path = lua_pushfstring(L, "%s/%s", golden_folder, luaL_checkstring(L, 2));
    lua_pushlstring(L, path, (size_t)(strrchr(path, '/') - path));
    if (iw_folder_create(lua_tostring(L, -1)) < 0)
        return luaL_error(L, "%s: %s", lua_tostring(L, -1), strerror(errno));
    char error[IW_CAPTURE_ERROR];
    if (!iw_synth_write_part(synth_of(L), path, "iwarp-golden", luaL_checkstring(L, 3),
                             (uint64_t)luaL_optinteger(L, 4, 1),
                             (size_t)luaL_optinteger(L, 5, LIMIT), error))
        return luaL_error(L, "%s", error);
    return 0;
}

/* iw.of_check(name): the id of the rule that its finding accuses the sender of; an error if the
 * observer does not find it. */
static int l_of_check(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    enum iw_check check = iw_check_find(name);

    if (!(iw_check_info(check)->kinds & IW_KIND_OBSERVER))
        return luaL_error(L, "'%s' is no check of the observer", name);
    lua_pushstring(L, iw_check_sender_rule(check)->id);
    return 1;
}

void golden_add_capture(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"connect", s_connect}, {"data", s_data},     {"segment", s_segment},
        {"fin", s_fin},         {"unseen", s_unseen}, {"reset", s_reset},
        {"write", s_write},     {"frames", s_frames}, {NULL, NULL},
    };
    static const luaL_Reg functions[] = {
        {"fpdu", l_fpdu},
        {"synth", l_synth},
        {"of_check", l_of_check},
        {NULL, NULL},
    };

    luaL_newmetatable(L, class);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, s_free);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    luaL_setfuncs(L, functions, 0);
}
