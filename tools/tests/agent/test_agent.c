/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent end to end: its own endpoints talk to each other, and every verb is used. */
#include "agent_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Both ends of a connection within one agent. */
struct pair {
    json_int_t client, server;
};

static int set_up(void **state)
{
    struct agent *a = calloc(1, sizeof(*a));
    assert_non_null(a);
    agent_start(a);
    *state = a;
    return 0;
}

static int tear_down(void **state)
{
    struct agent *a = *state;
    agent_end(a, 0);
    free(a);
    return 0;
}

static void done(json_t *reply)
{
    json_decref(reply);
}

/* The two ends' events of the same kind may come in either order. */
static struct pair connect_pair(struct agent *a, const char *config, const char *listen_config)
{
    struct pair p;
    long long port =
        ask_for(a, "port", "{'do':'listen','accept':'ask','config':%s}", listen_config);
    p.client = ask_for(a, "conn",
                       "{'do':'connect','host':'127.0.0.1','port':%lld,'private':'c0ffee',"
                       "'config':%s}",
                       port, config);
    p.server = want_event(a, "{'event':'request','private':'c0ffee'}");
    done(ask(a, "{'do':'accept','conn':%lld,'private':'beef'}", (long long)p.server));
    want_event(a, "{'event':'established','conn':%lld,'private':'c0ffee'}", (long long)p.server);
    want_event(a, "{'event':'established','conn':%lld,'private':'beef'}", (long long)p.client);
    return p;
}

static void want_both_closed(struct agent *a, const char *graceful)
{
    int closed = 0;
    while (closed < 2) {
        json_t *event = iw_control_event(a->control, soon());
        assert_non_null(event);
        const char *kind = json_string_value(json_object_get(event, "event"));
        if (strcmp(kind, "closed") == 0) {
            closed++;
            assert_int_equal(json_is_true(json_object_get(event, "graceful")),
                             strcmp(graceful, "true") == 0);
        } else if (strcmp(kind, "peer-closed") != 0) {
            assert_string_equal(kind, "completion");
            assert_string_equal(json_string_value(json_object_get(event, "status")), "flushed");
        }
        json_decref(event);
    }
}

static void requests_are_checked(void **state)
{
    struct agent *a = *state;
    json_t *reply = ask(a, "{'do':'hello'}");
    assert_string_equal(json_string_value(json_object_get(reply, "agent")), "iwarp-agent");
    assert_int_equal(json_integer_value(json_object_get(reply, "schema")), 1);
    assert_string_equal(json_string_value(json_object_get(reply, "backend")), "endpoint");
    json_t *features = json_object_get(reply, "features");
    assert_true(json_is_true(json_object_get(features, "crc")));
    assert_true(json_is_true(json_object_get(features, "extensions")));
    assert_int_equal(json_integer_value(json_object_get(features, "max_private")), 512);
    done(reply);

    refuse(a, "verb fly: not known", "{'do':'fly'}");
    refuse(a, "field do: expected a string", "{'do':7}");
    refuse(a, "field colour: not known here", "{'do':'hello','colour':1}");
    refuse(a, "field port: missing", "{'do':'connect','host':'127.0.0.1'}");
    refuse(a, "field port: expected a number, 0..65535",
           "{'do':'connect','host':'127.0.0.1','port':65536}");
    refuse(a, "field private: expected hex digits of at most 512 octets",
           "{'do':'listen','private':'abc'}");
    refuse(a, "field accept: expected auto or ask", "{'do':'listen','accept':'never'}");
    refuse(a, "field config: expected an object", "{'do':'listen','config':[]}");
    refuse(a, "field crc: expected true or false", "{'do':'listen','config':{'crc':1}}");
    refuse(a, "field rtr: expected send, write or read", "{'do':'listen','config':{'rtr':['x']}}");
    refuse(a, "field revision: expected a number, 0..2", "{'do':'listen','config':{'revision':3}}");
    refuse(a, "field enhanced: needs revision 2",
           "{'do':'listen','config':{'revision':1,'enhanced':true}}");
    refuse(a, "field peer_to_peer: needs enhanced",
           "{'do':'listen','config':{'enhanced':false,'peer_to_peer':true}}");
    refuse(a, "field rtr: expected at least one of send, write and read",
           "{'do':'listen','config':{'rtr':[]}}");
    refuse(a, "field mulpdu: expected 0 or a number from 128",
           "{'do':'listen','config':{'mulpdu':5}}");
    refuse(a, "field send_depth: expected a number from 1",
           "{'do':'listen','config':{'send_depth':0}}");
    refuse(a, "field ignore: no-such-check: unknown check or rule",
           "{'do':'listen','config':{'ignore':['no-such-check']}}");
    refuse(a,
           "field access: expected local-write, remote-read, remote-write, remote-invalidate, "
           "remote-atomic or bind",
           "{'do':'register','length':8,'access':['write']}");
    refuse(a, "field to: TO plus length wraps",
           "{'do':'register','length':32,'to':'0xfffffffffffffff0'}");
    refuse(a, "field conn: no connection 99", "{'do':'close','conn':99}");
    refuse(a, "field mem: no memory 99", "{'do':'read','mem':99,'length':1}");
    refuse(a, "field listen: no listener 99", "{'do':'unlisten','listen':99}");
    refuse(a, "no memory: at most 1024 regions with 268435456 octets in all",
           "{'do':'register','length':268435456}");
    assert_null(iw_control_event(a->control, 0));
}

/* What `hello` says can be chosen is known, and nothing is promised that the command line rules
 * out.
 */
static void features_are_true(void **state)
{
    struct agent *a = *state, old;
    size_t i;
    json_t *name;
    json_t *reply = ask(a, "{'do':'hello'}");
    const json_t *features = json_object_get(reply, "features");
    json_t *names = json_object_get(features, "config");
    assert_int_equal(json_array_size(names), 18);
    json_array_foreach(names, i, name)
    {
        char request[100], error[300];
        const char *text = json_string_value(name);
        snprintf(request, sizeof(request), "{'do':'listen','config':{'%s':{}}}", text);
        json_t *no = ask_in_vain(a, request);
        const char *said = json_string_value(json_object_get(no, "error"));
        snprintf(error, sizeof(error), "field %s: expected ", text);
        assert_memory_equal(said, error, strlen(error));
        done(no);
    }
    assert_true(json_is_true(json_object_get(features, "windows")));
    assert_true(json_is_true(json_object_get(features, "streaming")));
    done(reply);

    char error[300];
    uint16_t port = agent_start_listening(&old, "--revision=1", NULL);
    old.control = iw_control_connect("127.0.0.1", port, NULL, soon(), error, sizeof(error));
    reply = ask(&old, "{'do':'hello'}");
    json_t *revisions = json_pack("[i,i]", 0, 1);
    assert_true(
        json_equal(json_object_get(json_object_get(reply, "features"), "revisions"), revisions));
    done(revisions);
    done(reply);
    agent_end(&old, SIGTERM);
}

static void memory_has_guards(void **state)
{
    struct agent *a = *state;
    json_t *reply = ask(a, "{'do':'register','length':4,'guard':2,'fill':17,'to':'0x1000'}");
    json_int_t mem = json_integer_value(json_object_get(reply, "mem"));
    assert_string_equal(json_string_value(json_object_get(reply, "to")), "0x1000");
    assert_true(json_integer_value(json_object_get(reply, "stag")) > 0);
    done(reply);
    want_memory(a, mem, -2, 8, "a5a511111111a5a5");
    done(ask(a, "{'do':'fill','mem':%lld,'offset':1,'hex':'Beef'}", (long long)mem));
    want_memory(a, mem, 0, 4, "11beef11");
    refuse(a, "field offset: expected -2..6 with the length",
           "{'do':'read','mem':%lld,'offset':-3,'length':1}", (long long)mem);
    refuse(a, "field offset: expected -2..6 with the length",
           "{'do':'fill','mem':%lld,'offset':5,'hex':'0000'}", (long long)mem);
    done(ask(a, "{'do':'invalidate','mem':%lld}", (long long)mem));
    refuse(a, "the STag is not valid any more", "{'do':'invalidate','mem':%lld}", (long long)mem);
    done(ask(a, "{'do':'release','mem':%lld}", (long long)mem));
    refuse(a, "field mem: no memory 1", "{'do':'release','mem':%lld}", (long long)mem);

    mem = ask_for(a, "mem", "{'do':'register','length':6,'pattern':'count','guard':0}");
    want_memory(a, mem, 0, 6, "000102030405");
}

static void all_operations_work(void **state)
{
    static const char *const configs[] = {"{}",
                                          "{'crc':false}",
                                          "{'markers':true}",
                                          "{'crc':false,'markers':true}",
                                          "{'revision':1}",
                                          "{'revision':0}",
                                          "{'peer_to_peer':true,'rtr':['read']}"};
    struct agent *a = *state;
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        struct pair p = connect_pair(a, configs[i], i == 6 ? "{}" : configs[i]);
        long long client = p.client, server = p.server;
        long long in = ask_for(a, "mem", "{'do':'register','length':8,'access':['local-write']}");
        long long out = ask_for(a, "mem", "{'do':'register','length':8,'pattern':'count'}");
        json_t *reply = ask(a,
                            "{'do':'register','length':8,'conn':%lld,'access':["
                            "'remote-read','remote-write','remote-invalidate']}",
                            server);
        long long target = json_integer_value(json_object_get(reply, "mem"));
        long long stag = json_integer_value(json_object_get(reply, "stag"));
        char to[32];
        snprintf(to, sizeof(to), "%s", json_string_value(json_object_get(reply, "to")));
        done(reply);

        done(ask(a, "{'do':'recv','conn':%lld,'work':1,'mem':%lld,'offset':2,'length':6}", server,
                 in));
        done(ask(a,
                 "{'do':'post','conn':%lld,'work':2,'op':'write','mem':%lld,'offset':1,'length':4,"
                 "'remote_stag':%lld,'remote_to':'%s'}",
                 client, out, stag, to));
        done(ask(a,
                 "{'do':'post','conn':%lld,'work':3,'op':'read','mem':%lld,'offset':0,'length':2,"
                 "'remote_stag':%lld,'remote_to':'%s'}",
                 client, in, stag, to));
        want_event(
            a, "{'event':'completion','conn':%lld,'work':2,'op':'write','status':'ok','length':4}",
            client);
        want_event(
            a, "{'event':'completion','conn':%lld,'work':3,'op':'read','status':'ok','length':2}",
            client);
        want_memory(a, target, 0, 8, "0102030400000000");
        want_memory(a, in, 0, 2, "0102");

        done(ask(a,
                 "{'do':'post','conn':%lld,'work':4,'op':'send-se-invalidate','sge':[[%lld,6,2],"
                 "[%lld,0,1]],'invalidate_stag':%lld}",
                 client, out, out, stag));
        json_t *events[2];
        for (int k = 0; k < 2; k++) {
            events[k] = iw_control_event(a->control, soon());
            assert_non_null(events[k]);
        }
        int receive = json_integer_value(json_object_get(events[0], "conn")) == server ? 0 : 1;
        assert_true(json_is_true(json_object_get(events[receive], "solicited")));
        assert_int_equal(json_integer_value(json_object_get(events[receive], "invalidated")), stag);
        assert_int_equal(json_integer_value(json_object_get(events[receive], "length")), 3);
        assert_int_equal(json_integer_value(json_object_get(events[1 - receive], "work")), 4);
        done(events[0]);
        done(events[1]);
        want_memory(a, in, 2, 3, "060700");
        refuse(a, "the STag is not valid any more", "{'do':'invalidate','mem':%lld}", target);

        done(ask(a, "{'do':'close','conn':%lld}", client));
        want_both_closed(a, "true");
        done(ask(a, "{'do':'reset'}"));
    }
}

/* RFC 7306: what is posted and what completes, with values above 2^63. */
static void extensions_work(void **state)
{
    struct agent *a = *state;
    struct pair p = connect_pair(a, "{}", "{}");
    long long client = p.client, server = p.server;
    json_t *reply = ask(a, "{'do':'register','length':16,'access':['remote-atomic'],'fill':255}");
    long long target = json_integer_value(json_object_get(reply, "mem"));
    long long stag = json_integer_value(json_object_get(reply, "stag"));
    char to[32];
    snprintf(to, sizeof(to), "%s", json_string_value(json_object_get(reply, "to")));
    done(reply);

    done(ask(a,
             "{'do':'post','conn':%lld,'work':1,'op':'fetch-add','remote_stag':%lld,"
             "'remote_to':'%s','add_swap':'0xffffffffffffffff'}",
             client, stag, to));
    want_event(a,
               "{'event':'completion','conn':%lld,'work':1,'op':'fetch-add','status':'ok',"
               "'original':'0xffffffffffffffff'}",
               client);
    /* Each octet its own field: no carry leaves it. */
    done(ask(a,
             "{'do':'post','conn':%lld,'work':2,'op':'fetch-add','remote_stag':%lld,"
             "'remote_to':'%s','add_swap':'0x202020202020203',"
             "'add_swap_mask':'0x8080808080808080'}",
             client, stag, to));
    want_event(a,
               "{'event':'completion','conn':%lld,'work':2,'op':'fetch-add','status':'ok',"
               "'original':'0xfffffffffffffffe'}",
               client);
    want_memory(a, target, 0, 16, "0101010101010101ffffffffffffffff");
    /* Masks that are not given are all ones. */
    done(ask(a,
             "{'do':'post','conn':%lld,'work':3,'op':'cmp-swap','remote_stag':%lld,"
             "'remote_to':'%s','add_swap':7,'compare':'0x101010101010100'}",
             client, stag, to));
    want_event(a,
               "{'event':'completion','conn':%lld,'work':3,'op':'cmp-swap','status':'ok',"
               "'original':'0x101010101010101'}",
               client);
    want_memory(a, target, 0, 16, "0101010101010101ffffffffffffffff");
    done(
        ask(a,
            "{'do':'post','conn':%lld,'work':4,'op':'cmp-swap','remote_stag':%lld,"
            "'remote_to':'%s','add_swap':'0xf0f0f0f0f0f0f0f0','add_swap_mask':'0xff000000000000ff',"
            "'compare':'0x201','compare_mask':'0xff'}",
            client, stag, to));
    want_event(a,
               "{'event':'completion','conn':%lld,'work':4,'op':'cmp-swap','status':'ok',"
               "'original':'0x101010101010101'}",
               client);
    want_memory(a, target, 0, 16, "f0010101010101f0ffffffffffffffff");

    refuse(a, "field immediate: expected 8 octets",
           "{'do':'post','conn':%lld,'work':5,'op':'immediate','immediate':'01020304050607'}",
           client);
    refuse(a, "field immediate: expected 8 octets",
           "{'do':'post','conn':%lld,'work':5,'op':'immediate-se'}", client);
    refuse(a, "field compare: expected a number, 0..18446744073709551615",
           "{'do':'post','conn':%lld,'work':5,'op':'cmp-swap','compare':-1}", client);
    refuse(a,
           "field op: expected send, send-se, send-invalidate, send-se-invalidate, write, read, "
           "immediate, immediate-se, fetch-add or cmp-swap",
           "{'do':'post','conn':%lld,'work':5,'op':'recv'}", client);

    static const char *const kinds[] = {"immediate", "immediate-se"};
    for (int k = 0; k < 2; k++) {
        done(ask(a, "{'do':'recv','conn':%lld,'work':%d}", server, 6 + k));
        done(ask(a, "{'do':'post','conn':%lld,'work':%d,'op':'%s','immediate':'80ff00010203047f'}",
                 client, 8 + k, kinds[k]));
        for (int n = 0; n < 2; n++) {
            json_t *event = iw_control_event(a->control, soon());
            assert_non_null(event);
            assert_string_equal(json_string_value(json_object_get(event, "status")), "ok");
            const char *data = json_string_value(json_object_get(event, "immediate"));
            if (json_integer_value(json_object_get(event, "conn")) == server) {
                assert_string_equal(data, "80ff00010203047f");
                assert_int_equal(json_is_true(json_object_get(event, "solicited")), k);
            } else {
                assert_null(data);
                assert_string_equal(json_string_value(json_object_get(event, "op")), kinds[k]);
            }
            done(event);
        }
    }
}

static void extensions_can_be_off(void **state)
{
    struct agent *a = *state;
    struct pair p = connect_pair(a, "{'extensions':false}", "{'extensions':false}");
    json_t *reply = ask(a, "{'do':'hello'}");
    assert_true(json_is_true(json_object_get(json_object_get(reply, "features"), "extensions")));
    done(reply);
    refuse(a,
           "not a legal request (too long, a Read or atomic although ORD is 0, or an operation of "
           "RFC 7306 without extensions)",
           "{'do':'post','conn':%lld,'work':1,'op':'fetch-add','remote_stag':1}",
           (long long)p.client);
    refuse(a,
           "not a legal request (too long, a Read or atomic although ORD is 0, or an operation of "
           "RFC 7306 without extensions)",
           "{'do':'post','conn':%lld,'work':1,'op':'immediate','immediate':'0000000000000000'}",
           (long long)p.client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(features_are_true, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_has_guards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_operations_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(extensions_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(extensions_can_be_off, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
