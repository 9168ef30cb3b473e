/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Opens the loopback interface, or skips the test where that is not permitted. */
static struct iw_live *open_loopback(const char *filter, const char *path)
{
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_live *l = iw_live_open("lo", filter, path, error);
    if (l == NULL && strstr(error, "not permitted") != NULL) {
        print_message("%s\n", error);
        skip();
    }
    assert_string_equal(error, "");
    assert_non_null(l);
    assert_true(iw_live_fd(l) >= 0);
    return l;
}

static int listener(struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)address, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address, &size), 0);
    return fd;
}

struct seen {
    char octets[64];
    unsigned syns;
};

static int see(void *context, const struct iw_segment *s)
{
    struct seen *seen = context;
    seen->syns += s->kind == IW_SEGMENT_SYN;
    if (s->kind == IW_SEGMENT_DATA)
        strncat(seen->octets, (const char *)s->data, s->length);
    return 0;
}

static void loopback(void **state)
{
    (void)state;
    struct sockaddr_in address;
    char filter[40], error[IW_CAPTURE_ERROR] = "";
    int listening = listener(&address);
    snprintf(filter, sizeof filter, "tcp port %u", ntohs(address.sin_port));
    const char *path = scratch_path("live.pcap");
    struct iw_live *l = open_loopback(filter, path);

    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    int server = accept(listening, NULL, NULL);
    assert_true(server >= 0);
    struct pollfd wait = {.fd = iw_live_fd(l), .events = POLLIN};
    int written;
    do { /* packets that the filter leaves out may wake us, too */
        assert_int_equal(poll(&wait, 1, 60000), 1);
        written = iw_live_pump(l, error);
        assert_true(written >= 0);
    } while (written == 0);
    char octets[5];
    assert_int_equal(write(client, "hello", 5), 5);
    assert_int_equal(recv(server, octets, 5, MSG_WAITALL), 5);
    struct iw_live_counts counts;
    assert_true(iw_live_close(l, &counts, error));
    assert_true(counts.written >= 4);
    close(client);
    close(server);
    close(listening);

    struct seen seen = {.syns = 0};
    struct iw_capture_counts frames;
    struct iw_connections *t = iw_connections_new(1, see, &seen);
    assert_int_equal(iw_capture_walk(path, t, &frames, error), 0);
    assert_int_equal(frames.frames, counts.written);
    assert_int_equal(seen.syns, 2);
    assert_string_equal(seen.octets, "hello");
    assert_int_equal(iw_connections_get(t, 0)->port[1], ntohs(address.sin_port));
    iw_connections_free(t);
}

static void bad_parameters(void **state)
{
    (void)state;
    char error[IW_CAPTURE_ERROR] = "";
    assert_true(iw_live_close(open_loopback(NULL, scratch_path("live.pcap")), NULL, error));
    assert_null(iw_live_open("lo", "tcp prot 1", scratch_path("live.pcap"), error));
    assert_memory_equal(error, "interface lo: filter \"tcp prot 1\": ", 35);
    assert_null(strchr(error, '\n'));
    assert_null(iw_live_open("lo", NULL, "/nowhere/at/all", error));
    assert_string_equal(error, "/nowhere/at/all: No such file or directory");
    assert_false(iw_live_close(open_loopback(NULL, "/dev/full"), NULL, error));
    assert_string_equal(error, "/dev/full: cannot be written");
    assert_null(iw_live_open("nosuch0", NULL, scratch_path("live.pcap"), error));
    assert_memory_equal(error, "interface nosuch0: cannot capture: ", 35);
    assert_null(strchr(error + 35, ':')); /* the reason, printed once */
    assert_null(strchr(error, '\n'));
}

static void not_permitted(void **state)
{
    (void)state;
    const char *path = scratch_path("live.pcap");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char error[IW_CAPTURE_ERROR] = "";
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(2);
        struct iw_live *l = iw_live_open("lo", NULL, path, error);
        _exit(l == NULL && strcmp(error, "interface lo: capturing is not permitted: expected root "
                                         "or the capability CAP_NET_RAW") == 0
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) {
        print_message("root cannot become another user here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(not_permitted),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
