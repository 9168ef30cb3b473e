/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/result.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "hunt.h"

enum { SCREEN_NS = 500000000, ROWS = 6, SAVE_NS = 1000000000 };
static const uint64_t line_ns = 5000000000;

struct iw_hunt_counts iw_hunt_counts(const struct iw_hunt *h)
{
    if (h->outside)
        return h->session_counts;
    return (struct iw_hunt_counts){
        .states = iw_hunt_graph_states(h->graph),
        .edges = iw_hunt_graph_edges(h->graph),
        .kept = h->n_corpus,
        .places = h->coverage != NULL ? iw_hunt_coverage_places(h->coverage) : 0};
}

size_t iw_hunt_counted(const struct iw_hunt *h, bool all)
{
    size_t n = 0;

    for (const struct iw_hunt_finding *f = h->findings; f != NULL; f = f->next)
        n += all || f->suppressed == NULL;
    return n;
}

static double rate(const struct iw_hunt *h)
{
    double seconds = iw_hunt_elapsed(h);

    return seconds > 0 ? (double)iw_hunt_total(h) / seconds : 0;
}

/* What is looked into beside the hunt. */
static void put_beside(const struct iw_hunt *h)
{
    unsigned busy = 0, minimising = 0, tries = 0;

    for (unsigned i = 0; h->board != NULL && i < h->o->targets * IW_HUNT_EXAMINERS; i++) {
        const struct iw_hunt_examining *e =
            iw_hunt_board_examining(h->board, i / IW_HUNT_EXAMINERS, i % IW_HUNT_EXAMINERS);

        busy += e->busy;
        minimising += e->minimising;
        tries += e->tries;
    }
    if (busy)
        fprintf(stderr, "; looks into %u (minimises %u), %u tries", busy, minimising, tries);
}

static void screen(const struct iw_hunt *h, bool first)
{
    size_t all = iw_hunt_counted(h, true);
    const struct iw_hunt_finding *last = h->findings;
    struct iw_hunt_counts c = iw_hunt_counts(h);

    while (last != NULL && last->next != NULL)
        last = last->next;
    if (!first)
        fprintf(stderr, "\033[%dA", ROWS);
    fprintf(stderr, "\033[K  target     %s\n", h->spec->text);
    fprintf(stderr, "\033[K  sequences  %" PRIu64 ", %.0f a second, %.0f s, seed %" PRIu64 "\n",
            iw_hunt_total(h), rate(h), iw_hunt_elapsed(h), h->o->seed);
    fprintf(stderr, "\033[K  states     %zu, %zu edges", c.states, c.edges);
    if (h->o->coverage)
        fprintf(stderr, ", %zu places in the peer", c.places);
    fprintf(stderr, "\n\033[K  kept       %zu sequences, %zu seeds\n", h->n_corpus, h->seeds.n);
    fprintf(stderr, "\033[K  target     started %u times, %zu KiB\n", h->world.starts,
            iw_hunt_world_resident(&h->world));
    fprintf(stderr, "\033[K  findings   %zu, %zu of them known%s%.60s", all,
            all - iw_hunt_counted(h, false), last != NULL ? "; last: " : "",
            last != NULL ? last->key : "");
    put_beside(h);
    fputc('\n', stderr);
}

static void line(const struct iw_hunt *h)
{
    struct iw_hunt_counts c = iw_hunt_counts(h);

    fprintf(stderr, "%.0f s: %" PRIu64 " sequences (%.0f/s), %zu states, %zu edges",
            iw_hunt_elapsed(h), iw_hunt_total(h), rate(h), c.states, c.edges);
    if (h->o->coverage)
        fprintf(stderr, ", %zu places", c.places);
    size_t counted = iw_hunt_counted(h, true);
    fprintf(stderr, ", %zu finding%s", counted, iw_text_plural(counted));
    put_beside(h);
    fputc('\n', stderr);
}

void iw_hunt_progress(struct iw_hunt *h, bool end)
{
    uint64_t now = iw_transport_now();
    bool terminal = isatty(2);

    if (h->examining != NULL)
        h->examining->tries++;
    if (h->examining != NULL || h->member)
        return;
    if (end || now >= h->next_save) {
        iw_hunt_save_progress(h);
        h->next_save = now + SAVE_NS;
    }
    if (!end && now < h->next_line)
        return;
    if (terminal)
        screen(h, h->next_line == 0);
    else if (h->next_line && !end)
        line(h);
    h->next_line = now + (terminal ? SCREEN_NS : line_ns);
}

static size_t steps_of(const struct iw_hunt_finding *f)
{
    size_t steps = 0;

    for (size_t i = 0; i < f->n_inputs; i++)
        steps += f->inputs[i]->n;
    return steps;
}

void iw_hunt_tell(struct iw_hunt *h, const struct iw_hunt_finding *f)
{
    size_t connections = f->before ? f->told_inputs : f->n_inputs;
    const char *const known[][2] = {{"case", f->file},
                                    {"row", f->row},
                                    {"capture", f->pcap},
                                    {"verdict", f->verdict},
                                    {"known", f->suppressed}};

    if (!f->before) {
        iw_hunt_save_finding(h, f);
        h->lines += h->board == NULL; /* with one, what comes from the file is counted */
    }
    if (h->examining != NULL)
        return; /* the hunt prints it */
    if (isatty(2))
        h->next_line = 0; /* the screen begins again below */
    printf("%s %s\n", f->suppressed != NULL ? "known" : "FOUND", iw_hunt_kind_name(f->event.kind));
    printf("  what      %s\n", f->event.text);
    printf("  when      sequence %" PRIu64 ", after %.1f s\n", f->number, f->seconds);
    if (f->row != NULL)
        printf("  how       not shown again: what was sent before did not do it once more\n");
    else if (connections)
        printf("  how       %zu steps on %zu connection%s\n", f->told_steps + steps_of(f),
               connections, connections == 1 ? "" : "s");
    else
        printf("  how       not found: what was sent before does not do it again\n");
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i][1] != NULL)
            printf("  %-9s %s\n", known[i][0], known[i][1]);
    fflush(stdout);
}

json_t *iw_hunt_finding_json(const struct iw_hunt_finding *f)
{
    const char *check = NULL;
    json_t *rule = NULL, *pattern = f->n_pattern ? iw_got(json_array()) : NULL;

    if (f->event.kind == IW_HUNT_RULE) {
        const struct iw_rule *broken = iw_check_sender_rule(f->event.check);

        check = iw_check_info(f->event.check)->name;
        rule = broken != NULL ? json_string(broken->id) : json_null();
    }
    for (size_t i = 0; i < f->n_pattern; i++)
        json_array_append_new(pattern, json_integer(f->pattern[i]));
    return iw_got(json_pack(
        "{s:s, s:o, s:o, s:s*, s:o*, s:I, s:f, s:I, s:I, s:I, s:o*, s:o, s:o, s:o, s:o, s:o*, "
        "s:s*}",
        "kind", iw_hunt_kind_name(f->event.kind), "key", iw_json_text(f->key), "text",
        iw_json_text(f->event.text), "check", check, "rule", rule, "sequence",
        (json_int_t)f->number, "seconds", f->seconds, "times", (json_int_t)f->times, "connections",
        (json_int_t)(f->before ? f->told_inputs : f->n_inputs), "steps",
        (json_int_t)f->told_steps + (json_int_t)steps_of(f), "pattern", pattern, "case",
        iw_json_text(f->file), "pcap", iw_json_text(f->pcap), "verdict", iw_json_text(f->verdict),
        "known", iw_json_text(f->suppressed), "row", f->row != NULL ? iw_json_text(f->row) : NULL,
        "cause", *f->event.cause ? f->event.cause : NULL));
}

static json_t *whole(const struct iw_hunt *h)
{
    struct iw_hunt_counts c = iw_hunt_counts(h);
    json_t *list = iw_got(json_array());

    for (struct iw_hunt_finding *f = h->findings; f != NULL; f = f->next) {
        uint64_t times = h->board != NULL ? iw_hunt_board_times(h->board, f->key) : 0;

        f->times = times > f->times ? times : f->times;
        json_array_append_new(list, iw_hunt_finding_json(f));
    }
    char digest[20];
    snprintf(digest, sizeof(digest), "%016" PRIx64, h->digest);
    return iw_got(json_pack(
        "{s:i, s:s, s:s, s:o, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o*, s:o*}",
        "schema", 1, "tool", "iwarp-fuzz", "version", IW_VERSION, "target",
        iw_json_text(h->spec->text), "seed", (json_int_t)h->o->seed, "sequences",
        (json_int_t)h->over, "seconds", iw_hunt_elapsed(h), "rate", rate(h), "states",
        (json_int_t)c.states, "edges", (json_int_t)c.edges, "kept", (json_int_t)c.kept, "starts",
        (json_int_t)h->world.starts, "lingered",
        (json_int_t)(h->outside ? 0 : iw_hunt_loop_lingered(h->loop)), "digest", digest, "findings",
        list, "restarts", h->outside ? json_integer((json_int_t)h->restarts) : NULL, "places",
        h->o->coverage ? json_integer((json_int_t)c.places) : NULL));
}

bool iw_hunt_graph_is_json(const char *path)
{
    const char *end = strrchr(path, '.');

    return end != NULL && strcmp(end, ".json") == 0;
}

static bool write_graph(const struct iw_hunt *h)
{
    FILE *f = iw_open_output(h->o->graph);

    if (f == NULL)
        return false;
    iw_hunt_graph_write(h->graph, f, iw_hunt_graph_is_json(h->o->graph));
    return iw_close_output(f, h->o->graph);
}

bool iw_hunt_write_json(json_t *o, const char *path)
{
    bool good = !json_dump_file(o, path, JSON_INDENT(1));

    if (!good)
        iw_complain("cannot write %s: %s", path, strerror(errno));
    json_decref(o);
    return good;
}

bool iw_hunt_report(struct iw_hunt *h)
{
    size_t all = iw_hunt_counted(h, true), known = all - iw_hunt_counted(h, false);
    bool good = true;

    if (h->o->json != NULL)
        good = iw_hunt_write_json(whole(h), h->o->json);
    if (h->o->graph != NULL && !h->outside && !write_graph(h))
        good = false;
    if (h->o->resume)
        return good; /* the watching program reports the rest */
    struct iw_hunt_counts c = iw_hunt_counts(h);
    printf("%" PRIu64 " sequence%s in %.1f s (%.0f a second), %zu state%s, %zu edge%s, "
           "%zu finding%s",
           h->over, iw_text_plural(h->over), iw_hunt_elapsed(h), rate(h), c.states,
           iw_text_plural(c.states), c.edges, iw_text_plural(c.edges), all, iw_text_plural(all));
    if (known)
        printf(" (%zu of them known)", known);
    if (h->outside)
        printf(", started again %u time%s", h->restarts, iw_text_plural(h->restarts));
    printf("; target %s, seed %" PRIu64 "\n", h->spec->text, h->o->seed);
    return good;
}
