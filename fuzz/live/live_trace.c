/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_trace.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "host/text.h"
#include "iwarp/wire.h"

enum { TABLE = 1 << 14, MOST = TABLE / 2 /* far above what a peer has */, TEXT = 96 };

/* States, or edges: how often rows had each. */
struct table {
    struct {
        uint64_t key; /* state_key(), edge_key() */
        uint64_t rows;
    } item[MOST];
    size_t n;
    uint32_t at[TABLE]; /* by hash: number + 1; 0: free */
};

struct iw_hunt_graph {
    struct table states, edges;
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
    static const char *const plain[] = {
        [IW_ANSWER_NONE] = "connected",  [IW_ANSWER_LOST] = "no FPDU",
        [IW_ANSWER_FIN] = "fin",         [IW_ANSWER_RESET] = "reset",
        [IW_ANSWER_SILENCE] = "silence", [IW_ANSWER_REFUSED] = "refused"};
    uint32_t answer = code >> 24, detail = code & 0xffffff;

    if (answer == IW_ANSWER_STARTUP)
        print_startup(detail, text, room);
    else if (answer == IW_ANSWER_TERMINATE)
        snprintf(text, room, "terminate %x/%x/%02x", detail >> 16, detail >> 8 & 0xff,
                 detail & 0xff);
    else if (answer == IW_ANSWER_MESSAGE && detail > IW_OP_ATOMIC_RESPONSE)
        snprintf(text, room, "opcode %x", detail);
    else if (answer == IW_ANSWER_MESSAGE)
        snprintf(text, room, "%s", iw_wire_opcode_token(detail));
    else
        snprintf(text, room, "%s", plain[answer]);
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

    g->states.n = 1; /* connected */
    return g;
}

/* Returns where in `at` the key is, or else the free place that it gets. */
static size_t place_of(const struct table *t, uint64_t key)
{
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 40) % TABLE;

    while (t->at[at] && t->item[t->at[at] - 1].key != key)
        at = (at + 1) % TABLE;
    return at;
}

/* Counts one more with this key. Returns its number + 1; 0: there is no room. */
static uint32_t count(struct table *t, uint64_t key, unsigned *fresh)
{
    size_t at = place_of(t, key);

    if (!t->at[at]) {
        if (t->n == MOST)
            return 0;
        t->item[t->n].key = key;
        t->at[at] = (uint32_t)++t->n;
        ++*fresh;
    }
    t->item[t->at[at] - 1].rows++;
    return t->at[at];
}

/* Returns the key of the state after answer `i`: its code, and how often that has come up to there,
 * as the least number of its class. */
static uint64_t state_key(const struct iw_hunt_row *row, size_t i)
{
    unsigned times = 0;

    for (size_t j = 0; j <= i; j++)
        times += row->at[j].code == row->at[i].code;
    return (uint64_t)row->at[i].code << 8 | (times < 4    ? times
                                             : times < 8  ? 4
                                             : times < 16 ? 8
                                                          : 16);
}

/* Returns the key of the edge between two states. */
static uint64_t edge_key(uint32_t from, uint32_t to, uint8_t stimulus)
{
    return (uint64_t)from << 40 | (uint64_t)to << 8 | stimulus;
}

static unsigned edge_from(uint64_t key)
{
    return (unsigned)(key >> 40);
}

static unsigned edge_to(uint64_t key)
{
    return (unsigned)(key >> 8);
}

unsigned iw_hunt_graph_add(struct iw_hunt_graph *g, const struct iw_hunt_row *row)
{
    uint32_t from = 0;
    unsigned fresh = 0;

    g->states.item[0].rows++;
    for (size_t i = 0; i < row->n; i++) {
        uint32_t to = count(&g->states, state_key(row, i), &fresh);
        if (!to || !count(&g->edges, edge_key(from, to - 1, row->at[i].stimulus), &fresh))
            break;
        from = to - 1;
    }
    return fresh;
}

uint64_t iw_hunt_graph_rarity(const struct iw_hunt_graph *g, const struct iw_hunt_row *row)
{
    const struct table *states = &g->states, *edges = &g->edges;
    uint64_t fewest = UINT64_MAX;
    uint32_t from = 0;

    for (size_t i = 0; i < row->n; i++) {
        uint32_t to = states->at[place_of(states, state_key(row, i))];
        if (!to)
            break;
        uint32_t edge = edges->at[place_of(edges, edge_key(from, to - 1, row->at[i].stimulus))];
        if (!edge)
            break;
        if (edges->item[edge - 1].rows < fewest)
            fewest = edges->item[edge - 1].rows;
        from = to - 1;
    }
    return fewest;
}

size_t iw_hunt_graph_states(const struct iw_hunt_graph *g)
{
    return g->states.n;
}

size_t iw_hunt_graph_edges(const struct iw_hunt_graph *g)
{
    return g->edges.n;
}

static void name_state(uint64_t key, char *text, size_t room)
{
    static const char *const suffix[] = {[0] = "",
                                         [1] = "",
                                         [2] = " (2nd)",
                                         [3] = " (3rd)",
                                         [4] = " (4th to 7th)",
                                         [8] = " (8th to 15th)",
                                         [16] = " (16th and on)"};
    char name[TEXT];
    iw_hunt_code_print((uint32_t)(key >> 8), name, sizeof(name));
    snprintf(text, room, "%s%s", name, suffix[key & 0xff]);
}

static void write_dot(const struct iw_hunt_graph *g, FILE *f)
{
    fprintf(f, "digraph states {\n  rankdir=LR;\n  node [shape=box];\n");
    for (size_t i = 0; i < g->states.n; i++) {
        char name[TEXT + 16];
        name_state(g->states.item[i].key, name, sizeof(name));
        fprintf(f, "  s%zu [label=\"%s\\n%" PRIu64 "\"];\n", i, name, g->states.item[i].rows);
    }
    for (size_t i = 0; i < g->edges.n; i++) {
        uint64_t key = g->edges.item[i].key;
        fprintf(f, "  s%u -> s%u [label=\"%s\\n%" PRIu64 "\"];\n", edge_from(key), edge_to(key),
                stimulus_name((uint8_t)key), g->edges.item[i].rows);
    }
    fprintf(f, "}\n");
}

static void write_json(const struct iw_hunt_graph *g, FILE *f)
{
    json_t *states = iw_got(json_array()), *edges = iw_got(json_array());

    for (size_t i = 0; i < g->states.n; i++) {
        char name[TEXT + 16];
        name_state(g->states.item[i].key, name, sizeof(name));
        json_t *state = json_pack("{s:I, s:s, s:I}", "state", (json_int_t)i, "answer", name,
                                  "visits", (json_int_t)g->states.item[i].rows);
        json_array_append_new(states, iw_got(state));
    }
    for (size_t i = 0; i < g->edges.n; i++) {
        uint64_t key = g->edges.item[i].key;
        json_t *edge = json_pack("{s:I, s:I, s:s, s:I}", "from", (json_int_t)edge_from(key), "to",
                                 (json_int_t)edge_to(key), "stimulus", stimulus_name((uint8_t)key),
                                 "visits", (json_int_t)g->edges.item[i].rows);
        json_array_append_new(edges, iw_got(edge));
    }
    json_t *all =
        iw_got(json_pack("{s:i, s:o, s:o}", "schema", 1, "states", states, "edges", edges));
    json_dumpf(all, f, JSON_INDENT(1));
    fputc('\n', f);
    json_decref(all);
}

void iw_hunt_graph_write(const struct iw_hunt_graph *g, FILE *f, bool json)
{
    (json ? write_json : write_dot)(g, f);
}
