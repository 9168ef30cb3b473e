/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_EXEC_LOST_H
#define IW_SOCKETS_EXEC_LOST_H

/* What is left of an iWARP socket in a program that was executed: its number, a TCP socket that
 * says what it was by its TCP_USER_TIMEOUT. There it reports ECONNRESET. */

/* Marks the TCP socket, at its first number. What the program sees of the option is its own. */
void iw_exec_mark(int fd);
void iw_exec_unmark(int fd, unsigned user_timeout);

#endif
