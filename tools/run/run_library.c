/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_library.h"

#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds a library from where this program lies. Returns its path, which the caller frees, or NULL
 * if it is not there. */
static char *find_library(const char *name)
{
    static const char *const folders[] = {"../lib/iwarp", "../" IW_LIBDIR "/iwarp"};
    char *own = iw_own_folder(), *found = NULL;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && found == NULL; i++) {
        char *candidate = iw_text_format("%s/%s/%s", own, folders[i], name);
        found = realpath(candidate, NULL);
        free(candidate);
    }
    free(own);
    return found;
}

/* Returns the length of what is preloaded up to AddressSanitizer's library, 0 without it: that one
 * wants to be the first, unless it is told not to mind. */
static size_t sanitizer_in(const char *list)
{
    const char *options = getenv("ASAN_OPTIONS");
    if (options != NULL && strstr(options, "verify_asan_link_order=0") != NULL)
        return 0;
    for (const char *at = list; *at != '\0';) {
        const size_t length = strcspn(at, ": ");
        const char *name = memrchr(at, '/', length), *found;
        name = name != NULL ? name + 1 : at;
        found = strstr(name, "asan");
        if (found != NULL && found < at + length)
            return (size_t)(at - list) + length;
        at += length + (at[length] != '\0');
    }
    return 0;
}

/* Puts the library before what is preloaded already, but after AddressSanitizer's.
 * ThreadSanitizer's comes after it: beneath its poll() it would not see our locks. */
static void preload(const char *library)
{
    const char *given = getenv("LD_PRELOAD"), *before = given != NULL ? given : "";
    const size_t kept = sanitizer_in(before);
    const char *rest = before + kept + (kept > 0 && before[kept] != '\0');
    char *value = iw_text_format("%.*s%s%s%s%s", (int)kept, before, kept > 0 ? ":" : "", library,
                                 *rest != '\0' ? ":" : "", rest);
    if (setenv("LD_PRELOAD", value, 1) != 0)
        iw_complain_memory();
    free(value);
}

static int preload_named(const char *name, char *error, size_t room)
{
    char *library = find_library(name);
    const char *wrong = library == NULL ? "is not in ../lib/iwarp, seen from this program"
                        : strpbrk(library, " :") != NULL
                            ? "must lie where no path has a space or a colon, for the loader's sake"
                            : NULL;
    if (wrong == NULL)
        preload(library);
    else
        snprintf(error, room, "%s %s", name, wrong);
    free(library);
    return wrong == NULL ? 0 : -1;
}

/* The library of sockets comes first: what it does not take it passes on to the other one. */
int run_preload(bool sockets, char *error, size_t room)
{
    if (preload_named("libibverbs.so.1", error, room) != 0)
        return -1;
    return sockets ? preload_named("libiwarp-sockets.so", error, room) : 0;
}

static void print_switches(FILE *out, const struct iw_switches *s)
{
    static const char *const kinds[] = {[IW_SWITCH_IGNORE] = "ignore",
                                        [IW_SWITCH_OVERSTRICT] = "overstrict",
                                        [IW_SWITCH_VIOLATE] = "violate"};
    for (int check = IW_CHECK_NONE + 1; check < IW_CHECK_COUNT; check++) {
        const char *name = iw_check_info((enum iw_check)check)->name;
        for (unsigned kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
            if (iw_switch_is_set(s, (enum iw_switch)kind, (enum iw_check)check))
                fprintf(out, ",%s=%s", kinds[kind], name);
        enum iw_botch botch = iw_switch_botched(s, (enum iw_check)check);
        if (botch != IW_BOTCH_NONE)
            fprintf(out, ",botch=%s=%s", name, iw_botch_name(botch));
    }
}

/* By its whole path: the program may change its folder. */
static int pass_trace(const char *path, char *error, size_t room)
{
    FILE *f = fopen(path, "we");
    char *whole = f != NULL ? realpath(path, NULL) : NULL;
    if (f != NULL)
        fclose(f);
    int result = whole != NULL ? setenv("IWARP_RUN_TRACE", whole, 1) : -1;
    if (result != 0)
        snprintf(error, room, "--trace: cannot write %s: %s", path, strerror(errno));
    free(whole);
    return result;
}

int run_pass_settings(const struct run_settings *s, char *error, size_t room)
{
    char *value = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&value, &length);
    if (out == NULL)
        iw_complain_memory();
    fprintf(out,
            "crc=%s,markers=%s,rtr=%s,responder_first=%s,verbose=%s,revision=%u,mulpdu=%u,spin=%u",
            s->crc ? "on" : "off", s->markers ? "on" : "off", s->rtr ? "on" : "off",
            s->responder_first ? "on" : "off", s->verbose ? "on" : "off", s->revision, s->mulpdu,
            s->spin);
    if (s->judge)
        fprintf(out, ",judge=on,capture=%" PRIu64, s->capture);
    print_switches(out, &s->switches);
    if (fclose(out) != 0 || setenv("IWARP_VERBS", value, 1) != 0)
        iw_complain_memory();
    free(value);
    return s->trace != NULL ? pass_trace(s->trace, error, room) : 0;
}
