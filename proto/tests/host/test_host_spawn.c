/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that are started: where their streams lead, what ends them, what cannot be executed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/spawn.h"

static int status_of(pid_t pid)
{
    int status = -1;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Returns what comes from a pipe until its last writer is gone. */
static const char *read_all(int fd)
{
    static char text[256];
    size_t length = 0;
    ssize_t got;
    while ((got = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    close(fd);
    return text;
}

static void streams_lead_where_they_should(void **state)
{
    int in[2], out[2], err[2];
    (void)state;
    assert_false(pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC));
    assert_int_equal(write(in[1], "abc\n", 4), 4);
    close(in[1]);
    const struct iw_spawn how = {.input = in[0], .output = out[1], .errors = err[1]};
    pid_t pid = iw_spawn_shell("cat; echo wrong >&2; exit 3", &how);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    int status = status_of(pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_string_equal(read_all(out[0]), "abc\n");
    assert_string_equal(read_all(err[0]), "wrong\n");
}

static void nowhere_is_empty_and_takes_all(void **state)
{
    const struct iw_spawn how = {
        .input = IW_SPAWN_NOWHERE, .output = IW_SPAWN_NOWHERE, .errors = IW_SPAWN_NOWHERE};
    (void)state;
    assert_int_equal(
        status_of(iw_spawn_shell("read line && exit 1; echo a && echo b >&2 && exit 7", &how)),
        7 << 8);
}

static void what_cannot_be_executed_is_an_error(void **state)
{
    char *const argv[] = {(char *)(uintptr_t) "x", NULL};
    (void)state;
    assert_int_equal(iw_spawn("/nonexistent/program", argv, NULL), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(iw_spawn("/", argv, NULL), -1);
    assert_int_equal(errno, EACCES);
    const struct iw_spawn how = {.output = 9999};
    assert_int_equal(iw_spawn("/bin/true", argv, &how), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
    assert_int_equal(errno, ECHILD);
}

static void it_may_head_a_session(void **state)
{
    int in[2];
    (void)state;
    for (int session = 0; session < 2; session++) {
        assert_false(pipe2(in, O_CLOEXEC));
        const struct iw_spawn how = {.input = in[0], .session = session};
        pid_t pid = iw_spawn_shell("read line", &how);
        assert_true(pid > 0);
        assert_int_equal(getsid(pid), session ? pid : getsid(0));
        assert_int_equal(getpgid(pid), session ? pid : getpgid(0));
        close(in[0]);
        close(in[1]);
        (void)status_of(pid);
    }
}

/* Its end of the pipe is closed although nobody closes the one from which it reads. */
static void it_ends_with_us(void **state)
{
    int in[2], out[2];
    (void)state;
    assert_false(pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC));
    pid_t parent = fork();
    if (parent == 0) {
        const struct iw_spawn how = {.input = in[0], .output = out[1], .death_signal = SIGTERM};
        _exit(iw_spawn_shell("echo here; read line; echo too late", &how) > 0 ? 0 : 1);
    }
    assert_int_equal(status_of(parent), 0);
    close(out[1]);
    const char *said = read_all(out[0]);
    assert_true(strcmp(said, "here\n") == 0 || *said == '\0');
    close(in[0]);
    close(in[1]);
}

static void it_ends_after_its_time(void **state)
{
    int in[2];
    (void)state;
    assert_false(pipe2(in, O_CLOEXEC));
    const struct iw_spawn how = {.input = in[0], .seconds = 1};
    int status = status_of(iw_spawn_shell("read line", &how));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGALRM);
    close(in[0]);
    close(in[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_lead_where_they_should),
        cmocka_unit_test(nowhere_is_empty_and_takes_all),
        cmocka_unit_test(what_cannot_be_executed_is_an_error),
        cmocka_unit_test(it_may_head_a_session),
        cmocka_unit_test(it_ends_with_us),
        cmocka_unit_test(it_ends_after_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
