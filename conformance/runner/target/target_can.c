/* SPDX-License-Identifier: BSD-3-Clause */
/* What a peer can do: as its user says, as its class is taken to, as its agent says. */
#include "target_can.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conform_case.h"
#include "host/text.h"
#include "target.h"

enum { WORD = 96 };

/* What follows `name` and its point in `word` ("ird.16"); NULL if that is another name. "" if
 * nothing does. */
static const char *behind(const char *word, const char *name)
{
    while (*name && *name == *word) {
        name++;
        word++;
    }
    if (*name || (*word && *word != '.'))
        return NULL;
    return *word ? word + 1 : word;
}

/* Returns whether `entry` ("rtr", "rtr.send", "ird.16") covers the question ("rtr.send", "ird.4").
 */
static bool covers(const char *entry, const char *question)
{
    static const char *const counted[] = {"ird", "private", "rping"};

    /* That a peer has RFC 7306 does not say that it can be had without, or the other way round. */
    if (strcmp(question, "extensions.off") == 0)
        return strcmp(entry, question) == 0;
    if (behind(question, entry) != NULL)
        return true;
    for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
        const char *most = behind(entry, counted[i]), *asked = behind(question, counted[i]);

        if (most != NULL && asked != NULL)
            return atol(asked) <= atol(most);
    }
    return false;
}

static bool among(const char *const *list, const char *question)
{
    for (; *list != NULL; list++)
        if (covers(*list, question))
            return true;
    return false;
}

/* What a peer of each class is taken to be able to do if nothing else is said. */
static bool class_can(enum iw_target_class class, const char *question)
{
    static const char *const any[] = {"empty_read", "terminate", NULL};
    static const char *const bare[] = {"crc.on",  "revision",    "enhanced",  "peer_to_peer", "rtr",
                                       "private", "markers.off", "reconnect", "ird.1",        NULL};
    static const char *const rping[] = {"read", "send", "rping.64", NULL};
    static const char *const agent[] = {"agent", "memory", "reject", "rping", NULL};

    if (strncmp(question, "class.", 6) == 0)
        return strcmp(question + 6, iw_target_class_name(class)) == 0;
    if (among(any, question))
        return true;
    if (class != IW_TARGET_BARE && among(rping, question))
        return true;
    return class == IW_TARGET_AGENT ? among(agent, question) : among(bare, question);
}

/* An agent's features: {"crc":true,"revisions":[1,2],"rtr":["send"],"max_private":512,...}.
 * True or false is both answers to "on" and "off"; of "extensions", which can be switched off
 * wherever the agent names them, it is the answer to "on". */
static bool features_can(const json_t *features, const char *question)
{
    char name[WORD];
    size_t n = strcspn(question, ".");
    const char *word = question[n] ? question + n + 1 : "";
    json_t *one;
    size_t i;
    snprintf(name, sizeof(name), "%.*s", (int)n, question);
    if (strcmp(name, "private") == 0)
        return atol(word) <= json_integer_value(json_object_get(features, "max_private"));
    if (strcmp(name, "enhanced") == 0 || strcmp(name, "peer_to_peer") == 0 ||
        strcmp(name, "ird") == 0)
        return features_can(features, "revision.2");
    json_t *value = json_object_get(features, strcmp(name, "revision") ? name : "revisions");
    if (strcmp(question, "extensions.off") == 0)
        return json_is_boolean(value);
    json_array_foreach(value, i, one)
    {
        if (json_is_integer(one) ? json_integer_value(one) == atol(word)
                                 : json_is_string(one) && strcmp(json_string_value(one), word) == 0)
            return true;
    }
    if (json_is_array(value))
        return !*word && json_array_size(value) > 0;
    return json_is_true(value) || (json_is_false(value) && strcmp(question, "crc.on") == 0);
}

bool iw_target_said(const struct iw_target_spec *spec, const char *name)
{
    size_t n = strpbrk(name, "0123456789") != NULL ? strcspn(name, ".") : strlen(name);
    for (char **one = spec->can; one != NULL && *one != NULL; one++) {
        const char *word = *one + (**one == '!');

        if (strncmp(word, name, n) == 0 && (!word[n] || word[n] == '.'))
            return true;
    }
    return false;
}

bool iw_target_can(const struct iw_target_spec *spec, const json_t *features, const char *question)
{
    for (char **said = spec->can; said != NULL && *said != NULL; said++) {
        bool no = **said == '!';

        if (covers(*said + no, question))
            return !no;
        if (strcmp(*said, "!read") == 0 && strcmp(question, "empty_read") == 0)
            return false;
    }
    if (spec->ends_connection && strcmp(question, "reconnect") == 0)
        return false;
    if (class_can(spec->class, question))
        return true;
    if (spec->class != IW_TARGET_AGENT)
        return false;
    return strcmp(question, "reconnect") == 0 || features_can(features, question);
}

/* ---- needs ---- */

/* Returns whether the target can give all words of the need, or `any` of them. *lacking: the first
 * word that it cannot, joined with the name; the caller frees it. */
static bool gives(const struct iw_target *target, const struct iw_need *need, bool any,
                  char **lacking)
{
    char *words = iw_text_copy(need->value), *rest = words, *word;
    bool given = !any;
    *lacking = NULL;
    while (given != any && (word = strsep(&rest, " ")) != NULL) {
        if (*word == 0)
            continue;
        free(*lacking);
        *lacking = strcmp(need->value, "true") == 0 ? iw_text_copy(need->name)
                                                    : iw_text_format("%s.%s", need->name, word);
        given = target->can(target, *lacking);
    }
    free(words);
    return given;
}

char *iw_target_lacks(const struct iw_target *target, const struct iw_case *c)
{
    const char *class = iw_target_class_name(target->class);
    char *lacking, *why = NULL;
    for (size_t i = 0; i < c->n_needs && why == NULL; i++) {
        const struct iw_need *need = &c->needs[i];
        bool classes = strcmp(need->name, "class") == 0;
        if (!gives(target, need, classes, &lacking))
            why = classes ? iw_text_format("needs a target of class %s, this one is %s",
                                           need->value, class)
                          : iw_text_format("needs %s, which this target (class %s) does not offer",
                                           lacking, class);
        free(lacking);
    }
    if (why != NULL || target->class == IW_TARGET_AGENT)
        return why;
    if (c->role == IW_MPA_INITIATOR && target->initiate == NULL)
        return iw_text_format("needs a target that connects, and nothing here makes this one "
                              "(class %s) do so",
                              class);
    return c->role == IW_MPA_RESPONDER && target->port == 0
               ? iw_text_copy("needs a target that listens")
               : NULL;
}
