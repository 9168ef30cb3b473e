/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/resolver_filter.h"

#include "iwarp/octets.h"

#include <linux/filter.h>
#include <sys/socket.h>

enum {
    IPV4_TO = 16, /* offsets of the destination */
    IPV6_TO = 24,
    UDP = 8,    /* octets of its header, where the socket's packet begins */
    NUMBER = 8, /* offset in a datagram: resolver_wire.h */
    HEAD = 4    /* instructions before those for the claims */
};

static const struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
static const struct sock_filter accept_it = BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);

void iw_resolver_filter_set(int fd, const struct iw_resolver_place *group,
                            const struct iw_resolver_claims *claims)
{
    struct sock_filter code[HEAD + 2 * IW_RESOLVER_FILTERED_MOST + 1];
    struct sock_fprog program = {.filter = code};
    const bool v4 = group->family == IW_RESOLVER_IPV4;
    const int unused = 0;
    if (claims->count > IW_RESOLVER_FILTERED_MOST) {
        (void)setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
        return;
    }
    size_t n = 0;
    if (v4) {
        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                 (uint32_t)(SKF_NET_OFF + IPV4_TO));
        code[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, iw_get32(group->address), 1, 0);
    } else {
        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_B | BPF_ABS,
                                                 (uint32_t)(SKF_NET_OFF + IPV6_TO));
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xff, 1, 0);
    }
    code[n++] = accept_it;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, UDP + NUMBER);
    for (size_t i = 0; i < claims->count; i++) {
        code[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, claims->list[i].number, 0, 1);
        code[n++] = accept_it;
    }
    code[n++] = drop;
    program.len = (unsigned short)n;
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
}
