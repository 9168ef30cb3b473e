/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_RULE_LINK_H
#define IW_HOST_RULE_LINK_H

#include "iwarp/rules.h"

/* Returns the address of a rule's section at the RFC editor, which the caller frees. */
char *iw_rule_link(const struct iw_rule *rule);

#endif
