/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs about memory and the windows that are bound to it. */
#include "agent.h"

#include <string.h>

/* The right with index i is the bit 1 << i. */
const char *const agent_right_names[] = {"local-write",       "remote-read",   "remote-write",
                                         "remote-invalidate", "remote-atomic", "bind"};
_Static_assert(IW_ACCESS_LOCAL_WRITE == 1 && IW_ACCESS_REMOTE_READ == 2 &&
                   IW_ACCESS_REMOTE_WRITE == 4 && IW_ACCESS_REMOTE_INVALIDATE == 8 &&
                   IW_ACCESS_REMOTE_ATOMIC == 16 && IW_ACCESS_BIND == 32,
               "their order");

static bool take_access(const json_t *array, uint32_t *out, char *error)
{
    *out = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        int right = agent_index("access", agent_right_names, COUNT(agent_right_names),
                                json_string_value(json_array_get(array, i)), error);
        if (right < 0)
            return false;
        *out |= UINT32_C(1) << right;
    }
    return true;
}

/* Frees released memory, unless a connection may still be reading from it. */
static void sweep(struct agent_client *c)
{
    if (c->own->live == 0)
        agent_memory_sweep(&c->memories);
}

/* ---- register, release ---- */

bool agent_do_register(struct agent_client *c, const json_t *request, char *error)
{
    static const char *const patterns[] = {"count"};
    uint64_t length = 0, guard = 64;
    uint8_t fill = 0;
    struct agent_region region = {.to_given = json_object_get(request, "to") != NULL};
    const json_t *access = NULL;
    const char *pattern = NULL;
    const struct agent_field fields[] = {
        {"length", AGENT_NUMBER, true, AGENT_MEMORY_OCTETS, AGENT_INTO(length)},
        {"access", AGENT_ARRAY, false, COUNT(agent_right_names), AGENT_INTO(access)},
        {"guard", AGENT_NUMBER, false, AGENT_GUARD_MAX, AGENT_INTO(guard)},
        {"to", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(region.to)},
        {"pd", AGENT_NUMBER, false, UINT32_MAX, AGENT_INTO(region.domain)},
        {"conn", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(region.conn)},
        {"fill", AGENT_NUMBER, false, 255, AGENT_INTO(fill)},
        AGENT_PLAIN("pattern", AGENT_STRING, false, pattern),
    };
    if (!agent_take(request, fields, COUNT(fields), error) ||
        !agent_domain_index(c->own, &region.domain, error) ||
        !take_access(access, &region.rights, error) ||
        (pattern != NULL && agent_index("pattern", patterns, 1, pattern, error) < 0))
        return false;
    sweep(c);
    struct agent_memory *m =
        agent_memory_new(&c->memories, length, guard, region.to_given ? &region.to : NULL, error);
    if (m == NULL)
        return false;
    uint8_t *base = m->arena + guard;
    for (uint64_t i = 0; i < length; i++)
        base[i] = pattern != NULL ? (uint8_t)i : fill;
    if (!c->backend->enrol(c->own, m, &region, error)) {
        agent_memory_free(&c->memories, m);
        return false;
    }
    return !json_object_update_new(c->reply,
                                   json_pack("{s:I,s:I,s:o}", "mem", (json_int_t)m->id, "stag",
                                             (json_int_t)m->stag, "to", iw_json_wide(m->to)));
}

bool agent_do_release(struct agent_client *c, const json_t *request, char *error)
{
    const struct agent_slots memories = agent_memory_slots(&c->memories);
    struct agent_memory *m = agent_slot_take(&memories, request, error);
    if (m == NULL)
        return false;
    if (m->windows > 0)
        return agent_fail(error, "field mem: windows are bound to it");
    c->backend->forget(c->own, m->stag);
    m->id = AGENT_GONE;
    m->stag = 0;
    sweep(c);
    return true;
}

/* ---- windows ---- */

static struct agent_slots windows_of(struct agent_client *c)
{
    return (struct agent_slots){AGENT_SLOTS(c->windows), "window", "window"};
}

bool agent_do_bind(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t id = 0, mem = 0, to;
    struct agent_binding b = {0};
    const json_t *access = NULL;
    bool again = json_object_get(request, "window") != NULL;
    const struct agent_slots windows = windows_of(c);
    const struct agent_field fields[] = {
        {"mem", AGENT_NUMBER, true, UINT64_MAX, AGENT_INTO(mem)},
        {"offset", AGENT_NUMBER, false, AGENT_MEMORY_OCTETS, AGENT_INTO(b.offset)},
        {"length", AGENT_NUMBER, true, AGENT_MEMORY_OCTETS, AGENT_INTO(b.length)},
        {"access", AGENT_ARRAY, false, COUNT(agent_right_names), AGENT_INTO(access)},
        {"conn", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(b.conn)},
        {"window", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(id)},
    };
    if (!agent_take(request, fields, COUNT(fields), error) ||
        !take_access(access, &b.rights, error) ||
        (b.memory = agent_memory_find(&c->memories, mem, error)) == NULL ||
        agent_memory_at(b.memory, (int64_t)b.offset, b.length, false, error) == NULL)
        return false;
    struct agent_window *w =
        again ? agent_slot_find(&windows, id, error) : agent_slot_free(&windows, error);
    uint32_t stag = again && w != NULL ? w->stag : 0;
    if (w == NULL || !c->backend->bind(c->own, &b, &stag, &to, error))
        return false;
    if (again)
        w->memory->windows--;
    else
        w->id = ++c->last_window;
    w->stag = stag;
    w->memory = b.memory;
    b.memory->windows++;
    return !json_object_update_new(c->reply,
                                   json_pack("{s:I,s:I,s:o}", "window", (json_int_t)w->id, "stag",
                                             (json_int_t)stag, "to", iw_json_wide(to)));
}

bool agent_do_unbind(struct agent_client *c, const json_t *request, char *error)
{
    const struct agent_slots windows = windows_of(c);
    struct agent_window *w = agent_slot_take(&windows, request, error);
    if (w == NULL)
        return false;
    c->backend->forget(c->own, w->stag);
    w->memory->windows--;
    *w = (struct agent_window){0};
    return true;
}

bool agent_do_invalidate(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t mem = 0, window = 0;
    const struct agent_field fields[] = {
        {"mem", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(mem)},
        {"window", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(window)}};
    const struct agent_slots windows = windows_of(c);
    const struct agent_memory *m = NULL;
    const struct agent_window *w = NULL;
    bool given = json_object_get(request, "mem") != NULL;
    if (!agent_take(request, fields, COUNT(fields), error))
        return false;
    if (given == (json_object_get(request, "window") != NULL))
        return agent_fail(error, "field mem: expected either it or window");
    if (given ? (m = agent_memory_find(&c->memories, mem, error)) == NULL
              : (w = agent_slot_find(&windows, window, error)) == NULL)
        return false;
    return c->backend->invalidate(c->own, m != NULL ? m->stag : w->stag, error);
}

void agent_reset_memory(struct agent_client *c)
{
    for (size_t i = 0; i < AGENT_WINDOWS; i++)
        if (c->windows[i].id != 0)
            c->backend->forget(c->own, c->windows[i].stag);
    memset(c->windows, 0, sizeof(c->windows));
    c->last_window = 0;
    for (size_t i = 0; i < AGENT_MEMORIES; i++) {
        struct agent_memory *m = &c->memories.slots[i];
        if (m->id == 0)
            continue;
        c->backend->forget(c->own, m->stag);
        agent_memory_free(&c->memories, m);
    }
    c->memories.last_id = 0;
}

/* ---- fill, read ---- */

bool agent_do_fill(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t id = 0;
    int64_t offset = 0;
    struct agent_octets data = {NULL, 0};
    const struct agent_field fields[] = {
        {"mem", AGENT_NUMBER, true, UINT64_MAX, AGENT_INTO(id)},
        AGENT_PLAIN("offset", AGENT_OFFSET, false, offset),
        {"hex", AGENT_OCTETS, true, IW_CONTROL_LINE / 2, AGENT_INTO(data)}};
    struct agent_memory *m = NULL;
    uint8_t *at = NULL;
    if (agent_take(request, fields, COUNT(fields), error))
        m = agent_memory_find(&c->memories, id, error);
    if (m != NULL)
        at = agent_memory_at(m, offset, data.length, true, error);
    if (at != NULL)
        memcpy(at, data.data, data.length);
    agent_octets_free(&data);
    return at != NULL;
}

bool agent_do_read(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t id = 0, length = 0;
    int64_t offset = 0;
    const struct agent_field fields[] = {
        {"mem", AGENT_NUMBER, true, UINT64_MAX, AGENT_INTO(id)},
        AGENT_PLAIN("offset", AGENT_OFFSET, false, offset),
        {"length", AGENT_NUMBER, true, AGENT_READ_MAX, AGENT_INTO(length)}};
    struct agent_memory *m;
    const uint8_t *at;
    return agent_take(request, fields, COUNT(fields), error) &&
           (m = agent_memory_find(&c->memories, id, error)) != NULL &&
           (at = agent_memory_at(m, offset, length, true, error)) != NULL &&
           !json_object_set_new(c->reply, "hex", iw_json_hex(at, length));
}
