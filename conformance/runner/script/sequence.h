/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SEQUENCE_H
#define IW_RUNNER_SEQUENCE_H

/* The exchange of one case in JSON, for reports. */

#include <jansson.h>

#include "station/conform_station.h"

/* Returns a list in order of happening; each member is an object:
 *   conn    number of the connection, from 0
 *   from    "station" or "target"
 *   at      seconds since the case began
 *   text    one-line syntax
 *   octets  hexadecimal, at most IW_SEQUENCE_OCTETS of them
 *   length  of all octets
 *   fields  of the octets shown: "OFFSET+LENGTH NAME", separated by '|'
 *   remarks list of [offset, text]: what the case says of this line
 * Members without content are left out. The caller owns the list. */
json_t *iw_sequence_json(const struct iw_exchange *x);

enum { IW_SEQUENCE_OCTETS = 256 };

#endif
