/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-peer: the reference stack as a program. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "host/complain.h"
#include "host/offers.h"
#include "iwarp/quirk.h"
#include "peer_program.h"
#include "standard.h"

enum { LARGEST_MESSAGE = 1024 * 1024, SMALLEST_RPING = 23, LONGEST_LINE = 200, MANY = 1024 };

/* ---- the command line ---- */

static int set_personality(void *context, const char *value, char *error, size_t room)
{
    struct peer *p = context;
    p->personality = strcmp(value, peer_rping.name) == 0 ? &peer_rping : &peer_echo;
    return strcmp(value, p->personality->name) == 0
               ? IW_OPTION_TAKEN
               : iw_option_wrong(error, room, "expected echo or rping");
}

static int set_trace(void *context, const char *value, char *error, size_t room)
{
    if (strcmp(value, "json") != 0)
        return iw_option_wrong(error, room, "expected json");
    ((struct peer *)context)->trace = stderr;
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as the table wants it */
static int set_stream(void *context, const char *value, char *error, size_t room)
{
    if (strlen(value) > LONGEST_LINE || strchr(value, '\n') != NULL)
        return iw_option_wrong(error, room, "expected one line of at most %d octets", LONGEST_LINE);
    ((struct peer *)context)->stream = value;
    return 0;
}

#define COUNT(member, least, most) IW_OPTION_COUNTS(struct peer, member, least, most)

static const struct iw_option own_options[] = {
    {"personality", 0, "echo|rping", "(default echo)", 0, IW_OPTION_CALLS(set_personality)},
    {"count", 0, "N", "exchanges of a connecting peer (default 5)", 0, COUNT(count, 1, UINT32_MAX)},
    {"size", 0, "OCTETS",
     "of a connecting peer's messages (default 64), of a listening\n"
     "echo's buffers (default 16384); 1 to 1048576",
     0, COUNT(size, 1, LARGEST_MESSAGE)},
    {"verify", 0, NULL, "rping: compare the data", 0, IW_OPTION_SETS(struct peer, verify)},
    {"once", 0, NULL, "listening: end after the first connection", 0,
     IW_OPTION_SETS(struct peer, once)},
    {"buffers", 0, "N",
     "receives that a listening echo posts (default 64; 4 if --limit is\n"
     "above 1024)",
     0, COUNT(buffers, 1, 4096)},
    {"limit", 0, "N", "connections at once, of each thread; more wait (default 128)", 0,
     COUNT(limit, 1, 65536)},
    {"threads", 0, "N", "listening: threads that share the connections out (default 1; 1 to 64)", 0,
     COUNT(threads, 1, 64)},
    {"stream", 0, "TEXT", "streaming mode first: a line from the connecting peer, one in return", 0,
     IW_OPTION_CALLS(set_stream)},
    {"trace", 0, "json", "one JSON line per frame, fault and state to stderr", 0,
     IW_OPTION_CALLS(set_trace)},
    {"trace-file", 0, "FILE", "write the trace there", 0, IW_OPTION_KEEPS(struct peer, trace_path)},
};

/* Returns what is wrong with options that are right one by one, NULL: nothing. */
static const char *contradiction(const struct peer *p)
{
    bool rping = p->personality == &peer_rping;
    if (!p->listens && p->address.port == 0)
        return "connect needs a port above 0";
    if (rping && p->size > 0 && p->size < SMALLEST_RPING)
        return "--size: rping needs at least 23 octets";
    if (p->verify && !rping)
        return "--verify: only with --personality rping";
    if (!p->listens && (p->once || p->limit > 0))
        return "--once and --limit: only for a listening peer";
    if (p->threads > 1 && (!p->listens || p->once))
        return "--threads: only for a listening peer, and not with --once";
    return NULL;
}

static void offer_operand(const struct iw_offers *to, size_t operand)
{
    if (operand > 0)
        return;
    iw_offer(to, "listen", "wait for connections at HOST:PORT");
    iw_offer(to, "connect", "to HOST:PORT");
}

/* Returns -1 to go on, else the exit status. */
static int read_command_line(struct peer *p, int argc, char **argv)
{
    static const char *const expected[] = {"listen or connect", "HOST:PORT"};
    const char *operands[2];
    char error[400];
    struct iw_program program = {
        .name = "iwarp-peer",
        .usage = "listen|connect HOST:PORT [OPTION...]",
        .summary = "A strict user-space iWARP peer on TCP; port 0 lets the system choose.",
        .options = own_options,
        .option_count = sizeof(own_options) / sizeof(*own_options),
        .context = p,
        .operands = operands,
        .expected = expected,
        .operand_count = 2,
        .offer = offer_operand};
    int status = iw_endpoint_options_read(&program, &p->options, argc, argv);
    if (status >= 0)
        return status;
    p->listens = strcmp(operands[0], "listen") == 0;
    if (!p->listens && strcmp(operands[0], "connect") != 0)
        return iw_complain_exit(IW_EXIT_USAGE, "expected listen or connect, not \"%.100s\"",
                                operands[0]);
    if (iw_transport_parse(operands[1], &p->address, error, sizeof(error)))
        return iw_complain_exit(IW_EXIT_USAGE, "%s", error);
    const char *wrong = contradiction(p);
    if (wrong != NULL)
        return iw_complain_exit(IW_EXIT_USAGE, "%s", wrong);
    if (p->trace_path != NULL && (p->trace = fopen(p->trace_path, "w")) == NULL)
        return iw_complain_exit(IW_EXIT_OUTPUT, "--trace-file: cannot write \"%s\": %s",
                                p->trace_path, strerror(errno));
    if (p->size == 0)
        p->size = p->listens ? 16384 : 64;
    if (p->buffers == 0)
        p->buffers = p->limit > MANY ? 4 : 64;
    if (p->limit == 0)
        p->limit = 128;
    /* Queues no longer than the personalities need them: see --limit in the manual. */
    struct iw_endpoint_config *config = &p->options.endpoint;
    config->max_sge = 1;
    config->recv_depth = config->send_depth = p->buffers < 4 ? 4 : (uint32_t)p->buffers;
    if (!iw_switch_any(&p->options.switches))
        config->switches = NULL;
    config->role = p->listens ? IW_MPA_RESPONDER : IW_MPA_INITIATOR;
    return -1;
}

/* ---- connections ---- */

static void report(struct peer_connection *pc, const char *format, va_list arguments)
{
    char text[300], remote[IW_TRANSPORT_TEXT] = "-";
    vsnprintf(text, sizeof(text), format, arguments);
    if (pc->c != NULL)
        iw_connection_remote(pc->c, remote);
    iw_complain("connection %u with %s: %s", pc->tracer.connection, remote, text);
    pc->failed = true;
}

void peer_fail(struct peer_connection *pc, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report(pc, format, arguments);
    va_end(arguments);
}

void peer_abort(struct peer_connection *pc, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report(pc, format, arguments);
    va_end(arguments);
    iw_endpoint_abort(pc->ep, false, 0, iw_transport_now());
}

static bool posted(struct peer_connection *pc, int result)
{
    if (result == IW_ERR_FULL || result == IW_ERR_ARGUMENT)
        peer_abort(pc, "the endpoint refuses a work request%s",
                   result == IW_ERR_FULL ? ": too many are outstanding" : "");
    return result == IW_OK;
}

bool peer_post(struct peer_connection *pc, const struct iw_work *work)
{
    return posted(pc, iw_endpoint_post(pc->ep, work, iw_transport_now()));
}

void peer_send(struct peer_connection *pc, void *octets, size_t length)
{
    struct iw_iov sge = {octets, length};
    struct iw_work work = {.opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
    peer_post(pc, &work);
}

bool peer_post_recv(struct peer_connection *pc, uint64_t id, void *buffer, size_t length)
{
    struct iw_iov sge = {buffer, length};
    return posted(pc, iw_endpoint_post_recv(pc->ep, id, &sge, 1));
}

void peer_done(struct peer_connection *pc)
{
    pc->done = true;
    iw_endpoint_shutdown(pc->ep, iw_transport_now());
}

static void peer_terminated(struct peer_connection *pc, const struct iw_event *event)
{
    const struct iw_rdmap_terminate *t = &event->terminate;
    const struct iw_rdmap_terminate *meant = &event->meant;

    if (event->terminate_reversed)
        peer_fail(pc, "Terminate %u/%u/%02x from the peer (%s: it says %u/%u/%02x): %s",
                  meant->layer, meant->etype, meant->code,
                  iw_quirk_text(IW_QUIRK_TERMINATE_REVERSED), t->layer, t->etype, t->code,
                  iw_wire_term_name(meant->layer, meant->etype, meant->code));
    else
        peer_fail(pc, "Terminate %u/%u/%02x from the peer: %s", t->layer, t->etype, t->code,
                  iw_wire_term_name(t->layer, t->etype, t->code));
}

static void peer_faulted(struct peer_connection *pc, const struct iw_fault *fault)
{
    const struct iw_check_info *info = iw_check_info(fault->check);
    const struct iw_rule *rule = iw_check_rule(fault->check);
    enum iw_quirk quirk = peer_beginning_quirk(iw_connection_tapped(pc->c));

    if (quirk == IW_QUIRK_COUNT)
        quirk = iw_quirk_in_fault(fault);

    peer_fail(pc, "fault %s (%s) at octet %llu: %s%s%s", info->name, rule != NULL ? rule->id : "-",
              (unsigned long long)fault->pos, info->text, quirk != IW_QUIRK_COUNT ? ": " : "",
              quirk != IW_QUIRK_COUNT ? iw_quirk_text(quirk) : "");
}

static void handle_event(struct peer_connection *pc, const struct iw_event *event)
{
    const struct peer *p = pc->peer;
    switch (event->kind) {
    case IW_EVENT_REQUEST:
        if (iw_endpoint_accept(pc->ep, p->options.private_data, p->options.private_length,
                               iw_transport_now()) == IW_ERR_ARGUMENT)
            peer_abort(pc, "the Reply has no room for the private data");
        break;
    case IW_EVENT_ESTABLISHED:
        pc->was_established = true;
        if (!p->listens)
            p->personality->begin(pc);
        break;
    case IW_EVENT_REJECTED:
        peer_fail(pc, "rejected by the peer");
        break;
    case IW_EVENT_FAULT:
        peer_faulted(pc, &event->fault);
        break;
    case IW_EVENT_TERMINATED:
        peer_terminated(pc, event);
        break;
    case IW_EVENT_PEER_CLOSED:
        iw_endpoint_shutdown(pc->ep, iw_transport_now());
        break;
    case IW_EVENT_CLOSED:
        pc->cause = event->cause;
        break;
    case IW_EVENT_NONE:
        break;
    }
}

static void connection_ready(void *context, struct iw_connection *c)
{
    struct peer_connection *pc = context;
    const struct peer *p = pc->peer;
    struct iw_event event;
    struct iw_completion done;
    (void)c;
    while (iw_endpoint_event(pc->ep, &event))
        handle_event(pc, &event);
    while (iw_endpoint_poll(pc->ep, &done, 1) == 1)
        if (done.status == IW_STATUS_OK)
            p->personality->completed[p->listens](pc, &done);
}

void peer_forget(struct peer_connection *pc)
{
    LIST_REMOVE(pc, entry);
    atomic_fetch_sub(&pc->peer->living, 1);
    pc->peer->personality->close(pc);
    free(pc);
}

static const char *why_it_ended(const struct peer_connection *pc)
{
    if (!pc->was_established)
        return pc->peer->listens ? "no start-up took place" : "cannot connect";
    if (pc->cause == IW_CAUSE_GRACEFUL)
        return "the peer closed the connection before everything was done";
    return pc->cause == IW_CAUSE_TIMEOUT ? "the peer did not close the connection in time"
                                         : "the connection was lost";
}

static void connection_ended(void *context, struct iw_connection *c)
{
    struct peer_connection *pc = context;
    struct peer *p = pc->peer;
    int error = iw_connection_error(c);
    bool good = pc->cause == IW_CAUSE_GRACEFUL && pc->was_established && (p->listens || pc->done);
    if (!good && !pc->failed)
        peer_fail(pc, "%s%s%s", why_it_ended(pc), error ? ": " : "", error ? strerror(error) : "");
    if (!p->listens || p->once) {
        p->stopping = true;
        if (!good)
            p->status = pc->was_established || p->listens ? IW_EXIT_FAILURE : IW_EXIT_UNREACHED;
    }
    peer_forget(pc);
}

static const struct iw_connection_ops connection_ops = {.ready = connection_ready,
                                                        .ended = connection_ended};

/* Sends the streamed line. RFC 5044 §7.1.3: the connecting peer asks, the other's answer is the
 * last streamed octets. */
static void say(struct peer_connection *pc)
{
    const char *text = pc->peer->stream;
    if (iw_connection_stream(pc->c, text, strlen(text)) || iw_connection_stream(pc->c, "\n", 1))
        peer_abort(pc, "no memory for a line");
}

static size_t connection_stream(void *context, struct iw_connection *c, const uint8_t *octets,
                                size_t length)
{
    struct peer_connection *pc = context;
    const uint8_t *end = memchr(octets, '\n', length);
    pc->line_length += end != NULL ? (size_t)(end - octets) : length;
    if (pc->line_length > LONGEST_LINE) {
        peer_abort(pc, "the line before MPA is longer than %d octets", LONGEST_LINE);
        return length;
    }
    if (end == NULL)
        return length;
    if (pc->peer->listens)
        say(pc);
    iw_connection_start(c);
    return (size_t)(end - octets) + 1;
}

static const struct iw_connection_ops stream_ops = {
    .ready = connection_ready, .ended = connection_ended, .stream = connection_stream};

static struct peer_connection *new_connection(struct peer *p, struct iw_endpoint_config *config)
{
    struct peer_connection *pc = calloc(1, sizeof(*pc));
    if (pc == NULL)
        return NULL;
    pc->peer = p;
    pc->tracer = (struct iw_tracer){.out = p->trace,
                                    .connection = p->made++ * (unsigned)p->threads + p->number};
    atomic_fetch_add(&p->living, 1);
    if (p->trace != NULL) {
        config->trace = iw_trace_json;
        config->trace_context = &pc->tracer;
    }
    LIST_INSERT_HEAD(&p->connections, pc, entry);
    return pc;
}

static void configure(void *context, struct iw_endpoint_config *config)
{
    struct peer *p = context;
    if (p->coming != NULL) /* the one before it found no memory */
        peer_forget(p->coming);
    p->coming = new_connection(p, config);
}

static bool open_connection(struct peer_connection *pc, struct iw_connection *c)
{
    pc->c = c;
    pc->ep = iw_connection_endpoint(c);
    iw_connection_set_context(c, pc);
    if (!pc->peer->personality->open(pc))
        return true;
    peer_fail(pc, "no memory for its buffers");
    return false;
}

static bool accepted(void *context, struct iw_connection *c)
{
    struct peer *p = context;
    struct peer_connection *pc = p->coming;
    p->coming = NULL;
    if (pc == NULL)
        return false;
    bool good = open_connection(pc, c);
    if (!good)
        peer_forget(pc);
    else if (p->once)
        iw_listener_destroy(p->listener);
    return good;
}

/* ---- the program ---- */

static int start_listening(struct peer *p)
{
    char error[400], text[IW_TRANSPORT_TEXT];
    struct iw_listener_config config = {.domain = p->domain,
                                        .endpoint = p->options.endpoint,
                                        .ops = p->stream != NULL ? stream_ops : connection_ops,
                                        .configure = configure,
                                        .accepted = accepted,
                                        .context = p,
                                        .limit = (unsigned)p->limit,
                                        .shared = p->threads > 1,
                                        .defer = true};
    p->listener = iw_transport_listen(p->reactor, &p->address, &config, error, sizeof(error));
    if (p->listener == NULL)
        return iw_complain_exit(IW_EXIT_UNAVAILABLE, "%s", error);
    p->address.port = iw_listener_port(p->listener); /* of the other threads' listeners, too */
    if (p->number > 0)
        return IW_EXIT_GOOD;
    iw_listener_address(p->listener, text);
    printf("listening on %s\n", text);
    return fflush(stdout) ? IW_EXIT_OUTPUT : IW_EXIT_GOOD; /* main reports it */
}

static int start_connecting(struct peer *p)
{
    char error[400];
    struct iw_endpoint_config config = p->options.endpoint;
    struct peer_connection *pc = new_connection(p, &config);
    struct iw_connection *c = NULL;
    if (pc != NULL)
        c = iw_transport_connect(p->reactor, p->domain, &p->address, &config,
                                 p->stream != NULL ? &stream_ops : &connection_ops, pc, error,
                                 sizeof(error));
    if (c == NULL)
        return pc != NULL ? iw_complain_exit(IW_EXIT_UNREACHED, "%s", error)
                          : iw_complain_exit(IW_EXIT_TESTER, "no memory");
    if (!open_connection(pc, c))
        return IW_EXIT_TESTER;
    if (p->stream != NULL)
        say(pc);
    return IW_EXIT_GOOD;
}

int peer_start(struct peer *p)
{
    return p->listens ? start_listening(p) : start_connecting(p);
}

/* Returns the exit status: `status`, unless lines of the trace are lost. */
static int close_trace(const struct peer *p, int status)
{
    if (p->trace_path == NULL)
        return status;
    bool lost = ferror(p->trace);
    errno = 0;
    lost |= fclose(p->trace) != 0;
    return !lost ? status
                 : iw_complain_exit(status ? status : IW_EXIT_OUTPUT,
                                    "--trace-file: cannot write \"%s\"%s%s", p->trace_path,
                                    errno ? ": " : "", errno ? strerror(errno) : "");
}

int main(int argc, char **argv)
{
    struct peer p = {.personality = &peer_echo, .count = 5, .threads = 1};
    iw_standard_open();
    int status = read_command_line(&p, argc, argv);
    if (status < 0)
        status = close_trace(&p, peer_run(&p));
    return iw_standard_close("iwarp-peer", status);
}
