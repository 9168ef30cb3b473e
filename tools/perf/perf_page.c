/* SPDX-License-Identifier: BSD-3-Clause */
/* A page with plots over the sizes: one file, no scripts, nothing fetched. */
#include "plot.h"

#include "host/text_tools.h"

#include <inttypes.h>
#include <string.h>

/* Colours that differ for everybody, in the order of lanes: plain TCP, then iWARP plain, with CRC,
 * with Markers, with both; on paper, and in the dark. */
static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>iwarp-perf</title>\n<style>\n"
    ":root{color-scheme:light dark;--paper:#fff;--ink:#1a1a1a;--faint:#d9d9d9;--soft:#595959;"
    "--lane0:#767676;--lane1:#0072b2;--lane2:#d55e00;--lane3:#00835f;--lane4:#b03a86}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#16181b;--ink:#e8e8e8;--faint:#3a3d42;"
    "--soft:#b0b0b0;--lane0:#a6a6a6;--lane1:#56b4e9;--lane2:#ff9a4d;--lane3:#2ec9a0;"
    "--lane4:#e79ccb}}\n"
    "body{background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;"
    "max-width:1280px;margin:2em auto;padding:0 1em}\n"
    "h1{font-size:1.5em;margin-bottom:0}h2{font-size:1.15em;margin:2em 0 .3em}\n"
    "p{margin:.2em 0;color:var(--soft)}\n"
    ".plots{display:flex;flex-wrap:wrap;gap:16px}figure{margin:0;flex:1 1 480px;max-width:624px}\n"
    "figcaption{font-size:.9em;color:var(--soft)}\n"
    "svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;"
    "fill:var(--ink)}\n"
    ".lane0{--c:var(--lane0)}.lane1{--c:var(--lane1)}.lane2{--c:var(--lane2)}"
    ".lane3{--c:var(--lane3)}.lane4{--c:var(--lane4)}"
    "svg [class^=lane]{stroke:var(--c);fill:var(--c)}\n"
    ".grid{stroke:var(--faint)}.one{stroke:var(--ink);stroke-dasharray:5 4}\n"
    ".key{margin:.2em 0 .6em}.key span{margin-right:1.4em;white-space:nowrap}\n"
    ".key "
    "i{display:inline-block;width:22px;height:4px;background:var(--c);vertical-align:middle;margin-"
    "right:.4em}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.87em;"
    "margin-top:.6em}\n"
    "th,td{padding:.15em .7em;text-align:right;border-bottom:1px solid var(--faint)}"
    "th:nth-child(2),td:nth-child(2){text-align:left}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em;margin:.6em 0}"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}details{overflow-x:auto}\n"
    "summary{cursor:pointer;margin-top:.5em}\n"
    "</style>\n";

static void key(const struct plot *p)
{
    fputs("<div class=\"key\">", p->out);
    for (size_t lane = 0; lane < p->plan->lane_count; lane++) {
        fprintf(p->out, "<span><i class=\"lane%d\"></i>%s</span>",
                perf_lane_kind(&p->plan->lanes[lane]), perf_lane_name(&p->plan->lanes[lane]));
    }
    fputs("</div>\n", p->out);
}

static void table(const struct plot *p)
{
    bool latency = perf_is_latency(p->test);
    fprintf(p->out,
            "<details><summary>figures</summary><table><tr><th>octets</th><th>lane</th><th>%s</th>"
            "<th>least</th><th>most</th>%s<th>CPU &micro;s a message</th><th>CPU s a GiB</th>"
            "<th>system calls a message</th>%s</tr>\n",
            latency ? "&micro;s" : "GB/s",
            latency ? "<th>p99</th><th>p99.9</th>" : "<th>messages a second</th>",
            p->plan->baseline ? "<th>ratio</th><th>least</th><th>most</th><th>of the medians</th>"
                                "<th>CPU ratio</th>"
                              : "");
    for (size_t i = 0; i < p->results->count; i++) {
        const struct perf_result *r = &p->results->list[i];
        if (r->test != p->test)
            continue;
        fprintf(p->out,
                "<tr><td>%" PRIu64 "</td><td>%s</td><td>%.4g</td><td>%.4g</td><td>%.4g</td>",
                r->size, perf_lane_name(&p->plan->lanes[r->lane]), r->value.median, r->value.min,
                r->value.max);
        if (latency)
            fprintf(p->out, "<td>%.4g</td><td>%.4g</td>", r->p99, r->p999);
        else
            fprintf(p->out, "<td>%.0f</td>", r->rate.median);
        fprintf(p->out, "<td>%.3g + %.3g</td><td>%.3g</td><td>%.3g + %.3g</td>", r->cpu_message[0],
                r->cpu_message[1], r->cpu_gib[0] + r->cpu_gib[1], r->calls[0], r->calls[1]);
        if (p->plan->baseline && r->lane > 0)
            fprintf(p->out, "<td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.2f</td>",
                    r->ratio.median, r->ratio.min, r->ratio.max, r->ratio_of_medians, r->cpu_ratio);
        fputs("</tr>\n", p->out);
    }
    fputs("</table></details>\n", p->out);
}

/* Where the ratio is not what the medians in the table give, says why. */
static void explain_ratios(const struct plot *p)
{
    for (size_t i = 0; p->plan->baseline && i < p->results->count; i++) {
        const struct perf_result *r = &p->results->list[i];
        if (r->test == p->test && r->lane > 0 && perf_ratios_differ(r))
            fprintf(
                p->out,
                "<p>%s, %" PRIu64
                " octets: the ratio is %.3f, the median of the rounds' ratios, each of what ran at "
                "the same time; the two medians give %.3f, as the rounds differ from each "
                "other.</p>\n",
                perf_lane_name(&p->plan->lanes[r->lane]), r->size, r->ratio.median,
                r->ratio_of_medians);
    }
}

static void one_test(struct plot *p)
{
    bool latency = perf_is_latency(p->test);
    fprintf(p->out, "<h2>%s</h2>\n", perf_test_names[p->test]);
    key(p);
    fputs("<div class=\"plots\">\n", p->out);
    p->ratio = false;
    perf_plot_draw(
        p, latency ? "Latency: median of the rounds with the least and the most; dashed: p99 of "
                     "all messages, dotted: p99.9"
                   : "Throughput: median of the rounds with the least and the most");
    p->ratio = true;
    if (p->plan->baseline)
        perf_plot_draw(
            p, latency ? "Over plain TCP in the same round, median of the rounds: less is better"
                       : "Over plain TCP in the same round, median of the rounds: more is better");
    fputs("</div>\n", p->out);
    explain_ratios(p);
    table(p);
}

static void put(FILE *out, const char *text)
{
    static const char *const pairs[] = {"<", "&lt;", "&", "&amp;", NULL};
    iw_text_put(out, text, pairs);
}

static void describe(FILE *out, const char *name, const char *text)
{
    fprintf(out, "<dt>%s</dt><dd>", name);
    put(out, text);
    fputs("</dd>\n", out);
}

static void context(const struct perf_context *c, FILE *out)
{
    char cpu[sizeof(c->cpu) + 32];
    snprintf(cpu, sizeof(cpu), "%s, %u of them", c->cpu, c->cpus);
    fputs("<dl>\n", out);
    describe(out, "host", c->host);
    describe(out, "processor", cpu);
    describe(out, "kernel", c->kernel);
    describe(out, "version", "iwarp-perf " IW_VERSION);
    describe(out, "date", c->began);
    describe(out, "command", c->command);
    fputs("</dl>\n", out);
}

int perf_report_html(const struct perf_plan *plan, const struct perf_results *results)
{
    const struct perf_setup *s = &plan->lanes[0];
    if (plan->html == NULL)
        return 0;
    FILE *out = fopen(plan->html, "w");
    if (out == NULL)
        return perf_report_close(out, plan->html, true);
    struct plot p = {.out = out, .plan = plan, .results = results};
    char congestion[PERF_CONGESTION];
    perf_lane_congestion(s, congestion);
    fputs(head, out);
    fprintf(out,
            "<h1>iwarp-perf</h1>\n<p>%" PRIu64
            " rounds of every lane in turn; %s, %u connection%s, window %u%s",
            plan->rounds, s->poll ? "polling" : "blocking", (unsigned)s->connections,
            s->connections == 1 ? "" : "s", (unsigned)s->window,
            plan->both ? ", bandwidth both ways at once" : "");
    if (s->mss > 0)
        fprintf(out, ", TCP segments of %u octets", (unsigned)s->mss);
    if (s->socket_buffer > 0)
        fprintf(out, ", socket buffers of %" PRIu64 " octets", s->socket_buffer);
    fprintf(out, ", TCP with %s.%s</p>\n", congestion,
            results->interrupted ? " It was interrupted: the last test may have fewer rounds, and "
                                   "others may be missing."
                                 : "");
    if (results->context != NULL)
        context(results->context, out);
    for (size_t i = 0; i < results->count; i++) {
        p.test = results->list[i].test;
        if (i == 0 || p.test != results->list[i - 1].test)
            one_test(&p);
    }
    fputs("</html>\n", out);
    return perf_report_close(out, plan->html, false);
}
