/* SPDX-License-Identifier: BSD-3-Clause */
/* A service that ends and begins at another address under load: every message is delivered once, or
 * reported. */
#include "messages_pair.h"

#include <pthread.h>
#include <stdatomic.h>

enum { TIMES = 50, EACH = 40, MANY = TIMES * EACH, LONG = 30000 };

static atomic_uchar came[MANY];
static unsigned char delivered[MANY], undelivered[MANY];

struct receiver {
    struct world_end *end;
    atomic_bool stop;
    atomic_uint taken;
    bool wrong;
};

static void *take_all(void *of)
{
    struct receiver *r = of;
    while (!atomic_load(&r->stop)) {
        struct iw_message got;
        if (iw_messages_receive(r->end->s, &got, 20) != 0)
            continue;
        uint32_t number;
        memcpy(&number, got.data, sizeof(number));
        r->wrong |=
            number >= MANY || !right_octets((uint8_t *)got.data + 4, number, got.length - 4);
        if (number < MANY)
            atomic_fetch_add(&came[number], 1);
        atomic_fetch_add(&r->taken, 1);
        iw_messages_return(r->end->m, got.data);
    }
    return NULL;
}

static void note(const struct iw_message *got)
{
    assert_true(got->tag < MANY);
    if (got->kind == IW_MESSAGES_DELIVERED)
        delivered[got->tag]++;
    else if (got->kind == IW_MESSAGES_UNDELIVERED)
        undelivered[got->tag]++;
    else
        fail();
}

static void restarts(void **unused)
{
    (void)unused;
    struct sockaddr_in at;
    const struct iw_messages_config config = loopback(&at);
    struct world_end a, b;
    static uint8_t octets[LONG];
    struct iw_message got;
    open_end(&a, &config, 1);
    for (uint32_t number = 0; number < MANY;) {
        open_end(&b, &config, 2);
        assert_int_equal(iw_messages_place(a.m, 2, (struct sockaddr *)&b.at), 0);
        struct receiver r = {.end = &b};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, take_all, &r), 0);
        for (unsigned i = 0; i < EACH; i++, number++) {
            const size_t length = number % 5 == 0 ? LONG : 4 + number % 1000;
            memcpy(octets, &number, sizeof(number));
            fill_octets(octets + 4, number, 0, length - 4);
            assert_int_equal(send_octets(a.s, 2, octets, length, IW_MESSAGES_NOTIFY, number), 0);
            while (iw_messages_receive(a.s, &got, 0) == 0)
                note(&got);
        }
        /* Somewhere in the middle of them. */
        for (int i = 0; atomic_load(&r.taken) == 0; i++) {
            assert_true(i < GUARD_MS / 20);
            if (iw_messages_receive(a.s, &got, 20) == 0)
                note(&got);
        }
        atomic_store(&r.stop, true);
        pthread_join(thread, NULL);
        assert_false(r.wrong);
        iw_messages_close(b.m);
    }
    assert_int_equal(iw_messages_place(a.m, 2, NULL), 0);
    assert_int_equal(iw_messages_flush(a.s, GUARD_MS), 0);
    while (iw_messages_receive(a.s, &got, 0) == 0)
        note(&got);
    unsigned taken = 0;
    for (unsigned i = 0; i < MANY; i++) {
        assert_in_range(came[i], 0, 1);
        assert_int_equal(delivered[i] + undelivered[i], 1);
        if (delivered[i] > 0)
            assert_int_equal(came[i], 1);
        taken += came[i];
    }
    assert_true(taken >= TIMES);
    iw_messages_close(a.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(restarts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
