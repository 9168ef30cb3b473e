/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CONN_JUDGE_H
#define IW_RUNNER_CONN_JUDGE_H

/* Judges a connection from outside, after the fact, as a bystander would who has its capture: for
 * connections whose octets a case compares by itself. */

#include "conform_station.h"

/* Calls `found` for each check about the peer that failed, in order, with the quirk that it shows
 * (IW_QUIRK_COUNT: none). The connection begins with start-up frames. Positions count from the
 * peer's first octet. */
void iw_conn_judge(const struct iw_conn *c,
                   void (*found)(void *context, const struct iw_fault *fault, enum iw_quirk quirk),
                   void *context);

#endif
