/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_TRACE_H
#define IW_HUNT_TRACE_H

/*
 * A peer's answers on one connection, as a row of response codes, and the graph of states that all
 * rows form together. A state is a code and how often it has come on the connection (1, 2, 3, 4 to
 * 7, 8 to 15, more); an edge leads from one to the next and has the stimulus: the last thing the
 * fuzzer sent before the answer. A row with a new state or edge is worth keeping.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum iw_hunt_answer {
    IW_ANSWER_NONE,      /* where every connection begins */
    IW_ANSWER_STARTUP,   /* detail: flags << 16, revision << 8, A to D of RFC 6581,
                            0x10 for a Request */
    IW_ANSWER_MESSAGE,   /* detail: opcode */
    IW_ANSWER_TERMINATE, /* detail: layer << 16, type << 8, code */
    IW_ANSWER_LOST,      /* octets that are no FPDU */
    IW_ANSWER_FIN,
    IW_ANSWER_RESET,
    IW_ANSWER_REFUSED, /* no connection */
    IW_ANSWER_SILENCE  /* no end came in time after the fuzzer's FIN */
};

/* The last thing the fuzzer sent: an opcode of a regular FPDU, or one of these. */
enum iw_hunt_stimulus {
    IW_SAID_NOTHING = 16,
    IW_SAID_REQUEST,
    IW_SAID_OCTETS, /* that are no regular FPDU */
    IW_SAID_FIN,
    IW_SAID_REPLY
};

struct iw_hunt_row {
    struct {
        uint32_t code;    /* answer << 24, detail */
        uint8_t stimulus; /* enum iw_hunt_stimulus, or an opcode */
    } at[64];
    size_t n;
};

void iw_hunt_row_add(struct iw_hunt_row *row, enum iw_hunt_answer answer, uint32_t detail,
                     uint8_t stimulus);
/* "reply rev 2 C S", "send", "terminate 1/1/01", "fin" ... */
void iw_hunt_code_print(uint32_t code, char *text, size_t room);

struct iw_hunt_graph;
/* Returns an empty graph. Release it with free(). */
struct iw_hunt_graph *iw_hunt_graph_new(void);
/* Adds a row. Returns the number of new states and edges. */
unsigned iw_hunt_graph_add(struct iw_hunt_graph *g, const struct iw_hunt_row *row);
size_t iw_hunt_graph_states(const struct iw_hunt_graph *g);
size_t iw_hunt_graph_edges(const struct iw_hunt_graph *g);
/* Returns the rarity of this row: of its edges, the smallest number of rows that any has. */
uint64_t iw_hunt_graph_rarity(const struct iw_hunt_graph *g, const struct iw_hunt_row *row);
/* Writes the graph as Graphviz, or as JSON. */
void iw_hunt_graph_write(const struct iw_hunt_graph *g, FILE *f, bool json);

#endif
