/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_report.h"

#include "host/complain.h"
#include "host/files.h"
#include "host/json_values.h"
#include "host/text.h"
#include "host/text_tools.h"

#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/utsname.h>

/* ---- lines ---- */

/* Where it is: in the capture if there is one and it has the frame. */
static void print_place(const struct run_judge *judge, const struct run_process *p,
                        const json_t *line, FILE *out)
{
    const json_int_t frame = run_line_number(line, "frame");
    if (judge->capture != NULL && frame > 0)
        fprintf(out, "%s:%" PRIu64 ": ", judge->capture, p->first_frame + (uint64_t)frame);
    else
        fprintf(out, "%s[%ld] connection %" JSON_INTEGER_FORMAT ": ", p->program, p->pid,
                run_line_number(line, "connection"));
}

static void print_json(const struct run_process *p, const json_t *line, FILE *out)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)line);
    const json_int_t frame = run_line_number(line, "frame");
    json_object_set_new(copy, "pid", json_integer(p->pid));
    json_object_set_new(copy, "program", json_string(p->program));
    if (frame > 0)
        json_object_set_new(copy, "frame", json_integer((json_int_t)p->first_frame + frame));
    (void)iw_json_line(copy, out);
}

static void print_lines(const struct run_judge *judge, const struct run_findings *f, bool json,
                        FILE *out)
{
    for (size_t i = 0; i < f->n_processes; i++) {
        const struct run_process *p = &f->processes[i];
        size_t k;
        const json_t *line;
        json_array_foreach(p->lines, k, line)
        {
            const bool finding = run_line_is(line, "finding");
            const bool unknown = run_line_is(line, "unknown");
            if (json && (finding || unknown)) {
                print_json(p, line, out);
            } else if (finding) {
                print_place(judge, p, line, out);
                fprintf(out, "%s\n", iw_json_get_text(line, "line"));
            } else if (unknown) {
                print_place(judge, p, line, out);
                fprintf(out, "unknown from here: %s [%s %s]\n", iw_json_get_text(line, "text"),
                        iw_json_get_text(line, "side"), iw_json_get_text(line, "from"));
            }
        }
    }
}

static void print_total(const struct run_findings *f, FILE *out)
{
    fprintf(out, "%zu connection%s, findings: %zu of the peer (%zu MUST), %zu of this side",
            f->connections, f->connections == 1 ? "" : "s", f->peer, f->peer_must, f->ours);
    if (f->unwritten > 0)
        fprintf(out, "; the last %" PRIu64 " are not shown", f->unwritten);
    putc('\n', out);
    for (size_t i = 0; i < f->n_processes; i++)
        if (!f->processes[i].ended)
            fprintf(out,
                    "%s[%ld] has not ended in order: the end of its connections was not judged\n",
                    f->processes[i].program, f->processes[i].pid);
}

void run_report_print(const struct run_judge *judge, const struct run_findings *f, FILE *out)
{
    print_lines(judge, f, judge->json, out);
    if (judge->json) {
        (void)iw_json_line(json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "type", "total",
                                     "connections", (json_int_t)f->connections, "peer",
                                     (json_int_t)f->peer, "peer_must", (json_int_t)f->peer_must,
                                     "us", (json_int_t)f->ours, "unwritten",
                                     (json_int_t)f->unwritten),
                           out);
        return;
    }
    fputs("iwarp-run: ", out);
    print_total(f, out);
}

/* ---- the report ---- */

static void write_head(const struct run_outcome *o, FILE *out)
{
    char when[40], host[256] = "";
    struct utsname system;
    iw_text_time(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", o->began);
    fprintf(out, "Program   %s\nCommand  ", o->path);
    for (char **word = o->argv; *word != NULL; word++) {
        char *quoted = iw_text_shell(*word);
        fprintf(out, " %s", quoted);
        free(quoted);
    }
    fprintf(out, "\nBegan     %s\n", when);
    if (o->status > 128)
        fprintf(out, "Ended     by signal %d\n", o->status - 128);
    else
        fprintf(out, "Ended     with status %d\n", o->status);
    if (uname(&system) == 0)
        snprintf(host, sizeof(host), "%.60s, %.60s %.60s", system.nodename, system.sysname,
                 system.release);
    fprintf(out, "Host      %s\nVersions  iwarp-run " IW_VERSION ", C library %s\n", host,
            gnu_get_libc_version());
}

static void write_startup(const json_t *frame, const char *name, FILE *out)
{
    fprintf(out, "  %-8s revision %" JSON_INTEGER_FORMAT ", CRC %s, Markers %s", name,
            run_line_number(frame, "revision"),
            json_is_true(json_object_get(frame, "crc")) ? "on" : "off",
            json_is_true(json_object_get(frame, "markers")) ? "on" : "off");
    if (json_object_get(frame, "ird") != NULL)
        fprintf(out, ", IRD %" JSON_INTEGER_FORMAT ", ORD %" JSON_INTEGER_FORMAT "%s",
                run_line_number(frame, "ird"), run_line_number(frame, "ord"),
                json_is_true(json_object_get(frame, "peer_to_peer")) ? ", peer-to-peer" : "");
    if (json_is_true(json_object_get(frame, "rejected")))
        fputs(", rejected", out);
    putc('\n', out);
}

static void write_direction(const json_t *totals, const char *name, FILE *out)
{
    fprintf(out, "  %-8s %" JSON_INTEGER_FORMAT " octets, %" JSON_INTEGER_FORMAT " messages\n",
            name, run_line_number(totals, "octets"), run_line_number(totals, "messages"));
}

static void write_connections(const struct run_process *p, FILE *out)
{
    size_t k;
    const json_t *line;
    json_array_foreach(p->lines, k, line)
    {
        const json_int_t number = run_line_number(line, "connection");
        if (run_line_is(line, "connection")) {
            fprintf(out, "\n%s[%ld] connection %" JSON_INTEGER_FORMAT ": %s %s peer %s\n",
                    p->program, p->pid, number, iw_json_get_text(line, "local"),
                    json_is_true(json_object_get(line, "active")) ? "to" : "from",
                    iw_json_get_text(line, "remote"));
        } else if (run_line_is(line, "agreed")) {
            fprintf(out, "\n%s[%ld] connection %" JSON_INTEGER_FORMAT ", agreed:\n", p->program,
                    p->pid, number);
            write_startup(json_object_get(line, "request"), "Request", out);
            write_startup(json_object_get(line, "reply"), "Reply", out);
        } else if (run_line_is(line, "closed")) {
            fprintf(out, "\n%s[%ld] connection %" JSON_INTEGER_FORMAT ", sent:\n", p->program,
                    p->pid, number);
            write_direction(json_object_get(line, "us"), "program", out);
            write_direction(json_object_get(line, "peer"), "peer", out);
        }
    }
}

bool run_report_write(const struct run_judge *judge, const struct run_findings *f,
                      const struct run_outcome *outcome)
{
    FILE *out = iw_open_output(judge->report);
    if (out == NULL)
        return false;
    write_head(outcome, out);
    if (judge->capture != NULL)
        fprintf(out, "Capture   %s%s\n", judge->capture, f->cut ? " (cut short)" : "");
    fputs("\nFindings: ", out);
    print_total(f, out);
    putc('\n', out);
    print_lines(judge, f, false, out);
    for (size_t i = 0; i < f->n_processes; i++)
        write_connections(&f->processes[i], out);
    return iw_close_output(out, judge->report);
}
