/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs that post work: recv and post. */
#include "agent.h"

#include <string.h>

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
    if (w->count == AGENT_SGE_MAX)
        return agent_fail(error, "field sge: more than %d pieces", AGENT_SGE_MAX);
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
            if (json_array_size(piece) != 3 || !json_is_integer(value) || n[k] < 0)
                return agent_fail(error, "field sge: expected [[mem, offset, length], ...]");
        }
        if (!add_piece(c, w, (uint64_t)n[0], (uint64_t)n[1], (uint64_t)n[2], error))
            return false;
    }
    return true;
}

/* ---- recv, post ---- */

enum { RECV_FIELDS = 6 };

static bool take_op(const char *name, enum iw_work_opcode *out, char *error)
{
    int index = agent_index("op", agent_op_names, IW_WORK_RECV, name, error);
    *out = (enum iw_work_opcode)index;
    return index >= 0;
}

/* RFC 7306 §6.2: exactly 8 octets. */
static bool take_immediate(struct iw_work *w, const struct agent_octets *octets, char *error)
{
    if (w->opcode != IW_WORK_IMMEDIATE && w->opcode != IW_WORK_IMMEDIATE_SE)
        return true;
    if (octets->length != sizeof(w->immediate))
        return agent_fail(error, "field immediate: expected %zu octets", sizeof(w->immediate));
    memcpy(w->immediate, octets->data, sizeof(w->immediate));
    return true;
}

bool agent_do_work(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t conn = 0, mem = 0, offset = 0;
    const json_t *pieces = NULL;
    const char *op = "";
    struct agent_octets immediate = {NULL, 0};
    struct agent_work aw = {.work = {.opcode = IW_WORK_RECV, .compare_mask = UINT64_MAX}};
    struct iw_work *w = &aw.work;
    bool one = json_object_get(request, "mem") != NULL, fence = false;
    bool receive = strcmp(json_string_value(json_object_get(request, "do")), "recv") == 0;
    uint64_t longest = receive ? (uint64_t)AGENT_MEMORY_OCTETS : UINT32_MAX;
    const struct agent_field fields[] = {
        {"conn", AGENT_NUMBER, true, UINT64_MAX, AGENT_INTO(conn)},
        {"work", AGENT_NUMBER, true, INT64_MAX, AGENT_INTO(w->id)},
        {"mem", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(mem)},
        {"offset", AGENT_NUMBER, false, AGENT_MEMORY_OCTETS, AGENT_INTO(offset)},
        {"length", AGENT_NUMBER, false, longest, AGENT_INTO(w->length)},
        {"sge", AGENT_ARRAY, false, AGENT_SGE_MAX, AGENT_INTO(pieces)},
        /* the rest is for post */
        AGENT_PLAIN("op", AGENT_STRING, true, op),
        {"remote_stag", AGENT_NUMBER, false, UINT32_MAX, AGENT_INTO(w->remote_stag)},
        {"remote_to", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(w->remote_to)},
        {"invalidate_stag", AGENT_NUMBER, false, UINT32_MAX, AGENT_INTO(w->invalidate_stag)},
        AGENT_PLAIN("fence", AGENT_BOOL, false, fence),
        {"immediate", AGENT_OCTETS, false, AGENT_SGE_MAX, AGENT_INTO(immediate)},
        {"add_swap", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(w->add_swap)},
        {"add_swap_mask", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(w->add_swap_mask)},
        {"compare", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(w->compare)},
        {"compare_mask", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(w->compare_mask)},
    };
    void *connection;
    bool good = agent_take(request, fields, receive ? RECV_FIELDS : COUNT(fields), error) &&
                (receive || take_op(op, &w->opcode, error)) && take_immediate(w, &immediate, error);
    agent_octets_free(&immediate);
    if (!good)
        return false;
    if (w->opcode == IW_WORK_CMP_SWAP && json_object_get(request, "add_swap_mask") == NULL)
        w->add_swap_mask = UINT64_MAX;
    w->flags = fence ? IW_WORK_FENCE : 0;
    bool read = w->opcode == IW_WORK_READ; /* exactly one piece */
    return ((!read && !one) || add_piece(c, &aw, mem, offset, w->length, error)) &&
           (read || take_pieces(c, pieces, &aw, error)) &&
           (connection = agent_slot_find(&c->own->connections, conn, error)) != NULL &&
           (receive ? c->backend->receive : c->backend->post)(connection, &aw, error);
}
