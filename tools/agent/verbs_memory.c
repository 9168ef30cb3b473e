/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs about memory and the windows that are bound to it. */
#include "agent.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *name;
    uint32_t right;
} rights[] = {
    {"local-write", IW_ACCESS_LOCAL_WRITE},     {"remote-read", IW_ACCESS_REMOTE_READ},
    {"remote-write", IW_ACCESS_REMOTE_WRITE},   {"remote-invalidate", IW_ACCESS_REMOTE_INVALIDATE},
    {"remote-atomic", IW_ACCESS_REMOTE_ATOMIC}, {"bind", IW_ACCESS_BIND}};

static bool take_access(const json_t *array, uint32_t *out, char *error)
{
    *out = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *name = json_string_value(json_array_get(array, i));
        size_t k = 0;
        while (k < COUNT(rights) && (name == NULL || strcmp(name, rights[k].name) != 0))
            k++;
        if (k == COUNT(rights)) {
            snprintf(error, AGENT_ERROR,
                     "field access: expected local-write, remote-read, remote-write, "
                     "remote-invalidate, remote-atomic or bind");
            return false;
        }
        *out |= rights[k].right;
    }
    return true;
}

/* Frees released memory, unless a connection may still be reading from it. */
static void sweep(struct agent_client *c)
{
    if (c->backend->idle(c->own))
        agent_memory_sweep(&c->memories);
}

/* ---- register, release ---- */

json_t *agent_do_register(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t length = 0, guard = 64, fill = 0;
    struct agent_region region = {0};
    const json_t *access = NULL;
    const char *pattern = NULL;
    const struct agent_field fields[] = {
        {"length", AGENT_NUMBER, true, AGENT_MEMORY_OCTETS, &length, NULL},
        {"access", AGENT_ARRAY, false, COUNT(rights), &access, NULL},
        {"guard", AGENT_NUMBER, false, AGENT_GUARD_MAX, &guard, NULL},
        {"to", AGENT_NUMBER, false, UINT64_MAX, &region.to, &region.to_given},
        {"pd", AGENT_NUMBER, false, UINT32_MAX, &region.domain, NULL},
        {"conn", AGENT_NUMBER, false, UINT64_MAX, &region.conn, NULL},
        {"fill", AGENT_NUMBER, false, 255, &fill, NULL},
        {"pattern", AGENT_STRING, false, 0, &pattern, NULL},
    };
    if (!agent_take(request, fields, COUNT(fields), error) ||
        !take_access(access, &region.rights, error))
        return NULL;
    if (pattern != NULL && strcmp(pattern, "count") != 0) {
        snprintf(error, AGENT_ERROR, "field pattern: expected count");
        return NULL;
    }
    sweep(c);
    struct agent_memory *m =
        agent_memory_new(&c->memories, length, guard, region.to_given ? &region.to : NULL, error);
    if (m == NULL)
        return NULL;
    uint8_t *base = m->arena + guard;
    for (uint64_t i = 0; i < length; i++)
        base[i] = (uint8_t)(pattern != NULL ? i : fill);
    if (!c->backend->enrol(c->own, m, &region, error)) {
        agent_memory_free(&c->memories, m);
        return NULL;
    }
    return json_pack("{s:I,s:I,s:o}", "mem", (json_int_t)m->id, "stag", (json_int_t)m->stag, "to",
                     agent_u64(m->to));
}

json_t *agent_do_release(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t id = 0;
    const struct agent_field fields[] = {{"mem", AGENT_NUMBER, true, UINT64_MAX, &id, NULL}};
    struct agent_memory *m;
    if (!agent_take(request, fields, COUNT(fields), error) ||
        (m = agent_memory_find(&c->memories, id, error)) == NULL)
        return NULL;
    if (m->windows > 0) {
        snprintf(error, AGENT_ERROR, "field mem: windows are bound to it");
        return NULL;
    }
    c->backend->forget(c->own, m->stag);
    agent_memory_retire(m);
    sweep(c);
    return json_object();
}

/* ---- windows ---- */

static struct agent_window *find_window(struct agent_client *c, uint64_t id, char *error)
{
    for (size_t i = 0; id != 0 && i < AGENT_WINDOWS; i++)
        if (c->windows[i].id == id)
            return &c->windows[i];
    snprintf(error, AGENT_ERROR, "field window: no window %" PRIu64, id);
    return NULL;
}

static struct agent_window *free_window(struct agent_client *c, char *error)
{
    for (size_t i = 0; i < AGENT_WINDOWS; i++)
        if (c->windows[i].id == 0)
            return &c->windows[i];
    snprintf(error, AGENT_ERROR, "at most %d windows", AGENT_WINDOWS);
    return NULL;
}

json_t *agent_do_bind(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t id = 0, mem = 0, to;
    struct agent_binding b = {0};
    const json_t *access = NULL;
    bool again = false;
    const struct agent_field fields[] = {
        {"mem", AGENT_NUMBER, true, UINT64_MAX, &mem, NULL},
        {"offset", AGENT_NUMBER, false, AGENT_MEMORY_OCTETS, &b.offset, NULL},
        {"length", AGENT_NUMBER, true, AGENT_MEMORY_OCTETS, &b.length, NULL},
        {"access", AGENT_ARRAY, false, COUNT(rights), &access, NULL},
        {"conn", AGENT_NUMBER, false, UINT64_MAX, &b.conn, NULL},
        {"window", AGENT_NUMBER, false, UINT64_MAX, &id, &again},
    };
    if (!agent_take(request, fields, COUNT(fields), error) ||
        !take_access(access, &b.rights, error) ||
        (b.memory = agent_memory_find(&c->memories, mem, error)) == NULL ||
        agent_memory_at(b.memory, (int64_t)b.offset, b.length, false, error) == NULL)
        return NULL;
    struct agent_window *w = again ? find_window(c, id, error) : free_window(c, error);
    uint32_t stag = again && w != NULL ? w->stag : 0;
    if (w == NULL || !c->backend->bind(c->own, &b, &stag, &to, error))
        return NULL;
    if (again)
        w->memory->windows--;
    else
        w->id = ++c->last_window;
    w->stag = stag;
    w->memory = b.memory;
    b.memory->windows++;
    return json_pack("{s:I,s:I,s:o}", "window", (json_int_t)w->id, "stag", (json_int_t)stag, "to",
                     agent_u64(to));
}

json_t *agent_do_unbind(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t id = 0;
    const struct agent_field fields[] = {{"window", AGENT_NUMBER, true, UINT64_MAX, &id, NULL}};
    struct agent_window *w;
    if (!agent_take(request, fields, COUNT(fields), error) ||
        (w = find_window(c, id, error)) == NULL)
        return NULL;
    c->backend->forget(c->own, w->stag);
    w->memory->windows--;
    *w = (struct agent_window){0};
    return json_object();
}

json_t *agent_do_invalidate(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t mem = 0, window = 0;
    bool mem_given = false, window_given = false;
    const struct agent_field fields[] = {
        {"mem", AGENT_NUMBER, false, UINT64_MAX, &mem, &mem_given},
        {"window", AGENT_NUMBER, false, UINT64_MAX, &window, &window_given}};
    const struct agent_memory *m = NULL;
    const struct agent_window *w = NULL;
    if (!agent_take(request, fields, COUNT(fields), error))
        return NULL;
    if (mem_given == window_given) {
        snprintf(error, AGENT_ERROR, "field mem: expected either it or window");
        return NULL;
    }
    if (mem_given ? (m = agent_memory_find(&c->memories, mem, error)) == NULL
                  : (w = find_window(c, window, error)) == NULL)
        return NULL;
    return c->backend->invalidate(c->own, m != NULL ? m->stag : w->stag, error) ? json_object()
                                                                                : NULL;
}

void agent_reset_memory(struct agent_client *c)
{
    for (size_t i = 0; i < AGENT_WINDOWS; i++)
        if (c->windows[i].id != 0)
            c->backend->forget(c->own, c->windows[i].stag);
    memset(c->windows, 0, sizeof c->windows);
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

json_t *agent_do_fill(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t id = 0;
    int64_t offset = 0;
    struct agent_octets data = {NULL, 0};
    const struct agent_field fields[] = {
        {"mem", AGENT_NUMBER, true, UINT64_MAX, &id, NULL},
        {"offset", AGENT_OFFSET, false, 0, &offset, NULL},
        {"hex", AGENT_OCTETS, true, IW_CONTROL_LINE / 2, &data, NULL}};
    struct agent_memory *m = NULL;
    uint8_t *at = NULL;
    if (agent_take(request, fields, COUNT(fields), error))
        m = agent_memory_find(&c->memories, id, error);
    if (m != NULL)
        at = agent_memory_at(m, offset, data.length, true, error);
    if (at != NULL)
        memcpy(at, data.data, data.length);
    agent_octets_free(&data);
    return at != NULL ? json_object() : NULL;
}

json_t *agent_do_read(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t id = 0, length = 0;
    int64_t offset = 0;
    const struct agent_field fields[] = {
        {"mem", AGENT_NUMBER, true, UINT64_MAX, &id, NULL},
        {"offset", AGENT_OFFSET, false, 0, &offset, NULL},
        {"length", AGENT_NUMBER, true, AGENT_READ_MAX, &length, NULL}};
    struct agent_memory *m;
    const uint8_t *at;
    if (!agent_take(request, fields, COUNT(fields), error) ||
        (m = agent_memory_find(&c->memories, id, error)) == NULL ||
        (at = agent_memory_at(m, offset, length, true, error)) == NULL)
        return NULL;
    return json_pack("{s:o}", "hex", agent_hex(at, length));
}
