/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a finding as an ordinary case of iwarp-conform and plays it once; the case's capture
 * becomes that of the finding. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/places.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "hunt.h"
#include "iwarp/octets.h"
#include "live_plan.h"
#include "script/script_case.h"
#include "script/script_run.h"

enum {
    RELEASES = 8,  /* of one octet: from there on a loop */
    WAIT_MS = 200, /* there is no haste any more, and the peer may be slow to read */
    ANSWER = 10,   /* seconds for what a peer that is well sends: its start-up frame, its end */
    REST = 20      /* seconds for all that is no wait for something which may never come */
};

struct writer {
    FILE *f;
    const struct iw_hunt *h;
    struct iw_hunt_plan plan;
    bool used[IW_HUNT_MEMORIES], asked; /* by what is written so far */
    uint64_t waits;                     /* ms, if nothing comes that is waited for */
};

static bool has_agent(const struct iw_hunt *h)
{
    return h->spec->embedded || h->spec->class == IW_TARGET_AGENT;
}

/* Returns true if the peer is the initiator. */
static bool calls(const struct writer *w)
{
    return iw_hunt_called(w->h->world.side);
}

/* ---- octets ---- */

static void put_hex(FILE *f, const uint8_t *octets, size_t length)
{
    fputs("hex \"", f);
    iw_text_put_hex(f, octets, length);
    fputc('"', f);
}

static void put_text(FILE *f, const char *text)
{
    fputc('"', f);
    iw_text_put(f, text, (const char *const[]){"\"", "\\\"", "\\", "\\\\", "\n", " ", NULL});
    fputc('"', f);
}

/* Writes a ULPDU as an expression, which looks up what only the peer knows. */
static void put_ulpdu(struct writer *w, const uint8_t *ulpdu, size_t length)
{
    struct iw_hunt_place places[2];
    size_t n = iw_hunt_places(ulpdu, length, places), at = 0;
    for (const struct iw_hunt_place *p = places; p < places + n; p++) {
        uint64_t to = iw_get64(ulpdu + p->to); /* of no use without a TO */

        if (p->memory >= 0 && (size_t)p->memory >= w->h->world.n_memories)
            continue;
        put_hex(w->f, ulpdu + at, p->at - at);
        at = p->at + (p->to ? 12 : 4);
        if (p->memory < 0) {
            w->asked = true;
            if (p->to)
                fprintf(w->f, " .. sink(0x%" PRIx64 ") .. ", to);
            else
                fputs(" .. sink() .. ", w->f);
            continue;
        }
        w->used[p->memory] = true;
        if (p->to)
            fprintf(w->f, " .. pack(\">I4i8\", m%d.stag, m%d.to + %" PRId64 ") .. ", p->memory,
                    p->memory, (int64_t)(to - IW_HUNT_TO(p->memory)));
        else
            fprintf(w->f, " .. pack(\">I4\", m%d.stag) .. ", p->memory);
    }
    put_hex(w->f, ulpdu + at, length - at);
}

static void put_startup(struct writer *w, const uint8_t *octets, size_t length)
{
    struct iw_mpa_startup_header header;
    iw_wire_get_startup(octets, length, &header);
    fprintf(w->f,
            "conn:send(%s { revision = %u, flags = 0x%02x, pd_length = %u, enhanced = "
            "false, private = ",
            iw_wire_mpa_key(octets) == IW_MPA_KEY_REPLY ? "reply" : "request", header.revision,
            header.flags, header.pd_length);
    put_hex(w->f, octets + IW_MPA_STARTUP_HEADER, length - IW_MPA_STARTUP_HEADER);
    fprintf(w->f, " })\n");
}

static void put_unit(struct writer *w, const struct iw_hunt_unit *u, const char *indent)
{
    const uint8_t *octets = w->plan.octets + u->at;

    fputs(indent, w->f);
    if (u->kind == IW_UNIT_STARTUP) {
        put_startup(w, octets, u->length);
    } else if (u->kind == IW_UNIT_FPDU) {
        size_t length = iw_get16(octets);

        fputs("conn:send(raw { ulpdu = ", w->f);
        put_ulpdu(w, octets + 2, length);
        char text[512];
        iw_wire_print_segment(text, sizeof(text), octets + 2, length);
        fprintf(w->f, " }) -- %s\n", text);
    } else {
        fputs("conn:write(", w->f);
        put_hex(w->f, octets, u->length);
        fputs(")\n", w->f);
    }
}

/* ---- what needs saying beforehand ---- */

static void put_head(struct writer *w, const struct iw_hunt_finding *f, const char *id)
{
    static const char fallback[] = "MPA-8-01", stray[] = "DDP-8.3.1-04";
    const struct iw_rule *rule =
        f->event.kind == IW_HUNT_RULE ? iw_check_sender_rule(f->event.check) : NULL;

    fprintf(w->f, "-- Found by iwarp-fuzz --target %s --seed %" PRIu64 ", sequence %" PRIu64 ".\n",
            w->h->spec->text, w->h->o->seed, f->number);
    fprintf(w->f, "return case {\n  id = \"%s\",\n  purpose = ", id);
    put_text(w->f, f->event.text);
    fprintf(w->f, ",\n  rules = { \"%s\" },\n  role = \"%s\",\n",
            rule != NULL                     ? rule->id
            : f->event.kind == IW_HUNT_STRAY ? stray
                                             : fallback,
            calls(w) ? "initiator" : "responder");
    fprintf(w->f, "  deadline = %" PRIu64 ",\n", REST + (w->waits + 999) / 1000);
    if (has_agent(w->h))
        fprintf(w->f, "  needs = { agent = true },\n");
    fprintf(w->f, "  run = function(t)\n");
    for (size_t k = 0; k < w->h->world.n_memories; k++) {
        const struct iw_hunt_memory *m = &w->h->world.memories[k];

        if (w->used[k] || f->event.kind == IW_HUNT_STRAY)
            fprintf(w->f, "    local m%zu = t:memory { length = %u%s%s%s }\n", k, m->length,
                    *m->remote ? ", remote = \"" : "", m->remote, *m->remote ? "\"" : "");
    }
    if (w->asked)
        fprintf(w->f,
                "    local asked = {}\n"
                "    local function sink(offset)\n"
                "      local item = table.remove(asked, 1) or { sink_stag = 0, sink_to = 0 }\n"
                "      return pack(offset and \">I4i8\" or \">I4\", item.sink_stag, "
                "item.sink_to + (offset or 0))\n"
                "    end\n");
    fprintf(w->f, "    local function wait(conn, seconds)\n"
                  "      local item = conn:next(seconds)\n");
    if (w->asked)
        fprintf(w->f, "      if item and item.op == \"read-request\" and item.sink_stag then "
                      "asked[#asked + 1] = item end\n");
    fprintf(w->f,
            "      return item\n    end\n"
            "    local function settle(conn, seconds)\n"
            "      repeat local item = wait(conn, seconds) until not item or item.kind == "
            "\"fin\" or item.kind == \"reset\"\n"
            "    end\n"
            "    local function finish(conn)\n"
            "      conn:shutdown()\n"
            "      settle(conn, %d)\n"
            "    end\n",
            ANSWER);
}

/* ---- a connection ---- */

/* Writes a call that returns when something comes, or after `ms`. */
static void put_wait(struct writer *w, const char *function, unsigned ms)
{
    fprintf(w->f, "    %s(conn, %g)\n", function, ms / 1000.0);
    w->waits += ms;
}

static void put_mark(struct writer *w, const struct iw_hunt_mark *m)
{
    if (m->kind == IW_FUZZ_TIME)
        put_wait(w, "wait", m->ms > WAIT_MS ? m->ms : WAIT_MS);
    else if (m->kind == IW_FUZZ_FIN)
        fprintf(w->f, "    conn:shutdown()\n");
    else if (m->kind == IW_FUZZ_RST)
        fprintf(w->f, "    conn:reset()\n");
}

static void put_accept(struct writer *w)
{
    bool late = w->h->world.late_receives;

    fprintf(w->f, "    t:requested(conn)\n");
    if (late)
        fprintf(w->f, "    t:accept(conn)\n    t:established(conn)\n");
    fprintf(w->f, "    for _ = 1, %d do t:receive { length = %d, conn = conn } end\n",
            IW_HUNT_RECEIVES, IW_HUNT_RECEIVE);
    if (!late)
        fprintf(w->f, "    t:accept(conn)\n");
}

/* Writes units [unit, end), which leave together; marks inside of them release parts of them. */
static void put_group(struct writer *w, size_t unit, size_t end, size_t *mark, size_t until)
{
    const struct iw_hunt_plan *p = &w->plan;
    bool inside = *mark < p->n_marks && p->marks[*mark].at < until;
    size_t at = p->units[unit].at;

    if (end == unit + 1 && !inside) {
        put_unit(w, &p->units[unit], "    ");
        return;
    }
    fprintf(w->f, "    conn:%s(function()\n", inside ? "hold" : "together");
    for (size_t i = unit; i < end; i++)
        put_unit(w, &p->units[i], "      ");
    fprintf(w->f, "    end)\n");
    while (*mark < p->n_marks && p->marks[*mark].at < until) {
        const struct iw_hunt_mark *m = &p->marks[*mark];
        size_t count = 0;

        while (m + count < p->marks + p->n_marks && m[count].kind == IW_FUZZ_B &&
               m[count].at == at + count + 1 && m[count].at < until)
            count++;
        if (count > RELEASES) {
            fprintf(w->f, "    for _ = 1, %zu do conn:release(1) end\n", count);
            at += count;
            *mark += count;
            continue;
        }
        if (m->at > at)
            fprintf(w->f, "    conn:release(%zu)\n", m->at - at);
        at = m->at;
        /* The peer must read the half frame, whatever it answers to the octets before. */
        if (m->kind == IW_FUZZ_TIME)
            put_wait(w, "settle", WAIT_MS);
        else
            put_mark(w, m);
        (*mark)++;
    }
    if (inside)
        fprintf(w->f, "    conn:release()\n");
}

static void put_connection(struct writer *w, const struct iw_hunt_finding *f, size_t i)
{
    const struct iw_hunt_plan *p = &w->plan;
    bool agent = has_agent(w->h), reset = false, called = calls(w), startup = false;
    size_t unit = 0, mark = 0;

    fprintf(w->f, "    %sconn = t:%s { raw = true%s }\n", i ? "" : "local ",
            called ? "target_connects" : "connect", agent ? ", target = { accept = \"ask\" }" : "");
    if (called) /* its Request is no answer to what comes next */
        put_wait(w, "wait", ANSWER * 1000);
    for (;;) {
        size_t until = unit < p->n_units ? p->units[unit].at : p->length, end = unit;

        for (; mark < p->n_marks && p->marks[mark].at <= until && !reset; mark++) {
            const struct iw_hunt_mark *m = &p->marks[mark];

            reset = m->kind == IW_FUZZ_RST;
            if (startup && m->kind == IW_FUZZ_TIME)
                put_wait(w, "wait", ANSWER * 1000); /* for the Reply */
            else if (!called || unit || m->kind != IW_FUZZ_TIME)
                put_mark(w, m);
            startup = false;
        }
        if (unit == p->n_units || reset)
            break;
        /* Extend to the end of the unit with the next mark that falls between two units. */
        for (size_t m = mark; end < p->n_units; end++) {
            until = p->units[end].at + p->units[end].length;
            while (m < p->n_marks && p->marks[m].at < until)
                m++;
            if (m < p->n_marks && p->marks[m].at == until) {
                end++;
                break;
            }
        }
        put_group(w, unit, end, &mark, until);
        if (p->units[unit].kind == IW_UNIT_STARTUP && f->requested[i])
            put_accept(w);
        startup = !called && end == unit + 1 && p->units[unit].kind == IW_UNIT_STARTUP;
        unit = end;
    }
    if (!reset) {
        fprintf(w->f, "    finish(conn)\n");
        w->waits += ANSWER * 1000;
    }
}

/* Writes FOLDER/ID.lua, which becomes the finding's case. Returns false after printing an error. */
static bool write_file(struct iw_hunt *h, struct iw_hunt_finding *f, const char *folder,
                       const char *id)
{
    struct writer w = {.h = h};
    char *path = iw_text_format("%s/%s.lua", folder, id), *body = NULL;
    FILE *file = NULL;
    size_t size = 0;

    if (iw_folder_create(folder))
        iw_complain("cannot write %s: %s", path, strerror(errno));
    else
        file = iw_open_output(path);
    if (file == NULL) {
        free(path);
        return false;
    }
    w.f = iw_got(open_memstream(&body, &size));
    for (size_t i = 0; i < f->n_inputs; i++) {
        iw_hunt_plan_make(&w.plan, f->inputs[i]);
        put_connection(&w, f, i);
    }
    for (size_t k = 0; f->event.kind == IW_HUNT_STRAY && k < h->world.n_memories; k++)
        fprintf(w.f, "    t:expect_unchanged(m%zu%s)\n", k, k ? "" : ", { except = { 0, 256 } }");
    fprintf(w.f, "  end,\n}\n");
    fclose(w.f);
    w.f = file;
    put_head(&w, f, id);
    fwrite(body, 1, size, file);
    free(body);
    iw_hunt_plan_free(&w.plan);
    if (iw_close_output(file, path))
        f->file = path;
    else
        free(path);
    return f->file != NULL;
}

/* ---- played ---- */

/* What a case has shown. */
struct shown {
    struct iw_hunt_reports reports; /* of the target */
    bool broken;                    /* it has ended, or a sanitizer stopped it */
    bool check;                     /* the observer saw the finding's check fail */
};

static bool shows_check(const struct iw_result *r, const struct iw_hunt_event *e)
{
    for (size_t i = 0; e->kind == IW_HUNT_RULE && i < r->n_deviations; i++)
        if (r->deviations[i].wire &&
            strcmp(r->deviations[i].how, iw_check_info(e->check)->name) == 0)
            return true;
    return false;
}

/* Returns how the target ended, or NULL. An end that was found before may take a moment: of a
 * program that a shell has started, the shell's is the one that is seen. */
static const char *ending(struct iw_target_instance *t, const struct iw_hunt_event *e,
                          char *trouble, size_t room)
{
    const char *how = iw_target_check(t, trouble, room);
    if (how == NULL && !*trouble && e->kind == IW_HUNT_CRASH && iw_target_askable(t) &&
        iw_target_ask(t) == IW_ALIVE_ENDED)
        how = iw_target_check(t, trouble, room);
    return how;
}

/* Returns the verdict that iwarp-conform would give, in words; NULL without one. */
static char *play(struct iw_hunt *h, struct iw_hunt_finding *f, const char *folder,
                  struct shown *shown)
{
    struct iw_hunt_reports *reports = &shown->reports;
    char *library = iw_library(), *text = NULL;
    struct iw_run_options options = {
        .library = library, .pcap_dir = folder, .time_scale = h->world.scale, .hazards = true};
    struct iw_case *cases = NULL;
    struct iw_target_instance *instance = NULL;
    struct iw_result r;
    char error[1024], trouble[512] = "", late[512];
    size_t n = 0;
    iw_hunt_reports_begin(reports, h->world.log);
    if (iw_case_load(f->file, &options, &cases, &n, error, sizeof(error)) ||
        iw_target_open(h->spec, NULL, h->world.log, h->world.scale, &instance, error,
                       sizeof(error)) != IW_TARGET_OPENED) {
        iw_complain("%s", error);
    } else {
        iw_script_run_case(&cases[0], iw_target_of(instance), &options, &r);
        const char *how = ending(instance, &f->event, trouble, sizeof(trouble));

        text = how != NULL
                   ? iw_text_format("FAIL the target ended: %s", how)
                   : iw_text_format("%s%s%s", iw_verdict_name(r.verdict),
                                    r.reason != NULL ? " " : "", r.reason != NULL ? r.reason : "");
        f->pcap = iw_text_copy(r.pcap);
        shown->broken = how != NULL;
        shown->check = shows_check(&r, &f->event);
        iw_result_free(&r);
    }
    if (instance != NULL)
        iw_target_close(instance, *trouble ? late : trouble, sizeof(trouble));
    iw_hunt_reports_read(reports, h->world.log);
    if (text != NULL && reports->n)
        snprintf(trouble, sizeof(trouble), "%s", reports->list[reports->last].text);
    shown->broken = shown->broken || *trouble;
    if (text != NULL && *trouble) {
        free(text);
        text = iw_text_format("%s: %s",
                              h->spec->embedded ? "ERROR a sanitizer stopped the target"
                                                : "FAIL the target broke",
                              trouble);
    }
    iw_case_free_all(cases, n);
    free(library);
    return text;
}

/* Returns whether what the case showed is the finding. Another kernel reports a verdict only. */
static bool is_own(const struct iw_hunt *h, const struct iw_hunt_finding *f,
                   const struct shown *shown)
{
    bool fails = strncmp(f->verdict, "FAIL", 4) == 0;
    if (h->outside)
        return fails || strncmp(f->verdict, "ERROR a san", 11) == 0;
    if (*f->event.cause && f->event.kind != IW_HUNT_HANG)
        return iw_hunt_reports_find(&shown->reports, f->event.cause) != NULL;
    switch (f->event.kind) {
    case IW_HUNT_RULE:
        return shown->check;
    case IW_HUNT_CRASH:
        return shown->broken;
    default:
        return fails && !shown->broken;
    }
}

bool iw_hunt_write_case(struct iw_hunt *h, struct iw_hunt_finding *f, unsigned number)
{
    struct shown shown = {.broken = false};
    /* Run them again to see which Requests are accepted. */
    iw_hunt_try(h, f->inputs, f->n_inputs, &f->event, f->requested);
    if (!h->outside && iw_hunt_open(h)) {
        iw_hunt_write_unplayed(h, f, number);
        return false;
    }
    if (h->outside && has_agent(h))
        iw_hunt_world_describe(&h->world);
    bool rule = f->event.kind == IW_HUNT_RULE;
    char *id = iw_text_format("fuzz-%u-%s%s%s", number, iw_hunt_kind_name(f->event.kind),
                              rule ? "-" : "", rule ? iw_check_info(f->event.check)->name : "");
    char *folder = iw_text_format("%s/findings", h->dir);
    if (write_file(h, f, folder, id) && h->outside) {
        f->verdict = iw_hunt_play_elsewhere(h, f->file, folder, &f->pcap);
    } else if (f->file != NULL) {
        iw_hunt_close(h); /* the case has the target for itself */
        f->verdict = play(h, f, folder, &shown);
    }
    free(id);
    free(folder);
    return f->verdict != NULL && is_own(h, f, &shown);
}

unsigned iw_hunt_number(struct iw_hunt *h)
{
    return h->board != NULL ? iw_hunt_board_number(h->board)
                            : (unsigned)iw_hunt_counted(h, true) + 1;
}

void iw_hunt_unwrite(struct iw_hunt_finding *f)
{
    if (f->file != NULL)
        unlink(f->file);
    if (f->pcap != NULL)
        unlink(f->pcap);
}

void iw_hunt_write_unplayed(struct iw_hunt *h, struct iw_hunt_finding *f, unsigned number)
{
    char *id = iw_text_format("fuzz-%u-%s", number, iw_hunt_kind_name(f->event.kind));
    char *folder = iw_text_format("%s/findings", h->dir);

    if (has_agent(h))
        iw_hunt_world_describe(&h->world);
    write_file(h, f, folder, id);
    free(id);
    free(folder);
}
