/* SPDX-License-Identifier: BSD-3-Clause */
#include "instrument.h"

#include <string.h>

static const char *const names[IW_INSTRUMENT_COUNT] = {
    [IW_INSTRUMENT_EMPTY_READ] = "empty-read",
    [IW_INSTRUMENT_PLAIN_READ] = "plain-read",
    [IW_INSTRUMENT_READ] = "read",
    [IW_INSTRUMENT_EMPTY_READ_OF_BUFFER] = "empty-read-of-buffer",
    [IW_INSTRUMENT_WRITE] = "write",
    [IW_INSTRUMENT_ECHO] = "echo",
    [IW_INSTRUMENT_TERMINATE] = "terminate",
};

static const char *const abilities[] = {
    [IW_ABILITY_WORKS] = "works",
    [IW_ABILITY_SILENT] = "silent",
    [IW_ABILITY_ENDS] = "ends",
    [IW_ABILITY_ODD] = "odd",
};

enum { RULES = 3 };

static const char *const rules[IW_INSTRUMENT_COUNT][RULES] = {
    [IW_INSTRUMENT_EMPTY_READ] = {"RDMAP-5.2.1-15", "RDMAP-5.2.1-16", "RDMAP-5.2.1-13"},
    [IW_INSTRUMENT_READ] = {"RDMAP-5.2.1-12"},
    [IW_INSTRUMENT_EMPTY_READ_OF_BUFFER] = {"RDMAP-5.2.1-16"},
    [IW_INSTRUMENT_WRITE] = {"RDMAP-5.1-02"},
    [IW_INSTRUMENT_ECHO] = {"RDMAP-5.3-02"},
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

const char *iw_ability_name(enum iw_ability ability)
{
    return abilities[ability];
}

bool iw_ability_find(const char *name, enum iw_ability *out)
{
    for (int i = IW_ABILITY_WORKS; i <= IW_ABILITY_ODD; i++) {
        if (strcmp(abilities[i], name) == 0) {
            *out = (enum iw_ability)i;
            return true;
        }
    }
    return false;
}

bool iw_instrument_serves(enum iw_instrument instrument, const struct iw_rule *rule)
{
    for (size_t i = 0; i < RULES && rules[instrument][i] != NULL; i++)
        if (strcmp(rules[instrument][i], rule->id) == 0)
            return true;
    return false;
}

enum iw_ability iw_instrument_ability(const struct iw_instruments *all, enum iw_mpa_role role,
                                      enum iw_instrument instrument)
{
    return all != NULL ? all->of[role][instrument] : IW_ABILITY_UNKNOWN;
}
