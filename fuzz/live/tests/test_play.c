/* SPDX-License-Identifier: BSD-3-Clause */
/* The case of a finding is played: what comes of that, and what it leaves open. The runner is a
 * function of the test. */
#include "live_support.h"

#include <stdio.h>

#include "host/text.h"
#include "script/script_case.h"
#include "script/script_run.h"

static char target[] = "the target", instance, folder_of[64];
static struct iw_target_spec spec;
static struct iw_hunt_options options;
static struct iw_hunt hunt;
static char noted[512];
static bool bad_load, bad_open;
static const char *checked, *trouble, *reason, *pcap;
static enum iw_verdict verdict;
static const char *ends_late; /* how, once it is asked */
static bool askable;
static enum iw_hunt_kind kind;
static const char *seen; /* the check of a deviation, */
static bool wire;        /* which the observer saw */
static struct iw_case cases[1];

static void note(const char *text)
{
    size_t n = strlen(noted);

    snprintf(noted + n, sizeof(noted) - n, " %s", text);
}

struct iw_hunt_event __wrap_iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                        size_t n, const struct iw_hunt_event *wanted,
                                        bool *requested);
int __wrap_iw_hunt_open(struct iw_hunt *h);
void __wrap_iw_hunt_close(struct iw_hunt *h);
int __wrap_iw_case_load(const char *file, const struct iw_run_options *o, struct iw_case **out,
                        size_t *count, char *error, size_t room);
void __wrap_iw_case_free_all(struct iw_case *list, size_t count);
enum iw_target_opened __wrap_iw_target_open(const struct iw_target_spec *s, const char *option,
                                            const char *log, double time_scale,
                                            struct iw_target_instance **out, char *error,
                                            size_t room);
struct iw_target *__wrap_iw_target_of(struct iw_target_instance *t);
const char *__wrap_iw_target_check(struct iw_target_instance *t, char *text, size_t room);
bool __wrap_iw_target_askable(const struct iw_target_instance *t);
enum iw_alive __wrap_iw_target_ask(struct iw_target_instance *t);
void __wrap_iw_target_close(struct iw_target_instance *t, char *text, size_t room);
int __wrap_iw_script_run_case(const struct iw_case *c, struct iw_target *t,
                              const struct iw_run_options *o, struct iw_result *out);

struct iw_hunt_event __wrap_iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                        size_t n, const struct iw_hunt_event *wanted,
                                        bool *requested)
{
    (void)inputs;
    assert_ptr_equal(h, &hunt);
    assert_int_equal(n, 1);
    assert_non_null(requested);
    note("try");
    return *wanted;
}

int __wrap_iw_hunt_open(struct iw_hunt *h)
{
    assert_ptr_equal(h, &hunt);
    note("open");
    return 0;
}

void __wrap_iw_hunt_close(struct iw_hunt *h)
{
    assert_ptr_equal(h, &hunt);
    note("close");
}

int __wrap_iw_case_load(const char *file, const struct iw_run_options *o, struct iw_case **out,
                        size_t *count, char *error, size_t room)
{
    char *path = iw_text_format("%s/findings/fuzz-1-%s%s.lua", folder_of, iw_hunt_kind_name(kind),
                                kind == IW_HUNT_RULE ? "-mpa-crc" : "");

    assert_string_equal(file, path);
    *strrchr(path, '/') = 0;
    assert_string_equal(o->pcap_dir, path);
    assert_true(o->hazards);
    assert_true(o->time_scale >= 3 && o->time_scale <= 3);
    assert_non_null(o->library);
    free(path);
    note("load");
    snprintf(error, room, "no case");
    if (bad_load)
        return -1;
    *out = cases;
    *count = 1;
    return 0;
}

void __wrap_iw_case_free_all(struct iw_case *list, size_t count)
{
    assert_ptr_equal(list, bad_load ? NULL : cases);
    assert_int_equal(count, !bad_load);
    note("free");
}

enum iw_target_opened __wrap_iw_target_open(const struct iw_target_spec *s, const char *option,
                                            const char *log, double time_scale,
                                            struct iw_target_instance **out, char *error,
                                            size_t room)
{
    assert_ptr_equal(s, &spec);
    assert_null(option);
    assert_string_equal(log, "the.log");
    assert_true(time_scale >= 3 && time_scale <= 3);
    note("target");
    snprintf(error, room, "no target");
    *out = bad_open ? NULL : (struct iw_target_instance *)&instance;
    return bad_open ? IW_TARGET_UNREACHED : IW_TARGET_OPENED;
}

struct iw_target *__wrap_iw_target_of(struct iw_target_instance *t)
{
    return (struct iw_target *)t;
}

const char *__wrap_iw_target_check(struct iw_target_instance *t, char *text, size_t room)
{
    assert_true((char *)t == &instance);
    note("check");
    snprintf(text, room, "%s", trouble);
    return checked;
}

bool __wrap_iw_target_askable(const struct iw_target_instance *t)
{
    assert_true((const char *)t == &instance);
    return askable;
}

enum iw_alive __wrap_iw_target_ask(struct iw_target_instance *t)
{
    assert_true((char *)t == &instance);
    note("ask");
    checked = ends_late;
    return ends_late != NULL ? IW_ALIVE_ENDED : IW_ALIVE_ANSWERS;
}

void __wrap_iw_target_close(struct iw_target_instance *t, char *text, size_t room)
{
    assert_true((char *)t == &instance);
    assert_true(room > 0);
    *text = 0;
    note("end");
}

int __wrap_iw_script_run_case(const struct iw_case *c, struct iw_target *t,
                              const struct iw_run_options *o, struct iw_result *out)
{
    assert_ptr_equal(c, cases);
    assert_true((char *)t == &instance);
    assert_true(o->hazards);
    note("run");
    *out = (struct iw_result){
        .verdict = verdict, .reason = iw_text_copy(reason), .pcap = iw_text_copy(pcap)};
    if (seen != NULL)
        iw_result_add_deviation(
            out, &(struct iw_deviation){.how = iw_text_copy(seen), .wire = wire, .connection = -1});
    return 0;
}

static int begin(void **state)
{
    (void)state;
    snprintf(folder_of, sizeof(folder_of), "%s", support_folder());
    spec = (struct iw_target_spec){.text = target};
    hunt = (struct iw_hunt){.o = &options, .dir = folder_of, .spec = &spec};
    hunt.world = (struct iw_hunt_world){.spec = &spec, .scale = 3, .log = "the.log", .slots = 1};
    *noted = 0;
    bad_load = bad_open = false;
    checked = reason = NULL;
    trouble = "";
    pcap = "a.pcap";
    verdict = IW_VERDICT_PASS;
    ends_late = NULL;
    askable = false;
    kind = IW_HUNT_CRASH;
    seen = NULL;
    wire = false;
    return 0;
}

struct written {
    struct iw_hunt_finding f;
    bool good;
};

static void write_it(void *context)
{
    struct written *w = context;

    w->good = iw_hunt_write_case(&hunt, &w->f, 1);
}

/* Plays the case; its verdict (NULL: none), whether that shows the finding, and what is done. */
static void plays(const char *said, bool good, const char *printed, const char *does)
{
    struct iw_hunt_input *in = support_input("a01");
    bool requested[1] = {false};
    struct written w = {.f = {.event = {.kind = kind, .check = IW_CHECK_MPA_CRC, .text = "x"},
                              .inputs = &in,
                              .n_inputs = 1,
                              .requested = requested}};
    char *text = support_printed(2, write_it, &w);

    assert_string_equal(text, printed);
    assert_string_equal(noted, does);
    *noted = 0;
    if (said != NULL) {
        assert_string_equal(w.f.verdict, said);
        assert_string_equal(w.f.pcap, "a.pcap");
    } else {
        assert_null(w.f.verdict);
        assert_null(w.f.pcap);
    }
    assert_int_equal(w.good, good);
    iw_hunt_input_free(in);
    free(text);
    free(w.f.file);
    free(w.f.pcap);
    free(w.f.verdict);
}

static void verdicts(void **state)
{
    static const char all[] = " try open close load target run check end free";

    (void)state;
    plays("PASS", false, "", all);
    verdict = IW_VERDICT_FAIL;
    plays("FAIL", false, "", all);
    reason = "no Reply";
    plays("FAIL no Reply", false, "", all);
    checked = "signal 6";
    plays("FAIL the target ended: signal 6", true, "", all);
    trouble = "a report";
    plays("FAIL the target broke: a report", true, "", all);
    spec.embedded = true;
    checked = NULL;
    plays("ERROR a sanitizer stopped the target: a report", true, "", all);
}

/* What was found to end gets the time to do so. */
static void a_late_end(void **state)
{
    (void)state;
    askable = true;
    verdict = IW_VERDICT_FAIL;
    plays("FAIL", false, "", " try open close load target run check ask end free");
    ends_late = "signal 6";
    plays("FAIL the target ended: signal 6", true, "",
          " try open close load target run check ask check end free");
    checked = "signal 6";
    plays("FAIL the target ended: signal 6", true, "",
          " try open close load target run check end free");
    checked = NULL;
    kind = IW_HUNT_HANG;
    plays("FAIL", true, "", " try open close load target run check end free");
}

/* A target that broke shows no hang, and no other rule the one that was found. */
static void what_is_the_finding_itself(void **state)
{
    static const char all[] = " try open close load target run check end free";

    (void)state;
    kind = IW_HUNT_HANG;
    plays("PASS", false, "", all);
    verdict = IW_VERDICT_FAIL;
    plays("FAIL", true, "", all);
    checked = "signal 6";
    plays("FAIL the target ended: signal 6", false, "", all);
    checked = NULL;
    kind = IW_HUNT_RULE;
    plays("FAIL", false, "", all);
    seen = iw_check_info(IW_CHECK_MPA_CRC)->name;
    plays("FAIL", false, "", all); /* the case saw that, not the observer */
    wire = true;
    plays("FAIL", true, "", all);
    seen = "another";
    plays("FAIL", false, "", all);
}

static void cases_that_cannot_be_played(void **state)
{
    (void)state;
    bad_load = true;
    plays(NULL, false, "iwarp-fuzz: no case\n", " try open close load free");
    bad_load = false;
    bad_open = true;
    plays(NULL, false, "iwarp-fuzz: no target\n", " try open close load target free");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(verdicts, begin, support_clean),
        cmocka_unit_test_setup_teardown(a_late_end, begin, support_clean),
        cmocka_unit_test_setup_teardown(what_is_the_finding_itself, begin, support_clean),
        cmocka_unit_test_setup_teardown(cases_that_cannot_be_played, begin, support_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
