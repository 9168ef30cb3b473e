/* SPDX-License-Identifier: BSD-3-Clause */
#include "sequence.h"

#include <stdlib.h>
#include <string.h>

#include "base/result.h"
#include "host/json_values.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "iwarp/mpa.h"
#include "iwarp/octets.h"

/* The octets of one line as they are shown. */
struct view {
    const struct iw_exchange_line *line;
    uint8_t octets[IW_SEQUENCE_OCTETS];
    size_t length; /* of them */
    char *fields;  /* NULL: none yet */
};

static void field(struct view *v, size_t offset, size_t length, const char *name)
{
    if (offset >= v->length || !length)
        return;
    if (length > v->length - offset)
        length = v->length - offset;
    char *more = iw_text_format("%zu+%zu %s", offset, length, name);
    iw_text_join(&v->fields, "|", more);
    free(more);
}

/* ---- start-up frames (RFC 5044 §7.1.1, RFC 6581 §6) ---- */

static void startup_fields(struct view *v)
{
    size_t at = IW_MPA_STARTUP_HEADER;

    field(v, 0, IW_MPA_KEY_LENGTH, "Key");
    field(v, IW_AT_MPA_FLAGS, 1, "Flags: M C R S");
    field(v, IW_AT_MPA_REVISION, 1, "Rev");
    field(v, IW_AT_MPA_PD_LENGTH, 2, "PD_Length");
    if (v->length >= at + IW_MPA_ENHANCED_LENGTH && v->octets[IW_AT_MPA_REVISION] >= 2 &&
        (v->octets[IW_AT_MPA_FLAGS] & IW_MPA_FLAG_S)) {
        field(v, IW_AT_MPA_IRD, 2, "A B IRD");
        field(v, IW_AT_MPA_ORD, 2, "C D ORD");
        at += IW_MPA_ENHANCED_LENGTH;
    }
    field(v, at, v->length, "Private data");
}

/* ---- FPDUs ---- */

/* One FPDU's octets without Markers: to[i] is the place of octet i in the view. */
struct plain {
    uint8_t octets[IW_SEQUENCE_OCTETS];
    uint16_t to[IW_SEQUENCE_OCTETS];
    size_t length;
};

static void plain_field(struct view *v, const struct plain *p, size_t offset, size_t length,
                        const char *name)
{
    size_t end = offset + length;

    if (end > p->length)
        end = p->length;
    while (offset < end) { /* a Marker splits a field */
        size_t run = 1;

        while (offset + run < end && p->to[offset + run] == p->to[offset] + run)
            run++;
        field(v, p->to[offset], run, name);
        offset += run;
    }
}

struct layout {
    uint8_t length;
    const char *name;
};

static size_t lay_out(struct view *v, const struct plain *p, size_t at, size_t end,
                      const struct layout *fields)
{
    for (; fields->name != NULL && at + fields->length <= end; at += fields++->length)
        plain_field(v, p, at, fields->length, fields->name);
    return at;
}

#define CONTROL                                                                                    \
    {1, "DDP control: T L DV"},                                                                    \
    {                                                                                              \
        1, "RDMAP control: RV opcode"                                                              \
    }
static const struct layout tagged_header[] = {CONTROL, {4, "STag"}, {8, "TO"}, {0, NULL}};
static const struct layout untagged_header[] = {
    CONTROL, {4, "Invalidate STag"}, {4, "QN"}, {4, "MSN"}, {4, "MO"}, {0, NULL}};
static const struct layout read_request[] = {{4, "Sink STag"},   {8, "Sink TO"},   {4, "Size"},
                                             {4, "Source STag"}, {8, "Source TO"}, {0, NULL}};
static const struct layout terminate[] = {
    {1, "Layer, error type"}, {1, "Error code"}, {2, "HdrCt"}, {2, "Segment length"}, {0, NULL}};
static const struct layout atomic_request[] = {
    {4, "AOpCode"},      {4, "Request identifier"}, {4, "Remote STag"},
    {8, "Remote TO"},    {8, "Add or swap data"},   {8, "Add or swap mask"},
    {8, "Compare data"}, {8, "Compare mask"},       {0, NULL}};
static const struct layout atomic_response[] = {
    {4, "Original request identifier"}, {8, "Original remote data"}, {0, NULL}};

/* By the opcode of an untagged message. */
static const struct layout *const headers[IW_RDMAP_OPCODE + 1] = {
    [IW_OP_READ_REQUEST] = read_request,
    [IW_OP_TERMINATE] = terminate,
    [IW_OP_ATOMIC_REQUEST] = atomic_request,
    [IW_OP_ATOMIC_RESPONSE] = atomic_response,
};

/* The FPDU at `at` in the view. Returns its end there. */
static size_t fpdu_fields(struct view *v, size_t at)
{
    const struct iw_exchange_line *line = v->line;
    uint64_t begin = line->position + at;
    struct plain p = {.length = 0};
    const uint8_t *ulpdu = p.octets + IW_MPA_LENGTH_FIELD;
    size_t whole = SIZE_MAX;

    for (; at < v->length && p.length < whole; at++) {
        uint64_t here = line->markers ? iw_mpa_position(line->start, begin, p.length) : 0;
        if (here > line->position + at) {
            field(v, at + IW_AT_MARKER_RESERVED, 2, "Marker: reserved");
            field(v, at + IW_AT_MARKER_FPDUPTR, 2, "Marker: FPDUPTR");
            at += IW_MPA_MARKER - 1;
            continue;
        }
        p.to[p.length] = (uint16_t)at;
        p.octets[p.length++] = v->octets[at];
        if (p.length == IW_MPA_LENGTH_FIELD)
            whole = iw_wire_fpdu_size(iw_get16(p.octets));
    }
    if (p.length < IW_MPA_LENGTH_FIELD + IW_AT_STAG)
        return at;
    size_t crc = whole - IW_MPA_CRC_FIELD;
    size_t ulpdu_end = IW_MPA_LENGTH_FIELD + iw_get16(p.octets);
    unsigned opcode = ulpdu[IW_AT_RDMAP_CONTROL] & IW_RDMAP_OPCODE;
    bool tagged = (ulpdu[IW_AT_DDP_CONTROL] & IW_DDP_T) != 0;
    plain_field(v, &p, 0, IW_MPA_LENGTH_FIELD, "ULPDU_Length");
    size_t next =
        lay_out(v, &p, IW_MPA_LENGTH_FIELD, ulpdu_end, tagged ? tagged_header : untagged_header);
    if (!tagged && headers[opcode] != NULL)
        next = lay_out(v, &p, next, ulpdu_end, headers[opcode]);
    plain_field(v, &p, next, ulpdu_end - next,
                !tagged && opcode == IW_OP_TERMINATE ? "Terminated headers" : "Payload");
    plain_field(v, &p, ulpdu_end, crc - ulpdu_end, "Pad");
    plain_field(v, &p, crc, IW_MPA_CRC_FIELD, "CRC");
    return at;
}

/* ---- lines ---- */

static json_t *remarks(const struct iw_exchange *x, const struct iw_exchange_line *line)
{
    json_t *list = iw_got(json_array());
    const struct iw_exchange_remark *r = NULL;

    while ((r = iw_exchange_remark(x, line, r)) != NULL)
        json_array_append_new(list,
                              iw_got(json_pack("[I, o]", (json_int_t)(r->position - line->position),
                                               iw_json_text(r->text))));
    return list;
}

static json_t *line_json(const struct iw_exchange *x, const struct iw_exchange_line *line)
{
    uint64_t length = line->end - line->position;
    struct view v = {.line = line};
    json_t *said = remarks(x, line);
    json_t *object = iw_got(json_pack("{s:i, s:s, s:f, s:o}", "conn", line->connection, "from",
                                      line->from_peer ? "target" : "station", "at",
                                      (double)(long long)((double)line->time / 1e3 + 0.5) / 1e6,
                                      "text", iw_json_text(line->text)));

    if (length)
        v.length = iw_exchange_read(x, line->connection, line->from_peer, line->position, v.octets,
                                    length < sizeof(v.octets) ? (size_t)length : sizeof(v.octets));
    if (line->kind == IW_LINE_STARTUP)
        startup_fields(&v);
    for (size_t at = 0; line->kind == IW_LINE_FPDU && at < v.length;)
        at = fpdu_fields(&v, at);
    if (v.length) {
        json_object_set_new(object, "octets", iw_got(iw_json_hex(v.octets, v.length)));
        json_object_set_new(object, "length", json_integer((json_int_t)length));
    }
    if (v.fields != NULL)
        json_object_set_new(object, "fields", json_string(v.fields));
    free(v.fields);
    if (json_array_size(said))
        json_object_set(object, "remarks", said);
    json_decref(said);
    return object;
}

json_t *iw_sequence_json(const struct iw_exchange *x)
{
    json_t *list = iw_got(json_array());

    for (const struct iw_exchange_line *l = iw_exchange_lines(x); l != NULL; l = l->next)
        json_array_append_new(list, line_json(x, l));
    return list;
}
