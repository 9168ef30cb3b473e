/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_BLOCKS_H
#define IW_FUZZ_BLOCKS_H

/* Blocks for an observer, taken from malloc once; what is not lent, AddressSanitizer guards. */

#include <stddef.h>

/* As struct iw_observer_config wants them; `context` is not looked at. */
void *iw_fuzz_lend(void *context, size_t size);
void iw_fuzz_give_back(void *context, void *block, size_t size);

/* From now on `most` may be lent at a time; 0: as many as there are. */
void iw_fuzz_blocks_limit(unsigned most);
/* Fails if one is still lent. */
void iw_fuzz_blocks_check(void);

#endif
