/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_VERBS_EXTRA_H
#define IW_SOCKETS_VERBS_EXTRA_H

/* What our libibverbs.so.1 can do and no other: verbs/fork_keep.h, verbs/mixed_listen.h,
 * verbs/call_series.h. */

#include <stddef.h>

struct iw_verbs_fork {
    void (*keep)(const int *files, size_t count);
    int (*take)(int file);
    int (*leave)(int file);
};

struct iw_verbs_mixed {
    int (*begin)(unsigned wait_ms);
    int (*end)(void);
};

struct iw_verbs_series {
    void (*begin)(void);
    void (*end)(void);
};

/* Has our verbs, if they are these, be as rsockets and programs of sockets expect
 * (verbs/port_release.h, verbs/spare_receives.h). */
void iw_verbs_be_gentle(void);
/* Return the functions, or NULL if the verbs are not ours. */
const struct iw_verbs_fork *iw_verbs_fork(void);
const struct iw_verbs_mixed *iw_verbs_mixed(void);
const struct iw_verbs_series *iw_verbs_series(void);

#endif
