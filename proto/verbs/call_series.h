/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_CALL_SERIES_H
#define IW_VERBS_CALL_SERIES_H

/*
 * Calls of verbs that belong together, for the preloaded library of sockets: functions of our
 * libibverbs.so.1 with the version IWARP_1.0, which it looks up with dlsym. One rsend posts a Write
 * and a Send, one rrecv polls several times: in a series they take the engine's lock once, and what
 * they post leaves together.
 */

/* Begins a series of this thread's. In it, call nothing that waits: nobody else drives meanwhile.
 */
void iwarp_series_begin(void);
/* Ends it. What has been posted is sent if the peer has sent a message since this last happened,
 * because it may wait for the answer, or if nobody is sure to poll soon; else it is gathered as
 * outside a series. */
void iwarp_series_end(void);

#endif
