/* SPDX-License-Identifier: BSD-3-Clause */
/* Tries, and cases, that are played elsewhere. */
#include "shell_stage.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/text.h"

static int status;

static void tries(const struct act *list, enum iw_hunt_kind kind, const char *text, bool *requested,
                  const char *runs)
{
    struct iw_hunt_input *inputs[] = {support_input("a01"), support_input("a02 t3")};

    shell_file("try.json", "{\"kind\": \"stray\", \"text\": \"an old one\"}");
    shell.acts = list;
    struct iw_hunt_event e = iw_hunt_try_elsewhere(&hunt, inputs, 2, requested);
    assert_int_equal(e.kind, kind);
    assert_string_equal(e.text, text);
    iw_hunt_inputs_free(inputs, 2);
    shell_does(runs);
}

static void tries_elsewhere(void **state)
{
    static const struct act ends[] = {
        {.file = "try.json",
         .text = "{\"kind\": \"crash\", \"text\": \"signal\", \"requested\": [false, true]}"},
        NO_MORE};
    static const struct act well[] = {FAILED, WELL_DONE, NO_MORE},
                            gone[] = {FAILED, FAILED, NO_MORE},
                            stuck[] = {{.status = 1, .stuck = true}, NO_MORE},
                            stopped[] = {{.status = 1, .stuck = true, .stops = true}, NO_MORE};
    bool requested[2] = {true, false};

    (void)state;
    tries(ends, IW_HUNT_CRASH, "signal", requested, " | FUZZ --try D/try 2>/dev/null #128");
    assert_true(!requested[0] && requested[1]);
    tries(ends, IW_HUNT_CRASH, "signal", NULL, " | FUZZ --try D/try 2>/dev/null #128");
    tries(well, IW_HUNT_NOTHING, "", NULL, " | FUZZ --try D/try 2>/dev/null #128 | in: true #120");
    tries(gone, IW_HUNT_CRASH, "it ended", NULL,
          " | FUZZ --try D/try 2>/dev/null #128 | in: true #120 | restart");
    tries(stuck, IW_HUNT_HANG, "the target's kernel was stuck", NULL,
          " | FUZZ --try D/try 2>/dev/null #128 | restart");
    assert_int_equal(hunt.restarts, 2);
    tries(stopped, IW_HUNT_NOTHING, "", NULL, " | FUZZ --try D/try 2>/dev/null #128");
    assert_int_equal(hunt.restarts, 2);
    char *path = iw_text_format("%s/try", shell.folder);
    FILE *f = iw_got(fopen(path, "r"));
    struct iw_hunt_input *inputs[3];
    assert_int_equal(iw_hunt_read_inputs(f, inputs, 3), 2);
    fclose(f);
    support_is(inputs[1], "a02 t3");
    iw_hunt_inputs_free(inputs, 2);
    free(path);
}

/* ... and there. */
static void a_try_from_a_file(void **state)
{
    enum { MANY = IW_HUNT_ROW + 1 };
    char *path = iw_text_format("%s/some", shell.folder), *out = iw_text_format("%s.json", path);
    static const struct {
        size_t n;
        const char *runs, *requested;
    } rows[] = {{0, " parts try(0) close", "[]"},
                {1, " parts try(1) close", "[\n  true\n ]"},
                {2, " parts try(2) close", "[\n  false,\n  true\n ]"},
                {MANY - 1, " parts try(64) close", NULL},
                {MANY, " parts try(65 together) close", NULL}};

    (void)state;
    options.try = path;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_hunt_input *inputs[MANY];
        FILE *f = iw_got(fopen(path, "w"));

        for (size_t k = 0; k < rows[i].n; k++)
            inputs[k] = support_input(k ? "a01" : "a00");
        iw_hunt_write_inputs(f, inputs, rows[i].n);
        fclose(f);
        iw_hunt_inputs_free(inputs, rows[i].n);
        assert_int_equal(iw_hunt_try_file(&hunt), 0);
        shell_does(rows[i].runs);
        char *text = support_read(out);
        char *all = iw_text_format(
            "{\n \"kind\": \"hang\",\n \"text\": \"no answer\",\n \"requested\": %s\n}",
            rows[i].requested != NULL ? rows[i].requested : "");
        if (rows[i].requested != NULL)
            assert_string_equal(text, all);
        free(text);
        free(all);
    }
    unlink(path);
    assert_int_equal(iw_hunt_try_file(&hunt), 0);
    shell_does(" parts try(0) close");
    free(path);
    free(out);
}

static void try_nowhere(void *context)
{
    (void)context;
    status = iw_hunt_try_file(&hunt);
}

static void a_try_that_cannot_be_told(void **state)
{
    (void)state;
    options.try = "/nowhere/some";
    char *text = support_printed(2, try_nowhere, NULL);
    assert_string_equal(text, "iwarp-fuzz: cannot write /nowhere/some.json: No such file or "
                              "directory\n");
    assert_int_equal(status, IW_EXIT_TESTER);
    free(text);
}

/* ---- a case ---- */

static void plays(const struct act *list, const char *verdict, const char *pcap, const char *runs)
{
    char *got = NULL;

    shell.acts = list;
    char *said = iw_hunt_play_elsewhere(&hunt, "the.lua", hunt.dir, &got);
    if (verdict != NULL)
        assert_string_equal(said, verdict);
    else
        assert_null(said);
    if (pcap != NULL)
        assert_string_equal(got, pcap);
    else
        assert_null(got);
    free(said);
    free(got);
    shell_does(runs);
}

static void cases_are_played(void **state)
{
    static const char fail[] =
        "{\"cases\": [{\"verdict\": \"FAIL\", \"reason\": \"no\", \"pcap\": \"a.pcap\"}]}";
    static const struct act
        first[] = {{.status = 1, .file = "played/run.json", .text = fail}, NO_MORE},
        pass[] = {{.file = "played/run.json", .text = "{\"cases\": [{\"verdict\": \"PASS\"}]}"},
                  NO_MORE},
        second[] = {FAILED,
                    FAILED,
                    {.status = 1, .file = "played/run.json", .text = fail},
                    NO_MORE},
        never[] = {{.status = 1, .file = "played/run.json", .text = "{\"cases\": []}"},
                   FAILED,
                   FAILED,
                   NO_MORE},
        there[] = {FAILED, WELL_DONE, NO_MORE}, not_back[] = {FAILED, FAILED, NO_MORE};
    char *path = iw_text_format("%s/played", shell.folder);

    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
    plays(first, "FAIL no", "a.pcap",
          " | B/iwarp-conform run --target 'the target' --cases the.lua --results D/played"
          " --allow-hazard --time-scale 2 >/dev/null 2>&1 #1200");
    plays(pass, "PASS", NULL,
          " | B/iwarp-conform run --target 'the target' --cases the.lua --results D/played"
          " --allow-hazard --time-scale 2 >/dev/null 2>&1 #1200");
    plays(second, "FAIL no", "a.pcap",
          " | B/iwarp-conform run --target 'the target' --cases the.lua --results D/played"
          " --allow-hazard --time-scale 2 >/dev/null 2>&1 #1200 | in: true #120 | restart"
          " | B/iwarp-conform run --target 'the target' --cases the.lua --results D/played"
          " --allow-hazard --time-scale 2 >/dev/null 2>&1 #1200");
    plays(never, NULL, NULL,
          " | B/iwarp-conform run --target 'the target' --cases the.lua --results D/played"
          " --allow-hazard --time-scale 2 >/dev/null 2>&1 #1200 | in: true #120 | restart"
          " | B/iwarp-conform run --target 'the target' --cases the.lua --results D/played"
          " --allow-hazard --time-scale 2 >/dev/null 2>&1 #1200");
    plays(there, NULL, NULL,
          " | B/iwarp-conform run --target 'the target' --cases the.lua --results D/played"
          " --allow-hazard --time-scale 2 >/dev/null 2>&1 #1200 | in: true #120");
    assert_int_equal(hunt.restarts, 2);
    shell.bad_restart = true;
    options.target = ""; /* not even that is left out */
    plays(not_back, NULL, NULL,
          " | B/iwarp-conform run --target '' --cases the.lua --results D/played"
          " --allow-hazard --time-scale 2 >/dev/null 2>&1 #1200 | in: true #120 | restart");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tries_elsewhere, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(a_try_from_a_file, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(a_try_that_cannot_be_told, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(cases_are_played, shell_begin, shell_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
