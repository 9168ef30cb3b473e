/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/wire.h"

static const struct {
    const char *name, *token;
} opcodes[] = {
    [IW_OP_WRITE] = {"RDMA Write", "write"},
    [IW_OP_READ_REQUEST] = {"RDMA Read Request", "read-request"},
    [IW_OP_READ_RESPONSE] = {"RDMA Read Response", "read-response"},
    [IW_OP_SEND] = {"Send", "send"},
    [IW_OP_SEND_INVALIDATE] = {"Send with Invalidate", "send-invalidate"},
    [IW_OP_SEND_SE] = {"Send with SE", "send-se"},
    [IW_OP_SEND_SE_INVALIDATE] = {"Send with SE and Invalidate", "send-se-invalidate"},
    [IW_OP_TERMINATE] = {"Terminate", "terminate"},
    [IW_OP_IMMEDIATE] = {"Immediate Data", "immediate"},
    [IW_OP_IMMEDIATE_SE] = {"Immediate Data with SE", "immediate-se"},
    [IW_OP_ATOMIC_REQUEST] = {"Atomic Request", "atomic-request"},
    [IW_OP_ATOMIC_RESPONSE] = {"Atomic Response", "atomic-response"},
};

const char *iw_wire_opcode_name(unsigned opcode)
{
    return opcode < sizeof(opcodes) / sizeof(opcodes[0]) ? opcodes[opcode].name : "reserved";
}

const char *iw_wire_opcode_token(unsigned opcode)
{
    return opcode < sizeof(opcodes) / sizeof(opcodes[0]) ? opcodes[opcode].token : "reserved";
}

const char *iw_wire_term_layer_name(unsigned layer)
{
    static const char *const names[] = {"RDMAP", "DDP", "LLP"};
    return layer < sizeof(names) / sizeof(names[0]) ? names[layer] : "unknown";
}

/* RFC 5040 figure 9, RFC 5041 §7.2, RFC 5044 §8, RFC 6581 §8. */
static const struct {
    uint8_t layer, etype, code;
    const char *name;
} errors[] = {
    {0, 1, 0x00, "invalid STag"},
    {0, 1, 0x01, "base or bounds violation"},
    {0, 1, 0x02, "access rights violation"},
    {0, 1, 0x03, "STag not associated with RDMAP stream"},
    {0, 1, 0x04, "TO wrap"},
    {0, 1, 0x09, "STag cannot be invalidated"},
    {0, 1, 0xff, "unspecified remote protection error"},
    {0, 2, 0x05, "invalid RDMAP version"},
    {0, 2, 0x06, "unexpected opcode"},
    {0, 2, 0x07, "catastrophic error, localized to RDMAP stream"},
    {0, 2, 0x08, "catastrophic error, global"},
    {0, 2, 0x09, "STag cannot be invalidated"},
    {0, 2, 0xff, "unspecified remote operation error"},
    {1, 0, 0x00, "local catastrophic"},
    {1, 1, 0x00, "invalid STag"},
    {1, 1, 0x01, "base or bounds violation"},
    {1, 1, 0x02, "STag not associated with DDP stream"},
    {1, 1, 0x03, "TO wrap"},
    {1, 1, 0x04, "invalid DDP version"},
    {1, 2, 0x01, "invalid QN"},
    {1, 2, 0x02, "invalid MSN: no buffer available"},
    {1, 2, 0x03, "invalid MSN: range not valid"},
    {1, 2, 0x04, "invalid MO"},
    {1, 2, 0x05, "message too long for available buffer"},
    {1, 2, 0x06, "invalid DDP version"},
    {2, 0, 0x01, "TCP connection closed, terminated or lost"},
    {2, 0, 0x02, "MPA CRC mismatch"},
    {2, 0, 0x03, "Marker and ULPDU_Length disagree"},
    {2, 0, 0x04, "invalid MPA Request or Reply frame"},
    {2, 0, 0x05, "local catastrophic"},
    {2, 0, 0x06, "insufficient IRD resources"},
    {2, 0, 0x07, "no matching RTR option"},
};

/* Returns NULL for an error that no RFC names. */
static const char *error_name(unsigned layer, unsigned etype, unsigned code)
{
    if (layer == IW_LAYER_RDMAP && etype == 0)
        return "local catastrophic";
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].layer == layer && errors[i].etype == etype && errors[i].code == code)
            return errors[i].name;
    return NULL;
}

const char *iw_wire_term_name(unsigned layer, unsigned etype, unsigned code)
{
    const char *name = error_name(layer, etype, code);
    return name != NULL ? name : "unknown";
}

bool iw_wire_term_assigned(unsigned layer, unsigned etype, unsigned code)
{
    enum { TO_LLP = 3 };
    return (layer == IW_LAYER_DDP && etype == TO_LLP) || error_name(layer, etype, code) != NULL;
}
