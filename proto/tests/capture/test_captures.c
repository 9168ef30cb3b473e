/* SPDX-License-Identifier: BSD-3-Clause */
/* The golden captures through capture/, stream/ and observer/, against the manifest. */
#include "iwarp/capture.h"
#include "iwarp/observer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#define PCAPS IW_SOURCE_DIR "/pcaps/"

enum { CONNECTIONS = 4, FINDINGS = 8, FPDUS = 64 };

struct finding {
    enum iw_check check;
    enum iw_side side;
    uint64_t pos, frame;
};

struct fpdu_place {
    uint64_t pos;
    uint32_t size;
};

struct watched {
    struct iw_observer *observer;
    const struct iw_capture_connection *connection;
    unsigned initiator; /* its direction in the capture */
    unsigned segments[2][16];
    unsigned messages[2][16];
    unsigned fpdus[2];
    unsigned unchecked, bad; /* FPDUs whose CRC is not in force, or wrong */
    unsigned startups;
    bool ended[2];
    struct fpdu_place place[2][FPDUS]; /* of the first FPDUs */
};

struct walk {
    const json_t *entry;
    struct watched watched[CONNECTIONS];
    size_t connections;
    uint64_t frame;
    struct watched *now;
    struct finding finding[FINDINGS];
    size_t findings;
    /* One octet of connection 0 is changed on the way. */
    bool flip;
    enum iw_side flip_side;
    uint64_t flip_pos;
    uint8_t flip_mask;
};

static void see(void *context, const struct iw_observation *o)
{
    struct walk *w = context;
    struct watched *now = w->now;
    unsigned *fpdus = &now->fpdus[o->side];

    switch (o->kind) {
    case IW_OBSERVED_STARTUP:
        now->startups++;
        break;
    case IW_OBSERVED_SEGMENT:
        if (*fpdus < FPDUS)
            now->place[o->side][*fpdus] = (struct fpdu_place){o->pos, o->fpdu->size};
        ++*fpdus;
        now->segments[o->side][iw_rdmap_op(&o->ddp)]++;
        now->unchecked += !o->fpdu->crc_checked;
        now->bad += o->fpdu->crc_checked && !o->fpdu->crc_good;
        break;
    case IW_OBSERVED_MESSAGE:
        now->messages[o->side][iw_rdmap_op(&o->ddp)]++;
        break;
    case IW_OBSERVED_FIN:
    case IW_OBSERVED_RESET:
        now->ended[o->side] = true;
        break;
    case IW_OBSERVED_GAP:
    case IW_OBSERVED_RESYNC:
        fail_msg("the capture has a gap");
        break;
    case IW_OBSERVED_FINDING:
    case IW_OBSERVED_LOST:
        assert_true(w->findings < FINDINGS);
        w->finding[w->findings++] =
            (struct finding){o->fault.check, o->side, o->fault.pos, w->frame};
        break;
    }
}

static struct watched *watch(struct walk *w, struct iw_capture_connection *c)
{
    struct iw_observer_config config = {
        .crc32c = iw_crc32c_portable, .context = w, .seen = see, .extensions = true};
    const json_t *expected = json_array_get(json_object_get(w->entry, "connections"), c->number);
    const char *initiator = json_string_value(json_object_get(expected, "initiator"));
    char text[IW_ENDPOINT_TEXT];

    assert_true(c->number < CONNECTIONS);
    struct watched *now = &w->watched[c->number];
    w->connections++;
    now->connection = c;
    now->initiator = strcmp(iw_address_print(text, &c->address[0], c->port[0]), initiator) != 0;
    assert_string_equal(
        iw_address_print(text, &c->address[now->initiator], c->port[now->initiator]), initiator);
    now->observer = iw_observer_new(&config);
    assert_non_null(now->observer);
    return now;
}

static int on_segment(void *context, const struct iw_segment *s)
{
    struct walk *w = context;

    if (s->connection->user == NULL)
        s->connection->user = watch(w, s->connection);
    w->now = s->connection->user;
    w->frame = s->frame->number;
    enum iw_side side = s->direction == w->now->initiator ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER;
    if (s->kind == IW_SEGMENT_DATA && s->length > 0) {
        uint8_t *octets = malloc(s->length);
        assert_non_null(octets);
        memcpy(octets, s->data, s->length);
        if (w->flip && s->connection->number == 0 && side == w->flip_side &&
            w->flip_pos - s->pos < s->length)
            octets[w->flip_pos - s->pos] ^= w->flip_mask;
        (void)iw_observer_input(w->now->observer, side, s->pos, octets, s->length);
        free(octets);
    } else if (s->kind == IW_SEGMENT_FIN || s->kind == IW_SEGMENT_RST) {
        iw_observer_end(w->now->observer, side, s->pos, s->kind == IW_SEGMENT_RST);
    }
    return 0;
}

static void walk_file(struct walk *w, const json_t *entry)
{
    char path[512], error[IW_CAPTURE_ERROR];
    const char *file = json_string_value(json_object_get(entry, "file"));
    struct iw_capture_connections *table = iw_capture_connections_new(CONNECTIONS, on_segment, w);

    assert_non_null(file);
    assert_non_null(table);
    w->entry = entry;
    assert_true((size_t)snprintf(path, sizeof(path), PCAPS "%s", file) < sizeof(path));
    if (iw_capture_walk(path, table, NULL, error) != 0)
        fail_msg("%s", error);
    for (size_t i = 0; i < w->connections; i++)
        iw_observer_free(w->watched[i].observer);
    iw_capture_connections_free(table);
}

/* ---- the manifest ---- */

static json_t *load_manifest(void)
{
    json_error_t error;
    json_t *manifest = json_load_file(PCAPS "manifest.json", 0, &error);

    if (manifest == NULL)
        fail_msg("manifest.json:%d: %s", error.line, error.text);
    return manifest;
}

static unsigned opcode_of(const char *name)
{
    static const struct {
        const char *name;
        unsigned opcode;
    } names[] = {{"Write", IW_OP_WRITE},
                 {"Read Request", IW_OP_READ_REQUEST},
                 {"Read Response", IW_OP_READ_RESPONSE},
                 {"Send", IW_OP_SEND},
                 {"Terminate", IW_OP_TERMINATE}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i].name) == 0)
            return names[i].opcode;
    fail_msg("the manifest names the unknown message %s", name);
    return 0;
}

static void compare_counts(const json_t *expected, const unsigned got[16])
{
    unsigned want[16] = {0};
    const char *name;
    const json_t *value;

    assert_true(json_is_object(expected));
    json_object_foreach((json_t *)(uintptr_t)expected, name, value) want[opcode_of(name)] =
        (unsigned)json_integer_value(value);
    for (unsigned op = 0; op < 16; op++)
        assert_int_equal(got[op], want[op]);
}

static void compare_connection(const json_t *expected, const struct watched *got, bool crc)
{
    static const char *const direction[2] = {"I>R", "R>I"};

    assert_int_equal(got->startups, 2);
    assert_true(got->ended[0] || got->ended[1]);
    for (int side = 0; side < 2; side++) {
        const json_t *d = json_object_get(json_object_get(expected, "directions"), direction[side]);
        assert_int_equal(got->fpdus[side], json_integer_value(json_object_get(d, "fpdus")));
        compare_counts(json_object_get(d, "segments"), got->segments[side]);
        compare_counts(json_object_get(d, "messages"), got->messages[side]);
    }
    assert_int_equal(got->bad, 0);
    assert_int_equal(got->unchecked, crc ? 0 : got->fpdus[0] + got->fpdus[1]);
}

/* The observer's name of a finding: as the manifest gives it, or what its kind is most often. */
static const char *check_of(const json_t *finding)
{
    const char *check = json_string_value(json_object_get(finding, "check"));
    const char *kind = json_string_value(json_object_get(finding, "kind"));

    if (check != NULL)
        return check;
    if (strcmp(kind, "header") == 0)
        return iw_check_info(IW_CHECK_MPA_PAD)->name;
    assert_string_equal(kind, "order");
    return iw_check_info(IW_CHECK_MPA_RESPONDER_EARLY)->name;
}

static void compare_findings(const json_t *expected, const struct walk *w)
{
    assert_int_equal(w->findings, json_array_size(expected));
    for (size_t i = 0; i < w->findings; i++) {
        const json_t *f = json_array_get(expected, i);
        const char *dir = json_string_value(json_object_get(f, "dir"));
        assert_string_equal(iw_check_info(w->finding[i].check)->name, check_of(f));
        assert_int_equal(w->finding[i].side, strcmp(dir, "I>R") != 0);
        assert_int_equal(w->finding[i].frame, json_integer_value(json_object_get(f, "frame")));
    }
}

static void test_manifest(void **state)
{
    (void)state;
    json_t *manifest = load_manifest();
    const json_t *captures = json_object_get(manifest, "captures");
    const json_t *entry;
    size_t index;

    assert_true(json_array_size(captures) >= 10);
    json_array_foreach(captures, index, entry)
    {
        const json_t *connections = json_object_get(entry, "connections");
        bool crc = json_is_true(json_object_get(json_object_get(entry, "mpa"), "crc"));
        struct walk *w = calloc(1, sizeof(*w));
        assert_non_null(w);
        walk_file(w, entry);
        assert_int_equal(w->connections, json_array_size(connections));
        for (size_t i = 0; i < w->connections; i++)
            compare_connection(json_array_get(connections, i), &w->watched[i], crc);
        compare_findings(json_object_get(entry, "findings"), w);
        free(w);
    }
    json_decref(manifest);
}

/* ---- flipped octets ---- */

static const json_t *find_entry(const json_t *manifest, const char *file)
{
    const json_t *entry;
    size_t index;

    json_array_foreach(json_object_get(manifest, "captures"), index, entry)
    {
        if (strcmp(json_string_value(json_object_get(entry, "file")), file) == 0)
            return entry;
    }
    fail_msg("the manifest has no %s", file);
    return NULL;
}

static void test_flips(void **state)
{
    (void)state;
    /* The octet of an FPDU, from its beginning, or if negative from its end. */
    static const struct {
        enum iw_side side;
        unsigned fpdu;
        int offset;
        uint8_t mask;
        enum iw_check check;
    } flips[] = {
        {IW_SIDE_INITIATOR, 0, 1, 0x01, IW_CHECK_MPA_CRC},         /* ULPDU_Length */
        {IW_SIDE_INITIATOR, 14, 0, 0x40, IW_CHECK_MPA_FIN_INSIDE}, /* the last one's */
        {IW_SIDE_RESPONDER, 3, 0, 0xff, IW_CHECK_MPA_ULPDU_MAX},
        {IW_SIDE_RESPONDER, 0, 2, 0x40, IW_CHECK_MPA_CRC},  /* L */
        {IW_SIDE_INITIATOR, 3, 3, 0x02, IW_CHECK_MPA_CRC},  /* the opcode */
        {IW_SIDE_RESPONDER, 1, 11, 0x01, IW_CHECK_MPA_CRC}, /* QN */
        {IW_SIDE_INITIATOR, 5, 15, 0x80, IW_CHECK_MPA_CRC}, /* MSN or TO */
        {IW_SIDE_RESPONDER, 4, 20, 0x10, IW_CHECK_MPA_CRC}, /* payload */
        {IW_SIDE_INITIATOR, 7, -1, 0x01, IW_CHECK_MPA_CRC}, /* the CRC itself */
        {IW_SIDE_RESPONDER, 19, -4, 0x80, IW_CHECK_MPA_CRC},
    };
    json_t *manifest = load_manifest();
    const json_t *entry = find_entry(manifest, "siw/siw-rping-64B-crcon.pcap");
    struct walk *clean = calloc(1, sizeof(*clean));
    struct walk *w = calloc(1, sizeof(*w));

    assert_non_null(clean);
    assert_non_null(w);
    walk_file(clean, entry);
    assert_int_equal(clean->findings, 0);
    for (size_t i = 0; i < sizeof(flips) / sizeof(flips[0]); i++) {
        const struct fpdu_place *place = &clean->watched[0].place[flips[i].side][flips[i].fpdu];
        memset(w, 0, sizeof(*w));
        w->flip = true;
        w->flip_side = flips[i].side;
        w->flip_pos = place->pos + (flips[i].offset < 0 ? place->size : 0) +
                      (uint64_t)(int64_t)flips[i].offset;
        w->flip_mask = flips[i].mask;
        walk_file(w, entry);
        /* Nothing else is found, but that the FPDU which is too long is not whole either. */
        assert_int_equal(w->findings, flips[i].check == IW_CHECK_MPA_ULPDU_MAX ? 2 : 1);
        assert_string_equal(iw_check_info(w->finding[0].check)->name,
                            iw_check_info(flips[i].check)->name);
        assert_int_equal(w->finding[0].side, flips[i].side);
        assert_true(w->finding[0].pos >= place->pos);
    }
    free(clean);
    free(w);
    json_decref(manifest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manifest),
        cmocka_unit_test(test_flips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
