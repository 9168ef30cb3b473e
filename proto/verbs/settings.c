/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/settings.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 128 };

static bool take_switch(struct iw_verbs_settings *s, const char *name, const char *value)
{
    static const char *const kinds[] = {[IW_SWITCH_IGNORE] = "ignore",
                                        [IW_SWITCH_OVERSTRICT] = "overstrict",
                                        [IW_SWITCH_VIOLATE] = "violate",
                                        [IW_SWITCH_BOTCH] = "botch"};
    const char *error;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(name, kinds[i]) == 0)
            return iw_switches_set(&s->switches, (enum iw_switch)i, value, &error) > 0;
    return false;
}

static void take(struct iw_verbs_settings *s, const char *name, const char *value)
{
    const bool on = strcmp(value, "on") == 0;
    if (strcmp(name, "crc") == 0)
        s->crc = on;
    else if (strcmp(name, "markers") == 0)
        s->markers = on;
    else if (strcmp(name, "rtr") == 0)
        s->rtr = on;
    else if (strcmp(name, "responder_first") == 0)
        s->responder_first = on;
    else if (strcmp(name, "verbose") == 0)
        s->verbose = on;
    else if (strcmp(name, "judge") == 0)
        s->judge = on;
    else if (strcmp(name, "capture") == 0)
        s->capture = strtoull(value, NULL, 10);
    else if (strcmp(name, "revision") == 0)
        s->revision = strcmp(value, "1") == 0 ? 1 : 2;
    else if (strcmp(name, "mulpdu") == 0)
        s->mulpdu = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(name, "spin") == 0)
        s->spin = (uint32_t)strtoul(value, NULL, 10);
    else
        take_switch(s, name, value);
}

void iw_verbs_read_settings(const char *text, struct iw_verbs_settings *s)
{
    *s = (struct iw_verbs_settings){
        .crc = true, .rtr = true, .responder_first = true, .revision = 2, .spin = IW_VERBS_SPIN};
    while (text != NULL && *text != '\0') {
        char word[WORD];
        size_t length = strcspn(text, ",");
        if (length < sizeof(word)) {
            memcpy(word, text, length);
            word[length] = '\0';
            char *value = strchr(word, '=');
            if (value != NULL) {
                *value = '\0';
                take(s, word, value + 1);
            }
        }
        text += length + (text[length] == ',');
    }
}
