/* SPDX-License-Identifier: BSD-3-Clause */
/* Listening, connecting, answering, ending. */
#include "ucma/ucma.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { LIVE = 16384 }; /* connections of one listener at a time */

/* ---- what links report ---- */

static void refuse(struct iw_verbs_link *link)
{
    link->owner = NULL;
    iw_endpoint_abort(iw_verbs_link_endpoint(link), false, 0, iw_transport_now());
}

static void asked(struct iw_verbs_link *link, void *owner)
{
    struct iw_ucma_id *listener = owner;
    struct sockaddr_storage local, remote;
    struct iw_ucma_id *id =
        listener->waiting < listener->backlog ? iw_ucma_id_create(listener->file, 0) : NULL;
    if (id == NULL) {
        refuse(link);
        return;
    }
    iw_connection_addresses(link->connection, &local, &remote);
    id->source = *(union iw_ucma_address *)(void *)&local;
    id->destination = *(union iw_ucma_address *)(void *)&remote;
    id->state = IW_UCMA_ASKED;
    id->link = link;
    link->owner = id;
    if (iw_ucma_event_ask(listener, id))
        return;
    id->link = NULL;
    refuse(link);
    iw_ucma_id_destroy(id);
}

static void established(struct iw_verbs_link *link, void *owner)
{
    struct iw_ucma_id *id = owner;
    id->state = IW_UCMA_CONNECTED;
    iw_ucma_event_push(id, IW_UCMA_ESTABLISHED, 0, link);
}

static void rejected(struct iw_verbs_link *link, void *owner)
{
    struct iw_ucma_id *id = owner;
    id->state = IW_UCMA_OVER;
    iw_ucma_event_push(id, IW_UCMA_REJECTED, -ECONNREFUSED, link);
}

static void report_failure(struct iw_ucma_id *id, int error)
{
    switch (error) {
    case 0:
    case ECONNRESET:
    case ECONNREFUSED:
        iw_ucma_event_push(id, IW_UCMA_REJECTED, error != 0 ? -error : -ECONNRESET, NULL);
        break;
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
        iw_ucma_event_push(id, IW_UCMA_UNREACHABLE, -error, NULL);
        break;
    default:
        iw_ucma_event_push(id, IW_UCMA_CONNECT_ERROR, -error, NULL);
        break;
    }
}

static void ended(struct iw_verbs_link *link, void *owner, int error)
{
    struct iw_ucma_id *id = owner;
    (void)link;
    id->link = NULL;
    if (id->state == IW_UCMA_CONNECTED)
        iw_ucma_event_push(id, IW_UCMA_DISCONNECTED, 0, NULL);
    else if (id->state == IW_UCMA_CONNECTING)
        report_failure(id, error);
    if (id->state != IW_UCMA_ASKED)
        id->state = IW_UCMA_OVER;
}

static bool pass_plain(void *owner, int fd)
{
    const struct iw_ucma_id *listener = owner;
    return iw_ucma_mixed_pass(listener->plain, fd);
}

static const struct iw_verbs_link_ops link_ops = {asked, established, rejected, ended, pass_plain};

/* ---- what the program asks for ---- */

static int listen_where_bound(struct iw_ucma_id *id)
{
    int fd = fcntl(id->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    const unsigned sniff = iw_ucma_mixed(&id->plain);
    id->listener = iw_verbs_link_listen(fd, LIVE, sniff, &link_ops, id, &id->listener_memory);
    if (id->listener == NULL) {
        iw_ucma_real_close(fd);
        return ENOMEM;
    }
    id->state = IW_UCMA_LISTENING;
    return 0;
}

int iw_ucma_listen(struct iw_ucma_id *id, uint32_t backlog)
{
    const bool idle = id->state == IW_UCMA_IDLE;
    struct sockaddr_in any = {.sin_family = AF_INET};
    int result = idle ? iw_ucma_bind(id, &any) : 0;
    if (result == 0 && id->state != IW_UCMA_BOUND)
        result = EINVAL;
    if (result == 0)
        result = iw_ucma_hold_port(id);
    if (result != 0)
        return result;
    id->backlog = backlog == 0 || backlog > IW_UCMA_BACKLOG ? IW_UCMA_BACKLOG : backlog;
    result = listen_where_bound(id);
    /* Else clients would connect to a port that the program knows nothing of. */
    if (result != 0 && idle)
        iw_ucma_unbind(id);
    return result;
}

static struct iw_verbs_parameters parameters(const struct rdma_ucm_conn_param *p)
{
    return (struct iw_verbs_parameters){
        .private_data = p->private_data,
        .private_length = p->private_data_len,
        .ird = p->responder_resources > IW_VERBS_READS ? IW_VERBS_READS : p->responder_resources,
        .ord = p->initiator_depth > IW_VERBS_READS ? IW_VERBS_READS : p->initiator_depth,
    };
}

static struct iw_verbs_qp *free_qp(uint32_t number)
{
    struct iw_verbs_qp *qp = iw_verbs_find_qp(number);
    const enum ibv_qp_state state = qp != NULL ? qp->base.qp_base.state : IBV_QPS_ERR;
    return qp != NULL && qp->link == NULL && (state == IBV_QPS_INIT || state == IBV_QPS_RTR) ? qp
                                                                                             : NULL;
}

/* The socket may be connected already: another attempt takes another one with the same port, which
 * is free at once after a reset. */
static void reset_socket(struct iw_ucma_id *id)
{
    const struct linger at_once = {.l_onoff = 1};
    (void)setsockopt(id->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    iw_ucma_close_socket(id);
}

int iw_ucma_connect(struct iw_ucma_id *id, const struct rdma_ucm_conn_param *p)
{
    const struct iw_verbs_parameters said = parameters(p);
    struct iw_verbs_qp *qp = free_qp(p->qp_num);
    if (id->state != IW_UCMA_RESOLVED || qp == NULL)
        return EINVAL;
    int result = iw_ucma_ready_to_connect(id);
    if (result != 0)
        return result;
    id->link = iw_verbs_link_connect(qp, id->fd, &id->destination.any,
                                     iw_ucma_length(&id->destination), &said, &link_ops, id);
    if (id->link != NULL) {
        id->fd = -1;
        id->state = IW_UCMA_CONNECTING;
        return 0;
    }
    const int error = errno;
    reset_socket(id);
    if (error == ENOMEM || error == EINVAL)
        return error;
    report_failure(id, error);
    id->state = IW_UCMA_OVER;
    return 0;
}

int iw_ucma_accept(struct iw_ucma_id *id, uint64_t uid, const struct rdma_ucm_conn_param *p)
{
    const struct iw_verbs_parameters said = parameters(p);
    struct iw_verbs_qp *qp = free_qp(p->qp_num);
    if (id->state != IW_UCMA_ASKED || qp == NULL)
        return EINVAL;
    int result = ECONNRESET;
    if (id->link != NULL) {
        id->uid = uid;
        id->state = IW_UCMA_CONNECTING;
        result = iw_verbs_link_accept(id->link, qp, &said);
    }
    if (result != 0 && id->link != NULL) { /* the request waits on for its answer */
        id->uid = 0;
        id->state = IW_UCMA_ASKED;
    }
    return result;
}

int iw_ucma_reject(struct iw_ucma_id *id, const void *private_data, size_t length)
{
    struct iw_verbs_link *link = id->link;
    if (id->state != IW_UCMA_ASKED)
        return EINVAL;
    id->state = IW_UCMA_OVER;
    id->link = NULL;
    if (link == NULL)
        return 0;
    link->owner = NULL;
    return iw_verbs_link_reject(link, private_data, length);
}

int iw_ucma_disconnect(struct iw_ucma_id *id)
{
    if (id->state == IW_UCMA_CONNECTED && id->link != NULL)
        iw_verbs_link_disconnect(id->link);
    return 0;
}

void iw_ucma_abandon(struct iw_ucma_id *id)
{
    struct iw_verbs_link *link = id->link;
    id->link = NULL;
    if (id->listener != NULL) {
        iw_verbs_link_stop(id->listener, id);
        free(id->listener_memory);
    }
    if (link == NULL)
        return;
    link->owner = NULL;
    if (id->state == IW_UCMA_CONNECTED)
        iw_verbs_link_disconnect(link);
    else
        iw_verbs_link_destroy(link);
}
