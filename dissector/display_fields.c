/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "iwarp_dissector.h"

int iwd_hf[F_COUNT];
int iwd_ett[T_COUNT];
expert_field *iwd_ei;
expert_field iwd_ei_lost;
expert_field iwd_ei_gap;
expert_field iwd_ei_resync;
expert_field iwd_ei_rejected;
expert_field iwd_ei_terminate;

static const value_string iwd_sides[] = {
    {IW_SIDE_INITIATOR, "initiator"}, {IW_SIDE_RESPONDER, "responder"}, {0, NULL}};
static const value_string iwd_revisions[] = {
    {0, "RDMA Consortium (RFC 5044 appendix C)"}, {1, "RFC 5044"}, {2, "RFC 6581"}, {0, NULL}};
static const value_string iwd_crc_states[] = {
    {IWD_CRC_UNCHECKED, "unchecked: CRCs are not in force"},
    {IWD_CRC_GOOD, "good"},
    {IWD_CRC_BAD, "bad"},
    {IWD_CRC_UNKNOWN, "unknown: not all octets are here"},
    {0, NULL}};
static const value_string iwd_queues[] = {{IW_QN_SEND, "Send"},
                                          {IW_QN_READ_REQUEST, "Read and Atomic Request"},
                                          {IW_QN_TERMINATE, "Terminate"},
                                          {IW_QN_ATOMIC_RESPONSE, "Atomic Response"},
                                          {0, NULL}};
static const value_string iwd_atomics[] = {
    {IW_ATOMIC_FETCH_ADD, "FetchAdd"}, {IW_ATOMIC_CMP_SWAP, "CmpSwap"}, {0, NULL}};
/* Filled from proto/wire's names. */
static value_string iwd_opcodes[16 + 1];
static value_string iwd_layers[3 + 1];

static void fill_names(void)
{
    for (unsigned k = 0; k < 16; k++)
        iwd_opcodes[k] = (value_string){k, iw_wire_opcode_name(k)};
    for (unsigned k = 0; k < 3; k++)
        iwd_layers[k] = (value_string){k, iw_wire_term_layer_name(k)};
}

static void register_hf(int proto)
{
    static hf_register_info list[F_COUNT] = {
#define X(name, label, filter, type, display, strings, mask, description)                          \
    {&iwd_hf[F_##name], {label, "iwarp." filter, type, display, strings, mask, description, HFILL}},
        IWD_FIELDS
#undef X
    };

    proto_register_field_array(proto, list, F_COUNT);
}

int iwd_severity(const struct iw_rule *rule)
{
    switch (rule->level) {
    case IW_LEVEL_MUST:
    case IW_LEVEL_MUST_NOT:
        return rule->implied ? PI_WARN : PI_ERROR;
    case IW_LEVEL_SHOULD:
    case IW_LEVEL_SHOULD_NOT:
        return PI_WARN;
    default:
        return PI_NOTE;
    }
}

/* Registers each check of the observer, so that users can filter for it and the list of expert
 * infos shows it with its rule: iwarp.check.mpa_crc. */
static void register_checks(expert_module_t *module)
{
    wmem_allocator_t *scope = wmem_epan_scope();
    ei_register_info *list = wmem_alloc0_array(scope, ei_register_info, IW_CHECK_COUNT + 5);
    int count = 0;

    iwd_ei = wmem_alloc0_array(scope, expert_field, IW_CHECK_COUNT);
    for (unsigned k = 1; k < IW_CHECK_COUNT; k++) {
        const struct iw_check_info *info = iw_check_info((enum iw_check)k);
        const struct iw_rule *rule = iw_check_rule((enum iw_check)k);
        ei_register_info *ei = &list[count];

        if (!(info->kinds & IW_KIND_OBSERVER))
            continue;
        count++;
        *ei = (ei_register_info){
            &iwd_ei[k],
            {g_strdelimit(wmem_strdup_printf(scope, "iwarp.check.%s", info->name), "-", '_'),
             PI_PROTOCOL, iwd_severity(rule),
             wmem_strdup_printf(scope, "%s: %s", rule->id, info->text), EXPFILL}};
    }
    list[count++] = (ei_register_info){
        &iwd_ei_lost,
        {"iwarp.unknown", PI_UNDECODED, PI_WARN, "iWARP: unknown from here", EXPFILL}};
    list[count++] = (ei_register_info){
        &iwd_ei_gap,
        {"iwarp.missing", PI_SEQUENCE, PI_NOTE, "iWARP: octets are not in the capture", EXPFILL}};
    list[count++] = (ei_register_info){
        &iwd_ei_resync,
        {"iwarp.found_again", PI_SEQUENCE, PI_NOTE, "iWARP: framing found again", EXPFILL}};
    list[count++] = (ei_register_info){&iwd_ei_rejected,
                                       {"iwarp.rejected", PI_RESPONSE_CODE, PI_NOTE,
                                        "iWARP: the responder refuses the connection", EXPFILL}};
    list[count++] = (ei_register_info){
        &iwd_ei_terminate,
        {"iwarp.terminated", PI_RESPONSE_CODE, PI_WARN, "iWARP: Terminate", EXPFILL}};
    expert_register_field_array(module, list, count);
}

void iwd_register_fields(int proto)
{
    static int *ett[T_COUNT];

    for (int k = 0; k < T_COUNT; k++) {
        iwd_ett[k] = -1;
        ett[k] = &iwd_ett[k];
    }
    for (int k = 0; k < F_COUNT; k++)
        iwd_hf[k] = -1;
    fill_names();
    register_hf(proto);
    proto_register_subtree_array(ett, T_COUNT);
    register_checks(expert_register_protocol(proto));
}
