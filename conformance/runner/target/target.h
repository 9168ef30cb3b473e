/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_TARGET_H
#define IW_RUNNER_TARGET_H

/* One opened peer of a spec: an instance, one for each worker. */

#include "process.h"
#include "station/tun.h"
#include "target_spec.h"

struct iw_control;
struct iw_crash;

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
/* Makes a control exchange with it: a call of its agent, or a Request. Returns what comes of it. */
enum iw_alive iw_target_ask(struct iw_target_instance *t);
/* Makes a connection with a target that was just started. Returns whether its program has ended
 * after that, other than by a fault. */
bool iw_target_probe_end(struct iw_target_instance *t);
/* Ends one that hangs. Returns whether it has said where it was (iw_process_abort). */
bool iw_target_abort(struct iw_target_instance *t, struct iw_crash *place);
/* Ends it. A line of a sanitizer's report that came with the end goes to `trouble` (else ""). */
void iw_target_close(struct iw_target_instance *t, char *trouble, size_t room);

#endif
