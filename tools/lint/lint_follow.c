/* SPDX-License-Identifier: BSD-3-Clause */
#include "lint.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/text.h"
#include "iwarp/crc32c.h"

enum { TABLE = 32768 /* TCP connections remembered at a time, iWARP or not */ };
enum { LARGE = 64 * 1024 * 1024 /* octets of a file whose progress is shown */ };

static volatile sig_atomic_t stopped; /* the signal */

static void stop(int number)
{
    stopped = number;
}

bool iw_lint_stopped(void)
{
    return stopped != 0;
}

/* ---- connections ---- */

static bool decoded_as(const struct iw_lint *lint, const struct iw_capture_connection *c)
{
    for (size_t i = 0; i < lint->options->n_ports; i++)
        if (c->port[0] == lint->options->ports[i] || c->port[1] == lint->options->ports[i])
            return true;
    return false;
}

/* Returns true if these octets begin a connection to be followed, as octets of *side. */
static bool opens(const struct iw_lint *lint, const struct iw_segment *s, enum iw_side *side)
{
    *side = IW_SIDE_INITIATOR;
    return iw_observer_opens(s->data, s->length, s->pos == 0, side) ||
           (lint->options->n_ports > 0 && decoded_as(lint, s->connection));
}

/* Returns true if the capture has the beginning of this connection neither as TCP's SYN nor as
 * MPA's Request. */
static bool is_joined(const struct iw_segment *s)
{
    size_t n = MIN(s->length, strlen("MPA ID Req"));

    return !s->connection->syn[0] && !s->connection->syn[1] &&
           memcmp(s->data, iw_mpa_request_key, n) != 0;
}

static void close_connection(struct iw_lint_connection *c)
{
    iw_observer_flush(c->observer);
    if (c->lint->options->summary)
        iw_lint_summary(c);
    iw_lint_line(c->lint, c->lint->frame);
    c->lint->open--;
    c->tcp->user = NULL;
    iw_observer_drop(c->observer);
    for (int i = 0; i < 2; i++) {
        iw_lint_free_ranges(&c->side[i].ranges);
        iw_lint_free_reads(&c->side[i]);
    }
    free(c);
}

/* Called when the table makes room. */
static void dropped(void *context, struct iw_capture_connection *tcp)
{
    struct iw_lint *lint = context;

    if (tcp->user != NULL) {
        lint->early++;
        close_connection(tcp->user);
    }
}

static void make_room(struct iw_lint *lint)
{
    struct iw_capture_connection *oldest = lint->open < lint->options->connections
                                               ? NULL
                                               : iw_capture_connections_oldest_used(lint->table);

    if (oldest == NULL)
        return;
    if (lint->early == 0)
        iw_complain("more than %zu connections at a time: from here on the one used least "
                    "recently is closed for each new one (--connections)",
                    lint->options->connections);
    dropped(lint, oldest);
}

/* Finds where MPA begins. After streaming mode (RFC 5044 §7.1.2) the initiator has read the
 * responder's streamed octets before it sends its Request, and acknowledges them. */
static void find_bases(struct iw_lint_connection *c, const struct iw_segment *s)
{
    const struct iw_lint *lint = c->lint;

    if (s->length < IW_MPA_KEY_LENGTH || iw_wire_mpa_key(s->data) != IW_MPA_KEY_REQUEST)
        return;
    c->side[IW_SIDE_INITIATOR].base = s->pos;
    if (lint->acked_frame == lint->frame)
        c->side[IW_SIDE_RESPONDER].base = lint->acked;
}

/* Makes the first octet of the start-up frame position 0. Returns false if all octets come before
 * it. */
static bool skip_streaming(const struct iw_lint_side *side, struct iw_segment *s)
{
    uint64_t early = s->pos < side->base ? side->base - s->pos : 0;
    size_t cut = (size_t)MIN(early, s->length);

    if (early >= s->length + s->missing)
        return false;
    s->missing -= (uint32_t)(early - cut);
    s->length -= cut;
    s->data += cut;
    s->pos += early - side->base;
    return true;
}

static void take_ack(struct iw_lint_connection *c, uint64_t pos, enum iw_side side)
{
    if (pos > c->side[side].base)
        iw_observer_acked(c->observer, side, pos - c->side[side].base);
}

static struct iw_lint_connection *follow(struct iw_lint *lint, const struct iw_segment *s,
                                         enum iw_side side)
{
    struct iw_observer_config config = {.crc32c = iw_crc32c_best(),
                                        .seen = iw_lint_seen,
                                        .lend = iw_lint_lend,
                                        .give_back = iw_lint_give_back,
                                        .scratch = lint->scratch,
                                        .emss = lint->options->mss,
                                        .default_config = lint->options->default_config,
                                        .intact = lint->options->intact,
                                        .extensions = true,
                                        .no_quirks = lint->options->no_quirks};

    make_room(lint);
    struct iw_lint_connection *c = calloc(1, sizeof(*c) + iw_observer_size());
    if (c == NULL) {
        lint->unfollowed++;
        return NULL;
    }
    for (int i = 0; i < 2; i++)
        iw_lint_no_ranges(&c->side[i].ranges);
    c->observer = (struct iw_observer *)(void *)(c + 1);
    c->lint = lint;
    c->tcp = s->connection;
    c->initiator = side == IW_SIDE_INITIATOR ? s->direction : !s->direction;
    find_bases(c, s);
    c->side[iw_observed_other(side)].unread = s->connection->begun[!s->direction];
    config.context = c;
    iw_observer_init(c->observer, iw_observer_size(), &config);
    if (is_joined(s))
        iw_observer_assume(c->observer, NULL);
    if (lint->acked_frame == lint->frame)
        take_ack(c, lint->acked, iw_observed_other(side));
    s->connection->user = c;
    lint->open++;
    lint->followed++;
    return c;
}

/* Returns the connection if these octets, with those before them, begin one to be followed. */
static struct iw_lint_connection *recognise(struct iw_lint *lint, const struct iw_segment *s)
{
    uint8_t key[IW_MPA_KEY_LENGTH];
    const struct iw_segment first = iw_lint_opening_join(lint, s, key);
    enum iw_side side;
    if (s->length == 0)
        return NULL;
    if (!opens(lint, &first, &side)) {
        iw_lint_opening_keep(lint, s);
        return NULL;
    }
    struct iw_lint_connection *c = follow(lint, &first, side);
    if (c != NULL)
        iw_lint_opening_give(lint, c, s, side);
    return c;
}

/* Takes octets. The other side's may come before those of the side that opens: a connection whose
 * first octets are no start-up frame is watched until one comes. */
static void take_data(struct iw_lint *lint, const struct iw_segment *s)
{
    struct iw_lint_connection *c = s->connection->user;
    struct iw_segment mpa = *s;
    if (c == NULL && (c = recognise(lint, s)) == NULL)
        return;
    enum iw_side side = s->direction == c->initiator ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER;
    if (c->side[side].lost || !skip_streaming(&c->side[side], &mpa))
        return;
    if (mpa.length) {
        iw_lint_remember(c, side, mpa.pos, mpa.pos + mpa.length);
        (void)iw_observer_input(c->observer, side, mpa.pos, mpa.data, mpa.length);
    }
    if (mpa.missing)
        iw_observer_gap(c->observer, side, mpa.pos + mpa.length,
                        mpa.pos + mpa.length + mpa.missing);
}

static void take_end(struct iw_lint_connection *c, const struct iw_segment *s, enum iw_side side)
{
    uint64_t base = c->side[side].base;

    iw_observer_end(c->observer, side, s->pos > base ? s->pos - base : 0,
                    s->kind == IW_SEGMENT_RST);
    c->side[side].ended = true;
    /* After a reset octets may still have been in flight. */
    if (!c->tcp->reset && c->side[0].ended && c->side[1].ended &&
        iw_observer_boundary(c->observer, IW_SIDE_INITIATOR) &&
        iw_observer_boundary(c->observer, IW_SIDE_RESPONDER))
        close_connection(c);
}

static void prefetch(const void *from, size_t length)
{
    enum { LINE = 64 };

    for (size_t i = 0; i < length; i += LINE)
        __builtin_prefetch((const char *)from + i, 1, 2);
}

/* Prefetches what judging a packet reads: the sending side's half of the observer if there are
 * octets, and the beginning of the other's for the acknowledgement. */
static void soon(const struct iw_capture_connection *tcp, unsigned direction, bool octets)
{
    enum { ACKNOWLEDGED = 320 };
    const struct iw_lint_connection *c = tcp->user;
    unsigned side = direction ^ c->initiator; /* an enum iw_side */
    size_t half = iw_observer_size() / 2;
    const char *observer = (const char *)c->observer;

    prefetch(observer + half * !side, ACKNOWLEDGED);
    if (!octets)
        return;
    prefetch(observer + half * side, half);
    prefetch(&c->side[side], sizeof(c->side[side]));
}

static int on_segment(void *context, const struct iw_segment *s)
{
    struct iw_lint *lint = context;
    struct iw_lint_connection *c = s->connection->user;

    lint->frame = s->frame->number;
    lint->time = s->frame->time;
    if (s->kind == IW_SEGMENT_DATA) {
        take_data(lint, s);
        return 0;
    }
    if (s->kind == IW_SEGMENT_ACK) {
        lint->acked = s->pos;
        lint->acked_frame = lint->frame;
    }
    if (c == NULL || s->kind == IW_SEGMENT_SYN)
        return 0;
    enum iw_side side = s->direction == c->initiator ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER;
    if (s->kind == IW_SEGMENT_ACK)
        take_ack(c, s->pos, iw_observed_other(side));
    else
        take_end(c, s, side);
    return 0;
}

/* ---- the capture ---- */

static struct iw_capture *open_capture(const struct iw_lint_options *o,
                                       char error[IW_CAPTURE_ERROR])
{
    if (o->live != NULL)
        return iw_capture_live(o->live, o->filter, error);
    struct iw_capture *c = iw_capture_open(o->path, error);
    if (c != NULL && o->filter != NULL && !iw_capture_filter(c, o->filter, error)) {
        iw_capture_close(c);
        return NULL;
    }
    return c;
}

/* Shows how much of a large file was read, if that is not what was shown before. Returns what is
 * shown now, in percent. */
static unsigned progress(const struct iw_capture *c, unsigned shown)
{
    uint64_t at, size;
    if (!iw_capture_progress(c, &at, &size) || size < LARGE || at * 100 / size == shown)
        return shown;
    shown = (unsigned)(at * 100 / size);
    fprintf(stderr, "\r%3u %% ", shown);
    return shown;
}

/* Reads frame by frame to the end, or to the signal that ends a live capture. */
static int read_frames(struct iw_lint *lint, struct iw_capture *c, struct iw_fragments *f,
                       struct iw_capture_counts *counts, char error[IW_CAPTURE_ERROR])
{
    bool terminal = isatty(STDERR_FILENO);
    unsigned shown = 0;
    int got = 1;
    while (got > 0 && !stopped) {
        struct iw_frame frames[IW_CAPTURE_BATCH];
        size_t count;
        got = iw_capture_batch(c, frames, IW_CAPTURE_BATCH, &count, error);
        (void)iw_capture_connections_take(lint->table, f, frames, count, counts);
        lint->read = count > 0 ? frames[count - 1].number : lint->read;
        iw_lint_lines_settle(lint);
        if (terminal)
            shown = progress(c, shown);
    }
    if (shown > 0)
        fputs("\r        \r", stderr);
    if (iw_capture_dropped(c))
        iw_complain("%s: %llu packets were lost", lint->options->path,
                    (unsigned long long)iw_capture_dropped(c));
    return stopped && got > 0 ? 0 : got;
}

/* Reads the whole capture, and reports at its end. Returns -1 with an error line if it is not
 * whole. */
static int walk(struct iw_lint *lint, struct iw_capture *c, struct iw_fragments *f,
                char error[IW_CAPTURE_ERROR])
{
    struct iw_capture_counts counts = {0};

    int got = read_frames(lint, c, f, &counts, error);
    counts.incomplete = iw_fragments_incomplete(f);
    for (size_t i = 0; i < iw_capture_connections_count(lint->table); i++) {
        struct iw_capture_connection *tcp = iw_capture_connections_get(lint->table, i);

        if (tcp != NULL && tcp->user != NULL)
            close_connection(tcp->user);
    }
    iw_lint_lines_end(lint);
    iw_lint_total(lint, &counts);
    if (got == 0 && lint->followed == 0)
        iw_complain("%s: no iWARP connection in %" PRIu64
                    " frame%s (--decode-as PORT takes one whose beginning is missing)",
                    lint->options->path, counts.frames, iw_text_plural(counts.frames));
    return got;
}

/* An interrupt keeps what there is; a second one, while that is written, ends the program. Where no
 * end is in sight, SIGTERM is the regular one. */
static void catch_signals(const struct iw_lint_options *o)
{
    struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND};

    sigaction(SIGINT, &action, NULL);
    if (o->live == NULL && strcmp(o->path, "-") != 0)
        return;
    sigaction(SIGTERM, &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

static int complain(const char *why, int status)
{
    iw_complain("%s", why);
    return status;
}

static int lint_capture(struct iw_lint *lint, struct iw_capture *c)
{
    char error[IW_CAPTURE_ERROR];
    struct iw_fragments *f = iw_got(iw_fragments_new());
    int walked = walk(lint, c, f, error);
    int extracted = lint->extract != NULL ? iw_lint_extract_end(lint) : 0;
    iw_lint_line(lint, UINT64_MAX);
    iw_lint_lines_end(lint);
    int status = lint->findings ? IW_LINT_FINDINGS : IW_LINT_CLEAN;
    iw_fragments_free(f);
    if (lint->options->require && lint->followed == 0)
        status = IW_EXIT_UNREACHED;
    if (walked < 0)
        status = complain(error, IW_LINT_UNREADABLE);
    if (extracted)
        status = extracted;
    if (stopped == SIGINT)
        status = IW_EXIT_INTERRUPTED;
    if (lint->options->annotate != NULL && !iw_lint_annotate(lint))
        status = IW_EXIT_OUTPUT;
    return status;
}

int iw_lint_run(const struct iw_lint_options *options, FILE *out, FILE *json_lines,
                struct iw_lint_sarif *sarif)
{
    struct iw_lint lint = {.options = options, .json_lines = json_lines, .sarif = sarif};
    char error[IW_CAPTURE_ERROR];
    struct iw_capture *c = open_capture(options, error);
    int status = IW_EXIT_TESTER;
    if (c == NULL)
        return complain(error, IW_LINT_UNREADABLE);
    catch_signals(options);
    if (options->format == IW_LINT_SARIF)
        iw_lint_sarif_begin(sarif, out);
    iw_lint_lines_begin(&lint, out);
    lint.scratch = iw_got(malloc(iw_observer_scratch_size()));
    lint.table = iw_got(iw_capture_connections_new(TABLE, on_segment, &lint));
    if (options->annotate != NULL)
        lint.notes = iw_got(malloc(IW_LINT_NOTES * sizeof(*lint.notes)));
    iw_capture_connections_recycle(lint.table, dropped);
    iw_capture_connections_tell_acks(lint.table);
    iw_capture_connections_foresee(lint.table, soon);
    if (options->into == NULL || iw_lint_extract_begin(&lint))
        status = lint_capture(&lint, c);
    iw_capture_close(c);
    iw_capture_connections_free(lint.table);
    free(lint.scratch);
    free(lint.openings);
    iw_lint_lines_free(&lint);
    iw_lint_free_notes(&lint);
    return status;
}
