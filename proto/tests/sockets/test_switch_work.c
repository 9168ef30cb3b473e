/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided work on a switched socket. */
#include "switch_pair.h"

static struct iw_sockets_memory advertise(struct iw_switched *s, void *memory, size_t length,
                                          unsigned rights)
{
    struct iw_sockets_memory m, copy;
    uint8_t octets[IW_SOCKETS_MEMORY];
    assert_int_equal(iw_switched_advertise(s, memory, length, rights, &m), 0);
    iw_sockets_memory_put(&m, octets);
    iw_sockets_memory_get(octets, &copy);
    assert_int_equal(copy.stag, m.stag);
    assert_int_equal(copy.to, m.to);
    assert_int_equal(copy.length, length);
    return copy;
}

static struct iw_sockets_completion complete(struct iw_switched *s,
                                             const struct iw_sockets_request *r)
{
    struct iw_sockets_completion done;
    assert_int_equal(iw_switched_post(s, r), 0);
    collect(s, &done, 1);
    assert_int_equal(done.id, r->id);
    assert_int_equal(done.operation, r->operation);
    return done;
}

static void gathered_write(void **state)
{
    struct pair *p = *state;
    char memory[32] = "................", in[4];
    struct iovec pieces[3] = {{"one", 3}, {"-", 1}, {"two", 3}};
    const struct iw_sockets_memory m =
        advertise(p->s[1], memory, sizeof(memory), IW_SOCKETS_WRITABLE);
    const struct iw_sockets_request r = {.id = 7,
                                         .operation = IW_SOCKETS_OP_WRITE,
                                         .pieces = pieces,
                                         .piece_count = 3,
                                         .stag = m.stag,
                                         .to = m.to + 2};
    const struct iw_sockets_completion done = complete(p->s[0], &r);
    assert_int_equal(done.error, 0);
    assert_int_equal(done.length, 7);
    assert_int_equal(put(p->s[0], "done", 4), 4);
    assert_int_equal(get(p->s[1], in, 4, 0), 4); /* after it the Write is there */
    assert_memory_equal(memory, "..one-two.......", 16);
}

static void a_read(void **state)
{
    struct pair *p = *state;
    char there[] = "0123456789", here[8] = "";
    struct iovec piece = {here, 4};
    const struct iw_sockets_memory m = advertise(p->s[1], there, 10, IW_SOCKETS_READABLE);
    const struct iw_sockets_request r = {.id = 1,
                                         .operation = IW_SOCKETS_OP_READ,
                                         .pieces = &piece,
                                         .piece_count = 1,
                                         .stag = m.stag,
                                         .to = m.to + 3};
    const struct iw_sockets_completion done = complete(p->s[0], &r);
    assert_int_equal(done.error, 0);
    assert_int_equal(done.length, 4);
    assert_string_equal(here, "3456");
}

static void atomics(void **state)
{
    struct pair *p = *state;
    static uint64_t number = 40;
    const struct iw_sockets_memory m =
        advertise(p->s[0], &number, sizeof(number), IW_SOCKETS_ATOMIC);
    struct iw_sockets_request r = {
        .id = 1, .operation = IW_SOCKETS_OP_FETCH_ADD, .stag = m.stag, .to = m.to, .add = 2};
    struct iw_sockets_completion done = complete(p->s[1], &r);
    assert_int_equal(done.error, 0);
    assert_int_equal(done.original, 40);
    assert_int_equal(number, 42);
    r = (struct iw_sockets_request){.id = 2,
                                    .operation = IW_SOCKETS_OP_CMP_SWAP,
                                    .stag = m.stag,
                                    .to = m.to,
                                    .compare = 41,
                                    .swap = 1};
    done = complete(p->s[1], &r);
    assert_int_equal(done.original, 42);
    assert_int_equal(number, 42);
    r.compare = 42;
    done = complete(p->s[1], &r);
    assert_int_equal(number, 1);
    r.to = m.to + 1;
    assert_int_equal(iw_switched_post(p->s[1], &r), -1);
    assert_int_equal(errno, EINVAL);
}

/* A sum carries through all 64 bits, and all of them are compared and swapped. */
static void atomics_of_every_bit(void **state)
{
    struct pair *p = *state;
    static uint64_t number;
    const struct iw_sockets_memory m =
        advertise(p->s[0], &number, sizeof(number), IW_SOCKETS_ATOMIC);
    struct iw_sockets_request r = {
        .operation = IW_SOCKETS_OP_FETCH_ADD, .stag = m.stag, .to = m.to, .add = 1};
    for (unsigned bit = 0; bit < 64; bit++) {
        number = bit < 63 ? (UINT64_C(2) << bit) - 1 : UINT64_MAX;
        const uint64_t before = number;
        r.id = bit;
        assert_true(complete(p->s[1], &r).original == before);
        assert_true(number == before + 1);
    }
    r.operation = IW_SOCKETS_OP_CMP_SWAP;
    r.swap = UINT64_C(0x123456789abcdef0);
    for (unsigned bit = 0; bit < 64; bit++) {
        number = UINT64_C(0xfedcba9876543210);
        r.compare = number ^ UINT64_C(1) << bit;
        assert_true(complete(p->s[1], &r).original == number);
        assert_true(number == UINT64_C(0xfedcba9876543210));
    }
    r.compare = number;
    complete(p->s[1], &r);
    assert_true(number == UINT64_C(0x123456789abcdef0));
}

/* What rights an advertisement gives, each alone and all together. */
static void each_right(void **state)
{
    struct pair *p = *state;
    static uint64_t number, here;
    struct iovec piece = {&here, sizeof(here)};
    struct iw_sockets_memory m;
    for (unsigned rights = 1; rights < 8; rights++)
        assert_int_equal(iw_switched_advertise(p->s[1], &number, 8, rights, &m), 0);
    assert_int_equal(iw_switched_advertise(p->s[1], &number, 8, 8, &m), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(iw_switched_advertise(p->s[1], NULL, 8, 1, &m), -1);
    assert_int_equal(errno, EINVAL);
    number = 77;
    m = advertise(p->s[1], &number, 8, 7);
    struct iw_sockets_request r = {.operation = IW_SOCKETS_OP_READ,
                                   .pieces = &piece,
                                   .piece_count = 1,
                                   .stag = m.stag,
                                   .to = m.to};
    assert_int_equal(complete(p->s[0], &r).error, 0);
    assert_int_equal(here, 77);
    here = 78;
    r.operation = IW_SOCKETS_OP_WRITE;
    assert_int_equal(complete(p->s[0], &r).error, 0);
    r = (struct iw_sockets_request){
        .operation = IW_SOCKETS_OP_FETCH_ADD, .stag = m.stag, .to = m.to, .add = 1};
    const struct iw_sockets_completion done = complete(p->s[0], &r);
    assert_int_equal(done.error, 0);
    assert_int_equal(done.original, 78);
    /* A Read has one piece, atomics and Immediate Data have none; of length 0 it reads nothing. */
    r.pieces = &piece;
    for (int count = 0; count < 3; count++) {
        r.piece_count = (size_t)count;
        for (enum iw_sockets_operation op = IW_SOCKETS_OP_READ; op <= IW_SOCKETS_OP_IMMEDIATE;
             op++) {
            r.operation = op;
            if (count == (op == IW_SOCKETS_OP_READ ? 1 : 0))
                continue;
            assert_int_equal(iw_switched_post(p->s[0], &r), -1);
            assert_int_equal(errno, EINVAL);
        }
    }
    r.operation = IW_SOCKETS_OP_SEND;
    r.piece_count = 1;
    for (unsigned flag = 2; flag != 0; flag <<= 1) {
        r.flags = flag;
        assert_int_equal(iw_switched_post(p->s[0], &r), -1);
        assert_int_equal(errno, EINVAL);
    }
    r.flags = IW_SOCKETS_FENCE;
    r.pieces = NULL;
    assert_int_equal(iw_switched_post(p->s[0], &r), -1);
    assert_int_equal(errno, EINVAL);
    r.pieces = &piece;
    assert_int_equal(complete(p->s[0], &r).error, 0);
    piece.iov_len = 0;
    r = (struct iw_sockets_request){
        .operation = IW_SOCKETS_OP_READ, .pieces = &piece, .piece_count = 1};
    assert_int_equal(complete(p->s[0], &r).error, 0);
    /* After its own end nothing is posted any more. */
    assert_int_equal(iw_switched_shutdown(p->s[0], SHUT_WR), 0);
    assert_int_equal(iw_switched_post(p->s[0], &r), -1);
    assert_int_equal(errno, EPIPE);
}

static void a_send_without_a_copy_and_immediate_data(void **state)
{
    struct pair *p = *state;
    char in[8];
    struct iovec piece = {"quick", 5};
    struct iw_sockets_completion came;
    const struct iw_sockets_request send = {.id = 1,
                                            .operation = IW_SOCKETS_OP_SEND,
                                            .pieces = &piece,
                                            .piece_count = 1},
                                    immediate = {.id = 2,
                                                 .operation = IW_SOCKETS_OP_IMMEDIATE,
                                                 .immediate = "12345678"};
    assert_int_equal(complete(p->s[0], &send).error, 0);
    assert_int_equal(complete(p->s[0], &immediate).error, 0);
    assert_int_equal(get(p->s[1], in, 8, 0), 5);
    assert_memory_equal(in, "quick", 5);
    collect(p->s[1], &came, 1);
    assert_int_equal(came.operation, IW_SOCKETS_OP_IMMEDIATE_CAME);
    assert_memory_equal(came.immediate, "12345678", 8);
}

static void the_event(void **state)
{
    struct pair *p = *state;
    struct iw_sockets_completion done;
    struct iovec piece = {"x", 1};
    const struct iw_sockets_request r = {
        .id = 9, .operation = IW_SOCKETS_OP_SEND, .pieces = &piece, .piece_count = 1};
    struct pollfd fd = {.fd = iw_switched_work_event(p->s[0]), .events = POLLIN};
    assert_true(fd.fd >= 0);
    assert_int_equal(iw_switched_work_event(p->s[0]), fd.fd);
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(iw_switched_post(p->s[0], &r), 0);
    assert_int_equal(poll(&fd, 1, 60000), 1);
    assert_int_equal(iw_switched_poll(p->s[0], &done, 1, 0), 1);
    assert_int_equal(poll(&fd, 1, 0), 0);
}

/* The one who asks sees the peer's Terminate, the one who refuses its own. */
/* Asked for when there is something already. */
static void the_event_of_what_is_there(void **state)
{
    struct pair *p = *state;
    struct iw_sockets_completion done;
    struct iovec piece = {"x", 1};
    const struct iw_sockets_request r = {
        .id = 9, .operation = IW_SOCKETS_OP_SEND, .pieces = &piece, .piece_count = 1};
    assert_int_equal(iw_switched_post(p->s[0], &r), 0);
    assert_int_equal(iw_switched_poll(p->s[0], NULL, 0, 60000), 0); /* waits, takes nothing */
    struct pollfd fd = {.fd = iw_switched_work_event(p->s[0]), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 0), 1);
    assert_int_equal(iw_switched_poll(p->s[0], &done, 1, 0), 1);
    assert_int_equal(done.id, 9);
    assert_int_equal(poll(&fd, 1, 0), 0);
}

/* A poll for completions waits as long as it may; nothing is no error. */
static void a_poll_without_an_end(void **state)
{
    struct pair *p = *state;
    struct iw_sockets_completion done;
    assert_int_equal(iw_switched_poll(p->s[0], &done, 1, 0), 0);
    assert_int_equal(iw_switched_poll(p->s[0], &done, 1, 5), 0);
    assert_int_equal(iw_switched_poll(p->s[0], NULL, 0, 5), 0);
    assert_int_equal(iw_switched_poll(p->s[0], NULL, 1, 5), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(iw_switched_poll(p->s[0], &done, -1, 5), -1);
    assert_int_equal(errno, EINVAL);
}

/* More completions than were asked for at once come later, in order, and make room for requests. */
static void completions_in_order(void **state)
{
    struct pair *p = *state;
    struct iovec piece = {"x", 1};
    struct iw_sockets_completion done[IW_SOCKETS_POSTS];
    struct iw_sockets_request r = {
        .operation = IW_SOCKETS_OP_SEND, .pieces = &piece, .piece_count = 1};
    uint64_t posted = 0, polled = 0;
    for (; posted < IW_SOCKETS_POSTS; posted++) {
        r.id = posted;
        assert_int_equal(iw_switched_post(p->s[0], &r), 0);
    }
    while (polled < 4 * IW_SOCKETS_POSTS) {
        const int n = iw_switched_poll(p->s[0], done, 3, 60000);
        assert_in_range(n, 1, 3);
        for (int i = 0; i < n; i++) {
            assert_int_equal(done[i].id, polled++);
            assert_int_equal(done[i].error, 0);
            assert_int_equal(done[i].length, 1);
            assert_int_equal(done[i].operation, IW_SOCKETS_OP_SEND);
            r.id = posted++;
            assert_int_equal(iw_switched_post(p->s[0], &r), 0);
        }
        r.id = posted;
        assert_int_equal(iw_switched_post(p->s[0], &r), -1);
        assert_int_equal(errno, EAGAIN);
        for (char in[64]; get(p->s[1], in, sizeof(in), MSG_DONTWAIT) > 0;)
            ;
    }
}

/* Immediate Data is kept beside the completions of requests, more of it than there are requests. */
static void much_immediate_data(void **state)
{
    struct pair *p = *state;
    enum { MANY = 200 };
    struct iw_sockets_completion done;
    struct iw_sockets_request r = {.operation = IW_SOCKETS_OP_IMMEDIATE};
    for (unsigned sent = 0, came = 0; came < MANY;) {
        r.id = sent;
        memcpy(r.immediate, &sent, sizeof(sent));
        if (sent < MANY && iw_switched_post(p->s[0], &r) == 0)
            sent++;
        else if (sent < MANY)
            assert_int_equal(errno, EAGAIN);
        (void)iw_switched_poll(p->s[0], &done, 1, 0);
        if (sent < MANY / 2)
            continue; /* until there are more than are taken */
        const int n = iw_switched_poll(p->s[1], &done, 1, 60000);
        assert_int_equal(n, 1);
        assert_int_equal(done.operation, IW_SOCKETS_OP_IMMEDIATE_CAME);
        assert_int_equal(done.length, 8);
        assert_memory_equal(done.immediate, &came, sizeof(came));
        came++;
    }
}

static void expect_refusal(struct pair *p, const struct iw_sockets_request *r, int error,
                           unsigned layer, unsigned etype, unsigned code)
{
    struct iw_sockets_terminate t;
    struct iw_sockets_completion done;
    char in[4];
    assert_int_equal(iw_switched_terminate(p->s[0], &t), -1);
    assert_int_equal(errno, ENODATA);
    assert_int_equal(iw_switched_post(p->s[0], r), 0);
    collect(p->s[0], &done, 1);
    assert_int_equal(done.error, error);
    assert_int_equal(get(p->s[0], in, 4, 0), -1);
    assert_int_equal(errno, EREMOTEIO);
    assert_int_equal(iw_switched_terminate(p->s[0], &t), 0);
    assert_true(t.by_peer);
    assert_int_equal(t.layer, layer);
    assert_int_equal(t.etype, etype);
    assert_int_equal(t.code, code);
    assert_int_equal(get(p->s[1], in, 4, 0), -1);
    assert_int_equal(errno, EPROTO);
    assert_int_equal(iw_switched_terminate(p->s[1], &t), 0);
    assert_false(t.by_peer);
    assert_int_equal(t.layer, layer);
    assert_int_equal(t.code, code);
    assert_non_null(t.rule);
    assert_true(strlen(t.text) > 0);
    assert_int_equal(iw_switched_post(p->s[0], r), -1);
    assert_int_equal(errno, EREMOTEIO);
    assert_int_equal(iw_switched_poll(p->s[0], &done, 1, 0), -1);
    assert_int_equal(errno, EREMOTEIO);
}

static void memory_that_was_withdrawn(void **state)
{
    struct pair *p = *state;
    char memory[8] = "", out[4] = "abc";
    struct iovec piece = {out, 4};
    struct iw_sockets_memory m = advertise(p->s[1], memory, 8, IW_SOCKETS_READABLE);
    assert_int_equal(iw_switched_withdraw(p->s[1], m.stag), 0);
    assert_int_equal(iw_switched_withdraw(p->s[1], m.stag), -1);
    assert_int_equal(errno, EINVAL);
    const struct iw_sockets_request r = {.operation = IW_SOCKETS_OP_READ,
                                         .pieces = &piece,
                                         .piece_count = 1,
                                         .stag = m.stag,
                                         .to = m.to};
    expect_refusal(p, &r, EREMOTEIO, 0, 1, 0); /* RDMAP, remote protection, invalid STag */
}

static void rights_are_kept(void **state)
{
    struct pair *p = *state;
    char memory[8] = "", in[8];
    struct iovec piece = {in, 8};
    const struct iw_sockets_memory m = advertise(p->s[1], memory, 8, IW_SOCKETS_WRITABLE);
    const struct iw_sockets_request r = {.operation = IW_SOCKETS_OP_READ,
                                         .pieces = &piece,
                                         .piece_count = 1,
                                         .stag = m.stag,
                                         .to = m.to};
    expect_refusal(p, &r, EREMOTEIO, 0, 1, 2); /* access rights violation */
}

/* An STag of one connection means nothing on another one of the same process. */
static void memory_of_another_connection(void **state)
{
    struct pair *p = *state, other = {{-1, -1}, {NULL, NULL}};
    char memory[8] = "", in[8];
    struct iovec piece = {in, 8};
    connect_pair(other.fd);
    other.s[1] = begin(other.fd[1], IWARP_RESPONDER);
    other.s[0] = begin(other.fd[0], IWARP_INITIATOR);
    assert_int_equal(iw_switched_wait(other.s[0]), 0);
    const struct iw_sockets_memory m = advertise(other.s[0], memory, 8, IW_SOCKETS_READABLE);
    const struct iw_sockets_request r = {.operation = IW_SOCKETS_OP_READ,
                                         .pieces = &piece,
                                         .piece_count = 1,
                                         .stag = m.stag,
                                         .to = m.to};
    expect_refusal(p, &r, EREMOTEIO, 0, 1, 3); /* STag not associated with the stream */
    for (int i = 0; i < 2; i++) {
        close(other.fd[i]);
        iw_switched_close(other.s[i]);
    }
}

static void bounds_of_requests(void **state)
{
    struct pair *p = *state;
    struct iovec piece = {"x", 1}, many[IW_SOCKETS_PIECES + 1], huge[2];
    struct iw_sockets_memory m;
    struct iw_sockets_completion done[IW_SOCKETS_POSTS];
    struct iw_sockets_request r = {
        .operation = IW_SOCKETS_OP_SEND, .pieces = &piece, .piece_count = 1};
    for (unsigned i = 0; i < IW_SOCKETS_POSTS; i++)
        assert_int_equal(iw_switched_post(p->s[0], &r), 0);
    assert_int_equal(iw_switched_post(p->s[0], &r), -1);
    assert_int_equal(errno, EAGAIN);
    collect(p->s[0], done, IW_SOCKETS_POSTS);
    for (unsigned i = 0; i <= IW_SOCKETS_PIECES; i++)
        many[i] = piece;
    r.pieces = many;
    r.piece_count = IW_SOCKETS_PIECES + 1;
    assert_int_equal(iw_switched_post(p->s[0], &r), -1);
    assert_int_equal(errno, EINVAL);
    r.piece_count = IW_SOCKETS_PIECES;
    assert_int_equal(iw_switched_post(p->s[0], &r), 0);
    huge[0] = (struct iovec){"x", UINT32_MAX};
    huge[1] = piece;
    r.pieces = huge;
    r.piece_count = 2;
    assert_int_equal(iw_switched_post(p->s[0], &r), -1);
    assert_int_equal(errno, EINVAL);
    r.operation = IW_SOCKETS_OP_IMMEDIATE_CAME;
    assert_int_equal(iw_switched_post(p->s[0], &r), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(iw_switched_advertise(p->s[0], &m, 0, IW_SOCKETS_READABLE, &m), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(iw_switched_advertise(p->s[0], &m, 1, 0, &m), -1);
    assert_int_equal(iw_switched_advertise(p->s[0], &m, 1, 0x80, &m), -1);
    assert_int_equal(iw_switched_advertise(p->s[0], &m, SIZE_MAX, IW_SOCKETS_READABLE, &m), -1);
    assert_int_equal(errno, EINVAL);
}

/* Closing waits for what names the program's memory. */
static void a_close_with_requests_under_way(void **state)
{
    struct pair *p = *state;
    enum { LENGTH = 4 * 1024 * 1024 };
    char *from = malloc(LENGTH), *to = calloc(1, LENGTH), in[4];
    assert_non_null(from);
    assert_non_null(to);
    memset(from, 'w', LENGTH);
    struct iovec piece = {from, LENGTH};
    const struct iw_sockets_memory m = advertise(p->s[1], to, LENGTH, IW_SOCKETS_WRITABLE);
    const struct iw_sockets_request r = {.operation = IW_SOCKETS_OP_WRITE,
                                         .pieces = &piece,
                                         .piece_count = 1,
                                         .stag = m.stag,
                                         .to = m.to};
    assert_int_equal(iw_switched_post(p->s[0], &r), 0);
    assert_int_equal(put(p->s[0], "end", 3), 3);
    iw_switched_close(p->s[0]);
    p->s[0] = NULL;
    memset(from, 'x', LENGTH);
    free(from);
    assert_int_equal(get(p->s[1], in, 3, MSG_WAITALL), 3);
    for (size_t i = 0; i < LENGTH; i++)
        assert_int_equal(to[i], 'w');
    assert_int_equal(iw_switched_withdraw(p->s[1], m.stag), 0);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SWITCHED(gathered_write),
        SWITCHED(a_read),
        SWITCHED(atomics),
        SWITCHED(atomics_of_every_bit),
        SWITCHED(each_right),
        SWITCHED(a_send_without_a_copy_and_immediate_data),
        SWITCHED(the_event),
        SWITCHED(the_event_of_what_is_there),
        SWITCHED(a_poll_without_an_end),
        SWITCHED(completions_in_order),
        SWITCHED(much_immediate_data),
        SWITCHED(memory_that_was_withdrawn),
        SWITCHED(rights_are_kept),
        SWITCHED(memory_of_another_connection),
        SWITCHED(bounds_of_requests),
        SWITCHED(a_close_with_requests_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
