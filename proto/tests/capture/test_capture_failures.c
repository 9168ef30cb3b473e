/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing captures when allocations and calls fail. */
#include "iwarp/capture.h"
#include "scratch.h"

#include "failing.h"

#include <pcap/pcap.h>
#include <unistd.h>

FAILING(pcap_t *, pcap_create, "pcap_create", NULL, (const char *source, char *reason),
        (source, reason))
FAILING(int, pcap_activate, "pcap_activate", failing.error, (pcap_t * p), (p))
FAILING(int, pcap_setnonblock, "pcap_setnonblock", -1, (pcap_t * p, int on, char *reason),
        (p, on, reason))
FAILING(int, pcap_get_selectable_fd, "pcap_get_selectable_fd", -1, (pcap_t * p), (p))
FAILING(int, pcap_setfilter, "pcap_setfilter", -1, (pcap_t * p, struct bpf_program *program),
        (p, program))
FAILING(int, pcap_dispatch, "pcap_dispatch", failing.error,
        (pcap_t * p, int count, pcap_handler handler, u_char *user), (p, count, handler, user))
FAILING(int, pcap_next_ex, "pcap_next_ex", failing.error,
        (pcap_t * p, struct pcap_pkthdr **header, const u_char **data), (p, header, data))

/* A capture of one connection, or NULL if some allocation failed. */
static struct iw_synth *record(void)
{
    struct iw_synth_tcp tcp = {
        .address = {{.family = 4, .octets = {10, 0, 0, 1}}, {.family = 4, .octets = {10, 0, 0, 2}}},
        .port = {1000, 1001}};
    struct iw_synth_span span;
    struct iw_synth *s = iw_synth_new(100000);
    if (s == NULL)
        return NULL;
    int c = iw_synth_connect(s, &tcp, 1, &span);
    span = iw_synth_data(s, c, 0, 2, "abc", 3);
    if (c < 0 || iw_synth_full(s) || !iw_synth_comment(s, span.last, "here")) {
        iw_synth_free(s);
        return NULL;
    }
    return s;
}

static void every_allocation_of_a_recording_can_fail(void **state)
{
    unsigned n = 0;
    struct iw_synth *s;
    (void)state;
    for (;; n++) {
        let_fail_after(n, "memory", ENOMEM);
        s = record();
        if (!has_failed())
            break;
        assert_null(s);
    }
    assert_non_null(s);
    assert_int_equal(iw_synth_frames(s), 4);
    /* the recording, its connection, room for frames, four frames, the list of comments, a comment
     */
    assert_int_equal(n, 9);
    iw_synth_free(s);
    iw_synth_free(NULL);
}

static void every_allocation_of_a_written_file_can_fail(void **state)
{
    const char *path = scratch_path("failing.pcapng");
    char error[IW_CAPTURE_ERROR], expected[IW_CAPTURE_ERROR];
    unsigned n = 0;
    (void)state;
    struct iw_synth *s = record();
    assert_non_null(s);
    snprintf(expected, sizeof(expected), "%s: out of memory", path);
    for (;; n++) {
        error[0] = '\0';
        let_fail_after(n, "memory", ENOMEM);
        bool good = iw_synth_write(s, path, "test", NULL, error);
        if (!has_failed()) {
            assert_true(good);
            break;
        }
        assert_false(good);
        assert_string_equal(error, expected);
    }
    assert_int_equal(n, 2); /* the writer, its path */
    iw_synth_free(s);
}

/* Without memory for the remark about the limit the file is written all the same. */
static void a_remark_can_fail(void **state)
{
    const char *path = scratch_path("limited.pcapng");
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_synth_tcp tcp = {.address = {{.family = 4}, {.family = 4}}};
    struct iw_synth_span span;
    size_t length;
    (void)state;
    struct iw_synth *s = iw_synth_new(10);
    assert_non_null(s);
    assert_int_equal(iw_synth_connect(s, &tcp, 1, &span), -1);
    assert_true(iw_synth_full(s));
    for (int without = 0; without < 2; without++) {
        if (without)
            let_fail("memory", ENOMEM);
        assert_true(iw_synth_write(s, path, "test", "why", error));
        assert_true(has_failed());
        char *file = scratch_read(path, &length);
        assert_int_equal(length, without ? 40 + 32 + 8 : 40 + 32 + 8 + 68);
        free(file);
    }
    iw_synth_free(s);
}

static void every_allocation_of_a_streamed_file_can_fail(void **state)
{
    const char *path = scratch_path("failing.pcapng");
    char error[IW_CAPTURE_ERROR], expected[IW_CAPTURE_ERROR];
    (void)state;
    snprintf(expected, sizeof(expected), "%s: out of memory", path);
    for (unsigned n = 0; n < 4; n++) { /* the recording, its frame, the writer, its path */
        let_fail_after(n, "memory", ENOMEM);
        assert_null(iw_synth_stream(path, NULL, NULL, error));
        assert_true(has_failed());
        assert_string_equal(error, expected);
    }
}

static void a_streamed_file_can_be_cut_short(void **state)
{
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_synth_tcp tcp = {.address = {{.family = 4}, {.family = 4}}};
    struct iw_synth_span span;
    (void)state;
    struct iw_synth *s = iw_synth_stream(scratch_path("full.pcapng"), NULL, NULL, error);
    assert_non_null(s);
    int c = iw_synth_connect(s, &tcp, 1, &span);
    let_fail("fwrite", ENOSPC);
    (void)iw_synth_data(s, c, 0, 2, "abc", 3);
    assert_true(iw_synth_full(s));
    assert_false(iw_synth_finish(s, error));
    assert_non_null(strstr(error, "No space left on device"));
    iw_synth_free(s);
}

static void writing_can_fail(void **state)
{
    const char *path = scratch_path("full.pcapng");
    char error[IW_CAPTURE_ERROR] = "", expected[IW_CAPTURE_ERROR];
    static const int errors[] = {ENOSPC, 0};
    static const char *const texts[] = {"No space left on device", "Input/output error"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct iw_pcapng *w = iw_pcapng_create(path, IW_LINK_ETHERNET, "test", NULL, error);
        assert_non_null(w);
        let_fail("fwrite", errors[i]);
        struct iw_frame frame = {.data = (const uint8_t *)"abc", .length = 3, .original = 3};
        assert_false(iw_pcapng_frame(w, &frame, NULL, 0));
        assert_false(iw_pcapng_frame(w, &frame, NULL, 0));
        assert_false(iw_pcapng_close(w, error));
        snprintf(expected, sizeof(expected), "%s: cannot be written: %s", path, texts[i]);
        assert_string_equal(error, expected);
    }
}

static int no_segments(void *context, const struct iw_segment *s)
{
    (void)context;
    (void)s;
    return 0;
}

static void every_allocation_of_a_reader_can_fail(void **state)
{
    const char *path = scratch_path("read.pcapng");
    char error[IW_CAPTURE_ERROR] = "", expected[IW_CAPTURE_ERROR];
    (void)state;
    struct iw_synth *s = record();
    assert_non_null(s);
    assert_true(iw_synth_write(s, path, "test", NULL, error));
    iw_synth_free(s);
    snprintf(expected, sizeof(expected), "%s: out of memory", path);
    for (unsigned n = 0; n < 4; n++) { /* the capture, its name, its buffer, its interface */
        let_fail_after(n, "memory", ENOMEM);
        assert_null(iw_capture_open(path, error));
        assert_true(has_failed());
        assert_string_equal(error, expected);
    }
    struct iw_capture_connections *t = iw_capture_connections_new(1, no_segments, NULL);
    let_fail_after(4, "memory", ENOMEM); /* the fragments */
    assert_int_equal(iw_capture_walk(path, t, NULL, error), -1);
    assert_string_equal(error, expected);
    iw_capture_connections_free(t);
    struct iw_capture *c = iw_capture_open(path, error);
    assert_non_null(c);
    let_fail("memory", ENOMEM);
    assert_false(iw_capture_filter(c, "tcp", error));
    assert_string_equal(error, expected);
    iw_capture_close(c);
}

/* A pcap file's only interface, and libpcap for an older one. */
static void every_allocation_of_another_reader_can_fail(void **state)
{
    static uint8_t octets[24] = {0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0};
    char error[IW_CAPTURE_ERROR] = "";
    (void)state;
    octets[20] = 1;
    for (octets[6] = 4; octets[6] >= 2; octets[6] -= 2) {
        let_fail_after(3, "memory", ENOMEM);
        assert_null(iw_capture_open(scratch_file("read.pcap", octets, sizeof(octets)), error));
        assert_non_null(strstr(error, "out of memory"));
    }
}

/* The frames that cannot be added without memory are lost, the others not. */
static void connections_go_on_without_memory(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 6; n++) { /* a wider table, or one more chunk: two allocations */
        struct iw_capture_connections *t = iw_capture_connections_new(600, no_segments, NULL);
        unsigned lost = 0;
        assert_non_null(t);
        let_fail_after(n, "memory", ENOMEM);
        for (uint16_t i = 0; i < 600; i++) {
            const struct iw_frame frame = {.number = i + 1u};
            const struct iw_packet packet = {.source_port = i, .flags = IW_TCP_SYN};
            lost += iw_capture_connections_add(t, &frame, &packet) < 0;
        }
        assert_true(has_failed());
        assert_int_equal(lost, 1);
        assert_int_equal(iw_capture_connections_count(t), 599);
        iw_capture_connections_free(t);
    }
}

static void every_allocation_of_connections_can_fail(void **state)
{
    const struct iw_frame frame = {.number = 1};
    const struct iw_packet packet = {.source = {.family = 4, .octets = {10}},
                                     .destination = {.family = 4, .octets = {11}},
                                     .flags = IW_TCP_SYN};
    unsigned n = 0;
    (void)state;
    for (;; n++) {
        let_fail_after(n, "memory", ENOMEM);
        struct iw_capture_connections *t = iw_capture_connections_new(4, no_segments, NULL);
        if (t != NULL)
            (void)iw_capture_connections_add(t, &frame, &packet);
        bool failed = has_failed();
        size_t count = t == NULL ? 0 : iw_capture_connections_count(t);
        iw_capture_connections_free(t);
        assert_int_equal(count, failed ? 0 : 1);
        if (!failed)
            break;
    }
    assert_int_equal(n, 4); /* the table, its spots, a chunk and its place in the list */
}

static void opening_an_interface_can_fail(void **state)
{
    static const struct {
        const char *call;
        int error;
        const char *text;
    } cases[] = {
        {"pcap_create", 0, "interface lo: cannot capture: "},
        {"pcap_activate", PCAP_ERROR_PERM_DENIED,
         "interface lo: capturing is not permitted: expected root or the capability CAP_NET_RAW"},
        {"pcap_activate", PCAP_ERROR_IFACE_NOT_UP,
         "interface lo: cannot capture: That device is not up"},
        {"pcap_setnonblock", 0, "interface lo: cannot capture: "},
        {"pcap_get_selectable_fd", 0,
         "interface lo: cannot be captured from: its packets cannot be waited for"},
        {"pcap_setfilter", 0, "interface lo: filter \"tcp\": "},
        {"memory", ENOMEM, "interface lo: out of memory"},
    };
    const char *path = scratch_path("live.pcap");
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char error[IW_CAPTURE_ERROR] = "";
        let_fail(cases[i].call, cases[i].error);
        assert_null(iw_live_open("lo", "tcp", path, error));
        if (!has_failed()) {
            assert_non_null(strstr(error, "not permitted"));
            skip();
        }
        assert_string_equal(error, cases[i].text);
    }
    for (unsigned n = 1; n < 3; n++) {
        char error[IW_CAPTURE_ERROR] = "";
        let_fail_after(n, "memory", ENOMEM);
        assert_null(iw_live_open("lo", "tcp", path, error));
        assert_true(has_failed());
        assert_string_equal(error, "interface lo: out of memory");
    }
}

static void reading_an_interface_can_fail(void **state)
{
    char error[IW_CAPTURE_ERROR] = "";
    (void)state;
    struct iw_live *l = iw_live_open("lo", "tcp port 0", scratch_path("live.pcap"), error);
    if (l == NULL) {
        assert_non_null(strstr(error, "not permitted"));
        skip();
    }
    let_fail("pcap_dispatch", PCAP_ERROR_IFACE_NOT_UP);
    assert_int_equal(iw_live_pump(l, error), -1);
    assert_string_equal(error, "interface lo: cannot capture: That device is not up");
    let_fail("pcap_dispatch", PCAP_ERROR_IFACE_NOT_UP);
    assert_false(iw_live_close(l, NULL, error));

    struct iw_frame frame;
    struct iw_capture *c = iw_capture_live("lo", "tcp port 0", error);
    assert_non_null(c);
    error[0] = '\0';
    let_fail("pcap_next_ex", PCAP_ERROR_IFACE_NOT_UP);
    assert_int_equal(iw_capture_next(c, &frame, error), -1);
    assert_string_equal(error, "interface lo: cannot capture: That device is not up");
    let_fail("pcap_next_ex", PCAP_ERROR_BREAK);
    assert_int_equal(iw_capture_next(c, &frame, error), 0);
    let_fail("poll", EINTR);
    assert_int_equal(iw_capture_next(c, &frame, error), IW_CAPTURE_SIGNAL);
    assert_true(has_failed());
    iw_capture_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_a_recording_can_fail),
        cmocka_unit_test(every_allocation_of_a_written_file_can_fail),
        cmocka_unit_test(a_remark_can_fail),
        cmocka_unit_test(every_allocation_of_a_streamed_file_can_fail),
        cmocka_unit_test(a_streamed_file_can_be_cut_short),
        cmocka_unit_test(writing_can_fail),
        cmocka_unit_test(every_allocation_of_a_reader_can_fail),
        cmocka_unit_test(every_allocation_of_another_reader_can_fail),
        cmocka_unit_test(connections_go_on_without_memory),
        cmocka_unit_test(every_allocation_of_connections_can_fail),
        cmocka_unit_test(opening_an_interface_can_fail),
        cmocka_unit_test(reading_an_interface_can_fail),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
