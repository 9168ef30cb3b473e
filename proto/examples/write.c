/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two endpoints joined back to back in one process: the initiator writes "hello, iWARP" into the
 * responder's memory with an RDMA Write. Every octet that would travel is printed as it would be
 * seen on the wire.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iwarp/endpoint_transport.h>

static void *get(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void give(void *context, void *memory, size_t size)
{
    (void)context;
    (void)size;
    free(memory);
}

/* An example may use a poor source; a product hands in getrandom(2) or better. */
static void draw(void *context, void *out, size_t length)
{
    (void)context;
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)out)[i] = (unsigned char)rand();
}

/* Carries octets both ways until nothing moves. */
static void run(struct iw_endpoint *ep[2])
{
    const struct iw_iov *piece;
    for (int idle = 0; idle < 2; idle++)
        for (int i = 0; i < 2; i++)
            while (iw_endpoint_output(ep[i], &piece, 0) > 0) {
                printf("%s ", i == 0 ? "->" : "<-");
                for (size_t k = 0; k < piece->length; k++)
                    printf("%02x", ((unsigned char *)piece->base)[k]);
                printf("\n");
                size_t length = piece->length;
                iw_endpoint_input(ep[1 - i], piece, 1, 0);
                iw_endpoint_sent(ep[i], length, 0);
                struct iw_event event;
                while (iw_endpoint_event(ep[1 - i], &event))
                    if (event.kind == IW_EVENT_REQUEST)
                        iw_endpoint_accept(ep[1 - i], NULL, 0, 0);
                idle = 0;
            }
}

int main(void)
{
    static char memory[64], text[] = "hello, iWARP";
    struct iw_env env = {NULL, get, give, draw, NULL, NULL, iw_crc32c_portable};
    struct iw_domain *domain = iw_domain_create(&env, &(struct iw_domain_limits){4, 4});
    struct iw_endpoint_config config;
    iw_endpoint_config_default(&config);
    config.pd = iw_domain_pd(domain);
    config.role = IW_MPA_INITIATOR;
    struct iw_endpoint *ep[2];
    int failed = iw_endpoint_create(domain, &config, 0, &ep[0]);
    config.role = IW_MPA_RESPONDER;
    failed |= iw_endpoint_create(domain, &config, 0, &ep[1]);

    struct iw_region region = {.base = (uint8_t *)memory,
                               .length = sizeof(memory),
                               .to = 0x1000,
                               .pd = config.pd,
                               .access = IW_ACCESS_REMOTE_WRITE};
    failed |= iw_domain_register(domain, &region);
    run(ep);

    struct iw_iov sge = {text, sizeof(text)};
    struct iw_work write = {.id = 1,
                            .opcode = IW_WORK_WRITE,
                            .sge = &sge,
                            .sge_count = 1,
                            .remote_stag = region.stag,
                            .remote_to = region.to};
    failed |= iw_endpoint_post(ep[0], &write, 0);
    run(ep);

    printf("the responder's memory: \"%s\"\n", memory);
    failed |= strcmp(memory, text);
    iw_endpoint_destroy(ep[0]);
    iw_endpoint_destroy(ep[1]);
    iw_domain_destroy(domain);
    return failed != 0;
}
