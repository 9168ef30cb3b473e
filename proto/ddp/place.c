/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include <string.h>

/* The two lists may name the same memory; octets that landed are there already. */
static void copy(const struct iw_iov *to, size_t offset, const struct iw_iov *from, size_t skip,
                 size_t length)
{
    uint8_t *at = (uint8_t *)to->base + offset;
    const uint8_t *octets = (const uint8_t *)from->base + skip;
    if (at != octets)
        memmove(at, octets, length);
}

size_t iw_ddp_scatter(const struct iw_iov *to, size_t to_count, size_t offset,
                      const struct iw_iov *from, size_t from_count, size_t skip, size_t length)
{
    size_t done = 0, i = 0, k = 0;
    if (length > 0 && to_count > 0 && from_count > 0 && offset < to->length &&
        length <= to->length - offset && skip < from->length && length <= from->length - skip) {
        copy(to, offset, from, skip, length);
        return length;
    }
    while (i < to_count && offset >= to[i].length)
        offset -= to[i++].length;
    while (k < from_count && skip >= from[k].length)
        skip -= from[k++].length;
    while (done < length && i < to_count && k < from_count) {
        size_t step = length - done;
        if (step > to[i].length - offset)
            step = to[i].length - offset;
        if (step > from[k].length - skip)
            step = from[k].length - skip;
        copy(&to[i], offset, &from[k], skip, step);
        done += step;
        offset += step;
        skip += step;
        while (i < to_count && offset == to[i].length) {
            offset = 0;
            i++;
        }
        while (k < from_count && skip == from[k].length) {
            skip = 0;
            k++;
        }
    }
    return done;
}

size_t iw_ddp_gather(void *out, const struct iw_iov *pieces, size_t count, size_t skip,
                     size_t length)
{
    struct iw_iov to = {out, length};
    return iw_ddp_scatter(&to, 1, 0, pieces, count, skip, length);
}

/* The checks that one use of a region makes, in the order of RFC 5041 §7.1 / RFC 5040 §7.2. */
struct use_checks {
    enum iw_check stag, pd, stream, access, wrap, base, bounds, fit;
    uint32_t rights; /* any of these suffices */
};

static const struct use_checks uses[] = {
    [IW_USE_WRITE] = {IW_CHECK_DDP_STAG, IW_CHECK_DDP_STAG_PD, IW_CHECK_DDP_STAG_STREAM,
                      IW_CHECK_DDP_STAG_ACCESS, IW_CHECK_DDP_TO_WRAP, IW_CHECK_DDP_TO_BASE,
                      IW_CHECK_DDP_TO_BOUNDS, IW_CHECK_DDP_TO_FIT, IW_ACCESS_REMOTE_WRITE},
    [IW_USE_READ_RESPONSE] = {IW_CHECK_DDP_STAG, IW_CHECK_DDP_STAG_PD, IW_CHECK_DDP_STAG_STREAM,
                              IW_CHECK_DDP_STAG_ACCESS, IW_CHECK_DDP_TO_WRAP, IW_CHECK_DDP_TO_BASE,
                              IW_CHECK_DDP_TO_BOUNDS, IW_CHECK_DDP_TO_FIT,
                              IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE},
    [IW_USE_READ_SOURCE] = {IW_CHECK_RDMAP_READ_STAG, IW_CHECK_RDMAP_READ_ASSOC,
                            IW_CHECK_RDMAP_READ_ASSOC, IW_CHECK_RDMAP_READ_ACCESS,
                            IW_CHECK_RDMAP_READ_WRAP, IW_CHECK_RDMAP_READ_BASE,
                            IW_CHECK_RDMAP_READ_BOUNDS, IW_CHECK_RDMAP_READ_FIT,
                            IW_ACCESS_REMOTE_READ},
};

bool iw_ddp_refuses(const struct iw_ddp_stream *s, enum iw_check check, bool wrong,
                    enum iw_check *failed)
{
    if (!wrong || *failed != IW_CHECK_NONE || iw_switch_ignored(s->switches, check))
        return false;
    *failed = check;
    return iw_switch_botched(s->switches, check) != IW_BOTCH_PLACE;
}

/* Returns the rights that the peer has to a region. The answers to this end's own Reads need none
 * of the peer's. */
static uint32_t granted(const struct iw_ddp_stream *s, const struct use_checks *use,
                        const struct iw_region *r)
{
    return (use->rights & IW_ACCESS_LOCAL_WRITE) != 0 ? r->access : r->access & ~s->withheld;
}

/* Makes the checks in order; *failed is the first that fails. Returns true if the access must not
 * happen at all. An access that has to precede a botched check precedes those after it, too. */
static bool forbids(const struct iw_ddp_stream *s, const struct use_checks *use,
                    const struct iw_region *r, uint64_t to, uint64_t length, enum iw_check *failed)
{
    *failed = IW_CHECK_NONE;
    if (iw_ddp_refuses(s, use->stag, r == NULL || !r->valid, failed))
        return true;
    if (r == NULL)
        return false;
    bool begins_inside = to >= r->to && to - r->to < r->length;
    if (iw_ddp_refuses(s, use->pd, r->pd != s->pd, failed) ||
        iw_ddp_refuses(s, use->stream, r->stream != 0 && r->stream != s->stream, failed) ||
        iw_ddp_refuses(s, use->access, (granted(s, use, r) & use->rights) == 0, failed) ||
        /* Wrap before bounds: otherwise its code could never be seen (OP-47). */
        iw_ddp_refuses(s, use->wrap, length > UINT64_MAX - to, failed) ||
        iw_ddp_refuses(s, use->base, !begins_inside, failed) ||
        iw_ddp_refuses(s, use->bounds, begins_inside && length > r->length - (to - r->to), failed))
        return true;
    /* Legal, so that only --overstrict refuses it. */
    if (*failed == IW_CHECK_NONE && iw_switch_overstrict(s->switches, use->fit) && begins_inside &&
        length == r->length - (to - r->to)) {
        *failed = use->fit;
        return true;
    }
    return false;
}

/* Returns the memory that an access really touches: all of it when it is legal, otherwise the part
 * that lies in the region and its guard areas, so that the effect of an ignored check shows and no
 * other memory is touched. An access far outside lands at the start of the rear guard. *length is
 * cut to match. */
static uint8_t *reach(const struct iw_region *r, uint64_t to, uint64_t *length)
{
    uint64_t arena = r->guard + r->length + r->guard;
    uint64_t offset = to - r->to + r->guard;
    if (offset >= arena)
        offset = r->guard + r->length;
    if (*length > arena - offset)
        *length = arena - offset;
    return r->base - (size_t)r->guard + (size_t)offset;
}

enum iw_check iw_ddp_place_tagged(const struct iw_ddp_stream *s, enum iw_ddp_use use, uint32_t stag,
                                  uint64_t to, const struct iw_iov *payload, size_t pieces,
                                  size_t skip, uint32_t length)
{
    /* RFC 5041 §5.2: STag and TO of a zero-length message are not checked. */
    if (length == 0 && !iw_switch_overstrict(s->switches, IW_CHECK_DDP_ZERO_TAGGED))
        return IW_CHECK_NONE;
    struct iw_domain *d = s->domain;
    enum iw_check failed;
    iw_domain_lock(d);
    const struct iw_region *r = iw_domain_find(d, stag);
    bool act = !forbids(s, &uses[use], r, to, length, &failed);
    if (length == 0) {
        act = false;
        failed = failed == IW_CHECK_NONE ? failed : IW_CHECK_DDP_ZERO_TAGGED;
    }
    if (act) {
        uint64_t room = length;
        struct iw_iov target = {d->scratch, sizeof(d->scratch)};
        if (r != NULL) {
            if (iw_switch_violated(s->switches, IW_CHECK_DDP_PLACE_EXACT))
                to++;
            target.base = reach(r, to, &room);
            target.length = (size_t)room;
        }
        iw_ddp_scatter(&target, 1, 0, payload, pieces, skip, length);
    }
    iw_domain_unlock(d);
    return failed;
}

enum iw_check iw_ddp_read_source(const struct iw_ddp_stream *s, uint32_t stag, uint64_t to,
                                 uint32_t size, uint8_t *out, uint32_t room, uint32_t *copied)
{
    *copied = 0;
    if (size == 0 && !iw_switch_overstrict(s->switches, IW_CHECK_RDMAP_READ_ZERO))
        return IW_CHECK_NONE;
    struct iw_domain *d = s->domain;
    enum iw_check failed;
    iw_domain_lock(d);
    const struct iw_region *r = iw_domain_find(d, stag);
    bool act = !forbids(s, &uses[IW_USE_READ_SOURCE], r, to, size, &failed);
    if (size == 0) {
        failed = failed == IW_CHECK_NONE ? failed : IW_CHECK_RDMAP_READ_ZERO;
    } else if (act && room > 0) {
        uint64_t reachable = size < room ? size : room;
        const uint8_t *from = d->scratch;
        if (r != NULL)
            from = reach(r, to, &reachable);
        else if (reachable > sizeof(d->scratch))
            reachable = sizeof(d->scratch);
        memcpy(out, from, (size_t)reachable);
        *copied = (uint32_t)reachable;
    }
    iw_domain_unlock(d);
    return failed;
}

enum iw_check iw_ddp_lend(const struct iw_ddp_stream *s, enum iw_ddp_use use, uint32_t stag,
                          uint64_t to, uint32_t length, void **at)
{
    enum iw_check failed;
    const struct iw_region *r = iw_domain_find(s->domain, stag);
    uint64_t reachable = length;
    /* An unknown STag whose check is switched off leads to no memory that could be lent. */
    if (!forbids(s, &uses[use], r, to, length, &failed) && failed == IW_CHECK_NONE && r != NULL)
        *at = reach(r, to, &reachable);
    return failed;
}

uint8_t *iw_domain_atomic_target(const struct iw_ddp_stream *s, uint32_t stag, uint64_t to,
                                 enum iw_check *failed)
{
    struct use_checks checks = uses[IW_USE_READ_SOURCE];
    checks.rights = IW_ACCESS_REMOTE_ATOMIC;
    struct iw_domain *d = s->domain;
    const struct iw_region *r = iw_domain_find(d, stag);
    if (forbids(s, &checks, r, to, sizeof(uint64_t), failed))
        return NULL;
    uint64_t room = sizeof(uint64_t);
    uint8_t *at = r == NULL ? d->scratch : reach(r, to, &room);
    return room == sizeof(uint64_t) ? at : d->scratch;
}
