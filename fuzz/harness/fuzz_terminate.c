/* SPDX-License-Identifier: BSD-3-Clause */
/* A Terminate's payload: decodes, encodes and names it; and makes the Terminate that the segment in
 * it would cause for each check. */
#include "decode.h"

#include "iwarp/rdmap.h"

static void answer(enum iw_check check, const struct iw_rdmap_terminate *t)
{
    const struct iw_check_info *info = iw_check_info(check);
    bool d = (t->flags & IW_TERM_D) != 0, r = (t->flags & IW_TERM_R) != 0;
    struct iw_rdmap_terminate made;
    iw_rdmap_terminate_for(check, d ? &t->ddp : NULL, r ? &t->read_request : NULL,
                           t->segment_length, &made);
    if (info->reaction != IW_REACTION_TERMINATE)
        return;
    IW_FUZZ_CHECK(made.layer == info->layer && made.etype == info->etype && made.code == info->code,
                  "terminate: %s brings another error than its own", info->name);
    IW_FUZZ_CHECK((d || (made.flags & IW_TERM_D) == 0) && (r || (made.flags & IW_TERM_R) == 0),
                  "terminate: %s returns a header that nobody gave", info->name);
    uint8_t octets[IW_TERM_MAX];
    int put = iw_wire_put_terminate(octets, sizeof(octets), &made);
    struct iw_rdmap_terminate read;
    IW_FUZZ_CHECK(put > 0 && iw_wire_get_terminate(octets, (size_t)put, &read) == put &&
                      read.trailing == 0 && read.flags == made.flags,
                  "terminate: what %s brings cannot be read", info->name);
}

static void run(const uint8_t *input, size_t length)
{
    const uint8_t *octets = iw_fuzz_fenced(input, length);

    IW_FUZZ_ROUND_TRIP("terminate", terminate, struct iw_rdmap_terminate, octets, length);
    struct iw_rdmap_terminate t;
    int got = iw_wire_get_terminate(octets, length, &t);
    if (got < 0)
        return;
    IW_FUZZ_CHECK((size_t)got + t.trailing == length, "terminate: octets are lost");
    IW_FUZZ_CHECK(iw_wire_term_name(t.layer, t.etype, t.code)[0] != '\0' &&
                      iw_wire_term_layer_name(t.layer)[0] != '\0',
                  "terminate: without a name");
    answer((enum iw_check)(t.reserved % IW_CHECK_COUNT), &t);
    answer((enum iw_check)(t.code % IW_CHECK_COUNT), &t);
}

const struct iw_fuzz_harness iw_fuzz_harness = {.name = "terminate", .most = 256, .run = run};
