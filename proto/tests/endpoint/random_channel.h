/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_RANDOM_CHANNEL_H
#define IW_TESTS_RANDOM_CHANNEL_H

/* Octets on their way from one endpoint to the other, delayed and cut at random. Include after
 * random_memory.h, from one test program. */

enum { CHANNEL = 1 << 18 };

struct channel {
    uint8_t *octets;
    size_t first, end;
    uint64_t delivered; /* octets in order */
    size_t most;        /* octets per delivery */
};

static inline void channel_open(struct channel *c)
{
    c->octets = malloc(CHANNEL);
    assert_non_null(c->octets);
}

static inline void channel_close(struct channel *c)
{
    free(c->octets);
}

static inline size_t channel_holds(const struct channel *c)
{
    return c->end - c->first;
}

/* Takes the octets there is room for, or fewer. Returns their number. */
static inline size_t channel_put(struct channel *c, const struct iw_iov *pieces, size_t count)
{
    size_t room = CHANNEL - c->end, sent = 0;
    if (chance(50))
        room = below(room + 1);
    for (size_t i = 0; i < count && room > 0; i++) {
        size_t take = pieces[i].length < room ? pieces[i].length : room;
        assert_true(pieces[i].length > 0);
        memcpy(c->octets + c->end, pieces[i].base, take);
        c->end += take;
        room -= take;
        sent += take;
    }
    return sent;
}

/* Delivers octets from somewhere after the next ones; they come again in their turn. */
static inline void channel_deliver_early(const struct channel *c, struct iw_endpoint *to,
                                         uint64_t now)
{
    size_t there = channel_holds(c);
    if (there == 0)
        return;
    size_t gap = below(there), most = there - gap < c->most ? there - gap : c->most;
    size_t length = 1 + below(most);
    uint8_t *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, c->octets + c->first + gap, length);
    struct iw_iov in = {copy, length};
    int result = iw_endpoint_input_at(to, c->delivered + gap, &in, 1, now);
    assert_true(result == IW_OK || result == IW_ERR_FULL);
    free(copy);
}

/* Delivers the next octets; there must be some. With `unordered`, octets that came early come
 * again. */
static inline void channel_deliver(struct channel *c, struct iw_endpoint *to, bool unordered,
                                   uint64_t now)
{
    size_t there = channel_holds(c), length = 1 + below(c->most < there ? c->most : there);
    /* A copy of its own, so that a sanitizer notices a read past its end. */
    uint8_t *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, c->octets + c->first, length);
    uint64_t at = c->delivered;
    c->first += length;
    c->delivered += length;
    if (c->first == c->end)
        c->first = c->end = 0;
    size_t cut = below(length + 1), cut2 = cut + below(length - cut + 1);
    struct iw_iov in[3] = {{copy, cut}, {copy + cut, cut2 - cut}, {copy + cut2, length - cut2}};
    if (unordered)
        assert_int_equal(iw_endpoint_input_at(to, at, in, 3, now), IW_OK);
    else
        iw_endpoint_input(to, in, 3, now);
    memset(copy, 0xdd, length);
    free(copy);
}

#endif
