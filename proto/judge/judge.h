/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_JUDGE_JUDGE_H
#define IW_JUDGE_JUDGE_H

/*
 * Judges the connections of this process: an observer looks on at each, both directions. What it
 * finds goes, as lines of JSON, to PID-N.jsonl in a folder at once, so that it is there however the
 * process ends; the octets go to PID-N.pcapng, if that is asked for. Whoever started the process
 * reads both (tools/run/).
 *
 * Lines: {"type": "process", "pid", "program", "capture"}, then for each connection "connection"
 * (number, local, remote, active), "agreed" (the start-up frames, once both were seen), "finding"
 * (as iwarp-lint prints them, and "line", "by": "us" or "peer", "frame" if it is in the capture),
 * "unknown" (framing is lost, and why), "closed" (octets and messages of both directions). The last
 * line, "end", says how many findings are not in the file, and whether the capture is whole.
 *
 * A connection takes some 5 KiB, and while octets wait for others that are missing, which does not
 * happen here, more. All functions, and the tap's, must not be called at the same time.
 */

#include <stdint.h>

#include "iwarp/tap.h"

enum { IW_JUDGE_FINDINGS = 10000 /* of a process; more are only counted */ };

struct iw_judge;

/* Creates the files in `folder`. `capture` bounds the octets that are recorded; 0: none are.
 * Returns NULL with errno set. */
struct iw_judge *iw_judge_create(const char *folder, uint64_t capture);
/* Returns the tap for iw_reactor_tap, which lives as long as the judge. */
const struct iw_tap *iw_judge_tap(struct iw_judge *j);
/* Before fork: leaves nothing that the child could write once more. */
void iw_judge_settle(struct iw_judge *j);
/* In the child of fork: leaves the files to the parent. The judge is gone, and looks at nothing
 * more; its memory stays. */
void iw_judge_leave(struct iw_judge *j);
/* The process ends: judges what is left and finishes the files. Calls of the tap do nothing from
 * then on. */
void iw_judge_finish(struct iw_judge *j);

#endif
