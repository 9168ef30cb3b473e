/* SPDX-License-Identifier: BSD-3-Clause */
#include "lint.h"

#include <stdlib.h>
#include <string.h>

#include "iwarp/crc32c.h"

enum { TABLE = 1 << 20 }; /* TCP connections that one capture may have */

uint64_t iw_lint_frame(const struct iw_lint_connection *c, enum iw_side side, uint64_t pos)
{
    const struct iw_lint_side *s = &c->side[side];
    size_t kept = s->n_ranges < IW_LINT_RANGES ? s->n_ranges : IW_LINT_RANGES;

    /* The first copy of an octet is the one that counts, hence from the oldest on. */
    for (size_t i = s->n_ranges - kept; i < s->n_ranges; i++) {
        const struct iw_lint_range *r = &s->ranges[i % IW_LINT_RANGES];

        if (pos >= r->pos && pos < r->end)
            return r->frame;
    }
    return c->lint->frame;
}

static void remember(struct iw_lint_connection *c, enum iw_side side, uint64_t pos, uint64_t end)
{
    struct iw_lint_side *s = &c->side[side];

    s->ranges[s->n_ranges++ % IW_LINT_RANGES] = (struct iw_lint_range){pos, end, c->lint->frame};
}

static void seen(void *context, const struct iw_observation *o)
{
    struct iw_lint_connection *c = context;
    struct iw_lint_side *s = &c->side[o->side];

    switch (o->kind) {
    case IW_OBSERVED_STARTUP:
        s->started = true;
        s->startup = o->startup;
        s->enhanced = o->enhanced;
        break;
    case IW_OBSERVED_MESSAGE:
        s->messages[iw_rdmap_op(&o->ddp)]++;
        s->octets[iw_rdmap_op(&o->ddp)] += o->message_length;
        break;
    case IW_OBSERVED_FINDING:
        s->findings++;
        iw_lint_finding(c, o);
        return;
    case IW_OBSERVED_LOST:
        s->lost = true;
        iw_lint_end(c, o->side, iw_check_info(o->fault.check)->text);
        return;
    case IW_OBSERVED_SEGMENT:
    case IW_OBSERVED_FIN:
    case IW_OBSERVED_RESET:
    case IW_OBSERVED_GAP:
    case IW_OBSERVED_RESYNC:
        break;
    }
    if (c->lint->options->messages)
        iw_lint_message(c, o);
}

/* Whether these octets, the first of their direction, open an iWARP connection (RFC 5044 §7.1.1).
 * A few suffice: what follows is the observer's to judge. */
static bool opens(const struct iw_lint *lint, const struct iw_segment *s)
{
    static const char key[] = "MPA ID Re";
    size_t n = s->length < sizeof(key) - 1 ? s->length : sizeof(key) - 1;

    for (size_t i = 0; i < lint->options->n_ports; i++)
        if (s->connection->port[0] == lint->options->ports[i] ||
            s->connection->port[1] == lint->options->ports[i])
            return true;
    return s->pos == 0 && n >= 4 && !memcmp(s->data, key, n);
}

/* A Reply seen first: the Request was not captured, or comes late. */
static bool is_reply(const struct iw_segment *s)
{
    static const char key[] = "MPA ID Rep";

    return s->length >= sizeof(key) - 1 && !memcmp(s->data, key, sizeof(key) - 1);
}

static void *lend(void *context, size_t size)
{
    struct iw_lint_connection *c = context;
    void *block = c->lint->lent + size <= IW_LINT_LENT ? malloc(size) : NULL;

    if (block)
        c->lint->lent += size;
    return block;
}

static void give_back(void *context, void *block, size_t size)
{
    struct iw_lint_connection *c = context;

    c->lint->lent -= size;
    free(block);
}

static void close_connection(struct iw_lint_connection *c)
{
    iw_observer_flush(c->observer);
    if (c->lint->options->summary)
        iw_lint_summary(c);
    c->lint->open--;
    c->tcp->user = NULL;
    iw_observer_drop(c->observer);
    free(c->observer);
    free(c);
}

static void set_reset(struct iw_lint_connection *c)
{
    c->was_reset = true;
    *c->lint->last_reset = c;
    c->lint->last_reset = &c->next_reset;
}

/* Takes the oldest from the list. */
static void close_reset(struct iw_lint *lint)
{
    struct iw_lint_connection *c = lint->reset;

    lint->reset = c->next_reset;
    if (!lint->reset)
        lint->last_reset = &lint->reset;
    close_connection(c);
}

static struct iw_lint_connection *follow(struct iw_lint *lint, const struct iw_segment *s)
{
    struct iw_observer_config config = {.crc32c = iw_crc32c_best(),
                                        .seen = seen,
                                        .lend = lend,
                                        .give_back = give_back,
                                        .scratch = lint->scratch,
                                        .emss = lint->options->mss,
                                        .default_config = lint->options->default_config,
                                        .extensions = true};
    struct iw_lint_connection *c;

    if (lint->open >= lint->options->connections && lint->reset)
        close_reset(lint);
    if (lint->open >= lint->options->connections) {
        lint->unfollowed++;
        return NULL;
    }
    c = calloc(1, sizeof(*c));
    if (!c || !(c->observer = malloc(iw_observer_size()))) {
        free(c);
        lint->unfollowed++;
        return NULL;
    }
    c->lint = lint;
    c->tcp = s->connection;
    c->initiator = is_reply(s) ? !s->direction : s->direction;
    config.context = c;
    iw_observer_init(c->observer, iw_observer_size(), &config);
    s->connection->user = c;
    lint->open++;
    lint->followed++;
    return c;
}

/* The other side's octets may come before those of the side that opens: a connection whose first
 * octets are none of a start-up frame is looked at until one is. */
static void take_data(struct iw_lint *lint, const struct iw_segment *s)
{
    struct iw_lint_connection *c = s->connection->user;
    enum iw_side side;

    if (!c && (!s->length || !opens(lint, s) || !(c = follow(lint, s))))
        return;
    side = s->direction == c->initiator ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER;
    if (c->side[side].lost)
        return;
    if (s->length) {
        remember(c, side, s->pos, s->pos + s->length);
        (void)iw_observer_input(c->observer, side, s->pos, s->data, s->length);
    }
    if (s->missing)
        iw_observer_gap(c->observer, side, s->pos + s->length, s->pos + s->length + s->missing);
}

static int on_segment(void *context, const struct iw_segment *s)
{
    struct iw_lint *lint = context;
    struct iw_lint_connection *c = s->connection->user;

    lint->frame = s->frame->number;
    if (s->kind == IW_SEGMENT_DATA) {
        take_data(lint, s);
    } else if (c && s->kind != IW_SEGMENT_SYN) {
        enum iw_side side = s->direction == c->initiator ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER;

        iw_observer_end(c->observer, side, s->pos, s->kind == IW_SEGMENT_RST);
        c->side[side].ended = true;
        if (s->kind == IW_SEGMENT_RST && !c->was_reset)
            set_reset(c);
        else if (!c->was_reset && c->side[0].ended && c->side[1].ended &&
                 iw_observer_boundary(c->observer, IW_SIDE_INITIATOR) &&
                 iw_observer_boundary(c->observer, IW_SIDE_RESPONDER))
            close_connection(c);
    }
    return 0;
}

/* The whole capture, and what is told at its end. -1 with an error line if it is not whole. */
static int walk(struct iw_lint *lint, char error[IW_CAPTURE_ERROR])
{
    struct iw_capture_counts counts = {0};
    int walked;

    if (lint->options->format == IW_LINT_SARIF)
        iw_lint_sarif_begin(lint);
    walked = iw_capture_walk(lint->options->path, lint->table, &counts, error);
    for (size_t i = 0; i < iw_connections_count(lint->table); i++) {
        struct iw_connection *tcp = iw_connections_get(lint->table, i);

        if (tcp->user)
            close_connection(tcp->user);
    }
    if (lint->options->format == IW_LINT_SARIF)
        iw_lint_sarif_end(lint);
    else
        iw_lint_total(lint, &counts);
    return walked;
}

int iw_lint_run(const struct iw_lint_options *options, FILE *out)
{
    struct iw_lint lint = {.options = options, .out = out};
    char error[IW_CAPTURE_ERROR];
    int walked, status;

    lint.last_reset = &lint.reset;
    lint.scratch = malloc(iw_observer_scratch_size());
    lint.table = iw_connections_new(TABLE, on_segment, &lint);
    if (!lint.table || !lint.scratch) {
        iw_connections_free(lint.table);
        free(lint.scratch);
        fprintf(stderr, "iwarp-lint: no memory\n");
        return IW_LINT_BROKEN;
    }
    walked = walk(&lint, error);
    iw_connections_free(lint.table);
    free(lint.scratch);
    status = lint.findings ? IW_LINT_FINDINGS : IW_LINT_CLEAN;
    if (fflush(out) || ferror(out)) {
        fprintf(stderr, "iwarp-lint: cannot write the findings\n");
        status = IW_LINT_BROKEN;
    }
    if (walked < 0) {
        fprintf(stderr, "iwarp-lint: %s\n", error);
        status = status == IW_LINT_BROKEN ? status : IW_LINT_UNREADABLE;
    }
    if (options->annotate && !iw_lint_annotate(&lint))
        status = IW_LINT_BROKEN;
    iw_lint_free_notes(&lint);
    return status;
}
