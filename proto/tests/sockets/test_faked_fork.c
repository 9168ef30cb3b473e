/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose a socket is after a fork, and what a child can do with one that its parent has. Both
 * processes have both ends of an rsocket here. */
#include "faked_rsockets.h"

#include <limits.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "sockets/fork_claim.h"
#include "sockets/fork_relay.h"

static struct {
    unsigned kept, takes, leaves;
    int files[8], taken, left;
} forks;

static void keep(const int *files, size_t count)
{
    forks.kept = (unsigned)count;
    memcpy(forks.files, files, (count < 8 ? count : 8) * sizeof(int));
}

static int take(int file)
{
    forks.takes++;
    forks.taken = file;
    return 0;
}

static int leave(int file)
{
    forks.leaves++;
    forks.left = file;
    return 0;
}

static const struct iw_verbs_fork keeping = {.keep = keep, .take = take, .leave = leave};
static char in[100000], out[100000];

static int begin_fork(void **unused)
{
    begin(unused);
    memset(&forks, 0, sizeof(forks));
    fake_verbs_fork = &keeping;
    return 0;
}

/* A failed check of a child ends it so. */
static void require(bool holds, int line)
{
    const int error = errno;
    if (holds)
        return;
    fprintf(stdout, "child: line %d: errno %d\n", line, error);
    fflush(stdout);
    iw_libc()->_exit(1);
}
#define REQUIRE(holds) require((holds), __LINE__)
#define REQUIRE_FAILS(result, error) require((result) == -1 && errno == (error), __LINE__)

static void assert_good(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The threads that serve children end with them: waits until they have, as their descriptors show.
 */
static void await_threads(int before)
{
    for (int i = 0; count_descriptors() != before; i++) {
        assert_true(i < GUARD);
        usleep(1000);
    }
    iw_relay_finish();
}

static int end_fork(void **unused)
{
    for (int i = 0; i < 2; i++)
        if (queue[i] >= 0)
            iw_libc()->close(queue[i]);
    queue[0] = queue[1] = -1;
    await_threads(descriptors);
    return end(unused);
}

static struct iw_socket *socket_of(int fd)
{
    return atomic_load(&iw_socket_numbers[fd]);
}

/* With verbs that keep nothing the child has lost it. */
static void lost(void **unused)
{
    (void)unused;
    struct sockaddr_in name;
    socklen_t length = sizeof(name);
    fake_verbs_fork = NULL;
    const int fd = connected();
    const pid_t child = fork();
    if (child == 0) {
        const int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        struct pollfd one = {.fd = fd, .events = POLLIN};
        REQUIRE_FAILS(read(fd, in, 1), ECONNRESET);
        REQUIRE_FAILS(write(fd, in, 1), ECONNRESET);
        REQUIRE_FAILS(shutdown(fd, SHUT_WR), ECONNRESET);
        REQUIRE_FAILS(listen(fd, 1), ECONNRESET);
        REQUIRE_FAILS(accept(fd, NULL, NULL), ECONNRESET);
        REQUIRE_FAILS(connect_at(fd, "127.0.0.1"), ECONNRESET);
        REQUIRE_FAILS(ioctl(fd, FIONREAD, in), ECONNRESET);
        REQUIRE(poll(&one, 1, GUARD) == 1 && one.revents == (POLLIN | POLLERR | POLLHUP));
        one.events = POLLOUT | POLLRDHUP;
        REQUIRE(poll(&one, 1, GUARD) == 1 && one.revents == (POLLOUT | POLLERR | POLLHUP));
        REQUIRE(getpeername(fd, (struct sockaddr *)&name, &length) == 0);
        REQUIRE(close(fd) == 0 && fake.closes == 0);
        _exit(0);
    }
    assert_good(child);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(forks.kept + forks.takes + forks.leaves, 0);
    close(fd);
}

/* The verbs keep what is connected or listens, until one of the two processes has used it. */
static void parked(void **unused)
{
    (void)unused;
    const int fd = connected(), rs = fake.last;
    const int listener = listening("127.0.0.1", 4), listener_rs = fake.last;
    const int background = stream_socket();
    set_blocking(background, false);
    fake.connect_error = EINPROGRESS;
    fake.hide = POLLOUT;
    fails(connect_at(background, "127.0.0.1"), EINPROGRESS);
    fake.hide = 0;
    fake.connect_error = 0;
    const pid_t child = fork();
    if (child == 0) {
        REQUIRE(socket_of(fd)->hold == IW_HOLD_PARKED && socket_of(fd)->inherited);
        REQUIRE(socket_of(background)->hold == IW_HOLD_LOST);
        iw_libc()->_exit(0);
    }
    assert_good(child);
    assert_int_equal(forks.kept, 2);
    assert_true((forks.files[0] == rs && forks.files[1] == listener_rs) ||
                (forks.files[1] == rs && forks.files[0] == listener_rs));
    assert_int_equal(socket_of(fd)->hold, IW_HOLD_PARKED);
    assert_int_equal(socket_of(listener)->hold, IW_HOLD_PARKED);
    assert_int_equal(socket_of(background)->hold, IW_HOLD_OURS);
    assert_false(socket_of(fd)->inherited);
    /* Options and names are no use of it. */
    assert_int_equal(option(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
    assert_int_equal(forks.takes, 0);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(forks.takes, 1);
    assert_int_equal(forks.taken, rs);
    assert_int_equal(socket_of(fd)->hold, IW_HOLD_OURS);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(forks.takes, 1);
    /* Who connects goes on with its listeners, which may be whom it connects to. */
    const int other = connected();
    assert_int_equal(forks.takes, 2);
    assert_int_equal(forks.taken, listener_rs);
    assert_int_equal(forks.leaves, 0);
    close(other);
    close(background);
    close(listener);
    close(fd);
}

/* Of a socket that both leave, the last one claims it, to close it in order. */
static void left_by_both(void **unused)
{
    (void)unused;
    const int fd = connected();
    pid_t child = fork();
    if (child == 0) {
        REQUIRE(close(fd) == 0);
        REQUIRE(forks.takes == 0 && forks.leaves == 1 && fake.closes == 0);
        _exit(0);
    }
    assert_good(child);
    close(fd);
    assert_int_equal(forks.takes, 1);
    assert_int_equal(forks.leaves, 0);
    assert_int_equal(fake.closes, 1);
    /* One that was used by the child already is not the parent's any more. */
    const int used = connected(), rs = fake.last;
    int way[2];
    assert_int_equal(pipe(way), 0);
    memset(&forks, 0, sizeof(forks));
    child = fork();
    if (child == 0) {
        /* As soon as the parent has closed its own. */
        REQUIRE(read(way[0], in, 1) == 1);
        REQUIRE(write(used, "served", 6) == 6);
        REQUIRE(forks.takes == 1 && forks.taken == rs && forks.leaves == 0);
        REQUIRE(socket_of(used)->hold == IW_HOLD_OURS && !socket_of(used)->relayed);
        REQUIRE(close(used) == 0 && fake.closes == 1 + 1);
        _exit(0);
    }
    const int copy = iw_libc()->dup(peers[rs]); /* which does not go with the rsocket */
    close(used);
    assert_int_equal(forks.leaves, 1);
    assert_int_equal(forks.left, rs);
    assert_int_equal(forks.takes, 0);
    assert_int_equal(write(way[1], "x", 1), 1);
    assert_good(child);
    assert_int_equal(iw_libc()->recv(copy, in, 100, MSG_DONTWAIT), 6);
    assert_memory_equal(in, "served", 6);
    iw_libc()->close(copy);
    close(way[0]);
    close(way[1]);
}

static short events_of(int fd, short events, int ms)
{
    struct pollfd one = {.fd = fd, .events = events};
    return poll(&one, 1, ms) > 0 ? one.revents : 0;
}

/* What the peer of the rsocket has got, exactly. */
static bool peer_has(int rs, const char *octets, size_t length)
{
    return iw_libc()->recv(peers[rs], in, length, MSG_WAITALL) == (ssize_t)length &&
           memcmp(in, octets, length) == 0;
}

static bool peer_gives(int rs, const char *octets, size_t length)
{
    return iw_libc()->write(peers[rs], octets, length) == (ssize_t)length;
}

static void relayed_receives(int fd, int rs)
{
    struct iovec pieces[3] = {{in, 3}, {in + 3, 0}, {in + 10, 100}};
    int waiting = -1;
    REQUIRE(peer_gives(rs, "0123456789", 10));
    REQUIRE(events_of(fd, POLLIN, GUARD) == POLLIN);
    REQUIRE(socket_of(fd)->relayed && socket_of(fd)->hold == IW_HOLD_OURS);
    REQUIRE(ioctl(fd, FIONREAD, &waiting) == 0 && waiting == 10);
    REQUIRE(recv(fd, in, 4, MSG_PEEK) == 4 && memcmp(in, "0123", 4) == 0);
    REQUIRE(recv(fd, in, 2, 0) == 2 && memcmp(in, "01", 2) == 0);
    REQUIRE(ioctl(fd, FIONREAD, &waiting) == 0 && waiting == 8);
    REQUIRE(readv(fd, pieces, 3) == 8);
    REQUIRE(memcmp(in, "234", 3) == 0 && memcmp(in + 10, "56789", 5) == 0);
    REQUIRE(recv(fd, in, 0, 0) == 0);
    REQUIRE_FAILS(recv(fd, in, 1, MSG_OOB), EOPNOTSUPP);
    REQUIRE_FAILS(recv(fd, in, 1, MSG_ERRQUEUE), EOPNOTSUPP);
    REQUIRE_FAILS(recv(fd, in, 1, MSG_TRUNC), EOPNOTSUPP);
    REQUIRE_FAILS(recv(fd, in, 1, MSG_DONTWAIT), EAGAIN);
    REQUIRE(ioctl(fd, FIONREAD, &waiting) == 0 && waiting == 0);
    REQUIRE(events_of(fd, POLLIN | POLLRDHUP, 0) == 0);
    REQUIRE(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    REQUIRE_FAILS(read(fd, in, 1), EAGAIN);
    REQUIRE(fcntl(fd, F_SETFL, 0) == 0);
    /* More than one frame has room for. */
    REQUIRE(peer_gives(rs, out, 70000));
    REQUIRE(recv(fd, in, 70000, MSG_WAITALL) == 70000 && memcmp(in, out, 70000) == 0);
}

static void relayed_sends(int fd, int rs)
{
    struct iovec pieces[3] = {{out, 3}, {out, 0}, {out + 3, 40000}};
    REQUIRE(events_of(fd, POLLOUT, GUARD) == POLLOUT);
    REQUIRE(events_of(fd, POLLIN | POLLOUT, GUARD) == POLLOUT);
    REQUIRE(write(fd, "abc", 3) == 3 && peer_has(rs, "abc", 3));
    REQUIRE(send(fd, "", 0, 0) == 0);
    REQUIRE(writev(fd, pieces, 2) == 3 && peer_has(rs, out, 3));
    REQUIRE(write(fd, out, 90000) == 90000 && peer_has(rs, out, 90000));
    const ssize_t sent = writev(fd, pieces, 3); /* the second one as far as there is room */
    REQUIRE(sent >= 3 && sent <= 40003 && peer_has(rs, out, (size_t)sent));
    REQUIRE_FAILS(send(fd, out, 1, MSG_OOB), EOPNOTSUPP);
}

static void relayed_options(int fd)
{
    struct sockaddr_in name;
    socklen_t length = sizeof(name);
    int value = 0;
    REQUIRE_FAILS(connect_at(fd, "127.0.0.1"), EISCONN);
    REQUIRE_FAILS(listen(fd, 1), EINVAL);
    REQUIRE_FAILS(accept(fd, NULL, NULL), EINVAL);
    REQUIRE(getsockname(fd, (struct sockaddr *)&name, &length) == 0);
    REQUIRE(ntohs(name.sin_port) == 2222);
    REQUIRE(getpeername(fd, (struct sockaddr *)&name, &length) == 0);
    REQUIRE(ntohs(name.sin_port) == 1111);
    REQUIRE(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) == 0);
    length = sizeof(value);
    REQUIRE(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length) == 0 && value == 1);
}

static void relayed_ends(int fd, int rs)
{
    REQUIRE(shutdown(fd, SHUT_WR) == 0);
    REQUIRE(iw_libc()->recv(peers[rs], in, 1, 0) == 0);
    REQUIRE_FAILS(send(fd, out, 1, MSG_NOSIGNAL), EPIPE);
    REQUIRE(peer_gives(rs, "end", 3));
    REQUIRE(iw_libc()->shutdown(peers[rs], SHUT_WR) == 0);
    REQUIRE(recv(fd, in, 10, MSG_WAITALL) == 3 && memcmp(in, "end", 3) == 0);
    REQUIRE(events_of(fd, POLLIN | POLLRDHUP, GUARD) == (POLLIN | POLLRDHUP));
    REQUIRE(events_of(fd, POLLRDHUP, GUARD) == POLLRDHUP);
    REQUIRE(read(fd, in, 1) == 0 && read(fd, in, 1) == 0);
    int waiting = -1;
    REQUIRE(ioctl(fd, FIONREAD, &waiting) == 0 && waiting == 0);
}

/* The child uses it while its parent has it: the parent serves it. */
static void relayed(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(out); i++)
        out[i] = (char)(i * 31 + (i >> 8));
    const int fd = connected(), rs = fake.last, before = count_descriptors();
    const pid_t child = fork();
    if (child == 0) {
        relayed_receives(fd, rs);
        relayed_sends(fd, rs);
        relayed_options(fd);
        relayed_ends(fd, rs);
        REQUIRE(forks.takes == 0 && forks.leaves == 0);
        REQUIRE(close(fd) == 0 && fake.closes == 0);
        _exit(0);
    }
    assert_good(child);
    await_threads(before);
    assert_int_equal(forks.takes, 1); /* for the child */
    assert_int_equal(socket_of(fd)->hold, IW_HOLD_OURS);
    assert_int_equal(socket_of(fd)->uses, 1);
    assert_int_equal(fake.how, SHUT_WR);
    assert_int_equal(read(fd, in, 1), 0);
    close(fd);
}

/* What the parent's receive comes to is reported, each time. */
static void a_relayed_failure(void **unused)
{
    (void)unused;
    const int fd = connected(), before = count_descriptors();
    fake.receive_error = ETIMEDOUT;
    const pid_t child = fork();
    if (child == 0) {
        REQUIRE_FAILS(read(fd, in, 1), ETIMEDOUT);
        REQUIRE(events_of(fd, POLLIN, GUARD) == POLLIN);
        int waiting = -1;
        REQUIRE(ioctl(fd, FIONREAD, &waiting) == 0 && waiting == 0);
        REQUIRE_FAILS(read(fd, in, 1), ETIMEDOUT);
        _exit(0);
    }
    assert_good(child);
    await_threads(before);
    fake.receive_error = 0;
    close(fd);
}

/* What a child that has gone had asked for is the parent's. */
static void a_child_that_goes(void **unused)
{
    (void)unused;
    const int fd = connected(), before = count_descriptors();
    const pid_t child = fork();
    if (child == 0) {
        REQUIRE_FAILS(recv(fd, in, 1, MSG_DONTWAIT), EAGAIN);
        _exit(0);
    }
    assert_good(child);
    await_threads(before);
    peer_says("late", 4);
    assert_int_equal(read(fd, in, 10), 4);
    assert_memory_equal(in, "late", 4);
    close(fd);
}

/* A process that is about to forbid itself most calls has its sockets relayed at once. */
static void sandboxes(void **unused)
{
    (void)unused;
    const int fd = connected(), before = count_descriptors();
    for (unsigned i = 0; i < 6; i++) {
        const pid_t child = fork();
        if (child == 0) {
            struct rlimit limit = {i < 2 ? 15 : 16, 4096};
            if (i == 0)
                REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
            else if (i == 1)
                REQUIRE(setrlimit64(RLIMIT_NOFILE, &(struct rlimit64){0, 4096}) == 0);
            else if (i == 2)
                REQUIRE(prctl(PR_SET_SECCOMP, 99ul, 0ul, 0ul, 0ul) == -1 && errno == EINVAL);
            else if (i == 3)
                REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
            else if (i == 4)
                REQUIRE(setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) == 0);
            else if (i == 5)
                REQUIRE(prctl(PR_SET_NAME, "sandbox") == 0);
            REQUIRE(socket_of(fd)->relayed == (i < 3));
            REQUIRE(socket_of(fd)->hold == (i < 3 ? IW_HOLD_OURS : IW_HOLD_PARKED));
            iw_libc()->_exit(0);
        }
        assert_good(child);
        await_threads(before);
        assert_int_equal(forks.takes, i < 3 ? i + 1 : 3);
    }
    close(fd);
}

/* A listener is both processes': each has a queue of its own. */
static void listeners(void **unused)
{
    (void)unused;
    const int fd = listening("127.0.0.1", 4), rs = fake.last;
    set_blocking(fd, false);
    const pid_t child = fork();
    if (child == 0) {
        REQUIRE(fcntl(queue[0], F_GETFL) & O_NONBLOCK);
        REQUIRE(fcntl(queue[0], F_GETFD) == FD_CLOEXEC);
        REQUIRE(events_of(fd, POLLIN, 0) == 0);
        REQUIRE(forks.takes == 1 && forks.taken == rs);
        arrives();
        REQUIRE(events_of(fd, POLLIN, GUARD) == POLLIN);
        const int server = accept(fd, NULL, NULL);
        REQUIRE(server >= 0 && is_iwarp(server) && !socket_of(server)->inherited);
        REQUIRE(fd != server && close(server) == 0);
        arrives(); /* which is nothing to the parent */
        _exit(0);
    }
    assert_good(child);
    assert_int_equal(events_of(fd, POLLIN, 0), 0);
    assert_int_equal(forks.takes, 1);
    fails(accept(fd, NULL, NULL), EAGAIN);
    arrives();
    const int server = accept(fd, NULL, NULL);
    assert_true(server >= 0);
    close(server);
    close(fd);
}

/* At the end of a process what it has is sent: TCP would do that by itself. */
static void the_end_of_a_process(void **unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++) {
        const int fd = connected(), rs = fake.last;
        const pid_t child = fork();
        if (child == 0) {
            if (i == 0)
                close(fd);
            const int own = connected();
            REQUIRE(iw_libc()->write(peers[fake.last], "x", 1) == 1);
            const int peer = iw_libc()->dup(peers[fake.last]);
            const pid_t reader = vfork();
            if (reader == 0)
                _exit(0); /* of its parent's memory: nothing of that ends */
            REQUIRE(fake.shutdowns == 0);
            REQUIRE(waitpid(reader, NULL, 0) == reader);
            REQUIRE(write(own, "last", 4) == 4);
            REQUIRE(peer >= 0);
            _exit(0);
        }
        assert_good(child);
        /* The parent's is not shut by a child that has not used it. */
        assert_int_equal(iw_libc()->recv(peers[rs], in, 1, MSG_DONTWAIT), -1);
        assert_int_equal(errno, EAGAIN);
        close(fd);
    }
}

#define FORKED(name) cmocka_unit_test_setup_teardown(name, begin_fork, end_fork)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FORKED(lost),
        FORKED(parked),
        FORKED(left_by_both),
        FORKED(listeners),
        FORKED(the_end_of_a_process),
        FORKED(relayed),
        FORKED(a_relayed_failure),
        FORKED(a_child_that_goes),
        FORKED(sandboxes),
    };
    give_rules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
