/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of --trace json, octet for octet: they are a promise (iwarp-peer(1), TRACE). */
#include "host/endpoint_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HALF = 1500000000 /* ns */ };

static void expect(const struct iw_trace *t, const char *line)
{
    char *text = NULL;
    size_t length;
    struct iw_trace trace = *t;
    struct iw_tracer tracer = {.out = open_memstream(&text, &length), .connection = 3};
    assert_non_null(tracer.out);
    if (trace.kind != IW_TRACE_STATE)
        trace.text = "of no meaning here";
    iw_trace_json(&tracer, &trace);
    assert_int_equal(fclose(tracer.out), 0);
    assert_string_equal(text, line);
    free(text);
}

static void startup_frames(void **state)
{
    static const uint8_t request[] = "MPA ID Req Frame\x50\x02\x00\x05\x80\x10\x40\x08\xab";
    static const uint8_t reply[] = "MPA ID Rep Frame\xa0\x01\x00\x00";
    struct iw_trace t = {.kind = IW_TRACE_STARTUP_IN, .now = HALF, .octets = request, .length = 25};
    (void)state;
    expect(&t, "{\"schema\":1,\"time\":1.5,\"connection\":3,\"kind\":\"startup-in\","
               "\"text\":\"mpa request rev 2 C S pd 5 A D ird 16 ord 8 data ab\","
               "\"mpa\":{\"key\":\"request\",\"revision\":2,\"markers\":false,\"crc\":true,"
               "\"rejected\":false,\"enhanced\":true,\"private\":5,\"peer_to_peer\":true,"
               "\"rtr\":4,\"ird\":16,\"ord\":8},"
               "\"octets\":\"4d504120494420526571204672616d655002000580104008ab\"}\n");
    t = (struct iw_trace){.kind = IW_TRACE_STARTUP_OUT, .now = HALF, .octets = reply, .length = 20};
    expect(&t, "{\"schema\":1,\"time\":1.5,\"connection\":3,\"kind\":\"startup-out\","
               "\"text\":\"mpa reply rev 1 M R pd 0\","
               "\"mpa\":{\"key\":\"reply\",\"revision\":1,\"markers\":true,\"crc\":false,"
               "\"rejected\":true,\"enhanced\":false,\"private\":0},"
               "\"octets\":\"4d504120494420526570204672616d65a0010000\"}\n");
    t.length = 7; /* cut short by the peer's FIN */
    expect(&t, "{\"schema\":1,\"time\":1.5,\"connection\":3,\"kind\":\"startup-out\","
               "\"text\":\"short mpa frame of 7 octets\",\"octets\":\"4d504120494420\"}\n");
}

static void fpdus(void **state)
{
    static const uint8_t tagged[] = {0xc1, 0x40, 0x11, 0x22, 0x33, 0x44, 0xff, 0,
                                     0,    0,    0,    0,    0x10, 0,    0xaa};
    static const uint8_t untagged[] = {0x41, 0x46, 0, 0, 0, 0x09, 0, 0, 0,
                                       0,    0,    0, 0, 7, 0,    0, 0, 0};
    struct iw_trace t = {.kind = IW_TRACE_FPDU_IN,
                         .now = HALF,
                         .octets = tagged,
                         .length = 15,
                         .ulpdu_length = 114,
                         .pos = 4096};
    (void)state;
    expect(&t, "{\"schema\":1,\"time\":1.5,\"connection\":3,\"kind\":\"fpdu-in\",\"pos\":4096,"
               "\"length\":114,\"text\":\"write L stag 11223344 to ff00000000001000 len 100\","
               "\"ddp\":{\"opcode\":0,\"tagged\":true,\"last\":true,\"stag\":287454020,"
               "\"to\":\"0xff00000000001000\"},\"octets\":\"c14011223344ff00000000001000aa\"}\n");
    t = (struct iw_trace){.kind = IW_TRACE_FPDU_OUT,
                          .now = HALF,
                          .octets = untagged,
                          .length = 18,
                          .ulpdu_length = 18};
    expect(&t, "{\"schema\":1,\"time\":1.5,\"connection\":3,\"kind\":\"fpdu-out\",\"pos\":0,"
               "\"length\":18,\"text\":\"send-se-invalidate L msn 7 mo 0 invalidate 00000009 "
               "len 0\",\"ddp\":{\"opcode\":6,\"tagged\":false,\"last\":true,\"qn\":0,\"msn\":7,"
               "\"mo\":0,\"invalidate_stag\":9},"
               "\"octets\":\"414600000009000000000000000700000000\"}\n");
    t.kind = IW_TRACE_FPDU_EARLY;
    expect(&t, "{\"schema\":1,\"time\":1.5,\"connection\":3,\"kind\":\"fpdu-early\",\"pos\":0,"
               "\"length\":18,\"text\":\"send-se-invalidate L msn 7 mo 0 invalidate 00000009 "
               "len 0\",\"ddp\":{\"opcode\":6,\"tagged\":false,\"last\":true,\"qn\":0,\"msn\":7,"
               "\"mo\":0,\"invalidate_stag\":9},"
               "\"octets\":\"414600000009000000000000000700000000\"}\n");
    t.kind = IW_TRACE_FPDU_OUT;
    t.length = t.ulpdu_length = 1;
    expect(&t, "{\"schema\":1,\"time\":1.5,\"connection\":3,\"kind\":\"fpdu-out\",\"pos\":0,"
               "\"length\":1,\"text\":\"short segment of 1 octet\",\"octets\":\"41\"}\n");
}

static void faults_and_states(void **state)
{
    struct iw_fault fault = {.check = IW_CHECK_DDP_MSN, .pos = 12, .got = UINT64_MAX, .want = 1};
    struct iw_trace t = {.kind = IW_TRACE_FAULT, .now = HALF, .fault = &fault};
    char line[600];
    (void)state;
    snprintf(line, sizeof(line),
             "{\"schema\":1,\"time\":1.5,\"connection\":3,\"kind\":\"fault\",\"check\":\"ddp-msn\","
             "\"rule\":\"DDP-7.1-09\",\"pos\":12,\"got\":\"0xffffffffffffffff\","
             "\"want\":\"0x1\",\"text\":\"%s\"}\n",
             iw_check_info(IW_CHECK_DDP_MSN)->text);
    expect(&t, line);
    t = (struct iw_trace){.kind = IW_TRACE_STATE, .now = HALF, .text = "peer-closed"};
    expect(&t, "{\"schema\":1,\"time\":1.5,\"connection\":3,\"kind\":\"state\","
               "\"text\":\"peer-closed\"}\n");
}

static void several_processes(void **state)
{
    char *text = NULL;
    size_t length;
    struct iw_trace t = {.kind = IW_TRACE_STATE, .now = HALF, .text = "established"};
    struct iw_tracer tracer = {open_memstream(&text, &length), 0, 77};
    (void)state;
    iw_trace_json(&tracer, &t);
    assert_int_equal(fclose(tracer.out), 0);
    assert_string_equal(text, "{\"schema\":1,\"time\":1.5,\"connection\":0,\"kind\":\"state\","
                              "\"pid\":77,\"text\":\"established\"}\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(startup_frames),
        cmocka_unit_test(fpdus),
        cmocka_unit_test(several_processes),
        cmocka_unit_test(faults_and_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
