/* SPDX-License-Identifier: BSD-3-Clause */
/* What specs, target files and agents say of a peer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/conform_case.h"
#include "folder.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "target/target.h"
#include "target/target_can.h"

static struct folder folder;
static char error[1024];

static int set_up(void **state)
{
    (void)state;
    return folder_make(&folder);
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

static struct iw_target_spec *parse(const char *text)
{
    snprintf(error, sizeof(error), "none");
    return iw_target_parse(text, "/bin/agent", folder.path, error, sizeof(error));
}

/* A list of texts, blanks between them. */
static void assert_texts(const char *const *list, const char *expected)
{
    char *text = NULL;

    for (; list != NULL && *list != NULL; list++)
        iw_text_join(&text, " ", *list);
    assert_string_equal(text ? text : "", expected);
    free(text);
}

static void assert_said(const struct iw_target_spec *spec, const char *expected)
{
    assert_texts((const char *const *)spec->can, expected);
}

/* ---- specs ---- */

static void words_of_a_tcp_spec_become_capabilities(void **state)
{
    static const char *const rows[][2] = {
        {"tcp:h:7", ""},
        {"tcp:h:7,crc=on", "crc.on !crc.off"},
        {"tcp:h:7,crc=off", "crc.on crc.off"},
        {"tcp:h:7,markers=on", "markers.on !markers.off"},
        {"tcp:h:7,markers=off", "!markers.on markers.off"},
        {"tcp:h:7,rev=2", "revision.1 revision.2"},
        {"tcp:h:7,revision=2", "revision.1 revision.2"},
        {"tcp:h:7,rev=1", "revision.1 !revision.2 !enhanced !peer_to_peer !rtr !ird"},
        {"tcp:h:7,can=read,cannot=send", "read !send"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_target_spec *spec = parse(rows[i][0]);

        assert_non_null(spec);
        assert_said(spec, rows[i][1]);
        assert_string_equal(spec->name, rows[i][0]);
        assert_string_equal(spec->host, "h");
        assert_int_equal(spec->port, 7);
        assert_null(spec->agent_host);
        iw_target_free(spec);
    }
    struct iw_target_spec *agent = parse("tcp:h:7,class=agent");
    assert_int_equal(agent->port, 0);
    assert_int_equal(agent->agent_port, 7);
    assert_string_equal(agent->host, "h");
    iw_target_free(agent);
}

static void assert_refused(const char *text, const char *expected)
{
    char *whole = iw_text_format("--target %s: %s", text, expected);

    assert_null(parse(text));
    assert_string_equal(error, whole);
    free(whole);
}

static void what_is_wrong_with_a_spec_is_said(void **state)
{
    (void)state;
    assert_refused("tcp:h:0", "expected a port from 1 to 65535");
    assert_refused("tcp:h:0,crc=x", "expected a port from 1 to 65535");
    assert_refused("tcp:h,crc=x", "bad address \"h\": expected HOST:PORT");
    assert_refused("tcp:h:7,crc=ON", "'crc=ON': expected on or off");
    assert_refused("tcp:h:7,markers=both", "'markers=both': expected on or off");
    assert_refused("tcp:h:7,rev=0", "'rev=0': expected 1 or 2");
    assert_refused("tcp:h:7,revision=", "'revision=': expected 1 or 2");
    assert_refused("tcp:h:7,class=", "'class=': expected bare, rping or agent");
    assert_refused("tcp:h:7,=x", "'=x': expected one of class, crc, markers, rev, can, cannot, "
                                 "quirk, token_file");
    assert_refused(
        "tcp:h:7,quirk=reversed",
        "'quirk=reversed': expected one of terminate-reversed, msn-start, msn-shared, "
        "crc-order, crc-polynomial, crc-other, crc-absent, length-order, pd-order, "
        "markers-missing, "
        "markers-unasked, markers-place, qn-order, msn-order, mo-order, stag-order, to-order");
    assert_refused("tcp:h:7,can=reed", "'can=reed': expected a capability; 'reed' is none (did "
                                       "you mean 'read'?)");
    assert_refused("tcp:h:7,token_file=x", "token_file: only a target of class agent has one");
    assert_refused("tcp:h:7,token_file=x,class=agent,token_file=y",
                   "'token_file=y': expected the path of one file");
    assert_refused("tcp:h:7,,crc=on", "'': expected key=value");
}

static void a_class_has_a_name(void **state)
{
    enum iw_target_class class = IW_TARGET_RPING;

    (void)state;
    assert_false(iw_target_class_find("Bare", &class));
    assert_int_equal(class, IW_TARGET_RPING);
    assert_true(iw_target_class_find("bare", &class));
    assert_int_equal(class, IW_TARGET_BARE);
    assert_true(iw_target_class_find("agent", &class));
    assert_int_equal(class, IW_TARGET_AGENT);
    assert_string_equal(iw_target_class_name(IW_TARGET_RPING), "rping");
}

static void the_embedded_target_is_set_up_by_keys(void **state)
{
    static const struct {
        const char *text, *arguments, *can;
        struct iw_target_startup startup;
    } rows[] = {
        {"embedded", "", "", {true, false, 2, true}},
        {"embedded,crc=on", "--crc=on", "", {true, false, 2, true}},
        {"embedded,crc=off", "--crc=off", "", {false, false, 2, true}},
        {"embedded,markers=both", "--markers=on", "", {true, true, 2, true}},
        {"embedded,markers=target", "--markers=on", "", {true, false, 2, true}},
        {"embedded,markers=station", "--markers=off", "", {true, true, 2, true}},
        {"embedded,markers=none", "--markers=off", "", {true, false, 2, true}},
        {"embedded,revision=2", "--revision=2", "", {true, false, 2, true}},
        {"embedded,revision=2-plain", "--revision=2 --enhanced=off", "", {true, false, 2, false}},
        {"embedded,revision=1",
         "--revision=1",
         "revision.1 !revision.2 !enhanced !peer_to_peer !rtr !ird",
         {true, false, 1, false}},
        {"embedded,crc=off,markers=target,revision=0",
         "--crc=off --markers=on --revision=1 --permissive=on --extensions=off",
         "!crc.off !markers.off revision.1 !revision.2 !enhanced !peer_to_peer !rtr !ird",
         {true, true, 0, false}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_target_spec *spec = parse(rows[i].text);

        assert_non_null(spec);
        assert_texts(spec->arguments, rows[i].arguments);
        assert_said(spec, rows[i].can);
        assert_int_equal(spec->startup.crc, rows[i].startup.crc);
        assert_int_equal(spec->startup.markers, rows[i].startup.markers);
        assert_int_equal(spec->startup.revision, rows[i].startup.revision);
        assert_int_equal(spec->startup.enhanced, rows[i].startup.enhanced);
        assert_int_equal(spec->taken != 0, strcmp(rows[i].text, "embedded") != 0);
        assert_true(spec->embedded);
        assert_int_equal(spec->class, IW_TARGET_AGENT);
        assert_string_equal(spec->program, "/bin/agent");
        assert_string_equal(spec->host, "127.0.0.1");
        assert_string_equal(spec->station_host, "127.0.0.1");
        assert_string_equal(spec->text, rows[i].text);
        assert_string_equal(spec->name, rows[i].text);
        iw_target_free(spec);
    }
    assert_refused("embedded,revision=", "'revision=': expected 0, 1, 2 or 2-plain");
    assert_refused("embedded,revision=12", "'revision=12': expected 0, 1, 2 or 2-plain");
    assert_refused("embedded,revision=1x", "'revision=1x': expected 0, 1, 2 or 2-plain");
    assert_refused("embedded,revision=2,crc=off,revision=2",
                   "'revision=2': expected each key once");
    assert_refused("embedded,markers=none,markers=none", "'markers=none': expected each key once");
    assert_refused("embedded,rev=2", "'rev=2': expected one of crc, markers, revision");
}

/* ---- names of target files ---- */

static void assert_no_file(const char *text, const char *path, const char *more)
{
    char *expected = iw_text_format("there is no target file %s%s", path, more);

    assert_refused(text, expected);
    free(expected);
}

static void a_name_that_is_no_file_is_corrected(void **state)
{
    char *path = iw_text_format("%s/card", folder.path);
    char *long_name = iw_text_format("%070d.lua", 1);

    (void)state;
    free(folder_file(&folder, "cardx.lua", "return {}"));
    free(folder_file(&folder, "other.card.lua", "return {}"));
    free(folder_file(&folder, "cards.txt", "return {}"));
    free(folder_file(&folder, ".lua", "return {}"));
    free(folder_file(&folder, long_name, "return {}"));
    char *wanted = iw_text_format("%s/card.lua", folder.path);
    assert_no_file("card", wanted, " (did you mean 'cardx'?)");
    free(wanted);
    wanted = iw_text_format("%s/embeded.lua", folder.path);
    assert_no_file("embeded", wanted, " (did you mean 'embedded'?)");
    free(wanted);
    wanted = iw_text_format("%s/embeddedx.lua", folder.path);
    assert_no_file("embeddedx", wanted, " (did you mean 'embedded'?)");
    free(wanted);
    wanted = iw_text_format("%s/embedded+crc=on.lua", folder.path);
    assert_no_file("embedded+crc=on", wanted,
                   "; expected embedded, tcp:HOST:PORT, or the name or path of a target file; "
                   "there are cardx");
    free(wanted);
    wanted = iw_text_format("%s/other.lua", folder.path);
    assert_no_file("other", wanted,
                   "; expected embedded, tcp:HOST:PORT, or the name or path of a target file; "
                   "there are cardx");
    free(wanted);
    /* A path is taken as it is. */
    assert_no_file(path, path,
                   "; expected embedded, tcp:HOST:PORT, or the name or path of a target file; "
                   "there are cardx");
    assert_no_file("none.lua", "none.lua",
                   "; expected embedded, tcp:HOST:PORT, or the name or path of a target file; "
                   "there are cardx");
    wanted = iw_text_format("%s/.lua.lua", folder.path);
    assert_no_file(".lua", wanted,
                   "; expected embedded, tcp:HOST:PORT, or the name or path of a target file; "
                   "there are cardx");
    free(wanted);
    assert_null(iw_target_parse("cardx", "", "/no/folder", error, sizeof(error)));
    assert_string_equal(error,
                        "--target cardx: there is no target file /no/folder/cardx.lua; expected "
                        "embedded, tcp:HOST:PORT, or the name or path of a target file");
    free(long_name);
    free(path);
}

/* ---- who is to be asked ---- */

static void a_person_is_there_if_standard_input_is_a_terminal(void **state)
{
    struct iw_target_spec spec = {.ask = (char[]){"do it"}};
    int before = dup(0), null = open("/dev/null", O_RDONLY);
    int ours = posix_openpt(O_RDWR | O_NOCTTY);

    (void)state;
    assert_int_equal(grantpt(ours) || unlockpt(ours), 0);
    int terminal = open(ptsname(ours), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    dup2(null, 0);
    assert_string_equal(iw_target_unattended(&spec),
                        "its file asks a person to make it connect ('ask'), and standard input is "
                        "no terminal");
    spec.ask = NULL;
    assert_null(iw_target_unattended(&spec));
    spec.ask = (char[]){"do it"};
    dup2(terminal, 0);
    assert_null(iw_target_unattended(&spec));
    dup2(before, 0);
    close(before);
    close(null);
    close(terminal);
    close(ours);
}

/* ---- needs ---- */

static bool can_read(const struct iw_target *target, const char *capability)
{
    (void)target;
    return strcmp(capability, "memory.read") == 0 || strcmp(capability, "agent") == 0 ||
           strcmp(capability, "class.rping") == 0;
}

static int connects(struct iw_target *target, const char *host, uint16_t port, char *why,
                    size_t room)
{
    (void)target, (void)host, (void)port, (void)why, (void)room;
    return 0;
}

static void a_case_lacks_the_first_need_that_is_not_met(void **state)
{
    static const struct {
        const char *name, *value, *lacks;
    } rows[] = {
        {"memory", "read", NULL},
        {"memory", "  read  read ", NULL},
        {"memory", "read write atomic",
         "needs memory.write, which this target (class rping) does not offer"},
        {"memory", "write", "needs memory.write, which this target (class rping) does not offer"},
        {"agent", "true", NULL},
        {"reject", "true", "needs reject, which this target (class rping) does not offer"},
        {"class", "bare rping", NULL},
        {"class", "rping bare", NULL},
        {"class", "bare agent", "needs a target of class bare agent, this one is rping"},
    };
    const struct iw_target target = {.class = IW_TARGET_RPING, .port = 7, .can = can_read};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_need needs[] = {{(char[]){"agent"}, (char[]){"true"}},
                                  {iw_text_copy(rows[i].name), iw_text_copy(rows[i].value)}};
        const struct iw_case c = {.role = IW_MPA_RESPONDER, .needs = needs, .n_needs = 2};
        char *lacks = iw_target_lacks(&target, &c);

        if (rows[i].lacks != NULL)
            assert_string_equal(lacks, rows[i].lacks);
        else
            assert_null(lacks);
        free(lacks);
        free(needs[1].name);
        free(needs[1].value);
    }
}

static void a_case_lacks_a_target_in_its_role(void **state)
{
    struct iw_target target = {.class = IW_TARGET_BARE, .can = can_read};
    struct iw_case c = {.role = IW_MPA_RESPONDER};
    char *lacks = iw_target_lacks(&target, &c);

    (void)state;
    assert_string_equal(lacks, "needs a target that listens");
    free(lacks);
    target.port = 7;
    assert_null(iw_target_lacks(&target, &c));
    c.role = IW_MPA_INITIATOR;
    lacks = iw_target_lacks(&target, &c);
    assert_string_equal(lacks, "needs a target that connects, and nothing here makes this one "
                               "(class bare) do so");
    free(lacks);
    target.initiate = connects;
    target.port = 0;
    assert_null(iw_target_lacks(&target, &c));
    target = (struct iw_target){.class = IW_TARGET_AGENT, .can = can_read};
    assert_null(iw_target_lacks(&target, &c));
    c.role = IW_MPA_RESPONDER;
    assert_null(iw_target_lacks(&target, &c));
}

/* ---- capabilities ---- */

static void assert_can(const struct iw_target_spec *spec, const char *features, const char *yes,
                       const char *no)
{
    json_t *object = features != NULL ? json_loads(features, 0, NULL) : NULL;
    const char *const lists[] = {no, yes};

    for (int expected = 0; expected < 2; expected++) {
        char *copy = iw_text_copy(lists[expected]), *rest = copy, *word;

        while (((word = strsep(&rest, " ")) != NULL))
            if (*word && iw_target_can(spec, object, word) != expected)
                fail_msg("%s is not %d", word, expected);
        free(copy);
    }
    json_decref(object);
}

static void a_class_is_taken_to_be_able_to_do_something(void **state)
{
    static const char basic[] = "crc.on revision revision.1 revision.2 enhanced peer_to_peer rtr "
                                "rtr.send private private.512 markers.off reconnect ird.1 ird.0";
    static const char rare[] = "crc.off markers.on memory memory.read reject extensions "
                               "extensions.off ird.2 windows streaming crc rtrx agents class";

    (void)state;
    struct iw_target_spec spec = {.class = IW_TARGET_BARE};
    assert_can(&spec, NULL, basic, rare);
    assert_can(&spec, NULL, "class.bare", "class.rping class.agent read send rping rping.1 agent");
    spec.class = IW_TARGET_RPING;
    assert_can(&spec, NULL, basic, rare);
    assert_can(&spec, NULL, "class.rping read send rping.1 rping.64", "class.bare rping.65 agent");
    spec.class = IW_TARGET_AGENT;
    assert_can(&spec, NULL,
               "class.agent agent memory memory.write reject rping rping.99 read send reconnect",
               "class.bare crc.on markers.off revision.1 enhanced peer_to_peer rtr rtr.send "
               "private.1 ird.1 extensions extensions.off windows");
}

static void what_was_said_first_counts(void **state)
{
    char *can[] = {(char[]){"rtr.send"},   (char[]){"!rtr"},     (char[]){"rtr.read"},
                   (char[]){"!read"},      (char[]){"ird.8"},    (char[]){"!ird"},
                   (char[]){"rping.9"},    (char[]){"!crc.off"}, (char[]){"extensions"},
                   (char[]){"private.20"}, (char[]){"!private"}, NULL};
    struct iw_target_spec spec = {.class = IW_TARGET_RPING, .can = can};

    (void)state;
    assert_can(&spec, NULL,
               "rtr.send ird.8 ird.1 rping.9 rping.64 crc.on extensions extensions.on private.20 "
               "private",
               "rtr rtr.read rtr.write read read.x ird.9 rping.65 crc.off extensions.off "
               "private.21");
    can[8] = (char[]){"!extensions.off"};
    can[9] = NULL;
    spec.class = IW_TARGET_BARE;
    assert_can(&spec, NULL, "", "extensions.off extensions");
    can[8] = (char[]){"extensions.off"};
    assert_can(&spec, NULL, "extensions.off", "extensions");
}

static void an_agent_says_what_it_can(void **state)
{
    const struct iw_target_spec spec = {.class = IW_TARGET_AGENT};

    (void)state;
    assert_can(&spec,
               "{\"crc\":true,\"markers\":false,\"revisions\":[1,2],\"rtr\":[\"send\",\"read\"],"
               "\"max_private\":512,\"extensions\":true,\"windows\":true,\"streaming\":false,"
               "\"empty\":[]}",
               "crc.on crc.off revision revision.1 revision.2 enhanced peer_to_peer ird ird.99 rtr "
               "rtr.send rtr.read private private.512 extensions extensions.on extensions.off "
               "windows",
               "markers.on markers.off revision.0 revision.3 rtr.write private.513 streaming "
               "empty other max_private.1");
    assert_can(&spec, "{\"crc\":false,\"revisions\":[1],\"extensions\":false}",
               "crc.on revision.1 extensions.off private private.0",
               "crc.off revision.2 enhanced peer_to_peer ird.1 extensions private.1");
    assert_can(&spec, "{\"extensions\":1,\"crc\":1}", "", "extensions extensions.off crc.on");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_a_tcp_spec_become_capabilities),
        cmocka_unit_test(what_is_wrong_with_a_spec_is_said),
        cmocka_unit_test(a_class_has_a_name),
        cmocka_unit_test(the_embedded_target_is_set_up_by_keys),
        cmocka_unit_test_setup_teardown(a_name_that_is_no_file_is_corrected, set_up, tear_down),
        cmocka_unit_test(a_person_is_there_if_standard_input_is_a_terminal),
        cmocka_unit_test(a_case_lacks_the_first_need_that_is_not_met),
        cmocka_unit_test(a_case_lacks_a_target_in_its_role),
        cmocka_unit_test(a_class_is_taken_to_be_able_to_do_something),
        cmocka_unit_test(what_was_said_first_counts),
        cmocka_unit_test(an_agent_says_what_it_can),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
