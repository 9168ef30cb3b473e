/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform probe`: plays lib/probe_case.lua against a peer and writes its target file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd_probe.h"
#include "command_setup.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/outputs.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "interrupt.h"
#include "probe_file.h"
#include "script/script_run.h"

static int write_findings(const struct iw_command *c, const struct iw_target_spec *spec,
                          const struct iw_probed *f)
{
    if (c->output == NULL) {
        iw_probed_write(stdout, spec, f, time(NULL));
        return IW_EXIT_GOOD;
    }
    FILE *out = fopen(c->output, c->force ? "we" : "wxe");
    if (out == NULL) {
        iw_complain("cannot write %s: %s", c->output, strerror(errno));
        return IW_EXIT_OUTPUT;
    }
    iw_probed_write(out, spec, f, time(NULL));
    return iw_close_output(out, c->output) ? IW_EXIT_GOOD : IW_EXIT_OUTPUT;
}

/* ---- asking ---- */

static int ask(const struct iw_case *one, struct iw_target *target,
               const struct iw_run_options *options, struct iw_probed *f)
{
    struct iw_result r;
    int status = IW_EXIT_GOOD;
    if (iw_script_run_case(one, target, options, &r))
        return IW_EXIT_TESTER;
    if (r.verdict == IW_VERDICT_ERROR)
        status = IW_EXIT_TESTER;
    else if (r.verdict == IW_VERDICT_INCONCLUSIVE)
        status = IW_EXIT_UNREACHED;
    const char *none = r.notes != NULL ? strstr(r.notes, "none: ") : NULL;
    if (none != NULL) {
        status = IW_EXIT_UNREACHED;
        iw_complain("%.*s", (int)strcspn(none + 6, "\n"), none + 6);
    } else if (status)
        iw_complain("%s", r.reason != NULL ? r.reason : "the probe came to no end");
    else
        iw_probed_take(f, r.notes);
    iw_result_free(&r);
    return status;
}

/* What the peer's commands have printed, of which a message says where it is. */
static void show_log(const char *log)
{
    enum { MOST = 4096 };
    char *text = iw_text_read_file(log);
    if (text != NULL && *text != 0) {
        text[strnlen(text, MOST)] = 0;
        char *clean = iw_text_clean(text);
        iw_complain("%s:\n%s", log, clean);
        free(clean);
    }
    free(text);
}

/* Whether the program that was started ends after a connection; one that does so twice does so by
 * design. */
static bool ends(const struct iw_command *c, const struct iw_target_spec *spec, const char *log)
{
    char text[1024];
    bool all = spec->start != NULL && !spec->ends_connection;
    for (int i = 0; i < 2 && all; i++) {
        struct iw_target_instance *instance = NULL;
        all = iw_target_open(spec, NULL, log, c->head.time_scale, &instance, text, sizeof(text)) ==
              IW_TARGET_OPENED;
        if (instance == NULL)
            break;
        all = iw_target_probe_end(instance);
        iw_target_close(instance, text, sizeof(text));
    }
    return all;
}

/* Opens the target and has every question asked that fits its role. */
static int probe(const struct iw_command *c, const struct iw_setup *s, const struct iw_case *cases,
                 const char *log, struct iw_probed *f)
{
    f->ends = ends(c, s->target, log);
    if (f->ends)
        s->target->ends_connection = true;
    struct iw_run_options options = s->options;
    struct iw_target_instance *instance = NULL;
    char text[1024];
    enum iw_target_opened opened =
        iw_target_open(s->target, NULL, log, c->head.time_scale, &instance, text, sizeof(text));
    int status = IW_EXIT_GOOD;
    if (opened != IW_TARGET_OPENED) {
        iw_complain("%s: %s", s->target->text, text);
        return opened == IW_TARGET_UNREACHED ? IW_EXIT_UNREACHED : IW_EXIT_TESTER;
    }
    options.pcap_dir = c->head.pcap_dir;
    options.trace = c->trace ? stderr : NULL;
    struct iw_target *target = iw_target_of(instance);
    if (target->port)
        status = ask(&cases[0], target, &options, f);
    if (!status && target->initiate != NULL)
        status = ask(&cases[1], target, &options, f);
    const char *how = iw_target_check(instance, text, sizeof(text));
    if (how != NULL) {
        iw_complain("the peer ended: %s", how);
        if (!status && f->lists[IW_FOUND_LINES] == NULL)
            status = IW_EXIT_UNREACHED; /* before it had shown anything */
    }
    iw_target_close(instance, text, sizeof(text));
    return status;
}

static int probe_logged(const struct iw_command *c, const struct iw_setup *s,
                        const struct iw_case *cases, struct iw_probed *f)
{
    char log[] = "/tmp/iwarp-probe-XXXXXX";
    int fd = mkstemp(log);
    if (fd < 0) {
        iw_complain("cannot make a file in /tmp: %s", strerror(errno));
        return IW_EXIT_TESTER;
    }
    close(fd);
    iw_interrupt_remove(log);
    int status = probe(c, s, cases, log, f);
    if (status)
        show_log(log);
    iw_interrupt_remove(NULL);
    unlink(log);
    return status;
}

static int refusal(const struct iw_command *c, const struct iw_target_spec *spec)
{
    if (spec->class == IW_TARGET_AGENT) {
        iw_complain("%s: an agent says itself what it can do", spec->text);
        return IW_EXIT_USAGE;
    }
    if (iw_target_unattended(spec) != NULL) {
        iw_complain("%s: %s", spec->text, iw_target_unattended(spec));
        return IW_EXIT_USAGE;
    }
    if (c->output != NULL && !c->force && !access(c->output, F_OK)) {
        iw_complain("%s is there already; --force writes over it", c->output);
        return IW_EXIT_USAGE;
    }
    if (c->head.pcap_dir != NULL && iw_folder_create(c->head.pcap_dir)) {
        iw_complain("cannot make the folder %s", c->head.pcap_dir);
        return IW_EXIT_OUTPUT;
    }
    return c->output != NULL && !iw_host_writable(c->output) ? IW_EXIT_OUTPUT : 0;
}

int iw_command_probe(const struct iw_command *c)
{
    struct iw_command with = *c;
    struct iw_setup s;
    struct iw_case *cases = NULL;
    struct iw_probed f = {0};
    size_t count = 0;
    char error[1024];
    with.head.target = c->operands[0];
    int status = iw_setup(&s, &with, true);
    if (!status)
        status = refusal(c, s.target);
    if (!status) {
        char *file = iw_text_format("%s/probe_case.lua", s.library);
        if (iw_case_load(file, &s.options, &cases, &count, error, sizeof(error)) || count != 2) {
            iw_complain("%s: %s", file, count ? "expected two cases" : error);
            status = IW_EXIT_TESTER;
        }
        if (!status)
            status = probe_logged(c, &s, cases, &f);
        free(file);
    }
    if (!status)
        status = write_findings(c, s.target, &f);
    iw_probed_free(&f);
    iw_case_free_all(cases, count);
    iw_setup_free(&s);
    return status;
}
