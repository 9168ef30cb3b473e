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
    MOST = 1 + IW_RESOLVER_SHARED_MOST + 2 + 2 * IW_RESOLVER_FILTERED_MOST + 1
};

struct program {
    struct sock_filter code[MOST];
    size_t length;
};

static void add(struct program *p, unsigned code, uint32_t value)
{
    p->code[p->length++] = (struct sock_filter)BPF_STMT((uint16_t)code, value);
}

/* Goes on after `skipped` instructions if the word that was loaded is equal. */
static void add_equal(struct program *p, uint32_t value, size_t skipped)
{
    p->code[p->length++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, (uint8_t)skipped, 0);
}

/* Accepts what has a claimed number, drops all else. */
static void add_numbers(struct program *p, const struct iw_resolver_claims *claims)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, UDP + NUMBER);
    /* Over the claims that are left, and the drop. */
    for (size_t i = 0; i < claims->count; i++)
        add_equal(p, claims->list[i].number, claims->count - i);
    add(p, BPF_RET | BPF_K, 0);
    add(p, BPF_RET | BPF_K, UINT32_MAX);
}

static void attach(int fd, struct program *p)
{
    const struct sock_fprog program = {.filter = p->code, .len = (unsigned short)p->length};
    const int unused = 0;
    if (p->length == 0 ||
        setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
}

void iw_resolver_filter_set(int fd, const struct iw_resolver_place *addresses, size_t count,
                            const struct iw_resolver_claims *claims)
{
    struct program p = {.length = 0};
    if (claims->count <= IW_RESOLVER_FILTERED_MOST && count <= IW_RESOLVER_SHARED_MOST) {
        add(&p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_NET_OFF + IPV4_TO));
        for (size_t i = 0; i < count; i++)
            add_equal(&p, iw_get32(addresses[i].address), count - i);
        add(&p, BPF_RET | BPF_K, UINT32_MAX);
        add_numbers(&p, claims);
    }
    attach(fd, &p);
}

void iw_resolver_filter_set6(int fd, const struct iw_resolver_claims *claims)
{
    struct program p = {.length = 0};
    if (claims->count <= IW_RESOLVER_FILTERED_MOST) {
        add(&p, BPF_LD | BPF_B | BPF_ABS, (uint32_t)(SKF_NET_OFF + IPV6_TO));
        add_equal(&p, 0xff, 1);
        add(&p, BPF_RET | BPF_K, UINT32_MAX);
        add_numbers(&p, claims);
    }
    attach(fd, &p);
}
