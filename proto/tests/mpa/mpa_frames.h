/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up frames in hexadecimal, for tests. */
#ifndef MPA_FRAMES_H
#define MPA_FRAMES_H

#include "mpa_support.h"

/* The keys of Request and Reply. */
#define REQ "4d504120494420526571204672616d65"
#define REP "4d504120494420526570204672616d65"

/* The default config but for these two. */
struct iw_mpa_config mpa_config_of(uint8_t revision, bool enhanced);

/* The three strings as one, in `out`. */
const char *mpa_join(char out[80], const char *a, const char *b, const char *c);

/* Feeds a frame of which every octet must be taken. */
void mpa_feed_frame(struct iw_mpa_startup *s, const char *hex);

/* Takes the output, which must be these octets. */
void mpa_assert_output(struct iw_mpa_startup *s, const char *hex);

void mpa_assert_private(const struct iw_mpa_startup *s, const char *hex);

struct iw_mpa_startup mpa_initiator(const struct iw_mpa_config *config, const char *private_hex);
struct iw_mpa_startup mpa_responder(const struct iw_mpa_config *config);
/* An initiator whose Request is out. */
struct iw_mpa_startup mpa_waiting(const struct iw_mpa_config *config);

#endif
