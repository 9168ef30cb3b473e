/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a program that uses libibverbs and librdmacm on this stack. */
#include "run_judge.h"
#include "run_library.h"
#include "run_program.h"
#include "run_sockets.h"

#include "host/complain.h"
#include "host/options.h"
#include "host/outputs.h"
#include "iwarp/mpa.h"
#include "switch_options.h"
#include "verbs/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CANNOT_RUN = 126 }; /* as of a shell */

static const struct iw_option options[] = {
    {"crc", 0, "on|off", "demand CRCs (on)", 0, IW_OPTION_SWITCHES(struct run_settings, crc)},
    {"markers", 0, "on|off", "ask for Markers (off)", 0,
     IW_OPTION_SWITCHES(struct run_settings, markers)},
    {"revision", 0, "1|2", "highest revision of MPA offered and accepted (2)", 0,
     IW_OPTION_COUNTS(struct run_settings, revision, 1, 2)},
    {"rtr", 0, "on|off", "begin connections with an RTR indication (on)", 0,
     IW_OPTION_SWITCHES(struct run_settings, rtr)},
    {"responder-first", 0, "on|off",
     "a responder may speak first, after 10 ms, if no RTR comes (on)", 0,
     IW_OPTION_SWITCHES(struct run_settings, responder_first)},
    {"mulpdu", 0, "OCTETS", "MULPDU, 128 to 64768 (from TCP's segment size)", 0,
     IW_OPTION_COUNTS(struct run_settings, mulpdu, IW_MPA_MULPDU_MIN, IW_MPA_ULPDU_MAX)},
    {"spin", 0, "US", "poll this long, 0 to 1000 us, before a wait for an event sleeps (20)", 0,
     IW_OPTION_COUNTS(struct run_settings, spin, 0, 1000)},
    {"verbose", 'v', NULL, "report calls that are not supported, by name", 0,
     IW_OPTION_SETS(struct run_settings, verbose)},
    {"trace", 0, "FILE", "one JSON line per frame, fault and state of each connection", 0,
     IW_OPTION_KEEPS(struct run_settings, trace)},
};

static int set_judge(void *context, const char *value, char *error, size_t room)
{
    struct run_judge *judge = context;
    judge->wanted = true;
    if (value == NULL)
        return IW_OPTION_TAKEN;
    judge->fail = strcmp(value, "fail") == 0;
    return judge->fail ? IW_OPTION_TAKEN : iw_option_wrong(error, room, "expected fail");
}

static const struct iw_option judging[] = {
    {"judge", 0, "[=fail]",
     "judge both sides by the RFCs: findings at the end; fail: exit\n"
     "status 1 for a MUST that the peer broke",
     0, IW_OPTION_CALLS(set_judge)},
    {"json", 0, NULL, "the findings as JSON, one object per line", 0,
     IW_OPTION_SETS(struct run_judge, json)},
    {"capture", 0, "FILE", "pcapng of all connections, findings as comments on the frames", 0,
     IW_OPTION_KEEPS(struct run_judge, capture)},
    {"capture-size", 0, "MIB", "of each process, at most; nothing is recorded after that (64)", 0,
     IW_OPTION_COUNTS(struct run_judge, capture_mib, 1, 1 << 20)},
    {"report", 0, "FILE", "program, command, versions, connections and findings, as text", 0,
     IW_OPTION_KEEPS(struct run_judge, report)},
};

static const char usage[] =
    "usage: iwarp-run [OPTION...] PROGRAM [ARGUMENT...]\n"
    "Runs PROGRAM with a libibverbs that is iWARP on TCP, without device, kernel module or root.\n";

int main(int argc, char **argv)
{
    struct run_settings run = {
        .crc = true, .rtr = true, .responder_first = true, .revision = 2, .spin = IW_VERBS_SPIN};
    struct run_judge judge = {.capture_mib = RUN_CAPTURE_MIB};
    struct run_sockets sockets = {.wanted = false};
    const struct iw_option_table tables[] = {
        {NULL, options, sizeof(options) / sizeof(options[0]), &run},
        {"The judge at its side:", judging, sizeof(judging) / sizeof(judging[0]), &judge},
        {"Programs of sockets:", run_socket_options, RUN_SOCKET_OPTIONS, &sockets},
        {"Deviations of this side:", iw_switch_options, IW_SWITCH_OPTIONS, &run.switches}};
    const struct iw_command_line line = {.program = "iwarp-run",
                                         .usage = usage,
                                         .tables = tables,
                                         .most_operands = -1,
                                         .operands_are_last = true,
                                         .n_tables = sizeof(tables) / sizeof(tables[0])};
    char path[PATH_MAX], error[PATH_MAX + 200];
    int first;
    iw_complain_as("iwarp-run");
    int status = iw_options_read(&line, argc, argv, &first);
    if (status >= 0)
        return status;
    const struct iw_host_output outputs[] = {
        {"capture", judge.capture}, {"report", judge.report}, {"trace", run.trace}};
    status = iw_host_check_outputs(outputs, sizeof(outputs) / sizeof(outputs[0]));
    if (status >= 0)
        return status;
    if (first >= argc)
        return iw_complain_exit(IW_EXIT_USAGE, "expected the name of a program");
    if (run_pass_sockets(&sockets, error, sizeof(error)) != 0)
        return iw_complain_exit(IW_EXIT_USAGE, "%s", error);
    if (run_preload(sockets.wanted, error, sizeof(error)) != 0)
        return iw_complain_exit(IW_EXIT_TESTER, "%s", error);
    if (run_find_program(argv[first], path, sizeof(path), error, sizeof(error)) != 0 ||
        run_check_program(path, error, sizeof(error)) != 0)
        return iw_complain_exit(CANNOT_RUN, "%s", error);
    judge.wanted |= judge.json || judge.capture != NULL || judge.report != NULL;
    run.judge = judge.wanted;
    run.capture = judge.capture != NULL ? judge.capture_mib << 20 : 0;
    if (run_pass_settings(&run, error, sizeof(error)) != 0) /* the trace */
        return iw_complain_exit(IW_EXIT_OUTPUT, "%s", error);
    if (judge.wanted) {
        status = run_judge_begin(&judge);
        return status >= 0 ? status : run_judge_program(&judge, path, argv + first);
    }
    execv(path, argv + first);
    return iw_complain_exit(CANNOT_RUN, "%s: %s", path, strerror(errno));
}
