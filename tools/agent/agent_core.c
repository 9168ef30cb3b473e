/* SPDX-License-Identifier: BSD-3-Clause */
/* What all backends share: numbered things, and the events of connections. */
#include "agent.h"

#include <inttypes.h>

static uint64_t number_in(const void *slot)
{
    return *(const uint64_t *)slot;
}

static void *slot_with(const struct agent_slots *s, uint64_t number)
{
    for (size_t i = 0; i < s->count; i++) {
        void *slot = (char *)s->first + i * s->size;
        if (number_in(slot) == number)
            return slot;
    }
    return NULL;
}

void *agent_slot_find(const struct agent_slots *s, uint64_t number, char *error)
{
    void *slot = number == 0 || number == AGENT_GONE ? NULL : slot_with(s, number);
    if (slot == NULL)
        agent_fail(error, "field %s: no %s %" PRIu64, s->field, s->name, number);
    return slot;
}

void *agent_slot_free(const struct agent_slots *s, char *error)
{
    void *slot = slot_with(s, 0);
    if (slot == NULL)
        agent_fail(error, "at most %zu %ss", s->count, s->name);
    return slot;
}

int agent_domain_index(const struct agent_core *core, uint64_t number, char *error)
{
    if (number <= core->domain_count)
        return number == 0 ? 0 : (int)number - 1;
    agent_fail(error, "field pd: no protection domain %" PRIu64, number);
    return -1;
}

void agent_report(const struct agent_connection *c, json_t *event, bool listen)
{
    if (listen && c->listen != 0)
        json_object_set_new(event, "listen", json_integer((json_int_t)c->listen));
    json_object_set_new(event, "conn", json_integer((json_int_t)c->id));
    c->core->emit(c->core->context, event);
}
