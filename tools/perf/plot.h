/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_PERF_PLOT_H
#define IW_PERF_PLOT_H

#include "perf.h"

/* A plot of one test. */
struct plot {
    FILE *out;
    const struct perf_plan *plan;
    const struct perf_results *results;
    enum perf_test test;
    bool ratio;            /* to TCP; else the value */
    double x0, x1, y0, y1; /* of log2(size); of log10(value), or of the ratio */
};

/* Draws it, with this caption. A lane of perf_lane_kind() N has the class laneN. */
void perf_plot_draw(struct plot *plot, const char *caption);

#endif
