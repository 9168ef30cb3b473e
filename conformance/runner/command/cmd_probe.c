/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform probe`: plays lib/probe_case.lua against a peer and writes its target file. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text_tools.h"
#include "command_setup.h"
#include "commands.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "script/script_run.h"

/* What was found, in the words of lib/probe.lua: lines of the file, and what the peer can do or
 * not. */
enum { LINES, CAN, CANNOT, LISTS };

struct findings {
    char **lists[LISTS]; /* each ends with NULL */
};

/* Of a second part, what the peer does in the other role, only remarks are kept. */
static void take_notes(struct findings *f, const char *notes, bool second)
{
    static const char *const names[LISTS] = {"file: ", "can: ", "cannot: "};
    char *copy = iw_text_copy(notes), *rest = copy, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        for (size_t i = 0; i < LISTS; i++) {
            size_t n = strlen(names[i]);
            if (strncmp(line, names[i], n) == 0 && (!second || (i == LINES && line[n] == '-')))
                iw_texts_add(&f->lists[i], iw_text_copy(line + n));
        }
    }
    free(copy);
}

/* ---- writing ---- */

static void put_quoted(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if (iscntrl((unsigned char)*text))
            fprintf(out, "\\%03u", (unsigned)(unsigned char)*text);
        else
            putc(*text, out);
    }
    putc('"', out);
}

static void put_text(FILE *out, const char *name, const char *text)
{
    if (!text)
        return;
    fprintf(out, "  %s = ", name);
    put_quoted(out, text);
    fputs(",\n", out);
}

/* Whether the user has said something about this name ("crc"), about just this word ("rtr.send"),
 * or, where it is a number of something ("ird.16"), another number. */
static bool said(const struct iw_target_spec *spec, const char *name)
{
    size_t n = strpbrk(name, "0123456789") ? strcspn(name, ".") : strlen(name);
    for (char **one = spec->can; one && *one; one++) {
        const char *word = *one + (**one == '!');

        if (!strncmp(word, name, n) && (!word[n] || word[n] == '.'))
            return true;
    }
    return false;
}

static void put_word(FILE *out, const char *list, const char *word, bool *begun)
{
    fprintf(out, *begun ? ", " : "  %s = { ", list);
    put_quoted(out, word);
    *begun = true;
}

/* A list: what the user said first, then what was found and not said. */
static void put_list(FILE *out, const char *name, const struct iw_target_spec *spec, bool can,
                     char *const *found)
{
    bool begun = false;
    for (char **one = spec->can; one && *one; one++)
        if ((**one != '!') == can)
            put_word(out, name, *one + !can, &begun);
    for (; found && *found; found++)
        if (!said(spec, *found))
            put_word(out, name, *found, &begun);
    if (begun)
        fputs(" },\n", out);
}

/* What the user has said stands, and what was seen is a remark beside it. */
static bool stands(const struct iw_target_spec *spec, const char *line)
{
    static const char *const fields[] = {"crc", "markers", "revision"};

    if (!strncmp(line, "class = ", 8))
        return spec->class == IW_TARGET_RPING;
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (!strncmp(line, fields[i], strlen(fields[i])) && line[strlen(fields[i])] == ' ')
            return said(spec, fields[i]);
    return false;
}

static void write_file(FILE *out, const struct iw_target_spec *spec, const struct findings *f)
{
    char date[32];
    iw_text_time(date, sizeof(date), "%Y-%m-%d %H:%M UTC", time(NULL));
    fprintf(out,
            "-- What iwarp-conform probe found out about this peer (%s). Above each value: what "
            "was seen.\n\nreturn {\n",
            date);
    put_text(out, "address", spec->host);
    if (spec->port)
        fprintf(out, "  port = %u,\n", spec->port);
    put_text(out, "start", spec->start);
    put_text(out, "ready", spec->ready);
    put_text(out, "connect", spec->connect);
    put_text(out, "ask", spec->ask);
    if (spec->connect_within > 0)
        fprintf(out, "  connect_within = %g,\n", spec->connect_within);
    put_text(out, "station", spec->station_host);
    if (spec->class == IW_TARGET_RPING)
        put_text(out, "class", iw_target_class_name(spec->class));
    for (char **line = f->lists[LINES]; line && *line; line++)
        fprintf(out, "  %s%s\n", stands(spec, *line) ? "-- seen: " : "", *line);
    put_list(out, "can", spec, true, f->lists[CAN]);
    put_list(out, "cannot", spec, false, f->lists[CANNOT]);
    fputs("}\n", out);
}

static int write_findings(const struct iw_command *c, const struct iw_target_spec *spec,
                          const struct findings *f)
{
    if (!c->output) {
        write_file(stdout, spec, f);
        return IW_EXIT_GOOD;
    }
    FILE *out = fopen(c->output, c->force ? "we" : "wxe");
    if (!out) {
        iw_complain("cannot write %s: %s", c->output, strerror(errno));
        return IW_EXIT_TESTER;
    }
    write_file(out, spec, f);
    return iw_close_output(out, c->output) ? IW_EXIT_GOOD : IW_EXIT_TESTER;
}

/* ---- asking ---- */

static int ask(const struct iw_case *one, struct iw_target *target,
               const struct iw_run_options *options, struct findings *f)
{
    struct iw_result r;
    int status = IW_EXIT_GOOD;
    if (iw_script_run_case(one, target, options, &r))
        return IW_EXIT_TESTER;
    if (r.verdict == IW_VERDICT_ERROR)
        status = IW_EXIT_TESTER;
    else if (r.verdict == IW_VERDICT_INCONCLUSIVE)
        status = IW_EXIT_UNREACHED;
    const char *none = r.notes ? strstr(r.notes, "none: ") : NULL;
    if (none) {
        status = IW_EXIT_UNREACHED;
        iw_complain("%.*s", (int)strcspn(none + 6, "\n"), none + 6);
    } else if (status)
        iw_complain("%s", r.reason ? r.reason : "the probe came to no end");
    else
        take_notes(f, r.notes, f->lists[LINES] != NULL);
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

/* Opens the target and has every question asked that fits its role. */
static int probe(const struct iw_command *c, const struct iw_setup *s, const struct iw_case *cases,
                 const char *log, struct findings *f)
{
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
    if (!status && target->initiate)
        status = ask(&cases[1], target, &options, f);
    const char *how = iw_target_check(instance, text, sizeof(text));
    if (how)
        iw_complain("the peer ended: %s", how);
    iw_target_close(instance, text, sizeof(text));
    return status;
}

static int probe_logged(const struct iw_command *c, const struct iw_setup *s,
                        const struct iw_case *cases, struct findings *f)
{
    char log[] = "/tmp/iwarp-probe-XXXXXX";
    int fd = mkstemp(log);
    if (fd < 0) {
        iw_complain("cannot make a file in /tmp: %s", strerror(errno));
        return IW_EXIT_TESTER;
    }
    close(fd);
    int status = probe(c, s, cases, log, f);
    if (status)
        show_log(log);
    unlink(log);
    return status;
}

static int refusal(const struct iw_command *c, const struct iw_target_spec *spec)
{
    if (spec->class == IW_TARGET_AGENT) {
        iw_complain("%s: an agent says itself what it can do", spec->text);
        return IW_EXIT_USAGE;
    }
    if (iw_target_unattended(spec)) {
        iw_complain("%s: %s", spec->text, iw_target_unattended(spec));
        return IW_EXIT_USAGE;
    }
    if (c->output && !c->force && !access(c->output, F_OK)) {
        iw_complain("%s is there already; --force writes over it", c->output);
        return IW_EXIT_USAGE;
    }
    if (c->head.pcap_dir && iw_folder_create(c->head.pcap_dir)) {
        iw_complain("cannot make the folder %s", c->head.pcap_dir);
        return IW_EXIT_TESTER;
    }
    return 0;
}

int iw_command_probe(const struct iw_command *c)
{
    struct iw_command with = *c;
    struct iw_setup s;
    struct iw_case *cases = NULL;
    struct findings f = {0};
    size_t count = 0;
    char error[1024];
    with.head.target = c->words[0];
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
    for (size_t i = 0; i < LISTS; i++)
        iw_texts_free(f.lists[i]);
    iw_case_free_all(cases, count);
    iw_setup_free(&s);
    return status;
}
