/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/link.h"

#include "verbs/call_series.h"
#include "verbs/mutex.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Time for a program to answer a request, and for a peer to ask or answer, in ns. */
#define STARTUP UINT64_C(60000000000)
/* What may wait for the next poll: 64 KiB, where a request counts this more than its octets, but of
 * requests up to that size at least four. */
enum { GATHERED = 65536, EACH = 1024, LEAST = 4 };
/* Time that an initiator without RTR has to speak first. */
#define SPEAK_FIRST UINT64_C(10000000)

static LIST_HEAD(, iw_verbs_link) links = LIST_HEAD_INITIALIZER(links);
static struct iw_verbs_link *in_series; /* that has gathered in the series of calls under way */

/* The connections are the parent's, but for those that outlive the fork. */
static void forked(void)
{
    struct iw_verbs_link *link;
    for (link = LIST_FIRST(&links); link != NULL; link = LIST_NEXT(link, entry)) {
        if (link->parked) {
            iw_connection_forked(link->connection);
            continue;
        }
        if (link->qp != NULL) {
            link->qp->link = NULL;
            link->qp->base.qp_base.state = IBV_QPS_ERR;
        }
        link->qp = NULL;
        link->connection = NULL;
    }
}

static struct iw_verbs_link *make(const struct iw_verbs_link_ops *ops, void *owner)
{
    struct iw_verbs_link *link = calloc(1, sizeof(*link));
    if (link == NULL)
        return NULL;
    link->ops = ops;
    link->owner = owner;
    iw_verbs_at_fork(forked);
    LIST_INSERT_HEAD(&links, link, entry);
    return link;
}

static void discard(struct iw_verbs_link *link)
{
    if (in_series == link)
        in_series = NULL;
    LIST_REMOVE(link, entry);
    free(link);
}

static void take_completions(struct iw_verbs_link *link, struct iw_endpoint *ep)
{
    struct iw_completion done[16];
    size_t count;
    while ((count = iw_endpoint_poll(ep, done, sizeof(done) / sizeof(done[0]))) > 0)
        for (size_t i = 0; i < count && link->qp != NULL; i++) {
            link->asked |= done[i].opcode == IW_WORK_RECV;
            if (!iw_verbs_spare_take(link->qp, &done[i]))
                iw_verbs_complete(link->qp, &done[i]);
        }
    if (link->qp != NULL)
        iw_verbs_give_receives(link->qp);
}

/* The connection has ended, or is bound to end. */
static void fail_qp(struct iw_verbs_link *link, bool fault)
{
    struct iw_verbs_qp *qp = link->qp;
    if (qp == NULL || qp->base.qp_base.state == IBV_QPS_ERR)
        return;
    qp->base.qp_base.state = IBV_QPS_ERR;
    if (fault)
        iw_verbs_async_qp(qp, IBV_EVENT_QP_FATAL);
}

static void take_event(struct iw_verbs_link *link, struct iw_endpoint *ep,
                       const struct iw_event *event)
{
    switch (event->kind) {
    case IW_EVENT_REQUEST:
        if (link->owner != NULL)
            link->ops->request(link, link->owner);
        break;
    case IW_EVENT_ESTABLISHED:
        link->established = true;
        if (link->qp != NULL)
            link->qp->base.qp_base.state = IBV_QPS_RTS;
        if (link->owner != NULL)
            link->ops->established(link, link->owner);
        break;
    case IW_EVENT_REJECTED:
        if (link->owner != NULL)
            link->ops->rejected(link, link->owner);
        break;
    case IW_EVENT_TERMINATED:
        link->terminated = true;
        link->terminate = event->terminate;
        fail_qp(link, true);
        break;
    case IW_EVENT_FAULT:
        fail_qp(link, true);
        break;
    case IW_EVENT_PEER_CLOSED:
        iw_endpoint_shutdown(ep, iw_transport_now());
        break;
    case IW_EVENT_CLOSED:
        fail_qp(link, false);
        break;
    default:
        break;
    }
}

static void ready(void *context, struct iw_connection *c)
{
    struct iw_verbs_link *link = context;
    struct iw_event event;
    link->gathered = 0;
    while (iw_endpoint_event(iw_connection_endpoint(c), &event))
        take_event(link, iw_connection_endpoint(c), &event);
    take_completions(link, iw_connection_endpoint(c));
}

static void part(struct iw_verbs_link *link)
{
    struct iw_verbs_qp *qp = link->qp;
    link->connection = NULL;
    link->qp = NULL;
    if (qp == NULL)
        return;
    qp->link = NULL;
    iw_verbs_flush(qp);
}

static void ended(void *context, struct iw_connection *c)
{
    struct iw_verbs_link *link = context;
    fail_qp(link, false);
    take_completions(link, iw_connection_endpoint(c));
    part(link);
    if (link->owner != NULL)
        link->ops->ended(link, link->owner, iw_connection_error(c));
    discard(link);
}

static const struct iw_connection_ops connection_ops = {.ready = ready, .ended = ended};

/* ---- endpoints ---- */

static void want_recv(void *context)
{
    struct iw_verbs_link *link = context;
    struct iw_verbs_qp *qp = link->qp;
    /* Of one input, more messages may be whole than the queue pair has places for receives. */
    if (qp != NULL && qp->init.srq != NULL && iw_verbs_ring_full(&qp->recvs))
        take_completions(link, iw_verbs_link_endpoint(link));
    if (qp != NULL && qp->init.srq != NULL &&
        iw_verbs_srq_take((struct iw_verbs_srq *)qp->init.srq, qp))
        iw_verbs_give_receives(qp);
    if (qp == NULL || qp->spares == NULL)
        return;
    const uint64_t given = qp->recvs.given;
    take_completions(link, iw_verbs_link_endpoint(link));
    if (link->qp == qp && qp->recvs.given == given)
        iw_verbs_spare_give(qp, iw_verbs_link_endpoint(link));
}

/* Work that sends nothing: windows, and requests that failed the check of their local memory. */
static bool local_work(void *context, uint64_t id)
{
    const struct iw_verbs_link *link = context;
    if (link->qp == NULL)
        return false;
    struct iw_verbs_request *r = iw_verbs_ring_at(&link->qp->sends, id);
    return !r->bad && iw_verbs_bind(r, iw_endpoint_stream(iw_verbs_link_endpoint(link)));
}

static void configure(struct iw_endpoint_config *config, struct iw_verbs_link *link)
{
    const struct iw_verbs_settings *settings = iw_verbs_settings();
    iw_endpoint_config_default(config);
    config->mpa.crc = settings->crc;
    config->mpa.markers = settings->markers;
    config->mpa.revision = settings->revision;
    config->mpa.enhanced = settings->revision >= 2;
    config->mpa.peer_to_peer = settings->rtr && settings->revision >= 2;
    config->mulpdu = settings->mulpdu;
    config->switches = &settings->switches;
    config->startup_timeout = STARTUP;
    config->responder_first = settings->responder_first ? SPEAK_FIRST : 0;
    config->max_reads = IW_VERBS_READS;
    config->max_sge = IW_VERBS_SGE;
    config->context = link;
    config->want_recv = want_recv;
    config->local = local_work;
}

static void trace(struct iw_endpoint_config *config, struct iw_verbs_link *link)
{
    static unsigned connections;
    link->tracer = (struct iw_tracer){iw_verbs_trace(), connections++, getpid()};
    if (link->tracer.out == NULL)
        return;
    config->trace = iw_trace_json;
    config->trace_context = &link->tracer;
}

static void configure_for(struct iw_endpoint_config *config, struct iw_verbs_link *link,
                          const struct iw_verbs_qp *qp, const struct iw_verbs_parameters *p)
{
    configure(config, link);
    trace(config, link);
    config->pd = iw_verbs_pd_number(qp->base.qp_base.pd);
    config->withheld = iw_verbs_withheld(qp);
    config->send_depth = 2 * qp->sends.depth; /* Write with Immediate is two requests */
    config->recv_depth = qp->recvs.depth + iw_verbs_spares_depth(qp);
    config->mpa.ird = p->ird;
    config->mpa.ord = p->ord;
}

static void join(struct iw_verbs_link *link, struct iw_verbs_qp *qp)
{
    link->qp = qp;
    qp->link = link;
    iw_verbs_spares_reset(qp);
    iw_verbs_give_receives(qp);
}

struct iw_endpoint *iw_verbs_link_endpoint(const struct iw_verbs_link *link)
{
    return link->connection != NULL ? iw_connection_endpoint(link->connection) : NULL;
}

void iw_verbs_link_gather(struct iw_verbs_link *link, uint64_t octets)
{
    const uint64_t counted = octets + EACH;
    const uint64_t most = LEAST * counted > GATHERED ? LEAST * counted : GATHERED;
    const bool series = iw_verbs_mutex_kept();
    if ((!series && !iw_verbs_polled()) || octets > GATHERED || link->gathered + counted > most) {
        iw_verbs_link_flush(link);
        return;
    }
    if (series)
        in_series = link;
    link->gathered += (uint32_t)counted;
    if (link->qp != NULL) { /* its next poll sends */
        iw_verbs_cq_stir(link->qp->init.send_cq);
        iw_verbs_cq_stir(link->qp->init.recv_cq);
    }
    if (link->connection != NULL)
        iw_connection_kick(link->connection);
}

void iw_verbs_link_flush(struct iw_verbs_link *link)
{
    if (link->connection != NULL)
        iw_connection_flush(link->connection);
}

IW_VERBS_EXPORT void iwarp_series_begin(void)
{
    iw_verbs_lock();
    iw_verbs_mutex_keep(true);
    iw_verbs_unlock();
}

IW_VERBS_EXPORT void iwarp_series_end(void)
{
    iw_verbs_lock();
    iw_verbs_mutex_keep(false);
    struct iw_verbs_link *link = in_series;
    in_series = NULL;
    if (link != NULL && link->gathered > 0 && (link->asked || !iw_verbs_polled())) {
        link->asked = false;
        iw_verbs_link_flush(link);
    }
    iw_verbs_unlock();
}

/* ---- both ends ---- */

struct iw_verbs_link *iw_verbs_link_connect(struct iw_verbs_qp *qp, int fd,
                                            const struct sockaddr *to, socklen_t length,
                                            const struct iw_verbs_parameters *p,
                                            const struct iw_verbs_link_ops *ops, void *owner)
{
    struct iw_endpoint_config config;
    struct iw_verbs_link *link = make(ops, owner);
    if (link == NULL)
        return NULL;
    configure_for(&config, link, qp, p);
    config.role = IW_MPA_INITIATOR;
    config.private_data = p->private_data;
    config.private_length = p->private_length;
    link->connection = iw_transport_connect_socket(iw_verbs_reactor(), iw_verbs_domain(), fd, to,
                                                   length, &config, &connection_ops, link);
    if (link->connection == NULL) {
        int saved = errno;
        discard(link);
        errno = saved;
        return NULL;
    }
    join(link, qp);
    return link;
}

/* A listener's connections begin with its context; each gets a link of its own. */
struct listening {
    const struct iw_verbs_link_ops *ops;
    void *owner;
};

static bool accepted(void *context, struct iw_connection *c)
{
    const struct listening *l = context;
    struct iw_verbs_link *link = make(l->ops, l->owner);
    if (link == NULL)
        return false;
    link->connection = c;
    iw_connection_set_context(c, link);
    return true;
}

static bool plain(void *context, int fd)
{
    const struct listening *l = context;
    return l->ops->plain(l->owner, fd);
}

struct iw_listener *iw_verbs_link_listen(int fd, unsigned limit, unsigned sniff,
                                         const struct iw_verbs_link_ops *ops, void *owner,
                                         void **keep)
{
    struct listening *l = malloc(sizeof(*l));
    if (l == NULL)
        return NULL;
    *l = (struct listening){ops, owner};
    struct iw_listener_config config = {.domain = iw_verbs_domain(),
                                        .ops = connection_ops,
                                        .accepted = accepted,
                                        .context = l,
                                        .limit = limit,
                                        .sniff = sniff,
                                        .plain = plain};
    /* Reads the Request and no more: the endpoint proper is made when it is accepted. */
    configure(&config.endpoint, NULL);
    config.endpoint.want_recv = NULL;
    config.endpoint.local = NULL;
    config.endpoint.role = IW_MPA_RESPONDER;
    config.endpoint.send_depth = 1;
    config.endpoint.recv_depth = 1;
    config.endpoint.max_reads = 1;
    config.endpoint.mpa.ird = config.endpoint.mpa.ord = 1;
    struct iw_listener *listener = iw_transport_listen_socket(iw_verbs_reactor(), fd, &config);
    if (listener == NULL)
        free(l);
    else
        *keep = l;
    return listener;
}

void iw_verbs_link_stop(struct iw_listener *listener, void *owner)
{
    struct iw_verbs_link *link = LIST_FIRST(&links), *next;
    iw_listener_destroy(listener);
    for (; link != NULL; link = next) {
        next = LIST_NEXT(link, entry);
        if (link->owner == owner)
            iw_verbs_link_destroy(link);
    }
}

int iw_verbs_link_accept(struct iw_verbs_link *link, struct iw_verbs_qp *qp,
                         const struct iw_verbs_parameters *p)
{
    struct iw_endpoint_config config;
    if (link->connection == NULL)
        return ECONNRESET;
    configure_for(&config, link, qp, p);
    config.role = IW_MPA_RESPONDER;
    switch (iw_connection_remake(link->connection, &config)) {
    case IW_OK:
        break;
    case IW_ERR_MEMORY:
        return ENOMEM;
    case IW_ERR_STATE:
        return ECONNRESET;
    default:
        return EINVAL;
    }
    int result = iw_endpoint_accept(iw_verbs_link_endpoint(link), p->private_data,
                                    p->private_length, iw_transport_now());
    if (result == IW_OK)
        join(link, qp);
    iw_verbs_link_flush(link);
    return result == IW_OK ? 0 : ECONNRESET;
}

int iw_verbs_link_reject(struct iw_verbs_link *link, const void *private_data, size_t length)
{
    if (link->connection == NULL)
        return ECONNRESET;
    int result =
        iw_endpoint_reject(iw_verbs_link_endpoint(link), private_data, length, iw_transport_now());
    iw_verbs_link_flush(link);
    return result == IW_OK ? 0 : EINVAL;
}

void iw_verbs_link_disconnect(struct iw_verbs_link *link)
{
    if (link->connection == NULL)
        return;
    iw_endpoint_shutdown(iw_verbs_link_endpoint(link), iw_transport_now());
    iw_verbs_link_flush(link);
}

void iw_verbs_link_leave(struct iw_verbs_link *link)
{
    struct iw_verbs_qp *qp = link->qp;
    if (link->connection == NULL)
        return;
    iw_endpoint_leave(iw_verbs_link_endpoint(link), iw_transport_now());
    take_completions(link, iw_verbs_link_endpoint(link));
    link->qp = NULL;
    if (qp != NULL)
        qp->link = NULL;
    iw_verbs_link_flush(link);
}

void iw_verbs_link_destroy(struct iw_verbs_link *link)
{
    struct iw_connection *c = link->connection;
    part(link);
    link->owner = NULL;
    iw_connection_destroy(c);
    discard(link);
}

/* ---- fork ---- */

void iw_verbs_link_park(struct iw_verbs_link *link)
{
    link->parked = link->connection != NULL && iw_connection_park(link->connection);
}

bool iw_verbs_link_unpark(struct iw_verbs_link *link)
{
    if (!link->parked)
        return true;
    if (!iw_connection_unpark(link->connection, iw_verbs_reactor()))
        return false;
    link->parked = false;
    return true;
}

bool iw_verbs_link_part(struct iw_verbs_link *link)
{
    if (!link->parked)
        return true;
    if (!iw_connection_part(link->connection, iw_verbs_reactor()))
        return false;
    link->parked = false;
    return true;
}
