/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_RANGE_SCENE_H
#define FUZZ_RANGE_SCENE_H

/* One connection of the practice range without its loop: octets in, octets out. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "range/range.h"

enum { SCENE_NOW = 1000, SCENE_MULPDU = 1442 /* of an MSS of 1460 */ };

extern struct range_conn *scene;

/* Makes the connection, in place of the one before; as a test's set-up it is a responder. */
void scene_open(bool initiator);
int scene_set_up(void **state);
int scene_tear_down(void **state);
/* Opens it as responder, and starts up: as a Request of revision 1 without Markers asks, or with
 * the four octets of a block of RFC 6581. */
void scene_started(const char *block);

/* Hands over octets of hexadecimal digits: as they are, or as FPDUs of ULPDUs that '/' parts. */
void scene_take(const char *hex);
void scene_segments(const char *ulpdus);
/* Return what is queued to be sent, and forget it: as it is, or the ULPDUs of whole FPDUs, which
 * must have right pads and CRCs, parted by '/'. */
const char *scene_sent(void);
const char *scene_sent_segments(void);
/* Returns the digits of these octets; valid until the next call. */
const char *scene_hex(const uint8_t *octets, size_t length);

/* A Terminate: its header, the control field and what follows. */
#define SCENE_TERMINATE(rest) "414700000000000000020000000100000000" rest

#endif
