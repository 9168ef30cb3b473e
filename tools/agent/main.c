/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_endpoint.h"

#include "endpoint_options.h"
#include "standard.h"
#ifdef IW_AGENT_VERBS
#include "agent_rdma.h"
#endif

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
    const char *listen, *token_file;
    struct iw_host_port at; /* what `listen` says */
    bool no_token;
    int control_fd; /* -1: not given */
    int signal_fd;
    bool verbs;
    const char *device;
    const struct agent_backend *backend;
    const void *settings; /* the backend's */
    struct iw_reactor *reactor;
    struct iw_control_token token;
    struct agent_control_port *port;
    struct agent_session *session; /* of --control-fd */
    bool ended, interrupted /* by SIGINT */;
};

static int set_listen(void *context, const char *value, char *error, size_t room)
{
    struct program *p = context;
    p->listen = value;
    return iw_transport_parse(value, &p->at, error, room);
}

static int set_backend(void *context, const char *value, char *error, size_t room)
{
    struct program *p = context;
    p->verbs = strcmp(value, "verbs") == 0;
    return p->verbs || strcmp(value, "endpoint") == 0
               ? IW_OPTION_TAKEN
               : iw_option_wrong(error, room, "expected endpoint or verbs");
}

static void on_signal(void *context, uint32_t events)
{
    struct program *p = context;
    struct signalfd_siginfo info;
    (void)events;
    p->ended = true;
    p->interrupted =
        read(p->signal_fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGINT;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]:", 6) == 0 ||
           strncmp(address, "[::ffff:127.", 12) == 0;
}

/* Serves the client on --control-fd. Returns an exit status. */
static int open_session(struct program *p)
{
    p->session = agent_session_create(p->reactor, p->control_fd, p->backend, p->settings);
    return p->session != NULL
               ? IW_EXIT_GOOD
               : iw_complain_exit(IW_EXIT_USAGE, "--control-fd %d: not a usable socket: %s",
                                  p->control_fd, strerror(errno));
}

/* Opens the control port and prints its address. Returns an exit status. */
static int open_listener(struct program *p)
{
    char error[AGENT_ERROR + 4096], address[IW_TRANSPORT_TEXT];
    if (p->no_token && p->token_file != NULL)
        return iw_complain_exit(IW_EXIT_USAGE, "--no-token contradicts --token-file");
    if (!p->no_token && iw_control_token_find(&p->token, p->token_file, error, sizeof(error)))
        return iw_complain_exit(IW_EXIT_USAGE, "%s", error);
    int fd = iw_transport_bind(&p->at, address, error, sizeof(error));
    if (fd < 0)
        return iw_complain_exit(IW_EXIT_UNAVAILABLE, "%s", error);
    if (p->token.length == 0 && !p->no_token && !is_loopback(address)) {
        close(fd);
        return iw_complain_exit(
            IW_EXIT_USAGE,
            "--listen %.100s: other hosts can reach it: expected --token-file, a token in the "
            "environment variable " IW_CONTROL_TOKEN_ENV ", or --no-token",
            p->listen);
    }
    p->port = agent_control_port_open(p->reactor, fd, &p->token, p->backend, p->settings);
    if (p->port == NULL)
        return iw_complain_exit(IW_EXIT_TESTER, "cannot start: no memory");
    printf("control on %s\n", address);
    fflush(stdout);
    return IW_EXIT_GOOD;
}

static int serve(struct program *p)
{
    int timeout_ms = -1;
    while (!p->ended) {
        if (iw_reactor_step(p->reactor, timeout_ms))
            return IW_EXIT_TESTER;
        if (p->port != NULL)
            timeout_ms = agent_control_port_tidy(p->port);
        else if (agent_session_over(p->session))
            p->ended = true;
    }
    return p->interrupted ? IW_EXIT_INTERRUPTED : IW_EXIT_GOOD;
}

static int run(struct program *p)
{
    int signal_fd = p->signal_fd = iw_standard_signals(SIGTERM), status;
    p->reactor = iw_reactor_create();
    if (signal_fd < 0 || p->reactor == NULL ||
        iw_watch_create(p->reactor, signal_fd, EPOLLIN, on_signal, p) == NULL)
        status = iw_complain_exit(IW_EXIT_TESTER, "cannot start: %s", strerror(errno));
    else
        status = p->control_fd >= 0 ? open_session(p) : open_listener(p);
    if (status == IW_EXIT_GOOD)
        status = serve(p);
    agent_control_port_close(p->port);
    agent_session_destroy(p->session);
    iw_reactor_destroy(p->reactor);
    if (signal_fd >= 0)
        close(signal_fd);
    return status;
}

/* Returns an exit status. */
static int choose_backend(struct program *p, const struct iw_endpoint_config *endpoint)
{
    p->backend = &agent_endpoint_backend;
    p->settings = endpoint;
    if (!p->verbs)
        return p->device == NULL
                   ? IW_EXIT_GOOD
                   : iw_complain_exit(IW_EXIT_USAGE, "--device: needs --backend verbs");
#ifdef IW_AGENT_VERBS
    static struct agent_rdma_device device;
    char error[AGENT_ERROR];
    if (agent_rdma_find(p->device, &device, error))
        return iw_complain_exit(IW_EXIT_UNAVAILABLE, "%s", error);
    p->backend = agent_rdma_backend(&device);
    p->settings = &device;
    return IW_EXIT_GOOD;
#else
    return iw_complain_exit(IW_EXIT_UNAVAILABLE, "--backend verbs: not built in: librdmacm-dev or "
                                                 "libibverbs-dev was missing");
#endif
}

int main(int argc, char **argv)
{
    static const struct iw_option own[] = {
        {"listen", 0, "HOST:PORT", "where the control port listens (127.0.0.1:0)", 0,
         IW_OPTION_CALLS(set_listen)},
        {"token-file", 0, "FILE",
         "what clients must say first (or the environment: " IW_CONTROL_TOKEN_ENV ")", 0,
         IW_OPTION_KEEPS(struct program, token_file)},
        {"no-token", 0, NULL, "serve anyone, also where other hosts can reach the control port", 0,
         IW_OPTION_SETS(struct program, no_token)},
        {"control-fd", 0, "N", "serve one client on this inherited socket, then end", 0,
         IW_OPTION_COUNTS(struct program, control_fd, 0, 1 << 20)},
        {"backend", 0, "endpoint|verbs",
         "whose connections: libiwarp's (endpoint), or an RDMA device's", 0,
         IW_OPTION_CALLS(set_backend)},
        {"device", 0, "DEV", "the RDMA device for verbs (the only one)", 0,
         IW_OPTION_KEEPS(struct program, device)},
    };
    static struct iw_endpoint_options options;
    struct program p = {.listen = "127.0.0.1:0", .at = {.host = "127.0.0.1"}, .control_fd = -1};
    struct iw_program description = {
        .name = "iwarp-agent",
        .usage = "[options]",
        .summary = "Carries out verbs for a tester on this host (control protocol, JSON lines).",
        .options = own,
        .option_count = sizeof(own) / sizeof(*own),
        .context = &p};
    iw_standard_open();
    int status = iw_endpoint_options_read(&description, &options, argc, argv);
    if (status < 0) {
        status = choose_backend(&p, &options.endpoint);
        status = status == IW_EXIT_GOOD ? run(&p) : status;
    }
    return iw_standard_close("iwarp-agent", status);
}
