/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -z iwarp,findings: by rule and severity. */
#include "stats_tap.h"

enum { SEVERITY, LEVEL, RULE, SECTION, COUNT, FIRST, TEXT };
enum { NO_ROW = -1 };

static int rows[IW_CHECK_COUNT];

static void reset(void)
{
    for (unsigned k = 0; k < IW_CHECK_COUNT; k++)
        rows[k] = NO_ROW;
}

static const char *severity_name(const struct iw_rule *rule)
{
    switch (iwd_severity(rule)) {
    case PI_ERROR:
        return "Error";
    case PI_WARN:
        return "Warning";
    default:
        return "Note";
    }
}

static guint row_of(enum iw_check check)
{
    const struct iwd_table *t = &iwd_findings_table;
    const struct iw_rule *rule = iw_check_rule(check);
    char section[32];
    guint row;

    if (rows[check] != NO_ROW)
        return (guint)rows[check];
    row = iwd_table_add(&iwd_findings_table);
    rows[check] = (int)row;
    iwd_table_text(t, row, SEVERITY, severity_name(rule));
    iwd_table_text(t, row, LEVEL, iw_level_name(rule->level));
    iwd_table_text(t, row, RULE, rule->id);
    g_snprintf(section, sizeof section, "%u, %s", rule->rfc, rule->section);
    iwd_table_text(t, row, SECTION, section);
    iwd_table_text(t, row, TEXT, iw_check_info(check)->text);
    return row;
}

static tap_packet_status count(void *data _U_, packet_info *pinfo, epan_dissect_t *edt _U_,
                               const void *seen, tap_flags_t flags _U_)
{
    const struct iwd_seen *s = seen;

    for (const struct iwd_finding *f = s->findings; f; f = f->next) {
        stat_tap_table_item_type *row = iwd_table_at(&iwd_findings_table, row_of(f->check), 0);

        if (row[COUNT].value.uint_value++ == 0)
            row[FIRST].value.uint_value = pinfo->num;
    }
    return s->findings ? TAP_PACKET_REDRAW : TAP_PACKET_DONT_REDRAW;
}

static stat_tap_table_item columns[] = {
    IWD_COLUMN_TEXT("Severity", 8),      IWD_COLUMN_TEXT("Level     ", 10),
    IWD_COLUMN_TEXT("Rule        ", 12), IWD_COLUMN_TEXT("RFC, section", 12),
    IWD_COLUMN_COUNT("   Count", 8),     IWD_COLUMN_COUNT("First frame", 11),
    IWD_COLUMN_TEXT("What is wrong", 1)};

struct iwd_table iwd_findings_table = {.ui = {.group = REGISTER_PACKET_STAT_GROUP_UNSORTED,
                                              .title = "iWARP Findings by Rule",
                                              .cli_string = "iwarp,findings",
                                              .packet_func = count,
                                              .nfields = G_N_ELEMENTS(columns),
                                              .fields = columns},
                                       .reset = reset};
