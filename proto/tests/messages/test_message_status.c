/* SPDX-License-Identifier: BSD-3-Clause */
/* What an end says of itself to those who ask on this host, and to whom it says nothing. */
#include "messages_pair.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 131072, MANY = 300, LISTED = 256, NOBODY = 65534 };

static char said[ROOM + 1];

/* Asks the end with this number of a process. Returns how many octets came, -1 if there is none. */
static ssize_t ask(pid_t process, unsigned number)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const struct timeval guard = {GUARD_MS / 1000, 0};
    const int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
                                "iwarp-messages.%ld.%u", (long)process, number);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &guard, sizeof(guard));
    ssize_t got = -1;
    if (connect(fd, (struct sockaddr *)&name,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0)
        got = recv(fd, said, ROOM, 0);
    close(fd);
    said[got > 0 ? got : 0] = '\0';
    return got;
}

static void says(const char *what)
{
    if (strstr(said, what) == NULL)
        fail_msg("\"%s\" is not in: %s", what, said);
}

static unsigned times(const char *what)
{
    unsigned count = 0;
    for (const char *at = said; (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

static void counts(void **unused)
{
    (void)unused;
    struct world_end a, b;
    char text[100];
    open_pair(&a, &b);
    assert_true(ask(getpid(), 1) > 0);
    says("{\"version\":1,\"instance\":\"");
    says(",\"connections\":0,\"connections_most\":64,\"services\":1,\"peers\":0,");
    says("\"service_list\":[{\"number\":1,\"queued\":0,\"open\":0,\"reports\":0,\"received\":0,"
         "\"sent\":0}],\"queued\":0,\"open\":0,\"peer_list\":[]}\n");
    for (int i = 0; i < 3; i++)
        assert_int_equal(send_octets(a.s, 2, "hello", 5, 0, 0), 0);
    iw_messages_free(b.m, receive(b.s).data);
    /* The others have come when they can be taken. */
    iw_messages_free(b.m, receive(b.s).data);
    do
        assert_true(ask(getpid(), 2) > 0);
    while (strstr(said, "\"queued\":1,") == NULL);
    says("\"service_list\":[{\"number\":2,\"queued\":1,\"open\":0,\"reports\":0,\"received\":2,"
         "\"sent\":0}],\"queued\":1,\"open\":0,");
    says(",\"received\":2,\"received_octets\":10,");
    snprintf(text, sizeof(text), "\"at\":\"127.0.0.1:%u\"",
             ntohs(((struct sockaddr_in *)&b.at)->sin_port));
    says(text);
    says("\"state\":\"connected\",\"window\":0,\"arrived\":1,\"sent\":0,\"sent_octets\":0,"
         "\"received\":2,\"received_octets\":10}]}\n");
    iw_messages_free(b.m, receive(b.s).data);
    assert_int_equal(iw_messages_flush(a.s, GUARD_MS), 0);
    assert_true(ask(getpid(), 1) > 0);
    says("\"sent\":3,\"sent_octets\":15,\"received\":0,\"received_octets\":0,\"delivered\":3,"
         "\"undelivered\":0,");
    says(text); /* of the peer */
    close_pair(&a, &b);
    assert_int_equal(ask(getpid(), 1), -1);
    assert_int_equal(ask(getpid(), 2), -1);
}

/* However many services there are, what is said has a bound, and is whole. */
static void bounded(void **unused)
{
    (void)unused;
    struct sockaddr_in at;
    struct world_end e;
    struct iw_service *more;
    const struct iw_messages_config config = loopback(&at);
    open_end(&e, &config, 1);
    for (uint32_t i = 2; i <= MANY; i++)
        assert_int_equal(iw_messages_service(e.m, i, &more), 0);
    for (int i = 0; i < 3; i++) {
        assert_true(ask(getpid(), 1) > 0);
        says(",\"services\":300,");
        assert_int_equal(times("{\"number\":"), LISTED);
        says("\"peer_list\":[]}\n");
    }
    iw_messages_close(e.m);
}

static void hidden(void **unused)
{
    (void)unused;
    struct sockaddr_in at;
    struct world_end e;
    struct iw_messages_config config = loopback(&at);
    config.hidden = 1;
    open_end(&e, &config, 1);
    assert_int_equal(ask(getpid(), 1), -1);
    iw_messages_close(e.m);
}

/* Another user's connection is closed without a word, and the next of this one's has an answer. */
static void strangers(void **unused)
{
    (void)unused;
    struct sockaddr_in at;
    struct world_end e;
    int status;
    const struct iw_messages_config config = loopback(&at);
    if (geteuid() != 0)
        skip();
    open_end(&e, &config, 1);
    const pid_t self = getpid(), child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (setresuid(NOBODY, NOBODY, NOBODY) != 0)
            _exit(2);
        _exit(ask(self, 1) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(ask(self, 1) > 0);
    iw_messages_close(e.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(bounded),
        cmocka_unit_test(hidden),
        cmocka_unit_test(strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
