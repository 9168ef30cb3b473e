/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of capture files: what it asks for, and what it notices. */
#include "spy.h"

#include <stdio.h>

#include "iwarp/capture.h"
#include "oracle/memory_file.h"

/* ---- a reader, a table and a writer that do as the test says ---- */

static struct {
    const char *refused[2]; /* why a file cannot be opened; NULL: it can */
    struct iw_frame frames[2][4];
    size_t count[2]; /* frames of each file, two in a batch */
    int last[2];     /* result at the end */
    const char *wrong;
    size_t at, file;
    bool no_table, no_fragments, no_copy, not_written;
    enum iw_decode decoded;
    struct iw_packet packet;
    struct iw_segment segment;
    struct iw_capture_connection *dropped;
    iw_segment_fn *seen;
    iw_dropped_fn *drop;
    void *context;
} fake;

static char some[3]; /* objects of no content */

struct iw_capture *iw_capture_open(const char *path, char error[IW_CAPTURE_ERROR])
{
    fake.file = strcmp(path, iw_fuzz_file(1)) == 0;
    fake.at = 0;
    spy_note("open %zu\n", fake.file);
    if (fake.refused[fake.file] != NULL)
        snprintf(error, IW_CAPTURE_ERROR, "%s", fake.refused[fake.file]);
    return fake.refused[fake.file] != NULL ? NULL : (struct iw_capture *)&some[0];
}

int iw_capture_batch(struct iw_capture *c, struct iw_frame *frames, size_t room, size_t *count,
                     char error[IW_CAPTURE_ERROR])
{
    assert_non_null(c);
    assert_true(room >= 2);
    size_t left = fake.count[fake.file] - fake.at;
    *count = left < 2 ? left : 2;
    memcpy(frames, fake.frames[fake.file] + fake.at, *count * sizeof(*frames));
    fake.at += *count;
    if (fake.at < fake.count[fake.file])
        return 1;
    assert_string_equal(error, "");
    if (fake.wrong != NULL)
        snprintf(error, IW_CAPTURE_ERROR, "%s", fake.wrong);
    return fake.last[fake.file];
}

void iw_capture_close(struct iw_capture *c)
{
    assert_non_null(c);
    spy_note("close\n");
}

enum iw_decode iw_packet_decode(const struct iw_frame *frame, struct iw_packet *packet)
{
    spy_note("decode %llu\n", (unsigned long long)frame->number);
    *packet = fake.packet;
    return fake.decoded;
}

char *iw_address_print(char *text, const struct iw_address *address, uint16_t port)
{
    (void)text;
    (void)address;
    spy_note("print %u\n", port);
    return NULL;
}

struct iw_capture_connections *iw_capture_connections_new(size_t limit, iw_segment_fn *seen,
                                                          void *context)
{
    spy_note("table of %zu\n", limit);
    fake.seen = seen;
    fake.context = context;
    return fake.no_table ? NULL : (struct iw_capture_connections *)&some[1];
}

void iw_capture_connections_recycle(struct iw_capture_connections *t, iw_dropped_fn *dropped)
{
    assert_non_null(t);
    spy_note("recycle\n");
    fake.drop = dropped;
}

void iw_capture_connections_tell_acks(struct iw_capture_connections *t)
{
    assert_non_null(t);
    spy_note("acks\n");
}

int iw_capture_connections_take(struct iw_capture_connections *t, struct iw_fragments *f,
                                const struct iw_frame *frames, size_t count,
                                struct iw_capture_counts *counts)
{
    assert_non_null(t);
    assert_non_null(f);
    assert_non_null(frames);
    assert_non_null(counts);
    spy_note("take %zu\n", count);
    if (fake.segment.kind != 0 || fake.segment.connection != NULL)
        assert_int_equal(fake.seen(fake.context, &fake.segment), 0);
    if (fake.dropped != NULL)
        fake.drop(fake.context, fake.dropped);
    return 0;
}

void iw_capture_connections_free(struct iw_capture_connections *t)
{
    assert_non_null(t);
    spy_note("free table\n");
}

struct iw_fragments *iw_fragments_new(void)
{
    return fake.no_fragments ? NULL : (struct iw_fragments *)&some[2];
}

void iw_fragments_free(struct iw_fragments *f)
{
    assert_non_null(f);
    spy_note("free fragments\n");
}

struct iw_pcapng *iw_pcapng_create(const char *path, enum iw_link link, const char *application,
                                   const char *comment, char error[IW_CAPTURE_ERROR])
{
    assert_string_equal(path, iw_fuzz_file(1));
    assert_int_equal(link, IW_LINK_OTHER);
    assert_string_equal(application, "fuzz");
    assert_null(comment);
    snprintf(error, IW_CAPTURE_ERROR, "no copy");
    return fake.no_copy ? NULL : (struct iw_pcapng *)&some[0];
}

bool iw_pcapng_copy(struct iw_pcapng *w, const struct iw_frame *frame, const char *const *comments,
                    size_t count)
{
    assert_non_null(w);
    assert_null(comments);
    assert_int_equal(count, 0);
    spy_note("copy %llu\n", (unsigned long long)frame->number);
    return true;
}

bool iw_pcapng_close(struct iw_pcapng *w, char error[IW_CAPTURE_ERROR])
{
    assert_non_null(w);
    assert_non_null(error);
    spy_note("written\n");
    return !fake.not_written;
}

/* ---- tests ---- */

static const uint8_t around[21] = "+frames of this", *const data = around + 1;

/* Three frames in either file. */
static void again(void)
{
    memset(&fake, 0, sizeof(fake));
    for (size_t file = 0; file < 2; file++) {
        fake.count[file] = 3;
        for (size_t i = 0; i < 3; i++)
            fake.frames[file][i] = (struct iw_frame){.number = i,
                                                     .time = 5 + i,
                                                     .link = i == 1 ? 0 : IW_LINK_OTHER,
                                                     .linktype = 1,
                                                     .data = data,
                                                     .length = 10,
                                                     .original = 12};
    }
    assert_int_not_equal(IW_LINK_OTHER, 0);
    fake.decoded = IW_DECODE_FRAGMENT;
}

#define RUNS(said, notes) spy_run(&iw_fuzz_harness, "616263", said, notes)
#define SAYS(said) assert_string_equal(spy_runs(&iw_fuzz_harness, "616263"), said)

static void frames_are_read_twice(void **state)
{
    char content[4] = "";

    (void)state;
    again();
    iw_fuzz_file_set(1, (const uint8_t *)"old", 3);
    RUNS("", "open 0\n"
             "table of 64\n"
             "recycle\n"
             "acks\n"
             "decode 0\n"
             "copy 0\n"
             "decode 1\n"
             "copy 1\n"
             "take 2\n"
             "decode 2\n"
             "copy 2\n"
             "take 1\n"
             "free fragments\n"
             "free table\n"
             "close\n"
             "written\n"
             "open 1\n"
             "table of 64\n"
             "recycle\n"
             "acks\n"
             "decode 0\n"
             "decode 1\n"
             "take 2\n"
             "decode 2\n"
             "take 1\n"
             "free fragments\n"
             "free table\n"
             "close\n");
    FILE *file = fopen(iw_fuzz_file(0), "rb");
    assert_non_null(file);
    assert_int_equal(fread(content, 1, 4, file), 3);
    fclose(file);
    assert_string_equal(content, "abc");
    file = fopen(iw_fuzz_file(1), "rb");
    assert_non_null(file);
    assert_int_equal(fread(content, 1, 4, file), 0);
    fclose(file);
    fake.not_written = true;
    RUNS("", "open 0\n"
             "table of 64\n"
             "recycle\n"
             "acks\n"
             "decode 0\n"
             "copy 0\n"
             "decode 1\n"
             "copy 1\n"
             "take 2\n"
             "decode 2\n"
             "copy 2\n"
             "take 1\n"
             "free fragments\n"
             "free table\n"
             "close\n"
             "written\n");
    again(); /* no link layer of them can be decoded */
    fake.frames[0][1].link = IW_LINK_OTHER;
    SAYS("");
    assert_null(strstr(spy_notes(), "open 1"));
    fake.no_copy = true;
    SAYS("capture: no copy");
}

static void copies_must_be_the_same(void **state)
{
    (void)state;
    for (size_t file = 0; file < 2; file++)
        for (int what = 0; what < 7; what++) {
            static const uint8_t other[20] = "frames of thaw";
            struct iw_frame *f;
            again();
            f = &fake.frames[file][2];
            if (what == 0)
                f->time++;
            if (what == 1)
                f->linktype++;
            if (what == 2)
                f->original++;
            if (what == 3)
                f->length++;
            if (what == 4)
                f->length = 14;
            if (what == 4)
                fake.frames[1 - file][2].length = 14;
            if (what == 4)
                f->data = other;
            if (what == 6)
                f->number = 77; /* this may differ */
            SAYS(what < 5 ? "capture: 3 frames, copied, are 3 frames, or others" : "");
        }
    again();
    fake.count[1] = 2;
    SAYS("capture: 3 frames, copied, are 2 frames, or others");
    again(); /* not a frame, and the same sum */
    fake.count[0] = fake.count[1] = 1;
    fake.frames[0][0].link = 0;
    SAYS("");
}

static void refusals_have_one_line(void **state)
{
    static const char none[] = "capture: no line says why it cannot be opened";

    (void)state;
    again();
    fake.refused[0] = "no capture";
    SAYS("");
    fake.refused[0] = "";
    SAYS(none);
    fake.refused[0] = "two\nlines";
    SAYS(none);
    again();
    fake.refused[1] = "no capture";
    SAYS("capture: 3 frames, copied, are 0 frames, or others");
}

static void errors_have_one_line(void **state)
{
    static const char none[] = "capture: no line says what is wrong";

    (void)state;
    again();
    fake.last[0] = fake.last[1] = -1;
    fake.wrong = "cut short";
    SAYS("");
    fake.wrong = NULL;
    SAYS(none);
    fake.wrong = "two\nlines";
    SAYS(none);
    fake.last[0] = fake.last[1] = 0; /* nothing is wrong */
    SAYS("");
}

static void memory_is_needed(void **state)
{
    (void)state;
    again();
    fake.no_table = true;
    SAYS("no memory");
    again();
    fake.no_fragments = true;
    SAYS("no memory");
}

static void payloads_lie_in_their_frames(void **state)
{
    static const char outside[] = "capture: a payload that is not in its frame";

    (void)state;
    again();
    fake.decoded = IW_DECODE_TCP;
    fake.packet = (struct iw_packet){.source_port = 7, .payload = data + 4, .length = 6};
    SAYS("");
    assert_non_null(strstr(spy_notes(), "decode 1\nprint 7\n"));
    fake.packet.length = 7;
    SAYS(outside);
    fake.packet.length = 0;
    fake.packet.payload = data;
    SAYS("");
    fake.packet.payload = around;
    SAYS(outside);
}

static void what_is_not_decoded_has_a_reason(void **state)
{
    static const char none[] = "capture: not decoded for no reason";

    (void)state;
    for (int decoded = IW_DECODE_NOT_IP; decoded <= IW_DECODE_BAD; decoded++) {
        bool fragment = decoded == IW_DECODE_FRAGMENT;
        again();
        fake.decoded = (enum iw_decode)decoded;
        fake.packet.reason = "so";
        fake.packet.offset = 10;
        SAYS("");
        fake.packet.offset = 11;
        SAYS(fragment ? "" : none);
        fake.packet.offset = 0;
        fake.packet.reason = NULL;
        SAYS(fragment ? "" : none);
    }
}

static void segments_are_of_somebody(void **state)
{
    static const char nobody[] = "capture: a segment of nobody";
    static struct iw_capture_connection connection;

    (void)state;
    again();
    fake.segment = (struct iw_segment){.kind = IW_SEGMENT_DATA,
                                       .connection = &connection,
                                       .direction = 1,
                                       .data = data,
                                       .length = 3};
    SAYS("");
    assert_non_null(strstr(spy_notes(), "take 2\ntouched 3: 667261\n"));
    fake.segment.direction = 2;
    SAYS(nobody);
    fake.segment.direction = 0;
    fake.segment.kind = IW_SEGMENT_ACK;
    SAYS("");
    assert_null(strstr(spy_notes(), "touched"));
    fake.segment.connection = NULL;
    SAYS(nobody);
    again();
    fake.dropped = &connection;
    SAYS("");
    connection.user = some;
    SAYS("capture: a connection of somebody's is dropped");
    connection.user = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_read_twice),
        cmocka_unit_test(copies_must_be_the_same),
        cmocka_unit_test(refusals_have_one_line),
        cmocka_unit_test(errors_have_one_line),
        cmocka_unit_test(memory_is_needed),
        cmocka_unit_test(payloads_lie_in_their_frames),
        cmocka_unit_test(what_is_not_decoded_has_a_reason),
        cmocka_unit_test(segments_are_of_somebody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
