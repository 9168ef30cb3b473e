/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follow stream: the ULP's octets of a connection, in each direction. */
#include "iwarp_dissector.h"

#include <epan/follow.h>
#include <epan/tap.h>

static int tap;

void iwd_tap_payload(tvbuff_t *tvb, packet_info *pinfo)
{
    if (have_tap_listener(tap))
        tap_queue_packet(tap, pinfo, tvb);
}

/* A connection is TCP's: its stream number and filters are TCP's. */
void iwd_register_stream(int proto)
{
    register_follow_t *tcp = get_follow_by_name("TCP");

    if (tcp == NULL)
        return;
    tap = register_tap("iwarp_follow");
    iwd_register_follow(proto, "iwarp_follow", get_follow_conv_func(tcp),
                        get_follow_index_func(tcp), get_follow_address_func(tcp),
                        get_follow_port_to_display(tcp), follow_tvb_tap_listener);
}
