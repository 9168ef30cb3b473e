/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/rule_link.h"

#include <ctype.h>

#include "host/text.h"

char *iw_rule_link(const struct iw_rule *rule)
{
    bool section = isdigit((unsigned char)*rule->section);
    return iw_text_format("https://www.rfc-editor.org/rfc/rfc%u#%s-%s", rule->rfc,
                          section ? "section" : "appendix", rule->section);
}
