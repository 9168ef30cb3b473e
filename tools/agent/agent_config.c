/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_endpoint.h"

#include <stdio.h>
#include <string.h>

static bool take_rtr(const json_t *array, struct iw_mpa_config *mpa, char *error)
{
    static const struct {
        const char *name;
        uint8_t form;
    } forms[] = {{"send", IW_MPA_RTR_SEND}, {"write", IW_MPA_RTR_WRITE}, {"read", IW_MPA_RTR_READ}};
    mpa->rtr = mpa->rtr_first = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *name = json_string_value(json_array_get(array, i));
        size_t k = 0;
        while (k < 3 && (name == NULL || strcmp(name, forms[k].name) != 0))
            k++;
        if (k == 3) {
            snprintf(error, AGENT_ERROR, "field rtr: expected send, write or read");
            return false;
        }
        if (i == 0)
            mpa->rtr_first = forms[k].form;
        mpa->rtr |= forms[k].form;
    }
    return true;
}

static bool take_switches(const json_t *array, enum iw_switch kind, const char *field,
                          struct iw_switches *switches, char *error)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *spec = json_string_value(json_array_get(array, i));
        const char *reason = "expected an array of strings";
        if (spec == NULL || iw_switches_set(switches, kind, spec, &reason) < 0) {
            snprintf(error, AGENT_ERROR, "field %s: %.60s: %s", field, spec == NULL ? "" : spec,
                     reason);
            return false;
        }
    }
    return true;
}

/* Returns what is wrong in a combination of fields, or below a lower bound; NULL: nothing. */
static const char *contradiction(const struct iw_endpoint_config *config)
{
    const struct iw_mpa_config *mpa = &config->mpa;
    if (mpa->enhanced && mpa->revision < 2)
        return "field enhanced: needs revision 2";
    if (mpa->peer_to_peer && !mpa->enhanced)
        return "field peer_to_peer: needs enhanced";
    if (mpa->rtr == 0)
        return "field rtr: expected at least one of send, write and read";
    if (config->mulpdu != 0 && config->mulpdu < IW_MPA_MULPDU_MIN)
        return "field mulpdu: expected 0 or a number from 128";
    if (config->send_depth == 0)
        return "field send_depth: expected a number from 1";
    if (config->recv_depth == 0)
        return "field recv_depth: expected a number from 1";
    if (config->startup_timeout == 0)
        return "field startup_timeout_ms: expected a number from 1";
    return NULL;
}

json_t *agent_config_names(void)
{
    static const char *const names[] = {
        "revision",     "permissive", "crc",        "markers", "enhanced",
        "peer_to_peer", "rtr",        "extensions", "ird",     "ord",
        "mulpdu",       "send_depth", "recv_depth", "ignore",  "startup_timeout_ms",
        "violate",      "overstrict", "botch"};
    json_t *array = json_array();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        json_array_append_new(array, json_string(names[i]));
    return array;
}

bool agent_config(const json_t *object, struct iw_endpoint_config *config,
                  struct iw_switches *switches, char *error)
{
    uint64_t revision = config->mpa.revision, ird = config->mpa.ird, ord = config->mpa.ord;
    uint64_t mulpdu = config->mulpdu, send_depth = config->send_depth;
    uint64_t recv_depth = config->recv_depth;
    uint64_t timeout_ms = config->startup_timeout / 1000000;
    const json_t *rtr = NULL, *kinds[4] = {NULL, NULL, NULL, NULL};
    static const char *const kind_names[4] = {"ignore", "overstrict", "violate", "botch"};
    bool enhanced_given = false;
    const struct agent_field fields[] = {
        {"revision", AGENT_NUMBER, false, 2, &revision, NULL},
        {"permissive", AGENT_BOOL, false, 0, &config->mpa.permissive, NULL},
        {"crc", AGENT_BOOL, false, 0, &config->mpa.crc, NULL},
        {"markers", AGENT_BOOL, false, 0, &config->mpa.markers, NULL},
        {"enhanced", AGENT_BOOL, false, 0, &config->mpa.enhanced, &enhanced_given},
        {"peer_to_peer", AGENT_BOOL, false, 0, &config->mpa.peer_to_peer, NULL},
        {"rtr", AGENT_ARRAY, false, 3, &rtr, NULL},
        {"extensions", AGENT_BOOL, false, 0, &config->extensions, NULL},
        {"ird", AGENT_NUMBER, false, IW_MPA_DEPTH_UNSPECIFIED, &ird, NULL},
        {"ord", AGENT_NUMBER, false, IW_MPA_DEPTH_UNSPECIFIED, &ord, NULL},
        {"mulpdu", AGENT_NUMBER, false, IW_MPA_ULPDU_MAX, &mulpdu, NULL},
        {"send_depth", AGENT_NUMBER, false, 4096, &send_depth, NULL},
        {"recv_depth", AGENT_NUMBER, false, 4096, &recv_depth, NULL},
        {"startup_timeout_ms", AGENT_NUMBER, false, 3600000, &timeout_ms, NULL},
        {"ignore", AGENT_ARRAY, false, AGENT_WORDS_MAX, &kinds[0], NULL},
        {"overstrict", AGENT_ARRAY, false, AGENT_WORDS_MAX, &kinds[1], NULL},
        {"violate", AGENT_ARRAY, false, AGENT_WORDS_MAX, &kinds[2], NULL},
        {"botch", AGENT_ARRAY, false, AGENT_WORDS_MAX, &kinds[3], NULL},
    };
    memset(switches, 0, sizeof *switches);
    if (config->switches != NULL)
        *switches = *config->switches;
    config->switches = switches;
    if (object == NULL)
        return true;
    if (!agent_take(object, fields, sizeof fields / sizeof fields[0], error))
        return false;
    if (rtr != NULL && !take_rtr(rtr, &config->mpa, error))
        return false;
    for (int k = 0; k < 4; k++)
        if (kinds[k] != NULL &&
            !take_switches(kinds[k], (enum iw_switch)k, kind_names[k], switches, error))
            return false;
    config->mpa.revision = (uint8_t)revision;
    if (revision < 2 && !enhanced_given)
        config->mpa.enhanced = false;
    if (revision == 0)
        config->mpa.permissive = true;
    config->mpa.ird = (uint16_t)ird;
    config->mpa.ord = (uint16_t)ord;
    config->mulpdu = (uint32_t)mulpdu;
    config->send_depth = (uint32_t)send_depth;
    config->recv_depth = (uint32_t)recv_depth;
    config->startup_timeout = timeout_ms * 1000000;
    const char *text = contradiction(config);
    if (text != NULL)
        snprintf(error, AGENT_ERROR, "%s", text);
    return text == NULL;
}
