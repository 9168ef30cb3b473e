/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_RECORDING_H
#define IW_TESTS_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include "folder.h"

#define PCAPS IW_SOURCE_DIR "/pcaps"

/* Golden captures (classic pcap, little endian) that tests change: read, altered, written into a
 * folder of the test's own. Each fails the test if it cannot do its part. */
enum { RECORDING_ROOM = 256 * 1024 };

struct recording {
    uint8_t octets[RECORDING_ROOM];
    size_t length;
};

/* `name` is a path below pcaps/. */
void recording_read(struct recording *r, const char *name);
/* The offset of frame `number` (from 1): its first octet, after the record's header. */
size_t recording_frame(const struct recording *r, unsigned number, size_t *length);
/* Leaves out the last `count` octets of a frame, as a short snap length does. */
void recording_shorten(struct recording *r, unsigned number, size_t count);
void recording_write(const struct recording *r, const struct folder *s, const char *name);

/* A scratch folder as cmocka's set-up and tear-down of a test; it is *state. */
int recording_setup(void **state);
int recording_teardown(void **state);

#endif
