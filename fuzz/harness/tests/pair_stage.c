/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair_stage.h"

struct iw_station *initiator, *responder;

int pair_start(void **state)
{
    (void)state;
    iw_fuzz_harness.start();
    spy_noted("0 is the initiator, initiator\n1 is the responder, responder\n");
    initiator = fake.station[0];
    responder = fake.station[1];
    initiator->now = 5;
    responder->now = 6;
    return 0;
}

void pair_close_both(struct iw_station *s, const char *call)
{
    if (strcmp(call, "create") == 0)
        s->events = 1u << IW_EVENT_CLOSED;
}

void pair_again(void)
{
    fake_reset();
    fake.hook = pair_close_both;
}
