/* SPDX-License-Identifier: BSD-3-Clause */
/* What only crafted connections can do. */
#include "iwarp/transport.h"
#include "station_internal.h"

const uint8_t *iw_conn_take(struct iw_conn *c, uint64_t *position, size_t *length)
{
    *position = c->written;
    *length = c->n_held;
    iw_exchange_data(c->station->exchange, c->state.number, false, c->held, c->n_held,
                     iw_transport_now());
    c->written += c->n_held;
    c->n_held = 0;
    c->corked = false;
    return c->held;
}

bool iw_conn_segment(struct iw_conn *c, uint64_t position, const void *octets, size_t length)
{
    if (c->tcp.craft == NULL || length > IW_CRAFT_MSS)
        return false;
    iw_craft_pump(c->station->host, iw_transport_now());
    c->heard = iw_craft_get_state(c->tcp.craft).heard;
    iw_craft_segment(c->tcp.craft, position, octets, length);
    return true;
}

/* Waits until the peer has sent more segments, or repeated more of them, than c remembers. */
static bool wait_for_more(struct iw_conn *c, bool repeats, uint64_t deadline)
{
    struct iw_craft_state now = {0};
    if (c->tcp.craft == NULL)
        return false;
    do {
        iw_craft_pump(c->station->host, iw_transport_now());
        now = iw_craft_get_state(c->tcp.craft);
    } while ((repeats ? now.repeats == c->repeats : now.heard == c->heard) && !now.reset &&
             iw_tcp_wait_host(c->station->host, deadline));
    return repeats ? now.repeats != c->repeats : now.heard != c->heard;
}

bool iw_conn_answered(struct iw_conn *c, uint64_t deadline)
{
    return wait_for_more(c, false, deadline);
}

bool iw_conn_repeated(struct iw_conn *c, uint64_t deadline)
{
    return wait_for_more(c, true, deadline);
}

bool iw_conn_acknowledge(struct iw_conn *c, bool on)
{
    if (c->tcp.craft != NULL) {
        c->repeats = iw_craft_get_state(c->tcp.craft).repeats;
        iw_craft_acknowledge(c->tcp.craft, on);
    }
    return c->tcp.craft;
}

bool iw_conn_window(struct iw_conn *c, uint16_t window)
{
    if (c->tcp.craft != NULL)
        iw_craft_window(c->tcp.craft, window);
    return c->tcp.craft;
}
