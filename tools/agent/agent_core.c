/* SPDX-License-Identifier: BSD-3-Clause */
/* What all backends share: numbered things, and the events of connections. */
#include "agent.h"

#include <inttypes.h>
#include <stdarg.h>

void *agent_slot_with(void *first, size_t count, size_t size, uint64_t number)
{
    for (char *slot = first; count > 0; slot += size, count--)
        if (*(const uint64_t *)(const void *)slot == number)
            return slot;
    return NULL;
}

void *agent_slot_find(const struct agent_slots *s, uint64_t number, char *error)
{
    void *slot = number == 0 || number == AGENT_GONE
                     ? NULL
                     : agent_slot_with(s->first, s->count, s->size, number);
    if (slot == NULL)
        agent_fail(error, "field %s: no %s %" PRIu64, s->field, s->name, number);
    return slot;
}

void *agent_slot_free(const struct agent_slots *s, char *error)
{
    void *slot = agent_slot_with(s->first, s->count, s->size, 0);
    if (slot == NULL)
        agent_fail(error, "at most %zu %ss", s->count, s->name);
    return slot;
}

void *agent_slot_take(const struct agent_slots *s, const json_t *request, char *error)
{
    uint64_t number;
    const struct agent_field fields[] = {
        {s->field, AGENT_NUMBER, true, UINT64_MAX, AGENT_INTO(number)}};
    return agent_take(request, fields, COUNT(fields), error) ? agent_slot_find(s, number, error)
                                                             : NULL;
}

bool agent_domain_index(const struct agent_core *core, uint64_t *domain, char *error)
{
    if (*domain > core->domain_count)
        return agent_fail(error, "field pd: no protection domain %" PRIu64, *domain);
    if (*domain > 0)
        --*domain;
    return true;
}

void agent_report(const struct agent_connection *c, const char *event, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *fields = json_vpack_ex(NULL, 0, format, arguments);
    va_end(arguments);
    json_t *whole = json_pack("{s:s*}", "event", event);
    if (json_object_update_new(whole, fields)) {
        json_decref(whole);
        whole = NULL;
    }
    json_object_set_new(whole, "conn", json_integer((json_int_t)c->id));
    c->core->emit(c->core->context, whole);
}

json_t *agent_listen_of(const struct agent_connection *c)
{
    return c->listen == 0 ? NULL : json_integer((json_int_t)c->listen);
}
