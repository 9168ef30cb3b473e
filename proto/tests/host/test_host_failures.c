/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs share, when the system refuses. */
#include "failing.h"

#include "host/address.h"
#include "host/files.h"

static void a_program_without_proc_lies_here(void **state)
{
    (void)state;
    let_fail("readlink", ENOENT);
    char *own = iw_own_folder();
    assert_true(has_failed());
    assert_string_equal(own, ".");
    free(own);
}

static void processors_that_cannot_be_counted_are_one(void **state)
{
    (void)state;
    let_fail("sched_getaffinity", EINVAL);
    assert_int_equal(iw_cpus(), 1);
    assert_true(has_failed());
}

static void a_name_that_cannot_be_resolved_is_said(void **state)
{
    char error[300] = "", text[60];
    struct sockaddr_storage any = {.ss_family = AF_INET};
    (void)state;
    let_fail("getaddrinfo", 0);
    assert_null(iw_address_resolve("127.0.0.1", 1, false, error, sizeof(error)));
    assert_string_equal(error, "cannot resolve host \"127.0.0.1\": Name or service not known");
    let_fail("getnameinfo", 0);
    iw_address_numeric((const struct sockaddr *)&any, sizeof(struct sockaddr_in), text,
                       sizeof(text));
    assert_true(has_failed());
    assert_string_equal(text, "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_without_proc_lies_here),
        cmocka_unit_test(processors_that_cannot_be_counted_are_one),
        cmocka_unit_test(a_name_that_cannot_be_resolved_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
