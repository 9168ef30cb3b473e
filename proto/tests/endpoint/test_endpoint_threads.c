/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <pthread.h>

/* RFC 7306 §5.3: atomics of several connections, each in a thread of its own, on one domain. */

enum { THREADS = 4, EACH = 1500 };

static struct iw_domain *domain;
static struct iw_region counter;
static uint32_t pd;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t gate;

struct player {
    pthread_t thread;
    uint64_t originals[EACH];
    unsigned done;
};

static void *heap_alloc(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void heap_free(void *context, void *memory, size_t size)
{
    (void)context;
    (void)size;
    free(memory);
}

static void count_up(void *context, void *out, size_t length)
{
    (void)context;
    memset(out, 0x33, length);
}

static void lock(void *context)
{
    (void)context;
    (void)pthread_mutex_lock(&mutex);
}

static void unlock(void *context)
{
    (void)context;
    (void)pthread_mutex_unlock(&mutex);
}

static bool carry(struct iw_endpoint *from, struct iw_endpoint *to)
{
    const struct iw_iov *pieces;
    if (iw_endpoint_output(from, &pieces, 0) == 0)
        return false;
    uint8_t copy[4096];
    size_t length = pieces[0].length < sizeof(copy) ? pieces[0].length : sizeof(copy);
    memcpy(copy, pieces[0].base, length);
    iw_endpoint_sent(from, length, 0);
    struct iw_iov in = {copy, length};
    iw_endpoint_input(to, &in, 1, 0);
    return true;
}

/* One connection: its initiator adds 1 to the counter EACH times. */
static void *play(void *context)
{
    struct player *p = context;
    struct iw_endpoint *ep[2];
    unsigned posted = 0;
    for (int i = 0; i < 2; i++) {
        struct iw_endpoint_config config;
        iw_endpoint_config_default(&config);
        config.role = i == 0 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
        config.pd = pd;
        if (iw_endpoint_create(domain, &config, 0, &ep[i]) != IW_OK)
            return NULL;
    }
    (void)pthread_barrier_wait(&gate);
    for (bool busy = true; busy;) {
        struct iw_completion c;
        struct iw_event event;
        const struct iw_work add = {.opcode = IW_WORK_FETCH_ADD,
                                    .remote_stag = counter.stag,
                                    .remote_to = counter.to,
                                    .add_swap = 1};
        busy = false;
        while (posted < EACH && iw_endpoint_post(ep[0], &add, 0) == IW_OK)
            posted++;
        for (int i = 0; i < 2; i++) {
            while (iw_endpoint_event(ep[i], &event))
                if (event.kind == IW_EVENT_REQUEST)
                    (void)iw_endpoint_accept(ep[i], NULL, 0, 0);
            while (carry(ep[i], ep[1 - i]))
                busy = true;
        }
        while (iw_endpoint_poll(ep[0], &c, 1) == 1)
            if (c.status == IW_STATUS_OK && p->done < EACH) {
                p->originals[p->done++] = c.original;
                busy = true;
            }
    }
    iw_endpoint_destroy(ep[0]);
    iw_endpoint_destroy(ep[1]);
    return NULL;
}

static void test_atomics_of_several_threads(void **state)
{
    (void)state;
    static struct player players[THREADS];
    static bool seen[THREADS * EACH];
    _Alignas(8) static uint8_t memory[8];
    struct iw_env env = {NULL, heap_alloc, heap_free, count_up, lock, unlock, iw_crc32c_portable};
    struct iw_domain_limits limits = {1, 4 * THREADS};
    domain = iw_domain_create(&env, &limits);
    assert_non_null(domain);
    pd = iw_domain_pd(domain);
    counter = (struct iw_region){
        .base = memory, .length = 8, .to = 8, .pd = pd, .access = IW_ACCESS_REMOTE_ATOMIC};
    assert_int_equal(iw_domain_register(domain, &counter), 0);
    assert_int_equal(pthread_barrier_init(&gate, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&players[i].thread, NULL, play, &players[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(players[i].thread, NULL), 0);
    uint64_t value;
    memcpy(&value, memory, sizeof(value));
    assert_int_equal(value, THREADS * EACH);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(players[i].done, EACH);
        for (unsigned k = 0; k < EACH; k++) {
            assert_true(players[i].originals[k] < THREADS * EACH);
            assert_false(seen[players[i].originals[k]]);
            seen[players[i].originals[k]] = true;
        }
    }
    (void)pthread_barrier_destroy(&gate);
    iw_domain_destroy(domain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_atomics_of_several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
