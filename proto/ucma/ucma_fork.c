/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that outlive a fork: parked before it, and taken by the process that uses them. */
#include "ucma/ucma.h"

#include "verbs/fork_keep.h"

#include <errno.h>
#include <stdlib.h>

static const int *kept;
static size_t kept_count;

static void park(void)
{
    for (size_t i = 0; i < kept_count; i++) {
        struct iw_ucma_file *file = iw_ucma_file_of(kept[i]);
        struct iw_ucma_id *id = file != NULL ? LIST_FIRST(&file->ids) : NULL;
        for (; id != NULL; id = LIST_NEXT(id, entry)) {
            if (id->state == IW_UCMA_CONNECTED && id->link != NULL)
                iw_verbs_link_park(id->link);
            if (id->listener != NULL && !id->parked) {
                iw_listener_park(id->listener);
                id->parked = true;
            }
        }
    }
    iw_verbs_keep_counts(kept_count > 0);
    kept_count = 0;
}

IW_VERBS_EXPORT void iwarp_fork_keep(const int *files, size_t count)
{
    kept = files;
    kept_count = count;
    iw_verbs_before_fork(park);
}

static bool take(struct iw_ucma_id *id)
{
    if (id->link != NULL && !iw_verbs_link_unpark(id->link))
        return false;
    if (id->parked && !iw_listener_unpark(id->listener, iw_verbs_reactor()))
        return false;
    id->parked = false;
    return true;
}

static bool leave(struct iw_ucma_id *id)
{
    if (id->link != NULL && !iw_verbs_link_part(id->link))
        return false;
    if (!id->parked)
        return true;
    iw_verbs_link_stop(id->listener, id);
    free(id->listener_memory);
    id->listener = NULL;
    id->listener_memory = NULL;
    id->parked = false;
    id->state = IW_UCMA_OVER;
    return true;
}

static bool act_on(int fd, bool (*act)(struct iw_ucma_id *id))
{
    bool good = true;
    struct iw_ucma_file *file = iw_ucma_file_of(fd);
    struct iw_ucma_id *id = file != NULL ? LIST_FIRST(&file->ids) : NULL;
    for (; id != NULL; id = LIST_NEXT(id, entry))
        good = act(id) && good;
    if (!good)
        errno = ENOMEM;
    return good;
}

IW_VERBS_EXPORT int iwarp_fork_take(int file)
{
    iw_verbs_lock();
    const bool good = act_on(file, take);
    iw_verbs_cover();
    iw_verbs_unlock();
    return good ? 0 : -1;
}

/* In a child that has begun nothing yet. */
static bool close_only(struct iw_ucma_id *id)
{
    if (id->link != NULL && id->link->parked)
        iw_connection_leave(id->link->connection);
    return true;
}

IW_VERBS_EXPORT int iwarp_fork_leave(int file)
{
    if (!iw_verbs_lock_running())
        return act_on(file, close_only) ? 0 : -1;
    const bool good = act_on(file, leave);
    iw_verbs_cover();
    iw_verbs_unlock();
    return good ? 0 : -1;
}
