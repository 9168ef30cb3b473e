/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment that a hosted program gives to the core: memory, randomness, a lock, the clock.
 */
#include "host/clock.h"
#include "iwarp/transport.h"

#include <stdlib.h>
#include <sys/random.h>

static void *host_alloc(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void host_free(void *context, void *memory, size_t size)
{
    (void)context;
    (void)size;
    free(memory);
}

static void host_random(void *context, void *out, size_t length)
{
    uint8_t *p = out;
    (void)context;
    while (length > 0) {
        ssize_t n = getrandom(p, length, 0);
        if (n > 0) {
            p += n;
            length -= (size_t)n;
        }
    }
}

static void host_lock(void *context)
{
    struct iw_host_env *host = context;
    pthread_mutex_lock(&host->mutex);
}

static void host_unlock(void *context)
{
    struct iw_host_env *host = context;
    pthread_mutex_unlock(&host->mutex);
}

void iw_host_env_init(struct iw_host_env *host, bool threads)
{
    pthread_mutex_init(&host->mutex, NULL);
    host->env = (struct iw_env){
        .context = host,
        .alloc = host_alloc,
        .free = host_free,
        .random = host_random,
        .lock = threads ? host_lock : NULL,
        .unlock = threads ? host_unlock : NULL,
        .crc32c = iw_crc32c_best(),
    };
}

void iw_host_env_destroy(struct iw_host_env *host)
{
    pthread_mutex_destroy(&host->mutex);
}

uint64_t iw_transport_now(void)
{
    return iw_clock_now();
}
