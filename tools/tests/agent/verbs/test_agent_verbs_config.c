/* SPDX-License-Identifier: BSD-3-Clause */
/* The `config` of iwarp-agent's own endpoints: each field, its bounds, and what contradicts itself.
 */
#include "recorder.h"

#include "agent_endpoint.h"

static struct iw_endpoint_config config;
static struct iw_switches switches;
static char said[AGENT_ERROR];

/* True if this is taken, with what it changes in the default configuration. */
static bool takes(const char *text)
{
    json_t *object = parse(text);
    iw_endpoint_config_default(&config);
    said[0] = '\0';
    bool good = agent_config(object, &config, &switches, said);
    json_decref(object);
    return good;
}

static void no(const char *text, const char *why)
{
    assert_false(takes(text));
    assert_string_equal(said, why);
}

static void leaves_what_is_not_there(void **state)
{
    struct iw_endpoint_config standard;
    (void)state;
    iw_endpoint_config_default(&standard);
    standard.switches = &switches;
    assert_true(takes("{}"));
    assert_memory_equal(&config, &standard, sizeof(config));
    iw_endpoint_config_default(&config);
    assert_true(agent_config(NULL, &config, &switches, said));
    assert_memory_equal(&config, &standard, sizeof(config));
    assert_int_equal(config.startup_timeout, UINT64_C(60000000000));
}

static void takes_each_field(void **state)
{
    (void)state;
    assert_true(takes("{'permissive':true,'crc':false,'markers':true,'enhanced':true,"
                      "'peer_to_peer':true,'extensions':false,'ird':3,'ord':4,'mulpdu':128,"
                      "'send_depth':5,'recv_depth':6,'startup_timeout_ms':7}"));
    assert_true(config.mpa.permissive);
    assert_false(config.mpa.crc);
    assert_true(config.mpa.markers);
    assert_true(config.mpa.enhanced);
    assert_true(config.mpa.peer_to_peer);
    assert_int_equal(config.mpa.revision, 2);
    assert_false(config.extensions);
    assert_int_equal(config.mpa.ird, 3);
    assert_int_equal(config.mpa.ord, 4);
    assert_int_equal(config.mulpdu, 128);
    assert_int_equal(config.send_depth, 5);
    assert_int_equal(config.recv_depth, 6);
    assert_int_equal(config.startup_timeout, 7000000);
    assert_true(takes("{'crc':true,'enhanced':false,'extensions':true}"));
    assert_true(config.mpa.crc);
    assert_false(config.mpa.enhanced);
    assert_true(config.extensions);
    assert_true(takes("{'ird':16383,'ord':16383,'mulpdu':64768,'send_depth':4096,"
                      "'recv_depth':4096,'startup_timeout_ms':3600000}"));
    assert_int_equal(config.mpa.ird, 16383);
    assert_int_equal(config.mpa.ord, 16383);
    assert_int_equal(config.mulpdu, 64768);
    assert_int_equal(config.send_depth, 4096);
    assert_int_equal(config.recv_depth, 4096);
    assert_int_equal(config.startup_timeout, UINT64_C(3600000000000));
    assert_true(takes("{'mulpdu':0,'ird':0,'ord':0,'send_depth':1,'recv_depth':1,"
                      "'startup_timeout_ms':1}"));
    assert_int_equal(config.mulpdu, 0);
}

static void revisions(void **state)
{
    (void)state;
    assert_true(takes("{'revision':2}"));
    assert_true(config.mpa.enhanced);
    assert_false(config.mpa.permissive);
    /* Only revision 2 is enhanced; the oldest is understood by those who permit it. */
    assert_true(takes("{'revision':1}"));
    assert_int_equal(config.mpa.revision, 1);
    assert_false(config.mpa.enhanced || config.mpa.permissive);
    assert_true(takes("{'revision':0}"));
    assert_int_equal(config.mpa.revision, 0);
    assert_false(config.mpa.enhanced);
    assert_true(config.mpa.permissive);
    assert_true(takes("{'revision':1,'enhanced':false}"));
    no("{'revision':1,'enhanced':true}", "field enhanced: needs revision 2");
    no("{'revision':1,'peer_to_peer':true}", "field peer_to_peer: needs enhanced");
}

static void forms_of_rtr(void **state)
{
    (void)state;
    assert_true(takes("{'rtr':['send']}"));
    assert_int_equal(config.mpa.rtr, IW_MPA_RTR_SEND);
    assert_int_equal(config.mpa.rtr_first, IW_MPA_RTR_SEND);
    assert_true(takes("{'rtr':['read','write']}"));
    assert_int_equal(config.mpa.rtr, IW_MPA_RTR_READ | IW_MPA_RTR_WRITE);
    assert_int_equal(config.mpa.rtr_first, IW_MPA_RTR_READ);
    assert_true(takes("{'rtr':['write','read','send']}"));
    assert_int_equal(config.mpa.rtr, IW_MPA_RTR_READ | IW_MPA_RTR_WRITE | IW_MPA_RTR_SEND);
    assert_int_equal(config.mpa.rtr_first, IW_MPA_RTR_WRITE);
    no("{'rtr':[]}", "field rtr: expected at least one of send, write and read");
    no("{'rtr':['send','x']}", "field rtr: expected send, write or read");
    no("{'rtr':['send','send','send','send']}", "field rtr: expected an array of at most 3");
}

static void bounds(void **state)
{
    static const char *const refused[][2] = {
        {"{'revision':3}", "field revision: expected a number, 0..2"},
        {"{'ird':16384}", "field ird: expected a number, 0..16383"},
        {"{'ord':16384}", "field ord: expected a number, 0..16383"},
        {"{'mulpdu':64769}", "field mulpdu: expected a number, 0..64768"},
        {"{'mulpdu':127}", "field mulpdu: expected 0 or a number from 128"},
        {"{'mulpdu':1}", "field mulpdu: expected 0 or a number from 128"},
        {"{'send_depth':4097}", "field send_depth: expected a number, 0..4096"},
        {"{'send_depth':0}", "field send_depth: expected a number from 1"},
        {"{'recv_depth':4097}", "field recv_depth: expected a number, 0..4096"},
        {"{'recv_depth':0}", "field recv_depth: expected a number from 1"},
        {"{'startup_timeout_ms':3600001}",
         "field startup_timeout_ms: expected a number, 0..3600000"},
        {"{'startup_timeout_ms':0}", "field startup_timeout_ms: expected a number from 1"},
        {"{'enhanced':false,'peer_to_peer':true}", "field peer_to_peer: needs enhanced"},
        {"{'wings':1}", "field wings: not known here"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++)
        no(refused[i][0], refused[i][1]);
}

/* ---- switches ---- */

static void switches_of_each_kind(void **state)
{
    (void)state;
    assert_true(takes("{'ignore':['mpa-crc','ddp-msn'],'overstrict':['mpa-pad'],"
                      "'violate':['ddp-msn'],'botch':['ddp-msn=code']}"));
    assert_ptr_equal(config.switches, &switches);
    assert_true(iw_switch_ignored(&switches, IW_CHECK_MPA_CRC));
    assert_true(iw_switch_ignored(&switches, IW_CHECK_DDP_MSN));
    assert_false(iw_switch_ignored(&switches, IW_CHECK_DDP_QN));
    assert_true(iw_switch_overstrict(&switches, IW_CHECK_MPA_PAD));
    assert_false(iw_switch_overstrict(&switches, IW_CHECK_MPA_RES_BITS));
    assert_true(iw_switch_violated(&switches, IW_CHECK_DDP_MSN));
    assert_false(iw_switch_violated(&switches, IW_CHECK_MPA_PAD));
    assert_int_not_equal(iw_switch_botched(&switches, IW_CHECK_DDP_MSN), 0);
    /* They begin anew with each configuration, or with those of the command line. */
    struct iw_switches given = {0};
    const char *reason;
    assert_true(iw_switches_set(&given, IW_SWITCH_VIOLATE, "mpa-pad", &reason) > 0);
    iw_endpoint_config_default(&config);
    config.switches = &given;
    assert_true(agent_config(NULL, &config, &switches, said));
    assert_ptr_equal(config.switches, &switches);
    assert_true(iw_switch_violated(&switches, IW_CHECK_MPA_PAD));
    assert_false(iw_switch_violated(&switches, IW_CHECK_DDP_MSN));
    assert_true(takes("{}"));
    assert_false(iw_switch_violated(&switches, IW_CHECK_MPA_PAD));
}

static void switches_that_are_none(void **state)
{
    static const char *const kinds[] = {"ignore", "overstrict", "violate", "botch"};
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        char text[200], why[200];
        snprintf(text, sizeof(text), "{'%s':['none-such']}", kinds[i]);
        assert_false(takes(text));
        snprintf(why, sizeof(why), "field %s: none-such: ", kinds[i]);
        assert_memory_equal(said, why, strlen(why));
        snprintf(text, sizeof(text), "{'%s':[7]}", kinds[i]);
        snprintf(why, sizeof(why), "field %s: : expected an array of strings", kinds[i]);
        no(text, why);
        snprintf(text, sizeof(text), "{'%s':{}}", kinds[i]);
        snprintf(why, sizeof(why), "field %s: expected an array of at most 1024", kinds[i]);
        no(text, why);
    }
}

/* A list of 1024 is long enough, one of 1025 too long. */
static void switches_are_bounded(void **state)
{
    static const char *const kinds[] = {"ignore", "overstrict", "violate", "botch"};
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++)
        for (int more = 0; more < 2; more++) {
            json_t *list = json_array();
            for (int n = 0; n < 1024 + more; n++)
                json_array_append_new(list, json_string(i == 3 ? "ddp-msn=code" : "ddp-msn"));
            if (i == 1) { /* nothing can be overstrict about that */
                json_array_clear(list);
                for (int n = 0; n < 1024 + more; n++)
                    json_array_append_new(list, json_string("mpa-pad"));
            }
            json_t *object = json_pack("{s:o}", kinds[i], list);
            iw_endpoint_config_default(&config);
            assert_int_equal(agent_config(object, &config, &switches, said), more == 0);
            json_decref(object);
        }
}

static void names_its_fields(void **state)
{
    json_t *names = agent_config_names();
    char *text = json_dumps(names, JSON_COMPACT);
    (void)state;
    assert_string_equal(text, "[\"revision\",\"permissive\",\"crc\",\"markers\",\"enhanced\","
                              "\"peer_to_peer\",\"rtr\",\"extensions\",\"ird\",\"ord\","
                              "\"mulpdu\",\"send_depth\",\"recv_depth\",\"ignore\","
                              "\"startup_timeout_ms\",\"violate\",\"overstrict\",\"botch\"]");
    free(text);
    json_decref(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(leaves_what_is_not_there),
        TEST(takes_each_field),
        TEST(revisions),
        TEST(forms_of_rtr),
        TEST(bounds),
        TEST(switches_of_each_kind),
        TEST(switches_that_are_none),
        TEST(switches_are_bounded),
        TEST(names_its_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
