/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that are started, reached, looked after and ended. */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "connect_command.h"
#include "host/address.h"
#include "host/text.h"
#include "iwarp/control.h"
#include "iwarp/transport.h"
#include "program.h"
#include "station/station_tcp.h"
#include "target_can.h"
#include "target_ends.h"
#include "target_instance.h"
#include "target_version.h"

enum { CRAFTED_PORT = 7471 };             /* of a peer in a namespace of its own */
static const double crash_seconds = 0.05; /* from the end of a program's connection to its own */

enum {
    START_SECONDS = 10,
    CONNECT_SECONDS = 5,
    LEAVE_SECONDS = 5,
    AGAIN_NS = 20000000,
    SOON_NS = 1000000
};

static uint64_t after(const struct iw_target_instance *t, double seconds)
{
    return iw_transport_now() + (uint64_t)(seconds * t->scale * 1e9);
}

/* A program starts no faster for a smaller time scale. */
static double start_seconds(const struct iw_target_instance *t)
{
    return START_SECONDS * (t->scale > 1 ? t->scale : 1);
}

static uint64_t started_by(const struct iw_target_instance *t)
{
    return iw_transport_now() + (uint64_t)(start_seconds(t) * 1e9);
}

/* Where to read what its commands have printed, to be put after a message; "" if they printed
 * nothing. */
static const char *its_output(const struct iw_target_instance *t)
{
    struct stat at;
    return t->log != NULL && !stat(t->log, &at) && at.st_size > 0 ? t->its_output : "";
}

static bool can(const struct iw_target *target, const char *question)
{
    const struct iw_target_instance *t = (const struct iw_target_instance *)target;
    if (strcmp(question, "tcp.crafted") == 0)
        return target->tun;
    return iw_target_can(t->spec, t->features, question);
}

/* ---- reaching ---- */

/* Returns whether something accepts connections at host:port: once, or, if a command has just been
 * started, again until it does or the command has ended. */
static bool accepts(struct iw_target_instance *t, const char *host, uint16_t port,
                    uint64_t deadline, char *error, size_t room)
{
    bool started = t->process.pid > 0;
    struct iw_tcp tcp;
    int number;
    do {
        if (iw_tcp_connect(&tcp, host, port, 0, deadline, error, room)) {
            iw_tcp_close(&tcp);
            return true;
        }
        number = errno;
    } while (number && started && iw_transport_now() < deadline &&
             !iw_process_await_end(&t->process, iw_transport_now() + AGAIN_NS));
    if (started && *t->process.ended)
        snprintf(error, room, "%s before it accepted a connection%s", t->process.ended,
                 its_output(t));
    else if (number)
        snprintf(error, room, "no connection with %s port %u: %s", host, port, strerror(number));
    return false;
}

/* The local address of a route to the peer. */
static void find_station_host(struct iw_target_instance *t)
{
    struct sockaddr_storage own;
    socklen_t length = sizeof(own);
    char error[160];
    struct addrinfo *list = iw_address_resolve(t->target.host, t->target.port ? t->target.port : 1,
                                               false, error, sizeof(error));
    int fd = list != NULL ? socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    snprintf(t->station_host, sizeof(t->station_host), "127.0.0.1");
    if (fd >= 0) {
        if (!connect(fd, list->ai_addr, list->ai_addrlen) &&
            !getsockname(fd, (struct sockaddr *)&own, &length))
            getnameinfo((struct sockaddr *)&own, length, t->station_host, sizeof(t->station_host),
                        NULL, 0, NI_NUMERICHOST);
        close(fd);
    }
    if (list != NULL)
        freeaddrinfo(list);
    t->target.station_host = t->station_host;
}

static bool can_bind(const char *host, uint16_t port)
{
    char error[160];
    struct addrinfo *list = iw_address_resolve(host, port, false, error, sizeof(error));
    const int on = true;
    if (list == NULL)
        return false;
    int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
                 !bind(fd, list->ai_addr, list->ai_addrlen);
    if (fd >= 0)
        close(fd);
    freeaddrinfo(list);
    return bound;
}

enum { LOWEST_PORT = 10240, PORTS = 32768 - LOWEST_PORT, PORT_TRIES = 100 };

/* A port that is free now and that the system gives to no outgoing connection before the command
 * has bound it: one below Linux's range of ephemeral ports (32768 and up). 0, or -1. */
static int free_port(const char *host, uint16_t *port)
{
    for (int i = 0; i < PORT_TRIES; i++) {
        uint16_t number;
        if (getrandom(&number, sizeof(number), 0) != sizeof(number))
            return -1;
        number = (uint16_t)(LOWEST_PORT + number % PORTS);
        if (can_bind(host, number)) {
            *port = number;
            return 0;
        }
    }
    return -1;
}

static int initiate(struct iw_target *target, const char *host, uint16_t port, char *error,
                    size_t room)
{
    struct iw_target_instance *t = (struct iw_target_instance *)target;
    return iw_connect_start(&t->connect, t->target.tun, host, port, t->log, error, room);
}

/* Why no connection will come any more, or why none has come within the time for it. */
static const char *not_called(struct iw_target *target, bool late)
{
    struct iw_target_instance *t = (struct iw_target_instance *)target;
    bool failed;
    const char *how = iw_connect_ended(&t->connect, &failed);
    if (!late && !failed)
        return NULL;
    if (!late)
        snprintf(t->why, sizeof(t->why), "its command (%s) made no connection%s", how,
                 its_output(t));
    else
        snprintf(t->why, sizeof(t->why), "nothing connected within %g s%s%s%s",
                 t->target.connect_within * t->scale,
                 t->connect.command != NULL ? "; its command " : "",
                 t->connect.command == NULL ? ""
                 : how != NULL              ? "ended: "
                                            : "is still running",
                 how != NULL ? how : "");
    return t->why;
}

/* When to look again at what began then: looks later by a quarter of what it takes, at most. */
static uint64_t soon_after(uint64_t began)
{
    uint64_t now = iw_transport_now(), pause = (now - began) / 4;
    pause = pause > SOON_NS ? pause : SOON_NS;
    return now + (pause < AGAIN_NS ? pause : AGAIN_NS);
}

/* Of one that must not lose its only connection to a look. */
static bool listens(const struct iw_target_instance *t)
{
    return iw_program_listens(t->process.pid, t->target.port);
}

enum iw_target_opened iw_target_start_peer(struct iw_target_instance *t, char *error, size_t room)
{
    const struct iw_target_spec *spec = t->spec;
    const char *host = t->target.host != NULL ? t->target.host : "127.0.0.1";
    if (t->target.tun != NULL && !t->target.port)
        t->target.port = CRAFTED_PORT;
    if (spec->host != NULL && !t->target.port && free_port(host, &t->target.port)) {
        snprintf(error, room, "no free port on %s", host);
        return IW_TARGET_BROKEN;
    }
    if (iw_connect_shell(&t->process, t->target.tun, spec->start, host, t->target.port, t->log,
                         error, room))
        return IW_TARGET_BROKEN;
    const char *ready = spec->ready;
    if (ready == NULL && !spec->ends_connection)
        return IW_TARGET_OPENED;
    uint64_t began = iw_transport_now(), deadline = started_by(t);
    while (ready != NULL ? !iw_process_said(&t->process, ready) : !listens(t)) {
        bool over = iw_process_await_end(&t->process, soon_after(began));
        if (over) {
            snprintf(error, room, "%s before it %s%s%s", t->process.ended,
                     ready != NULL ? "printed '" : "listened", ready != NULL ? ready : "",
                     ready != NULL ? "'" : "");
            return IW_TARGET_UNREACHED;
        }
        if (iw_transport_now() >= deadline) {
            snprintf(error, room, "the command did not %s%s%s within %g s",
                     ready != NULL ? "print '" : "listen", ready != NULL ? ready : "",
                     ready != NULL ? "'" : "", start_seconds(t));
            return IW_TARGET_UNREACHED;
        }
    }
    return IW_TARGET_OPENED;
}

/* ---- agents ---- */

static int start_agent(struct iw_target_instance *t, const char *options, char *error, size_t room)
{
    char number[16];
    const char *argv[3 + IW_TARGET_ARGUMENTS + IW_TARGET_OPTIONS + 1] = {t->spec->program,
                                                                         "--control-fd", number};
    size_t n = 3;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
        snprintf(error, room, "no socket pair: %s", strerror(errno));
        return -1;
    }
    for (size_t i = 0; i < IW_TARGET_ARGUMENTS && t->spec->arguments[i] != NULL; i++)
        argv[n++] = t->spec->arguments[i];
    char *words = iw_text_copy(options), *rest = words;
    for (size_t i = 0; i < IW_TARGET_OPTIONS && rest != NULL; i++)
        argv[n++] = strsep(&rest, " ");
    snprintf(number, sizeof(number), "%d", pair[1]);
    int status = iw_process_start(&t->process, t->target.tun, (char *const *)argv, pair[1], false,
                                  t->log, error, room);
    free(words);
    close(pair[1]);
    if (status)
        close(pair[0]);
    else
        t->target.control = iw_got(iw_control_adopt(pair[0]));
    return status;
}

/* Also finds out whether somebody else is being served. */
static int say_hello(struct iw_target_instance *t, char *error, size_t room)
{
    uint64_t deadline = started_by(t);
    json_t *reply = iw_control_call(t->target.control, iw_got(json_pack("{s:s}", "do", "hello")),
                                    deadline, error, room);
    const char *version = json_string_value(json_object_get(reply, "version"));
    const char *why = json_string_value(json_object_get(reply, "error"));
    if (reply == NULL)
        return -1;
    if (why != NULL)
        snprintf(error, room, "the agent refuses: %s", why);
    t->version = iw_text_clean(version);
    t->features = json_incref(json_object_get(reply, "features"));
    t->device = json_incref(json_object_get(reply, "device"));
    json_decref(reply);
    return why != NULL ? -1 : 0;
}

/* Connects to an agent, and greets it. One that we have started may still be busy with the
 * connection that looked whether it listens: then once more. */
static bool call_agent(struct iw_target_instance *t, const struct iw_control_token *token,
                       char *error, size_t room)
{
    const struct iw_target_spec *spec = t->spec;
    uint64_t deadline = started_by(t);
    char why[256];
    do {
        iw_control_close(t->target.control);
        t->target.control = iw_control_connect(spec->agent_host, spec->agent_port, token,
                                               after(t, CONNECT_SECONDS), why, sizeof(why));
        if (t->target.control == NULL) {
            snprintf(error, room, "no agent at %s port %u: %s", spec->agent_host, spec->agent_port,
                     why);
            return false;
        }
        if (!say_hello(t, error, room))
            return true;
    } while (spec->start != NULL && strstr(error, ": busy: ") != NULL &&
             iw_transport_now() < deadline &&
             !iw_process_await_end(&t->process, iw_transport_now() + AGAIN_NS));
    return false;
}

static enum iw_target_opened open_agent(struct iw_target_instance *t, const char *option,
                                        char *error, size_t room)
{
    const struct iw_target_spec *spec = t->spec;
    if (spec->embedded) {
        if (start_agent(t, option, error, room))
            return IW_TARGET_BROKEN;
        if (!say_hello(t, error, room))
            return IW_TARGET_OPENED;
    } else {
        struct iw_control_token token;
        if (iw_control_token_find(&token, spec->token_file, error, room))
            return IW_TARGET_BROKEN;
        if (spec->start != NULL &&
            !accepts(t, spec->agent_host, spec->agent_port, started_by(t), error, room))
            return IW_TARGET_UNREACHED;
        if (call_agent(t, &token, error, room))
            return IW_TARGET_OPENED;
        if (t->target.control == NULL)
            return IW_TARGET_UNREACHED;
    }
    if (iw_process_await_end(&t->process, iw_control_lost(t->target.control)
                                              ? after(t, LEAVE_SECONDS)
                                              : IW_PROCESS_AT_ONCE) &&
        *t->process.ended)
        snprintf(error, room, "%s%s", t->process.ended, its_output(t));
    return spec->embedded ? IW_TARGET_BROKEN : IW_TARGET_UNREACHED;
}

/* ---- instances ---- */

static const char *death(struct iw_target *target)
{
    struct iw_target_instance *t = (struct iw_target_instance *)target;
    bool lost = t->target.control != NULL && iw_control_lost(t->target.control);
    /* An agent whose connection is gone is ending: a report of a sanitizer takes its time. */
    iw_process_await_end(&t->process, lost ? after(t, LEAVE_SECONDS) : IW_PROCESS_AT_ONCE);
    if (*t->process.ended && (!t->spec->ends_connection || t->process.crashed))
        return t->process.ended;
    const char *how = iw_connect_crashed(&t->connect, IW_PROCESS_AT_ONCE);
    if (how != NULL)
        snprintf(t->why, sizeof(t->why), "%s", how);
    return how != NULL ? t->why : NULL;
}

static enum iw_target_opened reach(struct iw_target_instance *t, const char *option, char *error,
                                   size_t room)
{
    const struct iw_target_spec *spec = t->spec;
    if (spec->start != NULL) {
        enum iw_target_opened started = iw_target_start_peer(t, error, room);
        if (started != IW_TARGET_OPENED)
            return started;
    }
    if (spec->class == IW_TARGET_AGENT)
        return open_agent(t, option, error, room);
    /* A peer that takes one connection only must not lose it to a look. */
    if (t->target.port && can(&t->target, "reconnect") && spec->ready == NULL &&
        !accepts(t, t->target.host, t->target.port,
                 spec->start != NULL ? started_by(t) : after(t, CONNECT_SECONDS), error, room))
        return IW_TARGET_UNREACHED;
    return IW_TARGET_OPENED;
}

/* Finds the program of a start command, as soon as it listens. */
static void look_at_program(struct iw_target_instance *t)
{
    const struct iw_target_spec *spec = t->spec;
    if (spec->start != NULL && t->process.program == 0)
        iw_process_look_at(&t->process,
                           spec->class == IW_TARGET_AGENT ? spec->agent_port : t->target.port);
}

enum iw_target_opened iw_target_open(const struct iw_target_spec *spec, const char *option,
                                     const char *log, double time_scale,
                                     struct iw_target_instance **out, char *error, size_t room)
{
    return iw_target_open_crafted(spec, option, log, time_scale, NULL, out, error, room);
}

const char *iw_target_uncraftable(const struct iw_target_spec *spec)
{
    bool said = false;
    if (spec->embedded)
        return NULL;
    for (char **can = spec->can; can != NULL && *can != NULL; can++)
        said = said || strcmp(*can, "tcp.crafted") == 0;
    bool ours =
        spec->start != NULL ? spec->ready != NULL : spec->connect != NULL && spec->host == NULL;
    if (!ours || spec->agent_host != NULL)
        return "this target is not started by the runner in a namespace of its own";
    return said ? NULL : "its file does not say can = { \"tcp.crafted\" }";
}

enum iw_target_opened iw_target_open_crafted(const struct iw_target_spec *spec, const char *option,
                                             const char *log, double time_scale, struct iw_tun *tun,
                                             struct iw_target_instance **out, char *error,
                                             size_t room)
{
    struct iw_target_instance *t = iw_got(calloc(1, sizeof(*t)));
    char trouble[256];
    t->spec = spec;
    t->scale = time_scale > 0 ? time_scale : 1;
    t->log = iw_text_copy(log);
    t->its_output = iw_text_format("; its output: %s", log != NULL ? log : "");
    t->process.pidfd = -1;
    t->connect = (struct iw_connect){.command = spec->connect,
                                     .ask = spec->ask,
                                     .within = iw_target_connect_within(spec) * t->scale};
    t->target = (struct iw_target){
        .name = spec->name,
        .class = spec->class,
        .host = spec->host != NULL ? spec->host : spec->agent_host,
        .port = spec->class == IW_TARGET_AGENT ? 0 : spec->port,
        .station_host = spec->station_host,
        .quirks = spec->quirks,
        .startup = spec->taken || spec->speaks ? &spec->startup : NULL,
        .can = can,
        .initiate = spec->connect != NULL || spec->ask != NULL ? initiate : NULL,
        .not_called = spec->connect != NULL || spec->ask != NULL ? not_called : NULL,
        .connect_within = iw_target_connect_within(spec),
        .longest_timer = spec->longest_timer,
        .embedded = spec->embedded,
        .death = spec->embedded || spec->start != NULL || spec->connect != NULL ? death : NULL,
        .tun = tun,
        .renew = spec->ends_connection ? iw_target_renew : NULL,
    };
    if (tun != NULL) {
        t->target.host = IW_TUN_TARGET;
        t->target.station_host = IW_TUN_STATION;
    }
    if (t->target.host == NULL)
        t->target.host = "127.0.0.1";
    enum iw_target_opened opened = reach(t, option, error, room);
    if (opened == IW_TARGET_OPENED && spec->version != NULL) {
        free(t->version);
        t->version = iw_target_ask_version(spec->version, START_SECONDS * t->scale, error, room);
        opened = t->version != NULL ? opened : IW_TARGET_BROKEN;
    }
    if (opened != IW_TARGET_OPENED) {
        iw_target_close(t, trouble, sizeof(trouble));
        return opened;
    }
    if (t->target.station_host == NULL)
        find_station_host(t);
    look_at_program(t);
    *out = t;
    return IW_TARGET_OPENED;
}

struct iw_target *iw_target_of(struct iw_target_instance *instance)
{
    return &instance->target;
}

const char *iw_target_version(const struct iw_target_instance *instance)
{
    return instance->version;
}

const json_t *iw_target_device(const struct iw_target_instance *instance)
{
    return instance->device;
}

pid_t iw_target_group(const struct iw_target_instance *instance)
{
    return instance->process.pid;
}

const char *iw_target_program(const struct iw_target_instance *t)
{
    return t->process.program > 0 ? t->process.called
           : t->process.pid > 0   ? t->process.name
                                  : "the target";
}

bool iw_target_calling(struct iw_target_instance *t)
{
    bool failed;
    return t->connect.count && iw_connect_ended(&t->connect, &failed) == NULL;
}

const char *iw_target_check(struct iw_target_instance *t, char *trouble, size_t room)
{
    *trouble = 0;
    look_at_program(t);
    /* A program that crashes has ended a moment after its connection. */
    iw_connect_crashed(&t->connect, after(t, crash_seconds));
    iw_target_await_end(t);
    const char *how = t->target.death != NULL ? t->target.death(&t->target) : NULL;
    iw_connect_stop(&t->connect, trouble, room);
    if (!*trouble && iw_process_trouble(&t->process, trouble, room) && how == NULL &&
        t->target.death != NULL)
        how = t->target.death(&t->target); /* it has ended since, with its report */
    if (how == NULL && t->target.control != NULL && iw_control_lost(t->target.control))
        return "the connection with the agent is broken";
    return how;
}

void iw_target_close(struct iw_target_instance *t, char *trouble, size_t room)
{
    *trouble = 0;
    iw_connect_stop(&t->connect, trouble, room);
    iw_control_close(t->target.control);
    /* Our own agent ends when its connection does, and may have leaks to report. */
    iw_process_stop(&t->process, t->spec->embedded ? LEAVE_SECONDS * t->scale : IW_PROCESS_AT_ONCE);
    if (!*trouble)
        iw_process_trouble(&t->process, trouble, room);
    iw_process_free(&t->process);
    json_decref(t->features);
    json_decref(t->device);
    free(t->version);
    free(t->log);
    free(t->its_output);
    free(t);
}
