/* SPDX-License-Identifier: BSD-3-Clause */
/* How the embedded target and the station against it start up: "embedded,crc=off,markers=both". */
#include <string.h>

#include "target_spec.h"

/* One option of the agent. As each key is taken once there is room for all. */
static void argument(struct iw_target_spec *spec, const char *text)
{
    size_t n = 0;
    while (spec->arguments[n] != NULL)
        n++;
    spec->arguments[n] = text;
}

static const char *take_crc(struct iw_target_spec *spec, const char *value)
{
    bool off = strcmp(value, "off") == 0;
    if (!off && strcmp(value, "on") != 0)
        return "on or off";
    spec->startup.crc = !off;
    argument(spec, off ? "--crc=off" : "--crc=on");
    return NULL;
}

/* Who asks for Markers in what it receives. */
static const char *take_markers(struct iw_target_spec *spec, const char *value)
{
    bool both = strcmp(value, "both") == 0, target = strcmp(value, "target") == 0;
    bool station = strcmp(value, "station") == 0;
    if (!both && !target && !station && strcmp(value, "none") != 0)
        return "both, target, station or none";
    spec->startup.markers = both || station;
    argument(spec, both || target ? "--markers=on" : "--markers=off");
    return NULL;
}

/* 0: the station is an end of the RDMA Consortium's, and the target permissive (RFC 5044 Appendix
 * C): there Markers and CRCs are no choice, and RFC 7306 is unknown. 2-plain: revision 2 without
 * RFC 6581's block. */
static const struct revision {
    const char *value;
    uint8_t revision;
    bool enhanced;
    const char *arguments[4];
    const char *refused[3];
} revisions[] = {
    {"0",
     0,
     false,
     {"--revision=1", "--permissive=on", "--extensions=off"},
     {"crc.off", "markers.off"}},
    {"1", 1, false, {"--revision=1"}, {NULL}},
    {"2", 2, true, {"--revision=2"}, {NULL}},
    {"2-plain", 2, false, {"--revision=2", "--enhanced=off"}, {NULL}},
    {.value = NULL},
};

static const char *take_revision(struct iw_target_spec *spec, const char *value)
{
    const struct revision *r = revisions;
    while (r->value != NULL && strcmp(r->value, value) != 0)
        r++;
    if (r->value == NULL)
        return "0, 1, 2 or 2-plain";
    spec->startup.revision = r->revision;
    spec->startup.enhanced = r->enhanced;
    for (const char *const *text = r->arguments; *text != NULL; text++)
        argument(spec, *text);
    for (const char *const *text = r->refused; *text != NULL; text++)
        iw_target_add(spec, false, *text);
    if (r->revision < 2)
        iw_target_add_revision(spec, "1");
    return NULL;
}

const char *iw_target_take_embedded(struct iw_target_spec *spec, const char *key, const char *value)
{
    static const struct {
        const char *key;
        const char *(*take)(struct iw_target_spec *spec, const char *value);
    } keys[] = {{"crc", take_crc}, {"markers", take_markers}, {"revision", take_revision}};

    for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        if (strcmp(key, keys[i].key) != 0)
            continue;
        if (spec->taken & 1u << i)
            return "each key once";
        spec->taken |= 1u << i;
        return keys[i].take(spec, value);
    }
    return "one of crc, markers, revision";
}
