/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A capture file: reads its frames, decodes them and assigns them to connections. Copying the
 * frames to another file and reading them again must give the same.
 */
#include "oracle/memory_file.h"

#include "iwarp/capture.h"

#include <string.h>

enum { CONNECTIONS = 64 };

struct frames {
    uint64_t count, hash;
    bool known; /* one at least is of a link layer that can be decoded */
};

static void add(struct frames *f, const struct iw_frame *frame)
{
    f->count++;
    f->known |= frame->link != IW_LINK_OTHER;
    iw_fuzz_mix(&f->hash, frame->time);
    iw_fuzz_mix(&f->hash, frame->linktype);
    iw_fuzz_mix(&f->hash, frame->original);
    iw_fuzz_mix(&f->hash, frame->length);
    iw_fuzz_mix_octets(&f->hash, frame->data, frame->length);
}

static int on_segment(void *context, const struct iw_segment *s)
{
    (void)context;
    IW_FUZZ_CHECK(s->direction < 2 && s->connection != NULL, "capture: a segment of nobody");
    if (s->kind == IW_SEGMENT_DATA)
        iw_fuzz_touch(s->data, s->length);
    return 0;
}

static void dropped(void *context, struct iw_capture_connection *c)
{
    (void)context;
    IW_FUZZ_CHECK(c->user == NULL, "capture: a connection of somebody's is dropped");
}

static void decode(const struct iw_frame *frame)
{
    struct iw_packet packet;
    enum iw_decode result = iw_packet_decode(frame, &packet);
    if (result == IW_DECODE_TCP) {
        IW_FUZZ_CHECK(packet.payload >= frame->data &&
                          packet.payload + packet.length <= frame->data + frame->length,
                      "capture: a payload that is not in its frame");
        char text[IW_ENDPOINT_TEXT];
        (void)iw_address_print(text, &packet.source, packet.source_port);
    } else if (result != IW_DECODE_FRAGMENT) {
        IW_FUZZ_CHECK(packet.reason != NULL && packet.offset <= frame->length,
                      "capture: not decoded for no reason");
    }
}

/* Reads all frames of file number `which`, and writes them to the copy (NULL: there is none). */
static struct frames walk(unsigned which, struct iw_pcapng *copy)
{
    struct frames frames = {0};
    char error[IW_CAPTURE_ERROR];
    struct iw_capture *c = iw_capture_open(iw_fuzz_file(which), error);
    if (c == NULL) {
        IW_FUZZ_CHECK(error[0] != '\0' && strchr(error, '\n') == NULL,
                      "capture: no line says why it cannot be opened");
        return frames;
    }
    struct iw_capture_connections *table =
        iw_capture_connections_new(CONNECTIONS, on_segment, NULL);
    struct iw_fragments *fragments = iw_fragments_new();
    IW_FUZZ_CHECK(table != NULL && fragments != NULL, "no memory");
    iw_capture_connections_recycle(table, dropped);
    iw_capture_connections_tell_acks(table);
    struct iw_capture_counts counts = {0};
    int got = 1;
    while (got > 0) {
        error[0] = '\0';
        struct iw_frame batch[IW_CAPTURE_BATCH];
        size_t count;
        got = iw_capture_batch(c, batch, IW_CAPTURE_BATCH, &count, error);
        IW_FUZZ_CHECK(got >= 0 || (error[0] != '\0' && strchr(error, '\n') == NULL),
                      "capture: no line says what is wrong");
        for (size_t i = 0; i < count; i++) {
            add(&frames, &batch[i]);
            decode(&batch[i]);
            if (copy != NULL)
                (void)iw_pcapng_copy(copy, &batch[i], NULL, 0);
        }
        (void)iw_capture_connections_take(table, fragments, batch, count, &counts);
    }
    iw_fragments_free(fragments);
    iw_capture_connections_free(table);
    iw_capture_close(c);
    return frames;
}

static void run(const uint8_t *octets, size_t length)
{
    iw_fuzz_file_set(0, octets, length);
    iw_fuzz_file_set(1, NULL, 0);
    char error[IW_CAPTURE_ERROR];
    struct iw_pcapng *copy = iw_pcapng_create(iw_fuzz_file(1), IW_LINK_OTHER, "fuzz", NULL, error);
    IW_FUZZ_CHECK(copy != NULL, "capture: %s", error);
    struct frames one = walk(0, copy);
    bool written = iw_pcapng_close(copy, error);
    if (!one.known || !written)
        return; /* a file of such link layers alone is not opened */
    struct frames other = walk(1, NULL);
    IW_FUZZ_CHECK(one.count == other.count && one.hash == other.hash,
                  "capture: %llu frames, copied, are %llu frames, or others",
                  (unsigned long long)one.count, (unsigned long long)other.count);
}

const struct iw_fuzz_harness iw_fuzz_harness = {.name = "capture", .most = 1 << 16, .run = run};
