/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg serve: what it answers by messages, and how long it waits for the next one. */
#include "message_said.h"
#include "message_stage.h"
#include "msg_serve_tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

enum {
    MIB = 1 << 20,
    ANSWER = IW_MESSAGES_NOWAIT,
    BACK = IW_MESSAGES_GIVE | IW_MESSAGES_NOWAIT,
    PART = IW_MESSAGES_GIVE | IW_MESSAGES_NOWAIT | IW_MESSAGES_NOTIFY
};

/* ---- doubles: plain TCP, the clock of processor time, a pause ---- */

static int tcp_status;                        /* of opening; -1: it opens */
static unsigned tcp_opened, tcp_closed, busy; /* so often */
static const char *tcp_where;
static int tcp_folder;
static long slept;

int __wrap_msg_serve_tcp_open(const char *where, int folder, struct msg_serve_tcp **out,
                              struct sockaddr_storage *at);
bool __wrap_msg_serve_tcp_busy(const struct msg_serve_tcp *t);
void __wrap_msg_serve_tcp_close(struct msg_serve_tcp *t);
uint64_t __wrap_iw_clock_cpu(void);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);

static struct msg_serve_tcp *const the_tcp = (struct msg_serve_tcp *)&busy;

int __wrap_msg_serve_tcp_open(const char *where, int folder, struct msg_serve_tcp **out,
                              struct sockaddr_storage *at)
{
    const struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(99), .sin_addr.s_addr = htonl(0xc0000205)};
    tcp_where = where;
    tcp_folder = folder;
    if (tcp_status >= 0)
        return tcp_status;
    memcpy(at, &in, sizeof(in));
    *out = the_tcp;
    tcp_opened++;
    return -1;
}

bool __wrap_msg_serve_tcp_busy(const struct msg_serve_tcp *t)
{
    assert_ptr_equal(t, the_tcp);
    return busy > 0 && busy-- > 0;
}

void __wrap_msg_serve_tcp_close(struct msg_serve_tcp *t)
{
    tcp_closed += t == the_tcp;
}

uint64_t __wrap_iw_clock_cpu(void)
{
    return 0x0102030405060708;
}

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    assert_int_equal(wanted->tv_sec, 0);
    slept += wanted->tv_nsec;
    return 0;
}

/* ---- a server ---- */

static char folder[] = "serve.XXXXXX";

static void write_file(const char *name, const char *octets, size_t length)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, octets, length), length);
    close(fd);
}

static int begin(void **state)
{
    stage_begin(state);
    settings = (struct msg_settings){0};
    strcpy(folder, "serve.XXXXXX");
    assert_non_null(mkdtemp(folder));
    write_file("a", "twelve chars", 12);
    tcp_status = -1;
    tcp_opened = tcp_closed = busy = 0;
    slept = 0;
    return 0;
}

static int end(void **state)
{
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(tcp_opened, tcp_closed);
    return catch_no_more(state) | stage_end(state);
}

/* Serves what is to come, until SIGTERM. */
static int serve_number(const char *number, const char *files)
{
    char *const operands[] = {(char *)(uintptr_t)number, (char *)(uintptr_t)files};
    return run(msg_serve_run, files != NULL ? 2 : 1, operands);
}

/* ---- questions ---- */

static void pings(void **state)
{
    (void)state;
    stage_message(5, "p and more", 10);
    stage_message(6, "p", 1);
    assert_int_equal(serve_number("7", NULL), 0);
    assert_string_equal(said, "serving 7 at 192.0.2.7:4711\n");
    assert_string_equal(complaints, "");
    assert_int_equal(stage.service, 7);
    assert_int_equal(stage.sent_count, 2);
    stage_check_sent(0, 5, BACK, 0, "p and more", 10);
    stage_check_sent(1, 6, BACK, 0, "p", 1);
    assert_int_equal(stage.gets, 0); /* the buffer itself goes back */
    assert_int_equal(stage.freed, 0);
    assert_int_equal(stage.left, 0);
    assert_int_equal(stage.catches_end, 1);
    for (unsigned i = 0; i < stage.receives; i++)
        assert_int_equal(stage.timeouts[i], 200);
}

static void a_ping_too_many(void **state)
{
    (void)state;
    stage.sends_left = 0;
    stage.send_errno = EAGAIN;
    stage_message(5, "p", 1);
    assert_int_equal(serve_number("7", NULL), 0);
    assert_int_equal(stage.freed, 1);
    assert_int_equal(stage.left, 0);
}

static void others(void **state)
{
    (void)state;
    stage_message(5, "c", 1);
    stage_message(5, "cpu?", 4);
    stage_message(5, "", 0);
    stage_message(5, "x", 1);
    stage_message(5, "f\0\0\0\0\0\0\0\1", 9);
    assert_int_equal(serve_number("7", NULL), 0);
    assert_int_equal(stage.sent_count, 2);
    stage_check_sent(0, 5, ANSWER, 0, "c\1\2\3\4\5\6\7\x8", 9);
    stage_check_sent(1, 5, ANSWER, 0, "c\1\2\3\4\5\6\7\x8", 9);
    assert_int_equal(stage.freed, 5);
    assert_int_equal(stage.left, 0);
}

static void files(void **state)
{
    (void)state;
    stage_message(5, "ga", 2);
    stage_message(6, "gb", 2);
    stage_message(6, "g", 1);
    assert_int_equal(serve_number("7", folder), 0);
    assert_int_equal(stage.sent_count, 4);
    stage_check_sent(0, 5, ANSWER, 0, "f\0\0\0\0\0\0\0\xc", 9);
    stage_check_sent(1, 5, PART, 1, "twelve chars", 12);
    stage_check_sent(2, 6, ANSWER, 0, "eb: No such file or directory", 29);
    stage_check_sent(3, 6, ANSWER, 0, "e: not below the folder", 23);
    assert_int_equal(stage.freed, 3);
    assert_int_equal(stage.left, 0);
}

static void no_files(void **state)
{
    (void)state;
    stage_message(5, "ga", 2);
    assert_int_equal(serve_number("7", NULL), 0);
    assert_int_equal(stage.sent_count, 1);
    stage_check_sent(0, 5, ANSWER, 0, "ea: no files are served", 23);
}

/* The longest path has 1,023 octets; what is longer is not heard. */
static void long_paths(void **state)
{
    (void)state;
    char question[MSG_PATH + 1], answer[MSG_PATH + 40];
    memset(question, 'y', sizeof(question));
    question[0] = 'g';
    stage_message(5, question, MSG_PATH);
    stage_message(5, question, MSG_PATH + 1);
    assert_int_equal(serve_number("7", NULL), 0);
    assert_int_equal(stage.sent_count, 1);
    snprintf(answer, sizeof(answer), "e%.*s: no files are served", MSG_PATH - 1, question + 1);
    stage_check_sent(0, 5, ANSWER, 0, answer, strlen(answer));
    assert_int_equal(stage.freed, 2);
}

/* A file of five MiB: its fifth part goes when a part was taken; a report of nothing is ignored. */
static void parts(void **state)
{
    (void)state;
    static char octets[5 * MIB];
    memset(octets + 4 * MIB, '5', MIB);
    write_file("long", octets, sizeof(octets));
    stage_message(5, "glong", 5);
    stage_report(IW_MESSAGES_DELIVERED, 5, 77, 0);
    stage_report(IW_MESSAGES_DELIVERED, 5, 1, 0);
    assert_int_equal(serve_number("7", folder), 0);
    assert_int_equal(stage.sent_count, 6);
    stage_check_sent(0, 5, ANSWER, 0, "f\0\0\0\0\0\x50\0\0", 9);
    stage_check_sent(5, 5, PART, 1, octets + 4 * MIB, MIB);
    assert_int_equal(stage.left, 0);
}

static void shorten(const struct stage_sent *sent)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/long", folder);
    if (sent->flags == PART)
        assert_int_equal(truncate(path, 4 * MIB), 0);
}

static void a_file_that_became_shorter(void **state)
{
    (void)state;
    static char octets[5 * MIB];
    write_file("long", octets, sizeof(octets));
    stage.on_send = shorten;
    stage_message(5, "glong", 5);
    stage_report(IW_MESSAGES_DELIVERED, 5, 1, 0);
    assert_int_equal(serve_number("7", folder), 0);
    assert_int_equal(stage.sent_count, 6);
    static const char why[] = "ethe file: cannot be read, or has become shorter";
    stage_check_sent(5, 5, ANSWER, 0, why, sizeof(why) - 1);
}

/* ---- how long it waits ---- */

static void patience(void **state)
{
    (void)state;
    settings.exchange.tcp = "192.0.2.5:99";
    stage.idle_most = 3;
    assert_int_equal(serve_number("7", folder), 0);
    assert_string_equal(said, "plain TCP at 192.0.2.5:99\nserving 7 at 192.0.2.7:4711\n");
    assert_string_equal(tcp_where, "192.0.2.5:99");
    assert_true(tcp_folder >= 0);
    assert_int_equal(stage.receives, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(stage.timeouts[i], 200);
    settings.place.polls = true; /* one that polls gives way to plain TCP */
    busy = 2;
    stage.ended = 0;
    stage.idle = 0;
    assert_int_equal(serve_number("7", folder), 0);
    assert_int_equal(stage.config.spin_us, IW_MESSAGES_POLL);
    static const int timeouts[] = {0, 0, 1, 1};
    assert_memory_equal(stage.timeouts + 4, timeouts, sizeof(timeouts));
    assert_int_equal(slept, 2 * 250000);
    settings.exchange.tcp = NULL;
    stage.ended = 0;
    stage.idle = 0;
    assert_int_equal(serve_number("7", folder), 0);
    assert_int_equal(stage.timeouts[8], 200);
    assert_int_equal(tcp_opened, 2);
}

/* ---- its end ---- */

static void ends(void **state)
{
    (void)state;
    const unsigned before = descriptors();
    stage.signal = SIGINT;
    assert_int_equal(serve_number("7", folder), 130);
    stage.ended = 0;
    stage.receive_errno = ESHUTDOWN;
    assert_int_equal(serve_number("7", folder), 70);
    complains("receive: Cannot send after transport endpoint shutdown\n");
    stage.ended = 0;
    settings.exchange.tcp = "192.0.2.5:99";
    tcp_status = 69;
    assert_int_equal(serve_number("7", folder), 69);
    assert_string_equal(said, "");
    stage.service_errno = EADDRINUSE;
    assert_int_equal(serve_number("7", folder), 1);
    complains("7: another process has it\n");
    stage.open_errno = EADDRINUSE;
    assert_int_equal(serve_number("7", folder), 69);
    complains("it does not open\n");
    assert_int_equal(serve_number("7", "/nowhere"), 64);
    complains("/nowhere: No such file or directory\n");
    assert_int_equal(serve_number("7-8", folder), 64);
    complains("7-8: expected one number\n");
    assert_int_equal(serve_number("x", folder), 64);
    assert_int_equal(descriptors(), before);
    assert_int_equal(stage.opened, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pings, begin, end),
        cmocka_unit_test_setup_teardown(a_ping_too_many, begin, end),
        cmocka_unit_test_setup_teardown(others, begin, end),
        cmocka_unit_test_setup_teardown(files, begin, end),
        cmocka_unit_test_setup_teardown(no_files, begin, end),
        cmocka_unit_test_setup_teardown(long_paths, begin, end),
        cmocka_unit_test_setup_teardown(parts, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_became_shorter, begin, end),
        cmocka_unit_test_setup_teardown(patience, begin, end),
        cmocka_unit_test_setup_teardown(ends, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
