/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a wait polls: not at all on a single processor, where that keeps the other end from
 * sending. */
#include "messages_pair.h"

#include <sched.h>

#include "messages/message_internal.h"

static void spins(int spin_us, uint64_t ns)
{
    struct sockaddr_in at;
    struct world_end e;
    struct iw_messages_config config = loopback(&at);
    config.spin_us = spin_us;
    open_end(&e, &config, 1);
    assert_int_equal(e.m->spin, ns);
    iw_messages_close(e.m);
}

static void processors(void **unused)
{
    (void)unused;
    cpu_set_t all, one;
    size_t first = 0;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    spins(0, 0);
    spins(7, 0);
    spins(IW_MESSAGES_POLL, UINT64_MAX);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    if (CPU_COUNT(&all) == 1)
        return;
    spins(0, 20000);
    spins(7, 7000);
    spins(IW_MESSAGES_POLL, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(processors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
