/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the cases written for findings, as a whole. */
#include "live_support.h"

#include <unistd.h>

#include "host/text.h"

#define REQUEST "4d504120494420526571204672616d654001000401020304"
#define REPLY "4d504120494420526570204672616d6550020004c0100010"
#define SEND                                                                                       \
    "001241430000000000000000000000010000000"                                                      \
    "0587be8c4"
#define ATOMIC                                                                                     \
    "m414a"                                                                                        \
    "00000000000000010000000100000000"                                                             \
    "000000000000000a1f5a0000"                                                                     \
    "0000000000000008"
#define WRITE "mc1401f5a00000000000000000010abcd"
#define READ                                                                                       \
    "m4141000000000000000100000001000000000000511700000000000010000000"                            \
    "00401f5a00010000000000100004"
#define INVALIDATE "m41441f5a000200000000000000010000000055"
#define RESPONSE "mc1421f5a00ff000000000000000401020304"

static struct iw_target_spec spec;
static struct iw_hunt_options options = {.seed = 77};
static struct iw_hunt hunt;
static const char *folder;

/* ---- instead of a peer ---- */

static int tries, opened, opens;
static const char *verdict;

struct iw_hunt_event __wrap_iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                        size_t n, const struct iw_hunt_event *wanted,
                                        bool *requested);
int __wrap_iw_hunt_open(struct iw_hunt *h);
char *__wrap_iw_hunt_play_elsewhere(struct iw_hunt *h, const char *path, const char *where,
                                    char **pcap);

struct iw_hunt_event __wrap_iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                        size_t n, const struct iw_hunt_event *wanted,
                                        bool *requested)
{
    (void)h;
    (void)inputs;
    requested[n - 1] = true;
    tries++;
    return *wanted;
}

int __wrap_iw_hunt_open(struct iw_hunt *h)
{
    (void)h;
    opens++;
    return opened;
}

char *__wrap_iw_hunt_play_elsewhere(struct iw_hunt *h, const char *path, const char *where,
                                    char **pcap)
{
    (void)h;
    assert_int_equal(access(path, R_OK), 0);
    assert_string_equal(strrchr(where, '/'), "/findings");
    *pcap = iw_text_copy("the.pcap");
    return iw_text_copy(verdict);
}

/* ---- findings ---- */

/* A sequence in which "m..." is a ULPDU, as a regular FPDU. */
static struct iw_hunt_input *sequence(const char *text)
{
    struct iw_hunt_input *in = iw_hunt_input_new();
    char *copy = iw_text_copy(text);

    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        bool message = *word == 'm';
        struct iw_hunt_input *one;
        uint8_t octets[256];

        *word = message ? 'a' : *word;
        one = support_input(word);
        if (message)
            iw_hunt_add(in, IW_FUZZ_A, octets,
                        iw_hunt_fpdu(one->steps[0].octets, one->steps[0].length, octets));
        else
            iw_hunt_add(in, one->steps[0].kind, one->steps[0].octets, one->steps[0].length);
        iw_hunt_input_free(one);
    }
    free(copy);
    return in;
}

static struct iw_hunt_finding finding(enum iw_hunt_kind kind, const char *text,
                                      const char *const *sequences)
{
    struct iw_hunt_finding f = {.number = 4711, .event = iw_hunt_event_of(kind, text)};

    f.inputs = iw_got(calloc(4, sizeof(*f.inputs)));
    f.requested = iw_got(calloc(4, sizeof(*f.requested)));
    while (sequences[f.n_inputs] != NULL) {
        f.inputs[f.n_inputs] = sequence(sequences[f.n_inputs]);
        f.n_inputs++;
    }
    return f;
}

static void discard(struct iw_hunt_finding *f)
{
    for (size_t i = 0; i < f->n_inputs; i++)
        iw_hunt_input_free(f->inputs[i]);
    free(f->inputs);
    free(f->requested);
    free(f->file);
    free(f->pcap);
    free(f->verdict);
}

static void begin(enum iw_side side, bool agent, const char *target)
{
    folder = support_folder();
    spec = (struct iw_target_spec){.embedded = agent};
    spec.text = (char *)(uintptr_t)target;
    hunt = (struct iw_hunt){.o = &options, .dir = folder, .spec = &spec};
    hunt.world = (struct iw_hunt_world){.spec = &spec, .scale = 1, .side = side, .slots = 1};
    tries = opens = opened = 0;
}

/* The file, without the folder's name. */
static void is_written(const struct iw_hunt_finding *f, const char *name, const char *expected)
{
    char *path = iw_text_format("%s/findings/%s", folder, name), *text;

    assert_string_equal(f->file, path);
    text = support_read(path);
    support_expects(text, expected);
    free(text);
    free(path);
}

static void with_an_agent(void **state)
{
    struct iw_hunt_finding f = finding(IW_HUNT_CRASH, "it said \"\\\" and\nended",
                                       (const char *[]){"a" REQUEST " t50 " WRITE " t300 " READ
                                                        " " ATOMIC " " INVALIDATE " t100 f01",
                                                        "a" REQUEST " " RESPONSE " a0102 "
                                                        "a" SEND " r01 " WRITE,
                                                        NULL});

    (void)state;
    begin(IW_SIDE_INITIATOR, true, "embedded");
    f.requested[0] = true;
    iw_hunt_write_unplayed(&hunt, &f, 3);
    is_written(&f, "fuzz-3-crash.lua", "case-agent.txt");
    discard(&f);
}

/* Receives are posted after the connection is established. */
static void with_verbs(void **state)
{
    struct iw_hunt_finding f =
        finding(IW_HUNT_HANG, "no answer", (const char *[]){"a" REQUEST " t50 " WRITE, NULL});

    (void)state;
    begin(IW_SIDE_INITIATOR, false, "siw");
    spec.class = IW_TARGET_AGENT;
    hunt.world.late_receives = true;
    f.requested[0] = true;
    iw_hunt_write_unplayed(&hunt, &f, 1);
    is_written(&f, "fuzz-1-hang.lua", "case-verbs.txt");
    discard(&f);
}

static void memory_that_was_changed(void **state)
{
    struct iw_hunt_finding f =
        finding(IW_HUNT_STRAY, "memory 2", (const char *[]){"a" REQUEST " t50", NULL});

    (void)state;
    begin(IW_SIDE_INITIATOR, true, "embedded");
    iw_hunt_write_unplayed(&hunt, &f, 2);
    is_written(&f, "fuzz-2-stray.lua", "case-stray.txt");
    discard(&f);
}

/* Writes inside frames: single octets, a few and more than a few, pauses between them. */
static void cut_frames(void **state)
{
    struct iw_hunt_finding f =
        finding(IW_HUNT_REFUSAL, "gone",
                (const char *[]){"a4d504120494420526571204672616d65 t9 a4001000401020304 t50 a" SEND
                                 " a00 t700 a1241430000000000000000000000010000000"
                                 "0587be8c4 b" SEND " a" SEND
                                 " t5 b00 b12414300 a00000000000000000000010000000"
                                 "0587be8c4",
                                 "a" REQUEST "010203 b0405 b0607 f01 a08", NULL});

    (void)state;
    begin(IW_SIDE_INITIATOR, false, "tcp:h:1");
    iw_hunt_write_unplayed(&hunt, &f, 1);
    is_written(&f, "fuzz-1-refusal.lua", "case-cut.txt");
    discard(&f);
}

/* One that connects, with a rule that was broken. */
static void a_peer_that_connects(void **state)
{
    struct iw_hunt_finding f = finding(
        IW_HUNT_RULE, "broken",
        (const char *[]){"t50 a" REPLY " t50 a" SEND " " RESPONSE, "t20 a0102 t30 f01", NULL});

    (void)state;
    begin(IW_SIDE_RESPONDER, false, "rping");
    f.event.check = iw_check_find("mpa-rev");
    hunt.outside = true;
    verdict = "FAIL: it did it";
    assert_true(iw_hunt_write_case(&hunt, &f, 12));
    assert_int_equal(tries, 1);
    assert_int_equal(opens, 0);
    assert_true(!f.requested[0] && f.requested[1]);
    assert_string_equal(f.verdict, "FAIL: it did it");
    assert_string_equal(f.pcap, "the.pcap");
    is_written(&f, "fuzz-12-rule-mpa-rev.lua", "case-rule.txt");
    discard(&f);
}

/* Eight octets one by one, and ends at once after a start-up frame. Without memory, placeholders
 * stay. */
static void the_fuzzers_own_ends(void **state)
{
    struct iw_hunt_finding f = finding(
        IW_HUNT_CRASH, "x",
        (const char *[]){"a" REQUEST " f01 a" SEND, "a" REQUEST " r01 a" SEND,
                         "a" REQUEST " a0012414300000000 b000000000000000100 a000000587be8c4",
                         "a" REQUEST " " WRITE, NULL});

    (void)state;
    begin(IW_SIDE_INITIATOR, false, "tcp:h:1");
    iw_hunt_write_unplayed(&hunt, &f, 1);
    is_written(&f, "fuzz-1-crash.lua", "case-ends.txt");
    discard(&f);
}

/* Only an agent has memory, here and elsewhere. */
static void memory_elsewhere(void **state)
{
    (void)state;
    for (int agent = 0; agent < 2; agent++) {
        struct iw_hunt_finding f = finding(IW_HUNT_STRAY, "x", (const char *[]){"a" REQUEST, NULL});

        begin(IW_SIDE_INITIATOR, agent, "inside");
        hunt.outside = true;
        verdict = "PASS";
        assert_false(iw_hunt_write_case(&hunt, &f, 1));
        assert_int_equal(hunt.world.n_memories, agent ? 3 : 0);
        assert_int_equal(opens, 0);
        discard(&f);
    }
}

/* In whole seconds: what the waits take, and some more. */
static void how_long_it_may_take(void **state)
{
    static const struct {
        const char *steps, *deadline;
    } rows[] = {{"a" REQUEST " t50 a" SEND " t1 t1 t1 t1 t200", "  deadline = 41,\n"},
                {"a" REQUEST " t50 a" SEND " t1 t1 t1 t1 t201", "  deadline = 42,\n"}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct iw_hunt_finding f =
            finding(IW_HUNT_CRASH, "x", (const char *[]){rows[i].steps, NULL});

        begin(IW_SIDE_INITIATOR, false, "tcp:h:1");
        iw_hunt_write_unplayed(&hunt, &f, 1);
        char *text = support_read(f.file);
        assert_non_null(strstr(text, rows[i].deadline));
        free(text);
        discard(&f);
    }
}

static void what_shows_it_again(void **state)
{
    static const struct {
        const char *verdict;
        bool good;
    } rows[] = {{"FAIL", true},
                {"FAIL the target ended: x", true},
                {"FAIR", false},
                {"PASS", false},
                {"ERROR a sad end", false},
                {"ERROR no", false},
                {"ERROR a sanitizer stopped the target: x", true},
                {"SKIP FAIL", false},
                {NULL, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_hunt_finding f = finding(IW_HUNT_CRASH, "x", (const char *[]){"a" REQUEST, NULL});

        begin(IW_SIDE_INITIATOR, true, "embedded");
        hunt.outside = true;
        verdict = rows[i].verdict;
        assert_int_equal(iw_hunt_write_case(&hunt, &f, 1), rows[i].good);
        discard(&f);
    }
}

struct written {
    struct iw_hunt_finding *f;
    bool played, good;
};

static void write_it(void *context)
{
    struct written *w = context;

    if (w->played)
        w->good = iw_hunt_write_case(&hunt, w->f, 1);
    else
        iw_hunt_write_unplayed(&hunt, w->f, 1);
}

static void where_nothing_can_be_written(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct iw_hunt_finding f = finding(IW_HUNT_CRASH, "x", (const char *[]){"a" REQUEST, NULL});
        struct written w = {.f = &f, .played = i, .good = true};
        char *text;

        begin(IW_SIDE_INITIATOR, true, "embedded");
        hunt.dir = "/dev/null";
        hunt.outside = true;
        text = support_printed(2, write_it, &w);
        assert_string_equal(text, "iwarp-fuzz: cannot write /dev/null/findings/fuzz-1-crash.lua: "
                                  "Not a directory\n");
        assert_null(f.file);
        assert_int_equal(w.good, !i);
        free(text);
        discard(&f);
    }
}

/* Here it cannot be reached any more: it is written, not played. */
static void a_peer_that_is_gone(void **state)
{
    struct iw_hunt_finding f = finding(IW_HUNT_CRASH, "x", (const char *[]){"a" REQUEST, NULL});

    (void)state;
    begin(IW_SIDE_INITIATOR, false, "tcp:h:1");
    opened = 3;
    assert_false(iw_hunt_write_case(&hunt, &f, 1));
    assert_int_equal(opens, 1);
    assert_int_equal(tries, 1);
    assert_non_null(f.file);
    assert_null(f.verdict);
    discard(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(with_an_agent, support_clean),
        cmocka_unit_test_teardown(with_verbs, support_clean),
        cmocka_unit_test_teardown(memory_that_was_changed, support_clean),
        cmocka_unit_test_teardown(cut_frames, support_clean),
        cmocka_unit_test_teardown(a_peer_that_connects, support_clean),
        cmocka_unit_test_teardown(the_fuzzers_own_ends, support_clean),
        cmocka_unit_test_teardown(memory_elsewhere, support_clean),
        cmocka_unit_test_teardown(how_long_it_may_take, support_clean),
        cmocka_unit_test_teardown(what_shows_it_again, support_clean),
        cmocka_unit_test_teardown(where_nothing_can_be_written, support_clean),
        cmocka_unit_test_teardown(a_peer_that_is_gone, support_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
