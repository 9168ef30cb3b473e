/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of the capture: octets that are still missing will never come, so the octets after them
 * are judged. */
#include "iwarp_dissector.h"

/* A finding about one connection. */
struct found {
    struct found *next; /* in the same frame */
    struct iwd_connection *c;
    struct iwd_chunk *chunk;
};

static struct iwd_connection *connections;
static wmem_map_t *found; /* struct found by frame */

/* A capture that has been read to its end. Wireshark does not say so when it dissects one anew. */
struct extent {
    uint32_t frames;
    nstime_t begun, ended;
};

static struct extent now, known;

void iwd_add_connection(struct iwd_connection *c)
{
    c->older = connections;
    connections = c;
}

static void forget(void)
{
    connections = NULL;
    found = NULL;
    now = (struct extent){.frames = 0};
}

static void flush(void)
{
    if (found == NULL)
        found = wmem_map_new(wmem_file_scope(), g_direct_hash, g_direct_equal);
    for (struct iwd_connection *c = connections; c != NULL; c = c->older) {
        struct iwd_chunk *chunk = iwd_follow_flush(c);

        if (chunk == NULL)
            continue;
        struct found *f = wmem_new(wmem_file_scope(), struct found);
        *f = (struct found){wmem_map_lookup(found, GUINT_TO_POINTER(chunk->frame)), c, chunk};
        wmem_map_insert(found, GUINT_TO_POINTER(chunk->frame), f);
    }
    connections = NULL;
}

static void read_to_end(void)
{
    flush();
    known = now;
}

void iwd_frame_followed(const packet_info *pinfo)
{
    if (!now.frames)
        now.begun = pinfo->abs_ts;
    now.frames = pinfo->num;
    now.ended = pinfo->abs_ts;
    if (now.frames == known.frames && !nstime_cmp(&now.begun, &known.begun) &&
        !nstime_cmp(&now.ended, &known.ended))
        flush();
}

void iwd_draw_end(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    const struct found *f =
        found != NULL ? wmem_map_lookup(found, GUINT_TO_POINTER(pinfo->num)) : NULL;

    if (f != NULL)
        proto_item_append_text(proto_tree_add_item(tree, iwd_proto, tvb, 0, 0, ENC_NA),
                               ", understood at the end of the capture only:");
    for (; f != NULL; f = f->next) {
        iwd_shown = f->c;
        iwd_draw_chunk(f->chunk, tvb, pinfo, tree);
    }
}

void iwd_register_end(void)
{
    register_postseq_cleanup_routine(read_to_end);
    register_cleanup_routine(forget);
}
