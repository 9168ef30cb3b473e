/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "iwarp/wire.h"

int iw_wire_get_read_request(const uint8_t *octets, size_t length,
                             struct iw_rdmap_read_request *out)
{
    if (length < IW_RDMAP_READ_REQUEST)
        return IW_WIRE_SHORT;
    out->sink_stag = iw_get32(octets);
    out->sink_to = iw_get64(octets + 4);
    out->size = iw_get32(octets + 12);
    out->source_stag = iw_get32(octets + 16);
    out->source_to = iw_get64(octets + 20);
    return IW_RDMAP_READ_REQUEST;
}

int iw_wire_put_read_request(uint8_t *octets, size_t room, const struct iw_rdmap_read_request *in)
{
    if (room < IW_RDMAP_READ_REQUEST)
        return IW_WIRE_SHORT;
    uint8_t *p = iw_put64(iw_put32(octets, in->sink_stag), in->sink_to);
    p = iw_put32(iw_put32(p, in->size), in->source_stag);
    iw_put64(p, in->source_to);
    return IW_RDMAP_READ_REQUEST;
}

int iw_wire_get_atomic_request(const uint8_t *octets, size_t length,
                               struct iw_rdmap_atomic_request *out)
{
    if (length < IW_RDMAP_ATOMIC_REQUEST)
        return IW_WIRE_SHORT;
    out->opcode = iw_get32(octets);
    out->request_id = iw_get32(octets + 4);
    out->remote_stag = iw_get32(octets + 8);
    out->remote_to = iw_get64(octets + 12);
    out->add_swap_data = iw_get64(octets + 20);
    out->add_swap_mask = iw_get64(octets + 28);
    out->compare_data = iw_get64(octets + 36);
    out->compare_mask = iw_get64(octets + 44);
    return IW_RDMAP_ATOMIC_REQUEST;
}

int iw_wire_put_atomic_request(uint8_t *octets, size_t room,
                               const struct iw_rdmap_atomic_request *in)
{
    if (room < IW_RDMAP_ATOMIC_REQUEST)
        return IW_WIRE_SHORT;
    uint8_t *p = iw_put32(iw_put32(octets, in->opcode), in->request_id);
    p = iw_put64(iw_put32(p, in->remote_stag), in->remote_to);
    p = iw_put64(iw_put64(p, in->add_swap_data), in->add_swap_mask);
    iw_put64(iw_put64(p, in->compare_data), in->compare_mask);
    return IW_RDMAP_ATOMIC_REQUEST;
}

int iw_wire_get_atomic_response(const uint8_t *octets, size_t length,
                                struct iw_rdmap_atomic_response *out)
{
    if (length < IW_RDMAP_ATOMIC_RESPONSE)
        return IW_WIRE_SHORT;
    out->request_id = iw_get32(octets);
    out->original_value = iw_get64(octets + 4);
    return IW_RDMAP_ATOMIC_RESPONSE;
}

int iw_wire_put_atomic_response(uint8_t *octets, size_t room,
                                const struct iw_rdmap_atomic_response *in)
{
    if (room < IW_RDMAP_ATOMIC_RESPONSE)
        return IW_WIRE_SHORT;
    iw_put64(iw_put32(octets, in->request_id), in->original_value);
    return IW_RDMAP_ATOMIC_RESPONSE;
}
