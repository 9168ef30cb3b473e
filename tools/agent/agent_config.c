/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_endpoint.h"
#include "endpoint_options.h"

#include <string.h>

enum { FIELDS = 18 };

/* What `config` has that is not taken as it is. */
struct lists {
    const json_t *rtr, *ignore, *overstrict, *violate, *botch;
    uint64_t timeout_ms;
};

static void make_fields(struct iw_endpoint_config *c, struct lists *l, struct agent_field *out)
{
    const struct agent_field fields[FIELDS] = {
        {"revision", AGENT_NUMBER, false, 2, AGENT_INTO(c->mpa.revision)},
        AGENT_PLAIN("permissive", AGENT_BOOL, false, c->mpa.permissive),
        AGENT_PLAIN("crc", AGENT_BOOL, false, c->mpa.crc),
        AGENT_PLAIN("markers", AGENT_BOOL, false, c->mpa.markers),
        AGENT_PLAIN("enhanced", AGENT_BOOL, false, c->mpa.enhanced),
        AGENT_PLAIN("peer_to_peer", AGENT_BOOL, false, c->mpa.peer_to_peer),
        {"rtr", AGENT_ARRAY, false, 3, AGENT_INTO(l->rtr)},
        AGENT_PLAIN("extensions", AGENT_BOOL, false, c->extensions),
        {"ird", AGENT_NUMBER, false, IW_MPA_DEPTH_UNSPECIFIED, AGENT_INTO(c->mpa.ird)},
        {"ord", AGENT_NUMBER, false, IW_MPA_DEPTH_UNSPECIFIED, AGENT_INTO(c->mpa.ord)},
        {"mulpdu", AGENT_NUMBER, false, IW_MPA_ULPDU_MAX, AGENT_INTO(c->mulpdu)},
        {"send_depth", AGENT_NUMBER, false, 4096, AGENT_INTO(c->send_depth)},
        {"recv_depth", AGENT_NUMBER, false, 4096, AGENT_INTO(c->recv_depth)},
        {"ignore", AGENT_ARRAY, false, AGENT_SWITCHES_MAX, AGENT_INTO(l->ignore)},
        {"startup_timeout_ms", AGENT_NUMBER, false, 3600000, AGENT_INTO(l->timeout_ms)},
        {"violate", AGENT_ARRAY, false, AGENT_SWITCHES_MAX, AGENT_INTO(l->violate)},
        {"overstrict", AGENT_ARRAY, false, AGENT_SWITCHES_MAX, AGENT_INTO(l->overstrict)},
        {"botch", AGENT_ARRAY, false, AGENT_SWITCHES_MAX, AGENT_INTO(l->botch)},
    };
    memcpy(out, fields, sizeof(fields));
}

json_t *agent_config_names(void)
{
    struct iw_endpoint_config config;
    struct lists lists;
    struct agent_field fields[FIELDS];
    json_t *names = json_array();
    make_fields(&config, &lists, fields);
    for (size_t i = 0; i < FIELDS; i++)
        json_array_append_new(names, json_string(fields[i].name));
    return names;
}

static bool take_rtr(const json_t *array, struct iw_mpa_config *mpa, char *error)
{
    mpa->rtr = mpa->rtr_first = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        int form = agent_index("rtr", iw_endpoint_rtr_names, IW_ENDPOINT_RTR_FORMS,
                               json_string_value(json_array_get(array, i)), error);
        if (form < 0)
            return false;
        mpa->rtr |= (uint8_t)(1u << form);
        if (i == 0)
            mpa->rtr_first = mpa->rtr;
    }
    return true;
}

static bool take_switches(const json_t *array, enum iw_switch kind, const char *field,
                          struct iw_switches *switches, char *error)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *spec = json_string_value(json_array_get(array, i));
        const char *reason = "expected an array of strings";
        if (spec == NULL || iw_switches_set(switches, kind, spec, &reason) < 0)
            return agent_fail(error, "field %s: %.60s: %s", field, spec == NULL ? "" : spec,
                              reason);
    }
    return true;
}

/* Returns whether the fields go together and keep their lower bounds; if not, with a text. */
static bool fields_fit(const struct iw_endpoint_config *config, char *error)
{
    const struct iw_mpa_config *mpa = &config->mpa;
    if (mpa->enhanced && mpa->revision < 2)
        return agent_fail(error, "field enhanced: needs revision 2");
    if (mpa->peer_to_peer && !mpa->enhanced)
        return agent_fail(error, "field peer_to_peer: needs enhanced");
    if (mpa->rtr == 0)
        return agent_fail(error, "field rtr: expected at least one of send, write and read");
    if (config->mulpdu != 0 && config->mulpdu < IW_MPA_MULPDU_MIN)
        return agent_fail(error, "field mulpdu: expected 0 or a number from 128");
    if (config->send_depth == 0)
        return agent_fail(error, "field send_depth: expected a number from 1");
    if (config->recv_depth == 0)
        return agent_fail(error, "field recv_depth: expected a number from 1");
    return config->startup_timeout > 0 ||
           agent_fail(error, "field startup_timeout_ms: expected a number from 1");
}

bool agent_config(const json_t *object, struct iw_endpoint_config *config,
                  struct iw_switches *switches, char *error)
{
    struct lists l = {.timeout_ms = config->startup_timeout / 1000000};
    struct agent_field fields[FIELDS];
    *switches = config->switches != NULL ? *config->switches : (struct iw_switches){0};
    config->switches = switches;
    if (object == NULL)
        return true;
    make_fields(config, &l, fields);
    if (!agent_take(object, fields, FIELDS, error) ||
        (l.rtr != NULL && !take_rtr(l.rtr, &config->mpa, error)) ||
        !take_switches(l.ignore, IW_SWITCH_IGNORE, "ignore", switches, error) ||
        !take_switches(l.overstrict, IW_SWITCH_OVERSTRICT, "overstrict", switches, error) ||
        !take_switches(l.violate, IW_SWITCH_VIOLATE, "violate", switches, error) ||
        !take_switches(l.botch, IW_SWITCH_BOTCH, "botch", switches, error))
        return false;
    if (config->mpa.revision < 2 && json_object_get(object, "enhanced") == NULL)
        config->mpa.enhanced = false;
    if (config->mpa.revision == 0)
        config->mpa.permissive = true;
    config->startup_timeout = l.timeout_ms * 1000000;
    return fields_fit(config, error);
}
