/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that the runner starts: what they find, how they end, and what they leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "host/text.h"
#include "target/connect_command.h"
#include "target/crash.h"
#include "target/process.h"

static struct folder folder;
static char error[512], *log_path;

/* The lowest descriptor that is free: what is opened is closed again. */
static int free_descriptor(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

static int before;

static int set_up(void **state)
{
    (void)state;
    before = free_descriptor();
    *error = 0;
    if (folder_make(&folder))
        return -1;
    log_path = iw_text_format("%s/log", folder.path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(log_path);
    folder_remove(&folder);
    return free_descriptor() == before ? 0 : -1;
}

static void start(struct iw_process *p, const char *command, int inherit, bool guarded)
{
    char *const argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, iw_text_copy(command), NULL};

    if (iw_process_start(p, NULL, argv, inherit, guarded, log_path, error, sizeof(error)))
        fail_msg("%s", error);
    free(argv[2]);
}

/* Starts it and waits for its end; the log is then this. */
static void logs(const char *command, int inherit, const char *expected)
{
    struct iw_process p;

    start(&p, command, inherit, false);
    assert_true(iw_process_await_end(&p, UINT64_MAX));
    iw_process_stop(&p, 0);
    char *said = folder_read(log_path);
    assert_string_equal(said, expected);
    unlink(log_path);
    free(said);
    iw_process_free(&p);
}

/* Whether a process that was ended just now, and is nobody's child here, does not come to its end.
 */
static bool still_runs(pid_t pid)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    bool ended = end.fd < 0 || poll(&end, 1, 60000) > 0;

    if (end.fd >= 0)
        close(end.fd);
    return !ended;
}

/* ---- starting ---- */

static void a_program_finds_nothing_of_ours(void **state)
{
    int other = open("/dev/null", O_RDONLY), inherited = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t mask, masked;

    (void)state;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, &masked);
    void (*on_pipe)(int) = signal(SIGPIPE, SIG_IGN), (*on_int)(int) = signal(SIGINT, SIG_IGN);
    logs("grep -E 'SigBlk|SigIgn' /proc/self/status", -1,
         "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    signal(SIGPIPE, on_pipe);
    signal(SIGINT, on_int);
    sigprocmask(SIG_SETMASK, &masked, NULL);
    logs("cat; for n in 0 1 2 3 4 5 6 7 8 9; do test ! -e /proc/$$/fd/$n || echo $n; done", -1,
         "0\n1\n2\n");
    char *command = iw_text_format("test -e /proc/$$/fd/%d || echo not inherited; "
                                   "test ! -e /proc/$$/fd/%d || echo inherited",
                                   inherited, other);
    logs(command, inherited, "");
    free(command);
    /* It is the head of a session and of a group. */
    logs("set -- $(cat /proc/$$/stat); test $5 = $$ -a $6 = $$ && echo a head", -1, "a head\n");
    logs("echo one; echo two >&2; readlink /proc/$$/fd/0", -1, "one\ntwo\n/dev/null\n");
    close(other);
    close(inherited);
}

static void a_log_is_appended_to(void **state)
{
    struct iw_process p;

    (void)state;
    free(folder_file(&folder, "log", "before\n"));
    start(&p, "echo after", -1, false);
    assert_true(iw_process_await_end(&p, UINT64_MAX));
    assert_true(iw_process_said(&p, "fte"));
    assert_false(iw_process_said(&p, "before"));
    iw_process_free(&p);
    char *said = folder_read(log_path);
    assert_string_equal(said, "before\nafter\n");
    free(said);
}

static void an_empty_log_is_removed(void **state)
{
    struct iw_process p;

    (void)state;
    start(&p, ":", -1, false);
    assert_int_equal(access(log_path, F_OK), 0);
    iw_process_free(&p);
    assert_int_equal(access(log_path, F_OK), -1);
    assert_int_equal(p.pid, 0);
    assert_null(p.log);
}

static void what_cannot_be_started_is_named(void **state)
{
    static const struct {
        const char *program, *log, *error;
    } rows[] = {
        {"/no/such/program", NULL, "cannot start /no/such/program: No such file or directory"},
        {"no-such-program-in-path", NULL,
         "cannot start no-such-program-in-path: No such file or directory"},
        {"/dev/null", NULL, "cannot start /dev/null: Permission denied"},
        {"/bin/true", "/no/such/log", "cannot start /no/such/log: No such file or directory"},
    };

    (void)state;
    for (size_t guarded = 0; guarded < 2; guarded++) {
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
            char *const argv[] = {iw_text_copy(rows[i].program), NULL};
            struct iw_process p;

            assert_int_equal(
                iw_process_start(&p, NULL, argv, -1, guarded, rows[i].log, error, sizeof(error)),
                -1);
            assert_string_equal(error, rows[i].error);
            assert_int_equal(p.pid, 0);
            assert_int_equal(p.guard, 0);
            assert_int_equal(p.pidfd, -1);
            assert_true(iw_process_await_end(&p, 0));
            iw_process_free(&p);
            free(argv[0]);
        }
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left over */
}

static void a_program_is_found_in_the_path(void **state)
{
    char *const argv[] = {(char[]){"true"}, NULL};
    struct iw_process p;

    (void)state;
    assert_int_equal(iw_process_start(&p, NULL, argv, -1, false, NULL, error, sizeof(error)), 0);
    assert_true(iw_process_await_end(&p, UINT64_MAX));
    assert_string_equal(p.ended, "true ended with status 0");
    assert_false(iw_process_said(&p, ""));
    iw_process_free(&p);
}

/* ---- ending ---- */

static void an_end_is_told_in_one_line(void **state)
{
    static const struct {
        const char *command, *ended;
        bool failed, crashed;
    } rows[] = {
        {"exit 0", "sh ended with status 0", false, false},
        {"exit 3", "sh ended with status 3", true, false},
        {"exit 139", "sh ended with status 139", true, true},
        {"exit 137", "sh ended with status 137", true, false},
        {"exit 11", "sh ended with status 11", true, false},
        {"kill -SEGV $$", "sh was killed by signal 11 (Segmentation fault)", true, true},
        {"kill -BUS $$", "sh was killed by signal 7 (Bus error)", true, true},
        {"kill -ILL $$", "sh was killed by signal 4 (Illegal instruction)", true, true},
        {"kill -FPE $$", "sh was killed by signal 8 (Floating point exception)", true, true},
        {"kill -ABRT $$", "sh was killed by signal 6 (Aborted)", true, true},
        {"kill -TRAP $$", "sh was killed by signal 5 (Trace/breakpoint trap)", true, true},
        {"kill -SYS $$", "sh was killed by signal 31 (Bad system call)", true, true},
        {"kill -TERM $$", "sh was killed by signal 15 (Terminated)", true, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_process p;
        char *command = iw_text_format("ulimit -c 0; %s", rows[i].command);

        start(&p, command, -1, false);
        assert_true(iw_process_await_end(&p, UINT64_MAX));
        assert_string_equal(p.ended, rows[i].ended);
        assert_int_equal(p.failed, rows[i].failed);
        assert_int_equal(p.crashed, rows[i].crashed);
        iw_process_free(&p);
        free(command);
    }
}

/* As tail, which is not the shell that starts it. */
static void start_tail(struct iw_process *p, const char *command)
{
    start(p, command, -1, false);
    while (strcmp(p->called, "tail") != 0) {
        iw_process_look_at(p, 0);
        assert_false(iw_process_await_end(p, 0));
    }
}

static void a_shell_is_not_named_for_its_program(void **state)
{
    static const struct {
        const char *command, *ended;
        int signal;
        bool crashed;
    } rows[] = {
        {"tail -f /dev/null; exit $?",
         "tail was killed by signal 11 (Segmentation fault): sh ended with status 139", SIGSEGV,
         true},
        {"tail -f /dev/null; exit 3", "tail ended: sh ended with status 3", SIGSEGV, false},
        {"tail -f /dev/null; kill -KILL $$", "tail ended: sh was killed by signal 9 (Killed)",
         SIGTERM, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_process p;
        char *command = iw_text_format("ulimit -c 0; %s", rows[i].command);

        start_tail(&p, command);
        assert_false(iw_process_forsaken(&p));
        kill(p.program, rows[i].signal);
        assert_true(iw_process_await_end(&p, UINT64_MAX));
        assert_string_equal(p.ended, rows[i].ended);
        assert_int_equal(p.crashed, rows[i].crashed);
        iw_process_free(&p);
        free(command);
    }
}

static void a_program_may_leave_its_shell(void **state)
{
    struct iw_process p;

    (void)state;
    start_tail(&p, "tail -f /dev/null & while :; do read line <&0 || :; wait; done");
    assert_false(iw_process_forsaken(&p));
    kill(p.program, SIGKILL);
    while (!iw_process_forsaken(&p))
        assert_true(strlen(p.ended) == 0);
    assert_string_equal(p.ended, "tail ended, and sh, which started it, goes on");
    iw_process_free(&p);
}

/* Also where its shell has ended before: what it says then is worth the wait. */
static void a_program_may_say_something_at_its_end(void **state)
{
    struct iw_process p;
    char line[256];

    (void)state;
    start(
        &p,
        "(trap 'kill $!; echo \"==1==ERROR: LeakSanitizer: detected memory leaks\"; exit 3' TERM; "
        "tail -f /dev/null & echo here; wait); true",
        -1, false);
    while (!iw_process_said(&p, "here"))
        assert_false(iw_process_await_end(&p, 0));
    iw_process_stop(&p, IW_PROCESS_AT_ONCE);
    assert_true(iw_process_trouble(&p, line, sizeof(line)));
    assert_string_equal(line, "LeakSanitizer: leak");
    iw_process_free(&p);
}

static void one_that_hangs_says_where(void **state)
{
    struct iw_process p;
    struct iw_crash crash;

    (void)state;
    start(&p,
          "trap 'echo \"==1==ERROR: AddressSanitizer: ABRT on address\"; echo \"    #0 0x1 in loop "
          "a.c:7\"; exit 1' ABRT; trap '' TERM; echo here; while :; do :; done",
          -1, false);
    while (!iw_process_said(&p, "here"))
        assert_false(iw_process_await_end(&p, 0));
    iw_process_abort(&p);
    assert_true(iw_process_report(&p, &crash));
    assert_string_equal(crash.function, "loop");
    iw_process_free(&p);
}

static void one_that_runs_is_asked_to_end(void **state)
{
    struct iw_process p;

    (void)state;
    start(&p, "trap 'echo bye; exit 4' TERM; echo here; while :; do :; done", -1, false);
    while (!iw_process_said(&p, "here"))
        assert_false(iw_process_await_end(&p, 0));
    assert_false(iw_process_await_end(&p, 0));
    pid_t pid = p.pid;
    iw_process_stop(&p, 0);
    assert_string_equal(p.ended, "sh ended with status 4");
    assert_true(iw_process_said(&p, "bye"));
    assert_int_equal(p.pid, 0);
    assert_int_equal(p.pidfd, -1);
    assert_int_equal(kill(pid, 0), -1); /* it was reaped */
    iw_process_stop(&p, 0);
    iw_process_free(&p);
}

/* Without a descriptor (Linux before 5.3) it is looked for again and again. */
static void an_end_is_found_without_a_descriptor(void **state)
{
    struct iw_process p;
    int own = (int)syscall(SYS_pidfd_open, getpid(), 0);

    (void)state;
    start(&p, "exit 3", -1, false);
    assert_int_equal(p.pidfd >= 0, own >= 0);
    if (own >= 0) {
        close(own);
        close(p.pidfd);
        p.pidfd = -1;
    }
    assert_true(iw_process_await_end(&p, UINT64_MAX));
    assert_string_equal(p.ended, "sh ended with status 3");
    iw_process_free(&p);
}

/* One that ends by itself meanwhile is not asked. */
static void patience_leaves_one_alone(void **state)
{
    struct iw_process p;

    (void)state;
    start(&p, "trap 'exit 4' TERM; test -e /; exit 5", -1, false);
    iw_process_stop(&p, 1e6);
    assert_string_equal(p.ended, "sh ended with status 5");
    iw_process_free(&p);
}

static pid_t pid_in(const char *name)
{
    char *path = iw_text_format("%s/%s", folder.path, name), *text = NULL;

    while (text == NULL || strchr(text, '\n') == NULL) {
        free(text);
        text = folder_read(path);
    }
    pid_t pid = (pid_t)strtol(text, NULL, 10);
    free(text);
    free(path);
    return pid;
}

static void what_a_program_leaves_is_ended_with_it(void **state)
{
    for (int guarded = 0; guarded < 2; guarded++) {
        char *command = iw_text_format("tail -f /dev/null & echo $! >%s/left", folder.path);
        struct iw_process p;

        (void)state;
        start(&p, command, -1, guarded);
        assert_true(iw_process_await_end(&p, UINT64_MAX));
        assert_int_equal(p.guard > 0, guarded);
        pid_t left = pid_in("left");
        assert_int_equal(kill(left, 0), 0);
        iw_process_free(&p);
        assert_false(still_runs(left));
        assert_int_equal(p.guard, 0);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        free(command);
    }
}

/* However we end. */
static void nothing_outlives_us(void **state)
{
    for (int guarded = 0; guarded < 2; guarded++) {
        pid_t pid = fork();

        (void)state;
        if (!pid) {
            char *command = iw_text_format(guarded ? "tail -f /dev/null & echo $! >%s/own1; wait"
                                                   : "echo $$ >%s/own0; exec tail -f /dev/null",
                                           folder.path);
            struct iw_process p;

            start(&p, command, -1, guarded);
            pid_in(guarded ? "own1" : "own0");
            kill(getpid(), SIGKILL);
        }
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_false(still_runs(pid_in(guarded ? "own1" : "own0")));
    }
}

/* ---- the log ---- */

static void reports_of_sanitizers_are_found_in_the_log(void **state)
{
    static const char *const reports[][2] = {
        {"==1==ERROR: AddressSanitizer: heap-use-after-free",
         "AddressSanitizer: heap-use-after-free"},
        {"==1==ERROR: LeakSanitizer: detected memory leaks", "LeakSanitizer: leak"},
        {"==1==WARNING: MemorySanitizer: use-of-uninitialized-value",
         "MemorySanitizer: use-of-uninitialized-value"},
        {"f.c:7:3: runtime error: shift exponent",
         "UndefinedBehaviorSanitizer: shift exponent (f.c:7)"},
        {"WARNING: ThreadSanitizer: data race", "ThreadSanitizer: data race"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++) {
        char *command = iw_text_format("echo fine; echo '%s'; echo '%s'; echo rest", reports[i][0],
                                       "==2==ERROR: AddressSanitizer: the second");
        char line[256] = "none";
        struct iw_process p;

        start(&p, command, -1, false);
        assert_true(iw_process_await_end(&p, UINT64_MAX));
        assert_true(iw_process_said(&p, "fine"));
        assert_true(iw_process_trouble(&p, line, sizeof(line)));
        assert_string_equal(line, reports[i][1]);
        assert_false(iw_process_trouble(&p, line, sizeof(line)));
        assert_false(iw_process_said(&p, "rest"));
        iw_process_free(&p);
        free(command);
    }
    struct iw_process none = {0};
    char line[8] = "none";
    assert_false(iw_process_trouble(&none, line, sizeof(line)));
    assert_string_equal(line, "none");
}

/* ---- commands that have the peer connect ---- */

static void the_end_of_the_latest_command_counts(void **state)
{
    struct iw_connect c = {.command = "echo {host} {port} {other}; exit {port}"};
    bool failed = true;

    (void)state;
    assert_null(iw_connect_ended(&c, &failed));
    assert_false(failed);
    assert_int_equal(iw_connect_start(&c, NULL, "::1", 7, log_path, error, sizeof(error)), 0);
    assert_int_equal(c.count, 1);
    const char *how = NULL;
    while (how == NULL)
        how = iw_connect_ended(&c, &failed);
    assert_string_equal(how, "sh ended with status 7");
    assert_true(failed);
    assert_int_equal(iw_connect_start(&c, NULL, "10.0.0.1", 0, log_path, error, sizeof(error)), 0);
    for (how = NULL; how == NULL;)
        how = iw_connect_ended(&c, &failed);
    assert_string_equal(how, "sh ended with status 0");
    assert_false(failed);
    assert_null(iw_connect_crashed(&c, 0));
    char *said = folder_read(log_path);
    assert_string_equal(said, "::1 7 {other}\n10.0.0.1 0 {other}\n");
    free(said);
    iw_connect_stop(&c, (char[8]){""}, 8);
    assert_int_equal(c.count, 0);
    assert_null(c.running);
}

static void a_command_that_crashed_is_found_among_others(void **state)
{
    struct iw_connect c = {.command = "exit {port}"};
    char trouble[128] = "";

    (void)state;
    assert_int_equal(iw_connect_start(&c, NULL, "h", 3, log_path, error, sizeof(error)), 0);
    assert_int_equal(iw_connect_start(&c, NULL, "h", 134, log_path, error, sizeof(error)), 0);
    assert_int_equal(iw_connect_start(&c, NULL, "h", 139, log_path, error, sizeof(error)), 0);
    assert_string_equal(iw_connect_crashed(&c, UINT64_MAX), "sh ended with status 134");
    iw_connect_stop(&c, trouble, sizeof(trouble));
    assert_string_equal(trouble, "");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void the_first_trouble_of_commands_is_kept(void **state)
{
    struct iw_connect c = {.command = "echo 'ERROR: AddressSanitizer: {port}'"};
    char trouble[128] = "";
    bool failed;

    (void)state;
    for (uint16_t port = 1; port <= 2; port++) {
        assert_int_equal(iw_connect_start(&c, NULL, "h", port, log_path, error, sizeof(error)), 0);
        while (iw_connect_ended(&c, &failed) == NULL)
            ;
    }
    iw_connect_stop(&c, trouble, sizeof(trouble));
    assert_string_equal(trouble, "AddressSanitizer: 1");
}

static void a_case_has_so_many_connections_and_no_more(void **state)
{
    struct iw_connect c = {.command = "exit 0"};
    struct iw_process many[IW_CONNECT_MAX] = {{0}};

    (void)state;
    c.running = many;
    c.count = IW_CONNECT_MAX;
    assert_int_equal(iw_connect_start(&c, NULL, "h", 1, NULL, error, sizeof(error)), -1);
    assert_string_equal(error, "the case wants more than 64 connections");
    assert_int_equal(c.count, IW_CONNECT_MAX);
    /* One that cannot be started is none. */
    c = (struct iw_connect){.command = "exit 0"};
    assert_int_equal(iw_connect_start(&c, NULL, "h", 1, "/no/log", error, sizeof(error)), -1);
    assert_string_equal(error, "cannot start /no/log: No such file or directory");
    assert_int_equal(c.count, 0);
    iw_connect_stop(&c, (char[8]){""}, 8);
}

/* On standard error. */
static void a_person_is_asked(void **state)
{
    struct iw_connect c = {.ask = "connect to {host} port {port}", .within = 2.5};
    char *path = iw_text_format("%s/asked", folder.path);
    int err = dup(2), to = open(path, O_WRONLY | O_CREAT, 0600);
    bool failed = true;

    (void)state;
    dup2(to, 2);
    int status = iw_connect_start(&c, NULL, "10.0.0.1", 65535, NULL, error, sizeof(error));
    dup2(err, 2);
    close(err);
    close(to);
    char *said = folder_read(path);
    assert_int_equal(status, 0);
    assert_string_equal(said, "iwarp-conform: please do within 2.5 s: connect to 10.0.0.1 port "
                              "65535\n");
    assert_int_equal(c.count, 0);
    assert_null(iw_connect_ended(&c, &failed));
    assert_false(failed);
    free(said);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_program_finds_nothing_of_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_log_is_appended_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_log_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_started_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_program_is_found_in_the_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_is_told_in_one_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_shell_is_not_named_for_its_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_program_may_leave_its_shell, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_program_may_say_something_at_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_hangs_says_where, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_runs_is_asked_to_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_is_found_without_a_descriptor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(patience_leaves_one_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_program_leaves_is_ended_with_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_outlives_us, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reports_of_sanitizers_are_found_in_the_log, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_the_latest_command_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_command_that_crashed_is_found_among_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_first_trouble_of_commands_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_case_has_so_many_connections_and_no_more, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_person_is_asked, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
