/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/nearest.h"
#include "list_rules.h"

enum { ERROR_ROOM = 400 };

/* ---- values ---- */

int iw_option_bool(const char *value, bool *out, char *error, size_t room)
{
    if (strcmp(value, "on") == 0 || strcmp(value, "off") == 0) {
        *out = value[1] == 'n';
        return 0;
    }
    snprintf(error, room, "expected on or off, not \"%.100s\"", value);
    return -1;
}

int iw_option_number(const char *value, uint64_t low, uint64_t high, uint64_t *out, char *error,
                     size_t room)
{
    bool hex = value[0] == '0' && (value[1] == 'x' || value[1] == 'X');
    const char *digits = hex ? value + 2 : value;
    size_t count = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
    if (count > 0 && count <= 16 && digits[count] == '\0') {
        *out = strtoull(digits, NULL, hex ? 16 : 10);
        if (*out >= low && *out <= high)
            return 0;
    }
    snprintf(error, room, "expected a number from %llu to %llu, not \"%.100s\"",
             (unsigned long long)low, (unsigned long long)high, value);
    return -1;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

int iw_option_hex(const char *value, uint8_t *out, size_t limit, size_t *length, char *error,
                  size_t room)
{
    size_t digits = strlen(value);
    if (digits > 2 * limit) {
        snprintf(error, room, "expected at most %zu octets, not %zu", limit, (digits + 1) / 2);
        return -1;
    }
    for (size_t i = 0; i < digits; i += 2) {
        int high = hex_digit(value[i]), low = hex_digit(value[i + 1]);
        if (high < 0 || low < 0) {
            snprintf(error, room, "expected pairs of hex digits, not \"%.20s\" at character %zu",
                     value + i, i + 1);
            return -1;
        }
        out[i / 2] = (uint8_t)(high << 4 | low);
    }
    *length = digits / 2;
    return 0;
}

uint8_t iw_option_rtr(const char *name, size_t length)
{
    static const struct {
        const char *name;
        uint8_t form;
    } forms[] = {{"send", IW_MPA_RTR_SEND}, {"write", IW_MPA_RTR_WRITE}, {"read", IW_MPA_RTR_READ}};
    for (size_t i = 0; i < 3; i++)
        if (strlen(forms[i].name) == length && memcmp(forms[i].name, name, length) == 0)
            return forms[i].form;
    return 0;
}

/* ---- the shared options ---- */

#define CONFIG (((struct iw_options *)context)->endpoint)

static int set_crc(void *context, const char *value, char *error, size_t room)
{
    return iw_option_bool(value, &CONFIG.mpa.crc, error, room);
}

static int set_markers(void *context, const char *value, char *error, size_t room)
{
    return iw_option_bool(value, &CONFIG.mpa.markers, error, room);
}

static int set_revision(void *context, const char *value, char *error, size_t room)
{
    uint64_t n;
    if (iw_option_number(value, 0, 2, &n, error, room))
        return -1;
    CONFIG.mpa.revision = (uint8_t)n;
    CONFIG.mpa.enhanced = n == 2;
    if (n == 0)
        CONFIG.mpa.permissive = true;
    return 0;
}

static int set_permissive(void *context, const char *value, char *error, size_t room)
{
    return iw_option_bool(value, &CONFIG.mpa.permissive, error, room);
}

static int set_enhanced(void *context, const char *value, char *error, size_t room)
{
    return iw_option_bool(value, &CONFIG.mpa.enhanced, error, room);
}

static int set_peer_to_peer(void *context, const char *value, char *error, size_t room)
{
    return iw_option_bool(value, &CONFIG.mpa.peer_to_peer, error, room);
}

static int set_rtr(void *context, const char *value, char *error, size_t room)
{
    uint8_t forms = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        uint8_t form = iw_option_rtr(at, length);
        if (form == 0) {
            snprintf(error, room, "expected a list of send, write and read, not \"%.100s\"", value);
            return -1;
        }
        if (forms == 0)
            CONFIG.mpa.rtr_first = form;
        forms |= form;
        at += length;
        if (*at == '\0')
            break;
    }
    CONFIG.mpa.rtr = forms;
    return 0;
}

static int set_depth(uint16_t *out, const char *value, char *error, size_t room)
{
    uint64_t n;
    if (iw_option_number(value, 0, IW_MPA_DEPTH_UNSPECIFIED, &n, error, room))
        return -1;
    *out = (uint16_t)n;
    return 0;
}

static int set_ird(void *context, const char *value, char *error, size_t room)
{
    return set_depth(&CONFIG.mpa.ird, value, error, room);
}

static int set_ord(void *context, const char *value, char *error, size_t room)
{
    return set_depth(&CONFIG.mpa.ord, value, error, room);
}

static int set_mulpdu(void *context, const char *value, char *error, size_t room)
{
    uint64_t n;
    if (iw_option_number(value, IW_MPA_MULPDU_MIN, IW_MPA_ULPDU_MAX, &n, error, room))
        return -1;
    CONFIG.mulpdu = (uint32_t)n;
    return 0;
}

static int set_extensions(void *context, const char *value, char *error, size_t room)
{
    return iw_option_bool(value, &CONFIG.extensions, error, room);
}

static int set_startup_timeout(void *context, const char *value, char *error, size_t room)
{
    uint64_t n;
    if (iw_option_number(value, 1, 3600000, &n, error, room))
        return -1;
    CONFIG.startup_timeout = n * 1000000;
    return 0;
}

static int read_private(struct iw_options *o, const char *path, char *error, size_t room)
{
    uint8_t octets[IW_MPA_PRIVATE_MAX + 1];
    FILE *f = fopen(path, "rb");
    size_t length = f ? fread(octets, 1, sizeof(octets), f) : 0;
    if (!f || ferror(f)) {
        snprintf(error, room, "cannot read \"%.200s\"", path);
        if (f)
            fclose(f);
        return -1;
    }
    fclose(f);
    if (length > IW_MPA_PRIVATE_MAX) {
        snprintf(error, room, "\"%.200s\" holds more than %u octets", path, IW_MPA_PRIVATE_MAX);
        return -1;
    }
    memcpy(o->private_data, octets, length);
    o->private_length = length;
    return 0;
}

static int set_private(void *context, const char *value, char *error, size_t room)
{
    struct iw_options *o = context;
    if (value[0] == '@')
        return read_private(o, value + 1, error, room);
    return iw_option_hex(value, o->private_data, sizeof(o->private_data), &o->private_length, error,
                         room);
}

/* " (did you mean X?)" behind the error, if X is near. */
static void suggest(const char *name, char *error, size_t room)
{
    size_t length = strlen(error);
    if (name)
        snprintf(error + length, room - length, " (did you mean %s?)", name);
}

static void suggest_check(const char *value, char *error, size_t room)
{
    char name[IW_NEAREST_WORD] = "";
    size_t length = strcspn(value, "=");
    if (length >= sizeof(name))
        return;
    memcpy(name, value, length);
    if (iw_check_find(name) == IW_CHECK_NONE && !iw_rule_find(name))
        suggest(iw_nearest_check(name) ? iw_nearest_check(name) : iw_nearest_rule(name), error,
                room);
}

static int set_switch(void *context, enum iw_switch kind, const char *value, char *error,
                      size_t room)
{
    const char *why;
    if (iw_switches_set(&((struct iw_options *)context)->switches, kind, value, &why) > 0)
        return 0;
    snprintf(error, room, "\"%.100s\": %s", value, why);
    suggest_check(value, error, room);
    return -1;
}

static int set_ignore(void *context, const char *value, char *error, size_t room)
{
    return set_switch(context, IW_SWITCH_IGNORE, value, error, room);
}

static int set_overstrict(void *context, const char *value, char *error, size_t room)
{
    return set_switch(context, IW_SWITCH_OVERSTRICT, value, error, room);
}

static int set_violate(void *context, const char *value, char *error, size_t room)
{
    return set_switch(context, IW_SWITCH_VIOLATE, value, error, room);
}

static int set_botch(void *context, const char *value, char *error, size_t room)
{
    return set_switch(context, IW_SWITCH_BOTCH, value, error, room);
}

static const struct iw_option shared[] = {
    {"crc", "on|off", "demand CRCs (default on)", set_crc},
    {"markers", "on|off", "ask for Markers in what is received (default off)", set_markers},
    {"revision", "0|1|2", "highest MPA revision (default 2); below 2 turns --enhanced off",
     set_revision},
    {"permissive", "on|off", "take a peer of revision 0, too (default off; on with --revision 0)",
     set_permissive},
    {"enhanced", "on|off", "send the RFC 6581 block as initiator (default on)", set_enhanced},
    {"peer-to-peer", "on|off", "as initiator, send an RTR indication (default off)",
     set_peer_to_peer},
    {"rtr", "FORMS", "RTR forms supported, the preferred one first (default write,read,send)",
     set_rtr},
    {"ird", "N", "inbound reads, 0 to 16382 or 0x3fff (default 16)", set_ird},
    {"ord", "N", "outbound reads, 0 to 16382 or 0x3fff (default 16)", set_ord},
    {"mulpdu", "OCTETS", "128 to 64768 (default: from TCP's segment size)", set_mulpdu},
    {"extensions", "on|off", "atomics and Immediate Data of RFC 7306 (default on)", set_extensions},
    {"startup-timeout", "MS", "milliseconds for connect and MPA start-up (default 60000)",
     set_startup_timeout},
    {"private", "HEX|@FILE", "private data, at most 512 octets (508 if enhanced)", set_private},
    {"ignore", "X", "skip a check; X is a check or a rule", set_ignore},
    {"overstrict", "X", "refuse a legal thing", set_overstrict},
    {"violate", "X", "break a rule when sending", set_violate},
    {"botch", "X=REACTION", "react wrongly: layer, type, code, place, close, silent or again",
     set_botch},
    {"list-rules", NULL, "print all checks and rules, and exit", NULL},
    {"help", NULL, "print this, and exit", NULL},
    {"version", NULL, "print the version, and exit", NULL},
    {NULL, NULL, NULL, NULL}};

/* ---- the command line ---- */

static void print_options(const struct iw_option *o)
{
    for (; o->name; o++) {
        char left[40];
        snprintf(left, sizeof(left), "--%s%s%s", o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
        printf("  %-24s %s\n", left, o->help);
    }
}

static const struct iw_option *find(const struct iw_option *o, const char *name, size_t length)
{
    for (; o->name; o++)
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static int fail(const struct iw_program *program, const char *what, size_t length,
                const char *error)
{
    fprintf(stderr, "%s: %.*s: %s\n", program->name, (int)(length < 200 ? length : 200), what,
            error);
    return IW_EXIT_USAGE;
}

static int unknown(const struct iw_program *program, const char *word, size_t length)
{
    struct iw_nearest n;
    char name[IW_NEAREST_WORD] = "", error[ERROR_ROOM];
    const struct iw_option *const tables[] = {shared, program->options};
    if (length > 2 && length - 2 < sizeof(name))
        memcpy(name, word + 2, length - 2);
    iw_nearest_begin(&n, name);
    for (size_t t = 0; t < 2; t++)
        for (const struct iw_option *o = tables[t]; o->name; o++)
            iw_nearest_offer(&n, o->name);
    if (n.best)
        snprintf(error, sizeof(error), "unknown option (did you mean --%s?)", n.best);
    else
        snprintf(error, sizeof(error), "unknown option (see --help)");
    return fail(program, word, length, error);
}

/* --help, --version and --list-rules. */
static int print_and_exit(const struct iw_program *program, const char *name)
{
    if (strcmp(name, "help") == 0) {
        printf("usage: %s %s\n%s\n\n", program->name, program->usage, program->summary);
        print_options(program->options);
        printf("\nOf each connection:\n");
        print_options(shared);
    } else if (strcmp(name, "version") == 0) {
        printf("%s %s\n", program->name, IW_VERSION);
    } else {
        iw_list_rules(stdout);
    }
    return IW_EXIT_OK;
}

/* What no option can see alone. */
static int check(const struct iw_program *program, const struct iw_options *o)
{
    const struct iw_mpa_config *mpa = &o->endpoint.mpa;
    const char *error = NULL;
    if (mpa->enhanced && mpa->revision < 2)
        error = "--enhanced on needs --revision 2";
    else if (mpa->revision == 0 && !mpa->permissive)
        error = "--revision 0 needs --permissive on";
    else if (mpa->peer_to_peer && !mpa->enhanced)
        error = "--peer-to-peer on needs --enhanced on";
    else if (mpa->enhanced && o->private_length > IW_MPA_PRIVATE_MAX - IW_MPA_ENHANCED_LENGTH)
        error = "--private: expected at most 508 octets with --enhanced on";
    if (!error)
        return -1;
    fprintf(stderr, "%s: %s\n", program->name, error);
    return IW_EXIT_USAGE;
}

int iw_options_parse(const struct iw_program *program, struct iw_options *options, int argc,
                     char **argv)
{
    size_t words = 0;
    char error[ERROR_ROOM];
    memset(options, 0, sizeof(*options));
    iw_endpoint_config_default(&options->endpoint);
    options->endpoint.switches = &options->switches;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (word[0] != '-' || word[1] != '-') {
            if (word[0] == '-' && word[1] != '\0')
                return fail(program, word, strlen(word), "unknown option (see --help)");
            if (words == program->word_count)
                return fail(program, word, strlen(word), "unexpected argument (see --help)");
            program->words[words++] = word;
            continue;
        }
        size_t length = strcspn(word, "=");
        void *context = options;
        const struct iw_option *o = find(shared, word + 2, length - 2);
        if (!o) {
            o = find(program->options, word + 2, length - 2);
            context = program->context;
        }
        if (!o)
            return unknown(program, word, length);
        const char *value = word[length] == '=' ? word + length + 1 : NULL;
        if (!o->argument && value)
            return fail(program, word, length, "takes no value");
        if (!o->set)
            return print_and_exit(program, o->name);
        if (o->argument && !value) {
            if (i + 1 == argc) {
                snprintf(error, sizeof(error), "expected %s after it", o->argument);
                return fail(program, word, length, error);
            }
            value = argv[++i];
        }
        if (o->set(context, value, error, sizeof(error)))
            return fail(program, word, length, error);
    }
    if (words < program->word_count) {
        fprintf(stderr, "%s: expected %s (see --help)\n", program->name, program->wanted[words]);
        return IW_EXIT_USAGE;
    }
    options->endpoint.private_data = options->private_data;
    options->endpoint.private_length = options->private_length;
    return check(program, options);
}
