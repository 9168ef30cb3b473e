/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/* Sends that are received where they belong, by iw_endpoint_landing and by iw_endpoint_guess. */

enum { ROOM = 60000, POOL = 200000, WRITE = 50000 };

/* The octets that side 0 has to send, to the end of `stream`. */
static size_t say(struct pair *p, uint8_t *stream, size_t room)
{
    const struct iw_iov *pieces;
    size_t n = 0;
    while (iw_endpoint_output(p->side[0].ep, &pieces, p->now) > 0) {
        size_t length = pieces[0].length;
        assert_true(length <= room - n);
        memcpy(stream + n, pieces[0].base, length);
        iw_endpoint_sent(p->side[0].ep, length, p->now);
        n += length;
    }
    return n;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Side 1 receives as a transport does, `most` octets at a time. *landed, *guessed: how many have
 * landed, and of these by a guess. */
static void receive_as(struct pair *p, const uint8_t *stream, size_t length, size_t most,
                       size_t *landed, size_t *guessed)
{
    struct iw_endpoint *ep = p->side[1].ep;
    const size_t head = IW_ENDPOINT_GUESS_HEAD;
    for (size_t done = 0; done < length;) {
        size_t n = least(most, length - done), taken = 0;
        void *at;
        size_t room = iw_endpoint_landing(ep, &at), guess = 0;
        uint8_t *octets = malloc(n);
        assert_non_null(octets);
        memcpy(octets, stream + done, n);
        if (room > 0) {
            taken = least(room, n);
            memcpy(at, octets, taken);
            iw_endpoint_landed(ep, taken, p->now);
            *landed += taken;
        } else if ((guess = iw_endpoint_guess(ep, &at)) > 0 && n > head) {
            size_t there = least(guess, n - head);
            memcpy(at, octets + head, there);
            taken = iw_endpoint_guessed(ep, octets, there, p->now);
            *landed += taken;
            *guessed += taken;
            taken += taken > 0 ? head : 0;
        }
        struct iw_iov in = {octets + taken, n - taken};
        iw_endpoint_input(ep, &in, 1, p->now);
        free(octets);
        pair_collect(p, 1);
        done += n;
    }
}

static void open_sends(struct pair *p, bool ahead)
{
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    for (int i = 0; i < 2; i++) {
        config[i].mpa.crc = false;
        config[i].mulpdu = 40000;
        config[i].in_place = true;
        config[i].receive_ahead = ahead;
    }
    pair_open(p, config);
    pair_run(p);
    for (size_t i = 0; i < 2 * (size_t)ROOM; i++)
        p->side[0].memory[i] = (uint8_t)(i * 13 + i / 256);
}

static void post_send(struct pair *p, size_t at, uint32_t length)
{
    struct iw_iov sge = {p->side[0].memory + at, length};
    struct iw_work work = {.id = 1, .opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
    assert_int_equal(iw_endpoint_post(p->side[0].ep, &work, p->now), IW_OK);
}

/* Receive `i`: ROOM octets, in two pieces if `first` is less. */
static void post_room(struct pair *p, size_t i, size_t first)
{
    uint8_t *base = p->side[1].memory + POOL + i * (ROOM + 64);
    struct iw_iov sge[2] = {{base, first}, {base + first, ROOM - first}};
    assert_int_equal(iw_endpoint_post_recv(p->side[1].ep, 100 + i, sge, first < ROOM ? 2 : 1),
                     IW_OK);
}

/* However the octets are cut and whatever was guessed, each Send is where it belongs, and so is the
 * Write between them; a wrong guess may leave traces only past a Send's end. */
static void test_sends_in_any_pieces(void **state)
{
    enum { ONE_SEND = 40008 + 10044 }; /* its two FPDUs, if it has 50,000 octets */
    static const size_t pieces[] = {1,     7,     19,    20,    21,       37,    1000,
                                    20000, 40007, 40008, 40009, ONE_SEND, 60000, SIZE_MAX};
    static const struct {
        uint32_t length;
        size_t first; /* octets of the receive's first piece */
    } sends[] = {{50000, ROOM},  {50000, ROOM}, {300, ROOM},   {50000, ROOM},
                 {20000, ROOM},  {45000, ROOM}, {60000, ROOM}, {50000, 39982},
                 {50000, 39983}, {50000, 100},  {0, ROOM},     {60000, ROOM}};
    enum { SENDS = sizeof(sends) / sizeof(*sends) };
    static uint8_t stream[SENDS * (ROOM + 64) + WRITE];
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(pieces) / sizeof(*pieces); i++) {
        bool ahead = i % 2 == 1;
        size_t landed = 0, guessed = 0;
        struct pair p;
        open_sends(&p, ahead);
        for (size_t k = 0; k < SENDS; k++) {
            post_room(&p, k, sends[k].first);
            if (k == 3)
                pair_post_write(&p, 2, 0, WRITE);
            post_send(&p, k, sends[k].length);
        }
        size_t length = say(&p, stream, sizeof(stream));
        receive_as(&p, stream, length, pieces[i / 2], &landed, &guessed);
        for (size_t k = 0; k < SENDS; k++) {
            const struct iw_completion *done = pair_completion(&p, 1, 100 + k);
            const uint8_t *base = p.side[1].memory + POOL + k * (ROOM + 64);
            assert_non_null(done);
            assert_int_equal(done->length, sends[k].length);
            assert_memory_equal(base, p.side[0].memory + k, sends[k].length);
            for (size_t at = ahead ? ROOM : sends[k].length; at < ROOM + 64; at++)
                assert_int_equal(base[at], 0xa5);
        }
        assert_memory_equal(p.side[1].memory, p.side[0].memory, WRITE);
        for (size_t at = WRITE; at < POOL; at++)
            assert_int_equal(p.side[1].memory[at], 0xa5);
        assert_true(pieces[i / 2] > 40007 || landed > 16384);
        assert_true(guessed == 0 || ahead);
        if (ahead && pieces[i / 2] == ONE_SEND)
            assert_true(guessed > 16384);
        pair_close(&p);
    }
}

/* Side 1 has received one Send of 50,000 octets, and has a receive like that one's. */
static void open_guessing(struct pair *p, bool ahead, uint32_t length)
{
    static uint8_t stream[2 * ROOM];
    size_t landed = 0, guessed = 0;
    open_sends(p, ahead);
    post_room(p, 0, ROOM);
    post_send(p, 0, length);
    receive_as(p, stream, say(p, stream, sizeof(stream)), SIZE_MAX, &landed, &guessed);
    assert_non_null(pair_completion(p, 1, 100));
}

static void test_when_there_is_no_guess(void **state)
{
    struct pair p;
    void *at;
    uint8_t octet = 0;
    struct iw_iov half = {&octet, 1};
    (void)state;
    open_guessing(&p, false, 50000);
    post_room(&p, 1, ROOM);
    assert_int_equal(iw_endpoint_guess(p.side[1].ep, &at), 0); /* nobody wants it */
    pair_close(&p);

    open_guessing(&p, true, 16383);
    post_room(&p, 1, ROOM);
    assert_int_equal(iw_endpoint_guess(p.side[1].ep, &at), 0); /* it would be too short */
    pair_close(&p);

    open_guessing(&p, true, 50000);
    assert_int_equal(iw_endpoint_guess(p.side[1].ep, &at), 0); /* no receive */
    post_room(&p, 1, 39981);
    assert_int_equal(iw_endpoint_guess(p.side[1].ep, &at), 0); /* not in one piece */
    pair_close(&p);

    open_guessing(&p, true, 50000);
    post_room(&p, 1, ROOM);
    assert_int_equal(iw_endpoint_guess(p.side[1].ep, &at), 39982);
    assert_ptr_equal(at, p.side[1].memory + POOL + ROOM + 64);
    iw_endpoint_input(p.side[1].ep, &half, 1, p.now);
    assert_int_equal(iw_endpoint_guess(p.side[1].ep, &at), 0); /* inside an FPDU */
    pair_close(&p);
}

static void test_wrong_guesses(void **state)
{
    static const char *const heads[] = {
        "9c46 4143 00000000 00000000 00000003 00000000", /* another MSN */
        "9c46 4143 00000000 00000000 00000002 00000004", /* another MO: four octets on */
        "9c46 4143 00000000 00000001 00000002 00000000", /* another queue */
        "9c46 4147 00000000 00000002 00000001 00000000", /* a Terminate */
        "9c46 4149 00000000 00000000 00000002 00000000", /* not assigned: no Send */
        "9c46 4243 00000000 00000000 00000002 00000000", /* another version of DDP */
        "ea74 4143 00000000 00000000 00000002 00000000", /* more than there is room for */
        "fd01 4143 00000000 00000000 00000002 00000000", /* more than MPA allows */
        "0012 4143 00000000 00000000 00000002 00000000", /* nothing */
        "0011 4143 00000000 00000000 00000002 00000000", /* not even a header */
        "9c46 c140 11223344 0000000000001000 00000000",  /* a Write */
    };
    (void)state;
    for (size_t i = 0; i <= sizeof(heads) / sizeof(*heads); i++) {
        struct pair p;
        void *at;
        uint8_t head[IW_ENDPOINT_GUESS_HEAD];
        const char *text = i < sizeof(heads) / sizeof(*heads)
                               ? heads[i]
                               : "9c46 0143 00000000 00000000 00000002 00000000";
        open_guessing(&p, true, 50000);
        post_room(&p, 1, ROOM);
        assert_int_equal(iw_endpoint_guess(p.side[1].ep, &at), 39982);
        for (size_t k = 0; k < sizeof(head); text += *text == ' ' ? 1 : 2) {
            char pair[3] = {text[0], text[1], 0};
            if (*text != ' ')
                head[k++] = (uint8_t)strtoul(pair, NULL, 16);
        }
        size_t want = i < sizeof(heads) / sizeof(*heads) ? 0 : 100;
        assert_int_equal(iw_endpoint_guessed(p.side[1].ep, head, 100, p.now), want);
        assert_int_equal(iw_endpoint_landing(p.side[1].ep, &at), want == 0 ? 0 : 0x9c46 - 18 - 100);
        if (want == 0) /* not even the next time */
            assert_int_equal(iw_endpoint_guess(p.side[1].ep, &at), 0);
        pair_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends_in_any_pieces),
        cmocka_unit_test(test_when_there_is_no_guess),
        cmocka_unit_test(test_wrong_guesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
