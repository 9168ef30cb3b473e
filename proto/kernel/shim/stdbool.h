/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef IWK_SHIM_STDBOOL_H
#define IWK_SHIM_STDBOOL_H

#include <linux/stddef.h>
#include <linux/types.h>

#endif
