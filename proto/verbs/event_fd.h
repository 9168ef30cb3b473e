/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_EVENT_FD_H
#define IW_VERBS_EVENT_FD_H

/* The eventfds that programs wait for: which descriptors they are, who has driven one, and how
 * often each was made readable, which a child of fork does not share. All but iw_verbs_real_poll,
 * iw_verbs_own, iw_verbs_driven and iw_verbs_event_drive need the engine's lock. */

#include <poll.h>
#include <stdbool.h>

/* Does what poll() does, which may be ucma/'s. */
int iw_verbs_real_poll(struct pollfd *list, nfds_t count, int ms);
/* Make an eventfd readable, and take what it has. Not by write() and read(), which may be ucma/'s.
 */
void iw_verbs_event_write(int fd);
void iw_verbs_event_read(int fd);

/* Descriptors whose events this library makes: `ours` at creation, and before they are closed
 * false. A program that waits for one in poll() drives, too. */
void iw_verbs_own(int fd, bool ours);
/* Returns whether a program waits for a descriptor by means that drive. */
bool iw_verbs_driven(int fd);
/* Marks those of a list that are ours as driven; not one that another thread gives up at the same
 * time. Returns whether there is one. */
bool iw_verbs_event_drive(const struct pollfd *list, nfds_t count);

/* Makes `fd` readable once more. */
void iw_verbs_event_add(int fd);
/* Undoes one iw_verbs_signal. */
void iw_verbs_unsignal(int fd);

/* Before a fork: descriptors of events keep their counts in the child. */
void iw_verbs_keep_counts(bool keep);
/* In the child: gives each descriptor of ours a count of its own. */
void iw_verbs_event_part(void);

#endif
