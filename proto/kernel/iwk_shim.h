/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The four headers that the core includes, in a kernel: stage.sh makes
 * <stdint.h>, <stdbool.h>, <stddef.h> and <string.h> of this one. The kernel
 * has their types and functions, but not all of the macros.
 */
#ifndef IWK_SHIM_H
#define IWK_SHIM_H

#include <linux/limits.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>

#ifndef UINT8_MAX
#define UINT8_MAX U8_MAX
#endif
#ifndef UINT16_MAX
#define UINT16_MAX U16_MAX
#endif
#ifndef UINT32_MAX
#define UINT32_MAX U32_MAX
#endif
#ifndef UINT64_MAX
#define UINT64_MAX U64_MAX
#endif
#ifndef UINTPTR_MAX
#define UINTPTR_MAX ULONG_MAX
#endif
#ifndef UINT32_C
#define UINT32_C(x) x##U
#endif
#ifndef UINT64_C
#define UINT64_C(x) x##ULL
#endif

#endif
