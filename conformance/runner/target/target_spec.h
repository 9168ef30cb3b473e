/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_TARGET_SPEC_H
#define IW_RUNNER_TARGET_SPEC_H

/* What the user asked for: a target before it is reached. */

#include "base/device.h"
#include "iwarp/quirk.h"

enum iw_target_class { IW_TARGET_BARE, IW_TARGET_RPING, IW_TARGET_AGENT };

/* What the station says in its start-up frames where a case leaves it open. */
struct iw_target_startup {
    bool crc, markers;
    uint8_t revision;
    bool enhanced;
};

/* The most options of the embedded agent that a spec brings along. */
enum { IW_TARGET_ARGUMENTS = 6, IW_TARGET_OPTIONS = 3 /* that a job adds */ };

/* What is known about a target before it is reached. Every pointer is owned. */
struct iw_target_spec {
    char *text; /* as the user gave it */
    char *name; /* of the target; fit for file names after iw_text_file_name */
    enum iw_target_class class;
    bool embedded;    /* the runner's own agent */
    char *host;       /* where the peer listens; NULL: it has no listener */
    uint16_t port;    /* 0 with `start`: the runner picks one */
    char *agent_host; /* of the control connection; NULL: none (or embedded) */
    uint16_t agent_port;
    char *token_file;      /* holds what the agent wants to hear first; NULL: see control.h */
    char *station_host;    /* where the station listens; NULL: the address that faces the peer */
    char *start;           /* shell command with {host} and {port}; NULL: somebody else starts it */
    char *ready;           /* text in a line of the command's output that says that it listens */
    bool ends_connection;  /* its program ends after each connection, by design */
    char *connect;         /* shell command that has the peer connect to {host} and {port} */
    char *ask;             /* what a person is asked to do for that, in its place */
    double connect_within; /* seconds that this may take; 0: not said */
    double longest_timer;  /* seconds that it may be silent for by right; 0: not said */
    char *version;         /* shell command that prints its version; NULL: its agent's counts */
    struct iw_device device; /* what its file says of it */
    char *inside;   /* shell command that runs {command}, this program, where the peer is */
    char *restart;  /* with `inside`: shell command that brings back what has ended there */
    char *console;  /* with `inside`: shell command that prints what it has said */
    char *coverage; /* with `inside`: file there, see iwarp-fuzz --coverage */
    char *program;  /* embedded: the agent's path */
    const char *arguments[IW_TARGET_ARGUMENTS]; /* embedded: of the agent; NULLs after them */
    struct iw_target_startup startup;           /* the station's part of the start-up ... */
    bool speaks;                                /* ... where it is said, or was found out */
    unsigned taken;                             /* embedded: bits of the keys given */
    iw_quirks quirks;                           /* that it is said to have */
    char **can; /* capabilities, refused ones with a '!' in front; ends with NULL */
};

/* Reads "embedded[,key=value...]", "tcp:HOST:PORT[,key=value...]", or the name or path of a target
 * file. `program` is the embedded agent, `folder` holds the target files that are given by name.
 * Returns the spec, which the caller frees, or NULL with one line in `error`. */
struct iw_target_spec *iw_target_parse(const char *text, const char *program, const char *folder,
                                       char *error, size_t room);
void iw_target_free(struct iw_target_spec *spec);

/* Adds a capability ("crc.off"), or refuses it. Words said first win. */
void iw_target_add(struct iw_target_spec *spec, bool can, const char *capability);
/* Adds a quirk by its name ("terminate-reversed"). Returns false, with those that there are in
 * `error`, if there is none of that name. */
bool iw_target_add_quirk(struct iw_target_spec *spec, const char *name, char *error, size_t room);
/* Add the answers about CRC and Markers ("on", "off") and the revision ("1", "2") in terms of
 * capabilities. Each returns false if the value is none of them. */
bool iw_target_add_crc(struct iw_target_spec *spec, const char *value);
bool iw_target_add_markers(struct iw_target_spec *spec, const char *value);
bool iw_target_add_revision(struct iw_target_spec *spec, const char *value);
/* Finds the class of a name ("bare", "rping", "agent"). Returns false, leaving *out, if there is
 * none. */
bool iw_target_class_find(const char *name, enum iw_target_class *out);
/* Returns the name of a class. */
const char *iw_target_class_name(enum iw_target_class class);

/* Returns the seconds until a peer that was made to connect is given up: as said, or 10, or 120 for
 * a person. */
double iw_target_connect_within(const struct iw_target_spec *spec);
/* Returns why nobody is there to do what a target asks a person for, in one line, or NULL. */
const char *iw_target_unattended(const struct iw_target_spec *spec);

/* target_embedded.c: one "key=value" of an embedded spec. Returns what was expected, or NULL if it
 * is good. */
const char *iw_target_take_embedded(struct iw_target_spec *spec, const char *key,
                                    const char *value);

/* target_file.c: reads a spec from a Lua table. Returns as iw_target_parse. */
struct iw_target_spec *iw_target_read(const char *path, char *error, size_t room);

#endif
