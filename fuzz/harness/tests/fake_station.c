/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_station.h"

#include "spy.h"

struct fake_station fake;

void fake_reset(void)
{
    struct fake_station kept = {
        .station = {fake.station[0], fake.station[1]}, .count = fake.count, .edge = {0}};

    fake = kept;
    spy_forget();
}

static size_t number(const struct iw_station *s)
{
    assert_true(s == fake.station[0] || s == fake.station[1]);
    return s == fake.station[1];
}

static void note(const struct iw_station *s, const char *call)
{
    spy_note("%zu %s", number(s), call);
}

/* Ends the note of a call, and calls the hook. */
static void called(struct iw_station *s, const char *call)
{
    spy_note(s->blind ? " blind\n" : "\n");
    if (fake.hook != NULL)
        fake.hook(s, call);
}

static void plain(struct iw_station *s, const char *call)
{
    note(s, call);
    called(s, call);
}

static void with_octets(struct iw_station *s, const char *call, const uint8_t *octets,
                        size_t length)
{
    spy_note(" ");
    spy_note_octets(octets, length);
    called(s, call);
}

void iw_station_start(struct iw_station *s, const char *who, enum iw_mpa_role role)
{
    fake.station[fake.count++] = s;
    s->who = who;
    s->role = role;
    note(s, "is ");
    spy_note("%s, %s\n", who, role == IW_MPA_INITIATOR ? "initiator" : "responder");
}

void iw_station_open(struct iw_station *s, const uint8_t settings[IW_FUZZ_SETTINGS])
{
    note(s, "open ");
    memcpy(s->settings, settings, IW_FUZZ_SETTINGS);
    memset(&s->config, 0, sizeof(s->config));
    s->config.in_place = s->config.mpa.markers = true;
    s->events = 0;
    s->blind = false;
    s->room = SIZE_MAX;
    s->history = 0;
    s->fault = (struct iw_event){.kind = IW_EVENT_NONE};
    memset(&s->memory, 0, sizeof(s->memory));
    spy_note_octets(settings, IW_FUZZ_SETTINGS);
    called(s, "open");
}

void iw_station_peer(struct iw_mpa_startup *peer, const uint8_t settings[IW_FUZZ_SETTINGS],
                     enum iw_mpa_role role)
{
    struct iw_mpa_config config = {.revision = 1, .crc = settings[2] != 0};

    spy_note("peer %s\n", role == IW_MPA_INITIATOR ? "initiator" : "responder");
    assert_int_equal(iw_mpa_startup_init(peer, role, &config, NULL, 0, NULL), 0);
}

void iw_station_create(struct iw_station *s)
{
    note(s, "create");
    spy_note("%s%s%s%s", s->config.mpa.markers ? " markers" : "",
             s->config.early_placement ? " early" : "", s->config.in_place ? " in place" : "",
             s->config.trace != NULL ? " traced" : "");
    called(s, "create");
}

void iw_station_operate(struct iw_station *s, const struct iw_fuzz_operation *op)
{
    note(s, "operation ");
    spy_note("%d %u %u %u %u %u", op->op, op->a, op->b, op->c, op->d, op->e);
    called(s, "operate");
}

void iw_station_input(struct iw_station *s, const uint8_t *octets, size_t length)
{
    note(s, "input");
    with_octets(s, "input", octets, length);
}

int iw_station_input_at(struct iw_station *s, uint64_t pos, const uint8_t *octets, size_t length)
{
    note(s, "input at");
    spy_note(" %llu", (unsigned long long)pos);
    with_octets(s, "input at", octets, length);
    return fake.input_at;
}

void iw_station_input_end(struct iw_station *s, bool reset)
{
    plain(s, reset ? "lost" : "fin");
}

bool iw_station_boundary(const struct iw_station *s)
{
    return !fake.inside[number(s)];
}

uint64_t iw_station_edge(const struct iw_station *s)
{
    return fake.edge[number(s)];
}

void iw_station_settle(struct iw_station *s)
{
    plain(s, "settle");
}

void iw_station_output(struct iw_station *s, size_t most)
{
    static uint8_t octets[1 << 17];
    size_t n = number(s), length = fake.output[n] != NULL ? spy_octets(octets, fake.output[n]) : 0;

    note(s, most == SIZE_MAX ? "output" : "output some");
    called(s, "output");
    if (!fake.endless)
        fake.output[n] = NULL;
    if (length > 0)
        s->out(s->context, octets, length);
    if (fake.ends[n])
        s->out_end(s->context, fake.reset[n]);
    fake.ends[n] = false;
}

void iw_station_time(struct iw_station *s, unsigned milliseconds)
{
    note(s, "time ");
    spy_note("%u", milliseconds);
    called(s, "time");
}

void iw_station_close(struct iw_station *s)
{
    plain(s, "close");
}

void iw_witness_open(struct iw_witness *w, struct iw_station *initiator,
                     struct iw_station *responder)
{
    memset(w, 0, sizeof(*w));
    fake.witness = w;
    spy_note("witness %s %s\n",
             initiator == NULL              ? "-"
             : initiator == fake.station[0] ? "0"
                                            : "1",
             responder == NULL              ? "-"
             : responder == fake.station[0] ? "0"
                                            : "1");
}

void iw_witness_close(struct iw_witness *w)
{
    spy_note("witness closes%s\n", w->diverged ? ", diverged" : "");
}

void iw_witness_input(struct iw_witness *w, enum iw_side side, const uint8_t *octets, size_t length)
{
    spy_note("%c %llu: ", 'A' + (char)side, (unsigned long long)w->pos[side]);
    spy_note_octets(octets, length);
    spy_note("\n");
    w->pos[side] += length;
}

void iw_witness_input_at(struct iw_witness *w, enum iw_side side, uint64_t pos,
                         const uint8_t *octets, size_t length)
{
    (void)w;
    spy_note("%c at %llu: ", 'A' + (char)side, (unsigned long long)pos);
    spy_note_octets(octets, length);
    spy_note("\n");
}

void iw_witness_end(struct iw_witness *w, enum iw_side side, bool reset)
{
    spy_note("%c %llu %s\n", 'A' + (char)side, (unsigned long long)w->pos[side],
             reset ? "reset" : "fin");
}

void iw_witness_agree(struct iw_witness *w, enum iw_side side)
{
    (void)w;
    spy_note("agree %c\n", 'A' + (char)side);
}

static int answer(const char *how, const void *data, size_t length, uint64_t now)
{
    assert_null(data);
    assert_int_equal(length, 0);
    spy_note("%s at %llu\n", how, (unsigned long long)now);
    return IW_OK;
}

int iw_endpoint_accept(struct iw_endpoint *ep, const void *data, size_t length, uint64_t now)
{
    (void)ep;
    return answer("accept", data, length, now);
}

void iw_endpoint_shutdown(struct iw_endpoint *ep, uint64_t now)
{
    (void)ep;
    (void)answer("shutdown", NULL, 0, now);
}
