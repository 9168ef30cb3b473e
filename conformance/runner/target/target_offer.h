/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TARGET_OFFER_H
#define IW_TARGET_OFFER_H

#include "host/offers.h"

/* Offers to a shell that completes --target: what is built in, the target files of the suite, and
 * other files. */
void iw_target_offer(const struct iw_offers *to);

#endif
