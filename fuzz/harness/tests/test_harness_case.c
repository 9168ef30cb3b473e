/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of case files: what it asks the loader for, and what it notices. */
#include "spy.h"

#include <stdio.h>

#include "oracle/memory_file.h"
#include "script/script_case.h"

static struct {
    int result;
    const char *error;
    struct iw_case cases[2];
    size_t count;
} fake;

int iw_case_load(const char *file, const struct iw_run_options *options, struct iw_case **out,
                 size_t *count, char *error, size_t room)
{
    char content[8];
    FILE *in = fopen(file, "rb");

    assert_non_null(in);
    size_t length = fread(content, 1, sizeof(content), in);
    fclose(in);
    assert_string_equal(file, iw_fuzz_file(0));
    spy_note("load %zu of %.*s, library %s, patience %g, deadline %g, scale %g, memory %zu\n",
             length, (int)length, content, strrchr(options->library, '/'), options->patience,
             options->deadline, options->time_scale, (size_t)options->memory);
    if (fake.error != NULL)
        snprintf(error, room, "%s", fake.error);
    *out = fake.cases;
    *count = fake.count;
    return fake.result;
}

void iw_case_free_all(struct iw_case *cases, size_t count)
{
    assert_ptr_equal(cases, fake.cases);
    spy_note("free %zu\n", count);
}

static char id[] = "id", purpose[] = "purpose";
static const struct iw_rule rule, *rules[2][2];

static void again(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.count = 2;
    for (size_t i = 0; i < 2; i++) {
        rules[i][0] = rules[i][1] = &rule;
        fake.cases[i].id = id;
        fake.cases[i].purpose = purpose;
        fake.cases[i].rules = rules[i];
        fake.cases[i].n_rules = 2;
    }
}

#define SAYS(expected) assert_string_equal(spy_runs(&iw_fuzz_harness, "616263"), expected)

static void cases_are_loaded(void **state)
{
    (void)state;
    again();
    (void)unsetenv("IW_SCRIPT_HEAP");
    SAYS("");
    assert_string_equal(getenv("IW_SCRIPT_HEAP"), "malloc");
    spy_noted("load 3 of abc, library /lib, patience 0.05, deadline 0.2, scale 1, memory 16777216\n"
              "free 2\n");
    fake.result = -1;
    fake.error = "wrong";
    SAYS("");
    assert_null(strstr(spy_notes(), "free"));
}

static void errors_have_one_line(void **state)
{
    static const char none[] = "case: no line says what is wrong";

    (void)state;
    for (int result = -1; result < 2; result += 2) {
        again();
        fake.result = result;
        SAYS(none);
        fake.error = "two\nlines";
        SAYS(none);
    }
}

static void cases_have_names_and_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        again();
        fake.cases[i].id = NULL;
        SAYS("case: one without a name");
        again();
        fake.cases[i].id = purpose + 7;
        SAYS("case: one without a name");
        again();
        fake.cases[i].purpose = NULL;
        SAYS("case: one without a name");
        for (size_t k = 0; k < 2; k++) {
            again();
            rules[i][k] = NULL;
            SAYS("case: a rule that there is not");
        }
        fake.cases[i].n_rules = 1;
        SAYS("");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_loaded),
        cmocka_unit_test(errors_have_one_line),
        cmocka_unit_test(cases_have_names_and_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
