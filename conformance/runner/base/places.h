/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_PLACES_H
#define IW_RUNNER_PLACES_H

/* Where the suite's files are. */

/* Returns the folder with lib/, cases/ and targets/: beside an installed program, else in the
 * source tree. The caller frees it. */
char *iw_conformance_folder(void);
/* Returns the folder of the vocabulary (lib/). The caller frees it. */
char *iw_library(void);
/* Returns the program of the embedded target: `said`, else $IWARP_AGENT, else iwarp-agent beside
 * this program. The caller frees it. */
char *iw_agent(const char *said);

#endif
