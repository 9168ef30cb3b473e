/* SPDX-License-Identifier: BSD-3-Clause */
/* Doubles of the functions of libibverbs and librdmacm that iwarp-agent uses: a device without
 * hardware or driver, which records its calls and returns what a test has put in. */
#ifndef RDMA_DOUBLES_H
#define RDMA_DOUBLES_H

#include <stdbool.h>

#include <rdma/rdma_cma.h>

enum { DOUBLE_DEVICES = 3, DOUBLE_PIECES = 16, DOUBLE_QUEUE = 16, DOUBLE_WINDOWS = 1100 };

/* Functions that can be made to fail once, with an errno. */
enum double_fault {
    FAULT_NONE,
    FAULT_GET_DEVICES,
    FAULT_QUERY_DEVICE,
    FAULT_EVENT_CHANNEL,
    FAULT_REG_MR,
    FAULT_ALLOC_PD,
    FAULT_COMP_CHANNEL,
    FAULT_QUERY_QP,
    FAULT_ALLOC_MW,
    FAULT_CREATE_CQ,
    FAULT_CREATE_QP,
    FAULT_BIND_ADDR,
    FAULT_RESOLVE,
    FAULT_CREATE_ID,
    FAULT_ROUTE,
    FAULT_MIGRATE,
    FAULT_LISTEN,
    FAULT_CONNECT,
    FAULT_ACCEPT,
    FAULT_POST /* sends, receives and binds: the number is returned, as it is */
};

struct doubles {
    /* The host, set by the test. */
    int devices;
    struct ibv_device device[DOUBLE_DEVICES];
    struct ibv_context context[DOUBLE_DEVICES];
    struct ibv_device_attr attributes; /* of each of them */
    bool port_down;
    int port_up;             /* the only port of the device that is active; 0: all */
    const char *tcp, *tcp6;  /* /proc/net/tcp and its like; NULL: there is none */
    struct ibv_context *way; /* the device that addresses lead to; NULL: the first */
    uint16_t port;           /* of listeners */
    enum double_fault fault;
    int number, times; /* the errno, and how often */
    int after;         /* calls that work before */
    uint32_t next_key; /* of the next region; 0: a new one */
    enum ibv_qp_state qp_state;
    bool bind_fails, bind_silent; /* how a window's binding completes, or does not */
    int late;                     /* the wait after which `latest` completes; 0: none */
    struct ibv_wc latest;

    /* What lives. */
    int pds, mrs, cqs, qps, mws, ids, channels, events_unacknowledged;

    /* The latest. */
    struct {
        void *addr;
        size_t length;
        uint64_t iova;
        unsigned access;
    } registered[2]; /* the one before the latest, too */
    struct ibv_send_wr sent;
    struct ibv_recv_wr received;
    struct ibv_sge pieces[DOUBLE_PIECES];
    struct ibv_mw_bind bound;
    struct ibv_qp_init_attr qp;
    struct rdma_cm_id *id; /* made */
    struct rdma_conn_param param;
    uint8_t private_data[255];
    int accepted, rejected, disconnected, modified_to_error;
    int waited; /* milliseconds, for completions */
};

extern struct doubles doubles;

/* Everything as on a host with one device, "rnic0", that can do no more than it must. */
void doubles_begin(void);
/* The next calls of a function fail. */
void doubles_fail(enum double_fault fault, int number, int times);

/* Sets librdmacm's next event of an id; `listener` is for a request. `data` are private octets. */
void doubles_tell(enum rdma_cm_event_type kind, struct rdma_cm_id *id, struct rdma_cm_id *listener,
                  int status, const char *data);
/* A new id, as a request brings it. */
struct rdma_cm_id *doubles_new_id(void);
/* What the latest completion queue gives next. */
void doubles_complete(const struct ibv_wc *wc);
/* Whether an event of librdmacm or an asynchronous one waits, and a notice of completions; each is
 * taken. */
bool doubles_told(void);
bool doubles_noticed(void);
bool doubles_was_async(void);
/* The descriptors of the three. */
int *doubles_descriptor(int which);
/* An asynchronous event of the device. */
void doubles_async(enum ibv_event_type type, struct ibv_qp *qp, struct ibv_cq *cq);

#endif
