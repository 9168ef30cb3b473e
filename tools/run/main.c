/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a program that uses libibverbs and librdmacm on this stack. */
#include "run_program.h"

#include "host/complain.h"
#include "host/files.h"
#include "host/options.h"
#include "host/text.h"
#include "iwarp/mpa.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CANNOT_RUN = 126 }; /* as of a shell */

struct run {
    bool crc, markers, rtr, verbose;
    uint8_t revision;
    uint32_t mulpdu;
};

static const struct iw_option options[] = {
    {"crc", 0, "on|off", "demand CRCs (on)", 0, IW_OPTION_SWITCHES(struct run, crc)},
    {"markers", 0, "on|off", "ask for Markers (off)", 0, IW_OPTION_SWITCHES(struct run, markers)},
    {"revision", 0, "1|2", "highest revision of MPA offered and accepted (2)", 0,
     IW_OPTION_COUNTS(struct run, revision, 1, 2)},
    {"rtr", 0, "on|off", "begin connections with an RTR indication (on)", 0,
     IW_OPTION_SWITCHES(struct run, rtr)},
    {"mulpdu", 0, "OCTETS", "MULPDU, 128 to 64768 (from TCP's segment size)", 0,
     IW_OPTION_COUNTS(struct run, mulpdu, IW_MPA_MULPDU_MIN, IW_MPA_ULPDU_MAX)},
    {"verbose", 'v', NULL, "report calls that are not supported, by name", 0,
     IW_OPTION_SETS(struct run, verbose)},
};

static const char usage[] =
    "usage: iwarp-run [OPTION...] PROGRAM [ARGUMENT...]\n"
    "Runs PROGRAM with a libibverbs that is iWARP on TCP, without device, kernel module or root.\n";

/* Finds the library from where this program lies. Returns its path, which the caller frees, or NULL
 * if it is not there. */
static char *find_library(void)
{
    static const char *const folders[] = {"../lib/iwarp", "../" IW_LIBDIR "/iwarp"};
    char *own = iw_own_folder(), *found = NULL;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && found == NULL; i++) {
        char *candidate = iw_text_format("%s/%s/libibverbs.so.1", own, folders[i]);
        found = realpath(candidate, NULL);
        free(candidate);
    }
    free(own);
    return found;
}

/* Puts the library before what is preloaded already, but after AddressSanitizer's, which has to be
 * the first. ThreadSanitizer's comes after it: beneath its poll() it would not see our locks. */
static void preload(const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    const bool any = before != NULL && *before != '\0';
    const bool asan = any && strstr(before, "asan") != NULL;
    char *value = iw_text_format("%s%s%s", asan ? before : library, any ? ":" : "",
                                 asan  ? library
                                 : any ? before
                                       : "");
    if (setenv("LD_PRELOAD", value, 1) != 0)
        iw_complain_memory();
    free(value);
}

static void pass_settings(const struct run *run)
{
    char value[200];
    snprintf(value, sizeof(value), "crc=%s,markers=%s,rtr=%s,trace=%s,revision=%u,mulpdu=%u",
             run->crc ? "on" : "off", run->markers ? "on" : "off", run->rtr ? "on" : "off",
             run->verbose ? "on" : "off", run->revision, run->mulpdu);
    setenv("IWARP_VERBS", value, 1);
}

/* The options of iwarp-run end with the first other word, which is the program's name. */
static int count_own(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        const bool alone = strchr(argv[i], '=') != NULL || strcmp(argv[i], "-v") == 0 ||
                           strncmp(argv[i], "--v", 3) == 0 || strncmp(argv[i], "--h", 3) == 0;
        if (!alone)
            i++;
    }
    return i < argc ? i : argc;
}

int main(int argc, char **argv)
{
    struct run run = {.crc = true, .rtr = true, .revision = 2};
    const struct iw_option_table tables[] = {
        {NULL, options, sizeof(options) / sizeof(options[0]), &run}};
    const struct iw_command_line line = {
        .program = "iwarp-run", .usage = usage, .tables = tables, .n_tables = 1};
    char path[PATH_MAX], error[PATH_MAX + 200];
    int first, own = count_own(argc, argv);
    iw_complain_as("iwarp-run");
    int status = iw_options_read(&line, own, argv, &first);
    if (status >= 0)
        return status;
    if (own >= argc)
        return iw_complain_exit(IW_EXIT_USAGE, "expected the name of a program");
    char *library = find_library();
    const char *wrong =
        library == NULL ? "libibverbs.so.1 is not in ../lib/iwarp, seen from this program"
        : strpbrk(library, " :") != NULL
            ? "libibverbs.so.1 must lie where no path has a space or a colon, for the loader's sake"
            : NULL;
    if (wrong == NULL)
        preload(library);
    free(library);
    if (wrong != NULL)
        return iw_complain_exit(IW_EXIT_TESTER, "%s", wrong);
    if (run_find_program(argv[own], path, sizeof(path), error, sizeof(error)) != 0 ||
        run_check_program(path, error, sizeof(error)) != 0)
        return iw_complain_exit(CANNOT_RUN, "%s", error);
    pass_settings(&run);
    execv(path, argv + own);
    return iw_complain_exit(CANNOT_RUN, "%s: %s", path, strerror(errno));
}
