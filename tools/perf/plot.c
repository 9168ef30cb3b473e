/* SPDX-License-Identifier: BSD-3-Clause */
/* A page with plots over the sizes: one file, no scripts, nothing fetched. */
#include "perf.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { WIDTH = 600, HEIGHT = 340, LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 44 };

/* Colours that differ for everybody, in the order of lanes: plain TCP, then iWARP plain, with CRC,
 * with Markers, with both. */
static const char *const colours[] = {"#767676", "#0072b2", "#d55e00", "#009e73", "#cc79a7"};

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>iwarp-perf</title>\n<style>\n"
    ":root{--paper:#fff;--ink:#1a1a1a;--faint:#d9d9d9;--soft:#666}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#16181b;--ink:#e8e8e8;--faint:#3a3d42;"
    "--soft:#a0a0a0}}\n"
    "body{background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;"
    "max-width:1280px;margin:2em auto;padding:0 1em}\n"
    "h1{font-size:1.5em;margin-bottom:0}h2{font-size:1.15em;margin:2em 0 .3em}\n"
    "p{margin:.2em 0;color:var(--soft)}\n"
    ".plots{display:flex;flex-wrap:wrap;gap:16px}figure{margin:0;flex:1 1 480px;max-width:624px}\n"
    "figcaption{font-size:.9em;color:var(--soft)}\n"
    "svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;"
    "fill:var(--ink)}\n"
    ".grid{stroke:var(--faint)}.one{stroke:var(--ink);stroke-dasharray:5 4}\n"
    ".key{margin:.2em 0 .6em}.key span{margin-right:1.4em;white-space:nowrap}\n"
    ".key i{display:inline-block;width:22px;height:4px;vertical-align:middle;margin-right:.4em}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.87em;"
    "margin-top:.6em}\n"
    "th,td{padding:.15em .7em;text-align:right;border-bottom:1px solid var(--faint)}"
    "th:nth-child(2),td:nth-child(2){text-align:left}\n"
    "summary{cursor:pointer;margin-top:.5em}\n"
    "</style>\n";

static const char *colour_of(const struct perf_plan *plan, size_t lane)
{
    return colours[perf_lane_kind(&plan->lanes[lane])];
}

/* A plot of one test. */
struct plot {
    FILE *out;
    const struct perf_plan *plan;
    const struct perf_results *results;
    enum perf_test test;
    bool ratio;            /* to TCP; else the value */
    double x0, x1, y0, y1; /* of log2(size); of log10(value), or of the ratio */
};

static bool shown(const struct plot *p, const struct perf_result *r)
{
    return r->test == p->test && (!p->ratio || r->lane > 0);
}

static const struct perf_spread *spread(const struct plot *p, const struct perf_result *r)
{
    return p->ratio ? &r->ratio : &r->value;
}

static double height(const struct plot *p, double value)
{
    return p->ratio ? value : log10(value > 1e-9 ? value : 1e-9);
}

static double at_x(const struct plot *p, double size)
{
    return LEFT + (log2(size) - p->x0) / (p->x1 - p->x0) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct plot *p, double value)
{
    double y = height(p, value);
    y = y < p->y0 ? p->y0 : y > p->y1 ? p->y1 : y;
    return HEIGHT - BOTTOM - (y - p->y0) / (p->y1 - p->y0) * (HEIGHT - TOP - BOTTOM);
}

/* Finds the range of the medians, with a margin. */
static void find_ranges(struct plot *p)
{
    p->x0 = p->y0 = INFINITY;
    p->x1 = p->y1 = -INFINITY;
    for (size_t i = 0; i < p->results->count; i++) {
        const struct perf_result *r = &p->results->list[i];
        if (!shown(p, r))
            continue;
        double y = height(p, spread(p, r)->median), x = log2((double)r->size);
        double top = perf_is_latency(p->test) && !p->ratio ? height(p, r->p99) : y;
        p->x0 = fmin(p->x0, x);
        p->x1 = fmax(p->x1, x);
        p->y0 = fmin(p->y0, y);
        p->y1 = fmax(p->y1, fmin(top, y + 1));
    }
    if (p->x1 - p->x0 < 1) {
        p->x0 -= 1;
        p->x1 += 1;
    }
    if (p->ratio) {
        p->y0 = 0;
        p->y1 = fmin(fmax(1.25, p->y1 * 1.1), 10);
    } else {
        p->y0 -= 0.1;
        p->y1 += 0.15;
    }
}

static void print_size(char *text, size_t room, double size)
{
    if (size >= 1048576)
        snprintf(text, room, "%g Mi", size / 1048576);
    else if (size >= 1024)
        snprintf(text, room, "%g Ki", size / 1024);
    else
        snprintf(text, room, "%g", size);
}

static void line_at(const struct plot *p, double value, const char *class)
{
    double y = at_y(p, value);
    fprintf(p->out, "<line class=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", class, LEFT,
            WIDTH - RIGHT, y, y);
    fprintf(p->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 6, y + 4,
            value);
}

static void axes(const struct plot *p)
{
    const char *what = p->ratio                   ? "ratio to plain TCP"
                       : perf_is_latency(p->test) ? "microseconds"
                                                  : "GB/s";
    int step = p->x1 - p->x0 > 12 ? 2 : 1;
    for (int x = (int)ceil(fmax(p->x0, 0)); x <= p->x1; x += step) {
        double size = exp2(x);
        char text[32];
        print_size(text, sizeof(text), size);
        fprintf(p->out,
                "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                at_x(p, size), at_x(p, size), TOP, HEIGHT - BOTTOM, at_x(p, size),
                HEIGHT - BOTTOM + 16, text);
    }
    if (p->ratio) {
        double tick = p->y1 > 4 ? 1 : p->y1 > 2 ? 0.5 : 0.25;
        for (int i = 0; i * tick <= p->y1; i++)
            line_at(p, i * tick, fabs(i * tick - 1) < 1e-6 ? "one" : "grid");
    } else {
        static const double within[] = {1, 2, 5};
        size_t count = p->y1 - p->y0 > 3 ? 1 : 3;
        for (int decade = (int)floor(p->y0); decade <= p->y1; decade++)
            for (size_t i = 0; i < count; i++) {
                double value = within[i] * pow(10, decade);
                if (log10(value) >= p->y0 && log10(value) <= p->y1)
                    line_at(p, value, "grid");
            }
    }
    fprintf(p->out,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">octets of a message</text>"
            "<text transform=\"translate(13 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, (TOP + HEIGHT - BOTTOM) / 2, what);
}

/* Draws the curve through the medians, or the 99th percentiles of latencies. */
static void curve(const struct plot *p, size_t lane, bool p99)
{
    const char *colour = colour_of(p->plan, lane);
    fprintf(p->out, "<polyline fill=\"none\" stroke=\"%s\" %s points=\"", colour,
            p99 ? "stroke-width=\"1\" stroke-dasharray=\"2 3\"" : "stroke-width=\"2\"");
    for (size_t i = 0; i < p->results->count; i++) {
        const struct perf_result *r = &p->results->list[i];
        if (shown(p, r) && r->lane == lane)
            fprintf(p->out, "%.1f,%.1f ", at_x(p, (double)r->size),
                    at_y(p, p99 ? r->p99 : spread(p, r)->median));
    }
    fputs("\"/>\n", p->out);
}

static void points(const struct plot *p, size_t lane)
{
    const char *colour = colour_of(p->plan, lane);
    for (size_t i = 0; i < p->results->count; i++) {
        const struct perf_result *r = &p->results->list[i];
        if (!shown(p, r) || r->lane != lane)
            continue;
        const struct perf_spread *s = spread(p, r);
        double x = at_x(p, (double)r->size);
        fprintf(p->out,
                "<g stroke=\"%s\" fill=\"%s\"><title>%s, %" PRIu64
                " octets: %.4g (%.4g .. %.4g)</title>"
                "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke-opacity=\".5\"/>"
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/></g>\n",
                colour, colour, perf_lane_name(&p->plan->lanes[lane]), r->size, s->median, s->min,
                s->max, x, x, at_y(p, s->min), at_y(p, s->max), x, at_y(p, s->median));
    }
}

static void draw(struct plot *p, const char *caption)
{
    bool latency = perf_is_latency(p->test) && !p->ratio;
    find_ranges(p);
    fprintf(p->out, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDTH,
            HEIGHT, caption);
    axes(p);
    for (size_t lane = p->ratio ? 1 : 0; lane < p->plan->lane_count; lane++) {
        if (latency)
            curve(p, lane, true);
        curve(p, lane, false);
        points(p, lane);
    }
    fprintf(p->out, "</svg><figcaption>%s</figcaption></figure>\n", caption);
}

static void key(const struct plot *p)
{
    fputs("<div class=\"key\">", p->out);
    for (size_t lane = 0; lane < p->plan->lane_count; lane++) {
        fprintf(p->out, "<span><i style=\"background:%s\"></i>%s</span>", colour_of(p->plan, lane),
                perf_lane_name(&p->plan->lanes[lane]));
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
            p->plan->baseline ? "<th>ratio</th><th>least</th><th>most</th><th>CPU ratio</th>" : "");
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
            fprintf(p->out, "<td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.2f</td>", r->ratio.median,
                    r->ratio.min, r->ratio.max, r->cpu_ratio);
        fputs("</tr>\n", p->out);
    }
    fputs("</table></details>\n", p->out);
}

static void one_test(struct plot *p)
{
    bool latency = perf_is_latency(p->test);
    fprintf(p->out, "<h2>%s</h2>\n", perf_test_names[p->test]);
    key(p);
    fputs("<div class=\"plots\">\n", p->out);
    p->ratio = false;
    draw(p, latency ? "Latency: median of the rounds with the least and the most; dotted: p99 of "
                      "all messages"
                    : "Throughput: median of the rounds with the least and the most");
    p->ratio = true;
    if (p->plan->baseline)
        draw(p, latency ? "Over plain TCP in the same round: less is better"
                        : "Over plain TCP in the same round: more is better");
    fputs("</div>\n", p->out);
    table(p);
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
    fprintf(out, ", TCP with %s.</p>\n", congestion);
    for (size_t i = 0; i < results->count; i++) {
        p.test = results->list[i].test;
        if (i == 0 || p.test != results->list[i - 1].test)
            one_test(&p);
    }
    fputs("</html>\n", out);
    return perf_report_close(out, plan->html, false);
}
