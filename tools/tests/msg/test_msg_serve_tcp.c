/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-msg serve answers over plain TCP, one connection after the other. */
#include "message_stage.h"
#include "msg_exchange.h"
#include "msg_serve_tcp.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "../caught.h"

enum { MIB = 1 << 20 };

static atomic_uint_least64_t now;
static atomic_uint looks; /* of the server */
static pthread_t tester;

uint64_t __wrap_iw_transport_now(void);
uint64_t __wrap_iw_clock_cpu(void);

uint64_t __wrap_iw_transport_now(void)
{
    const uint64_t seen = now;
    looks += !pthread_equal(pthread_self(), tester);
    return seen;
}

uint64_t __wrap_iw_clock_cpu(void)
{
    return 0x0102030405060708;
}

/* ---- a server, and a connection to it ---- */

static char path[] = "tcp.XXXXXX";
static int folder, line;
static struct msg_serve_tcp *server;
static struct sockaddr_storage at;

static void write_file(const char *name, const void *octets, size_t length)
{
    const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, octets, length), length);
    close(fd);
}

static int connected(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(struct sockaddr_in)), 0);
    return fd;
}

static int begin(void **state)
{
    stage_begin(state);
    strcpy(path, "tcp.XXXXXX");
    assert_non_null(mkdtemp(path));
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    now = 5000000;
    looks = 0;
    tester = pthread_self();
    assert_int_equal(msg_serve_tcp_open("127.0.0.1:0", folder, &server, &at), -1);
    line = connected();
    return 0;
}

static int end(void **state)
{
    char command[100];
    msg_serve_tcp_close(server); /* with a connection or without */
    close(line);
    close(folder);
    snprintf(command, sizeof(command), "rm -rf %s", path);
    assert_int_equal(system(command), 0);
    return catch_no_more(state) | stage_end(state);
}

static void ask(int fd, const void *octets, size_t length)
{
    assert_int_equal(send(fd, octets, length, MSG_NOSIGNAL), length);
}

#define ASK(octets) ask(line, octets, sizeof(octets) - 1)

static void take(int fd, void *octets, size_t length)
{
    assert_int_equal(recv(fd, octets, length, MSG_WAITALL), length);
}

static void expect(int fd, const void *octets, size_t length)
{
    uint8_t got[4096];
    assert_true(length <= sizeof(got));
    take(fd, got, length);
    assert_memory_equal(got, octets, length);
}

#define EXPECT(octets) expect(line, octets, sizeof(octets) - 1)

/* The server closes it; what it has not read resets it. */
static void expect_end(int fd)
{
    char octet;
    assert_true(recv(fd, &octet, 1, 0) <= 0);
}

/* ---- answers ---- */

static void pings(void **state)
{
    (void)state;
    ASK("\0\0\0\0\0\0\0\5ping!");
    EXPECT("\0\0\0\0\0\0\0\5ping!");
    ASK("\0\0\0\0\0\0\0\1p");
    EXPECT("\0\0\0\0\0\0\0\1p");
    ASK("\0\0\0\0\0\0\0\1c");
    EXPECT("\0\0\0\0\0\0\0\x9"
           "c\1\2\3\4\5\6\7\x8");
}

static void files(void **state)
{
    (void)state;
    write_file("a", "twelve chars", 12);
    write_file("empty", "", 0);
    ASK("\0\0\0\0\0\0\0\2ga");
    EXPECT("\0\0\0\0\0\0\0\x9"
           "f\0\0\0\0\0\0\0\xctwelve chars");
    ASK("\0\0\0\0\0\0\0\6gempty");
    EXPECT("\0\0\0\0\0\0\0\x9"
           "f\0\0\0\0\0\0\0\0");
    ASK("\0\0\0\0\0\0\0\2gb");
    EXPECT("\0\0\0\0\0\0\0\x1d"
           "eb: No such file or directory");
    ASK("\0\0\0\0\0\0\0\1g");
    EXPECT("\0\0\0\0\0\0\0\x17"
           "e: not below the folder");
}

/* In parts of a MiB. */
static void a_long_file(void **state)
{
    (void)state;
    enum { LENGTH = 2 * MIB + 5 };
    static uint8_t octets[LENGTH], got[LENGTH];
    for (size_t i = 0; i < LENGTH; i++)
        octets[i] = (uint8_t)(i * 7 >> 3);
    write_file("long", octets, LENGTH);
    ASK("\0\0\0\0\0\0\0\5glong");
    EXPECT("\0\0\0\0\0\0\0\x9"
           "f\0\0\0\0\0\x20\0\5");
    take(line, got, LENGTH);
    assert_memory_equal(got, octets, LENGTH);
    ASK("\0\0\0\0\0\0\0\1p");
    EXPECT("\0\0\0\0\0\0\0\1p");
}

static void the_longest_path(void **state)
{
    (void)state;
    uint8_t question[8 + MSG_PATH + 1] = {0, 0, 0, 0, 0, 0, 4, 0, 'g'};
    char answer[MSG_PATH + 100];
    memset(question + 9, 'y', MSG_PATH);
    ask(line, question, 8 + MSG_PATH);
    snprintf(answer, sizeof(answer), "e%.*s: File name too long", MSG_PATH - 1, question + 9);
    const uint8_t head[8] = {
        0, 0, 0, 0, 0, 0, (uint8_t)(strlen(answer) >> 8), (uint8_t)strlen(answer)};
    expect(line, head, 8);
    expect(line, answer, strlen(answer));
    question[7] = 1;
    ask(line, question, 8 + MSG_PATH + 1);
    expect_end(line);
}

/* What is no question ends the connection, and only that. */
static void no_questions(void **state)
{
    (void)state;
    static const struct {
        const char *octets;
        size_t length;
    } list[] = {
        {"\0\0\0\0\0\0\0\0", 8},    /* nothing */
        {"\0\0\0\0\0\0\0\1x", 9},   /* another kind */
        {"\0\0\0\0\0\0\0\1pp", 10}, /* more before the answer */
        {"\0\0\0\0\x40\0\0\1p", 9}, /* longer than is taken */
        {"\0\0\0\0\0\0\0\1f", 9},   /* an answer */
    };
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        ask(line, list[i].octets, list[i].length);
        expect_end(line);
        close(line);
        line = connected();
    }
    ASK("\0\0\0\0\0\0\0\1p");
    EXPECT("\0\0\0\0\0\0\0\1p");
}

/* Another connection waits until the first has ended. */
static void one_at_a_time(void **state)
{
    (void)state;
    ASK("\0\0\0\0\0\0\0\1p");
    EXPECT("\0\0\0\0\0\0\0\1p");
    const int second = connected();
    ask(second, "\0\0\0\0\0\0\0\2p2", 10);
    ASK("\0\0\0\0\0\0\0\2p1");
    EXPECT("\0\0\0\0\0\0\0\2p1");
    char octet;
    assert_true(recv(second, &octet, 1, MSG_DONTWAIT) < 0);
    close(line);
    line = second;
    EXPECT("\0\0\0\0\0\0\0\2p2");
}

/* It is busy while something comes, and for a millisecond after the answer. */
static void is_busy(void **state)
{
    (void)state;
    assert_false(msg_serve_tcp_busy(server));
    ASK("\0\0\0\0\0\0\0\3p");
    while (!msg_serve_tcp_busy(server)) /* it has not looked yet */
        sched_yield();
    now += 1000000000;
    assert_true(msg_serve_tcp_busy(server));
    ASK("!!");
    EXPECT("\0\0\0\0\0\0\0\3p!!");
    while (looks == 0) /* until then it is not about to rest */
        sched_yield();
    now += 999999;
    assert_true(msg_serve_tcp_busy(server));
    now += 1;
    while (msg_serve_tcp_busy(server))
        sched_yield();
    assert_false(msg_serve_tcp_busy(server));
}

/* ---- opening ---- */

static void opened(void **state)
{
    (void)state;
    assert_int_equal(at.ss_family, AF_INET);
    struct msg_serve_tcp *other = NULL;
    struct sockaddr_storage nowhere;
    pings(state); /* the connection is there by now */
    const unsigned before = descriptors();
    catch_from(STDERR_FILENO);
    const int status = msg_serve_tcp_open("192.0.2.1:0", folder, &other, &nowhere);
    assert_non_null(strstr(caught(), "--tcp: 192.0.2.1:0: Cannot assign requested address\n"));
    assert_int_equal(status, 69);
    assert_null(other);
    assert_int_equal(descriptors(), before);
    msg_serve_tcp_close(NULL);
    /* Signals are left to the others: the threads of this process block none. */
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGTERM));
}

/* Without a folder; its descriptors are gone at the end. */
static void without_files(void **state)
{
    (void)state;
    struct msg_serve_tcp *other;
    pings(state); /* as above */
    const unsigned before = descriptors();
    assert_int_equal(msg_serve_tcp_open("127.0.0.1:0", -1, &other, &at), -1);
    const int second = connected();
    ask(second, "\0\0\0\0\0\0\0\2ga", 10);
    expect(second,
           "\0\0\0\0\0\0\0\x17"
           "ea: no files are served",
           31);
    msg_serve_tcp_close(other);
    expect_end(second);
    close(second);
    assert_int_equal(descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pings, begin, end),
        cmocka_unit_test_setup_teardown(files, begin, end),
        cmocka_unit_test_setup_teardown(a_long_file, begin, end),
        cmocka_unit_test_setup_teardown(the_longest_path, begin, end),
        cmocka_unit_test_setup_teardown(no_questions, begin, end),
        cmocka_unit_test_setup_teardown(one_at_a_time, begin, end),
        cmocka_unit_test_setup_teardown(is_busy, begin, end),
        cmocka_unit_test_setup_teardown(opened, begin, end),
        cmocka_unit_test_setup_teardown(without_files, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
