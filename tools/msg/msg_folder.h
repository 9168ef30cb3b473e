/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_FOLDER_H
#define MSG_FOLDER_H

/* The files that iwarp-msg serve sends: those below a folder, no link is followed. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens a file; `folder` -1: there are none. Returns it and its length, or -1 and the reason. */
int msg_folder_open(int folder, const char *path, uint64_t *length, const char **why);
/* Reads so many octets. Returns false if there are fewer, or they cannot be read. */
bool msg_folder_read(int file, uint8_t *octets, size_t length);

#endif
