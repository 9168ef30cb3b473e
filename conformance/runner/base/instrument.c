/* SPDX-License-Identifier: BSD-3-Clause */
#include "instrument.h"

#include <string.h>

static const char *const names[IW_INSTRUMENT_COUNT] = {
    [IW_INSTRUMENT_EMPTY_READ] = "empty-read", [IW_INSTRUMENT_READ] = "read",
    [IW_INSTRUMENT_WRITE] = "write",           [IW_INSTRUMENT_ECHO] = "echo",
    [IW_INSTRUMENT_TERMINATE] = "terminate",
};

const char *iw_instrument_name(enum iw_instrument instrument)
{
    return names[instrument];
}

bool iw_instrument_find(const char *name, enum iw_instrument *out)
{
    for (int i = 0; i < IW_INSTRUMENT_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (enum iw_instrument)i;
            return true;
        }
    }
    return false;
}

enum iw_ability iw_instrument_ability(const struct iw_instruments *all, enum iw_mpa_role role,
                                      enum iw_instrument instrument)
{
    return all != NULL ? all->of[role][instrument] : IW_ABILITY_UNKNOWN;
}
