/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_support.h"

#include <getopt.h>
#include <time.h>

#include "host/text.h"

enum { WORDS = 12 };

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    assert_int_equal(clock, CLOCK_REALTIME);
    *now = (struct timespec){.tv_sec = 1700000000, .tv_nsec = 987654321};
    return 0;
}

/* A command line, cut at spaces, and what it gives. */
struct line {
    char *words[WORDS + 2], *text;
    int count, status;
    struct iw_hunt_options o;
};

static void parse(void *context)
{
    struct line *l = context;

    optind = 0;
    l->status = iw_hunt_parse(&l->o, l->count, l->words);
}

static void split(struct line *l, const char *text)
{
    static char program[] = "iwarp-fuzz";

    *l = (struct line){.words = {program}, .text = iw_text_copy(text), .count = 1};
    for (char *word = strtok(l->text, " "); word != NULL; word = strtok(NULL, " "))
        l->words[l->count++] = word;
}

static void finish(struct line *l)
{
    for (size_t i = 0; i < l->o.n_seeds; i++)
        free(l->o.seeds[i]);
    free(l->o.seeds);
    free(l->text);
}

static void takes(struct line *l, const char *text)
{
    split(l, text);
    parse(l);
    assert_int_equal(l->status, -1);
}

static void is_taken(const char *text)
{
    struct line l;

    takes(&l, text);
    finish(&l);
}

static void prints(const char *text, int fd, int status, const char *printed)
{
    struct line l;
    char *got;

    split(&l, text);
    got = support_printed(fd, parse, &l);
    assert_string_equal(got, printed);
    assert_int_equal(l.status, status);
    free(got);
    finish(&l);
}

static void defaults(void **state)
{
    struct line l;

    (void)state;
    takes(&l, "");
    assert_string_equal(l.o.target, "embedded");
    assert_int_equal(l.o.seed, 1700000000987); /* the clock, in ms */
    assert_true(l.o.time == 60 && l.o.time_scale == 1);
    assert_true(l.o.agent == NULL && l.o.results == NULL && l.o.json == NULL && l.o.graph == NULL);
    assert_true(l.o.suppress == NULL && l.o.seeds == NULL && l.o.try == NULL);
    assert_true(l.o.n_seeds == 0 && l.o.count == 0 && l.o.jobs == 0 && l.o.findings == 0);
    assert_true(l.o.rate <= 0 && l.o.rate >= 0);
    assert_false(l.o.hazards || l.o.blind || l.o.coverage || l.o.resume);
    finish(&l);
}

static void every_option(void **state)
{
    struct line l;

    (void)state;
    takes(&l, "--target T --agent A --results R --json J --graph G --suppress S");
    assert_string_equal(l.o.target, "T");
    assert_string_equal(l.o.agent, "A");
    assert_string_equal(l.o.results, "R");
    assert_string_equal(l.o.json, "J");
    assert_string_equal(l.o.graph, "G");
    assert_string_equal(l.o.suppress, "S");
    assert_false(l.o.hazards || l.o.blind || l.o.coverage || l.o.resume);
    finish(&l);
    takes(&l, "-t U -j 3 --seeds one --seeds two --try=F --time 0.5");
    assert_string_equal(l.o.target, "U");
    assert_int_equal(l.o.jobs, 3);
    assert_int_equal(l.o.n_seeds, 2);
    assert_string_equal(l.o.seeds[0], "one");
    assert_string_equal(l.o.seeds[1], "two");
    assert_string_equal(l.o.try, "F");
    assert_true(l.o.time == 0.5);
    assert_int_equal(l.o.count, 0);
    finish(&l);
    takes(&l, "--count 7 --seed 0x11 --rate 2.5 --findings 9 --time-scale 3");
    assert_int_equal(l.o.count, 7);
    assert_int_equal(l.o.seed, 17);
    assert_int_equal(l.o.findings, 9);
    assert_true(l.o.rate == 2.5 && l.o.time_scale == 3 && l.o.time == 0);
    finish(&l);
    takes(&l, "--blind");
    assert_true(l.o.blind && !l.o.coverage && !l.o.hazards && !l.o.resume);
    finish(&l);
    takes(&l, "--coverage");
    assert_true(!l.o.blind && l.o.coverage && !l.o.hazards && !l.o.resume);
    finish(&l);
    takes(&l, "--allow-hazard");
    assert_true(!l.o.blind && !l.o.coverage && l.o.hazards && !l.o.resume);
    finish(&l);
    takes(&l, "--resume");
    assert_true(!l.o.blind && !l.o.coverage && !l.o.hazards && l.o.resume);
    finish(&l);
    takes(&l, "--count 7 --time 2");
    assert_true(l.o.time == 2 && l.o.count == 7);
    finish(&l);
}

#define WHOLE "a number from 1 to 9223372036854775807\n"
#define AMOUNT "a number above 0\n"
#define REFUSED(option, value, expected)                                                           \
    {                                                                                              \
        "--" option " " value, "iwarp-fuzz: --" option " " value ": expected " expected            \
    }

static void every_bound(void **state)
{
    static const char *const good[] = {"--count 1",         "--count 9223372036854775807",
                                       "--seed 0",          "--seed 9223372036854775807",
                                       "--jobs 1",          "--jobs 32",
                                       "--findings 1",      "--findings 1000000",
                                       "--time 0.001",      "--time 1e9",
                                       "--rate 1e9",        "--rate 9e-9",
                                       "--time-scale 1000", "--time-scale 0.1"};
    static const char *const bad[][2] = {
        REFUSED("count", "0", WHOLE),
        REFUSED("count", "9223372036854775808", WHOLE),
        REFUSED("count", "99999999999999999999", WHOLE),
        REFUSED("count", "1x", WHOLE),
        REFUSED("count", "+1", WHOLE),
        REFUSED("count", ":1", WHOLE),
        REFUSED("seed", "9223372036854775808", "a number from 0 to 9223372036854775807\n"),
        REFUSED("seed", "-1", "a number from 0 to 9223372036854775807\n"),
        REFUSED("jobs", "0", "a number from 1 to 32\n"),
        REFUSED("jobs", "33", "a number from 1 to 32\n"),
        REFUSED("findings", "0", "a number from 1 to 1000000\n"),
        REFUSED("findings", "1000001", "a number from 1 to 1000000\n"),
        REFUSED("time", "0", AMOUNT),
        REFUSED("time", "1000000001", AMOUNT),
        REFUSED("time", "1s", AMOUNT),
        REFUSED("time", "+1", AMOUNT),
        REFUSED("time", "inf", AMOUNT),
        REFUSED("rate", "0", AMOUNT),
        REFUSED("rate", "1000000001", AMOUNT),
        REFUSED("rate", "-1", AMOUNT),
        REFUSED("time-scale", "0", "a number above 0, at most 1000\n"),
        REFUSED("time-scale", "1000.5", "a number above 0, at most 1000\n")};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        is_taken(good[i]);
    is_taken("--count 9 --seed 9 --time 9 --rate 9");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        prints(bad[i][0], 2, 64, bad[i][1]);
}

static void words_that_are_none(void **state)
{
    (void)state;
    prints("--foo", 2, 64, "iwarp-fuzz: --foo: unknown option; see --help\n");
    prints("-x", 2, 64, "iwarp-fuzz: -x: unknown option; see --help\n");
    prints("-xj", 2, 64, "iwarp-fuzz: -x: unknown option; see --help\n");
    prints("--blind word", 2, 64, "iwarp-fuzz: word: unexpected argument; see --help\n");
    prints("--blind=1", 2, 64, "iwarp-fuzz: --blind=1: takes no value\n");
    prints("--seed", 2, 64, "iwarp-fuzz: --seed: expected a value; see --help\n");
    prints("--blind -t", 2, 64, "iwarp-fuzz: -t: expected a value; see --help\n");
}

static void what_it_prints(void **state)
{
    static const char help[] =
        "usage: iwarp-fuzz [OPTION...]\n"
        "Fuzzes a live iWARP peer.\n"
        "\n"
        "  -t, --target SPEC        embedded (default), tcp:HOST:PORT[,KEY=VALUE...] or a target "
        "file, as for iwarp-conform\n"
        "      --agent PATH         the program of the embedded target\n"
        "      --seeds CAPTURE      also begin with the initiators of this capture; may be "
        "repeated\n"
        "      --time SECONDS       end after SECONDS (60, unless --count is given)\n"
        "      --count N            end after N sequences\n"
        "      --findings N         end after N findings\n"
        "      --seed N             seed of the random choices (default: the clock)\n"
        "      --targets N          targets at a time, each a process with a port of its own, 1 to "
        "16 (1)\n"
        "      --minimise SECONDS   minimise each finding for at most SECONDS, beside the hunt "
        "(10)\n"
        "      --rate N             begin at most N sequences a second\n"
        "  -j, --jobs N             connections at a time, 1 to 32 (default: 32 on this host, else "
        "8)\n"
        "      --blind              learn nothing: vary the seeds only\n"
        "      --coverage           the peer reports what it reached (see the manual)\n"
        "      --suppress FILE      leave out the known findings that FILE lists\n"
        "      --allow-hazard       also a peer on another host that nobody here started: it may "
        "need to be switched off and on\n"
        "      --time-scale X       multiply every patience by X\n"
        "      --results DIR        folder of the results (iwarp-fuzz-results/TIME-TARGET)\n"
        "      --json FILE          write a report\n"
        "      --graph FILE         write the states: Graphviz, or JSON if FILE ends in .json\n"
        "  -h, --help               print this\n"
        "  -V, --version            print the version\n";

    (void)state;
    prints("--help --foo", 1, 0, help);
    prints("-h", 1, 0, help);
    prints("--version", 1, 0, "iwarp-fuzz " IW_VERSION "\n");
    prints("-V", 1, 0, "iwarp-fuzz " IW_VERSION "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(every_option),
        cmocka_unit_test_teardown(every_bound, support_clean),
        cmocka_unit_test_teardown(words_that_are_none, support_clean),
        cmocka_unit_test_teardown(what_it_prints, support_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
