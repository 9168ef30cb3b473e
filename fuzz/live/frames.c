/* SPDX-License-Identifier: BSD-3-Clause */
#include "frames.h"

#include <string.h>

#include "iwarp/octets.h"
#include "iwarp/wire.h"
#include "live_plan.h"

enum { QUEUES = 4 };

/* Returns where in the stream of octets those of step `at` begin. */
static size_t begin_of(const struct iw_hunt_input *in, size_t at)
{
    size_t begins = 0;

    for (size_t i = 0; i < at; i++)
        begins += iw_hunt_sends(&in->steps[i]) ? in->steps[i].length : 0;
    return begins;
}

void iw_hunt_frames_apart(struct iw_hunt_input *in)
{
    struct iw_hunt_plan p = {0};

    iw_hunt_plan_make(&p, in);
    for (size_t u = 1; u < p.n_units; u++) {
        size_t at = p.units[u].at, i = 0;

        while (i < in->n && begin_of(in, i + 1) <= at)
            i++;
        if (i < in->n && begin_of(in, i) < at)
            iw_hunt_split(in, i, at - begin_of(in, i));
    }
    iw_hunt_plan_free(&p);
}

bool iw_hunt_frames_begins(const struct iw_hunt_input *in, size_t at)
{
    struct iw_hunt_plan p = {0};
    bool is = false;

    iw_hunt_plan_make(&p, in);
    for (size_t u = 0; u < p.n_units && iw_hunt_sends(&in->steps[at]); u++)
        is |= p.units[u].at == begin_of(in, at);
    iw_hunt_plan_free(&p);
    return is;
}

static void number(uint8_t *fpdu, uint32_t next[QUEUES])
{
    size_t length = iw_get16(fpdu);
    struct iw_ddp_header header;

    if (iw_wire_get_ddp(fpdu + 2, length, &header) < 0 || iw_ddp_tagged(&header) ||
        header.qn >= QUEUES)
        return;
    header.msn = next[header.qn];
    next[header.qn] += iw_ddp_last(&header);
    iw_wire_put_ddp(fpdu + 2, length, &header);
    iw_hunt_fpdu(fpdu + 2, length, fpdu);
}

void iw_hunt_frames_renumber(struct iw_hunt_input *in)
{
    uint32_t next[QUEUES] = {1, 1, 1, 1};
    struct iw_hunt_plan p = {0};
    size_t at = 0;

    iw_hunt_plan_make(&p, in);
    for (size_t u = 0; u < p.n_units; u++)
        if (p.units[u].kind == IW_UNIT_FPDU)
            number(p.octets + p.units[u].at, next);
    for (size_t i = 0; i < in->n; i++)
        if (iw_hunt_sends(&in->steps[i]) && in->steps[i].length) {
            memcpy(in->steps[i].octets, p.octets + at, in->steps[i].length);
            at += in->steps[i].length;
        }
    iw_hunt_plan_free(&p);
}
