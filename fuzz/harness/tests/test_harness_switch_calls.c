/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the switch: how it begins, which operations become which calls, and the wrong
 * results that it notices. */
#include "spy.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sockets/switched.h"
#include "verbs/engine.h"

/* What the switch does wrong. */
static struct {
    int begin_error;
    enum { HONEST, READS_MORE, WRITES_BEYOND, READS_OTHER, SENDS_MORE } lie;
} fake;
static _Thread_local int depth; /* of the engine's lock */

struct iw_switched *__real_iw_switched_begin(int fd, const struct iw_sockets_mode *mode);
struct iw_switched *__wrap_iw_switched_begin(int fd, const struct iw_sockets_mode *mode);
ssize_t __real_iw_switched_receive(struct iw_switched *s, struct msghdr *m, int flags, bool block);
ssize_t __wrap_iw_switched_receive(struct iw_switched *s, struct msghdr *m, int flags, bool block);
ssize_t __real_iw_switched_send(struct iw_switched *s, const struct msghdr *m, int flags,
                                bool block);
ssize_t __wrap_iw_switched_send(struct iw_switched *s, const struct msghdr *m, int flags,
                                bool block);
int __real_iw_switched_advertise(struct iw_switched *s, void *memory, size_t length,
                                 unsigned rights, struct iw_sockets_memory *out);
int __wrap_iw_switched_advertise(struct iw_switched *s, void *memory, size_t length,
                                 unsigned rights, struct iw_sockets_memory *out);
int __real_iw_switched_withdraw(struct iw_switched *s, uint32_t stag);
int __wrap_iw_switched_withdraw(struct iw_switched *s, uint32_t stag);
int __real_iw_switched_post(struct iw_switched *s, const struct iw_sockets_request *r);
int __wrap_iw_switched_post(struct iw_switched *s, const struct iw_sockets_request *r);
int __real_iw_switched_shutdown(struct iw_switched *s, int how);
int __wrap_iw_switched_shutdown(struct iw_switched *s, int how);
int __real_iw_switched_accept(struct iw_switched *s, bool reject, const void *data, size_t length);
int __wrap_iw_switched_accept(struct iw_switched *s, bool reject, const void *data, size_t length);
ssize_t __real_iw_switched_private(struct iw_switched *s, void *out, size_t room);
ssize_t __wrap_iw_switched_private(struct iw_switched *s, void *out, size_t room);
int __real_iw_switched_terminate(struct iw_switched *s, struct iw_sockets_terminate *out);
int __wrap_iw_switched_terminate(struct iw_switched *s, struct iw_sockets_terminate *out);
int __real_iw_switched_work_event(struct iw_switched *s);
int __wrap_iw_switched_work_event(struct iw_switched *s);
int __real_iw_switched_both(struct iw_switched *s);
int __wrap_iw_switched_both(struct iw_switched *s);
void __real_iw_verbs_lock(void);
void __wrap_iw_verbs_lock(void);
void __real_iw_verbs_unlock(void);
void __wrap_iw_verbs_unlock(void);
bool __real_iw_verbs_enter(void);
bool __wrap_iw_verbs_enter(void);

void __wrap_iw_verbs_lock(void)
{
    assert_int_equal(depth, 0);
    __real_iw_verbs_lock();
    depth++;
}

bool __wrap_iw_verbs_enter(void)
{
    assert_int_equal(depth, 0);
    const bool entered = __real_iw_verbs_enter();
    depth += entered;
    return entered;
}

void __wrap_iw_verbs_unlock(void)
{
    assert_int_equal(depth, 1);
    depth--;
    __real_iw_verbs_unlock();
}

struct iw_switched *__wrap_iw_switched_begin(int fd, const struct iw_sockets_mode *mode)
{
    spy_note("begin %d flags %x ahead ", mode->role, mode->flags);
    spy_note_octets(mode->ahead, mode->ahead_length);
    spy_note("\n");
    errno = fake.begin_error;
    return fake.begin_error != 0 ? NULL : __real_iw_switched_begin(fd, mode);
}

ssize_t __wrap_iw_switched_receive(struct iw_switched *s, struct msghdr *m, int flags, bool block)
{
    assert_false(block);
    const size_t room = m->msg_iov[0].iov_len;
    uint8_t *at = m->msg_iov[0].iov_base;
    if (room != 8192 || flags != 0)
        spy_note("receive %zu of %zu flags %x\n", room, (size_t)m->msg_iovlen, flags);
    switch (fake.lie) {
    case READS_MORE:
        return (ssize_t)room + 1;
    case WRITES_BEYOND:
        at[room] = 0;
        return 0;
    case READS_OTHER:
        at[room - 1] = 0x77;
        memset(at, 0, room - 1);
        return (ssize_t)room;
    default:
        return __real_iw_switched_receive(s, m, flags, block);
    }
}

ssize_t __wrap_iw_switched_send(struct iw_switched *s, const struct msghdr *m, int flags,
                                bool block)
{
    assert_false(block);
    spy_note("send %zu %zu of %zu flags %x\n", m->msg_iov[0].iov_len, m->msg_iov[1].iov_len,
             (size_t)m->msg_iovlen, flags);
    const ssize_t n = __real_iw_switched_send(s, m, flags, block);
    return fake.lie == SENDS_MORE ? 11 : n;
}

int __wrap_iw_switched_advertise(struct iw_switched *s, void *memory, size_t length,
                                 unsigned rights, struct iw_sockets_memory *out)
{
    static uint8_t *first;
    const int result = __real_iw_switched_advertise(s, memory, length, rights, out);
    if (first == NULL)
        first = memory;
    spy_note("advertise %td %zu rights %u ", (uint8_t *)memory - first, length, rights);
    if (result == 0)
        spy_note("is %x\n", out->stag);
    else
        spy_note("fails\n");
    return result;
}

int __wrap_iw_switched_withdraw(struct iw_switched *s, uint32_t stag)
{
    spy_note("withdraw %x\n", stag);
    return __real_iw_switched_withdraw(s, stag);
}

int __wrap_iw_switched_post(struct iw_switched *s, const struct iw_sockets_request *r)
{
    spy_note("post %d id %u flags %x stag %x to %u pieces", r->operation, (unsigned)r->id, r->flags,
             r->stag, (unsigned)r->to);
    for (size_t i = 0; i < r->piece_count; i++)
        spy_note(" %zu", r->pieces[i].iov_len);
    spy_note("\n");
    return __real_iw_switched_post(s, r);
}

int __wrap_iw_switched_shutdown(struct iw_switched *s, int how)
{
    spy_note("shutdown %d\n", how);
    return __real_iw_switched_shutdown(s, how);
}

int __wrap_iw_switched_accept(struct iw_switched *s, bool reject, const void *data, size_t length)
{
    spy_note("%s %zu\n", reject ? "reject" : "accept", length);
    return __real_iw_switched_accept(s, reject, data, length);
}

ssize_t __wrap_iw_switched_private(struct iw_switched *s, void *out, size_t room)
{
    spy_note("private %zu\n", room);
    return __real_iw_switched_private(s, out, room);
}

int __wrap_iw_switched_terminate(struct iw_switched *s, struct iw_sockets_terminate *out)
{
    spy_note("terminate\n");
    return __real_iw_switched_terminate(s, out);
}

int __wrap_iw_switched_work_event(struct iw_switched *s)
{
    spy_note("work event\n");
    return __real_iw_switched_work_event(s);
}

int __wrap_iw_switched_both(struct iw_switched *s)
{
    spy_note("both\n");
    return __real_iw_switched_both(s);
}

static int set_up(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    spy_forget();
    return 0;
}

/* What it notes of an input, in this process; a process that has not begun is left to a fault. */
static void play(const char *hex, const char *notes)
{
    static bool started;
    if (!started)
        iw_fuzz_harness.start();
    started = true;
    assert_string_equal(spy_runs(&iw_fuzz_harness, hex), "");
    assert_string_equal(spy_notes(), notes);
    assert_int_equal(depth, 0);
}

/* Returns what it says of an input, in a process of its own: a fault leaves descriptors open. */
static const char *fault(const char *hex)
{
    static char said[400];
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        iw_fuzz_harness.start();
        const char *text = spy_runs(&iw_fuzz_harness, hex);
        _exit(write(ends[1], text, strlen(text)) == (ssize_t)strlen(text) ? 0 : 1);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; (n = read(ends[0], said + length, sizeof(said) - 1 - length)) > 0;)
        length += (size_t)n;
    said[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return said;
}

#define REQUEST "001400 4d504120494420526571204672616d6540010000 "
#define REPLY "001400 4d504120494420526570204672616d6540010000 "
#define OPEN "01000000 " REPLY
#define IS_OPEN "begin 1 flags 8 ahead \n"

static void faults(void **state)
{
    (void)state;
    static const int good[] = {EBUSY, ECONNRESET, ENOTCONN};
    for (unsigned i = 0; i < 3; i++) {
        fake.begin_error = good[i];
        assert_string_equal(fault("01000000"), "");
    }
    fake.begin_error = EINVAL;
    assert_string_equal(fault("01000000"), "switch: it cannot begin (errno 22)");
    fake.begin_error = 0;
    fake.lie = READS_MORE;
    assert_string_equal(fault(OPEN "02 0800 0100000005000000"), "switch: too much is read");
    fake.lie = WRITES_BEYOND;
    assert_string_equal(fault(OPEN "02 0800 0100000005000000"), "switch: too much is read");
    fake.lie = READS_OTHER;
    assert_string_equal(fault(OPEN "02 0800 0100000005000000"),
                        "switch: an octet is read that nobody has sent");
    assert_string_equal(fault(OPEN "001400 7777777777777777777777777777777777777777 "
                                   "02 0800 0100000005000000"),
                        "");
    fake.lie = SENDS_MORE;
    assert_string_equal(fault(OPEN "02 0800 0a0000000a000000"),
                        "switch: more is written than there is");
    assert_string_equal(fault(OPEN "02 0800 0a0000000b000000"), "");
}

static void modes(void **state)
{
    (void)state;
    play("", "begin 1 flags a ahead \n");
    play("01000000", "begin 1 flags 8 ahead \n");
    play("08000000", "begin 1 flags 2 ahead \n");
    play("f6e00000", "begin 1 flags a ahead \n");
    play("01010000", "begin 2 flags 8 ahead \n");
    play("01020000", "begin 1 flags 9 ahead \n");
    play("01040000", "begin 1 flags 8 ahead \n");
    play("01080000", "begin 1 flags c ahead \n");
    play("090b0000", "begin 2 flags 5 ahead \n");
}

static void octets_before_the_switch(void **state)
{
    (void)state;
    play("01110000 " REQUEST, "begin 2 flags 8 ahead \n");
    play("01110500 " REQUEST, "begin 2 flags 8 ahead 4d50412049\n");
    play("01111400 " REQUEST, "begin 2 flags 8 ahead 4d504120494420526571204672616d6540010000\n");
    play("01111500 " REQUEST, "begin 2 flags 8 ahead 4d504120494420526571204672616d6540010000\n");
    play("01010500 " REQUEST, "begin 2 flags 8 ahead \n"); /* none has been sent by then */
    play("01110500", "begin 2 flags 8 ahead \n");
}

static void posts(void **state)
{
    (void)state;
    play(OPEN
         "02 4800 0000000008000900 0007030809000700 0002010309000700 0003000109000800 "
         "0004000109000800 0005000109000800 0009000109000800 0001020009000800 00020f0000000000",
         IS_OPEN "post 0 id 9 flags 0 stag 11223344 to 9 pieces 2\n"
                 "post 7 id 7 flags 1 stag 1122334c to 7 pieces\n"
                 "post 2 id 7 flags 1 stag 11223347 to 7 pieces 2\n"
                 "post 3 id 8 flags 0 stag 11223345 to 8 pieces\n"
                 "post 4 id 8 flags 0 stag 11223345 to 8 pieces\n"
                 "post 5 id 8 flags 0 stag 11223345 to 8 pieces\n"
                 "post 1 id 8 flags 0 stag 11223345 to 8 pieces 2\n"
                 "post 1 id 8 flags 0 stag 11223344 to 8 pieces 2 2\n"
                 "post 2 id 0 flags 1 stag 11223344 to 0 pieces 0\n");
    play(OPEN "02 0800 000006000f000000", IS_OPEN "post 0 id 0 flags 0 stag 11223344 to 0 pieces "
                                                  "3 3 3 3\n");
}

static void memory(void **state)
{
    (void)state;
    play(OPEN "02 3000 0200000000000000 0201000000000000 020a000000000000 0203000000000000 "
              "0204000000000000 0205000000000000",
         IS_OPEN "advertise 0 256 rights 0 fails\n"
                 "advertise 0 256 rights 1 is 11223344\n"
                 "advertise 1000 256 rights 2 is 11223345\n"
                 "advertise 2000 256 rights 3 is 11223346\n"
                 "advertise 3000 256 rights 4 is 11223347\n");
    play(OPEN "02 3000 0201000000000000 0202000000000000 0400000100000000 0500000400000000 "
              "0400000200000000 0500000500000000",
         IS_OPEN "advertise 0 256 rights 1 is 11223344\n"
                 "advertise 1000 256 rights 2 is 11223345\n"
                 "withdraw 11223345\nwithdraw 11223344\nwithdraw 0\nwithdraw 11223345\n");
    /* None is left of the input before, and the STags begin anew. */
    play(OPEN "02 0800 0400000000000000", IS_OPEN "withdraw 0\n");
}

static void streams(void **state)
{
    (void)state;
    play(OPEN "02 1800 0100000005000000 0101000005000000 01020000ffff0000",
         IS_OPEN "receive 5 of 1 flags 0\nreceive 5 of 1 flags 2\n");
    play(OPEN "02 0800 0101000000ff0000", IS_OPEN "receive 8192 of 1 flags 2\n");
    play(OPEN "02 1000 0a00000007000000 0a000000ffff0000",
         IS_OPEN "send 3 4 of 2 flags 4000\nsend 32767 32768 of 2 flags 4000\n");
    play(OPEN "02 2000 0600000000000000 0605000000000000 0606000000000000 0607000000000000",
         IS_OPEN "shutdown 0\nshutdown 1\nshutdown 2\nshutdown 3\n");
    play(OPEN "02 0800 0700000000000000", IS_OPEN "terminate\nprivate 64\nwork event\nboth\n");
    play(OPEN "02 0000", IS_OPEN "post 0 id 0 flags 0 stag 11223344 to 0 pieces 0\n");
}

static void answers(void **state)
{
    (void)state;
    play("01030000 " REQUEST "02 1000 0801000046000000 0800000003000000",
         "begin 2 flags 9 ahead \nreject 6\n");
    play("01030000 " REQUEST "02 1000 0802000003000000 0800000003000000",
         "begin 2 flags 9 ahead \naccept 3\n");
    play("01010000 " REQUEST "02 0800 0800000003000000", "begin 2 flags 8 ahead \n");
    /* Of what the peer sends as side B the octets count as well. */
    play("01030000 011400 4d504120494420526571204672616d6540010000 02 0800 0800000000000000",
         "begin 2 flags 9 ahead \naccept 0\n");
}

/* Refused, the socket is TCP's: what is read is compared, and not by calls of the switch. */
static void refusals(void **state)
{
    (void)state;
    static const char refused[] = "01000000 001b00 4d504120494420526570204672616d65600100026e6f706c"
                                  "61696e ";
    char hex[300];
    play(refused, IS_OPEN);
    snprintf(hex, sizeof(hex), "%s 000300 6d6f72 02 1000 0100000005000000 0a00000003000000",
             refused);
    play(hex, IS_OPEN "send 1 2 of 2 flags 4000\n");
    snprintf(hex, sizeof(hex), "%s 02 0800 0600000000000000", refused);
    play(hex, IS_OPEN "shutdown 0\n"); /* there may be nothing left to read */
    snprintf(hex, sizeof(hex), "%s 060000", refused);
    play(hex, IS_OPEN);
    /* Octets that were read before the switch are not there again. */
    play("01100500 001b00 4d504120494420526570204672616d65600100026e6f706c61696e",
         "begin 1 flags 8 ahead 4d50412049\n");
}

static void ends_of_the_peer(void **state)
{
    (void)state;
    play(OPEN "050000 050000 02 0800 0a00000004000000", IS_OPEN "send 2 2 of 2 flags 4000\n");
    play(OPEN "060000 060000 050000 " REPLY "02 0800 0a00000004000000",
         IS_OPEN "send 2 2 of 2 flags 4000\n");
    play(OPEN "030200 ffff 040400 00006162 070000", IS_OPEN);
    assert_string_equal(iw_fuzz_harness.name, "switch");
    assert_int_equal(iw_fuzz_harness.most, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(faults, set_up),
        cmocka_unit_test_setup(modes, set_up),
        cmocka_unit_test_setup(octets_before_the_switch, set_up),
        cmocka_unit_test_setup(posts, set_up),
        cmocka_unit_test_setup(memory, set_up),
        cmocka_unit_test_setup(streams, set_up),
        cmocka_unit_test_setup(answers, set_up),
        cmocka_unit_test_setup(refusals, set_up),
        cmocka_unit_test_setup(ends_of_the_peer, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
