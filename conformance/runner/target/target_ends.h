/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_TARGET_ENDS_H
#define IW_RUNNER_TARGET_ENDS_H

/* Targets whose program ends after each connection, for the sources of this room only. */

#include "target.h"

/* `renew` of struct iw_target: starts the program again unless it was just started, once it has
 * ended. Returns 0 to go on, or -1 with one line in `error`. */
int iw_target_renew(struct iw_target *target, char *error, size_t room);
/* After a connection: waits a moment for the end of such a program. */
void iw_target_await_end(struct iw_target_instance *t);

#endif
