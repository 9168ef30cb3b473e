/* SPDX-License-Identifier: BSD-3-Clause */
#include "conn_judge.h"

#include "host/text.h"
#include "iwarp/crc32c.h"
#include "station_internal.h"

struct judge {
    struct iw_observer *observer;
    enum iw_side peer;
    iw_conn_found *found;
    void *context;
};

static void seen(void *context, const struct iw_observation *o)
{
    const struct judge *j = context;
    if (o->kind == IW_OBSERVED_FINDING && o->side == j->peer)
        j->found(j->context, &o->fault, iw_quirk_shown(o->quirks, o->fault.check), o->cause);
}

static void take(void *context, bool from_peer, uint64_t position, const uint8_t *octets,
                 size_t length, bool reset)
{
    struct judge *j = context;
    enum iw_side side = from_peer ? j->peer : iw_observed_other(j->peer);
    if (length > 0)
        iw_observer_input(j->observer, side, position, octets, length);
    else
        iw_observer_end(j->observer, side, position, reset);
}

void iw_conn_judge(const struct iw_conn *c, iw_conn_found *found, void *context)
{
    struct judge j = {.peer = iw_conn_peer_side(c), .found = found, .context = context};
    struct iw_observer_config config = {.crc32c = iw_crc32c_best(),
                                        .context = &j,
                                        .seen = seen,
                                        .extensions = true,
                                        .intact = true,
                                        .no_quirks = c->station->no_quirks};
    config.quirks[j.peer] = c->station->quirks;
    if (c->found[IW_CHECK_MPA_CRC_ABSENT] != NULL) /* time has shown it, too */
        config.quirks[j.peer] |= iw_quirk_bit(IW_QUIRK_CRC_ABSENT);
    if (c->found[IW_CHECK_MPA_LENGTH_ORDER] != NULL)
        config.quirks[j.peer] |= iw_quirk_bit(IW_QUIRK_LENGTH_ORDER);
    j.observer = iw_got(iw_observer_new(&config));
    iw_exchange_relate(c->station->exchange, c->state.number, take, &j);
    if (c->found[IW_CHECK_MPA_PD_LENGTH] != NULL) /* its frame was waited for in vain */
        iw_observer_settle(j.observer, j.peer);
    iw_observer_free(j.observer);
}
