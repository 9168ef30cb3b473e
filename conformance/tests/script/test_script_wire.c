/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables to octets and octets to tables, field by field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hex.h"
#include "primitives.h"

static struct iw_script script;

static int open_script(void **state)
{
    (void)state;
    primitives_open(&script);
    return 0;
}

static int close_script(void **state)
{
    (void)state;
    iw_script_close(&script);
    return 0;
}

#define KEY "key = ('k'):rep(16)"

/* ---- to octets ---- */

static void every_field_has_its_place(void **state)
{
    static const struct {
        const char *code, *octets;
    } made[] = {
        {"iw.ddp {}", "414000000000000000000000000000000000"},
        {"iw.ddp { t = true, l = false, rsvd = 15, dv = 2, rv = 3, rsv = 2, opcode = 9,"
         " stag = 0x01020304, to = 0x05060708090a0b0c }",
         "bee9010203040506" /* T, all of rsvd, version 2 */ "0708090a0b0c"},
        {"iw.ddp { rsvd = 1, dv = 0, rv = 0, rsv = 3, opcode = 15, invalidate = 0x11223344,"
         " qn = 0xfffffffe, msn = 3, mo = 0x80000001 }",
         "443f11223344fffffffe0000000380000001"},
        {"iw.read_request {}", "00000000000000000000000000000000000000000000000000000000"},
        {"iw.read_request { sink_stag = 0x01020304, sink_to = 0x1112131415161718,"
         " size = 0x21222324, source_stag = 0x31323334, source_to = 0x4142434445464748 }",
         "01020304111213141516171821222324313233344142434445464748"},
        {"iw.atomic_request {}",
         "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
         "ffffffffffffffff"},
        {"iw.atomic_request { atomic = 0x01020304, request_id = 0x11121314,"
         " remote_stag = 0x21222324, remote_to = 0x3132333435363738,"
         " add_swap = 0x4142434445464748, add_swap_mask = 0x5152535455565758,"
         " compare = 0x6162636465666768, compare_mask = 0x7172737475767778 }",
         "0102030411121314212223243132333435363738414243444546474851525354555657586162636465666768"
         "7172737475767778"},
        {"iw.atomic_response {}", "000000000000000000000000"},
        {"iw.atomic_response { request_id = 0x01020304, value = 0x1112131415161718 }",
         "010203041112131415161718"},
        {"iw.terminate {}", "00000000"},
        {"iw.terminate { layer = 1, etype = 2, code = 3, m = true, segment_length = 9 }",
         "12038000"},
        {"iw.terminate { layer = 15, etype = 0, code = 255, d = true, reserved = 0x1001,"
         " segment_length = 0x1234 }",
         "f0ff50011234"},
        {"iw.terminate { r = true, layer = 0, etype = 15 }", "0f002000"},
        {"iw.startup { " KEY " }", "6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b00010000"},
        {"iw.startup { " KEY ", flags = 0xc5, revision = 2, pd_length = 0x0102 }",
         "6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6bc5020102"},
        {"iw.enhanced {}", "00000000"},
        {"iw.enhanced { a = true, ird = 1, ord = 2 }", "80010002"},
        {"iw.enhanced { b = true, ird = 0x3fff }", "7fff0000"},
        {"iw.enhanced { c = true, ord = 0x1234 }", "00009234"},
        {"iw.enhanced { d = true }", "00004000"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
        char code[512];

        snprintf(code, sizeof(code), "return hex(%s)", made[i].code);
        primitives_give(&script, code, made[i].octets);
    }
}

/* The greatest value of a field, and the one behind it. */
static void every_field_has_its_bound(void **state)
{
    static const struct {
        const char *function, *field, *most, *beyond;
    } bounds[] = {
        {"ddp", "rsvd", "15", "16"},
        {"ddp", "dv", "3", "4"},
        {"ddp", "rv", "3", "4"},
        {"ddp", "rsv", "3", "4"},
        {"ddp", "opcode", "15", "16"},
        {"ddp", "stag", "4294967295", "4294967296"},
        {"ddp", "invalidate", "4294967295", "4294967296"},
        {"ddp", "qn", "4294967295", "4294967296"},
        {"ddp", "msn", "4294967295", "4294967296"},
        {"ddp", "mo", "4294967295", "4294967296"},
        {"read_request", "sink_stag", "4294967295", "4294967296"},
        {"read_request", "size", "4294967295", "4294967296"},
        {"read_request", "source_stag", "4294967295", "4294967296"},
        {"atomic_request", "atomic", "4294967295", "4294967296"},
        {"atomic_request", "request_id", "4294967295", "4294967296"},
        {"atomic_request", "remote_stag", "4294967295", "4294967296"},
        {"atomic_response", "request_id", "4294967295", "4294967296"},
        {"terminate", "reserved", "8191", "8192"},
        {"terminate", "layer", "15", "16"},
        {"terminate", "etype", "15", "16"},
        {"terminate", "code", "255", "256"},
        {"terminate", "segment_length", "65535", "65536"},
        {"startup", "flags", "255", "256"},
        {"startup", "revision", "255", "256"},
        {"startup", "pd_length", "65535", "65536"},
        {"enhanced", "ird", "16383", "16384"},
        {"enhanced", "ord", "16383", "16384"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
        char code[160], said[160];

        snprintf(code, sizeof(code), "return #iw.%s { " KEY ", %s = %s } > 0", bounds[i].function,
                 bounds[i].field, bounds[i].most);
        primitives_give(&script, code, "true");
        snprintf(code, sizeof(code), "\nreturn iw.%s { " KEY ", %s = %s }", bounds[i].function,
                 bounds[i].field, bounds[i].beyond);
        snprintf(said, sizeof(said), "ERROR case.lua:2: field '%s' is %s, it must be 0 to %s",
                 bounds[i].field, bounds[i].beyond, bounds[i].most);
        primitives_give(&script, code, said);
    }
}

static void a_whole_64_bits_are_taken(void **state)
{
    static const char *const fields[][2] = {
        {"ddp", "t = true, to"},
        {"read_request", "sink_to"},
        {"read_request", "source_to"},
        {"atomic_request", "remote_to"},
        {"atomic_request", "add_swap"},
        {"atomic_request", "add_swap_mask"},
        {"atomic_request", "compare_mask = 0, compare"},
        {"atomic_response", "value"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        char code[160];

        snprintf(code, sizeof(code), "return hex(iw.%s { %s = -1 }):match 'f+'", fields[i][0],
                 fields[i][1]);
        primitives_give(&script, code, "ffffffffffffffff");
    }
}

static void each_takes_a_table(void **state)
{
    static const char *const names[] = {"ddp",     "read_request",    "atomic_request", "terminate",
                                        "startup", "atomic_response", "enhanced"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char code[80], said[120];

        snprintf(code, sizeof(code), "local x = iw.%s(7)", names[i]);
        snprintf(said, sizeof(said),
                 "ERROR case.lua:1: bad argument #1 to '%s' (table expected, got number)",
                 names[i]);
        primitives_give(&script, code, said);
    }
    primitives_give(&script, "return iw.startup { key = 'short' }",
                    "ERROR case.lua:1: the key must have 16 octets, not 5");
    primitives_give(&script, "return iw.startup { key = ('k'):rep(17) }",
                    "ERROR case.lua:1: the key must have 16 octets, not 17");
}

static void texts_and_numbers(void **state)
{
    (void)state;
    primitives_give(&script, "return iw.crc(('\\0'):rep(32))", "2324772522"); /* 8a9136aa */
    primitives_give(&script, "return iw.crc ''", "0");
}

static void octets_have_digits(void **state)
{
    (void)state;
    primitives_give(&script, "return iw.digits '\\0\\x09\\xafz\\xff'", "0009af7aff");
    primitives_give(&script, "return #iw.digits ''", "0");
    primitives_give(&script, "return iw.digits(iw.octets '0009Af7aFF')", "0009af7aff");
    primitives_give(&script, "return iw.octets ' 61 6\\n2\\t\\v\\f\\r'", "ab");
    primitives_give(&script, "return #iw.octets(('00'):rep(70000))", "70000");
    primitives_give(&script, "return #iw.octets ''", "0");
    static const char *const none[] = {
        "6",    "616",   "6g",         "g6",  "/0", "0:",      "@1",      "1G",     "`1",
        "0x61", "61\\0", "\\xe1\\xe1", "61,", "-6", "\\x0e61", "\\x0861", "\\x1061"};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        char code[64];
        snprintf(code, sizeof(code), "return iw.octets '%s'", none[i]);
        primitives_give(&script, code, "nil");
    }
    primitives_give(&script, "return iw.mulpdu(1460)", "1454");
    primitives_give(&script, "return iw.mulpdu(1460, true)", "1442");
    primitives_give(&script, "return iw.term_name(2, 0, 2)", "MPA CRC mismatch");
    primitives_give(&script, "return iw.term_name(1, 1, 0)", "invalid STag");
    primitives_give(&script, "return iw.term_name(1, 2, 1)", "invalid QN");
    primitives_give(&script, "return iw.print_startup(iw.startup { key = 'MPA ID Req Frame' })",
                    "mpa request rev 1 pd 0");
    primitives_give(&script, "return iw.print_segment(iw.ddp { opcode = 3, msn = 1 })",
                    "send L msn 1 mo 0 len 0");
}

/* ---- to tables ---- */

/* A message of these ULPDUs (hexadecimal), each where the one before it has ended. */
static struct iw_item message(const char *const *ulpdus, size_t n)
{
    static uint8_t octets[512];
    static struct iw_item_segment segments[4];
    struct iw_item item = {.kind = IW_ITEM_MESSAGE,
                           .position = 20,
                           .octets = octets,
                           .segments = segments,
                           .n_segments = n};

    for (size_t i = 0; i < n; i++) {
        size_t length = hex_octets(ulpdus[i], octets + item.length, 200);

        segments[i] = (struct iw_item_segment){.offset = item.length,
                                               .length = length,
                                               .position = 20 + item.length,
                                               .crc_good = i == 0};
        item.length += length;
    }
    item.end = 20 + item.length;
    return item;
}

/* Pushes it, and nothing besides; the table is in the global `item` then. */
static void push(const struct iw_item *item)
{
    int top = lua_gettop(script.L);

    iw_script_push_item(script.L, item);
    assert_int_equal(lua_gettop(script.L), top + 1);
    lua_setglobal(script.L, "item");
}

/* Without what is the same in all of them. */
#define FIELDS                                                                                     \
    "for _, field in ipairs { 'text', 'position', 'finish', 'ulpdu', 'segments', 'kind' } do "     \
    "item[field] = nil end return item"

static void shows(const char *ulpdu, const char *fields)
{
    struct iw_item item = message(&ulpdu, 1);

    push(&item);
    primitives_give(&script, FIELDS, fields);
}

static void a_message_of_two_segments(void **state)
{
    static const char *const two[] = {"8140 01020304 0000000000001000 6162",
                                      "c140 01020304 0000000000001002 63"};
    struct iw_item item = message(two, 2);

    (void)state;
    push(&item);
    primitives_give(&script, "return #item.segments", "2");
    primitives_give(&script, "return item.segments[1]",
                    "{crc_good=true dv=1 l=false op=write opcode=0 payload=ab position=20 rsv=0 "
                    "rsvd=0 rv=1 stag=16909060 t=true to=4096 "
                    "ulpdu=x81400102030400000000000010006162}");
    primitives_give(&script, "return item.segments[2].payload .. item.segments[2].position", "c36");
    primitives_give(&script, "return item.segments[2].crc_good", "false");
    primitives_give(&script, "return item.ulpdu", "x81400102030400000000000010006162");
    primitives_give(&script, "return item.kind .. ' ' .. item.position .. ' ' .. item.finish",
                    "message 20 51");
    primitives_give(&script, "return #item.text > 20", "true");
    primitives_give(&script, FIELDS,
                    "{dv=1 l=true op=write opcode=0 payload=abc rsv=0 rsvd=0 rv=1 stag=16909060 "
                    "t=true to=4096}");
}

static void every_opcode_has_its_fields(void **state)
{
    (void)state;
    shows(
        "7e f4 11121314 21222324 31323334 41424344 61",
        "{dv=2 invalidate=286397204 l=true mo=1094861636 msn=825373492 op=send-invalidate opcode=4 "
        "payload=a qn=555885348 rsv=3 rsvd=15 rv=3 t=false}");
    shows("4141 00000000 00000001 00000007 00000000 01020304 1112131415161718 21222324 31323334 "
          "4142434445464748",
          "{dv=1 invalidate=0 l=true mo=0 msn=7 op=read-request opcode=1 "
          "payload=x01020304111213141516171821222324313233344142434445464748 qn=1 rsv=0 rsvd=0 "
          "rv=1 sink_stag=16909060 sink_to=1230066625199609624 size=555885348 "
          "source_stag=825373492 source_to=4702394921427289928 t=false}");
    shows("414a 00000000 00000001 00000001 00000000 00000002 11121314 21222324 3132333435363738 "
          "4142434445464748 5152535455565758 6162636465666768 7172737475767778",
          "{add_swap=4702394921427289928 add_swap_mask=5859837686836516696 atomic=2 "
          "compare=7017280452245743464 compare_mask=8174723217654970232 "
          "dv=1 invalidate=0 l=true mo=0 msn=1 op=atomic-request opcode=10 "
          "payload=x0000000211121314212223243132333435363738414243444546474851525354555657586162"
          "6364656667687172737475767778 qn=1 remote_stag=555885348 remote_to=3544952156018063160 "
          "request_id=286397204 rsv=0 rsvd=0 rv=1 t=false}");
    shows("414b 00000000 00000003 00000001 00000000 01020304 1112131415161718",
          "{dv=1 invalidate=0 l=true mo=0 msn=1 op=atomic-response opcode=11 "
          "payload=x010203041112131415161718 qn=3 request_id=16909060 rsv=0 rsvd=0 rv=1 t=false "
          "value=1230066625199609624}");
    /* The octets of one message in another are only octets. */
    shows("4143 00000000 00000000 00000001 00000000 01020304 1112131415161718 21222324 31323334 "
          "4142434445464748",
          "{dv=1 invalidate=0 l=true mo=0 msn=1 op=send opcode=3 "
          "payload=x01020304111213141516171821222324313233344142434445464748 qn=0 rsv=0 rsvd=0 "
          "rv=1 t=false}");
    /* Too short for their own headers. */
    shows("4141 00000000 00000001 00000001 00000000 61",
          "{dv=1 invalidate=0 l=true mo=0 msn=1 op=read-request opcode=1 payload=a qn=1 rsv=0 "
          "rsvd=0 rv=1 t=false}");
    shows("414a 00000000 00000001 00000001 00000000 61",
          "{dv=1 invalidate=0 l=true mo=0 msn=1 op=atomic-request opcode=10 payload=a qn=1 rsv=0 "
          "rsvd=0 rv=1 t=false}");
    shows("414b 00000000 00000003 00000001 00000000 61",
          "{dv=1 invalidate=0 l=true mo=0 msn=1 op=atomic-response opcode=11 payload=a qn=3 rsv=0 "
          "rsvd=0 rv=1 t=false}");
    shows("4147 00000000 00000002 00000001 00000000 61",
          "{dv=1 invalidate=0 l=true mo=0 msn=1 op=terminate opcode=7 payload=a qn=2 rsv=0 "
          "rsvd=0 rv=1 t=false}");
    /* Too short for a DDP header. */
    shows("4143 0000", "{}");
}

static void a_short_segment_has_no_fields(void **state)
{
    static const char *const three[] = {"0143 00000000 00000000 00000001 00000000 61", "0143",
                                        "4143 00000000 00000000 00000001 00000001 62"};
    struct iw_item item = message(three, 3);

    (void)state;
    push(&item);
    primitives_give(&script, "return item.segments[2]", "{crc_good=false position=39 ulpdu=x0143}");
    primitives_give(&script, "return item.payload", "ab");
}

static void a_terminate_has_what_its_flags_say(void **state)
{
    static const char plain[] = "4147 00000000 00000002 00000001 00000000 12031fff 6162";
    static const char both[] = "4147 00000000 00000002 00000001 00000000 0102e000 0030"
                               "4141 00000000 00000001 00000009 00000000"
                               "01020304 0000000000001000 00000020 05060708 0000000000002000";
    static const char request[] = "4147 00000000 00000002 00000001 00000000 01022000"
                                  "01020304 0000000000001000 00000020 05060708 0000000000002000";
    static const char header[] = "4147 00000000 00000002 00000001 00000000 11004000 0007"
                                 "c140 01020304 0000000000001000";

    (void)state;
    shows(plain, "{code=3 d=false dv=1 etype=2 invalidate=0 l=true layer=1 m=false mo=0 msn=1 "
                 "op=terminate opcode=7 payload=x12031fff6162 qn=2 r=false reserved=8191 rsv=0 "
                 "rsvd=0 rv=1 t=false trailing=2}");
    shows(both,
          "{code=2 d=true dv=1 etype=1 invalidate=0 l=true layer=0 m=true mo=0 msn=1 "
          "op=terminate opcode=7 payload=x0102e00000304141000000000000000100000009000000000102"
          "0304000000000000100000000020050607080000000000002000 qn=2 r=true "
          "request={sink_stag=16909060 sink_to=4096 size=32 source_stag=84281096 "
          "source_to=8192} reserved=0 rsv=0 rsvd=0 rv=1 "
          "segment={dv=1 invalidate=0 l=true mo=0 msn=9 op=read-request opcode=1 qn=1 rsv=0 "
          "rsvd=0 rv=1 t=false} segment_length=48 t=false trailing=0}");
    shows(request, "{code=2 d=false dv=1 etype=1 invalidate=0 l=true layer=0 m=false mo=0 msn=1 "
                   "op=terminate opcode=7 payload=x0102200001020304000000000000100000000020050607"
                   "080000000000002000 qn=2 r=true request={sink_stag=16909060 sink_to=4096 "
                   "size=32 source_stag=84281096 source_to=8192} reserved=0 rsv=0 rsvd=0 rv=1 "
                   "t=false trailing=0}");
    shows(header, "{code=0 d=true dv=1 etype=1 invalidate=0 l=true layer=1 m=false mo=0 msn=1 "
                  "op=terminate opcode=7 payload=x110040000007c14001020304000000000000"
                  "1000 qn=2 r=false reserved=0 rsv=0 rsvd=0 rv=1 segment={dv=1 l=true op=write "
                  "opcode=0 rsv=0 rsvd=0 rv=1 stag=16909060 t=true to=4096} segment_length=7 "
                  "t=false trailing=0}");
}

static void starts(const char *frame, const char *fields)
{
    uint8_t octets[64];
    struct iw_item item = {.kind = IW_ITEM_STARTUP, .octets = octets};

    item.length = hex_octets(frame, octets, sizeof(octets));
    item.end = item.length;
    push(&item);
    primitives_give(&script, "item.text = nil return item", fields);
}

static void a_start_up_frame_has_what_its_flags_say(void **state)
{
    (void)state;
    starts("4d504120494420526571204672616d65 80010002 6162",
           "{crc=false enhanced=false finish=22 flags=128 key=MPA ID Req Frame kind=startup "
           "markers=true pd_length=2 position=0 private=ab rejected=false reserved=0 revision=1 "
           "which=request}");
    starts("4d504120494420526570204672616d65 6f010000",
           "{crc=true enhanced=false finish=20 flags=111 key=MPA ID Rep Frame kind=startup "
           "markers=false pd_length=0 position=0 private= rejected=true reserved=15 revision=1 "
           "which=reply}");
    starts("4d504120494420526570204672616d65 50020005 c0018002 61",
           "{a=true b=true c=true crc=true d=false enhanced=true finish=25 flags=80 ird=1 "
           "key=MPA ID Rep Frame kind=startup markers=false ord=2 pd_length=5 position=0 private=a "
           "rejected=false reserved=0 revision=2 which=reply}");
    starts("4d504120494420526570204672616d65 10020004 3fff7fff",
           "{a=false b=false c=false crc=false d=true enhanced=true finish=24 flags=16 ird=16383 "
           "key=MPA ID Rep Frame kind=startup markers=false ord=16383 pd_length=4 position=0 "
           "private= rejected=false reserved=0 revision=2 which=reply}");
    /* Said to be enhanced, but too short for it. */
    starts("78504120494420526570204672616d65 10020003 3fff7f",
           "{crc=false enhanced=true finish=23 flags=16 key=xPA ID Rep Frame kind=startup "
           "markers=false pd_length=3 position=0 private=x3fff7f rejected=false reserved=0 "
           "revision=2 which=other}");
}

static void ends_have_a_kind_only(void **state)
{
    static const struct {
        enum iw_item_kind kind;
        const char *fields;
    } ends[] = {{IW_ITEM_FIN, "{finish=9 kind=fin position=7 text=fin}"},
                {IW_ITEM_RESET, "{finish=9 kind=reset position=7 text=reset}"},
                {IW_ITEM_LOST, "{finish=9 kind=lost position=7 text=octets that are no FPDU}"}};

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        struct iw_item item = {.kind = ends[i].kind, .position = 7, .end = 9};

        push(&item);
        primitives_give(&script, "return item", ends[i].fields);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(octets_have_digits),
        cmocka_unit_test(every_field_has_its_place),
        cmocka_unit_test(every_field_has_its_bound),
        cmocka_unit_test(a_whole_64_bits_are_taken),
        cmocka_unit_test(each_takes_a_table),
        cmocka_unit_test(texts_and_numbers),
        cmocka_unit_test(a_message_of_two_segments),
        cmocka_unit_test(every_opcode_has_its_fields),
        cmocka_unit_test(a_short_segment_has_no_fields),
        cmocka_unit_test(a_terminate_has_what_its_flags_say),
        cmocka_unit_test(a_start_up_frame_has_what_its_flags_say),
        cmocka_unit_test(ends_have_a_kind_only),
    };

    return cmocka_run_group_tests(tests, open_script, close_script);
}
