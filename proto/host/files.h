/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_FILES_H
#define IW_HOST_FILES_H

/* Folders and files that the program writes, and small ones that it reads. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { IW_FILE_UNOPENED = -1, IW_FILE_UNREAD = -2 };

/* Returns the folder of this program's own file. The caller frees it. */
char *iw_own_folder(void);
/* Makes a folder and those above it. Returns 0, or -1 with errno. */
int iw_folder_create(const char *path);
/* Makes "PARENT/<UTC time>-<name>". No other run gets the same one, even if several start within
 * one second. Returns its path, which the caller frees, or NULL with errno. */
char *iw_folder_new(const char *parent, const char *name);
/* Returns the path as the folder of work sees it, for reports that are read elsewhere: "a/b", or
 * "../a" for what lies beside that folder. Does not follow links. The caller frees it. */
char *iw_path_relative(const char *path);
/* Reads the first `most` octets of a file, and leaves no copy of them elsewhere: they may be a
 * secret. Returns how many there are, or IW_FILE_UNOPENED or IW_FILE_UNREAD with errno. */
ssize_t iw_file_read_at_most(const char *path, void *into, size_t most);
/* Opens a file to be written. Returns NULL after printing an error. */
FILE *iw_open_output(const char *path);
/* Closes the file. Returns false, after printing an error, if not everything could be written. */
bool iw_close_output(FILE *f, const char *path);
/* Returns the number of CPUs that this process may use. */
unsigned iw_cpus(void);
/* Raises the limit of this process's descriptors to `wanted`, or as far as the system allows.
 * Returns the limit that there is then; UINT64_MAX if the system does not say or change it. */
uint64_t iw_descriptors_raise(uint64_t wanted);

#endif
