/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets whose program ends after each connection, by design: each connection is with another one.
 */
#include "target_ends.h"
#include "iwarp/transport.h"
#include "target_instance.h"

/* From the end of a connection to that of its program, unless it is busy with something else. */
static const double end_seconds = 2;

/* Waits a moment for the end of the program. Returns whether it has ended. */
static bool await_end(struct iw_target_instance *t)
{
    double scale = t->scale > 1 ? t->scale : 1;
    return iw_process_await_end(&t->process,
                                iw_transport_now() + (uint64_t)(end_seconds * scale * 1e9));
}

int iw_target_renew(struct iw_target *target, char *error, size_t room)
{
    struct iw_target_instance *t = (struct iw_target_instance *)target;
    bool used = t->used;
    t->used = true;
    if (!used)
        return 0;
    if (await_end(t) && t->process.crashed)
        return 0; /* nothing comes after that */
    iw_process_free(&t->process);
    return iw_target_start_peer(t, error, room) == IW_TARGET_OPENED ? 0 : -1;
}

void iw_target_await_end(struct iw_target_instance *t)
{
    if (t->spec->ends_connection && t->used)
        await_end(t);
}

bool iw_target_probe_end(struct iw_target_instance *t)
{
    return t->spec->start != NULL && t->spec->class != IW_TARGET_AGENT && t->target.port != 0 &&
           iw_target_ask(t) != IW_ALIVE_SILENT && await_end(t) && !t->process.crashed;
}
