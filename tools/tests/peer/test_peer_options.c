/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-peer's command line: its own options, and those that it shares with iwarp-agent, each at
 * its limits. */
#include "peer_program.h"

#include <errno.h>

#include "../caught.h"
#include "host/complain.h"
#include "iwarp/nearest.h"

int iw_peer_main(int argc, char **argv);

/* ---- doubles ---- */

static struct peer ran; /* what the program was about to run */
static int runs, status_of_run;
static bool close_trace;
static bool had_switches;

const struct personality peer_echo = {.name = "echo"}, peer_rping = {.name = "rping"};

int peer_run(struct peer *p)
{
    runs++;
    ran = *p;
    had_switches = p->options.endpoint.switches == &p->options.switches;
    /* What the endpoint points to moves with the copy. */
    assert_ptr_equal(p->options.endpoint.private_data, p->options.private_data);
    if (p->trace_path != NULL && strcmp(p->trace_path, "/dev/full") == 0)
        fputs("x", p->trace);
    if (close_trace)
        fflush(p->trace); /* so that it has failed before it is closed */
    return status_of_run;
}

void __wrap_iw_standard_open(void);
int __wrap_iw_standard_close(const char *program, int status);

void __wrap_iw_standard_open(void)
{
}

int __wrap_iw_standard_close(const char *program, int status)
{
    assert_string_equal(program, "iwarp-peer");
    return status + 100;
}

/* Runs words parted by spaces; what the program returns. */
static int run(const char *line)
{
    static char copy[8192], name[] = "peer";
    char *argv[32] = {name}, *rest = copy;
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (word[0] != '\0')
            argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
    runs = 0;
    optind = 0;
    return iw_peer_main(argc, argv) - 100;
}

static void accept_line(const char *line)
{
    assert_int_equal(run(line), 0);
    assert_int_equal(runs, 1);
}

static void refuse(const char *line, int expected, const char *text)
{
    char whole[1024];
    snprintf(whole, sizeof(whole), "iwarp-peer: %s\n", text);
    catch_from(2);
    int status = run(line);
    assert_string_equal(caught(), whole);
    assert_int_equal(status, expected);
    assert_int_equal(runs, 0);
}

/* ---- words and defaults ---- */

static void test_listen(void **state)
{
    (void)state;
    accept_line("listen here:7");
    assert_true(ran.listens && !ran.once && !ran.verify);
    assert_string_equal(ran.address.host, "here");
    assert_int_equal(ran.address.port, 7);
    assert_string_equal(ran.personality->name, "echo");
    assert_int_equal(ran.count, 5);
    assert_int_equal(ran.size, 16384);
    assert_int_equal(ran.buffers, 64);
    assert_int_equal(ran.limit, 128);
    assert_int_equal(ran.threads, 1);
    assert_null(ran.stream);
    assert_null(ran.trace);
    const struct iw_endpoint_config *config = &ran.options.endpoint;
    assert_int_equal(config->role, IW_MPA_RESPONDER);
    assert_int_equal(config->max_sge, 1);
    assert_int_equal(config->recv_depth, 64);
    assert_int_equal(config->send_depth, 64);
    assert_null(config->switches);
    assert_int_equal(config->private_length, 0);
    assert_true(config->mpa.crc && !config->mpa.markers && config->mpa.enhanced);
    assert_int_equal(config->mpa.revision, 2);
    assert_int_equal(config->mpa.ird, 16);
    assert_int_equal(config->mpa.ord, 16);
    accept_line("listen here:0");
    assert_int_equal(ran.address.port, 0);
}

static void test_connect(void **state)
{
    (void)state;
    accept_line("connect there:1");
    assert_false(ran.listens);
    assert_int_equal(ran.size, 64);
    assert_int_equal(ran.options.endpoint.role, IW_MPA_INITIATOR);
    refuse("connect there:0", 64, "connect needs a port above 0");
    refuse("", 64, "expected listen or connect (see --help)");
    refuse("listen", 64, "expected HOST:PORT (see --help)");
    refuse("serve a:1", 64, "expected listen or connect, not \"serve\"");
    refuse("listen a:1 b", 64, "b: unexpected argument; see --help");
    refuse("listen a", 64, "bad address \"a\": expected HOST:PORT");
    refuse("connect a:1 --what", 64, "--what: unknown option; see --help");
}

static void test_own_options(void **state)
{
    (void)state;
    accept_line("listen a:1 --personality rping --verify --once --stream hi");
    assert_string_equal(ran.personality->name, "rping");
    assert_true(ran.verify && ran.once);
    assert_string_equal(ran.stream, "hi");
    accept_line("listen a:1 --personality rping --personality echo");
    assert_string_equal(ran.personality->name, "echo");
    refuse("listen a:1 --personality ech", 64, "--personality ech: expected echo or rping");
    refuse("listen a:1 --personality rpin", 64, "--personality rpin: expected echo or rping");
    /* Queues as long as the receives, but not too short for anybody. */
    static const struct {
        const char *line;
        unsigned buffers, depth;
        unsigned limit;
    } cases[] = {{"listen a:1 --buffers 1", 1, 4, 128},
                 {"listen a:1 --buffers 4", 4, 4, 128},
                 {"listen a:1 --buffers 5", 5, 5, 128},
                 {"listen a:1 --buffers 4096", 4096, 4096, 128},
                 {"listen a:1 --limit 1024", 64, 64, 1024},
                 {"listen a:1 --limit 1025", 4, 4, 1025},
                 {"listen a:1 --limit 9999 --buffers 7", 7, 7, 9999}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        accept_line(cases[i].line);
        assert_int_equal(ran.buffers, cases[i].buffers);
        assert_int_equal(ran.options.endpoint.recv_depth, cases[i].depth);
        assert_int_equal(ran.options.endpoint.send_depth, cases[i].depth);
        assert_int_equal(ran.limit, cases[i].limit);
    }
}

/* What does not go together, and what just does. */
static void test_contradictions(void **state)
{
    static const char once[] = "--once and --limit: only for a listening peer";
    static const char threads[] = "--threads: only for a listening peer, and not with --once";
    (void)state;
    refuse("connect a:1 --personality rping --size 22", 64,
           "--size: rping needs at least 23 octets");
    accept_line("connect a:1 --personality rping --size 23");
    accept_line("connect a:1 --personality rping");
    accept_line("connect a:1 --size 1");
    refuse("connect a:1 --verify", 64, "--verify: only with --personality rping");
    refuse("connect a:1 --once", 64, once);
    refuse("connect a:1 --limit 1", 64, once);
    refuse("connect a:1 --threads 2", 64, threads);
    refuse("listen a:1 --threads 2 --once", 64, threads);
    accept_line("listen a:1 --threads 2 --limit 1");
    accept_line("connect a:1 --threads 1");
    accept_line("listen a:1 --threads 1 --once");
}

static void test_lines(void **state)
{
    char line[512], text[512], word[202];
    (void)state;
    memset(word, 'w', sizeof(word));
    word[200] = '\0';
    snprintf(line, sizeof(line), "listen a:1 --stream %s", word);
    accept_line(line);
    assert_int_equal(strlen(ran.stream), 200);
    refuse("listen a:1 --stream a\nb", 64,
           "--stream a\nb: expected one line of at most 200 octets");
    word[200] = 'w';
    word[201] = '\0';
    snprintf(line, sizeof(line), "listen a:1 --stream %s", word);
    snprintf(text, sizeof(text), "--stream %.200s: expected one line of at most 200 octets", word);
    refuse(line, 64, text);
}

static void test_numbers(void **state)
{
    static const struct {
        const char *name, *least, *below, *most, *above;
    } cases[] = {{"count", "1", "0", "4294967295", "4294967296"},
                 {"size", "1", "0", "1048576", "1048577"},
                 {"buffers", "1", "0", "4096", "4097"},
                 {"limit", "1", "0", "65536", "65537"},
                 {"threads", "1", "0", "64", "65"},
                 {"ird", "0", "-1", "16383", "16384"},
                 {"ord", "0", "-1", "16383", "16384"},
                 {"mulpdu", "128", "127", "64768", "64769"},
                 {"revision", "0", "-1", "2", "3"},
                 {"startup-timeout", "1", "0", "3600000", "3600001"}};
    char line[128], text[128];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int most = 0; most < 2; most++) {
            const char *value = most ? cases[i].most : cases[i].least;
            snprintf(line, sizeof(line), "listen a:1 --%s %s", cases[i].name, value);
            accept_line(line);
            const struct iw_endpoint_config *c = &ran.options.endpoint;
            const uint64_t got[] = {
                ran.count,  ran.size,   ran.buffers, ran.limit,       ran.threads,
                c->mpa.ird, c->mpa.ord, c->mulpdu,   c->mpa.revision, c->startup_timeout / 1000000};
            assert_int_equal(got[i], strtoull(value, NULL, 10));
            value = most ? cases[i].above : cases[i].below;
            snprintf(line, sizeof(line), "listen a:1 --%s %s", cases[i].name, value);
            snprintf(text, sizeof(text), "--%s %s: expected a number from %s to %s", cases[i].name,
                     value, cases[i].least, cases[i].most);
            refuse(line, 64, text);
        }
    accept_line("listen a:1 --startup-timeout 7");
    assert_int_equal(ran.options.endpoint.startup_timeout, 7000000);
}

/* ---- traces ---- */

static void test_traces(void **state)
{
    char path[] = "peer-XXXXXX", line[64];
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    accept_line("listen a:1 --trace json");
    assert_ptr_equal(ran.trace, stderr);
    refuse("listen a:1 --trace xml", 64, "--trace xml: expected json");
    unsigned before = descriptors();
    snprintf(line, sizeof(line), "listen a:1 --trace-file %s", path);
    accept_line(line);
    assert_ptr_not_equal(ran.trace, stderr);
    assert_int_equal(descriptors(), before);
    unlink(path);
    refuse("listen a:1 --trace-file no/file", 73,
           "--trace-file: cannot write \"no/file\": No such file or directory");
    /* Lines that were lost: the program's own failure comes first. */
    static const int statuses[][2] = {{0, 73}, {69, 69}};
    for (size_t i = 0; i < 4; i++) {
        status_of_run = statuses[i % 2][0];
        close_trace = i >= 2;
        catch_from(2);
        assert_int_equal(run("listen a:1 --trace-file /dev/full"), statuses[i % 2][1]);
        assert_string_equal(caught(),
                            i >= 2 ? "iwarp-peer: --trace-file: cannot write \"/dev/full\"\n"
                                   : "iwarp-peer: --trace-file: cannot write \"/dev/full\": No "
                                     "space left on device\n");
        assert_int_equal(runs, 1);
    }
    close_trace = false;
    status_of_run = 5;
    assert_int_equal(run("listen a:1"), 5);
    assert_int_equal(run("listen a:1 --trace-file /dev/null"), 5);
    status_of_run = 0;
}

/* ---- the start-up ---- */

static void test_switches_of_the_startup(void **state)
{
    static const char *const names[] = {"crc",      "markers",      "permissive",
                                        "enhanced", "peer-to-peer", "extensions"};
    char line[64], text[64];
    (void)state;
    for (int i = 0; i < 6; i++)
        for (int on = 0; on < 2; on++) {
            snprintf(line, sizeof(line), "listen a:1 --%s %s", names[i], on ? "on" : "off");
            accept_line(line);
            const struct iw_endpoint_config *c = &ran.options.endpoint;
            const bool got[] = {c->mpa.crc,      c->mpa.markers,      c->mpa.permissive,
                                c->mpa.enhanced, c->mpa.peer_to_peer, c->extensions};
            assert_int_equal(got[i], on);
            snprintf(line, sizeof(line), "listen a:1 --%s %d", names[i], on);
            snprintf(text, sizeof(text), "--%s %d: expected on or off", names[i], on);
            refuse(line, 64, text);
        }
}

static void test_revisions(void **state)
{
    static const struct {
        const char *options;
        int revision;
        bool enhanced, permissive;
    } cases[] = {{"--revision 0", 0, false, true},
                 {"--revision 1", 1, false, false},
                 {"--revision 2", 2, true, false},
                 {"--enhanced off --revision 2", 2, true, false},
                 {"--permissive on --revision 1", 1, false, true},
                 {"--revision 2 --enhanced off", 2, false, false},
                 {"--revision 0 --permissive on", 0, false, true}};
    char line[128];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(line, sizeof(line), "listen a:1 %s", cases[i].options);
        accept_line(line);
        assert_int_equal(ran.options.endpoint.mpa.revision, cases[i].revision);
        assert_int_equal(ran.options.endpoint.mpa.enhanced, cases[i].enhanced);
        assert_int_equal(ran.options.endpoint.mpa.permissive, cases[i].permissive);
    }
    refuse("listen a:1 --revision 1 --enhanced on", 64, "--enhanced on needs --revision 2");
    refuse("listen a:1 --revision 0 --enhanced on", 64, "--enhanced on needs --revision 2");
    refuse("listen a:1 --revision 0 --permissive off", 64, "--revision 0 needs --permissive on");
    refuse("connect a:1 --enhanced off --peer-to-peer on", 64,
           "--peer-to-peer on needs --enhanced on");
}

static void test_rtr(void **state)
{
    static const struct {
        const char *list;
        unsigned all, first;
    } cases[] = {{"send", 1, 1},      {"write", 2, 2},           {"read", 4, 4},
                 {"read,send", 5, 4}, {"write,read,send", 7, 2}, {"send,write", 3, 1},
                 {"send,send", 1, 1}};
    static const char *const bad[] = {"send,", ",send", "sen", "sends", "send,reads", "''", "x"};
    char line[64], text[96];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(line, sizeof(line), "listen a:1 --rtr %s", cases[i].list);
        accept_line(line);
        assert_int_equal(ran.options.endpoint.mpa.rtr, cases[i].all);
        assert_int_equal(ran.options.endpoint.mpa.rtr_first, cases[i].first);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(line, sizeof(line), "listen a:1 --rtr %s", bad[i]);
        snprintf(text, sizeof(text), "--rtr %s: expected a list of send, write and read",
                 strcmp(bad[i], "''") == 0 ? "\"\"" : bad[i]);
        refuse(line, 64, text);
    }
}

/* ---- private data ---- */

static void write_file(const char *path, size_t octets)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < octets; i++)
        fputc((int)('a' + i % 26), file);
    fclose(file);
}

static void test_private_data(void **state)
{
    char line[2048], text[2048], path[] = "peer-XXXXXX";
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    accept_line("listen a:1 --private 00ff10");
    assert_int_equal(ran.options.private_length, 3);
    assert_memory_equal(ran.options.private_data, "\x00\xff\x10", 3);
    assert_int_equal(ran.options.endpoint.private_length, 3);
    refuse("listen a:1 --private 0g", 64,
           "--private 0g: expected pairs of hex digits, not \"0g\" at character 1");
    /* 512 octets, or 508 beside the block of RFC 6581. */
    unsigned before = descriptors();
    for (size_t octets = 507; octets <= 513; octets++)
        for (int enhanced = 0; enhanced < 2; enhanced++) {
            write_file(path, octets);
            snprintf(line, sizeof(line), "listen a:1 --private @%s --enhanced %s", path,
                     enhanced ? "on" : "off");
            snprintf(text, sizeof(text), "--private @%s: \"%s\" holds more than 512 octets", path,
                     path);
            if (octets > 512) {
                refuse(line, 64, text);
            } else if (enhanced && octets > 508) {
                refuse(line, 64, "--private: expected at most 508 octets with --enhanced on");
            } else {
                accept_line(line);
                assert_int_equal(ran.options.private_length, octets);
                assert_int_equal(ran.options.private_data[octets - 1], 'a' + (octets - 1) % 26);
            }
        }
    write_file(path, 0);
    snprintf(line, sizeof(line), "listen a:1 --private 1234 --private @%s", path);
    accept_line(line);
    assert_int_equal(ran.options.private_length, 0);
    unlink(path);
    refuse("listen a:1 --private @no/file", 64, "--private @no/file: cannot read \"no/file\"");
    refuse("listen a:1 --private @.", 64, "--private @.: cannot read \".\"");
    assert_int_equal(descriptors(), before);
}

/* ---- checks and rules ---- */

static void test_switches(void **state)
{
    static const char *const names[] = {"ignore", "overstrict", "violate", "botch"};
    static const char *const values[] = {"mpa-crc", "%s", "mpa-crc", "mpa-crc=close"};
    (void)state;
    accept_line("listen a:1");
    assert_false(had_switches);
    assert_null(ran.options.endpoint.switches);
    for (int i = 0; i < 4; i++) {
        char line[64];
        const char *value = values[i];
        for (int c = IW_CHECK_NONE + 1; i == 1 && c < IW_CHECK_COUNT; c++)
            if (iw_switch_applies(IW_SWITCH_OVERSTRICT, (enum iw_check)c, IW_BOTCH_NONE))
                value = iw_check_info((enum iw_check)c)->name;
        snprintf(line, sizeof(line), "listen a:1 --%s %s", names[i], value);
        accept_line(line);
        assert_true(had_switches);
        /* The same as the core makes of it. */
        struct iw_switches expected = {0};
        const char *why;
        assert_true(iw_switches_set(&expected, (enum iw_switch)i, value, &why) > 0);
        assert_memory_equal(&ran.options.switches, &expected, sizeof(expected));
    }
    refuse("listen a:1 --ignore mpa-crd", 64,
           "--ignore mpa-crd: unknown check or rule (did you mean mpa-crc?)");
    refuse("listen a:1 --ignore MPA-8-03x", 64,
           "--ignore MPA-8-03x: unknown check or rule (did you mean MPA-8-03?)");
    refuse("listen a:1 --ignore nothing-like-it-at-all", 64,
           "--ignore nothing-like-it-at-all: unknown check or rule; see --list-rules");
    refuse("listen a:1 --overstrict mpa-crc", 64,
           "--overstrict mpa-crc: this is not a legal thing that could be refused; "
           "see --list-rules");
    refuse("listen a:1 --botch mpa-crc", 64,
           "--botch mpa-crc: expected NAME=layer|type|code|place|close|silent|again");
    refuse("listen a:1 --botch mpa-crd=close", 64,
           "--botch mpa-crd=close: unknown check or rule (did you mean mpa-crc?)");
    char line[256], text[512], word[IW_NEAREST_WORD + 1];
    memset(word, 'm', sizeof(word));
    word[IW_NEAREST_WORD] = '\0';
    snprintf(line, sizeof(line), "listen a:1 --violate %s", word);
    snprintf(text, sizeof(text), "--violate %s: unknown check or rule; see --list-rules", word);
    refuse(line, 64, text);
}

/* ---- what is printed ---- */

static void test_help(void **state)
{
    (void)state;
    catch_from(1);
    assert_int_equal(run("--help"), 0);
    const char *text = caught();
    static const char head[] =
        "usage: iwarp-peer listen|connect HOST:PORT [OPTION...]\n"
        "A strict user-space iWARP peer on TCP; port 0 lets the system choose.\n\n";
    assert_memory_equal(text, head, sizeof(head) - 1);
    assert_non_null(strstr(text, "--personality"));
    assert_non_null(strstr(text, "Of each connection:"));
    assert_non_null(strstr(text, "--list-rules"));
    assert_int_equal(runs, 0);
}

static void offers(const char *line, const char *expected)
{
    assert_int_equal(setenv("IWARP_COMPLETE", "1", 1), 0);
    catch_from(1);
    int status = run(line);
    assert_int_equal(unsetenv("IWARP_COMPLETE"), 0);
    assert_string_equal(caught(), expected);
    assert_int_equal(status, 0);
    assert_int_equal(runs, 0);
}

/* What a shell gets that completes the last word. */
static void test_offers(void **state)
{
    (void)state;
    offers("''", "listen\twait for connections at HOST:PORT\nconnect\tto HOST:PORT\n");
    offers("--verify c", "connect\tto HOST:PORT\n");
    offers("listen l", "");
    offers("listen a:1 ''", "");
    offers("--personality r", "rping\n");
    offers("--trace ''", "json\n");
    offers("--trace-file ''", ":files\n");
    offers("--crc o", "on\noff\n");
    offers("--rtr write,r", "write,read\n");
    offers("--ignore mpa-fin", "mpa-fin-inside\tthe stream ended inside an FPDU\n");
    offers("--li", "--limit\tconnections at once, of each thread; more wait (default 128)\n"
                   "--list-rules\tprint all checks and rules, and exit\n");
}

static void test_list_of_rules(void **state)
{
    (void)state;
    catch_from(1);
    assert_int_equal(run("--list-rules"), 0);
    const char *text = caught();
    static const char head[] = "# checks: name, switches that it takes, reaction, rule that a "
                               "receiver enforces, rule that the sender breaks, what is wrong\n";
    assert_memory_equal(text, head, sizeof(head) - 1);
    assert_int_equal(runs, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_listen, catch_no_more),
        cmocka_unit_test_teardown(test_connect, catch_no_more),
        cmocka_unit_test_teardown(test_own_options, catch_no_more),
        cmocka_unit_test_teardown(test_contradictions, catch_no_more),
        cmocka_unit_test_teardown(test_lines, catch_no_more),
        cmocka_unit_test_teardown(test_numbers, catch_no_more),
        cmocka_unit_test_teardown(test_traces, catch_no_more),
        cmocka_unit_test_teardown(test_switches_of_the_startup, catch_no_more),
        cmocka_unit_test_teardown(test_revisions, catch_no_more),
        cmocka_unit_test_teardown(test_rtr, catch_no_more),
        cmocka_unit_test_teardown(test_private_data, catch_no_more),
        cmocka_unit_test_teardown(test_switches, catch_no_more),
        cmocka_unit_test_teardown(test_help, catch_no_more),
        cmocka_unit_test_teardown(test_offers, catch_no_more),
        cmocka_unit_test_teardown(test_list_of_rules, catch_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
