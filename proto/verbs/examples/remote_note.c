/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole RDMA program, which knows nothing of this project: cc remote_note.c -lrdmacm -libverbs.
 * The client writes a note into the server's memory, reads it back, and announces it by a Send.
 * usage: remote_note ADDRESS PORT [NOTE]     without NOTE: the server, for one client */
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct place {
    uint64_t address;
    uint32_t rkey;
};

static void must(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

static void complete(int (*get)(struct rdma_cm_id *, struct ibv_wc *), struct rdma_cm_id *id)
{
    struct ibv_wc wc;
    must(get(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "completion");
}

int main(int argc, char **argv)
{
    const char *note = argc > 3 ? argv[3] : NULL;
    struct rdma_addrinfo hints = {.ai_flags = note ? 0 : RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP};
    struct ibv_qp_init_attr queues = {.cap = {4, 4, 1, 1, 0}, .sq_sig_all = 1};
    struct rdma_conn_param how = {.responder_resources = 1, .initiator_depth = 1};
    const unsigned rights =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    struct rdma_addrinfo *to = NULL;
    struct rdma_cm_id *listener, *id;
    struct place place;
    char memory[256] = "", *back = memory + 128;

    must(argc >= 3 && rdma_getaddrinfo(argv[1], argv[2], &hints, &to) == 0, "address");
    must(rdma_create_ep(note ? &id : &listener, to, NULL, &queues) == 0, "endpoint");
    must(note || (rdma_listen(listener, 1) == 0 && rdma_get_request(listener, &id) == 0),
         "request");
    struct ibv_mr *mr = ibv_reg_mr(id->pd, memory, sizeof(memory), rights);
    must(mr != NULL, "memory");
    if (!note) {
        place = (struct place){(uintptr_t)memory, mr->rkey};
        how.private_data = &place;
        how.private_data_len = sizeof(place);
        must(rdma_post_recv(id, NULL, back, 128, mr) == 0 && rdma_accept(id, &how) == 0, "accept");
        complete(rdma_get_recv_comp, id);
        must(rdma_disconnect(id) == 0, "disconnect");
    } else {
        must(rdma_connect(id, &how) == 0, "connect");
        memcpy(&place, id->event->param.conn.private_data, sizeof(place));
        snprintf(memory, 128, "%s", note);
        must(rdma_post_write(id, NULL, memory, 128, mr, 0, place.address, place.rkey) == 0,
             "write");
        complete(rdma_get_send_comp, id);
        must(rdma_post_read(id, NULL, back, 128, mr, 0, place.address, place.rkey) == 0, "read");
        complete(rdma_get_send_comp, id);
        must(rdma_post_send(id, NULL, memory, 1, mr, 0) == 0, "send");
        complete(rdma_get_send_comp, id);
        must(strcmp(back, note) == 0, "the note");
    }
    puts(note ? back : memory);
    rdma_destroy_ep(id);
    return 0;
}
