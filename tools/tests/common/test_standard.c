/* SPDX-License-Identifier: BSD-3-Clause */
/* Standard descriptors, output that is lost, and signals that become readable. */
#include "standard.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "../caught.h"

/* The numbers of standard descriptors that are closed are taken, so that no file gets them; reading
 * and writing them fails as before. */
static void test_closed_descriptors(void **state)
{
    (void)state;
    for (int fd = 0; fd < 3; fd++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            char octet = 'x';
            for (int k = 0; k < 3; k++)
                if (fcntl(k, F_GETFD) < 0)
                    (void)!dup2(open("/dev/null", O_RDWR), k);
            close(fd);
            iw_standard_open();
            int next = open("/dev/null", O_RDONLY);
            ssize_t n = fd == 0 ? read(0, &octet, 1) : write(fd, &octet, 1);
            _exit(next <= 2 ? 11 : n >= 0 || errno != EBADF ? 12 : 13);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 13);
    }
}

static int no_null; /* 1: it cannot be opened, 2: it comes as another descriptor */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
    if (no_null == 1)
        return -1;
    int fd = __real_open(path, flags);
    return no_null == 2 ? fd + 1 : fd;
}

/* A descriptor that cannot be taken ends the program. */
static void test_no_descriptor(void **state)
{
    (void)state;
    for (int i = 1; i <= 2; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            close(1);
            no_null = i;
            iw_standard_open();
            _exit(9);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 70);
    }
}

/* What it says if standard output goes there. */
static void expect_close(const char *path, const char *text, int before, int after)
{
    char name[] = "program";
    int to = open(path, O_WRONLY), kept = dup(1);
    assert_true(to >= 0);
    catch_from(2);
    assert_int_equal(dup2(to, 1), 1);
    close(to);
    fputs("x", stdout);
    int status = iw_standard_close(name, before);
    clearerr(stdout);
    assert_int_equal(dup2(kept, 1), 1);
    close(kept);
    assert_string_equal(caught(), text);
    assert_int_equal(status, after);
}

static void test_lost_output(void **state)
{
    static const char full[] =
        "program: cannot write to standard output: No space left on device\n";
    (void)state;
    expect_close("/dev/null", "", 0, 0);
    expect_close("/dev/null", "", 69, 69);
    expect_close("/dev/full", full, 0, 73);
    expect_close("/dev/full", full, 69, 69);
    /* What was lost before is no news of the system's. */
    int to = open("/dev/full", O_WRONLY), kept = dup(1);
    assert_true(to >= 0);
    catch_from(2);
    assert_int_equal(dup2(to, 1), 1);
    fputs("x", stdout);
    fflush(stdout);
    assert_int_equal(dup2(kept, 1), 1);
    int status = iw_standard_close("program", 0);
    clearerr(stdout);
    close(kept);
    close(to);
    assert_string_equal(caught(), "program: cannot write to standard output\n");
    assert_int_equal(status, 73);
}

static void test_signals(void **state)
{
    static const int all[] = {SIGTERM, SIGINT, SIGUSR2};
    struct signalfd_siginfo info;
    (void)state;
    int fd = iw_standard_signals(SIGUSR2);
    assert_true(fd >= 0);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(read(fd, &info, sizeof(info)), -1);
    assert_int_equal(errno, EAGAIN);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(raise(all[i]), 0);
        assert_int_equal(read(fd, &info, sizeof(info)), sizeof(info));
        assert_int_equal(info.ssi_signo, all[i]);
    }
    sigset_t blocked;
    assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &blocked), 0);
    assert_false(sigismember(&blocked, SIGHUP));
    assert_int_equal(raise(SIGPIPE), 0); /* nothing happens */
    close(fd);
}

/* SIGTERM is caught, and is no interrupt; the second signal of a kind has its effect. */
static void test_end_caught(void **state)
{
    (void)state;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        iw_standard_catch_end();
        if (iw_standard_ended() != 0 || iw_standard_interrupted())
            _exit(11);
        raise(SIGTERM);
        if (iw_standard_ended() != SIGTERM || iw_standard_interrupted())
            _exit(12);
        raise(SIGINT);
        if (iw_standard_ended() != SIGINT || !iw_standard_interrupted())
            _exit(13);
        raise(SIGTERM);
        _exit(14);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_closed_descriptors, catch_no_more),
        cmocka_unit_test_teardown(test_no_descriptor, catch_no_more),
        cmocka_unit_test_teardown(test_lost_output, catch_no_more),
        cmocka_unit_test(test_end_caught), /* before the next one blocks signals */
        cmocka_unit_test_teardown(test_signals, catch_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
