/* SPDX-License-Identifier: BSD-3-Clause */
#include "net_stage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "iwarp/transport.h"

enum { MS = 1000000, FIRST = 1000, LISTENER = 77, CONTROL = 78 };

struct iw_hunt_world world;
struct iw_hunt_loop *loop;
struct net net;

void net_note(const char *format, ...)
{
    size_t n = strlen(net.noted);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(net.noted + n, sizeof(net.noted) - n, format, arguments);
    va_end(arguments);
}

void net_does(const char *expected)
{
    assert_string_equal(net.noted, expected);
    *net.noted = 0;
}

int __wrap_socket(int family, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t length);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *length, int flags);
ssize_t __wrap_send(int fd, const void *octets, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *octets, size_t room, int flags);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
int __wrap_shutdown(int fd, int how);
int __wrap_close(int fd);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *e);
int __wrap_epoll_wait(int epoll, struct epoll_event *list, int room, int ms);
uint64_t __wrap_iw_transport_now(void);
bool __wrap_iw_hunt_world_prepare_call(struct iw_hunt_world *w);
bool __wrap_iw_hunt_world_call(struct iw_hunt_world *w);
void __wrap_iw_hunt_world_left(struct iw_hunt_world *w);
int __wrap_iw_hunt_world_fd(const struct iw_hunt_world *w);
void __wrap_iw_hunt_world_serve(struct iw_hunt_world *w,
                                void (*requested)(void *context, unsigned slot), void *context);

int __wrap_socket(int family, int type, int protocol)
{
    assert_int_equal(family, AF_INET);
    assert_int_equal(type, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_int_equal(protocol, 0);
    return net.bad_socket ? -1 : FIRST + net.sockets++;
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t length)
{
    assert_int_equal(length, sizeof(struct sockaddr_in));
    net_note(" connect%d:%d", fd, ntohs(((const struct sockaddr_in *)to)->sin_port));
    errno = net.bad_connect;
    return net.bad_connect ? -1 : 0;
}

int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *length, int flags)
{
    assert_true(!from && !length);
    assert_int_equal(fd, LISTENER);
    assert_int_equal(flags, SOCK_NONBLOCK | SOCK_CLOEXEC);
    net_note(" accept");
    return net.bad_socket ? -1 : FIRST + net.sockets++;
}

ssize_t __wrap_send(int fd, const void *octets, size_t length, int flags)
{
    const uint8_t *at = octets;

    assert_int_equal(flags, MSG_NOSIGNAL);
    if (net.window < 0) {
        errno = -net.window;
        net.window = errno == EINTR ? 1000 : net.window;
        net_note(" send%d:failed", fd);
        return -1;
    }
    if (length > (size_t)net.window) {
        length = (size_t)net.window;
        net.window = -EAGAIN;
    }
    net_note(" send%d:", fd);
    for (size_t i = 0; i < length; i++)
        if (i < 2 || i + 2 >= length)
            net_note("%02x", at[i]);
        else if (i == 2)
            net_note("..%zu..", length);
    return (ssize_t)length;
}

ssize_t __wrap_recv(int fd, void *octets, size_t room, int flags)
{
    assert_int_equal(flags, 0);
    assert_int_equal(room, IW_HUNT_ANSWERS);
    net_note(" recv%d", fd);
    if (net.heard_length < 0) {
        errno = -net.heard_length;
        return -1;
    }
    int length = net.heard_length < net.heard_most ? net.heard_length : net.heard_most;
    if (net.heard != NULL)
        memcpy(octets, net.heard, (size_t)length);
    else
        memset(octets, 0, (size_t)length);
    return length;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    if (level == IPPROTO_TCP && name == TCP_NODELAY) {
        assert_int_equal(length, sizeof(int));
        net_note(" nodelay%d=%d", fd, *(const int *)value);
    } else {
        const struct linger *l = value;

        assert_int_equal(level, SOL_SOCKET);
        assert_int_equal(name, SO_LINGER);
        assert_int_equal(length, sizeof(*l));
        net_note(" linger%d=%d/%d", fd, l->l_onoff, l->l_linger);
    }
    return 0;
}

int __wrap_shutdown(int fd, int how)
{
    assert_int_equal(how, SHUT_WR);
    net_note(" shutdown%d", fd);
    return 0;
}

int __wrap_close(int fd)
{
    net_note(" close%d", fd);
    return 0;
}

int __wrap_epoll_create1(int flags)
{
    assert_int_equal(flags, EPOLL_CLOEXEC);
    return 66;
}

int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *e)
{
    const struct iw_hunt_slot *s = e->data.ptr;

    assert_int_equal(epoll, 66);
    net_note(operation == EPOLL_CTL_ADD ? " add%d:" : " mod%d:", fd);
    net_note(e->events == EPOLLIN ? "in" : e->events == (EPOLLIN | EPOLLOUT) ? "inout" : "?");
    if (s == NULL)
        net_note("/none");
    else if ((const void *)s == loop)
        net_note("/loop");
    else
        net_note("/%d", (int)(s - loop->slots));
    return 0;
}

int __wrap_epoll_wait(int epoll, struct epoll_event *list, int room, int ms)
{
    int n = net.n_events;

    assert_int_equal(epoll, 66);
    assert_int_equal(room, IW_HUNT_SLOTS + 2);
    net_note(" wait%d", ms);
    memcpy(list, net.events, sizeof(net.events));
    net.n_events = 0;
    return n;
}

uint64_t __wrap_iw_transport_now(void)
{
    return net.now;
}

bool __wrap_iw_hunt_world_prepare_call(struct iw_hunt_world *w)
{
    assert_ptr_equal(w, &world);
    net_note(" ready");
    return net.ready;
}

bool __wrap_iw_hunt_world_call(struct iw_hunt_world *w)
{
    assert_ptr_equal(w, &world);
    net_note(" call");
    return net.called;
}

void __wrap_iw_hunt_world_left(struct iw_hunt_world *w)
{
    assert_ptr_equal(w, &world);
    net_note(" left");
}

int __wrap_iw_hunt_world_fd(const struct iw_hunt_world *w)
{
    return w->side == IW_SIDE_RESPONDER ? -1 : CONTROL;
}

void __wrap_iw_hunt_world_serve(struct iw_hunt_world *w,
                                void (*requested)(void *context, unsigned slot), void *context)
{
    assert_ptr_equal(w, &world);
    net_note(" serve");
    requested(context, 1);
}

static const char *not_called(struct iw_target *t, bool late)
{
    assert_ptr_equal(t, &net.target);
    net_note(late ? " late?" : " called?");
    return net.not_called_why;
}

/* ---- */

static void done(void *context, struct iw_hunt_done *d)
{
    assert_ptr_equal(context, &world);
    net_note(" {%d%s%s", (int)d->number, d->connected ? "" : " unconnected",
             d->requested ? " requested" : "");
    for (size_t i = 0; i < d->row.n; i++) {
        char text[64];

        iw_hunt_code_print(d->row.at[i].code, text, sizeof(text));
        net_note(", %s/%u", text, d->row.at[i].stimulus);
    }
    for (size_t i = 0; i < d->n_findings; i++)
        net_note(" !%s", iw_check_info(d->findings[i])->name);
    net_note("}");
    iw_hunt_input_free(d->input);
}

void net_begin_as(enum iw_side side)
{
    net = (struct net){.now = 1000 * (uint64_t)MS,
                       .bad_connect = EINPROGRESS,
                       .window = 1000,
                       .called = true,
                       .ready = true,
                       .heard_length = -EAGAIN,
                       .heard_most = IW_HUNT_ANSWERS};
    net.target = (struct iw_target){.not_called = not_called, .connect_within = 3};
    world = (struct iw_hunt_world){.scale = 2,
                                   .target = &net.target,
                                   .listener = LISTENER,
                                   .slots = 2,
                                   .side = side,
                                   .to_length = sizeof(struct sockaddr_in)};
    for (int i = 0; i < 2; i++)
        *(struct sockaddr_in *)&world.to[i] =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)(7000 + i))};
    loop = iw_hunt_loop_new(&world, done, &world);
}

int net_begin(void **state)
{
    (void)state;
    net_begin_as(IW_SIDE_INITIATOR);
    return 0;
}

int net_end(void **state)
{
    (void)state;
    iw_hunt_loop_free(loop);
    return 0;
}

bool net_starts(const char *steps, uint64_t number)
{
    struct iw_hunt_input *in = support_input(steps);
    bool started = iw_hunt_loop_start(loop, in, number);

    if (!started)
        iw_hunt_input_free(in);
    return started;
}

/* Something happens on connection `slot`; the loop looks. */
void net_happens(int slot, uint32_t what)
{
    net.events[net.n_events++] =
        (struct epoll_event){.events = what, .data.ptr = &loop->slots[slot]};
    iw_hunt_loop_step(loop, 1000);
}

void net_hears(int slot, const char *octets, int length)
{
    net.heard = octets;
    net.heard_length = length;
    net_happens(slot, EPOLLIN);
}
