/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent.h"

#include "options.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct program {
    const char *listen;
    uint64_t control_fd;
    bool control_fd_given;
    const struct iw_endpoint_config *defaults;
    struct iw_reactor *reactor;
    struct agent_session *session;
    int listener;
    bool ended;
};

static int set_listen(void *context, const char *value, char *error, size_t room)
{
    struct program *p = context;
    struct iw_host_port at;
    p->listen = value;
    return iw_transport_parse(value, &at, error, room);
}

static int set_control_fd(void *context, const char *value, char *error, size_t room)
{
    struct program *p = context;
    p->control_fd_given = true;
    return iw_option_number(value, 0, 1 << 20, &p->control_fd, error, room);
}

static void on_signal(void *context, uint32_t events)
{
    (void)events;
    ((struct program *)context)->ended = true;
}

/* A second client is told so: one at a time. */
static void on_client(void *context, uint32_t events)
{
    static const char busy[] =
        "{\"event\":\"refused\",\"error\":\"another client is being served\"}\n";
    struct program *p = context;
    (void)events;
    int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (p->session == NULL) {
        p->session = agent_session_create(p->reactor, fd, p->defaults);
        return;
    }
    (void)send(fd, busy, sizeof busy - 1, MSG_NOSIGNAL);
    close(fd);
}

/* The control port; prints where it is. */
static int open_listener(struct program *p)
{
    struct iw_host_port at;
    char error[AGENT_ERROR], address[IW_TRANSPORT_TEXT];
    if (iw_transport_parse(p->listen, &at, error, sizeof error) != 0) {
        fprintf(stderr, "iwarp-agent: %s\n", error);
        return -1;
    }
    p->listener = iw_transport_bind(&at, address, error, sizeof error);
    if (p->listener < 0) {
        fprintf(stderr, "iwarp-agent: %s\n", error);
        return -1;
    }
    printf("control on %s\n", address);
    fflush(stdout);
    return 0;
}

static int serve(struct program *p)
{
    int status = IW_EXIT_OK;
    while (!p->ended && status == IW_EXIT_OK) {
        if (iw_reactor_step(p->reactor, -1) != 0)
            status = IW_EXIT_FAILURE;
        if (p->session != NULL && agent_session_over(p->session)) {
            agent_session_destroy(p->session);
            p->session = NULL;
            p->ended = p->ended || p->control_fd_given;
        }
    }
    return status;
}

static int run(struct program *p)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    int status = IW_EXIT_FAILURE;
    int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    p->reactor = iw_reactor_create();
    if (signal_fd < 0 || p->reactor == NULL ||
        iw_watch_create(p->reactor, signal_fd, EPOLLIN, on_signal, p) == NULL) {
        fprintf(stderr, "iwarp-agent: cannot start: %s\n", strerror(errno));
    } else if (p->control_fd_given) {
        p->session = agent_session_create(p->reactor, (int)p->control_fd, p->defaults);
        if (p->session != NULL)
            status = serve(p);
        else
            fprintf(stderr, "iwarp-agent: --control-fd %d: not a usable socket: %s\n",
                    (int)p->control_fd, strerror(errno));
    } else if (open_listener(p) != 0) {
        status = IW_EXIT_UNAVAILABLE;
    } else if (iw_watch_create(p->reactor, p->listener, EPOLLIN, on_client, p) != NULL) {
        status = serve(p);
    }
    agent_session_destroy(p->session);
    iw_reactor_destroy(p->reactor);
    if (p->listener >= 0)
        close(p->listener);
    if (signal_fd >= 0)
        close(signal_fd);
    return status;
}

int main(int argc, char **argv)
{
    static const struct iw_option own[] = {
        {"listen", "HOST:PORT", "where the control port listens (127.0.0.1:0)", set_listen},
        {"control-fd", "N", "serve one client on this inherited socket, then end", set_control_fd},
        {NULL, NULL, NULL, NULL}};
    static struct iw_options options;
    struct program p = {.listen = "127.0.0.1:0", .listener = -1};
    struct iw_program description = {
        .name = "iwarp-agent",
        .usage = "[options]",
        .summary = "Carries out verbs for a tester on this host (control protocol, JSON lines).",
        .options = own,
        .context = &p};
    int status = iw_options_parse(&description, &options, argc, argv);
    if (status >= 0)
        return status;
    p.defaults = &options.endpoint;
    return run(&p);
}
