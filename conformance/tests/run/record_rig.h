/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_RECORD_RIG_H
#define IW_TESTS_RECORD_RIG_H

/* A record whose entries the test makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/run_record.h"

enum { RECORD_ENTRIES = 10 };

extern struct iw_entry entries[RECORD_ENTRIES];
extern struct iw_record record;

/* Sets up a record without entries. */
int record_begin(void **state);
/* Frees its findings. */
int record_end(void **state);

#endif
