/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a process: opened and closed. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "messages/message_internal.h"

enum {
    BACKLOG = 128,
    READS = 16,
    CLOSE_NS = 1000000000,
    LOCKED_MOST = 256 << 20 /* a limit of locked memory that matters is not higher */
};

struct complaint {
    char *error;
    size_t room;
};

/* Keeps one line about what failed, and errno. Returns false. */
static bool complain(const struct complaint *c, int error, const char *what)
{
    if (c->error != NULL && c->room > 0)
        snprintf(c->error, c->room, "%s: %s", what, strerror(error));
    errno = error;
    return false;
}

static bool listen_at(struct iw_messages *m, const struct sockaddr *where,
                      const struct complaint *c)
{
    const struct sockaddr_in any = {.sin_family = AF_INET};
    struct sockaddr_storage at = {0};
    if (where == NULL)
        where = (const struct sockaddr *)&any;
    if (where->sa_family != AF_INET && where->sa_family != AF_INET6)
        return complain(c, EINVAL, "listen: neither IPv4 nor IPv6");
    memcpy(&at, where,
           where->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
    if (rdma_create_id(m->channel, &m->listener, NULL, RDMA_PS_TCP) != 0)
        return complain(c, errno, "rdma_create_id");
    if (rdma_bind_addr(m->listener, (struct sockaddr *)&at) != 0)
        return complain(c, errno, "rdma_bind_addr");
    if (rdma_listen(m->listener, BACKLOG) != 0)
        return complain(c, errno, "rdma_listen");
    const struct sockaddr *bound = rdma_get_local_addr(m->listener);
    memcpy(&m->address, bound,
           bound->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    return true;
}

/* How much memory may be registered. The limit holds for most devices of the kernel, for siw even
 * if the process is privileged, and for none of those that need no kernel: so it is tried. */
static size_t find_lockable(struct ibv_pd *pd)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur > LOCKED_MOST)
        return SIZE_MAX;
    const size_t length = (size_t)limit.rlim_cur + (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return SIZE_MAX;
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, length, IBV_ACCESS_LOCAL_WRITE);
    if (mr != NULL)
        ibv_dereg_mr(mr);
    munmap(memory, length);
    return mr != NULL ? SIZE_MAX : (size_t)limit.rlim_cur;
}

static bool open_device(struct iw_messages *m, const struct complaint *c)
{
    struct ibv_context *verbs = m->listener->verbs;
    struct ibv_device_attr attr;
    if (verbs == NULL) { /* it listens everywhere */
        struct ibv_context **devices = rdma_get_devices(NULL);
        verbs = devices != NULL ? devices[0] : NULL;
        rdma_free_devices(devices);
    }
    if (verbs == NULL)
        return complain(c, ENODEV, "no RDMA device");
    if (ibv_query_device(verbs, &attr) != 0)
        return complain(c, errno, "ibv_query_device");
    const int reads = attr.max_qp_rd_atom < attr.max_qp_init_rd_atom ? attr.max_qp_rd_atom
                                                                     : attr.max_qp_init_rd_atom;
    m->reads = (uint8_t)(reads < READS ? reads : READS);
    int entries = (m->connections + IW_LINKS_MORE) * (IW_LINK_RECEIVES + IW_LINK_SENDS);
    if (entries > attr.max_cqe)
        entries = attr.max_cqe;
    m->pd = ibv_alloc_pd(verbs);
    m->completions = m->pd != NULL ? ibv_create_comp_channel(verbs) : NULL;
    m->cq = m->completions != NULL ? ibv_create_cq(verbs, entries, NULL, m->completions, 0) : NULL;
    if (m->cq == NULL)
        return complain(c, errno, "completion queue");
    return true;
}

static bool no_wait(int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* Called by the resolver's thread. */
static void notice(void *context, uint32_t number, enum iw_resolver_notice what)
{
    struct iw_messages *m = context;
    if (what == IW_RESOLVER_FOUND) {
        atomic_store(&m->resolved, true);
        iw_progress_kick(m);
    } else if (m->notice != NULL) {
        m->notice(m->context, number,
                  what == IW_RESOLVER_CONTESTED ? IW_MESSAGES_CONTESTED : IW_MESSAGES_INTRUDER);
    }
}

static bool open_resolver(struct iw_messages *m, const struct iw_messages_resolver *how,
                          const struct complaint *c)
{
    const struct iw_resolver_config config = {.hosts = how->hosts,
                                              .host_count = how->host_count,
                                              .port = how->port,
                                              .multicast = how->multicast != 0,
                                              .broadcast = how->broadcast != 0,
                                              .interface = how->interface,
                                              .key = how->key,
                                              .key_length = how->key_length,
                                              .notice = notice,
                                              .context = m};
    /* Whoever knows the key is believed, and nobody else. */
    m->trusts_senders = how->key == NULL;
    return iw_resolver_open(&config, &m->resolver, c->error, c->room) == 0;
}

static bool begin(struct iw_messages *m, const struct iw_messages_config *config,
                  const struct complaint *c)
{
    if (getrandom(&m->instance, sizeof(m->instance), 0) != sizeof(m->instance))
        return complain(c, errno, "getrandom");
    m->instance |= 1;
    m->channel = rdma_create_event_channel();
    if (m->channel == NULL)
        return complain(c, errno, "no RDMA device: rdma_create_event_channel");
    m->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (m->kick < 0)
        return complain(c, errno, "eventfd");
    if (!listen_at(m, config->listen, c) || !open_device(m, c))
        return false;
    if (!no_wait(m->channel->fd) || !no_wait(m->completions->fd))
        return complain(c, errno, "fcntl");
    const size_t most = config->pool_octets > 0 ? config->pool_octets : (size_t)1 << 30;
    if (iw_pool_open(&m->pool, m->pd, most, find_lockable(m->pd)) != 0)
        return complain(c, errno, "pool");
    for (size_t i = 0; i < config->place_count; i++)
        if (iw_messages_place(m, config->places[i].number,
                              (const struct sockaddr *)&config->places[i].at) != 0)
            return complain(c, errno, "places");
    if (config->resolver != NULL && !open_resolver(m, config->resolver, c))
        return false;
    if (!config->hidden)
        iw_status_open(m);
    const int error = pthread_create(&m->thread, NULL, iw_progress_thread, m);
    if (error != 0)
        return complain(c, error, "thread");
    m->running = true;
    return true;
}

/* On one processor polling would only keep the other end from sending. */
static uint64_t time_to_spin(int spin_us)
{
    cpu_set_t processors;
    if (spin_us == IW_MESSAGES_POLL)
        return UINT64_MAX;
    if (sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) == 1)
        return 0;
    return (uint64_t)(spin_us > 0 ? spin_us : IW_MESSAGES_SPIN_US) * 1000u;
}

int iw_messages_open(const struct iw_messages_config *config, struct iw_messages **out, char *error,
                     size_t room)
{
    const struct complaint c = {error, room};
    if (config->connections < 0 || config->timeout_ms < 0 || config->spin_us < IW_MESSAGES_POLL ||
        config->timeout_ms > IW_TIMEOUT_MOST_MS || config->connections > IW_PEERS_MOST) {
        complain(&c, EINVAL, "connections, timeout_ms or spin_us");
        return -1;
    }
    struct iw_messages *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        complain(&c, ENOMEM, "memory");
        return -1;
    }
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->changed, &clock);
    pthread_cond_init(&m->background, &clock);
    pthread_condattr_destroy(&clock);
    TAILQ_INIT(&m->links);
    TAILQ_INIT(&m->unrouted);
    m->kick = m->status = -1;
    m->trusts_senders = true;
    m->notice = config->notice;
    m->context = config->context;
    m->connections = config->connections > 0 ? config->connections : IW_MESSAGES_CONNECTIONS;
    m->timeout =
        (uint64_t)(config->timeout_ms > 0 ? config->timeout_ms : IW_MESSAGES_TIMEOUT_MS) * 1000000u;
    m->spin = time_to_spin(config->spin_us);
    if (begin(m, config, &c)) {
        *out = m;
        return 0;
    }
    const int why = errno;
    iw_messages_close(m);
    errno = why;
    return -1;
}

/* Sends the peers what was taken, and ends the connections. */
static void end_links(struct iw_messages *m)
{
    struct iw_link *link;
    const uint64_t until = iw_progress_now() + CLOSE_NS;
    TAILQ_FOREACH(link, &m->links, entry)
    if (link->state == IW_LINK_UP && link->peer != NULL && link->peer->owed > 0)
        iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL);
    for (bool sends = true; sends && iw_progress_now() < until;) {
        sends = false;
        iw_progress_step(m);
        TAILQ_FOREACH(link, &m->links, entry)
        sends |= link->state == IW_LINK_UP && !link->ending && link->sends > 0;
        if (sends)
            usleep(100);
    }
    TAILQ_FOREACH(link, &m->links, entry)
    iw_link_end(link);
    for (bool none = false; !none && iw_progress_now() < until + CLOSE_NS;) {
        iw_progress_step(m);
        none = iw_link_reap(m, false);
        if (!none)
            usleep(100);
    }
    iw_link_reap(m, true);
}

static void free_messages(struct iw_messages *m, struct iw_outgoings *list)
{
    struct iw_outgoing *o;
    while ((o = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, o, entry);
        free(o);
    }
    (void)m;
}

static void free_tables(struct iw_messages *m)
{
    for (unsigned i = 0; i < IW_TABLE; i++) {
        for (struct iw_peer *p = m->peers[i]; p != NULL; p = p->chain) {
            free_messages(m, &p->window);
            free_messages(m, &p->waiting);
        }
        for (struct iw_route *r; (r = m->routes[i]) != NULL;) {
            m->routes[i] = r->chain;
            free_messages(m, &r->queue);
            free(r);
        }
    }
    iw_peer_forget_all(m);
    for (struct iw_work_chunk *c; (c = m->work) != NULL;) {
        m->work = c->next;
        free(c);
    }
}

void iw_messages_close(struct iw_messages *m)
{
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->mutex);
    m->closing = true;
    pthread_cond_broadcast(&m->changed);
    pthread_cond_broadcast(&m->background);
    if (m->kick >= 0)
        iw_progress_kick(m);
    pthread_mutex_unlock(&m->mutex);
    if (m->running)
        pthread_join(m->thread, NULL);
    iw_resolver_close(m->resolver);
    m->resolver = NULL;
    pthread_mutex_lock(&m->mutex);
    if (m->cq != NULL)
        end_links(m);
    pthread_mutex_unlock(&m->mutex);
    for (unsigned i = 0; i < IW_TABLE; i++)
        while (m->services[i] != NULL)
            iw_messages_shut(m->services[i]);
    free_tables(m);
    if (m->listener != NULL)
        rdma_destroy_id(m->listener);
    if (m->cq != NULL)
        ibv_destroy_cq(m->cq);
    if (m->pool.table != NULL)
        iw_pool_close(&m->pool);
    if (m->completions != NULL)
        ibv_destroy_comp_channel(m->completions);
    if (m->pd != NULL)
        ibv_dealloc_pd(m->pd);
    if (m->channel != NULL)
        rdma_destroy_event_channel(m->channel);
    if (m->kick >= 0)
        close(m->kick);
    if (m->status >= 0)
        close(m->status);
    pthread_cond_destroy(&m->changed);
    pthread_cond_destroy(&m->background);
    pthread_mutex_destroy(&m->mutex);
    free(m);
}

socklen_t iw_messages_address(struct iw_messages *m, struct sockaddr_storage *out)
{
    *out = m->address;
    return m->address.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                            : sizeof(struct sockaddr_in);
}

void iw_messages_count(struct iw_messages *m, struct iw_messages_counts *out)
{
    pthread_mutex_lock(&m->mutex);
    *out = m->counts;
    out->connections = m->links_up;
    pthread_mutex_lock(&m->pool.mutex);
    out->pool_octets = m->pool.octets;
    pthread_mutex_unlock(&m->pool.mutex);
    pthread_mutex_unlock(&m->mutex);
}
