/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg resolve and claim: what they ask the resolver, and what they say. */
#include "message_said.h"
#include "message_stage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/signalfd.h>

enum { MS = 1000000 };

/* ---- doubles ---- */

static uint64_t now;
static uint64_t ask_takes; /* ns of an iw_resolver_find() that waits */
static unsigned zeros;     /* so many random numbers are 0 */
static int random_fails;
static int signals_fail, signal_pipe[2];

uint64_t __wrap_iw_transport_now(void);
ssize_t __wrap_getrandom(void *octets, size_t length, unsigned flags);
int __wrap_iw_standard_signals(int more);

uint64_t __wrap_iw_transport_now(void)
{
    return now;
}

ssize_t __wrap_getrandom(void *octets, size_t length, unsigned flags)
{
    (void)flags;
    memset(octets, zeros > 0 ? 0 : 0x5c, length);
    zeros -= zeros > 0;
    errno = ENOSYS;
    return random_fails ? -1 : (ssize_t)length;
}

/* A pipe that a signal lies in. */
int __wrap_iw_standard_signals(int more)
{
    assert_int_equal(more, SIGTERM);
    errno = EMFILE;
    return signals_fail ? -1 : dup(signal_pipe[0]);
}

static void spend(const struct stage_question *question)
{
    if (question->timeout > 0)
        now += ask_takes;
}

static int begin(void **state)
{
    stage_begin(state);
    stage.on_find = spend;
    settings = (struct msg_settings){0};
    now = 5 * (uint64_t)MS;
    ask_takes = 0;
    zeros = 0;
    random_fails = signals_fail = 0;
    assert_int_equal(pipe(signal_pipe), 0);
    return 0;
}

static int end(void **state)
{
    close(signal_pipe[0]);
    close(signal_pipe[1]);
    return catch_no_more(state) | stage_end(state);
}

static void answers(uint32_t number, uint16_t port, uint64_t instance)
{
    stage.claimants[stage.claimant_count++] = (struct stage_claimant){number, port, instance};
}

/* ---- resolve ---- */

static void one(void **state)
{
    (void)state;
    answers(7, 4000, 0x1f);
    assert_int_equal(RUN(msg_resolve_run, "7"), 0);
    assert_string_equal(said, "7 at 192.0.2.1:4000, instance 000000000000001f\n");
    assert_string_equal(complaints, "");
    assert_int_equal(stage.find_count, 2);
    assert_int_equal(stage.finds[0].timeout, 0);
    assert_int_equal(stage.finds[1].number, 7);
    assert_int_equal(stage.finds[1].timeout, 1000); /* the default */
    assert_int_equal(stage.catches_interrupt, 1);
}

/* All are asked for before the first is waited for; they share the time. */
static void several(void **state)
{
    (void)state;
    settings.resolve.wait = 300;
    ask_takes = 100 * MS + 1;
    answers(8, 4001, 2);
    answers(11, 4002, 3);
    assert_int_equal(RUN(msg_resolve_run, "8-11"), 3);
    assert_string_equal(said, "8 at 192.0.2.1:4001, instance 0000000000000002\n"
                              "11 at 192.0.2.1:4002, instance 0000000000000003\n"
                              "2 of 4 numbers found in 0.300 s\n");
    complains("9: nobody answers in 300 ms\n");
    complains("10: nobody answers in 300 ms\n");
    assert_int_equal(stage.find_count, 8);
    static const int timeouts[] = {0, 0, 0, 0, 300, 200, 100, 0};
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(stage.finds[i].number, 8 + i % 4);
        assert_int_equal(stage.finds[i].timeout, timeouts[i]);
    }
}

/* 256 at a time; the time of the next ones begins later. */
static void a_window(void **state)
{
    (void)state;
    settings.resolve.wait = 10;
    assert_int_equal(RUN(msg_resolve_run, "1-258"), 3);
    assert_int_equal(stage.find_count, 2 * 258);
    for (unsigned i = 0; i < 258; i++) {
        const unsigned at = i < 256 ? i : 512 + (i - 256);
        assert_int_equal(stage.finds[at].number, i + 1);
        assert_int_equal(stage.finds[at].timeout, 0);
        assert_int_equal(stage.finds[at + (i < 256 ? 256 : 2)].number, i + 1);
        assert_int_equal(stage.finds[at + (i < 256 ? 256 : 2)].timeout, 10);
    }
    assert_string_equal(said, "0 of 258 numbers found in 0.000 s\n");
}

static void as_json(void **state)
{
    (void)state;
    settings.resolve.json = true;
    answers(8, 4001, 0xabcdef0123456789);
    now = 0;
    ask_takes = 500 * MS;
    assert_int_equal(RUN(msg_resolve_run, "8"), 0);
    assert_string_equal(said,
                        "{\"type\":\"service\",\"number\":8,\"at\":\"192.0.2.1:4001\",\"instance\":"
                        "\"abcdef0123456789\"}\n{\"type\":\"total\",\"numbers\":1,\"found\":1,"
                        "\"contested\":0,\"seconds\":0.5}\n");
}

static void all_of_them(void **state)
{
    (void)state;
    settings.resolve.all = true;
    settings.resolve.wait = 40;
    answers(8, 4001, 1);
    answers(9, 4002, 2);
    answers(8, 4003, 3);
    assert_int_equal(RUN(msg_resolve_run, "8", "9"), 1);
    assert_string_equal(said, "8 at 192.0.2.1:4001, instance 0000000000000001\n"
                              "8 at 192.0.2.1:4003, instance 0000000000000003\n"
                              "9 at 192.0.2.1:4002, instance 0000000000000002\n"
                              "2 of 2 numbers found in 0.000 s\n");
    complains("8: 2 processes answer, expected one\n");
    assert_null(strstr(complaints, "9:"));
    assert_int_equal(stage.find_count, 0);
    assert_int_equal(stage.list_count, 2);
    assert_int_equal(stage.lists[0].number, 8);
    assert_int_equal(stage.lists[1].number, 9);
    assert_int_equal(stage.lists[1].timeout, 40);
}

static void all_of_none(void **state)
{
    (void)state;
    settings.resolve.all = settings.resolve.json = true;
    settings.resolve.wait = 40;
    answers(9, 4002, 2);
    assert_int_equal(RUN(msg_resolve_run, "8", "9"), 3);
    complains("8: nobody answers in 40 ms\n");
    assert_null(strstr(complaints, "9:"));
    assert_non_null(strstr(said, "\"numbers\":2,\"found\":1,\"contested\":0,"));
    stage.find_errno = ENOBUFS;
    assert_int_equal(RUN(msg_resolve_run, "8"), 3);
    complains("8: cannot ask: No buffer space available\n");
}

static void no_question(void **state)
{
    (void)state;
    stage.find_errno = ENOBUFS;
    assert_int_equal(RUN(msg_resolve_run, "8"), 3);
    complains("8: cannot ask: No buffer space available\n");
    assert_string_equal(said, "");
    stage.resolver_errno = ENODEV;
    assert_int_equal(RUN(msg_resolve_run, "8"), 64);
    complains("no resolver\n");
    stage.resolver_errno = EINVAL;
    assert_int_equal(RUN(msg_resolve_run, "8"), 64);
    stage.resolver_errno = EMFILE;
    assert_int_equal(RUN(msg_resolve_run, "8"), 69);
    assert_int_equal(RUN(msg_resolve_run, "8", "x"), 64);
}

static void interrupt(const struct stage_question *question)
{
    if (question->number == 9 && question->timeout > 0)
        stage.ended = SIGINT;
}

static void an_interrupt(void **state)
{
    (void)state;
    stage.on_find = interrupt;
    answers(8, 4001, 1);
    assert_int_equal(RUN(msg_resolve_run, "8-10", "20"), 130);
    assert_int_equal(stage.find_count, 4 + 2);
    assert_non_null(strstr(said, "1 of 4 numbers found"));
    settings.resolve.all = true;
    assert_int_equal(RUN(msg_resolve_run, "8"), 130); /* at once */
    assert_int_equal(stage.list_count, 0);
}

/* ---- claim ---- */

static void give_signal(int number)
{
    const struct signalfd_siginfo info = {.ssi_signo = (uint32_t)number};
    assert_int_equal(write(signal_pipe[1], &info, sizeof(info)), sizeof(info));
}

static void claimed(void **state)
{
    (void)state;
    zeros = 2;
    settings.resolve.wait = 70;
    give_signal(SIGTERM);
    const unsigned before = descriptors();
    assert_int_equal(RUN(msg_claim_run, "192.0.2.9:5000", "7", "9-10"), 0);
    assert_string_equal(said, "claimed 3 numbers at 192.0.2.9:5000\n");
    assert_int_equal(stage.claimed_count, 3);
    assert_int_equal(stage.claimed[0], 7);
    assert_int_equal(stage.claimed[2], 10);
    const struct sockaddr_in *at = (const struct sockaddr_in *)&stage.claimed_at;
    assert_int_equal(at->sin_family, AF_INET);
    assert_int_equal(ntohs(at->sin_port), 5000);
    assert_int_equal(ntohl(at->sin_addr.s_addr), 0xc0000209);
    assert_int_equal(stage.claimed_by, 0x5c5c5c5c5c5c5c5c);
    assert_int_equal(stage.asked.claim_ms, 70);
    assert_int_equal(descriptors(), before);
    give_signal(SIGINT);
    assert_int_equal(RUN(msg_claim_run, "192.0.2.9:5000", "7"), 130);
    assert_string_equal(said, "claimed 1 number at 192.0.2.9:5000\n");
}

/* The resolver reports an intruder; what else it notices is not this program's affair. */
static void an_intruder(void **state)
{
    (void)state;
    give_signal(SIGTERM);
    assert_int_equal(RUN(msg_claim_run, "192.0.2.9:5000", "7"), 0);
    assert_non_null(stage.asked.notice);
    catch_from(STDERR_FILENO);
    stage.asked.notice(NULL, 1, IW_RESOLVER_FOUND);
    stage.asked.notice(NULL, 2, IW_RESOLVER_CONTESTED);
    stage.asked.notice(NULL, 3, IW_RESOLVER_INTRUDER);
    const char *text = caught();
    assert_non_null(strstr(text, "3: another process answers for it, too\n"));
    assert_null(strstr(text, "1:"));
    assert_null(strstr(text, "2:"));
}

static void refused(void **state)
{
    (void)state;
    stage.claim_refused = 9;
    stage.claim_errno = EADDRINUSE;
    assert_int_equal(RUN(msg_claim_run, "192.0.2.9:5000", "7-9"), 1);
    complains("9: another process has it\n");
    stage.claim_errno = EBUSY;
    assert_int_equal(RUN(msg_claim_run, "192.0.2.9:5000", "7-9"), 69);
    complains("9: cannot claim it: Device or resource busy\n");
    assert_string_equal(said, "");
    random_fails = 1;
    assert_int_equal(RUN(msg_claim_run, "192.0.2.9:5000", "7"), 70);
    complains("no randomness: Function not implemented\n");
    signals_fail = 1;
    assert_int_equal(RUN(msg_claim_run, "192.0.2.9:5000", "7"), 70);
    complains("no signals: Too many open files\n");
    signals_fail = 0;
    stage.resolver_errno = EMFILE;
    assert_int_equal(RUN(msg_claim_run, "192.0.2.9:5000", "7"), 69);
}

static void bad_operands(void **state)
{
    (void)state;
    assert_int_equal(RUN(msg_claim_run, "192.0.2.9:0", "7"), 64);
    complains("192.0.2.9:0: expected the port of the service, 1 to 65535\n");
    assert_int_equal(RUN(msg_claim_run, "192.0.2.9:x", "7"), 64);
    complains("192.0.2.9:x");
    assert_int_equal(RUN(msg_claim_run, "192.0.2.9:1", "x"), 64);
    complains("x: expected the number of a service");
    assert_int_equal(RUN(msg_claim_run, "no.such.host.invalid:1", "7"), 64);
    complains("no.such.host.invalid");
    assert_int_equal(stage.resolver_opened, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one, begin, end),
        cmocka_unit_test_setup_teardown(several, begin, end),
        cmocka_unit_test_setup_teardown(a_window, begin, end),
        cmocka_unit_test_setup_teardown(as_json, begin, end),
        cmocka_unit_test_setup_teardown(all_of_them, begin, end),
        cmocka_unit_test_setup_teardown(all_of_none, begin, end),
        cmocka_unit_test_setup_teardown(no_question, begin, end),
        cmocka_unit_test_setup_teardown(an_interrupt, begin, end),
        cmocka_unit_test_setup_teardown(claimed, begin, end),
        cmocka_unit_test_setup_teardown(an_intruder, begin, end),
        cmocka_unit_test_setup_teardown(refused, begin, end),
        cmocka_unit_test_setup_teardown(bad_operands, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
