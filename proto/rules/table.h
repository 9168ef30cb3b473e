/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables that generate.py writes; rules.c alone reads them. */
#ifndef IWARP_RULES_TABLE_H
#define IWARP_RULES_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "iwarp/rules.h"

extern const struct iw_rule iw_rules_table[IW_RULE_COUNT];
/* Indices of the rules, in the order of strcmp of their ids. */
extern const uint16_t iw_rules_by_id[IW_RULE_COUNT];
extern const struct iw_check_info iw_checks_table[IW_CHECK_COUNT];

#endif
