/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_ALIGN_H
#define IW_RUNNER_ALIGN_H

/* Puts the messages of two exchanges beside each other. */

#include <jansson.h>
#include <stddef.h>

/* Two messages of the same kind; NULL: the other side has none. */
struct iw_message_pair {
    const json_t *a, *b;
};

/* Aligns two lists of messages ("exchange" of run.schema.json) by what they are: the connection,
 * the side that sends, and the kind of message. As many as possible get a partner, all stay in
 * their order, and a stimulus never stands beside an answer. Returns the pairs, which the caller
 * frees, and their number. */
struct iw_message_pair *iw_align(const json_t *a, const json_t *b, size_t *count);

#endif
