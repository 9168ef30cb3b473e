/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_trace.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "iwarp/wire.h"

enum { TABLE = 1 << 14, TEXT = 96 }; /* places in a hash table: far above what a peer has */

struct state {
    uint32_t code;
    uint8_t bucket;
    uint64_t rows; /* visits */
};

struct edge {
    uint32_t from, to; /* states */
    uint8_t stimulus;
    uint64_t rows;
};

struct iw_hunt_graph {
    struct state *states;
    struct edge *edges;
    size_t n_states, n_edges;
    uint32_t state_at[TABLE], edge_at[TABLE]; /* number + 1; 0: free */
};

void iw_hunt_row_add(struct iw_hunt_row *row, enum iw_hunt_answer answer, uint32_t detail,
                     uint8_t stimulus)
{
    if (row->n == sizeof(row->at) / sizeof(*row->at))
        return;
    row->at[row->n].code = (uint32_t)answer << 24 | detail;
    row->at[row->n].stimulus = stimulus;
    row->n++;
}

static void print_startup(uint32_t detail, char *text, size_t room)
{
    unsigned flags = detail >> 16 & 0xff, revision = detail >> 8 & 0xff;

    snprintf(text, room, "%s rev %u%s%s%s%s%s%s%s%s", detail & 0x10 ? "request" : "reply", revision,
             flags & IW_MPA_FLAG_M ? " M" : "", flags & IW_MPA_FLAG_C ? " C" : "",
             flags & IW_MPA_FLAG_R ? " R" : "", flags & IW_MPA_FLAG_S ? " S" : "",
             detail & 8 ? " A" : "", detail & IW_MPA_RTR_SEND ? " send" : "",
             detail & IW_MPA_RTR_WRITE ? " write" : "", detail & IW_MPA_RTR_READ ? " read" : "");
}

void iw_hunt_code_print(uint32_t code, char *text, size_t room)
{
    uint32_t detail = code & 0xffffff;

    switch ((enum iw_hunt_answer)(code >> 24)) {
    case IW_ANSWER_STARTUP:
        print_startup(detail, text, room);
        return;
    case IW_ANSWER_MESSAGE:
        if (detail > IW_OP_ATOMIC_RESPONSE)
            snprintf(text, room, "opcode %x", detail);
        else
            snprintf(text, room, "%s", iw_wire_opcode_token(detail));
        return;
    case IW_ANSWER_TERMINATE:
        snprintf(text, room, "terminate %x/%x/%02x", detail >> 16, detail >> 8 & 0xff,
                 detail & 0xff);
        return;
    case IW_ANSWER_LOST:
        snprintf(text, room, "no FPDU");
        return;
    case IW_ANSWER_FIN:
        snprintf(text, room, "fin");
        return;
    case IW_ANSWER_RESET:
        snprintf(text, room, "reset");
        return;
    case IW_ANSWER_SILENCE:
        snprintf(text, room, "silence");
        return;
    case IW_ANSWER_REFUSED:
        snprintf(text, room, "refused");
        return;
    case IW_ANSWER_NONE:
        break;
    }
    snprintf(text, room, "connected");
}

static const char *stimulus_name(uint8_t stimulus)
{
    static const char *const names[] = {"nothing", "request", "octets", "fin", "reply"};

    if (stimulus >= IW_SAID_NOTHING && stimulus <= IW_SAID_REPLY)
        return names[stimulus - IW_SAID_NOTHING];
    return stimulus <= IW_OP_ATOMIC_RESPONSE ? iw_wire_opcode_token(stimulus) : "reserved opcode";
}

/* ---- the graph ---- */

struct iw_hunt_graph *iw_hunt_graph_new(void)
{
    struct iw_hunt_graph *g = iw_got(calloc(1, sizeof(*g)));

    g->states = iw_got(calloc(TABLE / 2, sizeof(*g->states)));
    g->edges = iw_got(calloc(TABLE / 2, sizeof(*g->edges)));
    g->n_states = 1; /* connected */
    return g;
}

void iw_hunt_graph_free(struct iw_hunt_graph *g)
{
    if (!g)
        return;
    free(g->states);
    free(g->edges);
    free(g);
}

static size_t mix(uint64_t value)
{
    value *= 0x9e3779b97f4a7c15u;
    return (size_t)(value >> 40) % TABLE;
}

/* Returns the state's number; a full table gives state 0. */
static uint32_t find_state(const struct iw_hunt_graph *g, uint32_t code, uint8_t bucket,
                           size_t *place)
{
    size_t at = mix((uint64_t)code << 8 | bucket);

    for (;; at = (at + 1) % TABLE) {
        uint32_t number = g->state_at[at];

        *place = at;
        if (!number)
            return 0;
        if (g->states[number - 1].code == code && g->states[number - 1].bucket == bucket)
            return number;
    }
}

static uint32_t find_edge(const struct iw_hunt_graph *g, uint32_t from, uint32_t to,
                          uint8_t stimulus, size_t *place)
{
    size_t at = mix((uint64_t)from << 40 | (uint64_t)to << 8 | stimulus);

    for (;; at = (at + 1) % TABLE) {
        uint32_t number = g->edge_at[at];

        *place = at;
        if (!number)
            return 0;
        if (g->edges[number - 1].from == from && g->edges[number - 1].to == to &&
            g->edges[number - 1].stimulus == stimulus)
            return number;
    }
}

static uint8_t bucket_of(unsigned times)
{
    return (uint8_t)(times < 4 ? times : times < 8 ? 4 : times < 16 ? 8 : 16);
}

/* Counts how often row->at[i].code has come up to there. */
static unsigned times(const struct iw_hunt_row *row, size_t i)
{
    unsigned n = 0;

    for (size_t j = 0; j <= i; j++)
        n += row->at[j].code == row->at[i].code;
    return n;
}

unsigned iw_hunt_graph_add(struct iw_hunt_graph *g, const struct iw_hunt_row *row)
{
    uint32_t from = 0;
    unsigned fresh = 0;

    g->states[0].rows++;
    for (size_t i = 0; i < row->n; i++) {
        size_t place;
        uint8_t bucket = bucket_of(times(row, i));
        uint32_t to = find_state(g, row->at[i].code, bucket, &place), edge;

        if (!to) {
            if (g->n_states == TABLE / 2)
                return fresh;
            g->states[g->n_states] = (struct state){.code = row->at[i].code, .bucket = bucket};
            to = g->state_at[place] = (uint32_t)++g->n_states;
            fresh++;
        }
        g->states[to - 1].rows++;
        edge = find_edge(g, from, to - 1, row->at[i].stimulus, &place);
        if (!edge) {
            if (g->n_edges == TABLE / 2)
                return fresh;
            g->edges[g->n_edges] =
                (struct edge){.from = from, .to = to - 1, .stimulus = row->at[i].stimulus};
            edge = g->edge_at[place] = (uint32_t)++g->n_edges;
            fresh++;
        }
        g->edges[edge - 1].rows++;
        from = to - 1;
    }
    return fresh;
}

uint64_t iw_hunt_graph_rarity(const struct iw_hunt_graph *g, const struct iw_hunt_row *row)
{
    uint64_t fewest = UINT64_MAX;
    uint32_t from = 0;

    for (size_t i = 0; i < row->n; i++) {
        size_t place;
        uint32_t to = find_state(g, row->at[i].code, bucket_of(times(row, i)), &place), edge;

        if (!to)
            break;
        edge = find_edge(g, from, to - 1, row->at[i].stimulus, &place);
        if (!edge)
            break;
        if (g->edges[edge - 1].rows < fewest)
            fewest = g->edges[edge - 1].rows;
        from = to - 1;
    }
    return fewest;
}

size_t iw_hunt_graph_states(const struct iw_hunt_graph *g)
{
    return g->n_states;
}

size_t iw_hunt_graph_edges(const struct iw_hunt_graph *g)
{
    return g->n_edges;
}

static void name_state(const struct state *s, char *text, size_t room)
{
    static const char *const suffix[] = {[1] = "",
                                         [2] = " (2nd)",
                                         [3] = " (3rd)",
                                         [4] = " (4th to 7th)",
                                         [8] = " (8th to 15th)",
                                         [16] = " (16th and on)"};
    char name[TEXT];

    iw_hunt_code_print(s->code, name, sizeof(name));
    snprintf(text, room, "%s%s", name, s->bucket ? suffix[s->bucket] : "");
}

static void write_dot(const struct iw_hunt_graph *g, FILE *f)
{
    char name[TEXT + 16];

    fprintf(f, "digraph states {\n  rankdir=LR;\n  node [shape=box];\n");
    for (size_t i = 0; i < g->n_states; i++) {
        name_state(&g->states[i], name, sizeof(name));
        fprintf(f, "  s%zu [label=\"%s\\n%llu\"];\n", i, name,
                (unsigned long long)g->states[i].rows);
    }
    for (size_t i = 0; i < g->n_edges; i++)
        fprintf(f, "  s%u -> s%u [label=\"%s\\n%llu\"];\n", g->edges[i].from, g->edges[i].to,
                stimulus_name(g->edges[i].stimulus), (unsigned long long)g->edges[i].rows);
    fprintf(f, "}\n");
}

static void write_json(const struct iw_hunt_graph *g, FILE *f)
{
    char name[TEXT + 16];

    fprintf(f, "{\"schema\": 1,\n \"states\": [");
    for (size_t i = 0; i < g->n_states; i++) {
        name_state(&g->states[i], name, sizeof(name));
        fprintf(f, "%s\n  {\"state\": %zu, \"answer\": \"%s\", \"visits\": %llu}", i ? "," : "", i,
                name, (unsigned long long)g->states[i].rows);
    }
    fprintf(f, "],\n \"edges\": [");
    for (size_t i = 0; i < g->n_edges; i++)
        fprintf(f, "%s\n  {\"from\": %u, \"to\": %u, \"stimulus\": \"%s\", \"visits\": %llu}",
                i ? "," : "", g->edges[i].from, g->edges[i].to, stimulus_name(g->edges[i].stimulus),
                (unsigned long long)g->edges[i].rows);
    fprintf(f, "]}\n");
}

void iw_hunt_graph_write(const struct iw_hunt_graph *g, FILE *f, bool json)
{
    if (json)
        write_json(g, f);
    else
        write_dot(g, f);
}
