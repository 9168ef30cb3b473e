/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucma/ucma.h"

#include <errno.h>
#include <stdlib.h>

enum { BUCKETS = 1024 };
LIST_HEAD(bucket, iw_ucma_id);
static struct bucket table[BUCKETS];
static unsigned count;
static uint32_t lowest = 1; /* no handle below it is free */

static struct iw_ucma_id *find(uint32_t handle)
{
    struct iw_ucma_id *id = LIST_FIRST(&table[handle % BUCKETS]);
    while (id != NULL && id->handle != handle)
        id = LIST_NEXT(id, table_entry);
    return id;
}

struct iw_ucma_id *iw_ucma_id_find(struct iw_ucma_file *file, uint32_t handle)
{
    struct iw_ucma_id *id = find(handle);
    return id != NULL && id->file == file ? id : NULL;
}

/* The ports are the parent's, but for those that outlive the fork. */
static void forked(void)
{
    struct iw_ucma_id *id;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (id = LIST_FIRST(&table[i]); id != NULL; id = LIST_NEXT(id, table_entry)) {
            if (id->parked)
                continue;
            if (id->fd >= 0)
                iw_ucma_real_close(id->fd);
            id->fd = -1;
            if (id->state == IW_UCMA_LISTENING)
                id->state = IW_UCMA_OVER;
        }
    iw_ucma_kept_forget();
}

struct iw_ucma_id *iw_ucma_id_create(struct iw_ucma_file *file, uint64_t uid)
{
    struct iw_ucma_id *id = count < IW_UCMA_IDS ? calloc(1, sizeof(*id)) : NULL;
    if (id == NULL)
        return NULL;
    count++;
    iw_verbs_at_fork(forked);
    while (find(lowest) != NULL)
        lowest++;
    id->handle = lowest++;
    id->uid = uid;
    id->file = file;
    id->fd = id->plain = -1;
    LIST_INSERT_HEAD(&file->ids, id, entry);
    LIST_INSERT_HEAD(&table[id->handle % BUCKETS], id, table_entry);
    return id;
}

void iw_ucma_id_destroy(struct iw_ucma_id *id)
{
    iw_ucma_events_drop(id);
    iw_ucma_abandon(id);
    if (id->fd >= 0 && id->state == IW_UCMA_LISTENING)
        iw_ucma_keep(id->fd, &id->source);
    else if (id->fd >= 0)
        iw_ucma_real_close(id->fd);
    if (id->plain >= 0)
        iw_ucma_real_close(id->plain);
    LIST_REMOVE(id, entry);
    LIST_REMOVE(id, table_entry);
    if (id->handle < lowest)
        lowest = id->handle;
    count--;
    free(id);
}
