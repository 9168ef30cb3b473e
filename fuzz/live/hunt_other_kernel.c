/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets that only a fuzzer elsewhere can reach, such as one in another kernel: a second instance
 * of this program runs the hunt in there, and is watched from here. If the kernel ends or hangs,
 * this file brings it back and looks for the cause: each try is a run of its own in there. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "hunt.h"

static const char variable[] = "IWARP_FUZZ_INSIDE";
static const double SOON = 0.1; /* seconds that a session has at least */

enum {
    STUCK_SECONDS = 60,
    TRY_SECONDS = 60,
    SEQUENCE_SECONDS = 2, /* more for each of a try */
    RESTARTS = 200,       /* with fewer than SEQUENCES for each, that is enough */
    SEQUENCES = 10,
    FRUITLESS = 3, /* sessions in a row */
    SLICE_MS = 20,
    NOT_A_COMMAND = 127,
    SIGNALLED = 128
};

bool iw_hunt_elsewhere(const struct iw_target_spec *spec)
{
    const char *here = getenv(variable);

    return spec->inside && !(here && !strcmp(here, spec->name));
}

/* ---- commands ---- */

/* Runs a shell command. Returns its exit status; 128 and more: a signal ended it. Kills it, and
 * sets *stuck (may be NULL), if `alive` (NULL: nothing) has not changed for `seconds` (0: never).
 */
static int execute(struct iw_hunt *h, const char *command, double seconds, const char *alive,
                   bool *stuck)
{
    struct pollfd end = {.events = POLLIN};
    uint64_t since = iw_transport_now();
    struct stat at, last = {0};
    bool passed_on = false;
    int status = 0;
    pid_t pid = fork();

    if (pid < 0)
        return NOT_A_COMMAND;
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* nobody else would end a hunt inside */
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(NOT_A_COMMAND);
    }
    end.fd = (int)syscall(SYS_pidfd_open, pid, 0); /* -1: poll only sleeps */
    while (!waitpid(pid, &status, WNOHANG)) {
        poll(&end, 1, SLICE_MS);
        if (*h->stop && !passed_on) {
            kill(pid, *h->stop);
            passed_on = true;
        }
        if (alive && !stat(alive, &at) &&
            (at.st_mtim.tv_sec != last.st_mtim.tv_sec ||
             at.st_mtim.tv_nsec != last.st_mtim.tv_nsec)) {
            last = at;
            since = iw_transport_now();
        }
        if (seconds > 0 && (double)(iw_transport_now() - since) / 1e9 > seconds) {
            kill(pid, SIGKILL);
            if (stuck)
                *stuck = true;
        }
    }
    if (end.fd >= 0)
        close(end.fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
}

/* The same for a command (freed) that is to run inside. */
static int execute_inside(struct iw_hunt *h, char *command, double seconds, const char *alive,
                          bool *stuck)
{
    char *folder = realpath(h->dir, NULL);
    char *quoted = iw_text_shell(folder ? folder : h->dir);
    char *filled = iw_text_fill(
        h->spec->inside, (const char *const[]){"command", command, "writable", quoted, NULL});
    int status = execute(h, filled, seconds, alive, stuck);

    free(folder);
    free(quoted);
    free(command);
    free(filled);
    return status;
}

static char *program(const char *name)
{
    char *own = iw_own_folder();
    char *path = iw_text_format("%s/%s", own, name);
    char *quoted = iw_text_shell(path);

    free(own);
    free(path);
    return quoted;
}

/* Appends words, and the word that the format makes (NULL: none). */
__attribute__((format(printf, 3, 4))) static void add(char **text, const char *words,
                                                      const char *format, ...)
{
    char *value = NULL, *before = *text;
    va_list arguments;

    va_start(arguments, format);
    if (format && vasprintf(&value, format, arguments) < 0)
        iw_complain_memory();
    va_end(arguments);
    char *quoted = iw_text_shell(value ? value : "");
    *text = iw_text_format("%s %s%s%s", before, words, value ? " " : "", value ? quoted : "");
    free(quoted);
    free(value);
    free(before);
}

/* Returns our own command line with the options that apply in there, too. */
static char *own_command(const struct iw_hunt *h)
{
    char *text = program("iwarp-fuzz");

    add(&text, "--target", "%s", h->o->target);
    add(&text, "--results", "%s", h->dir);
    add(&text, "--jobs", "%u", h->world.slots);
    add(&text, "--time-scale", "%g", h->o->time_scale);
    if (h->o->hazards)
        add(&text, "--allow-hazard", NULL);
    return text;
}

/* Returns true if the kernel around the target is still there. */
static bool there(struct iw_hunt *h)
{
    bool stuck = false;
    int status =
        execute_inside(h, iw_text_copy("true"), TRY_SECONDS * h->o->time_scale, NULL, &stuck);

    return status == 0 && !stuck;
}

/* Brings it back. Returns false after printing an error. */
static bool restart(struct iw_hunt *h)
{
    h->restarts++;
    if (!h->spec->restart) {
        iw_complain("--target %s: it has ended, and no command brings it back", h->spec->text);
        return false;
    }
    int status = execute(h, h->spec->restart, 0, NULL, NULL);
    if (*h->stop) /* it may have been interrupted, too */
        return true;
    if (status)
        iw_complain("restart: '%s' ended with status %d", h->spec->restart, status);
    return status == 0;
}

static struct iw_hunt_event kernel_event(const struct iw_hunt *h, bool stuck)
{
    char *how =
        stuck ? iw_text_copy("the target's kernel was stuck") : iw_target_kernel_ended(h->spec);
    struct iw_hunt_event e = iw_hunt_event_of(stuck ? IW_HUNT_HANG : IW_HUNT_CRASH, how);

    free(how);
    return e;
}

/* ---- one try ---- */

struct iw_hunt_event iw_hunt_try_inside(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                        size_t n, bool *requested)
{
    struct iw_hunt_event e = {.kind = IW_HUNT_NOTHING};
    char *in = iw_text_format("%s/try", h->dir), *out = iw_text_format("%s/try.json", h->dir);
    char *command = own_command(h);
    FILE *f = fopen(in, "we");
    bool stuck = false;

    unlink(out);
    if (f) {
        iw_hunt_write_inputs(f, inputs, n);
        fclose(f);
    }
    add(&command, "--try", "%s", in);
    add(&command, "2>/dev/null", NULL);
    execute_inside(h, command, (TRY_SECONDS + (double)n * SEQUENCE_SECONDS) * h->o->time_scale,
                   NULL, &stuck);
    if (!access(out, R_OK)) {
        json_t *o = json_load_file(out, 0, NULL);

        e = iw_hunt_event_read(o);
        for (size_t i = 0; requested && i < n; i++)
            requested[i] = json_is_true(json_array_get(json_object_get(o, "requested"), i));
        json_decref(o);
    } else if (!*h->stop && (stuck || !there(h))) {
        e = kernel_event(h, stuck);
        restart(h);
    }
    free(in);
    free(out);
    return e;
}

/* In there: tries the sequences in the file and reports the result. */
int iw_hunt_try_file(struct iw_hunt *h)
{
    struct iw_hunt_input *inputs[IW_HUNT_RECENT];
    bool requested[IW_HUNT_RECENT] = {false};
    struct iw_hunt_event any = {.kind = IW_HUNT_CRASH};
    char *out = iw_text_format("%s.json", h->o->try);
    FILE *f = fopen(h->o->try, "re");
    size_t n = f ? iw_hunt_read_inputs(f, inputs, IW_HUNT_RECENT) : 0;
    json_t *list = iw_got(json_array());
    int status = 0;

    if (f)
        fclose(f);
    iw_hunt_make_parts(h);
    struct iw_hunt_event e = iw_hunt_try(h, inputs, n, &any, n > IW_HUNT_ROW ? NULL : requested);
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_boolean(requested[i]));
        iw_hunt_input_free(inputs[i]);
    }
    json_t *o = iw_got(json_pack("{s:s, s:s, s:o}", "kind", iw_hunt_kind_name(e.kind), "text",
                                 e.text, "requested", list));
    if (json_dump_file(o, out, 0)) {
        iw_complain("cannot write %s: %s", out, strerror(errno));
        status = IW_EXIT_TESTER;
    }
    json_decref(o);
    free(out);
    iw_hunt_close(h);
    return status;
}

/* Plays a case with iwarp-conform, which knows the way inside. */
char *iw_hunt_play_inside(struct iw_hunt *h, const char *path, const char *folder, char **pcap)
{
    char *report = iw_text_format("%s/played/run.json", folder), *verdict = NULL;
    char *command = program("iwarp-conform");
    json_t *o = NULL, *played = NULL;

    add(&command, "run --target", "%s", h->o->target);
    add(&command, "--cases", "%s", path);
    add(&command, "--results", "%s/played", folder);
    add(&command, "--allow-hazard --time-scale", "%g", h->o->time_scale);
    add(&command, ">/dev/null 2>&1", NULL);
    /* The effect of the last try may show only now. */
    for (unsigned tries = 0; !played && tries < 2; tries++) {
        if (tries && (there(h) || !restart(h)))
            break;
        unlink(report);
        execute(h, command, 10 * TRY_SECONDS * h->o->time_scale, NULL, NULL);
        json_decref(o);
        o = json_load_file(report, 0, NULL);
        played = json_array_get(json_object_get(o, "cases"), 0);
    }
    if (played) {
        const char *reason = json_string_value(json_object_get(played, "reason"));

        verdict = iw_text_format("%s%s%s", json_string_value(json_object_get(played, "verdict")),
                                 reason ? " " : "", reason ? reason : "");
        *pcap = iw_text_copy(json_string_value(json_object_get(played, "pcap")));
    }
    json_decref(o);
    free(command);
    free(report);
    return verdict;
}

/* ---- the hunt ---- */

/* Returns the name of the graph in the folder of results. */
static const char *graph_name(const struct iw_hunt *h)
{
    return iw_hunt_graph_is_json(h->o->graph) ? "graph.json" : "graph";
}

static char *session_command(const struct iw_hunt *h, unsigned session)
{
    char *command = own_command(h);

    add(&command, "--resume", NULL);
    add(&command, "--json", "%s/session.json", h->dir);
    add(&command, "--seed", "%" PRIu64, h->o->seed + session);
    double left = h->o->time - iw_hunt_elapsed(h);
    if (h->o->time > 0)
        add(&command, "--time", "%.1f", left < SOON ? SOON : left);
    if (h->o->count)
        add(&command, "--count", "%" PRIu64, h->o->count - h->over);
    if (h->o->rate > 0)
        add(&command, "--rate", "%g", h->o->rate);
    if (h->o->findings)
        add(&command, "--findings", "%u", h->o->findings);
    if (h->o->suppress)
        add(&command, "--suppress", "%s", h->o->suppress);
    if (h->o->graph)
        add(&command, "--graph", "%s/%s", h->dir, graph_name(h));
    for (size_t i = 0; i < h->o->n_seeds; i++)
        add(&command, "--seeds", "%s", h->o->seeds[i]);
    if (h->o->blind)
        add(&command, "--blind", NULL);
    if (h->o->coverage)
        add(&command, "--coverage", NULL);
    return command;
}

/* Returns the larger number: each session begins with what the one before has kept. */
static size_t more(size_t most, const json_t *o, const char *name)
{
    size_t n = (size_t)json_integer_value(json_object_get(o, name));

    return n > most ? n : most;
}

/* Adds up the progress of a session. */
static void add_up(struct iw_hunt *h, const char *progress)
{
    json_t *o = json_load_file(progress, 0, NULL);

    h->over += (uint64_t)json_integer_value(json_object_get(o, "sequences"));
    h->world.starts += (unsigned)json_integer_value(json_object_get(o, "starts"));
    h->inside.states = more(h->inside.states, o, "states");
    h->inside.edges = more(h->inside.edges, o, "edges");
    h->inside.kept = more(h->inside.kept, o, "kept");
    h->inside.places = more(h->inside.places, o, "places");
    json_decref(o);
}

/* Copies the graph of the last session to the place that the user asked for. Returns the exit
 * status; cp prints errors. */
static int take_graph(struct iw_hunt *h)
{
    char *command = iw_text_copy("cp"), *to = iw_text_shell(h->o->graph);

    add(&command, "--", "%s/%s", h->dir, graph_name(h));
    add(&command, to, NULL);
    int status = execute(h, command, 0, NULL, NULL) ? IW_EXIT_TESTER : 0;
    free(to);
    free(command);
    return status;
}

/* Looks for the cause of an end. Returns the exit status: not 0 if it cannot be brought back. */
static int explain(struct iw_hunt *h, bool stuck)
{
    struct iw_hunt_input *list[IW_HUNT_RECENT];
    struct iw_hunt_event e = kernel_event(h, stuck);
    size_t n = iw_hunt_load_started(h->dir, list);

    iw_complain("%s; it is started again", e.text);
    bool back = restart(h);
    (back ? iw_hunt_triage : iw_hunt_unexplained)(h, &e, list, n);
    for (size_t i = 0; i < n; i++)
        iw_hunt_input_free(list[i]);
    return back ? 0 : IW_EXIT_TESTER;
}

/* Handles a session that has ended before the hunt did, in a kernel that is still there: its target
 * was not reached, or it failed itself. Returns the exit status: not 0 if another session would be
 * useless. */
static int again(struct iw_hunt *h, int status, unsigned fruitless)
{
    bool tries = h->spec->restart && fruitless < FRUITLESS && status != IW_EXIT_USAGE &&
                 status != IW_EXIT_TESTER && status != NOT_A_COMMAND;

    iw_complain("the hunt inside ended with status %d%s", status,
                tries ? "; everything is started again" : "");
    if (tries)
        return restart(h) ? 0 : IW_EXIT_TESTER;
    return status < NOT_A_COMMAND ? status : IW_EXIT_TESTER;
}

/* The hunt inside says that it has found something. Returns the exit status: not 0 if it reported
 * no finding. */
static int untold(const struct iw_hunt *h)
{
    if (iw_hunt_counted(h, false))
        return 0;
    iw_complain("the hunt inside has found something, but it is not in %s/findings.jsonl", h->dir);
    return IW_EXIT_TESTER;
}

/* Returns true if it ends so often that hardly anything is tried. */
static bool hopeless(const struct iw_hunt *h)
{
    return h->restarts >= RESTARTS && h->over / SEQUENCES < h->restarts;
}

int iw_hunt_watch(struct iw_hunt *h)
{
    char *progress = iw_text_format("%s/progress.json", h->dir);
    char *report = iw_text_format("%s/session.json", h->dir), *own = iw_own_folder();
    const char *path = getenv("PATH");
    char *longer = iw_text_format("%s:%s", path ? path : "/usr/bin:/bin", own);
    unsigned fruitless = 0;
    int status =
        setenv("PATH", longer, 1) || setenv(variable, h->spec->name, 1) ? IW_EXIT_TESTER : 0;

    h->began = iw_transport_now();
    if (!status && !there(h) && !*h->stop) {
        iw_complain("--target %s: what it is inside of cannot be reached", h->spec->text);
        status = IW_EXIT_UNREACHED;
    }
    for (unsigned session = 0; !status && !iw_hunt_is_over(h) && !hopeless(h); session++) {
        bool stuck = false;
        uint64_t before = h->over;

        unlink(progress);
        unlink(report);
        status = execute_inside(h, session_command(h, session), STUCK_SECONDS * h->o->time_scale,
                                progress, &stuck);
        add_up(h, progress);
        iw_hunt_load_findings(h);
        bool whole = !access(report, F_OK);
        /* After the last session nobody else would see the effect of its last sequences. */
        bool ended =
            !*h->stop && ((!whole && stuck) || ((!whole || iw_hunt_is_over(h)) && !there(h)));
        fruitless = h->over > before ? 0 : fruitless + 1;
        if (ended)
            status = explain(h, stuck);
        else if (status == IW_EXIT_FAILURE || *h->stop)
            status = status == IW_EXIT_FAILURE ? untold(h) : 0;
        else if (status)
            status = again(h, status, fruitless);
    }
    if (h->o->graph && !status)
        status = take_graph(h);
    if (!status && !iw_hunt_is_over(h)) {
        iw_complain("everything has been started again %u times for %llu sequences: that is enough",
                    h->restarts, (unsigned long long)h->over);
        status = IW_EXIT_TESTER;
    }
    free(progress);
    free(report);
    free(own);
    free(longer);
    return status;
}
