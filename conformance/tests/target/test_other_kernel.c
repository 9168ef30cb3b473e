/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets inside another kernel: the way in, commands that are watched, and what a kernel said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "host/files.h"
#include "host/text.h"
#include "target/other_kernel.h"

static const char variable[] = "IW_TEST_INSIDE";
static const volatile int no_stop;
static struct folder folder;

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
    return folder_make(&folder);
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(&folder);
    return free_descriptor() == before ? 0 : -1;
}

static char *before_error;
static int kept_error;

/* Keeps what is printed on standard error from here on. */
static void listen_to_errors(void)
{
    before_error = iw_text_format("%s/errors", folder.path);
    kept_error = dup(2);
    int to = open(before_error, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(to, 2);
    close(to);
}

static void heard(const char *expected)
{
    dup2(kept_error, 2);
    close(kept_error);
    char *said = folder_read(before_error);
    assert_string_equal(said, expected);
    free(said);
    free(before_error);
}

/* ---- the way inside ---- */

static void a_target_is_elsewhere_unless_we_are_inside_of_it(void **state)
{
    struct iw_target_spec spec = {.name = (char[]){"card"}};

    (void)state;
    unsetenv(variable);
    assert_false(iw_target_elsewhere(&spec, variable));
    spec.inside = (char[]){"enter {command}"};
    assert_true(iw_target_elsewhere(&spec, variable));
    setenv(variable, "cards", 1);
    assert_true(iw_target_elsewhere(&spec, variable));
    setenv(variable, "card", 1);
    assert_false(iw_target_elsewhere(&spec, variable));
    unsetenv(variable);
}

static void the_variable_and_the_path_are_set(void **state)
{
    const struct iw_target_spec spec = {.name = (char[]){"card"}, .inside = (char[]){"x"}};
    char *path = iw_text_copy(getenv("PATH")), *own = iw_own_folder();
    char *expected = iw_text_format("/a:/b:%s", own);

    (void)state;
    setenv("PATH", "/a:/b", 1);
    assert_true(iw_target_prepare_entry(&spec, variable));
    assert_string_equal(getenv("PATH"), expected);
    assert_string_equal(getenv(variable), "card");
    free(expected);
    expected = iw_text_format("/usr/bin:/bin:%s", own);
    unsetenv("PATH");
    assert_true(iw_target_prepare_entry(&spec, variable));
    assert_string_equal(getenv("PATH"), expected);
    setenv("PATH", path, 1);
    unsetenv(variable);
    listen_to_errors();
    bool good = iw_target_prepare_entry(&spec, "no=name");
    heard("iwarp-conform: no=name: Invalid argument\n");
    assert_false(good);
    setenv("PATH", path, 1);
    free(expected);
    free(own);
    free(path);
}

static void the_command_goes_inside(void **state)
{
    const struct iw_target_spec spec = {.inside =
                                            (char[]){"enter {writable} -- {command} {other}"}};
    char *entry = iw_target_entry_command(&spec, "run 'a b'", "/x y:/z");

    (void)state;
    assert_string_equal(entry, "enter '/x y:/z' -- run 'a b' {other}");
    free(entry);
}

/* ---- commands ---- */

static void the_status_is_that_of_a_shell(void **state)
{
    (void)state;
    assert_int_equal(iw_shell_run("exit 0", &no_stop, NULL), 0);
    assert_int_equal(iw_shell_run("exit 7", &no_stop, NULL), 7);
    assert_int_equal(iw_shell_run("kill -KILL $$", &no_stop, NULL), 137);
    assert_int_equal(iw_shell_run("no-such-command 2>/dev/null", &no_stop, NULL), 127);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* In a process of its own: its handlers stay. The command has set a trap before it sends the signal
 * to us. */
static int caught(int number, const char *name, int ended)
{
    pid_t pid = fork();
    int status = -1;

    if (!pid) {
        const volatile int *stop = iw_shell_signals();
        char *command =
            iw_text_format("trap 'exit 5' %s; kill -%s $PPID; while :; do :; done", name, name);
        int first = *stop, got = iw_shell_run(command, stop, NULL);
        _exit(first ? 91 : *stop != number ? 92 : got != ended ? 93 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void signals_are_passed_on(void **state)
{
    (void)state;
    signal(SIGHUP, SIG_DFL);
    assert_int_equal(caught(SIGINT, "INT", 5), 0);
    assert_int_equal(caught(SIGTERM, "TERM", 5), 0);
    assert_int_equal(caught(SIGHUP, "HUP", 5), 0);
}

/* nohup */
static void an_ignored_hangup_stays_ignored(void **state)
{
    void (*handler)(int) = signal(SIGHUP, SIG_IGN);
    pid_t pid = fork();
    int status = -1;

    (void)state;
    if (!pid) {
        const volatile int *stop = iw_shell_signals();
        raise(SIGHUP);
        _exit(*stop);
    }
    signal(SIGHUP, handler);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* A command ends with us. */
static void a_command_does_not_outlive_us(void **state)
{
    int ends[2];
    char octet;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (!pid) {
        close(ends[0]);
        iw_shell_run("kill -KILL $PPID; exec tail -f /dev/null", &no_stop, NULL);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(read(ends[0], &octet, 1), 0); /* nobody has the other end any more */
    close(ends[0]);
}

struct watched {
    struct iw_shell_watch watch;
    int changes;
};

/* Says so to the command, which waits for it. */
static void changed(struct iw_shell_watch *w)
{
    struct watched *watched = (struct watched *)w;
    char *name = iw_text_format("seen%d", ++watched->changes);

    free(folder_file(&folder, name, ""));
    free(name);
}

static void each_change_of_the_file_is_noticed_once(void **state)
{
    char *path = iw_text_format("%s/watched", folder.path);
    char *command =
        iw_text_format("cd %s; seen() { until test -e seen$1; do :; done; }\n"
                       "echo a >new; touch -d @1.5 new; mv new watched; seen 1\n"
                       "echo bcd >new; touch -d @1.5 new; mv new watched; seen 2\n" /* its size */
                       "touch -d @2.5 watched; seen 3\n"                            /* seconds */
                       "touch -d @2.25 watched; seen 4; exit 6",
                       folder.path);
    struct watched w = {.watch = {.path = path, .changed = changed, .stuck = true}};

    (void)state;
    assert_int_equal(iw_shell_run(command, &no_stop, &w.watch), 6);
    assert_int_equal(w.changes, 4);
    assert_false(w.watch.stuck);
    assert_int_equal(w.watch.last.st_size, 4);
    assert_int_equal(w.watch.last.st_mtim.tv_nsec, 250000000);
    assert_true(w.watch.since > 0);
    free(command);
    free(path);
}

static void set_seconds(struct iw_shell_watch *w)
{
    w->seconds = 0.001;
}

/* Nobody would end it but the watch. */
static void a_command_that_does_not_get_on_is_killed(void **state)
{
    char *path = iw_text_format("%s/watched", folder.path);
    char *command = iw_text_format("touch %s; while :; do :; done", path);
    struct iw_shell_watch none = {.seconds = 0.001};
    struct iw_shell_watch later = {.path = path, .changed = set_seconds};

    (void)state;
    assert_int_equal(iw_shell_run("while :; do :; done", &no_stop, &none), 137);
    assert_true(none.stuck);
    assert_int_equal(iw_shell_run(command, &no_stop, &later), 137);
    assert_true(later.stuck);
    later = (struct iw_shell_watch){.path = path};
    assert_int_equal(iw_shell_run("exit 3", &no_stop, &later), 3);
    assert_false(later.stuck);
    free(command);
    free(path);
}

static void a_target_is_brought_back_by_its_command(void **state)
{
    const volatile int stop = SIGTERM;
    struct iw_target_spec spec = {.restart = (char[]){"exit 0"}};

    (void)state;
    listen_to_errors();
    bool good = iw_target_restart(&spec, &no_stop);
    spec.restart = (char[]){"exit 9"};
    bool bad = iw_target_restart(&spec, &no_stop), interrupted = iw_target_restart(&spec, &stop);
    heard("iwarp-conform: restart: 'exit 9' ended with status 9\n");
    assert_true(good);
    assert_false(bad);
    assert_true(interrupted);
}

/* ---- what a kernel said ---- */

static void the_telling_line_of_a_console_is_quoted(void **state)
{
    static const struct {
        const char *console, *text;
    } rows[] = {
        {NULL, "the target's kernel ended"},
        {"echo all is well", "the target's kernel ended"},
        {"exit 3", "the target's kernel ended"},
        {"echo '[ 1.25] Kernel panic - so  '", "the target's kernel ended: Kernel panic - so"},
        {"echo '[ 1.25]Oops: 7'", "the target's kernel ended: [ 1.25]Oops: 7"},
        {"echo ' [1] Oops: 7'", "the target's kernel ended:  [1] Oops: 7"},
        {"echo BUG: one; echo BUG: two", "the target's kernel ended: BUG: one"},
        {"echo Kernel panic; echo Oops; echo BUG: x; echo UBSAN: x; echo KASAN: x",
         "the target's kernel ended: KASAN: x"},
        {"echo KASAN: x; echo UBSAN: x; echo BUG: x; echo Oops",
         "the target's kernel ended: KASAN: x"},
        {"echo Kernel panic; echo UBSAN: x; echo BUG: x", "the target's kernel ended: UBSAN: x"},
        {"echo Kernel panic; echo Oops; echo more", "the target's kernel ended: Oops"},
        {"echo Kernel panic; echo BUG: x; echo Oops", "the target's kernel ended: BUG: x"},
        {"printf 'Oops \\001'", "the target's kernel ended: Oops \xef\xbf\xbd"},
        {"cat; echo 'Oops it'\\''s'", "the target's kernel ended: Oops it's"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *console = iw_text_copy(rows[i].console);
        const struct iw_target_spec spec = {.console = console};
        char *text = iw_target_kernel_ended(&spec);

        assert_string_equal(text, rows[i].text);
        free(text);
        free(console);
    }
}

static void a_long_line_is_cut(void **state)
{
    const struct iw_target_spec spec = {.console = (char[]){"printf 'Oops %0300d' 7"}};
    char *text = iw_target_kernel_ended(&spec);

    (void)state;
    assert_int_equal(strlen(text), strlen(IW_TARGET_KERNEL_ENDED ": ") + 255);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_elsewhere_unless_we_are_inside_of_it),
        cmocka_unit_test_setup_teardown(the_variable_and_the_path_are_set, set_up, tear_down),
        cmocka_unit_test(the_command_goes_inside),
        cmocka_unit_test(the_status_is_that_of_a_shell),
        cmocka_unit_test(signals_are_passed_on),
        cmocka_unit_test(an_ignored_hangup_stays_ignored),
        cmocka_unit_test(a_command_does_not_outlive_us),
        cmocka_unit_test_setup_teardown(each_change_of_the_file_is_noticed_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_command_that_does_not_get_on_is_killed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_target_is_brought_back_by_its_command, set_up, tear_down),
        cmocka_unit_test(the_telling_line_of_a_console_is_quoted),
        cmocka_unit_test(a_long_line_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
