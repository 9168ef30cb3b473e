/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TOOLS_LIST_RULES_H
#define IW_TOOLS_LIST_RULES_H

#include <stdio.h>

/* Prints every check with the switches that it takes, and every rule. */
void iw_list_rules(FILE *out);

#endif
