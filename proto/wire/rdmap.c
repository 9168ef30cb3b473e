/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "iwarp/wire.h"

int iw_wire_get_read_request(const uint8_t *octets, size_t length,
                             struct iw_rdmap_read_request *out)
{
    if (length < IW_RDMAP_READ_REQUEST)
        return IW_WIRE_SHORT;
    out->sink_stag = iw_get32(octets + IW_AT_READ_SINK_STAG);
    out->sink_to = iw_get64(octets + IW_AT_READ_SINK_TO);
    out->size = iw_get32(octets + IW_AT_READ_SIZE);
    out->source_stag = iw_get32(octets + IW_AT_READ_SOURCE_STAG);
    out->source_to = iw_get64(octets + IW_AT_READ_SOURCE_TO);
    return IW_RDMAP_READ_REQUEST;
}

int iw_wire_put_read_request(uint8_t *octets, size_t room, const struct iw_rdmap_read_request *in)
{
    if (room < IW_RDMAP_READ_REQUEST)
        return IW_WIRE_SHORT;
    iw_put32(octets + IW_AT_READ_SINK_STAG, in->sink_stag);
    iw_put64(octets + IW_AT_READ_SINK_TO, in->sink_to);
    iw_put32(octets + IW_AT_READ_SIZE, in->size);
    iw_put32(octets + IW_AT_READ_SOURCE_STAG, in->source_stag);
    iw_put64(octets + IW_AT_READ_SOURCE_TO, in->source_to);
    return IW_RDMAP_READ_REQUEST;
}

int iw_wire_get_atomic_request(const uint8_t *octets, size_t length,
                               struct iw_rdmap_atomic_request *out)
{
    if (length < IW_RDMAP_ATOMIC_REQUEST)
        return IW_WIRE_SHORT;
    out->opcode = iw_get32(octets + IW_AT_ATOMIC_OPCODE);
    out->request_id = iw_get32(octets + IW_AT_ATOMIC_ID);
    out->remote_stag = iw_get32(octets + IW_AT_ATOMIC_STAG);
    out->remote_to = iw_get64(octets + IW_AT_ATOMIC_TO);
    out->add_swap_data = iw_get64(octets + IW_AT_ATOMIC_DATA);
    out->add_swap_mask = iw_get64(octets + IW_AT_ATOMIC_MASK);
    out->compare_data = iw_get64(octets + IW_AT_ATOMIC_COMPARE);
    out->compare_mask = iw_get64(octets + IW_AT_ATOMIC_COMPARE_MASK);
    return IW_RDMAP_ATOMIC_REQUEST;
}

int iw_wire_put_atomic_request(uint8_t *octets, size_t room,
                               const struct iw_rdmap_atomic_request *in)
{
    if (room < IW_RDMAP_ATOMIC_REQUEST)
        return IW_WIRE_SHORT;
    iw_put32(octets + IW_AT_ATOMIC_OPCODE, in->opcode);
    iw_put32(octets + IW_AT_ATOMIC_ID, in->request_id);
    iw_put32(octets + IW_AT_ATOMIC_STAG, in->remote_stag);
    iw_put64(octets + IW_AT_ATOMIC_TO, in->remote_to);
    iw_put64(octets + IW_AT_ATOMIC_DATA, in->add_swap_data);
    iw_put64(octets + IW_AT_ATOMIC_MASK, in->add_swap_mask);
    iw_put64(octets + IW_AT_ATOMIC_COMPARE, in->compare_data);
    iw_put64(octets + IW_AT_ATOMIC_COMPARE_MASK, in->compare_mask);
    return IW_RDMAP_ATOMIC_REQUEST;
}

int iw_wire_get_atomic_response(const uint8_t *octets, size_t length,
                                struct iw_rdmap_atomic_response *out)
{
    if (length < IW_RDMAP_ATOMIC_RESPONSE)
        return IW_WIRE_SHORT;
    out->request_id = iw_get32(octets + IW_AT_RESPONSE_ID);
    out->original_value = iw_get64(octets + IW_AT_RESPONSE_VALUE);
    return IW_RDMAP_ATOMIC_RESPONSE;
}

int iw_wire_put_atomic_response(uint8_t *octets, size_t room,
                                const struct iw_rdmap_atomic_response *in)
{
    if (room < IW_RDMAP_ATOMIC_RESPONSE)
        return IW_WIRE_SHORT;
    iw_put32(octets + IW_AT_RESPONSE_ID, in->request_id);
    iw_put64(octets + IW_AT_RESPONSE_VALUE, in->original_value);
    return IW_RDMAP_ATOMIC_RESPONSE;
}
