/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg_serve_tcp.h"
#include "msg_exchange.h"
#include "msg_folder.h"
#include "msg_tcp.h"

#include "host/clock.h"
#include "host/complain.h"
#include "host/text.h"
#include "iwarp/octets.h"
#include "iwarp/transport.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUSY_NS UINT64_C(1000000) /* after an answer */

struct msg_serve_tcp {
    pthread_t thread;
    pthread_mutex_t mutex; /* of `ends`, and of the descriptor that is shut down */
    bool ends;
    int listener, folder;
    struct msg_tcp line;
    atomic_uint_least64_t busy; /* until then, ns */
};

static bool say(struct msg_tcp *line, char kind, const void *octets, size_t length)
{
    uint8_t *to = msg_tcp_room(line, 1 + length);
    if (to == NULL)
        return false;
    to[0] = (uint8_t)kind;
    memcpy(to + 1, octets, length);
    return msg_tcp_send(line, 1 + length);
}

/* Sends an open file. What cannot be read after the length was sent ends the connection. */
static bool send_file(struct msg_tcp *line, int file, uint64_t length)
{
    uint8_t octets[8];
    iw_put64(octets, length);
    uint8_t *part = msg_tcp_room(line, MSG_TCP_PART);
    if (part == NULL || !say(line, MSG_FILE, octets, sizeof(octets)))
        return false;
    while (length > 0) {
        const size_t step = length < MSG_TCP_PART ? (size_t)length : MSG_TCP_PART;
        if (!msg_folder_read(file, part, step) || !msg_tcp_send_raw(line, part, step))
            return false;
        length -= step;
    }
    return true;
}

static bool answer_get(struct msg_serve_tcp *t, const char *path)
{
    char text[MSG_TEXT];
    uint64_t length;
    const char *why;
    const int file = msg_folder_open(t->folder, path, &length, &why);
    if (file < 0) {
        snprintf(text, sizeof(text) - 1, "%s: %s", path, why);
        return say(&t->line, MSG_ERROR, text, strlen(text));
    }
    const bool good = send_file(&t->line, file, length);
    close(file);
    return good;
}

static bool answer(struct msg_serve_tcp *t, const uint8_t *octets, size_t length)
{
    char path[MSG_PATH];
    uint8_t cpu[8];
    if (length == 0)
        return false;
    switch (octets[0]) {
    case MSG_PING:
        return msg_tcp_send(&t->line, length);
    case MSG_CPU:
        iw_put64(cpu, iw_clock_cpu());
        return say(&t->line, MSG_CPU, cpu, sizeof(cpu));
    case MSG_GET:
        if (length > sizeof(path))
            return false;
        memcpy(path, octets + 1, length - 1);
        path[length - 1] = '\0';
        return answer_get(t, path);
    default:
        return false;
    }
}

/* Takes a descriptor that the end may shut down; -1: gives it up. Returns false at the end. */
static bool take(struct msg_serve_tcp *t, int fd)
{
    pthread_mutex_lock(&t->mutex);
    if (fd >= 0)
        t->line = (struct msg_tcp){.fd = fd, .busy = &t->busy};
    else
        msg_tcp_close(&t->line);
    const bool goes_on = !t->ends;
    pthread_mutex_unlock(&t->mutex);
    return goes_on;
}

static void *run(void *context)
{
    struct msg_serve_tcp *t = context;
    for (bool goes_on = true; goes_on;) {
        const int fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
            usleep(10000); /* no descriptors now, or the end */
        if (fd >= 0)
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        goes_on = take(t, fd);
        for (const uint8_t *octets; fd >= 0 && goes_on;) {
            octets = msg_tcp_receive(&t->line, MSG_TCP_MOST);
            goes_on = octets != NULL && t->line.more == 0 && answer(t, octets, t->line.length);
            atomic_store_explicit(&t->busy, iw_transport_now() + BUSY_NS, memory_order_relaxed);
        }
        goes_on = take(t, -1);
    }
    return NULL;
}

/* A thread that leaves signals to the others. Returns 0 or an error. */
static int start(struct msg_serve_tcp *t)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&t->thread, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int msg_serve_tcp_open(const char *where, int folder, struct msg_serve_tcp **out,
                       struct sockaddr_storage *at)
{
    struct msg_serve_tcp *t = iw_got(calloc(1, sizeof(*t)));
    t->folder = folder;
    t->line.fd = -1;
    int status = msg_tcp_listen(where, &t->listener, at);
    if (status >= 0) {
        free(t);
        return status;
    }
    pthread_mutex_init(&t->mutex, NULL);
    const int error = start(t);
    if (error == 0) {
        *out = t;
        return -1;
    }
    pthread_mutex_destroy(&t->mutex);
    close(t->listener);
    free(t);
    return iw_complain_exit(IW_EXIT_TESTER, "--tcp: no thread: %s", strerror(error));
}

bool msg_serve_tcp_busy(const struct msg_serve_tcp *t)
{
    return iw_transport_now() < atomic_load_explicit(&t->busy, memory_order_relaxed);
}

void msg_serve_tcp_close(struct msg_serve_tcp *t)
{
    if (t == NULL)
        return;
    pthread_mutex_lock(&t->mutex);
    t->ends = true;
    shutdown(t->listener, SHUT_RDWR);
    if (t->line.fd >= 0)
        shutdown(t->line.fd, SHUT_RDWR);
    pthread_mutex_unlock(&t->mutex);
    pthread_join(t->thread, NULL);
    pthread_mutex_destroy(&t->mutex);
    close(t->listener);
    free(t);
}
