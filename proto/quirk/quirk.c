/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "iwarp/quirk.h"

static const struct {
    const char *name, *text;
    enum iw_check check;
} quirks[IW_QUIRK_COUNT] = {
    [IW_QUIRK_TERMINATE_REVERSED] = {"terminate-reversed",
                                     "the control word of the Terminate is in reversed bit order",
                                     IW_CHECK_RDMAP_TERMINATE_REVERSED},
};

const char *iw_quirk_name(enum iw_quirk quirk)
{
    return quirks[quirk].name;
}

const char *iw_quirk_text(enum iw_quirk quirk)
{
    return quirks[quirk].text;
}

enum iw_check iw_quirk_check(enum iw_quirk quirk)
{
    return quirks[quirk].check;
}

bool iw_quirk_find(const char *name, enum iw_quirk *out)
{
    for (int i = 0; i < IW_QUIRK_COUNT; i++) {
        if (strcmp(quirks[i].name, name) == 0) {
            *out = (enum iw_quirk)i;
            return true;
        }
    }
    return false;
}

bool iw_quirk_of(enum iw_check check, enum iw_quirk *out)
{
    for (int i = 0; i < IW_QUIRK_COUNT; i++) {
        if (quirks[i].check == check) {
            *out = (enum iw_quirk)i;
            return true;
        }
    }
    return false;
}
