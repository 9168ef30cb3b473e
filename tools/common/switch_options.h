/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that make an endpoint deviate: --ignore, --overstrict, --violate, --botch. */
#ifndef IW_TOOLS_SWITCH_OPTIONS_H
#define IW_TOOLS_SWITCH_OPTIONS_H

#include "host/options.h"
#include "iwarp/rules.h"

enum { IW_SWITCH_OPTIONS = 5 };
/* And --list-rules. The context is a struct iw_switches. */
extern const struct iw_option iw_switch_options[IW_SWITCH_OPTIONS];

#endif
