/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_BLOCKS_H
#define IW_FUZZ_BLOCKS_H

/* Blocks for an observer, allocated once. AddressSanitizer guards those that are not lent. */

#include <stddef.h>

/* Callbacks for struct iw_observer_config; `context` is ignored. The first returns a block of at
 * most IW_OBSERVER_BLOCK octets, or NULL at the limit. */
void *iw_fuzz_lend(void *context, size_t size);
void iw_fuzz_give_back(void *context, void *block, size_t size);

/* Limits the blocks lent at a time to `most`; 0: as many as there are. */
void iw_fuzz_blocks_limit(unsigned most);
/* Fails if one is still lent. */
void iw_fuzz_blocks_check(void);

#endif
