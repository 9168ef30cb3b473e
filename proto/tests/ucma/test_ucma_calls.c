/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the C library that see the device: each one, about the device and about a file. */
#include "ucma_commands.h"

#include <dlfcn.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __poll_chk(struct pollfd *list, nfds_t count, int ms, size_t room);

enum way { OPEN, OPEN64, OPENAT, OPENAT64, OPEN_2, OPEN64_2, WAYS };

static int open_by(enum way way, const char *path, int flags)
{
    switch (way) {
    case OPEN:
        return open(path, flags, 0640);
    case OPEN64:
        return open64(path, flags, 0640);
    case OPENAT:
        return openat(AT_FDCWD, path, flags, 0640);
    case OPENAT64:
        return openat64(AT_FDCWD, path, flags, 0640);
    case OPEN_2:
        return __open_2(path, flags);
    default:
        return __open64_2(path, flags);
    }
}

static void expect_flags(int fd, bool closes, bool blocks)
{
    assert_int_equal(fcntl(fd, F_GETFD), closes ? FD_CLOEXEC : 0);
    assert_int_equal((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0, blocks);
}

static void the_device_is_opened(void **state)
{
    (void)state;
    for (enum way way = OPEN; way < WAYS; way++)
        for (unsigned i = 0; i < 4; i++) {
            const bool closes = (i & 1) != 0, blocks = (i & 2) != 0;
            struct stat status;
            struct stat64 status64;
            int fd =
                open_by(way, DEVICE, O_RDWR | (closes ? O_CLOEXEC : 0) | (blocks ? 0 : O_NONBLOCK));
            assert_true(fd >= 0);
            expect_flags(fd, closes, blocks);
            assert_int_equal(fstat(fd, &status), 0);
            assert_int_equal(status.st_mode, S_IFCHR | 0666);
            assert_int_equal(fstat64(fd, &status64), 0);
            assert_int_equal(status64.st_mode, S_IFCHR | 0666);
            assert_int_equal(destroy(fd, create(fd, 1)), 0);
            assert_int_equal(close(fd), 0);
            /* The number is nobody's now. */
            assert_int_equal(fstat(fd, &status), -1);
            assert_int_equal(errno, EBADF);
        }
}

static void files_are_opened(void **state)
{
    char folder[] = "/tmp/test_ucma_calls-XXXXXX", path[64];
    struct stat status;
    (void)state;
    const mode_t before = umask(0);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/file", folder);
    for (enum way way = OPEN; way < WAYS; way++) {
        errno = 0;
        assert_int_equal(open_by(way, path, O_WRONLY), -1);
        assert_int_equal(errno, ENOENT);
    }
    for (enum way way = OPEN; way <= OPENAT64; way++) {
        /* A file that is made has the mode that it is made with. */
        int fd = open_by(way, path, O_RDWR | O_CREAT | O_EXCL);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &status), 0);
        assert_int_equal(status.st_mode, S_IFREG | 0640);
        assert_int_equal(write(fd, "abc", 3), 3);
        assert_int_equal(close(fd), 0);
        assert_int_equal(unlink(path), 0);
        fd = open_by(way, folder, O_RDWR | O_TMPFILE);
        if (fd < 0)
            continue; /* a file system without such files */
        assert_int_equal(fstat(fd, &status), 0);
        assert_int_equal(status.st_mode, S_IFREG | 0640);
        assert_int_equal(close(fd), 0);
    }
    int folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
    int fd = openat(folder_fd, "file", O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    for (enum way way = OPEN; way < WAYS; way++) {
        fd = open_by(way, path, O_RDONLY | O_CLOEXEC);
        expect_flags(fd, true, true);
        assert_int_equal(close(fd), 0);
    }
    /* Names that are not the device's. */
    for (enum way way = OPEN; way < WAYS; way++) {
        assert_int_equal(open_by(way, DEVICE "x", O_RDWR), -1);
        assert_int_equal(open_by(way, "/dev/infiniband", O_RDWR), -1);
    }
    assert_int_equal(unlinkat(folder_fd, "file", 0), 0);
    close(folder_fd);
    assert_int_equal(rmdir(folder), 0);
    umask(before);
}

/* The C library's functions say that their name is never NULL; programs ask all the same. */
static void no_name_is_an_error(void **state)
{
    static const struct {
        const char *name;
        bool more_may_follow;
    } functions[] = {{"open", true}, {"open64", true}, {"__open_2", false}, {"__open64_2", false}};
    static const char *const functions_at[] = {"openat", "openat64"};
    (void)state;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        int (*checked)(const char *, int), (*plain)(const char *, int, ...);
        void *symbol = dlsym(RTLD_DEFAULT, functions[i].name);
        memcpy(&checked, &symbol, sizeof(symbol));
        memcpy(&plain, &symbol, sizeof(symbol));
        errno = 0;
        assert_int_equal(functions[i].more_may_follow ? plain(NULL, O_RDWR) : checked(NULL, O_RDWR),
                         -1);
        assert_int_equal(errno, EFAULT);
    }
    for (size_t i = 0; i < sizeof(functions_at) / sizeof(functions_at[0]); i++) {
        int (*function)(int, const char *, int, ...);
        void *symbol = dlsym(RTLD_DEFAULT, functions_at[i]);
        memcpy(&function, &symbol, sizeof(symbol));
        errno = 0;
        assert_int_equal(function(AT_FDCWD, NULL, O_RDWR), -1);
        assert_int_equal(errno, EFAULT);
    }
}

static void what_is_no_device_is_as_ever(void **state)
{
    int ends[2];
    char text[8];
    struct stat status;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "abcd", 4), 4);
    assert_int_equal(read(ends[0], text, sizeof(text)), 4);
    assert_memory_equal(text, "abcd", 4);
    assert_int_equal(fstat(ends[0], &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
    static const int numbers[] = {-1, 65535, 65536, 1 << 30};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        errno = 0;
        assert_int_equal(close(numbers[i]), -1);
        assert_int_equal(errno, EBADF);
        errno = 0;
        assert_int_equal(write(numbers[i], "x", 1), -1);
        assert_int_equal(errno, EBADF);
    }
}

static void sockets_are_made(void **state)
{
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0); /* of another family than NETLINK_RDMA */
    assert_int_equal(close(fd), 0);
    errno = 0;
    assert_int_equal(socket(AF_NETLINK, SOCK_RAW, 20), -1);
    assert_int_equal(errno, EPROTONOSUPPORT);
    fd = socket(AF_INET, SOCK_RAW, 20); /* that protocol of another domain */
    assert_true(fd >= 0 || errno == EPERM || errno == EPROTONOSUPPORT);
    if (fd >= 0)
        close(fd);
}

/* Asks about a list of the device, of nobody and of a readable one, in turns. */
static void poll_list(int fd, int other, nfds_t count, bool checked, bool event)
{
    struct pollfd list[70];
    int expected = 0;
    for (nfds_t i = 0; i < count; i++) {
        const int turn[] = {fd, -1, other};
        list[i] = (struct pollfd){.fd = turn[i % 3], .events = POLLIN, .revents = 0x77};
        expected += i % 3 == 2 || (i % 3 == 0 && event);
    }
    assert_int_equal(checked ? __poll_chk(list, count, 0, sizeof(list)) : poll(list, count, 0),
                     expected);
    for (nfds_t i = 0; i < count; i++)
        assert_int_equal(list[i].revents, i % 3 == 2 || (i % 3 == 0 && event) ? POLLIN : 0);
}

static void lists_are_polled(void **state)
{
    static const nfds_t counts[] = {0, 1, 2, 3, 10, 63, 64, 65, 70};
    const struct sockaddr_in to = at_loopback(htons(9));
    (void)state;
    int fd = open_it(0), other = eventfd(1, 0);
    uint32_t id = create(fd, 1);
    for (unsigned event = 0; event < 2; event++) {
        if (event != 0)
            assert_int_equal(resolve(fd, id, NULL, &to, sizeof(to)), 0);
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
            for (unsigned checked = 0; checked < 2; checked++)
                poll_list(fd, other, counts[i], checked != 0, event != 0);
    }
    (void)get(fd, ADDR_RESOLVED);
    struct pollfd one = {.fd = fd, .events = POLLIN};
    assert_int_equal(__poll_chk(&one, 1, 2, sizeof(one)), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(other), 0);
}

/* A process without descriptors has no device; one that has them again has. */
static void no_device_without_descriptors(void **state)
{
    struct rlimit before, none;
    (void)state;
    int fd = open_it(0); /* the engine runs */
    const unsigned open_now = count_descriptors();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){3, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    errno = 0;
    const int got = open(DEVICE, O_RDWR);
    const int error = errno;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(got, -1);
    assert_int_equal(error, EMFILE);
    assert_int_equal(count_descriptors(), open_now);
    assert_int_equal(close(fd), 0);
}

/* The device has no descriptor of 65,536 or more. */
static void the_highest_descriptor(void **state)
{
    struct rlimit limit, before;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = (struct rlimit){65540, before.rlim_max > 65540 ? before.rlim_max : 65540};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        skip();
    static int files[65540];
    unsigned count = 0;
    int fd;
    while ((fd = eventfd(0, 0)) >= 0 && fd < 65534)
        files[count++] = fd;
    assert_int_equal(fd, 65534);
    int last = open(DEVICE, O_RDWR);
    assert_int_equal(last, 65535);
    assert_int_equal(destroy(last, create(last, 1)), 0);
    errno = 0;
    assert_int_equal(open(DEVICE, O_RDWR), -1);
    assert_int_equal(errno, EMFILE);
    /* Its number is free for others. */
    int other = eventfd(0, 0);
    assert_int_equal(other, 65536);
    struct pollfd list = {.fd = other, .events = POLLIN};
    assert_int_equal(poll(&list, 1, 0), 0);
    assert_int_equal(write(other, "\1\0\0\0\0\0\0\0", 8), 8);
    assert_int_equal(poll(&list, 1, 0), 1);
    assert_int_equal(close(other), 0);
    assert_int_equal(close(last), 0);
    assert_int_equal(close(fd), 0);
    while (count > 0)
        close(files[--count]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_is_opened),
        cmocka_unit_test(files_are_opened),
        cmocka_unit_test(no_name_is_an_error),
        cmocka_unit_test(what_is_no_device_is_as_ever),
        cmocka_unit_test(sockets_are_made),
        cmocka_unit_test(lists_are_polled),
        cmocka_unit_test(no_device_without_descriptors),
        cmocka_unit_test(the_highest_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
