/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_COMPLETE_H
#define IW_RUNNER_COMPLETE_H

/* What iwarp-conform offers to a shell that completes its command line. */

#include <stddef.h>

#include "host/offers.h"

/* Offers cases and what else selects them: "rule:ID", "tag:WORD" ... */
void iw_complete_choice(const struct iw_offers *to);
/* Offers the switches of self-check: "ignore=CHECK" ... */
void iw_complete_switch(const struct iw_offers *to);
/* Sets the command whose operands are offered: its name, a static string. */
void iw_complete_operands_of(const char *name);
void iw_complete_operand(const struct iw_offers *to, size_t operand);

#endif
