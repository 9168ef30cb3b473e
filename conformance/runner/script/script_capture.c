/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of `iw` that reads recordings: captures of the run's folder, rebuilt by the observer. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/text.h"
#include "iwarp/capture.h"
#include "iwarp/crc32c.h"
#include "iwarp/transport.h"
#include "script_budget.h"
#include "script_host.h"
#include "script_primitives.h"
#include "script_value.h"
#include "station/station_internal.h"

/* Bounds of what a file can make us hold: connections that are read at a time, and those that are
 * told apart. */
enum { CONNECTIONS = 16, THINGS = 16384, OCTETS = 8 * 1024 * 1024, TABLE = 65536 };

struct thing {
    struct thing *next;
    enum iw_side side;
    uint64_t frame; /* with which it was whole */
    uint64_t time;
    struct iw_item *item;
    enum iw_check broke; /* the first that its sender failed in it; IW_CHECK_NONE: none */
};

struct recorded {
    struct iw_script_recording *recording;
    struct iw_observer *observer;
    unsigned initiator; /* direction of the first octets: the responder never speaks first */
    bool spoken;
    struct iw_item *partial[2];
    struct iw_ddp_header before[2]; /* of the segment that `partial` ends with */
    size_t payload[2];              /* octets in it */
    uint64_t frame[2], time[2];     /* with which it came */
    enum iw_check broke[2];         /* in `partial` */
    struct thing *things, **last;
    struct thing *newest[2];       /* of each side */
    bool found[2][IW_CHECK_COUNT]; /* checks that failed, by side */
};

struct iw_script_recording {
    const char *name;
    const struct iw_script *script;
    struct iw_capture_connections *table;
    size_t first, count; /* the connections that are wanted */
    struct recorded connection[CONNECTIONS];
    uint64_t frame, time;
    size_t things, octets;
    char error[IW_CAPTURE_ERROR + 64];
};

void iw_script_end_recording(struct iw_script *s)
{
    struct iw_script_recording *r = s->recording;

    if (r == NULL)
        return;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct recorded *c = &r->connection[i];

        while (c->things != NULL) {
            struct thing *thing = c->things;

            c->things = thing->next;
            iw_item_free(thing->item);
            free(thing);
        }
        iw_item_free(c->partial[0]);
        iw_item_free(c->partial[1]);
        iw_observer_free(c->observer);
    }
    iw_capture_connections_free(r->table);
    free(r);
    s->recording = NULL;
}

/* ---- from observations to items ---- */

static void stop(struct iw_script_recording *r, const char *why)
{
    if (!*r->error)
        snprintf(r->error, sizeof(r->error), "%s: frame %llu: %s", r->name,
                 (unsigned long long)r->frame, why);
}

/* Takes over the item. One that was whole earlier than it was known to be goes where it belongs. */
static void add(struct recorded *c, enum iw_side side, struct iw_item *item, uint64_t frame,
                uint64_t time)
{
    struct iw_script_recording *r = c->recording;
    struct thing **at = c->last;

    r->things++;
    r->octets += item->length;
    if (r->things > THINGS || r->octets > OCTETS) {
        stop(r, "the recording is too large to be replayed");
        iw_item_free(item);
        return;
    }
    if (frame != r->frame)
        for (at = &c->things; *at != NULL && (*at)->frame <= frame;)
            at = &(*at)->next;
    struct thing *thing = iw_got(malloc(sizeof(*thing)));
    *thing = (struct thing){.next = *at, .side = side, .frame = frame, .time = time, .item = item};
    *at = c->newest[side] = thing;
    if (thing->next == NULL)
        c->last = &thing->next;
}

static void add_now(struct recorded *c, enum iw_side side, struct iw_item *item)
{
    add(c, side, item, c->recording->frame, c->recording->time);
}

static void flush(struct recorded *c, enum iw_side side)
{
    if (c->partial[side] != NULL) {
        if (!iw_ddp_last(&c->before[side]) && c->broke[side] == IW_CHECK_NONE)
            c->broke[side] = IW_CHECK_DDP_LAST;
        add(c, side, c->partial[side], c->frame[side], c->time[side]);
        if (!*c->recording->error)
            c->newest[side]->broke = c->broke[side];
    }
    c->partial[side] = NULL;
    c->broke[side] = IW_CHECK_NONE;
}

/* Returns whether a segment goes on where the message that is not whole yet has ended so far. */
static bool continues(const struct iw_ddp_header *before, size_t payload,
                      const struct iw_ddp_header *now)
{
    if (iw_ddp_tagged(before) != iw_ddp_tagged(now) || iw_rdmap_op(before) != iw_rdmap_op(now))
        return false;
    if (iw_ddp_tagged(now))
        return now->stag == before->stag && now->to == before->to + payload;
    return now->qn == before->qn && now->msn == before->msn && now->mo == before->mo + payload;
}

/* A recorded segment is sent and compared as it was, not as it was meant. */
static void keep_as_it_was(struct iw_item *item, const struct iw_observation *o)
{
    struct iw_item_segment *last = &item->segments[item->n_segments - 1];

    if (iw_quirk_in(o->quirks, IW_QUIRK_CRC_OTHER))
        last->crc_good = false;
    memcpy(item->octets + last->offset, o->ulpdu, last->length);
    item->mended = false;
}

/* A message whose last segment does not say so (L=0) ends where another begins. */
static void seen_segment(struct recorded *c, const struct iw_observation *o)
{
    struct iw_item **item = &c->partial[o->side];

    if (*item != NULL && !continues(&c->before[o->side], c->payload[o->side], &o->ddp))
        flush(c, o->side);
    c->before[o->side] = o->ddp;
    c->payload[o->side] = o->payload_length;
    c->frame[o->side] = c->recording->frame;
    c->time[o->side] = c->recording->time;
    if (*item == NULL)
        *item = iw_item_new(IW_ITEM_MESSAGE, o->pos, o->end);
    iw_item_append(*item, o);
    keep_as_it_was(*item, o);
    if ((*item)->length > OCTETS)
        stop(c->recording, "the recording is too large to be replayed");
    if (iw_ddp_last(&o->ddp))
        flush(c, o->side);
}

static void seen_end(struct recorded *c, const struct iw_observation *o, enum iw_item_kind kind)
{
    flush(c, o->side);
    add_now(c, o->side, iw_item_new(kind, o->pos, o->pos));
}

/* Returns whether a finding is about a message whose segments are things of their own, as they do
 * not follow each other: it shows with the last one. */
static bool of_scattered(const struct iw_observation *o)
{
    return o->fault.check == IW_CHECK_DDP_MO_PLACE || o->fault.check == IW_CHECK_DDP_MO_ORDER;
}

/* What is found in a segment is found right after it was seen. */
static void seen_finding(struct recorded *c, const struct iw_observation *o)
{
    enum iw_check *broke = &c->broke[o->side];
    const struct iw_item *item = c->partial[o->side];

    c->found[o->side][o->fault.check] = true;
    if (item == NULL && c->newest[o->side] != NULL) {
        item = c->newest[o->side]->item;
        broke = &c->newest[o->side]->broke;
    }
    /* IW_CHECK_DDP_LAST is of the message before, as flush() knows. */
    if (item != NULL && o->fault.check != IW_CHECK_DDP_LAST &&
        (o->fault.pos >= item->position || of_scattered(o)) && o->fault.pos < item->end &&
        *broke == IW_CHECK_NONE)
        *broke = o->fault.check;
}

static void seen(void *context, const struct iw_observation *o)
{
    struct recorded *c = context;

    if (*c->recording->error)
        return;
    switch (o->kind) {
    case IW_OBSERVED_STARTUP:
        add_now(c, o->side, iw_item_startup(o));
        break;
    case IW_OBSERVED_SEGMENT:
        seen_segment(c, o);
        break;
    case IW_OBSERVED_FIN:
        seen_end(c, o, IW_ITEM_FIN);
        break;
    case IW_OBSERVED_RESET:
        seen_end(c, o, IW_ITEM_RESET);
        break;
    case IW_OBSERVED_LOST:
    case IW_OBSERVED_GAP:
        seen_end(c, o, IW_ITEM_LOST);
        break;
    case IW_OBSERVED_FINDING:
        seen_finding(c, o);
        break;
    case IW_OBSERVED_MESSAGE:
    case IW_OBSERVED_RESYNC:
        break;
    }
}

/* ---- from frames to observations ---- */

static void open_connection(struct iw_script_recording *r, struct recorded *c)
{
    struct iw_observer_config config = {.crc32c = iw_crc32c_portable,
                                        .context = c,
                                        .seen = seen,
                                        .extensions = true,
                                        .no_quirks = r->script->options->no_quirks};

    c->recording = r;
    c->last = &c->things;
    c->observer = iw_got(iw_observer_new(&config));
}

static enum iw_side side_of(const struct recorded *c, const struct iw_segment *s)
{
    return s->direction == c->initiator ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER;
}

static void take_data(struct recorded *c, const struct iw_segment *s)
{
    if (!s->length && !s->missing)
        return;
    if (!c->spoken)
        c->initiator = s->direction;
    c->spoken = true;
    if (s->length)
        (void)iw_observer_input(c->observer, side_of(c, s), s->pos, s->data, s->length);
    if (s->missing)
        iw_observer_gap(c->observer, side_of(c, s), s->pos + s->length,
                        s->pos + s->length + s->missing);
}

static int on_segment(void *context, const struct iw_segment *s)
{
    struct iw_script_recording *r = context;
    uint64_t number = s->connection->number;
    bool late = r->script->deadline && iw_transport_now() >= r->script->deadline;

    if (number < r->first || number - r->first >= r->count)
        return late;
    struct recorded *c = &r->connection[number - r->first];
    r->frame = s->frame->number;
    r->time = s->frame->time;
    if (c->observer == NULL)
        open_connection(r, c);
    if (s->kind == IW_SEGMENT_DATA)
        take_data(c, s);
    else if (s->kind != IW_SEGMENT_SYN)
        iw_observer_end(c->observer, side_of(c, s), s->pos, s->kind == IW_SEGMENT_RST);
    return *r->error || late;
}

static void walk(struct iw_script_recording *r, const char *path)
{
    r->table = iw_got(iw_capture_connections_new(TABLE, on_segment, r));
    struct iw_capture_counts counts = {0};
    iw_capture_walk(path, r->table, &counts, r->error); /* is empty unless that fails */
    if (!*r->error && counts.ignored)
        snprintf(r->error, sizeof(r->error), "%s: more than %d TCP connections", r->name, TABLE);
    for (size_t i = 0; i < r->count && !*r->error; i++) {
        if (r->connection[i].observer == NULL)
            continue;
        iw_observer_flush(r->connection[i].observer);
        flush(&r->connection[i], IW_SIDE_INITIATOR);
        flush(&r->connection[i], IW_SIDE_RESPONDER);
    }
}

/* ---- to tables ---- */

static void push_thing(lua_State *L, const struct thing *thing)
{
    iw_script_push_item(L, thing->item);
    iw_script_set_text(L, "side", iw_side_name(thing->side));
    iw_script_set_integer(L, "frame", thing->frame);
    iw_script_set_integer(L, "time", thing->time);
    if (thing->broke != IW_CHECK_NONE)
        iw_script_set_text(L, "broke", iw_check_sender_rule(thing->broke)->id);
}

/* {initiator = {check = rule that its sender broke, ...}, responder = {...}} */
static void push_findings(lua_State *L, const struct recorded *c)
{
    lua_newtable(L);
    for (int side = 0; side < 2; side++) {
        lua_newtable(L);
        for (int check = 0; check < IW_CHECK_COUNT; check++)
            if (c->found[side][check])
                iw_script_set_text(L, iw_check_info((enum iw_check)check)->name,
                                   iw_check_sender_rule((enum iw_check)check)->id);
        lua_setfield(L, -2, iw_side_name((enum iw_side)side));
    }
}

static void push_connection(lua_State *L, const struct iw_script_recording *r, size_t number)
{
    const struct iw_capture_connection *tcp =
        iw_capture_connections_get(r->table, r->first + number);
    const struct recorded *c = &r->connection[number];
    lua_newtable(L);
    for (int side = 0; side < 2; side++) {
        unsigned end = side == IW_SIDE_INITIATOR ? c->initiator : !c->initiator;
        char text[IW_ENDPOINT_TEXT];
        iw_script_set_text(L, iw_side_name((enum iw_side)side),
                           iw_address_print(text, &tcp->address[end], tcp->port[end]));
    }
    lua_newtable(L);
    lua_Integer n = 0;
    for (const struct thing *thing = c->things; thing != NULL; thing = thing->next) {
        push_thing(L, thing);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "things");
    push_findings(L, c);
    lua_setfield(L, -2, "findings");
}

/* ---- names of captures ---- */

/* The file `name` of the run's folder into `path`. Nothing outside of that folder is opened, be it
 * named by ".." or by a symbolic link. */
static void resolve(lua_State *L, const char *name, char path[PATH_MAX])
{
    const char *folder = iw_script_of(L)->options->pcaps;
    if (folder == NULL)
        luaL_error(L, "%s: this run has no folder of captures", name);
    lua_pushfstring(L, "/%s/", name);
    if (*name == '/' || strstr(lua_tostring(L, -1), "/../") != NULL)
        luaL_error(L, "%s: expected a path below the folder of captures", name);
    lua_pop(L, 1);
    lua_pushfstring(L, "%s/%s", folder, name);
    char root[PATH_MAX];
    if (realpath(folder, root) == NULL)
        luaL_error(L, "%s: %s", folder, strerror(errno));
    struct stat status = {0};
    if (realpath(lua_tostring(L, -1), path) == NULL || stat(path, &status))
        luaL_error(L, "%s: %s", lua_tostring(L, -1), strerror(errno));
    size_t n = strlen(root);
    if (strncmp(path, root, n) != 0 || (path[n] != '/' && root[n - 1] != '/') ||
        !S_ISREG(status.st_mode))
        luaL_error(L, "%s: no file of the folder of captures", name);
    lua_pop(L, 1);
}

/* iw.capture(name [, first [, last]]): TCP connections of a capture (from 1, all of them unless
 * said, CONNECTIONS at most), in the order of their first frames, each {initiator =, responder =
 * (address:port), things = {...}, findings = {initiator = {check = rule ...}, responder = {...}}};
 * a thing is an item as conn:next gives it, of either side, with `side` ("initiator", "responder"),
 * `frame` and `time` (ns since 1970), in capture order. Also returns how many there are in the
 * file. */
static int l_capture(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    lua_Integer first = luaL_optinteger(L, 2, 1);
    lua_Integer last = luaL_optinteger(L, 3, first + CONNECTIONS - 1);
    bool all = lua_isnoneornil(L, 2);
    luaL_argcheck(L, first >= 1 && first <= TABLE, 2, "no number of a connection");
    luaL_argcheck(L, last >= first && last - first < CONNECTIONS, 3, "too many connections");
    char path[PATH_MAX];
    resolve(L, name, path);
    struct iw_script *s = iw_script_asks(L);
    iw_script_end_recording(s);
    struct iw_script_recording *r = s->recording = iw_got(calloc(1, sizeof(*r)));
    r->name = name;
    r->first = (size_t)first - 1;
    r->count = (size_t)(last - first) + 1;
    r->script = s;
    iw_script_pause(s);
    walk(r, path);
    iw_script_check_time(L);
    if (*r->error)
        return luaL_error(L, "%s", r->error); /* the script ends, and the recording with it */
    size_t total = iw_capture_connections_count(r->table);
    if (all && total > r->count)
        return luaL_error(L, "%s: more than %d TCP connections", name, CONNECTIONS);
    size_t count = total > r->first ? total - r->first : 0;
    lua_newtable(L);
    for (size_t i = 0; i < r->count && i < count; i++) {
        push_connection(L, r, i);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_pushinteger(L, (lua_Integer)total);
    iw_script_end_recording(s);
    iw_script_resume(s);
    return 2;
}

void iw_script_add_capture(lua_State *L)
{
    lua_pushcfunction(L, l_capture);
    lua_setfield(L, -2, "capture");
}
