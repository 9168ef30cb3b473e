/* SPDX-License-Identifier: BSD-3-Clause */
/* A plot over the sizes, as SVG. */
#include "plot.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { WIDTH = 600, HEIGHT = 340, LEFT = 58, RIGHT = 22, TOP = 12, BOTTOM = 44 };

/* Returns the class of a lane's curve; the page says which colour that is, by light and by dark. */
static int class_of(const struct perf_plan *plan, size_t lane)
{
    return perf_lane_kind(&plan->lanes[lane]);
}

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

/* Finds the range of the medians, with a margin; of latencies up to p99.9, but no more than three
 * decades above. */
static void find_ranges(struct plot *p)
{
    p->x0 = p->y0 = INFINITY;
    p->x1 = p->y1 = -INFINITY;
    for (size_t i = 0; i < p->results->count; i++) {
        const struct perf_result *r = &p->results->list[i];
        if (!shown(p, r))
            continue;
        double y = height(p, spread(p, r)->median), x = log2((double)r->size);
        double top = perf_is_latency(p->test) && !p->ratio ? height(p, r->p999) : y;
        p->x0 = fmin(p->x0, x);
        p->x1 = fmax(p->x1, x);
        p->y0 = fmin(p->y0, y);
        p->y1 = fmax(p->y1, fmin(top, y + 3));
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

/* What a curve goes through. */
enum quantile { MEDIAN, P99, P999 };

/* Draws the curve through the medians of the rounds, or percentiles of all latencies. */
static void curve(const struct plot *p, size_t lane, enum quantile quantile)
{
    static const char *const strokes[] = {"stroke-width=\"2\"",
                                          "stroke-width=\"1\" stroke-dasharray=\"6 3\"",
                                          "stroke-width=\"1\" stroke-dasharray=\"1 3\""};
    fprintf(p->out, "<polyline class=\"lane%d\" style=\"fill:none\" %s points=\"",
            class_of(p->plan, lane), strokes[quantile]);
    for (size_t i = 0; i < p->results->count; i++) {
        const struct perf_result *r = &p->results->list[i];
        double value = quantile == MEDIAN ? spread(p, r)->median
                       : quantile == P99  ? r->p99
                                          : r->p999;
        if (shown(p, r) && r->lane == lane)
            fprintf(p->out, "%.1f,%.1f ", at_x(p, (double)r->size), at_y(p, value));
    }
    fputs("\"/>\n", p->out);
}

static void points(const struct plot *p, size_t lane)
{
    for (size_t i = 0; i < p->results->count; i++) {
        const struct perf_result *r = &p->results->list[i];
        if (!shown(p, r) || r->lane != lane)
            continue;
        const struct perf_spread *s = spread(p, r);
        double x = at_x(p, (double)r->size);
        fprintf(p->out,
                "<g class=\"lane%d\"><title>%s, %" PRIu64 " octets: %.4g (%.4g .. %.4g)</title>"
                "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke-opacity=\".5\"/>"
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/></g>\n",
                class_of(p->plan, lane), perf_lane_name(&p->plan->lanes[lane]), r->size, s->median,
                s->min, s->max, x, x, at_y(p, s->min), at_y(p, s->max), x, at_y(p, s->median));
    }
}

void perf_plot_draw(struct plot *p, const char *caption)
{
    bool latency = perf_is_latency(p->test) && !p->ratio;
    find_ranges(p);
    fprintf(p->out, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDTH,
            HEIGHT, caption);
    axes(p);
    for (size_t lane = p->ratio ? 1 : 0; lane < p->plan->lane_count; lane++) {
        for (enum quantile q = latency ? P999 : MEDIAN; q > MEDIAN; q--)
            curve(p, lane, q);
        curve(p, lane, MEDIAN);
        points(p, lane);
    }
    fprintf(p->out, "</svg><figcaption>%s</figcaption></figure>\n", caption);
}
