/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends of this host, as iwarp-msg top asks them: which names it knows, and what it makes of
 * their answers. */
#include "message_stage.h"
#include "msg_ends.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "../caught.h"

/* ---- doubles: /proc/net/unix, and ends that answer as soon as somebody connects ---- */

static char table[8192]; /* the text of that file */
static bool no_table, no_comm;

static struct {
    char name[80];
    const char *answer; /* NULL: it closes without a word */
    int listener;
} answering[5];
static unsigned answering_count, timeouts_set;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_connect(int fd, const struct sockaddr *name, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *name, socklen_t length);
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length);

FILE *__wrap_fopen(const char *path, const char *mode)
{
    assert_string_equal(mode, "re");
    if (strcmp(path, "/proc/net/unix") == 0) {
        errno = EMFILE;
        return no_table ? NULL : fmemopen(table, strlen(table), "r");
    }
    char own[40];
    snprintf(own, sizeof(own), "/proc/%ld/comm", (long)getpid());
    assert_string_equal(path, own); /* the process at the other end is this one */
    if (no_comm)
        return NULL;
    static char name[] = "na\x1bme of it\n";
    return fmemopen(name, strlen(name), "r");
}

/* The other end answers at once. */
int __wrap_connect(int fd, const struct sockaddr *name, socklen_t length)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)name;
    const int status = __real_connect(fd, name, length);
    for (unsigned i = 0; status == 0 && i < answering_count; i++)
        if (length == offsetof(struct sockaddr_un, sun_path) + 1 + strlen(answering[i].name) &&
            memcmp(un->sun_path + 1, answering[i].name, strlen(answering[i].name)) == 0) {
            const int far = accept(answering[i].listener, NULL, NULL);
            const char *answer = answering[i].answer;
            if (answer != NULL)
                assert_int_equal(send(far, answer, strlen(answer), 0), strlen(answer));
            close(far);
        }
    return status;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    const struct timeval *limit = value;
    assert_int_equal(level, SOL_SOCKET);
    assert_true(name == SO_RCVTIMEO || name == SO_SNDTIMEO);
    assert_int_equal(limit->tv_sec, 1);
    assert_int_equal(limit->tv_usec, 0);
    timeouts_set++;
    return __real_setsockopt(fd, level, name, value, length);
}

static int begin(void **state)
{
    strcpy(table, "Num       RefCount Protocol Flags    Type St Inode Path\n");
    no_table = no_comm = false;
    answering_count = timeouts_set = 0;
    return stage_begin(state);
}

static int end(void **state)
{
    while (answering_count > 0)
        close(answering[--answering_count].listener);
    return stage_end(state);
}

static void list(const char *name)
{
    const size_t length = strlen(table);
    snprintf(table + length, sizeof(table) - length,
             "0000000000000000: 00000002 00000000 00010000 0005 01 12345 @%s\n", name);
}

/* An end whose name has this number, and this answer; it is in the table. */
static void listen_as(const char *number, const char *answer)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const unsigned i = answering_count++;
    snprintf(answering[i].name, sizeof(answering[i].name), "iwarp-messages.%ld.%s", (long)getpid(),
             number);
    answering[i].answer = answer;
    answering[i].listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    memcpy(at.sun_path + 1, answering[i].name, strlen(answering[i].name));
    assert_int_equal(
        bind(answering[i].listener, (struct sockaddr *)&at,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(answering[i].name))),
        0);
    assert_int_equal(listen(answering[i].listener, 4), 0);
    list(answering[i].name);
}

/* ---- names ---- */

static void names(void **state)
{
    (void)state;
    struct msg_ends e;
    char longest[100];
    snprintf(longest, sizeof(longest), "iwarp-messages.%048d", 1); /* 63 characters */
    list("iwarp-messages.none.10");
    list("iwarp-messages.none.9");
    list("another");
    list("iwarp-messages.none.9"); /* one that is being asked has two */
    list("not-iwarp-messages.none.7");
    list(longest);
    strcat(longest, "1");
    list(longest);
    assert_true(msg_ends_ask(&e));
    assert_int_equal(e.count, 3);
    assert_int_equal(e.silent, 3);
    longest[63] = '\0';
    assert_string_equal(e.list[0].name, longest);
    assert_string_equal(e.list[1].name, "iwarp-messages.none.9");
    assert_string_equal(e.list[2].name, "iwarp-messages.none.10");
    assert_int_equal(e.list[1].process, 0);
    msg_ends_free(&e);
    assert_int_equal(e.count, 0);
    assert_null(e.list);
}

static void nobody(void **state)
{
    (void)state;
    struct msg_ends e = {.count = 5};
    assert_true(msg_ends_ask(&e));
    assert_int_equal(e.count, 0);
    assert_int_equal(e.silent, 0);
    assert_null(e.list);
    no_table = true;
    e.count = 5;
    assert_false(msg_ends_ask(&e));
    assert_int_equal(errno, EMFILE);
    assert_int_equal(e.count, 0);
}

/* ---- answers ---- */

static void answers(void **state)
{
    (void)state;
    struct msg_ends e;
    const unsigned before = descriptors();
    listen_as("1", "{\"version\": 1, \"sent\": 5}");
    listen_as("2", "{\"version\": 2, \"sent\": 6}");
    listen_as("3", "{\"version\": 1");
    listen_as("4", NULL);
    listen_as("5", "{\"version\": 0, \"sent\": 6}");
    assert_true(msg_ends_ask(&e));
    assert_int_equal(e.count, 5);
    assert_int_equal(e.silent, 4);
    assert_int_equal(e.list[0].process, getpid());
    assert_int_equal(json_integer_value(json_object_get(e.list[0].state, "sent")), 5);
    assert_memory_equal(e.list[0].program, "na", 2);
    assert_null(strchr(e.list[0].program, '\x1b'));
    assert_null(strchr(e.list[0].program, '\n'));
    assert_non_null(strstr(e.list[0].program, "me of it"));
    for (unsigned i = 1; i < 5; i++)
        assert_null(e.list[i].state);
    assert_int_equal(e.list[1].process, getpid());
    assert_int_equal(e.list[3].process, 0);
    assert_int_equal(timeouts_set, 10);
    msg_ends_free(&e);
    assert_int_equal(descriptors(), before + 5); /* its listeners */
}

/* A process that has just ended. */
static void no_program(void **state)
{
    (void)state;
    struct msg_ends e;
    no_comm = true;
    listen_as("1", "{\"version\": 1, \"sent\": 5}");
    assert_true(msg_ends_ask(&e));
    assert_int_equal(e.count, 1);
    assert_int_equal(e.silent, 1);
    assert_null(e.list[0].state);
    assert_string_equal(e.list[0].program, "");
    msg_ends_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names, begin, end),
        cmocka_unit_test_setup_teardown(nobody, begin, end),
        cmocka_unit_test_setup_teardown(answers, begin, end),
        cmocka_unit_test_setup_teardown(no_program, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
