/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_MESSAGES_H
#define FUZZ_MESSAGES_H

/* The harness of messages, and its device: verbs and rdma_cm without either. */

#include "engine/fuzz.h"
#include "messages/message_internal.h"

#include <stddef.h>

enum { IDS = 16, INSTANCES = 3, TAGS = 4096, PLACES = 64 };

/* A message of ours of eight octets: this and its tag. One of a peer's of sixteen: this and the
 * peer's number, and its sequence number. */
#define STAMP UINT32_C(0x5eed5eed)

struct posted {
    uint64_t id;
    enum ibv_wr_opcode opcode;
    uint8_t *memory;
    uint32_t length;
};

struct connection {
    struct rdma_cm_id id;
    struct ibv_qp qp;
    bool used, connects, ended;
    struct posted receives[IW_LINK_RECEIVES], sends[IW_LINK_SENDS];
    unsigned receive_count, send_count;
    uint32_t granted, sent; /* receives that the peer has granted; Sends of ours */
    unsigned instance;
    struct iw_message_piece lent[PLACES], announced[PLACES]; /* by the peer */
    unsigned lent_count, announced_count;
};

struct messages_world {
    struct iw_messages m;
    struct ibv_context context;
    struct ibv_pd pd;
    struct ibv_cq cq;
    struct iw_service *service;
    struct connection connections[IDS];
    unsigned count;
    struct rdma_cm_event event;
    bool event_there;
    uint8_t private_data[256];
    uint64_t now;
    unsigned regions, next_key;
    uint64_t came[INSTANCES + 1]; /* the last stamped number that the program got */
    uint32_t tags;
    bool transmitted[TAGS];
    uint8_t fates[TAGS];
};

extern struct messages_world world;

/* Makes the device of the world, which is all zero. */
void messages_device_open(void);
/* Returns an identifier that has not been used in this input, or NULL. */
struct connection *messages_connection(void);

#endif
