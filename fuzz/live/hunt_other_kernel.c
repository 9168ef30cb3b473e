/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets that only a fuzzer elsewhere can reach, such as one in another kernel: a second instance
 * of this program runs the hunt in there, and is watched from here. If the kernel ends or hangs,
 * this file brings it back and looks for the cause: each try is a run of its own in there. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "hunt.h"
#include "target/other_kernel.h"

static const double SOON = 0.1; /* seconds that a session has at least */

enum {
    STUCK_SECONDS = 60,
    TRY_SECONDS = 60,
    SEQUENCE_SECONDS = 2, /* more for each of a try */
    RESTARTS = 200,       /* with fewer than SEQUENCES for each, that is enough */
    SEQUENCES = 10,
    FRUITLESS = 3, /* sessions in a row */
};

/* ---- commands ---- */

/* Runs a command (freed) inside. Returns its exit status. */
static int run_elsewhere(struct iw_hunt *h, char *command, struct iw_shell_watch *w)
{
    char *folder = realpath(h->dir, NULL);
    char *entry = iw_target_entry_command(h->spec, command, folder != NULL ? folder : h->dir);
    int status = iw_shell_run(entry, h->stop, w);
    free(folder);
    free(entry);
    free(command);
    return status;
}

/* Begins the command that runs a program of our folder. */
static char *program(const char *name)
{
    char *own = iw_own_folder(), *command = NULL;
    char *path = iw_text_format("%s/%s", own, name);
    iw_text_join_word(&command, path);
    free(own);
    free(path);
    return command;
}

/* Appends an option, and the value that the format makes. */
__attribute__((format(printf, 3, 4))) static void add(char **command, const char *option,
                                                      const char *format, ...)
{
    char *value = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&value, format, arguments) < 0)
        iw_complain_memory();
    va_end(arguments);
    iw_text_join(command, " ", option);
    iw_text_join_word(command, value);
    free(value);
}

/* Returns our own command line. The caller adds what differs inside: the last of two options
 * counts. */
static char *own_command(const struct iw_hunt *h)
{
    char *command = program("iwarp-fuzz");
    for (int i = 0; i < h->o->n_arguments; i++)
        iw_text_join_word(&command, h->o->arguments[i]);
    add(&command, "--results", "%s", h->dir);
    return command;
}

/* Returns true if the kernel around the target is still there. */
static bool there(struct iw_hunt *h)
{
    struct iw_shell_watch w = {.seconds = TRY_SECONDS * h->o->time_scale};
    return !run_elsewhere(h, iw_text_copy("true"), &w);
}

/* Brings it back. Returns false after printing an error. */
static bool restart(struct iw_hunt *h)
{
    h->restarts++;
    if (h->spec->restart == NULL) {
        iw_complain("--target %s: it has ended, and no command brings it back", h->spec->text);
        return false;
    }
    return iw_target_restart(h->spec, h->stop);
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

struct iw_hunt_event iw_hunt_try_elsewhere(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                           size_t n, bool *requested)
{
    struct iw_hunt_event e = {.kind = IW_HUNT_NOTHING};
    char *in = iw_text_format("%s/try", h->dir), *out = iw_text_format("%s/try.json", h->dir);
    char *command = own_command(h);
    FILE *f = fopen(in, "we");
    struct iw_shell_watch w = {.seconds =
                                   (TRY_SECONDS + (double)n * SEQUENCE_SECONDS) * h->o->time_scale};

    unlink(out);
    if (f != NULL) {
        iw_hunt_write_inputs(f, inputs, n);
        fclose(f);
    }
    add(&command, "--try", "%s", in);
    iw_text_join(&command, " ", "2>/dev/null");
    run_elsewhere(h, command, &w);
    if (!access(out, R_OK)) {
        json_t *o = json_load_file(out, 0, NULL);

        e = iw_hunt_event_read(o);
        for (size_t i = 0; requested != NULL && i < n; i++)
            requested[i] = json_is_true(json_array_get(json_object_get(o, "requested"), i));
        json_decref(o);
    } else if (!*h->stop && (w.stuck || !there(h))) {
        e = kernel_event(h, w.stuck);
        restart(h);
    }
    free(in);
    free(out);
    return e;
}

/* In there: tries the sequences in the file and reports the result. */
int iw_hunt_try_file(struct iw_hunt *h)
{
    FILE *f = fopen(h->o->try, "re");
    struct iw_hunt_input *inputs[IW_HUNT_RECENT];
    size_t n = f != NULL ? iw_hunt_read_inputs(f, inputs, IW_HUNT_RECENT) : 0;
    if (f != NULL)
        fclose(f);
    iw_hunt_make_parts(h);
    bool requested[IW_HUNT_RECENT] = {false};
    struct iw_hunt_event any = {.kind = IW_HUNT_CRASH};
    struct iw_hunt_event e = iw_hunt_try(h, inputs, n, &any, n > IW_HUNT_ROW ? NULL : requested);
    json_t *list = iw_got(json_array());
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_boolean(requested[i]));
    iw_hunt_inputs_free(inputs, n);
    json_t *o = iw_got(json_pack("{s:s, s:s, s:o}", "kind", iw_hunt_kind_name(e.kind), "text",
                                 e.text, "requested", list));
    char *out = iw_text_format("%s.json", h->o->try);
    bool good = iw_hunt_write_json(o, out);
    free(out);
    iw_hunt_close(h);
    return good ? 0 : IW_EXIT_TESTER;
}

/* Plays a case with iwarp-conform, which knows the way inside. */
char *iw_hunt_play_elsewhere(struct iw_hunt *h, const char *path, const char *folder, char **pcap)
{
    char *report = iw_text_format("%s/played/run.json", folder), *verdict = NULL;
    char *command = program("iwarp-conform");
    struct iw_shell_watch w = {.seconds = 10 * TRY_SECONDS * h->o->time_scale};
    json_t *o = NULL, *played = NULL;

    add(&command, "run --target", "%s", h->o->target);
    add(&command, "--cases", "%s", path);
    add(&command, "--results", "%s/played", folder);
    add(&command, "--allow-hazard --time-scale", "%g", h->o->time_scale);
    iw_text_join(&command, " ", ">/dev/null 2>&1");
    /* The effect of the last try may show only now. */
    for (unsigned tries = 0; played == NULL && tries < 2; tries++) {
        if (tries && (there(h) || !restart(h)))
            break;
        unlink(report);
        iw_shell_run(command, h->stop, &w);
        json_decref(o);
        o = json_load_file(report, 0, NULL);
        played = json_array_get(json_object_get(o, "cases"), 0);
    }
    if (played != NULL) {
        const char *reason = json_string_value(json_object_get(played, "reason"));

        verdict = iw_text_format("%s%s%s", json_string_value(json_object_get(played, "verdict")),
                                 reason != NULL ? " " : "", reason != NULL ? reason : "");
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
    double left = h->o->time - iw_hunt_elapsed(h);
    iw_text_join(&command, " ", "--resume");
    add(&command, "--json", "%s/session.json", h->dir);
    add(&command, "--seed", "%" PRIu64, h->o->seed + session);
    if (h->o->time > 0)
        add(&command, "--time", "%.1f", left < SOON ? SOON : left);
    if (h->o->count)
        add(&command, "--count", "%" PRIu64, h->o->count - h->over);
    if (h->o->graph != NULL)
        add(&command, "--graph", "%s/%s", h->dir, graph_name(h));
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
    h->session_counts.states = more(h->session_counts.states, o, "states");
    h->session_counts.edges = more(h->session_counts.edges, o, "edges");
    h->session_counts.kept = more(h->session_counts.kept, o, "kept");
    h->session_counts.places = more(h->session_counts.places, o, "places");
    json_decref(o);
}

/* Copies the graph of the last session to the place that the user asked for. Returns the exit
 * status; cp prints errors. */
static int take_graph(struct iw_hunt *h)
{
    char *command = iw_text_copy("cp");
    add(&command, "--", "%s/%s", h->dir, graph_name(h));
    iw_text_join_word(&command, h->o->graph);
    int status = iw_shell_run(command, h->stop, NULL) ? IW_EXIT_TESTER : 0;
    free(command);
    return status;
}

/* Looks for the cause of an end. Returns the exit status: not 0 if it cannot be brought back. */
static int explain(struct iw_hunt *h, bool stuck)
{
    struct iw_hunt_event e = kernel_event(h, stuck);
    struct iw_hunt_input *list[IW_HUNT_RECENT];
    size_t n = iw_hunt_load_started(h->dir, list);
    iw_complain("%s; it is started again", e.text);
    bool back = restart(h);
    (back ? iw_hunt_triage : iw_hunt_unexplained)(h, &e, list, n);
    iw_hunt_inputs_free(list, n);
    return back ? 0 : IW_EXIT_TESTER;
}

/* Handles a session that has ended before the hunt did, in a kernel that is still there: its target
 * was not reached, or it failed itself. Returns the exit status: not 0 if another session would be
 * useless. */
static int again(struct iw_hunt *h, int status, unsigned fruitless)
{
    bool tries = h->spec->restart != NULL && fruitless < FRUITLESS && status != IW_EXIT_USAGE &&
                 status != IW_EXIT_TESTER && status != IW_SHELL_NOT_STARTED;

    iw_complain("the hunt inside ended with status %d%s", status,
                tries ? "; everything is started again" : "");
    if (tries)
        return restart(h) ? 0 : IW_EXIT_TESTER;
    return status < IW_SHELL_NOT_STARTED ? status : IW_EXIT_TESTER;
}

/* Returns true if it ends so often that hardly anything is tried. */
static bool hopeless(const struct iw_hunt *h)
{
    return h->restarts >= RESTARTS && h->over / SEQUENCES < h->restarts;
}

int iw_hunt_watch(struct iw_hunt *h)
{
    char *progress = iw_text_format("%s/progress.json", h->dir);
    char *report = iw_text_format("%s/session.json", h->dir);
    struct iw_shell_watch w = {.path = progress, .seconds = STUCK_SECONDS * h->o->time_scale};
    unsigned fruitless = 0;
    int status = iw_target_prepare_entry(h->spec, IW_HUNT_KERNEL_VARIABLE) ? 0 : IW_EXIT_TESTER;

    h->began = iw_transport_now();
    if (!status && !there(h) && !*h->stop)
        status =
            iw_complain_exit(IW_EXIT_UNREACHED,
                             "--target %s: what it is inside of cannot be reached", h->spec->text);
    for (unsigned session = 0; !status && !iw_hunt_is_over(h) && !hopeless(h); session++) {
        uint64_t before = h->over;

        unlink(progress);
        unlink(report);
        status = run_elsewhere(h, session_command(h, session), &w);
        add_up(h, progress);
        iw_hunt_load_findings(h);
        bool whole = !access(report, F_OK);
        /* After the last session nobody else would see the effect of its last sequences. */
        bool ended =
            !*h->stop && ((!whole && w.stuck) || ((!whole || iw_hunt_is_over(h)) && !there(h)));
        fruitless = h->over > before ? 0 : fruitless + 1;
        if (ended)
            status = explain(h, w.stuck);
        else if (status == IW_EXIT_FAILURE && !iw_hunt_counted(h, false))
            status = iw_complain_exit(
                IW_EXIT_TESTER,
                "the hunt inside has found something, but it is not in %s/findings.jsonl", h->dir);
        else if (status == IW_EXIT_FAILURE || *h->stop)
            status = 0;
        else if (status)
            status = again(h, status, fruitless);
    }
    if (h->o->graph != NULL && !status)
        status = take_graph(h);
    if (!status && !iw_hunt_is_over(h))
        status = iw_complain_exit(IW_EXIT_TESTER,
                                  "everything has been started again %u times for %" PRIu64
                                  " sequences: that is enough",
                                  h->restarts, h->over);
    free(progress);
    free(report);
    return status;
}
