/* SPDX-License-Identifier: BSD-3-Clause */
/* Target specs and what they say of a peer's capabilities. */
#include "target_spec.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/capability.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "iwarp/nearest.h"
#include "iwarp/transport.h"

/* ---- what a spec says ---- */

static const char *const class_names[] = {
    [IW_TARGET_BARE] = "bare", [IW_TARGET_RPING] = "rping", [IW_TARGET_AGENT] = "agent"};

const char *iw_target_class_name(enum iw_target_class class)
{
    return class_names[class];
}

bool iw_target_class_find(const char *name, enum iw_target_class *out)
{
    for (size_t i = 0; i < sizeof(class_names) / sizeof(*class_names); i++) {
        if (strcmp(name, class_names[i]) == 0) {
            *out = (enum iw_target_class)i;
            return true;
        }
    }
    return false;
}

void iw_target_add(struct iw_target_spec *spec, bool can, const char *capability)
{
    iw_texts_add(&spec->can, iw_text_format("%s%s", can ? "" : "!", capability));
}

bool iw_target_add_quirk(struct iw_target_spec *spec, const char *name, char *error, size_t room)
{
    enum iw_quirk quirk;
    size_t n = (size_t)snprintf(error, room, "one of");
    if (iw_quirk_find(name, &quirk)) {
        spec->quirks |= iw_quirk_bit(quirk);
        return true;
    }
    for (int i = 0; i < IW_QUIRK_COUNT && n < room; i++)
        n += (size_t)snprintf(error + n, room - n, "%s %s", i > 0 ? "," : "",
                              iw_quirk_name((enum iw_quirk)i));
    return false;
}

/* A peer that wants CRCs has them on every connection; one that does not has them where the station
 * asks (RFC 5044 §7.1.1: one side is enough). */
bool iw_target_add_crc(struct iw_target_spec *spec, const char *value)
{
    bool off = strcmp(value, "off") == 0;
    if (!off && strcmp(value, "on") != 0)
        return false;
    iw_target_add(spec, true, "crc.on");
    iw_target_add(spec, off, "crc.off");
    return true;
}

/* Whether the peer wants Markers is its own choice; each direction has its own. */
bool iw_target_add_markers(struct iw_target_spec *spec, const char *value)
{
    bool on = strcmp(value, "on") == 0;
    if (!on && strcmp(value, "off") != 0)
        return false;
    iw_target_add(spec, on, "markers.on");
    iw_target_add(spec, !on, "markers.off");
    return true;
}

bool iw_target_add_revision(struct iw_target_spec *spec, const char *value)
{
    bool two = strcmp(value, "2") == 0;
    if (!two && strcmp(value, "1") != 0)
        return false;
    iw_target_add(spec, true, "revision.1");
    iw_target_add(spec, two, "revision.2");
    if (!two) {
        iw_target_add(spec, false, "enhanced");
        iw_target_add(spec, false, "peer_to_peer");
        iw_target_add(spec, false, "rtr");
        iw_target_add(spec, false, "ird");
    }
    return true;
}

/* ---- connecting ---- */

enum { COMMAND_SECONDS = 10, PERSON_SECONDS = 120 };

double iw_target_connect_within(const struct iw_target_spec *spec)
{
    return spec->connect_within > 0 ? spec->connect_within
           : spec->ask != NULL      ? PERSON_SECONDS
                                    : COMMAND_SECONDS;
}

const char *iw_target_unattended(const struct iw_target_spec *spec)
{
    return spec->ask != NULL && !isatty(0)
               ? "its file asks a person to make it connect ('ask'), and standard "
                 "input is no terminal"
               : NULL;
}

/* ---- specs ---- */

void iw_target_free(struct iw_target_spec *spec)
{
    if (spec == NULL)
        return;
    iw_texts_free(spec->can);
    free(spec->text);
    free(spec->name);
    free(spec->host);
    free(spec->agent_host);
    free(spec->token_file);
    free(spec->station_host);
    free(spec->start);
    free(spec->ready);
    free(spec->connect);
    free(spec->ask);
    free(spec->inside);
    free(spec->restart);
    free(spec->console);
    free(spec->coverage);
    free(spec->version);
    iw_device_free(&spec->device);
    free(spec->program);
    free(spec);
}

/* One "key=value" of a tcp spec. Returns what was expected (it may stand in
 * `wanted`), or NULL if it is good. */
static const char *take_pair(struct iw_target_spec *spec, const char *key, const char *value,
                             char *wanted, size_t room)
{
    if (strcmp(key, "class") == 0)
        return iw_target_class_find(value, &spec->class) ? NULL : "bare, rping or agent";
    if (strcmp(key, "crc") == 0)
        return iw_target_add_crc(spec, value) ? NULL : "on or off";
    if (strcmp(key, "markers") == 0)
        return iw_target_add_markers(spec, value) ? NULL : "on or off";
    if (strcmp(key, "rev") == 0 || strcmp(key, "revision") == 0)
        return iw_target_add_revision(spec, value) ? NULL : "1 or 2";
    if (strcmp(key, "token_file") == 0) {
        if (!*value || spec->token_file != NULL)
            return "the path of one file";
        spec->token_file = iw_text_copy(value);
        return NULL;
    }
    if (strcmp(key, "quirk") == 0)
        return iw_target_add_quirk(spec, value, wanted, room) ? NULL : wanted;
    if (strcmp(key, "can") != 0 && strcmp(key, "cannot") != 0)
        return "one of class, crc, markers, rev, can, cannot, quirk, token_file";
    if (!iw_capability_known(value, wanted, room))
        return wanted;
    iw_target_add(spec, strcmp(key, "can") == 0, value);
    return NULL;
}

static bool parse_pairs(struct iw_target_spec *spec, char *list, char *error, size_t room)
{
    char *rest = list;
    char *pair;
    while (((pair = strsep(&rest, ",")) != NULL)) {
        char *value = strchr(pair, '=');
        const char *expected = "key=value";
        char wanted[IW_CAPABILITY_ERROR];

        if (value != NULL) {
            *value++ = 0;
            expected = spec->embedded ? iw_target_take_embedded(spec, pair, value)
                                      : take_pair(spec, pair, value, wanted, sizeof(wanted));
        }
        if (expected != NULL) {
            snprintf(error, room, "--target %s: '%s%s%s': expected %s", spec->text, pair,
                     value != NULL ? "=" : "", value != NULL ? value : "", expected);
            return false;
        }
    }
    return true;
}

/* "HOST:PORT[,key=value...]". False with one line in `error`. */
static bool parse_tcp(struct iw_target_spec *spec, char *text, char *error, size_t room)
{
    char *pairs = strchr(text, ',');
    struct iw_host_port at;
    char why[IW_TRANSPORT_TEXT * 2] = "";
    if (pairs != NULL)
        *pairs++ = 0;
    if (iw_transport_parse(text, &at, why, sizeof(why)) == 0 && at.port == 0)
        snprintf(why, sizeof(why), "expected a port from 1 to 65535");
    else if (*why == 0 && pairs != NULL && !parse_pairs(spec, pairs, error, room))
        return false;
    bool agent = spec->class == IW_TARGET_AGENT;
    if (*why == 0 && spec->token_file != NULL && !agent)
        snprintf(why, sizeof(why), "token_file: only a target of class agent has one");
    if (*why != 0) {
        snprintf(error, room, "--target %s: %s", spec->text, why);
        return false;
    }
    spec->host = iw_text_copy(at.host); /* an agent's listeners are on the same host */
    *(agent ? &spec->agent_port : &spec->port) = at.port;
    if (agent)
        spec->agent_host = iw_text_copy(at.host);
    return true;
}

/* The path of a target file: as it is given if it has a slash or ends in ".lua", else in `folder`.
 */
static char *file_path(const char *text, const char *folder)
{
    size_t length = strlen(text);
    if (strchr(text, '/') != NULL || (length > 4 && strcmp(text + length - 4, ".lua") == 0))
        return iw_text_copy(text);
    return iw_text_format("%s/%s.lua", folder, text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the files in the folder of targets, sorted, after the last one NULL. */
static char **names_in(const char *folder, size_t *count)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    char **names = NULL;
    *count = 0;
    while (dir != NULL && ((entry = readdir(dir)) != NULL)) {
        size_t length = strcspn(entry->d_name, ".");
        if (length == 0 || length >= IW_NEAREST_WORD || strcmp(entry->d_name + length, ".lua") != 0)
            continue;
        iw_texts_add(&names, iw_text_format("%.*s", (int)length, entry->d_name));
        ++*count;
    }
    if (dir != NULL)
        closedir(dir);
    if (names != NULL)
        qsort(names, *count, sizeof(*names), by_name);
    return names;
}

/* "embedded" and the files in the folder of targets are what a name may stand for. */
static void no_file(const char *text, const char *path, const char *folder, char *error,
                    size_t room)
{
    size_t count;
    char **names = names_in(folder, &count), *all = NULL;
    struct iw_nearest n;
    iw_nearest_begin(&n, text);
    iw_nearest_offer(&n, "embedded");
    for (size_t i = 0; i < count; i++) {
        iw_nearest_offer(&n, names[i]);
        iw_text_join(&all, ", ", names[i]);
    }
    if (n.best != NULL)
        snprintf(error, room, "--target %s: there is no target file %s (did you mean '%s'?)", text,
                 path, n.best);
    else
        snprintf(error, room,
                 "--target %s: there is no target file %s; expected embedded, tcp:HOST:PORT, or "
                 "the name or path of a target file%s%s",
                 text, path, all != NULL ? "; there are " : "", all != NULL ? all : "");
    free(all);
    iw_texts_free(names);
}

static struct iw_target_spec *parse_file(const char *text, const char *folder, char *error,
                                         size_t room)
{
    char *path = file_path(text, folder);
    struct iw_target_spec *spec = NULL;
    if (access(path, F_OK))
        no_file(text, path, folder, error, room);
    else
        spec = iw_target_read(path, error, room);
    free(path);
    if (spec != NULL)
        spec->text = iw_text_copy(text);
    return spec;
}

struct iw_target_spec *iw_target_parse(const char *text, const char *program, const char *folder,
                                       char *error, size_t room)
{
    bool embedded = strncmp(text, "embedded", 8) == 0 && (text[8] == 0 || text[8] == ',');
    if (!embedded && strncmp(text, "tcp:", 4) != 0)
        return parse_file(text, folder, error, room);
    struct iw_target_spec *spec = iw_got(calloc(1, sizeof(*spec)));
    char *copy = iw_text_copy(text);
    spec->text = iw_text_copy(text);
    spec->name = iw_text_copy(text);
    spec->embedded = embedded;
    bool good;
    if (embedded) {
        spec->class = IW_TARGET_AGENT;
        spec->host = iw_text_copy("127.0.0.1");
        spec->station_host = iw_text_copy("127.0.0.1");
        spec->program = iw_text_copy(program);
        spec->startup = (struct iw_target_startup){.crc = true, .revision = 2, .enhanced = true};
        good = text[8] == 0 || parse_pairs(spec, copy + 9, error, room);
        if (spec->startup.revision == 0) /* Markers and CRCs always (RFC 5044 figure 14) */
            spec->startup.crc = spec->startup.markers = true;
    } else {
        good = parse_tcp(spec, copy + 4, error, room);
    }
    free(copy);
    if (good)
        return spec;
    iw_target_free(spec);
    return NULL;
}
