/* SPDX-License-Identifier: BSD-3-Clause */
/* What makes of iwarp-agent one whose buffers hold nothing of before: for valgrind. */
#include "undefined.h"
