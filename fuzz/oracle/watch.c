/* SPDX-License-Identifier: BSD-3-Clause */
#include "watch.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 8 }; /* that one observer borrows at a time */

/* Where the two are right to disagree. `endpoint` NONE: the endpoint finds nothing; `observer`
 * NONE: the observer finds nothing. */
static const struct {
    enum iw_check endpoint, observer;
    bool unfinished; /* only of a segment without L=1 */
    const char *why;
} exceptions[] = {
    {IW_CHECK_MPA_REV, IW_CHECK_NONE, false, "no bystander knows which revisions an end supports"},
    /* An endpoint wants them in one segment (OP-67), an observer judges them when they are whole.
     */
    {IW_CHECK_RDMAP_READ_LENGTH, IW_CHECK_NONE, true, "a message in several segments"},
    {IW_CHECK_RDMAP_TERMINATE_VALID, IW_CHECK_NONE, true, "the same"},
    {IW_CHECK_RDMAP_IMMEDIATE_LENGTH, IW_CHECK_NONE, true, "the same"},
    {IW_CHECK_RDMAP_ATOMIC_LENGTH, IW_CHECK_NONE, true, "the same"},
    {IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH, IW_CHECK_NONE, true, "the same"},
};

static bool excepted(enum iw_check endpoint, enum iw_check observer, bool unfinished)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++)
        if (exceptions[i].endpoint == endpoint && exceptions[i].observer == observer &&
            (unfinished || !exceptions[i].unfinished))
            return true;
    return false;
}

static const char *name(enum iw_check check)
{
    return iw_check_info(check)->name;
}

/* An endpoint enforces it, and a bystander can see it. */
static bool common(enum iw_check check)
{
    unsigned kinds = iw_check_info(check)->kinds;

    return (kinds & IW_KIND_ENDPOINT) != 0 && (kinds & IW_KIND_OBSERVER) != 0;
}

/* Where the endpoint's fault lies, counted as the observer does. */
static uint64_t fault_pos(const struct iw_station *s)
{
    bool framed = (s->events & 1u << IW_EVENT_ESTABLISHED) != 0;

    return s->fault.fault.pos + (framed ? s->framed_from : 0);
}

static void note(struct iw_watch *w, const struct iw_observation *o)
{
    if (w->found[o->side] || !common(o->fault.check))
        return;
    w->found[o->side] = true;
    w->fault[o->side] = o->fault;
    w->found_from[o->side] = o->pos;
    w->found_end[o->side] = o->end;
}

static void seen(void *context, const struct iw_observation *o)
{
    struct iw_watch *w = context;
    struct iw_station *receiver = w->station[1 - o->side];

    switch (o->kind) {
    case IW_OBSERVED_STARTUP:
        if (receiver != NULL)
            receiver->framed_from = o->end;
        break;
    case IW_OBSERVED_SEGMENT:
        if (receiver != NULL) {
            uint64_t pos = fault_pos(receiver);
            if (o->pos <= pos && pos < o->end)
                w->unfinished[o->side] = !iw_ddp_last(&o->ddp);
            iw_station_saw(receiver, o);
        }
        break;
    case IW_OBSERVED_LOST: /* of a start-up frame that is none there is no other finding */
        w->lost[o->side] = true;
        note(w, o);
        break;
    case IW_OBSERVED_FINDING:
        IW_FUZZ_CHECK(w->station[o->side] == NULL || w->mixed[o->side],
                      "%s sends what breaks %s, at octet %llu", w->station[o->side]->who,
                      name(o->fault.check), (unsigned long long)o->fault.pos);
        note(w, o);
        break;
    default:
        break;
    }
}

/* Blocks of the longest size, taken from malloc once. */
static struct {
    uint8_t *at;
    bool lent;
} blocks[BLOCKS];

static void *lend(void *context, size_t size)
{
    size_t i = 0;

    (void)context;
    while (i < BLOCKS && blocks[i].lent)
        i++;
    IW_FUZZ_CHECK(i < BLOCKS && size <= IW_OBSERVER_BLOCK,
                  "the observer borrows more than it is said to");
    if (blocks[i].at == NULL) {
        blocks[i].at = malloc(IW_OBSERVER_BLOCK);
        IW_FUZZ_CHECK(blocks[i].at != NULL, "no memory");
    }
    blocks[i].lent = true;
    iw_fuzz_unpoison(blocks[i].at, size);
    iw_fuzz_poison(blocks[i].at + size, IW_OBSERVER_BLOCK - size);
    return blocks[i].at;
}

static void give_back(void *context, void *block, size_t size)
{
    size_t i = 0;

    (void)context;
    while (i < BLOCKS && blocks[i].at != block)
        i++;
    IW_FUZZ_CHECK(i < BLOCKS && blocks[i].lent, "the observer gives back what it did not borrow");
    blocks[i].lent = false;
    iw_fuzz_poison(block, size);
}

void iw_watch_open(struct iw_watch *w, struct iw_station *initiator, struct iw_station *responder,
                   bool extensions)
{
    static void *memory, *scratch;
    struct iw_observer_config config = {
        .crc32c = iw_crc32c_portable,
        .context = w,
        .seen = seen,
        .lend = lend,
        .give_back = give_back,
        .extensions = extensions,
    };

    if (memory == NULL) {
        memory = malloc(iw_observer_size());
        scratch = malloc(iw_observer_scratch_size());
        IW_FUZZ_CHECK(memory != NULL && scratch != NULL, "no memory");
    }
    config.scratch = scratch;
    memset(w, 0, sizeof *w);
    w->station[IW_SIDE_INITIATOR] = initiator;
    w->station[IW_SIDE_RESPONDER] = responder;
    w->observer = iw_observer_init(memory, iw_observer_size(), &config);
    IW_FUZZ_CHECK(w->observer != NULL, "no observer");
}

void iw_watch_close(struct iw_watch *w)
{
    iw_observer_drop(w->observer);
    for (size_t i = 0; i < BLOCKS; i++)
        IW_FUZZ_CHECK(!blocks[i].lent, "the observer keeps what it borrowed");
}

void iw_watch_input(struct iw_watch *w, enum iw_side side, const uint8_t *octets, size_t length)
{
    (void)iw_observer_input(w->observer, side, w->pos[side], iw_fuzz_fenced(octets, length),
                            length);
    w->pos[side] += length;
}

void iw_watch_input_at(struct iw_watch *w, enum iw_side side, uint64_t pos, const uint8_t *octets,
                       size_t length)
{
    w->mixed[side] = true;
    (void)iw_observer_input(w->observer, side, pos, iw_fuzz_fenced(octets, length), length);
}

void iw_watch_end(struct iw_watch *w, enum iw_side side, bool reset)
{
    if (w->ended[side])
        return;
    w->ended[side] = true;
    iw_observer_end(w->observer, side, w->pos[side], reset);
}

void iw_watch_agree(const struct iw_watch *w, enum iw_side side)
{
    const struct iw_station *s = w->station[1 - side];
    bool faulted = (s->events & 1u << IW_EVENT_FAULT) != 0;
    enum iw_check check = faulted ? s->fault.fault.check : IW_CHECK_NONE;
    enum iw_check found = w->found[side] ? w->fault[side].check : IW_CHECK_NONE;
    uint64_t pos = fault_pos(s);

    if (s->blind || w->mixed[side])
        return;
    /* The endpoint sees the first wrong octet of a key, the observer wants the whole frame. */
    if (faulted && s->framed_from == 0 && found == IW_CHECK_NONE)
        return;
    /* Of a frame with several faults each may name another. */
    if (faulted && found != IW_CHECK_NONE && s->fault.fault.check <= IW_CHECK_MPA_REP_S &&
        found <= IW_CHECK_MPA_REP_S)
        return;
    /* It takes what does not begin with a frame for a capture that began later. */
    if (iw_observer_joined(w->observer))
        return;
    /* What only an endpoint can see, or what is no fault of the octets, and nothing before it. */
    if (faulted && !common(check) && (found == IW_CHECK_NONE || w->found_end[side] > pos))
        return;
    if (faulted && common(check) && found == check)
        return;
    /* Of an FPDU with several faults each may name another. */
    if (faulted && w->found_from[side] <= pos && pos < w->found_end[side])
        return;
    /* It had stopped listening for another reason. */
    if (!faulted && (found == IW_CHECK_NONE || s->deaf))
        return;
    IW_FUZZ_CHECK(excepted(check, found, w->unfinished[side]),
                  "%s finds %s at octet %llu, and the observer %s at octet %llu", s->who,
                  name(check), (unsigned long long)pos, name(found),
                  (unsigned long long)w->fault[side].pos);
}
