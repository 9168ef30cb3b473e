/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "iwarp_dissector.h"

int iwd_hf[F_COUNT];
int iwd_ett[T_COUNT];
expert_field *iwd_ei;
expert_field iwd_ei_remark[R_COUNT];

static const value_string sides[] = {
    {IW_SIDE_INITIATOR, "initiator"}, {IW_SIDE_RESPONDER, "responder"}, {0, NULL}};
static const value_string revisions[] = {
    {0, "RDMA Consortium (RFC 5044 appendix C)"}, {1, "RFC 5044"}, {2, "RFC 6581"}, {0, NULL}};
static const value_string crc_states[] = {{IWD_CRC_UNCHECKED, "unchecked: CRCs are not in force"},
                                          {IWD_CRC_GOOD, "good"},
                                          {IWD_CRC_BAD, "bad"},
                                          {IWD_CRC_UNKNOWN, "unknown: not all octets are here"},
                                          {0, NULL}};
static const value_string queues[] = {{IW_QN_SEND, "Send"},
                                      {IW_QN_READ_REQUEST, "Read and Atomic Request"},
                                      {IW_QN_TERMINATE, "Terminate"},
                                      {IW_QN_ATOMIC_RESPONSE, "Atomic Response"},
                                      {0, NULL}};
static const value_string atomics[] = {
    {IW_ATOMIC_FETCH_ADD, "FetchAdd"}, {IW_ATOMIC_CMP_SWAP, "CmpSwap"}, {0, NULL}};
/* Filled from proto/wire's names. */
static value_string opcodes[16 + 1];
static value_string layers[3 + 1];

/* The kinds of fields: type, display, strings, mask. */
#define TREE FT_NONE, BASE_NONE, NULL, 0
#define BYTES FT_BYTES, BASE_NONE, NULL, 0
#define TEXT FT_STRING, BASE_NONE, NULL, 0
#define TIME FT_RELATIVE_TIME, BASE_NONE, NULL, 0
#define FLAG FT_BOOLEAN, BASE_NONE, NULL, 0
#define BIT(bits, mask) FT_BOOLEAN, bits, NULL, mask
#define DEC(bits) FT_UINT##bits, BASE_DEC, NULL, 0
#define HEX(bits) FT_UINT##bits, BASE_HEX, NULL, 0
#define DEC_PART(bits, mask) FT_UINT##bits, BASE_DEC, NULL, mask
#define HEX_PART(bits, mask) FT_UINT##bits, BASE_HEX, NULL, mask
#define NAMED(bits, base, strings, mask) FT_UINT##bits, BASE_##base, VALS(strings), mask
#define FRAME FT_FRAMENUM, BASE_NONE, NULL, 0
#define REQUEST_FRAME FT_FRAMENUM, BASE_NONE, FRAMENUM_TYPE(FT_FRAMENUM_REQUEST), 0
#define RESPONSE_FRAME FT_FRAMENUM, BASE_NONE, FRAMENUM_TYPE(FT_FRAMENUM_RESPONSE), 0

static hf_register_info fields[F_COUNT] = {
#define X(name, label, filter, kind, description)                                                  \
    {&iwd_hf[F_##name], {label, "iwarp." filter, kind, description, HFILL}},
    IWD_FIELDS
#undef X
};

int iwd_severity(const struct iw_rule *rule)
{
    if (rule->level >= IW_LEVEL_MUST)
        return rule->implied ? PI_WARN : PI_ERROR;
    return rule->level == IW_LEVEL_MAY ? PI_NOTE : PI_WARN;
}

/* Expert infos about no check. */
static ei_register_info remarks[] = {
    {&iwd_ei_remark[R_LOST],
     {"iwarp.unknown", PI_UNDECODED, PI_WARN, "iWARP: unknown from here", EXPFILL}},
    {&iwd_ei_remark[R_GAP],
     {"iwarp.missing", PI_SEQUENCE, PI_NOTE, "iWARP: octets are not in the capture", EXPFILL}},
    {&iwd_ei_remark[R_RESYNC],
     {"iwarp.found_again", PI_SEQUENCE, PI_NOTE, "iWARP: framing found again", EXPFILL}},
    {&iwd_ei_remark[R_REJECTED],
     {"iwarp.rejected", PI_RESPONSE_CODE, PI_NOTE, "iWARP: the responder refuses the connection",
      EXPFILL}},
    {&iwd_ei_remark[R_TERMINATE],
     {"iwarp.terminated", PI_RESPONSE_CODE, PI_WARN, "iWARP: Terminate", EXPFILL}},
};

/* Registers each check of the observer, so that users can filter for it and the list of expert
 * infos shows it with its rule: iwarp.check.mpa_crc. */
static void register_checks(expert_module_t *module)
{
    wmem_allocator_t *scope = wmem_epan_scope();
    ei_register_info *list = wmem_alloc0_array(scope, ei_register_info, IW_CHECK_COUNT);
    int count = 0;

    iwd_ei = wmem_alloc0_array(scope, expert_field, IW_CHECK_COUNT);
    for (unsigned k = 1; k < IW_CHECK_COUNT; k++) {
        const struct iw_check_info *info = iw_check_info((enum iw_check)k);
        const struct iw_rule *rule = iw_check_sender_rule((enum iw_check)k);

        if (!(info->kinds & IW_KIND_OBSERVER))
            continue;
        list[count++] = (ei_register_info){
            &iwd_ei[k],
            {g_strdelimit(wmem_strdup_printf(scope, "iwarp.check.%s", info->name), "-", '_'),
             PI_PROTOCOL, iwd_severity(rule),
             wmem_strdup_printf(scope, "%s: %s", rule->id, info->text), EXPFILL}};
    }
    expert_register_field_array(module, list, count);
}

void iwd_register_fields(int proto)
{
    expert_module_t *module = expert_register_protocol(proto);
    static int *ett[T_COUNT];
    for (int k = 0; k < T_COUNT; k++) {
        iwd_ett[k] = -1;
        ett[k] = &iwd_ett[k];
    }
    for (int k = 0; k < F_COUNT; k++)
        iwd_hf[k] = -1;
    for (unsigned k = 0; k < 16; k++)
        opcodes[k] = (value_string){k, iw_wire_opcode_name(k)};
    for (unsigned k = 0; k < 3; k++)
        layers[k] = (value_string){k, iw_wire_term_layer_name(k)};
    proto_register_field_array(proto, fields, F_COUNT);
    proto_register_subtree_array(ett, T_COUNT);
    register_checks(module);
    expert_register_field_array(module, remarks, G_N_ELEMENTS(remarks));
}
