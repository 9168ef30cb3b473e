/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct agent_slots agent_memory_slots(struct agent_memories *m)
{
    return (struct agent_slots){AGENT_SLOTS(m->slots), "mem", "memory"};
}

struct agent_memory *agent_memory_new(struct agent_memories *m, uint64_t length, uint64_t guard,
                                      const uint64_t *to, char *error)
{
    struct agent_slots slots = agent_memory_slots(m);
    struct agent_memory *slot = agent_slot_free(&slots, error);
    uint64_t size = length + 2 * guard;
    if (slot == NULL || size > AGENT_MEMORY_OCTETS - m->octets) {
        agent_fail(error, "no memory: at most %d regions with %d octets in all", AGENT_MEMORIES,
                   AGENT_MEMORY_OCTETS);
        return NULL;
    }
    uint8_t *block = calloc(1, (size_t)size + AGENT_PAGE);
    if (block == NULL)
        return NULL;
    uint8_t *arena = block;
    if (to != NULL)
        arena += (*to - guard - (uint64_t)(uintptr_t)block) % AGENT_PAGE;
    memset(arena, 0xa5, (size_t)guard);
    memset(arena + guard + length, 0xa5, (size_t)guard);
    m->octets += size;
    *slot = (struct agent_memory){
        .id = ++m->last_id, .block = block, .arena = arena, .length = length, .guard = guard};
    return slot;
}

struct agent_memory *agent_memory_find(struct agent_memories *m, uint64_t id, char *error)
{
    struct agent_slots slots = agent_memory_slots(m);
    return agent_slot_find(&slots, id, error);
}

void agent_memory_sweep(struct agent_memories *m)
{
    for (size_t i = 0; i < AGENT_MEMORIES; i++)
        if (m->slots[i].id == AGENT_GONE)
            agent_memory_free(m, &m->slots[i]);
}

void agent_memory_free(struct agent_memories *m, struct agent_memory *memory)
{
    m->octets -= memory->length + 2 * memory->guard;
    free(memory->block);
    *memory = (struct agent_memory){0};
}

uint8_t *agent_memory_at(struct agent_memory *memory, int64_t offset, uint64_t length, bool guards,
                         char *error)
{
    int64_t least = guards ? -(int64_t)memory->guard : 0;
    int64_t most = (int64_t)(memory->length + (guards ? memory->guard : 0));
    if (offset < least || offset > most || length > (uint64_t)(most - offset)) {
        agent_fail(error, "field offset: expected %" PRIi64 "..%" PRIi64 " with the length", least,
                   most);
        return NULL;
    }
    return memory->arena + (int64_t)memory->guard + offset;
}
