/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs that post work: recv and post. */
#include "agent.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *const agent_op_names[] = {
    [IW_WORK_SEND] = "send",
    [IW_WORK_SEND_SE] = "send-se",
    [IW_WORK_SEND_INVALIDATE] = "send-invalidate",
    [IW_WORK_SEND_SE_INVALIDATE] = "send-se-invalidate",
    [IW_WORK_WRITE] = "write",
    [IW_WORK_READ] = "read",
    [IW_WORK_IMMEDIATE] = "immediate",
    [IW_WORK_IMMEDIATE_SE] = "immediate-se",
    [IW_WORK_FETCH_ADD] = "fetch-add",
    [IW_WORK_CMP_SWAP] = "cmp-swap",
    [IW_WORK_RECV] = "recv",
};

/* ---- where the octets lie ---- */

static bool add_piece(struct agent_client *c, struct agent_work *w, uint64_t mem, uint64_t offset,
                      uint64_t length, char *error)
{
    struct agent_memory *m = agent_memory_find(&c->memories, mem, error);
    if (m == NULL || agent_memory_at(m, offset > INT64_MAX ? INT64_MAX : (int64_t)offset, length,
                                     false, error) == NULL)
        return false;
    if (w->count == AGENT_SGE_MAX) {
        snprintf(error, AGENT_ERROR, "field sge: more than %d pieces", AGENT_SGE_MAX);
        return false;
    }
    w->pieces[w->count++] = (struct agent_piece){m, offset, length};
    return true;
}

static bool take_pieces(struct agent_client *c, const json_t *array, struct agent_work *w,
                        char *error)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *piece = json_array_get(array, i);
        json_int_t n[3];
        for (size_t k = 0; k < 3; k++) {
            const json_t *value = json_array_get(piece, k);
            n[k] = json_integer_value(value);
            if (json_array_size(piece) != 3 || !json_is_integer(value) || n[k] < 0) {
                snprintf(error, AGENT_ERROR, "field sge: expected [[mem, offset, length], ...]");
                return false;
            }
        }
        if (!add_piece(c, w, (uint64_t)n[0], (uint64_t)n[1], (uint64_t)n[2], error))
            return false;
    }
    return true;
}

/* ---- recv ---- */

json_t *agent_do_recv(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t mem = 0, offset = 0, length = 0;
    const json_t *pieces = NULL;
    bool mem_given = false;
    struct agent_work w = {.work = {.opcode = IW_WORK_RECV}};
    const struct agent_field fields[] = {
        {"conn", AGENT_NUMBER, true, UINT64_MAX, &w.conn, NULL},
        {"work", AGENT_NUMBER, true, INT64_MAX, &w.work.id, NULL},
        {"mem", AGENT_NUMBER, false, UINT64_MAX, &mem, &mem_given},
        {"offset", AGENT_NUMBER, false, AGENT_MEMORY_OCTETS, &offset, NULL},
        {"length", AGENT_NUMBER, false, AGENT_MEMORY_OCTETS, &length, NULL},
        {"sge", AGENT_ARRAY, false, AGENT_SGE_MAX, &pieces, NULL},
    };
    if (!agent_take(request, fields, COUNT(fields), error) ||
        (mem_given && !add_piece(c, &w, mem, offset, length, error)) ||
        !take_pieces(c, pieces, &w, error) || !c->backend->receive(c->own, &w, error))
        return NULL;
    return json_object();
}

/* ---- post ---- */

static bool take_op(const char *name, enum iw_work_opcode *out, char *error)
{
    for (size_t i = 0; i < COUNT(agent_op_names); i++)
        if (i != IW_WORK_RECV && strcmp(name, agent_op_names[i]) == 0) {
            *out = (enum iw_work_opcode)i;
            return true;
        }
    snprintf(error, AGENT_ERROR,
             "field op: expected send, send-se, send-invalidate, send-se-invalidate, write, read, "
             "immediate, immediate-se, fetch-add or cmp-swap");
    return false;
}

/* RFC 7306 §6.2: exactly 8 octets. */
static bool take_immediate(struct iw_work *w, const struct agent_octets *octets, char *error)
{
    if (w->opcode != IW_WORK_IMMEDIATE && w->opcode != IW_WORK_IMMEDIATE_SE)
        return true;
    if (octets->length != sizeof w->immediate) {
        snprintf(error, AGENT_ERROR, "field immediate: expected %zu octets", sizeof w->immediate);
        return false;
    }
    memcpy(w->immediate, octets->data, sizeof w->immediate);
    return true;
}

json_t *agent_do_post(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t mem = 0, offset = 0, length = 0, stag = 0, invalidate = 0;
    const json_t *pieces = NULL;
    const char *op = "";
    struct agent_octets immediate = {NULL, 0};
    struct agent_work aw = {.work = {.compare_mask = UINT64_MAX}};
    struct iw_work *w = &aw.work;
    bool mem_given = false, fence = false, mask_given = false;
    const struct agent_field fields[] = {
        {"conn", AGENT_NUMBER, true, UINT64_MAX, &aw.conn, NULL},
        {"work", AGENT_NUMBER, true, INT64_MAX, &w->id, NULL},
        {"op", AGENT_STRING, true, 0, &op, NULL},
        {"mem", AGENT_NUMBER, false, UINT64_MAX, &mem, &mem_given},
        {"offset", AGENT_NUMBER, false, AGENT_MEMORY_OCTETS, &offset, NULL},
        {"length", AGENT_NUMBER, false, UINT32_MAX, &length, NULL},
        {"sge", AGENT_ARRAY, false, AGENT_SGE_MAX, &pieces, NULL},
        {"remote_stag", AGENT_NUMBER, false, UINT32_MAX, &stag, NULL},
        {"remote_to", AGENT_NUMBER, false, UINT64_MAX, &w->remote_to, NULL},
        {"invalidate_stag", AGENT_NUMBER, false, UINT32_MAX, &invalidate, NULL},
        {"fence", AGENT_BOOL, false, 0, &fence, NULL},
        {"immediate", AGENT_OCTETS, false, AGENT_SGE_MAX, &immediate, NULL},
        {"add_swap", AGENT_NUMBER, false, UINT64_MAX, &w->add_swap, NULL},
        {"add_swap_mask", AGENT_NUMBER, false, UINT64_MAX, &w->add_swap_mask, &mask_given},
        {"compare", AGENT_NUMBER, false, UINT64_MAX, &w->compare, NULL},
        {"compare_mask", AGENT_NUMBER, false, UINT64_MAX, &w->compare_mask, NULL},
    };
    bool good = agent_take(request, fields, COUNT(fields), error) &&
                take_op(op, &w->opcode, error) && take_immediate(w, &immediate, error);
    agent_octets_free(&immediate);
    if (!good)
        return NULL;
    if (w->opcode == IW_WORK_CMP_SWAP && !mask_given)
        w->add_swap_mask = UINT64_MAX;
    bool read = w->opcode == IW_WORK_READ; /* exactly one piece */
    if ((read || mem_given) && !add_piece(c, &aw, mem, offset, length, error))
        return NULL;
    if (!read && !take_pieces(c, pieces, &aw, error))
        return NULL;
    w->flags = fence ? IW_WORK_FENCE : 0;
    w->length = (uint32_t)length;
    w->remote_stag = (uint32_t)stag;
    w->invalidate_stag = (uint32_t)invalidate;
    return c->backend->post(c->own, &aw, error) ? json_object() : NULL;
}
