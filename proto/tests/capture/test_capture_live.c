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
#include <pthread.h>
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
    socklen_t size = sizeof(*address);
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
    snprintf(filter, sizeof(filter), "tcp port %u", ntohs(address.sin_port));
    const char *path = scratch_path("live.pcap");
    struct iw_live *l = open_loopback(filter, path);

    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
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
    struct iw_capture_connections *t = iw_capture_connections_new(1, see, &seen);
    assert_int_equal(iw_capture_walk(path, t, &frames, error), 0);
    assert_int_equal(frames.frames, counts.written);
    assert_int_equal(seen.syns, 2);
    assert_string_equal(seen.octets, "hello");
    assert_int_equal(iw_capture_connections_get(t, 0)->port[1], ntohs(address.sin_port));
    iw_capture_connections_free(t);
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

/* Sends a datagram for each octet that comes through the pipe. */
struct sender {
    int orders, fd;
};

static void *send_as_told(void *context)
{
    const struct sender *s = context;
    char octet;
    while (read(s->orders, &octet, 1) == 1 && send(s->fd, &octet, 1, 0) == 1)
        ;
    return NULL;
}

/* The next packet is sent only once the one before has been read, so that the reader has to wait.
 */
static void a_reader_waits(void **state)
{
    (void)state;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(to);
    char filter[40], error[IW_CAPTURE_ERROR] = "";
    int receiver = socket(AF_INET, SOCK_DGRAM, 0), orders[2];
    assert_int_equal(bind(receiver, (struct sockaddr *)&to, size), 0);
    assert_int_equal(getsockname(receiver, (struct sockaddr *)&to, &size), 0);
    snprintf(filter, sizeof(filter), "udp dst port %u", ntohs(to.sin_port));
    struct iw_capture *c = iw_capture_live("lo", filter, error);
    if (c == NULL && strstr(error, "not permitted") != NULL) {
        close(receiver);
        skip();
    }
    assert_string_equal(error, "");
    assert_non_null(c);
    struct sender sender = {.fd = socket(AF_INET, SOCK_DGRAM, 0)};
    assert_int_equal(connect(sender.fd, (struct sockaddr *)&to, size), 0);
    assert_int_equal(pipe(orders), 0);
    sender.orders = orders[0];
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_as_told, &sender), 0);
    uint64_t at, all;
    for (uint8_t i = 1; i <= 100; i++) {
        struct iw_frame frame;
        assert_int_equal(write(orders[1], &i, 1), 1);
        assert_int_equal(iw_capture_next(c, &frame, error), 1);
        assert_int_equal(frame.number, i);
        assert_int_equal(frame.link, IW_LINK_ETHERNET);
        assert_int_equal(frame.linktype, 1);
        assert_int_equal(frame.length, 14 + 20 + 8 + 1);
        assert_int_equal(frame.original, frame.length);
        assert_int_equal(frame.data[42], i);
        assert_true(frame.time > UINT64_C(1000000000000000000)); /* ns since 1970 */
    }
    assert_false(iw_capture_progress(c, &at, &all)); /* nobody knows how much will come */
    close(orders[1]);
    pthread_join(thread, NULL);
    close(orders[0]);
    close(sender.fd);
    close(receiver);
    iw_capture_close(c);
    assert_null(iw_capture_live("lo", "tcp prot 1", error));
    assert_memory_equal(error, "interface lo: filter \"tcp prot 1\": ", 35);
    assert_null(iw_capture_live("nosuch0", NULL, error));
    assert_memory_equal(error, "interface nosuch0: cannot capture: ", 35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(not_permitted),
        cmocka_unit_test(a_reader_waits),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
