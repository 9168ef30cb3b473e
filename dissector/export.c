/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File, Export Objects: the octets that Writes and Read Responses placed under one STag form an
 * object. */
#include "iwarp_dissector.h"

#include <epan/export_object.h>
#include <epan/tap.h>

/* Maximum octets between the lowest and the highest TO; octets farther away are left out. */
enum { SPAN = 64 * 1024 * 1024 };

static int tap;

struct placed {
    const struct iwd_thing *thing;
    uint64_t to;
    const uint8_t *octets;
    uint32_t length;
    uint32_t stream;
};

struct region {
    export_object_entry_t *entry; /* the list's */
    uint64_t low;                 /* TO of its first octet */
    size_t room;
};

/* Maps struct iwd_stag to struct region while a list is being made. */
static GHashTable *regions;

static void reset(void)
{
    g_clear_pointer(&regions, g_hash_table_destroy);
}

static struct region *begin(export_object_list_t *list, const struct placed *p, uint32_t frame)
{
    struct region *r = g_new0(struct region, 1);
    const char *owner = iw_side_name(iw_observed_other((enum iw_side)p->thing->side));

    r->entry = g_new0(export_object_entry_t, 1);
    r->entry->pkt_num = frame;
    r->entry->hostname = g_strdup_printf("TCP stream %u", p->stream);
    r->entry->content_type = g_strdup_printf("memory of the %s", owner);
    r->entry->filename = g_strdup_printf("stream-%u-%s-stag-0x%08x-frame-%u", p->stream, owner,
                                         p->thing->stag->stag, frame);
    r->low = p->to;
    g_hash_table_insert(regions, p->thing->stag, r);
    list->add_entry(list->gui_data, r->entry);
    return r;
}

/* Extends the region to include [from, to). Returns false if that is too far away. */
static bool widen(struct region *r, uint64_t from, uint64_t to)
{
    export_object_entry_t *e = r->entry;
    uint64_t low = MIN(r->low, from), high = MAX(r->low + e->payload_len, to);
    size_t shift = (size_t)(r->low - low), length = (size_t)(high - low);

    if (high - low > SPAN)
        return false;
    if (length > r->room) {
        r->room = MIN(MAX(length, 2 * r->room), SPAN);
        e->payload_data = g_realloc(e->payload_data, r->room);
    }
    if (shift) {
        memmove(e->payload_data + shift, e->payload_data, e->payload_len);
        memset(e->payload_data, 0, shift);
    }
    memset(e->payload_data + shift + e->payload_len, 0, length - shift - e->payload_len);
    e->payload_len = length;
    r->low = low;
    return true;
}

static tap_packet_status place(void *data, packet_info *pinfo, epan_dissect_t *edt _U_,
                               const void *tapped, tap_flags_t flags _U_)
{
    const struct placed *p = tapped;

    if (regions == NULL)
        regions = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    struct region *r = g_hash_table_lookup(regions, p->thing->stag);
    if (r == NULL)
        r = begin(data, p, pinfo->num);
    if (p->to + p->length < p->to || !widen(r, p->to, p->to + p->length))
        return TAP_PACKET_DONT_REDRAW;
    memcpy(r->entry->payload_data + (p->to - r->low), p->octets, p->length);
    return TAP_PACKET_REDRAW;
}

void iwd_tap_placed(const struct iwd_thing *t, const struct iw_ddp_header *h, tvbuff_t *tvb,
                    packet_info *pinfo)
{
    uint32_t length = tvb_captured_length(tvb);

    if (!have_tap_listener(tap) || t->stag == NULL || !length ||
        !iw_rdmap_is_tagged(iw_rdmap_op(h)))
        return;
    struct placed *p = wmem_new(pinfo->pool, struct placed);
    *p = (struct placed){.thing = t,
                         .to = h->to,
                         .octets = tvb_get_ptr(tvb, 0, (int)length),
                         .length = length,
                         .stream = iwd_stream_of(pinfo)};
    tap_queue_packet(tap, pinfo, p);
}

void iwd_register_export(int proto)
{
    tap = register_export_object(proto, place, reset);
}
