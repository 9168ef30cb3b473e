/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "iwarp/wire.h"

/* Offsets in the Read Request header (RFC 5040 §4.4). */
enum {
    SINK_STAG = 0,
    SINK_TO = 4,
    SIZE = 12,
    SOURCE_STAG = 16,
    SOURCE_TO = 20,
};

/* Offsets in the Atomic Request (RFC 7306 §5.2.1) and the Atomic Response header (§5.2.2). */
enum {
    ATOMIC_OPCODE = 0,
    ATOMIC_REQUEST_ID = 4,
    ATOMIC_STAG = 8,
    ATOMIC_TO = 12,
    ADD_SWAP_DATA = 20,
    ADD_SWAP_MASK = 28,
    COMPARE_DATA = 36,
    COMPARE_MASK = 44,
    RESPONSE_REQUEST_ID = 0,
    RESPONSE_VALUE = 4,
};

int iw_wire_get_read_request(const uint8_t *octets, size_t length,
                             struct iw_rdmap_read_request *out)
{
    if (length < IW_RDMAP_READ_REQUEST)
        return IW_WIRE_SHORT;
    out->sink_stag = iw_get32(octets + SINK_STAG);
    out->sink_to = iw_get64(octets + SINK_TO);
    out->size = iw_get32(octets + SIZE);
    out->source_stag = iw_get32(octets + SOURCE_STAG);
    out->source_to = iw_get64(octets + SOURCE_TO);
    return IW_RDMAP_READ_REQUEST;
}

int iw_wire_put_read_request(uint8_t *octets, size_t room, const struct iw_rdmap_read_request *in)
{
    if (room < IW_RDMAP_READ_REQUEST)
        return IW_WIRE_SHORT;
    iw_put32(octets + SINK_STAG, in->sink_stag);
    iw_put64(octets + SINK_TO, in->sink_to);
    iw_put32(octets + SIZE, in->size);
    iw_put32(octets + SOURCE_STAG, in->source_stag);
    iw_put64(octets + SOURCE_TO, in->source_to);
    return IW_RDMAP_READ_REQUEST;
}

int iw_wire_get_atomic_request(const uint8_t *octets, size_t length,
                               struct iw_rdmap_atomic_request *out)
{
    if (length < IW_RDMAP_ATOMIC_REQUEST)
        return IW_WIRE_SHORT;
    out->opcode = iw_get32(octets + ATOMIC_OPCODE);
    out->request_id = iw_get32(octets + ATOMIC_REQUEST_ID);
    out->remote_stag = iw_get32(octets + ATOMIC_STAG);
    out->remote_to = iw_get64(octets + ATOMIC_TO);
    out->add_swap_data = iw_get64(octets + ADD_SWAP_DATA);
    out->add_swap_mask = iw_get64(octets + ADD_SWAP_MASK);
    out->compare_data = iw_get64(octets + COMPARE_DATA);
    out->compare_mask = iw_get64(octets + COMPARE_MASK);
    return IW_RDMAP_ATOMIC_REQUEST;
}

int iw_wire_put_atomic_request(uint8_t *octets, size_t room,
                               const struct iw_rdmap_atomic_request *in)
{
    if (room < IW_RDMAP_ATOMIC_REQUEST)
        return IW_WIRE_SHORT;
    iw_put32(octets + ATOMIC_OPCODE, in->opcode);
    iw_put32(octets + ATOMIC_REQUEST_ID, in->request_id);
    iw_put32(octets + ATOMIC_STAG, in->remote_stag);
    iw_put64(octets + ATOMIC_TO, in->remote_to);
    iw_put64(octets + ADD_SWAP_DATA, in->add_swap_data);
    iw_put64(octets + ADD_SWAP_MASK, in->add_swap_mask);
    iw_put64(octets + COMPARE_DATA, in->compare_data);
    iw_put64(octets + COMPARE_MASK, in->compare_mask);
    return IW_RDMAP_ATOMIC_REQUEST;
}

int iw_wire_get_atomic_response(const uint8_t *octets, size_t length,
                                struct iw_rdmap_atomic_response *out)
{
    if (length < IW_RDMAP_ATOMIC_RESPONSE)
        return IW_WIRE_SHORT;
    out->request_id = iw_get32(octets + RESPONSE_REQUEST_ID);
    out->original_value = iw_get64(octets + RESPONSE_VALUE);
    return IW_RDMAP_ATOMIC_RESPONSE;
}

int iw_wire_put_atomic_response(uint8_t *octets, size_t room,
                                const struct iw_rdmap_atomic_response *in)
{
    if (room < IW_RDMAP_ATOMIC_RESPONSE)
        return IW_WIRE_SHORT;
    iw_put32(octets + RESPONSE_REQUEST_ID, in->request_id);
    iw_put64(octets + RESPONSE_VALUE, in->original_value);
    return IW_RDMAP_ATOMIC_RESPONSE;
}
