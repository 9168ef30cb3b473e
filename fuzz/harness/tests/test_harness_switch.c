/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the switch: what it notices of one that errs. */
#include "spy.h"

#include <unistd.h>

#include "iwarp/endpoint_transport.h"
#include "sockets/switched.h"

static struct {
    bool reads_on; /* beyond the frame that refuses */
    bool leaks;
    bool spills;
    unsigned begun;
    int leaked;
} fake;

size_t __real_iw_endpoint_startup_left(const struct iw_endpoint *ep);
size_t __wrap_iw_endpoint_startup_left(const struct iw_endpoint *ep);
struct iw_switched *__real_iw_switched_begin(int fd, const struct iw_sockets_mode *mode);
struct iw_switched *__wrap_iw_switched_begin(int fd, const struct iw_sockets_mode *mode);
int __real_iw_switched_advertise(struct iw_switched *s, void *memory, size_t length,
                                 unsigned rights, struct iw_sockets_memory *out);
int __wrap_iw_switched_advertise(struct iw_switched *s, void *memory, size_t length,
                                 unsigned rights, struct iw_sockets_memory *out);

size_t __wrap_iw_endpoint_startup_left(const struct iw_endpoint *ep)
{
    return fake.reads_on ? 0 : __real_iw_endpoint_startup_left(ep);
}

struct iw_switched *__wrap_iw_switched_begin(int fd, const struct iw_sockets_mode *mode)
{
    fake.begun++;
    if (fake.leaks)
        fake.leaked = dup(fd);
    return __real_iw_switched_begin(fd, mode);
}

int __wrap_iw_switched_advertise(struct iw_switched *s, void *memory, size_t length,
                                 unsigned rights, struct iw_sockets_memory *out)
{
    if (fake.spills)
        ((uint8_t *)memory)[length] = 0;
    return __real_iw_switched_advertise(s, memory, length, rights, out);
}

static int set_up(void **state)
{
    static bool started;
    (void)state;
    fake = (__typeof__(fake)){.leaked = -1};
    if (!started)
        iw_fuzz_harness.start();
    started = true;
    return 0;
}

/* The peer refuses by a Reply with "no", and goes on with "plain". */
#define REPLY "4d504120494420526570204672616d65"
#define REFUSED "01000000 00 1b00" REPLY "60010002 6e6f 706c61696e"
/* It accepts, and the program advertises memory for Writes. */
#define ADVERTISED "01000000 00 1400" REPLY "40010000 02 0800 0202000000000000"

static void right_ones_are_content(void **state)
{
    (void)state;
    assert_string_equal(spy_runs(&iw_fuzz_harness, ""), "");
    assert_string_equal(spy_runs(&iw_fuzz_harness, REFUSED), "");
    assert_string_equal(spy_runs(&iw_fuzz_harness, ADVERTISED), "");
    assert_int_equal(fake.begun, 3);
}

static void octets_lost_after_a_refusal(void **state)
{
    (void)state;
    fake.reads_on = true;
    assert_string_equal(spy_runs(&iw_fuzz_harness, REFUSED),
                        "switch: after a refusal 0 octets are left of 5");
}

static void memory_that_nobody_advertised(void **state)
{
    (void)state;
    fake.spills = true;
    assert_string_equal(spy_runs(&iw_fuzz_harness, ADVERTISED),
                        "switch: octet 256 of other memory is written");
}

static void a_descriptor_that_stays(void **state)
{
    (void)state;
    fake.leaks = true;
    assert_string_equal(spy_runs(&iw_fuzz_harness, ADVERTISED), "switch: a descriptor stays open");
    close(fake.leaked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(right_ones_are_content, set_up),
        cmocka_unit_test_setup(memory_that_nobody_advertised, set_up),
        cmocka_unit_test_setup(a_descriptor_that_stays, set_up),
        cmocka_unit_test_setup(octets_lost_after_a_refusal, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
