/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the octets placed under an STag. They come at any TO and in any order: a sparse file
 * without a name holds them until the beginning of the buffer is known. */
#include "lint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/text.h"

enum { EXTENTS = 65536, ROOM = 2 * EXTENTS, HOLES_LISTED = 16, CHUNK = 65536 };
/* The place of the first octet in the sparse file; others are at most as far from it. */
#define MIDDLE (UINT64_C(1) << 40)

struct extent {
    uint64_t from, to;
};

struct iw_lint_extract {
    const struct iw_lint_options *options;
    FILE *spool;
    bool found;
    uint64_t connection; /* the one it was first placed on */
    enum iw_side owner;
    char address[IW_ENDPOINT_TEXT];
    uint64_t others; /* segments of others */
    uint64_t other_connection;
    enum iw_side other_owner;
    uint64_t base; /* the first TO */
    const char *failed;
    struct extent *extents; /* TOs; once joined: ascending, not touching */
    size_t count;
};

bool iw_lint_extract_begin(struct iw_lint *lint)
{
    FILE *spool = tmpfile();

    if (spool == NULL) {
        iw_complain("a temporary file cannot be created: %s", strerror(errno));
        return false;
    }
    lint->extract = iw_got(calloc(1, sizeof(*lint->extract)));
    lint->extract->options = lint->options;
    lint->extract->spool = spool;
    lint->extract->extents = iw_got(malloc(ROOM * sizeof(struct extent)));
    return true;
}

static int by_from(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/* Sorts the extents, and joins those that touch. Fails if more are left than can be remembered. */
static void join(struct iw_lint_extract *e)
{
    size_t n = 0;

    qsort(e->extents, e->count, sizeof(*e->extents), by_from);
    for (size_t i = 0; i < e->count; i++)
        if (n > 0 && e->extents[i].from <= e->extents[n - 1].to)
            e->extents[n - 1].to = MAX(e->extents[n - 1].to, e->extents[i].to);
        else
            e->extents[n++] = e->extents[i];
    e->count = n;
    if (n > EXTENTS) {
        e->failed = "it is scattered over more pieces than can be remembered";
        e->count = 0;
    }
}

static void cover(struct iw_lint_extract *e, uint64_t from, uint64_t to)
{
    if (e->count > 0 && e->extents[e->count - 1].to == from) {
        e->extents[e->count - 1].to = to;
        return;
    }
    if (e->count == ROOM)
        join(e);
    e->extents[e->count++] = (struct extent){from, to};
}

static bool wanted(const struct iw_lint_extract *e, const struct iw_lint_connection *c,
                   enum iw_side owner)
{
    const struct iw_lint_options *o = e->options;

    return (o->connection < 0 || (uint64_t)o->connection == c->tcp->number) &&
           (o->owner < 0 || o->owner == (int)owner);
}

void iw_lint_extract_segment(struct iw_lint_extract *e, const struct iw_lint_connection *c,
                             const struct iw_observation *o)
{
    enum iw_side owner = iw_observed_other(o->side);
    uint64_t to = o->ddp.to;

    if (o->ddp.stag != e->options->stag || e->failed != NULL || !wanted(e, c, owner) ||
        !o->payload_captured)
        return;
    if (!e->found) {
        e->found = true;
        e->connection = c->tcp->number;
        e->owner = owner;
        iw_lint_address(c, owner, e->address);
        e->base = to;
    } else if (e->connection != c->tcp->number || e->owner != owner) {
        e->others++;
        e->other_connection = c->tcp->number;
        e->other_owner = owner;
        return;
    }
    if (to + o->payload_captured < to || to - e->base + MIDDLE > 2 * MIDDLE)
        e->failed = "its TOs lie more than 2^40 octets apart";
    else if (pwrite(fileno(e->spool), o->payload, o->payload_captured,
                    (off_t)(to - e->base + MIDDLE)) != (ssize_t)o->payload_captured)
        e->failed = "the temporary file cannot be written";
    else
        cover(e, to, to + o->payload_captured);
}

/* Copies the placed octets to their place in the file. */
static bool copy(const struct iw_lint_extract *e, int fd)
{
    uint64_t first = e->extents[0].from;
    static char chunk[CHUNK];
    for (size_t i = 0; i < e->count; i++)
        for (uint64_t at = e->extents[i].from, n; at < e->extents[i].to; at += n) {
            n = MIN(e->extents[i].to - at, CHUNK);
            if (pread(fileno(e->spool), chunk, n, (off_t)(at - e->base + MIDDLE)) != (ssize_t)n ||
                pwrite(fd, chunk, n, (off_t)(at - first)) != (ssize_t)n)
                return false;
        }
    return true;
}

static int write_file(const struct iw_lint_extract *e)
{
    const char *path = e->options->into;
    FILE *file = fopen(path, "we");
    bool good = file != NULL && copy(e, fileno(file));

    if (file != NULL)
        good = !fclose(file) && good;
    if (!good)
        iw_complain("%s: cannot be written: %s", path, strerror(errno));
    return good ? 0 : IW_EXIT_OUTPUT;
}

static void put_text(const struct iw_lint *lint, const struct iw_lint_extract *e, uint64_t octets)
{
    fprintf(lint->out,
            "%s: %" PRIu64 " octet%s of STag 0x%" PRIx64 ", %s %s, connection %" PRIu64
            ", TO 0x%" PRIx64 " to 0x%" PRIx64 "\n",
            e->options->into, octets, iw_text_plural(octets), (uint64_t)e->options->stag,
            iw_side_name(e->owner), e->address, e->connection, e->extents[0].from,
            e->extents[e->count - 1].to - 1);
    for (size_t i = 1; i < e->count && i <= HOLES_LISTED; i++)
        fprintf(lint->out, "%s: never written: TO 0x%" PRIx64 " to 0x%" PRIx64 "\n",
                e->options->into, e->extents[i - 1].to, e->extents[i].from - 1);
    if (e->count > HOLES_LISTED + 1)
        fprintf(lint->out, "%s: never written: %zu more places\n", e->options->into,
                e->count - HOLES_LISTED - 1);
}

static void put_json(const struct iw_lint *lint, const struct iw_lint_extract *e, uint64_t octets)
{
    json_t *holes = json_array();
    char from[IW_LINT_HEX], to[IW_LINT_HEX];
    for (size_t i = 1; i < e->count; i++)
        json_array_append_new(holes, json_pack("{s:s, s:s}", "from",
                                               iw_lint_hex(from, e->extents[i - 1].to), "to",
                                               iw_lint_hex(to, e->extents[i].from - 1)));
    iw_lint_put_json(lint,
                     json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:s, s:o}", "type", "extract",
                               "file", e->options->into, "octets", (json_int_t)octets, "connection",
                               (json_int_t)e->connection, "side", iw_side_name(e->owner), "address",
                               e->address, "from", iw_lint_hex(from, e->extents[0].from), "to",
                               iw_lint_hex(to, e->extents[e->count - 1].to - 1), "holes", holes));
}

/* Writes the file and reports. Returns an exit status. */
static int finish(const struct iw_lint *lint, const struct iw_lint_extract *e)
{
    uint64_t octets = 0;
    int status = write_file(e);

    for (size_t i = 0; i < e->count; i++)
        octets += e->extents[i].to - e->extents[i].from;
    if (status)
        return status;
    if (lint->options->format == IW_LINT_TEXT)
        put_text(lint, e, octets);
    if (iw_lint_wants_json(lint))
        put_json(lint, e, octets);
    return 0;
}

int iw_lint_extract_end(struct iw_lint *lint)
{
    struct iw_lint_extract *e = lint->extract;
    uint64_t stag = (uint64_t)lint->options->stag;
    int status = IW_EXIT_USAGE;

    join(e);
    if (!e->found) {
        iw_complain("--extract 0x%" PRIx64 ": no Write or Read Response to this STag was seen",
                    stag);
    } else if (e->others) {
        iw_complain("--extract 0x%" PRIx64 ": a buffer of the %s of connection %" PRIu64
                    ", and of the %s of connection %" PRIu64 ": expected --connection or --owner",
                    stag, iw_side_name(e->owner), e->connection, iw_side_name(e->other_owner),
                    e->other_connection);
    } else if (e->failed != NULL) {
        iw_complain("--extract 0x%" PRIx64 ": %s", stag, e->failed);
        status = IW_EXIT_TESTER;
    } else {
        status = finish(lint, e);
    }
    fclose(e->spool);
    free(e->extents);
    free(e);
    lint->extract = NULL;
    return status;
}
