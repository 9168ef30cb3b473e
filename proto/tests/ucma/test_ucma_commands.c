/* SPDX-License-Identifier: BSD-3-Clause */
/* The device as a program sees it that speaks to it itself, and may speak nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEVICE "/dev/infiniband/rdma_cm"

/* One command with its header in front. Returns 0 or the errno. */
static int command(int fd, uint32_t number, const void *body, size_t length, size_t room)
{
    uint8_t all[1024];
    struct rdma_ucm_cmd_hdr header = {number, (uint16_t)length, (uint16_t)room};
    memcpy(all, &header, sizeof(header));
    memcpy(all + sizeof(header), body, length);
    ssize_t n = write(fd, all, sizeof(header) + length);
    return n < 0 ? errno : n == (ssize_t)(sizeof(header) + length) ? 0 : -1;
}

static uint32_t create(int fd, uint64_t uid)
{
    struct rdma_ucm_create_id_resp out = {0};
    struct rdma_ucm_create_id in = {
        .uid = uid, .response = (uintptr_t)&out, .ps = RDMA_PS_TCP, .qp_type = IBV_QPT_RC};
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in), sizeof(out)), 0);
    return out.id;
}

static struct rdma_ucm_event_resp get(int fd)
{
    struct rdma_ucm_event_resp out;
    struct rdma_ucm_get_event in = {.response = (uintptr_t)&out};
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_GET_EVENT, &in, sizeof(in), sizeof(out)), 0);
    return out;
}

static uint32_t destroy(int fd, uint32_t id)
{
    struct rdma_ucm_destroy_id_resp out = {99};
    struct rdma_ucm_destroy_id in = {.response = (uintptr_t)&out, .id = id};
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_DESTROY_ID, &in, sizeof(in), sizeof(out)), 0);
    return out.events_reported;
}

static int bind_to(int fd, uint32_t id, uint16_t port)
{
    struct rdma_ucm_bind_ip in = {.id = id};
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memcpy(&in.addr, &at, sizeof(at));
    return command(fd, RDMA_USER_CM_CMD_BIND_IP, &in, sizeof(in), 0);
}

static uint16_t port_of(int fd, uint32_t id)
{
    struct rdma_ucm_query_route_resp out;
    struct rdma_ucm_query in = {.response = (uintptr_t)&out, .id = id};
    struct sockaddr_in at;
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_QUERY_ROUTE, &in, sizeof(in), sizeof(out)), 0);
    memcpy(&at, &out.src_addr, sizeof(at));
    return ntohs(at.sin_port);
}

/* Has the identifier listen at a free port of loopback. Returns where. */
static struct sockaddr_in listening(int fd, uint32_t id)
{
    struct rdma_ucm_listen in = {.id = id, .backlog = 1};
    assert_int_equal(bind_to(fd, id, 0), 0);
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_LISTEN, &in, sizeof(in), 0), 0);
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(port_of(fd, id)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Returns a connection that has sent a Request without private data. */
static int requesting(const struct sockaddr_in *to)
{
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (const struct sockaddr *)to, sizeof(*to)), 0);
    assert_int_equal(send(client, "MPA ID Req Frame\x40\x01\0\0", 20, 0), 20);
    return client;
}

static void looks_like_the_device(void **state)
{
    struct stat status;
    (void)state;
    int fd = open(DEVICE, O_RDWR | O_CLOEXEC), other = openat(AT_FDCWD, DEVICE, O_RDWR);
    assert_true(fd >= 0 && other >= 0 && fd != other);
    assert_int_equal(fstat(fd, &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(close(other), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(fd), -1);
    fd = open("/dev/null", O_WRONLY);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(socket(AF_NETLINK, SOCK_RAW, 20), -1); /* NETLINK_RDMA */
}

/* Clients may connect between rdma_bind_addr and rdma_listen. */
static void binding_takes_a_real_port(void **state)
{
    (void)state;
    int fd = open(DEVICE, O_RDWR);
    uint32_t id = create(fd, 1);
    assert_int_equal(bind_to(fd, id, 0), 0);
    assert_int_equal(bind_to(fd, id, 0), EINVAL);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port_of(fd, id)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_not_equal(to.sin_port, 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&to, sizeof(to)), 0);
    uint32_t second = create(fd, 2);
    assert_int_equal(bind_to(fd, second, ntohs(to.sin_port)), EADDRINUSE);
    close(client);
    assert_int_equal(destroy(fd, second), 0);
    assert_int_equal(destroy(fd, id), 0);
    assert_int_equal(close(fd), 0);
}

/* Binds, listens, and gives the port up again; a second listener follows. */
static void a_port_is_kept_for_its_next_listener(void **state)
{
    (void)state;
    int fd = open(DEVICE, O_RDWR);
    uint32_t id = create(fd, 1);
    struct rdma_ucm_listen listen_in = {.id = id, .backlog = 1};
    assert_int_equal(bind_to(fd, id, 0), 0);
    uint16_t port = port_of(fd, id);
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_LISTEN, &listen_in, sizeof(listen_in), 0), 0);
    assert_int_equal(destroy(fd, id), 0);
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&to, sizeof(to)), 0);
    /* A Request of revision 1 with three octets of private data. */
    assert_int_equal(send(client,
                          "MPA ID Req Frame\x40\x01\0\x03"
                          "abc",
                          23, 0),
                     23);
    id = create(fd, 7);
    listen_in.id = id;
    assert_int_equal(bind_to(fd, id, port), 0);
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_LISTEN, &listen_in, sizeof(listen_in), 0), 0);
    struct rdma_ucm_event_resp event = get(fd);
    assert_int_equal(event.event, 4); /* RDMA_CM_EVENT_CONNECT_REQUEST */
    assert_int_equal(event.uid, 7);
    assert_int_not_equal(event.id, id);
    assert_int_equal(event.param.conn.private_data_len, 3);
    assert_memory_equal(event.param.conn.private_data, "abc", 3);
    /* Rejecting answers with R=1. */
    struct rdma_ucm_reject reject = {.id = event.id, .private_data_len = 2, .private_data = "no"};
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_REJECT, &reject, sizeof(reject), 0), 0);
    char reply[22];
    assert_int_equal(recv(client, reply, sizeof(reply), MSG_WAITALL), 22);
    assert_memory_equal(reply, "MPA ID Rep Frame\x60\x01\0\x02no", 22);
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_REJECT, &reject, sizeof(reject), 0), EINVAL);
    close(client);
    assert_int_equal(destroy(fd, event.id), 0);
    assert_int_equal(destroy(fd, id), 1);
    assert_int_equal(close(fd), 0);
}

/* A request that has moved to another file, as rdma_get_request moves it. */
static void a_listener_may_go_before_its_requests(void **state)
{
    (void)state;
    int fd = open(DEVICE, O_RDWR), other = open(DEVICE, O_RDWR);
    uint32_t id = create(fd, 1);
    struct sockaddr_in to = listening(fd, id);
    int client = requesting(&to);
    struct rdma_ucm_event_resp event = get(fd);
    struct rdma_ucm_migrate_resp out;
    struct rdma_ucm_migrate_id in = {
        .response = (uintptr_t)&out, .id = event.id, .fd = (uint32_t)fd};
    assert_int_equal(command(other, RDMA_USER_CM_CMD_MIGRATE_ID, &in, sizeof(in), sizeof(out)), 0);
    assert_int_equal(destroy(fd, id), 1);
    struct rdma_ucm_reject reject = {.id = event.id};
    assert_int_equal(command(other, RDMA_USER_CM_CMD_REJECT, &reject, sizeof(reject), 0), 0);
    char reply[20];
    assert_int_equal(recv(client, reply, sizeof(reply), MSG_WAITALL), 20);
    assert_int_equal(destroy(other, event.id), 0);
    close(client);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(other), 0);
}

static void identifiers_move_with_their_events(void **state)
{
    (void)state;
    int from = open(DEVICE, O_RDWR | O_NONBLOCK), to = open(DEVICE, O_RDWR | O_NONBLOCK);
    uint32_t id = create(from, 5);
    struct rdma_ucm_resolve_ip resolve = {.id = id};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memcpy(&resolve.dst_addr, &at, sizeof(at));
    assert_int_equal(command(from, RDMA_USER_CM_CMD_RESOLVE_IP, &resolve, sizeof(resolve), 0), 0);
    struct pollfd fds[2] = {{.fd = from, .events = POLLIN}, {.fd = to, .events = POLLIN}};
    assert_int_equal(poll(fds, 2, 0), 1);
    assert_int_equal(fds[0].revents, POLLIN);
    struct rdma_ucm_migrate_resp out = {99};
    struct rdma_ucm_migrate_id in = {.response = (uintptr_t)&out, .id = id, .fd = (uint32_t)from};
    assert_int_equal(command(to, RDMA_USER_CM_CMD_MIGRATE_ID, &in, sizeof(in), sizeof(out)), 0);
    assert_int_equal(out.events_reported, 0);
    assert_int_equal(poll(fds, 2, 0), 1);
    assert_int_equal(fds[1].revents, POLLIN);
    assert_int_equal(get(to).uid, 5);
    struct rdma_ucm_get_event none = {.response = (uintptr_t)&out};
    assert_int_equal(command(from, RDMA_USER_CM_CMD_GET_EVENT, &none, sizeof(none), 4), EAGAIN);
    in.fd = 9999;
    assert_int_equal(command(to, RDMA_USER_CM_CMD_MIGRATE_ID, &in, sizeof(in), 4), EBADF);
    assert_int_equal(destroy(to, id), 1);
    assert_int_equal(close(from), 0);
    assert_int_equal(close(to), 0);
}

/* librdmacm keeps a table by handle, which grows with the highest one. */
static void handles_are_used_again(void **state)
{
    (void)state;
    int fd = open(DEVICE, O_RDWR);
    uint32_t first = create(fd, 1), second = create(fd, 2);
    assert_int_not_equal(first, second);
    assert_int_equal(destroy(fd, first), 0);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(create(fd, 3), first);
        assert_int_equal(destroy(fd, first), 0);
    }
    assert_int_equal(close(fd), 0);
}

static int resolve(int fd, uint32_t id, const void *from, const void *to, size_t length)
{
    struct rdma_ucm_resolve_ip in = {.id = id, .timeout_ms = 2000};
    if (from != NULL)
        memcpy(&in.src_addr, from, length);
    memcpy(&in.dst_addr, to, length);
    return command(fd, RDMA_USER_CM_CMD_RESOLVE_IP, &in, sizeof(in), 0);
}

/* An identifier is after an error what it was before. */
static void errors_leave_an_identifier_as_it_was(void **state)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in strange = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc000024d)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct rdma_ucm_bind_ip bind_in = {.addr = {.sin6_family = AF_UNIX}};
    (void)state;
    int fd = open(DEVICE, O_RDWR);
    /* A family that is not of IP, then a source address of another host. */
    uint32_t id = create(fd, 1);
    bind_in.id = id;
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_BIND_IP, &bind_in, sizeof(bind_in), 0),
                     EADDRNOTAVAIL);
    assert_int_equal(resolve(fd, id, &strange, &here, sizeof(here)), EADDRNOTAVAIL);
    struct rdma_ucm_query_route_resp route;
    struct rdma_ucm_query query = {.response = (uintptr_t)&route, .id = id};
    assert_int_equal(
        command(fd, RDMA_USER_CM_CMD_QUERY_ROUTE, &query, sizeof(query), sizeof(route)), 0);
    assert_int_equal(route.src_addr.sin6_family, 0);
    assert_int_equal(route.dst_addr.sin6_family, 0);
    assert_int_equal(resolve(fd, id, NULL, &here, sizeof(here)), 0);
    assert_int_equal(get(fd).event, 0); /* RDMA_CM_EVENT_ADDR_RESOLVED */
    assert_int_equal(destroy(fd, id), 1);
    /* One that is bound to a port does not lose it to a destination of the other family. */
    id = create(fd, 1);
    assert_int_equal(bind_to(fd, id, 0), 0);
    struct sockaddr_in to = here;
    to.sin_port = htons(port_of(fd, id));
    assert_int_equal(resolve(fd, id, NULL, &six, sizeof(six)), EINVAL);
    struct rdma_ucm_listen listen_in = {.id = id, .backlog = 1};
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_LISTEN, &listen_in, sizeof(listen_in), 0), 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&to, sizeof(to)), 0);
    close(client);
    assert_int_equal(destroy(fd, id), 0);
    assert_int_equal(close(fd), 0);
}

static void refuses_what_it_does_not_know(void **state)
{
    (void)state;
    int fd = open(DEVICE, O_RDWR | O_NONBLOCK);
    uint8_t zeros[600] = {0};
    struct rdma_ucm_create_id udp = {.ps = RDMA_PS_UDP};
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_CREATE_ID, &udp, sizeof(udp), 0), EOPNOTSUPP);
    assert_int_equal(command(fd, 999, zeros, 16, 0), EINVAL);
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_JOIN_MCAST, zeros, 200, 0), ENOSYS);
    assert_int_equal(write(fd, zeros, 3), -1);
    assert_int_equal(errno, EINVAL);
    struct rdma_ucm_cmd_hdr longer = {RDMA_USER_CM_CMD_DESTROY_ID, 500, 0};
    assert_int_equal(write(fd, &longer, sizeof(longer)), -1);
    assert_int_equal(errno, EINVAL);
    /* Every command about an identifier that does not exist, and each one cut short. */
    for (uint32_t number = 0; number <= RDMA_USER_CM_CMD_JOIN_MCAST; number++) {
        int error = command(fd, number, zeros, sizeof(zeros), 0);
        assert_true(error == ENOENT || error == ENOSYS || error == EAGAIN || error == EOPNOTSUPP ||
                    error == EBADF);
        /* Without a place for the answer. */
        error = command(fd, number, zeros, sizeof(zeros), 8);
        assert_true(error == ENOENT || error == ENOSYS || error == EOPNOTSUPP || error == EBADF ||
                    error == EFAULT);
        error = command(fd, number, zeros, 2, 0);
        assert_true(error == EINVAL || error == ENOSYS);
    }
    assert_int_equal(close(fd), 0);
}

static void options_are_of_one_to_four_octets(void **state)
{
    (void)state;
    int fd = open(DEVICE, O_RDWR | O_NONBLOCK);
    const uint32_t id = create(fd, 0);
    uint32_t value = 8;
    struct rdma_ucm_set_option in = {.optval = (uintptr_t)&value,
                                     .id = id,
                                     .level = RDMA_OPTION_ID,
                                     .optname = RDMA_OPTION_ID_TOS,
                                     .optlen = 1};
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_SET_OPTION, &in, sizeof(in), 0), 0);
    in.optlen = 4;
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_SET_OPTION, &in, sizeof(in), 0), 0);
    in.optlen = 5;
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_SET_OPTION, &in, sizeof(in), 0), EINVAL);
    in.optlen = 0;
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_SET_OPTION, &in, sizeof(in), 0), EINVAL);
    in.optlen = 1;
    in.optval = 0;
    assert_int_equal(command(fd, RDMA_USER_CM_CMD_SET_OPTION, &in, sizeof(in), 0), EFAULT);
    destroy(fd, id);
    assert_int_equal(close(fd), 0);
}

struct waiter {
    int fd;
    atomic_int thread; /* its number; 0: not yet */
    atomic_bool over;
    int error;
    struct rdma_ucm_event_resp event;
};

static void *wait_for_event(void *context)
{
    struct waiter *w = context;
    struct rdma_ucm_get_event in = {.response = (uintptr_t)&w->event};
    atomic_store(&w->thread, gettid());
    w->error = command(w->fd, RDMA_USER_CM_CMD_GET_EVENT, &in, sizeof(in), sizeof(w->event));
    atomic_store(&w->over, true);
    return NULL;
}

/* Returns whether a thread of this process sleeps in ppoll(), as one does that waits for events. */
static bool sleeps_in_ppoll(int thread)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", thread);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    fclose(f);
    return text[0] != 'r' && strtol(text, NULL, 10) == SYS_ppoll; /* 'r' of "running" */
}

/* As in the kernel, who waits sleeps on, and still gets what comes: rping ends so. */
static void a_file_is_closed_beside_who_waits(void **state)
{
    struct waiter w[2] = {{0}};
    pthread_t threads[2];
    (void)state;
    int fd = open(DEVICE, O_RDWR);
    uint32_t id = create(fd, 1);
    struct sockaddr_in to = listening(fd, id);
    for (unsigned k = 0; k < 2; k++) {
        w[k].fd = fd;
        assert_int_equal(pthread_create(&threads[k], NULL, wait_for_event, &w[k]), 0);
    }
    for (unsigned k = 0; k < 2; k++)
        while (atomic_load(&w[k].thread) == 0 || !sleeps_in_ppoll(atomic_load(&w[k].thread)))
            sched_yield();
    assert_int_equal(close(fd), 0);
    int client = requesting(&to);
    while (!atomic_load(&w[0].over) && !atomic_load(&w[1].over))
        sched_yield();
    const unsigned first = atomic_load(&w[0].over) ? 0 : 1;
    pthread_join(threads[first], NULL);
    assert_int_equal(w[first].error, 0);
    assert_int_equal(w[first].event.event, 4); /* RDMA_CM_EVENT_CONNECT_REQUEST */
    assert_int_equal(pthread_cancel(threads[1 - first]), 0);
    pthread_join(threads[1 - first], NULL);
    assert_false(atomic_load(&w[1 - first].over));
    /* The last one has taken everything with it. */
    char octet;
    assert_true(recv(client, &octet, 1, 0) <= 0);
    close(client);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* Commands of random content about identifiers that exist, in any state. Nothing may be left. */
static void survives_nonsense(void **state)
{
    static uint8_t out[2048];
    unsigned seed = 1;
    (void)state;
    int fd = open(DEVICE, O_RDWR | O_NONBLOCK);
    uint32_t ids[4];
    for (unsigned i = 0; i < 4; i++)
        ids[i] = create(fd, i + 1);
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t body[100];
        uint32_t number = (uint32_t)rand_r(&seed) % (RDMA_USER_CM_CMD_JOIN_MCAST + 1);
        for (unsigned k = 0; k < 100; k++)
            body[k] = rand_r(&seed) % 4 == 0 ? ids[rand_r(&seed) % 4] : 0;
        if (number == RDMA_USER_CM_CMD_SET_OPTION)
            body[0] = (uintptr_t)out;
        else
            body[0] = body[1] = (uintptr_t)out; /* wherever a response is asked for */
        if (number == RDMA_USER_CM_CMD_DESTROY_ID || number == RDMA_USER_CM_CMD_MIGRATE_ID)
            continue;
        (void)command(fd, number, body, (size_t)rand_r(&seed) % sizeof(body), sizeof(out));
    }
    for (unsigned i = 0; i < 4; i++)
        (void)destroy(fd, ids[i]);
    assert_int_equal(close(fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_like_the_device),
        cmocka_unit_test(binding_takes_a_real_port),
        cmocka_unit_test(a_port_is_kept_for_its_next_listener),
        cmocka_unit_test(a_listener_may_go_before_its_requests),
        cmocka_unit_test(identifiers_move_with_their_events),
        cmocka_unit_test(a_file_is_closed_beside_who_waits),
        cmocka_unit_test(handles_are_used_again),
        cmocka_unit_test(errors_leave_an_identifier_as_it_was),
        cmocka_unit_test(refuses_what_it_does_not_know),
        cmocka_unit_test(options_are_of_one_to_four_octets),
        cmocka_unit_test(survives_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
