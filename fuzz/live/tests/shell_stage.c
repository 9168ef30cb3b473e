/* SPDX-License-Identifier: BSD-3-Clause */
#include "shell_stage.h"

#include <stdio.h>

#include "host/text.h"
#include "iwarp/transport.h"
#include "target/other_kernel.h"

struct iw_hunt_options options;
struct iw_target_spec spec;
struct iw_hunt hunt;
struct shell shell;

static void shell_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void shell_note(const char *format, ...)
{
    size_t n = strlen(shell.noted);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(shell.noted + n, sizeof(shell.noted) - n, format, arguments);
    va_end(arguments);
}

/* A command with D for the folder of results; FUZZ is how each of our own begins. */
static void note_command(const char *text)
{
    static const char begin[] = "in: B/iwarp-fuzz --target 'the target' --blind --results D ";
    char *command = NULL;
    size_t size = 0;
    FILE *f = iw_got(open_memstream(&command, &size));

    for (const char *at = text; *at; at++)
        if (strncmp(at, hunt.dir, strlen(hunt.dir)) == 0) {
            fputc('D', f);
            at += strlen(hunt.dir) - 1;
        } else {
            fputc(*at, f);
        }
    fclose(f);
    if (strncmp(command, begin, strlen(begin)) != 0)
        shell_note("%s", command);
    else
        shell_note("FUZZ %s", command + strlen(begin));
    free(command);
}

void shell_does(const char *expected)
{
    assert_string_equal(shell.noted, expected);
    *shell.noted = 0;
}

int __wrap_iw_shell_run(const char *command, const volatile int *s, struct iw_shell_watch *w);
char *__wrap_iw_target_entry_command(const struct iw_target_spec *t, const char *command,
                                     const char *folders);
bool __wrap_iw_target_prepare_entry(const struct iw_target_spec *t, const char *variable);
bool __wrap_iw_target_restart(const struct iw_target_spec *t, const volatile int *s);
char *__wrap_iw_target_kernel_ended(const struct iw_target_spec *t);
char *__wrap_iw_own_folder(void);
uint64_t __wrap_iw_transport_now(void);
void __wrap_iw_hunt_triage(struct iw_hunt *h, const struct iw_hunt_event *event,
                           struct iw_hunt_input *const *suspects, size_t n);
void __wrap_iw_hunt_unexplained(struct iw_hunt *h, const struct iw_hunt_event *event,
                                struct iw_hunt_input *const *suspects, size_t n);
size_t __wrap_iw_hunt_load_started(const char *dir, struct iw_hunt_input **inputs);
void __wrap_iw_hunt_load_findings(struct iw_hunt *h);
void __wrap_iw_hunt_make_parts(struct iw_hunt *h);
struct iw_hunt_event __wrap_iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                        size_t n, const struct iw_hunt_event *wanted,
                                        bool *requested);
void __wrap_iw_hunt_close(struct iw_hunt *h);

void shell_file(const char *name, const char *text)
{
    free(support_file(shell.folder, name, text));
}

int __wrap_iw_shell_run(const char *command, const volatile int *s, struct iw_shell_watch *w)
{
    const struct act *a = shell.acts++;

    assert_ptr_equal(s, &shell.stop);
    shell_note(" | ");
    note_command(command);
    if (w != NULL) {
        shell_note(" #%g", w->seconds);
        if (w->path != NULL)
            note_command(w->path);
        w->stuck = a->stuck;
    }
    assert_true(a->status >= 0);
    if (a->progress != NULL)
        shell_file("progress.json", a->progress);
    if (a->file != NULL)
        shell_file(a->file, a->text);
    if (a->stops)
        shell.stop = 2;
    return a->status;
}

char *__wrap_iw_target_entry_command(const struct iw_target_spec *t, const char *command,
                                     const char *folders)
{
    assert_ptr_equal(t, &spec);
    assert_string_equal(folders, shell.nowhere ? hunt.dir : shell.folder);
    return iw_text_format("in: %s", command);
}

bool __wrap_iw_target_prepare_entry(const struct iw_target_spec *t, const char *variable)
{
    assert_ptr_equal(t, &spec);
    assert_string_equal(variable, "IWARP_FUZZ_INSIDE");
    return !shell.not_inside;
}

bool __wrap_iw_target_restart(const struct iw_target_spec *t, const volatile int *s)
{
    assert_ptr_equal(t, &spec);
    assert_ptr_equal(s, &shell.stop);
    shell_note(" | restart");
    return !shell.bad_restart;
}

char *__wrap_iw_target_kernel_ended(const struct iw_target_spec *t)
{
    assert_ptr_equal(t, &spec);
    return iw_text_copy("it ended");
}

char *__wrap_iw_own_folder(void)
{
    return iw_text_copy("B");
}

uint64_t __wrap_iw_transport_now(void)
{
    return shell.now;
}

static void note_event(const char *how, const struct iw_hunt_event *e, size_t n)
{
    shell_note(" | %s(%s %s, %zu)", how, iw_hunt_kind_name(e->kind), e->text, n);
}

void __wrap_iw_hunt_triage(struct iw_hunt *h, const struct iw_hunt_event *event,
                           struct iw_hunt_input *const *suspects, size_t n)
{
    (void)h;
    (void)suspects;
    note_event("triage", event, n);
}

void __wrap_iw_hunt_unexplained(struct iw_hunt *h, const struct iw_hunt_event *event,
                                struct iw_hunt_input *const *suspects, size_t n)
{
    (void)h;
    (void)suspects;
    note_event("unexplained", event, n);
}

size_t __wrap_iw_hunt_load_started(const char *dir, struct iw_hunt_input **inputs)
{
    assert_string_equal(dir, hunt.dir);
    inputs[0] = support_input("a01");
    inputs[1] = support_input("a02");
    return 2;
}

void __wrap_iw_hunt_load_findings(struct iw_hunt *h)
{
    h->findings = shell.found;
}

void __wrap_iw_hunt_make_parts(struct iw_hunt *h)
{
    assert_ptr_equal(h, &hunt);
    shell_note(" parts");
}

struct iw_hunt_event __wrap_iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                        size_t n, const struct iw_hunt_event *wanted,
                                        bool *requested)
{
    assert_ptr_equal(h, &hunt);
    assert_int_equal(wanted->kind, IW_HUNT_CRASH);
    shell_note(" try(%zu%s)", n, requested != NULL ? "" : " together");
    if (n)
        support_is(inputs[n - 1], n == 1 ? "a00" : "a01");
    if (requested != NULL && n)
        requested[n - 1] = true;
    return iw_hunt_event_of(IW_HUNT_HANG, "no answer");
}

void __wrap_iw_hunt_close(struct iw_hunt *h)
{
    assert_ptr_equal(h, &hunt);
    shell_note(" close");
}

/* ---- */

static char target[] = "the target", again[] = "again";
static char *arguments[] = {"--target", "the target", "--blind"};

int shell_begin(void **state)
{
    (void)state;
    const char *dir = support_folder();
    shell = (struct shell){.now = 1000000000, .folder = realpath(dir, NULL)};
    options = (struct iw_hunt_options){.target = target,
                                       .seed = 100,
                                       .time_scale = 2,
                                       .count = 10,
                                       .arguments = arguments,
                                       .n_arguments = 3};
    spec = (struct iw_target_spec){.text = target, .restart = again};
    hunt = (struct iw_hunt){.o = &options, .dir = dir, .spec = &spec, .stop = &shell.stop};
    hunt.outside = true;
    return 0;
}

int shell_end(void **state)
{
    free(shell.folder);
    return support_clean(state);
}
