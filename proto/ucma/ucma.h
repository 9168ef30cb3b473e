/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_UCMA_UCMA_H
#define IW_UCMA_UCMA_H

/*
 * What librdmacm asks of the kernel's /dev/infiniband/rdma_cm (<rdma/rdma_user_cm.h>), answered in
 * the process. A file stands for one open of the device; identifiers belong to a file, their events
 * wait in it. All functions but those of interpose.c need the engine's lock.
 */

#include "verbs/link.h"
#include <netinet/in.h>

#include <rdma/rdma_user_cm.h>

enum {
    IW_UCMA_IDS = 65536,   /* of the process */
    IW_UCMA_BACKLOG = 1024 /* requests that wait for an answer, at most; also the default */
};

/* enum rdma_cm_event_type of <rdma/rdma_cma.h>, which cannot be included beside rdma_user_cm.h. */
enum {
    IW_UCMA_ADDR_RESOLVED = 0,
    IW_UCMA_ROUTE_RESOLVED = 2,
    IW_UCMA_CONNECT_REQUEST = 4,
    IW_UCMA_CONNECT_ERROR = 6,
    IW_UCMA_UNREACHABLE = 7,
    IW_UCMA_REJECTED = 8,
    IW_UCMA_ESTABLISHED = 9,
    IW_UCMA_DISCONNECTED = 10
};

union iw_ucma_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct iw_ucma_id;

struct iw_ucma_event {
    TAILQ_ENTRY(iw_ucma_event) entry;
    struct iw_ucma_id *id;    /* whose events_reported counts it */
    struct iw_ucma_id *asked; /* a connect request: the new identifier; else NULL */
    struct rdma_ucm_event_resp response;
};

struct iw_ucma_file {
    int fd; /* an eventfd, readable while events wait */
    unsigned waiters;
    unsigned users; /* threads that wait for its events */
    bool closed;    /* by the program; it goes when they have left */
    TAILQ_HEAD(, iw_ucma_event) events;
    LIST_HEAD(, iw_ucma_id) ids;
};

enum iw_ucma_state {
    IW_UCMA_IDLE,
    IW_UCMA_BOUND,
    IW_UCMA_RESOLVED,
    IW_UCMA_LISTENING,
    IW_UCMA_ASKED, /* a request that waits for the program's answer */
    IW_UCMA_CONNECTING,
    IW_UCMA_CONNECTED,
    IW_UCMA_OVER
};

struct iw_ucma_id {
    uint32_t handle;
    uint64_t uid; /* the program's; 0 until a request has been accepted */
    struct iw_ucma_file *file;
    enum iw_ucma_state state;
    union iw_ucma_address source, destination; /* no family: not known */
    int fd;       /* the bound socket, until a connection takes it; else -1 */
    bool listens; /* fd listens already; the listener, if there is one, has a duplicate */
    bool v6_only;
    bool any;    /* bound to every address: no device yet */
    bool parked; /* the listener is, over a fork */
    uint8_t tos;
    int plain; /* a listener that takes plain TCP, too: where those connections go; else -1 */
    uint32_t events_reported;
    struct iw_verbs_link *link;
    struct iw_listener *listener;
    void *listener_memory;
    unsigned backlog, waiting;          /* LISTENING: requests not yet fetched, at most and now */
    LIST_ENTRY(iw_ucma_id) entry;       /* of its file */
    LIST_ENTRY(iw_ucma_id) table_entry; /* of all, by handle */
};

/* ucma_file.c */
struct iw_ucma_file *iw_ucma_file_create(int fd);
/* The program closes it. It goes at once, or when the last thread that waits for its events has
 * left, as in the kernel: rping ends beside one that sleeps on. */
void iw_ucma_file_close(struct iw_ucma_file *file);
/* Undoes one `users`; the last one ends a closed file, its identifiers and its descriptor. */
void iw_ucma_file_release(struct iw_ucma_file *file);
/* Carries out a command. Returns 0 or an errno. Takes the lock itself. */
int iw_ucma_command(int fd, const void *command, size_t length);

/* event.c */
/* Queues an event of `id`. `link` is where its private data comes from; NULL: there is none. */
void iw_ucma_event_push(struct iw_ucma_id *id, uint32_t kind, int status,
                        const struct iw_verbs_link *link);
/* Queues the request of `asked` with the listener. Returns false without memory. */
bool iw_ucma_event_ask(struct iw_ucma_id *listener, struct iw_ucma_id *asked);
/* Waits for an event. Returns 0 or an errno. */
int iw_ucma_event_get(struct iw_ucma_file *file, struct rdma_ucm_event_resp *out);
/* Drops all events of an identifier, and the identifiers whose requests are among them. */
void iw_ucma_events_drop(struct iw_ucma_id *id);
/* Moves them to another file. */
void iw_ucma_events_move(struct iw_ucma_id *id, struct iw_ucma_file *to);

/* id.c */
struct iw_ucma_id *iw_ucma_id_create(struct iw_ucma_file *file, uint64_t uid);
void iw_ucma_id_destroy(struct iw_ucma_id *id);
struct iw_ucma_id *iw_ucma_id_find(struct iw_ucma_file *file, uint32_t handle);

/* ucma_address.c. Each int is 0 or an errno. */
int iw_ucma_bind(struct iw_ucma_id *id, const void *address);
int iw_ucma_resolve(struct iw_ucma_id *id, const void *source, const void *destination);
void iw_ucma_close_socket(struct iw_ucma_id *id);
/* Makes sure that a bound identifier has a socket, which listens. */
int iw_ucma_hold_port(struct iw_ucma_id *id);
/* Makes the identifier idle again, without an address. */
void iw_ucma_unbind(struct iw_ucma_id *id);
/* Makes sure that the socket can connect: one that listens is replaced. */
int iw_ucma_ready_to_connect(struct iw_ucma_id *id);
socklen_t iw_ucma_length(const union iw_ucma_address *a);
void iw_ucma_query_route(const struct iw_ucma_id *id, struct rdma_ucm_query_route_resp *out);
void iw_ucma_query_addr(const struct iw_ucma_id *id, struct rdma_ucm_query_addr_resp *out);
void iw_ucma_query_gid(const struct iw_ucma_id *id, struct rdma_ucm_query_addr_resp *out);

/* mixed.c. Returns the ms that a listener made by this thread now sniffs (0: not at all), and where
 * its connections of plain TCP go, which is the caller's. */
unsigned iw_ucma_mixed(int *plain);
/* Sends a descriptor there, and closes it. Returns false if that takes no more now. */
bool iw_ucma_mixed_pass(int plain, int fd);

/* ucma_connect.c. Each returns 0 or an errno. */
int iw_ucma_listen(struct iw_ucma_id *id, uint32_t backlog);
int iw_ucma_connect(struct iw_ucma_id *id, const struct rdma_ucm_conn_param *p);
int iw_ucma_accept(struct iw_ucma_id *id, uint64_t uid, const struct rdma_ucm_conn_param *p);
int iw_ucma_reject(struct iw_ucma_id *id, const void *private_data, size_t length);
int iw_ucma_disconnect(struct iw_ucma_id *id);
/* The identifier goes: ends what it has begun. */
void iw_ucma_abandon(struct iw_ucma_id *id);

/* kept.c: keeps a listening socket for a while, in case that its address is wanted again. */
void iw_ucma_keep(int fd, const union iw_ucma_address *address);
/* Returns the socket that is kept for an address, or -1. None is kept after it. */
int iw_ucma_kept_take(const union iw_ucma_address *address);
void iw_ucma_kept_drop(void);
/* In a child of fork, whose parent keeps it. */
void iw_ucma_kept_forget(void);

/* interpose.c */
struct iw_ucma_file *iw_ucma_file_of(int fd); /* NULL: not the device */
int iw_ucma_real_close(int fd);               /* as if this library were not there */

#endif
