/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent's verbs about connections, listeners and protection domains: what a request says
 * reaches the backend, and what it must not say does not. */
#include "recorder.h"

#include <sys/utsname.h>

/* In place of the C library's. */
int uname(struct utsname *host)
{
    *host = (struct utsname){.sysname = "Kern", .release = "1.2"};
    return 0;
}

static json_t *r_device(void *own)
{
    (void)own;
    return json_pack("{s:s}", "name", "card");
}

static json_t *r_no_device(void *own)
{
    (void)own;
    return NULL;
}

static void says_hello(void **state)
{
    (void)state;
    does("{'do':'hello','id':1}",
         "{'agent':'iwarp-agent','version':'" IW_VERSION "','schema':1,'backend':'recorder',"
         "'device':{'kernel':'Kern "
         "1.2'},'features':{'wings':2,'verbs':['hello','reset','listen','unlisten','connect','"
         "accept',"
         "'reject','close','stream_send','stream_take','start','pd','register','bind','unbind',"
         "'invalidate','release','fill','read','recv','post']}}",
         "");
    recorder.start = NULL;
    recorder.device = r_no_device;
    does("{'do':'hello'}",
         "{'agent':'iwarp-agent','version':'" IW_VERSION "','schema':1,'backend':'recorder',"
         "'device':{'kernel':'Kern "
         "1.2'},'features':{'wings':2,'verbs':['hello','reset','listen','unlisten','connect','"
         "accept',"
         "'reject','close','pd','register','bind','unbind','invalidate','release','fill','read',"
         "'recv','post']}}",
         "");
    recorder.bind = NULL;
    recorder.start = r_start;
    recorder.device = r_device;
    does("{'do':'hello'}",
         "{'agent':'iwarp-agent','version':'" IW_VERSION "','schema':1,'backend':'recorder',"
         "'device':{'name':'card','kernel':'Kern "
         "1.2'},'features':{'wings':2,'verbs':['hello','reset','listen','unlisten','connect','"
         "accept',"
         "'reject','close','stream_send','stream_take','start','pd','register','invalidate',"
         "'release','fill','read','recv','post']}}",
         "");
    refuses("{'do':'hello','x':1}", "field x: not known here");
}

static void verbs_that_are_not_offered(void **state)
{
    (void)state;
    recorder.start = NULL;
    recorder.bind = NULL;
    refuses("{'do':'start','conn':5}", "unsupported: verb start");
    refuses("{'do':'stream_send','conn':5,'hex':''}", "unsupported: verb stream_send");
    refuses("{'do':'stream_take','conn':5}", "unsupported: verb stream_take");
    refuses("{'do':'bind','mem':1,'length':1}", "unsupported: verb bind");
    refuses("{'do':'unbind','window':1}", "unsupported: verb unbind");
    refuses("{'do':'listen','stream':true}", "unsupported: field stream");
    refuses("{'do':'connect','host':'h','port':1,'stream':true}", "unsupported: field stream");
    refuses("{'do':'fly'}", "verb fly: not known");
    refuses("{'do':'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee'}",
            "verb aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd: not known");
}

/* ---- listen, connect ---- */

static void listens(void **state)
{
    (void)state;
    does("{'do':'listen'}", "{'listen':1,'port':4242}", " listen");
    assert_string_equal(seen.place.at.host, "127.0.0.1");
    assert_int_equal(seen.place.at.port, 0);
    assert_null(seen.place.config);
    assert_int_equal(seen.length, 0);
    assert_int_equal(seen.place.domain, 0);
    assert_false(seen.place.ask || seen.place.half_close || seen.place.stream);
    assert_ptr_equal(seen.slot, &seen.listeners[0]);
    assert_int_equal(seen.listeners[0].id, 1);
    assert_false(seen.listeners[0].ask);
    assert_int_equal(seen.listeners[0].reply.length, 0);

    seen.core.domain_count = 3;
    does("{'do':'listen','host':'::1','port':65535,'config':{'crc':true},'private':'0aff','pd':3,"
         "'half_close':true,'accept':'ask'}",
         "{'listen':2,'port':65535}", " listen");
    assert_string_equal(seen.place.at.host, "::1");
    assert_int_equal(seen.place.at.port, 65535);
    assert_string_equal(seen.config, "{\"crc\":true}");
    assert_int_equal(seen.length, 2);
    assert_memory_equal(seen.octets, "\x0a\xff", 2);
    assert_int_equal(seen.place.domain, 2);
    assert_true(seen.place.ask && seen.place.half_close);
    assert_false(seen.place.stream);
    assert_int_equal(seen.listeners[1].id, 2);
    assert_true(seen.listeners[1].ask);
    assert_int_equal(seen.listeners[1].reply.length, 2);
    assert_memory_equal(seen.listeners[1].reply.data, "\x0a\xff", 2);

    does(around("{'do':'listen','accept':'auto','stream':true,'pd':1,'private':'", 512, "'}"),
         "{'listen':3,'port':4242}", " listen");
    assert_int_equal(seen.length, 512);
    assert_int_equal(seen.place.domain, 0);
    assert_true(seen.place.stream);
    assert_false(seen.place.ask || seen.place.half_close);
    does("{'do':'listen','pd':0}", "{'listen':4,'port':4242}", " listen");
    refuses("{'do':'listen'}", "at most 4 listeners");
}

static void refuses_to_listen(void **state)
{
    (void)state;
    refuses("{'do':'listen','port':65536}", "field port: expected a number, 0..65535");
    refuses("{'do':'listen','pd':2}", "field pd: no protection domain 2");
    refuses("{'do':'listen','pd':4294967296}", "field pd: expected a number, 0..4294967295");
    refuses("{'do':'listen','accept':'perhaps'}", "field accept: expected auto or ask");
    refuses("{'do':'listen','host':1}", "field host: expected a string");
    refuses("{'do':'listen','half_close':1}", "field half_close: expected true or false");
    refuses("{'do':'listen','config':1}", "field config: expected an object");
    refuses(around("{'do':'listen','private':'", 513, "'}"),
            "field private: expected hex digits of at most 512 octets");
    seen.fails = "listen";
    refuses_after("{'do':'listen','private':'00'}", "listen fails", " listen");
    assert_int_equal(seen.listeners[0].id, 0);
    seen.fails = NULL;
    does("{'do':'listen'}", "{'listen':1,'port':4242}", " listen");
}

/* A name has room for 255 octets. */
static void names_are_bounded(void **state)
{
    char host[258], request[400];
    (void)state;
    for (int length = 255; length <= 256; length++) {
        memset(host, 'h', sizeof(host));
        host[length] = '\0';
        snprintf(request, sizeof(request), "{'do':'connect','port':1,'host':'%s'}", host);
        if (length == 255) {
            does(request, "{'conn':77}", " connect");
            assert_string_equal(seen.place.at.host, host);
        } else {
            refuses(request, "field host: longer than 255 octets");
        }
    }
}

static void stops_listening(void **state)
{
    (void)state;
    does("{'do':'listen'}", "{'listen':1,'port':4242}", " listen");
    does("{'do':'listen'}", "{'listen':2,'port':4242}", " listen");
    does("{'do':'unlisten','listen':2}", "{}", " unlisten");
    assert_ptr_equal(seen.slot, &seen.listeners[1]);
    refuses("{'do':'unlisten','listen':2}", "field listen: no listener 2");
    refuses("{'do':'unlisten','listen':0}", "field listen: no listener 0");
    refuses("{'do':'unlisten'}", "field listen: missing");
    refuses("{'do':'unlisten','listen':'0xffffffffffffffff'}",
            "field listen: no listener 18446744073709551615");
    /* The place is free, its number is not used again. */
    does("{'do':'listen'}", "{'listen':3,'port':4242}", " listen");
    assert_ptr_equal(seen.slot, &seen.listeners[1]);
}

static void connects(void **state)
{
    (void)state;
    does("{'do':'connect','host':'10.0.0.1','port':9}", "{'conn':77}", " connect");
    assert_string_equal(seen.place.at.host, "10.0.0.1");
    assert_int_equal(seen.place.at.port, 9);
    assert_false(seen.place.ask || seen.place.half_close || seen.place.stream);
    does("{'do':'connect','host':'b','port':9,'private':'01','config':{},'stream':true,"
         "'half_close':true,'pd':1}",
         "{'conn':77}", " connect");
    assert_string_equal(seen.config, "{}");
    assert_int_equal(seen.length, 1);
    assert_true(seen.place.half_close && seen.place.stream);
    refuses("{'do':'connect','port':9}", "field host: missing");
    refuses("{'do':'connect','host':'b'}", "field port: missing");
    refuses("{'do':'connect','host':'b','port':9,'accept':'ask'}", "field accept: not known here");
    seen.fails = "connect";
    refuses_after("{'do':'connect','host':'b','port':9}", "connect fails", " connect");
}

/* ---- connections ---- */

static void answers(void **state)
{
    (void)state;
    does("{'do':'accept','conn':5,'private':'cafe'}", "{}", " answer");
    assert_ptr_equal(seen.slot, &seen.connections[1]);
    assert_true(seen.accept);
    assert_int_equal(seen.length, 2);
    assert_memory_equal(seen.octets, "\xca\xfe", 2);
    does("{'do':'reject','conn':6}", "{}", " answer");
    assert_ptr_equal(seen.slot, &seen.connections[2]);
    assert_false(seen.accept);
    assert_int_equal(seen.length, 0);
    does(around("{'do':'reject','conn':6,'private':'", 512, "'}"), "{}", " answer");
    refuses(around("{'do':'reject','conn':6,'private':'", 513, "'}"),
            "field private: expected hex digits of at most 512 octets");
    refuses("{'do':'accept'}", "field conn: missing");
    refuses("{'do':'accept','conn':7}", "field conn: no connection 7");
    refuses("{'do':'accept','conn':0}", "field conn: no connection 0");
    seen.fails = "answer";
    refuses_after("{'do':'accept','conn':5}", "answer fails", " answer");
}

static void closes(void **state)
{
    static const struct {
        const char *word;
        enum agent_how how;
    } ways[] = {
        {"graceful", AGENT_GRACEFUL}, {"reset", AGENT_RESET}, {"terminate", AGENT_TERMINATE}};
    (void)state;
    does("{'do':'close','conn':5}", "{}", " close");
    assert_ptr_equal(seen.slot, &seen.connections[1]);
    assert_int_equal(seen.how, AGENT_GRACEFUL);
    assert_int_equal(seen.code, 0);
    for (size_t i = 0; i < 3; i++) {
        char request[100];
        snprintf(request, sizeof(request), "{'do':'close','conn':6,'how':'%s','code':255}",
                 ways[i].word);
        does(request, "{}", " close");
        assert_int_equal(seen.how, ways[i].how);
        assert_int_equal(seen.code, 255);
        assert_ptr_equal(seen.slot, &seen.connections[2]);
    }
    refuses("{'do':'close','conn':5,'code':256}", "field code: expected a number, 0..255");
    refuses("{'do':'close','conn':5,'how':'x'}",
            "field how: expected graceful, reset or terminate");
    refuses("{'do':'close'}", "field conn: missing");
    refuses("{'do':'close','conn':8}", "field conn: no connection 8");
    seen.fails = "close";
    refuses_after("{'do':'close','conn':5}", "close fails", " close");
}

static void streams(void **state)
{
    (void)state;
    does("{'do':'stream_send','conn':5,'hex':'00ff'}", "{}", " stream_send");
    assert_ptr_equal(seen.slot, &seen.connections[1]);
    assert_int_equal(seen.length, 2);
    assert_memory_equal(seen.octets, "\x00\xff", 2);
    does(around("{'do':'stream_send','conn':5,'hex':'", 65536, "'}"), "{}", " stream_send");
    assert_int_equal(seen.length, 65536);
    refuses(around("{'do':'stream_send','conn':5,'hex':'", 65537, "'}"),
            "field hex: expected hex digits of at most 65536 octets");
    refuses("{'do':'stream_send','conn':5}", "field hex: missing");
    refuses("{'do':'stream_send','hex':''}", "field conn: missing");
    refuses("{'do':'stream_send','conn':9,'hex':''}", "field conn: no connection 9");
    does("{'do':'stream_take','conn':6}", "{'hex':'01abff'}", " stream_take");
    assert_ptr_equal(seen.slot, &seen.connections[2]);
    assert_int_equal(seen.room, 65536);
    does("{'do':'stream_take','conn':6,'length':65536}", "{'hex':'01abff'}", " stream_take");
    does("{'do':'stream_take','conn':6,'length':1}", "{'hex':'01'}", " stream_take");
    assert_int_equal(seen.room, 1);
    refuses("{'do':'stream_take','conn':6,'length':65537}",
            "field length: expected a number, 0..65536");
    refuses("{'do':'stream_take','conn':9}", "field conn: no connection 9");
    refuses("{'do':'stream_take'}", "field conn: missing");
    does("{'do':'start','conn':6}", "{}", " start");
    assert_ptr_equal(seen.slot, &seen.connections[2]);
    refuses("{'do':'start','conn':9}", "field conn: no connection 9");
    seen.fails = "start";
    refuses_after("{'do':'start','conn':6}", "start fails", " start");
    seen.fails = "stream_take";
    refuses_after("{'do':'stream_take','conn':6}", "stream_take fails", " stream_take");
    seen.fails = "stream_send";
    refuses_after("{'do':'stream_send','conn':6,'hex':''}", "stream_send fails", " stream_send");
}

/* ---- protection domains, the whole ---- */

static void counts_domains(void **state)
{
    (void)state;
    does("{'do':'pd'}", "{'pd':2}", " domain");
    seen.fails = "domain";
    refuses_after("{'do':'pd'}", "domain fails", " domain");
    seen.fails = NULL;
    does("{'do':'pd'}", "{'pd':3}", " domain");
    recorder.domain = NULL;
    does("{'do':'pd'}", "{'pd':4}", "");
    refuses("{'do':'pd','x':1}", "field x: not known here");
    seen.core.domain_count = 255;
    does("{'do':'pd'}", "{'pd':256}", "");
    refuses("{'do':'pd'}", "at most 256 protection domains");
}

static void begins_anew(void **state)
{
    (void)state;
    seen.core.last_id = 8;
    seen.core.domain_count = 3;
    refuses("{'do':'reset','x':1}", "field x: not known here");
    does("{'do':'reset'}", "{}", " hang_up");
    assert_int_equal(seen.core.last_id, 0);
    assert_int_equal(seen.core.domain_count, 1);
}

/* ---- events ---- */

static void is_event(const char *wanted)
{
    char *text = json_dumps(seen.event, JSON_COMPACT);
    assert_string_equal(text, wanted);
    free(text);
}

static void reports_events(void **state)
{
    struct agent_connection *plain = &seen.connections[1], *listened = &seen.connections[2];
    (void)state;
    agent_report(plain, "hop", "{s:i,s:o*}", "height", 3, "listen", agent_listen_of(plain));
    is_event("{\"event\":\"hop\",\"height\":3,\"conn\":5}");
    agent_report(listened, "hop", "{s:o*}", "listen", agent_listen_of(listened));
    is_event("{\"event\":\"hop\",\"listen\":9,\"conn\":6}");
    agent_report(listened, NULL, "o", json_pack("{s:s}", "event", "skip"));
    is_event("{\"event\":\"skip\",\"conn\":6}");
    /* Without memory there is no event, which ends the session. */
    agent_report(listened, "hop", "{s:o}", "x", NULL);
    assert_null(seen.event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(says_hello),
        TEST(verbs_that_are_not_offered),
        TEST(listens),
        TEST(refuses_to_listen),
        TEST(names_are_bounded),
        TEST(stops_listening),
        TEST(connects),
        TEST(answers),
        TEST(closes),
        TEST(streams),
        TEST(counts_domains),
        TEST(begins_anew),
        TEST(reports_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
