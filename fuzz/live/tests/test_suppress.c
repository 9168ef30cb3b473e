/* SPDX-License-Identifier: BSD-3-Clause */
/* Known findings, and the sequences that are kept out because of them. */
#include "live_support.h"

#include "host/text.h"

static struct iw_hunt_options options;
static struct iw_hunt hunt = {.o = &options};

struct question {
    const char *key;
    char *answer;
    bool bad;
};

static void ask(void *context)
{
    struct question *q = context;

    q->answer = iw_hunt_known(&hunt, q->key, &q->bad);
}

/* Asks about `key` with a file of these lines; "FILE" in `printed` is that file. */
static void asks(const char *lines, const char *key, const char *answer, const char *printed)
{
    char *path = support_file(support_folder(), "known", lines), *text;
    char *expected = iw_text_fill(printed, (const char *[]){"FILE", path, NULL});
    struct question q = {.key = key};

    options.suppress = path;
    text = support_printed(2, ask, &q);
    assert_string_equal(text, expected);
    assert_int_equal(q.bad, *printed != 0);
    if (answer != NULL)
        assert_string_equal(q.answer, answer);
    else
        assert_null(q.answer);
    free(q.answer);
    free(text);
    free(expected);
    free(path);
}

static void lines_that_are_right(void **state)
{
    (void)state;
    asks("crash X \"a reason\"\n", "crash X", "a reason", "");
    asks("crash X \"a reason\"", "crash X", "a reason", "");
    asks("crash X \"a reason\"\n", "crash", NULL, "");
    asks("crash X \"a reason\"\n", "crash X ", NULL, "");
    asks("crash * \"a \"reason\"\"\n", "crash Y", "a \"reason\"", "");
    asks(" \t crash X   \"r\" \t\r\n", "crash X", "r", "");
    asks("\t crash X \"r\"\t\n", "crash X", "r", "");
    asks("\n  \n\t\n# crash X \"c\"\n  # crash X \"d\"\ncrash X \"e\"\n", "crash X", "e", "");
    asks("hang \"h\"\ncrash X \"first\"\ncrash * \"second\"\n", "crash X", "first", "");
    asks("", "crash X", NULL, "");
    asks("# \n", "", NULL, "");
    asks("* \"all\"\n", "", "all", "");
}

#define WRONG(line) "{FILE}:" line ": expected GLOB \"reason\"\n"

static void lines_that_are_not(void **state)
{
    (void)state;
    asks("crash\n", "crash", NULL, "iwarp-fuzz: " WRONG("1"));
    asks("\ncrash X\"r\"\n", "crash", NULL, "iwarp-fuzz: " WRONG("2"));
    asks("crash \"\"\n", "crash", NULL, "iwarp-fuzz: " WRONG("1"));
    asks("crash \"\n", "crash", NULL, "iwarp-fuzz: " WRONG("1"));
    asks("crash \"r\n", "crash", NULL, "iwarp-fuzz: " WRONG("1"));
    asks("crash \"r\" x\n", "crash", NULL, "iwarp-fuzz: " WRONG("1"));
    asks(" \"r\"\n", "crash", NULL, "iwarp-fuzz: " WRONG("1"));
    asks("crash \"r\"\nx\ny\n", "crash", "r", "iwarp-fuzz: " WRONG("2"));
}

static void without_a_file(void **state)
{
    struct question q = {.key = "crash", .bad = true};
    char *text;

    (void)state;
    options.suppress = NULL;
    text = support_printed(2, ask, &q);
    assert_string_equal(text, "");
    assert_false(q.bad);
    assert_null(q.answer);
    free(text);
    options.suppress = "no/such";
    text = support_printed(2, ask, &q);
    assert_string_equal(text, "iwarp-fuzz: --suppress no/such: No such file or directory\n");
    assert_true(q.bad);
    assert_null(q.answer);
    free(text);
    options.suppress = ".";
    text = support_printed(2, ask, &q);
    assert_string_equal(text, "iwarp-fuzz: --suppress .: Is a directory\n");
    assert_true(q.bad);
    assert_null(q.answer);
    free(text);
}

/* ---- what a sequence says ---- */

#define REQUEST(flags) "a4d504120494420526571204672616d65" flags "010000"
#define ENHANCED(block) "a4d504120494420526571204672616d6550020004" block
#define REPLY "a4d504120494420526570204672616d6550020004c0100010"
#define SEND                                                                                       \
    "a001241430000000000000000000000010000000"                                                     \
    "0587be8c4"
#define WRITE "a000ec140000000000000000000000000a30572ab"
#define READ                                                                                       \
    "a001241410000000000000001000000010000000"                                                     \
    "0ae151f8f"

static void says(const char *text, size_t room, const uint16_t *codes, size_t n)
{
    struct iw_hunt_input *in = support_input(text);
    uint16_t got[8];

    assert_int_equal(iw_hunt_pattern(in, got, room), n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(got[i], codes[i]);
    iw_hunt_input_free(in);
}

static void what_is_said(void **state)
{
    (void)state;
    says("t5", 8, NULL, 0);
    says(REQUEST("00"), 8, (uint16_t[]){0x100}, 1);
    says(REQUEST("ff") " t5 " SEND, 8, (uint16_t[]){0x1f0, 3}, 2);
    says(ENHANCED("7fffffff"), 8, (uint16_t[]){0x150}, 1);
    says(ENHANCED("80000000"), 8, (uint16_t[]){0x151}, 1);
    says(REPLY " " READ " a00 " SEND, 8, (uint16_t[]){0x151, 1, 0x200, 3}, 4);
    says(REPLY " " READ " a00 " SEND, 3, (uint16_t[]){0x151, 1, 0x200}, 3);
}

static bool kept_out(const char *text)
{
    struct iw_hunt_input *in = support_input(text);
    bool is = iw_hunt_deadly(&hunt, in);

    iw_hunt_input_free(in);
    return is;
}

static void what_ends_the_peer(void **state)
{
    struct iw_hunt_finding last = {.n_pattern = 1, .pattern = {0x1f0}},
                           one = {.n_pattern = 2, .pattern = {0x100, 3}, .next = &last},
                           more = {.n_pattern = 2, .pattern = {0x100, 0x200}, .next = NULL};
    int let = 0;

    (void)state;
    hunt.findings = NULL;
    hunt.random.state = 1;
    assert_false(kept_out(REQUEST("00") " " SEND));
    hunt.findings = &one;
    assert_true(kept_out(REQUEST("00") " " SEND));
    assert_true(kept_out(REQUEST("00") " " READ " " SEND));
    assert_true(kept_out(REQUEST("00") " " SEND " " READ));
    assert_true(kept_out(REQUEST("00") " " SEND " " WRITE));
    assert_false(kept_out(REQUEST("00") " " READ));
    assert_false(kept_out(REQUEST("80") " " SEND));
    assert_false(kept_out(SEND " " REQUEST("00")));
    assert_false(kept_out(REQUEST("ff") " " SEND)); /* one frame alone keeps out nothing */
    assert_false(kept_out("t5"));
    assert_int_equal(hunt.random.state, 1);
    /* Two that begin so: once in 16 times only. */
    last = more;
    assert_true(kept_out(REQUEST("00") " a00"));
    assert_int_equal(hunt.random.state, 1);
    assert_false(kept_out(REQUEST("80") " " READ));
    assert_int_equal(hunt.random.state, 1);
    for (int i = 0; i < 1600; i++)
        let += !kept_out(REQUEST("00") " " READ);
    assert_int_equal(let, 109);
    hunt.findings = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(lines_that_are_right, support_clean),
        cmocka_unit_test_teardown(lines_that_are_not, support_clean),
        cmocka_unit_test_teardown(without_a_file, support_clean),
        cmocka_unit_test(what_is_said),
        cmocka_unit_test(what_ends_the_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
