/* SPDX-License-Identifier: BSD-3-Clause */
/* The dialogue of ping and get: what it waits for, and how it learns that nobody answers. */
#include "message_stage.h"
#include "msg_command.h"
#include "msg_talk.h"

#include <errno.h>
#include <signal.h>
#include <sys/random.h>

#include "../caught.h"

static int random_fails;

ssize_t __wrap_getrandom(void *octets, size_t length, unsigned flags);

ssize_t __wrap_getrandom(void *octets, size_t length, unsigned flags)
{
    assert_int_equal(flags, 0);
    assert_int_equal(length, 8);
    memset(octets, 0x5c, length);
    errno = ENOSYS;
    return random_fails ? -1 : (ssize_t)length;
}

static struct msg_settings settings;
static struct msg_talk talk;
static const uint8_t echo[9] = {'p', 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c};

static int begin(void **state)
{
    stage_begin(state);
    stage.signal = SIGINT;
    stage.idle_most = 100;
    random_fails = 0;
    settings = (struct msg_settings){0};
    assert_int_equal(msg_talk_open(&settings, 7, &talk), -1);
    return 0;
}

static int end(void **state)
{
    msg_talk_close(&talk);
    return catch_no_more(state) | stage_end(state);
}

/* Waits for an answer. Returns the status; `line` is what it has to complain, or NULL. */
static int await(struct iw_message *got, const char *line)
{
    catch_from(STDERR_FILENO);
    const int status = msg_talk_await(&talk, got);
    const char *text = caught();
    if (line == NULL)
        assert_string_equal(text, "");
    else if (strstr(text, line) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", line, text);
    return status;
}

static void expect_answer(const char *text)
{
    struct iw_message got;
    assert_int_equal(await(&got, NULL), -1);
    assert_int_equal(got.kind, IW_MESSAGES_MESSAGE);
    assert_int_equal(got.length, strlen(text));
    assert_memory_equal(got.data, text, got.length);
    iw_messages_free(talk.m, got.data);
}

/* ---- opening ---- */

static void opened(void **state)
{
    (void)state;
    assert_int_equal(stage.service, 0); /* any number */
    assert_int_equal(talk.to, 7);
    assert_int_equal(talk.tcp.fd, -1);
    assert_memory_equal(talk.echo, echo, sizeof(echo));
}

static void cannot_open(void **state)
{
    (void)state;
    struct msg_talk other;
    catch_from(STDERR_FILENO);
    stage.service_errno = ENOMEM;
    assert_int_equal(msg_talk_open(&settings, 7, &other), 69);
    assert_int_equal(stage.closed, 1);
    stage.service_errno = EADDRINUSE;
    assert_int_equal(msg_talk_open(&settings, 7, &other), 1);
    stage.service_errno = 0;
    settings.exchange.tcp = "not a place";
    assert_int_equal(msg_talk_open(&settings, 7, &other), 64);
    assert_int_equal(stage.closed, 3);
    stage.open_errno = ENODEV;
    assert_int_equal(msg_talk_open(&settings, 7, &other), 69);
    random_fails = 1;
    assert_int_equal(msg_talk_open(&settings, 7, &other), 70);
    assert_int_equal(stage.closed, 3);
    const char *text = caught();
    static const char *const lines[] = {
        "0: Cannot allocate memory\n", "0: another process has it\n",
        "--tcp: ", "it does not open (without one: iwarp-run iwarp-msg ...)\n",
        "no randomness: Function not implemented\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        text = strstr(text, lines[i]);
        assert_non_null(text);
        text += strlen(lines[i]);
    }
}

/* ---- waiting ---- */

static void an_answer(void **state)
{
    (void)state;
    stage_message(8, "of another", 10);
    stage_message(7, "the answer", 10);
    expect_answer("the answer");
    assert_int_equal(stage.freed, 2); /* that of another, too */
    for (unsigned i = 0; i < stage.receives; i++)
        assert_int_equal(stage.timeouts[i], 200);
    assert_int_equal(stage.sent_count, 0);
}

static void send_to_come(const struct stage_sent *sent)
{
    (void)sent;
    stage_message(7, "late", 4);
    stage_message(7, echo, sizeof(echo));
    stage_message(7, "next", 4);
}

/* After a second of silence it asks for an echo, once. One that comes after the answer does not
 * count. */
static void a_late_answer(void **state)
{
    (void)state;
    stage.on_send = send_to_come;
    expect_answer("late");
    assert_int_equal(stage.receives, 6);
    assert_int_equal(stage.sent_count, 1);
    stage_check_sent(0, 7, IW_MESSAGES_NOWAIT, 1, echo, sizeof(echo));
    assert_int_equal(talk.late, 1);
    expect_answer("next");
    assert_int_equal(talk.late, 0);
    assert_int_equal(stage.buffers, 0);
    stage.on_send = NULL;
    stage_message(7, "quick", 5);
    expect_answer("quick"); /* it had not asked again */
    assert_int_equal(talk.late, 0);
    assert_int_equal(stage.sent_count, 1);
}

static void send_echo(const struct stage_sent *sent)
{
    stage_message(7, sent->octets, sent->length);
}

/* An echo without an answer: another process has the number now. */
static void an_echo_alone(void **state)
{
    (void)state;
    struct iw_message got;
    stage.on_send = send_echo;
    assert_int_equal(await(&got, "7: its process is gone, no answer came\n"), 1);
    assert_int_equal(stage.sent_count, 1);
    assert_int_equal(stage.buffers, 0);
}

/* What only resembles an echo is an answer. */
static void like_an_echo(void **state)
{
    (void)state;
    struct iw_message got;
    uint8_t other[10] = {0};
    memcpy(other, echo, sizeof(echo));
    stage_message(7, other, 10);
    other[8] ^= 1;
    stage_message(7, other, 9);
    stage_message(7, echo, 8);
    static const size_t lengths[] = {10, 9, 8};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(await(&got, NULL), -1);
        assert_int_equal(got.length, lengths[i]);
        iw_messages_free(talk.m, got.data);
    }
}

static void report_echo(const struct stage_sent *sent)
{
    stage_report(IW_MESSAGES_UNDELIVERED, 7, sent->tag, ECONNRESET);
}

static void an_echo_undelivered(void **state)
{
    (void)state;
    struct iw_message got;
    stage.on_send = report_echo;
    assert_int_equal(await(&got, "7: its process is gone, no answer came\n"), 1);
}

static void undelivered(void **state)
{
    (void)state;
    struct iw_message got;
    stage_report(IW_MESSAGES_UNDELIVERED, 7, 0, EHOSTUNREACH);
    assert_int_equal(await(&got, "7: nobody was found who has it\n"), 3);
    stage_report(IW_MESSAGES_UNDELIVERED, 7, 0, ECONNRESET);
    assert_int_equal(await(&got, "7: not delivered: its process is gone\n"), 1);
    stage_report(IW_MESSAGES_UNDELIVERED, 7, 0, EMSGSIZE);
    assert_int_equal(await(&got, "7: not delivered: Message too long\n"), 1);
}

/* Asks again if the question could not be sent; goes on as long as nothing says no. */
static void silence(void **state)
{
    (void)state;
    struct iw_message got;
    stage.sends_left = 0;
    stage.send_errno = EAGAIN;
    stage.idle_most = 4;
    assert_int_equal(await(&got, NULL), 130);
    assert_false(talk.asks);
    assert_int_equal(stage.receives, 5); /* a second */
    stage.ended = 0;
    stage.idle_most = 9;
    stage.sends_left = STAGE_FOREVER;
    assert_int_equal(await(&got, NULL), 130);
    assert_int_equal(stage.sent_count, 1);
    assert_true(talk.asks);
    assert_int_equal(await(&got, NULL), 130); /* at once */
    assert_int_equal(stage.receives, 10);
    talk.asks = false;
}

static void a_broken_end(void **state)
{
    (void)state;
    struct iw_message got;
    stage.receive_errno = ESHUTDOWN;
    assert_int_equal(await(&got, "receive: Cannot send after transport endpoint shutdown\n"), 70);
}

/* ---- questions ---- */

static void sending(void **state)
{
    (void)state;
    char question[] = "question";
    assert_int_equal(msg_talk_send(&talk, question, 8, IW_MESSAGES_NOWAIT), -1);
    stage_check_sent(0, 7, IW_MESSAGES_NOWAIT, 0, "question", 8);
    stage.sends_left = 0;
    stage.send_errno = EMSGSIZE;
    catch_from(STDERR_FILENO);
    const int status = msg_talk_send(&talk, question, 8, 0);
    assert_non_null(strstr(caught(), "send: Message too long\n"));
    assert_int_equal(status, 70);
}

static void processor_time(void **state)
{
    (void)state;
    uint64_t ns = 0;
    stage_message(7, "c\0\0\0\1\0\0\0\2", 9);
    assert_int_equal(msg_talk_cpu(&talk, &ns), -1);
    assert_int_equal(ns, 0x100000002);
    stage_check_sent(0, 7, 0, 0, "c", 1);
    static const struct {
        const char *octets;
        size_t length;
    } wrong[] = {{"c\0\0\0\0\0\0\0\2", 8}, {"c\0\0\0\0\0\0\0\2", 10}, {"f\0\0\0\0\0\0\0\2", 9}};
    for (unsigned i = 0; i < 3; i++) {
        stage_message(7, wrong[i].octets, wrong[i].length);
        catch_from(STDERR_FILENO);
        const int status = msg_talk_cpu(&talk, &ns);
        assert_non_null(strstr(caught(), "7: answers with something else\n"));
        assert_int_equal(status, 1);
        assert_int_equal(ns, 0x100000002);
        assert_int_equal(stage.buffers, 0);
    }
    stage.ended = SIGINT;
    assert_int_equal(msg_talk_cpu(&talk, &ns), 130);
    catch_from(STDERR_FILENO);
    stage.sends_left = 0;
    assert_int_equal(msg_talk_cpu(&talk, &ns), 70);
    (void)caught();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(opened, begin, end),
        cmocka_unit_test_setup_teardown(cannot_open, begin, end),
        cmocka_unit_test_setup_teardown(an_answer, begin, end),
        cmocka_unit_test_setup_teardown(a_late_answer, begin, end),
        cmocka_unit_test_setup_teardown(an_echo_alone, begin, end),
        cmocka_unit_test_setup_teardown(like_an_echo, begin, end),
        cmocka_unit_test_setup_teardown(an_echo_undelivered, begin, end),
        cmocka_unit_test_setup_teardown(undelivered, begin, end),
        cmocka_unit_test_setup_teardown(silence, begin, end),
        cmocka_unit_test_setup_teardown(a_broken_end, begin, end),
        cmocka_unit_test_setup_teardown(sending, begin, end),
        cmocka_unit_test_setup_teardown(processor_time, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
