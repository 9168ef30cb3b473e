/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend of iwarp-agent on libiwarp's own endpoint, in this process. */
#include "endpoint_client.h"

/* ---- the start-up ---- */

static void tells_what_is_agreed(void **state)
{
    (void)state;
    connect_with(",'private':'c0ffee','config':{'markers':true,'crc':false,'ird':3,'ord':5}",
                 ",'config':{'crc':false,'ird':4,'ord':2}");
    want(b, "{'event':'request','listen':1,'private':'c0ffee'}");
    ask(NULL, "{'do':'accept','conn':%d,'private':'be'}", b);
    /* Who asks for Markers gets them; each end sees the other's depths. */
    want(b, "{'event':'established','private':'c0ffee','listen':1," AGREED(
                "false", "true", "false", "false", "[]", "4", "2", "3", "5") "}");
    want(a, "{'event':'established','private':'be'," AGREED("false", "false", "true", "false", "[]",
                                                            "3", "4", "4", "2") "}");
}

static void tells_the_forms_of_rtr(void **state)
{
    static const char *const forms[] = {"['send']", "['write']", "['read']",
                                        "['send','write','read']"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char config[100];
        snprintf(config, sizeof(config), ",'config':{'rtr':%s,'peer_to_peer':true}", forms[i]);
        connect_with(config, "");
        want(b, "{'event':'request','listen':%d,'private':''}", a - 1);
        ask(NULL, "{'do':'accept','conn':%d}", b);
        want(a,
             "{'event':'established','private':''," AGREED("true", "false", "false", "true", "%s",
                                                           "16", "16", "16", "16") "}",
             forms[i]);
        want(b,
             "{'event':'established','private':'','listen':%d," AGREED(
                 "true", "false", "false", "true", "%s", "16", "16", "16", "16") "}",
             a - 1, forms[i]);
    }
}

static void tells_of_rejections(void **state)
{
    (void)state;
    connect_with("", "");
    want(b, "{'event':'request','listen':1,'private':''}");
    ask(NULL, "{'do':'reject','conn':%d,'private':'6e6f'}", b);
    want(a, "{'event':'rejected','private':'6e6f'}");
    want(a, "{'event':'closed','graceful':true,'cause':'graceful'}");
    want(b, "{'event':'closed','graceful':true,'cause':'graceful'}");
    refuse("field conn: no connection 2", "{'do':'accept','conn':2}");
}

static void answers_only_requests(void **state)
{
    (void)state;
    char zeros[2 * 509 + 1];
    memset(zeros, '0', sizeof(zeros) - 1);
    zeros[sizeof(zeros) - 1] = '\0';
    connect_with("", "");
    want(b, "{'event':'request','listen':1,'private':''}");
    refuse("no Request waits for an answer", "{'do':'accept','conn':%d}", a);
    refuse("no Request waits for an answer", "{'do':'reject','conn':%d}", a);
    /* The enhanced block takes four octets. */
    refuse("private: too long", "{'do':'accept','conn':%d,'private':'%s'}", b, zeros);
    ask(NULL, "{'do':'accept','conn':%d,'private':'%s'}", b, zeros + 2);
    want(b, "{'event':'established','private':'','listen':1," STANDARD "}");
}

/* ---- work ---- */

#define DONE(op, length)                                                                           \
    "{'event':'completion','work':1,'op':'" op "','status':'ok','length':" length                  \
    ",'solicited':false}"

static void completes_work(void **state)
{
    static const char *const sends[] = {"send", "send-se", "send-invalidate", "send-se-invalidate"};
    (void)state;
    open_connection();
    int in = ask("mem", "{'do':'register','length':8,'access':['local-write']}");
    int out = ask("mem", "{'do':'register','length':8,'pattern':'count'}");
    for (int i = 0; i < 4; i++) {
        int target = register_target();
        ask(NULL, "{'do':'recv','conn':%d,'work':5,'mem':%d,'offset':1,'length':7}", b, in);
        ask(NULL,
            "{'do':'post','conn':%d,'work':1,'op':'%s','mem':%d,'offset':2,'length':3,"
            "'invalidate_stag':%u,'sge':[[%d,7,1]]}",
            a, sends[i], out, memory(target)->stag, out);
        want(a,
             "{'event':'completion','work':1,'op':'%s','status':'ok','length':4,'solicited':false}",
             sends[i]);
        if (i < 2)
            want(b,
                 "{'event':'completion','work':5,'op':'recv','status':'ok','length':4,"
                 "'solicited':%s}",
                 i % 2 ? "true" : "false");
        else
            want(b,
                 "{'event':'completion','work':5,'op':'recv','status':'ok','length':4,"
                 "'solicited':%s,'invalidated':%u}",
                 i % 2 ? "true" : "false", memory(target)->stag);
        holds(in, "0002030407000000");
    }
    int target = register_target();
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'write','mem':%d,'offset':4,'length':4%s}", a,
        out, mem);
    want(a, DONE("write", "4"));
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'read','mem':%d,'offset':2,'length':5%s}", a,
        in, mem);
    want(a, DONE("read", "5"));
    holds(target, "04050607040506070809");
    holds(in, "0002040506070400");
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'fetch-add','add_swap':1%s}", a, mem);
    want(a, "{'event':'completion','work':1,'op':'fetch-add','status':'ok','length':8,"
            "'solicited':false,'original':'0x706050407060504'}");
    ask(NULL,
        "{'do':'post','conn':%d,'work':1,'op':'cmp-swap','add_swap':0,"
        "'compare':'0x706050407060505'%s}",
        a, mem);
    want(a, "{'event':'completion','work':1,'op':'cmp-swap','status':'ok','length':8,"
            "'solicited':false,'original':'0x706050407060505'}");
    for (int i = 0; i < 2; i++) {
        ask(NULL, "{'do':'recv','conn':%d,'work':6}", b);
        ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'%s','immediate':'0001020304050607'}", a,
            i ? "immediate-se" : "immediate");
        want(a,
             "{'event':'completion','work':1,'op':'%s','status':'ok','length':8,'solicited':false}",
             i ? "immediate-se" : "immediate");
        want(b,
             "{'event':'completion','work':6,'op':'recv','status':'ok','length':8,"
             "'solicited':%s,'immediate':'0001020304050607'}",
             i ? "true" : "false");
    }
}

/* More completions than are asked for at a time. */
static void completes_much_work(void **state)
{
    (void)state;
    open_connection();
    for (int i = 0; i < 40; i++)
        ask(NULL, "{'do':'recv','conn':%d,'work':%d}", b, i);
    for (int i = 0; i < 40; i++)
        ask(NULL, "{'do':'post','conn':%d,'work':%d,'op':'send'}", a, i);
    for (int i = 0; i < 40; i++) {
        want(a,
             "{'event':'completion','work':%d,'op':'send','status':'ok','length':0,"
             "'solicited':false}",
             i);
        want(b,
             "{'event':'completion','work':%d,'op':'recv','status':'ok','length':0,"
             "'solicited':false}",
             i);
    }
}

static void refuses_work(void **state)
{
    static const char illegal[] = "not a legal request (too long, a Read or atomic although ORD is "
                                  "0, or an operation of RFC 7306 without extensions)";
    (void)state;
    connect_with(",'config':{'ord':0,'extensions':false,'send_depth':1,'recv_depth':1}", "");
    want(b, "{'event':'request','listen':1,'private':''}");
    int m = ask("mem", "{'do':'register','length':8,'access':['local-write']}");
    refuse(illegal, "{'do':'post','conn':%d,'work':1,'op':'read','mem':%d,'length':1}", a, m);
    refuse(illegal, "{'do':'post','conn':%d,'work':1,'op':'fetch-add'}", a);
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'send'}", a);
    refuse("the queue is full", "{'do':'post','conn':%d,'work':1,'op':'send'}", a);
    ask(NULL, "{'do':'recv','conn':%d,'work':1}", a);
    refuse("the queue is full", "{'do':'recv','conn':%d,'work':1}", a);
    ask(NULL, "{'do':'close','conn':%d,'how':'reset'}", b);
    refuse("the connection is over", "{'do':'recv','conn':%d,'work':1}", b);
    refuse("the connection is over", "{'do':'post','conn':%d,'work':1,'op':'send'}", b);
}

/* ---- ends ---- */

static void ends_in_order(void **state)
{
    (void)state;
    open_connection();
    ask(NULL, "{'do':'recv','conn':%d,'work':1}", b);
    ask(NULL, "{'do':'close','conn':%d}", a);
    want(b, "{'event':'completion','work':1,'op':'recv','status':'flushed','length':0,"
            "'solicited':false}");
    want(b, "{'event':'peer-closed'}");
    want(b, "{'event':'closed','graceful':true,'cause':'graceful'}");
    want(a, "{'event':'peer-closed'}");
    want(a, "{'event':'closed','graceful':true,'cause':'graceful'}");
    assert_int_equal(client->own->live, 0);
}

static void leaves_half_closed_what_asks_for_it(void **state)
{
    (void)state;
    connect_with("", ",'half_close':true");
    want(b, "{'event':'request','listen':1,'private':''}");
    ask(NULL, "{'do':'accept','conn':%d}", b);
    want(b, "{'event':'established','private':'','listen':1," STANDARD "}");
    want(a, "{'event':'established','private':''," STANDARD "}");
    ask(NULL, "{'do':'recv','conn':%d,'work':1}", a);
    /* The responder sends nothing before it has received something. */
    ask(NULL, "{'do':'recv','conn':%d,'work':1}", b);
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'send'}", a);
    want(a, DONE("send", "0"));
    want(b, DONE("recv", "0"));
    ask(NULL, "{'do':'close','conn':%d}", a);
    want(b, "{'event':'peer-closed'}");
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'send'}", b);
    want(a, "{'event':'completion','work':1,'op':'recv','status':'ok','length':0,"
            "'solicited':false}");
    ask(NULL, "{'do':'close','conn':%d}", b);
    want(b, DONE("send", "0"));
    want(b, "{'event':'closed','graceful':true,'cause':'graceful'}");
}

static void resets(void **state)
{
    (void)state;
    open_connection();
    ask(NULL, "{'do':'close','conn':%d,'how':'reset'}", b);
    want(b, "{'event':'closed','graceful':false,'cause':'aborted'}");
    want(a, "{'event':'closed','graceful':false,'cause':'lost','check':'mpa-lost','rule':"
            "'MPA-8-01','error':'Connection reset by peer'}");
}

static void terminates(void **state)
{
    (void)state;
    open_connection();
    ask(NULL, "{'do':'close','conn':%d,'how':'terminate','code':7}", a);
    want(b, "{'event':'terminated','layer':0,'type':0,'code':7,'flags':0,'meaning':"
            "'local catastrophic'}");
    want(b, "{'event':'closed','graceful':false,'cause':'terminated'}");
    want(a, "{'event':'closed','graceful':false,'cause':'aborted'}");
}

static void tells_of_faults(void **state)
{
    (void)state;
    connect_with(",'config':{'violate':['ddp-msn']}", "");
    want(b, "{'event':'request','listen':1,'private':''}");
    ask(NULL, "{'do':'accept','conn':%d}", b);
    want(b, "{'event':'established','private':'','listen':1," STANDARD "}");
    want(a, "{'event':'established','private':''," STANDARD "}");
    ask(NULL, "{'do':'recv','conn':%d,'work':1}", b);
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'send'}", a);
    want(b, "{'event':'completion','work':1,'op':'recv','status':'flushed','length':0,"
            "'solicited':false}");
    want(b, "{'event':'fault','check':'ddp-msn','rule':'DDP-7.1-09','pos':36,'terminate':{"
            "'layer':1,'type':2,'code':3,'flags':192,'meaning':'invalid MSN: range not valid'}}");
}

/* ---- places ---- */

static void listens_and_stops(void **state)
{
    char text[AGENT_ERROR];
    (void)state;
    int port = ask("port", "{'do':'listen','private':'4711'}");
    assert_in_range(port, 1, 65535);
    snprintf(text, sizeof(text), "cannot listen on 127.0.0.1:%d: Address already in use", port);
    refuse(text, "{'do':'listen','port':%d}", port);
    a = ask("conn", "{'do':'connect','host':'127.0.0.1','port':%d}", port);
    want(a, "{'event':'established','private':'4711'," STANDARD "}");
    ask(NULL, "{'do':'unlisten','listen':1}");
    a = ask("conn", "{'do':'connect','host':'127.0.0.1','port':%d}", port);
    want(a, "{'event':'closed','graceful':false,'cause':'lost','check':'mpa-lost','rule':"
            "'MPA-8-01','error':'Connection refused'}");
    refuse("field ird: expected a number, 0..16383", "{'do':'listen','config':{'ird':16384}}");
    refuse("field ird: expected a number, 0..16383",
           "{'do':'connect','host':'127.0.0.1','port':%d,'config':{'ird':16384}}", port);
}

/* ---- streaming mode ---- */

static void takes_streamed(const char *request, const char *hex)
{
    char error[AGENT_ERROR];
    json_t *r = json_loads(request, 0, NULL);
    json_object_set_new(r, "conn", json_integer(b));
    json_t *reply = carry_out(r, error);
    assert_non_null(reply);
    assert_string_equal(json_string_value(json_object_get(reply, "hex")), hex);
    json_decref(reply);
}

static void streams_before_the_start(void **state)
{
    (void)state;
    connect_with(",'stream':true", ",'stream':true,'accept':'auto'");
    want(b, "{'event':'stream','length':0,'listen':1}");
    ask(NULL, "{'do':'stream_send','conn':%d,'hex':'0102030405'}", a);
    want(b, "{'event':'stream','length':5,'listen':1}");
    takes_streamed("{\"do\":\"stream_take\",\"length\":0}", "");
    takes_streamed("{\"do\":\"stream_take\",\"length\":2}", "0102");
    ask(NULL, "{'do':'stream_send','conn':%d,'hex':'06'}", a);
    want(b, "{'event':'stream','length':4,'listen':1}");
    takes_streamed("{\"do\":\"stream_take\",\"length\":3}", "030405");
    takes_streamed("{\"do\":\"stream_take\"}", "06");
    takes_streamed("{\"do\":\"stream_take\"}", "");
    ask(NULL, "{'do':'stream_send','conn':%d,'hex':'aa'}", b);
    want(a, "{'event':'stream','length':1}");
    ask(NULL, "{'do':'stream_take','conn':%d}", a);
    /* What was sent before the other side starts is the beginning of its MPA. */
    ask(NULL, "{'do':'start','conn':%d}", a);
    want(b, "{'event':'stream','length':24,'listen':1}");
    ask(NULL, "{'do':'start','conn':%d}", b);
    want(b, "{'event':'established','private':'','listen':1," STANDARD "}");
    want(a, "{'event':'established','private':''," STANDARD "}");
    refuse("field conn: not in streaming mode", "{'do':'start','conn':%d}", b);
    refuse("field conn: not in streaming mode", "{'do':'stream_take','conn':%d}", b);
    refuse("field conn: not in streaming mode", "{'do':'stream_send','conn':%d,'hex':''}", b);
}

/* ---- memory ---- */

static void binds_what_its_memory_permits(void **state)
{
    static const char no[] = "the memory's STag is dead, or its rights do not permit such a window";
    (void)state;
    open_connection();
    int m = register_target();
    refuse("field conn: no connection 99", "{'do':'register','length':1,'conn':99}");
    refuse("field conn: no connection 99", "{'do':'bind','mem':%d,'length':1,'conn':99}", m);
    refuse("field to: TO plus length wraps",
           "{'do':'register','length':2,'to':'0xffffffffffffffff'}");
    int plain = ask("mem", "{'do':'register','length':8,'access':['local-write','bind']}");
    refuse(no, "{'do':'bind','mem':%d,'length':1,'access':['local-write']}", plain);
    int w = ask("window", "{'do':'bind','mem':%d,'offset':2,'length':3,'access':['remote-write']}",
                plain);
    uint32_t first = client->windows[0].stag;
    /* A Write into the window lies at its place in the memory. */
    int out = ask("mem", "{'do':'register','length':8,'pattern':'count'}");
    json_int_t to = (json_int_t)memory(plain)->to + 2;
    ask(NULL,
        "{'do':'post','conn':%d,'work':1,'op':'write','mem':%d,'offset':5,'length':3,"
        "'remote_stag':%u,'remote_to':%lld}",
        a, out, first, (long long)to);
    want(a, DONE("write", "3"));
    /* An answer of b has come after it. */
    ask(NULL, "{'do':'recv','conn':%d,'work':1}", b);
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'send'}", a);
    want(b, DONE("recv", "0"));
    holds(plain, "0000050607000000");
    assert_int_equal(ask("window", "{'do':'bind','mem':%d,'length':3,'window':%d}", plain, w), w);
    ask(NULL, "{'do':'invalidate','window':%d}", w);
    refuse("the STag is not valid any more", "{'do':'invalidate','window':%d}", w);
    ask(NULL, "{'do':'invalidate','mem':%d}", plain);
    refuse("the STag is not valid any more", "{'do':'invalidate','mem':%d}", plain);
    refuse(no, "{'do':'bind','mem':%d,'length':1}", plain);
    ask(NULL, "{'do':'unbind','window':%d}", w);
    ask(NULL, "{'do':'release','mem':%d}", plain);
}

/* After a reset nothing of before is there, and events of it do not come. */
static void hangs_up(void **state)
{
    (void)state;
    open_connection();
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'send'}", a);
    ask(NULL, "{'do':'reset'}");
    assert_int_equal(client->own->live, 0);
    json_array_clear(events);
    refuse("field conn: no connection 2", "{'do':'close','conn':2}");
    refuse("field listen: no listener 1", "{'do':'unlisten','listen':1}");
    open_connection();
    assert_int_equal(a, 2);
    assert_int_equal(client->own->live, 2);
    assert_int_equal(json_array_size(events), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_what_is_agreed),
        TEST(tells_the_forms_of_rtr),
        TEST(tells_of_rejections),
        TEST(answers_only_requests),
        TEST(completes_work),
        TEST(completes_much_work),
        TEST(refuses_work),
        TEST(ends_in_order),
        TEST(leaves_half_closed_what_asks_for_it),
        TEST(resets),
        TEST(terminates),
        TEST(tells_of_faults),
        TEST(listens_and_stops),
        TEST(streams_before_the_start),
        TEST(binds_what_its_memory_permits),
        TEST(hangs_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
