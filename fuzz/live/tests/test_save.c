/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the files of a hunt, and its output and report about a finding. */
#include "live_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/text.h"

static struct iw_hunt_options options;
static struct iw_hunt hunt;
static const char *folder;

static void begin(bool resume)
{
    folder = support_folder();
    options = (struct iw_hunt_options){.resume = resume};
    hunt = (struct iw_hunt){.o = &options, .dir = folder, .lasting = -1};
}

static void drop_findings(void)
{
    while (hunt.findings != NULL) {
        struct iw_hunt_finding *f = hunt.findings;

        hunt.findings = f->next;
        free(f->key);
        free(f->file);
        free(f->pcap);
        free(f->verdict);
        free(f->suppressed);
        free(f);
    }
}

static void end(void)
{
    drop_findings();
    iw_hunt_seeds_free(&hunt.seeds);
    if (hunt.lasting >= 0)
        close(hunt.lasting);
}

static bool exists(const char *name)
{
    char *path = iw_text_format("%s/%s", folder, name);
    bool is = !access(path, F_OK);

    free(path);
    return is;
}

static void is_file(const char *name, const char *expected)
{
    char *path = iw_text_format("%s/%s", folder, name), *text = support_read(path);

    assert_string_equal(text, expected);
    free(text);
    free(path);
}

/* ---- sequences ---- */

static void lists_of_sequences(void **state)
{
    struct iw_hunt_input *list[3] = {support_input("a01 t5"), support_input("f01"),
                                     support_input("b0203")};
    struct iw_hunt_input *back[3];
    uint8_t octets[64];
    FILE *f = iw_got(tmpfile());

    (void)state;
    iw_hunt_write_inputs(f, list, 3);
    rewind(f);
    assert_int_equal(fread(octets, 1, sizeof(octets), f), 42);
    assert_memory_equal(octets, "\x0d\0\0\0\0\0\0\0\0\x01\0\x01\x03\x02\0\x05\0\x08\0\0\0", 21);
    rewind(f);
    assert_int_equal(iw_hunt_read_inputs(f, back, 2), 2);
    support_is(back[0], "a01 t5");
    support_is(back[1], "f01");
    iw_hunt_input_free(back[0]);
    iw_hunt_input_free(back[1]);
    assert_int_equal(iw_hunt_read_inputs(f, back, 3), 1);
    support_is(back[0], "b0203");
    iw_hunt_input_free(back[0]);
    /* One that is cut off, and one whose length cannot be. */
    assert_int_equal(ftruncate(fileno(f), 41), 0);
    rewind(f);
    assert_int_equal(iw_hunt_read_inputs(f, back, 3), 2);
    iw_hunt_input_free(back[0]);
    iw_hunt_input_free(back[1]);
    rewind(f);
    fwrite("\x01\0\x04\0", 4, 1, f);
    rewind(f);
    assert_int_equal(iw_hunt_read_inputs(f, back, 3), 0);
    fclose(f);
    for (int i = 0; i < 3; i++)
        iw_hunt_input_free(list[i]);
}

static void what_is_kept(void **state)
{
    struct iw_hunt_kept kept[2] = {{.input = support_input("a61")},
                                   {.input = support_input("a62 t1")}};

    (void)state;
    begin(true);
    hunt.corpus = kept;
    iw_hunt_save_kept(&hunt, 0); /* there is no folder yet */
    assert_true(iw_hunt_resume(&hunt));
    assert_int_equal(hunt.seeds.n, 0);
    assert_true(hunt.lasting >= 0);
    close(hunt.lasting);
    iw_hunt_save_kept(&hunt, 0);
    iw_hunt_save_kept(&hunt, 1);
    assert_true(exists("corpus/08326707b4eb37da"));
    free(support_file(folder, "corpus/.hidden", ""));
    free(support_file(folder, "corpus/empty", ""));
    assert_true(iw_hunt_resume(&hunt));
    assert_int_equal(hunt.seeds.n, 2);
    support_is(hunt.seeds.list[hunt.seeds.list[0]->n == 1 ? 0 : 1], "a61");
    support_is(hunt.seeds.list[hunt.seeds.list[0]->n == 1 ? 1 : 0], "a62 t1");
    end();
    begin(false);
    hunt.corpus = kept;
    iw_hunt_save_kept(&hunt, 0); /* nothing outlives the program */
    assert_false(exists("corpus"));
    end();
    iw_hunt_input_free(kept[0].input);
    iw_hunt_input_free(kept[1].input);
}

static void resume(void *context)
{
    *(bool *)context = iw_hunt_resume(&hunt);
}

static void where_nothing_can_be_kept(void **state)
{
    bool good = true;
    char *text;

    (void)state;
    begin(true);
    hunt.dir = "/dev/null";
    text = support_printed(2, resume, &good);
    assert_string_equal(text, "iwarp-fuzz: cannot write /dev/null/started: Not a directory\n");
    assert_false(good);
    free(text);
    end();
}

static void start(unsigned octet)
{
    char *text = iw_text_format("a%02x", octet & 0xff);
    struct iw_hunt_input *in = support_input(text);

    iw_hunt_save_started(&hunt, in);
    hunt.started++;
    iw_hunt_input_free(in);
    free(text);
}

/* Asks for `n` sequences, the first of which has the octet `first`. */
static void were_started(size_t n, unsigned first)
{
    struct iw_hunt_input *list[IW_HUNT_RECENT];

    assert_int_equal(iw_hunt_load_started(folder, list), n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(list[i]->n, 1);
        assert_int_equal(list[i]->steps[0].octets[0], (first + i) & 0xff);
        iw_hunt_input_free(list[i]);
    }
}

static void what_was_under_way(void **state)
{
    (void)state;
    begin(true);
    were_started(0, 0);
    start(0); /* is not noted: nothing is open */
    assert_false(exists("started"));
    assert_true(iw_hunt_resume(&hunt));
    were_started(0, 0);
    hunt.started = 0;
    for (unsigned i = 0; i < 3; i++)
        start(i);
    were_started(3, 0);
    for (unsigned i = 3; i < 512; i++)
        start(i);
    were_started(512, 0);
    for (unsigned i = 512; i < 700; i++)
        start(i);
    were_started(512, 700 - 512);
    end();
}

/* A record that says more octets than there are is none. */
static void a_record_that_is_cut_off(void **state)
{
    (void)state;
    begin(true);
    assert_true(iw_hunt_resume(&hunt));
    start(0x41);
    start(0x42);
    assert_int_equal(ftruncate(hunt.lasting, 12 + 512 + 65536 + 12 + 8), 0);
    were_started(2, 0x41);
    assert_int_equal(ftruncate(hunt.lasting, 12 + 512 + 65536 + 12 + 7), 0);
    were_started(1, 0x41);
    assert_int_equal(ftruncate(hunt.lasting, 11), 0);
    were_started(0, 0);
    end();
}

/* ---- findings ---- */

#define FULL                                                                                       \
    "{\"kind\":\"rule\",\"key\":\"rule K\",\"text\":\"what\",\"check\":\"mpa-rev\","               \
    "\"rule\":\"MPA-7.1.1-16\",\"sequence\":41,\"seconds\":2.5,\"times\":3,\"connections\":2,"     \
    "\"steps\":5,\"pattern\":[256,3],\"case\":\"c.lua\",\"pcap\":\"c.pcap\",\"verdict\":\"FAIL\"," \
    "\"known\":\"why\"}\n"
#define SPARE                                                                                      \
    "{\"kind\":\"crash\",\"key\":\"crash X\",\"text\":\"X\",\"sequence\":1,\"seconds\":0.0,"       \
    "\"times\":1,\"connections\":0,\"steps\":0,\"case\":null,\"pcap\":null,\"verdict\":null,"      \
    "\"known\":null}\n"

static void findings_are_kept(void **state)
{
    struct iw_hunt_input *inputs[] = {support_input("a01 t5 a02"), support_input("a01 f01")};
    struct iw_hunt_finding full = {.event = {.kind = IW_HUNT_RULE, .text = "what"},
                                   .key = "rule K",
                                   .inputs = inputs,
                                   .n_inputs = 2,
                                   .number = 41,
                                   .seconds = 2.5,
                                   .times = 3,
                                   .file = "c.lua",
                                   .pcap = "c.pcap",
                                   .verdict = "FAIL",
                                   .suppressed = "why",
                                   .pattern = {0x100, 3},
                                   .n_pattern = 2},
                           spare = {.event = {.kind = IW_HUNT_CRASH, .text = "X"},
                                    .key = "crash X",
                                    .number = 1,
                                    .times = 1};
    const struct iw_hunt_finding *f;

    (void)state;
    begin(false);
    full.event.check = iw_check_find("mpa-rev");
    iw_hunt_load_findings(&hunt);
    assert_null(hunt.findings);
    iw_hunt_save_finding(&hunt, &full);
    is_file("findings.jsonl", FULL);
    iw_hunt_save_finding(&hunt, &spare);
    is_file("findings.jsonl", FULL SPARE);
    iw_hunt_load_findings(&hunt);
    f = hunt.findings;
    assert_int_equal(f->event.kind, IW_HUNT_RULE);
    assert_int_equal(f->event.check, full.event.check);
    assert_string_equal(f->event.text, "what");
    assert_string_equal(f->key, "rule K");
    assert_int_equal(f->number, 41);
    assert_true(f->seconds == 2.5 && f->before);
    assert_int_equal(f->times, 3);
    assert_int_equal(f->told_inputs, 2);
    assert_int_equal(f->told_steps, 5);
    assert_int_equal(f->n_inputs, 0);
    assert_int_equal(f->n_pattern, 2);
    assert_int_equal(f->pattern[0], 256);
    assert_int_equal(f->pattern[1], 3);
    assert_string_equal(f->file, "c.lua");
    assert_string_equal(f->pcap, "c.pcap");
    assert_string_equal(f->verdict, "FAIL");
    assert_string_equal(f->suppressed, "why");
    f = f->next;
    assert_int_equal(f->event.kind, IW_HUNT_CRASH);
    assert_true(!f->file && !f->pcap && !f->verdict && !f->suppressed && !f->n_pattern);
    assert_null(f->next);
    /* What was loaded says the same again. */
    iw_hunt_forget_findings(&hunt);
    assert_false(exists("findings.jsonl"));
    for (f = hunt.findings; f != NULL; f = f->next)
        iw_hunt_save_finding(&hunt, f);
    is_file("findings.jsonl", FULL SPARE);
    /* Only what is not there yet is loaded. */
    iw_hunt_load_findings(&hunt);
    assert_null(hunt.findings->next->next);
    iw_hunt_save_finding(&hunt, &spare);
    iw_hunt_load_findings(&hunt);
    assert_string_equal(hunt.findings->next->next->key, "crash X");
    assert_null(hunt.findings->next->next->next);
    end();
    iw_hunt_input_free(inputs[0]);
    iw_hunt_input_free(inputs[1]);
}

static void lines_that_are_no_findings(void **state)
{
    static const char lines[] =
        "{\"kind\":\"crash\"}\n{\"key\":\"K\"}\nnone\n[]\n"
        "{\"kind\":\"hang\",\"key\":\"H\"}\n{\"kind\":\"what\",\"key\":\"W\"}\n";

    (void)state;
    begin(false);
    free(support_file(folder, "findings.jsonl", lines));
    iw_hunt_load_findings(&hunt);
    assert_string_equal(hunt.findings->key, "H");
    assert_int_equal(hunt.findings->event.kind, IW_HUNT_HANG);
    assert_string_equal(hunt.findings->event.text, "");
    assert_string_equal(hunt.findings->next->key, "W");
    assert_int_equal(hunt.findings->next->event.kind, IW_HUNT_NOTHING);
    assert_null(hunt.findings->next->next);
    end();
}

static void a_pattern_has_bounds(void **state)
{
    (void)state;
    for (unsigned n = 63; n <= 65; n++) {
        char numbers[2 * 64 + 1] = "", text[512];

        begin(false);
        for (unsigned i = 1; i < n; i++)
            memcpy(numbers + 2 * (i - 1), ",2", sizeof(",2"));
        snprintf(text, sizeof(text), "{\"kind\":\"hang\",\"key\":\"H\",\"pattern\":[1%s]}\n",
                 numbers);
        free(support_file(folder, "findings.jsonl", text));
        iw_hunt_load_findings(&hunt);
        assert_int_equal(hunt.findings->n_pattern, n == 65 ? 0 : n);
        end();
    }
}

static void save(void *context)
{
    iw_hunt_save_finding(&hunt, context);
}

static void a_finding_that_cannot_be_kept(void **state)
{
    struct iw_hunt_finding f = {.key = "K"};
    char *text;

    (void)state;
    begin(false);
    hunt.dir = "/dev/null";
    text = support_printed(2, save, &f);
    assert_string_equal(text,
                        "iwarp-fuzz: cannot write /dev/null/findings.jsonl: Not a directory\n");
    free(text);
    hunt.dir = NULL;
    text = support_printed(2, save, &f);
    assert_string_equal(text, "");
    free(text);
    end();
}

/* ---- how far it has come ---- */

static void progress_is_kept(void **state)
{
    struct iw_hunt_row row = {.n = 0};

    (void)state;
    begin(true);
    hunt.graph = iw_hunt_graph_new();
    iw_hunt_row_add(&row, IW_ANSWER_FIN, 0, 1);
    iw_hunt_row_add(&row, IW_ANSWER_FIN, 0, 1);
    iw_hunt_row_add(&row, IW_ANSWER_RESET, 0, 1);
    iw_hunt_graph_add(hunt.graph, &row);
    row.at[2].stimulus = 2;
    iw_hunt_graph_add(hunt.graph, &row);
    row.at[2].stimulus = 3;
    iw_hunt_graph_add(hunt.graph, &row);
    hunt.over = 7;
    hunt.n_corpus = 2;
    hunt.world.starts = 3;
    iw_hunt_save_progress(&hunt);
    is_file("progress.json", "{\"sequences\":7,\"states\":4,\"edges\":5,\"kept\":2,\"starts\":3}");
    hunt.coverage = iw_hunt_coverage_open(NULL, folder);
    assert_non_null(hunt.coverage);
    iw_hunt_save_progress(&hunt);
    is_file("progress.json", "{\"sequences\":7,\"states\":4,\"edges\":5,\"kept\":2,\"starts\":3,"
                             "\"places\":0}");
    iw_hunt_coverage_close(hunt.coverage);
    free(hunt.graph);
    end();
    begin(false);
    iw_hunt_save_progress(&hunt);
    assert_false(exists("progress.json"));
    end();
}

/* What could not be shown again is written with all of its timing. */
static void a_row_is_kept(void **state)
{
    struct iw_hunt_input *inputs[] = {support_input("a01 t5 b02"), support_input("f01"),
                                      support_input("r01")};
    struct iw_hunt_finding f = {.event = {.kind = IW_HUNT_CRASH, .text = "it ended"}};

    (void)state;
    begin(false);
    inputs[0]->began = 7000000;
    inputs[0]->ended = 7250000;
    inputs[1]->began = 5000000;
    inputs[1]->ended = 8000000;
    inputs[2]->began = 6000000; /* under way */
    char *findings = iw_text_format("%s/findings", hunt.dir);
    assert_int_equal(mkdir(findings, 0777), 0);
    iw_hunt_write_row(&hunt, &f, inputs, 3, 4);
    assert_non_null(f.row);
    assert_non_null(strstr(f.row, "/findings/fuzz-4-crash.row"));
    is_file("findings/fuzz-4-crash.row",
            "# it ended\n# What was sent before, one connection a line, in the order in which they "
            "ended: begin and end in ms, steps.\n"
            "2.000 2.250 octets:01 time:5 single:02\n0.000 3.000 fin\n1.000 0.000 rst\n");
    free(findings);
    free(f.row);
    for (size_t i = 0; i < 3; i++)
        iw_hunt_input_free(inputs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(lists_of_sequences, support_clean),
        cmocka_unit_test_teardown(what_is_kept, support_clean),
        cmocka_unit_test_teardown(where_nothing_can_be_kept, support_clean),
        cmocka_unit_test_teardown(what_was_under_way, support_clean),
        cmocka_unit_test_teardown(a_record_that_is_cut_off, support_clean),
        cmocka_unit_test_teardown(findings_are_kept, support_clean),
        cmocka_unit_test_teardown(lines_that_are_no_findings, support_clean),
        cmocka_unit_test_teardown(a_pattern_has_bounds, support_clean),
        cmocka_unit_test_teardown(a_finding_that_cannot_be_kept, support_clean),
        cmocka_unit_test_teardown(progress_is_kept, support_clean),
        cmocka_unit_test_teardown(a_row_is_kept, support_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
