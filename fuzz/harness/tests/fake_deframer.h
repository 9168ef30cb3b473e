/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FAKE_DEFRAMER_H
#define FUZZ_FAKE_DEFRAMER_H

/* A deframer and a framer that do as the test says, and note what they are asked for. */

#include "spy.h"

#include "iwarp/mpa.h"

enum kind { NOTHING, FPDU, FAULT, SHOWN_EARLY };

struct report {
    enum kind kind;
    struct iw_fpdu fpdu;
    struct iw_iov pieces[2];
    struct iw_fault fault;
    unsigned times;  /* besides once, */
    uint64_t stride; /* each this much later */
    uint64_t next;   /* deframer.next before it */
};

static struct {
    struct report reports[3][8]; /* of each run, at its first input */
    int result;                  /* of input, and of what it calls */
    uint64_t next[3], fpdus[3];
    bool stopped[3], misled, open[3]; /* open: ends inside an FPDU */
    uint64_t short_by[3];             /* octets that the edge lacks */
    bool quiet;                       /* inputs are not noted */
    size_t runs;
    bool begun, placed; /* placed: what was shown early last */
    uint64_t edge;
    /* framer */
    uint32_t size;
    struct iw_iov framed[2];
    int pieces;
} fake;

static inline uint8_t octet_at(uint64_t pos)
{
    return (uint8_t)(pos * 7 + pos / 256);
}

void iw_deframer_init(struct iw_deframer *d, const struct iw_deframer_sink *sink, bool markers,
                      bool crc, iw_crc32c_fn crc32c, uint64_t start, void *buffer, size_t size)
{
    assert_int_equal(start, 0);
    assert_int_equal(size, IW_DEFRAMER_BUFFER);
    memset(buffer, 1, size);
    memset(d, 0, sizeof(*d));
    d->sink = sink;
    d->markers = markers;
    d->crc = crc;
    d->crc32c = crc32c;
    fake.runs++;
    fake.begun = false;
    fake.edge = 0;
}

static void make(struct iw_deframer *d, struct report *r)
{
    int got = 0;

    r->fpdu.ulpdu = r->pieces;
    d->next = r->next;
    if (r->kind == FPDU)
        got = d->sink->fpdu(d->sink->context, &r->fpdu);
    else if (r->kind == FAULT)
        got = d->sink->check(d->sink->context, &r->fault);
    else if (d->sink->early != NULL)
        r->fpdu.placed_early = d->sink->early(d->sink->context, &r->fpdu);
    if (r->times == 0)
        spy_note("gives %d\n", r->kind == SHOWN_EARLY ? r->fpdu.placed_early : got);
    if (r->kind == SHOWN_EARLY)
        fake.placed = r->fpdu.placed_early;
    r->fpdu.placed_early = r->fpdu.placed_early && r->kind != SHOWN_EARLY;
    r->fpdu.pos += r->stride;
}

int iw_deframer_input(struct iw_deframer *d, uint64_t pos, const struct iw_iov *data, size_t pieces)
{
    size_t run = fake.runs - 1;

    if (!fake.begun)
        spy_note("run %zu%s%s%s%s%s\n", run, d->markers ? " markers" : "", d->crc ? " crc" : "",
                 d->sink->early != NULL ? " early" : "", d->always_crc ? " always" : "",
                 d->aligned ? " aligned" : "");
    if (!fake.quiet)
        spy_note("%llu:", (unsigned long long)pos);
    for (size_t i = 0; i < pieces; i++) {
        if (!fake.quiet)
            spy_note(" %zu", data[i].length);
        for (size_t k = 0; k < data[i].length; k++)
            assert_int_equal(((const uint8_t *)data[i].base)[k], octet_at(pos++));
    }
    if (!fake.quiet)
        spy_note("\n");
    if (pos > fake.edge)
        fake.edge = pos;
    d->misled = fake.misled;
    for (struct report *r = fake.reports[run]; r->kind != NOTHING && !fake.begun; r++)
        for (unsigned i = 0; i <= r->times; i++)
            make(d, r);
    fake.begun = true;
    d->next = fake.next[run];
    d->fpdus = fake.fpdus[run];
    d->stopped = fake.stopped[run];
    return fake.result;
}

uint64_t iw_deframer_edge(struct iw_deframer *d)
{
    (void)d;
    return fake.edge - fake.short_by[fake.runs - 1];
}

bool iw_deframer_end(const struct iw_deframer *d, uint64_t pos)
{
    (void)d;
    assert_int_equal(pos, fake.edge);
    return !fake.open[fake.runs - 1];
}

void iw_framer_init(struct iw_framer *f, bool markers, bool crc, iw_crc32c_fn crc32c,
                    const struct iw_switches *switches)
{
    memset(f, 0, sizeof(*f));
    assert_non_null(crc32c);
    assert_null(switches);
    spy_note("framer%s%s", markers ? " markers" : "", crc ? " crc" : "");
}

uint32_t iw_framer_size(const struct iw_framer *f, uint32_t ulpdu)
{
    spy_note(" at %llu of %u\n", (unsigned long long)f->pos, ulpdu);
    return fake.size;
}

int iw_framer_frame(struct iw_framer *f, const struct iw_iov *ulpdu, size_t pieces,
                    struct iw_iov *out, size_t room, uint8_t *scratch)
{
    (void)f;
    assert_int_equal(pieces, 1);
    assert_true(room >= IW_FRAMER_PIECES(1, 65535));
    assert_non_null(scratch);
    spy_note("frames ");
    spy_note_octets(ulpdu->base, ulpdu->length);
    spy_note("\n");
    memcpy(out, fake.framed, sizeof(fake.framed));
    return fake.pieces;
}

#endif
