/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent's verbs about memory, windows and work: what a request says reaches the backend, and
 * what it must not say does not. */
#include "recorder.h"

#define TO "'0x8000000000000001'"

/* ---- register, release ---- */

static void registers(void **state)
{
    (void)state;
    does("{'do':'register','length':8}", "{'mem':1,'stag':100,'to':" TO "}", " enrol");
    assert_int_equal(seen.memory_length, 8);
    assert_int_equal(seen.memory_guard, 64);
    assert_int_equal(seen.region.rights, 0);
    assert_int_equal(seen.region.domain, 0);
    assert_int_equal(seen.region.conn, 0);
    assert_false(seen.region.to_given);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(seen.memory_octets[i], 0xa5);

    seen.core.domain_count = 4;
    does("{'do':'register','length':10,'guard':2,'fill':255,'to':'0x12345678','pd':4,'conn':6,"
         "'access':['remote-write','bind']}",
         "{'mem':2,'stag':101,'to':'0x12345678'}", " enrol");
    assert_int_equal(seen.memory_guard, 2);
    assert_int_equal(seen.region.rights, IW_ACCESS_REMOTE_WRITE | IW_ACCESS_BIND);
    assert_int_equal(seen.region.domain, 3);
    assert_int_equal(seen.region.conn, 6);
    assert_true(seen.region.to_given);
    assert_int_equal(seen.region.to, 0x12345678);
    assert_memory_equal(seen.memory_octets,
                        "\xa5\xa5\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xa5\xa5", 14);
    /* Its first octet has the TO's place in a page. */
    assert_int_equal((uintptr_t)(client->memories.slots[1].arena + 2) % 4096, 0x678);

    does("{'do':'register','length':4,'guard':0,'pattern':'count','fill':9,'to':0}",
         "{'mem':3,'stag':102,'to':'0x0'}", " enrol");
    assert_memory_equal(seen.memory_octets, "\0\1\2\3", 4);
    assert_int_equal((uintptr_t)client->memories.slots[2].arena % 4096, 0);
    does("{'do':'register','length':300,'guard':0,'pattern':'count'}",
         "{'mem':4,'stag':103,'to':" TO "}", " enrol");
    assert_int_equal(client->memories.slots[3].arena[299], 43);
    does("{'do':'register','length':0,'guard':65536}", "{'mem':5,'stag':104,'to':" TO "}",
         " enrol");
    assert_int_equal(seen.memory_guard, 65536);
}

static void has_each_right(void **state)
{
    static const char *const words[] = {"local-write",       "remote-read",   "remote-write",
                                        "remote-invalidate", "remote-atomic", "bind"};
    static const uint32_t rights[] = {1, 2, 4, 8, 16, 32};
    char request[100];
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        json_t *r = json_pack("{s:s,s:i,s:[s]}", "do", "register", "length", 1, "access", words[i]);
        char error[AGENT_ERROR] = "";
        json_decref(agent_do(client, "register", r, error));
        json_decref(r);
        assert_int_equal(seen.region.rights, rights[i]);
        snprintf(request, sizeof(request), "{'do':'release','mem':%zu}", i + 1);
        does(request, "{}", " forget");
    }
    does("{'do':'register','length':1,'access':['bind','bind','local-write','remote-read',"
         "'remote-write','remote-atomic']}",
         "{'mem':7,'stag':106,'to':" TO "}", " enrol");
    assert_int_equal(seen.region.rights, 32 | 1 | 2 | 4 | 16);
    refuses("{'do':'register','length':1,'access':['bind','bind','bind','bind','bind','bind',"
            "'bind']}",
            "field access: expected an array of at most 6");
    refuses("{'do':'register','length':1,'access':['bind','x']}",
            "field access: expected local-write, remote-read, remote-write, remote-invalidate, "
            "remote-atomic or bind");
    refuses("{'do':'register','length':1,'access':[1]}",
            "field access: expected local-write, remote-read, remote-write, remote-invalidate, "
            "remote-atomic or bind");
}

static const char too_much[] = "no memory: at most 1024 regions with 268435456 octets in all";

static void refuses_to_register(void **state)
{
    (void)state;
    refuses("{'do':'register'}", "field length: missing");
    refuses("{'do':'register','length':268435457}",
            "field length: expected a number, 0..268435456");
    refuses("{'do':'register','length':1,'guard':65537}",
            "field guard: expected a number, 0..65536");
    refuses("{'do':'register','length':1,'fill':256}", "field fill: expected a number, 0..255");
    refuses("{'do':'register','length':1,'pattern':'x'}", "field pattern: expected count");
    refuses("{'do':'register','length':1,'pd':2}", "field pd: no protection domain 2");
    refuses("{'do':'register','length':1,'pd':4294967296}",
            "field pd: expected a number, 0..4294967295");
    refuses("{'do':'register','length':268435456}", too_much);
    seen.fails = "enrol";
    refuses_after("{'do':'register','length':1}", "enrol fails", " enrol");
    seen.fails = NULL;
    /* Nothing of it is left: all octets are free, but for the number. */
    assert_int_equal(client->memories.octets, 0);
    client->memories.octets = 268435456 - 130;
    refuses("{'do':'register','length':3}", too_much);
    does("{'do':'register','length':2}", "{'mem':2,'stag':101,'to':" TO "}", " enrol");
    assert_int_equal(client->memories.octets, 268435456);
    refuses("{'do':'register','length':0,'guard':1}", too_much);
    does("{'do':'release','mem':2}", "{}", " forget");
    assert_int_equal(client->memories.octets, 268435456 - 130);
}

/* Released memory is kept while a connection may still read from it. */
static void keeps_memory_that_is_used(void **state)
{
    (void)state;
    seen.core.live = 1;
    does("{'do':'register','length':8}", "{'mem':1,'stag':100,'to':" TO "}", " enrol");
    does("{'do':'release','mem':1}", "{}", " forget");
    assert_int_equal(seen.forgotten[0], 100);
    assert_int_equal(client->memories.octets, 8 + 128);
    refuses("{'do':'release','mem':1}", "field mem: no memory 1");
    refuses("{'do':'release','mem':'0xffffffffffffffff'}",
            "field mem: no memory 18446744073709551615");
    does("{'do':'register','length':1}", "{'mem':2,'stag':101,'to':" TO "}", " enrol");
    assert_int_equal(client->memories.octets, 8 + 128 + 1 + 128);
    /* The next verb about memory frees it. */
    seen.core.live = 0;
    does("{'do':'register','length':2}", "{'mem':3,'stag':102,'to':" TO "}", " enrol");
    assert_int_equal(client->memories.octets, 1 + 128 + 2 + 128);
    does("{'do':'release','mem':2}", "{}", " forget");
    assert_int_equal(client->memories.octets, 2 + 128);
    refuses("{'do':'release'}", "field mem: missing");
}

/* ---- windows ---- */

static void binds(void **state)
{
    (void)state;
    does("{'do':'register','length':8}", "{'mem':1,'stag':100,'to':" TO "}", " enrol");
    does("{'do':'register','length':9}", "{'mem':2,'stag':101,'to':" TO "}", " enrol");
    does("{'do':'bind','mem':1,'offset':3,'length':5,'access':['remote-read'],'conn':6}",
         "{'window':1,'stag':102,'to':'0x3'}", " bind");
    assert_ptr_equal(seen.binding.memory, &client->memories.slots[0]);
    assert_int_equal(seen.binding.offset, 3);
    assert_int_equal(seen.binding.length, 5);
    assert_int_equal(seen.binding.rights, IW_ACCESS_REMOTE_READ);
    assert_int_equal(seen.binding.conn, 6);
    assert_int_equal(seen.forgotten[FORGOTTEN - 1], 0);
    does("{'do':'bind','mem':1,'length':8}", "{'window':2,'stag':103,'to':'0x0'}", " bind");
    assert_int_equal(seen.binding.offset, 0);
    assert_int_equal(seen.binding.rights, 0);
    assert_int_equal(seen.binding.conn, 0);
    assert_int_equal(client->memories.slots[0].windows, 2);
    refuses("{'do':'bind','mem':1,'length':9}", "field offset: expected 0..8 with the length");
    refuses("{'do':'bind','mem':1,'offset':9,'length':0}",
            "field offset: expected 0..8 with the length");
    refuses("{'do':'bind','mem':1}", "field length: missing");
    refuses("{'do':'bind','length':1}", "field mem: missing");
    refuses("{'do':'bind','mem':3,'length':1}", "field mem: no memory 3");
    refuses("{'do':'bind','mem':1,'length':1,'window':3}", "field window: no window 3");
    refuses("{'do':'bind','mem':1,'length':268435457}",
            "field length: expected a number, 0..268435456");
    refuses("{'do':'bind','mem':1,'length':1,'offset':268435457}",
            "field offset: expected a number, 0..268435456");
    /* Anew, to another memory: it gets another STag. */
    does("{'do':'bind','mem':2,'length':9,'window':1}", "{'window':1,'stag':104,'to':'0x0'}",
         " bind");
    assert_int_equal(seen.forgotten[FORGOTTEN - 1], 102);
    assert_int_equal(client->memories.slots[0].windows, 1);
    assert_int_equal(client->memories.slots[1].windows, 1);
    seen.fails = "bind";
    refuses_after("{'do':'bind','mem':1,'length':8,'window':1}", "bind fails", " bind");
    refuses_after("{'do':'bind','mem':1,'length':8}", "bind fails", " bind");
    assert_int_equal(client->memories.slots[0].windows, 1);
    assert_int_equal(client->windows[0].stag, 104);
    assert_int_equal(client->windows[2].id, 0);
    seen.fails = NULL;
    refuses("{'do':'release','mem':1}", "field mem: windows are bound to it");
    does("{'do':'unbind','window':2}", "{}", " forget");
    assert_int_equal(seen.forgotten[0], 103);
    does("{'do':'release','mem':1}", "{}", " forget");
    refuses("{'do':'unbind','window':2}", "field window: no window 2");
    does("{'do':'bind','mem':2,'length':1}", "{'window':3,'stag':107,'to':'0x0'}", " bind");
}

static void invalidates(void **state)
{
    (void)state;
    does("{'do':'register','length':8}", "{'mem':1,'stag':100,'to':" TO "}", " enrol");
    does("{'do':'bind','mem':1,'length':8}", "{'window':1,'stag':101,'to':'0x0'}", " bind");
    does("{'do':'invalidate','mem':1}", "{}", " invalidate");
    assert_int_equal(seen.forgotten[0], 100);
    does("{'do':'invalidate','window':1}", "{}", " invalidate");
    assert_int_equal(seen.forgotten[0], 101);
    refuses("{'do':'invalidate'}", "field mem: expected either it or window");
    refuses("{'do':'invalidate','mem':1,'window':1}", "field mem: expected either it or window");
    refuses("{'do':'invalidate','mem':2}", "field mem: no memory 2");
    refuses("{'do':'invalidate','window':2}", "field window: no window 2");
    refuses("{'do':'invalidate','x':2}", "field x: not known here");
    seen.fails = "invalidate";
    refuses_after("{'do':'invalidate','mem':1}", "invalidate fails", " invalidate");
}

static void resets_memory(void **state)
{
    (void)state;
    does("{'do':'register','length':8}", "{'mem':1,'stag':100,'to':" TO "}", " enrol");
    does("{'do':'register','length':8}", "{'mem':2,'stag':101,'to':" TO "}", " enrol");
    does("{'do':'bind','mem':1,'length':8}", "{'window':1,'stag':102,'to':'0x0'}", " bind");
    /* Windows before what they are bound to. */
    does("{'do':'reset'}", "{}", " hang_up forget forget forget");
    assert_int_equal(seen.forgotten[0], 102);
    assert_int_equal(seen.forgotten[1], 100);
    assert_int_equal(seen.forgotten[2], 101);
    assert_int_equal(client->memories.octets, 0);
    does("{'do':'register','length':8}", "{'mem':1,'stag':103,'to':" TO "}", " enrol");
    does("{'do':'bind','mem':1,'length':8}", "{'window':1,'stag':104,'to':'0x0'}", " bind");
    does("{'do':'reset'}", "{}", " hang_up forget forget");
}

/* ---- fill, read ---- */

static void fills_and_reads(void **state)
{
    (void)state;
    does("{'do':'register','length':4,'guard':2}", "{'mem':1,'stag':100,'to':" TO "}", " enrol");
    does("{'do':'fill','mem':1,'hex':'0102'}", "{}", "");
    does("{'do':'fill','mem':1,'offset':-2,'hex':'0a'}", "{}", "");
    does("{'do':'fill','mem':1,'offset':5,'hex':'ff'}", "{}", "");
    does("{'do':'fill','mem':1,'offset':6,'hex':''}", "{}", "");
    does("{'do':'read','mem':1,'offset':-2,'length':8}", "{'hex':'0aa501020000a5ff'}", "");
    does("{'do':'read','mem':1,'length':2}", "{'hex':'0102'}", "");
    refuses("{'do':'fill','mem':1,'offset':-3,'hex':''}",
            "field offset: expected -2..6 with the length");
    refuses("{'do':'fill','mem':1,'offset':5,'hex':'0000'}",
            "field offset: expected -2..6 with the length");
    refuses("{'do':'fill','mem':1,'offset':7,'hex':''}",
            "field offset: expected -2..6 with the length");
    refuses("{'do':'read','mem':1,'offset':-2,'length':9}",
            "field offset: expected -2..6 with the length");
    refuses("{'do':'fill','mem':1}", "field hex: missing");
    refuses("{'do':'fill','hex':''}", "field mem: missing");
    refuses("{'do':'fill','mem':2,'hex':''}", "field mem: no memory 2");
    refuses("{'do':'fill','mem':1,'offset':'0','hex':''}", "field offset: expected a whole number");
    refuses("{'do':'read','mem':1}", "field length: missing");
    refuses("{'do':'read','length':1}", "field mem: missing");
    refuses("{'do':'read','mem':2,'length':1}", "field mem: no memory 2");
    refuses("{'do':'read','mem':1,'length':100001}", "field length: expected a number, 0..100000");
    does("{'do':'register','length':131072,'guard':0}", "{'mem':2,'stag':101,'to':" TO "}",
         " enrol");
    char *reply = strdup(around("{'hex':'", 100000, "'}"));
    does("{'do':'read','mem':2,'length':100000}", reply, "");
    free(reply);
    does(around("{'do':'fill','mem':2,'hex':'", 131072, "'}"), "{}", "");
    refuses(around("{'do':'fill','mem':2,'hex':'", 131073, "'}"),
            "field hex: expected hex digits of at most 131072 octets");
}

/* ---- recv, post ---- */

static void is_piece(size_t i, size_t memory, uint64_t offset, uint64_t length)
{
    assert_ptr_equal(seen.work.pieces[i].memory, &client->memories.slots[memory]);
    assert_int_equal(seen.work.pieces[i].offset, offset);
    assert_int_equal(seen.work.pieces[i].length, length);
}

static void receives(void **state)
{
    (void)state;
    does("{'do':'register','length':8}", "{'mem':1,'stag':100,'to':" TO "}", " enrol");
    does("{'do':'register','length':9}", "{'mem':2,'stag':101,'to':" TO "}", " enrol");
    does("{'do':'recv','conn':6,'work':9223372036854775807}", "{}", " receive");
    assert_ptr_equal(seen.slot, &seen.connections[2]);
    assert_true(seen.work.work.id == INT64_MAX);
    assert_int_equal(seen.work.work.opcode, IW_WORK_RECV);
    assert_int_equal(seen.work.count, 0);
    assert_int_equal(seen.work.work.flags, 0);
    does("{'do':'recv','conn':5,'work':0,'mem':1,'offset':2,'length':6,'sge':[[2,8,1],[1,0,8]]}",
         "{}", " receive");
    assert_int_equal(seen.work.count, 3);
    is_piece(0, 0, 2, 6);
    is_piece(1, 1, 8, 1);
    is_piece(2, 0, 0, 8);
    does("{'do':'recv','conn':5,'work':0,'sge':[[1,0,0],[1,0,1],[1,0,2],[1,0,3],[1,0,4],[1,0,5],"
         "[1,0,6],[1,0,7],[1,1,0],[1,1,1],[1,1,2],[1,1,3],[1,1,4],[1,1,5],[1,1,6],[1,1,7]]}",
         "{}", " receive");
    assert_int_equal(seen.work.count, 16);
    is_piece(15, 0, 1, 7);
    refuses("{'do':'recv','conn':5,'work':0,'mem':1,'sge':[[1,0,0],[1,0,1],[1,0,2],[1,0,3],[1,0,4],"
            "[1,0,5],[1,0,6],[1,0,7],[1,1,0],[1,1,1],[1,1,2],[1,1,3],[1,1,4],[1,1,5],[1,1,6],"
            "[1,1,7]]}",
            "field sge: more than 16 pieces");
    refuses("{'do':'recv','work':1}", "field conn: missing");
    refuses("{'do':'recv','conn':5}", "field work: missing");
    refuses("{'do':'recv','conn':7,'work':1}", "field conn: no connection 7");
    refuses("{'do':'recv','conn':5,'work':'0x8000000000000000'}",
            "field work: expected a number, 0..9223372036854775807");
    refuses("{'do':'recv','conn':5,'work':1,'op':'send'}", "field op: not known here");
    refuses("{'do':'recv','conn':5,'work':1,'mem':1,'length':9}",
            "field offset: expected 0..8 with the length");
    refuses("{'do':'recv','conn':5,'work':1,'length':268435457}",
            "field length: expected a number, 0..268435456");
    refuses("{'do':'recv','conn':5,'work':1,'offset':268435457}",
            "field offset: expected a number, 0..268435456");
    seen.fails = "receive";
    refuses_after("{'do':'recv','conn':5,'work':1}", "receive fails", " receive");
}

static void refuses_pieces(void **state)
{
    static const char shape[] = "field sge: expected [[mem, offset, length], ...]";
    (void)state;
    does("{'do':'register','length':8}", "{'mem':1,'stag':100,'to':" TO "}", " enrol");
    refuses("{'do':'recv','conn':5,'work':1,'sge':[1]}", shape);
    refuses("{'do':'recv','conn':5,'work':1,'sge':[[1,0]]}", shape);
    refuses("{'do':'recv','conn':5,'work':1,'sge':[[1,0,1,1]]}", shape);
    refuses("{'do':'recv','conn':5,'work':1,'sge':[['1',0,1]]}", shape);
    refuses("{'do':'recv','conn':5,'work':1,'sge':[[1,'0',1]]}", shape);
    refuses("{'do':'recv','conn':5,'work':1,'sge':[[1,0,1.5]]}", shape);
    refuses("{'do':'recv','conn':5,'work':1,'sge':[[-1,0,1]]}", shape);
    refuses("{'do':'recv','conn':5,'work':1,'sge':[[1,-1,1]]}", shape);
    refuses("{'do':'recv','conn':5,'work':1,'sge':[[1,0,1],[1,0,-1]]}", shape);
    refuses("{'do':'recv','conn':5,'work':1,'sge':[[2,0,1]]}", "field mem: no memory 2");
    refuses("{'do':'recv','conn':5,'work':1,'sge':[[1,0,9]]}",
            "field offset: expected 0..8 with the length");
    refuses("{'do':'recv','conn':5,'work':1,'sge':[[1,9223372036854775807,0]]}",
            "field offset: expected 0..8 with the length");
    refuses("{'do':'recv','conn':5,'work':1,'sge':{}}",
            "field sge: expected an array of at most 16");
}

static void posts(void **state)
{
    static const char *const ops[] = {
        "send", "send-se",   "send-invalidate", "send-se-invalidate", "write",
        "read", "immediate", "immediate-se",    "fetch-add",          "cmp-swap"};
    static const enum iw_work_opcode opcodes[] = {
        IW_WORK_SEND,      IW_WORK_SEND_SE, IW_WORK_SEND_INVALIDATE, IW_WORK_SEND_SE_INVALIDATE,
        IW_WORK_WRITE,     IW_WORK_READ,    IW_WORK_IMMEDIATE,       IW_WORK_IMMEDIATE_SE,
        IW_WORK_FETCH_ADD, IW_WORK_CMP_SWAP};
    (void)state;
    does("{'do':'register','length':8}", "{'mem':1,'stag':100,'to':" TO "}", " enrol");
    for (size_t i = 0; i < 10; i++) {
        char request[500];
        const struct iw_work *w = &seen.work.work;
        snprintf(request, sizeof(request),
                 "{'do':'post','conn':5,'work':7,'mem':1,'offset':1,'length':7,'op':'%s',"
                 "'remote_stag':4294967295,'remote_to':'0xfffffffffffffffe','invalidate_stag':9,"
                 "'fence':true,'immediate':'0102030405060708','add_swap':11,'add_swap_mask':12,"
                 "'compare':13,'compare_mask':14}",
                 ops[i]);
        does(request, "{}", " post");
        assert_ptr_equal(seen.slot, &seen.connections[1]);
        assert_int_equal(w->id, 7);
        assert_int_equal(w->opcode, opcodes[i]);
        assert_int_equal(w->flags, IW_WORK_FENCE);
        assert_int_equal(seen.work.count, 1);
        is_piece(0, 0, 1, 7);
        assert_int_equal(w->length, 7);
        assert_int_equal(w->remote_stag, UINT32_MAX);
        assert_true(w->remote_to == UINT64_MAX - 1);
        assert_int_equal(w->invalidate_stag, 9);
        assert_int_equal(w->add_swap, 11);
        assert_int_equal(w->add_swap_mask, 12);
        assert_int_equal(w->compare, 13);
        assert_int_equal(w->compare_mask, 14);
        bool immediate = opcodes[i] == IW_WORK_IMMEDIATE || opcodes[i] == IW_WORK_IMMEDIATE_SE;
        assert_memory_equal(w->immediate, immediate ? "\1\2\3\4\5\6\7\x08" : "\0\0\0\0\0\0\0", 8);
        snprintf(request, sizeof(request),
                 "{'do':'post','conn':5,'work':7,'op':'%s','immediate':'0102030405060708',"
                 "'mem':1,'sge':[[1,2,3]]}",
                 ops[i]);
        does(request, "{}", " post");
        assert_int_equal(w->flags, 0);
        assert_int_equal(w->add_swap, 0);
        assert_true(w->add_swap_mask == (opcodes[i] == IW_WORK_CMP_SWAP ? UINT64_MAX : 0));
        assert_int_equal(w->compare, 0);
        assert_true(w->compare_mask == UINT64_MAX);
        /* A Read has one sink. */
        assert_int_equal(seen.work.count, opcodes[i] == IW_WORK_READ ? 1 : 2);
    }
}

static void refuses_to_post(void **state)
{
    static const char ops[] = "field op: expected send, send-se, send-invalidate, "
                              "send-se-invalidate, write, read, immediate, immediate-se, "
                              "fetch-add or cmp-swap";
    (void)state;
    does("{'do':'register','length':8}", "{'mem':1,'stag':100,'to':" TO "}", " enrol");
    refuses("{'do':'post','conn':5,'work':1}", "field op: missing");
    refuses("{'do':'post','conn':5,'work':1,'op':'recv'}", ops);
    refuses("{'do':'post','conn':5,'work':1,'op':''}", ops);
    refuses("{'do':'post','conn':5,'work':1,'op':'immediate'}",
            "field immediate: expected 8 octets");
    refuses("{'do':'post','conn':5,'work':1,'op':'immediate-se','immediate':'000000000000000000'}",
            "field immediate: expected 8 octets");
    does("{'do':'post','conn':5,'work':1,'op':'send','immediate':'00'}", "{}", " post");
    does(around("{'do':'post','conn':5,'work':1,'op':'send','immediate':'", 16, "'}"), "{}",
         " post");
    assert_int_equal(seen.work.count, 0);
    refuses(around("{'do':'post','conn':5,'work':1,'op':'send','immediate':'", 17, "'}"),
            "field immediate: expected hex digits of at most 16 octets");
    /* A Read always has a sink. */
    refuses("{'do':'post','conn':5,'work':1,'op':'read'}", "field mem: no memory 0");
    does("{'do':'post','conn':5,'work':1,'op':'read','mem':1,'length':8}", "{}", " post");
    is_piece(0, 0, 0, 8);
    refuses("{'do':'post','conn':5,'work':1,'op':'send','remote_stag':4294967296}",
            "field remote_stag: expected a number, 0..4294967295");
    refuses("{'do':'post','conn':5,'work':1,'op':'send','invalidate_stag':4294967296}",
            "field invalidate_stag: expected a number, 0..4294967295");
    does("{'do':'post','conn':5,'work':1,'op':'send','invalidate_stag':4294967295,"
         "'length':4294967295,'add_swap':'0xffffffffffffffff','add_swap_mask':"
         "'0xffffffffffffffff','compare':'0xffffffffffffffff','remote_to':'0xffffffffffffffff'}",
         "{}", " post");
    refuses("{'do':'post','conn':5,'work':1,'op':'send','length':4294967296}",
            "field length: expected a number, 0..4294967295");
    refuses("{'do':'post','conn':7,'work':1,'op':'send'}", "field conn: no connection 7");
    refuses("{'do':'post','work':1,'op':'send'}", "field conn: missing");
    refuses("{'do':'post','conn':5,'op':'send'}", "field work: missing");
    refuses("{'do':'post','conn':5,'work':1,'op':'send','fence':1}",
            "field fence: expected true or false");
    seen.fails = "post";
    refuses_after("{'do':'post','conn':5,'work':1,'op':'send'}", "post fails", " post");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(registers),
        TEST(has_each_right),
        TEST(refuses_to_register),
        TEST(keeps_memory_that_is_used),
        TEST(binds),
        TEST(invalidates),
        TEST(resets_memory),
        TEST(fills_and_reads),
        TEST(receives),
        TEST(refuses_pieces),
        TEST(posts),
        TEST(refuses_to_post),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
