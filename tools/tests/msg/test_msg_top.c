/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg top: its tables, of ends that the test has made up. */
#include "message_said.h"
#include "message_stage.h"
#include "msg_ends.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

/* ---- doubles ---- */

struct made {
    pid_t process;
    const char *program, *state; /* NULL: it is silent */
};

static struct made ends[4];
static size_t end_count, calls;
static void (*then)(void); /* after each call */
static bool fails, terminal;
static uint64_t now;
static struct timespec slept;
static unsigned sleeps;

bool __wrap_msg_ends_ask(struct msg_ends *out);
uint64_t __wrap_iw_transport_now(void);
int __wrap_isatty(int fd);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);

bool __wrap_msg_ends_ask(struct msg_ends *out)
{
    *out = (struct msg_ends){.list = calloc(4, sizeof(*out->list)), .count = end_count};
    assert_non_null(out->list);
    for (size_t i = 0; i < end_count; i++) {
        struct msg_end *e = &out->list[i];
        e->process = ends[i].process;
        snprintf(e->program, sizeof(e->program), "%s", ends[i].program);
        e->state = ends[i].state != NULL ? json_loads(ends[i].state, 0, NULL) : NULL;
        out->silent += e->state == NULL;
    }
    calls++;
    if (then != NULL)
        then();
    errno = EMFILE;
    return !fails;
}

uint64_t __wrap_iw_transport_now(void)
{
    return now;
}

int __wrap_isatty(int fd)
{
    assert_int_equal(fd, 1);
    return terminal;
}

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    slept = *wanted;
    sleeps++;
    now += (uint64_t)wanted->tv_sec * 1000000000 + (uint64_t)wanted->tv_nsec;
    return 0;
}

static int begin(void **state)
{
    stage_begin(state);
    settings = (struct msg_settings){0};
    end_count = calls = 0;
    then = NULL;
    fails = terminal = false;
    now = 77;
    sleeps = 0;
    return 0;
}

static int end(void **state)
{
    return catch_no_more(state) | stage_end(state);
}

static void add(pid_t process, const char *program, const char *state)
{
    ends[end_count++] = (struct made){process, program, state};
}

static int top(size_t count, char *const *operands)
{
    return run(msg_top_run, count, operands);
}

#define HEAD                                                                                       \
    "    PID PROGRAM         AT                    SERVICES CONNS PEERS WAITING  QUEUED     SENT " \
    "  SENT/S     MB/S RECEIVED   RECV/S     MB/S\n"

/* ---- one table ---- */

static void nobody(void **state)
{
    (void)state;
    assert_int_equal(top(0, NULL), 0);
    assert_string_equal(said, "0 ends of libiwarp-messages\n" HEAD);
    assert_int_equal(sleeps, 0);
    assert_int_equal(calls, 1);
    assert_int_equal(stage.catches_interrupt, 1);
}

static void counts(void **state)
{
    (void)state;
    add(7, "a-program-with-a-long-name",
        "{\"instance\": \"i\", \"at\": \"192.0.2.1:4000\", \"services\": 3, \"connections\": 2, "
        "\"peers\": 1, \"open\": 99999, \"queued\": 100000, \"sent\": 123456789, "
        "\"sent_octets\": 5, \"received\": 1234567890123, \"received_octets\": 6}");
    add(8, "silent", NULL);
    add(9, "b", "{}");
    assert_int_equal(top(0, NULL), 0);
    assert_string_equal(
        said,
        "2 ends of libiwarp-messages; 1 of other users, or without an answer\n" HEAD
        "      7 a-program-with- 192.0.2.1:4000               3     2     1   99999  100.0k   "
        "123.5M        -        -  1234.6G        -        -\n"
        "      9 b               -                            0     0     0       0       0        "
        "0        -        -        0        -        -\n");
}

static void large_counts(void **state)
{
    (void)state;
    add(7, "p",
        "{\"open\": 99949999, \"queued\": 1e17, \"sent\": 1e21, \"received\": 1e24, "
        "\"services\": 99999.4}");
    assert_int_equal(top(0, NULL), 0);
    assert_string_equal(
        strstr(said, "      7 p"),
        "      7 p               -                        99999     0     0 99950.0k"
        "  100.0P  1000.0E        -        - 1000000.0E        -        -\n");
}

static void one_end(void **state)
{
    (void)state;
    add(7, "p", "{}");
    assert_int_equal(top(0, NULL), 0);
    assert_memory_equal(said, "1 end of libiwarp-messages\n", 27);
}

/* ---- growth ---- */

static void grow(void)
{
    ends[0].state = "{\"instance\": \"x\", \"sent\": 30, \"sent_octets\": 4000000, "
                    "\"received\": 600000, \"received_octets\": 150000}";
    ends[1].state = "{\"instance\": \"y\", \"sent\": 1}";
}

static void rates(void **state)
{
    (void)state;
    settings.top.count = 2;
    settings.top.interval = 2.5;
    add(7, "p",
        "{\"instance\": \"x\", \"sent\": 5, \"received\": 100000, \"sent_octets\": 1000000, "
        "\"received_octets\": 25000}");
    add(9, "q", "{\"instance\": \"before y\", \"sent\": 1}");
    then = grow;
    assert_int_equal(top(0, NULL), 0);
    assert_int_equal(slept.tv_sec, 2);
    assert_int_equal(slept.tv_nsec, 500000000);
    assert_int_equal(sleeps, 1);
    const char *second = strstr(said, "\n\n2 ends");
    assert_non_null(second);
    assert_non_null(strstr(second, "30       10      1.2   600.0k   200.0k      0.1\n"
                                   "      9 q "));
    assert_non_null(
        strstr(second, "      0        1        -        -        0        -        -\n"));
    assert_null(strstr(said, "\033"));
}

static void by_default(void **state)
{
    (void)state;
    settings.top.count = 3;
    assert_int_equal(top(0, NULL), 0);
    assert_int_equal(sleeps, 2);
    assert_int_equal(slept.tv_sec, 2);
    assert_int_equal(slept.tv_nsec, 0);
    assert_int_equal(calls, 3);
    settings.top.interval = 0.25;
    assert_int_equal(top(0, NULL), 0);
    assert_int_equal(slept.tv_sec, 0);
    assert_int_equal(slept.tv_nsec, 250000000);
}

static void interrupt(void)
{
    if (calls == 3)
        stage.ended = SIGINT;
}

/* A terminal is cleared before each table, until an interrupt. */
static void a_terminal(void **state)
{
    (void)state;
    terminal = true;
    then = interrupt;
    assert_int_equal(top(0, NULL), 130);
    assert_int_equal(calls, 3);
    assert_int_equal(sleeps, 3);
    assert_memory_equal(said, "\033[H\033[2J0 ends", 13);
    const char *second = strstr(said + 1, "\033[H");
    assert_non_null(second);
    assert_int_equal(second[-1], '\n');
    assert_int_not_equal(second[-2], '\n');
    calls = 0;
    then = NULL;
    stage.ended = 0;
    settings.top.count = 1;
    assert_int_equal(top(0, NULL), 0);
    assert_memory_equal(said, "0 ends", 6); /* one table alone needs that not */
    settings.top.json = true;
    settings.top.count = 2;
    assert_int_equal(top(0, NULL), 0);
    assert_string_equal(said, "");
}

/* ---- named processes ---- */

static void named(void **state)
{
    (void)state;
    add(7, "p",
        "{\"services\": 3, \"peers\": 1, \"pool_octets\": 1572864, \"pool_most\": 10485760, "
        "\"delivered\": 1, \"undelivered\": 2, \"written\": 3, \"fetched\": 4, "
        "\"connected\": 5, \"dropped\": 6, \"service_list\": [{\"number\": 8, \"open\": 9, "
        "\"queued\": 10, \"reports\": 11, \"sent\": 100001, \"received\": 13}], "
        "\"peer_list\": [{\"instance\": \"abc\", \"at\": \"192.0.2.3:1\", \"state\": "
        "\"up\", \"window\": 14, \"arrived\": 15, \"sent\": 16, \"sent_octets\": 17100000, "
        "\"received\": 200000, \"received_octets\": 19200000}]}");
    add(8, "q", "{}");
    add(9, "r", NULL);
    assert_int_equal(top(1, (char *[]){"7"}), 0);
    assert_string_equal(
        said,
        "1 end of libiwarp-messages\n" HEAD
        "      7 p               -                            3     0     1       0       0        "
        "0        -        -        0        -        -\n"
        "        buffers 1.5 of 10.0 MiB; 1 delivered, 2 not; long: 3 written, 4 fetched; "
        "connections made 5, dropped 6\n"
        "        SERVICE           WAITING   QUEUED  REPORTS     SENT RECEIVED\n"
        "        8                       9       10       11   100.0k       13\n"
        "        ... and 2 services more\n"
        "        PEER             AT                    STATE      WINDOW ARRIVED     SENT       "
        "MB "
        "RECEIVED       MB\n"
        "        abc              192.0.2.3:1           up             14      15       16     "
        "17.1 "
        "  200.0k     19.2\n");
    assert_int_equal(top(1, (char *[]){"8"}), 0);
    assert_null(strstr(said, "SERVICE  "));
    assert_null(strstr(said, "PEER  "));
    assert_null(strstr(said, "more"));
    settings.top.count = 2;
    assert_int_equal(top(3, (char *[]){"8", "9", "7"}),
                     3); /* 9 is silent: one table, and the end */
    assert_memory_equal(said, "2 ends of libiwarp-messages\n ", 29);
    assert_non_null(strstr(complaints, "9: no end of libiwarp-messages that this user may see\n"));
    assert_null(strstr(complaints, "8:"));
    assert_int_equal(sleeps, 0);
}

static void no_process(void **state)
{
    (void)state;
    static char *const wrong[] = {"0", "x", "-1", "2147483648"};
    for (unsigned i = 0; i < 4; i++) {
        char line[100];
        snprintf(line, sizeof(line), "%s: expected the id of a process\n", wrong[i]);
        assert_int_equal(top(2, (char *[]){"1", wrong[i]}), 64);
        assert_non_null(strstr(complaints, line));
    }
    assert_int_equal(calls, 0);
    assert_int_equal(top(1, (char *[]){"2147483647"}), 3);
    assert_int_equal(top(1, (char *[]){"1"}), 3);
    fails = true;
    assert_int_equal(top(0, NULL), 70);
    assert_non_null(strstr(complaints, "/proc/net/unix: Too many open files\n"));
}

static void json(void **state)
{
    (void)state;
    settings.top.json = true;
    settings.top.count = 2;
    add(7, "p", "{\"version\": 1}");
    add(8, "q", "{\"version\": 1}");
    add(9, "r", NULL);
    assert_int_equal(top(0, NULL), 0);
    assert_string_equal(said, "{\"version\":1,\"type\":\"end\",\"process\":7,\"program\":\"p\"}\n"
                              "{\"version\":1,\"type\":\"end\",\"process\":8,\"program\":\"q\"}\n"
                              "{\"version\":1,\"type\":\"end\",\"process\":7,\"program\":\"p\"}\n"
                              "{\"version\":1,\"type\":\"end\",\"process\":8,\"program\":\"q\"}\n");
    settings.top.count = 0;
    assert_int_equal(top(1, (char *[]){"8"}), 0);
    assert_string_equal(said, "{\"version\":1,\"type\":\"end\",\"process\":8,\"program\":\"q\"}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody, begin, end),
        cmocka_unit_test_setup_teardown(counts, begin, end),
        cmocka_unit_test_setup_teardown(large_counts, begin, end),
        cmocka_unit_test_setup_teardown(one_end, begin, end),
        cmocka_unit_test_setup_teardown(rates, begin, end),
        cmocka_unit_test_setup_teardown(by_default, begin, end),
        cmocka_unit_test_setup_teardown(a_terminal, begin, end),
        cmocka_unit_test_setup_teardown(named, begin, end),
        cmocka_unit_test_setup_teardown(no_process, begin, end),
        cmocka_unit_test_setup_teardown(json, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
