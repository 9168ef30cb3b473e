/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_SETTINGS_H
#define IW_VERBS_SETTINGS_H

/* What the launcher asks of the library: the words of IWARP_VERBS, NAME=VALUE with commas between.
 */

#include <stdbool.h>
#include <stdint.h>

#include "iwarp/rules.h"

enum { IW_VERBS_SPIN = 20 };

struct iw_verbs_settings {
    bool crc, markers, rtr, responder_first, verbose;
    uint8_t revision;
    bool judge;                  /* into the folder that IWARP_RUN_FOLDER names */
    uint32_t mulpdu;             /* 0: from the EMSS */
    uint32_t spin;               /* us that a wait polls before it sleeps */
    uint64_t capture;            /* with judge: octets to be recorded; 0: none */
    struct iw_switches switches; /* of every connection */
};

/* Fills in *s from the words, or with what holds without any if `text` is NULL. Words that are not
 * known are passed over: a newer launcher may say more. */
void iw_verbs_read_settings(const char *text, struct iw_verbs_settings *s);

#endif
