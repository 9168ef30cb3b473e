/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -z iwarp,findings: by rule and severity. */
#include "stats_tap.h"

enum { SEVERITY, LEVEL, RULE, SECTION, COUNT, FIRST, TEXT };

static void count_finding(enum iw_check check, uint32_t frame)
{
    const struct iw_rule *rule = iw_check_sender_rule(check);
    bool fresh;
    stat_tap_table_item_type *row =
        iwd_table_row(&iwd_findings_table, GUINT_TO_POINTER(check), &fresh);
    row[COUNT].value.uint_value++;
    if (!fresh)
        return;
    char section[32];
    g_snprintf(section, sizeof(section), "%u, %s", rule->rfc, rule->section);
    row[FIRST].value.uint_value = frame;
    iwd_table_text(&row[SEVERITY],
                   val_to_str_const((guint32)iwd_severity(rule), expert_severity_vals, ""));
    iwd_table_text(&row[LEVEL], iw_level_name(rule->level));
    iwd_table_text(&row[RULE], rule->id);
    iwd_table_text(&row[SECTION], section);
    iwd_table_text(&row[TEXT], iw_check_info(check)->text);
}

static tap_packet_status count(void *data _U_, packet_info *pinfo, epan_dissect_t *edt _U_,
                               const void *seen, tap_flags_t flags _U_)
{
    const struct iwd_seen *s = seen;

    for (const struct iwd_finding *f = s->findings; f != NULL; f = f->next)
        count_finding(f->check, pinfo->num);
    return s->findings != NULL ? TAP_PACKET_REDRAW : TAP_PACKET_DONT_REDRAW;
}

static stat_tap_table_item columns[] = {
    {IWD_TEXT("Severity", 8)},      {IWD_TEXT("Level     ", 10)}, {IWD_TEXT("Rule        ", 12)},
    {IWD_TEXT("RFC, section", 12)}, {IWD_COUNT("   Count", 8)},   {IWD_COUNT("First frame", 11)},
    {IWD_TEXT("What is wrong", 1)}};

struct iwd_table iwd_findings_table = {.ui = {.title = "iWARP Findings by Rule",
                                              .cli_string = "iwarp,findings",
                                              .packet_func = count,
                                              .nfields = G_N_ELEMENTS(columns),
                                              .fields = columns}};
