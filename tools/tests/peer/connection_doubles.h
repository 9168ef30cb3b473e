/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_CONNECTION_DOUBLES_H
#define IW_TESTS_CONNECTION_DOUBLES_H

/* The transport and the endpoint under iwarp-peer's connections: their calls are noted, and
 * answered as a test wants. Include from one source of a test. */

#include "../caught.h"
#include "peer_program.h"

static char record[8192]; /* a line each */
static int result;        /* of the next call of an endpoint */
static int os_error;      /* of the connection */
static struct iw_event events[4];
static struct iw_completion completions[4];
static unsigned n_events, n_completions;
static struct iw_listener_config listening;
static struct iw_connection_ops connecting;
static struct iw_endpoint_config connect_config;
static void *connect_context, *context_set;
static bool no_transport;
static const char *no_line; /* the piece of a line that there is no memory for */

static bool no_memory;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory ? NULL : __real_calloc(count, size);
}

static char a_connection, an_endpoint, a_listener, a_reactor, a_domain; /* only their addresses */

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...)
{
    size_t used = strlen(record);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(record + used, sizeof(record) - used, format, arguments);
    va_end(arguments);
}

static void expect(const char *expected)
{
    assert_string_equal(record, expected);
    record[0] = '\0';
}

int __wrap_iw_endpoint_accept(struct iw_endpoint *ep, const void *data, size_t length,
                              uint64_t now);
void __wrap_iw_endpoint_abort(struct iw_endpoint *ep, bool terminate, uint8_t code, uint64_t now);
void __wrap_iw_endpoint_shutdown(struct iw_endpoint *ep, uint64_t now);
int __wrap_iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *work, uint64_t now);
int __wrap_iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                                 size_t count);
bool __wrap_iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out);
size_t __wrap_iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room);
struct iw_endpoint *__wrap_iw_connection_endpoint(const struct iw_connection *c);
void __wrap_iw_connection_set_context(struct iw_connection *c, void *context);
int __wrap_iw_connection_error(const struct iw_connection *c);
void __wrap_iw_connection_remote(const struct iw_connection *c, char *text);
void *__wrap_iw_connection_tapped(const struct iw_connection *c);
int __wrap_iw_connection_stream(struct iw_connection *c, const void *octets, size_t length);
void __wrap_iw_connection_start(struct iw_connection *c);
struct iw_listener *__wrap_iw_transport_listen(struct iw_reactor *r, const struct iw_host_port *at,
                                               const struct iw_listener_config *config, char *error,
                                               size_t room);
struct iw_connection *__wrap_iw_transport_connect(struct iw_reactor *r, struct iw_domain *domain,
                                                  const struct iw_host_port *to,
                                                  const struct iw_endpoint_config *endpoint,
                                                  const struct iw_connection_ops *ops,
                                                  void *context, char *error, size_t room);
uint16_t __wrap_iw_listener_port(const struct iw_listener *l);
void __wrap_iw_listener_address(const struct iw_listener *l, char *text);
void __wrap_iw_listener_destroy(struct iw_listener *l);

int __wrap_iw_endpoint_accept(struct iw_endpoint *ep, const void *data, size_t length, uint64_t now)
{
    assert_ptr_equal(ep, &an_endpoint);
    assert_true(now > 0);
    note("accept %.*s\n", (int)length, (const char *)data);
    return result;
}

void __wrap_iw_endpoint_abort(struct iw_endpoint *ep, bool terminate, uint8_t code, uint64_t now)
{
    assert_ptr_equal(ep, &an_endpoint);
    assert_true(!terminate && code == 0 && now > 0);
    note("abort\n");
}

void __wrap_iw_endpoint_shutdown(struct iw_endpoint *ep, uint64_t now)
{
    assert_ptr_equal(ep, &an_endpoint);
    assert_true(now > 0);
    note("shutdown\n");
}

int __wrap_iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *work, uint64_t now)
{
    assert_ptr_equal(ep, &an_endpoint);
    assert_true(now > 0);
    assert_int_equal(work->sge_count, 1);
    note("post %d: %.*s\n", (int)work->opcode, (int)work->sge[0].length,
         (const char *)work->sge[0].base);
    return result;
}

int __wrap_iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                                 size_t count)
{
    assert_ptr_equal(ep, &an_endpoint);
    assert_int_equal(count, 1);
    note("receive %d: %d octets\n", (int)id, (int)sge->length);
    return result;
}

bool __wrap_iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out)
{
    assert_ptr_equal(ep, &an_endpoint);
    if (n_events == 0)
        return false;
    *out = events[--n_events];
    return true;
}

size_t __wrap_iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room)
{
    assert_ptr_equal(ep, &an_endpoint);
    assert_int_equal(room, 1);
    if (n_completions == 0)
        return 0;
    *out = completions[--n_completions];
    return 1;
}

struct iw_endpoint *__wrap_iw_connection_endpoint(const struct iw_connection *c)
{
    assert_ptr_equal(c, &a_connection);
    return (struct iw_endpoint *)&an_endpoint;
}

void __wrap_iw_connection_set_context(struct iw_connection *c, void *context)
{
    assert_ptr_equal(c, &a_connection);
    context_set = context;
}

int __wrap_iw_connection_error(const struct iw_connection *c)
{
    assert_ptr_equal(c, &a_connection);
    return os_error;
}

void *__wrap_iw_connection_tapped(const struct iw_connection *c)
{
    assert_ptr_equal(c, &a_connection);
    return NULL;
}

void __wrap_iw_connection_remote(const struct iw_connection *c, char *text)
{
    assert_ptr_equal(c, &a_connection);
    snprintf(text, IW_TRANSPORT_TEXT, "there:7");
}

int __wrap_iw_connection_stream(struct iw_connection *c, const void *octets, size_t length)
{
    assert_ptr_equal(c, &a_connection);
    if (no_line != NULL && strncmp(octets, no_line, length) == 0)
        return -1;
    note("say %.*s\n", (int)length, (const char *)octets);
    return 0;
}

void __wrap_iw_connection_start(struct iw_connection *c)
{
    assert_ptr_equal(c, &a_connection);
    note("start\n");
}

struct iw_listener *__wrap_iw_transport_listen(struct iw_reactor *r, const struct iw_host_port *at,
                                               const struct iw_listener_config *config, char *error,
                                               size_t room)
{
    assert_ptr_equal(r, &a_reactor);
    note("listen on %s:%d\n", at->host, at->port);
    listening = *config;
    snprintf(error, room, "no place");
    return no_transport ? NULL : (struct iw_listener *)&a_listener;
}

struct iw_connection *__wrap_iw_transport_connect(struct iw_reactor *r, struct iw_domain *domain,
                                                  const struct iw_host_port *to,
                                                  const struct iw_endpoint_config *endpoint,
                                                  const struct iw_connection_ops *ops,
                                                  void *context, char *error, size_t room)
{
    assert_ptr_equal(r, &a_reactor);
    assert_ptr_equal(domain, &a_domain);
    note("connect to %s:%d\n", to->host, to->port);
    connecting = *ops;
    connect_config = *endpoint;
    connect_context = context;
    snprintf(error, room, "no way");
    return no_transport ? NULL : (struct iw_connection *)&a_connection;
}

uint16_t __wrap_iw_listener_port(const struct iw_listener *l)
{
    assert_ptr_equal(l, &a_listener);
    return 4711;
}

void __wrap_iw_listener_address(const struct iw_listener *l, char *text)
{
    assert_ptr_equal(l, &a_listener);
    snprintf(text, IW_TRANSPORT_TEXT, "here:4711");
}

void __wrap_iw_listener_destroy(struct iw_listener *l)
{
    assert_ptr_equal(l, &a_listener);
    note("listen no more\n");
}

#endif
