/* SPDX-License-Identifier: BSD-3-Clause */
/* When to print colours. */
#include "host/colour.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void words_are_read(void **state)
{
    enum iw_host_colour when = IW_HOST_COLOUR_AUTO;
    (void)state;
    assert_true(iw_host_colour_read("never", &when));
    assert_int_equal(when, IW_HOST_COLOUR_NEVER);
    assert_true(iw_host_colour_read("always", &when));
    assert_int_equal(when, IW_HOST_COLOUR_ALWAYS);
    assert_true(iw_host_colour_read("auto", &when));
    assert_int_equal(when, IW_HOST_COLOUR_AUTO);
    assert_false(iw_host_colour_read("", &when));
    assert_false(iw_host_colour_read("alway", &when));
    assert_false(iw_host_colour_read("Always", &when));
}

static void a_file_gets_none_unless_told_to(void **state)
{
    FILE *file = tmpfile();
    (void)state;
    assert_non_null(file);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_false(iw_host_colour_wanted(IW_HOST_COLOUR_AUTO, file));
    assert_true(iw_host_colour_wanted(IW_HOST_COLOUR_ALWAYS, file));
    assert_false(iw_host_colour_wanted(IW_HOST_COLOUR_NEVER, file));
    fclose(file);
}

static void a_terminal_gets_them_unless_told_not_to(void **state)
{
    int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    (void)state;
    assert_true(ours >= 0);
    assert_int_equal(grantpt(ours) || unlockpt(ours), 0);
    /* A session without a terminal would take it for its own, and end with it. */
    int fd = open(ptsname(ours), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(fd >= 0);
    FILE *terminal = fdopen(fd, "r+");
    assert_non_null(terminal);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_true(iw_host_colour_wanted(IW_HOST_COLOUR_AUTO, terminal));
    assert_false(iw_host_colour_wanted(IW_HOST_COLOUR_NEVER, terminal));
    setenv("NO_COLOR", "", 1);
    assert_true(iw_host_colour_wanted(IW_HOST_COLOUR_AUTO, terminal));
    setenv("NO_COLOR", "0", 1);
    assert_false(iw_host_colour_wanted(IW_HOST_COLOUR_AUTO, terminal));
    assert_true(iw_host_colour_wanted(IW_HOST_COLOUR_ALWAYS, terminal));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_false(iw_host_colour_wanted(IW_HOST_COLOUR_AUTO, terminal));
    assert_true(iw_host_colour_wanted(IW_HOST_COLOUR_ALWAYS, terminal));
    unsetenv("TERM");
    assert_false(iw_host_colour_wanted(IW_HOST_COLOUR_AUTO, terminal));
    fclose(terminal);
    close(ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read),
        cmocka_unit_test(a_file_gets_none_unless_told_to),
        cmocka_unit_test(a_terminal_gets_them_unless_told_not_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
