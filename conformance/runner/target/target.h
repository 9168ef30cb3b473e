/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_TARGET_H
#define IW_RUNNER_TARGET_H

/*
 * Targets: what the user asked for (a spec, read once), and one opened peer (an instance, one for
 * each worker).
 */

#include "base/conform_case.h"
#include "base/device.h"
#include "iwarp/quirk.h"
#include "process.h"
#include "station/tun.h"

struct iw_control;
struct iw_crash;

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

/* ---- instances ---- */

/* A peer as a case sees it. Its instance keeps the fields true (a restarted agent has another
 * `control`). */
struct iw_target {
    const char *name;
    enum iw_target_class class;
    const char *host; /* where the peer's listeners are reached */
    uint16_t port;    /* bare, rping: the peer's listener; 0 if it has none. agent: unused */
    const char *station_host; /* numeric address on which the station listens for the peer */
    struct iw_tun *tun;       /* the station's way to the peer: crafted segments; NULL: sockets */
    const struct iw_target_startup *startup; /* NULL: nothing is said */
    iw_quirks quirks;                        /* that it is said to have */
    struct iw_control *control;              /* agent: the open control connection; else NULL */
    /* Whether the peer can do something: "memory.write", "crc.off", "reconnect" ... (a case's
     * `needs` joined by a point, one question a word). */
    bool (*can)(const struct iw_target *target, const char *capability);
    /* bare, rping: has the peer connect to this address of the station (runs the target file's
     * command). 0, or -1 with one line in `error`. NULL if the peer cannot. Agents get their order
     * over `control` by the case's side. */
    int (*initiate)(struct iw_target *target, const char *host, uint16_t port, char *error,
                    size_t room);
    /* After `initiate`: why no connection will come, in one line, or NULL if one still may;
     * `late`: none came within the seconds below. */
    const char *(*not_called)(struct iw_target *target, bool late);
    double connect_within;
    double longest_timer; /* seconds that it may be silent for by right; 0: nobody has said */
    bool embedded;        /* the runner's own agent */
    /* NULL while the peer's own process (if the runner started one) is alive, else one line on
     * how it ended ("iwarp-agent was killed by signal 11"). NULL function: not known. */
    const char *(*death)(struct iw_target *target);
    /* Before a connection to the peer's listener: starts a peer again that ends after each. 0, or
     * -1 with one line in `error`. NULL: that is not for this peer. */
    int (*renew)(struct iw_target *target, char *error, size_t room);
    bool refused; /* set when a connection to the peer's listener fails */
};

struct iw_target_instance; /* its first member is a struct iw_target */

enum iw_target_opened {
    IW_TARGET_OPENED,
    IW_TARGET_UNREACHED, /* the peer could not be reached, or did not start */
    IW_TARGET_BROKEN     /* this tester could not do its part */
};

/* Starts the peer if that is the runner's business, and reaches it. `option` (NULL: none) is one
 * more argument for the embedded agent, or up to IW_TARGET_OPTIONS with blanks between. Commands
 * write to the file `log` (NULL: nowhere). Returns IW_TARGET_OPENED with the instance in *out, or
 * why not, with one line in `error`. */
enum iw_target_opened iw_target_open(const struct iw_target_spec *spec, const char *option,
                                     const char *log, double time_scale,
                                     struct iw_target_instance **out, char *error, size_t room);
/* Does the same in the namespace of a TUN device (borrowed), over which the station's own segments
 * go. Returns as iw_target_open. */
enum iw_target_opened iw_target_open_crafted(const struct iw_target_spec *spec, const char *option,
                                             const char *log, double time_scale, struct iw_tun *tun,
                                             struct iw_target_instance **out, char *error,
                                             size_t room);

/* Returns why such a target cannot be reached in that way, whatever this machine permits; NULL if
 * it can. */
const char *iw_target_uncraftable(const struct iw_target_spec *spec);
/* Returns the peer of an instance, which owns it. */
struct iw_target *iw_target_of(struct iw_target_instance *instance);
/* Returns the peer's version as the command of its file says, or its agent; NULL if there is none.
 */
const char *iw_target_version(const struct iw_target_instance *instance);
/* Returns what its agent says of the device, which the instance owns; NULL if there is none. */
const json_t *iw_target_device(const struct iw_target_instance *instance);
/* Returns the process group that the runner started for it; 0: none. */
pid_t iw_target_group(const struct iw_target_instance *instance);
/* Returns the name of the program that the runner started for it, not that of its shell; "the
 * target" if it started none. */
const char *iw_target_program(const struct iw_target_instance *t);
/* Returns whether a command that was to have the peer connect still runs. */
bool iw_target_calling(struct iw_target_instance *t);
/* Between cases: ends what a case had the peer start, and looks after the peer. Returns NULL if it
 * is fit for another case, else how it ended; a line of a sanitizer's report goes to `trouble`
 * (else ""). */
const char *iw_target_check(struct iw_target_instance *t, char *trouble, size_t room);
/* Result of a control exchange: a connection and a Request of our own. */
enum iw_alive {
    IW_ALIVE_ANSWERS, /* an octet, or the end of the connection */
    IW_ALIVE_ENDED,   /* its program has ended */
    IW_ALIVE_REFUSES, /* it lives and accepts no connection, for a second */
    IW_ALIVE_SILENT   /* nothing, for as long as it may be silent */
};
/* Returns the seconds that the target may be silent for: its longest timer, at least 5. */
double iw_target_silence(const struct iw_target_spec *spec, double time_scale);
/* Returns whether iw_target_ask can be asked of it: it has an agent, or listens more than once. */
bool iw_target_askable(const struct iw_target_instance *t);
/* Makes a control exchange with it: a call of its agent, or a Request. */
enum iw_alive iw_target_ask(struct iw_target_instance *t);
/* Makes a connection with a target that was just started. Returns whether its program has ended
 * after that, other than by a fault. */
bool iw_target_ends(struct iw_target_instance *t);
/* Ends one that hangs. Returns whether it has said where it was (iw_process_abort). */
bool iw_target_abort(struct iw_target_instance *t, struct iw_crash *place);
/* Ends it. A line of a sanitizer's report that came with the end goes to `trouble` (else ""). */
void iw_target_close(struct iw_target_instance *t, char *trouble, size_t room);

/* Returns why this case cannot be run against this target, in one line, which the caller frees;
 * NULL if it can. */
char *iw_target_lacks(const struct iw_target *target, const struct iw_case *c);

#endif
