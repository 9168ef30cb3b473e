/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "host/text.h"
#include "run/run_record.h"
#include "selfcheck.h"

enum { LINE = 120 /* columns */, IDLE = 40 /* names */ };

/* ---- counting ---- */

bool iw_check_noticed(const struct iw_self_check *s, enum iw_check check)
{
    for (size_t i = 0; i < s->n_probes; i++)
        if (s->probes[i].check == check && s->probes[i].n_notices)
            return true;
    return false;
}

/* Probes of one check stand together. */
static bool first_of_check(const struct iw_self_check *s, size_t i)
{
    return i == 0 || s->probes[i].check != s->probes[i - 1].check;
}

void iw_self_check_count(const struct iw_self_check *s, size_t *checks, size_t *noticed,
                         size_t *switches)
{
    *checks = *noticed = *switches = 0;
    for (size_t i = 0; i < s->n_probes; i++) {
        bool first = first_of_check(s, i);
        *switches += s->probes[i].n_notices > 0;
        *checks += first;
        *noticed += first && iw_check_noticed(s, s->probes[i].check);
    }
}

/* ---- text ---- */

static void print_probe(FILE *out, const struct iw_probe *p)
{
    char kind[40];
    snprintf(kind, sizeof(kind), "%s%s%s", iw_switch_name(p->kind), p->botch ? "=" : "",
             p->botch ? iw_botch_name(p->botch) : "");
    fprintf(out, "%-26s %-14s ", iw_check_info(p->check)->name, kind);
    if (!p->n_notices) {
        fprintf(out, "-  (%zu cases)\n", p->tried);
        return;
    }
    fprintf(out, "%s (%s -> %s)", p->notices[0].c->id, iw_verdict_name(p->notices[0].before),
            iw_verdict_name(p->notices[0].after));
    if (p->n_notices > 1)
        fprintf(out, " and %zu more", p->n_notices - 1);
    putc('\n', out);
}

static void print_unclean(FILE *out, const struct iw_self_check *s)
{
    if (!s->n_unclean || s->interrupted)
        return;
    fprintf(out, "\nnot clean without any switch:\n");
    for (size_t i = 0; i < s->n_suspects; i++) {
        const struct iw_suspect *one = &s->suspects[i];

        if (!one->usable && one->verdict != IW_VERDICT_SKIP)
            fprintf(out, "  %s %s: %s\n", iw_verdict_name(one->verdict), one->c->id,
                    one->reason != NULL ? one->reason : "");
    }
}

static void print_unnoticed(FILE *out, const struct iw_self_check *s)
{
    bool any = false;
    for (size_t i = 0; i < s->n_probes; i++) {
        const struct iw_check_info *info = iw_check_info(s->probes[i].check);

        if (!first_of_check(s, i) || iw_check_noticed(s, s->probes[i].check))
            continue;
        if (!any)
            fprintf(out, "\nchecks that no case notices:\n");
        any = true;
        fprintf(out, "  %-26s %s  %s\n", info->name, iw_rule_at(info->rule)->id, info->text);
    }
}

static bool idle(const struct iw_suspect *one)
{
    return one->usable && one->tried && !one->noticed && one->justified == NULL;
}

/* In columns. The quick form, which stops at the first notice, leaves most cases idle: too many to
 * be of use are only counted. */
static void print_idle(FILE *out, const struct iw_self_check *s)
{
    size_t column = LINE, n = 0;
    for (size_t i = 0; i < s->n_suspects; i++)
        n += idle(&s->suspects[i]);
    if (!n)
        return;
    bool few = s->full || n <= IDLE;
    fprintf(out, "\n%zu cases were run with switches and never changed their verdict%s%s", n,
            s->full ? "" : " (the quick form stops at the first notice; see --full)",
            few ? ":" : "");
    for (size_t i = 0; few && i < s->n_suspects; i++) {
        if (!idle(&s->suspects[i]))
            continue;
        size_t width = 2 + strlen(s->suspects[i].c->id);
        column += width;
        if (column > LINE) {
            column = width;
            putc('\n', out);
        }
        fprintf(out, "  %s", s->suspects[i].c->id);
    }
    putc('\n', out);
}

static double percent(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 100.0;
}

void iw_self_check_print(FILE *out, const struct iw_self_check *s)
{
    size_t checks, noticed, switches;
    iw_self_check_count(s, &checks, &noticed, &switches);
    fprintf(out, "%-26s %-14s %s\n", "check", "switch", "noticed by");
    for (size_t i = 0; i < s->n_probes; i++)
        print_probe(out, &s->probes[i]);
    print_unclean(out, s);
    if (!s->partial && !s->interrupted)
        print_unnoticed(out, s);
    if (!s->interrupted)
        print_idle(out, s);
    fprintf(out, "\nself-check: %zu of %zu switches noticed (%.1f %%), %zu of %zu checks noticed",
            switches, s->n_probes, percent(switches, s->n_probes), noticed, checks);
    if (s->n_errors)
        fprintf(out, ", %zu errors", s->n_errors);
    fprintf(out, "; %zu cases, %.1f s%s\n", s->n_suspects, s->seconds,
            s->interrupted ? "; interrupted" : "");
}

/* ---- JSON ---- */

static json_t *notices_json(const struct iw_probe *p)
{
    json_t *list = iw_got(json_array());
    for (size_t i = 0; i < p->n_notices; i++)
        json_array_append_new(list,
                              iw_got(json_pack("{s:s, s:s, s:s, s:o}", "case", p->notices[i].c->id,
                                               "clean", iw_verdict_name(p->notices[i].before),
                                               "verdict", iw_verdict_name(p->notices[i].after),
                                               "reason", iw_json_text(p->notices[i].reason))));
    return list;
}

static json_t *switches_json(const struct iw_self_check *s)
{
    json_t *list = iw_got(json_array());
    for (size_t i = 0; i < s->n_probes; i++) {
        const struct iw_probe *p = &s->probes[i];
        const struct iw_check_info *info = iw_check_info(p->check);

        json_array_append_new(
            list, iw_got(json_pack(
                      "{s:s, s:s, s:s, s:o, s:I, s:b, s:o}", "check", info->name, "rule",
                      iw_rule_at(info->rule)->id, "kind", iw_switch_name(p->kind), "reaction",
                      iw_json_text(p->botch ? iw_botch_name(p->botch) : NULL), "tried",
                      (json_int_t)p->tried, "noticed", p->n_notices > 0, "by", notices_json(p))));
    }
    return list;
}

static json_t *cases_json(const struct iw_self_check *s)
{
    json_t *list = iw_got(json_array());
    for (size_t i = 0; i < s->n_suspects; i++) {
        const struct iw_suspect *one = &s->suspects[i];

        if (s->interrupted && !one->usable && one->verdict == IW_VERDICT_PASS)
            continue; /* it was not played */
        json_array_append_new(
            list, iw_got(json_pack("{s:s, s:s, s:o, s:I, s:I}", "id", one->c->id, "clean",
                                   iw_verdict_name(one->verdict), "reason",
                                   iw_json_text(one->reason), "tried", (json_int_t)one->tried,
                                   "noticed", (json_int_t)one->noticed)));
    }
    return list;
}

void iw_self_check_json(FILE *out, const struct iw_self_check *s)
{
    size_t checks, noticed, switches;
    iw_self_check_count(s, &checks, &noticed, &switches);
    json_t *all = iw_got(json_pack(
        "{s:i, s:{s:s, s:s}, s:{s:s}, s:b, s:o*, s:f, s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:o, s:o}",
        "schema", (int)IW_REPORT_SCHEMA, "tool", "name", "iwarp-conform", "version", IW_VERSION,
        "suite", "version", s->suite, "full", (int)s->full, "interrupted",
        s->interrupted ? json_true() : NULL, "seconds", s->seconds, "summary", "switches",
        (json_int_t)s->n_probes, "switches_noticed", (json_int_t)switches, "checks",
        (json_int_t)checks, "checks_noticed", (json_int_t)noticed, "unclean",
        (json_int_t)s->n_unclean, "errors", (json_int_t)s->n_errors, "switches", switches_json(s),
        "cases", cases_json(s)));
    json_dumpf(all, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    putc('\n', out);
    json_decref(all);
}
