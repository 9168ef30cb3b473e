/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-perf loop: an end of a connection, and work that fails, end the run with status 70. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../caught.h"
#include "iwarp/endpoint_transport.h"
#include "perf_loop.h"

static enum iw_event_kind odd; /* comes in place of the first ESTABLISHED; 0: nothing does */
static bool fail_work;         /* completions say that the work failed */

bool __real_iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out);
bool __wrap_iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out);
size_t __real_iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room);
size_t __wrap_iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room);

bool __wrap_iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out)
{
    bool some = __real_iw_endpoint_event(ep, out);

    if (some && odd && out->kind == IW_EVENT_ESTABLISHED) {
        out->kind = odd;
        odd = 0;
    }
    return some;
}

size_t __wrap_iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room)
{
    size_t n = __real_iw_endpoint_poll(ep, out, room);

    for (size_t i = 0; fail_work && i < n; i++)
        out[i].status = IW_STATUS_FLUSHED;
    return n;
}

static int run(bool sends)
{
    const struct iw_loop_options options = {.size = 3000,
                                            .total = 9000,
                                            .rounds = 2,
                                            .window = 2,
                                            .mulpdu = 1000,
                                            .crc = true,
                                            .sends = sends};
    int status;

    catch_from(2);
    status = iw_loop_run(&options);
    return status;
}

static void good(void **state)
{
    (void)state;
    odd = 0;
    fail_work = false;
    assert_int_equal(run(false), 0);
    assert_string_equal(caught(), "");
    assert_int_equal(run(true), 0);
    assert_string_equal(caught(), "");
}

static void a_connection_that_ends(void **state)
{
    (void)state;
    fail_work = false;
    odd = IW_EVENT_CLOSED;
    assert_int_equal(run(false), 70);
    assert_string_equal(caught(), "iwarp-perf: cannot set up two endpoints (out of memory?)\n");
}

static void work_that_fails(void **state)
{
    (void)state;
    odd = 0;
    fail_work = true;
    for (int sends = 0; sends < 2; sends++) {
        assert_int_equal(run(sends), 70);
        assert_string_equal(caught(), "iwarp-perf: the octets did not arrive as they were sent\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(good, catch_no_more),
        cmocka_unit_test_teardown(a_connection_that_ends, catch_no_more),
        cmocka_unit_test_teardown(work_that_fails, catch_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
