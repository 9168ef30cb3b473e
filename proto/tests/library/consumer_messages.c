/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of libiwarp-messages, built from an installed copy. It needs no RDMA device: what it
 * asks for is wrong. */
#include <iwarp/messages.h>

#include <stdio.h>

int main(void)
{
    struct iw_messages *m;
    char error[100];
    const struct iw_messages_config config = {.connections = -1};
    if (iw_messages_open(&config, &m, error, sizeof(error)) == 0)
        return 1;
    printf("%s\n", error);
    return 0;
}
