/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes seeds from captures: the octets of the side that we play. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "iwarp/capture.h"
#include "iwarp/octets.h"
#include "iwarp/wire.h"
#include "live_plan.h"
#include "seeds.h"
#include "world.h"

enum { CONNECTIONS = 512, STREAM = 16384 /* octets of a side */, FEW_MS = 20 };

/* One side of a connection; octets in order as far as there is no gap. */
struct side {
    uint8_t octets[STREAM];
    size_t length;
    uint64_t next; /* position */
};

struct pair {
    struct pair *next;
    struct side side[2];
    size_t heard_at[64]; /* where in our side's stream the other one has said something */
    size_t n_heard;
    bool gap;
};

struct record {
    struct pair *pairs;
    enum iw_side side; /* ours */
};

static int segment(void *context, const struct iw_segment *s)
{
    struct record *r = context;
    struct pair *p = s->connection->user;

    if (s->kind != IW_SEGMENT_DATA)
        return 0;
    if (p == NULL) {
        p = iw_got(calloc(1, sizeof(*p)));
        p->next = r->pairs;
        r->pairs = s->connection->user = p;
    }
    struct side *side = &p->side[s->direction];
    if (s->pos > side->next || s->missing)
        p->gap = true;
    if (p->gap || s->pos + s->length <= side->next)
        return 0;
    size_t skip = (size_t)(side->next - s->pos);
    size_t length = s->length - skip;
    if (length > STREAM - side->length)
        length = STREAM - side->length;
    memcpy(side->octets + side->length, s->data + skip, length);
    side->length += length;
    side->next = s->pos + s->length;
    if (s->direction != (unsigned)r->side && p->n_heard < 64)
        p->heard_at[p->n_heard++] = p->side[r->side].length;
    return 0;
}

/* Replaces the peer's STags that our side names, the first three of them, by placeholders. */
static void name_places(uint8_t *ulpdu, size_t length, uint32_t *stags, size_t *n)
{
    struct iw_hunt_place p;
    if (!iw_hunt_named(ulpdu, length, &p))
        return;
    bool tagged = ulpdu[IW_AT_DDP_CONTROL] & IW_DDP_T;
    uint32_t stag = IW_HUNT_STAG_ASKED;
    uint64_t to = 0;
    if (!tagged || (ulpdu[IW_AT_RDMAP_CONTROL] & IW_RDMAP_OPCODE) != IW_OP_READ_RESPONSE) {
        size_t k = 0;
        while (k < *n && stags[k] != iw_get32(ulpdu + p.at))
            k++;
        if (k == IW_HUNT_MEMORIES)
            return;
        if (k == *n)
            stags[(*n)++] = iw_get32(ulpdu + p.at);
        stag = IW_HUNT_STAG + (uint32_t)k;
        to = IW_HUNT_TO(k);
    }
    (void)iw_put32(ulpdu + p.at, stag);
    (void)iw_put64(ulpdu + p.to, to);
}

static struct iw_hunt_input *input_of(const struct pair *p, enum iw_side own)
{
    const struct side *side = &p->side[own];
    size_t at = iw_hunt_startup_size(side->octets, side->length), heard = 0, n = 0;
    uint32_t stags[IW_HUNT_MEMORIES] = {0};

    if (!at || !p->side[1 - own].length)
        return NULL;
    struct iw_hunt_input *in = iw_hunt_input_new();
    in->settings[0] = IW_FUZZ_CRC;
    if (iw_hunt_called(own))
        iw_hunt_add_time(in, FEW_MS);
    iw_hunt_add(in, IW_FUZZ_A, side->octets, at);
    while (at < side->length) {
        size_t left = side->length - at, size = left;

        if (heard < p->n_heard && p->heard_at[heard] <= at) {
            iw_hunt_add_time(in, FEW_MS);
            while (heard < p->n_heard && p->heard_at[heard] <= at)
                heard++;
        }
        if (left >= 2)
            size = iw_wire_fpdu_size(iw_get16(side->octets + at));
        if (size > left)
            break; /* cut off */
        uint8_t *fpdu =
            iw_got(malloc(size)); /* NOLINT(clang-analyzer-optin.portability.UnixAPI): not 0 */
        memcpy(fpdu, side->octets + at, size);
        if (iw_hunt_regular(fpdu, size)) {
            size_t length = iw_get16(fpdu);

            name_places(fpdu + 2, length, stags, &n);
            iw_hunt_fpdu(fpdu + 2, length, fpdu);
        }
        iw_hunt_add(in, IW_FUZZ_A, fpdu, size);
        free(fpdu);
        at += size;
    }
    return in;
}

int iw_hunt_seeds_record(struct iw_hunt_seeds *seeds, const char *path, char *error, size_t room)
{
    struct record r = {.side = seeds->side};
    struct iw_capture_connections *table =
        iw_got(iw_capture_connections_new(CONNECTIONS, segment, &r));
    char why[IW_CAPTURE_ERROR];
    int status = iw_capture_walk(path, table, NULL, why);
    if (status < 0)
        snprintf(error, room, "%s", why);
    int taken = 0;
    while (r.pairs != NULL) {
        struct pair *p = r.pairs;
        struct iw_hunt_input *in = status < 0 ? NULL : input_of(p, seeds->side);

        if (in != NULL) {
            iw_hunt_seeds_add(seeds, in);
            taken++;
        }
        r.pairs = p->next;
        free(p);
    }
    iw_capture_connections_free(table);
    if (!status && !taken)
        snprintf(error, room, "%s: no connection begins with a Request that is answered", path);
    return status < 0 || !taken ? -1 : taken;
}
