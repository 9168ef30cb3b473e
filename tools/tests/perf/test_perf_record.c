/* SPDX-License-Identifier: BSD-3-Clause */
/* The captures of iwarp-perf loop --pcap, octet for octet behind the section's header, which names
 * the version. iwarp-lint judges what such captures hold: test_perf_pcap.sh. */
#include "perf_loop.h"

#include "../caught.h"
#include "host/complain.h"
#include "iwarp/capture.h"
#include "iwarp/crc32c.h"

static bool mute; /* connections are counted and nothing is written */
static unsigned connects, writes;
static struct iw_synth_tcp last;

int __real_iw_synth_connect(struct iw_synth *s, const struct iw_synth_tcp *tcp, uint64_t now,
                            struct iw_synth_span *span);
int __wrap_iw_synth_connect(struct iw_synth *s, const struct iw_synth_tcp *tcp, uint64_t now,
                            struct iw_synth_span *span);
struct iw_synth_span __real_iw_synth_data(struct iw_synth *s, int connection, unsigned side,
                                          uint64_t now, const void *data, size_t length);
struct iw_synth_span __wrap_iw_synth_data(struct iw_synth *s, int connection, unsigned side,
                                          uint64_t now, const void *data, size_t length);

int __wrap_iw_synth_connect(struct iw_synth *s, const struct iw_synth_tcp *tcp, uint64_t now,
                            struct iw_synth_span *span)
{
    last = *tcp;
    connects++;
    return mute ? 0 : __real_iw_synth_connect(s, tcp, now, span);
}

struct iw_synth_span __wrap_iw_synth_data(struct iw_synth *s, int connection, unsigned side,
                                          uint64_t now, const void *data, size_t length)
{
    writes++;
    assert_true(length > 0);
    return mute ? (struct iw_synth_span){0, 0}
                : __real_iw_synth_data(s, connection, side, now, data, length);
}

static struct iw_loop_options defaults(void)
{
    return (struct iw_loop_options){.size = 1000,
                                    .total = 4000,
                                    .crc = true,
                                    .mss = 1460,
                                    .connections = 1,
                                    .burst = 1,
                                    .port = 4420};
}

/* The file without its first block, as a CRC32c; its octets in *length. */
static uint32_t sum_of(const char *path, size_t *length)
{
    static uint8_t octets[1 << 20];
    uint32_t header;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t all = fread(octets, 1, sizeof(octets), file);
    assert_true(all > 12 && all < sizeof(octets));
    fclose(file);
    memcpy(&header, octets + 4, sizeof(header));
    assert_true(header < all);
    *length = all - header;
    return iw_crc32c_portable(IW_CRC32C_INIT, octets + header, all - header);
}

static void test_captures(void **state)
{
    static const struct {
        struct iw_loop_options options;
        size_t length;
        uint32_t sum;
        const char *said;
    } cases[] = {
        /* every kind of traffic, with and without CRC and Markers */
        {{.size = 1000,
          .total = 4000,
          .crc = true,
          .mss = 1460,
          .connections = 1,
          .burst = 1,
          .port = 4420},
         5768,
         0xf21ea64d,
         "@: 17 frames, 1 connection\n"},
        {{.size = 1000,
          .total = 4000,
          .crc = true,
          .markers = true,
          .mss = 140,
          .connections = 1,
          .burst = 1,
          .port = 4420},
         10672,
         0x24a0b381,
         "@: 65 frames, 1 connection\n"},
        {{.size = 1000,
          .total = 4000,
          .markers = true,
          .traffic = IW_LOOP_WRITES,
          .mss = 513,
          .connections = 2,
          .burst = 1,
          .port = 1},
         7592,
         0xf30d954d,
         "@: 36 frames, 2 connections\n"},
        {{.size = 70001,
          .total = 210003,
          .traffic = IW_LOOP_SENDS,
          .mss = 1461,
          .connections = 2,
          .burst = 3,
          .port = 65535},
         312320,
         0xa63de79b,
         "@: 312 frames, 2 connections\n"},
        /* FPDUs in segments as they fall */
        {{.size = 3001,
          .total = 12000,
          .crc = true,
          .markers = true,
          .mss = 1460,
          .fpdu = 4095,
          .connections = 1,
          .burst = 1,
          .port = 4420},
         14412,
         0x5291542a,
         "@: 23 frames, 1 connection\n"},
        {{.size = 3000,
          .total = 12000,
          .crc = true,
          .traffic = IW_LOOP_SENDS,
          .mss = 1500,
          .fpdu = 140,
          .connections = 3,
          .burst = 2,
          .port = 4420},
         26168,
         0xf6d3b138,
         "@: 48 frames, 3 connections\n"},
        /* the longest FPDU, of more octets than a ULPDU may have */
        {{.size = 66000,
          .total = 264000,
          .crc = true,
          .mss = 65495,
          .connections = 1,
          .burst = 1,
          .port = 4420},
         266568,
         0x83e8f8d8,
         "@: 25 frames, 1 connection\n"},
        /* segments that are full to the last octet */
        {{.size = 240, .total = 480, .mss = 140, .connections = 1, .burst = 1, .port = 4420},
         2108,
         0xa17175d5,
         "@: 16 frames, 1 connection\n"},
        /* no message of that size fits: one of each connection */
        {{.size = 5, .total = 1, .mss = 140, .connections = 2, .burst = 1, .port = 4420},
         2648,
         0xa1325889,
         "@: 26 frames, 2 connections\n"},
        /* an odd number of messages: the Read that is no Write's pair is left out */
        {{.size = 500,
          .total = 1500,
          .crc = true,
          .mss = 1460,
          .connections = 1,
          .burst = 100,
          .port = 4420},
         3768,
         0xd950d23b,
         "@: 17 frames, 1 connection\n"},
    };
    (void)state;
    mute = false;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[] = "perf-XXXXXX", said[64];
        size_t length;
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
        struct iw_loop_options options = cases[i].options;
        options.path = path;
        catch_from(1);
        int status = iw_record_run(&options);
        const char *text = caught();
        uint32_t sum = sum_of(path, &length);
        unlink(path);
        snprintf(said, sizeof(said), "%s%s", path, cases[i].said + 1);
        assert_int_equal(status, 0);
        assert_string_equal(text, said);
        assert_int_equal(length, cases[i].length);
        assert_int_equal(sum, cases[i].sum);
    }
}

/* Addresses and ports of many connections. */
static void test_many_connections(void **state)
{
    static const struct {
        uint64_t connections;
        unsigned host, port;
        uint32_t isn[2];
    } cases[] = {{1, 1, 10000, {0, 0}},
                 {2, 1, 10001, {2654435761u, 40503}},
                 {50000, 1, 59999, {49999u * 2654435761u, 49999u * 40503}},
                 {50001, 2, 10000, {50000u * 2654435761u, 50000u * 40503}}};
    (void)state;
    mute = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct iw_loop_options options = defaults();
        options.path = "/dev/null";
        options.connections = cases[i].connections;
        options.size = options.total = 1;
        options.mss = 140;
        connects = writes = 0;
        catch_from(1);
        assert_int_equal(iw_record_run(&options), 0);
        (void)caught();
        assert_int_equal(connects, cases[i].connections);
        /* start-up both ways; a Write, a Read Request and its response */
        assert_int_equal(writes, 5 * cases[i].connections);
        assert_int_equal(last.address[0].octets[0], 10);
        assert_int_equal(last.address[0].octets[1], 0);
        assert_int_equal(last.address[0].octets[2], 0);
        assert_int_equal(last.address[0].octets[3], cases[i].host);
        assert_int_equal(last.port[0], cases[i].port);
        assert_int_equal(last.port[1], 4420);
        assert_int_equal(last.isn[0], cases[i].isn[0]);
        assert_int_equal(last.isn[1], cases[i].isn[1]);
    }
}

static void refuse(const struct iw_loop_options *options, int expected, const char *text)
{
    catch_from(2);
    int status = iw_record_run(options);
    assert_string_equal(caught(), text);
    assert_int_equal(status, expected);
}

static void test_failures(void **state)
{
    struct iw_loop_options options = defaults();
    (void)state;
    mute = false;
    options.path = "/nonexistent/x";
    refuse(&options, 73,
           "iwarp-perf: /nonexistent/x: cannot be created: No such file or directory\n");
    /* Nothing more is made up once nothing more is written. */
    options.path = "/dev/full";
    options.total = 1 << 30;
    writes = 0;
    refuse(&options, 73, "iwarp-perf: /dev/full: cannot be written: No space left on device\n");
    assert_true(writes < 1000);
    /* No connection of such segments is made. */
    options.path = "/dev/null";
    options.mss = 65496;
    refuse(&options, 70, "iwarp-perf: /dev/null: out of memory\n");
}

static void record_again(void)
{
    struct iw_loop_options options = defaults();
    options.path = "/dev/null";
    options.connections = 2;
    catch_from(1);
    assert_int_equal(iw_record_run(&options), 0);
    (void)caught();
}

static void test_nothing_is_lost(void **state)
{
    (void)state;
    assert_false(leaks(record_again));
}

int main(void)
{
    iw_complain_as("iwarp-perf");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_captures, catch_no_more),
        cmocka_unit_test_teardown(test_many_connections, catch_no_more),
        cmocka_unit_test_teardown(test_failures, catch_no_more),
        cmocka_unit_test_teardown(test_nothing_is_lost, catch_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
