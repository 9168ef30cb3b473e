/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef IWK_SHIM_STRING_H
#define IWK_SHIM_STRING_H

#include <linux/string.h>

#endif
