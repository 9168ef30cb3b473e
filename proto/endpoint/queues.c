/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint_internal.h"

static struct iw_read_out *read_out_at(struct iw_endpoint *ep, uint64_t position)
{
    return &ep->reads_out[position % ep->reads_out_room];
}

struct iw_read_out *iw_ep_read_out(struct iw_endpoint *ep, bool atomic)
{
    for (uint64_t at = ep->reads_out_head; at != ep->reads_out_tail; at++)
        if (read_out_at(ep, at)->atomic == atomic)
            return read_out_at(ep, at)->end <= ep->tx_sent ? read_out_at(ep, at) : NULL;
    return NULL;
}

void iw_ep_answered(struct iw_endpoint *ep, struct iw_read_out *read)
{
    if (read->entry != IW_NO_ENTRY)
        iw_ep_send_at(ep, read->entry)->done = true;
    /* If answered before its turn, it leaves its place to those before it. */
    uint64_t at = ep->reads_out_head;
    while (read_out_at(ep, at) != read)
        at++;
    for (; at != ep->reads_out_head; at--)
        *read_out_at(ep, at) = *read_out_at(ep, at - 1);
    ep->reads_out_head++;
    iw_ep_complete_sends(ep);
}

static void push(struct iw_endpoint *ep, const struct iw_completion *completion)
{
    if (ep->completion_head == ep->completion_tail) /* a queue that empties stays in the cache */
        ep->completion_head = ep->completion_tail = 0;
    ep->completions[ep->completion_tail++ % ep->completion_room] = *completion;
}

void iw_ep_complete_recv(struct iw_endpoint *ep, const struct iw_completion *completion)
{
    ep->recv_head++;
    const size_t next = ep->recv_head % ep->config.recv_depth;
    __builtin_prefetch(&ep->recvs[next]);
    __builtin_prefetch(&ep->sges[(ep->config.send_depth + next) * ep->config.max_sge]);
    ep->recv_unpolled++;
    push(ep, completion);
}

static void complete_send(struct iw_endpoint *ep, const struct iw_send_entry *entry)
{
    struct iw_completion completion = {.id = entry->id,
                                       .opcode = entry->opcode,
                                       .status = entry->status,
                                       .length = entry->status == IW_STATUS_OK ? entry->length : 0,
                                       .check = entry->check,
                                       .original =
                                           entry->status == IW_STATUS_OK ? entry->original : 0};
    ep->send_head++;
    ep->send_unpolled++;
    push(ep, &completion);
}

/* Completes in posting order: an entry waits for those before it. */
void iw_ep_complete_sends(struct iw_endpoint *ep)
{
    while (ep->send_head != ep->send_next) {
        struct iw_send_entry *entry = iw_ep_send_at(ep, ep->send_head);
        if (entry->framed && !iw_ep_is_read(entry->opcode) && entry->end <= ep->tx_sent)
            entry->done = true;
        if (!entry->done)
            return;
        complete_send(ep, entry);
    }
}

void iw_ep_flush(struct iw_endpoint *ep, enum iw_status first_read, enum iw_status first_recv,
                 enum iw_check check)
{
    iw_ep_complete_sends(ep);
    uint64_t answered = IW_NO_ENTRY;
    if (ep->reads_out_head != ep->reads_out_tail)
        answered = ep->reads_out[ep->reads_out_head % ep->reads_out_room].entry;
    while (ep->send_head != ep->send_tail) {
        struct iw_send_entry *entry = iw_ep_send_at(ep, ep->send_head);
        bool first = ep->send_head == answered;
        if (entry->status == IW_STATUS_OK) {
            entry->status = first ? first_read : IW_STATUS_FLUSHED;
            entry->check = first && first_read == IW_STATUS_LOCAL_FAULT ? check : IW_CHECK_NONE;
        }
        complete_send(ep, entry);
    }
    ep->send_next = ep->send_tail;
    while (ep->recv_head != ep->recv_tail) {
        struct iw_completion completion = {
            .id = ep->recvs[ep->recv_head % ep->config.recv_depth].id,
            .opcode = IW_WORK_RECV,
            .status = first_recv,
            .check = first_recv == IW_STATUS_LOCAL_FAULT ? check : IW_CHECK_NONE};
        iw_ep_complete_recv(ep, &completion);
        first_recv = IW_STATUS_FLUSHED;
    }
    ep->reads_out_head = ep->reads_out_tail;
    ep->reads_in_head = ep->reads_in_next = ep->reads_in_tail;
    ep->sending = IW_SENDING_NOTHING;
}

/* Copies a list into a queue's own. Returns the octets in all, or UINT64_MAX if they are too many.
 */
static uint64_t take_list(const struct iw_endpoint *ep, struct iw_iov *to, const struct iw_iov *sge,
                          size_t count)
{
    uint64_t total = 0;
    if (count > ep->config.max_sge)
        return UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (sge[i].length > UINT32_MAX - total)
            return UINT64_MAX;
        total += sge[i].length;
        to[i] = sge[i];
    }
    return total;
}

int iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                          size_t sge_count)
{
    if (ep->phase == IW_PHASE_DONE)
        return IW_ERR_STATE;
    if (ep->recv_tail - ep->recv_head + ep->recv_unpolled >= ep->config.recv_depth)
        return IW_ERR_FULL;
    uint32_t at = (uint32_t)(ep->recv_tail % ep->config.recv_depth);
    struct iw_recv_entry *entry = &ep->recvs[at];
    entry->sge = ep->sges + (size_t)(ep->config.send_depth + at) * ep->config.max_sge;
    uint64_t total = take_list(ep, entry->sge, sge, sge_count);
    if (total == UINT64_MAX)
        return IW_ERR_ARGUMENT;
    entry->id = id;
    entry->sge_count = (uint32_t)sge_count;
    entry->capacity = total;
    ep->recv_tail++;
    return IW_OK;
}

static uint32_t outbound_reads(const struct iw_endpoint *ep)
{
    return ep->phase == IW_PHASE_STARTUP ? ep->config.mpa.ord : iw_ep_read_limit(ep);
}

/* RFC 7306. */
static bool is_extension(enum iw_work_opcode opcode)
{
    return opcode >= IW_WORK_IMMEDIATE && opcode < IW_WORK_RECV;
}

static uint32_t work_length(const struct iw_work *work, uint64_t listed)
{
    if (is_extension(work->opcode))
        return IW_RDMAP_IMMEDIATE; /* an atomic acts on as many octets */
    return work->opcode == IW_WORK_READ ? work->length : (uint32_t)listed;
}

static bool postable(const struct iw_endpoint *ep, enum iw_work_opcode opcode)
{
    return opcode < IW_WORK_RECV || (opcode == IW_WORK_LOCAL && ep->config.local != NULL);
}

int iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *work, uint64_t now)
{
    (void)now;
    if (ep->phase == IW_PHASE_DONE || ep->shutdown)
        return IW_ERR_STATE;
    if (ep->send_tail - ep->send_head + ep->send_unpolled >= ep->config.send_depth)
        return IW_ERR_FULL;
    if (!postable(ep, work->opcode) || (is_extension(work->opcode) && !ep->config.extensions) ||
        (iw_ep_is_read(work->opcode) && outbound_reads(ep) == 0))
        return IW_ERR_ARGUMENT;
    if (ep->send_head == ep->send_tail) /* no Read names a position then */
        ep->send_head = ep->send_next = ep->send_tail = 0;
    struct iw_send_entry *entry = iw_ep_send_at(ep, ep->send_tail);
    struct iw_iov *sge = ep->sges + (size_t)(entry - ep->sends) * ep->config.max_sge;
    uint64_t total = take_list(ep, sge, work->sge, work->sge_count);
    if (total == UINT64_MAX)
        return IW_ERR_ARGUMENT;
    *entry = (struct iw_send_entry){.id = work->id,
                                    .opcode = work->opcode,
                                    .flags = work->flags,
                                    .sge = sge,
                                    .sge_count = (uint32_t)work->sge_count,
                                    .length = work_length(work, total),
                                    .invalidate_stag = work->invalidate_stag,
                                    .remote_stag = work->remote_stag,
                                    .sink_stag = work->sink_stag,
                                    .remote_to = work->remote_to,
                                    .sink_to = work->sink_to,
                                    .add_swap = work->add_swap,
                                    .add_swap_mask = work->add_swap_mask,
                                    .compare = work->compare,
                                    .compare_mask = work->compare_mask,
                                    .status = IW_STATUS_OK};
    memcpy(entry->immediate, work->immediate, sizeof(entry->immediate));
    ep->send_tail++;
    return IW_OK;
}

size_t iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room)
{
    size_t taken = 0;
    while (taken < room && ep->completion_head != ep->completion_tail) {
        out[taken] = ep->completions[ep->completion_head++ % ep->completion_room];
        if (out[taken].opcode == IW_WORK_RECV)
            ep->recv_unpolled--;
        else
            ep->send_unpolled--;
        taken++;
    }
    return taken;
}
