/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_PLAY_H
#define IW_TESTS_PLAY_H

#include "script/script_case.h"
#include "script/script_run.h"

/* Plays a case given as text: written to a file of its own, loaded, run. The file's name is
 * play_file. */
extern char play_file[256];
extern const struct iw_run_options play_options;

void play_write(const char *text);
/* Loading it must fail; the error line, without the file's name in front. */
const char *play_load_error(const char *text, const struct iw_run_options *options);
struct iw_result play_case(const char *text, struct iw_target *target,
                           const struct iw_run_options *options);
/* The same with `body` as the run function of a case for a responder, from line 3 on. */
struct iw_result play_body(const char *body, struct iw_target *target,
                           const struct iw_run_options *options);
void play_remove(void);

#endif
