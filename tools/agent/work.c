/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs that post work: recv and post. */
#include "endpoint.h"

#include <inttypes.h>
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

bool agent_is_atomic(enum iw_work_opcode op)
{
    return op == IW_WORK_FETCH_ADD || op == IW_WORK_CMP_SWAP;
}

static bool add_piece(struct agent_endpoint *a, struct iw_iov *sge, size_t *count, uint64_t mem,
                      uint64_t offset, uint64_t length, char *error)
{
    struct agent_memory *m = agent_memory_find(&a->memories, mem, error);
    uint8_t *at = m == NULL || offset > INT64_MAX
                      ? NULL
                      : agent_memory_at(m, (int64_t)offset, length, false, error);
    if (at == NULL)
        return false;
    if (*count == AGENT_SGE_MAX) {
        snprintf(error, AGENT_ERROR, "field sge: more than %d pieces", AGENT_SGE_MAX);
        return false;
    }
    sge[(*count)++] = (struct iw_iov){at, (size_t)length};
    return true;
}

static bool take_pieces(struct agent_endpoint *a, const json_t *array, struct iw_iov *sge,
                        size_t *count, char *error)
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
        if (!add_piece(a, sge, count, (uint64_t)n[0], (uint64_t)n[1], (uint64_t)n[2], error))
            return false;
    }
    return true;
}

static json_t *posted(int r, char *error)
{
    static const char *const reasons[] = {
        [-IW_ERR_MEMORY] = "no memory",
        [-IW_ERR_ARGUMENT] =
            /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one text on two lines */
        "not a legal request (too long, a Read or atomic although ORD is 0, or an "
        "operation of RFC 7306 without extensions)",
        [-IW_ERR_STATE] = "the connection is over",
        [-IW_ERR_FULL] = "the queue is full"};
    if (r == IW_OK)
        return json_object();
    snprintf(error, AGENT_ERROR, "%s", reasons[-r]);
    return NULL;
}

json_t *agent_do_recv(struct agent_endpoint *a, const json_t *request, char *error)
{
    uint64_t conn = 0, work = 0, mem = 0, offset = 0, length = 0;
    const json_t *pieces = NULL;
    bool mem_given = false;
    const struct agent_field fields[] = {
        {"conn", AGENT_NUMBER, true, UINT64_MAX - 1, &conn, NULL},
        {"work", AGENT_NUMBER, true, INT64_MAX, &work, NULL},
        {"mem", AGENT_NUMBER, false, UINT64_MAX - 1, &mem, &mem_given},
        {"offset", AGENT_NUMBER, false, AGENT_MEMORY_OCTETS, &offset, NULL},
        {"length", AGENT_NUMBER, false, AGENT_MEMORY_OCTETS, &length, NULL},
        {"sge", AGENT_ARRAY, false, 0, &pieces, NULL},
    };
    struct iw_iov sge[AGENT_SGE_MAX];
    size_t count = 0;
    struct agent_connection *c;
    if (!agent_take(request, fields, COUNT(fields), error) ||
        (c = agent_find_connection(a, conn, error)) == NULL ||
        (mem_given && !add_piece(a, sge, &count, mem, offset, length, error)) ||
        !take_pieces(a, pieces, sge, &count, error))
        return NULL;
    return posted(iw_endpoint_post_recv(iw_connection_endpoint(c->connection), work, sge, count),
                  error);
}

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

json_t *agent_do_post(struct agent_endpoint *a, const json_t *request, char *error)
{
    uint64_t conn = 0, work = 0, mem = 0, offset = 0, length = 0;
    uint64_t remote_stag = 0, remote_to = 0, invalidate_stag = 0;
    const json_t *pieces = NULL;
    const char *op = "";
    struct agent_octets immediate = {NULL, 0};
    struct iw_work w = {.compare_mask = UINT64_MAX};
    bool mem_given = false, fence = false, mask_given = false;
    const struct agent_field fields[] = {
        {"conn", AGENT_NUMBER, true, UINT64_MAX - 1, &conn, NULL},
        {"work", AGENT_NUMBER, true, INT64_MAX, &work, NULL},
        {"op", AGENT_STRING, true, 0, &op, NULL},
        {"mem", AGENT_NUMBER, false, UINT64_MAX - 1, &mem, &mem_given},
        {"offset", AGENT_NUMBER, false, AGENT_MEMORY_OCTETS, &offset, NULL},
        {"length", AGENT_NUMBER, false, UINT32_MAX, &length, NULL},
        {"sge", AGENT_ARRAY, false, 0, &pieces, NULL},
        {"remote_stag", AGENT_NUMBER, false, UINT32_MAX, &remote_stag, NULL},
        {"remote_to", AGENT_NUMBER, false, UINT64_MAX, &remote_to, NULL},
        {"invalidate_stag", AGENT_NUMBER, false, UINT32_MAX, &invalidate_stag, NULL},
        {"fence", AGENT_BOOL, false, 0, &fence, NULL},
        {"immediate", AGENT_OCTETS, false, 0, &immediate, NULL},
        {"add_swap", AGENT_NUMBER, false, UINT64_MAX, &w.add_swap, NULL},
        {"add_swap_mask", AGENT_NUMBER, false, UINT64_MAX, &w.add_swap_mask, &mask_given},
        {"compare", AGENT_NUMBER, false, UINT64_MAX, &w.compare, NULL},
        {"compare_mask", AGENT_NUMBER, false, UINT64_MAX, &w.compare_mask, NULL},
    };
    struct iw_iov sge[AGENT_SGE_MAX];
    struct agent_connection *c = NULL;
    bool good = agent_take(request, fields, COUNT(fields), error) &&
                take_op(op, &w.opcode, error) && take_immediate(&w, &immediate, error) &&
                (c = agent_find_connection(a, conn, error)) != NULL;
    agent_octets_free(&immediate);
    if (!good)
        return NULL;
    w.sge = sge;
    if (w.opcode == IW_WORK_CMP_SWAP && !mask_given)
        w.add_swap_mask = UINT64_MAX;
    if (w.opcode == IW_WORK_READ) {
        struct agent_memory *m = agent_memory_find(&a->memories, mem, error);
        if (m == NULL || agent_memory_at(m, (int64_t)offset, length, false, error) == NULL)
            return NULL;
        w.sink_stag = m->region.stag;
        w.sink_to = m->region.to + offset;
        w.length = (uint32_t)length;
    } else if ((mem_given && !add_piece(a, sge, &w.sge_count, mem, offset, length, error)) ||
               !take_pieces(a, pieces, sge, &w.sge_count, error)) {
        return NULL;
    }
    w.id = work;
    w.flags = fence ? IW_WORK_FENCE : 0;
    w.remote_stag = (uint32_t)remote_stag;
    w.remote_to = remote_to;
    w.invalidate_stag = (uint32_t)invalidate_stag;
    int r = iw_endpoint_post(iw_connection_endpoint(c->connection), &w, iw_transport_now());
    iw_connection_kick(c->connection);
    return posted(r, error);
}
