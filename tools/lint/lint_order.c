/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts lines in order. A finding belongs to the frame with the octet at fault, which may come long
 * after that frame: octets wait for others that are missing. So lines of a file wait, too, until no
 * frame before theirs has octets that have not been judged. All other lines belong to the frame
 * being read.
 */
#include "lint.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"

enum {
    MOST_OCTETS = 1024 * 1024, /* of lines that wait; then all are written */
    MOST_LINES = 8192
};

struct iw_lint_line {
    uint64_t frame;
    size_t length;
    char *text;
};

void iw_lint_lines_begin(struct iw_lint *lint, FILE *to)
{
    lint->to = to;
    lint->out = iw_got(open_memstream(&lint->line, &lint->line_length));
}

static void emit(struct iw_lint *lint, const char *text, size_t length)
{
    if (lint->options->format == IW_LINT_SARIF) {
        fputs(lint->sarif->result ? ",\n" : "\n", lint->to);
        lint->sarif->result = true;
    }
    (void)fwrite(text, 1, length, lint->to);
}

/* Writes the lines that belong to frames up to `last`. */
static void emit_until(struct iw_lint *lint, uint64_t last)
{
    size_t n = 0;

    for (; n < lint->n_lines && lint->lines[n].frame <= last; n++) {
        emit(lint, lint->lines[n].text, lint->lines[n].length);
        lint->waiting -= lint->lines[n].length;
        free(lint->lines[n].text);
    }
    lint->n_lines -= n;
    for (size_t i = 0; n > 0 && i < lint->n_lines; i++)
        lint->lines[i] = lint->lines[n + i];
}

void iw_lint_line(struct iw_lint *lint, uint64_t frame)
{
    const struct iw_lint_options *o = lint->options;

    if (fflush(lint->out) != 0 || lint->line_length == 0)
        return;
    if (o->live != NULL || strcmp(o->path, "-") == 0) {
        emit(lint, lint->line, lint->line_length);
    } else {
        if (lint->n_lines == lint->lines_room) {
            lint->lines_room = 2 * lint->lines_room + 16;
            lint->lines = iw_got(realloc(lint->lines, lint->lines_room * sizeof(*lint->lines)));
        }
        char *text = iw_got(malloc(lint->line_length));
        memcpy(text, lint->line, lint->line_length);
        size_t at = lint->n_lines++; /* behind those of its frame; most belong to the last one */
        for (; at > 0 && lint->lines[at - 1].frame > frame; at--)
            lint->lines[at] = lint->lines[at - 1];
        lint->lines[at] = (struct iw_lint_line){frame, lint->line_length, text};
        lint->waiting += lint->line_length;
    }
    rewind(lint->out);
}

/* Returns the first frame with octets of the connection that may not have been judged. */
static uint64_t first_open(const struct iw_lint_connection *c)
{
    bool settled = iw_observer_follows(c->observer, IW_SIDE_INITIATOR) &&
                   iw_observer_follows(c->observer, IW_SIDE_RESPONDER);
    uint64_t first = UINT64_MAX;

    for (int i = 0; i < 2; i++) {
        const struct iw_lint_side *s = &c->side[i];

        if (s->lost || s->ranges.count == 0 ||
            (settled && iw_observer_boundary(c->observer, (enum iw_side)i)))
            continue;
        if (s->ranges.all->frame < first)
            first = s->ranges.all->frame;
    }
    return first;
}

void iw_lint_lines_settle(struct iw_lint *lint)
{
    uint64_t last = UINT64_MAX;
    size_t count = iw_capture_connections_count(lint->table);

    if (lint->n_lines == 0)
        return;
    bool full = lint->waiting > MOST_OCTETS || lint->n_lines > MOST_LINES;
    /* A look at each connection has to be cheap beside the frames read since the last one. */
    if (!full && lint->read < lint->settled + count)
        return;
    lint->settled = lint->read;
    for (size_t i = 0; i < count; i++) {
        const struct iw_capture_connection *tcp = iw_capture_connections_get(lint->table, i);
        uint64_t first = tcp != NULL && tcp->user != NULL ? first_open(tcp->user) : UINT64_MAX;

        last = first < last ? first : last;
    }
    emit_until(lint, last);
    if (full)
        emit_until(lint, UINT64_MAX);
}

void iw_lint_lines_end(struct iw_lint *lint)
{
    emit_until(lint, UINT64_MAX);
}

void iw_lint_lines_free(struct iw_lint *lint)
{
    fclose(lint->out);
    free(lint->line);
    for (size_t i = 0; i < lint->n_lines; i++)
        free(lint->lines[i].text);
    free(lint->lines);
}
