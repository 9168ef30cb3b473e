/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg: services by number, found and used from the command line. */
#include "msg_command.h"

#include "host/complain.h"
#include "host/offers.h"
#include "host/options.h"
#include "iwarp/nearest.h"
#include "standard.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct msg_command commands[] = {
    {"resolve", MSG_RESOLVE, msg_resolve_run, "NUMBER...", "where are these services?", 1, SIZE_MAX,
     "numbers of services"},
    {"claim", MSG_CLAIM, msg_claim_run, "HOST:PORT NUMBER...",
     "answer for services that do not do it themselves, until interrupted", 2, SIZE_MAX,
     "HOST:PORT and numbers of services"},
    {"ping", MSG_PINGS, msg_ping_run, "NUMBER", "how long is a round trip?", 1, 1,
     "the number of a service"},
    {"serve", MSG_SERVES, msg_serve_run, "NUMBER [FOLDER]",
     "answer pings, and send the files of a folder, until interrupted", 1, 2,
     "the number of a service, and a folder"},
    {"get", MSG_GETS, msg_get_run, "NUMBER PATH", "fetch a file of iwarp-msg serve", 2, 2,
     "the number of a service, and a path"},
    {"top", MSG_TOPS, msg_top_run, "[PID...]", "which processes of this host have services?", 0,
     SIZE_MAX, "ids of processes"},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static const char usage[] = "usage: iwarp-msg COMMAND [OPTION...] [OPERAND...]\n"
                            "Messages between services that are known by a number.\n";

static const struct msg_command *command_of(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void print_commands(void)
{
    printf("\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %s %s\n      %s\n", commands[i].name, commands[i].operands, commands[i].help);
}

static int offer_commands(const char *typed)
{
    const struct iw_offers to = {.typed = typed, .before = ""};
    for (size_t i = 0; i < COMMANDS; i++)
        iw_offer(&to, commands[i].name, commands[i].help);
    return IW_EXIT_GOOD;
}

/* Names all of them: "a, b or c". */
static int complain_command(const char *given)
{
    char names[200] = "";
    size_t length = 0;
    for (size_t i = 0; i < COMMANDS && length < sizeof(names); i++)
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
                                   i == 0              ? ""
                                   : i + 1 == COMMANDS ? " or "
                                                       : ", ",
                                   commands[i].name);
    return iw_complain_exit(IW_EXIT_USAGE, "%s: expected %s (see --help)", given, names);
}

/* Names the nearest one, or all of them. */
static int unknown_command(const char *word)
{
    struct iw_nearest search;
    iw_nearest_begin(&search, word);
    for (size_t i = 0; i < COMMANDS; i++)
        iw_nearest_offer(&search, commands[i].name);
    return iw_options_suggest_command(&search) ? IW_EXIT_USAGE : complain_command(word);
}

static int run(int argc, char **argv)
{
    static struct msg_settings settings = {.exchange = {.size = 50, .count = 1000, .warm_up = 100}};
    const struct iw_option_table tables[] = {
        {"What is asked for:", msg_resolve_options, MSG_RESOLVE_OPTIONS, &settings.resolve},
        {"What is shown:", msg_top_options, MSG_TOP_OPTIONS, &settings.top},
        {"Messages:", msg_exchange_options, MSG_EXCHANGE_OPTIONS, &settings.exchange},
        {"This end:", msg_place_options, MSG_PLACE_OPTIONS, &settings.place},
        {"Finding services:", msg_net_options, MSG_NET_OPTIONS, &settings.net},
    };
    iw_complain_as("iwarp-msg");
    const bool named = argc > 1 && argv[1][0] != '-';
    const struct msg_command *command = named ? command_of(argv[1]) : NULL;
    if (iw_options_completing() && (argc <= 1 || (argc == 2 && named) || (named && !command)))
        return offer_commands(argc <= 1 ? "" : argv[1]);
    if (named && command == NULL)
        return unknown_command(argv[1]);
    const struct iw_command_line line = {.program = "iwarp-msg",
                                         .usage = usage,
                                         .tables = tables,
                                         .n_tables = sizeof(tables) / sizeof(tables[0]),
                                         .command = named ? command->bit : 0,
                                         .command_name = named ? command->name : NULL,
                                         .most_operands = -1,
                                         .more_help = print_commands};
    int first;
    const int status = iw_options_read(&line, argc - named, argv + named, &first);
    if (status >= 0)
        return status;
    if (command == NULL)
        return complain_command("no command");
    const size_t count = (size_t)(argc - named - first);
    if (count < command->least || count > command->most)
        return iw_complain_exit(IW_EXIT_USAGE, "%s: expected %s", command->name, command->expected);
    return command->run(&settings, argv + named + first, count);
}

int main(int argc, char **argv)
{
    iw_standard_open();
    return iw_standard_close("iwarp-msg", run(argc, argv));
}
