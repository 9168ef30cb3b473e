/* SPDX-License-Identifier: BSD-3-Clause */
#include "rules_given.h"

#include "libc_next.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct iw_socket_rules rules;

static void read_rules(void)
{
    char error[200];
    const char *text = getenv("IWARP_SOCKETS");
    if (text == NULL ||
        iw_socket_rules_add(&rules, "IWARP_SOCKETS", text, error, sizeof(error)) == 0)
        return;
    fprintf(stderr, "iwarp-sockets: %s\n", error);
    rules.count = 0; /* half of what was meant would be worse than none of it */
}

static const struct iw_socket_rules *given(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_rules);
    return rules.count > 0 ? &rules : NULL;
}

static bool is_tcp(int fd, int family)
{
    int type = 0, protocol = 0, domain = 0;
    socklen_t length = sizeof(type);
    const struct iw_libc *c = iw_libc();
    if (c->getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM)
        return false;
    length = sizeof(protocol);
    if (c->getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) != 0 ||
        protocol != IPPROTO_TCP)
        return false;
    length = sizeof(domain);
    return c->getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == family;
}

bool iw_is_of_stack(const void *code)
{
    static const char *const names[] = {"libiwarp-sockets.so", "libibverbs.so", "librdmacm.so"};
    Dl_info of;
    if (dladdr(code, &of) == 0 || of.dli_fname == NULL)
        return false;
    const char *slash = strrchr(of.dli_fname, '/');
    const char *name = slash != NULL ? slash + 1 : of.dli_fname;
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static const struct iw_socket_rule *find(int fd, bool listens, const struct sockaddr *address,
                                         const void *return_address)
{
    const int saved = errno;
    const struct iw_socket_rule *rule = iw_socket_rules_find(&rules, listens, address);
    if (rule != NULL && (iw_is_of_stack(return_address) || !is_tcp(fd, address->sa_family)))
        rule = NULL;
    errno = saved;
    return rule;
}

const struct iw_socket_rule *iw_rule_of_connect(int fd, const struct sockaddr *to, socklen_t length,
                                                const void *return_address)
{
    if (given() == NULL || to == NULL || length < sizeof(struct sockaddr_in))
        return NULL;
    if (to->sa_family == AF_INET6 && length < sizeof(struct sockaddr_in6))
        return NULL;
    return find(fd, false, to, return_address);
}

static bool has_no_port(const struct sockaddr_storage *at)
{
    return (at->ss_family == AF_INET && ((const struct sockaddr_in *)at)->sin_port == 0) ||
           (at->ss_family == AF_INET6 && ((const struct sockaddr_in6 *)at)->sin6_port == 0);
}

/* The system chooses the port of a listener that has none; a rule wants to know it. */
static void choose_port(int fd, struct sockaddr_storage *at, socklen_t *length,
                        const void *return_address)
{
    bool listens = false;
    for (size_t i = 0; i < rules.count; i++)
        listens = listens || rules.rules[i].listens;
    if (!listens || !has_no_port(at) || iw_is_of_stack(return_address) ||
        !is_tcp(fd, at->ss_family) ||
        iw_libc()->bind(fd, (const struct sockaddr *)at, *length) != 0)
        return;
    *length = sizeof(*at);
    (void)iw_libc()->getsockname(fd, (struct sockaddr *)at, length);
}

const struct iw_socket_rule *iw_rule_of_listen(int fd, const void *return_address)
{
    struct sockaddr_storage at;
    socklen_t length = sizeof(at);
    const int saved = errno;
    if (given() == NULL)
        return NULL;
    if (iw_libc()->getsockname(fd, (struct sockaddr *)&at, &length) != 0 ||
        length < sizeof(struct sockaddr_in)) {
        errno = saved;
        return NULL;
    }
    choose_port(fd, &at, &length, return_address);
    errno = saved;
    return find(fd, true, (struct sockaddr *)&at, return_address);
}
