/* SPDX-License-Identifier: BSD-3-Clause */
#include "capability.h"

#include <stdio.h>
#include <string.h>

#include "iwarp/nearest.h"

enum { VALUES = 3 };

static const struct capability {
    const char *name;
    const char *values[VALUES];
    bool counted; /* a number may follow it */
} capabilities[] = {
    {.name = "agent"},
    {.name = "memory", .values = {"read", "write", "atomic"}},
    {.name = "crc", .values = {"on", "off"}},
    {.name = "markers", .values = {"on", "off"}},
    {.name = "revision", .values = {"1", "2"}},
    {.name = "enhanced"},
    {.name = "peer_to_peer"},
    {.name = "rtr", .values = {"send", "write", "read"}},
    {.name = "read"},
    {.name = "empty_read"},
    {.name = "echo"},
    {.name = "terminate"},
    {.name = "send"},
    {.name = "reject"},
    {.name = "private", .counted = true},
    {.name = "reconnect"},
    {.name = "rping", .counted = true},
    {.name = "extensions", .values = {"off"}},
    {.name = "ird", .counted = true},
    {.name = "windows"},
    {.name = "streaming"},
    {.name = "tcp", .values = {"crafted"}},
    {.name = "class", .values = {"bare", "rping", "agent"}},
};

enum { COUNT = sizeof(capabilities) / sizeof(*capabilities) };

const char *iw_capability_at(size_t index)
{
    return index < COUNT ? capabilities[index].name : NULL;
}

static bool fits(const struct capability *c, const char *word)
{
    if (c->counted && *word && strspn(word, "0123456789") == strlen(word))
        return true;
    for (size_t i = 0; i < VALUES && c->values[i] != NULL; i++)
        if (strcmp(word, c->values[i]) == 0)
            return true;
    return false;
}

/* The name, or name and word, that is nearest to `capability`; "" if none is near. */
static void suggest(const char *capability, char *suggestion, size_t room)
{
    char whole[IW_NEAREST_WORD];
    struct iw_nearest n;
    iw_nearest_begin(&n, capability);
    for (size_t i = 0; i < COUNT * (VALUES + 1); i++) {
        const struct capability *c = &capabilities[i / (VALUES + 1)];
        size_t k = i % (VALUES + 1);
        unsigned least = n.least;

        if (k && c->values[k - 1] == NULL)
            continue;
        snprintf(whole, sizeof(whole), "%s%s%s", c->name, k ? "." : "", k ? c->values[k - 1] : "");
        iw_nearest_offer(&n, whole);
        if (n.least < least)
            snprintf(suggestion, room, "%s", whole);
    }
}

bool iw_capability_known(const char *capability, char *error, size_t room)
{
    char suggestion[IW_NEAREST_WORD] = "";
    size_t n = strcspn(capability, ".");
    for (size_t i = 0; i < COUNT; i++)
        if (strlen(capabilities[i].name) == n &&
            strncmp(capabilities[i].name, capability, n) == 0 &&
            (!capability[n] || fits(&capabilities[i], capability + n + 1)))
            return true;
    suggest(capability, suggestion, sizeof(suggestion));
    snprintf(error, room, "a capability; '%.64s' is none%s%s%s", capability,
             *suggestion ? " (did you mean '" : "; there are", suggestion,
             *suggestion ? "'?)" : "");
    for (size_t i = 0; *suggestion == 0 && i < COUNT; i++) {
        size_t at = strlen(error);
        snprintf(error + at, room - at, "%s %s", i > 0 ? "," : "", capabilities[i].name);
    }
    return false;
}
