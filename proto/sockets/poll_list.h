/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_POLL_LIST_H
#define IW_SOCKETS_POLL_LIST_H

/* poll() on a list that holds iWARP sockets. */

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns whether the list holds an iWARP socket. (Not const: the header says that poll does not
 * read its list.) */
bool iw_poll_list_has(struct pollfd *list, nfds_t count);
/* Does what ppoll does until `until` (rsocket_wait.h), with the signal mask *mask during the wait
 * (NULL: as it is). Returns what poll returns. */
int iw_poll_list(struct pollfd *list, nfds_t count, uint64_t until, const sigset_t *mask);

#endif
