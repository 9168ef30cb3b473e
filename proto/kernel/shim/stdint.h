/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The core's <stdint.h> in a kernel, which has the types but not the macros. */
#ifndef IWK_SHIM_STDINT_H
#define IWK_SHIM_STDINT_H

#include <linux/limits.h>
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
