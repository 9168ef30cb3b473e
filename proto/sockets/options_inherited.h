/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_OPTIONS_INHERITED_H
#define IW_SOCKETS_OPTIONS_INHERITED_H

/* Gives a connection that was accepted the options of its listener, as the system does. */
void iw_options_inherit(int listener, int fd);

#endif
