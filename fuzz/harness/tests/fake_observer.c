/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_observer.h"

struct fake_observer fake;

void fake_reset(void)
{
    memset(&fake, 0, sizeof(fake));
}

size_t iw_observer_size(void)
{
    return 24;
}

size_t iw_observer_scratch_size(void)
{
    return 32;
}

struct iw_observer *iw_observer_init(void *memory, size_t size,
                                     const struct iw_observer_config *config)
{
    assert_int_equal(size, 24);
    memset(memory, 1, size);
    memset(config->scratch, 1, 32);
    fake.config = *config;
    fake.runs++;
    fake.begun = false;
    spy_note("observer%s%s%s%s", config->told[0] ? " told A" : "", config->told[1] ? " told B" : "",
             config->default_config ? " defaults" : "", config->extensions ? " extensions" : "");
    spy_note(config->emss != 0 ? " emss %u\n" : "\n", config->emss);
    return fake.none ? NULL : memory;
}

static void see(void)
{
    size_t run = fake.runs - 1;

    for (size_t i = 0; i < fake.count[run] && !fake.begun; i++)
        fake.config.seen(fake.config.context, &fake.sees[run][i]);
    fake.begun = true;
}

void iw_observer_drop(struct iw_observer *o)
{
    assert_non_null(o);
    spy_note("drop\n");
    if (fake.block != NULL && !fake.keeps)
        fake.config.give_back(fake.config.context, fake.block, 8);
}

bool iw_observer_joined(const struct iw_observer *o)
{
    assert_non_null(o);
    return fake.joined;
}

static void note(const char *what, enum iw_side side, uint64_t pos, const void *data, size_t length)
{
    spy_note("%c %s%llu: ", side == IW_SIDE_INITIATOR ? 'A' : 'B', what, (unsigned long long)pos);
    spy_note_octets(data, length);
    spy_note("\n");
    see();
}

int iw_observer_input(struct iw_observer *o, enum iw_side side, uint64_t pos, const void *data,
                      size_t length)
{
    assert_non_null(o);
    note("", side, pos, data, length);
    return 0;
}

void iw_observer_told_startup(struct iw_observer *o, enum iw_side side, const void *frame,
                              size_t length)
{
    assert_non_null(o);
    note("frame ", side, 0, frame, length);
}

void iw_observer_told_segment(struct iw_observer *o, enum iw_side side, const void *ulpdu,
                              size_t length, bool broken)
{
    assert_non_null(o);
    note(broken ? "broken " : "segment ", side, 0, ulpdu, length);
}

void iw_observer_told_end(struct iw_observer *o, enum iw_side side, bool reset)
{
    assert_non_null(o);
    note(reset ? "told reset " : "told fin ", side, 0, NULL, 0);
}

void iw_observer_end(struct iw_observer *o, enum iw_side side, uint64_t pos, bool reset)
{
    assert_non_null(o);
    note(reset ? "reset " : "fin ", side, pos, NULL, 0);
}

void iw_observer_gap(struct iw_observer *o, enum iw_side side, uint64_t from, uint64_t to)
{
    assert_non_null(o);
    spy_note("%c gap %llu..%llu\n", side == IW_SIDE_INITIATOR ? 'A' : 'B', (unsigned long long)from,
             (unsigned long long)to);
}

void iw_observer_acked(struct iw_observer *o, enum iw_side side, uint64_t pos)
{
    assert_non_null(o);
    spy_note("%c acked %llu\n", side == IW_SIDE_INITIATOR ? 'A' : 'B', (unsigned long long)pos);
}

void iw_observer_flush(struct iw_observer *o)
{
    assert_non_null(o);
    spy_note("flush\n");
}

void iw_observer_assume(struct iw_observer *o, const struct iw_observer_assumption *a)
{
    assert_non_null(o);
    if (a == NULL)
        spy_note("assume nothing\n");
    else
        spy_note("assume %d %d %d %d\n", a->markers[0], a->markers[1], a->crc, a->consortium);
}
