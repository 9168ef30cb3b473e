/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_MUTEX_H
#define IW_VERBS_MUTEX_H

/* The mutex of the process. Its holder runs for those of a higher priority that wait for it, and is
 * not cancelled: what it calls would be points of cancellation. */

#include <stdbool.h>

/* Makes the mutex, when the library is loaded and in the child of a fork: free, whoever held it. */
void iw_verbs_mutex_make(void);
void iw_verbs_mutex_take(void);
/* Gives up after a second. Returns whether it has the mutex. */
bool iw_verbs_mutex_try(void);
void iw_verbs_mutex_release(void);
/* The holder keeps the mutex from here on, whatever it releases, until it no longer does; then it
 * holds it as before. */
void iw_verbs_mutex_keep(bool keep);
bool iw_verbs_mutex_kept(void);

#endif
