/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CONN_JUDGE_H
#define IW_RUNNER_CONN_JUDGE_H

/* Judges a connection from outside, after the fact, as a bystander would who has its capture: for
 * connections whose octets a case compares by itself. */

#include "conform_station.h"

/* Called with the quirk that a finding shows (IW_QUIRK_COUNT: none), and the check of another
 * finding from which it follows (IW_CHECK_NONE: none). */
typedef void iw_conn_found(void *context, const struct iw_fault *fault, enum iw_quirk quirk,
                           enum iw_check cause);

/* Calls `found` for each check about the peer that failed, in order. The connection begins with
 * start-up frames. Positions count from the peer's first octet. */
void iw_conn_judge(const struct iw_conn *c, iw_conn_found *found, void *context);

#endif
