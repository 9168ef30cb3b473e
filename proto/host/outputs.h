/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_OUTPUTS_H
#define IW_HOST_OUTPUTS_H

/* The files that a command line names for output, for every program that has two such options. */

#include <stdbool.h>
#include <stddef.h>

struct iw_host_output {
    const char *option; /* without the dashes */
    const char *path;   /* NULL: not wanted */
};

/* Finds two outputs that are one file, also by another spelling or through a link. What is no
 * regular file (/dev/null, a terminal) may be named twice. Opens and makes nothing. Returns -1 if
 * there are none, else IW_EXIT_USAGE after printing one line that names both options. */
int iw_host_check_outputs(const struct iw_host_output *outputs, size_t count);
/* Returns whether a file can be written, as far as that can be seen without making it; prints one
 * line if it cannot. For an output that is only opened at the end of long work. */
bool iw_host_writable(const char *path);

#endif
