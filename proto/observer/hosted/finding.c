/* SPDX-License-Identifier: BSD-3-Clause */
#include "observer/hosted/finding.h"

#include <inttypes.h>
#include <stdio.h>

enum { HEX = 24 };

/* As text: 64 bits do not fit into every reader's numbers. */
static const char *hex(char text[HEX], uint64_t value)
{
    snprintf(text, HEX, "0x%" PRIx64, value);
    return text;
}

char *iw_finding_where(char where[IW_FINDING_WHERE], const struct iw_observation *o)
{
    const struct iw_fault *f = &o->fault;
    char got[HEX], want[HEX];
    if (iw_fault_has_values(f))
        snprintf(where, IW_FINDING_WHERE, "octet %" PRIu64 ": %s, expected %s", f->pos,
                 hex(got, f->got), hex(want, f->want));
    else
        snprintf(where, IW_FINDING_WHERE, "octet %" PRIu64, f->pos);
    return where;
}

char *iw_finding_print(char text[IW_FINDING_TEXT], const struct iw_observation *o, const char *from)
{
    const struct iw_check_info *info = iw_check_info(o->fault.check);
    const struct iw_rule *rule = iw_check_sender_rule(o->fault.check);
    enum iw_quirk quirk = iw_quirk_shown(o->quirks, o->fault.check);
    bool explained = quirk != IW_QUIRK_COUNT && quirk != IW_QUIRK_TERMINATE_REVERSED;
    char where[IW_FINDING_WHERE];
    snprintf(text, IW_FINDING_TEXT, "%s (%s%s): %s%s%s [%s; %s%s%s, %s]", rule->id,
             iw_level_name(rule->level), rule->implied ? ", implied" : "", info->text,
             explained ? ": " : "", explained ? iw_quirk_text(quirk) : "", info->name,
             iw_side_name(o->side), from != NULL ? " " : "", from != NULL ? from : "",
             iw_finding_where(where, o));
    return text;
}

json_t *iw_finding_json(const struct iw_observation *o)
{
    const struct iw_fault *f = &o->fault;
    const struct iw_check_info *info = iw_check_info(f->check);
    const struct iw_rule *rule = iw_check_sender_rule(f->check);
    enum iw_quirk quirk = iw_quirk_shown(o->quirks, f->check);
    bool valued = iw_fault_has_values(f);
    char got[HEX], want[HEX];
    return json_pack("{s:I, s:s, s:s, s:s, s:b, s:s, s:s*, s:s*, s:s*}", "octet",
                     (json_int_t)f->pos, "check", info->name, "rule", rule->id, "level",
                     iw_level_name(rule->level), "implied", (int)rule->implied, "text", info->text,
                     "got", valued ? hex(got, f->got) : NULL, "want",
                     valued ? hex(want, f->want) : NULL, "quirk",
                     quirk != IW_QUIRK_COUNT ? iw_quirk_name(quirk) : NULL);
}
