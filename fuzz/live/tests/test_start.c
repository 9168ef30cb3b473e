/* SPDX-License-Identifier: BSD-3-Clause */
/* From a command line to the hunt that it asks for, and to the exit status. There is no hunt: the
 * test has functions for what it would do, and what they are told is noted in one text. */
#include "live_support.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "host/address.h"
#include "host/text.h"
#include "target/other_kernel.h"

static struct iw_target_spec spec;
static const char *folder, *agent;
static char noted[2048], *before; /* the folder that the test began in */
static volatile int stop;
static bool known, elsewhere, bad_map, bad_resume, bad_report, bad_seeds;
static int status;                       /* of the hunt */
static uint64_t over;                    /* sequences */
static struct iw_hunt_finding *findings; /* of the hunt */
static int freed;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
{
    size_t n = strlen(noted);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(noted + n, sizeof(noted) - n, format, arguments);
    va_end(arguments);
}

struct iw_target_spec *__wrap_iw_target_parse(const char *text, const char *program,
                                              const char *where, char *error, size_t room);
void __wrap_iw_target_free(struct iw_target_spec *s);
bool __wrap_iw_target_elsewhere(const struct iw_target_spec *s, const char *variable);
const volatile int *__wrap_iw_shell_signals(void);
int __wrap_iw_hunt_go(struct iw_hunt *h);
int __wrap_iw_hunt_watch(struct iw_hunt *h);
int __wrap_iw_hunt_try_file(struct iw_hunt *h);
bool __wrap_iw_hunt_report(struct iw_hunt *h);
bool __wrap_iw_hunt_resume(struct iw_hunt *h);
void __wrap_iw_hunt_forget_findings(const struct iw_hunt *h);
int __wrap_iw_hunt_seeds_record(struct iw_hunt_seeds *seeds, const char *path, char *error,
                                size_t room);
struct iw_hunt_coverage *__wrap_iw_hunt_coverage_open(const char *path, const char *dir);
void __wrap_iw_hunt_coverage_close(struct iw_hunt_coverage *c);
struct addrinfo *__wrap_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room);
struct addrinfo *__real_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room);

struct iw_target_spec *__wrap_iw_target_parse(const char *text, const char *program,
                                              const char *where, char *error, size_t room)
{
    assert_string_equal(text, "it");
    assert_string_equal(program, agent);
    assert_string_equal(strrchr(where, '/'), "/targets");
    if (known)
        return &spec;
    snprintf(error, room, "it is none");
    return NULL;
}

void __wrap_iw_target_free(struct iw_target_spec *s)
{
    freed += s == &spec;
}

bool __wrap_iw_target_elsewhere(const struct iw_target_spec *s, const char *variable)
{
    assert_ptr_equal(s, &spec);
    assert_string_equal(variable, "IWARP_FUZZ_INSIDE");
    return elsewhere;
}

const volatile int *__wrap_iw_shell_signals(void)
{
    return &stop;
}

/* The hunt, with findings that are the hunt's from then on. */
static int hunted(struct iw_hunt *h, const char *how)
{
    char *log = iw_text_format("%s/target.log", h->dir);

    assert_ptr_equal(h->stop, &stop);
    assert_int_equal(h->lasting, -1);
    assert_string_equal(h->world.log, log);
    assert_int_equal(h->world.listener, -1);
    assert_ptr_equal(h->world.spec, &spec);
    free(log);
    note(" %s(%u at a time, %g, %s%s)", how, h->world.slots, h->world.scale,
         h->world.side == IW_SIDE_RESPONDER ? "responder" : "initiator",
         h->coverage != NULL ? ", coverage" : "");
    assert_int_equal(h->seeds.side, h->world.side);
    h->over = over;
    while (findings != NULL) {
        struct iw_hunt_finding *f = findings;

        findings = f->next;
        f->next = NULL;
        iw_hunt_finding_add(h, f);
    }
    return status;
}

int __wrap_iw_hunt_go(struct iw_hunt *h)
{
    assert_true(h->seeds.n > 20);
    return hunted(h, "go");
}

int __wrap_iw_hunt_watch(struct iw_hunt *h)
{
    return hunted(h, "watch");
}

int __wrap_iw_hunt_try_file(struct iw_hunt *h)
{
    assert_int_equal(h->seeds.n, 0);
    return hunted(h, "try");
}

bool __wrap_iw_hunt_report(struct iw_hunt *h)
{
    note(" report %zu", iw_hunt_counted(h, true));
    return !bad_report;
}

bool __wrap_iw_hunt_resume(struct iw_hunt *h)
{
    assert_non_null(h->dir);
    note(" resume");
    return !bad_resume;
}

void __wrap_iw_hunt_forget_findings(const struct iw_hunt *h)
{
    assert_non_null(h->dir);
    note(" forget");
}

int __wrap_iw_hunt_seeds_record(struct iw_hunt_seeds *seeds, const char *path, char *error,
                                size_t room)
{
    assert_int_equal(seeds->n, 0);
    note(" seeds %s", path);
    snprintf(error, room, "%s: nothing", path);
    return bad_seeds ? -1 : 0;
}

struct iw_hunt_coverage *__wrap_iw_hunt_coverage_open(const char *path, const char *dir)
{
    assert_non_null(dir);
    note(" map %s", path != NULL ? path : "-");
    return bad_map ? NULL : (struct iw_hunt_coverage *)&spec;
}

void __wrap_iw_hunt_coverage_close(struct iw_hunt_coverage *c)
{
    assert_true(!c || (struct iw_target_spec *)c == &spec);
    if (c != NULL)
        note(" unmap");
}

struct addrinfo *__wrap_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room)
{
    assert_false(passive);
    return strcmp(host, "nowhere") == 0
               ? NULL
               : __real_iw_address_resolve(host, port, passive, error, room);
}

/* ---- */

static int begin(void **state)
{
    static char name[] = "its name", text[] = "it";

    (void)state;
    folder = support_folder();
    spec = (struct iw_target_spec){.name = name, .text = text};
    spec.start = text;
    *noted = 0;
    agent = "/bin/sh";
    known = true;
    elsewhere = bad_map = bad_resume = bad_report = bad_seeds = false;
    status = freed = stop = 0;
    over = 0;
    findings = NULL;
    before = NULL;
    return 0;
}

static int end(void **state)
{
    while (findings != NULL) {
        struct iw_hunt_finding *f = findings;

        findings = f->next;
        iw_hunt_finding_free(f);
    }
    if (before != NULL && chdir(before))
        return -1;
    free(before);
    return support_clean(state);
}

struct started {
    const char *words; /* of the command line; FOLDER is that of the test */
    int status;
};

static void start(void *context)
{
    struct started *s = context;
    char *filled = iw_text_fill(s->words, (const char *const[]){"D", folder, NULL});
    char *words[24] = {(char *)(uintptr_t) "iwarp-fuzz"};
    int n = 1;

    for (char *word = strtok(filled, " "); word != NULL; word = strtok(NULL, " "))
        words[n++] = word;
    s->status = iw_hunt_main(n, words);
    free(filled);
}

/* Starts with these words after the target and the agent, and a folder of results. */
static void starts(const char *words, int expected, const char *printed, const char *does)
{
    struct started s = {.words = words};

    s.words = iw_text_format("--target it --agent /bin/sh --results {D}/r %s", words);
    char *text = support_printed(2, start, &s);
    char *filled = iw_text_fill(printed, (const char *const[]){"D", folder, NULL});

    assert_string_equal(text, filled);
    assert_string_equal(noted, does);
    assert_int_equal(s.status, expected);
    *noted = 0;
    free(text);
    free(filled);
    free((char *)(uintptr_t)s.words);
}

/* ---- what is asked for ---- */

static void a_hunt(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    starts("", 0, "", " forget go(8 at a time, 1, initiator) report 0");
    assert_true(signal(SIGPIPE, SIG_DFL) == SIG_IGN);
    assert_int_equal(freed, 1);
    starts("--time-scale 2.5 --seeds a --seeds b", 0, "",
           " seeds a seeds b forget go(8 at a time, 2.5, initiator) report 0");
    starts("--help-me", IW_EXIT_USAGE, "iwarp-fuzz: --help-me: unknown option; see --help\n", "");
    struct started help = {.words = "--help"};
    free(support_printed(1, start, &help));
    assert_int_equal(help.status, 0);
    assert_string_equal(noted, "");
    bad_seeds = true;
    starts("--seeds a --seeds b", IW_EXIT_USAGE, "iwarp-fuzz: --seeds a: nothing\n", " seeds a");
}

static void a_hunt_elsewhere(void **state)
{
    static char map[] = "/map", inside[] = "in";

    (void)state;
    spec.inside = inside;
    spec.coverage = map;
    elsewhere = true;
    starts("--coverage", 0, "", " forget watch(8 at a time, 1, initiator) report 0");
    elsewhere = false; /* this is the one in there */
    starts("--coverage --resume", 0, "",
           " map /map resume go(8 at a time, 1, initiator, coverage) report 0 unmap");
    bad_resume = true;
    starts("--resume", IW_EXIT_TESTER, "", " resume");
    starts("--try file", 0, "", " try(8 at a time, 1, initiator)");
    bad_map = true;
    starts("--coverage --resume", IW_EXIT_TESTER, "", " map /map");
    spec.coverage = NULL;
    starts("--coverage", IW_EXIT_USAGE,
           "iwarp-fuzz: --coverage: expected a target file that says where it is told "
           "(coverage)\n",
           "");
    spec.inside = NULL;
    starts("--coverage", IW_EXIT_TESTER, "", " map -");
}

static void a_target_that_is_none(void **state)
{
    static char person[] = "press it", host[] = "127.0.0.1";

    (void)state;
    known = false;
    starts("", IW_EXIT_USAGE, "iwarp-fuzz: it is none\n", "");
    assert_int_equal(freed, 0);
    known = true;
    spec.ask = person;
    starts("", IW_EXIT_USAGE,
           "iwarp-fuzz: --target it: somebody has to make it connect: expected a command that "
           "does\n",
           "");
    spec.host = host;
    starts("", 0, "", " forget go(32 at a time, 1, initiator) report 0");
    starts("--suppress /nowhere/known", IW_EXIT_USAGE,
           "iwarp-fuzz: --suppress /nowhere/known: No such file or directory\n", "");
}

static void an_agent_that_is_not_there(void **state)
{
    (void)state;
    spec.embedded = true;
    starts("", 0, "", " forget go(32 at a time, 1, initiator) report 0");
    agent = "/bin/sh/none";
    starts("--agent /bin/sh/none", IW_EXIT_TESTER,
           "iwarp-fuzz: cannot start the embedded target /bin/sh/none: Not a directory\n", "");
    spec.embedded = false;
    starts("--agent /bin/sh/none", 0, "", " forget go(8 at a time, 1, initiator) report 0");
}

/* ---- on which host ---- */

enum { START = 1, INSIDE = 2, CONNECTS = 4, EMBEDDED = 8, AGENT = 16 };

/* What a target is like, and how many connections it gets; 0: it needs consent. */
static const struct {
    int is;
    const char *host, *agent_host, *station_host;
    unsigned at_a_time;
} hosts[] = {
    {0, "127.0.0.1", NULL, NULL, 32},
    {0, "127.200.0.1", NULL, NULL, 32},
    {0, "::1", NULL, NULL, 32},
    {0, "192.0.2.1", NULL, NULL, 0},
    {0, "::2", NULL, NULL, 0},
    {0, "nowhere", NULL, NULL, 0},
    {0, NULL, NULL, NULL, 0},
    {0, NULL, "127.0.0.1", NULL, 32},
    {0, NULL, "192.0.2.1", NULL, 0},
    {0, "127.0.0.1", "127.0.0.1", NULL, 32},
    {0, "192.0.2.1", "127.0.0.1", NULL, 0},
    {0, "127.0.0.1", "192.0.2.1", NULL, 0},
    {START, "192.0.2.1", NULL, NULL, 8},
    {INSIDE, "127.0.0.1", NULL, NULL, 8},
    {EMBEDDED, NULL, NULL, NULL, 32},
    {EMBEDDED | CONNECTS, NULL, NULL, NULL, 32},
    {CONNECTS, NULL, NULL, NULL, 1},
    {CONNECTS, NULL, NULL, "127.0.0.1", 1},
    {CONNECTS, NULL, NULL, "192.0.2.1", 0},
    {CONNECTS | INSIDE, NULL, NULL, "192.0.2.1", 1},
    {CONNECTS | AGENT, NULL, "127.0.0.1", "192.0.2.1", 32},
    {CONNECTS, "127.0.0.1", NULL, "192.0.2.1", 32},
};

static void consent_and_connections(void **state)
{
    static const char ask[] =
        "iwarp-fuzz: --target it: a peer on another host that is not started from here may be "
        "wedged for good; expected --allow-hazard\n";
    static char text[] = "text";

    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        bool called = hosts[i].at_a_time == 1 || (hosts[i].is == CONNECTS && hosts[i].host == NULL);
        char does[128];

        spec.start = hosts[i].is & START ? text : NULL;
        spec.inside = hosts[i].is & INSIDE ? text : NULL;
        spec.connect = hosts[i].is & CONNECTS ? text : NULL;
        spec.embedded = hosts[i].is & EMBEDDED;
        spec.class = hosts[i].is & AGENT ? IW_TARGET_AGENT : IW_TARGET_BARE;
        spec.host = (char *)(uintptr_t)hosts[i].host;
        spec.agent_host = (char *)(uintptr_t)hosts[i].agent_host;
        spec.station_host = (char *)(uintptr_t)hosts[i].station_host;
        unsigned slots = hosts[i].at_a_time ? hosts[i].at_a_time : called ? 1 : 8;
        snprintf(does, sizeof(does), " forget go(%u at a time, 1, %s) report 0", slots,
                 called ? "responder" : "initiator");
        if (hosts[i].at_a_time)
            starts("", 0, "", does);
        else
            starts("", IW_EXIT_USAGE, ask, "");
        starts("--allow-hazard", 0, "", does);
    }
}

static void how_many_connections(void **state)
{
    static char host[] = "127.0.0.1", command[] = "true";

    (void)state;
    spec.host = host;
    starts("--jobs 3", 0, "", " forget go(3 at a time, 1, initiator) report 0");
    spec.class = IW_TARGET_RPING;
    starts("", 0, "", " forget go(1 at a time, 1, initiator) report 0");
    starts("--jobs 3", 0, "", " forget go(3 at a time, 1, initiator) report 0");
    spec.host = NULL;
    spec.connect = command;
    starts("--jobs 3", 0, "", " forget go(1 at a time, 1, responder) report 0");
}

/* ---- files ---- */

static void files_that_can_be_written(void **state)
{
    char *old = support_file(folder, "old", "as it was"), *path;

    (void)state;
    starts("--json {D}/old --graph {D}/new", 0, "",
           " forget go(8 at a time, 1, initiator) report 0");
    char *text = support_read(old);
    assert_string_equal(text, "as it was");
    path = iw_text_format("%s/new", folder);
    assert_int_equal(access(path, F_OK), -1);
    starts("--json /dev/null --graph /dev/null", 0, "",
           " forget go(8 at a time, 1, initiator) report 0");
    starts("--json {D}", IW_EXIT_OUTPUT, "iwarp-fuzz: cannot write {D}: Is a directory\n", "");
    starts("--graph /dev/null/x", IW_EXIT_OUTPUT,
           "iwarp-fuzz: cannot write /dev/null/x: Not a directory\n", "");
    starts("--resume --json {D}", 0, "", " resume go(8 at a time, 1, initiator) report 0");
    starts("--try x --json {D}", 0, "", " try(8 at a time, 1, initiator)");
    starts("--results /dev/null/x", IW_EXIT_OUTPUT,
           "iwarp-fuzz: cannot make the folder /dev/null/x: Not a directory\n", "");
    free(text);
    free(path);
    free(old);
}

static void where_results_go(void **state)
{
    struct started s = {.words = "--target it --agent /bin/sh"};

    (void)state;
    starts("--results {D}/a/b", 0, "", " forget go(8 at a time, 1, initiator) report 0");
    char *path = iw_text_format("%s/a/b", folder);
    assert_int_equal(access(path, F_OK), 0);
    free(path);
    before = realpath(".", NULL);
    assert_int_equal(chdir(folder), 0);
    free(support_printed(2, start, &s));
    assert_int_equal(s.status, 0);
    assert_string_equal(noted, " forget go(8 at a time, 1, initiator) report 0");
    assert_int_equal(access("iwarp-fuzz-results", F_OK), 0);
    assert_int_not_equal(access("r", F_OK), 0);
}

/* ---- the exit status ---- */

static void finds(bool suppressed)
{
    struct iw_hunt_finding *f = iw_got(calloc(1, sizeof(*f)));

    f->suppressed = suppressed ? iw_text_copy("known") : NULL;
    f->next = findings;
    findings = f;
}

static void exit_statuses(void **state)
{
    (void)state;
    finds(true);
    starts("", 0, "", " forget go(8 at a time, 1, initiator) report 1");
    finds(true);
    finds(false);
    starts("", 1, "", " forget go(8 at a time, 1, initiator) report 2");
    status = 1; /* the findings are known */
    starts("", 0, "", " forget go(8 at a time, 1, initiator) report 0");
    status = IW_EXIT_UNREACHED; /* from the begin on */
    starts("", IW_EXIT_UNREACHED, "", " forget go(8 at a time, 1, initiator)");
    over = 1;
    starts("", IW_EXIT_UNREACHED, "", " forget go(8 at a time, 1, initiator) report 0");
    over = 0;
    finds(false);
    starts("", IW_EXIT_UNREACHED, "", " forget go(8 at a time, 1, initiator) report 1");
    finds(false);
    status = 0;
    bad_report = true;
    starts("", IW_EXIT_OUTPUT, "", " forget go(8 at a time, 1, initiator) report 1");
    status = 9;
    starts("--try x", 9, "", " try(8 at a time, 1, initiator)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_hunt, begin, end),
        cmocka_unit_test_setup_teardown(a_hunt_elsewhere, begin, end),
        cmocka_unit_test_setup_teardown(a_target_that_is_none, begin, end),
        cmocka_unit_test_setup_teardown(an_agent_that_is_not_there, begin, end),
        cmocka_unit_test_setup_teardown(consent_and_connections, begin, end),
        cmocka_unit_test_setup_teardown(how_many_connections, begin, end),
        cmocka_unit_test_setup_teardown(files_that_can_be_written, begin, end),
        cmocka_unit_test_setup_teardown(where_results_go, begin, end),
        cmocka_unit_test_setup_teardown(exit_statuses, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
