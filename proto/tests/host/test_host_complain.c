/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines that begin with the program's name, and its end without memory. */
#include "host/complain.h"
#include "host/text.h"
#include "spoken.h"

#include <sys/wait.h>

static void lines_begin_with_the_program(void **state)
{
    (void)state;
    begin_listening();
    iw_complain("%s is %d", "it", 7); /* before any name was set */
    assert_string_equal(heard(), "iwarp: it is 7\n");
    iw_complain_as("prog");
    begin_listening();
    iw_complain("%s is %d", "it", 8);
    assert_string_equal(heard(), "prog: it is 8\n");
    begin_listening();
    assert_int_equal(iw_complain_exit(69, "%c", 'x'), 69);
    assert_string_equal(heard(), "prog: x\n");
}

static void without_memory_the_program_ends(void **state)
{
    (void)state;
    iw_complain_as("prog");
    begin_listening();
    pid_t child = fork();
    if (child == 0) {
        iw_got(NULL);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_string_equal(heard(), "prog: no memory\n");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_begin_with_the_program),
        cmocka_unit_test(without_memory_the_program_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
