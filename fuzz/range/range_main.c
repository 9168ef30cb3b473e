/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 64, TEN = 10, ADDRESS = 16 };

static const char help[] =
    "usage: iwarp-range [--bug N[,N...]] [--port P | --connect ADDRESS:PORT]\n"
    "An iWARP peer of its own with bugs that can be switched on: practice for suite and fuzzer.\n"
    "\n"
    "      --bug N[,N...]          switch on bugs by number (default 0: none)\n"
    "      --port P                listen at a port of 127.0.0.1 (default 0: one that is free)\n"
    "      --connect ADDRESS:PORT  make one connection, as initiator, in place of listening\n"
    "      --crash-every N         end by a heap overflow at every Nth connection\n"
    "      --list                  print the bugs, and exit\n"
    "  -h, --help                  print this\n";

/* A report of UndefinedBehaviorSanitizer names functions only with a stack. The name is its own.
 * NOLINTBEGIN(bugprone-reserved-identifier) */
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "print_stacktrace=1";
}
/* NOLINTEND(bugprone-reserved-identifier) */

static int complain(const char *what, const char *value, const char *expected)
{
    fprintf(stderr, "iwarp-range: %s %s: expected %s\n", what, value, expected);
    return USAGE;
}

static void list_bugs(void)
{
    for (int i = RANGE_BUG_NONE + 1; i < RANGE_BUG_COUNT; i++) {
        const struct range_bug_info *b = range_bug_info((enum range_bug)i);
        printf("%2d  %-16s %-24s %s\n", i, b->name, b->function, b->text);
    }
}

/* Returns whether the text is a number up to `most`; puts it into *value. */
static bool number_of(const char *text, unsigned long most, unsigned long *value)
{
    char *end;
    *value = strtoul(text, &end, TEN);
    return *text >= '0' && *text <= '9' && *end == '\0' && *value <= most;
}

static int connect_to(const char *where)
{
    char host[ADDRESS];
    const char *colon = strrchr(where, ':');
    unsigned long port;
    if (colon == NULL || (size_t)(colon - where) >= sizeof(host) ||
        !number_of(colon + 1, UINT16_MAX, &port))
        return complain("--connect", where, "an IPv4 address and a port, ADDRESS:PORT");
    snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
    return range_connect(host, (uint16_t)port);
}

int main(int argc, char **argv)
{
    enum { BUG = 1, PORT, CONNECT, EVERY, LIST };
    static const struct option options[] = {{"bug", required_argument, NULL, BUG},
                                            {"port", required_argument, NULL, PORT},
                                            {"connect", required_argument, NULL, CONNECT},
                                            {"crash-every", required_argument, NULL, EVERY},
                                            {"list", no_argument, NULL, LIST},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *where = NULL;
    unsigned long port = 0, every;
    for (int o; (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        switch (o) {
        case BUG:
            if (!range_bugs_set(optarg))
                return complain("--bug", optarg, "numbers as --list prints them");
            break;
        case PORT:
            if (!number_of(optarg, UINT16_MAX, &port))
                return complain("--port", optarg, "0 to 65535");
            break;
        case CONNECT:
            where = optarg;
            break;
        case EVERY:
            if (!number_of(optarg, UINT32_MAX, &every))
                return complain("--crash-every", optarg, "0 to 4294967295");
            range_crash_every(every);
            break;
        case LIST:
            list_bugs();
            return 0;
        case 'h':
            fputs(help, stdout);
            return 0;
        default:
            return USAGE;
        }
    }
    if (optind < argc)
        return complain("argument", argv[optind], "options only");
    return where != NULL ? connect_to(where) : range_listen((uint16_t)port);
}
