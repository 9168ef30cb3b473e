/* SPDX-License-Identifier: BSD-3-Clause */
#include "options_inherited.h"

#include "libc_next.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

static void inherit(int listener, int fd, int level, int name)
{
    char value[16] = {0}; /* a struct timeval is the longest */
    socklen_t length = sizeof(value);
    bool set = false;
    if (iw_libc()->getsockopt(listener, level, name, value, &length) != 0)
        return;
    for (socklen_t i = 0; i < length; i++)
        set = set || value[i] != 0;
    if (set)
        (void)iw_libc()->setsockopt(fd, level, name, value, length);
}

void iw_options_inherit(int listener, int fd)
{
    static const struct {
        int level, name;
    } options[] = {
        {SOL_SOCKET, SO_REUSEADDR}, {SOL_SOCKET, SO_KEEPALIVE},  {SOL_SOCKET, SO_LINGER},
        {SOL_SOCKET, SO_OOBINLINE}, {SOL_SOCKET, SO_RCVTIMEO},   {SOL_SOCKET, SO_SNDTIMEO},
        {IPPROTO_TCP, TCP_NODELAY}, {IPPROTO_TCP, TCP_KEEPIDLE}, {IPPROTO_TCP, TCP_KEEPINTVL},
        {IPPROTO_TCP, TCP_KEEPCNT}, {IPPROTO_IP, IP_TOS}};
    for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        inherit(listener, fd, options[i].level, options[i].name);
}
